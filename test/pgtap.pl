# pgtap.pl
#	  Runs the SQL files of test/pgtap, and of lint those that need a database, on
#	  a server of its own with dp_pg and pgTAP, and prints what they say as one
#	  TAP stream.  A file that fails or breaks its plan is one more failure.
use strict;
use warnings;

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/t";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use TAP::Parser;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('pgtap');

$node->init;
$node->append_conf('postgresql.conf', slurp_file("$FindBin::RealBin/dp_pg.conf"));
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dp_pg; CREATE EXTENSION pgtap');
foreach my $file (glob("$FindBin::RealBin/lint/*.sql $FindBin::RealBin/pgtap/*.sql"))
{
	my $name = basename($file, '.sql');
	my @said = ('psql', '-XqAt', '-v', 'ON_ERROR_ROLLBACK=1', '-v', 'ON_ERROR_STOP=1',
		'-P', 'pager=off', '-d', $node->connstr('postgres'), '-f', $file);
	my ($out, $err) = ('', '');
	my $ended = IPC::Run::run(\@said, '<', '/dev/null', '>', \$out, '2>', \$err);
	my $parser = TAP::Parser->new({ tap => $out eq '' ? "\n" : $out });

	while (my $line = $parser->next)
	{
		if ($line->is_test && $line->has_skip) { SKIP: { skip($line->explanation, 1) } }
		elsif ($line->is_test) { ok($line->is_ok, "$name " . $line->description =~ s/^- //r) }
		elsif ($line->is_comment) { diag($line->comment) }
		elsif ($line->is_bailout) { fail("$name: " . $line->as_string) }
	}
	ok(0, "$name: $err " . join(', ', $parser->parse_errors)) if !$ended || $parser->parse_errors || !$parser->tests_run;
}
$node->stop;
is(join('', grep { /$ENV{DP_PG_FINDINGS}/ } split /^/, slurp_file($node->logfile)), '', 'no process of the server has failed');
done_testing();
