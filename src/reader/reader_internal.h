/*
 * reader_internal.h
 *	  Private to the reader room: the pool, jobs, and what connections and
 *	  readers send each other.
 *
 * Design.  A connection that asks a private query verifies it, checks rights,
 * plans it from public facts and prepares its prices.  Rows are read by a
 * reader: a background worker in the connection's database, to which the
 * connection sends the plan, its snapshot and what is to be done with the
 * rows.  The reader makes everything ready and reports that; only then does
 * the connection charge, and only then does the reader read.  If the charge is
 * known in advance, the reader submits it for the connection when everything
 * is ready, and both wait for the ledger (ledger/charge_request.c).  The
 * reader returns noisy values, or one SQLSTATE.
 *
 * So everything that private rows can influence in a process (its stack and
 * memory, its caches, its pages, what it waits for) happens in one whose state
 * no role can inspect, set or stop.
 *
 * Life of a reader's entry:
 *
 *		NONE -> STARTING			connection wants a kept process, or one is
 *									registered (base/workers.c)
 *		STARTING -> IDLE			reader
 *		STARTING -> NONE			the process that was registered did not
 *									start, or ended; or no connection waits
 *		IDLE -> GIVEN				to a connection, by itself or by the
 *									process that makes a reader idle
 *		GIVEN -> WORKING			connection, the queues are set up
 *		GIVEN -> IDLE				connection gives up
 *		WORKING -> DONE				reader: everything is sent and forgotten
 *		WORKING, abandoned -> IDLE	reader: the connection gave up meanwhile
 *		DONE -> IDLE				connection, has taken what was sent
 *		IDLE -> NONE				reader leaves
 *		GIVEN, WORKING -> DEAD		reader ends: the queues are still in use
 *		DEAD -> NONE				connection
 *
 * Locking.  There is one lock, dp_reader_shared->lock; no other lock is taken
 * while it is held, and it is never held across anything that can raise, wait
 * or read the catalog.  It protects every entry and the waiters.  The queues
 * of an entry belong to the connection from GIVEN on and to both while
 * WORKING.
 *
 * Include postgres.h first.
 */
#ifndef READER_INTERNAL_H
#define READER_INTERNAL_H

#include "executor/execdesc.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"
#include "utils/snapshot.h"
#include "utils/timestamp.h"

#include "../base/dp_compat.h"
#include "../ledger/dp_ledger.h"
#include "dp_reader.h"

struct dp_opened;

/* ---- read.c ---- */

/*
 * Settings of a process that plans or reads private queries: for good, or
 * until the innermost nest level (NewGUCNestLevel) ends.
 */
extern void dp_reader_be_quiet(bool for_good);

/* ---- message.c: what a connection sends, without the pointers ---- */

/* The parts of a message, each at an aligned address. */
typedef enum dp_message_part
{
	DP_PART_TRANSACTION,		/* SerializeTransactionState */
	DP_PART_COMBO,				/* SerializeComboCIDState */
	DP_PART_SNAPSHOT,			/* SerializeSnapshot */
	DP_PART_SETTINGS,			/* name and value, each with a zero byte */
	DP_PART_RELATIONS,			/* of Oid */
	DP_PART_TOAST,				/* of Oid, dp_reader_needs */
	DP_PART_ENUMS,
	DP_PART_COLLATIONS,
	DP_PART_PLAN,				/* nodeToString */
	DP_PART_SCANS,				/* likewise */
	DP_PART_INPUT,				/* nodeToString */
	DP_PART_DATA,				/* the kind's own */
	DP_PARTS
} dp_message_part;

typedef struct dp_message
{
	dp_reader_kind kind;
	Oid			database;
	Oid			user;
	int			security;
	bool		writes;			/* the connection's transaction has an ID */
	bool		more;			/* pieces follow; an empty one ends them */
	Size		memory;			/* to be reserved */
	Size		row;			/* that a parallel worker may send */
	Size		worker;			/* that each worker reserves */
	Size		shared;			/* public rows that workers share */
	dp_ledger_ticket ticket;	/* of the charge; number 0: the connection
								 * makes it */
	Size		size[DP_PARTS];
} dp_message;

extern void dp_reader_build_message(const dp_reader_job *job, StringInfo out);
extern void dp_reader_add_ticket(StringInfo message,
								 const dp_ledger_ticket *ticket);
extern const char *dp_reader_find_part(const dp_message *message,
									   dp_message_part part);
extern const dp_message *dp_reader_check_message(const void *data, Size size);

/* ---- message.c ---- */
#define DP_SENT_SETTINGS 22

typedef struct dp_sent_values
{
	int64		number[DP_SENT_SETTINGS];
} dp_sent_values;

/* ---- pack.c ---- */

#define DP_READER_PACK 16384	/* bytes of rows handed over at once */

extern DestReceiver *dp_reader_unpack(const PlannedStmt *plan,
									  DestReceiver *to);
extern void dp_reader_pack_init(void);

#define DP_READER_QUEUE 65536	/* bytes of each of the two queues */
/*
 * Microseconds to spin on a latch before sleeping, while no other connection
 * uses a reader: sleeping and waking take longer than a reader needs for few
 * rows.
 */
#define DP_READER_SPIN 200
#define DP_READER_SPIN_CHARGE 500	/* the same while it submits a charge */

#define DP_READER_START_TIMEOUT 10000	/* ms a reader may take to start */

typedef enum dp_reader_state
{
	DP_ENTRY_NONE,
	DP_ENTRY_STARTING,
	DP_ENTRY_IDLE,
	DP_ENTRY_GIVEN,
	DP_ENTRY_WORKING,
	DP_ENTRY_DONE,
	DP_ENTRY_DEAD
} dp_reader_state;

typedef struct dp_reader_entry
{
	dp_reader_state state;
	Oid			database;		/* InvalidOid when NONE */
	int			pid;			/* 0 until a process has taken it */
	bool		registered;		/* STARTING: a process was registered for this
								 * entry */
	bool		kept;			/* it is one of dp_pg.workers */
	bool		yield;			/* WORKING: leave afterwards */
	PGPROC	   *proc;			/* from IDLE on */
	TimestampTz since;			/* in this state, STARTING and IDLE only */
	bool		leave;			/* asked to leave */
	PGPROC	   *client;			/* GIVEN to DEAD: the connection */
	Oid			role;			/* the asking role */
	volatile bool abandoned;	/* WORKING: the connection gave up */
	int			code;			/* DONE: SQLSTATE, 0: everything was sent */
	Size		memory;			/* WORKING: bytes that each of its workers
								 * reserves; written by the reader only */
} dp_reader_entry;

/* A connection that waits for a reader. */
typedef struct dp_reader_waiter
{
	dlist_node	node;			/* in free or waiting */
	PGPROC	   *proc;
	Oid			database;
	Oid			role;
	TimestampTz since;
	int			failures;		/* readers that ended while starting */
	int			entry;			/* the one it was given, or -1 */
} dp_reader_waiter;

typedef struct dp_reader_pool
{
	LWLock	   *lock;			/* immutable */
	int			readers;		/* immutable */
	int			kept;			/* most readers that dp_pg.workers may
								 * become */
	dlist_head	free;			/* of waiters */
	dlist_head	waiting;		/* all databases, oldest first */
	dp_reader_entry *entry;		/* immutable: array of `readers` */
	dp_reader_waiter *waiter;	/* immutable: array */
	char	   *queues;			/* immutable: two for each entry */
} dp_reader_pool;

/* ---- pool.c ---- */
extern dp_reader_pool *dp_reader_shared;	/* NULL unless preloaded */
extern void dp_reader_pool_init(void);
extern char *dp_reader_queue(int entry, bool to_session);
extern Size dp_reader_leader_memory(void);
extern dp_reader_waiter *dp_reader_enter(Oid role);
extern int	dp_reader_given(dp_reader_waiter *waiter, bool *alone);
extern bool dp_reader_is_alone(int entry);
extern void dp_reader_give_idle(dp_reader_waiter *waiter);
extern bool dp_reader_has_all(Oid role);
extern bool dp_reader_held_back(const dp_reader_waiter *waiter, bool *all);
extern void dp_reader_drop_unwanted(void);
extern void dp_reader_note_failure(Oid database);
extern void dp_reader_withdraw(dp_reader_waiter *waiter);
extern void dp_reader_start_work(int entry);
extern dp_reader_state dp_reader_look(int entry, int *code);
extern void dp_reader_let_go(int entry);
extern bool dp_reader_announce(int entry);
extern void dp_reader_end_work(int entry, int code);
extern void dp_reader_vanish(int entry);

/* ---- call_reader.c ---- */
extern int	dp_reader_want(dp_reader_waiter *waiter, bool *running,
						   bool *spare);
extern TimestampTz dp_reader_registered(int entry);
extern void dp_reader_unwant(int entry);
extern void dp_reader_forget(int entry, TimestampTz registered);
extern bool dp_reader_wanted(TimestampTz *since, Datum *number);
extern bool dp_reader_spare(long idle, bool kept_too);
extern bool dp_reader_ask_to_leave(Oid database);
extern Oid	dp_reader_take_entry(int entry);
extern bool dp_reader_may_leave(int entry, bool idle);

/* ---- process.c ---- */

/* The nodes of a message. */
typedef struct dp_reader_trees
{
	PlannedStmt *plan;
	List	   *scans;			/* of PlannedStmt * */
	Node	   *input;
} dp_reader_trees;

/* Other messages between connection and reader. */
#define DP_MESSAGE_READY 'r'	/* reader: everything is ready */
#define DP_MESSAGE_GO 'g'		/* connection: the charge is made */
extern PGDLLEXPORT void dp_reader_main(Datum arg);

/* ---- warm.c ---- */
extern int	dp_reader_warm(const dp_message *message,
						   const struct dp_opened *opened);
extern void dp_reader_warm_init(void);

/* ---- read.c: the one place that reads private rows ---- */
extern const dp_reader_methods *dp_reader_find(dp_reader_kind kind);

/* The opened plans of a job, and the methods for their rows. */
typedef struct dp_opened
{
	const dp_reader_methods *how;
	void	   *state;
	PlannedStmt *plan;
	QueryDesc  *main;
	List	   *scans;			/* of QueryDesc * */
} dp_opened;

extern void dp_reader_open(dp_opened *opened, List *scans);
extern void dp_reader_execute(dp_opened *opened);
extern void dp_reader_log(const ErrorData *error);
pg_noreturn extern void dp_reader_raise(int code);
pg_noreturn extern void dp_reader_raise_gone(void);
extern void dp_reader_run_local(const dp_reader_job *job,
								dp_reader_charge charge, void *charge_context,
								dp_reader_sink sink, void *sink_context);

#endif							/* READER_INTERNAL_H */
