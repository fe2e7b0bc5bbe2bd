/*
 * declare_unit.c
 *	  The unit that dp_protect is told.
 *
 * A path of keys needs no foreign key: what that would add is that there
 * always is a row with a unit.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
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
raise_path_hint(const char *path, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unit \"%s\" is not a path to a privacy unit", path),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static void
raise_path(const char *path, const char *detail)
{
	raise_path_hint(path, detail,
					"Write it as 'order_id -> orders.customer_id', where "
					"order_id has values of the primary key of orders, and "
					"orders is protected in the same dataset with unit "
					"customer_id.");
}

/* Cut the text before the first arrow, or all of it; *text: what follows. */
static char *
read_part(char **text, const char *path)
{
	char	   *arrow = strstr(*text, "->");
	char	   *part = *text;
	char	   *end;

	*text = arrow == NULL ? NULL : arrow + 2;
	if (arrow != NULL)
		*arrow = '\0';
	part += strspn(part, " \t\n");
	for (end = part + strlen(part); end > part &&
		 strchr(" \t\n", end[-1]) != NULL; end--)
		end[-1] = '\0';
	if (part[0] == '\0')
		raise_path(path, "There is nothing before or after an arrow.");
	return part;
}

/* The first such character that no quotes surround; NULL: there is none. */
static char *
find_unquoted(char *text, char wanted)
{
	bool		quoted = false;

	for (; *text != '\0'; text++)
	{
		if (*text == '"')
			quoted = !quoted;
		else if (*text == wanted && !quoted)
			return text;
	}
	return NULL;
}

/* "column" or "(column, column)": names, as SQL reads them. */
static List *
read_columns(char *part, const char *path)
{
	List	   *columns = NIL;
	bool		several = part[0] == '(' && part[strlen(part) - 1] == ')';
	char	   *comma;

	if (!several && find_unquoted(part, ',') != NULL)
		raise_path(path, "Several columns stand in parentheses, as in "
				   "'(order_id, day) -> orders.customer_id'.");
	if (several)
	{
		part[strlen(part) - 1] = '\0';
		part++;
	}
	do
	{
		List	   *names;

		comma = several ? find_unquoted(part, ',') : NULL;
		if (comma != NULL)
			*comma = '\0';
		if (part[strspn(part, " \t\n")] == '\0')
			raise_path(path, "There is nothing where a column should be.");
		names = dp_compat_qualified_names(part);
		if (list_length(names) != 1)
			raise_path(path, "It begins with a column of the relation.");
		columns = lappend(columns, strVal(linitial(names)));
		part = comma + 1;
	} while (comma != NULL);
	return columns;
}

static Oid
find_relation(List *names, bool missing_ok)
{
	return RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock,
							missing_ok);
}

/* The step is a relation, and names no column. */
static void
raise_bare_step(const char *step, Oid relid, const char *path)
{
	const char *place = strstr(strstr(path, "->"), step);
	dp_relation_row row;
	bool		known = dp_catalog_find_relation(relid, &row) && row.has_unit;
	const char *end = known ? dp_protect_end_text(relid, &row) :
		psprintf("%s.column", step);
	raise_path_hint(path,
					psprintf("After an arrow there is a relation and the "
							 "column of its unit, and \"%s\" is a relation.",
							 step),
					psprintf(known ? "Write it as %s." : "Protect it first "
							 "with a unit, and write %s, with the column of "
							 "that.",
							 quote_literal_cstr(psprintf("%.*s%s%s",
														 (int) (place - path),
														 path, end,
														 place +
														 strlen(step)))));
}

/* "relation.column", "relation.(column, column)", or without the dot there. */
static Oid
read_step(char *part, const char *path, List **columns)
{
	const char *step = pstrdup(part);
	char	   *open = find_unquoted(part, '(');
	List	   *names;
	List	   *before;
	Oid			relid = InvalidOid;

	if (open != NULL && open > part)
	{
		*columns = read_columns(pstrdup(open), path);
		*(open[-1] == '.' ? open - 1 : open) = '\0';
		return find_relation(dp_compat_qualified_names(part), false);
	}
	names = dp_compat_qualified_names(part);
	before = list_truncate(list_copy(names), list_length(names) - 1);
	if (before != NIL)
		relid = find_relation(before, true);
	if (OidIsValid(relid))
	{
		*columns = list_make1(strVal(llast(names)));
		return relid;
	}
	relid = find_relation(names, true);
	if (OidIsValid(relid))
		raise_bare_step(step, relid, path);
	if (before == NIL)
		raise_path(path, "After an arrow there is a relation and the column "
				   "of its unit.");
	return find_relation(before, false);
}

/* Are these the columns of the unit of a row? */
static bool
has_columns(const dp_relation_row *row, const List *names)
{
	List	   *columns = dp_protect_unit_columns(row);
	ListCell   *lc;
	ListCell   *lc2;

	if (list_length(columns) != list_length(names))
		return false;
	forboth(lc, columns, lc2, names)
		if (strcmp(NameStr(((dp_unit_column *) lfirst(lc))->from),
				   lfirst(lc2)) != 0)
			return false;
	return true;
}

static void
check_step(Oid relid, const List *columns, const char *dataset,
		   const char *path, dp_relation_row *row)
{
	const char *name = dp_protect_qualified_name(relid);

	if (!dp_catalog_find_relation(relid, row))
		raise_path_hint(path,
						psprintf("Relation \"%s\" is not protected.",
								 get_rel_name(relid)),
						psprintf("Protect it first: SELECT dp_protect(%s, "
								 "unit => %s, dataset => %s);",
								 quote_literal_cstr(name),
								 list_length(columns) == 1 &&
								 get_attnum(relid, linitial(columns)) > 0 ?
								 quote_literal_cstr(linitial(columns)) :
								 "...", quote_literal_cstr(dataset)));
	if (!row->has_unit ||
		strcmp(NameStr(row->dataset), dataset) != 0)
		raise_path(path, psprintf("Relation \"%s\" is not protected in "
								  "dataset \"%s\" with a unit of its own.",
								  get_rel_name(relid), dataset));
	if (!has_columns(row, columns))
		raise_path_hint(path,
						psprintf("The unit of relation \"%s\" is \"%s\".",
								 get_rel_name(relid),
								 dp_protect_unit_text(row)),
						psprintf("After the arrow write %s.",
								 dp_protect_end_text(relid, row)));
}

/* ---- the key that a path begins with ---- */

/*
 * The path whose columns are those that were named, each for a column of the
 * key with its type, and for the rest of the key those of the same names;
 * NULL: they are not all found.
 */
static char *
guess_path(Oid relid, const List *named, Oid through,
		   const dp_relation_row *row)
{
	List	   *key = dp_protect_primary_key(through);
	char	  **chosen = palloc0(sizeof(char *) * (list_length(key) + 1));
	List	   *tried = list_copy(named);
	List	   *names = NIL;
	ListCell   *lc;
	int			i;

	foreach(lc, key)
		tried = lappend(tried, get_attname(through, lfirst_int(lc), false));
	foreach(lc, tried)
	{
		bool		is_named = foreach_current_index(lc) < list_length(named);
		char	   *name = lfirst(lc);
		AttrNumber	attnum = get_attnum(relid, name);
		int			best = -1;

		for (i = 0; attnum > 0 && i < list_length(key); i++)
		{
			AttrNumber	column = list_nth_int(key, i);
			bool		same;

			same = strcmp(get_attname(through, column, false), name) == 0;
			if (chosen[i] == NULL && (is_named ? best < 0 || same : same) &&
				dp_protect_keys_match(get_atttype(relid, attnum),
									  get_atttype(through, column)))
				best = i;
		}
		if (best >= 0)
			chosen[best] = name;
		else if (is_named)
			return NULL;
	}
	for (i = 0; i < list_length(key); i++)
	{
		if (chosen[i] == NULL)
			return NULL;
		names = lappend(names, chosen[i]);
	}
	return dp_protect_path_text(names, through, row);
}

/* One column was named for a key of two, or the like. */
static void
raise_columns(Oid relid, const List *names, Oid through, const char *path)
{
	const char *better = dp_protect_suggest_path(relid, through);
	const char *columns = dp_protect_key_text(through);
	const char *guess;
	dp_relation_row row = {0};

	(void) dp_catalog_find_relation(through, &row);
	guess = guess_path(relid, names, through, &row);
	raise_path_hint(path,
					psprintf("The primary key of relation \"%s\" is (%s).  A "
							 "path to it begins with as many columns, and "
							 "this one with %d.", get_rel_name(through),
							 columns, list_length(names)),
					better != NULL ?
					psprintf("Write it as %s.", quote_literal_cstr(better)) :
					guess != NULL ?
					psprintf("If those are the columns that refer to it, "
							 "write it as %s.", quote_literal_cstr(guess)) :
					psprintf("Name as many columns of relation \"%s\", in the "
							 "order of that key; or add the column \"%s\" to "
							 "it, filled from \"%s\", and protect it with "
							 "that as unit.", get_rel_name(relid),
							 NameStr(row.unit), get_rel_name(through)));
}

/* The columns that could refer to that of the key, as SQL has them; or "". */
static char *
list_matching(Oid relid, Oid through, AttrNumber key)
{
	Relation	relation = table_open(relid, NoLock);
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < RelationGetNumberOfAttributes(relation); i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(relation),
												 i);

		if (!column->attisdropped &&
			dp_protect_keys_match(column->atttypid, get_atttype(through, key)))
			appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
							 quote_identifier(NameStr(column->attname)));
	}
	table_close(relation, NoLock);
	return text.data;
}

/* What the path begins with is no column of the relation. */
static void
raise_no_column(Oid relid, const char *name, Oid through, AttrNumber key,
				const char *path)
{
	const char *better = dp_protect_suggest_path(relid, through);
	const char *matching = list_matching(relid, through, key);
	const char *column = get_attname(through, key, false);

	raise_path_hint(path,
					psprintf("Relation \"%s\" has no column \"%s\".",
							 get_rel_name(relid), name),
					better != NULL ?
					psprintf("Write it as %s.", quote_literal_cstr(better)) :
					matching[0] == '\0' ?
					psprintf("No column of it has the type of column \"%s\" "
							 "of relation \"%s\".", column,
							 get_rel_name(through)) :
					psprintf("Columns of it that can have values of column "
							 "\"%s\" of relation \"%s\" are: %s.", column,
							 get_rel_name(through), matching));
}

/* One column, and that of the key which it refers to. */
static dp_unit_column *
pair_columns(Oid relid, char *name, Oid through, AttrNumber key,
			 const char *path)
{
	AttrNumber	attnum = get_attnum(relid, name);
	dp_unit_column *column = palloc0(sizeof(dp_unit_column));

	if (attnum <= 0)
		raise_no_column(relid, name, through, key, path);
	check_unit(through, get_attname(through, key, false));
	if (!dp_protect_keys_match(get_atttype(relid, attnum),
							   get_atttype(through, key)))
		raise_path_hint(path,
						psprintf("Column \"%s\" has another type than column "
								 "\"%s\" of the primary key of relation "
								 "\"%s\".", name,
								 get_attname(through, key, false),
								 get_rel_name(through)),
						psprintf("Name columns of these types, in the order "
								 "of the primary key: (%s).",
								 dp_protect_key_text(through)));
	namestrcpy(&column->from, name);
	column->from_attnum = attnum;
	namestrcpy(&column->key, get_attname(through, key, false));
	column->key_attnum = key;
	return column;
}

static void
check_different(const List *names, const char *path)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, names)
		for_each_from(lc2, names, foreach_current_index(lc) + 1)
			if (strcmp(lfirst(lc), lfirst(lc2)) == 0)
				raise_path(path, psprintf("It begins with column \"%s\" "
										  "twice.", (char *) lfirst(lc)));
}

/* The primary key that columns refer to, in its order. */
static void
read_key(Oid relid, const List *names, Oid through, const char *path,
		 dp_relation_row *unit)
{
	List	   *key = dp_protect_primary_key(through);
	dp_unit_column *first;
	const char *constraint;
	ListCell   *lc;
	ListCell   *lc2;

	if (key == NIL)
		raise_path_hint(path,
						psprintf("Relation \"%s\" has no primary key that is "
								 "checked at once.", get_rel_name(through)),
						"Give it one: that proves that a path leads to one "
						"row.");
	if (list_length(key) != list_length(names))
		raise_columns(relid, names, through, path);
	check_different(names, path);
	forboth(lc, names, lc2, key)
		unit->unit_more = lappend(unit->unit_more,
								  pair_columns(relid, lfirst(lc), through,
											   lfirst_int(lc2), path));
	first = linitial(unit->unit_more);
	unit->unit_more = list_delete_first(unit->unit_more);
	unit->unit = first->from;
	unit->unit_key = first->key;
	unit->unit_key_attnum = first->key_attnum;
	constraint = dp_protect_pairs_otherwise(unit);
	if (constraint != NULL)
		raise_path_hint(path,
						psprintf("The columns are those of foreign key "
								 "\"%s\", which refers by them to other "
								 "columns of the primary key (%s) than the "
								 "path does.", constraint,
								 dp_protect_key_text(through)),
						psprintf("Write it as %s.",
								 quote_literal_cstr(dp_protect_suggest_path
													(relid, through))));
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
 * The first relation of a path, locked: neither its name nor what its unit is
 * can change until others see that a path leads there.
 */
static Oid
read_first_step(char *part, const char *path, const char *dataset,
				dp_relation_row *row)
{
	List	   *columns;
	Oid			relid = read_step(pstrdup(part), path, &columns);
	Oid			now;

	for (;;)
	{
		check_step(relid, columns, dataset, path, row);
		LockRelationOid(relid, ShareUpdateExclusiveLock);
		now = read_step(pstrdup(part), path, &columns);
		if (now == relid)
			break;
		/* while we waited another table came to its name */
		UnlockRelationOid(relid, ShareUpdateExclusiveLock);
		relid = now;
	}
	check_step(relid, columns, dataset, path, row);
	return relid;
}

/*
 * Fill in the columns that a path begins with, the relation whose primary key
 * they refer to, and the key.  Further steps must be those of that relation.
 */
static void
read_path(Oid relid, const char *path, const char *dataset,
		  dp_relation_row *unit)
{
	char	   *rest = pstrdup(path);
	List	   *names = read_columns(read_part(&rest, path), path);
	dp_relation_row row = {0};
	Oid			through;

	through = read_first_step(read_part(&rest, path), path, dataset, &row);
	while (rest != NULL)
	{
		List	   *columns;
		Oid			next = read_step(read_part(&rest, path), path, &columns);

		if (next != row.unit_through)
			raise_path(path, psprintf("The unit of the relation before \"%s\" "
									  "is not behind that.",
									  get_rel_name(next)));
		check_step(next, columns, dataset, path, &row);
	}
	check_end(relid, through, path);
	unit->unit_through = through;
	read_key(relid, names, through, path, unit);
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
