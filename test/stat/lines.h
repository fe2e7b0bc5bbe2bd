/*
 * lines.h
 *	  Reads the numbers that a test feeds to `judge`: lines of fields apart by
 *	  blanks, tabs or bars.  Malformed input ends the program with status 2.
 */
#ifndef STAT_LINES_H
#define STAT_LINES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 3

static inline void
fail(const char *what)
{
	fprintf(stderr, "judge: %s\n", what);
	exit(2);
}

/* Reads a line of exactly n fields, leaving the text in line. */
static inline bool
next_line(char *line, size_t size, char **field, int n)
{
	char	   *save = NULL;
	int			i;

	if (fgets(line, (int) size, stdin) == NULL)
		return false;
	for (i = 0; i < n; i++)
	{
		field[i] = strtok_r(i == 0 ? line : NULL, " \t|\n", &save);
		if (field[i] == NULL)
			fail("a field is missing");
	}
	if (strtok_r(NULL, " \t|\n", &save) != NULL)
		fail("too many fields");
	return true;
}

static inline long double
number(const char *text)
{
	char	   *end;
	long double x = strtold(text, &end);

	if (end == text || *end != '\0')
		fail("not a number");
	return x;
}

static inline bool
next_numbers(long double *x, int n)
{
	char		line[1024];
	char	   *field[MAX_FIELDS];
	int			i;

	if (!next_line(line, sizeof(line), field, n))
		return false;
	for (i = 0; i < n; i++)
		x[i] = number(field[i]);
	return true;
}

static inline double
fraction(const char *text)
{
	char	   *end;
	double		x = strtod(text, &end);

	if (*end == '/')
		x /= strtod(end + 1, &end);
	if (*end != '\0' || !(x > 0))
		fail("not a positive fraction");
	return x;
}

/* All numbers of standard input, n columns side by side. */
static inline double *
read_all(int columns, int *rows)
{
	size_t		capacity = 1024;
	double	   *all = malloc(capacity * sizeof(double));
	size_t		used = 0;
	long double x[MAX_FIELDS];
	int			i;

	while (all != NULL && next_numbers(x, columns))
	{
		if (used + MAX_FIELDS > capacity)
		{
			capacity *= 2;
			all = realloc(all, capacity * sizeof(double));
			if (all == NULL)
				break;
		}
		for (i = 0; i < columns; i++)
			all[used++] = (double) x[i];
	}
	if (all == NULL)
		fail("out of memory");
	*rows = (int) (used / (size_t) columns);
	return all;
}

#endif							/* STAT_LINES_H */
