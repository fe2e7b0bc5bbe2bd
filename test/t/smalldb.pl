# dp_smalldb while it runs: who sees how far it is, cancel and terminate within
# a second, nothing refunded, and a record that says so.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $node = ledger_node('primary', 'max_parallel_workers_per_gather = 2');

$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE cell (a int NOT NULL, b int NOT NULL);
INSERT INTO cell SELECT i % 4, i / 7 % 4 FROM generate_series(1, 5000) i;
SELECT dp_protect('cell', dataset => 'h');
SELECT dp_declare('cell', 'a', lower => 0, upper => 3);
SELECT dp_declare('cell', 'b', lower => 0, upper => 3);
EOT

# 3.2 * 10^9 tables of 20 rows, 100 queries: minutes.
my $long = <<'EOT';
SET client_min_messages = warning;
SELECT count(*) FROM dp_smalldb('cell', ARRAY['a', 'b'],
	(SELECT array_agg(format('(a * 4 + b) * %s %% 17 < 9', i))
	 FROM generate_series(1, 100) i),
	alpha => 0.485, epsilon => 1, n => 5000) AS t(a int, b int);
EOT

# Starts the selection as alice; answers the run and its process.
sub start
{
	my ($err) = @_;
	my $pid;
	my $run = IPC::Run::start(
		[
			'psql', '-XAtq', '-U', 'alice', '-d', $node->connstr('postgres'),
			'-c', $long
		],
		'>', \my $out, '2>', $err);

	foreach (1 .. 600)
	{
		$pid = value($node, 'SELECT pid FROM dp_pg.progress WHERE done > 0');
		last if $pid ne '';
		usleep(100_000);
	}
	return ($run, $pid);
}

# Ends it by a function of the server; answers how many seconds that took.
sub stop
{
	my ($run, $pid, $function) = @_;
	my $start = time;

	value($node, "SELECT $function($pid)");
	$run->finish;
	return time - $start;
}

my ($err, $least) = ('', 99);
my ($run, $pid) = start(\$err);
my $shown = "SELECT done FROM dp_pg.progress";
my $before = value($node, $shown);

is( value($node,
		"SELECT role || ' ' || relation || ' ' || mechanism || ' ' || phase"
		  . " || ' ' || total FROM dp_pg.progress"),
	'alice cell smalldb scoring candidates 6495886320',
	'what is under way');
usleep(500_000);
cmp_ok(value($node, $shown), '>', $before, 'and how far it has come');
is($node->safe_psql('postgres', $shown, extra_params => [ '-U', 'bob' ]),
	'', 'another role does not see it');
isnt($node->safe_psql('postgres', $shown, extra_params => [ '-U', 'alice' ]),
	'', 'its own role does');
is(value($node, 'SELECT count(*) FROM pg_stat_progress_copy'),
	'0', "none of PostgreSQL's own views takes it for its own");

my $took = stop($run, $pid, 'pg_cancel_backend');

$least = $took if $took < $least;
like($err, qr/canceling statement due to user request/, 'it is cancelled');
is(value($node, 'SELECT count(*) FROM dp_pg.progress'),
	'0', 'nothing is under way');
is( value($node,
		'SELECT count(*) || \' \' || bool_or(delivered) || \' \' ||'
		  . ' sum(epsilon) FROM dp_pg.releases'),
	'1 false 1', 'it was paid for, and recorded as not delivered');

# The server is busy with other things, too: the best of three counts.
foreach (1 .. 2)
{
	$err = '';
	($run, $pid) = start(\$err);
	$took = stop($run, $pid, 'pg_cancel_backend');
	$least = $took if $took < $least;
}
cmp_ok($least, '<', 1, sprintf('cancelled within a second: %.3f s', $least));

# The threads end with their process, and nobody else notices.
my $postmaster = value($node, 'SELECT pg_postmaster_start_time()');
my ($other_out, $other_err) = ('', '');
my $other = IPC::Run::start(
	[
		'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
		'SELECT pg_sleep(3), 1'
	],
	'>', \$other_out, '2>', \$other_err);

$err = '';
($run, $pid) = start(\$err);
stop($run, $pid, 'pg_terminate_backend');
like($err, qr/terminating connection due to administrator command/,
	'it is terminated');
$other->finish;
is($other_out . $other_err, "|1\n", 'another session goes on');
is(value($node, 'SELECT pg_postmaster_start_time()'),
	$postmaster, 'so does the server');
unlike(
	slurp_file($node->logfile),
	qr/was terminated by signal/,
	'no process died of a signal');
is(value($node, 'SELECT count(*) FROM dp_pg.ledger'),
	'4', 'four charges, none refunded');

$node->stop;
done_testing();
