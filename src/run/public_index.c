/*
 * public_index.c
 *	  The one index that an inner query may read.
 *
 * The pages read through an index reveal how many rows have a value, and where
 * they are.  The owner may declare that this is public for the parts of an
 * immutable column (dp_declare(..., public_sizes => true)).  A query that
 * WHERE restricts to one of many such parts then reads a btree index whose
 * only key is that column, with conditions on that column only.  Nothing is
 * estimated: where the index can be used, it is.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_am.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "public.h"

static bool
is_usable(const IndexOptInfo *index, AttrNumber column)
{
	return index->relam == BTREE_AM_OID && index->nkeycolumns == 1 &&
		index->indexkeys[0] == column && index->indexprs == NIL &&
		index->indpred == NIL && index->opfamily[0] < FirstNormalObjectId;
}

/* amcostestimate: less than any other path costs. */
static void
cost_nothing(PlannerInfo *root, IndexPath *path, double loop_count,
			 Cost *startup, Cost *total, Selectivity *selectivity,
			 double *correlation, double *pages)
{
	*startup = 0;
	*total = 0;
	*selectivity = 0;
	*correlation = 1;
	*pages = 1;
}

/*
 * dp_run_find_public_index
 *	  Hide all of the relation's indexes from the planner except the one that
 *	  may be read, if any.
 */
void
dp_run_find_public_index(Oid relid, RelOptInfo *rel, dp_public_facts *facts)
{
	List	   *indexes = rel->indexlist;
	ListCell   *lc;

	rel->indexlist = NIL;
	if (facts->part_value == NULL || relid != facts->relid)
		return;
	foreach(lc, indexes)
	{
		IndexOptInfo *index = lfirst(lc);

		if (!is_usable(index, facts->part_attnum))
			continue;
		index->pages = 1;
		index->tuples = rel->tuples;
		index->tree_height = 0;
		index->amcanparallel = false;
		index->amhasgetbitmap = false;
		index->amcostestimate = cost_nothing;
		rel->indexlist = list_make1(index);
		facts->index = index->indexoid;
		return;
	}
}

/*
 * dp_run_prefer_public_index
 *	  If there is a path that reads the index, drop all others.
 */
bool
dp_run_prefer_public_index(RelOptInfo *rel)
{
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		if (IsA(lfirst(lc), IndexPath))
			paths = lappend(paths, lfirst(lc));
	if (paths == NIL)
		return false;
	rel->pathlist = paths;
	return true;
}

/* Does a condition restrict the column to the value of the part? */
static bool
holds_to_part(const Node *condition, const Const *part)
{
	const OpExpr *comparison = (const OpExpr *) condition;
	const Const *value;

	if (!IsA(condition, OpExpr) || list_length(comparison->args) != 2)
		return false;
	value = lsecond(comparison->args);
	return IsA(value, Const) && !value->constisnull &&
		value->consttype == part->consttype &&
		comparison->opno == lookup_type_cache(part->consttype,
											  TYPECACHE_EQ_OPR)->eq_opr &&
		datum_image_eq(value->constvalue, part->constvalue, part->constbyval,
					   part->constlen);
}

/*
 * dp_run_reads_public_part
 *	  Does a step of a plan read the index, with conditions on its column only,
 *	  one of which restricts it to the part?
 */
bool
dp_run_reads_public_part(const IndexScan *scan, const dp_public_facts *facts)
{
	Bitmapset  *columns = NULL;
	bool		held = false;
	ListCell   *lc;

	if (!OidIsValid(facts->index) || scan->indexid != facts->index ||
		scan->indexorderby != NIL)
		return false;
	foreach(lc, scan->indexqualorig)
		if (holds_to_part(lfirst(lc), facts->part_value))
			held = true;
	pull_varattnos((Node *) scan->indexqualorig, scan->scan.scanrelid,
				   &columns);
	return held && bms_membership(columns) == BMS_SINGLETON &&
		bms_is_member(facts->part_attnum - FirstLowInvalidHeapAttributeNumber,
					  columns);
}
