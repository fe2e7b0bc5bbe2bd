# Concurrent connections: never one charge too many, and a lock delays only
# connections that need what is locked.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = ledger_node('race', "dp_pg.worker_lock_timeout = 500ms\n");
my ($out, $err);

value($node, <<'EOT');
CREATE FUNCTION try_charge(name, numeric) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dp_pg.charge($1, 'race', $2);
	RETURN true;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN false;
END $$;
SET SESSION AUTHORIZATION owner;
SELECT dp_pg.open_dataset('last');
SELECT dp_grant('alice', 'last', epsilon => 100, filter => 'basic');
SELECT dp_pg.open_dataset('capped');
SELECT dp_grant('alice', 'capped', epsilon => 1e6, filter => 'basic');
SELECT dp_grant('bob', 'capped', epsilon => 1e6, filter => 'basic');
SELECT dp_limit('capped', epsilon => 100, filter => 'basic');
EOT

sub run_clients
{
	my ($user, $sql, $clients, $each) = @_;
	my $script = $node->basedir . '/race.sql';
	my $load = { out => '' };

	unlink $script;
	append_to_file($script, $sql);
	$load->{h} = IPC::Run::start(
		[
			'pgbench', '-n', '-U', $user, '-h', $node->host, '-p',
			$node->port, '-c', $clients, '-j', 1, '-t', $each, '-f',
			$script, 'postgres'
		],
		'<', '/dev/null', '>&', \$load->{out},
		IPC::Run::timeout(120));
	return $load;
}

# 64 sessions, 1600 requests of 0.1 on a budget of 100.
run_clients('alice', "SELECT try_charge('last', 0.1);\n", 64, 25)
  ->{h}->finish;
is(value($node, "SELECT count(*) FROM dp_pg.ledger WHERE dataset = 'last'"),
	1000, 'exactly the budget is admitted');
is( value(
		$node,
		"SELECT spent_epsilon FROM dp_pg.budget WHERE dataset = 'last'"),
	'100', 'and exactly that is spent');

# 64 sessions race for the very last charge, several times.
for my $round (1 .. 5)
{
	my $load;

	value($node, "SET SESSION AUTHORIZATION owner;"
		  . " SELECT dp_grant('alice', 'last', epsilon => 100 + $round,"
		  . " filter => 'basic')");
	$load = run_clients('alice', "SELECT dp_pg.charge('last', 'race', 1);\n",
		64, 1);
	$load->{h}->finish;
	like($load->{out}, qr/transactions actually processed: 1\/64/,
		"race $round for the last charge: one session wins");
	is( value(
			$node, "SELECT count(*) FROM dp_pg.ledger WHERE dataset = 'last'"
		),
		1000 + $round,
		"race $round: one charge more");
}

# Two roles race for a cap.
my $one = run_clients('alice', "SELECT try_charge('capped', 0.5);\n", 32, 8);
my $two = run_clients('bob', "SELECT try_charge('capped', 0.5);\n", 32, 8);

$one->{h}->finish;
$two->{h}->finish;
is(value($node, "SELECT count(*) FROM dp_pg.ledger WHERE dataset = 'capped'"),
	200, 'exactly the cap is admitted');

# One locked budget row does not stall other roles.
value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('bob', 'h', epsilon => 1000, filter => 'basic')");
my $locker = session($node, 'owner');
my $alice = session($node, 'alice');
my $start;

answer($locker,
	"BEGIN; SELECT dp_grant('alice', 'h', epsilon => 999, filter => 'basic');"
);
answer($alice, "SET lock_timeout = '60s';");
ask($alice, "SELECT dp_pg.charge('h', 'waits', 1);");
wait_until($node,
	"SELECT wait_event = 'Extension' FROM pg_stat_activity"
	  . " WHERE usename = 'alice' AND query LIKE '%charge%'");
$start = time;
for (1 .. 5)
{
	is(sqlstate($node, 'bob', "SELECT dp_pg.charge('h', 'passes', 1)"),
		'', 'another role is served meanwhile');
}
cmp_ok(time - $start, '<', 10, 'without waiting');
is(charges($node, 'waits'), 0, 'the request for the locked row waits');

# Without lock_timeout the patience is the worker's.
$start = time;
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'gives up', 1)"),
	'55P03', 'a locked budget row is reported');
cmp_ok(time - $start, '<', 10, 'soon');
answer($locker, "COMMIT;");
($out, $err) = answer($alice);
is($err, '', 'after COMMIT the waiting request is served');
is(charges($node, 'waits'), 1, 'and charged once');
hang_up($locker);
hang_up($alice);

# A caller that holds locks the worker needs.
foreach my $lock (
	"LOCK TABLE dp_pg.ledger IN ACCESS EXCLUSIVE MODE;",
	"LOCK TABLE dp_pg.budget IN SHARE MODE;",
	"SELECT 1 FROM dp_pg.dataset FOR UPDATE;")
{
	my $before = charges($node);

	$start = time;
	is( sqlstate(
			$node, 'postgres',
			"BEGIN; $lock SELECT dp_pg.charge('h', 'self', 1);"),
		'55P03',
		"refused: $lock");
	cmp_ok(time - $start, '<', 20, 'and not for ever');
	is(charges($node), $before, 'nothing was charged');
}
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'after', 1)"),
	'', 'the queue works on');

$node->stop;
done_testing();
