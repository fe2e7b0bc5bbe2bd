# The processes of dp_pg on a server of default size, where others use the rest of
# max_worker_processes: no query is refused while one of our processes can come to
# its database, no role holds all, and errors say why if none can.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node log_mark log_since);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(await);
use Test::More;
use Time::HiRes qw(time);

my $node = attack_node('workers', "max_worker_processes = 8\njit = off\nfsync = off\nmax_connections = 60\ndp_pg.reader_timeout = 60s\ndp_pg.worker_idle = 1h\n");
my $count = 'SELECT dp_count(*) FROM patients';
my @databases = map { "m$_" } 1 .. 4;
my $slow = 'SELECT dp_count(*) FROM people JOIN generate_series(1, 5000) AS g ON true';

sub processes
{
	my ($where) = @_;

	return value($node, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dp_pg worker' AND $where");
}

# Those that the postmaster has started, whether or not they have a database.
sub kept
{
	my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

	return scalar(() = `ps --ppid $pid -o args=` =~ /dp_pg worker/g);
}

sub end_sessions
{
	my $roles = join ', ', map { "'$_'" } @_;

	return value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename IN ($roles)");
}

value($node, <<'EOT');
CREATE ROLE bob LOGIN;
CREATE ROLE nobody LOGIN;
SET SESSION AUTHORIZATION owner;
CREATE TABLE people (id int PRIMARY KEY);
INSERT INTO people SELECT i FROM generate_series(1, 100000) AS i;
SELECT dp_protect('people', unit => 'id', dataset => 'hospital', max_total => 1);
SELECT dp_grant('bob', dataset => 'hospital', epsilon => 1e6);
EOT
value($node, "CREATE DATABASE $_ TEMPLATE postgres") foreach @databases;
$node->restart;

# ---- what is kept ----

ok(await(sub { kept() == 3 }), 'three processes wait');
is(processes('true'), 0, 'without a database');
is(sqlstate($node, 'analyst', $count, 'm1'), '', 'the first query is answered');
is(processes(q{datname = 'm1' AND application_name = 'dp_pg ledger'}), 1, 'by one for the ledger');
is(processes(q{datname = 'm1' AND application_name = 'dp_pg reader'}), 1, 'and a reader');
ok(await(sub { kept() == 3 }), 'of these three');
value($node, q{SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE backend_type = 'dp_pg worker'});
ok(await(sub { kept() == 3 }), 'those that are terminated come back');
is(sqlstate($node, 'analyst', $count, 'm1'), '', 'and answer');
is(sqlstate($node, 'postgres', 'ALTER DATABASE m1 RENAME TO n1'), '', 'they leave a database that DDL needs');
is(sqlstate($node, 'postgres', 'ALTER DATABASE n1 RENAME TO m1'), '', 'and are not in the way');

# ---- others take all that is left ----

value($node, <<'EOT');
CREATE TABLE big AS SELECT g FROM generate_series(1, 100000) AS g;
ALTER TABLE big SET (parallel_workers = 100);
ALTER ROLE nobody SET max_parallel_workers_per_gather = 100;
ALTER ROLE nobody SET max_parallel_workers = 100;
ALTER ROLE nobody SET parallel_setup_cost = 0;
ALTER ROLE nobody SET parallel_tuple_cost = 0;
ALTER ROLE nobody SET min_parallel_table_scan_size = 0;
GRANT SELECT ON big TO nobody;
EOT
my $thief = session($node, 'nobody');
my $parallel = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND usename = 'nobody'};
my $mark = log_mark($node);

# 8 less the launcher of logical replication and three of ours.
ok(await(sub { kept() == 3 }), 'three of ours are there');
ask($thief, 'SELECT count(pg_sleep(0.1)) FROM big;');
ok(await(sub { value($node, $parallel) == 4 }), 'a role without a budget takes all others');
is(join(' ', map { sqlstate($node, 'analyst', $count, $_) } @databases), '   ', 'four databases are answered one by one');

my @clients = map { my $db = $_; map { session($node, $_, $db) } qw(analyst analyst bob) } @databases;
my $rounds = 10;

ask($_, "$count;\n" x $rounds) foreach @clients;
my @answers = map { [ answer($_) ] } @clients;
is(join('', map { $_->[1] } @answers), '', 'and twelve clients of theirs at once, without an error');
is(scalar(grep { scalar(split /\n/, $_->[0]) != $rounds } @answers), 0, 'each answered');
is(value($node, $parallel), 4, 'while the others had the rest');
ok(await(sub { kept() == 3 }), 'with three processes');
like(log_since($node, $mark), qr/background worker "dp_pg worker" \(PID \d+\) exited with exit code 1/,
	'which change the database by a new start');
hang_up($_) foreach @clients;

# ---- nobody holds all readers ----

my @slow = map { session($node, 'analyst', 'm1') } 1 .. 5;
my $before = value($node, 'SELECT count(*) FROM dp_pg.ledger', 'm1');

ask($_, "$slow;") foreach @slow;
ok(await(sub { value($node, 'SELECT count(*) FROM dp_pg.ledger', 'm1') > $before }), 'a role asks five long queries at once');
is(sqlstate($node, 'bob', $count, 'm1'), '', 'another one is answered meanwhile');
my $elsewhere = session($node, 'analyst', 'm3');
ask($elsewhere, "$count;");
ok(wait_until($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'm3' AND usename = 'analyst' AND state = 'active' AND wait_event = 'Extension'}),
	'it waits in another database, too');
is(sqlstate($node, 'bob', $count, 'm2'), '', 'where nobody else has to');
is(sqlstate($node, 'bob', $count, 'm4'), '', 'nor in one that has no process yet');
is(value($node, 'SELECT count(*) FROM dp_pg.ledger', 'm1'), $before + 2, 'who has one reader only');
end_sessions('analyst', 'nobody');

# ---- a limit of time ----

is(sqlstate($node, 'analyst', $count), '', 'processes are there');
value($node, "ALTER ROLE analyst SET dp_pg.run_timeout = '5s'");
$before = charges($node);
my ($out, $err) = ('', '');
$node->psql('postgres', $slow, extra_params => [ '-U', 'analyst' ], stdout => \$out, stderr => \$err);
like($err, qr/ERROR:  canceling private query due to dp_pg.run_timeout\nDETAIL:  The charge stands.\nHINT:  Ask for less/, 'a run that takes too long is stopped');
is($out, '', 'without an answer');
is(charges($node), $before + 1, 'and is charged');
is(sqlstate($node, 'analyst', "SET dp_pg.run_timeout = 0; $count"), '42501', 'he cannot change that');
value($node, 'ALTER ROLE analyst RESET dp_pg.run_timeout');
$node->psql('postgres', "SET statement_timeout = '5s'; $slow", extra_params => [ '-U', 'analyst' ], stderr => \$err);
like($err, qr/canceling statement due to statement timeout\nDETAIL:  The charge stands./, 'who is canceled learns what was charged');

# ---- where none is kept ----

append_to_file($node->data_dir . '/postgresql.conf', "dp_pg.workers = 0\nmax_worker_processes = 3\n");
$node->restart;
is(kept(), 0, 'none is kept');
is(sqlstate($node, 'analyst', $count), '', 'they are started when they are wanted');
is(sqlstate($node, 'analyst', $count, 'm1'), '', 'and leave for another database');
value($node, q{SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE backend_type = 'dp_pg worker'});
$thief = session($node, 'nobody');
ask($thief, 'SELECT count(pg_sleep(0.1)) FROM big;');
ok(await(sub { value($node, $parallel) == 2 }), 'when others have all of them');
append_to_file($node->data_dir . '/postgresql.conf', "dp_pg.reader_timeout = '500ms'\n");
$node->reload;
ok(wait_until($node, "SELECT current_setting('dp_pg.reader_timeout') = '500ms'"), 'less patience');
$before = charges($node);
my $start = time;
$node->psql('postgres', $count, extra_params => [ '-U', 'analyst' ], stderr => \$err);
like($err, qr/ERROR:  no process is available to read private rows\nDETAIL:  All background worker slots of the server are in use. Nothing was charged.\nHINT:  Set max_worker_processes to what other libraries start, and max_parallel_workers \+ dp_pg.workers \+ 1, where dp_pg.workers is at least 2\./,
	'a query is refused');
cmp_ok(time - $start, '>=', 0.5, 'after dp_pg.reader_timeout');
is(sqlstate($node, 'owner', $count), '53000', 'and so is one that needs the ledger alone');
is(charges($node), $before, 'uncharged');
end_sessions('nobody');

$node->stop;
done_testing();
