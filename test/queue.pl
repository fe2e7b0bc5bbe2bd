# queue.pl day|night [suite ...]
#	  Runs the test programs of the suites (all of them) that the table in
#	  test/README.md names for the day or the night, some at a time, the longest
#	  first; prints of each how it went, of one that failed all it said, then
#	  the table's lines with the seconds it took, a count for each suite, and
#	  as the very last line "N passed, N failed".  The exit status is 0 when
#	  nothing failed.  Called by test/run.sh.
#
# A program prints TAP.  Only top-level tests count.  One that dies, breaks its
# plan, runs nothing, takes longer than DP_PG_LIMIT seconds (an hour, six by
# night) or leaves processes behind for a minute is one more failure; one that
# skips everything, for a reason it prints, is one skipped; a suite in which
# nothing passes has failed.
#
# DP_PG_JOBS, one more than there are processors, is how many run at a time.
# Variables FUZZ_* of the caller count before the table's; with a FUZZ_SEED
# shares of the day's seed are left out, as they are where FUZZ_TODAY, that
# seed, is "none".  Seconds of the processor are of the program and all processes
# that it started, servers included.
use strict;
use warnings;

use FindBin;
use List::Util qw(sum0);
use POSIX qw(:sys_wait_h strftime);
use TAP::Parser;
use Time::HiRes qw(sleep time);

require 'sys/syscall.ph';

use constant PR_SET_CHILD_SUBREAPER => 36;
use constant MOST_AFTER_END => 60;

my ($when, @suites) = @ARGV;
die "queue.pl day|night [suite ...]\n" if ($when // '') !~ /^(?:day|night)$/;
my $jobs = $ENV{DP_PG_JOBS} || 1 + qx(nproc);
my $limit = $ENV{DP_PG_LIMIT} || 3600 * ($when eq 'day' ? 1 : 6);
my $work = $ENV{DP_PG_WORK} or die "run this through test/sandbox.sh\n";
my $today = $ENV{FUZZ_TODAY} || strftime('%Y%m%d', gmtime);

# Suites are named for what they test, not for their folder.
my %suite_of = (sql => 'regress', specs => 'isolation', t => 'tap');

# ---- which programs ----

# A run for each share that the table's column names: [name, suite, row,
# environment, expected seconds].
sub runs
{
	my (@runs, %known);
	my $in_table = 0;

	open my $in, '<', "$FindBin::RealBin/README.md" or die "README.md: $!";
	while (my $line = <$in>)
	{
		$in_table ||= $line =~ /^## Programs$/;
		next if !$in_table || $line !~ m{^\| \S*/};
		my ($name, $day, $night, $wall) =
		  $line =~ m{^\| (\w+/[\w.]*) \| ([^|]+) \| ([^|]+) \| ([\d.]+) \| [\d.]+ \|$}
		  or die "README.md: $line";
		my ($folder) = $name =~ m{^(\w+)/};
		my $suite = $suite_of{$folder} // $folder;
		my @shares = grep { $_ ne '-' } split /; /, $when eq 'day' ? $day : $night;

		# what makes a share smaller comes from nowhere else
		delete $ENV{$_} foreach grep { !/^FUZZ_/ } "$day $night" =~ /(\w+)=/g;
		$known{$suite} = 1;
		next if @suites && !grep { $_ eq $suite } @suites;
		@shares = grep { !/\btoday\b/ } @shares if $today eq 'none' || $ENV{FUZZ_SEED};
		foreach my $share (@shares)
		{
			my %environment = map { /^(\w+)=(.*)$/ ? ($1 => $ENV{$1} // $2) : () } split / /, $share;

			$environment{FUZZ_SEED} = $today if $share =~ /\btoday\b/;
			push @runs,
			  {
				name => $share eq 'yes' ? $name : "$name (" . join(' ', map { /^(\w+)=/ ? "$1=$environment{$1}" : $_ } split / /, $share) . ')',
				suite => $suite,
				row => $name,
				environment => \%environment,
				expected => ($wall || 0) / @shares
			  };
		}
	}
	close $in;
	die "there is no suite $_\n" foreach grep { !$known{$_} } @suites;
	return sort { $b->{expected} <=> $a->{expected} || $a->{name} cmp $b->{name} } @runs;
}

sub command
{
	my ($run) = @_;
	my ($folder, $file) = $run->{row} =~ m{^(\w+)/(.*)$};

	return ('perl', 'test/pgtap.pl') if $folder eq 'pgtap';
	return ('perl', 'test/regress.pl', $folder) if $file eq '';
	return "test/unit/bin/$run->{environment}{BUILD}/$1" if $file =~ /^(\w+)\.c$/;
	return ('perl', "test/$run->{row}");
}

# ---- running one ----

sub children
{
	open my $in, '<', "/proc/$$/task/$$/children" or die "/proc/$$/task/$$/children: $!";
	my @of = split ' ', <$in> // '';
	close $in;
	return @of;
}

# In a process of its own, to which everything falls that the program starts
# and leaves: runs it, waits until nothing is left, and writes exit status,
# seconds and what was wrong.
sub supervise
{
	my ($run) = @_;
	my $start = time;
	my ($status, $ended);
	my $wrong = '';

	syscall(&SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 or die "prctl: $!";
	my $program = fork // die "fork: $!";
	if ($program == 0)
	{
		my $folder = "$work/run/$run->{id}";

		mkdir $folder or die "$folder: $!";
		mkdir "$folder/log";
		$ENV{TESTDIR} = $ENV{TESTDATADIR} = $folder;
		$ENV{TESTLOGDIR} = "$folder/log";
		$ENV{TMPDIR} = "$folder/tmp";
		mkdir $ENV{TMPDIR};
		$ENV{GCOV_PREFIX} = "$ENV{DP_PG_COVERAGE}/$run->{id}" if $ENV{DP_PG_COVERAGE};
		$ENV{$_} = $run->{environment}{$_} foreach keys %{ $run->{environment} };
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', "$folder.out" or die "$folder.out: $!";
		open STDERR, '>', "$folder.err" or die "$folder.err: $!";
		exec { $run->{command}[0] } @{ $run->{command} } or die "$run->{command}[0]: $!";
	}
	while (1)
	{
		my $pid = waitpid(-1, WNOHANG);
		my $late = $wrong ne '' || (defined $ended ? time - $ended > MOST_AFTER_END : time - $start > $limit);

		last if $pid < 0;
		($status, $ended) = ($?, time) if $pid == $program;
		if ($late)
		{
			$wrong ||= defined $ended ? 'left processes behind: ' . join(', ', names(children())) :
			  "took more than $limit s";
			kill 'KILL', children();
		}
		sleep 0.05 if $pid == 0;
	}
	my ($user, $system, $of_children, $system_of_children) = times;
	open my $out, '>', "$work/run/$run->{id}.end" or die $!;
	printf $out "%d\n%.1f\n%.1f\n%s\n", $status, $ended - $start,
	  $of_children + $system_of_children, $wrong;
	close $out;
	POSIX::_exit(0);
}

sub names
{
	return map { text("/proc/$_/cmdline") =~ tr/\0/ /r =~ s/ +$//r } @_;
}

# ---- what it said ----

sub text
{
	my ($file) = @_;
	my $text = '';

	if (open my $in, '<', $file)
	{
		local $/;
		$text = <$in> // '';
		close $in;
	}
	return $text;
}

# Counts a run that has ended, and prints a line, or more when it failed.
sub judge
{
	my ($run) = @_;
	my $folder = "$work/run/$run->{id}";
	my ($status, $wall, $processor, $wrong) = split /\n/, text("$folder.end");
	my $tap = text("$folder.out");
	my $parser = TAP::Parser->new({ tap => $tap eq '' ? "\n" : $tap });

	$parser->run;
	$wrong = 'its supervisor died' if !defined $status;
	$run->{failed} = $parser->failed;
	$run->{passed} = $parser->passed - $parser->skipped;
	$run->{skipped} = $parser->skipped + ($parser->skip_all ? 1 : 0);
	if (!$run->{failed} && (!defined $status || $status != 0))
	{
		$wrong ||= $status & 127 ? 'signal ' . ($status & 127) : 'exit status ' . ($status >> 8);
	}
	$wrong ||= 'ran no test' if !$parser->tests_run && ($parser->skip_all // '') eq '';
	$wrong ||= $1 if $tap =~ /^(Bail out!.*)/m;
	$wrong ||= 'broke its plan' if !$parser->skip_all && !$run->{failed} && $parser->parse_errors;
	$run->{failed}++ if $wrong && !$run->{failed};
	$run->{wall} = $wall // 0;
	$run->{processor} = $processor // 0;

	printf "%-9s %-50s %5d passed%s%s %7.1f s %7.1f s\n", $run->{suite}, $run->{name}, $run->{passed},
	  $run->{failed} ? ", $run->{failed} FAILED" : '',
	  $run->{skipped} ? ", $run->{skipped} SKIPPED" : '', $run->{wall}, $run->{processor};
	print "#   $_\n" foreach $tap =~ /^(?:1\.\.0|ok \d+.*?) # (SKIP.*)$/gm;
	if ($run->{failed})
	{
		print "#   $run->{name}: $wrong\n" if $wrong;
		print "# ---- it said ----\n$tap# ---- and ----\n", text("$folder.err");
		foreach my $log (glob("$folder/{tmp_check/log,log}/regress_log_*"))
		{
			my @lines = split /^/, text($log);

			print "# ---- $log ----\n", @lines > 40 ? @lines[ -40 .. -1 ] : @lines;
		}
		print "# ---- end of $run->{name} ----\n";
	}
	# Servers take room; what failed is kept as long as everything is.
	else { system('rm', '-rf', $folder) }
	return;
}

# ---- all of them ----

$| = 1;
system('rm', '-rf', "$work/run");
mkdir "$work/run" or die "$work/run: $!";
$ENV{PG_TEST_PORT_DIR} = "$work/ports";
my @waiting = runs();
my @all = @waiting;
my %running;
my $id = 0;
my $start = time;

print "# seed of today: $today (FUZZ_TODAY=$today asks the same again)\n" if grep { $_->{name} =~ /today/ } @all;
foreach my $run (@all)
{
	$run->{id} = ++$id . '.' . $run->{row} =~ s{\W+}{_}gr;
	$run->{command} = [ command($run) ];
}
while (@waiting || %running)
{
	while (@waiting && keys %running < $jobs)
	{
		my $run = shift @waiting;
		my $pid = fork // die "fork: $!";

		supervise($run) if $pid == 0;
		$running{$pid} = $run;
	}
	my $pid = wait;
	my $run = delete $running{$pid} or next;

	judge($run);
}

my (%rows, %suites);
my ($passed, $failed) = (0, 0);
foreach my $run (@all)
{
	my $row = $rows{ $run->{row} } //= { wall => 0, processor => 0 };
	my $suite = $suites{ $run->{suite} } //= { map { $_ => 0 } qw(passed failed skipped wall) };

	$row->{$_} += $run->{$_} foreach qw(wall processor);
	$suite->{$_} += $run->{$_} foreach qw(passed failed skipped wall);
	$passed += $run->{passed};
	$failed += $run->{failed};
}
print "\nprogram, seconds, of the processor:\n";
printf "| %s | %.1f | %.1f |\n", $_, $rows{$_}{wall}, $rows{$_}{processor}
  foreach sort { $rows{$b}{wall} <=> $rows{$a}{wall} } keys %rows;
printf "\n%d runs, %d s, %d s of the processor\n", scalar @all, time - $start, sum0(map { $_->{processor} } @all);
foreach (sort keys %suites)
{
	my $suite = $suites{$_};

	$failed += $suite->{failed} = 1 if !$suite->{passed} && !$suite->{failed};
	printf "%-10s %d passed, %d failed,%s %d s\n", $_, $suite->{passed}, $suite->{failed},
	  $suite->{skipped} ? " $suite->{skipped} SKIPPED," : '', $suite->{wall};
}
print "$passed passed, $failed failed\n";
exit($failed || !$passed ? 1 : 0);
