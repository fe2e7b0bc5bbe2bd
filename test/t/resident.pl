# What a reader has in memory, by pages, threads and mappings, follows from the
# query and from public facts, not from rows.  Someone who sees the machine's
# processes sees these: that code ran for one person's row for the first time in a
# reader, that a value was longer, that a page of out-of-line values was read.
#
# Each query runs in fresh readers, about a person whose row causes this and about
# another, in turn, RUNS times.  Sizes differ if all of the one are above all of the
# other by more than SLACK; a system by itself changes them by a page or two at
# times.  The most that a process had is known to the system by some 100 kB only, so
# that three of the one are above three of the other once in ten times, and then
# they are repeated: a real difference shows in all of MOST runs, and an accidental
# one with probability 2/C(30, 15), or 1.3e-8, for each size.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use List::Util qw(max min);
use ReleaseNode qw(await memory);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant RUNS => 3;
use constant MOST => 15;
use constant SLACK => 16;		# kB

my $node = attack_node('resident', "dp_pg.readers = 1\ndp_pg.worker_idle = '10min'\njit = off\nmax_wal_size = 4GB\nfsync = off\n");
my $icu = value($node, q{SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'});

# Persons below 500 have s, and of person 7 are most stays.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE persons (id int PRIMARY KEY, s int NOT NULL, name text, doc text);
ALTER TABLE persons ALTER doc SET STORAGE EXTERNAL;
INSERT INTO persons SELECT i, (i < 500)::int, 'n' || i, repeat(md5(i::text), 1000) FROM generate_series(1, 1000) i;
SELECT dp_protect('persons', dataset => 'hospital');
CREATE TABLE stays (person int, n int NOT NULL, word varchar(2), note text);
INSERT INTO stays SELECT CASE WHEN i % 2 = 0 THEN 7 ELSE 8 + i % 500 END, i, 'ab', i || repeat('abcdefgh', 20) FROM generate_series(1, 2000) i;
SELECT dp_protect('stays', unit => 'person', dataset => 'hospital', max_total => 1);
CREATE TABLE even (unit int NOT NULL, x int NOT NULL) WITH (parallel_workers = 2);
INSERT INTO even SELECT i % 1000, i % 10 FROM generate_series(1, 300000) i;
CREATE TABLE crowded (LIKE even) WITH (parallel_workers = 2);
INSERT INTO crowded SELECT CASE WHEN i > 100000 THEN 7 ELSE i % 1000 END, i % 10 FROM generate_series(1, 300000) i;
SELECT dp_protect(r, unit => 'unit', dataset => 'hospital', rows => 10000000, max_total => 1) FROM unnest('{even,crowded}'::regclass[]) r;
RESET SESSION AUTHORIZATION;
EOT
value($node, 'VACUUM (FREEZE)');

sub reader
{
	return value($node, "SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
}

# A second without work, after which a reader has given memory back.
sub wait_idle
{
	my $full = memory(reader(), 'VmRSS');

	return await(sub { memory(reader(), 'VmRSS') < $full - 10_000 });
}

# What a fresh reader has in the end.
sub has
{
	my (@steps) = @_;

	value($node, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'dp_pg reader'");
	foreach my $step ('SELECT dp_count(*) FROM persons WHERE id < 0', @steps)
	{
		my ($out, $err) = ref $step ? ('', $step->() ? '' : 'nothing was given back') : as($node, 'analyst', "SET dp_pg.epsilon = '1'; SET max_parallel_workers_per_gather = 2; $step");

		return { error => $err } if $err ne '';
	}
	await(sub { value($node, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dp_pg reader' AND state = 'idle'") eq '1' });
	my $pid = reader();
	my %has = map { $_ => memory($pid, $_) } qw(VmSize VmHWM RssAnon RssFile RssShmem);
	my @mappings = split /\n/, slurp_file("/proc/$pid/maps");

	$has{mappings} = 2 * SLACK * @mappings;
	return \%has;
}

# Differ sizes by more than happens?
sub are_apart
{
	my ($some, $others) = @_;

	return min(@$some) - max(@$others) > SLACK || min(@$others) - max(@$some) > SLACK;
}

sub differences
{
	my ($sizes, @sides) = @_;
	my @apart;

	foreach my $size (@$sizes)
	{
		my ($some, $others) = map { [ map { $_->{$size} } @$_ ] } @sides;

		push @apart, "$size: @$some and @$others" if are_apart($some, $others);
	}
	return @apart;
}

# The steps of either side.
sub compare { return compare_sizes([qw(VmSize VmHWM RssAnon RssFile RssShmem mappings)], @_) }

sub compare_sizes
{
	my ($sizes, $what, @steps) = @_;
	my @sides = ([], []);
	my (@errors, @apart);

	do
	{
		foreach my $run (1 .. RUNS)
		{
			push @{ $sides[$_] }, has(@{ $steps[$_] }) foreach $run % 2 ? (0, 1) : (1, 0);
		}
		@errors = grep { defined } map { $_->{error} } map { @$_ } @sides;
		@apart = @errors ? () : differences($sizes, @sides);
	} while (@apart && @{ $sides[0] } < MOST);
	is("@errors", '', "$what: answered");
	is(join('; ', @apart), '', "$what: the same in memory") if !@errors;
	return;
}

sub of_person
{
	my ($id, $expression) = @_;

	return "SELECT dp_count(*) FROM persons WHERE CASE WHEN id = $id AND s = 1 THEN $expression END";
}

# Rows of one person, in many orders.
sub windows
{
	my ($person) = @_;
	my $windows = join ', ', map { "row_number() OVER (PARTITION BY person ORDER BY n + $_) AS w$_" } 1 .. 16;
	my $sum = join ' + ', map { "w$_" } 1 .. 16;

	return "SELECT dp_count(*) FROM (SELECT $windows FROM stays WHERE person = $person) s WHERE $sum > 5";
}

my @expressions = ("upper(name) > 'x'", "name LIKE '%1%2%3'", q{doc COLLATE "C" < 'x'}, 'name IN (' . join(', ', map { "'w$_'" } 1 .. 11) . ')');
push @expressions, q{lower(name COLLATE "en-US-x-icu") > 'x'} if $icu;

foreach my $expression (@expressions)
{
	compare($expression, map { [ of_person($_, $expression) ] } 107, 907);
}

# memory that was given back, and is needed where it had been
my $long = 'length(doc || doc || doc || doc) > 7';
my $public = "SELECT dp_count(*) FROM persons WHERE CASE WHEN id < 100 THEN $long END";
my $groups = 'SELECT dp_count(*) FROM (SELECT person, max(n) AS m FROM stays GROUP BY person) s WHERE m > 3';

compare("$long, after a second", map { [ $public, $groups, \&wait_idle, of_person($_, $long) ] } 107, 907);

# the same, where the heap has become several mappings before a collation was new
my $new = q{SELECT dp_count(*) FROM persons WHERE CASE WHEN id < 0 THEN lower(name COLLATE "en-US-x-icu") > 'x' END};

compare("$long, after a collation", map { [ windows(9999), $new, $public, $groups, \&wait_idle, of_person($_, $long) ] } 107, 907) if $icu;

# many rows of one person
my $histogram = 'SELECT dp_histogram(id, 0, 1000, 1000) IS NULL FROM persons WHERE s = 1 AND id';

compare('rows', map { ["SELECT dp_count(*) FROM stays WHERE person = $_"] } 7, 9999);
compare('rows of a histogram', map { ["$histogram = $_"] } 107, 907);
compare('rows in order', map { [ windows($_) ] } 7, 9999);
# workers map pages of the table that the reader does not, and the other way round
compare_sizes([qw(VmSize RssAnon RssFile mappings)], 'rows that threads take', map { ["SELECT dp_sum(x, 0, 10) FROM $_"] } 'crowded', 'even');

done_testing();
