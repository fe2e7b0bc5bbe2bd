-- The release node's marker, and what a session released last.

CREATE FUNCTION dp_pg.release(bigint, integer) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'dp_release_called';
COMMENT ON FUNCTION dp_pg.release(bigint, integer) IS
'represents a private query in a plan; calling it raises 42501';

CREATE FUNCTION dp_pg.owns_statistics(statistics oid) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_release_owns_statistics';
COMMENT ON FUNCTION dp_pg.owns_statistics(oid) IS
'whether the current user has the privileges of the owner of the table of extended statistics; false if there are no such statistics; pg_stats_ext and pg_stats_ext_exprs call it before any other condition';

CREATE FUNCTION @extschema@.dp_last_release(
	OUT ledger_id bigint, OUT at timestamptz, OUT dataset text,
	OUT value text, OUT mechanism text, OUT epsilon numeric,
	OUT delta numeric, OUT rho numeric, OUT sensitivity text,
	OUT scale text, OUT error_95 text, OUT relations regclass[],
	OUT max_total bigint, OUT max_keys bigint, OUT max_rows bigint,
	OUT left_out double precision)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_last_release';
COMMENT ON FUNCTION @extschema@.dp_last_release() IS
'what the last statement of this connection with private values released (at most the last 100 releases), one row per value: mechanism, price, sensitivity, noise scale and 95% error in units of the column, the relations that were read, with their published views, and where a unit may have many rows, how many of them counted at most, in how many groups, how many in each, and about how many rows of the relation that leaves out, before WHERE, by its profile, without those of the few units that it does not see (left_out; NULL: it has none, or rows are joined); error_95 is the error of the noise, not of what these bounds left out; no rows before the first one; tables released by dp_smalldb, dp_net and dp_synthesize are in dp_pg.releases instead';

CREATE FUNCTION @extschema@.dp_error("any") RETURNS double precision
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_error_called';
COMMENT ON FUNCTION @extschema@.dp_error("any") IS
'the 95% error of a private value in the same query, free: dp_error(dp_count(*)), or of a subquery''s column that is a private aggregate; in the unit of the value, for a histogram that of each count, for dp_count(DISTINCT x) measured as presence of V public values V minus the answer; it is the error of the noise, and says nothing of what bounds leave out, whether of values or of the rows of a unit, nor of rounding; NULL where the value is NULL, and for values that are selected or a ratio of noisy spreads (quantiles, min, max, argmax, topk, corr, regr_r2, regr_slope, regr_intercept); 0A000 if its argument is not a private value of the statement';
