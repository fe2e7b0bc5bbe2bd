# A catalog lookup that execution makes only for some private row can be seen in
# pg_locks, so a reader makes all of them before the charge.  The ledger's worker is
# stopped, so that everything is prepared and nothing is charged; then the catalogs
# are locked, and the worker goes on: a process that still needs them waits, and is
# seen.  (A connection itself looks up the enum values that it shows.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(await quiet_session);
use Test::More;
use Time::HiRes qw(usleep);

my $node = attack_node('attack_lookup', "dp_pg.readers = 1\njit = off\n");

my $icu = value($node, q{SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'});
my $provider = $icu ? q{(provider = icu, locale = 'en-US-x-icu')} : q{(locale = 'C.UTF-8')};

# Labels of odd and even OIDs, out of the order of their OIDs.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TYPE mood AS ENUM ('l01', 'l02', 'l03', 'l04');
ALTER TYPE mood ADD VALUE 'l00' BEFORE 'l01';
ALTER TYPE mood ADD VALUE 'l015' BEFORE 'l02';
CREATE TYPE even AS ENUM ('e01', 'e02', 'e03');
EOT
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id int PRIMARY KEY, age int, m mood, name text, e even, mac macaddr8, u uuid);
INSERT INTO visit SELECT i, i % 100, (ARRAY['l01', 'l00', 'l03']::mood[])[1 + i % 3], 'n' || i, 'e01', '08:00:2b:01:02:03:04:05', md5(i::text)::uuid
FROM generate_series(1, 200) AS i;
-- so that scans do not have all columns, whose types would be looked up at their start
ALTER TABLE visit ADD added int DEFAULT 1;
SELECT dp_protect('visit', dataset => 'hospital');
CREATE TABLE crowd (id int PRIMARY KEY, age int, mac macaddr8);
INSERT INTO crowd SELECT id, age, mac FROM visit;
ALTER TABLE crowd ADD added int DEFAULT 1;
SELECT dp_protect('crowd', dataset => 'hospital', rows => 10000000);
EOT

sub state_of
{
	my ($pid) = @_;
	my @fields = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\) //sr;

	return "$fields[0] $fields[11] $fields[12]";
}

# The reader has locked the table and sleeps: it has everything ready.
sub wait_for_ready
{
	my ($reader, $relation) = @_;
	my $calm = 0;
	my $last = '';

	wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $reader AND relation = '$relation'::regclass)") or die;
	while ($calm < 10)
	{
		my $state = state_of($reader);

		$calm = $state =~ /^S/ && $state eq $last ? $calm + 1 : 0;
		$last = $state;
		usleep(50_000);
	}
	return;
}

# Does the reader, or a parallel worker of it, need a catalog while it executes?
# Returns what was waited for, and the query's answer.  The session has written,
# so that the reader's caches are empty.
my $fresh = 0;
sub waited
{
	my ($query, $again) = @_;
	my $analyst = quiet_session($node, 'analyst');
	my $locker = session($node, 'postgres');
	my $worker;
	my $waited = '';

	$fresh++;
	value($node, "SET SESSION AUTHORIZATION analyst; CREATE COLLATION fresh$fresh $provider");
	answer($analyst, 'SELECT dp_count(*) FROM visit;');		# readers and worker are there
	answer($analyst, $query =~ s/fresh/fresh$fresh/gr =~ s/id > 0/id < 0/r . ';') if $again;
	answer($analyst, 'BEGIN; CREATE TEMP TABLE written (a int);');
	my $reader = value($node, "SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
	$worker = worker_pid($node);
	kill 'STOP', $worker;
	ask($analyst, $query =~ s/fresh/fresh$fresh/gr . ';');
	wait_for_ready($reader, $query =~ /FROM (crowd)/ ? $1 : 'visit');
	answer($locker, 'BEGIN; LOCK TABLE pg_type, pg_proc, pg_collation, pg_enum, pg_amop, pg_amproc, pg_opclass, pg_operator, pg_cast, pg_range IN ACCESS EXCLUSIVE MODE;');
	kill 'CONT', $worker;
	# A transaction would keep the states that it saw first.
	my $looked = await(sub {
		my ($state) = answer($locker, "SELECT CASE WHEN pg_stat_clear_snapshot() IS NOT NULL THEN coalesce((SELECT string_agg(DISTINCT relation::regclass::text, ' ') FROM pg_locks WHERE pid NOT IN ($worker, $analyst->{pid}) AND NOT granted), '')"
			  . " || '|' || (SELECT state FROM pg_stat_get_activity($reader)) END;");
		my $idle;

		($waited, $idle) = split /\|/, $state;
		return $waited ne '' || $idle eq 'idle';
	});
	$waited = 'neither waits nor ends' if !$looked;
	answer($locker, 'ROLLBACK;');
	my ($answer) = answer($analyst);
	hang_up($_) foreach $analyst, $locker;
	return ($waited, $answer);
}

foreach my $case (
	[ q{name COLLATE fresh < 'x'}, 200 ],
	[ q{name COLLATE fresh < 'x'}, 200, 'again' ], [ q{name COLLATE "C.utf8" < 'x'}, 200, 'again' ], [ q{upper(name COLLATE fresh) > 'A'}, 200, 'again' ],
	[ q{(name COLLATE fresh, id) < ('x', 5)}, 200 ],
	[ q{(id, name COLLATE fresh) >= (id, 'a')}, 200 ],
	[ q{greatest(name COLLATE fresh, 'a') > 'b'}, 200 ],
	[ q{name COLLATE fresh IN ('x', 'n7')}, 1 ],
	[ q{m < 'l03'}, 133 ], [ q{'l015'::mood > m}, 133 ], [ q{m >= 'l00' AND m <= 'l04'}, 200 ],
	[ q{greatest(m, 'l02') = 'l02'}, 133 ], [ 'age IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)', 24 ],
	[ q{name IN ('n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9', 'n10', 'n11')}, 11 ],
	[ q{name LIKE 'n1%' AND upper(name) >= 'N19'}, 11 ], [ 'SELECT dp_count(DISTINCT CASE WHEN id > 0 THEN name END) FROM visit', 200 ],
	[ 'SELECT dp_count(DISTINCT m) FROM visit', 3 ],
	[ q{e IN ('e01', 'e02')}, 200 ], [ q{e <> 'e02'}, 200 ], [ q{u IN ('c4ca4238-a0b9-2382-0dcc-509a6f75849b', 'c81e728d-9d4c-2f63-6f06-7f89cc14862c')}, 2 ],
	[ q{mac <> ALL ('{08:00:2b:01:02:03:04:06, 08:00:2b:01:02:03:04:07}')}, 200 ], [ q{name < 'x'}, 200 ], [ q{length(name) = 2}, 9 ],
	[ q{mac IN (} . join(', ', map { "'08:00:2b:01:02:03:04:0$_'" } 0 .. 9) . ')', 200 ], [ q{name LIKE ANY (ARRAY['n1%', 'n2'])}, 112 ],
	[ q{nullif(name, 'n1') || 'a' > 'n'}, 199 ], [ q{coalesce(age, id) BETWEEN SYMMETRIC 5 AND 3}, 6 ],
	[ 'SELECT sum(n) FROM (SELECT k, dp_count(*) AS n FROM (SELECT id > 7 AS k, name FROM visit) AS v GROUP BY k) AS s', 200 ])
{
	my ($condition, $count, $again) = @$case;
	my ($waited, $answer) = waited($condition =~ /^SELECT/ ? $condition :
		"SELECT dp_count(*) FROM visit WHERE CASE WHEN id > 0 THEN $condition END", $again);

	is($waited, '', "nothing is looked up while rows are read: $condition");
	is($answer, $count, 'and it is answered');
}

# Parallel workers are new processes, and look types up when they start, whether
# a row asks or not.
foreach my $condition ('age IN (1, 2, 3)', q{mac <> ALL ('{08:00:2b:01:02:03:04:06, 08:00:2b:01:02:03:04:07}')})
{
	my @none = waited("SELECT dp_count(*) FROM crowd WHERE CASE WHEN id < 0 THEN $condition END");
	my @all = waited("SELECT dp_count(*) FROM crowd WHERE CASE WHEN id > 0 THEN $condition END");

	is($all[0], $none[0], "parallel workers look up the same: $condition");
	is("$none[1] $all[1]", $condition =~ /age/ ? '0 6' : '0 200', 'and it is answered');
}
# A look-up would be seen: where the table's owner reads, in his own process,
# it is made when a row asks.
{
	my $owner = quiet_session($node, 'owner');
	my $locker = session($node, 'postgres');

	value($node, "SET SESSION AUTHORIZATION owner; CREATE COLLATION late $provider");
	answer($owner, 'PREPARE p(int) AS SELECT count(*) FROM visit WHERE CASE WHEN id > $1 THEN name COLLATE late < \'x\' END;'
		  . ' SET plan_cache_mode = force_generic_plan; EXECUTE p(1000);');
	answer($locker, 'BEGIN; LOCK TABLE pg_collation IN ACCESS EXCLUSIVE MODE;');
	ask($owner, 'EXECUTE p(0);');
	ok(wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $owner->{pid} AND relation = 'pg_collation'::regclass AND NOT granted)"),
		'a look-up is seen');
	answer($locker, 'ROLLBACK;');
	is((answer($owner))[0], 200, 'and ends');
	hang_up($_) foreach $owner, $locker;
}

$node->stop;
done_testing();
