/*
 * table_algebra.c
 *	  Tables of numbers over sets of columns: sums, products, projections.
 *
 * A large table is walked in its own order; neighbouring columns that a small
 * table either has or has not are walked as one, so that the innermost loop is
 * as long as possible and the compiler can use vectors.
 */
#include "dp_distribution.h"

#define OPERANDS 3				/* most tables in one operation */

/* How the cells of a large table lie in smaller ones. */
typedef struct walk
{
	int			runs;			/* runs of columns that are treated alike */
	int64_t		size[DP_SHAPE_COLUMNS];
	int64_t		step[DP_SHAPE_COLUMNS][OPERANDS];
	int64_t		at[DP_SHAPE_COLUMNS];
	int64_t		offset[OPERANDS];
} walk;

/*
 * dp_model_shape_cells
 *	  Cells of a table over a set of columns, as a double that cannot
 *	  overflow; exact below 2^53.
 *
 * Requires: shape non-NULL; set within its columns.
 * Gives:	 the product of sizes, 1 for the empty set.
 * Source:	 doc/theory.md T70 (definition).
 */
double
dp_model_shape_cells(const dp_shape *shape, dp_columns set)
{
	double		cells = 1;
	int			i;

	for (i = 0; i < shape->columns; i++)
		if (set & DP_COLUMN(i))
			cells *= (double) shape->size[i];
	return cells;
}

/* Which of the operands have a column, as bits. */
static unsigned
who_has(int column, int operands, const dp_columns *operand)
{
	unsigned	has = 0;
	int			k;

	for (k = 0; k < operands; k++)
		if (operand[k] & DP_COLUMN(column))
			has |= 1u << k;
	return has;
}

/*
 * Begin to walk the cells over `over`, each operand a table over a subset.
 * The walk stands on the first of its innermost runs: size[runs - 1] cells,
 * of which operand k's begin at offset[k] and lie step[runs - 1][k] apart.
 */
static void
begin_walk(walk *w, const dp_shape *shape, dp_columns over, int operands,
		   const dp_columns *operand)
{
	int64_t		stride[OPERANDS];
	unsigned	last = ~0u;
	int			i;
	int			k;

	w->runs = 0;
	for (i = 0; i < shape->columns; i++)
	{
		unsigned	has = who_has(i, operands, operand);

		if (!(over & DP_COLUMN(i)) || shape->size[i] == 1)
			continue;
		if (has == last)
			w->size[w->runs - 1] *= shape->size[i];
		else
		{
			w->size[w->runs] = shape->size[i];
			for (k = 0; k < operands; k++)
				w->step[w->runs][k] = (has >> k) & 1;
			w->runs++;
		}
		last = has;
	}
	if (w->runs == 0)
	{
		w->runs = 1;
		w->size[0] = 1;
		for (k = 0; k < operands; k++)
			w->step[0][k] = 0;
	}
	for (k = 0; k < operands; k++)
	{
		stride[k] = 1;
		w->offset[k] = 0;
	}
	for (i = w->runs - 1; i >= 0; i--)
	{
		w->at[i] = 0;
		for (k = 0; k < operands; k++)
		{
			int64_t		has = w->step[i][k];

			w->step[i][k] = has * stride[k];
			if (has)
				stride[k] *= w->size[i];
		}
	}
}

/* Go on to the next innermost run; false when there is none. */
static bool
next_run(walk *w, int operands)
{
	int			i;
	int			k;

	for (i = w->runs - 2; i >= 0; i--)
	{
		for (k = 0; k < operands; k++)
			w->offset[k] += w->step[i][k];
		if (++w->at[i] < w->size[i])
			return true;
		w->at[i] = 0;
		for (k = 0; k < operands; k++)
			w->offset[k] -= w->step[i][k] * w->size[i];
	}
	return false;
}

/*
 * dp_model_table_add
 *	  large += small, over the columns that small has.
 *
 * Requires: small_set within large_set; tables of their shapes.
 * Gives:	 large.
 * Source:	 doc/theory.md T70 (sum of potentials).
 */
void
dp_model_table_add(const dp_shape *shape, dp_columns large_set, double *large,
				   dp_columns small_set, const double *small)
{
	walk		w;

	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		const double *from = small + w.offset[0];
		int64_t		i;

		if (w.step[w.runs - 1][0] == 0)
			for (i = 0; i < n; i++)
				large[i] += *from;
		else
			for (i = 0; i < n; i++)
				large[i] += from[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * dp_model_table_multiply
 *	  large *= small, over the columns that small has.
 *
 * Requires: as dp_model_table_add.
 * Gives:	 large.
 * Source:	 doc/theory.md T70 (product of factors).
 */
void
dp_model_table_multiply(const dp_shape *shape, dp_columns large_set,
						double *large, dp_columns small_set,
						const double *small)
{
	walk		w;

	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		const double *from = small + w.offset[0];
		int64_t		i;

		if (w.step[w.runs - 1][0] == 0)
			for (i = 0; i < n; i++)
				large[i] *= *from;
		else
			for (i = 0; i < n; i++)
				large[i] *= from[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * dp_model_table_sum
 *	  small = large summed over the columns that small lacks.
 *
 * Requires: as dp_model_table_add; the two do not overlap.
 * Gives:	 small.
 * Source:	 doc/theory.md T70 (marginals).
 */
void
dp_model_table_sum(const dp_shape *shape, dp_columns large_set,
				   const double *large, dp_columns small_set, double *small)
{
	int64_t		cells = (int64_t) dp_model_shape_cells(shape, small_set);
	walk		w;
	int64_t		i;

	for (i = 0; i < cells; i++)
		small[i] = 0;
	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		double	   *to = small + w.offset[0];
		double		sum = 0;

		if (w.step[w.runs - 1][0] == 0)
		{
			for (i = 0; i < n; i++)
				sum += large[i];
			*to += sum;
		}
		else
			for (i = 0; i < n; i++)
				to[i] += large[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * dp_model_table_maximum
 *	  small = the largest of large over the columns that small lacks.
 *
 * Requires: as dp_model_table_sum; no NaN.
 * Gives:	 small.
 * Source:	 doc/theory.md T70 (scaling against underflow).
 */
void
dp_model_table_maximum(const dp_shape *shape, dp_columns large_set,
					   const double *large, dp_columns small_set,
					   double *small)
{
	int64_t		cells = (int64_t) dp_model_shape_cells(shape, small_set);
	walk		w;
	int64_t		i;

	for (i = 0; i < cells; i++)
		small[i] = -1e300;
	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		double	   *to = small + w.offset[0];
		double		most = *to;

		if (w.step[w.runs - 1][0] == 0)
		{
			for (i = 0; i < n; i++)
				most = large[i] > most ? large[i] : most;
			*to = most;
		}
		else
			for (i = 0; i < n; i++)
				to[i] = large[i] > to[i] ? large[i] : to[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * dp_model_table_contract
 *	  out = the product of a and b, summed over the columns that out lacks.
 *
 * Requires: out_set within the union of a_set and b_set; out apart from both.
 * Gives:	 out.
 * Source:	 doc/theory.md T70 (variable elimination).
 */
void
dp_model_table_contract(const dp_shape *shape, dp_columns a_set,
						const double *a, dp_columns b_set, const double *b,
						dp_columns out_set, double *out)
{
	int64_t		cells = (int64_t) dp_model_shape_cells(shape, out_set);
	dp_columns	operand[3];
	walk		w;
	int64_t		i;

	for (i = 0; i < cells; i++)
		out[i] = 0;
	operand[0] = a_set;
	operand[1] = b_set;
	operand[2] = out_set;
	begin_walk(&w, shape, a_set | b_set, 3, operand);
	do
	{
		const int64_t *step = w.step[w.runs - 1];
		int64_t		n = w.size[w.runs - 1];
		const double *x = a + w.offset[0];
		const double *y = b + w.offset[1];
		double	   *to = out + w.offset[2];

		if (step[2] == 0)
		{
			double		sum = 0;

			for (i = 0; i < n; i++)
				sum += x[i * step[0]] * y[i * step[1]];
			*to += sum;
		}
		else
			for (i = 0; i < n; i++)
				to[i] += x[i * step[0]] * y[i * step[1]];
	} while (next_run(&w, 3));
}
