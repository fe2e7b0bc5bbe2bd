/*
 * declare_unit.c
 *	  The unit that dp_protect is told.
 *
 * A path of keys needs no foreign key: what that would add is that there
 * always is a row with a unit.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/typcache.h"

#include "relation_internal.h"

/*
 * A unit is a column whose equality is built in and bytewise decided: units
 * are grouped and joined by it.  Likewise the key that it is behind.
 */
static void
check_unit(Oid relid, const char *unit)
{
	AttrNumber	attnum = get_attnum(relid, unit);
	Oid			type;
	int32		typmod;
	Oid			collation;
	TypeCacheEntry *entry;

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						unit, get_rel_name(relid)),
				 errdetail("The unit is the column that says whose row it "
						   "is."),
				 errhint("Spell its name exactly as the catalog does, "
						 "including upper and lower case.")));
	get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
	entry = lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR_FINFO);
	if (!OidIsValid(entry->eq_opr) ||
		entry->type_id >= FirstNormalObjectId ||
		entry->eq_opr_finfo.fn_oid >= FirstNormalObjectId ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" cannot be a privacy unit", unit),
				 errdetail("A unit needs a built-in type with equality and a "
						   "deterministic collation; the column has type %s.",
						   format_type_be(type)),
				 errhint("Number the people, and use the column with their "
						 "numbers.")));
}

/* ---- a path ---- */

static void
raise_path(const char *path, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unit \"%s\" is not a path to a privacy unit", path),
			 errdetail("%s", detail),
			 errhint("Write it as 'order_id -> orders.customer_id', where "
					 "order_id has values of the primary key of orders, and "
					 "orders is protected in the same dataset with unit "
					 "customer_id.")));
}

/* Cut the text before the first arrow, or all of it; *text: what follows. */
static List *
read_names(char **text, const char *path)
{
	char	   *arrow = strstr(*text, "->");
	char	   *part = *text;

	*text = arrow == NULL ? NULL : arrow + 2;
	if (arrow != NULL)
		*arrow = '\0';
	if (part[strspn(part, " \t\n")] == '\0')
		raise_path(path, "There is nothing before or after an arrow.");
	return dp_compat_qualified_names(part);
}

/* "relation.column": the relation; *column, of its own unit. */
static Oid
read_step(List *names, const char *path, char **column)
{
	if (list_length(names) < 2)
		raise_path(path, "After an arrow there is a relation and its column.");
	*column = strVal(llast(names));
	names = list_truncate(list_copy(names), list_length(names) - 1);
	return RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, false);
}

static void
check_step(Oid relid, const char *column, const char *dataset,
		   const char *path, dp_relation_row *row)
{
	if (!dp_catalog_find_relation(relid, row) || !row->has_unit ||
		strcmp(NameStr(row->dataset), dataset) != 0)
		raise_path(path, psprintf("Relation \"%s\" is not protected in "
								  "dataset \"%s\" with a unit of its own.",
								  get_rel_name(relid), dataset));
	if (strcmp(NameStr(row->unit), column) != 0)
		raise_path(path, psprintf("The unit of relation \"%s\" is \"%s\".",
								  get_rel_name(relid),
								  dp_protect_unit_text(row)));
}

/* The primary key that a column refers to. */
static AttrNumber
find_key(Oid relid, const char *column, Oid through, const char *path)
{
	AttrNumber	attnum = get_attnum(relid, column);
	AttrNumber	key = dp_protect_primary_key(through);

	if (attnum <= 0)
		raise_path(path, psprintf("Relation \"%s\" has no column \"%s\".",
								  get_rel_name(relid), column));
	if (key == InvalidAttrNumber)
		raise_path(path, psprintf("Relation \"%s\" has no primary key of one "
								  "column.", get_rel_name(through)));
	check_unit(through, get_attname(through, key, false));
	if (!dp_protect_keys_match(get_atttype(relid, attnum),
							   get_atttype(through, key)))
		raise_path(path, psprintf("Column \"%s\" has another type than the "
								  "primary key of relation \"%s\".", column,
								  get_rel_name(through)));
	return key;
}

/* A path that comes back would have no end. */
static void
check_end(Oid relid, Oid through, const char *path)
{
	dp_relation_row row;
	int			steps = 0;

	while (OidIsValid(through))
	{
		if (through == relid || steps++ == DP_PROTECT_STEPS)
			raise_path(path, through == relid ?
					   "It comes back to the relation itself." :
					   "It has too many steps.");
		if (!dp_catalog_find_relation(through, &row))
			return;
		through = row.unit_through;
	}
}

/*
 * The first relation of a path, locked: what its unit is cannot change until
 * others see that a path leads there.
 */
static Oid
read_first_step(List *names, const char *path, const char *dataset,
				dp_relation_row *row)
{
	char	   *column;
	Oid			relid = read_step(names, path, &column);

	check_step(relid, column, dataset, path, row);
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	check_step(relid, column, dataset, path, row);
	return relid;
}

/*
 * Fill in the column that a path begins with, the relation whose primary key
 * it refers to, and the key.  Further steps must be those of that relation.
 */
static void
read_path(Oid relid, const char *path, const char *dataset,
		  dp_relation_row *unit)
{
	char	   *rest = pstrdup(path);
	List	   *names = read_names(&rest, path);
	char	   *first = strVal(linitial(names));
	dp_relation_row row = {0};
	Oid			through;

	if (list_length(names) != 1)
		raise_path(path, "It begins with a column of the relation.");
	through = read_first_step(read_names(&rest, path), path, dataset, &row);
	while (rest != NULL)
	{
		char	   *column;
		Oid			next = read_step(read_names(&rest, path), path, &column);

		if (next != row.unit_through)
			raise_path(path, psprintf("The unit of the relation before \"%s\" "
									  "is not behind that.",
									  get_rel_name(next)));
		check_step(next, column, dataset, path, &row);
	}
	check_end(relid, through, path);
	unit->unit_through = through;
	unit->unit_key_attnum = find_key(relid, first, through, path);
	namestrcpy(&unit->unit, first);
	namestrcpy(&unit->unit_key,
			   get_attname(through, unit->unit_key_attnum, false));
}

/*
 * dp_protect_read_unit
 *	  What dp_protect is told of the unit, nothing, a column or a path of keys,
 *	  as a row of dp_pg.relation of which the rest is empty.
 *
 * Errors: 42703 no such column; 42P01 no such relation; 22023 for a column
 * that cannot be one, and for what is no path.
 */
void
dp_protect_read_unit(Oid relid, const char *unit, const char *dataset,
					 dp_relation_row *row)
{
	MemSet(row, 0, sizeof(*row));
	row->relid = relid;
	row->has_unit = unit != NULL;
	if (unit == NULL)
		return;
	if (get_attnum(relid, unit) == InvalidAttrNumber &&
		strstr(unit, "->") != NULL)
		read_path(relid, unit, dataset, row);
	else
	{
		check_unit(relid, unit);
		namestrcpy(&row->unit, unit);
	}
}

/*
 * dp_protect_forbid_behind
 *	  2BP01 while the unit of another relation is behind this one.
 */
void
dp_protect_forbid_behind(Oid relid, const char *what)
{
	Oid			other = dp_catalog_relation_behind(relid);

	if (!OidIsValid(other))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot %s relation \"%s\" because the unit of another "
					"is behind it", what, get_rel_name(relid)),
			 errdetail("A row of relation \"%s\" has the unit of the row that "
					   "it refers to here.", get_rel_name(other)),
			 errhint("Call dp_unprotect('%s') first.",
					 dp_protect_qualified_name(other))));
}
