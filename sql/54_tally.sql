-- Counts by bucket and by candidate: dp_histogram, dp_argmax, dp_topk, and the
-- exact aggregates behind them.

-- ---------------------------------------------------------------------------
-- Exact counts of public cells, used inside private queries only.
-- ---------------------------------------------------------------------------

CREATE TYPE dp_pg.tally_state;
CREATE FUNCTION dp_pg.tally_state_in(cstring) RETURNS dp_pg.tally_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_tally_state_in';
CREATE FUNCTION dp_pg.tally_state_out(dp_pg.tally_state) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_tally_state_out';
CREATE TYPE dp_pg.tally_state (
	input = dp_pg.tally_state_in, output = dp_pg.tally_state_out,
	internallength = variable, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.tally_state IS
'exact counts of public cells, the state of dp_pg.count_tables and similar aggregates';

CREATE TYPE dp_pg.tally_spec;
CREATE FUNCTION dp_pg.tally_spec_in(cstring) RETURNS dp_pg.tally_spec
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_tally_spec_in';
CREATE FUNCTION dp_pg.tally_spec_out(dp_pg.tally_spec) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_tally_spec_out';
CREATE TYPE dp_pg.tally_spec (
	input = dp_pg.tally_spec_in, output = dp_pg.tally_spec_out,
	internallength = variable, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.tally_spec IS
'buckets or candidates to look values up in, and tables to count them in; created only by the extension';

COMMENT ON FUNCTION dp_pg.tally_state_in(cstring) IS 'raises 0A000';
COMMENT ON FUNCTION dp_pg.tally_state_out(dp_pg.tally_state) IS 'raises 0A000';
COMMENT ON FUNCTION dp_pg.tally_spec_in(cstring) IS 'raises 0A000';
COMMENT ON FUNCTION dp_pg.tally_spec_out(dp_pg.tally_spec) IS 'a fixed text';

CREATE FUNCTION dp_pg.tally_combine(dp_pg.tally_state, dp_pg.tally_state)
RETURNS dp_pg.tally_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_tally_combine';
COMMENT ON FUNCTION dp_pg.tally_combine(dp_pg.tally_state, dp_pg.tally_state) IS
'adds two states; only within an aggregate';

-- ---------------------------------------------------------------------------
-- The public group of a row; distinct values of a group
-- ---------------------------------------------------------------------------

CREATE FUNCTION dp_pg.group_place(integer, anyelement, dp_pg.tally_spec)
RETURNS integer
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_group_place';
COMMENT ON FUNCTION dp_pg.group_place(integer, anyelement, dp_pg.tally_spec) IS
'place of a row among the public groups, from its place by the preceding keys, the key and its public values; NULL: in no public group; used only within private queries, 0A000 elsewhere';

CREATE FUNCTION dp_pg.key_place(anyelement, dp_pg.tally_spec)
RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_key_place';
COMMENT ON FUNCTION dp_pg.key_place(anyelement, dp_pg.tally_spec) IS
'place of a key among its public values, which are so many that a threshold selects those to release; NULL: not one of them; used only within private queries, 0A000 elsewhere';

DO $make$
DECLARE
	t text;
	symbol text;
	types CONSTANT text[] := ARRAY['smallint', 'integer', 'bigint', 'real',
		'double precision', 'numeric', 'date', 'timestamp', 'timestamptz'];
	symbols CONSTANT text[] := ARRAY['int2', 'int4', 'int8', 'float4',
		'float8', 'numeric', 'date', 'timestamp', 'timestamp'];
BEGIN
	FOR i IN 1 .. pg_catalog.array_length(types, 1) LOOP
		t := types[i];
		symbol := symbols[i];
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION dp_pg.granules(%1$s, dp_pg.sum_spec)
			RETURNS bigint
			LANGUAGE c IMMUTABLE PARALLEL SAFE
			AS 'MODULE_PATHNAME', 'dp_granules_%2$s';
			COMMENT ON FUNCTION dp_pg.granules(%1$s, dp_pg.sum_spec) IS
			'a value clamped and rounded to a grid, in granules; NULL for NULL and NaN; used only within private queries, 0A000 elsewhere';
		$sql$, t, symbol);
	END LOOP;
END
$make$;

CREATE FUNCTION dp_pg.group_sum_add(
	dp_pg.tally_state, dp_pg.tally_spec, VARIADIC "any")
RETURNS dp_pg.tally_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_group_sum_add';
COMMENT ON FUNCTION dp_pg.group_sum_add(
	dp_pg.tally_state, dp_pg.tally_spec, VARIADIC "any") IS
'adds the values of a row in its public group; only within an aggregate';

CREATE FUNCTION dp_pg.group_sum_combine(dp_pg.tally_state, dp_pg.tally_state)
RETURNS dp_pg.tally_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_group_sum_combine';
COMMENT ON FUNCTION dp_pg.group_sum_combine(dp_pg.tally_state, dp_pg.tally_state) IS
'adds two states; only within an aggregate';

CREATE AGGREGATE dp_pg.group_sums(dp_pg.tally_spec, VARIADIC "any") (
	sfunc = dp_pg.group_sum_add, stype = dp_pg.tally_state,
	combinefunc = dp_pg.group_sum_combine, parallel = safe
);
COMMENT ON AGGREGATE dp_pg.group_sums(dp_pg.tally_spec, VARIADIC "any") IS
'exact counts, and sums of values clamped to a grid, in every public group; which argument is a key or is counted or added, the spec says; NULL, NaN and rows in no public group are skipped; used only within private queries';

CREATE FUNCTION dp_pg.distinct_add(internal, anyelement, dp_pg.tally_spec)
RETURNS internal
LANGUAGE c VOLATILE
AS 'MODULE_PATHNAME', 'dp_distinct_add';
COMMENT ON FUNCTION dp_pg.distinct_add(internal, anyelement, dp_pg.tally_spec) IS
'adds a value to a set; only within an aggregate';

CREATE FUNCTION dp_pg.distinct_final(internal)
RETURNS bigint
LANGUAGE c VOLATILE
AS 'MODULE_PATHNAME', 'dp_distinct_final';
COMMENT ON FUNCTION dp_pg.distinct_final(internal) IS
'number of values of a set; only within an aggregate';

CREATE AGGREGATE dp_pg.distinct_count(anyelement, dp_pg.tally_spec) (
	sfunc = dp_pg.distinct_add, stype = internal,
	finalfunc = dp_pg.distinct_final, finalfunc_modify = read_write
);
COMMENT ON AGGREGATE dp_pg.distinct_count(anyelement, dp_pg.tally_spec) IS
'exact number of distinct non-NULL values, by digests of 128 bits under secret seeds; used only within private queries';

-- ---------------------------------------------------------------------------
-- dp_histogram(expr [, lower, upper], buckets [, epsilon])
-- ---------------------------------------------------------------------------

CREATE FUNCTION dp_pg.final_histogram(internal) RETURNS bigint[]
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_histogram';
COMMENT ON FUNCTION dp_pg.final_histogram(internal) IS
'raises 55000 unless the planner hook replaced dp_histogram';

DO $make$
DECLARE
	argument text;
	form text;
	signature text;
BEGIN
	-- an argument of any number type is read without its cast to double precision
	FOREACH argument IN ARRAY ARRAY['double precision', 'date', 'timestamp',
									'timestamptz'] LOOP
		-- no bounds: the declared ones
		FOREACH form IN ARRAY ARRAY['%1$s, integer', '%1$s, integer, %2$s',
			'%1$s, %1$s, %1$s, integer', '%1$s, %1$s, %1$s, integer, %2$s'] LOOP
			signature := pg_catalog.format(form, argument, 'double precision');
			EXECUTE pg_catalog.format($sql$
				CREATE AGGREGATE @extschema@.dp_histogram(%1$s) (
					sfunc = dp_pg.skip, stype = internal,
					finalfunc = dp_pg.final_histogram
				);
				COMMENT ON AGGREGATE @extschema@.dp_histogram(%1$s) IS
				'private histogram of expr: the number of rows in each of `buckets` intervals of equal width between lower and upper; half-open, the last one closed; NULL, NaN and values outside are not counted; discrete Laplace noise of scale 1 / epsilon on every bucket, including empty ones; bounds default to the declared ones, epsilon is dp_pg.epsilon by default; bigint[] of `buckets` counts, which may be negative, never NULL; 1 to 10000 buckets and finite lower < upper, otherwise 22023; 53400 when the budget is exhausted; Dwork and Roth, Theorem 3.6 and Example 3.2';
			$sql$, signature);
		END LOOP;
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- dp_argmax(expr [, candidates [, epsilon]])
-- dp_topk(expr, k [, candidates [, epsilon]])
--
-- A final function must be given the arguments for its type to follow from
-- theirs.
-- ---------------------------------------------------------------------------

DO $make$
DECLARE
	name text;
	form text;
	parameters text;
	result text;
	comment text;
BEGIN
	FOREACH name IN ARRAY ARRAY['argmax', 'topk'] LOOP
		result := CASE name WHEN 'argmax' THEN 'anycompatible'
				  ELSE 'anycompatiblearray' END;
		comment := CASE name
			WHEN 'argmax' THEN
				'private choice of the value that most rows hold, among public candidates: those given as an array, or (no array, or NULL) the declared keys, labels of an enum, both booleans, the range of declared bounds; rows with NULL or another value count for none; permute-and-flip, with dp_pg.mechanism = gaussian the exponential mechanism; epsilon is dp_pg.epsilon by default; result as expr, never NULL; 22023 for candidates that are missing, empty, NULL or not distinct and for a bad epsilon, 0A000 for a type without built-in equality, 54000 for more candidates than dp_pg.max_groups, 53400 when the budget is exhausted; Dwork and Roth, Theorem 3.10'
			ELSE
				'private choice of the k values that most rows hold, among public candidates as in dp_argmax, in the order of k choices, each for epsilon / k and without those chosen before; 1 <= k <= number of candidates, else 22023; result an array of k values of the type of expr, never NULL; other errors as dp_argmax; Dwork and Roth, Theorems 3.10 and 3.14' END;
		FOREACH parameters IN ARRAY ARRAY['', ', anycompatiblearray',
			', anycompatiblearray, double precision'] LOOP
			form := CASE name WHEN 'argmax' THEN 'anycompatible'
				ELSE 'anycompatible, integer' END
				OPERATOR(pg_catalog.||) parameters;
			EXECUTE pg_catalog.format($sql$
				CREATE FUNCTION dp_pg.final_%1$s(internal, %2$s) RETURNS %3$s
				LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_%1$s';
				COMMENT ON FUNCTION dp_pg.final_%1$s(internal, %2$s) IS
				'raises 55000 unless the planner hook replaced dp_%1$s';
				CREATE AGGREGATE @extschema@.dp_%1$s(%2$s) (
					sfunc = dp_pg.skip, stype = internal,
					finalfunc = dp_pg.final_%1$s, finalfunc_extra
				);
				COMMENT ON AGGREGATE @extschema@.dp_%1$s(%2$s) IS %4$L;
			$sql$, name, form, result, comment);
		END LOOP;
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- dp_histogram_rows(counts, lower, upper): a histogram for the eye.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dp_pg.histogram_bar(count bigint, largest bigint)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN count > 0 THEN pg_catalog.repeat('#',
	pg_catalog.ceil(40 * count::numeric / largest)::integer) ELSE '' END;
COMMENT ON FUNCTION dp_pg.histogram_bar(bigint, bigint) IS
'a bar of at most 40 characters, its length proportional to count, 40 for the largest; empty for a count that is not positive, NULL for NULL';

CREATE FUNCTION @extschema@.dp_histogram_rows(
	counts bigint[], lower numeric, upper numeric)
RETURNS TABLE (bucket integer, low numeric, high numeric, count bigint, bar text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.i::integer,
		pg_catalog.trim_scale(lower + (upper - lower) * (c.i - 1) / pg_catalog.cardinality(counts)),
		pg_catalog.trim_scale(lower + (upper - lower) * c.i / pg_catalog.cardinality(counts)),
		c.n,
		coalesce(dp_pg.histogram_bar(c.n, pg_catalog.max(c.n) OVER ()), '')
	FROM ROWS FROM (pg_catalog.unnest(counts)) WITH ORDINALITY AS c(n, i)
	ORDER BY c.i;
END;
COMMENT ON FUNCTION @extschema@.dp_histogram_rows(bigint[], numeric, numeric) IS
'the array that dp_histogram returns, as rows: bucket from 1, its ends low and high, its count, and a bar of text whose length is proportional to the count; a bucket includes low, and high only if it is the last; a negative or NULL count has an empty bar; no rows when an argument is NULL or the array is empty; computed from released values, costs nothing';

CREATE FUNCTION @extschema@.dp_histogram_rows(
	counts bigint[], lower double precision, upper double precision)
RETURNS TABLE (bucket integer, low double precision, high double precision, count bigint, bar text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.i::integer,
		lower + (upper - lower) * (c.i - 1) / pg_catalog.cardinality(counts),
		lower + (upper - lower) * c.i / pg_catalog.cardinality(counts),
		c.n,
		coalesce(dp_pg.histogram_bar(c.n, pg_catalog.max(c.n) OVER ()), '')
	FROM ROWS FROM (pg_catalog.unnest(counts)) WITH ORDINALITY AS c(n, i)
	ORDER BY c.i;
END;
COMMENT ON FUNCTION @extschema@.dp_histogram_rows(bigint[], double precision, double precision) IS
'as dp_histogram_rows(bigint[], numeric, numeric), with ends in double precision';

CREATE FUNCTION @extschema@.dp_histogram_rows(
	counts bigint[], lower date, upper date)
RETURNS TABLE (bucket integer, low date, high date, count bigint, bar text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.i::integer,
		lower + pg_catalog.ceil((upper - lower)::numeric * (c.i - 1) / pg_catalog.cardinality(counts))::integer,
		lower + pg_catalog.ceil((upper - lower)::numeric * c.i / pg_catalog.cardinality(counts))::integer,
		c.n,
		coalesce(dp_pg.histogram_bar(c.n, pg_catalog.max(c.n) OVER ()), '')
	FROM ROWS FROM (pg_catalog.unnest(counts)) WITH ORDINALITY AS c(n, i)
	ORDER BY c.i;
END;
COMMENT ON FUNCTION @extschema@.dp_histogram_rows(bigint[], date, date) IS
'as dp_histogram_rows(bigint[], numeric, numeric), with dates: low is the first day of the bucket, high the first day of the next one, in the last bucket its last day; 22008 for infinite dates';

CREATE FUNCTION dp_pg.histogram_end(
	lower timestamp, width numeric, i bigint, n integer)
RETURNS timestamp
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN lower + pg_catalog.make_interval(
	hours => pg_catalog.div(pg_catalog.ceil(width * i / n), 3600000000)::integer,
	secs => pg_catalog.mod(pg_catalog.ceil(width * i / n), 3600000000)::double precision / 1000000);
COMMENT ON FUNCTION dp_pg.histogram_end(timestamp, numeric, bigint, integer) IS
'the lower end of bucket i (from 0) of n that are `width` microseconds wide together';

CREATE FUNCTION @extschema@.dp_histogram_rows(
	counts bigint[], lower timestamp, upper timestamp)
RETURNS TABLE (bucket integer, low timestamp, high timestamp, count bigint, bar text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.i::integer,
		dp_pg.histogram_end(lower, ((pg_catalog.extract('epoch', upper) - pg_catalog.extract('epoch', lower)) * 1000000),
			c.i - 1, pg_catalog.cardinality(counts)),
		dp_pg.histogram_end(lower, ((pg_catalog.extract('epoch', upper) - pg_catalog.extract('epoch', lower)) * 1000000),
			c.i, pg_catalog.cardinality(counts)),
		c.n,
		coalesce(dp_pg.histogram_bar(c.n, pg_catalog.max(c.n) OVER ()), '')
	FROM ROWS FROM (pg_catalog.unnest(counts)) WITH ORDINALITY AS c(n, i)
	ORDER BY c.i;
END;
COMMENT ON FUNCTION @extschema@.dp_histogram_rows(bigint[], timestamp, timestamp) IS
'as dp_histogram_rows(bigint[], numeric, numeric), with timestamp ends rounded up to microseconds';

CREATE FUNCTION dp_pg.histogram_end(
	lower timestamptz, width numeric, i bigint, n integer)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN lower + pg_catalog.make_interval(
	hours => pg_catalog.div(pg_catalog.ceil(width * i / n), 3600000000)::integer,
	secs => pg_catalog.mod(pg_catalog.ceil(width * i / n), 3600000000)::double precision / 1000000);
COMMENT ON FUNCTION dp_pg.histogram_end(timestamptz, numeric, bigint, integer) IS
'the lower end of bucket i (from 0) of n that are `width` microseconds wide together';

CREATE FUNCTION @extschema@.dp_histogram_rows(
	counts bigint[], lower timestamptz, upper timestamptz)
RETURNS TABLE (bucket integer, low timestamptz, high timestamptz, count bigint, bar text)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.i::integer,
		dp_pg.histogram_end(lower, ((pg_catalog.extract('epoch', upper) - pg_catalog.extract('epoch', lower)) * 1000000),
			c.i - 1, pg_catalog.cardinality(counts)),
		dp_pg.histogram_end(lower, ((pg_catalog.extract('epoch', upper) - pg_catalog.extract('epoch', lower)) * 1000000),
			c.i, pg_catalog.cardinality(counts)),
		c.n,
		coalesce(dp_pg.histogram_bar(c.n, pg_catalog.max(c.n) OVER ()), '')
	FROM ROWS FROM (pg_catalog.unnest(counts)) WITH ORDINALITY AS c(n, i)
	ORDER BY c.i;
END;
COMMENT ON FUNCTION @extschema@.dp_histogram_rows(bigint[], timestamptz, timestamptz) IS
'as dp_histogram_rows(bigint[], numeric, numeric), with timestamptz ends rounded up to microseconds';

