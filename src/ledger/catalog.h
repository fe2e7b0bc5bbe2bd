/*
 * catalog.h
 *	  What the files that read and write rows share: direct access to the
 *	  ledger's tables, conversions of columns, and statements for the rest.
 */
#ifndef LEDGER_CATALOG_H
#define LEDGER_CATALOG_H

#include "executor/spi.h"

#include "ledger.h"

/* Columns of dp_set_limit and of dp_set_sums. */
#define DP_LIMIT_COLUMNS 8
#define DP_SUM_COLUMNS 5

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	DATASET_NAME = 1,
	DATASET_OWNER_OID,
	DATASET_OWNER_NAME,
	DATASET_CLUSTER,
	DATASET_NEIGHBOURS,
	DATASET_CAP,				/* first of DP_LIMIT_COLUMNS */
	DATASET_SPENT = DATASET_CAP + DP_LIMIT_COLUMNS, /* of DP_SUM_COLUMNS */
	DATASET_FLOOR = DATASET_SPENT + DP_SUM_COLUMNS,
	DATASET_CEILING,
	DATASET_END
};

enum
{
	BUDGET_DATASET = 1,
	BUDGET_ROLE_OID,
	BUDGET_ROLE_NAME,
	BUDGET_CLUSTER,
	BUDGET_ACTIVE,
	BUDGET_LIMIT,				/* first of DP_LIMIT_COLUMNS */
	BUDGET_RENEW = BUDGET_LIMIT + DP_LIMIT_COLUMNS,
	BUDGET_PERIOD_START,
	BUDGET_PERIOD,
	BUDGET_SPENT,				/* first of DP_SUM_COLUMNS */
	BUDGET_TOTAL = BUDGET_SPENT + DP_SUM_COLUMNS,	/* likewise */
	BUDGET_TOTAL_CHARGES = BUDGET_TOTAL + DP_SUM_COLUMNS - 1,
	BUDGET_END
};

enum
{
	LEDGER_ID = 1,
	LEDGER_AT,
	LEDGER_ROLE,
	LEDGER_ROLE_OID,
	LEDGER_CLUSTER,
	LEDGER_LOGIN,
	LEDGER_PAYER,
	LEDGER_DATASET,
	LEDGER_MECHANISM,
	LEDGER_EPSILON,
	LEDGER_DELTA,
	LEDGER_RHO,
	LEDGER_RELEASES,
	LEDGER_FINGERPRINT,
	LEDGER_PRICE,				/* first of three: epsilon, delta, rho */
	LEDGER_BATCH = LEDGER_PRICE + 3,
	LEDGER_PARTITION,
	LEDGER_PART,
	LEDGER_END
};

enum
{
	BATCH_ID = 1,
	BATCH_DATASET,
	BATCH_ROLE,
	BATCH_ROLE_OID,
	BATCH_CLUSTER,
	BATCH_PAYER,
	BATCH_PAYER_OID,
	BATCH_PERIOD,
	BATCH_EPSILON,
	BATCH_QUERIES,
	BATCH_USED,
	BATCH_METHOD,
	BATCH_OPENED,
	BATCH_CLOSED,
	BATCH_END
};

enum
{
	PART_DATASET = 1,
	PART_PAYER_OID,
	PART_PARTITION,
	PART_KEY,
	PART_PERIOD,
	PART_SPENT,					/* first of DP_SUM_COLUMNS */
	PART_END = PART_SPENT + DP_SUM_COLUMNS
};

/* ---- tables (table_access.c) ---- */

extern const dp_table dp_table_dataset;
extern const dp_table dp_table_budget;
extern const dp_table dp_table_ledger;
extern const dp_table dp_table_batch;
extern const dp_table dp_table_part;

#define DP_TABLE_DATASET (&dp_table_dataset)
#define DP_TABLE_BUDGET (&dp_table_budget)
#define DP_TABLE_LEDGER (&dp_table_ledger)
#define DP_TABLE_BATCH (&dp_table_batch)
#define DP_TABLE_PART (&dp_table_part)

/* Names of indexes, for dp_row_find. */
#define DATASET_KEY "dataset_pkey"
#define BUDGET_KEY "budget_pkey"
#define BUDGET_BY_NAME "budget_role_name"
#define BATCH_KEY "batch_pkey"
#define BATCH_IS_OPEN "batch_open"	/* dataset, role; closed rows left out */
#define PART_KEY_INDEX "part_pkey"

extern Oid	dp_table_sequence(const char *name);
extern void dp_set_limit(dp_values *row, int first, const dp_limit *limit);
extern void dp_set_sums(dp_values *row, int first, const dp_spent *spent);
extern void dp_get_limit(const dp_values *row, int first, dp_limit *out);
extern void dp_get_sums(const dp_values *row, int first, dp_spent *out);

/* of the last result of SPI */
extern Datum dp_column(int row, int column, bool *isnull);

#endif							/* LEDGER_CATALOG_H */
