/*
 * unit_steps.c
 *	  Queries that are read to find units behind keys.
 *
 * Rows of such a relation get their unit while rows are gathered by unit
 * (run/follow_keys.c), from queries that return the key and the next columns
 * of each relation on the path.  They read all rows, whatever policies hide
 * from the asking role, since the unit of a row does not depend on who asks.
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_relation.h"
#include "utils/lsyscache.h"

#include "split.h"

static List *
read_columns(ParseState *state, Oid relid, const List *columns, List *targets)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		char	   *name = get_attname(relid, lfirst_int(lc), false);
		Node	   *var = colNameToVar(state, name, false, -1);

		targets = lappend(targets,
						  makeTargetEntry((Expr *) var,
										  list_length(targets) + 1, name,
										  false));
	}
	return targets;
}

/*
 * SELECT key.., next.. FROM relation, by OID, since it may be in a schema that
 * the asking role may not use.
 */
static Query *
read_step(const dp_unit_step *step)
{
	ParseState *state = make_parsestate(NULL);
	Relation	rel = table_open(step->relid, AccessShareLock);
	Query	   *query = makeNode(Query);

	addNSItemToQuery(state,
					 addRangeTableEntryForRelation(state, rel, AccessShareLock,
												   NULL, true, true),
					 true, true, true);
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->stmt_location = -1;
	query->targetList = read_columns(state, step->relid, step->next,
									 read_columns(state, step->relid,
												  step->key, NIL));
	query->jointree = makeFromExpr(state->p_joinlist, NULL);
	dp_compat_parsed_entries(query, state);
	table_close(rel, NoLock);
	free_parsestate(state);
	return query;
}

/*
 * dp_block_add_steps
 *	  Add the steps to the unit, if any, to the source of a relation's rows.
 */
void
dp_block_add_steps(const dp_relation *relation, dp_joined *source)
{
	ListCell   *lc;

	foreach(lc, relation->unit_steps)
	{
		const dp_unit_step *step = lfirst(lc);

		if (source->follow == NIL)
			source->follow = list_copy(step->from);
		source->steps = lappend(source->steps, read_step(step));
		source->step_relids = lappend_oid(source->step_relids, step->relid);
		source->step_keys = lappend(source->step_keys, list_copy(step->key));
	}
}

/*
 * dp_block_followed_type: the type of the unit to which the steps of a source
 * lead.
 */
Oid
dp_block_followed_type(const dp_joined *source)
{
	const Query *last = llast(source->steps);
	const TargetEntry *unit = llast(last->targetList);

	return exprType((Node *) unit->expr);
}
