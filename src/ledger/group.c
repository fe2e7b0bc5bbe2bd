/*
 * group.c
 *	  The rows that a group of requests needs.
 *
 * Each row is read and locked when a request first needs it, kept in memory
 * while the requests are decided, and written once at the end.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "group.h"

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

/* dp_ledger_group_load_dataset: a dataset by name; its row may be locked. */
dp_group_dataset *
dp_ledger_group_load_dataset(const char *name)
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
 * dp_ledger_group_load_payer
 *	  The payer of request i, found once per dataset and pair of user IDs.
 */
dp_payer *
dp_ledger_group_load_payer(dp_slot **slots, int i, const dp_group_dataset *d)
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
 * dp_ledger_group_load_budget
 *	  The payer's budget: locked, rolled to the current period, with its
 *	  current identity.  The row in `payer` is used only the first time; later
 *	  the sums in memory have grown.
 */
dp_group_budget *
dp_ledger_group_load_budget(const dp_group_dataset *d, const dp_payer *payer,
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
	b->row.cluster = dp_bridge_cluster_id();
	if (!b->locked)
		dp_ledger_roll(&b->row, now);
	return b;
}

/*
 * dp_ledger_group_load_batch: a role's batch, unless closed before the group.
 */
dp_group_batch *
dp_ledger_group_load_batch(const dp_group_dataset *d, Oid role,
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
 * dp_ledger_group_load_part
 *	  Sums of a part; an empty key means the maximum over the parts.
 */
dp_group_part *
dp_ledger_group_load_part(const dp_group_dataset *d, Oid payer, int64 period,
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

/* dp_ledger_group_begin: forget the rows of the previous group. */
void
dp_ledger_group_begin(void)
{
	dataset_count = 0;
	budget_count = 0;
	batch_count = 0;
	part_count = 0;
	MemSet(payer_known, 0, sizeof(payer_known));
}

/* dp_ledger_group_write: write the rows that the group has changed. */
void
dp_ledger_group_write(void)
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
}
