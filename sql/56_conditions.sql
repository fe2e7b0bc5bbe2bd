-- dp_argmax over conditions that overlap.

-- ---------------------------------------------------------------------------
-- Exact counts of many conditions in one pass, used inside private queries
-- only.
-- ---------------------------------------------------------------------------

CREATE TYPE dp_pg.condition_counts;
CREATE FUNCTION dp_pg.condition_counts_in(cstring)
RETURNS dp_pg.condition_counts
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_conditions_state_in';
COMMENT ON FUNCTION dp_pg.condition_counts_in(cstring) IS
'accepts the empty text';
CREATE FUNCTION dp_pg.condition_counts_out(dp_pg.condition_counts)
RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_conditions_state_out';
COMMENT ON FUNCTION dp_pg.condition_counts_out(dp_pg.condition_counts) IS
'raises 0A000';
CREATE TYPE dp_pg.condition_counts (
	input = dp_pg.condition_counts_in, output = dp_pg.condition_counts_out,
	internallength = 512, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.condition_counts IS
'state of dp_pg.count_conditions: exact counts of 64 conditions';

CREATE FUNCTION dp_pg.condition_counts_add(
	dp_pg.condition_counts, VARIADIC "any")
RETURNS dp_pg.condition_counts
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_conditions_add';
COMMENT ON FUNCTION dp_pg.condition_counts_add(
	dp_pg.condition_counts, VARIADIC "any") IS
'counts the conditions that hold for a row; only within an aggregate';
CREATE FUNCTION dp_pg.condition_counts_combine(
	dp_pg.condition_counts, dp_pg.condition_counts)
RETURNS dp_pg.condition_counts
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_conditions_combine';
COMMENT ON FUNCTION dp_pg.condition_counts_combine(
	dp_pg.condition_counts, dp_pg.condition_counts) IS
'adds two states; only within an aggregate';
REVOKE ALL ON FUNCTION dp_pg.condition_counts_add(
	dp_pg.condition_counts, VARIADIC "any"),
	dp_pg.condition_counts_combine(
	dp_pg.condition_counts, dp_pg.condition_counts) FROM PUBLIC;

CREATE AGGREGATE dp_pg.count_conditions(VARIADIC "any") (
	sfunc = dp_pg.condition_counts_add, stype = dp_pg.condition_counts,
	initcond = '', combinefunc = dp_pg.condition_counts_combine,
	parallel = safe
);
COMMENT ON AGGREGATE dp_pg.count_conditions(VARIADIC "any") IS
'exact counts of up to 64 boolean conditions, NULL counts as false; used only within private queries';

-- ---------------------------------------------------------------------------
-- The private aggregate that dp_argmax(relation, predicates) is made of
-- ---------------------------------------------------------------------------

CREATE FUNCTION dp_pg.final_conditions(internal) RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_conditions';
COMMENT ON FUNCTION dp_pg.final_conditions(internal) IS
'raises 55000 unless the planner hook replaced dp_pg.conditions';

DO $make$
DECLARE
	signature text;
BEGIN
	FOREACH signature IN ARRAY ARRAY['boolean[]', 'boolean[], numeric',
									 'boolean[], double precision']
	LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE AGGREGATE dp_pg.conditions(%1$s) (
				sfunc = dp_pg.skip, stype = internal,
				finalfunc = dp_pg.final_conditions
			);
			COMMENT ON AGGREGATE dp_pg.conditions(%1$s) IS
			'private position (from 1) of the condition that holds for most rows, in a literal ARRAY[condition, ...]; conditions may overlap, NULL counts as false; by permute-and-flip at rate epsilon per row, or the exponential mechanism when dp_pg.mechanism is gaussian; epsilon is dp_pg.epsilon by default; never NULL; 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, section 3.3 and Theorem 3.10';
		$sql$, signature);
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- dp_argmax(relation, predicates [, epsilon])
--
-- Its name is an aggregate's too, dp_argmax(expr, candidates).  A relation
-- given as regclass would take the aggregate's calls over text columns, since
-- text casts to regclass implicitly; so the relation has a type of its own,
-- to which literals and regclass cast, and text does not.
-- ---------------------------------------------------------------------------

CREATE TYPE dp_pg.regrelation;
CREATE FUNCTION dp_pg.regrelation_in(cstring) RETURNS dp_pg.regrelation
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'regclassin';
COMMENT ON FUNCTION dp_pg.regrelation_in(cstring) IS
'reads a relation as regclass does';
CREATE FUNCTION dp_pg.regrelation_out(dp_pg.regrelation) RETURNS cstring
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'regclassout';
COMMENT ON FUNCTION dp_pg.regrelation_out(dp_pg.regrelation) IS
'writes a relation as regclass does';
CREATE TYPE dp_pg.regrelation (
	input = dp_pg.regrelation_in, output = dp_pg.regrelation_out,
	like = pg_catalog.oid, category = 'S'
);
COMMENT ON TYPE dp_pg.regrelation IS
'a relation, like regclass, for arguments that must not accept text: write a literal or something::regclass';
CREATE CAST (pg_catalog.regclass AS dp_pg.regrelation)
WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (pg_catalog.regclass AS dp_pg.regrelation) IS
'the same relation';

DO $make$
DECLARE
	third text;
BEGIN
	FOREACH third IN ARRAY ARRAY['', ', epsilon numeric',
								 ', epsilon double precision']
	LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION @extschema@.dp_argmax(
				relation dp_pg.regrelation, predicates text[]%1$s)
			RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000
			AS 'MODULE_PATHNAME', 'dp_argmax_conditions%2$s';
			COMMENT ON FUNCTION @extschema@.dp_argmax(
				relation dp_pg.regrelation, predicates text[]%1$s) IS
			'private choice of the predicate that holds for most rows of a protected relation (table, view or published view); predicates are SQL texts under the rules of WHERE, which may overlap, NULL counting as false, or weights from 0 to 1 that are summed over rows; returns the text as given, never NULL; each call is one charge of epsilon, by default dp_pg.epsilon; permute-and-flip at rate epsilon per row, or the exponential mechanism when dp_pg.mechanism is gaussian; 22004 for a NULL, 22023 for no predicates or a bad epsilon, 54000 for more than 10000, or more than dp_pg.max_predicates_per_row to evaluate for every row, 42601, 42703, 42804 or 0A000 with the number and text of an invalid predicate, 53400 when the budget is exhausted; Dwork and Roth, section 3.3 and Theorem 3.10';
		$sql$, third,
			CASE third WHEN '' THEN '' WHEN ', epsilon numeric' THEN '_numeric'
				ELSE '_float8' END);
	END LOOP;
END
$make$;

CREATE FUNCTION @extschema@.dp_predicate_cost(
	relation dp_pg.regrelation, predicates text[],
	OUT given integer, OUT per_row integer, OUT most integer)
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_release_sql_predicate_cost';
COMMENT ON FUNCTION @extschema@.dp_predicate_cost(
	dp_pg.regrelation, text[]) IS
'how dp_argmax, dp_sparse_vector and dp_net would evaluate these predicates, without charge and without reading a row: how many are given, how many of them (per_row) are evaluated one by one for every row, and how many of those are allowed (most: dp_pg.max_predicates_per_row); conjunctions of comparisons of columns with constants (=, IN, IS NULL) are counted together, not one by one; never NULL; errors as dp_argmax, but none for too many per row';
