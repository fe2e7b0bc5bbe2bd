# A standby cannot record a charge and says so; promoted, it charges.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = ledger_node('primary');
my $standby = PostgreSQL::Test::Cluster->new('standby');

is(sqlstate($primary, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'charge on the primary');
$primary->backup('base');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
is(sqlstate($primary, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'another charge on the primary');
$primary->wait_for_catchup($standby);

is(sqlstate($standby, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'25006', 'a standby refuses to charge');
is( sqlstate(
		$standby, 'owner',
		"SELECT dp_grant('alice', 'h', epsilon => 2000)"),
	'25006',
	'and to grant');
is( $standby->safe_psql(
		'postgres', 'SELECT spent FROM dp_pg.my_budget',
		extra_params => [ '-U', 'alice' ]),
	'2',
	'but shows the budget');
is(worker_pid($standby), '', 'no worker on the standby');

# A synchronous standby: an acknowledged charge is there after failover.  The
# role and the database prefer not to wait, which must not count.
$primary->append_conf('postgresql.conf',
	"synchronous_standby_names = '*'\n");
$primary->reload;
wait_until($primary,
	"SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
$primary->safe_psql('postgres', <<'EOT');
ALTER ROLE alice SET synchronous_commit = off;
ALTER DATABASE postgres SET synchronous_commit = local;
EOT
is(sqlstate($primary, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'charge with a synchronous standby');

# Without the standby the charge waits; whoever gives up waiting, or cancels
# the worker, gets no answer.
$standby->stop('fast');
my $before = 3;
my $s = session($primary, 'alice');
my ($out, $err);

ask($s, "SELECT dp_pg.charge('h', 'waits', 1);");
wait_until($primary,
	"SELECT wait_event = 'SyncRep' FROM pg_stat_activity"
	  . " WHERE application_name = 'dp_pg ledger'");
my $pid = worker_pid($primary);
value($primary, "SELECT pg_cancel_backend($pid)");
value($primary, "SELECT pg_sleep(0.5)");
is( value(
		$primary, "SELECT wait_event FROM pg_stat_activity WHERE pid = $pid"),
	'SyncRep',
	'a cancel does not make the worker acknowledge');
value($primary, "SELECT pg_terminate_backend($pid)");
($out, $err) = answer($s);
like($err, qr/08007/, 'the outcome of an interrupted commit is unknown');
is($out, '', 'and nothing is answered');
hang_up($s);
is(charges($primary, 'waits'), 1, 'it counts as charged');

# Whoever is canceled meanwhile learns that the charge may stand.
$s = session($primary, 'alice');
ask($s, "\\set VERBOSITY default\nSELECT dp_pg.charge('h', 'canceled', 1);");
wait_until($primary,
	"SELECT wait_event = 'SyncRep' FROM pg_stat_activity"
	  . " WHERE application_name = 'dp_pg ledger'");
value($primary, q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE usename = 'alice' AND query ~ 'canceled' AND state = 'active'});
($out, $err) = answer($s);
like($err, qr/DETAIL: +The charge may stand: .* synchronous standby/,
	'a canceled statement says that its charge may stand');
hang_up($s);
$standby->start;
$primary->wait_for_catchup($standby);

$primary->stop('immediate');
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT count(*) FROM dp_pg.ledger'),
	$before + 2, 'the promoted standby has every charge');
$standby->safe_psql('postgres', "ALTER SYSTEM RESET ALL");
$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
$standby->reload;
is(sqlstate($standby, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'the promoted standby charges');
is( $standby->safe_psql(
		'postgres', 'SELECT spent FROM dp_pg.my_budget',
		extra_params => [ '-U', 'alice' ]),
	'6',
	'and counts what the primary charged');

$standby->stop;
done_testing();
