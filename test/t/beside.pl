# dp_pg with other extensions that use the server's hooks, preloaded before it and
# after it: ordinary statements work, private queries are answered, no process
# fails, and what the others show does not depend on private rows.  t/hooks.pl tests
# the rule, for all hooks; this program tests Debian's packages that are in use.
# BESIDE=pgaudit,pg_qualstats selects some of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(as attack_node);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What is preloaded, how it is set up, and what it shows, asked by a superuser.
my %libraries = (
	auto_explain => { conf => "auto_explain.log_min_duration = 0\nauto_explain.log_analyze = on\nauto_explain.log_nested_statements = on\n" },
	hypopg => { extension => 'hypopg', shows => ['SELECT count(*) FROM hypopg_list_indexes'] },
	pgaudit => { extension => 'pgaudit', conf => "pgaudit.log = 'all'\n" },
	pgextwlist => { conf => "extwlist.extensions = 'hypopg'\n" },
	pglogical => { extension => 'pglogical' },
	pg_cron => { extension => 'pg_cron', conf => "cron.database_name = 'postgres'\n" },
	pg_partman_bgw => { extension => 'pg_partman', conf => "pg_partman_bgw.dbname = 'postgres'\n" },
	pg_qualstats => { extension => 'pg_qualstats', conf => "pg_qualstats.sample_rate = 1\n",
		shows => ["SELECT count(*) FROM pg_qualstats WHERE 'patients'::regclass IN (lrelid, rrelid) OR execution_count > 10"] },
	pg_stat_kcache => { with => 'pg_stat_statements', extension => 'pg_stat_kcache', shows => ["SELECT count(*) FROM pg_stat_kcache_detail WHERE query ~ '/. exact'"] },
	pg_stat_statements => { extension => 'pg_stat_statements', conf => "pg_stat_statements.track = all\npg_stat_statements.track_planning = on\n",
		shows => ["SELECT string_agg(concat_ws(' ', calls, plans, rows, shared_blks_hit, shared_blks_read, shared_blks_dirtied, temp_blks_read, wal_records), ',' ORDER BY query) FROM pg_stat_statements WHERE query LIKE '%AS asked%'",
			"SELECT count(*) FROM pg_stat_statements WHERE query ~ '/. exact|private query'"] },
	pg_wait_sampling => { extension => 'pg_wait_sampling', shows => ['SELECT count(*) FROM pg_wait_sampling_profile WHERE queryid <> 0'] },
	plpgsql_check => { extension => 'plpgsql_check', conf => "plpgsql_check.profiler = on\n",
		shows => ["SELECT coalesce(sum(exec_stmts), 0) FROM plpgsql_profiler_function_tb('total(int, numeric)')"] },
	plprofiler => { extension => 'plprofiler', only_before => 1 },
	powa => { with => 'pg_stat_statements', extension => 'powa' },
	set_user => { extension => 'set_user' });

my $folder = `$ENV{PG_CONFIG} --pkglibdir`;
chomp $folder;
my @all = grep { -e "$folder/$_.so" } sort keys %libraries;
cmp_ok(scalar @all, '>=', 12, 'of those there are here: ' . join ', ', @all);
my @chosen = $ENV{BESIDE} ? split /,/, $ENV{BESIDE} : @all;

sub check
{
	my ($name, $preload, @used) = @_;
	my $conf = join '', map { $libraries{$_}{conf} // '' } @used;
	my $node = attack_node($name, "shared_preload_libraries = '$preload'\nmax_worker_processes = 32\n$conf");

	foreach my $extension (map { $libraries{$_}{extension} // () } @used)
	{
		is(sqlstate($node, 'postgres', "CREATE EXTENSION IF NOT EXISTS $extension CASCADE"), '', "$preload: $extension is created");
	}
	# or it refuses every DROP TABLE of others, with dp_pg and without
	value($node, 'GRANT USAGE ON SCHEMA pglogical TO PUBLIC') if grep { $_ eq 'pglogical' } @used;
	value($node, <<'EOT');
GRANT EXECUTE ON FUNCTION dp_laplace(anyelement, numeric, numeric, name, numeric), dp_laplace(anyelement, float8, float8, name, float8) TO owner;
SET SESSION AUTHORIZATION owner;
CREATE PROCEDURE total(who int, INOUT total numeric DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE x numeric;
BEGIN
	SELECT /* exact */ count(*) INTO x FROM patients WHERE id = who AND age >= 0;
	total := dp_laplace(x, 1, 1000, 'hospital');
END $$;
GRANT EXECUTE ON PROCEDURE total TO analyst;
EOT

	# ordinary statements of anybody
	foreach my $role ('postgres', 'owner', 'analyst')
	{
		my ($out, $err) = as($node, $role, "SELECT 1;\nCREATE TABLE of_$role (a int);\nINSERT INTO of_$role SELECT 7 FROM generate_series(1, 100);\n"
			  . "SELECT sum(a) FROM of_$role JOIN pg_class ON oid = 'of_$role'::regclass;\nDROP TABLE of_$role;");

		is("$out$err", "1\n700", "$preload: ordinary statements of $role");
	}

	# private ones; what is shown, where a row is met and where none is
	my @shown;
	foreach my $id (5, -5, 5)
	{
		my $reset = join ' ', map { "SELECT $_();" } map { $_ eq 'pg_qualstats' || $_ eq 'pg_stat_statements' ? $_ . '_reset' : () } @used;

		value($node, $reset) if $reset ne '';
		my ($out, $err) = as($node, 'analyst', "SELECT dp_count(*) AS asked FROM patients WHERE id = $id AND age >= 0;\nCALL total($id);\nSELECT dp_count(*) AS asked FROM patients WHERE id > 0;");
		my @answers = split /\n/, $out;

		is($err, '', "$preload: private queries and procedures are answered");
		cmp_ok(abs($answers[0] - ($id > 0)) + abs($answers[1] - ($id > 0)) + abs($answers[2] - 10000), '<', 0.5, 'as ever');
		push @shown, join '; ', map { value($node, $_) } map { @{ $libraries{$_}{shows} || [] } } @used;
	}
	is($shown[1], $shown[2], "$preload: the same is shown where no row is met: $shown[1]");
	my $exact = join '; ', map { value($node, $_) } map { @{ $libraries{$_}{shows} || [] } } grep { $_ ne 'pg_stat_statements' } @used;
	like($exact, qr/^(?:0(?:; 0)*)?$/, 'and nothing of what runs within') or diag($exact);

	$node->stop;
	my $log = slurp_file($node->logfile);
	unlike($log, qr/by signal/, "$preload: no process failed");
	unlike($log, qr/^(?!.*STATEMENT).*(?:AUDIT|plan:).*(?:private query|bounded_sum)/m, 'no log of the reader');
	like($log, qr/AUDIT: SESSION,\d+,\d+,READ,SELECT,,,SELECT dp_count\(\*\) AS asked FROM patients WHERE id = 5/, 'what the analyst asked is audited') if grep { $_ eq 'pgaudit' } @used;
	return;
}

# A library that does not hand on what dp_pg asked the server for before it.
sub check_refused
{
	my ($name, $preload) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$preload'\n");
	is($node->start(fail_ok => 1), 0, "$preload: the server does not start");
	like(slurp_file($node->logfile), qr/HINT:  Put dp_pg last in shared_preload_libraries/, 'and says what to do');
	return;
}

foreach my $library (@chosen)
{
	my @used = ($libraries{$library}{with} // (), $library);
	my $list = join ', ', @used;

	check("before_$library", "$list, dp_pg", @used);
	if (!$libraries{$library}{only_before}) { check("after_$library", "dp_pg, $list", @used) }
	else { check_refused("after_$library", "dp_pg, $list") }
}
done_testing();
