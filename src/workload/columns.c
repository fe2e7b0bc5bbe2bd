/*
 * columns.c
 *	  Cells as rows of functions that return SETOF record.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "dp_workload.h"

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
 * dp_universe_columns_text
 *	  The columns of the universe with their types, as a column list has them.
 */
char *
dp_universe_columns_text(const dp_universe *universe)
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

/*
 * dp_universe_check_columns
 *	  Raises 22023 unless the column list that a caller wrote names the axes,
 *	  in their order and with their types, and then one column more when the
 *	  function has one of its own.  `own` is that one as it must be written,
 *	  NULL: there is none; whether it is written so is for the function to
 *	  check.
 */
void
dp_universe_check_columns(const dp_universe *universe, TupleDesc wanted,
						  const char *own)
{
	bool		same = wanted->natts == universe->naxes + (own ? 1 : 0);
	int			i;

	for (i = 0; same && i < universe->naxes; i++)
		same = column_matches(universe->axes[i], TupleDescAttr(wanted, i));
	if (same)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column list does not match the columns of the universe"),
			 errdetail("The list has (%s).", wanted_list(wanted)),
			 errhint("Write AS t(%s%s%s).",
					 dp_universe_columns_text(universe), own ? ", " : "",
					 own ? own : "")));
}
