/*
 * long_row.c
 *	  Checks that rows of a relation are short enough to be gathered by unit.
 *
 * A row fits into a page, except for columns that ALTER TABLE .. ADD COLUMN
 * added with a default: the value for existing rows is in the catalog,
 * whatever its length.  That is public.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_inherits.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "read_rows.h"

/* Bytes of such values, for columns of a relation or partition. */
static Size
default_bytes(Oid relid, const List *names)
{
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(rel);
	Size		sum = 0;
	ListCell   *lc;

	foreach(lc, names)
	{
		AttrNumber	n = get_attnum(relid, lfirst(lc));
		const AttrMissing *missing;

		if (n == InvalidAttrNumber || desc->constr == NULL ||
			desc->constr->missing == NULL)
			continue;
		missing = &desc->constr->missing[n - 1];
		if (missing->am_present)
			sum += MAXALIGN(datumGetSize(missing->am_value,
										 TupleDescAttr(desc, n - 1)->attbyval,
										 TupleDescAttr(desc, n - 1)->attlen));
	}
	table_close(rel, NoLock);
	return sum;
}

/*
 * dp_block_check_row_length
 *	  Refuses a relation whose rows, with the needed columns, may be too long
 *	  for the partitions of units.
 *
 * Returns: NULL, or 54000.
 */
dp_refusal *
dp_block_check_row_length(Oid relid, const Bitmapset *columns)
{
	List	   *names = NIL;
	int			column = -1;
	ListCell   *lc;

	while ((column = bms_next_member(columns, column)) >= 0)
	{
		char	   *name = get_attname(relid, column, true);

		if (name != NULL)
			names = lappend(names, name);
	}
	foreach(lc, find_all_inheritors(relid, AccessShareLock, NULL))
		if (default_bytes(lfirst_oid(lc), names) > DP_ROW_DEFAULTS)
			return dp_bridge_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED, -1,
									psprintf("The defaults of columns that "
											 "ALTER TABLE .. ADD COLUMN added "
											 "are stored outside of existing "
											 "rows; they may have %zu kB "
											 "where rows are gathered by "
											 "privacy unit.",
											 DP_ROW_DEFAULTS / 1024),
									"Leave these columns out, or ask the data "
									"owner to store them: VACUUM FULL.",
									"rows of relation \"%s\" may be too long",
									get_rel_name(relid));
	return NULL;
}
