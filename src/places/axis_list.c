/*
 * axis_list.c
 *	  Axes as nodes that outlive the declarations that they were made from.
 *
 * Values and bounds are texts and types are names, so that what is stored
 * means the same later and in another database.  Texts are written and read
 * under fixed settings.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../bridge/dp_numeric.h"
#include "dp_places.h"

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

	dp_bridge_set_local("datestyle", "ISO, YMD");
	dp_bridge_set_local("intervalstyle", "postgres");
	dp_bridge_set_local("timezone", "UTC");
	dp_bridge_set_local("extra_float_digits", "1");
	dp_bridge_set_local("bytea_output", "hex");
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
	return dp_bridge_text_to_numeric(strVal(list_nth(list, n)));
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

/* dp_places_axis_to_list: see dp_places.h. */
List *
dp_places_axis_to_list(const dp_axis *axis)
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
read_values(dp_axis *axis, Oid type, const List *list)
{
	List	   *texts = list_nth(list, LIST_VALUES);
	Datum	   *values = palloc(sizeof(Datum) *
								Max(list_length(texts), 1));
	ListCell   *lc;

	foreach(lc, texts)
		values[foreach_current_index(lc)] =
			dp_places_read_declared(strVal(lfirst(lc)), type, -1);
	dp_places_axis_make_listed(axis, type, values,
							   integer_at(list, LIST_KNOWN));
}

/*
 * dp_places_axis_from_list: see dp_places.h. 42704 if a type is gone, 55000 if
 * its input function rejects a value.
 */
dp_axis *
dp_places_axis_from_list(const List *list)
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
			dp_places_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
			axis->values->finder->places.first = integer_at(list, LIST_FIRST);
			break;
		case DP_AXIS_LISTED:
			read_values(axis, type, list);
			break;
		case DP_AXIS_BINS:
			dp_places_axis_make_bins(axis, type, numeric_at(list, LIST_LOWER),
									 numeric_at(list, LIST_UPPER));
			break;
		case DP_AXIS_BUCKETS:
			elog(ERROR, "an axis has no buckets");
	}
	dp_places_axis_set_last_places(axis, integer_at(list, LIST_KNOWN),
								   integer_at(list, LIST_OTHER) != 0,
								   integer_at(list, LIST_NULL) != 0);
	AtEOXact_GUC(true, nest);
	return axis;
}
