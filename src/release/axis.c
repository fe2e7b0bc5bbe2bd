/*
 * axis.c
 *	  The public values of a column as places 0 .. size - 1.
 *
 * Three kinds.  A dense axis holds the integers (dates, booleans) first ..
 * first + known - 1.  A listed one holds declared keys or enum labels, in the
 * order of a group key.  Bins are equal half-open intervals between declared
 * bounds, the last one closed, with the exact edges of dp_histogram; a value
 * outside of the bounds counts at the nearer end, NaN nowhere.  Behind these
 * `known` places stand the key for all other values and NULL.
 *
 * Rows are looked up in a flat form, one piece of memory without pointers, so
 * that it can be a constant of a plan.  The list form holds values as text,
 * written and read under fixed settings, and types by name.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"

#include "axis.h"

/* ---- errors ---- */

static void
refuse_axis(const dp_axis *axis, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" has no public values to count by",
					NameStr(axis->name)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* ---- looking up ---- */

static inline int64
dense_value(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
		default:
			return DatumGetBool(value) ? 1 : 0;
	}
}

/*
 * dp_axis_find_flat
 *	  The place of a value in an axis's flat form, or -1: nowhere.
 */
int64
dp_axis_find_flat(const dp_axis_finder *finder, Datum value, bool isnull)
{
	int64		place;

	if (isnull)
		return finder->null;
	switch ((dp_axis_kind) finder->kind)
	{
		case DP_AXIS_DENSE:
			if (__builtin_sub_overflow(dense_value(finder->type, value),
									   finder->first, &place) ||
				place < 0 || place >= finder->known)
				return finder->other;
			return place;
		case DP_AXIS_LISTED:
			place = dp_tally_find_value(finder->spec, value);
			return place < 0 ? finder->other : place;
		case DP_AXIS_BINS:
			return dp_tally_find_bucket(finder->spec, value);
	}
	return -1;
}

/* dp_axis_integer_datum: an integer as a value of a dense axis's type. */
Datum
dp_axis_integer_datum(Oid type, int64 value)
{
	switch (type)
	{
		case INT2OID:
			return Int16GetDatum((int16) value);
		case INT4OID:
			return Int32GetDatum((int32) value);
		case DATEOID:
			return DateADTGetDatum((DateADT) value);
		case INT8OID:
			return Int64GetDatum(value);
		default:
			return BoolGetDatum(value != 0);
	}
}

/*
 * dp_axis_value
 *	  The value at a place, 0 <= place < size: of a bin its representative.
 *	  References stay with the axis.
 */
Datum
dp_axis_value(const dp_axis *axis, int64 place, bool *isnull)
{
	const dp_axis_finder *finder = axis->values->finder;

	*isnull = place == finder->null;
	if (*isnull)
		return (Datum) 0;
	if (finder->kind == DP_AXIS_DENSE)
		return dp_axis_integer_datum(finder->type, finder->first + place);
	return axis->values->values[place];
}

/*
 * dp_axis_is_complete
 *	  Has every value that the column may have a place, as far as is public?
 *	  Not those of other keys than the declared ones, nor outside of bounds
 *	  that are not cut into bins, nor NaN; nor those of an axis from a list.
 */
bool
dp_axis_is_complete(const dp_axis *axis)
{
	return axis->values->complete;
}

/* ---- making ---- */

/*
 * dp_axis_make_finder
 *	  A flat form around a spec of tally.h, or NULL, of *length bytes, in the
 *	  current context.  No value has a place in it yet.
 */
dp_axis_finder *
dp_axis_make_finder(dp_axis_kind kind, Oid type, const Const *spec,
					Size *length)
{
	Size		size = spec == NULL ? 0 :
	VARSIZE(DatumGetPointer(spec->constvalue));
	dp_axis_finder *finder;

	*length = offsetof(dp_axis_finder, spec) + MAXALIGN(size);
	finder = palloc_extended(*length, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (spec != NULL)
		memcpy(finder->spec, DatumGetPointer(spec->constvalue), size);
	finder->kind = (int32) kind;
	finder->type = type;
	return finder;
}

/*
 * dp_axis_set_finder
 *	  Give the axis a flat form around a spec of tally.h, or NULL.
 */
void
dp_axis_set_finder(dp_axis *axis, dp_axis_kind kind, Oid type,
				   const Const *spec)
{
	struct dp_axis_values *values = palloc0(sizeof(struct dp_axis_values));

	values->finder = dp_axis_make_finder(kind, type, spec, &values->size);
	axis->values = values;
}

/* dp_axis_set_last_places: `known` places, and those behind them. */
void
dp_axis_set_last_places(dp_axis *axis, int64 known, bool other, bool null)
{
	dp_axis_finder *finder = axis->values->finder;

	axis->size = known;
	finder->known = known;
	finder->other = other ? axis->size++ : -1;
	finder->null = null ? axis->size++ : -1;
}

static void
make_dense(dp_axis *axis, Oid type, int64 first)
{
	dp_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
	axis->values->finder->first = first;
}

/*
 * dp_axis_make_listed
 *	  The first `known` of the values are looked up; they stay with the axis.
 *
 * Errors: 22023 none, two equal, or a type that cannot be looked up.
 */
void
dp_axis_make_listed(dp_axis *axis, Oid type, Datum *values, int64 known)
{
	int64		twice;
	Const	   *spec;

	if (!dp_tally_can_read(type))
		refuse_axis(axis, "Its type has no built-in equality.",
					"Choose a column of another type.");
	if (known < 1)
		refuse_axis(axis, "No values are declared.",
					"Ask the data owner to run dp_declare.");
	spec = dp_tally_value_spec(type, values, known, &twice);
	if (spec == NULL)
		refuse_axis(axis, "Two of its declared values are equal.",
					"Ask the data owner to run dp_declare again.");
	dp_axis_set_finder(axis, DP_AXIS_LISTED, type, spec);
	axis->values->values = values;
}

/* An integer type's public values that follow each other? */
static bool
is_dense(const dp_key *key)
{
	return key->kind == DP_KEY_RANGE || key->kind == DP_KEY_BOOLEAN;
}

static void
make_from_key(dp_axis *axis, const dp_key *key)
{
	dp_domain  *domain = dp_domain_make(key);
	int64		known = dp_domain_known(domain);
	int64		size = dp_domain_size(domain);
	Oid			type = getBaseType(key->type);
	bool		isnull = false;
	Datum	   *values;
	int64		i;

	if (is_dense(key))
		make_dense(axis, type,
				   dense_value(type, dp_domain_value(domain, 0, &isnull)));
	else
	{
		values = palloc_extended(sizeof(Datum) * Max(size, 1),
								 MCXT_ALLOC_HUGE);
		for (i = 0; i < size; i++)
			values[i] = dp_domain_value(domain, i, &isnull);
		dp_axis_make_listed(axis, type, values, known);
	}
	dp_axis_set_last_places(axis, known, dp_domain_has_other(domain),
							key->nullable);
	axis->values->complete = key->kind == DP_KEY_CONSTANT ||
		key->kind == DP_KEY_BOOLEAN || key->kind == DP_KEY_ENUM ||
		dp_domain_has_other(domain);
}

/* ---- from the catalog ---- */

/* The column over the protected relation that is at the bottom of `relid`. */
static Node *
base_column(Oid relid, AttrNumber attnum, Oid *base_relid)
{
	dp_block   *block;
	Query	   *query;
	NullTest   *test;

	if (dp_relation_lookup(relid) != NULL)
	{
		query = dp_release_select_columns(relid, &attnum, 1);
		*base_relid = relid;
		test = (NullTest *) ((TargetEntry *) llast(query->targetList))->expr;
		return (Node *) castNode(NullTest, test)->arg;
	}
	query = dp_release_select_columns(relid, &attnum, 1);
	block = dp_release_verify_conditions(
		dp_release_rewrite_conditions(query, NULL));
	*base_relid = block->relid;
	test = llast_node(NullTest, dp_release_block_conditions(block));
	return dp_rowset_base(block->inner, (Node *) test->arg);
}

static void
check_size(const dp_axis *axis, int64 size, int64 most)
{
	if (size > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" has too many public values",
						NameStr(axis->name)),
				 errdetail("It has " INT64_FORMAT "; at most " INT64_FORMAT
						   " can be used.", size, most),
				 errhint("Cut it into bins, or leave it out.")));
}

static dp_axis *
begin_axis(Oid relid, const char *column, int32 bins)
{
	dp_axis    *axis = palloc0(sizeof(dp_axis));

	namestrcpy(&axis->name, column);
	axis->attnum = get_attnum(relid, column);
	if (axis->attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, get_rel_name(relid)),
				 errhint("Spell column names exactly, as in columns => "
						 "ARRAY['age', 'ward'].")));
	get_atttypetypmodcoll(relid, axis->attnum, &axis->type, &axis->typmod,
						  &axis->collation);
	axis->bins = bins;
	return axis;
}

/* A column whose values are not known: what would make them so. */
static void
refuse_key(const dp_axis *axis, Oid base_relid, AttrNumber attnum,
		   const dp_refusal *refusal)
{
	refuse_axis(axis, "Its values must be public, because a value that "
				"appears shows that somebody has it.",
				dp_axis_can_have_bins(axis, base_relid, attnum) ?
				"Cut its bounds into bins, with a number for each column as "
				"in bins => ARRAY[0, 4]." :
				attnum == 0 ?
				"Choose a column with declared keys or bounds, a boolean or "
				"an enum." : refusal->hint);
}

/* dp_axis_make: see dp_release.h. */
dp_axis *
dp_axis_make(Oid relid, const char *column, int32 bins, int64 most)
{
	dp_axis    *axis = begin_axis(relid, column, bins);
	Oid			base_relid;
	Node	   *base = base_column(relid, axis->attnum, &base_relid);
	AttrNumber	attnum = IsA(base, Var) ? ((Var *) base)->varattno : 0;
	dp_refusal *refusal;
	dp_key		key;

	/* tells whether a column can be NULL even when it makes no key */
	refusal = dp_block_classify_key(base, base, base_relid, &key);
	if (bins != 0)
	{
		check_size(axis, bins, most);
		dp_axis_make_declared_bins(axis, base_relid, attnum, key.nullable);
	}
	else
	{
		if (refusal != NULL)
			refuse_key(axis, base_relid, attnum, refusal);
		make_from_key(axis, &key);
	}
	check_size(axis, axis->size, most);
	return axis;
}
