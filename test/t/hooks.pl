# Where private rows are executed, no other library's hook runs: in readers, in the
# parallel workers that they start, and in an owner's shielded procedure, which runs
# in its caller's process; before and after that they run as usual.  spy.c is
# another library, preloaded before dp_pg and after it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(as attack_node log_mark log_since test_library);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# ---- the list in src/base/hooks.c ----

# Not of a process that executes: starting the server, logging in.
my %elsewhere = map { $_ => 1 } qw(ClientAuthentication_hook ldap_password_hook
  openssl_tls_init_hook shmem_request_hook shmem_startup_hook);
my $headers = `$ENV{DP_PG_SYSTEM_CONFIG} --includedir-server`;
chomp $headers;
my $text = slurp_file("$FindBin::RealBin/../../src/base/hooks.c") . slurp_file("$FindBin::RealBin/../../src/base/dp_compat.h");
my @declared = sort `grep -rhoE 'extern PGDLLIMPORT [A-Za-z_]+ +[A-Za-z_]*_hook[A-Za-z_]*;' $headers` =~ /(\w+);/g;
cmp_ok(scalar @declared, '>', 25, scalar(@declared) . ' hooks are declared in the server\'s headers');
is(join(' ', grep { !$elsewhere{$_} && $text !~ /HOOK\(\Q$_\E\)/ } @declared), '', 'each is in the list of hooks.c');

# ---- what a spy sees ----

sub seen
{
	my ($node, $mark) = @_;

	return log_since($node, $mark) =~ /^(spy \w+: .*)$/mg;
}

# Functions with other rights.
sub begins { return scalar grep { /^spy call/ } @_ }
sub ends { return scalar grep { /^spy (?:return|abort)/ } @_ }

my $library = test_library('spy');
foreach my $order ("$library, dp_pg", "dp_pg, $library")
{
	my $name = $order =~ /^dp_pg/ ? 'after' : 'before';
	my $node = attack_node("hooks_$name", "shared_preload_libraries = '$order'\nmax_worker_processes = 16\nlog_min_messages = debug1\n");

	value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE crowd AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 200000) i;
ALTER TABLE crowd ADD PRIMARY KEY (id);
SELECT dp_protect('crowd', dataset => 'hospital', rows => 10000000);
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION dp_laplace(anyelement, numeric, numeric, name, numeric), dp_laplace(anyelement, float8, float8, name, float8) TO owner;
SET SESSION AUTHORIZATION owner;
CREATE PROCEDURE total(lowest int, INOUT total numeric DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE x numeric;
BEGIN
	SELECT /* exact */ coalesce(sum(k), 0) INTO x FROM crowd WHERE id >= lowest;
	IF lowest < 0 THEN
		RAISE EXCEPTION 'no';
	END IF;
	total := dp_laplace(x, 7, 1000, 'hospital');
END $$;
GRANT EXECUTE ON PROCEDURE total TO analyst;
CREATE PROCEDURE total_by_workers(INOUT total numeric DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
SET max_parallel_workers_per_gather = 2 SET parallel_setup_cost = 0 SET min_parallel_table_scan_size = 0 AS $$
DECLARE x numeric;
BEGIN
	CREATE TEMP TABLE made ON COMMIT DROP AS SELECT /* exact */ sum(k) AS x FROM crowd WHERE k > 2;
	total := dp_laplace((SELECT made.x FROM made), 7, 1000, 'hospital');
END $$;
GRANT EXECUTE ON PROCEDURE total_by_workers TO analyst;
EOT

	foreach my $query ('SELECT dp_count(*) FROM patients', 'SELECT dp_count(*) FROM crowd WHERE k > 2',
		'SELECT k, dp_count(*) FROM crowd WHERE k IN (1, 2) GROUP BY k', 'SELECT dp_count(DISTINCT age) FROM patients')
	{
		my $mark = log_mark($node);
		my ($out, $err) = as($node, 'analyst', "$query;");
		my @seen = seen($node, $mark);

		is($err, '', "$name: answered: $query");
		ok((grep { /^spy start: session: \Q$query\E/ } @seen), 'the spy sees the statement');
		is(join("\n", grep { /: dp_pg reader: |: worker: / } @seen), '', 'and nothing of its reader and workers');
		like(log_since($node, $mark), qr/registering background worker "parallel worker/, 'which there were') if $query =~ /crowd/;
	}

	# a plan that is kept is given whatever planner hook was there first
	my $mark = log_mark($node);
	as($node, 'analyst', "SELECT dp_count(*) FROM patients WHERE age > 7;\n" x 5);
	is(scalar(grep { /^spy planner: session: SELECT dp_count/ } seen($node, $mark)),
		$name eq 'before' ? 2 : 5, "$name: asked five times, planned twice");

	# whoever reads with his own rights in his own process is seen
	$mark = log_mark($node);
	as($node, 'owner', 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SELECT count(*) FROM crowd WHERE k > 2;');
	ok((grep { /^spy run: worker: / } seen($node, $mark)), "$name: an owner's own workers are seen");

	# a procedure
	$mark = log_mark($node);
	my ($out, $err) = as($node, 'analyst', "CALL total(5);\nSELECT 'afterwards';");
	my @seen = seen($node, $mark);
	is($err, '', "$name: the procedure answers");
	cmp_ok(begins(@seen), '>', 0, 'its function is seen to begin');
	like($out, qr/^[\d.]+$/m, 'with a number');
	ok((grep { /^spy utility: session: CALL total/ } @seen), 'its call is seen');
	is(join("\n", grep { /exact|^spy plugin/ } @seen), '', 'and nothing in it');
	is(ends(@seen), begins(@seen), 'what is seen to begin is seen to end');
	ok((grep { /^spy run: session: SELECT 'afterwards'/ } @seen), 'afterwards all is seen again');

	# one whose header allows workers
	$mark = log_mark($node);
	($out, $err) = as($node, 'analyst', 'CALL total_by_workers();');
	@seen = seen($node, $mark);
	is($err, '', "$name: a procedure with workers answers");
	like(log_since($node, $mark), qr/registering background worker "parallel worker/, 'which it has');
	is(join("\n", grep { /exact|: worker:/ } @seen), '', 'and nothing is seen in them');

	# and one that fails, in a subtransaction and without
	foreach my $call ("CALL total(-1);\nSELECT 'afterwards';",
		"BEGIN; SAVEPOINT s; CALL total(-1); ROLLBACK TO s; SELECT 'afterwards'; COMMIT;",
		"DO \$\$ BEGIN CALL total(-1); EXCEPTION WHEN OTHERS THEN PERFORM 'afterwards'; END \$\$;")
	{
		$mark = log_mark($node);
		($out, $err) = as($node, 'analyst', $call);
		@seen = seen($node, $mark);
		is(join("\n", grep { /^spy (?:start|run|planner): .*exact/ } @seen), '', "$name: nothing is seen in one that fails");
		ok((grep { /^spy start: session: .*'afterwards'/ } @seen), 'and afterwards all is');
		is(ends(@seen), begins(@seen), 'what is seen to begin is seen to end');
	}

	# a hook that refuses a relation is asked about what readers read
	value($node, q{ALTER ROLE analyst SET spy.refused = 'patients'});
	is(sqlstate($node, 'analyst', 'SELECT dp_count(*) FROM patients'), '42501', "$name: what another library refuses is refused");
	is(sqlstate($node, 'analyst', 'SELECT dp_count(*) FROM crowd'), '', 'and nothing else');
	value($node, 'ALTER ROLE analyst RESET spy.refused');

	# A hook in front of dp_pg's may plan other statements before, and hand on
	# a copy: the inner query is known all the same, or the query is refused.
	foreach my $before ('', 'q', 't', 'p', 'qp', 'qt')
	{
		my $refused = $before eq 'qt' && $name eq 'after';
		my $charges = charges($node);

		value($node, "ALTER ROLE analyst SET spy.before = '$before'");
		is(sqlstate($node, 'analyst', 'SELECT dp_count(*) FROM crowd WHERE k = 3'), $refused ? '0A000' : '', "$name: planned after '$before'");
		is(charges($node) - $charges, $refused ? 0 : $before =~ /p/ ? 2 : 1, 'and charged');
	}
	value($node, 'ALTER ROLE analyst RESET spy.before');

	# procedures of who may not call a building block, and what they may do to
	# settings, take no hook away
	value($node, <<'EOT');
CREATE ROLE other LOGIN SUPERUSER;
SET SESSION AUTHORIZATION analyst;
CREATE PROCEDURE of_analyst() LANGUAGE plpgsql SECURITY DEFINER SET dp_pg.procedure = on AS 'BEGIN PERFORM ''watched''; END';
SET SESSION AUTHORIZATION owner;
CREATE FUNCTION resets() RETURNS void LANGUAGE plpgsql SET work_mem = '4MB' AS 'BEGIN RESET ALL; RAISE EXCEPTION ''no''; END';
CREATE FUNCTION resetting() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET dp_pg.procedure = on AS 'BEGIN PERFORM resets(); END';
CREATE FUNCTION resetting_well() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET dp_pg.procedure = on AS 'BEGIN RESET ALL; END';
SET SESSION AUTHORIZATION other;
CREATE FUNCTION setting() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET dp_pg.procedure = on AS 'BEGIN SET dp_pg.alone = on; END';
CREATE FUNCTION unsetting() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET dp_pg.procedure = on AS 'BEGIN RESET dp_pg.alone; END';
EOT
	$mark = log_mark($node);
	as($node, 'postgres', 'CALL of_analyst();');
	ok((grep { /^spy start: session: .*watched/ } seen($node, $mark)), "$name: a procedure of who may not call a building block is seen");
	foreach my $call ('SELECT resetting();', 'BEGIN; SAVEPOINT s; SELECT resetting(); ROLLBACK TO s; COMMIT;', 'SELECT resetting_well();',
		'SELECT setting();', 'SELECT unsetting();', 'SELECT setting(); SET dp_pg.alone = on;', 'BEGIN; SELECT unsetting(); ROLLBACK;')
	{
		foreach my $role ('analyst', 'postgres')
		{
			$mark = log_mark($node);
			($out, $err) = as($node, $role, "$call\nSELECT 'afterwards';\nSHOW dp_pg.alone;");
			ok((grep { /^spy run: session: SELECT 'afterwards'/ } seen($node, $mark)), "after $call all is seen, $role");
			like($out, qr/^off$/m, 'and the setting is off');
		}
	}

	is(sqlstate($node, 'postgres', 'SET dp_pg.alone = on'), '22023', "$name: superusers cannot take hooks away");
	is(sqlstate($node, 'analyst', 'SET dp_pg.alone = on'), '42501', 'nor can others');
	is(sqlstate($node, 'postgres', 'ALTER SYSTEM SET dp_pg.alone = on'), '55P02', 'nor by the configuration');
	$node->stop;
}
done_testing();
