/*
 * domain_list.c
 *	  Domains as nodes, which are sent to readers.
 *
 * What conditions leave is decided once, in the connection; the reader takes
 * the values as they are, so that decisions cannot differ.  A domain without
 * decisions may be long; instead of it the key is sent, with a hash by which
 * the reader checks that declarations are still the same.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "domain.h"

/* The numbers of a domain, in the order of the list form. */
enum
{
	LIST_KIND,
	LIST_TYPE,
	LIST_FIRST,
	LIST_KNOWN,
	LIST_OTHER,
	LIST_NULL,
	LIST_SIZE,
	LIST_HASH,					/* of a domain that the reader makes */
	LIST_NUMBERS
};

static Const *
array_const(Oid element, Datum *values, int64 n)
{
	Oid			type = get_array_type(element);
	ArrayType  *array;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(element, &length, &by_value, &align);
	array = construct_array(values, (int) n, element, length, by_value, align);
	return makeConst(type, -1, InvalidOid, -1, PointerGetDatum(array), false,
					 false);
}

static int
array_values(const Const *constant, Oid element, Datum **values)
{
	bool	   *nulls;
	int			n;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(constant->constvalue), element,
					  length, by_value, align, values, &nulls, &n);
	return n;
}

static int64
hash_values(dp_domain *domain)
{
	Size		length;
	const dp_axis_finder *finder = dp_places_domain_finder(domain, &length);

	return (int64) hash_bytes_extended((const unsigned char *) finder,
									   (int) length, 0);
}

static bool
is_made_anew(const dp_domain *domain)
{
	return domain->undecided != NULL &&
		domain->undecided->kind != DP_KEY_CONSTANT &&
		domain->undecided->kind != DP_KEY_UNDECLARED &&
		domain->places.kind != DP_AXIS_DENSE;
}

/* Make the domain of a key that was sent; 55000 if it has changed. */
static dp_domain *
make_anew(const dp_key *key, const Datum *numbers)
{
	dp_domain  *domain = dp_places_domain_make(key);

	if (domain->size != DatumGetInt64(numbers[LIST_SIZE]) ||
		hash_values(domain) != DatumGetInt64(numbers[LIST_HASH]))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declarations of a private relation changed during "
						"the query")));
	return domain;
}

/* dp_places_domain_to_list: see dp_places.h. */
List *
dp_places_domain_to_list(const dp_domain *domain)
{
	const dp_places *places = &domain->places;
	Datum		numbers[LIST_NUMBERS];
	List	   *list;

	numbers[LIST_KIND] = Int64GetDatum(places->kind);
	numbers[LIST_TYPE] = Int64GetDatum((int64) places->type);
	numbers[LIST_FIRST] = Int64GetDatum(places->first);
	numbers[LIST_KNOWN] = Int64GetDatum(places->known);
	numbers[LIST_OTHER] = Int64GetDatum(places->other);
	numbers[LIST_NULL] = Int64GetDatum(places->null);
	numbers[LIST_SIZE] = Int64GetDatum(domain->size);
	numbers[LIST_HASH] = Int64GetDatum(is_made_anew(domain) ?
									   hash_values((dp_domain *) domain) : 0);
	list = list_make1(array_const(INT8OID, numbers, LIST_NUMBERS));
	if (is_made_anew(domain))
		list = lappend(list, (void *) domain->undecided);
	else if (places->kind != DP_AXIS_DENSE)
		list = lappend(list, array_const(places->type, domain->values,
										 places->known +
										 (places->other >= 0 ? 1 : 0)));
	return list;
}

/* dp_places_domain_from_list: see dp_places.h. */
dp_domain *
dp_places_domain_from_list(const List *list)
{
	dp_domain  *domain = palloc0(sizeof(dp_domain));
	dp_places  *places = &domain->places;
	Datum	   *numbers;

	if (array_values(linitial(list), INT8OID, &numbers) != LIST_NUMBERS)
		elog(ERROR, "unexpected form of public values");
	if (list_length(list) > 1 && !IsA(lsecond(list), Const))
		return make_anew(lsecond(list), numbers);
	places->kind = (int32) DatumGetInt64(numbers[LIST_KIND]);
	places->type = (Oid) DatumGetInt64(numbers[LIST_TYPE]);
	places->first = DatumGetInt64(numbers[LIST_FIRST]);
	places->known = DatumGetInt64(numbers[LIST_KNOWN]);
	places->other = DatumGetInt64(numbers[LIST_OTHER]);
	places->null = DatumGetInt64(numbers[LIST_NULL]);
	domain->size = DatumGetInt64(numbers[LIST_SIZE]);
	if (places->kind != DP_AXIS_DENSE)
		(void) array_values(lsecond(list), places->type, &domain->values);
	return domain;
}
