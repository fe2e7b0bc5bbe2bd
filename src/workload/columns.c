/*
 * columns.c
 *	  Cells as rows of functions that return SETOF record.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
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
check_value(result_column *column, Datum value, bool isnull)
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
		check_value(&column, (Datum) 0, true);
	else
		for (i = 0; i < axis->size; i++)
		{
			CHECK_FOR_INTERRUPTS();
			value = dp_places_axis_value(axis, i, &isnull);
			check_value(&column, value, isnull);
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
