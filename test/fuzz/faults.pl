# Processes of the server are killed while clients ask: backends, the ledger's
# worker, readers and their parallel workers, PostgreSQL's own processes and the
# postmaster; some are stopped for a while instead.  What clients were answered
# and what the ledger holds must agree: every answer is charged, and at most one
# charge a lost connection or error has no answer.
#
# FUZZ_FAULTS signals (60) from FUZZ_SEED (1); when each arrives is not repeated.
# A file that is written survives a kill, so nothing is flushed to disk.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROUND => 20;          # signals, before all is compared
use constant LONGEST => 150_000;   # between two of them, in microseconds
use constant SCRIPT => 300;        # statements of a connection

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_FAULTS} || 60;
my $node = attack_node('faults', <<'EOT');
fsync = off
restart_after_crash = on
dp_pg.readers = 4
dp_pg.worker_idle = '2s'
max_wal_size = 1GB
checkpoint_timeout = 30s
autovacuum = on
autovacuum_naptime = 1
EOT
my $folder = PostgreSQL::Test::Utils::tempdir();
my $running = "$folder/running";

srand $seed;

# ---- clients ----

# What each of them asks; an answer is one line.
my %asks = (
	counts => 'SELECT 1 FROM (SELECT dp_count(*) FROM person) AS q;',
	groups => 'SELECT count(n) / count(n) FROM (SELECT k, dp_count(*) AS n, dp_sum(i, 0, 9) FROM person GROUP BY k) AS q;',
	median => 'SELECT 1 FROM (SELECT dp_median(i, 0, 1000) AS n FROM person) AS q WHERE n IS NOT NULL;',
	parallel => 'SELECT 1 FROM (SELECT dp_count(*) AS n FROM visits WHERE i % 3 = 1) AS q WHERE n IS NOT NULL;',
	undone => "BEGIN;\nSELECT 1 FROM (SELECT dp_avg(i, 0, 9) AS n FROM person) AS q WHERE n IS NOT NULL OR true;\nROLLBACK;",
	function => 'SELECT 1 FROM thrice() AS q WHERE q IS NOT NULL;',
	choice => 'SELECT 1 FROM (SELECT dp_argmax(k, ARRAY[1, 2, 3]) AS n FROM person) AS q WHERE n IS NOT NULL;',
	prepared => "PREPARE p(int) AS SELECT 1 FROM (SELECT dp_count(*) AS n FROM person WHERE i > \$1) AS q WHERE n IS NOT NULL;\nEXECUTE p(3);\nDEALLOCATE p;");

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE person (id int PRIMARY KEY, k int, i int);
INSERT INTO person SELECT i, i % 5, i % 100 FROM generate_series(1, 400) AS i;
CREATE TABLE visits (id int PRIMARY KEY, i int);
INSERT INTO visits SELECT i, i % 100 FROM generate_series(1, 300000) AS i;
SELECT dp_protect('person', dataset => 'hospital');
SELECT dp_protect('visits', dataset => 'hospital', rows => 10000000);
SELECT dp_declare('person', 'k', lower => 0, upper => 4);
EOT
value($node, <<'EOT');
CREATE FUNCTION thrice() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	FOR j IN 1 .. 3 LOOP
		PERFORM dp_count(*) FROM person WHERE k = j;
	END LOOP;
	RETURN 1;
END $$;
EOT
foreach my $role (sort keys %asks)
{
	value($node, "CREATE ROLE $role LOGIN; GRANT CREATE ON SCHEMA public TO $role; ALTER ROLE $role SET dp_pg.epsilon = '0.01'; ALTER ROLE $role SET client_min_messages = 'error'");
	value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_grant('$role', dataset => 'hospital', epsilon => 1e9, filter => 'basic')");
	append_to_file("$folder/$role.sql", "$asks{$role}\n" x SCRIPT);
}

sub lines_of
{
	my ($role) = @_;

	return value($node, "SELECT count(*) FROM dp_pg.ledger WHERE role = '$role'");
}

# Lines of the ledger for one answer of each.
my %price;
foreach my $role (sort keys %asks)
{
	my ($rc, $out, $err) = $node->psql('postgres', $asks{$role}, extra_params => [ '-U', $role ]);

	$price{$role} = lines_of($role);
	cmp_ok($price{$role}, '>=', 1, "$role: an answer is charged") or diag($err);
	is($out, '1', "$role: an answer is one line");
}

# A connection after the other, while the file is there.  psql writes an answer
# when it has it, and ends when the connection is lost.
my %client;
sub start_clients
{
	append_to_file($running, '');
	foreach my $role (sort keys %asks)
	{
		my $connection = $node->connstr('postgres') . " user=$role";
		my $loop = qq{while [ -e $running ]; do psql -XAtq -v VERBOSITY=sqlstate -d "$connection" -f $folder/$role.sql >>$folder/$role.out 2>>$folder/$role.err || { echo connection lost >>$folder/$role.err; sleep .05; }; done};

		$client{$role} = IPC::Run::start([ 'bash', '-c', $loop ], '<', '/dev/null');
	}
	return;
}

sub stop_clients
{
	unlink $running;
	$_->finish foreach values %client;
	return;
}

# Answers, and what has ended otherwise, of a client.
sub told
{
	my ($role) = @_;
	my ($answers, $losses) = map { -e "$folder/$role.$_" ? slurp_file("$folder/$role.$_") : '' } qw(out err);

	return (scalar(() = $answers =~ /^1$/mg), scalar(() = $losses =~ /ERROR|FATAL|PANIC|connection/g), $answers =~ /^(?!1$)./m);
}

# ---- signals ----

# Processes of the server: [pid, title without "postgres:"].
sub processes
{
	my ($postmaster) = eval { slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ };
	my @found;

	return () if !$postmaster;
	foreach my $stat (glob '/proc/[0-9]*/stat')
	{
		my ($pid, $parent) = eval { slurp_file($stat) =~ /^(\d+) \(.*\) \S (\d+)/s } or next;
		my $title = eval { slurp_file("/proc/$pid/cmdline") } // '';

		push @found, [ $pid, $1 ] if $parent == $postmaster && $title =~ /^postgres: (?:faults: )?([^\0]*)/;
	}
	return ([ $postmaster, 'postmaster' ], @found);
}

# A kind of process, so that there is a turn for those of which there are few.
sub kind_of
{
	my ($title) = @_;

	return 'client' if $title =~ /^(?:\w+) postgres \[local\]/;
	return $title =~ s/\d+//gr;
}

my %sent;
my %to;

# One signal; whether the server has to be started afterwards.
sub strike
{
	my @processes = processes();
	my %by_kind;
	my ($pid, $kind, $signal);
	my $how = rand;

	push @{ $by_kind{ kind_of($_->[1]) } }, $_->[0] foreach @processes;
	delete $by_kind{postmaster} if rand() < 0.8;
	return 0 if !%by_kind;
	$kind = (sort keys %by_kind)[ rand keys %by_kind ];
	$pid = $by_kind{$kind}[ rand @{ $by_kind{$kind} } ];
	$signal = $how < 0.4 ? 'KILL' : $how < 0.6 ? 'TERM' : $how < 0.75 ? 'INT' : $how < 0.85 ? 'STOP' : $how < 0.92 ? 'SEGV' : 'QUIT';
	$signal = (qw(KILL QUIT INT))[ rand 3 ] if $kind eq 'postmaster';
	return 0 if !kill $signal, $pid;
	$sent{$signal}++;
	$to{ $kind =~ /logical|autovacuum|client|dp_pg|parallel|postmaster|check|writer/ ? $kind : 'others' }++;
	if ($signal eq 'STOP')
	{
		usleep(rand LONGEST);
		kill 'CONT', $pid;
	}
	return $kind eq 'postmaster';
}

# A postmaster ends, too, when the process that recovers is killed.
sub is_up
{
	my ($pid) = eval { slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ };

	return $pid && kill 0, $pid;
}

# The server takes connections again, with the same postmaster or another one.
sub come_back
{
	for (1 .. 10)
	{
		start_again() if !is_up();
		return 1 if wait_ready($node);
	}
	return 0;
}

# The postmaster is gone, or going: wait for it, and start another one.
sub start_again
{
	my $file = $node->data_dir . '/postmaster.pid';

	for (1 .. 600)
	{
		my ($pid) = -e $file ? eval { slurp_file($file) =~ /^(\d+)/ } : ();

		last if !$pid || !kill 0, $pid;
		usleep(50_000);
	}
	$node->{_pid} = undef;
	return start_patiently($node);
}

# ---- the machine ----

my ($signals, $answers) = (0, 0);
my $bad = 0;

start_clients();
while ($signals < $wanted && !$bad)
{
	for (1 .. ROUND)
	{
		usleep(rand LONGEST);
		start_again() if strike() || !is_up();
	}
	$signals += ROUND;

	# in this order: what is told by now was charged before
	my %told = map { $_ => [ told($_) ] } keys %asks;
	come_back() or BAIL_OUT('server does not come back');
	foreach my $role (sort keys %asks)
	{
		my $lines = eval { lines_of($role) } // next;

		next if $told{$role}[0] * $price{$role} + $price{$role} <= $lines;
		$bad++;
		diag("$role: $told{$role}[0] answers, $lines charges after $signals signals");
	}
}
come_back() or BAIL_OUT('server does not come back');
stop_clients();

foreach my $role (sort keys %asks)
{
	my ($n, $lost, $odd) = told($role);
	my $lines = lines_of($role) - $price{$role};

	$answers += $n;
	ok(!$odd, "$role: nothing but answers");
	cmp_ok($n, '>=', 1, "$role: answers");
	cmp_ok($lines, '>=', $n * $price{$role}, "$role: $n answers are charged");
	cmp_ok($lines, '<=', ($n + $lost) * $price{$role}, "$role: $lost losses pay once at most");
}
is(value($node, <<'EOT'), 't', 'sums agree with the ledger');
SELECT bool_and(b.total_epsilon = (SELECT sum(l.epsilon) FROM dp_pg.ledger AS l WHERE l.role = b.role_name))
	AND (SELECT count(*) FROM dp_pg.ledger) = (SELECT charges FROM dp_pg.dataset WHERE name = 'hospital')
FROM dp_pg.budget AS b WHERE b.total_epsilon > 0
EOT
is($bad, 0, "ledger and answers agree: $signals signals, $answers answers (" . join(', ', map { "$sent{$_} $_" } sort keys %sent) . ')');
note(join ', ', map { "$to{$_} $_" } sort keys %to);

$node->stop;
done_testing();
