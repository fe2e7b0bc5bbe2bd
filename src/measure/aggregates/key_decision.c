/*
 * key_decision.c
 *	  The decision which undeclared keys are told, and their values as the name
 *	  of a group.
 */
#include "postgres.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* ----------------
 *		Law and charge of the decision which undeclared keys are released.
 *
 * Whether a key is released depends on the number of units that keep it
 * (doc/theory.md T104).  The decision is a release of its own, with the
 * default price and the setting's delta, before the values of released keys
 * (T105).
 * ----------------
 */

static dp_fixed
require_delta(int quarters)
{
	dp_fixed	delta;

	if (!dp_aggregates_read_delta(quarters, &delta))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("group keys that are not public need a delta"),
				 errdetail("A threshold decides which of them are released, "
						   "and dp_pg.delta is no longer set."),
				 errhint("SET dp_pg.delta = '1e-9', well below one over the "
						 "number of people; or declare the keys.")));
	return delta;
}

/* changes times the rho of epsilon / changes, or the rho of epsilon. */
static dp_fixed
decision_rho(const dp_key_decision *decision)
{
	const dp_rational parts = {1, decision->changes};
	dp_rational part;
	dp_fixed	rho;
	dp_fixed	all = 0;
	uint64		i;

	if (dp_numbers_rational_multiply(&decision->epsilon, &parts,
									 &part) == DP_OK &&
		dp_accounting_rho_from_pure(&part, &rho) == DP_OK)
	{
		for (i = 0; i < decision->changes; i++)
			all = dp_accounting_fixed_add(all, rho);
		return all;
	}
	dp_base_check_status(dp_accounting_rho_from_pure(&decision->epsilon, &rho),
						 "compute a charge");
	return rho;
}

/*
 * dp_aggregates_set_decision
 *	  Set the decision of a release with undeclared keys, whose bounds are
 *	  known: epsilon is that of one of `share` values, or spec->quarters of it,
 *	  and the charge is added to the release's.
 *
 * Errors: 22023 dp_pg.delta is not set, or too small for a threshold.  Source:
 * doc/theory.md T104.
 */
void
dp_aggregates_set_decision(dp_release_spec *spec, int share)
{
	dp_key_decision *decision = &spec->decision;
	dp_rational delta;
	dp_status	status;

	decision->epsilon = dp_aggregates_default_price(share);
	if (spec->quarters > 0)
		dp_aggregates_take_quarters(spec->quarters, &decision->epsilon);
	decision->delta = require_delta(spec->quarters);
	decision->changes = (uint64) spec->max_keys * (spec->replace_one ? 2 : 1);
	dp_base_check_status(dp_accounting_fixed_to_rational(decision->delta,
														 &delta),
						 "compute a threshold of keys");
	status = dp_noise_key_law_make(&decision->epsilon, &delta,
								   decision->changes, &decision->law);
	if (status == DP_E_OVERFLOW || status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon or delta is too small to release any group "
						"key"),
				 errdetail("No number of units would be enough."),
				 errhint("Ask with a larger dp_pg.epsilon or dp_pg.delta, or "
						 "a smaller dp_pg.max_keys; or declare the keys.")));
	dp_base_check_status(status, "compute a threshold of keys");
	dp_base_check_scale(&decision->law.scale);
	decision->law.least = (uint64) spec->least;
	status = dp_accounting_fixed_from_rational(&decision->epsilon, DP_ROUND_UP,
											   &decision->charge.epsilon);
	dp_base_check_status(status, "compute a charge");
	decision->charge.rho = decision_rho(decision);
	decision->charge.delta = decision->delta;
	dp_base_check_status(dp_accounting_charge_add(&spec->charge,
												  &decision->charge),
						 "add up the charge of a query");
}

/* ---- as many groups as are released ---- */

/*
 * dp_aggregates_keep_unprepared
 *	  Called before prepare: keep a copy, so that the measurement can be
 *	  prepared again.
 */
void
dp_aggregates_keep_unprepared(dp_measure *measure)
{
	dp_measure *copy = palloc(sizeof(dp_measure));

	*copy = *measure;
	measure->unprepared = copy;
}

/*
 * dp_aggregates_allow_fewer
 *	  Called after prepare: set a charge that suffices for any smaller number
 *	  of groups of a unit.  Noise without delta is epsilon-DP for each number,
 *	  so the charge of a pure mechanism suffices; Gaussian noise has one charge
 *	  for all.  Bounds from a profile, to which rows are cut, stay as they are,
 *	  though they would be others for fewer groups.
 *
 * Source: doc/theory.md T21, T105.
 */
void
dp_aggregates_allow_fewer(dp_measure *measure)
{
	dp_charge  *charge = &measure->charge;
	dp_fixed	rho;

	if (measure->profiled)
	{
		dp_measure *copy = palloc(sizeof(dp_measure));

		*copy = *measure->unprepared;
		copy->lower = measure->lower;
		copy->upper = measure->upper;
		measure->unprepared = copy;
	}
	if (charge->epsilon == DP_FIXED_INFINITE || charge->delta != 0)
		return;
	dp_base_check_status(dp_accounting_rho_from_pure(&measure->epsilon, &rho),
						 "compute a charge");
	charge->rho = Max(charge->rho, rho);
}

/* Does the measurement count as the other one does, and cost no more? */
static bool
can_stand_for(const dp_measure *a, const dp_measure *b)
{
	return a->ncells == b->ncells && a->power == b->power &&
		a->state_size == b->state_size && a->on_grid == b->on_grid &&
		a->grid.exponent == b->grid.exponent &&
		a->grid.low == b->grid.low && a->grid.high == b->grid.high &&
		a->second.grid.exponent == b->second.grid.exponent &&
		a->second.grid.low == b->second.grid.low &&
		a->second.grid.high == b->second.grid.high &&
		a->bound.kind == b->bound.kind && a->bound.low == b->bound.low &&
		a->bound.high == b->bound.high && a->bound.fine == b->bound.fine &&
		a->charge.epsilon <= b->charge.epsilon &&
		a->charge.rho <= b->charge.rho && a->charge.delta <= b->charge.delta;
}

/*
 * dp_aggregates_adapt
 *	  Only `told` groups are released: no unit is in more of them, and noise
 *	  need not hide more.  A measurement whose charge would be larger, or that
 *	  would count differently, stays unchanged.
 *
 * Source: doc/theory.md T105.
 */
void
dp_aggregates_adapt(const dp_release_spec *spec, int64 told)
{
	int			i;

	if (told == 0 || told >= spec->max_keys)
		return;
	for (i = 0; i < spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i];
		dp_measure	fewer = *measure->unprepared;

		fewer.contribution.kappa = told;
		fewer.ops->prepare(&fewer);
		if (!can_stand_for(&fewer, measure))
			continue;
		fewer.charge = measure->charge;
		fewer.first_column = measure->first_column;
		fewer.unprepared = measure->unprepared;
		*measure = fewer;
	}
}

/* ----------------
 *		The values of keys that are released by threshold, as bytes and back.
 *
 * For a large key the bytes are the place among its public values: a row that
 * has none has no name.
 *
 * Equal values have the same bytes, and a released group is returned with the
 * values read back from them, so its spelling is not that of a row
 * (domains/key_value.c).
 * ----------------
 */

/* Many joined rows are kept at once, each with its name (T97). */
#define JOINED_NAME_BYTES 512

struct dp_key_names
{
	Size		most;			/* bytes of a name */
	int			n;
	int		   *keys;			/* their positions among all keys */
	dp_domain **domains;		/* of large keys; otherwise NULL */
	dp_key_encoding *types;
};

/* dp_aggregates_names_most: most bytes that values of all such keys take. */
Size
dp_aggregates_names_most(const dp_release_spec *spec)
{
	return spec->block->sources == NIL ? DP_UNITS_NAME_BYTES :
		JOINED_NAME_BYTES;
}

/*
 * dp_aggregates_names_create: create it for the keys of a release that are
 * released by threshold.
 */
dp_key_names *
dp_aggregates_names_create(const dp_release_spec *spec)
{
	dp_key_names *names = palloc0(sizeof(dp_key_names));
	int			i;

	names->most = dp_aggregates_names_most(spec);
	names->keys = palloc(sizeof(int) * Max(spec->nkeys, 1));
	names->domains = palloc(sizeof(dp_domain *) * Max(spec->nkeys, 1));
	names->types = palloc(sizeof(dp_key_encoding) * Max(spec->nkeys, 1));
	for (i = 0; i < spec->nkeys; i++)
	{
		const dp_key *key = list_nth(spec->block->keys, i);

		if (!dp_aggregates_is_by_threshold(spec, i))
			continue;
		names->keys[names->n] = i;
		names->domains[names->n] = spec->large[i] ? spec->domains[i] : NULL;
		names->types[names->n++] = spec->large[i] ?
			dp_domains_key_encoding(INT8OID, -1) :
			dp_domains_key_encoding(key->type, key->typmod);
	}
	return names;
}

/* dp_aggregates_is_by_threshold: is the key released by threshold? */
bool
dp_aggregates_is_by_threshold(const dp_release_spec *spec, int key)
{
	const dp_key *k = list_nth(spec->block->keys, key);

	return k->kind == DP_KEY_UNDECLARED || spec->large[key];
}

/* dp_aggregates_names_number: how many keys are released by threshold. */
int
dp_aggregates_names_number(const dp_key_names *names)
{
	return names->n;
}

/*
 * dp_aggregates_names_write
 *	  Write the values of all such keys as bytes, into DP_UNITS_NAME_BYTES;
 *	  returns their number, or 0 if they do not fit or one is no value of a
 *	  large key.
 */
Size
dp_aggregates_names_write(const dp_key_names *names, const Datum *values,
						  const bool *nulls, char *to)
{
	Size		used = 0;
	int			i;

	for (i = 0; i < names->n; i++)
	{
		Size		written = dp_domains_key_write(&names->types[i], values[i],
												   nulls[i], to + used,
												   names->most - used);

		if (written == 0 || (nulls[i] && names->domains[i] != NULL))
			return 0;
		used += written;
	}
	return used;
}

/*
 * dp_aggregates_names_read
 *	  Read the values back, into their positions among all keys.
 */
void
dp_aggregates_names_read(const dp_key_names *names, const char *from,
						 Datum *values, bool *nulls)
{
	int			i;

	for (i = 0; i < names->n; i++)
	{
		Datum	   *value = &values[names->keys[i]];
		bool	   *null = &nulls[names->keys[i]];

		from = dp_domains_key_read(&names->types[i], from, value, null);
		if (names->domains[i] != NULL)
			*value = dp_domains_domain_value(names->domains[i],
											 DatumGetInt64(*value), null);
	}
}
