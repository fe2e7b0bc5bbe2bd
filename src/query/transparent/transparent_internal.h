/*
 * transparent_internal.h
 *	  Private to transparent mode: one level of a query.
 */
#ifndef TRANSPARENT_INTERNAL_H
#define TRANSPARENT_INTERNAL_H

#include "access/tupdesc.h"
#include "parser/parse_node.h"
#include "utils/relcache.h"

/* A level being rewritten; on the stack of transparent.c. */
typedef struct dp_level
{
	Query	   *query;
	struct dp_level *parent;	/* the level around it, or NULL */
	List	   *raw_ctes;		/* of CommonTableExpr *: its WITH queries that
								 * return private rows */
} dp_level;

/* ---- raw_rows.c: the rows that a level reads ---- */
extern bool dp_transparent_is_protected(const RangeTblEntry *entry);
extern CommonTableExpr *dp_transparent_find_cte(const dp_level *level,
												const RangeTblEntry *entry,
												bool *raw);
extern bool dp_transparent_has_unit_key(const dp_level *level);

/* ---- grouping_sets.c ---- */
extern bool dp_transparent_split_sets(Query *query, List **levels);

/* ---- synthetic_rows.c ---- */
typedef Expr *(*dp_value_finder) (ParseState *state, TupleDesc table,
								  Form_pg_attribute wanted);
extern Expr *dp_transparent_read_column(ParseState *state,
										Form_pg_attribute wanted,
										AttrNumber attnum);
extern Query *dp_transparent_select_from(Relation table, Relation relation,
										 dp_value_finder find);

/* ---- synthetic_rows.c: levels answered without rows ---- */
extern bool dp_transparent_answer_probe(Query *query);
extern bool dp_transparent_answer_preview(Query *query, const char *text);

#endif							/* TRANSPARENT_INTERNAL_H */
