# Random joins of a table whose rows are units of their own with public ones.  Such
# a row may be joined with at most one row, or tested by EXISTS and IN, and whether
# it can be joined with more follows from the public rows and the query alone
# (doc/theory.md T97).  So for every query that is answered, the plain one makes at
# most one row of each row, and as many as were counted.  They run under planner
# settings, and a query that EXPLAIN prices must not be refused for its shape.
#
# The same is asked of a table with a column of units, each with one row.  Where
# EXPLAIN says that one row of a unit counts, which follows from unique indexes and
# the like (T159), the plain query makes at most one row of each, and none is lost.
#
# FUZZ_JOINS queries (1500) from FUZZ_SEED (1).  A failure prints the command that
# reproduces it.  A count is wrong by noise with probability below 1e-40000.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node);
use FuzzNode qw(priced_statements run_statements);
use LedgerNode;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BATCH => 100;

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_JOINS} || 1500;
my $only = $ENV{FUZZ_NUMBER};
my $node = attack_node('joins', "dp_pg.epsilon_ceiling = '1000000'\ndp_pg.readers = 2\nfsync = off\n");

# Public tables: unique by id and not, with NULLs, with twins, empty.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE person (id int, k int, j int) WITH (parallel_workers = 2);
INSERT INTO person SELECT i, i % 7, nullif(i % 5, 0) FROM generate_series(1, 60) i;
CREATE TABLE owned (id int PRIMARY KEY, k int, j int);
INSERT INTO owned SELECT * FROM person;
CREATE TABLE a (id int PRIMARY KEY, b int);
INSERT INTO a SELECT i, i % 3 FROM generate_series(0, 5) i;
CREATE TABLE b (id int UNIQUE, b int);
INSERT INTO b SELECT i, nullif(i % 4, 3) FROM generate_series(0, 3) i;
CREATE TABLE c (id int, b numeric);
INSERT INTO c SELECT i / 2, i % 3 FROM generate_series(0, 5) i;
INSERT INTO c VALUES (NULL, NULL), (9, 9.0);
CREATE TABLE e (id int, b int, UNIQUE (id, b));
GRANT SELECT ON a, b, c, e TO analyst;
SELECT dp_protect('person', dataset => 'hospital');
SELECT dp_protect('owned', dataset => 'house', unit => 'id');
SELECT dp_grant('analyst', dataset => d, epsilon => 9e11) FROM unnest(ARRAY['hospital', 'house']) d;
EOT

# ---- queries ----

my $names;

sub one { return $_[ rand @_ ] }

sub column
{
	my ($items) = @_;
	my $item = one(@$items);

	return "$item->[0]." . one(@{ $item->[1] });
}

# A condition on columns of both sides.
sub condition
{
	my ($left, $right) = @_;
	my ($x, $y) = (column($left), column($right));
	my $u = rand;

	return "$x <= $y" if $u < .05;
	return "${x}::numeric = ${y}::numeric" if $u < .1;
	return "coalesce($x, 1) = $y" if $u < .15;
	return "$x = $y OR $y IS NULL" if $u < .2;
	return "$x = $y AND " . column($right) . ' > 0' if $u < .26;
	return "$x = $y AND " . column($left) . ' = ' . column($right) if $u < .4;
	return "$x = $y";
}

# A public item, and its columns.
sub item
{
	my $table = one(qw(a b c e a b));
	my $name = 'i' . ++$names;
	my $u = rand;

	return ("(SELECT id, b FROM $table WHERE id > 0) $name", [ [ $name, [qw(id b)] ] ]) if $u < .15;
	return ("(SELECT x.id, y.b FROM $table x JOIN " . one(qw(a b c)) . " y ON x.b = y.id) $name", [ [ $name, [qw(id b)] ] ]) if $u < .25;
	return ("(VALUES (0, 1), (1, 1), (2, 0)) $name (id, b)", [ [ $name, [qw(id b)] ] ]) if $u < .32;
	return ("(SELECT DISTINCT id FROM $table) $name", [ [ $name, ['id'] ] ]) if $u < .38;
	return ("$table $name", [ [ $name, [qw(id b)] ] ]);
}

sub tree
{
	my ($depth, $private) = @_;

	return ('person p', [ [ 'p', [qw(id k j)] ] ]) if $private && !$depth;
	return item() if !$depth || (!$private && rand() < .6);
	my $first = rand() < .8;
	my ($left, $of_left) = tree($depth - 1, $private && $first);
	my ($right, $of_right) = tree($depth - 1, $private && !$first);
	my $kind = rand() < .02 ? 'FULL JOIN' : one('JOIN', 'JOIN', $private && !$first ? 'RIGHT JOIN' : 'LEFT JOIN');

	return ("($left $kind $right ON " . condition($of_left, $of_right) . ')', [ @$of_left, @$of_right ]);
}

# What WHERE asks of public rows.
sub asked
{
	my ($items) = @_;
	my ($from, $of) = item();
	my $not = one('', '', 'NOT ');

	return "${not}EXISTS (SELECT FROM $from WHERE " . condition($items, $of) . ')' if rand() < .7;
	return column($items) . " ${not}IN (SELECT " . column($of) . " FROM $from WHERE " . condition($items, $of) . ')';
}

# FROM and WHERE, and what names the private row.
sub query
{
	my ($number) = @_;

	srand($seed * 1_000_003 + $number);
	$names = 0;
	my ($from, $items) = tree(one(1, 1, 2, 2, 3), 1);

	my @where = rand() < .3 ? (column($items) . one(' = ' . column($items), ' IS NULL', ' IS NOT NULL', ' > 1')) : ();

	push @where, asked($items) while rand() < .25;
	$from .= ' WHERE ' . join(' AND ', @where) if @where;
	return [ $from, 'p.id' ] if rand() < .75;
	return [ "(SELECT p.id AS person, " . column($items) . " AS x FROM $from) s LEFT JOIN a last ON last.id = s.x", 's.person' ];
}

# ---- comparing ----

my ($answered, $refused, $found, $number, $proved) = (0, 0, 0, 0, 0);

while ($number < $wanted && $found < 10)
{
	my @numbers = defined $only ? ($only) : ($number + 1 .. min($number + BATCH, $wanted));
	my @queries = map { query($_) } @numbers;
	my @private = priced_statements($node, 'analyst', "SET dp_pg.epsilon = '100000'; SET max_parallel_workers_per_gather = " . (rand() < .3 ? 2 : 0) . ';', map { "SELECT dp_count(*) FROM $_->[0]" } @queries);
	my @owned = map { "SELECT dp_count(*) FROM $_->[0]" =~ s/\bperson p\b/owned p/r } @queries;
	my @once = run_statements($node, 'analyst', "SET dp_pg.epsilon = '100000'; SET dp_pg.max_rows = 3; SET client_min_messages = warning;", map { ("EXPLAIN $_", $_) } @owned);
	my @plain = run_statements($node, 'owner', '', map { "SELECT coalesce(max(n), 0) <= 1, coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM $_->[0] GROUP BY $_->[1]) q" } @queries);

	foreach my $i (0 .. $#queries)
	{
		my $answer = $private[$i] =~ /^error/ ? undef : $private[$i];

		if ($once[ 2 * $i ] =~ /at most 1 row of a unit/)
		{
			$proved++;
			if ($plain[$i] ne "t|$once[ 2 * $i + 1 ]")
			{
				diag("FUZZ_SEED=$seed FUZZ_NUMBER=$numbers[$i] make fuzz\n  $owned[$i]\n  of a unit one row: $once[ 2 * $i + 1 ], one row of each and how many: $plain[$i]");
				$found++;
			}
		}
		$answered++ if defined $answer;
		if (!defined $answer)
		{
			$refused++ if $private[$i] =~ /54000/;
			next if $private[$i] =~ /^error (?:54000|0A000)$/;
		}
		next if defined $answer && $plain[$i] =~ /^t\|\Q$answer\E$/;
		diag("FUZZ_SEED=$seed FUZZ_NUMBER=$numbers[$i] make fuzz\n  $queries[$i][0]\n  private: $private[$i], one row of each and how many: $plain[$i]");
		$found++;
	}
	pass("queries up to $numbers[-1] have ended");
	$number = defined $only ? $wanted : $numbers[-1];
}
is($found, 0, "no row is made into two: $answered queries answered, $refused refused for that, $proved of one row by proof");
if (!defined $only && $seed == 1)
{
	cmp_ok($answered, '>', $wanted / 5, 'enough are answered');
	cmp_ok($refused, '>', $wanted / 5, 'and enough refused');
	cmp_ok($proved, '>', $wanted / 20, 'and enough proved');
}

$node->stop('fast');
done_testing();
