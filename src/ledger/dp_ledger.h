/*
 * dp_ledger.h
 *	  Public interface of the privacy ledger: who pays, and the charge that
 *	  nothing undoes.
 *
 * Include postgres.h first.
 */
#ifndef DP_LEDGER_H
#define DP_LEDGER_H

#include "datatype/timestamp.h"
#include "storage/dsm_impl.h"

#include "../catalog/dp_catalog.h"

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

/* ---- tasks: what other folders have done in the charge's transaction ---- */

typedef enum dp_task_kind
{
	DP_TASK_NONE,
	DP_TASK_SESSION,
	DP_TASK_RELEASE,			/* a released table, src/synth */
	DP_TASK_ANSWER,				/* a stored answer, src/reuse */
	DP_TASK_KINDS				/* how many there are */
} dp_task_kind;

#define DP_TASK_DATA 512
#define DP_TASK_TEXT 512
#define DP_TASK_REPLY 128

/*
 * Work for the worker, besides or instead of a charge.  The data may hold
 * private numbers: it is wiped from shared memory as soon as it was used.
 */
typedef struct dp_ledger_task
{
	dp_task_kind kind;
	uint64		data[DP_TASK_DATA / 8]; /* a struct of the kind's own */
	uint64		text_size;		/* with the zero byte; 0: no text; this and
								 * the rest are filled in by the ledger */
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
	bool		urgent;			/* dp_ledger_fail: nobody waits and none of
								 * the fields about rights is set */
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
	bool		replace_one;	/* neighbours of the dataset */
} dp_task_call;

typedef enum dp_task_result
{
	DP_TASK_DONE,				/* the reply tells the rest */
	DP_TASK_REFUSED,			/* not entitled: raise as a charge would */
	DP_TASK_LOCKED				/* a row is locked; nothing was changed */
} dp_task_result;

/*
 * How a kind of tasks is carried out, all of it in the worker.  Tasks of a
 * group run in their order within one transaction, which is begun anew, task
 * by task, when one of them raises an error.
 */
typedef struct dp_task_methods
{
	void		(*begin) (void);	/* a transaction begins: forget all */
	dp_task_result (*run) (const dp_task_call *call, dp_task_reply *reply);
	void		(*finish) (void);	/* write what the tasks have changed */
} dp_task_methods;

/*
 * A query that reads one part only of a partition of the units: all that it
 * releases must be a function of the units whose rows lie in the part, and a
 * unit must lie in the same part for as long as `partition` is used.  The
 * caller vouches for both.  Equal keys must be spelled equally; two keys that
 * share a spelling cost too much and never too little.
 */
typedef struct dp_ledger_part
{
	int64		partition;		/* of dp_catalog_new_partition; 0: no part */
	NameData	key;			/* not empty */
} dp_ledger_part;

/* Of the two actions on batches; others leave it zero. */
typedef struct dp_ledger_batch
{
	int64		id;				/* to close */
	Oid			role;			/* whose batch it is, to close */
	NameData	role_name;
	dp_fixed	epsilon;		/* to open: most that one query may cost */
	int32		queries;
	char		method[DP_METHOD_LENGTH];
} dp_ledger_batch;

/* What to charge; filled by the release, copied into shared memory. */
typedef struct dp_ledger_request
{
	NameData	dataset;
	char		mechanism[DP_MECHANISM_LENGTH]; /* "laplace: count, sum" */
	dp_charge	charge;
	int32		releases;		/* noisy values per key */
	int64		fingerprint;	/* of the query's shape, no data, no params */

	/*
	 * The neighbouring relation that the charge was computed for; copy it
	 * from the standing.  When the dataset has another, nothing is charged.
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
	Oid			owner;			/* of the dataset; InvalidOid: none any more */
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
	int64		batch;			/* that has paid for it; 0: none */
	int32		batch_queries;
	int32		batch_used;		/* = batch_queries: would be refused */
} dp_ledger_preview;

extern void dp_ledger_init(void);	/* from _PG_init, preloading only */

/*
 * Called when DDL needs a database for itself, until no worker of ours is in
 * it: other processes of other folders leave then, too.  Returns whether one
 * is still there.  One such function; from _PG_init.
 */
typedef bool (*dp_ledger_clearing) (Oid database);

extern void dp_ledger_on_clearing(dp_ledger_clearing function);

/*
 * Charge durably, or raise: 53400 budget or cap exhausted, 42501 no budget,
 * 25006 recovery, 55P03 ledger locked, 53000 no worker, 42704 no dataset,
 * 55000 the dataset has other neighbours than the request; 53400 also when the
 * asking role has an open batch that covers the charge and is used up.
 * On return the charge is on disk and no rollback, cancel or crash undoes it.
 */
extern void dp_ledger_charge(const dp_ledger_request *request,
							 dp_ledger_receipt *receipt);

/*
 * From now on charges wait for somebody else's row lock no longer than
 * dp_pg.worker_lock_timeout, whatever the session's lock_timeout: a process
 * that others need is held meanwhile.
 */
extern void dp_ledger_hurry(bool hurry);

/*
 * Raise where nothing can be charged: 55000 not preloaded, or a setting is not
 * of this transaction where dp_pg.setting_scope wants that, 25006 in recovery,
 * 25000 in a parallel operation, 0A000 in a security-restricted one.
 */
extern void dp_ledger_check_place(void);

/* From _PG_init in every process; the methods are static. */
extern void dp_ledger_register_task(dp_task_kind kind,
									const dp_task_methods *methods);

/*
 * dp_ledger_charge, or for DP_LEDGER_TASK no charge, with a task in the same
 * transaction; its text, of any length, may be NULL.  Errors are those of
 * dp_ledger_charge.  The data in *request is wiped once it was handed over.
 */
extern void dp_ledger_run_task(dp_ledger_request *request, const char *text,
							   dp_ledger_receipt *receipt,
							   dp_task_reply *reply);

/*
 * The same in a subtransaction: NULL, or what went wrong, palloc'd, unless it
 * is a cancel, which is raised.
 */
extern ErrorData *dp_ledger_try_task(dp_ledger_request *request,
									 const char *text,
									 dp_task_reply *reply);

/*
 * A place in the queue, for a task whose data another process comes to know:
 * the session that asks never does.
 *
 * The session reserves the place and prepares the request in it, which settles
 * who asks and what the text is; then it gives the ticket to a process of the
 * same database, which hands over the data when it has them, and has nothing
 * to do with the answer: that is the session's to wait for.  Preparing and
 * waiting raise as dp_ledger_run_task does, reserving as dp_ledger_charge, and
 * reserving waits until all that dp_ledger_fail told the worker is done.
 *
 * Handing over does nothing (false) when the session does not wait any more.
 * It and the two functions by which the session gives a place up raise
 * nothing, wait for nothing and may be called where a process ends.
 * dp_ledger_release is for one whose ticket nobody has used or will use.
 * dp_ledger_fail: if the data were not handed over, the worker runs the task
 * of another request, which has no text and nobody waits for, after all that
 * was submitted before and before all that follows; if they were, the answer
 * is dropped.
 */
typedef struct dp_ledger_place
{
	struct dp_slot *slot;		/* NULL: none */
	struct dsm_segment *segment;	/* of the prepared text, if it needs one */
} dp_ledger_place;

typedef struct dp_ledger_ticket
{
	uint64		number;			/* of a reservation; no other has it */
	int32		slot;
	int32		patience;		/* ms to wait for a row that is locked */
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

/* What a session does to get a process for the ledger; zero at first. */
typedef struct dp_ledger_rousing
{
	struct BackgroundWorkerHandle *handle;	/* of one it has registered */
	TimestampTz registered;		/* when */
	TimestampTz since;			/* that there is none */
	long		poll;			/* ms until it should look again */
} dp_ledger_rousing;

/*
 * A charge for which the process waits that reads rows for the session, and
 * not the session (deferred.c).
 *
 * dp_ledger_defer settles what is asked, by whom and for how long it may wait;
 * nothing is charged.  The other process, of the same database, is given the
 * ticket; dp_ledger_have_charged has it charged and returns when that is on
 * disk.  It returns false when the session does not wait any more, and not at
 * all when the charge was refused: the session is told, and must end the other
 * one's waiting.  May be called once for a ticket.
 *
 * The session looks whenever its latch is set: true, and the receipt, when it
 * is charged; raises as dp_ledger_charge does when that is refused or no
 * worker can be had.  dp_ledger_settle, when the other process has ended,
 * withdraws what the worker has not taken, and else waits for the answer;
 * false: it is not charged and will not be.  dp_ledger_drop gives up what is
 * not charged yet, and ends all; it raises nothing and may be called where a
 * process ends.
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
extern bool dp_ledger_have_charged(const dp_ledger_ticket *ticket);
extern bool dp_ledger_look(dp_ledger_deferred *deferred,
						   dp_ledger_receipt *receipt);
extern bool dp_ledger_settle(dp_ledger_deferred *deferred,
							 dp_ledger_receipt *receipt);
extern void dp_ledger_drop(dp_ledger_deferred *deferred);
extern void dp_ledger_tell_deferred(dp_ledger_deferred *deferred);

/*
 * For the detail of an error that comes before a charge: that nothing was
 * charged, or nothing more than what the statement asked before.
 */
extern const char *dp_ledger_told_uncharged(void);

/*
 * The role whose rights count now: the outer user, or the current user when
 * only the outer one is a superuser.  Who pays on a dataset can differ when
 * the outer user is its owner: dp_ledger_asking_role_on.
 */
extern Oid	dp_ledger_asking_role(void);
extern Oid	dp_ledger_asking_role_on(const char *dataset);

/*
 * Run what the asking role may have written (a view, a domain, candidates)
 * with its rights and not with those of the function that was handed its name;
 * settings that it leaves behind end with it.  Where the current user is that
 * role already nothing is changed, unless `restricted`: then it may not act on
 * the session either way.  An error between the two undoes both.
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
 * In a building block, which is given what a function read with another role's
 * rights: raise 55000 unless that was hidden from the one who asks (shield.c).
 */
extern void dp_ledger_require_shield(void);

/*
 * Raise 42501 when the asking role holds no budget on the dataset and is not
 * exempt; 0A000 in a security-restricted operation or autovacuum worker.
 * Else what would remain.  Charges nothing.
 */
extern void dp_ledger_require_budget(const char *dataset,
									 dp_ledger_standing *out);
extern bool dp_ledger_is_renewed(const dp_ledger_standing *standing,
								 TimestampTz now);

/* Has anything been committed since, besides charges? (charge_stamp.c) */
extern bool dp_ledger_read_stamp(dp_stamp *out, bool *exact);
extern void dp_ledger_read_standing(const char *dataset,
									dp_ledger_standing *out);

/*
 * Raise 22023 when the epsilon of a whole charge is below the server's floor,
 * or below the one that the dataset's owner set with dp_limit; when that of
 * one released value is above the owner's ceiling; and both of a mechanism
 * that is charged by itself.
 */
extern void dp_ledger_check_floor(const dp_ledger_standing *standing,
								  const char *dataset, dp_fixed charged);
extern void dp_ledger_check_ceiling(const dp_ledger_standing *standing,
									const char *dataset, dp_fixed price);
extern void dp_ledger_check_price(const dp_ledger_standing *standing,
								  const char *dataset, dp_fixed epsilon);
/* The greater of the two floors, 0: none. */
extern dp_fixed dp_ledger_floor(const dp_ledger_standing *standing);

/* The filter that charges of the payer must suit: dp_acct_charge_filter. */
extern dp_filter dp_ledger_charge_filter(const dp_ledger_standing *standing);

/*
 * Raise 22023 when Gaussian noise of a given epsilon would be made with a
 * delta above the whole delta of the budget that pays, or of the cap.  Filters
 * that add up rho see no delta; with a delta near 1 an epsilon says nothing,
 * and the owner's ceiling would say nothing either (doc/theory.md T47).
 */
extern void dp_ledger_check_delta(const dp_ledger_standing *standing,
								  const char *dataset, dp_fixed delta);

/* The largest epsilon that one more pure query may have. */
extern dp_fixed dp_ledger_remaining(const dp_limit *limit,
									const dp_spent *spent);

/*
 * What a plain request of the asking role would be charged now: nothing when
 * an open batch has paid for it, the rise of the largest part for a part, else
 * its price.  Never raises for a missing dataset or budget, charges nothing.
 */
extern void dp_ledger_read_preview(const dp_ledger_request *request,
								   dp_ledger_preview *out);

/* Is `role` the owner of the dataset, a member of it, or a superuser? */
extern bool dp_ledger_owns_dataset(Oid role, const char *dataset);

/* standing.c: could it see lines of the ledger that it did not ask for? */
extern bool dp_ledger_sees_more(Oid role);

/*
 * May the dataset serve tables of `role`?  Only while its owner has the rights
 * of that role, by being it or a member of it; what a superuser may do besides
 * does not count, or whoever registers a dataset first could give away what
 * superusers protect in it.
 */
extern bool dp_ledger_dataset_serves(const char *dataset, Oid role);
/* The same of a dataset that is known to belong to `owner`. */
extern bool dp_ledger_owner_serves(Oid owner, Oid role);

/*
 * 42501: the caller does not own the dataset; the detail (NULL: none) and the
 * hint are for a dataset whose owner is still there.
 */
pg_noreturn extern void dp_ledger_raise_not_owner(const char *dataset,
												  const char *detail,
												  const char *hint);

/*
 * Name of the dataset that `dataset` (NULL: the caller's default) denotes for
 * an owner's function; creates it for the caller when missing and `create`.
 * 42501 when it belongs to somebody else; 42704 when missing and not create.
 */
extern char *dp_ledger_owner_dataset(const char *dataset, bool create);

#endif							/* DP_LEDGER_H */
