/*
 * node_fields.c
 *	  Copy, compare, write and read nodes by the table of their fields.
 *
 * PostgreSQL itself handles the tag and the name of a node.
 */
#include "postgres.h"

#include "nodes/readfuncs.h"
#include "nodes/value.h"

#include "dp_base.h"

/* ----------------
 *		Traversal of plans.
 * ----------------
 */

/*
 * dp_base_plans_below
 *	  The child plans of a node, of the kinds that plans of private queries
 *	  have; the list is palloc'd.
 */
List *
dp_base_plans_below(const Plan *plan)
{
	List	   *below = NIL;

	if (IsA(plan, Append))
		below = list_copy(((const Append *) plan)->appendplans);
	if (IsA(plan, SubqueryScan))
		below = lappend(below, ((const SubqueryScan *) plan)->subplan);
	if (plan->lefttree != NULL)
		below = lappend(below, plan->lefttree);
	if (plan->righttree != NULL)
		below = lappend(below, plan->righttree);
	return below;
}

static const dp_node_type *
type_of(const ExtensibleNode *node)
{
	return (const dp_node_type *) GetExtensibleNodeMethods(node->extnodename,
														   false);
}

static void *
place(const ExtensibleNode *node, const dp_node_field *field)
{
	return (char *) node + field->offset;
}

static void *
pointer(const ExtensibleNode *node, const dp_node_field *field)
{
	return *(void **) place(node, field);
}

/* dp_base_make_node: see dp_base.h. */
ExtensibleNode *
dp_base_make_node(const char *type)
{
	const ExtensibleNodeMethods *methods = GetExtensibleNodeMethods(type,
																	false);
	ExtensibleNode *node = palloc0(methods->node_size);

	node->type = T_ExtensibleNode;
	node->extnodename = methods->extnodename;
	return node;
}

/* dp_base_copy_node: nodeCopy of ExtensibleNodeMethods; a deep copy. */
void
dp_base_copy_node(ExtensibleNode *to, const ExtensibleNode *from)
{
	const dp_node_type *type = type_of(from);
	int			i;

	for (i = 0; i < type->nfields; i++)
	{
		const dp_node_field *field = &type->fields[i];
		void	   *value;

		if (field->kind == DP_FIELD_INTEGER)
		{
			memcpy(place(to, field), place(from, field), field->size);
			continue;
		}
		value = pointer(from, field);
		if (value != NULL)
			value = field->kind == DP_FIELD_STRING ? (void *) pstrdup(value) :
				copyObject(value);
		*(void **) place(to, field) = value;
	}
}

static bool
equal_strings(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* dp_base_equal_node: nodeEqual of ExtensibleNodeMethods. */
bool
dp_base_equal_node(const ExtensibleNode *a, const ExtensibleNode *b)
{
	const dp_node_type *type = type_of(a);
	bool		same = true;
	int			i;

	for (i = 0; same && i < type->nfields; i++)
	{
		const dp_node_field *field = &type->fields[i];

		switch (field->kind)
		{
			case DP_FIELD_NODE:
				same = equal(pointer(a, field), pointer(b, field));
				break;
			case DP_FIELD_STRING:
				same = equal_strings(pointer(a, field), pointer(b, field));
				break;
			case DP_FIELD_INTEGER:
				same = memcmp(place(a, field), place(b, field),
							  field->size) == 0;
				break;
		}
	}
	return same;
}

/* An integer of any size, as a signed one. */
static int64
get_integer(const ExtensibleNode *node, const dp_node_field *field)
{
	const void *from = place(node, field);

	switch (field->size)
	{
		case sizeof(int8):
			return *(const int8 *) from;
		case sizeof(int16):
			return *(const int16 *) from;
		case sizeof(int32):
			return *(const int32 *) from;
		default:
			return *(const int64 *) from;
	}
}

static void
set_integer(ExtensibleNode *node, const dp_node_field *field, int64 value)
{
	void	   *to = place(node, field);

	switch (field->size)
	{
		case sizeof(int8):
			*(int8 *) to = (int8) value;
			break;
		case sizeof(int16):
			*(int16 *) to = (int16) value;
			break;
		case sizeof(int32):
			*(int32 *) to = (int32) value;
			break;
		default:
			*(int64 *) to = value;
	}
}

/*
 * dp_base_out_node
 *	  nodeOut of ExtensibleNodeMethods: " :name value" for every field.
 *
 * A string is written as a String node, because some versions of PostgreSQL
 * write an empty string like NULL.
 */
void
dp_base_out_node(StringInfo out, const ExtensibleNode *node)
{
	const dp_node_type *type = type_of(node);
	int			i;

	for (i = 0; i < type->nfields; i++)
	{
		const dp_node_field *field = &type->fields[i];

		appendStringInfo(out, " :%s ", field->name);
		if (field->kind == DP_FIELD_INTEGER)
			appendStringInfo(out, INT64_FORMAT, get_integer(node, field));
		else if (field->kind == DP_FIELD_NODE || pointer(node, field) == NULL)
			outNode(out, pointer(node, field));
		else
			outNode(out, makeString(pointer(node, field)));
	}
}

static int64
read_integer(void)
{
	int			length;
	const char *token = pg_strtok(&length);

	return (int64) strtoll(token, NULL, 10);
}

/* dp_base_read_node: nodeRead of ExtensibleNodeMethods. */
void
dp_base_read_node(ExtensibleNode *node)
{
	const dp_node_type *type = type_of(node);
	int			i;

	for (i = 0; i < type->nfields; i++)
	{
		const dp_node_field *field = &type->fields[i];
		int			length;
		void	   *value;

		(void) pg_strtok(&length);	/* the name */
		if (field->kind == DP_FIELD_INTEGER)
		{
			set_integer(node, field, read_integer());
			continue;
		}
		value = nodeRead(NULL, 0);
		if (field->kind == DP_FIELD_STRING && value != NULL)
			value = strVal(value);
		*(void **) place(node, field) = value;
	}
}
