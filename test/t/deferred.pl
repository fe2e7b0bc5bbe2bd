# A charge that the reader submits for the connection: what the connection learns
# about it, and what is charged, if connection, reader or worker stops or ends in
# between.  The processes are stopped by signals, so nothing here depends on speed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(as quiet_session);
use Test::More;

my $node = ledger_node('deferred', "dp_pg.readers = 1\ndp_pg.worker_idle = '1h'\n");
my $count = 'SELECT dp_count(*) BETWEEN 9000 AND 11000 FROM people';
my $last = 'SELECT max(ledger_id) FROM dp_last_release()';

# An answer off by 1000 at epsilon 1 has odds of e^-1000.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE people (id int PRIMARY KEY);
INSERT INTO people SELECT g FROM generate_series(1, 10000) g;
SELECT dp_protect('people', dataset => 'h');
SELECT dp_grant('bob', 'h', epsilon => 1.5);
RESET SESSION AUTHORIZATION;
ALTER ROLE alice SET dp_pg.epsilon = '1';
ALTER ROLE bob SET dp_pg.epsilon = '1';
EOT

my $alice = quiet_session($node, 'alice');
answer($alice, '\set VERBOSITY verbose');

sub is_charged
{
	my ($before, $n, $what) = @_;

	is(charges($node), $before + $n, $what);
	return;
}

sub processes
{
	my ($type) = @_;

	return "FROM pg_stat_activity WHERE application_name = 'dp_pg $type'";
}

# The session waits for its reader, and this one, if `submitted`, for the ledger.
sub is_asked
{
	my ($submitted, $session) = @_;
	my $where = $submitted ? processes('reader') : "FROM pg_stat_activity WHERE pid = $alice->{pid}";

	ask($session || $alice, "$count;");
	return wait_until($node, "SELECT count(*) = 1 $where AND state = 'active' AND wait_event = 'Extension'");
}

sub is_idle
{
	return wait_until($node, 'SELECT count(*) = 0 ' . processes('reader') . " AND state = 'active'");
}

# No commit comes to its end while a standby is awaited that there is not.
sub hold_commits
{
	my ($standby) = @_;

	$node->append_conf('postgresql.conf', "synchronous_standby_names = '$standby'\n");
	$node->reload;
	return wait_until($node, "SELECT current_setting('synchronous_standby_names') = '$standby'");
}

sub is_committing
{
	ask($alice, "$count;");
	return wait_until($node, 'SELECT count(*) = 1 ' . processes('ledger') . " AND wait_event = 'SyncRep'");
}

sub cancelled
{
	my ($what) = @_;

	value($node, "SELECT pg_cancel_backend($alice->{pid})");
	like((answer($alice))[1], qr/57014/, $what);
	return;
}

is((answer($alice, "$count;"))[0], 't', 'a query is answered');
my $reader = value($node, 'SELECT pid ' . processes('reader'));
my $worker = worker_pid($node);

# ---- before the charge is submitted ----

my $before = charges($node);
kill 'STOP', $reader;
ok(is_asked(0), 'a reader that has not begun');
cancelled('is given up');
as($node, 'alice', "SELECT count(dp_pg.charge('h', 'other', 0.01)) FROM generate_series(1, 150)");
kill 'CONT', $reader;
ok(is_idle(), 'it goes on, when others have had the place in the queue');
is_charged($before, 150, 'and submits nothing');
is((answer($alice, "$count;"))[0], 't', 'the next query is answered');

# ---- while it waits for the worker ----

$before = charges($node);
kill 'STOP', $worker;
ok(is_asked(1), 'a charge that the worker has not taken');
cancelled('is given up');
kill 'CONT', $worker;
as($node, 'alice', "SELECT dp_pg.charge('h', 'other', 0.01)");
is_charged($before, 1, 'and not made');
is((answer($alice, "$count;"))[0], 't', 'the next query is answered');

$before = charges($node);
kill 'STOP', $worker;
ok(is_asked(1), 'another one');
value($node, "SELECT pg_terminate_backend($reader)");
like((answer($alice))[1], qr/57000.*Nothing was charged/s, 'is withdrawn when the reader ends, while the worker is stopped');
kill 'CONT', $worker;
as($node, 'alice', "SELECT dp_pg.charge('h', 'other', 0.01)");
is_charged($before, 1, 'and not made');
is((answer($alice, "$count;"))[0], 't', 'another reader answers');
$reader = value($node, 'SELECT pid ' . processes('reader'));

$before = charges($node);
kill 'STOP', $worker;
ok(is_asked(1), 'another one');
value($node, "SELECT pg_terminate_backend($worker)");
kill 'CONT', $worker;
is((answer($alice))[0], 't', 'is made by the next worker');
is_charged($before, 1, 'once');

# ---- while it is committed ----

$before = charges($node);
ok(hold_commits('nobody') && is_committing(), 'a charge is being committed');
is(value($node, 'SELECT wait_event ' . processes('reader')), 'Extension', 'the reader waits');
is(value($node, "SELECT state FROM pg_stat_activity WHERE pid = $alice->{pid}"), 'active', 'there is no answer');
hold_commits('');
is((answer($alice))[0], 't', 'the answer comes when it is committed');
is_charged($before, 1, 'it is charged once');
is((answer($alice, "$last;"))[0], value($node, 'SELECT max(id) FROM dp_pg.ledger'), 'and told with its line');

ok(hold_commits('nobody') && is_committing(), 'another one');
cancelled('is given up');
hold_commits('');
ok(is_idle(), 'the reader goes on');
is((answer($alice, "$count;"))[0], 't', 'the next query is answered');
is_charged($before, 3, 'both are charged');

ok(hold_commits('nobody') && is_committing(), 'another one');
value($node, "SELECT pg_terminate_backend($reader)");
ok(wait_until($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $reader"), 'the reader ends');
hold_commits('');
like((answer($alice))[1], qr/57000.*The charge stands/s, 'and it is said that the charge stands');
is_charged($before, 4, 'which is true');
is((answer($alice, "$count;"))[0], 't', 'another reader answers');
$reader = value($node, 'SELECT pid ' . processes('reader'));

ok(hold_commits('nobody') && is_committing(), 'another one');
value($node, 'SELECT pg_terminate_backend(pid) ' . processes('ledger'));
like((answer($alice))[1], qr/08007/, 'the outcome is unknown when the worker ends');
hold_commits('');
ok(is_idle(), 'the reader does not read');
$before = charges($node);

# ---- when it is made ----

ok(hold_commits('nobody') && is_committing(), 'another one');
kill 'STOP', $reader;
hold_commits('');
ok(wait_until($node, 'SELECT count(*) = ' . ($before + 1) . ' FROM dp_pg.ledger'), 'is made while the reader is stopped');
cancelled('the session gives up');
kill 'CONT', $reader;
is((answer($alice, "$last;"))[0], value($node, 'SELECT max(id) FROM dp_pg.ledger'), 'and is told the line of its charge');
ok(is_idle(), 'the reader goes on');

# ---- when it is refused ----

is(as($node, 'bob', $count), 't', 'another role has something to spend');
my $bob = quiet_session($node, 'bob');
$worker = worker_pid($node);
kill 'STOP', $worker;
ok(is_asked(1, $bob), 'he asks once more');
kill 'STOP', $bob->{pid};
kill 'CONT', $worker;
as($node, 'alice', "SELECT dp_pg.charge('h', 'other', 0.01)");
sleep 3;                        # longer than a reader waits before it looks again
is(value($node, 'SELECT state ' . processes('reader')), 'active', 'what is refused is not read, whatever the session does');
kill 'CONT', $bob->{pid};
like((answer($bob))[1], qr/53400/, 'he is told');
hang_up($bob);
ok(is_idle(), 'the reader gives up');
is((answer($alice, "$count;"))[0], 't', 'others are answered');
is(value($node, 'SELECT pid ' . processes('reader')), $reader, 'by the same reader');
is_charged($before, 4, 'and those that were answered are charged');

hang_up($alice);
$node->stop;
done_testing;
