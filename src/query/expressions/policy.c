/*
 * policy.c
 *	  Row security in private queries: parts of policies that depend only on
 *	  the connection become constants, and refusals name the policy.
 *
 * PostgreSQL attaches the policies that apply to the current user.  A policy
 * such as
 *
 *	  tenant = current_setting('app.tenant')
 *
 * has one meaning per query.  Parts without columns that depend only on the
 * user, the time, settings or the database are computed in the connection, as
 * its user, and replaced by their values before anything else examines the
 * query.  So stored answers differ if these values do (answers/answer_key.c),
 * and no plan or job contains them, nor does a reader evaluate them.  The
 * charge comes later.
 *
 * Functions that read tables or catalogs are not listed, since they could
 * return another value after the key of an answer was made.  Nor are functions
 * of users.  But text may be cast to an enum or a reg* type, as in
 * current_user::regrole, whose names change only by DDL of the objects'
 * owners.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "rewrite/rowsecurity.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

/* Built-ins that depend only on settings, user, time and database. */
static const Oid session_functions[] = {
	F_CURRENT_SETTING_TEXT, F_CURRENT_SETTING_TEXT_BOOL, F_CURRENT_DATABASE,
	F_NOW, F_TRANSACTION_TIMESTAMP, F_STATEMENT_TIMESTAMP,
	F_TO_CHAR_TIMESTAMPTZ_TEXT, F_TO_CHAR_TIMESTAMP_TEXT, F_TO_DATE,
	F_TO_TIMESTAMP_TEXT_TEXT
};

static bool
is_of_session(Oid function)
{
	int			i;

	for (i = 0; i < lengthof(session_functions); i++)
		if (session_functions[i] == function)
			return true;
	return false;
}

/* ---- values of the connection ---- */

static bool
tells_session(Oid function, void *context)
{
	return is_of_session(function);
}

/* Whether the expression depends on the connection. */
static bool
depends_on_session(Node *node, const dp_walk *walk)
{
	return IsA(node, SQLValueFunction) ||
		check_functions_in_node(node, tells_session, NULL);
}

/* context: the node that calls the function */
static bool
is_unknown(Oid function, void *context)
{
	if (IsA(context, CoerceViaIO))
		return function >= FirstGenbkiObjectId;
	if (dp_expressions_find_by_total(function) != NULL)
		return false;
	return function >= FirstGenbkiObjectId ||
		(func_volatile(function) != PROVOLATILE_IMMUTABLE &&
		 !is_of_session(function) && dp_expressions_find(function) == NULL &&
		 !dp_expressions_is_leakproof(function));
}

/*
 * Whether text is cast to the type by the server's code only, unlike to a
 * domain.
 */
static bool
is_own_type(Oid type)
{
	return type < FirstGenbkiObjectId || type_is_enum(type);
}

/*
 * True at a node that is not computed here; *context: inside a test of values.
 */
static bool
unknown_walker(Node *node, void *context)
{
	bool		tested = true;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CoalesceExpr:
		case T_CaseWhen:
		case T_MinMaxExpr:
		case T_SQLValueFunction:
		case T_CollateExpr:
		case T_ArrayExpr:
			break;
		case T_NullTest:
			if (((NullTest *) node)->argisrow)
				return true;
			break;
		case T_CoerceViaIO:
			if (!is_own_type(exprType(node)) || !is_own_type(
					exprType((Node *) ((CoerceViaIO *) node)->arg)))
				return true;
			break;
		case T_CaseTestExpr:
			return !*(bool *) context;
		case T_CaseExpr:
		case T_ArrayCoerceExpr:
			return expression_tree_walker(node, unknown_walker, &tested);
		default:
			return true;
	}
	return check_functions_in_node(node, is_unknown, node) ||
		expression_tree_walker(node, unknown_walker, context);
}

static bool
is_settled_here(Node *node)
{
	bool		tested = false;

	return !IsA(node, List) && !IsA(node, CaseWhen) && !IsA(node, Const) &&
		dp_expressions_is_public_scalar(node) &&
		dp_base_contains(node, depends_on_session, NULL,
						 DP_WALK_ONE_LEVEL) &&
		!unknown_walker(node, &tested);
}

static Node *policy_settle_mutator(Node *node, void *context);

static bool
is_boolean(Node *node, bool value)
{
	return IsA(node, Const) && !((Const *) node)->constisnull &&
		DatumGetBool(((Const *) node)->constvalue) == value;
}

/*
 * AND, OR: stop at an argument that decides, so that later ones cannot fail.
 */
static Node *
settle_arguments(BoolExpr *expression, void *context)
{
	BoolExpr   *settled = makeNode(BoolExpr);
	ListCell   *lc;

	*settled = *expression;
	settled->args = NIL;
	foreach(lc, expression->args)
	{
		Node	   *argument = policy_settle_mutator(lfirst(lc), context);

		if (is_boolean(argument, expression->boolop == OR_EXPR))
			return argument;
		settled->args = lappend(settled->args, argument);
	}
	return (Node *) settled;
}

/* CASE WHEN: drop alternatives that are not taken. */
static Node *
settle_case(CaseExpr *expression, void *context)
{
	CaseExpr   *settled = makeNode(CaseExpr);
	ListCell   *lc;

	*settled = *expression;
	settled->args = NIL;
	foreach(lc, expression->args)
	{
		CaseWhen   *when = copyObject(lfirst_node(CaseWhen, lc));

		when->expr = (Expr *) policy_settle_mutator((Node *) when->expr,
													context);
		if (IsA(when->expr, Const) && !is_boolean((Node *) when->expr, true))
			continue;
		when->result = (Expr *) policy_settle_mutator((Node *) when->result,
													  context);
		settled->args = lappend(settled->args, when);
		if (IsA(when->expr, Const))
			break;
	}
	if (lc == NULL)
		settled->defresult =
			(Expr *) policy_settle_mutator((Node *) expression->defresult,
										   context);
	else
		settled->defresult = copyObject(llast_node(CaseWhen,
												   settled->args)->result);
	return settled->args == NIL ? (Node *) settled->defresult :
		(Node *) settled;
}

/* Replace the largest parts without columns by constants. */
static Node *
policy_settle_mutator(Node *node, void *context)
{
	Node	   *value;

	if (node == NULL || IsA(node, Query))
		return node;
	check_stack_depth();
	if (is_settled_here(node))
	{
		value = estimate_expression_value(context, node);
		if (IsA(value, Const))
			return value;
	}
	if (IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop != NOT_EXPR)
		return settle_arguments((BoolExpr *) node, context);
	if (IsA(node, CaseExpr) && ((CaseExpr *) node)->arg == NULL)
		return settle_case((CaseExpr *) node, context);
	return expression_tree_mutator(node, policy_settle_mutator, context);
}

static void
relation_context(void *context)
{
	errcontext("row security of relation \"%s\", before its rows are read",
			   get_rel_name(((const RangeTblEntry *) context)->relid));
}

static List *
policy_settle(List *conditions, RangeTblEntry *entry)
{
	PlannerInfo *root = makeNode(PlannerInfo);
	ErrorContextCallback callback;

	root->glob = makeNode(PlannerGlobal);
	callback.callback = relation_context;
	callback.arg = entry;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	conditions = (List *) policy_settle_mutator((Node *) conditions, root);
	error_context_stack = callback.previous;
	return conditions;
}

static bool
policy_policies_walker(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, policy_policies_walker, context);
	foreach(lc, ((Query *) node)->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (entry->securityQuals != NIL)
			entry->securityQuals = policy_settle(entry->securityQuals, entry);
	}
	return query_tree_walker((Query *) node, policy_policies_walker, context,
							 0);
}

/* dp_expressions_settle_policies: see dp_expressions.h. */
void
dp_expressions_settle_policies(Query *query)
{
	(void) policy_policies_walker((Node *) query, NULL);
}

/* ---- refusals ---- */

/* Whether the policy applies to SELECT by the role. */
static bool
is_for(const RowSecurityPolicy *policy, Oid role)
{
	const Oid  *roles = (Oid *) ARR_DATA_PTR(policy->roles);
	int			i;

	if (policy->polcmd != '*' && policy->polcmd != ACL_SELECT_CHR)
		return false;
	for (i = 0; i < ARR_DIMS(policy->roles)[0]; i++)
		if (roles[i] == ACL_ID_PUBLIC || has_privs_of_role(role, roles[i]))
			return true;
	return false;
}

/*
 * The policy's condition, settled alone.  NULL if it cannot be computed: in
 * the query another policy decided first.  The caller's refusal ends the
 * transaction, so the error needs no subtransaction.
 */
static List *
settle_alone(const RowSecurityPolicy *policy, RangeTblEntry *entry)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *volatile condition = NIL;

	PG_TRY();
	{
		condition = policy_settle(list_make1(copyObject(policy->qual)), entry);
	}
	PG_CATCH();
	{
		int			category = ERRCODE_TO_CATEGORY(geterrcode());

		MemoryContextSwitchTo(context);
		if (category != ERRCODE_DATA_EXCEPTION &&
			category != ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION)
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();
	return condition;
}

/* Whether `check` refuses the policy alone with the same message. */
static bool
is_cause(const RowSecurityPolicy *policy, RangeTblEntry *entry,
		 const dp_refusal *refusal, dp_expressions_checker check)
{
	List	   *condition = settle_alone(policy, entry);
	dp_refusal *own = check((Node *) condition);

	return own != NULL && strcmp(own->message, refusal->message) == 0;
}

/* The name of the refused policy, or of the only one; or NULL. */
static char *
find_policy(RangeTblEntry *entry, Oid role, const dp_refusal *refusal,
			dp_expressions_checker check)
{
	Relation	relation = table_open(entry->relid, NoLock);
	char	   *only = NULL;
	char	   *found = NULL;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, relation->rd_rsdesc == NULL ? NIL :
			relation->rd_rsdesc->policies)
	{
		const RowSecurityPolicy *policy = lfirst(lc);

		if (policy->qual == NULL || !is_for(policy, role))
			continue;
		n++;
		only = pstrdup(policy->policy_name);
		if (found == NULL && is_cause(policy, entry, refusal, check))
			found = only;
	}
	table_close(relation, NoLock);
	return found != NULL || n != 1 ? found : only;
}

/* The policies for SELECT by the role: '"name" of relation "name"', ... */
static void
add_policies(StringInfo text, const RangeTblEntry *entry, Oid role)
{
	Relation	relation = table_open(entry->relid, NoLock);
	ListCell   *lc;

	foreach(lc, relation->rd_rsdesc == NULL ? NIL :
			relation->rd_rsdesc->policies)
	{
		const RowSecurityPolicy *policy = lfirst(lc);

		if (policy->qual != NULL && is_for(policy, role))
			appendStringInfo(text, "%s\"%s\" of relation \"%s\"",
							 text->len > 0 ? ", " : "", policy->policy_name,
							 get_rel_name(entry->relid));
	}
	table_close(relation, NoLock);
}

static bool
add_policies_of_level(Node *node, const dp_walk *walk)
{
	ListCell   *lc;

	if (!IsA(node, Query))
		return false;
	foreach(lc, ((Query *) node)->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		Oid			role;

		if (entry->rtekind != RTE_RELATION || entry->securityQuals == NIL)
			continue;
		role = dp_compat_reads_as((Query *) node, entry);
		add_policies(walk->context, entry,
					 OidIsValid(role) ? role : GetUserId());
	}
	return false;
}

/*
 * dp_expressions_policies_text
 *	  A sentence that names the policies whose conditions a query has; or "".
 */
const char *
dp_expressions_policies_text(Query *query)
{
	StringInfoData text;

	initStringInfo(&text);
	(void) dp_base_contains((Node *) query, add_policies_of_level, &text, 0);
	return text.len == 0 ? "" :
		psprintf("  Among them are conditions of row security: %s.",
				 text.data);
}

/*
 * Complete a refusal of the entry's row security with the name of the policy,
 * whose condition alone `check` refuses.  level: the query whose range table
 * has the entry.
 */
static dp_refusal *
refuse_in_policy(dp_refusal *refusal, dp_expressions_checker check,
				 Query *level, RangeTblEntry *entry)
{
	Oid			role = dp_compat_reads_as(level, entry);
	char	   *name;
	char	   *place;

	if (entry->rtekind != RTE_RELATION)
		return refusal;
	name = find_policy(entry, OidIsValid(role) ? role : GetUserId(), refusal,
					   check);
	place = name == NULL ?
		psprintf("It is in a policy of relation \"%s\".",
				 get_rel_name(entry->relid)) :
		psprintf("It is in policy \"%s\" of relation \"%s\".", name,
				 get_rel_name(entry->relid));
	refusal->detail = refusal->detail == NULL ? place :
		psprintf("%s  %s", place, refusal->detail);
	refusal->hint = "The owner of the relation can write a policy of "
		"comparisons of its columns with constants, current_user, times and "
		"current_setting().";
	return refusal;
}

/*
 * dp_expressions_check_in_policies
 *	  Check the conditions that row security adds to a level; a refusal names
 *	  the policy, of which `check_one` refuses the condition by itself.
 */
dp_refusal *
dp_expressions_check_in_policies(Query *level, dp_expressions_checker check,
								 dp_expressions_checker check_one)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		dp_refusal *refusal = check((Node *) entry->securityQuals);

		if (refusal != NULL)
			return refuse_in_policy(refusal, check_one, level, entry);
	}
	return NULL;
}
