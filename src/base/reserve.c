/*
 * reserve.c
 *	  Reserve memory that rows may require before a process reads them.
 *
 * Freed memory is not returned to the system; later requests are served from
 * it.  So a lack of memory shows when a public amount is reserved, and not
 * when rows require memory.  Pages are written to, because a system may
 * promise more than it has.  Between jobs the memory is held allocated, so
 * that the process grows only when it reserves more than before.
 *
 * Without the C library's mallopt() nothing is held, and reserving is only a
 * test, as it always is for the shared memory of parallel workers.
 */
#include "postgres.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/dsm_impl.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "dp_base.h"
#include "base_internal.h"

#define KEPT ((Size) 128 * 1024 * 1024)	/* kept by an idle process */
#define STACK_STEP 65536
#define FEW 48					/* contexts that suffice for most jobs */
#define KINDS 2					/* of contexts, by initial size */
#define LISTED 100				/* length of PostgreSQL's free list of each */
#define PLENTY 16				/* times as much, since others take some
								 * meanwhile */

/*
 * glibc's cache of freed chunks in each thread (tcache): fewer than
 * CACHED_MOST chunks of each of CACHED_SIZES sizes, from CACHED_FIRST on in
 * steps of CACHED_STEP.
 */
#define CACHED_MOST 32
#define CACHED_FIRST 24
#define CACHED_STEP 16
#define CACHED_SIZES 64
#define WIDE_MOST 256			/* successive chunks that are not exact */

/*
 * Make the stack grow by `bytes`, permanently.  Touching its end extends it;
 * then its pages are requested.  Returns the number of calls, so that frames
 * are used.
 */
static pg_noinline int
grow_stack(Size bytes, char *from)
{
	volatile char frame[STACK_STEP];

	frame[0] = 1;
	if (bytes <= STACK_STEP)
	{
		(void) dp_base_populate((char *) frame, from - (char *) frame);
		return frame[0];
	}
	return grow_stack(bytes - STACK_STEP, from) + frame[0];
}

/*
 * The last reservation.  It is free while rows are read and allocated
 * otherwise, so that nothing else is placed there.
 */
static char *held = NULL;
static uintptr_t held_at = 0;	/* its address, or its last one if free */
static Size held_bytes = 0;
static bool held_given = false; /* its pages are resident */
static bool holds = false;		/* it is allocated between jobs */
static char *populated = NULL;	/* end of the heap when all of it was
								 * resident */

#ifdef M_MMAP_MAX
/* Chunks of a size that tcache keeps; 0: not glibc's malloc(), or too many. */
static int	cached = 0;

/*
 * Small freed chunks stay where they are, for the next request of that size,
 * and fragment the heap around them; their places may depend on rows.  So the
 * chunks in tcache are taken out before rows are read and put back afterwards,
 * in place of those that rows left: `filling` is freed first, which fills
 * tcache, and as many chunks are allocated, which empties it.
 */
static void *kept[CACHED_SIZES][CACHED_MOST];
static void *filling[CACHED_SIZES][CACHED_MOST];	/* to displace what rows
													 * left; or NULL */
static bool kept_taken = false;

/*
 * Whether the chunk is of exactly this size.  Larger ones are cached with
 * another size.
 */
static bool
is_exact(int size, void *piece)
{
	return malloc_usable_size(piece) ==
		(Size) (CACHED_FIRST + size * CACHED_STEP);
}

/*
 * How many chunks of a size tcache keeps: those in it count as used.  Chunks
 * that are not exact are not counted.
 */
static int
count_kept(int size)
{
	Size		chunk = CACHED_FIRST + size * CACHED_STEP + sizeof(Size);
	void	   *piece[CACHED_MOST];
	int			n = 0;
	Size		used;
	int			i;

	for (i = 0; i < CACHED_MOST; i++)
		piece[i] = malloc(CACHED_FIRST + size * CACHED_STEP);
	for (i = 0; i < CACHED_MOST; i++)
		if (is_exact(size, piece[i]))
			piece[n++] = piece[i];
		else
			free(piece[i]);
	used = mallinfo2().uordblks;
	for (i = 0; i < n; i++)
		free(piece[i]);
	return n - (int) ((used - mallinfo2().uordblks) / chunk);
}

/*
 * Find how many chunks tcache keeps, from a few sizes, because mallinfo2()
 * walks through all free chunks.  Depending on glibc's tunables this may be
 * more than CACHED_MOST, fewer for larger sizes, or none.
 */
static void
count_cached(void)
{
	int			most = 0;
	int			size;

	for (size = 0; size < CACHED_SIZES; size += CACHED_SIZES / 4)
		most = Max(most, count_kept(size));
	cached = most < CACHED_MOST ? most : 0;
	if (most == CACHED_MOST)
		ereport(LOG,
				(errmsg("dp_pg cannot keep memory between private queries"),
				 errdetail("malloc() is not that of the GNU C library, or "
						   "keeps too much of each size (tunable "
						   "glibc.malloc.tcache_count)."),
				 errhint("Memory that a reader needs beyond its reservation "
						 "may be visible to users who can see the machine's "
						 "processes.")));
}

/* Allocate an exact chunk; others are allocated meanwhile and then freed. */
static void *
take_exact(int size)
{
	void	   *wide[WIDE_MOST];
	void	   *piece;
	int			n = 0;

	piece = malloc(CACHED_FIRST + size * CACHED_STEP);
	while (piece != NULL && !is_exact(size, piece) && n < WIDE_MOST)
	{
		wide[n++] = piece;
		piece = malloc(CACHED_FIRST + size * CACHED_STEP);
	}
	while (n > 0)
		free(wide[--n]);
	return piece;
}

/* Empty tcache; the memory reserved for rows is still allocated. */
static void
take_kept(void)
{
	int			size;
	int			i;

	if (kept_taken)
		return;
	for (size = 0; size < CACHED_SIZES; size++)
		for (i = 0; i < cached; i++)
		{
			kept[size][i] = take_exact(size);
			if (filling[size][i] == NULL)
				filling[size][i] = take_exact(size);
		}
	kept_taken = true;
}

/* Keep those of our chunks that were allocated again; free the others. */
static void
fill_again(void **ours, void **taken)
{
	int			i;
	int			j;

	for (i = 0; i < cached; i++)
	{
		j = 0;
		while (j < cached && (ours[i] == NULL || ours[i] != taken[j]))
			j++;
		if (j == cached)
			ours[i] = NULL;		/* tcache did not keep it */
		else
			taken[j] = NULL;
	}
	for (j = 0; j < cached; j++)
		free(taken[j]);
}

/* Fill tcache with our chunks instead of those that rows left. */
static void
leave_kept(void)
{
	int			size;
	int			i;

	if (!kept_taken)
		return;
	for (size = 0; size < CACHED_SIZES; size++)
	{
		void	   *taken[CACHED_MOST];
		bool		same = true;

		for (i = 0; i < cached; i++)
			free(filling[size][i]);
		for (i = cached - 1; i >= 0; i--)
		{
			taken[i] = malloc(CACHED_FIRST + size * CACHED_STEP);
			same &= taken[i] == filling[size][i];
		}
		for (i = 0; i < cached; i++)
			free(kept[size][i]);
		if (!same)
			fill_again(filling[size], taken);
	}
	kept_taken = false;
}
#endif

/*
 * dp_base_reserve_init
 *	  Called once in a process that reserves memory.  `stack` is how many bytes
 *	  of stack it may need from here on because of rows, at most
 *	  max_stack_depth.
 */
void
dp_base_reserve_init(Size stack)
{
	char		here;

	(void) grow_stack(Min(stack, max_stack_depth * (Size) 1024), &here);
#ifdef M_MMAP_MAX
	(void) mallopt(M_MMAP_MAX, 0);
	(void) mallopt(M_TRIM_THRESHOLD, -1);
	(void) mallopt(M_ARENA_MAX, 1); /* a failed request would create another
									 * arena */
#endif
}

/*
 * PostgreSQL keeps up to 100 deleted memory contexts of each of two sizes in
 * free lists for reuse; one more empties the list.  Contexts that rows made it
 * create must not stay there, within the memory that is held.
 */
static MemoryContext listed[KINDS][LISTED];
static bool many = false;		/* rows may create more than a few */

static MemoryContext
create_context(MemoryContext parent, int kind)
{
	return kind == 0 ?
		AllocSetContextCreate(parent, "dp_pg kept", ALLOCSET_DEFAULT_SIZES) :
		AllocSetContextCreate(parent, "dp_pg kept", ALLOCSET_SMALL_SIZES);
}

/*
 * Put n contexts on PostgreSQL's free list; most are the ones created last
 * time.
 */
static void
list_contexts(int kind, int n)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		__builtin_prefetch(listed[kind][i], 1);
		__builtin_prefetch((char *) listed[kind][i] + 64, 1);
	}
	for (i = 0; i < n; i++)
		listed[kind][i] = create_context(CurrentMemoryContext, kind);
	while (i > 0)
		MemoryContextDelete(listed[kind][--i]);
}

#ifdef M_MMAP_MAX
static MemoryContext aside[KINDS];	/* deleted when the free list is full */

/*
 * Empty the free lists except for the contexts put aside, which are outside of
 * the held memory.
 */
static void
free_contexts(void)
{
	int			kind;

	for (kind = 0; kind < KINDS; kind++)
	{
		list_contexts(kind, LISTED);
		MemoryContextDelete(aside[kind]);
	}
}

static void
put_contexts_aside(void)
{
	int			kind;

	for (kind = 0; kind < KINDS; kind++)
		aside[kind] = create_context(TopMemoryContext, kind);
}
#endif

/*
 * Put as many contexts on the free lists as rows may need for hash tables and
 * sorts: a few, unless there may be many.
 */
static void
keep_contexts(int contexts)
{
	many = contexts > FEW;
	list_contexts(0, many ? LISTED : FEW);
	list_contexts(1, many ? LISTED : FEW / 3);
}

/*
 * dp_base_reserve
 *	  Reserve memory for the rows that are read next, and for the contexts that
 *	  may exist at once because of them.
 *
 * Errors: 53200.
 */
void
dp_base_reserve(Size bytes, int contexts)
{
	if (holds)
	{
		keep_contexts(contexts);
#ifdef M_MMAP_MAX
		take_kept();
#endif
	}
	if (held == NULL || held_bytes < bytes)
	{
		free(held);
		held_bytes = Max(bytes, 1);
		held = malloc(held_bytes);
		held_given = false;
	}
	if (!held_given)			/* new, or at another address */
	{
		held_given = held != NULL && dp_base_populate(held, held_bytes);
		populated = NULL;
	}
	if (held_given && populated != sbrk(0))
	{
		held_given = dp_base_populate_heap(held, held_bytes);
		populated = sbrk(0);
	}
	held_at = (uintptr_t) held;
	free(held);
	held = NULL;
	if (!held_given)
	{
		held_bytes = 0;
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("A private query may need %zu MB, whatever its "
						   "rows.", bytes / (1024 * 1024) + 1),
				 errhint("Ask for fewer groups at once, or try again.")));
	}
}

/*
 * dp_base_hold
 *	  Called before the first rows are read, and after each job, when the
 *	  memory used by its rows has been freed.
 */
void
dp_base_hold(void)
{
#ifdef M_MMAP_MAX
	if (!holds)
	{
		count_cached();
		put_contexts_aside();
	}
	holds = true;
	if (many)
		free_contexts();
	leave_kept();
	if (held == NULL && held_bytes > 0)
	{
		held = malloc(held_bytes);
		held_given = held_given && (uintptr_t) held == held_at;
		if (held == NULL)
			held_bytes = 0;
	}
	if (many)
		put_contexts_aside();
	many = false;
#endif
}

/*
 * dp_base_give_back
 *	  In an idle process, return memory to the system if there is much of it.
 */
void
dp_base_give_back(void)
{
#ifdef M_MMAP_MAX
	if (mallinfo2().fordblks + held_bytes <= KEPT)	/* free and held memory */
		return;
	free(held);
	held = NULL;
	held_bytes = 0;
	held_given = false;
	(void) malloc_trim(KEPT);
	populated = NULL;			/* free pages in between are gone, too */
#endif
}

/*
 * Whether there is so much shared memory that no test is needed.  On Linux it
 * is a file in /dev/shm, so limits on file sizes apply.
 */
static bool
is_plenty(Size bytes)
{
#if defined(__linux__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	struct statvfs folder;
	struct rlimit file;

	return dynamic_shared_memory_type == DSM_IMPL_POSIX &&
		statvfs("/dev/shm", &folder) == 0 &&
		folder.f_bavail / PLENTY > bytes / folder.f_frsize &&
		getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur > bytes;
#else
	return false;
#endif
}

/*
 * dp_base_try_shared
 *	  Test whether so much shared memory is available for parallel workers.  It
 *	  is released at once, so others may take it before the caller does.
 *
 * Errors: those of the system, which are insufficient resources.
 */
void
dp_base_try_shared(Size bytes)
{
	dsm_segment *segment;

	if (is_plenty(bytes))
		return;
	segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment != NULL)		/* without one, no parallel workers start */
		dsm_detach(segment);
}
