# Ordinary statements: dp_pg allocates no memory for one before PostgreSQL plans it,
# and uses no hook that planning calls repeatedly.  ordinary.c, which is built here,
# is preloaded before dp_pg and checks that.  And rights, which are cached, are
# always the present ones.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = test_library('ordinary');
my $node = attack_node('ordinary', "shared_preload_libraries = '$library, dp_pg'\n");

value($node, <<"EOT");
CREATE FUNCTION ordinary_watch() RETURNS void LANGUAGE c AS '$library';
CREATE FUNCTION ordinary_told() RETURNS text LANGUAGE c AS '$library';
CREATE FUNCTION ordinary_hooks() RETURNS int LANGUAGE c AS '$library';
CREATE ROLE reader LOGIN;
ALTER ROLE reader SET client_min_messages = warning;
ALTER ROLE reader SET dp_pg.reuse = off;
GRANT CREATE ON SCHEMA public TO reader;
SELECT dp_grant('reader', dataset => 'hospital', epsilon => 1e9);
ALTER ROLE reader SET dp_pg.epsilon = '1000';
CREATE TABLE plain (id int PRIMARY KEY, v int);
INSERT INTO plain SELECT i, i % 10 FROM generate_series(1, 100) AS i;
CREATE VIEW seen AS SELECT id, v FROM plain WHERE v > 3;
CREATE TABLE few (id int, v int);
CREATE POLICY own ON few USING (id IN (SELECT id FROM plain));
ALTER TABLE few ENABLE ROW LEVEL SECURITY;
GRANT ALL ON plain, seen, few TO reader;
CREATE AGGREGATE own_sum(int) (sfunc = int4pl, stype = int, initcond = '0');
CREATE FUNCTION numbers(n int) RETURNS SETOF int LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT v FROM plain WHERE id = n; END';
CREATE FUNCTION asked() RETURNS SETOF bigint LANGUAGE sql STABLE AS 'SELECT dp_count(*) FROM patients';
SET SESSION AUTHORIZATION owner;
CREATE VIEW in_view AS SELECT dp_count(*) AS n FROM patients;
CREATE TABLE kept (n bigint);
CREATE TABLE ruled (n bigint);
CREATE RULE asks AS ON INSERT TO ruled DO INSTEAD SELECT dp_count(*) FROM patients;
CREATE TABLE later (id int) PARTITION BY RANGE (id);
CREATE TABLE later_1 PARTITION OF later FOR VALUES FROM (0) TO (10);
INSERT INTO later VALUES (1), (2);
CREATE VIEW later_view WITH (security_invoker) AS SELECT id FROM later;
CREATE FUNCTION in_sql() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM later';
CREATE FUNCTION in_plpgsql() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM later); END';
CREATE TABLE by_policy (id int);
CREATE POLICY in_later ON by_policy USING (id IN (SELECT id FROM later));
ALTER TABLE by_policy ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON later, later_1, later_view, by_policy TO reader;
EOT

# ---- no memory ----

my $reader = session($node, 'reader');
my $four = 'FROM plain a JOIN plain b USING (id) JOIN plain c USING (id) JOIN plain d USING (id) WHERE a.v > 3 AND b.v < 5 OR c.v IN (1, 2)';
my @ordinary = ('SELECT v FROM plain WHERE id = 1', "SELECT count(*) $four", 'SELECT own_sum(v) FROM plain WHERE id = 1',
	"SELECT own_sum(a.v) $four", 'SELECT own_sum(v) OVER (ORDER BY id) FROM plain LIMIT 1', 'SELECT * FROM seen WHERE id = 5', 'SELECT count(*) FROM few',
	'WITH w AS (SELECT * FROM plain) SELECT (SELECT max(v) FROM w) FROM w WHERE id IN (SELECT own_sum(v) FROM seen) ORDER BY 1 LIMIT 1',
	'SELECT n FROM numbers(3) AS n', 'SELECT numbers(3)', 'SELECT relname FROM pg_class LIMIT 1', 'VALUES (1), (2)', 'UPDATE plain SET v = v WHERE id = 1',
	'INSERT INTO plain VALUES (1, 1) ON CONFLICT DO NOTHING', 'DELETE FROM plain WHERE id = -1', 'EXECUTE prepared', 'EXPLAIN SELECT v FROM plain',
	'COPY (SELECT v FROM plain WHERE id = 1) TO STDOUT', 'DECLARE c CURSOR WITH HOLD FOR SELECT v FROM plain', 'CLOSE c', 'CREATE TABLE made (a int)',
	"SET work_mem = '4MB'", 'BEGIN', 'COMMIT');

answer($reader, 'PREPARE prepared AS SELECT v FROM plain WHERE id = 1; SELECT ordinary_watch();');
is((answer($reader, 'SELECT ordinary_hooks();'))[0], '0', 'no hook of each column or join is taken');
foreach my $statement (@ordinary)
{
	answer($reader, "$statement; SELECT ordinary_told();") if $statement !~ /^(?:DECLARE|CLOSE|CREATE|BEGIN|COMMIT)/;
	my ($out, $err) = answer($reader, "$statement; SELECT ordinary_told();");

	like("$err$out", qr{(?:^|\n)0/[1-9]\d*$}, "no memory is taken: $statement");
}
like((answer($reader, 'SELECT dp_count(*) FROM patients; SELECT ordinary_told();'))[0], qr{^10000\n[1-9]\d*/}, 'it is for a private one');
is((answer($reader, 'SELECT ordinary_hooks();'))[0], '0', 'whose hooks are gone with it');
is((answer($reader, 'SELECT own_sum(a::int) FROM asked() AS a;'))[0], '10000', 'which may be in a function in FROM');
hang_up($reader);

# ---- nothing private is ordinary ----

# Wherever a private aggregate stands, for who has all rights: not seen, it
# would be executed as it is, which is an error.
my $count = '(SELECT dp_count(*) FROM patients)';
foreach my $statement ('SELECT (SELECT dp_count(p.id)) FROM patients AS p', 'SELECT (SELECT 1 WHERE dp_count(p.id) > 0) FROM patients AS p',
	'SELECT (SELECT s.x FROM (SELECT (SELECT dp_count(p.id)) AS x) AS s) FROM patients AS p', 'SELECT 1 FROM patients HAVING dp_count(*) > 0',
	'SELECT 1 FROM patients ORDER BY dp_count(*)', 'SELECT sum(dp_count(*)) OVER () FROM patients', "SELECT 1 WHERE $count > 0", "SELECT 1 LIMIT $count",
	"SELECT g FROM generate_series(10000, $count) AS g", "VALUES (1), ($count)", "SELECT 1 FROM (VALUES (1)) AS a JOIN (VALUES (2)) AS b ON $count > 0",
	"SELECT 1 UNION ALL $count", "WITH w AS (SELECT dp_count(*) AS n FROM patients) SELECT n FROM w", "SELECT n FROM $count AS s (n)",
	"SELECT n FROM (VALUES (1)) AS v, LATERAL $count AS s (n)", "INSERT INTO kept $count", "INSERT INTO kept VALUES (1) RETURNING $count",
	"UPDATE kept SET n = $count", "DELETE FROM kept WHERE n < $count RETURNING $count", "CREATE TABLE kept_too AS $count", "COPY $count TO STDOUT",
	"DO \$\$ BEGIN PERFORM $count; END \$\$", "BEGIN; DECLARE c CURSOR FOR $count; FETCH c; COMMIT", "PREPARE q AS $count; EXECUTE q",
	"SELECT * FROM kept WHERE n = (SELECT max(n) FROM $count AS s (n))", 'SELECT n FROM in_view', 'SELECT n FROM asked() AS n', 'INSERT INTO ruled VALUES (1)')
{
	is(sqlstate($node, 'owner', $statement), '', "seen: $statement");
}

# What may be read no longer is refused at once, however it is named.
my $forgetful = session($node, 'reader');
my @named = ('SELECT id FROM later', 'SELECT later FROM later', 'SELECT 1 FROM later', 'SELECT (SELECT max(id) FROM later)', 'SELECT 1 WHERE EXISTS (SELECT FROM later)',
	'WITH w AS (SELECT id FROM later) SELECT count(*) FROM w', 'SELECT id FROM later_view', 'SELECT id FROM later_1', 'SELECT count(*) FROM in_sql()',
	'SELECT in_plpgsql()', 'EXECUTE e', 'COPY (SELECT id FROM later) TO STDOUT', 'COPY later_1 TO STDOUT', 'EXPLAIN SELECT id FROM later',
	'DECLARE d CURSOR WITH HOLD FOR SELECT id FROM later; CLOSE d', 'SELECT count(*) FROM by_policy', 'UPDATE plain SET v = v WHERE id IN (SELECT id FROM later)',
	'CREATE TEMP TABLE t AS SELECT id FROM later; DROP TABLE t', 'SELECT own_sum(id) FROM later');

answer($forgetful, 'PREPARE e AS SELECT id FROM later;');
is(join('', map { (answer($forgetful, "$_;"))[1] } @named, @named), '', 'all of these may be read');
$node->safe_psql('postgres', "REVOKE SELECT ON later, later_1 FROM reader; SELECT dp_protect('later', dataset => 'hospital');", extra_params => [ '-U', 'owner' ]);
foreach my $statement (@named)
{
	like((answer($forgetful, "$statement;"))[1], qr/^ERROR:  42501/, "refused: $statement");
}
hang_up($forgetful);

# ---- rights of now ----

# In transparent mode a count is plain, and free, for who may read the rows.
value($node, 'CREATE ROLE staff; GRANT SELECT ON patients TO staff; ALTER ROLE reader NOINHERIT');
my $asker = session($node, 'reader');

answer($asker, 'SET dp_pg.transparent = on; PREPARE count AS SELECT count(id) FROM patients;');

sub asked
{
	my ($session, $statement) = @_;
	my $before = charges($node);
	my $answer = join '', answer($session, "$statement;");

	return $answer eq '10000' ? charges($node) - $before ? 'private' : 'plain' : $answer;
}

foreach my $change (['GRANT SELECT ON patients TO reader', 'plain'], ['REVOKE SELECT ON patients FROM reader', 'private'],
	['GRANT SELECT (id) ON patients TO reader', 'plain'], ['REVOKE SELECT (id) ON patients FROM reader', 'private'],
	['ALTER ROLE reader SUPERUSER', 'plain'], ['ALTER ROLE reader NOSUPERUSER', 'private'], ['GRANT staff TO reader', 'private'])
{
	value($node, $change->[0]);
	is(asked($asker, 'SELECT count(id) FROM patients'), $change->[1], "$change->[1] after $change->[0]");
	is(asked($asker, 'EXECUTE count'), $change->[1], 'and prepared') if $change->[0] =~ /ON/;
}
answer($asker, 'SET ROLE staff;');
is(asked($asker, 'SELECT count(id) FROM patients'), 'plain', 'plain as another role');
is(asked($asker, 'EXECUTE count'), 'plain', 'and prepared');
answer($asker, 'RESET ROLE;');
is(asked($asker, 'SELECT count(id) FROM patients'), 'private', 'private as oneself');
is(asked($asker, 'EXECUTE count'), 'private', 'and prepared');
value($node, 'REVOKE staff FROM reader; ALTER ROLE reader INHERIT');
foreach my $role ('staff', 'pg_read_all_data')
{
	value($node, "GRANT $role TO reader");
	is(asked($asker, 'SELECT count(id) FROM patients'), 'plain', "plain as a member of $role");
	value($node, "REVOKE $role FROM reader");
	is(asked($asker, 'SELECT count(id) FROM patients'), 'private', 'private as none');
}
hang_up($asker);

my $own = session($node, 'postgres');

answer($own, "SET dp_pg.transparent = on; SET dp_pg.epsilon = '1000'; SET dp_pg.reuse = off; SET client_min_messages = warning; BEGIN; GRANT SELECT ON patients TO reader; SET ROLE reader;");
is(asked($own, 'SELECT count(id) FROM patients'), 'plain', 'plain in the transaction that has granted it');
answer($own, 'ROLLBACK; SET ROLE reader;');
is(asked($own, 'SELECT count(id) FROM patients'), 'private', 'private after its end');
hang_up($own);
done_testing();
