/*
 * dp_names.h
 *	  Names that protected relations have or had, and what tables that get such
 *	  a name take over.
 */
#ifndef DP_NAMES_H
#define DP_NAMES_H

#include "nodes/pg_list.h"

/* ---- names of protected relations (name_tables.c) ---- */

typedef struct dp_name_row
{
	NameData	schema;
	NameData	name;
	Oid			relid;			/* has it, or had it; InvalidOid: dropped */
	bool		follow;			/* protect the next table of the name */
	Oid			owner;			/* of the relation; InvalidOid: dropped */
	NameData	owner_name;		/* as stored */
	int64		cluster;		/* as stored */
	Oid			seen;			/* an unprotected table already warned of */
} dp_name_row;

extern List *dp_catalog_list_names(void);
extern const dp_name_row *dp_catalog_find_name(const char *schema,
												   const char *relation);
extern Oid	dp_catalog_name_holder(const dp_name_row *row);
extern bool dp_catalog_is_followed(Oid relid);
extern void dp_catalog_lock_names(bool wishing);
extern void dp_catalog_lock_opening(bool opens, bool protects);
extern void dp_catalog_write_name(Oid relid, const bool *follow);
extern void dp_catalog_write_seen(const dp_name_row *row, Oid seen);
extern void dp_catalog_delete_name(const dp_name_row *row);
extern void dp_catalog_keep_dropped(Oid relid);

/* ---- what relations take over from others (name_tables.c) ---- */

/* Declarations of the last relation of a name.  Missing texts are "". */
typedef struct dp_heritage
{
	Oid			relid;			/* of the relation before */
	char	   *dataset;
	char	   *unit;			/* quoted columns of a foreign key, or the unit
								 * column */
	char	   *key;			/* quoted columns that it references */
	char	   *through;		/* quoted name of the referenced table */
	char	   *view_schema;	/* of the published view */
	char	   *view;
	char	   *lacking;		/* columns that are missing or differ */
	int64		rows;
	int64		max_rows;
	int64		max_keys;
	int64		max_total;
	bool		commented;
	int64		min_units;
} dp_heritage;

extern dp_heritage *dp_catalog_read_heritage(const dp_name_row *row,
											 Oid relid);
extern List *dp_catalog_list_kept(const dp_name_row *row);
extern void dp_catalog_write_heirs(const dp_name_row *row, Oid relid);
extern void dp_catalog_write_published(Oid relid, Oid view);
extern void dp_catalog_write_detached(Oid part, Oid root);

#endif							/* DP_NAMES_H */
