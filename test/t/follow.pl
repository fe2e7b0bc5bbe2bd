# Tables that are built anew while analysts ask: the statements of doc/owner.md
# ("Tables that are built anew") run night after night, and meanwhile no analyst
# reads a raw row, no declaration is lost, and every query is answered.  Then cases
# that need several connections, a prepared transaction, a log or a dump.  Answers
# are exact: with epsilon 1000 a count is wrong with probability 2 exp(-1000).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node errors log_mark log_since);
use LedgerNode;
use PageNode qw(page_text page_blocks);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# FOLLOW_NIGHTS and FOLLOW_ANALYSTS make it longer.
my $nights = $ENV{FOLLOW_NIGHTS} // 8;
my $analysts = $ENV{FOLLOW_ANALYSTS} // 3;
my $node = attack_node('follow', "dp_pg.readers = 4\nmax_prepared_transactions = 5\n");
my ($section) = page_text('owner.md') =~ /^(## Tables that are built anew\n.*?)^## /ms;
my ($setup, $dbt, $partitions, $detach, $drop_part, $reload, $swap) = map { $_->{sql} } page_blocks($section);

like($dbt, qr/RENAME TO orders__dbt_backup/, 'the block of dbt is found');
like($detach, qr/DETACH PARTITION/, 'that of a partition');
like($reload, qr/DROP TABLE shop.orders CASCADE/, 'that of a reload');
like($swap, qr/ALTER SCHEMA shop RENAME/, 'that of schemas');

$node->safe_psql('postgres', <<'EOT');
CREATE ROLE ana LOGIN;
ALTER ROLE ana SET dp_pg.epsilon = '1000';
CREATE SCHEMA bi AUTHORIZATION owner;
GRANT USAGE ON SCHEMA bi TO ana;
GRANT CREATE ON DATABASE postgres TO owner;
EOT
# Whatever the owner creates from then on everybody may read.
unlike(errors($node, 'owner', $setup . $partitions . <<'EOT'), qr/ERROR|WARNING/, 'set up');
SELECT dp_grant('ana', 'shop', epsilon => 1e9);
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC;
EOT

# ---- nights, with analysts ----

my @answered = (
	'SELECT dp_count(*) FROM shop.orders;',
	'SELECT dp_count(*) FROM bi.orders;',
	'SELECT sum(n) FROM (SELECT channel, dp_count(*) AS n FROM shop.orders GROUP BY channel) AS c;');
my @refused = (
	'SELECT min(customer) FROM shop.orders;',
	'SELECT total FROM bi.orders LIMIT 1;',
	'SELECT 1 FROM shop.orders__dbt_backup LIMIT 1;');
my @analyst = map { session($node, 'ana') } 1 .. $analysts;
my $declared = declared();
my %wrong;

foreach my $night (1 .. $nights + 1)
{
	foreach my $i (0 .. $#analyst)
	{
		ask($analyst[$i], join ' ', map { ($answered[ ($i + $_) % 3 ], $refused[ ($i + $_) % 3 ]) } 1 .. 12);
	}
	my $what = $night > $nights ? $swap : $night % 2 ? $dbt : $reload;
	my $error = errors($node, 'owner', $what);

	$wrong{$error}++ if $error =~ /ERROR|WARNING:  (?!protected relation shop.events_p)/;
	foreach my $session (@analyst)
	{
		my ($out, $err) = answer($session);

		$wrong{$_}++ foreach grep { $_ ne '4000' } split /\n/, $out;
		$wrong{'answers: ' . (() = $out =~ /^4000$/mg)}++ if (() = $out =~ /^4000$/mg) != 12;
		$wrong{$_}++ foreach grep { !/^ERROR:  (42501|42P01)$/ } split /\n/, $err =~ s/^psql:<stdin>:\d+: //mgr;
	}
	$wrong{"declared: " . declared()}++ if declared() ne $declared;
}
is(join("\n", map { "$wrong{$_} times: $_" } sort keys %wrong), '', "$nights nights and a schema: all queries are answered, no row is read, all is declared");
is(sqlstate($node, 'ana', 'SELECT * FROM shop.events'), '42501', 'what was swapped beside is closed, too');

sub declared
{
	return value($node, <<'EOT');
SELECT string_agg(concat_ws(' ', r.relid, r.dataset, r.unit, r.published, a.attname, a.lower, a.upper, a.keys), '; '
	ORDER BY a.attname)
FROM dp_pg.relation AS r JOIN dp_pg.attribute AS a USING (relid) WHERE r.dataset = 'shop' AND r.relid::text = 'shop.orders'
EOT
}

# ---- partitions ----

is(errors($node, 'owner', <<'EOT') =~ s/^.*NOTICE: .*\nDETAIL: .*\n?//mgr, '', 'partitions of a followed relation');
CREATE TABLE shop.log (customer int NOT NULL, at date) PARTITION BY RANGE (at);
SELECT dp_protect('shop.log', unit => 'customer', dataset => 'shop', revoke => true, follow => true, max_total => 9);
CREATE TABLE shop.log_1 PARTITION OF shop.log FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE shop.log_2 (LIKE shop.log);
INSERT INTO shop.log_2 VALUES (1, '2026-02-02');
ALTER TABLE shop.log ATTACH PARTITION shop.log_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
ALTER TABLE shop.log DETACH PARTITION shop.log_2 CONCURRENTLY;
EOT
is(sqlstate($node, 'ana', "SELECT * FROM shop.log_$_"), '42501', "part $_ is closed") foreach 1 .. 2;
is(value($node, q{SELECT unit, dataset FROM dp_pg.relation WHERE relid = 'shop.log_2'::regclass}),
	'customer|shop', 'a detached part is a relation by itself');

# ---- a part whose detaching was begun ----

errors($node, 'owner', "CREATE TABLE shop.log_3 PARTITION OF shop.log FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')");
my $reads = session($node, 'owner');
answer($reads, 'BEGIN; SELECT count(*) FROM shop.log;');
is(sqlstate($node, 'owner', "SET lock_timeout = '1s'; ALTER TABLE shop.log DETACH PARTITION shop.log_3 CONCURRENTLY"), '55P03', 'it waits for readers');
answer($reads, 'COMMIT;');
my $finds = q{SELECT remedy FROM dp_audit() WHERE object = 'shop.log_3' AND severity = 'high'};
my $remedy = value($node, $finds);
is($remedy, 'ALTER TABLE shop.log DETACH PARTITION shop.log_3 FINALIZE;', 'dp_audit finds it');
unlike(errors($node, 'owner', $remedy), qr/ERROR/, 'its remedy');
is(value($node, $finds), '', 'ends it');
is(value($node, q{SELECT unit FROM dp_pg.relation WHERE relid = 'shop.log_3'::regclass}), 'customer', 'and the part stays protected');
hang_up($reads);

# ---- a log ----

my $mark = log_mark($node);
errors($node, 'owner', <<'EOT');
SET client_min_messages = error;
CREATE TABLE plain (id int);
SELECT dp_protect('plain', dataset => 'shop', revoke => true);
DROP TABLE plain;
CREATE TABLE plain (id int);
EOT
my $log = log_since($node, $mark);
like($log, qr/WARNING:  protected relation public.plain was dropped/, 'the log tells of a DROP');
like($log, qr/WARNING:  relation public.plain is not protected/, 'and of an unprotected table of the name');
is(value($node, q{SELECT string_agg(severity, ' ') FROM dp_audit() WHERE object IN ('public.plain', 'pg_default_acl')}),
	'high high', 'and so does dp_audit, as of default privileges');

# ---- a commit that fires no event trigger ----

is(sqlstate($node, 'owner', 'DROP TABLE shop.orders CASCADE; EXPLAIN ANALYZE CREATE TABLE shop.orders AS SELECT 1 AS customer'),
	'55000', 'what lacks a column does not come in by EXPLAIN ANALYZE');
is(value($node, q{SELECT to_regclass('shop.orders') IS NULL}), 't', 'the DROP stays');
my $orders = q{SELECT 1 AS id, 2 AS customer, date '2026-01-01' AS day, 3.0 AS total, 'web'::text AS channel};
is(errors($node, 'owner', <<"EOT") =~ s/^.*NOTICE: .*\nDETAIL: .*\n?//mgr, '', 'prepared');
BEGIN;
EXPLAIN ANALYZE CREATE TABLE shop.orders AS $orders;
PREPARE TRANSACTION 'night';
COMMIT PREPARED 'night';
EOT
is(sqlstate($node, 'ana', 'SELECT * FROM shop.orders'), '42501', 'it is closed');
is(value($node, "SET ROLE ana; SET dp_pg.epsilon = 1000; SELECT dp_count(*) FROM bi.orders"), '1', 'and its view is there');
$node->safe_psql('postgres', 'ALTER EVENT TRIGGER dp_pg_follow_tables DISABLE');
like(errors($node, 'owner', "BEGIN; DROP TABLE shop.orders CASCADE; CREATE TABLE shop.orders AS $orders; COMMIT"),
	qr/NOTICE:  relation shop.orders is protected/, 'a disabled event trigger');
$node->safe_psql('postgres', 'ALTER EVENT TRIGGER dp_pg_follow_tables ENABLE ALWAYS');

# ---- a wish and a schema that is renamed at the same time ----

errors($node, 'owner', <<'EOT');
CREATE SCHEMA blue; CREATE TABLE blue.t AS SELECT 1 AS id; CREATE SCHEMA green; CREATE TABLE green.t AS SELECT 1 AS id;
EOT
my ($wish, $rename) = map { session($node, 'owner') } 1 .. 2;
answer($wish, "BEGIN; SELECT dp_protect('blue.t', unit => 'id', dataset => 'shop', revoke => true, follow => true);");
ask($rename, 'BEGIN; ALTER SCHEMA blue RENAME TO old; ALTER SCHEMA green RENAME TO blue; COMMIT;');
ok(wait_until($node, q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'dp_pg.relation_name'::regclass}),
	'the commit waits');
answer($wish, 'COMMIT;');
answer($rename);
is(value($node, q{SELECT count(*) FROM dp_pg.relation WHERE relid IN ('blue.t'::regclass, 'old.t'::regclass)}), 2,
	'and sees the wish');

# ---- what opens a table, and a swap that protects it, in two sessions ----

my @opens = (
	[ 'GRANT', 'GRANT SELECT ON next.t TO ana;', 'now.t' ],
	[ 'a GRANT of a column', 'GRANT SELECT (id) ON next.t TO ana;', 'now.t' ],
	[ 'GRANT ON ALL', 'GRANT SELECT ON ALL TABLES IN SCHEMA next TO ana;', 'now.t' ],
	[ 'a view', 'CREATE VIEW open.v AS TABLE next.t;', 'open.v' ],
	[ 'a view of a view', 'CREATE OR REPLACE VIEW open.shown AS SELECT id FROM next.t;', 'open.over' ],
	[ 'GRANT on a view', 'GRANT SELECT ON open.closed TO ana;', 'open.closed' ]);
my $swaps = 'ALTER SCHEMA now RENAME TO before; ALTER SCHEMA next RENAME TO now;';
my $renames = 'ALTER TABLE now.t SET SCHEMA before; ALTER TABLE next.t SET SCHEMA now;';

$node->safe_psql('postgres', 'CREATE SCHEMA open AUTHORIZATION owner; GRANT USAGE ON SCHEMA open TO ana');
errors($node, 'owner', 'ALTER DEFAULT PRIVILEGES IN SCHEMA open GRANT SELECT ON TABLES TO ana');

sub before_swap
{
	my ($schemas) = @_;

	return unlike(errors($node, 'owner', <<"EOT"), qr/ERROR/, 'tables to be swapped');
SET client_min_messages = error;
DROP SCHEMA IF EXISTS now, next, before CASCADE;
DROP VIEW IF EXISTS open.v, open.over, open.shown, open.closed;
CREATE SCHEMA now; CREATE SCHEMA next; $schemas GRANT USAGE ON SCHEMA now, next TO ana;
CREATE TABLE now.t AS SELECT 1 AS id; CREATE TABLE next.t AS SELECT 7 AS id; REVOKE ALL ON next.t, now.t FROM PUBLIC;
CREATE VIEW open.closed AS TABLE next.t; REVOKE ALL ON open.closed FROM ana, PUBLIC;
CREATE VIEW open.shown AS SELECT 1 AS id; CREATE VIEW open.over AS TABLE open.shown;
SELECT dp_protect('now.t', unit => 'id', dataset => 'shop', revoke => true, follow => true);
EOT
}

my @before = ($wish, $rename);
foreach my $open (@opens)
{
	my ($what, $opens, $reads) = @$open;

	# sessions have a time limit
	($wish, $rename) = map { session($node, 'owner') } 1 .. 2;

	before_swap('');
	answer($wish, "BEGIN; $swaps");
	errors($node, 'owner', $opens);
	my $end = (answer($wish, 'COMMIT;'))[1];
	is(sqlstate($node, 'ana', "SELECT * FROM $reads"), '42501', "$what within a swap") or diag $end;
	unlike($end, qr/ERROR/, 'which is not stopped');
	before_swap('');
	answer($rename, "BEGIN; $opens");
	unlike(errors($node, 'owner', "BEGIN; $swaps COMMIT;"), qr/ERROR/, 'a swap');
	like((answer($rename, 'COMMIT;'))[1], qr/ERROR:  55000/, "within which $what began");
	is(sqlstate($node, 'ana', "SELECT * FROM $reads"), $what eq 'a view' ? '42P01' : $reads eq 'open.over' ? '' : '42501', 'does not open it');
	hang_up($_) foreach $wish, $rename;
}
($wish, $rename) = map { session($node, 'owner') } 1 .. 2;
before_swap('CREATE SCHEMA before;');
answer($wish, "BEGIN; $renames");
ask($rename, 'GRANT SELECT ON ALL TABLES IN SCHEMA next TO ana;');
ok(wait_until($node, q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}), 'GRANT waits for SET SCHEMA');
answer($wish, 'COMMIT;');
like((answer($rename))[1], qr/ERROR/, 'and fails');
is(sqlstate($node, 'ana', 'SELECT * FROM now.t'), '42501', 'it is closed');
before_swap('');
answer($wish, "BEGIN; SELECT dp_protect('next.t', unit => 'id', dataset => 'shop', revoke => true, follow => true);");
errors($node, 'owner', 'GRANT SELECT ON next.t TO ana');
answer($wish, 'COMMIT;');
is(sqlstate($node, 'ana', 'SELECT * FROM next.t'), '42501', 'a GRANT beside the first wish');
errors($node, 'owner', 'CREATE TABLE next.parent (id int) PARTITION BY LIST (id);'
	. "SELECT dp_protect('next.parent', unit => 'id', dataset => 'shop', revoke => true, follow => true);"
	. "SELECT dp_unprotect('next.t'); SELECT dp_unfollow('next.t');");
answer($wish, 'BEGIN; ALTER TABLE next.parent ATTACH PARTITION next.t FOR VALUES IN (7);');
errors($node, 'owner', 'GRANT SELECT ON open.closed TO ana');
answer($wish, 'COMMIT;');
is(sqlstate($node, 'ana', 'SELECT * FROM open.closed'), '42501', 'a GRANT on a view beside ATTACH PARTITION');
# A rename brings a table to its name, and the schema waits for it.
before_swap('');
unlike(errors($node, 'owner', <<'EOT'), qr/ERROR/, 'a rename is prepared');
DROP TABLE next.t CASCADE;
CREATE TABLE next.x AS SELECT 7 AS id;
GRANT SELECT ON next.x TO ana;
BEGIN;
ALTER TABLE next.x RENAME TO t;
PREPARE TRANSACTION 'made';
EOT
like(errors($node, 'owner', "SET lock_timeout = '1s'; BEGIN; $swaps COMMIT;"), qr/55P03|lock timeout/, 'schemas wait for it');
errors($node, 'owner', q{COMMIT PREPARED 'made'});
unlike(errors($node, 'owner', "BEGIN; $swaps COMMIT;"), qr/ERROR/, 'and change places');
is(sqlstate($node, 'ana', 'SELECT * FROM now.t'), '42501', 'what was renamed came protected');

errors($node, 'owner', 'DROP SCHEMA now, next, before, open CASCADE; SELECT dp_unfollow(n) FROM unnest(ARRAY[$$now.t$$, $$before.t$$]) AS n');

# ---- two loads at the same time, the unit of one behind the other's key ----

errors($node, 'owner', <<'EOT');
CREATE TABLE shop.person (id int PRIMARY KEY);
CREATE TABLE shop.visit (person int NOT NULL);
SELECT dp_protect('shop.person', unit => 'id', dataset => 'shop', revoke => true, follow => true),
	dp_protect('shop.visit', unit => 'person -> shop.person.id', dataset => 'shop', revoke => true, follow => true);
EOT
answer($wish, 'BEGIN; ALTER TABLE shop.person RENAME TO person_old; CREATE TABLE shop.person (LIKE shop.person_old INCLUDING ALL);');
ask($rename, 'BEGIN; ALTER TABLE shop.visit RENAME TO visit_old; CREATE TABLE shop.visit (person int NOT NULL); COMMIT;');
ok(wait_until($node, q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation::regclass::text = 'shop.person'}),
	'one waits for the other');
answer($wish, 'COMMIT; DROP TABLE shop.person_old CASCADE;');
unlike((answer($rename))[1], qr/ERROR/, 'and comes');
is(value($node, q{SELECT unit_through = 'shop.person'::regclass FROM dp_pg.relation WHERE relid = 'shop.visit'::regclass}),
	't', 'its unit is behind the new table');

# ---- a snapshot that does not see the table that comes ----

errors($node, 'owner', q{SELECT dp_unprotect('blue.t'), dp_protect('blue.t', dataset => 'shop', follow => true)});
answer($rename, q{SET statement_timeout = '60s'; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM shop.person;});
errors($node, 'owner', 'CREATE SCHEMA red; CREATE TABLE red.t AS SELECT 1 AS id');
unlike((answer($rename, 'ALTER SCHEMA blue RENAME TO blue_old; ALTER SCHEMA red RENAME TO blue; COMMIT;'))[1],
	qr/ERROR/, 'it comes');
is(value($node, q{SELECT relid FROM dp_pg.relation WHERE relid = 'blue.t'::regclass}), 'blue.t', 'and is protected');
errors($node, 'owner', 'DROP SCHEMA blue_old CASCADE');

# ---- a dump, while no table has the name ----

errors($node, 'owner', 'DROP TABLE shop.orders CASCADE; DROP TABLE old.t');
$node->safe_psql('postgres', "CREATE DATABASE copy");
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'dump');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), $dump ], 'restore');
is($node->safe_psql('copy', q{SELECT count(*) FROM dp_pg.relation_name WHERE follow AND schema = 'blue' AND relid = 'blue.t'::regclass}),
	1, 'wishes are restored');
$node->safe_psql('copy', "SET ROLE owner; CREATE TABLE shop.orders AS $orders");
is(sqlstate($node, 'ana', 'SELECT * FROM shop.orders', 'copy'), '42501', 'and fulfilled');
is($node->safe_psql('copy', q{SELECT keys FROM dp_pg.attribute WHERE relid = 'shop.orders'::regclass AND attname = 'channel'}),
	'{web,store}', 'with what was declared');
hang_up($_) foreach @analyst, @before, $wish, $rename;
$node->stop;
done_testing();
