/*
 * joined_digest.c
 *	  One digest of all rows that a block joins, independent of their order:
 *	  the digest of the rows' sorted digests.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"

#include "run.h"

typedef struct row_digest
{
	uint8		bytes[DP_SHA256_BYTES];
} row_digest;

static int
compare_digests(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(row_digest));
}

/* The digest of each row preceded by the number of its source. */
static int64
digest_piece(StringInfo digests, const char *data, Size size)
{
	Size		at = 0;
	int64		n = 0;

	while (at < size)
	{
		dp_piece_row head;
		Size		length;
		row_digest	digest;

		CHECK_FOR_INTERRUPTS();
		memcpy(&head, data + at, sizeof(head));
		length = MAXALIGN(sizeof(head)) + head.size;
		dp_bridge_sha256(data + at, length, digest.bytes);
		appendBinaryStringInfo(digests, (const char *) &digest,
							   sizeof(digest));
		at += MAXALIGN(length);
		n++;
	}
	return n;
}

/* dp_run_digest_joined: write DP_SHA256_BYTES bytes to *out. */
void
dp_run_digest_joined(const dp_joined_rows *rows, uint8 *out)
{
	StringInfoData digests;
	const char *data;
	Size		size;
	int64		n = 0;
	int			i;

	initStringInfo(&digests);
	for (i = 0; (data = dp_run_joined_piece(rows, i, &size)) != NULL; i++)
		n += digest_piece(&digests, data, size);
	qsort(digests.data, n, sizeof(row_digest), compare_digests);
	dp_bridge_sha256(digests.data, digests.len, out);
	pfree(digests.data);
}
