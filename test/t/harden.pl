# dp_harden and dp_unharden across connections, dumps, copies and DROP EXTENSION,
# and what ordinary roles and their tools can still do in between.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('source', "fsync = on\n");
my $dump = $node->basedir . '/dump.sql';

# Privileges by name: what they are must survive a restore.
my $acls = <<'EOT';
SELECT string_agg(x, E'\n' ORDER BY x COLLATE "C") FROM (
	SELECT c.oid::regclass || ' ' || privilege_type || ' ' || is_grantable || ' ' || grantee::regrole || ' ' || grantor::regrole
	FROM pg_class c, aclexplode(coalesce(relacl, acldefault('r', relowner))) WHERE c.relkind IN ('r', 'v')
	UNION ALL
	SELECT attrelid::regclass || '.' || attname || ' ' || privilege_type || ' ' || is_grantable || ' ' || grantee::regrole || ' ' || grantor::regrole
	FROM pg_attribute, aclexplode(attacl)
	UNION ALL
	SELECT p.oid::regprocedure || ' ' || privilege_type || ' ' || is_grantable || ' ' || grantee::regrole || ' ' || grantor::regrole
	FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE pronamespace = 'pg_catalog'::regnamespace
) u (x) WHERE x !~ '^dp_pg\.'
EOT

# The same privileges?  Shows those that one side lacks.
sub same
{
	my ($got, $wanted, $name) = @_;
	my %got = map { $_ => 1 } split /\n/, $got;
	my %wanted = map { $_ => 1 } split /\n/, $wanted;

	return is_deeply([ [ sort grep { !$wanted{$_} } keys %got ], [ sort grep { !$got{$_} } keys %wanted ] ],
		[ [], [] ], $name);
}

# The words of the rows that dp_harden did not close.
sub told
{
	my ($db) = @_;

	return value($node, 'SELECT string_agg(object, \', \' ORDER BY object COLLATE "C")'
		  . ' FROM dp_harden() WHERE NOT done', $db);
}

value($node, <<'EOT');
CREATE ROLE reader LOGIN;
CREATE ROLE missing LOGIN;
GRANT SELECT ON patients TO reader WITH GRANT OPTION;
SET ROLE reader;
GRANT SELECT ON patients TO missing;
RESET ROLE;
SET ROLE owner;
CREATE VIEW ages AS SELECT age FROM patients;
GRANT SELECT ON ages TO analyst;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM owner, analyst;
CREATE SCHEMA analyst AUTHORIZATION analyst;
EOT
my @owner_dumps = ('pg_dump', '-U', 'owner', '-t', 'patients', '-f', $node->basedir . '/table.sql',
	'-d', $node->connstr('postgres'));
command_ok(\@owner_dumps, 'the owner dumps a table');
my $before = value($node, $acls);
is(told(), '', 'all that a fresh server has is closed');
my $after = value($node, $acls);
isnt($after, $before, 'privileges changed');
is(value($node, 'SELECT count(*) FROM dp_audit()'), 0, 'nothing is found');

# ---- life goes on ----

is(errors($node, 'analyst', <<'EOT'), '', 'the analyst asks, psql and tools look around');
SELECT dp_count(*) FROM patients;
SELECT age, dp_count(*) FROM patients GROUP BY age HAVING dp_count(*) > 1;
EXPLAIN SELECT dp_count(*) FROM patients;
SELECT * FROM dp_pg.my_budget;
SELECT * FROM dp_pg.hardened;
SELECT * FROM dp_audit();
SELECT * FROM dp_last_release();
CREATE TABLE mine (id int PRIMARY KEY, x text);
INSERT INTO mine VALUES (1, 'a');
CREATE INDEX ON mine (x);
ANALYZE mine;
SELECT * FROM information_schema.columns WHERE table_name = 'mine';
SELECT * FROM pg_tables, pg_indexes LIMIT 1;
SELECT relname, relkind, relnamespace::regnamespace FROM pg_class LIMIT 1;
\d mine
\d
\dt
\di
\dv
\df dp_count
\dn+
\du
EOT
is(errors($node, 'owner', <<'EOT'), '', 'so does the owner');
SELECT count(*) FROM patients;
SELECT dp_declare('patients', 'age', lower => 0, upper => 130);
SELECT dp_grant('analyst', 'hospital', epsilon => 1e9);
VACUUM ANALYZE patients;
EOT
# What doc/owner.md says ordinary roles lose; harden_tools.pl asks more.
is(value($node, "SET ROLE analyst; SELECT reltuples, relpages, pg_relation_size(oid), pg_stat_get_live_tuples(oid) FROM pg_class WHERE relname = 'mine'"),
	'-1|0||', 'rows, pages and sizes are unknown');
is(value($node, 'SET ROLE analyst; SELECT count(*) FROM pg_stat_user_tables WHERE n_live_tup IS NOT NULL'), 0, 'so are counters');
foreach my $lost ('SELECT ctid, reltuples FROM pg_class', 'SELECT * FROM pg_stat_wal', 'SELECT pg_current_wal_lsn()')
{
	is(sqlstate($node, 'analyst', $lost), '42501', "no $lost");
}
value($node, 'DROP TABLE analyst.mine');
command_fails_like(\@owner_dumps, qr/permission denied for table pg_class/, 'no pg_dump');
value($node, 'CREATE ROLE backup LOGIN; GRANT pg_read_all_data TO backup');
command_ok([ @owner_dumps[0, 1], 'backup', '-N', 'dp_pg', @owner_dumps[5 .. 8] ], 'but by a member of pg_read_all_data');
command_fails_like([ @owner_dumps[0, 1], 'backup', @owner_dumps[5 .. 8] ], qr/row-level security/, 'without the schema dp_pg');
value($node, 'DROP ROLE backup');
value($node, 'GRANT EXECUTE ON FUNCTION pg_relation_size(regclass), pg_relation_size(regclass, text) TO owner');
is(sqlstate($node, 'owner', "SELECT pg_relation_size('patients')"), '',
	'what a tool needs can be granted');
is(value($node, 'SELECT count(*) FROM dp_audit()'), 0, 'which is no finding');
value($node, 'GRANT SELECT ON pg_class TO owner');
command_ok(\@owner_dumps, 'and what pg_dump needs');
is(value($node, 'SELECT object FROM dp_audit()'), 'pg_class', 'which is one');
value($node, 'REVOKE SELECT ON pg_class FROM owner');
is(value($node, 'SELECT count(*) FROM dp_audit()'), 0, 'until it is taken back');

# ---- two at once ----

my $first = session($node, 'postgres');
my $second = session($node, 'postgres');

value($node, 'GRANT SELECT ON ages TO analyst');
answer($first, 'BEGIN;');
is((answer($first, 'SELECT object, done FROM dp_harden();'))[0], 'public.ages|t', 'the first closes');
ask($second, 'SELECT object, done FROM dp_harden();');
wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'dp_pg.hardened'::regclass");
answer($first, 'COMMIT;');
is_deeply([ answer($second) ], [ '', '' ], 'the second waits, and finds nothing');
answer($first, 'BEGIN;');
like((answer($first, 'SELECT count(*) FROM dp_unharden();'))[0], qr/^\d+$/, 'given back');
ask($second, 'SELECT count(*) FROM dp_unharden();');
wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'dp_pg.hardened'::regclass");
answer($first, 'ROLLBACK;');
unlike((answer($second))[0], qr/^0$/, 'by the second, when the first did not');
hang_up($first);
hang_up($second);
is(value($node, 'SELECT count(*) FROM dp_pg.hardened'), 0, 'all of it');
value($node, 'REVOKE EXECUTE ON FUNCTION pg_relation_size(regclass), pg_relation_size(regclass, text) FROM owner');
same(value($node, $acls), $before, 'all is as before');

# ---- another database of the server ----

is(told(), '', 'again');
isnt(value($node, "SELECT count(*) FROM aclexplode((SELECT relacl FROM pg_class"
	  . " WHERE oid = 'pg_class'::regclass)) WHERE grantee = 0", 'template1'),
	0, 'other databases are as they were');
value($node, 'CREATE DATABASE copy TEMPLATE postgres');
like(value($node, 'SELECT severity, finding FROM dp_audit()', 'copy'),
	qr/^critical\|it is a copy of the dataset in database postgres: [^\n]*$/, 'a copy is as its template, but for being one');
is(value($node, 'SELECT bool_and(done) FROM dp_unharden()', 'copy'), 't', 'where it can be undone');
same(value($node, $acls, 'copy'), $before, 'by itself');
same(value($node, $acls), $after, 'here all is closed still');

# ---- a dump keeps what was closed, and what was taken ----

command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'dump');
my $target = PostgreSQL::Test::Cluster->new('target');
$target->init;
$target->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'\nfsync = on\nmax_worker_processes = 16\n");
$target->start;
# reader and owner have other OIDs, and one role has not come along
$target->safe_psql('postgres', 'CREATE ROLE reader LOGIN; CREATE ROLE owner LOGIN; CREATE ROLE analyst LOGIN');
command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $target->connstr('postgres'), '-f', $dump ],
	'restore into another cluster');
same($target->safe_psql('postgres', $acls), $after, 'all is closed there too');
like($target->safe_psql('postgres', 'SELECT finding FROM dp_audit()'), qr/^it is a copy of [^\n]*$/,
	'as its audit says');
is( $target->safe_psql('postgres', 'SELECT object, why FROM dp_unharden() WHERE NOT done'),
	'public.patients|role missing does not exist', 'all but one role gets back what was taken');
same($target->safe_psql('postgres', $acls), join("\n", grep { !/ missing / } split /\n/, $before), 'and nothing else');
$target->safe_psql('postgres', 'CREATE ROLE missing');
is($target->safe_psql('postgres', 'SELECT object, done FROM dp_unharden()'), 'public.patients|t',
	'and it when it comes');
same($target->safe_psql('postgres', $acls), $before, 'in its grantor\'s name');
$target->stop;

# ---- without the extension ----

value($node, 'DROP EXTENSION dp_pg');
same(value($node, $acls), $after, 'DROP EXTENSION opens nothing');
value($node, 'CREATE EXTENSION dp_pg');
is(value($node, 'SELECT count(*) FROM dp_unharden()'), 0, 'and forgets what was taken');

$node->stop;
done_testing();
