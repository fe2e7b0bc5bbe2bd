# Clients that ask private queries all the time, each as a role of its own, of a
# server that something happens to; and whether what they were told and what the
# ledger holds agree: every answer is charged, and at most one charge a lost
# connection or error has no answer.
package FuzzClients;

use strict;
use warnings;

use Exporter 'import';
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(prepare_clients start_clients stop_clients count_unpaid
  check_clients processes is_up come_back start_again);

use constant SCRIPT => 300;        # statements of a connection

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

# Lines of the ledger for one answer of each.
my %price;

my ($node, $folder, $running);

sub lines_of
{
	my ($role) = @_;

	return value($node, "SELECT count(*) FROM dp_pg.ledger WHERE role = '$role'");
}

# Tables, roles and scripts for a server of attack_node; files are written to
# the folder.  Everybody asks once.
sub prepare_clients
{
	($node, $folder) = @_;
	$running = "$folder/running";
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
	foreach my $role (sort keys %asks)
	{
		my ($rc, $out, $err) = $node->psql('postgres', $asks{$role}, extra_params => [ '-U', $role ]);

		$price{$role} = lines_of($role);
		cmp_ok($price{$role}, '>=', 1, "$role: an answer is charged") or diag($err);
		is($out, '1', "$role: an answer is one line");
	}
	return;
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

# Of a server that runs, or is going.
sub postmaster_pid
{
	my ($pid) = eval { slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ };

	return $pid;
}

# Processes of the server, the postmaster first: [pid, title without "postgres:"],
# which is empty where a process has none yet.
sub processes
{
	my $postmaster = postmaster_pid() or return ();
	my @found = ([ $postmaster, 'postmaster' ]);
	my $name = $node->name;

	foreach my $stat (glob '/proc/[0-9]*/stat')
	{
		my ($pid, $parent) = eval { slurp_file($stat) =~ /^(\d+) \(.*\) \S (\d+)/s } or next;

		next if $parent != $postmaster;

		my $line = eval { slurp_file("/proc/$pid/cmdline") } // '';

		push @found, [ $pid, $line =~ /^postgres: (?:$name: )?([^\0]*)/ ? $1 : '' ];
	}
	return @found;
}

# A postmaster ends, too, when the process that recovers is killed.
sub is_up
{
	my $pid = postmaster_pid();

	return $pid && kill 0, $pid;
}

# A postmaster that was told to end while it begins to recover from a crash waits
# for ever: PostgreSQL forgets that its checkpointer is there, whatever is loaded.
sub is_forgotten
{
	my ($postmaster, @children) = processes();

	return @children && !grep { $_->[1] !~ /^(?:startup|checkpointer)/ } @children;
}

# The postmaster is gone, or going: wait for it, and start another one.
sub start_again
{
	for my $turn (1 .. 12000)
	{
		last if !is_up();
		kill 'QUIT', grep { defined } postmaster_pid() if $turn % 200 == 0 && is_forgotten();
		usleep(50_000);
	}
	BAIL_OUT('processes do not end: ' . join ', ', map { $_->[1] } processes()) if is_up();
	$node->{_pid} = undef;
	return start_patiently($node);
}

# The server takes connections again, with the same postmaster or another one.
# What was in its way is taken away each time, if there is something.
sub come_back
{
	my ($clear) = @_;

	for (1 .. 10)
	{
		$clear->() if $clear;
		start_again() if !is_up();
		return if wait_ready($node);
	}
	BAIL_OUT('server does not come back');
	return;
}

# Clients that have more answers than what they paid for, once the server is
# back: what is told before was charged before.
sub count_unpaid
{
	my ($clear) = @_;
	my %told = map { $_ => [ told($_) ] } keys %asks;
	my $bad = 0;

	come_back($clear);
	foreach my $role (sort keys %asks)
	{
		my $lines = eval { lines_of($role) } // next;

		next if $told{$role}[0] * $price{$role} + $price{$role} <= $lines;
		$bad++;
		diag("$role: $told{$role}[0] answers, $lines charges");
	}
	return $bad;
}

# What is true when the clients have ended; gives the number of answers.
sub check_clients
{
	my $answers = 0;

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
	return $answers;
}

1;
