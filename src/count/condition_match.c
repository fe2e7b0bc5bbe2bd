/*
 * condition_match.c
 *	  Recognizes conditions that depend only on which of a few constants each
 *	  column equals.
 *
 * Such a condition is a conjunction, and each conjunct is a combination by
 * AND, OR and NOT of comparisons of one column with constants: =, <>, IN, NOT
 * IN, IS [NOT] DISTINCT FROM, IS [NOT] NULL, and a boolean column, alone or
 * with IS TRUE and the like.  The values of a column fall into classes
 * (dp_count.h), within which a comparison has one value, so the whole
 * condition is known from the classes of a row.
 *
 * A condition with atoms that condition_atom.c does not recognise is not
 * matched, and its caller evaluates it for every row.  Each comparison has a
 * set of classes in which it is true and one in which it is false; in the
 * others it is NULL.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/typcache.h"

#include "condition_atom.h"

/* ---- first pass: columns and constants ---- */

/* What the atoms of one conjunct have in common. */
typedef struct conjunct
{
	Var		   *var;
	Oid			type;			/* InvalidOid: only IS NULL so far */
	List	   *atoms;			/* of dp_atom * */
} conjunct;

static bool
gather_atoms(Node *node, conjunct *c)
{
	dp_atom    *a;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, BoolExpr))
	{
		foreach(lc, ((BoolExpr *) node)->args)
			if (!gather_atoms(lfirst(lc), c))
				return false;
		return true;
	}
	a = palloc(sizeof(dp_atom));
	if (!dp_count_read_atom(node, a) ||
		(c->var != NULL && (c->var->varno != a->var->varno ||
							c->var->varattno != a->var->varattno)) ||
		(OidIsValid(c->type) && OidIsValid(a->type) && c->type != a->type))
		return false;
	c->var = a->var;
	if (OidIsValid(a->type))
		c->type = a->type;
	c->atoms = lappend(c->atoms, a);
	return true;
}

/* The column of a conjunct, added if new; -1 if it cannot be used. */
static int
find_column(dp_matches *m, const conjunct *c, int most)
{
	int			i;

	for (i = 0; i < m->ncolumns; i++)
	{
		dp_matched_column *column = &m->columns[i];

		if (column->var->varno != c->var->varno ||
			column->var->varattno != c->var->varattno)
			continue;
		if (!OidIsValid(column->type))
			column->type = c->type;
		return !OidIsValid(c->type) || column->type == c->type ? i : -1;
	}
	if (m->ncolumns >= most)
		return -1;
	memset(&m->columns[i], 0, sizeof(dp_matched_column));
	m->columns[i].var = c->var;
	m->columns[i].type = c->type;
	m->ncolumns++;
	return i;
}

static void
add_constants(dp_matched_column *column, const conjunct *c)
{
	ListCell   *lc;

	foreach(lc, c->atoms)
	{
		dp_atom    *a = lfirst(lc);
		int			n = column->known + a->nvalues;
		int			capacity = 16;

		while (capacity < n)
			capacity *= 2;
		if (column->constants == NULL)
			column->constants = palloc(sizeof(Datum) * capacity);
		else if (capacity > 16 && column->known <= capacity / 2)
			column->constants = repalloc_huge(column->constants,
											  sizeof(Datum) * capacity);
		if (a->nvalues > 0)		/* otherwise there may be no array */
			memcpy(column->constants + column->known, a->values,
				   sizeof(Datum) * a->nvalues);
		column->known = n;
	}
}

/* Is the conjunct a constant, which holds for all rows or for none? */
static bool
is_constant(Node *node, bool *holds)
{
	if (!IsA(node, Const))
		return false;
	*holds = !((Const *) node)->constisnull &&
		DatumGetBool(((Const *) node)->constvalue);
	return true;
}

/*
 * Collect a condition's columns and constants, if all its conjuncts can be
 * matched; returns the positions of their columns.
 */
static bool
note_condition(dp_matches *m, List *conjuncts, int most, List **places)
{
	List	   *read = NIL;
	ListCell   *lc;

	*places = NIL;
	foreach(lc, conjuncts)
	{
		conjunct   *c = palloc0(sizeof(conjunct));
		bool		holds;

		if (is_constant(lfirst(lc), &holds))
			continue;
		if (!gather_atoms(lfirst(lc), c))
			return false;
		read = lappend(read, c);
	}
	foreach(lc, read)
	{
		int			place = find_column(m, lfirst(lc), most);

		if (place < 0)
			return false;
		add_constants(&m->columns[place], lfirst(lc));
		*places = lappend_int(*places, place);
	}
	return true;
}

/* ---- classes ---- */

static int
compare_constants(const void *a, const void *b, void *arg)
{
	return DatumGetInt32(FunctionCall2Coll(arg, C_COLLATION_OID,
										   *(const Datum *) a,
										   *(const Datum *) b));
}

static FmgrInfo *
comparison_of(const dp_matched_column *column)
{
	return &lookup_type_cache(column->type,
							  TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
}

static void
sort_constants(dp_matched_column *column)
{
	FmgrInfo   *compare;

	if (column->known < 2)
		return;
	compare = comparison_of(column);
	qsort_arg(column->constants, column->known, sizeof(Datum),
			  compare_constants, compare);
	column->known = (int) qunique_arg(column->constants, column->known,
									  sizeof(Datum), compare_constants,
									  compare);
}

static int
class_of(const dp_matched_column *column, Datum value)
{
	FmgrInfo   *compare = comparison_of(column);
	int			low = 0;
	int			high = column->known - 1;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (compare_constants(&value, &column->constants[middle],
							  compare) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The classes in which an atom is true, and those in which it is false. */
static void
atom_classes(const dp_matched_column *column, Node *node, Bitmapset **holds,
			 Bitmapset **fails)
{
	Bitmapset  *all = bms_add_range(NULL, 0, DP_CLASSES(column) - 1);
	Bitmapset  *in = NULL;
	dp_atom		a;
	int			i;

	if (!dp_count_read_atom(node, &a))
		elog(ERROR, "condition changed while it was matched");
	for (i = 0; i < a.nvalues; i++)
		in = bms_add_member(in, class_of(column, a.values[i]));
	if (a.kind == DP_ATOM_NULL)
		in = bms_make_singleton(DP_CLASS_NULL(column));
	all = bms_del_members(all, in);
	if (a.kind == DP_ATOM_EQUAL)
		all = bms_del_member(all, DP_CLASS_NULL(column));
	if (a.has_null)
	{
		bms_free(all);
		all = NULL;
	}
	*holds = a.negated ? all : in;
	*fails = a.negated ? in : all;
}

static void
classes(const dp_matched_column *column, Node *node, Bitmapset **holds,
		Bitmapset **fails)
{
	BoolExpr   *boolean = (BoolExpr *) node;
	ListCell   *lc;

	CHECK_FOR_INTERRUPTS();
	if (!IsA(node, BoolExpr))
	{
		atom_classes(column, node, holds, fails);
		return;
	}
	if (boolean->boolop == NOT_EXPR)
	{
		classes(column, linitial(boolean->args), fails, holds);
		return;
	}
	foreach(lc, boolean->args)
	{
		Bitmapset  *h;
		Bitmapset  *f;

		classes(column, lfirst(lc), &h, &f);
		if (foreach_current_index(lc) == 0)
		{
			*holds = h;
			*fails = f;
			continue;
		}
		*holds = boolean->boolop == AND_EXPR ? bms_int_members(*holds, h) :
			bms_add_members(*holds, h);
		*fails = boolean->boolop == AND_EXPR ? bms_add_members(*fails, f) :
			bms_int_members(*fails, f);
		bms_free(h);
		bms_free(f);
	}
}

/* ---- second pass: the condition ---- */

/*
 * A condition keeps one bit for each class of its columns; so conditions on
 * columns with very many constants are evaluated instead.
 */
#define MOST_CONSTANTS (1 << 16)

static bool
has_few_constants(const dp_matches *m, const List *places)
{
	ListCell   *lc;

	foreach(lc, places)
		if (m->columns[lfirst_int(lc)].known > MOST_CONSTANTS)
			return false;
	return true;
}

static void
set_condition(const dp_matches *m, List *conjuncts, const List *places,
			  dp_matched_condition *condition)
{
	ListCell   *lc;
	int			next = 0;

	condition->matched = true;
	condition->classes = palloc0(sizeof(Bitmapset *) * Max(m->ncolumns, 1));
	foreach(lc, conjuncts)
	{
		Bitmapset  *holds = NULL;
		Bitmapset  *fails = NULL;
		bool		constant;
		int			place;

		if (is_constant(lfirst(lc), &constant))
		{
			condition->never = condition->never || !constant;
			continue;
		}
		place = list_nth_int(places, next++);
		classes(&m->columns[place], lfirst(lc), &holds, &fails);
		bms_free(fails);
		if (bms_is_member(place, condition->columns))
			holds = bms_int_members(holds, condition->classes[place]);
		condition->columns = bms_add_member(condition->columns, place);
		condition->classes[place] = holds;
		condition->never = condition->never || bms_is_empty(holds);
	}
}

static List *
conjuncts_of(Node *condition)
{
	return make_ands_implicit((Expr *)
							  eval_const_expressions(NULL,
													 copyObject(condition)));
}

/*
 * dp_count_conditions_match
 *	  Match each of the conditions (boolean expressions over the columns of one
 *	  query level), using at most `most_columns` columns.  Weights are not
 *	  matched.
 */
dp_matches *
dp_count_conditions_match(List *conditions, int most_columns)
{
	dp_matches *m = palloc0(sizeof(dp_matches));
	int			n = list_length(conditions);
	List	  **conjuncts = palloc0(sizeof(List *) * Max(n, 1));
	List	  **places = palloc0(sizeof(List *) * Max(n, 1));
	int			i;

	m->nconditions = n;
	m->conditions = palloc0(sizeof(dp_matched_condition) * Max(n, 1));
	m->columns = palloc0(sizeof(dp_matched_column) * most_columns);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (dp_block_is_weight(list_nth(conditions, i)))
			continue;
		conjuncts[i] = conjuncts_of(list_nth(conditions, i));
		m->conditions[i].matched = note_condition(m, conjuncts[i],
												  most_columns, &places[i]);
	}
	for (i = 0; i < m->ncolumns; i++)
		sort_constants(&m->columns[i]);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		m->conditions[i].matched = m->conditions[i].matched &&
			has_few_constants(m, places[i]);
		if (m->conditions[i].matched)
			set_condition(m, conjuncts[i], places[i], &m->conditions[i]);
	}
	return m;
}
