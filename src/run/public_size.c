/*
 * public_size.c
 *	  How many parallel workers read a relation, by its declared size.
 *
 * ...)) decides, by the rule that PostgreSQL has for pages, with the widths
 * that types have.  A part has its share of the class, and only parts that
 * constants leave over count.  Where nothing is said there are no workers,
 * unless the owner has set the storage parameter parallel_workers, which is as
 * public. => The owner's size class (dp_declare(relation, rows => ...))
 * decides, by PostgreSQL's rule for pages, with widths estimated from types.
 * Each part has an equal share of the class, and only parts that constants do
 * not exclude count.  Without a size class there are no workers, unless the
 * owner has set the storage parameter parallel_workers, which is as public. =>
 * ...)) decides, by the rule that PostgreSQL has for pages, with the widths
 * that types have.  A part has its share of the class, and only parts that
 * constants leave over count.  Where nothing is said there are no workers,
 * unless the owner has set the storage parameter parallel_workers, which is as
 * public.
 *
 * The class decides nothing else.  Without statistics the number of groups is
 * a guess; with many rows the planner would find sorting cheaper than hashing.
 * So everything is planned as a million rows.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "optimizer/plancat.h"
#include "utils/syscache.h"

#include "public.h"

/* The number of rows with which every relation is planned. */
#define PUBLIC_PAGES 10000
#define PUBLIC_TUPLES 1000000

#define PARALLEL_PAGES 1024		/* default of min_parallel_table_scan_size */

/* As compute_parallel_worker with default settings. */
static int
workers_for(double pages)
{
	int			workers = 0;
	double		threshold = PARALLEL_PAGES;

	for (; pages >= threshold; threshold *= 3)
		workers++;
	return workers;
}

/* As PostgreSQL estimates a table that was never vacuumed. */
static double
pages_of(double rows, dp_public_facts *facts)
{
	if (rows == 0)
		return 0;
	if (facts->width == 0)
		facts->width = MAXALIGN(get_relation_data_width(facts->relid, NULL)) +
			MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData);
	return rows * facts->width / (BLCKSZ - SizeOfPageHeaderData);
}

/* The relation of which this is a partition or child in a query, or NULL. */
static const RelOptInfo *
parent_of(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL)
		return NULL;
	return root->simple_rel_array[root->append_rel_array[rel->relid]
								  ->parent_relid];
}

/* Rows of a relation or part by the class, assuming parts of equal size. */
static double
declared_rows(PlannerInfo *root, const RelOptInfo *rel,
			  dp_public_facts *facts)
{
	const RelOptInfo *parent = parent_of(root, rel);
	int			parts;

	if (parent == NULL)
		return root->simple_rte_array[rel->relid]->relid == facts->relid ?
			facts->rows : 0;
	parts = parent->nparts;
	if (parts <= 0)				/* inheritance: children at all levels */
	{
		if (facts->children == 0)
			facts->children = list_length(find_all_inheritors(facts->relid,
															  NoLock, NULL));
		parts = facts->children;
	}
	return declared_rows(root, parent, facts) / parts;
}

static bool
has_toast(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		found = HeapTupleIsValid(tuple) &&
	OidIsValid(((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid);

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return found;
}

/*
 * dp_run_public_size
 *	  Give a relation its public size when the planner looks it up.
 */
void
dp_run_public_size(PlannerInfo *root, Oid relid, RelOptInfo *rel,
				   dp_public_facts *facts)
{
	double		pages;

	rel->pages = PUBLIC_PAGES;
	rel->tuples = PUBLIC_TUPLES;
	rel->allvisfrac = 0;
	if (facts->toast_needed && !facts->toast_met)
		facts->toast_met = has_toast(relid);
	if (rel->rel_parallel_workers > 0)
		facts->workers_told = true;
	if (rel->rel_parallel_workers != -1)
		return;
	pages = pages_of(declared_rows(root, rel, facts), facts);
	rel->rel_parallel_workers = workers_for(pages);
	if (parent_of(root, rel) != NULL && pages > 0)
		rel->rel_parallel_workers = Max(rel->rel_parallel_workers, 1);
}

/* Pages of all parts that are not excluded. */
static double
pages_left(PlannerInfo *root, dp_public_facts *facts)
{
	double		pages = 0;
	int			i;

	for (i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->rtekind == RTE_RELATION &&
			!root->simple_rte_array[i]->inh && !IS_DUMMY_REL(rel))
			pages += pages_of(declared_rows(root, rel, facts), facts);
	}
	return pages;
}

/*
 * dp_run_may_share_public
 *	  May workers read what is left of the relation? Call it when excluded
 *	  parts are known.
 */
bool
dp_run_may_share_public(PlannerInfo *root, dp_public_facts *facts)
{
	if (facts->toast_met)
		return false;
	if (!facts->workers_told && !facts->pages_counted)
	{
		facts->workers_told = workers_for(pages_left(root, facts)) > 0;
		facts->pages_counted = true;
	}
	return facts->workers_told;
}
