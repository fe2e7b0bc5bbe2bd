/*
 * distinct_count.c
 *	  dp_pg.distinct_count: the exact aggregate behind dp_count(DISTINCT x).
 *
 * PostgreSQL sorts the values of each group, with memory and temporary files
 * that depend on them.  Here a value becomes a 128-bit digest: hashes of its
 * bytes, which are equal exactly for equal values (places/value_bytes.c),
 * under two secret seeds drawn for each run; for integers two bijections, so
 * that no two share a digest.  Digests are kept in bounded memory
 * (digest_set.c).  A fixed map of values keeps every sensitivity
 * (doc/theory.md T41); two values with the same digest, which occur among 2^40
 * values with probability 2^-49, reduce the count by one.
 *
 * All groups of an aggregate share one set: counts are valid when its first
 * group is finished, because no group gets rows after that; if groups arrive
 * one after another (sorted), the set begins anew for each.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../places/dp_value_bytes.h"
#include "digest_set.h"
#include "dp_count.h"

#define LONG_VALUE (1024 * 1024)

typedef struct distinct_spec
{
	int32		vl_len_;
	int32		way;			/* dp_read_way */
	int32		varlena;		/* its values may be long */
	int64		memory;
} distinct_spec;

/* State of a call site. */
typedef struct distinct_site
{
	dp_read_way way;
	uint64		seeds[2];
	dp_digest_set *set;
	bool		varlena;
} distinct_site;

/* State of a group. */
typedef struct distinct_state
{
	dp_digest_owner owner;		/* first */
	distinct_site *site;
	bool		finished;
} distinct_state;

PG_FUNCTION_INFO_V1(dp_distinct_add);
PG_FUNCTION_INFO_V1(dp_distinct_final);

static pg_noinline distinct_site *
make_site(FunctionCallInfo fcinfo)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	distinct_site *site = MemoryContextAllocZero(context,
												 sizeof(distinct_site));
	const distinct_spec *spec;

	dp_count_check_call_site(fcinfo);
	spec = (const distinct_spec *) PG_GETARG_POINTER(2);
	site->way = spec->way;
	dp_bridge_check_status(dp_mech_random_bytes(dp_bridge_source(),
												site->seeds,
												sizeof(site->seeds)),
						   "draw seeds");
	site->varlena = spec->varlena;
	site->set = dp_count_digests_new(context, (Size) spec->memory);
	fcinfo->flinfo->fn_extra = site;
	return site;
}

static inline uint64
hash(const dp_value_bytes *read, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) read->bytes,
							   (int) read->length, seed);
}

/* A bijection, since each step is one (the finalizer of SplitMix64). */
static inline uint64
scatter(uint64 x)
{
	x = (x ^ (x >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline void
add(distinct_site *site, dp_digest_owner *owner, Datum value)
{
	dp_value_bytes read;
	int64		x;

	if (dp_places_read_integer(site->way, value, &x))
	{
		dp_count_digests_add(site->set, owner,
							 scatter((uint64) x ^ site->seeds[0]),
							 scatter((uint64) x ^ site->seeds[1]));
		return;
	}
	dp_places_read_bytes(site->way, value, &read);
	dp_count_digests_add(site->set, owner, hash(&read, site->seeds[0]),
						 hash(&read, site->seeds[1]));
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
}

/* As in dp_pg.short_value, values of more than 1 MB count as NULL. */
static inline bool
is_long(const distinct_site *site, Datum value)
{
	return site->varlena &&
		toast_raw_datum_size(value) - VARHDRSZ > LONG_VALUE;
}

/* dp_distinct_add: transition function (state, x, spec) -> state. */
Datum
dp_distinct_add(PG_FUNCTION_ARGS)
{
	distinct_site *site = fcinfo->flinfo->fn_extra;
	distinct_state *state;
	MemoryContext context;

	if (unlikely(site == NULL))
		site = make_site(fcinfo);
	if (PG_ARGISNULL(0))
	{
		dp_bridge_require_aggregate(fcinfo, &context);
		state = MemoryContextAllocZero(context, sizeof(distinct_state));
		state->site = site;
		dp_count_digests_own(site->set, &state->owner);
	}
	else
		state = (distinct_state *) PG_GETARG_POINTER(0);
	if (!PG_ARGISNULL(1) && !is_long(site, PG_GETARG_DATUM(1)))
		add(site, &state->owner, PG_GETARG_DATUM(1));
	PG_RETURN_POINTER(state);
}

static void
finish(distinct_state *state)
{
	dp_digest_owner *owner = dp_count_digests_owners(state->site->set);

	dp_count_digests_finish(state->site->set);
	for (; owner != NULL; owner = owner->next)
		((distinct_state *) owner)->finished = true;
}

/* dp_distinct_final: final function (state) -> bigint; 0 without rows. */
Datum
dp_distinct_final(PG_FUNCTION_ARGS)
{
	distinct_state *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(0);
	state = (distinct_state *) PG_GETARG_POINTER(0);
	if (!state->finished)
		finish(state);
	PG_RETURN_INT64(state->owner.distinct);
}

/* ---- for measurements ---- */

/*
 * dp_count_check_distinct
 *	  Check that distinct values of this base type can be counted, by
 *	  `collections` aggregates.
 *
 * Errors: 0A000 values of the type cannot be read as bytes, 54000 too many
 * aggregates for the memory.
 */
void
dp_count_check_distinct(Oid type, int collections)
{
	if (dp_places_read_way(type) == DP_READ_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("distinct values of type %s cannot be counted",
						format_type_be(type)),
				 errdetail("Only functions of the type decide which of its "
						   "values are equal."),
				 errhint("Cast the argument to text or to a number.")));
	if (collections > DP_DISTINCT_MEMORY / DP_DIGEST_MEMORY_LEAST)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query has too many aggregates that keep values"),
				 errdetail("It has %d with DISTINCT, quantiles and medians; "
						   "with DISTINCT at most %d are possible.",
						   collections,
						   (int) (DP_DISTINCT_MEMORY /
								  DP_DIGEST_MEMORY_LEAST)),
				 errhint("Ask in several queries.")));
}

/*
 * dp_count_distinct
 *	  The exact number of distinct values of the argument, which is of this
 *	  base type; `collections` aggregates share the memory.
 *
 * Errors: as dp_count_check_distinct.
 */
Aggref *
dp_count_distinct(const Aggref *asked, Oid type, int collections)
{
	distinct_spec *spec = palloc0(sizeof(distinct_spec));

	dp_count_check_distinct(type, collections);
	spec->way = dp_places_read_way(type);
	spec->varlena = get_typlen(type) == -1;
	spec->memory = (int64) (DP_DISTINCT_MEMORY / collections);
	return linitial(dp_count_exact(asked, "distinct_count", ANYELEMENTOID,
								   dp_places_tally_spec_const(spec,
															  sizeof(*spec)),
								   INT8OID));
}

/* ---- digests that are made elsewhere ---- */

struct dp_distinct_groups
{
	dp_digest_set *set;
	int64		groups;
	dp_digest_owner *owners;
};

/*
 * dp_count_distinct_create: create the sets without digests, in the current
 * context.
 */
dp_distinct_groups *
dp_count_distinct_create(int64 groups, int collections)
{
	dp_distinct_groups *distinct = palloc0(sizeof(dp_distinct_groups));
	int64		i;

	distinct->set = dp_count_digests_new(CurrentMemoryContext,
										 DP_DISTINCT_MEMORY / collections);
	distinct->groups = groups;
	distinct->owners = palloc_extended(sizeof(dp_digest_owner) * groups,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (i = 0; i < groups; i++)
		dp_count_digests_own(distinct->set, &distinct->owners[i]);
	return distinct;
}

/* dp_count_distinct_put: add a digest of a group, possibly repeated. */
void
dp_count_distinct_put(dp_distinct_groups *distinct, int64 group, uint64 high,
					  uint64 low)
{
	dp_count_digests_add(distinct->set, &distinct->owners[group], high, low);
}

/* dp_count_distinct_finish: complete the counts. */
void
dp_count_distinct_finish(dp_distinct_groups *distinct)
{
	dp_count_digests_finish(distinct->set);
}

/* dp_count_distinct_of: the number of distinct digests of a group. */
int64
dp_count_distinct_of(const dp_distinct_groups *distinct, int64 group)
{
	return distinct->owners[group].distinct;
}
