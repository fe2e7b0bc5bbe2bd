# Rows of units that parallel workers hand over in packs, joined public rows that
# workers see, and partitions that threads choose from: the answers are those of
# one process, and of SQL where bounds do not bind.
#
# At a huge epsilon noise is 0 except with probability below exp(-40) for each
# number.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as forced_parallel log_mark log_since);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('packs', <<'EOT');
dp_pg.epsilon_ceiling = '20000000'
dp_pg.readers = 2
dp_pg.worker_idle = '10min'
max_parallel_workers = 8
log_min_messages = debug1
fsync = off
jit = off
max_wal_size = 4GB
EOT

value($node, "ALTER ROLE analyst SET dp_pg.epsilon = 20000000; ALTER ROLE analyst SET dp_pg.max_rows = 60; ALTER ROLE analyst SET dp_pg.max_keys = 5");
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11, delta => 1e-3)");

# ---- what is asked about ----

# 5,000 units of 1 to 5 groups with 1 to 9 rows in each; text has no TOAST relation.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (u int, k int, x int, f float8, n numeric(9, 3), b boolean, day date, c varchar(30), name varchar(20), big bigint)
	WITH (parallel_workers = 2);
INSERT INTO visit SELECT u, nullif(k, 4), CASE WHEN (u + k + j) % 7 > 0 THEN (u * 31 + k * 17 + j * j * 13) % 60 - 20 END,
	CASE WHEN j % 8 > 0 THEN (u % 9 - j) / 4.0 END, (u - j * 20) / 8.0, (u + j) % 3 > 0, date '2026-01-01' + (u + j) % 20,
	CASE WHEN j % 5 > 0 THEN 'kind ' || (u + j) % 40 END, 'unit ' || u, u::bigint * 1000000007
FROM generate_series(1, 5000) u, generate_series(0, u % 5) k, generate_series(1, (u * 7 + k * k) % 9 + 1) j;
SELECT dp_protect('visit', unit => 'u', dataset => 'hospital');
SELECT dp_declare('visit', 'k', keys => ARRAY[0, 1, 2, 3]), dp_declare('visit', 'x', lower => -20, upper => 40);
CREATE TABLE by_name (LIKE visit) WITH (parallel_workers = 2);
INSERT INTO by_name SELECT * FROM visit;
INSERT INTO by_name SELECT (visit).* FROM (SELECT visit FROM visit WHERE u = 3) AS three;
UPDATE by_name SET name = NULL WHERE u = 3;
SELECT dp_protect('by_name', unit => 'name', dataset => 'hospital');
SELECT dp_declare('by_name', 'k', keys => ARRAY[0, 1, 2, 3]);
CREATE TABLE alone (id int PRIMARY KEY, k int NOT NULL, x int, name varchar(20)) WITH (parallel_workers = 2);
INSERT INTO alone SELECT i, i % 7, i % 100 - 50, 'group ' || i % 5 FROM generate_series(1, 20000) i;
SELECT dp_protect('alone', unit => 'id', dataset => 'hospital');
SELECT dp_declare('alone', 'k', lower => 0, upper => 6);
CREATE TABLE stay (u int, days int) WITH (parallel_workers = 2);
INSERT INTO stay SELECT u, u % 20 FROM generate_series(1, 5000, 3) u;
SELECT dp_protect('stay', unit => 'u', dataset => 'hospital');
CREATE TABLE kind (x int, label varchar(20));
INSERT INTO kind SELECT x, 'label ' || x % 4 FROM generate_series(-20, 40) x;
GRANT SELECT ON kind TO analyst;
EOT

# A mean has noise of granules, which are far less than this.
my @noise = (0.001) x 20;

# A private query, and what it answers; workers, of one process and of three.
sub same
{
	my ($private, $plain, $workers, $name) = @_;
	my @answers;

	foreach my $most (0, 2)
	{
		my $mark = log_mark($node);
		my ($out, $err) = as($node, 'analyst', "SET max_parallel_workers_per_gather = $most; SET client_min_messages = warning; $private");
		my $registered = () = log_since($node, $mark) =~ /starting background worker process "parallel worker/g;

		is($err, '', "$name: answered with $most workers");
		is($registered, $most == 0 ? 0 : $workers, "$name: as many as that");
		push @answers, $out;
	}
	near($answers[1], $answers[0], "$name: workers change nothing", @noise);
	near($answers[1], value($node, "SET SESSION AUTHORIZATION owner; $plain"), "$name: the answer is right", @noise) if defined $plain;
	return;
}

# ---- what rows are made of ----

same('SELECT dp_count(*) FROM visit', 'SELECT count(*) FROM visit', 2, 'no column');
same('SELECT k, dp_count(*), dp_count(x), dp_sum(x, -20, 40), round(dp_avg(x, -20, 40), 9), round(dp_variance(x, -20, 40), 9) FROM visit GROUP BY k ORDER BY k',
	'SELECT k, count(*), count(x), sum(x), round(avg(x), 9), round(variance(x), 9) FROM visit GROUP BY k ORDER BY k', 2, 'numbers');
same('SELECT k, dp_count(DISTINCT u), dp_count(DISTINCT x), dp_count(DISTINCT f), dp_count(DISTINCT c), dp_count(DISTINCT day) FROM visit GROUP BY k ORDER BY k',
	'SELECT k, count(DISTINCT u), count(DISTINCT x), count(DISTINCT f), count(DISTINCT c), count(DISTINCT day) FROM visit GROUP BY k ORDER BY k', 2, 'values');
same('SELECT k, dp_count(*) FILTER (WHERE b), dp_sum(x, -20, 40) FILTER (WHERE n > 3), dp_histogram(x, -50, 50, 4) FROM visit WHERE day > \'2026-01-03\' GROUP BY k ORDER BY k',
	'SELECT k, count(*) FILTER (WHERE b), sum(x) FILTER (WHERE n > 3), ARRAY[count(*) FILTER (WHERE x < -25), count(*) FILTER (WHERE x >= -25 AND x < 0),'
	  . " count(*) FILTER (WHERE x >= 0 AND x < 25), count(*) FILTER (WHERE x >= 25)] FROM visit WHERE day > '2026-01-03' GROUP BY k ORDER BY k", 2, 'filters');
same('SELECT dp_count(*), dp_sum(x, -20, 40), dp_count(DISTINCT c) FROM by_name', 'SELECT count(*), sum(x), count(DISTINCT c) FROM visit WHERE u <> 3', 2, 'units that are texts');
same('SELECT k, dp_count(DISTINCT name), dp_avg(x, -20, 40)::numeric(12, 6) FROM by_name GROUP BY k ORDER BY k',
	'SELECT k, count(DISTINCT name), avg(x)::numeric(12, 6) FROM visit WHERE u <> 3 GROUP BY k ORDER BY k', 2, 'texts and groups');
my $many = join(', ', map { "dp_count(*) FILTER (WHERE x % 70 = $_)" } 0 .. 69);
my $plain = $many =~ s/dp_count/count/gr;
same("SELECT $many FROM visit", "SELECT $plain FROM visit", 2, 'more columns than bits of a word');
my $long = join(' || ', 'c', map { "'" . 'x' x 1000 . "'" } 1 .. 18);
same("SELECT dp_count(DISTINCT $long), dp_count(DISTINCT CASE WHEN b THEN 'b' ELSE 'a' END || $long) FROM visit WHERE u < 300",
	"SELECT count(DISTINCT c), count(DISTINCT (b, c)) FILTER (WHERE c IS NOT NULL) FROM visit WHERE u < 300", 2, 'rows longer than a pack');
same('SELECT dp_count(*), dp_sum(x, -20, 40) FROM visit WHERE u < 0', 'SELECT 0, 0', 2, 'no rows');
same('SELECT k, dp_sum(x, -20, 40) FROM visit WHERE u = 7 GROUP BY k ORDER BY k',
	'SELECT g.k, coalesce(sum(x), 0) FROM (VALUES (0), (1), (2), (3), (NULL)) AS g (k) LEFT JOIN (SELECT k, x FROM visit WHERE u = 7) AS v ON v.k IS NOT DISTINCT FROM g.k GROUP BY g.k ORDER BY g.k',
	2, 'one unit');

# ---- levels, views, undeclared keys ----

value($node, 'SET SESSION AUTHORIZATION analyst; CREATE VIEW seen AS SELECT k, x, u FROM visit WHERE b');
same('SELECT k, dp_count(*) FROM (SELECT * FROM seen WHERE x > 0) AS s GROUP BY k ORDER BY k', 'SELECT k, count(*) FROM visit WHERE b AND x > 0 GROUP BY k ORDER BY k', 2, 'through a view');
same('SET dp_pg.delta = 1e-9; SELECT count(*) FROM (SELECT c, dp_count(*) FROM visit WHERE c IS NOT NULL GROUP BY c) AS g', 'SELECT 40', 2, 'undeclared keys, of which units keep some');
same('SET dp_pg.delta = 1e-9; SELECT day, dp_count(DISTINCT u) FROM visit WHERE k = 0 AND day < \'2026-01-04\' GROUP BY day ORDER BY day',
	'SELECT day, count(DISTINCT u) FROM visit WHERE k = 0 AND day < \'2026-01-04\' GROUP BY day ORDER BY day', 2, 'undeclared keys');
same('SET dp_pg.delta = 1e-9; SELECT name, dp_count(*), dp_sum(x, -50, 50) FROM alone GROUP BY name ORDER BY name',
	'SELECT name, count(*), sum(x) FROM alone GROUP BY name ORDER BY name', 2, 'undeclared keys of single rows');
same('SELECT dp_avg(n, 0, 100)::numeric(12, 6) FROM (SELECT u, count(*) AS n FROM visit GROUP BY u) AS v', 'SELECT avg(n)::numeric(12, 6) FROM (SELECT u, count(*) AS n FROM visit GROUP BY u) AS v', 2,
	'groups of each unit');
same('SELECT dp_count(*), dp_sum(x, -50, 50) FROM (SELECT u, x FROM visit WHERE b UNION ALL SELECT u, x FROM visit WHERE NOT b) AS a', 'SELECT count(*), sum(x) FROM visit', 4, 'arms of UNION ALL');

# ---- joins ----

same('SELECT k, dp_count(*), dp_sum(visit.x, -20, 40) FROM visit JOIN kind USING (x) WHERE label = \'label 3\' GROUP BY k ORDER BY k',
	'SELECT k, count(*), sum(visit.x) FROM visit JOIN kind USING (x) WHERE label = \'label 3\' GROUP BY k ORDER BY k', 2, 'a lookup');
same('SET dp_pg.max_keys = 7; SELECT label, dp_count(*) FROM visit JOIN kind USING (x) GROUP BY label ORDER BY label', 'SELECT label, count(*) FROM visit JOIN kind USING (x) GROUP BY label ORDER BY label', 2, 'its columns as keys');
same('SELECT dp_count(*), dp_count(label) FROM visit LEFT JOIN (SELECT * FROM kind WHERE x > 10) AS k USING (x)', 'SELECT count(*), count(*) FILTER (WHERE x > 10) FROM visit', 2, 'an outer join');
same('SELECT dp_count(*) FROM visit v WHERE EXISTS (SELECT FROM kind WHERE kind.x = v.x AND label = \'label 1\') AND x NOT IN (SELECT x FROM kind WHERE x < 5)',
	'SELECT count(*) FROM visit v WHERE EXISTS (SELECT FROM kind WHERE kind.x = v.x AND label = \'label 1\') AND x >= 5', 2, 'EXISTS and NOT IN');
same('SELECT dp_count(*), dp_sum(a.x, -50, 50) FROM alone a JOIN kind ON kind.x = a.x WHERE label <> \'label 0\'',
	'SELECT count(*), sum(a.x) FROM alone a JOIN kind ON kind.x = a.x WHERE label <> \'label 0\'', 2, 'a lookup of single rows');
same('SELECT a.k, dp_count(*) FROM alone a JOIN kind j ON j.x = a.x JOIN kind l ON l.x = a.k GROUP BY a.k ORDER BY a.k',
	'SELECT a.k, count(*) FROM alone a JOIN kind j ON j.x = a.x JOIN kind l ON l.x = a.k GROUP BY a.k ORDER BY a.k', 2, 'two lookups');
same('SELECT w.k, dp_count(*) FROM visit JOIN (VALUES (0), (2), (9)) AS w (k) ON w.k = visit.k GROUP BY w.k ORDER BY w.k',
	'SELECT w.k, count(visit.k) FROM visit RIGHT JOIN (VALUES (0), (2), (9)) AS w (k) ON w.k = visit.k GROUP BY w.k ORDER BY w.k', 2, 'a list that names groups');
same('SELECT dp_count(*), dp_sum(days, 0, 20) FROM visit JOIN stay USING (u)', 'SELECT count(*), sum(days) FROM visit JOIN stay USING (u)', 4, 'two private relations');
same('SELECT dp_count(*), dp_count(days) FROM visit JOIN kind USING (x) LEFT JOIN stay USING (u) WHERE label = \'label 2\'',
	'SELECT count(*), count(days) FROM visit JOIN kind USING (x) LEFT JOIN stay USING (u) WHERE label = \'label 2\'', 4, 'private and public ones');
same('SELECT dp_count(*) FROM visit JOIN (SELECT x, n FROM kind, generate_series(1, 30) AS n) AS fan USING (x) WHERE u < 50',
	undef, 2, 'one row makes many');

same('SELECT dp_count(*) FROM alone a JOIN kind i ON a.x = i.x WHERE EXISTS (SELECT FROM kind j WHERE a.x = j.x AND j.x > 0) AND NOT EXISTS (SELECT FROM (SELECT DISTINCT x FROM kind) l WHERE i.x = l.x)',
	'SELECT 0', 0, 'a plan that no worker shares');

# A public text of nearly 8 MB, in so many keys that no tuple could hold them: the
# answer is the same whether the one row is there that meets it.
value($node, <<'EOT');
SET SESSION AUTHORIZATION analyst;
CREATE TABLE huge (x int, c text);
INSERT INTO huge SELECT -13, string_agg(md5(i::text), '') FROM generate_series(1, 240000) i;
GRANT SELECT ON huge TO owner;
EOT
{
	my $keys = join ', ', map { "CASE WHEN v.u <> -$_ THEN h.c ELSE v.c END" } 1 .. 140;

	foreach my $unit (value($node, 'SELECT min(u) FROM visit WHERE x = -13'), value($node, 'SELECT min(u) FROM (SELECT u FROM visit GROUP BY u HAVING bool_and(x IS DISTINCT FROM -13)) AS none'))
	{
		same("SET dp_pg.delta = 1e-9; SELECT count(*) FROM (SELECT dp_count(*) FROM visit v JOIN huge h ON h.x = v.x WHERE v.u = $unit GROUP BY $keys) AS s", 'SELECT 0', 0, "keys that are too long, unit $unit");
	}
}

# No setting of the asker's gives workers where there are none, to scans neither.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE doc (u int, t text);
INSERT INTO doc SELECT i % 100, 'abc' || i FROM generate_series(1, 500) i;
CREATE TABLE sign (u int, n int);
INSERT INTO sign SELECT i, i FROM generate_series(0, 99) i;
SELECT dp_protect('doc', unit => 'u', dataset => 'hospital');
SELECT dp_protect('sign', unit => 'u', dataset => 'hospital');
EOT
same('SET ' . forced_parallel($node) . " = on; SELECT dp_count(*) FROM doc JOIN sign USING (u) WHERE t LIKE '%abc%'", "SELECT count(*) FROM doc JOIN sign USING (u) WHERE t LIKE '%abc%'", 0, 'forced');

# ---- readings ----

same("SELECT above, answer FROM dp_sparse_vector('visit', ARRAY['x > 5', 'b', 'u < 9', 'false', 'day > ''2026-01-10'''], 0, 1000000, numeric_answers => true)", undef, 2, 'a list of predicates');
same("SELECT dp_argmax('visit', ARRAY['x > 5', 'true', 'false'])", "SELECT 'true'", 2, 'the largest of counts');
same('SELECT dp_count(*) FILTER (WHERE x > 5), dp_quantile(x, 0.5, -20, 40) IS NOT NULL, dp_max(x, -20, 40) > 30 FROM visit', "SELECT count(*) FILTER (WHERE x > 5), true, true FROM visit", 2, 'selections');

# ---- bounds that bind ----

# Which rows count is drawn, but not how many: threads and workers lose none.
same('SET dp_pg.max_rows = 1; SET dp_pg.max_keys = 2; SELECT sum(n) FROM (SELECT k, dp_count(*) AS n FROM visit GROUP BY k) AS g',
	'SELECT sum(least(n, 2)) FROM (SELECT u, count(DISTINCT coalesce(k, -1)) AS n FROM visit GROUP BY u) AS g', 2, 'kept groups');
same('SET dp_pg.max_rows = 2; SET dp_pg.max_keys = 1; SELECT dp_count(*) FROM by_name', 'SELECT sum(least(n, 2)) FROM (SELECT count(*) AS n FROM visit WHERE u <> 3 GROUP BY u) AS g', 2, 'kept rows');

# ---- many rows: pieces on disk, one unit that takes a partition ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE wide (u int, k int NOT NULL, x int) WITH (parallel_workers = 2);
INSERT INTO wide SELECT i % 170000, i % 4, i % 100 FROM generate_series(1, 680000) i;
INSERT INTO wide SELECT -1, i % 4, i % 100 FROM generate_series(1, 300000) i;
SELECT dp_protect('wide', unit => 'u', dataset => 'hospital');
SELECT dp_declare('wide', 'k', keys => ARRAY[0, 1, 2, 3]);
EOT
same('SELECT k, dp_count(*), dp_sum(x, 0, 100) FROM wide WHERE u >= 0 GROUP BY k ORDER BY k', 'SELECT k, count(*), sum(x) FROM wide WHERE u >= 0 GROUP BY k ORDER BY k', 2, 'pieces on disk');
same('SELECT k, dp_count(*) FROM wide GROUP BY k ORDER BY k', 'SELECT k, count(*) + 60 FROM wide WHERE u >= 0 GROUP BY k ORDER BY k', 2, 'a unit of very many rows');

# Whoever gives up leaves nothing behind.
foreach my $after (5, 20, 50, 100, 200, 400)
{
	my ($out, $err) = as($node, 'analyst', "SET statement_timeout = $after; SELECT k, dp_count(*), dp_avg(x, 0, 100) FROM wide GROUP BY k ORDER BY k");

	ok($err eq '' || $err =~ /canceling statement due to statement timeout|the private query was interrupted/, "given up after $after ms, or answered") or diag($err);
}
same('SELECT k, dp_count(*) FROM wide WHERE u >= 0 GROUP BY k ORDER BY k', 'SELECT k, count(*) FROM wide WHERE u >= 0 GROUP BY k ORDER BY k', 2, 'afterwards');

# ---- shared memory that cannot be had ----

# Readers may not make long files, and shared memory is one; it is public how long.
value($node, 'SET SESSION AUTHORIZATION owner; CREATE TABLE described (k int, label varchar(8000)); INSERT INTO described SELECT k, (SELECT string_agg(md5(k::text || j), \'\') FROM generate_series(1, 200) j) FROM generate_series(0, 600) k; GRANT SELECT ON described TO analyst');
my $joined = 'SELECT dp_count(*) FROM visit JOIN described USING (k) WHERE length(label) > 10';
my $spent = 'SELECT spent FROM dp_pg.my_budget WHERE payer = \'analyst\'';

same($joined, 'SELECT count(*) FROM visit JOIN described USING (k)', 2, 'long public rows');
my $before = (as($node, 'analyst', $spent))[0];
my @readers = split /\n/, value($node, "SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
cmp_ok(scalar @readers, '>=', 1, 'there are readers');
system_or_bail('prlimit', "--pid=$_", '--fsize=1500000:') foreach @readers;
my ($out, $err) = as($node, 'analyst', "\\set VERBOSITY verbose\n$joined");
is($out, '', 'without shared memory there is no answer');
like($err, qr/ERROR:  53\w{3}: a process that reads private rows lacks resources\n.*Nothing was charged/, 'and the error says so');
is((as($node, 'analyst', $spent))[0], $before, 'nothing was charged');
is((as($node, 'analyst', 'SELECT dp_count(*) FROM visit'))[0], value($node, 'SELECT count(*) FROM visit'), 'what needs little is answered');
system_or_bail('prlimit', "--pid=$_", '--fsize=unlimited:') foreach @readers;
is((as($node, 'analyst', $joined))[0], value($node, 'SELECT count(*) FROM visit JOIN described USING (k)'), 'and all of it when there is memory again');

$node->stop;
done_testing();
