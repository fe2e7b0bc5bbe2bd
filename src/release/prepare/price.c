/*
 * price.c
 *	  What a release is charged: the part that is read, and values that no row
 *	  is in together.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "dp_prepare.h"
#include "prepare_internal.h"

/* ----------------
 *		The part of a partition that a release reads, for the ledger.
 * ----------------
 */

/* The largest number of parts of a range of integers or dates. */
#define MAX_PARTS 1000000

/* With fewer parts, reading the whole relation is about as fast. */
#define INDEXED_PARTS 10

static bool
is_whole_type(Oid type)
{
	return dp_domains_is_integer(type) || type == DATEOID;
}

/* Write the value as bytes, which are equal exactly if values are. */
static void
value_bytes(Oid type, Datum value, StringInfo bytes)
{
	switch (type)
	{
		case BOOLOID:
			appendStringInfoString(bytes, DatumGetBool(value) ? "t" : "f");
			break;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
			appendStringInfo(bytes, INT64_FORMAT,
							 dp_domains_integer(type, value));
			break;
		case TEXTOID:
		case VARCHAROID:
			appendStringInfoString(bytes, TextDatumGetCString(value));
			break;
		case UUIDOID:
			appendBinaryStringInfo(bytes,
								   (char *) DatumGetUUIDP(value)->data,
								   UUID_LEN);
			break;
		default:
			elog(ERROR, "unexpected type %u of a partition column", type);
	}
}

/* The hexadecimal SHA-256 of the value, truncated to the length of a name. */
static void
release_price_hash_value(Oid type, Datum value, NameData *out)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);
	StringInfoData bytes;
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	int			i;

	initStringInfo(&bytes);
	value_bytes(type, value, &bytes);
	if (context == NULL || pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, (uint8 *) bytes.data, bytes.len) < 0 ||
		pg_cryptohash_final(context, digest, sizeof(digest)) < 0)
		elog(ERROR, "could not hash the value of a partition column");
	pg_cryptohash_free(context);
	for (i = 0; 2 * i + 2 < NAMEDATALEN && i < sizeof(digest); i++)
		snprintf(NameStr(*out) + 2 * i, 3, "%02x", digest[i]);
}

/*
 * The value as declared keys are written: dates in ISO style, whatever
 * DateStyle is.
 */
static char *
release_price_canonical_text(const Const *value)
{
	char		buffer[MAXDATELEN + 1];
	struct pg_tm tm;
	DateADT		date;
	Oid			output;
	bool		varlena;

	if (value->consttype != DATEOID)
	{
		getTypeOutputInfo(value->consttype, &output, &varlena);
		return OidOutputFunctionCall(output, value->constvalue);
	}
	date = DatumGetDateADT(value->constvalue);
	if (DATE_NOT_FINITE(date))
		EncodeSpecialDate(date, buffer);
	else
	{
		j2date(date + POSTGRES_EPOCH_JDATE, &tm.tm_year, &tm.tm_mon,
			   &tm.tm_mday);
		EncodeDateOnly(&tm, USE_ISO_DATES, buffer);
	}
	return pstrdup(buffer);
}

/* The number of declared parts; 0 if there are too many. */
static int64
count_parts(const dp_attribute *declared, Oid type)
{
	dp_int128	parts;

	if (declared->keys != NIL)
		return list_length(declared->keys);
	if (type == BOOLOID)
		return 2;
	parts = (dp_int128) dp_domains_declared_integer(declared->upper, type) -
		dp_domains_declared_integer(declared->lower, type) + 1;
	return parts <= MAX_PARTS ? (int64) parts : 0;
}

static bool
release_price_is_within(const dp_attribute *declared, const Const *value)
{
	Oid			type = value->consttype;
	Datum		lower = dp_domains_read_declared(declared->lower, type, -1);
	Datum		upper = dp_domains_read_declared(declared->upper, type, -1);
	int64		number = dp_domains_integer(type, value->constvalue);

	return count_parts(declared, type) > 0 &&
		number >= dp_domains_integer(type, lower) &&
		number <= dp_domains_integer(type, upper);
}

/*
 * Has the owner made the value public? Decided by the declaration alone, so
 * that a value does not change its part while the partition lasts.
 */
static bool
is_declared(const dp_attribute *declared, const Const *value)
{
	char	   *text;
	ListCell   *lc;

	if (declared->keys != NIL)
	{
		text = release_price_canonical_text(value);
		foreach(lc, declared->keys)
			if (strcmp(lfirst(lc), text) == 0)
				return true;
		return false;
	}
	if (value->consttype == BOOLOID)
		return true;
	return declared->lower != NULL && is_whole_type(value->consttype) &&
		release_price_is_within(declared, value);
}

/*
 * dp_prepare_set_part
 *	  Set the part to which the block's condition restricts it, and the value
 *	  that its rows must have.  There is none for NULL, if neighbours may move
 *	  between parts, or if rows that the snapshot sees may have changed theirs:
 *	  the trigger that keeps the column immutable is newer, or gone.
 *
 * Each declared value is a part; all others together are one more, so that the
 * number of parts is bounded.
 */
void
dp_prepare_set_part(dp_release_spec *spec, Const *value, Snapshot snapshot)
{
	dp_block   *block = spec->block;
	dp_attribute *declared;

	spec->part_value = value;
	declared = dp_protect_attribute(block->relid, block->part_attnum);
	if (value->constisnull || spec->replace_one || declared == NULL ||
		declared->partition == 0 ||
		!dp_protect_declare_is_guarded(block->relid, block->part_attnum,
									   snapshot))
		return;
	spec->part.partition = declared->partition;
	if (!is_declared(declared, value))
	{
		namestrcpy(&spec->part.key, "other");
		return;
	}
	release_price_hash_value(getBaseType(value->consttype),
							 value->constvalue, &spec->part.key);
	spec->part_indexed = declared->public_sizes &&
		count_parts(declared, value->consttype) >= INDEXED_PARTS;
}

/* ----------------
 *		Values of one release that share no row: parallel composition.
 *
 * Where each unit has one row, a value with a FILTER depends only on units
 * whose row passes it.  So if filters exclude each other, a unit is in the
 * values of one filter only, and together they cost what the costliest costs;
 * if neighbours replace a unit, which may leave one filter and enter another,
 * what the two costliest cost (doc/theory.md T122).
 *
 * Values with the same FILTER are a *set*, and pay the sum.  Sets that are
 * pairwise exclusive are a *family*; families pay the sum.  That two filters
 * exclude each other is proved by PostgreSQL's own prover
 * (optimizer/util/predtest.c) on the verified conditions, one column at a
 * time: the same column, operators of one family, values that are constants.
 * Filters count as disjoint only if this is proved.
 * ----------------
 */

/*
 * Limits, since the prover compares most conditions pairwise and cannot be
 * interrupted.  Beyond them a filter is a family of its own: with more
 * filters, for a condition with more nodes and array elements, and once the
 * work of all pairs is used up.
 */
#define SETS_MOST 64
#define CONDITION_MOST 300
#define WORK_MOST (1 << 18)

typedef struct value_set
{
	Expr	   *filter;			/* NULL: every row */
	List	   *conditions;		/* of condition *; on one column each */
	List	   *values;			/* int: numbers of measurements */
} value_set;

/* A filter's condition on one column, as a list of conjuncts. */
typedef struct condition
{
	Var		   *column;
	List	   *conjuncts;
	int64		size;
} condition;

/* ---- conditions on one column ---- */

/*
 * An overlong value makes a comparison NULL although no argument is NULL, and
 * another comparison of the same value need not be
 * (expressions/expression_memory.c). AND, OR and NOT make nothing true of that
 * NULL; these tests do, except of a column.
 */
static bool
is_true_of_null(Node *node)
{
	const BooleanTest *test = (const BooleanTest *) node;

	return IsA(node, BooleanTest) && !IsA(test->arg, Var) &&
		(test->booltesttype == IS_NOT_TRUE ||
		 test->booltesttype == IS_NOT_FALSE ||
		 test->booltesttype == IS_UNKNOWN);
}

/*
 * Does it contain anything whose value is not in the query's text, or that the
 * prover may not tell apart?
 */
static bool
is_unfit(Node *node, const dp_walk *walk)
{
	Oid			collation;

	if (IsA(node, Param) || IsA(node, SubLink) || IsA(node, SubPlan) ||
		is_true_of_null(node))
		return true;
	collation = exprInputCollation(node);
	return OidIsValid(collation) && !get_collation_isdeterministic(collation);
}

/* Counts what the prover looks at: nodes, and elements of arrays. */
static bool
count_looks(Node *node, const dp_walk *walk)
{
	int64	   *size = walk->context;
	Const	   *constant = (Const *) node;

	*size += 1;
	if (IsA(node, Const) && !constant->constisnull &&
		OidIsValid(get_element_type(constant->consttype)))
	{
		ArrayType  *array = DatumGetArrayTypeP(constant->constvalue);

		*size += ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	}
	return false;
}

/* The only column of a condition; NULL if it has none or several. */
static Var *
release_price_only_column(Node *conjunct)
{
	List	   *columns = pull_var_clause(conjunct, 0);
	Var		   *column = NULL;
	ListCell   *lc;

	foreach(lc, columns)
	{
		if (column != NULL && !equal(column, lfirst(lc)))
			return NULL;
		column = lfirst_node(Var, lc);
	}
	return column;
}

static List *
release_price_conditions_of(Expr *filter)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	filter = (Expr *) eval_const_expressions(NULL, copyObject((Node *)
															  filter));
	foreach(lc, make_ands_implicit(filter))
	{
		Node	   *conjunct = lfirst(lc);
		bool		unfit = dp_base_contains(conjunct, is_unfit, NULL,
											 DP_WALK_ONE_LEVEL);
		Var		   *column = unfit ? NULL :
		release_price_only_column(conjunct);
		condition  *found = NULL;
		int64		size = 0;
		ListCell   *other;

		(void) dp_base_contains(conjunct, count_looks, &size,
								DP_WALK_ONE_LEVEL);
		if (column == NULL || size > CONDITION_MOST)
			continue;
		foreach(other, conditions)
			if (equal(((condition *) lfirst(other))->column, column))
				found = lfirst(other);
		if (found == NULL)
		{
			found = palloc0(sizeof(condition));
			found->column = column;
			conditions = lappend(conditions, found);
		}
		found->conjuncts = lappend(found->conjuncts, conjunct);
		found->size += size;
	}
	return conditions;
}

/* Is it proved that no row passes both filters? */
static bool
exclude_each_other(const value_set *a, const value_set *b, int64 *work)
{
	ListCell   *lc;
	ListCell   *other;

	foreach(lc, a->conditions)
	{
		const condition *mine = lfirst(lc);

		foreach(other, b->conditions)
		{
			const condition *theirs = lfirst(other);

			CHECK_FOR_INTERRUPTS();
			if (!equal(mine->column, theirs->column))
				continue;
			*work += mine->size * theirs->size;
			if (*work <= WORK_MOST &&
				predicate_refuted_by(theirs->conjuncts, mine->conjuncts,
									 true))
				return true;
		}
	}
	return false;
}

/* ---- sets and families ---- */

/* The sets of a release's values, in order of their first values. */
static List *
make_sets(const dp_release_spec *spec)
{
	List	   *sets = NIL;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		Expr	   *filter = spec->measures[i].aggregate->aggfilter;
		value_set  *found = NULL;
		ListCell   *lc;

		foreach(lc, sets)
			if (filter != NULL && equal(((value_set *) lfirst(lc))->filter,
										filter))
				found = lfirst(lc);
		if (found == NULL)
		{
			found = palloc0(sizeof(value_set));
			if (list_length(sets) < SETS_MOST)
				found->filter = filter;
			if (found->filter != NULL)
				found->conditions = release_price_conditions_of(filter);
			sets = lappend(sets, found);
		}
		found->values = lappend_int(found->values, i);
	}
	return sets;
}

/* Is the set exclusive with all sets of the family? */
static bool
release_price_excludes_all(const value_set *set, const List *family,
						   int64 *work)
{
	ListCell   *lc;

	foreach(lc, family)
		if (!exclude_each_other(set, lfirst(lc), work))
			return false;
	return true;
}

/* Put each set into the first family that it may join. */
static List *
make_families(const List *sets)
{
	List	   *families = NIL;
	int64		work = 0;
	ListCell   *lc;

	foreach(lc, sets)
	{
		value_set  *set = lfirst(lc);
		ListCell   *other = NULL;

		if (set->conditions != NIL)
		{
			foreach(other, families)
				if (release_price_excludes_all(set, lfirst(other), &work))
					break;
		}
		if (other != NULL)
			lfirst(other) = lappend(lfirst(other), set);
		else
			families = lappend(families, list_make1(set));
	}
	return families;
}

/*
 * dp_prepare_find_disjoint
 *	  Set spec->families: for each family a list with, for each of its sets,
 *	  the list of numbers of its measurements.  Depends on the query's text
 *	  only.
 *
 * If units may have many rows, or this is unknown, each value is a family of
 * its own.
 */
void
dp_prepare_find_disjoint(dp_release_spec *spec)
{
	List	   *families;
	ListCell   *lc;
	int			i;

	spec->families = NIL;
	if (spec->block->many)
	{
		for (i = 0; i < spec->nmeasures; i++)
			spec->families = lappend(spec->families,
									 list_make1(list_make1_int(i)));
		return;
	}
	families = make_families(make_sets(spec));
	foreach(lc, families)
	{
		List	   *family = NIL;
		ListCell   *other;

		foreach(other, (List *) lfirst(lc))
			family = lappend(family, ((value_set *) lfirst(other))->values);
		spec->families = lappend(spec->families, family);
	}
}

/* ---- what they cost ---- */

static void
raise_largest(dp_fixed x, dp_fixed *first, dp_fixed *second)
{
	if (x > *first)
	{
		*second = *first;
		*first = x;
	}
	else if (x > *second)
		*second = x;
}

static void
add_charge(dp_charge *sum, const dp_charge *charge)
{
	dp_base_check_status(dp_accounting_charge_add(sum, charge),
						 "add up the charge of a query");
}

/*
 * dp_prepare_add_values
 *	  Add to a charge what the values of a release cost together, where
 *	  charges[i] is the charge of measurement i alone.
 *
 * Source: doc/theory.md T122.
 */
void
dp_prepare_add_values(const dp_release_spec *spec, const dp_charge *charges,
					  dp_charge *sum)
{
	ListCell   *lc;
	ListCell   *set;
	ListCell   *value;

	foreach(lc, spec->families)
	{
		dp_charge	first = {0};
		dp_charge	second = {0};

		foreach(set, (List *) lfirst(lc))
		{
			dp_charge	all = {0};

			foreach(value, (List *) lfirst(set))
				add_charge(&all, &charges[lfirst_int(value)]);
			raise_largest(all.epsilon, &first.epsilon, &second.epsilon);
			raise_largest(all.rho, &first.rho, &second.rho);
			raise_largest(all.delta, &first.delta, &second.delta);
		}
		add_charge(sum, &first);
		if (spec->replace_one)
			add_charge(sum, &second);
	}
}

/*
 * dp_prepare_disjoint_text
 *	  The families with more than one set, for EXPLAIN, by positions of their
 *	  values in the query: "1 | 2, 3"; NULL if there is none.
 */
char *
dp_prepare_disjoint_text(const dp_release_spec *spec)
{
	StringInfoData text;
	ListCell   *lc;
	ListCell   *set;
	ListCell   *value;

	initStringInfo(&text);
	foreach(lc, spec->families)
	{
		if (list_length(lfirst(lc)) < 2)
			continue;
		appendStringInfoString(&text, text.len > 0 ? "; values " : "values ");
		foreach(set, (List *) lfirst(lc))
		{
			if (foreach_current_index(set) > 0)
				appendStringInfoString(&text, " | ");
			foreach(value, (List *) lfirst(set))
				appendStringInfo(&text, "%s%d",
								 foreach_current_index(value) > 0 ? ", " : "",
								 lfirst_int(value) + 1);
		}
	}
	if (text.len == 0)
		return NULL;
	appendStringInfo(&text, ": no row is in two; together they cost what the "
					 "%s", spec->replace_one ? "two costliest cost" :
					 "costliest costs");
	return text.data;
}
