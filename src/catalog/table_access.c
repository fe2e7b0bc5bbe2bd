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
#include "access/tupmacs.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/noise/dp_noise.h"
#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "dp_catalog.h"
#include "dp_table.h"

/* ----------------
 *		Rows as structs, by the table of their columns.
 * ----------------
 */

/* dp_catalog_neighbours_label: of the neighbouring relation, for a bool. */
const char *
dp_catalog_neighbours_label(int i)
{
	return i == 0 ? "add_remove" : i == 1 ? "replace_one" : NULL;
}

/* dp_catalog_filter_label: of a filter. */
const char *
dp_catalog_filter_label(int i)
{
	return i > DP_FILTER_ADVANCED ?
	NULL : dp_accounting_filter_name((dp_filter) i);
}

static void
raise_corrupted(const dp_table *table, const dp_column *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the extension's catalog holds an invalid value"),
			 errdetail("It is in column \"%s\" of dp_pg.%s.", column->name,
					   table->name)));
}

/*
 * Read a number.  Limits were rounded when they were granted, so every value
 * is on the grid; a sum above its range counts as infinite.
 */
static bool
read_fixed(Numeric numeric, dp_fixed *out)
{
	dp_number_fault fault;

	fault = dp_base_numeric_to_fixed(numeric, DP_ROUND_UP, out);
	if (fault == DP_NUMBER_INFINITE || fault == DP_NUMBER_TOO_LARGE)
		*out = DP_FIXED_INFINITE;
	else
		return fault == DP_NUMBER_OK;
	return true;
}

/* Read an integer; a field of 64 bits has no sign. */
static bool
read_int128(Numeric numeric, void *field, Size size)
{
	dp_int128	x = 0;

	if (!dp_base_numeric_to_int128(numeric, &x))
		return false;
	if (size == sizeof(x))
		memcpy(field, &x, sizeof(x));
	else
		*(uint64 *) field = (uint64) x;
	return size == sizeof(x) || (x >= 0 && x <= PG_UINT64_MAX);
}

/* Read an enum, or a bool. */
static bool
read_label(const dp_column *column, const char *text, void *field)
{
	const char *label;
	int			i;

	for (i = 0; (label = column->label(i)) != NULL; i++)
		if (strcmp(label, text) == 0)
		{
			store_att_byval(field, Int32GetDatum(i), column->size);
			return true;
		}
	return false;
}

/* Read a value that is not NULL; false: the field cannot have it. */
static bool
read_field(const dp_column *column, Datum value, void *field)
{
	dp_fixed	fixed = 0;

	switch (column->kind)
	{
		case DP_COLUMN_OTHER:
		case DP_COLUMN_JSON:
			break;
		case DP_COLUMN_VALUE:
			store_att_byval(field, value, column->size);
			break;
		case DP_COLUMN_BYTES:
			memcpy(field, DatumGetPointer(value), column->size);
			break;
		case DP_COLUMN_TEXT:
			*(char **) field = TextDatumGetCString(value);
			break;
		case DP_COLUMN_CHARS:
			strlcpy(field, TextDatumGetCString(value), column->size);
			break;
		case DP_COLUMN_LONG:
			*(Pointer *) field = DatumGetPointer(value);
			break;
		case DP_COLUMN_FIXED:
			if (!read_fixed(DatumGetNumeric(value), &fixed))
				return false;
			memcpy(field, &fixed, sizeof(fixed));
			break;
		case DP_COLUMN_INT128:
			return read_int128(DatumGetNumeric(value), field, column->size);
		case DP_COLUMN_LABEL:
			return read_label(column, TextDatumGetCString(value), field);
	}
	return true;
}

/* Fill in a struct.  Columns that an older installation lacks are NULL. */
static void
read_columns(const dp_table *table, const Datum *values, const bool *nulls,
			 int n, char *out)
{
	int			i;

	memset(out, 0, table->row_size);
	for (i = 0; i < table->ncolumns; i++)
	{
		const dp_column *column = &table->columns[i];

		if (i >= n || nulls[i])
		{
			if (column->kind != DP_COLUMN_OTHER && column->decisive_size == 0)
				raise_corrupted(table, column);
			continue;
		}
		if (column->decisive_size == sizeof(bool))
			*(bool *) (out + column->decisive) = true;
		if (!read_field(column, values[i], out + column->offset))
			raise_corrupted(table, column);
	}
}

/* The value of a column.  It may point into the struct. */
static Datum
form_value(const dp_column *column, const char *field)
{
	dp_int128	integer;
	dp_fixed	fixed;

	switch (column->kind)
	{
		case DP_COLUMN_OTHER:
			break;
		case DP_COLUMN_VALUE:
			return fetch_att(field, true, (int) column->size);
		case DP_COLUMN_BYTES:
			return PointerGetDatum(field);
		case DP_COLUMN_TEXT:
			return CStringGetTextDatum(*(char *const *) field);
		case DP_COLUMN_CHARS:
			return CStringGetTextDatum(field);
		case DP_COLUMN_JSON:
			return DirectFunctionCall1(jsonb_in,
									   CStringGetDatum(*(char *const *)
													   field));
		case DP_COLUMN_LONG:
			return PointerGetDatum(*(const Pointer *) field);
		case DP_COLUMN_FIXED:
			memcpy(&fixed, field, sizeof(fixed));
			return NumericGetDatum(dp_base_fixed_to_numeric(fixed));
		case DP_COLUMN_INT128:
			if (column->size == sizeof(integer))
				memcpy(&integer, field, sizeof(integer));
			else
				integer = *(const uint64 *) field;
			return NumericGetDatum(dp_base_int128_to_numeric(integer));
		case DP_COLUMN_LABEL:
			return CStringGetTextDatum(column->label((int)
													 fetch_att(field, true,
															   (int)
															   column->size)));
	}
	return (Datum) 0;
}

static bool
is_zero(const char *bytes, Size size)
{
	Size		i;

	for (i = 0; i < size && bytes[i] == 0; i++)
		;
	return i == size;
}

/*
 * The columns of `sets` (0: all) as values; others are NULL and not in
 * `replaced`, if that is not NULL.
 */
static void
form_columns(const dp_table *table, const char *row, int sets, Datum *values,
			 bool *nulls, bool *replaced)
{
	int			i;

	for (i = 0; i < table->ncolumns; i++)
	{
		const dp_column *column = &table->columns[i];
		bool		wanted = sets == 0 ? column->kind != DP_COLUMN_OTHER :
		(column->sets & sets) != 0;

		if (replaced)
			replaced[i] = wanted;
		nulls[i] = !wanted || (column->decisive_size > 0 &&
							   is_zero(row + column->decisive,
									   column->decisive_size));
		if (!nulls[i])
			values[i] = form_value(column, row + column->offset);
	}
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

	if (OidIsValid(dp_base_extension_oid()))
		relid = get_relname_relid(table->name,
								  dp_base_catalog_namespace());
	if (OidIsValid(relid))
		rel = try_relation_open(relid, mode);
	if (rel == NULL || !is_trusted(relid, RELKIND_RELATION) ||
		RelationGetNumberOfAttributes(rel) < table->ncolumns)
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

	if (!OidIsValid(dp_base_extension_oid()))
		return NULL;
	namespace = dp_base_catalog_namespace();
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
										  dp_base_catalog_namespace());

	if (!is_trusted(relid, RELKIND_SEQUENCE))
		raise_not_installed();
	return relid;
}

#ifdef USE_ASSERT_CHECKING
/* Whether columns are in the order of the SQL script. */
static bool
names_match(const dp_table *table, TupleDesc desc)
{
	int			i;

	for (i = 0; i < Min(desc->natts, table->ncolumns); i++)
		if (strcmp(NameStr(TupleDescAttr(desc, i)->attname),
				   table->columns[i].name) != 0)
			return false;
	return true;
}
#endif

/*
 * dp_catalog_read_row
 *	  The struct of a tuple, which must live as long as what DP_COLUMN_LONG
 *	  points to.
 */
void
dp_catalog_read_row(const dp_table *table, Relation rel, HeapTuple tuple,
					void *out)
{
	int			n = RelationGetNumberOfAttributes(rel);
	Datum	   *values = palloc((sizeof(Datum) + sizeof(bool)) * n);
	bool	   *nulls = (bool *) (values + n);

	Assert(names_match(table, RelationGetDescr(rel)));
	heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
	read_columns(table, values, nulls, n, out);
	pfree(values);
}

/* dp_catalog_column: the number of a column. */
AttrNumber
dp_catalog_column(const dp_table *table, const char *name)
{
	int			i;

	for (i = 0; i < table->ncolumns; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return i + 1;
	elog(ERROR, "dp_pg.%s has no column \"%s\"", table->name, name);
}

/* dp_catalog_key: a scan key for equality of a name, oid or bigint. */
void
dp_catalog_key(ScanKeyData *key, const dp_table *table, const char *column,
			   Datum value)
{
	AttrNumber	number = dp_catalog_column(table, column);
	Size		size = table->columns[number - 1].size;

	ScanKeyInit(key, number, BTEqualStrategyNumber,
				size == NAMEDATALEN ? F_NAMEEQ :
				size == sizeof(Oid) ? F_OIDEQ : F_INT8EQ, value);
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

/*
 * dp_catalog_start_rows
 *	  Scan a table as planning does: as any user and in any transaction, by the
 *	  primary key, with a catalog snapshot.  If the extension is not installed,
 *	  there are no rows.
 */
void
dp_catalog_start_rows(dp_scan *scan, const dp_table *table,
					  const ScanKeyData *keys, int n)
{
	Relation	rel = dp_catalog_try_table(table);

	scan->table = table;
	scan->rel = rel;
	if (rel != NULL)
		dp_catalog_start_scan(scan, rel, NULL, NULL, keys, n);
}

/* dp_catalog_next_row: read the next row; false: there is none. */
bool
dp_catalog_next_row(dp_scan *scan, void *out)
{
	HeapTuple	tuple = scan->rel ? dp_catalog_next(scan) : NULL;

	if (!HeapTupleIsValid(tuple))
		return false;
	dp_catalog_read_row(scan->table, scan->rel, tuple, out);
	return true;
}

/* dp_catalog_end_rows: close the table of dp_catalog_start_rows. */
void
dp_catalog_end_rows(dp_scan *scan)
{
	if (scan->rel == NULL)
		return;
	dp_catalog_end_scan(scan);
	table_close(scan->rel, AccessShareLock);
}

/* Room for a struct, aligned for 128-bit integers. */
static void *
allocate_row(const dp_table *table)
{
	return (void *) TYPEALIGN(16, palloc(table->row_size + 16));
}

/* A copy of the preferred row with the keys, or NULL. */
static HeapTuple
choose_row(const dp_table *table, Relation rel, const char *index,
		   Snapshot snapshot, const ScanKeyData *keys, int n, dp_prefer prefer,
		   void *out)
{
	void	   *row = allocate_row(table);
	dp_scan		scan;
	HeapTuple	tuple;
	HeapTuple	best = NULL;

	dp_catalog_start_scan(&scan, rel, index, snapshot, keys, n);
	while ((best == NULL || prefer) &&
		   HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		tuple = heap_copytuple(tuple);
		dp_catalog_read_row(table, rel, tuple, row);
		if (prefer && !prefer(row, best ? out : NULL))
			continue;
		memcpy(out, row, table->row_size);
		best = tuple;
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
 * DP_LOCKED is returned for DP_ROW_SKIP_LOCKED only.  The struct begins with
 * the tuple, palloc'd, for dp_catalog_update_row; it is zero if there is no
 * such row.
 */
dp_found
dp_catalog_find_row(const dp_table *table, const char *index,
					const ScanKeyData *keys, int n, dp_prefer prefer,
					dp_row_lock lock, void *out)
{
	LOCKMODE	mode = lock == DP_ROW_READ ? AccessShareLock :
	RowExclusiveLock;
	Relation	rel = dp_catalog_open_table(table, mode);
	dp_found	found = DP_MISSING;
	bool		decided = false;

	while (!decided)
	{
		Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
		HeapTuple	tuple;

		CHECK_FOR_INTERRUPTS();
		memset(out, 0, table->row_size);
		tuple = choose_row(table, rel, index, snapshot, keys, n, prefer, out);
		*(HeapTuple *) out = tuple;
		decided = true;
		if (tuple != NULL)
			found = DP_FOUND;
		if (tuple != NULL && lock != DP_ROW_READ)
			switch (lock_row(rel, tuple, snapshot, lock == DP_ROW_WAIT))
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
 *	  The rows with the keys that pass `wanted` (NULL: all), palloc'd structs
 *	  in the order of the index, at most so many (0: all).  Others take no
 *	  memory.
 */
List *
dp_catalog_list_rows(const dp_table *table, const char *index,
					 const ScanKeyData *keys, int n, dp_wanted wanted,
					 int most)
{
	Relation	rel = dp_catalog_open_table(table, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dp_pg row",
												  ALLOCSET_SMALL_SIZES);
	void	   *seen = allocate_row(table);
	dp_scan		scan;
	HeapTuple	tuple;
	List	   *rows = NIL;

	dp_catalog_start_scan(&scan, rel, index, snapshot, keys, n);
	while ((most == 0 || list_length(rows) < most) &&
		   HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		void	   *row;

		CHECK_FOR_INTERRUPTS();
		if (wanted)
		{
			MemoryContext before = MemoryContextSwitchTo(context);
			bool		is_wanted;

			dp_catalog_read_row(table, rel, tuple, seen);
			is_wanted = wanted(seen);
			MemoryContextSwitchTo(before);
			MemoryContextReset(context);
			if (!is_wanted)
				continue;
		}
		row = allocate_row(table);
		dp_catalog_read_row(table, rel, heap_copytuple(tuple), row);
		rows = lappend(rows, row);
	}
	dp_catalog_end_scan(&scan);
	MemoryContextDelete(context);
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
 *	  Update columns, as bits of their sets, in a row that dp_catalog_find_row
 *	  has locked.  The change is visible to later commands of the transaction.
 */
void
dp_catalog_update_row(const dp_table *table, const void *row, int sets)
{
	Relation	rel = dp_catalog_open_table(table, RowExclusiveLock);
	int			n = RelationGetNumberOfAttributes(rel);
	Datum	   *values = palloc0((sizeof(Datum) + 2 * sizeof(bool)) * n);
	bool	   *nulls = (bool *) (values + n);
	bool	   *replaced = nulls + n;
	HeapTuple	old = *(HeapTuple const *) row;
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	dp_index_update update_indexes;

	form_columns(table, row, sets, values, nulls, replaced);
	ExecForceStoreHeapTuple(heap_modify_tuple(old, RelationGetDescr(rel),
											  values, nulls, replaced),
							slot, false);
	simple_table_tuple_update(rel, &old->t_self, slot, InvalidSnapshot,
							  &update_indexes);
	if (update_indexes != DP_INDEX_UPDATE_NONE)
		insert_index_entries(rel, &slot, 1, true);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* dp_catalog_insert_rows: insert structs, in order. */
void
dp_catalog_insert_rows(const dp_table *table, const void *rows, int n)
{
	Relation	rel = dp_catalog_open_table(table, RowExclusiveLock);
	TupleTableSlot **slots = palloc(sizeof(TupleTableSlot *) * n);
	int			i;

	for (i = 0; i < n; i++)
	{
		TupleTableSlot *slot = table_slot_create(rel, NULL);

		memset(slot->tts_isnull, true,
			   sizeof(bool) * RelationGetNumberOfAttributes(rel));
		form_columns(table, (const char *) rows + table->row_size * i, 0,
					 slot->tts_values, slot->tts_isnull, NULL);
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
 *	  Run a statement with n arguments.  Returns the number of rows returned or
 *	  changed.
 */
uint64
dp_catalog_run(const char *statement, const dp_argument *args, int n)
{
	Oid		   *types = palloc(sizeof(Oid) * Max(n, 1));
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	char	   *nulls = palloc(Max(n, 1));
	int			result;
	int			i;

	for (i = 0; i < n; i++)
	{
		types[i] = args[i].type;
		values[i] = args[i].value;
		nulls[i] = args[i].null ? 'n' : ' ';
	}
	result = SPI_execute_with_args(statement, n, types, values, nulls, false,
								   0);
	if (result < 0)
		elog(ERROR, "could not run: %s: %s", statement,
			 SPI_result_code_string(result));
	return SPI_processed;
}

/* dp_catalog_run_as_owner: the same; connects as the owner itself. */
void
dp_catalog_run_as_owner(const char *statement, const dp_argument *args, int n)
{
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	(void) dp_catalog_run(statement, args, n);
	dp_base_owner_end(&saved);
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
