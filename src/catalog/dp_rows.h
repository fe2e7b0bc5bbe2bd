/*
 * dp_rows.h
 *	  What the files that read and write rows share: direct access to the
 *	  ledger's tables, conversions of columns, and statements for the rest.
 */
#ifndef DP_ROWS_H
#define DP_ROWS_H

#include "executor/spi.h"
#include "nodes/bitmapset.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "../bridge/dp_bridge.h"
#include "dp_table.h"

/* Columns of dp_set_limit and of dp_set_sums. */
#define DP_LIMIT_COLUMNS 8
#define DP_SUM_COLUMNS 5

#define DP_METHOD_LENGTH 16

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	DATASET_NAME = 1,
	DATASET_OWNER_OID,
	DATASET_OWNER_NAME,
	DATASET_CLUSTER,
	DATASET_NEIGHBOURS,
	DATASET_CAP,				/* first of DP_LIMIT_COLUMNS */
	DATASET_SPENT = DATASET_CAP + DP_LIMIT_COLUMNS, /* of DP_SUM_COLUMNS */
	DATASET_FLOOR = DATASET_SPENT + DP_SUM_COLUMNS,
	DATASET_CEILING,
	DATASET_END
};

enum
{
	BUDGET_DATASET = 1,
	BUDGET_ROLE_OID,
	BUDGET_ROLE_NAME,
	BUDGET_CLUSTER,
	BUDGET_ACTIVE,
	BUDGET_LIMIT,				/* first of DP_LIMIT_COLUMNS */
	BUDGET_RENEW = BUDGET_LIMIT + DP_LIMIT_COLUMNS,
	BUDGET_PERIOD_START,
	BUDGET_PERIOD,
	BUDGET_SPENT,				/* first of DP_SUM_COLUMNS */
	BUDGET_TOTAL = BUDGET_SPENT + DP_SUM_COLUMNS,	/* likewise */
	BUDGET_TOTAL_CHARGES = BUDGET_TOTAL + DP_SUM_COLUMNS - 1,
	BUDGET_END
};

enum
{
	LEDGER_ID = 1,
	LEDGER_AT,
	LEDGER_ROLE,
	LEDGER_ROLE_OID,
	LEDGER_CLUSTER,
	LEDGER_LOGIN,
	LEDGER_PAYER,
	LEDGER_DATASET,
	LEDGER_MECHANISM,
	LEDGER_EPSILON,
	LEDGER_DELTA,
	LEDGER_RHO,
	LEDGER_RELEASES,
	LEDGER_FINGERPRINT,
	LEDGER_PRICE,				/* first of three: epsilon, delta, rho */
	LEDGER_BATCH = LEDGER_PRICE + 3,
	LEDGER_PARTITION,
	LEDGER_PART,
	LEDGER_END
};

enum
{
	BATCH_ID = 1,
	BATCH_DATASET,
	BATCH_ROLE,
	BATCH_ROLE_OID,
	BATCH_CLUSTER,
	BATCH_PAYER,
	BATCH_PAYER_OID,
	BATCH_PERIOD,
	BATCH_EPSILON,
	BATCH_QUERIES,
	BATCH_USED,
	BATCH_METHOD,
	BATCH_OPENED,
	BATCH_CLOSED,
	BATCH_END
};

enum
{
	PART_DATASET = 1,
	PART_PAYER_OID,
	PART_PARTITION,
	PART_KEY,
	PART_PERIOD,
	PART_SPENT,					/* first of DP_SUM_COLUMNS */
	PART_END = PART_SPENT + DP_SUM_COLUMNS
};

/* ---- rows; on the stack or in static memory only, because
 * palloc does not align for 128-bit integers ---- */

typedef struct dp_dataset_row
{
	NameData	name;
	Oid			owner;			/* InvalidOid: no such role any more */
	bool		stale;			/* owner is known otherwise than as stored */
	bool		replace_one;	/* neighbours; else one is added or removed */
	bool		capped;
	dp_limit	cap;
	dp_spent	spent;
	bool		floored;
	dp_fixed	floor;
	bool		ceiled;
	dp_fixed	ceiling;
	HeapTuple	tuple;			/* as read, palloc'd */
} dp_dataset_row;

typedef struct dp_budget_row
{
	NameData	dataset;
	Oid			role;			/* as stored */
	NameData	role_name;		/* as stored */
	int64		cluster;		/* as stored */
	bool		active;
	dp_limit	limit;
	bool		renews;
	Interval	renew;
	TimestampTz period_start;
	int64		period;			/* how often spending began anew */
	dp_spent	spent;			/* this period */
	dp_spent	total;			/* for ever */
	HeapTuple	tuple;			/* as read, palloc'd */
} dp_budget_row;

/* Queries that were paid for together. */
typedef struct dp_batch_row
{
	int64		id;				/* of the ledger's line that paid for it */
	NameData	dataset;
	Oid			role;			/* may ask them; as stored */
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
	HeapTuple	tuple;			/* as read, palloc'd; NULL: to be inserted */
} dp_batch_row;

/*
 * Sums of one part of a partition, or with an empty key the largest in each
 * component over all parts.
 */
typedef struct dp_part_row
{
	NameData	dataset;
	Oid			payer;			/* InvalidOid: all roles together */
	int64		partition;
	NameData	key;
	int64		period;			/* of the payer's budget */
	dp_spent	spent;
	HeapTuple	tuple;			/* as read, palloc'd; NULL: to be inserted */
} dp_part_row;

/* One line of the ledger. */
typedef struct dp_ledger_line
{
	int64		id;
	NameData	role;			/* who asked */
	Oid			role_oid;
	NameData	login;
	bool		exempt;
	NameData	payer;			/* unless exempt */
	NameData	dataset;
	const char *mechanism;
	dp_charge	price;			/* what the release costs by itself */
	dp_charge	charged;		/* what the payer's sums have grown by */
	int32		releases;
	int64		fingerprint;
	int64		batch;			/* 0: none */
	int64		partition;		/* 0: not charged as a part of one */
	NameData	part;
} dp_ledger_line;

extern void dp_catalog_open(LOCKMODE mode);
extern dp_found dp_catalog_read_dataset(const char *name, dp_row_lock lock,
										dp_dataset_row *out);
extern bool dp_catalog_insert_dataset(const char *name, Oid owner);
extern void dp_catalog_adopt_dataset(const dp_dataset_row *row);
extern void dp_catalog_write_cap(const dp_dataset_row *row);
extern void dp_catalog_write_neighbours(const dp_dataset_row *row);
extern void dp_catalog_write_dataset(const dp_dataset_row *row);
extern dp_found dp_catalog_read_budget(const char *dataset, Oid role,
									   const char *role_name,
									   dp_row_lock lock, dp_budget_row *out);
extern int	dp_catalog_list_roles(const char *dataset, Oid **roles);
extern int	dp_catalog_sum_budgets(const char *dataset, Oid role,
								   dp_spent *sum);
extern List *dp_catalog_list_holders(const char *dataset);
extern void dp_catalog_insert_budget(const dp_budget_row *row);
extern void dp_catalog_write_budget(const dp_budget_row *row);
extern void dp_catalog_write_limit(const dp_budget_row *row);
extern bool dp_catalog_find_heritage(const char *dataset,
									 const char *role_name,
									 dp_budget_row *out);
extern int64 dp_catalog_next_id(void);
extern void dp_catalog_append(const dp_ledger_line *lines, int n);
extern dp_found dp_catalog_read_batch(const char *dataset, Oid role,
									  const char *role_name,
									  dp_row_lock lock, dp_batch_row *out);
extern bool dp_catalog_find_batch(int64 id, dp_batch_row *out);
extern void dp_catalog_write_batch(const dp_batch_row *row);
extern dp_found dp_catalog_read_part(dp_part_row *row, dp_row_lock lock);
/*
 * A number for a partition of units: never given twice in this database, nor
 * in one that a dump of it is restored into.  A declaration that was taken
 * back and made again needs another one, since rows may have moved meanwhile.
 */
extern int64 dp_catalog_new_partition(void);
extern int64 dp_catalog_last_partition(void);	/* 0: none yet */
extern void dp_catalog_write_part(const dp_part_row *row);
extern void dp_catalog_name_role(Oid role, NameData *out);

/* ---- sessions (session_row.c) ---- */

typedef enum dp_session_kind
{
	DP_SESSION_SPARSE_VECTOR,
	DP_SESSION_WEIGHTS
} dp_session_kind;

/* What is fixed when a session opens; all of it is public. */
typedef struct dp_session_terms
{
	dp_session_kind kind;
	Oid			relid;
	NameData	dataset;
	uint64		sensitivity;	/* of one count, as the plan was asked for */
	int64		threshold;		/* T, without the plan's offset */
	int64		questions;		/* most that may be asked */
	int32		cutoff;			/* most "above"s */
	double		beta;			/* of the plan's alpha, to be shown */
	bool		replace_one;	/* neighbours that the plan is for */
	dp_sparse_plan plan;
} dp_session_terms;

/* A session as its catalog row has it now. */
typedef struct dp_session
{
	int64		id;				/* of the ledger's line that paid for it */
	dp_session_terms terms;
	int64		asked;
	int32		above;
	int64		bytes_left;		/* that texts of questions may still have */
	char	   *details;		/* what the kind keeps; never NULL */
} dp_session;

/* A session with what the worker and the asking side need besides. */
typedef struct dp_session_row
{
	dp_session	session;		/* details NULL until wanted */
	NameData	role_name;		/* as stored, like the next four */
	Oid			role;
	int64		cluster;
	Oid			database;
	NameData	payer_name;
	Oid			payer;			/* InvalidOid: exempt */
	int64		period;			/* of the payer's budget */
	char	   *relation;
	TimestampTz opened;
	bool		closed;
	HeapTuple	tuple;			/* as read, palloc'd */
	dp_values  *values;			/* likewise */
} dp_session_row;

/* One "above" as it is kept, for the analyst's own eyes. */
typedef struct dp_session_above
{
	int32		number;			/* from 1 */
	int64		asked_at;		/* which question it was, from 1 */
	char	   *predicate;
	dp_int128	answer;
	dp_int128	guess;
} dp_session_above;

extern void dp_catalog_lock_sessions(LOCKMODE mode);
extern dp_found dp_catalog_read_session(int64 id, dp_row_lock lock,
										dp_session_row *out);
/* Texts of a row that was read, palloc'd: they can be long. */
extern char *dp_catalog_session_details(const dp_session_row *row);
extern char *dp_catalog_session_relation(const dp_session_row *row);
extern char *dp_catalog_session_reason(const dp_session_row *row);
extern void dp_catalog_insert_session(const dp_session_row *row);
extern void dp_catalog_write_session(const dp_session_row *row,
									 TimestampTz closed, const char *reason);
extern bool dp_catalog_read_secret(int64 id, dp_int128 *armed,
								   HeapTuple *tuple);
extern void dp_catalog_write_secret(int64 id, dp_int128 armed,
									HeapTuple tuple);
extern void dp_catalog_delete_secret(HeapTuple tuple);
extern void dp_catalog_append_question(int64 id, int64 question,
									   const char *predicate, int32 number,
									   dp_int128 answer, dp_int128 guess);
/* Of dp_session_above *, palloc'd: those with asked_at > after, in order. */
extern List *dp_catalog_list_aboves(int64 id, int64 after);

/* ---- released tables (released_row.c) ---- */

typedef struct dp_release_row
{
	int64		id;				/* of the ledger's line that paid for it */
	NameData	role_name;		/* as stored, like the next two */
	Oid			role;
	NameData	dataset;
	TimestampTz at;
	bool		complete;		/* has results */
	HeapTuple	tuple;			/* as read, palloc'd */
} dp_release_row;

extern void dp_catalog_insert_release(const dp_release_row *row,
									  const char *what);
extern dp_found dp_catalog_read_release(int64 id, dp_row_lock lock,
										dp_release_row *out);
extern void dp_catalog_complete_release(const dp_release_row *row,
										double error, const char *results);

/* ---- protected relations (relation_row.c) ---- */

/*
 * dp_catalog_open_relations returns NULL where the extension is not installed;
 * the others find nothing there.
 */
typedef struct dp_relation_row
{
	Oid			relid;
	Oid			origin;			/* its OID when the row was written */
	NameData	dataset;
	bool		has_unit;		/* else each row is one */
	NameData	unit;
	AttrNumber	unit_attnum;	/* 0: none */
	Oid			published;		/* view, InvalidOid: none */
	int64		rows;			/* size class; 0: nothing is said */
} dp_relation_row;

extern Relation dp_catalog_open_relations(void);
extern bool dp_catalog_has_relation(Relation rel, Oid relid);
extern bool dp_catalog_find_relation(Oid relid, dp_relation_row *out);
extern List *dp_catalog_list_relations(void);
extern void dp_catalog_write_relation(const dp_relation_row *row);
extern void dp_catalog_write_size(Oid relid, int64 rows);
extern void dp_catalog_delete_relation(Oid relid);
extern int	dp_catalog_list_published(const char *dataset, bool safe,
									  Oid **views);

/* ---- declared columns (attribute_row.c) ---- */

/* What the owner declared about one column, palloc'd. */
typedef struct dp_attribute
{
	Oid			origin;			/* of the relation when it was written */
	AttrNumber	attnum;
	char	   *lower;			/* decimal or type text; NULL: none */
	char	   *upper;
	Numeric		granule;		/* NULL: default */
	List	   *keys;			/* of char * (output text); NIL: none */
	char	   *other;			/* NULL: undeclared values count nowhere */
	int64		partition;		/* declared immutable: the partition's
								 * number in the ledger; else 0 */
	int64		guard;			/* number in the name of its trigger */
	bool		public_sizes;	/* of the parts with a declared value */
} dp_attribute;

extern dp_attribute *dp_catalog_find_attribute(Oid relid, const char *name);
extern Bitmapset *dp_catalog_list_partitions(Oid relid);
extern void dp_catalog_write_bounds(Oid relid, const NameData *name,
									const char *lower, const char *upper,
									Numeric granule);
extern void dp_catalog_write_keys(Oid relid, const NameData *name,
								  ArrayType *keys, const char *other);
extern void dp_catalog_write_partition(Oid relid, const NameData *name,
									   int64 partition, int64 guard,
									   bool public_sizes);
extern void dp_catalog_forget_partitions(Oid relid);

/* ---- what both and dp_pg.hardened have in common (declared_row.c) ---- */

typedef struct dp_declared_row
{
	Oid			relid;
	Oid			origin;
	bool		is_unit;		/* a row of dp_pg.relation */
	bool		named;
	NameData	name;			/* of the column */
	AttrNumber	attnum;			/* 0: none */
	Oid			published;		/* view, InvalidOid: none */
} dp_declared_row;

typedef bool (*dp_declared_test) (const dp_declared_row *row,
								  const void *context);

extern bool dp_catalog_any_declared(dp_declared_test test,
									const void *context);
extern void dp_catalog_read_declared(Relation rel, HeapTuple tuple,
									 dp_declared_row *out);
extern HeapTuple dp_catalog_place_declared(Relation rel, HeapTuple tuple,
										   const dp_declared_row *row);
extern void dp_catalog_follow_names(void);
extern void dp_catalog_forget_dropped(void);

/* ---- tables (table_access.c) ---- */

extern const dp_table dp_table_dataset;
extern const dp_table dp_table_budget;
extern const dp_table dp_table_ledger;
extern const dp_table dp_table_batch;
extern const dp_table dp_table_part;

#define DP_TABLE_DATASET (&dp_table_dataset)
#define DP_TABLE_BUDGET (&dp_table_budget)
#define DP_TABLE_LEDGER (&dp_table_ledger)
#define DP_TABLE_BATCH (&dp_table_batch)
#define DP_TABLE_PART (&dp_table_part)

/* Names of indexes, for dp_row_find. */
#define BUDGET_BY_NAME "budget_role_name"
#define BATCH_IS_OPEN "batch_open"	/* dataset, role; closed rows left out */

extern Oid	dp_table_sequence(const char *name);
extern void dp_set_limit(dp_values *row, int first, const dp_limit *limit);
extern void dp_set_sums(dp_values *row, int first, const dp_spent *spent);
extern void dp_get_limit(const dp_values *row, int first, dp_limit *out);
extern void dp_get_sums(const dp_values *row, int first, dp_spent *out);


#endif							/* DP_ROWS_H */
