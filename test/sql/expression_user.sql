-- Code made by users never runs on private rows, even when a superuser marks
-- it LEAKPROOF, gives it a built-in's name, or makes it a type's own.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test expression_user
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- everything here shouts when it runs
CREATE FUNCTION shout(what text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'ran %', what;
	RAISE EXCEPTION 'ran %', what;
END $$;
CREATE FUNCTION evil(int) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''evil'') = 1; END';
CREATE FUNCTION evil_sql(int) RETURNS boolean LANGUAGE sql LEAKPROOF IMMUTABLE AS 'SELECT $1 > 3';
CREATE FUNCTION evil_body(x int) RETURNS boolean LANGUAGE sql LEAKPROOF IMMUTABLE RETURN x > 3;
CREATE FUNCTION evil_internal(int, int) RETURNS boolean LANGUAGE internal LEAKPROOF IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION evil_equal(int, int) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''equal'') = 1; END';
CREATE FUNCTION evil_default(int, int DEFAULT 1) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''default'') = 1; END';
CREATE FUNCTION evil_variadic(VARIADIC int[]) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''variadic'') = 1; END';
CREATE FUNCTION evil_set(int) RETURNS SETOF boolean LANGUAGE sql LEAKPROOF IMMUTABLE AS 'SELECT true';
CREATE FUNCTION evil_to_bool(text) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''cast'') = 1; END';
CREATE FUNCTION evil_poly(anyelement) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''poly'') = 1; END';
CREATE AGGREGATE evil_sum(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0');
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_equal);
CREATE OPERATOR ==== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq, RESTRICT = eqsel);
CREATE OPERATOR !! (RIGHTARG = int, FUNCTION = evil);
CREATE CAST (text AS boolean) WITH FUNCTION evil_to_bool(text);
CREATE CAST (int AS mood) WITH INOUT;
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN checked AS int CHECK (evil(VALUE));
CREATE DOMAIN plain AS int;
CREATE TYPE pair AS (a int, b int);
-- a total version has a place and a name, which are not enough
CREATE FUNCTION dp_pg.total_evil(int) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''total'') = 1; END';
CREATE FUNCTION dp_pg.total_int4pl(int, text) RETURNS int LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''total''); END';
CREATE FUNCTION pg_catalog.regress_evil(int) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''catalog'') = 1; END';

SET ROLE :analyst;
CREATE FUNCTION states(expressions text, OUT expression text, OUT state text, OUT charges bigint) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT e, string_agg(DISTINCT o.state, ' '), sum(o.charges)
	FROM regexp_split_to_table(expressions, '\n') WITH ORDINALITY x(e, n), (VALUES
		('SELECT dp_count(*) FILTER (WHERE %s) FROM person'), ('SELECT dp_count(*) FROM person WHERE %s'),
		('SELECT dp_count(%s) FROM person'), ('SELECT dp_count(*) FROM person GROUP BY (%s)'),
		('SELECT dp_count(*) FROM (SELECT (%s) AS k FROM person) p WHERE k')) q(query),
		outcome(format(query, e)) o
	GROUP BY e, n ORDER BY n
$$;
SELECT * FROM states($$evil(age)
evil(1)
evil_sql(age)
evil_body(age)
evil_internal(age,1)
evil_default(age)
evil_variadic(age,1)
evil_variadic(VARIADIC array[1])
evil_set(age)
evil_poly(age)
evil_sum(age) > 1
pg_catalog.regress_evil(age)
dp_pg.total_evil(age)
dp_pg.total_int4pl(age,'1') = 2
age === 1
age ==== 1
age OPERATOR(regress_expression_user.====) 1
!! age
age === ANY ('{1,2}')
age ==== ALL ('{1,2}')
(age,id) === (1,1)
ward::boolean
cast(ward AS boolean)
(age % 3)::mood = 'ok'
age::positive = 3
age::checked = 3
age::plain = 3
3::checked = age
null::checked = age
age = ANY ('{1}'::int[]::checked[])
evil(age) AND false
false AND evil(age)
CASE WHEN false THEN evil(age) ELSE true END
coalesce(true,evil(age))
age > 1 OR age IN (1,2) OR evil(age)$$);
-- whole queries: aggregates, their arguments, types with their own order
SELECT * FROM outcome('SELECT evil_sum(age) FROM person');
SELECT * FROM outcome('SELECT dp_count(*), evil_sum(age) FROM person');
SELECT * FROM outcome('SELECT dp_sum(CASE WHEN evil(age) THEN 1 END, 0, 1) FROM person');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT * FROM person ORDER BY age USING <) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT evil(age), age FROM person) p WHERE age > 3');
SELECT * FROM outcome('SELECT dp_count(*) FROM person, evil_set(1)');
RESET ROLE;
CREATE FUNCTION pair_less(pair, pair) RETURNS boolean LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''pair_less'') = 1; END';
CREATE FUNCTION pair_compare(pair, pair) RETURNS int LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''pair_compare''); END';
CREATE FUNCTION pair_hash(pair) RETURNS int LANGUAGE plpgsql LEAKPROOF IMMUTABLE AS 'BEGIN RETURN shout(''pair_hash''); END';
CREATE OPERATOR <# (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_less);
CREATE OPERATOR =# (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_less, HASHES, MERGES);
CREATE OPERATOR ># (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_less);
CREATE OPERATOR CLASS pair_order DEFAULT FOR TYPE pair USING btree AS OPERATOR 1 <#, OPERATOR 3 =#, OPERATOR 5 >#, FUNCTION 1 pair_compare(pair, pair);
CREATE OPERATOR CLASS pair_hash DEFAULT FOR TYPE pair USING hash AS OPERATOR 1 =#, FUNCTION 1 pair_hash(pair);
-- a built-in type with an order of its own
CREATE OPERATOR <| (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_equal);
CREATE OPERATOR =| (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_equal);
CREATE OPERATOR |> (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_equal);
CREATE OPERATOR CLASS int_order FOR TYPE int USING btree AS OPERATOR 1 <|, OPERATOR 3 =|, OPERATOR 5 |>, FUNCTION 1 btint4cmp(int, int);
SET ROLE :owner;
CREATE TABLE owned (p pair, ps pair[], c positive, e plain);
INSERT INTO owned SELECT ROW(k, 1)::pair, ARRAY[ROW(k, 1)::pair], k, k FROM generate_series(1, 10) k;
SELECT dp_protect('owned', dataset => :'schema') \g /dev/null
SET ROLE :analyst;
SELECT query, o.* FROM regexp_split_to_table($$SELECT dp_count(*) FROM owned WHERE p =# p
SELECT dp_count(*) FROM owned WHERE p = p
SELECT dp_count(*) FROM owned WHERE p IN (ROW(1,1)::pair)
SELECT dp_count(*) FROM owned WHERE greatest(p, p) IS NULL
SELECT dp_count(*) FROM owned WHERE ps = ps
SELECT dp_count(*) FROM owned WHERE p = ANY (ps)
SELECT dp_count(*) FROM owned WHERE (c, p) < (1, ROW(1,1)::pair)
SELECT dp_count(*) FROM owned WHERE p IS DISTINCT FROM p
SELECT p, dp_count(*) FROM owned GROUP BY p
SELECT dp_count(DISTINCT p) FROM owned
SELECT dp_count(DISTINCT ps) FROM owned
SELECT dp_count(*) FROM (SELECT * FROM owned ORDER BY p) o
SELECT dp_count(*) FROM (SELECT * FROM owned ORDER BY ps) o
SELECT dp_count(*) FROM (SELECT * FROM owned ORDER BY c USING <|) o
SELECT c, dp_count(*) FROM owned GROUP BY c
SELECT dp_count(*) FROM owned WHERE c =| 1
SELECT dp_count(p) FROM owned
SELECT dp_count(ps) FROM owned
SELECT dp_count(*) FROM owned WHERE c = 3 AND e < 5
SELECT dp_sum(c, 0, 10) FROM owned
SELECT dp_sum(e + c, 0, 10) FROM owned WHERE c BETWEEN 1 AND 5
SELECT dp_count(*) FROM owned WHERE c::int IN (1, 2) AND coalesce(c, e) = 1
SELECT dp_count(DISTINCT c) FROM owned$$, '\n') query, outcome(query) o;

RESET ROLE;

-- a name found through search_path is judged by what it means
CREATE SCHEMA shadow_expression_user;
GRANT ALL ON SCHEMA shadow_expression_user TO :analyst;
SET ROLE :analyst;
-- compiled before anything is shadowed
CREATE VIEW before AS SELECT lower(ward) AS ward, age + 1 AS next, sex FROM person WHERE age = 1 OR age >= 50;
SET search_path = shadow_expression_user, pg_catalog, regress_expression_user, public;
CREATE FUNCTION spy(int, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS 'BEGIN RAISE WARNING ''saw % %'', $1, $2; RETURN true; END';
CREATE FUNCTION spy(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS 'BEGIN RAISE WARNING ''saw % %'', $1, $2; RETURN true; END';
CREATE FUNCTION spy_add(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING ''saw % %'', $1, $2; RETURN 1; END';
CREATE OPERATOR = (LEFTARG = int, RIGHTARG = int, FUNCTION = spy);
CREATE OPERATOR <> (LEFTARG = int, RIGHTARG = int, FUNCTION = spy);
CREATE OPERATOR < (LEFTARG = int, RIGHTARG = int, FUNCTION = spy);
CREATE OPERATOR <= (LEFTARG = int, RIGHTARG = int, FUNCTION = spy);
CREATE OPERATOR >= (LEFTARG = int, RIGHTARG = int, FUNCTION = spy);
CREATE OPERATOR + (LEFTARG = int, RIGHTARG = int, FUNCTION = spy_add);
CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = spy);
CREATE OPERATOR ~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = spy);
CREATE FUNCTION lower(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING ''saw %'', $1; RETURN $1; END';
CREATE FUNCTION like_escape(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING ''saw %'', $1; RETURN $1; END';
CREATE FUNCTION date_trunc(text, timestamptz) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING ''saw %'', $2; RETURN $2; END';
CREATE DOMAIN int8 AS pg_catalog.int8 CHECK (spy(VALUE::int, 1));
CREATE AGGREGATE dp_count(int) (SFUNC = int4_sum, STYPE = pg_catalog.int8);
CREATE FUNCTION spy_sum(int, int, int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING ''saw %'', $2; RETURN 1; END';
CREATE AGGREGATE dp_sum(int, int, int) (SFUNC = spy_sum, STYPE = int);
SELECT * FROM states($$age = 1
age <> 1
1 = age
age IN (1,2)
age NOT IN (1,2)
age = ANY ('{1,2}')
age <> ALL ('{1,2}')
age BETWEEN 1 AND 2
age IS DISTINCT FROM 1
nullif(age,1) IS NULL
CASE age WHEN 1 THEN true END
(age,id) = (1,1)
(age,id) < (1,1)
(age,id) IN ((1,1),(2,2))
age + 1 > 2
ward = 'A'
ward IN ('A','B')
ward LIKE 'A%'
ward LIKE 'A%' ESCAPE '!'
lower(ward) > 'a'
date_trunc('day',seen) > now()
age::int8 > 1$$);
-- the built-in one is meant here, by its full name or by the grammar
SELECT * FROM states($$age OPERATOR(pg_catalog.=) 1
age > 1
greatest(age,3) > 3
(age OPERATOR(pg_catalog.+) 1) > 2
pg_catalog.lower(ward) > 'a'
pg_catalog.date_trunc('day',seen) > now()
extract(day from seen) > 1
substring(ward from 1 for 1) > 'A'
ward ILIKE 'a%'
age::bigint > 1
born BETWEEN '2020-01-01' AND '2020-02-01'
coalesce(age,1) > 1$$);
SELECT pg_catalog.count(n) FROM (SELECT ward, dp_count(*) AS n FROM person GROUP BY ward ORDER BY ward) r;
SELECT dp_count(*), dp_sum(next, 0::bigint, 200) OPERATOR(pg_catalog.>) 0 AS positive FROM before WHERE sex;
-- aggregates of the same name are not private: the analyst lacks the right
SELECT * FROM outcome('SELECT dp_count(age) FROM person');
SELECT * FROM outcome('SELECT dp_sum(age, 0, 100) FROM person');
SELECT * FROM outcome('SELECT dp_count(*), dp_count(age) FROM person');
-- functions are never found in pg_temp by their bare name
SET search_path = pg_temp, shadow_expression_user, pg_catalog, regress_expression_user, public;
CREATE FUNCTION pg_temp.upper(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE WARNING ''saw %'', $1; RETURN $1; END';
SELECT * FROM states($$upper(ward) > 'A'
pg_temp.upper(ward) > 'A'$$);
RESET ROLE;

-- nothing above has run: each of these writes a warning when it does
SELECT evil(1);
SET search_path = regress_expression_user, public;
SET client_min_messages = error;
DROP SCHEMA shadow_expression_user CASCADE;
DROP FUNCTION pg_catalog.regress_evil(int), dp_pg.total_evil(int), dp_pg.total_int4pl(int, text), pg_temp.upper(text);
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
