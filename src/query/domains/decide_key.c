/*
 * decide_key.c
 *	  Decide which public values of a group key its conditions leave.
 *
 * All rows satisfy the conditions of WHERE, so a value for which a condition
 * is false or NULL has no rows and is omitted.  Decisions follow from the
 * query, parameters, settings and declarations.  Undecided values stay, so no
 * row that WHERE keeps is lost:
 *
 *	- the key is a column: its conditions are evaluated for every value;
 *	- it is a field of a date or timestamp: for every cell (decide_time.c),
 *	also
 *	  beyond the declared bounds as far as one bucket reaches, since rows there
 *	  are counted in the first or last bucket;
 *	- otherwise: those that mention the key itself are evaluated for its
 *	  values.
 *
 * `other` stands for undeclared values: it stays unless only NULL is left.
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		Values of a column that represent all its values, for expressions that
 *		only compare it with constants.
 *
 * Such an expression is the same for all values between two neighbouring
 * constants.  So the constants, a value between each two, one below, one above
 * and NULL yield all its results, whatever is declared.  In this way the
 * results of a CASE over income that WHERE excludes are omitted.
 * ----------------
 */

typedef struct breaking
{
	Oid			type;			/* of the column */
	Oid			family;			/* of its order */
	FmgrInfo   *compare;
	Datum	   *constants;
	int			n;
	int			room;
} breaking;

static void
add(breaking *b, Datum value)
{
	if (b->n == b->room)
	{
		b->room = Max(2 * b->room, 16);
		b->constants = b->constants == NULL ?
			palloc(sizeof(Datum) * b->room) :
			repalloc(b->constants, sizeof(Datum) * b->room);
	}
	b->constants[b->n++] = value;
}

static bool
is_ordering(const breaking *b, Oid operator)
{
	Oid			negator = get_negator(operator);

	return op_in_opfamily(operator, b->family) ||
		(OidIsValid(negator) && op_in_opfamily(negator, b->family));
}

/* Whether the value has neighbours on both sides. */
static bool
is_finite(Oid type, Datum value)
{
	if (type == FLOAT8OID)
		return isfinite(DatumGetFloat8(value));
	return type != NUMERICOID ||
		(!numeric_is_nan(DatumGetNumeric(value)) &&
		 !numeric_is_inf(DatumGetNumeric(value)));
}

static bool
decide_add_constant(breaking *b, const Node *node)
{
	const Const *value = (const Const *) node;

	if (!IsA(node, Const) || getBaseType(value->consttype) != b->type ||
		(!value->constisnull && !is_finite(b->type, value->constvalue)))
		return false;
	if (!value->constisnull)
		add(b, value->constvalue);
	return true;
}

static bool
add_array(breaking *b, const Node *node)
{
	const Const *array = (const Const *) node;
	Datum	   *values;
	bool	   *nulls;
	int16		length;
	bool		by_value;
	char		align;
	int			count;
	int			i;

	if (!IsA(node, Const) ||
		get_element_type(array->consttype) != b->type)
		return false;
	if (array->constisnull)
		return true;
	get_typlenbyvalalign(b->type, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(array->constvalue), b->type, length,
					  by_value, align, &values, &nulls, &count);
	for (i = 0; i < count; i++)
		if (!nulls[i] && !is_finite(b->type, values[i]))
			return false;
	for (i = 0; i < count; i++)
		if (!nulls[i])
			add(b, values[i]);
	return true;
}

/*
 * If it is a comparison of the column with constants, adds them and returns
 * true.
 */
static bool
decide_is_comparison(breaking *b, const Node *node)
{
	const OpExpr *pair = (const OpExpr *) node;
	const ScalarArrayOpExpr *list = (const ScalarArrayOpExpr *) node;

	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
			if (list_length(pair->args) != 2 || !is_ordering(b, pair->opno))
				return false;
			return dp_domains_is_column(linitial(pair->args)) ?
				decide_add_constant(b, lsecond(pair->args)) :
				dp_domains_is_column(lsecond(pair->args)) &&
				decide_add_constant(b, linitial(pair->args));
		case T_ScalarArrayOpExpr:
			return is_ordering(b, list->opno) &&
				dp_domains_is_column(linitial(list->args)) &&
				add_array(b, lsecond(list->args));
		case T_NullTest:
			return dp_domains_is_column((const Node *)
									((const NullTest *) node)->arg);
		default:
			return false;
	}
}

/* True if the column is used in any other way. */
static bool
breaking_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (decide_is_comparison(context, node))
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == DP_KEY_COLUMN;
	return expression_tree_walker(node, breaking_walker, context);
}

/* ---- values between ---- */

static int
decide_compare_constants(const void *a, const void *b, void *arg)
{
	return DatumGetInt32(FunctionCall2Coll(((breaking *) arg)->compare,
										   InvalidOid, *(const Datum *) a,
										   *(const Datum *) b));
}

static bool
decide_is_whole(Oid type)
{
	return dp_domains_is_integer(type) || dp_domains_is_time(type);
}

/* The next value in one direction; false at the end of the type's range. */
static bool
next_to(Oid type, Datum value, int step, Datum *out)
{
	int64		number;
	Numeric		one = int64_to_numeric(step);

	if (type == NUMERICOID)
	{
		*out = DirectFunctionCall2(numeric_add, value, NumericGetDatum(one));
		return true;
	}
	if (type == FLOAT8OID)
	{
		*out = Float8GetDatum(nextafter(DatumGetFloat8(value),
										step * INFINITY));
		return true;
	}
	if (pg_add_s64_overflow(dp_domains_ordered(type, value), step, &number))
		return false;
	*out = dp_domains_ordered_datum(type, number);
	return dp_domains_ordered(type, *out) == number;
}

static Datum
numeric_of(const char *text)
{
	return NumericGetDatum(dp_base_text_to_numeric(text));
}

static Datum
halfway(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul,
							   DirectFunctionCall2(numeric_add, a, b),
							   numeric_of("0.5"));
}

/* Add a value on each side of every constant. */
static void
add_neighbours(breaking *b)
{
	int			n = b->n;
	int			i;

	qsort_arg(b->constants, n, sizeof(Datum), decide_compare_constants, b);
	for (i = 0; i < n; i++)
	{
		Datum		next;

		if (next_to(b->type, b->constants[i], -1, &next))
			add(b, next);
		if (next_to(b->type, b->constants[i], 1, &next))
			add(b, next);
		if (b->type == NUMERICOID && i > 0)
			add(b, halfway(b->constants[i - 1], b->constants[i]));
	}
	if (b->type == FLOAT8OID)
		add(b, Float8GetDatum(NAN));
	if (b->type == NUMERICOID)
		add(b, numeric_of("NaN"));
	if (n > 0)
		return;
	/* compared with nothing but NULL */
	add(b, b->type == NUMERICOID ? NumericGetDatum(int64_to_numeric(0)) :
		b->type == FLOAT8OID ? Float8GetDatum(0) :
		dp_domains_ordered_datum(b->type, 0));
}

/*
 * breakpoints
 *	  *n values that represent all of a column of the type. *conditions are
 *	  those of the key that they decide.  NULL if the key does more than
 *	  compare the column with constants.
 */
static Datum *
breakpoints(const dp_key *key, Oid column_type, List **conditions,
			int *n)
{
	breaking	b = {column_type};
	TypeCacheEntry *cache = lookup_type_cache(column_type,
											  TYPECACHE_BTREE_OPFAMILY |
											  TYPECACHE_CMP_PROC_FINFO);
	ListCell   *lc;

	*conditions = NIL;
	if (!decide_is_whole(column_type) && column_type != NUMERICOID &&
		column_type != FLOAT8OID)
		return NULL;
	b.family = cache->btree_opf;
	b.compare = &cache->cmp_proc_finfo;
	if (breaking_walker(key->image, &b))
		return NULL;
	foreach(lc, key->conditions)
		if (!breaking_walker(lfirst(lc), &b))
			*conditions = lappend(*conditions, lfirst(lc));
	add_neighbours(&b);
	*n = b.n;
	return b.constants;
}

/* ----------------
 *		The values of keys that are computed: constants of a CASE, and public
 *		values of a column taken through an expression.
 *
 * They are in the order of their type, NULL last.  Several values of the
 * column may give one value of the key; `other` gives that of its label.
 * ----------------
 */

/* The key for a value of the column, or a constant. */
typedef struct image_value
{
	Datum		value;
	int64		place;			/* of the column */
	bool		isnull;
	bool		kept;
} image_value;

typedef struct image_order
{
	FmgrInfo   *compare;
	Oid			collation;
} image_order;

static int
compare_images(const void *a, const void *b, void *arg)
{
	const image_order *order = arg;

	return DatumGetInt32(FunctionCall2Coll(order->compare, order->collation,
										   ((const image_value *) a)->value,
										   ((const image_value *) b)->value));
}

/* Move those that are kept and not NULL to the front; returns their number. */
static int64
gather(image_value *images, int64 n, bool *null)
{
	int64		kept = 0;
	int64		i;

	*null = false;
	for (i = 0; i < n; i++)
	{
		if (images[i].kept && !images[i].isnull)
		{
			image_value held = images[kept];

			images[kept++] = images[i];
			images[i] = held;
		}
		else if (images[i].kept)
			*null = true;
	}
	return kept;
}

/*
 * A domain of the distinct values.  `map`, unless NULL, gets the key's place
 * for each place of the column.
 */
static dp_domain *
decide_collect(const dp_key *key, image_value *images, int64 n, int32 *map)
{
	dp_domain  *domain = dp_domains_empty(getBaseType(key->type));
	TypeCacheEntry *cache = lookup_type_cache(domain->places.type,
											  TYPECACHE_CMP_PROC_FINFO);
	image_order order = {&cache->cmp_proc_finfo, key->collation};
	bool		null;
	int64		kept = gather(images, n, &null);
	int64		i;

	qsort_arg(images, kept, sizeof(image_value), compare_images, &order);
	for (i = 0; i < kept; i++)
	{
		if (i == 0 || compare_images(&images[i - 1], &images[i], &order) != 0)
			dp_domains_append(domain, images[i].value);
		if (map != NULL)
			map[images[i].place] = (int32) domain->places.known - 1;
	}
	dp_domains_end(domain, null);
	for (i = kept; map != NULL && i < n; i++)
		map[images[i].place] = images[i].kept ?
			(int32) domain->places.null : -1;
	return domain;
}

/* decide_cases: the constants of a DP_KEY_CASES. */
static dp_domain *
decide_cases(const dp_key *key)
{
	int64		n = list_length(key->cases);
	image_value *images = palloc0(sizeof(image_value) * Max(n, 1));
	ListCell   *lc;

	foreach(lc, key->cases)
	{
		image_value *image = &images[foreach_current_index(lc)];
		const Const *value = lfirst(lc);

		/* a parameter without a value: EXPLAIN of a generic plan */
		if (value == NULL || !IsA(value, Const))
			continue;
		image->value = value->constvalue;
		image->isnull = value->constisnull;
		image->kept = true;
	}
	return decide_collect(key, images, n, NULL);
}

static dp_domain *
keep_places(const dp_domain *from, const bool *keep)
{
	dp_domain  *kept = dp_domains_empty(from->places.type);
	bool		isnull;
	int64		i;

	for (i = 0; i < from->places.known; i++)
		if (keep[i])
			dp_domains_append(kept, dp_domains_domain_value(from, i,
															&isnull));
	dp_domains_end(kept, from->places.null >= 0 &&
				   keep[from->places.null]);
	return kept;
}

/*
 * keep_reached
 *	  Keep those values of a key computed from one column that it can have
 *	  under the conditions, if breakpoints decide this; otherwise all.
 */
static dp_domain *
keep_reached(const dp_key *key, dp_domain *domain)
{
	const dp_axis_finder *finder;
	dp_conditions *asked;
	List	   *conditions;
	Datum	   *values;
	bool	   *keep;
	Size		length;
	int			n = 0;
	int			i;

	if (key->base == NULL || key->image == NULL || domain->places.other >= 0)
		return domain;
	values = breakpoints(key, getBaseType(key->base->type),
						 &conditions, &n);
	if (values == NULL)
		return domain;
	finder = dp_domains_finder(domain, &length);
	keep = palloc0(domain->size + 1);
	asked = dp_domains_conditions_begin(key, conditions);
	for (i = key->base->nullable ? -1 : 0; i < n; i++)
	{
		Datum		column = i < 0 ? (Datum) 0 : values[i];
		bool		isnull;
		Datum		value = dp_domains_conditions_image(asked, column, i < 0,
														&isnull);
		int64		place = dp_domains_axis_find_flat(finder, value, isnull);

		if (place >= 0 && dp_domains_conditions_hold(asked, column, i < 0,
													 value, isnull))
			keep[place] = true;
	}
	dp_domains_conditions_end(asked);
	return keep_places(domain, keep);
}

static void
raise_too_much(int64 values)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("group key is computed from too many public values"),
			 values == 0 ?
			 errdetail("The bounds of its column are too far apart for the "
					   "fields of time that it uses.") :
			 errdetail("Its column has " INT64_FORMAT " of them; at most %d "
					   "are evaluated.", values, DP_DECIDED_MAX),
			 errhint("Narrow the column in WHERE, or ask the data owner for "
					 "narrower bounds.")));
}

/* `other` is kept, because the values that it stands for are unknown. */
static void
fill_images(const dp_key *key, const dp_domain *base, image_value *images)
{
	dp_conditions *asked = dp_domains_conditions_begin(key, key->conditions);
	int64		i;

	for (i = 0; i < base->size; i++)
	{
		bool		column_null;
		Datum		column = dp_domains_domain_value(base, i, &column_null);
		image_value *image = &images[i];

		CHECK_FOR_INTERRUPTS();
		image->place = i;
		image->value = dp_domains_conditions_image(asked, column, column_null,
												   &image->isnull);
		image->kept = i == base->places.other ||
			dp_domains_conditions_hold(asked, column, column_null,
									   image->value, image->isnull);
	}
	dp_domains_conditions_end(asked);
}

/*
 * decide_image
 *	  The values of a DP_KEY_IMAGE; `base` are those of its column, or NULL.
 */
static dp_domain *
decide_image(const dp_key *key, dp_domain *base)
{
	dp_domain  *domain;
	image_value *images;
	int32	   *map;

	/* a parameter without a value: EXPLAIN of a generic plan */
	if (key->image == NULL)
		return dp_domains_empty(getBaseType(key->type));
	if (base == NULL)
	{
		domain = dp_domains_decide_time(key);
		if (domain == NULL)
			raise_too_much(0);
		return domain;
	}
	if (base->size > DP_DECIDED_MAX)
		raise_too_much(base->size);
	images = palloc0(sizeof(image_value) * Max(base->size, 1));
	map = palloc(sizeof(int32) * Max(base->size, 1));
	fill_images(key, base, images);
	domain = decide_collect(key, images, base->size, map);
	domain->base = base;
	domain->map = map;
	pfree(images);
	return domain;
}

/* ---- conditions by what they mention ---- */

static bool
decide_is_constant(const Node *condition)
{
	return !dp_domains_mentions(condition, DP_KEY_COLUMN) &&
		!dp_domains_mentions(condition, DP_KEY_VALUE);
}

/* Conditions that do not mention the key's column. */
static List *
about_value(const dp_key *key)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, key->conditions)
		if (!dp_domains_mentions(lfirst(lc), DP_KEY_COLUMN))
			found = lappend(found, lfirst(lc));
	return found;
}

/* Whether a condition without columns, such as WHERE false, is not true. */
static bool
decide_excludes_all(const dp_key *key)
{
	List	   *constant = NIL;
	ListCell   *lc;
	dp_conditions *asked;
	bool		holds;

	foreach(lc, key->conditions)
		if (decide_is_constant(lfirst(lc)))
			constant = lappend(constant, lfirst(lc));
	asked = dp_domains_conditions_begin(key, constant);
	holds = dp_domains_conditions_hold(asked, (Datum) 0, true, (Datum) 0,
									   true);
	dp_domains_conditions_end(asked);
	return !holds;
}

/* Whether a condition leaves only NULL, so that `other` has no rows. */
static bool
leaves_null_only(List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const NullTest *test = lfirst(lc);

		if (IsA(test, NullTest) && test->nulltesttype == IS_NULL &&
			IsA(test->arg, Var))
			return true;
	}
	return false;
}

/* ---- values one by one ---- */

static bool
decide_is_kept(dp_conditions *asked, const dp_domain *from, int64 place)
{
	bool		isnull;
	Datum		value = dp_domains_domain_value(from, place, &isnull);

	CHECK_FOR_INTERRUPTS();
	return dp_domains_conditions_hold(asked, value, isnull, value, isnull);
}

/* If all kept values of a dense domain are contiguous, make a dense domain. */
static bool
keep_dense(dp_domain *kept, const dp_domain *from, const bool *keep)
{
	int64		known = from->places.known;
	int64		first = 0;
	int64		last = known - 1;
	int64		i;

	while (first < known && !keep[first])
		first++;
	while (last >= first && !keep[last])
		last--;
	for (i = first; i <= last; i++)
		if (!keep[i])
			return false;
	if (first > last)
		return false;
	dp_domains_fill_dense(kept, from->places.first + first,
						  from->places.first + last);
	return true;
}

static dp_domain *
keep_values(const dp_domain *from, dp_conditions *asked, bool other)
{
	dp_domain  *kept = dp_domains_empty(from->places.type);
	int64		known = from->places.known;
	bool	   *keep = palloc_extended(known + 1, MCXT_ALLOC_HUGE);
	bool		isnull;
	int64		i;

	for (i = 0; i < known; i++)
		keep[i] = decide_is_kept(asked, from, i);
	if (from->places.kind != DP_AXIS_DENSE || !keep_dense(kept, from, keep))
		for (i = 0; i < known; i++)
			if (keep[i])
				dp_domains_append(kept, dp_domains_domain_value(from, i,
																&isnull));
	pfree(keep);
	if (other && from->places.other >= 0)
	{
		dp_domains_append(kept,
						  dp_domains_domain_value(from,
												  from->places.other,
												  &isnull));
		kept->places.other = --kept->places.known;
	}
	dp_domains_end(kept, from->places.null >= 0 &&
				   decide_is_kept(asked, from, from->places.null));
	return kept;
}

static dp_domain *
decide_values(const dp_key *key, const dp_domain *from, List *conditions)
{
	dp_conditions *asked;
	dp_domain  *kept;

	if (conditions == NIL || from->places.known > DP_DECIDED_MAX)
		return (dp_domain *) from;
	asked = dp_domains_conditions_begin(key, conditions);
	kept = keep_values(from, asked, !leaves_null_only(conditions));
	dp_domains_conditions_end(asked);
	return kept;
}

/* Integers and dates within declared bounds. */
static dp_domain *
decide_range(const dp_key *key)
{
	Oid			type = getBaseType(key->type);
	dp_domain  *domain = dp_domains_empty(type);
	const dp_value_range bounds = dp_domains_declared_interval(key, type);
	dp_value_range interval = bounds;

	dp_domains_narrow(key, type, &interval);
	if (interval.first <= interval.last)
		dp_domains_fill_dense(domain, interval.first, interval.last);
	dp_domains_end(domain, key->nullable);
	domain = decide_values(key, domain, key->conditions);
	domain->part = dp_domains_part(&interval, &bounds);
	return domain;
}

/* The column's values, by the conditions that mention only the column. */
static dp_domain *
decide_column(const dp_key *key)
{
	dp_key		column = *key->base;
	ListCell   *lc;

	column.conditions = NIL;
	foreach(lc, key->conditions)
		if (!dp_domains_mentions(lfirst(lc), DP_KEY_VALUE))
			column.conditions = lappend(column.conditions, lfirst(lc));
	return dp_domains_decide(&column);
}

/* dp_domains_decide: see dp_domains.h; errors as for _make_any. */
dp_domain *
dp_domains_decide(const dp_key *key)
{
	dp_domain  *domain;

	if (key->conditions == NIL && key->kind != DP_KEY_CASES &&
		key->kind != DP_KEY_IMAGE)
	{
		domain = dp_domains_make_any(key);
		domain->undecided = key;
		return domain;
	}
	if (decide_excludes_all(key))
	{
		domain = dp_domains_empty(getBaseType(key->type));
		dp_domains_end(domain, false);
		return domain;
	}
	switch (key->kind)
	{
		case DP_KEY_LISTED:
			return decide_values(key, dp_domains_decide_list(key),
								 key->image == NULL && key->attnum != 0 ?
								 key->conditions : about_value(key));
		case DP_KEY_CASES:
			domain = decide_values(key, decide_cases(key),
								   about_value(key));
			return keep_reached(key, domain);
		case DP_KEY_IMAGE:
			return decide_image(key, key->image == NULL ||
								key->base == NULL ? NULL :
								decide_column(key));
		case DP_KEY_RANGE:
			return decide_range(key);
		case DP_KEY_TRUNC:
		case DP_KEY_EXTRACT:
			domain = dp_domains_decide_time(key);
			if (domain != NULL)
				return domain;
			break;
		default:
			break;
	}
	if (key->image == NULL && key->attnum != 0)
		return decide_values(key, dp_domains_make_any(key),
							 key->conditions);
	domain = decide_values(key, dp_domains_make_any(key),
						   about_value(key));
	return keep_reached(key, domain);
}
