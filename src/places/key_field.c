/*
 * key_field.c
 *	  The fields of date_trunc and extract whose values can be enumerated.
 *
 * Fields that are not listed cannot be group keys: extracted seconds and finer
 * fields have fractions, "epoch" and "julian" as many values as rows.
 */
#include "postgres.h"

#include "datatype/timestamp.h"

#include "dp_places.h"

static const struct
{
	const char *field;
	int			months;
	int			days;
	int64		microseconds;
}			trunc_steps[] =
{
	{"second", 0, 0, USECS_PER_SEC},
	{"minute", 0, 0, USECS_PER_MINUTE},
	{"hour", 0, 0, USECS_PER_HOUR},
	{"day", 0, 1, 0},
	{"week", 0, 7, 0},
	{"month", 1, 0, 0},
	{"quarter", 3, 0, 0},
	{"year", 12, 0, 0},
	{"decade", 120, 0, 0},
	{"century", 1200, 0, 0},
	{"millennium", 12000, 0, 0}
};

static const struct
{
	const char *field;
	int			first;			/* first > last: monotone in time */
	int			last;
}			extract_ranges[] =
{
	{"minute", 0, 59},
	{"hour", 0, 23},
	{"day", 1, 31},
	{"dow", 0, 6},
	{"isodow", 1, 7},
	{"doy", 1, 366},
	{"week", 1, 53},
	{"month", 1, 12},
	{"quarter", 1, 4},
	{"year", 1, 0},
	{"isoyear", 1, 0},
	{"decade", 1, 0},
	{"century", 1, 0},
	{"millennium", 1, 0}
};

/*
 * dp_places_key_trunc_step
 *	  The interval between neighbouring values of date_trunc(field, ...); false
 *	  if the field cannot be a key.
 */
bool
dp_places_key_trunc_step(const char *field, Interval *step)
{
	int			i;

	for (i = 0; i < lengthof(trunc_steps); i++)
		if (strcmp(trunc_steps[i].field, field) == 0)
		{
			step->month = trunc_steps[i].months;
			step->day = trunc_steps[i].days;
			step->time = trunc_steps[i].microseconds;
			return true;
		}
	return false;
}

/*
 * dp_places_key_extract_range
 *	  The values of extract(field from ...): *first .. *last if they recur, or
 *	  *monotone if they follow from the bounds; false if the field cannot be a
 *	  key.
 */
bool
dp_places_key_extract_range(const char *field, bool *monotone, int *first,
							  int *last)
{
	int			i;

	for (i = 0; i < lengthof(extract_ranges); i++)
		if (strcmp(extract_ranges[i].field, field) == 0)
		{
			*first = extract_ranges[i].first;
			*last = extract_ranges[i].last;
			*monotone = *first > *last;
			return true;
		}
	return false;
}
