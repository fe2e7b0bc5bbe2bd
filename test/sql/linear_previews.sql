-- Previews for units with many rows say the same as the runs over them, for
-- every m.  All compared numbers follow from public ones, so none is random.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test linear_previews
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.epsilon = '1';
\set poor :analyst _poor
CREATE ROLE :poor;
GRANT USAGE ON SCHEMA :schema TO :poor;

SET ROLE :owner;
CREATE TABLE visit (u int, k int NOT NULL, g boolean NOT NULL);
INSERT INTO visit SELECT u, u % 4, u % 3 = 0 FROM generate_series(1, 50) u, generate_series(1, 1 + u % 5);
CREATE TABLE once (u int PRIMARY KEY, k int NOT NULL, g boolean NOT NULL);
SELECT dp_protect(t, unit => 'u', dataset => :'schema'), dp_declare(t, 'k', keys => ARRAY[0, 1, 2, 3])
	FROM unnest(ARRAY['visit', 'once']::regclass[]) t \g /dev/null
SELECT dp_declare('visit', max_rows => 3) \g /dev/null
RESET ROLE;

-- ---- numbers that the runs keep ----
SET ROLE :analyst;
CREATE FUNCTION last_release() RETURNS dp_pg.releases LANGUAGE sql AS 'SELECT r FROM dp_pg.releases r ORDER BY id DESC LIMIT 1';
CREATE TABLE compared (m int, what text, same boolean);
DO $$
DECLARE
	queries text[] = ARRAY['k = 1', 'g', 'k = 2 AND NOT g', 'k IN (2, 3)'];
	r dp_pg.releases;
	id bigint;
	m int;
BEGIN
	FOREACH m IN ARRAY ARRAY[1, 3, 7] LOOP
		PERFORM set_config('dp_pg.max_rows', m::text, false);
		PERFORM FROM dp_smalldb('visit', ARRAY['k', 'g'], queries, 1, n => 5000, alpha => 0.6) AS t(k int, g boolean);
		r := last_release();
		INSERT INTO compared SELECT m, 'smalldb', abs(r.error - p.error * 5000) < 1e-6 FROM dp_smalldb_error(8, 4, 1, 5000, 0.6, max_rows => m) p;
		PERFORM FROM dp_smalldb('visit', ARRAY['k', 'g'], queries, 1, n => 150 * m) AS t(k int, g boolean);
		r := last_release();
		INSERT INTO compared SELECT m, 'smalldb, best size', (r.parameters ->> 'alpha')::float8 = p.alpha AND abs(r.error - p.error * 150 * m) < 1e-6
			FROM dp_smalldb_error(8, 4, 1, 150 * m, max_rows => m) p;
		INSERT INTO compared SELECT m, 'smalldb of a relation', p = q AND p.error = w.error FROM dp_smalldb_error('visit', ARRAY['k', 'g'], queries, 1, 500) p,
			dp_smalldb_error('visit', ARRAY['k', 'g'], queries, 1, 500, max_rows => m) q,
			dp_smalldb_error(8, 4, 1, 500, vc_dimension => p.vc_dimension, max_rows => m) w;
		PERFORM FROM dp_synthesize('visit', ARRAY['k'], 1, 1, n => 500, method => 'mwem') AS t(k int);
		r := last_release();
		INSERT INTO compared SELECT m, 'rounds of mwem', (r.parameters ->> 'rounds')::int = p.rounds
			FROM dp_synthesize_error(ARRAY[4], 1, 1, 500, max_rows => m) p;
		id := dp_weights_open('visit', ARRAY['k', 'g'], 20, 1, n => 50000);
		INSERT INTO compared SELECT m, 'weights', s.updates_left = p.updates AND s.alpha = floor(3 * p.alpha * 50000)
			FROM dp_pg.sessions s, dp_weights_error(8, 20, 1, 50000, sensitivity => m) p WHERE session = id;
		id := dp_sparse_vector_open('visit', 1000, 2, 1, 30, numeric_answers => true);
		INSERT INTO compared SELECT m, 'sparse vector', s.alpha = p.alpha
			FROM dp_pg.sessions s, dp_sparse_vector_error(30, 2, 1, numeric_answers => true, monotone => true, sensitivity => m) p WHERE session = id;
	END LOOP;
END $$;
RESET dp_pg.max_rows;
SELECT what, array_agg(m ORDER BY m) AS m, bool_and(same) AS same FROM compared GROUP BY what ORDER BY what;
-- a declaration counts where no setting does; one row is one, whatever is set
SELECT p = q AS declared FROM dp_smalldb_error('visit', ARRAY['k'], ARRAY['k = 1', 'k = 2', 'k = 3'], 1, 500) p,
	dp_smalldb_error('visit', ARRAY['k'], ARRAY['k = 1', 'k = 2', 'k = 3'], 1, 500, max_rows => 3) q;
SET dp_pg.max_rows = 7;
SELECT p = q AS single FROM dp_smalldb_error('once', ARRAY['k'], ARRAY['k = 1', 'k = 2', 'k = 3'], 1, 500) p,
	dp_smalldb_error('once', ARRAY['k'], ARRAY['k = 1', 'k = 2', 'k = 3'], 1, 500, max_rows => 1) q;
-- m times the noise
SELECT p.sigma = 5 * q.sigma AS sigma, round((p.gaussian_error / q.gaussian_error)::numeric, 9) AS gaussian, round((p.laplace_error / q.laplace_error)::numeric, 9) AS laplace,
	p.theorem_alpha > q.theorem_alpha AS theorem
FROM dp_synthesize_error(ARRAY[4, 2], 1, 1, 500000, 1e-9, max_rows => 5) p, dp_synthesize_error(ARRAY[4, 2], 1, 1, 500000, 1e-9) q;
SELECT dp_smalldb_error(8, 4, 1, 500, max_rows => NULL) IS NULL AS smalldb, dp_synthesize_error(ARRAY[4], 1, 1, 500, max_rows => NULL) IS NULL AS synthesize;
SELECT call, state, hinted, charges FROM unnest(ARRAY['dp_smalldb_error(8, 4, 1, 500, max_rows => 0)', 'dp_smalldb_error(8, 4, 1, 500, max_rows => 2147483648)',
	'dp_synthesize_error(ARRAY[4], 1, 1, 500, max_rows => -1)', 'dp_smalldb_error(''visit'', ARRAY[''k''], ARRAY[''k = 1'', ''true'', ''k = 2''], 1, 500, max_rows => 0)',
	'dp_pg.rows_of_unit(''pg_class'')']) call, LATERAL outcome('SELECT ' || call);
SELECT dp_pg.rows_of_unit('visit') AS visit, dp_pg.rows_of_unit('once') AS once, dp_pg.rows_of_unit(NULL) AS none;

-- ---- numbers that are said ----
RESET ROLE;
SET ROLE :owner;
\set VERBOSITY default
SET client_min_messages = notice;
SELECT above FROM dp_sparse_vector('visit', ARRAY['g'], 1000000);
SELECT alpha FROM dp_sparse_vector_error(1, 1, 1, monotone => true, sensitivity => 7);
-- one that cannot pay is told before
SELECT dp_grant(:'poor', dataset => :'schema', epsilon => 1, delta => 1e-6) \g /dev/null
RESET ROLE;
SET ROLE :poor;
SELECT count(*) FROM dp_synthesize('visit', ARRAY['k', 'g'], 1, epsilon => 2, delta => 1e-9) AS t(k int, g boolean);
SELECT round(sigma::numeric, 2) AS sigma FROM dp_synthesize_error(ARRAY[4, 2], 1, 2, 100, 1e-9, max_rows => 7);
RESET ROLE;
DROP OWNED BY :poor;
DROP ROLE :poor;
