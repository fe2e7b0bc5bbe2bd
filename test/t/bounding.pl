# Private queries over relations in which one unit has many rows: the contribution
# of a unit is bounded as stated, whatever the unit's type and however many rows it
# has, and nothing of it is visible but the answer.
#
# Where no choice is random, answers at a huge epsilon equal those of SQL: noise is
# 0 except with probability below exp(-40), and far less than a row where rows have
# weights (row_weights.pl).  Random choices are fair by chi-square
# at 1e-10 each, four in all.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(as bounding_node bounded protect);
use LedgerNode;
use List::Util qw(min sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = bounding_node('bounding', "dp_pg.worker_idle = '10min'\n");

value($node, 'CREATE ROLE other_owner LOGIN; GRANT CREATE ON SCHEMA public TO other_owner');

# Distinct values: m of a unit's, however often it has them.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE value_of (u int, v int, w text, y numeric);
INSERT INTO value_of SELECT u, u * 100 + j, 'w' || u * 100 + j, u * 100 + j + (i - i)::numeric(10, 3) FROM generate_series(1, 30) u, generate_series(1, u % 8) j, generate_series(1, 5) i;
EOT
protect('value_of');
foreach my $m (1, 3, 8)
{
	is(bounded($m, 1, 'SELECT dp_count(DISTINCT v), dp_count(DISTINCT w), dp_count(DISTINCT y), dp_count(DISTINCT u) FROM value_of'),
		value($node, "SELECT a, a, a, n FROM (SELECT sum(least(n, $m)) AS a, count(*) AS n FROM (SELECT count(DISTINCT v) AS n FROM value_of GROUP BY u) AS s) AS t"),
		"$m distinct values of a unit");
}

# A group is the public one: values that share it are one group, and those of no
# group, or of no bin, take no place.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE shared (u int, ward text NOT NULL, day date NOT NULL, x int);
INSERT INTO shared SELECT 1, 'w' || i % 9, date '2026-01-15' + i % 40, CASE WHEN i <= 5 THEN 5 ELSE 1000 END FROM generate_series(1, 1000) i;
INSERT INTO shared SELECT 2, 'w' || i, date '2026-01-31' + i, 5 FROM generate_series(1, 3) i;
EOT
protect('shared', "SELECT dp_declare('shared', 'ward', keys => ARRAY['w1', 'w2'], other => 'rest'), dp_declare('shared', 'day', lower => date '2026-01-01', upper => date '2026-03-31')");
is(bounded(5, 3, 'SELECT ward, dp_count(*), dp_count(DISTINCT u) FROM shared GROUP BY ward'), "w1|6|2\nw2|6|2\nrest|6|2", 'undeclared keys are one group, other');
is(bounded(9, 3, q{SELECT date_trunc('month', day)::date, dp_count(*), dp_count(DISTINCT u) FROM shared GROUP BY date_trunc('month', day)}), "2026-01-01|9|1\n2026-02-01|12|2\n2026-03-01|0|0", 'days are one group, their month');
is(bounded(9, 1, q{SELECT extract(year FROM day), dp_count(*), dp_count(DISTINCT u) FROM shared GROUP BY 1}), "2026|12|2", 'or their year');
is(bounded(5, 1, 'SELECT dp_histogram(x, 0, 10, 1), dp_argmax(x, ARRAY[1, 5]) FROM shared'), '{8}|5', 'values of no bin and no candidate take no place');

# Selections count m rows of a unit.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE vote (u int, v int);
INSERT INTO vote SELECT 0, 5 FROM generate_series(1, 10000);
INSERT INTO vote SELECT u, 80 FROM generate_series(1, 50) u;
EOT
protect('vote');
is(bounded(20, 1, 'SELECT dp_argmax(v, ARRAY[5, 80]), dp_median(v, 0, 100) BETWEEN 79 AND 81, dp_histogram(v, 0, 100, 2) FROM vote'), '80|t|{20,50}', 'one unit does not decide with 20 rows');
is(bounded(90, 1, 'SELECT dp_argmax(v, ARRAY[5, 80]), dp_median(v, 0, 100) BETWEEN 4 AND 6, dp_histogram(v, 0, 100, 2), dp_topk(v, 1, ARRAY[5, 80]) FROM vote'), '5|t|{90,50}|{5}', 'and does with 90');

# Values at an end of what a type holds, and bounds as large as they may be.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE extreme (u int, k int NOT NULL, b int8, f float8, n numeric, d date);
INSERT INTO extreme SELECT 1, 1, 9223372036854775807, 'Infinity', 1e300, 'infinity' FROM generate_series(1, 1000);
INSERT INTO extreme SELECT 2, 2, -9223372036854775808, '-Infinity', -1e300, '-infinity' FROM generate_series(1, 1000);
INSERT INTO extreme SELECT 3, 1, NULL, 'NaN', 'NaN', NULL FROM generate_series(1, 1000);
EOT
protect('extreme', "SELECT dp_declare('extreme', 'k', lower => 1, upper => 2)");
is(bounded(1000, 2, q{SELECT k, round(dp_sum(f, -10, 10)), round(dp_sum(n, -10, 10)), dp_sum(b, -10, 10), dp_avg(b, -10, 10)::int, dp_count(f), dp_count(d), dp_count(b), dp_median(d, date '2020-01-01', date '2021-01-01') FROM extreme GROUP BY k}),
	"1|10000|10000|10000|10|2000|1000|1000|2021-01-01\n2|-10000|-10000|-10000|-10|1000|1000|1000|2020-01-01", 'infinities clamp, NaN and NULL are skipped');
is(sqlstate($node, 'analyst', "SET dp_pg.max_rows = 2147483647; SET dp_pg.max_keys = 2147483647; SELECT k, $_ FROM extreme GROUP BY k"), '', "the largest bounds: $_")
  foreach 'dp_sum(b, -9223372036854775808, 9223372036854775807)', 'dp_avg(b, -4611686018427387904, 4611686018427387904)', 'dp_variance(b, -4611686018427387904, 4611686018427387904)', 'dp_variance(n, -1e100, 1e100), dp_histogram(f, -1e300, 1e300, 9), dp_quantile(f, 0.1, -1e300, 1e300)';
is(bounded(1000, 1, 'SELECT dp_count(*), dp_count(DISTINCT u) FROM extreme WHERE k = 5'), '0|0', 'no rows at all');

# ---- groups that a unit keeps ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE whole (u int, k int NOT NULL, x int);
INSERT INTO whole SELECT u, k, 10 FROM generate_series(1, 400) u, generate_series(0, 3) k, generate_series(1, 3);
INSERT INTO whole SELECT u, 9, 7 FROM generate_series(1, 400) u, generate_series(1, 5);
EOT
protect('whole', "SELECT dp_declare('whole', 'k', keys => ARRAY[0, 1, 2, 3])");
is(bounded(5, 2, 'SELECT count(*), sum(u), bool_and(n = 3 * u), bool_and(s = 30 * u), bool_and(h = ARRAY[0, 3 * u]), bool_and(abs(a - 10) < 0.001)'
	  . ' FROM (SELECT dp_count(*) AS n, dp_sum(x, 0, 20) AS s, dp_count(DISTINCT u) AS u, dp_histogram(x, 0, 20, 2) AS h, dp_avg(x, 0, 20) AS a FROM whole GROUP BY k) AS q'),
	'4|800|t|t|t|t', 'a unit keeps whole groups, the same for all aggregates');

# The largest sum of squares that fair choices exceed with probability 1e-10, by
# degrees of freedom.
my %critical = (1 => 41.83, 3 => 49.55, 5 => 55.57, 9 => 65.82);

sub fair
{
	my ($name, @counts) = @_;
	my $mean = sum(@counts) / @counts;
	my $chi = sum(map { ($_ - $mean)**2 / $mean } @counts);

	cmp_ok($chi, '<', $critical{$#counts}, "$name are equally likely: @counts");
	return;
}

my @kept = split /\n/, bounded(5, 1, 'SELECT dp_count(DISTINCT u) FROM whole GROUP BY k; SELECT dp_count(DISTINCT u) FROM whole GROUP BY k');
is(scalar @kept, 8, 'two answers');
isnt("@kept[ 0 .. 3 ]", "@kept[ 4 .. 7 ]", 'groups are chosen anew');
fair('groups', map { $kept[$_] + $kept[ $_ + 4 ] } 0 .. 3);

# Which pairs of a unit's groups, or of its rows, are kept, in many answers.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE single (u int, k int NOT NULL, x int);
INSERT INTO single SELECT 1, k, k FROM generate_series(0, 4) k, generate_series(1, 1 + k);
CREATE TABLE line (u int, x int);
INSERT INTO line SELECT u, x FROM generate_series(1, 1000) u, generate_series(0, 3) x;
CREATE TABLE two (u int, v int);
INSERT INTO two VALUES (1, 1), (1, 2), (2, 1), (2, 2), (2, 2);
EOT
protect('single', "SELECT dp_declare('single', 'k', keys => ARRAY[0, 1, 2, 3, 4])");
protect('line');
protect('two');
value($node, <<'EOT');
SET SESSION AUTHORIZATION analyst;
CREATE FUNCTION often(n int, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE query INTO answer;
		RETURN NEXT answer;
	END LOOP;
END $$;
EOT
sub choices
{
	my ($m, $kappa, $n, $query) = @_;

	return map { /^(\d+)\|/ ? $1 : $_ } split /\n/, bounded($m, $kappa, "SELECT count(*), o FROM often($n, \$q\$$query\$q\$) AS o GROUP BY o ORDER BY o");
}
my @pairs = choices(9, 2, 500, q{SELECT string_agg(k::text, '' ORDER BY k) FROM (SELECT k, dp_count(*) AS n FROM single GROUP BY k) AS s WHERE n = k + 1});
is(scalar @pairs, 10, 'all pairs of groups');
fair('pairs of groups', @pairs);
fair('distinct values of two units', choices(1, 1, 400, 'SELECT dp_count(DISTINCT v) FROM two'));
my @rows = bounded(1, 1, 'SELECT dp_histogram(x, 0, 4, 4) FROM line') =~ /(\d+)/g;
is(sum(@rows), 1000, 'one row of each unit');
fair('rows', @rows);
@rows = bounded(3, 1, 'SELECT dp_histogram(x, 0, 4, 4) FROM line') =~ /(\d+)/g;
is(sum(@rows), 3000, 'three rows of each unit');
fair('rows left out', map { 1000 - $_ } @rows);
isnt(bounded(1, 1, 'SELECT dp_histogram(x, 0, 4, 4) FROM line'), bounded(1, 1, 'SELECT dp_histogram(x, 0, 4, 4) FROM line'), 'rows are chosen anew');

# ---- types of units ----

my %units = (
	int2 => [qw(0 1 -1 32767 -32768)], int4 => [qw(0 1 -1 2147483647 -2147483648)],
	int8 => [qw(0 1 -1 4294967296 4294967297 9223372036854775807 -9223372036854775808)],
	text => [ 'a', 'a ', 'A', '', 'b' x 15, 'b' x 16, 'b' x 17, 'c' x 4096, 'c' x 4095 . 'd', 'd' . 'c' x 4095 ],
	varchar => [ 'a', 'a ', 'e' x 300, 'e' x 299 . 'f' ], 'char(5)' => [ 'a', 'a  ', ' a', '', '  ', 'abcde' ],
	uuid => [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC999C0B4EF8BB6D6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12' ],
	numeric => [qw(1 1.0 1.000 -1 -1.00 0 0.00 10000 1e4 NaN Infinity -Infinity 123456789012345678901234567890.5 123456789012345678901234567890.50 1e100 1e-100)],
	date => [ '2000-01-01', 'infinity', '-infinity', '2000-01-02' ],
	timestamp => [ '2000-01-01', '2000-01-01 00:00:00.000001', 'infinity' ],
	timestamptz => [ '2000-01-01 00:00+00', '2000-01-01 01:00+01', '2000-01-01 01:00+00' ],
	float8 => [qw(0 -0 1 1e0 NaN nan Infinity -Infinity 1e-300 2e-300)], float4 => [qw(0 -0 1 NaN Infinity 0.1)],
	bytea => [ '\x', '\x00', '\x0000', '\x01' ], boolean => [qw(t f)],
	inet => [ '10.0.0.1', '10.0.0.1/32', '10.0.0.1/24', '::1', '::1/128' ], cidr => [ '10.0.0.0/8', '10.0.0.0/16' ],
	interval => [ '1 mon', '30 days', '720 hours', '1 day', '24:00', '-1 day', '0', '1 mon -30 days' ],
	timetz => [ '12:00+00', '13:00+01', '12:00+01' ], time => [ '00:00', '24:00' ], macaddr => [ '08:00:2b:01:02:03', '08002b010203' ],
	name => [ 'a', 'ab' ], oid => [qw(0 4294967295)], money => [ '1', '1.00', '-2' ], few => [qw(1 1.00 2)]);

value($node, "SET SESSION AUTHORIZATION owner; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE DOMAIN few AS numeric CHECK (VALUE < 9); CREATE TABLE moody (u mood)");
is(sqlstate($node, 'owner', q{SELECT dp_protect('moody', unit => 'u', dataset => 'hospital')}), '22023', 'a type that is not built in is none');
my $number = 0;
foreach my $type (sort keys %units)
{
	my $table = 'unit_' . ++$number;
	my $list = join ', ', map { "('$_'::$type)" } @{ $units{$type} };

	value($node, "SET SESSION AUTHORIZATION owner; CREATE TABLE $table (u $type, k int NOT NULL); INSERT INTO $table SELECT u, k FROM (VALUES $list, (NULL)) AS v (u), generate_series(1, 3) k, generate_series(1, 2)");
	protect($table, "SELECT dp_declare('$table', 'k', keys => ARRAY[1, 2])");
	my ($n, $raw) = split /\|/, value($node, "SELECT count(DISTINCT u), count(u) / 6 FROM $table");
	is(bounded(1, 1, "SELECT dp_count(*), dp_count(DISTINCT u), dp_count(k) FROM $table"), "$n|$n|$n", "units of $type");
	is(bounded(100, 2, "SELECT k, dp_count(*), dp_count(DISTINCT u) FROM $table GROUP BY k"), join("\n", map { $_ . '|' . 2 * $raw . "|$n" } 1, 2), "all rows of units of $type");
	is(bounded(3, 1, "SELECT sum(d) FROM (SELECT k, dp_count(DISTINCT u) AS d FROM $table GROUP BY k) AS s"), $n, "one group of each unit of $type");
}
value($node, "SET SESSION AUTHORIZATION owner; CREATE TABLE longer (u text, k int); INSERT INTO longer VALUES (repeat('x', 4096), 1), (repeat('x', 4097), 1), (repeat('x', 100000), 1), ('y', 1)");
protect('longer');
is(bounded(9, 1, 'SELECT dp_count(*), dp_count(DISTINCT u), dp_sum(k, 0, 1) FROM longer'), '2|2|2', 'a unit above 4096 bytes has no rows');
my $icu = value($node, q{SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu'});
SKIP:
{
	skip 'no ICU here', 1 if !$icu;
	value($node, q{CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); SET SESSION AUTHORIZATION owner;
CREATE TABLE loosely (u text COLLATE loose, k int); INSERT INTO loosely SELECT u, 1 FROM unnest(ARRAY['a', 'A', 'b', 'B']) u, generate_series(1, 3)});
	my $refused = sqlstate($node, 'owner', q{SELECT dp_protect('loosely', unit => 'u', dataset => 'hospital')});

	$refused ||= sqlstate($node, 'analyst', 'SET dp_pg.max_rows = 1; SELECT dp_count(*) FROM loosely');
	is($refused || bounded(1, 1, 'SELECT dp_count(*) FROM loosely'), $refused =~ /^(0A000|22023)$/ ? $refused : '2', 'equal texts are one unit, or refused');
}

# One unit, however its value is stored and whichever partition its rows are in.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE stored (u text);
INSERT INTO stored VALUES (repeat('ab', 2000)), (repeat('z', 3000));
ALTER TABLE stored ALTER u SET STORAGE EXTERNAL;
INSERT INTO stored VALUES (repeat('ab', 2000)), (repeat('z', 3000));
ALTER TABLE stored ALTER u SET STORAGE MAIN;
INSERT INTO stored VALUES (repeat('ab', 2000)), (repeat('z', 3000));
CREATE TABLE part (u int, x int, v int) PARTITION BY RANGE (x);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (50);
CREATE TABLE part_2 (v int, x int, gone int, u int);
ALTER TABLE part_2 DROP gone;
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (50) TO (200);
INSERT INTO part SELECT i % 10, i, i % 7 FROM generate_series(1, 100) i;
EOT
protect($_) foreach 'stored', 'part';
is(bounded(2, 1, 'SELECT dp_count(*), dp_count(DISTINCT u) FROM stored'), '4|2', 'units stored in several ways');
is(bounded(6, 1, 'SELECT dp_count(*), dp_count(DISTINCT u) FROM part; SELECT dp_count(*) FROM part WHERE x > 50'), "60|10\n50", 'units in several partitions');
my $kept = session($node, 'analyst');
answer($kept, 'SET dp_pg.max_rows = 2; PREPARE kept AS SELECT dp_count(*) FROM part;');
is((answer($kept, 'EXECUTE kept;'))[0], 20, 'by one unit');
protect('part', "SELECT dp_protect('part', unit => 'v')");
is((answer($kept, 'EXECUTE kept;'))[0], 14, 'by another, in a plan that is kept');
hang_up($kept);

# ---- very many rows, and nothing to be seen of them ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE UNLOGGED TABLE crowd (u int, k int NOT NULL, x int);
INSERT INTO crowd SELECT 0, 0, i % 100 FROM generate_series(1, 500000) i;
INSERT INTO crowd SELECT i % 100 + 1, i % 10, 50 FROM generate_series(1, 2000) i;
CREATE UNLOGGED TABLE wide (u int, k int NOT NULL, x int);
INSERT INTO wide SELECT 0, i % 400, i FROM generate_series(1, 500000) i;
CREATE UNLOGGED TABLE many (u int, k int NOT NULL, x int);
INSERT INTO many SELECT i % 300000, i / 300000, i % 100 FROM generate_series(0, 1999999) i;
CREATE UNLOGGED TABLE named (u text, k int NOT NULL);
INSERT INTO named SELECT repeat(md5((i % 60000)::text), 6) || lpad((i % 60000)::text, 8), i % 5 FROM generate_series(0, 299999) i;
EOT
protect('crowd', "SELECT dp_declare('crowd', 'k', lower => 0, upper => 9)");
protect('wide', "SELECT dp_declare('wide', 'k', lower => 0, upper => 399)");
protect('many', "SELECT dp_declare('many', 'k', lower => 0, upper => 6)");
protect('named', "SELECT dp_declare('named', 'k', lower => 0, upper => 4)");

near(bounded(7, 1, 'SELECT dp_count(*), dp_count(DISTINCT u), dp_sum(x, 0, 100), dp_histogram(x, 0, 100, 1), round(dp_avg(x, 0, 100), 6) FROM crowd'),
	'707|101|35347|{707}|' . sprintf('%.6f', (100 * 7 * 50 + 49.5 * 7) / 707), 'one unit of 500,000 rows in a group', 0, 0, 1, 0, 0.001);
is(bounded(1000, 10, 'SELECT sum(n), sum(d) FROM (SELECT k, dp_count(*) AS n, dp_count(DISTINCT u) AS d FROM crowd GROUP BY k) AS s'), '3000|101', 'beside the others');
is(bounded(30, 1, 'SELECT dp_count(DISTINCT x), dp_count(*) FROM wide'), '30|30', 'one unit of 500,000 distinct values');
is(bounded(500000, 1, 'SELECT dp_count(DISTINCT x), dp_count(*) FROM wide'), '500000|500000', 'all of them');
is(bounded(3, 250, 'SELECT count(*) FILTER (WHERE n = 3), count(*) FILTER (WHERE n = 0), sum(d) FROM (SELECT k, dp_count(*) AS n, dp_count(DISTINCT x) AS d FROM wide GROUP BY k) AS s'), '250|150|750', 'one unit of 500,000 rows over 400 groups');
is(bounded(1250, 400, 'SELECT sum(n), min(n), max(n) FROM (SELECT k, dp_count(*) AS n FROM wide GROUP BY k) AS s'), '500000|1250|1250', 'all of them');

# The unit does not fit into memory: 24 columns more of 500,000 rows.
my @columns = map { "dp_count(x + $_) AS c$_" } 1 .. 24;
is(bounded(3, 250, 'SELECT count(*) FILTER (WHERE n = 3), count(*) FILTER (WHERE n = 0), bool_and(n = 0 OR abs(a - k) < 0.5), sum(d), sum(h[1]), sum(' . join(' + ', map { "c$_" } 1 .. 24) . ')'
	  . ' FROM (SELECT k, dp_count(*) AS n, dp_avg(k, 0, 400) AS a, dp_count(DISTINCT x) AS d, dp_histogram(x, 0, 1000000, 1) AS h, ' . join(', ', @columns) . ' FROM wide GROUP BY k) AS s'),
	'250|150|t|750|750|' . 24 * 750, 'one unit that does not fit into memory');

is(bounded(3, 250, 'SELECT bool_and(abs(n - s) < 0.001), round(sum(n)), sum(d), sum(h[1]) FROM (SELECT k, dp_sum(1::float8, 0, 1) AS n, dp_sum(x::float8 / x::float8, 0, 1) AS s,'
	  . ' dp_count(DISTINCT x) AS d, dp_histogram(x, 0, 1000000, 1) AS h FROM wide WHERE x > 0 GROUP BY k) AS s', 100),
	't|100|100|100', 'a total of rows in all its groups');
is(bounded(3, 250, 'SELECT sum(d), sum(h[1]), ' . join(' + ', map { "min(c$_)" } 1 .. 24)
	  . ' FROM (SELECT k, dp_count(DISTINCT x) AS d, dp_histogram(x, 0, 1000000, 1) AS h, ' . join(', ', @columns) . ' FROM wide GROUP BY k) AS s', 700),
	'700|700|0', 'a total of one that does not fit into memory');

# What may be seen of the server while a query runs, and after it; a charge may
# make a page of dp_pg's own tables.
my $looks = q{SELECT (SELECT count(*) FROM pg_ls_tmpdir()), (SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false)), pg_tablespace_size('pg_default'), (SELECT sum(temp_files) FROM pg_stat_database), (SELECT sum(temp_bytes) FROM pg_stat_database)};
my $own_size = q{SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'dp_pg'::regnamespace AND relkind = 'r'};
my $super = session($node, 'postgres');
answer($super, 'CREATE TABLE filler AS SELECT 1; CHECKPOINT;');
sub look
{
	my ($before, $seen, $after);

	do { ($before, $seen, $after) = split /\n/, (answer($super, "$own_size; $looks; $own_size;"))[0] } until $before == $after;
	my @seen = split /\|/, $seen;
	$seen[2] -= $after;
	return join '|', @seen;
}

# The answer of a query, with all that was seen meanwhile.
sub watched
{
	my ($role, $sql) = @_;
	my $session = session($node, $role);
	my ($answer, %seen);

	answer($session, $sql =~ /^(SET.*?); (?!SET)/ ? "$1;" : 'SELECT 1;');
	ask($session, ($sql =~ s/^SET.*; (?!SET)//r) . "; SELECT 'en' || 'd';");
	do { $seen{ look() } = 1; usleep(20_000); $session->{h}->pump_nb; } until $session->{out} =~ /end/ || $session->{err} ne '';
	($answer) = answer($session);
	hang_up($session);
	wait_until($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'dp_pg reader' AND state = 'active'});
	$seen{ look() } = 1;
	return ($answer, keys %seen);
}
(my $answer, my @seen) = watched('analyst', 'SET dp_pg.max_rows = 2; SET dp_pg.max_keys = 4; SELECT sum(n), sum(s), sum(d) FROM (SELECT k, dp_count(*) AS n, dp_sum(x, 0, 100) AS s, dp_count(DISTINCT u) AS d FROM many GROUP BY k) AS q');
like($answer, qr/^1200000\|\d+\|1200000\nend/, '2 million rows of 300,000 units');
is(scalar @seen, 1, 'and no file is seen') or diag(join "\n", @seen);
near(bounded(2, 7, 'SELECT dp_count(*), dp_count(DISTINCT u), dp_sum(x, 0, 100) FROM many'),
	value($node, 'SELECT sum(least(n, 2)), count(*), sum(s * least(n, 2)::numeric / n) FROM (SELECT count(*) AS n, sum(x) AS s FROM many GROUP BY u) AS q'), 'their sums', 0, 0, 0.501);
($answer, @seen) = watched('analyst', 'SET dp_pg.max_rows = 2; SET dp_pg.max_keys = 2; SELECT sum(n), sum(d) FROM (SELECT k, dp_count(*) AS n, dp_count(DISTINCT u) AS d FROM named GROUP BY k) AS q');
like($answer, qr/^120000\|60000\nend/, '300,000 rows of units of 200 bytes') or 1;
is(scalar @seen, 1, 'and no file of these');
($answer, @seen) = watched('postgres', "SET work_mem = '64kB'; SELECT count(*) FROM (SELECT DISTINCT x, u, k FROM many ORDER BY x, u LIMIT 1000000) AS s");
cmp_ok(scalar @seen, '>', 1, "a sort's files would be");
hang_up($super);

# ---- what EXPLAIN says ----

# Sensitivity and scale of each released value.
sub explained
{
	my ($settings, $sql) = @_;
	my ($out, $err) = as($node, 'analyst', "$settings; EXPLAIN $sql");

	return "error $err" if $err ne '';
	return map { /Released: (.*?): discrete.*sensitivity (\S+), scale (\S+),/ || /Released: (.*?): .*sensitivity (\S+), scale (\S+),/ ? [ $1, $2, $3 ] : () } split /\n/, $out;
}

value($node, <<'EOT');
SET SESSION AUTHORIZATION other_owner;
CREATE TABLE replaced (u int, k int NOT NULL, x int);
SELECT dp_protect('replaced', unit => 'u', dataset => 'school');
SELECT dp_declare('replaced', 'k', keys => ARRAY[0, 1, 2, 3]);
SELECT dp_neighbours('school', 'replace_one');
SELECT dp_grant('analyst', dataset => 'school', epsilon => 9e11, delta => 1e-3);
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11, delta => 1e-3);
EOT

# Base of one row, and what replacing is beside adding in L1 and in L2:
# doc/theory.md T160.
my @table = (
	[ 'dp_count(*)', 1, 2, sqrt 2 ], [ 'dp_count(x)', 1, 2, sqrt 2 ], [ 'dp_count(DISTINCT x)', 1, 2, sqrt 2 ],
	[ 'dp_sum(x, -10, 40)', 40, 2, sqrt 2, sqrt(2 * 40 * 50) / 40 ], [ 'dp_sum(x, 5, 30)', 30, 2, sqrt 2 ], [ 'dp_sum(x, -40, 40)', 40, 2, 2 ], [ 'dp_sum(x, -30, -10)', 30, 2, sqrt 2 ],
	[ 'dp_avg(x, -10, 40)', 50, 2, sqrt 2 ], [ 'dp_variance(x, -10, 40)', 2500, 2, sqrt 2 ], [ 'dp_stddev(x, 0, 7)', 49, 2, sqrt 2 ],
	[ 'dp_histogram(x, 0, 40, 4)', 1, 2, sqrt 2 ],
	[ 'dp_bounds(x)', 1, 2, sqrt 2 ],
	[ 'dp_regr_count(x, x)', 1, 2, sqrt 2 ], [ 'dp_regr_avgx(x, x, 0, 7)', 1, 2, sqrt 2 ], [ 'dp_regr_syy(x, x, 0, 7)', 1, 2, sqrt 2 ],
	[ 'dp_covar_pop(x, x, 0, 16, 0, 16)', 1, 2, sqrt 2 ]);
my $list = join ', ', map { $_->[0] } @table;
foreach my $case ([ 1, 1, 1 ], [ 7, 1, 7 ], [ 1, 3, 3 ], [ 5, 4, 20 ], [ 5, 4, 17 ], [ 7, 3, 10 ], [ 9, 4, 9 ])
{
	my ($m, $kappa, $total) = @$case;
	my $rest = $total % $m;
	my $squares = int($total / $m) * $m**2 + $rest**2;

	foreach my $relation ('whole', 'replaced')
	{
		my $settings = "SET dp_pg.max_rows = $m; SET dp_pg.max_keys = $kappa; SET dp_pg.max_total = $total";
		my $replaced = $relation eq 'replaced';
		my @laplace = explained("$settings; SET dp_pg.epsilon = '10'", "SELECT k, $list, dp_count(DISTINCT u) FROM $relation GROUP BY k");
		my @gauss = explained("$settings; SET dp_pg.epsilon = '10'; SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '0.0001'", "SELECT k, $list, dp_count(DISTINCT u) FROM $relation GROUP BY k");
		my (@said, @wanted, @near);
		my $unit = $gauss[-1][2] / sqrt($replaced ? 2 * $kappa : $kappa);

		foreach my $i (0 .. $#table)
		{
			my (undef, $base, $l1, @l2) = @{ $table[$i] };
			my $l2 = $l2[ $rest > 0 ? -1 : 0 ];
			my $exact = sqrt($squares) * $base * ($replaced ? $l2 : 1);

			push @said, $laplace[$i][1];
			push @wanted, $total * $base * ($replaced ? $l1 : 1);
			# the noise follows the exact root, the sensitivity rounds it up;
			# EXPLAIN writes six digits
			push @near, $table[$i][0] if abs($gauss[$i][2] / ($exact * $unit) - 1) > 1e-4 || $gauss[$i][1] < $exact * (1 - 1e-5) || $gauss[$i][1] > $exact + 1;
			push @near, "scale of $table[$i][0]" if abs($laplace[$i][2] * 10 / $laplace[$i][1] - 1) > 1e-5;
		}
		is("@said", "@wanted", "L1, $relation, m $m, kappa $kappa, T $total");
		is("@near", '', "L2, $relation, m $m, kappa $kappa, T $total");
		is($laplace[-1][1], $kappa * ($replaced ? 2 : 1), "units, $relation, kappa $kappa");

		# 2 D / epsilon for a score that moves by D, D / epsilon for counts that move one way; a unit that is replaced moves
		# scores of two groups, or of the one there is by more; dp_topk has noisy counts, all of which a unit moves by m in each
		# of its groups together, but at the price in rho of four groups two rounds
		my $rounds = $kappa < 4 ? 1 : 2;
		next if $total < $kappa * $m;
		my $selections = 'dp_argmax(k), dp_topk(k, 2), dp_median(x, 0, 40), dp_quantile(x, 0.25, 0, 40), dp_quantile(x, 0, 0, 40)';
		my @selected = explained("$settings; SET dp_pg.epsilon = '10'", "SELECT k, $selections FROM $relation GROUP BY k");
		is(join(' ', map { $_->[2] } @selected), join(' ', map { $_ * $kappa * $m / 10 } $replaced ? (2, 2 * $rounds, 2, 3, 4) : (1, $rounds, 1, 1.5, 2)), "selections, $relation, m $m, kappa $kappa");
		@selected = explained("$settings; SET dp_pg.epsilon = '10'", "SELECT $selections FROM $relation");
		is(join(' ', map { $_->[2] } @selected), join(' ', map { $_ * $m / 10 } $replaced ? (2, 2, 2, 2, 2) : (1, 1, 1, 1.5, 2)), "without groups, $relation, m $m");
		is((explained("$settings; SET dp_pg.epsilon = '10'", "SELECT dp_count(*) FROM $relation"))[0][1], $m, "one group, $relation") if !$replaced;
	}
}
like(bounded(5, 4, 'EXPLAIN SELECT k, dp_count(*) FROM whole GROUP BY k'), qr/Contribution Bound: at most 20 rows of a unit count, in at most 4 groups, at most 5 in each \(max_keys, max_rows set\)/, 'EXPLAIN tells the bounds');
is(sqlstate($node, 'analyst', 'EXPLAIN SELECT dp_count(*) FROM whole'), '22023', 'and refuses where nobody says one');
unlike((as($node, 'analyst', 'EXPLAIN SELECT dp_count(*) FROM patients'))[0], qr/Contribution Bound/, 'and none where each unit has one row');
is((explained('SET dp_pg.max_rows = 9; SET dp_pg.max_keys = 9', 'SELECT dp_count(*) FROM patients'))[0][1], 1, 'whatever the settings');

# ---- linear queries, and what is refused ----

my %linear = (
	'argmax over predicates' => q{SELECT dp_argmax('whole', ARRAY['x > 1', 'x > 2'], 1)},
	'sparse vector' => q{SELECT * FROM dp_sparse_vector('whole', ARRAY['x > 1'], threshold => 5, epsilon => 1)},
	'a session of sparse vector' => q{SELECT dp_sparse_vector_open('whole', threshold => 5, epsilon => 1)},
	'weights' => q{SELECT dp_weights_open('whole', columns => ARRAY['k'], queries => 10, epsilon => 1, n => 100000)},
	'smalldb' => q{SELECT * FROM dp_smalldb('whole', columns => ARRAY['k'], queries => ARRAY['k = 1', 'k = 2', 'k = 3'], alpha => 0.5, epsilon => 1, n => 100) AS t (k int)},
	'iterate' => q{SELECT * FROM dp_iterate('whole', columns => ARRAY['k'], queries => ARRAY['k = 1'], epsilon => 1, n => 100) AS t (k int, probability float8)},
	'weights of rows' => q{SELECT * FROM dp_sparse_vector('whole', ARRAY['0.5'], threshold => 5, epsilon => 1)},
	'synthesize' => q{SELECT * FROM dp_synthesize('whole', columns => ARRAY['k'], marginals => 1, epsilon => 1, method => 'mwem', rows => 10) AS t (k int)});
my $spent = q{SELECT coalesce(sum(epsilon), 0) FROM dp_pg.ledger};
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('whole', max_rows => 1)");
foreach my $what (sort keys %linear)
{
	my $before = value($node, $spent);

	is(sqlstate($node, 'analyst', $linear{$what}), '', "$what is answered");
	is(value($node, $spent) - $before, 1, 'at its price');
}
my $before = charges($node);
is(sqlstate($node, 'analyst', 'SELECT ' . join(', ', map { "dp_sum(x, 0, $_)" } 1 .. 257) . ' FROM whole'), '54000', '257 aggregates are refused');
is(charges($node), $before, 'and nothing was charged');
is(sqlstate($node, 'analyst', 'SELECT ' . join(', ', map { "dp_sum(x, 0, $_)" } 1 .. 256) . ' FROM whole'), '', '256 are answered');

# ---- parts ----

value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('whole', 'k', immutable => true)");
$before = value($node, $spent);
as($node, 'analyst', "SET dp_pg.epsilon = '1'; SELECT dp_count(*) FROM whole WHERE k = $_; SELECT * FROM dp_sparse_vector('whole', ARRAY['k = $_'], 5)") foreach 0 .. 3;
is(value($node, $spent) - $before, 8, 'values of an immutable column cost what they cost: a unit is in all of them');
is(value($node, q{SELECT count(*) FROM dp_pg.ledger WHERE part IS NOT NULL}), 0, 'and are no parts');

$node->stop;
done_testing();
