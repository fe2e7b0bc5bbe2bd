/*
 * reserve.c
 *	  Memory that rows may make a process need, taken before it sees them.
 *
 * What is freed stays with the process (no part of the heap goes back by
 * itself), and what it needs next is made of that.  So a lack of memory shows
 * when it is reserved, by an amount that is public, and not where rows ask.
 * Pages are written to, because a system may promise more than it has.
 *
 * Without the C library's mallopt() nothing is kept, and this only tries.  So
 * it does with what parallel workers share.
 */
#include "postgres.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/dsm_impl.h"
#include "tcop/tcopprot.h"

#include "dp_bridge.h"

#define KEPT ((Size) 128 * 1024 * 1024)	/* from one use to the next */
#define PAGE 4096
#define STACK_STEP 65536
#define HUGE_FROM ((Size) 8 * 1024 * 1024)
#define PLENTY 16				/* times: others take some at the same time */

/*
 * What glibc keeps of what is freed, in each thread (its tcache): so many
 * pieces of each size, of so many sizes from the first on by the step.  Where
 * there are others, those are not exchanged.
 */
#define CACHED 7
#define CACHED_FIRST 24
#define CACHED_STEP 16
#define CACHED_SIZES 64

/* Have the system give the pages, with what is on them; false: it has none. */
static bool
populate(char *memory, Size bytes)
{
	volatile char *page = memory;
	Size		i;

#ifdef MADV_POPULATE_WRITE
	char	   *first = (char *) TYPEALIGN(PAGE, memory);
	char	   *end = (char *) TYPEALIGN_DOWN(PAGE, memory + bytes);

	if (first >= end)
		return true;
#ifdef MADV_HUGEPAGE
	if (bytes >= HUGE_FROM)		/* a third of the time, if there are any */
		(void) madvise(first, end - first, MADV_HUGEPAGE);
#endif
	if (madvise(first, end - first, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)		/* an older system, or pages of other size */
		return false;
#endif
	for (i = 0; i < bytes; i += PAGE)
		page[i] += 0;			/* what is there stays: it may be a stack */
	return true;
}

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
		(void) populate((char *) frame, from - (char *) frame);
		return frame[0];
	}
	return grow_stack(bytes - STACK_STEP, from) + frame[0];
}

/*
 * dp_bridge_reserve_init
 *	  Once, in a process that reserves, with the bytes of stack that what rows
 *	  make it do may use from here on.
 */
void
dp_bridge_reserve_init(Size stack)
{
	char		here;

	(void) grow_stack(stack, &here);
#ifdef M_MMAP_MAX
	(void) mallopt(M_MMAP_MAX, 0);
	(void) mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

#ifdef M_MMAP_MAX
static void
take_cached(void *taken[CACHED_SIZES][CACHED])
{
	int			i;
	int			j;

	for (i = 0; i < CACHED_SIZES; i++)
		for (j = 0; j < CACHED; j++)
			taken[i][j] = malloc(CACHED_FIRST + i * CACHED_STEP);
}

static void
free_cached(void *taken[CACHED_SIZES][CACHED])
{
	int			i;
	int			j;

	for (i = 0; i < CACHED_SIZES; i++)
		for (j = 0; j < CACHED; j++)
			free(taken[i][j]);
}

/*
 * Small pieces that are freed stay where they are, for the next of that size,
 * and split what is around them.  Some lie where rows had others put: what is
 * reserved next would come to lie above them, and the process grow by what
 * rows took.  So these are exchanged for pieces from where memory is free
 * first, and freed for good.
 */
static void
move_cached(void)
{
	static void *old[CACHED_SIZES][CACHED];
	static void *fresh[CACHED_SIZES][CACHED];

	take_cached(old);
	take_cached(fresh);
	free_cached(fresh);
	free_cached(old);
}
#else
#define move_cached() ((void) 0)
#endif

/* Has this process reserved before, and so perhaps met rows since? */
static bool has_reserved = false;

/* What the system has given: pages of the heap, until it is trimmed. */
static char *given_start = NULL;
static char *given_end = NULL;

static bool
is_given(char *memory, Size bytes)
{
	return (char *) TYPEALIGN(PAGE, memory) >= given_start &&
		(char *) TYPEALIGN_DOWN(PAGE, memory + bytes) <= given_end;
}

/*
 * Have the system give these pages, and those between them and what it has
 * given before, which are the heap's as well; false: it has none.
 */
static bool
give(char *memory, Size bytes)
{
	char	   *first = (char *) TYPEALIGN(PAGE, memory);
	char	   *end = (char *) TYPEALIGN_DOWN(PAGE, memory + bytes);

#ifdef M_MMAP_MAX
	bool		kept = memory + bytes <= (char *) sbrk(0);
#else
	bool		kept = false;
#endif

	if (!kept)
		return populate(memory, bytes);
	if (given_start == NULL)
		given_start = given_end = first;
	if (first < given_start)
	{
		if (!populate(first, given_start - first))
			return false;
		given_start = first;
	}
	if (end > given_end)
	{
		if (!populate(given_end, end - given_end))
			return false;
		given_end = end;
	}
	return true;
}

/*
 * dp_bridge_reserve
 *	  So many bytes, from now on.  What was reserved before and is free again
 *	  serves anew; the process grows only when small pieces were exchanged, so
 *	  that it grows by a public amount.
 *
 * Errors: 53200.
 */
void
dp_bridge_reserve(Size bytes)
{
	char	   *memory = malloc(Max(bytes, 1));
	bool		given = memory != NULL && is_given(memory, bytes);

	if (!given)
	{
		free(memory);
		if (has_reserved)
			move_cached();
		memory = malloc(Max(bytes, 1));
		given = memory != NULL && give(memory, bytes);
	}
	has_reserved = true;
	free(memory);
	if (!given)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("A private query may need %zu MB, whatever its "
						   "rows.", bytes / (1024 * 1024) + 1),
				 errhint("Ask for fewer groups at once, or try again.")));
}

/*
 * dp_bridge_keeps_much: does this process hold more than is worth keeping
 * while it has nothing to do?
 */
bool
dp_bridge_keeps_much(void)
{
	return given_end - given_start > (ptrdiff_t) KEPT;
}

/* dp_bridge_unreserve: give that back. */
void
dp_bridge_unreserve(void)
{
#ifdef M_MMAP_MAX
	(void) malloc_trim(KEPT);
#endif
	given_start = given_end = NULL;
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
