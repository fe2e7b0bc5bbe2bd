# What an owner's procedure does in its caller's process, and what the caller
# can see of it (doc/procedures.md).  Every pair of calls differs in one
# private bit: patient 101 is there, patient 100101 is not.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as errors);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(quiet_session);
use Test::More;

my $conf = "max_stack_depth = 400kB\ntrack_functions = all\n";
my $libraries = PostgreSQL::Test::Cluster->new('libraries')->config_data('--pkglibdir');
my $statements = -e "$libraries/pg_stat_statements.so";

$conf .= "shared_preload_libraries = 'dp_pg, pg_stat_statements'\npg_stat_statements.track = all\n" if $statements;

my $node = attack_node('attack_procedure', $conf);
my @ids = (101, 100101);

$node->safe_psql('postgres', <<'EOT');
GRANT EXECUTE ON FUNCTION
	dp_laplace(anyelement, numeric, numeric, name, numeric),
	dp_laplace(anyelement, float8, float8, name, float8) TO owner;
CREATE ROLE friend LOGIN;
GRANT CREATE ON SCHEMA public TO friend;
GRANT EXECUTE ON FUNCTION dp_pg.charge TO owner;
SET SESSION AUTHORIZATION owner;
UPDATE patients SET doc = repeat(md5(id::text), 20000) WHERE id = 101;
CREATE FUNCTION pages(who int, epsilon numeric) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
	exact bigint;
BEGIN
	SELECT count(*) INTO exact FROM patients p WHERE p.id = who AND p.doc LIKE '%00%';
	RETURN dp_laplace(exact, 1, epsilon, 'hospital');
END $$;
-- in standard SQL, which has no source
CREATE FUNCTION bodily(who int, epsilon numeric) RETURNS bigint LANGUAGE sql SECURITY DEFINER
RETURN dp_laplace((SELECT count(*) FROM patients p WHERE p.id = who AND p.doc LIKE '%00%'), 1, epsilon, 'hospital');
CREATE FUNCTION helper(v bigint, epsilon numeric) RETURNS bigint LANGUAGE sql
AS $$ SELECT dp_laplace(v, 1, epsilon, 'hospital') $$;
CREATE FUNCTION helped(who int, epsilon numeric) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
BEGIN
	RETURN "helper" ((SELECT count(*) FROM patients p WHERE p.id = who AND p.doc LIKE '%00%'), epsilon);
END $$;
CREATE FUNCTION by_hand(who int, epsilon numeric) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
	exact bigint;
BEGIN
	SELECT count(*) INTO exact FROM patients p WHERE p.id = who AND p.doc LIKE '%00%';
	PERFORM dp_pg.charge('hospital', 'my own', epsilon);
	RETURN 5;
END $$;
CREATE FUNCTION liked(who int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
	exact bigint;
BEGIN
	SELECT count(*) INTO exact FROM patients p
	WHERE CASE WHEN p.id = who THEN repeat('a', 90) ELSE 'b' END LIKE repeat('%a', 63) || '%';
	RETURN dp_laplace(exact, 1, 1, 'hospital');
END $$;
-- called for every row that is read
CREATE FUNCTION step(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n; END $$;
CREATE FUNCTION stepped(who int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
	exact bigint;
BEGIN
	SELECT sum(step(1)) INTO exact FROM patients p WHERE p.id = who;
	RETURN dp_laplace(exact, 1, 1, 'hospital');
END $$;
SET SESSION AUTHORIZATION analyst;
CREATE FUNCTION catch(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'answered';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION deep(n int, query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF n > 0 THEN RETURN deep(n - 1, query); END IF;
	RETURN catch(query);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION deepest() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 1;
BEGIN
	WHILE deep(n, 'SELECT 1') = 'answered' LOOP n := n + 1; END LOOP;
	RETURN n;
END $$;
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = numeric, FUNCTION = pages);
EOT

# ---- who reads for a procedure that asks private queries ----

$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE FUNCTION safe(who int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
	noisy bigint;
BEGIN
	SELECT dp_count(1, 1) INTO noisy FROM patients p
	WHERE CASE WHEN p.id = who THEN p.doc || 'aaaaaaaaaaaaaaaaaaaa' ELSE 'b' END LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%';
	RETURN noisy;
END $$;
EOT
my $readers = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dp_pg reader'";

is((as($node, 'owner', 'SELECT safe(101) IS NULL'))[0], 'f', 'a function that asks a private query');
is(value($node, $readers), 0, 'the owner reads for himself');
is((as($node, 'analyst', 'SELECT safe(101) IS NULL'))[0], 'f', 'answers him and others');
is(value($node, $readers), 1, 'a reader reads for an analyst who calls his function');

# ---- predicate locks ----

my $locks = q{SELECT coalesce(string_agg(concat(relation::regclass, ' ', page, ' ', tuple), ', '), 'none') FROM pg_locks WHERE mode = 'SIReadLock' AND relation::regclass::text ~ 'patients|toast';};

foreach my $call ('pages(101, 1)', 'bodily(101, 1)', 'helped(101, 1)', 'by_hand(101, 1)', 'pages(101, 0)', 'safe(101)', '101 === 1.0')
{
	my ($out) = as($node, 'analyst', "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT catch('SELECT $call');\n$locks\nROLLBACK;");

	is($out, "0A000\nnone", "no predicate lock is left by $call whose error is caught");
	($out) = as($node, 'analyst', "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSAVEPOINT s;\nSELECT $call;\nROLLBACK TO s;\n$locks\nROLLBACK;");
	is($out, 'none', 'nor by a savepoint');
}
my ($out, $err) = as($node, 'analyst', "SET default_transaction_isolation = serializable;\nSELECT pages(101, 1);");
like($err, qr/ERROR:  a private query cannot run in a serializable transaction/, 'it is refused with a reason');

# ---- counters ----

sub explained
{
	my ($call) = @_;
	my $self = quiet_session($node, 'analyst');
	my ($seen);

	# what the first call looks up for the session is its own
	answer($self, 'SELECT ' . $call->(5) . ';');
	$seen = join "\n", map {
		(answer($self, 'EXPLAIN (ANALYZE, BUFFERS, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT ' . $call->($_) . ';'))[0]
	} @_[1 .. $#_];
	hang_up($self);
	return $seen;
}

foreach my $form (
	'pages(%d, 1)', 'bodily(%d, 1)', 'helped(%d, 1)', 'by_hand(%d, 1)', 'safe(%d)', "catch('SELECT pages(%d, 1)')",
	# raised by the building block, and by the body
	"catch('SELECT pages(%d, 0)')", "catch('SELECT pages(%d, 1) / 0')")
{
	my $call = sub { sprintf($form, $_[0]) };
	# else the ledger's pages are pruned now and then, at a number of charges
	my @seen = map { $node->safe_psql('postgres', 'VACUUM dp_pg.dataset, dp_pg.budget'); explained($call, $_, $_) } @ids;

	is($seen[0] =~ s/\b101\b/100101/gr, $seen[1], "EXPLAIN (ANALYZE, BUFFERS, WAL) of $form shows no bit");
	unlike($seen[0], qr/Buffers|WAL/, 'and nothing that was read') if $form !~ /safe/;
}

sub counted
{
	my ($call) = @_;
	my $self = quiet_session($node, 'analyst');
	my ($out) = answer($self, <<"EOT");
BEGIN;
SELECT catch('SELECT $call') <> '';
SELECT coalesce(sum(seq_scan + seq_tup_read + coalesce(idx_scan, 0) + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_xact_all_tables
WHERE relname = 'patients' OR relid = (SELECT reltoastrelid FROM pg_class WHERE relname = 'patients');
SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions WHERE funcname = 'step';
COMMIT;
EOT
	hang_up($self);
	return $out;
}
is(counted($_), "t\n0\n0", "pg_stat_xact_* after $_") foreach 'pages(101, 1)', 'pages(101, 0)', 'bodily(101, 1)', 'stepped(101)', 'safe(101)';

SKIP:
{
	my $owned = q{SELECT count(*) FROM pg_stat_statements WHERE userid = 'owner'::regrole};

	skip 'no pg_stat_statements', 2 unless $statements;
	value($node, 'CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()');
	as($node, 'analyst', "SELECT pages(101, 1);\nSELECT catch('SELECT pages(101, 0)');\nSELECT bodily(101, 1);");
	is((as($node, 'analyst', $owned))[0], 0, 'pg_stat_statements has none of what a procedure does');
	is(value($node, q{SELECT calls > 0 AND shared_blks_hit + shared_blks_read < 60 FROM pg_stat_statements WHERE query LIKE 'SELECT pages%'}),
		't', 'and the call without its blocks');
}

# ---- the caller's settings, and messages ----

$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE FUNCTION told() RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', current_setting('track_counts'), current_setting('track_functions'), current_setting('jit'), current_setting('work_mem'),
	current_setting('hash_mem_multiplier'), current_setting('max_parallel_workers_per_gather'), current_setting('client_min_messages'),
	current_setting('gin_fuzzy_search_limit')) $$;
-- known: dp_laplace
CREATE FUNCTION inside() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN told(); /* dp_laplace */ END $$;
CREATE FUNCTION headed() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET work_mem = '1MB' SET jit = on
AS $$ BEGIN RETURN told(); /* dp_laplace */ END $$;
CREATE FUNCTION nested() RETURNS text LANGUAGE plpgsql SECURITY DEFINER
AS $$ BEGIN RETURN inside() || ', ' || headed() || ', ' || told(); END $$;
CREATE FUNCTION unrelated() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE n int;
BEGIN
	SELECT age INTO n FROM patients WHERE id = 7;
	RETURN told();
END $$;
EOT
my $mine = "SET jit = on; SET work_mem = '64kB'; SET max_parallel_workers_per_gather = 7; SET client_min_messages = debug1; SET gin_fuzzy_search_limit = 3;\n";
my $forced = 'off none off 64MB 2 0 notice 0';
my $unchanged = 'on all on 64kB 2 7 debug1 3';

($out) = as($node, 'analyst', "${mine}SELECT inside();\nSELECT headed();\nSELECT nested();\nSELECT told();");
is( $out, join("\n", $forced, 'off none on 1MB 2 0 notice 0', "$forced, off none on 1MB 2 0 notice 0, $forced", $unchanged),
	"the caller's settings reach no procedure, whose header decides; they are there again afterwards");
($out) = as($node, 'analyst', "${mine}SELECT catch('SELECT length(inside()) / 0');\nSELECT catch('SELECT pages(1, 0)');\nSELECT told();\nSELECT unrelated();");
is($out, "22012\n22023\n$unchanged\n$unchanged", 'also after errors; functions that call no building block have them');
($out) = as($node, 'analyst', "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT unrelated() <> '';\nCOMMIT;\nBEGIN;\nSELECT unrelated() <> '';\n"
	. "SELECT idx_scan > 0 FROM pg_stat_xact_user_tables WHERE relname = 'patients';\nCOMMIT;");
is($out, "t\nt\nt", 'run in serializable transactions, and are counted');

($out, $err) = as($node, 'analyst', "SET client_min_messages = debug2; SET trace_sort = on; SET debug_print_plan = on;\nSELECT inside();");
like($err, qr/DEBUG|LOG/, 'messages of the session itself');
($out, $err) = as($node, 'analyst', <<'EOT');
CREATE FUNCTION quiet() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL client_min_messages = debug5;
	SET LOCAL trace_sort = on;
	PERFORM stepped(101);
	SET LOCAL client_min_messages = warning;
END $$;
SELECT quiet();
EOT
unlike($err, qr/CONTEXT:.*stepped/s, 'none comes from within');

SKIP:
{
	skip 'no JIT', 2 unless -e "$libraries/llvmjit.so";
	foreach my $call ('pg_sleep(0)', 'liked(101)')
	{
		($out, $err) = as($node, 'analyst', "SET jit_above_cost = 10;\nSELECT $call;\n"
			  . "SET jit_above_cost = 0; SET client_min_messages = debug1;\nSELECT sum(i) FROM generate_series(1, 3) AS i;");
		like($err, qr/successfully loaded JIT provider/, "LLVM is loaded only after $call");
	}
}

# ---- the stack ----

sub fates
{
	my ($call, $to) = @_;
	my $self = quiet_session($node, 'analyst');
	my ($out, $error) = answer($self, "SELECT string_agg(deep(n, 'SELECT $call'), ' ' ORDER BY n) FROM generate_series(1, $to) AS n;");

	hang_up($self);
	return $out . $error;
}

my $self = quiet_session($node, 'analyst');
my ($depth) = answer($self, 'SELECT deepest();');
hang_up($self);
cmp_ok($depth, '>', 30, "there is a depth where the stack ends: $depth");
foreach my $call ('liked', 'safe')
{
	my @fates = map { fates("$call($_)", $depth + 1) } @ids;

	is($fates[0], $fates[1], "where the stack of $call ends does not depend on a row");
	like($fates[0], qr/^(answered )+(54001 ?)+$/, 'a shallow call is answered, a deep one refused');
}

# ---- what is not known ----

$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE FUNCTION hidden(who int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
	r bigint;
BEGIN
	EXECUTE 'SELECT dp_' || 'laplace((SELECT count(*) FROM patients WHERE id <= $1), 1, 10, ''hospital'')' INTO r USING who;
	RETURN r;
END $$;
-- reads, and hands what it has read to one that is known
CREATE FUNCTION outer_one(who int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
	r bigint;
BEGIN
	EXECUTE format('SELECT inner_%s(%s)', 'one', (SELECT count(*) FROM patients WHERE id <= who)) INTO r;
	RETURN r;
END $$;
CREATE FUNCTION inner_one(v bigint) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT dp_laplace(v, 1, 10, 'hospital') $$;
SET SESSION AUTHORIZATION friend;
-- another role's function around a procedure, and one with its words
CREATE FUNCTION around(who int) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN pages(who, 1); END $$;
CREATE FUNCTION told(n int) RETURNS text LANGUAGE sql AS $$ SELECT dp_laplace(1, 1, 1, 'hospital')::text $$;
EOT
sub state
{
	my ($sql, $role) = @_;

	return sqlstate($node, $role // 'analyst', $sql);
}
my $spent = sub { value($node, "SELECT charges FROM dp_pg.budgets WHERE role = 'analyst'") };
my $before = $spent->();

like(errors($node, 'analyst', 'SELECT hidden(7)'), qr/function hidden\(integer\) is not known.*ALTER ROUTINE hidden\(integer\) SET dp_pg.procedure = on;/s,
	'a function that is not known to call a building block gets no answer');
is(state('SET dp_pg.procedure = on; SELECT hidden(7)'), '55000', 'whatever the caller sets');
is(state('SELECT outer_one(7)'), '55000', 'nor does one that hands over what it read');
is($spent->(), $before, 'nothing is charged');
is(state('SELECT hidden(7)', 'owner'), '', 'the owner himself is shielded from nothing');
is(state('SELECT around(101)'), '', "another role's function may call a procedure");
is(state("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT unrelated(); COMMIT;"), '', 'words of others make no function known');
value($node, 'ALTER ROUTINE hidden SET dp_pg.procedure = on; ALTER ROUTINE outer_one SET dp_pg.procedure = on;'
	. ' ALTER ROUTINE pages SET dp_pg.procedure = off');
is(state('SELECT hidden(7), outer_one(7)'), '', 'its header can tell');
is(state('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT hidden(7)'), '0A000', 'and so it is shielded');
is(state('SELECT pages(7, 1)'), '55000', 'or tell that it calls none');
value($node, 'ALTER ROUTINE pages RESET dp_pg.procedure');
is(state('SELECT pages(7, 1)'), '', 'the session of a later call knows');

# ---- numbers that were computed before ----

$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE statistic (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO statistic SELECT 'old', count(*) FROM patients WHERE age > 50;
CREATE FUNCTION kept(epsilon numeric) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	RETURN dp_laplace((SELECT s.value FROM statistic s WHERE s.name = 'old'), 1, epsilon, 'hospital');
END $$;
EOT
($out) = as($node, 'analyst', 'SELECT kept(1000);');
is($out, 4900, 'a number that the owner computed before');

$node->stop;
done_testing();
