/*
 * synth.h
 *	  Private to the synth room: what functions that release a table share.
 *
 * Each of them proceeds as follows: public parameters are read, and what they
 * mean is shown; the reading is verified; then the charge, together with a
 * record of the release (dp_pg.releases), is made durable; then the private
 * rows are read, and one table is drawn.  What the record says is public:
 * parameters before the charge, results after the draw.
 */
#ifndef DP_SYNTH_SYNTH_H
#define DP_SYNTH_SYNTH_H

#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/array.h"

#include "../workload/dp_workload.h"
#include "dp_synth.h"

/* ---- calls (releases.c) ---- */

/* "1 query", "2 queries": of a noun with its plural. */
extern char *dp_synth_counted(int64 n, const char *one, const char *many);
/* 1 - confidence, of a preview; errors 22004, 22023. */
extern double dp_synth_failure(FunctionCallInfo fcinfo, int place);
/* max_rows of a preview, which is not NULL; errors 22023. */
extern double dp_synth_rows(FunctionCallInfo fcinfo, int place);
/*
 * Raise an error where a function of that name may not be called, before
 * anything is charged: 25000 a parallel operation, 0A000 a serializable
 * transaction or outside of FROM, 55000 not preloaded.
 */
extern void dp_synth_check_place(FunctionCallInfo fcinfo,
								 const char *function);

/* A charge on a dataset, of one release; `standing` is the asking role's. */
extern void dp_synth_request(dp_ledger_request *out, const char *dataset,
							 const dp_ledger_standing *standing,
							 int64 fingerprint, const dp_charge *charge,
							 const char *mechanism);

/* ---- records (releases.c) ---- */

extern void dp_synth_releases_init(void);

/* A record for dp_pg.releases. */
typedef struct dp_synth_record
{
	const char *mechanism;		/* "smalldb" */
	char	   *relation;		/* qualified name; NULL: an owner's values */
	char	   *base;			/* the protected one under it */
	List	   *columns;		/* of char *; NIL: none */
	StringInfoData parameters;	/* members of a JSON object */
} dp_synth_record;

/* A relation's qualified name; 42P01 when it was dropped. */
extern char *dp_synth_relation_name(Oid relid);

/* Reading NULL: an owner's values. */
extern void dp_synth_record_begin(dp_synth_record *record,
								  const char *mechanism,
								  const dp_reading *reading);
extern void dp_synth_record_universe(dp_synth_record *record,
									 const dp_universe *universe);
/* One parameter; digits NULL: null. */
extern void dp_synth_record_number(dp_synth_record *record,
								   const char *name, const char *digits);
extern void dp_synth_record_text(dp_synth_record *record, const char *name,
								 const char *text);
extern void dp_synth_record_integer(dp_synth_record *record,
									const char *name, int64 value);
/* Texts NIL: null. */
extern void dp_synth_record_texts(dp_synth_record *record, const char *name,
								  const List *texts);

/*
 * Charge durably, together with the record; returns the ledger's line, which
 * is also the record's id.  Errors are those of dp_ledger_charge.
 */
extern int64 dp_synth_charge(dp_ledger_request *request,
							 const dp_synth_record *record);
/*
 * Complete the record of a release: `results` holds members of a JSON object
 * made of released values only; error is the estimated error of the workload
 * in rows, NAN: unknown.
 */
extern void dp_synth_finish(const char *dataset, int64 id, double error,
							const char *results);

/* ---- progress of a reading (releases.c) ---- */

/*
 * What uses of readings tell the connection, from the process that reads:
 * their progress, every so often, and parts of what they release.  Every piece
 * that the sink is given begins with a dp_synth_piece, whose phase is 0 for a
 * part.
 */
typedef struct dp_synth_piece
{
	int64		phase;
	int64		done;
} dp_synth_piece;

typedef struct dp_synth_teller
{
	dp_reader_sink sink;
	void	   *context;
	dp_phase phase;		/* told last, and when */
	int64		at;
} dp_synth_teller;

extern void dp_synth_tell_progress(dp_synth_teller *teller,
								   dp_phase phase, int64 done);
/* In the connection: show a piece, if it is of progress; else false. */
extern bool dp_synth_hear_progress(const void *data);

#endif							/* DP_SYNTH_SYNTH_H */
