/*
 * explain.c
 *	  EXPLAIN: what a release would return and cost, before anything is spent.
 *
 * Everything shown is public: it follows from the query's text, the catalog
 * and the asking role's own budget, never from rows.  Floating point is used
 * for display only.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "run.h"

/*
 * An exact epsilon in short form; a share of a divided one keeps all digits.
 */
static char *
epsilon_text(const char *exact)
{
	dp_fixed	epsilon;

	if (dp_bridge_numeric_to_fixed(dp_bridge_text_to_numeric(exact),
								   DP_ROUND_UP, &epsilon) != DP_NUMBER_OK)
		return pstrdup(exact);
	return dp_bridge_epsilon_text(epsilon, DP_ROUND_UP);
}

static void
explain_value(const dp_description *d, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Released",
							psprintf("%s: %s, epsilon %s, delta %s, rho %s, "
									 "sensitivity %s, scale %s, 95%% error %s",
									 d->name, d->mechanism,
									 epsilon_text(d->epsilon), d->delta,
									 d->rho, d->sensitivity, d->scale,
									 d->error), es);
		return;
	}
	ExplainOpenGroup("Released Value", NULL, true, es);
	ExplainPropertyText("Value", d->name, es);
	ExplainPropertyText("Mechanism", d->mechanism, es);
	ExplainPropertyText("Epsilon", d->epsilon, es);
	ExplainPropertyText("Delta", d->delta, es);
	ExplainPropertyText("Rho", d->rho, es);
	ExplainPropertyText("Sensitivity", d->sensitivity, es);
	ExplainPropertyText("Scale", d->scale, es);
	ExplainPropertyText("Error 95%", d->error, es);
	ExplainCloseGroup("Released Value", NULL, true, es);
}

static char *
charge_text(const dp_charge *charge)
{
	return psprintf("epsilon %s, delta %s, rho %.6g",
					dp_bridge_epsilon_text(charge->epsilon, DP_ROUND_UP),
					dp_bridge_delta_text(charge->delta, DP_ROUND_UP),
					dp_acct_fixed_approx(charge->rho));
}

static char *
remaining_text(dp_fixed limit, dp_fixed spent, dp_fixed charge)
{
	dp_fixed	after = dp_acct_fixed_add(spent, charge);

	return dp_bridge_delta_text(dp_acct_fixed_left(limit, after),
								DP_ROUND_DOWN);
}

/*
 * What remains of the limit after the charge: the largest epsilon of one more
 * query, or rho if the query has no pure epsilon.
 */
static char *
remainder_text(const dp_limit *limit, const dp_spent *spent,
			   const dp_charge *charge, bool pure)
{
	dp_fixed	rho = dp_acct_fixed_add(spent->rho, charge->rho);
	dp_spent	after = *spent;

	if (!pure && limit->rho > 0)
		return psprintf("rho %s",
						dp_bridge_epsilon_text(dp_acct_fixed_left(limit->rho,
																  rho),
											   DP_ROUND_DOWN));
	if (dp_acct_spent_add(&after, charge) != DP_OK)
		return pstrdup("epsilon 0");
	return psprintf("epsilon %s",
					dp_bridge_epsilon_text(dp_ledger_remaining(limit, &after),
										   DP_ROUND_DOWN));
}

/* How often a query of this price would still be admitted after a charge. */
static int64
calls_after(const dp_limit *limit, const dp_spent *spent,
			const dp_charge *charge, const dp_charge *price)
{
	dp_spent	after = *spent;

	if (dp_acct_spent_add(&after, charge) != DP_OK)
		return 0;
	return dp_acct_limit_calls(limit, &after, price);
}

/* What remains where it does not suffice for the charge. */
static char *
lacking_text(const dp_limit *limit, const dp_spent *spent,
			 const dp_charge *charge, bool pure)
{
	const dp_charge none = {0};
	dp_charge	without = *charge;
	char	   *delta = remaining_text(limit->delta_sum, spent->delta, 0);
	char	   *other = remainder_text(limit, spent, &none, pure);

	if (dp_acct_fixed_add(spent->delta, charge->delta) <= limit->delta_sum)
		return psprintf("%s remains", other);
	without.delta = 0;
	if (dp_acct_limit_calls(limit, spent, &without) > 0)
		return psprintf("delta %s remains", delta);
	return psprintf("%s and delta %s remain", other, delta);
}

static char *
batch_text(const dp_ledger_preview *preview)
{
	if (preview->batch_used >= preview->batch_queries)
		return psprintf("batch " INT64_FORMAT " is used up, the query would "
						"be refused", preview->batch);
	return psprintf("batch " INT64_FORMAT " has paid for it; %d of %d "
					"queries remain", preview->batch,
					preview->batch_queries - preview->batch_used,
					preview->batch_queries);
}

/* What remains of the budget: after this charge, or if `charged`, now. */
static char *
budget_text(const dp_release_spec *spec, dp_ledger_standing *standing,
			bool charged)
{
	const dp_charge none = {0};
	bool		pure = spec->charge.epsilon != DP_FIXED_INFINITE;
	dp_ledger_request request;
	dp_ledger_preview preview;
	dp_limit   *limit = &standing->limit;
	dp_spent   *spent = &standing->spent;
	StringInfoData text;
	const dp_charge *charge = &preview.charged;
	int64		calls;

	dp_run_request(spec, &request);
	dp_ledger_read_preview(&request, &preview);
	if (!standing->found)
		return pstrdup("none");
	if (!charged && preview.batch != 0)
		return batch_text(&preview);
	if (standing->exempt)
		return pstrdup("exempt from limits, recorded");
	initStringInfo(&text);
	calls = dp_acct_limit_calls(limit, spent, charge);
	if (standing->capped &&
		dp_acct_limit_calls(&standing->cap, &standing->cap_spent, charge) <
		calls)
	{
		appendStringInfo(&text, "cap of the dataset: ");
		limit = &standing->cap;
		spent = &standing->cap_spent;
		standing->renews = false;
		calls = dp_acct_limit_calls(limit, spent, charge);
	}
	else
		appendStringInfo(&text, "of %s: ", NameStr(standing->payer));
	if (!charged && calls == 0)
		appendStringInfo(&text, "not enough (%s)",
						 lacking_text(limit, spent, charge, pure));
	else
		appendStringInfo(&text, "%s %s, delta %s and %s" INT64_FORMAT
						 " queries like this remain",
						 charged ? "now" : "after it",
						 remainder_text(limit, spent,
										charged ? &none : charge, pure),
						 remaining_text(limit->delta_sum, spent->delta,
										charged ? 0 : charge->delta),
						 spec->part.partition != 0 ? "at least " : "",
						 calls_after(limit, spent, charged ? &none : charge,
									 &spec->charge));
	if (standing->renews)
		appendStringInfo(&text, ", renews %s",
						 timestamptz_to_str(standing->renewal));
	return text.data;
}

/*
 * The plan of a query that runs before the release and is charged separately;
 * releases in it are described there.  It is not executed, except with
 * ANALYZE: PostgreSQL reads counters of some nodes (index-only scans, for one)
 * without checking that there are any.  Returns the estimated number of its
 * rows.
 */
static double
explain_before(const dp_block *block, Query *subquery, const char *label,
			   const char *text, EState *estate, ExplainState *es)
{
	ExplainState outer = *es;
	PlannedStmt *plan;
	QueryDesc  *desc;
	double		rows;

	plan = dp_run_plan_subquery(block, subquery,
									estate->es_param_list_info);
	desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT, GetActiveSnapshot(),
						   InvalidSnapshot, None_Receiver,
						   estate->es_param_list_info, estate->es_queryEnv,
						   es->analyze ? INSTRUMENT_ROWS : 0);
	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY |
				  (estate->es_top_eflags & DP_COMPAT_NO_VALUES));
	ExplainOpenGroup(label, label, true, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(label, text, es);
		es->indent++;
	}
	ExplainPrintPlan(es, desc);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
	ExplainCloseGroup(label, label, true, es);
	es->pstmt = outer.pstmt;
	es->rtable = outer.rtable;
	es->rtable_names = outer.rtable_names;
	es->deparse_cxt = outer.deparse_cxt;
	es->printed_subplans = outer.printed_subplans;
	rows = plan->planTree->plan_rows;
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	return rows;
}

/*
 * The planner's estimate of how many rows of a public source a private row is
 * joined with: all rows, divided by the number of distinct values of the
 * columns that are equated (fanout.c counts them when the query runs).
 */
static double
estimate_fanout(const dp_block *block, const dp_joined *source, double rows,
				EState *estate)
{
	Query	   *distinct;
	PlannedStmt *plan;

	if (source->asked)
		return 1;
	if (source->keys == NIL)
		return clamp_row_est(rows);
	distinct = dp_block_distinct_columns(source->query, source->keys);
	plan = dp_run_plan_subquery(block, distinct, estate->es_param_list_info);
	return Max(1, rows / clamp_row_est(plan->planTree->plan_rows));
}

/* The queries that run before the release, each with its plan. */
static void
explain_all_before(const dp_block *block, EState *estate, ExplainState *es)
{
	double		fanout = 1;
	ListCell   *lc;

	foreach(lc, block->subqueries)
		explain_before(block, lfirst(lc), "Subquery Before",
					   "charged by itself", estate, es);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		bool		charged;
		double		rows;

		if (OidIsValid(source->relid) || source->twin != 0)
			continue;
		charged = dp_catalog_has_aggregate((Node *) source->query);
		rows = explain_before(block, source->query, "Joined",
							  charged ? "read before, charged by itself" :
							  "read before", estate, es);
		if (es->costs)
			fanout *= estimate_fanout(block, source, rows, estate);
	}
	if (es->costs && rint(fanout) > 1)
		ExplainPropertyText("Joined Rows",
							psprintf("about %.0f of each private row",
									 fanout), es);
}

/* The bound on the contribution of a unit with many rows. */
static char *
bound_text(const dp_release_spec *spec)
{
	char	   *rows = psprintf("at most " INT64_FORMAT " row%s of a unit",
								spec->max_rows,
								spec->max_rows == 1 ? "" : "s");

	if (spec->nkeys == 0)
		return rows;
	return psprintf("%s in each of at most " INT64_FORMAT " group%s%s", rows,
					spec->max_keys, spec->max_keys == 1 ? "" : "s",
					spec->undeclared && spec->max_keys > 1 ?
					", and no more than are released" : "");
}

/* The protected relations that are read, each once. */
static char *
relations_text(const dp_block *block)
{
	List	   *named = NIL;
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, block->relids)
	{
		Oid			relid = lfirst_oid(lc);

		if (!OidIsValid(relid) || list_member_oid(named, relid))
			continue;
		appendStringInfo(&text, "%s%s", named == NIL ? "" : ", ",
						 get_rel_name(relid));
		named = lappend_oid(named, relid);
	}
	return text.data;
}

/* From how many units on an undeclared key is likely to be released. */
static char *
decision_text(const dp_key_law *law)
{
	return psprintf("released with probability 5%% from " UINT64_FORMAT
					" units, 50%% from " UINT64_FORMAT ", 95%% from "
					UINT64_FORMAT ", certainly from " UINT64_FORMAT,
					dp_mech_key_units(law, 0.05), dp_mech_key_units(law, 0.5),
					dp_mech_key_units(law, 0.95), 2 * law->threshold + 1);
}

/* The age of the stored answer that is returned. */
static char *
answer_text(TimestampTz stored_at)
{
	int64		age = (GetCurrentTimestamp() - stored_at) / USECS_PER_SEC;
	const char *unit = "second";

	if (age >= 2 * SECS_PER_HOUR)
	{
		age /= SECS_PER_HOUR;
		unit = "hour";
	}
	else if (age >= 2 * SECS_PER_MINUTE)
	{
		age /= SECS_PER_MINUTE;
		unit = "minute";
	}
	return psprintf("stored " INT64_FORMAT " %s%s ago, no charge", age, unit,
					age == 1 ? "" : "s");
}

/*
 * dp_run_explain
 *	  Add a release to EXPLAIN's output; stored_at 0: no stored answer is
 *	  known.  Charges nothing and reads no row.
 */
void
dp_run_explain(const dp_release_spec *spec, bool charged,
			   TimestampTz stored_at, EState *estate, ExplainState *es)
{
	char	   *large = dp_run_large_text(spec);
	dp_ledger_standing standing;
	int			i;

	ExplainPropertyText("Dataset", spec->block->dataset, es);
	ExplainPropertyText("Private Relation", relations_text(spec->block), es);
	ExplainOpenGroup("Released Values", "Released Values", false, es);
	for (i = 0; i < dp_run_count_values(spec); i++)
	{
		dp_description d = dp_run_describe(spec, i);

		explain_value(&d, es);
	}
	ExplainCloseGroup("Released Values", "Released Values", false, es);
	ExplainPropertyText("Public Groups", spec->undeclared ?
						psprintf(INT64_FORMAT " for each %s that is released",
								 spec->groups, large != NULL ? "key" :
								 "undeclared key") :
						psprintf(INT64_FORMAT, spec->groups), es);
	if (large != NULL)
		ExplainPropertyText("Large Keys", large, es);
	if (spec->undeclared)
		ExplainPropertyText(large != NULL ? "Keys" : "Undeclared Keys",
							decision_text(&spec->decision.law), es);
	if (spec->block->size > 0)
		ExplainPropertyText("Groups Left Out",
							"where the noisy number of rows cannot be told "
							"from none", es);
	if (spec->block->key_conditions != NIL)
		ExplainPropertyText("Combinations Left Out",
							"those that WHERE excludes", es);
	if (spec->many)
		ExplainPropertyText("Contribution Bound", bound_text(spec), es);
	if (dp_run_disjoint_text(spec) != NULL)
		ExplainPropertyText("Disjoint", dp_run_disjoint_text(spec), es);
	if (dp_measure_cost_text(spec) != NULL)
		ExplainPropertyText("Evaluated for Every Row",
							dp_measure_cost_text(spec), es);
	if (dp_run_is_free(spec))
	{
		ExplainPropertyText("Charge", "none: no private row is read", es);
		return;
	}
	if (stored_at != 0)
		ExplainPropertyText("Answer", answer_text(stored_at), es);
	else
		ExplainPropertyText("Charge", charge_text(&spec->charge), es);
	if (spec->part.partition != 0 &&
		dp_protect_declare_is_guarded(spec->block->relid,
									  spec->block->part_attnum,
									  ActiveSnapshotSet() ?
									  GetActiveSnapshot() : NULL))
		ExplainPropertyText("Part",
							psprintf("one value of column %s; all of them "
									 "together cost what the costliest costs",
									 get_attname(spec->block->relid,
												 spec->block->part_attnum,
												 false)), es);
	/* auto_explain may call this after the query, without a snapshot */
	if (!ActiveSnapshotSet())
		return;
	dp_ledger_read_standing(spec->block->dataset, &standing);
	ExplainPropertyText("Budget", budget_text(spec, &standing,
											  charged || stored_at != 0), es);
	if (charged || (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		explain_all_before(spec->block, estate, es);
}
