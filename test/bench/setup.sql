-- What the private benchmarks ask about; :rows rows.  Texts have a length, so
-- that the tables have no TOAST relation: with one, a private query that touches
-- a text is read without parallel workers (src/release/inner/inner_plan.c).
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE analyst LOGIN;
GRANT CREATE ON SCHEMA public TO owner;
SET ROLE owner;
CREATE TABLE survey (k4 int NOT NULL, k1000 int NOT NULL, i int,
	d double precision, t1000 varchar(20) NOT NULL, n int NOT NULL);
INSERT INTO survey
SELECT n % 4, n % 1000, n % 1001, (n % 1001) + 0.25, 'number ' || n % 1000,
	hashint4(n)
FROM generate_series(1, :rows) AS n;
CREATE TABLE ten (i int);
INSERT INTO ten SELECT generate_series(1, 10);
-- rows scattered over 16^4 cells
CREATE TABLE cell (a int NOT NULL, b int NOT NULL, c int NOT NULL,
	d int NOT NULL);
INSERT INTO cell
SELECT h & 15, h >> 8 & 15, h >> 16 & 15, h >> 24 & 15
FROM generate_series(1, 100000) AS n, hashint4extended(n, 1) AS h;
-- 1000 conjunctions over six columns, and 20 of them for a plain query
CREATE TABLE people (k4 int NOT NULL, k10 int NOT NULL, k100 bigint NOT NULL,
	flag boolean NOT NULL, sex varchar(6) NOT NULL,
	job varchar(20) NOT NULL);
INSERT INTO people
SELECT n % 4, n / 4 % 10, n / 40 % 100, n / 7 % 3 = 0,
	CASE WHEN n % 2 = 0 THEN 'female' ELSE 'male' END, 'job ' || n / 11 % 15
FROM generate_series(1, :rows / 5) AS n;
CREATE TABLE conjunction (n int, p text);
INSERT INTO conjunction
SELECT n, concat_ws(' AND ',
	CASE WHEN n % 2 = 0 THEN 'k4 = ' || n / 2 % 4 END,
	CASE WHEN n % 3 < 2 THEN 'sex = ''female''' ELSE 'flag' END,
	CASE n % 5 WHEN 1 THEN 'k10 = ' || n / 5 % 10
		WHEN 2 THEN 'k100 = ' || n / 5 % 100
		WHEN 3 THEN 'job = ''job ' || n / 5 % 15 || ''''
		WHEN 4 THEN 'k10 = ' || n / 5 % 10 || ' AND NOT flag' END)
FROM generate_series(1, 1000) AS n;
GRANT SELECT ON conjunction TO analyst;
-- parts by a public key, and a plain table of many parts with an index
CREATE TABLE divided (k5 int NOT NULL, i int NOT NULL)
PARTITION BY LIST (k5);
SELECT format('CREATE TABLE divided_%s PARTITION OF divided FOR VALUES IN (%s)',
	n, n) FROM generate_series(0, 4) AS n \gexec
INSERT INTO divided SELECT n % 5, n % 1001 FROM generate_series(1, :rows) AS n;
CREATE TABLE indexed (k1000 int NOT NULL, i int NOT NULL);
INSERT INTO indexed
SELECT n % 1000, n % 1001 FROM generate_series(1, :rows) AS n;
CREATE INDEX ON indexed (k1000);
-- ten rows of a unit, in as many of 1000 groups
CREATE TABLE visit (unit bigint NOT NULL, k1000 int NOT NULL, i int);
INSERT INTO visit
SELECT abs(hashint8extended(n, 7)) % (:rows / 10), abs(hashint4(n)) % 1000,
	n % 1001
FROM generate_series(1, :rows) AS n;
-- a row of each unit's own
CREATE TABLE person (id bigint PRIMARY KEY, age int NOT NULL);
INSERT INTO person SELECT n, n % 90 FROM generate_series(0, :rows / 10) AS n;
-- each unit has two orders, each order five lines; and 1000 kinds
CREATE TABLE orders (id int PRIMARY KEY, unit int NOT NULL);
INSERT INTO orders SELECT n, n / 2 FROM generate_series(1, :rows / 5) AS n;
CREATE TABLE line (order_id int NOT NULL, kind int NOT NULL, i int NOT NULL);
INSERT INTO line SELECT 1 + abs(hashint4(n)) % (:rows / 5), n % 1000, n % 1001
FROM generate_series(1, :rows) AS n;
CREATE TABLE kind (id int PRIMARY KEY, name varchar(20) NOT NULL,
	state varchar(20) NOT NULL DEFAULT 'open');
INSERT INTO kind SELECT n, 'kind ' || n % 10 FROM generate_series(0, 999) AS n;
GRANT SELECT ON kind TO analyst;
-- answers of 20 and of 10000 rows, and as many plain ones
CREATE TABLE few (k20 int NOT NULL, k10000 int NOT NULL, i int NOT NULL);
INSERT INTO few SELECT n % 20, n, n % 7 FROM generate_series(0, 9999) AS n;
CREATE TABLE plain20 AS SELECT n AS k, n::bigint AS count,
	n * 1.2345678901234567 AS mean FROM generate_series(1, 20) AS n;
CREATE TABLE plain10000 AS SELECT n AS k, n::bigint AS count,
	n * 1.2345678901234567 AS mean FROM generate_series(1, 10000) AS n;
CREATE TABLE note (at timestamptz, role name, epsilon numeric);
SELECT dp_protect('survey', dataset => 'bench', rows => :rows);
SELECT dp_protect('ten', dataset => 'bench');
SELECT dp_protect('people', dataset => 'bench', rows => :rows / 5);
SELECT dp_protect('divided', dataset => 'bench', rows => :rows);
SELECT dp_declare('divided', 'k5', lower => 0, upper => 4);
SELECT dp_protect('visit', unit => 'unit', dataset => 'bench',
	rows => :rows);
SELECT dp_declare('visit', max_rows => 1, max_keys => 5);
SELECT dp_declare('visit', 'k1000', lower => 0, upper => 999);
SELECT dp_protect('person', unit => 'id', dataset => 'bench',
	rows => :rows / 10);
SELECT dp_protect('orders', unit => 'unit', dataset => 'bench');
SELECT dp_protect('line', unit => 'order_id -> orders.unit',
	dataset => 'bench');
SELECT dp_declare('orders', max_rows => 1), dp_declare('line', max_rows => 1);
SELECT dp_protect('indexed', dataset => 'bench', rows => :rows);
SELECT dp_declare('indexed', 'k1000', lower => 0, upper => 999);
SELECT dp_declare('indexed', 'k1000', immutable => true, public_sizes => true);
SELECT dp_declare('survey', 'k4', lower => 0, upper => 3);
SELECT dp_declare('survey', 'k1000', lower => 0, upper => 999);
SELECT dp_declare('survey', 't1000', keys => array_agg('number ' || n))
FROM generate_series(0, 999) AS n;
SELECT dp_protect('few', dataset => 'bench');
SELECT dp_declare('few', 'k20', lower => 0, upper => 19);
SELECT dp_declare('few', 'k10000', lower => 0, upper => 9999);
SELECT dp_protect('cell', dataset => 'bench');
SELECT dp_declare('cell', column_name::name, lower => 0, upper => 15)
FROM unnest(ARRAY['a', 'b', 'c', 'd']) AS column_name;
SELECT dp_grant('analyst', 'bench', epsilon => 1e9);
RESET ROLE;
VACUUM (FREEZE, ANALYZE) survey;
VACUUM (FREEZE, ANALYZE) ten;
VACUUM (FREEZE, ANALYZE) people;
VACUUM (FREEZE, ANALYZE) divided;
VACUUM (FREEZE, ANALYZE) indexed;
VACUUM (FREEZE, ANALYZE) visit, person;
VACUUM (FREEZE, ANALYZE) orders, line, kind;
VACUUM (FREEZE, ANALYZE) cell;
CHECKPOINT;
