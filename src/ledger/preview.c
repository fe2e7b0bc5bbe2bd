/*
 * preview.c
 *	  What a request would be charged, by the latest committed rows.
 *
 * Decides as decide.c does, without locks or effects.  The caller compares the
 * charge with the limits.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "ledger.h"

/* What the maximum over the parts would grow by. */
static void
preview_part(const dp_ledger_request *request, const dp_budget_row *budget,
			 dp_charge *out)
{
	dp_part_row part;
	dp_part_row top;
	dp_spent	rise = {0};

	MemSet(&part, 0, sizeof(part));
	part.dataset = request->dataset;
	part.partition = request->part.partition;
	if (budget)
	{
		part.payer = budget->role;
		part.period = budget->period;
	}
	top = part;
	part.key = request->part.key;
	(void) dp_catalog_read_part(&part, DP_ROW_READ);
	(void) dp_catalog_read_part(&top, DP_ROW_READ);
	if (dp_acct_spent_add(&part.spent, &request->charge) != DP_OK ||
		dp_acct_spent_rise(&rise, &top.spent, &part.spent) != DP_OK)
		return;
	out->epsilon = rise.epsilon;
	out->rho = rise.rho;
	out->delta = rise.delta;
}

/* Whether the asker's batch has paid for the request. */
static bool
preview_batch(const dp_ledger_request *request, const dp_payer *payer,
			  const dp_budget_row *budget, dp_ledger_preview *out)
{
	dp_batch_row row;
	NameData	asking;

	dp_catalog_name_role(payer->asking, &asking);
	if (dp_catalog_read_batch(NameStr(request->dataset), payer->asking,
							  NameStr(asking), DP_ROW_READ,
							  &row) != DP_FOUND ||
		!dp_ledger_batch_is_alive(&row, payer, budget) ||
		!dp_ledger_batch_covers(&row, &request->charge))
		return false;
	out->batch = row.id;
	out->batch_queries = row.queries;
	out->batch_used = row.used;
	return true;
}

/*
 * dp_ledger_read_preview
 *	  What a plain request would be charged; see dp_ledger.h.
 */
void
dp_ledger_read_preview(const dp_ledger_request *request,
					   dp_ledger_preview *out)
{
	dp_dataset_row dataset;
	dp_payer	payer;
	dp_budget_row *budget = NULL;

	MemSet(out, 0, sizeof(*out));
	out->charged = request->charge;
	if (dp_catalog_read_dataset(NameStr(request->dataset), DP_ROW_READ,
								&dataset) != DP_FOUND)
		return;
	dp_ledger_payer_find(&dataset, GetOuterUserId(), GetUserId(), DP_ROW_READ,
						 &payer);
	out->found = payer.outcome == DP_OUTCOME_ADMITTED &&
		(payer.exempt || payer.found == DP_FOUND);
	if (!out->found)
		return;
	if (!payer.exempt)
	{
		budget = &payer.budget;
		budget->role = payer.role;
		dp_ledger_roll(budget, GetCurrentTimestamp());
	}
	if (preview_batch(request, &payer, budget, out))
		MemSet(&out->charged, 0, sizeof(out->charged));
	else if (request->part.partition != 0 && !dataset.replace_one)
		preview_part(request, budget, &out->charged);
}
