/*
 * ledger.h
 *	  What the files of the ledger share.
 *
 * Design.  A session that asks a private query puts a request into a slot of
 * shared memory and waits on its latch; or the process that is to read for it
 * submits the request and waits (deferred.c).  One background worker per
 * database takes whatever requests are pending, decides and records all of
 * them in one transaction of its own, commits, and answers.  The charge is
 * therefore on disk before anybody reads data, and nothing the session does
 * undoes it.
 *
 * Life of a slot.
 *
 *		FREE -> PENDING				session, fills the request
 *		PENDING -> TAKEN			worker; from here on it may be charged
 *		PENDING -> FREE				session gives up: not charged
 *		TAKEN -> PENDING			worker: a row was locked, try again
 *		TAKEN -> DONE				worker: the answer, after its commit
 *		TAKEN, abandoned -> FREE	worker: the session gave up meanwhile
 *		DONE -> FREE				session, has read the answer; of a deferred
 *									charge: when all has ended
 *
 *		FREE -> RESERVED			session, before rows are read for it
 *		RESERVED -> FREE			session: nothing was read
 *		RESERVED -> PENDING			whoever read: the data of the task are
 *									there; it goes on as others do
 *		RESERVED -> PENDING			whoever is about to read (deferred.c): it
 *									goes on as others do, but who reads is
 *									woken when it is admitted, and the session
 *									if it is not
 *		RESERVED -> PENDING			session: reading failed; nobody waits for
 *									this request, which the worker frees; when
 *									the worker ends too early it is PENDING
 *									again
 *
 * Locking.  There is one lock, dp_ledger_shared->lock, taken by itself only
 * and never held across anything that can raise, wait or read the catalog.
 * It protects the lists, every field marked "lock", and all of the workers'
 * entries.  The request of a slot is written by its session before PENDING
 * (of a reserved one: before its ticket is given away, and the data of its
 * task by whoever has the ticket, under the lock) and immutable afterwards,
 * but that its task is wiped with DONE and FREE; the answer is written by the
 * worker while TAKEN and immutable from DONE.
 *
 * Rows are locked dataset first, then budget, then batch and parts, and always
 * with SKIP LOCKED, so that a row somebody else holds stalls only those who
 * need that row.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "access/htup.h"
#include "lib/ilist.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "dp_ledger.h"

#define DP_LEDGER_START_TIMEOUT 10000	/* ms a worker may take to start */

/*
 * us to watch a latch before sleeping: going to sleep and being woken costs
 * about as much as a charge.  The session, or who reads for it, waits for a
 * commit, the worker for the next request of a session that asks alone.
 */
#define DP_LEDGER_SPIN_SESSION 300
#define DP_LEDGER_SPIN_WORKER 150

typedef enum dp_outcome
{
	DP_OUTCOME_ADMITTED,
	DP_OUTCOME_NO_DATASET,
	DP_OUTCOME_NO_BUDGET,
	DP_OUTCOME_TWO_BUDGETS,		/* of two groups: which one pays? */
	DP_OUTCOME_BUDGET_EXHAUSTED,
	DP_OUTCOME_CAP_EXHAUSTED,
	DP_OUTCOME_NEIGHBOURS,		/* of the request are not the dataset's */
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
	NameData	asking;			/* role whose right was looked for */
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
	bool		unattended;		/* nobody ever waits; set with PENDING */
	uint64		ticket;			/* lock: of the last reservation */
	PGPROC	   *proxy;			/* who goes on when it is admitted, unless
								 * NULL; set with PENDING */
	PGPROC	   *proc;			/* of the session, NULL when unattended;
								 * request from here on */
	Oid			database;
	int			failures;		/* lock: workers that ended as they were
								 * started while it was pending */
	Oid			login;
	Oid			outer;
	Oid			current;
	TimestampTz deadline;		/* of waiting for somebody else's row lock */
	dp_ledger_request request;
	dp_answer	answer;
} dp_slot;

typedef enum dp_worker_state
{
	DP_WORKER_NONE,
	DP_WORKER_STARTING,
	DP_WORKER_RUNNING
} dp_worker_state;

typedef struct dp_worker
{
	dp_worker_state state;
	Oid			database;		/* InvalidOid when NONE */
	int			pid;			/* 0 until a process has taken it */
	bool		registered;		/* STARTING: one was, for this entry alone */
	bool		kept;			/* that it is one of dp_pg.workers */
	PGPROC	   *proc;			/* RUNNING only */
	TimestampTz since;			/* STARTING: wanted or registered; RUNNING: has
								 * nothing to do, DT_NOEND: works */
	bool		leave;			/* asked to leave */
} dp_worker;

typedef struct dp_shared
{
	LWLock	   *lock;			/* immutable */
	int			slots;			/* immutable */
	int			used;			/* lock: slots PENDING or TAKEN */
	int			unattended;		/* lock: of these, those nobody waits for */
	uint64		tickets;		/* lock: reservations so far */
	int			workers;		/* immutable */
	dlist_head	free;
	dlist_head	pending;		/* all databases, oldest first */
	dp_slot    *slot;			/* immutable: array of `slots` */
	dp_worker  *worker;			/* immutable: array of `workers` */
	pg_atomic_uint32 committing;	/* workers that commit charges alone */
	pg_atomic_uint64 charged;	/* such commits that have ended */
} dp_shared;

/* What a ticket is worth to the process that was given it. */
typedef enum dp_ticket_state
{
	DP_TICKET_WAITING,			/* not answered; or refused, which the session
								 * is told */
	DP_TICKET_ADMITTED,
	DP_TICKET_VOID				/* the session has given up */
} dp_ticket_state;

/* shmem.c: NULL unless preloaded */
extern dp_shared *dp_ledger_shared;
extern void dp_ledger_shmem_init(void);
extern dp_slot *dp_ledger_submit(const dp_slot *content, bool *alone);
extern dp_slot *dp_ledger_reserve_slot(bool *busy);
extern bool dp_ledger_submit_reserved(const dp_ledger_ticket *ticket,
									  const void *data, Size size,
									  PGPROC *proxy);
extern dp_slot_state dp_ledger_slot_state(dp_slot *slot, bool *alone);
extern dp_ticket_state dp_ledger_look_up(const dp_ledger_ticket *ticket,
										 bool *alone);
extern void dp_ledger_abandon(dp_slot *slot);
extern bool dp_ledger_withdraw(dp_slot *slot);
extern void dp_ledger_free_slot(dp_slot *slot);
extern void dp_ledger_answer_slot(dp_slot *slot);
extern void dp_ledger_wake(dp_slot *slot);
extern bool dp_ledger_poll(dp_slot *slot, dp_answer *answer);
extern int	dp_ledger_take(Oid database, dp_slot **batch, int most);
extern void dp_ledger_put_back(dp_slot *slot);
extern void dp_ledger_reply(dp_slot **slots, int n);
extern dp_worker *dp_ledger_find_worker(Oid database);
extern bool dp_ledger_has_pending(Oid database);
extern bool dp_ledger_has_unattended(void);

/* ---- who pays (payer.c) ---- */

typedef struct dp_payer
{
	dp_outcome	outcome;		/* ADMITTED, NO_BUDGET or TWO_BUDGETS */
	Oid			asking;
	bool		exempt;
	Oid			role;			/* who pays, unless exempt */
	NameData	name;
	NameData	other;			/* TWO_BUDGETS: name and other clash */
	dp_found	found;			/* the budget of the role that pays */
	dp_budget_row budget;		/* unless exempt; also when DP_LOCKED */
} dp_payer;

extern bool dp_ledger_payer_owns(Oid role, const dp_dataset_row *dataset);
extern void dp_ledger_payer_find(const dp_dataset_row *dataset, Oid outer,
								 Oid current, dp_row_lock lock, dp_payer *out);
extern void dp_ledger_payer_forbid_place(void);
pg_noreturn extern void dp_ledger_payer_raise(const dp_answer *answer,
											  const char *dataset);

extern bool dp_ledger_batch_is_alive(const dp_batch_row *row,
									 const dp_payer *payer,
									 const dp_budget_row *budget);
extern bool dp_ledger_batch_covers(const dp_batch_row *row,
								   const dp_charge *charge);

/* period.c */
extern TimestampTz dp_ledger_renewal(const dp_budget_row *row);
extern void dp_ledger_roll(dp_budget_row *row, TimestampTz now);

/* charge_stamp.c */
extern void dp_ledger_commit_begins(void);
extern void dp_ledger_commit_ends(bool done);

/* decide.c */
extern void dp_ledger_decide(dp_slot **slots, bool *again, int n);

/* charge_session.c */
extern void dp_ledger_start_worker(void);
extern int	dp_ledger_patience(void);
extern dp_slot *dp_ledger_get_slot(const dp_slot *content, bool *alone);
extern void dp_ledger_fill_reserved(dp_slot *slot,
									const dp_ledger_request *request,
									dp_ledger_ticket *ticket);
extern void dp_ledger_rouse_worker(dp_ledger_rousing *rousing,
								   dp_slot **slot);
extern bool dp_ledger_is_late(TimestampTz start);
extern void dp_ledger_wait(dp_slot **slot, dp_answer *answer);
extern void dp_ledger_tell_canceled(dp_slot **slot);
extern void dp_ledger_ask(dp_slot *content, dp_answer *answer);
extern void dp_ledger_accept(const dp_ledger_request *request,
							 const dp_answer *answer,
							 dp_ledger_receipt *receipt);

/* task.c */
extern void dp_ledger_task_begin(void);
extern bool dp_ledger_task_fetch(dp_slot *slot, int number);
extern void dp_ledger_task_run(dp_slot *slot, int number,
							   const dp_payer *payer, int64 period,
							   bool replace_one, TimestampTz now);
extern void dp_ledger_task_decide(dp_slot *slot, int number, TimestampTz now);
extern void dp_ledger_task_finish(void);

/* charged_text.c */
extern void dp_ledger_note_charged(void);

/* call_worker.c */
extern bool dp_ledger_find_wanted(TimestampTz *since, Datum *database);
extern bool dp_ledger_spare(long idle, bool kept_too);
extern void dp_ledger_note_failure(Oid database);

/* worker.c, utility.c, refresh.c */
extern PGDLLEXPORT void dp_ledger_worker_main(Datum arg);
extern void dp_ledger_utility_init(void);
extern void dp_ledger_refresh_init(void);
extern bool dp_ledger_refreshes_own(void);

#endif							/* LEDGER_H */
