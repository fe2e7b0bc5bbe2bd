/*
 * synthesize_error.c
 *	  dp_synthesize_error: how large a workload is, and the errors that the
 *	  same price buys without dp_synthesize, for comparison.  Reads no data and
 *	  charges nothing.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "synthesize.h"

/* Places of the arguments. */
enum
{
	ARG_SIZES,
	ARG_MARGINALS,
	ARG_EPSILON,
	ARG_N,
	ARG_DELTA,
	ARG_CONFIDENCE,
	ARG_ROWS
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
		dp_bridge_raise_parameter(psprintf("there must be from 1 to %d sizes",
										   DP_SHAPE_COLUMNS - 1),
								   "Give the number of public values of each "
								   "column.");
	shape->columns = n;
	for (i = 0; i < n; i++)
	{
		shape->size[i] = nulls[i] ? 0 : DatumGetInt32(values[i]);
		if (shape->size[i] < 1)
			dp_bridge_raise_parameter("a size must be at least 1",
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
	Numeric		number = dp_bridge_number(fcinfo, ARG_DELTA);
	dp_fixed	delta;
	dp_fixed	rho;

	if (number == NULL)
		return 0;
	delta = dp_bridge_check_number(number, "delta", DP_RANGE_INNER,
								   DP_ROUND_DOWN, "It is a probability, well "
								   "below one over the number of people.");
	dp_bridge_check_status(dp_acct_zcdp_rho(epsilon, delta, &rho),
						   "find sigma");
	return sqrt(tables / (2 * dp_acct_fixed_approx(rho)));
}

/* MWEM's rounds; the book's promise for the cells of all tables. */
static void
fill_weights(const dp_shape *shape, double cells, double n, double epsilon,
			 double beta, Datum *values, bool *nulls)
{
	double		universe = dp_model_shape_cells(shape, ~(dp_columns) 0);
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
	values[OUT_ROUNDS] = Int32GetDatum(dp_model_mwem_rounds(&t, epsilon, n));
	values[OUT_ALPHA] =
		Float8GetDatum(dp_model_mwem_theorem_alpha(universe, cells, n, epsilon,
												   beta));
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

	for (i = 0; i <= ARG_ROWS; i++)
		if (i != ARG_DELTA && PG_ARGISNULL(i))
			PG_RETURN_NULL();
	read_shape(fcinfo, &shape);
	n = (double) PG_GETARG_INT64(ARG_N);
	k = PG_GETARG_INT32(ARG_MARGINALS);
	if (n < 1)
		dp_bridge_raise_parameter("n must be at least 1",
								  "It is the number of rows.");
	if (k < 1 || k > shape.columns)
		dp_bridge_raise_parameter("marginals must be from 1 to the number "
								  "of columns",
								  "It is the number of columns of each.");
	epsilon = dp_bridge_epsilon(fcinfo, ARG_EPSILON, &fixed);
	rows = dp_synth_rows(fcinfo, ARG_ROWS);
	e = (double) epsilon.num / (double) epsilon.den / rows;
	beta = dp_synth_failure(fcinfo, ARG_CONFIDENCE);
	tables = choose(shape.columns, k);
	cells = cells_of_tables(&shape, k);
	sigma = rows * plain_sigma(fcinfo, fixed, tables);

	values[OUT_CELLS] = Float8GetDatum(dp_model_shape_cells(&shape,
															~(dp_columns) 0));
	values[OUT_TABLES] = Float8GetDatum(tables);
	values[OUT_TABLE_CELLS] = Float8GetDatum(cells);
	nulls[OUT_SIGMA] = nulls[OUT_GAUSSIAN] = sigma == 0;
	values[OUT_SIGMA] = Float8GetDatum(sigma);
	values[OUT_GAUSSIAN] = Float8GetDatum(sigma *
										  sqrt(2 * log(2 * cells / beta)) / n);
	values[OUT_LAPLACE] = Float8GetDatum(tables / e * log(cells / beta) / n);
	fill_weights(&shape, cells, n, e, beta, values, nulls);
	PG_RETURN_DATUM(dp_bridge_make_row(fcinfo, values, nulls));
}
