# Readers: the processes that read private rows for analysts' connections.  What
# they see of a connection, how both end, and which waits for which.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(as quiet_session readers_time await);
use Test::More;

my $node = attack_node('reader', "max_connections = 60\nrestart_after_crash = on\n"
	  . "dp_pg.readers = 3\ndp_pg.workers = 0\ndp_pg.reader_timeout = 60s\n");
my $count = 'SELECT dp_count(*) FROM patients';

# A query that takes a minute, so that it is at work when others come.
value($node, <<'EOT');
CREATE ROLE second LOGIN;
CREATE ROLE third LOGIN;
ALTER ROLE second SET dp_pg.epsilon = '1000';
ALTER ROLE owner SET dp_pg.epsilon = '1000';
SET SESSION AUTHORIZATION owner;
SELECT dp_grant(role, dataset => 'hospital', epsilon => 1e9, delta => 1e-6) FROM unnest('{second,third}'::name[]) AS role;
CREATE TABLE long (id int PRIMARY KEY);
INSERT INTO long SELECT g FROM generate_series(1, 1000000) g;
SELECT dp_protect('long', dataset => 'hospital');
EOT
my $slow = 'SELECT dp_count(*) FROM long WHERE '
  . join ' AND ', map { "id::numeric % 1000003 <> -$_" } 1 .. 500;
my $readers = q{FROM pg_stat_activity WHERE application_name = 'dp_pg reader'};

sub readers
{
	return value($node, "SELECT count(*) $readers");
}

sub is_idle
{
	return wait_until($node, "SELECT count(*) = 0 $readers AND state = 'active'");
}

# A session that waits for the slow query's rows.
sub start_slow
{
	my ($role) = @_;
	my $self = quiet_session($node, $role);
	my $charged = charges($node);
	my $before;

	ask($self, "$slow;");
	await(sub { charges($node) > $charged });
	$before = readers_time($node);
	ok(await(sub { readers_time($node) > $before + 0.3 }), "$role: rows are being read");
	return $self;
}

# ---- who reads where ----

is(as($node, 'owner', $count), 10000, 'the owner is answered');
is(readers(), 0, 'in his own process');
is(as($node, 'analyst', $count), 10000, 'an analyst is answered');
is(readers(), 1, 'by a reader');
my $reader = value($node, "SELECT pid $readers");

as($node, 'analyst', $count) for 1 .. 5;
is(value($node, "SELECT pid $readers"), $reader, 'which goes on');
is( as( $node, 'analyst',
		"SELECT count(*) FROM pg_stat_activity WHERE pid = $reader"
		  . ' AND (wait_event IS NOT NULL OR state IS NOT NULL'
		  . " OR query <> '<insufficient privilege>')"),
	0,
	'an analyst sees nothing of what it does');
foreach my $function ('pg_cancel_backend', 'pg_terminate_backend', 'pg_log_backend_memory_contexts')
{
	is(sqlstate($node, 'analyst', "SELECT $function($reader)"), '42501', "nor may he call $function");
}

# ---- how jobs end ----

my $before = charges($node);
my $victim = start_slow('analyst');
is(value($node, 'SELECT role, relation, mechanism, phase, done, total FROM dp_pg.progress'), 'analyst|public.long|query|reading rows||', 'a query that takes long is shown');
is(as($node, 'second', 'SELECT count(*) FROM dp_pg.progress'), 0, 'but to those who may not see it');
value($node, "SELECT pg_cancel_backend($victim->{pid})");
like((answer($victim))[1], qr/57014/, 'a session is cancelled');
ok(is_idle(), 'its reader stops');
is((answer($victim, "$count;"))[0], 10000, 'the next query is answered');
is(value($node, "SELECT pid $readers"), $reader, 'by the same reader');
is(charges($node), $before + 2, 'both were charged');

hang_up($victim);
$victim = start_slow('analyst');
value($node, "SELECT pg_terminate_backend($victim->{pid})");
like((answer($victim))[1], qr/57P01/, 'a session is terminated');
ok(is_idle(), 'its reader stops');
is(sqlstate($node, 'analyst', "SET statement_timeout = 500; $slow"), '57014', 'a timeout');
ok(is_idle(), 'its reader stops');

hang_up($victim);

$before = charges($node);
$victim = start_slow('analyst');
value($node, "SELECT pg_terminate_backend(pid) $readers AND state = 'active'");
like((answer($victim))[1], qr/57000/, 'a reader is terminated: an error');
is(charges($node), $before + 1, 'which was charged');
is((answer($victim, "$count;"))[0], 10000, 'another one answers');
hang_up($victim);

# The text tells whether the charge stands.
$victim = quiet_session($node, 'analyst');
answer($victim, '\set VERBOSITY verbose');
ask($victim, "$slow;");
ok(await(sub { charges($node) == $before + 3 }), 'a query is charged');
value($node, "SELECT pg_terminate_backend(pid) $readers AND state = 'active'");
like((answer($victim))[1], qr/The charge stands/, 'and it is said');
hang_up($victim);

# ---- the pool ----

$before = charges($node);
my @busy = map { start_slow($_) } qw(analyst analyst third);
is(readers(), 3, 'three readers at most');
my @waiting = map { quiet_session($node, $_) } 'analyst', 'second';
ask($_, 'SELECT clock_timestamp() FROM (' . $count . ') AS one;') for @waiting;
ok( wait_until(
		$node, q{SELECT count(*) = 2 FROM pg_stat_activity WHERE state = 'active'}
		  . " AND query LIKE '%clock_timestamp%' AND wait_event = 'Extension'"),
	'two sessions wait');
is(charges($node), $before + 3, 'and are not charged');
value($node, "SELECT pg_cancel_backend($busy[2]{pid})");
answer($busy[2]);
like((answer($waiting[1]))[0], qr/^2/, 'the role that has no reader comes before the one that has two');
ok(wait_until($node, "SELECT count(*) = 1 $readers AND state = 'idle'"), 'its reader is idle');
is(charges($node), $before + 4, 'and the role that has two does not get it');
value($node, "SELECT pg_cancel_backend($busy[0]{pid})");
answer($busy[0]);
like((answer($waiting[0]))[0], qr/^2/, 'but the one that it has given back');

append_to_file($node->data_dir . '/postgresql.conf', "dp_pg.reader_timeout = 300ms\n");
$node->reload;
ok( wait_until($node, "SELECT current_setting('dp_pg.reader_timeout') = '300ms'"), 'less patience');
ask($_, "$slow;") foreach @busy[0, 2];
ok( wait_until($node, "SELECT count(*) = 3 $readers AND state = 'active'"), 'all readers are busy');
ok(await(sub { charges($node) == $before + 7 }), 'with what is charged');
is(sqlstate($node, 'second', $count), '53000', 'who waits too long is told');
is(charges($node), $before + 7, 'and not charged');
value($node, 'SELECT pg_cancel_backend(pid) FROM pg_stat_activity'
	  . q{ WHERE state = 'active' AND usename IN ('analyst', 'third')});
answer($_) for @busy;
hang_up($_) for @busy, @waiting;
append_to_file($node->data_dir . '/postgresql.conf', "dp_pg.reader_timeout = 60s\n");
$node->reload;
ok( wait_until($node, "SELECT current_setting('dp_pg.reader_timeout') = '1min'"), 'patience again');
ok(is_idle(), 'all readers are idle');
is(as($node, 'second', $count), 10000, 'and answer');

# ---- transactions ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE FUNCTION add_patients(n int) RETURNS void SECURITY DEFINER LANGUAGE sql
	AS 'INSERT INTO patients SELECT 20000 + i, 50, ''new'', '''' FROM generate_series(1, n) i';
CREATE FUNCTION drop_patients() RETURNS void SECURITY DEFINER LANGUAGE sql
	AS 'DELETE FROM patients WHERE id > 20000';
CREATE FUNCTION widen() RETURNS void SECURITY DEFINER LANGUAGE plpgsql
	AS 'BEGIN ALTER TABLE patients ADD COLUMN more int; END';
EOT
my $alice = quiet_session($node, 'analyst');
is((answer($alice, "BEGIN ISOLATION LEVEL REPEATABLE READ; $count;"))[0], 10000, 'a snapshot');
value($node, 'SELECT add_patients(7)');
is((answer($alice, "$count;"))[0], 10000, 'stays the transaction\'s');
is((answer($alice, "COMMIT; $count;"))[0], 10007, 'and ends with it');
value($node, 'SELECT drop_patients()');

is((answer($alice, "BEGIN; SELECT add_patients(5); $count;"))[0], "\n10005", 'a transaction sees what it wrote');
is( (answer($alice, "SAVEPOINT a; SELECT drop_patients(); $count; ROLLBACK TO a; $count;"))[0],
	"\n10000\n10005", 'its subtransactions, too');
is(as($node, 'second', $count), 10000, 'others do not');
is((answer($alice, "ROLLBACK; $count;"))[0], 10000, 'nor it, afterwards');
is( (answer($alice, "BEGIN; SELECT add_patients(3); DECLARE c CURSOR FOR $count; SELECT drop_patients();"
			  . ' FETCH c; COMMIT;'))[0], "\n\n10003", 'a cursor sees what was there when it was declared');

is((answer($alice, "BEGIN; SELECT widen(); $count;"))[0], "\n10000", 'it can have locked the table for itself');
is((answer($alice, "SELECT add_patients(2); SELECT dp_count(*) FROM patients WHERE more IS NULL;"))[0], "\n10002",
	'and changed it');
is((answer($alice, "ROLLBACK; $count;"))[0], 10000, 'for a while');
like((answer($alice, 'SELECT dp_count(*) FROM patients WHERE more IS NULL;'))[1], qr/42703/, 'the column is gone');
is((answer($alice, "$count;"))[0], 10000, 'for the reader, too');

# Somebody waits for the session, which must not wait for him.
my $forced = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
foreach my $set ('', "SET LOCAL $forced = on;")
{
	my $owner = quiet_session($node, 'owner');

	answer($alice, "BEGIN; $set $count;");
	ask($owner, 'BEGIN; ALTER TABLE patients ADD COLUMN more int; ROLLBACK;');
	ok( wait_until(
			$node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'owner'}),
		"$set an ALTER TABLE waits");
	is((answer($alice, "$count; $count;"))[0], "10000\n10000", 'the next queries are answered');
	answer($alice, 'COMMIT;');
	answer($owner);
	hang_up($owner);
}
is((answer($alice, "$count;"))[0], 10000, 'and so are those after it');

# A session ends while its reader shares its locks: the reader ends, too.
{
	my $owner = quiet_session($node, 'owner');
	my $shares = quiet_session($node, 'analyst');
	my $used = readers_time($node);

	answer($shares, 'BEGIN; SELECT dp_count(*) FROM long;');
	ask($owner, 'BEGIN; ALTER TABLE long ADD COLUMN more int; ROLLBACK;');
	ok( wait_until(
			$node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'owner'}),
		'an ALTER TABLE waits');
	ask($shares, "$slow;");
	ok(await(sub { readers_time($node) > $used + 0.3 }), 'rows are being read');
	value($node, "SELECT pg_terminate_backend($shares->{pid})");
	answer($shares);
	hang_up($shares);
	is((answer($owner))[1], '', 'the ALTER TABLE goes on');
	hang_up($owner);
	ok(is_idle(), 'no reader is left at work');
	is((answer($alice, "$count; $count;"))[0], "10000\n10000", 'and others work');
}

# ---- what a reader takes over ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id int PRIMARY KEY, at timestamptz NOT NULL, day date NOT NULL, who name NOT NULL);
INSERT INTO visit SELECT i, '2026-01-01 00:00+00'::timestamptz + i * interval '1 hour',
	CASE WHEN i % 4 = 0 THEN current_date ELSE '2020-01-01' END, CASE WHEN i % 5 = 0 THEN 'analyst' ELSE 'else' END
FROM generate_series(1, 1000) i;
SELECT dp_protect('visit', dataset => 'hospital');
EOT
foreach my $zone ('UTC', 'Asia/Kolkata', 'America/New_York')
{
	my $where = q{FROM visit WHERE extract(hour FROM at) = 3};

	is( (answer($alice, "SET timezone = '$zone'; SELECT dp_count(*) $where;"))[0],
		value($node, "SET timezone = '$zone'; SELECT count(*) $where"), "$zone: the session's hours");
}
is((answer($alice, 'RESET timezone; SELECT dp_count(*) FROM visit WHERE day = current_date;'))[0], 250, 'the day');
is((answer($alice, 'SELECT dp_count(*) FROM visit WHERE at < now() - interval \'1000000 hours\' OR id <= 10;'))[0], 10, 'the time');
is((answer($alice, 'SELECT dp_count(*) FROM visit WHERE who = current_user;'))[0], 200, 'the user');
is((answer($alice, "PREPARE p(int, name) AS SELECT dp_count(*) FROM visit WHERE id <= \$1 AND who = \$2;"
			  . " EXECUTE p(100, 'else'); EXECUTE p(10, 'analyst'); EXECUTE p(NULL, 'else');"))[0], "80\n2\n0",
	'parameters');
is((answer($alice, q{DO $$ BEGIN PERFORM dp_count(*) FROM visit WHERE id < 5; END $$; SELECT 1;}))[0], 1, 'PL/pgSQL');

my $large = 3_000_000;
is( (answer($alice, 'PREPARE large(text) AS SELECT dp_count(*) FROM visit WHERE who::text <> $1;'
			  . " EXECUTE large(repeat('x', $large));"))[0], 1000, 'a message larger than the queue');
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('long', 'id', lower => 1, upper => 30000)");
is((answer($alice, 'SELECT count(*), sum(n) FROM (SELECT id, dp_count(*) AS n FROM long GROUP BY id) AS g;'))[0],
	'30000|30000', 'an answer larger than the queue');
hang_up($alice);

# ---- the end ----

value($node, 'CREATE DATABASE other');
value($node, "CREATE EXTENSION dp_pg; CREATE TABLE t (id int PRIMARY KEY); SELECT dp_protect('t', dataset => 'o');"
	  . " SELECT dp_grant('analyst', 'o', epsilon => 1e9)", 'other');
is($node->safe_psql('other', 'SELECT dp_count(*) FROM t', extra_params => [ '-U', 'analyst' ]), 0,
	'idle readers make room for another database');
is(value($node, "SELECT count(*) $readers AND datname = 'other'"), 1, 'which has its own');
value($node, 'DROP DATABASE other');
is(value($node, "SELECT count(*) $readers AND datname = 'other'"), 0, 'and leaves when the database is dropped');

$before = charges($node);
$victim = start_slow('analyst');
my $log = -s $node->logfile;
kill 9, value($node, "SELECT pid $readers AND state = 'active'");
$node->wait_for_log(qr/server processes terminated; reinitializing/, $log);
hang_up($victim);
ok(wait_ready($node), 'the server is back after a reader was killed');
is(charges($node), $before + 1, 'with the charge');
is(as($node, 'analyst', $count), 10000, 'and answers');

append_to_file($node->data_dir . '/postgresql.conf', "dp_pg.worker_idle = 200ms\n");
$node->reload;
is(as($node, 'analyst', $count), 10000, 'once more');
ok(wait_until($node, "SELECT count(*) = 0 $readers"), 'idle readers leave');

append_to_file($node->data_dir . '/postgresql.conf', "max_worker_processes = 2\ndp_pg.worker_idle = 60s\n");
$node->restart;
$before = charges($node);
value($node, 'SET SESSION AUTHORIZATION owner; SELECT dp_count(*) FROM patients');
append_to_file($node->data_dir . '/postgresql.conf', "dp_pg.reader_timeout = 500ms\n");
$node->reload;
ok( wait_until($node, "SELECT current_setting('dp_pg.reader_timeout') = '500ms'"), 'less patience');
is(sqlstate($node, 'analyst', $count), '53000', 'no worker process is left for a reader');
is(charges($node), $before + 1, 'an analyst is not charged then');

$node->stop('immediate');
done_testing();
