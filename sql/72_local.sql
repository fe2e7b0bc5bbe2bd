-- The local model: randomized response, and what its answers say.

-- ---------------------------------------------------------------------------
-- dp_randomized_response: called by the client that has the value, before
-- storing it
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_randomized_response(value boolean)
RETURNS boolean
LANGUAGE c VOLATILE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'dp_randomized_response_coins';
CREATE FUNCTION @extschema@.dp_randomized_response(value boolean,
	epsilon numeric)
RETURNS boolean
LANGUAGE c VOLATILE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'dp_randomized_response_numeric';
CREATE FUNCTION @extschema@.dp_randomized_response(value boolean,
	epsilon double precision)
RETURNS boolean
LANGUAGE c VOLATILE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'dp_randomized_response_float';
CREATE FUNCTION @extschema@.dp_randomized_response(value anycompatible,
	candidates anycompatiblearray, epsilon numeric)
RETURNS anycompatible
LANGUAGE c VOLATILE PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'dp_randomized_response_among_numeric';
CREATE FUNCTION @extschema@.dp_randomized_response(value anycompatible,
	candidates anycompatiblearray, epsilon double precision)
RETURNS anycompatible
LANGUAGE c VOLATILE PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'dp_randomized_response_among_float';

COMMENT ON FUNCTION @extschema@.dp_randomized_response(boolean) IS
'LOCAL MODEL, CHARGES NOTHING: to be called by the owner of the value BEFORE it is stored, once per value; store the answer and never the value. The two coins of Dwork and Roth, section 3.2: the truth with probability exactly 3/4, so epsilon is ln 3. Each further answer about the same value adds its epsilon. NULL raises 22023, because a NULL answer would show that the value is missing; refused in private queries; not for columns of protected tables; source: doc/theory.md T14';
COMMENT ON FUNCTION @extschema@.dp_randomized_response(boolean, numeric) IS
'LOCAL MODEL, CHARGES NOTHING: to be called by the owner of the value BEFORE it is stored, once per value; store the answer and never the value. The truth with probability exactly 1/(1 + exp(-epsilon)), otherwise its opposite. A NULL value raises 22023, as does an epsilon that is not a positive number up to dp_pg.epsilon_ceiling; source: doc/theory.md T14';
COMMENT ON FUNCTION @extschema@.dp_randomized_response(boolean, double precision) IS
'dp_randomized_response for drivers that bind double precision; epsilon is read by its shortest decimal text';
COMMENT ON FUNCTION @extschema@.dp_randomized_response(anycompatible, anycompatiblearray, numeric) IS
'LOCAL MODEL, CHARGES NOTHING: to be called by the owner of the value BEFORE it is stored, once per value; store the answer and never the value. One of the public candidates, as spelled there: the truth with probability exp(epsilon)/(exp(epsilon) + k - 1), each of the k - 1 others with 1/(exp(epsilon) + k - 1), exactly. Candidates: one-dimensional, at least two, no NULL, no two equal by the default equality of their type, chosen without looking at values; 22023 otherwise, and for a value that is NULL or not a candidate (the message does not show it); 42883 for a type without equality; source: doc/theory.md T14';
COMMENT ON FUNCTION @extschema@.dp_randomized_response(anycompatible, anycompatiblearray, double precision) IS
'dp_randomized_response for drivers that bind double precision; epsilon is read by its shortest decimal text';

-- ---------------------------------------------------------------------------
-- dp_randomized_response_estimate: ordinary aggregates over answers
-- ---------------------------------------------------------------------------

CREATE TYPE dp_pg.response_estimate AS (
	n bigint,
	count double precision,
	count_error double precision,
	fraction double precision,
	fraction_error double precision
);
COMMENT ON TYPE dp_pg.response_estimate IS
'estimates from n randomized answers: how many of the n values are true, and which fraction, each with its standard error; estimates are unbiased and may lie below 0 or above n';

CREATE TYPE dp_pg.candidate_estimate AS (
	candidate text,
	n bigint,
	count double precision,
	count_error double precision,
	fraction double precision,
	fraction_error double precision
);
COMMENT ON TYPE dp_pg.candidate_estimate IS
'estimates from n randomized answers: how many of the n values are this candidate (as text), and which fraction, each with its standard error; estimates are unbiased, may lie below 0 or above n, and add up to n';

CREATE FUNCTION dp_pg.response_add(internal, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_add_coins';
CREATE FUNCTION dp_pg.response_add(internal, boolean, numeric)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_add_numeric';
CREATE FUNCTION dp_pg.response_add(internal, boolean, double precision)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_add_float';
CREATE FUNCTION dp_pg.response_add(internal, anycompatible,
	anycompatiblearray, numeric)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_add_among_numeric';
CREATE FUNCTION dp_pg.response_add(internal, anycompatible,
	anycompatiblearray, double precision)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_add_among_float';
CREATE FUNCTION dp_pg.response_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_combine';
CREATE FUNCTION dp_pg.response_serialize(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_serialize';
CREATE FUNCTION dp_pg.response_deserialize(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_deserialize';
CREATE FUNCTION dp_pg.response_final(internal)
RETURNS dp_pg.response_estimate
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_final';
CREATE FUNCTION dp_pg.response_final_among(internal)
RETURNS dp_pg.candidate_estimate[]
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_response_final_among';

COMMENT ON FUNCTION dp_pg.response_add(internal, boolean) IS
'counts an answer of two coins; only within dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_add(internal, boolean, numeric) IS
'counts a boolean answer; only within dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_add(internal, boolean, double precision) IS
'counts a boolean answer; only within dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_add(internal, anycompatible, anycompatiblearray, numeric) IS
'counts an answer among candidates; only within dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_add(internal, anycompatible, anycompatiblearray, double precision) IS
'counts an answer among candidates; only within dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_combine(internal, internal) IS
'adds two states of dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_serialize(internal) IS
'serializes a state of dp_randomized_response_estimate for another process';
COMMENT ON FUNCTION dp_pg.response_deserialize(bytea, internal) IS
'deserializes a state of dp_randomized_response_estimate from another process';
COMMENT ON FUNCTION dp_pg.response_final(internal) IS
'the estimate from a state of dp_randomized_response_estimate';
COMMENT ON FUNCTION dp_pg.response_final_among(internal) IS
'the estimates from a state of dp_randomized_response_estimate';

CREATE AGGREGATE @extschema@.dp_randomized_response_estimate(answer boolean) (
	sfunc = dp_pg.response_add, stype = internal,
	combinefunc = dp_pg.response_combine,
	serialfunc = dp_pg.response_serialize,
	deserialfunc = dp_pg.response_deserialize,
	finalfunc = dp_pg.response_final, parallel = safe
);
CREATE AGGREGATE @extschema@.dp_randomized_response_estimate(answer boolean,
	epsilon numeric) (
	sfunc = dp_pg.response_add, stype = internal,
	combinefunc = dp_pg.response_combine,
	serialfunc = dp_pg.response_serialize,
	deserialfunc = dp_pg.response_deserialize,
	finalfunc = dp_pg.response_final, parallel = safe
);
CREATE AGGREGATE @extschema@.dp_randomized_response_estimate(answer boolean,
	epsilon double precision) (
	sfunc = dp_pg.response_add, stype = internal,
	combinefunc = dp_pg.response_combine,
	serialfunc = dp_pg.response_serialize,
	deserialfunc = dp_pg.response_deserialize,
	finalfunc = dp_pg.response_final, parallel = safe
);
CREATE AGGREGATE @extschema@.dp_randomized_response_estimate(
	answer anycompatible, candidates anycompatiblearray, epsilon numeric) (
	sfunc = dp_pg.response_add, stype = internal,
	combinefunc = dp_pg.response_combine,
	serialfunc = dp_pg.response_serialize,
	deserialfunc = dp_pg.response_deserialize,
	finalfunc = dp_pg.response_final_among, parallel = safe
);
CREATE AGGREGATE @extschema@.dp_randomized_response_estimate(
	answer anycompatible, candidates anycompatiblearray,
	epsilon double precision) (
	sfunc = dp_pg.response_add, stype = internal,
	combinefunc = dp_pg.response_combine,
	serialfunc = dp_pg.response_serialize,
	deserialfunc = dp_pg.response_deserialize,
	finalfunc = dp_pg.response_final_among, parallel = safe
);

COMMENT ON AGGREGATE @extschema@.dp_randomized_response_estimate(boolean) IS
'estimates from answers of dp_randomized_response(boolean) how many of the values were true: a dp_pg.response_estimate, read its columns with (dp_randomized_response_estimate(answer)).*; standard error sqrt(3 n / 4) for the count, of the answers only, not of sampling people; NULL answers are skipped, no answers give NULL; answers are public, nothing is charged; only the forms with epsilon can raise 22023; the estimator (count - n q)/(p - q) of doc/local.md';
COMMENT ON AGGREGATE @extschema@.dp_randomized_response_estimate(boolean, numeric) IS
'the same for answers of dp_randomized_response(boolean, epsilon): pass the epsilon that they were drawn with, the same for all (22023 otherwise, and if it is not a positive number); variance of the count n exp(epsilon)/(exp(epsilon) - 1)^2';
COMMENT ON AGGREGATE @extschema@.dp_randomized_response_estimate(boolean, double precision) IS
'dp_randomized_response_estimate for drivers that bind double precision; epsilon is read by its shortest decimal text; 22023 as there';
COMMENT ON AGGREGATE @extschema@.dp_randomized_response_estimate(anycompatible, anycompatiblearray, numeric) IS
'estimates from answers of dp_randomized_response(value, candidates, epsilon) how many of the values were each candidate: an array of dp_pg.candidate_estimate in the order of the candidates; SELECT * FROM unnest(...) expands it into rows; pass the candidates and epsilon that they were drawn with, the same for all (22023 otherwise, and for an answer that is not a candidate); NULL answers are skipped, no answers give NULL; nothing is charged';
COMMENT ON AGGREGATE @extschema@.dp_randomized_response_estimate(anycompatible, anycompatiblearray, double precision) IS
'dp_randomized_response_estimate for drivers that bind double precision; epsilon is read by its shortest decimal text; 22023 as there';
