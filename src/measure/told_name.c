/*
 * told_name.c
 *	  The values of a group's keys that are told by threshold, as bytes and
 *	  back.
 *
 * Of a large key it is the place among its public values: a row that has none
 * has no name.
 *
 * Equal values have the same bytes, and of a told group it is these that are
 * answered, so the spelling is nobody's (places/told_value.c).
 */
#include "postgres.h"

#include "dp_measure.h"

/* Of joined rows many are held at once, each with its name (T97). */
#define JOINED_NAME_BYTES 512

struct dp_told_names
{
	Size		most;			/* bytes of a name */
	int			n;
	int		   *keys;			/* their numbers among all keys */
	dp_domain **domains;		/* of large ones; or NULL */
	dp_told_type *types;
};

/* dp_measure_told_most: bytes that values of all told keys may take. */
Size
dp_measure_told_most(const dp_release_spec *spec)
{
	return spec->block->sources == NIL ? DP_BOUND_NAME_BYTES :
		JOINED_NAME_BYTES;
}

/* dp_measure_told_create: for the keys of a release that are told. */
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

/* dp_measure_is_told: is the key told by threshold? */
bool
dp_measure_is_told(const dp_release_spec *spec, int key)
{
	const dp_key *k = list_nth(spec->block->keys, key);

	return k->kind == DP_KEY_UNDECLARED || spec->large[key];
}

/* dp_measure_told_number: how many keys are told by threshold. */
int
dp_measure_told_number(const dp_told_names *names)
{
	return names->n;
}

/*
 * dp_measure_told_write
 *	  Bytes for values of all keys that are told, in room for
 *	  DP_BOUND_NAME_BYTES; returns how many, or 0: they do not fit, or one is
 *	  none of a large key's.
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
 *	  The values that bytes stand for, at their places among all keys.
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
