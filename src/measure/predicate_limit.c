/*
 * predicate_limit.c
 *	  What a list of predicates costs: how many of them are evaluated for every
 *	  row, which is told and limited before anything is charged.
 *
 * The time that a list takes is about that number times the number of rows.
 * The first follows from the texts of the predicates alone; the second is
 * private, and nothing is said of it.  Predicates that are counted together by
 * tables (condition_counts.c) cost next to nothing, however many they are.
 */
#include "postgres.h"

#include "dp_measure.h"

/* From so many on a call says so. */
#define WORTH_TELLING 100

/*
 * dp_measure_check_predicates
 *	  54000 when more than dp_pg.max_predicates_per_row of `all` predicates are
 *	  evaluated for every row; else a NOTICE when they are many and `tell`.
 */
void
dp_measure_check_predicates(int64 evaluated, int64 all, bool tell)
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

/* Over all lists of a block. */
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
 * dp_measure_check_cost
 *	  The same of a block: all its lists are evaluated in one scan.
 */
void
dp_measure_check_cost(const dp_release_spec *spec, bool tell)
{
	int64		evaluated;
	int64		all;

	sum_up(spec, &evaluated, &all);
	if (spec->many)
		dp_count_words_check(all);
	dp_measure_check_predicates(evaluated, all, tell);
}

/* dp_measure_cost_text: "3 of 4 predicates"; NULL: the block has no list. */
char *
dp_measure_cost_text(const dp_release_spec *spec)
{
	int64		evaluated;
	int64		all;

	sum_up(spec, &evaluated, &all);
	return all == 0 ? NULL : psprintf(INT64_FORMAT " of " INT64_FORMAT
									  " predicates", evaluated, all);
}
