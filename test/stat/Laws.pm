# Exact laws: of selections, as files for `judge choice`, and of the noise of
# thresholds.
package Laws;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use List::Util qw(max sum);
use StatServer;

our @EXPORT =
  qw(oracle exponential permute rank_score law_text mass tail);

# The oracle's records of a file as a law's text, values by name.
sub oracle
{
	my ($file, $where, $name) = @_;
	my $law = '';

	open(my $in, '<', "$FindBin::RealBin/../oracle/$file") or die "$file: $!";
	my @columns = split /,/, <$in> =~ s/\s+\z//r;
	while (<$in>)
	{
		my %record;

		chomp;
		@record{@columns} = split /,/, $_;
		next if grep { $record{$_} ne $where->{$_} } keys %$where;
		$law .= $name->(\%record) . " $record{probability}\n";
	}
	close $in;
	die "$file has no such law" if $law eq '';
	return keep($law);
}

# Permute-and-flip and the exponential mechanism by their definitions: a hash
# of scores by name and a rate; returns a hash of probabilities.
sub exponential
{
	my ($score, $rate) = @_;
	my $best = max(values %$score);
	my %weight =
	  map { $_ => exp($rate * ($score->{$_} - $best)) } keys %$score;
	my $sum = sum(values %weight);

	return { map { $_ => $weight{$_} / $sum } keys %weight };
}

sub permute
{
	my ($score, $rate) = @_;
	my ($best) = sort { $b <=> $a } values %$score;
	my %law = map { $_ => 0 } keys %$score;

	# over all orders: the first candidate of the rest, taken or not
	my $walk;
	$walk = sub {
		my ($chance, @rest) = @_;

		foreach my $i (0 .. $#rest)
		{
			my $taken = exp($rate * ($score->{ $rest[$i] } - $best));

			$law{ $rest[$i] } += $chance / @rest * $taken;
			$walk->(
				$chance / @rest * (1 - $taken),
				@rest[ grep { $_ != $i } 0 .. $#rest ]) if $taken < 1;
		}
	};
	$walk->(1, keys %$score);
	return \%law;
}

# The score of a value v for the level a/d of rows.
sub rank_score
{
	my ($v, $a, $d, @rows) = @_;
	my $below = grep { $_ < $v } @rows;
	my $upto = grep { $_ <= $v } @rows;
	my $worst = $a * @rows - $d * $upto;

	$worst = $d * $below - $a * @rows if $d * $below - $a * @rows > $worst;
	return $worst > 0 ? -$worst : 0;
}

sub law_text
{
	my ($law) = @_;

	return keep(join '', map { "$_ $law->{$_}\n" } sort keys %$law);
}

# P[X = m] and P[X >= m]: geometric noise of scale b, or discrete Laplace when
# two_sided.
sub mass
{
	my ($b, $two_sided, $m) = @_;
	my $p = exp(-1 / $b);

	return (1 - $p) / (1 + $p) * $p**abs($m) if $two_sided;
	return $m < 0 ? 0 : (1 - $p) * $p**$m;
}

sub tail
{
	my ($b, $two_sided, $m) = @_;
	my $p = exp(-1 / $b);

	return $m > 0 ? $p**$m / (1 + $p) : 1 - $p**(1 - $m) / (1 + $p)
	  if $two_sided;
	return $m <= 0 ? 1 : $p**$m;
}

1;
