/*
 * synthesize_workload.c
 *	  The tables that dp_synthesize must answer well, and those that it may
 *	  measure for that: all their parts.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "synthesize.h"

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
 * dp_synth_synthesis_order
 *	  The engine's columns and shape, from the universe.
 */
void
dp_synth_synthesis_order(dp_synthesis *s)
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
raise_too_many(const char *what, double found, double most)
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
weight_of(dp_columns set, const set_list *wanted)
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
		raise_too_many("tables of counts", all->n, DP_SYNTHESIZE_TABLES);
	for (i = 0; i < all->n; i++)
		cells += dp_model_shape_cells(&s->terms.shape, all->set[i]);
	if (cells > DP_SYNTHESIZE_CELLS)
		raise_too_many("cells", cells, DP_SYNTHESIZE_CELLS);
	s->cells = (int64) cells;
	s->nwanted = wanted->n;
	s->tables = palloc0(sizeof(dp_generator_table) * all->n);
	for (i = 0; i < all->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		s->tables[i].set = all->set[i];
		s->tables[i].weight = weight_of(all->set[i], wanted);
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
		raise_too_many("parts", parts, MOST_PARTS);
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
 * dp_synth_synthesis_marginals
 *	  All tables of k columns.
 *
 * Errors: 22023 k is not from 1 to the number of columns; 54000.
 */
void
dp_synth_synthesis_marginals(dp_synthesis *s, int k)
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
		raise_too_many("tables of counts", tables, DP_SYNTHESIZE_TABLES);
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
find_column(const dp_synthesis *s, const char *name, const char *text)
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
		set |= DP_COLUMN(find_column(s, lfirst(lc), text));
	return set;
}

/*
 * dp_synth_synthesis_sets
 *	  The tables of the sets of columns in an array of text, each a list of
 *	  names.
 *
 * Errors: 22023 no sets, a NULL one, or a wrong name; 54000.
 */
void
dp_synth_synthesis_sets(dp_synthesis *s, ArrayType *sets)
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
 * dp_synth_synthesis_reading
 *	  The reading of all tables, one after the other: of rows with a place on
 *	  every axis, so that all have the same sum, as the engine assumes.  Errors
 *	  of dp_reading_of_tables.
 */
dp_reading *
dp_synth_synthesis_reading(const dp_synthesis *s)
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
	return dp_reading_of_whole_tables(s->universe->relid, s->universe->naxes,
									  s->axes, s->terms.ntables, tables);
}
