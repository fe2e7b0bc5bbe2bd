/*
 * smalldb_queries.c
 *	  SmallDB's workload: predicates, or every cell of all k-way marginals.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "smalldb.h"

/* dp_synth_queries_read: queries given as predicates; not NULL. */
void
dp_synth_queries_read(dp_synth_queries *out, const dp_universe *universe,
					  ArrayType *texts)
{
	MemSet(out, 0, sizeof(*out));
	out->universe = universe;
	out->texts = dp_block_predicate_texts(texts);
	out->n = list_length(out->texts);
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
			 bool *holds)
{
	int64		places[DP_UNIVERSE_AXES];
	int64		cell;

	for (cell = 0; cell < universe->size; cell++)
	{
		dp_workload_places(universe, cell, places);
		holds[cell_of_table(universe, table, places) * universe->size +
			  cell] = true;
	}
}

/*
 * dp_synth_queries_expand
 *	  For each query and cell whether it holds; errors in predicates are
 *	  raised here.  The caller has seen to it that it fits memory.
 */
bool *
dp_synth_queries_expand(const dp_synth_queries *queries)
{
	const dp_universe *universe = queries->universe;
	bool	   *holds = MemoryContextAllocExtended(
		CurrentMemoryContext, queries->n * universe->size,
		MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	bool	   *next = holds;
	int32	   *weights = palloc(sizeof(int32) * universe->size);
	ListCell   *lc;
	int64		cell;
	int			i;

	foreach(lc, queries->texts)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_expand(universe,
						   dp_workload_read_predicate(universe, lfirst(lc),
													  "dp_smalldb"), weights);
		for (cell = 0; cell < universe->size; cell++)
			*next++ = weights[cell] > 0;
	}
	for (i = 0; i < queries->ntables; i++)
	{
		const dp_reading_table *table = &queries->tables[i];

		CHECK_FOR_INTERRUPTS();
		expand_table(universe, table, next);
		next += dp_workload_cells(universe, table->naxes, table->axes) *
			universe->size;
	}
	pfree(weights);
	return holds;
}
