# The plan of an inner query follows from public facts.  The server prints it to its
# log, with rows, costs and widths as the planner believes them: it must be the
# same, letter by letter, whatever the rows are, whatever ANALYZE found, and
# whatever an analyst sets.  Owners' public declarations are tested at the end:
# workers by the size class, partitions that constants leave, an index whose pages
# are public.  No false alarms.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use Test::More;

# debug1 lets the postmaster say which workers it starts
my $node = attack_node('planner', "log_min_messages = debug1\nmax_parallel_workers = 8\n");

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

# Of a function that the planner calls for a constraint or an index the statements
# are planned by themselves: one that is private, too, and its inner query.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE other AS SELECT i AS id, i % 10 AS v FROM generate_series(1, 1000) i;
ALTER TABLE other ADD PRIMARY KEY (id);
ANALYZE other;
SELECT dp_protect('other', dataset => 'hospital');
CREATE FUNCTION most(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql SET dp_pg.epsilon = '1000' AS $$
BEGIN
	RAISE LOG 'most: % rows', (SELECT dp_count(*) FROM other WHERE v < 5 AND x > 0);
	RETURN x;
EXCEPTION WHEN OTHERS THEN	-- while an index is made, or analyzed
	RETURN x;
END $$;
ALTER TABLE visit ADD CONSTRAINT young CHECK (age < most(1000));
CREATE INDEX young ON visit (age) WHERE age < most(2000);
EOT
my $excludes = 'SET constraint_exclusion = on;';
my $mark = log_mark($node);
my $nested = plans($excludes);
my @asked = log_since($node, $mark) =~ /most: 500 rows/g;
cmp_ok(scalar @asked, '>', 3, 'private queries while others are planned');
rows($few);
is(plans($excludes), $nested, 'few rows, old statistics, and a private query while one is planned');
value($node, 'ANALYZE visit');
is(plans($excludes), $nested, 'the same, analyzed');
my $explain = "EXPLAIN SELECT FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname = 'x'";
my ($before) = as($node, 'analyst', $explain);
my ($after, $error) = as($node, 'analyst', "$excludes SELECT FROM (SELECT dp_count(*) FROM visit WHERE age > 5) s; $explain");
is($error . $after, $before, 'afterwards the session plans by statistics');
value($node, 'DROP INDEX young; ALTER TABLE visit DROP CONSTRAINT young');
rows($many);
is(plans(''), $public, 'without it');

# The rest of the server is planned as ever.
value($node, 'ANALYZE visit');
like(
	value($node, 'EXPLAIN SELECT FROM visit WHERE age = 7'),
	qr/Index|Bitmap/, 'the owner has indexes');
like(
	value($node, 'EXPLAIN SELECT FROM visit'),
	qr/rows=20000 /, 'and statistics');

# ---- what can be seen of a query beside its answer ----

my %name = ();

# Steps of the inner plans of a query that read rows, and what they read.
sub steps
{
	my ($query, $settings) = @_;
	my @steps;

	@queries = ($query);
	%name = map { split /\|/ } split /\n/, value($node, 'SELECT oid, relname FROM pg_class WHERE oid >= 16384')
	  if !%name;
	foreach my $plan (split /----\n/, plans($settings // ''))
	{
		my @relids = map { /^.*?:rtekind 0\s.*?:relid (\d+)/s ? $1 : 0 } split /\{(?:RTE|RANGETBLENTRY)\s/, $plan;

		push @steps, "$1 workers" while $plan =~ /:num_workers (\d+)/g;
		push @steps, 'pruned while run' if $plan =~ /:part_prune_index \d|\{PARTITIONPRUNEINFO/;
		while ($plan =~ /\{(SEQSCAN|INDEX\w*|BITMAP\w*|TIDSCAN)\s.*?:(?:scan\.)?scanrelid (\d+)/sg)
		{
			my ($step, $place) = ($1, $2);

			push @steps, ($step eq 'SEQSCAN' ? '' : "$step ") . ($name{ $relids[$place] } // '?');
		}
	}
	return join ' ', @steps;
}

sub is_read
{
	my ($query, $wanted, $name, $settings) = @_;

	is(steps("SELECT dp_count(*) FROM $query", $settings), $wanted, $name // $query);
	return;
}

# Locks on relations of users that processes hold.
my $locks = "SELECT string_agg(DISTINCT relation::regclass || ' ' || mode, ', ') FROM pg_locks"
  . " WHERE locktype = 'relation' AND relation >= 16384 AND pid ";

# Plans, EXPLAIN, workers that are started, the session's locks, and those of
# the reader, which has them all before the charge: that waits here.
sub seen
{
	my @asked = @_;
	my $seen = '';

	foreach my $query (@asked)
	{
		my $locker = session($node, 'postgres');
		my $asker = session($node, 'analyst');
		my $mark;

		@queries = ($query);
		$seen .= plans('') . "\n";
		$seen .= (as($node, 'analyst', "EXPLAIN (VERBOSE) $query"))[0] =~ s/.*Budget: .*//r . "\n";
		answer($asker, "BEGIN; $query;");
		$seen .= (answer($asker, "$locks = pg_backend_pid(); COMMIT;"))[0] . "\n";
		answer($locker, 'BEGIN; SELECT FROM dp_pg.budget FOR UPDATE;');
		$mark = log_mark($node);
		ask($asker, "$query;");
		wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'dp_pg reader' AND state = 'active' AND wait_event = 'Extension'")
		  or BAIL_OUT('no reader waits for the charge');
		$seen .= (answer($locker, "$locks IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'); ROLLBACK;"))[0] . "\n";
		my (undef, $error) = answer($asker);
		is($error, '', "answered: $query") if $error ne '';
		$seen .= 'workers: ' . (() = log_since($node, $mark) =~ /\bregistering background worker "parallel worker/g) . "\n";
		hang_up($_) for $locker, $asker;
	}
	return $seen;
}

# Lines that one has and the other has not.
sub parted
{
	my @texts = map { my %lines = map { $_ => 1 } split /\n/; \%lines } @_;

	return (map { "- $_" } grep { !$texts[1]{$_} } sort keys %{ $texts[0] }),
	  (map { "+ $_" } grep { !$texts[0]{$_} } sort keys %{ $texts[1] });
}

# A tenth of the rows, all of them, and none.
sub stays
{
	my ($table, $insert, $what, @asked) = @_;
	my ($all, $seen) = ('');

	foreach my $rows (500, 5000, 0)
	{
		value($node, "SET SESSION AUTHORIZATION owner; TRUNCATE $table; " . sprintf($insert, $rows) . "; ANALYZE $table;");
		$seen = seen(@asked);
		$all = $seen if $all eq '';
		ok($seen eq $all, "$what: the same with $rows rows")
		  or diag(join "\n", parted($all, $seen));
	}
	return $seen;
}

# ---- workers: as many as the size class gives ----

my $fill = "INSERT INTO visit SELECT i, 7, 'a', '2020-01-03', true, repeat('x', 1900) FROM generate_series(1, %d) i";

value($node, 'SET SESSION AUTHORIZATION owner; ALTER TABLE visit ADD pad varchar(2000) NOT NULL DEFAULT repeat($$x$$, 1900);');
my @watched = ('SELECT dp_count(*) FROM visit WHERE age = 7', 'SELECT flag, dp_sum(age) FROM visit GROUP BY flag', 'SELECT dp_count(*) FROM visit WHERE pad > $$y$$');
my $seen = stays('visit', $fill, 'nothing is said', @watched);
like($seen, qr/^\S.*visit AccessShareLock/m, 'locks are seen');
unlike($seen, qr/workers: [^0]/, 'and no workers read');
value($node, sprintf($fill, 5000));
is_read('visit', 'visit', 'none, whatever is set: ', $_)
  foreach 'SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 8;',
  'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET parallel_leader_participation = off;';
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('visit', rows => 100000)");
$seen = stays('visit', $fill, 'a class is said', @watched);
like($seen, qr/workers: 2/, 'and workers read');
like($seen, qr/workers: 0/, 'but not where they would fetch out-of-line values');
# a row takes 600 bytes by the width of its types
foreach my $said ([ 10000, '' ], [ 100000, '2 workers ' ], [ 1000000, '4 workers ' ], [ 10000000, '6 workers ' ])
{
	value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('visit', rows => $said->[0])");
	is_read('visit', "$said->[1]visit", "said: $said->[0] rows", 'SET max_parallel_workers_per_gather = 8;');
}
is_read('visit', '6 workers visit', $_, "SET max_parallel_workers_per_gather = 8; $_")
  foreach 'SET min_parallel_table_scan_size = 0;',
  'SET min_parallel_table_scan_size = \'1GB\';',
  'SET parallel_setup_cost = 1e9; SET cpu_tuple_cost = 0;';
is_read('visit', 'visit', 'none where the session wants none', 'SET max_parallel_workers_per_gather = 0;');
value($node, 'ALTER TABLE visit SET (parallel_workers = 3)');
is_read('visit', '3 workers visit', 'a storage parameter is as public', 'SET max_parallel_workers_per_gather = 8;');
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('visit', rows => NULL)");
is_read('visit', '3 workers visit', 'also where no class is said', 'SET max_parallel_workers_per_gather = 8;');
value($node, 'ALTER TABLE visit SET (parallel_workers = 0)');
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('visit', rows => 1000000)");
is_read('visit', 'visit', 'and may say none', 'SET max_parallel_workers_per_gather = 8;');

# ---- parts: those that constants leave over ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE day (at date NOT NULL, k int NOT NULL, n int, body text) PARTITION BY RANGE (at);
CREATE TABLE day_1 PARTITION OF day FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
CREATE TABLE day_2 PARTITION OF day FOR VALUES FROM ('2020-02-01') TO ('2020-03-01') PARTITION BY LIST (k);
CREATE TABLE day_2a PARTITION OF day_2 FOR VALUES IN (1, 2);
CREATE TABLE day_2b PARTITION OF day_2 FOR VALUES IN (3);
CREATE TABLE day_2c PARTITION OF day_2 DEFAULT;
CREATE TABLE day_9 PARTITION OF day DEFAULT;
CREATE INDEX ON day (at);
CREATE TABLE hashed (k bigint NOT NULL, n int) PARTITION BY HASH (k);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE moment (at timestamptz NOT NULL, n int) PARTITION BY RANGE (at);
CREATE TABLE moment_old PARTITION OF moment FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
CREATE TABLE moment_new PARTITION OF moment FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
CREATE TABLE parent (k int, n int);
CREATE TABLE child (CHECK (k > 10)) INHERITS (parent);
SELECT dp_protect(t, dataset => 'hospital') FROM unnest('{day,hashed,moment,parent}'::regclass[]) AS t;
SELECT dp_declare('day', 'n', lower => 0, upper => 9);
EOT
%name = ();
is_read(@$_)
  foreach [ 'day', 'day_1 day_2a day_2b day_2c day_9' ],
  [ "day WHERE at = '2020-01-05'", 'day_1' ],
  [ "day WHERE at = '2020-02-05'", 'day_2a day_2b day_2c' ],
  [ "day WHERE at = '2020-02-05' AND k = 3", 'day_2b' ],
  [ "day WHERE at BETWEEN '2020-01-05' AND '2020-02-05' AND k IN (1, 77)", 'day_1 day_2a day_2c' ],
  [ "day WHERE at = date '2020-01-05' + 3", 'day_1' ],
  [ 'day WHERE at < current_date - 30000', 'day_9' ],
  [ "day WHERE at > '2019-01-01' AND n = 5", 'day_1 day_2a day_2b day_2c day_9' ],
  [ "day WHERE at = '2020-01-05' AND at = '2020-02-05'", '' ],
  [ "(SELECT * FROM day WHERE at = '2020-01-05') s WHERE n = 3", 'day_1' ],
  [ "day WHERE at = (SELECT min(d) FROM unnest('{2020-01-05,2020-02-05}'::date[]) d)", 'day_1' ],
  [ "day WHERE at = CASE WHEN n = 5 THEN date '2020-01-05' ELSE '2020-02-05' END", 'day_1 day_2a day_2b day_2c day_9' ],
  [ 'hashed WHERE k = 3', 'hashed_1' ],
  [ 'hashed WHERE k = n', 'hashed_0 hashed_1' ],
  [ "moment WHERE at >= '2020-01-01'", 'moment_new' ],
  [ "moment WHERE at > now() - interval '1 week'", 'moment_new' ],
  [ "moment WHERE at < date_trunc('year', now()) - interval '100 years'", 'moment_old' ],
  [ "moment WHERE at >= date '2020-01-02'", 'pruned while run moment_old moment_new' ],
  [ 'parent WHERE k = 3', 'parent' ],
  [ 'parent WHERE k = 30', 'parent child' ];
is(steps('PREPARE p AS SELECT dp_count(*) FROM day WHERE at = $1; SET plan_cache_mode = force_generic_plan; EXECUTE p($$2020-01-05$$)'),
	'day_1', 'a parameter of a generic plan');
is_read("day WHERE at = '2020-01-05'", 'day_1', $_, "$_;")
  foreach 'SET enable_partition_pruning = off', 'SET enable_seqscan = off', 'SET constraint_exclusion = off';
$fill = "INSERT INTO day SELECT date '2020-01-01' + i %% 80, i %% 5, i %% 10, 'x' FROM generate_series(1, %d) i";
@watched = ("SELECT dp_count(*) FROM day WHERE at = '2020-02-05'", 'SELECT k, dp_sum(n) FROM day WHERE k IN (1, 3) GROUP BY k', "SELECT dp_count(*) FROM day WHERE at < '2020-02-05' AND body = 'x'");
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('day', 'k', lower => 0, upper => 4)");
$seen = stays('day', $fill, 'parts', @watched);
like($seen, qr/^day AccessShareLock, day_2 AccessShareLock, day_2a/m, 'locks are those of the parts that are read');
# Each part has its share of the class, and is read by workers only if all
# parts that are left call for one.
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare(t, rows => 1000000) FROM unnest('{day,hashed,parent}'::regclass[]) AS t");
stays('day', $fill, 'parts with a class', @watched);
my $eight = 'SET max_parallel_workers_per_gather = 8;';
is_read($_->[0], $_->[1], "with a class: $_->[0]", $eight)
  foreach [ "day WHERE at = '2020-01-05'", '2 workers day_1' ],
  [ "day WHERE at = '2020-02-05' AND k = 3", '1 workers day_2b' ],
  [ "day WHERE at = '2020-02-05' AND k IN (1, 3)", '1 workers day_2a day_2b' ],
  [ 'hashed', '2 workers hashed_0 hashed_1' ],
  [ 'parent', '2 workers parent child' ],
  [ "day WHERE at = '2020-01-05' AND body = 'x'", 'day_1' ];
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare(t, rows => 100000) FROM unnest('{day,hashed,parent}'::regclass[]) AS t");
is_read($_->[0], $_->[1], "with a small class: $_->[0]", $eight)
  foreach [ 'day', 'day_1 day_2a day_2b day_2c day_9' ], [ 'hashed', 'hashed_0 hashed_1' ], [ 'parent', 'parent child' ];

# ---- an index, where its pages are said to be public ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE person (id int PRIMARY KEY, ward text NOT NULL, born date, few int, age int, note varchar(10));
SELECT dp_protect('person', dataset => 'hospital', rows => 100000000);
SELECT dp_declare('person', 'ward', keys => array_agg('w' || i)) FROM generate_series(0, 9) AS i;
SELECT dp_declare('person', 'born', lower => date '2020-01-01', upper => date '2020-01-31');
SELECT dp_declare('person', 'few', lower => 1, upper => 9);
SELECT dp_declare('person', 'age', lower => 0, upper => 99);
EOT
%name = ();
my $say = "SET SESSION AUTHORIZATION owner; SELECT dp_declare('person', %s, immutable => true, public_sizes => %s);";
my $workers = '2 workers person';
$fill = "INSERT INTO person SELECT i, 'w' || i %% 12, date '2020-01-01' + i %% 40, i %% 10, i %% 90 FROM generate_series(1, %d) i";
value($node, sprintf($say, "'$_'", 'true')) foreach 'ward', 'born', 'few';
is_read("person WHERE born = '2020-01-05'", $workers, 'no index: all is read');
# none of these may be read
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE INDEX person_two ON person (born, age);
CREATE INDEX person_some ON person (born) WHERE age > 5;
CREATE INDEX person_expression ON person ((born + 1));
CREATE INDEX person_hash ON person USING hash (born);
CREATE INDEX person_other ON person (age);
EOT
is_read("person WHERE born = '2020-01-05' AND age = 7", $workers, 'other indexes are not read');
value($node, 'CREATE INDEX person_born ON person (born); CREATE INDEX person_ward ON person (ward) INCLUDE (age); CREATE INDEX person_few ON person (few)');
%name = ();
my $index = 'INDEXSCAN person';
is_read(@$_)
  foreach [ "person WHERE born = '2020-01-05'", $index ],
  [ "person WHERE born = '2020-01-05' AND age = 7 AND ward = 'w1'", $index ],
  [ "person WHERE born = '2020-01-05' AND born > '2020-01-04' AND born IN ('2020-01-05', '2020-01-06')", $index ],
  [ "person WHERE ward = 'w7'", $index ],
  [ "person WHERE ward = lower('W7')", $index ],
  [ "person WHERE ward = 'w11'", 'person', 'a value that is not declared' ],
  [ "person WHERE born = '2020-02-05'", $workers, 'a value beyond the bounds' ],
  [ 'person WHERE few = 3', $workers, 'one of few parts' ],
  [ "person WHERE born > '2020-01-05'", $workers, 'a range' ],
  [ "person WHERE born IN ('2020-01-05', '2020-01-06')", $workers, 'two parts' ],
  [ "person WHERE born = '2020-01-05' OR age = 7", $workers, 'not a conjunct' ],
  [ "person WHERE NOT born <> '2020-01-05'", $workers, 'other words' ],
  [ 'person WHERE age = 7', $workers, 'a column that is private' ],
  [ 'person WHERE id = 7', $workers, 'a key' ],
  [ 'person WHERE born IS NULL', $workers, 'NULL' ],
  [ 'person WHERE born = NULL', '', 'equal to NULL' ];
is(steps('PREPARE p AS SELECT dp_count(*) FROM person WHERE born = $1; SET plan_cache_mode = force_generic_plan; EXECUTE p($$2020-01-05$$)'),
	$index, 'a parameter of a generic plan');
# conditions of the index: on its column alone
@queries = ("SELECT dp_count(*) FROM person WHERE born = '2020-01-05' AND age = 7 AND born < '2020-01-09' AND age < 9");
my ($filter, $conditions) = plans('') =~ /\{INDEXSCAN.*?:(?:scan\.plan\.)?qual (.*?):(?:scan\.plan\.)?lefttree.*:indexqualorig (.*?):indexorderby/s;
is(join(' ', sort $filter =~ /:varattno (\d+)/g), '5 5', 'what is private is a filter');
is(join(' ', sort $conditions =~ /:varattno (\d+)/g), '3 3', 'and no condition of the index');
# nothing but what is said and asked decides, nor which rows there are
@watched = ("SELECT dp_count(*) FROM person WHERE born = '2020-01-05'", "SELECT dp_sum(age) FROM person WHERE ward = 'w3' AND age = 3");
$seen = stays('person', $fill, 'an index', @watched);
is_read("person WHERE born = '2020-01-05'", $index, $_, "$_;")
  foreach 'SET enable_indexscan = off', 'SET enable_seqscan = off; SET enable_bitmapscan = on; SET enable_indexonlyscan = on',
  'SET random_page_cost = 1e9', $eight;
is_read("person WHERE ward = 'w7'", $index, 'workers do not read an index', $eight);
# until nothing is said, or the column may change, or changed lately
value($node, sprintf($say, "'born'", 'false'));
is_read("person WHERE born = '2020-01-05'", $workers, 'sizes are not public any more');
is_read("person WHERE ward = 'w7'", $index, 'of that column');
value($node, sprintf($say, "'born'", 'true'));
is_read("person WHERE born = '2020-01-05'", $index, 'they are again');
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('person', 'born', lower => date '2020-01-01', upper => date '2020-01-30')");
is_read("person WHERE born = '2020-01-05'", $workers, 'other parts');
value($node, sprintf($say, "'born'", 'true'));
is_read("person WHERE born = '2020-01-05'", $index, 'of which it is said again');
value($node, "SELECT format('ALTER TABLE person DISABLE TRIGGER %I', tgname) FROM pg_trigger, dp_pg.attribute WHERE tgrelid = 'person'::regclass AND attname = 'born' AND tgname = 'dp_pg_immutable_' || guard \\gexec");
is_read("person WHERE born = '2020-01-05'", $workers, 'rows may move');
my $old = session($node, 'analyst');
answer($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('person', 'ward', immutable => false); SELECT dp_declare('person', 'ward', immutable => true, public_sizes => true)");
$mark = log_mark($node);
answer($old, "SET debug_print_plan = on; SELECT dp_count(*) FROM person WHERE ward = 'w7';");
answer($old, 'COMMIT;');
answer($old, "SELECT dp_count(*) FROM person WHERE ward = 'w7';");
is(join(' ', log_since($node, $mark) =~ /\{(SEQSCAN|INDEXSCAN)/g), 'SEQSCAN INDEXSCAN', 'rows may have moved since a snapshot was taken');
hang_up($old);
# where neighbours may move between parts there are none
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE replaced (id int PRIMARY KEY, k int NOT NULL);
CREATE INDEX ON replaced (k);
SELECT dp_protect('replaced', dataset => 'clinic');
SELECT dp_neighbours('clinic', 'replace_one');
SELECT dp_grant('analyst', dataset => 'clinic', epsilon => 1e9, delta => 1e-6);
SELECT dp_declare('replaced', 'k', lower => 0, upper => 99);
SELECT dp_declare('replaced', 'k', immutable => true, public_sizes => true);
EOT
%name = ();
is_read('replaced WHERE k = 7', 'replaced', 'a unit may be in another part');

$node->stop;
done_testing();
