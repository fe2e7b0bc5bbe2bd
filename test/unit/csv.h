/*
 * csv.h
 *	  Reads the oracle's comma-separated files: a header line, then records
 *	  without quoting.
 *
 * Each test program includes this once.  A missing file or a missing column
 * ends the program with an error: an oracle test never skips.
 */
#ifndef CSV_H
#define CSV_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DP_ORACLE_DIR
#define DP_ORACLE_DIR "../oracle"
#endif

#define CSV_FIELDS 32
#define CSV_LINE 4096

typedef struct csv_file
{
	FILE	   *stream;
	char		name[256];
	char		header_line[CSV_LINE];
	char		line[CSV_LINE];
	char	   *header[CSV_FIELDS];
	char	   *field[CSV_FIELDS];
	int			columns;
	int			records;		/* records read so far */
} csv_file;

static inline int
csv_split(char *line, char **field)
{
	int			n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (;;)
	{
		if (n == CSV_FIELDS)
		{
			fprintf(stderr, "too many columns\n");
			exit(2);
		}
		field[n++] = line;
		line = strchr(line, ',');
		if (line == NULL)
			return n;
		*line++ = '\0';
	}
}

/* Opens test/oracle/<name>. */
static inline void
csv_open(csv_file *csv, const char *name)
{
	memset(csv, 0, sizeof(*csv));
	snprintf(csv->name, sizeof(csv->name), "%s/%s", DP_ORACLE_DIR, name);
	csv->stream = fopen(csv->name, "r");
	if (csv->stream == NULL ||
		fgets(csv->header_line, CSV_LINE, csv->stream) == NULL)
	{
		fprintf(stderr, "cannot read %s\n", csv->name);
		exit(2);
	}
	csv->columns = csv_split(csv->header_line, csv->header);
}

/* Reads the next record; closes the file and returns false at the end. */
static inline bool
csv_next(csv_file *csv)
{
	if (fgets(csv->line, CSV_LINE, csv->stream) == NULL)
	{
		fclose(csv->stream);
		csv->stream = NULL;
		return false;
	}
	if (csv_split(csv->line, csv->field) != csv->columns)
	{
		fprintf(stderr, "%s: wrong number of columns\n", csv->name);
		exit(2);
	}
	csv->records++;
	return true;
}

/* The current record's text in the named column. */
static inline const char *
csv_text(const csv_file *csv, const char *column)
{
	int			i;

	for (i = 0; i < csv->columns; i++)
		if (strcmp(csv->header[i], column) == 0)
			return csv->field[i];
	fprintf(stderr, "%s: no column %s\n", csv->name, column);
	exit(2);
}

static inline long double
csv_number(const csv_file *csv, const char *column)
{
	return strtold(csv_text(csv, column), NULL);
}

/* A fraction "a/b" or an integer "a". */
static inline void
csv_fraction(const csv_file *csv, const char *column,
			 unsigned long long *num, unsigned long long *den)
{
	char	   *rest;

	*num = strtoull(csv_text(csv, column), &rest, 10);
	*den = *rest == '/' ? strtoull(rest + 1, NULL, 10) : 1;
}

#endif							/* CSV_H */
