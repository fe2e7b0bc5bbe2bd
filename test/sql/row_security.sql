-- Row security of protected tables: which rows a private query counts, what a
-- policy may contain, and that no answer, plan or job is reused for a role to
-- which a policy shows other rows.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test row_security
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- two who have one budget together, and one whom no policy holds
\set staff regress_row_security_staff
\set first regress_row_security_first
\set second regress_row_security_second
\set free regress_row_security_free
CREATE ROLE :staff;
CREATE ROLE :first IN ROLE :staff;
CREATE ROLE :second IN ROLE :staff;
CREATE ROLE :free BYPASSRLS IN ROLE :staff;
GRANT USAGE, CREATE ON SCHEMA :schema TO :staff;
SET ROLE :owner;
SET client_min_messages = error;
SELECT dp_grant(:'staff', dataset => :'schema', epsilon => 1e11, delta => 1e-6) \g /dev/null
-- rows 1 .. 100: tenant 1 has 10, 2 has 20, 3 has 70
CREATE TABLE place (id int PRIMARY KEY, tenant int NOT NULL, asker text, name text NOT NULL, day date NOT NULL, kind mood);
INSERT INTO place SELECT i, CASE WHEN i <= 10 THEN 1 WHEN i <= 30 THEN 2 ELSE 3 END,
	CASE i % 4 WHEN 0 THEN :'first' WHEN 1 THEN :'second' END, 'tenant' || CASE WHEN i <= 10 THEN 1 WHEN i <= 30 THEN 2 ELSE 3 END,
	date '2000-01-01' + i % 10 * 40000, CASE WHEN i <= 40 THEN 'sad' ELSE 'ok' END::mood FROM generate_series(1, 100) i;
SELECT dp_protect('place', dataset => :'schema') \g /dev/null
SELECT dp_declare('place', 'tenant', keys => ARRAY[1, 2, 3]) \g /dev/null
ALTER TABLE place ENABLE ROW LEVEL SECURITY;
CREATE POLICY choose ON place USING (asker = current_user);
CREATE VIEW whole AS SELECT * FROM place;
CREATE VIEW own WITH (security_invoker) AS SELECT * FROM place;
GRANT SELECT ON whole, own TO :staff;

-- ---- whose rows ----

-- those that the policies give the asker; through a view those of its owner
SELECT dp_count(*) FROM place;
SET ROLE :first;
SELECT (SELECT dp_count(*) FROM place), (SELECT dp_count(*) FROM whole), (SELECT dp_count(*) FROM own);
SET ROLE :second;
SELECT (SELECT dp_count(*) FROM place WHERE tenant < 3), (SELECT dp_count(*) FROM whole), (SELECT dp_count(*) FROM own);
SET ROLE :free;
SELECT (SELECT dp_count(*) FROM place), (SELECT dp_count(*) FROM whole), (SELECT dp_count(*) FROM own);
SET row_security = off;
SELECT dp_count(*) FROM place;
SET ROLE :first;
SELECT * FROM outcome('SELECT dp_count(*) FROM place');
RESET row_security;
SET ROLE :owner;
ALTER TABLE place FORCE ROW LEVEL SECURITY;
SELECT dp_count(*) FROM place;
SET ROLE :first;
SELECT (SELECT dp_count(*) FROM place), (SELECT dp_count(*) FROM whole), (SELECT dp_count(*) FROM own);
SET ROLE :owner;
ALTER TABLE place NO FORCE ROW LEVEL SECURITY;

-- ---- what a policy may say ----

-- current_setting is an error where nobody has set it, as without us
CREATE FUNCTION kind_of(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE DOMAIN number AS int CHECK (kind_of('x') = 'x');
CREATE TABLE rule (id int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO rule (condition) SELECT regexp_split_to_table($$tenant = current_setting('app.tenant')::int
tenant::bigint = current_setting('app.tenant', true)::bigint
tenant = nullif(current_setting('app.tenant', true), '')::int
tenant = coalesce(nullif(current_setting('app.none', true), ''), '3')::int
name = 'tenant' || current_setting('app.tenant')
name LIKE 'tenant' || current_setting('app.tenant') || '%'
tenant = ANY (string_to_array(current_setting('app.list'), ',')::int[])
name = ANY (string_to_array(current_setting('app.names'), ','))
tenant = ANY (current_setting('app.many')::int[])
tenant = (current_setting('app.claims', true)::json ->> 'tenant')::int
kind = current_setting('app.kind')::mood
day > current_setting('app.day')::date - 3
day <= now()::date AND tenant = 3
day < current_date OR tenant = current_setting('app.tenant')::int
current_setting('app.none', true) IS NOT NULL AND tenant = current_setting('app.none')::int
current_setting('app.none', true) IS NULL OR tenant = current_setting('app.none')::int
tenant = CASE WHEN current_setting('app.none', true) IS NULL THEN 2 ELSE current_setting('app.none')::int END
CASE WHEN current_setting('app.none', true) IS NOT NULL THEN tenant = current_setting('app.none')::int ELSE tenant = 1 END
CASE current_setting('app.tenant') WHEN '2' THEN tenant = 2 ELSE false END
current_setting('is_superuser')::boolean OR tenant < 3
session_user <> current_user AND current_role = current_user AND tenant = 2
to_char(now(), 'YYYY')::int < 2000 OR tenant = 1
current_database() = current_catalog AND tenant = 1
substr(asker, 22) = substr(current_user::text, 22)
tenant = current_setting('app.nothing')::int
tenant = current_setting('app.names')::int
name LIKE current_setting('app.bad')
name = current_setting(name)
name = kind_of(current_setting('app.tenant'))
tenant = current_setting('app.tenant')::number
tenant = current_setting('app.tenant')::int + random()
pg_has_role(current_user, 'pg_read_all_data', 'member') OR tenant = 1
tenant IN (SELECT current_setting('app.tenant')::int)
EXISTS (SELECT FROM rule WHERE rule.id = tenant)
name ~ current_setting('app.tenant')
tenant = set_config('app.tenant', '1', false)::int$$, '\n');
GRANT SELECT ON rule TO :staff;
SET app.tenant = '2';
SET app.list = '1,2';
SET app.names = 'tenant3,tenant1';
SET app.many = '{3,2}';
SET app.claims = '{"tenant": 1}';
SET app.kind = 'sad';
SET app.day = '2109-07-10';
SET app.bad = 'a\';
CREATE FUNCTION ask(statement text, OUT state text, OUT said text, OUT policy boolean, OUT charges bigint, OUT answer bigint) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	context text;
BEGIN
	PERFORM spent();
	BEGIN
		EXECUTE statement INTO answer;
		state := '00000';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
		state := SQLSTATE;
		said := SQLERRM;
		policy := detail LIKE '%policy "choose" of relation "place"%' OR context LIKE '%row security of relation "place"%';
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
RESET ROLE;
CREATE FUNCTION exact(condition text, asker text, OUT answer bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM place WHERE %s', replace(replace(condition, 'current_user', quote_literal(asker)), 'current_role', quote_literal(asker))) INTO answer;
EXCEPTION WHEN OTHERS THEN
	NULL;
END $$;
CREATE FUNCTION set_rule(condition text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET client_min_messages = error AS $$
BEGIN
	EXECUTE format('ALTER POLICY choose ON place USING (%s)', condition);
END $$;
SET ROLE :first;
SET dp_pg.reuse = off;
DO $$
DECLARE
	r record;
BEGIN
	CREATE TEMP TABLE answers (id int, state text, said text, policy boolean, charges bigint, answer bigint, exact bigint);
	FOR r IN SELECT * FROM rule ORDER BY id LOOP
		PERFORM set_rule(r.condition);
		INSERT INTO answers SELECT r.id, a.*, CASE WHEN a.state = '00000' THEN exact(r.condition, current_user) END FROM ask('SELECT dp_count(*) FROM place') a;
	END LOOP;
END $$;
SELECT condition, state, charges, answer, CASE WHEN state = '00000' THEN answer = exact END AS right FROM answers JOIN rule USING (id) WHERE state = '00000' ORDER BY id;
SELECT condition, state, charges, policy, said FROM answers JOIN rule USING (id) WHERE state <> '00000' ORDER BY id;

-- the refusal is for the policy that it comes from, of several
RESET ROLE;
SELECT set_rule('tenant < 3');
SET client_min_messages = error;
CREATE POLICY other ON place AS RESTRICTIVE USING (name ~ 'x');
CREATE POLICY elsewhere ON place FOR SELECT TO :second USING (tenant::text = '3');
SET ROLE :first;
\set VERBOSITY default
SELECT dp_count(*) FROM place;
SET ROLE :second;
RESET ROLE;
ALTER POLICY other ON place USING (true);
SET ROLE :second;
SELECT dp_count(*) FROM own;
EXPLAIN SELECT dp_count(*) FROM place;
RESET ROLE;
DROP POLICY other ON place;
DROP POLICY elsewhere ON place;
-- also where one of them, which another decides, could not be computed
SELECT set_rule('tenant = current_setting(''app.unset'')::int');
CREATE POLICY open ON place USING (true);
CREATE POLICY at_last ON place AS RESTRICTIVE USING (name ~ 'x');
SET ROLE :first;
SELECT dp_count(*) FROM place;
-- and for a subquery that reads what the asker may not, unless it is not asked
RESET ROLE;
ALTER POLICY at_last ON place USING (current_user = :'second' OR EXISTS (SELECT FROM person WHERE person.id = place.id));
SET ROLE :first;
SELECT dp_count(*) FROM place;
SELECT dp_count(*) FROM (SELECT id FROM place WHERE id > 3) p;
SELECT dp_argmax('place', ARRAY['id = 1', 'id > 1']);
SET ROLE :second;
SELECT dp_count(*) FROM place;
-- and for the memory that its condition could take
RESET ROLE;
ALTER POLICY at_last ON place USING (upper(asker || asker || asker || asker) <> lower(asker || asker || asker) || upper(asker || asker || asker || asker));
SET ROLE :first;
SELECT dp_count(*) FROM place;
-- a division by a setting that is 0 is NULL
RESET ROLE;
ALTER POLICY at_last ON place USING (1 / current_setting('app.zero')::int = 1);
SET ROLE :first;
SET app.zero = 0;
SELECT dp_count(*) FROM place;
RESET ROLE;
DROP POLICY at_last ON place;
DROP POLICY open ON place;
SELECT set_rule('tenant = current_setting(''app.unset'')::int');
SET ROLE :first;
\set SHOW_CONTEXT always
SELECT dp_count(*) FROM place;
\set SHOW_CONTEXT never
\set VERBOSITY sqlstate
RESET ROLE;

-- ---- stored answers: one budget, two who ask, three tenants ----

SET dp_pg.reuse = '1 hour';
SELECT set_rule('tenant = current_setting(''app.tenant'')::int');
SET ROLE :first;
SELECT * FROM spent() \g /dev/null
SET app.tenant = '1';
SELECT dp_count(*) FROM place;
SELECT charges FROM spent();
SELECT dp_count(*) FROM place;
SELECT charges FROM spent();
SET app.tenant = '2';
SELECT dp_count(*) FROM place;
SELECT charges FROM spent();
SET ROLE :second;
SELECT dp_count(*) FROM place;
SET app.tenant = '1';
SELECT dp_count(*) FROM place;
SELECT charges FROM spent();
SET app.tenant = '3';
SELECT dp_count(*) FROM place;
SELECT dp_count(*) FROM own;
SELECT dp_count(*) FROM whole;
SELECT charges FROM spent();
-- who sees all rows is given no answer over some, nor the other way round
SET ROLE :free;
SELECT dp_count(*) FROM place;
SELECT charges FROM spent();
RESET ROLE;
SELECT set_rule('asker = current_user');
SET ROLE :first;
SELECT dp_count(*) FROM place WHERE tenant = 3;
SET ROLE :second;
SELECT dp_count(*) FROM place WHERE tenant = 3;
SET ROLE :first;
SELECT dp_count(*) FROM place WHERE tenant = 3;
SELECT charges FROM spent();
RESET ROLE;
SELECT set_rule('day <= now()::date');
SET ROLE :first;
SELECT dp_count(*) FROM place WHERE tenant = 3;
SELECT dp_count(*) FROM place WHERE tenant = 3;
SELECT charges FROM spent();
RESET ROLE;
-- a policy for one of them
SELECT set_rule('tenant = 1');
CREATE POLICY more ON place TO :second USING (tenant = 2);
SET ROLE :first;
SELECT dp_count(*) FROM place WHERE id > 0;
SET ROLE :second;
SELECT dp_count(*) FROM place WHERE id > 0;
SELECT charges FROM spent();
RESET ROLE;
DROP POLICY more ON place;

-- ---- plans and jobs that are kept ----

SELECT set_rule('tenant = current_setting(''app.tenant'')::int');
SET ROLE :first;
SELECT * FROM spent() \g /dev/null
PREPARE ask AS SELECT dp_count(*) FROM place WHERE id > 1;
SET app.tenant = '1';
EXECUTE ask;
EXECUTE ask;
SELECT charges FROM spent();
SET app.tenant = '2';
EXECUTE ask;
EXECUTE ask;
SET app.tenant = '3';
EXECUTE ask;
EXECUTE ask;
EXECUTE ask;
SELECT charges FROM spent();
SET app.tenant = '1';
EXECUTE ask;
EXECUTE ask;
SET ROLE :second;
EXECUTE ask;
SELECT charges FROM spent();
SET ROLE :free;
EXECUTE ask;
SELECT charges FROM spent();
SET ROLE :first;
SET dp_pg.reuse = off;
EXECUTE ask;
EXECUTE ask;
EXECUTE ask;
SET app.tenant = '2';
EXECUTE ask;
SET app.tenant = '3';
EXECUTE ask;
SELECT charges FROM spent();
\set counted 'SELECT dp_count(*) FROM place WHERE id > 2;'
:counted
:counted
:counted
:counted
SET app.tenant = '2';
:counted
:counted
SET app.tenant = '1';
:counted
SET ROLE :second;
:counted
SELECT charges FROM spent();
-- in one statement, with what it sets itself
SET ROLE :first;
SELECT dp_count(*) FROM place WHERE id > (SELECT set_config('app.tenant', '3', false)::int);
SELECT charges FROM spent();
-- EXPLAIN charges nothing, and what it shows as stored is the asker's
SET dp_pg.reuse = '1 hour';
SET app.tenant = '2';
SELECT dp_count(*) FROM place WHERE id > 4;
SELECT charges FROM spent();
CREATE FUNCTION stored(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line LIKE '%Answer: stored%' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT stored('SELECT dp_count(*) FROM place WHERE id > 4');
SET app.tenant = '3';
SELECT stored('SELECT dp_count(*) FROM place WHERE id > 4');
SELECT charges FROM spent();

-- ---- joins, levels, units behind keys ----

RESET ROLE;
SET ROLE :owner;
CREATE TABLE people (person int PRIMARY KEY, tenant int NOT NULL);
INSERT INTO people SELECT i, 1 + i % 3 FROM generate_series(1, 90) i;
CREATE TABLE stay (stay int PRIMARY KEY, person int NOT NULL, tenant int NOT NULL);
INSERT INTO stay SELECT i, 1 + i % 90, 1 + (i % 7 > 1)::int FROM generate_series(1, 180) i;
CREATE TABLE item (stay int, n int NOT NULL);
INSERT INTO item SELECT 1 + i % 180, i % 10 FROM generate_series(1, 360) i;
SELECT dp_protect('people', unit => 'person', dataset => :'schema'), dp_protect('stay', unit => 'person', dataset => :'schema') \g /dev/null
SELECT dp_protect('item', unit => 'stay -> stay.person', dataset => :'schema') \g /dev/null
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
ALTER TABLE stay ENABLE ROW LEVEL SECURITY;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY chosen ON people USING (tenant = current_setting('app.tenant')::int);
CREATE POLICY chosen ON stay USING (tenant = current_setting('app.stay')::int);
CREATE POLICY chosen ON item USING (n < current_setting('app.item')::int);
SET dp_pg.max_rows = 10;
SET dp_pg.max_keys = 1;
SET ROLE :first;
SET app.tenant = '1';
SET app.stay = '1';
SET app.item = '5';
CREATE FUNCTION three(OUT joined bigint, OUT levels bigint, OUT items bigint, OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	SELECT dp_count(*) INTO joined FROM people JOIN stay USING (person);
	SELECT dp_count(*) INTO levels FROM (SELECT person, count(*) AS n FROM stay GROUP BY person HAVING count(*) > 0) s;
	SELECT dp_count(*) INTO items FROM item;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
SELECT * FROM three();
SELECT * FROM three();
SET app.stay = '2';
SELECT * FROM three();
SET app.tenant = '2';
SELECT * FROM three();
SET app.item = '2';
SELECT * FROM three();
SET app.tenant = '1';
SET app.stay = '1';
SET app.item = '5';
SELECT * FROM three();
SET ROLE :second;
SELECT * FROM three();
SET ROLE :free;
SELECT * FROM three();
RESET ROLE;
SELECT (SELECT count(*) FROM people JOIN stay USING (person)) AS joined, (SELECT count(DISTINCT person) FROM stay) AS levels, (SELECT count(*) FROM item) AS items;
SELECT (SELECT count(*) FROM people p JOIN stay s USING (person) WHERE p.tenant = 1 AND s.tenant = 1) AS joined, (SELECT count(DISTINCT person) FROM stay WHERE tenant = 1) AS levels, (SELECT count(*) FROM item WHERE n < 5) AS items;
SELECT (SELECT count(*) FROM people p JOIN stay s USING (person) WHERE p.tenant = 2 AND s.tenant = 2) AS joined, (SELECT count(DISTINCT person) FROM stay WHERE tenant = 2) AS levels, (SELECT count(*) FROM item WHERE n < 2) AS items;
RESET app.item;
SET ROLE :first;
SELECT * FROM outcome('SELECT dp_count(*) FROM people JOIN stay USING (person) JOIN item ON item.stay = stay.stay');

-- ---- linear queries, synthetic rows, sessions ----

RESET ROLE;
SELECT set_rule('tenant = current_setting(''app.tenant'')::int');
SET ROLE :owner;
SET ROLE :first;
SET app.tenant = '1';
SELECT count(*), sum((t.tenant = 1)::int) FROM dp_synthesize('place', ARRAY['tenant'], 1, epsilon => 1000, delta => 1e-9) AS t(tenant int);
SET app.tenant = '2';
SELECT count(*), sum((t.tenant = 2)::int) FROM dp_synthesize('place', ARRAY['tenant'], 1, epsilon => 1000, delta => 1e-9) AS t(tenant int);
SELECT dp_sparse_vector('place', ARRAY['tenant = 1', 'tenant = 2'], 10, epsilon => 1000);
SET app.tenant = '1';
SELECT dp_sparse_vector('place', ARRAY['tenant = 1', 'tenant = 2'], 5, epsilon => 1000);

-- a session is about the rows of whatever is set when it is asked
SELECT dp_weights_open('place', ARRAY['tenant'], 4, 1000000, alpha => 0.1, n => 20) AS w \gset
SELECT abs(answer - 10) < 4 AS near FROM dp_weights_ask(:w, 'tenant = 1');
SET app.tenant = '2';
SELECT abs(answer) < 4 AS near FROM dp_weights_ask(:w, 'tenant = 1');
SELECT dp_weights_close(:w) \g /dev/null
-- none is opened, nor paid for, that could not be asked
CREATE FUNCTION opened() RETURNS TABLE(state text, hinted boolean, charges bigint) LANGUAGE sql AS $$
	SELECT * FROM outcome('SELECT dp_sparse_vector_open(''place'', 5, epsilon => 1)')
	UNION ALL SELECT * FROM outcome('SELECT dp_weights_open(''place'', ARRAY[''tenant''], 4, 1000000, alpha => 0.1, n => 20)')
	UNION ALL SELECT * FROM outcome('SELECT dp_sparse_vector_open(''stay'', 5, epsilon => 1)')
$$;
RESET ROLE;
SELECT set_rule('name ~ ''x''');
ALTER POLICY chosen ON stay USING (tenant::text = '1');
SET ROLE :first;
SELECT * FROM opened();
RESET ROLE;
SELECT set_rule('tenant = current_setting(''app.unset'')::int');
ALTER POLICY chosen ON stay USING (tenant IN (SELECT id FROM person));
SET ROLE :first;
SELECT * FROM opened();

-- ---- SECURITY DEFINER: the policies are those of its owner, as without us ----

RESET ROLE;
SELECT set_rule('asker = current_user');
SET ROLE :second;
CREATE FUNCTION of_second() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT dp_count(*) FROM place WHERE tenant = 1';
SET ROLE :first;
SELECT of_second(), (SELECT dp_count(*) FROM place WHERE tenant = 1);
RESET ROLE;
SELECT count(*) FILTER (WHERE asker = :'second') AS of_second, count(*) FILTER (WHERE asker = :'first') AS of_first FROM place WHERE tenant = 1;

SET client_min_messages = error;
DROP OWNED BY :staff, :first, :second, :free CASCADE;
DROP SCHEMA :schema CASCADE;
CREATE SCHEMA :schema;
DROP ROLE :staff, :first, :second, :free;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
