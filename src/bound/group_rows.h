/*
 * group_rows.h
 *	  Private to the bound room: the rows of one unit in one group, one after
 *	  the other (rows.c).
 */
#ifndef DP_BOUND_GROUP_ROWS_H
#define DP_BOUND_GROUP_ROWS_H

#include "records.h"

/* Entries in memory, or the records of a partition that have the group. */
typedef struct dp_bound_rows
{
	const dp_bound_layout *layout;
	const dp_bound_entry *entries;
	int64		n;
	int64		at;
	dp_bound_cursor cursor;		/* entries is NULL */
	uint64		group;			/* dp_bound_group_of */
	bool		ranked;			/* keys are ranks of unit and group */
} dp_bound_rows;

static inline void
dp_bound_rows_rewind(dp_bound_rows *rows)
{
	rows->at = 0;
	if (rows->entries == NULL)
		dp_bound_cursor_open(&rows->cursor, rows->cursor.store,
							 rows->cursor.partition);
}

static inline const dp_bound_record *
dp_bound_rows_next(dp_bound_rows *rows)
{
	const dp_bound_record *record;

	if (rows->entries != NULL)
		return rows->at < rows->n ? rows->entries[rows->at++].record : NULL;
	while ((record = dp_bound_cursor_fetch(&rows->cursor)) != NULL)
		if (dp_bound_group_of(rows->layout, record) == rows->group)
			return record;
	return NULL;
}

extern void dp_bound_rows_add_up(const dp_bound_job *job,
								 dp_bound_rows *rows);

#endif							/* DP_BOUND_GROUP_ROWS_H */
