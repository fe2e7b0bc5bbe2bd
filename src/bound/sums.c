/*
 * sums.c
 *	  Sums of what units add to an answer, for threads that choose.
 *
 * If the parts of a column are only added up, the sink may be given the sum of
 * several units' parts as one.
 */
#include "postgres.h"

#include "records.h"

/* Most numbers of a part. */
#define NUMBERS 3

/* Most bytes of the sums of all threads. */
#define SUMS ((Size) 2 * 1024 * 1024)

/* The sum for one group and column. */
typedef struct part_sum
{
	bool		any;			/* some unit has added one */
	int64		rows;
	dp_int128	numbers[NUMBERS];
} part_sum;

struct dp_bound_sums
{
	const dp_bound_spec *spec;
	part_sum   *sums;			/* columns of a group side by side */
};

/* Numbers of a column's part, without rows; -1: parts are not added up. */
static int
numbers_of(dp_bound_kind kind)
{
	switch (kind)
	{
		case DP_BOUND_COUNT:
			return 0;
		case DP_BOUND_SUM:
		case DP_BOUND_MEAN:
			return 1;
		case DP_BOUND_SQUARES:
			return 3;
		default:
			return -1;
	}
}

static Size
sums_bytes(const dp_bound_spec *spec)
{
	return sizeof(part_sum) * spec->groups * spec->ncolumns;
}

/*
 * dp_bound_sums_most
 *	  How many threads may have sums of their own: 0 if parts of some column
 *	  are not added up, or there are too many groups.
 */
int
dp_bound_sums_most(const dp_bound_spec *spec)
{
	int			i;

	for (i = 0; i < spec->ncolumns; i++)
		if (numbers_of(spec->columns[i].kind) < 0)
			return 0;
	if (spec->law != NULL || spec->ncolumns == 0 || spec->groups == 0 ||
		spec->groups > (int64) (SUMS / sizeof(part_sum)))
		return 0;
	return (int) Min(SUMS / sums_bytes(spec), DP_BOUND_HELPERS);
}

/*
 * dp_bound_sums_create
 *	  Sums of no parts, in the current context; dp_bound_sums_most must be
 *	  above 0.
 */
dp_bound_sums *
dp_bound_sums_create(const dp_bound_spec *spec)
{
	dp_bound_sums *sums = palloc(sizeof(dp_bound_sums));

	sums->spec = spec;
	sums->sums = palloc0(sums_bytes(spec));
	return sums;
}

/* dp_bound_sums_put: a dp_bound_sink that threads may call. */
void
dp_bound_sums_put(void *context, int64 group, int column,
				  const dp_bound_part *part)
{
	const dp_bound_sums *sums = context;
	int			n = numbers_of(sums->spec->columns[column].kind);
	part_sum   *sum = &sums->sums[group * sums->spec->ncolumns + column];
	int			i;

	sum->any = true;
	sum->rows += part->rows;
	for (i = 0; i < n; i++)
		sum->numbers[i] += part->numbers[i];
}

/* dp_bound_sums_give: to the sink of a job, each as a part; they are freed. */
void
dp_bound_sums_give(dp_bound_sums *sums, const dp_bound_job *job)
{
	const part_sum *sum = sums->sums;
	dp_bound_part part = {0};
	int64		group;
	int			column;

	for (group = 0; group < sums->spec->groups; group++)
		for (column = 0; column < sums->spec->ncolumns; column++, sum++)
		{
			if (!sum->any)
				continue;
			part.rows = sum->rows;
			memcpy(part.numbers, sum->numbers, sizeof(sum->numbers));
			job->sink(job->context, group, column, &part);
		}
	pfree(sums->sums);
	pfree(sums);
}
