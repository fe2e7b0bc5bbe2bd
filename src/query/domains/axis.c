/*
 * axis.c
 *	  Declared texts as values, and the public values of a column as places
 *	  0 .. size - 1.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		Declared texts as values, and the types of which values are integers.
 * ----------------
 */

/* dp_domains_is_integer: int2, int4 or int8. */
bool
dp_domains_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* dp_domains_is_time: a type whose values count days or microseconds. */
bool
dp_domains_is_time(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/*
 * dp_domains_time_numeric
 *	  A date in days, a timestamp in microseconds since 2000; infinite ones
 *	  become infinite numbers.
 */
Numeric
dp_domains_time_numeric(Datum value, Oid type)
{
	if (type == DATEOID)
	{
		DateADT		date = DatumGetDateADT(value);

		if (DATE_NOT_FINITE(date))
			return dp_base_text_to_numeric(DATE_IS_NOBEGIN(date) ?
										   "-Infinity" : "Infinity");
		return int64_to_numeric(date);
	}
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value)))
		return dp_base_text_to_numeric(
			TIMESTAMP_IS_NOBEGIN(DatumGetTimestamp(value)) ?
			"-Infinity" : "Infinity");
	return int64_to_numeric(DatumGetTimestamp(value));
}

/*
 * dp_domains_read_declared
 *	  A declared text as a value of the type; 55000 if the type rejects it, as
 *	  after ALTER COLUMN TYPE.
 */
Datum
dp_domains_read_declared(const char *text, Oid type, int32 typmod)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			input;
	Oid			param;
	volatile Datum value = (Datum) 0;

	getTypeInputInfo(type, &input, &param);
	PG_TRY();
	{
		value = OidInputFunctionCall(input, pstrdup(text), param, typmod);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declaration of a column no longer fits its type"),
				 errhint("Ask the data owner to run dp_declare again.")));
	}
	PG_END_TRY();
	return value;
}

/* dp_domains_read_bound: a declared bound as a number. */
Numeric
dp_domains_read_bound(const char *text, Oid type)
{
	if (!dp_domains_is_time(type))
		return DatumGetNumeric(dp_domains_read_declared(text, NUMERICOID, -1));
	return dp_domains_time_numeric(dp_domains_read_declared(text, type, -1),
								   type);
}

/* dp_domains_declared_integer: a declared text of a dense axis's type. */
int64
dp_domains_declared_integer(const char *text, Oid type)
{
	return dp_domains_integer(type, dp_domains_read_declared(text, type, -1));
}

/* ----------------
 *		The public values of a column as places 0 .. size - 1.
 *
 * Three kinds.  A dense axis holds the integers (dates, booleans) first ..
 * first + known - 1.  A listed one holds declared keys or enum labels, in the
 * order of a group key.  Bins are equal half-open intervals between declared
 * bounds, the last one closed, with the exact edges of dp_histogram; a value
 * outside of the bounds counts in the nearer end bin, NaN in none.  After
 * these `known` places come those of all other values and of NULL.
 *
 * Rows are looked up in a flat form, one piece of memory without pointers, so
 * that it can be a constant in a plan.  The list form has values as texts,
 * written and read under fixed settings, and types by name.
 * ----------------
 */

/* ---- errors ---- */

/* dp_domains_axis_raise: raise 22023: the column has no public values. */
void
dp_domains_axis_raise(const dp_axis *axis, const char *detail,
					  const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" has no public values to count by",
					NameStr(axis->name)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/*
 * dp_domains_axis_value
 *	  The value at a place, 0 <= place < size; for a bin, its representative.
 *	  Values by reference belong to the axis.
 */
Datum
dp_domains_axis_value(const dp_axis *axis, int64 place, bool *isnull)
{
	return dp_domains_value(&axis->values->finder->places,
							axis->values->values, place, isnull);
}

/*
 * dp_domains_axis_is_complete
 *	  Whether every possible value of the column has a place, as far as is
 *	  publicly known.  False if there are undeclared values without `other`,
 *	  values outside of bounds without bins, or NaN; also for an axis made from
 *	  a list.
 */
bool
dp_domains_axis_is_complete(const dp_axis *axis)
{
	return axis->values->complete;
}

/* ---- making ---- */

/*
 * dp_domains_axis_make_finder
 *	  The flat form of places with a tally's spec, or NULL: *length bytes,
 *	  palloc'd.
 */
dp_axis_finder *
dp_domains_axis_make_finder(const dp_places *places, const Const *spec,
							Size *length)
{
	Size		size = spec == NULL ? 0 :
	VARSIZE(DatumGetPointer(spec->constvalue));
	dp_axis_finder *finder;

	*length = offsetof(dp_axis_finder, spec) + MAXALIGN(size);
	finder = palloc_extended(*length, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (spec != NULL)
		memcpy(finder->spec, DatumGetPointer(spec->constvalue), size);
	finder->places = *places;
	return finder;
}

/*
 * dp_domains_axis_set_finder
 *	  Give the axis a flat form with a tally's spec, or NULL, still without
 *	  places.
 */
void
dp_domains_axis_set_finder(dp_axis *axis, dp_axis_kind kind, Oid type,
						   const Const *spec)
{
	struct dp_axis_values *values = palloc0(sizeof(struct dp_axis_values));
	dp_places	places = {kind, type, 0, 0, -1, -1};

	values->finder = dp_domains_axis_make_finder(&places, spec, &values->size);
	axis->values = values;
}

/* dp_domains_axis_set_last_places: set `known` and the last places. */
void
dp_domains_axis_set_last_places(dp_axis *axis, int64 known, bool other,
								bool null)
{
	dp_axis_finder *finder = axis->values->finder;

	axis->size = known;
	finder->places.known = known;
	finder->places.other = other ? axis->size++ : -1;
	finder->places.null = null ? axis->size++ : -1;
}

/* dp_domains_axis_make_dense: consecutive integers of the type. */
void
dp_domains_axis_make_dense(dp_axis *axis, Oid type, Datum first)
{
	dp_domains_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
	axis->values->finder->places.first = dp_domains_integer(type, first);
}

/*
 * dp_domains_axis_make_listed
 *	  The first `known` of the values are looked up; the axis keeps the array.
 *
 * Errors: 22023 no values, two equal ones, or a type without built-in
 * equality.
 */
void
dp_domains_axis_make_listed(dp_axis *axis, Oid type, Datum *values,
							int64 known)
{
	int64		twice;
	Const	   *spec;

	if (!dp_domains_tally_can_read(type))
		dp_domains_axis_raise(axis, "Its type has no built-in equality.",
							  "Choose a column of another type.");
	if (known < 1)
		dp_domains_axis_raise(axis, "No values are declared.",
							  "Ask the data owner to run dp_declare.");
	spec = dp_domains_tally_value_spec(type, values, known, &twice);
	if (spec == NULL)
		dp_domains_axis_raise(axis, "Two of its declared values are equal.",
							  "Ask the data owner to run dp_declare again.");
	dp_domains_axis_set_finder(axis, DP_AXIS_LISTED, type, spec);
	axis->values->values = values;
}

/* ----------------
 *		Axes of bins: equal intervals between the declared bounds of a column.
 *
 * The edges are those of dp_histogram (tally.c).  Each bin has a
 * representative in the bin, near its middle and short: the middle integer, a
 * round time, a number with few decimals.
 * ----------------
 */

static void
raise_bins(const dp_axis *axis, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" cannot be cut into %d bins",
					NameStr(axis->name), axis->bins),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static bool
counts_whole(Oid type)
{
	return dp_domains_is_integer(type) || dp_domains_is_time(type);
}

/* A round time of a bin, near its middle. */
static int64
round_moment(int64 first, int64 middle)
{
	static const int64 units[] = {USECS_PER_DAY, USECS_PER_HOUR,
	USECS_PER_MINUTE, USECS_PER_SEC, 1000};
	int			i;

	for (i = 0; i < lengthof(units); i++)
	{
		int64		rest = middle % units[i];
		int64		rounded = middle - rest - (rest < 0 ? units[i] : 0);

		if (rounded >= first)
			return rounded;
	}
	return middle;
}

static Datum
middle_integer(const dp_axis *axis, int64 bin)
{
	const dp_axis_finder *finder = axis->values->finder;
	Oid			type = finder->places.type;
	int64		first;
	int64		last;
	int64		middle;

	dp_domains_tally_bucket_limits(finder->spec, bin, &first, &last);
	if (first > last)
		raise_bins(axis, "One of the bins would hold no value of its type.",
				   "Use fewer bins.");
	middle = first + (int64) (((uint64) last - (uint64) first) / 2);
	if (type == TIMESTAMPOID || type == TIMESTAMPTZOID)
		return Int64GetDatum(round_moment(first, middle));
	return dp_domains_integer_datum(type, middle);
}

static Datum
to_type(Oid type, Datum number)
{
	if (type == FLOAT8OID)
		return DirectFunctionCall1(numeric_float8, number);
	if (type == FLOAT4OID)
		return DirectFunctionCall1(numeric_float4, number);
	return number;
}

/* lower + (bin + 1/2) (upper - lower) / bins, to 16 digits or more. */
static Datum
exact_middle(const dp_axis *axis, int64 bin)
{
	Datum		lower = NumericGetDatum(axis->values->lower);
	Datum		width = DirectFunctionCall2(
		numeric_sub, NumericGetDatum(axis->values->upper), lower);
	Datum		part = NumericGetDatum(int64_to_numeric(2 * bin + 1));
	Datum		parts = NumericGetDatum(int64_to_numeric(2 * (int64)
														 axis->bins));

	return DirectFunctionCall2(
		numeric_add, lower,
		DirectFunctionCall2(numeric_div,
							DirectFunctionCall2(numeric_mul, width, part),
							parts));
}

/* Digits after the point that the column keeps; -1: all. */
static int
digits_kept(const dp_axis *axis)
{
	if (axis->values->finder->places.type != NUMERICOID ||
		axis->typmod < (int32) VARHDRSZ)
		return -1;
	return dp_domains_typmod_digits(axis->typmod);
}

/* Round the middle of a bin; false if the result is not in the bin. */
static bool
round_middle(const dp_axis *axis, int64 bin, Datum middle, int digits,
			 Datum *out)
{
	const dp_axis_finder *finder = axis->values->finder;
	Datum		number = DirectFunctionCall2(numeric_round, middle,
											 Int32GetDatum(digits));

	*out = to_type(finder->places.type, number);
	return dp_domains_tally_find_bucket(finder->spec, *out) == bin &&
		DatumGetBool(DirectFunctionCall2(
						 numeric_le, NumericGetDatum(axis->values->lower),
						 number)) &&
		DatumGetBool(DirectFunctionCall2(
						 numeric_le, number,
						 NumericGetDatum(axis->values->upper)));
}

/* The middle, rounded to about a tenth of the bin's width or finer. */
static Datum
middle_number(const dp_axis *axis, int64 bin)
{
	Datum		middle = exact_middle(axis, bin);
	int			kept = digits_kept(axis);
	double		width;
	Datum		value;
	int			digits;
	int			i;

	width = DatumGetFloat8(DirectFunctionCall1(
							   numeric_float8_no_overflow,
							   DirectFunctionCall2(
								   numeric_sub,
								   NumericGetDatum(axis->values->upper),
								   NumericGetDatum(axis->values->lower))));
	digits = (int) ceil(-log10(width / axis->bins / 5));
	for (i = 0; i < 4; i++)
		if ((kept == -1 || digits + i <= kept) &&
			round_middle(axis, bin, middle, digits + i, &value))
			return value;
	if (!round_middle(axis, bin, middle, kept == -1 ? digits + 20 : kept,
					  &value))
		raise_bins(axis, "One of the bins would hold no value of its type.",
				   "Use fewer bins.");
	return value;
}

/*
 * axis_make_bins
 *	  The finder and the representatives of axis->bins bins, from the bounds.
 *
 * Errors: 22023 if the type cannot distinguish the bins.
 */
static void
axis_make_bins(dp_axis *axis, Oid type, Numeric lower, Numeric upper)
{
	int64		i;

	dp_domains_axis_set_finder(axis, DP_AXIS_BINS, type,
							   dp_domains_tally_bucket_spec(type, lower, upper,
															axis->bins));
	axis->values->lower = lower;
	axis->values->upper = upper;
	axis->values->values = palloc_extended(sizeof(Datum) * axis->bins,
										   MCXT_ALLOC_HUGE);
	for (i = 0; i < axis->bins; i++)
	{
		CHECK_FOR_INTERRUPTS();
		axis->values->values[i] = counts_whole(type) ?
			middle_integer(axis, i) : middle_number(axis, i);
	}
}

static bool
can_have_bins(Oid type)
{
	return counts_whole(type) || type == NUMERICOID || type == FLOAT4OID ||
		type == FLOAT8OID;
}

/* The declaration of the column, or NULL. */
static dp_attribute *
find_declared(Oid relid, AttrNumber attnum)
{
	return attnum == 0 ? NULL : dp_protect_attribute(relid, attnum);
}

/*
 * dp_domains_axis_can_have_bins
 *	  Whether it is a column of numbers, dates or timestamps with declared
 *	  bounds.  `attnum` as for dp_domains_axis_make_declared_bins.
 */
bool
dp_domains_axis_can_have_bins(const dp_axis *axis, Oid relid,
							  AttrNumber attnum)
{
	dp_attribute *declared = find_declared(relid, attnum);
	Oid			type = getBaseType(axis->type);

	return declared != NULL && declared->lower != NULL &&
		can_have_bins(type) &&
		getBaseType(get_atttype(relid, attnum)) == type;
}

/*
 * dp_domains_axis_make_declared_bins
 *	  The bins and the place of NULL.  `attnum` is the underlying column of the
 *	  protected relation; 0: there is none.
 *
 * Errors: 22023 no bounds, wrong type of column, or invalid number of bins.
 */
void
dp_domains_axis_make_declared_bins(dp_axis *axis, Oid relid, AttrNumber attnum,
								   bool nullable)
{
	dp_attribute *declared = find_declared(relid, attnum);
	Oid			type = getBaseType(axis->type);

	if (axis->bins < 0)
		raise_bins(axis, "The number of bins is negative.",
				   "Use a positive number, or 0 for none.");
	if (!can_have_bins(type) || attnum == 0 ||
		getBaseType(get_atttype(relid, attnum)) != type)
		raise_bins(axis, "Bins are parts of a column of numbers, dates or "
				   "timestamps.", "Leave its bins out.");
	if (declared == NULL || declared->lower == NULL)
		raise_bins(axis, "Its bounds are not declared.",
				   "Ask the data owner to run dp_declare(relation, column, "
				   "lower => ..., upper => ...).");
	axis_make_bins(axis, type, dp_domains_read_bound(declared->lower, type),
				   dp_domains_read_bound(declared->upper, type));
	dp_domains_axis_set_last_places(axis, axis->bins, false, nullable);
	axis->values->complete = counts_whole(type);	/* there is no NaN */
}

/* ----------------
 *		Axes as nodes that outlive the declarations that they were made from.
 *
 * Values and bounds are texts and types are names, so that what is stored
 * means the same later and in another database.  Texts are written and read
 * under fixed settings.
 * ----------------
 */

/* Positions in the list form. */
enum
{
	LIST_NAME,
	LIST_ATTNUM,
	LIST_TYPE,
	LIST_COLLATION,
	LIST_BINS,
	LIST_KIND,
	LIST_KNOWN,
	LIST_FIRST,
	LIST_OTHER,
	LIST_NULL,
	LIST_LOWER,
	LIST_UPPER,
	LIST_VALUES
};

/* ---- texts ---- */

/* Set what text conversion depends on; ended by AtEOXact_GUC. */
static int
fix_settings(void)
{
	int			nest = NewGUCNestLevel();

	dp_base_set_local("datestyle", "ISO, YMD");
	dp_base_set_local("intervalstyle", "postgres");
	dp_base_set_local("timezone", "UTC");
	dp_base_set_local("extra_float_digits", "1");
	dp_base_set_local("bytea_output", "hex");
	return nest;
}

static Node *
text_node(char *text)
{
	return (Node *) makeString(text);
}

static Node *
integer_node(int64 value)
{
	return text_node(psprintf(INT64_FORMAT, value));
}

static int64
integer_at(const List *list, int n)
{
	return pg_strtoint64(strVal(list_nth(list, n)));
}

static Node *
numeric_node(Numeric value)
{
	if (value == NULL)
		return text_node("");
	return text_node(dp_numeric_text(value));
}

static Numeric
numeric_at(const List *list, int n)
{
	return dp_base_text_to_numeric(strVal(list_nth(list, n)));
}

/* ---- the list form ---- */

/* The values before NULL; NIL for dense axes and bins, which need none. */
static List *
listed_values(const dp_axis *axis)
{
	const dp_axis_finder *finder = axis->values->finder;
	int64		n = finder->places.known + (finder->places.other >= 0 ? 1 : 0);
	List	   *texts = NIL;
	Oid			output;
	bool		varlena;
	int64		i;

	if (finder->places.kind != DP_AXIS_LISTED)
		return NIL;
	getTypeOutputInfo(finder->places.type, &output, &varlena);
	for (i = 0; i < n; i++)
		texts = lappend(texts, text_node(OidOutputFunctionCall(
											 output,
											 axis->values->values[i])));
	return texts;
}

/* dp_domains_axis_to_list: see dp_domains.h. */
List *
dp_domains_axis_to_list(const dp_axis *axis)
{
	const struct dp_axis_values *values = axis->values;
	const dp_axis_finder *finder = values->finder;
	int			nest = fix_settings();
	List	   *list = NIL;

	list = lappend(list, text_node(pstrdup(NameStr(axis->name))));
	list = lappend(list, integer_node(axis->attnum));
	list = lappend(list,
				   text_node(format_type_extended(axis->type, axis->typmod,
												  FORMAT_TYPE_TYPEMOD_GIVEN |
												  FORMAT_TYPE_FORCE_QUALIFY)));
	list = lappend(list, integer_node(axis->collation));
	list = lappend(list, integer_node(axis->bins));
	list = lappend(list, integer_node(finder->places.kind));
	list = lappend(list, integer_node(finder->places.known));
	list = lappend(list, integer_node(finder->places.first));
	list = lappend(list, integer_node(finder->places.other >= 0));
	list = lappend(list, integer_node(finder->places.null >= 0));
	list = lappend(list, numeric_node(values->lower));
	list = lappend(list, numeric_node(values->upper));
	list = lappend(list, listed_values(axis));
	AtEOXact_GUC(true, nest);
	return list;
}

static void
axis_read_values(dp_axis *axis, Oid type, const List *list)
{
	List	   *texts = list_nth(list, LIST_VALUES);
	Datum	   *values = palloc(sizeof(Datum) *
								Max(list_length(texts), 1));
	ListCell   *lc;

	foreach(lc, texts)
		values[foreach_current_index(lc)] =
			dp_domains_read_declared(strVal(lfirst(lc)), type, -1);
	dp_domains_axis_make_listed(axis, type, values,
								integer_at(list, LIST_KNOWN));
}

/*
 * dp_domains_axis_from_list: see dp_domains.h. 42704 if a type is gone, 55000
 * if its input function rejects a value.
 */
dp_axis *
dp_domains_axis_from_list(const List *list)
{
	dp_axis    *axis = palloc0(sizeof(dp_axis));
	int			nest = fix_settings();
	Oid			type;

	namestrcpy(&axis->name, strVal(list_nth(list, LIST_NAME)));
	axis->attnum = (AttrNumber) integer_at(list, LIST_ATTNUM);
	parseTypeString(strVal(list_nth(list, LIST_TYPE)), &axis->type,
					&axis->typmod, false);
	axis->collation = (Oid) integer_at(list, LIST_COLLATION);
	axis->bins = (int32) integer_at(list, LIST_BINS);
	type = getBaseType(axis->type);
	switch ((dp_axis_kind) integer_at(list, LIST_KIND))
	{
		case DP_AXIS_DENSE:
			dp_domains_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
			axis->values->finder->places.first = integer_at(list, LIST_FIRST);
			break;
		case DP_AXIS_LISTED:
			axis_read_values(axis, type, list);
			break;
		case DP_AXIS_BINS:
			axis_make_bins(axis, type, numeric_at(list, LIST_LOWER),
						   numeric_at(list, LIST_UPPER));
			break;
		case DP_AXIS_BUCKETS:
			elog(ERROR, "an axis has no buckets");
	}
	dp_domains_axis_set_last_places(axis, integer_at(list, LIST_KNOWN),
									integer_at(list, LIST_OTHER) != 0,
									integer_at(list, LIST_NULL) != 0);
	AtEOXact_GUC(true, nest);
	return axis;
}
