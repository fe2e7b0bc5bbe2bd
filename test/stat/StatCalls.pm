# Calls whose answer is one of a few: counted, held against a law that the
# test computes, and audited on neighbours.
#
# Every call is a charge.  Four sessions at a time keep the ledger's worker
# busy, and short statements keep few old versions of the budget's row.
package StatCalls;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(sum);
use StatFit;
use StatServer;
use Test::More;

our @EXPORT = qw(answers released accept_counts reject_law audit caught);

use constant {
	SESSIONS => 4,
	CHUNK => 50
};

# The lines that a statement of CHUNK calls prints, so often that it makes that
# many calls, a multiple of 200.
sub lines
{
	my ($node, $statement, $runs, $settings) = @_;
	my $script = keep(($settings // '') . "\n"
		  . "$statement;\n" x ($runs / (SESSIONS * CHUNK)));
	my (@lines, @pipes);

	foreach (1 .. SESSIONS)
	{
		open(my $pipe, '-|', 'psql', '-XAtq', '-F', ' ', '-v',
			'ON_ERROR_STOP=1', '-U', 'analyst', '-d',
			$node->connstr('postgres'), '-f', $script) or die "psql: $!";
		push @pipes, $pipe;
	}
	foreach my $pipe (@pipes)
	{
		push @lines, <$pipe>;
		close $pipe or die "psql failed: $statement";
	}
	return @lines;
}

# The rows of a query that depends on k, the number of a call; a file of them.
sub released
{
	my ($node, $query, $runs) = @_;

	return keep(join '', lines($node, <<"EOT", $runs));
SELECT r.* FROM generate_series(1, @{[CHUNK]}) AS k, LATERAL ($query) AS r
EOT
}

# How often each answer of such a query of one text column came; the rows of
# one call are put together in order, NULL is "none".
sub answers
{
	my ($node, $query, $runs, $settings) = @_;
	my %count;

	foreach my $line (lines($node, <<"EOT", $runs, $settings))
SELECT c, count(*) FROM (
	SELECT k, string_agg(coalesce(x, 'none'), '' ORDER BY x) AS c
	FROM generate_series(1, @{[CHUNK]}) AS k, LATERAL ($query) AS t(x)
	GROUP BY k) s
GROUP BY c
EOT
	{
		$count{$1} += $2 if $line =~ /^(\S+) (\d+)$/;
	}
	return \%count;
}

# p-value of counts against a law, a hash of probabilities by name.
sub law_p
{
	my ($count, $law) = @_;
	my @names = sort keys %$law;

	return fit([ map { $count->{$_} // 0 } @names ],
		[ map { $law->{$_} } @names ],
		sum(values %$count));
}

sub accept_counts
{
	my ($name, $count, $law, $runs) = @_;
	my $p = law_p($count, $law);

	is(sum(values %$count), $runs, "$name: $runs answers");
	cmp_ok($p, '>=', ALPHA, "$name: its law (p $p)");
	return;
}

sub reject_law
{
	my ($name, $count, $law) = @_;
	my $p = law_p($count, $law);

	cmp_ok($p, '<', ALPHA, "rejected: $name (p $p)");
	return;
}

# The bound on the loss that counts on two neighbours show, see loss.h.  Their
# exact laws put the answers in order, which is fixed before any call: from
# what the first makes most probable, as against the second, to the least.
sub loss
{
	my ($counts, $laws) = @_;
	my ($one, $other) = @$laws;
	my @names =
	  sort { $one->{$b} * $other->{$a} <=> $one->{$a} * $other->{$b} }
	  sort keys %$one;
	my $text = '';

	foreach my $input (0, 1)
	{
		my $left = sum(values %{ $counts->[$input] });

		foreach my $place (0 .. $#names)
		{
			my $count = $counts->[$input]{ $names[$place] } // 0;

			$text .= "$input $place\n" x $count;
			$left -= $count;
		}
		$text .= "$input @{[scalar @names]}\n" x $left;
	}
	return judge(keep($text), 'loss', 1, 0, 0, 1)->{bound};
}

# Neighbours' counts of a sound mechanism: each follows its law, and together
# they show no loss above the claim.  Calls at a price are what a mechanism with
# half of the noise would give for half the price: as that it is caught.
sub audit
{
	my ($name, $counts, $laws, $runs, $claim) = @_;
	my $bound = loss($counts, $laws);

	accept_counts("$name, input $_", $counts->[$_], $laws->[$_], $runs)
	  foreach 0, 1;
	cmp_ok($bound, '<=', $claim,
		"$name: loss of at least $bound is seen, $claim claimed");
	caught("$name, half of the noise", $counts, $laws, $claim / 2);
	return;
}

# Counts show a larger loss than the claim.
sub caught
{
	my ($name, $counts, $laws, $claim) = @_;
	my $bound = loss($counts, $laws);

	cmp_ok($bound, '>', $claim,
		"rejected: $name: $bound is seen, $claim claimed");
	return;
}

1;
