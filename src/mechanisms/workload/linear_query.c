/*
 * linear_query.c
 *	  Linear queries: predicates over the cells of a universe, or weights of
 *	  them.
 *
 * A cell stands for its public values; a bin for the representative inside it.
 * So a predicate that cuts through a bin takes all of it or nothing, and all
 * of a bin weighs the same.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "../../query/domains/dp_domains.h"
#include "../../query/split/dp_split.h"
#include "../../measure/exact/dp_exact.h"
#include "../readings/dp_readings.h"
#include "dp_workload.h"
#include "workload_internal.h"

/* ----------------
 *		Where an expression over the axes of a universe is true, false or
 *		unknown, or what it weighs.
 *
 * The truth of an expression depends on the axes that it names only, so it is
 * a table over the product of those.  AND, OR and NOT are put together from
 * the tables of their arguments, so that a conjunction of conditions on single
 * columns costs a look at a few values of each and then one byte per cell.
 * Everything else is evaluated by the executor, cell by cell; the values are
 * public.
 * ----------------
 */

/* ---- tables ---- */

static void
too_many_cells(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("predicate involves too many cells"),
			 errdetail("The product of the public values of its columns may "
					   "be at most %d.", DP_UNIVERSE_CELLS),
			 errhint("Name fewer columns, or use fewer bins.")));
}

/* A table over the axes of the set, without room for values yet. */
static dp_truth *
make_table(const dp_universe *universe, const Bitmapset *axes)
{
	dp_truth   *truth = palloc0(sizeof(dp_truth));
	int			axis = -1;

	truth->naxes = 0;
	truth->axes = palloc(sizeof(int) * Max(bms_num_members(axes), 1));
	truth->size = 1;
	while ((axis = bms_next_member(axes, axis)) >= 0)
	{
		truth->axes[truth->naxes++] = axis;
		if (__builtin_mul_overflow(truth->size, universe->axes[axis]->size,
								   &truth->size) ||
			truth->size > DP_UNIVERSE_CELLS)
			too_many_cells();
	}
	return truth;
}

/* Steps through the cells of a table, and the same cells of smaller ones. */
typedef struct walk
{
	const dp_universe *universe;
	const dp_truth *over;
	int64		places[DP_UNIVERSE_AXES];
} walk;

static void
walk_start(walk *at, const dp_universe *universe, const dp_truth *over)
{
	at->universe = universe;
	at->over = over;
	memset(at->places, 0, sizeof(at->places));
}

/* The first place, counted in axes of the table, that the step has moved. */
static int
walk_step(walk *at)
{
	int			i;

	for (i = at->over->naxes - 1; i >= 0; i--)
	{
		int			axis = at->over->axes[i];

		if (++at->places[i] < at->universe->axes[axis]->size)
			return i;
		at->places[i] = 0;
	}
	return 0;
}

/* ---- AND, OR, NOT ---- */

/* Combine two values in three-valued logic. */
static signed char
query_combine(BoolExprType operation, signed char a, signed char b)
{
	if (operation == AND_EXPR)
		return Min(a, b);
	return Max(a, b);
}

static void
combine_table(const dp_universe *universe, dp_truth *into,
			  const dp_truth *part, BoolExprType operation)
{
	int64		strides[DP_UNIVERSE_AXES];
	int64		inner = into->naxes == 0 ? 1 :
	universe->axes[into->axes[into->naxes - 1]]->size;
	int64		stride;
	int64		cell;
	walk		at;

	dp_workload_strides(universe, into->naxes, into->axes, part->naxes,
						part->axes, strides);
	stride = into->naxes == 0 ? 0 : strides[into->naxes - 1];
	walk_start(&at, universe, into);
	for (cell = 0; cell < into->size; cell += inner)
	{
		int64		from = 0;
		int64		j;
		int			i;

		for (i = 0; i < into->naxes - 1; i++)
			from += at.places[i] * strides[i];
		for (j = 0; j < inner; j++)
			into->values[cell + j] = query_combine(operation,
												   into->values[cell + j],
												   part->values[from + j *
												   stride]);
		if (into->naxes > 0)
		{
			at.places[into->naxes - 1] = inner - 1;
			walk_step(&at);
		}
	}
}

static void
query_negate(dp_truth *truth)
{
	int64		cell;

	for (cell = 0; cell < truth->size; cell++)
		truth->values[cell] = DP_TRUTH_TRUE - truth->values[cell];
}

static dp_truth *tabulate(const dp_universe *universe, TupleDesc columns,
						  Node *expression);

static dp_truth *
tabulate_bool(const dp_universe *universe, TupleDesc columns, BoolExpr *whole)
{
	Bitmapset  *axes = NULL;
	List	   *parts = NIL;
	dp_truth   *truth;
	ListCell   *lc;

	foreach(lc, whole->args)
	{
		dp_truth   *part = tabulate(universe, columns, lfirst(lc));
		int			i;

		for (i = 0; i < part->naxes; i++)
			axes = bms_add_member(axes, part->axes[i]);
		parts = lappend(parts, part);
	}
	if (whole->boolop == NOT_EXPR)
	{
		truth = linitial(parts);
		query_negate(truth);
		return truth;
	}
	truth = make_table(universe, axes);
	truth->values = palloc(truth->size);
	memset(truth->values,
		   whole->boolop == AND_EXPR ? DP_TRUTH_TRUE : DP_TRUTH_FALSE,
		   truth->size);
	foreach(lc, parts)
		combine_table(universe, truth, lfirst(lc), whole->boolop);
	return truth;
}

/* ---- everything else ---- */

/* Public values of the axes, in the order of their places. */
typedef struct spelled
{
	Datum	   *values;
	bool	   *nulls;
} spelled;

static spelled *
query_spell(const dp_universe *universe, const dp_truth *truth)
{
	spelled    *all = palloc(sizeof(spelled) * Max(truth->naxes, 1));
	int			i;

	for (i = 0; i < truth->naxes; i++)
	{
		const dp_axis *axis = universe->axes[truth->axes[i]];
		int64		place;

		all[i].values = palloc(sizeof(Datum) * axis->size);
		all[i].nulls = palloc(sizeof(bool) * axis->size);
		for (place = 0; place < axis->size; place++)
			all[i].values[place] = dp_domains_axis_value(axis, place,
														 &all[i].nulls[place]);
	}
	return all;
}

static Bitmapset *
axes_named(Node *expression)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *axes = NULL;
	int			attno = -1;

	pull_varattnos(expression, 1, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
		axes = bms_add_member(axes, attno +
							  FirstLowInvalidHeapAttributeNumber - 1);
	return axes;
}

static void
forbid_outside(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("weight is not from 0 to 1 for all public values"),
			 errdetail("A cell of the universe weighs less than 0 or more "
					   "than 1."),
			 errhint("Divide by the largest value, as in age / 120.0, or "
					 "write least(greatest(x, 0), 1).")));
}

/* A value of the expression in a cell. */
typedef struct cell_values
{
	dp_truth   *truth;
	dp_weight_scale *scale;		/* of a weight, */
	Oid			type;			/* of this base type */
} cell_values;

static void
put_value(const cell_values *values, int64 cell, Datum value, bool isnull)
{
	dp_truth   *truth = values->truth;
	int64		weight;

	if (truth->weights == NULL)
	{
		truth->values[cell] = isnull ? DP_TRUTH_UNKNOWN :
			DatumGetBool(value) ? DP_TRUTH_TRUE : DP_TRUTH_FALSE;
		return;
	}
	weight = isnull ? 0 : dp_exact_weigh(values->scale, value, values->type);
	if (weight < 0 || weight > DP_WEIGHT_ONE)
		forbid_outside();
	truth->weights[cell] = (int32) weight;
}

static void
query_evaluate(const dp_universe *universe, TupleDesc columns,
			   Node *expression, dp_truth *truth)
{
	const cell_values values = {truth, dp_exact_weight_scale(1),
	getBaseType(exprType(expression))};
	ExprState  *state = ExecInitExpr((Expr *) expression, NULL);
	ExprContext *context = CreateStandaloneExprContext();
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
	spelled    *all = query_spell(universe, truth);
	int64		cell;
	int			first = 0;
	walk		at;
	int			i;

	ExecStoreAllNullTuple(slot);
	context->ecxt_scantuple = slot;
	walk_start(&at, universe, truth);
	for (cell = 0; cell < truth->size; cell++)
	{
		bool		isnull;
		Datum		value;

		for (i = first; i < truth->naxes; i++)
		{
			slot->tts_values[truth->axes[i]] = all[i].values[at.places[i]];
			slot->tts_isnull[truth->axes[i]] = all[i].nulls[at.places[i]];
		}
		ResetExprContext(context);
		if (cell % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		value = ExecEvalExprSwitchContext(state, context, &isnull);
		put_value(&values, cell, value, isnull);
		first = walk_step(&at);
	}
	ExecDropSingleTupleTableSlot(slot);
	FreeExprContext(context, true);
}

static dp_truth *
tabulate_value(const dp_universe *universe, TupleDesc columns,
			   Node *expression)
{
	dp_truth   *truth = make_table(universe, axes_named(expression));

	if (dp_split_is_weight(expression))
		truth->weights = palloc(sizeof(int32) * truth->size);
	else
		truth->values = palloc(truth->size);
	query_evaluate(universe, columns, expression, truth);
	return truth;
}

static dp_truth *
tabulate(const dp_universe *universe, TupleDesc columns, Node *expression)
{
	check_stack_depth();
	if (IsA(expression, BoolExpr))
		return tabulate_bool(universe, columns, (BoolExpr *) expression);
	return tabulate_value(universe, columns, expression);
}

/*
 * make_truth
 *	  The table of a predicate or weight whose Vars are columns of range table
 *	  entry 1, one for each axis.  `total`: no part of it can raise an error,
 *	  so that parts may be evaluated where the whole would not need them.
 *
 * Errors: 54000 too many cells; 22023 a weight that is not from 0 to 1; what a
 * function that is not total raises.
 */
static dp_truth *
make_truth(const dp_universe *universe, TupleDesc columns,
		   Node *expression, bool total)
{
	expression = (Node *) expression_planner((Expr *) expression);
	if (total)
		return tabulate(universe, columns, expression);
	return tabulate_value(universe, columns, expression);
}

#define MARGINALS_MAX 100000

/* ---- reading ---- */

static TupleDesc
describe_columns(const dp_universe *universe)
{
	TupleDesc	columns = CreateTemplateTupleDesc(universe->naxes);
	int			i;

	for (i = 0; i < universe->naxes; i++)
	{
		const dp_axis *axis = universe->axes[i];

		TupleDescInitEntry(columns, i + 1, NameStr(axis->name), axis->type,
						   axis->typmod, 0);
		TupleDescInitEntryCollation(columns, i + 1, axis->collation);
	}
	return columns;
}

static dp_linear_query *
query_of_truth(const dp_truth *truth, const char *text)
{
	dp_linear_query *query = palloc(sizeof(dp_linear_query));
	int64		cell;

	query->text = pstrdup(text);
	query->predicate = truth->weights == NULL;
	query->naxes = truth->naxes;
	query->axes = truth->axes;
	query->size = truth->size;
	query->weights = truth->weights;
	if (!query->predicate)
		return query;
	query->weights = palloc(sizeof(int32) * query->size);
	for (cell = 0; cell < query->size; cell++)
		query->weights[cell] = truth->values[cell] == DP_TRUTH_TRUE ?
			DP_WEIGHT_ONE : 0;
	return query;
}

/*
 * dp_workload_read_query
 *	  The predicate or weight as a table over the axes that it names, in the
 *	  current context.  Unknown does not hold, NULL and NaN weigh nothing.
 *
 * Errors: those of dp_split_read_public_predicate; 54000 when the product of
 * those axes is above DP_UNIVERSE_CELLS; 22023 a weight that is not from 0 to
 * 1; what evaluating it on public values raises.
 */
dp_linear_query *
dp_workload_read_query(const dp_universe *universe, const char *text)
{
	TupleDesc	columns = describe_columns(universe);
	bool		total;
	Node	   *expression;

	expression = dp_split_read_public_predicate(universe->relid, columns,
												text, &total);
	return query_of_truth(make_truth(universe, columns, expression,
									 total),
						  text);
}

/*
 * dp_workload_read_predicate
 *	  See dp_workload.h.  Errors: those above; 0A000 a weight.
 */
dp_linear_query *
dp_workload_read_predicate(const dp_universe *universe, const char *text,
						   const char *what)
{
	dp_linear_query *query = dp_workload_read_query(universe, text);

	if (!query->predicate)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s takes predicates, not weights", what),
				 errdetail("\"%s\" is a number, not a condition.", text),
				 errhint("Write a condition, as in 'age < 18'.")));
	return query;
}

/* ---- cells ---- */

/*
 * dp_workload_map
 *	  cells[cell] for every cell of the universe, which must be small enough
 *	  to have an array.
 */
void
dp_workload_map(const dp_universe *universe, const dp_linear_query *query,
				int32 *cells)
{
	int64		strides[DP_UNIVERSE_AXES];
	int64		places[DP_UNIVERSE_AXES] = {0};
	int			last = universe->naxes - 1;
	int64		inner = universe->axes[last]->size;
	int64		from = 0;
	int64		cell;

	dp_workload_strides(universe, universe->naxes, NULL, query->naxes,
						query->axes, strides);
	for (cell = 0; cell < universe->size; cell += inner)
	{
		int64		j;
		int			i;

		for (j = 0; j < inner; j++)
			cells[cell + j] = (int32) (from + j * strides[last]);
		for (i = last - 1; i >= 0; i--)
		{
			from += strides[i];
			if (++places[i] < universe->axes[i]->size)
				break;
			from -= strides[i] * places[i];
			places[i] = 0;
		}
	}
}

/* dp_workload_expand: weights[cell] likewise. */
void
dp_workload_expand(const dp_universe *universe, const dp_linear_query *query,
				   int32 *weights)
{
	int64		cell;

	dp_workload_map(universe, query, weights);
	for (cell = 0; cell < universe->size; cell++)
		weights[cell] = query->weights[weights[cell]];
}

/*
 * dp_workload_reading
 *	  A reading of query->size counts: times their weights they add up to the
 *	  query's granules.  Reads nothing yet.  Errors: dp_readings_of_tables.
 */
dp_reading *
dp_workload_reading(const dp_universe *universe, const dp_linear_query *query)
{
	dp_reading_table table = {query->naxes, query->axes};

	return dp_readings_of_tables(universe->relid, universe->naxes,
								 universe->axes, 1, &table);
}

/* ---- marginals ---- */

static void
check_marginals(const dp_universe *universe, int k)
{
	double		tables = 1;
	int			i;

	if (k < 0 || k > universe->naxes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("marginals must be from 0 to the number of columns, "
						"not %d", k),
				 errdetail("The number of columns is %d.", universe->naxes),
				 errhint("It is the number of columns of each table.")));
	for (i = 0; i < k; i++)
		tables = tables * (universe->naxes - i) / (i + 1);
	if (tables > MARGINALS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many marginals"),
				 errdetail("There are %.0f tables of %d columns; at most %d "
						   "are allowed.", tables, k, MARGINALS_MAX),
				 errhint("Use smaller marginals, or fewer columns.")));
}

/* The next k of n in lexical order; false after the last. */
static bool
next_axes(int *axes, int k, int n)
{
	int			i = k - 1;
	int			j;

	while (i >= 0 && axes[i] == n - k + i)
		i--;
	if (i < 0)
		return false;
	axes[i]++;
	for (j = i + 1; j < k; j++)
		axes[j] = axes[j - 1] + 1;
	return true;
}

/*
 * dp_workload_marginals
 *	  All tables of k axes of the universe, in lexical order; their number.
 *
 * Errors: 22023 k is negative or larger than the number of axes; 54000 too
 * many tables.
 */
int
dp_workload_marginals(const dp_universe *universe, int k,
					  dp_reading_table **out)
{
	int			axes[DP_UNIVERSE_AXES];
	int			capacity = 16;
	int			n = 0;
	int			i;

	check_marginals(universe, k);
	*out = palloc(sizeof(dp_reading_table) * capacity);
	for (i = 0; i < k; i++)
		axes[i] = i;
	do
	{
		int		   *copy = palloc(sizeof(int) * Max(k, 1));

		memcpy(copy, axes, sizeof(int) * k);
		if (n == capacity)
			*out = repalloc(*out, sizeof(dp_reading_table) * (capacity *= 2));
		(*out)[n].naxes = k;
		(*out)[n++].axes = copy;
	} while (next_axes(axes, k, universe->naxes));
	return n;
}
