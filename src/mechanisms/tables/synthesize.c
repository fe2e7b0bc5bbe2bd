/*
 * synthesize.c
 *	  dp_synthesize: rows whose marginals are close to those of private rows.
 *
 * Order: universe, workload and sizes are found and shown; the reading is
 * verified; charge and record are made durable; one pass over the private
 * rows; the mechanism on what it counted; rows.  The last three happen in the
 * process that reads (synthesize_run.c).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/split/dp_split.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"
#include "tables_internal.h"

/* ----------------
 *		The tables that dp_synthesize must answer well, and those that it may
 *		measure for that: all their parts.
 * ----------------
 */

#define MOST_PARTS (1 << 20)	/* before duplicates are dropped */

typedef struct set_list
{
	int			n;
	int			room;
	dp_columns *set;
} set_list;

static void
add_set(set_list *list, dp_columns set)
{
	if (list->n == list->room)
	{
		list->room = list->room > 0 ? 2 * list->room : 64;
		list->set = list->set == NULL ?
			palloc(sizeof(dp_columns) * list->room) :
			repalloc(list->set, sizeof(dp_columns) * list->room);
	}
	list->set[list->n++] = set;
}

/* Order by the number of columns, then by the columns. */
static int
compare_sets(const void *a, const void *b)
{
	dp_columns	x = *(const dp_columns *) a;
	dp_columns	y = *(const dp_columns *) b;
	int			nx = __builtin_popcountll(x);
	int			ny = __builtin_popcountll(y);

	return nx != ny ? (nx < ny ? -1 : 1) : x < y ? -1 : x > y;
}

static void
sort_sets(set_list *list)
{
	int			n = 0;
	int			i;

	qsort(list->set, list->n, sizeof(dp_columns), compare_sets);
	for (i = 0; i < list->n; i++)
		if (i == 0 || list->set[i] != list->set[i - 1])
			list->set[n++] = list->set[i];
	list->n = n;
}

/*
 * synthesis_order
 *	  The engine's columns and shape, from the universe.
 */
static void
synthesis_order(dp_synthesis *s)
{
	int			n = s->universe->naxes;
	int			i;
	int			j;

	for (i = 0; i < n; i++)
	{
		for (j = i; j > 0 && s->universe->axes[s->order[j - 1]]->size >
			 s->universe->axes[i]->size; j--)
			s->order[j] = s->order[j - 1];
		s->order[j] = i;
	}
	s->terms.shape.columns = n;
	for (i = 0; i < n; i++)
	{
		s->axes[i] = s->universe->axes[s->order[i]];
		s->terms.shape.size[i] = s->axes[i]->size;
	}
}

static void
synthesize_raise_too_many(const char *what, double found, double most)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("the marginals have too many %s", what),
			 errdetail("There would be %.0f; at most %.0f are allowed.", found,
					   most),
			 errhint("Use fewer columns, fewer bins, smaller marginals, or "
					 "a list of those that matter.")));
}

/* The weight of a table's errors: columns shared with wanted tables. */
static int64
synthesize_weight_of(dp_columns set, const set_list *wanted)
{
	int64		weight = 0;
	int			i;

	for (i = 0; i < wanted->n; i++)
		weight += __builtin_popcountll(set & wanted->set[i]);
	return Max(weight, 1);
}

static void
make_tables(dp_synthesis *s, const set_list *all, const set_list *wanted)
{
	double		cells = 0;
	int			i;

	if (all->n > DP_SYNTHESIZE_TABLES)
		synthesize_raise_too_many("tables of counts", all->n,
								  DP_SYNTHESIZE_TABLES);
	for (i = 0; i < all->n; i++)
		cells += dp_models_shape_cells(&s->terms.shape, all->set[i]);
	if (cells > DP_SYNTHESIZE_CELLS)
		synthesize_raise_too_many("cells", cells, DP_SYNTHESIZE_CELLS);
	s->cells = (int64) cells;
	s->nwanted = wanted->n;
	s->tables = palloc0(sizeof(dp_generator_table) * all->n);
	for (i = 0; i < all->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		s->tables[i].set = all->set[i];
		s->tables[i].weight = synthesize_weight_of(all->set[i], wanted);
		s->tables[i].wanted = bsearch(&all->set[i], wanted->set, wanted->n,
									  sizeof(dp_columns),
									  compare_sets) != NULL;
	}
	s->terms.ntables = all->n;
	s->terms.table = s->tables;
}

/* All parts of the wanted tables, and every column. */
static void
close_downwards(dp_synthesis *s, set_list *wanted)
{
	set_list	all = {0, 0, NULL};
	double		parts = 0;
	int			i;

	sort_sets(wanted);
	for (i = 0; i < wanted->n; i++)
		parts += ldexp(1, __builtin_popcountll(wanted->set[i]));
	if (parts > MOST_PARTS)
		synthesize_raise_too_many("parts", parts, MOST_PARTS);
	for (i = 0; i < s->terms.shape.columns; i++)
		add_set(&all, DP_COLUMN(i));
	for (i = 0; i < wanted->n; i++)
	{
		dp_columns	part = wanted->set[i];

		for (; part != 0; part = (part - 1) & wanted->set[i])
			add_set(&all, part);
	}
	sort_sets(&all);
	make_tables(s, &all, wanted);
}

/*
 * synthesis_marginals
 *	  All tables of k columns.
 *
 * Errors: 22023 k is not from 1 to the number of columns; 54000.
 */
static void
synthesis_marginals(dp_synthesis *s, int k)
{
	set_list	wanted = {0, 0, NULL};
	int			n = s->terms.shape.columns;
	double		tables = 1;
	dp_columns	set;
	dp_columns	end = n == 64 ? 0 : DP_COLUMN(n);
	int			i;

	if (k < 1 || k > n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("marginals must be from 1 to the number of columns, "
						"not %d", k),
				 errdetail("The number of columns is %d.", n),
				 errhint("It is the number of columns of each marginal, "
						 "often 2 or 3.")));
	for (i = 0; i < k; i++)
		tables = tables * (n - i) / (i + 1);
	if (tables > DP_SYNTHESIZE_TABLES)
		synthesize_raise_too_many("tables of counts", tables,
								  DP_SYNTHESIZE_TABLES);
	set = k == 64 ? ~(dp_columns) 0 : DP_COLUMN(k) - 1;
	for (i = 0; i < (int) tables; i++)
	{
		dp_columns	low = set & (~set + 1);
		dp_columns	ripple = set + low;

		add_set(&wanted, set);
		/* the next larger number with as many bits */
		set = ripple | (((set ^ ripple) >> 2) / low);
		if (end != 0 && set >= end)
			break;
	}
	s->marginals = k;
	close_downwards(s, &wanted);
}

/* The column of the engine with a name; 22023 when there is none. */
static int
synthesize_find_column(const dp_synthesis *s, const char *name,
					   const char *text)
{
	int			i;

	for (i = 0; i < s->terms.shape.columns; i++)
		if (strcmp(NameStr(s->axes[i]->name), name) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("marginal \"%s\" names \"%s\", which is not in columns",
					text, name),
			 errhint("Write names as in SQL, separated by commas: 'age, "
					 "\"native-country\"'.")));
	return -1;
}

static dp_columns
read_set(const dp_synthesis *s, const char *text)
{
	List	   *names = NIL;
	dp_columns	set = 0;
	ListCell   *lc;

	if (!SplitIdentifierString(pstrdup(text), ',', &names) || names == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a list of columns", text),
				 errhint("Write names as in SQL, separated by commas: 'age, "
						 "\"native-country\"'.")));
	foreach(lc, names)
		set |= DP_COLUMN(synthesize_find_column(s, lfirst(lc), text));
	return set;
}

/*
 * synthesis_sets
 *	  The tables of the sets of columns in an array of text, each a list of
 *	  names.
 *
 * Errors: 22023 no sets, a NULL one, or a wrong name; 54000.
 */
static void
synthesis_sets(dp_synthesis *s, ArrayType *sets)
{
	set_list	wanted = {0, 0, NULL};
	Datum	   *values;
	bool	   *nulls;
	Size		total = 0;
	int			n;
	int			i;

	deconstruct_array(sets, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
					  &n);
	if (n == 0 || n > DP_SYNTHESIZE_TABLES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are %s marginals", n == 0 ? "no" : "too many"),
				 errhint("Give from 1 to %d sets of columns, or how many "
						 "columns a marginal has.", DP_SYNTHESIZE_TABLES)));
	for (i = 0; i < n; i++)
	{
		char	   *names;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a marginal is NULL"),
					 errhint("Write a list of columns.")));
		names = TextDatumGetCString(values[i]);
		total += strlen(names);
		if (strlen(names) > DP_PREDICATE_LENGTH ||
			total > DP_PREDICATES_LENGTH)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("marginals are too long"),
					 errdetail("One may have %d bytes, and all together %d.",
							   DP_PREDICATE_LENGTH, DP_PREDICATES_LENGTH),
					 errhint("Write the names of columns and commas only.")));
		add_set(&wanted, read_set(s, names));
		s->sets = lappend(s->sets, names);
	}
	close_downwards(s, &wanted);
}

/*
 * synthesis_reading
 *	  The reading of all tables, one after the other: of rows with a place on
 *	  every axis, so that all have the same sum, as the engine assumes.  Errors
 *	  of dp_readings_of_tables.
 */
static dp_reading *
synthesis_reading(const dp_synthesis *s)
{
	dp_reading_table *tables = palloc(sizeof(dp_reading_table) *
									  s->terms.ntables);
	int			i;
	int			k;

	for (i = 0; i < s->terms.ntables; i++)
	{
		int		   *axes = palloc(sizeof(int) * DP_UNIVERSE_AXES);

		tables[i].naxes = 0;
		for (k = 0; k < s->terms.shape.columns; k++)
			if (s->tables[i].set & DP_COLUMN(k))
				axes[tables[i].naxes++] = k;
		tables[i].axes = axes;
	}
	return dp_readings_of_whole_tables(s->universe->relid, s->universe->naxes,
									   s->axes, s->terms.ntables, tables);
}

/* ----------------
 *		dp_synthesize_error: how large a workload is, and the errors that the
 *		same price buys without dp_synthesize, for comparison.  Reads no data
 *		and charges nothing.
 * ----------------
 */

/* Places of the arguments. */
enum
{
	ARG_SIZES,
	ARG_MARGINALS,
	ERROR_EPSILON,
	ERROR_N,
	ERROR_DELTA,
	ARG_CONFIDENCE,
	ERROR_ROWS
};

enum
{
	OUT_CELLS,
	OUT_TABLES,
	OUT_TABLE_CELLS,
	OUT_SIGMA,
	OUT_GAUSSIAN,
	OUT_LAPLACE,
	OUT_ROUNDS,
	OUT_ALPHA,
	OUT_END
};

static void
read_shape(FunctionCallInfo fcinfo, dp_shape *shape)
{
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_SIZES), INT4OID,
					  sizeof(int32), true, TYPALIGN_INT, &values, &nulls, &n);
	if (n < 1 || n >= DP_SHAPE_COLUMNS)
		dp_base_raise_parameter(psprintf("there must be from 1 to %d sizes",
										 DP_SHAPE_COLUMNS - 1),
								   "Give the number of public values of each "
								   "column.");
	shape->columns = n;
	for (i = 0; i < n; i++)
	{
		shape->size[i] = nulls[i] ? 0 : DatumGetInt32(values[i]);
		if (shape->size[i] < 1)
			dp_base_raise_parameter("a size must be at least 1",
									"Give the number of public values of "
									"each column.");
	}
}

/* Cells of all tables of k columns: an elementary symmetric polynomial. */
static double
cells_of_tables(const dp_shape *shape, int k)
{
	double		sum[DP_SHAPE_COLUMNS + 1] = {1};
	int			i;
	int			j;

	for (i = 0; i < shape->columns; i++)
		for (j = k; j > 0; j--)
			sum[j] += sum[j - 1] * (double) shape->size[i];
	return sum[k];
}

static double
choose(int n, int k)
{
	double		ways = 1;
	int			i;

	for (i = 0; i < k; i++)
		ways = ways * (n - i) / (i + 1);
	return ways;
}

/* sigma of equal Gaussian noise on all tables; 0 without a delta. */
static double
plain_sigma(FunctionCallInfo fcinfo, dp_fixed epsilon, double tables)
{
	Numeric		number = dp_base_number(fcinfo, ERROR_DELTA);
	dp_fixed	delta;
	dp_fixed	rho;

	if (number == NULL)
		return 0;
	delta = dp_base_check_number(number, "delta", DP_RANGE_INNER,
								 DP_ROUND_DOWN, "It is a probability, well "
								 "below one over the number of people.");
	dp_base_check_status(dp_accounting_rho_of_zcdp(epsilon, delta, &rho),
						 "find sigma");
	return sqrt(tables / (2 * dp_accounting_fixed_approx(rho)));
}

/* MWEM's rounds; the book's promise for the cells of all tables. */
static void
fill_weights(const dp_shape *shape, double cells, double n, double epsilon,
			 double beta, Datum *values, bool *nulls)
{
	double		universe = dp_models_shape_cells(shape, ~(dp_columns) 0);
	dp_generator_table whole = {(DP_COLUMN(shape->columns)) - 1, true, 1,
		NULL};
	dp_generator_terms t;

	nulls[OUT_ROUNDS] = nulls[OUT_ALPHA] = universe < 2 ||
		universe > DP_UNIVERSE_CELLS;
	if (nulls[OUT_ALPHA])
		return;
	MemSet(&t, 0, sizeof(t));
	t.shape = *shape;
	t.ntables = 1;
	t.table = &whole;
	values[OUT_ROUNDS] = Int32GetDatum(dp_models_mwem_rounds(&t, epsilon, n));
	values[OUT_ALPHA] =
		Float8GetDatum(dp_models_mwem_theorem_alpha(universe, cells, n,
													epsilon, beta));
}

PG_FUNCTION_INFO_V1(dp_synth_sql_synthesize_error);

/*
 * dp_synth_sql_synthesize_error
 *	  dp_synthesize_error(sizes, marginals, epsilon, n, delta, confidence,
 *	  max_rows).
 *	  See sql/86_synthesize.sql.
 *
 * NULL delta: no Gaussian noise; another NULL: NULL.
 */
Datum
dp_synth_sql_synthesize_error(PG_FUNCTION_ARGS)
{
	Datum		values[OUT_END] = {0};
	bool		nulls[OUT_END] = {0};
	dp_shape	shape;
	dp_rational epsilon;
	dp_fixed	fixed;
	double		e;			/* per row of a unit */
	double		rows;
	double		n;
	double		beta;
	double		tables;
	double		cells;
	double		sigma;
	int			k;
	int			i;

	for (i = 0; i <= ERROR_ROWS; i++)
		if (i != ERROR_DELTA && PG_ARGISNULL(i))
			PG_RETURN_NULL();
	read_shape(fcinfo, &shape);
	n = (double) PG_GETARG_INT64(ERROR_N);
	k = PG_GETARG_INT32(ARG_MARGINALS);
	if (n < 1)
		dp_base_raise_parameter("n must be at least 1",
								"It is the number of rows.");
	if (k < 1 || k > shape.columns)
		dp_base_raise_parameter("marginals must be from 1 to the number "
								"of columns",
								"It is the number of columns of each.");
	epsilon = dp_base_epsilon(fcinfo, ERROR_EPSILON, &fixed);
	rows = dp_tables_rows(fcinfo, ERROR_ROWS);
	e = (double) epsilon.num / (double) epsilon.den / rows;
	beta = dp_tables_failure(fcinfo, ARG_CONFIDENCE);
	tables = choose(shape.columns, k);
	cells = cells_of_tables(&shape, k);
	sigma = rows * plain_sigma(fcinfo, fixed, tables);

	values[OUT_CELLS] = Float8GetDatum(dp_models_shape_cells(&shape,
															 ~(dp_columns) 0));
	values[OUT_TABLES] = Float8GetDatum(tables);
	values[OUT_TABLE_CELLS] = Float8GetDatum(cells);
	nulls[OUT_SIGMA] = nulls[OUT_GAUSSIAN] = sigma == 0;
	values[OUT_SIGMA] = Float8GetDatum(sigma);
	values[OUT_GAUSSIAN] = Float8GetDatum(sigma *
										  sqrt(2 * log(2 * cells / beta)) / n);
	values[OUT_LAPLACE] = Float8GetDatum(tables / e * log(cells / beta) / n);
	fill_weights(&shape, cells, n, e, beta, values, nulls);
	PG_RETURN_DATUM(dp_base_make_row(fcinfo, values, nulls));
}

/* The range of rho in which all laws of the schedule can be made. */
#define LEAST_RHO 1e-12
#define MOST_RHO 1e4
#define MOST_ROWS (INT64CONST(1) << 50)	/* exact in floating point */
#define GUESSED_ROWS 10000		/* for mwem's rounds, when n is not public */

/* Places of the arguments. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_WORKLOAD,
	ARG_EPSILON,
	ARG_N,
	ARG_BINS,
	ARG_DELTA,
	ARG_METHOD,
	ARG_ROWS
};

/* ---- arguments ---- */

static void
synthesize_read_method(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	char	   *name;

	dp_base_require_argument(fcinfo, ARG_METHOD, "method of dp_synthesize",
							 "It is aim or mwem.");
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_METHOD));
	s->weights = strcmp(name, "mwem") == 0;
	if (!s->weights && strcmp(name, "aim") != 0)
		dp_base_raise_parameter(psprintf("unknown method \"%s\"", name),
								"It is aim (adaptive marginals, Gaussian "
								"noise) or mwem (multiplicative weights, "
								"pure epsilon).");
	if (s->weights && s->universe->size > DP_UNIVERSE_CELLS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("universe has too many cells for method mwem"),
				 errdetail("It has %.10g cells; at most %d can be held.",
						   dp_models_shape_cells(&s->terms.shape,
												 ~(dp_columns) 0),
						   DP_UNIVERSE_CELLS),
				 errhint("Use fewer columns or bins, or method aim.%s",
						 dp_workload_null_hint(s->universe))));
}

static void
synthesize_read_workload(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	if (dp_base_declared_type(fcinfo, ARG_WORKLOAD) == INT4OID)
	{
		synthesis_marginals(s, PG_ARGISNULL(ARG_WORKLOAD) ?
							Min(2, s->universe->naxes) :
							PG_GETARG_INT32(ARG_WORKLOAD));
		return;
	}
	dp_base_require_argument(fcinfo, ARG_WORKLOAD,
							 "marginals of dp_synthesize",
							 "Give a list, or leave it out.");
	synthesis_sets(s, PG_GETARG_ARRAYTYPE_P(ARG_WORKLOAD));
}

/* Refuse to draw more rows than memory may hold; negative: not given. */
static void
synthesize_check_rows(const dp_synthesis *s, double rows, const char *hint)
{
	int64		most = DP_SYNTHESIZE_PLACES / s->universe->naxes;

	if (rows > (double) most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many rows to draw"),
				 errdetail("At most " INT64_FORMAT " rows of %d columns are "
						   "allowed.", most, s->universe->naxes),
				 errhint("%s", hint)));
}

/* An axis on which some rows may have no place, NULL: none. */
static const dp_axis *
find_incomplete(const dp_synthesis *s)
{
	int			i;

	for (i = 0; i < s->universe->naxes; i++)
		if (!dp_domains_axis_is_complete(s->universe->axes[i]))
			return s->universe->axes[i];
	return NULL;
}

static void
read_sizes(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	s->rows = PG_ARGISNULL(ARG_ROWS) ? -1 : PG_GETARG_INT64(ARG_ROWS);
	if (!PG_ARGISNULL(ARG_ROWS) && s->rows < 1)
		dp_base_raise_parameter("rows must be at least 1",
								"Leave it out for about as many rows as "
								"there are.");
	synthesize_check_rows(s, (double) s->rows,
						  "Ask for fewer, and scale up what you count.");
	s->n = PG_ARGISNULL(ARG_N) ? -1 : PG_GETARG_INT64(ARG_N);
	if (!PG_ARGISNULL(ARG_N) && (s->n < 1 || s->n > MOST_ROWS))
		dp_base_raise_parameter("n must be at least 1 and at most 2^50",
								"It is the number of rows, if that is "
								"public; without it the number is "
								"estimated.");
	if (s->rows < 0)
		synthesize_check_rows(s, (double) s->n,
							  "Use rows => 1000000, and scale up what you "
							  "count.");
	/* n counts all rows, the tables those with a place on every axis */
	s->terms.total = find_incomplete(s) == NULL ? s->n : -1;
}

/* ---- its price ---- */

/* The argument, else dp_pg.delta. */
static dp_fixed
synthesize_read_delta(FunctionCallInfo fcinfo)
{
	Numeric		number = dp_base_number(fcinfo, ARG_DELTA);

	if (number == NULL && dp_setting_delta[0] != '\0')
		number = dp_base_text_to_numeric(dp_setting_delta);
	if (number == NULL)
		dp_base_raise_parameter("method aim needs a delta",
								"Give delta => 1e-9, well below one over "
								"the number of people, SET dp_pg.delta, or "
								"use method mwem.");
	return dp_base_check_number(number, "delta", DP_RANGE_INNER,
								DP_ROUND_DOWN, "It is a probability, well "
								"below one over the number of people; "
								"method mwem needs none.");
}

/*
 * One rho for all rounds, from (epsilon, delta), or rounds of pure epsilon.
 * Source: doc/theory.md T73, T75.
 */
static void
synthesize_plan_price(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	const dp_ledger_standing *standing = &s->reading->standing;
	double		rho;

	s->epsilon = dp_base_epsilon(fcinfo, ARG_EPSILON, &s->epsilon_fixed);
	dp_ledger_check_price(standing, s->reading->dataset, s->epsilon_fixed);
	if (s->weights)
	{
		if (!PG_ARGISNULL(ARG_DELTA))
			dp_base_raise_parameter("method mwem takes no delta",
									"It is epsilon-differentially "
									"private.");
		s->charge.epsilon = s->epsilon_fixed;
		dp_base_check_status(dp_accounting_rho_from_pure(&s->epsilon,
														 &s->charge.rho),
							 "compute a charge");
		s->rounds =
			dp_models_mwem_rounds(&s->terms,
							  dp_accounting_fixed_approx(s->epsilon_fixed) /
							  (double) s->terms.sensitivity,
							  s->n > 0 ? (double) s->n : GUESSED_ROWS);
		return;
	}
	s->delta = synthesize_read_delta(fcinfo);
	dp_ledger_check_delta(standing, s->reading->dataset, s->delta);
	dp_base_check_status(dp_accounting_rho_of_zcdp(s->epsilon_fixed, s->delta,
												   &s->rho),
												   "compute a charge");
	rho = dp_accounting_fixed_approx(s->rho);
	if (!(rho >= LEAST_RHO && rho <= MOST_RHO))
		dp_base_raise_parameter(rho < LEAST_RHO ?
								"epsilon is too small for dp_synthesize" :
								"epsilon is too large for dp_synthesize",
								"Use an epsilon between 0.001 and 100.");
	dp_accounting_charge_gaussian(dp_ledger_charge_filter(standing),
								  s->epsilon_fixed, s->delta, s->rho,
								  &s->charge);
}

static void
synthesize_read_request(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	dp_tables_check_place(fcinfo, "dp_synthesize");
	dp_base_require_argument(fcinfo, ARG_RELATION,
							 "relation of dp_synthesize",
							 "Write its name.");
	dp_base_require_argument(fcinfo, ARG_COLUMNS, "columns of dp_synthesize",
							 "Write columns => ARRAY['smoker', 'ward'].");
	s->universe = dp_workload_make_universe(PG_GETARG_OID(ARG_RELATION),
											PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
											PG_ARGISNULL(ARG_BINS) ? NULL :
											PG_GETARG_ARRAYTYPE_P(ARG_BINS),
											PG_INT64_MAX);
	synthesis_order(s);
	synthesize_read_method(fcinfo, s);
	synthesize_read_workload(fcinfo, s);
	read_sizes(fcinfo, s);
	s->reading = synthesis_reading(s);
	s->terms.sensitivity = dp_readings_rows(s->reading);
	s->terms.replace_one = s->reading->standing.replace_one;
	synthesize_plan_price(fcinfo, s);
}

/* Sizes, before anything is charged. */
static void
synthesize_show_plan(const dp_synthesis *s)
{
	double		cells = dp_models_shape_cells(&s->terms.shape,
											  ~(dp_columns) 0);
	double		sigma = (double) s->terms.sensitivity *
	sqrt(s->nwanted * (s->terms.replace_one ? 2 : 1) /
		 (2 * dp_accounting_fixed_approx(s->rho)));

	ereport(NOTICE,
			(errmsg("universe of %.10g cells, %s, %s with %s that may be "
					"measured", cells,
					dp_tables_counted(s->nwanted, "marginal", "marginals"),
					dp_tables_counted(s->terms.ntables, "table of counts",
									  "tables of counts"),
					dp_tables_counted(s->cells, "cell", "cells")),
			 s->weights ?
			 errdetail("%s of multiplicative weights.%s",
					   dp_tables_counted(s->rounds, "round", "rounds"),
					   dp_readings_rows_text(s->reading)) :
			 errdetail("Gaussian noise on every marginal would need a sigma "
					   "of %.4g for the same price.%s", sigma,
					   dp_readings_rows_text(s->reading))));
	if (s->n > 0 && s->terms.total < 0)
		ereport(NOTICE,
				(errmsg("the number of rows is estimated although n is given"),
				 errdetail("Rows whose \"%s\" is not one of its public values "
						   "are left out.",
						   NameStr(find_incomplete(s)->name)),
				 errhint("Where keys are declared, the data owner can "
						 "declare other => ... for all others.")));
}

/* ---- charge ---- */

/* dp_reader_charge: for dp_tables_synthesis_run */
static void
pay(void *context)
{
	dp_synthesis *s = context;
	dp_ledger_request request;
	dp_tables_record record;

	dp_tables_request(&request, s->reading->dataset, &s->reading->standing,
					  s->reading->fingerprint, &s->charge, s->weights ?
					  "synthesize: multiplicative weights" :
					  "synthesize: adaptive marginals");
	dp_tables_record_begin(&record, "synthesize", s->reading);
	dp_tables_record_universe(&record, s->universe);
	dp_tables_record_number(&record, "epsilon",
							dp_base_fixed_to_cstring(s->epsilon_fixed));
	if (!s->weights)
		dp_tables_record_number(&record, "delta",
								dp_base_fixed_to_cstring(s->delta));
	dp_tables_record_number(&record, "method",
							s->weights ? "\"mwem\"" : "\"aim\"");
	if (s->sets == NIL)
		dp_tables_record_integer(&record, "marginals", s->marginals);
	else
		dp_tables_record_texts(&record, "sets", s->sets);
	dp_tables_record_integer(&record, "tables", s->terms.ntables);
	s->id = dp_tables_charge(&request, &record);
	dp_base_progress(DP_PHASE_READING, 0);
}

/* ---- the result ---- */

/* The public values of an axis, so that rows are quick to make. */
typedef struct spelled
{
	Datum	   *values;
	bool	   *nulls;
} spelled;

static spelled
synthesize_spell(const dp_axis *axis)
{
	spelled		out;
	int64		i;

	out.values = palloc_extended(sizeof(Datum) * axis->size,
								 MCXT_ALLOC_HUGE);
	out.nulls = palloc_extended(axis->size, MCXT_ALLOC_HUGE);
	for (i = 0; i < axis->size; i++)
		out.values[i] = dp_domains_axis_value(axis, i, &out.nulls[i]);
	return out;
}

typedef struct row_maker
{
	const dp_synthesis *synthesis;
	ReturnSetInfo *result;
	spelled		column[DP_UNIVERSE_AXES];	/* the engine's */
} row_maker;

static void
synthesize_prepare_rows(row_maker *maker, const dp_synthesis *s,
						ReturnSetInfo *result)
{
	int			k;

	maker->synthesis = s;
	maker->result = result;
	for (k = 0; k < s->universe->naxes; k++)
		maker->column[k] = synthesize_spell(s->axes[k]);
}

/* dp_synthesis_rows */
static void
synthesize_put_rows(void *context, const int32 *places, int64 nrows)
{
	const row_maker *maker = context;
	const dp_synthesis *s = maker->synthesis;
	int			n = s->universe->naxes;
	Datum		values[DP_UNIVERSE_AXES];
	bool		nulls[DP_UNIVERSE_AXES];
	int64		i;
	int			k;

	for (i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (k = 0; k < n; k++)
		{
			int32		place = places[i * n + k];

			values[s->order[k]] = maker->column[k].values[place];
			nulls[s->order[k]] = maker->column[k].nulls[place];
		}
		tuplestore_putvalues(maker->result->setResult,
							 maker->result->setDesc, values, nulls);
	}
}

/* Released numbers for dp_pg.releases. */
static char *
results_of(const dp_synthesis *s, int64 nrows)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "\"n\": %.0f, \"rows\": " INT64_FORMAT
					 ", \"rounds\": %d", s->report.total, nrows,
					 s->report.rounds);
	if (!isnan(s->report.mean_error))
		appendStringInfo(&out, ", \"mean_table_error\": %.6g, "
						 "\"max_table_error\": %.6g", s->report.mean_error,
						 s->report.max_error);
	if (s->report.unbounded > 0)
		appendStringInfo(&out, ", \"without_bound\": %d",
						 s->report.unbounded);
	return out.data;
}

/* Show the bounds on the errors of the rows. */
static void
show_errors(const dp_synthesis *s, int64 nrows)
{
	const dp_generator_report *report = &s->report;
	char	   *stands = "";
	char	   *rest = "";

	if (report->unbounded > 0)
		rest = psprintf("  Nothing is promised about %d of the %d marginals.",
						report->unbounded, s->nwanted);
	if (nrows > 0 && fabs(report->total / (double) nrows - 1) > 1e-3)
		stands = psprintf(" when each row counts as %.6g",
						  report->total / (double) nrows);
	if (isnan(report->cell_error))
		ereport(NOTICE,
				(errmsg("the universe has about %.0f rows; nothing is "
						"promised about the marginals", report->total),
				 errhint("Bins, or fewer of them (bins => ...), fewer "
						 "columns, smaller marginals or a larger epsilon "
						 "allow a promise.")));
	else
		ereport(NOTICE,
				(errmsg("the universe has about %.0f rows; no cell of the "
						"marginals should be off by more than %.0f%s",
						report->total, ceil(report->cell_error), stands),
				 isnan(report->mean_error) ?
				 errdetail("This holds with probability 0.95.") :
				 errdetail("This holds with probability 0.95.  The errors of "
						   "all cells of one marginal add up to at most %.3g "
						   "of the rows, and to %.3g on average over the "
						   "marginals.%s", report->max_error,
						   report->mean_error, rest),
				 report->cell_error > report->total / 10 ?
				 errhint("Bins, or fewer of them (bins => ...), fewer "
						 "columns, smaller marginals or a larger epsilon make "
						 "it smaller.") : 0));
}

PG_FUNCTION_INFO_V1(dp_synth_sql_synthesize);

/*
 * dp_synth_sql_synthesize
 *	  dp_synthesize(relation, columns, marginals, epsilon, n, bins, delta,
 *	  method, rows): synthetic rows.  See sql/86_synthesize.sql.
 */
Datum
dp_synth_sql_synthesize(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	dp_synthesis s;
	row_maker	maker;
	int64		nrows;

	MemSet(&s, 0, sizeof(s));
	synthesize_read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_columns(s.universe, result->setDesc, NULL);
	synthesize_show_plan(&s);
	synthesize_prepare_rows(&maker, &s, result);
	nrows = dp_tables_synthesis_run(&s, pay, synthesize_put_rows, &maker);
	show_errors(&s, nrows);
	dp_tables_finish(s.reading->dataset, s.id, s.report.cell_error,
					 results_of(&s, nrows));
	return (Datum) 0;
}
