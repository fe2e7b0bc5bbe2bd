-- dp_argmax(relation, predicates): conditions that overlap.
--
-- Rates are 100000 per row unless said otherwise: a predicate that holds for
-- d rows less than the best one is chosen with probability below
-- exp(-100000 d).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test conditions
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- 1000 patients with overlapping conditions: asthma 300, eczema 400,
-- diabetes 250 of those who answered; no pair of them is disjoint
CREATE TABLE patient (id int PRIMARY KEY, ward text NOT NULL, asthma boolean NOT NULL,
	eczema boolean NOT NULL, diabetes boolean, cost numeric);
INSERT INTO patient SELECT i, (ARRAY['A','B','C'])[1 + i % 3], i % 10 < 3, i % 5 < 2,
	CASE WHEN i <= 500 THEN i % 2 = 0 END, i FROM generate_series(1, 1000) i;
SELECT dp_protect('patient', dataset => :'schema');
CREATE VIEW adult AS SELECT id, asthma, eczema, cost AS price FROM patient WHERE id > 700;
CREATE VIEW hidden AS SELECT * FROM patient;
CREATE TABLE public_price (at int, price numeric);
INSERT INTO public_price VALUES (1, 400), (2, 990);
GRANT SELECT ON adult, public_price TO :analyst;
CREATE TABLE plain (id int, asthma boolean);
RESET ROLE;
CREATE SCHEMA regress_conditions_far AUTHORIZATION :owner;
CREATE TABLE regress_conditions_far.patient (id int PRIMARY KEY);
CREATE FUNCTION far() RETURNS oid LANGUAGE sql SECURITY DEFINER
AS $$ SELECT 'regress_conditions_far.patient'::regclass::oid $$;

-- state, "predicate N: text" of the context, hint or not, charges
CREATE FUNCTION wrong(VARIADIC predicates text[], OUT state text, OUT place text,
	OUT charges bigint) LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	PERFORM spent();
	BEGIN
		state := dp_argmax('patient', predicates);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
		state := SQLSTATE;
		place := substring(context FROM '^predicate \d+: [^\n]*');
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;

CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql
AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || statement; END $$;

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- the most common one, as it was written; a row counts for all that hold
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema', 'diabetes']);
SELECT dp_argmax('patient', ARRAY['asthma', 'NOT eczema  -- the others', 'diabetes']);
SELECT dp_argmax('patient', ARRAY['asthma AND eczema', 'diabetes AND NOT asthma']);
-- NULL does not hold: diabetes is true for 250, false for 250
SELECT dp_argmax('patient', ARRAY['diabetes', 'NOT diabetes', 'diabetes IS NULL']);
SELECT dp_argmax('patient', ARRAY['diabetes', 'NOT diabetes', 'asthma']);
SELECT dp_argmax('patient', ARRAY[$$ward = 'A'$$, $$ward IN ('B', 'C')$$, 'cost > 990']);
SELECT dp_argmax('patient', ARRAY['true']);
SELECT dp_argmax('patient', ARRAY['false', 'null', 'asthma', '''f''']);
SELECT * FROM spent();
-- prices: numeric, integer, double precision, by name; equal ones are ties
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 50.5);
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 50);
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 50.25::float8);
SELECT dp_argmax('patient', predicates => ARRAY['asthma', 'eczema'], epsilon => 50);
SELECT dp_argmax(relation => 'patient', predicates => '{asthma,eczema}', epsilon => 50.25);
SELECT dp_argmax('patient', ARRAY['asthma', 'asthma'], 50);
SELECT * FROM spent();
-- dp_pg.split divides by one
SET dp_pg.split = on;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema', 'diabetes']);
SELECT * FROM spent();
RESET dp_pg.split;
-- the mechanism, and what the session and the ledger say of it
SELECT value, mechanism, epsilon, delta, rho, sensitivity FROM dp_last_release();
SET dp_pg.mechanism = gaussian;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema', 'diabetes'], 10);
SELECT value, mechanism, epsilon, delta, rho, sensitivity FROM dp_last_release();
RESET dp_pg.mechanism;
SELECT mechanism, epsilon, delta, releases FROM dp_pg.ledger ORDER BY id DESC LIMIT 2;
SELECT * FROM spent() \g /dev/null

-- the relation: regclass, schema, variables; text is dp_argmax(expr, ...)
SELECT dp_argmax('patient'::regclass, ARRAY['asthma', 'eczema']);
SELECT dp_argmax((SELECT oid::regclass FROM pg_class WHERE relname = 'patient' AND relnamespace = :'schema'::regnamespace),
	(SELECT array_agg('cost > ' || i) FROM generate_series(100, 900, 100) i));
PREPARE ask(regclass, text[], numeric) AS SELECT dp_argmax($1, $2, $3);
EXECUTE ask('patient', '{asthma,eczema}', 100000);
EXECUTE ask('patient', '{asthma,diabetes}', 100000);
EXECUTE ask('patient', '{nonsense}', 100000);
SELECT charges FROM spent();
PREPARE ask_text(text, text[]) AS SELECT dp_argmax($1::regclass, $2);
EXECUTE ask_text('patient', '{asthma,eczema}');
SELECT charges FROM spent();
SELECT * FROM outcome($$SELECT dp_argmax('patient'::text, ARRAY['asthma'])$$);
-- many: more than one chunk of the exact counts, in order
SELECT dp_argmax('patient', (SELECT array_agg(format('cost > %s AND cost <= %s', i, i + CASE i WHEN 777 THEN 3 ELSE 2 END))
	FROM generate_series(1, 900) i));
SELECT dp_argmax('patient', (SELECT array_agg(format('id = %s', i) ORDER BY i) || 'asthma'::text FROM generate_series(1, n) i))
FROM (VALUES (62), (63), (64), (127), (128)) v (n);
SELECT charges FROM spent();

-- views: the right to read the view, columns by its names
SELECT dp_argmax('adult', ARRAY['asthma', 'eczema', 'price > 950']);
SELECT * FROM outcome($$SELECT dp_argmax('adult', ARRAY['asthma', 'cost > 950'])$$);
SELECT * FROM outcome($$SELECT dp_argmax('hidden', ARRAY['asthma'])$$);
-- relations that are not protected, not there, not reachable
SELECT * FROM outcome($$SELECT dp_argmax('public_price', ARRAY['at > 1'])$$);
SELECT * FROM outcome($$SELECT dp_argmax('plain', ARRAY['asthma'])$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient_pkey', ARRAY['true'])$$);
SELECT * FROM outcome($$SELECT dp_argmax('nowhere', ARRAY['true'])$$);
SELECT * FROM outcome($$SELECT dp_argmax(1, ARRAY['true'])$$);
SELECT * FROM outcome($$SELECT dp_argmax(1::regclass, ARRAY['true'])$$);
SELECT * FROM outcome(format($$SELECT dp_argmax(%s::regclass, ARRAY['true'])$$, far()));

-- which dp_argmax a call means: this function, or the aggregate over a column
RESET ROLE;
CREATE TABLE typed (t text, v varchar, c char(3), n name, i int, f float8, d date, m mood, b bool);
CREATE FUNCTION resolve(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'CREATE VIEW resolved AS SELECT ' || call || ' AS a FROM typed';
	SELECT CASE p.prokind WHEN 'f' THEN 'function' WHEN 'a' THEN 'aggregate' END INTO answer
	FROM pg_depend d JOIN pg_rewrite w ON w.oid = d.objid JOIN pg_proc p ON p.oid = d.refobjid
	WHERE w.ev_class = 'resolved'::regclass AND d.refclassid = 'pg_proc'::regclass AND p.proname = 'dp_argmax';
	DROP VIEW resolved;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT call, resolve(call) FROM unnest(ARRAY[
	$q$dp_argmax('typed', ARRAY['a', 'b'])$q$,
	$q$dp_argmax('typed', ARRAY['a', 'b'], 0.5)$q$,
	$q$dp_argmax('typed', ARRAY['a', 'b'], 1)$q$,
	$q$dp_argmax('typed', ARRAY['a'::varchar])$q$,
	$q$dp_argmax('typed', '{a}'::text[], 0.5::float8)$q$,
	$q$dp_argmax('typed'::regclass, ARRAY['a', 'b'])$q$,
	$q$dp_argmax('typed', ARRAY['a'], epsilon => 1)$q$,
	$q$dp_argmax(relation => 'typed', predicates => '{a}')$q$,
	$q$dp_argmax('typed', '{a}')$q$,
	$q$dp_argmax(t, ARRAY['a', 'b'])$q$,
	$q$dp_argmax(t, '{a,b}')$q$,
	$q$dp_argmax(t, NULL, 0.5)$q$,
	$q$dp_argmax(upper(t), ARRAY['a', 'b'], 1)$q$,
	$q$dp_argmax(v, ARRAY['a', 'b'], 0.5)$q$,
	$q$dp_argmax(v, '{a,b}')$q$,
	$q$dp_argmax(c, ARRAY['a', 'b'])$q$,
	$q$dp_argmax(n, ARRAY['a', 'b'])$q$,
	$q$dp_argmax(i, ARRAY[1, 2])$q$,
	$q$dp_argmax(i, NULL, 1)$q$,
	$q$dp_argmax(f, ARRAY[1, 2], 0.5)$q$,
	$q$dp_argmax(d, NULL)$q$,
	$q$dp_argmax(m, '{sad}')$q$,
	$q$dp_argmax(b)$q$]) call;
SET ROLE :analyst;

-- parameters
SELECT * FROM outcome($$SELECT dp_argmax(NULL, ARRAY['true'])$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', NULL::text[])$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true', NULL])$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', '{}'::text[])$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY[['true'], ['false']])$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', array_fill('true'::text, ARRAY[10001]))$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true'], NULL::numeric)$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true'], NULL::float8)$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true'], 0)$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true'], -1)$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true'], 'NaN'::float8)$$);
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['true'], 'infinity'::float8)$$);

-- what is wrong is named, and nothing is charged
SELECT * FROM wrong('asthma', 'cost >');
SELECT * FROM wrong('asthma', 'true', '');
SELECT * FROM wrong('asthma', '   ');
SELECT * FROM wrong('asthma', '-- only a comment');
SELECT * FROM wrong('asthma', 'nope > 1');
SELECT * FROM wrong('asthma', 'other.cost > 1');
SELECT * FROM wrong('asthma', 'cost');
SELECT * FROM wrong('asthma', 'cost > ''x''');
SELECT * FROM wrong('ward || 1', 'asthma');
SELECT * FROM wrong('asthma', 'no_function(cost)');
-- the error points into the predicate
\set VERBOSITY default
\set SHOW_CONTEXT errors
SELECT dp_argmax('patient', ARRAY['asthma', E'eczema\nOR nope > 1']);
\set SHOW_CONTEXT never
\set VERBOSITY sqlstate
-- it stays in its place
SELECT * FROM wrong('asthma', 'true; DROP TABLE patient');
SELECT * FROM wrong('asthma', 'true; SELECT true');
SELECT * FROM wrong('asthma', 'true) FROM patient; --');
SELECT * FROM wrong('asthma', 'true) OR (true');
SELECT * FROM wrong('asthma', 'true, false');
SELECT * FROM wrong('asthma', 'true AS x');
SELECT * FROM wrong('asthma', 'asthma yes');
SELECT * FROM wrong('asthma', 'true FROM plain');
SELECT * FROM wrong('asthma', 'true WHERE false');
SELECT * FROM wrong('asthma', 'true GROUP BY ward');
SELECT * FROM wrong('asthma', 'true HAVING true');
SELECT * FROM wrong('asthma', 'true ORDER BY 1');
SELECT * FROM wrong('asthma', 'true LIMIT 1');
SELECT * FROM wrong('asthma', 'true OFFSET 1');
SELECT * FROM wrong('asthma', 'true FOR UPDATE');
SELECT * FROM wrong('asthma', 'true WINDOW w AS ()');
SELECT * FROM wrong('asthma', 'DISTINCT asthma');
SELECT * FROM wrong('asthma', 'asthma INTO x');
SELECT * FROM wrong('asthma', 'true UNION SELECT true');
SELECT * FROM wrong('asthma', 'SELECT true');
SELECT * FROM wrong('asthma', 'WITH x AS (SELECT 1) true');
SELECT * FROM wrong('asthma', 'true /* to the end');
SELECT * FROM wrong('asthma', 'ward = ''A');
SELECT * FROM wrong('asthma', 'ward = $q$A');
SELECT * FROM wrong('asthma', 'true --', 'false --');
SELECT * FROM wrong('asthma', '*');
SELECT * FROM wrong('asthma', 'patient.*');
SELECT * FROM wrong('asthma', '$1');
SELECT * FROM wrong('asthma', '$1 = cost');
SELECT * FROM wrong('asthma', 'CURRENT OF c');
SELECT * FROM wrong('asthma', 'DEFAULT');
-- under the rules of WHERE
SELECT * FROM wrong('asthma', 'count(*) > 1');
SELECT * FROM wrong('asthma', 'dp_count(*) > 1');
SELECT * FROM wrong('asthma', 'row_number() OVER () > 1');
SELECT * FROM wrong('asthma', 'generate_series(1, 3) > 1');
SELECT * FROM wrong('asthma', 'unnest(ARRAY[true])');
SELECT * FROM wrong('asthma', 'random() < 0.5');
SELECT * FROM wrong('asthma', 'nextval(1::regclass) > 0');
SELECT * FROM wrong('asthma', 'pg_sleep(1) IS NULL');
SELECT * FROM wrong('asthma', 'cost::text = ''1''');
SELECT * FROM wrong('asthma', 'xmin = ''1''');
SELECT * FROM wrong('asthma', 'ctid = ''(0,1)''');
SELECT * FROM wrong('asthma', 'patient IS NULL');
SELECT * FROM wrong('asthma', 'patient = patient');
SELECT * FROM wrong('asthma', 'EXISTS (SELECT FROM patient)');
SELECT * FROM wrong('asthma', 'id IN (SELECT at FROM public_price)');
SELECT * FROM wrong('asthma', '(SELECT p.at = patient.id FROM public_price p)');
SELECT * FROM wrong('asthma', 'dp_argmax(''patient'', ''{true}''::text[]) = ''true''');
CREATE FUNCTION spy(x anyelement) RETURNS boolean LANGUAGE plpgsql COST 0.0001
	AS $$ BEGIN RAISE WARNING 'seen %', x; RETURN true; END $$;
CREATE OPERATOR === (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text);
CREATE DOMAIN small AS int CHECK (VALUE < 10);
SELECT * FROM wrong('asthma', 'spy(cost)');
SELECT * FROM wrong('asthma', 'ward === ''A''');
SELECT * FROM wrong('asthma', 'id::small = 1');
-- what may fail is total, as in WHERE
SELECT * FROM wrong('1 / (id - id) = 1', 'asthma');
SELECT * FROM wrong('id * 2147483647 > 0', 'asthma AND eczema');
-- subqueries: those that run before, with rights and charges of their own
SELECT * FROM wrong('cost > (SELECT max(price) FROM public_price)', 'cost > (SELECT min(price) FROM public_price)');
SELECT * FROM wrong('cost > (SELECT dp_avg(cost, 0, 1000) + 100 FROM patient)', 'cost < 350');
SELECT * FROM wrong('cost > (SELECT min(cost) FROM patient)', 'asthma');
SELECT * FROM wrong('cost > (SELECT min(cost) FROM plain)', 'asthma');

-- one call, one charge, whatever becomes of the transaction
BEGIN;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 10);
SAVEPOINT s;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 10);
ROLLBACK TO s;
ROLLBACK;
BEGIN READ ONLY;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 10);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 10);
ROLLBACK;
SELECT * FROM spent();
EXPLAIN (COSTS OFF) SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 10);
SELECT * FROM spent();
BEGIN;
DECLARE c CURSOR FOR SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 10) FROM generate_series(1, 3);
SELECT charges FROM spent();
FETCH c;
SELECT charges FROM spent();
FETCH ALL c;
SELECT charges FROM spent();
COMMIT;
-- beside released values, in PL/pgSQL, into a table
SELECT dp_count(*) > 0 AS some, dp_argmax('patient', ARRAY['asthma', 'eczema']) FROM patient;
SELECT charges FROM spent();
CREATE FUNCTION most(rel regclass, low int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	predicates text[];
BEGIN
	FOR i IN 1 .. 3 LOOP
		predicates := array_append(predicates, format('cost > %s', low * i));
		RETURN NEXT dp_argmax(rel, predicates, 100000);
	END LOOP;
	BEGIN
		PERFORM dp_argmax(rel, predicates || 'low > 1'::text);
	EXCEPTION WHEN undefined_column THEN
		RETURN NEXT 'undefined';
	END;
END $$;
SELECT * FROM most('patient', 100);
CREATE TEMP TABLE kept AS SELECT dp_argmax('patient', ARRAY['asthma', 'eczema']) AS answer;
SELECT * FROM kept;
SELECT charges FROM spent();
RESET ROLE;

-- a function of the owner spends its caller's budget
SET ROLE :owner;
CREATE FUNCTION common() RETURNS text LANGUAGE sql SECURITY DEFINER
	AS $$ SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 7) $$;
GRANT EXECUTE ON FUNCTION common() TO :analyst;
RESET ROLE;
SET ROLE :analyst;
SELECT common();
RESET ROLE;
SELECT replace(role, :'test', 'test') AS role, epsilon FROM dp_pg.ledger ORDER BY id DESC LIMIT 1;
SET ROLE :owner;
SELECT dp_argmax('patient', ARRAY['asthma', 'eczema'], 8);
SELECT dp_argmax('hidden', ARRAY['asthma', 'eczema'], 8);
RESET ROLE;
SELECT replace(role, :'test', 'test') AS role, epsilon FROM dp_pg.ledger ORDER BY id DESC LIMIT 1;

-- row security holds as in any query
SET ROLE :owner;
ALTER TABLE patient ENABLE ROW LEVEL SECURITY;
CREATE POLICY dear ON patient FOR SELECT TO :analyst USING (cost > 995 AND NOT asthma);
RESET ROLE;
SET ROLE :analyst;
SELECT dp_argmax('patient', ARRAY['cost <= 995', 'asthma', 'cost > 997', 'cost > 995 AND eczema']);
RESET ROLE;
SET ROLE :owner;
ALTER TABLE patient DISABLE ROW LEVEL SECURITY;
RESET ROLE;

-- plans: parallel workers give the same counts
SET ROLE :owner;
CREATE TABLE big (id int, x int);
INSERT INTO big SELECT i, i % 1000 FROM generate_series(1, 20000) i;
SELECT dp_protect('big', dataset => :'schema', rows => 10000000);
RESET ROLE;
SET ROLE :analyst;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
SELECT dp_argmax('big', (SELECT array_agg(format('x >= %s AND x < %s', i, i + 10 + (i = 613)::int) ORDER BY i) FROM generate_series(1, 900) i));
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
-- the aggregate behind it: EXPLAIN, groups, FILTER
SELECT line FROM plan('SELECT dp_pg.conditions(ARRAY[asthma, eczema], 1) FROM patient') line WHERE line ~ 'Released|Charge';
SELECT eczema, dp_pg.conditions(ARRAY[asthma, ward = 'A']), dp_pg.conditions(ARRAY[asthma, cost < 990]) FILTER (WHERE cost > 900)
FROM patient GROUP BY eczema;
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[]::boolean[]) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.conditions(NULL::boolean[]) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[[asthma], [eczema]]) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[asthma], cost) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[asthma, random() < 0.5]) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.conditions(DISTINCT ARRAY[asthma]) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[asthma]) OVER () FROM patient');
-- its exact half shows nothing
SELECT * FROM outcome('SELECT dp_pg.count_conditions(true) FROM public_price');
SELECT * FROM outcome('SELECT dp_pg.count_conditions(VARIADIC ARRAY[true]) FROM public_price');
SELECT * FROM outcome('SELECT dp_pg.count_conditions(asthma) FROM patient');
SELECT * FROM outcome('SELECT dp_pg.condition_counts_add('''', true)');
SELECT * FROM outcome('SELECT ''x''::dp_pg.condition_counts');
SELECT * FROM outcome('SELECT ''''::dp_pg.condition_counts');

-- the budget
RESET ROLE;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema');
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['asthma'])$$);
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1e9, delta => 1e-6) \g /dev/null
SELECT dp_limit(:'schema', epsilon => 1) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT dp_argmax('patient', ARRAY['asthma'], 100)$$);
RESET ROLE;
DROP SCHEMA regress_conditions_far CASCADE;

-- a text may be somebody else's: nothing of a user's runs while it is read, whoever calls
RESET ROLE;
CREATE FUNCTION touched(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'touched' USING ERRCODE = 'P0999'; END $$;
CREATE DOMAIN touchy AS int CHECK (touched(VALUE));
CREATE DOMAIN pg_temp.touchy_too AS int CHECK (touched(VALUE));
CREATE FUNCTION reads(touchy[]) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION reads_op(int, touchy[]) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR ## (LEFTARG = int, RIGHTARG = touchy[], FUNCTION = reads_op);
CREATE TYPE loud;
CREATE FUNCTION loud_in(cstring) RETURNS loud LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION loud_out(loud) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE loud (INPUT = loud_in, OUTPUT = loud_out, LIKE = text);
CREATE CAST (loud AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE TABLE spoken (id int PRIMARY KEY, word loud);
ALTER TABLE spoken OWNER TO :owner;
SELECT dp_protect('spoken', dataset => 'regress_conditions') \g /dev/null
SET ROLE :owner;
SELECT (outcome('SELECT dp_argmax(''spoken'', ARRAY[''word = ''''x'''''', ''id > 3''])')).state;
SELECT t, (outcome(format('SELECT dp_argmax(''patient'', ARRAY[%L])', t))).state FROM unnest(ARRAY['''{1}''::touchy[] IS NOT NULL', 'touchy ''1'' = 1',
	'''{1}''::regress_conditions.touchy[] IS NOT NULL', '''{1}''::touchy_too[] IS NOT NULL', '''{1}''::pg_temp.touchy_too[] IS NOT NULL', 'reads(''{1}'')', 'regress_conditions.reads(''{1}'')',
	'id ## ''{1}''', 'id OPERATOR(regress_conditions.##) ''{1}''', '(SELECT true)', 'id = ANY (SELECT 1)', 'EXISTS (SELECT)', 'id::patient.id%TYPE = 1', 'id = 1::pg_catalog.int4']) AS t;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
