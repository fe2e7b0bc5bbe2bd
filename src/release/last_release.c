/*
 * last_release.c
 *	  dp_last_release(): what the last private query of the session released.
 *
 * The record lives in a context of its own under TopMemoryContext and is
 * replaced by every charge.  It holds public quantities only.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "release.h"

#define COLUMNS 11

typedef struct last_release
{
	int64		ledger_id;
	TimestampTz at;
	Oid			user;			/* who asked; nobody else sees it */
	char	   *dataset;
	int			n;
	dp_description *values;
} last_release;

static MemoryContext last_context = NULL;
static last_release *last = NULL;

static dp_description
copy_description(dp_description d)
{
	dp_description copy;

	copy.name = pstrdup(d.name);
	copy.mechanism = pstrdup(d.mechanism);
	copy.epsilon = pstrdup(d.epsilon);
	copy.delta = pstrdup(d.delta);
	copy.rho = pstrdup(d.rho);
	copy.sensitivity = pstrdup(d.sensitivity);
	copy.scale = pstrdup(d.scale);
	copy.error = pstrdup(d.error);
	return copy;
}

/* dp_release_remember: replace the session's record. */
void
dp_release_remember(const dp_release_spec *spec,
					const dp_ledger_receipt *receipt)
{
	MemoryContext old;
	int			i;

	last = NULL;
	if (last_context == NULL)
		last_context = AllocSetContextCreate(TopMemoryContext,
											 "dp_pg last release",
											 ALLOCSET_SMALL_SIZES);
	MemoryContextReset(last_context);
	old = MemoryContextSwitchTo(last_context);
	last = palloc0(sizeof(last_release));
	last->ledger_id = receipt->ledger_id;
	last->at = GetCurrentTimestamp();
	last->user = GetUserId();
	last->dataset = pstrdup(spec->block->dataset);
	last->n = spec->nmeasures;
	last->values = palloc(sizeof(dp_description) * Max(last->n, 1));
	for (i = 0; i < last->n; i++)
		last->values[i] = copy_description(dp_release_describe(spec, i));
	MemoryContextSwitchTo(old);
}

static Datum
numeric_text(const char *text)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text),
							   ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

PG_FUNCTION_INFO_V1(dp_last_release);

/*
 * dp_last_release
 *	  SQL: setof (ledger_id, at, dataset, value, mechanism, epsilon, delta,
 *	  rho, sensitivity, scale, error_95); no rows before the first release.
 */
Datum
dp_last_release(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; last != NULL && last->user == GetUserId() && i < last->n; i++)
	{
		Datum		values[COLUMNS];
		bool		nulls[COLUMNS] = {false};
		const dp_description *d = &last->values[i];

		values[0] = Int64GetDatum(last->ledger_id);
		values[1] = TimestampTzGetDatum(last->at);
		values[2] = CStringGetTextDatum(last->dataset);
		values[3] = CStringGetTextDatum(d->name);
		values[4] = CStringGetTextDatum(d->mechanism);
		values[5] = numeric_text(d->epsilon);
		values[6] = numeric_text(d->delta);
		values[7] = numeric_text(d->rho);
		values[8] = CStringGetTextDatum(d->sensitivity);
		values[9] = CStringGetTextDatum(d->scale);
		values[10] = CStringGetTextDatum(d->error);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}
