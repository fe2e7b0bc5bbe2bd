/*
 * condition_words.c
 *	  Conditions and weights of one row as words, for relations whose units
 *	  have many rows: each is evaluated for every row, and a unit's total is
 *	  bounded for each separately (src/bound).
 *
 * A condition is a bit and a weight a number of granules.  NULL counts as
 * false and as 0, as in dp_pg.count_conditions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "dp_count.h"

struct dp_condition_words
{
	int			n;
	int			bits;			/* conditions, in order */
	int			weights;		/* then weights, in order */
	int		   *total;			/* position of each among the totals */
	Oid		   *type;			/* base type of a weight, or InvalidOid */
	dp_weight_scale *scale;
};

/*
 * dp_count_words_check
 *	  54000 if n conditions and weights do not fit into a row of an inner
 *	  query.
 */
void
dp_count_words_check(int64 n)
{
	if (n > DP_CONDITION_WORDS_MOST)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many predicates for a relation whose "
						"units may have many rows"),
				 errdetail("There are " INT64_FORMAT ", and at most %d are "
						   "evaluated together.  Nothing was charged for it.",
						   n, DP_CONDITION_WORDS_MOST),
				 errhint("Ask about fewer at a time.")));
}

/*
 * dp_count_words_plan
 *	  Make the plan for a list of conditions and weights, in the current
 *	  context.
 *
 * Errors: those of dp_count_words_check.
 */
dp_condition_words *
dp_count_words_plan(const List *conditions)
{
	dp_condition_words *c = palloc0(sizeof(dp_condition_words));
	ListCell   *lc;
	int			i;

	c->n = list_length(conditions);
	dp_count_words_check(c->n);
	c->total = palloc(sizeof(int) * Max(c->n, 1));
	c->type = palloc0(sizeof(Oid) * Max(c->n, 1));
	c->scale = dp_count_weight_scale(0);
	foreach(lc, conditions)
	{
		i = foreach_current_index(lc);
		if (dp_block_is_weight(lfirst(lc)))
			c->type[i] = getBaseType(exprType(lfirst(lc)));
		else
			c->total[i] = c->bits++;
	}
	for (i = 0; i < c->n; i++)
		if (OidIsValid(c->type[i]))
			c->total[i] = c->bits + c->weights++;
	return c;
}

/* dp_count_words_bits: the number of conditions. */
int
dp_count_words_bits(const dp_condition_words *c)
{
	return c->bits;
}

/* dp_count_words_weights: the number of weights. */
int
dp_count_words_weights(const dp_condition_words *c)
{
	return c->weights;
}

/*
 * dp_count_words_pack
 *	  Pack a row: the words of its bits, then its weights as unsigned 32-bit
 *	  numbers (dp_bound.h, TOTALS).
 */
void
dp_count_words_pack(const dp_condition_words *c, const Datum *values,
					const bool *nulls, uint64 *words)
{
	int			nbits = (c->bits + 63) / 64;
	uint32	   *weights = (uint32 *) (words + nbits);
	int			i;

	memset(words, 0, sizeof(uint64) * (nbits + (c->weights + 1) / 2));
	for (i = 0; i < c->n; i++)
	{
		int			total = c->total[i];

		if (nulls[i])
			continue;
		if (OidIsValid(c->type[i]))
			weights[total - c->bits] = (uint32) dp_count_weigh(c->scale,
															   values[i],
															   c->type[i]);
		else if (DatumGetBool(values[i]))
			words[total / 64] |= UINT64CONST(1) << (total % 64);
	}
}

/*
 * dp_count_words_total: the position among the totals of the i-th of the list.
 */
int
dp_count_words_total(const dp_condition_words *c, int i)
{
	return c->total[i];
}
