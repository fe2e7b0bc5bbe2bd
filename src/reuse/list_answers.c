/*
 * list_answers.c
 *	  dp_pg.list_answers(): public facts about the stored answers that concern
 *	  the current user.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "answers.h"

#define COLUMNS 9

static void
put_answer(ReturnSetInfo *result, dp_answer_row *row)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	dp_reuse_recent_hits(row);
	values[0] = Int64GetDatum(row->id);
	values[1] = NameGetDatum(&row->dataset);
	values[2] = NameGetDatum(&row->payer_name);
	values[3] = NameGetDatum(&row->role_name);
	values[4] = TimestampTzGetDatum(row->at);
	values[5] = Int64GetDatum(row->rows);
	values[6] = Int64GetDatum(row->bytes);
	values[7] = Int64GetDatum(row->hits);
	values[8] = TimestampTzGetDatum(row->last_hit);
	nulls[8] = row->last_hit == 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(dp_reuse_list_answers);

/*
 * dp_reuse_list_answers
 *	  SQL: setof (answer, dataset, payer, role, at, rows, bytes, hits,
 *	  last_hit) of answers paid for by roles whose rights the current user has,
 *	  and of datasets that the current user acts as owner of.
 */
Datum
dp_reuse_list_answers(PG_FUNCTION_ARGS)
{
	NameData   *names;
	int			n;
	int			i;

	dp_bridge_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	n = dp_catalog_list_datasets(&names);
	for (i = 0; i < n; i++)
	{
		bool		owns = dp_ledger_owns_dataset(GetUserId(),
												  NameStr(names[i]));
		ListCell   *lc;

		foreach(lc, dp_catalog_list_answers(NameStr(names[i])))
		{
			dp_answer_row *row = lfirst(lc);

			if (dp_reuse_is_of_here(row) &&
				(owns || has_privs_of_role(GetUserId(), row->payer)))
				put_answer((ReturnSetInfo *) fcinfo->resultinfo, row);
		}
	}
	return (Datum) 0;
}
