# Gaussian noise, histograms, means and variances through SQL follow their
# laws, each statement one of 10^5 groups and as many of a neighbour, and
# audits of the two accuse none of them.
#
# Rates: p-values as StatServer says; 6 audits at 1e-10 each.  The least loss that
# an audit must see lies ten standard errors below the actual one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use MechanismData;
use StatServer;
use Test::More;

my $node = mechanism_node('law_additive');

# What the rows of a group in the first half add up to: w clamped to 0 .. 4.
my ($rows, $sum, $squares) = (8, 17, 59);

# Fields of an array "{1,2,3}", one of them by place.
sub field
{
	my ($i) = @_;

	return sub { ($_[0] =~ /-?\d+/g)[$i] };
}

sub against
{
	my ($true, $edit) = @_;

	return half(0, sub { (defined $edit ? $edit->($_[0]) : $_[0]) . " $true" });
}

# An audit of numbers around a centre, at a delta or without one.
sub audit
{
	my ($name, $file, $edit, $where, $epsilon, $seen, $delta) = @_;
	my $found = judge(half(undef, $edit), $file, 'loss', @$where,
		defined $delta ? $delta : ());

	is("$found->{n} $found->{m}", GROUPS . ' ' . GROUPS, "$name: all groups");
	cmp_ok($found->{bound}, '<=', $epsilon,
		"$name: loss of at least $found->{bound} is seen, $epsilon claimed");
	cmp_ok($found->{bound}, '>=', $seen, "$name: the audit sees $seen")
	  if defined $seen;
	return;
}

sub value { return as($node, 'analyst', "SELECT $_[0]") }

# ---- Laplace: histograms and variances ----

my $fine = '1e-6';
# For NULL, the answer when the released number of rows is not positive.
my $unknown = '16 / 12.0';
my ($histogram, $variance, $deviation, $wide) = ask(
	$node, 'laplace',
	'dp_histogram(x, 0, 16, 4, 0.8)',
	"coalesce(dp_variance(w, 1), $unknown)",
	"coalesce(dp_stddev(w, 0, 4, 2), sqrt($unknown))",
	"coalesce(dp_variance(w, 0, 4, 8), $unknown)");

# Buckets of 0 to 4, 4 to 8, 8 to 12, and 12 to 16 without a row.
foreach my $case ([ 0, 3 ], [ 1, 4 ], [ 2, 1 ], [ 3, 0 ])
{
	my ($i, $true) = @$case;

	follows(
		judge(against($true, field($i)), $histogram, 'laplace', '4/5', 0),
		GROUPS, "dp_histogram, cell $i, epsilon 0.8");
}
foreach my $case ([ 0, 3, 1, 4 ], [ 1, 4, 3, 0 ], [ 0, 3, 2, 1 ])
{
	my ($i, $true, $j, $other) = @$case;

	follows(
		judge(
			half(
				0,
				sub {
					(field($i)->($_[0]) - $true) . ' '
					  . (field($j)->($_[0]) - $other);
				}),
			$histogram, 'dependence', '4/5', '4/5'),
		GROUPS,
		"dp_histogram, cells $i and $j are independent");
}
audit('dp_histogram', $histogram, field(3), [ 1, 0, 0, 1 ], 0.8, 0.6);
audit(
	'dp_histogram, two cells',
	$histogram,
	sub { field(0)->($_[0]) . ' ' . field(3)->($_[0]) },
	[ 2, 3, 0, 1 ],
	0.8, 0.6);

# Three sums with noise of scale 16 / epsilon.
foreach my $case (
	[ 'dp_variance, epsilon 1', $variance,  '1/16', 0 ],
	[ 'dp_variance, epsilon 8', $wide,      '1/2',  0 ],
	[ 'dp_stddev, epsilon 2',   $deviation, '1/8',  1 ])
{
	my ($name, $file, $inverse, $root) = @$case;

	follows(
		judge(half(0), $file, 'variance', 4, $rows, $sum, $squares,
			$inverse, $root),
		GROUPS, $name);
}

# Nothing near epsilon can be seen in a variance; it must not be more.
audit('dp_variance, epsilon 8', $wide, sub { sprintf '%.0f', 1000 * $_[0] },
	[ 1, 2000, 0, 100 ], 8);

# Nearly the right noise is not good enough.
cmp_ok(
	judge(half(0), $wide, 'variance', 4, $rows, $sum, $squares, '1/2.2', 0)
	  ->{p},
	'<', ALPHA,
	'rejected: dp_variance, epsilon 7.3 for 8');

# ---- Gaussian, many groups: sigma through rho ----

my %sigma = map {
	$_ => value("dp_gaussian_sigma(1, $_, 0.000001, method => 'zcdp')")
} 0.5, 3;
my ($count, $total, $grid, $cells, $mean, $spread) = ask(
	$node, 'gaussian',
	'dp_count(1, 3)', 'dp_sum(w, 0.5)',
	'dp_sum(w::double precision, 0, 4, 0.5)',
	'dp_histogram(x, 0, 16, 4, 3)', 'coalesce(dp_avg(w, 0.5), 2)',
	"coalesce(dp_variance(w, 0.5), $unknown)");

# The sigma is that of the accounting, which the oracle confirms elsewhere.
foreach my $epsilon (sort keys %sigma)
{
	my $back = value("dp_zcdp_epsilon(1 / (2 * $sigma{$epsilon}::numeric ^ 2),"
		  . ' 0.000001)');

	ok( $back <= $epsilon * (1 + 1e-9) && $back > $epsilon * (1 - 1e-6),
		"sigma $sigma{$epsilon} is that of epsilon $epsilon: $back");
}
follows(judge(against($rows), $count, 'gaussian', $sigma{3}, 0),
	GROUPS, 'dp_count, Gaussian, epsilon 3');
follows(judge(against($sum), $total, 'gaussian', 4 * $sigma{0.5}, 0),
	GROUPS, 'dp_sum, Gaussian, epsilon 0.5');
my $found = judge(against($sum), $grid, 'gaussian', 2**20 * $sigma{0.5}, -18);

follows($found, GROUPS, 'dp_sum of doubles, Gaussian, epsilon 0.5');
is($found->{off}, 0, 'every sum of doubles is a multiple of the granule');
foreach my $case ([ 0, 3 ], [ 1, 4 ], [ 2, 1 ], [ 3, 0 ])
{
	my ($i, $true) = @$case;

	follows(
		judge(against($true, field($i)), $cells, 'gaussian', $sigma{3}, 0),
		GROUPS, "dp_histogram, Gaussian, cell $i, epsilon 3");
}

# No reuse between groups.
follows(
	judge(
		half(0, sub { $_[0] - $sum }), $total, 'lags',
		'1/' . 4 * $sigma{0.5}, 1 .. 5, 10, 100, 4096),
	GROUPS,
	'dp_sum, Gaussian, noise of different groups');

# A = sum of w, B = sum of 4 - w, each with sigma for 4.
follows(
	judge(half(0), $mean, 'simulated', 0, 4, $sum, 4 * $rows - $sum,
		'g' . 4 * $sigma{0.5}),
	GROUPS,
	'dp_avg, Gaussian, epsilon 0.5');
follows(
	judge(half(0), $spread, 'variance', 4, $rows, $sum, $squares,
		'g' . 16 * $sigma{0.5}, 0),
	GROUPS,
	'dp_variance, Gaussian, epsilon 0.5');
cmp_ok(judge(against($rows), $count, 'gaussian', 1.05 * $sigma{3}, 0)->{p},
	'<', ALPHA, 'rejected: sigma 5% larger');

# Audits at epsilons that have a delta large enough to be seen.
foreach my $case ([ 0.25, 0.05 ], [ 0.5, 0.2 ], [ 1, 0.5 ])
{
	my ($epsilon, $seen) = @$case;
	my $delta = value("dp_gaussian_delta(1, $sigma{3}, $epsilon)");

	audit("dp_count, Gaussian, delta $delta",
		$count, undef, [ 1, $rows, 0, 1 ], $epsilon, $seen, $delta);
}

# ---- Gaussian, one number: the least sigma by the exact delta ----

# Few draws, as each of them is a release with a plan of its own; EXPLAIN says
# the sigma, and that it is the least one is said exactly.
foreach my $case ([ 'dp_count(1, 0.5 + 0 * %d)', 1, 3, 0.5 ],
	[ 'dp_sum(w, 0, 4, 2.0 + 0 * %d)', 4, 7, 2 ])
{
	my ($call, $sensitivity, $true, $epsilon) = @$case;
	my $sigma = value("dp_gaussian_sigma($sensitivity, $epsilon, $fine)");
	my @values = map { sprintf $call, $_ } 1 .. 100;
	my $block = 'SELECT unnest(ARRAY[' . join(', ', @values) . ']) FROM few';
	my $file = fetch($node, 'analyst',
		"SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '$fine';"
		  . join(' UNION ALL ', ($block) x 40));
	my $plan = as($node, 'analyst',
		"SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '$fine';"
		  . "EXPLAIN SELECT $values[0] FROM few");
	my ($scale) = $plan =~ /scale ([0-9.]+)/;

	follows(judge(sub { "$_[0] $true\n" }, $file, 'gaussian', $sigma, 0),
		4000, "$call, one number, sigma $sigma");
	cmp_ok(abs($scale / $sigma - 1), '<', 1e-5, "EXPLAIN says $scale");
	cmp_ok(value("dp_gaussian_delta($sensitivity, $sigma, $epsilon)"),
		'<=', $fine, "its delta is at most $fine");
	cmp_ok(
		value("dp_gaussian_delta($sensitivity, $sigma * 0.9999, $epsilon)"),
		'>', $fine, 'and a little less noise would have more');
}

$node->stop;
done_testing();
