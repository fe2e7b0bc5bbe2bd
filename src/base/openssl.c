/*
 * openssl.c
 *	  Random bytes and SHA-256, from OpenSSL.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "miscadmin.h"

#include "../math/noise/dp_noise.h"
#include "dp_base.h"

/* ----------------
 *		The random source of this process.
 *
 * A library preloaded by the postmaster is inherited by every child, so the
 * source records the process that it was set up for, and is set up anew, with
 * an empty buffer, in any other.
 * ----------------
 */

static dp_source source;
static pid_t source_pid = 0;

static void
look_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/*
 * dp_base_source
 *	  The process's source, from OpenSSL; never NULL.  Long draws can be
 *	  canceled.
 */
dp_source *
dp_base_source(void)
{
	pid_t		pid = getpid();

	if (source_pid != pid)
	{
		dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
		dp_noise_source_pulse(&source, look_for_interrupts);
		source_pid = pid;
	}
	return &source;
}

/* ----------------
 *		SHA-256 by the server's cryptographic library.
 * ----------------
 */

/* dp_base_sha256: DP_SHA256_BYTES bytes to *out. */
void
dp_base_sha256(const void *data, Size size, uint8 *out)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);

	if (context == NULL || pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, data, size) < 0 ||
		pg_cryptohash_final(context, out, DP_SHA256_BYTES) < 0)
		elog(ERROR, "could not compute a SHA-256 digest");
	pg_cryptohash_free(context);
}
