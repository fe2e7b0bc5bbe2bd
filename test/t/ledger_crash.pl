# kill -9 of a client, of the worker and of the postmaster under 32 clients:
# the ledger never holds less than was acknowledged.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant CLIENTS => 32;
use constant ROUNDS => 20;

my $node = ledger_node('crash', <<'EOT');
autovacuum = off
log_statement = none
EOT
my $script = $node->basedir . '/charge.sql';

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('alice', 'h', epsilon => 1e9, filter => 'basic');
EOT
append_to_file($script, "SELECT dp_pg.charge('h', 'm', 0.5);\n");

sub start_load
{
	my ($seconds) = @_;
	my $load = { out => '' };

	$load->{h} = IPC::Run::start(
		[
			'pgbench', '-n', '-U', 'alice', '-h', $node->host, '-p',
			$node->port, '-c', CLIENTS, '-j', 1, '-T', $seconds, '-f',
			$script, 'postgres'
		],
		'<', '/dev/null', '>&', \$load->{out},
		IPC::Run::timeout(120));
	return $load;
}

# Transactions whose result reached a client.
sub acknowledged
{
	my ($load) = @_;

	$load->{h}->finish;
	return $1
	  if $load->{out} =~ /transactions actually processed: (\d+)/;
	diag($load->{out});
	return -1;
}

sub victim
{
	my ($kind) = @_;
	my $column =
	  $kind eq 'client'
	  ? "usename = 'alice'"
	  : "application_name = 'dp_pg ledger'";

	return value($node,
		"SELECT pid FROM pg_stat_activity WHERE $column LIMIT 1");
}

my $known = charges($node);

for my $round (1 .. ROUNDS)
{
	my $kind = (qw(client worker postmaster))[ $round % 3 ];
	my $load = start_load(60);
	my ($acknowledged, $now, $pid);

	wait_until($node, "SELECT count(*) > $known + 40 FROM dp_pg.ledger");
	usleep(rand(300_000));
	if ($kind eq 'postmaster')
	{
		$node->kill9;
	}
	else
	{
		$pid = victim($kind);
		kill 9, $pid if $pid;
		ok($pid, "round $round: found a $kind");
	}
	$acknowledged = acknowledged($load);
	if ($kind eq 'postmaster')
	{
		start_patiently($node) or BAIL_OUT('server does not start');
	}
	else
	{
		wait_ready($node) or BAIL_OUT('server does not come back');
	}
	$now = charges($node) - $known;
	cmp_ok($acknowledged, '>=', 1, "round $round, $kind: clients worked");
	cmp_ok($now, '>=', $acknowledged,
		"round $round, $kind: nothing acknowledged was lost");
	cmp_ok($now, '<=', $acknowledged + CLIENTS,
		"round $round, $kind: at most what was under way is extra");
	is( value(
			$node, "SELECT (SELECT sum(epsilon) FROM dp_pg.ledger) =
			(SELECT total_epsilon FROM dp_pg.budget WHERE role_name = 'alice')
			AND (SELECT count(*) FROM dp_pg.ledger) =
			(SELECT charges FROM dp_pg.dataset WHERE name = 'h')"),
		't',
		"round $round, $kind: sums agree with the ledger");
	$known += $now;
}

# The worker is terminated in an orderly way, again and again: a client either
# has an answer or an error, and the ledger holds at least the answers.
my $load = start_load(4);
my $kills = 0;

wait_until($node, "SELECT count(*) > $known + 40 FROM dp_pg.ledger");
for (1 .. 8)
{
	my $pid = victim('worker');

	$kills++
	  if $pid && value($node, "SELECT pg_terminate_backend($pid)") eq 't';
	usleep(150_000);
}
my $acknowledged = acknowledged($load);
my $now = charges($node) - $known;

cmp_ok($kills, '>=', 1, 'the worker was terminated under load');
cmp_ok($now, '>=', $acknowledged, 'terminated worker: nothing was lost');
cmp_ok($now, '<=', $acknowledged + CLIENTS,
	'terminated worker: each client lost one answer at most');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 0.5)"),
	'', 'another worker took over');

$node->stop;
done_testing();
