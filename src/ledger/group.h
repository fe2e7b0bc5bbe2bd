/*
 * group.h
 *	  Private to decide.c and group.c: the rows that a group of requests needs,
 *	  each read once and written once.
 */
#ifndef DP_LEDGER_GROUP_H
#define DP_LEDGER_GROUP_H

#include "ledger.h"

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

extern void dp_ledger_group_begin(void);
extern dp_group_dataset *dp_ledger_group_load_dataset(const char *name);
extern dp_payer *dp_ledger_group_load_payer(dp_slot **slots, int i,
											const dp_group_dataset *d);
extern dp_group_budget *dp_ledger_group_load_budget(const dp_group_dataset *d,
													const dp_payer *payer,
													TimestampTz now);
extern dp_group_batch *dp_ledger_group_load_batch(const dp_group_dataset *d,
												  Oid role,
												  const char *role_name);
extern dp_group_part *dp_ledger_group_load_part(const dp_group_dataset *d,
												Oid payer, int64 period,
												int64 partition,
												const char *key);
extern void dp_ledger_group_write(void);

#endif							/* DP_LEDGER_GROUP_H */
