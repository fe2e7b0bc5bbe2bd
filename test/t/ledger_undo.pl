# Nothing that a connection does undoes a charge.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Were the worker to honour these settings, a crash would lose its commits.
my $node = ledger_node('undo', <<'EOT');
synchronous_commit = off
wal_writer_delay = 10s
EOT

# Each script must leave exactly one more charge and end as told.
sub charged
{
	my ($name, $state, $sql, $user) = @_;
	my $before = charges($node);

	is(sqlstate($node, $user || 'alice', $sql), $state, "$name: end");
	is(charges($node), $before + 1, "$name: charged");
	return;
}

charged('commit', '', "SELECT dp_pg.charge('h', 'm', 1)");
charged('rollback', '', <<'EOT');
BEGIN;
SELECT dp_pg.charge('h', 'm', 1);
ROLLBACK;
EOT
charged('rollback to savepoint', '', <<'EOT');
BEGIN;
SAVEPOINT a;
SELECT dp_pg.charge('h', 'm', 1);
ROLLBACK TO a;
COMMIT;
EOT
charged('exception block', '', <<'EOT');
DO $$
BEGIN
	PERFORM dp_pg.charge('h', 'm', 1);
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	NULL;
END $$;
EOT
charged('error in the same statement', '22012',
	"SELECT dp_pg.charge('h', 'm', 1) / 0");
charged('statement_timeout', '57014', <<'EOT');
SET statement_timeout = '400ms';
SELECT dp_pg.charge('h', 'm', 1), pg_sleep(60);
EOT
charged('read-only transaction', '', <<'EOT');
BEGIN TRANSACTION READ ONLY;
SELECT dp_pg.charge('h', 'm', 1);
COMMIT;
EOT
charged('default_transaction_read_only', '', <<'EOT');
SET default_transaction_read_only = on;
SELECT dp_pg.charge('h', 'm', 1);
EOT
charged('repeatable read', '', <<'EOT');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT dp_pg.charge('h', 'm', 1);
ROLLBACK;
EOT
charged('prepared and rolled back', '', <<'EOT');
PREPARE q AS SELECT dp_pg.charge('h', 'm', $1);
BEGIN;
EXECUTE q(1);
ABORT;
EOT

# Signals after the charge.
foreach my $function ('pg_cancel_backend', 'pg_terminate_backend')
{
	my $before = charges($node);
	my $s = session($node, 'alice');
	my ($out, $err);

	ask($s, "SELECT dp_pg.charge('h', 'signal', 1), pg_sleep(100);");
	wait_until($node,
		"SELECT wait_event = 'PgSleep' FROM pg_stat_activity"
		  . " WHERE usename = 'alice'");
	value($node,
		"SELECT $function(pid) FROM pg_stat_activity WHERE usename = 'alice'"
	);
	($out, $err) = answer($s);
	like($err, qr/57014|57P01/, "$function interrupts");
	is(charges($node), $before + 1, "$function: charged");
	hang_up($s);
}

# A signal while the request waits for a locked row: withdrawn, not charged.
foreach my $function ('pg_cancel_backend', 'pg_terminate_backend')
{
	my $before = charges($node);
	my $locker = session($node, 'postgres');
	my $s = session($node, 'alice');
	my ($out, $err);

	answer($locker,
		"BEGIN; SELECT 1 FROM dp_pg.budget WHERE role_name = 'alice'"
		  . " FOR UPDATE;");
	answer($s, "SET lock_timeout = '100s';");
	ask($s, "SELECT dp_pg.charge('h', 'withdrawn', 1);");
	wait_until($node,
		"SELECT wait_event = 'Extension' FROM pg_stat_activity"
		  . " WHERE usename = 'alice'");
	value($node,
		"SELECT $function(pid) FROM pg_stat_activity WHERE usename = 'alice'"
	);
	($out, $err) = answer($s);
	like($err, qr/57014|57P01/, "$function interrupts the wait");
	hang_up($s);
	answer($locker, "ROLLBACK;");
	hang_up($locker);
	is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'after', 1)"),
		'', "$function: the queue works on");
	is(charges($node, 'withdrawn'), 0, "$function: withdrawn in time");
	is(charges($node), $before + 1, "$function: nothing else charged");
}

# synchronous_commit = off everywhere, and a crash while the one process that
# would write such commits later is stopped.
value($node, <<'EOT');
ALTER ROLE alice SET synchronous_commit = off;
ALTER ROLE postgres SET synchronous_commit = off;
ALTER DATABASE postgres SET synchronous_commit = off;
EOT
my $pid = worker_pid($node);
value($node, "SELECT pg_terminate_backend($pid, 10000)") if $pid;
my $before = charges($node);
my $writer = value($node,
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");

is(kill('STOP', $writer), 1, 'the WAL writer is stopped');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'crash', 1)"),
	'', 'charge with synchronous_commit = off');
kill('KILL', $writer);
wait_ready($node,
	"SELECT count(*) = 1 FROM pg_stat_activity"
	  . " WHERE backend_type = 'walwriter' AND pid <> $writer");
is(charges($node), $before + 1, 'the charge survives the crash');

# The sums agree with the lines.
is( value(
		$node, "SELECT (SELECT sum(epsilon) FROM dp_pg.ledger) =
			(SELECT total_epsilon FROM dp_pg.budget WHERE role_name = 'alice')
			AND (SELECT count(*) FROM dp_pg.ledger) =
			(SELECT charges FROM dp_pg.dataset WHERE name = 'h')"),
	't',
	'budget and dataset agree with the ledger');

$node->stop;
done_testing();
