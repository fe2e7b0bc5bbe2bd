-- dp_declare: public bounds and keys, checked and stored as canonical text.
-- A refusal is identified by its SQLSTATE; wording may change freely.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE regress_declare_owner;
CREATE ROLE regress_declare_other;
CREATE SCHEMA regress_declare AUTHORIZATION regress_declare_owner;
GRANT USAGE ON SCHEMA regress_declare TO PUBLIC;
SET search_path = regress_declare, public;
SET ROLE regress_declare_owner;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN age_domain AS int CHECK (VALUE >= 0);
CREATE TABLE t (small smallint, age int, big bigint, num numeric,
	fixed numeric(5,2), r real, d double precision, day date, at timestamp,
	atz timestamptz, ward text, code varchar(3), flat char(3), flag boolean,
	m mood, dom age_domain, tags text[], pay money, span interval, raw bytea,
	doc json, "Odd Name" int);
CREATE TABLE plain (age int);
CREATE FUNCTION declared() RETURNS TABLE (attname name, lower text,
	upper text, granule numeric, keys text[], other text) LANGUAGE sql
SET search_path = pg_catalog AS $$
	SELECT attname, lower, upper, granule, keys, other FROM dp_pg.attribute
	WHERE relid::text = 'regress_declare.t' ORDER BY attnum
$$;

-- Only about protected relations, by owners, about columns.
SELECT dp_declare('t', 'age', lower => 0, upper => 120);
SELECT dp_protect('t', dataset => 'regress_declare');
SELECT dp_declare('plain', 'age', lower => 0, upper => 120);
SELECT dp_declare('t', 'nothing', lower => 0, upper => 120);
SELECT dp_declare('t', 'ctid', lower => 0, upper => 120);
SELECT dp_declare('t', 'AGE', lower => 0, upper => 120);
SELECT dp_declare('nothing', 'age', lower => 0, upper => 120);
SELECT dp_declare(NULL, 'age', lower => 0, upper => 120);
SELECT dp_declare('t', NULL, lower => 0, upper => 120);
RESET ROLE;
SET ROLE regress_declare_other;
SELECT dp_declare('t', 'age', lower => 0, upper => 120);
SELECT dp_declare('t', 'ward', keys => ARRAY['A']);
RESET ROLE;
SET ROLE regress_declare_owner;
BEGIN READ ONLY;
SELECT dp_declare('t', 'age', lower => 0, upper => 120);
ROLLBACK;
SELECT * FROM declared();

-- Bounds in every form of number.
SELECT dp_declare('t', 'age', lower => 0, upper => 120);
SELECT dp_declare('t', 'small', -32768, 32767);
SELECT dp_declare('t', 'big', lower => -9007199254740993, upper => 9007199254740993);
SELECT dp_declare('t', 'num', lower => 0.10, upper => 0.3);
SELECT dp_declare('t', 'fixed', lower => 0, upper => 999.99, granule => 0.25);
SELECT dp_declare('t', 'r', lower => '-1.5', upper => '1e3');
SELECT dp_declare('t', 'd', lower => 0.1::float8, upper => 0.3::float8);
SELECT dp_declare('t', 'dom', lower => 0, upper => 99::bigint, granule => 8);
SELECT dp_declare('t', 'Odd Name', lower => 0, upper => 1);
PREPARE by_float (float8, float8) AS SELECT dp_declare('t', 'd', $1, $2, 0.5);
EXECUTE by_float (0.1, 1000);
DEALLOCATE by_float;
-- dates and timestamps, canonical whatever the session's settings
SET DateStyle = 'German, DMY';
SET TimeZone = 'Asia/Tokyo';
SET extra_float_digits = -5;
SELECT dp_declare('t', 'day', lower => date '02.01.2020', upper => '31.12.2020');
SELECT dp_declare('t', 'at', lower => date '02.01.2020', upper => timestamp '31.12.2020 13:00');
SELECT dp_declare('t', 'atz', lower => timestamptz '02.01.2020 00:00', upper => timestamptz '03.01.2020 00:00');
RESET DateStyle;
RESET TimeZone;
RESET extra_float_digits;
SELECT * FROM declared();

-- Bad bounds change nothing.
SELECT dp_declare('t', 'age', lower => 120, upper => 0);
SELECT dp_declare('t', 'age', lower => 7, upper => 7);
SELECT dp_declare('t', 'age', lower => NULL::bigint, upper => 7);
SELECT dp_declare('t', 'age', lower => 0, upper => NULL::bigint);
SELECT dp_declare('t', 'age', lower => 0, upper => 1.5);
SELECT dp_declare('t', 'age', lower => 0, upper => 3000000000);
SELECT dp_declare('t', 'small', lower => -32769, upper => 0);
SELECT dp_declare('t', 'small', lower => 0, upper => 32768);
SELECT dp_declare('t', 'd', lower => 0, upper => 'Infinity'::float8);
SELECT dp_declare('t', 'd', lower => '-Infinity'::numeric, upper => 0);
SELECT dp_declare('t', 'd', lower => 'NaN'::float8, upper => 0);
SELECT dp_declare('t', 'd', lower => 'abc', upper => 'def');
SELECT dp_declare('t', 'd', lower => date '2020-01-01', upper => date '2020-01-02');
SELECT dp_declare('t', 'day', lower => 0, upper => 10);
SELECT dp_declare('t', 'day', lower => date '2020-01-02', upper => date '2020-01-02');
SELECT dp_declare('t', 'day', lower => date '-infinity', upper => date '2020-01-02');
SELECT dp_declare('t', 'at', lower => timestamp '2020-01-02', upper => timestamp 'infinity');
SELECT dp_declare('t', 'day', lower => timestamp '2020-01-01', upper => timestamp '2020-01-02');
SELECT dp_declare('t', 'at', lower => timestamptz '2020-01-01', upper => timestamptz '2020-01-02');
SELECT dp_declare('t', 'day', lower => '2020-02-30', upper => '2020-03-01');
SELECT dp_declare('t', 'day', lower => '2020-02-01', upper => '2020-03-01', granule => 1.0);
SELECT dp_declare('t', 'ward', lower => 'a', upper => 'b');
SELECT dp_declare('t', 'flag', lower => 'f', upper => 't');
SELECT dp_declare('t', 'pay', lower => 0, upper => 1);
-- the granule: a power of two, whole for integers, bounds within 2^62 of them
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => 0.1);
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => 3);
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => 0);
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => -1);
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => 'NaN'::float8);
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => 'Infinity'::float8);
SELECT dp_declare('t', 'age', lower => 0, upper => 1, granule => 0.5);
SELECT dp_declare('t', 'd', lower => 0, upper => 1, granule => 2 ^ -70::numeric);
SELECT dp_declare('t', 'd', lower => 1000000000000000, upper => 1000000000000001);
SELECT dp_declare('t', 'd', lower => 0, upper => 1e300);
SELECT dp_declare('t', 'big', lower => -9223372036854775808, upper => 9223372036854775807);
SELECT dp_declare('t', 'age', lower => 0, upper => 120, granule => 0.3);
SELECT attname, lower, upper, granule FROM declared()
WHERE attname IN ('small', 'age', 'big', 'd', 'day', 'at');
-- 2^62 granules are still allowed
SELECT dp_declare('t', 'big', lower => -9223372036854775808, upper => 9223372036854775807, granule => 2);
SELECT dp_declare('t', 'num', lower => 0, upper => 4611686018427387904, granule => 1);
SELECT dp_declare('t', 'num', lower => 0, upper => 4611686018427387905, granule => 1);

-- Keys; earlier bounds stay, and the other way round.
SELECT dp_declare('t', 'ward', keys => ARRAY['B','A','C'], other => 'other');
SELECT dp_declare('t', 'age', keys => ARRAY[3, 1, 2]);
SELECT dp_declare('t', 'age', lower => 0, upper => 100);
SELECT dp_declare('t', 'big', keys => ARRAY[1::smallint, 2::smallint]);
SELECT dp_declare('t', 'fixed', keys => ARRAY[1, 2.50]);
SELECT dp_declare('t', 'd', keys => ARRAY[0.1, 0.3]::float8[]);
SELECT dp_declare('t', 'day', keys => ARRAY[date '2020-01-02', date '2020-01-01']);
SELECT dp_declare('t', 'atz', keys => ARRAY[timestamptz '2020-01-02 00:00+09']);
SELECT dp_declare('t', 'code', keys => ARRAY['x', 'yy']::varchar[]);
SELECT dp_declare('t', 'flat', keys => ARRAY['x', 'yy']);
SELECT dp_declare('t', 'flag', keys => ARRAY[true, false]);
SELECT dp_declare('t', 'm', keys => ARRAY['happy', 'sad']);
SELECT dp_declare('t', 'm', keys => ARRAY['happy', 'ok']::mood[]);
SELECT dp_declare('t', 'dom', keys => ARRAY[1, 2]::age_domain[]);
SELECT dp_declare('t', 'span', keys => ARRAY[interval '-1 day 2 hours']);
SELECT dp_declare('t', 'raw', keys => ARRAY['\x01', '\x02']::bytea[]);
SELECT dp_declare('t', 'Odd Name', ARRAY['7', '8'], '9');
SELECT * FROM declared() WHERE keys IS NOT NULL;

-- Bad keys change nothing.
SELECT dp_declare('t', 'ward', keys => ARRAY[]::text[]);
SELECT dp_declare('t', 'ward', keys => NULL::text[]);
SELECT dp_declare('t', 'ward', keys => ARRAY['A', NULL]);
SELECT dp_declare('t', 'ward', keys => ARRAY[['A'], ['B']]);
SELECT dp_declare('t', 'ward', keys => ARRAY['A', 'B', 'A']);
SELECT dp_declare('t', 'ward', keys => ARRAY['A', 'B'], other => 'A');
SELECT dp_declare('t', 'num', keys => ARRAY[1.0, 1.00]);
SELECT dp_declare('t', 'age', keys => ARRAY['1', 'x']);
SELECT dp_declare('t', 'age', keys => ARRAY[1.5]);
SELECT dp_declare('t', 'age', keys => ARRAY[1], other => 'other');
SELECT dp_declare('t', 'age', keys => ARRAY[date '2020-01-01']);
SELECT dp_declare('t', 'ward', keys => ARRAY[1, 2]);
SELECT dp_declare('t', 'code', keys => ARRAY['abcd']);
SELECT dp_declare('t', 'fixed', keys => ARRAY[1.005]);
SELECT dp_declare('t', 'fixed', keys => ARRAY[1000]);
SELECT dp_declare('t', 'flat', keys => ARRAY['x', 'x  ']);
SELECT dp_declare('t', 'm', keys => ARRAY['angry']);
SELECT dp_declare('t', 'tags', keys => ARRAY['{a}']);
SELECT dp_declare('t', 'pay', keys => ARRAY['1']);
SELECT dp_declare('t', 'doc', keys => ARRAY['1']);
SELECT dp_declare('t', 'day', keys => ARRAY['2020-02-30']);
RESET ROLE;
SET dp_pg.max_groups = 2;
SELECT dp_declare('t', 'ward', keys => ARRAY['A', 'B', 'C']);
SELECT dp_declare('t', 'flag', keys => ARRAY[false, true]);
RESET dp_pg.max_groups;
SET ROLE regress_declare_owner;
SELECT * FROM declared() WHERE attname IN ('ward', 'age', 'flag', 'm');

-- Declarations follow their columns.
ALTER TABLE t RENAME COLUMN age TO years;
ALTER VIEW t RENAME COLUMN ward TO station;
SELECT attname, lower, keys FROM declared()
WHERE attname IN ('age', 'years', 'ward', 'station');
-- swapped names stay apart
BEGIN;
ALTER TABLE t RENAME COLUMN years TO swap;
ALTER TABLE t RENAME COLUMN big TO years;
ALTER TABLE t RENAME COLUMN swap TO big;
SELECT attname, lower, keys FROM declared() WHERE attname IN ('big', 'years');
ROLLBACK;
SELECT attname, lower, keys FROM declared() WHERE attname IN ('big', 'years');
ALTER TABLE t ALTER COLUMN years TYPE bigint;
ALTER TABLE t DROP COLUMN station, ADD COLUMN station text;
DROP TYPE mood CASCADE;
SELECT attname, lower, keys FROM declared()
WHERE attname IN ('years', 'station', 'm');
-- a typed table follows its type
CREATE TYPE pair AS (a int, b int);
CREATE TABLE typed OF pair;
SELECT dp_protect('typed', unit => 'a', dataset => 'regress_declare');
SELECT dp_declare('typed', 'b', 0, 1);
ALTER TYPE pair RENAME ATTRIBUTE a TO c CASCADE;
ALTER TYPE pair RENAME ATTRIBUTE b TO a CASCADE;
SELECT unit, unit_attnum FROM dp_pg.relation WHERE relid = 'typed'::regclass;
SELECT attname, attnum, lower, upper FROM dp_pg.attribute
WHERE relid = 'typed'::regclass;
RESET ROLE;
-- a restored row is adopted by name
UPDATE dp_pg.attribute SET relid_origin = 1, attnum = 77
WHERE relid = 'typed'::regclass;
CREATE TABLE restored (a int);
ALTER TABLE restored ADD COLUMN b int;
DROP TABLE restored;
SELECT attname, attnum, relid_origin = relid::oid AS adopted
FROM dp_pg.attribute WHERE relid = 'typed'::regclass;

-- What is declared is public; only the owner's functions write it.
SET ROLE regress_declare_other;
SELECT count(*) > 0 AS readable FROM dp_pg.attribute;
UPDATE dp_pg.attribute SET lower = '0';
INSERT INTO dp_pg.attribute VALUES ('t', 0, 'a', 1);
RESET ROLE;
SET ROLE regress_declare_owner;
SELECT dp_unprotect('t');
SELECT dp_unprotect('typed');
SELECT count(*) FROM dp_pg.attribute
WHERE relid IN ('t'::regclass, 'typed'::regclass);
RESET ROLE;

RESET search_path;
SET client_min_messages = error;
DROP OWNED BY regress_declare_owner, regress_declare_other CASCADE;
DROP SCHEMA IF EXISTS regress_declare CASCADE;
DROP ROLE regress_declare_owner, regress_declare_other;
