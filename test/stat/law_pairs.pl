# Covariances, correlations and regressions through SQL follow their laws, each
# statement one of 10^5 groups and as many of a neighbour, with both noises; an
# audit of the two accuses none of them.  With STAT_SHARE=day Laplace noise is
# tested at one price.
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

my $node = mechanism_node('law_pairs');

# The rows of a group in the first half in shares of the bounds, w of 0 .. 4
# over x of 0 .. 16, and the row that the neighbour has more.
my @rows = map { [ $_->[0] / 16, $_->[1] / 4 ] }
  [ 1, 0 ], [ 2, 1 ], [ 2, 1 ], [ 4, 4 ], [ 7, 4 ], [ 7, 3 ], [ 7, 4 ],
  [ 9, 0 ];
my @sums = (0) x 6;

foreach my $row (@rows)
{
	my ($p, $q) = @$row;
	my @terms = (
		$p * $q, $p * (1 - $q), (1 - $p) * $q, (1 - $p) * (1 - $q),
		$p * (1 - $p), $q * (1 - $q));

	$sums[$_] += $terms[$_] foreach 0 .. 5;
}
my @exact = map { 1024 * $_ . '/1024' } @sums;

# A released value as a share of the bounds.
my %unit = (
	corr => 1, covar_pop => 64, regr_intercept => 4, regr_slope => 4 / 16,
	regr_sxy => 64);

sub asked
{
	my ($what, $epsilon) = @_;

	return "coalesce(dp_$what(w, x, 0, 4, 0, 16, $epsilon) / $unit{$what}, -9)";
}

# What a row moves all sums by, in rows: both spreads, that of x, none.
my %l1 = (
	corr => 1.5, covar_pop => 1, regr_intercept => 1.25, regr_slope => 1.25,
	regr_sxy => 1);
my @what = sort keys %unit;

foreach my $epsilon (($ENV{STAT_SHARE} // '') eq 'day' ? 8 : (2, 8))
{
	my @files = ask($node, 'laplace', map { asked($_, $epsilon) } @what);

	foreach my $i (0 .. $#what)
	{
		my $what = $what[$i];
		my $inverse = 100 * $epsilon . '/' . 100 * $l1{$what};

		follows(judge(half(0), $files[$i], 'pair', $what, $inverse, 1, @exact),
			GROUPS, "dp_$what, epsilon $epsilon");
		next if $epsilon != 8;

		# Nothing near epsilon can be seen; it must not be more.
		my $found = judge(
			half(undef, sub { sprintf '%.0f', 1000 * $_[0] }),
			$files[$i], 'loss', 1, 2000, 0, 100);

		cmp_ok($found->{bound}, '<=', $epsilon,
			"dp_$what: loss of at least $found->{bound} is seen");
		next if $what ne 'covar_pop' && $what ne 'corr';
		cmp_ok(
			judge(half(0), $files[$i], 'pair', $what,
				100 * $epsilon . '/' . 110 * $l1{$what}, 1, @exact)->{p},
			'<', ALPHA, "rejected: dp_$what with a tenth more noise");
	}
}

# Gaussian, many groups: sigma of one row, and spreads with twice the weight.
my $sigma = as($node, 'analyst',
	"SELECT dp_gaussian_sigma(1, 3, 0.000001, method => 'zcdp')");
my @files = ask($node, 'gaussian', map { asked($_, 3) } @what);

foreach my $i (0 .. $#what)
{
	follows(
		judge(half(0), $files[$i], 'pair', $what[$i], "g$sigma", 2, @exact),
		GROUPS, "dp_$what[$i], Gaussian");
}
cmp_ok(judge(half(0), $files[0], 'pair', 'corr', "g$sigma", 1, @exact)->{p},
	'<', ALPHA, 'rejected: dp_corr, Gaussian, with spreads of weight 1');

# The number of rows, where what there is to be seen is the whole epsilon.
my ($count) = ask($node, 'laplace', 'dp_regr_count(w, x, 0.8)');

follows(judge(half(0, sub { "$_[0] 8" }), $count, 'laplace', '4/5', 0),
	GROUPS, 'dp_regr_count, epsilon 0.8');
my $found = judge(half(), $count, 'loss', 1, 8, 0, 1);

cmp_ok($found->{bound}, '<=', 0.8, "dp_regr_count: $found->{bound} is seen");
cmp_ok($found->{bound}, '>=', 0.6, 'and that is enough');

$node->stop;
done_testing();
