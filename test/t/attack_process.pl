# What a private query leaves in the process that runs it, or exhausts there:
# analysts could see it while that was their own process.  Every pair of statements
# differs in one private bit.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node forced_parallel);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(quiet_session);
use Test::More;

my $node = attack_node('attack_process', "max_stack_depth = 400kB\njit = off\nshared_buffers = 8MB\n");

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

my $forced = forced_parallel($node);

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

# Pages: what a reader fetches evicts others, is pruned, and is locked.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE letter (id int PRIMARY KEY, age int, body text) WITH (parallel_workers = 2);
ALTER TABLE letter ALTER body SET STORAGE EXTERNAL;
INSERT INTO letter SELECT i, i % 90, CASE WHEN i = 7 THEN repeat('y', 3000000) ELSE 'x' END FROM generate_series(1, 20000) AS i;
SELECT dp_protect('letter', dataset => 'hospital');
SET SESSION AUTHORIZATION analyst;
CREATE TABLE mine1 AS SELECT i, repeat('z', 1000) FROM generate_series(1, 1200) AS i;
CREATE TABLE mine2 AS TABLE mine1;
CREATE TABLE mine3 AS TABLE mine1;
CREATE TABLE mine4 AS TABLE mine1;
EOT
my $toast = value($node, q{SELECT reltoastrelid FROM pg_class WHERE relname = 'letter'});
my $letter = 'SELECT dp_count(*) FROM letter WHERE CASE WHEN id = 7 AND age = %d THEN length(body) > 5 ELSE false END';

# Are many of the analyst's own pages gone, and has WAL come far?  Tables of a
# quarter of the buffers or more would not stay there.
sub evicted
{
	my ($age) = @_;
	my $self = quiet_session($node, 'analyst');
	my $read = 0;
	my ($wal);

	for (1 .. 3)
	{
		answer($self, "SELECT count(*) FROM mine$_;") for 1 .. 4;
	}
	($wal) = answer($self, 'SELECT pg_current_wal_insert_lsn();');
	answer($self, sprintf("$letter;", $age));
	($wal) = answer($self, "SELECT pg_current_wal_insert_lsn() - '$wal' > 20000;");
	foreach my $n (1 .. 4)
	{
		my ($seen) = answer($self, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM mine$n;");

		$read += $1 if $seen =~ /read=(\d+)/;
	}
	hang_up($self);
	return $wal . ($read > 100 ? ' many' : ' few');
}

evicted(1) for 1 .. 2;
is_deeply([ map { evicted($_) } 7, 50, 7 ], [ map { evicted($_) } 50, 7, 50 ], 'what is evicted and written does not depend on a row');

# Locks of TOAST pages: two when everything is locked beforehand.
sub locks_seen
{
	my ($age) = @_;
	my $self = quiet_session($node, 'analyst');
	my $watcher = quiet_session($node, 'postgres');
	my $out;

	answer($self, "SET $forced = on;");
	ask($watcher, <<"EOT");
CREATE TEMP TABLE seen (n bigint);
DO \$\$
DECLARE most bigint := 0; now bigint;
BEGIN
	LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $self->{pid});
		SELECT count(*) INTO now FROM pg_locks WHERE relation = $toast;
		most := greatest(most, now);
	END LOOP;
	INSERT INTO seen VALUES (most);
END \$\$;
SELECT n FROM seen;
EOT
	wait_until($node, "SELECT state = 'active' AND query ~ 'most' FROM pg_stat_activity WHERE pid = $watcher->{pid}");
	answer($self, sprintf("$letter;", $age)) for 1 .. 100;
	hang_up($self);
	($out) = answer($watcher);
	hang_up($watcher);
	return $out;
}
is(locks_seen(7), 2, 'a row that matches: the locks of session and reader');
is(locks_seen(50), 2, 'one that does not: the same');

# Times are the session's.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE clock (id int PRIMARY KEY, at timestamptz NOT NULL);
SELECT dp_protect('clock', dataset => 'hospital');
EOT
my $late = quiet_session($node, 'analyst');
answer($late, 'BEGIN;');
value($node, "INSERT INTO clock SELECT i, clock_timestamp() + interval '1 s' FROM generate_series(1, 100) AS i");
is( (answer($late, 'DO $$ DECLARE n bigint; BEGIN PERFORM pg_sleep(2);'
			  . ' SELECT dp_count(*) INTO n FROM clock WHERE at < statement_timestamp() OR at < transaction_timestamp() OR at < now();'
			  . q{ PERFORM set_config('my.n', n::text, false); END $$; SELECT current_setting('my.n');}))[0], 0, 'times are the session\'s');
hang_up($late);

$node->stop('immediate');
done_testing();
