-- Attacks on linear queries over rowsets: views that change between questions,
-- rights of a view's owner and of the asking role, code of the asking role in
-- a view, units mixed, rows that raise errors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_rowsets
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set other :analyst _other
\set thief :analyst _thief
CREATE ROLE :other;
CREATE ROLE :thief;
GRANT USAGE ON SCHEMA :schema TO :thief;
GRANT CREATE, USAGE ON SCHEMA :schema TO :other;

SET ROLE :owner;
SET client_min_messages = error;
CREATE TABLE stay (u int NOT NULL, k int NOT NULL, g boolean NOT NULL, friend int, zero int);
INSERT INTO stay SELECT u, u % 4, u % 3 = 0, u + 1, 0 FROM generate_series(1, 200) u;
INSERT INTO stay SELECT 777, 1, true, 3, 0 FROM generate_series(1, 5000);
CREATE TABLE bed (id int PRIMARY KEY, u int, note text);
INSERT INTO bed SELECT i, i, CASE WHEN i = 77 THEN 'no number' ELSE i::text END FROM generate_series(1, 200) i;
CREATE TABLE lone (k int NOT NULL, g boolean);
INSERT INTO lone SELECT i % 4, true FROM generate_series(1, 100) i;
SELECT dp_protect('stay', unit => 'u', dataset => :'schema'), dp_protect('bed', unit => 'u', dataset => :'schema'), dp_protect('lone', dataset => :'schema') \g /dev/null
SELECT dp_declare('stay', 'k', keys => ARRAY[0, 1, 2, 3]), dp_declare('stay', max_rows => 3) \g /dev/null
RESET ROLE;
SET ROLE :other;
CREATE TABLE other_stay (u int NOT NULL, k int NOT NULL);
INSERT INTO other_stay SELECT i, 1 FROM generate_series(1, 100) i;
SELECT dp_protect('other_stay', unit => 'u', dataset => 'regress_attack_rowsets_2') \g /dev/null
SELECT dp_grant(:'analyst', dataset => 'regress_attack_rowsets_2', epsilon => 1e9) \g /dev/null
GRANT SELECT ON other_stay TO :analyst;
CREATE TABLE secret (k int PRIMARY KEY, word text);
INSERT INTO secret SELECT i, 'word' || i FROM generate_series(0, 3) i;
CREATE VIEW lent AS SELECT * FROM secret;
GRANT SELECT ON lent TO :analyst;
RESET ROLE;
CREATE TABLE ward (k int PRIMARY KEY, big boolean NOT NULL);
INSERT INTO ward SELECT i, i > 1 FROM generate_series(0, 3) i;
CREATE TABLE tag (k int, t text);
INSERT INTO tag SELECT i % 4, 't' FROM generate_series(1, 40000) i;
GRANT SELECT ON ward, tag TO :analyst, :owner;
GRANT SELECT ON stay, bed TO :owner;

SET ROLE :analyst;
CREATE VIEW changing AS SELECT s.u, s.k, s.g FROM stay s JOIN ward w ON s.k = w.k;
CREATE VIEW steady AS SELECT s.u, s.k, s.g FROM stay s JOIN bed b ON s.u = b.u;

-- ---- a view that changes between questions ----
SELECT dp_sparse_vector_open('changing', -1, 40, 100000, 100, numeric_answers => true) AS s \gset
SELECT dp_weights_open('changing', ARRAY['k', 'g'], 40, 1000000, alpha => 0.01, n => 203) AS w \gset
SELECT sensitivity FROM dp_pg.session WHERE id IN (:s, :w);
SELECT answer FROM dp_sparse_vector_ask(:s, 'true');
-- more rows of each unit: as many count as were paid for
CREATE OR REPLACE VIEW changing AS SELECT a.u, a.k, b.g FROM stay a JOIN stay b ON a.u = b.u;
SET dp_pg.max_rows = 1000;
SELECT answer FROM dp_sparse_vector_ask(:s, 'true');
SELECT answer FROM dp_sparse_vector_ask(:s, 'g');
SELECT abs(answer - 203) < 10 AS near FROM dp_weights_ask(:w, 'true');
-- one row of each unit
CREATE OR REPLACE VIEW changing AS SELECT u, max(k) AS k, bool_or(g) AS g FROM stay GROUP BY u;
SELECT answer FROM dp_sparse_vector_ask(:s, 'true');
-- other relations of the dataset, every row a unit
CREATE OR REPLACE VIEW changing AS SELECT NULL::int AS u, k, g FROM lone;
SELECT answer FROM dp_sparse_vector_ask(:s, 'true');
RESET dp_pg.max_rows;
-- nothing private
CREATE OR REPLACE VIEW changing AS SELECT k AS u, k, big AS g FROM ward;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
-- rows for each value released: charged whenever it is read, if it were
CREATE OR REPLACE VIEW changing AS SELECT s.u, s.k, s.g FROM stay s CROSS JOIN (SELECT dp_count(*) AS n FROM stay) r;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
CREATE OR REPLACE VIEW changing AS WITH r AS MATERIALIZED (SELECT dp_count(*) AS n FROM stay) SELECT s.u, s.k, s.g FROM stay s JOIN r ON s.k <= r.n;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
SELECT state, hinted, charges FROM outcome('SELECT dp_sparse_vector(''changing'', ARRAY[''true''], 5)');
-- an error of public rows: no private one was read, and the session goes on
CREATE OR REPLACE VIEW changing AS SELECT s.u, s.k, s.g FROM stay s JOIN (SELECT 1 / (k - k) AS x FROM ward) r ON s.k = r.x;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
-- a question within a question
CREATE FUNCTION ask_again() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN PERFORM dp_sparse_vector_ask((SELECT max(session) FROM dp_pg.sessions WHERE kind = 'sparse_vector' AND state = 'open'), 'true'); RETURN NEXT 1; END $$;
CREATE OR REPLACE VIEW changing AS SELECT s.u, s.k, s.g FROM stay s JOIN ask_again() r ON s.k = r;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
-- too many rows of one: now, and before anything is charged
CREATE OR REPLACE VIEW changing AS SELECT s.u, s.k, s.g FROM stay s JOIN tag a ON true JOIN tag b ON true JOIN ward w ON true;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
SELECT left(call, 30) AS call, state, hinted, charges FROM unnest(ARRAY['SELECT dp_sparse_vector_open(''changing'', 5)', 'SELECT dp_weights_open(''changing'', ARRAY[''k''], 5)', 'SELECT * FROM dp_sparse_vector(''changing'', ARRAY[''g''], 5)',
	'SELECT dp_argmax(''changing'', ARRAY[''g''])']) call, LATERAL outcome(call);
CREATE VIEW spread AS SELECT l.k, l.g FROM lone l JOIN tag t ON l.k = t.k;
SELECT left(call, 30) AS call, state, hinted, charges FROM unnest(ARRAY['SELECT dp_sparse_vector_open(''spread'', 5)', 'SELECT * FROM dp_sparse_vector(''spread'', ARRAY[''g''], 5)', 'SELECT dp_argmax(''spread'', ARRAY[''g''])']) call, LATERAL outcome(call);
-- another dataset closes it
CREATE OR REPLACE VIEW changing AS SELECT u, k, true AS g FROM other_stay;
SELECT state FROM dp_pg.sessions WHERE session IN (:s, :w);
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
CREATE OR REPLACE VIEW changing AS SELECT s.u, s.k, s.g FROM stay s JOIN other_stay o ON s.u = o.u;
SELECT state, hinted, charges FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s));
SELECT state, hinted, charges FROM outcome('SELECT dp_argmax(''changing'', ARRAY[''g''])');

-- ---- units mixed, rows that depend on other units' ----
SELECT rows, state, hinted, charges FROM unnest(ARRAY['SELECT a.u, b.k FROM stay a JOIN stay b ON a.friend = b.u', 'SELECT a.u, b.k FROM stay a JOIN stay b ON a.k = b.k',
	'SELECT a.u, b.note FROM stay a JOIN bed b ON a.friend = b.id', 'SELECT a.u, b.id FROM stay a LEFT JOIN bed b ON a.u = b.u OR a.k = b.id', 'SELECT a.u, b.id FROM stay a, bed b',
	'SELECT w.k FROM ward w LEFT JOIN stay s ON s.k = w.k', 'SELECT w.k FROM ward w WHERE NOT EXISTS (SELECT FROM stay s WHERE s.k = w.k)', 'SELECT k, count(*) AS n FROM stay GROUP BY k',
	'SELECT u, k FROM stay UNION ALL SELECT friend, k FROM stay', 'SELECT u, k FROM stay UNION SELECT k, k FROM ward', 'SELECT u, k FROM stay ORDER BY k LIMIT 10', 'SELECT u, rank() OVER (ORDER BY k) AS k FROM stay',
	'SELECT u, (SELECT max(b.id) FROM bed b) AS k FROM stay']) rows,
	LATERAL outcome(format('CREATE OR REPLACE VIEW mixed AS %s; SELECT dp_sparse_vector(''mixed'', ARRAY[''true''], 5); DROP VIEW mixed', rows));
-- ---- errors that depend on rows: none is seen, and nothing comes after the charge ----
CREATE VIEW fails AS SELECT s.u, s.k, 1 / s.zero AS x, 1.0 / (b.id - 77) AS y FROM stay s JOIN bed b ON s.u = b.u;
CREATE VIEW casts AS SELECT s.u, s.k, b.note::int AS n FROM stay s JOIN bed b ON s.u = b.u;
SELECT query, outcome.* FROM unnest(ARRAY['k >= 0', 'x > 0', 'y > 0', '1 / k > 0', 'sqrt(k - 5) > 0']) query, LATERAL outcome(format('SELECT dp_sparse_vector(''fails'', ARRAY[%L], 5)', query));
SELECT outcome.* FROM outcome('SELECT dp_sparse_vector(''casts'', ARRAY[''n > 5''], 5)');

-- ---- rights ----
-- the view's owner reads what it joins; who asks needs the view alone
RESET ROLE;
SET ROLE :owner;
GRANT SELECT ON stay TO :other;
RESET ROLE;
SET ROLE :other;
CREATE VIEW lends AS SELECT s.u, s.k, c.word FROM stay s JOIN secret c ON s.k = c.k;
CREATE VIEW lends_not WITH (security_invoker = true) AS SELECT s.u, s.k, c.word FROM stay s JOIN secret c ON s.k = c.k;
GRANT SELECT ON lends, lends_not TO :analyst, :thief;
RESET ROLE;
SET ROLE :analyst;
SELECT answer > 0 AS answered FROM dp_sparse_vector('lends', ARRAY['word = ''word1'''], -1, numeric_answers => true);
SELECT state, hinted, charges FROM outcome('SELECT dp_sparse_vector(''lends_not'', ARRAY[''true''], 5)');
CREATE VIEW own AS SELECT s.u, s.k, c.word FROM stay s JOIN secret c ON s.k = c.k;
SELECT state, hinted, charges FROM outcome('SELECT dp_sparse_vector(''own'', ARRAY[''true''], 5)');
SELECT state, hinted, charges FROM outcome('SELECT dp_argmax(''own'', ARRAY[''true''])');
SELECT state, hinted, charges FROM outcome('SELECT dp_sparse_vector_open(''own'', 5)');
CREATE VIEW own2 AS SELECT s.u, s.k, c.word FROM stay s JOIN lent c ON s.k = c.k;
SELECT dp_sparse_vector_open('own2', -1, 10, 100000, 10, numeric_answers => true) AS s \gset
SELECT answer FROM dp_sparse_vector_ask(:s, 'word = ''word2''');
RESET ROLE;
REVOKE SELECT ON lent FROM :analyst;
SET ROLE :analyst;
SELECT o.state, hinted, charges, s.state AS session FROM outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''true'')', :s)) o, dp_pg.sessions s WHERE session = :s;
-- without a budget, or without the view
RESET ROLE;
SET ROLE :thief;
SELECT state, hinted, charges FROM outcome('SELECT dp_sparse_vector(''lends'', ARRAY[''true''], 5)');
SELECT state, hinted, charges FROM outcome('SELECT dp_sparse_vector(''steady'', ARRAY[''true''], 5)');

-- ---- code of the asker's, in a function that runs as the owner ----
RESET ROLE;
CREATE TABLE seen (what text, who text);
GRANT INSERT, SELECT ON seen TO :owner, :analyst;
SET ROLE :owner;
CREATE FUNCTION ask_for(relation regclass) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT dp_argmax(relation, ARRAY['k >= 0', 'k < 0'])
	|| (SELECT above FROM dp_sparse_vector(relation, ARRAY['k >= 0'], 1)) $$;
CREATE FUNCTION open_for(relation regclass) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT dp_sparse_vector_open(relation, 1) > 0 $$;
RESET ROLE;
SET ROLE :analyst;
CREATE FUNCTION look() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES ('row', current_user); RETURN QUERY SELECT generate_series(0, 3); END $$;
CREATE FUNCTION look_first() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM set_config('attack.who', current_user, false); RETURN 0; END $$;
CREATE VIEW looks AS SELECT s.u, s.k FROM stay s JOIN look() l ON s.k = l;
CREATE VIEW looks_first AS SELECT s.u, s.k FROM stay s JOIN (SELECT w.k FROM ward w WHERE w.k >= look_first()) w ON s.k = w.k;
CREATE FUNCTION look_near() RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM set_config('attack.near', current_user, false); RETURN 1; END $$;
CREATE VIEW looks_near AS SELECT u, k, count(*) OVER (PARTITION BY u ORDER BY k ROWS look_near() PRECEDING) AS n FROM stay;
CREATE VIEW looks_nowhere AS SELECT u, k, count(*) OVER (PARTITION BY u) AS n FROM stay WINDOW w AS (PARTITION BY u ORDER BY k ROWS BETWEEN CURRENT ROW AND look_near() FOLLOWING);
CREATE VIEW looks_once AS SELECT u, k FROM stay s WHERE EXISTS (SELECT FROM stay t WHERE t.u = s.u LIMIT look_near());
CREATE VIEW looks_ward AS SELECT u, k FROM stay s WHERE k = 9 OR EXISTS (SELECT FROM ward w WHERE w.k = s.k LIMIT look_near());
GRANT SELECT ON looks, looks_first, looks_near, looks_nowhere, looks_once, looks_ward TO :owner;
SELECT ask_for('looks'), open_for('looks');
SELECT DISTINCT what, who = current_user AS me FROM seen;
SELECT ask_for('looks_first'), open_for('looks_first');
SELECT coalesce(nullif(current_setting('attack.who', true), ''), current_user) = current_user AS me;
-- nor what says how far away the rows of a frame are, or how many EXISTS needs, which nobody calls
SELECT v, o.* FROM unnest(ARRAY['looks_near', 'looks_nowhere', 'looks_once', 'looks_ward']) v, outcome(format('SELECT ask_for(%L)', v)) o;
SELECT o.* FROM outcome('SELECT dp_count(n) FROM looks_near') o;
SELECT coalesce(current_setting('attack.near', true), 'nobody') AS looked;

-- ---- policies hide what they hide from plain private queries ----
RESET ROLE;
SET ROLE :owner;
ALTER TABLE bed ENABLE ROW LEVEL SECURITY;
CREATE POLICY half ON bed FOR SELECT USING (id % 2 = 0);
RESET ROLE;
ALTER TABLE ward ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON ward FOR SELECT USING (k < 2);
SET ROLE :analyst;
CREATE VIEW hidden AS SELECT s.u, s.k, w.big FROM stay s JOIN bed b ON s.u = b.u JOIN ward w ON s.k = w.k;
SELECT answer, (SELECT dp_count(*) FROM hidden) AS counted FROM dp_sparse_vector('hidden', ARRAY['true'], -1, numeric_answers => true);
-- views that read as the current user, who is not the role that asks inside the function
CREATE VIEW theirs WITH (security_invoker = true) AS SELECT s.u, s.k FROM stay s JOIN ward w ON s.k = w.k;
CREATE VIEW asked WITH (security_invoker = true) AS SELECT s.u, s.k FROM stay s WHERE s.k IN (SELECT k FROM ward);
GRANT SELECT ON theirs, asked TO :owner;
SELECT v, o.* FROM unnest(ARRAY['theirs', 'asked']) v, outcome(format('SELECT ask_for(%L)', v)) o;
SELECT v, o.* FROM unnest(ARRAY['theirs', 'asked']) v, outcome(format('SELECT dp_argmax(%L::regclass, ARRAY[''k >= 0'', ''k < 0''])', v)) o;
RESET ROLE;
DROP OWNED BY :other, :thief CASCADE;
DROP ROLE :thief;
