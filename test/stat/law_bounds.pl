# dp_bounds through SQL follows its exact law, one statement of 10^5 groups and
# as many of a neighbour, with both noises; audits accuse none of them.
#
# Rates: p-values as StatServer says; 2 audits at 1e-10 each.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use List::Util qw(max sum);
use MechanismData;
use StatServer;
use Test::More;

my $node = mechanism_node('law_bounds');

# x of a group in the first half is 1, 2, 2, 4, 7, 7, 7 and 9: so many rows in the
# ranges that end with 1, 2, 4, 8 and 16, of 129.
my %rows = (1 => 1, 2 => 2, 4 => 1, 8 => 3, 16 => 1);

# P[noise > t]
sub laplace_above
{
	my ($epsilon) = @_;
	my $q = exp(-$epsilon);

	return sub {
		my ($t) = @_;

		return $t >= 0 ? $q**($t + 1) / (1 + $q) : 1 - $q**(-$t) / (1 + $q);
	};
}

sub gaussian_above
{
	my ($sigma) = @_;
	my @mass = map { exp(-$_**2 / (2 * $sigma**2)) } -400 .. 400;
	my $all = sum(@mass);

	return sub { sum(@mass[ $_[0] + 401 .. 800 ]) / $all };
}

# The ranges in order: the negative ones, 0 and the positive ones.
my @most = map { 2**$_ } 0 .. 63;
my @ranges = ((map { [ -$_, $_ == 1 ? -1 : -($_ / 2 + 1) ] } reverse @most),
	[ 0, 0 ], map { [ $_ == 1 ? 1 : $_ / 2 + 1, $_ ] } @most);

# The law of "lower upper", of what is between -64 and 64; the rest as one.
sub law
{
	my ($above, $threshold) = @_;
	my @p = map {
		$above->($threshold - ($_->[0] > 0 ? $rows{ $_->[1] } // 0 : 0))
	} @ranges;
	my %law = (none => 1);

	$law{none} *= 1 - $_ foreach @p;
	foreach my $first (0 .. $#p)
	{
		my $left = $p[$first];

		$left *= 1 - $p[$_] foreach 0 .. $first - 1;
		foreach my $last ($first .. $#p)
		{
			my $p = $left * ($last > $first ? $p[$last] : 1);

			$p *= 1 - $p[$_] foreach $last + 1 .. $#p;
			$law{ name($ranges[$first][0], $ranges[$last][1]) } += $p;
		}
	}
	return \%law;
}

sub name
{
	my ($lower, $upper) = @_;

	return abs($lower) <= 16 && abs($upper) <= 16 ? "$lower,$upper" : 'far';
}

sub answer
{
	my ($text) = @_;

	return 'none' if $text eq 'none';
	return name($text =~ /(-?\d+),(-?\d+)/);
}

foreach my $case ([ 'laplace', 6 ], [ 'gaussian', 9 ])
{
	my ($mechanism, $epsilon) = @$case;
	my $value = "coalesce(dp_bounds(x, $epsilon)::text, 'none')";
	my $plan = as($node, 'analyst',
		"SET dp_pg.delta = '1e-6'; SET dp_pg.mechanism = $mechanism;"
		  . "EXPLAIN SELECT k, dp_bounds(x, $epsilon) FROM cases GROUP BY k");
	my ($threshold) = $plan =~ /which counts above (\d+)/;
	my ($scale) = $plan =~ /scale ([0-9.]+)/;
	my $above = $mechanism eq 'laplace' ? laplace_above($epsilon) :
	  gaussian_above(
		as($node, 'analyst',
			"SELECT dp_gaussian_sigma(1, $epsilon, 0.000001, method => 'zcdp')"));
	my ($found) = ask($node, $mechanism, $value);

	cmp_ok(129 * 2 * $above->($threshold), '<=', 1e-6,
		"$mechanism: noise alone is above $threshold with odds of 1e-6 at most");
	cmp_ok(129 * 2 * $above->($threshold - 2), '>', 1e-6, 'and no higher than need be');
	follows(
		judge(half(0, \&answer), $found, 'choice',
			law_text(law($above, $threshold))),
		GROUPS,
		"dp_bounds, $mechanism, epsilon $epsilon, above $threshold");
	cmp_ok(
		judge(half(0, \&answer), $found, 'choice',
			law_text(law($above, $threshold - 1)))->{p},
		'<', ALPHA, 'rejected: a threshold one lower');

	my %place;
	my $loss = judge(
		half(undef, sub { $place{ answer($_[0]) } //= keys %place }),
		$found, 'loss', 1, 0, 0, 1);

	cmp_ok($loss->{bound}, '<=', $epsilon,
		"loss of at least $loss->{bound} is seen");
}

$node->stop;
done_testing();
