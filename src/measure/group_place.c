/*
 * group_place.c
 *	  The public group of a row, found before rows are grouped, and the
 *	  aggregates of all groups in one state.
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../count/dp_to_grid.h"
#include "dp_measure.h"

static Aggref *group_state(const dp_release_spec *spec,
						   const dp_measure *measure,
						   const Aggref *native, Expr *place);

/* ----------------
 *		The public group of a row, looked up before rows are grouped.
 *
 * An inner query groups by one integer, the place of the row among the public
 * groups, and not by raw keys; or it keeps all groups in arrays and does not
 * group.  So it has at most one group more than the answer has rows: the
 * memory of grouping follows from public facts, and it never spills to disk.
 * A row whose key is not public has the place NULL.
 *
 * A place is computed key by key, the first key varying slowest:
 *
 *		group_place(group_place(0, k1, keys of k1), k2, keys of k2)
 *
 * where the public values of a key are a constant without pointers, looked up
 * like an axis (axis.c).  A literal key has one value and needs no call.  A
 * key computed from a column with public values is looked up by the column,
 * whose places are mapped to the key's.
 *
 * A key that is released by threshold because of its many values
 * (run/key_domains.c) is looked up separately, by dp_pg.key_place, and its
 * place becomes part of the name of the row's group.
 * ----------------
 */

/* The public values of one key, flat. */
typedef struct dp_group_keys
{
	int32		vl_len_;
	int32		size;			/* number of values, with other and NULL */
	int64		map;			/* offset of the map from places that are found
								 * to places of the key; or 0 */
	dp_axis_finder finder;		/* last, since its length varies */
} dp_group_keys;

PG_FUNCTION_INFO_V1(dp_group_place);
PG_FUNCTION_INFO_V1(dp_key_place);

/*
 * The public values that a release puts into its calls; no other caller has
 * any.
 */
static const dp_group_keys *
require_keys(FunctionCallInfo fcinfo, int argument, const char *function)
{
	if (unlikely(PG_ARGISNULL(argument)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s can be used only inside private queries",
						function),
				 errhint("Group by the key itself.")));
	return (const dp_group_keys *) PG_GETARG_POINTER(argument);
}

/* The place of a key's value, or -1. */
static int64
place_find_place(const dp_group_keys *keys, Datum value, bool isnull)
{
	int64		place = dp_places_axis_find_flat(&keys->finder, value, isnull);

	if (place >= 0 && keys->map != 0)
		place = ((const int32 *) ((const char *) keys + keys->map))[place];
	return place;
}

/*
 * dp_group_place
 *	  SQL: dp_pg.group_place(place by the keys before, key, its public values)
 *	  -> place, or NULL if the row is in no public group.
 */
Datum
dp_group_place(PG_FUNCTION_ARGS)
{
	const dp_group_keys *keys = require_keys(fcinfo, 2, "dp_pg.group_place");
	int64		place;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	place = place_find_place(keys, PG_GETARG_DATUM(1), PG_ARGISNULL(1));
	if (place < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(PG_GETARG_INT32(0) * keys->size + (int32) place);
}

/*
 * dp_key_place
 *	  SQL: dp_pg.key_place(key, its public values) -> place among them, or NULL
 *	  if it is none of them.
 */
Datum
dp_key_place(PG_FUNCTION_ARGS)
{
	const dp_group_keys *keys = require_keys(fcinfo, 1, "dp_pg.key_place");
	int64		place = place_find_place(keys, PG_GETARG_DATUM(0),
										 PG_ARGISNULL(0));

	if (place < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(place);
}

/* ---- the inner query ---- */

/*
 * A constant for dp_pg.group_place: public values for the look-up, and the
 * place for each of n values found (NULL: its own).
 */
static Const *
make_keys(const dp_axis_finder *finder, Size length, const int32 *map,
		  int64 n, int32 places)
{
	Size		size = MAXALIGN(offsetof(dp_group_keys, finder) + length);
	Size		mapped = map == NULL ? 0 : sizeof(int32) * n;
	dp_group_keys *keys = palloc0(size + mapped);

	memcpy(&keys->finder, finder, length);
	if (map != NULL)
	{
		memcpy((char *) keys + size, map, mapped);
		keys->map = (int64) size;
	}
	keys->size = places;
	return dp_places_tally_spec_const(keys, size + mapped);
}

/* Does a row's place among public groups depend on the key? */
static bool
is_looked_up(const dp_release_spec *spec, int key)
{
	const dp_key *k = list_nth(spec->block->keys, key);

	return k->kind != DP_KEY_CONSTANT && k->kind != DP_KEY_UNDECLARED &&
		!spec->large[key];
}

/*
 * The public values of a key, for dp_pg.group_place and dp_pg.key_place.  The
 * latter does not need their number, which may not fit into an int32.
 */
static Const *
keys_of(const dp_release_spec *spec, int key)
{
	dp_domain  *domain = spec->domains[key];
	int64		size = dp_places_domain_size(domain);
	Size		length;
	const dp_axis_finder *finder = dp_places_domain_finder(domain, &length);
	int64		n;
	const int32 *map = dp_places_domain_map(domain, &n);

	return make_keys(finder, length, map, n,
					 spec->large[key] ? 1 : (int32) size);
}

static Oid
place_function(void)
{
	Oid			types[3] = {INT4OID, ANYELEMENTOID, InvalidOid};

	types[2] = dp_catalog_type("tally_spec");
	return dp_catalog_function("group_place", 3, types);
}

/* The place of a row whose keys are the first targets of the query. */
static Expr *
place_of(const dp_release_spec *spec, const List *targets)
{
	Expr	   *place = (Expr *) makeConst(INT4OID, -1, InvalidOid, 4,
										   Int32GetDatum(0), false, true);
	Oid			function = place_function();
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		TargetEntry *target = list_nth(targets, i);

		if (!is_looked_up(spec, i))
			continue;
		place = (Expr *) makeFuncExpr(function, INT4OID,
									  list_make3(place, target->expr,
												 keys_of(spec, i)),
									  InvalidOid, InvalidOid,
									  COERCE_EXPLICIT_CALL);
	}
	return place;
}

/* Replace large keys by their places. */
static void
place_large_keys(const dp_release_spec *spec, const List *targets)
{
	Oid			types[2] = {ANYELEMENTOID, InvalidOid};
	int			i;

	types[1] = dp_catalog_type("tally_spec");
	for (i = 0; i < spec->nkeys; i++)
	{
		TargetEntry *target = list_nth(targets, i);

		if (spec->large[i])
			target->expr = (Expr *)
				makeFuncExpr(dp_catalog_function("key_place", 2, types),
							 INT8OID,
							 list_make2(target->expr, keys_of(spec, i)),
							 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	}
}

/* Return one row for each group, and one for rows in none. */
static void
group_by(Query *inner, int nkeys, Expr *place)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *target = makeTargetEntry(place, 1, pstrdup("place"), false);
	ListCell   *lc;

	target->ressortgroupref = 1;
	clause->tleSortGroupRef = 1;
	clause->eqop = Int4EqualOperator;
	clause->sortop = Int4LessOperator;
	clause->hashable = true;
	inner->targetList = lcons(target,
							  list_copy_tail(inner->targetList, nkeys));
	foreach(lc, inner->targetList)
		((TargetEntry *) lfirst(lc))->resno = foreach_current_index(lc) + 1;
	inner->groupClause = list_make1(clause);
}

/* Return one row, with the states of all groups. */
static void
gather_states(const dp_release_spec *spec, Query *inner, Expr *place)
{
	List	   *targets = NIL;
	ListCell   *lc;
	int			i = 0;

	for_each_from(lc, inner->targetList, spec->nkeys)
	{
		Aggref	   *native = castNode(Aggref,
									  ((TargetEntry *) lfirst(lc))->expr);
		Aggref	   *state = group_state(spec, &spec->measures[i++],
										native, place);

		targets = lappend(targets, makeTargetEntry((Expr *) state, i,
												   pstrdup("exact"), false));
	}
	inner->targetList = targets;
	inner->groupClause = NIL;
}

/*
 * dp_measure_group_by_place
 *	  Make a verified inner query, whose first targets are the keys, group by
 *	  place.  Without keys there is nothing to do, unless units have many rows.
 */
void
dp_measure_group_by_place(const dp_release_spec *spec, Query *inner)
{
	Expr	   *place;

	if (spec->nkeys == 0 && !spec->many)
		return;
	place = place_of(spec, inner->targetList);
	place_large_keys(spec, inner->targetList);
	if (spec->many)
		dp_measure_list_rows(spec, inner, place);
	else if (spec->states)
		gather_states(spec, inner, place);
	else
		group_by(inner, spec->nkeys, place);
}

/*
 * dp_measure_row_place
 *	  The place of the argument among the public places of the measurement, as
 *	  bigint; NULL if it has none.
 */
Expr *
dp_measure_row_place(const dp_measure *measure, Expr *argument,
					 dp_axis_kind kind, const Const *lookup)
{
	const dp_places places = {kind, measure->argument_type, 0,
	measure->ncells, -1, -1};
	Size		length;
	const dp_axis_finder *finder = dp_places_axis_make_finder(&places, lookup,
															  &length);
	Const	   *zero = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								 Int32GetDatum(0), false, true);
	Expr	   *place = (Expr *)
	makeFuncExpr(place_function(), INT4OID,
				 list_make3(zero, argument,
							make_keys(finder, length, NULL, 0,
									  measure->ncells)),
				 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);

	return (Expr *) makeFuncExpr(F_INT8_INT4, INT8OID, list_make1(place),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* ----------------
 *		Counts and sums of all public groups in one state each.
 *
 * If a block asks only for counts and bounded sums, its inner query need not
 * group: one aggregate without GROUP BY has an array with the numbers of every
 * public group (count/group_sums.c) and adds each row at its place.  That is
 * faster than a hash table of groups, and its memory follows from the number
 * of groups.
 * ----------------
 */

/* If states would be larger than this, groups are hashed instead. */
#define STATE_BYTES (64 * 1024 * 1024)

/* Words that a group takes in a measurement's state; 0 if not supported. */
static int
place_words_of(const dp_measure *measure)
{
	switch (measure->ops->kind)
	{
		case DP_AGG_COUNT:
			return measure->aggregate->aggdistinct == NIL ? 1 : 0;
		case DP_AGG_SUM:
		case DP_AGG_AVG:
			return DP_SUM_WORDS;
		default:
			return 0;
	}
}

/*
 * dp_measure_fits_states: can one state per measurement hold all groups of the
 * release?
 */
bool
dp_measure_fits_states(const dp_release_spec *spec)
{
	int64		words = 0;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		int			n = place_words_of(&spec->measures[i]);

		if (n == 0)
			return false;
		words += n;
	}
	return spec->nkeys > 0 && spec->nmeasures > 0 &&
		words * spec->groups <= STATE_BYTES / (int64) sizeof(int64);
}

/* Count a row if its argument is not NULL and it passes the filter. */
static Expr *
filter_of(const Aggref *native)
{
	Expr	   *counts;

	if (native->args == NIL)
		return native->aggfilter;
	counts = (Expr *)
		dp_block_null_test((Node *)
						   ((TargetEntry *) linitial(native->args))->expr,
						   IS_NOT_NULL);
	if (native->aggfilter == NULL)
		return counts;
	return makeBoolExpr(AND_EXPR, list_make2(native->aggfilter, counts), -1);
}

static Aggref *
place_make_aggregate(const Aggref *native, const char *name, List *arguments,
					 Expr *filter)
{
	Aggref	   *aggregate = copyObject((Aggref *) native);
	Oid			types[3];
	ListCell   *lc;

	aggregate->args = NIL;
	aggregate->aggargtypes = NIL;
	aggregate->aggstar = false;
	aggregate->aggfilter = filter;
	aggregate->aggtype = dp_catalog_type("tally_state");
	foreach(lc, arguments)
	{
		int			i = foreach_current_index(lc);
		Expr	   *argument = lfirst(lc);

		types[i] = exprType((Node *) argument);
		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes, types[i]);
		aggregate->args = lappend(aggregate->args,
								  makeTargetEntry(argument, i + 1, NULL,
												  false));
	}
	aggregate->aggfnoid = dp_catalog_function(name, list_length(arguments),
											  types);
	return aggregate;
}

/*
 * group_state
 *	  The aggregate of a verified inner query for all groups at once.
 */
static Aggref *
group_state(const dp_release_spec *spec, const dp_measure *measure,
			const Aggref *native, Expr *place)
{
	bool		counts = measure->ops->kind == DP_AGG_COUNT;
	Const	   *constant =
	dp_count_group_spec(spec->groups * place_words_of(measure),
						counts ? NULL : &measure->grid);

	if (counts)
		return place_make_aggregate(native, "group_counts",
									list_make2(copyObject(place), constant),
									filter_of(native));
	return place_make_aggregate(native, "group_sums",
								list_make3(copyObject(place),
										   linitial_node(TargetEntry,
														 native->args)->expr,
										   constant),
								native->aggfilter);
}

/*
 * dp_measure_group_value
 *	  What the aggregate of one group would have returned.
 */
Datum
dp_measure_group_value(const dp_measure *measure, Datum state, int64 group)
{
	dp_tally_state *all = (dp_tally_state *) DatumGetPointer(state);

	if (place_words_of(measure) == 1)
		return Int64GetDatum(all->counts[group]);
	return PointerGetDatum((dp_sum_state *) all->counts + group);
}
