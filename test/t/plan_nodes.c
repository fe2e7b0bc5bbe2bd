/*
 * plan_nodes.c
 *	  For plan_nodes.pl: the nodes that plans of private queries carry, and
 *	  canonical texts of blocks; and plans of inner queries.  Built and
 *	  installed by that test alone.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "parser/parser.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"

#include "base/dp_base.h"
#include "query/domains/dp_domains.h"
#include "query/rowsets/dp_rowsets.h"
#include "query/split/dp_split.h"
#include "query/split/split_internal.h"
#include "release/joined/dp_joined.h"
#include "release/inner/dp_inner.h"
#include "release/inner/inner_internal.h"
#include "release/run/run_internal.h"

PG_MODULE_MAGIC;

/* ---- releases of a statement ---- */

static void
add_releases(Plan *plan, List **releases)
{
	if (plan == NULL)
		return;
	if (IsA(plan, CustomScan) &&
		strcmp(((CustomScan *) plan)->methods->CustomName, "DpRelease") == 0)
		*releases = lappend(*releases,
							linitial(((CustomScan *) plan)->custom_private));
	if (IsA(plan, SubqueryScan))
		add_releases(((SubqueryScan *) plan)->subplan, releases);
	add_releases(plan->lefttree, releases);
	add_releases(plan->righttree, releases);
}

/* What the plan of a statement carries: of dp_release_plan *. */
static List *
releases_of(const text *statement)
{
	const char *sql = text_to_cstring(statement);
	RawStmt    *raw = linitial(pg_parse_query(sql));
	Query	   *query = linitial(pg_analyze_and_rewrite_fixedparams(raw, sql,
																	NULL, 0,
																	NULL));
	PlannedStmt *planned = pg_plan_query(query, sql, 0, NULL);
	List	   *releases = NIL;
	ListCell   *lc;

	add_releases(planned->planTree, &releases);
	foreach(lc, planned->subplans)
		add_releases(lfirst(lc), &releases);
	if (releases == NIL)
		elog(ERROR, "no release in: %s", sql);
	return releases;
}

static dp_block *
first_block(const text *statement)
{
	return ((dp_release_plan *) linitial(releases_of(statement)))->block;
}

/* ---- tables of fields against structs ---- */

/* Bytes of a struct that are no padding: told by the compiler. */
#define REAL_BYTES(type, bytes) \
	do \
	{ \
		type		all; \
\
		memset(&all, 0xff, sizeof(all)); \
		__builtin_clear_padding(&all); \
		memcpy(bytes, &all, sizeof(all)); \
	} while (0)

static const dp_node_type *
type_of(const ExtensibleNode *node)
{
	return (const dp_node_type *)
		GetExtensibleNodeMethods(node->extnodename, false);
}

static void
check_table(const ExtensibleNode *node)
{
	const dp_node_type *type = type_of(node);
	Size		size = type->methods.node_size;
	unsigned char *real = palloc0(size);
	int		   *covered = palloc0(sizeof(int) * size);
	Size		at;
	int			i;

	if (strcmp(node->extnodename, "dp_key") == 0)
		REAL_BYTES(dp_key, real);
	else if (strcmp(node->extnodename, "dp_value") == 0)
		REAL_BYTES(dp_value, real);
	else if (strcmp(node->extnodename, "dp_release_plan") == 0)
		REAL_BYTES(dp_release_plan, real);
	else if (strcmp(node->extnodename, "dp_release_input") == 0)
		REAL_BYTES(dp_release_input, real);
	else
		REAL_BYTES(dp_block, real);
	for (i = 0; i < type->nfields; i++)
		for (at = 0; at < type->fields[i].size; at++)
			covered[type->fields[i].offset + at]++;
	for (at = sizeof(ExtensibleNode); at < size; at++)
		if (covered[at] != (real[at] != 0))
			elog(ERROR, "byte %zu of %s is in %d fields", at,
				 node->extnodename, covered[at]);
}

/* ---- a node with one field changed ---- */

static char *
place(const ExtensibleNode *node, const dp_node_field *field)
{
	return (char *) node + field->offset;
}

static bool
same_field(const ExtensibleNode *a, const ExtensibleNode *b,
		   const dp_node_field *field)
{
	void	   *x;
	void	   *y;

	if (field->kind == DP_FIELD_INTEGER)
		return memcmp(place(a, field), place(b, field), field->size) == 0;
	x = *(void **) place(a, field);
	y = *(void **) place(b, field);
	if (x == NULL || y == NULL)
		return x == y;
	if (x == y)
		elog(ERROR, "field %s is shared", field->name);
	return field->kind == DP_FIELD_NODE ? equal(x, y) : strcmp(x, y) == 0;
}

/* What comes back must be the same field by field, by our own comparison. */
static void
check_same(const ExtensibleNode *node, ExtensibleNode *back, const char *how)
{
	const dp_node_type *type = type_of(node);
	int			i;

	for (i = 0; i < type->nfields; i++)
		if (!same_field(node, back, &type->fields[i]))
			elog(ERROR, "field %s of %s differs after %s: %s, %s",
				 type->fields[i].name, node->extnodename, how,
				 nodeToString(node), nodeToString(back));
	if (!equal(node, back) || !equal(back, node))
		elog(ERROR, "%s is not equal after %s", node->extnodename, how);
}

static void
check_ways(const ExtensibleNode *node)
{
	check_same(node, copyObject((ExtensibleNode *) node), "a copy");
	check_same(node, stringToNode(nodeToString(node)), "writing and reading");
}

static ExtensibleNode *
shallow_copy(const ExtensibleNode *node)
{
	Size		size = type_of(node)->methods.node_size;

	return memcpy(palloc(size), node, size);
}

static int
check_twin(const ExtensibleNode *node, const ExtensibleNode *twin,
		   const dp_node_field *field)
{
	if (equal(node, twin) || equal(twin, node))
		elog(ERROR, "field %s of %s is not compared", field->name,
			 node->extnodename);
	check_ways(twin);
	return 1;
}

/* Try other values of one field; returns how many. */
static int
check_field(const ExtensibleNode *node, const dp_node_field *field)
{
	static const char *const strings[] = {"", " ", "<>", "(", "}", "\"", "\\",
	"9 lives", "a b\n:share 3 {\"x\"}", "\303\244"};
	ExtensibleNode *twin;
	int			checks = 0;
	Size		i;

	if (field->kind == DP_FIELD_INTEGER)
		for (i = 0; i < field->size; i++)
		{
			/* the low bit leaves a boolean one; the high one is the sign */
			twin = shallow_copy(node);
			place(twin, field)[i] ^= 1;
			checks += check_twin(node, twin, field);
			if (field->size == 1)
				continue;
			place(twin, field)[i] ^= 0x80;
			checks += check_twin(node, twin, field);
		}
	if (field->kind == DP_FIELD_STRING)
		for (i = 0; i < lengthof(strings); i++)
		{
			twin = shallow_copy(node);
			*(const char **) place(twin, field) = strings[i];
			checks += check_twin(node, twin, field);
		}
	if (field->kind != DP_FIELD_INTEGER)
	{
		twin = shallow_copy(node);
		*(void **) place(twin, field) =
			*(void **) place(node, field) != NULL ? NULL :
			field->kind == DP_FIELD_NODE ?
			(void *) list_make2(NULL, makeString(pstrdup("a b"))) :
			(void *) "month";
		checks += check_twin(node, twin, field);
	}
	return checks;
}

static int
check_node(const ExtensibleNode *node)
{
	const dp_node_type *type = type_of(node);
	int			checks = 0;
	int			i;

	check_table(node);
	check_ways(node);
	for (i = 0; i < type->nfields; i++)
		checks += check_field(node, &type->fields[i]);
	return checks;
}

/* What a reader would be sent of a block, with any nodes beside it. */
static ExtensibleNode *
make_input(dp_block *block)
{
	dp_release_input *input = palloc0(sizeof(dp_release_input));

	input->node.type = T_ExtensibleNode;
	input->node.extnodename = "dp_release_input";
	input->block = block;
	input->arguments = list_make1(makeInteger(1));
	input->aggregates = list_make1(makeInteger(2));
	input->types = list_make1_oid(3);
	return &input->node;
}

PG_FUNCTION_INFO_V1(plan_nodes_check);

/*
 * plan_nodes_check
 *	  Check all nodes in the plan of a statement; returns how many values of
 *	  fields were tried, or raises what is wrong.
 */
Datum
plan_nodes_check(PG_FUNCTION_ARGS)
{
	int			checks = 0;
	ListCell   *lc;
	ListCell   *key;
	ListCell   *value;

	foreach(lc, releases_of(PG_GETARG_TEXT_PP(0)))
	{
		dp_release_plan *plan = lfirst(lc);
		dp_block   *block = plan->block;

		checks += check_node(&plan->node) + check_node(&block->node) +
			check_node(make_input(block));
		foreach(key, block->keys)
			checks += check_node(lfirst(key));
		foreach(value, block->values)
		{
			checks += check_node(lfirst(value));
			if (((dp_value *) lfirst(value))->key != NULL)
				checks += check_node(&((dp_value *) lfirst(value))->key->node);
		}
	}
	PG_RETURN_INT32(checks);
}

/* ---- canonical texts ---- */

/* The same constants in the form that stored values have: a short header. */
static bool
pack_walker(Node *node, void *context)
{
	int		   *packed = context;

	if (node == NULL)
		return false;
	if (IsA(node, Const) && ((Const *) node)->constlen == -1 &&
		!((Const *) node)->constisnull)
	{
		struct varlena *old = (struct varlena *)
			DatumGetPointer(((Const *) node)->constvalue);
		struct varlena *new = palloc(VARSIZE(old));

		Assert(VARATT_CAN_MAKE_SHORT(old));
		SET_VARSIZE_SHORT(new, VARATT_CONVERTED_SHORT_SIZE(old));
		memcpy(VARDATA_SHORT(new), VARDATA(old), VARSIZE(old) - VARHDRSZ);
		((Const *) node)->constvalue = PointerGetDatum(new);
		(*packed)++;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, pack_walker, context, 0);
	return expression_tree_walker(node, pack_walker, context);
}

PG_FUNCTION_INFO_V1(plan_nodes_canonical);

/*
 * plan_nodes_canonical
 *	  Canonical text of the first block of a statement; writing it must leave
 *	  the block as it is.
 */
Datum
plan_nodes_canonical(PG_FUNCTION_ARGS)
{
	dp_constants constants = PG_GETARG_BOOL(1) ? DP_CONSTANTS_KEPT :
		DP_CONSTANTS_BLANKED;
	dp_block   *block = first_block(PG_GETARG_TEXT_PP(0));
	char	   *before = nodeToString(block);
	char	   *text = dp_split_write_canonical(block, constants);

	if (strcmp(before, nodeToString(block)) != 0)
		elog(ERROR, "writing a block changed it");
	PG_RETURN_TEXT_P(cstring_to_text(text));
}

PG_FUNCTION_INFO_V1(plan_nodes_packed);

/*
 * plan_nodes_packed
 *	  How many constants of a statement's block were packed; raises unless
 *	  its canonical text is the same then.
 */
Datum
plan_nodes_packed(PG_FUNCTION_ARGS)
{
	dp_block   *block = first_block(PG_GETARG_TEXT_PP(0));
	char	   *before = dp_split_write_canonical(block, DP_CONSTANTS_KEPT);
	int			packed = 0;

	block = copyObject(block);
	(void) pack_walker((Node *) block->inner, &packed);
	if (strcmp(before,
			   dp_split_write_canonical(block, DP_CONSTANTS_KEPT)) != 0)
		elog(ERROR, "a packed constant is another one");
	PG_RETURN_INT32(packed);
}

/* ---- plans of inner queries ---- */

static int
count_nodes(const Plan *plan, NodeTag tag)
{
	int			n = nodeTag(plan) == tag;
	ListCell   *lc;

	foreach(lc, dp_base_plans_below(plan))
		n += count_nodes(lfirst(lc), tag);
	return n;
}

PG_FUNCTION_INFO_V1(plan_nodes_joins);

/*
 * plan_nodes_joins
 *	  How the first block of a statement joins its rows, without regard to what
 *	  is computed of them.
 */
Datum
plan_nodes_joins(PG_FUNCTION_ARGS)
{
	dp_block   *block = first_block(PG_GETARG_TEXT_PP(0));
	Query	   *inner = copyObject(block->inner);
	dp_public_facts facts = {0};
	Plan	   *plan;
	ListCell   *lc;

	foreach(lc, block->sources)
		facts.private_names += OidIsValid(((dp_joined *) lfirst(lc))->relid);
	inner->hasAggs = false;
	inner->targetList =
		list_make1(makeTargetEntry((Expr *) makeBoolConst(true, false), 1,
								   NULL, false));
	plan = dp_inner_public_plan(inner, DP_WORKERS_NONE, &facts)->planTree;
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(
								"%d hashed, %d looped, %d kept",
								count_nodes(plan, T_HashJoin),
								count_nodes(plan, T_NestLoop),
								count_nodes(plan, T_Material))));
}
