# ALTER EXTENSION dp_pg UPDATE: from every release, and from a version derived from
# the present one, to the state of a fresh installation: objects, definitions,
# privileges, comments, rows that a dump keeps, and \dx+.  Every table of schema
# dp_pg has rows before, and the same rows afterwards; budgets hold across.  The
# comparison is shown to see each kind of difference.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $folder = `$ENV{PG_CONFIG} --sharedir`;
chomp $folder;
$folder .= '/extension';
my ($current) = slurp_file("$folder/dp_pg.control") =~
  /^default_version = '(.*)'$/m;
my $script = slurp_file("$folder/dp_pg--$current.sql");

sub install
{
	my ($name, $text) = @_;

	unlink "$folder/$name";
	append_to_file("$folder/$name", $text);
	return;
}

# ---- what is compared ----

# One line for each object and each of its properties.  Columns by name: an
# upgrade can add one at the end only.
my $describe = <<'EOT';
SET search_path = pg_catalog;
WITH member AS (
	SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'dp_pg'
), object AS (
	SELECT m.*, i.type || ' ' || i.identity AS name
	FROM member m, pg_identify_object(m.classid, m.objid, 0) i
), line (name, property, value) AS (
	SELECT name, 'comment', obj_description(objid, classid::regclass::name) FROM object
	UNION ALL
	SELECT o.name, 'function', CASE WHEN p.prokind = 'a' THEN
		(SELECT concat_ws(' ', aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggfinalextra,
			aggtranstype::regtype, agginitval, aggkind, aggfinalmodify) FROM pg_aggregate a WHERE a.aggfnoid = p.oid)
			|| ' ' || pg_get_function_arguments(p.oid) || ' ' || pg_get_function_result(p.oid) || concat(' ', p.proparallel, p.provolatile, p.proleakproof)
		ELSE pg_get_functiondef(p.oid) END
	FROM object o JOIN pg_proc p ON o.classid = 'pg_proc'::regclass AND p.oid = o.objid
	UNION ALL
	SELECT o.name, 'privileges', (SELECT string_agg(x::text, ',' ORDER BY x::text COLLATE "C") FROM unnest(proacl) x)
	FROM object o JOIN pg_proc p ON o.classid = 'pg_proc'::regclass AND p.oid = o.objid
	UNION ALL
	SELECT o.name, 'privileges', (SELECT string_agg(x::text, ',' ORDER BY x::text COLLATE "C") FROM unnest(relacl) x)
	FROM object o JOIN pg_class c ON o.classid = 'pg_class'::regclass AND c.oid = o.objid
	UNION ALL
	SELECT o.name, 'privileges', (SELECT string_agg(x::text, ',' ORDER BY x::text COLLATE "C") FROM unnest(nspacl) x)
	FROM object o JOIN pg_namespace n ON o.classid = 'pg_namespace'::regclass AND n.oid = o.objid
	UNION ALL
	SELECT o.name, 'relation', concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity, reloptions, pg_get_viewdef(CASE relkind WHEN 'v' THEN c.oid END))
	FROM object o JOIN pg_class c ON o.classid = 'pg_class'::regclass AND c.oid = o.objid
	UNION ALL
	SELECT o.name || '.' || a.attname, 'column', concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attgenerated, attidentity, coalesce(attstattarget, -1), attcollation::regcollation, attacl,
		pg_get_expr(d.adbin, d.adrelid), col_description(o.objid, a.attnum))
	FROM object o JOIN pg_attribute a ON o.classid = 'pg_class'::regclass AND a.attrelid = o.objid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	UNION ALL
	SELECT o.name, 'constraint ' || conname, pg_get_constraintdef(c.oid) FROM object o JOIN pg_constraint c ON o.classid = 'pg_class'::regclass AND c.conrelid = o.objid AND contype <> 'n'
	UNION ALL
	SELECT o.name, 'index', pg_get_indexdef(indexrelid) FROM object o JOIN pg_index i ON o.classid = 'pg_class'::regclass AND i.indrelid = o.objid
	UNION ALL
	SELECT o.name, 'policy ' || polname, concat_ws(' ', polcmd, polpermissive, polroles, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
	FROM object o JOIN pg_policy p ON o.classid = 'pg_class'::regclass AND p.polrelid = o.objid
	UNION ALL
	SELECT o.name, 'trigger', pg_get_triggerdef(t.oid) FROM object o JOIN pg_trigger t ON o.classid = 'pg_class'::regclass AND t.tgrelid = o.objid AND NOT tgisinternal
	UNION ALL
	SELECT o.name, 'sequence', concat_ws(' ', seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle)
	FROM object o JOIN pg_sequence s ON o.classid = 'pg_class'::regclass AND s.seqrelid = o.objid
	UNION ALL
	SELECT o.name, 'type', concat_ws(' ', typtype, typlen, typalign, typstorage, typinput, typoutput, typbasetype::regtype, typdefault)
	FROM object o JOIN pg_type t ON o.classid = 'pg_type'::regclass AND t.oid = o.objid
	UNION ALL
	SELECT 'extension', 'dumped ' || r::regclass, c FROM pg_extension, unnest(extconfig, extcondition) AS x (r, c) WHERE extname = 'dp_pg'
	UNION ALL
	SELECT 'extension', 'itself', concat_ws(' ', extversion, extrelocatable, extnamespace::regnamespace, extowner::regrole) FROM pg_extension WHERE extname = 'dp_pg'
)
SELECT l FROM (SELECT quote_literal(name) || ' ' || property || ': ' || quote_nullable(value) FROM line) AS x (l) ORDER BY l COLLATE "C";
\dx+ dp_pg
EOT

my $node = attack_node('upgrade');
my $fresh = $node->safe_psql('postgres', $describe);
cmp_ok(scalar(() = $fresh =~ /^/mg), '>', 1500, 'there is much to compare');

# Lines of one that the other does not have.
sub differences
{
	my ($db) = @_;
	my %wanted = map { $_ => 1 } split /\n/, $fresh;
	my %found = map { $_ => 1 }
	  split /\n/, $node->safe_psql($db, $describe);

	return join("\n",
		(map { "- $_" } grep { !$found{$_} } sort keys %wanted),
		(map { "+ $_" } grep { !$wanted{$_} } sort keys %found));
}

# ---- what stands in the tables ----

my @tables = split /\n/,
  value($node, <<'EOT');
SELECT d.objid::regclass FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'dp_pg'
JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'r'
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' ORDER BY d.objid::regclass::text
EOT

# Rows in all of them, by using the extension.
sub fill
{
	my ($db) = @_;

	$node->safe_psql($db, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE person (id int PRIMARY KEY, ward text NOT NULL, age int NOT NULL, sick boolean NOT NULL);
INSERT INTO person SELECT i, chr(65 + i % 3), i % 90, i % 7 = 0 FROM generate_series(1, 3000) i;
SELECT dp_protect('person', unit => 'id', dataset => 'clinic');
SELECT dp_declare('person', 'ward', keys => ARRAY['A', 'B', 'C']);
SELECT dp_declare('person', 'ward', immutable => true);
SELECT dp_declare('person', 'age', lower => 0, upper => 120);
SELECT dp_declare('person', max_rows => 3, max_keys => 2);
SELECT count(*) FROM dp_profile('person');
SELECT dp_grant('analyst', 'clinic', epsilon => 1e7, delta => 1e-6, filter => 'best', renew => '7 days');
SELECT dp_limit('clinic', epsilon => 1e8, delta => 1e-5);
SET SESSION AUTHORIZATION analyst;
SET dp_pg.epsilon = 1000;
SELECT ward, dp_count(*), dp_avg(age) FROM person GROUP BY 1;
SET dp_pg.reuse = '1 hour';
SELECT dp_count(*) FROM person WHERE ward = 'A';
SELECT dp_batch_open('clinic', 0.1, 4);
SELECT dp_sparse_vector_open('person', threshold => 500, cutoff => 3, questions => 10, epsilon => 3000) AS s \gset
SELECT above FROM dp_sparse_vector_ask(:s, 'sick');
CREATE TABLE small AS SELECT * FROM dp_smalldb('person', ARRAY['sick', 'ward'], queries => ARRAY['sick', 'ward = ''A''', 'sick AND ward = ''B'''], alpha => 0.4, epsilon => 1)
	AS t (sick boolean, ward text);
SET SESSION AUTHORIZATION owner;
SELECT dp_count(*) FROM person;
SELECT count(*) FROM dp_ledger_archive(now(), 'clinic');
RESET SESSION AUTHORIZATION;
SELECT count(*) FROM dp_harden();
EOT
	return;
}

# Everything that stands there.
sub contents
{
	my ($db) = @_;

	return join "\n",
	  map { "$_: "
		  . value($node,
			"SELECT count(*) || ' ' || coalesce(string_agg(to_jsonb(t)::text, ' ' ORDER BY to_jsonb(t)::text COLLATE \"C\"), '') FROM $_ t",
			$db) } @tables;
}

sub answers
{
	my ($db) = @_;

	return $node->safe_psql($db, <<'EOT', extra_params => [ '-U', 'analyst' ]);
SET dp_pg.epsilon = 1000;
SELECT ward, dp_count(*) FROM person GROUP BY 1 ORDER BY 1;
SELECT (SELECT above FROM dp_sparse_vector_ask(session, 'age >= 0')) FROM dp_pg.sessions;
EOT
}

sub create
{
	my ($db, $version) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'GRANT CREATE ON SCHEMA public TO owner, analyst;'
		  . " CREATE EXTENSION dp_pg VERSION '$version'");
	return;
}

# From a version to the present one, with data.
sub update
{
	my ($db, $version) = @_;
	my ($before, $after);

	create($db, $version);
	fill($db);
	$before = contents($db);
	unlike($before, qr/: 0 /, "$version: every table has rows");
	$node->safe_psql($db, 'ALTER EXTENSION dp_pg UPDATE');
	is(differences($db), '', "$version: as a fresh installation");
	$after = contents($db);
	is($after, $before, "$version: all rows are kept");
	is(answers($db), "A|1000\nB|1000\nC|1000\nt",
		"$version: and answers are given");
	is( value($node, 'SELECT count(*) FROM dp_pg.ledger', $db),
		1 + ($before =~ /ledger: (\d+) /)[0],
		"$version: and charged");
	return;
}

# ---- releases ----

foreach my $file (glob "$top/sql/released/dp_pg--*.sql")
{
	my ($version) = $file =~ /dp_pg--(.*)\.sql$/;

	install("dp_pg--$version.sql", slurp_file($file));
	update('from_' . $version =~ s/\W/_/gr, $version);
}

# ---- a version made up from the present one ----

# It lacks a function and a revoke, has a function too many, and a comment and
# a column that are not what they are now.
my ($function) = $script =~
  /(CREATE FUNCTION \S*dp_histogram_rows\(.*?;\n+COMMENT ON FUNCTION \S*dp_histogram_rows\(.*?;\n)/s;
my ($comment) = $script =~ /(COMMENT ON VIEW dp_pg\.budgets IS.*?;\n)/s;
my ($revoke) = $script =~ /(REVOKE ALL ON FUNCTION dp_pg\.is_preloaded\(\) FROM PUBLIC;\n)/;
ok($function && $comment && $revoke, 'parts of the present version are found');

my $older = $script;
$older =~ s/\Q$function\E//;
$older =~ s/\Q$comment\E/COMMENT ON VIEW dp_pg.budgets IS 'old';\n/;
$older =~ s/\Q$revoke\E//;
$older .= "\nALTER TABLE dp_pg.batch ALTER COLUMN id SET STATISTICS 7;\n"
  . "CREATE FUNCTION dp_pg.gone() RETURNS int LANGUAGE sql AS 'SELECT 1';\n";
my $upgrade = "\\echo Use \"ALTER EXTENSION dp_pg UPDATE\" to load this file. \\quit\n"
  . $function
  . $comment
  . $revoke
  . "ALTER TABLE dp_pg.batch ALTER COLUMN id SET STATISTICS 0;\n"
  . "DROP FUNCTION dp_pg.gone();\n";
install('dp_pg--0.0.9.sql', $older);
install("dp_pg--0.0.9--$current.sql", $upgrade);
update('made_up', '0.0.9');

# ---- the comparison sees what an upgrade forgets ----

my $n = 0;
foreach my $forgotten ($function, $comment, $revoke,
	"ALTER TABLE dp_pg.batch ALTER COLUMN id SET STATISTICS 0;\n",
	"DROP FUNCTION dp_pg.gone();\n")
{
	my $from = '0.0.8' . ++$n;

	install("dp_pg--$from.sql", $older);
	install("dp_pg--$from--$current.sql", $upgrade =~ s/\Q$forgotten\E//r);
	create("forgets$n", $from);
	$node->safe_psql("forgets$n", 'ALTER EXTENSION dp_pg UPDATE');
	isnt(differences("forgets$n"), '', 'seen: without ' . substr($forgotten =~ s/\s+/ /gr, 0, 40));
}
foreach my $change (
	'GRANT SELECT ON dp_pg.session_secret TO analyst',
	'ALTER TABLE dp_pg.ledger DISABLE ROW LEVEL SECURITY',
	'ALTER FUNCTION dp_audit() SECURITY INVOKER',
	'ALTER TABLE dp_pg.budget ADD CHECK (true)',
	'ALTER VIEW dp_pg.budgets SET (security_barrier = false)',
	'COMMENT ON COLUMN dp_pg.batch.id IS NULL',
	'CREATE INDEX ON dp_pg.ledger (role)')
{
	create('changed' . ++$n, $current);
	is(differences("changed$n"), '', 'a fresh one');
	$node->safe_psql("changed$n", $change);
	isnt(differences("changed$n"), '', "seen: $change");
}

# ---- the frame around it ----

ok(!-e "$top/sql/released/dp_pg--$current.sql"
	  || slurp_file("$top/sql/released/dp_pg--$current.sql") eq $script,
	'what was released does not change');
like(slurp_file("$top/META.json"), qr/"version": "\Q$current\E"/,
	'META.json has the version');
like(slurp_file("$top/Makefile"), qr/^DP_VERSION = \Q$current\E$/m,
	'as has the Makefile');

$node->stop;
done_testing();
