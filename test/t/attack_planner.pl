# The plan of an inner query follows from public facts.  The server prints it
# to its log, with rows, costs and widths as the planner believes them: it must
# be the same, letter by letter, whatever the rows are, whatever ANALYZE found,
# and whatever an analyst sets.  (The table has less pages than call for
# workers; their number is tested at the end.)  No false alarms.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('planner', "log_min_messages = log\n");

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id int PRIMARY KEY, age int, name text, at timestamp, flag boolean NOT NULL);
CREATE INDEX ON visit (age);
CREATE INDEX ON visit (name);
CREATE STATISTICS visit_both (ndistinct, mcv) ON age, name FROM visit;
SELECT dp_protect('visit', dataset => 'hospital');
SELECT dp_declare('visit', 'age', lower => 0, upper => 120);
SELECT dp_declare('visit', 'name', keys => ARRAY['a', 'b', 'c']);
SELECT dp_declare('visit', 'at', lower => '2020-01-01'::timestamp, upper => '2020-03-01'::timestamp);
EOT

my @queries = (
	'SELECT dp_count(*) FROM visit',
	'SELECT dp_count(*) FROM visit WHERE age = 7',
	"SELECT dp_count(DISTINCT name) FROM visit WHERE age < 50 AND name = 'a'",
	'SELECT age, name, dp_count(*), dp_sum(age) FROM visit GROUP BY 1, 2',
	"SELECT date_trunc('day', at), dp_avg(age) FROM visit WHERE flag GROUP BY 1",
	'SELECT dp_median(age), dp_histogram(age, 0, 120, 4) FROM (SELECT * FROM visit WHERE id < 50) s',
	"SELECT * FROM dp_argmax('visit', ARRAY['age = 7', 'name = ''a''', 'age + id > 70'])",
	"SELECT * FROM dp_sparse_vector('visit', ARRAY['age = 7', 'flag'], 10, 1, 1000)");

# The inner plans that the log has of the queries, without what is printed of
# queries themselves and of the outer plan.
sub plans
{
	my ($settings) = @_;
	my $mark = log_mark($node);
	my $log;
	my @found;

	foreach my $query (@queries)
	{
		my $err = errors($node, 'analyst',
			"SET debug_print_plan = on; $settings $query");

		unlike($err, qr/ERROR/, "answered: $query") if $err =~ /ERROR/;
	}
	$log = log_since($node, $mark);
	while ($log =~ /DETAIL: +(\{PLANNEDSTMT .*?)\n(?!\t)/sg)
	{
		my $plan = $1;

		next if $plan =~ /CUSTOMSCAN/ || $plan !~ /SEQSCAN|INDEX|BITMAP|TIDSCAN/;
		$plan =~ s/:(location|stmt_location|stmt_len|constvalue) [^:]*//g;
		push @found, $plan;
	}
	return join "----\n", @found;
}

sub rows
{
	my ($insert) = @_;

	value($node, "SET SESSION AUTHORIZATION owner; TRUNCATE visit; $insert;");
	return;
}

my $few = "INSERT INTO visit SELECT i, 7, 'a', '2020-01-03', true FROM generate_series(1, 5) i";
my $many = "INSERT INTO visit SELECT i, i % 90, chr(97 + i % 20), '2020-01-01'::timestamp + i * interval '1 minute', i % 3 = 0"
  . ' FROM generate_series(1, 20000) i';

rows($few);
my $public = plans('');
my @nodes = $public =~ /\{(SEQSCAN|INDEX\w*|BITMAP\w*|TIDSCAN)/g;
cmp_ok(scalar @nodes, '>=', scalar @queries, 'the log has the inner plans');
is(scalar(grep { $_ ne 'SEQSCAN' } @nodes), 0, 'which read the whole table');

# the statistics of rows
value($node, 'ANALYZE visit');
is(plans(''), $public, 'few rows, analyzed');
rows($many);
is(plans(''), $public, 'many rows, old statistics');
value($node, 'ANALYZE visit');
is(plans(''), $public, 'many rows, analyzed');
value($node, 'VACUUM visit');
is(plans(''), $public, 'all visible');
value($node,
	"UPDATE pg_statistic SET stawidth = 4000, stadistinct = -1 WHERE starelid = 'visit'::regclass"
);
is(plans(''), $public, 'wide and distinct');

# settings that an analyst may change
foreach my $settings (
	'SET enable_seqscan = off;',
	'SET enable_seqscan = off; SET enable_indexscan = on; SET random_page_cost = 0; SET seq_page_cost = 1e9;',
	'SET enable_hashagg = off; SET enable_sort = off;',
	'SET enable_hashagg = off; SET work_mem = 64;',
	'SET cpu_tuple_cost = 1e6; SET cpu_operator_cost = 0; SET cpu_index_tuple_cost = 0;',
	'SET effective_cache_size = 1; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0;',
	'SET parallel_setup_cost = 1e9; SET parallel_tuple_cost = 1e9;',
	'SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;',
	'SET default_statistics_target = 10000; SET enable_incremental_sort = off; SET enable_gathermerge = off;',
	'SET enable_tidscan = on; SET enable_bitmapscan = on; SET enable_partitionwise_aggregate = on;',
	'SET plan_cache_mode = force_generic_plan; SET cursor_tuple_fraction = 0;')
{
	is(plans($settings), $public, $settings);
}

# The rest of the server is planned as ever.
value($node, 'ANALYZE visit');
like(
	value($node, 'EXPLAIN SELECT FROM visit WHERE age = 7'),
	qr/Index|Bitmap/, 'the owner has indexes');
like(
	value($node, 'EXPLAIN SELECT FROM visit'),
	qr/rows=20000 /, 'and statistics');

# Workers: as many as the pages would give, whatever else there is.
sub planned_workers
{
	return join ' ', plans($_[0]) =~ /:num_workers (\d+)/g;
}

value($node, "SET SESSION AUTHORIZATION owner; ALTER TABLE visit ADD pad text; TRUNCATE visit;"
	  . " INSERT INTO visit SELECT i, 7, 'a', '2020-01-03', true, repeat('x', 1900) FROM generate_series(1, 5000) i");
my $workers = planned_workers('');
like($workers, qr/^1( 1)*$/, 'one worker from 1024 pages on');
is(planned_workers($_), $workers, $_)
  foreach 'SET min_parallel_table_scan_size = 0;',
  'SET min_parallel_table_scan_size = \'1GB\';',
  'SET parallel_setup_cost = 1e9; SET cpu_tuple_cost = 0;';
is(planned_workers('SET max_parallel_workers_per_gather = 0;'),
	'', 'none where the session wants none');

$node->stop;
done_testing();
