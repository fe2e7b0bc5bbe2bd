/*
 * dp_readings.h
 *	  Public interface of readings: exact counts of one scan, for mechanisms
 *	  that are charged elsewhere, and the axes of columns.
 *
 * Include postgres.h first.
 */
#ifndef DP_READINGS_H
#define DP_READINGS_H

#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"

extern void dp_readings_init(void); /* from _PG_init, preloading only */

/* ---- axes of columns (reading.c) ---- */

/*
 * 42703 no such column; 22023 nothing public is known about its values, or
 * bins do not suit it; 54000 more than `most` places.  bins is 0 for none.
 */
extern dp_axis *dp_readings_make_axis(Oid relid, const char *column,
									  int32 bins, int64 most);

/*
 * ---- exact counts for mechanisms with a charge of their own (reading.c,
 * reading_use.c) ----
 */

/*
 * A reading is verified as a private query is, and then waits.  Making it
 * reads no private row and charges nothing.
 *
 * A unit coming or going moves every count by at most dp_readings_rows(), all
 * counts the same way; a unit replaced moves it by at most as much, too,
 * either way.  It is 1 where a unit has one row.  Where it may have many it is
 * T, how many of its rows count: of its c rows for which a predicate holds
 * min(c, T) count, for each predicate separately; in tables T of its rows
 * count, which are chosen anew whenever the reading runs, the same ones in all
 * tables (doc/theory.md T135, T136).
 */
typedef struct dp_reading
{
	Oid			relid;
	Oid			base;			/* the protected relation under relid */
	char	   *dataset;
	dp_ledger_standing standing;
	uint64		rows;			/* see dp_readings_rows */
	bool		many;			/* units may have many rows */
	int64		fingerprint;
	int64		ncounts;
	bool		weighted;		/* some are of weights, and rounded */
	struct dp_reading_plan *plan;	/* private to reading.c */
} dp_reading;

/* A table of counts over some axes, places of the last axis next to each
 * other: the cell of places p is sum of p[i] * product of later sizes. */
typedef struct dp_reading_table
{
	int			naxes;			/* 0: one cell, all rows */
	const int  *axes;			/* indexes into the axes given, ascending */
} dp_reading_table;

/*
 * One count for each text (char *), in their order: of the rows that a
 * predicate holds for, or of the rows that weights come to (T123).
 */
extern dp_reading *dp_readings_of_predicates(Oid relid, List *texts);
/*
 * The cells of each table one after the other.  A row outside of some axis of
 * a table is counted nowhere in that table.
 */
extern dp_reading *dp_readings_of_tables(Oid relid, int naxes,
										 dp_axis *const *axes, int ntables,
										 const dp_reading_table *tables);
/*
 * The same, but a row outside of some axis of any of the tables is counted
 * nowhere at all: so all tables have the same sum.
 */
extern dp_reading *dp_readings_of_whole_tables(Oid relid, int naxes,
											   dp_axis *const *axes,
											   int ntables,
											   const dp_reading_table *tables);

/*
 * How many rows of a unit count.  Errors: 22023 if they need a bound and
 * nobody says one; whatever is charged asks first.
 */
extern uint64 dp_readings_rows(const dp_reading *reading);
/*
 * Let `rows` rows of a unit count, whatever settings and declarations now say:
 * a session keeps the bound that it was opened with.  Nothing changes where
 * units have one row.
 */
extern void dp_readings_set_rows(dp_reading *reading, uint64 rows);
/* A sentence for NOTICEs, with two spaces before it; empty: one row. */
extern const char *dp_readings_rows_text(const dp_reading *reading);

/*
 * The use that a mechanism makes of the counts where they are read, by kind.
 * Only what `finish` gives the sink leaves that process, and the charge must
 * pay for all of it.
 *
 *	begin		from public data to a state, before anything is charged; may
 *				raise.  It takes all of the source, if there is one
 *	finish		draw from exact counts, after the charge; an error is masked
 */
typedef enum dp_use_kind
{
	DP_USE_NUMBER,				/* src/mechanisms/workload/noisy_rows.c */
	DP_USE_SPARSE_VECTOR,		/* src/mechanisms/sessions/sparse_vector.c */
	DP_USE_QUESTION,			/* src/mechanisms/sessions/session_store.c */
	DP_USE_SMALLDB,				/* src/mechanisms/tables/smalldb_release.c */
	DP_USE_NET,					/* src/mechanisms/tables/net.c */
	DP_USE_SYNTHESIZE,			/* src/mechanisms/tables/synthesize_run.c */
	DP_USE_ITERATE,				/* src/mechanisms/tables/iterate_run.c */
	DP_USES						/* how many there are */
} dp_use_kind;

typedef struct dp_use_methods
{
	void	   *(*begin) (const void *data, Size size, int64 ncounts,
						  dp_reader_source source, void *context);
	void		(*finish) (void *state, const int64 *counts,
						   dp_reader_sink sink, void *context);
} dp_use_methods;

/* From _PG_init in every process; the methods are static. */
extern void dp_readings_register(dp_use_kind kind,
								 const dp_use_methods *methods);

typedef struct dp_reading_use
{
	dp_use_kind kind;
	const void *data;			/* a struct of the kind's own, without
								 * pointers */
	Size		size;			/* of data */
	dp_reader_source source;	/* more for begin, or NULL */
	dp_reader_charge charge;
	dp_reader_sink sink;		/* of what finish releases */
	void	   *context;		/* of these three */
} dp_reading_use;

/*
 * Prepare, charge, read, and give the counts to the use.  The caller vouches
 * that when `charge` returns a durable charge covers everything that finish
 * releases.  An error before `charge` is called depends on nothing private.
 * Charge, source and sink are called in memory that is freed when it returns.
 */
extern void dp_readings_run(dp_reading *reading, const dp_reading_use *use);

/*
 * Read the public rows that the relation joins, and raise what dp_readings_run
 * would refuse in them: for callers that charge long before they read.
 */
extern void dp_readings_check_joined(const dp_reading *reading);

struct dp_reading_plan
{
	dp_block   *block;
	dp_condition_counting *counting;	/* of predicates; else NULL and */
	Const	   *spec;			/* of the tables */
	List	   *columns;
	List	   *conditions;		/* units with many rows: as counting, which is
								 * then NULL */
};

#endif							/* DP_READINGS_H */
