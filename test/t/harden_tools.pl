# What tools show of the catalogs, as an analyst, before and after dp_harden().  The
# queries have the form of those that the tools send; psql itself runs, and
# jdbc/tools.pl tests pgjdbc.  Nothing that was closed may be found by any other
# query.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientNode;
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = client_node('tools');
my $telling = value($node, q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'pg_class'::regclass AND attname ~ '^rel(tuples|pages|all)'});

value($node, 'CREATE TABLE notes (body text); GRANT SELECT ON notes TO bob; INSERT INTO notes VALUES (1); CREATE INDEX ON notes (body);'
	  . 'CREATE SCHEMA bob AUTHORIZATION bob; GRANT TEMP ON DATABASE postgres TO bob; VACUUM ANALYZE sales, notes');

# Of a query by bob: its rows, or its SQLSTATE.
sub shown
{
	my ($query, @more) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $query,
		extra_params => [ '-U', 'bob', '-v', 'VERBOSITY=sqlstate', @more ]);

	return $err =~ /^(?:psql:\S+ )?ERROR: +(\w+)/m ? $1 : $out;
}

my %psql = map { $_ => $_ } '\dt+', '\di+', '\dv+', '\dm+', '\ds+', '\dP+', '\d+', '\d+ sales', '\d+ bi.sales', '\dn+', '\l+';
my $schema = "'public'::regnamespace";
my %queries = (
	'DBeaver: tables' => "SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid), pg_catalog.pg_get_partkeydef(c.oid)
		FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
		WHERE c.relnamespace = $schema AND c.relkind NOT IN ('i', 'I', 'c')",
	'DBeaver: indexes' => "SELECT i.*, c.relname, c.relam, tc.relname, pg_catalog.pg_get_expr(i.indpred, i.indrelid), pg_catalog.pg_relation_size(i.indexrelid),
		pg_catalog.pg_stat_get_numscans(i.indexrelid) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
		JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid WHERE c.relnamespace = $schema ORDER BY c.relname",
	'DBeaver: sizes of tables' => "SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid), pg_catalog.pg_relation_size(c.oid) FROM pg_class c WHERE c.relnamespace = $schema",
	'DBeaver: size of a table' => "SELECT pg_catalog.pg_total_relation_size('public.sales'::regclass), pg_catalog.pg_relation_size('public.sales'::regclass)",
	'DBeaver: size of a database' => 'SELECT pg_catalog.pg_database_size(current_database())',
	'DBeaver: types' => 'SELECT t.oid, t.*, c.relkind FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid',
	'DataGrip: tables' => "SELECT t.relkind, t.relname, t.oid, t.xmin, t.reltablespace, t.relpersistence, pg_catalog.pg_get_userbyid(t.relowner)
		FROM pg_catalog.pg_class t WHERE relnamespace = $schema AND pg_catalog.age(t.xmin) <= 2147483647",
	'pgAdmin: properties' => "SELECT rel.oid, rel.relname, rel.relacl, rel.reltuples::bigint, con.conname, tst.reloptions, rel.reltoastrelid <> 0,
		(SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE i.inhrelid = rel.oid)
		FROM pg_class rel LEFT JOIN pg_constraint con ON con.conrelid = rel.oid AND con.contype = 'p'
		LEFT JOIN pg_class tst ON tst.oid = rel.reltoastrelid WHERE rel.relkind IN ('r', 's', 't', 'p') AND rel.relnamespace = $schema ORDER BY rel.relname",
	'pgAdmin: statistics of tables' => "SELECT st.relname, pg_catalog.pg_relation_size(st.relid) + CASE WHEN cl.reltoastrelid = 0 THEN 0
		ELSE pg_catalog.pg_relation_size(cl.reltoastrelid) END + COALESCE((SELECT sum(pg_catalog.pg_relation_size(indexrelid))
		FROM pg_catalog.pg_index WHERE indrelid = st.relid)::int8, 0), n_tup_ins, n_live_tup, last_vacuum, autovacuum_count
		FROM pg_catalog.pg_stat_all_tables st JOIN pg_catalog.pg_class cl ON cl.oid = st.relid WHERE schemaname = 'public' ORDER BY st.relname",
	'pgAdmin: statistics of a table' => "SELECT seq_scan, idx_scan, n_live_tup, heap_blks_read, toast_blks_hit, pg_catalog.pg_relation_size(stat.relid)
		FROM pg_catalog.pg_stat_all_tables stat JOIN pg_catalog.pg_statio_all_tables statio ON stat.relid = statio.relid
		JOIN pg_catalog.pg_class cl ON cl.oid = stat.relid WHERE stat.relid = 'public.sales'::regclass",
	'pgAdmin: dashboard' => 'SELECT (SELECT sum(xact_commit) FROM pg_stat_database), (SELECT sum(tup_returned) FROM pg_stat_database)');
my @asked = ((map { [ $_, $_ ] } sort keys %psql), map { [ $_, $queries{$_} ] } sort keys %queries);

# ---- before, hardened, and given back ----

my %before = map { $_->[0] => shown($_->[1]) } @asked;

foreach my $tool (@asked)
{
	unlike($before{ $tool->[0] }, qr/^\w{5}\z/, "$tool->[0]: works before");
}
value($node, 'SELECT dp_harden()');
is(value($node, "SELECT count(*) FROM dp_audit() WHERE object ~ '^pg_'"), 0, 'nothing is left to close');

# Rows and pages are in the thousands; what is shown after has other numbers in
# those places alone.
foreach my $tool (@asked)
{
	my $after = shown($tool->[1]);

	unlike($after, qr/^\w{5}\z/, "$tool->[0]: works after dp_harden()");
	is($after =~ tr/\n//, $before{ $tool->[0] } =~ tr/\n//, 'with as many rows');
	unlike($after, qr/20000|\b(?:\d+ kB|[1-9]\d* bytes|\d+ MB)/, 'and nothing of how many rows there are');
}
is(shown("SELECT reltuples, relpages, relallvisible FROM pg_class WHERE oid = 'sales'::regclass"), '-1|0|0', 'rows and pages are unknown');
is(shown("SELECT pg_table_size(oid) IS NULL, pg_stat_get_live_tuples(oid) IS NULL FROM pg_class WHERE oid = 'sales'::regclass"), 't|t', 'so are sizes and counters');
is(shown("SELECT pg_relation_size('sales') IS NULL"), 't', 'without FROM, too');

# ---- whatever the form ----

# What a query may say of pg_class that is not its columns by name.
my $columns = join(', ', map { "c.$_" } split / /, $telling);
my $unknown = join '|', map { /reltuples/ ? -1 : 0 } split / /, $telling;

foreach my $form ("SELECT $columns FROM pg_class c WHERE relname = 'sales' AND relkind = 'r'",
	"SELECT $columns FROM (SELECT * FROM pg_class) c WHERE relname = 'sales' AND relkind = 'r'",
	"WITH c AS MATERIALIZED (SELECT * FROM pg_class) SELECT $columns FROM c WHERE relname = 'sales' AND relkind = 'r'",
	"SELECT DISTINCT $columns FROM pg_class c, LATERAL (SELECT c.reltuples AS again) x WHERE relname = 'sales' AND relkind = 'r' AND again = -1",
	"SELECT $columns FROM pg_class c LEFT JOIN pg_class d USING (oid, reltuples, relpages) WHERE c.relname = 'sales' AND c.relkind = 'r'",
	"SELECT $columns FROM ONLY pg_class c WHERE relname = 'sales' AND relkind = 'r'",
	"SELECT $columns FROM (SELECT (c).* FROM pg_class c) c WHERE relname = 'sales' AND relkind = 'r'",
	"SELECT $columns FROM (SELECT (r).* FROM (SELECT c AS r FROM pg_class c OFFSET 0) s) c WHERE relname = 'sales' AND relkind = 'r'",
	"SELECT $columns FROM (SELECT * FROM pg_class UNION ALL SELECT * FROM pg_class WHERE false) c WHERE relname = 'sales' AND relkind = 'r'",
	"SELECT $columns FROM pg_class c WHERE relname = 'sales' AND relkind = 'r' GROUP BY GROUPING SETS (($columns))",
	"PREPARE q AS SELECT $columns FROM pg_class c WHERE relname = 'sales' AND relkind = 'r'; EXECUTE q",
	"BEGIN; DECLARE q CURSOR FOR SELECT $columns FROM pg_class c WHERE relname = 'sales' AND relkind = 'r'; FETCH q; COMMIT")
{
	is(shown($form), $unknown, "unknown: $form");
}
foreach my $form ("SELECT count(*) FROM pg_class c WHERE reltuples > 0 OR relpages > 0 OR c.relallvisible <> 0",
	"SELECT count(*) FROM pg_class WHERE oid IN (SELECT oid FROM pg_class WHERE reltuples = 20000)",
	"SELECT count(*) FROM pg_namespace n WHERE EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.reltuples > 0)",
	"SELECT count(*) FROM pg_class c WHERE row_to_json(c)->>'reltuples' <> '-1'",
	"SELECT count(*) FROM pg_class c WHERE c::text LIKE '%20000%'",
	"SELECT count(*) FROM pg_class c WHERE (SELECT bool_or(c.reltuples > x) FROM generate_series(0, 1) x)",
	"SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid AND c.relpages > 0",
	"SELECT sum(pg_relation_size(oid, f)) IS NOT NULL FROM pg_class, unnest(ARRAY['main', 'fsm', 'vm']) f",
	"SELECT count(*) FROM pg_stat_user_tables WHERE n_live_tup > 0 OR n_tup_ins > 0 OR last_vacuum IS NOT NULL",
	"SELECT count(*) FROM pg_statio_user_tables WHERE heap_blks_hit + heap_blks_read > 0")
{
	like(shown($form), qr/^[0f]\z/, "none found: $form");
}

# Code of bob's own: a function in SQL that becomes a part of FROM, one that
# does not, a view, a rule, a trigger's query; and what reads without a plan.
# Each is refused, or has none of it.
value($node, <<'EOT');
SET SESSION AUTHORIZATION bob;
CREATE FUNCTION bob.inlined() RETURNS SETOF real LANGUAGE sql STABLE AS 'SELECT reltuples FROM pg_catalog.pg_class';
CREATE FUNCTION bob.whole() RETURNS SETOF pg_class LANGUAGE sql STABLE AS 'SELECT * FROM pg_catalog.pg_class';
CREATE FUNCTION bob.size(x oid) RETURNS bigint LANGUAGE sql AS 'SELECT pg_relation_size(x)';
CREATE FUNCTION bob.called() RETURNS SETOF real LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT reltuples FROM pg_class; END';
CREATE VIEW bob.seen AS SELECT * FROM pg_class;
CREATE VIEW bob.as_me WITH (security_invoker) AS SELECT * FROM pg_class;
CREATE TABLE bob.ruled (x real);
CREATE TABLE bob.kept (x real);
INSERT INTO bob.kept VALUES (0);
CREATE RULE reads AS ON INSERT TO bob.ruled DO ALSO SELECT count(*) FROM pg_class WHERE reltuples > 0;
EOT
foreach my $form ('SELECT count(*) FROM bob.inlined() x WHERE x > 0', 'SELECT count(*) FROM bob.whole() WHERE reltuples > 0',
	'SELECT count(*) FROM bob.called() x WHERE x > 0', 'SELECT count(*) FROM bob.seen WHERE reltuples > 0',
	'SELECT count(*) FROM bob.as_me WHERE relpages > 0', 'INSERT INTO bob.ruled VALUES (1)',
	"SELECT count(*) FROM pg_class WHERE bob.size(oid) > 0", 'COPY pg_class (reltuples) TO STDOUT',
	'COPY (SELECT count(*) FROM pg_class WHERE reltuples > 0) TO STDOUT', 'SELECT count(*) FROM pg_class TABLESAMPLE SYSTEM (100) WHERE reltuples > 0',
	'SELECT reltuples FROM pg_class WHERE reltuples > 0 FOR UPDATE', 'SELECT ctid, reltuples FROM pg_class', 'UPDATE pg_class SET reltuples = reltuples RETURNING reltuples',
	'DELETE FROM pg_class WHERE reltuples > 0', 'UPDATE bob.kept SET x = c.reltuples FROM pg_class c WHERE c.reltuples > 0 RETURNING x',
	'MERGE INTO bob.kept k USING pg_class c ON k.x < c.reltuples WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED AND c.relpages > 0 THEN INSERT VALUES (c.reltuples)',
	'INSERT INTO bob.kept SELECT reltuples FROM pg_class; DELETE FROM bob.kept USING pg_class c WHERE c.reltuples > 0; SELECT count(*) FROM bob.kept WHERE x > 0',
	'UPDATE bob.kept SET x = 1 WHERE (SELECT max(relpages) FROM pg_class) > 0 RETURNING x', 'SELECT query_to_xml($$SELECT 1 FROM pg_class WHERE reltuples > 0$$, false, true, $$$$)::text',
	'SELECT table_to_xml($$pg_class$$, true, true, $$$$)::text ~ $$20000$$', 'SELECT pg_current_wal_lsn()', 'SELECT count(*) FROM pg_stat_wal',
	'EXPLAIN ANALYZE SELECT FROM pg_class WHERE reltuples > 0', 'SELECT pg_relation_size(1259::regclass) FROM generate_series(1, 2)',
	'CREATE TEMP TABLE t AS SELECT * FROM pg_class; SELECT count(*) FROM t WHERE reltuples > 0', "SELECT most_common_vals FROM pg_stats WHERE tablename = 'sales'")
{
	like(shown($form), qr/\A(?:42501|0A000|[0f]?|<table[^0-9]*<\/table>\s*|.*Result .*|.*rows=0 .*|\s*)\z/s, "refused, or empty: $form");
}
is(shown('SELECT pg_relation_size(unnest(ARRAY[1259, 1259])::regclass)'), '42501', 'a set among arguments would lose rows');

# ---- roles change under a prepared statement ----

my $prepared = "PREPARE q AS SELECT reltuples, pg_relation_size(oid) > 0 FROM pg_class WHERE oid = 'sales'::regclass; EXECUTE q;";
is(value($node, "$prepared SET ROLE bob; EXECUTE q; RESET ROLE; EXECUTE q"), "20000|t\n-1|\n20000|t", 'made for a superuser, run by bob');
is(value($node, "SET ROLE bob; $prepared RESET ROLE; EXECUTE q; SET ROLE bob; EXECUTE q"), "-1|\n20000|t\n-1|", 'and the other way');
is(value($node, "SET plan_cache_mode = force_generic_plan; $prepared SET ROLE bob; EXECUTE q"), "20000|t\n-1|", 'as a generic plan');
is(value($node, "PREPARE q AS SELECT reltuples FROM pg_class WHERE oid = 'sales'::regclass; EXECUTE q; SET ROLE bob; EXECUTE q; RESET ROLE; EXECUTE q"),
	"20000\n-1\n20000", 'without a function');

# A definer's function reads with his rights, as before.
value($node, "CREATE FUNCTION tells() RETURNS real LANGUAGE sql SECURITY DEFINER AS 'SELECT reltuples FROM pg_class WHERE oid = ''sales''::regclass'");
is(shown('SELECT tells()'), 20000, 'a function of a superuser');
value($node, 'DROP FUNCTION tells(); DROP OWNED BY bob CASCADE; GRANT USAGE ON SCHEMA bi TO bob; GRANT SELECT ON notes TO bob');

# ---- granted, and kept ----

value($node, 'GRANT EXECUTE ON FUNCTION pg_relation_size(regclass), pg_relation_size(regclass, text) TO bob');
is(shown("SELECT pg_relation_size(oid) > 0, pg_table_size(oid) FROM pg_class WHERE oid = 'sales'::regclass"), 't|', 'what is granted is shown');
value($node, 'REVOKE EXECUTE ON FUNCTION pg_relation_size(regclass), pg_relation_size(regclass, text) FROM bob; SELECT dp_unharden()');
is(shown($queries{'DBeaver: tables'}), $before{'DBeaver: tables'}, 'given back, all is as before');
is(value($node, "SELECT object, done FROM dp_harden(keep => ARRAY['pg_class', 'pg_relation_size']) WHERE object ~ '^pg_'"),
	"pg_class|f\npg_relation_size|f\npg_stat_all_tables|t\npg_stat_database|t", 'two are kept');
is(value($node, "SELECT object FROM dp_audit() WHERE object ~ '^pg_'"), "pg_class\npg_relation_size", 'and found again');
like(value($node, "SELECT DISTINCT why FROM dp_harden(keep => ARRAY['pg_class', 'pg_relation_size']) WHERE object ~ '^pg_'"), qr/^it is kept: [^\n]*$/, 'as a second call says');
is(shown($queries{'DBeaver: tables'}), $before{'DBeaver: tables'}, 'tables with their rows and pages');
is(shown('\dt+'), $before{'\dt+'}, 'and sizes');
is(shown("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'sales'"), '', 'but not the others');
value($node, 'SELECT dp_harden()');
is(value($node, "SELECT count(*) FROM dp_audit() WHERE object ~ '^pg_'"), 0, 'what was kept is closed by the next call');
is(sqlstate($node, 'postgres', "SELECT dp_harden(keep => ARRAY['pg_class'])"), '55000', 'then it cannot be kept');
$node->stop;
done_testing();
