/*
 * table_access.h
 *	  Private to this room: find, lock and write rows of the extension's
 *	  tables without a plan; columns; SQL.
 *
 * Include postgres.h first.
 */
#ifndef DP_CATALOG_TABLE_ACCESS_H
#define DP_CATALOG_TABLE_ACCESS_H

#include "access/skey.h"

#include "dp_catalog.h"

/* A table of schema dp_pg that a superuser owns. */
typedef struct dp_table
{
	const char *name;
	int			columns;		/* number created by the extension; users may
								 * have added others */
} dp_table;

/* Columns of dp_catalog_set_limit and of dp_catalog_set_sums. */
#define DP_LIMIT_COLUMNS 8
#define DP_SUM_COLUMNS 5

#define DP_ROW_KEYS 4			/* most keys of a search */

/* Values of a row; column numbers start at 1. */
struct dp_values
{
	int			n;				/* columns of the table */
	Datum	   *value;
	bool	   *null;
	bool	   *set;			/* column is to be written */
};

/*
 * Whether this row is acceptable and preferred to `best`, which may be NULL.
 */
typedef bool (*dp_prefer) (const dp_values *row, const dp_values *best);

/* A scan of a table. */
typedef struct dp_scan
{
	Relation	rel;
	struct SysScanDescData *sys;
	ScanKeyData keys[DP_ROW_KEYS];	/* changed by the scan */
} dp_scan;

/* Whether this row should be listed. */
typedef bool (*dp_wanted) (const dp_values *row);

extern Relation dp_catalog_open_table(const dp_table *table, LOCKMODE mode);
extern Relation dp_catalog_try_table(const dp_table *table);
extern Oid	dp_catalog_sequence(const char *name);
extern void dp_catalog_key(ScanKeyData *key, int column, Oid type,
						   Datum value);
extern void dp_catalog_start_scan(dp_scan *scan, Relation rel,
								  const char *index, Snapshot snapshot,
								  const ScanKeyData *keys, int n);
extern HeapTuple dp_catalog_next(dp_scan *scan);
extern void dp_catalog_end_scan(dp_scan *scan);
extern void dp_catalog_read_row(const dp_table *table, Relation rel,
								HeapTuple tuple, dp_values *out);
extern dp_found dp_catalog_find_row(const dp_table *table, const char *index,
									const ScanKeyData *keys, int n,
									dp_prefer prefer, dp_row_lock lock,
									HeapTuple *tuple, dp_values *out);
extern List *dp_catalog_list_rows(const dp_table *table, const char *index,
								  const ScanKeyData *keys, int n,
								  dp_wanted wanted);
extern void dp_catalog_start_row(const dp_table *table, dp_values *out);
extern void dp_catalog_update_row(const dp_table *table, HeapTuple old,
								  const dp_values *values);
extern void dp_catalog_append_rows(const dp_table *table, dp_values *rows,
								   int n);
extern void dp_catalog_delete_row(const dp_table *table, HeapTuple old);

extern const dp_table dp_catalog_datasets;	/* ledger_tables.c */
extern const dp_table dp_catalog_budgets;	/* ledger_tables.c */

/* ---- SQL (table_access.c) ---- */
extern uint64 dp_catalog_run(const char *statement, int n, Oid *types,
							 Datum *values, const char *nulls);
extern void dp_catalog_run_as_owner(const char *statement, int n, Oid *types,
									Datum *values, const char *nulls);
extern Datum dp_catalog_result(int row, int column);

/*
 * ---- columns (table_access.c) ----
 *
 * See table_access.c.
 */
extern bool dp_catalog_is_null(const dp_values *row, int column);
extern void dp_catalog_set(dp_values *row, int column, Datum value);
extern void dp_catalog_set_null(dp_values *row, int column);
extern void dp_catalog_set_bool(dp_values *row, int column, bool x);
extern void dp_catalog_set_int32(dp_values *row, int column, int32 x);
extern void dp_catalog_set_int64(dp_values *row, int column, int64 x);
extern void dp_catalog_set_oid(dp_values *row, int column, Oid x);
extern void dp_catalog_set_name(dp_values *row, int column,
								const NameData *x);
extern void dp_catalog_set_text(dp_values *row, int column, const char *x);
extern void dp_catalog_set_time(dp_values *row, int column, TimestampTz x);
extern void dp_catalog_set_double(dp_values *row, int column, double x);
extern void dp_catalog_set_fixed(dp_values *row, int column, dp_fixed x);
extern void dp_catalog_set_neighbours(dp_values *row, int column,
									  bool replace_one);
extern void dp_catalog_set_limit(dp_values *row, int first,
								 const dp_limit *limit);
extern void dp_catalog_set_sums(dp_values *row, int first,
								const dp_spent *spent);
extern Datum dp_catalog_get(const dp_values *row, int column);
extern bool dp_catalog_get_bool(const dp_values *row, int column);
extern int16 dp_catalog_get_int16(const dp_values *row, int column);
extern int32 dp_catalog_get_int32(const dp_values *row, int column);
extern int64 dp_catalog_get_int64(const dp_values *row, int column);
extern Oid	dp_catalog_get_oid(const dp_values *row, int column);
extern NameData dp_catalog_get_name(const dp_values *row, int column);
extern char *dp_catalog_get_text(const dp_values *row, int column);
extern TimestampTz dp_catalog_get_time(const dp_values *row, int column);
extern double dp_catalog_get_double(const dp_values *row, int column);
extern dp_fixed dp_catalog_get_fixed(const dp_values *row, int column);
extern bool dp_catalog_get_neighbours(const dp_values *row, int column);
extern void dp_catalog_get_limit(const dp_values *row, int first,
								 dp_limit *out);
extern void dp_catalog_get_sums(const dp_values *row, int first,
								dp_spent *out);

#endif							/* DP_CATALOG_TABLE_ACCESS_H */
