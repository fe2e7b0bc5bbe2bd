/*
 * distinct_count.c
 *	  dp_pg.distinct_count: the exact aggregate behind dp_count(DISTINCT x).
 *
 * PostgreSQL sorts the values of each group, with memory and temporary files
 * that depend on them.  Here a value becomes a 128-bit digest: hashes of its
 * bytes, which are equal exactly for equal values (domains/tally.c), under two
 * secret seeds drawn for each run; for integers two bijections, so that no two
 * share a digest.  Digests are kept in bounded memory.  A fixed map of values
 * keeps every sensitivity (doc/theory.md T41); two values with the same
 * digest, which occur among 2^40 values with probability 2^-49, reduce the
 * count by one.
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
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "dp_exact.h"
#include "exact_internal.h"

/* Memory of one set, at least; a public constant. */
#define DP_DIGEST_MEMORY_LEAST ((Size) 1024 * 1024)

/* An owner of values; `distinct` is valid once the set is finished. */
typedef struct dp_digest_owner
{
	int64		distinct;
	uint64		mix;			/* private to the set */
	struct dp_digest_owner *next;	/* set by the set */
} dp_digest_owner;

typedef struct dp_digest_set dp_digest_set;

/* ----------------
 *		Counts the distinct digests of each owner, for count(DISTINCT).
 *
 * A hash table with open addressing takes digests until it is as large as its
 * memory allows.  Then they are written, sorted, as one run to a file, and the
 * table is emptied; at the end the runs are merged, and equal digests count
 * once.  The place of a digest is given by its highest bits, so the table is
 * nearly sorted.  Digests are inserted in small groups, so that the places of
 * a group are prefetched together.  The merge reads runs into the table's
 * memory.
 *
 * The size of runs on disk depends on private rows and must not be visible:
 * they are in the process's scratch file (base/scratch.c), one for all sets.
 * A full disk is an error, and a documented residue.
 * ----------------
 */

#define FIRST_CAPACITY 1024
#define BLOCK 2730				/* entries read at once, about 64 kB */
#define BLOCK_LEAST 16			/* if there are very many runs */
#define WAITING 32				/* entries of a group */
#define SHIFTS 16				/* per entry, until sorting is better */

/* Free if it has no owner. */
typedef struct entry
{
	uint64		high;			/* mixed with the owner */
	uint64		low;
	dp_digest_owner *owner;
} entry;

/* Sorted entries in the file, read block by block. */
typedef struct run
{
	off_t		next;			/* next byte to read */
	off_t		end;
	entry	   *block;
	int			room;			/* capacity of the block */
	int			n;				/* entries in it */
	int			at;
} run;

struct dp_digest_set
{
	MemoryContext context;
	entry	   *entries;
	uint64		capacity;		/* a power of two */
	int			shift;			/* 64 - log2(capacity) */
	uint64		most;			/* largest capacity that memory allows */
	uint64		used;
	entry		waiting[WAITING];
	int			nwaiting;
	dp_digest_owner *owners;
	uint64		owned;			/* number of owners so far */
	int			nruns;			/* above 0: the file is used */
	int			room;			/* capacity for runs */
	run		   *runs;
};

/* Called when the set's runs are no longer needed. */
static void
distinct_count_leave_file(void *arg)
{
	dp_digest_set *set = arg;

	if (set->nruns > 0)
		dp_base_scratch_leave();
	set->nruns = 0;
}

/* ---- the table ---- */

static void
distinct_count_set_capacity(dp_digest_set *set, uint64 capacity)
{
	set->capacity = capacity;
	set->shift = 64 - pg_leftmost_one_pos64(capacity);
	set->entries = MemoryContextAllocExtended(set->context,
											  sizeof(entry) * capacity,
											  MCXT_ALLOC_HUGE |
											  MCXT_ALLOC_ZERO);
}

/* The place of a digest, or a free place for it. */
static inline entry *
find(const dp_digest_set *set, const entry *wanted)
{
	uint64		i = wanted->high >> set->shift;

	while (set->entries[i].owner != NULL &&
		   (set->entries[i].high != wanted->high ||
			set->entries[i].low != wanted->low ||
			set->entries[i].owner != wanted->owner))
		i = (i + 1) & (set->capacity - 1);
	return &set->entries[i];
}

static void
grow(dp_digest_set *set)
{
	entry	   *old = set->entries;
	uint64		n = set->capacity;
	uint64		i;

	distinct_count_set_capacity(set, n * 2);
	for (i = 0; i < n; i++)
		if (old[i].owner != NULL)
			*find(set, &old[i]) = old[i];
	pfree(old);
}

static inline int
distinct_count_compare_entries(const entry *a, const entry *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE entry
#define ST_COMPARE(a, b) distinct_count_compare_entries(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Insertion sort, for entries of which few are far from their place; falls
 * back.
 */
static void
sort_nearly_sorted(entry *entries, uint64 n)
{
	uint64		shifts = 0;
	uint64		i;

	for (i = 1; i < n && shifts <= n * SHIFTS; i++)
	{
		entry		moved = entries[i];
		uint64		j = i;

		for (; j > 0 && distinct_count_compare_entries(&entries[j - 1],
													   &moved) > 0; j--)
			entries[j] = entries[j - 1];
		entries[j] = moved;
		shifts += i - j;
	}
	if (i < n)
		sort_entries(entries, n);
}

/*
 * Move all entries to the front of the table, in order; returns their number.
 * Those before the first free place may have wrapped around from the end.
 */
static uint64
sort_table(dp_digest_set *set)
{
	uint64		n = 0;
	uint64		first = 0;
	uint64		i;
	entry	   *from_end;

	while (set->entries[first].owner != NULL)
		first++;
	from_end = palloc(sizeof(entry) * (first + 1));
	memcpy(from_end, set->entries, sizeof(entry) * first);
	for (i = first; i < set->capacity; i++)
		if (set->entries[i].owner != NULL)
			set->entries[n++] = set->entries[i];
	memcpy(&set->entries[n], from_end, sizeof(entry) * first);
	pfree(from_end);
	sort_nearly_sorted(set->entries, n + first);
	return n + first;
}

/* Write the table as a run and empty it. */
static void
write_run(dp_digest_set *set)
{
	uint64		n;
	run		   *r;

	n = sort_table(set);
	if (set->nruns == set->room)
	{
		set->room = Max(16, set->room * 2);
		set->runs = set->runs == NULL ?
			MemoryContextAlloc(set->context, sizeof(run) * set->room) :
			repalloc(set->runs, sizeof(run) * set->room);
	}
	if (set->nruns == 0)
		dp_base_scratch_use();		/* so that leave_file has something to
									 * undo */
	r = &set->runs[set->nruns++];
	r->next = dp_base_scratch_append(set->entries, sizeof(entry) * n);
	r->end = r->next + (off_t) (sizeof(entry) * n);
	memset(set->entries, 0, sizeof(entry) * set->capacity);
	set->used = 0;
}

/*
 * digests_new
 *	  A set of at most `memory` bytes, and a little for each run, in a context
 *	  that is deleted with it; at least DP_DIGEST_MEMORY_LEAST.
 */
static dp_digest_set *
digests_new(MemoryContext context, Size memory)
{
	dp_digest_set *set = MemoryContextAllocZero(context,
												sizeof(dp_digest_set));
	MemoryContextCallback *callback =
	MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	set->context = context;
	callback->func = distinct_count_leave_file;
	callback->arg = set;
	MemoryContextRegisterResetCallback(context, callback);

	/* Growing needs the old table in addition to the new one. */
	set->most = FIRST_CAPACITY;
	while (set->most * 2 * sizeof(entry) * 3 / 2 <=
		   Max(memory, DP_DIGEST_MEMORY_LEAST))
		set->most *= 2;
	distinct_count_set_capacity(set, FIRST_CAPACITY);
	return set;
}

/* digests_own: add an owner, in memory of the caller. */
static void
digests_own(dp_digest_set *set, dp_digest_owner *owner)
{
	set->owned++;
	owner->mix = DatumGetUInt64(
		hash_any_extended((const unsigned char *) &set->owned,
						  sizeof(set->owned), 0));
	owner->distinct = 0;
	owner->next = set->owners;
	set->owners = owner;
}

static inline void
insert(dp_digest_set *set, const entry *wanted)
{
	entry	   *place = find(set, wanted);

	if (place->owner != NULL)
		return;
	*place = *wanted;
	wanted->owner->distinct++;
	set->used++;
	if (unlikely(set->used > set->capacity / 4 * 3))
	{
		if (set->capacity < set->most)
			grow(set);
		else
			write_run(set);
	}
}

static void
insert_waiting(dp_digest_set *set)
{
	int			i;

	for (i = 0; i < set->nwaiting; i++)
		insert(set, &set->waiting[i]);
	set->nwaiting = 0;
}

/*
 * digests_add
 *	  Add a digest of an owner's value.  The owner's count is valid when the
 *	  set is finished.
 */
static void
digests_add(dp_digest_set *set, dp_digest_owner *owner, uint64 high,
			uint64 low)
{
	entry	   *wanted = &set->waiting[set->nwaiting];

	/* so that equal values of many owners have different places */
	wanted->high = high ^ owner->mix;
	wanted->low = low;
	wanted->owner = owner;
	__builtin_prefetch(&set->entries[wanted->high >> set->shift]);
	if (++set->nwaiting == WAITING)
		insert_waiting(set);
}

/* digests_owners: the first of its owners, linked by `next`, or NULL. */
static dp_digest_owner *
digests_owners(dp_digest_set *set)
{
	return set->owners;
}

/* ---- merging ---- */

/* The next entry of a run, or NULL; it is overwritten soon. */
static const entry *
current(run *r)
{
	if (r->at == r->n)
	{
		r->n = (int) Min((off_t) r->room,
						 (r->end - r->next) / (off_t) sizeof(entry));
		if (r->n == 0)
			return NULL;
		r->at = 0;
		dp_base_scratch_read(r->block, sizeof(entry) * r->n, r->next);
		r->next += (off_t) (sizeof(entry) * r->n);
	}
	return &r->block[r->at];
}

/* The heap has the largest on top, but the smallest is wanted. */
static int
compare_runs(Datum a, Datum b, void *arg)
{
	const run  *x = (const run *) DatumGetPointer(a);
	const run  *y = (const run *) DatumGetPointer(b);

	return -distinct_count_compare_entries(&x->block[x->at], &y->block[y->at]);
}

static void
merge_runs(dp_digest_set *set)
{
	binaryheap *heap = binaryheap_allocate(set->nruns, compare_runs, NULL);
	entry		last = {0};
	entry	   *blocks;
	int			room;
	int			i;

	/*
	 * The table is empty now, and its memory suffices unless there are many
	 * runs.
	 */
	room = (int) Min(BLOCK, set->capacity / set->nruns);
	if (room >= BLOCK_LEAST)
		blocks = set->entries;
	else
	{
		room = BLOCK_LEAST;
		blocks = palloc_extended(sizeof(entry) * room * set->nruns,
								 MCXT_ALLOC_HUGE);
	}
	for (i = 0; i < set->nruns; i++)
	{
		run		   *r = &set->runs[i];

		r->n = r->at = 0;
		r->room = room;
		r->block = &blocks[(uint64) i * room];
		if (current(r) != NULL)
			binaryheap_add_unordered(heap, PointerGetDatum(r));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		run		   *r = (run *) DatumGetPointer(binaryheap_first(heap));
		const entry *e = &r->block[r->at];

		if (distinct_count_compare_entries(e, &last) != 0)
		{
			last = *e;
			last.owner->distinct++;
		}
		r->at++;
		if (current(r) != NULL)
			binaryheap_replace_first(heap, PointerGetDatum(r));
		else
			(void) binaryheap_remove_first(heap);
	}
	if (blocks == set->entries)
		memset(blocks, 0, sizeof(entry) * set->capacity);
	else
		pfree(blocks);
	binaryheap_free(heap);
}

/*
 * digests_finish
 *	  Finish: the counts of all owners are valid; the set is empty and has no
 *	  owners.
 */
static void
digests_finish(dp_digest_set *set)
{
	dp_digest_owner *owner;

	insert_waiting(set);
	if (set->nruns > 0)
	{
		write_run(set);
		for (owner = set->owners; owner != NULL; owner = owner->next)
			owner->distinct = 0;
		merge_runs(set);
		distinct_count_leave_file(set);
	}
	else if (set->used > 0)
		memset(set->entries, 0, sizeof(entry) * set->capacity);
	set->used = 0;
	set->owners = NULL;
}

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

	dp_exact_check_call_site(fcinfo);
	spec = (const distinct_spec *) PG_GETARG_POINTER(2);
	site->way = spec->way;
	dp_base_check_status(dp_noise_random_bytes(dp_base_source(),
											   site->seeds,
											   sizeof(site->seeds)),
						 "draw seeds");
	site->varlena = spec->varlena;
	site->set = digests_new(context, (Size) spec->memory);
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

	if (dp_domains_read_integer(site->way, value, &x))
	{
		digests_add(site->set, owner,
					scatter((uint64) x ^ site->seeds[0]),
					scatter((uint64) x ^ site->seeds[1]));
		return;
	}
	dp_domains_read_bytes(site->way, value, &read);
	digests_add(site->set, owner, hash(&read, site->seeds[0]),
				hash(&read, site->seeds[1]));
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
}

/* As in dp_pg.short_value, values of more than 1 MB count as NULL. */
static inline bool
distinct_count_is_long(const distinct_site *site, Datum value)
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
		dp_base_require_aggregate(fcinfo, &context);
		state = MemoryContextAllocZero(context, sizeof(distinct_state));
		state->site = site;
		digests_own(site->set, &state->owner);
	}
	else
		state = (distinct_state *) PG_GETARG_POINTER(0);
	if (!PG_ARGISNULL(1) && !distinct_count_is_long(site, PG_GETARG_DATUM(1)))
		add(site, &state->owner, PG_GETARG_DATUM(1));
	PG_RETURN_POINTER(state);
}

static void
finish(distinct_state *state)
{
	dp_digest_owner *owner = digests_owners(state->site->set);

	digests_finish(state->site->set);
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
 * dp_exact_check_distinct
 *	  Check that distinct values of this base type can be counted, by
 *	  `collections` aggregates.
 *
 * Errors: 0A000 values of the type cannot be read as bytes, 54000 too many
 * aggregates for the memory.
 */
void
dp_exact_check_distinct(Oid type, int collections)
{
	if (dp_domains_read_way(type) == DP_READ_NONE)
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
 * dp_exact_distinct
 *	  The exact number of distinct values of the argument, which is of this
 *	  base type; `collections` aggregates share the memory.
 *
 * Errors: as dp_exact_check_distinct.
 */
Aggref *
dp_exact_distinct(const Aggref *asked, Oid type, int collections)
{
	distinct_spec *spec = palloc0(sizeof(distinct_spec));

	dp_exact_check_distinct(type, collections);
	spec->way = dp_domains_read_way(type);
	spec->varlena = get_typlen(type) == -1;
	spec->memory = (int64) (DP_DISTINCT_MEMORY / collections);
	return linitial(dp_exact_exact(asked, "distinct_count", ANYELEMENTOID,
								   dp_domains_tally_spec_const(spec,
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
 * dp_exact_distinct_create: create the sets without digests, in the current
 * context.
 */
dp_distinct_groups *
dp_exact_distinct_create(int64 groups, int collections)
{
	dp_distinct_groups *distinct = palloc0(sizeof(dp_distinct_groups));
	int64		i;

	distinct->set = digests_new(CurrentMemoryContext,
								DP_DISTINCT_MEMORY / collections);
	distinct->groups = groups;
	distinct->owners = palloc_extended(sizeof(dp_digest_owner) * groups,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (i = 0; i < groups; i++)
		digests_own(distinct->set, &distinct->owners[i]);
	return distinct;
}

/* dp_exact_distinct_put: add a digest of a group, possibly repeated. */
void
dp_exact_distinct_put(dp_distinct_groups *distinct, int64 group, uint64 high,
					  uint64 low)
{
	digests_add(distinct->set, &distinct->owners[group], high, low);
}

/* dp_exact_distinct_finish: complete the counts. */
void
dp_exact_distinct_finish(dp_distinct_groups *distinct)
{
	digests_finish(distinct->set);
}

/* dp_exact_distinct_of: the number of distinct digests of a group. */
int64
dp_exact_distinct_of(const dp_distinct_groups *distinct, int64 group)
{
	return distinct->owners[group].distinct;
}
