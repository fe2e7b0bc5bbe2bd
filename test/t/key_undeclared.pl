# Undeclared group keys, released by threshold: each is released as often as the law
# says, keys of single units hardly ever, however many rows and keys one unit has;
# released values are those that SQL computes, whether or not all fits in memory;
# and neither the order of the answer nor the reader's memory depends on anything
# else.
#
# 60 numbers of released keys are each within 7 standard deviations of their means,
# which normal variables miss with a probability below 2e-10 together; at the huge
# epsilon nothing is random except with a probability below exp(-60).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant KEYS => 400;		# of each number of units
use constant HUGE => 10_000_000;
use constant PEAK_STEP => 128;	# kB, by which a heap grows

my $node = attack_node('key_undeclared', <<'EOT');
dp_pg.epsilon_ceiling = '10000000'
dp_pg.readers = 1
dp_pg.worker_idle = '10min'
fsync = off
jit = off
max_wal_size = 4GB
EOT

# Keys n.i of n units for n up to 14. In pairs a unit has a key of each of two
# kinds; in crowd a key of half a million units, and others of two; in heavy
# one unit has more rows than memory holds, in few keys and in many.
value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TABLE single AS SELECT row_number() OVER () AS id, n, n || '.' || i AS k FROM generate_series(1, 14) n, generate_series(1, @{[ KEYS ]}) i, generate_series(1, n);
ALTER TABLE single ADD PRIMARY KEY (id);
CREATE TABLE pairs AS SELECT id, k FROM single UNION ALL SELECT id, 'p' || k FROM single UNION ALL SELECT id, k FROM single WHERE id % 3 = 0;
CREATE TABLE alone AS SELECT i AS id FROM generate_series(1, 100000) i;
ALTER TABLE alone ADD PRIMARY KEY (id);
CREATE TABLE crowd AS SELECT i AS id, CASE WHEN i % 2 = 0 THEN 'most' ELSE 'k' || i / 4 END AS k, i % 11 AS x FROM generate_series(0, 999999) i;
ALTER TABLE crowd ADD PRIMARY KEY (id);
CREATE TABLE heavy AS SELECT u, u % 50 AS k, u % 7 AS x FROM generate_series(1, 500) u;
INSERT INTO heavy SELECT 1000, i % 4, i % 5 FROM generate_series(1, 600000) i;
INSERT INTO heavy SELECT 1000 + i, (i * j) % 50, 3 FROM generate_series(1, 100) i, generate_series(1, 60) j;
CREATE TABLE wide AS SELECT u, u % 100 AS k, 1 AS x FROM generate_series(1, 1000) u;
INSERT INTO wide SELECT 2000, i, 1 FROM generate_series(0, 999999) i;
SELECT dp_protect(t, unit => 'id', dataset => 'hospital') FROM unnest('{single, pairs, alone, crowd}'::regclass[]) AS t;
SELECT dp_protect(t, unit => 'u', dataset => 'hospital') FROM unnest('{heavy, wide}'::regclass[]) AS t;
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11, delta => 0.5);
EOT

sub told
{
	my ($settings, $sql) = @_;
	my ($out, $err) = as($node, 'analyst', "$settings; $sql");

	is($err, '', $sql);
	return $out;
}

sub settings
{
	my ($epsilon, $delta, $kappa, $rows) = @_;

	return "SET dp_pg.epsilon = '$epsilon'; SET dp_pg.delta = '$delta'; SET dp_pg.max_keys = $kappa; SET dp_pg.max_rows = " . ($rows // 1);
}

# ---- the law ----

# The least k whose delta_k is at most delta, and chances to be told.
sub law
{
	my ($epsilon, $delta) = @_;
	my $q = exp(-$epsilon);
	my $k = 1;

	$k++ while $q**$k * (1 - $q) / (1 + $q - 2 * $q**($k + 1)) > $delta;
	my @mass = map { $q**abs($_) * (1 - $q) / (1 + $q - 2 * $q**($k + 1)) } -$k .. $k;
	return map { my $n = $_; my $sum = 0; $sum += $mass[$_] foreach grep { $n + $_ - $k > $k } 0 .. 2 * $k; $sum } 0 .. 14;
}

sub expect
{
	my ($what, $told, $keys, $chance) = @_;
	my $deviation = $chance < 1 ? sqrt($keys * $chance * (1 - $chance)) : 0;

	cmp_ok(abs($told - $keys * $chance), '<=', 7 * $deviation + ($chance < 1 ? 3 : 1e-6), "$what: " . int($keys * $chance + 0.5) . " of $keys expected, $told told");
	return;
}

foreach my $case ([ 'single', 1, 1, 0.05, 1, '' ], [ 'single', 0.5, 1, 0.02, 1, '' ], [ 'pairs', 2, 2, 0.02, 3, q{ WHERE k NOT LIKE 'p%'} ], [ 'pairs', 2, 2, 0.02, 3, q{ WHERE k LIKE 'p%'} ])
{
	my ($relation, $epsilon, $kappa, $delta, $rows, $where) = @$case;
	my @chance = law($epsilon / $kappa, $delta / $kappa);
	my %told = map { split /\|/ } split /\n/, told(settings($epsilon, $delta, $kappa, $rows),
		"SELECT split_part(ltrim(k, 'p'), '.', 1), count(*) FROM (SELECT k, dp_count(*) FROM $relation$where GROUP BY k) AS t GROUP BY 1");

	expect("$relation, epsilon $epsilon, $kappa keys, $_ units$where", $told{$_} // 0, KEYS, $chance[$_]) foreach 1 .. 14;
}

# ---- units that are alone ----

foreach my $case ([ 'alone', 'id', 1, 0.001, 100000, 1 ], [ 'wide', 'k', 10000, 0.1, 10000, 10000 ], [ 'wide', 'k', 2, 0.01, 2, 2 ])
{
	my ($relation, $key, $kappa, $delta, $keys, $changes) = @$case;
	my $of = $relation eq 'wide' ? 'SELECT k, dp_count(*) FROM wide WHERE k >= 100 GROUP BY k' : 'SELECT id, dp_count(*) FROM alone GROUP BY id';
	my $chance = (law($changes, $delta / $changes))[1];

	expect("one unit for each key, $keys keys of $relation", told(settings($changes, $delta, $kappa), "SELECT count(*) FROM ($of) AS t"), $keys, $chance);
}
# A unit with a million keys: no more than kappa of them move, by one each.
foreach my $kappa (1, 7, 50)
{
	my @with = map { [ split /\|/ ] } split /\n/, told(settings(HUGE, '1e-9', $kappa), 'SELECT k, dp_count(*) FROM wide GROUP BY k');
	my $sum = 0;

	is(scalar @with, 100, "kappa $kappa: keys of ten units are told, and no other");
	$sum += abs($_->[1] - 10) foreach @with;
	cmp_ok($sum, '<=', $kappa, "and the unit moves them by at most $kappa");
	is((grep { $_->[1] < 10 || $_->[1] > 11 } @with) + 0, 0, 'by one each');
}

# ---- against SQL ----

# A key of half a million units and a quarter of a million of two; the order is
# that of bytes, and nothing depends on what fits into memory.
my $answer = 'SELECT md5(string_agg(t::text, \'\' ORDER BY n)), count(*) FROM (SELECT t, row_number() OVER () AS n FROM (%s) AS t) AS t';
foreach my $where ('true', 'id < 2000', 'x > 3')
{
	is(told(settings(HUGE, '1e-9', 1), sprintf $answer, "SELECT k, dp_count(*) AS n, dp_sum(x, 0, 10) AS s FROM crowd WHERE $where GROUP BY k"),
		value($node, sprintf $answer, "SELECT k, count(*) AS n, sum(x) AS s FROM crowd WHERE $where GROUP BY k HAVING count(*) > 1 ORDER BY k COLLATE \"C\""), "as SQL says, $where");
}
is(told(settings(HUGE, '1e-9', 1), q{SELECT k, dp_count(DISTINCT x), dp_count(DISTINCT id), dp_median(x, 0, 10), dp_variance(x, 0, 10)::numeric(6, 2), dp_histogram(x, 0, 11, 2) FROM crowd GROUP BY k HAVING dp_count(*) > 1000}),
	value($node, q{SELECT k, count(DISTINCT x), count(*), 5, variance(x)::numeric(6, 2), ARRAY[count(*) FILTER (WHERE x < 5.5), count(*) FILTER (WHERE x > 5.5)] FROM crowd WHERE k = 'most' GROUP BY k}), 'a key that memory does not hold');

# Joined rows come in parts, all of some units in each; votes are of all of them.
is(told(settings(HUGE, '1e-9', 1), sprintf $answer, q{SELECT c.k, dp_count(*) AS n, dp_count(DISTINCT a.id) AS u FROM crowd AS c JOIN alone AS a ON a.id = c.id GROUP BY c.k}),
	value($node, sprintf $answer, q{SELECT c.k, count(*) AS n, count(*) AS u FROM crowd AS c JOIN alone AS a USING (id) GROUP BY c.k HAVING count(*) > 1 ORDER BY c.k COLLATE "C"}), 'two private relations joined');

# One unit with 150,000 rows in each of four keys; another hundred in up to 50 keys.
foreach my $m (1, 20, 100)
{
	near(told(settings(HUGE, '1e-9', 50, $m), 'SELECT k, dp_count(*), dp_sum(x, 0, 10), dp_count(DISTINCT u), dp_count(DISTINCT x) FROM heavy GROUP BY k' ),
		value($node, "SELECT k, sum(least(c, $m)), sum(s * least(c, $m)::numeric / c), count(*), %s FROM (SELECT u, k, count(*) AS c, sum(x) AS s FROM heavy GROUP BY u, k) AS t GROUP BY k ORDER BY k" =~ s/%s/(SELECT count(DISTINCT x) FROM heavy AS h WHERE h.k = t.k)/r),
		"units with many rows, $m of them in a key", 0, 0, 0.501) if $m > 1;
	is(told(settings(HUGE, '1e-9', 50, $m), 'SELECT k, dp_count(*), dp_count(DISTINCT u) FROM heavy GROUP BY k' ),
		value($node, "SELECT k, sum(least(c, $m)), count(*) FROM (SELECT u, k, count(*) AS c FROM heavy GROUP BY u, k) AS t GROUP BY k ORDER BY k"), "counts, $m rows");
}
# Noise is for as many groups as are told, not for as many as a unit might have:
# of a count its scale is 0.02 here and not 100, or 32 and not 2236.
my $two = 'SELECT (k + u * 0) % 2, dp_count(*), dp_count(DISTINCT u) FROM heavy WHERE u <> 1000 GROUP BY (k + u * 0) % 2';
my $plain = value($node, ($two =~ s/dp_count/count/gr) . ' ORDER BY 1');
my $wide = settings(HUGE, '1e-9', 10000, 100000);

is(told($wide, $two), $plain, 'noise is for two keys');
my @near = map { [ split /\|/ ] } split /\n/, told("$wide; SET dp_pg.mechanism = gaussian", $two);
my @exact = map { [ split /\|/ ] } split /\n/, $plain;
cmp_ok(abs($near[$_][1] - $exact[$_][1]), '<', 7 * 32, "Gaussian noise, too, key $_") foreach 0, 1;
like(told($wide, "EXPLAIN $two"), qr/in at most 10000 groups, at most 100000 in each, and no more than are released/, 'EXPLAIN says so');

# Which keys a unit keeps is fair, also of one that memory does not hold.
my %kept = (0 => 0, 1 => 0, 2 => 0, 3 => 0);
foreach (1 .. 60)
{
	my $with = told(settings(HUGE, '1e-9', 1), 'SELECT k, dp_count(DISTINCT u) FROM heavy WHERE u <= 1000 GROUP BY k HAVING dp_count(DISTINCT u) > 10');

	like($with, qr/^[0-3]\|11$/, 'it keeps one') or next;
	$kept{ substr $with, 0, 1 }++;
}
cmp_ok($kept{$_}, '>', 0, "key $_ is kept at times") foreach 0 .. 3;	# else with probability 3e-8 each

# ---- memory ----

sub peak
{
	my $pid = value($node, "SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
	my ($size) = slurp_file("/proc/$pid/status") =~ /^VmPeak:\s+(\d+) kB/m;

	return $size;
}

foreach my $case ([ 'crowd', 1, 'dp_count(*), dp_count(DISTINCT x)', 'id < %s' ], [ 'wide', 10000, 'dp_count(*)', 'k < %s' ], [ 'heavy', 3, 'dp_sum(x, 0, 10), dp_median(x, 0, 10)', 'u < %s' ])
{
	my ($relation, $kappa, $list, $where) = @$case;
	my @taken;

	foreach my $most (0, 10, 1000000)
	{
		value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
		as($node, 'analyst', 'SELECT dp_count(*) FROM patients WHERE id < 0');
		my $before = peak();
		told(settings(HUGE, '1e-9', $kappa, 5), "SELECT count(*) FROM (SELECT k, $list FROM $relation WHERE " . sprintf($where, $most) . ' GROUP BY k) AS t');
		push @taken, peak() - $before;
	}
	cmp_ok(abs($taken[$_] - $taken[0]), '<', PEAK_STEP, "$relation: a reader takes as much for rows as for none, $taken[0] kB") foreach 1, 2;
}

$node->stop;
done_testing();
