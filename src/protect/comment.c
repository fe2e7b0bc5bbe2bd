/*
 * comment.c
 *	  Comments on published views and their columns, which show what was
 *	  declared to tools that display comments.
 *
 * A comment is the owner's text followed by ours in brackets.  The owner's
 * text is what was written about the view, or else about the table.  Ours
 * contains only declarations, which are public (dp_pg.relation and
 * dp_pg.attribute are readable by every role), and no names, which could
 * change, except the dataset's.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

#define OPENING "[dp_pg: "
#define MOST_KEYS 20			/* most keys that are listed */
#define KEY_LENGTH 60			/* most bytes of a key that are shown */

/* The comments to update, and how. */
typedef struct comment_pass
{
	Oid			relid;			/* the protected relation */
	Oid			view;
	bool		telling;		/* else our part is removed */
	int			written;		/* number of the table's column whose comment
								 * was just written; 0: the table's own */
} comment_pass;

#define NONE_WRITTEN (-1)

/* ---- texts ---- */

static void
comment_append_part(StringInfo text, const char *part)
{
	appendStringInfo(text, "%s%s", text->len == 0 ? OPENING : "; ", part);
}

/* A key as SQL writes it, cut to a length. */
static char *
key_text(const char *key, bool quoted)
{
	int			length = (int) strlen(key);
	int			kept = pg_mbcliplen(key, length, KEY_LENGTH);
	char	   *cut = pnstrdup(key, kept);

	return psprintf("%s%s", quoted ? quote_literal_cstr(cut) : cut,
					kept < length ? "..." : "");
}

static bool
is_quoted(Oid type)
{
	char		category;
	bool		preferred;

	get_type_category_preferred(getBaseType(type), &category, &preferred);
	return category != TYPCATEGORY_NUMERIC && category != TYPCATEGORY_BOOLEAN;
}

static char *
keys_text(const dp_attribute *declared, bool quoted)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, declared->keys)
	{
		if (foreach_current_index(lc) == MOST_KEYS)
		{
			appendStringInfo(&text, " and %d more",
							 list_length(declared->keys) - MOST_KEYS);
			break;
		}
		appendStringInfo(&text, "%s%s",
						 foreach_current_index(lc) == 0 ? "keys " : ", ",
						 key_text(lfirst(lc), quoted));
	}
	if (declared->other != NULL)
		appendStringInfo(&text, ", else %s",
						 key_text(declared->other, quoted));
	return text.data;
}

/* What was declared about a column; NULL: nothing. */
static char *
column_text(const comment_pass *pass, AttrNumber attnum)
{
	const dp_attribute *declared = dp_protect_attribute(pass->relid, attnum);
	char	   *unit = dp_protect_declared_unit(pass->relid);
	char	   *name = get_attname(pass->relid, attnum, true);
	StringInfoData text;

	initStringInfo(&text);
	if (unit != NULL && name != NULL && strcmp(unit, name) == 0)
		comment_append_part(&text, "privacy unit, says whose row it is");
	if (declared != NULL && declared->lower != NULL)
		comment_append_part(&text, psprintf("from %s to %s", declared->lower,
											declared->upper));
	if (declared != NULL && declared->keys != NIL)
		comment_append_part(&text,
							keys_text(declared,
									  is_quoted(get_atttype(pass->relid,
															attnum))));
	if (declared != NULL && declared->no_nulls)
		comment_append_part(&text, "NULL is no key");
	if (declared != NULL && declared->partition != 0)
		comment_append_part(&text,
							"immutable, queries on different values cost "
							"together what the costliest costs");
	if (text.len == 0)
		return NULL;
	appendStringInfoChar(&text, ']');
	return text.data;
}

static char *
comment_relation_text(const comment_pass *pass)
{
	dp_relation_row row;
	dp_unit_bounds bounds;
	StringInfoData text;

	initStringInfo(&text);
	if (!dp_catalog_find_relation(pass->relid, &row))
		return NULL;
	comment_append_part(&text, psprintf("rows are private, aggregates such as "
										"dp_count(*) are answered; "
										"dp_describe tells more; dataset "
										"\"%s\"",
										NameStr(row.dataset)));
	if (!row.has_unit)
		comment_append_part(&text, "each row is one unit");
	if (row.rows > 0)
		comment_append_part(&text,
							psprintf("about " INT64_FORMAT " rows", row.rows));
	bounds = dp_protect_declared_bounds(&row);
	if (bounds.total > 0)
		comment_append_part(&text, dp_protect_bounds_text(&bounds, true));
	if (row.min_units > 0)
		comment_append_part(&text,
							psprintf("groups with fewer than " INT64_FORMAT
									 " units, by a noisy number, are not "
									 "shown", row.min_units));
	appendStringInfoChar(&text, ']');
	return text.data;
}

/* ---- comments ---- */

/* The owner's part of a comment, palloc'd; "" if there is none. */
static char *
own_part(Oid relid, int32 column)
{
	char	   *text = GetComment(relid, RelationRelationId, column);
	char	   *ours = text == NULL ? NULL : strstr(text, OPENING);

	if (text == NULL)
		return pstrdup("");
	if (ours != NULL && text[strlen(text) - 1] == ']')
	{
		while (ours > text && ours[-1] == ' ')
			ours--;
		*ours = '\0';
	}
	return text;
}

/* Replace our part of one comment of the view; NULL removes it. */
static void
write_comment(const comment_pass *pass, int32 column, AttrNumber attnum,
			  const char *ours)
{
	char	   *before = GetComment(pass->view, RelationRelationId, column);
	char	   *own = own_part(pass->view, column);
	char	   *after;

	if (pass->telling && (own[0] == '\0' || pass->written == attnum))
		own = own_part(pass->relid, attnum);
	after = psprintf("%s%s%s", own, own[0] != '\0' && ours != NULL ? " " : "",
					 ours == NULL ? "" : ours);
	if (strcmp(before == NULL ? "" : before, after) != 0)
		CreateComments(pass->view, RelationRelationId, column, after);
}

/* A view that is no longer the one that was published gets no comment. */
static void
write_comments(comment_pass *pass)
{
	Query	   *query = dp_protect_view_query(pass->view);
	bool		shows = query != NULL &&
		dp_protect_is_projection(query, pass->relid);
	ListCell   *lc;

	pass->telling = pass->telling && shows;
	write_comment(pass, 0, 0,
				  pass->telling ? comment_relation_text(pass) : NULL);
	if (query == NULL)
		return;
	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);
		AttrNumber	attnum = shows ? ((Var *) target->expr)->varattno : 0;

		if (!target->resjunk)
			write_comment(pass, target->resno, attnum, pass->telling ?
						  column_text(pass, attnum) : NULL);
	}
}

static void
comment(Oid relid, Oid view, bool telling, int written)
{
	comment_pass pass = {relid, view, telling, written};

	if (!OidIsValid(view))
		return;
	LockRelationOid(view, ShareUpdateExclusiveLock);
	if (get_rel_relkind(view) != RELKIND_VIEW)
		return;					/* dropped meanwhile */
	write_comments(&pass);
}

/*
 * dp_protect_comment
 *	  Update the comments of the relation's published view, or remove our part
 *	  of them if its owner wants none.
 *
 * The caller has checked that the current user may declare; the view may
 * belong to another role, and the text of its owner stays.
 */
void
dp_protect_comment(Oid relid)
{
	dp_relation_row row;

	CommandCounterIncrement();
	if (dp_catalog_find_relation(relid, &row))
		comment(relid, dp_protect_published_view(relid), row.commented,
				NONE_WRITTEN);
}

/* dp_protect_uncomment: remove our part of a view's comments. */
void
dp_protect_uncomment(Oid relid, Oid view)
{
	comment(relid, view, false, NONE_WRITTEN);
}

/* ---- COMMENT ---- */

/* The relation that the command is about, and the number of the column. */
static Oid
find_commented(const CommentStmt *stmt, AttrNumber *attnum)
{
	List	   *names;
	Oid			relid;

	*attnum = 0;
	if (stmt->objtype != OBJECT_TABLE && stmt->objtype != OBJECT_VIEW &&
		stmt->objtype != OBJECT_COLUMN)
		return InvalidOid;
	names = castNode(List, stmt->object);
	if (stmt->objtype != OBJECT_COLUMN)
		return RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
	names = list_copy_head(names, list_length(names) - 1);
	relid = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
	if (OidIsValid(relid))
		*attnum = get_attnum(relid, strVal(llast((List *) stmt->object)));
	return relid;
}

/*
 * dp_protect_comment_written
 *	  After a COMMENT: one on a protected table is copied to its view, and one
 *	  on a published view gets our part again.
 */
void
dp_protect_comment_written(const CommentStmt *stmt)
{
	AttrNumber	attnum;
	Oid			relid = find_commented(stmt, &attnum);
	dp_relation_row row;

	if (!OidIsValid(relid))
		return;
	CommandCounterIncrement();
	if (dp_catalog_find_relation(relid, &row))
	{
		if (row.commented)
			comment(relid, dp_protect_published_view(relid), true, attnum);
		return;
	}
	relid = dp_catalog_find_published(relid);
	if (OidIsValid(relid) && dp_catalog_find_relation(relid, &row) &&
		row.commented)
		comment(relid, row.published, true, NONE_WRITTEN);
}
