# dp_topk by noisy counts follows its exact law through SQL, each statement one of
# 10^5 groups and as many of a neighbour, with both noises; audits accuse none of
# them; and its answers are as good as stated: of 100 values, at k 10 and epsilon
# 0.02, they lose a small part of what k selections would.
#
# Rates: p-values as StatServer says; 3 audits at 1e-10 each; the accuracy lines
# state theirs.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use List::Util qw(max min sum);
use MechanismData;
use StatServer;
use Test::More;

my $node = mechanism_node('topk');
my $settings = "SET dp_pg.delta = '1e-6'; SET dp_pg.mechanism = ";

sub explained
{
	my ($mechanism, $value) = @_;

	return as($node, 'analyst',
		"$settings$mechanism; EXPLAIN SELECT k, $value FROM cases GROUP BY k");
}

# P[noise = v], cut where less than 1e-30 is left.
sub laplace_law
{
	my ($epsilon) = @_;
	my $q = exp(-$epsilon);

	return sub { (1 - $q) / (1 + $q) * $q**abs($_[0]) };
}

sub gaussian_law
{
	my ($sigma) = @_;
	my $all = sum(map { exp(-$_**2 / (2 * $sigma**2)) } -2000 .. 2000);

	return sub { exp(-$_[0]**2 / (2 * $sigma**2)) / $all };
}

# Each order of the places, with its probability: the larger noisy count first,
# ties to the lower place.  From the last to the first, with the noisy count of
# the one before.
sub orders
{
	my ($law, $reach, @counts) = @_;
	my %law;
	my @range = (-$reach .. $reach);

	my $extend;
	$extend = sub {
		my ($order, $below) = @_;
		my %used = map { $_ => 1 } @$order;
		my @left = grep { !$used{$_} } 0 .. $#counts;

		$law{ join ' ', @$order } = sum(@$below) if @left == 0;
		foreach my $place (@left)
		{
			my $sum = 0;
			my @here;

			foreach my $i (0 .. $#range)
			{
				my $same = @$order && $place < $order->[0] ? $below->[$i] : 0;

				push @here,
				  $law->($range[$i] - $counts[$place]) *
				  (@$order ? $sum + $same : 1);
				$sum += $below->[$i] if @$order;
			}
			$extend->([ $place, @$order ], \@here);
		}
	};
	$extend->([], []);
	return \%law;
}

# How likely each place is the first.
sub firsts
{
	my ($law, $reach, @counts) = @_;
	my @range = (-$reach .. $reach);
	my @mass = map { my $c = $_; [ map { $law->($_ - $c) } @range ] } @counts;
	my @under = map {
		my $s = 0;
		[ map { my $before = $s; $s += $_; $before } @$_ ]
	} @mass;
	my %first;

	foreach my $place (0 .. $#counts)
	{
		foreach my $i (0 .. $#range)
		{
			my $p = $mass[$place][$i];

			$p *= $under[$_][$i] + ($_ > $place ? $mass[$_][$i] : 0)
			  foreach grep { $_ != $place } 0 .. $#counts;
			$first{$place} += $p;
		}
	}
	return \%first;
}

# ---- the whole order of three of four ----

my @uvwz = qw(u v w z);
my $three = "dp_topk(d, 3, ARRAY['u', 'v', 'w', 'z'], 1.4)";

like(explained('laplace', $three), qr/dp_topk.*discrete Laplace, epsilon 1.4,/,
	'noisy counts at the whole epsilon');
my $law = orders(laplace_law(1.4), 60, 3, 3, 2, 0);
my %named = map {
	my @order = (split)[ 0 .. 2 ];
	'{' . join(',', @uvwz[@order]) . '}' => $law->{$_}
} keys %$law;
my ($ordered, $two) =
  ask($node, 'laplace', $three, "dp_topk(d, 2, ARRAY['u', 'v', 'w', 'z'], 1.4)");

is(sprintf('%.12f', sum(values %named)), '1.000000000000', 'the law is whole');
follows(judge(half(0), $ordered, 'choice', law_text(\%named)),
	GROUPS, 'dp_topk, 3 of scores 3 3 2 0, epsilon 1.4');
my $wrong = orders(laplace_law(1.26), 60, 3, 3, 2, 0);
my %wrong = map {
	my @order = (split)[ 0 .. 2 ];
	'{' . join(',', @uvwz[@order]) . '}' => $wrong->{$_}
} keys %$wrong;
cmp_ok(judge(half(0), $ordered, 'choice', law_text(\%wrong))->{p},
	'<', ALPHA, 'rejected: a tenth less epsilon');

sub audit
{
	my ($name, $file, $number, $epsilon, $seen) = @_;
	my $found = judge(half(undef, $number), $file, 'loss', 1, 0, 0, 1);

	is("$found->{n} $found->{m}", GROUPS . ' ' . GROUPS, "$name: all groups");
	cmp_ok($found->{bound}, '<=', $epsilon,
		"$name: loss of at least $found->{bound} is seen");
	cmp_ok($found->{bound}, '>=', $seen, "and of $seen");
	return;
}

my $i = 0;
my %number = map { $_ => $i++ } sort keys %named;
audit('dp_topk', $ordered, sub { $number{ $_[0] } }, 1.4, 0.3);

# ---- the first of ten, by both noises ----

my @values = (1, 2, 4, 7, 9, 12, 3, 5, 6, 8);
my @counts = (1, 2, 1, 3, 1, 0, 0, 0, 0, 0);
my $sigma = as($node, 'analyst',
	"SELECT dp_gaussian_sigma(1, 2, 0.000001, method => 'zcdp')");

foreach my $case ([ 'laplace', laplace_law(2), 'discrete Laplace, epsilon 2,' ],
	[ 'gaussian', gaussian_law($sigma), 'discrete Gaussian, epsilon' ])
{
	my ($mechanism, $noise, $said) = @$case;
	my $call = 'dp_topk(x, 10, ARRAY[' . join(',', @values) . '], 2)';
	my $first = firsts($noise, 200, @counts);
	my ($all) = ask($node, $mechanism, $call);

	like(explained($mechanism, $call), qr/dp_topk.*$said/, "$mechanism: $said");
	follows(
		judge(
			half(0, sub { $_[0] =~ /(\d+)/; $1 }),
			$all, 'choice',
			law_text({ map { $values[$_] => $first->{$_} } 0 .. 9 })),
		GROUPS,
		"dp_topk, first of 10, $mechanism");
	audit("dp_topk, first of 10, $mechanism",
		$all, sub { $_[0] =~ /(\d+)/; $1 }, 2, $mechanism eq 'laplace' ? 0.2 : 0.01);
}

# ---- accuracy: value i of 1 .. 100 stands in 20 i rows ----

use constant RUNS => 200;

as($node, 'owner', <<'EOT');
CREATE TABLE many AS SELECT i FROM generate_series(1, 100) i, generate_series(1, 20 * i);
SELECT dp_protect('many'), dp_declare('many', 'i', lower => 1, upper => 100);
EOT

sub lost { return sum(map { 20 * $_ } 91 .. 100) - sum(map { 20 * $_ } @_) }

my $lines = as($node, 'analyst',
	'SELECT dp_topk(i, 10, NULL, 0.02) FROM many;' x RUNS);
my $said = as($node, 'analyst',
	'EXPLAIN SELECT dp_topk(i, 10, NULL, 0.02) FROM many');
my ($beyond, @lost) = (0);

# Short of a value left out by more than twice the noise that 100 draws exceed
# with probability 0.05: in more than 40 of 200 answers with odds below 1e-13.
my $bound = 2 * 50 * log(100 / 0.05);

foreach my $line (split /\n/, $lines)
{
	my @chosen = $line =~ /(\d+)/g;
	my %chosen = map { $_ => 1 } @chosen;
	my $best = max(grep { !$chosen{$_} } 1 .. 100);

	push @lost, lost(@chosen);
	$beyond++ if 20 * ($best - min(@chosen)) > $bound;
}
like($said, qr/dp_topk.*discrete Laplace.*scale 50,/, 'noisy counts of scale 50');
is(scalar @lost, RUNS, 'as many answers');
cmp_ok($beyond, '<=', 40, "$beyond answers beyond the bound of T111");

# Permute-and-flip is the largest of scores with exponential noise of scale
# k / epsilon = 500.
my @peeled;

foreach (1 .. RUNS)
{
	my %left = map { $_ => 20 * $_ } 1 .. 100;
	my @chosen;

	while (@chosen < 10)
	{
		my %noisy = map { $_ => $left{$_} - 500 * log(1 - rand) } keys %left;
		my ($most) = sort { $noisy{$b} <=> $noisy{$a} } keys %noisy;

		push @chosen, $most;
		delete $left{$most};
	}
	push @peeled, lost(@chosen);
}
my ($mean, $peeled) = (sum(@lost) / RUNS, sum(@peeled) / RUNS);

# The means differ by some 50 standard errors.
cmp_ok($mean, '<', $peeled / 8,
	"$mean rows lost at k 10 and epsilon 0.02, $peeled by k selections");

$node->stop;
done_testing();
