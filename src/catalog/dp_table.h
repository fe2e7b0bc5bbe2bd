/*
 * dp_table.h
 *	  Public interface to the tables of the extension: find and lock a row by
 *	  its key, write rows, without a plan.
 *
 * Rights, policies, triggers and rules take no part: who may do what is
 * decided by the callers.  Only the ledger's worker writes what a rollback of
 * a session must not take back.
 *
 * Include postgres.h first.
 */
#ifndef DP_TABLE_H
#define DP_TABLE_H

#include "access/htup.h"
#include "access/skey.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "../bridge/dp_bridge.h"

/* A table of schema dp_pg that a superuser owns. */
typedef struct dp_table
{
	const char *name;
	int			columns;		/* that the extension made; somebody may have
								 * added others */
} dp_table;

typedef enum dp_found
{
	DP_FOUND,
	DP_MISSING,
	DP_LOCKED					/* by somebody else, SKIP_LOCKED only */
} dp_found;

typedef enum dp_row_lock
{
	DP_ROW_READ,
	DP_ROW_SKIP_LOCKED,
	DP_ROW_WAIT
} dp_row_lock;

#define DP_ROW_KEYS 4			/* most keys of a search */

/* Values of a row by column number, from 1; those of one read are its own. */
typedef struct dp_values
{
	int			n;				/* columns of the table */
	Datum	   *value;
	bool	   *null;
	bool	   *set;			/* of a row to be written: changed */
} dp_values;

/*
 * Of the rows with the wanted keys, is this one wanted more than `best`,
 * which may be NULL?
 */
typedef bool (*dp_prefer) (const dp_values *row, const dp_values *best);

/* A search for rows, one after the other. */
typedef struct dp_scan
{
	Relation	rel;
	struct SysScanDescData *sys;
	ScanKeyData keys[DP_ROW_KEYS];	/* which the search changes */
} dp_scan;

/* Is this row to be listed? */
typedef bool (*dp_wanted) (const dp_values *row);

extern Relation dp_table_open(const dp_table *table, LOCKMODE mode);
extern Relation dp_table_try(const dp_table *table);
extern void dp_row_key(ScanKeyData *key, int column, Oid type, Datum value);
extern void dp_row_read(const dp_table *table, Relation rel, HeapTuple tuple,
						dp_values *out);
extern void dp_scan_start(dp_scan *scan, Relation rel, const char *index,
						  Snapshot snapshot, const ScanKeyData *keys, int n);
extern HeapTuple dp_scan_next(dp_scan *scan);
extern void dp_scan_end(dp_scan *scan);
extern dp_found dp_row_find(const dp_table *table, const char *index,
							const ScanKeyData *keys, int n, dp_prefer prefer,
							dp_row_lock lock, HeapTuple *tuple,
							dp_values *out);
extern List *dp_row_list(const dp_table *table, const char *index,
						 const ScanKeyData *keys, int n, dp_wanted wanted);
extern void dp_row_start(const dp_table *table, dp_values *out);
extern void dp_row_update(const dp_table *table, HeapTuple old,
						  const dp_values *values);
extern void dp_row_append(const dp_table *table, dp_values *rows, int n);
extern void dp_row_delete(const dp_table *table, HeapTuple old);

/* ---- SQL (statement.c) ---- */
extern uint64 dp_catalog_run(const char *statement, int n, Oid *types,
							 Datum *values, const char *nulls);
extern void dp_catalog_run_as_owner(const char *statement, int n, Oid *types,
									Datum *values, const char *nulls);
extern Datum dp_catalog_result(int row, int column);

/* ---- columns (row_value.c) ---- */
extern bool dp_is_null(const dp_values *row, int column);
extern void dp_set(dp_values *row, int column, Datum value);
extern void dp_set_null(dp_values *row, int column);
extern void dp_set_fixed(dp_values *row, int column, dp_fixed x);
extern Datum dp_get(const dp_values *row, int column);
extern dp_fixed dp_get_fixed(const dp_values *row, int column);

#endif							/* DP_TABLE_H */
