/*
 * table_access.c
 *	  Direct access to the extension's tables: find and lock a row, write rows.
 *
 * A charge reads and writes a few rows by key, so it accesses tables and
 * indexes without a plan.  Rights, policies, triggers and rules are ignored:
 * callers check what is allowed.  Tables are opened by name each time and must
 * belong to a superuser.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "table_access.h"

/* ----------------
 *		Reading and setting columns of the extension's tables.
 *
 * dp_catalog_set_* sets a column to a value, which must live until the row is
 * written; dp_catalog_get_* returns a value that must not be NULL.
 * ----------------
 */

/* dp_catalog_set: set a column to any value. */
void
dp_catalog_set(dp_values *row, int column, Datum value)
{
	Assert(column >= 1 && column <= row->n);
	row->value[column - 1] = value;
	row->null[column - 1] = false;
	row->set[column - 1] = true;
}

/* dp_catalog_set_null: set a column to NULL. */
void
dp_catalog_set_null(dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	row->value[column - 1] = (Datum) 0;
	row->null[column - 1] = true;
	row->set[column - 1] = true;
}

void
dp_catalog_set_bool(dp_values *row, int column, bool x)
{
	dp_catalog_set(row, column, BoolGetDatum(x));
}

void
dp_catalog_set_int32(dp_values *row, int column, int32 x)
{
	dp_catalog_set(row, column, Int32GetDatum(x));
}

void
dp_catalog_set_int64(dp_values *row, int column, int64 x)
{
	dp_catalog_set(row, column, Int64GetDatum(x));
}

void
dp_catalog_set_oid(dp_values *row, int column, Oid x)
{
	dp_catalog_set(row, column, ObjectIdGetDatum(x));
}

void
dp_catalog_set_name(dp_values *row, int column, const NameData *x)
{
	dp_catalog_set(row, column, NameGetDatum(x));
}

void
dp_catalog_set_text(dp_values *row, int column, const char *x)
{
	dp_catalog_set(row, column, CStringGetTextDatum(x));
}

void
dp_catalog_set_time(dp_values *row, int column, TimestampTz x)
{
	dp_catalog_set(row, column, TimestampTzGetDatum(x));
}

void
dp_catalog_set_double(dp_values *row, int column, double x)
{
	dp_catalog_set(row, column, Float8GetDatum(x));
}

/* dp_catalog_set_fixed: an exact numeric; infinite is 'Infinity'. */
void
dp_catalog_set_fixed(dp_values *row, int column, dp_fixed x)
{
	dp_catalog_set(row, column,
				   NumericGetDatum(dp_bridge_fixed_to_numeric(x)));
}

/* dp_catalog_set_neighbours: the neighbouring relation. */
void
dp_catalog_set_neighbours(dp_values *row, int column, bool replace_one)
{
	dp_catalog_set_text(row, column,
						replace_one ? "replace_one" : "add_remove");
}

/*
 * dp_catalog_set_limit
 *	  Set filter, epsilon, delta, delta_conversion, delta_sum, rho, alpha,
 *	  squares.
 */
void
dp_catalog_set_limit(dp_values *row, int first, const dp_limit *limit)
{
	dp_catalog_set_text(row, first, dp_acct_filter_name(limit->filter));
	dp_catalog_set_fixed(row, first + 1, limit->epsilon);
	dp_catalog_set_fixed(row, first + 2, limit->delta);
	dp_catalog_set_fixed(row, first + 3, limit->delta_conversion);
	dp_catalog_set_fixed(row, first + 4, limit->delta_sum);
	dp_catalog_set_fixed(row, first + 5, limit->rho);
	dp_catalog_set_int64(row, first + 6, (int64) limit->alpha);
	dp_catalog_set_fixed(row, first + 7, limit->squares);
}

/* dp_catalog_set_sums: set epsilon, rho, delta, squares, charges. */
void
dp_catalog_set_sums(dp_values *row, int first, const dp_spent *spent)
{
	dp_catalog_set_fixed(row, first, spent->epsilon);
	dp_catalog_set_fixed(row, first + 1, spent->rho);
	dp_catalog_set_fixed(row, first + 2, spent->delta);
	dp_catalog_set_fixed(row, first + 3, spent->squares);
	dp_catalog_set_int64(row, first + 4, spent->charges);
}

/* dp_catalog_is_null: whether the column is NULL. */
bool
dp_catalog_is_null(const dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	return row->null[column - 1];
}

/* dp_catalog_get: a value that must not be NULL. */
Datum
dp_catalog_get(const dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	if (row->null[column - 1])
		elog(ERROR, "column %d of the extension's catalog is null", column);
	return row->value[column - 1];
}

bool
dp_catalog_get_bool(const dp_values *row, int column)
{
	return DatumGetBool(dp_catalog_get(row, column));
}

int16
dp_catalog_get_int16(const dp_values *row, int column)
{
	return DatumGetInt16(dp_catalog_get(row, column));
}

int32
dp_catalog_get_int32(const dp_values *row, int column)
{
	return DatumGetInt32(dp_catalog_get(row, column));
}

int64
dp_catalog_get_int64(const dp_values *row, int column)
{
	return DatumGetInt64(dp_catalog_get(row, column));
}

Oid
dp_catalog_get_oid(const dp_values *row, int column)
{
	return DatumGetObjectId(dp_catalog_get(row, column));
}

NameData
dp_catalog_get_name(const dp_values *row, int column)
{
	return *DatumGetName(dp_catalog_get(row, column));
}

char *
dp_catalog_get_text(const dp_values *row, int column)
{
	return TextDatumGetCString(dp_catalog_get(row, column));
}

TimestampTz
dp_catalog_get_time(const dp_values *row, int column)
{
	return DatumGetTimestampTz(dp_catalog_get(row, column));
}

double
dp_catalog_get_double(const dp_values *row, int column)
{
	return DatumGetFloat8(dp_catalog_get(row, column));
}

/*
 * dp_catalog_get_fixed
 *	  A number in the catalog.  Limits were rounded when they were granted, so
 *	  every value is on the grid; a sum above its range counts as infinite.
 */
dp_fixed
dp_catalog_get_fixed(const dp_values *row, int column)
{
	Numeric		numeric = DatumGetNumeric(dp_catalog_get(row, column));
	dp_fixed	x = 0;
	dp_number_fault fault;

	fault = dp_bridge_numeric_to_fixed(numeric, DP_ROUND_UP, &x);
	if (fault == DP_NUMBER_INFINITE || fault == DP_NUMBER_TOO_LARGE)
		return DP_FIXED_INFINITE;
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog holds an invalid number"),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault))));
	return x;
}

/* dp_catalog_get_neighbours: true for replace_one. */
bool
dp_catalog_get_neighbours(const dp_values *row, int column)
{
	return strcmp(dp_catalog_get_text(row, column), "replace_one") == 0;
}

/*
 * dp_catalog_get_limit
 *	  Get the columns of dp_catalog_set_limit.  In caps from dumps of older
 *	  versions squares may be NULL; their filters do not use them.
 */
void
dp_catalog_get_limit(const dp_values *row, int first, dp_limit *out)
{
	char	   *name = dp_catalog_get_text(row, first);

	if (!dp_acct_filter_parse(name, &out->filter))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog names an unknown filter")));
	out->epsilon = dp_catalog_get_fixed(row, first + 1);
	out->delta = dp_catalog_get_fixed(row, first + 2);
	out->delta_conversion = dp_catalog_get_fixed(row, first + 3);
	out->delta_sum = dp_catalog_get_fixed(row, first + 4);
	out->rho = dp_catalog_get_fixed(row, first + 5);
	out->alpha = (uint64_t) dp_catalog_get_int64(row, first + 6);
	out->squares = dp_catalog_is_null(row, first + 7) ? 0 :
		dp_catalog_get_fixed(row, first + 7);
}

/* dp_catalog_get_sums: get the columns of dp_catalog_set_sums. */
void
dp_catalog_get_sums(const dp_values *row, int first, dp_spent *out)
{
	out->epsilon = dp_catalog_get_fixed(row, first);
	out->rho = dp_catalog_get_fixed(row, first + 1);
	out->delta = dp_catalog_get_fixed(row, first + 2);
	out->squares = dp_catalog_get_fixed(row, first + 3);
	out->charges = dp_catalog_get_int64(row, first + 4);
}

/* Whether it is a relation of this kind that a superuser owns. */
static bool
is_trusted(Oid relid, char relkind)
{
	HeapTuple	tuple;
	Form_pg_class form;
	bool		trusted;

	if (!OidIsValid(relid))
		return false;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	trusted = form->relkind == relkind && superuser_arg(form->relowner);
	ReleaseSysCache(tuple);
	return trusted;
}

static void
raise_not_installed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("extension dp_pg is not installed in this database"),
			 errdetail("Its catalog is missing or was replaced."),
			 errhint("Run CREATE EXTENSION dp_pg.")));
}

/*
 * dp_catalog_open_table
 *	  Open a table of the extension and lock it until the end of the
 *	  transaction.
 *
 * The worker acts as a superuser.  After DROP EXTENSION, any role that may
 * create schemas could put its own tables, with defaults and triggers, in
 * their place; tables that no superuser owns are not touched.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
Relation
dp_catalog_open_table(const dp_table *table, LOCKMODE mode)
{
	Relation	rel = NULL;
	Oid			relid = InvalidOid;

	if (OidIsValid(dp_bridge_extension_oid()))
		relid = get_relname_relid(table->name,
								  dp_bridge_catalog_namespace());
	if (OidIsValid(relid))
		rel = try_relation_open(relid, mode);
	if (rel == NULL || !is_trusted(relid, RELKIND_RELATION) ||
		RelationGetNumberOfAttributes(rel) < table->columns)
		raise_not_installed();
	return rel;
}

/*
 * dp_catalog_try_table
 *	  Open a table that planning reads, as any user and in any transaction; the
 *	  caller closes it with its lock.  NULL if the extension is not (or not
 *	  completely) installed in this database.
 *
 * Nothing is written, and nothing is done as a superuser.  A schema that only
 * looks like ours is not trusted: the extension must exist, whose script has
 * created the schema.
 */
Relation
dp_catalog_try_table(const dp_table *table)
{
	Oid			namespace;
	Oid			relid;

	if (!OidIsValid(dp_bridge_extension_oid()))
		return NULL;
	namespace = dp_bridge_catalog_namespace();
	if (!OidIsValid(namespace))
		return NULL;
	relid = get_relname_relid(table->name, namespace);
	if (!OidIsValid(relid))
		return NULL;
	return table_open(relid, AccessShareLock);
}

/* dp_catalog_sequence: OID of one of the extension's sequences. */
Oid
dp_catalog_sequence(const char *name)
{
	Oid			relid = get_relname_relid(name,
										  dp_bridge_catalog_namespace());

	if (!is_trusted(relid, RELKIND_SEQUENCE))
		raise_not_installed();
	return relid;
}

/* Allocate values.  Columns that an older installation lacks are NULL. */
static void
table_access_make_values(const dp_table *table, Relation rel, dp_values *out)
{
	int			n = Max(RelationGetNumberOfAttributes(rel), table->columns);

	out->n = n;
	out->value = palloc0((sizeof(Datum) + 2 * sizeof(bool)) * n);
	out->null = (bool *) (out->value + n);
	out->set = out->null + n;
	memset(out->null, true, sizeof(bool) * n);
}

/* dp_catalog_start_row: a row to be written, each column NULL and not set. */
void
dp_catalog_start_row(const dp_table *table, dp_values *out)
{
	Relation	rel = dp_catalog_open_table(table, AccessShareLock);

	table_access_make_values(table, rel, out);
	table_close(rel, NoLock);
}

/* dp_catalog_read_row: the values of a tuple, which must outlive them. */
void
dp_catalog_read_row(const dp_table *table, Relation rel, HeapTuple tuple,
					dp_values *out)
{
	table_access_make_values(table, rel, out);
	heap_deform_tuple(tuple, RelationGetDescr(rel), out->value, out->null);
}

/* dp_catalog_key: a scan key for equality of a name, oid or bigint. */
void
dp_catalog_key(ScanKeyData *key, int column, Oid type, Datum value)
{
	ScanKeyInit(key, column, BTEqualStrategyNumber,
				type == NAMEOID ? F_NAMEEQ : type == OIDOID ? F_OIDEQ :
				F_INT8EQ, value);
}

/*
 * dp_catalog_start_scan
 *	  Scan for rows with the keys, by the named index or, if NULL, the primary
 *	  key; without keys, all rows in physical order.  A NULL snapshot means a
 *	  catalog snapshot.
 */
void
dp_catalog_start_scan(dp_scan *scan, Relation rel, const char *index,
					  Snapshot snapshot, const ScanKeyData *keys, int n)
{
	Oid			indexid = InvalidOid;

	Assert(n <= lengthof(scan->keys));
	if (n > 0)
	{
		indexid = index ?
			get_relname_relid(index, RelationGetNamespace(rel)) :
			RelationGetPrimaryKeyIndex(rel, false);
		memcpy(scan->keys, keys, sizeof(ScanKeyData) * n);
	}
	scan->rel = rel;
	scan->sys = systable_beginscan(rel, indexid, OidIsValid(indexid),
								   snapshot, n, scan->keys);
}

/* dp_catalog_next: the next tuple, valid until another is fetched, or NULL. */
HeapTuple
dp_catalog_next(dp_scan *scan)
{
	return systable_getnext(scan->sys);
}

/* dp_catalog_end_scan: values read from rows are then invalid. */
void
dp_catalog_end_scan(dp_scan *scan)
{
	systable_endscan(scan->sys);
}

/* A copy of the preferred row with the keys, or NULL. */
static HeapTuple
choose_row(const dp_table *table, Relation rel, const char *index,
		   Snapshot snapshot, const ScanKeyData *keys, int n, dp_prefer prefer,
		   dp_values *out)
{
	dp_scan		scan;
	HeapTuple	tuple;
	HeapTuple	best = NULL;
	dp_values	row;

	if (prefer)
		table_access_make_values(table, rel, &row);
	table_access_make_values(table, rel, out);
	dp_catalog_start_scan(&scan, rel, index, snapshot, keys, n);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		if (prefer)
		{
			heap_deform_tuple(tuple, RelationGetDescr(rel), row.value,
							  row.null);
			if (!prefer(&row, best ? out : NULL))
				continue;
		}
		best = heap_copytuple(tuple);
		heap_deform_tuple(best, RelationGetDescr(rel), out->value, out->null);
		if (!prefer)
			break;
	}
	dp_catalog_end_scan(&scan);
	return best;
}

/*
 * Lock a row.  TM_Updated and TM_Deleted say that it is not the newest
 * version; then it is not locked.
 */
static TM_Result
lock_row(Relation rel, HeapTuple tuple, Snapshot snapshot, bool wait)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TM_FailureData failure;
	TM_Result	result;

	result = table_tuple_lock(rel, &tuple->t_self, snapshot, slot,
							  GetCurrentCommandId(false),
							  LockTupleNoKeyExclusive,
							  wait ? LockWaitBlock : LockWaitSkip, 0,
							  &failure);
	ExecDropSingleTupleTableSlot(slot);
	return result;
}

/*
 * dp_catalog_find_row
 *	  Find a row by its keys, the preferred one among several, and lock it as
 *	  `lock` says.  It is the newest version, committed or our own.
 *
 * DP_LOCKED is returned for DP_ROW_SKIP_LOCKED only.  The tuple, palloc'd, is
 * for dp_catalog_update_row, and the values point into it.
 */
dp_found
dp_catalog_find_row(const dp_table *table, const char *index,
					const ScanKeyData *keys, int n, dp_prefer prefer,
					dp_row_lock lock, HeapTuple *tuple, dp_values *out)
{
	LOCKMODE	mode = lock == DP_ROW_READ ? AccessShareLock :
	RowExclusiveLock;
	Relation	rel = dp_catalog_open_table(table, mode);
	dp_found	found = DP_MISSING;
	bool		decided = false;

	while (!decided)
	{
		Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

		CHECK_FOR_INTERRUPTS();
		*tuple = choose_row(table, rel, index, snapshot, keys, n, prefer,
							out);
		decided = true;
		if (*tuple != NULL)
			found = DP_FOUND;
		if (*tuple != NULL && lock != DP_ROW_READ)
			switch (lock_row(rel, *tuple, snapshot, lock == DP_ROW_WAIT))
			{
				case TM_Ok:
					break;
				case TM_WouldBlock:
					found = DP_LOCKED;
					break;
				case TM_Updated:
				case TM_Deleted:
					found = DP_MISSING;
					decided = false;	/* try again with a new snapshot */
					break;
				default:
					elog(ERROR, "unexpected state of a row of the ledger");
			}
		UnregisterSnapshot(snapshot);
	}
	table_close(rel, NoLock);
	return found;
}

/*
 * dp_catalog_list_rows
 *	  The rows (dp_values *) with the keys that pass `wanted` (NULL: all),
 *	  palloc'd, in the order of the index.  Others take no memory.
 */
List *
dp_catalog_list_rows(const dp_table *table, const char *index,
					 const ScanKeyData *keys, int n, dp_wanted wanted)
{
	Relation	rel = dp_catalog_open_table(table, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	dp_scan		scan;
	HeapTuple	tuple;
	dp_values	seen;
	List	   *rows = NIL;

	table_access_make_values(table, rel, &seen);
	dp_catalog_start_scan(&scan, rel, index, snapshot, keys, n);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		dp_values  *row;

		CHECK_FOR_INTERRUPTS();
		if (wanted)
		{
			heap_deform_tuple(tuple, RelationGetDescr(rel), seen.value,
							  seen.null);
			if (!wanted(&seen))
				continue;
		}
		row = palloc(sizeof(dp_values));
		dp_catalog_read_row(table, rel, heap_copytuple(tuple), row);
		rows = lappend(rows, row);
	}
	dp_catalog_end_scan(&scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, NoLock);
	return rows;
}

/* Insert index entries for rows that were just stored. */
static void
insert_index_entries(Relation rel, TupleTableSlot **slots, int n, bool update)
{
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *result = makeNode(ResultRelInfo);
	int			i;

	InitResultRelInfo(result, rel, 0, NULL, 0);
	ExecOpenIndices(result, false);
	for (i = 0; i < n; i++)
	{
		(void) ExecInsertIndexTuples(result, slots[i], estate, update, false,
									 NULL, NIL, false);
		ResetPerTupleExprContext(estate);
	}
	ExecCloseIndices(result);
	FreeExecutorState(estate);
}

/*
 * dp_catalog_update_row
 *	  Update the columns that are set, in a row that the caller has locked.
 *	  The change is visible to later commands of the transaction.
 */
void
dp_catalog_update_row(const dp_table *table, HeapTuple old,
					  const dp_values *values)
{
	Relation	rel = dp_catalog_open_table(table, RowExclusiveLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	HeapTuple	tuple = heap_modify_tuple(old, RelationGetDescr(rel),
										  values->value, values->null,
										  values->set);
	dp_index_update update_indexes;

	ExecForceStoreHeapTuple(tuple, slot, false);
	simple_table_tuple_update(rel, &old->t_self, slot, InvalidSnapshot,
							  &update_indexes);
	if (update_indexes != DP_INDEX_UPDATE_NONE)
		insert_index_entries(rel, &slot, 1, true);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* dp_catalog_append_rows: insert rows, in order. */
void
dp_catalog_append_rows(const dp_table *table, dp_values *rows, int n)
{
	Relation	rel = dp_catalog_open_table(table, RowExclusiveLock);
	TupleTableSlot **slots = palloc(sizeof(TupleTableSlot *) * n);
	int			i;

	for (i = 0; i < n; i++)
	{
		TupleTableSlot *slot = table_slot_create(rel, NULL);

		memcpy(slot->tts_values, rows[i].value, sizeof(Datum) * rows[i].n);
		memcpy(slot->tts_isnull, rows[i].null, sizeof(bool) * rows[i].n);
		slots[i] = ExecStoreVirtualTuple(slot);
	}
	table_multi_insert(rel, slots, n, GetCurrentCommandId(true), 0, NULL);
	insert_index_entries(rel, slots, n, false);
	for (i = 0; i < n; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* dp_catalog_delete_row: remove a row that the caller has locked. */
void
dp_catalog_delete_row(const dp_table *table, HeapTuple old)
{
	Relation	rel = dp_catalog_open_table(table, RowExclusiveLock);

	simple_table_tuple_delete(rel, &old->t_self, InvalidSnapshot);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* ----------------
 *		SQL on the extension's own tables, for changes that need their
 *		triggers, defaults or constraints.
 *
 * SPI must be connected as the owner of the extension (owner_sql.c).
 * ----------------
 */

/*
 * dp_catalog_run
 *	  Run a statement with n arguments.  `nulls`, unless NULL, has 'n' for NULL
 *	  arguments.  Returns the number of rows returned or changed.
 */
uint64
dp_catalog_run(const char *statement, int n, Oid *types, Datum *values,
			   const char *nulls)
{
	int			result = SPI_execute_with_args(statement, n, types, values,
											   nulls, false, 0);

	if (result < 0)
		elog(ERROR, "could not run: %s: %s", statement,
			 SPI_result_code_string(result));
	return SPI_processed;
}

/* dp_catalog_run_as_owner: the same; connects as the owner itself. */
void
dp_catalog_run_as_owner(const char *statement, int n, Oid *types,
						Datum *values, const char *nulls)
{
	dp_owner_sql saved;

	dp_bridge_owner_begin(&saved);
	(void) dp_catalog_run(statement, n, types, values, nulls);
	dp_bridge_owner_end(&saved);
}

/*
 * dp_catalog_result
 *	  A value of the last result, which must not be NULL; columns count from 1.
 */
Datum
dp_catalog_result(int row, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[row],
									  SPI_tuptable->tupdesc, column, &isnull);

	if (isnull)
		elog(ERROR, "column %d of the extension's catalog is null", column);
	return value;
}
