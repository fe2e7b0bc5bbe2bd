/*
 * declared_row.h
 *	  Columns of dp_pg.relation, dp_pg.attribute and dp_pg.hardened; private to
 *	  this folder.
 */
#ifndef DP_CATALOG_DECLARED_ROW_H
#define DP_CATALOG_DECLARED_ROW_H

/* In the order of sql/30_relation.sql. */
enum
{
	RELATION_RELID = 1,
	RELATION_ORIGIN,
	RELATION_DATASET,
	RELATION_UNIT,
	RELATION_UNIT_ATTNUM,
	RELATION_PUBLISHED,
	RELATION_ROWS,
	RELATION_END
};

/* The first four are those of dp_pg.hardened too. */
enum
{
	ATTRIBUTE_RELID = 1,
	ATTRIBUTE_ORIGIN,
	ATTRIBUTE_NAME,
	ATTRIBUTE_ATTNUM,
	ATTRIBUTE_LOWER,
	ATTRIBUTE_UPPER,
	ATTRIBUTE_GRANULE,
	ATTRIBUTE_KEYS,
	ATTRIBUTE_OTHER,
	ATTRIBUTE_PARTITION,
	ATTRIBUTE_GUARD,
	ATTRIBUTE_PUBLIC_SIZES,
	ATTRIBUTE_END
};

#endif							/* DP_CATALOG_DECLARED_ROW_H */
