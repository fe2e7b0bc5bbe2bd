/*
 * answer_key.c
 *	  All that a release's values follow from, but the private rows and the
 *	  noise, as one text.
 *
 * A reader is sent a plan, a block with its parameters, and some settings; the
 * text holds what these are made from, and who has paid: the block as it was
 * verified, with parameters, times and results of subqueries as constants,
 * conditions in one order and without people's names; the public values of its
 * keys; charge, prices and bounds; the versions of all declarations; the
 * settings that a reader is sent; public rows that are joined, by digest.
 * Texts of people's have their length in front.
 * What differs in none of this has one law on the same rows.
 *
 * Too much in the text costs a charge, too little gives a wrong answer.  So
 * what cannot be shown to be in it makes the release none that is kept: of
 * volatile functions, for one.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/guc.h"

#include "dp_reuse.h"

/* Of the text; another one fits no answer that was stored before. */
#define FORMAT "dp_pg answer 1"

/* ---- where and for whom ---- */

static void
append_place(StringInfo out, const dp_reuse_asked *asked)
{
	const dp_ledger_standing *standing = asked->standing;

	appendStringInfo(out, FORMAT "\nserver %s " INT64_FORMAT " %u\n"
					 "database %u\nextension",
					 GetConfigOption("server_version_num", false, false),
					 dp_bridge_cluster_id(), GetWALInsertionTimeLine(),
					 MyDatabaseId);
	dp_catalog_append_extension(out);
	appendStringInfo(out, "\npayer %u " INT64_FORMAT "\ndataset %d %zu:%s",
					 standing->payer_role, standing->period,
					 standing->replace_one,
					 strlen(asked->spec->block->dataset),
					 asked->spec->block->dataset);
	dp_reader_append_settings(out);
}

/* ---- the block ---- */

static void
append_integers(StringInfo out, const char *name, const List *list)
{
	ListCell   *lc;

	appendStringInfo(out, "\n%s", name);
	foreach(lc, list)
		appendStringInfo(out, " %d", lfirst_int(lc));
}

static void
append_relations(StringInfo out, const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->relids)
		if (OidIsValid(lfirst_oid(lc)))
			dp_catalog_append_versions(out, lfirst_oid(lc));
		else
			appendStringInfoString(out, "\npublic");
	if (!list_member_oid(block->relids, block->relid))
		dp_catalog_append_versions(out, block->relid);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		ListCell   *step;

		appendStringInfo(out, "\nsource %d %d %d %d %d %d", source->number,
						 source->unit, source->follow, source->twin,
						 source->nullable, source->absent);
		if (OidIsValid(source->relid))
			dp_catalog_append_versions(out, source->relid);
		foreach(step, source->step_relids)
			dp_catalog_append_versions(out, lfirst_oid(step));
	}
}

static void
append_block(StringInfo out, const dp_block *block)
{
	appendStringInfo(out, "\nblock %d %d %d %u %d %d", block->many,
					 block->single, block->size, block->unit_type,
					 block->share, block->part_attnum);
	append_integers(out, "kinds", block->kinds);
	append_integers(out, "columns", block->base_attnums);
	append_integers(out, "sizes", block->sizes);
	append_integers(out, "units", block->of_units);
	append_integers(out, "leaves", block->base_leaves);
	append_relations(out, block);
}

/* The public values of a key, which decide what its conditions leave. */
static void
append_domain(StringInfo out, const dp_domain *domain)
{
	ListCell   *lc;

	appendStringInfoString(out, "\ndomain");
	foreach(lc, dp_places_domain_to_list(domain))
	{
		Node	   *node = lfirst(lc);

		appendStringInfo(out, " %s", IsA(node, Const) ?
						 dp_block_write_tree(node) :
						 dp_block_write_key((const dp_key *) node));
	}
}

static void
append_keys(StringInfo out, const dp_release_spec *spec)
{
	ListCell   *lc;
	int			i;

	foreach(lc, spec->block->keys)
		appendStringInfo(out, "\nkey %s", dp_block_write_key(lfirst(lc)));
	foreach(lc, spec->block->argument_keys)
		appendStringInfo(out, "\nargument %s", lfirst(lc) == NULL ? "" :
						 dp_block_write_key(lfirst(lc)));
	for (i = 0; i < spec->nkeys; i++)
		append_domain(out, spec->domains[i]);
}

/* ---- what it costs and how it is noised ---- */

static void
append_fixed(StringInfo out, dp_fixed x)
{
	appendStringInfo(out, " " UINT64_FORMAT "." UINT64_FORMAT,
					 (uint64) (x >> 64), (uint64) x);
}

static void
append_rational(StringInfo out, const dp_rational *x)
{
	append_fixed(out, x->num);
	append_fixed(out, x->den);
}

static void
append_charge(StringInfo out, const dp_charge *charge)
{
	append_fixed(out, charge->epsilon);
	append_fixed(out, charge->rho);
	append_fixed(out, charge->delta);
}

static void
append_measure(StringInfo out, const dp_measure *measure)
{
	appendStringInfo(out, "\nmeasure %s %d %d %d", measure->ops->name,
					 measure->mechanism, measure->filter, measure->ncells);
	append_rational(out, &measure->epsilon);
	append_fixed(out, measure->delta);
	append_charge(out, &measure->charge);
	append_fixed(out, measure->sensitivity);
}

static void
append_price(StringInfo out, const dp_release_spec *spec)
{
	int			i;

	appendStringInfo(out, "\nbounds " INT64_FORMAT " " INT64_FORMAT " "
					 INT64_FORMAT " %d", spec->max_rows, spec->max_keys,
					 spec->groups, spec->undeclared);
	if (spec->undeclared)
	{
		append_rational(out, &spec->decision.epsilon);
		append_fixed(out, spec->decision.delta);
		append_charge(out, &spec->decision.charge);
	}
	appendStringInfoString(out, "\ncharge");
	append_charge(out, &spec->charge);
	for (i = 0; i < spec->nmeasures; i++)
		append_measure(out, &spec->measures[i]);
}

/* ---- the queries ---- */

/*
 * The inner query that counts has exact aggregates in place of those that were
 * asked for, and constants in place of parameters; both are told.
 */
static void
append_trees(StringInfo out, const dp_reuse_asked *asked)
{
	const dp_block *block = asked->spec->block;
	List	   *targets = list_copy_tail(block->inner->targetList,
										 dp_block_first_aggregate(block));
	ListCell   *lc;

	appendStringInfo(out, "\nasked %s\narguments %s\ninner %s",
					 dp_block_write_tree((Node *) targets),
					 dp_block_write_tree((Node *) asked->spec->arguments),
					 dp_block_write_tree((Node *) asked->inner));
	foreach(lc, asked->scans)
		appendStringInfo(out, "\nscan %s", dp_block_write_tree(lfirst(lc)));
}

static void
append_joined(StringInfo out, const dp_reuse_asked *asked)
{
	int			i;

	appendStringInfo(out, "\njoined %d " INT64_FORMAT " %zu ",
					 asked->by_units, asked->fanout, asked->widest);
	for (i = 0; asked->joined != NULL && i < DP_SHA256_BYTES; i++)
		appendStringInfo(out, "%02x", asked->joined[i]);
}

static void
append_result(StringInfo out, TupleDesc result)
{
	int			i;

	appendStringInfoString(out, "\nresult");
	for (i = 0; i < result->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(result, i);

		appendStringInfo(out, " %u %d %u", column->atttypid,
						 column->atttypmod, column->attcollation);
	}
}

static bool
is_volatile(const dp_reuse_asked *asked)
{
	return contain_volatile_functions((Node *) asked->inner) ||
		contain_volatile_functions((Node *) asked->scans);
}

/* dp_reuse_make_key: see dp_reuse.h; palloc'd. */
dp_reuse_key *
dp_reuse_make_key(const dp_reuse_asked *asked)
{
	dp_reuse_key *key;
	StringInfoData text;

	if (is_volatile(asked) || !OidIsValid(asked->standing->payer_role))
		return NULL;
	initStringInfo(&text);
	append_place(&text, asked);
	append_block(&text, asked->spec->block);
	append_keys(&text, asked->spec);
	append_price(&text, asked->spec);
	append_trees(&text, asked);
	append_joined(&text, asked);
	append_result(&text, asked->result);
	key = palloc0(sizeof(dp_reuse_key));
	key->text = text.data;
	key->length = text.len;
	dp_bridge_sha256(text.data, text.len, key->digest);
	memcpy(&key->hash, key->digest, sizeof(key->hash));
	return key;
}
