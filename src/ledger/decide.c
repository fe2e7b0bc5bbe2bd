/*
 * decide.c
 *	  Decide which requests of a group are charged, and how much.
 *
 * The worker calls dp_ledger_decide within a transaction.  Requests are
 * decided in order, against sums in memory; at the end of the group every
 * changed row is written once.
 *
 * A plain charge is added to the sums of the payer's budget and of the
 * dataset.  A query that a batch has paid for adds only a line.  A charge for
 * a part of a partition adds the increase of the largest part, which can
 * differ between the two sums, since other roles may have asked about other
 * parts.  doc/ledger.md has the proofs.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* A dataset that requests of the group charge. */
typedef struct dp_group_dataset
{
	NameData	name;
	dp_found	found;
	bool		changed;
	dp_dataset_row row;
} dp_group_dataset;

/* A budget that requests spend from. */
typedef struct dp_group_budget
{
	bool		locked;			/* by somebody else */
	bool		changed;
	dp_budget_row row;
} dp_group_budget;

/* The batch of a role on a dataset, or the fact that it has none. */
typedef struct dp_group_batch
{
	NameData	dataset;
	Oid			role;
	dp_found	found;
	bool		changed;
	dp_batch_row row;
} dp_group_batch;

/* Sums of a part, or the maximum over all parts. */
typedef struct dp_group_part
{
	bool		locked;			/* by somebody else */
	bool		changed;
	dp_part_row row;
} dp_group_part;

/* ----------------
 *		The rows that a group of requests needs.
 *
 * Each row is read and locked when a request first needs it, kept in memory
 * while the requests are decided, and written once at the end.
 * ----------------
 */

/* Static, as 128-bit integers may need more alignment than palloc gives. */
static dp_payer payers[DP_LEDGER_BATCH];
static bool payer_known[DP_LEDGER_BATCH];
static dp_group_dataset datasets[DP_LEDGER_BATCH];
static int	dataset_count;
static dp_group_budget budgets[DP_LEDGER_BATCH];
static int	budget_count;
static dp_group_batch batches[DP_LEDGER_BATCH];
static int	batch_count;
static dp_group_part parts[4 * DP_LEDGER_BATCH];
static int	part_count;

/* group_load_dataset: a dataset by name; its row may be locked. */
static dp_group_dataset *
group_load_dataset(const char *name)
{
	dp_group_dataset *d;
	int			i;

	for (i = 0; i < dataset_count; i++)
		if (strcmp(NameStr(datasets[i].name), name) == 0)
			return &datasets[i];
	d = &datasets[dataset_count++];
	namestrcpy(&d->name, name);
	d->changed = false;
	d->found = dp_catalog_read_dataset(name, DP_ROW_SKIP_LOCKED, &d->row);
	return d;
}

/*
 * group_load_payer
 *	  The payer of request i, found once per dataset and pair of user IDs.
 */
static dp_payer *
group_load_payer(dp_slot **slots, int i, const dp_group_dataset *d)
{
	int			j;

	payer_known[i] = true;
	for (j = 0; j < i; j++)
		if (payer_known[j] && slots[j]->outer == slots[i]->outer &&
			slots[j]->current == slots[i]->current &&
			strcmp(NameStr(slots[j]->request.dataset),
				   NameStr(d->name)) == 0)
		{
			payers[i] = payers[j];
			return &payers[i];
		}
	dp_ledger_payer_find(&d->row, slots[i]->outer, slots[i]->current,
						 DP_ROW_SKIP_LOCKED, &payers[i]);
	return &payers[i];
}

/*
 * group_load_budget
 *	  The payer's budget: locked, rolled to the current period, with its
 *	  current identity.  The row in `payer` is used only the first time; later
 *	  the sums in memory have grown.
 */
static dp_group_budget *
group_load_budget(const dp_group_dataset *d, const dp_payer *payer,
				  TimestampTz now)
{
	dp_group_budget *b;
	int			i;

	for (i = 0; i < budget_count; i++)
		if (budgets[i].row.role == payer->role &&
			strcmp(NameStr(budgets[i].row.dataset),
				   NameStr(d->name)) == 0)
			return &budgets[i];
	b = &budgets[budget_count++];
	b->changed = false;
	b->locked = payer->found != DP_FOUND;
	b->row = payer->budget;
	b->row.dataset = d->name;
	b->row.role = payer->role;
	b->row.role_name = payer->name;
	b->row.cluster = dp_base_cluster_id();
	if (!b->locked)
		dp_ledger_roll(&b->row, now);
	return b;
}

/*
 * group_load_batch: a role's batch, unless closed before the group.
 */
static dp_group_batch *
group_load_batch(const dp_group_dataset *d, Oid role,
				 const char *role_name)
{
	dp_group_batch *g;
	int			i;

	for (i = 0; i < batch_count; i++)
		if (batches[i].role == role &&
			strcmp(NameStr(batches[i].dataset), NameStr(d->name)) == 0)
			return &batches[i];
	g = &batches[batch_count++];
	g->dataset = d->name;
	g->role = role;
	g->changed = false;
	g->found = dp_catalog_read_batch(NameStr(d->name), role, role_name,
									 DP_ROW_SKIP_LOCKED, &g->row);
	return g;
}

/*
 * group_load_part
 *	  Sums of a part; an empty key means the maximum over the parts.
 */
static dp_group_part *
group_load_part(const dp_group_dataset *d, Oid payer, int64 period,
				int64 partition, const char *key)
{
	dp_group_part *p;
	int			i;

	for (i = 0; i < part_count; i++)
		if (parts[i].row.partition == partition &&
			parts[i].row.payer == payer &&
			strcmp(NameStr(parts[i].row.key), key) == 0 &&
			strcmp(NameStr(parts[i].row.dataset), NameStr(d->name)) == 0)
			return &parts[i];
	p = &parts[part_count++];
	MemSet(p, 0, sizeof(*p));
	p->row.dataset = d->name;
	p->row.payer = payer;
	p->row.period = period;
	p->row.partition = partition;
	namestrcpy(&p->row.key, key);
	p->locked = dp_catalog_read_part(&p->row, DP_ROW_SKIP_LOCKED) ==
		DP_LOCKED;
	return p;
}

/* group_begin: forget the rows of the previous group. */
static void
group_begin(void)
{
	dataset_count = 0;
	budget_count = 0;
	batch_count = 0;
	part_count = 0;
	MemSet(payer_known, 0, sizeof(payer_known));
}

/* group_write: write the rows that the group has changed. */
static void
group_write(void)
{
	int			i;

	for (i = 0; i < budget_count; i++)
		if (budgets[i].changed)
			dp_catalog_write_budget(&budgets[i].row, DP_BUDGET_TOTAL);
	for (i = 0; i < dataset_count; i++)
		if (datasets[i].changed)
			dp_catalog_write_dataset(&datasets[i].row, DP_DATASET_SPENT);
	for (i = 0; i < batch_count; i++)
		if (batches[i].changed)
			dp_catalog_write_batch(&batches[i].row);
	for (i = 0; i < part_count; i++)
		if (parts[i].changed)
			dp_catalog_write_part(&parts[i].row);
}

/* Sums that a request is added to, the payer's or the dataset's. */
typedef struct target
{
	dp_spent   *sums;
	dp_spent	cost;			/* what they grow by */
	dp_group_part *part;			/* NULL: not a charge for a part */
	dp_group_part *top;			/* the maximum over the parts */
} target;

/* Static, as 128-bit integers may need more alignment than palloc gives. */
static dp_ledger_line lines[DP_LEDGER_BATCH];

/* Raise an error if a sum overflowed. */
static void
check_sum(dp_status status)
{
	if (status != DP_OK)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a sum of charges is too large")));
}

/*
 * The charge of a request as sums.  For a batch the squares of its queries'
 * epsilons are added up, which is less than the square of the sum.
 */
static dp_spent
sums_of(const dp_ledger_request *request)
{
	dp_spent	sums = {0};
	dp_fixed	nothing;

	check_sum(dp_accounting_spent_add(&sums, &request->charge));
	if (request->action == DP_LEDGER_OPEN_BATCH &&
		dp_accounting_sum_basic(dp_accounting_square(request->batch.epsilon),
								0, request->batch.queries, &sums.squares,
								&nothing) != DP_OK)
		sums.squares = DP_FIXED_INFINITE;
	return sums;
}

/*
 * What a request would add to the sums of a budget (payer) or dataset
 * (InvalidOid).  Returns false if another transaction has locked a part.
 */
static bool
compute_cost(target *t, const dp_ledger_request *request,
			 const dp_group_dataset *d, Oid payer, int64 period,
			 dp_spent *sums)
{
	int64		partition = request->part.partition;
	dp_spent	after;

	MemSet(t, 0, sizeof(*t));
	t->sums = sums;
	t->cost = sums_of(request);
	if (partition == 0 || d->row.replace_one)
		return true;
	t->part = group_load_part(d, payer, period, partition,
							  NameStr(request->part.key));
	t->top = group_load_part(d, payer, period, partition, "");
	if (t->part->locked || t->top->locked)
		return false;
	after = t->part->row.spent;
	check_sum(dp_accounting_spent_sum(&after, &t->cost));
	MemSet(&t->cost, 0, sizeof(t->cost));
	check_sum(dp_accounting_spent_rise(&t->cost, &t->top->row.spent, &after));
	return true;
}

/* Whether another request follows, which must be admitted, too. */
static bool
has_next(const dp_ledger_request *request)
{
	return request->also.epsilon > 0 || request->also.rho > 0;
}

static bool
admits(const target *t, const dp_ledger_request *request,
	   const dp_limit *limit)
{
	dp_spent	after = *t->sums;

	return dp_accounting_spent_sum(&after, &t->cost) == DP_OK &&
		(!has_next(request) ||
		 dp_accounting_spent_add(&after, &request->also) == DP_OK) &&
		dp_accounting_limit_holds(limit, &after);
}

/* Add the cost to the sums, and the whole charge to its part. */
static void
add_cost(target *t, const dp_ledger_request *request)
{
	dp_spent	sums = sums_of(request);

	check_sum(dp_accounting_spent_sum(t->sums, &t->cost));
	if (t->part == NULL)
		return;
	check_sum(dp_accounting_spent_sum(&t->part->row.spent, &sums));
	dp_accounting_spent_maximum(&t->top->row.spent, &t->part->row.spent);
	t->part->changed = true;
	t->top->changed = true;
}

static void
fill_batch_receipt(const dp_group_batch *g, dp_ledger_receipt *receipt)
{
	receipt->batch = g->row.id;
	receipt->batch_queries = g->row.queries;
	receipt->batch_used = g->row.used;
}

/* Count one query of a batch, and refresh the identities in its row. */
static void
use_batch(dp_group_batch *g, const dp_payer *payer)
{
	g->row.used++;
	g->row.role = payer->asking;
	g->row.cluster = dp_base_cluster_id();
	g->row.payer = payer->role;
	g->row.payer_name = payer->name;
	g->changed = true;
}

/* Put the batch that a request pays for in place of the previous one. */
static void
decide_open_batch(dp_group_batch *g, const dp_ledger_request *request,
				  const dp_ledger_line *line, const dp_payer *payer,
				  const dp_group_budget *b, TimestampTz now)
{
	dp_batch_row *row = &g->row;

	if (g->found == DP_FOUND)
	{
		if (!row->closed)
			row->closed_at = now;
		row->closed = true;
		dp_catalog_write_batch(row);
	}
	MemSet(row, 0, sizeof(*row));
	row->id = line->id;
	row->dataset = request->dataset;
	row->role = payer->asking;
	row->role_name = line->role;
	row->cluster = dp_base_cluster_id();
	row->payer = payer->role;
	row->payer_name = payer->name;
	row->period = b ? b->row.period : 0;
	row->epsilon = request->batch.epsilon;
	row->queries = request->batch.queries;
	strlcpy(row->method, request->batch.method, DP_METHOD_LENGTH);
	row->opened = now;
	g->found = DP_FOUND;
	g->changed = true;
}

/* Close a batch.  Allowed to its role and to the dataset's owner. */
static void
close_batch(dp_slot *slot, bool *again, const dp_group_dataset *d,
			const dp_payer *payer, TimestampTz now)
{
	const dp_ledger_batch *wanted = &slot->request.batch;
	dp_answer  *answer = &slot->answer;
	dp_group_batch *g = group_load_batch(d, wanted->role,
										 NameStr(wanted->role_name));

	if (g->found == DP_LOCKED)
	{
		*again = true;
		answer->outcome = DP_OUTCOME_LOCKED;
		return;
	}
	answer->outcome = DP_OUTCOME_NO_BATCH;
	if (g->found != DP_FOUND || g->row.id != wanted->id || g->row.closed ||
		(payer->asking != wanted->role && !payer->exempt))
		return;
	g->row.closed = true;
	g->row.closed_at = now;
	g->changed = true;
	answer->outcome = DP_OUTCOME_ADMITTED;
	fill_batch_receipt(g, &answer->receipt);
}

/* Fill in the line of an admitted request; returns the next free one. */
static dp_ledger_line *
add_line(dp_ledger_line *line, dp_slot *slot, const dp_payer *payer,
		 const target *charged)
{
	const dp_ledger_request *request = &slot->request;

	MemSet(line, 0, sizeof(*line));
	line->id = dp_catalog_next_line();
	line->role = slot->answer.asking;
	line->role_oid = payer->asking;
	dp_catalog_name_role(slot->login, &line->login);
	line->paid = !payer->exempt;
	line->payer = payer->name;
	line->charged.epsilon = charged->cost.epsilon;
	line->charged.rho = charged->cost.rho;
	line->charged.delta = charged->cost.delta;
	line->dataset = request->dataset;
	line->mechanism = request->mechanism;
	line->price = request->charge;
	line->releases = request->releases;
	line->fingerprint = request->fingerprint;
	if (charged->part != NULL)
	{
		line->partition = request->part.partition;
		line->part = request->part.key;
	}
	slot->answer.receipt.ledger_id = line->id;
	slot->answer.receipt.charged = line->charged;
	return line + 1;
}

/* Another transaction has locked a row: try again later. */
static void
postpone(dp_answer *answer, bool *again)
{
	*again = true;
	answer->outcome = DP_OUTCOME_LOCKED;
}

/* A request whose payer is known, and the sums that it would be added to. */
typedef struct decision
{
	dp_slot    *slot;
	int			number;			/* in the group */
	bool	   *again;
	dp_group_dataset *d;
	const dp_payer *payer;
	dp_group_budget *b;			/* NULL: the payer is exempt */
	TimestampTz now;
	bool		opens;			/* it pays for a batch */
	dp_group_batch *g;			/* of the asker */
	bool		paid;			/* by g */
	target		whole;
	target		mine;
} decision;

/*
 * Find the asker's batch, and whether it pays.  If false, the answer says why
 * the request is not charged.
 */
static bool
find_batch(decision *c)
{
	const dp_ledger_request *request = &c->slot->request;
	dp_answer  *answer = &c->slot->answer;
	dp_group_batch *g = group_load_batch(c->d, c->payer->asking,
										 NameStr(answer->asking));
	bool		alive = g->found == DP_FOUND &&
	dp_ledger_batch_is_alive(&g->row, c->payer, c->b ? &c->b->row : NULL);
	bool		used;

	c->g = g;
	c->opens = request->action == DP_LEDGER_OPEN_BATCH;
	c->paid = alive && !c->opens && dp_ledger_batch_covers(&g->row,
														   &request->charge) &&
		(!has_next(request) || dp_ledger_batch_covers(&g->row,
													  &request->also));
	if (g->found == DP_LOCKED)
	{
		postpone(answer, c->again);
		return false;
	}
	if (!alive || !(c->paid || c->opens))
		return true;
	fill_batch_receipt(g, &answer->receipt);
	used = g->row.used + (has_next(request) ? 1 : 0) >= g->row.queries;
	if (used == c->opens)
		return true;
	answer->outcome = c->opens ? DP_OUTCOME_BATCH_OPEN :
		DP_OUTCOME_BATCH_USED;
	return false;
}

/* A batch has paid: only the number of charges grows. */
static void
set_no_cost(decision *c)
{
	MemSet(&c->whole, 0, sizeof(c->whole));
	MemSet(&c->mine, 0, sizeof(c->mine));
	c->whole.sums = &c->d->row.spent;
	c->whole.cost.charges = 1;
	c->mine.cost.charges = 1;
	if (c->b)
		c->mine.sums = &c->b->row.spent;
}

/* Whether budget and cap admit the charge.  If not, the answer says why. */
static bool
find_room(decision *c)
{
	const dp_ledger_request *request = &c->slot->request;
	dp_answer  *answer = &c->slot->answer;
	dp_group_dataset *d = c->d;
	dp_group_budget *b = c->b;

	if (!compute_cost(&c->whole, request, d, InvalidOid, 0, &d->row.spent) ||
		(b && !compute_cost(&c->mine, request, d, c->payer->role,
							b->row.period, &b->row.spent)))
	{
		postpone(answer, c->again);
		return false;
	}
	if (b && !admits(&c->mine, request, &b->row.limit))
	{
		answer->outcome = DP_OUTCOME_BUDGET_EXHAUSTED;
		return false;
	}
	if (d->row.capped && !admits(&c->whole, request, &d->row.cap))
	{
		answer->outcome = DP_OUTCOME_CAP_EXHAUSTED;
		answer->cap = d->row.cap;
		answer->cap_spent = d->row.spent;
		return false;
	}
	return true;
}

/* Add an admitted request to the sums, and fill in its line. */
static dp_ledger_line *
record_charge(decision *c, dp_ledger_line *line)
{
	const dp_ledger_request *request = &c->slot->request;
	dp_ledger_receipt *receipt = &c->slot->answer.receipt;
	dp_group_budget *b = c->b;
	dp_ledger_line *next = add_line(line, c->slot, c->payer,
									b ? &c->mine : &c->whole);

	add_cost(&c->whole, request);
	c->d->changed = true;
	if (b)
	{
		line->period = b->row.period;
		add_cost(&c->mine, request);
		check_sum(dp_accounting_spent_sum(&b->row.total, &c->mine.cost));
		b->changed = true;
		receipt->spent = b->row.spent;
	}
	if (c->paid)
	{
		use_batch(c->g, c->payer);
		fill_batch_receipt(c->g, receipt);
		line->batch = c->g->row.id;
	}
	if (c->opens)
	{
		decide_open_batch(c->g, request, line, c->payer, b, c->now);
		fill_batch_receipt(c->g, receipt);
		line->batch = line->id;
	}
	if (request->task.kind != DP_TASK_NONE)
		dp_ledger_task_run(c->slot, c->number, c->payer, b ? b->row.period : 0,
						   c->d->row.replace_one, c->now);
	return next;
}

/*
 * Charge the request, or say in its answer why not.  `line` is the next free
 * line; returns the next after it.
 */
static dp_ledger_line *
charge_payer(decision *c, dp_ledger_line *line)
{
	if (!find_batch(c))
		return line;
	if (c->paid)
		set_no_cost(c);
	else if (!find_room(c))
		return line;
	return record_charge(c, line);
}

/* The payer's budget, copied into the answer; if NULL, the answer says why. */
static dp_group_budget *
find_budget(decision *c)
{
	dp_answer  *answer = &c->slot->answer;
	dp_group_budget *b = group_load_budget(c->d, c->payer, c->now);

	if (b->locked)
	{
		postpone(answer, c->again);
		return NULL;
	}
	answer->receipt.limit = b->row.limit;
	answer->receipt.spent = b->row.spent;
	answer->renews = b->row.renews;
	if (b->row.renews)
		answer->renewal = dp_ledger_renewal(&b->row);
	if (!b->row.active)
	{
		answer->outcome = DP_OUTCOME_NO_BUDGET;
		return NULL;
	}
	return b;
}

/*
 * Decide request i of the group.  If it is admitted, it is added to the sums
 * in memory and to the lines to write.  Returns the next free line.
 */
static dp_ledger_line *
decide(dp_slot **slots, int i, bool *again, dp_ledger_line *line,
	   TimestampTz now)
{
	const dp_ledger_request *request = &slots[i]->request;
	dp_answer  *answer = &slots[i]->answer;
	dp_group_dataset *d;
	dp_payer   *payer;
	decision	c;

	MemSet(answer, 0, sizeof(*answer));
	*again = false;
	if (!dp_ledger_task_fetch(slots[i], i))
		return line;
	if (request->action == DP_LEDGER_TASK)
	{
		dp_ledger_task_decide(slots[i], i, now);
		*again = answer->outcome == DP_OUTCOME_LOCKED;
		return line;
	}
	d = group_load_dataset(NameStr(request->dataset));
	if (d->found == DP_LOCKED)
	{
		postpone(answer, again);
		return line;
	}
	answer->outcome = DP_OUTCOME_NO_DATASET;
	if (d->found != DP_FOUND)
		return line;
	payer = group_load_payer(slots, i, d);
	dp_catalog_name_role(payer->asking, &answer->asking);
	answer->receipt.payer = payer->name;
	answer->receipt.exempt = payer->exempt;
	answer->other = payer->other;
	answer->outcome = payer->outcome;
	if (request->action == DP_LEDGER_CLOSE_BATCH)
	{
		close_batch(slots[i], again, d, payer, now);
		return line;
	}
	if (payer->outcome != DP_OUTCOME_ADMITTED)
		return line;
	MemSet(&c, 0, sizeof(c));
	c.slot = slots[i];
	c.number = i;
	c.again = again;
	c.d = d;
	c.payer = payer;
	c.now = now;
	if (!payer->exempt && (c.b = find_budget(&c)) == NULL)
		return line;
	if (request->replace_one != d->row.replace_one)
	{
		answer->outcome = DP_OUTCOME_NEIGHBOURS;
		return line;
	}
	return charge_payer(&c, line);
}

/*
 * dp_ledger_decide
 *	  Decide and write n requests, at most DP_LEDGER_BATCH, in the current
 *	  transaction.  Fills in their answers, which hold once it is committed;
 *	  again[i] says that request i met a row that another transaction has
 *	  locked.
 */
void
dp_ledger_decide(dp_slot **slots, bool *again, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_ledger_line *line = lines;
	int			i;

	group_begin();
	dp_ledger_task_begin();
	dp_catalog_lock_ledger(RowExclusiveLock);
	dp_catalog_extend_lineage();
	for (i = 0; i < n; i++)
		line = decide(slots, i, &again[i], line, now);
	group_write();
	if (line > lines)
		dp_catalog_append_lines(lines, line - lines);
	dp_ledger_task_finish();
}
