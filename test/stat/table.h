/*
 * table.h
 *	  Which test rejects which broken variant: one check and one line of a
 *	  table each.
 *
 * Every program of this folder that tries broken variants reports them with
 * table_reject and ends with table_done, which prints the lines as TAP
 * comments:
 *
 *	# | mechanism | variant | caught by | statistic |
 *
 * so that "make table" can put all of them together.
 */
#ifndef STAT_TABLE_H
#define STAT_TABLE_H

#include <string.h>

#include "tap.h"

#define TABLE_ROWS 128
#define TABLE_TEXT 128

static struct
{
	char		mechanism[TABLE_TEXT];
	char		variant[TABLE_TEXT];
	char		by[TABLE_TEXT];
	char		statistic[TABLE_TEXT];
}			table[TABLE_ROWS];
static int	table_rows;

/*
 * A variant that a test has to reject; `by` names the test.  Rejections of
 * one variant by several tests, one after the other, share a line.
 */
static inline void
			__attribute__((format(printf, 5, 6)))
table_reject(bool rejected, const char *mechanism, const char *variant,
			 const char *by, const char *fmt,...)
{
	char		statistic[TABLE_TEXT / 2];
	size_t		used;
	va_list		args;

	va_start(args, fmt);
	vsnprintf(statistic, sizeof(statistic), fmt, args);
	va_end(args);
	tap_ok(rejected, "rejected by the %s: %s, %s: %s", by, mechanism,
		   variant, statistic);
	if (!rejected)
		by = "NOT CAUGHT";
	if (table_rows > 0 &&
		strcmp(table[table_rows - 1].mechanism, mechanism) == 0 &&
		strcmp(table[table_rows - 1].variant, variant) == 0)
	{
		used = strlen(table[table_rows - 1].by);
		snprintf(table[table_rows - 1].by + used, TABLE_TEXT - used, ", %s",
				 by);
		used = strlen(table[table_rows - 1].statistic);
		snprintf(table[table_rows - 1].statistic + used, TABLE_TEXT - used,
				 "; %s", statistic);
		return;
	}
	if (table_rows == TABLE_ROWS)
	{
		fprintf(stderr, "table.h: TABLE_ROWS is too small\n");
		exit(2);
	}
	snprintf(table[table_rows].mechanism, TABLE_TEXT, "%s", mechanism);
	snprintf(table[table_rows].variant, TABLE_TEXT, "%s", variant);
	snprintf(table[table_rows].by, TABLE_TEXT, "%s", by);
	snprintf(table[table_rows].statistic, TABLE_TEXT, "%s", statistic);
	table_rows++;
}

/* Prints the table and the plan; returns the exit status of the program. */
static inline int
table_done(void)
{
	int			i;

	for (i = 0; i < table_rows; i++)
		tap_diag("| %s | %s | %s | %s |", table[i].mechanism,
				 table[i].variant, table[i].by, table[i].statistic);
	return tap_done();
}

#endif							/* STAT_TABLE_H */
