# A reader and its parallel workers reserve before the charge the memory that rows
# of a query may need (attack_memory.pl), so their peak memory is the same whether
# or not the rows need it.  Each query runs in a reader that has done nothing else,
# once with few rows that count and once with many, or with one long value.  Workers
# report by process_peak.c, which is built here.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as test_library);
use LedgerNode;
use ReleaseNode qw(await memory);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A heap grows by at least so much, in kB.
use constant STEP => 128;
use constant AGAIN => 100;
# With person 2000 among them; so often what a row leaves shows, be it 16 bytes.
use constant MANY => 20000;
use constant KEPT => 250_000;   # with what an idle reader keeps, 128 MB

my $library = test_library('process_peak');
my $node = attack_node('memory_peak',
	"shared_preload_libraries = 'dp_pg, $library'\ndp_pg.readers = 1\ndp_pg.worker_idle = '10min'\njit = off\nmax_wal_size = 4GB\nfsync = off\n");
my $icu = value($node, q{SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'});

# Person 2000 has the longest values.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY, x int NOT NULL, ward int NOT NULL, place int NOT NULL, doc text, num numeric);
INSERT INTO visits SELECT i, i, i % 1000, i % 10000,
	CASE WHEN i = 2000 THEN repeat('abcdefgh', 131000) ELSE 'abc' END,
	CASE WHEN i = 2000 THEN ('1' || repeat('7', 120000) || '.' || repeat('3', 16000))::numeric ELSE 1 END
FROM generate_series(1, 200000) i;
CREATE TABLE crowd (id int PRIMARY KEY, x int NOT NULL, ward int NOT NULL, place int NOT NULL);
INSERT INTO crowd SELECT i, i / 1000, i % 1000, i % 10000 FROM generate_series(1, 700000) i;
SELECT dp_protect('visits', dataset => 'hospital'), dp_protect('crowd', dataset => 'hospital', rows => 10000000);
CREATE TABLE words (id int PRIMARY KEY, w varchar(30));
INSERT INTO words VALUES (1, repeat(U&'\0E2A\0E27', 6)), (2, repeat(U&'\4E2D\6587', 6)), (3, repeat(U&'\1019\103C', 6)), (4, repeat(U&'\1797\17B6', 6));
SELECT dp_protect('words', dataset => 'hospital');
CREATE TABLE letters (id int PRIMARY KEY, doc text);
INSERT INTO letters VALUES (1, repeat('a', 16384)), (2, repeat(U&'\3316', 5461)), (3, repeat(U&'\FDFA', 5461)), (4, repeat(U&'\0390', 8192)), (5, repeat('a', 1048576)),
	(6, repeat(U&'\3316', 349525)), (7, repeat(U&'\FDFA', 349525)), (8, repeat(U&'\0E2A', 5461)), (9, repeat(U&'\4E2D\6587', 2730)), (10, repeat(U&'\+01F600', 4096));
SELECT dp_protect('letters', dataset => 'hospital');
-- Person 1 has many rows, short ones and long ones that are compressed.
CREATE TABLE stays (person int, n int, word varchar(2), note text);
INSERT INTO stays SELECT 1, i, 'ab', CASE WHEN i <= 4000 THEN i || repeat('abcdefgh', 1900) END FROM generate_series(1, 20000) i;
SELECT dp_protect('stays', unit => 'person', dataset => 'hospital'), dp_declare('stays', max_rows => 1);
CREATE TABLE people (person int PRIMARY KEY, k int NOT NULL);
INSERT INTO people SELECT i, 1 FROM generate_series(1, 1000) i;
SELECT dp_protect('people', unit => 'person', dataset => 'hospital');
-- Of person 1 most trips and bills, of 700 kinds.
CREATE TABLE trips (trip int PRIMARY KEY, person int NOT NULL);
INSERT INTO trips SELECT i, CASE WHEN i > 400 THEN 1 ELSE i END FROM generate_series(1, 1100) i;
CREATE TABLE bills (trip int NOT NULL, item text COLLATE "C");
INSERT INTO bills SELECT i, 'i' || i % 3 FROM generate_series(1, 400) i;
INSERT INTO bills SELECT 400 + k, 'mine' || k FROM generate_series(1, 700) k, generate_series(1, 20);
SELECT dp_protect('trips', unit => 'person', dataset => 'hospital');
SELECT dp_protect('bills', unit => 'trip -> trips.person', dataset => 'hospital'), dp_declare('bills', max_rows => 1), dp_declare('trips', max_rows => 1);
CREATE VIEW of_nobody AS SELECT * FROM visits WHERE id = -1;
CREATE VIEW of_somebody AS SELECT * FROM visits WHERE id = 1;
CREATE VIEW of_longest AS SELECT * FROM visits WHERE id = 2000;
GRANT SELECT ON of_nobody, of_somebody, of_longest TO analyst;
SELECT dp_declare('crowd', 'x', lower => 0, upper => 700);
SELECT dp_declare(t, 'ward', lower => 0, upper => 999), dp_declare(t, 'place', lower => 0, upper => 9999)
FROM unnest('{visits, crowd}'::regclass[]) AS t;
EOT

# With PEAK_HALF, 0 or 1, every other case is this half's.
my $turn = 0;
sub mine
{
	return !defined $ENV{PEAK_HALF} || $turn++ % 2 == $ENV{PEAK_HALF};
}

sub reader
{
	return value($node, "SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
}

sub peak
{
	return memory(reader(), 'VmPeak');
}

# The stack that an expression may use is there before rows are.
{
	my ($most) = value($node, "SELECT setting FROM pg_settings WHERE name = 'max_stack_depth'") =~ /(\d+)/;

	as($node, 'analyst', 'SELECT dp_count(*) FROM visits WHERE id < 0');
	cmp_ok(memory(reader(), 'VmStk'), '>=', $most, 'a reader has all of its stack');
}

# What a reader that has done nothing else takes for the query, in kB.
sub taken
{
	my ($query) = @_;

	value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
	as($node, 'analyst', 'SELECT dp_count(*) FROM visits WHERE id < 0');
	my $before = peak();
	my ($out, $err) = as($node, 'analyst', "SET client_min_messages = warning; SET dp_pg.epsilon = '1'; $query");

	is($err, '', "answered: " . substr($query, 0, 60));
	return peak() - $before;
}

# The same, and the most that a parallel worker of its had.
sub taken_by_workers
{
	my ($query) = @_;
	my $file = $node->data_dir . '/process_peak';

	unlink $file;
	my $reader = taken($query);
	my @peaks = -e $file ? split /\n/, slurp_file($file) : (0);

	return ($reader, (sort { $b <=> $a } @peaks)[0]);
}

sub often
{
	my ($n, $expression) = @_;

	return join(' + ', ($expression) x $n) . ' > 0';
}

sub of_groups
{
	my ($relation, $key, $aggregate) = @_;

	return "SELECT count(h) FROM (SELECT $key, $aggregate AS h FROM $relation WHERE id <= %d GROUP BY $key) AS s";
}

my $numbers = join ', ', map { "dp_argmax(num, ARRAY[$_])" } 1 .. 100;
my $histograms = join ', ', map { "dp_histogram(num, 0, $_, 4)" } 1 .. 100;
my $candidates = join ',', 1 .. 520;
my @groups = (
	of_groups('visits', 'place', 'dp_histogram(x, 0, 2000000, 520)'),
	of_groups('visits', 'place', 'dp_histogram(x, 0, 1024, 100)'),
	of_groups('crowd', 'place', 'dp_histogram(x, 0, 1024, 100)'),
	of_groups('visits', 'ward', "dp_argmax(x, ARRAY[$candidates])"),
	of_groups('visits', 'ward', 'dp_median(x, 0, 1024)'),
	of_groups('crowd', 'ward', 'dp_median(x, 0, 1024)'),
	of_groups('crowd', 'place', 'dp_variance(x, 0, 1024)'),
	of_groups('crowd', 'place', 'dp_count(*) + dp_sum(x, 0, 1000)'),
	of_groups('crowd', 'x', 'dp_median(id, 0, 40000)'),
	'SELECT dp_median(x, 0, 2000000) FROM visits WHERE id <= %d',
	'SELECT dp_median(id, 0, 2000000) FROM crowd WHERE id <= %d',
	'SELECT dp_median(id, 0, 2000000), dp_quantile(id, 0.25, 0, 2000000) FROM crowd WHERE id <= %d',
	'SELECT dp_median(id, 0, 1000000), dp_quantile(x, 0.9, 0, 1000000), dp_median(id + 1, 0, 1000000), dp_sum(x, 0, 1000) FROM crowd WHERE id <= %d',
	'SELECT ' . join(', ', map { "dp_median((id %% 131072) + $_, 0, 131071)" } 1 .. 40) . ' FROM crowd WHERE id <= %d',
	'SELECT dp_histogram(x, 0, 1000000, 10000) IS NULL FROM visits WHERE id <= %d',
	'SELECT dp_count(DISTINCT x) FROM visits WHERE id <= %d');
my @expressions = (
	(map { "$_ < 'x'" } 'btrim(doc)', q{ltrim(doc, 'ab')}, 'upper(doc)', 'initcap(doc)', 'doc COLLATE "C.utf8"',
		q{doc || doc}, q{greatest(doc, doc || 'b', 'x')}, q{left(doc, -5) || right(doc, -5)},
		$icu ? ('doc COLLATE "en-US-x-icu"', 'upper(doc COLLATE "en-US-x-icu")') : ()),
	q{doc ILIKE '%%a%%x'}, q{strpos(doc, 'x') > 0}, q{starts_with(doc, 'ab') AND length(doc) > 5}, q{(doc, doc) < ('abcdefghabc', doc)},
	often(300, 'num::float8'), often(300, 'num::float4'), often(300, 'num::int8'), often(300, 'width_bucket(num, 0, 10, 5)'),
	often(100, 'num::numeric(1000, 500)'), often(100, 'round(num, 3)'), 'num / (num - 2) < 2', 'num * num < 2',
	'mod(num * 7, num + 1.777) < 2', often(1000, 'x'));

foreach my $query (@groups)
{
	mine() or next;
	my $few = taken(sprintf $query, 10);

	cmp_ok(abs(taken(sprintf $query, 700000) - $few), '<', STEP, "as much for few rows, $few kB");
	cmp_ok(abs(taken(sprintf $query, -1) - $few), '<', STEP, 'and for none');
}
foreach my $query (
	"SELECT $numbers FROM visits WHERE id <= %d", "SELECT $histograms FROM visits WHERE id <= %d",
	q{SELECT dp_argmax('visits', ARRAY['id <= %d', 'id <= %1$d AND btrim(doc) < ''x''']) IS NULL},
	q{SELECT dp_count(DISTINCT doc), dp_argmax(doc, ARRAY['abc']), dp_sum(num, 0, 10), dp_variance(num, 0, 10), dp_median(num, 0, 10) FROM visits WHERE id <= %d})
{
	mine() or next;
	my $few = taken(sprintf $query, 10);

	cmp_ok(abs(taken(sprintf $query, MANY) - $few), '<', STEP, "as much without the long value, $few kB");
}
# What ICU makes of letters is many times as long; GMT and digests are loaded once.
foreach my $expression ($icu ? ('doc COLLATE "en-US-x-icu" > left(U&\'\00AD\' || doc, -1)', 'initcap(doc COLLATE "en-US-x-icu") > \'a\'', 'greatest(doc COLLATE "en-US-x-icu", U&\'\00AD\' || doc, upper(doc)) > \'a\'',
		'(doc COLLATE "en-US-x-icu", id) < (U&\'\00AD\' || doc, 1)', 'doc COLLATE "en-US-x-icu" > upper(doc COLLATE "en-US-x-icu")') : (),
	q{extract(epoch FROM timestamp '2000-01-01' + CASE WHEN id > 0 THEN interval '1 day' END) > 3}, q{sha256(CASE WHEN id > 0 THEN '\x01'::bytea END) > '\x00'})
{
	mine() or next;
	my $query = "SELECT dp_count(*) FROM letters WHERE CASE WHEN id = %d THEN $expression END";
	my $none = taken(sprintf $query, -1);

	cmp_ok(abs(taken(sprintf $query, $_) - $none), '<', STEP, "as much for letter $_, $none kB") foreach 1 .. 10;
}
foreach my $expression (@expressions)
{
	mine() or next;
	my $query = "SELECT dp_count(*) FROM visits WHERE id <= %d AND $expression";
	my $few = taken(sprintf $query, 10);

	cmp_ok(abs(taken(sprintf $query, MANY) - $few), '<', STEP, "as much without the long value, $few kB");
}

# Whatever rows need has been looked up before they are read: what the reader has
# cached is the same where no row counts and where one does.
sub cached
{
	my ($query) = @_;

	taken($query);
	my $pid = reader();
	my $start = -s $node->logfile;
	my $text;

	value($node, "SELECT pg_log_backend_memory_contexts($pid)");
	ok(await(sub { $text = slurp_file($node->logfile, $start); $text =~ /\[$pid\] LOG: +Grand total/ }), 'its memory is in the log');
	return $text =~ /level: \d+; ((?:CacheMemoryContext|smgr relation table|index info|Relcache by OID|[^:\n]*cache): .*)/g;
}
my $open = q{SELECT dp_sparse_vector_open('%1$s', threshold => 1, cutoff => 5, epsilon => 1, questions => 10) AS session \gset} . "\n";
foreach my $query (
	"${open}SELECT questions_left FROM dp_sparse_vector_ask(:session, 'x > 3')",
	q{SELECT dp_argmax('%s', ARRAY['x > 3', 'ward < 7 AND upper(doc) < ''x''']) IS NULL},
	q{SELECT dp_count(*), dp_count(DISTINCT doc), dp_argmax(doc, ARRAY['abc']), dp_histogram(x, 0, 10, 4) FROM %s},
	'SELECT dp_sum(num, 0, 10), dp_variance(num, 0, 10), dp_median(num, 0, 10), dp_corr(x, ward, 0, 10, 0, 10), dp_max(x, 0, 10) FROM %s',
	'SELECT count(*) FROM (SELECT place, dp_count(*), dp_avg(x, 0, 10) FROM %s GROUP BY place) AS s',
	q{SELECT dp_count(*) FROM %s WHERE doc LIKE 'a%%x' AND num * num < 2})
{
	mine() or next;
	my ($none, $some) = map { [ cached(sprintf $query, $_) ] } 'of_nobody', 'of_longest';
	my %none = map { $_ => 1 } @$none;

	is(join("\n", grep { !$none{$_} } @$some), '', 'rows make a reader look nothing up: ' . substr($query, 0, 60));
	cmp_ok(scalar @$none, '==', scalar @$some, 'as many caches, ' . @$some);
	cmp_ok(scalar @$some, '>', 50, 'which are seen');
}

# Where workers are: as much for no row, one row, and all, in every process.
foreach my $case (
	[ 2, join ', ', map { "dp_median((id % 131072) + $_, 0, 131071)" } 1 .. 40 ],
	[ 7, join ', ', map { "dp_median((id % 131072) + $_, 0, 131071)" } 1 .. 10 ],
	[ 1, join ', ', map { "dp_histogram(id + $_, 0, 2097152, 10000)" } 1 .. 40 ],
	[ 2, 'dp_median(id, 0, 2000000), dp_argmax(place, ARRAY[' . join(',', 0 .. 9999) . '])' ],
	[ 2, 'dp_variance(id, 0, 1024), dp_sum(id, 0, 9999)' ])
{
	mine() or next;
	my ($workers, $list) = @$case;
	my @taken = map { [ taken_by_workers("SET max_parallel_workers_per_gather = $workers; SELECT $list FROM crowd WHERE id $_") ] } '< 0', '= 7', '> 0';

	foreach my $i (1, 2)
	{
		my $rows = $i == 1 ? 'one row' : 'all rows';

		cmp_ok(abs($taken[$i][0] - $taken[0][0]), '<', STEP, "$workers workers, $rows: reader as for no row, $taken[0][0] kB");
		cmp_ok(abs($taken[$i][1] - $taken[0][1]), '<', STEP, "$workers workers, $rows: worker as for no row, $taken[0][1] kB");
	}
}
foreach my $case (
	[ 2, "SELECT k, h FROM (SELECT ward AS k, dp_histogram(x, 0, 1024, 200) AS h FROM crowd WHERE id %s GROUP BY ward) AS s" ],
	[ 2, "SELECT k, h FROM (SELECT ward AS k, dp_median(x, 0, 1024) AS h FROM crowd WHERE id %s GROUP BY ward) AS s" ],
	[ 2, "SELECT k, h FROM (SELECT place AS k, dp_count(*) + dp_sum(x, 0, 10) AS h FROM crowd WHERE id %s GROUP BY place) AS s" ])
{
	mine() or next;
	my ($workers, $query) = @$case;
	my @taken = map { [ taken_by_workers("SET max_parallel_workers_per_gather = $workers; SELECT count(*) FROM (" . sprintf($query, $_) . ') AS t') ] } '< 0', '> 0';

	cmp_ok(abs($taken[1][$_] - $taken[0][$_]), '<', STEP, "$workers workers, groups: process $_ as for no row, $taken[0][$_] kB") foreach 0, 1;
}

# Packs of rows of units: wide ones, of public texts, that one row alone makes.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE roam (u int, x int) WITH (parallel_workers = 2);
INSERT INTO roam SELECT i % 1000, i FROM generate_series(1, 50000) i;
SELECT dp_protect('roam', unit => 'u', dataset => 'hospital'), dp_declare('roam', max_rows => 1);
CREATE TABLE broad (x int, c text);
INSERT INTO broad SELECT 7, string_agg(md5(i::text), '') FROM generate_series(1, 28000) i;
GRANT SELECT ON broad TO analyst;
EOT
{
	mine() or last;
	my @taken = map { [ taken_by_workers("SET max_parallel_workers_per_gather = 2; SELECT dp_count(DISTINCT c) FROM roam JOIN broad USING (x) WHERE u = $_") ] } 8, 7;

	cmp_ok($taken[0][1], '>', 0, 'workers read rows of units');
	cmp_ok(abs($taken[1][$_] - $taken[0][$_]), '<', STEP, "packs of wide rows: process $_ as for no row, $taken[0][$_] kB") foreach 0, 1;
}
# Rows that could be too wide for packs, as keys that are passed on: a process
# that tried would take more than 300 MB for the one row.
value($node, 'SET SESSION AUTHORIZATION owner; CREATE TABLE huge AS SELECT x, repeat(c, 8) AS c FROM broad; GRANT SELECT ON huge TO analyst');
{
	mine() or last;
	my $keys = join ', ', map { "CASE WHEN u <> -$_ THEN c ELSE 'a' END" } 1 .. 40;
	my ($none, $one) = map { taken("SET max_parallel_workers_per_gather = 2; SET dp_pg.delta = 1e-9; SELECT count(*) FROM (SELECT dp_count(*) FROM roam JOIN huge USING (x) WHERE u = $_ GROUP BY $keys) AS s") } 8, 7;

	cmp_ok(abs($one - $none), '<', STEP, "too wide for packs: as for no row, $none kB");
}

# What groups of one person keep: texts that an expression makes, compressed ones.
my $long = 'x' x 16300;
my @long_keys = map { "word || '$_$long'" } 10 .. 19;
my @kept = map { "c$_ > ''" } 0 .. 9;
foreach my $level (
	'SELECT ' . join(', ', map { "$long_keys[$_] AS c$_" } 0 .. 9) . ' FROM stays WHERE person = %d GROUP BY person, n, ' . join(', ', @long_keys),
	'SELECT ' . join(', ', map { "min($long_keys[$_]) AS c$_" } 0 .. 9) . ' FROM stays WHERE person = %d GROUP BY person, n',
	'SELECT ' . join(', ', map { "max(note) FILTER (WHERE n > -$_) AS c$_" } 0 .. 9) . ' FROM stays WHERE person = %d GROUP BY person, n / 2')
{
	mine() or next;
	my ($none, $all) = map { taken("SELECT dp_count(*) FROM (" . sprintf($level, $_) . ') AS s WHERE ' . join(' AND ', @kept)) } -1, 1;

	cmp_ok(abs($all - $none), '<', STEP, "groups of one person, $none kB");
}

# What windows keep of one person's rows, short or with texts, to sort them and in partitions.
foreach my $level (
	'SELECT person, ' . join(', ', map { "row_number() OVER (PARTITION BY person ORDER BY n + $_) AS c$_" } 0 .. 9) . ' FROM stays WHERE person = %d',
	'SELECT person, ' . join(', ', map { "lag(note) OVER (PARTITION BY person, note ORDER BY n + $_) AS c$_" } 0 .. 9) . ' FROM stays WHERE person = %d',
	'SELECT person, ' . join(', ', map { 'max(' . ($_ % 2 ? 'note' : 'n') . ") OVER (PARTITION BY person ORDER BY n, random() ROWS $_ PRECEDING) AS c$_" } 0 .. 9) . ' FROM stays WHERE person = %d',
	'SELECT x.person, ' . join(', ', map { "rank() OVER (PARTITION BY x.person ORDER BY x.n * $_, y.n) AS c$_" } 0 .. 9) . ' FROM stays x JOIN stays y ON x.person = y.person WHERE x.person = %d')
{
	mine() or next;
	my ($none, $all) = map { taken("SELECT dp_count(*) FROM (" . sprintf($level, $_) . ') AS s JOIN people p ON p.person = s.person WHERE ' . join(' AND ', map { "c$_ IS NOT NULL" } 0 .. 9)) } -1, 1;

	cmp_ok(abs($all - $none), '<', STEP, "windows of one person, $none kB");
}

# Of rows that are joined no hash table is made: here the groups of one person, of
# one long row, with all rows of that person, which the planner would hash first.
{
	mine() or last;
	my @letters = ('a' .. 'd');
	my $made = join ', ', map { "max(word || '" . $_ x 16300 . "') AS $_" } @letters;
	my ($none, $all) = map { taken("SELECT dp_count(*) FROM (people p JOIN (VALUES " . join(', ', map { "(1, '$_')" } @letters) . ") y (c, d) ON y.c = p.k)"
			  . " LEFT JOIN ((SELECT person, $made FROM stays WHERE person = $_ GROUP BY person) w JOIN stays x ON x.person = w.person AND x.n > 0)"
			  . ' ON p.person = w.person AND ' . join(' || ', map { "w.$_" } @letters) . ' <> y.d || x.word') } -1, 1;

	cmp_ok(abs($all - $none), '<', STEP, "joined rows, $none kB");
}

# What rows leave behind in a reader, small pieces among what is freed, does not
# make it grow by more for the next query.  Where it does, one query in thirty
# does it, so 100 of them do with probability 0.96.
{
	mine() or last;
	my $query = "SELECT count(*) FROM (SELECT item, dp_count(*) FROM bills GROUP BY item) AS t;\n";
	my $settings = "SET dp_pg.epsilon = '1'; SET dp_pg.delta = '1e-9';\n";
	my $once = taken($settings . $query x 5);
	my $before = peak();
	my @errors = map { (as($node, 'analyst', $settings . $query x 10))[1] } 1 .. AGAIN / 10;

	is(join('', @errors), '', 'answered again and again');
	cmp_ok(peak() - $before, '<', STEP, "the same reader takes no more, $once kB");
}

# What it has it keeps for queries that follow, and gives most of it back when
# none does.
{
	mine() or last;
	my $full = memory(reader(), 'VmRSS');

	ok(await(sub { memory(reader(), 'VmRSS') < KEPT }), "memory goes back, of $full kB");
}

# What rows leave behind does not lie where they are reserved for, wherever they
# had it put: small pieces that malloc keeps, and contexts that PostgreSQL does.
{
	mine() or last;
	my $held = test_library('held_memory');

	value($node, "CREATE FUNCTION held_growth(at int, contexts bool, reversed bool) RETURNS bigint STRICT LANGUAGE c AS '$held'");
	value($node, "CREATE FUNCTION hole_growth(at int) RETURNS bigint STRICT LANGUAGE c AS '$held'");
	foreach my $how ('false, false', 'false, true', 'true, false')
	{
		my @growth = map { value($node, "SELECT held_growth($_, $how)") / 1024 } -1, 0, 50, 200, 400;

		cmp_ok($growth[$_] - $growth[0], '<', STEP, "a process grows as without rows, $how, place $_, $growth[0] kB") foreach 1 .. 4;
	}
	my @growth = map { value($node, "SELECT hole_growth($_)") / 1024 } -1, 0, 20, 50, 70, 99;

	cmp_ok(abs($growth[$_] - $growth[0]), '<', STEP, "and where less was reserved before, place $_, $growth[0] kB") foreach 1 .. 5;

	value($node, "CREATE FUNCTION wide_growth(at int) RETURNS bigint STRICT LANGUAGE c AS '$held'");
	value($node, "CREATE FUNCTION moved_growth() RETURNS bigint LANGUAGE c AS '$held'");
	@growth = map { value($node, "SELECT wide_growth($_)") / 1024 } -1, 0, 50, 200, 400;
	cmp_ok(abs($growth[$_] - $growth[0]), '<', STEP, "and beside holes that are wider than pieces, place $_, $growth[0] kB") foreach 1 .. 4;
	value($node, "CREATE FUNCTION contexts_growth(n int) RETURNS bigint STRICT LANGUAGE c AS '$held'");
	@growth = map { value($node, "SELECT contexts_growth($_)") / 1024 } 0, 40, 120, 160, 200;
	cmp_ok(abs($growth[$_] - $growth[0]), '<', STEP, "and where many contexts were created, case $_, $growth[0] kB") foreach 1 .. 4;
	value($node, "CREATE FUNCTION hidden_growth(rows bool) RETURNS bigint STRICT LANGUAGE c AS '$held'");
	@growth = map { value($node, "SELECT hidden_growth($_)") / 1024 } 'false', 'true';
	cmp_ok(abs($growth[1] - $growth[0]), '<', STEP, "and where malloc keeps a piece of theirs while it is looked for, $growth[0] kB");
	cmp_ok(value($node, 'SELECT moved_growth()') / 1024, '<', STEP, 'what had to be moved is not given up for a job that needs less');
}

# Reading values of units and keys leaves nothing behind, however many rows have
# them: as they are in rows, with a short head, and with a long one.
{
	mine() or last;
	my $library = test_library('read_memory', 'tally');

	value($node, "CREATE FUNCTION read_growth(v anyelement) RETURNS bigint STRICT LANGUAGE c AS '$library'");
	value($node, q{CREATE TABLE value AS SELECT 123.40 AS n, '{1}'::text AS t, 'ab '::char(4) AS c, interval '1 day' AS i, '10.0.0.1'::inet AS a, timetz '1:00' AS z, repeat('7', 4000)::numeric AS large, repeat('a', 4000) AS long});
	is(value($node, "SELECT read_growth($_) FROM value"), 0, "nothing is left of $_") foreach 'n', 't', 'c', 'i', 'a', 'z', 'large', 'long', 'n + 1';
}

# Tables of conditions.
my @columns = ('id', 'x', 'ward', 'place');
my $pairs = join ', ', map { my $n = $_; map { my $i = $_; map { "'$columns[$i] = $n AND $columns[$_] = $n'" } $i + 1 .. 3 } 0 .. 2 } 1 .. 250;
my @conditions = map { taken("SELECT dp_argmax('of_$_', ARRAY[$pairs]) IS NULL") } 'nobody', 'somebody';
cmp_ok(abs($conditions[1] - $conditions[0]), '<', STEP, "tables of conditions, $conditions[0] kB");
@conditions = map { taken("SET client_min_messages = warning; SELECT count(*) FROM dp_sparse_vector('of_$_', ARRAY[$pairs], 1000000)") } 'nobody', 'somebody';
cmp_ok(abs($conditions[1] - $conditions[0]), '<', STEP, "tables of conditions of a sparse vector, $conditions[0] kB");

# Dictionaries of words, which ICU reads for initcap.
if (value($node, q{SELECT count(*) FROM pg_collation WHERE collname = 'th-x-icu'}))
{
	my @words = map { taken("SELECT dp_count(*) FROM words WHERE CASE WHEN id = $_ THEN initcap(w COLLATE \"th-x-icu\") > 'a' END") } -1, 1 .. 4;

	cmp_ok(abs($words[$_] - $words[0]), '<', STEP, "initcap, word $_: $words[0] kB") foreach 1 .. 4;
}

# Time zones.
my $zones = join ' AND ', map { "(CASE WHEN x > 0 THEN '2020-01-01'::timestamp END) AT TIME ZONE 'AAB$_' > '1900-01-01'" } 1 .. 99, map { "$_:11" } 1 .. 99;
my @zones = map { taken("SELECT dp_count(*) FROM visits WHERE CASE WHEN id = $_ THEN $zones END") } -1, 1;
cmp_ok(abs($zones[1] - $zones[0]), '<', STEP, "time zones, $zones[0] kB");

# Of how many parts a plan reads does not carry a worker beyond the end of its
# stack: of 1 MB here, for 1000 nodes and more.
{
	mine() or last;
	my $file = $node->data_dir . '/process_peak';

	value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE parts (id int NOT NULL, x int NOT NULL) PARTITION BY RANGE (id);
DO $$ BEGIN
	FOR i IN 0 .. 999 LOOP
		EXECUTE format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES FROM (%1$s) TO (%1$s + 1)', i);
	END LOOP;
END $$;
INSERT INTO parts SELECT i % 1000, i FROM generate_series(1, 10000) i;
SELECT dp_protect('parts', dataset => 'hospital', rows => 10000000);
EOT
	$node->append_conf('postgresql.conf', "max_stack_depth = '200kB'");
	$node->stop;
	system_or_bail('prlimit', "--pid=$$", '--stack=1048576:');
	$node->start;
	unlink $file;
	my (undef, $err) = as($node, 'analyst', "SET dp_pg.epsilon = '1'; SET max_parallel_workers_per_gather = 2; SELECT dp_count(*) FROM parts");

	is($err, '', 'many parts are read');
	ok(-s $file, 'by workers');
	unlike(slurp_file($node->logfile), qr/by signal/, 'none of which crashed');
}

$node->stop;
done_testing();
