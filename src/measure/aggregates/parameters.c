/*
 * parameters.c
 *	  The parameters of an aggregate: which ones are given, and their values.
 *
 * A measurement lists the forms of its aggregate, with one letter for each
 * parameter after the argument, or the two of a pair; the number of parameters
 * identifies the form.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* ----------------
 *		The price of a released value without one of its own; dp_pg.split
 *		divides it.
 * ----------------
 */

/*
 * dp_aggregates_default_price
 *	  The default price of one of `share` values: dp_pg.epsilon, or with
 *	  dp_pg.split an equal part of it, rounded down so that the parts never
 *	  exceed the whole.
 */
dp_rational
dp_aggregates_default_price(int share)
{
	dp_rational whole =
	dp_base_check_price(dp_base_text_to_numeric(dp_setting_epsilon), false,
						"epsilon");
	dp_fixed	part;

	if (!dp_base_splits() || share <= 1)
		return whole;
	dp_base_check_status(dp_accounting_fixed_from_rational(&whole,
														   DP_ROUND_DOWN,
														   &part),
						 "split epsilon");
	part /= (dp_fixed) share;
	return dp_base_check_price(dp_base_fixed_to_numeric(part), false,
							   "a part of dp_pg.epsilon");
}

/* dp_aggregates_take_quarters: so many quarters of a price. */
void
dp_aggregates_take_quarters(int quarters, dp_rational *price)
{
	const dp_rational part = {quarters, 4};

	dp_base_check_status(dp_numbers_rational_multiply(price, &part, price),
						 "divide a price");
}

/*
 * dp_aggregates_form
 *	  The form that the call uses: as many letters as it has parameters.
 *
 * Errors: 42883 when there is none.
 */
const char *
dp_aggregates_form(const dp_measure_ops *ops, const Aggref *aggregate)
{
	int			n = Max(list_length(aggregate->args) -
						dp_catalog_row_arguments(ops->kind), 0);
	int			i;

	for (i = 0; ops->forms[i] != NULL; i++)
		if (strlen(ops->forms[i]) == n)
			return ops->forms[i];
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("dp_%s has no form with %d parameters", ops->name, n),
			 errhint("After its columns come %sall bounds or none, then "
					 "epsilon or not.",
					 strchr(ops->forms[0], 'f') ? "the fraction, " : "")));
	return NULL;
}

/* dp_aggregates_parameter: the n-th parameter. */
Expr *
dp_aggregates_parameter(const dp_measure_ops *ops, const Aggref *aggregate,
						int n)
{
	return list_nth_node(TargetEntry, aggregate->args,
						 n + dp_catalog_row_arguments(ops->kind))->expr;
}

/* A number, date or time as numeric; NULL for SQL NULL. */
static Numeric
number_value(Expr *expression, const Const *constant)
{
	Oid			type = getBaseType(exprType((Node *) expression));
	Datum		value = constant->constvalue;

	if (constant->constisnull)
		return NULL;
	switch (type)
	{
		case NUMERICOID:
			return DatumGetNumeric(value);
		case INT2OID:
			return int64_to_numeric(DatumGetInt16(value));
		case INT4OID:
			return int64_to_numeric(DatumGetInt32(value));
		case INT8OID:
			return int64_to_numeric(DatumGetInt64(value));
		case FLOAT4OID:
			return dp_base_float4_to_numeric(DatumGetFloat4(value));
		case FLOAT8OID:
			return dp_base_float8_to_numeric(DatumGetFloat8(value));
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return dp_domains_time_numeric(value, type);
		default:
			elog(ERROR, "unexpected parameter type %u", type);
	}
	return NULL;
}

static void
forbid_null(const dp_measure *measure, char letter)
{
	if (strchr("luLU", letter) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds of dp_%s must not be NULL",
						measure->ops->name),
				 errhint("%s", strchr(measure->ops->forms[0], 'l') ?
						 "Give two values of the column's type." :
						 "Give numbers, or leave both bounds out to use "
						 "declared ones.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s of dp_%s must not be NULL",
					letter == 'f' ? "fraction" : "number",
					measure->ops->name),
			 errhint("Give a number.")));
}

/* A single number is the price, although a bound may have been meant. */
static const char *
price_name(const dp_measure *measure)
{
	const char *const *forms = measure->ops->forms;
	int			i;

	for (i = 0; measure->form[1] == '\0' && forms[i] != NULL; i++)
		if (strchr(forms[i], 'l') != NULL)
			return psprintf("epsilon, the only parameter of dp_%s here,",
							measure->ops->name);
	return "epsilon";
}

/*
 * dp_aggregates_set_parameters
 *	  Set the call's parameters from their values, which measure->arguments
 *	  has in the order of its form; `share` releases divide the default price;
 *	  *location receives the query position of the current one.
 *
 * Errors: 22023 for a NULL where a value is needed and for a bad epsilon.
 */
void
dp_aggregates_set_parameters(dp_measure *measure, int share, int *location)
{
	const char *form = measure->form;
	bool		priced = false;
	int			i;

	for (i = 0; form[i] != '\0'; i++)
	{
		Expr	   *expression = dp_aggregates_parameter(measure->ops,
														 measure->aggregate,
														 i);
		const Const *value = list_nth_node(Const, measure->arguments, i);
		Numeric		number;

		*location = exprLocation((Node *) expression);
		if (form[i] == 'c')
		{
			if (!value->constisnull)
				measure->candidates =
					DatumGetArrayTypePCopy(value->constvalue);
			continue;
		}
		number = number_value(expression, value);
		if (number == NULL && form[i] != 'e')
			forbid_null(measure, form[i]);
		switch (form[i])
		{
			case 'l':
				measure->lower = number;
				break;
			case 'u':
				measure->upper = number;
				break;
			case 'L':
				measure->second.lower = number;
				break;
			case 'U':
				measure->second.upper = number;
				break;
			case 'f':
				measure->fraction = number;
				break;
			case 'n':
				measure->number = number;
				break;
			case 'e':
				measure->epsilon = dp_base_check_price(number,
													   number == NULL,
													   price_name(measure));
				priced = true;
				break;
			default:
				elog(ERROR, "unexpected parameter letter %c", form[i]);
		}
	}
	if (!priced)
		measure->epsilon = dp_aggregates_default_price(share);
}

/*
 * dp_aggregates_number
 *	  The parameter 'n' as an integer of [least, most]; 22023 otherwise.
 */
int64
dp_aggregates_number(const dp_measure *measure, int64 least, int64 most,
					 const char *what)
{
	dp_int128	number = 0;

	if (measure->number == NULL ||
		!dp_base_numeric_to_int128(measure->number, &number) ||
		number < least || number > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of dp_%s must be an integer between " INT64_FORMAT
						" and " INT64_FORMAT, what, measure->ops->name, least,
						most),
				 errhint("Choose another number.")));
	return (int64) number;
}
