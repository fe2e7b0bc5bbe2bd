/*
 * smalldb_queries.c
 *	  SmallDB's workload: predicates and weights, or every cell of all k-way
 *	  marginals.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "smalldb.h"

/* dp_synth_queries_read: queries given as texts; not NULL. */
void
dp_synth_queries_read(dp_synth_queries *out, const dp_universe *universe,
					  ArrayType *texts)
{
	ListCell   *lc;

	MemSet(out, 0, sizeof(*out));
	out->universe = universe;
	out->texts = dp_block_predicate_texts(texts);
	out->n = list_length(out->texts);
	foreach(lc, out->texts)
	{
		CHECK_FOR_INTERRUPTS();
		if (!dp_workload_read_query(universe, lfirst(lc))->predicate)
			out->weighted = true;
	}
}

/* dp_synth_queries_marginals: one query for each cell of each table. */
void
dp_synth_queries_marginals(dp_synth_queries *out, const dp_universe *universe,
						   int k)
{
	int			i;

	MemSet(out, 0, sizeof(*out));
	out->universe = universe;
	out->ntables = dp_workload_marginals(universe, k, &out->tables);
	for (i = 0; i < out->ntables; i++)
		out->n += dp_workload_cells(universe, out->tables[i].naxes,
									out->tables[i].axes);
}

/* The place of a cell of the universe in a table over some of its axes. */
static int64
cell_of_table(const dp_universe *universe, const dp_reading_table *table,
			  const int64 *places)
{
	int64		cell = 0;
	int			i;

	for (i = 0; i < table->naxes; i++)
		cell = cell * universe->axes[table->axes[i]]->size +
			places[table->axes[i]];
	return cell;
}

static void
expand_table(const dp_universe *universe, const dp_reading_table *table,
			 uint64 one, uint8 *weights)
{
	int64		places[DP_UNIVERSE_AXES];
	int64		cell;

	for (cell = 0; cell < universe->size; cell++)
	{
		dp_workload_places(universe, cell, places);
		weights[cell_of_table(universe, table, places) * universe->size +
				cell] = (uint8) one;
	}
}

/* A weight in granules of 1/one, rounded to the nearest. */
static uint8
coarse(int32 weight, uint64 one)
{
	return (uint8) (((int64) weight * (int64) one + DP_WEIGHT_ONE / 2) >>
					DP_WEIGHT_BITS);
}

/*
 * dp_synth_queries_expand
 *	  For each query and cell what it weighs, of `one` granules; errors in
 *	  queries are raised here at the latest.  The caller has checked that they
 *	  fit into memory.
 */
uint8 *
dp_synth_queries_expand(const dp_synth_queries *queries, uint64 one)
{
	const dp_universe *universe = queries->universe;
	uint8	   *weights = MemoryContextAllocExtended(
		CurrentMemoryContext, queries->n * universe->size,
		MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	uint8	   *next = weights;
	int32	   *fine = palloc(sizeof(int32) * universe->size);
	ListCell   *lc;
	int64		cell;
	int			i;

	foreach(lc, queries->texts)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_expand(universe,
						   dp_workload_read_query(universe, lfirst(lc)),
						   fine);
		for (cell = 0; cell < universe->size; cell++)
			*next++ = coarse(fine[cell], one);
	}
	for (i = 0; i < queries->ntables; i++)
	{
		const dp_reading_table *table = &queries->tables[i];

		CHECK_FOR_INTERRUPTS();
		expand_table(universe, table, one, next);
		next += dp_workload_cells(universe, table->naxes, table->axes) *
			universe->size;
	}
	pfree(fine);
	return weights;
}
