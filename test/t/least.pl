# An owner's least number of units (doc/theory.md T106): groups of u units are shown as
# often as the law of the deciding noise says, by whichever number decides; no number
# below it is ever shown; and each way is charged what it was said to cost.
#
# 72 numbers of groups are each within 7 standard deviations of their means, which
# normal variables miss with a probability below 2e-10 together.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use List::Util qw(min sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant GROUPS => 200;		# of each number of units, 4 to 12
use constant LEAST => 8;

my $node = attack_node('least', "fsync = off\njit = off\n");

# Group k has 4 + k % 9 units. In pairs these have two rows in each of two groups.
my $last = 9 * GROUPS - 1;
value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TABLE single AS SELECT row_number() OVER () AS id, k, 'n' || k AS name, 1 AS x FROM generate_series(0, $last) k, generate_series(1, 4 + k % 9);
ALTER TABLE single ADD PRIMARY KEY (id), ALTER k SET NOT NULL;
CREATE TABLE pairs AS SELECT id, k + 9 * j AS k, i AS x FROM single, generate_series(0, 1) i, generate_series(0, 1) j WHERE k / 9 % 2 = 0;
ALTER TABLE pairs ALTER k SET NOT NULL;
SELECT dp_protect(t, unit => 'id', dataset => 'hospital') FROM unnest('{single, pairs}'::regclass[]) AS t;
SELECT dp_declare(t, 'k', lower => 0, upper => $last), dp_declare(t, min_units => @{[ LEAST ]}) FROM unnest('{single, pairs}'::regclass[]) AS t;
SELECT dp_declare('pairs', max_rows => 2, max_keys => 2);
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e8, delta => 0.5);
EOT

# ---- laws: the chance that the noise is at least d ----

sub laplace
{
	my ($rate) = @_;
	my $q = exp(-$rate);

	return sub { my ($d) = @_; return $d > 0 ? $q**$d / (1 + $q) : 1 - $q**(1 - $d) / (1 + $q) };
}

sub sampled
{
	my ($most, $weight) = @_;
	my $all = sum0(map { $weight->($_) } -$most .. $most);

	return sub { my ($d) = @_; return $d > $most ? 0 : sum0(map { $weight->($_) } ($d < -$most ? -$most : $d) .. $most) / $all };
}

sub gaussian { my ($sigma) = @_; return sampled(200, sub { exp(-$_[0]**2 / (2 * $sigma**2)) }) }

# Ask for groups; how many of each size, and the smallest numbers of their columns.
sub shown
{
	my ($settings, $query, $columns) = @_;
	my ($out, $err) = as($node, 'analyst', "SET client_min_messages = warning; $settings; SELECT 4 + k % 9, count(*), " . join(', ', map { "min(c$_)" } 1 .. $columns)
		. " FROM ($query) AS q (k, " . join(', ', map { "c$_" } 1 .. $columns) . ') GROUP BY 1');
	my (%of, @least);

	is($err, '', "$query, $settings");
	foreach my $line (split /\n/, $out)
	{
		my ($units, $groups, @smallest) = split /\|/, $line;

		$of{$units} = $groups;
		$least[$_] = min(grep { defined } $least[$_], $smallest[$_]) foreach 0 .. $#smallest;
	}
	return (\%of, @least);
}

sub compare
{
	my ($of, $chance, $kept) = @_;

	foreach my $units (4 .. 12)
	{
		my $p = $chance->(LEAST - $units);
		my $wanted = GROUPS * $p;
		my $got = $of->{$units} // 0;

		cmp_ok(abs($got - $wanted), '<=', 7 * sqrt(GROUPS * $p * (1 - $p)) + 3, sprintf '%d units: %.0f of %d expected, %d shown', $units, $wanted, GROUPS, $got);
	}
	return;
}

sub spent { return value($node, 'SELECT epsilon FROM dp_pg.ledger ORDER BY id DESC LIMIT 1') }

# ---- rows that are units ----

my ($of, @least) = shown('SET dp_pg.epsilon = 0.5', 'SELECT k, dp_count(*) FROM single GROUP BY k', 1);
compare($of, laplace(0.5));
is($least[0], LEAST, 'the number that decides is not below');
is(spent(), 0.5, 'it costs one value');
($of, @least) = shown('SET dp_pg.epsilon = 0.5', 'SELECT k, dp_sum(x, 0, 10) FROM single GROUP BY k', 1);
compare($of, laplace(0.5));
cmp_ok($least[0], '<', 0, 'a sum has its own noise');
is(spent(), 1, 'a number that is added costs another value');
($of, @least) = shown('SET dp_pg.epsilon = 0.6; SET dp_pg.split = on', 'SELECT k, dp_sum(x, 0, 10), dp_count(x) FROM single GROUP BY k', 2);
compare($of, laplace(0.2));
is(spent(), 0.6, 'or a share');

# ---- units with many rows, in two groups each ----

($of, @least) = shown('SET dp_pg.epsilon = 1', 'SELECT k, dp_count(*) FROM pairs GROUP BY k', 1);
compare($of, laplace(0.5));
cmp_ok($least[0], '<', LEAST, 'the number of rows does not decide');
is(spent(), 2, 'that of units is added');
($of, @least) = shown('SET dp_pg.epsilon = 1', 'SELECT k, dp_count(DISTINCT id), dp_count(*) FROM pairs GROUP BY k', 2);
compare($of, laplace(0.5));
is($least[0], LEAST, 'a number of units that is asked for decides');
is(spent(), 2, 'and is not added');
($of, @least) = shown("SET dp_pg.epsilon = 2; SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '1e-4'", 'SELECT k, dp_count(*) FROM pairs GROUP BY k', 1);
my ($sigma) = (as($node, 'analyst', "SET dp_pg.epsilon = 2; SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '1e-4'; EXPLAIN SELECT k, dp_count(*) FROM pairs GROUP BY k"))[0]
  =~ /dp_count\(DISTINCT unit\): .* scale ([0-9.]+)/;
compare($of, gaussian($sigma));

# ---- undeclared keys ----

# With a threshold below the least number of units, and with one above it.
foreach my $delta (0.05, 1e-3)
{
	my $settings = "SET dp_pg.epsilon = 0.8; SET dp_pg.delta = '$delta'";
	my $query = "SELECT substr(name, 2)::int, dp_sum(x, 0, 10) FROM single GROUP BY name";
	my ($certain) = (as($node, 'analyst', "$settings; EXPLAIN $query"))[0] =~ /certainly from (\d+)/;
	my $k = 1;

	$k++ while exp(-0.8 * $k) * (1 - exp(-0.8)) / (1 + exp(-0.8) - 2 * exp(-0.8 * ($k + 1))) > $delta;
	my $from = $k + 1 > LEAST ? $k + 1 : LEAST;
	my $law = sampled($k, sub { exp(-0.8 * abs $_[0]) });

	is($certain, $from + $k, "delta $delta: the threshold is $k, of the larger number $from");
	($of, @least) = shown($settings, $query, 1);
	compare($of, sub { $law->($_[0] + $from - LEAST) });
	is(spent(), 1.6, 'the decision and the value are charged, and nothing else');
}

# ---- whom it binds ----

is(value($node, "SET SESSION AUTHORIZATION owner; SET dp_pg.epsilon = 0.5; SELECT count(*) FROM (SELECT k, dp_sum(x, 0, 10) FROM single GROUP BY k) AS q"), 9 * GROUPS, 'the owner sees every group');

done_testing();
