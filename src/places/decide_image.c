/*
 * decide_image.c
 *	  The values of keys that are computed: constants of a CASE, and public
 *	  values of a column taken through an expression.
 *
 * They are in the order of their type, NULL last.  Several values of the
 * column may give one value of the key; `other` gives that of its label.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "domain.h"

/* The key for a value of the column, or a constant. */
typedef struct image_value
{
	Datum		value;
	int64		place;			/* of the column */
	bool		isnull;
	bool		kept;
} image_value;

typedef struct image_order
{
	FmgrInfo   *compare;
	Oid			collation;
} image_order;

static int
compare_images(const void *a, const void *b, void *arg)
{
	const image_order *order = arg;

	return DatumGetInt32(FunctionCall2Coll(order->compare, order->collation,
										   ((const image_value *) a)->value,
										   ((const image_value *) b)->value));
}

/* Move those that are kept and not NULL to the front; returns their number. */
static int64
gather(image_value *images, int64 n, bool *null)
{
	int64		kept = 0;
	int64		i;

	*null = false;
	for (i = 0; i < n; i++)
	{
		if (images[i].kept && !images[i].isnull)
		{
			image_value held = images[kept];

			images[kept++] = images[i];
			images[i] = held;
		}
		else if (images[i].kept)
			*null = true;
	}
	return kept;
}

/*
 * A domain of the distinct values.  `map`, unless NULL, gets the key's place
 * for each place of the column.
 */
static dp_domain *
collect(const dp_key *key, image_value *images, int64 n, int32 *map)
{
	dp_domain  *domain = dp_places_domain_empty(getBaseType(key->type));
	TypeCacheEntry *cache = lookup_type_cache(domain->places.type,
											  TYPECACHE_CMP_PROC_FINFO);
	image_order order = {&cache->cmp_proc_finfo, key->collation};
	bool		null;
	int64		kept = gather(images, n, &null);
	int64		i;

	qsort_arg(images, kept, sizeof(image_value), compare_images, &order);
	for (i = 0; i < kept; i++)
	{
		if (i == 0 || compare_images(&images[i - 1], &images[i], &order) != 0)
			dp_places_domain_append(domain, images[i].value);
		if (map != NULL)
			map[images[i].place] = (int32) domain->places.known - 1;
	}
	dp_places_domain_end(domain, null);
	for (i = kept; map != NULL && i < n; i++)
		map[images[i].place] = images[i].kept ?
			(int32) domain->places.null : -1;
	return domain;
}

/* dp_places_decide_cases: the constants of a DP_KEY_CASES. */
dp_domain *
dp_places_decide_cases(const dp_key *key)
{
	int64		n = list_length(key->cases);
	image_value *images = palloc0(sizeof(image_value) * Max(n, 1));
	ListCell   *lc;

	foreach(lc, key->cases)
	{
		image_value *image = &images[foreach_current_index(lc)];
		const Const *value = lfirst(lc);

		/* a parameter without a value: EXPLAIN of a generic plan */
		if (value == NULL || !IsA(value, Const))
			continue;
		image->value = value->constvalue;
		image->isnull = value->constisnull;
		image->kept = true;
	}
	return collect(key, images, n, NULL);
}

static dp_domain *
keep_places(const dp_domain *from, const bool *keep)
{
	dp_domain  *kept = dp_places_domain_empty(from->places.type);
	bool		isnull;
	int64		i;

	for (i = 0; i < from->places.known; i++)
		if (keep[i])
			dp_places_domain_append(kept, dp_places_domain_value(from, i,
																 &isnull));
	dp_places_domain_end(kept, from->places.null >= 0 &&
						 keep[from->places.null]);
	return kept;
}

/*
 * dp_places_keep_reached
 *	  Keep those values of a key computed from one column that it can have
 *	  under the conditions, if breakpoints decide this; otherwise all.
 */
dp_domain *
dp_places_keep_reached(const dp_key *key, dp_domain *domain)
{
	const dp_axis_finder *finder;
	dp_conditions *asked;
	List	   *conditions;
	Datum	   *values;
	bool	   *keep;
	Size		length;
	int			n = 0;
	int			i;

	if (key->base == NULL || key->image == NULL || domain->places.other >= 0)
		return domain;
	values = dp_places_breakpoints(key, getBaseType(key->base->type),
								   &conditions, &n);
	if (values == NULL)
		return domain;
	finder = dp_places_domain_finder(domain, &length);
	keep = palloc0(domain->size + 1);
	asked = dp_places_conditions_begin(key, conditions);
	for (i = key->base->nullable ? -1 : 0; i < n; i++)
	{
		Datum		column = i < 0 ? (Datum) 0 : values[i];
		bool		isnull;
		Datum		value = dp_places_conditions_image(asked, column, i < 0,
													   &isnull);
		int64		place = dp_places_axis_find_flat(finder, value, isnull);

		if (place >= 0 && dp_places_conditions_hold(asked, column, i < 0,
													value, isnull))
			keep[place] = true;
	}
	dp_places_conditions_end(asked);
	return keep_places(domain, keep);
}

static void
raise_too_much(int64 values)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("group key is computed from too many public values"),
			 values == 0 ?
			 errdetail("The bounds of its column are too far apart for the "
					   "fields of time that it uses.") :
			 errdetail("Its column has " INT64_FORMAT " of them; at most %d "
					   "are evaluated.", values, DP_DECIDED_MAX),
			 errhint("Narrow the column in WHERE, or ask the data owner for "
					 "narrower bounds.")));
}

/* `other` is kept, because the values that it stands for are unknown. */
static void
fill_images(const dp_key *key, const dp_domain *base, image_value *images)
{
	dp_conditions *asked = dp_places_conditions_begin(key, key->conditions);
	int64		i;

	for (i = 0; i < base->size; i++)
	{
		bool		column_null;
		Datum		column = dp_places_domain_value(base, i, &column_null);
		image_value *image = &images[i];

		CHECK_FOR_INTERRUPTS();
		image->place = i;
		image->value = dp_places_conditions_image(asked, column, column_null,
												  &image->isnull);
		image->kept = i == base->places.other ||
			dp_places_conditions_hold(asked, column, column_null,
									  image->value, image->isnull);
	}
	dp_places_conditions_end(asked);
}

/*
 * dp_places_decide_image
 *	  The values of a DP_KEY_IMAGE; `base` are those of its column, or NULL.
 */
dp_domain *
dp_places_decide_image(const dp_key *key, dp_domain *base)
{
	dp_domain  *domain;
	image_value *images;
	int32	   *map;

	/* a parameter without a value: EXPLAIN of a generic plan */
	if (key->image == NULL)
		return dp_places_domain_empty(getBaseType(key->type));
	if (base == NULL)
	{
		domain = dp_places_decide_time(key);
		if (domain == NULL)
			raise_too_much(0);
		return domain;
	}
	if (base->size > DP_DECIDED_MAX)
		raise_too_much(base->size);
	images = palloc0(sizeof(image_value) * Max(base->size, 1));
	map = palloc(sizeof(int32) * Max(base->size, 1));
	fill_images(key, base, images);
	domain = collect(key, images, base->size, map);
	domain->base = base;
	domain->map = map;
	pfree(images);
	return domain;
}
