-- What queries cost, when a budget is exhausted, and what its role sees.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_account
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE FUNCTION grant_(eps numeric, delta numeric DEFAULT 0, filter text DEFAULT 'basic', renew interval DEFAULT NULL)
RETURNS void LANGUAGE sql AS
$$ SELECT dp_grant('regress_query_account_analyst', 'regress_query_account', eps, delta, filter, renew) $$;
CREATE VIEW standing AS SELECT b.epsilon, spent_epsilon, spent_delta, charges, total_epsilon FROM dp_pg.budgets b
WHERE dataset = 'regress_query_account' AND role = 'regress_query_account_analyst';
GRANT SELECT ON standing TO PUBLIC;

-- 0.1 three times is exactly 0.3
SELECT grant_(0.3);
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT state, charges FROM outcome('SELECT dp_count(*) FROM person');
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.1::float8) FROM person');
SELECT * FROM outcome('SELECT dp_count(1, 0.100000000000000000000001) FROM person');
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.10000) FROM person');
SELECT * FROM standing;
-- exhausted: 53400, explained, not charged, however small
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
SELECT * FROM outcome('SELECT dp_count(1, 0.001) FROM person');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE false');
SELECT * FROM standing;
CREATE FUNCTION refusal(statement text, OUT asked boolean, OUT remains boolean, OUT hint boolean, OUT renews boolean) LANGUAGE plpgsql AS $$
DECLARE
	m text;
	d text;
	h text;
BEGIN
	EXECUTE statement;
EXCEPTION WHEN configuration_limit_exceeded THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
	asked := d ~ '[01]\.25'; remains := d ~ 'remain'; hint := h <> ''; renews := (d || h) ~* '20[0-9][0-9]-';
END $$;
SELECT * FROM refusal('SELECT dp_count(1, 0.25) FROM person');
-- raised, it goes on; lowered, what was spent stays spent
RESET ROLE;
SELECT grant_(0.35);
SET ROLE :analyst;
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.06) FROM person') UNION ALL SELECT state, charges FROM outcome('SELECT dp_count(1, 0.05) FROM person');
RESET ROLE;
SELECT grant_(0.1);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(1, 0.001) FROM person');
SELECT * FROM standing;
RESET ROLE;
-- revoke and grant again: nothing is refunded
SELECT dp_revoke(:'analyst', :'schema');
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
RESET ROLE;
SELECT grant_(0.35);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(1, 0.001) FROM person');
RESET ROLE;

-- one query, the sum of its values; equal values once; keys once
SELECT grant_(1e9);
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
SELECT dp_count(1, 0.5) IS NOT NULL, dp_sum(age, 0.25) IS NOT NULL FROM person;
SELECT * FROM spent();
SELECT dp_count(*) IS NOT NULL, dp_sum(age) IS NOT NULL, dp_avg(age) IS NOT NULL FROM person;
SELECT * FROM spent();
SELECT dp_count(1, 0.5) = dp_count(1, 0.5) AS same, dp_sum(age, 0.25) = dp_sum(age, 0.25) AS same FROM person;
SELECT * FROM spent();
SELECT dp_count(1, 0.5) IS NOT NULL, dp_count(1, 0.25) IS NOT NULL, dp_sum(age, 0, 120, 1) IS NOT NULL, dp_sum(age, 0, 100, 1) IS NOT NULL FROM person;
SELECT * FROM spent();
SELECT dp_count(*) FILTER (WHERE sex) IS NOT NULL, dp_count(*) FILTER (WHERE NOT sex) IS NOT NULL, dp_count(*) FILTER (WHERE sex) IS NOT NULL FROM person;
SELECT * FROM spent();
SELECT count(*) FROM (SELECT ward, sex, dp_count(*) FROM person GROUP BY ward, sex) t;
SELECT * FROM spent();
SELECT count(*) FROM (SELECT born, dp_count(*), dp_sum(age) FROM person GROUP BY born) t;
SELECT * FROM spent();
SELECT count(*) FROM (SELECT ward FROM person GROUP BY ward HAVING dp_count(*) > -1000 OR dp_avg(age) >= 0 ORDER BY dp_sum(age)) t;
SELECT * FROM spent();
-- a value that is not shown costs what it costs
SELECT 1 AS one FROM (SELECT dp_count(*) FROM person) t;
SELECT charges <= 1 AS once FROM spent();
SELECT (SELECT dp_count(1, 0.5) FROM person) IS NOT NULL, dp_count(1, 0.25) IS NOT NULL FROM person WHERE age < (SELECT dp_avg(age, 0.125) FROM person);
SELECT * FROM spent();
-- all of it or none: the second of two does not fit
RESET ROLE;
SELECT grant_((SELECT spent_epsilon FROM standing) + 0.75);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(1, 0.5), dp_sum(age, 0.26) FROM person');
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.5), dp_sum(age, 0.25) FROM person');
SELECT * FROM outcome('SELECT dp_count(1, 0.001) FROM person');
RESET ROLE;

-- the cap over all roles
SELECT grant_(1e9);
CREATE ROLE regress_query_account_second;
GRANT USAGE ON SCHEMA :schema TO regress_query_account_second;
SELECT dp_grant('regress_query_account_second', :'schema', 1e9);
SELECT dp_limit(:'schema', epsilon => (SELECT sum(epsilon) FROM dp_pg.ledger WHERE dataset = :'schema') + 1, filter => 'basic');
SET ROLE :analyst;
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.5) FROM person');
SET ROLE regress_query_account_second;
SELECT * FROM outcome('SELECT dp_count(1, 0.6) FROM person');
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.4) FROM person');
SET ROLE :owner;
SELECT * FROM outcome('SELECT dp_count(1, 0.2) FROM person');
SELECT state, charges FROM outcome('SELECT dp_count(1, 0.1) FROM person');
RESET ROLE;
SELECT * FROM outcome('SELECT dp_count(1, 0.001) FROM person');
-- an exempt role is recorded, and counts against the cap
SELECT role, payer IS NULL AS exempt, epsilon, releases FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 3;
SELECT dp_limit(:'schema', epsilon => 1e10, delta => 1e-5);
SELECT dp_count(1, 0.5) IS NOT NULL FROM person;
SELECT role = session_user AS me, payer IS NULL AS exempt, epsilon FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;

-- what a row of the ledger says
SET ROLE :analyst;
SELECT dp_count(1, 0.5) IS NOT NULL, dp_sum(age, 0.25) IS NOT NULL FROM person;
SELECT role = :'analyst' AS role, login_role = session_user AS login, payer = :'analyst' AS payer, dataset = :'schema' AS dataset, mechanism LIKE '%Laplace%' AS mechanism,
	epsilon, delta, rho > 0 AND rho < 0.2 AS rho, releases, at BETWEEN now() - interval '1 minute' AND clock_timestamp() AS at
FROM dp_pg.ledger ORDER BY id DESC LIMIT 1;
-- the fingerprint is the query's, not its constants' or its rows'
SELECT dp_count(1, 0.5) IS NOT NULL FROM person WHERE ward = 'A';
SELECT dp_count(1, 0.5) IS NOT NULL FROM person WHERE ward = 'A';
SELECT dp_sum(age, 0.5) IS NOT NULL FROM person WHERE ward = 'A';
SELECT count(*), count(DISTINCT fingerprint) FROM (SELECT fingerprint FROM dp_pg.ledger ORDER BY id DESC LIMIT 3) t;
-- nor that of names, layout or the order of the answer; it is that of what is asked, also in a subquery that runs before
SELECT ward, dp_count(1, 0.5) IS NOT NULL AS some FROM person WHERE age > (SELECT 10) GROUP BY ward ORDER BY 1 LIMIT 1;
SELECT p.ward AS w, dp_count(1, 0.25) IS NOT NULL FROM person AS p
	WHERE (p.age > (SELECT 20 AS "limit")) GROUP BY 1 ORDER BY 1 LIMIT 1;
WITH all_of_them (a, b) AS (SELECT age, ward FROM person) SELECT b, dp_count(1, 0.5) IS NOT NULL FROM all_of_them WHERE a > (SELECT 10) GROUP BY b ORDER BY 1 LIMIT 1;
WITH w AS (SELECT age AS x, ward AS y FROM person) SELECT y, dp_count(1, 0.5) IS NOT NULL FROM w AS s WHERE s.x > (SELECT 30) GROUP BY y ORDER BY 1 LIMIT 1;
SELECT ward, dp_count(1, 0.5) IS NOT NULL FROM person WHERE age > (SELECT count(*)::int FROM pg_am) GROUP BY ward ORDER BY 1 LIMIT 1;
SELECT dense_rank() OVER (ORDER BY first) AS shape, releases FROM (SELECT id, releases, min(id) OVER (PARTITION BY fingerprint) AS first FROM dp_pg.ledger ORDER BY id DESC LIMIT 5) t ORDER BY id;
-- an analyst sees its own rows only, and changes none
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE role <> :'analyst') AS others FROM dp_pg.ledger;
SELECT count(*), bool_and(role = :'analyst') FROM dp_pg.budgets;
SELECT * FROM outcome('DELETE FROM dp_pg.ledger');
SELECT * FROM outcome('UPDATE dp_pg.budget SET epsilon = 1000');
SELECT * FROM outcome('INSERT INTO dp_pg.ledger (role) VALUES (''x'')');
SELECT * FROM outcome('TRUNCATE dp_pg.ledger');
SELECT * FROM outcome('SELECT dp_pg.charge(''regress_query_account'', ''x'', -1, 0)');
-- nor does the owner
SET ROLE :owner;
SELECT count(DISTINCT role) > 1 AS all_of_them FROM dp_pg.ledger WHERE dataset = :'schema';
SELECT * FROM outcome('DELETE FROM dp_pg.ledger');
SELECT * FROM outcome('UPDATE dp_pg.ledger SET epsilon = 0');
SELECT * FROM outcome('UPDATE dp_pg.budget SET spent_epsilon = 0');
RESET ROLE;

-- my_budget: remaining epsilon and delta, calls left at the default epsilon, renewal
SELECT grant_((SELECT spent_epsilon FROM standing) + 1, 1e-6, 'basic', '7 days');
SET ROLE :analyst;
SET dp_pg.epsilon = 0.3;
SELECT filter, remaining_epsilon, remaining_delta, calls_left, renewal > now() AND renewal <= now() + interval '7 days' AS renewal, exempt
FROM dp_pg.my_budget WHERE dataset = :'schema';
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT remaining_epsilon, calls_left FROM dp_pg.my_budget WHERE dataset = :'schema';
-- the refusal says when it renews
SELECT * FROM refusal('SELECT dp_count(1, 1.25) FROM person');
SELECT dp_count(1, 0.7) IS NOT NULL FROM person;
SELECT remaining_epsilon, calls_left FROM dp_pg.my_budget WHERE dataset = :'schema';
SET ROLE regress_query_account_second;
SELECT count(*) FROM dp_pg.my_budget WHERE dataset = :'schema';
RESET ROLE;

-- the default filter: 0.01 fits epsilon 1, delta 2e-6 (1e-6 of it for
-- conversion) 487 times in theory (mechanisms.md 7); basic alone 100 times
CREATE ROLE regress_query_account_third;
GRANT USAGE ON SCHEMA :schema TO regress_query_account_third;
SELECT dp_grant('regress_query_account_third', :'schema', 1, 2e-6);
SET ROLE regress_query_account_third;
CREATE PROCEDURE pg_temp.ask_until(INOUT admitted int) LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	admitted := 0;
	LOOP
		SELECT dp_count(1, 0.01) INTO n FROM person;
		admitted := admitted + 1;
	END LOOP;
EXCEPTION WHEN configuration_limit_exceeded THEN
	NULL;
END $$;
CALL pg_temp.ask_until(0);
SELECT charges, spent_epsilon FROM dp_pg.budgets WHERE role = current_user;
RESET ROLE;
-- the owner's members, and groups: one budget of a group pays
CREATE ROLE regress_query_account_group;
GRANT regress_query_account_group TO regress_query_account_third;
SELECT dp_revoke('regress_query_account_third', :'schema');
SELECT dp_grant('regress_query_account_group', :'schema', 1, 0, 'basic');
GRANT USAGE ON SCHEMA :schema TO regress_query_account_group;
SET ROLE regress_query_account_third;
SELECT dp_count(1, 0.5) IS NOT NULL FROM person;
SELECT role, payer, epsilon FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
RESET ROLE;
DROP OWNED BY regress_query_account_second, regress_query_account_third, regress_query_account_group;
DROP ROLE regress_query_account_second, regress_query_account_third, regress_query_account_group;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
