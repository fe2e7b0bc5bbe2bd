-- A grant replaces the whole of the previous one; if that ends a renewal, a
-- NOTICE says so.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test grant_renewal
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set VERBOSITY default
SET client_min_messages = notice;
SET intervalstyle = postgres;
SET ROLE :owner;
SELECT dp_grant(:'analyst', :'schema', epsilon => 1, renew => '7 days') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(1, 0.5) IS NULL AS n FROM person;
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', :'schema', epsilon => 2, renew => '1 month') \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 3) \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 4) \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 4, renew => '1 day') \g /dev/null
SELECT dp_revoke(:'analyst', :'schema') \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 4::float8) \g /dev/null
-- what was spent in the period stays spent
RESET ROLE;
SET ROLE :analyst;
SELECT remaining_epsilon, renewal FROM dp_pg.my_budget;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
