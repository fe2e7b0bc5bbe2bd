/*
 * dp_node.h
 *	  Structs of dp_pg as nodes, carried by plans and sent to readers.
 *
 * A node type is a struct that begins with an ExtensibleNode, and a table of
 * its other fields.  Copying, comparing, writing and reading all follow the
 * table (node_fields.c), so that a field is in all four or in none;
 * test/t/plan_nodes.pl compares tables with structs.
 *
 * Include postgres.h first.
 */
#ifndef DP_NODE_H
#define DP_NODE_H

#include "nodes/extensible.h"

typedef enum dp_field_kind
{
	DP_FIELD_NODE,				/* any node or list of them, or NULL */
	DP_FIELD_STRING,			/* char *, or NULL */
	DP_FIELD_INTEGER			/* integer, OID, enum or boolean */
} dp_field_kind;

typedef struct dp_node_field
{
	const char *name;
	dp_field_kind kind;
	Size		offset;
	Size		size;
} dp_node_field;

typedef struct dp_node_type
{
	ExtensibleNodeMethods methods;	/* first, so that it can be cast */
	const dp_node_field *fields;
	int			nfields;
} dp_node_type;

#define DP_NODE_FIELD(type, kind, name) \
	{#name, kind, offsetof(type, name), sizeof(((type *) NULL)->name)}

/* The methods of node_fields.c, and the table. */
#define DP_NODE_TYPE(type, fields) \
	{ \
		{#type, sizeof(type), dp_bridge_copy_node, dp_bridge_equal_node, \
		 dp_bridge_out_node, dp_bridge_read_node}, \
		fields, lengthof(fields) \
	}

/* An empty node, palloc'd, of a type that was registered. */
#define dp_make_node(type) ((type *) dp_bridge_make_node(#type))

extern ExtensibleNode *dp_bridge_make_node(const char *type);
extern void dp_bridge_copy_node(ExtensibleNode *to,
								const ExtensibleNode *from);
extern bool dp_bridge_equal_node(const ExtensibleNode *a,
								 const ExtensibleNode *b);
extern void dp_bridge_out_node(StringInfo out, const ExtensibleNode *node);
extern void dp_bridge_read_node(ExtensibleNode *node);

#endif							/* DP_NODE_H */
