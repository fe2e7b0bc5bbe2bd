/*
 * dp_reader.h
 *	  Public interface of the reader room: processes that read private rows.
 *
 * Include postgres.h first.
 */
#ifndef DP_READER_H
#define DP_READER_H

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"

#include "../base/dp_compat.h"
#include "../ledger/dp_ledger.h"

/* Query text of queries over private rows, for logs. */
#define DP_PRIVATE_QUERY_TEXT "<private query>"

/* Receives results piece by piece; the kind defines the pieces. */
typedef void (*dp_reader_sink) (void *context, const void *data, Size size);

/*
 * Public bytes that are too many for a message, piece by piece; no piece is
 * empty.  A piece is valid until the next call.  NULL: there are no more; do
 * not call it again.
 */
typedef const void *(*dp_reader_source) (void *context, Size *size);

/*
 * Methods for the rows of a plan, by kind.  All run in the process that reads,
 * and reveal nothing before the results:
 *
 *	begin		make the state that rows are added to, from public facts; may
 *				raise, since nothing is charged and nothing is read yet.  It
 *				takes every piece of the source, which is NULL if the job
 *				has none
 *	environment	what the plan finds by name; may be NULL
 *	scan		the receiver of the n-th scan of a job with scans
 *	next		after the scans, before each run of the plan: fill what it
 *				finds by name; false if everything has been read
 *	receiver	the receiver of the plan's rows
 *	finish		draw noise and pass the sink what may be released; nothing
 *				else leaves the process
 *	prompt		pieces are sent as they are passed to the sink, not when
 *				many have come together
 */
typedef enum dp_reader_kind
{
	DP_READER_RELEASE,			/* rows of a release, src/release */
	DP_READER_READING,			/* exact counts of a reading and what is
								 * computed from them,
								 * src/mechanisms/readings/reading_use.c */
	DP_READER_KINDS				/* their number */
} dp_reader_kind;

typedef struct dp_reader_methods
{
	void	   *(*begin) (const Node *input, const void *data,
						  dp_reader_source source, void *context);
	QueryEnvironment *(*environment) (void *state);
	DestReceiver *(*scan) (void *state, int n);
	bool		(*next) (void *state);
	DestReceiver *(*receiver) (void *state);
	void		(*finish) (void *state, dp_reader_sink sink, void *context);
	bool		prompt;
} dp_reader_methods;

/* Type of the values of an expression of a kind that rows may have. */
extern Oid	dp_reader_value_type(const Node *node);

/*
 * What execution would look up only when a row requires it, unless it has been
 * looked up before: OIDs of TOAST relations, enum types and collations.  The
 * connection holds locks on all of them, and on every type, so they cannot be
 * dropped meanwhile.
 */
typedef struct dp_reader_needs
{
	List	   *toast;
	List	   *enums;
	List	   *collations;
} dp_reader_needs;

/*
 * A job as bytes, with the connection's settings but without its snapshot,
 * transaction and user, which are added when it runs (message.c).  Not for a
 * job that is local or has a source.
 */
typedef struct dp_reader_sealed dp_reader_sealed;

/*
 * A plan over private rows, made from public facts (inner/public_plan.c)
 * without parameters, and what is done with its rows.  It runs under the
 * active snapshot with the current user's rights.
 */
typedef struct dp_reader_job
{
	dp_reader_kind kind;
	PlannedStmt *plan;
	List	   *scans;			/* of PlannedStmt *, run first; then the plan
								 * runs until `next` is false */
	List	   *relations;		/* OIDs of all that it opens, including
								 * TOAST */
	dp_reader_needs needs;
	Size		memory;			/* most bytes that rows may make it take */
	Size		row;			/* bytes of the longest row or pack that a
								 * parallel worker may send */
	Size		worker;			/* most bytes that rows may make each worker
								 * take, if there are any */
	Size		shared;			/* bytes of public rows that workers share */
	Node	   *input;			/* for begin, or NULL */
	const void *data;			/* for begin: a struct of the kind, without
								 * pointers */
	Size		size;			/* of data */
	dp_reader_source source;	/* for begin, or NULL */
	void	   *source_context;
	bool		local;			/* run in this process: the asking role may
								 * read the rows */
	const dp_ledger_request *request;	/* the charge, if it is known before
										 * everything is ready, or NULL */
	dp_ledger_receipt *receipt; /* receives the result of the charge */
	const dp_reader_sealed *sealed; /* NULL, or all of this but `local`, the
									 * source and the charge */
} dp_reader_job;

extern dp_reader_sealed *dp_reader_seal(const dp_reader_job *job);
extern bool dp_reader_has_settings(const dp_reader_sealed *sealed);

/*
 * For a job without a request: makes its charge durable, or raises.  For one
 * with a request: called when that has been charged and the receipt is filled
 * in.
 */
typedef void (*dp_reader_charge) (void *context);

extern void dp_reader_init(void);	/* from _PG_init, preloading only */

/* From _PG_init in every process; the methods are static. */
extern void dp_reader_register(dp_reader_kind kind,
							   const dp_reader_methods *methods);

/*
 * Run a job: make everything ready, charge, then read, and pass what is
 * released to the sink, in order.
 *
 * Errors before the charge: 53000 no reader available; 53xxx and 54xxx it
 * lacks resources; 55000 what the job was made from has changed; 57000 the
 * reader was terminated; those of begin in this process; and those of `charge`
 * or of dp_ledger_charge.  After it: 22000 reading failed, 57000 the reader
 * was terminated; 40001, 40P01 and 55P03 depend on other sessions.
 */
extern void dp_reader_run(const dp_reader_job *job, dp_reader_charge charge,
						  void *charge_context, dp_reader_sink sink,
						  void *sink_context);

/*
 * Raise 54000 if rows could make the reader take more memory than
 * dp_pg.reader_memory.
 */
extern void dp_reader_check_memory(const dp_reader_job *job);

/* ---- message.c ---- */
extern Size dp_reader_process_memory(Size memory, Size row);

/*
 * Append the settings that an answer may depend on, as text (message.c).
 */
extern void dp_reader_append_settings(StringInfo out);

/* ---- pack.c ---- */

extern bool dp_reader_pack_rows(PlannedStmt *plan);
extern int	dp_reader_pack_workers(const PlannedStmt *plan);
extern void dp_reader_expect_packs(dp_reader_job *job,
								   const PlannedStmt *plan, Size memory,
								   Size row);

/* ---- read.c ---- */

/* Replace the error being handled by one that reveals nothing. */
pg_noreturn extern void dp_reader_mask_error(MemoryContext context,
											 bool planning);

#endif							/* DP_READER_H */
