/*
 * condition_match.c
 *	  Recognizes conditions that depend only on which of a few constants each
 *	  column equals.
 *
 * Such a condition is a conjunction, and each conjunct is a combination by
 * AND, OR and NOT of comparisons of one column with constants: =, <>, IN, NOT
 * IN, IS [NOT] DISTINCT FROM, IS [NOT] NULL, and a boolean column, alone or
 * with IS TRUE and the like.  The values of a column fall into classes
 * (dp_exact.h), within which a comparison has one value, so the whole
 * condition is known from the classes of a row.
 *
 * A condition with atoms that are not recognised is not matched, and its
 * caller evaluates it for every row.  Each comparison has a set of classes in
 * which it is true and one in which it is false; in the others it is NULL.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/split/dp_split.h"
#include "dp_exact.h"
#include "exact_internal.h"

/* ----------------
 *		Recognizes one comparison of a column with constants.
 *
 * It must be the default equality of the compared type, of a built-in type
 * whose values count_tables can look up, under a deterministic collation.
 * ----------------
 */

/* The column of the query's own level that a node is, or NULL. */
static Var *
plain_var(Node *node)
{
	Var		   *var;

	node = dp_base_unlabelled(node);
	if (node == NULL || !IsA(node, Var))
		return NULL;
	var = (Var *) node;
	return var->varlevelsup == 0 && var->varattno > 0 ? var : NULL;
}

/* Is `operator` the equality of two integer types? */
static bool
is_integer_equality(Oid operator)
{
	return get_op_opfamily_strategy(operator, INTEGER_BTREE_FAM_OID) ==
		BTEqualStrategyNumber;
}

/* Is it the operator that `=` resolves to for these types? */
static bool
match_is_equality(Oid operator, Oid left, Oid right)
{
	if (left == right)
		return lookup_type_cache(left, TYPECACHE_EQ_OPR)->eq_opr == operator;
	return dp_domains_is_integer(left) &&
		dp_domains_is_integer(right) && is_integer_equality(operator);
}

static bool
match_operator(dp_atom *a, Oid operator, Oid left, Oid right, Oid collation)
{
	if (!dp_domains_tally_can_read(left) ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return false;
	a->type = left;
	a->negated = false;
	if (match_is_equality(operator, left, right))
		return true;
	a->negated = true;
	operator = get_negator(operator);
	return OidIsValid(operator) && match_is_equality(operator, left, right);
}

/*
 * Convert a constant to the column's type; false if it equals no such value.
 */
static bool
match_convert_integer(Datum *value, Oid from, Oid to)
{
	int64		x = from == INT2OID ? DatumGetInt16(*value) :
	from == INT4OID ? DatumGetInt32(*value) : DatumGetInt64(*value);

	switch (to)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) x);
			return x >= PG_INT16_MIN && x <= PG_INT16_MAX;
		case INT4OID:
			*value = Int32GetDatum((int32) x);
			return x >= PG_INT32_MIN && x <= PG_INT32_MAX;
		default:
			*value = Int64GetDatum(x);
			return true;
	}
}

static void
take_values(dp_atom *a, const Datum *values, const bool *nulls, int n,
			Oid type)
{
	int			i;

	a->values = palloc(sizeof(Datum) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		Datum		value = values[i];

		if (nulls[i])
			a->has_null = true;
		else if (type == a->type || match_convert_integer(&value, type,
														  a->type))
			a->values[a->nvalues++] = value;
	}
}

/* column = constant, column <> constant, column IS DISTINCT FROM constant */
static bool
read_comparison(OpExpr *comparison, dp_atom *a)
{
	Node	   *left;
	Node	   *right;
	Const	   *constant;
	bool		isnull = false;

	if (list_length(comparison->args) != 2)
		return false;
	left = linitial(comparison->args);
	right = lsecond(comparison->args);
	if (IsA(left, Const))
	{
		left = right;
		right = linitial(comparison->args);
	}
	a->var = plain_var(left);
	if (a->var == NULL || !IsA(right, Const))
		return false;
	constant = (Const *) right;
	if (constant->constisnull ||
		!match_operator(a, comparison->opno, exprType(left),
						constant->consttype, comparison->inputcollid))
		return false;
	take_values(a, &constant->constvalue, &isnull, 1, constant->consttype);
	if (!IsA(comparison, DistinctExpr))
		return true;
	a->kind = DP_ATOM_SAME;
	a->negated = !a->negated;
	return true;
}

/* column = ANY (array), column <> ALL (array) */
static bool
read_list(ScalarArrayOpExpr *comparison, dp_atom *a)
{
	Node	   *left = linitial(comparison->args);
	Node	   *right = lsecond(comparison->args);
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int16		length;
	bool		by_value;
	char		align;
	int			n;

	a->var = plain_var(left);
	if (a->var == NULL || !IsA(right, Const) ||
		((Const *) right)->constisnull ||
		!OidIsValid(get_element_type(((Const *) right)->consttype)))
		return false;
	array = DatumGetArrayTypeP(((Const *) right)->constvalue);
	if (!match_operator(a, comparison->opno, exprType(left),
						ARR_ELEMTYPE(array), comparison->inputcollid) ||
		a->negated == comparison->useOr)
		return false;
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align,
					  &values, &nulls, &n);
	/* with an empty list the comparison is not NULL even for NULL */
	if (n == 0)
		return false;
	take_values(a, values, nulls, n, ARR_ELEMTYPE(array));
	return true;
}

static void
set_boolean(dp_atom *a, bool value)
{
	a->type = BOOLOID;
	a->nvalues = 1;
	a->values = palloc(sizeof(Datum));
	a->values[0] = BoolGetDatum(value);
}

static bool
read_boolean_test(BooleanTest *test, dp_atom *a)
{
	a->var = plain_var((Node *) test->arg);
	if (a->var == NULL)
		return false;
	a->kind = DP_ATOM_SAME;
	switch (test->booltesttype)
	{
		case IS_TRUE:
		case IS_NOT_TRUE:
			set_boolean(a, true);
			a->negated = test->booltesttype == IS_NOT_TRUE;
			return true;
		case IS_FALSE:
		case IS_NOT_FALSE:
			set_boolean(a, false);
			a->negated = test->booltesttype == IS_NOT_FALSE;
			return true;
		case IS_UNKNOWN:
		case IS_NOT_UNKNOWN:
			a->kind = DP_ATOM_NULL;
			a->negated = test->booltesttype == IS_NOT_UNKNOWN;
			return true;
	}
	return false;
}

/*
 * read_atom
 *	  Read the comparison of a node; false, with *a undefined, if it is not
 *	  recognised.
 */
static bool
read_atom(Node *node, dp_atom *a)
{
	memset(a, 0, sizeof(dp_atom));
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
			return read_comparison((OpExpr *) node, a);
		case T_ScalarArrayOpExpr:
			return read_list((ScalarArrayOpExpr *) node, a);
		case T_BooleanTest:
			return read_boolean_test((BooleanTest *) node, a);
		case T_NullTest:
			a->kind = DP_ATOM_NULL;
			a->negated = ((NullTest *) node)->nulltesttype == IS_NOT_NULL;
			a->var = plain_var((Node *) ((NullTest *) node)->arg);
			return a->var != NULL && !((NullTest *) node)->argisrow;
		default:
			a->var = plain_var(node);
			if (a->var == NULL || exprType(node) != BOOLOID)
				return false;
			set_boolean(a, true);
			return true;
	}
}

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
	if (!read_atom(node, a) ||
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
match_find_column(dp_matches *m, const conjunct *c, int most)
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
match_is_constant(Node *node, bool *holds)
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

		if (match_is_constant(lfirst(lc), &holds))
			continue;
		if (!gather_atoms(lfirst(lc), c))
			return false;
		read = lappend(read, c);
	}
	foreach(lc, read)
	{
		int			place = match_find_column(m, lfirst(lc), most);

		if (place < 0)
			return false;
		add_constants(&m->columns[place], lfirst(lc));
		*places = lappend_int(*places, place);
	}
	return true;
}

/* ---- classes ---- */

static int
match_compare_constants(const void *a, const void *b, void *arg)
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
			  match_compare_constants, compare);
	column->known = (int) qunique_arg(column->constants, column->known,
									  sizeof(Datum), match_compare_constants,
									  compare);
}

static int
match_class_of(const dp_matched_column *column, Datum value)
{
	FmgrInfo   *compare = comparison_of(column);
	int			low = 0;
	int			high = column->known - 1;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (match_compare_constants(&value, &column->constants[middle],
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

	if (!read_atom(node, &a))
		elog(ERROR, "condition changed while it was matched");
	for (i = 0; i < a.nvalues; i++)
		in = bms_add_member(in, match_class_of(column, a.values[i]));
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

		if (match_is_constant(lfirst(lc), &constant))
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
 * dp_exact_conditions_match
 *	  Match each of the conditions (boolean expressions over the columns of one
 *	  query level), using at most `most_columns` columns.  Weights are not
 *	  matched.
 */
dp_matches *
dp_exact_conditions_match(List *conditions, int most_columns)
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
		if (dp_split_is_weight(list_nth(conditions, i)))
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

/* ----------------
 *		Conditions and weights of one row as words, for relations whose units
 *		have many rows: each is evaluated for every row, and a unit's total is
 *		bounded for each separately (src/measure/units).
 *
 * A condition is a bit and a weight a number of granules.  NULL counts as
 * false and as 0, as in dp_pg.count_conditions.
 * ----------------
 */

struct dp_condition_words
{
	int			n;
	int			bits;			/* conditions, in order */
	int			weights;		/* then weights, in order */
	int		   *total;			/* position of each among the totals */
	Oid		   *type;			/* base type of a weight, or InvalidOid */
	dp_weight_scale *scale;
};

/*
 * dp_exact_words_check
 *	  54000 if n conditions and weights do not fit into a row of an inner
 *	  query.
 */
void
dp_exact_words_check(int64 n)
{
	if (n > DP_CONDITION_WORDS_MOST)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many predicates for a relation whose "
						"units may have many rows"),
				 errdetail("There are " INT64_FORMAT ", and at most %d are "
						   "evaluated together.  Nothing was charged for it.",
						   n, DP_CONDITION_WORDS_MOST),
				 errhint("Ask about fewer at a time.")));
}

/*
 * dp_exact_words_plan
 *	  Make the plan for a list of conditions and weights, in the current
 *	  context.
 *
 * Errors: those of dp_exact_words_check.
 */
dp_condition_words *
dp_exact_words_plan(const List *conditions)
{
	dp_condition_words *c = palloc0(sizeof(dp_condition_words));
	ListCell   *lc;
	int			i;

	c->n = list_length(conditions);
	dp_exact_words_check(c->n);
	c->total = palloc(sizeof(int) * Max(c->n, 1));
	c->type = palloc0(sizeof(Oid) * Max(c->n, 1));
	c->scale = dp_exact_weight_scale(0);
	foreach(lc, conditions)
	{
		i = foreach_current_index(lc);
		if (dp_split_is_weight(lfirst(lc)))
			c->type[i] = getBaseType(exprType(lfirst(lc)));
		else
			c->total[i] = c->bits++;
	}
	for (i = 0; i < c->n; i++)
		if (OidIsValid(c->type[i]))
			c->total[i] = c->bits + c->weights++;
	return c;
}

/* dp_exact_words_bits: the number of conditions. */
int
dp_exact_words_bits(const dp_condition_words *c)
{
	return c->bits;
}

/* dp_exact_words_weights: the number of weights. */
int
dp_exact_words_weights(const dp_condition_words *c)
{
	return c->weights;
}

/*
 * dp_exact_words_pack
 *	  Pack a row: the words of its bits, then its weights as unsigned 32-bit
 *	  numbers (dp_units.h, TOTALS).
 */
void
dp_exact_words_pack(const dp_condition_words *c, const Datum *values,
					const bool *nulls, uint64 *words)
{
	int			nbits = (c->bits + 63) / 64;
	uint32	   *weights = (uint32 *) (words + nbits);
	int			i;

	memset(words, 0, sizeof(uint64) * (nbits + (c->weights + 1) / 2));
	for (i = 0; i < c->n; i++)
	{
		int			total = c->total[i];

		if (nulls[i])
			continue;
		if (OidIsValid(c->type[i]))
			weights[total - c->bits] = (uint32) dp_exact_weigh(c->scale,
															   values[i],
															   c->type[i]);
		else if (DatumGetBool(values[i]))
			words[total / 64] |= UINT64CONST(1) << (total % 64);
	}
}

/*
 * dp_exact_words_total: the position among the totals of the i-th of the list.
 */
int
dp_exact_words_total(const dp_condition_words *c, int i)
{
	return c->total[i];
}
