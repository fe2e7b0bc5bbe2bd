# What a reader may need for the rows of a query it takes before the charge
# (attack_memory.pl), so the most that it ever had is the same whether the rows
# make it need that or not.  Each query is asked of a reader that has done
# nothing else, once where few rows count and once where many do, or where one
# long value does.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A heap grows by at least so much, in kB.
use constant STEP => 128;

my $node = attack_node('memory_peak',
	"dp_pg.readers = 1\ndp_pg.worker_idle = '10min'\njit = off\nmax_wal_size = 4GB\nfsync = off\n");
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
SELECT dp_declare(t, 'ward', lower => 0, upper => 999), dp_declare(t, 'place', lower => 0, upper => 9999)
FROM unnest('{visits, crowd}'::regclass[]) AS t;
EOT

sub reader
{
	return value($node, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'dp_pg reader'");
}

sub peak
{
	my ($size) = slurp_file('/proc/' . reader() . '/status') =~ /^VmPeak:\s+(\d+) kB/m;

	return $size;
}

# What a reader that has done nothing else takes for the query, in kB.
sub taken
{
	my ($query) = @_;

	value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE backend_type = 'dp_pg reader'");
	as($node, 'analyst', 'SELECT dp_count(*) FROM visits WHERE id < 0');
	my $before = peak();
	my ($out, $err) = as($node, 'analyst', "SET dp_pg.epsilon = '1'; $query");

	is($err, '', "answered: " . substr($query, 0, 60));
	return peak() - $before;
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
	'SELECT dp_median(x, 0, 2000000) FROM visits WHERE id <= %d',
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
	my $few = taken(sprintf $query, 10);

	cmp_ok(abs(taken(sprintf $query, 700000) - $few), '<', STEP, "as much for few rows, $few kB");
}
foreach my $query (
	"SELECT $numbers FROM visits WHERE id <= %d", "SELECT $histograms FROM visits WHERE id <= %d",
	q{SELECT dp_argmax('visits', ARRAY['id <= %d', 'id <= %1$d AND btrim(doc) < ''x''']) IS NULL},
	q{SELECT dp_count(DISTINCT doc), dp_argmax(doc, ARRAY['abc']), dp_sum(num, 0, 10), dp_variance(num, 0, 10), dp_median(num, 0, 10) FROM visits WHERE id <= %d})
{
	my $few = taken(sprintf $query, 10);

	cmp_ok(abs(taken(sprintf $query, 200000) - $few), '<', STEP, "as much without the long value, $few kB");
}
foreach my $expression (@expressions)
{
	my $query = "SELECT dp_count(*) FROM visits WHERE id <= %d AND $expression";
	my $few = taken(sprintf $query, 10);

	cmp_ok(abs(taken(sprintf $query, 200000) - $few), '<', STEP, "as much without the long value, $few kB");
}

$node->stop;
done_testing();
