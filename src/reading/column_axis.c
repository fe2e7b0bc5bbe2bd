/*
 * column_axis.c
 *	  The axis of a column, from what the catalog says about its values.
 *
 * A column of a view is followed to the protected relation that it comes from,
 * as in a reading of it.  One from several relations, or from public rows, has
 * the values of its type, if these are known.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "reading.h"

/* The relation whose columns an expression over base columns is made of. */
static Oid
column_axis_relation_of(const dp_block *block, Node *base, bool *nullable)
{
	Relids		leaves = pull_varnos(NULL, base);
	ListCell   *lc;
	int			leaf;

	*nullable = false;
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		*nullable = *nullable ||
			(source->nullable && bms_is_member(source->number, leaves));
	}
	if (bms_is_empty(leaves))
		return block->relid;
	return bms_get_singleton_member(leaves, &leaf) ?
		list_nth_oid(block->relids, leaf - 1) : InvalidOid;
}

/*
 * A column of `relid` as an expression over base columns; the relation that
 * these are of, or InvalidOid; and whether an outer join may leave it out.
 */
static Node *
base_column(Oid relid, AttrNumber attnum, Oid *base_relid, bool *nullable)
{
	dp_block   *block;
	Query	   *query;
	NullTest   *test;
	Node	   *base;

	if (dp_protect_lookup(relid) != NULL)
	{
		query = dp_reading_select_columns(relid, &attnum, 1);
		*base_relid = relid;
		*nullable = false;
		test = (NullTest *) ((TargetEntry *) llast(query->targetList))->expr;
		return (Node *) castNode(NullTest, test)->arg;
	}
	query = dp_reading_select_columns(relid, &attnum, 1);
	block = dp_reading_verify_conditions(
		dp_reading_rewrite_conditions(query, NULL));
	test = llast_node(NullTest, dp_reading_block_conditions(block));
	base = dp_block_rowset_base(block->inner, (Node *) test->arg);
	*base_relid = column_axis_relation_of(block, base, nullable);
	return base;
}

static void
column_axis_check_size(const dp_axis *axis, int64 size, int64 most)
{
	if (size > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" has too many public values",
						NameStr(axis->name)),
				 errdetail("It has " INT64_FORMAT "; at most " INT64_FORMAT
						   " can be used.", size, most),
				 errhint("Cut it into bins, or leave it out.")));
}

static dp_axis *
begin_axis(Oid relid, const char *column, int32 bins)
{
	dp_axis    *axis = palloc0(sizeof(dp_axis));

	namestrcpy(&axis->name, column);
	axis->attnum = get_attnum(relid, column);
	if (axis->attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, get_rel_name(relid)),
				 errhint("Spell column names exactly, as in columns => "
						 "ARRAY['age', 'ward'].")));
	get_atttypetypmodcoll(relid, axis->attnum, &axis->type, &axis->typmod,
						  &axis->collation);
	axis->bins = bins;
	return axis;
}

/* Raise that a column's values are not public, and what would make them so. */
static void
raise_key(const dp_axis *axis, Oid base_relid, AttrNumber attnum,
		  const dp_refusal *refusal)
{
	dp_places_axis_raise(axis,
						 "Its values must be public, because a value that "
						 "appears shows that somebody has it.",
				dp_places_axis_can_have_bins(axis, base_relid, attnum) ?
				"Cut its bounds into bins, with a number for each column as "
				"in bins => ARRAY[0, 4]." :
				attnum == 0 ?
				"Choose a column with declared keys or bounds, a boolean or "
				"an enum." : refusal->hint);
}

/* dp_reading_make_axis: see dp_reading.h. */
dp_axis *
dp_reading_make_axis(Oid relid, const char *column, int32 bins, int64 most)
{
	dp_axis    *axis = begin_axis(relid, column, bins);
	Oid			base_relid;
	bool		nullable;
	Node	   *base = base_column(relid, axis->attnum, &base_relid,
								   &nullable);
	AttrNumber	attnum = IsA(base, Var) && OidIsValid(base_relid) ?
	((Var *) base)->varattno : 0;
	dp_refusal *refusal;
	dp_key		key;

	/* a refused one may say whether it can be NULL, too */
	MemSet(&key, 0, sizeof(key));
	key.nullable = true;
	refusal = dp_block_classify_key(base, base, base_relid, &key);
	key.nullable = key.nullable || nullable;
	if (bins != 0)
	{
		if (attnum == 0 && refusal != NULL)
			raise_key(axis, base_relid, attnum, refusal);
		column_axis_check_size(axis, bins, most);
		dp_places_axis_make_declared_bins(axis, base_relid, attnum,
										  key.nullable);
	}
	else
	{
		if (refusal != NULL)
			raise_key(axis, base_relid, attnum, refusal);
		dp_places_domain_make_axis(&key, axis);
	}
	column_axis_check_size(axis, axis->size, most);
	return axis;
}
