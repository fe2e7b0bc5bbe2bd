/*
 * decide.c
 *	  Which of a group of requests are charged, and how much.
 *
 * The worker calls dp_ledger_decide within a transaction.  Requests are
 * decided in their order, against sums that are kept in memory until the end
 * of the group, when every changed row is written once.
 *
 * A plain charge is added to the sums of the payer's budget and of the
 * dataset.  A query that a batch has paid for adds nothing but a line.  A
 * charge for a part of a partition adds what the largest part rises by, which
 * differs between the two sums: other roles may have asked about other parts.
 * doc/ledger.md proves each of them.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "ledger.h"

/* A dataset that some request of the group charges. */
typedef struct group_dataset
{
	NameData	name;
	dp_found	found;
	bool		changed;
	dp_dataset_row row;
} group_dataset;

/* A budget that some request spends from. */
typedef struct group_budget
{
	bool		locked;			/* by somebody else */
	bool		changed;
	dp_budget_row row;
} group_budget;

/* The batch of a role on a dataset, or that it has none. */
typedef struct group_batch
{
	NameData	dataset;
	Oid			role;
	dp_found	found;
	bool		changed;
	dp_batch_row row;
} group_batch;

/* Sums of a part, or the maximum over all parts. */
typedef struct group_part
{
	bool		locked;			/* by somebody else */
	bool		changed;
	dp_part_row row;
} group_part;

/* Sums that a request is added to, the payer's or the dataset's. */
typedef struct target
{
	dp_spent   *sums;
	dp_spent	cost;			/* what they grow by */
	group_part *part;			/* NULL: not a charge for a part */
	group_part *top;			/* the maximum over the parts */
} target;

/* Static, as 128-bit integers may need more alignment than palloc gives. */
static dp_payer payers[DP_LEDGER_BATCH];
static bool payer_known[DP_LEDGER_BATCH];
static group_dataset datasets[DP_LEDGER_BATCH];
static int	dataset_count;
static group_budget budgets[DP_LEDGER_BATCH];
static int	budget_count;
static group_batch batches[DP_LEDGER_BATCH];
static int	batch_count;
static group_part parts[4 * DP_LEDGER_BATCH];
static int	part_count;
static dp_ledger_line lines[DP_LEDGER_BATCH];

static group_dataset *
load_dataset(const char *name)
{
	group_dataset *d;
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

/* The payer of request i, by the rows; asked once per kind of asker. */
static dp_payer *
load_payer(dp_slot **slots, int i, const group_dataset *d)
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
	dp_payer_find(&d->row, slots[i]->outer, slots[i]->current,
				  DP_ROW_SKIP_LOCKED, &payers[i]);
	return &payers[i];
}

/*
 * The payer's budget, locked, rolled and with its present identity.  What the
 * payer read counts only the first time: later the sums have grown.
 */
static group_budget *
load_budget(const group_dataset *d, const dp_payer *payer, TimestampTz now)
{
	group_budget *b;
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
	b->row.cluster = dp_bridge_cluster_id();
	if (!b->locked)
		dp_catalog_roll(&b->row, now);
	return b;
}

/* The batch of a role that is not closed. */
static group_batch *
load_batch(const group_dataset *d, Oid role, const char *role_name)
{
	group_batch *g;
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

/* Sums of a part; an empty key means the maximum over the parts. */
static group_part *
load_part(const group_dataset *d, Oid payer, int64 period, int64 partition,
		  const char *key)
{
	group_part *p;
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

/* Sums that cannot be represented any more. */
static void
check_sum(dp_status status)
{
	if (status != DP_OK)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a sum of charges is too large")));
}

/*
 * What the charge of a request is as sums.  The queries of a batch are paid
 * for by the sum of their squares, which is less than the square of the sum.
 */
static dp_spent
sums_of(const dp_ledger_request *request)
{
	dp_spent	sums = {0};
	dp_fixed	nothing;

	check_sum(dp_acct_spent_add(&sums, &request->charge));
	if (request->action == DP_LEDGER_OPEN_BATCH &&
		dp_acct_compose_basic(dp_acct_square(request->batch.epsilon), 0,
							  request->batch.queries, &sums.squares,
							  &nothing) != DP_OK)
		sums.squares = DP_FIXED_INFINITE;
	return sums;
}

/* The sums of a budget (payer) or dataset (InvalidOid) and what to add. */
static bool
aim(target *t, const dp_ledger_request *request, const group_dataset *d,
	Oid payer, int64 period, dp_spent *sums)
{
	int64		partition = request->part.partition;
	dp_spent	after;

	MemSet(t, 0, sizeof(*t));
	t->sums = sums;
	t->cost = sums_of(request);
	if (partition == 0 || d->row.replace_one)
		return true;
	t->part = load_part(d, payer, period, partition,
						NameStr(request->part.key));
	t->top = load_part(d, payer, period, partition, "");
	if (t->part->locked || t->top->locked)
		return false;
	after = t->part->row.spent;
	check_sum(dp_acct_spent_sum(&after, &t->cost));
	MemSet(&t->cost, 0, sizeof(t->cost));
	check_sum(dp_acct_spent_rise(&t->cost, &t->top->row.spent, &after));
	return true;
}

static bool
admits(const target *t, const dp_limit *limit)
{
	dp_spent	after = *t->sums;

	return dp_acct_spent_sum(&after, &t->cost) == DP_OK &&
		dp_acct_limit_holds(limit, &after);
}

static void
hit(target *t, const dp_ledger_request *request)
{
	dp_spent	sums = sums_of(request);

	check_sum(dp_acct_spent_sum(t->sums, &t->cost));
	if (t->part == NULL)
		return;
	check_sum(dp_acct_spent_sum(&t->part->row.spent, &sums));
	dp_acct_spent_maximum(&t->top->row.spent, &t->part->row.spent);
	t->part->changed = true;
	t->top->changed = true;
}

static void
tell_batch(const group_batch *g, dp_ledger_receipt *receipt)
{
	receipt->batch = g->row.id;
	receipt->batch_queries = g->row.queries;
	receipt->batch_used = g->row.used;
}

/* One query of a batch, with the identities that hold here and now. */
static void
use_batch(group_batch *g, const dp_payer *payer)
{
	g->row.used++;
	g->row.role = payer->asking;
	g->row.cluster = dp_bridge_cluster_id();
	g->row.payer = payer->role;
	g->row.payer_name = payer->name;
	g->changed = true;
}

/* Put the batch that a request pays for into the place of the former one. */
static void
open_batch(group_batch *g, const dp_ledger_request *request,
		   const dp_ledger_line *line, const dp_payer *payer,
		   const group_budget *b, TimestampTz now)
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
	row->cluster = dp_bridge_cluster_id();
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

/* Give up what is left of a batch; its role may, and the dataset's owner. */
static void
close_batch(dp_slot *slot, bool *again, const group_dataset *d,
			const dp_payer *payer, TimestampTz now)
{
	const dp_ledger_batch *wanted = &slot->request.batch;
	dp_answer  *answer = &slot->answer;
	group_batch *g = load_batch(d, wanted->role, NameStr(wanted->role_name));

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
	tell_batch(g, &answer->receipt);
}

/* The line of an admitted request; answers the one after it. */
static dp_ledger_line *
add_line(dp_ledger_line *line, dp_slot *slot, const dp_payer *payer,
		 const target *charged)
{
	MemSet(line, 0, sizeof(*line));
	line->id = dp_catalog_next_id();
	line->slot = slot;
	line->role = slot->answer.asking;
	line->role_oid = payer->asking;
	dp_catalog_name_role(slot->login, &line->login);
	line->exempt = payer->exempt;
	line->payer = payer->name;
	line->charged.epsilon = charged->cost.epsilon;
	line->charged.rho = charged->cost.rho;
	line->charged.delta = charged->cost.delta;
	line->parted = charged->part != NULL;
	slot->answer.receipt.ledger_id = line->id;
	slot->answer.receipt.charged = line->charged;
	return line + 1;
}

/* Some row is locked by somebody else: try again later. */
static void
postpone(dp_answer *answer, bool *again)
{
	*again = true;
	answer->outcome = DP_OUTCOME_LOCKED;
}

/*
 * Charge a request whose payer may ask, or say in its answer why not.  `line`
 * is the next line to write; answers the one after the last.  `number` is the
 * request's in the group.
 */
static dp_ledger_line *
charge_payer(dp_slot *slot, bool *again, int number, group_dataset *d,
			 const dp_payer *payer, group_budget *b, dp_ledger_line *line,
			 TimestampTz now)
{
	const dp_ledger_request *request = &slot->request;
	dp_answer  *answer = &slot->answer;
	bool		opens = request->action == DP_LEDGER_OPEN_BATCH;
	group_batch *g = load_batch(d, payer->asking, NameStr(answer->asking));
	bool		alive = g->found == DP_FOUND &&
	dp_batch_is_alive(&g->row, payer, b ? &b->row : NULL);
	bool		paid = alive && !opens &&
	dp_batch_covers(&g->row, &request->charge);
	dp_ledger_line *next;
	target		whole;
	target		mine;

	if (g->found == DP_LOCKED)
	{
		postpone(answer, again);
		return line;
	}
	if (alive && (paid || opens))
	{
		bool		used = g->row.used >= g->row.queries;

		tell_batch(g, &answer->receipt);
		if (used != opens)
		{
			answer->outcome = opens ? DP_OUTCOME_BATCH_OPEN :
				DP_OUTCOME_BATCH_USED;
			return line;
		}
	}
	MemSet(&whole, 0, sizeof(whole));
	MemSet(&mine, 0, sizeof(mine));
	if (paid)
	{
		whole.sums = &d->row.spent;
		whole.cost.charges = 1;
		mine.cost.charges = 1;
		if (b)
			mine.sums = &b->row.spent;
	}
	else if (!aim(&whole, request, d, InvalidOid, 0, &d->row.spent) ||
			 (b && !aim(&mine, request, d, payer->role, b->row.period,
						&b->row.spent)))
	{
		postpone(answer, again);
		return line;
	}
	else if (b && !admits(&mine, &b->row.limit))
	{
		answer->outcome = DP_OUTCOME_BUDGET_EXHAUSTED;
		return line;
	}
	else if (d->row.capped && !admits(&whole, &d->row.cap))
	{
		answer->outcome = DP_OUTCOME_CAP_EXHAUSTED;
		answer->cap = d->row.cap;
		answer->cap_spent = d->row.spent;
		return line;
	}

	next = add_line(line, slot, payer, b ? &mine : &whole);
	hit(&whole, request);
	d->changed = true;
	if (b)
	{
		hit(&mine, request);
		check_sum(dp_acct_spent_sum(&b->row.total, &mine.cost));
		b->changed = true;
		answer->receipt.spent = b->row.spent;
	}
	if (paid)
	{
		use_batch(g, payer);
		tell_batch(g, &answer->receipt);
		line->batch = g->row.id;
	}
	if (opens)
	{
		open_batch(g, request, line, payer, b, now);
		tell_batch(g, &answer->receipt);
		line->batch = line->id;
	}
	if (request->task.kind != DP_TASK_NONE)
		dp_task_run(slot, number, payer, b ? b->row.period : 0,
					d->row.replace_one, now);
	return next;
}

/*
 * Decide request i of the group.  When it is admitted, add it to the sums in
 * memory and to the lines to write; answers the next line.
 */
static dp_ledger_line *
decide(dp_slot **slots, int i, bool *again, dp_ledger_line *line,
	   TimestampTz now)
{
	const dp_ledger_request *request = &slots[i]->request;
	dp_answer  *answer = &slots[i]->answer;
	group_dataset *d;
	group_budget *b = NULL;
	dp_payer   *payer;

	MemSet(answer, 0, sizeof(*answer));
	*again = false;
	if (!dp_task_fetch(slots[i], i))
		return line;
	if (request->action == DP_LEDGER_TASK)
	{
		dp_task_decide(slots[i], i, now);
		*again = answer->outcome == DP_OUTCOME_LOCKED;
		return line;
	}
	d = load_dataset(NameStr(request->dataset));
	if (d->found == DP_LOCKED)
	{
		postpone(answer, again);
		return line;
	}
	answer->outcome = DP_OUTCOME_NO_DATASET;
	if (d->found != DP_FOUND)
		return line;
	payer = load_payer(slots, i, d);
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
	if (!payer->exempt)
	{
		b = load_budget(d, payer, now);
		if (b->locked)
		{
			postpone(answer, again);
			return line;
		}
		answer->receipt.limit = b->row.limit;
		answer->receipt.spent = b->row.spent;
		answer->renews = b->row.renews;
		if (b->row.renews)
			answer->renewal = dp_catalog_renewal(&b->row);
		if (!b->row.active)
		{
			answer->outcome = DP_OUTCOME_NO_BUDGET;
			return line;
		}
	}
	if (request->replace_one != d->row.replace_one)
	{
		answer->outcome = DP_OUTCOME_NEIGHBOURS;
		return line;
	}
	return charge_payer(slots[i], again, i, d, payer, b, line, now);
}

/* Write what the group has changed, each row once. */
static void
write_changes(int n_lines)
{
	int			i;

	for (i = 0; i < budget_count; i++)
		if (budgets[i].changed)
			dp_catalog_write_budget(&budgets[i].row);
	for (i = 0; i < dataset_count; i++)
		if (datasets[i].changed)
			dp_catalog_write_dataset(&datasets[i].row);
	for (i = 0; i < batch_count; i++)
		if (batches[i].changed)
			dp_catalog_write_batch(&batches[i].row);
	for (i = 0; i < part_count; i++)
		if (parts[i].changed)
			dp_catalog_write_part(&parts[i].row);
	if (n_lines > 0)
		dp_catalog_append(lines, n_lines);
}

/*
 * dp_ledger_decide
 *	  Decide and write n requests, at most DP_LEDGER_BATCH, in the present
 *	  transaction.  Fills in their answers, which hold once it is committed;
 *	  again[i] says that request i met a row that somebody else has locked.
 */
void
dp_ledger_decide(dp_slot **slots, bool *again, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_ledger_line *line = lines;
	int			i;

	dataset_count = 0;
	budget_count = 0;
	batch_count = 0;
	part_count = 0;
	MemSet(payer_known, 0, sizeof(payer_known));
	dp_task_begin();
	dp_catalog_open(RowExclusiveLock);
	for (i = 0; i < n; i++)
		line = decide(slots, i, &again[i], line, now);
	write_changes(line - lines);
	dp_task_finish();
}
