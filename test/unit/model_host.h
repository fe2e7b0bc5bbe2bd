/*
 * model_host.h
 *	  What tests of distributions and generators share: a host, tables counted
 *	  from rows, random numbers with a seed.
 */
#ifndef MODEL_HOST_H
#define MODEL_HOST_H

#include <stdlib.h>
#include <string.h>

#include "dp_models.h"
#include "dp_noise.h"
#include "dp_numbers.h"
#include "mech_fake.h"

static long host_allocations;

static inline void *
host_allocate(void *state, size_t n)
{
	void	   *memory = malloc(n > 0 ? n : 1);

	(void) state;
	if (memory == NULL)
		abort();
	host_allocations++;
	return memory;
}

static inline void
host_release(void *state, void *memory)
{
	(void) state;
	host_allocations--;
	free(memory);
}

static const dp_host test_host = {host_allocate, host_release, NULL, NULL};

/* Uniform in [0, 1), for tests' own choices. */
static inline double
any_number(dp_source *source)
{
	double		x;

	if (dp_models_sample_uniform(source, &x) != DP_OK)
		abort();
	return x;
}

static inline int
any_below(dp_source *source, int n)
{
	return (int) (any_number(source) * n);
}

/* Counts of a set's cells; rows as dp_models_distribution_sample has them. */
static inline int64_t *
count_rows(const dp_shape *shape, dp_columns set, const int32_t *places,
		   int64_t rows)
{
	int64_t    *counts = calloc((size_t) dp_models_shape_cells(shape, set),
								sizeof(int64_t));
	int64_t		i;
	int			k;

	if (counts == NULL)
		abort();
	for (i = 0; i < rows; i++)
	{
		int64_t		cell = 0;

		for (k = 0; k < shape->columns; k++)
			if (set & DP_COLUMN(k))
				cell = cell * shape->size[k] +
					places[i * shape->columns + k];
		counts[cell]++;
	}
	return counts;
}

/* All tables of one to k columns; those of exactly k are wanted. */
static inline dp_generator_table *
all_tables(const dp_shape *shape, int k, const int32_t *places, int64_t rows,
		   int *n)
{
	dp_columns	all = DP_COLUMN(shape->columns);
	dp_generator_table *tables = calloc((size_t) all, sizeof(*tables));
	int			size;
	dp_columns	set;
	dp_columns	whole;

	*n = 0;
	for (size = 1; size <= k; size++)
		for (set = 1; set < all; set++)
		{
			dp_generator_table *t = &tables[*n];

			if (__builtin_popcountll(set) != size)
				continue;
			t->set = set;
			t->wanted = size == k;
			for (whole = 1; whole < all; whole++)
				if (__builtin_popcountll(whole) == k)
					t->weight += __builtin_popcountll(whole & set);
			t->counts = count_rows(shape, set, places, rows);
			(*n)++;
		}
	return tables;
}

static inline void
free_tables(dp_generator_table *tables, int n)
{
	while (n-- > 0)
		free((void *) tables[n].counts);
	free(tables);
}

#endif							/* MODEL_HOST_H */
