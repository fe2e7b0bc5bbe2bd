# The worker and its surroundings: slots, DDL on databases, DROP EXTENSION, tables
# that a role may put in the place of the extension's.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = ledger_node('database', <<'EOT');
max_worker_processes = 2
max_logical_replication_workers = 0
dp_pg.worker_idle = 1h
dp_pg.workers = 0
EOT

# A database of its own for each statement, with a worker attached.
sub database
{
	my ($name) = @_;

	value($node, "CREATE DATABASE $name");
	$node->safe_psql($name, <<'EOT');
CREATE EXTENSION dp_pg;
GRANT EXECUTE ON FUNCTION dp_pg.charge TO PUBLIC;
GRANT EXECUTE ON FUNCTION dp_pg.open_dataset TO owner;
SET SESSION AUTHORIZATION owner;
SELECT dp_pg.open_dataset('h');
SELECT dp_grant('alice', 'h', epsilon => 1000, filter => 'basic');
EOT
	is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)", $name),
		'', "charge in $name");
	isnt(worker_pid($node, $name), '', "a worker is attached to $name");
	return;
}

database('one');
database('two');

# Both slots are taken by workers that idle for other databases.
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'one of them makes room');
is(charges($node), 1, 'and the charge is made');

my $start = time;
is(sqlstate($node, 'postgres', 'ALTER DATABASE one RENAME TO uno'),
	'', 'RENAME with a worker attached');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'the slot it left serves another database');
value($node, "SELECT pg_terminate_backend(" . worker_pid($node) . ", 10000)");
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)", 'uno'),
	'', 'charge in the renamed database');
is(sqlstate($node, 'postgres', 'CREATE DATABASE copy TEMPLATE uno'),
	'', 'CREATE DATABASE TEMPLATE with a worker attached');
value($node, 'CREATE ROLE maker LOGIN CREATEDB');
is(sqlstate($node, 'maker', 'CREATE DATABASE chosen OID 99999'),
	'42501', 'the OID of a database, by which copies are told, is chosen by nobody');
is( $node->safe_psql('copy', 'SELECT count(*) FROM dp_pg.ledger'),
	2, 'the copy has the ledger');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)", 'copy'),
	'', 'and charges by itself');
is(sqlstate($node, 'postgres', 'CREATE DATABASE other TEMPLATE copy; DROP DATABASE other', 'copy'),
	'', 'CREATE DATABASE TEMPLATE from within the template');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)", 'copy'),
	'', 'which is charged again');
is(sqlstate($node, 'postgres', 'DROP DATABASE copy'),
	'', 'DROP DATABASE with a worker attached');
value($node, 'ALTER DATABASE uno OWNER TO bob');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)", 'uno'),
	'', 'charge before DROP');
is(sqlstate($node, 'bob', 'DROP DATABASE uno WITH (FORCE)'),
	'', 'its owner can drop a database by force');
cmp_ok(time - $start, '<', 30, 'without long waits');

# Settings of the database do not reach the worker.
value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
	  . " WHERE application_name = 'dp_pg ledger'");
value($node, <<'EOT');
CREATE SCHEMA evil;
CREATE FUNCTION evil.eq(name, name) RETURNS bool LANGUAGE sql
	AS 'SELECT false';
CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.eq);
ALTER DATABASE postgres SET default_transaction_read_only = on;
ALTER DATABASE postgres SET default_transaction_isolation = serializable;
ALTER DATABASE postgres SET search_path = evil, pg_catalog;
ALTER DATABASE postgres SET TimeZone = 'Asia/Tokyo';
EOT
is( sqlstate(
		$node, 'alice',
		"SET search_path = evil, pg_catalog;"
		  . " SELECT dp_pg.charge('h', 'm', 1)"),
	'',
	'settings of the database do not disturb the worker');
value($node, <<'EOT');
SET default_transaction_read_only = off;
SET transaction_read_only = off;
ALTER DATABASE postgres RESET ALL;
EOT

# The worker leaves when idle.
$node->append_conf('postgresql.conf', "dp_pg.worker_idle = 200ms\n");
$node->reload;
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'charge');
ok(wait_until($node,
		"SELECT count(*) = 0 FROM pg_stat_activity"
		  . " WHERE application_name = 'dp_pg ledger'"),
	'the idle worker leaves');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'the next charge starts another');
$node->append_conf('postgresql.conf', "dp_pg.worker_idle = 1h\n");
$node->reload;

# DROP EXTENSION while the worker is attached, and what comes after.
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'charge before DROP EXTENSION');
my $s = session($node, 'alice');
my ($out, $err);

answer($s,
	"CREATE FUNCTION mine() RETURNS bigint LANGUAGE plpgsql AS"
	  . " 'BEGIN RETURN dp_pg.charge(''h'', ''m'', 1); END'; SELECT mine();");
is(sqlstate($node, 'postgres', 'DROP EXTENSION dp_pg'),
	'', 'DROP EXTENSION');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'3F000', 'no schema, no charge');
($out, $err) = answer($s, 'SELECT mine();');
like($err, qr/3F000|42883|55000/, 'nor by a cached plan');

# Somebody puts tables of his own in their place; the library is still there
# and a superuser's leftover function still calls it.
value($node, 'GRANT CREATE ON DATABASE postgres TO bob');
is(sqlstate($node, 'bob', <<'EOT'), '', 'bob builds a trap');
CREATE SCHEMA dp_pg;
CREATE TABLE dp_pg.dataset (name name);
CREATE TABLE dp_pg.ledger (name name);
CREATE TABLE dp_pg.budget (name name);
GRANT ALL ON SCHEMA dp_pg TO PUBLIC;
EOT
value($node, <<'EOT');
CREATE FUNCTION public.leftover(name, text, numeric, numeric) RETURNS bigint
LANGUAGE c AS 'dp_pg', 'dp_ledger_sql_charge';
EOT
is( sqlstate($node, 'alice', "SELECT public.leftover('h', 'm', 1, 0)"),
	'55000',
	'the worker does not touch tables that are not the extension\'s');
value($node, 'DROP SCHEMA dp_pg CASCADE');
is( sqlstate($node, 'postgres', <<'EOT'), '', 'created anew');
CREATE EXTENSION dp_pg;
SELECT dp_pg.open_dataset('h');
SELECT dp_grant('alice', 'h', epsilon => 5);
GRANT EXECUTE ON FUNCTION dp_pg.charge TO PUBLIC;
EOT
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'and in work again with the same worker');
hang_up($s);

$node->stop;

# Not preloaded: no extension, no charge.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->start;
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'55000', 'without preloading: 55000');
$node->stop;
done_testing();
