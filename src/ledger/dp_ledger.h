/*
 * dp_ledger.h
 *	  Public interface of the privacy ledger: who pays, and charges that
 *	  nothing undoes.
 *
 * Include postgres.h first.
 */
#ifndef DP_LEDGER_H
#define DP_LEDGER_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "lib/ilist.h"
#include "port/atomics.h"
#include "storage/dsm_impl.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"

struct BackgroundWorkerHandle;

#define DP_MECHANISM_LENGTH 128
#define DP_LEDGER_BATCH 256		/* most requests of one transaction of the
								 * worker */

typedef enum dp_ledger_action
{
	DP_LEDGER_CHARGE,
	DP_LEDGER_OPEN_BATCH,		/* charge for queries to come */
	DP_LEDGER_CLOSE_BATCH,		/* charges nothing */
	DP_LEDGER_TASK				/* a task only; charges nothing */
} dp_ledger_action;

/* ---- tasks: what other rooms have done in the charge's transaction ---- */

typedef enum dp_task_kind
{
	DP_TASK_NONE,
	DP_TASK_SESSION,
	DP_TASK_RELEASE,			/* a released table, src/mechanisms/tables */
	DP_TASK_ANSWER,				/* a stored answer, src/release/answers */
	DP_TASK_KINDS				/* how many there are */
} dp_task_kind;

#define DP_TASK_DATA 512
#define DP_TASK_TEXT 512
#define DP_TASK_REPLY 128

/*
 * Work for the worker, in addition to a charge or instead of one.  The data
 * may hold private numbers and is wiped from shared memory after use.
 */
typedef struct dp_ledger_task
{
	dp_task_kind kind;
	uint64		data[DP_TASK_DATA / 8]; /* a struct of the kind's own */
	uint64		text_size;		/* including the zero byte; 0: no text.  This
								 * and the rest are filled in by the ledger */
	dsm_handle	segment;		/* of a text that does not fit */
	char		text[DP_TASK_TEXT];
} dp_ledger_task;

typedef struct dp_task_reply
{
	uint64		data[DP_TASK_REPLY / 8];	/* a struct of the kind's own */
} dp_task_reply;

/* What the worker knows about a task; valid while it runs. */
typedef struct dp_task_call
{
	const void *data;
	const char *text;			/* NULL: none */
	bool		urgent;			/* of dp_ledger_fail: nobody waits, and the
								 * fields about rights are not set */
	int64		ledger_id;		/* of the charge; 0: a task only */
	TimestampTz now;
	NameData	dataset;
	Oid			asking;
	NameData	asking_name;
	bool		entitled;		/* has an active budget or is exempt */
	bool		exempt;
	Oid			payer;			/* InvalidOid: exempt */
	NameData	payer_name;
	int64		period;			/* of the payer's budget */
	bool		replace_one;	/* the dataset's neighbouring relation */
} dp_task_call;

typedef enum dp_task_result
{
	DP_TASK_DONE,				/* the reply has the result */
	DP_TASK_REFUSED,			/* not entitled: raise as a charge would */
	DP_TASK_LOCKED				/* a row is locked; nothing was changed */
} dp_task_result;

/*
 * Methods of a kind of tasks, called in the worker.  Tasks of a group run in
 * order within one transaction; if one of them raises an error, each is run
 * again in a transaction of its own.
 */
typedef struct dp_task_methods
{
	void		(*begin) (void);	/* a transaction begins: forget
									 * everything */
	dp_task_result (*run) (const dp_task_call *call, dp_task_reply *reply);
	void		(*finish) (void);	/* write what the tasks have changed */
} dp_task_methods;

/* ---- what is charged, and what an answer says ---- */

/*
 * A query that reads only one part of a partition of the units: everything it
 * releases must be a function of the units whose rows lie in the part, and a
 * unit must stay in the same part for as long as `partition` is used.  The
 * caller vouches for both.  Equal keys must be spelled equally; different keys
 * with the same spelling cost too much, never too little.
 */
typedef struct dp_ledger_part
{
	int64		partition;		/* of dp_catalog_new_partition; 0: no part */
	NameData	key;			/* not empty */
} dp_ledger_part;

/* For the two actions on batches; zero for others. */
typedef struct dp_ledger_batch
{
	int64		id;				/* close: the batch */
	Oid			role;			/* close: whose batch it is */
	NameData	role_name;
	dp_fixed	epsilon;		/* open: the most that one query may cost */
	int32		queries;
	char		method[DP_METHOD_LENGTH];
} dp_ledger_batch;

/* What to charge; filled by the release, copied into shared memory. */
typedef struct dp_ledger_request
{
	NameData	dataset;
	char		mechanism[DP_MECHANISM_LENGTH]; /* "laplace: count, sum" */
	dp_charge	charge;
	dp_charge	also;			/* of the next request, without which this one
								 * is not admitted; zero: none */
	int32		releases;		/* noisy values per key */
	int64		fingerprint;	/* of the query's shape, no data, no params */

	/*
	 * The neighbouring relation that the charge was computed for, copied from
	 * the standing.  If the dataset has another, nothing is charged.
	 */
	bool		replace_one;

	dp_ledger_part part;		/* zero: of no part */
	dp_ledger_action action;	/* zero: a plain charge */
	dp_ledger_batch batch;
	dp_ledger_task task;		/* zero: none */
} dp_ledger_request;

/* What was charged; every number is public. */
typedef struct dp_ledger_receipt
{
	int64		ledger_id;
	NameData	payer;			/* role whose budget paid; "" if exempt */
	bool		exempt;
	dp_spent	spent;			/* of the payer, after the charge */
	dp_limit	limit;			/* of the payer */
	dp_charge	charged;		/* what the payer's sums (exempt: the
								 * dataset's) have grown by: less than the
								 * request's charge for a part, 0 in a batch */
	int64		batch;			/* that paid for it; 0: none */
	int32		batch_queries;	/* of the batch */
	int32		batch_used;
} dp_ledger_receipt;

/* What would remain, for EXPLAIN and my_budget. */
typedef struct dp_ledger_standing
{
	Oid			asking;			/* the role whose rights count */
	Oid			owner;			/* of the dataset; InvalidOid: was dropped */
	bool		found;			/* a budget or exemption exists */
	bool		exempt;
	NameData	payer;
	Oid			payer_role;		/* InvalidOid: exempt */
	int64		period;			/* of the payer's budget */
	dp_limit	limit;
	dp_spent	spent;			/* in the current renewal period */
	bool		renews;
	TimestampTz renewal;		/* when the spending starts again from 0 */
	bool		capped;
	dp_limit	cap;
	dp_spent	cap_spent;
	bool		replace_one;	/* neighbours: one unit's data exchanged; else
								 * one unit added or removed */
	bool		floored;		/* the owner set epsilon_floor */
	dp_fixed	epsilon_floor;
	bool		ceiled;			/* the owner set epsilon_ceiling */
	dp_fixed	epsilon_ceiling;
} dp_ledger_standing;

/* What a request would be charged now, for EXPLAIN; every number is public. */
typedef struct dp_ledger_preview
{
	bool		found;			/* a budget or exemption exists */
	dp_charge	charged;		/* what the payer's sums (exempt: the
								 * dataset's) would grow by */
	int64		batch;			/* that has paid; 0: none */
	int32		batch_queries;
	int32		batch_used;		/* if = batch_queries, it would be refused */
} dp_ledger_preview;

/* ---- loading, and databases without connections (utility.c) ---- */

extern void dp_ledger_init(void);	/* from _PG_init, preloading only */

/*
 * Called repeatedly while DDL needs a database without connections, so that
 * processes of another room leave it, too.  Returns whether one is still
 * there.  Only one such function can be set, from _PG_init.
 */
typedef bool (*dp_ledger_clearing) (Oid database);

extern void dp_ledger_on_clearing(dp_ledger_clearing function);

/* ---- charges (charge_request.c) ---- */

/*
 * Charge durably, or raise: 53400 budget or cap exhausted, 42501 no budget,
 * 25006 recovery, 55P03 ledger locked, 53000 no worker, 42704 no dataset,
 * 55000 the dataset has other neighbours than the request; 53400 also if the
 * asking role has an open batch that covers the charge and is used up; and the
 * errors of dp_ledger_check_place.  On return the charge is on disk; no
 * rollback, cancel or crash undoes it.  After 08007 the outcome is unknown.
 */
extern void dp_ledger_charge(const dp_ledger_request *request,
							 dp_ledger_receipt *receipt);

/*
 * If true, charges wait for locked rows no longer than
 * dp_pg.worker_lock_timeout, whatever lock_timeout is, because the connection
 * holds a reader that others may need.
 */
extern void dp_ledger_hurry(bool hurry);

/*
 * Raise an error where nothing can be charged: 55000 not preloaded, or a
 * setting was not made in this transaction although dp_pg.setting_scope
 * requires it; 25006 in recovery; 25000 in a parallel operation; 0A000 in a
 * security-restricted one.
 */
extern void dp_ledger_check_place(void);

/* ---- tasks (task.c; places and tickets: queue.c) ---- */

/* From _PG_init in every process; the methods are static. */
extern void dp_ledger_register_task(dp_task_kind kind,
									const dp_task_methods *methods);

/*
 * dp_ledger_charge with a task in the same transaction, or the task alone for
 * DP_LEDGER_TASK.  Its text may be NULL.  Errors: those of dp_ledger_charge,
 * and 54000 if the text is longer than 16 MB.  The data in *request is wiped.
 */
extern void dp_ledger_run_task(dp_ledger_request *request, const char *text,
							   dp_ledger_receipt *receipt,
							   dp_task_reply *reply);

/*
 * The same in a subtransaction: returns NULL, or the error, palloc'd.  A
 * cancel is raised.
 */
extern ErrorData *dp_ledger_try_task(dp_ledger_request *request,
									 const char *text,
									 dp_task_reply *reply);

/*
 * A place in the queue, for a task whose data another process provides and the
 * asking connection never sees.
 *
 * The connection reserves the place and prepares the request in it, which
 * fixes who asks and the text.  It gives the ticket to a process of the same
 * database, which hands over the data, and itself waits for the answer.
 * Preparing and waiting raise the errors of dp_ledger_run_task, reserving
 * those of dp_ledger_check_place, 53000 and 55P03.  Reserving waits until the
 * worker has done all requests of dp_ledger_fail.
 *
 * Handing over does nothing and returns false if the connection no longer
 * waits.  Handing over, dp_ledger_release and dp_ledger_fail raise nothing,
 * wait for nothing and may be called while a process exits.  dp_ledger_release
 * gives up a place whose ticket nobody has used or will use.  With
 * dp_ledger_fail, if the data were not handed over, the worker runs the task
 * of another request instead, which has no text and no waiter, in the order of
 * the queue; if they were, the answer is dropped.
 */
typedef struct dp_ledger_place
{
	struct dp_slot *slot;		/* NULL: none */
	struct dsm_segment *segment;	/* of a long text; NULL: none */
} dp_ledger_place;

typedef struct dp_ledger_ticket
{
	uint64		number;			/* unique to a reservation */
	int32		slot;
	int32		patience;		/* ms to wait for a locked row */
} dp_ledger_ticket;

extern void dp_ledger_reserve(dp_ledger_place *place);
extern void dp_ledger_prepare(dp_ledger_place *place,
							  dp_ledger_request *request, const char *text,
							  dp_ledger_ticket *ticket);
extern bool dp_ledger_hand_over(const dp_ledger_ticket *ticket,
								const void *data, Size size);
extern void dp_ledger_await(dp_ledger_place *place,
							const dp_ledger_request *request,
							dp_task_reply *reply);
extern void dp_ledger_release(dp_ledger_place *place);
extern void dp_ledger_fail(dp_ledger_place *place,
						   const dp_ledger_request *request);

/* ---- charges that a reader submits (charge_request.c, call_worker.c) ---- */

/* State of a connection's attempts to get a worker; initially zero. */
typedef struct dp_ledger_rousing
{
	struct BackgroundWorkerHandle *handle;	/* of a worker that it has
											 * registered */
	TimestampTz registered;		/* when */
	TimestampTz since;			/* when it first found no worker */
	long		poll;			/* ms until it is to look again */
} dp_ledger_rousing;

/*
 * A charge that the reader of a connection submits and waits for
 * (charge_request.c).
 *
 * dp_ledger_defer fixes the request, who asks and how long it may wait;
 * nothing is charged.  The reader, in the same database, is given the ticket;
 * dp_ledger_submit_and_wait submits the charge and returns true when it is on
 * disk, false when the connection no longer waits.  It does not return if the
 * charge is refused: the connection is told, and must end the reader's wait.
 * It may be called once for a ticket.
 *
 * The connection calls dp_ledger_look whenever its latch is set.  It returns
 * true, with the receipt, once the charge is made, and raises the errors of
 * dp_ledger_charge.  dp_ledger_settle, for when the reader has ended,
 * withdraws a request that the worker has not taken and returns false: it will
 * not be charged; otherwise it waits for the answer.  dp_ledger_drop gives the
 * request up; it raises nothing and may be called while a process exits.
 */
typedef struct dp_ledger_deferred
{
	struct dp_slot *slot;		/* NULL: none */
	const dp_ledger_request *request;
	dp_ledger_ticket ticket;
	dp_ledger_rousing rousing;
} dp_ledger_deferred;

extern void dp_ledger_defer(const dp_ledger_request *request,
							dp_ledger_deferred *out);
extern bool dp_ledger_submit_and_wait(const dp_ledger_ticket *ticket);
extern bool dp_ledger_look(dp_ledger_deferred *deferred,
						   dp_ledger_receipt *receipt);
extern bool dp_ledger_settle(dp_ledger_deferred *deferred,
							 dp_ledger_receipt *receipt);
extern void dp_ledger_drop(dp_ledger_deferred *deferred);
extern void dp_ledger_explain_deferred(dp_ledger_deferred *deferred);

/* ---- who asks (payer.c, standing.c, charge_request.c, shield.c) ---- */

/*
 * For the detail of an error that comes before a charge: nothing was charged,
 * or nothing since the statement's earlier charges.
 */
extern const char *dp_ledger_uncharged_text(void);

/*
 * The role whose rights count: the outer user, or the current user if only the
 * outer one is a superuser.  On a dataset that the outer user owns, the asking
 * role can be another: dp_ledger_asking_role_on.
 */
extern Oid	dp_ledger_asking_role(void);
extern Oid	dp_ledger_asking_role_on(const char *dataset);

/*
 * Run what the asking role may have written (a view, a domain, candidates)
 * with its rights instead of those of the function that it was passed to;
 * settings that it changes are restored.  If that role is already the current
 * user, nothing changes, unless `restricted`: then a security-restricted
 * operation begins anyway.  An error between the two calls undoes the first.
 */
typedef struct dp_acting
{
	bool		acting;
	Oid			user;
	int			security;
	int			nest;
} dp_acting;

extern void dp_ledger_act_as_asker(dp_acting *out, bool restricted);
extern void dp_ledger_act_as_before(const dp_acting *acting);

/*
 * For building blocks, which are given what a function read with another
 * role's rights: raise 55000 unless the reading was hidden from the function's
 * caller (shield.c).
 */
extern void dp_ledger_require_shield(void);

/* ---- what remains (standing.c) ---- */

/*
 * Give what remains for the asking role, or raise 42704 if there is no such
 * dataset, 42501 if the role has no budget on it and is not exempt, 0A000 in a
 * security-restricted operation or autovacuum worker, 25000 in a parallel
 * operation.
 */
extern void dp_ledger_require_budget(const char *dataset,
									 dp_ledger_standing *out);
extern bool dp_ledger_is_renewed(const dp_ledger_standing *standing,
								 TimestampTz now);

/* Number of transactions that have ended, without charges (queue.c). */
extern bool dp_ledger_read_stamp(dp_stamp *out, bool *exact);
extern void dp_ledger_read_standing(const char *dataset,
									dp_ledger_standing *out);

/* ---- limits of a charge (charge_request.c) ---- */

/*
 * Raise 22023 if the epsilon of a whole charge is below the server's floor or
 * the one that the dataset's owner set with dp_limit (floor); if that of one
 * released value is above the owner's ceiling (ceiling); both, for a charge of
 * one value (price).
 */
extern void dp_ledger_check_floor(const dp_ledger_standing *standing,
								  const char *dataset, dp_fixed charged);
extern void dp_ledger_check_ceiling(const dp_ledger_standing *standing,
									const char *dataset, dp_fixed price);
extern void dp_ledger_check_price(const dp_ledger_standing *standing,
								  const char *dataset, dp_fixed epsilon);
/* The greater of the two floors; 0: none. */
extern dp_fixed dp_ledger_floor(const dp_ledger_standing *standing);

/*
 * The filter that charges of the payer must suit: dp_accounting_charge_filter.
 */
extern dp_filter dp_ledger_charge_filter(const dp_ledger_standing *standing);

/*
 * Raise 22023 if Gaussian noise is asked for with a delta above the whole
 * delta of the paying budget or of the cap.  Filters that add up rho do not
 * count this delta; but with a delta near 1 epsilon, and so the owner's
 * ceiling, means nothing (doc/theory.md T47).
 */
extern void dp_ledger_check_delta(const dp_ledger_standing *standing,
								  const char *dataset, dp_fixed delta);

/* ---- standing.c ---- */

/* The largest epsilon that one more pure query may have. */
extern dp_fixed dp_ledger_remaining(const dp_limit *limit,
									const dp_spent *spent);

/* ---- charge_sql.c ---- */

/*
 * What a plain request of the asking role would be charged now: nothing if an
 * open batch has paid for it, for a part the increase of the largest part,
 * otherwise its price.  A missing dataset or budget is no error.
 */
extern void dp_ledger_read_preview(const dp_ledger_request *request,
								   dp_ledger_preview *out);

/* ---- who owns a dataset, and may serve (standing.c, grant.c) ---- */

/*
 * Whether `role` is the owner of the dataset, a member of it, or a superuser.
 */
extern bool dp_ledger_owns_dataset(Oid role, const char *dataset);

/*
 * Whether it could see ledger lines other than those of its own queries.
 */
extern bool dp_ledger_sees_more(Oid role);

/*
 * Whether the dataset may serve tables of `role`: only while its owner is that
 * role or a member of it.  A superuser's rights do not count: otherwise the
 * role that creates a dataset first could grant budgets on what superusers
 * protect in it.
 */
extern bool dp_ledger_dataset_serves(const char *dataset, Oid role);
/* The same for a dataset that is known to belong to `owner`. */
extern bool dp_ledger_owner_serves(Oid owner, Oid role);

/*
 * Raise 42501: the caller does not own the dataset.  Detail (NULL: none) and
 * hint are used if the owner still exists.
 */
pg_noreturn extern void dp_ledger_raise_not_owner(const char *dataset,
												  const char *detail,
												  const char *hint);

/*
 * Name of the dataset that `dataset` (NULL: the caller's default) means in an
 * owner's function; if it is missing and `create`, it is created for the
 * caller. 42501 if it belongs to another role; 42704 if it is missing and not
 * `create`.
 */
extern char *dp_ledger_owner_dataset(const char *dataset, bool create);

/* ---- slots of the queue (queue.c) ---- */

typedef enum dp_outcome
{
	DP_OUTCOME_ADMITTED,
	DP_OUTCOME_NO_DATASET,
	DP_OUTCOME_NO_BUDGET,
	DP_OUTCOME_TWO_BUDGETS,		/* of two groups; none is preferred */
	DP_OUTCOME_BUDGET_EXHAUSTED,
	DP_OUTCOME_CAP_EXHAUSTED,
	DP_OUTCOME_NEIGHBOURS,		/* request and dataset have different ones */
	DP_OUTCOME_BATCH_USED,		/* all its queries have been asked */
	DP_OUTCOME_BATCH_OPEN,		/* the role has one already */
	DP_OUTCOME_NO_BATCH,		/* none to close */
	DP_OUTCOME_LOCKED,			/* a row or table is locked */
	DP_OUTCOME_FAILED,			/* not charged; see sqlstate */
	DP_OUTCOME_UNKNOWN			/* perhaps charged: counts as charged */
} dp_outcome;

typedef struct dp_answer
{
	dp_outcome	outcome;
	int			sqlstate;		/* of the worker's error, FAILED only */
	dp_ledger_receipt receipt;	/* payer, spent, limit also when exhausted */
	NameData	asking;			/* the asking role */
	NameData	other;			/* the second group of TWO_BUDGETS */
	bool		renews;
	TimestampTz renewal;
	dp_task_reply reply;
	dp_limit	cap;			/* CAP_EXHAUSTED only */
	dp_spent	cap_spent;
} dp_answer;

typedef enum dp_slot_state
{
	DP_SLOT_FREE,
	DP_SLOT_RESERVED,
	DP_SLOT_PENDING,
	DP_SLOT_TAKEN,
	DP_SLOT_DONE
} dp_slot_state;

typedef struct dp_slot
{
	dlist_node	node;			/* lock: in free or pending, else detached */
	dp_slot_state state;		/* lock */
	bool		abandoned;		/* lock */
	bool		unattended;		/* nobody waits for it; set with PENDING */
	uint64		ticket;			/* lock: of the last reservation */
	PGPROC	   *proxy;			/* whom to wake if it is admitted, unless NULL;
								 * set with PENDING */
	PGPROC	   *proc;			/* of the connection, NULL when unattended;
								 * from here on, the request */
	Oid			database;
	int			failures;		/* lock: workers whose start failed while it
								 * was pending */
	Oid			login;
	Oid			outer;
	Oid			current;
	TimestampTz deadline;		/* for waiting for a locked row */
	dp_ledger_request request;
	dp_answer	answer;
} dp_slot;

#endif							/* DP_LEDGER_H */
