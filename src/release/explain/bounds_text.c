/*
 * bounds_text.c
 *	  How much of a unit counts in a release, who says so, and what that leaves
 *	  out, in words.  All of it is public or released.
 */
#include "postgres.h"

#include <math.h>

#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../joined/dp_joined.h"
#include "../prepare/dp_prepare.h"
#include "explain_internal.h"

/* ", max_keys": the names of the bounds from there; "" if none is. */
static char *
bounds_from(const dp_unit_bounds *b, dp_bound_origin from)
{
	return psprintf("%s%s%s", b->total_from == from ? ", max_total" : "",
					b->keys_from == from ? ", max_keys" : "",
					b->rows_from == from ? ", max_rows" : "");
}

/* " (max_total declared for orders; max_keys set)", or "". */
static char *
bounds_origin_text(const dp_unit_bounds *b)
{
	static const struct
	{
		dp_bound_origin from;
		const char *text;
		const char *of;			/* before the relation's name */
	}			origins[] = {
		{DP_BOUND_PROFILE, "from the profile", "of"},
		{DP_BOUND_DECLARED, "declared", "for"},
		{DP_BOUND_SET, "set"},
		{DP_BOUND_MEASURED, "measured"}
	};
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < lengthof(origins); i++)
	{
		const char *bounds = bounds_from(b, origins[i].from);

		if (bounds[0] == '\0')
			continue;
		appendStringInfo(&text, "%s%s %s", text.len > 0 ? "; " : "",
						 bounds + strlen(", "), origins[i].text);
		if (origins[i].of != NULL && OidIsValid(b->declared))
			appendStringInfo(&text, " %s %s", origins[i].of,
							 get_rel_name(b->declared));
	}
	return text.len > 0 ? psprintf(" (%s)", text.data) : "";
}

/* dp_explain_unit_bounds: how much of a unit with many rows counts. */
char *
dp_explain_unit_bounds(const dp_release_spec *spec)
{
	dp_unit_bounds b = {0};
	bool		grouped = spec->nkeys > 0 || spec->block->crossing != NIL;
	char	   *text;

	if (!spec->block->single)
		b = spec->measuring == NULL ? spec->bounds :
			dp_prepare_use_measured(&spec->measuring->bounds);
	if (spec->measuring != NULL && spec->measuring->total == 0)
		return "max_total is measured when the query runs; errors are for "
			"one row of a unit, and as many times as large as rows count";
	if (!grouped)
		b.keys_from = DP_BOUND_IMPLIED;
	if (!grouped && b.rows_from != DP_BOUND_IMPLIED &&
		b.rows <= b.total)
		b.total_from = DP_BOUND_IMPLIED;
	else if (!grouped)
		b.rows_from = DP_BOUND_IMPLIED;
	b.rows = spec->max_rows;
	b.keys = spec->max_keys;
	b.total = spec->max_total;
	if (dp_joined_counts_rows(spec->block))
		text = dp_protect_bounds_text(&b, grouped);
	else if (spec->nkeys == 0)
		return "a unit counts once";
	else
		text = psprintf("a unit counts once in each of at most " INT64_FORMAT
						" group%s", b.keys, b.keys == 1 ? "" : "s");
	return psprintf("%s%s%s%s", text, spec->undeclared && spec->max_keys > 1 ?
					", and no more than are released" : "",
					spec->block->others != NIL ?
					", by the keys of all sets" : "",
					bounds_origin_text(&b));
}

/* Rounded to three digits, since it is an estimate. */
static double
about(double x)
{
	double		unit = pow(10, Max(0, floor(log10(Max(x, 1))) - 2));

	return rint(x / unit) * unit;
}

/*
 * dp_explain_left_out
 *	  "about 900 of 4000 rows (23%), and the rows beyond 50 of up to 90 units",
 *	  of what the profile knows.
 */
char *
dp_explain_left_out(const dp_left_out *left)
{
	return psprintf("about %.0f of %.0f rows (%.0f%%), and the rows beyond "
					"%.0f of up to %.0f unit%s", about(left->rows),
					about(left->all), 100 * left->rows / left->all,
					left->known, left->units, left->units == 1 ? "" : "s");
}

/*
 * dp_explain_notice_left_out
 *	  Raise a NOTICE, once in a connection for each relation, if by its profile
 *	  the bounds may leave out more than 5% of its rows.
 */
void
dp_explain_notice_left_out(const dp_release_spec *spec)
{
	const dp_left_out *left = &spec->left_out;
	double		unseen = (double) spec->max_total > 2 * left->known ? 0 :
		left->units * left->known;

	if (left->all <= 0 || left->rows + unseen <= .05 * left->all ||
		dp_prepare_is_free(spec) || client_min_messages > NOTICE ||
		!dp_base_first_time(DP_FIRST_LEFT_OUT, spec->block->relid))
		return;
	ereport(NOTICE,
			(errmsg("rows of relation \"%s\" are left out: %s",
					get_rel_name(spec->block->relid),
					dp_explain_left_out(left)),
			 errdetail("By its profile, before WHERE: %s.  The error that is "
					   "said of values is that of the noise, and does not "
					   "cover it.", dp_explain_unit_bounds(spec)),
			 errhint("To count more rows of a unit, with more noise: SET "
					 "dp_pg.max_total = " INT64_FORMAT ";%s",
					 Min(2 * spec->max_total, PG_INT32_MAX),
					 spec->nkeys == 0 ?
					 "  Numbers of units leave out none." :
					 psprintf("  SET dp_pg.max_keys = " INT64_FORMAT ";",
							  Min(2 * spec->max_total, PG_INT32_MAX)))));
}
