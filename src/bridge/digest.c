/*
 * digest.c
 *	  SHA-256 by the server's cryptographic library.
 */
#include "postgres.h"

#include "common/cryptohash.h"

#include "dp_bridge.h"

/* dp_bridge_sha256: DP_SHA256_BYTES bytes to *out. */
void
dp_bridge_sha256(const void *data, Size size, uint8 *out)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);

	if (context == NULL || pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, data, size) < 0 ||
		pg_cryptohash_final(context, out, DP_SHA256_BYTES) < 0)
		elog(ERROR, "could not compute a SHA-256 digest");
	pg_cryptohash_free(context);
}
