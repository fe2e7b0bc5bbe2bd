# dp_error: in at least 19 of 20 cases a value is no further from what it would be
# without noise than the error returned with it.  Tested for every aggregate that
# has one, with both kinds of noise, at prices where the error is a small part of
# the value and where it is nearly as large as possible, each in one statement over
# 10^5 equal groups.  With STAT_SHARE=day each is tested at one price.
#
# Rates: 5511 or more of 10^5 values are beyond a bound that each keeps with
# probability 0.95 only with probability ALPHA, by the binomial's exact tail (about
# 5000 plus 7.1 standard deviations of 69).  The number for errors that are made too
# small lies above that by more than ten.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use MechanismData;
use StatServer;
use Test::More;

use constant MOST => 5511;

my $node = mechanism_node('error_beside');

# w and x of a group of the first half, as they count.
my $exact = <<'EOT';
SELECT %s FROM (SELECT greatest(least(w, 4), 0) AS w, x FROM cases WHERE k = 0) r
EOT

# The released value, its plain version, and the part of its error that is
# certainly too small, or 0 where that is not asked.
my @single = (
	[ 'dp_count(*)', 'count(*)', 0.8 ],
	[ 'dp_count(DISTINCT x)', 'count(DISTINCT x)', 0.8 ],
	[ 'dp_sum(w)', 'sum(w)', 0.8 ],
	[ 'dp_sum(w::float8, 0, 4)', 'sum(w)', 0.8 ],
	[ 'dp_sum(DISTINCT w)', 'sum(DISTINCT w)', 0.8 ],
	[ 'dp_regr_count(w, x)', 'count(*)', 0.8 ]);
my @ratios = (
	[ 'dp_avg(w)', 'avg(w)', 0.5 ],
	[ 'dp_avg(DISTINCT w)', 'avg(DISTINCT w)', 0.3 ],
	[ 'dp_variance(w)', 'variance(w)', 0.15 ],
	[ 'dp_stddev(w)', 'stddev(w)', 0.15 ],
	[ 'dp_var_pop(w)', 'var_pop(w)', 0.15 ],
	[ 'dp_stddev_pop(w::float8, 0, 4)', 'stddev_pop(w)', 0.15 ],
	[ 'dp_regr_avgx(w, x, 0, 16)', 'regr_avgx(w, x)', 0.5 ],
	[ 'dp_regr_avgy(w, x)', 'regr_avgy(w, x)', 0.5 ],
	[ 'dp_regr_sxx(w, x, 0, 16)', 'regr_sxx(w, x)', 0.15 ],
	[ 'dp_regr_syy(w, x)', 'regr_syy(w, x)', 0.15 ],
	[ 'dp_regr_sxy(w, x, 0, 4, 0, 16)', 'regr_sxy(w, x)', 0.1 ],
	[ 'dp_covar_pop(w, x, 0, 4, 0, 16)', 'covar_pop(w, x)', 0.1 ],
	[ 'dp_covar_samp(w, x, 0, 4, 0, 16)', 'covar_samp(w, x)', 0.1 ]);

# How many of the values in the first half are further off than a part of the
# error beside them.  NULL is no value.
sub beyond
{
	my ($file, $i, $true, @parts) = @_;
	my @beyond = map { 0 } @parts;
	my $n = 0;

	open(my $in, '<', $file) or die "$file: $!";
	while (my $line = <$in>)
	{
		last if $. > GROUPS;
		chomp $line;
		my ($value, $error) = (split /\|/, $line, -1)[ 2 * $i, 2 * $i + 1 ];

		$n++;
		die "a value without its error: $line" if ($value eq '') != ($error eq '');
		next if $value eq '';
		foreach (0 .. $#parts)
		{
			# both may be decimal numbers that are rounded to 15 digits
			$beyond[$_]++
			  if abs($value - $true) > $parts[$_] * $error + 1e-12 * abs($true);
		}
	}
	close $in;
	is($n, GROUPS, 'all groups');
	return @beyond;
}

sub covers
{
	my ($mechanism, $epsilon, $tight, @values) = @_;
	my @calls = map { $_->[0] } @values;
	my @true = split /\|/,
	  as($node, 'postgres', sprintf $exact, join ', ', map { $_->[1] } @values);
	my $file = fetch($node, 'analyst',
		"\\pset fieldsep |\nSET dp_pg.mechanism = $mechanism;"
		  . " SET dp_pg.delta = '1e-6'; SET dp_pg.epsilon = $epsilon; SELECT "
		  . join(', ', map { "$_, dp_error($_)" } @calls)
		  . ' FROM cases WHERE k < ' . GROUPS . ' GROUP BY k');

	foreach my $i (0 .. $#values)
	{
		my $part = $values[$i][2];
		my ($beyond, $cut) = beyond($file, $i, $true[$i], 1, $part);

		cmp_ok($beyond, '<=', MOST,
			"$calls[$i], $mechanism, epsilon $epsilon: $beyond are beyond");
		cmp_ok($cut, '>', MOST, "$part of it is too little: $cut")
		  if $tight;
	}
	return;
}

my $all = ($ENV{STAT_SHARE} // '') ne 'day';

covers('laplace', $_, 1, @single) foreach $all ? (0.1, 1) : 1;
covers('laplace', $_, 0, @ratios) foreach $all ? (0.01, 1) : ();
covers('laplace', 10, 1, @ratios);
covers('gaussian', $_, 1, @single) foreach $all ? (0.1, 1) : 0.1;
covers('gaussian', 1, 0, @ratios) if $all;
covers('gaussian', 10, 1, @ratios);

# A histogram's is that of each count.
my $counts = fetch($node, 'analyst', <<"EOT");
SELECT (dp_histogram(x, 0, 16, 4, 0.5))[2], dp_error(dp_histogram(x, 0, 16, 4, 0.5))
FROM cases WHERE k < @{[ GROUPS ]} GROUP BY k
EOT
my @beyond = (0, 0);

open(my $in, '<', $counts) or die "$counts: $!";
while (<$in>)
{
	my ($value, $error) = split;

	last if $. > GROUPS;
	$beyond[0]++ if abs($value - 4) > $error;
	$beyond[1]++ if abs($value - 4) > 0.8 * $error;
}
close $in;
cmp_ok($beyond[0], '<=', MOST, 'dp_histogram, one count');
cmp_ok($beyond[1], '>', MOST, 'and 0.8 of its error is too little');

# Small numbers of granules: where the error is none, the value has no noise
# but one time in twenty.
is(as($node, 'analyst', 'SELECT dp_error(dp_count(1, 10)) FROM few'),
	0, 'an error of 0');

$node->stop;
done_testing();
