/*
 * fingerprint.c
 *	  One number for all blocks of one shape, which the ledger records.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "split.h"

/* dp_block_fingerprint: hash of the canonical text, constants blanked. */
int64
dp_block_fingerprint(const dp_block *block)
{
	char	   *text = dp_block_write_canonical(block, DP_CONSTANTS_BLANKED);

	return (int64) hash_bytes_extended((unsigned char *) text,
									   (int) strlen(text), 0);
}
