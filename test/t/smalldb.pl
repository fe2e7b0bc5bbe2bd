# dp_smalldb and dp_net while they run: who sees their progress; cancel, timeout and
# termination take effect at once, refund nothing, leave no thread behind, and are
# recorded.
#
# "At once" is judged by the CPU time that the connection's process and its reader
# take after it was interrupted, so that a busy machine does not matter.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode;
use Test::More;

my $prompt = 1;					# s of processor time
my $node = ledger_node('primary',
	"max_parallel_workers_per_gather = 2\nautovacuum = off\n");

$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE cell (a int NOT NULL, b int NOT NULL);
INSERT INTO cell SELECT i % 4, i / 7 % 4 FROM generate_series(1, 5000) i;
SELECT dp_protect('cell', dataset => 'h');
SELECT dp_declare('cell', x, lower => 0, upper => 3)
FROM unnest(ARRAY['a', 'b']) x;
CREATE TABLE long (id int NOT NULL);
INSERT INTO long SELECT i FROM generate_series(1, 300000) i;
SELECT dp_protect('long', dataset => 'h');
SET SESSION AUTHORIZATION alice;
CREATE TABLE synopsis (name text, answers int[]);
INSERT INTO synopsis VALUES ('low', '{1, 1, 1}'), ('high', '{9, 9, 9}');
CREATE TABLE target (a int, b int);
EOT

# 6.5 * 10^9 tables of 20 rows, 100 queries: minutes.
my $cells = <<'EOT';
SELECT * FROM dp_smalldb('cell', ARRAY['a', 'b'],
	(SELECT array_agg(format('(a * 4 + b) * %s %% 17 < 9', i))
	 FROM generate_series(1, 100) i),
	alpha => 0.485, epsilon => 1, n => 5000) AS t(a int, b int)
EOT

# Some seconds of reading: 1500 comparisons for each of 300000 rows.
my $terms = join ' AND ', map { "id % 1000003 <> -$_" } 1 .. 500;
my $net = "SELECT * FROM dp_net('long', 'synopsis',"
  . " ARRAY['$terms', '$terms AND id > 0', '$terms AND id > 1'], epsilon => 1)"
  . ' AS t(name text)';
my %long = (
	'smalldb' => "INSERT INTO target $cells",
	'net' => "CREATE TABLE made AS $net");
my %phase = (smalldb => 'scoring candidates', net => 'reading rows');
my $short = "SELECT count(*) FROM dp_smalldb('cell', ARRAY['a'],"
  . " ARRAY['a = 1', 'a = 2', 'a = 3'], alpha => 0.5, epsilon => 1, n => 5000)"
  . ' AS t(a int)';

my ($alice, $super) = map { quiet_session($node, $_) } 'alice', 'postgres';
my $charges = 0;

sub begin
{
	my ($mechanism, $name) = @_;

	ask($alice, "$long{$mechanism};");
	$charges++;
	reach($super, $alice, $phase{$mechanism}, "$mechanism, $name");
	return;
}

# What is there after a release that came to a bad end.
sub check_after
{
	my ($name) = @_;
	my $ends = ($charges + 1) / 2;

	# A reader is told to stop, and nobody waits until it has.
	wait_until($node, 'SELECT count(*) = 0 FROM pg_stat_activity'
		  . " WHERE backend_type = 'parallel worker'");
	is( (answer($super, <<'EOT'))[0],
SELECT (SELECT count(*) FROM dp_pg.ledger) || ' ' || count(*) || ' ' ||
	count(*) FILTER (WHERE NOT delivered) || ' ' || sum(epsilon) || ' ' ||
	(SELECT count(*) FROM dp_pg.progress) || ' ' ||
	(to_regclass('made') IS NULL) || ' ' || (SELECT count(*) FROM target) ||
	' ' || (SELECT count(*) FROM pg_stat_activity
		WHERE backend_type = 'parallel worker')
FROM dp_pg.releases;
EOT
		"$charges $charges $ends $charges 0 true 0 0",
		"$name: paid for and recorded as not delivered; nothing else is left");
	cmp_ok((answer($alice, "$short;"))[0], '>', 0, "$name: the next one works");
	$charges++;
	return;
}

# ---- what is shown ----

my $shown = 'SELECT done FROM dp_pg.progress';

begin('smalldb', 'cancel');
is( value($node,
		"SELECT role || ' ' || relation || ' ' || mechanism || ' ' || phase"
		  . " || ' ' || total FROM dp_pg.progress"),
	'alice public.cell smalldb scoring candidates 6495886320',
	'what is under way');
my $before = value($node, $shown);
ok(wait_until($node, "SELECT done > $before FROM dp_pg.progress"),
	'and how far it has come');
is(as($node, 'bob', $shown), '', 'another role does not see it');
isnt(as($node, 'alice', $shown), '', 'its own role does');
is(value($node, 'SELECT count(*) FROM pg_stat_progress_copy'),
	'0', "none of PostgreSQL's own views takes it for its own");

is(memory($alice->{pid}, 'Threads'), 1, 'the session has no threads');
cmp_ok(readers_memory($node, 'Threads'), '>', 1, 'its reader has');

# ---- cancel and timeout ----

foreach my $mechanism ('smalldb', 'net')
{
	my ($used, $error);

	begin($mechanism, 'cancel') if $mechanism eq 'net';
	($used, $error) = cancel_takes($node, $super, $alice);
	like($error, qr/57014/, "$mechanism: cancelled");
	cmp_ok($used, '<', $prompt, "$mechanism: at once, after $used s");
	is(readers_memory($node, 'Threads'), 1, "$mechanism: no thread is left");
	check_after("$mechanism, cancel");
}

# The charge is made within 3 s, and the work takes much longer than that.
my $used = work_time($node, $alice);
my (undef, $error) =
  answer($alice, "SET statement_timeout = 3000; $long{smalldb};"
	  . ' RESET statement_timeout;');

$charges++;
like($error, qr/57014/, 'a timeout');
readers_idle($node);
cmp_ok((work_time($node, $alice) - $used) / 2,
	'<', 3 + $prompt, 'at once, on two processors');
is(readers_memory($node, 'Threads'), 1, 'no thread is left');
check_after('timeout');

# ---- ends by force ----

# A session that is terminated disturbs nobody else.
my $other = quiet_session($node, 'bob');

ask($other, 'SELECT pg_sleep(1), 1;');
begin('smalldb', 'terminate');
answer($super, "SELECT pg_terminate_backend($alice->{pid});");
like((answer($alice))[1], qr/57P01/, 'it is terminated');
hang_up($alice);
is((answer($other))[0], '|1', 'another session goes on');
hang_up($other);
unlike(
	slurp_file($node->logfile),
	qr/was terminated by signal/,
	'no process died of a signal');
$alice = quiet_session($node, 'alice');
check_after('terminate');

foreach my $victim ('session', 'server')
{
	foreach my $mechanism ('smalldb', 'net')
	{
		begin($mechanism, "kill -9 of the $victim");
		($alice, $super) = end_by_force($node, $victim, $alice, $super);
		check_after("$mechanism, kill -9 of the $victim");
	}
}

hang_up($_) for $alice, $super;
$node->stop;
done_testing();
