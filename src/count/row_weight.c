/*
 * row_weight.c
 *	  Weights of rows: linear queries with values from 0 to 1.
 *
 * A weight f(x) of a row x is the whole number clamp(round(G f(x))) of
 * granules, G = DP_WEIGHT_ONE, and 0 where f is NULL or NaN.  The granules of
 * all rows are added exactly; divided by G and rounded they are the query's
 * number of rows, which a row changes by at most 1, like that of a predicate
 * (doc/theory.md T123).  Rows and the cells of a universe use the same
 * function.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "dp_to_grid.h"

struct dp_weight_scale
{
	dp_sum_spec spec;
	dp_numeric_bounds bounds;
};

/*
 * dp_count_weight_scale
 *	  The conversion of values to granules, in the current context; clamped to
 *	  `beyond` granules below 0 and above 1, so that with 1 values outside are
 *	  recognized.
 */
dp_weight_scale *
dp_count_weight_scale(int64 beyond)
{
	const dp_grid grid = {-DP_WEIGHT_BITS, -beyond, DP_WEIGHT_ONE + beyond};
	dp_weight_scale *scale = palloc(sizeof(dp_weight_scale));

	dp_count_fill_spec(&grid, &scale->spec);
	scale->bounds = numeric_bounds(&scale->spec);
	return scale;
}

static int64
weigh_float(const dp_weight_scale *scale, float8 x)
{
	return isnan(x) ? 0 : granules_of_float(&scale->spec, x);
}

static int64
weigh_numeric(const dp_weight_scale *scale, Numeric x)
{
	return numeric_is_nan(x) ? 0 :
		granules_of_numeric(&scale->spec, &scale->bounds, x);
}

/* dp_count_weigh: the granules of a value of a numeric base type; 0A000. */
int64
dp_count_weigh(const dp_weight_scale *scale, Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return granules_of_integer(&scale->spec, DatumGetInt16(value));
		case INT4OID:
			return granules_of_integer(&scale->spec, DatumGetInt32(value));
		case INT8OID:
			return granules_of_integer(&scale->spec, DatumGetInt64(value));
		case FLOAT4OID:
			return weigh_float(scale, DatumGetFloat4(value));
		case FLOAT8OID:
			return weigh_float(scale, DatumGetFloat8(value));
		case NUMERICOID:
			return weigh_numeric(scale, DatumGetNumeric(value));
	}
	/* a direct call of dp_pg.count_conditions may pass anything */
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a weight cannot be of type %s", format_type_be(type)),
			 errhint("Use dp_argmax.")));
	return 0;
}
