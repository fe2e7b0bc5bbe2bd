-- Attacks on released tables: names that vanish while they are used, and the
-- rights of a procedure that takes names from its caller.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_release
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, smoker boolean NOT NULL, age int NOT NULL);
INSERT INTO patient SELECT i, i % 3 = 0, i FROM generate_series(1, 30) AS i;
SELECT dp_protect('patient', dataset => :'schema');
RESET ROLE;

-- candidates, or the relation, dropped while candidates are read: the first
-- are read already, without the second nothing is charged
SET ROLE :analyst;
CREATE FUNCTION forget(name text, answer int) RETURNS numeric[] LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP VIEW IF EXISTS %I', name);
	RETURN ARRAY[answer];
END $$;
CREATE VIEW candidate AS SELECT 1 AS id, forget('candidate', 5) AS answers;
SELECT * FROM dp_net('patient', 'candidate', ARRAY['smoker'], 1) AS t(id int);
CREATE VIEW mine AS SELECT * FROM patient;
CREATE VIEW candidate AS SELECT 1 AS id, forget('mine', 5) AS answers;
SELECT * FROM outcome($$SELECT * FROM dp_net('mine', 'candidate', ARRAY['smoker'], 1) AS t(id int)$$);
SELECT parameters ->> 'table' AS candidates, delivered FROM dp_pg.releases ORDER BY id;

-- a view's function never runs with the rights of a procedure that was given
-- the view's name
CREATE FUNCTION who() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'regress_attack_release_analyst' THEN
		RAISE EXCEPTION 'runs as %', current_user USING ERRCODE = 'DPSPY';
	END IF;
	RETURN 20;
END $$;
CREATE VIEW spy AS SELECT id, smoker, age FROM patient WHERE age <= (SELECT who());
GRANT SELECT ON spy TO :owner;
RESET ROLE;
SET ROLE :owner;
CREATE FUNCTION rows_of(relation regclass) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
	SELECT count(*) FROM dp_synthesize(relation::oid::dp_pg.regrelation, ARRAY['smoker'], 1, 100000, method => 'mwem', rows => 7)
		AS t(smoker boolean) $$;
CREATE FUNCTION large(relation regclass) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
	SELECT count(*) FROM dp_sparse_vector(relation::oid::dp_pg.regrelation, ARRAY['smoker'], 10, epsilon => 1) $$;
CREATE FUNCTION most(relation regclass) RETURNS text LANGUAGE sql SECURITY DEFINER AS $$
	SELECT dp_argmax(relation::oid::dp_pg.regrelation, ARRAY['smoker', 'NOT smoker']) $$;
CREATE FUNCTION small(x anyelement) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	RETURN (SELECT count(*) FROM dp_smalldb(x, ARRAY['smoker'], queries => ARRAY['smoker', 'NOT smoker', 'true'], n => 30, alpha => 0.9) AS s);
END $$;
CREATE FUNCTION after(relation regclass) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_attack_release, public, pg_temp AS $$
BEGIN
	PERFORM dp_argmax(relation::oid::dp_pg.regrelation, ARRAY['smoker', 'NOT smoker']);
	RETURN current_setting('search_path') || ' ' || initcap('as written');
END $$;
RESET ROLE;
SET ROLE :analyst;
-- nor later, by a setting that it leaves behind
CREATE FUNCTION initcap(text) RETURNS text LANGUAGE sql AS $$ SELECT 'initcap of ' || current_user $$;
CREATE FUNCTION leave() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', 'regress_attack_release, pg_catalog, public', false);
	RETURN 20;
END $$;
CREATE VIEW sly AS SELECT id, smoker, age FROM patient WHERE age <= (SELECT leave());
GRANT SELECT ON sly TO :owner;
SELECT after('sly');
-- nor in the CHECK of a domain
CREATE FUNCTION checked(text) RETURNS boolean LANGUAGE sql AS $$ SELECT who() = 20 $$;
CREATE DOMAIN trap AS text CHECK (checked(VALUE));
CREATE VIEW typed AS SELECT id, smoker, (SELECT NULL::trap) AS z FROM patient;
GRANT SELECT ON typed TO :owner;
SELECT small(NULL::typed);
SELECT rows_of('spy');
SELECT large('spy');
SELECT most('spy');
-- nor while the view is judged, where a constant is looked for
CREATE FUNCTION who(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT who()::text || $1 $$;
CREATE VIEW likes AS SELECT id, smoker, age FROM patient WHERE initcap('x') LIKE who('%') OR age::text LIKE who('%');
CREATE VIEW fields AS SELECT id, smoker, age FROM patient WHERE date_trunc(who('day'), timestamp '2020-01-01' + age * interval '1 day') IS NOT NULL;
CREATE VIEW typed_likes AS SELECT id, smoker, age FROM patient WHERE age::varchar(3) LIKE ('%'::trap)::text;
GRANT SELECT ON likes, fields, typed_likes TO :owner;
SELECT most('likes');
SELECT most('fields');
SELECT most('typed_likes');
SELECT large('likes');
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
