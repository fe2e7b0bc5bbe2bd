/*
 * random.c
 *	  The buffered random source and uniform integers.
 *
 * Every random bit of a mechanism comes through here.  A source hands out
 * bytes of its buffer once, zeroes them as it does so, and refills the buffer
 * as a whole.  When the filler fails, the buffer is wiped and every request
 * fails until a later refill succeeds: there is no weaker second source.
 */
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/*
 * dp_noise_source_init
 *	  Make an empty source over a filler; nothing is drawn yet.
 *
 * Requires: source and fill non-NULL.  A process that may have been forked
 *			 from one that used the source calls this again first, so that
 *			 no two processes consume the same bytes.
 * Gives:	 a source whose first request fills the buffer.
 * Source:	 doc/theory.md T1.
 */
void
dp_noise_source_init(dp_source *source, dp_source_fill fill, void *state)
{
	source->fill = fill;
	source->state = state;
	source->pulse = NULL;
	source->next = DP_SOURCE_BUFFER;
	OPENSSL_cleanse(source->buffer, DP_SOURCE_BUFFER);
}

/*
 * dp_noise_source_pulse
 *	  Set a function to be called every so often while one candidate is drawn
 *	  among many, so that the caller can be interrupted.
 *
 * Requires: an initialised source; pulse may leave by longjmp: it is called
 *			 when nothing is allocated and nothing else has begun.  NULL:
 *			 none.
 * Gives:	 a source whose laws are those without it.
 * Source:	 nothing is drawn in it (doc/theory.md T1).
 */
void
dp_noise_source_pulse(dp_source *source, void (*pulse) (void))
{
	source->pulse = pulse;
}

/*
 * dp_noise_source_wipe
 *	  Forget every byte not yet consumed.
 *
 * Requires: an initialised source.
 * Gives:	 an empty source with a zeroed buffer; it may be used further.
 * Source:	 doc/theory.md T1.
 */
void
dp_noise_source_wipe(dp_source *source)
{
	source->next = DP_SOURCE_BUFFER;
	OPENSSL_cleanse(source->buffer, DP_SOURCE_BUFFER);
}

/*
 * dp_noise_source_refill
 *	  Fill the whole buffer; private to src/math/noise.
 *
 * Requires: an initialised source.
 * Gives:	 DP_OK with a full buffer; DP_E_RANDOM with an empty, zeroed one.
 * Source:	 doc/theory.md T1.
 */
dp_status
dp_noise_source_refill(dp_source *source)
{
	if (!source->fill(source->state, source->buffer, DP_SOURCE_BUFFER))
	{
		dp_noise_source_wipe(source);
		return DP_E_RANDOM;
	}
	source->next = 0;
	return DP_OK;
}

/*
 * dp_noise_fill_openssl
 *	  The filler in production: OpenSSL's private DRBG.
 *
 * Requires: out of at least n bytes; state is not used.
 * Gives:	 true with n bytes set; false when OpenSSL fails, and the content
 *			 of out must then not be used.
 * Source:	 RAND_priv_bytes(3); doc/theory.md T1 assumes its output uniform.
 */
bool
dp_noise_fill_openssl(void *state, void *out, size_t n)
{
	(void) state;
	if (n > INT_MAX)
		return false;
	return RAND_priv_bytes(out, (int) n) == 1;
}

/*
 * dp_noise_random_bytes
 *	  Copy n fresh random bytes.
 *
 * Requires: n <= DP_SOURCE_BUFFER; out of n bytes.
 * Gives:	 DP_OK with out set; DP_E_RANGE when n is too large, DP_E_RANDOM
 *			 when the filler failed, with out untouched.
 * Source:	 doc/theory.md T1.
 */
dp_status
dp_noise_random_bytes(dp_source *source, void *out, size_t n)
{
	dp_status	status;

	if (n > DP_SOURCE_BUFFER)
		return DP_E_RANGE;
	status = source_reserve(source, n);
	if (status != DP_OK)
		return status;
	memcpy(out, source->buffer + source->next, n);
	OPENSSL_cleanse(source->buffer + source->next, n);
	source->next += n;
	return DP_OK;
}

/*
 * dp_noise_uniform_below
 *	  Draw an integer uniformly from [0, n).
 *
 * Requires: source initialised.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when n = 0, DP_E_RANDOM when the
 *			 source fails, with *out untouched.  n = 1 consumes nothing.
 * Source:	 doc/theory.md T1 (rejection keeps the law exact).
 */
dp_status
dp_noise_uniform_below(dp_source *source, uint64_t n, uint64_t *out)
{
	if (n == 0)
		return DP_E_RANGE;
	return uniform64(source, n, out);
}
