/*
 * tally.c
 *	  Constants of inner queries that tell how rows are looked up or counted;
 *	  only a release makes them.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"

#include "dp_places.h"

PG_FUNCTION_INFO_V1(dp_tally_spec_in);
PG_FUNCTION_INFO_V1(dp_tally_spec_out);

/* dp_tally_spec_in: raises 0A000; only a release makes specs. */
Datum
dp_tally_spec_in(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_input("dp_pg.tally_spec");
}

/* dp_tally_spec_out: a placeholder, in case a plan is printed. */
Datum
dp_tally_spec_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(pstrdup("(cells)"));
}

/* dp_places_tally_spec_const: a flat spec as a constant of the inner query. */
Const *
dp_places_tally_spec_const(void *spec, Size size)
{
	SET_VARSIZE(spec, size);
	return makeConst(dp_catalog_type("tally_spec"), -1, InvalidOid, -1,
					 PointerGetDatum(spec), false, false);
}
