# Attack: a server with just enough memory left for a private query on few rows but
# not on many, or on one more.  An analyst can cause that with other queries.  So a
# reader reserves before the charge all memory that rows could make it need,
# whatever the rows are.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('attack_memory',
	"dp_pg.readers = 1\ndp_pg.worker_idle = '10min'\njit = off\nmax_wal_size = 4GB\nfsync = off\n");

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY, x int NOT NULL, name text, ward int NOT NULL);
INSERT INTO visits SELECT i, i, md5(i::text), i % 1000 FROM generate_series(1, 1000000) i;
SELECT dp_protect('visits', dataset => 'hospital');
SELECT dp_declare('visits', 'x', lower => 0, upper => 2000000);
SELECT dp_declare('visits', 'ward', lower => 0, upper => 999);
EOT

# Medians that differ, so that each has a state of its own.
my $medians = join ', ',
  map { "dp_median(x, 0, " . (2000000 + $_) . ")" } 1 .. 12;

# More of memory than the reader has in use.
sub leave
{
	my ($megabytes) = @_;
	my $reader = value($node,
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
	my ($size) = slurp_file("/proc/$reader/status") =~ /^VmSize:\s+(\d+) kB/m;
	my $limit = $megabytes < 0 ? 'unlimited' : 1024 * ($size + 1024 * $megabytes);

	system_or_bail('prlimit', '--pid', $reader, "--as=$limit:unlimited");
	return;
}

# How a query ends, and how many charges it made.
sub outcome
{
	my ($query) = @_;
	my $before = value($node, 'SELECT count(*) FROM dp_pg.ledger');
	my (undef, $err) = as($node, 'analyst',
		"\\set VERBOSITY verbose\nSET dp_pg.epsilon = '1';\n$query");
	my ($code) = $err =~ /ERROR:\s+(\w{5}):/;

	return ($code // 'answer') . ', '
	  . (value($node, 'SELECT count(*) FROM dp_pg.ledger') - $before);
}

my @queries = (
	[ 'medians', 100, "SELECT $medians FROM visits WHERE id <= %d" ],
	[ 'a median for each group', 50,
		"SELECT ward, dp_median(x) FROM visits WHERE id <= %d GROUP BY ward" ],
	[ 'values told apart', 30, "SELECT dp_count(DISTINCT name) FROM visits WHERE id <= %d" ],
	[ 'long values', 10,
		"SELECT dp_count(*) FROM visits WHERE id <= %d AND "
		  . join(' || ', map { "upper(name)" } 1 .. 5) . " < 'x'" ]);

outcome("SELECT dp_count(*) FROM visits");
for my $case (@queries)
{
	my ($name, $megabytes, $query) = @$case;
	my $few = sprintf $query, 10;
	my $many = sprintf $query, 1000000;

	leave($megabytes);
	my $scarce = outcome($few);
	is($scarce, '53200, 0', "$name: refused before the charge where memory is scarce");
	is(outcome($many), $scarce, "$name: whatever the rows");
	leave(-1);
	is(outcome($few), 'answer, 1', "$name: answered where there is enough");
	is(outcome($many), 'answer, 1', "$name: of many rows too");
	value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
	outcome("SELECT dp_count(*) FROM visits");
}

# What was reserved is what is used: it is not taken a second time.
leave(400);
is(outcome(sprintf $queries[0][2], 1000000), 'answer, 1', 'what is reserved is used');

$node->stop;
done_testing();
