/*
 * predicate_limit.c
 *	  The cost of a list of predicates: how many are evaluated for every row,
 *	  which is reported and limited before anything is charged.
 *
 * The time for a list is about that number times the number of rows.  The
 * first follows from the texts of the predicates; the second is private and
 * not reported.  Predicates that are counted together by tables
 * (condition_counts.c) cost almost nothing, whatever their number.
 */
#include "postgres.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../exact/dp_exact.h"
#include "dp_aggregates.h"

/* From this number on a call raises a NOTICE. */
#define WORTH_TELLING 100

/*
 * dp_aggregates_check_predicates
 *	  54000 if more than dp_pg.max_predicates_per_row of `all` predicates are
 *	  evaluated for every row; else a NOTICE if they are many and `tell` is
 *	  true.
 */
void
dp_aggregates_check_predicates(int64 evaluated, int64 all, bool tell)
{
	if (evaluated > dp_setting_max_predicates_per_row)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many predicates would be evaluated for every "
						"row"),
				 errdetail(INT64_FORMAT " of " INT64_FORMAT " would be, and "
						   "setting dp_pg.max_predicates_per_row is %d.  "
						   "Nothing was charged for it.", evaluated, all,
						   dp_setting_max_predicates_per_row),
				 errhint("Ask about fewer at a time.  Without GROUP BY, "
						 "conjunctions of comparisons of columns with "
						 "constants (=, IN, IS NULL) are not among these, "
						 "because they are counted together; "
						 "dp_predicate_cost shows how many predicates are.  A "
						 "superuser may raise "
						 "dp_pg.max_predicates_per_row.")));
	if (tell && evaluated > WORTH_TELLING)
		ereport(NOTICE,
				(errmsg(INT64_FORMAT " of " INT64_FORMAT " predicates are "
						"evaluated for every row", evaluated, all),
				 errdetail("This takes as long as that many counts with "
						   "FILTER in one query.")));
}

/* Sum over all lists of a block. */
static void
sum_up(const dp_release_spec *spec, int64 *evaluated, int64 *all)
{
	int			i;

	*evaluated = *all = 0;
	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];

		if (measure->ops->kind != DP_AGG_CONDITIONS)
			continue;
		*evaluated += measure->evaluated;
		*all += measure->ncells;
	}
}

/*
 * dp_aggregates_check_cost
 *	  The same for a block: all its lists are evaluated in one scan.
 */
void
dp_aggregates_check_cost(const dp_release_spec *spec, bool tell)
{
	int64		evaluated;
	int64		all;

	sum_up(spec, &evaluated, &all);
	if (spec->many)
		dp_exact_words_check(all);
	dp_aggregates_check_predicates(evaluated, all, tell);
}

/*
 * dp_aggregates_cost_text: "3 of 4 predicates"; NULL if the block has no list.
 */
char *
dp_aggregates_cost_text(const dp_release_spec *spec)
{
	int64		evaluated;
	int64		all;

	sum_up(spec, &evaluated, &all);
	return all == 0 ? NULL : psprintf(INT64_FORMAT " of " INT64_FORMAT
									  " predicates", evaluated, all);
}
