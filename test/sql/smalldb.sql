-- dp_smalldb, dp_net, dp_pg.releases.  At epsilon 100000 the best candidate is
-- chosen except with probability below 10^7 exp(-100000 / 24).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test smalldb
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
GRANT EXECUTE ON FUNCTION dp_net_values(numeric[], numeric, regclass, name, numeric, name) TO :owner;

-- 12 rows: six with ward A, of which three smoke; six with B, nobody smokes
SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, smoker boolean NOT NULL,
	ward text NOT NULL, age int NOT NULL, note text, floor int);
INSERT INTO patient SELECT i, i <= 3,
	CASE WHEN i <= 6 THEN 'A' ELSE 'B' END, i * 5 FROM generate_series(1, 12) i;
SELECT dp_protect('patient', dataset => :'schema');
SELECT dp_declare('patient', 'ward', keys => ARRAY['A','B']);
SELECT dp_declare('patient', 'age', lower => 0, upper => 100);
SELECT dp_declare('patient', 'floor', lower => 0, upper => 10000);
CREATE VIEW old AS SELECT smoker, ward FROM patient WHERE age > 20;
GRANT SELECT ON old TO :analyst;
RESET ROLE;

-- the best table of 4 rows is exactly a third of the 12
SET ROLE :analyst;
SELECT spent() \g /dev/null
SET client_min_messages = notice;
\set VERBOSITY default
SELECT * FROM dp_smalldb('patient', columns => ARRAY['smoker', 'ward'],
	queries => ARRAY['smoker', 'ward = ''A''', 'smoker AND ward = ''A'''],
	alpha => 0.55, epsilon => 100000, n => 12) AS t(smoker boolean, ward text);
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT * FROM spent();
-- the same with all cells of a table, whole rows, a weight, a view, drivers
SELECT * FROM dp_smalldb('patient', columns => ARRAY['ward', 'smoker'],
	marginals => 2, alpha => 0.59, epsilon => 100000, n => 12)
	AS t(ward text, smoker boolean, weight double precision);
SELECT * FROM dp_smalldb(NULL::patient, ARRAY['ward', 'smoker'], 2, 100000, 12, alpha => 0.59::float8);
SELECT count(*), count(*) FILTER (WHERE ward = 'A') FROM dp_smalldb('old', ARRAY['smoker', 'ward'], 2,
	100000, 8, alpha => 0.42) AS t(smoker boolean, ward text);
-- no price of its own; a noisy count costs no more
SELECT count(*) FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, alpha => 0.59)
	AS t(smoker boolean, ward text);
SELECT * FROM spent();
-- without alpha, when n is public, the size with the least promised error
SET dp_pg.epsilon = '1';
SELECT count(*) FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, n => 100) AS t(smoker boolean, ward text);
SELECT size, (parameters ->> 'alpha')::float8 = alpha AS told FROM dp_pg.releases, dp_smalldb_error(4, 4, 1, 100)
ORDER BY id DESC LIMIT 1;
SET dp_pg.epsilon = '100000';
SELECT count(*) FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 1::float8, alpha => 0.59)
	AS t(smoker boolean, ward text);
SELECT (dp_smalldb(NULL::patient, ARRAY['ward', 'smoker'], 2, 100000, 12, alpha => 1)).age;
SELECT * FROM spent();
-- a regclass, in a procedure too; its view's protected relation is recorded
DO $$
DECLARE
	rel regclass := 'old';
	n bigint;
BEGIN
	SELECT count(*) INTO n FROM dp_smalldb(rel, ARRAY['smoker', 'ward'], 2, 1, 8, alpha => 0.59) AS t(smoker boolean, ward text);
	RAISE WARNING '% rows', n;
END $$;
SELECT relation, protected, target FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
-- bins: representatives inside them
SELECT bool_and(age BETWEEN 0 AND 100), count(*) FROM dp_smalldb('patient', ARRAY['smoker', 'age'],
	ARRAY['smoker', 'age > 50', 'age < 25'], 100000, 12, bins => ARRAY[NULL, 4], alpha => 0.55) AS t(smoker boolean, age int);

-- what is public: kept when the transaction is rolled back, with its target
BEGIN;
CREATE TABLE synthetic AS SELECT * FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 1, 12, alpha => 0.59)
	AS t(smoker boolean, ward text);
ROLLBACK;
CREATE TABLE filled (smoker boolean, ward text);
INSERT INTO filled SELECT * FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 1, 12, alpha => 0.59)
	AS t(smoker boolean, ward text);
SELECT role, dataset, mechanism, relation, columns, parameters, round(error::numeric, 3) AS error,
	target, delivered, epsilon, delta, rho
FROM dp_pg.releases ORDER BY id DESC LIMIT 2;
SELECT count(*) FROM dp_pg.releases WHERE mechanism <> 'smalldb' OR dataset <> 'regress_smalldb'
	OR (parameters -> 'n')::numeric < 1;
SELECT r.id = l.id AS same, l.mechanism, l.releases FROM dp_pg.releases r JOIN dp_pg.ledger l USING (id)
WHERE l.mechanism LIKE '%count%';
SELECT * FROM outcome('INSERT INTO dp_pg.released SELECT * FROM dp_pg.released');
SELECT * FROM dp_pg.progress;
RESET ROLE;
SET ROLE :owner;
SELECT count(*) FROM dp_pg.releases;
RESET ROLE;
CREATE ROLE regress_smalldb_other;
SET ROLE regress_smalldb_other;
SELECT count(*) FROM dp_pg.releases;
RESET ROLE;
DROP ROLE regress_smalldb_other;

-- refusals cost nothing
SET ROLE :analyst;
SELECT * FROM (VALUES
	($$('patient', NULL, 2, 1, alpha => 0.6) AS t(a int)$$),
	($$('patient', ARRAY['smoker', 'ward'], NULL::int, 1, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], NULL::text[], 1, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => NULL::numeric) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 1.01) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 'NaN') AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 0, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, 0, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 3, 1, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.01) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], ARRAY['smoker', 'ward = ''A'''], 1, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], ARRAY['smoker', 'age > 5', 'true'], 1, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], ARRAY['smoker', 'ward', 'true'], 1, alpha => 0.6) AS t(smoker boolean, ward text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.6) AS t(smoker boolean, w text)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.6) AS t(smoker boolean)$$),
	($$('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.6) AS t(smoker boolean, ward text, weight int)$$),
	($$('patient', ARRAY['smoker', 'note'], 2, 1, alpha => 0.6) AS t(smoker boolean, note text)$$),
	($$('patient', ARRAY['smoker', 'nothing'], 2, 1, alpha => 0.6) AS t(smoker boolean, nothing text)$$),
	($$('patient', ARRAY['smoker', 'age'], 2, 1, bins => ARRAY[4], alpha => 0.6) AS t(smoker boolean, age int)$$),
	($$('filled', ARRAY['smoker'], 1, 1, alpha => 0.6) AS t(smoker boolean)$$),
	($$(0::regclass, ARRAY['smoker'], 1, 1, alpha => 0.6) AS t(smoker boolean)$$),
	($$(1, ARRAY['smoker'], 1, 1, alpha => 0.6)$$)
) AS c(call), LATERAL outcome('SELECT * FROM dp_smalldb' || call);
SELECT * FROM outcome($$SELECT dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.6)$$);
SELECT * FROM outcome($$SELECT dp_net('patient', 'filled', ARRAY['smoker'], 1)$$);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM outcome($$SELECT * FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.6) AS t(smoker boolean, ward text)$$);
ROLLBACK;
SELECT * FROM spent();
\set VERBOSITY default
SELECT * FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 1, alpha => 0.01) AS t(smoker boolean, ward text);
-- no alpha would do, and NULL is a value of note
SELECT * FROM dp_smalldb('patient', ARRAY['ward', 'floor'], 2, 1, alpha => 1, bins => ARRAY[0, 2000]) AS t(ward text, floor int);
\set VERBOSITY sqlstate

-- dp_net: candidates of any form
CREATE TABLE net (id int, synopsis text, answers numeric[], other int[]);
INSERT INTO net VALUES (1, 'none', '{0, 0}', '{0}'), (2, 'right', '{3, 2.9}', '{4}'),
	(3, 'all', '{12, 12}', '{12}');
SELECT * FROM dp_net('patient', 'net', ARRAY['smoker', 'smoker AND ward = ''A'''], 100000)
	AS t(synopsis text, id int);
SET client_min_messages = notice;
\set VERBOSITY default
SELECT * FROM dp_net('patient', 'net', ARRAY['age < 500'], 100000::float8, answers => 'other') AS t(id int);
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT * FROM spent();
-- more candidates than fit into memory: 12 is right
SET work_mem = '64kB';
CREATE VIEW many AS SELECT i AS id, ARRAY[i] AS answers FROM generate_series(1, 20000) AS i;
SELECT * FROM dp_net('patient', 'many', ARRAY['age < 500'], 100000) AS t(id int);
GRANT SELECT ON many TO :owner;
SET ROLE :owner;	-- in his own process
SELECT * FROM dp_net('patient', 'many', ARRAY['age < 500'], 100000) AS t(id int);
SET ROLE :analyst;
RESET work_mem;
SELECT * FROM spent();
SELECT * FROM (VALUES
	($$('patient', 'net', ARRAY['smoker'], 1) AS t(id int)$$),
	($$('patient', 'net', NULL::text[], 1) AS t(id int)$$),
	($$('patient', NULL::regclass, ARRAY['smoker'], 1) AS t(id int)$$),
	($$('patient', 'net', ARRAY['smoker', 'note LIKE x'], 1) AS t(id int)$$),
	($$('patient', 'net', ARRAY['smoker', 'smoker'], 1) AS t(nothing int)$$),
	($$('patient', 'net', ARRAY['smoker', 'smoker'], 1) AS t(id bigint)$$),
	($$('patient', 'net', ARRAY['smoker', 'smoker'], 1, 'nothing') AS t(id int)$$),
	($$('patient', 'patient', ARRAY['smoker', 'smoker'], 1, 'id') AS t(id int)$$),
	($$('patient', 'net', ARRAY['smoker', 'smoker'], 0) AS t(id int)$$),
	($$('net', 'net', ARRAY['id = 1', 'id = 2'], 1) AS t(id int)$$),
	($$_values(ARRAY[1, 2]::numeric[], 1, 'net', 'regress_smalldb', 1) AS t(id int)$$)
) AS c(call), LATERAL outcome('SELECT * FROM dp_net' || call);
INSERT INTO net VALUES (4, 'bad', '{1, NULL}', '{1}');
SELECT * FROM outcome($$SELECT * FROM dp_net('patient', 'net', ARRAY['smoker', 'smoker'], 1) AS t(id int)$$);
UPDATE net SET answers = '{1, NaN}' WHERE id = 4;
SELECT * FROM outcome($$SELECT * FROM dp_net('patient', 'net', ARRAY['smoker', 'smoker'], 1) AS t(id int)$$);
UPDATE net SET answers = NULL WHERE id = 4;
SELECT * FROM outcome($$SELECT * FROM dp_net('patient', 'net', ARRAY['smoker', 'smoker'], 1) AS t(id int)$$);
TRUNCATE net;
SELECT * FROM outcome($$SELECT * FROM dp_net('patient', 'net', ARRAY['smoker', 'smoker'], 1) AS t(id int)$$);
INSERT INTO net VALUES (1, 'low', '{-1e50, 0.25}'), (2, 'high', '{1e50, 0.25}'), (3, 'near', '{7.25, 0.26}');
GRANT SELECT ON net TO :owner;
RESET ROLE;

-- an owner's values, whatever they are: a median, a ratio
SET ROLE :owner;
SELECT * FROM dp_net_values(value => ARRAY[7.2, 0.25], sensitivity => 0.5, candidates => 'net', dataset => 'regress_smalldb', epsilon => 100000) AS t(id int, synopsis text);
SELECT * FROM dp_net_values(ARRAY['Infinity', NULL]::numeric[], 0.5, 'net', 'regress_smalldb', 100000) AS t(id int);
SELECT * FROM dp_net_values(ARRAY['NaN', 0.1]::numeric[], 0.5, 'net', 'regress_smalldb', 100000) AS t(id int);
SELECT * FROM (VALUES
	($$(ARRAY[1, 2]::numeric[], 0, 'net', 'regress_smalldb', 1) AS t(id int)$$),
	($$(ARRAY[1, 2]::numeric[], -1, 'net', 'regress_smalldb', 1) AS t(id int)$$),
	($$(ARRAY[1, 2]::numeric[], NULL, 'net', 'regress_smalldb', 1) AS t(id int)$$),
	($$(ARRAY[]::numeric[], 1, 'net', 'regress_smalldb', 1) AS t(id int)$$),
	($$(ARRAY[1, 2]::numeric[], 1, 'net', NULL, 1) AS t(id int)$$),
	($$(ARRAY[1, 2]::numeric[], 1, 'net', 'nowhere', 1) AS t(id int)$$)
) AS c(call), LATERAL outcome('SELECT * FROM dp_net_values' || call);
SELECT * FROM outcome($$SELECT dp_net_values(ARRAY[1, 2]::numeric[], 1, 'net', 'regress_smalldb', 1)$$);
SELECT mechanism, relation, parameters, target, delivered, epsilon, rho
FROM dp_pg.releases WHERE mechanism = 'net' ORDER BY id;
-- in his procedure, candidates are read with the rights of the role that asks
CREATE FUNCTION closest(candidates regclass) RETURNS TABLE (id int) LANGUAGE sql SECURITY DEFINER SET search_path = regress_smalldb, public AS
	$$ SELECT * FROM dp_net_values(ARRAY[1.0], 1.0, candidates, 'regress_smalldb', 100000) AS t(id int) $$;
RESET ROLE;
SET ROLE :analyst;
CREATE VIEW whose AS SELECT 1 AS id, ARRAY[CASE current_user WHEN 'regress_smalldb_analyst' THEN 1.0 ELSE 50 END] AS answers
	UNION ALL SELECT 2, ARRAY[10.0];
SELECT * FROM closest('whose');
-- what a noisy n may be off by, twice its noise's 97.5%, is in the error, however it falls
SELECT count(*) FROM dp_smalldb('patient', ARRAY['smoker', 'ward'], 2, 0.01, alpha => 0.59) AS t(smoker boolean, ward text);
SELECT error > 2 * 2000 * ln(40) AS counted FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
RESET ROLE;

-- to plan it
SELECT size, candidates, feasible, round(error::numeric, 6) AS error FROM dp_smalldb_error(16, 100, 1, 48842, alpha => 0.62);
SELECT size, feasible, round(error::numeric, 12) AS error, round(theorem_alpha::numeric, 12) AS theorem_alpha
FROM dp_smalldb_error(8, 16, 0.1, 10000, size => 2048);
SELECT size, ceil(ln(100) / (alpha * alpha)) AS again, feasible FROM dp_smalldb_error(16, 100, 1.0, 48842);
SELECT size, feasible FROM dp_smalldb_error(1000, NULL, 1, 10000, alpha => 0.5, vc_dimension => 2);
SELECT dp_smalldb_error(NULL, 100, 1, 48842) IS NULL AS nothing;
SELECT * FROM (VALUES ('(0, 100, 1, 10)'), ('(16, 2, 1, 10, alpha => 0.5)'), ('(16, 100, 1, 10, alpha => 2)'),
	('(16, 100, -1, 10)'), ('(16, NULL, 1, 10)'), ('(16, 100, 1, 10, confidence => 1.5)'), ('(16, 100, 1, 10, confidence => 0)')
) AS c(call), LATERAL outcome('SELECT * FROM dp_smalldb_error' || call);

-- what queries tell apart: half-lines 1, intervals 2, all subsets of 8 cells 8,
-- rectangles 4; the same query twice is one
SET ROLE :analyst;
SELECT spent() \g /dev/null
CREATE FUNCTION pg_temp.vc(columns text[], bins int[], queries text[]) RETURNS text LANGUAGE sql AS
	'SELECT v::text FROM dp_vc_dimension(''patient'', columns, queries, bins) AS v';
SELECT pg_temp.vc(ARRAY['age'], ARRAY[8], ARRAY(SELECT format('age < %s', 12.5 * i) FROM generate_series(1, 8) i)) AS lines,
	pg_temp.vc(ARRAY['age'], ARRAY[8], ARRAY(SELECT format('age >= %s AND age < %s', 12.5 * i, 12.5 * j) FROM generate_series(0, 8) i, generate_series(i, 8) j)) AS intervals,
	pg_temp.vc(ARRAY['age', 'ward'], ARRAY[8, 0], ARRAY(SELECT format('%s >> (age / 13) & 1 = 1', i) FROM generate_series(0, 255) i)) AS subsets;
SELECT pg_temp.vc(ARRAY['age', 'floor'], ARRAY[8, 8], ARRAY(SELECT format('age BETWEEN %s AND %s AND floor BETWEEN %s AND %s', 12 * i, 12 * j, 1250 * k, 1250 * l)
	FROM generate_series(0, 8, 2) i, generate_series(i, 8, 2) j, generate_series(0, 8, 2) k, generate_series(k, 8, 2) l)) AS rectangles,
	pg_temp.vc(ARRAY['ward'], NULL, ARRAY['ward = ''A''', 'ward <> ''B''']) AS same,
	pg_temp.vc(ARRAY['ward'], NULL, ARRAY['true', 'false', 'true']) AS constant,
	pg_temp.vc(ARRAY['ward'], NULL, ARRAY['ward = ''A''']) AS one;
-- a table of truth that is too large: a bound
SELECT pg_temp.vc(ARRAY['floor', 'smoker', 'ward'], NULL, ARRAY(SELECT format('floor %% 7001 < %s OR ward = ''A''', i) FROM generate_series(1, 2000) i)) AS bound;
-- used to plan
SELECT size, feasible, vc_dimension, vc_exact, error = (SELECT error FROM dp_smalldb_error(9, 9, 1, 1000, vc_dimension => 1)) AS same
FROM dp_smalldb_error('patient', ARRAY['age'], ARRAY(SELECT format('age < %s', 10 * i) FROM generate_series(0, 8) i), 1, 1000, ARRAY[9]);
SELECT size, vc_dimension FROM dp_smalldb_error('patient', ARRAY['ward'], ARRAY['ward = ''A''', 'ward = ''B''', 'true'], 1.0::float8, 1000, alpha => 0.5);
SELECT * FROM spent();
SELECT * FROM (VALUES ('(NULL, ARRAY[''ward''], ARRAY[''true''])'), ('(''patient'', NULL, ARRAY[''true''])'), ('(''patient'', ARRAY[''ward''], NULL)'),
	('(''patient'', ARRAY[''ward''], ''{}'')'), ('(''patient'', ARRAY[''ward''], ARRAY[''true'', NULL])'), ('(''patient'', ARRAY[''note''], ARRAY[''true''])'),
	('(''patient'', ARRAY[''ward''], ARRAY[''age > 3''])'), ('(''patient'', ARRAY[''ward''], ARRAY[''ward'', ''true''])'), ('(''patient'', ARRAY[''ward''], ARRAY[''true''], ARRAY[-1])'),
	('(''pg_class'', ARRAY[''relname''], ARRAY[''true''])')
) AS c(call), LATERAL outcome('SELECT * FROM dp_vc_dimension' || call);
RESET ROLE;
-- who may not ask may not look
CREATE ROLE regress_smalldb_other;
GRANT USAGE ON SCHEMA :schema TO regress_smalldb_other;
SET ROLE regress_smalldb_other;
SELECT * FROM outcome('SELECT * FROM dp_vc_dimension(''patient'', ARRAY[''ward''], ARRAY[''true''])');
RESET ROLE;
REVOKE USAGE ON SCHEMA :schema FROM regress_smalldb_other;
DROP ROLE regress_smalldb_other;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
