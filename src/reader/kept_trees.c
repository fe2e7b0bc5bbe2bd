/*
 * kept_trees.c
 *	  The nodes of a message, and those of messages that are repeated.
 *
 * Connections repeat small queries, and reading their plans from text takes as
 * long as executing them.  So a reader keeps the trees of texts that were
 * received twice, at places given by their hashes.  A text follows from the
 * question and from public facts, and its trees from the text.
 *
 * The executor changes nothing in a plan except what is set here in its head.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "nodes/nodes.h"
#include "utils/memutils.h"

#include "reader.h"

#define PLACES 16
#define MOST_TEXT 32768			/* bytes */

/* Lives in a memory context of its own. */
typedef struct kept_trees
{
	MemoryContext context;
	Size		size;
	char	   *text;
	dp_reader_trees trees;
} kept_trees;

/* Hashes of the last text at each place, also before its trees are kept. */
static uint32 last_hash[PLACES];
static kept_trees *kept[PLACES];

static void
parse(const dp_message *message, dp_reader_trees *out)
{
	out->plan = stringToNode(dp_reader_find_part(message, DP_PART_PLAN));
	out->scans = stringToNode(dp_reader_find_part(message, DP_PART_SCANS));
	out->input = stringToNode(dp_reader_find_part(message, DP_PART_INPUT));
}

static PlannedStmt *
copy_head(const PlannedStmt *plan)
{
	PlannedStmt *copy = palloc(sizeof(PlannedStmt));

	*copy = *plan;
	return copy;
}

/* Copy the heads, for one job. */
static void
lend(const dp_reader_trees *trees, dp_reader_trees *out)
{
	ListCell   *lc;

	out->plan = copy_head(trees->plan);
	out->scans = NIL;
	foreach(lc, trees->scans)
		out->scans = lappend(out->scans,
							 copy_head(lfirst_node(PlannedStmt, lc)));
	out->input = copyObject(trees->input);
}

static kept_trees *
keep(const dp_message *message, const char *text, Size size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dp_pg kept trees",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	kept_trees *trees = palloc(sizeof(kept_trees));

	trees->context = context;
	trees->size = size;
	trees->text = palloc(size);
	memcpy(trees->text, text, size);
	parse(message, &trees->trees);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, TopMemoryContext);
	return trees;
}

/*
 * dp_reader_read_trees
 *	  Get the plan, the scans and the input of a message.  The caller may
 *	  change the heads of the first two and all of the last.
 */
void
dp_reader_read_trees(const dp_message *message, dp_reader_trees *out)
{
	const char *text = dp_reader_find_part(message, DP_PART_PLAN);
	Size		size = dp_reader_find_part(message, DP_PART_DATA) - text;
	uint32		hash;
	int			place;

	if (size > MOST_TEXT)
	{
		parse(message, out);
		return;
	}
	hash = DatumGetUInt32(hash_any((const unsigned char *) text, (int) size));
	place = hash % PLACES;
	if (kept[place] == NULL || kept[place]->size != size ||
		memcmp(kept[place]->text, text, size) != 0)
	{
		if (last_hash[place] != hash)
		{
			last_hash[place] = hash;
			parse(message, out);
			return;
		}
		if (kept[place] != NULL)
			MemoryContextDelete(kept[place]->context);
		kept[place] = NULL;
		kept[place] = keep(message, text, size);
	}
	lend(&kept[place]->trees, out);
}
