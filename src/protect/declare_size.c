/*
 * declare_size.c
 *	  The size class: about how many rows the owner says a relation has.
 *
 * It is all that plans know of a relation's size.  Nothing is taken from the
 * table by itself: whatever follows rows, be it once, would have to be paid
 * for.  What the owner says is kept as a power of ten, so that one who hands
 * over count(*) publishes its order of magnitude and not the number.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "declare_internal.h"

#define MOST_ROWS INT64CONST(1000000000000000000)

/* The power of ten that is nearest by ratio; 1 for 0. */
static int64
size_class(double rows)
{
	int64		class = 1;

	while (class < MOST_ROWS && rows * rows > (double) class * class * 10)
		class *= 10;
	return class;
}

/*
 * dp_protect_declare_size_class
 *	  The class of a number of rows; 22023 for a negative one.
 */
int64
dp_protect_declare_size_class(int64 rows)
{
	if (rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows must not be negative"),
				 errdetail("It tells the public about how many rows the "
						   "relation has."),
				 errhint("For example 1000000; it is stored as a power of "
						 "ten.")));
	return size_class((double) rows);
}

/* Pages and rows of the relation with its parts. */
static void
estimate_tree(Oid relid, double *pages, double *rows)
{
	ListCell   *lc;

	*pages = 0;
	*rows = 0;
	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		Relation	rel = relation_open(lfirst_oid(lc), AccessShareLock);
		BlockNumber part_pages;
		double		part_rows;
		double		visible;

		if (rel->rd_rel->relkind == RELKIND_RELATION)
		{
			estimate_rel_size(rel, NULL, &part_pages, &part_rows, &visible);
			*pages += RelationGetNumberOfBlocks(rel);
			*rows += part_rows;
		}
		relation_close(rel, NoLock);
	}
}

/*
 * dp_protect_declare_suggest_size
 *	  Tell the owner, who may read the table, when workers would read it if he
 *	  said something of its size.  A function of his that others run tells
 *	  them nothing.
 */
void
dp_protect_declare_suggest_size(Oid relid)
{
	const char *name = dp_protect_qualified_name(relid);
	double		pages;
	double		rows;

	if (!object_ownercheck(RelationRelationId, relid, GetOuterUserId()))
		return;
	estimate_tree(relid, &pages, &rows);
	if (pages < min_parallel_table_scan_size)
		return;
	ereport(NOTICE,
			(errmsg("no parallel workers will read relation %s", name),
			 errdetail("Plans of private queries depend on public facts only, "
					   "and its size has not been declared."),
			 errhint("If it may be public that it has about " INT64_FORMAT
					 " rows: SELECT dp_declare('%s', rows => " INT64_FORMAT
					 ");", size_class(rows), name, size_class(rows))));
}

PG_FUNCTION_INFO_V1(dp_declare_rows);

/*
 * dp_declare_rows
 *	  SQL: dp_declare(relation regclass, rows bigint) returns void; NULL rows:
 *	  nothing is said any more.
 *
 * Errors: 42501, 42704 (not protected), 25006; 22023 for a NULL relation or
 * negative rows.
 */
Datum
dp_declare_rows(PG_FUNCTION_ARGS)
{
	Oid			relid = dp_protect_declare_read_relation(fcinfo);
	int64		class = 0;

	if (!PG_ARGISNULL(1))
		class = dp_protect_declare_size_class(PG_GETARG_INT64(1));
	dp_catalog_write_size(relid, class);
	dp_protect_comment(relid);
	PG_RETURN_VOID();
}
