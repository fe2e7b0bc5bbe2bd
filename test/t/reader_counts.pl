# Exact counts stay in the process that reads rows.  Messages between a connection
# and its reader stay in shared memory until the next ones, and those between a
# connection and the ledger's worker until they are used; so after every mechanism
# that uses counts all of shared memory is searched for them.  The server keeps it
# as a System V segment, which a test can read.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node);
use LedgerNode qw(value);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(as);
use Test::More;

my $node = attack_node('reader_counts', <<'EOT');
shared_memory_type = sysv
shared_buffers = 16MB
dp_pg.readers = 1
EOT

# Numbers that nothing else has: of rows by group, and of all.
my %counts = (1 => 70001, 2 => 71011, 3 => 72019);
sub exact { return (values %counts, $counts{1} + $counts{2} + $counts{3}) }

# Other exact numbers, further away than noise reaches.
sub change_counts
{
	foreach my $g (keys %counts)
	{
		$counts{$g} -= 4000;
		value($node, "DELETE FROM visit WHERE g = $g AND id > 1000000 * g + $counts{$g}");
	}
	return;
}

value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id int NOT NULL, g int NOT NULL, h boolean NOT NULL);
INSERT INTO visit SELECT 1000000 * g + i, g, i % 2 = 0
FROM (VALUES @{[join ', ', map { "($_, $counts{$_})" } sort keys %counts]}) AS v(g, n),
	LATERAL generate_series(1, n) i;
SELECT dp_protect('visit', dataset => 'hospital');
SELECT dp_declare('visit', 'g', lower => 1, upper => 3);
CREATE VIEW second AS SELECT id, h FROM visit WHERE g = 2;
GRANT SELECT ON second TO analyst;
SET SESSION AUTHORIZATION analyst;
CREATE TABLE synopsis (name text, answers int[]);
INSERT INTO synopsis VALUES ('low', '{1, 1}'), ('high', '{100000, 100000}');
EOT

# All of the shared memory, from the segment that postmaster.pid names.
sub shared_memory
{
	my @lines = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	my ($id) = $lines[6] =~ /^\s*\d+\s+(\d+)/ or die 'no segment';
	my ($size) = map { (split)[3] }
	  grep { (split)[1] eq $id } split /\n/, slurp_file('/proc/sysvipc/shm');
	my $memory;

	shmread($id, $memory, 0, $size) or die "shmread: $!";
	return $memory;
}

# Those of the exact numbers that are in it, as bigint.
sub found
{
	my $memory = shared_memory();

	return join ' ', grep { index($memory, pack('q', $_)) >= 0 } exact();
}

# The text of a plan is in a queue: this is the memory that is meant.
my $release = 'SET dp_pg.epsilon = 0.01; SELECT dp_count(*) FROM visit WHERE g = 3';
as($node, 'analyst', $release);
ok(index(shared_memory(), '{PLANNEDSTMT') >= 0, 'messages can be read');

my $sparse = as($node, 'analyst', "SELECT dp_sparse_vector_open('visit', threshold => 50000, cutoff => 5, epsilon => 1)");
my $weights = as($node, 'analyst', "SELECT dp_weights_open('visit', ARRAY['g', 'h'], 5, 0.1, n => 200000)");

foreach my $case (
	[ 'a release', $release ],
	[ 'dp_sparse_vector', "SELECT * FROM dp_sparse_vector('visit', ARRAY['g = 1', 'g = 2', 'g = 3'],"
		  . ' threshold => 50000, cutoff => 3, epsilon => 0.1)' ],
	[ 'numeric answers', "SELECT * FROM dp_sparse_vector('visit', ARRAY['g = 1', 'g = 2', 'g = 3'],"
		  . ' threshold => 50000, cutoff => 3, epsilon => 0.1, numeric_answers => true)' ],
	[ 'dp_sparse_vector_ask', "SELECT * FROM dp_sparse_vector_ask($sparse, 'g = 2')" ],
	[ 'dp_weights_open', "SELECT dp_weights_open('second', ARRAY['h'], 5, 0.1)" ],
	[ 'dp_weights_ask', "SELECT * FROM dp_weights_ask($weights, 'g = 1')" ],
	[ 'dp_smalldb', "SELECT * FROM dp_smalldb('visit', ARRAY['g'], ARRAY['g = 1', 'g = 2', 'g = 3'],"
		  . ' alpha => 0.5, epsilon => 0.1) AS t(g int)' ],
	[ 'dp_net', "SELECT * FROM dp_net('visit', 'synopsis', ARRAY['g = 1', 'g = 2'], epsilon => 0.1) AS t(name text)" ],
	[ 'dp_synthesize', "SELECT count(*) FROM dp_synthesize('visit', ARRAY['g', 'h'], marginals => 1, epsilon => 0.1,"
		  . ' delta => 1e-9, rows => 10) AS t(g int, h boolean)' ],
	[ 'mwem', "SELECT count(*) FROM dp_synthesize('visit', ARRAY['g', 'h'], marginals => 1, epsilon => 0.1,"
		  . " method => 'mwem', rows => 10) AS t(g int, h boolean)" ],
	[ 'dp_iterate', "SELECT count(*) FROM dp_iterate('visit', ARRAY['g', 'h'], ARRAY['g = 1', 'g = 2', 'CASE WHEN g = 3 THEN 1 ELSE 0 END'],"
		  . ' epsilon => 0.1, n => 200000, rounds => 5) AS t(g int, h boolean, probability float8)' ],
	[ 'weights of rows', "SELECT * FROM dp_sparse_vector('visit', ARRAY['CASE WHEN g = 1 THEN 1.0 ELSE 0 END'],"
		  . ' threshold => 50000, epsilon => 0.1, numeric_answers => true)' ],
	[ 'weights of cells', "SELECT * FROM dp_weights_ask($weights, 'CASE WHEN g = 3 THEN 1 ELSE 0 END')" ])
{
	my ($name, $sql) = @$case;

	my $found;

	# Of epsilon 0.1 a noisy number is the exact one with probability 0.05 at
	# most, and seven times in a row with 8e-10.
	foreach my $attempt (1 .. 7)
	{
		isnt(as($node, 'analyst', "SET client_min_messages = error; $sql"), '', "$name is answered");
		$found = found();
		last if $found eq '';
		change_counts();
	}
	is($found, '', "$name: no exact number was sent");
}

# What can be found is found: here the exact number is what is released.
is(as($node, 'analyst', 'SET dp_pg.epsilon = 1000; SELECT dp_count(*) FROM visit WHERE g = 1'), $counts{1},
	'a released number is sent');
is(found(), $counts{1}, 'and found');

$node->stop;
done_testing();
