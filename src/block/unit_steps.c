/*
 * unit_steps.c
 *	  What is read to find units that are behind keys.
 *
 * Rows of such a relation get their unit while units are brought together
 * (run/follow_keys.c), from queries that give the key and what follows of each
 * relation on the way: of all its rows, whatever policies hide from the asker,
 * since whose a row is does not depend on who asks.
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
 * SELECT key.., next.. FROM relation: by its OID, since what leads to it may
 * be a schema that the asker may not look into.
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
 *	  Give the source of a relation's rows the steps to their unit, if any.
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

/* dp_block_followed_type: of the unit that the steps of a source lead to. */
Oid
dp_block_followed_type(const dp_joined *source)
{
	const Query *last = llast(source->steps);
	const TargetEntry *unit = llast(last->targetList);

	return exprType((Node *) unit->expr);
}
