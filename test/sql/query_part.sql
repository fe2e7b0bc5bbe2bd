-- Columns declared immutable: parts of a relation are charged together, by the
-- largest; and the neighbours replace_one.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_part
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.epsilon = 0.1;
-- what the last charge cost the role, and what the query costs by itself
CREATE FUNCTION charged(OUT epsilon numeric, OUT price_epsilon numeric, OUT parted boolean) LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog AS $$
	SELECT epsilon, price_epsilon, part IS NOT NULL FROM dp_pg.ledger WHERE dataset = 'regress_query_part' ORDER BY id DESC LIMIT 1 $$;
CREATE FUNCTION cost(statement text, OUT state text, OUT epsilon numeric, OUT parted boolean) LANGUAGE plpgsql AS $$
DECLARE
	o record;
BEGIN
	SELECT * INTO o FROM outcome(statement);
	state := o.state;
	IF o.charges > 0 THEN
		SELECT c.epsilon, c.parted INTO epsilon, parted FROM charged() c;
	END IF;
END $$;

-- who may, what can be one
SET ROLE :analyst;
SELECT dp_declare('person', 'ward', immutable => true);
SET ROLE :owner;
SELECT dp_declare('person', 'nosuch', immutable => true);
SELECT dp_declare('person', 'score', immutable => true);
SELECT dp_declare('person', 'feel', immutable => true);
SELECT dp_declare('person', 'ward', immutable => NULL);
SELECT dp_declare('person', 'ward', keys => ARRAY['A','B','C','D','E','F','H','I','J','K'], other => 'other');
SELECT dp_declare('person', 'ward', immutable => true);
SELECT dp_declare('person', 'sex', immutable => true);
SELECT dp_declare('person', 'born', immutable => true);
SELECT dp_declare('person', 'age', immutable => true);
SELECT attname, partition IS NOT NULL AS immutable FROM dp_pg.attribute WHERE relid = 'person'::regclass ORDER BY 1;
-- no row moves, not even for the owner, in replica mode, or through a trigger of his
UPDATE person SET ward = 'A' WHERE id = 3;
UPDATE person SET ward = 'X' WHERE id % 4 = 0;
UPDATE person SET score = 1 WHERE id = 3;
RESET ROLE;
SET session_replication_role = replica;
UPDATE person SET sex = NOT sex WHERE id = 3;
RESET session_replication_role;
SET ROLE :owner;
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.ward := 'B'; RETURN NEW; END $$;
CREATE TRIGGER zz_move BEFORE UPDATE ON person FOR EACH ROW EXECUTE FUNCTION move();
UPDATE person SET score = 1 WHERE id = 3;
DROP TRIGGER zz_move ON person;

-- parts: each costs what it adds to the largest
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''A''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''B''');
SELECT * FROM cost('SELECT dp_count(*), dp_sum(score) FROM person WHERE ''C'' = ward');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''A''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''A''');
SELECT price_epsilon FROM charged();
-- the whole is paid beside them
SELECT * FROM cost('SELECT dp_count(*) FROM person');
-- another column is another partition
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE sex');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE NOT sex');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE sex = true');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE born = ''2020-01-05''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE born = date ''2020-01-06'' AND score > 3');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE age = 3');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE age = 4::smallint');
SELECT * FROM cost('SELECT dp_count(*) FROM (SELECT * FROM person) AS p WHERE p.ward = ''E''');
SELECT * FROM cost('SELECT sex, dp_count(*) FROM person WHERE ward = ''D'' GROUP BY sex');
-- values that nobody declared are one part, so that nobody makes up parts without end
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''X''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''Y''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''other''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''Z''');
-- parameters decide when the query runs
PREPARE ward(text) AS SELECT dp_count(*) IS NOT NULL AS answered FROM person WHERE ward = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE ward('F');
SELECT * FROM charged();
EXECUTE ward('F');
EXECUTE ward('F');
SELECT * FROM charged();
EXECUTE ward('F');
SELECT * FROM charged();
EXECUTE ward(NULL);
SELECT * FROM charged();
DEALLOCATE ward;
-- what does not keep a query in one part pays as the whole
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''A'' OR sex');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward IN (''A'', ''B'')');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward <> ''A''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE lower(ward) = ''a''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = (SELECT ''A''::text)');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = (SELECT CASE WHEN dp_count(*) > 0 THEN ''A'' END FROM person)');
SELECT * FROM cost('SELECT dp_count(*) FILTER (WHERE ward = ''A'') FROM person');
SELECT * FROM cost('SELECT ward, dp_count(*) FROM person GROUP BY ward HAVING ward = ''A''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE age = 3.0');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ward');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE (ward = ''A'') IS TRUE');
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM person WHERE ward = 'A';
-- what can change between the charge and the rows (a setting that a subquery changes) pays as the whole
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE age = date_part(''minute'', ''1970-01-01 00:03:00+00''::timestamptz)::int AND (SELECT set_config(''TimeZone'', ''UTC'', true)) IS NOT NULL');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE born = current_date');
-- a function that only pretends not to change is refused, as all functions of users are
CREATE FUNCTION pretends() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN current_setting('part.age')::int; END $$;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE age = pretends()');

-- taken back and declared again: another partition, whose parts start anew beside what was spent
SET ROLE :owner;
SELECT dp_declare('person', 'ward', immutable => false);
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'person'::regclass AND tgname ~ 'immutable';
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''H''');
SET ROLE :owner;
UPDATE person SET ward = 'A' WHERE id = 4;
SELECT dp_declare('person', 'ward', immutable => true);
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''H''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''A''');
-- called again it stays the same one
SET ROLE :owner;
SELECT dp_declare('person', 'ward', immutable => true);
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''I''');
-- so does declaring other values, and not declaring the same ones again
SET ROLE :owner;
SELECT partition AS before FROM dp_pg.attribute WHERE relid = 'person'::regclass AND attname = 'ward' \gset
SELECT dp_declare('person', 'ward', keys => ARRAY['A','B','C','D','E','F','H','I','J','K'], other => 'others');
SELECT partition = :before AS same FROM dp_pg.attribute WHERE relid = 'person'::regclass AND attname = 'ward';
SELECT dp_declare('person', 'ward', keys => ARRAY['A','B','C','D','E','F','H','I','J','K','L'], other => 'other');
SELECT partition = :before AS same FROM dp_pg.attribute WHERE relid = 'person'::regclass AND attname = 'ward';
SELECT partition AS before FROM dp_pg.attribute WHERE relid = 'person'::regclass AND attname = 'age' \gset
SELECT dp_declare('person', 'age', 0, 120);
SELECT partition = :before AS same FROM dp_pg.attribute WHERE relid = 'person'::regclass AND attname = 'age';
SELECT dp_declare('person', 'age', 0, 121);
SELECT partition = :before AS same FROM dp_pg.attribute WHERE relid = 'person'::regclass AND attname = 'age';
-- its type stays as it is
ALTER TABLE person ALTER ward TYPE varchar(3) USING 'A';
-- not between partitions or inheritance children, where rows can move unseen
CREATE TABLE divided (id int NOT NULL, k int NOT NULL) PARTITION BY LIST (k);
CREATE TABLE divided_1 PARTITION OF divided FOR VALUES IN (1);
CREATE TABLE parent (id int NOT NULL, k int NOT NULL);
CREATE TABLE child () INHERITS (parent);
SELECT dp_protect('divided', dataset => 'regress_query_part') \g /dev/null
SELECT dp_protect('parent', dataset => 'regress_query_part') \g /dev/null
SELECT dp_declare('divided', 'k', immutable => true);
SELECT dp_declare('parent', 'k', immutable => true);
DROP TABLE child;
SELECT dp_declare('parent', 'k', 0, 9);
SELECT dp_declare('parent', 'k', immutable => true);
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM parent WHERE k = 1');
SELECT * FROM cost('SELECT dp_count(*) FROM parent WHERE k = 2');
SET ROLE :owner;
CREATE TABLE child () INHERITS (parent);
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM parent WHERE k = 3');
-- wide bounds make no part of each value, and no error
SET ROLE :owner;
CREATE TABLE wide (id int PRIMARY KEY, b bigint NOT NULL, d date NOT NULL);
SELECT dp_protect('wide', 'id', 'regress_query_part') \g /dev/null
SELECT dp_declare('wide', 'b', 0, 4000000000000000000), dp_declare('wide', 'd', '0001-01-01', '9999-01-01'), dp_declare('wide', 'b', immutable => true), dp_declare('wide', 'd', immutable => true) \g /dev/null
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM wide WHERE b = 7');
SELECT * FROM cost('SELECT dp_count(*) FROM wide WHERE b = 8');
SELECT * FROM cost('SELECT dp_count(*) FROM wide WHERE d = date ''2020-02-01''');
-- a unit that gets another number moves, too; another unit column ends it
SET ROLE :owner;
INSERT INTO wide VALUES (1, 1, '2020-01-01'), (2, 2, '2020-01-01');
UPDATE wide SET id = 3 WHERE id = 1;
SELECT dp_protect('wide', NULL, 'regress_query_part');
SELECT attname, partition IS NULL AS over, guard IS NULL AS unguarded FROM dp_pg.attribute WHERE relid = 'wide'::regclass ORDER BY 1;
UPDATE wide SET id = 3, b = 5 WHERE id = 1;
SELECT dp_unprotect('wide');
-- without its trigger there is no discount, and a new one is a new partition
SET ROLE :owner;
ALTER TABLE person DISABLE TRIGGER USER;
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''J''');
RESET ROLE;
DO $$ DECLARE t name; BEGIN
	FOR t IN SELECT tgname FROM pg_trigger WHERE tgrelid = 'person'::regclass AND tgname ~ 'immutable' LOOP EXECUTE format('DROP TRIGGER %I ON person', t); END LOOP;
END $$;
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''J''');
SET ROLE :owner;
SELECT dp_declare('person', 'ward', immutable => true);
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''J''');

-- a budget admits by what is added: exhausted for the whole, not for another part
RESET ROLE;
SELECT dp_grant('regress_query_part_analyst', 'regress_query_part', (SELECT spent_epsilon FROM dp_pg.budgets WHERE dataset = 'regress_query_part'), 0, 'basic');
SET ROLE :analyst;
SELECT * FROM cost('SELECT dp_count(*) FROM person');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''K''');
SELECT * FROM cost('SELECT dp_count(*) FROM person WHERE ward = ''K''');

-- the other neighbours: sensitivities of the table, no discount for parts
SET ROLE :owner;
SELECT dp_neighbours('regress_query_part', 'replace_one');
CREATE TABLE replaced (id int PRIMARY KEY, x int NOT NULL, g boolean NOT NULL);
SELECT dp_protect('replaced', dataset => 'regress_query_part_replace');
SELECT dp_neighbours('regress_query_part_replace', 'replace_one');
SELECT dp_declare('replaced', 'g', immutable => true);
RESET ROLE;
SELECT dp_grant('regress_query_part_analyst', 'regress_query_part_replace', 100, 1e-6);
SET ROLE :analyst;
SELECT dp_count(*) + dp_sum(x, -1, 10) + coalesce(dp_avg(x, 0, 10), 0) + coalesce(dp_variance(x, 0, 10), 0) + dp_median(x, 0, 10) + cardinality(dp_histogram(x, 0, 10, 2)) IS NOT NULL
	AND dp_argmax(g) IS NOT NULL AS answered FROM replaced;
SELECT value, sensitivity, scale, rho FROM dp_last_release() ORDER BY value;
SELECT g, dp_count(*) + dp_sum(x, -1, 10) + dp_sum(x, 5, 10) + coalesce(dp_avg(x, 0, 10), 0) + coalesce(dp_variance(x, 0, 10), 0) + cardinality(dp_histogram(x, 0, 10, 2)) IS NOT NULL AS answered FROM replaced GROUP BY g;
SELECT value, sensitivity, scale, rho FROM dp_last_release() ORDER BY value;
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
SELECT g, dp_count(*) + dp_sum(x, -1, 10) + dp_sum(x, 5, 10) + coalesce(dp_avg(x, 0, 10), 0) + coalesce(dp_variance(x, 0, 10), 0) + cardinality(dp_histogram(x, 0, 10, 2)) IS NOT NULL AS answered FROM replaced GROUP BY g;
SELECT value, sensitivity, scale, rho FROM dp_last_release() ORDER BY value;
SELECT dp_count(*) + dp_sum(x, -1, 10) + dp_sum(x, 5, 10) IS NOT NULL AS answered FROM replaced;
SELECT value, sensitivity, scale, rho FROM dp_last_release() ORDER BY value;
RESET dp_pg.mechanism;
SELECT dp_count(*) IS NOT NULL AS answered FROM replaced WHERE g;
SELECT epsilon, part IS NOT NULL AS parted FROM dp_pg.ledger WHERE dataset = 'regress_query_part_replace' ORDER BY id DESC LIMIT 1;

-- nothing of it stays behind
SET ROLE :owner;
SELECT dp_unprotect('person');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'person'::regclass;
UPDATE person SET sex = NOT sex WHERE id = 3;

-- a table that becomes a partition: rows can move through its parent, so its parts are others afterwards
SET ROLE :owner;
CREATE TABLE stay (id int PRIMARY KEY, ward varchar(8) COLLATE "C" NOT NULL, age int);
INSERT INTO stay SELECT i, (ARRAY['A', 'B', 'C'])[1 + i % 3], i % 100 FROM generate_series(1, 300) AS i;
SELECT dp_protect('stay', unit => 'id', dataset => 'regress_query_part_stay'), dp_declare('stay', 'ward', keys => ARRAY['A', 'B', 'C']),
	dp_declare('stay', 'ward', immutable => true) \g /dev/null
SELECT dp_grant('regress_query_part_analyst', 'regress_query_part_stay', 1000000, 1e-6);
SELECT partition AS before FROM dp_pg.attribute WHERE relid = 'stay'::regclass AND attname = 'ward' \gset
CREATE TABLE stays (id int NOT NULL, ward varchar(8) COLLATE "C" NOT NULL, age int) PARTITION BY RANGE (age);
CREATE TABLE stays_old PARTITION OF stays FOR VALUES FROM (1000) TO (9000);
SET client_min_messages = notice;
\set VERBOSITY terse
ALTER TABLE stays ATTACH PARTITION stay FOR VALUES FROM (0) TO (1000);
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT partition, guard FROM dp_pg.attribute WHERE relid = 'stay'::regclass AND attname = 'ward';
UPDATE stays SET age = age + 1000 WHERE ward = 'A';
UPDATE stays SET ward = 'B' WHERE age >= 1000;
UPDATE stays SET age = age - 1000 WHERE age >= 1000;
ALTER TABLE stays DETACH PARTITION stay;
SELECT dp_declare('stay', 'ward', immutable => true) \g /dev/null
SELECT partition <> :before AS another, partition = guard AS guarded FROM dp_pg.attribute WHERE relid = 'stay'::regclass AND attname = 'ward';

-- a trigger of that name that lets changes through is no guard
CREATE FUNCTION after(condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE guard text := (SELECT 'dp_pg_immutable_' || a.guard FROM dp_pg.attribute AS a WHERE relid = 'stay'::regclass AND attname = 'ward');
BEGIN
	EXECUTE format('DROP TRIGGER %I ON stay', guard);
	EXECUTE format('CREATE TRIGGER %I AFTER UPDATE ON stay FOR EACH ROW %s EXECUTE FUNCTION dp_pg.refuse_change()', guard, condition);
	EXECUTE format('ALTER TABLE stay ENABLE ALWAYS TRIGGER %I', guard);
END $$;
CREATE FUNCTION parted() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS
'SELECT part IS NOT NULL FROM dp_pg.ledger WHERE dataset = ''regress_query_part_stay'' ORDER BY id DESC LIMIT 1';
SELECT after('WHEN (false)');
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL AS answered FROM stay WHERE ward = 'B';
SET ROLE :owner;
SELECT parted();
SELECT after('WHEN (OLD.ward IS DISTINCT FROM NEW.ward AND OLD.id = 1)');
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL AS answered FROM stay WHERE ward = 'B';
SET ROLE :owner;
SELECT parted();
SELECT after('WHEN (OLD.ward IS DISTINCT FROM NEW.ward)');
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL AS answered FROM stay WHERE ward = 'B';
SET ROLE :owner;
SELECT parted();
SELECT after('WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.ward IS DISTINCT FROM NEW.ward)');
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL AS answered FROM stay WHERE ward = 'B';
SET ROLE :owner;
SELECT parted();
SELECT after('WHEN (OLD.id IS DISTINCT FROM NEW.id OR NEW.ward IS DISTINCT FROM OLD.ward)');
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL AS answered FROM stay WHERE ward = 'B';
SET ROLE :owner;
SELECT parted();
SELECT after('');
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL AS answered FROM stay WHERE ward = 'B';
SET ROLE :owner;
SELECT parted();
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
