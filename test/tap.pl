# tap.pl count-file [--pgtap] -- file ...
#	  Runs TAP tests and writes "passed failed skipped" to count-file.
#
# Only top-level tests count, as in prove's "Tests=".  A program that dies,
# breaks its plan or runs nothing counts as one more failure; a program that
# skips everything, for a reason it prints, as one skipped.  With --pgtap
# the files are SQL, run by psql on the server that PG* variables name.
use strict;
use warnings;

use TAP::Harness;

my $count_file = shift;
my $pgtap = 0;
while (defined(my $option = shift))
{
	last if $option eq '--';
	$pgtap = 1 if $option eq '--pgtap';
}

my %options = (
	verbosity => 0,
	failures => 1,
	comments => 1,
	merge => 0,
	timer => 1);
if ($pgtap)
{
	require TAP::Parser::SourceHandler::pgTAP;
	$options{sources} = { pgTAP => { suffix => '.sql' } };
}

my $aggregate = TAP::Harness->new(\%options)->runtests(sort @ARGV);
my $failed = $aggregate->failed;
my $skipped = $aggregate->skipped;
for my $parser ($aggregate->parsers)
{
	my $missing = ($parser->tests_planned || 0) - $parser->tests_run;

	if ($parser->skip_all)
	{
		# A whole program that says why it cannot run.
		$skipped++;
		next;
	}
	$failed++
	  if !$parser->failed
	  && ($parser->parse_errors
		|| $parser->exit
		|| !$parser->tests_run
		|| $missing > 0);
}
open my $fh, '>', $count_file or die "$count_file: $!";
print $fh join(' ', scalar($aggregate->passed) - $aggregate->skipped, $failed,
	$skipped), "\n";
close $fh or die "$count_file: $!";
exit($failed ? 1 : 0);
