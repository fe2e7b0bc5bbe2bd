-- Whose rights decide what dp_pg.transparent makes private: no role sees a
-- number that it would not see without it, and owners keep theirs.
--
-- Tested are views of views with either kind of rights, row security,
-- functions with the caller's and with the owner's rights, inlined or not,
-- prepared plans across SET ROLE and GRANT, column privileges, and members of
-- roles.  `exact` says whether the answer is the one of the owner.  A private
-- one equals it by chance with probability 5e-10: its noise has a scale of
-- 10^9.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_transparent
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set other regress_ :test _other
CREATE ROLE :other;
GRANT USAGE, CREATE ON SCHEMA :schema TO :other;
SET dp_pg.transparent = on;
SET dp_pg.reuse = off;
SET dp_pg.epsilon_floor = '';
SET dp_pg.epsilon = '0.000000001';
SET ROLE :owner;
SELECT dp_grant(:'other', dataset => :'schema', epsilon => 1000) \g /dev/null

-- views with the rights of who asks, of the owner, and of others, and views of them
CREATE VIEW asked WITH (security_invoker) AS SELECT * FROM person;
CREATE VIEW asked_twice WITH (security_invoker) AS SELECT id, ward, age FROM asked WHERE age >= 0;
CREATE VIEW shown AS SELECT * FROM person;
CREATE VIEW shown_counts AS SELECT count(*) AS n FROM person;
CREATE VIEW shown_of_asked AS SELECT * FROM asked;
CREATE VIEW asked_of_shown WITH (security_invoker) AS SELECT * FROM shown;
GRANT SELECT ON asked, asked_twice, shown, shown_counts, shown_of_asked, asked_of_shown TO :analyst, :other;
RESET ROLE;
SET ROLE :other;
CREATE VIEW others AS SELECT * FROM asked;
CREATE VIEW others_counts AS SELECT count(*) AS n FROM asked;
GRANT SELECT ON others, others_counts TO :analyst;
RESET ROLE;
CREATE FUNCTION attempt(statement text, OUT state text, OUT exact boolean, OUT charges bigint)
LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	PERFORM spent();
	BEGIN
		EXECUTE statement INTO n;
		state := '00000';
		exact := n = 1000;
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
SET ROLE :analyst;
-- the analyst's rights
SELECT * FROM attempt('SELECT count(*) FROM person');
SELECT * FROM attempt('SELECT count(*) FROM asked');
SELECT * FROM attempt('SELECT count(*) FROM asked_twice');
-- rights that owners lend: exact, as without the mode
SELECT * FROM attempt('SELECT count(*) FROM shown');
SELECT * FROM attempt('SELECT n FROM shown_counts');
SELECT * FROM attempt('SELECT count(*) FROM shown_of_asked');
SELECT * FROM attempt('SELECT count(*) FROM asked_of_shown');
-- rights of a role that has none
SELECT * FROM attempt('SELECT count(*) FROM others');
SELECT * FROM attempt('SELECT n FROM others_counts');
-- without the mode the same, but for those that were private: they are refused
SET dp_pg.transparent = off;
SELECT v, (attempt(format('SELECT count(*) FROM %I', v))).* FROM unnest(ARRAY['person', 'asked', 'asked_twice', 'shown', 'shown_of_asked', 'asked_of_shown', 'others']) v;
SET dp_pg.transparent = on;
-- one query with both
SELECT (a.n = 1000)::int AS lent, (b.n = 1000)::int AS own FROM (SELECT count(*) AS n FROM shown) a, (SELECT count(*) AS n FROM asked) b;
SELECT * FROM attempt('SELECT count(*) FROM shown s JOIN person p USING (id)');
SELECT * FROM attempt('SELECT count(*) FROM person WHERE age = (SELECT max(age) FROM shown WHERE id = person.id)');
RESET ROLE;

-- functions: the owner's rights stay exact, the caller's are his own
SET ROLE :owner;
CREATE FUNCTION count_as_owner() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS 'SELECT count(*) FROM person';
CREATE FUNCTION rows_of_owner() RETURNS SETOF person LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS 'SELECT * FROM person';
CREATE FUNCTION count_as_caller() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM person';
CREATE FUNCTION rows_of_caller() RETURNS SETOF person LANGUAGE sql STABLE AS 'SELECT * FROM person';
CREATE FUNCTION counts_of_caller() RETURNS SETOF bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM person';
CREATE FUNCTION counts_of_caller_apart() RETURNS SETOF bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM person';
CREATE FUNCTION plpgsql_as_owner() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$ BEGIN RETURN (SELECT count(*) FROM person); END $$;
CREATE FUNCTION plpgsql_as_caller() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM person); END $$;
CREATE FUNCTION first_of_caller() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM (SELECT id FROM person LIMIT 10) q); END $$;
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM attempt('SELECT count_as_owner()');
SELECT * FROM attempt('SELECT count(*) FROM rows_of_owner()');
SELECT * FROM attempt('SELECT plpgsql_as_owner()');
SELECT * FROM attempt('SELECT count_as_caller()');
SELECT * FROM attempt('SELECT count(*) FROM rows_of_caller()');
SELECT * FROM attempt('SELECT n FROM counts_of_caller() AS n');
SELECT * FROM attempt('SELECT n FROM counts_of_caller_apart() AS n');
SELECT * FROM attempt('SELECT plpgsql_as_caller()');
SELECT * FROM attempt('SELECT first_of_caller()');
RESET ROLE;
-- nor does an owner's function take the mode of its caller to the owner, or back
SET ROLE :owner;
SELECT * FROM attempt('SELECT count_as_caller()');
SELECT * FROM attempt('SELECT plpgsql_as_caller()');
SELECT * FROM attempt('SELECT count(*) FROM asked_twice');
RESET ROLE;

-- plans that are kept, across roles: each execution is by its user's rights
SET plan_cache_mode = force_generic_plan;
GRANT :owner, :analyst TO CURRENT_USER;
SET ROLE :owner;
PREPARE kept AS SELECT count(*) FROM person;
SELECT * FROM attempt('EXECUTE kept');
SET ROLE :analyst;
SELECT * FROM attempt('EXECUTE kept');
SET ROLE :owner;
SELECT * FROM attempt('EXECUTE kept');
SET ROLE :analyst;
SELECT * FROM attempt('SELECT plpgsql_as_caller()');
SET ROLE :owner;
SELECT * FROM attempt('SELECT plpgsql_as_caller()');
SET ROLE :analyst;
SELECT * FROM attempt('SELECT plpgsql_as_caller()');
PREPARE kept_view AS SELECT count(*) FROM asked_twice;
SELECT * FROM attempt('EXECUTE kept_view');
SET dp_pg.transparent = off;
SELECT * FROM attempt('EXECUTE kept_view');
SET dp_pg.transparent = on;
SELECT * FROM attempt('EXECUTE kept_view');
-- a right comes and goes
SET ROLE :owner;
GRANT SELECT (age) ON person TO :analyst;
SET ROLE :analyst;
SELECT * FROM attempt('EXECUTE kept');
SELECT * FROM attempt('SELECT count(age) FROM person');
SELECT * FROM attempt('SELECT count(ward) FROM person');
SET ROLE :owner;
REVOKE SELECT (age) ON person FROM :analyst;
SET ROLE :analyst;
SELECT * FROM attempt('EXECUTE kept');
RESET ROLE;
GRANT :owner TO :analyst;
SET ROLE :analyst;
SELECT * FROM attempt('SELECT count(*) FROM person');
RESET ROLE;
REVOKE :owner FROM :analyst;
SET ROLE :analyst;
SELECT * FROM attempt('SELECT count(*) FROM person');
RESET ROLE;
RESET plan_cache_mode;

-- row security: who may read some rows reads these, exactly; who may read none is answered privately or not at all
SET ROLE :owner;
CREATE TABLE tenant (id int PRIMARY KEY, of name NOT NULL);
INSERT INTO tenant SELECT i, CASE WHEN i <= 1000 THEN :'other' ELSE 'nobody' END FROM generate_series(1, 3000) i;
SELECT dp_protect('tenant', dataset => :'schema') \g /dev/null
ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tenant USING (of = current_user);
GRANT SELECT ON tenant TO :other;
RESET ROLE;
SET ROLE :other;
SELECT * FROM attempt('SELECT count(*) FROM tenant');
SET ROLE :analyst;
SELECT state, coalesce(exact, false) AS exact FROM attempt('SELECT count(*) FROM tenant');
RESET ROLE;

-- what the rewriting makes is judged as what an analyst writes: no aggregate below another, no rows beside
SET ROLE :analyst;
SELECT * FROM attempt('SELECT count(*) FROM (SELECT id, count(*) FROM person GROUP BY id) q');
SELECT * FROM attempt('SELECT count(*) FROM (SELECT id FROM person LIMIT 1000) q');
SELECT * FROM attempt('SELECT count(*) FROM (SELECT id FROM person UNION SELECT id FROM person) q');
SELECT * FROM attempt('SELECT max(n) FROM (SELECT row_number() OVER () AS n FROM person) q');
SELECT * FROM attempt('SELECT count(*) FROM person TABLESAMPLE system (100)');
SELECT * FROM attempt('SELECT count(*) + min(1 / (id - 5)) FROM person WHERE id <> 5');
SELECT * FROM attempt('SELECT id FROM person GROUP BY id ORDER BY id DESC LIMIT 1');
SELECT * FROM attempt('SELECT DISTINCT ON (ward) id FROM person');
SELECT * FROM attempt('SELECT (SELECT id FROM person p WHERE p.age = max(q.age) LIMIT 1) FROM person q');
SELECT * FROM attempt('SELECT count(*) FROM generate_series(1, 3) g, LATERAL (SELECT id FROM person WHERE id > g) p');
SELECT * FROM attempt('WITH RECURSIVE r AS (SELECT id FROM person UNION SELECT id + 1 FROM r WHERE id < 10) SELECT count(*) FROM r');
-- probes tell of no row, whatever stands beside
SELECT * FROM attempt('SELECT count(*) FROM person WHERE 1 = 0 OR age = 5');
SELECT * FROM attempt('SELECT n FROM (SELECT count(*) + 1000 AS n FROM person WHERE false) q');
-- a WITH query of a WITH query, used twice: none of them is planned over rows that are not the role's.
-- What a planner sees of rows shows in its choice of plans, and in a plan that is printed.
SELECT * FROM outcome('WITH a AS (SELECT * FROM person WHERE age < 50), b AS (SELECT * FROM a) SELECT 1 FROM (SELECT DISTINCT ward FROM b) x, (SELECT DISTINCT ward FROM b) y');
SELECT * FROM outcome('WITH a AS (SELECT * FROM person), b AS (SELECT * FROM a) SELECT (SELECT count(*) FROM b), (SELECT count(*) FROM b WHERE sex)');
SELECT * FROM outcome('WITH a AS (SELECT * FROM person), b AS (SELECT * FROM a) SELECT ward, count(*) FROM b GROUP BY CUBE (ward, sex)');
SELECT * FROM outcome('WITH a AS (SELECT * FROM person), b AS (SELECT * FROM a) SELECT ward, count(*) FROM b WHERE false GROUP BY 1');
SELECT * FROM outcome('WITH a AS (SELECT * FROM person), b AS (SELECT * FROM a) SELECT (SELECT count(*) FROM b), (SELECT id FROM b LIMIT 1)');
SELECT * FROM outcome('WITH RECURSIVE r AS (SELECT id FROM person UNION ALL (SELECT r.id FROM r, person WHERE false)) SELECT r.id FROM r LIMIT 0');
SELECT * FROM outcome('WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL (SELECT i + 1 FROM r, person WHERE false)) SELECT count(*) FROM r');
SELECT * FROM outcome('WITH a AS (SELECT 5 AS v), e AS (SELECT v FROM a), d AS (WITH u AS (SELECT v FROM e) SELECT age FROM person) SELECT count(*), (SELECT max(v) FROM a) FROM d');
SELECT * FROM outcome('WITH a AS (SELECT 5 AS v), e AS (SELECT v FROM a), d AS (SELECT age FROM person, e WHERE age > v) SELECT (SELECT count(*) FROM d), (SELECT count(*) FROM d WHERE age > 9), (SELECT max(v) FROM e)');
PREPARE twice(int) AS WITH a AS (SELECT * FROM person WHERE age < $1 ORDER BY age), b AS (SELECT * FROM a) SELECT x.ward FROM (SELECT DISTINCT ward FROM b) x, (SELECT id FROM b) y;
SELECT o.* FROM generate_series(1, 7) AS i, outcome('EXECUTE twice(' || i || ')') o;
SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = 'twice';
DEALLOCATE twice;
RESET ROLE;
DROP OWNED BY :other CASCADE;
DROP ROLE :other;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
