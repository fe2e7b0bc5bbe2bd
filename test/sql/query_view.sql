-- Views of private rows (plain, security_invoker, published), views that
-- contain the release, and SQL functions in FROM.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_view
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE VIEW adult AS SELECT id, ward, age, sex, feel FROM person WHERE age >= 18;
CREATE VIEW adult_invoker WITH (security_invoker) AS SELECT id, ward, age, sex FROM person WHERE age >= 18;
CREATE VIEW adult_barrier WITH (security_barrier) AS SELECT * FROM person WHERE age >= 18;
CREATE VIEW woman AS SELECT a.ward AS unit, a.age FROM adult a WHERE NOT sex;
CREATE VIEW secret AS SELECT * FROM person;
CREATE VIEW first_ten AS SELECT * FROM person ORDER BY id LIMIT 10;
CREATE VIEW ward_count AS SELECT ward, count(*) AS n FROM person GROUP BY ward;
GRANT SELECT ON adult, adult_invoker, adult_barrier, woman, first_ten, ward_count TO :analyst;
-- the release made by the owner's view, for whoever reads it
CREATE VIEW published AS SELECT ward, dp_count(1, 0.5) AS n FROM person GROUP BY ward;
GRANT SELECT ON published TO PUBLIC;
CREATE TABLE visit (id int PRIMARY KEY, ward text NOT NULL, cost numeric);
INSERT INTO visit SELECT i, 'A', i FROM generate_series(1, 10) i;
SELECT dp_protect('visit', dataset => :'schema', publish => :'schema' || '.visits');
CREATE FUNCTION young(limit_ int) RETURNS TABLE (age int, ward text) LANGUAGE sql STABLE
AS 'SELECT age, ward FROM person WHERE age < limit_';
RESET ROLE;

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
SELECT dp_count(*), dp_sum(age) FROM adult;
SELECT dp_count(*), dp_sum(age) FROM adult_invoker;
SELECT dp_count(*), dp_sum(age) FROM adult_barrier;
SELECT ward, dp_count(*) FROM adult WHERE sex GROUP BY ward;
SELECT ward, dp_count(*) FROM adult_invoker WHERE sex GROUP BY ward;
SELECT unit, dp_count(*), round(dp_avg(age), 2) FROM woman GROUP BY unit;
SELECT dp_count(*), round(dp_sum(cost, 0, 100)) FROM visits;
SELECT * FROM spent();
-- the view that contains the release: the reader asks and pays
SELECT count(*), bool_and(n IS NOT NULL) FROM published;
SELECT * FROM spent();
SELECT p.ward FROM published p JOIN published q USING (ward) WHERE p.n <> q.n + 1e9 ORDER BY 1;
SELECT * FROM spent();
CREATE VIEW mine AS SELECT ward, dp_count(*) AS n FROM person GROUP BY ward;
CREATE VIEW mine_adult AS SELECT dp_count(*) AS n FROM adult;
SELECT * FROM mine WHERE n > 0 ORDER BY ward;
SELECT * FROM mine_adult;
SELECT sum(n) FROM mine;
SELECT * FROM spent();
-- reading without DP: denied where security_invoker or no grant says so, and
-- a view of private rows that was granted plainly is the owner's own doing
SELECT * FROM outcome('SELECT * FROM adult_invoker');
SELECT * FROM outcome('SELECT * FROM visits');
SELECT * FROM outcome('SELECT count(*) FROM visits');
SELECT * FROM outcome('SELECT * FROM secret');
-- a private query needs the right to read the view
SELECT * FROM outcome('SELECT dp_count(*) FROM secret');
-- views that are no private rowset
SELECT * FROM outcome('SELECT dp_count(*) FROM first_ten');
SELECT * FROM outcome('SELECT dp_count(*) FROM ward_count');
SELECT * FROM outcome('SELECT dp_sum(n, 0, 1000) FROM ward_count');
-- columns that the view does not show
SELECT * FROM outcome('SELECT dp_sum(income) FROM adult');
-- the analyst's own view of rows it may not read: denied as a plain one,
-- but its rows can be asked privately
CREATE VIEW my_rows AS SELECT * FROM person WHERE age < 10;
SELECT * FROM outcome('SELECT * FROM my_rows');
SELECT dp_count(*) FROM my_rows;
-- and with code of its own in it
CREATE FUNCTION peek(int) RETURNS int LANGUAGE plpgsql COST 1e-9 AS $$ BEGIN RAISE NOTICE '%', $1; RETURN $1; END $$;
CREATE VIEW my_peek AS SELECT peek(age) AS age FROM person;
SELECT * FROM outcome('SELECT dp_sum(age, 0, 100) FROM my_peek');
-- writing through views is no private query
SELECT * FROM outcome('DELETE FROM adult_invoker');
SELECT * FROM outcome('UPDATE visits SET cost = 0');
-- SQL functions over private rows, inlined
SELECT ward, dp_count(*) FROM young(10) GROUP BY ward;
-- the definition of a view with a release survives a dump
-- (spaces and qualifiers differ between versions of PostgreSQL)
SELECT c, replace(regexp_replace(pg_get_viewdef(c::regclass), '\s+', ' ', 'g'), 'person.', '') FROM unnest('{mine,published}'::text[]) AS c;
-- and asks the same: definitions show casts that nobody wrote
CREATE VIEW long AS
	SELECT dp_sum(age, 0, 99.12345678901234567890, 0.123456789012345678901) AS sum, dp_avg(DISTINCT age, 0, 99.5) AS avg,
		dp_max(age, 0, 99.5, 0.123456789012345678901) AS max, dp_quantile(income, 0.1, 0, 99.12345678901234567890) AS quantile,
		dp_corr(score, score, 0, 99.5, 0, 99.12345678901234567890) AS corr, dp_stddev(score, 0.25) AS stddev,
		dp_histogram(age, 10) AS ages, dp_histogram(income, 0, 99.12345678901234567890, 10, 0.123456789012345678901) AS incomes,
		dp_bounds(age) AS bounds FROM person;
SELECT pg_get_viewdef('long') AS definition \gset
CREATE VIEW restored AS :definition
SELECT pg_get_viewdef('long') = pg_get_viewdef('restored') AS same_text;
CREATE FUNCTION plan_of(name regclass) RETURNS TABLE (line text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM %s', name);
END
$$;
SELECT line FROM plan_of('long') line WHERE line ~ 'Released|Charge';
SELECT array_agg(l) = (SELECT array_agg(l) FROM plan_of('restored') l) AS same_plan FROM plan_of('long') l;
-- parameters are written one by one, as many as there are
SELECT call, state, hinted, charges FROM unnest('{
	"dp_max(age, 0, 99, 1)", "dp_max(age, VARIADIC ARRAY[0, 99, 1]::float8[])", "dp_max(age, VARIADIC ARRAY[]::float8[])",
	"dp_max(age, VARIADIC ARRAY[0, 99])", "dp_max(age, VARIADIC ''{0,99}'')", "dp_max(age, VARIADIC NULL)",
	"dp_max(age, VARIADIC ARRAY[[0, 99]]::float8[])", "dp_max(age, VARIADIC ARRAY[0, age]::float8[])",
	"dp_max(age, 1, 2, 3, 4)", "dp_quantile(age, 0.5, 1, 2, 3, 4)", "dp_quantile(age, VARIADIC ARRAY[]::float8[])",
	"dp_corr(age, age, 1, 2)", "dp_regr_avgx(age, age, 1, 2, 3, 4, 5)", "dp_sum(age, 1, 2, 3, 4)", "dp_max(age, 0, 1e400)",
	"dp_max(age, 0, NULL)", "dp_max(age, 0, 99, NULL)", "dp_max(age, 0, 99, ''NaN'')"}'::text[]) AS call,
	outcome('SELECT ' || call || ' FROM person');
-- a view is replaced between two executions
PREPARE ask AS SELECT dp_count(*) FROM adult;
EXECUTE ask;
RESET ROLE;
SET ROLE :owner;
CREATE OR REPLACE VIEW adult AS SELECT id, ward, age, sex, feel FROM person WHERE age >= 50;
SET ROLE :analyst;
EXECUTE ask;
RESET ROLE;
SET ROLE :owner;
REVOKE SELECT ON adult FROM :analyst;
SET ROLE :analyst;
SELECT * FROM outcome('EXECUTE ask');
-- a materialized view is filled by its owner, who pays each time (refresh.sql);
-- rows are in none
SELECT * FROM outcome('CREATE MATERIALIZED VIEW kept AS SELECT ward, dp_count(*) AS n FROM person GROUP BY ward');
SELECT * FROM outcome('REFRESH MATERIALIZED VIEW kept');
SELECT * FROM outcome('CREATE MATERIALIZED VIEW raw AS SELECT * FROM person');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
