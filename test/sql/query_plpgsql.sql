-- Private queries in PL/pgSQL and in SQL functions.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_plpgsql
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- variables as values, prices and bounds; INTO, assignment, loops, RETURN QUERY
CREATE FUNCTION ask(a int, eps numeric) RETURNS TABLE (what text, n numeric) LANGUAGE plpgsql AS $$
DECLARE
	total bigint;
	w text;
	high numeric := 120;
	r record;
BEGIN
	SELECT dp_count(1, eps) INTO total FROM person WHERE age < a;
	what := 'into'; n := total; RETURN NEXT;
	total := (SELECT dp_sum(age, 0, high, eps) FROM person WHERE age < a);
	what := 'assigned'; n := total; RETURN NEXT;
	FOR r IN SELECT ward, dp_count(*) AS c FROM person WHERE age < a GROUP BY ward LOOP
		what := r.ward; n := r.c; RETURN NEXT;
	END LOOP;
	FOR i IN 1 .. 2 LOOP
		what := 'loop ' || i;
		n := (SELECT dp_count(*) FROM person WHERE age < i);
		RETURN NEXT;
	END LOOP;
	EXECUTE 'SELECT dp_count(1, $2) FROM person WHERE age < $1' INTO n USING a, eps;
	what := 'dynamic'; RETURN NEXT;
	FOREACH w IN ARRAY ARRAY['A', 'B'] LOOP
		RETURN QUERY SELECT w || '!', dp_count(*)::numeric FROM person WHERE ward = w AND age < a;
	END LOOP;
	IF (SELECT dp_count(*) FROM person WHERE age < a) > 5 THEN
		what := 'condition'; n := 1; RETURN NEXT;
	END IF;
	RETURN;
END $$;
SELECT * FROM ask(10, 30000);
SELECT * FROM spent();
-- many times: the cached plans turn generic
CREATE FUNCTION many(OUT right_ bigint) LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	right_ := 0;
	FOR i IN 1 .. 20 LOOP
		SELECT dp_count(*) INTO n FROM person WHERE age < i;
		right_ := right_ + (n = 10 * i)::int;
	END LOOP;
END $$;
SELECT * FROM many();
SELECT * FROM spent();
-- bad variables
CREATE FUNCTION price_of(eps numeric) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN dp_count(1, eps) FROM person; END $$;
SELECT price_of(20000);
SELECT * FROM outcome('SELECT price_of(0)');
SELECT * FROM outcome('SELECT price_of(NULL)');
SELECT * FROM outcome('SELECT price_of(''NaN'')');

-- cursors
CREATE FUNCTION cursors() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	bound CURSOR (a int) FOR SELECT ward, dp_count(*) AS n FROM person WHERE age < a GROUP BY ward;
	free refcursor;
	r record;
BEGIN
	OPEN bound(10);
	FETCH bound INTO r;
	RETURN NEXT 'first ' || r.ward || ' ' || r.n;
	FETCH LAST FROM bound INTO r;
	RETURN NEXT 'last ' || r.ward || ' ' || r.n;
	FETCH PRIOR FROM bound INTO r;
	RETURN NEXT 'prior ' || r.ward || ' ' || r.n;
	CLOSE bound;
	OPEN free FOR SELECT dp_count(*) AS n FROM person WHERE sex;
	LOOP
		FETCH free INTO r;
		EXIT WHEN NOT FOUND;
		RETURN NEXT 'free ' || r.n;
	END LOOP;
	CLOSE free;
	FOR r IN bound(20) LOOP
		RETURN NEXT 'for ' || r.ward || ' ' || r.n;
	END LOOP;
END $$;
SELECT * FROM cursors();
SELECT * FROM spent();
-- exception blocks: what was asked stays charged
CREATE FUNCTION undo() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	BEGIN
		SELECT dp_count(1, 7) INTO n FROM person;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	BEGIN
		SELECT dp_count(1, 0) INTO n FROM person;
	EXCEPTION WHEN invalid_parameter_value THEN
		RETURN 'refused';
	END;
	RETURN 'answered';
END $$;
SELECT undo();
SELECT * FROM spent();
-- DO, COMMIT and ROLLBACK in procedures
CREATE PROCEDURE transacting() LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	m bigint;
BEGIN
	CREATE TABLE answers (n bigint);
	COMMIT;
	INSERT INTO answers SELECT dp_count(1, 30000) FROM person;
	ROLLBACK;
	INSERT INTO answers SELECT dp_count(1, 30000) FROM person;
	COMMIT;
	FOR n IN SELECT dp_count(1, 30000) FROM person GROUP BY ward LOOP
		INSERT INTO answers VALUES (n);
		COMMIT;
	END LOOP;
END $$;
CALL transacting();
SELECT n FROM answers;
SELECT * FROM spent();
DO $$ BEGIN PERFORM dp_count(*) FROM person; END $$;
SELECT * FROM spent();

-- SQL functions: inlined and not, old and new style, scalar and set-returning
CREATE FUNCTION inlined(a int) RETURNS TABLE (ward text, n bigint) LANGUAGE sql STABLE AS
'SELECT ward, dp_count(*) FROM person WHERE age < a GROUP BY ward';
CREATE FUNCTION fenced(a int) RETURNS TABLE (ward text, n bigint) LANGUAGE sql VOLATILE AS
'SELECT ward, dp_count(*) FROM person WHERE age < a GROUP BY ward';
CREATE FUNCTION atomic(a int) RETURNS TABLE (ward text, n bigint) LANGUAGE sql STABLE BEGIN ATOMIC
	SELECT p.ward, dp_count(*) FROM person p WHERE p.age < a GROUP BY p.ward; END;
CREATE FUNCTION scalar(a int) RETURNS bigint LANGUAGE sql STABLE AS
'SELECT dp_count(*) FROM person WHERE age < a';
CREATE FUNCTION scalar_atomic(a int) RETURNS bigint LANGUAGE sql RETURN (SELECT dp_count(*) FROM person WHERE age < a);
CREATE FUNCTION two(a int) RETURNS bigint LANGUAGE sql AS
'SELECT dp_count(1, 20000) FROM person; SELECT dp_count(*) FROM person WHERE age < a';
SELECT * FROM inlined(10) ORDER BY ward;
SELECT * FROM fenced(10);
SELECT * FROM atomic(10);
SELECT scalar(10), scalar_atomic(20), two(30);
SELECT * FROM spent();
SELECT i, scalar(i), scalar_atomic(i) FROM generate_series(1, 3) i;
SELECT * FROM spent();
-- a function whose rows are the analyst's: no private rowset of another's
SELECT * FROM outcome('SELECT dp_count(*) FROM fenced(10)');
-- a private block inside a function that runs on private rows
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age < scalar(3)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age < scalar(age)');
-- what the caller asks inside somebody's SECURITY DEFINER function, the caller pays
RESET ROLE;
SET ROLE :owner;
CREATE FUNCTION service() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT dp_count(1, 4) FROM person';
CREATE FUNCTION raw_service() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM person';
SET ROLE :analyst;
SELECT service() IS NOT NULL, raw_service();
SELECT * FROM spent();
SELECT role = :'analyst' AS asked, payer = :'analyst' AS paid, epsilon FROM dp_pg.ledger ORDER BY id DESC LIMIT 1;
-- triggers of the analyst may ask
CREATE TABLE ping (n bigint);
CREATE FUNCTION on_ping() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := (SELECT dp_count(*) FROM person); RETURN NEW; END $$;
CREATE TRIGGER ask BEFORE INSERT ON ping FOR EACH ROW EXECUTE FUNCTION on_ping();
INSERT INTO ping VALUES (1), (2) RETURNING n;
SELECT * FROM spent();

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
