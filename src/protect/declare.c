/*
 * declare.c
 *	  dp_declare: public bounds and public keys of a column.
 *
 * Values arrive in the type the caller wrote and are stored as canonical text
 * of the column's type: decimals for numbers, ISO dates, UTC, hexadecimal
 * bytea.  Such text means the same to every session that reads it back.
 *
 * Nothing here looks at a row: what is declared is public.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "../bridge/dp_numeric.h"
#include "declare_internal.h"

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
 * dp_protect_declare_read_relation
 *	  The first argument of every form: lock the relation and check rights.
 */
Oid
dp_protect_declare_read_relation(FunctionCallInfo fcinfo)
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
 *	  The first two arguments of the forms about a column, which is found.
 */
void
dp_protect_declare_read_column(FunctionCallInfo fcinfo, dp_column *column)
{
	Oid			type;

	dp_protect_declare_require_value(PG_ARGISNULL(1), "attribute");
	column->relid = dp_protect_declare_read_relation(fcinfo);
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
 * answers the nest level to give to AtEOXact_GUC.
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
canonical_text(Oid type, Datum value)
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
 * Read text as a value of the type; whatever the input function dislikes is
 * 22023, with its words as detail.
 */
static Datum
value_of_text(Oid type, int32 typmod, char *text, const dp_column *column)
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

/* May a value written in type `from` be declared for the column? */
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
require_comparable(Oid from, const dp_column *column)
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
write_bounds(const dp_column *column, const char *lower, const char *upper,
			 Numeric granule)
{
	dp_catalog_write_bounds(column->relid, &column->name, lower, upper,
							granule);
	dp_protect_invalidate_tree(column->relid);
	dp_protect_comment(column->relid);
}

/* Is a date or timestamp of the given type finite? */
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
declare_times(const dp_column *column, char *lower, char *upper)
{
	Datum		low = value_of_text(column->type, column->typmod, lower,
									column);
	Datum		high = value_of_text(column->type, column->typmod, upper,
									 column);

	if (!is_finite_time(column->type, low))
		raise_not_finite("lower");
	if (!is_finite_time(column->type, high))
		raise_not_finite("upper");
	lower = canonical_text(column->type, low);
	upper = canonical_text(column->type, high);
	/* date, timestamp and timestamptz compare as the integers they are */
	if (column->type == DATEOID ?
		DatumGetDateADT(low) >= DatumGetDateADT(high) :
		DatumGetTimestamp(low) >= DatumGetTimestamp(high))
		raise_reversed(lower, upper);
	write_bounds(column, lower, upper, NULL);
}

static void
declare_numbers(const dp_column *column, char *lower, char *upper,
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
	dp_protect_declare_check_grid(column->type, low, high, granule);
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
	dp_column	column;
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
		bounds[i] = canonical_text(types[2 + i], PG_GETARG_DATUM(2 + i));
	}
	if (n > 4 && !PG_ARGISNULL(4))
		granule = types[4] == FLOAT8OID ?
			dp_bridge_float8_to_numeric(PG_GETARG_FLOAT8(4)) :
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
compare_values(const void *a, const void *b, void *arg)
{
	const dp_key_order *order = arg;

	return DatumGetInt32(FunctionCall2Coll(order->compare, order->collation,
										   *(const Datum *) a,
										   *(const Datum *) b));
}

/* Keys need an order that is built in and a collation that is bytewise. */
static void
find_order(const dp_column *column, dp_key_order *order)
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
key_value(const dp_column *column, dp_key_order *order, char *text)
{
	Datum		plain = value_of_text(column->type, -1, text, column);
	Datum		fitted = value_of_text(column->type, column->typmod, text,
									   column);

	if (compare_values(&plain, &fitted, order) != 0)
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
check_distinct(const Datum *keys, int n, dp_key_order *order,
			   const dp_column *column)
{
	Datum	   *sorted = palloc(sizeof(Datum) * n);
	int			i;

	memcpy(sorted, keys, sizeof(Datum) * n);
	qsort_arg(sorted, n, sizeof(Datum), compare_values, order);
	for (i = 1; i < n; i++)
		if (compare_values(&sorted[i - 1], &sorted[i], order) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key \"%s\" is declared twice",
							canonical_text(column->type, sorted[i])),
					 errhint("Name every key once; \"other\" is a key too.")));
	pfree(sorted);
}

/* The array argument's elements as canonical text of their own type. */
static char **
read_keys(ArrayType *array, const dp_column *column, int *n)
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
		texts[i] = canonical_text(element, values[i]);
	}
	return texts;
}

/* By the declaration alone; how many rows there are is the owner's to ask. */
static void
tell_of_nulls(const dp_column *column)
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
	dp_column	column;
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
		stored[i] = CStringGetTextDatum(canonical_text(column.type, keys[i]));
	}
	check_distinct(keys, n, &order, &column);
	if (!PG_ARGISNULL(3))
	{
		keys[n] = key_value(&column, &order,
							text_to_cstring(PG_GETARG_TEXT_PP(3)));
		other = canonical_text(column.type, keys[n]);
		check_distinct(keys, n + 1, &order, &column);
	}
	dp_catalog_write_keys(column.relid, &column.name,
						  construct_array(stored, n, TEXTOID, -1, false,
										  TYPALIGN_INT), other, nulls);
	if (!nulls)
		tell_of_nulls(&column);
	dp_protect_invalidate_tree(column.relid);
	dp_protect_comment(column.relid);
	PG_RETURN_VOID();
}
