/*
 * answer_key.c
 *	  Everything that determines a release's values, except the private rows
 *	  and the noise, as one text.
 *
 * A reader is sent a plan, a block with its parameters, and settings.  The
 * text has what these are made from, and who pays: the verified block, with
 * parameters, times and results of subqueries as constants, conditions in
 * canonical order and without users' names; the public values of its keys;
 * prices and bounds; the versions of all declarations; the settings sent to
 * readers; a digest of joined public rows.  Each value has a part of its own,
 * which includes the value that decides about its release.  Texts from users
 * are preceded by their length.  Releases with equal texts have the same
 * distribution on the same rows.
 *
 * Too much in the text costs a charge, too little gives a wrong answer.  So if
 * the text may not have everything, as with volatile functions, the release is
 * not stored.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "dp_answers.h"
#include "answers_internal.h"

/* ----------------
 *		The parts of a key's text: what all values of a release have in common,
 *		then each value.
 *
 * The first line names the format; the second has the length of the common
 * part, the number of values, and for each value the length of its part and
 * how its type is stored.  The parts follow in that order.  So an answer with
 * more values than requested can be found, and read without knowing what the
 * others are (doc/theory.md T132).
 * ----------------
 */

/* If this changes, no stored answer matches any more. */
#define FORMAT "dp_pg answer 2\n"

/* Set how a column of the result is stored. */
static void
set_storage(dp_answer_value *value, Form_pg_attribute column)
{
	value->typlen = column->attlen;
	value->byval = column->attbyval;
	value->align = column->attalign;
}

/*
 * join_key
 *	  Make the key from the common part and n values, whose columns in the
 *	  result follow nkeys columns of the group.
 */
static dp_answer_key *
join_key(const StringInfoData *common, const StringInfoData *values,
		 int n, TupleDesc result, int nkeys)
{
	dp_answer_key *key = palloc0(sizeof(dp_answer_key));
	dp_answer_layout *layout = &key->layout;
	uint8		digest[DP_SHA256_BYTES];
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	appendStringInfo(&text, FORMAT "%d %d", common->len, n);
	layout->values = palloc(sizeof(dp_answer_value) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		dp_answer_value *value = &layout->values[i];

		value->length = values[i].len;
		set_storage(value, TupleDescAttr(result, nkeys + i));
		appendStringInfo(&text, " %d %d %d %d", values[i].len, value->typlen,
						 value->byval, value->align);
	}
	appendStringInfoChar(&text, '\n');
	layout->common_at = text.len;
	layout->common = common->len;
	layout->n = n;
	appendBinaryStringInfo(&text, common->data, common->len);
	for (i = 0; i < n; i++)
	{
		layout->values[i].at = text.len;
		appendBinaryStringInfo(&text, values[i].data, values[i].len);
	}
	key->text = text.data;
	key->length = text.len;
	dp_base_sha256(text.data, text.len, key->digest);
	dp_base_sha256(common->data, common->len, digest);
	memcpy(&key->hash, digest, sizeof(key->hash));
	return key;
}

/*
 * Read the next number of the second line; false if there is none up to
 * `most`.
 */
static bool
answer_key_read_number(char **from, int64 most, int64 *out)
{
	char	   *end;

	*out = strtoi64(*from, &end, 10);
	if (end == *from)
		return false;
	*from = end;
	return *out >= -2 && *out <= most;
}

static bool
read_value(char **from, Size length, dp_answer_value *out)
{
	int64		numbers[4];
	int			i;

	for (i = 0; i < lengthof(numbers); i++)
		if (!answer_key_read_number(from, Max(length, PG_INT16_MAX),
									&numbers[i]))
			return false;
	out->length = (Size) Max(numbers[0], 0);
	out->typlen = (int16) numbers[1];
	out->byval = numbers[2] != 0;
	out->align = (char) numbers[3];
	return true;
}

/* Find the parts of a text; false if it has another format. */
static bool
read_layout(const char *text, Size length, dp_answer_layout *out)
{
	const Size	format = strlen(FORMAT);
	const char *end = length < format || memcmp(text, FORMAT, format) != 0 ?
	NULL : memchr(text + format, '\n', length - format);
	char	   *line;
	int64		common;
	int64		n;
	Size		at;
	int			i;

	if (end == NULL)
		return false;
	line = pnstrdup(text + format, end - text - format);
	if (!answer_key_read_number(&line, length, &common) || common < 0 ||
		!answer_key_read_number(&line, MaxTupleAttributeNumber, &n) || n < 0)
		return false;
	out->common_at = end + 1 - text;
	out->common = common;
	out->n = (int) n;
	out->values = palloc(sizeof(dp_answer_value) * Max(n, 1));
	at = out->common_at + common;
	for (i = 0; i < n; i++)
	{
		if (!read_value(&line, length, &out->values[i]))
			return false;
		out->values[i].at = at;
		at += out->values[i].length;
	}
	return at == length;
}

static bool
same_value(const char *a, const dp_answer_value *x, const char *b,
		   const dp_answer_value *y)
{
	return x->length == y->length &&
		memcmp(a + x->at, b + y->at, x->length) == 0;
}

/*
 * dp_answers_match
 *	  Whether an answer with this text has all values of the key.  If so, *out
 *	  is its layout, and places[i] the number of its value that is the key's
 *	  i-th.
 */
bool
dp_answers_match(const dp_answer_key *key, const char *text, Size length,
				 dp_answer_layout *out, int *places)
{
	const dp_answer_layout *asked = &key->layout;
	int			i;
	int			j;

	if (!read_layout(text, length, out) || out->common != asked->common ||
		memcmp(text + out->common_at, key->text + asked->common_at,
			   asked->common) != 0)
		return false;
	for (i = 0; i < asked->n; i++)
	{
		for (j = 0; j < out->n; j++)
			if (same_value(key->text, &asked->values[i], text,
						   &out->values[j]))
				break;
		if (j == out->n)
			return false;
		places[i] = j;
	}
	return true;
}

/* Add a column for a value whose type may no longer exist. */
static void
answer_key_add_value(TupleDesc columns, int n, const dp_answer_value *value)
{
	Form_pg_attribute column = TupleDescAttr(columns, n - 1);

	TupleDescInitEntry(columns, n, NULL, BYTEAOID, -1, 0);
	column->attlen = value->typlen;
	column->attbyval = value->byval;
	column->attalign = value->align;
	populate_compact_attribute(columns, n - 1);
}

/*
 * dp_answers_stored_columns
 *	  The columns of a stored answer: those of the group, as in the requested
 *	  result, then all values, then, if `errors`, their errors.
 */
TupleDesc
dp_answers_stored_columns(const dp_answer_layout *stored, TupleDesc result,
						  int nkeys, bool errors)
{
	TupleDesc	columns = CreateTemplateTupleDesc(nkeys + stored->n *
												  (errors ? 2 : 1));
	int			i;

	for (i = 1; i <= nkeys; i++)
		TupleDescCopyEntry(columns, i, result, i);
	for (i = 0; i < stored->n; i++)
		answer_key_add_value(columns, nkeys + i + 1, &stored->values[i]);
	for (i = 0; errors && i < stored->n; i++)
		TupleDescInitEntry(columns, nkeys + stored->n + i + 1, NULL,
						   FLOAT8OID, -1, 0);
	return columns;
}

/* ---- where and for whom ---- */

static void
append_place(StringInfo out, const dp_answer_asked *asked)
{
	const dp_ledger_standing *standing = asked->standing;

	appendStringInfo(out, "server %s " INT64_FORMAT " %u\n"
					 "database %u\nextension",
					 GetConfigOption("server_version_num", false, false),
					 dp_base_cluster_id(), GetWALInsertionTimeLine(),
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

		appendStringInfo(out, "\nsource %d %d %d %d %d", source->number,
						 source->unit, source->twin, source->nullable,
						 source->absent);
		foreach(step, source->follow)
			appendStringInfo(out, " %d", lfirst_int(step));
		if (OidIsValid(source->relid))
			dp_catalog_append_versions(out, source->relid);
		foreach(step, source->step_relids)
			dp_catalog_append_versions(out, lfirst_oid(step));
	}
}

static void
append_block(StringInfo out, const dp_block *block)
{
	appendStringInfo(out, "\nblock %d %d %u %d", block->many, block->single,
					 block->unit_type, block->part_attnum);
	append_relations(out, block);
}

/* The public values of a key, as its conditions leave them. */
static void
append_domain(StringInfo out, const dp_domain *domain)
{
	ListCell   *lc;

	appendStringInfoString(out, "\ndomain");
	foreach(lc, dp_domains_to_list(domain))
	{
		Node	   *node = lfirst(lc);

		appendStringInfo(out, " %s", IsA(node, Const) ?
						 dp_split_write_tree(node) :
						 dp_split_write_key((const dp_key *) node));
	}
}

static void
append_keys(StringInfo out, const dp_release_spec *spec)
{
	ListCell   *lc;
	int			i;

	foreach(lc, spec->settled_keys)
		appendStringInfo(out, "\nkey %s", dp_split_write_key(lfirst(lc)));
	for (i = 0; i < list_length(spec->settled_keys); i++)
		append_domain(out, spec->domains[i]);
	appendStringInfoString(out, "\ncrossing");
	foreach(lc, spec->block->crossing)
		appendStringInfo(out, " %d", lfirst_int(lc));
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
append_price(StringInfo out, const dp_release_spec *spec)
{
	int			i;

	appendStringInfo(out, "\nbounds " INT64_FORMAT " " INT64_FORMAT " "
					 INT64_FORMAT " " INT64_FORMAT " %d",
					 spec->max_rows, spec->max_keys, spec->max_total,
					 spec->groups, spec->undeclared);
	if (!spec->undeclared)
		return;
	for (i = 0; i < spec->nkeys; i++)
		appendStringInfo(out, " %d", spec->large[i]);
	append_rational(out, &spec->decision.epsilon);
	append_fixed(out, spec->decision.delta);
	append_charge(out, &spec->decision.charge);
}

/* ---- the queries ---- */

/* Rows and groups: the inner query without its aggregates. */
static void
append_trees(StringInfo out, const dp_answer_asked *asked)
{
	int			groups = dp_rowsets_first_aggregate(asked->spec->block);
	Query		rows = *asked->inner;
	ListCell   *lc;

	rows.targetList =
		list_concat(list_copy_head(rows.targetList, groups),
					dp_rowsets_other_targets(asked->spec->block, &rows));
	rows.hasAggs = false;
	appendStringInfo(out, "\ninner %s", dp_split_write_tree((Node *) &rows));
	foreach(lc, asked->scans)
		appendStringInfo(out, "\nscan %s", dp_split_write_tree(lfirst(lc)));
}

static void
append_joined(StringInfo out, const dp_answer_asked *asked)
{
	int			i;

	appendStringInfo(out, "\njoined %d " INT64_FORMAT " %zu ",
					 asked->by_units, asked->fanout, asked->widest);
	for (i = 0; asked->joined != NULL && i < DP_SHA256_BYTES; i++)
		appendStringInfo(out, "%02x", asked->joined[i]);
}

static void
answer_key_append_column(StringInfo out, TupleDesc result, int n)
{
	Form_pg_attribute column = TupleDescAttr(result, n);

	appendStringInfo(out, " %u %d %u", column->atttypid, column->atttypmod,
					 column->attcollation);
}

/* The columns of the groups, and whether errors follow the values. */
static void
append_result(StringInfo out, const dp_answer_asked *asked)
{
	int			i;

	appendStringInfo(out, "\nresult %d",
					 asked->result->natts > asked->spec->nkeys +
					 asked->spec->nmeasures);
	for (i = 0; i < asked->spec->nkeys; i++)
		answer_key_append_column(out, asked->result, i);
}

/* ---- each value alone ---- */

static void
append_grid(StringInfo out, const dp_grid *grid)
{
	appendStringInfo(out, " %d " INT64_FORMAT " " INT64_FORMAT,
					 grid->exponent, grid->low, grid->high);
}

static void
append_measure(StringInfo out, const dp_measure *measure)
{
	appendStringInfo(out, "\nmeasure %s %d %d %d %d", measure->ops->name,
					 measure->mechanism, measure->filter, measure->ncells,
					 measure->value->of_units);
	append_rational(out, &measure->epsilon);
	append_fixed(out, measure->delta);
	append_charge(out, &measure->charge);
	append_fixed(out, measure->sensitivity);
	append_grid(out, &measure->grid);
	append_grid(out, &measure->second.grid);
}

/*
 * The n-th aggregate: as written, its parameters, and the exact aggregates for
 * it in the inner query.
 */
static void
append_aggregate(StringInfo out, const dp_answer_asked *asked, int n)
{
	const dp_block *block = asked->spec->block;
	const dp_measure *measure = &asked->spec->measures[n];
	int			first = dp_rowsets_first_aggregate(block);
	const dp_value *value = measure->value;
	ListCell   *lc;

	append_measure(out, measure);
	appendStringInfo(out, "\ncolumn %d %d\nkey %s\nasked %s\narguments",
					 value->base_leaf, value->base_attnum,
					 value->key == NULL ? "" : dp_split_write_key(value->key),
					 dp_split_write_tree((Node *) measure->aggregate));
	foreach(lc, measure->arguments)
		appendStringInfo(out, " %s", dp_split_write_tree(lfirst(lc)));
	for (n = 0; n < measure->columns; n++)
	{
		TargetEntry *exact = list_nth(asked->inner->targetList,
									  first + measure->first_exact + n);

		appendStringInfo(out, "\nexact %s",
						 dp_split_write_tree((Node *) exact->expr));
	}
}

/* The aggregate, numbered from 1, that decides what is suppressed; 0: none. */
static void
append_size(StringInfo out, const dp_answer_asked *asked, int n)
{
	appendStringInfoString(out, "\nsize");
	if (n > 0)
		append_aggregate(out, asked, n - 1);
}

static void
answer_key_append_value(StringInfo out, const dp_answer_asked *asked, int n)
{
	const dp_release_spec *spec = asked->spec;

	append_aggregate(out, asked, n);
	appendStringInfoString(out, "\nresult");
	answer_key_append_column(out, asked->result, spec->nkeys + n);
	append_size(out, asked, spec->measures[n].value->size);
}

static bool
is_later_value(Node *node, const dp_walk *walk)
{
	return IsA(node, Param) || IsA(node, SQLValueFunction);
}

static bool
is_unsettled(Node *expression)
{
	return dp_base_contains(expression, is_later_value, NULL,
							DP_WALK_ONE_LEVEL) ||
		contain_volatile_functions(expression);
}

/* Whether the same text may mean something else at another time. */
static bool
answer_key_is_volatile(const dp_answer_asked *asked)
{
	ListCell   *lc;

	foreach(lc, asked->spec->settled_keys)
	{
		const dp_key *key = lfirst(lc);

		if (is_unsettled(key->image) || is_unsettled((Node *) key->cases))
			return true;
	}
	return contain_volatile_functions((Node *) asked->inner) ||
		contain_volatile_functions((Node *) asked->scans);
}

/* dp_answers_make_key: see answers_internal.h; palloc'd. */
dp_answer_key *
dp_answers_make_key(const dp_answer_asked *asked)
{
	const dp_release_spec *spec = asked->spec;
	StringInfoData common;
	StringInfoData *values;
	int			i;

	if (answer_key_is_volatile(asked) ||
		!OidIsValid(asked->standing->payer_role))
		return NULL;
	initStringInfo(&common);
	append_place(&common, asked);
	append_block(&common, spec->block);
	append_keys(&common, spec);
	append_price(&common, spec);
	append_trees(&common, asked);
	append_joined(&common, asked);
	append_result(&common, asked);
	appendStringInfo(&common, "\nleast " INT64_FORMAT " %d", spec->least,
					 spec->block->omits_empty);
	append_size(&common, asked, spec->block->size);
	values = palloc(sizeof(StringInfoData) * Max(spec->nmeasures, 1));
	for (i = 0; i < spec->nmeasures; i++)
	{
		initStringInfo(&values[i]);
		answer_key_append_value(&values[i], asked, i);
	}
	return join_key(&common, values, spec->nmeasures, asked->result,
					spec->nkeys);
}
