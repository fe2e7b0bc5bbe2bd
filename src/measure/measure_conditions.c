/*
 * measure_conditions.c
 *	  dp_pg.conditions: which of several conditions holds for the most rows.
 *
 * A row may satisfy many of the conditions, so the counts as a vector can
 * change a lot; but only the position of one condition is released, for which
 * it suffices that each count changes by at most m, the rows of a unit in a
 * group, when a unit is added or removed (book, section 3.3, the most common
 * medical condition).  All of them then change in the same direction, so the
 * rate is epsilon/m, and epsilon/(2 m) if a unit is replaced (doc/theory.md
 * T48).  A unit has rows in at most kappa groups, and each group's selection
 * gets an equal part of the price.  A weight from 0 to 1, which only
 * dp_argmax(relation, predicates) can put into the array, counts as a
 * condition does (T123).
 *
 * Conditions that compare columns with constants are counted by tables
 * (condition_counts.c); the others, and all if there are group keys, by
 * dp_pg.count_conditions (count_conditions.c).  If units have many rows, all
 * are evaluated for every row (condition_words.c), and for each condition
 * min(c, m) of the c rows of a unit count for which it holds (T135).
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/makefuncs.h"

#include "dp_measure.h"

/* The conditions, each a boolean expression over a row, or a weight. */
static List *
conditions(const dp_measure *measure)
{
	TargetEntry *argument = linitial(measure->aggregate->args);

	return castNode(ArrayExpr, argument->expr)->elements;
}

/* For units with many rows the plan is for words, not for tables. */
static void
prepare_bounded(dp_measure *measure)
{
	dp_condition_words *words = dp_count_words_plan(conditions(measure));
	dp_bound_column *bound = &measure->bound;

	dp_measure_set_bound(measure, DP_BOUND_TOTALS);
	bound->bits = dp_count_words_bits(words);
	bound->weights = dp_count_words_weights(words);
	bound->words = dp_bound_total_words(bound->bits, bound->weights);
	bound->high = DP_WEIGHT_ONE;
	measure->plan = words;
}

static void
prepare(dp_measure *measure)
{
	measure->ncells = list_length(conditions(measure));
	measure->choices = measure->ncells;
	/* the memory of tables for each private group would depend on the data */
	measure->evaluated = measure->ncells;
	if (measure->contribution.many)
		prepare_bounded(measure);
	else if (!measure->contribution.grouped)
	{
		measure->plan = dp_count_conditions_plan(conditions(measure));
		measure->evaluated = dp_count_conditions_evaluated(measure->plan);
		measure->state_size =
			(int64) dp_count_conditions_memory(measure->plan);
	}
	dp_measure_set_votes(measure, 1);
}

static List *
inner(const dp_measure *measure)
{
	if (measure->plan != NULL && !measure->contribution.many)
		return dp_count_conditions_natives(measure->plan, measure->aggregate);
	return dp_count_conditions_evaluate(measure->aggregate,
										conditions(measure));
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	int64	   *counts;
	int			i;

	if (measure->plan == NULL)
	{
		for (i = 0; i < measure->ncells; i++)
			cells[i].integer +=
				dp_count_conditions_load_one(values, nulls,
											 conditions(measure), i);
		return;
	}
	counts = palloc0(sizeof(int64) * measure->ncells);
	dp_count_conditions_load(measure->plan, values, nulls, counts);
	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += counts[i];
}

/* Add a part of the totals of a unit: rows, or granules of weights. */
static void
add(const dp_measure *measure, const dp_bound_part *part, dp_cell *cells,
	MemoryContext keep)
{
	int			i;

	for (i = 0; i < measure->ncells; i++)
		cells[i].integer +=
			part->totals[dp_count_words_total(measure->plan, i)];
}

static dp_int128
rows_of(const dp_measure *measure, const dp_cell *cells, int i)
{
	return measure->contribution.many &&
		dp_block_is_weight(list_nth(conditions(measure), i)) ?
		dp_weight_rows(cells[i].integer) : cells[i].integer;
}

/* The position of the chosen condition, from 1. */
static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	dp_int128  *scores = palloc(sizeof(dp_int128) * measure->ncells);
	int			i;

	for (i = 0; i < measure->ncells; i++)
		scores[i] = rows_of(measure, cells, i);
	return Int32GetDatum(1 + (int32) dp_measure_select(measure, scores,
													   measure->ncells));
}

static const char *const forms[] = {"", "e", NULL};

const dp_measure_ops dp_measure_conditions = {
	DP_AGG_CONDITIONS, "conditions", forms, prepare, inner, load, release,
	NULL, NULL, add
};
