# Sessions: nothing undoes an answer, who may ask, how they end, and that no role
# reads a noisy threshold.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(quiet_session readers_time await);
use SessionNode;
use Test::More;

my $node = session_node('session_rules', "autovacuum = off\njit = off\n");

# Nothing is taken back.
my $s = open_session($node, 'alice', 50, 20);
my $yes = ask_once($s, 'true');
my $no = ask_once($s, 'false');
my $session = session($node, 'alice');

is(told($session, "$no;"), 'f', 'not above');
is(told($session, "BEGIN; $yes; ROLLBACK;"), 't', 'above');
is(session_state($node, $s), 'open|2|1', 'a rollback takes nothing back');
answer($session, "BEGIN; SAVEPOINT a; $yes; ROLLBACK TO a; $no; COMMIT;");
is(session_state($node, $s), 'open|4|2', 'nor does a savepoint');
answer($session, <<"EOT");
DO \$\$
BEGIN
	PERFORM * FROM dp_sparse_vector_ask($s, 'true');
	RAISE EXCEPTION 'no';
EXCEPTION WHEN raise_exception THEN NULL;
END \$\$;
EOT
is(session_state($node, $s), 'open|5|3', 'nor does an exception block');
is( told($session,
		"BEGIN; DECLARE c SCROLL CURSOR FOR $yes; FETCH c;"
		  . ' FETCH PRIOR c; FETCH c; MOVE ABSOLUTE 0 IN c; FETCH c; COMMIT;'),
	"t\nt\nt",
	'a cursor reads again');
is(session_state($node, $s), 'open|6|4', 'what it read before');
answer($session, "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ; $yes; $yes;"
	  . ' ROLLBACK;');
is(session_state($node, $s), 'open|8|6', 'transactions have no say at all');
is( value(
		$node, 'SELECT string_agg(number || $$:$$ || asked_at, $$ $$'
		  . ' ORDER BY number) FROM dp_pg.session_above'
		  . " WHERE session = $s AND predicate = 'true'"),
	'1:2 2:3 3:5 4:6 5:7 6:8',
	'every "above" is kept');
is(as($node, 'alice', 'SELECT count(*) FROM dp_pg.session_above'),
	6, 'for the role that asked');
is(as($node, 'owner', 'SELECT count(*) FROM dp_pg.session_above'),
	0, 'and not for the owner of the data');
is(as($node, 'owner', 'SELECT session, role, asked FROM dp_pg.sessions'),
	"$s|alice|8", 'who sees how far sessions are');
is(as($node, 'bob', 'SELECT count(*) FROM dp_pg.sessions'), 0, 'bob does not');

# Noise is fresh.  At epsilon 1 and 100 "above"s answers have a scale of some
# 300 rows; that 20 agree happens with probability 600^-19.
my $fresh = open_session($node, 'alice', 40, 40,
	'epsilon => 1, numeric_answers => true');
answer($session, join '', map { ask_once($fresh, 'true') . ";\n" } 1 .. 40);
cmp_ok(
	value($node, 'SELECT count(DISTINCT answer) FROM dp_pg.session_above'
		  . " WHERE session = $fresh"),
	'>', 1, 'the same question gets other answers');

# A threshold is armed again in rounds, and stays otherwise.  At epsilon 1 and
# 1000 "above"s its noise has a scale of more than 10 rows, so that ten have
# one value with probability 20^-9; the threshold itself is out of reach.
value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('alice', 'h', epsilon => 1e11, delta => 1e-6)");
value($node, 'CREATE TABLE seen (session bigint, armed bytea)');
foreach my $method ('geometric', 'rounds')
{
	my $delta = $method eq 'rounds' ? ', delta => 1e-9' : '';
	my $id = as($node, 'alice', "SELECT dp_sparse_vector_open('visits',"
		  . " threshold => -1e7, cutoff => 1000, epsilon => 1,"
		  . " method => '$method'$delta)");

	for (1 .. 10)
	{
		value($node, 'INSERT INTO seen SELECT session, armed'
			  . " FROM dp_pg.session_secret WHERE session = $id");
		answer($session, ask_once($id, 'true') . ';');
	}
	is(session_state($node, $id), 'open|10|10', "$method: ten above");
	cmp_ok(
		value($node, 'SELECT count(DISTINCT armed) FROM seen'
			  . " WHERE session = $id"),
		$method eq 'rounds' ? '>' : '==', 1, "$method: the threshold");
}

# The limits.
my $few = open_session($node, 'alice', 10, 2);

answer($session, ask_once($few, 'true') . ';' . ask_once($few, 'true') . ';');
is(sqlstate($node, 'alice', ask_once($few, 'true')), '53400', 'the cutoff');
is(session_state($node, $few), 'used up|2|2', 'used up');
$few = open_session($node, 'alice', 2, 2);
answer($session, ask_once($few, 'true') . ';' . ask_once($few, 'false') . ';');
is(sqlstate($node, 'alice', ask_once($few, 'true')),
	'53400', 'the last question');
is(session_state($node, $few), 'used up|2|1', 'used up as well');
is( value($node, 'SELECT count(*) FROM dp_pg.session_secret'
		  . " WHERE session = $few"),
	0, 'its threshold is gone');

# An error while rows are read closes the session; so does an end by force.
# The predicate takes a minute, and what comes before reading some ms, so that
# rows are being read when a reader has worked for a while.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE long (id int NOT NULL);
INSERT INTO long SELECT g FROM generate_series(1, 300000) g;
SELECT dp_protect('long', dataset => 'h');
EOT
my $slow = join ' AND ', map { "id::numeric % 1000003 <> -$_" } 1 .. 500;
my $failed = 'closed|0|a question failed while it read private rows';

sub open_long
{
	return as($node, 'alice', "SELECT dp_sparse_vector_open('long',"
		  . ' threshold => 500, epsilon => 1000)');
}

# A session of alice's that reads for the slow question.
sub start_reading
{
	my ($id) = @_;
	my $victim = quiet_session($node, 'alice');
	my $before = readers_time($node);

	ask($victim, ask_once($id, $slow) . ';');
	ok(await(sub { readers_time($node) > $before + 0.5 }),
		'rows are being read');
	return $victim;
}

# What a session was told when it was interrupted.
sub interrupt
{
	my ($victim, $kind) = @_;
	my $error;

	value($node, "SELECT pg_${kind}_backend($victim->{pid})");
	$error = (answer($victim))[1];
	hang_up($victim);
	return $error;
}

sub closes
{
	my ($id, $name) = @_;

	ok( await(
			sub { session_state($node, $id, 'state, asked, reason') eq $failed }),
		"$name: the session is closed, and says why");
	is(sqlstate($node, 'alice', ask_once($id, 'true')), '55000', "$name: it is over");
	return;
}

foreach my $kind ('cancel', 'terminate')
{
	my $id = open_long();

	like(interrupt(start_reading($id), $kind),
		$kind eq 'cancel' ? qr/57014/ : qr/57P01/, "$kind: an error");
	closes($id, $kind);
}

# Nobody knows how far a question is when its time is over.
foreach my $wait (1500, 10000)
{
	my $id = open_long();
	my ($rc, $out, $error) = $node->psql('postgres',
		"SET statement_timeout = $wait; " . ask_once($id, $slow),
		extra_params => [ '-U', 'alice' ]);
	my $reading = $error =~ /reading for session $id, which an error closes/;

	next if !$reading && $wait < 10000;
	ok($reading, 'timeout: while rows are read');
	closes($id, 'timeout');
	last;
}

# Closing is tried until it is done, and meanwhile no session reads.  First
# the worker cannot have its lock, and ends; then writing fails.
sub refuses
{
	my ($id, $name) = @_;

	is(sqlstate($node, 'alice', ask_once($id, 'true')),
		'55P03', "$name: nothing is answered");
	is(session_state($node, $id, 'state, asked'), 'open|0',
		"$name: it could not be closed yet");
	return;
}

my $unclosed = open_long();
my $victim = start_reading($unclosed);
my $holder = session($node, 'postgres');

answer($holder, 'BEGIN; LOCK dp_pg.session IN SHARE MODE;');
like(interrupt($victim, 'cancel'), qr/57014/, 'locked: an error');
ok( wait_until(
		$node,
		'SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity'
		  . " WHERE application_name = 'dp_pg ledger' AND wait_event_type = 'Lock'"),
	'locked: the worker is ended while it waits');
refuses($unclosed, 'locked');
answer($holder, 'COMMIT;');
closes($unclosed, 'locked');

$unclosed = open_long();
$victim = start_reading($unclosed);
value($node, 'CREATE INDEX trap ON dp_pg.session'
	  . " ((1 / (reason IS NULL)::int)) WHERE id = $unclosed");
my $log = -s $node->logfile;
like(interrupt($victim, 'cancel'), qr/57014/, 'failing: an error');
$node->wait_for_log(qr/division by zero/, $log);
refuses($unclosed, 'failing');
value($node, 'DROP INDEX dp_pg.trap');
closes($unclosed, 'failing');
hang_up($holder);

# A wrong question does not close it.
my $open = open_long();

isnt(sqlstate($node, 'alice', ask_once($open, 'nonsense')), '', 'nonsense');
is(sqlstate($node, 'alice', ask_once($open, 'true')), '', 'goes on');

# Rights.
my $id = open_session($node, 'alice', 50, 20);

value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('bob', 'h', epsilon => 1e9, filter => 'basic',"
	  . " renew => '1 day')");
is(sqlstate($node, $_, ask_once($id, 'true')), '42704', "$_ may not ask")
  for 'bob', 'owner';
is(sqlstate($node, 'bob', "SELECT dp_sparse_vector_close($id)"),
	'42704', 'nor close');
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_revoke('alice', 'h')");
is(sqlstate($node, 'alice', ask_once($id, 'true')),
	'42501', 'a budget that was revoked');
value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('alice', 'h', epsilon => 1e11, delta => 1e-6)");
is(sqlstate($node, 'alice', ask_once($id, 'true')), '', 'and granted again');

my $renewed = open_session($node, 'bob', 50, 20);

is(session_state($node, $renewed, 'state'), 'open', 'bob has a session');
value($node, 'UPDATE dp_pg.budget SET period_start = period_start - renew'
	  . " WHERE role_name = 'bob'");
is(sqlstate($node, 'bob', ask_once($renewed, 'true')),
	'55000', 'it ends when his budget renews');
is(as($node, 'bob', 'SELECT state FROM dp_pg.sessions'),
	'ended', 'as the view says');
is(sqlstate($node, 'alice', "SELECT dp_sparse_vector_close($id)"),
	'', 'alice closes hers');
is(session_state($node, $id, 'state, reason'), 'closed|closed by its role', 'closed');
is(sqlstate($node, 'alice', ask_once($id, 'true')), '55000', 'for ever');

# A row that somebody locks delays nobody else.
my $locker = session($node, 'postgres');
my $other = open_session($node, 'alice', 50, 20);

value($node, 'ALTER SYSTEM SET dp_pg.worker_lock_timeout = 500');
value($node, 'SELECT pg_reload_conf()');
answer($locker, "BEGIN; SELECT FROM dp_pg.session WHERE id = $s FOR UPDATE;");
is(sqlstate($node, 'alice', $yes), '55P03', 'a session is locked');
is(sqlstate($node, 'alice', ask_once($other, 'true')), '', 'another is not');
answer($locker, 'ROLLBACK;');
is(session_state($node, $s), 'open|8|6', 'nothing was asked');

# The thresholds are for nobody.
value($node, 'CREATE ROLE reader LOGIN IN ROLE pg_read_all_data,'
	  . ' pg_write_all_data, pg_read_all_stats, pg_monitor');
foreach my $role ('alice', 'owner')
{
	is(sqlstate($node, $role, $_), '42501', "$role: $_")
	  for 'TABLE dp_pg.session_secret',
	  'COPY dp_pg.session_secret TO STDOUT',
	  'DELETE FROM dp_pg.session_secret',
	  'CREATE TABLE f (a bigint REFERENCES dp_pg.session_secret)',
	  "SELECT query_to_xml('TABLE dp_pg.session_secret', true, true, '')",
	  'UPDATE dp_pg.session SET asked = 0',
	  'DELETE FROM dp_pg.session_question';
}
cmp_ok(value($node, 'SELECT count(*) FROM dp_pg.session_secret'),
	'>', 0, 'there are some');
is(as($node, 'reader', 'SELECT count(*) FROM dp_pg.session_secret'),
	0, 'a role that reads every table sees none');
is( as($node, 'reader', 'WITH d AS (DELETE FROM dp_pg.session_secret'
		  . ' RETURNING 1) SELECT count(*) FROM d'),
	0, 'and removes none');
value($node, 'ANALYZE dp_pg.session_secret');
is( value($node, 'SELECT count(*) FROM pg_stats'
		  . " WHERE tablename = 'session_secret' AND attname = 'armed'"),
	0, 'statistics hold none');

# Dumps and copies are dead.
value($node, 'DROP TABLE long');
my $dump = $node->basedir . '/dump.sql';
my $target = PostgreSQL::Test::Cluster->new('session_target');

command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ],
	'dump');
unlike(slurp_file($dump), qr/COPY dp_pg\.session_secret/,
	'a dump has no thresholds');
like(slurp_file($dump), qr/COPY dp_pg\.session /, 'but sessions');
IPC::Run::run(
	[
		'pg_dump', '-U', 'owner', '-d', $node->connstr('postgres'), '-t',
		'dp_pg.session_secret', '-f', "$dump.2"
	],
	'2>', '/dev/null');
append_to_file("$dump.2", '');
unlike(slurp_file("$dump.2"), qr/COPY|INSERT|armed/,
	'nor has one of the owner that names them');
$target->init;
$target->append_conf('postgresql.conf',
	"shared_preload_libraries = 'dp_pg'\ndp_pg.epsilon_ceiling = 10000000000\n");
$target->start;
$target->safe_psql('postgres', "CREATE ROLE $_ LOGIN")
  for 'alice', 'owner', 'bob', 'reader';
value($node, 'CREATE DATABASE other');
hang_up($_) for $session, $locker;
value($node, 'CREATE DATABASE copy TEMPLATE postgres', 'template1');
foreach my $case ([ $node, 'copy' ], [ $node, 'other' ],
	[ $target, 'postgres' ])
{
	my ($where, $db) = @$case;

	if ($db ne 'copy')
	{
		command_ok(
			[
				'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d',
				$where->connstr($db), '-f', $dump
			],
			"$db: restore");
	}
	is( as($where, 'alice',
			"SELECT state, asked FROM dp_pg.sessions WHERE session = $s",
			$db),
		'ended|8', "$db: the session is there");
	is(sqlstate($where, 'alice', $yes, $db), '55000', "$db: and dead");
	is( as($where, 'alice', 'SELECT count(*) FROM dp_pg.session_above'
			  . " WHERE session = $s", $db),
		6, "$db: what it answered is known");
}
is(sqlstate($node, 'alice', $yes), '', 'at home it goes on');
$target->stop;

# The relation goes.
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_unprotect('visits')");
isnt(sqlstate($node, 'alice', $yes), '', 'not protected any more');
value($node, 'DROP TABLE visits');
is(sqlstate($node, 'alice', $yes), '42P01', 'dropped');
is(session_state($node, $s, 'state, relation'), 'open|public.visits', 'still listed');

# The role goes, and comes back as somebody else.
value($node, "DROP DATABASE $_") for 'copy', 'other';
value($node, "DROP OWNED BY alice; REVOKE ALL ON SCHEMA public FROM alice");
value($node, 'DROP ROLE alice; CREATE ROLE alice LOGIN');
value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('alice', 'h', epsilon => 1e11, filter => 'basic')");
is(sqlstate($node, 'alice', ask_once($open, 'true')),
	'42704', 'a new role of that name has no part in it');
is(as($node, 'alice', 'SELECT count(*) FROM dp_pg.sessions'), 0,
	'and sees nothing');

$node->stop;
done_testing();
