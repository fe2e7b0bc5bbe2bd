/*
 * canonical.c
 *	  One text for all ways of writing a verified block.
 *
 * The text is PostgreSQL's own for the block's trees, so anything that is not
 * removed here distinguishes blocks.  Removed is what a tree keeps for display
 * and error messages: locations in the statement's text, names of columns,
 * tables and WITH queries, the numbers by which clauses refer to targets, the
 * order of GROUP BY and of conditions under AND or OR; and the role whose
 * rights are checked, since rights are checked for every query.
 *
 * The text does not include what the catalogs say (declarations, the unit,
 * public values of keys), nor what the surrounding statement decides, such as
 * the block's share of epsilon.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"

#include "../../base/dp_compat.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_split.h"
#include "split_internal.h"

/* A query level, for looking up the WITH queries that it refers to. */
typedef struct level
{
	struct level *outer;
	const List *ctes;			/* of CommonTableExpr *, with their names */
} level;

typedef struct canonical
{
	dp_constants constants;
	level	   *innermost;
} canonical;

static Node *canonical_mutator(Node *node, void *context);

static Node *
canonical_constant(Const *constant, dp_constants constants)
{
	Const	   *copy;

	if (constants == DP_CONSTANTS_BLANKED)
		return (Node *) makeNullConst(constant->consttype, -1, InvalidOid);
	copy = copyObject(constant);
	if (!copy->constisnull && copy->constlen == -1)
		copy->constvalue = PointerGetDatum(PG_DETOAST_DATUM(copy->constvalue));
	return (Node *) copy;
}

/* ---- places in the text ---- */

/* In a name the space would be escaped by a backslash. */
static void
forget_locations(char *text)
{
	static const char mark[] = ":location ";
	const char *from = text;
	char	   *to = text;

	while (*from != '\0')
	{
		if (*from == ':' && strncmp(from, mark, strlen(mark)) == 0)
			for (from += strlen(mark); *from == '-' ||
				 (*from >= '0' && *from <= '9'); from++)
				;
		else
			*to++ = *from++;
	}
	*to = '\0';
}

/* ---- names ---- */

/* The name of a WITH query: its position in the list. */
static char *
place_of_cte(const List *ctes, const char *name)
{
	ListCell   *lc;

	foreach(lc, ctes)
		if (strcmp(((CommonTableExpr *) lfirst(lc))->ctename, name) == 0)
			return psprintf("%d", foreach_current_index(lc));
	elog(ERROR, "WITH query \"%s\" not found", name);
}

static void
forget_names(Query *query, const level *innermost)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);
		const level *at = innermost;
		Index		up;

		entry->alias = entry->eref = NULL;
		if (entry->rtekind != RTE_CTE)
			continue;
		for (up = 0; at != NULL && up < entry->ctelevelsup; up++)
			at = at->outer;
		if (at != NULL)
			entry->ctename = place_of_cte(at->ctes, entry->ctename);
	}
	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst(lc);

		cte->ctename = place_of_cte(innermost->ctes, cte->ctename);
		cte->aliascolnames = cte->ctecolnames = NIL;
	}
}

/* ---- clauses and their targets ---- */

/* All clauses that refer to targets, except grouping sets. */
static List *
all_clauses(const Query *query)
{
	List	   *clauses = list_concat_copy(query->groupClause,
										   query->distinctClause);
	ListCell   *lc;

	clauses = list_concat(clauses, query->sortClause);
	foreach(lc, query->windowClause)
	{
		const WindowClause *window = lfirst(lc);

		clauses = list_concat(clauses, window->partitionClause);
		clauses = list_concat(clauses, window->orderClause);
	}
	return clauses;
}

/* An item of GROUP BY without what the parser took from ORDER BY. */
static SortGroupClause *
without_order(const SortGroupClause *clause)
{
	SortGroupClause *copy = makeNode(SortGroupClause);

	copy->tleSortGroupRef = clause->tleSortGroupRef;
	copy->eqop = clause->eqop;
	copy->hashable = clause->hashable;
	return copy;
}

static int
compare_clauses(const ListCell *a, const ListCell *b)
{
	return (int) ((SortGroupClause *) lfirst(a))->tleSortGroupRef -
		(int) ((SortGroupClause *) lfirst(b))->tleSortGroupRef;
}

/*
 * Number targets by position: the parser numbers them in the order in which
 * ORDER BY, GROUP BY and others refer to them, and grouping items taken from
 * ORDER BY have its sort direction.
 */
static void
number_targets(Query *query)
{
	List	   *clauses = all_clauses(query);
	Bitmapset  *used = NULL;
	ListCell   *lc;

	if (query->groupingSets != NIL)
		return;
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst(lc);

		clause->tleSortGroupRef =
			get_sortgroupclause_tle(clause, query->targetList)->resno;
		used = bms_add_member(used, clause->tleSortGroupRef);
	}
	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst(lc);

		target->ressortgroupref =
			bms_is_member(target->resno, used) ? target->resno : 0;
	}
	foreach(lc, query->groupClause)
		lfirst(lc) = without_order(lfirst(lc));
	list_sort(query->groupClause, compare_clauses);
}

/* ---- conditions ---- */

/* A condition and its text. */
typedef struct condition
{
	Node	   *node;
	char	   *text;
} condition;

static int
compare_conditions(const ListCell *a, const ListCell *b)
{
	return strcmp(((condition *) lfirst(a))->text,
				  ((condition *) lfirst(b))->text);
}

static List *
canonical_add_condition(List *conditions, Node *node)
{
	condition  *new = palloc(sizeof(condition));

	new->node = node;
	new->text = nodeToString(node);
	forget_locations(new->text);
	return lappend(conditions, new);
}

/* Flatten AND or OR, and sort its arguments by their texts. */
static void
sort_conditions(BoolExpr *boolean)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, boolean->args)
	{
		Node	   *arg = lfirst(lc);
		ListCell   *inner;

		if (!IsA(arg, BoolExpr) || ((BoolExpr *) arg)->boolop !=
			boolean->boolop)
			conditions = canonical_add_condition(conditions, arg);
		else
			foreach(inner, ((BoolExpr *) arg)->args)
				conditions = canonical_add_condition(conditions,
													 lfirst(inner));
	}
	list_sort(conditions, compare_conditions);
	boolean->args = NIL;
	foreach(lc, conditions)
		boolean->args = lappend(boolean->args,
								((condition *) lfirst(lc))->node);
}

/* ---- the tree ---- */

static Node *
canonical_query(Query *query, canonical *c)
{
	level		here = {c->innermost, query->cteList};

	c->innermost = &here;
	query = query_tree_mutator(query, canonical_mutator, c,
							   QTW_EXAMINE_SORTGROUP);
	forget_names(query, &here);
	c->innermost = here.outer;
	dp_compat_forget_rights(query);
	number_targets(query);
	query->canSetTag = true;	/* it only decides whose rows are counted */
	query->queryId = 0;
	query->stmt_location = -1;
	query->stmt_len = 0;
	return (Node *) query;
}

static Node *
canonical_mutator(Node *node, void *context)
{
	canonical  *c = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Const))
		return canonical_constant((Const *) node, c->constants);
	if (IsA(node, Query))
		return canonical_query((Query *) node, c);
	node = expression_tree_mutator(node, canonical_mutator, context);
	if (IsA(node, TargetEntry))
	{
		((TargetEntry *) node)->resname = NULL;
		((TargetEntry *) node)->resorigtbl = InvalidOid;
		((TargetEntry *) node)->resorigcol = 0;
	}
	if (IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop != NOT_EXPR)
		sort_conditions((BoolExpr *) node);
	if (IsA(node, RangeTblFunction))
		((RangeTblFunction *) node)->funccolnames = NIL;
	if (IsA(node, WindowClause))
	{
		((WindowClause *) node)->name = NULL;
		((WindowClause *) node)->refname = NULL;
	}
	return node;
}

/*
 * dp_split_write_canonical
 *	  A block as text, palloc'd: its inner query and the queries that run
 *	  before.
 *
 * Two blocks with equal texts, constants kept, are one query: an answer to one
 * is an answer to the other, as long as parameters, subqueries' results,
 * settings and catalogs are the same.  If blanked, constants differ only by
 * type.  The text is valid in one database and one version of PostgreSQL,
 * since it has OIDs.
 */
char *
dp_split_write_canonical(const dp_block *block, dp_constants constants)
{
	canonical	c = {constants, NULL};
	List	   *trees = list_make2(block->inner, block->subqueries);
	ListCell   *lc;
	char	   *text;

	foreach(lc, block->sources)
		trees = lappend(trees, ((const dp_joined *) lfirst(lc))->query);

	/* for such a key the inner query computes only the column */
	foreach(lc, list_concat_copy(block->keys, block->others))
		if (((const dp_key *) lfirst(lc))->kind == DP_KEY_IMAGE)
			trees = lappend(trees, ((const dp_key *) lfirst(lc))->image);
	text = nodeToString(canonical_mutator((Node *) trees, &c));

	forget_locations(text);
	return text;
}

/*
 * dp_split_write_tree
 *	  The same for a query or expression of a block, constants kept.
 */
char *
dp_split_write_tree(Node *tree)
{
	canonical	c = {DP_CONSTANTS_KEPT, NULL};
	char	   *text = nodeToString(canonical_mutator(tree, &c));

	forget_locations(text);
	return text;
}

/* A copy of the key without its conditions. */
static dp_key *
without_conditions(const dp_key *key)
{
	dp_key	   *copy = palloc(sizeof(dp_key));

	*copy = *key;
	copy->conditions = NIL;
	copy->values = NULL;
	if (key->base != NULL)
		copy->base = without_conditions(key->base);
	return copy;
}

/*
 * dp_split_write_key
 *	  The source of a key's public values as text, palloc'd, without the
 *	  conditions on them.
 */
char *
dp_split_write_key(const dp_key *key)
{
	char	   *text = nodeToString(without_conditions(key));

	forget_locations(text);
	return text;
}

/* ----------------
 *		One number for all blocks of one shape, which the ledger records.
 * ----------------
 */

/* dp_split_fingerprint: hash of the canonical text, constants blanked. */
int64
dp_split_fingerprint(const dp_block *block)
{
	char	   *text = dp_split_write_canonical(block, DP_CONSTANTS_BLANKED);

	return (int64) hash_bytes_extended((unsigned char *) text,
									   (int) strlen(text), 0);
}
