/*
 * exposure_find.c
 *	  Search for exposures: ways by which other roles can learn rows of a
 *	  protected relation.
 *
 * Only direct grants count, and none to owners or superusers:
 *
 * - table and column privileges on the relation, on every descendant (whose
 *	 rows are its rows) and on every ancestor (through which its rows are
 *	 read): SELECT, UPDATE and DELETE (the number of rows met, RETURNING),
 *	 REFERENCES (a foreign key probes for a key), TRIGGER (a trigger's code
 *	 sees rows), MAINTAIN (VACUUM VERBOSE counts rows), and INSERT when a
 *	 unique index or an exclusion constraint somewhere in the tree answers
 *	 whether a value exists;
 * - a part that another role owns, or whose trigger function another role
 *	 owns, or whose rows another server stores;
 * - views, materialized views and rules that read with the rights of a role
 *	 that may;
 * - foreign keys in both directions.
 *
 * dp_protect refuses them, the utility hook warns of them, dp_audit lists
 * them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		What reads protected rows with the rights of a role that may: views,
 *		materialized views and rules.
 *
 * A view that is not security_invoker, and every rule that is not a view's
 * SELECT, reads as the owner of its relation; a role that may use it can read
 * the rows.  A materialized view holds copies.  They are found through the
 * entries of rewrite rules in pg_depend, recursively: a view of such a view is
 * another one.  A security_invoker view opens nothing, but a materialized view
 * of it does.
 *
 * A query level with dp_ aggregates shows no rows: a private query answers it
 * or refuses it.  A materialized view is judged by its contents: its own query
 * never changes, but a view that it was filled from may have been replaced,
 * and may have shown rows before.  Without contents it is judged by what
 * REFRESH would fill it with.
 * ----------------
 */

/* What a reached relation shows, from least to most. */
typedef enum dp_reach
{
	DP_REACH_RELEASED,			/* released values, as far as is known */
	DP_REACH_CLOSED,			/* rows to roles that may read them anyway */
	DP_REACH_OPEN				/* rows to every role that may select from
								 * it */
} dp_reach;

/* A relation that the search has reached. */
typedef struct dp_reached
{
	Oid			relid;
	dp_reach	reach;
	Oid			from;			/* what it reads */
	char	   *rule;			/* NULL: it is a view */
} dp_reached;

/*
 * dp_protect_is_security_invoker
 *	  Whether it is a view that checks its reader's rights on what it reads.
 */
bool
dp_protect_is_security_invoker(Oid view)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(view));
	Datum		options;
	bool		isnull;
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
							  &isnull);
	if (((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_VIEW && !isnull)
	{
		ViewOptions *parsed = (ViewOptions *) view_reloptions(options, false);

		result = parsed != NULL && parsed->security_invoker;
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * dp_protect_rule_queries
 *	  The queries (Query *) of a row of pg_rewrite.
 */
List *
dp_protect_rule_queries(HeapTuple rule)
{
	Relation	rel = table_open(RewriteRelationId, AccessShareLock);
	bool		isnull;
	Datum		action = heap_getattr(rule, Anum_pg_rewrite_ev_action,
									  RelationGetDescr(rel), &isnull);
	List	   *result = NIL;

	if (!isnull)
		result = castNode(List, stringToNode(TextDatumGetCString(action)));
	table_close(rel, AccessShareLock);
	return result;
}

/* ---- does a query show rows? ---- */

/* How often FROM of this level names the common table expression. */
static int
count_own_references(const Query *query, const CommonTableExpr *cte)
{
	ListCell   *cell;
	int			n = 0;

	foreach(cell, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_CTE && entry->ctelevelsup == 0 &&
			strcmp(entry->ctename, cte->ctename) == 0)
			n++;
	}
	return n;
}

static bool
shows_rows_walker(Node *node, void *context)
{
	Oid			relid = *(Oid *) context;
	Query	   *query;
	ListCell   *cell;
	bool		released;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, shows_rows_walker, context);
	query = (Query *) node;
	/* dp_ aggregates stand between the rows of the level and its reader */
	released = dp_catalog_has_own_aggregate(query);
	foreach(cell, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (released)
			break;
		if (entry->rtekind == RTE_RELATION && entry->relid == relid)
			return true;
		if (entry->rtekind == RTE_SUBQUERY &&
			shows_rows_walker((Node *) entry->subquery, context))
			return true;
	}
	if (!released)
		return query_tree_walker(query, shows_rows_walker, context,
								 QTW_IGNORE_RT_SUBQUERIES);
	foreach(cell, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, cell);

		if (count_own_references(query, cte) != cte->cterefcount &&
			shows_rows_walker(cte->ctequery, context))
			return true;
	}
	return shows_rows_walker((Node *) query->targetList, context) ||
		shows_rows_walker(query->havingQual, context);
}

static bool
names_relation(Node *node, const dp_walk *walk)
{
	const RangeTblEntry *entry = (RangeTblEntry *) node;

	return IsA(node, RangeTblEntry) && entry->rtekind == RTE_RELATION &&
		entry->relid == *(Oid *) walk->context;
}

/* Whether the actions of a rule, or its condition, show rows. */
static bool
rule_shows_rows(HeapTuple rule, TupleDesc desc, Oid relid)
{
	bool		isnull;
	Datum		condition = heap_getattr(rule, Anum_pg_rewrite_ev_qual, desc,
										 &isnull);

	return shows_rows_walker((Node *) dp_protect_rule_queries(rule),
							 &relid) ||
		(!isnull &&
		 shows_rows_walker(stringToNode(TextDatumGetCString(condition)),
						   &relid));
}

/* ---- following rules ---- */

/*
 * dp_protect_can_read
 *	  Whether the role may read, by its own rights, what belongs to the owner.
 */
bool
dp_protect_can_read(Oid role, Oid owner)
{
	return has_privs_of_role(role, owner) ||
		has_privs_of_role(role, ROLE_PG_READ_ALL_DATA);
}

static bool
is_populated(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relispopulated;
		ReleaseSysCache(tuple);
	}
	return result;
}

static List *
add_reached(List *reached, Oid relid, dp_reach reach, Oid from,
			const char *rule)
{
	dp_reached *item;
	ListCell   *cell;

	foreach(cell, reached)
	{
		item = lfirst(cell);
		if (item->relid == relid && item->reach >= reach)
			return reached;
	}
	item = palloc0(sizeof(dp_reached));
	item->relid = relid;
	item->reach = reach;
	item->from = from;
	item->rule = rule ? pstrdup(rule) : NULL;
	return lappend(reached, item);
}

/* What the relation of a rule shows of rows that the rule shows. */
static dp_reach
reach_of_rows(const dp_reached *item, Oid reader, bool is_select, Oid owner)
{
	if (get_rel_relkind(reader) == RELKIND_MATVIEW)
		return DP_REACH_OPEN;
	if (item->reach == DP_REACH_OPEN &&
		!(is_select && dp_protect_is_security_invoker(reader)) &&
		dp_protect_can_read(dp_catalog_owner(reader), owner))
		return DP_REACH_OPEN;
	return DP_REACH_CLOSED;
}

/* Follow one rule whose queries name the relation that was reached. */
static List *
follow_rule(List *reached, const dp_reached *item, HeapTuple rule,
			TupleDesc desc, Oid owner)
{
	Form_pg_rewrite form = (Form_pg_rewrite) GETSTRUCT(rule);
	Oid			reader = form->ev_class;
	char		kind = get_rel_relkind(reader);
	bool		is_select = form->ev_type == '0' + CMD_SELECT;
	bool		shows;
	dp_reach	reach = DP_REACH_RELEASED;

	if (reader == item->relid || !OidIsValid(dp_catalog_owner(reader)))
		return reached;
	shows = rule_shows_rows(rule, desc, item->relid);
	if (!shows &&
		(kind != RELKIND_VIEW ||
		 !dp_base_contains((Node *) dp_protect_rule_queries(rule),
						   names_relation, (void *) &item->relid,
						   QTW_EXAMINE_RTES_BEFORE)))
		return reached;
	if (shows && item->reach != DP_REACH_RELEASED)
		reach = reach_of_rows(item, reader, is_select, owner);
	else if (kind == RELKIND_MATVIEW && is_populated(reader))
		reach = DP_REACH_OPEN;
	/* unless open, it only matters to materialized views on it */
	if (reach != DP_REACH_OPEN && !is_select)
		return reached;
	return add_reached(reached, reader, reach, item->relid,
					   is_select ? NULL : NameStr(form->rulename));
}

static List *
follow_relation(List *reached, const dp_reached *item, Oid owner)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	Relation	rewrite = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *rules = NIL;
	ListCell   *cell;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(item->relid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2,
							  key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == RewriteRelationId)
			rules = list_append_unique_oid(rules, form->objid);
	}
	systable_endscan(scan);
	foreach(cell, rules)
	{
		ScanKeyInit(&key[0], Anum_pg_rewrite_oid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(lfirst_oid(cell)));
		scan = systable_beginscan(rewrite, RewriteOidIndexId, true, NULL, 1,
								  key);
		tuple = systable_getnext(scan);
		if (HeapTupleIsValid(tuple))
			reached = follow_rule(reached, item, tuple,
								  RelationGetDescr(rewrite), owner);
		systable_endscan(scan);
	}
	table_close(rewrite, AccessShareLock);
	table_close(depend, AccessShareLock);
	return reached;
}

/* ---- telling ---- */

static char *
continue_clause(char *first, const char *rest)
{
	return rest ? psprintf("%s, %s", first, rest) : first;
}

/* Add a materialized view: its owner, if another role, and its readers. */
static void
add_copy(dp_exposure_search *search, const dp_reached *item,
		 const char *severity, const char *clause)
{
	const char *name = dp_protect_qualified_name(item->relid);
	const char *from = dp_protect_qualified_name(item->from);
	Oid			owner = dp_catalog_owner(item->relid);
	bool		populated = is_populated(item->relid);
	const char *holds = populated ? "holds" : "would hold";
	char	   *command = psprintf("DROP MATERIALIZED VIEW %s;", name);

	if (!populated && !dp_protect_can_read(owner, search->owner))
		return;
	if (!dp_protect_exposure_is_owner(owner, search->owner))
		dp_protect_add_other(search, item->relid, severity,
							 psprintf("materialized view %s %s copies of "
									  "rows of %s and belongs to %s", name,
									  holds, from,
									  dp_protect_role_name(owner)),
							 command);
	dp_protect_add_grants(search, item->relid, ACL_SELECT | ACL_MAINTAIN,
						  NIL, severity,
						  continue_clause(psprintf("a materialized view that "
												   "%s copies of rows of %s",
												   holds, from),
										  clause),
						  command);
}

static void
add_reader(dp_exposure_search *search, const dp_reached *item, AclMode mask,
		   const char *severity, const char *clause)
{
	const char *name = dp_protect_qualified_name(item->relid);
	const char *from = dp_protect_qualified_name(item->from);
	const char *rule = item->rule ? quote_identifier(item->rule) : NULL;
	const char *owner;

	owner = dp_protect_role_name(dp_catalog_owner(item->relid));
	if (item->rule != NULL)
		dp_protect_add_grants(search, item->relid,
							  ACL_INSERT | ACL_UPDATE | ACL_DELETE, NIL,
							  severity,
							  continue_clause(psprintf("whose rule %s uses "
													   "%s with the rights "
													   "of %s", rule, from,
													   owner),
											  clause),
							  psprintf("DROP RULE %s ON %s;", rule, name));
	else if (get_rel_relkind(item->relid) == RELKIND_MATVIEW)
		add_copy(search, item, severity, clause);
	else
		dp_protect_add_grants(search, item->relid, mask, NIL, severity,
							  continue_clause(psprintf("a view that reads "
													   "%s with the rights "
													   "of %s", from, owner),
											  clause),
							  psprintf("ALTER VIEW %s SET "
									   "(security_invoker = true);", name));
}

/*
 * add_readers
 *	  Add the privileges of mask on what reads one of these relations with the
 *	  rights of a role that may; clause says where the relations lead.
 */
static void
add_readers(dp_exposure_search *search, const List *relids,
			AclMode mask, const char *severity,
			const char *clause)
{
	List	   *reached = NIL;
	ListCell   *cell;
	int			first = list_length(relids);
	int			i;

	foreach(cell, relids)
		reached = add_reached(reached, lfirst_oid(cell), DP_REACH_OPEN,
							  InvalidOid, NULL);
	/* the list grows while it is walked */
	for (i = 0; i < list_length(reached); i++)
	{
		dp_reached *item = list_nth(reached, i);

		/* changes fire the rule of this relation, reading it does not */
		if (item->rule == NULL)
			reached = follow_relation(reached, item, search->owner);
		if (i >= first && item->reach == DP_REACH_OPEN)
			add_reader(search, item, mask, severity, clause);
	}
}

/* ----------------
 *		Foreign keys through which other roles learn which values protected
 *		rows have.
 *
 * A foreign key of a protected relation P: a role that deletes or updates a
 * row of the referenced table learns from an error whether P uses its key.  So
 * does a role that can cause this through foreign keys of that table that
 * cascade.
 *
 * A foreign key to P: a role that inserts or updates a row of the other table
 * learns whether P has the key.
 *
 * The tables at the other end count with their own trees, and with views and
 * rules that change them with their owners' rights.
 * ----------------
 */

#define CHANGING_PRIVILEGES (ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE)
#define PROBING_PRIVILEGES (ACL_INSERT | ACL_UPDATE)

/* One foreign key. */
typedef struct dp_reference
{
	Oid			oid;
	Oid			parent;			/* of a partition's copy, else InvalidOid */
	NameData	name;
	Oid			source;			/* the table that has it */
	Oid			target;			/* the table it refers to */
	List	   *source_columns; /* of char * */
	List	   *target_columns;
	bool		cascades;		/* changes of target delete or change rows of
								 * source */
	bool		followed;		/* visited by the search for cascades */
} dp_reference;

/* ---- reading ---- */

static List *
column_names(Oid relid, HeapTuple tuple, TupleDesc desc, int attribute)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, attribute, desc, &isnull);
	ArrayType  *array;
	int16	   *numbers;
	List	   *names = NIL;
	int			i;

	if (isnull)
		return NIL;
	array = DatumGetArrayTypeP(value);
	numbers = (int16 *) ARR_DATA_PTR(array);
	for (i = 0; i < ARR_DIMS(array)[0]; i++)
	{
		char	   *name = get_attname(relid, numbers[i], true);

		if (name != NULL)
			names = lappend(names, name);
	}
	return names;
}

static bool
is_cascade(char action)
{
	return action == FKCONSTR_ACTION_CASCADE ||
		action == FKCONSTR_ACTION_SETNULL ||
		action == FKCONSTR_ACTION_SETDEFAULT;
}

/* All foreign keys of the database, including the copies of partitions. */
static List *
list_references(void)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;
	List	   *references = NIL;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		dp_reference *reference;

		if (form->contype != CONSTRAINT_FOREIGN)
			continue;
		reference = palloc0(sizeof(dp_reference));
		reference->oid = form->oid;
		reference->parent = form->conparentid;
		reference->name = form->conname;
		reference->source = form->conrelid;
		reference->target = form->confrelid;
		reference->cascades = is_cascade(form->confdeltype) ||
			is_cascade(form->confupdtype);
		reference->source_columns = column_names(form->conrelid, tuple, desc,
												 Anum_pg_constraint_conkey);
		reference->target_columns = column_names(form->confrelid, tuple, desc,
												 Anum_pg_constraint_confkey);
		references = lappend(references, reference);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return references;
}

/* The foreign key as it was created; partitions have copies of it. */
static const dp_reference *
find_original(const List *references, const dp_reference *reference)
{
	ListCell   *cell;

	if (!OidIsValid(reference->parent))
		return reference;
	foreach(cell, references)
	{
		const dp_reference *other = lfirst(cell);

		if (other->oid == reference->parent)
			return find_original(references, other);
	}
	return reference;
}

/* ---- telling ---- */

/*
 * Add what other roles may do to a table at the other end of a foreign key,
 * and its ownership by another role.  clause and command are about the key
 * that leads to the protected relation.
 */
static void
add_table(dp_exposure_search *search, Oid relid, AclMode mask,
		  const List *columns, const char *clause, const char *command)
{
	List	   *tree = dp_protect_list_tree(relid, NoLock);
	ListCell   *cell;

	foreach(cell, tree)
	{
		Oid			part = lfirst_oid(cell);
		Oid			owner = dp_catalog_owner(part);

		if (!OidIsValid(owner))
			continue;
		if (!dp_protect_exposure_is_owner(owner, search->owner))
			dp_protect_add_other(search, part, "high",
								 psprintf("%s belongs to %s, %s",
										  dp_protect_qualified_name(part),
										  dp_protect_role_name(owner),
										  clause), command);
		dp_protect_add_grants(search, part, mask, columns, "high", clause,
							  command);
	}
	add_readers(search, tree, mask & ~ACL_TRUNCATE, "high",
				clause);
}

static char *
drop_command(const List *references, const dp_reference *reference)
{
	reference = find_original(references, reference);
	return psprintf("ALTER TABLE %s DROP CONSTRAINT %s;",
					dp_protect_qualified_name(reference->source),
					quote_identifier(NameStr(reference->name)));
}

static bool
share_column(const List *a, const List *b)
{
	ListCell   *first;
	ListCell   *second;

	foreach(first, a)
		foreach(second, b)
			if (strcmp(lfirst(first), lfirst(second)) == 0)
				return true;
	return false;
}

/*
 * Follow the foreign keys by which changes of other tables cascade to these
 * columns (NIL: to any column, or to the existence of rows) of a table.
 */
static void
add_cascades(dp_exposure_search *search, List *references, Oid relid,
			 const List *columns, const char *clause, const char *command)
{
	ListCell   *cell;

	foreach(cell, references)
	{
		dp_reference *reference = lfirst(cell);

		if (reference->source != relid || !reference->cascades ||
			reference->followed ||
			(columns != NIL &&
			 !share_column(columns, reference->source_columns)))
			continue;
		reference->followed = true;
		add_table(search, reference->target, CHANGING_PRIVILEGES,
				  reference->target_columns,
				  psprintf("changes of which cascade to %s, %s",
						   dp_protect_qualified_name(relid), clause),
				  command);
		add_cascades(search, references, reference->target, NIL, clause,
					 command);
	}
}

static void
add_reference_from(dp_exposure_search *search, List *references,
				   const dp_reference *reference)
{
	const char *source = dp_protect_qualified_name(reference->source);
	char	   *clause = psprintf("to which foreign key %s of %s refers",
								  quote_identifier(NameStr(reference->name)),
								  source);

	add_table(search, reference->target, CHANGING_PRIVILEGES,
			  reference->target_columns, clause,
			  drop_command(references, reference));
	add_cascades(search, references, reference->target, NIL, clause,
				 drop_command(references, reference));
}

static void
add_reference_to(dp_exposure_search *search, List *references,
				 const dp_reference *reference)
{
	const char *target = dp_protect_qualified_name(reference->target);
	char	   *clause = psprintf("whose foreign key %s refers to %s",
								  quote_identifier(NameStr(reference->name)),
								  target);

	add_table(search, reference->source, PROBING_PRIVILEGES,
			  reference->source_columns, clause,
			  drop_command(references, reference));
	add_cascades(search, references, reference->source,
				 reference->source_columns, clause,
				 drop_command(references, reference));
}

/*
 * add_references
 *	  Add the foreign keys from and to parts of a protected relation.
 */
static void
add_references(dp_exposure_search *search)
{
	List	   *references = list_references();
	ListCell   *cell;

	foreach(cell, references)
	{
		const dp_reference *reference = lfirst(cell);
		const dp_reference *original = find_original(references, reference);
		bool		from = list_member_oid(search->parts, reference->source);
		bool		to = list_member_oid(search->parts, reference->target);

		if (reference != original &&
			from == list_member_oid(search->parts, original->source) &&
			to == list_member_oid(search->parts, original->target))
			continue;
		/* a role that may change rows within the tree may read them anyway */
		if (from && to)
			dp_protect_add_grants(search, reference->source, ACL_INSERT,
								  reference->source_columns, "high",
								  "which tells by its own foreign key "
								  "which keys exist",
								  drop_command(references, reference));
		else if (from)
			add_reference_from(search, references, reference);
		else if (to)
			add_reference_to(search, references, reference);
	}
}

/* Privileges through which rows can be learnt, INSERT aside. */
#define READING_PRIVILEGES \
	(ACL_SELECT | ACL_UPDATE | ACL_DELETE | ACL_REFERENCES | ACL_TRIGGER | \
	 ACL_MAINTAIN)

/* ---- the tree itself ---- */

/*
 * Whether an index of the table rejects rows, and so reveals which values
 * exist.
 */
static bool
has_rejecting_index(Oid relid)
{
	Relation	rel = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		found = form->indisunique || form->indisexclusion;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

static AclMode
privileges_of_tree(const List *tree)
{
	ListCell   *cell;

	foreach(cell, tree)
		if (has_rejecting_index(lfirst_oid(cell)))
			return READING_PRIVILEGES | ACL_INSERT;
	return READING_PRIVILEGES;
}

/* Owner of a function, InvalidOid when it is gone. */
static Oid
function_owner(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/* Add trigger functions that another role owns and may redefine. */
static void
add_triggers(dp_exposure_search *search, Oid relid)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		const char *name = quote_identifier(NameStr(form->tgname));
		const char *table = dp_protect_qualified_name(relid);
		Oid			owner = function_owner(form->tgfoid);

		/* a partition's copy goes with the trigger of its parent */
		if (form->tgisinternal || OidIsValid(form->tgparentid) ||
			!OidIsValid(owner) ||
			dp_protect_exposure_is_owner(owner, search->owner))
			continue;
		dp_protect_add_other(search, relid, "high",
							 psprintf("trigger %s on %s runs function %s, "
									  "which belongs to %s", name, table,
									  format_procedure(form->tgfoid),
									  dp_protect_role_name(owner)),
							 psprintf("DROP TRIGGER %s ON %s;",
									  name, table));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/*
 * Add a part whose rows this server does not store; no private query reads it.
 */
static void
add_elsewhere(dp_exposure_search *search, Oid part)
{
	const char *name = dp_protect_qualified_name(part);
	List	   *parents = dp_protect_list_parents(part);
	const char *parent;

	if (dp_protect_is_distributed(part))
		dp_protect_add_other(search, part, "high",
							 psprintf("%s is distributed by Citus, and its "
									  "rows are kept in tables that are not "
									  "protected", name),
							 psprintf("SELECT undistribute_table(%s);",
									  quote_literal_cstr(name)));
	if (get_rel_relkind(part) != RELKIND_FOREIGN_TABLE || parents == NIL)
		return;
	parent = dp_protect_qualified_name(linitial_oid(parents));
	dp_protect_add_other(search, part, "high",
						 psprintf("%s is a foreign table, whose rows another "
								  "server keeps", name),
						 get_rel_relispartition(part) ?
						 psprintf("ALTER TABLE %s DETACH PARTITION %s;",
								  parent, name) :
						 psprintf("ALTER FOREIGN TABLE %s NO INHERIT %s;",
								  name, parent));
}

static void
exposures_add_part(dp_exposure_search *search, Oid part, AclMode mask)
{
	Oid			owner = dp_catalog_owner(part);
	const char *name = dp_protect_qualified_name(part);

	if (!OidIsValid(owner))
		return;
	if (!dp_protect_exposure_is_owner(owner, search->owner))
		dp_protect_add_other(search, part, "critical",
							 psprintf("%s belongs to %s", name,
									  dp_protect_role_name(owner)),
							 psprintf("ALTER TABLE %s OWNER TO %s;", name,
									  dp_protect_role_name(search->owner)));
	dp_protect_add_grants(search, part, mask, NIL, "critical", NULL, NULL);
	if (!list_member_oid(search->parts, part))
		return;
	add_triggers(search, part);
	add_elsewhere(search, part);
}

/*
 * dp_protect_list_exposures
 *	  All exposures (dp_exposure *) of a relation that is protected or about to
 *	  be; descendants are locked in lockmode.  NIL when it is gone.
 */
List *
dp_protect_list_exposures(Oid relid, LOCKMODE lockmode)
{
	dp_exposure_search search;
	List	   *tree;
	AclMode		mask;
	ListCell   *cell;

	search.owner = dp_catalog_owner(relid);
	search.found = NIL;
	if (!OidIsValid(search.owner))
		return NIL;
	tree = dp_protect_list_tree(relid, lockmode);
	search.parts = find_all_inheritors(relid, NoLock, NULL);
	mask = privileges_of_tree(tree);
	foreach(cell, tree)
		exposures_add_part(&search, lfirst_oid(cell), mask);
	add_readers(&search, tree, mask, "critical", NULL);
	add_references(&search);
	return search.found;
}

/* ---- SQL ---- */

PG_FUNCTION_INFO_V1(dp_relation_exposures);

/* One row of dp_pg.exposures(). */
static void
put_exposure(ReturnSetInfo *info, Oid root, const dp_exposure *exposure)
{
	Datum		values[7];
	bool		nulls[7] = {false, false, false, false, false, false, false};
	bool		privilege = exposure->privileges != 0;

	values[0] = ObjectIdGetDatum(root);
	values[1] = ObjectIdGetDatum(exposure->relid);
	values[2] = CStringGetTextDatum(exposure->severity);
	values[3] = CStringGetTextDatum(dp_protect_exposure_describe(exposure));
	values[4] = CStringGetTextDatum(dp_protect_exposure_remedy(exposure));
	nulls[5] = !privilege || exposure->command == NULL;
	values[5] = nulls[5] ? (Datum) 0 : CStringGetTextDatum(exposure->command);
	values[6] = BoolGetDatum(privilege);
	tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
}

/*
 * dp_relation_exposures
 *	  SQL: dp_pg.exposures() -> setof (relation oid, part oid, severity text,
 *	  finding text, remedy text, alternative text, privilege boolean), over all
 *	  protected relations of the database.
 */
Datum
dp_relation_exposures(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *roots;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	roots = dp_catalog_list_relations();
	foreach(cell, roots)
	{
		Oid			root = lfirst_oid(cell);
		List	   *exposures = dp_protect_list_exposures(root, NoLock);
		ListCell   *inner;

		foreach(inner, exposures)
			put_exposure(info, root, lfirst(inner));
	}
	return (Datum) 0;
}
