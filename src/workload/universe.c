/*
 * universe.c
 *	  A universe: the product of some axes of one relation.
 *
 * Cells are numbered like the cells of a dp_reading_table: places of the last
 * axis are next to each other.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "workload.h"

/* ---- from SQL arguments ---- */

static void
raise_columns(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errhint("Write them as columns => ARRAY['age', 'ward'].")));
}

static char **
read_columns(ArrayType *array, int *n)
{
	Datum	   *values;
	bool	   *nulls;
	char	  **names;
	int			i;
	int			j;

	if (ARR_NDIM(array) > 1)
		raise_columns("columns must be an array of one dimension");
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values,
					  &nulls, n);
	if (*n == 0)
		raise_columns("there are no columns");
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
			raise_columns("the name of a column is NULL");
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
		(void) dp_places_axis_value(universe->axes[i],
									universe->axes[i]->size - 1, &isnull);
	if (!isnull)
		return "";
	return "  A column that may be NULL has NULL as one more value; "
		"the owner can SET NOT NULL.";
}

static void
check_size(const dp_universe *universe, int64 most)
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
 * Errors: 42P01; those of dp_reading_make_axis; 22023 no columns, a NULL or
 * double name, bins that do not match; 54000 too many columns, places of one
 * or cells.
 */
dp_universe *
dp_workload_make_universe(Oid relid, ArrayType *columns, ArrayType *bins,
						  int64 most)
{
	dp_universe *universe = palloc0(sizeof(dp_universe));
	char	  **names = read_columns(columns, &universe->naxes);
	int32	   *numbers = read_bins(bins, universe->naxes);
	int			i;

	check_relation(relid);
	universe->relid = relid;
	universe->axes = palloc(sizeof(dp_axis *) * universe->naxes);
	for (i = 0; i < universe->naxes; i++)
		universe->axes[i] = dp_reading_make_axis(relid, names[i], numbers[i],
										 Min(most, DP_UNIVERSE_CELLS));
	universe->size = product_of_sizes(universe->axes, universe->naxes);
	check_size(universe, most);
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
		list = lappend(list, dp_places_axis_to_list(universe->axes[i]));
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
		universe->axes[i] = dp_places_axis_from_list(list_nth(list, i + 1));
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

		values[i] = dp_places_axis_value(axis, cell % axis->size, &nulls[i]);
		cell /= axis->size;
	}
}
