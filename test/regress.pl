# regress.pl sql|specs [option of pg_regress ...]
#	  Runs pg_regress or the isolation tester on all tests of the folder, on a
#	  server of its own, and prints TAP.  An expected output that is missing, and
#	  what the server's log says of processes that failed, are failures.
use strict;
use warnings;

use File::Basename;
use FindBin;
use Test::More;

my ($folder, @options) = @ARGV;
my $top = dirname($FindBin::RealBin);
my $out = "$ENV{TESTDIR}/$folder";
my $ending = $folder eq 'sql' ? 'sql' : 'spec';
my $program = $folder eq 'sql' ? $ENV{PG_REGRESS} :
  dirname($ENV{PG_REGRESS}) . '/../isolation/pg_isolation_regress';
my @names = map { basename($_, ".$ending") } sort glob("$top/test/$folder/*.$ending");

# Without expected output pg_regress would end there and then.
my ($missing, $there) = ([], []);
push @{ -f "$top/expected/$_.out" ? $there : $missing }, $_ foreach @names;
fail("expected/$_.out is missing") foreach @$missing;

# It looks for expected files in its output directory first.
mkdir $out or die "$out: $!";
symlink "$top/expected", "$out/expected" or die "$out/expected: $!";
my ($bindir, $library) = map { my $v = `$ENV{PG_CONFIG} --$_`; chomp $v; $v } qw(bindir pkglibdir);
open my $pipe, '-|', $program, "--inputdir=$top/test", "--outputdir=$out", "--bindir=$bindir",
  "--temp-instance=$out/instance", "--temp-config=$top/test/dp_pg.conf", "--dlpath=$library",
  "--dbname=$folder", @options, @$there or die "$program: $!";
my ($ended, $failed) = (0, 0);
while (my $line = <$pipe>)
{
	print STDERR $line;
	# The second form is that of PostgreSQL 16 and later.
	my ($name, $verdict) = $line =~ /^(?:test| {5}) *(\w+) +\.\.\. (ok|FAILED)/ ? ($1, $2) :
	  $line =~ /^(ok|not ok) \d+ +[-+] (\w+)/ ? ($2, $1) : next;

	ok($verdict eq 'ok', $name) or $failed++;
	$ended++;
}
close $pipe;
my $status = $?;
is($ended, scalar @$there, 'all tests have run');
is($status == 0, $failed == 0, 'and nothing else has failed');

sub show
{
	my ($file) = @_;

	return if !-f $file;
	open my $in, '<', $file or die "$file: $!";
	print STDERR <$in>;
	close $in;
	return;
}
show("$out/regression.diffs");

my $log = "$out/log/postmaster.log";
if (!$ended)
{
	show("$out/log/initdb.log");
	show($log);
}
my @findings = -f $log ? `grep -A 40 -m 3 -E '$ENV{DP_PG_FINDINGS}' '$log'` : ();
is(join('', @findings), '', 'no process of the server has failed');
done_testing();
