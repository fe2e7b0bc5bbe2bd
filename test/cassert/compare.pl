# compare.pl known regression.diffs
#	  Compares what pg_regress calls regression.diffs with the differences that
#	  are known: of every test the lines that are missing (-) or new (+), each
#	  once.  Prints what is on one side only; the last line is how many tests
#	  differ as known, and how many otherwise.
#
# So that the list does not change with every object of dp_pg, new lines have
# OID for OIDs and (..) for the arguments of its functions, widths of columns
# do not count, nor does how many rows there are.
use strict;
use warnings;

# Lines that only moved, or were padded otherwise, are on both sides.
sub changes
{
	my @lines = map { s/ +/ /gr =~ s/ $//r =~ s/^([-+]) /$1/r =~ s/^([-+])[-+]+$/$1--/r } @_;
	my %there = map { $_ => 1 } @lines;
	my %line;

	for (@lines)
	{
		next if $there{ (/^\+/ ? '-' : '+') . substr $_, 1 };
		s/\b(?:1[6-9]|2\d)\d{3}\b/OID/g if /^\+/ && / \| /;
		s/\b(dp_\w+)\([^()]*\)/$1(..)/g if /^\+/;
		s/^([-+])\(\d+ rows?\)$/$1(rows)/;
		$line{$_} = 1;
	}
	return \%line;
}

my ($known_file, $found_file) = @ARGV;
my (%known, %found, $test);

open my $known, '<', $known_file or die "$known_file: $!";
while (<$known>)
{
	chomp;
	next if /^#/ || /^$/;
	if (/^== (\w+)$/) { $test = $1; $known{$test} = {}; next }
	$known{$test}{$_} = 1;
}
if (open my $diffs, '<', $found_file)
{
	my %of;

	while (<$diffs>)
	{
		chomp;
		if (m{^diff .*/results/(\w+)\.out$}) { $test = $1; $of{$test} = []; next }
		next if /^(?:---|\+\+\+) .*\.out\t/;
		push @{ $of{$test} }, $_ if /^[-+]/;
	}
	$found{$_} = changes(@{ $of{$_} }) for keys %of;
}

my ($as_known, $otherwise) = (0, 0);

for my $name (sort keys %{ { %known, %found } })
{
	my @missing = grep { !$found{$name}{$_} } sort keys %{ $known{$name} || {} };
	my @new = grep { !$known{$name}{$_} } sort keys %{ $found{$name} || {} };

	if ($known{$name} && $found{$name} && !@missing && !@new)
	{
		$as_known++;
		next;
	}
	$otherwise++;
	print "== $name\n";
	print "listed, but not found: $_\n" for @missing;
	print "not listed: $_\n" for @new;
}
print "$as_known $otherwise\n";
