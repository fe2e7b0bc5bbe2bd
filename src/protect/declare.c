/*
 * declare.c
 *	  dp_declare: public bounds, public keys and the size class; how much of a
 *	  unit counts.
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../ledger/dp_ledger.h"
#include "dp_protect.h"
#include "protect_internal.h"

static Oid	declare_read_relation(FunctionCallInfo fcinfo);

/* ----------------
 *		Bounds and granule of a column of numbers: exact checks.
 *
 * Values become whole multiples of the granule when they are summed
 * (doc/theory.md, mechanisms 0), so both bounds must stay within 2^63
 * granules.  All arithmetic is numeric and exact: only sums, products by
 * powers of two and comparisons.
 * ----------------
 */

/* Granules lie between 2^-GRANULE_EXPONENT and 2^GRANULE_EXPONENT. */
#define GRANULE_EXPONENT 100

/* Bounds lie within 2^63 granules of zero. */
#define GRID_BITS 63

/* Without a declared granule, the range has at least this many granules. */
#define DEFAULT_GRANULE_BITS 20

/*
 * The exponent of the largest power of two that is not above x > 0, within
 * -limit .. limit; false when it lies outside.
 */
static bool
floor_exponent(Numeric x, int limit, int *exponent)
{
	return dp_base_floor_log2(x, exponent) && abs(*exponent) <= limit;
}

/* Exponent of a granule; 22023 unless it is an allowed power of two. */
static int
granule_exponent(Numeric granule)
{
	int			exponent = 0;

	if (numeric_is_nan(granule) || numeric_is_inf(granule) ||
		dp_numeric_compare(granule, int64_to_numeric(0)) <= 0 ||
		!floor_exponent(granule, GRANULE_EXPONENT, &exponent) ||
		dp_numeric_compare(granule, dp_base_power_of_two(exponent)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("granule %s is not a power of two",
						dp_numeric_text(granule)),
				 errdetail("It must be 2^j for a whole j between %d and %d.",
						   -GRANULE_EXPONENT, GRANULE_EXPONENT),
				 errhint("For example 1, 8, 0.5 or 0.0009765625.")));
	return exponent;
}

static bool
declare_is_whole(Numeric x)
{
	Numeric		whole = DatumGetNumeric(DirectFunctionCall2(numeric_trunc,
															NumericGetDatum(x),
															Int32GetDatum(0)));

	return dp_numeric_compare(whole, x) == 0;
}

static void
check_integer_bound(Oid type, Numeric bound)
{
	int			bits = type == INT2OID ? 15 : type == INT4OID ? 31 : 63;
	Numeric		limit = dp_base_power_of_two(bits);
	Numeric		zero = int64_to_numeric(0);
	Numeric		size = dp_numeric_call1(numeric_abs, bound);
	int			beyond = dp_numeric_compare(size, limit);

	if (!declare_is_whole(bound))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bound %s of a column of integers must be an integer",
						dp_numeric_text(bound)),
				 errhint("Round it outwards.")));
	if (beyond > 0 ||
		(beyond == 0 && dp_numeric_compare(bound, zero) > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bound %s is outside the range of type %s",
						dp_numeric_text(bound),
						format_type_be(type)),
				 errhint("No value of the column can reach it; give a bound "
						 "that the type can hold.")));
}

/*
 * declare_check_grid
 *	  lower < upper, both finite, can be bounds of a column of the given type
 *	  with this granule (NULL: the default one: 1 for integers, else the
 *	  largest power of two not above (upper - lower) / 2^20).
 *
 * Errors: 22023.
 */
static void
declare_check_grid(Oid type, Numeric lower, Numeric upper,
				   Numeric granule)
{
	bool		integer = type == INT2OID || type == INT4OID ||
		type == INT8OID;
	int			exponent = 0;
	Numeric		limit;
	Numeric		used;

	if (integer)
	{
		check_integer_bound(type, lower);
		check_integer_bound(type, upper);
	}
	if (granule != NULL)
	{
		exponent = granule_exponent(granule);
		if (integer && exponent < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("granule %s of a column of integers must be an "
							"integer", dp_numeric_text(granule)),
					 errhint("Use 1, 2, 4 and so on, or leave it out.")));
	}
	else if (!integer)
	{
		Numeric		width = dp_numeric_call2(numeric_sub, upper, lower);

		if (!floor_exponent(width, GRANULE_EXPONENT - DEFAULT_GRANULE_BITS,
							&exponent))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bounds %s and %s are too far apart or too close",
							dp_numeric_text(lower),
							dp_numeric_text(upper)),
					 errhint("Give the range that values of the column are "
							 "known to have.")));
		exponent -= DEFAULT_GRANULE_BITS;
	}
	used = dp_base_power_of_two(exponent);
	limit = dp_base_power_of_two(exponent + GRID_BITS);
	if (dp_numeric_compare(dp_numeric_call1(numeric_abs, lower), limit) > 0 ||
		dp_numeric_compare(upper, limit) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds %s and %s are too large for their granule",
						dp_numeric_text(lower),
						dp_numeric_text(upper)),
				 errdetail("They must lie within 2^%d granules of zero; the "
						   "granule is %s.", GRID_BITS,
						   dp_numeric_text(used)),
				 errhint("Declare a coarser granule or narrower bounds.")));
}

/* ----------------
 *		The size class: the owner's estimate of a relation's rows.
 *
 * Plans know nothing else of a relation's size.  Nothing is derived from the
 * table: a number that follows rows, even once, would have to be charged.  The
 * estimate is stored as a power of ten, so that an owner who passes count(*)
 * publishes only its order of magnitude.
 * ----------------
 */

#define MOST_ROWS INT64CONST(1000000000000000000)

/* The nearest power of ten by ratio; 1 for 0. */
static int64
size_class(double rows)
{
	int64		class = 1;

	while (class < MOST_ROWS && rows * rows > (double) class * class * 10)
		class *= 10;
	return class;
}

/*
 * dp_protect_declare_size_class
 *	  The class of a number of rows; 22023 for a negative one.
 */
int64
dp_protect_declare_size_class(int64 rows)
{
	if (rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows must not be negative"),
				 errdetail("It tells the public about how many rows the "
						   "relation has."),
				 errhint("For example 1000000; it is stored as a power of "
						 "ten.")));
	return size_class((double) rows);
}

/* Pages and rows of the relation with its parts. */
static void
estimate_tree(Oid relid, double *pages, double *rows)
{
	ListCell   *lc;

	*pages = 0;
	*rows = 0;
	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		Relation	rel = relation_open(lfirst_oid(lc), AccessShareLock);
		BlockNumber part_pages;
		double		part_rows;
		double		visible;

		if (rel->rd_rel->relkind == RELKIND_RELATION)
		{
			estimate_rel_size(rel, NULL, &part_pages, &part_rows, &visible);
			*pages += RelationGetNumberOfBlocks(rel);
			*rows += part_rows;
		}
		relation_close(rel, NoLock);
	}
}

/*
 * dp_protect_declare_suggest_size
 *	  Tell the owner, who may read the table, if parallel workers would read it
 *	  once its size were declared.  Other roles that run a function of the
 *	  owner are not told.
 */
void
dp_protect_declare_suggest_size(Oid relid)
{
	const char *name = dp_protect_qualified_name(relid);
	double		pages;
	double		rows;

	if (!object_ownercheck(RelationRelationId, relid, GetOuterUserId()))
		return;
	estimate_tree(relid, &pages, &rows);
	if (pages < min_parallel_table_scan_size)
		return;
	ereport(NOTICE,
			(errmsg("no parallel workers will read relation %s", name),
			 errdetail("Plans of private queries depend on public facts only, "
					   "and its size has not been declared."),
			 errhint("If it may be public that it has about " INT64_FORMAT
					 " rows: SELECT dp_declare('%s', rows => " INT64_FORMAT
					 ");", size_class(rows), name, size_class(rows))));
}

PG_FUNCTION_INFO_V1(dp_declare_rows);

/*
 * dp_declare_rows
 *	  SQL: dp_declare(relation regclass, rows bigint) returns void; NULL rows
 *	  withdraw the declaration.
 *
 * Errors: 42501, 42704 (not protected), 25006; 22023 for a NULL relation or
 * negative rows.
 */
Datum
dp_declare_rows(PG_FUNCTION_ARGS)
{
	Oid			relid = declare_read_relation(fcinfo);
	int64		class = 0;

	if (!PG_ARGISNULL(1))
		class = dp_protect_declare_size_class(PG_GETARG_INT64(1));
	dp_catalog_write_size(relid, class);
	dp_protect_comment(relid);
	PG_RETURN_VOID();
}

/* ----------------
 *		dp_declare: public bounds and public keys of a column.
 *
 * Values arrive in the type the caller wrote and are stored as canonical text
 * of the column's type: decimals for numbers, ISO dates, UTC, hexadecimal
 * bytea.  Such text means the same to every session that reads it back.
 *
 * Nothing here looks at a row: what is declared is public.
 * ----------------
 */

/* dp_protect_declare_require_value: 22023 for NULL. */
void
dp_protect_declare_require_value(bool isnull, const char *what)
{
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be NULL", what),
				 errhint("Declarations are public values; give one.")));
}

/*
 * declare_read_relation
 *	  Read the first argument, lock the relation and check rights.
 */
static Oid
declare_read_relation(FunctionCallInfo fcinfo)
{
	Oid			relid;

	PreventCommandIfReadOnly("dp_declare()");
	dp_protect_declare_require_value(PG_ARGISNULL(0), "relation");
	relid = PG_GETARG_OID(0);
	dp_protect_require_owner(relid);
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	dp_protect_require_owner(relid);
	dp_protect_require_dataset(dp_protect_require_protected(relid));
	return relid;
}

/*
 * dp_protect_declare_read_column
 *	  Read the first two arguments of the forms about a column.
 */
void
dp_protect_declare_read_column(FunctionCallInfo fcinfo, dp_target *column)
{
	Oid			type;

	dp_protect_declare_require_value(PG_ARGISNULL(1), "attribute");
	column->relid = declare_read_relation(fcinfo);
	column->name = *PG_GETARG_NAME(1);
	column->attnum = get_attnum(column->relid, NameStr(column->name));
	if (column->attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						NameStr(column->name), get_rel_name(column->relid)),
				 errhint("Spell column names exactly.")));
	get_atttypetypmodcoll(column->relid, column->attnum, &type,
						  &column->typmod, &column->collation);
	column->type = getBaseTypeAndTypmod(type, &column->typmod);
}

/*
 * Enter settings under which output functions write the canonical text;
 * returns the nest level for AtEOXact_GUC.
 */
static int
begin_canonical(void)
{
	int			i;

	static const char *const settings[][2] = {
		{"DateStyle", "ISO, YMD"},
		{"IntervalStyle", "iso_8601"},
		{"TimeZone", "UTC"},
		{"extra_float_digits", "1"},
		{"bytea_output", "hex"},
	};
	int			nest = NewGUCNestLevel();

	for (i = 0; i < (int) lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1],
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
	return nest;
}

static char *
declare_canonical_text(Oid type, Datum value)
{
	Oid			output;
	bool		varlena;
	char	   *text;
	int			nest;

	getTypeOutputInfo(type, &output, &varlena);
	nest = begin_canonical();
	text = OidOutputFunctionCall(output, value);
	AtEOXact_GUC(true, nest);
	return text;
}

/*
 * Read text as a value of the type; an error of the input function becomes
 * 22023 with its message as detail.
 */
static Datum
value_of_text(Oid type, int32 typmod, char *text, const dp_target *column)
{
	MemoryContext context = CurrentMemoryContext;
	volatile Datum result = (Datum) 0;
	Oid			input;
	Oid			ioparam;

	getTypeInputInfo(type, &input, &ioparam);
	PG_TRY();
	{
		result = OidInputFunctionCall(input, text, ioparam, typmod);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		int			category;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
		if (category != ERRCODE_DATA_EXCEPTION &&
			error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value \"%s\" does not fit column \"%s\"", text,
						NameStr(column->name)),
				 errdetail("The column has type %s: %s.",
						   format_type_with_typemod(column->type,
													column->typmod),
						   error->message),
				 errhint("Write it in the format of the column's type.")));
	}
	PG_END_TRY();
	return result;
}

/* Whether a value written in type `from` can be declared for the column. */
static bool
is_comparable(Oid from, Oid to)
{
	char		category;
	bool		preferred;
	char		to_category;

	get_type_category_preferred(from, &category, &preferred);
	get_type_category_preferred(to, &to_category, &preferred);
	if (from == to || category == TYPCATEGORY_STRING)
		return true;
	if (category == TYPCATEGORY_NUMERIC)
		return to_category == TYPCATEGORY_NUMERIC && to != CASHOID;
	if (to == TIMESTAMPOID)
		return from == DATEOID;
	if (to == TIMESTAMPTZOID)
		return from == DATEOID || from == TIMESTAMPOID;
	return false;
}

static void
require_comparable(Oid from, const dp_target *column)
{
	if (!is_comparable(from, column->type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a value of type %s cannot be declared for column "
						"\"%s\"", format_type_be(from), NameStr(column->name)),
				 errdetail("The column has type %s.",
						   format_type_be(column->type)),
				 errhint("Give a value of the column's type.")));
}

static void
write_bounds(const dp_target *column, const char *lower, const char *upper,
			 Numeric granule)
{
	dp_catalog_write_bounds(column->relid, &column->name, lower, upper,
							granule);
	dp_protect_invalidate_tree(column->relid);
	dp_protect_comment(column->relid);
}

/* Whether a date or timestamp of the given type is finite. */
static bool
is_finite_time(Oid type, Datum value)
{
	if (type == DATEOID)
		return !DATE_NOT_FINITE(DatumGetDateADT(value));
	return !TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value));
}

static void
raise_not_finite(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("bound \"%s\" must be finite", what),
			 errhint("Values beyond a finite bound count as the bound.")));
}

static void
raise_reversed(const char *lower, const char *upper)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("lower bound %s is not below upper bound %s", lower,
					upper),
			 errhint("Give the smaller bound as lower.")));
}

static void
declare_times(const dp_target *column, char *lower, char *upper)
{
	Datum		low = value_of_text(column->type, column->typmod, lower,
									column);
	Datum		high = value_of_text(column->type, column->typmod, upper,
									 column);

	if (!is_finite_time(column->type, low))
		raise_not_finite("lower");
	if (!is_finite_time(column->type, high))
		raise_not_finite("upper");
	lower = declare_canonical_text(column->type, low);
	upper = declare_canonical_text(column->type, high);
	/* date, timestamp and timestamptz compare as the integers they are */
	if (column->type == DATEOID ?
		DatumGetDateADT(low) >= DatumGetDateADT(high) :
		DatumGetTimestamp(low) >= DatumGetTimestamp(high))
		raise_reversed(lower, upper);
	write_bounds(column, lower, upper, NULL);
}

static void
declare_numbers(const dp_target *column, char *lower, char *upper,
				Numeric granule)
{
	Numeric		low = DatumGetNumeric(value_of_text(NUMERICOID, -1, lower,
													column));
	Numeric		high = DatumGetNumeric(value_of_text(NUMERICOID, -1, upper,
													 column));

	if (numeric_is_nan(low) || numeric_is_inf(low))
		raise_not_finite("lower");
	if (numeric_is_nan(high) || numeric_is_inf(high))
		raise_not_finite("upper");
	low = dp_numeric_call1(numeric_trim_scale, low);
	high = dp_numeric_call1(numeric_trim_scale, high);
	lower = dp_numeric_text(low);
	upper = dp_numeric_text(high);
	if (dp_numeric_compare(low, high) >= 0)
		raise_reversed(lower, upper);
	declare_check_grid(column->type, low, high, granule);
	write_bounds(column, lower, upper, granule);
}

PG_FUNCTION_INFO_V1(dp_declare_bounds);

/*
 * dp_declare_bounds
 *	  SQL: dp_declare(relation regclass, attribute name, lower T, upper T
 *	  [, granule]) returns void, for T integer, bigint, numeric, double
 *	  precision, text, date, timestamp and timestamptz.  T is read from this
 *	  function's own signature.
 *
 * Errors: 42501, 42703, 42704 (not protected), 25006; 22023 for NULL, infinite
 * or reversed bounds, bounds that do not fit the column's type, a granule that
 * is no power of two or too fine for the bounds.
 */
Datum
dp_declare_bounds(PG_FUNCTION_ARGS)
{
	dp_target	column;
	Oid		   *types;
	int			n;
	char	   *bounds[2];
	Numeric		granule = NULL;
	int			i;

	dp_protect_declare_read_column(fcinfo, &column);
	dp_protect_declare_require_value(PG_ARGISNULL(2), "lower");
	dp_protect_declare_require_value(PG_ARGISNULL(3), "upper");
	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &n);
	for (i = 0; i < 2; i++)
	{
		require_comparable(types[2 + i], &column);
		bounds[i] = declare_canonical_text(types[2 + i],
										   PG_GETARG_DATUM(2 + i));
	}
	if (n > 4 && !PG_ARGISNULL(4))
		granule = types[4] == FLOAT8OID ?
			dp_base_float8_to_numeric(PG_GETARG_FLOAT8(4)) :
			PG_GETARG_NUMERIC(4);

	switch (column.type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			declare_numbers(&column, bounds[0], bounds[1], granule);
			break;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			if (granule != NULL)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("a granule is for columns of numbers"),
						 errhint("Leave it out.")));
			declare_times(&column, bounds[0], bounds[1]);
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" cannot have bounds",
							NameStr(column.name)),
					 errdetail("It has type %s; bounds are for numbers, dates "
							   "and timestamps.",
							   format_type_be(column.type)),
					 errhint("Declare its keys instead.")));
	}
	PG_RETURN_VOID();
}

/* Compare two values of the column's type. */
static int
declare_compare_values(const void *a, const void *b, void *arg)
{
	const dp_key_order *order = arg;

	return DatumGetInt32(FunctionCall2Coll(order->compare, order->collation,
										   *(const Datum *) a,
										   *(const Datum *) b));
}

/* Keys need a built-in order and a deterministic collation. */
static void
find_order(const dp_target *column, dp_key_order *order)
{
	TypeCacheEntry *entry = lookup_type_cache(column->type,
											  TYPECACHE_CMP_PROC_FINFO);
	char		typtype = get_typtype(column->type);

	order->compare = &entry->cmp_proc_finfo;
	order->collation = column->collation;
	if (!OidIsValid(entry->cmp_proc_finfo.fn_oid) ||
		entry->cmp_proc_finfo.fn_oid >= FirstNormalObjectId ||
		column->type == CASHOID ||
		OidIsValid(get_element_type(column->type)) ||
		!(typtype == TYPTYPE_ENUM ||
		  (typtype == TYPTYPE_BASE && column->type < FirstNormalObjectId)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" cannot have declared keys",
						NameStr(column->name)),
				 errdetail("Type %s is not a built-in scalar type with an "
						   "order.", format_type_be(column->type)),
				 errhint("Group by a column of a built-in type.")));
	if (OidIsValid(column->collation) &&
		!get_collation_isdeterministic(column->collation))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" cannot have declared keys",
						NameStr(column->name)),
				 errdetail("Its collation is not deterministic."),
				 errhint("Give the column a deterministic collation.")));
}

/*
 * One key as a value of the column; 22023 when storing it would change it
 * (more digits than numeric(5,2) keeps, say).
 */
static Datum
key_value(const dp_target *column, dp_key_order *order, char *text)
{
	Datum		plain = value_of_text(column->type, -1, text, column);
	Datum		fitted = value_of_text(column->type, column->typmod, text,
									   column);

	if (declare_compare_values(&plain, &fitted, order) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key \"%s\" does not fit column \"%s\"", text,
						NameStr(column->name)),
				 errdetail("The column has type %s.",
						   format_type_with_typemod(column->type,
													column->typmod)),
				 errhint("Spell keys as the column stores them.")));
	return fitted;
}

static void
declare_check_distinct(const Datum *keys, int n, dp_key_order *order,
					   const dp_target *column)
{
	Datum	   *sorted = palloc(sizeof(Datum) * n);
	int			i;

	memcpy(sorted, keys, sizeof(Datum) * n);
	qsort_arg(sorted, n, sizeof(Datum), declare_compare_values, order);
	for (i = 1; i < n; i++)
		if (declare_compare_values(&sorted[i - 1], &sorted[i], order) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key \"%s\" is declared twice",
							declare_canonical_text(column->type, sorted[i])),
					 errhint("Name every key once; \"other\" is a key too.")));
	pfree(sorted);
}

/* The array argument's elements as canonical text of their own type. */
static char **
read_keys(ArrayType *array, const dp_target *column, int *n)
{
	Oid			element = ARR_ELEMTYPE(array);
	int16		len;
	bool		byval;
	char		align;
	Datum	   *values;
	bool	   *nulls;
	char	  **texts;
	int			i;

	require_comparable(getBaseType(element), column);
	if (ARR_NDIM(array) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("keys must be a non-empty array of one dimension"),
				 errhint("For example ARRAY['A', 'B'].")));
	get_typlenbyvalalign(element, &len, &byval, &align);
	deconstruct_array(array, element, len, byval, align, &values, &nulls, n);
	if (*n > dp_setting_max_groups)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("too many keys: %d", *n),
				 errdetail("dp_pg.max_groups allows %d.",
						   dp_setting_max_groups),
				 errhint("Declare fewer keys, or bounds instead.")));
	texts = palloc(sizeof(char *) * *n);
	for (i = 0; i < *n; i++)
	{
		dp_protect_declare_require_value(nulls[i], "a key");
		texts[i] = declare_canonical_text(element, values[i]);
	}
	return texts;
}

/* This follows from the declaration alone; no row is counted. */
static void
notice_null_keys(const dp_target *column)
{
	ereport(NOTICE,
			(errmsg("rows where column \"%s\" is NULL are counted nowhere "
					"when it is a group key", NameStr(column->name)),
			 errhint("To see how many there are, count them in the table.")));
}

PG_FUNCTION_INFO_V1(dp_declare_keys);

/*
 * dp_declare_keys
 *	  SQL: dp_declare(relation regclass, attribute name, keys anyarray,
 *	  other text, nulls boolean) returns void.
 *
 * Errors: 42501, 42703, 42704 (not protected), 25006; 22023 for no keys, NULL
 * or equal keys, keys that are no values of the column, more than
 * dp_pg.max_groups, an `other` that is a key, a type without built-in order.
 */
Datum
dp_declare_keys(PG_FUNCTION_ARGS)
{
	dp_target	column;
	dp_key_order order;
	char	  **texts;
	char	   *other = NULL;
	bool		nulls = PG_ARGISNULL(4) || PG_GETARG_BOOL(4);
	Datum	   *keys;
	Datum	   *stored;
	int			n;
	int			i;

	dp_protect_declare_read_column(fcinfo, &column);
	dp_protect_declare_require_value(PG_ARGISNULL(2), "keys");
	find_order(&column, &order);
	texts = read_keys(PG_GETARG_ARRAYTYPE_P(2), &column, &n);
	keys = palloc(sizeof(Datum) * (n + 1));
	stored = palloc(sizeof(Datum) * n);
	for (i = 0; i < n; i++)
	{
		keys[i] = key_value(&column, &order, texts[i]);
		stored[i] = CStringGetTextDatum(declare_canonical_text(column.type,
															   keys[i]));
	}
	declare_check_distinct(keys, n, &order, &column);
	if (!PG_ARGISNULL(3))
	{
		keys[n] = key_value(&column, &order,
							text_to_cstring(PG_GETARG_TEXT_PP(3)));
		other = declare_canonical_text(column.type, keys[n]);
		declare_check_distinct(keys, n + 1, &order, &column);
	}
	dp_catalog_write_keys(column.relid, &column.name,
						  construct_array(stored, n, TEXTOID, -1, false,
										  TYPALIGN_INT), other, nulls);
	if (!nulls)
		notice_null_keys(&column);
	dp_protect_invalidate_tree(column.relid);
	dp_protect_comment(column.relid);
	PG_RETURN_VOID();
}

/* ---- how much of a unit counts (unit_bounds.c) ---- */

#define MOST PG_INT32_MAX

/*
 * dp_protect_declare_read_most
 *	  A number to declare; 0 for NULL, and -1 for 0, which withdraws it.
 */
int64
dp_protect_declare_read_most(FunctionCallInfo fcinfo, int i, const char *what)
{
	int64		most;

	if (PG_ARGISNULL(i))
		return 0;
	most = PG_GETARG_INT64(i);
	if (most < 0 || most > MOST)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 0 and %d", what, MOST),
				 errdetail("It is public, and 0 withdraws what was declared."),
				 errhint("For example max_total => 50, if a person has at "
						 "most 50 rows.")));
	return most == 0 ? -1 : most;
}

/*
 * Say what a least number of units promises at the connection's price, with
 * discrete Laplace noise of a number of units by groups (doc/theory.md T106).
 * Doubles do: nothing follows from them.
 */
static void
notice_least(const dp_relation_row *row)
{
	double		epsilon = strtod(dp_setting_epsilon, NULL);
	int64		groups = Max(dp_protect_declared_bounds(row).keys, 1);
	int64		least = row->min_units;
	dp_dataset_row dataset;
	double		scale;
	double		p;
	int64		margin;			/* exceeded with probability 1/1000 */
	char	   *promise;

	if (dp_protect_prove_one_row(dp_protect_lookup(row->relid), NULL))
		groups = 1;
	scale = groups / epsilon;
	if (dp_catalog_read_dataset(NameStr(row->dataset), DP_ROW_READ,
								&dataset) == DP_FOUND && dataset.replace_one)
		scale *= 2;
	p = exp(-1 / scale);
	margin = (int64) Min(ceil(scale * log(1000 / (1 + p))), MOST);
	promise = least > margin ?
		psprintf("groups of fewer than " INT64_FORMAT " are shown at most "
				 "once in a thousand", least - margin + 1) :
		psprintf("a group of none is shown with probability %.2g%%",
				 100 * exp(-least / scale) / (1 + p));
	ereport(NOTICE,
			(errmsg("groups of relation \"%s\" are shown from a noisy number "
					"of " INT64_FORMAT " units on", get_rel_name(row->relid),
					least),
			 errdetail("At a price of %s, as dp_pg.epsilon is here, with a "
					   "unit in at most " INT64_FORMAT " group%s, the number "
					   "has a 95%% error of %.0f: %s.", dp_setting_epsilon,
					   groups, groups == 1 ? "" : "s",
					   ceil(scale * log(40 / (1 + p))) - 1, promise),
			 least > margin ? 0 :
			 errhint("To show groups of fewer than " INT64_FORMAT " at most "
					 "once in a thousand: SELECT dp_declare(%s, min_units => "
					 INT64_FORMAT ");", least,
					 quote_literal_cstr(dp_protect_qualified_name(row->relid)),
					 Min(least - 1 + margin, MOST))));
}

PG_FUNCTION_INFO_V1(dp_declare_contribution);

/*
 * dp_declare_contribution
 *	  SQL: dp_declare(relation regclass, max_rows bigint, max_keys bigint,
 *	  max_total bigint, min_units bigint) returns void; NULL: as declared
 *	  before; 0: withdrawn.
 *
 * Errors: 42501, 42704 (not protected), 25006; 22023 for a NULL relation, for
 * no number, and for one that is not between 0 and 2^31 - 1.
 */
Datum
dp_declare_contribution(PG_FUNCTION_ARGS)
{
	Oid			relid = declare_read_relation(fcinfo);
	int64		max_rows = dp_protect_declare_read_most(fcinfo, 1, "max_rows");
	int64		max_keys = dp_protect_declare_read_most(fcinfo, 2, "max_keys");
	int64		max_total = dp_protect_declare_read_most(fcinfo, 3,
														 "max_total");
	int64		min_units = dp_protect_declare_read_most(fcinfo, 4,
														 "min_units");
	dp_relation_row row;

	if (max_rows == 0 && max_keys == 0 && max_total == 0 && min_units == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_rows, max_keys, max_total and min_units must not "
						"all be NULL"),
				 errdetail("NULL leaves what was declared as it is."),
				 errhint("Give one of them, for example max_total => 50 if a "
						 "person has at most 50 rows.")));
	dp_catalog_write_contribution(relid, max_rows, max_keys, max_total,
								  min_units);
	CommandCounterIncrement();
	dp_protect_invalidate_tree(relid);
	dp_protect_comment(relid);
	if (max_rows != 0 || max_keys != 0 || max_total != 0)
		dp_protect_notice_bounds(relid);
	if (min_units > 0 && dp_catalog_find_relation(relid, &row))
		notice_least(&row);
	PG_RETURN_VOID();
}
