/*
 * condition_counts.c
 *	  Counts many conditions in one pass: matched ones by tables over classes
 *	  of columns, all others by evaluating each.
 *
 * Conditions over the same columns make a template.  If the product of the
 * numbers of classes is small, a template is a table of all cells; templates
 * with common columns share one table while that stays small, and a row then
 * adds one for all of them.  Otherwise only the cells that some condition
 * needs are counted.  All sizes follow from the conditions, not from the rows,
 * and are bounded.
 *
 * Counts of conditions are computed afterwards: a template's counts are sums
 * over the other columns of its table, and a condition's count is the sum over
 * its classes.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/split/dp_split.h"
#include "dp_exact.h"
#include "exact_internal.h"

static Size conditions_evaluated_memory(int n);

/* Most cells of a table: of one template, and of several that share it. */
#define ALONE_MOST 65536
#define SHARED_MOST 16384
#define ALL_MOST (INT64CONST(1) << 21)

/* Most cells that one condition may need if not all are counted. */
#define LISTED_MOST 256

#define NUMBER_MOST (UINT64CONST(1) << 62)

typedef struct template
{
	Bitmapset  *columns;
	uint32		hash;
	uint64		cells;
	bool		listed;
	int			table;			/* index */
	List	   *conditions;		/* of int */
} template;

typedef struct table
{
	Bitmapset  *columns;
	uint64		cells;
	int64		first;			/* count of its first cell */
	uint64	   *listed;			/* ascending; NULL: all */
	int64		nlisted;
} table;

struct dp_condition_counting
{
	int			nconditions;
	dp_matches *matches;
	bool	   *evaluated;		/* by condition: not matched */
	List	   *rest;			/* the evaluated ones */
	int			ntemplates;
	template   *templates;
	int			ntables;
	table	   *tables;
	Const	   *spec;			/* NULL: no table */
	int64		cells;			/* of all tables */
	List	   *vars;			/* columns of the spec */
};

/* ---- templates ---- */

static uint64
counts_cells_of(const dp_matches *m, const Bitmapset *columns)
{
	uint64		cells = 1;
	int			i = -1;

	while ((i = bms_next_member(columns, i)) >= 0)
	{
		if (cells > NUMBER_MOST / (uint64) DP_CLASSES(&m->columns[i]))
			return NUMBER_MOST + 1;
		cells *= (uint64) DP_CLASSES(&m->columns[i]);
	}
	return cells;
}

static template *
find_template(dp_condition_counting *c, Bitmapset *columns)
{
	uint32		hash = bms_hash_value(columns);
	template   *new;
	int			i;

	for (i = 0; i < c->ntemplates; i++)
		if (c->templates[i].hash == hash &&
			bms_equal(c->templates[i].columns, columns))
			return &c->templates[i];
	new = &c->templates[c->ntemplates++];
	new->columns = columns;
	new->hash = hash;
	new->cells = counts_cells_of(c->matches, columns);
	return new;
}

static void
make_templates(dp_condition_counting *c)
{
	int			i;

	c->templates = palloc0(sizeof(template) * Max(c->nconditions, 1));
	for (i = 0; i < c->nconditions; i++)
	{
		dp_matched_condition *condition = &c->matches->conditions[i];
		template   *t;

		if (!condition->matched)
			c->evaluated[i] = true;
		else if (!condition->never)
		{
			t = find_template(c, condition->columns);
			t->conditions = lappend_int(t->conditions, i);
		}
	}
}

/* ---- tables ---- */

static int
compare_cells(const void *a, const void *b)
{
	uint64		x = ((const template *) a)->cells;
	uint64		y = ((const template *) b)->cells;

	return x > y ? -1 : x < y ? 1 : 0;
}

/*
 * The table of all cells for a template: one that has its columns already, or
 * grows least by adding them.
 */
static int
choose_table(const dp_condition_counting *c, const template *t,
			 uint64 *cells)
{
	int			best = -1;
	uint64		least = PG_UINT64_MAX;
	int			i;

	for (i = 0; i < c->ntables; i++)
	{
		Bitmapset  *both;
		uint64		size;

		if (bms_is_subset(t->columns, c->tables[i].columns))
		{
			*cells = c->tables[i].cells;
			return i;
		}
		both = bms_union(t->columns, c->tables[i].columns);
		size = counts_cells_of(c->matches, both);
		bms_free(both);
		if (size <= SHARED_MOST && size - c->tables[i].cells < least)
		{
			best = i;
			least = size - c->tables[i].cells;
			*cells = size;
		}
	}
	return best;
}

static int
new_table(dp_condition_counting *c, const template *t)
{
	table	   *new = &c->tables[c->ntables];

	memset(new, 0, sizeof(table));
	new->columns = bms_copy(t->columns);
	new->cells = t->cells;
	return c->ntables++;
}

/* Make tables of all cells; templates that fit into none become listed. */
static void
make_full_tables(dp_condition_counting *c)
{
	int64		all = 0;
	int			i;

	for (i = 0; i < c->ntemplates; i++)
	{
		template   *t = &c->templates[i];
		uint64		cells = 0;

		CHECK_FOR_INTERRUPTS();
		t->listed = t->cells > ALONE_MOST;
		if (t->listed)
			continue;
		t->table = choose_table(c, t, &cells);
		if (t->table < 0)
		{
			t->listed = all + (int64) t->cells > ALL_MOST;
			if (t->listed)
				continue;
			t->table = new_table(c, t);
			all += (int64) t->cells;
			continue;
		}
		all += (int64) (cells - c->tables[t->table].cells);
		c->tables[t->table].cells = cells;
		c->tables[t->table].columns =
			bms_add_members(c->tables[t->table].columns, t->columns);
	}
}

/* ---- the cells that a condition asks for ---- */

typedef struct cell_walk
{
	const dp_matches *matches;
	const dp_matched_condition *condition;
	uint64	   *numbers;		/* or NULL: sum up counts */
	int64		n;
	const int64 *counts;
	int64		sum;
} cell_walk;

/* Visit every cell of the condition, in ascending order. */
static void
walk_cells(cell_walk *walk, int column, uint64 number)
{
	const Bitmapset *classes;
	uint64		size;
	int			class = -1;

	column = bms_next_member(walk->condition->columns, column);
	if (column < 0)
	{
		if (walk->numbers != NULL)
			walk->numbers[walk->n] = number;
		else
			walk->sum += walk->counts[number];
		walk->n++;
		return;
	}
	classes = walk->condition->classes[column];
	size = (uint64) DP_CLASSES(&walk->matches->columns[column]);
	while ((class = bms_next_member(classes, class)) >= 0)
		walk_cells(walk, column, number * size + (uint64) class);
}

/* The number of those cells, or LISTED_MOST + 1. */
static int64
asked_cells(const dp_matched_condition *condition)
{
	int64		cells = 1;
	int			i = -1;

	while (cells <= LISTED_MOST &&
		   (i = bms_next_member(condition->columns, i)) >= 0)
		cells *= Min(bms_num_members(condition->classes[i]),
					 LISTED_MOST + 1);
	return Min(cells, LISTED_MOST + 1);
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y ? 1 : 0;
}

static int64
unique_numbers(uint64 *numbers, int64 n)
{
	int64		kept = 0;
	int64		i;

	qsort(numbers, n, sizeof(uint64), compare_numbers);
	for (i = 0; i < n; i++)
		if (kept == 0 || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

/* Conditions that need too many cells are evaluated instead. */
static void
make_listed_table(dp_condition_counting *c, template *t)
{
	cell_walk	walk;
	List	   *kept = NIL;
	int64		n = 0;
	ListCell   *lc;

	foreach(lc, t->conditions)
	{
		int64		asked = t->cells > NUMBER_MOST ? LISTED_MOST + 1 :
		asked_cells(&c->matches->conditions[lfirst_int(lc)]);

		if (asked > LISTED_MOST)
		{
			c->evaluated[lfirst_int(lc)] = true;
			continue;
		}
		n += asked;
		kept = lappend_int(kept, lfirst_int(lc));
	}
	t->conditions = kept;
	if (kept == NIL)
		return;
	memset(&walk, 0, sizeof(walk));
	walk.matches = c->matches;
	walk.numbers = palloc(sizeof(uint64) * n);
	foreach(lc, kept)
	{
		walk.condition = &c->matches->conditions[lfirst_int(lc)];
		walk_cells(&walk, -1, 0);
	}
	t->table = new_table(c, t);
	c->tables[t->table].listed = walk.numbers;
	c->tables[t->table].nlisted = unique_numbers(walk.numbers, n);
}

/* ---- the plan ---- */

static dp_axis *
make_axis(const dp_matched_column *column)
{
	dp_axis    *axis = palloc0(sizeof(dp_axis));

	if (column->known == 0)
		dp_domains_axis_set_finder(axis, DP_AXIS_DENSE, InvalidOid, NULL);
	else
		dp_domains_axis_make_listed(axis, column->type, column->constants,
									column->known);
	dp_domains_axis_set_last_places(axis, column->known, true, true);
	return axis;
}

/* Positions of the members among those of `used`. */
static int *
ranks(const Bitmapset *members, const Bitmapset *used)
{
	int		   *out = palloc(sizeof(int) * Max(bms_num_members(members), 1));
	int			n = 0;
	int			i = -1;

	while ((i = bms_next_member(members, i)) >= 0)
		out[n++] = bms_member_index((Bitmapset *) used, i);
	return out;
}

static void
counts_make_spec(dp_condition_counting *c)
{
	dp_counted_table *counted = palloc0(sizeof(dp_counted_table) *
										c->ntables);
	dp_axis   **axes;
	Bitmapset  *used = NULL;
	int64		first = 0;
	int			naxes = 0;
	int			i;

	for (i = 0; i < c->ntables; i++)
		used = bms_add_members(used, c->tables[i].columns);
	for (i = 0; i < c->ntables; i++)
	{
		table	   *t = &c->tables[i];

		t->first = first;
		counted[i].naxes = bms_num_members(t->columns);
		counted[i].axes = ranks(t->columns, used);
		counted[i].listed = t->listed;
		counted[i].nlisted = t->nlisted;
		first += t->listed != NULL ? t->nlisted : (int64) t->cells;
	}
	c->cells = first;
	axes = palloc(sizeof(dp_axis *) * Max(bms_num_members(used), 1));
	for (i = -1; (i = bms_next_member(used, i)) >= 0;)
	{
		axes[naxes++] = make_axis(&c->matches->columns[i]);
		c->vars = lappend(c->vars, c->matches->columns[i].var);
	}
	c->spec = dp_exact_tables_spec(naxes, axes, c->ntables, counted, false);
}

/*
 * dp_exact_conditions_plan
 *	  Plan how to count the conditions: boolean expressions or weights, allowed
 *	  on private rows, over the columns of one query level.  In the current
 *	  context.
 */
dp_condition_counting *
dp_exact_conditions_plan(List *conditions)
{
	dp_condition_counting *c = palloc0(sizeof(dp_condition_counting));
	int			i;

	c->nconditions = list_length(conditions);
	c->evaluated = palloc0(sizeof(bool) * Max(c->nconditions, 1));
	c->matches = dp_exact_conditions_match(conditions, DP_COUNTED_AXES_MAX);
	make_templates(c);
	qsort(c->templates, c->ntemplates, sizeof(template), compare_cells);
	c->tables = palloc(sizeof(table) * Max(c->ntemplates, 1));
	make_full_tables(c);
	for (i = 0; i < c->ntemplates; i++)
		if (c->templates[i].listed)
			make_listed_table(c, &c->templates[i]);
	if (c->ntables > 0)
		counts_make_spec(c);
	for (i = 0; i < c->nconditions; i++)
		if (c->evaluated[i])
			c->rest = lappend(c->rest, list_nth(conditions, i));
	return c;
}

/* dp_exact_conditions_evaluated: see dp_exact.h. */
int
dp_exact_conditions_evaluated(const dp_condition_counting *c)
{
	return list_length(c->rest);
}

/*
 * dp_exact_conditions_memory
 *	  Most bytes for the states of the exact aggregates and for summing up a
 *	  table.
 */
Size
dp_exact_conditions_memory(const dp_condition_counting *c)
{
	int			rest = list_length(c->rest);
	Size		size = conditions_evaluated_memory(rest);

	return c->spec == NULL ? size :
		size + sizeof(int64) * ((Size) c->cells + ALONE_MOST);
}

/*
 * dp_exact_conditions_natives
 *	  The exact aggregates; dp_exact_conditions_load reads their results.
 */
List *
dp_exact_conditions_natives(const dp_condition_counting *c,
							const Aggref *asked)
{
	List	   *natives = NIL;

	if (c->spec != NULL)
		natives = list_make1(dp_exact_tables_native(asked, c->spec, c->vars));
	return list_concat(natives, dp_exact_conditions_evaluate(asked, c->rest));
}

/* ---- results ---- */

/*
 * Sum a table of all cells over the columns that the template does not have.
 * Places count up like an odometer's digits; `step` is the weight of a digit
 * in the template.
 */
static int64 *
template_counts(const dp_condition_counting *c, const template *t,
				const int64 *counts)
{
	const table *full = &c->tables[t->table];
	int			n = bms_num_members(full->columns);
	int64	   *out = palloc0(sizeof(int64) * t->cells);
	int		   *sizes = palloc(sizeof(int) * Max(n, 1));
	int		   *digits = palloc0(sizeof(int) * Max(n, 1));
	uint64	   *steps = palloc0(sizeof(uint64) * Max(n, 1));
	uint64		step = 1;
	uint64		number = 0;
	uint64		cell;
	int			d = 0;
	int			i;

	for (i = -1; (i = bms_next_member(full->columns, i)) >= 0; d++)
	{
		sizes[d] = DP_CLASSES(&c->matches->columns[i]);
		steps[d] = bms_is_member(i, t->columns) ? 1 : 0;
	}
	for (d = n - 1; d >= 0; d--)
		if (steps[d] != 0)
		{
			steps[d] = step;
			step *= (uint64) sizes[d];
		}
	for (cell = 0; cell < full->cells; cell++)
	{
		out[number] += counts[cell];
		for (d = n - 1; d >= 0; d--)
		{
			number += steps[d];
			if (++digits[d] < sizes[d])
				break;
			digits[d] = 0;
			number -= steps[d] * (uint64) sizes[d];
		}
	}
	return out;
}

static void
load_full(const dp_condition_counting *c, const template *t,
		  const int64 *state, int64 *counts)
{
	int64	   *sums = template_counts(c, t, state);
	cell_walk	walk;
	ListCell   *lc;

	memset(&walk, 0, sizeof(walk));
	walk.matches = c->matches;
	walk.counts = sums;
	foreach(lc, t->conditions)
	{
		walk.condition = &c->matches->conditions[lfirst_int(lc)];
		walk.sum = 0;
		walk_cells(&walk, -1, 0);
		counts[lfirst_int(lc)] += walk.sum;
	}
	pfree(sums);
}

static void
load_listed(const dp_condition_counting *c, const template *t,
			const int64 *state, int64 *counts)
{
	const table *listed = &c->tables[t->table];
	uint64		numbers[LISTED_MOST];
	cell_walk	walk;
	ListCell   *lc;
	int64		i;

	memset(&walk, 0, sizeof(walk));
	walk.matches = c->matches;
	walk.numbers = numbers;
	foreach(lc, t->conditions)
	{
		walk.condition = &c->matches->conditions[lfirst_int(lc)];
		walk.n = 0;
		walk_cells(&walk, -1, 0);
		for (i = 0; i < walk.n; i++)
		{
			uint64	   *found = bsearch(&numbers[i], listed->listed,
										listed->nlisted, sizeof(uint64),
										compare_numbers);

			counts[lfirst_int(lc)] += state[found - listed->listed];
		}
	}
}

/*
 * dp_exact_conditions_load
 *	  Add the results of the exact aggregates to the counts of the conditions.
 */
void
dp_exact_conditions_load(const dp_condition_counting *c, const Datum *values,
						 const bool *nulls, int64 *counts)
{
	int			rest = 0;
	int			i;

	if (c->spec != NULL && !nulls[0])
	{
		const dp_tally_state *state =
		(const dp_tally_state *) DatumGetPointer(values[0]);

		for (i = 0; i < c->ntemplates; i++)
		{
			const template *t = &c->templates[i];

			CHECK_FOR_INTERRUPTS();
			if (t->conditions == NIL)
				continue;
			if (t->listed)
				load_listed(c, t, state->counts + c->tables[t->table].first,
							counts);
			else
				load_full(c, t, state->counts + c->tables[t->table].first,
						  counts);
		}
	}
	if (c->spec != NULL)
	{
		values++;
		nulls++;
	}
	for (i = 0; i < c->nconditions; i++)
		if (c->evaluated[i])
			counts[i] += dp_exact_conditions_load_one(values, nulls, c->rest,
													  rest++);
}

/* ----------------
 *		dp_pg.count_conditions: the number of rows for which each of up to
 *		CHUNK conditions holds, and the granules of weights, in one call per
 *		row.
 *
 * Its state is a flat fixed-length type, updated in place.  A NULL condition
 * counts as false, a NULL weight as 0.
 * ----------------
 */

/*
 * Conditions of one exact aggregate.  A function takes at most FUNC_MAX_ARGS
 * arguments, and the type's length in sql/56_conditions.sql is 8 * CHUNK.
 */
#define CHUNK 64

typedef struct dp_condition_counts
{
	int64		counts[CHUNK];
} dp_condition_counts;

StaticAssertDecl(sizeof(dp_condition_counts) == 512,
				 "length of dp_pg.condition_counts");

PG_FUNCTION_INFO_V1(dp_conditions_add);
PG_FUNCTION_INFO_V1(dp_conditions_combine);
PG_FUNCTION_INFO_V1(dp_conditions_state_in);
PG_FUNCTION_INFO_V1(dp_conditions_state_out);

/* State of a call site: how arguments that are weights become granules. */
typedef struct call_site
{
	dp_weight_scale *scale;
	Oid			weight[CHUNK + 1];	/* base type; InvalidOid: a condition */
} call_site;

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	call_site  *site = palloc0(sizeof(call_site));
	int			i;

	dp_base_check_call_site(fcinfo, !PG_ARGISNULL(0) &&
							PG_NARGS() <= CHUNK + 1 &&
							!get_fn_expr_variadic(fcinfo->flinfo),
							"dp_pg.count_conditions", "Use dp_argmax.");
	site->scale = dp_exact_weight_scale(0);
	for (i = 1; i < PG_NARGS(); i++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, i);

		if (type != BOOLOID)
			site->weight[i] = getBaseType(type);
	}
	fcinfo->flinfo->fn_extra = site;
	MemoryContextSwitchTo(old);
}

static inline dp_condition_counts *
state_argument(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return (dp_condition_counts *) PG_GETARG_POINTER(0);
}

/* dp_conditions_add: (state, booleans or weights), in place. */
Datum
dp_conditions_add(PG_FUNCTION_ARGS)
{
	dp_condition_counts *state = state_argument(fcinfo);
	const call_site *site = fcinfo->flinfo->fn_extra;
	int			n = PG_NARGS();
	int			i;

	CHECK_FOR_INTERRUPTS();		/* evaluating a row may take long */
	for (i = 1; i < n; i++)
	{
		if (PG_ARGISNULL(i))
			continue;
		state->counts[i - 1] += OidIsValid(site->weight[i]) ?
			dp_exact_weigh(site->scale, PG_GETARG_DATUM(i),
						   site->weight[i]) : PG_GETARG_BOOL(i);
	}
	PG_RETURN_POINTER(state);
}

/* dp_conditions_combine: counts add; for parallel and partitionwise plans. */
Datum
dp_conditions_combine(PG_FUNCTION_ARGS)
{
	dp_condition_counts *a = state_argument(fcinfo);
	const dp_condition_counts *b;
	int			i;

	b = (const dp_condition_counts *) PG_GETARG_POINTER(1);
	for (i = 0; i < CHUNK; i++)
		a->counts[i] += b->counts[i];
	PG_RETURN_POINTER(a);
}

/* dp_conditions_state_in: only the empty text, the initial state. */
Datum
dp_conditions_state_in(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_CSTRING(0)[0] != '\0')
		dp_base_forbid_input("dp_pg.condition_counts");
	PG_RETURN_POINTER(palloc0(sizeof(dp_condition_counts)));
}

/* dp_conditions_state_out: refuses with 0A000; exact counts are private. */
Datum
dp_conditions_state_out(PG_FUNCTION_ARGS)
{
	dp_base_forbid_output("dp_pg.condition_counts");
}

/* ---- in the inner query ---- */

static Oid
counts_function(void)
{
	Oid			any = ANYOID;

	return dp_catalog_function("count_conditions", 1, &any);
}

/*
 * dp_exact_conditions_evaluate
 *	  The exact aggregates that evaluate conditions for each row and count
 *	  them, under the FILTER of the given aggregate;
 *	  dp_exact_conditions_load_one reads their results.
 */
List *
dp_exact_conditions_evaluate(const Aggref *asked, List *all)
{
	Oid			function = counts_function();
	Oid			type = dp_catalog_type("condition_counts");
	List	   *natives = NIL;
	int			first;

	for (first = 0; first < list_length(all); first += CHUNK)
	{
		List	   *chunk = NIL;
		int			i;

		for (i = first; i < Min(first + CHUNK, list_length(all)); i++)
			chunk = lappend(chunk, list_nth(all, i));
		natives = lappend(natives,
						  dp_exact_native(asked, function, type, chunk));
	}
	return natives;
}

/*
 * conditions_evaluated_memory
 *	  Most bytes of their states, for n conditions.
 */
static Size
conditions_evaluated_memory(int n)
{
	return sizeof(dp_condition_counts) * ((n + CHUNK - 1) / CHUNK);
}

/*
 * dp_exact_conditions_load_one
 *	  The count of the i-th of `all` in the results of these aggregates; 0 if
 *	  the state is NULL.
 */
int64
dp_exact_conditions_load_one(const Datum *values, const bool *nulls, List *all,
							 int i)
{
	const dp_condition_counts *state;

	if (nulls[i / CHUNK])
		return 0;
	state = (const dp_condition_counts *) DatumGetPointer(values[i / CHUNK]);
	return dp_split_is_weight(list_nth(all, i)) ?
		dp_weight_rows(state->counts[i % CHUNK]) : state->counts[i % CHUNK];
}
