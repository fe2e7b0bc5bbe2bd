/*
 * dp_catalog.h
 *	  Public interface of the catalog: the extension's types, functions,
 *	  aggregates, and rows of its tables.
 *
 * Include postgres.h first.
 */
#ifndef DP_CATALOG_H
#define DP_CATALOG_H

#include "access/attnum.h"
#include "access/htup.h"
#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/numeric.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "../math/accounting/dp_accounting.h"

/* ---- aggregates (aggregate.c) ---- */

/* What a dp_ aggregate computes. */
typedef enum dp_aggregate_kind
{
	DP_AGG_NONE = 0,
	DP_AGG_COUNT,
	DP_AGG_SUM,
	DP_AGG_AVG,
	DP_AGG_VARIANCE,
	DP_AGG_STDDEV,
	DP_AGG_VAR_POP,
	DP_AGG_STDDEV_POP,
	DP_AGG_QUANTILE,
	DP_AGG_MEDIAN,
	DP_AGG_MIN,
	DP_AGG_MAX,
	DP_AGG_HISTOGRAM,
	DP_AGG_ARGMAX,
	DP_AGG_TOPK,
	DP_AGG_CONDITIONS,
	DP_AGG_BOUNDS,
	DP_AGG_SUM_DISTINCT,		/* dp_sum and dp_avg with DISTINCT */
	DP_AGG_AVG_DISTINCT,
	DP_AGG_UNIT_ROWS,			/* of no SQL aggregate: how many rows units
								 * have (prepare/measured_bound.c) */
	DP_AGG_CORR,				/* from here on: of pairs */
	DP_AGG_COVAR_POP,
	DP_AGG_COVAR_SAMP,
	DP_AGG_REGR_AVGX,
	DP_AGG_REGR_AVGY,
	DP_AGG_REGR_COUNT,
	DP_AGG_REGR_INTERCEPT,
	DP_AGG_REGR_R2,
	DP_AGG_REGR_SLOPE,
	DP_AGG_REGR_SXX,
	DP_AGG_REGR_SXY,
	DP_AGG_REGR_SYY
} dp_aggregate_kind;

/* How many of the aggregate's arguments depend on rows; they come first. */
static inline int
dp_catalog_row_arguments(dp_aggregate_kind kind)
{
	return kind >= DP_AGG_CORR ? 2 : 1;
}

/* Whether it counts rows, so that it is 0 if there are none. */
static inline bool
dp_catalog_counts_rows(dp_aggregate_kind kind)
{
	return kind == DP_AGG_COUNT || kind == DP_AGG_REGR_COUNT;
}

extern dp_aggregate_kind dp_catalog_aggregate_kind(Oid function);
extern dp_aggregate_kind dp_catalog_kind_of(const Aggref *aggregate);
extern bool dp_catalog_is_count(Oid aggregate);
extern bool dp_catalog_has_aggregate(Node *node);
extern bool dp_catalog_has_own_aggregate(const Query *query);

/* ---- objects (object.c) ---- */
extern Oid	dp_catalog_type(const char *name);
extern Oid	dp_catalog_function(const char *name, int nargs,
								const Oid *types);
extern Oid	dp_catalog_aggregate(const char *name, int nargs,
								 const Oid *types);
extern Oid	dp_catalog_error_function(void);
extern const char *dp_catalog_shown_name(const char *name);
extern char *dp_catalog_private_advice(Oid aggregate);
extern Oid	dp_catalog_owner(Oid relid);
extern void dp_catalog_name_role(Oid role, NameData *out);
extern bool dp_catalog_visible_to(HeapTuple tuple, Snapshot snapshot);

/*
 * ---- rows of the extension's tables (table_access.c, *_tables.c) ----
 *
 * Reading and locking ignore rights, policies, triggers and rules; callers
 * check what is allowed.  Structs with 128-bit integers must be on the stack
 * or in static memory, because palloc does not align for them.
 */

typedef enum dp_found
{
	DP_FOUND,
	DP_MISSING,
	DP_LOCKED					/* by another transaction; DP_ROW_SKIP_LOCKED
								 * only */
} dp_found;

typedef enum dp_row_lock
{
	DP_ROW_READ,
	DP_ROW_SKIP_LOCKED,
	DP_ROW_WAIT
} dp_row_lock;

/* ---- datasets (ledger_tables.c) ---- */

typedef struct dp_dataset_row
{
	HeapTuple	tuple;			/* as read, palloc'd */
	NameData	name;
	Oid			owner;			/* InvalidOid: was dropped */
	NameData	owner_name;		/* as stored */
	int64		cluster;		/* as stored */
	bool		stale;			/* OID or name of the owner are not as
								 * stored */
	bool		replace_one;	/* neighbouring relation; else add_remove */
	bool		capped;
	dp_limit	cap;
	dp_spent	spent;
	bool		floored;
	dp_fixed	floor;
	bool		ceiled;
	dp_fixed	ceiling;
} dp_dataset_row;

extern dp_found dp_catalog_read_dataset(const char *name, dp_row_lock lock,
										dp_dataset_row *out);
extern int	dp_catalog_list_datasets(NameData **names);
extern bool dp_catalog_insert_dataset(const char *name, Oid owner);

/* What is written besides the current owner, as bits. */
#define DP_DATASET_NEIGHBOURS 2
#define DP_DATASET_CAP 4		/* with floor and ceiling */
#define DP_DATASET_SPENT 8
extern void dp_catalog_write_dataset(const dp_dataset_row *row, int sets);

/* ---- budgets (ledger_tables.c) ---- */

typedef struct dp_budget_row
{
	HeapTuple	tuple;			/* as read, palloc'd */
	NameData	dataset;
	Oid			role;			/* as stored */
	NameData	role_name;		/* as stored */
	int64		cluster;		/* as stored */
	bool		active;
	dp_limit	limit;
	bool		renews;
	Interval	renew;
	TimestampTz period_start;
	int64		period;			/* number of renewals so far */
	dp_spent	spent;			/* this period */
	dp_spent	total;			/* over all periods */
} dp_budget_row;

extern dp_found dp_catalog_read_budget(const char *dataset, Oid role,
									   const char *role_name,
									   dp_row_lock lock, dp_budget_row *out);
extern bool dp_catalog_find_heritage(const char *dataset,
									 const char *role_name,
									 dp_budget_row *out);
extern int	dp_catalog_list_roles(const char *dataset, Oid **roles);
extern List *dp_catalog_list_holders(const char *dataset);
extern int	dp_catalog_sum_budgets(const char *dataset, Oid role,
								   dp_spent *sum);
extern void dp_catalog_insert_budget(const dp_budget_row *row);

/* What is written besides identity, period and its spending. */
#define DP_BUDGET_LIMIT 1
#define DP_BUDGET_TOTAL 2
extern void dp_catalog_write_budget(const dp_budget_row *row, int set);

/* ---- clusters whose role OIDs are valid here (ledger_tables.c) ---- */

extern bool dp_catalog_in_lineage(int64 cluster);
extern void dp_catalog_extend_lineage(void);

/* ---- lines of the ledger (ledger_tables.c) ---- */

typedef struct dp_ledger_line
{
	int64		id;
	TimestampTz at;				/* set when it is appended */
	NameData	role;			/* the asking role */
	Oid			role_oid;
	int64		cluster;		/* set when it is appended */
	NameData	login;
	bool		paid;			/* false: exempt */
	NameData	payer;			/* if paid */
	NameData	dataset;
	const char *mechanism;
	dp_charge	price;			/* price of the release alone */
	bool		priced;			/* it differs from what is charged; set when it
								 * is appended */
	dp_charge	charged;		/* what the payer's sums have grown by */
	int32		releases;
	int64		fingerprint;
	int64		batch;			/* 0: none */
	int64		partition;		/* 0: not charged as a part of one */
	NameData	part;
	int64		period;			/* of the payer's budget, if paid */
} dp_ledger_line;

/* Locks the tables of datasets, budgets and the ledger. */
extern void dp_catalog_lock_ledger(LOCKMODE mode);
extern bool dp_catalog_has_foreign_lines(void);
extern int64 dp_catalog_next_line(void);
extern void dp_catalog_append_lines(dp_ledger_line *lines, int n);

/* ---- batches (ledger_tables.c) ---- */

#define DP_METHOD_LENGTH 16

/* Queries that were paid for together. */
typedef struct dp_batch_row
{
	HeapTuple	tuple;			/* as read, palloc'd; NULL: to be inserted */
	int64		id;				/* of the ledger's line that paid for it */
	NameData	dataset;
	Oid			role;			/* may ask the queries; as stored */
	NameData	role_name;		/* as stored */
	int64		cluster;		/* as stored */
	Oid			payer;			/* InvalidOid: exempt; as stored */
	NameData	payer_name;		/* as stored */
	int64		period;			/* of the payer's budget */
	dp_fixed	epsilon;		/* most that one query may cost */
	int32		queries;
	int32		used;
	char		method[DP_METHOD_LENGTH];
	TimestampTz opened;
	bool		closed;
	TimestampTz closed_at;
} dp_batch_row;

extern dp_found dp_catalog_read_batch(const char *dataset, Oid role,
									  const char *role_name,
									  dp_row_lock lock, dp_batch_row *out);
extern bool dp_catalog_find_batch(int64 id, dp_batch_row *out);
extern void dp_catalog_write_batch(const dp_batch_row *row);

/* ---- parts of partitions (ledger_tables.c) ---- */

/*
 * Sums of one part of a partition or, for an empty key, the maximum of each
 * sum over all parts.
 */
typedef struct dp_part_row
{
	HeapTuple	tuple;			/* as read, palloc'd; NULL: to be inserted */
	NameData	dataset;
	Oid			payer;			/* InvalidOid: all roles together */
	int64		partition;
	NameData	key;
	int64		period;			/* of the payer's budget */
	dp_spent	spent;
} dp_part_row;

extern dp_found dp_catalog_read_part(dp_part_row *row, dp_row_lock lock);
extern void dp_catalog_write_part(const dp_part_row *row);

/*
 * A number for a partition of units, never used twice in this database or in
 * one that a dump of it is restored into.  A declaration that is withdrawn and
 * repeated needs a new one, since rows may have changed parts in between.
 */
extern int64 dp_catalog_new_partition(void);
extern int64 dp_catalog_last_partition(void);	/* 0: none yet */

/* ---- protected relations (relation_tables.c) ---- */

/*
 * If the extension is not installed, dp_catalog_open_relations returns NULL
 * and the others find nothing.
 */

/* A column of a foreign key, and the column that it references. */
typedef struct dp_unit_column
{
	NameData	from;
	AttrNumber	from_attnum;	/* 0: none */
	NameData	key;
	AttrNumber	key_attnum;
} dp_unit_column;

/*
 * A row of dp_pg.relation; or what rows of dp_pg.attribute and dp_pg.hardened
 * have in common with it: they name a column of a relation as its `unit`.
 */
typedef struct dp_relation_row
{
	Oid			relid;
	Oid			origin;			/* its OID when the row was written */
	bool		is_unit;		/* a row of dp_pg.relation */
	NameData	dataset;
	bool		has_unit;		/* else each row is a unit */
	NameData	unit;
	AttrNumber	unit_attnum;	/* 0: none */
	Oid			unit_through;	/* referenced relation, InvalidOid: none */
	NameData	unit_key;		/* the referenced column, if any */
	AttrNumber	unit_key_attnum;
	Oid			published;		/* view, InvalidOid: none */
	int64		rows;			/* size class; 0: not declared */
	int64		max_rows;		/* of a unit in a group; 0: likewise */
	int64		max_keys;		/* groups of a unit; 0: likewise */
	int64		max_total;		/* rows of a unit in all; 0: likewise */
	bool		commented;		/* dp_pg has commented on the view */
	Oid			twin;			/* table of synthetic rows, or none */
	List	   *unit_more;		/* of dp_unit_column *: columns of the key
								 * after the first */
	ArrayType  *more[4];		/* the same as stored: from, their numbers,
								 * key, their numbers */
	int64		min_units;		/* of a group that is shown; 0: not declared */
} dp_relation_row;

extern Relation dp_catalog_open_relations(void);
extern bool dp_catalog_has_relation(Relation rel, Oid relid);
extern void dp_catalog_read_more(dp_relation_row *row);
extern bool dp_catalog_find_relation(Oid relid, dp_relation_row *out);
extern List *dp_catalog_list_relations(void);
extern Oid	dp_catalog_relation_behind(Oid relid);
extern Oid	dp_catalog_find_published(Oid view);
extern void dp_catalog_write_relation(const dp_relation_row *row);
extern void dp_catalog_write_size(Oid relid, int64 rows);
extern void dp_catalog_write_contribution(Oid relid, int64 max_rows,
										  int64 max_keys, int64 max_total,
										  int64 min_units);
extern bool dp_catalog_has_min_units(void);
extern void dp_catalog_write_twin(Oid relid, Oid twin);
extern void dp_catalog_delete_relation(Oid relid);
extern int	dp_catalog_list_published(const char *dataset, bool safe,
									  Oid **views);

/* ---- versions of declarations (relation_tables.c) ---- */
extern void dp_catalog_append_extension(StringInfo out);
extern void dp_catalog_append_versions(StringInfo out, Oid relid);
extern bool dp_catalog_is_seen(Oid relid);

/* ---- declared columns (relation_tables.c) ---- */

/* The owner's declarations about one column, palloc'd. */
typedef struct dp_attribute
{
	Oid			origin;			/* the relation's OID when it was written */
	AttrNumber	attnum;
	char	   *lower;			/* decimal or type text; NULL: none */
	char	   *upper;
	Numeric		granule;		/* NULL: default */
	List	   *keys;			/* of char * (output text); NIL: none */
	char	   *other;			/* NULL: rows of undeclared values are
								 * dropped */
	int64		partition;		/* number of its partition in the ledger if
								 * declared immutable; else 0 */
	int64		guard;			/* number in its trigger's name */
	bool		public_sizes;	/* of parts with a declared value */
	bool		no_nulls;		/* NULL is no key: such rows are dropped */
} dp_attribute;

extern dp_attribute *dp_catalog_find_attribute(Oid relid, const char *name);
extern Bitmapset *dp_catalog_list_partitions(Oid relid);
extern void dp_catalog_write_bounds(Oid relid, const NameData *name,
									const char *lower, const char *upper,
									Numeric granule);
extern void dp_catalog_write_keys(Oid relid, const NameData *name,
								  ArrayType *keys, const char *other,
								  bool nulls);
extern void dp_catalog_write_partition(Oid relid, const NameData *name,
									   int64 partition, int64 guard,
									   bool public_sizes);
extern void dp_catalog_forget_partitions(Oid relid);

/* ---- stored answers (answer_row.c) ---- */

typedef struct dp_answer_row
{
	HeapTuple	tuple;			/* as read, palloc'd */
	int64		id;				/* of the line of the ledger that paid */
	NameData	dataset;
	NameData	payer_name;
	Oid			payer;
	int64		cluster;		/* where it was stored; also database */
	Oid			database;
	NameData	role_name;		/* the asking role */
	TimestampTz at;				/* not later than its snapshot */
	int64		rows;
	int64		bytes;
	int64		hits;			/* how often it was reused */
	TimestampTz last_hit;		/* 0: never */
	int64		hash;			/* by which it is found */
	bytea	   *digest;			/* of the key; for the time of `tuple`, like
								 * the next two, and as it is stored */
	bytea	   *key;
	bytea	   *content;		/* minimal tuples (answers/answer_store.c) */
} dp_answer_row;

/* Whether it is a better answer than those offered before.  Its key is set. */
typedef bool (*dp_answer_wanted) (const dp_answer_row *row, void *context);

extern bool dp_catalog_lock_answers(void);
extern bytea *dp_catalog_find_answer(int64 hash, dp_answer_wanted wanted,
									 void *context);
extern List *dp_catalog_list_answers(const char *dataset);
extern List *dp_catalog_list_answers_of(Oid payer);
extern List *dp_catalog_next_answers(int64 after, int n);
extern dp_found dp_catalog_delete_answer(int64 id, dp_row_lock lock);
extern void dp_catalog_add_hits(int64 id, int64 hits, TimestampTz last);
extern void dp_catalog_insert_answer(const dp_answer_row *row);
extern void dp_catalog_forget_answers(const char *dataset, Oid payer);

#endif							/* DP_CATALOG_H */
