-- The local model in the catalog: signatures, who may call, how it is planned.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE form (name text, arguments text, result text);
INSERT INTO form VALUES
	('dp_randomized_response', 'boolean', 'boolean'),
	('dp_randomized_response', 'boolean,numeric', 'boolean'),
	('dp_randomized_response', 'boolean,double precision', 'boolean'),
	('dp_randomized_response', 'anycompatible,anycompatiblearray,numeric', 'anycompatible'),
	('dp_randomized_response', 'anycompatible,anycompatiblearray,double precision', 'anycompatible'),
	('dp_randomized_response_estimate', 'boolean', 'dp_pg.response_estimate'),
	('dp_randomized_response_estimate', 'boolean,numeric', 'dp_pg.response_estimate'),
	('dp_randomized_response_estimate', 'boolean,double precision', 'dp_pg.response_estimate'),
	('dp_randomized_response_estimate', 'anycompatible,anycompatiblearray,numeric', 'dp_pg.candidate_estimate[]'),
	('dp_randomized_response_estimate', 'anycompatible,anycompatiblearray,double precision', 'dp_pg.candidate_estimate[]');
CREATE TEMP VIEW made AS
	SELECT p.*, p.oid AS id FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace AND e.extname = 'dp_pg'
	WHERE proname LIKE 'dp_randomized_response%' AND proname <> 'dp_randomized_response_error';

SELECT is(
	(SELECT pg_get_function_result(id) FROM made WHERE proname = name
		AND (SELECT string_agg(t::regtype::text, ',' ORDER BY o) FROM unnest(proargtypes::oid[]) WITH ORDINALITY u(t, o)) = arguments),
	result, format('%s(%s)', name, arguments))
FROM form;
SELECT is((SELECT count(*)::int FROM made), (SELECT count(*)::int FROM form), 'no other form');

-- a draw for every row, in every process
SELECT is_empty($$ SELECT id::regprocedure FROM made WHERE prokind = 'f' AND provolatile <> 'v' $$, 'draws are volatile');
SELECT is_empty($$ SELECT id::regprocedure FROM made WHERE proparallel <> 's' $$, 'all are parallel safe');
SELECT is_empty($$ SELECT id::regprocedure FROM made WHERE proisstrict $$, 'NULL is told, not passed through');
SELECT is_empty($$ SELECT id::regprocedure FROM made WHERE proleakproof OR prosecdef $$, 'none is leakproof or runs as its owner');
SELECT is_empty($$ SELECT id::regprocedure FROM made LEFT JOIN pg_aggregate a ON a.aggfnoid = id
	WHERE prokind = 'a' AND (aggcombinefn = 0 OR aggserialfn = 0 OR aggdeserialfn = 0) $$, 'estimates can be combined');

-- everybody may call them; everybody is told what they are for
SELECT is_empty($$ SELECT id::regprocedure FROM made WHERE NOT has_function_privilege('public', id, 'EXECUTE') $$, 'granted to PUBLIC');
SELECT is((SELECT count(*)::int FROM made WHERE prokind = 'f' AND obj_description(id) LIKE 'LOCAL MODEL, CHARGES NOTHING: %BEFORE it is stored%'), 3, 'the comments say it loudly');

SELECT is((SELECT string_agg(attname || ' ' || format_type(atttypid, -1), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = to_regclass('dp_pg.response_estimate')),
	'n bigint, count double precision, count_error double precision, fraction double precision, fraction_error double precision', 'columns of an estimate');
SELECT is((SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = to_regclass('dp_pg.candidate_estimate')),
	'candidate, n, count, count_error, fraction, fraction_error', 'columns of an estimate of a candidate');

SELECT * FROM finish();
ROLLBACK;
