# Real data with many rows per unit: flights from New York, the aircraft as the
# privacy unit.  Answers are within what EXPLAIN promises of what SQL computes
# from the rows that count: of each aircraft at most two flights in a group for
# counts, and all of them for means.
#
# Bounds on noise are exceeded with a probability below 1e-9 each: of counts, of
# aircraft, of means.  That more than 32 of 192 values miss an error that each
# misses with at most 5% has one below 7e-10.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $file = ($ENV{DP_PG_DATA} || '.') . '/nycflights.csv';

plan skip_all => 'no real data: nycflights.csv is absent' if !-r $file;

my $node = attack_node('flights');

value($node, <<"EOT");
CREATE TABLE flight (year int, month int NOT NULL, day int, dep_time int, dep_delay int NOT NULL, arr_time int, arr_delay int, carrier text NOT NULL, tailnum text NOT NULL, flight int, origin text, dest text, air_time int, distance int, hour int, minute int);
COPY flight FROM '$file' (FORMAT csv, HEADER);
ALTER TABLE flight OWNER TO owner;
SET SESSION AUTHORIZATION owner;
SELECT dp_protect('flight', unit => 'tailnum', dataset => 'air');
SELECT dp_declare('flight', 'carrier', keys => ARRAY['9E', 'AA', 'AS', 'B6', 'DL', 'EV', 'F9', 'FL', 'HA', 'MQ', 'OO', 'UA', 'US', 'VX', 'WN', 'YV']);
SELECT dp_declare('flight', 'month', lower => 1, upper => 12);
SELECT dp_declare('flight', 'dep_delay', lower => -30, upper => 120);
SELECT dp_grant('analyst', dataset => 'air', epsilon => 1000);
EOT

# An aircraft may be in each month.
my $bounds = 'SET dp_pg.epsilon = 24; SET dp_pg.max_keys = 12; SET dp_pg.max_rows';

# Rows of an answer by all columns but the last n.
sub rows
{
	my ($n, $out) = @_;

	return map { my @fields = split /\|/, $_, -1; my @values = splice(@fields, -$n); ("@fields" => \@values) } split /\n/, $out;
}

sub answered
{
	my ($m, $sql) = @_;
	my ($out, $err) = as($node, 'analyst', "$bounds = $m; $sql");

	is($err, '', $sql);
	return $out;
}

# One of so many noises of a scale is larger with a probability below 1e-9: each
# exceeds t with one below 2 exp(-t / scale).
sub most_noise
{
	my ($scale, $values) = @_;

	return $scale * log(2 * $values * 1e9);
}

# ---- flights by carrier and month ----

my $by = 'SELECT carrier, month, dp_count(*) FROM flight GROUP BY carrier, month';
my $plan = answered(2, "EXPLAIN $by");
like($plan, qr/sensitivity 24, scale 1, 95% error 3$/m, 'counts of two rows in twelve groups');

my %counts = rows(1, answered(2, $by));
my %kept = rows(1, value($node, 'SELECT carrier, month, sum(least(n, 2)) FROM (SELECT carrier, month, count(*) AS n FROM flight GROUP BY carrier, month, tailnum) AS q GROUP BY carrier, month'));
my @errors = map { abs($counts{$_}[0] - ($kept{$_} // [0])->[0]) } keys %counts;

is(scalar keys %counts, 16 * 12, 'carriers and months');
is(join(' ', grep { !exists $counts{$_} } keys %kept), '', 'groups that have rows are there');
cmp_ok(max(@errors), '<', most_noise(1, 192), 'counts are near what counts of each aircraft');
cmp_ok(scalar(grep { $_ > 3 } @errors), '<=', 32, 'and within their 95% error');

# ---- aircraft ----

cmp_ok(abs(answered(2, 'SELECT dp_count(DISTINCT tailnum) FROM flight') - value($node, 'SELECT count(DISTINCT tailnum) FROM flight')),
	'<', most_noise(1 / 24, 1), 'distinct aircraft');

# ---- delays by month ----

# All flights count: a mean is A / (A + B) of the way between its bounds, of two
# sums with noise of scale 12 m 150 / epsilon each, and A + B = 150 n without.
my $most = value($node, 'SELECT max(n) FROM (SELECT count(*) AS n FROM flight GROUP BY month, tailnum) AS q');
my %means = rows(1, answered($most, 'SELECT month, dp_avg(dep_delay, -30, 120, 50) FROM flight GROUP BY month'));
my %exact = rows(2, value($node, 'SELECT month, avg(least(greatest(dep_delay, -30), 120)), count(*) FROM flight GROUP BY month'));
my $noise = most_noise(12 * $most * 150 / 50, 24);

is(join(' ', sort keys %means), join(' ', sort keys %exact), 'months');
foreach my $month (sort { $a <=> $b } keys %exact)
{
	my ($mean, $n) = @{ $exact{$month} };

	cmp_ok(abs($means{$month}[0] - $mean), '<', 150 * $noise / (150 * $n - 2 * $noise), "mean delay of month $month");
}

# ---- what bounds lose, for the owner ----

like(value($node, "SET SESSION AUTHORIZATION owner; SELECT * FROM dp_suggest_bounds('flight') WHERE what = 'max_total'"),
	qr/^max_total\|1\|0\.\d+\|0\.\d+\|/m, 'the owner sees what each bound loses');

$node->stop;
done_testing();
