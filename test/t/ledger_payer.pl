# The asking role and the payer: groups, SET ROLE, SECURITY DEFINER, owners and
# superusers, and code that runs on behalf of another role.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('payer', <<'EOT');
autovacuum_naptime = 1s
EOT
my ($out, $err);

value($node, <<'EOT');
CREATE ROLE group_1;
CREATE ROLE group_2;
CREATE ROLE shy LOGIN NOINHERIT IN ROLE group_1;
CREATE ROLE member LOGIN IN ROLE group_1;
CREATE ROLE deputy LOGIN IN ROLE owner;
CREATE ROLE outsider LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('group_1', 'h', epsilon => 100, filter => 'basic');
SELECT dp_grant('group_2', 'h', epsilon => 100, filter => 'basic');
EOT

# "payer, role, login" of the newest line.
sub newest
{
	return value($node,
		"SELECT coalesce(payer, '-') || ' ' || role || ' ' || login_role"
		  . " FROM dp_pg.ledger ORDER BY id DESC LIMIT 1");
}

sub pays
{
	my ($name, $user, $sql, $expected) = @_;
	my $before = charges($node);

	is(sqlstate($node, $user, $sql), '', "$name: charged");
	is(charges($node), $before + 1, "$name: once");
	is(newest(), $expected, "$name: who paid, asked, logged in");
	return;
}

sub refused
{
	my ($name, $user, $sql, $state) = @_;
	my $before = charges($node);

	is(sqlstate($node, $user, $sql), $state, "$name: refused");
	is(charges($node), $before, "$name: not charged");
	return;
}

my $charge = "SELECT dp_pg.charge('h', 'm', 1);";

pays('own budget', 'alice', $charge, 'alice alice alice');
refused('no budget', 'outsider', $charge, '42501');
refused('no dataset', 'alice', "SELECT dp_pg.charge('x', 'm', 1)", '42704');
pays('budget of a group', 'member', $charge, 'group_1 member member');
refused('group without its rights', 'shy', $charge, '42501');
pays('after SET ROLE', 'shy', "SET ROLE group_1; $charge",
	'group_1 group_1 shy');
value($node, 'GRANT group_2 TO member');
refused('two groups', 'member', $charge, '42501');
pays('two groups, SET ROLE', 'member', "SET ROLE group_2; $charge",
	'group_2 group_2 member');
value($node,
	"SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_grant('member', 'h', epsilon => 1.5, filter => 'basic')");
pays('own budget before the groups\'', 'member', $charge,
	'member member member');
refused('own budget exhausted, the groups do not help',
	'member', $charge, '53400');

# Exempt: owner, deputy, superuser.
pays('owner', 'owner', $charge, '- owner owner');
pays('who inherits from the owner', 'deputy', $charge, '- deputy deputy');
pays('superuser', 'postgres', $charge, '- postgres postgres');
pays('superuser as somebody', 'postgres', "SET ROLE alice; $charge",
	'alice alice postgres');
pays('superuser in another session role', 'postgres',
	"SET SESSION AUTHORIZATION alice; $charge", 'alice alice postgres');

# SECURITY DEFINER.
value($node, <<'EOT');
CREATE FUNCTION by_owner() RETURNS bigint SECURITY DEFINER LANGUAGE sql
	AS $$ SELECT dp_pg.charge('h', 'm', 1) $$;
ALTER FUNCTION by_owner OWNER TO owner;
CREATE FUNCTION by_postgres() RETURNS bigint SECURITY DEFINER LANGUAGE sql
	AS $$ SELECT dp_pg.charge('h', 'm', 1) $$;
CREATE FUNCTION by_alice() RETURNS bigint SECURITY DEFINER LANGUAGE sql
	AS $$ SELECT dp_pg.charge('h', 'm', 1) $$;
ALTER FUNCTION by_alice OWNER TO alice;
CREATE FUNCTION by_outsider() RETURNS bigint SECURITY DEFINER LANGUAGE sql
	AS $$ SELECT dp_pg.charge('h', 'm', 1) $$;
ALTER FUNCTION by_outsider OWNER TO outsider;
EOT
pays('procedure of the owner', 'alice', 'SELECT by_owner()',
	'alice alice alice');
refused('procedure of the owner, no budget',
	'outsider', 'SELECT by_owner()', '42501');
pays('procedure of a superuser', 'alice', 'SELECT by_postgres()',
	'alice alice alice');
pays('superuser runs an analyst\'s function', 'postgres',
	'SELECT by_alice()', 'alice alice postgres');
pays('owner runs an analyst\'s function', 'owner', 'SELECT by_alice()',
	'alice alice owner');
refused('superuser runs the function of a role without budget',
	'postgres', 'SELECT by_outsider()', '42501');
refused('an analyst cannot spend another\'s budget',
	'outsider', 'SELECT by_alice()', '42501');

# Code that runs on somebody else's behalf: never anybody's unlimited budget.
value($node, <<'EOT');
CREATE FUNCTION sly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql
	AS 'BEGIN RETURN $1; END';
ALTER FUNCTION sly OWNER TO alice;
SET SESSION AUTHORIZATION alice;
CREATE TABLE bait (x int);
CREATE INDEX ON bait (sly(x));
INSERT INTO bait SELECT generate_series(1, 100);
CREATE MATERIALIZED VIEW stale AS SELECT sly(1) AS x WITH NO DATA;
CREATE OR REPLACE FUNCTION sly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN PERFORM dp_pg.charge(''h'', ''sly'', 1); RETURN $1; END';
EOT
foreach my $user ('postgres', 'alice')
{
	refused("ANALYZE by $user", $user, 'ANALYZE bait', '0A000');
	refused("REINDEX by $user", $user, 'REINDEX TABLE bait', '0A000');
}
refused('REFRESH by a superuser', 'postgres', 'REFRESH MATERIALIZED VIEW stale', '0A000');
pays('REFRESH by its owner', 'alice', 'REFRESH MATERIALIZED VIEW stale', 'alice alice alice');
my $before = charges($node);
my $offset = -s $node->logfile;

value($node, <<'EOT');
SET SESSION AUTHORIZATION alice;
ALTER TABLE bait SET (autovacuum_analyze_threshold = 1,
	autovacuum_analyze_scale_factor = 0);
CREATE OR REPLACE FUNCTION sly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN RETURN $1; END';
INSERT INTO bait SELECT generate_series(1, 1000);
CREATE OR REPLACE FUNCTION sly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN PERFORM dp_pg.charge(''h'', ''sly'', 1); RETURN $1; END';
EOT
eval {
	$node->wait_for_log(qr/private queries are not allowed/, $offset);
	pass('autovacuum is refused');
	1;
} or fail('autovacuum is refused');
is(charges($node), $before, 'autovacuum charges nobody');

# In a parallel operation, under a function that is marked wrongly.
value($node, <<'EOT');
CREATE FUNCTION parallel_charge() RETURNS bigint LANGUAGE plpgsql
PARALLEL SAFE AS 'BEGIN RETURN dp_pg.charge(''h'', ''parallel'', 1); END';
CREATE FUNCTION parallel_open() RETURNS bigint LANGUAGE plpgsql
PARALLEL SAFE AS 'BEGIN RETURN dp_batch_open(''h'', 0.1, 3); END';
CREATE FUNCTION parallel_close() RETURNS int LANGUAGE plpgsql
PARALLEL SAFE AS 'BEGIN RETURN dp_batch_close(1); END';
CREATE TABLE many AS SELECT FROM generate_series(1, 10000);
GRANT SELECT ON many TO alice;
EOT
foreach my $function ('parallel_charge', 'parallel_open', 'parallel_close')
{
	is( sqlstate(
			$node, 'alice', 'SET parallel_setup_cost = 0;'
			  . ' SET parallel_tuple_cost = 0;'
			  . ' SET min_parallel_table_scan_size = 0;'
			  . " SELECT count(*) FROM many WHERE $function() > 0"),
		'25000',
		"$function: not in a parallel operation");
}
is(charges($node, 'parallel'), 0, 'nothing was charged');

# Rights are those at the moment of the charge.
my $s = session($node, 'alice');

answer($s,
	"BEGIN; DECLARE c CURSOR FOR SELECT dp_pg.charge('h', 'cursor', 1)"
	  . " FROM generate_series(1, 5);");
($out, $err) = answer($s, 'FETCH c;');
like($out, qr/^\d+$/, 'a cursor charges as it is read');
value($node, "SET SESSION AUTHORIZATION owner;"
	  . " SELECT dp_revoke('alice', 'h')");
($out, $err) = answer($s, 'FETCH c;');
like($err, qr/42501/, 'a revoked budget stops a cursor declared before');
is(charges($node, 'cursor'), 1, 'one charge');
hang_up($s);

$node->stop;
done_testing();
