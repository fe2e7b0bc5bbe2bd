/*
 * smalldb_lanes.c
 *	  The two loops in which SmallDB spends its time, written so that the
 *	  compiler vectorises them, for which the Makefile sets options.
 *
 * Numbers of 16 bits stay within -32767 .. 32767, and those of 32 bits far
 * from their limits (smalldb.c chooses), so nothing wraps.
 */
#include "smalldb_lanes.h"

static void
subtract16(const int16_t *restrict from, const int16_t *restrict step,
		   unsigned lanes, int16_t *restrict out)
{
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
		out[i] = (int16_t) (from[i] - step[i]);
}

static void
subtract32(const int32_t *restrict from, const int32_t *restrict step,
		   unsigned lanes, int32_t *restrict out)
{
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
		out[i] = from[i] - step[i];
}

/*
 * dp_models_smalldb_subtract
 *	  out = from - step, lane by lane.
 *
 * Requires: lanes a multiple of SMALLDB_LANES; out overlaps neither.
 * Gives:	 out filled.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_subtract(bool wide, const void *from, const void *step,
						   unsigned lanes, void *out)
{
	if (wide)
		subtract32(from, step, lanes, out);
	else
		subtract16(from, step, lanes, out);
}

static void
subtract_times16(const int16_t *from, const int16_t *restrict step,
				 int16_t times, unsigned lanes, int16_t *out)
{
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
		out[i] = (int16_t) (from[i] - step[i] * times);
}

static void
subtract_times32(const int32_t *from, const int32_t *restrict step,
				 int32_t times, unsigned lanes, int32_t *out)
{
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
		out[i] = from[i] - step[i] * times;
}

/*
 * dp_models_smalldb_subtract_times
 *	  out = from - times * step, lane by lane.
 *
 * Requires: lanes a multiple of SMALLDB_LANES; times at most m; out may be
 *			 from, but must not overlap step.
 * Gives:	 out filled.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_subtract_times(bool wide, const void *from, const void *step,
								 unsigned times, unsigned lanes, void *out)
{
	if (wide)
		subtract_times32(from, step, (int32_t) times, lanes, out);
	else
		subtract_times16(from, step, (int16_t) times, lanes, out);
}

/* The largest absolute value of sums - step. */
static inline uint32_t
level16(const int16_t *restrict sums, const int16_t *restrict step,
		unsigned lanes)
{
	int16_t		high = 0;
	int16_t		low = 0;
	int16_t		x;
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
	{
		x = (int16_t) (sums[i] - step[i]);
		high = x > high ? x : high;
		low = x < low ? x : low;
	}
	return (uint32_t) (high > -low ? high : -low);
}

static inline uint32_t
level32(const int32_t *restrict sums, const int32_t *restrict step,
		unsigned lanes)
{
	int32_t		high = 0;
	int32_t		low = 0;
	int32_t		x;
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
	{
		x = sums[i] - step[i];
		high = x > high ? x : high;
		low = x < low ? x : low;
	}
	return (uint32_t) (high > -low ? high : -low);
}

/*
 * dp_models_smalldb_levels
 *	  The levels of `count` candidates that share the prefix with these sums,
 *	  one for each vector of steps.
 *
 * Requires: lanes a multiple of SMALLDB_LANES; room for count levels.
 * Gives:	 levels filled.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_levels(bool wide, const void *sums, const void *steps,
						 unsigned lanes, unsigned count, uint32_t *levels)
{
	const int16_t *narrow_step = steps;
	const int32_t *wide_step = steps;
	unsigned	i;

	if (wide)
		for (i = 0; i < count; i++)
			levels[i] = level32(sums, wide_step + (size_t) i * lanes, lanes);
	else
		for (i = 0; i < count; i++)
			levels[i] = level16(sums, narrow_step + (size_t) i * lanes,
								lanes);
}

/* The largest absolute value of sums, which then change. */
static inline uint32_t
level_along16(int16_t *restrict sums, const int16_t *restrict change,
			  unsigned lanes)
{
	int16_t		high = 0;
	int16_t		low = 0;
	int16_t		x;
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
	{
		x = sums[i];
		high = x > high ? x : high;
		low = x < low ? x : low;
		sums[i] = (int16_t) (x + change[i]);
	}
	return (uint32_t) (high > -low ? high : -low);
}

static inline uint32_t
level_along32(int32_t *restrict sums, const int32_t *restrict change,
			  unsigned lanes)
{
	int32_t		high = 0;
	int32_t		low = 0;
	int32_t		x;
	unsigned	i;

	for (i = 0; i < lanes / SMALLDB_LANES * SMALLDB_LANES; i++)
	{
		x = sums[i];
		high = x > high ? x : high;
		low = x < low ? x : low;
		sums[i] = x + change[i];
	}
	return (uint32_t) (high > -low ? high : -low);
}

/*
 * dp_models_smalldb_levels_along
 *	  The levels of `count` candidates, the first of which has these sums and
 *	  each other one those of the one before, changed.
 *
 * Requires: lanes a multiple of SMALLDB_LANES; room for count levels.
 * Gives:	 levels filled; sums those of the candidate after the last,
 *			 meaningless if there is none.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_levels_along(bool wide, void *sums, const void *change,
							   unsigned lanes, unsigned count,
							   uint32_t *levels)
{
	unsigned	i;

	if (wide)
		for (i = 0; i < count; i++)
			levels[i] = level_along32(sums, change, lanes);
	else
		for (i = 0; i < count; i++)
			levels[i] = level_along16(sums, change, lanes);
}
