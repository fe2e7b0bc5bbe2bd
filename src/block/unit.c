/*
 * unit.c
 *	  Proof that a protected relation has one row per privacy unit, and checks
 *	  that units can be told apart and compared with those of another relation.
 *
 * The proof is made at every planning and again, for the snapshot that reads
 * the rows, at every execution; it depends only on the catalog: a table
 * without a unit column is one row per person; a table with one needs a valid,
 * immediate, complete unique index on exactly that column, NOT NULL, and no
 * inheritance children (whose rows the index does not see).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../places/dp_value_bytes.h"
#include "read_rows.h"

/* Is the index on exactly these columns, which are distinct, in any order? */
static bool
is_of_columns(Form_pg_index index, const List *columns)
{
	int			i;

	if (index->indnkeyatts != list_length(columns))
		return false;
	for (i = 0; i < index->indnkeyatts; i++)
	{
		int			j;

		if (!list_member_int(columns, index->indkey.values[i]))
			return false;
		for (j = 0; j < i; j++)
			if (index->indkey.values[j] == index->indkey.values[i])
				return false;
	}
	return true;
}

static bool
index_proves_unique(Oid index, const List *columns, Snapshot snapshot)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	bool		proves;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	proves = form->indisunique && form->indisvalid && form->indimmediate &&
		form->indislive && is_of_columns(form, columns) &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL) &&
		heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) &&
		dp_catalog_visible_to(tuple, snapshot);
	ReleaseSysCache(tuple);
	return proves;
}

/*
 * Was the part of a partition tree attached before the snapshot?  Rows that
 * an old snapshot sees in a part attached since were never proved unique.
 */
static bool
attachment_visible(Oid part, Snapshot snapshot)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		visible = true;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(part));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		visible = visible && dp_catalog_visible_to(tuple, snapshot);
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return visible;
}

static bool
parts_visible(Oid relid, Snapshot snapshot)
{
	List	   *parts;
	ListCell   *lc;

	if (snapshot == NULL)
		return true;
	parts = find_all_inheritors(relid, AccessShareLock, NULL);
	foreach(lc, parts)
		if (lfirst_oid(lc) != relid &&
			!attachment_visible(lfirst_oid(lc), snapshot))
			return false;
	return true;
}

/*
 * dp_block_proved_not_null
 *	  Is the column provably never NULL, by a proof that the snapshot sees?
 *	  The snapshot is NULL at planning.
 */
bool
dp_block_proved_not_null(Oid relid, AttrNumber attnum, Snapshot snapshot)
{
	HeapTuple	tuple = dp_compat_not_null_proof(relid, attnum);
	bool		proved;

	if (!HeapTupleIsValid(tuple))
		return false;
	proved = dp_catalog_visible_to(tuple, snapshot);
	heap_freetuple(tuple);
	return proved;
}

/* A table whose last child is gone is said to have some until VACUUM. */
static bool
has_children(Oid relid)
{
	return has_subclass(relid) &&
		find_inheritance_children(relid, NoLock) != NIL;
}

static bool
columns_proved_unique(Relation rel, const List *columns, Snapshot snapshot)
{
	List	   *indexes;
	ListCell   *lc;
	bool		proved = false;

	foreach(lc, columns)
		if (!dp_block_proved_not_null(RelationGetRelid(rel), lfirst_int(lc),
									  snapshot))
			return false;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		if (!parts_visible(RelationGetRelid(rel), snapshot))
			return false;
	}
	else if (has_children(RelationGetRelid(rel)))
		return false;
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
		proved = proved || index_proves_unique(lfirst_oid(lc), columns,
											   snapshot);
	list_free(indexes);
	return proved;
}

/*
 * dp_block_has_one_row
 *	  Does the relation provably have at most one row per privacy unit?  The
 *	  caller holds a lock on it.  The proof must be visible to the snapshot,
 *	  unless that is NULL (at planning).
 */
bool
dp_block_has_one_row(const dp_relation *relation, Snapshot snapshot)
{
	Relation	rel;
	bool		proved;

	if (relation->unit == NULL)
		return true;
	if (relation->unit_steps != NIL)
		return false;
	rel = table_open(relation->relid, NoLock);
	proved = columns_proved_unique(rel, list_make1_int(relation->unit_attnum),
								   snapshot);
	table_close(rel, NoLock);
	return proved;
}

/*
 * dp_block_is_key
 *	  Are columns of a relation, which the caller has locked, provably unique
 *	  together and never NULL, by a proof that the snapshot sees?
 */
bool
dp_block_is_key(Oid relid, const List *columns, Snapshot snapshot)
{
	Relation	rel = table_open(relid, NoLock);
	bool		proved = columns_proved_unique(rel, columns, snapshot);

	table_close(rel, NoLock);
	return proved;
}

/*
 * dp_block_refuse_many
 *	  The refusal where a unit must have one row, and this is not proved for
 *	  the relation.
 */
dp_refusal *
dp_block_refuse_many(const dp_relation *relation)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							relation->unit_steps != NIL ?
							psprintf("The privacy unit is behind a key (%s), "
									 "so one unit may have many rows.",
									 relation->unit) :
							psprintf("Column \"%s\" names the privacy unit "
									 "but is not provably unique, so one unit "
									 "may have many rows.", relation->unit),
							"This needs one row per unit; if the column is "
							"unique, let a primary key or a UNIQUE index and "
							"NOT NULL prove it.",
							"relation \"%s\" may have many rows per privacy "
							"unit", get_rel_name(relation->relid));
}

static bool
tells_apart(Oid type, Oid collation)
{
	return dp_places_read_way(getBaseType(type)) != DP_READ_NONE &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

static dp_refusal *
refuse_type(const dp_relation *relation, Oid type)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							psprintf("Units of column \"%s\" cannot be told "
									 "apart by their bytes; its type, or that "
									 "of a key that it is behind, is %s.",
									 relation->unit, format_type_be(type)),
							"The owner should number the people, or give the "
							"column a built-in type and a deterministic "
							"collation.",
							"rows of a unit in relation \"%s\" cannot be "
							"bounded", get_rel_name(relation->relid));
}

/*
 * dp_block_check_unit_type
 *	  Refuses a relation whose units, or the keys that they are behind, cannot
 *	  be told apart by their bytes.  They could when it was protected; types of
 *	  columns may have changed.
 */
dp_refusal *
dp_block_check_unit_type(const dp_relation *relation)
{
	ListCell   *lc;

	if (!tells_apart(relation->unit_type, relation->unit_collation))
		return refuse_type(relation, relation->unit_type);
	foreach(lc, relation->unit_steps)
	{
		const dp_unit_step *step = lfirst(lc);
		ListCell   *key;

		foreach(key, step->key)
		{
			Oid			type;
			int32		typmod;
			Oid			collation;

			get_atttypetypmodcoll(step->relid, lfirst_int(key), &type, &typmod,
								  &collation);
			if (!tells_apart(type, collation))
				return refuse_type(relation, type);
		}
	}
	return NULL;
}

/* ---- of two relations ---- */

static bool
is_whole_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Are equal units of both types the same bytes, or the same number? */
static bool
units_match(Oid a, Oid b)
{
	if (a == b || (is_whole_number(a) && is_whole_number(b)))
		return true;
	return (a == TEXTOID || a == VARCHAROID) &&
		(b == TEXTOID || b == VARCHAROID);
}

static Oid
unit_type(const dp_relation *relation)
{
	return getBaseType(relation->unit_type);
}

/* dp_block_check_units: refuses relations whose units cannot be compared. */
dp_refusal *
dp_block_check_units(const dp_relation *relation, const dp_relation *first)
{
	const char *name = get_rel_name(relation->relid);

	if (relation->unit == NULL)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"Each of its rows is a privacy unit, and no "
								"column tells which.",
								"Ask its owner to protect it with a unit "
								"column.",
								"relation \"%s\" cannot be joined privately",
								name);
	if (!units_match(unit_type(relation), unit_type(first)))
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"Their units are of different types.",
								"Ask their owner to give them one type.",
								"relations \"%s\" and \"%s\" cannot be joined "
								"privately", get_rel_name(first->relid), name);
	return dp_block_check_unit_type(relation);
}
