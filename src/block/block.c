/*
 * block.c
 *	  Blocks and their keys as nodes, which plans carry and readers are sent.
 */
#include "postgres.h"

#include "split.h"

#define KEY_FIELD(kind, name) DP_NODE_FIELD(dp_key, kind, name)

static const dp_node_field key_fields[] = {
	KEY_FIELD(DP_FIELD_INTEGER, kind),
	KEY_FIELD(DP_FIELD_INTEGER, type),
	KEY_FIELD(DP_FIELD_INTEGER, typmod),
	KEY_FIELD(DP_FIELD_INTEGER, collation),
	KEY_FIELD(DP_FIELD_INTEGER, relid),
	KEY_FIELD(DP_FIELD_INTEGER, attnum),
	KEY_FIELD(DP_FIELD_INTEGER, base_type),
	KEY_FIELD(DP_FIELD_STRING, field),
	KEY_FIELD(DP_FIELD_INTEGER, nullable),
	KEY_FIELD(DP_FIELD_NODE, constant),
	KEY_FIELD(DP_FIELD_NODE, conditions),
	KEY_FIELD(DP_FIELD_NODE, values),
	KEY_FIELD(DP_FIELD_NODE, image),
	KEY_FIELD(DP_FIELD_NODE, cases),
	KEY_FIELD(DP_FIELD_NODE, base)
};

#define BLOCK_FIELD(kind, name) DP_NODE_FIELD(dp_block, kind, name)

static const dp_node_field block_fields[] = {
	BLOCK_FIELD(DP_FIELD_NODE, inner),
	BLOCK_FIELD(DP_FIELD_NODE, keys),
	BLOCK_FIELD(DP_FIELD_NODE, key_conditions),
	BLOCK_FIELD(DP_FIELD_NODE, kinds),
	BLOCK_FIELD(DP_FIELD_NODE, base_attnums),
	BLOCK_FIELD(DP_FIELD_NODE, bases),
	BLOCK_FIELD(DP_FIELD_NODE, seconds),
	BLOCK_FIELD(DP_FIELD_NODE, publics),
	BLOCK_FIELD(DP_FIELD_NODE, argument_keys),
	BLOCK_FIELD(DP_FIELD_INTEGER, size),
	BLOCK_FIELD(DP_FIELD_NODE, sizes),
	BLOCK_FIELD(DP_FIELD_NODE, of_units),
	BLOCK_FIELD(DP_FIELD_NODE, base_leaves),
	BLOCK_FIELD(DP_FIELD_NODE, relids),
	BLOCK_FIELD(DP_FIELD_NODE, sources),
	BLOCK_FIELD(DP_FIELD_INTEGER, relid),
	BLOCK_FIELD(DP_FIELD_INTEGER, many),
	BLOCK_FIELD(DP_FIELD_INTEGER, single),
	BLOCK_FIELD(DP_FIELD_INTEGER, unit_type),
	BLOCK_FIELD(DP_FIELD_STRING, dataset),
	BLOCK_FIELD(DP_FIELD_INTEGER, fingerprint),
	BLOCK_FIELD(DP_FIELD_NODE, subqueries),
	BLOCK_FIELD(DP_FIELD_INTEGER, share),
	BLOCK_FIELD(DP_FIELD_INTEGER, error_alone),
	BLOCK_FIELD(DP_FIELD_INTEGER, part_attnum),
	BLOCK_FIELD(DP_FIELD_NODE, part_value)
};

#define SOURCE_FIELD(kind, name) DP_NODE_FIELD(dp_joined, kind, name)

static const dp_node_field source_fields[] = {
	SOURCE_FIELD(DP_FIELD_NODE, query),
	SOURCE_FIELD(DP_FIELD_INTEGER, number),
	SOURCE_FIELD(DP_FIELD_INTEGER, relid),
	SOURCE_FIELD(DP_FIELD_INTEGER, unit),
	SOURCE_FIELD(DP_FIELD_NODE, follow),
	SOURCE_FIELD(DP_FIELD_NODE, steps),
	SOURCE_FIELD(DP_FIELD_NODE, step_relids),
	SOURCE_FIELD(DP_FIELD_NODE, step_keys),
	SOURCE_FIELD(DP_FIELD_INTEGER, twin),
	SOURCE_FIELD(DP_FIELD_INTEGER, nullable),
	SOURCE_FIELD(DP_FIELD_INTEGER, absent),
	SOURCE_FIELD(DP_FIELD_INTEGER, asked),
	SOURCE_FIELD(DP_FIELD_INTEGER, given),
	SOURCE_FIELD(DP_FIELD_NODE, keys)
};

static const dp_node_type source_type = DP_NODE_TYPE(dp_joined,
													 source_fields);
static const dp_node_type key_type = DP_NODE_TYPE(dp_key, key_fields);
static const dp_node_type block_type = DP_NODE_TYPE(dp_block, block_fields);

/* dp_block_init: from _PG_init, so that every process reads these nodes. */
void
dp_block_init(void)
{
	RegisterExtensibleNodeMethods(&source_type.methods);
	RegisterExtensibleNodeMethods(&key_type.methods);
	RegisterExtensibleNodeMethods(&block_type.methods);
}

/* dp_block_init_key: make *key an empty node. */
void
dp_block_init_key(dp_key *key)
{
	dp_bridge_init_node(&key->node, &key_type);
}

/* dp_block_create: an empty node, palloc'd. */
dp_block *
dp_block_create(void)
{
	dp_block   *block = palloc(sizeof(dp_block));

	dp_bridge_init_node(&block->node, &block_type);
	return block;
}

/* dp_block_create_joined: an empty node, palloc'd. */
dp_joined *
dp_block_create_joined(void)
{
	dp_joined  *source = palloc(sizeof(dp_joined));

	dp_bridge_init_node(&source->node, &source_type);
	return source;
}
