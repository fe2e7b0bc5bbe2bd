# Features of later versions of PostgreSQL that could evade protection: the
# privilege MAINTAIN (17), virtual generated columns and NOT NULL that was never
# checked (18).  Older versions refuse the statements that make them.  Also
# dependencies of views, which are not in the range table since 16, and who may
# count rows with VACUUM.  Answers are exact except with probability 2 exp(-1000).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('versions');
my $version = $node->pg_version->major;

sub owner_runs
{
	return sqlstate($node, 'owner', $_[0]);
}

sub analyst_gets
{
	my ($out, $err) = as($node, 'analyst', $_[0]);

	return $err =~ /ERROR: *(.*)/ ? $1 : $out;
}

sub findings
{
	return value($node, 'SELECT finding FROM dp_audit()');
}

# ---- MAINTAIN ----
owner_runs('CREATE TABLE kept (id int PRIMARY KEY)');
if ($version >= 17)
{
	is(owner_runs('GRANT MAINTAIN ON kept TO analyst'), '', 'MAINTAIN');
	like(
		errors($node, 'owner', "SELECT dp_protect('kept')"),
		qr/analyst has MAINTAIN on public\.kept.*REVOKE MAINTAIN ON public\.kept FROM analyst CASCADE;/s,
		'is an exposure, told with its remedy');
	is(owner_runs("SELECT dp_protect('kept', revoke => true)"), '', 'mended');
	is( sqlstate($node, 'analyst', 'VACUUM (VERBOSE) kept'),
		'', 'a warning and no count');
	unlike(errors($node, 'analyst', 'VACUUM (VERBOSE) kept'),
		qr/row versions|tuples/, 'for the analyst');
	like(
		errors($node, 'owner', 'GRANT MAINTAIN ON kept TO analyst'),
		qr/WARNING: .*can learn rows/,
		'a later grant warns');
	like(findings(), qr/analyst has MAINTAIN on public\.kept/, 'and is found');
	value($node, 'GRANT pg_maintain TO analyst');
	like(findings(), qr/role analyst has the rights of pg_maintain/,
		'as is the role of that name');
	value($node, 'REVOKE pg_maintain FROM analyst;'
		  . ' REVOKE MAINTAIN ON kept FROM analyst');
}
else
{
	is(owner_runs('GRANT MAINTAIN ON kept TO analyst'),
		'42601', 'no MAINTAIN yet');
}

# ---- who counts rows with VACUUM, who makes himself a member ----
unlike(findings(), qr/owns the database|administers/, 'nobody does yet');
value($node, 'ALTER DATABASE postgres OWNER TO analyst');
like(findings(), qr/role analyst owns the database/, 'the owner of it all');
value($node, 'ALTER DATABASE postgres OWNER TO CURRENT_USER');
value($node, 'CREATE ROLE boss; GRANT owner TO boss WITH ADMIN OPTION');
like(findings(), qr/role boss administers owner/, 'and who administers');
value($node, 'DROP ROLE boss; CREATE ROLE maker CREATEROLE');
if ($version < 16)
{
	like(findings(), qr/maker may make itself a member/, 'or makes roles');
}
else
{
	unlike(findings(), qr/maker/, 'not who only makes roles of his own');
}

# A grant ends in the name of who made it, since 16; who administers a member
# of the owner's role administers that.
value($node, 'CREATE ROLE middle; GRANT owner TO middle WITH ADMIN OPTION;'
	  . ' CREATE ROLE far; GRANT middle TO far WITH ADMIN OPTION;'
	  . ' SET SESSION AUTHORIZATION middle; GRANT owner TO analyst');
like(findings(), qr/far administers middle, a member of owner/, 'from afar');
like(findings(), qr/analyst has a budget and is a member of owner/, 'a member');
value($node, $_)
  for split /\n/, value($node,
	"SELECT remedy FROM dp_audit() WHERE object IN ('far', 'analyst', 'middle')");
value($node, 'REVOKE CREATE ON SCHEMA public FROM analyst, owner');
unlike(findings(), qr/far|analyst|middle/, 'the remedies end all of it');
value($node, 'GRANT CREATE ON SCHEMA public TO analyst, owner');

# After the remedies nobody calls what tells of pages, counters and the WAL.
value($node, $_)
  for split /\n/,
  value($node, "SELECT remedy FROM dp_audit() WHERE finding ~ '^everybody'");
unlike(findings(), qr/everybody/, 'the remedies for everybody close them');
foreach my $call (
	"pg_logical_emit_message(false, 'a', 'b')",
	'pg_control_checkpoint()', 'pg_get_replication_slots()',
	'pg_stat_get_archiver()',
	'pg_current_wal_lsn()', 'pg_last_wal_receive_lsn()',
	'pg_last_wal_replay_lsn()', 'pg_control_recovery()')
{
	is(sqlstate($node, 'analyst', "SELECT $call"), '42501', "no $call");
}

# Sizes and counters are NULL, as what is not known, instead of an error.
value($node, 'CREATE FUNCTION counted() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$');
foreach my $call (
	"pg_tablespace_size('pg_default')", "pg_database_size('postgres')",
	"pg_relation_size('patients')", "pg_stat_get_function_calls('counted'::regproc)",
	"pg_stat_get_xact_function_calls('counted'::regproc)",
	"pg_stat_get_db_xact_commit((SELECT oid FROM pg_database WHERE datname = 'postgres'))")
{
	is(value($node, "SET SESSION AUTHORIZATION analyst; SELECT $call IS NULL"), 't', "unknown: $call");
}
value($node, "ALTER SYSTEM SET track_functions = 'all'; SELECT pg_reload_conf()");
$node->poll_query_until('postgres',
	"SELECT EXISTS (SELECT FROM dp_audit() WHERE object = 'track_functions')");
like(findings(), qr/calls and times of functions are counted/,
	'track_functions');

# ---- columns whose expression can change (SET EXPRESSION, 17) ----
owner_runs('CREATE TABLE moved (id int PRIMARY KEY, a int NOT NULL,'
	  . ' p int GENERATED ALWAYS AS (a) STORED);'
	  . " SELECT dp_protect('moved', unit => 'id', dataset => 'hospital')");
is(owner_runs("SELECT dp_declare('moved', 'p', immutable => true)"),
	'22023', 'are never immutable');

# ---- virtual generated columns ----
my $make = <<'EOT';
CREATE TABLE made (id int PRIMARY KEY, a int NOT NULL,
	half int GENERATED ALWAYS AS (a / 2) VIRTUAL,
	partial int GENERATED ALWAYS AS (1000 / a) VIRTUAL,
	refused text GENERATED ALWAYS AS (a::text) VIRTUAL);
INSERT INTO made SELECT i, i % 10 FROM generate_series(1, 1000) i;
SELECT dp_protect('made', unit => 'id', dataset => 'hospital');
SELECT dp_declare('made', 'half', lower => 0, upper => 4);
SELECT dp_declare('made', 'partial', lower => 0, upper => 1000);
EOT
if ($version >= 18)
{
	is(owner_runs($make), '', 'virtual columns');
	is( analyst_gets('SELECT dp_count(*) FROM made WHERE half >= 3'),
		400, 'in WHERE');
	is( analyst_gets('SELECT half, dp_count(*) FROM made GROUP BY 1'),
		"0|200\n1|200\n2|200\n3|200\n4|200\n|0",
		'as a key, with its declaration');
	is(analyst_gets('SELECT dp_sum(half) FROM made'), 2000, 'summed');
	is( analyst_gets('SELECT dp_count(partial) FROM made'),
		900, 'a partial one is NULL where it would be an error');
	is( analyst_gets(
			'SELECT dp_count(p) FROM (SELECT partial AS p FROM made'
			  . ' WHERE half < 3) AS s'),
		500,
		'at every level');
	like(
		errors($node, 'analyst', "SELECT dp_count(*) FROM made WHERE refused = '3'"),
		qr/virtual generated column "refused" cannot be used.*STORED/s,
		'one that is not allowed is refused');
	is( sqlstate($node, 'analyst', "SELECT dp_count(*) FROM made WHERE refused = '3'"),
		'0A000', 'as a shape');
	is( analyst_gets(
			"SELECT * FROM dp_argmax('made', ARRAY['half = 1', 'half >= 2'])"
		),
		'half >= 2',
		'in predicates');
	is( sqlstate($node, 'analyst', "SELECT * FROM dp_argmax('made', ARRAY['refused = ''3'''])"),
		'0A000', 'refused there, too');
	# What a subquery groups by is a key of the level around it.
	my $groups = 'SELECT half, (SELECT m.half FROM pub GROUP BY m.half)'
	  . ' FROM made m GROUP BY m.half HAVING dp_count(*) > 0 ORDER BY 1';

	is( analyst_gets("CREATE TEMP TABLE pub AS SELECT 1 AS x; $groups"),
		"0|0\n1|1\n2|2\n3|3\n4|4", 'grouped in a subquery, too');
	is( sqlstate($node, 'analyst', 'CREATE TEMP TABLE pub AS SELECT 1 AS x; '
			  . $groups =~ s/GROUP BY m.half\)/GROUP BY ROLLUP (m.half) LIMIT 1)/r),
		'0A000', 'not by grouping sets');
	# As a unit it is computed, too: 4 units, of 25 rows each, or 20.
	is(owner_runs(<<'EOT'), '', 'units');
CREATE TABLE of_unit (a int NOT NULL, unit int GENERATED ALWAYS AS (a % 4) VIRTUAL,
	fifth int GENERATED ALWAYS AS (a / (a % 5)) VIRTUAL);
INSERT INTO of_unit SELECT generate_series(1, 100);
SELECT dp_protect('of_unit', unit => 'unit', dataset => 'hospital');
EOT
	my $bounded = 'SET dp_pg.max_rows = %s; SET dp_pg.max_keys = 1; SELECT dp_count(*) FROM of_unit';

	is(analyst_gets(sprintf $bounded, 3), 12, 'a virtual unit is bounded');
	is(analyst_gets(sprintf $bounded, 30), 100, 'and has all its rows');
	owner_runs("SELECT dp_protect('of_unit', unit => 'fifth', dataset => 'hospital')");
	is(analyst_gets(sprintf $bounded, 30), 80, 'where it would be an error there is no unit');
}
else
{
	is(owner_runs($make), '42601', 'no virtual columns yet');
}

# ---- keys of times that do not overlap (18) ----
$make = <<'EOT';
CREATE TABLE stays (id int4range, at daterange, PRIMARY KEY (id, at WITHOUT OVERLAPS));
INSERT INTO stays SELECT '[1,2)', daterange('2020-01-01'::date + i, '2020-01-02'::date + i) FROM generate_series(1, 100) i;
SELECT dp_protect('stays', unit => 'id', dataset => 'hospital');
EOT
if ($version >= 18)
{
	is(owner_runs('CREATE TABLE whole (at daterange, PRIMARY KEY (at WITHOUT OVERLAPS))'),
		'42601', 'never one column alone');
	is(owner_runs($make), '', 'a key of times');
	like(analyst_gets('EXPLAIN SELECT dp_count(*) FROM stays'),
		qr/Contribution Bound: at most|cannot be bounded/, 'proves no unit');
}
else
{
	is(owner_runs($make), '42601', 'no such keys yet');
}

# ---- NOT NULL that was never checked ----
$make = <<'EOT';
CREATE TABLE unchecked (id int UNIQUE, k boolean);
INSERT INTO unchecked SELECT CASE WHEN i > 3 THEN i END, CASE WHEN i > 100 THEN true END
FROM generate_series(1, 1000) i;
ALTER TABLE unchecked ADD CONSTRAINT here NOT NULL id NOT VALID;
ALTER TABLE unchecked ADD CONSTRAINT there NOT NULL k NOT VALID;
EOT
if ($version >= 18)
{
	is(owner_runs($make), '', 'NOT NULL NOT VALID');
	owner_runs("SELECT dp_protect('unchecked', unit => 'id', dataset => 'hospital')");
	like(analyst_gets('EXPLAIN SELECT dp_count(*) FROM unchecked'),
		qr/Contribution Bound: at most/, 'proves no unit');
	is( owner_runs('DELETE FROM unchecked WHERE id IS NULL;'
			  . ' ALTER TABLE unchecked VALIDATE CONSTRAINT here'),
		'', 'validated');
	unlike(analyst_gets('EXPLAIN SELECT dp_count(*) FROM unchecked'),
		qr/Contribution Bound|not|cannot/, 'now it does');
	is( analyst_gets('SELECT k, dp_count(*) FROM unchecked GROUP BY 1'),
		"f|0\nt|900\n|97", 'nor a key without NULL');
	is( owner_runs('DELETE FROM unchecked WHERE k IS NULL;'
			  . ' ALTER TABLE unchecked VALIDATE CONSTRAINT there'),
		'', 'validated');
	is( analyst_gets('SELECT k, dp_count(*) FROM unchecked GROUP BY 1'),
		"f|0\nt|900", 'now it does');
}
else
{
	is(owner_runs($make), '42601', 'every NOT NULL is checked');
}

# ---- views: locked, pinned, and their readers' rights ----
is( owner_runs('CREATE VIEW seen WITH (security_invoker) AS'
		  . ' SELECT id, age FROM patients; GRANT SELECT ON seen TO analyst'),
	'', 'a view');
is(analyst_gets('SELECT dp_count(*) FROM seen WHERE age < 50'), 5000, 'read');
is( sqlstate($node, 'owner',
		'BEGIN; DECLARE c CURSOR FOR SELECT dp_count(*) FROM seen;'
		  . ' DROP VIEW seen'),
	'55006', 'a view in use is pinned');
my $prepared = session($node, 'analyst');
answer($prepared, 'PREPARE p AS SELECT dp_count(*) FROM seen WHERE age < 50;');
is((answer($prepared, 'EXECUTE p;'))[0], 5000, 'prepared') for 1 .. 6;
owner_runs('REVOKE SELECT ON seen FROM analyst');
like((answer($prepared, 'EXECUTE p;'))[1], qr/42501/, 'rights are asked again');
owner_runs('GRANT SELECT ON seen TO analyst;'
	  . ' CREATE OR REPLACE VIEW seen WITH (security_invoker) AS'
	  . ' SELECT id, age + 50 AS age FROM patients');
is((answer($prepared, 'EXECUTE p;'))[0], 0, 'and so is the view');
hang_up($prepared);

# A view of the owner's that lends his rights lends them to nothing else.
is( owner_runs('CREATE TABLE secret (x int); INSERT INTO secret VALUES (1);'
		  . ' CREATE VIEW lent AS SELECT id, age FROM patients'
		  . ' WHERE age < (SELECT max(x) FROM secret);'
		  . ' GRANT SELECT ON lent TO analyst'),
	'', 'a view with the rights of its owner');
is( sqlstate($node, 'analyst',
		'SELECT dp_count(*) FROM patients WHERE age < (SELECT max(x) FROM secret)'
	),
	'42501',
	'the analyst has none on what it reads');

done_testing();
