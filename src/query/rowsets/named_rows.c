/*
 * named_rows.c
 *	  What a block joins with private rows is read by a separate query, and its
 *	  rows have a name in the inner query.
 *
 *	  SELECT dp_count(*) FROM visits v JOIN clinics c ON v.clinic = c.id
 *
 * becomes the query SELECT c.id, NULL, .. FROM clinics c, which is run as the
 * asking role's own, to its end, before the charge; and an inner query over
 * visits and these rows, which reads only visits.  A plain join would not do:
 * whether it reads clinics depends on visits, and is visible.
 *
 * If several protected relations are joined, each of them is read by a query
 * of its own, too, by the process that reads private rows, and rows of some
 * units are joined at a time (units/gather.c).  The same is done if a level
 * groups the rows of one relation, so that all rows of a unit are there
 * together.
 *
 * The rows have all columns of what they replace, so that references stay the
 * same; unused columns are NULL.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_inherits.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* ----------------
 *		Checks that rows of a relation are short enough to be gathered by unit.
 *
 * A row fits into a page, except for columns that ALTER TABLE .. ADD COLUMN
 * added with a default: the value for existing rows is in the catalog,
 * whatever its length.  That is public.
 * ----------------
 */

/* Bytes of such values, for columns of a relation or partition. */
static Size
default_bytes(Oid relid, const List *names)
{
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(rel);
	Size		sum = 0;
	ListCell   *lc;

	foreach(lc, names)
	{
		AttrNumber	n = get_attnum(relid, lfirst(lc));
		const AttrMissing *missing;

		if (n == InvalidAttrNumber || desc->constr == NULL ||
			desc->constr->missing == NULL)
			continue;
		missing = &desc->constr->missing[n - 1];
		if (missing->am_present)
			sum += MAXALIGN(datumGetSize(missing->am_value,
										 TupleDescAttr(desc, n - 1)->attbyval,
										 TupleDescAttr(desc, n - 1)->attlen));
	}
	table_close(rel, NoLock);
	return sum;
}

/*
 * check_row_length
 *	  Refuses a relation whose rows, with the needed columns, may be too long
 *	  for the partitions of units.
 *
 * Returns: NULL, or 54000.
 */
static dp_refusal *
check_row_length(Oid relid, const Bitmapset *columns)
{
	List	   *names = NIL;
	int			column = -1;
	ListCell   *lc;

	while ((column = bms_next_member(columns, column)) >= 0)
	{
		char	   *name = get_attname(relid, column, true);

		if (name != NULL)
			names = lappend(names, name);
	}
	foreach(lc, find_all_inheritors(relid, AccessShareLock, NULL))
		if (default_bytes(lfirst_oid(lc), names) > DP_ROW_DEFAULTS)
			return dp_base_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED, -1,
								  psprintf("The defaults of columns that "
										   "ALTER TABLE .. ADD COLUMN added "
										   "are stored outside of existing "
										   "rows; they may have %zu kB "
										   "where rows are gathered by "
										   "privacy unit.",
										   DP_ROW_DEFAULTS / 1024),
								  "Leave these columns out, or ask the data "
								  "owner to store them: VACUUM FULL.",
								  "rows of relation \"%s\" may be too long",
								  get_rel_name(relid));
	return NULL;
}

/* ----------------
 *		Queries that are read to find units behind keys.
 *
 * Rows of such a relation get their unit while rows are gathered by unit
 * (joined/follow_keys.c), from queries that return the key and the next
 * columns of each relation on the path.  They read all rows, whatever policies
 * hide from the asking role, since the unit of a row does not depend on who
 * asks. ----------------
 */

static List *
named_read_columns(ParseState *state, Oid relid, const List *columns,
				   List *targets)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		char	   *name = get_attname(relid, lfirst_int(lc), false);
		Node	   *var = colNameToVar(state, name, false, -1);

		(void) dp_rowsets_add_target(&targets, var, name);
	}
	return targets;
}

/*
 * SELECT key.., next.. FROM relation, by OID, since it may be in a schema that
 * the asking role may not use.
 */
static Query *
named_read_step(const dp_unit_step *step)
{
	ParseState *state = make_parsestate(NULL);
	Relation	rel = table_open(step->relid, AccessShareLock);
	Query	   *query = dp_rowsets_make_level(NIL);

	addNSItemToQuery(state,
					 addRangeTableEntryForRelation(state, rel, AccessShareLock,
												   NULL, true, true),
					 true, true, true);
	query->targetList = named_read_columns(state, step->relid, step->next,
										   named_read_columns(state,
															  step->relid,
															  step->key, NIL));
	query->jointree->fromlist = state->p_joinlist;
	dp_compat_parsed_entries(query, state);
	table_close(rel, NoLock);
	free_parsestate(state);
	return query;
}

/*
 * add_steps
 *	  Add the steps to the unit, if any, to the source of a relation's rows.
 */
static void
add_steps(const dp_relation *relation, dp_joined *source)
{
	ListCell   *lc;

	foreach(lc, relation->unit_steps)
	{
		const dp_unit_step *step = lfirst(lc);

		if (source->follow == NIL)
			source->follow = list_copy(step->from);
		source->steps = lappend(source->steps, named_read_step(step));
		source->step_relids = lappend_oid(source->step_relids, step->relid);
		source->step_keys = lappend(source->step_keys, list_copy(step->key));
	}
}

/*
 * followed_type: the type of the unit to which the steps of a source
 * lead.
 */
static Oid
followed_type(const dp_joined *source)
{
	const Query *last = llast(source->steps);
	const TargetEntry *unit = llast(last->targetList);

	return exprType((Node *) unit->expr);
}

/*
 * Row estimates for named rows, whatever their number: private ones have more,
 * so that other rows are hashed first.
 */
#define PUBLIC_ROWS 100
#define PRIVATE_ROWS 1e6

/* ---- giving names ---- */

/* Add a column for a unit behind keys, after all others. */
static void
add_unit_column(RangeTblEntry *named, const dp_relation *relation)
{
	named->coltypes = lappend_oid(named->coltypes, relation->unit_type);
	named->coltypmods = lappend_int(named->coltypmods, relation->unit_typmod);
	named->colcollations = lappend_oid(named->colcollations,
									   relation->unit_collation);
}

static void
add_columns(RangeTblEntry *named, RangeTblEntry *entry)
{
	ListCell   *lc;

	foreach(lc, dp_compat_entry_columns(entry))
	{
		Node	   *column = lfirst(lc);

		named->coltypes = lappend_oid(named->coltypes, exprType(column));
		named->coltypmods = lappend_int(named->coltypmods,
										exprTypmod(column));
		named->colcollations = lappend_oid(named->colcollations,
										   exprCollation(column));
	}
}

/* A view's entry lacks names for columns added since it was analysed. */
static void
name_columns(RangeTblEntry *named)
{
	named->eref = copyObject(named->eref);
	dp_rowsets_name_columns(named, list_length(named->coltypes), "unit");
}

/* The entry's index in its level, to which policies of row security refer. */
static int
index_of(const Query *level, const RangeTblEntry *entry)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
		if (lfirst(lc) == entry)
			return foreach_current_index(lc) + 1;
	elog(ERROR, "joined entry not found");
}

/*
 * dp_rowsets_entry_query
 *	  The query that returns the rows of an entry, without targets yet.  The
 *	  level no longer needs the right to read them.
 */
Query *
dp_rowsets_entry_query(Query *level, RangeTblEntry *joined)
{
	Query	   *query = dp_rowsets_make_level(NIL);
	RangeTblEntry *entry;

	query->hasRowSecurity = level->hasRowSecurity;
	dp_compat_take_entry(query, level, joined);
	entry = linitial(query->rtable);
	ChangeVarNodes((Node *) entry->securityQuals, index_of(level, joined), 1,
				   0);
	query->jointree->fromlist = list_make1(dp_rowsets_make_item(1));
	query->hasSubLinks = checkExprHasSubLink((Node *) query);
	return query;
}

/* Give an entry of a level a name; returns the query for its rows. */
static dp_joined *
name_entry(Query *level, RangeTblEntry *entry, const dp_relation *relation,
		   int number, double rows)
{
	dp_joined  *source = dp_make_node(dp_joined);
	RangeTblEntry *named = makeNode(RangeTblEntry);

	source->query = dp_rowsets_entry_query(level, entry);
	source->number = number;
	if (relation != NULL)
	{
		source->relid = relation->relid;
		source->unit = relation->unit_attnum;
		add_steps(relation, source);
	}
	named->rtekind = RTE_NAMEDTUPLESTORE;
	named->enrname = psprintf("%d", number);
	named->enrtuples = rows;
	named->alias = entry->alias;
	named->eref = entry->eref;
	named->inFromCl = entry->inFromCl;
	add_columns(named, entry);
	if (source->follow != NIL)
		add_unit_column(named, relation);
	name_columns(named);
	*entry = *named;
	return source;
}

/* The number of the first leaf with rows of the same WITH query. */
static int
find_twin(const dp_rowset *rowset, int number)
{
	const dp_leaf *leaf = dp_rowsets_leaf(rowset, number);
	int			n;

	for (n = 1; n < number && leaf->cte != NULL; n++)
		if (dp_rowsets_leaf(rowset, n)->cte == leaf->cte)
			return n;
	return 0;
}

/*
 * Must all rows of a unit be together: because several relations have some,
 * because they are grouped, or because the unit must be looked up?
 */
static bool
needs_whole_units(const dp_rowset *rowset)
{
	return dp_rowsets_joins_private(rowset) || rowset->grouped > 0 ||
		rowset->relation->unit_steps != NIL;
}

/*
 * dp_rowsets_name_rows
 *	  Give names to what a verified block joins, in place, and make the queries
 *	  that return their rows.
 */
void
dp_rowsets_name_rows(dp_rowset *rowset, dp_block *block)
{
	bool		several = needs_whole_units(rowset);
	ListCell   *lc;

	foreach(lc, rowset->leaves)
	{
		dp_leaf    *leaf = lfirst(lc);
		int			number = foreach_current_index(lc) + 1;
		bool		private = leaf->relation != NULL;
		dp_joined  *source;

		block->relids = lappend_oid(block->relids, private ?
									leaf->relation->relid : InvalidOid);
		block->units = lappend(block->units,
							   makeString(private ?
										  dp_protect_unit_mark(leaf->relation)
										  : pstrdup("")));
		if (!several && private)
			continue;
		source = name_entry(leaf->level, leaf->entry, leaf->relation, number,
							private ? PRIVATE_ROWS : PUBLIC_ROWS);
		source->twin = find_twin(rowset, number);
		block->sources = lappend(block->sources, source);
	}
}

/* ---- columns that are needed ---- */

typedef struct columns_walk
{
	Bitmapset **columns;		/* by number of a leaf */
	bool		whole;			/* a whole row, or a system column */
} columns_walk;

static bool
add_used_column(Node *node, const dp_walk *walk)
{
	columns_walk *used = walk->context;
	const Var  *var = (Var *) node;
	const RangeTblEntry *entry;
	Bitmapset **columns;

	if (!IsA(node, Var))
		return false;
	entry = rt_fetch(var->varno, walk->level->rtable);
	if (entry->rtekind != RTE_NAMEDTUPLESTORE)
		return false;
	columns = &used->columns[dp_rowsets_leaf_number(entry)];
	if (var->varattno <= 0)
		used->whole = true;
	else
		*columns = bms_add_member(*columns, var->varattno);
	return false;
}

/* The columns of all leaves that a query uses. */
static columns_walk
find_columns(Query *inner, const dp_block *block)
{
	columns_walk walk = {NULL};

	walk.columns = palloc0(sizeof(Bitmapset *) *
						   (list_length(block->relids) + 1));
	(void) dp_base_contains((Node *) inner, add_used_column, &walk,
							QTW_IGNORE_JOINALIASES);
	return walk;
}

static void
add_targets(dp_joined *source, const Bitmapset *needed)
{
	Query	   *query = source->query;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, dp_compat_entry_columns(linitial(query->rtable)))
	{
		Node	   *column = lfirst(lc);

		if (!bms_is_member(++n, needed))
			column = (Node *) makeNullConst(exprType(column),
											exprTypmod(column),
											exprCollation(column));
		(void) dp_rowsets_add_target(&query->targetList, column, "column");
	}
	if (source->follow != NIL)
		(void) dp_rowsets_add_target(&query->targetList, (Node *)
									 makeNullConst(followed_type(source), -1,
												   InvalidOid), "column");
}

/* Rows that are read once for two names have the columns that either needs. */
static void
share_columns(const dp_block *block, Bitmapset **columns)
{
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (source->twin != 0)
			columns[source->twin] = bms_add_members(columns[source->twin],
													columns[source->number]);
	}
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (source->twin != 0)
			columns[source->number] = bms_copy(columns[source->twin]);
	}
}

/* Add the column of the unit, or those by which it is looked up. */
static void
named_add_unit(const dp_joined *source, Bitmapset **columns)
{
	ListCell   *lc;

	if (source->follow == NIL)
		*columns = bms_add_member(*columns, source->unit);
	foreach(lc, source->follow)
		*columns = bms_add_member(*columns, lfirst_int(lc));
}

/*
 * dp_rowsets_select_rows
 *	  Make the queries of named rows return the columns that the inner query,
 *	  which is complete, uses.
 */
dp_refusal *
dp_rowsets_select_rows(dp_block *block)
{
	dp_refusal *refusal = NULL;
	columns_walk walk;
	ListCell   *lc;

	if (block->sources == NIL)
		return NULL;
	walk = find_columns(block->inner, block);
	if (walk.whole)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
							  "Name the columns that are meant.",
							  "whole rows and system columns of a joined "
							  "relation are not supported below a private "
							  "aggregate");
	share_columns(block, walk.columns);
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		if (source->unit != 0)
			named_add_unit(source, &walk.columns[source->number]);
		if (refusal == NULL && OidIsValid(source->relid))
			refusal = check_row_length(source->relid,
									   walk.columns[source->number]);
		add_targets(source, walk.columns[source->number]);
	}
	return refusal;
}

/* ---- the one private relation ---- */

/* The level and the entry of the one relation without a name. */
static bool
find_unnamed(Query *level, Oid relid, Query **found, RangeTblEntry **entry)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		RangeTblEntry *candidate = lfirst(lc);

		if (candidate->rtekind == RTE_RELATION && candidate->relid == relid)
		{
			*found = level;
			*entry = candidate;
		}
		else if (candidate->rtekind == RTE_SUBQUERY)
			(void) find_unnamed(candidate->subquery, relid, found, entry);
	}
	return *found != NULL;
}

/*
 * dp_rowsets_name_private
 *	  A copy of a block that joins one protected relation with public rows, in
 *	  which the relation's rows are named, too.
 *
 * Errors: 54000 rows of the relation may be too long.
 */
dp_block *
dp_rowsets_name_private(const dp_block *block)
{
	dp_block   *named = palloc(sizeof(dp_block));
	columns_walk walk;
	Query	   *level = NULL;
	RangeTblEntry *entry = NULL;
	dp_refusal *refusal;
	dp_joined  *source;

	*named = *block;
	named->inner = copyObject(block->inner);
	if (!find_unnamed(named->inner, block->relid, &level, &entry))
		elog(ERROR, "private relation of a join not found");
	source = name_entry(level, entry, dp_protect_lookup(block->relid), 1,
						PRIVATE_ROWS);
	walk = find_columns(named->inner, block);
	walk.columns[1] = bms_add_member(walk.columns[1], source->unit);
	refusal = check_row_length(block->relid, walk.columns[1]);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, NULL);
	add_targets(source, walk.columns[1]);
	named->sources = lcons(source, list_copy(block->sources));
	return named;
}
