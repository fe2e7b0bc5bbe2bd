/*
 * dp_base.h
 *	  Public interface between PostgreSQL and the pure parts: settings, the
 *	  random source of this process, numeric <-> exact numbers, statuses and
 *	  refusals -> ereport, nodes, and SQL run as the owner of the extension.
 *
 * Include postgres.h first.
 */
#ifndef DP_BASE_H
#define DP_BASE_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/nodes.h"
#include "nodes/plannodes.h"
#include "storage/lwlock.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/noise/dp_noise.h"
#include "../math/accounting/dp_accounting.h"
#include "dp_compat.h"

struct BackgroundWorkerHandle;

/* ---- hooks (hooks.c) ---- */
typedef void (*dp_base_hook) (void);

#define DP_BASE_HOOKS 40		/* at most */

/* Hooks that were removed from a process. */
typedef struct dp_base_hooks
{
	dp_base_hook variable[DP_BASE_HOOKS];
	dp_base_hook next[DP_BASE_HOOKS];		/* what our first one calls */
	void	   *plugin;			/* of PL/pgSQL */
} dp_base_hooks;

/*
 * dp_base_add_hook: install a hook while the library is preloaded, with the
 * hook that it is to call in *next.
 */
#define dp_base_add_hook(variable, ours, next) \
	(*(next) = *(variable), *(variable) = (ours), \
	 dp_base_note_hook((dp_base_hook *) (variable), \
					   (dp_base_hook *) (next)))

extern void dp_base_hooks_init(void);
extern void dp_base_note_hook(dp_base_hook *variable,
							  dp_base_hook *next);
extern void dp_base_be_alone(void);
extern void dp_base_start_alone(dp_base_hooks *aside);
extern void dp_base_clear_hooks(dp_base_hooks *aside);
extern void dp_base_restore_hooks(const dp_base_hooks *aside);

/* ---- settings (settings.c) ---- */
extern char *dp_setting_epsilon;	/* dp_pg.epsilon, decimal text */

typedef enum dp_setting_noise
{
	DP_SETTING_LAPLACE,
	DP_SETTING_GAUSSIAN
} dp_setting_noise;

typedef enum dp_setting_bound_source
{
	DP_SETTING_AUTO,
	DP_SETTING_MEASURE
} dp_setting_bound_source;

extern int	dp_setting_bounds;	/* dp_pg.bounds */
extern int	dp_setting_mechanism;	/* dp_pg.mechanism */
extern char *dp_setting_delta;	/* dp_pg.delta, decimal text or empty */

extern bool dp_setting_transparent; /* dp_pg.transparent */
extern int	dp_setting_max_groups;	/* dp_pg.max_groups */
extern int	dp_setting_max_keys;	/* dp_pg.max_keys; 0: as declared */
extern int	dp_setting_max_rows;	/* dp_pg.max_rows; 0: as declared */
extern int	dp_setting_max_total;	/* dp_pg.max_total; 0: as declared */
extern int	dp_setting_max_predicates_per_row;
extern char *dp_setting_publish_schema; /* dp_pg.publish_schema; "": none */
extern int	dp_setting_readers;	/* dp_pg.readers */
extern int	dp_setting_reader_memory;	/* dp_pg.reader_memory, kB */
extern int	dp_setting_reader_timeout;	/* dp_pg.reader_timeout, ms */
extern int	dp_setting_run_timeout; /* dp_pg.run_timeout, ms; 0: none */
extern int	dp_setting_reuse_limit; /* dp_pg.reuse_limit, kB */
extern int	dp_setting_worker_idle; /* dp_pg.worker_idle, ms */
extern int	dp_setting_worker_lock_timeout; /* dp_pg.worker_lock_timeout, ms */
extern void dp_base_settings_init(void);
extern bool dp_base_splits(void);	/* dp_pg.split */
extern bool dp_base_suppresses(void);	/* dp_pg.suppress */
extern int64 dp_base_reuse_age(void);
extern void dp_base_set_local(const char *name, const char *value);

/* ---- how long a client's settings last (settings.c) ---- */
extern void dp_base_check_scope(void);		/* 55000 */

/* ---- settings that are durations (settings.c) ---- */

/* Whether the library was loaded by shared_preload_libraries. */
extern bool dp_base_preloaded(void);
extern void dp_base_require_preload(void);		/* 55000 otherwise */

/* ---- where a private query may not run (error.c) ---- */
extern void dp_base_forbid_parallel(void);		/* 25000 */
extern void dp_base_forbid_serializable(void);		/* 0A000 */
extern bool dp_base_has_others_rights(void);

/* ---- errors (error.c) ---- */

/* What NOTICEs say once in a connection. */
typedef enum dp_first
{
	DP_FIRST_JOINED,			/* of a query: joined rows beyond the bounds */
	DP_FIRST_OUTSIDE,			/* of a relation: WHERE beyond its bounds */
	DP_FIRST_LEFT_OUT,			/* of a relation: rows beyond bounds */
	DP_FIRST_LEAST,				/* of a relation: small groups are left out */
	DP_FIRST_KINDS
} dp_first;

extern bool dp_base_first_time(dp_first what, int64 about);

/* Raises for any status but DP_OK; `what` completes "could not ...". */
extern void dp_base_check_status(dp_status status, const char *what);

/*
 * A refusal is a value: analysis returns it, one place raises it.  Texts are
 * palloc'd or constant, already translated and formatted; location is a parse
 * location or -1.
 */
typedef struct dp_refusal
{
	int			sqlstate;
	const char *message;
	const char *detail;			/* may be NULL */
	const char *hint;			/* may be NULL */
	int			location;
} dp_refusal;

extern dp_refusal *dp_base_refuse(int sqlstate, int location,
								  const char *detail, const char *hint,
								  const char *fmt,...)
			pg_attribute_printf(5, 6);
pg_noreturn extern void dp_base_raise_refusal(const dp_refusal *refusal,
											  const char *query_text);

/*
 * Errors between begin and end that have no position get one in the text of a
 * query, provided that the client has sent this text.  The caller keeps the
 * struct and updates the location.
 */
typedef struct dp_pointer
{
	ErrorContextCallback callback;
	const char *text;			/* may be NULL */
	int			location;		/* -1: nowhere */
} dp_pointer;

extern void dp_base_point_begin(dp_pointer *pointer, const char *text);
extern void dp_base_point_end(const dp_pointer *pointer);

/* ---- waiting for another process (workers.c) ---- */
extern bool dp_base_spin(int usec);
extern void dp_base_wait(long timeout);
extern void dp_base_watch(int usec, long timeout);

/* ---- background workers (workers.c) ---- */
extern void dp_base_force(const char *name, const char *value);
extern void dp_base_force_worker_settings(void);
extern void dp_base_force_lock_timeout(void);
extern void dp_base_share(const char *name, Size (*size) (void),
						  void (*start) (void *area, bool fresh,
										 LWLock *lock));

/* ---- the pool of processes (workers.c) ---- */

typedef enum dp_worker_kind
{
	DP_WORKER_LEDGER,
	DP_WORKER_READER,
	DP_WORKER_KINDS				/* how many there are */
} dp_worker_kind;

/*
 *	function	name of `main`, for a process that is registered for `arg`
 *	main		connects to the database and works; returns only if what was
 *				wanted is somebody else's by now
 *	wanted		what has waited longest for a process: since when, and for
 *				which `arg`; false: nothing
 *	spare		ask the one that idles longest, for another database than this
 *				one and for so many ms, to leave; a kept one only if told so.
 *				True also when one is leaving already
 */
typedef struct dp_worker_methods
{
	const char *function;
	void		(*main) (Datum arg);
	bool		(*wanted) (TimestampTz *since, Datum *arg);
	bool		(*spare) (long idle, bool kept_too);
} dp_worker_methods;

typedef enum dp_urgency
{
	DP_URGENCY_SPARE,			/* take only a newly registered process */
	DP_URGENCY_MORE,			/* also a kept one, or one that idles for
								 * long */
	DP_URGENCY_NONE_THERE		/* this database has none, or has waited long
								 * for one */
} dp_urgency;

extern void dp_base_workers_init(void);
extern void dp_base_add_workers(dp_worker_kind kind,
								const dp_worker_methods *table);
extern bool dp_base_call_worker(dp_worker_kind kind, Datum arg,
								dp_urgency urgency,
								struct BackgroundWorkerHandle **handle);
extern bool dp_base_must_yield(dp_worker_kind own, int patience);
extern int	dp_base_kept_readers(void);
extern bool dp_base_is_kept(void);
pg_noreturn extern void dp_base_leave(void);

/* ---- SHA-256 (openssl.c) ---- */
#define DP_SHA256_BYTES 32
extern void dp_base_sha256(const void *data, Size size, uint8 *out);

/* ---- random source (openssl.c) ---- */
extern dp_source *dp_base_source(void);

/* ---- numbers (number.c) ---- */
typedef enum dp_number_fault
{
	DP_NUMBER_OK = 0,
	DP_NUMBER_NULL,
	DP_NUMBER_NAN,
	DP_NUMBER_INFINITE,
	DP_NUMBER_NEGATIVE,
	DP_NUMBER_TOO_LARGE,		/* 10^12 or more */
	DP_NUMBER_TOO_FINE			/* more than 24 digits after the point */
} dp_number_fault;

extern dp_number_fault dp_base_numeric_to_fixed(Numeric x,
												dp_rounding rounding,
												dp_fixed *out);
extern dp_number_fault dp_base_numeric_to_rational(Numeric x,
												   dp_rational *out);
extern Numeric dp_base_text_to_numeric(const char *text);
extern Numeric dp_base_fixed_to_numeric(dp_fixed x);	/* no trailing zeros */
extern Numeric dp_base_int128_to_numeric(dp_int128 x);
extern bool dp_base_numeric_to_int128(Numeric x, dp_int128 *out);
extern Numeric dp_base_float8_to_numeric(double x);		/* shortest decimal */
extern Numeric dp_base_float4_to_numeric(float x);
extern char *dp_base_fixed_to_cstring(dp_fixed x);		/* palloc'd */
extern char *dp_base_epsilon_text(dp_fixed x, dp_rounding rounding);
extern char *dp_base_delta_text(dp_fixed x, dp_rounding rounding);
extern const char *dp_base_number_fault_text(dp_number_fault fault);

/*
 * Read the epsilon of one released value: 22023 if NULL, NaN, infinite, not
 * positive, 10^12 or more, finer than 10^-24, or above the server's ceiling.
 * `what` names it in the message ("epsilon").  dp_base_check_epsilon is for
 * a whole charge and also raises 22023 below the server's floor.
 */
extern dp_rational dp_base_check_price(Numeric x, bool isnull,
									   const char *what);
extern dp_rational dp_base_check_epsilon(Numeric x, bool isnull,
										 const char *what);

/*
 * The least epsilon of a charge (one line of the ledger), by
 * dp_pg.epsilon_floor; 0: none.  The second raises 22023 below it.
 */
extern dp_fixed dp_base_epsilon_floor(void);
extern void dp_base_check_floor(dp_fixed charged, const char *what);
extern void dp_base_check_scale(const dp_scale *scale);

/* ---- powers of two (number.c) ---- */
extern Numeric dp_base_power_of_two(int exponent);
extern bool dp_base_floor_log2(Numeric x, int *exponent);

/* Numbers as multiples of 2^exponent, at most 2^100 of them. */
typedef struct dp_binary_grid
{
	int			exponent;
	Numeric		granule;		/* 2^exponent */
	Numeric		half;			/* 2^(exponent - 1) */
	Numeric		end;			/* 2^(exponent + 100) */
} dp_binary_grid;

#define DP_GRID_RANGE 100

extern dp_binary_grid dp_base_make_grid(int exponent);
extern dp_int128 dp_base_grid_numeric(const dp_binary_grid *grid, Numeric x);
extern dp_int128 dp_base_grid_double(const dp_binary_grid *grid, double x);
extern dp_uint128 dp_base_grid_distance(const dp_binary_grid *grid,
										Numeric x);

/* ---- parameters of noise, cached (number.c) ---- */
extern dp_status dp_base_gaussian_variance(uint64 sensitivity,
										   dp_fixed epsilon,
										   dp_fixed delta,
										   dp_rational *out);

extern bool dp_base_gaussian_error(const dp_rational *variance, int k,
								   double *out);

extern dp_status dp_base_laplace_rho(dp_uint128 sensitivity,
									 const dp_rational *epsilon,
									 dp_fixed *rho);

/* ---- arguments and results of SQL functions (argument.c) ---- */
extern Oid	dp_base_declared_type(FunctionCallInfo fcinfo, int place);
extern Numeric dp_base_number(FunctionCallInfo fcinfo, int place);
extern void dp_base_require_argument(FunctionCallInfo fcinfo, int place,
									 const char *what, const char *hint);
extern dp_rational dp_base_epsilon(FunctionCallInfo fcinfo, int place,
								   dp_fixed *fixed);

/* Range of a number given by a user, after rounding to 24 digits. */
typedef enum dp_number_range
{
	DP_RANGE_ANY,				/* 0 or more */
	DP_RANGE_POSITIVE,			/* above 0 */
	DP_RANGE_DELTA,				/* 0 or more, below 1 */
	DP_RANGE_INNER				/* above 0, below 1 */
} dp_number_range;

/* Rounded to 24 digits, or 22023; if `hint` is NULL, a general one is used. */
extern dp_fixed dp_base_check_number(Numeric x, const char *name,
									 dp_number_range range,
									 dp_rounding rounding,
									 const char *hint);
pg_noreturn extern void dp_base_raise_parameter(const char *message,
												const char *hint);
/* 1 - confidence; `promise` completes "It is the probability that". */
extern dp_fixed dp_base_failure(FunctionCallInfo fcinfo, int place,
								const char *promise);
extern void dp_base_require_aggregate(FunctionCallInfo fcinfo,
									  MemoryContext *context);
pg_noreturn extern void dp_base_forbid_input(const char *type);
pg_noreturn extern void dp_base_forbid_output(const char *type);
extern void dp_base_check_call_site(FunctionCallInfo fcinfo, bool ours,
									const char *aggregate,
									const char *hint);
extern Datum dp_base_make_row(FunctionCallInfo fcinfo, Datum *values,
							  bool *nulls);
extern dp_sparse_method dp_base_sparse_method(FunctionCallInfo fcinfo,
											  int place);

/* ---- a file for data that depend on rows (scratch.c) ---- */
extern void dp_base_scratch_open(void);
extern void dp_base_scratch_use(void);
extern void dp_base_scratch_leave(void);
extern off_t dp_base_scratch_append(const void *data, Size length);
extern bool dp_base_scratch_try(void *data, Size length, off_t from);
pg_noreturn extern void dp_base_scratch_raise_read(void);
extern void dp_base_scratch_read(void *data, Size length, off_t from);

/* ---- plan nodes (node_fields.c) ---- */
extern PGDLLEXPORT List *dp_base_plans_below(const Plan *plan);

/* ---- what trees contain (contains.c) ---- */

/* Where a node stands. */
typedef struct dp_walk
{
	void	   *context;		/* the caller's */
	Query	   *level;			/* the innermost Query of the tree around it,
								 * or NULL */
	int			depth;			/* 0: in the level of the tree, or in the tree
								 * if that is a Query */
} dp_walk;

typedef bool (*dp_node_test) (Node *node, const dp_walk *walk);

/* Flags beside PostgreSQL's QTW_.. */
#define DP_WALK_ONE_LEVEL 0x10000
#define DP_WALK_INSIDE 0x20000

extern bool dp_base_contains(Node *tree, dp_node_test test, void *context,
							 int flags);
extern Node *dp_base_unlabelled(const Node *node);

/* ---- pages made resident before rows are read (resident.c) ---- */
extern void dp_base_populate_mappings(void);

/* ---- memory reserved before rows are read (reserve.c) ---- */
extern void dp_base_reserve_init(Size stack);
extern void dp_base_reserve(Size bytes, int contexts);
extern void dp_base_hold(void);
extern void dp_base_give_back(void);
extern void dp_base_try_shared(Size bytes);

/* ---- proof that nothing has been committed since (stamp.c) ---- */
typedef struct dp_caches
{
	uint64		messages;		/* invalidation messages processed */
	Oid			user;
	Oid			outer;
	Oid			session;
	int			context;		/* security context */
} dp_caches;

typedef struct dp_stamp
{
	dp_caches	caches;
	uint64		ended;			/* writing transactions that have ended */
} dp_stamp;

extern bool dp_base_read_caches(dp_caches *out);
extern bool dp_base_same_caches(const dp_caches *a, const dp_caches *b);
extern bool dp_base_read_stamp(dp_stamp *out);
extern bool dp_base_same_stamp(const dp_stamp *a, const dp_stamp *b);

/* ---- SQL as the owner of the extension (owner_sql.c) ---- */

/*
 * Between begin and end, SPI is connected, the current user is the owner of
 * the extension (security-restricted), search_path is pg_catalog, pg_temp, and
 * the connection's settings cannot change the meaning of the SQL.  After an
 * error, the abort of the transaction undoes all this.  `saved` belongs to the
 * caller.
 */
typedef struct dp_owner_sql
{
	Oid			user;
	int			security;
	int			nest;
} dp_owner_sql;

extern void dp_base_owner_begin(dp_owner_sql *saved);
extern void dp_base_owner_end(dp_owner_sql *saved);
extern Oid	dp_base_extension_owner(void);		/* InvalidOid: not installed */
extern Oid	dp_base_extension_namespace(void);
extern Oid	dp_base_extension_oid(void);
extern Oid	dp_base_catalog_namespace(void);	/* schema dp_pg */
extern int64 dp_base_cluster_id(void);		/* system identifier */

/* ---- compat.c ---- */

extern bool dp_base_reads_system_column(Query *level, RangeTblEntry *entry);

/* ---- progress reports (progress.c) ---- */

typedef enum dp_phase
{
	DP_PHASE_READING = 1,
	DP_PHASE_SCANNING,
	DP_PHASE_FINDING,
	DP_PHASE_FITTING,
	DP_PHASE_SAMPLING,
	DP_PHASE_JOINING
} dp_phase;

typedef enum dp_work
{
	DP_WORK_SMALLDB = 1,
	DP_WORK_NET,
	DP_WORK_SYNTHESIZE,
	DP_WORK_ITERATE,
	DP_WORK_QUERY
} dp_work;

/*
 * Shown in dp_pg.progress to roles that may see the connection's activity,
 * until the end or an error.  Only public numbers may be shown: `total` (0:
 * none), and the progress of work that does not depend on data.
 */
extern void dp_base_progress_begin(dp_work work, Oid relid, int64 total);
extern void dp_base_progress(dp_phase phase, int64 done);
extern void dp_base_progress_end(void);

/* ---- compat.c ---- */
extern List *dp_base_stands_for(const RangeTblEntry *entry);

/* ---- node_fields.c ---- */

typedef enum dp_field_kind
{
	DP_FIELD_NODE,				/* any node or list of them, or NULL */
	DP_FIELD_STRING,			/* char *, or NULL */
	DP_FIELD_INTEGER			/* integer, OID, enum or boolean */
} dp_field_kind;

typedef struct dp_node_field
{
	const char *name;
	dp_field_kind kind;
	Size		offset;
	Size		size;
} dp_node_field;

typedef struct dp_node_type
{
	ExtensibleNodeMethods methods;	/* first, so that it can be cast */
	const dp_node_field *fields;
	int			nfields;
} dp_node_type;

#define DP_NODE_FIELD(type, kind, name) \
	{#name, kind, offsetof(type, name), sizeof(((type *) NULL)->name)}

/* The methods of node_fields.c, and the table. */
#define DP_NODE_TYPE(type, fields) \
	{ \
		{#type, sizeof(type), dp_base_copy_node, dp_base_equal_node, \
		 dp_base_out_node, dp_base_read_node}, \
		fields, lengthof(fields) \
	}

/* An empty node, palloc'd, of a type that was registered. */
#define dp_make_node(type) ((type *) dp_base_make_node(#type))

extern ExtensibleNode *dp_base_make_node(const char *type);
extern void dp_base_copy_node(ExtensibleNode *to,
							  const ExtensibleNode *from);
extern bool dp_base_equal_node(const ExtensibleNode *a,
							   const ExtensibleNode *b);
extern void dp_base_out_node(StringInfo out, const ExtensibleNode *node);
extern void dp_base_read_node(ExtensibleNode *node);

static inline Numeric
dp_numeric_call1(PGFunction function, Numeric a)
{
	return DatumGetNumeric(DirectFunctionCall1(function, NumericGetDatum(a)));
}

static inline Numeric
dp_numeric_call2(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

/* -1, 0, 1 as a <, =, > b. */
static inline int
dp_numeric_compare(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a),
											 NumericGetDatum(b)));
}

/* The nearest double; 22003 if out of range. */
static inline double
dp_numeric_to_double(Numeric a)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8,
											  NumericGetDatum(a)));
}

/* Its decimal text, palloc'd. */
static inline char *
dp_numeric_text(Numeric a)
{
	return DatumGetCString(DirectFunctionCall1(numeric_out,
											   NumericGetDatum(a)));
}

#endif							/* DP_BASE_H */
