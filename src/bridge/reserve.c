/*
 * reserve.c
 *	  Memory that rows may make a process need, taken before it sees them.
 *
 * What is freed stays with the process (no part of the heap goes back by
 * itself), and what it needs next is made of that.  So a lack of memory shows
 * when it is reserved, by an amount that is public, and not where rows ask.
 * Pages are written to, because a system may promise more than it has.
 * Between two uses the memory is taken, so that the process grows only where
 * it reserves more than before.
 *
 * Without the C library's mallopt() nothing is kept, and this only tries.  So
 * it does with what parallel workers share.
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

#include "dp_bridge.h"

#define KEPT ((Size) 128 * 1024 * 1024)	/* by one with nothing to do */
#define STACK_STEP 65536
#define FEW 48					/* contexts that most jobs keep at hand */
#define KINDS 2					/* of contexts, by their first size */
#define LISTED 100				/* free ones that PostgreSQL lists of each */
#define PLENTY 16				/* times: others take some at the same time */

/*
 * What glibc keeps of what is freed, in each thread (its tcache): some pieces,
 * fewer than these, of each of so many sizes from the first on by the step.
 */
#define CACHED_MOST 32
#define CACHED_FIRST 24
#define CACHED_STEP 16
#define CACHED_SIZES 64
#define WIDE_MOST 256			/* pieces that are not exact, in a row */

/*
 * Have the stack grow by so much, for good; returns how often it called
 * itself.  A touch of its end makes room, and then the pages are asked for.
 */
static pg_noinline int
grow_stack(Size bytes, char *from)
{
	volatile char frame[STACK_STEP];

	frame[0] = 1;
	if (bytes <= STACK_STEP)
	{
		(void) dp_bridge_populate((char *) frame, from - (char *) frame);
		return frame[0];
	}
	return grow_stack(bytes - STACK_STEP, from) + frame[0];
}

/*
 * What was reserved last.  It is free while rows are read, and taken when they
 * are not, so that nothing else comes to lie there.
 */
static char *held = NULL;
static uintptr_t held_at = 0;	/* where it is, or was while it is free */
static Size held_bytes = 0;
static bool held_given = false; /* has the system given its pages? */
static bool holds = false;		/* is it taken again after rows? */
static char *populated = NULL;	/* end of the heap when it had all pages */

#ifdef M_MMAP_MAX
/* Pieces of a size that are kept; none: another library's malloc() is used. */
static int	cached = 0;

/*
 * Small pieces that are freed stay where they are, for the next of that size,
 * and split what is around them; rows may have put them there.  So what is
 * kept is taken before rows are read, and kept again afterwards, in the place
 * of whatever they left: others are freed first, until as many are kept as can
 * be, and as many are taken; now none is.
 */
static void *kept[CACHED_SIZES][CACHED_MOST];
static void *filling[CACHED_SIZES][CACHED_MOST];	/* the others, or NULL */
static bool kept_taken = false;

/* Has malloc given no more than was asked for?  It keeps others elsewhere. */
static bool
is_exact(int size, void *piece)
{
	return malloc_usable_size(piece) ==
		(Size) (CACHED_FIRST + size * CACHED_STEP);
}

/*
 * How many are kept of a size: what is, counts as used.  Pieces that are not
 * exact are not counted.
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
 * Find how many are kept of any size, by some of them: each look walks through
 * all that is free.  By settings of glibc these may be more than we look
 * after, or fewer of larger sizes, or none.
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
				 errhint("What a reader needs beyond what it reserved may be "
						 "seen by who sees the machine's processes.")));
}

/* An exact piece; those that are not are taken meanwhile, and then free. */
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

/* While what rows are reserved for is taken. */
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

/* Of what was taken where they had been freed, those that are ours stay so. */
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
			ours[i] = NULL;		/* it was freed for good */
		else
			taken[j] = NULL;
	}
	for (j = 0; j < cached; j++)
		free(taken[j]);
}

/* Let no piece be kept that rows left. */
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
 * dp_bridge_reserve_init
 *	  Once, in a process that reserves, with the bytes of stack that what rows
 *	  make it do may use from here on, of which max_stack_depth is the most.
 */
void
dp_bridge_reserve_init(Size stack)
{
	char		here;

	(void) grow_stack(Min(stack, max_stack_depth * (Size) 1024), &here);
#ifdef M_MMAP_MAX
	(void) mallopt(M_MMAP_MAX, 0);
	(void) mallopt(M_TRIM_THRESHOLD, -1);
	(void) mallopt(M_ARENA_MAX, 1); /* a request that fails makes another */
#endif
}

/*
 * Of the memory contexts that are deleted PostgreSQL lists up to 100, of each
 * of two sizes, for those that are created next; with one more it frees all.
 * What rows had it create must not stay listed, in what is held.
 */
static MemoryContext listed[KINDS][LISTED];
static bool many = false;		/* may rows create more than a few? */

static MemoryContext
create_context(MemoryContext parent, int kind)
{
	return kind == 0 ?
		AllocSetContextCreate(parent, "dp_pg kept", ALLOCSET_DEFAULT_SIZES) :
		AllocSetContextCreate(parent, "dp_pg kept", ALLOCSET_SMALL_SIZES);
}

/* Have so many listed; most are those of the time before. */
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
static MemoryContext aside[KINDS];	/* deleted when as many are listed */

/* Have nothing listed but what was put aside, where nothing is held. */
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
 * Have as many at hand as rows may be the first to need, for hash tables and
 * sorts: a few of the smaller ones, unless it may be many.
 */
static void
keep_contexts(int contexts)
{
	many = contexts > FEW;
	list_contexts(0, many ? LISTED : FEW);
	list_contexts(1, many ? LISTED : FEW / 3);
}

/*
 * dp_bridge_reserve
 *	  So many bytes, for the rows that are read next, and so many memory
 *	  contexts that they may have created at once.
 *
 * Errors: 53200.
 */
void
dp_bridge_reserve(Size bytes, int contexts)
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
	if (!held_given)			/* it is another one, or lies elsewhere */
	{
		held_given = held != NULL && dp_bridge_populate(held, held_bytes);
		populated = NULL;
	}
	if (held_given && populated != sbrk(0))
	{
		held_given = dp_bridge_populate_heap(held, held_bytes);
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
 * dp_bridge_hold
 *	  Before the first rows, and when rows are no longer read and what they
 *	  took is free again.
 */
void
dp_bridge_hold(void)
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
 * dp_bridge_give_back
 *	  A process that has nothing to do gives back what is not worth keeping.
 */
void
dp_bridge_give_back(void)
{
#ifdef M_MMAP_MAX
	if (mallinfo2().fordblks + held_bytes <= KEPT)	/* free, and held */
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
 * Is there so much more shared memory that it need not be tried?  On Linux it
 * is a file of this folder, so that limits of file sizes hold.
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
 * dp_bridge_try_shared
 *	  Can so many bytes of shared memory be had, for parallel workers?  They
 *	  are given back at once, and others may take them before the caller does.
 *
 * Errors: those of the system, which are insufficient resources.
 */
void
dp_bridge_try_shared(Size bytes)
{
	dsm_segment *segment;

	if (is_plenty(bytes))
		return;
	segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment != NULL)		/* without one there are no workers */
		dsm_detach(segment);
}
