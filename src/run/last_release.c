/*
 * last_release.c
 *	  dp_last_release(): what the last statement of the connection released.
 *
 * Every release of one statement that the client sent is remembered, at most
 * KEPT of them, each in a context of its own under TopMemoryContext.  The
 * record holds public quantities only.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "run.h"

#define COLUMNS 12
#define KEPT 100

struct dp_past_release
{
	MemoryContext context;		/* holds this struct and all below */
	int64		ledger_id;
	TimestampTz at;
	Oid			user;			/* that asked; no other sees it */
	char	   *dataset;
	int			nrelations;
	Oid		   *relations;		/* that were read */
	int			n;
	dp_description *values;
};

/* Releases of the statement that began at last_statement, oldest first. */
static dp_past_release *kept[KEPT];
static int	kept_count = 0;
static TimestampTz last_statement = 0;

static void
forget_oldest(int n)
{
	int			i;

	for (i = 0; i < n; i++)
		MemoryContextDelete(kept[i]->context);
	kept_count -= n;
	memmove(kept, kept + n, sizeof(kept[0]) * kept_count);
}

static dp_description
copy_description(const dp_description *d)
{
	dp_description copy;

	copy.name = pstrdup(d->name);
	copy.mechanism = pstrdup(d->mechanism);
	copy.epsilon = pstrdup(d->epsilon);
	copy.delta = pstrdup(d->delta);
	copy.rho = pstrdup(d->rho);
	copy.sensitivity = pstrdup(d->sensitivity);
	copy.scale = pstrdup(d->scale);
	copy.error = pstrdup(d->error);
	return copy;
}

/* The protected relations that were read. */
static void
remember_relations(dp_past_release *past, const List *relids)
{
	ListCell   *lc;

	past->relations = palloc(sizeof(Oid) * Max(list_length(relids), 1));
	foreach(lc, relids)
		if (OidIsValid(lfirst_oid(lc)))
			past->relations[past->nrelations++] = lfirst_oid(lc);
}

/* Forget what earlier statements released, and make room for one more. */
static void
make_room(void)
{
	if (last_statement != GetCurrentStatementStartTimestamp())
		forget_oldest(kept_count);
	else if (kept_count == KEPT)
		forget_oldest(1);
	last_statement = GetCurrentStatementStartTimestamp();
}

/* A context for one release; after an error it is deleted with its parent. */
static MemoryContext
make_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "dp_pg past release",
								 ALLOCSET_SMALL_SIZES);
}

static void
add_past(dp_past_release *past, MemoryContext context)
{
	past->context = context;
	MemoryContextSetParent(context, TopMemoryContext);
	kept[kept_count++] = past;
}

/* dp_run_remember: add a release to those of the current statement. */
void
dp_run_remember(const dp_release_spec *spec,
					const dp_ledger_receipt *receipt)
{
	MemoryContext context;
	MemoryContext old;
	dp_past_release *past;
	int			i;

	make_room();
	context = make_context();
	old = MemoryContextSwitchTo(context);
	past = palloc0(sizeof(dp_past_release));
	past->ledger_id = receipt->ledger_id;
	past->at = GetCurrentTimestamp();
	past->user = GetUserId();
	past->dataset = pstrdup(spec->block->dataset);
	remember_relations(past, list_union_oid(NIL, spec->block->relids));
	past->n = dp_run_count_values(spec);
	past->values = palloc(sizeof(dp_description) * Max(past->n, 1));
	MemoryContextSwitchTo(old);
	for (i = 0; i < past->n; i++)
	{
		dp_description d = dp_run_describe(spec, i);

		MemoryContextSwitchTo(context);
		past->values[i] = copy_description(&d);
		MemoryContextSwitchTo(old);
	}
	add_past(past, context);
}

/* Copy everything but its context, into the current one. */
static dp_past_release *
copy_past(const dp_past_release *past)
{
	dp_past_release *copy = palloc(sizeof(dp_past_release));
	int			i;

	*copy = *past;
	copy->context = NULL;
	copy->dataset = pstrdup(past->dataset);
	copy->relations = palloc(sizeof(Oid) * Max(past->nrelations, 1));
	memcpy(copy->relations, past->relations,
		   sizeof(Oid) * past->nrelations);
	copy->values = palloc(sizeof(dp_description) * Max(past->n, 1));
	for (i = 0; i < past->n; i++)
		copy->values[i] = copy_description(&past->values[i]);
	return copy;
}

/*
 * dp_run_copy_past: a copy of the release added last, in the current context.
 */
dp_past_release *
dp_run_copy_past(int64 *ledger_id)
{
	const dp_past_release *last = kept[kept_count - 1];

	*ledger_id = last->ledger_id;
	return copy_past(last);
}

/*
 * dp_run_remember_past
 *	  Add such a copy as a release of now, with the ID of its charge.
 */
void
dp_run_remember_past(const dp_past_release *past, int64 ledger_id)
{
	MemoryContext context;
	MemoryContext old;
	dp_past_release *copy;

	make_room();
	context = make_context();
	old = MemoryContextSwitchTo(context);
	copy = copy_past(past);
	MemoryContextSwitchTo(old);
	copy->at = GetCurrentTimestamp();
	copy->ledger_id = ledger_id;
	add_past(copy, context);
}

static Datum
numeric_text(const char *text)
{
	return NumericGetDatum(dp_bridge_text_to_numeric(text));
}

/* regclass[]: these relations, each with the view published of it. */
static Datum
show_relations(const dp_past_release *past)
{
	Datum	   *shown = palloc(sizeof(Datum) * (2 * past->nrelations + 1));
	int			n = 0;
	int			i;

	for (i = 0; i < past->nrelations; i++)
	{
		Oid			view = dp_protect_published_view(past->relations[i]);

		shown[n++] = ObjectIdGetDatum(past->relations[i]);
		if (OidIsValid(view))
			shown[n++] = ObjectIdGetDatum(view);
	}
	return PointerGetDatum(construct_array(shown, n, REGCLASSOID, sizeof(Oid),
										   true, TYPALIGN_INT));
}

static void
put_release(ReturnSetInfo *result, const dp_past_release *past)
{
	Datum		relations = show_relations(past);
	int			i;

	for (i = 0; i < past->n; i++)
	{
		Datum		values[COLUMNS];
		bool		nulls[COLUMNS] = {false};
		const dp_description *d = &past->values[i];

		values[0] = Int64GetDatum(past->ledger_id);
		values[1] = TimestampTzGetDatum(past->at);
		values[2] = CStringGetTextDatum(past->dataset);
		values[3] = CStringGetTextDatum(d->name);
		values[4] = CStringGetTextDatum(d->mechanism);
		values[5] = numeric_text(d->epsilon);
		values[6] = numeric_text(d->delta);
		values[7] = numeric_text(d->rho);
		values[8] = CStringGetTextDatum(d->sensitivity);
		values[9] = CStringGetTextDatum(d->scale);
		values[10] = CStringGetTextDatum(d->error);
		values[11] = relations;
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
}

PG_FUNCTION_INFO_V1(dp_last_release);

/*
 * dp_last_release
 *	  SQL: setof (ledger_id, at, dataset, value, mechanism, epsilon, delta,
 *	  rho, sensitivity, scale, error_95, relations), in the order of the
 *	  charges; no rows before the first release.
 */
Datum
dp_last_release(PG_FUNCTION_ARGS)
{
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < kept_count; i++)
		if (kept[i]->user == GetUserId())
			put_release((ReturnSetInfo *) fcinfo->resultinfo, kept[i]);
	return (Datum) 0;
}
