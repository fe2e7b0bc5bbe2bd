/*
 * group_place.c
 *	  The public group of a row, found before rows are grouped, and the
 *	  numbers of all groups in states.
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

#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "../exact/dp_exact.h"
#include "../exact/dp_to_grid.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* ----------------
 *		The public group of a row, looked up before rows are grouped.
 *
 * An inner query groups by one integer, the place of the row among the public
 * groups, and not by raw keys; or it keeps the numbers of all groups in states
 * and does not group.  So it has at most one group more than the answer has
 * rows: the memory of grouping follows from public facts, and it never spills
 * to disk.  A row whose key is not public has the place NULL.
 * ----------------
 */

/* ---- the inner query ---- */

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
	bool		placed = key < spec->nkeys && !spec->large[key];
	Size		length;
	const dp_axis_finder *finder = dp_domains_finder(domain, &length);
	int64		n;
	const int32 *map = dp_domains_map(domain, &n);

	return dp_exact_group_keys(finder, length, map, n,
							   placed ? (int32) dp_domains_size(domain) : 1);
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

/* The place of a key, alone, as bigint. */
static Expr *
place_alone(const dp_release_spec *spec, int key, Expr *value)
{
	Oid			types[2] = {ANYELEMENTOID, InvalidOid};

	types[1] = dp_catalog_type("tally_spec");
	return (Expr *) makeFuncExpr(dp_catalog_function("key_place", 2, types),
								 INT8OID,
								 list_make2(value, keys_of(spec, key)),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* Replace large keys by their places. */
static void
place_large_keys(const dp_release_spec *spec, const List *targets)
{
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		TargetEntry *target = list_nth(targets, i);

		if (spec->large[i])
			target->expr = place_alone(spec, i, target->expr);
	}
}

/* What identifies a row's crossing: places of keys, or undeclared values. */
static List *
crossing_of(const dp_release_spec *spec, const Query *inner)
{
	List	   *others = dp_rowsets_other_targets(spec->block, inner);
	List	   *crossing = NIL;
	ListCell   *lc;

	foreach(lc, spec->block->crossing)
	{
		int			i = lfirst_int(lc);
		const TargetEntry *target = i < spec->nkeys ?
			list_nth(inner->targetList, i) : list_nth(others, i - spec->nkeys);
		Expr	   *value = copyObject(target->expr);

		if (dp_rowsets_key(spec->block, i)->kind != DP_KEY_UNDECLARED)
			value = place_alone(spec, i, value);
		crossing = lappend(crossing, value);
	}
	return crossing;
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

/* ----------------
 *		Counts and sums of all public groups in states.
 *
 * If a block asks only for counts and bounded sums, its inner query need not
 * group: one aggregate without GROUP BY finds each row's group and adds all
 * values of the row there (exact/group_sums.c).  That is faster than a hash
 * table of groups, and its memory follows from the number of groups.  Equal
 * exact aggregates, such as those of a sum and of a mean, are one value.
 *
 * Values with another FILTER have an aggregate, and a state, of their own:
 * rows that do not pass it are not looked up.
 * ----------------
 */

/* If states would be larger than this, groups are hashed instead. */
#define STATE_BYTES (64 * 1024 * 1024)

/* Words that a measurement takes in a group of a state; 0: not supported. */
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

/* Whether states can hold all groups of the release. */
static bool
place_fits_states(const dp_release_spec *spec)
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
	return !spec->many && spec->nkeys > 0 && spec->nmeasures > 0 &&
		spec->nkeys + spec->nmeasures <= DP_GROUP_ARGUMENTS_MAX &&
		words * spec->groups <= STATE_BYTES / (int64) sizeof(int64);
}

static const Aggref *
place_exact(const dp_release_spec *spec, const dp_measure *measure)
{
	return list_nth_node(Aggref, spec->exact, measure->first_exact);
}

/* Number the values of a state: sums come first. */
static void
place_number_values(dp_release_spec *spec, int column)
{
	int			n = 0;
	int			i;

	for (i = 0; i < 2 * spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i % spec->nmeasures];
		bool		counts = i >= spec->nmeasures;
		const dp_measure *same = spec->measures;

		if (measure->first_column != column ||
			(place_words_of(measure) == 1) != counts)
			continue;
		while (!equal(place_exact(spec, same), place_exact(spec, measure)))
			same++;
		measure->state_value = same == measure ? n++ : same->state_value;
	}
}

/*
 * dp_aggregates_set_states
 *	  Set spec->states, and if so the state of each measurement, by FILTER, and
 *	  its value there.
 */
void
dp_aggregates_set_states(dp_release_spec *spec)
{
	int			columns = 0;
	int			i;

	spec->states = place_fits_states(spec);
	for (i = 0; spec->states && i < spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i];
		const dp_measure *same = spec->measures;

		while (!equal(place_exact(spec, same)->aggfilter,
					  place_exact(spec, measure)->aggfilter))
			same++;
		measure->first_column = same == measure ? columns++ :
			same->first_column;
	}
	for (i = 0; i < columns; i++)
		place_number_values(spec, i);
}

/* The number of an argument, which is added if it is not there. */
static int
place_argument_number(List **arguments, Expr *argument)
{
	ListCell   *lc;

	foreach(lc, *arguments)
		if (equal(lfirst(lc), argument))
			return foreach_current_index(lc);
	*arguments = lappend(*arguments, argument);
	return list_length(*arguments) - 1;
}

/* What a value adds; its argument is added. */
static dp_group_value
place_value_of(const dp_measure *measure, const Aggref *native,
			   List **arguments)
{
	dp_group_value value = {0};
	const TargetEntry *argument;

	if (native->args == NIL)
		return value;
	argument = linitial_node(TargetEntry, native->args);
	value.argument = place_argument_number(arguments, argument->expr);
	value.type = ANYOID;
	if (place_words_of(measure) == 1)
		return value;
	value.type = measure->argument_type;
	value.grid = &measure->grid;
	return value;
}

/* The aggregate of a verified inner query for a state, or NULL. */
static Aggref *
group_state(const dp_release_spec *spec, const List *targets, int column)
{
	dp_group_key *keys = palloc(sizeof(dp_group_key) * spec->nkeys);
	dp_group_value *values = palloc(sizeof(dp_group_value) * spec->nmeasures);
	const Aggref *native = NULL;
	List	   *arguments = NIL;
	int			nkeys = 0;
	int			nvalues = 0;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		const TargetEntry *target = list_nth(targets, i);

		if (!is_looked_up(spec, i))
			continue;
		keys[nkeys].argument = place_argument_number(&arguments,
													 target->expr);
		keys[nkeys++].keys = keys_of(spec, i);
	}
	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];
		const TargetEntry *target = list_nth(targets, spec->nkeys +
											 measure->first_exact);

		if (measure->first_column != column)
			continue;
		native = castNode(Aggref, target->expr);
		values[measure->state_value] = place_value_of(measure, native,
													  &arguments);
		nvalues = Max(nvalues, measure->state_value + 1);
	}
	return native == NULL ? NULL :
		dp_exact_group_sums(native,
							dp_exact_group_spec(spec->groups,
												list_length(arguments), nkeys,
												keys, nvalues, values),
							arguments);
}

/* Return one row, with the states of all groups. */
static void
gather_states(const dp_release_spec *spec, Query *inner)
{
	List	   *targets = NIL;
	Aggref	   *state;

	while ((state = group_state(spec, inner->targetList,
								list_length(targets))) != NULL)
		targets = lappend(targets, makeTargetEntry((Expr *) state,
												   list_length(targets) + 1,
												   pstrdup("exact"), false));
	inner->targetList = targets;
	inner->groupClause = NIL;
}

/*
 * dp_aggregates_group_value
 *	  What the exact aggregate of one group would have returned.
 */
Datum
dp_aggregates_group_value(const dp_measure *measure, Datum state, int64 group)
{
	void	   *number = dp_exact_group_number(state, group,
											   measure->state_value);

	return place_words_of(measure) > 1 ? PointerGetDatum(number) :
		Int64GetDatum(*(const int64 *) number);
}

/*
 * dp_aggregates_group_by_place
 *	  Make a verified inner query, whose first targets are the keys, group by
 *	  place.  Without keys there is nothing to do, unless units have many rows.
 */
void
dp_aggregates_group_by_place(const dp_release_spec *spec, Query *inner)
{
	Expr	   *place;
	List	   *crossing;

	if (spec->nkeys == 0 && !spec->many)
		return;
	if (spec->states)
	{
		gather_states(spec, inner);
		return;
	}
	place = place_of(spec, inner->targetList);
	crossing = crossing_of(spec, inner);
	place_large_keys(spec, inner->targetList);
	if (spec->many)
		dp_aggregates_list_rows(spec, inner, place, crossing);
	else
		group_by(inner, spec->nkeys, place);
}

/*
 * dp_aggregates_row_place
 *	  The place of the argument among the public places of the measurement, as
 *	  bigint; NULL if it has none.
 */
Expr *
dp_aggregates_row_place(const dp_measure *measure, Expr *argument,
						dp_axis_kind kind, const Const *lookup)
{
	const dp_places places = {kind, measure->argument_type, 0,
	measure->ncells, -1, -1};
	Size		length;
	const dp_axis_finder *finder = dp_domains_axis_make_finder(&places, lookup,
															   &length);
	Const	   *zero = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								 Int32GetDatum(0), false, true);
	Expr	   *place = (Expr *)
	makeFuncExpr(place_function(), INT4OID,
				 list_make3(zero, argument,
							dp_exact_group_keys(finder, length, NULL, 0,
												measure->ncells)),
				 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);

	return (Expr *) makeFuncExpr(F_INT8_INT4, INT8OID, list_make1(place),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}
