-- Counts in tables over public values, for mechanisms that ask for many counts
-- at once: exact, used inside private queries only.

CREATE FUNCTION dp_pg.table_add(
	dp_pg.tally_state, dp_pg.tally_spec, VARIADIC "any")
RETURNS dp_pg.tally_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_tables_add';
COMMENT ON FUNCTION dp_pg.table_add(
	dp_pg.tally_state, dp_pg.tally_spec, VARIADIC "any") IS
'counts a row in its cells; only within an aggregate';
REVOKE ALL ON FUNCTION dp_pg.table_add(
	dp_pg.tally_state, dp_pg.tally_spec, VARIADIC "any") FROM PUBLIC;

CREATE AGGREGATE dp_pg.count_tables(dp_pg.tally_spec, VARIADIC "any") (
	sfunc = dp_pg.table_add, stype = dp_pg.tally_state,
	combinefunc = dp_pg.tally_combine, parallel = safe
);
COMMENT ON AGGREGATE dp_pg.count_tables(dp_pg.tally_spec, VARIADIC "any") IS
'exact number of rows in each cell of several tables over the columns; the spec determines how NULL and values without a place count; used only within private queries';
