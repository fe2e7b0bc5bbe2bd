/*
 * tables_internal.h
 *	  Private to released tables: what functions that release one share.
 */
#ifndef TABLES_INTERNAL_H
#define TABLES_INTERNAL_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../reader/dp_reader.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"

/*
 * What functions that release a table share.
 *
 * Each of them proceeds as follows: public parameters are read, and what they
 * mean is shown; the reading is verified; then the charge, together with a
 * record of the release (dp_pg.releases), is made durable; then the private
 * rows are read, and one table is drawn.  What the record says is public:
 * parameters before the charge, results after the draw.
 */

/* ---- calls (releases.c) ---- */

/* "1 query", "2 queries": of a noun with its plural. */
extern char *dp_tables_counted(int64 n, const char *one, const char *many);
/* 1 - confidence, of a preview; errors 22004, 22023. */
extern double dp_tables_failure(FunctionCallInfo fcinfo, int place);
/* max_rows of a preview, which is not NULL; errors 22023. */
extern double dp_tables_rows(FunctionCallInfo fcinfo, int place);
/*
 * Raise an error where a function of that name may not be called, before
 * anything is charged: 25000 a parallel operation, 0A000 a serializable
 * transaction or outside of FROM, 55000 not preloaded.
 */
extern void dp_tables_check_place(FunctionCallInfo fcinfo,
								  const char *function);

/* A charge on a dataset, of one release; `standing` is the asking role's. */
extern void dp_tables_request(dp_ledger_request *out, const char *dataset,
							  const dp_ledger_standing *standing,
							  int64 fingerprint, const dp_charge *charge,
							  const char *mechanism);

/* ---- records (releases.c) ---- */

extern void dp_tables_releases_init(void);

/* A record for dp_pg.releases. */
typedef struct dp_tables_record
{
	const char *mechanism;		/* "smalldb" */
	char	   *relation;		/* qualified name; NULL: an owner's values */
	char	   *base;			/* the protected one under it */
	List	   *columns;		/* of char *; NIL: none */
	StringInfoData parameters;	/* members of a JSON object */
} dp_tables_record;

/* A relation's qualified name; 42P01 when it was dropped. */
extern char *dp_tables_relation_name(Oid relid);

/* Reading NULL: an owner's values. */
extern void dp_tables_record_begin(dp_tables_record *record,
								   const char *mechanism,
								   const dp_reading *reading);
extern void dp_tables_record_universe(dp_tables_record *record,
									  const dp_universe *universe);
/* One parameter; digits NULL: null. */
extern void dp_tables_record_number(dp_tables_record *record,
									const char *name, const char *digits);
extern void dp_tables_record_text(dp_tables_record *record, const char *name,
								  const char *text);
extern void dp_tables_record_integer(dp_tables_record *record,
									 const char *name, int64 value);
/* Texts NIL: null. */
extern void dp_tables_record_texts(dp_tables_record *record, const char *name,
								   const List *texts);

/*
 * Charge durably, together with the record; returns the ledger's line, which
 * is also the record's id.  Errors are those of dp_ledger_charge.
 */
extern int64 dp_tables_charge(dp_ledger_request *request,
							  const dp_tables_record *record);
/*
 * Complete the record of a release: `results` holds members of a JSON object
 * made of released values only; error is the estimated error of the workload
 * in rows, NAN: unknown.
 */
extern void dp_tables_finish(const char *dataset, int64 id, double error,
							 const char *results);

/* ---- progress of a reading (releases.c) ---- */

/*
 * What uses of readings tell the connection, from the process that reads:
 * their progress, every so often, and parts of what they release.  Every piece
 * that the sink is given begins with a dp_tables_piece, whose phase is 0 for a
 * part.
 */
typedef struct dp_tables_piece
{
	int64		phase;
	int64		done;
} dp_tables_piece;

typedef struct dp_tables_reporter
{
	dp_reader_sink sink;
	void	   *context;
	dp_phase phase;		/* told last, and when */
	int64		at;
} dp_tables_reporter;

extern void dp_tables_report_progress(dp_tables_reporter *teller,
									  dp_phase phase, int64 done);
/* In the connection: show a piece, if it is of progress; else false. */
extern bool dp_tables_hear_progress(const void *data);

/*
 * The iterative construction's two sides.
 */

/*
 * What the process that reads is sent: the weights of the cells by queries,
 * then, for DP_ITERATE_OWN, the guesses.  The bytes of each.
 */
static inline Size
dp_tables_iterate_weights(const dp_iterate_terms *terms)
{
	return MAXALIGN(sizeof(int32) * terms->queries * terms->cells);
}

static inline Size
dp_tables_iterate_guesses(const dp_iterate_terms *terms)
{
	return terms->update == DP_ITERATE_OWN ?
		sizeof(int64) * terms->queries : 0;
}

/*
 * What the process that reads gives back, piece by piece: the steps, then the
 * distribution.  `of.done` of a part says which it is.
 */
#define DP_ITERATED_STEPS 0
#define DP_ITERATED_CELLS 1

typedef struct dp_tables_iterated
{
	dp_tables_piece of;			/* phase 0 */
	int64		n;				/* how many follow */
} dp_tables_iterated;

/* The start of either in a piece, aligned for both. */
#define DP_ITERATED_DATA(piece) \
	((char *) (piece) + MAXALIGN(sizeof(dp_tables_iterated)))

/* ---- iterate_run.c ---- */
extern void dp_tables_iterate_init(void);

/* ---- the connection's side (iterate_call.c) ---- */

typedef struct dp_iteration
{
	dp_universe *universe;
	List	   *texts;
	dp_reading *reading;
	int32	   *weights;		/* and the guesses, as they are sent */
	Size		sent;			/* bytes of them */
	dp_iterate_terms terms;
	const char *update;			/* names */
	const char *distinguisher;
	double		alpha;			/* 0: not given */
	dp_rational epsilon;		/* of a charge, and the same */
	dp_fixed	epsilon_fixed;
	dp_fixed	delta;			/* of a charge */
	dp_charge	charge;
	int64		id;				/* of the charge */
	int64		taken;
	dp_iterate_step *steps;
	double	   *probability;
	int64		filled;
	struct dp_own_update *own;	/* DP_ITERATE_OWN only */
} dp_iteration;

/* ---- an update algorithm of the caller's own (iterate_call.c) ---- */

typedef struct dp_own_update
{
	FmgrInfo	function;
	char	   *name;			/* qualified */
	int			updates;		/* most of them, charged one by one */
	bool		chosen;			/* by the caller, and not lowered */
	int			round;			/* from 1 */
	dp_fixed	epsilon;		/* of all of them */
	dp_fixed	delta;
	uint64		sensitivity;	/* of counts, as last shown to the caller */
} dp_own_update;

/*
 * The net mechanism's pieces.
 */

#define NET_CANDIDATES (INT64CONST(1) << 24)

/* The user's candidates, read once: rows of (answers, wanted columns). */
typedef struct dp_net_candidates
{
	Oid			relid;
	char	   *name;			/* qualified; the table may be dropped since */
	TupleDesc	desc;
	Tuplestorestate *rows;
	int64		n;
	int			queries;		/* answers that each has */
} dp_net_candidates;

/* ---- net.c ---- */

/*
 * The candidates' answers in granules, some candidates at a time: a
 * dp_reader_source whose context is a dp_net_answers.
 */
typedef struct dp_net_answers
{
	const dp_net_candidates *candidates;
	const dp_binary_grid *grid;
	TupleTableSlot *slot;
	MemoryContext context;		/* of one row */
	int64		room;			/* candidates of a piece */
	dp_int128  *piece;
} dp_net_answers;
/* What a choice needs in addition to its source, the answers; public. */
typedef struct dp_net_choice
{
	dp_rational rate;
	int64		candidates;
	int			queries;
} dp_net_choice;

typedef struct dp_net_chosen
{
	dp_tables_piece piece;
	int64		candidate;
} dp_net_chosen;

extern void dp_tables_net_init(void);

/* ---- smalldb_release.c ---- */

/*
 * SmallDB's pieces.
 */

/*
 * Queries over all cells: weights[query * universe->size + cell], in granules;
 * a predicate weighs 0 or `one`.
 */
typedef struct dp_tables_queries
{
	const dp_universe *universe;
	int64		n;
	List	   *texts;			/* of char *; NIL for marginals */
	bool		weighted;		/* one is not a predicate */
	int			ntables;		/* for marginals */
	dp_reading_table *tables;
} dp_tables_queries;

/* What the error of a selection depends on; public. */
typedef struct dp_tables_smalldb_terms
{
	uint64		universe;
	uint64		queries;		/* 0: any number, of a VC dimension */
	uint64		dimension;		/* 0: not given */
	double		n;
	double		epsilon;
	double		beta;
} dp_tables_smalldb_terms;

/*
 * What a selection needs in addition to its source, the weights of all queries
 * in order, one byte for each cell.  All of it is public.
 */
typedef struct dp_tables_selection
{
	dp_smalldb_shape shape;
	dp_rational rate;
	int64		n;				/* 0: to be counted */
	dp_scale	count;			/* noise of that */
	int			workers;		/* threads, the process's own the first */
} dp_tables_selection;

typedef struct dp_tables_selected
{
	dp_tables_piece piece;
	int64		n;
	uint32		cells[FLEXIBLE_ARRAY_MEMBER];	/* shape.size, ascending */
} dp_tables_selected;
extern void dp_tables_smalldb_init(void);

/* ---- synthesize_run.c ---- */

/*
 * The pieces of dp_synthesize.
 */

/* Most cells of all tables, of a distribution's tree, of places of rows. */
#define DP_SYNTHESIZE_CELLS (INT64CONST(1) << 23)
#define DP_SYNTHESIZE_TREE (INT64CONST(1) << 19)
#define DP_SYNTHESIZE_PLACES (INT64CONST(1) << 27)
#define DP_SYNTHESIZE_TABLES 16384

/*
 * The engine's columns are the universe's axes, smallest first, which makes
 * its inner loops long.  Tables are the wanted ones and all their parts; the
 * first ones are the single columns.
 */
typedef struct dp_synthesis
{
	dp_universe *universe;
	int			order[DP_UNIVERSE_AXES];	/* axis of an engine's column */
	dp_axis    *axes[DP_UNIVERSE_AXES]; /* in the engine's order */
	dp_generator_terms terms;
	dp_generator_table *tables; /* = terms.table */
	int			nwanted;
	int			marginals;		/* columns of each wanted table; 0: sets */
	List	   *sets;			/* of char *, as given */
	int64		cells;			/* of all tables */
	dp_reading *reading;
	dp_fixed	epsilon_fixed;
	dp_rational epsilon;
	dp_fixed	delta;
	dp_fixed	rho;
	dp_charge	charge;
	bool		weights;		/* method mwem, else aim */
	int			rounds;			/* of mwem */
	int64		n;				/* public number of rows; negative: none */
	int64		rows;			/* to return; negative: as many as there are */
	dp_generator_report report;
	int64		id;				/* of the charge */
} dp_synthesis;

/*
 * Rows come some at a time: the place of row i on the engine's column k is
 * places[i * columns + k].
 */
typedef void (*dp_synthesis_rows) (void *context, const int32 *places,
								   int64 n);
extern int64 dp_tables_synthesis_run(dp_synthesis *s, dp_reader_charge pay,
									 dp_synthesis_rows put, void *context);
extern void dp_tables_synthesis_init(void);

#endif							/* TABLES_INTERNAL_H */
