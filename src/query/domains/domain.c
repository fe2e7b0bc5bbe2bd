/*
 * domain.c
 *	  The public values of one group key, in the order of results.
 *
 * Values come only from declarations, types and the query's text.  The order
 * is: declared keys as declared, everything else ascending, then the key for
 * all other values, if declared, then NULL, if the column is nullable.
 *
 * Rows are looked up in a flat form, as in an axis (dp_domains.h); equality of
 * texts is bytewise, as under deterministic collations.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		The fields of date_trunc and extract whose values can be enumerated.
 *
 * Fields that are not listed cannot be group keys: extracted seconds and finer
 * fields have fractions, "epoch" and "julian" as many values as rows.
 * ----------------
 */

static const struct
{
	const char *field;
	int			months;
	int			days;
	int64		microseconds;
}			trunc_steps[] =
{
	{"second", 0, 0, USECS_PER_SEC},
	{"minute", 0, 0, USECS_PER_MINUTE},
	{"hour", 0, 0, USECS_PER_HOUR},
	{"day", 0, 1, 0},
	{"week", 0, 7, 0},
	{"month", 1, 0, 0},
	{"quarter", 3, 0, 0},
	{"year", 12, 0, 0},
	{"decade", 120, 0, 0},
	{"century", 1200, 0, 0},
	{"millennium", 12000, 0, 0}
};

static const struct
{
	const char *field;
	int			first;			/* first > last: monotone in time */
	int			last;
}			extract_ranges[] =
{
	{"minute", 0, 59},
	{"hour", 0, 23},
	{"day", 1, 31},
	{"dow", 0, 6},
	{"isodow", 1, 7},
	{"doy", 1, 366},
	{"week", 1, 53},
	{"month", 1, 12},
	{"quarter", 1, 4},
	{"year", 1, 0},
	{"isoyear", 1, 0},
	{"decade", 1, 0},
	{"century", 1, 0},
	{"millennium", 1, 0}
};

/*
 * dp_domains_key_trunc_step
 *	  The interval between neighbouring values of date_trunc(field, ...); false
 *	  if the field cannot be a key.
 */
bool
dp_domains_key_trunc_step(const char *field, Interval *step)
{
	int			i;

	for (i = 0; i < lengthof(trunc_steps); i++)
		if (strcmp(trunc_steps[i].field, field) == 0)
		{
			step->month = trunc_steps[i].months;
			step->day = trunc_steps[i].days;
			step->time = trunc_steps[i].microseconds;
			return true;
		}
	return false;
}

/*
 * dp_domains_key_extract_range
 *	  The values of extract(field from ...): *first .. *last if they recur, or
 *	  *monotone if they follow from the bounds; false if the field cannot be a
 *	  key.
 */
bool
dp_domains_key_extract_range(const char *field, bool *monotone, int *first,
							  int *last)
{
	int			i;

	for (i = 0; i < lengthof(extract_ranges); i++)
		if (strcmp(extract_ranges[i].field, field) == 0)
		{
			*first = extract_ranges[i].first;
			*last = extract_ranges[i].last;
			*monotone = *first > *last;
			return true;
		}
	return false;
}

static void
domain_raise_too_many(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("group key has too many public values"),
			 errdetail("Setting dp_pg.max_groups is %d.",
					   dp_setting_max_groups),
			 errhint("Use narrower bounds or a coarser key.")));
}

/*
 * dp_domains_append
 *	  Append a known value; 54000 if there are more than dp_pg.max_groups and
 *	  DP_DECIDED_MAX.
 */
void
dp_domains_append(dp_domain *domain, Datum value)
{
	int64		known = domain->places.known;

	if (known >= Max(dp_setting_max_groups, DP_DECIDED_MAX))
		domain_raise_too_many();
	if (domain->values == NULL)
		domain->values = palloc(sizeof(Datum) * 16);
	else if (known >= 16 && (known & (known - 1)) == 0)
		domain->values = repalloc_huge(domain->values,
									   sizeof(Datum) * 2 * known);
	domain->values[known] = value;
	domain->places.known++;
}

static void
append_integer(dp_domain *domain, int64 value)
{
	dp_domains_append(domain, domain->places.type == FLOAT8OID ?
					  Float8GetDatum((float8) value) :
					  NumericGetDatum(int64_to_numeric(value)));
}

/* ---- filling ---- */

/* dp_domains_declaration: of the key's column; 55000 if it is gone. */
dp_attribute *
dp_domains_declaration(const dp_key *key)
{
	dp_attribute *declared = dp_protect_attribute(key->relid, key->attnum);

	if (declared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declaration of a group key is gone"),
				 errhint("Prepare the query again.")));
	return declared;
}

static void
domain_append_declared(dp_domain *domain, const dp_key *key, const char *text)
{
	dp_domains_append(domain,
					  dp_domains_read_declared(text, domain->places.type,
											   key->typmod));
}

static void
fill_declared(dp_domain *domain, const dp_key *key)
{
	dp_attribute *declared = dp_domains_declaration(key);
	ListCell   *lc;

	foreach(lc, declared->keys)
		domain_append_declared(domain, key, lfirst(lc));
	if (declared->other != NULL)
	{
		domain_append_declared(domain, key, declared->other);
		domain->places.known--; /* kept, but not looked up */
		domain->places.other = domain->places.known;
	}
}

static Form_pg_enum
enum_label(HeapTuple tuple)
{
	return (Form_pg_enum) GETSTRUCT(tuple);
}

static int
compare_sort_order(const void *a, const void *b)
{
	float4		x = enum_label(*(HeapTuple const *) a)->enumsortorder;
	float4		y = enum_label(*(HeapTuple const *) b)->enumsortorder;

	return x < y ? -1 : x > y ? 1 : 0;
}

static void
fill_enum(dp_domain *domain)
{
	Oid			type = domain->places.type;
	CatCList   *list = SearchSysCacheList1(ENUMTYPOIDNAME,
										   ObjectIdGetDatum(type));
	HeapTuple  *labels = palloc(sizeof(HeapTuple) * Max(list->n_members, 1));
	int			i;

	for (i = 0; i < list->n_members; i++)
		labels[i] = &list->members[i]->tuple;
	qsort(labels, list->n_members, sizeof(HeapTuple), compare_sort_order);
	for (i = 0; i < list->n_members; i++)
		dp_domains_append(domain,
						  ObjectIdGetDatum(enum_label(labels[i])->oid));
	ReleaseSysCacheList(list);
}

/*
 * dp_domains_fill_dense
 *	  Values first .. last, any number of them; 54000 if there are more than
 *	  2^63.
 */
void
dp_domains_fill_dense(dp_domain *domain, int64 first, int64 last)
{
	domain->places.kind = DP_AXIS_DENSE;
	domain->places.first = first;
	if (__builtin_sub_overflow(last, first, &domain->places.known) ||
		domain->places.known >= PG_INT64_MAX - 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("group key has too many public values"),
				 errdetail("There are more than 2^63 of them."),
				 errhint("Use narrower bounds or a coarser key.")));
	domain->places.known++;
}

static void
fill_range(dp_domain *domain, const dp_key *key)
{
	dp_attribute *declared = dp_domains_declaration(key);
	Oid			type = domain->places.type;

	dp_domains_fill_dense(domain,
						  dp_domains_declared_integer(declared->lower,
													  type),
						  dp_domains_declared_integer(declared->upper,
													  type));
}

/* A declared bound in the argument type of date_trunc or extract. */
static Datum
time_bound(const char *text, const dp_key *key)
{
	Oid			column = getBaseType(get_atttype(key->relid, key->attnum));
	Datum		value = dp_domains_read_declared(text, column, -1);

	if (column == key->base_type)
		return value;
	if (column == DATEOID && key->base_type == TIMESTAMPOID)
		return DirectFunctionCall1(date_timestamp, value);
	if (column == DATEOID && key->base_type == TIMESTAMPTZOID)
		return DirectFunctionCall1(date_timestamptz, value);
	elog(ERROR, "unexpected key type %u", key->base_type);
	return (Datum) 0;
}

static void
fill_trunc(dp_domain *domain, const dp_key *key)
{
	dp_attribute *declared = dp_domains_declaration(key);
	bool		zoned = key->base_type == TIMESTAMPTZOID;
	PGFunction	truncate = zoned ? timestamptz_trunc : timestamp_trunc;
	PGFunction	add = zoned ? timestamptz_pl_interval : timestamp_pl_interval;
	Datum		field = CStringGetTextDatum(key->field);
	Timestamp	last = DatumGetTimestamp(time_bound(declared->upper, key));
	Datum		value = time_bound(declared->lower, key);
	Interval	step;

	if (!dp_domains_key_trunc_step(key->field, &step))
		elog(ERROR, "unexpected date_trunc field \"%s\"", key->field);
	value = DirectFunctionCall2(truncate, field, value);
	while (DatumGetTimestamp(value) <= last)
	{
		Datum		next = DirectFunctionCall2(add, value,
											   PointerGetDatum(&step));

		CHECK_FOR_INTERRUPTS();
		dp_domains_append(domain, value);
		next = DirectFunctionCall2(truncate, field, next);
		if (DatumGetTimestamp(next) <= DatumGetTimestamp(value))
			elog(ERROR, "date_trunc does not advance");
		value = next;
	}
}

static int64
extracted(const dp_key *key, const char *bound)
{
	PGFunction	part = key->base_type == TIMESTAMPTZOID ? timestamptz_part :
		timestamp_part;
	Datum		field = CStringGetTextDatum(key->field);
	Datum		value = time_bound(bound, key);

	if (key->base_type == DATEOID)
		value = DirectFunctionCall1(date_timestamp, value);
	return (int64) floor(DatumGetFloat8(DirectFunctionCall2(part, field,
															value)));
}

static void
fill_extract(dp_domain *domain, const dp_key *key)
{
	dp_attribute *declared = dp_domains_declaration(key);
	bool		monotone;
	int			first;
	int			last;
	int64		value;

	if (!dp_domains_key_extract_range(key->field, &monotone, &first, &last))
		elog(ERROR, "unexpected extract field \"%s\"", key->field);
	if (monotone)
	{
		first = (int) extracted(key, declared->lower);
		last = (int) extracted(key, declared->upper);
	}
	for (value = first; value <= last; value++)
		append_integer(domain, value);
}

/* ---- lookup ---- */

/*
 * Make the flat form of the domain.  Without values, such as an enum without
 * labels, nothing is looked up.
 */
static void
make_finder(dp_domain *domain)
{
	bool		dense = domain->places.kind == DP_AXIS_DENSE;
	const Const *spec = NULL;
	int64		twice;

	if (!dense && domain->places.known > 0)
	{
		if (!dp_domains_tally_can_read(domain->places.type))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("rows cannot be grouped by a key of type %s",
							format_type_be(domain->places.type)),
					 errdetail("Its type has no built-in equality."),
					 errhint("Cast the key to text or to a number.")));
		spec = dp_domains_tally_value_spec(domain->places.type, domain->values,
										   domain->places.known, &twice);
		if (spec == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("two public values of a group key are equal"),
					 errhint("Ask the data owner to run dp_declare again.")));
	}
	domain->finder = dp_domains_axis_make_finder(&domain->places, spec,
												 &domain->length);
	if (spec == NULL)
		domain->finder->places.kind = DP_AXIS_DENSE;
}

/* dp_domains_finder: see dp_domains.h. */
const dp_axis_finder *
dp_domains_finder(dp_domain *domain, Size *length)
{
	if (domain->base != NULL)
		return dp_domains_finder(domain->base, length);
	if (domain->finder == NULL)
		make_finder(domain);
	*length = domain->length;
	return domain->finder;
}

/* dp_domains_map: see dp_domains.h. */
const int32 *
dp_domains_map(const dp_domain *domain, int64 *n)
{
	*n = domain->base == NULL ? 0 : domain->base->size;
	return domain->map;
}

/* dp_domains_empty: a domain without values, of the key's type. */
dp_domain *
dp_domains_empty(Oid type)
{
	dp_domain  *domain = palloc0(sizeof(dp_domain));

	domain->places.kind = DP_AXIS_LISTED;
	domain->places.type = type;
	domain->places.other = -1;
	domain->places.null = -1;
	return domain;
}

/* dp_domains_end: set size and NULL, after known values and `other`. */
void
dp_domains_end(dp_domain *domain, bool null)
{
	domain->size = domain->places.known;
	if (domain->places.other >= 0)
		domain->size++;
	if (null)
		domain->places.null = domain->size++;
}

/*
 * dp_domains_make_any
 *	  All public values of the key, in the current context, whatever its
 *	  conditions and their number.
 *
 * Errors: 54000 too many values to list or number, 55000 the declaration is
 * gone.
 */
dp_domain *
dp_domains_make_any(const dp_key *key)
{
	dp_domain  *domain = dp_domains_empty(getBaseType(key->type));

	switch (key->kind)
	{
		case DP_KEY_CONSTANT:
			if (!key->constant->constisnull)
				dp_domains_append(domain, key->constant->constvalue);
			break;
		case DP_KEY_BOOLEAN:
			dp_domains_fill_dense(domain, 0, 1);
			break;
		case DP_KEY_ENUM:
			fill_enum(domain);
			break;
		case DP_KEY_DECLARED:
			fill_declared(domain, key);
			break;
		case DP_KEY_RANGE:
			fill_range(domain, key);
			break;
		case DP_KEY_TRUNC:
			fill_trunc(domain, key);
			break;
		case DP_KEY_EXTRACT:
			fill_extract(domain, key);
			break;
		case DP_KEY_UNDECLARED:
			break;				/* one place for all released keys */
		case DP_KEY_LISTED:
		case DP_KEY_CASES:
		case DP_KEY_IMAGE:
			elog(ERROR, "values of this kind of key are decided");
	}
	dp_domains_end(domain, key->nullable ||
				   (key->kind == DP_KEY_CONSTANT &&
					key->constant->constisnull));
	return domain;
}

/* dp_domains_make: the same; 54000 above dp_pg.max_groups. */
dp_domain *
dp_domains_make(const dp_key *key)
{
	dp_domain  *domain = dp_domains_make_any(key);

	if (domain->places.known > dp_setting_max_groups)
		domain_raise_too_many();
	return domain;
}

/* dp_domains_other: the place of all undeclared values, or -1. */
int64
dp_domains_other(const dp_domain *domain)
{
	return domain->places.other;
}

/* dp_domains_size: number of values, other and NULL included. */
int64
dp_domains_size(const dp_domain *domain)
{
	return domain->size;
}

/* dp_domains_known: see dp_domains.h. */
int64
dp_domains_known(const dp_domain *domain)
{
	return domain->places.known;
}

/* dp_domains_domain_value: the value at a place, 0 <= place < size. */
Datum
dp_domains_domain_value(const dp_domain *domain, int64 place, bool *isnull)
{
	return dp_domains_value(&domain->places, domain->values, place, isnull);
}

/* Number of values of the key without NULL, as far as the catalog tells. */
static double
estimate_known(const dp_key *key)
{
	dp_attribute *declared;
	Oid			type = getBaseType(key->type);

	switch (key->kind)
	{
		case DP_KEY_CONSTANT:
			return 1;
		case DP_KEY_BOOLEAN:
			return 2;
		case DP_KEY_DECLARED:
			declared = dp_protect_attribute(key->relid, key->attnum);
			if (declared == NULL)
				return 1;
			return list_length(declared->keys) + (declared->other ? 1 : 0);
		case DP_KEY_RANGE:
			declared = dp_protect_attribute(key->relid, key->attnum);
			if (declared == NULL || declared->lower == NULL)
				return 1;
			return (double) dp_domains_declared_integer(declared->upper,
														type) -
				(double) dp_domains_declared_integer(declared->lower,
													 type) + 1;
		default:
			return 100;
	}
}

/* dp_domains_estimate: see dp_domains.h; rough for dates, but public. */
double
dp_domains_estimate(const dp_key *key)
{
	return estimate_known(key) + (key->nullable ? 1 : 0);
}

/*
 * dp_domains_most_values
 *	  How many different values, besides NULL, a type or a column's declared
 *	  keys admit; -1 if not so few are public.
 */
int64
dp_domains_most_values(Oid type, Oid relid, AttrNumber attnum)
{
	const dp_attribute *declared = attnum == 0 ? NULL :
		dp_protect_attribute(relid, attnum);
	int64		most = -1;

	if (type == BOOLOID)
		most = 2;
	else if (type_is_enum(type))
	{
		CatCList   *labels = SearchSysCacheList1(ENUMTYPOIDNAME,
												 ObjectIdGetDatum(type));

		most = labels->n_members;
		ReleaseSysCacheList(labels);
	}
	if (declared == NULL || declared->keys == NIL || declared->other != NULL)
		return most;
	return most < 0 ? list_length(declared->keys) :
		Min(most, list_length(declared->keys));
}

/* ---- as an axis ---- */

static bool
leaves_nulls_out(const dp_key *key)
{
	const dp_attribute *declared = key->attnum == 0 ? NULL :
		dp_protect_attribute(key->relid, key->attnum);

	return declared != NULL && declared->no_nulls;
}

/* dp_domains_make_axis: give a column's axis the values of its key. */
void
dp_domains_make_axis(const dp_key *key, dp_axis *axis)
{
	dp_domain  *domain = dp_domains_make(key);
	const dp_places *places = &domain->places;
	bool		isnull;

	if (places->kind == DP_AXIS_DENSE)
		dp_domains_axis_make_dense(axis, places->type,
								   dp_domains_domain_value(domain, 0,
														   &isnull));
	else
		dp_domains_axis_make_listed(axis, places->type, domain->values,
									places->known);
	dp_domains_axis_set_last_places(axis, places->known, places->other >= 0,
									key->nullable);
	axis->values->complete = !leaves_nulls_out(key) &&
		(key->kind == DP_KEY_CONSTANT || key->kind == DP_KEY_BOOLEAN ||
		 key->kind == DP_KEY_ENUM || places->other >= 0);
}

/* ----------------
 *		Domains as nodes, which are sent to readers.
 *
 * What conditions leave is decided once, in the connection; the reader takes
 * the values as they are, so that decisions cannot differ.  A domain without
 * decisions may be long; instead of it the key is sent, with a hash by which
 * the reader checks that declarations are still the same.
 * ----------------
 */

/* The numbers of a domain, in the order of the list form. */
enum
{
	LIST_KIND,
	LIST_TYPE,
	LIST_FIRST,
	LIST_KNOWN,
	LIST_OTHER,
	LIST_NULL,
	LIST_SIZE,
	LIST_HASH,					/* of a domain that the reader makes */
	LIST_NUMBERS
};

static Const *
array_const(Oid element, Datum *values, int64 n)
{
	Oid			type = get_array_type(element);
	ArrayType  *array;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(element, &length, &by_value, &align);
	array = construct_array(values, (int) n, element, length, by_value, align);
	return makeConst(type, -1, InvalidOid, -1, PointerGetDatum(array), false,
					 false);
}

static int
array_values(const Const *constant, Oid element, Datum **values)
{
	bool	   *nulls;
	int			n;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(constant->constvalue), element,
					  length, by_value, align, values, &nulls, &n);
	return n;
}

static int64
hash_values(dp_domain *domain)
{
	Size		length;
	const dp_axis_finder *finder = dp_domains_finder(domain, &length);

	return (int64) hash_bytes_extended((const unsigned char *) finder,
									   (int) length, 0);
}

static bool
is_made_anew(const dp_domain *domain)
{
	return domain->undecided != NULL &&
		domain->undecided->kind != DP_KEY_CONSTANT &&
		domain->undecided->kind != DP_KEY_UNDECLARED &&
		domain->places.kind != DP_AXIS_DENSE;
}

/* Make the domain of a key that was sent; 55000 if it has changed. */
static dp_domain *
make_anew(const dp_key *key, const Datum *numbers)
{
	dp_domain  *domain = dp_domains_make(key);

	if (domain->size != DatumGetInt64(numbers[LIST_SIZE]) ||
		hash_values(domain) != DatumGetInt64(numbers[LIST_HASH]))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declarations of a private relation changed during "
						"the query")));
	return domain;
}

/* dp_domains_to_list: see dp_domains.h. */
List *
dp_domains_to_list(const dp_domain *domain)
{
	const dp_places *places = &domain->places;
	Datum		numbers[LIST_NUMBERS];
	List	   *list;

	numbers[LIST_KIND] = Int64GetDatum(places->kind);
	numbers[LIST_TYPE] = Int64GetDatum((int64) places->type);
	numbers[LIST_FIRST] = Int64GetDatum(places->first);
	numbers[LIST_KNOWN] = Int64GetDatum(places->known);
	numbers[LIST_OTHER] = Int64GetDatum(places->other);
	numbers[LIST_NULL] = Int64GetDatum(places->null);
	numbers[LIST_SIZE] = Int64GetDatum(domain->size);
	numbers[LIST_HASH] = Int64GetDatum(is_made_anew(domain) ?
									   hash_values((dp_domain *) domain) : 0);
	list = list_make1(array_const(INT8OID, numbers, LIST_NUMBERS));
	if (is_made_anew(domain))
		list = lappend(list, (void *) domain->undecided);
	else if (places->kind != DP_AXIS_DENSE)
		list = lappend(list, array_const(places->type, domain->values,
										 places->known +
										 (places->other >= 0 ? 1 : 0)));
	return list;
}

/* dp_domains_from_list: see dp_domains.h. */
dp_domain *
dp_domains_from_list(const List *list)
{
	dp_domain  *domain = palloc0(sizeof(dp_domain));
	dp_places  *places = &domain->places;
	Datum	   *numbers;

	if (array_values(linitial(list), INT8OID, &numbers) != LIST_NUMBERS)
		elog(ERROR, "unexpected form of public values");
	if (list_length(list) > 1 && !IsA(lsecond(list), Const))
		return make_anew(lsecond(list), numbers);
	places->kind = (int32) DatumGetInt64(numbers[LIST_KIND]);
	places->type = (Oid) DatumGetInt64(numbers[LIST_TYPE]);
	places->first = DatumGetInt64(numbers[LIST_FIRST]);
	places->known = DatumGetInt64(numbers[LIST_KNOWN]);
	places->other = DatumGetInt64(numbers[LIST_OTHER]);
	places->null = DatumGetInt64(numbers[LIST_NULL]);
	domain->size = DatumGetInt64(numbers[LIST_SIZE]);
	if (places->kind != DP_AXIS_DENSE)
		(void) array_values(lsecond(list), places->type, &domain->values);
	return domain;
}
