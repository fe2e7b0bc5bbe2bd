-- Attack: memory.  If one row's expressions take more memory than the server
-- has, an error, or the end of the whole server, reveals that the row exists.
-- So the memory of a row is bounded by the query's text and the declared
-- types, and limited before the charge.
\set VERBOSITY terse
\set owner regress_memory_owner
\set analyst regress_memory_analyst
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE :owner;
CREATE ROLE :analyst;
GRANT CREATE ON SCHEMA public TO :owner;
SET dp_pg.epsilon_ceiling = '1000000';
SET ROLE :owner;
CREATE TABLE person (id int PRIMARY KEY, name text, code varchar(20), doc text, raw bytea, n numeric, c char(10));
ALTER TABLE person ALTER doc SET STORAGE EXTERNAL, ALTER raw SET STORAGE EXTERNAL;
INSERT INTO person SELECT i, 'name ' || i, 'code ' || i, CASE WHEN i <= 10 THEN repeat('x', 2000000) ELSE 'x' END,
	CASE WHEN i <= 10 THEN repeat('y', 2000000)::bytea ELSE 'y' END, i, 'c' || i
FROM generate_series(1, 100) i;
SELECT dp_protect('person', dataset => 'memory');
SELECT dp_declare('person', 'doc', keys => ARRAY['x', 'z'], other => 'longer');
SELECT dp_grant(:'analyst', 'memory', epsilon => 1000000);
RESET ROLE;
CREATE FUNCTION outcome(query text, OUT state text, OUT hinted boolean, OUT charges bigint) LANGUAGE plpgsql AS $$
DECLARE
	hint text;
	before bigint := (SELECT count(*) FROM dp_pg.ledger);
BEGIN
	state := '00000';
	BEGIN
		EXECUTE query;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
		state := SQLSTATE;
		hinted := hint <> '';
	END;
	charges := (SELECT count(*) FROM dp_pg.ledger) - before;
END $$;
SET ROLE :analyst;
SET dp_pg.epsilon = '1000';

-- Padding: ten megabytes for the one row that matches.
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE CASE WHEN id = 1 THEN name ELSE 'b' END::char(10485760) = 'a'$$);
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE name::char(1001) = 'a'$$);
SELECT dp_count(*) FROM person WHERE name::char(1000) = 'name 7';

-- Concatenation with a long parameter, often.
SELECT string_agg(format('(name || $1 || %L) < %L', i, 'q'), ' OR ') AS often FROM generate_series(1, 60) i \gset
PREPARE in_where(text) AS SELECT dp_count(*) FROM person WHERE CASE WHEN id = 1 THEN :often END;
PREPARE in_filter(text) AS SELECT dp_count(*) FILTER (WHERE id = 1 AND (:often)) FROM person;
PREPARE in_argument(text) AS SELECT dp_sum(CASE WHEN :often THEN 1 ELSE 0 END, 0, 1) FROM person;
SELECT * FROM outcome($$EXECUTE in_where(repeat('p', 900000))$$);
SELECT * FROM outcome($$EXECUTE in_filter(repeat('p', 900000))$$);
SELECT * FROM outcome($$EXECUTE in_argument(repeat('p', 900000))$$);
-- a short one of a column with a length
PREPARE bounded(text) AS SELECT dp_count(*) FROM person WHERE (code || $1 || code) < 'q';
SELECT * FROM outcome($$EXECUTE bounded(repeat('p', 900000))$$);
-- the same of a column with a length, without the parameter
SELECT string_agg(format('(code || %L) < %L', i, 'a'), ' OR ') AS bounded FROM generate_series(1, 60) i \gset
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE $$ || :'bounded');
-- many patterns over a column without a length, and over one with
SELECT string_agg(format('doc LIKE %L', '%' || i), ' OR ') AS patterns FROM generate_series(1, 70) i \gset
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE $$ || :'patterns');
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE $$ || replace(:'patterns', 'doc', 'code'));
-- comparisons give back what they fetched
SELECT string_agg(format('doc < %L', 'a' || i), ' OR ') AS comparisons FROM generate_series(1, 300) i \gset
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE $$ || :'comparisons');
-- a column of a subquery counts as often as it is used
SELECT string_agg(format('t LIKE %L', '%' || i), ' OR ') AS uses FROM generate_series(1, 30) i \gset
SELECT * FROM outcome($$SELECT dp_count(*) FROM (SELECT upper(doc) AS t FROM person) AS s WHERE $$ || :'uses');
SELECT * FROM outcome($$SELECT dp_count(*) FROM (SELECT t || t || t || t AS t FROM (SELECT doc || doc || doc || doc AS t FROM person) AS r) AS s WHERE t < 'a' OR t > 'b'$$);
-- lists of predicates, for every mechanism that takes them
SELECT format('ARRAY[%s]', string_agg(format('%L', 'doc LIKE ''%' || i || '''') , ',')) AS list FROM generate_series(1, 70) i \gset
SELECT * FROM outcome($$SELECT dp_argmax('person', $$ || :'list' || $$)$$);
SELECT * FROM outcome($$SELECT * FROM dp_sparse_vector('person', $$ || :'list' || $$, 10)$$);

-- A list of constants is hashed where the first row reaches it, and patterns
-- under ANY are matched one after the other.  Equality gives back what it takes.
PREPARE hashed(int[]) AS SELECT dp_count(*) FROM person WHERE CASE WHEN id = 1 THEN id = ANY ($1) END;
PREPARE unequal(int[]) AS SELECT dp_count(*) FROM person WHERE CASE WHEN id = 1 THEN id <> ALL ($1) END;
SELECT * FROM outcome('EXECUTE hashed(array_fill(NULL::int, ARRAY[3000000]))');
SELECT * FROM outcome('EXECUTE unequal(array_fill(NULL::int, ARRAY[3000000]))');
SELECT * FROM outcome('EXECUTE hashed(array_fill(NULL::int, ARRAY[300000]))');
SELECT n, operator, (SELECT state || ' ' || charges FROM outcome(format('SELECT dp_count(*) FROM person WHERE CASE WHEN id = 1 THEN doc %s (%L::text[]) END',
	operator, array_fill('q%'::text, ARRAY[n])))) AS long, (SELECT state || ' ' || charges
	FROM outcome(format('SELECT dp_count(*) FROM person WHERE code %s (%L::text[])', operator, array_fill('q%'::text, ARRAY[n])))) AS short
FROM unnest(ARRAY[2, 100]) AS n, unnest(ARRAY['LIKE ANY', 'LIKE ALL', 'NOT LIKE ALL', 'ILIKE ANY', '= ANY', '<> ALL', '< ANY']) AS operator ORDER BY 1, 2;
-- each count of distinct values has memory of its own
SELECT string_agg(format('dp_count(DISTINCT id + %s) AS c%s', i, i), ', ') AS many FROM generate_series(1, 65) i \gset
SELECT string_agg(format('dp_count(DISTINCT id + %s) AS c%s', i, i), ', ') AS fewer FROM generate_series(1, 64) i \gset
SELECT * FROM outcome('SELECT ' || :'many' || ' FROM person');
SELECT * FROM outcome('SELECT ' || :'fewer' || ' FROM person');

-- Whatever stands around a long value counts as long as the value.
CREATE TEMP TABLE wrapper (n int, around text);
INSERT INTO wrapper VALUES (1, '(%s COLLATE "C")'), (2, 'nullif(%s, ''1'')'), (3, 'coalesce(%s, ''b'')'),
	(4, 'CASE WHEN id > 0 THEN %s ELSE ''b'' END'), (5, 'greatest(%s, ''b'' COLLATE "C")'), (6, 'least(%s, ''b'' COLLATE "C")'), (7, '(%s)::varchar'),
	(8, '(%s)::varchar::text COLLATE "POSIX"'), (9, 'nullif(coalesce(%s COLLATE "C", ''b''), ''c'')'), (10, 'CASE %s WHEN ''c'' THEN ''d'' ELSE ''e'' END');
RESET ROLE;
CREATE FUNCTION wrapped(around text, inner_most text, levels int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. levels LOOP
		inner_most := format(around, '(' || inner_most || ' || ''a'')');
	END LOOP;
	RETURN inner_most;
END $$;
CREATE FUNCTION asked(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	o record;
BEGIN
	DEALLOCATE ask;
	EXECUTE format('PREPARE ask(text) AS SELECT dp_count(*) FROM person WHERE CASE WHEN id = 1 THEN %s ELSE ''b'' END < ''c''', expression);
	SELECT * INTO o FROM outcome('EXECUTE ask(repeat(''p'', 900000))');
	RETURN o.state || ' ' || o.charges;
END $$;
SET ROLE :analyst;
PREPARE ask(text) AS SELECT 1;
SELECT n, around, asked(wrapped(around, 'name || $1', 80)) AS eighty, asked(wrapped(around, 'name || $1', 3)) AS three FROM wrapper ORDER BY n;
-- a long column: many of them are too much, and long ones are NULL
SELECT n, (SELECT state || ' ' || charges FROM outcome('SELECT dp_count(*) FROM person WHERE '
	|| (SELECT string_agg(format('upper(%s) = ''%s''', format(around, 'doc'), i), ' OR ') FROM generate_series(1, 30) i))) AS thirty
FROM wrapper WHERE n < 10 ORDER BY n;
SELECT string_agg(format('dp_count(*) FILTER (WHERE length(%s) IS NULL) AS w%s', format(around, 'doc'), n), ', ' ORDER BY n) AS nulls
FROM wrapper WHERE n IN (1, 2, 4, 7, 8) \gset
SELECT :nulls FROM person;
SELECT dp_count(*) FILTER (WHERE ((doc, 1) < ('y', 5)) IS NULL) AS row, dp_count(*) FILTER (WHERE ((doc COLLATE "C", 1) < ('y', 5))) AS below,
	dp_count(*) FILTER (WHERE (CASE doc WHEN 'x' THEN 1 WHEN 'y' THEN 2 ELSE 3 END) = 3) AS cases FROM person;
DEALLOCATE ask;
DROP TABLE wrapper;

-- Values longer than 1 MB are NULL to functions, and no error; who they are is
-- not asked where no value is read.
SELECT dp_count(*) FILTER (WHERE doc LIKE 'x%') AS liked, dp_count(*) FILTER (WHERE length(doc) > 0) AS measured,
	dp_count(*) FILTER (WHERE doc < 'y') AS compared, dp_count(*) FILTER (WHERE (doc < 'y') IS NULL) AS unknown,
	dp_count(doc) AS present, dp_count(*) FILTER (WHERE doc IS NULL) AS absent, dp_count(DISTINCT doc) AS different,
	dp_count(*) FILTER (WHERE doc = 'x') AS equal, dp_count(*) FILTER (WHERE doc <> 'x') AS unequal,
	dp_count(*) FILTER (WHERE doc IN ('x', 'y')) AS listed, dp_count(*) FILTER (WHERE doc IN ('1', '2', '3', '4', '5', '6', '7', '8', '9', 'x')) AS hashed,
	dp_count(*) FILTER (WHERE coalesce(doc, 'none') = 'none') AS replaced, dp_count(*) FILTER (WHERE CASE WHEN id > 0 THEN doc END IS NULL) AS chosen
FROM person;
SELECT dp_count(*) FILTER (WHERE length(raw) > 0) AS measured, dp_count(*) FILTER (WHERE raw = 'y') AS equal, dp_count(raw) AS present FROM person;
SELECT doc, dp_count(*) FROM person GROUP BY doc;
SELECT dp_count(*) FILTER (WHERE d LIKE 'x%') AS liked, dp_count(d) AS present FROM (SELECT doc AS d FROM person) AS s;

-- The function that stands around such columns.
SELECT dp_pg.short_value('short'::text), dp_pg.short_value(repeat('x', 1048577)) IS NULL AS long, length(dp_pg.short_value(repeat('x', 1048576)));
SELECT * FROM outcome('SELECT dp_pg.short_value(1)');

-- What groups may take has a limit that the server's owner sets, and EXPLAIN tells.
SELECT * FROM outcome('SET dp_pg.reader_memory = 1000000');
RESET ROLE;
SET dp_pg.reader_memory = '64MB';
SET ROLE :analyst;
\set VERBOSITY default
EXPLAIN SELECT g, dp_median(id, 0, 1000000) FROM generate_series(1, 3000) AS g LEFT JOIN person p ON p.id = g GROUP BY g;
\set VERBOSITY terse
SELECT * FROM outcome('SELECT g, dp_median(id, 0, 1000000) FROM generate_series(1, 3000) AS g LEFT JOIN person p ON p.id = g GROUP BY g');
SELECT * FROM outcome('SELECT count(*) FROM (SELECT g, dp_median(id, 0, 1000000) FROM generate_series(1, 10) AS g LEFT JOIN person p ON p.id = g GROUP BY g) m');

RESET ROLE;
RESET dp_pg.reader_memory;
DROP FUNCTION asked, wrapped, outcome;
DROP TABLE person;
DROP OWNED BY :owner, :analyst;
DROP ROLE :owner, :analyst;
