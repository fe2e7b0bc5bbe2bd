# Released values follow the exact law, over public keys, empty ones included.
#
# Rates: p-values as StatServer says; support checks and ranges have none.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

# Keys 0 .. 999999: every fifth of the first 500000 has k % 3 + 1 rows, so that
# true counts are 0, 1, 2 and 3.
my $node = stat_node('law', <<'EOT');
CREATE TABLE visits (k integer NOT NULL, x integer, w double precision,
	c numeric);
INSERT INTO visits
	SELECT k, k % 13 - 4, (k % 17) / 8.0, (k % 19) / 4.0
	FROM generate_series(0, 499999, 5) k, generate_series(0, k % 3) i;
CREATE TABLE stays (k integer NOT NULL, x integer, w double precision,
	fine double precision);
INSERT INTO stays
	SELECT k, 10 + i, i / 4.0, i / 4.0
	FROM generate_series(0, 99999) k, generate_series(0, 4) i;
SELECT dp_protect('visits');
SELECT dp_declare('visits', 'k', lower => 0, upper => 999999);
SELECT dp_declare('visits', 'w', lower => -1.5, upper => 2, granule => 0.125);
SELECT dp_protect('stays');
SELECT dp_declare('stays', 'k', lower => 0, upper => 199999);
SELECT dp_declare('stays', 'w', lower => 0, upper => 1, granule => 0.25);
SELECT dp_grant('analyst', epsilon => 1000000000);
EOT

# The keys of an answer must be all of first .. last in order.
sub keys_are
{
	my ($file, $first, $last, $name) = @_;
	my $expect = $first;

	open(my $in, '<', $file) or die "$file: $!";
	while (<$in>)
	{
		last unless /^(-?\d+) / && $1 == $expect;
		$expect++;
	}
	ok(eof($in) && $expect == $last + 1, "$name: every key once, in order");
	close $in;
	return;
}

# True values by rule, which a plain query of the owner confirms below.
my @rows = map { $_ % 5 ? undef : $_ % 3 + 1 } 0 .. 499999;

sub truth
{
	my ($k, $value) = @_;

	return ($rows[$k] // 0) * $value;
}

is(as($node, 'owner', 'SELECT count(*), count(DISTINCT k) FROM visits'),
	'199999|100000', 'the rows are what the test thinks');

# ---- 10^6 counts in one statement ----

my $counts = fetch($node, 'analyst',
	'SELECT k, dp_count(1, 0.3) FROM visits GROUP BY k');

my $against = edited(sub { my ($k, $v) = split / /, $_[0]; "$v " . truth($k, 1) . "\n" }, $counts);
my $noise = edited(sub { my ($v, $true) = split / /, $_[0]; $v - $true . "\n" }, $against);

keys_are($counts, 0, 999999, 'counts');
follows(
	judge($against, 'laplace', '3/10', 0),
	1000000,
	'10^6 counts, epsilon 0.3');
follows(
	judge(
		sub {
			my ($k, $v) = split / /, $_[0];
			defined $rows[$k] ? '' : "$v 0\n";
		},
		$counts, 'laplace', '3/10', 0),
	900000,
	'counts of empty groups');
follows(
	judge(
		sub {
			my ($k, $v) = split / /, $_[0];
			defined $rows[$k] ? "$v $rows[$k]\n" : '';
		},
		$counts, 'laplace', '3/10', 0),
	100000,
	'counts of groups with rows');

# The judge has teeth: nearly the right epsilon and nearly the right truth are
# not good enough.  Either is missed with probability below 1e-12.
cmp_ok(
	judge($against, 'laplace', '31/100', 0)->{p},
	'<', ALPHA,
	'rejected: the same counts against epsilon 0.31');
cmp_ok(
	judge(
		sub {
			my ($k, $v) = split / /, $_[0];
			"$v " . (truth($k, 1) - ($k % 10 == 0 ? 1 : 0)) . "\n";
		},
		$counts, 'laplace', '3/10', 0)->{p},
	'<', ALPHA,
	'rejected: one count in ten moved by one');

# No reuse between groups: neighbours in the answer, and farther apart.
follows(
	judge($noise, 'lags', '3/10', 1, 2, 3, 4, 5, 10, 100, 4096, 500000),
	1000000,
	'noise of different groups, smallest p of 9 lags');

# Theorem 3.8 at its confidence: with k counts at once, some noise reaches
# ln(k / beta) / epsilon with probability at most beta.
foreach my $case ([ 1000, '1/20' ], [ 100, '1/2' ], [ 10, '1/100' ])
{
	my $found = judge($noise, 'maxima', '3/10', '3/10', @$case);

	ok( $found->{p} >= ALPHA && $found->{exact} <= $found->{beta},
		"Theorem 3.8 with $case->[0] counts, beta $case->[1] ("
		  . show($found)
		  . ')');
}

# Small and large scales, an epsilon whose decimals are many.
foreach my $epsilon ('5', '0.7071067811865475244', '0.001')
{
	my $file = fetch($node, 'analyst',
		"SELECT k, dp_count(1, $epsilon) FROM visits"
		  . ' WHERE x < -1000 GROUP BY k');
	follows(
		judge(
			sub { my ($k, $v) = split / /, $_[0]; "$v 0\n" },
			$file, 'laplace', "$epsilon/1", 0),
		1000000,
		"10^6 counts of nobody, epsilon $epsilon");
}

# ---- sums on their grid ----

my $sums = fetch($node, 'analyst',
	'SELECT k, dp_sum(x, -4, 7, 0.5), dp_sum(w, 0.25), dp_sum(c, 0, 4, 0.5)'
	  . ' FROM visits GROUP BY k');

keys_are($sums, 0, 999999, 'sums');

# Integers: sensitivity 7, scale 14; rows above 7 are clamped.
my $found = judge(
	sub {
		my ($k, $v) = split / /, $_[0];
		my $x = $k % 13 - 4;
		"$v " . truth($k, $x > 7 ? 7 : $x) . "\n";
	},
	$sums, 'laplace', '1/14', 0);
follows($found, 1000000, '10^6 sums of integers, scale 14');

# Doubles: granule 1/8, sensitivity 16 granules, scale 64.
$found = judge(
	sub {
		my ($k, undef, $v) = split / /, $_[0];
		my $w = ($k % 17) / 8;
		"$v " . truth($k, $w > 2 ? 2 : $w) . "\n";
	},
	$sums, 'laplace', '1/64', -3);
follows($found, 1000000, '10^6 sums of doubles, scale 64 granules');
is($found->{off}, 0, 'every sum of doubles is a multiple of the granule');

# numeric, default granule 4 / 2^20 = 2^-18, sensitivity 2^20 granules: the
# text is rounded to 6 digits, which tells granules apart but is not one.
$found = judge(
	sub {
		my ($k, undef, undef, $v) = split / /, $_[0];
		my $c = ($k % 19) / 4;
		sprintf("%.0f 0\n", ($v - truth($k, $c > 4 ? 4 : $c)) * 262144);
	},
	$sums, 'laplace', '1/2097152', 0);
follows($found, 1000000, '10^6 sums of numerics, scale 2^21 granules');

# Default granule of doubles: [0, 1] in steps of 2^-20.
my $fine = fetch($node, 'analyst',
	'SELECT dp_sum(fine, 0, 1, 0.5) FROM stays GROUP BY k');
$found = judge(
	sub { "$_[0] " . ($. <= 100000 ? 2.5 : 0) . "\n" },
	$fine, 'laplace', '1/2097152', -20);
follows($found, 200000, '200000 sums of doubles, default granule');
is($found->{off}, 0, 'every one is a multiple of 2^-20');

# ---- means: the exact law of the two-sided recipe ----

# The midpoint stands for NULL, which is answered when A + B <= 0.
my $means = fetch($node, 'analyst',
	'SELECT coalesce(dp_avg(x, 10, 14, 0.5), 12),'
	  . ' coalesce(dp_avg(w, 0.25), 0.5),'
	  . ' coalesce(dp_avg(fine, 0, 1, 0.5), 0.5) FROM stays GROUP BY k');

# Groups 0 .. 99999 hold five rows, the others none.
foreach my $case (
	# name, column, rows or none, lower, upper, A, B, 1/scale, method
	[ 'integers', 0, 1, 10, 14, 10, 10, '1/8', 'mean' ],
	[ 'integers', 0, 0, 10, 14, 0, 0, '1/8', 'mean' ],
	[ 'doubles, granule 1/4', 1, 1, 0, 1, 10, 10, '1/16', 'mean' ],
	[ 'doubles, granule 1/4', 1, 0, 0, 1, 0, 0, '1/16', 'mean' ],
	[
		'doubles, default granule',
		2, 1, 0, 1, 2621440, 2621440, '1/2097152', 'simulated'
	],
	[ 'doubles, default granule', 2, 0, 0, 1, 0, 0, '1/2097152', 'simulated' ]
  )
{
	my ($name, $column, $some, $lower, $upper, @rest) = @$case;
	my $method = pop @rest;

	$found = judge(
		sub {
			return '' if ($. <= 100000) != $some;
			(split / /, $_[0])[$column] . "\n";
		},
		$means, $method, $lower, $upper, @rest);
	follows($found, 100000,
		"means of $name, " . ($some ? 'five rows' : 'no rows'));
	is($found->{outside}, 0, "$name: none is outside the bounds");
}

$node->stop;
done_testing();
