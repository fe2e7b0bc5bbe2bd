# Randomized response through SQL follows its exact law, and the estimates are
# as good as they say.
#
# Rates: every p-value is compared with ALPHA, see StatServer; 30 comparisons.
# A mean square of 4000 standardised errors has expectation 1 and, as each is
# nearly normal (excess kurtosis above -0.01), standard deviation 0.0224: it
# leaves [0.82, 1.18], eight of those, with probability below 1e-14; six such
# checks, and as many of a mean, whose standard deviation is 0.0158, within
# 0.13.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use POSIX ();
use StatServer;
use Test::More;

my $node = stat_node('local_law');
my $draws = 100000;

# Upper tail of the chi-square law.
sub tail
{
	my ($x, $freedom) = @_;
	my $odd = $freedom % 2;
	my $sum = $odd ? POSIX::erfc(sqrt($x / 2)) : exp(-$x / 2);

	for (my $a = $odd ? 0.5 : 1; $a < $freedom / 2; $a++)
	{
		$sum += exp($a * log($x / 2) - $x / 2 - POSIX::lgamma($a + 1))
		  if $x > 0;
	}
	return $sum;
}

# p-value of counts against probabilities.
sub fit
{
	my ($counts, $law) = @_;
	my ($n, $x) = (0, 0);

	$n += $_ foreach @$counts;
	foreach my $i (0 .. $#$law)
	{
		die 'a cell is too small' if $n * $law->[$i] < 100;
		$x += ($counts->[$i] - $n * $law->[$i])**2 / ($n * $law->[$i]);
	}
	return tail($x, $#$law);
}

cmp_ok(abs(tail(3.841458820694124, 1) - 0.05), '<', 1e-12, 'tail, 1');
cmp_ok(abs(tail(9.487729036781154, 4) - 0.05), '<', 1e-12, 'tail, 4');
cmp_ok(abs(tail(11.070497693516351, 5) - 0.05), '<', 1e-12, 'tail, 5');

# Counts of the answers 1 .. k when the truth is $truth: one statement.
sub answers
{
	my ($call, $k, $truth) = @_;
	my %count = map { split / / } split /\n/,
	  as($node, 'analyst', <<"EOT");
SELECT answer || ' ' || count(*) FROM (
	SELECT $call AS answer FROM (
		SELECT $truth AS truth FROM generate_series(1, $draws)
		OFFSET 0) t) s
GROUP BY answer
EOT
	is((grep { $_ < 1 || $_ > $k } keys %count), 0, "$call: nothing else");
	return [ map { $count{$_} // 0 } 1 .. $k ];
}

# The law with the truth in place.
sub law
{
	my ($k, $truth, $odds) = @_;

	return [ map { ($_ == $truth ? $odds : 1) / ($odds + $k - 1) } 1 .. $k ];
}

# Truth 1 stands for false, 2 for true.
sub boolean_call
{
	my ($epsilon) = @_;

	return
	  "1 + dp_randomized_response(truth = 2$epsilon)::int";
}

# ---- the two coins ----

my @coins = map { answers(boolean_call(''), 2, $_) } 1, 2;

foreach my $truth (1, 2)
{
	my $p = fit($coins[ $truth - 1 ], law(2, $truth, 3));

	cmp_ok($p, '>=', ALPHA, "two coins keep truth $truth with 3/4 (p $p)");
}

# ---- booleans with epsilon, against the oracle ----

my @oracle;
open(my $in, '<', "$FindBin::RealBin/../oracle/randomized_response.csv")
  or die "oracle: $!";
while (<$in>)
{
	push @oracle, [ split /,/ ] if /^\d/;
}
close $in;
cmp_ok(scalar @oracle, '>=', 4, 'the oracle has rows');
foreach my $row (@oracle)
{
	my ($fraction, $keep, $variance) = @$row;
	my ($one, $other) = split m{/}, $fraction;
	my $epsilon = defined $other ? $one / $other : $one;

	foreach my $truth (1, 2)
	{
		my $type = $truth == 1 ? 'numeric' : 'double precision';
		my $counts =
		  answers(boolean_call(", $epsilon\::$type"), 2, $truth);
		my $p = fit($counts, law(2, $truth, $keep / (1 - $keep)));

		cmp_ok($p, '>=', ALPHA, "epsilon $epsilon, truth $truth (p $p)");
	}

	# the variance per row that the estimate reports
	my $reported = as($node, 'analyst', <<"EOT");
SET extra_float_digits = 3;
SELECT (e).count_error ^ 2 / 1000 FROM (
	SELECT dp_randomized_response_estimate(i % 3 = 0, $epsilon) AS e
	FROM generate_series(1, 1000) i) s
EOT
	cmp_ok(abs($reported / $variance - 1), '<', 1e-12,
		"epsilon $epsilon: variance $variance of the oracle");
}

# ---- candidates ----

foreach my $case (
	# candidates, truth, epsilon, type
	[ 2,  1, 0.5,  'integer' ],
	[ 3,  3, 1,    'text' ],
	[ 5,  2, 0.1,  'numeric' ],
	[ 20, 7, 2,    'date' ],
	[ 7,  7, 3.25, 'text' ],
	[ 100, 50, 0.7, 'integer' ])
{
	my ($k, $truth, $epsilon, $type) = @$case;
	my $make = $type eq 'date' ? "date '2020-01-01' + %s" : "(%s)::$type";
	my $call = sprintf(
		'array_position(ARRAY(SELECT %s FROM generate_series(1, %d) i), '
		  . 'dp_randomized_response(%s, '
		  . 'ARRAY(SELECT %s FROM generate_series(1, %d) i), %s))',
		sprintf($make, 'i'), $k, sprintf($make, 'truth'),
		sprintf($make, 'i'), $k, $epsilon);
	my $p =
	  fit(answers($call, $k, $truth), law($k, $truth, exp($epsilon)));

	cmp_ok($p, '>=', ALPHA,
		"$k candidates ($type), epsilon $epsilon (p $p)");
}

# ---- draws of different rows have nothing to do with each other ----

# Pairs of answers to the same truth, l rows apart.
foreach my $lag (1, 2, 7, 8, 4096)
{
	my %pairs = map { split / / } split /\n/,
	  as($node, 'analyst', <<"EOT");
SELECT 2 * kept::int + before::int || ' ' || count(*) FROM (
	SELECT kept, lag(kept, $lag) OVER (ORDER BY i) AS before FROM (
		SELECT i, dp_randomized_response(true) AS kept
		FROM generate_series(1, $draws) i OFFSET 0) s) t
WHERE before IS NOT NULL GROUP BY kept, before
EOT
	my $p = fit([ map { $pairs{$_} // 0 } 0 .. 3 ],
		[ 1 / 16, 3 / 16, 3 / 16, 9 / 16 ]);

	cmp_ok($p, '>=', ALPHA, "answers $lag rows apart (p $p)");
}

# ---- the test has teeth: mechanisms that are known to be got wrong ----

# Each is missed with probability below 1e-9.
foreach my $case (
	[ 'truth kept with 1 - exp(-1)', 'random() < 1 - exp(-1.0)' ],
	[ 'half the epsilon',            'random() < 1 / (1 + exp(-0.5))' ],
	[ 'twice the epsilon',           'random() < 1 / (1 + exp(-2.0))' ],
	[ 'the coins instead',           'dp_randomized_response(true)' ])
{
	my ($name, $keep) = @$case;
	my $p = fit(answers("1 + ($keep)::int", 2, 2), law(2, 2, exp(1)));

	cmp_ok($p, '<', ALPHA, "rejected: $name");
}
{
	my $call = 'dp_randomized_response(truth, ARRAY[1, 2, 3, 4, 5], 0.7)';
	my $p = fit(answers($call, 5, 3), law(5, 3, exp(0.8)));

	cmp_ok($p, '<', ALPHA, 'rejected: five candidates against epsilon 0.8');
	$p = fit(answers("CASE WHEN random() < 0.05 THEN truth ELSE $call END",
			5, 3), law(5, 3, exp(0.7)));
	cmp_ok($p, '<', ALPHA, 'rejected: the truth slips through in 1 of 20');
}

# ---- estimates: unbiased, with the standard error they state ----

foreach my $case (
	# name, true fraction, draw, estimate
	[
		'two coins', 0.3,
		'dp_randomized_response(truth)',
		'(dp_randomized_response_estimate(answer))'
	],
	[
		'epsilon 0.5', 0.9,
		'dp_randomized_response(truth, 0.5)',
		'(dp_randomized_response_estimate(answer, 0.5))'
	],
	[
		'four candidates', 0.5,
		'dp_randomized_response(CASE WHEN truth THEN 3 ELSE 1 END,'
		  . ' ARRAY[1, 2, 3, 4], 1)',
		'(dp_randomized_response_estimate(answer, ARRAY[1, 2, 3, 4], 1))[3]'
	])
{
	my ($name, $true, $draw, $estimate) = @$case;
	my ($n, $mean, $square) = split /\|/, as($node, 'analyst', <<"EOT");
SELECT count(*), avg(z), avg(z * z) FROM (
	SELECT ($estimate.count - 250 * $true) / $estimate.count_error AS z FROM (
		SELECT i % 4000 AS sample, $draw AS answer FROM (
			SELECT i, i / 4000 < 250 * $true AS truth
			FROM generate_series(0, 999999) i OFFSET 0) t OFFSET 0) s
	GROUP BY sample) e
EOT

	cmp_ok($n, '==', 4000, "$name: samples");
	cmp_ok(abs($mean), '<', 0.13, "$name: unbiased, mean error $mean");
	ok($square > 0.82 && $square < 1.18,
		"$name: mean square of error / standard error is $square");
}

$node->stop;
done_testing();
