/*
 * declare_unit.c
 *	  The unit argument of dp_protect, and the notices about it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "../base/dp_compat.h"
#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		Notices about a unit that dp_protect accepts.
 *
 * A wrong unit protects something other than people, which nothing shows
 * later: each order alone, say, though orders belong to customers.  Foreign
 * keys to protected relations of the dataset reveal such a case.  All notices
 * follow from definitions; no row is read.
 * ----------------
 */

/* ---- units that are NULL ---- */

/* The first nullable column of the unit, or NULL. */
static const char *
nullable_column(const dp_relation_row *unit)
{
	ListCell   *lc;

	foreach(lc, dp_protect_unit_columns(unit))
	{
		const char *name = NameStr(((dp_unit_column *) lfirst(lc))->from);
		HeapTuple	proof =
		dp_compat_not_null_proof(unit->relid, get_attnum(unit->relid, name));

		if (!HeapTupleIsValid(proof))
			return name;
		heap_freetuple(proof);
	}
	return NULL;
}

/*
 * Columns further along a path are not checked: the notice came when their own
 * relation was protected.
 */
static void
notice_null_units(const dp_relation_row *unit)
{
	const char *name = nullable_column(unit);

	if (name == NULL)
		return;
	ereport(NOTICE,
			(errmsg("rows of relation \"%s\" whose column \"%s\" is NULL are "
					"not counted", get_rel_name(unit->relid), name),
			 errdetail("The column says whose row it is, and may be NULL."),
			 errhint("To see how many there are, count them in the table; if "
					 "there are none, ALTER TABLE %s ALTER %s SET NOT NULL.",
					 dp_protect_qualified_name(unit->relid),
					 quote_identifier(name))));
}

/* ---- foreign keys that lead to units ---- */

/* A foreign key to another relation. */
typedef struct unit_lead
{
	const char *constraint;
	Oid			through;
	List	   *from;			/* of int: its columns */
	List	   *key;			/* and the column of `through` for each */
} unit_lead;

static List *
list_leads(Oid relid)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	List	   *leads = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, ConstraintRelidTypidNameIndexId, true, NULL,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		unit_lead  *lead;

		if (form->contype != CONSTRAINT_FOREIGN || form->confrelid == relid)
			continue;
		lead = palloc(sizeof(unit_lead));
		lead->constraint = pstrdup(NameStr(form->conname));
		lead->through = form->confrelid;
		lead->from = dp_protect_constraint_columns(tuple,
												   Anum_pg_constraint_conkey);
		lead->key = dp_protect_constraint_columns(tuple,
												  Anum_pg_constraint_confkey);
		leads = lappend(leads, lead);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return leads;
}

/*
 * The path that begins with a foreign key; NULL unless it refers to the
 * primary key.
 */
static char *
path_by(Oid relid, const unit_lead *lead, const dp_relation_row *row)
{
	List	   *primary = dp_protect_primary_key(lead->through);
	List	   *names = NIL;
	ListCell   *lc;
	ListCell   *lc2;
	ListCell   *lc3;

	if (!dp_protect_same_columns(primary, lead->key))
		return NULL;
	foreach(lc, primary)
		forboth(lc2, lead->from, lc3, lead->key)
			if (lfirst_int(lc3) == lfirst_int(lc))
				names = lappend(names, get_attname(relid, lfirst_int(lc2),
												   false));
	return dp_protect_path_text(names, lead->through, row);
}

/*
 * suggest_path
 *	  The path from relid to a protected relation's unit by a foreign key; NULL
 *	  if none refers to its primary key.
 */
static char *
suggest_path(Oid relid, Oid through)
{
	dp_relation_row row;
	ListCell   *lc;

	if (!dp_catalog_find_relation(through, &row))
		return NULL;
	foreach(lc, list_leads(relid))
	{
		const unit_lead *lead = lfirst(lc);
		char	   *path = lead->through != through ? NULL :
		path_by(relid, lead, &row);

		if (path != NULL)
			return path;
	}
	return NULL;
}

/* Whether a foreign key maps a column of the path to another column. */
static bool
pairs_otherwise(Oid relid, const unit_lead *lead, const List *columns)
{
	ListCell   *lc;
	ListCell   *lc2;
	ListCell   *lc3;

	foreach(lc, columns)
	{
		const dp_unit_column *column = lfirst(lc);
		AttrNumber	from = get_attnum(relid, NameStr(column->from));

		forboth(lc2, lead->from, lc3, lead->key)
			if (lfirst_int(lc2) == from &&
				get_attnum(lead->through, NameStr(column->key)) !=
				lfirst_int(lc3))
				return true;
	}
	return false;
}

/*
 * protect_pairs_otherwise
 *	  The name of a foreign key that refers with the path's columns to the same
 *	  primary key in another order, or NULL.  A path with its columns in the
 *	  wrong order would give rows to other units.
 */
static const char *
protect_pairs_otherwise(const dp_relation_row *unit)
{
	List	   *columns = dp_protect_unit_columns(unit);
	List	   *from = NIL;
	ListCell   *lc;

	foreach(lc, columns)
		from = lappend_int(from,
						   get_attnum(unit->relid,
									  NameStr(((dp_unit_column *)
											   lfirst(lc))->from)));
	foreach(lc, list_leads(unit->relid))
	{
		const unit_lead *lead = lfirst(lc);

		if (lead->through == unit->unit_through &&
			dp_protect_same_columns(lead->from, from) &&
			pairs_otherwise(unit->relid, lead, columns))
			return lead->constraint;
	}
	return NULL;
}

/*
 * Find the row of the relation referred to; false unless it has a unit, in the
 * dataset.
 */
static bool
unit_find_unit(const unit_lead *lead, const char *dataset,
			   dp_relation_row *row)
{
	return dp_catalog_find_relation(lead->through, row) && row->has_unit &&
		strcmp(NameStr(row->dataset), dataset) == 0;
}

/* Whether the foreign key refers to the unit column itself. */
static bool
is_unit_itself(const unit_lead *lead, const dp_relation_row *row)
{
	return !OidIsValid(row->unit_through) && list_length(lead->key) == 1 &&
		get_attnum(lead->through, NameStr(row->unit)) ==
		linitial_int(lead->key);
}

/*
 * The unit of relid that follows from a foreign key, as dp_protect takes it;
 * NULL if no path begins with it.
 */
static char *
unit_by(Oid relid, const unit_lead *lead, const dp_relation_row *row)
{
	return is_unit_itself(lead, row) ?
		get_attname(relid, linitial_int(lead->from), false) :
		path_by(relid, lead, row);
}

/* The name of the unit column at the end of a path. */
static const char *
last_name(const dp_relation_row *row)
{
	dp_relation_row last = *row;
	int			steps = 0;

	while (OidIsValid(last.unit_through) && steps++ < DP_PROTECT_STEPS)
		if (!dp_catalog_find_relation(last.unit_through, &last))
			break;
	return pstrdup(NameStr(last.unit));
}

/* better: the unit to use instead; NULL if none can be named. */
static void
notice_lead(const dp_relation_row *unit, const char *dataset,
			const unit_lead *lead, const dp_relation_row *row,
			const char *better)
{
	const char *name = get_rel_name(unit->relid);
	const char *relation = dp_protect_qualified_name(unit->relid);
	const char *there = get_rel_name(lead->through);

	ereport(NOTICE,
			(errmsg("a foreign key of relation \"%s\" leads to another unit "
					"of dataset \"%s\"", name, dataset),
			 errdetail("\"%s\" refers to relation \"%s\", whose unit is "
					   "\"%s\".  As protected now, %s of \"%s\" is protected "
					   "alone, not all rows of such a unit.",
					   lead->constraint, there, dp_protect_unit_text(row),
					   unit->has_unit ?
					   psprintf("each \"%s\"", NameStr(unit->unit)) :
					   "each row", name),
			 better != NULL ?
			 errhint("If its rows are of these units, SELECT dp_protect(%s, "
					 "unit => %s);", quote_literal_cstr(relation),
					 quote_literal_cstr(better)) :
			 errhint("If its rows are of these units, add them as a column, "
					 "filled from \"%s\", and protect \"%s\" with that as "
					 "unit: the foreign key is not to the primary key, with "
					 "which a path begins.", there, name)));
}

/*
 * Whether this key is the better one to report: those with a path come first,
 * then those with an earlier column.
 */
static bool
is_said_rather(const unit_lead *lead, const char *better,
			   const unit_lead *other, const char *others)
{
	if (other == NULL || (better == NULL) != (others == NULL))
		return other == NULL || better != NULL;
	return linitial_int(lead->from) < linitial_int(other->from);
}

/*
 * The unit is a column or each row, and foreign keys lead to other units.  No
 * notice if the column is such a unit, or has its name, as a copy of it would.
 */
static void
notice_leads(const dp_relation_row *unit, const char *dataset)
{
	const unit_lead *said = NULL;
	dp_relation_row said_row;
	const char *better = NULL;
	ListCell   *lc;

	foreach(lc, list_leads(unit->relid))
	{
		const unit_lead *lead = lfirst(lc);
		dp_relation_row row;
		const char *other;

		if (!unit_find_unit(lead, dataset, &row))
			continue;
		other = unit_by(unit->relid, lead, &row);
		if (unit->has_unit &&
			(strcmp(NameStr(unit->unit), last_name(&row)) == 0 ||
			 (is_unit_itself(lead, &row) &&
			  strcmp(NameStr(unit->unit), other) == 0)))
			return;
		if (!is_said_rather(lead, other, said, better))
			continue;
		said = lead;
		said_row = row;
		better = other;
	}
	if (said != NULL)
		notice_lead(unit, dataset, said, &said_row, better);
}

/* Whether the path follows this foreign key. */
static bool
is_path(const dp_relation_row *unit, const unit_lead *lead)
{
	List	   *columns = dp_protect_unit_columns(unit);
	ListCell   *lc;

	foreach(lc, columns)
		if (!list_member_int(lead->from,
							 get_attnum(unit->relid,
										NameStr(((dp_unit_column *)
												 lfirst(lc))->from))))
			return false;
	return list_length(columns) == list_length(lead->from) &&
		!pairs_otherwise(unit->relid, lead, columns);
}

/*
 * Foreign keys refer to the path's primary key, but none with the path's
 * columns: it may mix columns of two keys, which would give rows to other
 * units.
 */
static void
notice_columns(const dp_relation_row *unit)
{
	const unit_lead *said = NULL;
	char	   *better = NULL;
	dp_relation_row row;
	ListCell   *lc;

	if (!dp_catalog_find_relation(unit->unit_through, &row))
		return;
	foreach(lc, list_leads(unit->relid))
	{
		const unit_lead *lead = lfirst(lc);
		char	   *path = lead->through != unit->unit_through ? NULL :
		path_by(unit->relid, lead, &row);

		if (path == NULL)
			continue;
		if (is_path(unit, lead))
			return;
		if (is_said_rather(lead, path, said, better))
		{
			said = lead;
			better = path;
		}
	}
	if (said != NULL)
		ereport(NOTICE,
				(errmsg("foreign key \"%s\" of relation \"%s\" refers to "
						"relation \"%s\" by other columns than its unit",
						said->constraint, get_rel_name(unit->relid),
						get_rel_name(unit->unit_through)),
				 errdetail("The unit is \"%s\".", dp_protect_unit_text(unit)),
				 errhint("If the key tells whose rows these are, SELECT "
						 "dp_protect(%s, unit => %s);",
						 quote_literal_cstr(dp_protect_qualified_name
											(unit->relid)),
						 quote_literal_cstr(better))));
}

/*
 * dp_protect_notice_bounds
 *	  NOTICEs: no bound is declared though a unit may have many rows; or some
 *	  are though it has one.
 */
void
dp_protect_notice_bounds(Oid relid)
{
	dp_relation_row row;
	const char *name = quote_literal_cstr(dp_protect_qualified_name(relid));

	if (!dp_catalog_find_relation(relid, &row))
		return;
	if (dp_protect_lacks_bounds(relid))
		ereport(NOTICE,
				(errmsg("no bound says how many rows of one unit of relation "
						"\"%s\" count", get_rel_name(relid)),
				 errdetail("A unit may have many rows, and noise must hide "
						   "all that count.  Queries that need a bound are "
						   "refused until one is declared, measured or set."),
				 errhint("If nearly every person has at most 50 rows, say: "
						 "SELECT dp_declare(%s, max_total => 50);  To have a "
						 "bound measured with noise, for a price: SELECT * "
						 "FROM dp_profile(%s, apply => true);%s", name, name,
						 OidIsValid(row.unit_through) ? "" :
						 "  If it has one, a primary key, or UNIQUE and NOT "
						 "NULL, on the unit column proves it.")));
	else if (row.max_rows + row.max_keys + row.max_total > 0 &&
			 dp_protect_prove_one_row(dp_protect_lookup(relid), NULL))
		ereport(NOTICE,
				(errmsg("each unit of relation \"%s\" has one row, whatever "
						"is declared", get_rel_name(relid)),
				 errdetail("Queries about the relation alone need no bounds "
						   "and do not use them.  Where it is joined with "
						   "another, the larger ones hold."),
				 errhint("To withdraw them: SELECT dp_declare(%s, max_rows => "
						 "0, max_keys => 0, max_total => 0);", name)));
}

/*
 * dp_protect_notice_unit
 *	  NOTICEs about an accepted unit: rows with a NULL unit are not counted;
 *	  foreign keys suggest another unit; no bound is declared.
 */
void
dp_protect_notice_unit(const dp_relation_row *unit, const char *dataset)
{
	if (unit->has_unit)
		notice_null_units(unit);
	if (OidIsValid(unit->unit_through))
		notice_columns(unit);
	else
		notice_leads(unit, dataset);
	dp_protect_notice_bounds(unit->relid);
}

/* ----------------
 *		Reading the unit argument.
 *
 * A path needs no foreign key, which would only ensure that every row has a
 * unit.
 * ----------------
 */

/*
 * Units are grouped and joined by equality, so a unit column and the key of a
 * path need a built-in type and a deterministic collation.
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

/*
 * Return the text before the first arrow, or all of it; *text is what follows.
 */
static char *
unit_read_part(char **text, const char *path)
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

/* The first such character outside quotes, or NULL. */
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
unit_read_columns(char *part, const char *path)
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

/* Raise the error for a step without the column of its relation. */
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
unit_read_step(char *part, const char *path, List **columns)
{
	const char *step = pstrdup(part);
	char	   *open = find_unquoted(part, '(');
	List	   *names;
	List	   *before;
	Oid			relid = InvalidOid;

	if (open != NULL && open > part)
	{
		*columns = unit_read_columns(pstrdup(open), path);
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

/* Whether these are the columns of the row's unit. */
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
 * The path in which each named column is matched to a key column of its type,
 * and the other key columns to columns of the same names; NULL unless all are
 * found.
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

/* The number of columns differs from that of the key. */
static void
unit_raise_columns(Oid relid, const List *names, Oid through, const char *path)
{
	const char *better = suggest_path(relid, through);
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

/* The columns that could refer to a column of the key, quoted; "" if none. */
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

/* The path begins with a name that is no column of the relation. */
static void
raise_no_column(Oid relid, const char *name, Oid through, AttrNumber key,
				const char *path)
{
	const char *better = suggest_path(relid, through);
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

/* A column of the path and the key column that it refers to. */
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

/* The primary key that the columns refer to, in its order. */
static void
unit_read_key(Oid relid, const List *names, Oid through, const char *path,
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
		unit_raise_columns(relid, names, through, path);
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
	constraint = protect_pairs_otherwise(unit);
	if (constraint != NULL)
		raise_path_hint(path,
						psprintf("The columns are those of foreign key "
								 "\"%s\", which refers by them to other "
								 "columns of the primary key (%s) than the "
								 "path does.", constraint,
								 dp_protect_key_text(through)),
						psprintf("Write it as %s.",
								 quote_literal_cstr(suggest_path
													(relid, through))));
}

/* Forbid a path that returns to the relation or has too many steps. */
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
 * The first relation of a path, locked, so that its name and unit cannot
 * change until others see that a path leads there.
 */
static Oid
read_first_step(char *part, const char *path, const char *dataset,
				dp_relation_row *row)
{
	List	   *columns;
	Oid			relid = unit_read_step(pstrdup(part), path, &columns);
	Oid			now;

	for (;;)
	{
		check_step(relid, columns, dataset, path, row);
		LockRelationOid(relid, ShareUpdateExclusiveLock);
		now = unit_read_step(pstrdup(part), path, &columns);
		if (now == relid)
			break;
		/* while we waited, another table took the name */
		UnlockRelationOid(relid, ShareUpdateExclusiveLock);
		relid = now;
	}
	check_step(relid, columns, dataset, path, row);
	return relid;
}

/*
 * Fill in the columns that a path begins with, the relation that they refer
 * to, and its key.  Further steps must be those of that relation's own unit.
 */
static void
read_path(Oid relid, const char *path, const char *dataset,
		  dp_relation_row *unit)
{
	char	   *rest = pstrdup(path);
	List	   *names = unit_read_columns(unit_read_part(&rest, path), path);
	dp_relation_row row = {0};
	Oid			through;

	through = read_first_step(unit_read_part(&rest, path), path, dataset,
							  &row);
	while (rest != NULL)
	{
		List	   *columns;
		Oid			next = unit_read_step(unit_read_part(&rest, path), path,
										  &columns);

		if (next != row.unit_through)
			raise_path(path, psprintf("The unit of the relation before \"%s\" "
									  "is not behind that.",
									  get_rel_name(next)));
		check_step(next, columns, dataset, path, &row);
	}
	check_end(relid, through, path);
	unit->unit_through = through;
	unit_read_key(relid, names, through, path, unit);
}

/*
 * dp_protect_read_unit
 *	  Read the unit argument (NULL, a column or a path) into a row of
 *	  dp_pg.relation, of which the rest is empty.
 *
 * Errors: 42703 no such column; 42P01 no such relation; 22023 for a column
 * that cannot be a unit, and for an invalid path.
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
 *	  2BP01 if the unit of another relation is behind this one.
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
