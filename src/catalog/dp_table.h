/*
 * dp_table.h
 *	  Public interface of table_access.c: find, lock and write rows of the
 *	  extension's tables without a plan, by tables of their columns; SQL.
 *
 * Include postgres.h first.
 */
#ifndef DP_TABLE_H
#define DP_TABLE_H

#include "access/skey.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "dp_catalog.h"

/* What a column holds, and the field of the struct that it belongs to. */
typedef enum dp_column_kind
{
	DP_COLUMN_OTHER,			/* no field: not read, and NULL in new rows */
	DP_COLUMN_VALUE,			/* integer, OID, time, boolean or double */
	DP_COLUMN_BYTES,			/* name or interval: as it is */
	DP_COLUMN_TEXT,				/* text: char *, palloc'd */
	DP_COLUMN_CHARS,			/* text: an array of char, cut off */
	DP_COLUMN_JSON,				/* jsonb: char *; written only */
	DP_COLUMN_LONG,				/* any varlena type: a pointer into the tuple;
								 * it may be compressed or stored elsewhere */
	DP_COLUMN_FIXED,			/* numeric: dp_fixed; infinite is 'Infinity' */
	DP_COLUMN_INT128,			/* numeric: dp_int128 */
	DP_COLUMN_LABEL				/* text: an enum or a bool, by label */
} dp_column_kind;

/*
 * A column.  It is NULL if and only if its decisive field, where it has one,
 * is zero; a bool that is not a column itself is set when a value is read.
 */
typedef struct dp_column
{
	const char *name;			/* in SQL */
	dp_column_kind kind;
	Size		offset;			/* of the field */
	Size		size;
	int			sets;			/* updates that write it, as bits */
	Size		decisive;		/* offset of the decisive field */
	Size		decisive_size;	/* 0: the column is never NULL */
	const char *(*label) (int i);	/* NULL after the last one */
} dp_column;

/*
 * Entries of a table of columns, for the struct DP_ROW.  A field's columns
 * are never NULL with DP_COL, NULL for 0 with DP_COL_OR_NULL, and NULL
 * where another field is 0 with DP_COL_IF.
 */
#define DP_COL_AT(field) \
	offsetof(DP_ROW, field), sizeof(((DP_ROW *) NULL)->field)
#define DP_COL(name, kind, field, sets) \
	{name, DP_COLUMN_##kind, DP_COL_AT(field), sets}
#define DP_COL_IF(name, kind, field, sets, flag) \
	{name, DP_COLUMN_##kind, DP_COL_AT(field), sets, DP_COL_AT(flag)}
#define DP_COL_OR_NULL(name, kind, field, sets) \
	DP_COL_IF(name, kind, field, sets, field)
#define DP_COL_LABELS(name, field, sets, label) \
	{name, DP_COLUMN_LABEL, DP_COL_AT(field), sets, 0, 0, label}
#define DP_COL_NEIGHBOURS(name, field, sets) \
	DP_COL_LABELS(name, field, sets, dp_catalog_neighbours_label)

/* The columns of a dp_spent: sums of epsilon, rho, delta, squares; charges. */
#define DP_COLS_SPENT(prefix, count, field, sets) \
	DP_COL(prefix "_epsilon", FIXED, field.epsilon, sets), \
	DP_COL(prefix "_rho", FIXED, field.rho, sets), \
	DP_COL(prefix "_delta", FIXED, field.delta, sets), \
	DP_COL(prefix "_squares", FIXED, field.squares, sets), \
	DP_COL(count, VALUE, field.charges, sets)

/*
 * The columns of a dp_limit, NULL where `flag` is false.  In caps from dumps
 * of older versions squares may be NULL; their filters do not use them.
 */
#define DP_COLS_LIMIT(prefix, field, sets, ...) \
	{prefix "filter", DP_COLUMN_LABEL, DP_COL_AT(field.filter), sets, \
	 __VA_ARGS__, dp_catalog_filter_label}, \
	{prefix "epsilon", DP_COLUMN_FIXED, DP_COL_AT(field.epsilon), sets, \
	 __VA_ARGS__}, \
	{prefix "delta", DP_COLUMN_FIXED, DP_COL_AT(field.delta), sets, \
	 __VA_ARGS__}, \
	{prefix "delta_conversion", DP_COLUMN_FIXED, \
	 DP_COL_AT(field.delta_conversion), sets, __VA_ARGS__}, \
	{prefix "delta_sum", DP_COLUMN_FIXED, DP_COL_AT(field.delta_sum), \
	 sets, __VA_ARGS__}, \
	{prefix "rho", DP_COLUMN_FIXED, DP_COL_AT(field.rho), sets, \
	 __VA_ARGS__}, \
	{prefix "alpha", DP_COLUMN_VALUE, DP_COL_AT(field.alpha), sets, \
	 __VA_ARGS__}, \
	{prefix "squares", DP_COLUMN_FIXED, DP_COL_AT(field.squares), sets, \
	 __VA_ARGS__}

/*
 * A table of schema dp_pg that a superuser owns.  `columns` are those that the
 * extension created, in their order; users may have added others.
 */
typedef struct dp_table
{
	const char *name;
	const dp_column *columns;
	int			ncolumns;
	Size		row_size;		/* of the struct */
} dp_table;

#define DP_TABLE(name, type, columns) \
	{name, columns, lengthof(columns), sizeof(type)}

#define DP_ROW_KEYS 4			/* most keys of a search */

/*
 * Whether this row is acceptable and preferred to `best`, which may be NULL.
 */
typedef bool (*dp_prefer) (const void *row, const void *best);

/* A scan of a table. */
typedef struct dp_scan
{
	const dp_table *table;		/* NULL: another one */
	Relation	rel;
	struct SysScanDescData *sys;
	ScanKeyData keys[DP_ROW_KEYS];	/* changed by the scan */
} dp_scan;

/* Whether this row should be listed. */
typedef bool (*dp_wanted) (const void *row);

extern Relation dp_catalog_open_table(const dp_table *table, LOCKMODE mode);
extern Relation dp_catalog_try_table(const dp_table *table);
extern Oid	dp_catalog_sequence(const char *name);
extern AttrNumber dp_catalog_column(const dp_table *table, const char *name);
extern void dp_catalog_key(ScanKeyData *key, const dp_table *table,
						   const char *column, Datum value);
extern void dp_catalog_start_scan(dp_scan *scan, Relation rel,
								  const char *index, Snapshot snapshot,
								  const ScanKeyData *keys, int n);
extern HeapTuple dp_catalog_next(dp_scan *scan);
extern void dp_catalog_end_scan(dp_scan *scan);
extern void dp_catalog_start_rows(dp_scan *scan, const dp_table *table,
								  const ScanKeyData *keys, int n);
extern bool dp_catalog_next_row(dp_scan *scan, void *out);
extern void dp_catalog_end_rows(dp_scan *scan);
extern void dp_catalog_read_row(const dp_table *table, Relation rel,
								HeapTuple tuple, void *out);
extern dp_found dp_catalog_find_row(const dp_table *table, const char *index,
									const ScanKeyData *keys, int n,
									dp_prefer prefer, dp_row_lock lock,
									void *out);
extern List *dp_catalog_list_rows(const dp_table *table, const char *index,
								  const ScanKeyData *keys, int n,
								  dp_wanted wanted, int most);
extern void dp_catalog_update_row(const dp_table *table, const void *row,
								  int sets);
extern void dp_catalog_insert_rows(const dp_table *table, const void *rows,
								   int n);
extern void dp_catalog_delete_row(const dp_table *table, HeapTuple old);
extern const char *dp_catalog_neighbours_label(int i);
extern const char *dp_catalog_filter_label(int i);

extern const dp_table dp_catalog_relations; /* relation_tables.c */

extern bool dp_catalog_find_profile(Oid relid, Jsonb **lines, Jsonb **bars);

/* ---- SQL (table_access.c) ---- */

/* An argument of a statement. */
typedef struct dp_argument
{
	Oid			type;
	Datum		value;
	bool		null;
} dp_argument;

#define DP_ARG_OID(x) {OIDOID, ObjectIdGetDatum(x)}
#define DP_ARG_NAME(x) {NAMEOID, NameGetDatum(x)}
#define DP_ARG_INT64(x) {INT8OID, Int64GetDatum(x)}
#define DP_ARG_BOOL(x) {BOOLOID, BoolGetDatum(x)}

extern uint64 dp_catalog_run(const char *statement, const dp_argument *args,
							 int n);
extern void dp_catalog_run_as_owner(const char *statement,
									const dp_argument *args, int n);
extern Datum dp_catalog_result(int row, int column);

#endif							/* DP_TABLE_H */
