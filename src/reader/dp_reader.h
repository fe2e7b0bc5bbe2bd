/*
 * dp_reader.h
 *	  Public interface of the reader folder: the processes that read private
 *	  rows, so that no process of an analyst ever does.
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

#include "../bridge/dp_bridge.h"
#include "../ledger/dp_ledger.h"

/* The text of queries over private rows, for whoever logs it. */
#define DP_PRIVATE_QUERY_TEXT "<private query>"

/* Given to a sink piece by piece; what a piece is the kind knows. */
typedef void (*dp_reader_sink) (void *context, const void *data, Size size);

/*
 * Public bytes that are too many for a message, piece by piece; none is empty.
 * A piece is valid until the next one is asked for; NULL: there are no more,
 * and none may be asked for.
 */
typedef const void *(*dp_reader_source) (void *context, Size *size);

/*
 * What is done with the rows of a plan, by kind.  Everything happens in the
 * process that reads, between two charges' worth of silence:
 *
 *	begin		from public facts to the state that rows are added to; may
 *				raise, since nothing is charged and nothing is read yet.  It
 *				takes every piece of the source, which is NULL when the job
 *				has none
 *	environment	what the plan finds by name; may be NULL
 *	scan		where the rows of the n-th scan of a job with scans are put
 *	next		after them, before each run of its plan: what it then finds by
 *				name; false: it has run over all
 *	receiver	where the executor puts the rows
 *	finish		draw noise and give the sink what may be released; nothing
 *				else leaves
 *	prompt		pieces are told when they are given to the sink, not when
 *				there are many
 */
typedef enum dp_reader_kind
{
	DP_READER_RELEASE,			/* rows of a release, src/run */
	DP_READER_READING,			/* exact counts of a reading and what is made
								 * of them, src/reading/reading_use.c */
	DP_READER_KINDS				/* how many there are */
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

/* Type of the values of an expression of the kinds that rows may have. */
extern Oid	dp_reader_value_type(const Node *node);

/*
 * What executing looks up only where a row asks for it, unless it is looked
 * up before: OIDs of TOAST relations, enum types, collations.  The session
 * holds locks on all of them, and on every type, so that they are still there
 * when a row asks.
 */
typedef struct dp_reader_needs
{
	List	   *toast;
	List	   *enums;
	List	   *collations;
} dp_reader_needs;

/*
 * A job as bytes, with the settings of the session but without its snapshot,
 * transaction and user, which are those of when it is run (message.c).  Not of
 * one that is local or has a source.
 */
typedef struct dp_reader_sealed dp_reader_sealed;

/*
 * A plan over private rows, made from public facts (run/public_plan.c)
 * without parameters, and what is to be done with its rows.  The active
 * snapshot and the current user's rights are the job's.
 */
typedef struct dp_reader_job
{
	dp_reader_kind kind;
	PlannedStmt *plan;
	List	   *scans;			/* of PlannedStmt *: run before; the plan is
								 * then run as often as `next` says */
	List	   *relations;		/* OIDs of all that it opens, TOAST too */
	dp_reader_needs needs;
	Size		memory;			/* that rows may make it take, in bytes */
	Size		row;			/* of its plans, or pack of rows, at most,
								 * where a parallel worker sends it */
	Size		worker;			/* memory that rows may make each of these
								 * take, if there are any */
	Size		shared;			/* bytes of public rows that all of these
								 * share */
	Node	   *input;			/* for begin, or NULL */
	const void *data;			/* a struct of the kind's own, without
								 * pointers, for begin */
	Size		size;			/* of data */
	dp_reader_source source;	/* for begin, or NULL */
	void	   *source_context;
	bool		local;			/* the asker may read the rows anyway: in this
								 * process */
	const dp_ledger_request *request;	/* the charge, if it is known before
										 * everything is ready, or NULL */
	dp_ledger_receipt *receipt; /* of it: where to */
	const dp_reader_sealed *sealed; /* unless NULL: all of this but `local`,
									 * the source and the charge */
} dp_reader_job;

extern dp_reader_sealed *dp_reader_seal(const dp_reader_job *job);
extern bool dp_reader_has_settings(const dp_reader_sealed *sealed);

/*
 * Of a job without a request: makes its charge durable, or raises.  Of one
 * with a request: is told that this was charged, and the receipt is there.
 */
typedef void (*dp_reader_charge) (void *context);

extern void dp_reader_init(void);	/* from _PG_init, preloading only */

/* From _PG_init in every process; the methods are static. */
extern void dp_reader_register(dp_reader_kind kind,
							   const dp_reader_methods *methods);

/*
 * Run a job: have everything ready, charge, then read, and hand what is
 * released to the sink, in order.
 *
 * Errors before the charge: 53000 no reader to be had, 53xxx and 54xxx it
 * lacks something, 55000 what the job was made from has changed, 57000 the
 * reader was ended, those of begin in this process, and those of `charge` or
 * of dp_ledger_charge.
 * After it: 22000 reading failed, 57000 the reader was ended; 40001, 40P01 and
 * 55P03 depend on other sessions.
 */
extern void dp_reader_run(const dp_reader_job *job, dp_reader_charge charge,
						  void *charge_context, dp_reader_sink sink,
						  void *sink_context);

/*
 * Refuse a job for which rows could make the reader take more memory than
 * dp_pg.reader_memory.  Errors: 54000.
 */
extern void dp_reader_check_memory(const dp_reader_job *job);

/* message.c */
extern Size dp_reader_process_memory(Size memory, Size row);

/*
 * Settings of whoever plans or reads private queries; for good, or until the
 * innermost level made by NewGUCNestLevel ends.
 */
extern void dp_reader_be_quiet(bool for_good);

/* The settings that an answer may depend on, as text (sent_settings.c). */
extern void dp_reader_append_settings(StringInfo out);

/* ---- pack.c ---- */

#define DP_READER_PACK 16384	/* bytes of rows handed over at once */

extern bool dp_reader_pack_rows(PlannedStmt *plan);
extern int	dp_reader_pack_workers(const PlannedStmt *plan);
extern void dp_reader_expect_packs(dp_reader_job *job,
								   const PlannedStmt *plan, Size memory,
								   Size row);

/* Replace the error being handled by one that tells nothing (read.c). */
pg_noreturn extern void dp_reader_mask_error(MemoryContext context,
											 bool planning);

#endif							/* DP_READER_H */
