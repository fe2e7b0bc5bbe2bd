/*
 * group_sums.c
 *	  Counts and bounded sums of all public groups, in one state.
 *
 *	  dp_pg.group_counts(place, spec)		rows: a word for each group
 *	  dp_pg.group_sums(place, x, spec)		as dp_pg.bounded_sum: three words,
 *											sum_state.c
 *
 * The state is that of a tally: flat, updated in place.  A row whose place is
 * NULL is not counted.
 */
#include "postgres.h"

#include "dp_count.h"
#include "dp_to_grid.h"

typedef struct group_spec
{
	int32		vl_len_;
	int64		words;			/* of the state */
	dp_sum_spec grid;			/* for sums */
} group_spec;

#define VALUE_ARGUMENT 2
#define GRID_OF(spec) (&((const group_spec *) (spec))->grid)
#include "transitions.h"

static void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_count_check_call_site(fcinfo);
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	const group_spec *spec = (const group_spec *) PG_GETARG_POINTER(3);

	PG_RETURN_POINTER(dp_tally_state_of(fcinfo, spec->words));
}

static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *grid, int64 granules)
{
	const group_spec *spec = (const group_spec *) PG_GETARG_POINTER(3);
	dp_tally_state *state = dp_tally_state_of(fcinfo, spec->words);

	if (!PG_ARGISNULL(1))
		dp_sum_state_add((dp_sum_state *) state->counts + PG_GETARG_INT32(1),
						 granules);
	PG_RETURN_POINTER(state);
}

/* dp_group_sum_add_*: transition functions (state, place, x, spec). */
DP_NUMBER_TRANSITIONS(dp_group_sum_add)

PG_FUNCTION_INFO_V1(dp_group_count_add);
PG_FUNCTION_INFO_V1(dp_group_sum_combine);

/* dp_group_count_add: transition function (state, place, spec) -> state. */
Datum
dp_group_count_add(PG_FUNCTION_ARGS)
{
	const group_spec *spec;
	dp_tally_state *state;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	spec = (const group_spec *) PG_GETARG_POINTER(2);
	state = dp_tally_state_of(fcinfo, spec->words);
	if (!PG_ARGISNULL(1))
		state->counts[PG_GETARG_INT32(1)]++;
	PG_RETURN_POINTER(state);
}

/* dp_group_sum_combine: sums add, group by group. */
Datum
dp_group_sum_combine(PG_FUNCTION_ARGS)
{
	dp_tally_state *a;
	const dp_tally_state *b;
	int			i;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	a = (dp_tally_state *) PG_GETARG_POINTER(0);
	b = (const dp_tally_state *) PG_GETARG_POINTER(1);
	if (a->n != b->n)
		elog(ERROR, "sums of different groups");
	for (i = 0; i < a->n / DP_SUM_WORDS; i++)
		dp_sum_state_merge((dp_sum_state *) a->counts + i,
						   (const dp_sum_state *) b->counts + i);
	PG_RETURN_POINTER(a);
}

/*
 * dp_count_group_spec
 *	  The constant for either aggregate: words of the state, and the grid of
 *	  sums (NULL: rows are counted).
 */
Const *
dp_count_group_spec(int64 words, const dp_grid *grid)
{
	group_spec *spec = palloc0(sizeof(group_spec));

	spec->words = words;
	if (grid != NULL)
		dp_count_fill_spec(grid, &spec->grid);
	return dp_places_tally_spec_const(spec, sizeof(group_spec));
}
