/*
 * test_mech_source.c
 *	  The random source: delivery, wiping, failure, uniform integers by
 *	  exhaustion.  Nothing here is statistical.
 */
#include <limits.h>

#include "mech_draws.h"
#include "mech_fake.h"
#include "tap.h"

static dp_source source;

static bool
all_zero(const unsigned char *p, size_t n)
{
	size_t		i;

	for (i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Counts calls; fails from the state-th on. */
static bool
countdown_fill(void *state, void *out, size_t n)
{
	int		   *left = state;
	uint64_t	seed = (uint64_t) *left;

	fake_fill(&seed, out, n);
	return (*left)-- > 0;
}

static void
test_delivery(void)
{
	unsigned char expected[3 * DP_SOURCE_BUFFER];
	unsigned char got[64];
	unsigned char whole[DP_SOURCE_BUFFER + 1];
	uint64_t	seed = 7;
	uint64_t	again = 7;
	size_t		at = 0;
	bool		same = true;
	bool		wiped = true;
	int			i;

	for (i = 0; i < 3; i++)
		fake_fill(&again, expected + i * DP_SOURCE_BUFFER, DP_SOURCE_BUFFER);
	dp_noise_source_init(&source, fake_fill, &seed);
	for (i = 0; i < 128; i++)
	{
		if (dp_noise_random_bytes(&source, got, 64) != DP_OK)
			same = false;
		same = same && memcmp(got, expected + at, 64) == 0;
		wiped = wiped && all_zero(source.buffer, source.next);
		at += 64;
	}
	tap_ok(same, "bytes come in the order of the filler, each once");
	tap_ok(wiped, "delivered bytes are zeroed in the buffer");
	tap_ok(dp_noise_random_bytes(&source, whole, DP_SOURCE_BUFFER) == DP_OK &&
		   memcmp(whole, expected + 2 * DP_SOURCE_BUFFER,
				  DP_SOURCE_BUFFER) == 0, "a whole buffer at once");
	tap_ok(dp_noise_random_bytes(&source, whole, sizeof(whole)) == DP_E_RANGE,
		   "more than a buffer is refused");
	tap_ok(dp_noise_random_bytes(&source, got, 0) == DP_OK, "zero bytes");

	/* a request that does not fit discards the rest */
	seed = again = 7;
	dp_noise_source_init(&source, fake_fill, &seed);
	(void) dp_noise_random_bytes(&source, whole, DP_SOURCE_BUFFER - 3);
	tap_ok(dp_noise_random_bytes(&source, got, 8) == DP_OK &&
		   memcmp(got, expected + DP_SOURCE_BUFFER, 8) == 0,
		   "a short rest is discarded, not stitched");
}

static void
test_failure(void)
{
	unsigned char out[16];
	unsigned char before[16];
	uint64_t	value = 42;
	dp_uint128	wide = 42;
	int			left = 1;
	int			n;

	memset(out, 0x5a, sizeof(out));
	memcpy(before, out, sizeof(out));
	dp_noise_source_init(&source, failing_fill, NULL);
	tap_ok(dp_noise_random_bytes(&source, out, 16) == DP_E_RANDOM &&
		   memcmp(out, before, 16) == 0, "failure leaves bytes untouched");
	tap_ok(all_zero(source.buffer, DP_SOURCE_BUFFER),
		   "what a failing filler left is wiped");
	tap_ok(dp_noise_uniform_below(&source, 10, &value) == DP_E_RANDOM &&
		   value == 42, "failure leaves a uniform untouched");
	tap_ok(uniform_below_wide(&source, (dp_uint128) 1 << 90,
									  &wide) == DP_E_RANDOM && wide == 42,
		   "failure leaves a wide uniform untouched");
	tap_ok(dp_noise_uniform_below(&source, 1, &value) == DP_OK && value == 0,
		   "uniform below 1 needs no source");
	value = 42;
	tap_ok(dp_noise_uniform_below(&source, 0, &value) == DP_E_RANGE &&
		   value == 42, "uniform below 0 is refused");
	wide = 42;
	tap_ok(uniform_below_wide(&source, 0, &wide) == DP_E_RANGE &&
		   wide == 42, "wide uniform below 0 is refused");

	/* the second fill fails: 4096 bytes, then nothing, for good */
	dp_noise_source_init(&source, countdown_fill, &left);
	for (n = 0; dp_noise_random_bytes(&source, out, 1) == DP_OK; n++)
		;
	tap_ok(n == DP_SOURCE_BUFFER, "a dead filler ends the stream at once");
	tap_ok(dp_noise_random_bytes(&source, out, 1) == DP_E_RANDOM,
		   "and it stays ended");
	left = 1;
	tap_ok(dp_noise_random_bytes(&source, out, 1) == DP_OK,
		   "until the filler works again");
	dp_noise_source_wipe(&source);
	tap_ok(all_zero(source.buffer, DP_SOURCE_BUFFER) &&
		   source.next == DP_SOURCE_BUFFER, "wiping empties the buffer");
	tap_ok(dp_noise_random_bytes(&source, out, 1) == DP_E_RANDOM,
		   "and the next request fills anew");
}

static void
test_openssl(void)
{
	unsigned char a[32] = {0};
	unsigned char b[32] = {0};

	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	tap_ok(dp_noise_random_bytes(&source, a, 32) == DP_OK &&
		   dp_noise_random_bytes(&source, b, 32) == DP_OK &&
		   memcmp(a, b, 32) != 0, "OpenSSL fills (false alarm 2^-256)");
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	tap_ok(dp_noise_random_bytes(&source, b, 32) == DP_OK &&
		   memcmp(a, b, 32) != 0,
		   "a source made anew does not repeat (false alarm 2^-256)");
	tap_ok(!dp_noise_fill_openssl(NULL, a, (size_t) INT_MAX + 1),
		   "a request beyond OpenSSL's type fails");
}

/*
 * Every byte string of the length consumed, once each: accepted values must
 * hit each of [0, n) equally often, and rejection must be below one half.
 */
static bool
uniform_exhausted(uint64_t n)
{
	static int	hits[1024];
	const int	strings = n <= 256 ? 256 : 65536;
	const int	length = n <= 256 ? 1 : 2;
	unsigned char bytes[2];
	uint64_t	value;
	dp_status	status;
	int			refused = 0;
	int			s;
	uint64_t	i;

	memset(hits, 0, sizeof(hits));
	for (s = 0; s < strings; s++)
	{
		bytes[0] = (unsigned char) s;
		bytes[1] = (unsigned char) (s >> 8);
		source.next = DP_SOURCE_BUFFER - (size_t) length;
		memcpy(source.buffer + source.next, bytes, (size_t) length);
		status = dp_noise_uniform_below(&source, n, &value);
		if (status == DP_E_RANDOM)
			refused++;
		else if (status != DP_OK || value >= n)
			return false;
		else
			hits[value]++;
	}
	for (i = 1; i < n; i++)
		if (hits[i] != hits[0])
			return false;
	return refused < strings / 2;
}

static void
test_uniform(void)
{
	const unsigned char eight[] = {1, 2, 3, 4, 5, 6, 7, 8};
	const unsigned char ones[] = {255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0x80};
	uint64_t	value = 0;
	dp_uint128	wide = 0;
	uint64_t	n;
	bool		good = true;
	unsigned	bytes;

	dp_noise_source_init(&source, failing_fill, NULL);
	for (n = 2; n <= 1024; n++)
		if (!uniform_exhausted(n))
		{
			tap_diag("not uniform below %d", (int) n);
			good = false;
		}
	tap_ok(good, "uniform below 2..1024 exactly, over all byte strings");

	/* just enough bytes, for each number of bits */
	good = true;
	for (bytes = 1; bytes <= 8; bytes++)
	{
		scripted_source(&source, eight, 8);
		n = bytes == 8 ? UINT64_MAX : UINT64_C(1) << (8 * bytes);
		good = good && dp_noise_uniform_below(&source, n, &value) == DP_OK &&
			source.next == DP_SOURCE_BUFFER - 8 + bytes &&
			value == (UINT64_C(0x0807060504030201) & (n - (bytes < 8))) &&
			all_zero(source.buffer, source.next) &&
			memcmp(source.buffer + source.next, eight + bytes,
				   8 - bytes) == 0;
	}
	tap_ok(good, "1..8 bytes: least significant first, just enough, wiped");

	/* largest n of either width: reject all ones, accept the next */
	scripted_source(&source, ones, sizeof(ones));
	tap_ok(uniform_below_wide(&source, ~(dp_uint128) 0,
									  &wide) == DP_OK &&
		   wide == (((dp_uint128) 1 << 127) | 9) &&
		   source.next == DP_SOURCE_BUFFER,
		   "below 2^128 - 1: all ones is rejected");
	scripted_source(&source, ones + 8, 16);
	tap_ok(dp_noise_uniform_below(&source, UINT64_MAX, &value) == DP_OK &&
		   value == 9, "below 2^64 - 1: all ones is rejected");
	scripted_source(&source, ones, 8);
	tap_ok(uniform_below_wide(&source, (dp_uint128) 1 << 64,
									  &wide) == DP_OK && wide == UINT64_MAX,
		   "below 2^64 takes eight bytes and never rejects");
	scripted_source(&source, ones, 9);
	tap_ok(uniform_below_wide(&source, (dp_uint128) 3 << 64,
									  &wide) == DP_E_RANDOM,
		   "below 3 2^64 takes nine bytes and rejects the fourth quarter");
}

int
main(void)
{
	test_delivery();
	test_failure();
	test_openssl();
	test_uniform();
	return tap_done();
}
