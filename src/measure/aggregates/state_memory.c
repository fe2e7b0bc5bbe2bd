/*
 * state_memory.c
 *	  How much memory the exact numbers of a release may take, whatever the
 *	  rows.
 *
 * A hash table has an entry for each group that has rows, and states grow with
 * them, up to a size that follows from public facts.  A reader reserves this
 * much before the charge (reader/process.c), so that no row can cause a lack
 * of memory.
 *
 * palloc rounds chunks of up to CHUNK bytes to a power of two, in blocks that
 * double, so that part of the last one is unused; freed chunks serve only
 * requests of the same size.  A state that grows leaves smaller ones behind:
 * together at most an eighth of itself, or, up to CHUNK bytes, no more than
 * itself.  It is copied when it is saved, then freed, and the copy is copied
 * once more by its receiver, so two rows are added to the states.  A state
 * that does not grow is copied by the executor when it is made; that of all
 * groups may have the numbers of every measurement.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "../../catalog/dp_catalog.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* Most bytes of content of one query; what it takes may be more. */
#define MOST (INT64CONST(1024) * 1024 * 1024)

/* Most bytes for a group in a hash table, and for each of its states. */
#define GROUP_BYTES 256
#define STATE_BYTES 64

#define CHUNK 8192
#define CHUNK_HEADER 16
#define BLOCK_HEADER 64
#define LAST_BLOCKS (INT64CONST(16) * 1024 * 1024)	/* of two contexts */

/* What palloc takes for this number of bytes. */
static int64
chunk(int64 bytes)
{
	if (bytes <= CHUNK)
		return CHUNK_HEADER +
			(int64) pg_nextpower2_64((uint64) Max(bytes, CHUNK_HEADER));
	return bytes + BLOCK_HEADER;
}

/* Bytes of a group's state of a measurement at its first row. */
static int64
cell_bytes(const dp_measure *measure)
{
	return STATE_BYTES + measure->ncells * (int64) sizeof(int64);
}

/* Bytes of its largest content, and when it is saved. */
static int64
content_bytes(const dp_measure *measure)
{
	return cell_bytes(measure) + 2 * measure->state_size;
}

/*
 * dp_aggregates_row_memory
 *	  Most bytes of a row of exact numbers that one process of a plan passes to
 *	  another; spec->states is set.
 */
Size
dp_aggregates_row_memory(const dp_release_spec *spec)
{
	int64		bytes = GROUP_BYTES;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		bytes += content_bytes(&spec->measures[i]) -
			spec->measures[i].state_size;
	return (Size) (bytes * (spec->states ? spec->groups : 1));
}

/* Most bytes that the state takes. */
static int64
state_bytes(const dp_measure *measure)
{
	int64		grows = measure->state_size;
	int64		bytes = STATE_BYTES + chunk(cell_bytes(measure));

	if (grows > 0)
		bytes += chunk(grows) + (grows <= CHUNK ? chunk(grows) : grows / 8);
	return bytes;
}

static bool
keeps_digests(const dp_release_spec *spec)
{
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		if (spec->measures[i].ops->kind == DP_AGG_COUNT &&
			spec->measures[i].aggregate->aggdistinct != NIL)
			return true;
	return false;
}

/*
 * dp_aggregates_memory
 *	  Most bytes, whatever the rows; spec->states is set.
 *
 * Errors: 54000 too many.
 */
Size
dp_aggregates_memory(const dp_release_spec *spec)
{
	int64		bytes = spec->states ? 0 : GROUP_BYTES;
	int64		content = bytes;
	int64		copied = 0;
	int64		small;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		content += content_bytes(&spec->measures[i]);
		bytes += state_bytes(&spec->measures[i]);
		copied = spec->states ?
			copied + spec->held * cell_bytes(&spec->measures[i]) :
			Max(copied, cell_bytes(&spec->measures[i]));
	}
	small = Min(bytes, CHUNK * (int64) (spec->nmeasures + 1));	/* in blocks */
	if (content > MOST / Max(spec->held, 1))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query has too many groups for what it releases in "
						"each"),
				 errdetail("There are " INT64_FORMAT " public groups, which "
						   "may take " INT64_FORMAT " bytes of memory each; "
						   "at most %d MB are used, whatever "
						   "dp_pg.reader_memory is.", spec->held, content,
						   (int) (MOST / (1024 * 1024))),
				 errhint("Use fewer group keys, buckets or candidates.")));
	bytes *= spec->held;
	return (Size) (bytes + copied + Min(small * spec->held, LAST_BLOCKS)) +
		(keeps_digests(spec) ? DP_DISTINCT_MEMORY : 0) +
		dp_aggregates_units_memory(spec);
}
