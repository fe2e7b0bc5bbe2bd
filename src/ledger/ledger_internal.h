/*
 * ledger_internal.h
 *	  Private to the ledger: requests in shared memory, the worker, owners'
 *	  procedures.
 *
 * Include postgres.h first.
 */
#ifndef LEDGER_INTERNAL_H
#define LEDGER_INTERNAL_H

#include "access/htup.h"
#include "fmgr.h"
#include "lib/ilist.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "../math/accounting/dp_accounting.h"
#include "../base/dp_compat.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"

/*
 * What the files of the ledger share.
 *
 * Design.  A connection that asks a private query puts a request into a slot
 * of shared memory and waits on its latch; or the process that reads for it
 * submits the request and waits (charge_request.c).  One background worker per
 * database takes all pending requests, decides and records them in one
 * transaction of its own, commits, and answers.  The charge is therefore on
 * disk before data are read, and nothing the connection does undoes it.
 *
 * Life of a slot.
 *
 *		FREE -> PENDING				connection, with its request
 *		PENDING -> TAKEN			worker; from here on it may be charged
 *		PENDING -> FREE				connection gives up: not charged
 *		TAKEN -> PENDING			worker: a row was locked, try again
 *		TAKEN -> DONE				worker: the answer, after its commit
 *		TAKEN, abandoned -> FREE	worker: the connection gave up
 *		DONE -> FREE				connection, has the answer; a deferred
 *									charge: when its run has ended
 *
 *		FREE -> RESERVED			connection, before rows are read
 *		RESERVED -> FREE			connection: nothing was read
 *		RESERVED -> PENDING			reader, with the data of the task
 *		RESERVED -> PENDING			reader, before it reads: it is woken
 *									if the charge is admitted, the connection
 *									if it is not (charge_request.c)
 *		RESERVED -> PENDING			connection: reading failed; nobody waits
 *									for this request, which the worker frees;
 *									if the worker ends before, it is PENDING
 *									again
 *
 * Locking.  There is one lock, dp_ledger_shared->lock, which is never held
 * together with another, nor across anything that can raise an error, wait or
 * read the catalog.  It protects the lists, the fields marked "lock", and all
 * of the workers' entries.  The request of a slot is written by its connection
 * before PENDING and immutable afterwards, except that its task is wiped with
 * DONE and FREE.  (If the slot was reserved, the connection writes the request
 * before it gives the ticket away, and the holder of the ticket writes the
 * data of the task under the lock.)  The answer is written by the worker while
 * TAKEN and immutable from DONE on.
 *
 * Rows are locked in the order dataset, budget, batch, parts, and always with
 * SKIP LOCKED, so that a locked row delays only the requests that need it.
 */

#define DP_LEDGER_START_TIMEOUT 10000	/* ms a worker may take to start */

/*
 * us to spin on a latch before sleeping, since sleeping and waking up costs
 * about as much as a charge.  The connection, or its reader, waits for a
 * commit; the worker, for the next request of a connection that asks alone.
 */
#define DP_LEDGER_SPIN_SESSION 300
#define DP_LEDGER_SPIN_WORKER 150

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
	bool		registered;		/* STARTING: a worker was registered for it */
	bool		kept;			/* one of dp_pg.workers */
	PGPROC	   *proc;			/* RUNNING only */
	TimestampTz since;			/* STARTING: wanted or registered since;
								 * RUNNING: idle since, DT_NOEND: busy */
	bool		leave;			/* asked to leave */
} dp_worker;

typedef struct dp_shared
{
	LWLock	   *lock;			/* immutable */
	int			slots;			/* immutable */
	int			used;			/* lock: slots PENDING or TAKEN */
	int			unattended;		/* lock: requests that nobody waits for */
	uint64		tickets;		/* lock: reservations so far */
	int			workers;		/* immutable */
	dlist_head	free;
	dlist_head	pending;		/* all databases, oldest first */
	dp_slot    *slot;			/* immutable: array of `slots` */
	dp_worker  *worker;			/* immutable: array of `workers` */
	pg_atomic_uint32 committing;	/* workers committing only charges */
	pg_atomic_uint64 charged;	/* such commits that have succeeded */
} dp_shared;

/* State of a ticket, for the process that was given it. */
typedef enum dp_ticket_state
{
	DP_TICKET_WAITING,			/* not answered; or refused, as only the
								 * connection is told */
	DP_TICKET_ADMITTED,
	DP_TICKET_VOID				/* the connection has given up */
} dp_ticket_state;

/* queue.c: NULL unless preloaded */
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
	Oid			role;			/* the payer, unless exempt */
	NameData	name;
	NameData	other;			/* TWO_BUDGETS: name and other clash */
	dp_found	found;			/* the payer's budget */
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

/* ---- payer.c ---- */
extern TimestampTz dp_ledger_renewal(const dp_budget_row *row);
extern void dp_ledger_roll(dp_budget_row *row, TimestampTz now);
extern void dp_ledger_note_charged(void);

/* ---- queue.c ---- */

extern void dp_ledger_commit_begins(void);
extern void dp_ledger_commit_ends(bool done);

/* ---- decide.c ---- */

extern void dp_ledger_decide(dp_slot **slots, bool *again, int n);

/* ---- charge_request.c ---- */

extern void dp_ledger_start_worker(void);
extern void dp_ledger_fill_reserved(dp_slot *slot,
									const dp_ledger_request *request,
									dp_ledger_ticket *ticket);
extern void dp_ledger_wait(dp_slot **slot, dp_answer *answer);
extern void dp_ledger_ask(dp_slot *content, dp_answer *answer);
extern void dp_ledger_accept(const dp_ledger_request *request,
							 const dp_answer *answer,
							 dp_ledger_receipt *receipt);

/* ---- task.c ---- */

extern void dp_ledger_task_begin(void);
extern bool dp_ledger_task_fetch(dp_slot *slot, int number);
extern void dp_ledger_task_run(dp_slot *slot, int number,
							   const dp_payer *payer, int64 period,
							   bool replace_one, TimestampTz now);
extern void dp_ledger_task_decide(dp_slot *slot, int number, TimestampTz now);
extern void dp_ledger_task_finish(void);

/* ---- call_worker.c ---- */

extern void dp_ledger_rouse_worker(dp_ledger_rousing *rousing,
								   dp_slot **slot);
extern bool dp_ledger_find_wanted(TimestampTz *since, Datum *database);
extern bool dp_ledger_spare(long idle, bool kept_too);
extern void dp_ledger_note_failure(Oid database);

/* ---- worker.c ---- */

extern PGDLLEXPORT void dp_ledger_worker_main(Datum arg);

/* ---- payer.c ---- */

extern void dp_ledger_refresh_init(void);

/* ---- grant.c ---- */

/*
 * Arguments of the functions that a dataset's owner calls.
 */

extern void dp_ledger_check_writable(const char *what);
extern char *dp_ledger_owner_dataset_argument(FunctionCallInfo fcinfo,
											  int argument);
extern dp_fixed dp_ledger_read_delta(Datum value, bool isnull);
extern Datum dp_ledger_owner_decimal(FunctionCallInfo fcinfo, int argument);

/* ---- shield.c ---- */

/*
 * Owners' procedures while other roles call them: what is hidden from the
 * caller, and which functions are such procedures.
 */

/* Settings that a shielded function has, whatever its caller has set. */
typedef struct dp_shield_setting
{
	const char *name;
	const char *value;
} dp_shield_setting;

#define DP_SHIELD_SETTINGS 8

/* What the catalog says about a function. */
typedef struct dp_shield_facts
{
	Oid			function;
	bool		definer;		/* SECURITY DEFINER */
	bool		known;			/* to call a building block */
	uint32		kept;			/* bits: shield_settings that its header
								 * sets */
} dp_shield_facts;

extern void dp_ledger_shield_init(void);	/* from _PG_init, preloading */

#endif							/* LEDGER_INTERNAL_H */
