# dp_synthesize on a real server: who sees its progress; what a cancel, a timeout
# and termination leave behind in each of its phases; what dp_pg.releases shows to
# whom; and that 14 columns fit.
#
# "At once" is judged by the CPU time that the connection's process and its reader
# take after it was interrupted, so that a busy machine does not matter.  In each
# case the phase would take several seconds of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode;
use Test::More;
use Time::HiRes qw(time);

my $prompt = 1;					# s of processor time
my $node = ledger_node('synthesize',
	"max_parallel_workers_per_gather = 0\nautovacuum = off\n"
	  . "dp_pg.delta = '1e-9'\n");

# People with 40 answers; "many" takes long to read, "few" does not.
my $columns = join ', ', map { "c$_ boolean NOT NULL" } 1 .. 40;
my $answers = join ', ', map { "i * 2654435761 % (1000 + $_) % 2 = 0" } 1 .. 40;

$node->safe_psql('postgres', <<"EOT");
CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats;
CREATE ROLE boss LOGIN IN ROLE alice;
GRANT EXECUTE ON FUNCTION pg_get_backend_memory_contexts TO alice;
SET SESSION AUTHORIZATION owner;
CREATE TABLE many ($columns);
INSERT INTO many SELECT $answers FROM generate_series(1, 250000) i;
CREATE TABLE few ($columns);
INSERT INTO few SELECT * FROM many LIMIT 2000;
SELECT dp_protect(r, dataset => 'h') FROM unnest(ARRAY['many', 'few']::regclass[]) r;
SELECT dp_grant(r, 'h', epsilon => 1e6, delta => 0.01, filter => 'zcdp')
FROM unnest(ARRAY['alice', 'bob']) r;
SET SESSION AUTHORIZATION alice;
CREATE TABLE target ($columns);
RESET SESSION AUTHORIZATION;
CHECKPOINT;
EOT

# The function call for the first columns of a table.
sub rows_of
{
	my ($relation, $n, $more) = @_;
	my @names = map { "c$_" } 1 .. $n;

	return "dp_synthesize('$relation', ARRAY["
	  . join(', ', map { "'$_'" } @names)
	  . "], epsilon => 1, $more) AS t("
	  . join(', ', map { "$_ boolean" } @names) . ')';
}

# Releases that stay in one phase for long.
my %long = (
	'reading rows' => rows_of('many', 40, 'marginals => 3, n => 250000, rows => 10'),
	'fitting' => rows_of('few', 40, 'marginals => 3, n => 2000, rows => 10'),
	'fitting by weights' =>
	  rows_of('few', 20, "marginals => 2, method => 'mwem', n => 300000, rows => 10"),
	'drawing rows' => rows_of('few', 40, 'marginals => 1, n => 2000, rows => 3000000'));
my $short = 'SELECT count(*) FROM '
  . rows_of('few', 2, 'marginals => 2, n => 2000, rows => 7');

sub into
{
	my ($how, $phase) = @_;
	my $list = join ', ', map { "c$_" } 1 .. ($phase =~ /weights/ ? 20 : 40);

	return "CREATE TABLE made AS SELECT * FROM $long{$phase}" if $how eq 'create';
	$list .= ', false' x ($phase =~ /weights/ ? 20 : 0);
	return "INSERT INTO target SELECT $list FROM $long{$phase}";
}

my ($alice, $super) = map { quiet_session($node, $_) } 'alice', 'postgres';
my $charges = 0;				# made until now

# Begin a release into a table, and wait for a phase.
sub begin
{
	my ($how, $phase) = @_;

	ask($alice, into($how, $phase) . ';');
	$charges++;
	reach($super, $alice, $phase =~ s/ by weights//r, "$phase: $how");
	return;
}

# What is there after a release that came to a bad end.
sub check_after
{
	my ($name) = @_;

	is( (answer($super, <<'EOT'))[0],
SELECT (SELECT count(*) FROM dp_pg.ledger) || ' ' || count(*) || ' ' ||
	count(*) FILTER (WHERE delivered) || ' ' ||
	(SELECT delivered FROM dp_pg.releases ORDER BY id DESC LIMIT 1) || ' ' ||
	(SELECT count(*) FROM dp_pg.progress) || ' ' ||
	(to_regclass('made') IS NULL) || ' ' || (SELECT count(*) FROM target) ||
	' ' || (SELECT count(*) FROM pg_ls_tmpdir())
FROM dp_pg.releases;
EOT
		"$charges $charges " . delivered() . ' false 0 true 0 0',
		"$name: paid for and recorded as not delivered; nothing else is left");
	is((answer($alice, "$short;"))[0], '7', "$name: the next release works");
	$charges++;
	return;
}

# Each case leaves one release that was not delivered, and one that was.
my $other_deliveries = 0;

sub delivered
{
	return ($charges - 1 - $other_deliveries) / 2 + $other_deliveries;
}

# ---- cancel ----

foreach my $phase (sort keys %long)
{
	my ($used, $error);

	begin($phase =~ /fitting/ ? 'insert' : 'create', $phase);
	if ($phase eq 'drawing rows')
	{
		ok(await(sub { readers_memory($node, 'RssAnon') > 300_000 }),
			"$phase: takes memory");
	}
	($used, $error) = cancel_takes($node, $super, $alice);
	like($error, qr/57014/, "$phase: cancelled");
	cmp_ok($used, '<', $prompt, "$phase: at once, after $used s");
	is( (answer($alice, 'SELECT sum(total_bytes) < 33554432,'
				  . " count(*) FILTER (WHERE name ~ 'dp_pg synth')"
				  . ' FROM pg_get_backend_memory_contexts();'))[0],
		't|0', "$phase: its memory is freed");
	ok(await(sub { !grep { $_ >= 150_000 } memory($alice->{pid}, 'RssAnon'), readers_memory($node, 'RssAnon') }),
		"$phase: the system has it back");
	check_after("$phase, cancel");
}

# ---- timeout ----

# The noise of 512000 cells, drawn some times, and fits in between: a timeout
# hits the one or the other.  A charge has a record even when it came too late.
$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE cube (a int NOT NULL, b int NOT NULL, c int NOT NULL);
INSERT INTO cube SELECT i % 80, i / 7 % 80, i * 31 % 80
FROM generate_series(1, 20000) i;
SELECT dp_protect('cube', dataset => 'h');
SELECT dp_declare('cube', x, lower => 0, upper => 79)
FROM unnest(ARRAY['a', 'b', 'c']) x;
EOT
my $cubes = "SELECT count(*) FROM dp_synthesize('cube', ARRAY['a', 'b', 'c'],"
  . ' marginals => 3, epsilon => 0.1, rows => 100) AS t(a int, b int, c int)';
my $hits = 0;
my $worst = 0;
my $begin = time;
answer($alice, "$cubes;");
my $whole = time - $begin;		# s, without a timeout

foreach my $part (.1, .2, .3, .4, .5, .6)
{
	my $wait = 1 + int(1000 * $part * $whole);
	my $used = work_time($node, $alice);
	my ($out, $error) = answer($alice, <<"EOT");
SET statement_timeout = $wait;
$cubes;
RESET statement_timeout;
EOT

	$hits++ if $error =~ /57014/;
	readers_idle($node);
	$used = work_time($node, $alice) - $used - $wait / 1000;
	$worst = $used if $used > $worst;
}
cmp_ok($hits, '>=', 2, "timeouts: $hits of 6, within $whole s");
cmp_ok($worst, '<', $prompt, "at once, after $worst s");
is( value($node, 'SELECT count(*) = count(l.id) AND count(*) = (SELECT count(*)'
		  . ' FROM dp_pg.ledger) FROM dp_pg.releases r LEFT JOIN dp_pg.ledger l'
		  . ' USING (id)'),
	't', 'each charge has its record');
$charges = value($node, 'SELECT count(*) FROM dp_pg.ledger');
$other_deliveries =
  2 * value($node, 'SELECT count(*) FROM dp_pg.releases WHERE delivered') - $charges;

# ---- ends by force ----

foreach my $victim ('session', 'server')
{
	foreach my $phase (sort keys %long)
	{
		begin($phase =~ /fitting/ ? 'create' : 'insert', $phase);
		($alice, $super) = end_by_force($node, $victim, $alice, $super);
		check_after("$phase, kill -9 of the $victim");
	}
}

# ---- the record is completed when the ledger's worker is back ----

# Wait until the worker waits for a lock that somebody else holds.
sub worker_waits
{
	return wait_until($node, 'SELECT count(*) > 0 FROM pg_stat_activity'
		  . " WHERE application_name = 'dp_pg ledger' AND wait_event_type = 'Lock'");
}

# What a release prints while something is done with its record's table.
sub release_while
{
	my ($sql, $between) = @_;
	my $other = quiet_session($node, 'postgres');
	my @answer;

	ask($alice, 'SELECT count(*) FROM '
		  . rows_of('few', 8, 'marginals => 1, n => 2000, rows => 5000000') . ';');
	reach($super, $alice, 'drawing rows', 'is nearly done');
	answer($other, $sql);
	$between->() if $between;
	answer($other, 'COMMIT;');
	@answer = answer($alice);
	hang_up($other);
	return join '|', @answer;
}

is( release_while(
		'BEGIN; LOCK dp_pg.released;',
		sub {
			ok(worker_waits(), 'the worker waits for the record');
			value($node, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
				  . " WHERE application_name = 'dp_pg ledger'");
		}),
	'5000000|',
	'the worker ends while it completes a record: no error, no warning');
is(value($node, 'SELECT delivered FROM dp_pg.releases ORDER BY id DESC LIMIT 1'),
	't', 'the record is complete');
like(release_while('BEGIN; ALTER TABLE dp_pg.released RENAME TO gone;'),
	qr/^5000000\|WARNING:  55000$/,
	'a record that cannot be completed: a warning, and the rows');
value($node, 'ALTER TABLE dp_pg.gone RENAME TO released');
is(value($node, 'SELECT delivered FROM dp_pg.releases ORDER BY id DESC LIMIT 1'),
	'f', 'the record says so');

# ---- who sees how far it is ----

my $how_far = 'SELECT role, relation, mechanism, phase, total, done'
  . ' FROM dp_pg.progress';
my $mine = 'alice|public.few|synthesize|fitting|1000';
my ($one, $two);

ask($alice, "SELECT count(*) FROM $long{fitting};");
reach($super, $alice, 'fitting', 'under way');
like($one = as($node, $_, $how_far), qr/^\Q$mine\E\|\d+$/, "$_ sees it")
  for 'alice', 'monitor', 'boss', 'postgres';
is(as($node, $_, $how_far), '', "$_ does not") for 'bob', 'owner';
is(value($node, 'SELECT count(*) FROM pg_stat_progress_copy'),
	'0', "none of PostgreSQL's own views takes it for its own");
ok(wait_until($node, 'SELECT done > ' . (split /\|/, $one)[-1]
		  . ' FROM dp_pg.progress'), 'it gets on');
kill 'INT', $alice->{pid};
answer($alice);

# ---- what the records say, and to whom ----

my $last = 'SELECT mechanism, relation, columns, target, delivered, role,'
  . ' dataset FROM dp_pg.releases ORDER BY id DESC LIMIT 1';

foreach my $case (
	[ 'CREATE TABLE made AS SELECT *', 'public.made' ],
	[ 'CREATE TABLE "a b" AS SELECT *', 'public."a b"' ],
	[ 'SELECT * INTO TEMP mine', 'pg_temp.mine' ],
	[ 'INSERT INTO filled SELECT *', 'public.filled' ],
	[ 'SELECT count(*)', '' ])
{
	my ($sql, $target) = @$case;

	answer($alice, 'CREATE TABLE filled (a boolean, b boolean);')
	  if $target =~ /filled/;
	is((answer($alice, "$sql FROM " . rows_of('few', 2, 'marginals => 2, rows => 7') . ';'))[1],
		'', $sql);
	is( value($node, $last) =~ s/pg_temp_\d+/pg_temp/r,
		"synthesize|public.few|{c1,c2}|$target|t|alice|h",
		'is recorded with ' . ($target || 'no target'));
}
is((answer($alice, 'TABLE made;'))[0] =~ tr/\n//, 6, 'seven rows are there');

answer($alice, 'BEGIN; CREATE TABLE back AS SELECT * FROM '
	  . rows_of('few', 2, 'marginals => 2, rows => 7') . '; ROLLBACK;');
is( value($node, $last),
	'synthesize|public.few|{c1,c2}|public.back|t|alice|h',
	'a rollback does not take the record back');
is(value($node, "SELECT to_regclass('back') IS NULL"), 't', 'but the table');

as($node, 'bob', 'SET client_min_messages = warning; SELECT count(*) FROM '
	  . rows_of('few', 2, 'marginals => 2, rows => 7'));
my $all = value($node, 'SELECT count(*) FROM dp_pg.ledger');
$node->safe_psql('postgres', 'CREATE ROLE eve LOGIN; CREATE ROLE landlord LOGIN;'
	  . ' GRANT EXECUTE ON FUNCTION dp_pg.open_dataset TO landlord;'
	  . " SET SESSION AUTHORIZATION landlord; SELECT dp_pg.open_dataset('empty')");
is(as($node, $_->[0], 'SELECT count(*), count(*) FILTER (WHERE role <> current_user)'
		  . ' FROM dp_pg.releases'),
	$_->[1], "$_->[0] sees $_->[2]")
  for [ 'postgres', "$all|$all", 'all' ], [ 'owner', "$all|$all", 'all' ],
  [ 'alice', ($all - 1) . '|0', 'his own' ], [ 'bob', '1|0', 'his own' ],
  [ 'landlord', '0|0', 'none' ], [ 'eve', '0|0', 'none' ];
is(sqlstate($node, $_, 'UPDATE dp_pg.released SET error = 0'),
	'42501', "$_ changes none")
  for 'alice', 'owner', 'eve';

# ---- 14 columns: less than 10 minutes and 4 GB ----

# Census data where there are some, else made up with the same sizes.
my @sizes = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2);
my $file = ($ENV{DP_PG_DATA} || '.') . '/adult.csv';
my $census = join ', ', map { "c$_ int NOT NULL" } 1 .. 14;
my $made_up = join ', ',
  map { "(i * $_ % 1009 * (i % 83) / 83) % $sizes[$_ - 1]" } 1 .. 14;

value($node, "SET SESSION AUTHORIZATION owner; CREATE TABLE adult ($census);"
	  . (-r $file ? '' : " INSERT INTO adult SELECT $made_up"
		. ' FROM generate_series(1, 48842) i;')
	  . "SELECT dp_protect('adult', dataset => 'h');"
	  . join '',
	map { "SELECT dp_declare('adult', 'c$_', lower => 0, upper =>"
	  . " @{[$sizes[$_ - 1] - 1]});" } 1 .. 14);
value($node, "COPY adult FROM '$file' WITH (FORMAT csv, HEADER)")
  if -r $file;

my $start = time;
my $big = quiet_session($node, 'alice');

is( (answer($big, "SET statement_timeout = '10min'; SELECT count(*) FROM"
			  . " dp_synthesize('adult', ARRAY["
			  . join(', ', map { "'c$_'" } 1 .. 14)
			  . '], marginals => 2, epsilon => 1, rows => 48842) AS t('
			  . join(', ', map { "c$_ int" } 1 .. 14)
			  . ');'))[0],
	'48842', sprintf('14 columns in %.1f s', time - $start));
my $peak = memory($big->{pid}, 'VmHWM') + readers_memory($node, 'VmHWM');

cmp_ok($peak, '>', 10_000, 'memory was measured');
cmp_ok($peak, '<', 1_000_000, "and was $peak kB");

hang_up($_) for $alice, $super, $big;
$node->stop;
done_testing();
