/*
 * held_memory.c
 *	  For memory_peak.pl: what reserve.c, which is compiled in here, does to
 *	  the heap of a process whose rows leave something behind.
 */
#define dp_base_populate own_populate	/* dp_pg has them, too */
#define dp_base_populate_heap own_populate_heap
#define dp_base_populate_mappings own_populate_mappings
#define dp_base_reserve_init own_reserve_init
#define dp_base_reserve own_reserve
#define dp_base_hold own_hold
#define dp_base_give_back own_give_back
#define dp_base_try_shared own_try_shared
#include "base/resident.c"
#undef PAGE
#include "base/reserve.c"

#include "fmgr.h"

PG_MODULE_MAGIC;

#define MB ((Size) 1024 * 1024)
#define RESERVED (32 * MB)
#define BLOCK 65536
#define BLOCKS 440				/* less than what is reserved */
#define LATER (7 * MB + 400000)

PG_FUNCTION_INFO_V1(held_growth);
PG_FUNCTION_INFO_V1(hole_growth);
PG_FUNCTION_INFO_V1(wide_growth);
PG_FUNCTION_INFO_V1(moved_growth);
PG_FUNCTION_INFO_V1(contexts_growth);
PG_FUNCTION_INFO_V1(hidden_growth);

/* More pieces of each size than malloc keeps. */
static void *piece[CACHED_SIZES * 2 * CACHED_MOST];
static int	pieces;

/* malloc, which the compiler would leave out where nobody uses the piece. */
static void *
take_piece(Size bytes)
{
	static void *volatile last;

	last = malloc(bytes);
	if (last == NULL)
		elog(ERROR, "out of memory");
	return last;
}

static void
make_pieces(void)
{
	int			each = 2 * Max(cached, 1);
	int			j;

	pieces = CACHED_SIZES * each;
	for (j = 0; j < pieces; j++)
		piece[j] = malloc(CACHED_FIRST + j / each * CACHED_STEP);
}

static void
free_pieces(bool reversed)
{
	int			j;

	for (j = 0; j < pieces; j++)
		free(piece[reversed ? pieces - 1 - j : j]);
}

/* Blocks, and when `at` of them are there, pieces; all is freed. */
static void
do_rows(int n, int at, bool contexts, bool reversed)
{
	static void *block[BLOCKS];
	MemoryContext context = NULL;
	int			i;

	pieces = 0;
	for (i = 0; i < n; i++)
	{
		block[i] = malloc(BLOCK);
		if (i == at)
			make_pieces();
		if (i == at && contexts)
			context = AllocSetContextCreate(CurrentMemoryContext, "of rows",
											ALLOCSET_DEFAULT_SIZES);
	}
	if (context != NULL)
		MemoryContextDelete(context);
	free_pieces(reversed);
	for (i = 0; i < n; i++)
		free(block[i]);
}

/* The bytes that the heap grows by, where as much is reserved after rows. */
static int64
growth_after(int at, bool contexts, bool reversed)
{
	char	   *end;

	dp_base_hold();
	dp_base_reserve(RESERVED, 0);
	end = sbrk(0);
	do_rows(BLOCKS, at, contexts, reversed);
	dp_base_hold();
	dp_base_reserve(RESERVED, 0);
	return (char *) sbrk(0) - end;
}

/*
 * held_growth(at int, contexts bool, reversed bool) returns bigint: the bytes
 * that the heap has grown by when as much is reserved again, after rows that
 * took BLOCKS blocks and, when at of these were there, made small pieces and,
 * if contexts, a context.  To be called once in a process.
 */
Datum
held_growth(PG_FUNCTION_ARGS)
{
	dp_base_reserve_init(BLOCK);
	PG_RETURN_INT64(growth_after(PG_GETARG_INT32(0), PG_GETARG_BOOL(1),
								 PG_GETARG_BOOL(2)));
}

/*
 * hole_growth(at int) returns bigint: the bytes that the heap grows by for
 * what is public, after a first job for which less was reserved, and a second,
 * which left that where it was; the third one's rows were put there.  Once.
 */
Datum
hole_growth(PG_FUNCTION_ARGS)
{
	void	   *above;
	void	   *later;
	char	   *end;

	dp_base_reserve_init(BLOCK);
	dp_base_hold();
	dp_base_reserve(8 * MB, 0);
	dp_base_hold();
	above = malloc(200000);
	dp_base_reserve(RESERVED, 0);
	dp_base_hold();
	dp_base_reserve(RESERVED, 0);
	do_rows(100, PG_GETARG_INT32(0), false, true);
	dp_base_hold();
	end = sbrk(0);
	later = malloc(LATER);
	if (above == NULL || later == NULL)
		PG_RETURN_NULL();
	PG_RETURN_INT64((char *) sbrk(0) - end);
}

/*
 * Free chunks that are one step larger than each size, each by itself: who
 * asks for the size gets one, since nothing can be made of what remains.
 */
static void
make_wide_holes(void)
{
	static void *hole[CACHED_SIZES][3 * CACHED_MOST];
	int			size;
	int			i;

	for (size = 0; size < CACHED_SIZES; size += 4)
		for (i = 0; i < lengthof(hole[size]); i++)
		{
			hole[size][i] = malloc(CACHED_FIRST + (size + 1) * CACHED_STEP);
			(void) take_piece(CACHED_FIRST);
		}
	for (size = 0; size < CACHED_SIZES; size += 4)
		for (i = 0; i < lengthof(hole[size]); i++)
			free(hole[size][i]);
}

/* wide_growth(at int) returns bigint: held_growth() beside such holes. */
Datum
wide_growth(PG_FUNCTION_ARGS)
{
	dp_base_reserve_init(BLOCK);
	make_wide_holes();
	PG_RETURN_INT64(growth_after(PG_GETARG_INT32(0), false, false));
}

/*
 * moved_growth() returns bigint: the bytes that the heap grows by for a job
 * that needs less, what is public, and one that needs as much as before, after
 * one whose rows left something where they had been reserved for.  Once.
 */
Datum
moved_growth(PG_FUNCTION_ARGS)
{
	void	   *above;
	void	   *stays;
	void	   *later;
	char	   *end;

	dp_base_reserve_init(BLOCK);
	dp_base_hold();
	dp_base_reserve(RESERVED, 0);
	dp_base_hold();
	above = malloc(200000);
	dp_base_reserve(RESERVED, 0);
	stays = malloc(100000);
	dp_base_hold();
	end = sbrk(0);
	dp_base_reserve(8 * MB, 0);
	dp_base_hold();
	later = malloc(25 * MB);
	dp_base_reserve(RESERVED, 0);
	if (above == NULL || stays == NULL || later == NULL)
		PG_RETURN_NULL();
	PG_RETURN_INT64((char *) sbrk(0) - end);
}

#define GAPS 2
#define OTHERS (CACHED_MOST - GAPS)

/* So that what is asked for next is found where rows are reserved for. */
static void
fill_holes(void)
{
	Size		bytes;
	int			i;

	for (bytes = BLOCK; bytes >= CACHED_FIRST; bytes /= 2)
		for (i = 0; i < BLOCKS; i++)
			(void) take_piece(bytes);
}

/*
 * Pieces that are kept of the first size, but two, and three more, the last of
 * them where rows are reserved for; freed so that all are kept but three, of
 * which that is in the middle.  True: it does lie there.
 */
static bool
do_hidden(void *first, void *second)
{
	void	   *kept_piece[OTHERS];
	void	   *other[GAPS];
	void	   *hidden;
	bool		there;
	int			i;

	for (i = 0; i < cached - GAPS; i++)
		kept_piece[i] = take_piece(CACHED_FIRST);
	for (i = 0; i < GAPS; i++)
		other[i] = take_piece(CACHED_FIRST);
	hidden = take_piece(CACHED_FIRST);
	there = (uintptr_t) hidden - held_at < held_bytes;
	for (i = cached - GAPS - 1; i >= 0; i--)
		free(kept_piece[i]);
	for (i = 0; i < GAPS; i++)
		free(other[i]);
	free(first);
	free(hidden);
	free(second);
	return there;
}

/*
 * hidden_growth(rows bool) returns bigint: the bytes that the heap grows by
 * when as much is reserved again, after rows, if any, whose piece malloc
 * fetches together with those that were left to be kept, while these are
 * looked through.  NULL: it does not lie where it should.  Once.
 */
Datum
hidden_growth(PG_FUNCTION_ARGS)
{
	void	   *gap[GAPS];
	void	   *first;
	void	   *second;
	bool		there = true;
	char	   *end;
	int			i;

	dp_base_reserve_init(BLOCK);
	fill_holes();
	for (i = 0; i < GAPS; i++)
	{
		gap[i] = take_piece(CACHED_FIRST);
		(void) take_piece(CACHED_FIRST + 10 * CACHED_STEP);
	}
	dp_base_hold();
	for (i = 0; i < GAPS; i++)
		free(gap[i]);
	dp_base_reserve(RESERVED, 0);
	dp_base_hold();
	dp_base_reserve(RESERVED, 0);
	end = sbrk(0);
	first = take_piece(CACHED_FIRST);
	second = take_piece(CACHED_FIRST);
	if (PG_GETARG_BOOL(0))
		there = do_hidden(first, second);
	else
	{
		free(second);
		free(first);
	}
	for (i = 0; i < GAPS; i++)	/* which stay */
		(void) take_piece(CACHED_FIRST);
	dp_base_hold();
	dp_base_reserve(RESERVED, 0);
	if (!there)
		PG_RETURN_NULL();
	PG_RETURN_INT64((char *) sbrk(0) - end);
}

/* Contexts of both sizes, which rows create between blocks, and delete. */
static void
do_contexts(int n)
{
	static void *block[2 * LISTED];
	MemoryContext parent;
	int			i;

	parent = AllocSetContextCreate(CurrentMemoryContext, "of rows",
								   ALLOCSET_DEFAULT_SIZES);
	for (i = 0; i < n; i++)
	{
		block[i] = malloc(BLOCK);
		(void) create_context(parent, i % KINDS);
	}
	MemoryContextDelete(parent);
	while (i > 0)
		free(block[--i]);
}

/*
 * contexts_growth(n int) returns bigint: the bytes that the heap has grown by
 * when as much is reserved again, after rows that had n contexts created, of
 * twice LISTED at most.  To be called once in a process.
 */
Datum
contexts_growth(PG_FUNCTION_ARGS)
{
	char	   *end;

	dp_base_reserve_init(BLOCK);
	dp_base_hold();
	dp_base_reserve(RESERVED, 2 * LISTED);
	end = sbrk(0);
	do_contexts(PG_GETARG_INT32(0));
	dp_base_hold();
	dp_base_reserve(RESERVED, 2 * LISTED);
	PG_RETURN_INT64((char *) sbrk(0) - end);
}
