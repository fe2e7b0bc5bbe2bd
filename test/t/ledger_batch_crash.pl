# Batches under concurrency, kill -9, dump and restore: never one query more
# than was paid for.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant CLIENTS => 16;

my $node = ledger_node('batch_crash', <<'EOT');
autovacuum = off
log_statement = none
EOT

sub as
{
	my ($user, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $user ]);
}

sub start_load
{
	my ($sql, $clients, @how_long) = @_;
	my $script = $node->basedir . '/load.sql';
	my $load = { out => '' };

	unlink $script;
	append_to_file($script, $sql);
	$load->{h} = IPC::Run::start(
		[
			'pgbench', '-n', '-U', 'alice', '-h', $node->host, '-p',
			$node->port, '-c', $clients, '-j', 1, @how_long, '-f',
			$script, 'postgres'
		],
		'<', '/dev/null', '>&', \$load->{out},
		IPC::Run::timeout(120));
	return $load;
}

sub acknowledged
{
	my ($load) = @_;

	$load->{h}->finish;
	return $1
	  if $load->{out} =~ /transactions actually processed: (\d+)/;
	diag($load->{out});
	return -1;
}

value($node, <<'EOT');
CREATE FUNCTION try_charge(numeric) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dp_pg.charge('h', 'race', $1);
	RETURN true;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN false;
END $$;
EOT

# 64 sessions ask 640 queries of a batch of 300.
my $id = as('alice', "SELECT dp_batch_open('h', 0.01, 300)");

start_load("SELECT try_charge(0.01);\n", 64, '-t', 10)->{h}->finish;
is( value(
		$node, "SELECT used, (SELECT count(*) FROM dp_pg.ledger"
		  . " WHERE mechanism = 'race' AND batch = $id AND epsilon = 0)"
		  . " FROM dp_pg.batch WHERE id = $id"),
	'300|300',
	'exactly the queries that were paid for');
is( value(
		$node, "SELECT count(*) FROM dp_pg.ledger"
		  . " WHERE mechanism = 'race' AND batch IS DISTINCT FROM $id"),
	0,
	'and no other');
is(value($node, 'SELECT spent_epsilon, charges FROM dp_pg.budget'),
	'3|301', 'one price was paid');

# Several sessions open one at once: one wins.
as('alice', "SELECT dp_batch_close($id)");
start_load("SELECT dp_batch_open('h', 0.01, 300);\n", 32, '-t', 1)
  ->{h}->finish;
is(value($node, 'SELECT count(*) FROM dp_pg.batch WHERE closed IS NULL'),
	1, 'one batch was opened');
is(value($node, 'SELECT spent_epsilon FROM dp_pg.budget'),
	'6', 'and paid for');
as('alice', 'SELECT dp_batch_close(id) FROM dp_pg.my_batches'
	  . " WHERE state = 'open'");

# kill -9 under load.
value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('alice', 'h', epsilon => 1e6, filter => 'basic')");
for my $kind (qw(client worker postmaster worker postmaster))
{
	my $known = charges($node);
	my ($load, $acknowledged, $pid, $now);

	$id = as('alice', "SELECT dp_batch_open('h', 0.001, 1000000)");
	$load = start_load("SELECT dp_pg.charge('h', 'load', 0.001);\n",
		CLIENTS, '-T', 60);
	wait_until($node, "SELECT count(*) > $known + 40 FROM dp_pg.ledger");
	usleep(rand(200_000));
	if ($kind eq 'postmaster')
	{
		$node->kill9;
	}
	else
	{
		my $column =
		  $kind eq 'client'
		  ? "usename = 'alice'"
		  : "application_name = 'dp_pg ledger'";

		$pid = value($node,
			"SELECT pid FROM pg_stat_activity WHERE $column LIMIT 1");
		kill 9, $pid if $pid;
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
	$now = value($node, "SELECT used FROM dp_pg.batch WHERE id = $id");
	cmp_ok($acknowledged, '>=', 1, "$kind: clients worked");
	cmp_ok($now, '>=', $acknowledged,
		"$kind: every acknowledged query was taken from the batch");
	cmp_ok($now, '<=', $acknowledged + CLIENTS,
		"$kind: at most what was under way is extra");
	is( value(
			$node, "SELECT count(*) = $now + 1 AND sum(epsilon) = 1000"
			  . " FROM dp_pg.ledger WHERE batch = $id"),
		't',
		"$kind: the lines agree");
	is( value(
			$node, 'SELECT (SELECT sum(epsilon) FROM dp_pg.ledger) ='
			  . ' (SELECT total_epsilon FROM dp_pg.budget) AND'
			  . ' (SELECT count(*) FROM dp_pg.ledger) ='
			  . ' (SELECT charges FROM dp_pg.dataset)'),
		't',
		"$kind: sums agree with the ledger");
	as('alice', "SELECT dp_batch_close($id)");
}

# Dump and restore: the batch goes on, in another cluster too; the sums of
# squares and the numbers of partitions are kept.
my $dump = $node->basedir . '/dump.sql';
my $target = PostgreSQL::Test::Cluster->new('batch_target');
my $partition = value($node, 'SELECT dp_pg.new_partition()');

value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('bob', 'h', epsilon => 1, delta => 2e-6,"
	  . " filter => 'advanced');"
	  . " SELECT dp_limit('h', epsilon => 1e6, delta => 2e-6)");
is(sqlstate($node, 'bob', "SELECT dp_pg.charge('h', 'm', 0.18)"),
	'', 'bob spends most of his budget');
$id = as('alice', "SELECT dp_batch_open('h', 0.01, 3)");
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 0.01)"),
	'', 'alice asks one of three');
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ],
	'dump');
value($node, 'CREATE DATABASE other');
$target->init;
$target->append_conf('postgresql.conf',
	"shared_preload_libraries = 'dp_pg'\n");
$target->start;
$target->safe_psql('postgres', <<'EOT');
CREATE ROLE somebody;
CREATE ROLE bob LOGIN;
CREATE ROLE alice LOGIN;
CREATE ROLE owner LOGIN;
EOT
foreach my $case ([ $node, 'other' ], [ $target, 'postgres' ])
{
	my ($where, $db) = @$case;

	command_ok(
		[
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d',
			$where->connstr($db), '-f', $dump
		],
		"$db: restore");
	$where->safe_psql($db, 'GRANT EXECUTE ON FUNCTION dp_pg.charge TO PUBLIC');
	is( $where->safe_psql(
			$db, 'SELECT state, used FROM dp_pg.my_batches'
			  . " WHERE id = $id",
			extra_params => [ '-U', 'alice' ]),
		'open|1',
		"$db: the batch is there");
	is(sqlstate($where, 'alice', "SELECT dp_pg.charge('h', 'm', 0.01)", $db),
		'', "$db: the second query");
	is(sqlstate($where, 'alice', "SELECT dp_pg.charge('h', 'm', 0.01)", $db),
		'', "$db: the third");
	is(sqlstate($where, 'alice', "SELECT dp_pg.charge('h', 'm', 0.01)", $db),
		'53400', "$db: no fourth");
	is( $where->safe_psql(
			$db, "SELECT used, role_oid = 'alice'::regrole,"
			  . ' cluster = dp_pg.cluster() FROM dp_pg.batch'
			  . " WHERE id = $id"),
		'3|t|t',
		"$db: the row is hers here");
	is($where->safe_psql($db, "SELECT dp_batch_close($id)"),
		0, "$db: it can be closed");
	is(sqlstate($where, 'bob', "SELECT dp_pg.charge('h', 'm', 0.18)", $db),
		'53400', "$db: the sum of squares bounds bob");
	cmp_ok($where->safe_psql($db, 'SELECT dp_pg.new_partition()'),
		'>', $partition, "$db: no number is given twice");
}

$node->stop;
$target->stop;
done_testing();
