/*
 * native.c
 *	  Exact aggregates of the inner query, which replace those of the query.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "dp_count.h"

/*
 * dp_count_native
 *	  An exact aggregate of the inner query with the FILTER of the aggregate
 *	  `asked`.  `arguments` are expressions; NIL means count(*).
 */
Aggref *
dp_count_native(const Aggref *asked, Oid function, Oid result_type,
				List *arguments)
{
	Aggref	   *native = makeNode(Aggref);
	ListCell   *lc;

	native->aggfnoid = function;
	native->aggtype = result_type;
	native->inputcollid = asked->inputcollid;
	native->aggfilter = copyObject(asked->aggfilter);
	native->aggstar = arguments == NIL;
	native->aggkind = AGGKIND_NORMAL;
	native->aggsplit = AGGSPLIT_SIMPLE;
	native->aggno = -1;
	native->aggtransno = -1;
	native->location = -1;
	foreach(lc, arguments)
	{
		Expr	   *argument = lfirst(lc);

		native->aggargtypes = lappend_oid(native->aggargtypes,
										  exprType((Node *) argument));
		native->args = lappend(native->args,
							   makeTargetEntry(copyObject(argument),
											   foreach_current_index(lc) + 1,
											   NULL, false));
	}
	return native;
}

/*
 * dp_count_exact
 *	  dp_pg.<aggregate>(argument, spec) as declared for `type`, with this
 *	  result type.
 */
List *
dp_count_exact(const Aggref *asked, const char *aggregate, Oid type,
			   const Const *spec, Oid result_type)
{
	TargetEntry *argument = linitial(asked->args);
	Oid			types[2] = {type, spec->consttype};

	return list_make1(dp_count_native(asked,
									  dp_catalog_function(aggregate, 2, types),
									  result_type,
									  list_make2(argument->expr,
												 (void *) spec)));
}
