/*
 * unit_bounds.c
 *	  How much of a unit counts: at most max_total of its rows, in at most
 *	  max_keys groups, and at most max_rows in each.
 *
 * The owner declares what suits the table; settings override it for one's own
 * queries.  Both are public, and neither weakens privacy: sensitivity and
 * noise follow from the bounds, to which rows are reduced whatever they are.
 * Large bounds cost noise, small ones lose rows.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

#define MOST PG_INT32_MAX

/* The setting, else the declaration, else 0. */
static int64
decide(int setting, int64 declared, dp_bound_origin *from)
{
	*from = setting > 0 ? DP_BOUND_SET :
		declared > 0 ? DP_BOUND_DECLARED : DP_BOUND_IMPLIED;
	return setting > 0 ? setting : declared;
}

/* Set those that are not given, 0, from those that are. */
static void
complete_bounds(dp_unit_bounds *b)
{
	int64		other = b->total > 0 ? b->total : 1;

	if (b->rows == 0)
		b->rows = other;
	if (b->keys == 0)
		b->keys = other;
	if (b->total == 0)
		b->total = Min(b->rows * b->keys, MOST);
}

/*
 * dp_protect_contribution
 *	  The bounds that hold for this connection's queries on the relation: at
 *	  least 1, and below 2^31.  `missing` if nothing says how many rows count,
 *	  which are 0 then, as keys may be; what needs such a bound is refused,
 *	  since any default would leave out rows without a word.
 */
dp_unit_bounds
dp_protect_contribution(const dp_relation *relation)
{
	dp_unit_bounds b = {0};

	b.rows = decide(dp_setting_max_rows, relation->max_rows, &b.rows_from);
	b.keys = decide(dp_setting_max_keys, relation->max_keys, &b.keys_from);
	b.total = decide(dp_setting_max_total, relation->max_total,
					 &b.total_from);
	if (b.rows + b.total == 0)
		b.missing = relation->relid;
	else
		complete_bounds(&b);
	if (b.rows_from == DP_BOUND_DECLARED ||
		b.keys_from == DP_BOUND_DECLARED || b.total_from == DP_BOUND_DECLARED)
		b.declared = relation->relid;
	return b;
}

static char *
number_text(int64 n, const char *what)
{
	return psprintf(INT64_FORMAT " %s%s", n, what, n == 1 ? "" : "s");
}

/*
 * dp_protect_bounds_text
 *	  "at most 50 rows of a unit count, in at most 3 groups, at most 20 in
 *	  each".
 */
char *
dp_protect_bounds_text(const dp_unit_bounds *b, bool grouped)
{
	int64		rows = grouped ? b->total : Min(b->rows, b->total);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "at most %s of a unit count%s",
					 number_text(rows, "row"), rows == 1 ? "s" : "");
	if (grouped)
		appendStringInfo(&text, ", in at most %s",
						 number_text(b->keys, "group"));
	if (grouped && b->keys > 1 && b->rows < b->total)
		appendStringInfo(&text, ", at most " INT64_FORMAT " in each",
						 b->rows);
	return text.data;
}

/*
 * dp_protect_declared_bounds
 *	  What is declared of a relation, whatever is set; rows and total are 0 if
 *	  nothing bounds rows.
 */
dp_unit_bounds
dp_protect_declared_bounds(const dp_relation_row *row)
{
	dp_unit_bounds b = {
		.rows = row->max_rows,.keys = row->max_keys,.total = row->max_total
	};

	if (b.rows + b.total > 0)
		complete_bounds(&b);
	return b;
}

/*
 * lacks_bounds
 *	  Whether a unit of the protected relation, which the caller has locked,
 *	  may have many rows while its owner declares no bound on them; false if
 *	  the unit column is gone.
 */
static bool
lacks_bounds(const dp_relation_row *row)
{
	AttrNumber	attnum = !row->has_unit ? InvalidAttrNumber :
		get_attnum(row->relid, NameStr(row->unit));

	return attnum != InvalidAttrNumber &&
		dp_protect_declared_bounds(row).total == 0 &&
		(OidIsValid(row->unit_through) ||
		 !dp_protect_is_key(row->relid, list_make1_int(attnum), NULL));
}

/* Whether a profile says how many rows of a unit of the relation count. */
static bool
is_profiled(Oid relid)
{
	const dp_outlook any = {.noise = 1,.groups = 1};
	dp_unit_bounds b = {0};

	return dp_protect_profile_rows(relid, &any, &b);
}

/*
 * dp_protect_lacks_bounds
 *	  The same, of a relation that is protected and has no profile.
 */
bool
dp_protect_lacks_bounds(Oid relid)
{
	dp_relation_row row;

	return dp_catalog_find_relation(relid, &row) && lacks_bounds(&row) &&
		!is_profiled(relid);
}

PG_FUNCTION_INFO_V1(dp_relation_bounds_text);

/*
 * dp_relation_bounds_text
 *	  SQL: dp_pg.bounds_text(relation oid) returns text: what is declared, or
 *	  that a profile says; empty if nobody does though a unit may have many
 *	  rows, else NULL.
 */
Datum
dp_relation_bounds_text(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel;
	dp_relation_row row;
	dp_unit_bounds b;
	bool		lacks;

	if (!dp_catalog_find_relation(relid, &row))
		PG_RETURN_NULL();
	b = dp_protect_declared_bounds(&row);
	if (b.total > 0)
		PG_RETURN_TEXT_P(cstring_to_text(dp_protect_bounds_text(&b, true)));
	rel = try_relation_open(relid, AccessShareLock);
	lacks = rel != NULL && lacks_bounds(&row);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	if (!lacks)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(is_profiled(relid) ?
									 "for each query the profile says how "
									 "many rows of a unit count, as EXPLAIN "
									 "shows" : ""));
}
