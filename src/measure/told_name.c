/*
 * told_name.c
 *	  The values of keys that are released by threshold, as bytes and back.
 *
 * For a large key the bytes are the place among its public values: a row that
 * has none has no name.
 *
 * Equal values have the same bytes, and a released group is returned with the
 * values read back from them, so its spelling is not that of a row
 * (places/told_value.c).
 */
#include "postgres.h"

#include "dp_measure.h"

/* Many joined rows are kept at once, each with its name (T97). */
#define JOINED_NAME_BYTES 512

struct dp_told_names
{
	Size		most;			/* bytes of a name */
	int			n;
	int		   *keys;			/* their positions among all keys */
	dp_domain **domains;		/* of large keys; otherwise NULL */
	dp_told_type *types;
};

/* dp_measure_told_most: most bytes that values of all such keys take. */
Size
dp_measure_told_most(const dp_release_spec *spec)
{
	return spec->block->sources == NIL ? DP_BOUND_NAME_BYTES :
		JOINED_NAME_BYTES;
}

/*
 * dp_measure_told_create: create it for the keys of a release that are
 * released by threshold.
 */
dp_told_names *
dp_measure_told_create(const dp_release_spec *spec)
{
	dp_told_names *names = palloc0(sizeof(dp_told_names));
	int			i;

	names->most = dp_measure_told_most(spec);
	names->keys = palloc(sizeof(int) * Max(spec->nkeys, 1));
	names->domains = palloc(sizeof(dp_domain *) * Max(spec->nkeys, 1));
	names->types = palloc(sizeof(dp_told_type) * Max(spec->nkeys, 1));
	for (i = 0; i < spec->nkeys; i++)
	{
		const dp_key *key = list_nth(spec->block->keys, i);

		if (!dp_measure_is_told(spec, i))
			continue;
		names->keys[names->n] = i;
		names->domains[names->n] = spec->large[i] ? spec->domains[i] : NULL;
		names->types[names->n++] = spec->large[i] ?
			dp_places_told_type(INT8OID, -1) :
			dp_places_told_type(key->type, key->typmod);
	}
	return names;
}

/* dp_measure_is_told: is the key released by threshold? */
bool
dp_measure_is_told(const dp_release_spec *spec, int key)
{
	const dp_key *k = list_nth(spec->block->keys, key);

	return k->kind == DP_KEY_UNDECLARED || spec->large[key];
}

/* dp_measure_told_number: how many keys are released by threshold. */
int
dp_measure_told_number(const dp_told_names *names)
{
	return names->n;
}

/*
 * dp_measure_told_write
 *	  Write the values of all such keys as bytes, into DP_BOUND_NAME_BYTES;
 *	  returns their number, or 0 if they do not fit or one is no value of a
 *	  large key.
 */
Size
dp_measure_told_write(const dp_told_names *names, const Datum *values,
					  const bool *nulls, char *to)
{
	Size		used = 0;
	int			i;

	for (i = 0; i < names->n; i++)
	{
		Size		written = dp_places_told_write(&names->types[i], values[i],
												   nulls[i], to + used,
												   names->most - used);

		if (written == 0 || (nulls[i] && names->domains[i] != NULL))
			return 0;
		used += written;
	}
	return used;
}

/*
 * dp_measure_told_read
 *	  Read the values back, into their positions among all keys.
 */
void
dp_measure_told_read(const dp_told_names *names, const char *from,
					 Datum *values, bool *nulls)
{
	int			i;

	for (i = 0; i < names->n; i++)
	{
		Datum	   *value = &values[names->keys[i]];
		bool	   *null = &nulls[names->keys[i]];

		from = dp_places_told_read(&names->types[i], from, value, null);
		if (names->domains[i] != NULL)
			*value = dp_places_domain_value(names->domains[i],
											DatumGetInt64(*value), null);
	}
}
