# A second connection of the analyst watches the first: locks, activity, worker
# processes, counters of the server; and what other extensions record.  Each is
# compared between a condition that holds for private rows and one that holds for
# none.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# log_min_messages = debug1 lets the postmaster say which workers it starts.
my $node = attack_node('watch', <<'EOT');
log_min_messages = debug1
max_parallel_workers = 8
shared_buffers = 64MB
EOT
$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY, dis varchar(20)) WITH (autovacuum_enabled = off);
INSERT INTO visits SELECT i, CASE WHEN i % 100 < 30 THEN 'flu' ELSE 'd' || i END FROM generate_series(1, 300000) i;
CREATE INDEX ON visits (dis);
VACUUM ANALYZE visits;
SELECT dp_protect('visits', dataset => 'hospital', rows => 300000);
UPDATE patients SET doc = repeat(md5(id::text), 30000) WHERE id <= 5;
VACUUM ANALYZE patients;
EOT

# 1. Worker processes: the plan's shape must not come from private statistics.
sub workers
{
	my ($settings, $where) = @_;
	my $mark = log_mark($node);

	# a costly term makes workers worth their while where many rows are met
	is(errors($node, 'analyst', "$settings; SELECT dp_count(*) FROM visits WHERE $where AND sqrt(exp(id / 1e6::float8)) > 0"), '', "asked: $where");
	my $n = () = log_since($node, $mark) =~ /registering background worker "parallel worker/g;
	return $n;
}
my $most = 0;
for my $settings (
	'SET parallel_setup_cost = 1000; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0',
	'SET parallel_setup_cost = 3000; SET parallel_tuple_cost = 0',
	"SET parallel_setup_cost = 0; SET min_parallel_index_scan_size = '10GB'",
	'SET seq_page_cost = 1000; SET random_page_cost = 1000', 'SET enable_seqscan = off',
	'SET cpu_operator_cost = 100', 'SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 100')
{
	my %n = map { $_ => workers($settings, $_) } "dis = 'flu'", "dis = 'nothing'", 'id = 5', 'id < 0', "dis IN ('flu', 'd99')";
	my %distinct = map { $_ => 1 } values %n;

	$most = (sort { $b <=> $a } $most, values %n)[0];
	is(scalar keys %distinct, 1, "as many workers for every condition: $settings")
	  or diag(explain(\%n));
}

ok($most > 0, 'and there were workers');

# 2. Locks seen from outside, while the query runs and until its transaction
# ends: those on the table's out-of-line storage included.
sub outside_locks
{
	my ($who) = @_;
	my $s = session($node, 'analyst');
	my $condition = join ' OR ', map { "doc > 'zz$_'" } 1 .. 200;
	my $seen;

	answer($s, 'SELECT dp_count(*) FROM patients;');
	answer($s, 'BEGIN;');
	ask($s, "SELECT dp_count(*) FROM patients WHERE CASE WHEN name = '$who' THEN $condition END; SELECT pg_sleep(0.5);");
	my $collect = session($node, 'analyst');
	($seen) = answer($collect, <<'EOT');
DO $$
DECLARE
	all_seen text[] = '{}';
	now_seen text[];
BEGIN
	FOR i IN 1 .. 400 LOOP
		SELECT array_agg(DISTINCT concat_ws(' ', l.locktype, replace(replace(c.relname, 'pg_toast_', ''), '_index', ''), c.relkind, l.mode))
		INTO now_seen FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE l.pid <> pg_backend_pid() AND (c.relname LIKE 'patients%' OR c.relname LIKE 'pg\_toast%');
		SELECT array_agg(DISTINCT x ORDER BY x) INTO all_seen FROM unnest(all_seen || now_seen) x WHERE x IS NOT NULL;
		PERFORM pg_sleep(0.002);
	END LOOP;
	PERFORM set_config('my.seen', array_to_string(all_seen, ', '), false);
END $$;
SELECT current_setting('my.seen');
EOT
	answer($s);
	answer($s, 'COMMIT;');
	hang_up($_) for $s, $collect;
	return $seen;
}
my $somebody = outside_locks('n5');
like($somebody, qr/patients/, 'the watcher sees locks');
is($somebody, outside_locks('nobody'), 'the same locks, whether or not somebody is met');

# 3. Counters of the whole server, which dp_audit() warns of besides.
my %counters = (
	'pg_stat_get_slru' => "SELECT sum(blks_hit + blks_read) FROM pg_stat_slru WHERE name = 'Xact'",
	'pg_stat_get_buf_alloc' => 'SELECT buffers_alloc FROM pg_stat_bgwriter',
	'pg_stat_get_db_blocks_hit' => 'SELECT blks_hit FROM pg_stat_database WHERE datname = current_database()');
my $next = 20000;
for my $function (sort keys %counters)
{
	my $equal = 0;
	my @seen;

	# Other processes count as well, so one undisturbed pair is enough; a leak
	# of one row would part every pair.  The ledger's worker reports once a
	# second at most, so charges are further apart than that.
	for my $round (1 .. 20)
	{
		my %more;

		for my $which ('there', 'missing')
		{
			# each time a row that nobody has looked at yet
			my $id = $next++;
			my $asked = $which eq 'there' ? $id : $id + 50000;

			as($node, 'owner', "INSERT INTO patients VALUES ($id, 1, 'new')");
			my ($out) = as($node, 'analyst', <<"EOT");
SELECT dp_count(*) IS NULL FROM visits WHERE id = 1;
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT pg_sleep(1.2) \\g /dev/null
$counters{$function};
SELECT dp_count(*) IS NULL FROM patients WHERE id = $asked;
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT pg_sleep(1.2) \\g /dev/null
$counters{$function};
EOT
			my @n = $out =~ /^(\d+)$/mg;
			$more{$which} = $n[1] - $n[0];
		}
		push @seen, \%more;
		$equal = $more{there} == $more{missing};
		last if $equal;
	}
	ok($equal, "$function: the same for a row that is there and one that is not")
	  or diag(explain(\@seen));
}
$node->stop;

# 4. Other extensions: what they record shows nothing of the inner query, and
# a private query works beside them, in every order of loading.
for my $libraries ('pg_stat_statements, auto_explain, dp_pg', 'dp_pg, auto_explain, pg_stat_statements', 'auto_explain, dp_pg, pg_stat_statements')
{
	my $name = $libraries =~ s/\W+/_/gr;
	my $busy = attack_node("watch_$name", <<"EOT");
shared_preload_libraries = '$libraries'
pg_stat_statements.track = all
pg_stat_statements.track_planning = on
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_buffers = on
auto_explain.log_verbose = on
auto_explain.log_nested_statements = on
EOT
	$busy->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements; GRANT EXECUTE ON FUNCTION pg_stat_statements_reset TO analyst');
	my %rows;
	for my $where ('true', 'id = 5', 'id = -5', "name = 'often'", 'id < 10')
	{
		my ($out, $err) = as($busy, 'analyst', <<"EOT");
SET work_mem = '64kB'; SET enable_hashagg = off;
SET client_min_messages = log; SET debug_print_plan = on;
SELECT dp_count(*) AS answer, dp_count(DISTINCT doc) FROM patients WHERE $where;
SET debug_print_plan = off; SET client_min_messages = notice;
SELECT dp_count(*) AS answer, dp_count(DISTINCT doc) FROM patients WHERE $where;
SELECT pg_stat_statements_reset() \\g /dev/null
SELECT dp_count(*) AS answer, dp_count(DISTINCT doc) FROM patients WHERE $where;
SELECT 'counted ' || concat_ws(' ', calls, plans, rows, shared_blks_hit, shared_blks_read, shared_blks_dirtied, local_blks_hit,
	temp_blks_read, temp_blks_written, wal_records, wal_bytes) FROM pg_stat_statements WHERE query LIKE '%AS answer%';
SELECT 'inner ' || count(*) FROM pg_stat_statements WHERE query ~ 'private query' OR query ~ 'exact';
EOT
		unlike($err, qr/ERROR/, "$libraries: answered: $where");
		unlike($err, qr/<private query>|Seq Scan on public.patients|Index.*Scan.*patients|Sort Method|bounded_sum/, "$libraries: no inner plan in what the client gets: $where");
		like($out, qr/inner 0/, "$libraries: no inner statement recorded: $where");
		$rows{$1} = 1 if $out =~ /(counted .*)/;
	}
	is(scalar keys %rows, 1, "$libraries: the same is counted for every condition")
	  or diag(explain([ keys %rows ]));
	$busy->stop;
}

done_testing();
