# Counts against a law that the test computes: chi-square with a tail that is
# exact far out.
package StatFit;

use strict;
use warnings;

use Exporter 'import';
use POSIX ();

our @EXPORT = qw(chi_square_tail fit);

# P[X >= x] for the chi-square law.
sub chi_square_tail
{
	my ($x, $freedom) = @_;
	my $odd = $freedom % 2;
	my $sum;

	return 1 if $freedom == 0 || $x <= 0;
	$sum = $odd ? POSIX::erfc(sqrt($x / 2)) : exp(-$x / 2);
	for (my $a = $odd ? 0.5 : 1; $a < $freedom / 2; $a++)
	{
		$sum += exp($a * log($x / 2) - $x / 2 - POSIX::lgamma($a + 1));
	}
	return $sum;
}

# p-value of counts of n values against probabilities, both by cell in one
# order.  What is missing to n and to 1 is a cell of its own; cells are merged
# with the next until they expect 100, a small rest with the last one.
sub fit
{
	my ($counts, $law, $n) = @_;
	my ($all, $whole) = (0, 0);
	my (@seen, @mass);
	my $open = 0;
	my $x = 0;

	foreach my $i (0 .. $#$law + 1)
	{
		my $rest = $i > $#$law;
		my $seen = $rest ? $n - $all : $counts->[$i] // 0;
		my $mass = $rest ? 1 - $whole : $law->[$i];

		$all += $seen;
		$whole += $mass;
		if ($open)
		{
			$seen[-1] += $seen;
			$mass[-1] += $mass;
		}
		else
		{
			push @seen, $seen;
			push @mass, $mass;
		}
		$open = $n * $mass[-1] < 100;
	}
	if ($open && @seen > 1)
	{
		$seen[-2] += pop @seen;
		$mass[-2] += pop @mass;
	}
	$x += ($seen[$_] - $n * $mass[$_])**2 / ($n * $mass[$_]) foreach 0 .. $#seen;
	return chi_square_tail($x, $#seen);
}

1;
