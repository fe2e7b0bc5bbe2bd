/*
 * universe.c
 *	  A universe: the product of some axes of one relation, and its cells as
 *	  rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../readings/dp_readings.h"
#include "dp_workload.h"
#include "workload_internal.h"

/* ----------------
 *		Cells as rows of functions that return SETOF record.
 * ----------------
 */

static bool
column_matches(const dp_axis *axis, Form_pg_attribute wanted)
{
	if (strcmp(NameStr(axis->name), NameStr(wanted->attname)) != 0)
		return false;
	if (wanted->atttypid != axis->type &&
		wanted->atttypid != getBaseType(axis->type))
		return false;
	return wanted->atttypmod == -1 || wanted->atttypmod == axis->typmod;
}

static char *
wanted_list(TupleDesc wanted)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < wanted->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(wanted, i);

		appendStringInfo(&text, "%s%s %s", i > 0 ? ", " : "",
						 quote_identifier(NameStr(column->attname)),
						 format_type_with_typemod(column->atttypid,
												  column->atttypmod));
	}
	return text.data;
}

/*
 * dp_workload_columns_text
 *	  The columns of the universe with their types, as a column list has them.
 */
char *
dp_workload_columns_text(const dp_universe *universe)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < universe->naxes; i++)
	{
		const dp_axis *axis = universe->axes[i];

		appendStringInfo(&text, "%s%s %s", i > 0 ? ", " : "",
						 quote_identifier(NameStr(axis->name)),
						 format_type_with_typemod(axis->type, axis->typmod));
	}
	return text.data;
}

/* ---- domains ---- */

/* A column of the result, whose type may be a domain. */
typedef struct result_column
{
	const char *name;
	Oid			type;
	const char *hint;
	void	   *constraints;	/* of domain_check */
} result_column;

static char *
value_text(const result_column *column, Datum value, bool isnull)
{
	Oid			output;
	bool		varlena;

	if (isnull)
		return "NULL";
	getTypeOutputInfo(getBaseType(column->type), &output, &varlena);
	return OidOutputFunctionCall(output, value);
}

/* Raise 22023 unless the domain allows a public value. */
static void
universe_check_value(result_column *column, Datum value, bool isnull)
{
	MemoryContext context = CurrentMemoryContext;
	dp_acting	acting;
	ErrorData  *why;

	/* the type may be the asking role's, and its CHECK call anything */
	dp_ledger_act_as_asker(&acting, false);
	PG_TRY();
	{
		domain_check(value, isnull, column->type, &column->constraints,
					 context);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		why = CopyErrorData();
		if (why->sqlerrcode != ERRCODE_CHECK_VIOLATION &&
			why->sqlerrcode != ERRCODE_NOT_NULL_VIOLATION)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("type %s of column \"%s\" does not allow a value that "
						"may be released", format_type_be(column->type),
						column->name),
				 errdetail("Of %s: %s.", value_text(column, value, isnull),
						   why->message),
				 errhint("%s", column->hint)));
	}
	PG_END_TRY();
	dp_ledger_act_as_before(&acting);
}

/* Check every public value of an axis; axis NULL: only NULL. */
static void
check_domain(const dp_axis *axis, Form_pg_attribute attribute,
			 const char *hint)
{
	result_column column = {NameStr(attribute->attname),
	attribute->atttypid, hint, NULL};
	Datum		value;
	bool		isnull;
	int64		i;

	if (get_typtype(column.type) != TYPTYPE_DOMAIN)
		return;
	if (axis == NULL)
		universe_check_value(&column, (Datum) 0, true);
	else
		for (i = 0; i < axis->size; i++)
		{
			CHECK_FOR_INTERRUPTS();
			value = dp_domains_axis_value(axis, i, &isnull);
			universe_check_value(&column, value, isnull);
		}
}

/*
 * dp_workload_check_rows
 *	  Raises 22023 where a column of a relation's own rows is of a domain that
 *	  does not allow what the rows will hold.
 */
void
dp_workload_check_rows(const dp_universe *universe, TupleDesc rows)
{
	const dp_axis *axis;
	int			i;
	int			k;

	for (k = 0; k < rows->natts; k++)
	{
		if (TupleDescAttr(rows, k)->attisdropped)
			continue;
		axis = NULL;
		for (i = 0; i < universe->naxes; i++)
			if (universe->axes[i]->attnum == k + 1)
				axis = universe->axes[i];
		check_domain(axis, TupleDescAttr(rows, k),
					 "Name the relation, and list the columns with their "
					 "base types after AS t(...).");
	}
}

/*
 * dp_workload_check_columns
 *	  Raises 22023 unless the column list that a caller wrote names the axes,
 *	  in their order and with their types, and then one more column when the
 *	  function has one of its own.  `own` is that one as it must be written,
 *	  NULL: there is none; whether it is written so is for the function to
 *	  check.  A domain must allow every public value.
 */
void
dp_workload_check_columns(const dp_universe *universe, TupleDesc wanted,
						  const char *own)
{
	bool		same = wanted->natts == universe->naxes + (own ? 1 : 0);
	int			i;

	for (i = 0; same && i < universe->naxes; i++)
		same = column_matches(universe->axes[i], TupleDescAttr(wanted, i));
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column list does not match the columns of the "
						"universe"),
				 errdetail("The list has (%s).", wanted_list(wanted)),
				 errhint("Write AS t(%s%s%s).",
						 dp_workload_columns_text(universe), own ? ", " : "",
						 own ? own : "")));
	for (i = 0; i < universe->naxes; i++)
		check_domain(universe->axes[i], TupleDescAttr(wanted, i),
					 psprintf("Write its base type after AS t(...): %s.",
							  format_type_be(getBaseType(
												 universe->axes[i]->type))));
}

/*
 * dp_workload_check_distribution
 *	  The same for a function that returns a distribution over the universe:
 *	  DP_PROBABILITY_COLUMN comes last.
 */
void
dp_workload_check_distribution(const dp_universe *universe, TupleDesc wanted)
{
	Form_pg_attribute last;

	dp_workload_check_columns(universe, wanted, DP_PROBABILITY_COLUMN);
	last = TupleDescAttr(wanted, wanted->natts - 1);
	if (strcmp(NameStr(last->attname), "probability") != 0 ||
		last->atttypid != FLOAT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column list must end with " DP_PROBABILITY_COLUMN),
				 errdetail("Its last column must have this name and type; it "
						   "is %s %s.",
						   quote_identifier(NameStr(last->attname)),
						   format_type_be(last->atttypid)),
				 errhint("Write AS t(%s, " DP_PROBABILITY_COLUMN ").",
						 dp_workload_columns_text(universe))));
}

/* dp_workload_put_distribution: return the cells and their probabilities. */
void
dp_workload_put_distribution(const dp_universe *universe,
							 const double *probability, ReturnSetInfo *result)
{
	Datum		values[DP_UNIVERSE_AXES + 1];
	bool		nulls[DP_UNIVERSE_AXES + 1];
	int64		cell;

	nulls[universe->naxes] = false;
	for (cell = 0; cell < universe->size; cell++)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_values(universe, cell, values, nulls);
		values[universe->naxes] = Float8GetDatum(probability[cell]);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
}

/* ----------------
 *		A universe: the product of some axes of one relation.
 *
 * Cells are numbered like the cells of a dp_reading_table: places of the last
 * axis are next to each other.
 * ----------------
 */

/* ---- from SQL arguments ---- */

static void
universe_raise_columns(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errhint("Write them as columns => ARRAY['age', 'ward'].")));
}

static char **
universe_read_columns(ArrayType *array, int *n)
{
	Datum	   *values;
	bool	   *nulls;
	char	  **names;
	int			i;
	int			j;

	if (ARR_NDIM(array) > 1)
		universe_raise_columns("columns must be an array of one dimension");
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values,
					  &nulls, n);
	if (*n == 0)
		universe_raise_columns("there are no columns");
	if (*n > DP_UNIVERSE_AXES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many columns"),
				 errdetail("%d were given; at most %d are allowed.", *n,
						   DP_UNIVERSE_AXES),
				 errhint("Leave some out.")));
	names = palloc(sizeof(char *) * *n);
	for (i = 0; i < *n; i++)
	{
		if (nulls[i])
			universe_raise_columns("the name of a column is NULL");
		names[i] = TextDatumGetCString(values[i]);
		for (j = 0; j < i; j++)
			if (strcmp(names[i], names[j]) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("column \"%s\" is given twice", names[i]),
						 errhint("Name each column once.")));
	}
	return names;
}

/* One number for each column: 0 where there are none. */
static int32 *
read_bins(ArrayType *array, int naxes)
{
	int32	   *bins = palloc0(sizeof(int32) * naxes);
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;

	if (array == NULL)
		return bins;
	deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT,
					  &values, &nulls, &n);
	if (ARR_NDIM(array) > 1 || n != naxes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bins must have one element for each column"),
				 errdetail("Columns: %d; elements: %d.", naxes, n),
				 errhint("Write 0 or NULL for a column that is not "
						 "binned.")));
	for (i = 0; i < n; i++)
	{
		bins[i] = nulls[i] ? 0 : DatumGetInt32(values[i]);
		if (bins[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of bins must not be negative: %d",
							bins[i]),
					 errhint("Write 0 or NULL for a column that is not "
							 "binned.")));
	}
	return bins;
}

/* Product of the sizes, PG_INT64_MAX when that is larger. */
static int64
product_of_sizes(dp_axis *const *axes, int naxes)
{
	int64		product = 1;
	int			i;

	for (i = 0; i < naxes; i++)
		if (__builtin_mul_overflow(product, axes[i]->size, &product))
			return PG_INT64_MAX;
	return product;
}

/* dp_workload_null_hint: see dp_workload.h; NULL is the last place. */
const char *
dp_workload_null_hint(const dp_universe *universe)
{
	bool		isnull = false;
	int			i;

	for (i = 0; i < universe->naxes && !isnull; i++)
		(void) dp_domains_axis_value(universe->axes[i],
									 universe->axes[i]->size - 1, &isnull);
	if (!isnull)
		return "";
	return "  A column that may be NULL has NULL as one more value; "
		"the owner can SET NOT NULL.";
}

static void
universe_check_size(const dp_universe *universe, int64 most)
{
	StringInfoData sizes;
	int			i;

	if (universe->size <= most)
		return;
	initStringInfo(&sizes);
	for (i = 0; i < universe->naxes; i++)
		appendStringInfo(&sizes, "%s%s " INT64_FORMAT, i > 0 ? ", " : "",
						 NameStr(universe->axes[i]->name),
						 universe->axes[i]->size);
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("universe has too many cells"),
			 errdetail("Numbers of values: %s. Their product may be at most "
					   INT64_FORMAT ".", sizes.data, most),
			 errhint("Use fewer columns, or fewer bins.%s",
					 dp_workload_null_hint(universe))));
}

static void
check_relation(Oid relid)
{
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid),
				 errhint("Give the name of a table or view.")));
}

/*
 * dp_workload_make_universe
 *	  The product of the named columns' public values, in the given order;
 *	  `most` cells, or any number when it is PG_INT64_MAX.
 *
 * Errors: 42P01; those of dp_readings_make_axis; 22023 no columns, a NULL or
 * double name, bins that do not match; 54000 too many columns, places of one
 * or cells.
 */
dp_universe *
dp_workload_make_universe(Oid relid, ArrayType *columns, ArrayType *bins,
						  int64 most)
{
	dp_universe *universe = palloc0(sizeof(dp_universe));
	char	  **names = universe_read_columns(columns, &universe->naxes);
	int32	   *numbers = read_bins(bins, universe->naxes);
	int			i;

	check_relation(relid);
	universe->relid = relid;
	universe->axes = palloc(sizeof(dp_axis *) * universe->naxes);
	for (i = 0; i < universe->naxes; i++)
		universe->axes[i] = dp_readings_make_axis(relid, names[i], numbers[i],
										 Min(most, DP_UNIVERSE_CELLS));
	universe->size = product_of_sizes(universe->axes, universe->naxes);
	universe_check_size(universe, most);
	return universe;
}

/* ---- as lists ---- */

/* dp_workload_to_list: (relation, axis, ...), as nodes that can be copied. */
List *
dp_workload_to_list(const dp_universe *universe)
{
	List	   *list = list_make1(list_make1_oid(universe->relid));
	int			i;

	for (i = 0; i < universe->naxes; i++)
		list = lappend(list, dp_domains_axis_to_list(universe->axes[i]));
	return list;
}

/* dp_workload_from_list: what dp_workload_to_list was given. */
dp_universe *
dp_workload_from_list(const List *list)
{
	dp_universe *universe = palloc0(sizeof(dp_universe));
	int			i;

	universe->relid = linitial_oid((List *) linitial(list));
	universe->naxes = list_length(list) - 1;
	universe->axes = palloc(sizeof(dp_axis *) * Max(universe->naxes, 1));
	for (i = 0; i < universe->naxes; i++)
		universe->axes[i] = dp_domains_axis_from_list(list_nth(list, i + 1));
	universe->size = product_of_sizes(universe->axes, universe->naxes);
	return universe;
}

/* ---- cells ---- */

/*
 * dp_workload_strides
 *	  By how much a cell of the table over the axes `part` moves when a place
 *	  of each of the axes `whole` (NULL: all of the universe) moves by one: 0
 *	  for axes that it does not have.  Both are ascending, and `part` is
 *	  within `whole`.
 */
void
dp_workload_strides(const dp_universe *universe, int nwhole, const int *whole,
					int npart, const int *part, int64 *strides)
{
	int64		stride = 1;
	int			j = npart - 1;
	int			i;

	for (i = nwhole - 1; i >= 0; i--)
	{
		int			axis = whole ? whole[i] : i;

		strides[i] = 0;
		if (j >= 0 && part[j] == axis)
		{
			strides[i] = stride;
			stride *= universe->axes[axis]->size;
			j--;
		}
	}
}

/* dp_workload_cells: of a table over some axes, which is known to be small. */
int64
dp_workload_cells(const dp_universe *universe, int naxes, const int *axes)
{
	int64		cells = 1;
	int			i;

	for (i = 0; i < naxes; i++)
		cells *= universe->axes[axes[i]]->size;
	return cells;
}

/* dp_workload_places: the place of a cell on each axis. */
void
dp_workload_places(const dp_universe *universe, int64 cell, int64 *places)
{
	int			i;

	for (i = universe->naxes - 1; i >= 0; i--)
	{
		places[i] = cell % universe->axes[i]->size;
		cell /= universe->axes[i]->size;
	}
}

/* dp_workload_values: the public value of a cell on each axis. */
void
dp_workload_values(const dp_universe *universe, int64 cell, Datum *values,
				   bool *nulls)
{
	int			i;

	for (i = universe->naxes - 1; i >= 0; i--)
	{
		const dp_axis *axis = universe->axes[i];

		values[i] = dp_domains_axis_value(axis, cell % axis->size, &nulls[i]);
		cell /= axis->size;
	}
}
