-- For queries without differential privacy, on both servers; :rows rows.
CREATE TABLE small (id int PRIMARY KEY, i int);
INSERT INTO small SELECT n, n % 1001 FROM generate_series(1, :rows) AS n;
VACUUM (FREEZE, ANALYZE) small;
CREATE AGGREGATE own_sum(int) (sfunc = int4pl, stype = int, initcond = '0');
-- who may read it, in transparent mode or not
CREATE ROLE reader LOGIN;
GRANT SELECT ON small TO reader;
CHECKPOINT;
