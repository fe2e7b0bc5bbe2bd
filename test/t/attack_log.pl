# Messages of level LOG, which a client may have sent to itself: plans with the
# variables of an owner's procedure, and so with exact values.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('log');

$node->safe_psql('postgres', <<'EOT');
GRANT EXECUTE ON FUNCTION
	dp_net_values(numeric[], numeric, regclass, name, numeric, name),
	dp_laplace(anyelement, numeric, numeric, name, numeric) TO owner;
CREATE TABLE candidate (id int, answers numeric[]);
INSERT INTO candidate VALUES (1, '{1}');
GRANT SELECT ON candidate TO PUBLIC;
SET SESSION AUTHORIZATION owner;
CREATE FUNCTION nearest() RETURNS TABLE (id int) LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	v numeric[];
BEGIN
	SELECT ARRAY[count(*)]::numeric[] INTO v FROM patients WHERE patients.id < 4322;
	RETURN QUERY SELECT t.id FROM dp_net_values(v, 1.0, 'candidate', 'hospital', 1) AS t(id int);
END $$;
CREATE FUNCTION noisy() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	v bigint;
	r bigint;
BEGIN
	SELECT count(*) INTO v FROM patients WHERE id < 4322;
	SELECT dp_laplace(v, 1.0, 1.0, 'hospital', 1.0) INTO r;
	RETURN r;
END $$;
-- a statement made of what was computed
CREATE FUNCTION formed() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	v bigint;
	r bigint;
BEGIN
	SELECT count(*) INTO v FROM patients WHERE id < 4322;
	EXECUTE format('SELECT dp_laplace(%s::bigint, 1.0, 1.0, ''hospital'', 1.0)', v) INTO r;
	RETURN r;
END $$;
-- the same without a secret and without another's rights
CREATE FUNCTION mine() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	v bigint := 4321;
	r bigint;
BEGIN
	SELECT v * 2 INTO r;
	RETURN r;
END $$;
EOT

my $loud = "SET client_min_messages = log; SET debug_print_plan = on; SET debug_print_parse = on; SET debug_print_rewritten = on;\n";

# bytes 225 16 of a bigint, or of a numeric's digit, are 4321
sub secrets
{
	my ($messages) = @_;
	my @found = $messages =~ /(?:-31|225|\b-?31) 16\b/g;

	return scalar @found;
}

my ($out, $err) = as($node, 'analyst', "${loud}SELECT mine();");
is($out, 8642, 'a function with the own rights');
cmp_ok(secrets($err), '>', 0, 'shows its variables to whoever wants to see plans: this test can see');
($out, $err) = as($node, 'analyst', "${loud}SELECT * FROM nearest();");
is($out, 1, "an owner's function with dp_net_values");
is(secrets($err), 0, 'does not');
like($err, qr/LOG:.*plan/, 'while the plan of the statement itself is shown');
($out, $err) = as($node, 'analyst', "${loud}SELECT abs(noisy() - 4321) < 100;");
is($out, 't', 'nor one with dp_laplace, e^-100 aside');
is(scalar(() = $err =~ /LOG:\s+plan/g), 1, 'one plan, that of the statement itself');
cmp_ok(scalar(() = log_since($node, 0) =~ /LOG:\s+plan/g), '>', 3, "the server's log has them all");

# plans are printed before rights are checked, with estimates that ANALYZE made
# exact
$node->safe_psql('postgres', "ANALYZE patients;");
as($node, 'analyst', 'CREATE VIEW young AS SELECT id FROM patients WHERE age = 7;');
for my $ask ('SELECT 1 FROM patients WHERE age = 7', 'SELECT count(*) FROM patients WHERE id < 4322',
	'WITH p AS MATERIALIZED (SELECT * FROM patients) SELECT count(*) FROM p', 'SELECT (SELECT count(*) FROM patients)',
	'SELECT EXISTS (SELECT FROM patients WHERE age = 7)', 'SELECT count(*) FROM young', 'DELETE FROM patients WHERE age = 7',
	'PREPARE p AS SELECT 1 FROM patients WHERE age = 7; EXECUTE p')
{
	($out, $err) = as($node, 'analyst', "$loud$ask;");
	like($err, qr/ERROR:  permission denied/, "refused: $ask");
	unlike($err, qr/plan_rows/, 'before its plan is shown');
}
($out, $err) = as($node, 'analyst', "${loud}SELECT count(*) FROM candidate;");
like($err, qr/plan_rows/, 'plans over tables that one may read are shown');
($out, $err) = as($node, 'analyst', "${loud}SELECT dp_count(*) BETWEEN 9900 AND 10100 FROM patients;");
is($out, 't', 'private queries are answered');

# PL/pgSQL puts variables into its own messages, when the caller wants that
$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE price (name text, epsilon numeric);
INSERT INTO price VALUES ('b', 1), ('b', 2);
CREATE FUNCTION priced(p text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	v bigint;
	r bigint;
BEGIN
	SELECT count(*) INTO v FROM patients WHERE id < 4322;
	SELECT dp_laplace(v, 1.0, s.epsilon, 'hospital', 1.0) INTO r FROM price s WHERE s.name = p;
	RETURN r;
END $$;
CREATE FUNCTION quiet(p text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET plpgsql.print_strict_params = off SET plpgsql.extra_warnings = 'none' AS $$ BEGIN RETURN 5; END $$;
EOT
my $params = "SET plpgsql.print_strict_params = on;\n";
my $extra = "SET plpgsql.extra_warnings = 'too_many_rows';\n";
for my $settings ($params, $extra, "$params$extra", "SET plpgsql.extra_errors = 'all';\n")
{
	($out, $err) = as($node, 'analyst', "${settings}SELECT priced('b');");
	like($err, qr/ERROR:  plpgsql\.\w+ is set where/, 'PL/pgSQL that tells its variables, or how many rows: ' . $settings =~ s/\n/ /gr);
	unlike("$out$err", qr/4321/, 'and shows nothing');
}
($out, $err) = as($node, 'analyst', "SELECT abs(priced('b') - 4321) < 100;\n${params}SELECT mine();\n${params}${extra}SELECT quiet('b');");
is($out, "t\n8642\n5", 'without them it answers; functions with the own rights and such headers do in any case');

# the server logs nothing of this level: the hook is never called
$node->safe_psql('postgres', "ALTER SYSTEM SET log_min_messages = fatal; SELECT pg_reload_conf();");
$node->poll_query_until('postgres', "SELECT current_setting('log_min_messages') = 'fatal'");
for my $ask ('SELECT * FROM nearest();', 'SELECT noisy();')
{
	($out, $err) = as($node, 'analyst', "$loud$ask");
	is($out, '', "with log_min_messages = fatal, $ask is refused");
	like($err, qr/ERROR:\s+messages of level LOG cannot be sent/, 'with a reason');
	is(secrets($err), 0, 'and shows nothing');
}
($out, $err) = as($node, 'analyst', "SELECT formed() < 1e6;\n${loud}SELECT formed();");
is($out, 't', 'a function whose plans are cached by now is refused, too');
is(secrets($err) + (() = $err =~ /4321/g), 0, 'and shows nothing');
$node->safe_psql('postgres', "SET SESSION AUTHORIZATION analyst; CREATE TABLE a (i int PRIMARY KEY); CREATE TABLE b (i int REFERENCES a); INSERT INTO a VALUES (1);");
($out, $err) = as($node, 'analyst', "SET client_min_messages = debug1; INSERT INTO b VALUES (1) RETURNING i;");
is($out, 1, 'the own foreign keys are checked as ever');
($out, $err) = as($node, 'analyst', "SET debug_print_plan = on; SELECT * FROM nearest();");
is($out, 1, 'without such messages it is answered');

$node->stop;
done_testing();
