# The data owner's building blocks follow their exact laws through SQL.
#
# Rates: every p-value is compared with ALPHA, see StatServer; 19 comparisons, and as many
# rejections.
# Checks of the ledger and of grids have no rate.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use POSIX ();
use StatCalls;
use StatFit;
use StatServer;
use Test::More;

my $node = stat_node('procedures');
as($node, 'postgres', <<'EOT');
GRANT EXECUTE ON FUNCTION dp_pg.open_dataset TO owner;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO owner, analyst;
EOT
as($node, 'owner', <<'EOT');
SELECT dp_pg.open_dataset('d');
SELECT dp_grant('analyst', 'd', epsilon => 1000000000, delta => 0.5);
EOT

cmp_ok(abs(chi_square_tail(3.841458820694124, 1) - 0.05), '<', 1e-12, 'tail, 1');
cmp_ok(abs(chi_square_tail(9.487729036781154, 4) - 0.05), '<', 1e-12, 'tail, 4');
cmp_ok(abs(chi_square_tail(11.070497693516351, 5) - 0.05),
	'<', 1e-12, 'tail, 5');

# rho of the last charge.
sub last_rho
{
	return as($node, 'owner',
		'SELECT rho FROM dp_pg.ledger ORDER BY id DESC LIMIT 1');
}

# Released values and true ones, "released true", n of them in one call.
my $n = 100000;

sub vector
{
	my ($type, $call) = @_;

	return fetch($node, 'analyst', <<"EOT");
WITH truth AS MATERIALIZED (
	SELECT array_agg((k % 7 - 2)::$type ORDER BY k) AS v
	FROM generate_series(1, $n) k),
released AS MATERIALIZED (SELECT v, $call AS a FROM truth)
SELECT x, t FROM released, unnest(a, v) AS u(x, t)
EOT
}

# ---- Laplace ----

follows(
	judge(vector('bigint', "dp_laplace(v, 1, 0.3, 'd')"),
		'laplace', '3/10', 0),
	$n,
	'a vector of bigint, scale 1/0.3');
follows(
	judge(vector('bigint', "dp_laplace(v, 2.5, 0.3, 'd')"),
		'laplace', '1/10', 0),
	$n,
	'a sensitivity of 2.5 is 3 for integers');
cmp_ok(
	judge(vector('bigint', "dp_laplace(v, 1, 0.3, 'd')"),
		'laplace', '7/20', 0)->{p},
	'<', ALPHA,
	'rejected: the same against 0.35');

# Granule 2^(0 - 20 - 0 - 17), sensitivity 2^37 + n - 1 of them.
foreach my $type ('double precision', 'numeric')
{
	my $found = judge(vector($type, "dp_laplace(v, 1, 0.5, 'd')"),
		'laplace', '1/274878106942', -37);

	follows($found, $n, "a vector of $type");
	is($found->{off}, 0, 'every one is a multiple of 2^-37');
}

# One by one: every call is a charge.
my $calls = 10000;

follows(
	judge(
		released($node,
			"SELECT dp_laplace(k % 5 / 8.0::float8, 1, 0.5, 'd'), k % 5 / 8.0",
			$calls),
		'laplace', '1/2097152', -20),
	$calls,
	'doubles one by one');
is( as($node, 'owner',
		"SELECT count(*) FROM dp_pg.ledger WHERE releases = 1"),
	$calls,
	'each was charged');

# ---- Gaussian ----

# The law of the discrete Gaussian, from -m to m.
sub gaussian_law
{
	my ($variance, $m) = @_;
	my @weight = map { exp(-$_ * $_ / (2 * $variance)) } -$m .. $m;
	my $sum = 0;

	$sum += $_ foreach @weight;
	return [ map { $_ / $sum } @weight ];
}

# Differences released - true of a file, counted from -m to m.
sub differences
{
	my ($file, $m) = @_;
	my @count = (0) x (2 * $m + 1);

	open(my $in, '<', $file) or die "$file: $!";
	while (<$in>)
	{
		my ($released, $true) = split;
		my $d = $released - $true;

		$count[ $d + $m ]++ if abs($d) <= $m;
	}
	close $in;
	return \@count;
}

# The oracle's laws, reached by a sensitivity that makes the variance so.
my $rho = do
{
	as($node, 'analyst', "SELECT dp_gaussian(0, 1, 1, 1e-6, 'd', 'zcdp')");
	last_rho();
};

foreach my $variance (1, 10, 100)
{
	my $sensitivity = sprintf('%.17f', sqrt(2 * $rho * $variance));
	my @law;
	my $first;

	open(my $in, '<',
		"$FindBin::RealBin/../oracle/discrete_gaussian_pmf.csv")
	  or die "oracle: $!";
	while (<$in>)
	{
		my ($sigma2, $k, $pmf) = split /,/;

		next if $sigma2 ne $variance;
		$first //= -$k;
		push @law, $pmf;
	}
	close $in;
	is(scalar @law, 2 * $first + 1, "oracle, variance $variance");

	my $count = differences(
		vector('bigint', "dp_gaussian(v, $sensitivity, 1, 1e-6, 'd')"),
		$first);
	my $p = fit($count, \@law, $n);

	# the file may not reach far into the tails
	cmp_ok($p, '>=', ALPHA, "a vector of variance $variance (p $p)");
	$p = fit($count, gaussian_law($variance * 1.1, $first), $n);
	cmp_ok($p, '<', ALPHA, 'rejected: a variance 10% larger');
}

# One value: the exact variance, from its charge.
my $gaussians =
  released($node, "SELECT dp_gaussian(k, 1, 1, 1e-6, 'd'), k", $calls);
my $variance = 1 / (2 * last_rho());
my $p =
  fit(differences($gaussians, 40), gaussian_law($variance, 40), $calls);

cmp_ok($p, '>=', ALPHA, "one by one, exact variance $variance (p $p)");
cmp_ok(abs(sqrt($variance) - 4.2307784), '<', 1e-6, 'its sigma');

# Doubles: 64 cells of equal mass of the normal law; the granule is far below.
sub normal_cells
{
	my ($file, $sigma) = @_;
	my @count = (0) x 64;

	open(my $in, '<', $file) or die "$file: $!";
	while (<$in>)
	{
		my ($released, $true) = split;
		my $u = POSIX::erfc(-($released - $true) / $sigma / sqrt(2)) / 2;

		$count[ $u >= 1 ? 63 : int(64 * $u) ]++;
	}
	close $in;
	return fit(\@count, [ (1 / 64) x 64 ], $n);
}

my $doubles =
  vector('double precision', "dp_gaussian(v, 3, 1, 1e-6, 'd')");
my $sigma = 3 / sqrt(2 * last_rho());

$p = normal_cells($doubles, $sigma);
cmp_ok($p, '>=', ALPHA, "a vector of doubles, sigma $sigma (p $p)");
$p = normal_cells($doubles, $sigma * 1.1);
cmp_ok($p, '<', ALPHA, 'rejected: a sigma 10% larger');

# Theorem 3.22's sigma by name.
as($node, 'analyst',
	"SELECT dp_gaussian(0, 1, 0.5, 1e-5, 'd', 'classical')");
cmp_ok(abs(last_rho() / (0.25 / (4 * log(1.25 / 1e-5))) - 1),
	'<', 1e-12, 'the classical sigma');

# ---- selection ----

# Law of noisy max by summation over the winner's noise; two-sided or one-sided
# geometric noise of this scale, ties to the lowest index.
sub noisy_max_law
{
	my ($scores, $scale, $two_sided) = @_;
	my $q = exp(-1 / $scale);
	my $far = int(45 * $scale);
	my $mass = sub {
		my ($m) = @_;

		return $two_sided ? (1 - $q) / (1 + $q) * $q**abs($m)
		  : $m < 0 ? 0 : (1 - $q) * $q**$m;
	};
	my $below = sub {		# P[noise < m]
		my ($m) = @_;

		return $m <= 0
		  ? ($two_sided ? $q**(1 - $m) / (1 + $q) : 0)
		  : 1 - ($two_sided ? $q**$m / (1 + $q) : $q**$m);
	};
	my @law;

	foreach my $i (0 .. $#$scores)
	{
		$law[$i] = 0;
		foreach my $m (-$far .. $far)
		{
			my $product = $mass->($m);

			last if $m > 0 && $product < 1e-18;
			foreach my $j (0 .. $#$scores)
			{
				next if $j == $i;
				$product *= $below->(
					$scores->[$i] + $m - $scores->[$j] + ($j > $i ? 1 : 0));
			}
			$law[$i] += $product;
		}
	}
	return \@law;
}

# Rows of an oracle file whose fields, the second left out, are @key: scores
# and probabilities.
sub oracle
{
	my ($file, @key) = @_;
	my ($scores, @law);

	open(my $in, '<', "$FindBin::RealBin/../oracle/$file")
	  or die "oracle: $!";
	while (<$in>)
	{
		chomp;
		my @field = split /,/;

		next if grep { $field[$_] ne $key[$_] } grep { $_ != 1 } 0 .. $#key;
		$scores = $field[1];
		push @law, $field[-1];
	}
	close $in;
	return ([ split / /, $scores ], \@law);
}

# [call with candidates in place of $ and utilities of @, scores, law, a wrong
# law: that of the other flag, scale or side]; each is so far off that it is
# missed with probability below 1e-9
my @cases;
my ($scores, $law, $wrong);

foreach my $case ([ 'C', '1', 'no', 'false', '1' ],
	[ 'B', '1/2', 'yes', 'true', '0.5' ])
{
	my ($name, $fraction, $monotone, $flag, $epsilon) = @$case;
	my $other = $monotone eq 'no' ? 'yes' : 'no';

	foreach my $file ('exponential_mechanism.csv', 'permute_and_flip.csv')
	{
		($scores, $law) =
		  oracle($file, $name, '', $fraction, '1', $monotone);
		(undef, $wrong) = oracle($file, $name, '', $fraction, '1', $other);
		push @cases,
		  map { [ $_, $scores, $law, $wrong ] } $file =~ /^exp/
		  ? (
			"dp_exponential(\$, \@, 1, $epsilon, 'd', monotone => $flag)",
			"dp_noisy_max(\$, \@, 1, $epsilon, 'd', 'gumbel', $flag)")
		  : "dp_noisy_max(\$, \@, 1, $epsilon, 'd', 'permute_and_flip',"
		  . " $flag)";
	}
}
($scores, $law) = oracle('rnm_discrete_laplace.csv', 'B', '', '1', '2');
$wrong = noisy_max_law($scores, 2, 1);
cmp_ok(abs($law->[$_] - $wrong->[$_]),
	'<', 1e-12, "oracle and summation agree on candidate $_")
  foreach 0 .. $#$law;
push @cases,
  [
	"dp_noisy_max(\$, \@, 1, 1, 'd')",
	$scores, $law, noisy_max_law($scores, 4, 1)
  ],
  [
	"dp_noisy_max(\$, \@, 1, 0.5, 'd', 'laplace', true)",
	$scores, $law, noisy_max_law([ reverse @$scores ], 2, 1)
  ],
  [
	"dp_noisy_max(\$, \@, 1, 1, 'd', 'exponential')",
	$scores, noisy_max_law($scores, 2, 0), noisy_max_law($scores, 4, 0)
  ];

foreach my $case (@cases)
{
	my ($call, $scores, $law, $wrong) = @$case;
	my $sql = $call;

	# candidates are their own places
	$sql =~ s/\$/'ARRAY[' . join(', ', 0 .. $#$scores) . ']'/e;
	$sql =~ s/\@/'ARRAY[' . join(', ', @$scores) . ']'/e;

	my $count = answers($node, "SELECT ($sql)::text WHERE k > 0", $calls);
	my @count = map { $count->{$_} // 0 } 0 .. $#$law;
	my $p = fit(\@count, $law, $calls);

	cmp_ok($p, '>=', ALPHA, "$call (p $p)");
	$p = fit(\@count, $wrong, $calls);
	cmp_ok($p, '<', ALPHA, "rejected: another law for $call");
}

$node->stop;
done_testing();
