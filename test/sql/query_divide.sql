-- Division by what has been released: NULL where it is 0; any other divisor
-- means what it means in PostgreSQL.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_divide
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- ward E has no rows, and no age is declared above 120
CREATE VIEW cost AS SELECT id, ward, sex, age, age::numeric AS n, age::float8 AS f, age::float4 AS r, age::int2 AS s, age::int8 AS b, income FROM person;
GRANT SELECT ON cost TO :analyst;
RESET ROLE;
SET ROLE :analyst;
-- every division by a count
SELECT ward, dp_sum(age) / dp_count(*) AS i, round(dp_sum(n, 0, 120) / dp_count(n), 1) AS n, round((dp_sum(f, 0, 120) / dp_count(age))::numeric, 2) AS f, dp_sum(age)::int / dp_count(*)::int AS ii,
	dp_sum(s::int2, 0, 120) / dp_count(*)::int2 AS s, round((dp_sum(r, 0, 120) / dp_count(*)::float4)::numeric, 2) AS r, round((dp_sum(f, 0, 120)::float4 / dp_count(*)::float8)::numeric, 2) AS rf
FROM cost GROUP BY ward;
SELECT ward, dp_sum(age) % dp_count(*) AS m, mod(dp_sum(age)::numeric, dp_count(*)::numeric) AS mod, div(dp_sum(age), dp_count(*)) AS div, dp_sum(age) % dp_count(*)::numeric(10, 2) AS rest,
	make_interval(secs => dp_sum(age)::int) / dp_count(*) AS time, '1000'::money / dp_count(*) IS NULL AS money, dp_count(*) FILTER (WHERE sex) * 100.0 / dp_count(*) AS share, dp_sum(age) / dp_count(DISTINCT id) AS per, round(dp_sum(age) / dp_regr_count(age, income)::numeric) AS pairs
FROM cost GROUP BY ward;
-- as an average is NULL, and in HAVING, ORDER BY and subqueries of the level
SELECT ward, dp_avg(age) IS NULL AS avg, dp_sum(age) / dp_count(age) IS NULL AS quotient FROM person GROUP BY ward HAVING dp_sum(age) / dp_count(*) IS NULL OR ward = 'A' ORDER BY dp_sum(age) / dp_count(*) NULLS FIRST;
SELECT ward, dp_sum(age) / greatest(dp_count(*), 0) AS mean FROM person GROUP BY ward;
SELECT dp_sum(age) / dp_count(*) FROM person WHERE id < 0;
SELECT ward, coalesce(dp_sum(age)::numeric / dp_count(*), -1) > 0 AS positive FROM person GROUP BY ward;
-- computed from released values, and from a subquery
SELECT * FROM outcome('SELECT ward, dp_sum(age) / (dp_count(*) + 0) FROM person GROUP BY ward');
SELECT * FROM outcome('SELECT ward, dp_sum(age) / dp_sum(id, 0, 1000) FROM person GROUP BY ward');
SELECT * FROM outcome('SELECT s / n FROM (SELECT ward, dp_sum(age) AS s, dp_count(*) AS n FROM person GROUP BY ward) t');
SELECT * FROM outcome('SELECT s / nullif(n, 0) FROM (SELECT ward, dp_sum(age) AS s, dp_count(*) AS n FROM person GROUP BY ward) t');
SELECT * FROM outcome('SELECT ward, 1 / 0 FROM person GROUP BY ward HAVING dp_count(*) > 0');
SELECT count(*) / nullif(count(*) - 1, 0) AS plain FROM (VALUES (1)) v;
SELECT * FROM outcome('SELECT 1 / count(*) FROM (SELECT WHERE false) t');
-- in transparent mode, too
SET dp_pg.transparent = on;
SET dp_pg.suppress = off;
SELECT ward, sum(age) / count(age) AS i, sum(age) * 1.0 / count(*) > 40 AS more, sum(age)::float8 / count(*)::float8 > 40 AS f FROM person GROUP BY ward;
SELECT sex, sum(age) / count(age) AS a FROM person WHERE age < 0 GROUP BY ROLLUP (sex);
RESET dp_pg.suppress;
SELECT ward, sum(age) / count(*) AS i FROM person GROUP BY ward;
RESET dp_pg.transparent;
-- a view keeps what was written
CREATE VIEW mean AS SELECT ward, dp_sum(age) / dp_count(*) AS mean FROM person GROUP BY ward;
SELECT pg_get_viewdef('mean') LIKE '%age) / dp_count(*)) AS mean%' AS kept;
SELECT * FROM mean;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
