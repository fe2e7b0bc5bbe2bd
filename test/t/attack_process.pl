# What a private query leaves in the process that ran it, or makes it run out
# of, was the analyst's to look at while that was his own (issue: no channel
# besides the answer).  Every pair of statements differs in one private bit.
use strict;
use warnings;

use AttackNode qw(attack_node);
use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(quiet_session);
use Test::More;

my $node = attack_node('attack_process', "max_stack_depth = 400kB\njit = off\n");

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TYPE mood AS ENUM ('low', 'high');
ALTER TABLE patients ADD COLUMN state mood;
UPDATE patients SET state = (CASE WHEN id % 2 = 0 THEN 'low' ELSE 'high' END)::mood,
	doc = repeat(md5(id::text), 200) WHERE id BETWEEN 100 AND 105;
SET SESSION AUTHORIZATION analyst;
CREATE FUNCTION deep(n int, query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF n > 0 THEN RETURN deep(n - 1, query); END IF;
	EXECUTE query;
	RETURN 'answered';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION deepest() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 1;
BEGIN
	WHILE deep(n, 'SELECT 1') = 'answered' LOOP n := n + 1; END LOOP;
	RETURN n;
END $$;
EOT

# Patient 101 is there, patient 100101 is not: one bit.
my @ids = (101, 100101);
my $yes = 'a' x 90;
my $pattern = '%a' x 63 . '%';

sub fates
{
	my ($id, $depth) = @_;
	my $self = quiet_session($node, 'analyst');
	my $query = "SELECT dp_count(*) FROM patients WHERE CASE WHEN id = $id THEN ''$yes'' ELSE ''b'' END LIKE ''$pattern''";
	my ($out, $error) = answer($self,
		"SELECT string_agg(deep(n, '$query'), ' ' ORDER BY n) FROM generate_series($depth - 40, $depth) AS n;");

	hang_up($self);
	return $out . $error;
}

my $self = quiet_session($node, 'analyst');
my ($depth) = answer($self, 'SELECT deepest();');
hang_up($self);
cmp_ok($depth, '>', 40, "there is a depth where the stack ends: $depth");
my @fates = map { fates($_, $depth) } @ids;
is($fates[0], $fates[1], 'where the stack ends does not depend on a row');
like($fates[0], qr/answered/, 'a shallow query is answered');
unlike($fates[0], qr/22000/, 'none fails because of a row');

# Caches of the session, seen through the buffers of the next plan.
sub afterwards
{
	my ($query, $probe) = @_;
	my $self = quiet_session($node, 'analyst');
	my ($out, $error) = answer($self, "$query;");
	my ($seen);

	is($error, '', 'it is answered');
	($seen) = answer($self, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $probe;");
	hang_up($self);
	return $seen;
}

my %probe = (
	'SELECT k, dp_count(DISTINCT age) FROM (SELECT age, name, age > 50 AS k FROM patients WHERE id = %d) AS p GROUP BY k' =>
	  'SELECT DISTINCT i FROM generate_series(1, 3) AS i',
	q{SELECT dp_count(*) FROM patients WHERE CASE WHEN id = %d THEN doc LIKE '%%00%%' END} =>
	  "SELECT obj_description('pg_class'::regclass), pg_get_viewdef('pg_views'::regclass) IS NULL",
	q{SELECT dp_count(*) FROM patients WHERE CASE WHEN id = %d THEN state < 'high' END} =>
	  "SELECT 'low'::mood < 'high'::mood, enum_range(NULL::mood)");

foreach my $query (sort keys %probe)
{
	my @seen;

	afterwards('SELECT', $probe{$query});	# pages come into memory
	@seen = map { afterwards(sprintf($query, $_), $probe{$query}) } @ids;

	is($seen[0], $seen[1], "buffers after $query");
}

$node->stop('immediate');
done_testing();
