# odds.pl postmaster.log
#	  Of a server with draws.patch that logs statements: the statements in which
#	  a unit chose among its rows, groups or values, and those of which the odds
#	  that noise is another number than 0 are between 1e-9 and 0.3.  Below, they
#	  do not matter, and above, nobody can have written down an exact answer.
use strict;
use warnings;

use constant { LEAST => 1e-9, MOST => 0.3, SHOWN => 200 };

my ($file) = @ARGV;
my (@statements, $told);
my $read = 0;

open my $log, '<', $file or die "$file: $!";
while (my $line = <$log>)
{
	if ($line =~ /^@(?:pg_regress\/)?([^@]*)@ LOG:  (?:statement|execute [^:]*): (.*)/)
	{
		push @statements, { test => $1, text => $2, odds => 0 };
		next;
	}
	next if !@statements;
	if ($line =~ /ODDS \d+ \w+ (\S+)/)
	{
		$statements[-1]{odds} += $1;
		$read++;
	}
	$statements[-1]{lost}{$1}++ if $line =~ /LOST \d+ (.*)/;
}
foreach my $statement (@statements)
{
	my @what;

	push @what, sprintf 'odds %.2g', $statement->{odds} if $statement->{odds} > LEAST && $statement->{odds} < MOST;
	push @what, 'chosen: ' . join ', ', sort keys %{ $statement->{lost} } if $statement->{lost};
	next if !@what;
	print "$statement->{test}: ", join('; ', @what), "\n    ", substr($statement->{text}, 0, SHOWN), "\n";
	$told++;
}
printf "%d statements, %d draws that can be seen, %d statements to look at\n", scalar @statements, $read, $told // 0;
exit($read > 0 ? 0 : 1);
