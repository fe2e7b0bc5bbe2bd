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

#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "split.h"

/* SELECT key, next FROM relation */
static Query *
read_step(const dp_unit_step *step)
{
	char	   *text = psprintf("SELECT %s, %s FROM %s",
								quote_identifier(get_attname(step->relid,
															 step->key,
															 false)),
								quote_identifier(get_attname(step->relid,
															 step->next,
															 false)),
								dp_protect_qualified_name(step->relid));
	List	   *statements = raw_parser(text, RAW_PARSE_DEFAULT);

	return parse_analyze_fixedparams(linitial_node(RawStmt, statements), text,
									 NULL, 0, NULL);
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

		if (source->follow == 0)
			source->follow = step->from;
		source->steps = lappend(source->steps, read_step(step));
		source->step_relids = lappend_oid(source->step_relids, step->relid);
		source->step_keys = lappend_int(source->step_keys, step->key);
	}
}

/* dp_block_followed_type: of the unit that the steps of a source lead to. */
Oid
dp_block_followed_type(const dp_joined *source)
{
	const Query *last = llast(source->steps);
	const TargetEntry *unit = lsecond(last->targetList);

	return exprType((Node *) unit->expr);
}
