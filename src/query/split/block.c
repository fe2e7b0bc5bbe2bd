/*
 * block.c
 *	  Blocks, keys and values as nodes, which plans contain and readers are
 *	  sent.
 */
#include "postgres.h"

#include "../../base/dp_base.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_split.h"

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

#define VALUE_FIELD(kind, name) DP_NODE_FIELD(dp_value, kind, name)

static const dp_node_field value_fields[] = {
	VALUE_FIELD(DP_FIELD_INTEGER, kind),
	VALUE_FIELD(DP_FIELD_INTEGER, base_leaf),
	VALUE_FIELD(DP_FIELD_INTEGER, base_attnum),
	VALUE_FIELD(DP_FIELD_NODE, base),
	VALUE_FIELD(DP_FIELD_NODE, second),
	VALUE_FIELD(DP_FIELD_NODE, filters),
	VALUE_FIELD(DP_FIELD_NODE, key),
	VALUE_FIELD(DP_FIELD_INTEGER, size),
	VALUE_FIELD(DP_FIELD_INTEGER, of_units)
};

#define BLOCK_FIELD(kind, name) DP_NODE_FIELD(dp_block, kind, name)

static const dp_node_field block_fields[] = {
	BLOCK_FIELD(DP_FIELD_NODE, inner),
	BLOCK_FIELD(DP_FIELD_NODE, keys),
	BLOCK_FIELD(DP_FIELD_NODE, others),
	BLOCK_FIELD(DP_FIELD_NODE, crossing),
	BLOCK_FIELD(DP_FIELD_INTEGER, seed),
	BLOCK_FIELD(DP_FIELD_NODE, key_conditions),
	BLOCK_FIELD(DP_FIELD_NODE, values),
	BLOCK_FIELD(DP_FIELD_NODE, publics),
	BLOCK_FIELD(DP_FIELD_NODE, conditions),
	BLOCK_FIELD(DP_FIELD_INTEGER, size),
	BLOCK_FIELD(DP_FIELD_INTEGER, omits_empty),
	BLOCK_FIELD(DP_FIELD_INTEGER, least),
	BLOCK_FIELD(DP_FIELD_NODE, relids),
	BLOCK_FIELD(DP_FIELD_NODE, units),
	BLOCK_FIELD(DP_FIELD_NODE, sources),
	BLOCK_FIELD(DP_FIELD_INTEGER, relid),
	BLOCK_FIELD(DP_FIELD_INTEGER, many),
	BLOCK_FIELD(DP_FIELD_INTEGER, single),
	BLOCK_FIELD(DP_FIELD_INTEGER, once),
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
static const dp_node_type value_type = DP_NODE_TYPE(dp_value, value_fields);
static const dp_node_type block_type = DP_NODE_TYPE(dp_block, block_fields);

/* dp_split_init: from _PG_init, so that every process reads these nodes. */
void
dp_split_init(void)
{
	RegisterExtensibleNodeMethods(&source_type.methods);
	RegisterExtensibleNodeMethods(&key_type.methods);
	RegisterExtensibleNodeMethods(&value_type.methods);
	RegisterExtensibleNodeMethods(&block_type.methods);
}
