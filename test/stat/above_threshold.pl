# dp_above_threshold through SQL: the number of questions until "above" follows its
# exact law, and an audit uses neighbours on which it loses all of its epsilon.
#
# The law is summed over the noise of the threshold, with the split of epsilon
# and the offset as theory T53 and T54 have them, failure .05.
#
# Rates: 1 audit of a sound mechanism at 1e-10, 7 p-values at ALPHA, see
# StatServer.  A variant with half of the noise must exceed the claim, which it
# fails with a probability below 1e-12, by the exact law.  Exact losses have no
# rate.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use List::Util qw(max);
use POSIX ();
use StatCalls;
use StatServer;
use Test::More;

use constant {
	RUNS => 10000,
	FEW => 4000
};

my $node = stat_node('above_threshold', <<'EOT');
CREATE TABLE come (x int);
CREATE TABLE replaced (x int);
SELECT dp_protect('come', dataset => 'added');
SELECT dp_protect('replaced', dataset => 'replaced');
SELECT dp_neighbours('replaced', 'replace_one');
SELECT dp_grant('analyst', d, epsilon => 1000000000)
FROM unnest('{added,replaced}'::name[]) d;
EOT
as($node, 'postgres',
	'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO analyst');

# ---- the law, by definition ----

# The least g with P[geometric noise of scale b > g] <= .025/n.
sub reach
{
	my ($b, $n) = @_;

	return max(0, POSIX::ceil($b * log($n / 0.025)) - 1);
}

# Scales and offset of the noise for n questions of sensitivity D.
sub noise
{
	my ($n, $epsilon, $D, $monotone, $method) = @_;

	return {
		two_sided => 1,
		threshold_b => 2 * $D / $epsilon,
		query_b => 4 * $D / $epsilon,
		offset => 0
	  }
	  if $method eq 'book';

	my $moves = $monotone ? 1 : 2;
	my ($w1, $w2) = (sqrt(log(1 / 0.025)), sqrt($moves * log($n / 0.025)));
	my $part = $epsilon * $w1 / ($w1 + $w2);
	my ($b1, $b2) = ($D / $part, $moves * $D / ($epsilon - $part));
	my ($g1, $g2) = (reach($b1, 1), reach($b2, $n));

	return {
		two_sided => 0,
		threshold_b => $b1,
		query_b => $b2,
		offset => $g2 - int(($g1 + $g2) / 2)
	};
}

# Probability of each place of the first "above", and of none.
sub law
{
	my ($plan, $threshold, @values) = @_;
	my ($b, $two_sided) = ($plan->{threshold_b}, $plan->{two_sided});
	my $far = int(45 * $b);
	my %law = map { $_ => 0 } 1 .. @values, 'none';

	foreach my $noise (($two_sided ? -$far : 0) .. $far)
	{
		my $armed = $threshold + $plan->{offset} + $noise;
		my $left = mass($b, $two_sided, $noise);

		foreach my $i (0 .. $#values)
		{
			my $above =
			  tail($plan->{query_b}, $two_sided, $armed - $values[$i]);

			$law{ $i + 1 } += $left * $above;
			$left *= 1 - $above;
		}
		$law{none} += $left;
	}
	return \%law;
}

sub calls
{
	my ($values, $type, $arguments, $runs) = @_;
	my $array = "ARRAY[@{[join ', ', @$values]}]::$type\[]";

	return answers($node, <<"EOT", $runs);
SELECT dp_above_threshold($array, $arguments)::text WHERE k > 0
EOT
}

# The largest loss between two laws.
sub exact_loss
{
	my ($one, $other) = @_;

	return max(map { abs(log($one->{$_} / $other->{$_})) } keys %$one);
}

# ---- neighbours ----

# A row replaced moves two counts up and one down.
my @neighbours = ([ 0, 0, 1 ], [ 1, 1, 0 ]);
my $plan = noise(3, 3, 1, 0, 'geometric');
my @laws = map { law($plan, 0, @$_) } @neighbours;
my $exact = exact_loss(@laws);

ok(abs($exact / 3 - 1) < 1e-9, "exact loss on neighbours: $exact of 3");

my @counts =
  map { calls($_, 'bigint', "0, 1, 3.0 + 0 * k, 'replaced'", RUNS) }
  @neighbours;

audit('one replaced', \@counts, \@laws, RUNS, 3);
reject_law('the law of monotone values',
	$counts[0], law(noise(3, 3, 1, 1, 'geometric'), 0, @{ $neighbours[0] }));

# A flag that is wrong would lose more than the claim.
$plan = noise(3, 3, 1, 1, 'geometric');
$exact = exact_loss(map { law($plan, 0, @$_) } @neighbours);
cmp_ok($exact, '>', 3, "rejected: a wrong flag: exact loss $exact of 3");
$exact = exact_loss(map { law($plan, 0, @$_) } [ 0, 0, 1 ], [ 1, 1, 2 ]);
cmp_ok($exact, '<=', 3, "moved the same way: exact loss $exact of 3");

# ---- laws ----

my @values = (1, 0, 3, 2, 4);

foreach my $case (
	# name, type, threshold, sensitivity, epsilon, rest, monotone, runs
	[ 'geometric', 'integer', 2.5, 1, 2, '', 0, RUNS ],
	[ 'geometric', 'smallint', 3, 1.5, 3, ', true', 1, FEW ],
	[ 'book', 'bigint', 3, 1, 4, ", false, 'book'", 0, FEW ])
{
	my ($method, $type, $threshold, $sensitivity, $epsilon, $rest, $monotone,
		$runs) = @$case;
	my $name = "$method, $type" . ($monotone ? ', monotone' : '');
	my $whole = POSIX::ceil($sensitivity);
	my $count = calls(\@values, $type,
		"$threshold, $sensitivity, $epsilon + 0.0 * k, 'added'$rest", $runs);
	my $least = POSIX::ceil($threshold);

	accept_counts($name, $count,
		law(noise(5, $epsilon, $whole, $monotone, $method), $least, @values),
		$runs);
	reject_law("$name: half the noise",
		$count,
		law(noise(5, 2 * $epsilon, $whole, $monotone, $method), $least,
			@values));
	reject_law("$name: a threshold one larger",
		$count,
		law(noise(5, $epsilon, $whole, $monotone, $method), $least + 1,
			@values));
}

# Numbers on a lattice that is far finer than their noise: in units of 1/256
# the law is the same to one part in a thousand, of which FEW see nothing.
foreach my $type ('numeric', 'double precision')
{
	my @numbers = (0.5, -1, 1.25, 3.375, 2);
	my $cast = $type eq 'numeric' ? 'numeric' : 'float8';
	my $count = calls(\@numbers, $type,
		"2.25::$cast, 2.5::$cast, (3 + 0 * k)::$cast, 'replaced'", FEW);
	my @units = map { 256 * $_ } @numbers;
	my $law = sub {
		my ($epsilon) = @_;

		return law(noise(5, $epsilon, 640, 0, 'geometric'), 576, @units);
	};

	accept_counts($type, $count, $law->(3), FEW);
	reject_law("$type: half the noise", $count, $law->(6));
}

$node->stop;
done_testing();
