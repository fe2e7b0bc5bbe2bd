/*
 * large_keys.c
 *	  Public keys with more values than groups are allowed.
 *
 * Every combination of public keys is a row of the answer.  If these are more
 * than dp_pg.max_groups, and a delta is set, the keys with the most values are
 * released by threshold, as undeclared ones are, until the combinations of the
 * others fit; of keys with equally many values the first one goes first
 * (doc/theory.md T133).  The choice is public: it depends on the values that
 * WHERE leaves and on settings.
 *
 * The set of values stays as declared: a row with another value is in no
 * group, or in that of `other` (measure/told_name.c).
 */
#include "postgres.h"

#include "run.h"

/* Number of groups of the keys that are not large, at most PG_INT64_MAX. */
static int64
count_groups(const dp_release_spec *spec)
{
	int64		groups = 1;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		if (dp_places_domain_size(spec->domains[i]) == 0)
			return 0;
	for (i = 0; i < spec->nkeys; i++)
		if (!spec->large[i] &&
			__builtin_mul_overflow(groups,
								   dp_places_domain_size(spec->domains[i]),
								   &groups))
			return PG_INT64_MAX;
	return groups;
}

/* The first of the keys with the most values. */
static int
find_largest(const dp_release_spec *spec)
{
	int64		most = 0;
	int			largest = 0;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		int64		size = dp_places_domain_size(spec->domains[i]);

		if (spec->large[i] || size <= most)
			continue;
		most = size;
		largest = i;
	}
	return largest;
}

/* The numbers of values of the keys, such as "5 * 366 * 24". */
static char *
sizes_text(const dp_release_spec *spec)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < spec->nkeys; i++)
		appendStringInfo(&text, "%s" INT64_FORMAT, i > 0 ? " * " : "",
						 dp_places_domain_size(spec->domains[i]));
	return text.data;
}

static void
raise_too_many(const dp_release_spec *spec)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("query has too many public groups"),
			 errdetail("Every combination of public keys returns a row; "
					   "there are %s of them, and setting dp_pg.max_groups "
					   "is %d.", sizes_text(spec), dp_setting_max_groups),
			 dp_setting_delta[0] != '\0' ?
			 errhint("Group by fewer keys or narrower bounds.") :
			 errhint("Group by fewer keys or narrower bounds.  Or SET "
					 "dp_pg.delta, as in '1e-9': keys that enough units have "
					 "are then released by threshold, for one more epsilon "
					 "and the delta.")));
}

/* Condition lists are not counted in groups with names (bounder.c). */
static bool
can_be_told(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->values)
		if (((const dp_value *) lfirst(lc))->kind == DP_AGG_CONDITIONS)
			return false;
	return dp_setting_delta[0] != '\0';
}

/*
 * dp_run_find_large_keys
 *	  Set which keys are released by threshold because of their size, and how
 *	  many groups the others have.  The domains are known.
 *
 * Errors: 54000 too many groups and no delta.  Source: doc/theory.md T133.
 */
void
dp_run_find_large_keys(dp_release_spec *spec)
{
	spec->large = palloc0(sizeof(bool) * Max(spec->nkeys, 1));
	spec->undeclared = dp_block_has_undeclared(spec->block);
	spec->groups = count_groups(spec);
	while (spec->groups > dp_setting_max_groups)
	{
		if (!can_be_told(spec->block))
			raise_too_many(spec);
		spec->large[find_largest(spec)] = true;
		spec->undeclared = true;
		spec->groups = count_groups(spec);
	}
	if (spec->undeclared)
		spec->block = dp_block_tell_keys(spec->block);
}

static bool
has_large_keys(const dp_release_spec *spec)
{
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		if (spec->large[i])
			return true;
	return false;
}

/*
 * dp_run_share
 *	  Each value of the release with the default price gets one of this many
 *	  shares of dp_pg.split.
 *
 * It was counted before it was known that keys would be released by threshold:
 * if they are, the values and the decision together take what the values alone
 * would have taken.
 */
int
dp_run_share(const dp_release_spec *spec)
{
	int			share = spec->block->share;
	int			n = Max(dp_measure_count_default(spec->block), 1);

	if (!has_large_keys(spec) || dp_block_has_undeclared(spec->block))
		return share;
	return share + (Max(share, 1) + n - 1) / n;
}

/*
 * dp_run_large_text
 *	  The large keys, for EXPLAIN; NULL if there are none.
 */
char *
dp_run_large_text(const dp_release_spec *spec)
{
	StringInfoData text;
	int			i;

	if (!has_large_keys(spec))
		return NULL;
	initStringInfo(&text);
	for (i = 0; i < spec->nkeys; i++)
	{
		const TargetEntry *key = list_nth(spec->block->inner->targetList, i);

		if (spec->large[i])
			appendStringInfo(&text, "%s%s with " INT64_FORMAT " values",
							 text.len > 0 ? ", " : "", key->resname,
							 dp_places_domain_size(spec->domains[i]));
	}
	appendStringInfo(&text, ": released by threshold, because "
					 "dp_pg.max_groups is %d", dp_setting_max_groups);
	return text.data;
}
