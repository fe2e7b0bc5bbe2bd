/*
 * digest_set.c
 *	  Counts the distinct digests of each owner, for count(DISTINCT).
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
 * they are in the process's scratch file (bridge/scratch.c), one for all sets.
 * A full disk is an error, and a documented residue.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "digest_set.h"
#include "dp_count.h"

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
leave_file(void *arg)
{
	dp_digest_set *set = arg;

	if (set->nruns > 0)
		dp_bridge_scratch_leave();
	set->nruns = 0;
}

/* ---- the table ---- */

static void
set_capacity(dp_digest_set *set, uint64 capacity)
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

	set_capacity(set, n * 2);
	for (i = 0; i < n; i++)
		if (old[i].owner != NULL)
			*find(set, &old[i]) = old[i];
	pfree(old);
}

static inline int
compare_entries(const entry *a, const entry *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE entry
#define ST_COMPARE(a, b) compare_entries(a, b)
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

		for (; j > 0 && compare_entries(&entries[j - 1], &moved) > 0; j--)
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
		dp_bridge_scratch_use();	/* so that leave_file has something to
									 * undo */
	r = &set->runs[set->nruns++];
	r->next = dp_bridge_scratch_append(set->entries, sizeof(entry) * n);
	r->end = r->next + (off_t) (sizeof(entry) * n);
	memset(set->entries, 0, sizeof(entry) * set->capacity);
	set->used = 0;
}

/*
 * dp_count_digests_new
 *	  A set of at most `memory` bytes, and a little for each run, in a context
 *	  that is deleted with it; at least DP_DIGEST_MEMORY_LEAST.
 */
dp_digest_set *
dp_count_digests_new(MemoryContext context, Size memory)
{
	dp_digest_set *set = MemoryContextAllocZero(context,
												sizeof(dp_digest_set));
	MemoryContextCallback *callback =
	MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	set->context = context;
	callback->func = leave_file;
	callback->arg = set;
	MemoryContextRegisterResetCallback(context, callback);

	/* Growing needs the old table in addition to the new one. */
	set->most = FIRST_CAPACITY;
	while (set->most * 2 * sizeof(entry) * 3 / 2 <=
		   Max(memory, DP_DIGEST_MEMORY_LEAST))
		set->most *= 2;
	set_capacity(set, FIRST_CAPACITY);
	return set;
}

/* dp_count_digests_own: add an owner, in memory of the caller. */
void
dp_count_digests_own(dp_digest_set *set, dp_digest_owner *owner)
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
 * dp_count_digests_add
 *	  Add a digest of an owner's value.  The owner's count is valid when the
 *	  set is finished.
 */
void
dp_count_digests_add(dp_digest_set *set, dp_digest_owner *owner, uint64 high,
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

/* dp_count_digests_owners: see digest_set.h. */
dp_digest_owner *
dp_count_digests_owners(dp_digest_set *set)
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
		dp_bridge_scratch_read(r->block, sizeof(entry) * r->n, r->next);
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

	return -compare_entries(&x->block[x->at], &y->block[y->at]);
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

		if (compare_entries(e, &last) != 0)
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
 * dp_count_digests_finish
 *	  Finish: the counts of all owners are valid; the set is empty and has no
 *	  owners.
 */
void
dp_count_digests_finish(dp_digest_set *set)
{
	dp_digest_owner *owner;

	insert_waiting(set);
	if (set->nruns > 0)
	{
		write_run(set);
		for (owner = set->owners; owner != NULL; owner = owner->next)
			owner->distinct = 0;
		merge_runs(set);
		leave_file(set);
	}
	else if (set->used > 0)
		memset(set->entries, 0, sizeof(entry) * set->capacity);
	set->used = 0;
	set->owners = NULL;
}
