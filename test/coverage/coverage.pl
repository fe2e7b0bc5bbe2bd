# coverage.pl folder ...
#	  Each folder has one for every program that ran, with the counters that it
#	  left (coverage.sh).  Prints, by folder of src, how many lines there are, how
#	  many of them the programs of each folder reach, and how many only they do;
#	  then, for each program, how many lines no other one reaches.  To the file
#	  COVERAGE_MAP, when that is set, which programs reach each line.
use strict;
use warnings;

use Cwd qw(getcwd);
use File::Basename;

my @folders = @ARGV;
my $top = getcwd();
my (%reached, %lines);		# file: line: program: 1; file: line: 1

# What gcov says of all counters of one folder.
sub read_counters
{
	my ($program, $folder) = @_;
	my @counters = glob "$folder/*.gcda";
	my $file = '';

	return if !@counters;
	(my $objects = $folder) =~ s{^.*?/(src(?:/\w+)*|test/\w+(?:/bin(?:/\w+)?)?)$}{$top/$1};
	foreach my $counter (@counters)
	{
		my $notes = basename($counter, '.gcda') . '.gcno';

		symlink "$objects/$notes", "$folder/$notes" if !-e "$folder/$notes";
	}
	# where it was compiled, or it does not find the source
	my ($place) = $objects =~ m{^(.*/test/\w+)/};
	$place //= $top;
	open my $gcov, '-|', "cd '$place' && gcov -t -o '$folder' '$folder'/*.gcda 2>/dev/null" or die "gcov: $!";
	while (<$gcov>)
	{
		my ($count, $line, $rest) = /^ *([^:]+): *(\d+):(.*)/ or next;

		$file = $rest =~ m{^Source:(?:.*/)?(src/(?:\w+/)*\w+\.[ch])$} ? $1 : '' if $line == 0 && $rest =~ /^Source:/;
		next if $file eq '' || $line == 0 || $count eq '-';
		$lines{$file}{$line} = 1;
		$reached{$file}{$line}{$program} = 1 if $count !~ /^[#=]/;
	}
	close $gcov;
	return;
}

my %programs;
foreach my $when (@folders)
{
	foreach my $program (sort glob "$when/*")
	{
		my $name = basename($when) . ' ' . basename($program) =~ s/^\d+\.//r;

		$programs{$name} = $when;
		read_counters($name, $_) foreach glob("$program/src $program/src/* $program/src/*/* $program/test/*/bin $program/test/*/bin/*");
	}
}

my (%rooms, %alone);
foreach my $file (keys %lines)
{
	my ($room) = $file =~ m{^src/(.+)/};

	$room //= '(src)';
	foreach my $line (keys %{ $lines{$file} })
	{
		my @by = keys %{ $reached{$file}{$line} // {} };
		my %when = map { $programs{$_} => 1 } @by;

		foreach my $of ($room, 'all')
		{
			$rooms{$of}{lines}++;
			$rooms{$of}{$_}++ foreach keys %when;
			$rooms{$of}{"only $_"}++ foreach keys %when == 1 ? keys %when : ();
		}
		$alone{ $by[0] }++ if @by == 1;
	}
}
print join(' | ', 'room', 'lines', map { (basename($_), 'only there') } @folders), "\n";
foreach my $room (sort { ($a eq 'all') <=> ($b eq 'all') || $a cmp $b } keys %rooms)
{
	print join(' | ', $room, $rooms{$room}{lines}, map { ($rooms{$room}{$_} // 0, $rooms{$room}{"only $_"} // 0) } @folders), "\n";
}
print "\nlines that no other program reaches:\n";
print "$alone{$_} $_\n" foreach sort { $alone{$b} <=> $alone{$a} || $a cmp $b } keys %alone;
if ($ENV{COVERAGE_MAP})
{
	open my $map, '>', $ENV{COVERAGE_MAP} or die "$ENV{COVERAGE_MAP}: $!";
	foreach my $file (sort keys %lines)
	{
		foreach my $line (sort { $a <=> $b } keys %{ $lines{$file} })
		{
			print $map "$file:$line ", join(', ', sort keys %{ $reached{$file}{$line} // {} }), "\n";
		}
	}
	close $map;
}
