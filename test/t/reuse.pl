# Stored answers: crashes between charge and store, identical requests at once, a
# dashboard of a group, what invalidates an answer, and who must not get one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = ledger_node('reuse', <<'EOT');
autovacuum = off
log_statement = none
dp_pg.epsilon_floor = ''
EOT

value($node, <<'EOT');
CREATE ROLE team;
CREATE ROLE ann LOGIN IN ROLE team;
CREATE ROLE ben LOGIN IN ROLE team;
CREATE ROLE cy LOGIN IN ROLE team;
ALTER ROLE ann SET dp_pg.reuse = '1 hour';
ALTER ROLE ben SET dp_pg.reuse = '1 hour';
ALTER ROLE cy SET dp_pg.reuse = '1 hour';
ALTER ROLE alice SET dp_pg.reuse = '1 hour';
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('team', 'h', epsilon => 1000000, filter => 'basic');
CREATE TABLE person (id int PRIMARY KEY, age int NOT NULL);
INSERT INTO person SELECT n, n % 100 FROM generate_series(1, 1000) AS n;
SELECT dp_protect('person', dataset => 'h');
SELECT dp_declare('person', 'age', 0, 99);
EOT

# Its noise has a scale of 10^4, so that two draws of twenty cells are not the
# same but with probability 10^-80.
my $drawn = 'SELECT dp_histogram(age, 0, 100, 20, 0.0001) FROM person';

sub asked
{
	my ($role, $sql) = @_;
	my $before = charges($node);
	my $result = $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $role ]);

	return ($result, charges($node) - $before);
}

sub cost
{
	return (asked(@_))[1];
}

sub stored
{
	return value($node, 'SELECT count(*) FROM dp_pg.answer');
}

# A session of a superuser's in which nobody can store.
sub block
{
	my $self = session($node, 'postgres');

	answer($self,
		'BEGIN; LOCK TABLE dp_pg.answer IN SHARE MODE; SELECT 1;');
	return $self;
}

sub unblock
{
	my ($self) = @_;

	answer($self, 'COMMIT;');
	hang_up($self);
	return;
}

sub client
{
	my ($role) = @_;
	my $self = session($node, $role);

	answer($self, "SET lock_timeout = '60s'; SELECT 1;");
	($self->{pid}) = answer($self, 'SELECT pg_backend_pid();');
	return $self;
}

# ---- a crash between charge and store ----

for my $victim (qw(client postmaster))
{
	my $before = charges($node);
	my $kept = stored();
	my $blocker = block();
	my $ann = client('ann');

	ask($ann, "$drawn WHERE age <> 1;");
	wait_until($node, "SELECT count(*) > $before FROM dp_pg.ledger");
	sleep(0.5);
	$ann->{h}->pump_nb;
	is($ann->{out}, '', "$victim: no row before the answer is stored");
	my $worker = worker_pid($node);

	# it stores, also where the other session ends before the server notices
	kill 'STOP', $worker;
	if ($victim eq 'client')
	{
		kill 9, $ann->{pid};
	}
	else
	{
		$node->kill9;
		kill 9, $worker, $ann->{pid};
	}

	# before a server is started that would inherit their pipes
	hang_up($_) foreach ($ann, $blocker);
	if ($victim eq 'client')
	{
		wait_ready($node) or BAIL_OUT('server does not come back');
	}
	else
	{
		start_patiently($node) or BAIL_OUT('server does not start');
	}
	is(charges($node) - $before, 1, "$victim: charged");
	is(stored() - $kept, 0, "$victim: and not stored");
	is(cost('ben', "$drawn WHERE age <> 1"), 1, "$victim: the next one pays");
	is(cost('ann', "$drawn WHERE age <> 1"), 0,
		"$victim: and the one after does not");
	value($node, "SELECT dp_refresh('h')");
}

# ---- identical requests at once ----

{
	my $before = charges($node);
	my $blocker = block();
	my @clients = map { client($_) } qw(ann ben cy ann ben cy ann ben);
	my %answers;

	ask($_, "$drawn;") foreach @clients;
	wait_until($node,
		'SELECT count(*) = 7 FROM pg_locks WHERE NOT granted'
		  . " AND locktype = 'advisory'");
	is(charges($node) - $before, 1, 'one of eight pays');

	# whoever waits can give up
	my $hasty = client('ben');

	is((answer($hasty, "SET lock_timeout = '100ms'; $drawn;"))[1] =~
		  /55P03/ ? 1 : 0, 1, 'lock_timeout ends the wait');
	answer($hasty, "SET lock_timeout = 0; SET statement_timeout = '100ms';");
	is((answer($hasty, "$drawn;"))[1] =~ /57014/ ? 1 : 0, 1,
		'a cancel ends the wait');
	hang_up($hasty);

	# who takes no stored answer does not wait, nor does another budget
	is(cost('ben', "SET dp_pg.reuse = off; $drawn"), 1,
		'without reuse nobody waits');
	$before++;
	is(cost('alice', "SET dp_pg.reuse = off; $drawn"), 1,
		'nor with another budget');
	$before++;
	unblock($blocker);
	$answers{ (answer($_))[0] }++ foreach @clients;
	is(scalar(keys %answers), 1, 'all have one answer');
	is(charges($node) - $before, 1, 'and one has paid');
	hang_up($_) foreach @clients;
}

# the payer ends: the next one pays
{
	my $sql = "$drawn WHERE age <> 2";
	my $before = charges($node);
	my $blocker = block();
	my $ann = client('ann');
	my $ben = client('ben');
	my $cy = client('cy');

	ask($ann, "$sql;");
	wait_until($node, "SELECT count(*) > $before FROM dp_pg.ledger");
	ask($ben, "$sql;");
	ask($cy, "$sql;");
	wait_until($node,
		'SELECT count(*) = 2 FROM pg_locks WHERE NOT granted'
		  . " AND locktype = 'advisory'");
	value($node, "SELECT pg_cancel_backend($ann->{pid})");
	like((answer($ann))[1], qr/57014/, 'the payer is cancelled');
	wait_until($node, "SELECT count(*) > $before + 1 FROM dp_pg.ledger");
	is(charges($node) - $before, 2, 'the next one pays');
	unblock($blocker);
	is((answer($ben))[0], (answer($cy))[0], 'and the third one does not');
	is(charges($node) - $before, 2, 'two charges in all');
	hang_up($_) foreach ($ann, $ben, $cy);
}

# a right that ends while its role waits
{
	my $sql = "$drawn WHERE age <> 3";
	my $before = charges($node);
	my $blocker = block();
	my $ann = client('ann');
	my $cy = client('cy');

	ask($ann, "$sql;");
	wait_until($node, "SELECT count(*) > $before FROM dp_pg.ledger");
	ask($cy, "$sql;");
	wait_until($node,
		'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'
		  . " AND locktype = 'advisory'");
	value($node, 'REVOKE team FROM cy');
	unblock($blocker);
	is((answer($ann))[1], '', 'the payer is answered');
	like((answer($cy))[1], qr/42501/, 'who lost the right is not');
	value($node, 'GRANT team TO cy');
	is(cost('cy', $sql), 0, 'and is when it is back');
	hang_up($_) foreach ($ann, $cy);
}

# a unit that becomes one of many rows while a query waits
{
	my $sql = 'SELECT dp_count(*) FROM visit';

	value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id int PRIMARY KEY, person int NOT NULL);
INSERT INTO visit SELECT n, n % 10 FROM generate_series(1, 1000) AS n;
SELECT dp_protect('visit', dataset => 'h');
EOT
	my $before = charges($node);
	my $blocker = block();
	my $ann = client('ann');
	my $cy = client('cy');

	ask($ann, "$sql;");
	wait_until($node, "SELECT count(*) > $before FROM dp_pg.ledger");
	ask($cy, "$sql;");
	wait_until($node,
		'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'
		  . " AND locktype = 'advisory'");
	value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
SELECT dp_unprotect('visit'), dp_protect('visit', dataset => 'h', unit => 'person');
EOT
	value($node, "SELECT pg_cancel_backend($ann->{pid})");
	like((answer($ann))[1], qr/57014/, 'the payer is cancelled');
	unblock($blocker);
	like((answer($cy))[1], qr/0A000/,
		'who waited is not answered as if each row were a unit');
	is(charges($node) - $before, 1, 'and not charged');
	hang_up($_) foreach ($ann, $cy);
}

# a right that ends while a subquery runs
{
	my $blocker = session($node, 'postgres');
	my $cy = client('cy');

	answer($blocker, 'SELECT pg_advisory_lock(31);');
	ask($cy, "$drawn WHERE age <> (SELECT 31 FROM pg_advisory_xact_lock_shared(31));");
	wait_until($node,
		'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'
		  . " AND locktype = 'advisory'");
	value($node, 'REVOKE team FROM cy');
	is(cost('ann', "$drawn WHERE age <> 31"), 1, 'the budget pays later');
	answer($blocker, 'SELECT pg_advisory_unlock(31);');
	like((answer($cy))[1], qr/42501/, 'who asked before and left gets none');
	value($node, 'GRANT team TO cy');
	is( cost('cy', "$drawn WHERE age <> (SELECT 31 FROM pg_advisory_xact_lock_shared(31))"),
		0,
		'and does when he is back');
	hang_up($_) foreach ($blocker, $cy);
}

# ---- a dashboard ----

{
	my $script = $node->basedir . '/dashboard.sql';
	my $before = charges($node);
	my @clients;

	for my $n (1 .. 12)
	{
		append_to_file($script,
			"SELECT age, dp_count(*), dp_avg(id, 0, 1000)"
			  . " FROM person WHERE age BETWEEN 10 AND 19 AND id > $n"
			  . " GROUP BY age;\n");
	}
	for my $role (qw(ann ben cy))
	{
		my $self = { out => '' };

		$self->{h} = IPC::Run::start(
			[
				'pgbench', '-n', '-U', $role, '-h', $node->host, '-p',
				$node->port, '-c', 4, '-t', 84, '-f', $script, 'postgres'
			],
			'<', '/dev/null', '>&', \$self->{out}, IPC::Run::timeout(170));
		push @clients, $self;
	}
	$_->{h}->finish foreach @clients;
	is(scalar(grep { $_->{out} =~ m{processed: 336/336} } @clients), 3,
		'12 queries, 1008 refreshes by three members, 12 at once');
	is(charges($node) - $before, 12, 'cost what 12 queries cost');
	is( value(
			$node, 'SELECT sum(hits) FROM dp_pg.answers WHERE rows = 10'),
		12 * 1008 - 12,
		'all others are counted');
}

# ---- what an answer outlives ----

my ($first) = asked('ann', $drawn);

$node->restart;
is_deeply([ asked('ben', $drawn) ], [ $first, 0 ], 'it survives a restart');
$node->kill9;
start_patiently($node) or BAIL_OUT('server does not start');
is_deeply([ asked('cy', $drawn) ], [ $first, 0 ], 'and a crash');

# ---- and what it does not ----

my $dump = $node->basedir . '/dump.sql';

$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'a dump');
unlike(slurp_file($dump), qr/COPY dp_pg\.answer /, 'holds no answers');
value($node, 'CREATE DATABASE copy TEMPLATE postgres');
{
	my $count = 'SELECT count(*) FROM dp_pg.ledger';
	my $before = value($node, $count, 'copy');

	$node->safe_psql('copy', $drawn, extra_params => [ '-U', 'ann' ]);
	is(value($node, $count, 'copy') - $before, 1,
		'a copy of the database has answers of its own');
}

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
DROP TABLE person;
CREATE TABLE person (id int PRIMARY KEY, age int NOT NULL);
INSERT INTO person SELECT n, n % 100 FROM generate_series(1, 1000) AS n;
SELECT dp_protect('person', dataset => 'h');
SELECT dp_declare('person', 'age', 0, 99);
EOT
is(cost('ann', $drawn), 1, 'dropped and made again: it is another relation');
is(cost('ben', $drawn), 0, 'whose answers are given again');
value($node, 'UPDATE dp_pg.budget SET period = period + 1'
	  . " WHERE role_name = 'team'");
is(cost('ann', $drawn), 1, 'another period');
is(cost('ann', $drawn), 0, 'has answers of its own');
value($node, 'ALTER TABLE person ADD COLUMN more int');
is(cost('ann', $drawn), 1, 'an altered relation is another one');
value($node, 'UPDATE pg_extension SET extversion = extversion'
	  . " WHERE extname = 'dp_pg'");
is(cost('ann', $drawn), 1, 'as is an altered extension');

# ---- what others must not be given ----

{
	my $old = session($node, 'ann');
	my $import = session($node, 'ann');
	my ($snapshot) = answer($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ;'
		  . ' SELECT pg_export_snapshot();');
	my $sql = "$drawn WHERE age <> 4";

	sleep(1.2);
	value($node, "SELECT dp_refresh('h')");
	answer($import, 'BEGIN ISOLATION LEVEL REPEATABLE READ;'
		  . " SET TRANSACTION SNAPSHOT '$snapshot'; $sql;");
	is(stored(), 0, 'an imported snapshot is not stored');
	answer($old, "$sql;");
	is(stored(), 0, 'nor what is older than dp_refresh');
	answer($import, 'COMMIT;');
	answer($old, 'COMMIT;');
	hang_up($import);
	answer($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
	sleep(1.2);
	answer($old, "$sql; COMMIT;");
	is(stored(), 1, 'an older snapshot of a transaction is');
	is(cost('ben', "SET dp_pg.reuse = '1 second'; $sql"), 1,
		'and is as old as its transaction');
	hang_up($old);
}

# A snapshot older than TRUNCATE or a rewrite sees no row, which nobody else
# ever did.
for my $change (
	'TRUNCATE person; INSERT INTO person (id, age)'
	. ' SELECT n, n % 100 FROM generate_series(1, 1000) AS n',
	'ALTER TABLE person ALTER age TYPE bigint')
{
	my $old = session($node, 'ann');
	my $sql = "SELECT dp_count(1, 0.1) > 500 FROM person WHERE age < 90";

	value($node, "SELECT dp_refresh('h')");
	answer($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
	value($node, "BEGIN; $change; COMMIT");
	is((answer($old, "$sql;"))[0], 'f', 'nothing is seen');
	answer($old, 'COMMIT;');
	is_deeply([ asked('ben', $sql) ], [ 't', 1 ], 'and nothing of it stored');
	is(cost('cy', $sql), 0, 'what is there is');
	hang_up($old);
}

# the same of a child
{
	my $old = session($node, 'ann');
	my $sql = 'SELECT dp_count(1, 0.1) > 500 FROM tree';

	value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE tree (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE leaf PARTITION OF tree FOR VALUES FROM (0) TO (10000);
INSERT INTO tree SELECT n FROM generate_series(1, 1000) AS n;
SELECT dp_protect('tree', dataset => 'h');
EOT
	answer($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
	value($node, 'BEGIN; TRUNCATE leaf;'
		  . ' INSERT INTO tree SELECT n FROM generate_series(1, 1000) AS n;'
		  . ' COMMIT');
	is((answer($old, "$sql;"))[0], 'f', 'nothing is seen in a partition');
	answer($old, 'COMMIT;');
	is_deeply([ asked('ben', $sql) ], [ 't', 1 ], 'and nothing of it stored');
	hang_up($old);
}

# ---- how much is kept ----

value($node, "SELECT dp_refresh('h')");
is(cost('alice', $drawn), 1, 'another budget');
$node->append_conf('postgresql.conf', "dp_pg.reuse_limit = '24kB'");
$node->reload;
cost('ann', "$drawn WHERE age <> $_") foreach (10 .. 19);
cmp_ok(value($node, "SELECT sum(bytes) FROM dp_pg.answer WHERE payer = 'team'"),
	'<=', 24 * 1024, 'the oldest are dropped');
cmp_ok(value($node, "SELECT count(*) FROM dp_pg.answer WHERE payer = 'team'"),
	'>=', 2, 'and no more than that');
is(cost('ann', "$drawn WHERE age <> 19"), 0, 'the youngest are there');
is(cost('ann', "$drawn WHERE age <> 10"), 1, 'the oldest are not');
is(cost('alice', $drawn), 0, 'nobody drops those of others');
$node->append_conf('postgresql.conf', "dp_pg.reuse_limit = 0");
$node->reload;
is(cost('ann', "$drawn WHERE age <> 20"), 1, 'no room at all: one pays');
is(cost('ann', "$drawn WHERE age <> 20"), 1, 'and the next one, too');

$node->stop;
done_testing();
