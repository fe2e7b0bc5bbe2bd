# Random linear queries over relations whose units have many rows, on databases that
# differ in one unit: removed, or replaced by another.  At an epsilon with almost no
# noise, a number of rows may move by no more than m, the rows of a unit that count:
# down if the unit is removed, either way if it is replaced.  So for lists of
# predicates and weights (dp_sparse_vector; and a session, whose bound is set anew
# before each question), and for cells of tables (dp_iterate, whose steps are
# kept).  What a table moves by in all is how far the number of all its rows moves,
# since no cell moves the other way.
#
# In addition to tables, views of these are queried: units behind keys, joins with
# private and public rows, groups, UNION ALL, EXISTS and IN (T158).  Of a view that
# groups by the unit one row counts, whatever m is.
#
# The unit that differs has up to 100,000 rows, or few.  Others have at most
# three, so that from m = 3 on no row of theirs is drawn; in views at most 40.
#
# The machine detects bounds that are too small: each function, and each view, moves
# some number by exactly m.
#
# FUZZ_LINEAR rounds (8) from FUZZ_SEED (1), which every test's name has.  A
# number is off with probability exp(-40): noise has a scale below 1/80 of a row.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node as);
use LedgerNode;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant LIST => 24;

my $seed = $ENV{FUZZ_SEED} || 1;
my $rounds = $ENV{FUZZ_LINEAR} || 8;
my $node = attack_node('linear', "dp_pg.epsilon_ceiling = '100000000'\ndp_pg.readers = 2\nfsync = off\njit = off\nmax_wal_size = 4GB\n");

# ---- the databases ----

# Views of a table %1$s, and of its rows once more behind keys.
my %views = (
	behind => 'SELECT NULL::text AS u, k, g, x, w FROM item_%1$s',
	path => 'SELECT o.u, i.k, i.g, i.x, i.w FROM item_%1$s i JOIN key_%1$s o ON i.key = o.id AND o.n = i.n',
	joined => 'SELECT a.u, a.k, b.g, a.x, b.w FROM %1$s a JOIN %1$s b ON a.u = b.u',
	left => 'SELECT a.u, a.k, b.g, a.x, b.w FROM %1$s a LEFT JOIN %1$s b ON a.u = b.u AND b.k = 1',
	looked => 'SELECT t.u, t.k, p.big AS g, t.x, t.w FROM %1$s t JOIN place p ON t.k = p.k',
	spread => 'SELECT t.u, t.k, t.g, t.x, t.w FROM %1$s t JOIN place p ON t.k >= p.k',
	far => 'SELECT t.u, t.k, t.g, t.x, t.w FROM %1$s t JOIN tag ON t.k = tag.k',
	groups => 'SELECT u, g, max(k) AS k, max(x) AS x, max(w) AS w FROM %1$s GROUP BY u, g, x',
	once => 'SELECT u, bool_or(g) AS g, max(k) AS k, max(x) AS x, max(w) AS w FROM %1$s GROUP BY u',
	together => 'SELECT u, k, g, x, w FROM %1$s UNION ALL SELECT u, k, NOT g, x, w FROM %1$s WHERE k > 1',
	asked => 'SELECT * FROM %1$s t WHERE EXISTS (SELECT FROM %1$s b WHERE b.u = t.u AND b.g)');

# whole has all units, removed lacks one; before has all, swapped another one.
my %pairs = (removed => [ 'whole', 'removed' ], replaced => [ 'before', 'swapped' ]);

value($node, <<'EOT');
CREATE ROLE other_owner LOGIN;
GRANT CREATE ON SCHEMA public TO other_owner;
CREATE TABLE place (k int PRIMARY KEY, big boolean);
INSERT INTO place SELECT i, i > 1 FROM generate_series(0, 3) i;
CREATE TABLE tag (k int);
INSERT INTO tag SELECT i % 4 FROM generate_series(1, 48) i;
GRANT SELECT ON place, tag TO PUBLIC;
ALTER ROLE analyst SET dp_pg.epsilon = 100000000;
EOT
foreach (
	[ 'owner', 'hospital', 'whole', 'removed' ],
	[ 'other_owner', 'school', 'before', 'swapped' ])
{
	my ($owner, $dataset, @tables) = @$_;
	my $sql = "SET SESSION AUTHORIZATION $owner;\n";

	$sql .= <<"EOT" foreach @tables;
CREATE TABLE $_ (u text, k int, g boolean, x int, w float8);
SELECT dp_protect('$_', unit => 'u', dataset => '$dataset'), dp_declare('$_', 'k', keys => ARRAY[0, 1, 2, 3]),
	dp_declare('$_', 'w', lower => 0, upper => 1);
CREATE TABLE key_$_ (n int, id text, u text, PRIMARY KEY (id, n));
CREATE TABLE item_$_ (key varchar, n bigint, k int, g boolean, x int, w float8);
SELECT dp_protect('key_$_', unit => 'u', dataset => '$dataset'), dp_protect('item_$_', unit => '(key, n) -> key_$_.u', dataset => '$dataset'),
	dp_declare('item_$_', 'k', keys => ARRAY[0, 1, 2, 3]), dp_declare('item_$_', 'w', lower => 0, upper => 1);
EOT
	foreach my $table (@tables)
	{
		$sql .= sprintf("CREATE VIEW ${_}_$table AS $views{$_};\nGRANT SELECT ON ${_}_$table TO analyst;\n", $table) foreach sort keys %views;
	}
	$sql .= "SELECT dp_neighbours('school', 'replace_one');\n" if $dataset eq 'school';
	value($node, "$sql SELECT dp_grant('analyst', dataset => '$dataset', epsilon => 9e11, delta => 1e-3)");
}

sub pick { return $_[ int rand @_ ] }

# Rows of one unit: SQL that gives (k, g, x, w).
sub unit_rows
{
	my ($shape) = @_;
	my $n = { heavy => 100000, deep => 100000, alike => 2000, few => 2, outside => 5000, extreme => 3000 }->{$shape};
	my $row =
	    $shape eq 'deep' ? '1, true, 50, 1'
	  : $shape eq 'alike' ? pick(0 .. 3) . ', ' . pick('true', 'false') . ', 10, 0.5'
	  : $shape eq 'outside' ? '77, NULL::boolean, NULL::int, NULL::float8'
	  : $shape eq 'extreme' ? q{i % 4, i % 2 = 0, (ARRAY[2147483647, -2147483648, NULL])[1 + i % 3], (ARRAY['Infinity', '-Infinity', 'NaN', 1e300]::float8[])[1 + i % 4]}
	  : '(ARRAY[0, 1, 2, 3, NULL, 77])[1 + i % 6], (ARRAY[true, false, NULL])[1 + i / 6 % 3], i * 37 % 131, i % 257 / 256.0';

	return "SELECT $row FROM generate_series(1, $n) AS i";
}

sub fill
{
	my ($shape, $instead) = @_;
	my $columns = '(u, k, g, x, w)';

	value($node, <<"EOT");
TRUNCATE whole, removed, before, swapped;
INSERT INTO whole SELECT 'p' || u, (u + j) % 4, (u * j) % 3 = 0, u * 7 % 100, u % 16 / 16.0
FROM generate_series(1, 120) u, generate_series(1, 1 + u % 3) j;
INSERT INTO removed TABLE whole;
INSERT INTO swapped TABLE whole;
INSERT INTO whole $columns SELECT 'one', r.* FROM (@{[ unit_rows($shape) ]}) AS r;
INSERT INTO before TABLE whole;
INSERT INTO swapped $columns SELECT 'other', r.* FROM (@{[ unit_rows($instead) ]}) AS r;
EOT
	value($node, <<"EOT") foreach map { @$_ } values %pairs;
TRUNCATE key_$_, item_$_;
INSERT INTO key_$_ SELECT n, u, u FROM (SELECT DISTINCT u FROM $_) t, generate_series(0, 1) n;
INSERT INTO item_$_ SELECT u, coalesce(abs(x::bigint) % 2, 0), k, g, x, w FROM $_;
EOT
	return;
}

# ---- queries ----

sub predicate
{
	my $n = int rand 100;

	return pick('true', 'true', "x > $n", "k = " . int rand 4, "k IN (1, 2) AND g", 'g', 'NOT g', 'g IS NULL', "k IS NULL OR x < $n", 'w', 'w', "least(greatest(x / 100.0, 0), 1)", "CASE WHEN g THEN w ELSE 0.$n END", "u = 'one'", "w > 0.$n", 'k = 77', '1 - w');
}

sub cell
{
	return pick('true', 'true', 'k = ' . int rand 4, 'NOT g', 'g', 'k IN (0, 2) AND g', 'k / 4.0', 'CASE WHEN g THEN 1 ELSE k / 5.0 END', 'k = 1 AND NOT g');
}

# What two databases answer, as a list of numbers each.
sub numbers
{
	my ($sql) = @_;
	my ($out, $err) = as($node, 'analyst', "SET client_min_messages = warning;\n$sql");

	die "$sql\n$err" if $err ne '';
	return split /\n/, $out;
}

sub quoted
{
	my ($query) = @_;

	return "'" . $query =~ s/'/''/gr . "'";
}

# Rows of a unit that count, as rows in a group or, with more of these, in all.
sub bound
{
	my ($m) = @_;

	return rand() < .5 ? "SET dp_pg.max_rows = $m; SET dp_pg.max_total = 0;" : "SET dp_pg.max_rows = @{[ $m + pick(0, 1, 7) ]}; SET dp_pg.max_total = $m;";
}

sub list
{
	my ($m, $table, @queries) = @_;
	my $array = join ', ', map { quoted($_) } @queries;

	return numbers(bound($m) . " SELECT answer FROM dp_sparse_vector('$table', ARRAY[$array], -100000, @{[ LIST ]}, numeric_answers => true)");
}

# The bound that is set before a question says nothing.
sub asked
{
	my ($m, $table, @queries) = @_;
	my $n = @queries;
	my $sql = bound($m) . "\nSELECT dp_sparse_vector_open('$table', -100000, $n, 100000000, $n, numeric_answers => true) AS s \\gset\n";

	$sql .= bound(pick(1, 2, 5, 100000)) . " SELECT answer FROM dp_sparse_vector_ask(:s, " . quoted($_) . ");\n" foreach @queries;
	return numbers($sql);
}

sub counted
{
	my ($m, $table, @queries) = @_;
	my $sql = bound($m) . "\n";

	$sql .= "SELECT count(*) FROM dp_iterate('$table', ARRAY['k', 'g'], ARRAY[" . quoted($_) . "], n => 100, rounds => 1) AS t(k int, g boolean, probability float8) \\g /dev/null\n"
	  . "SELECT parameters -> 'steps' -> 0 ->> 'answer' FROM dp_pg.releases ORDER BY id DESC LIMIT 1;\n" foreach @queries;
	return numbers($sql);
}

my %ways = (
	list => [ \&list, \&predicate, LIST ],
	session => [ \&asked, \&predicate, 6 ],
	table => [ \&counted, \&cell, 6 ]);
my %full;
my $compared = 0;

# view: '' for the table itself.
sub compare
{
	my ($name, $way, $view, $pair, $m) = @_;
	my ($ask, $query, $n) = @{ $ways{$way} };
	my @queries = map { $query->() } 1 .. $n;
	my ($one, $other) = map { [ $ask->($m, $view eq '' ? $_ : "${view}_$_", @queries) ] } @{ $pairs{$pair} };
	my @wrong;

	$m = 1 if $view eq 'once';

	push @wrong, scalar(@$one) . ' answers' if @$one != $n || @$other != $n;
	foreach my $i (0 .. min($#$one, $#$other))
	{
		my $moved = $one->[$i] - $other->[$i];

		push @wrong, "$queries[$i]: $one->[$i], $other->[$i]"
		  if $moved > $m || $moved < ($pair eq 'removed' ? 0 : -$m);
		$full{ $view eq '' ? "$way $pair" : $view } = 1 if abs $moved == $m;
		$compared++;
	}
	is(join('; ', @wrong), '', "$name: $way, " . ($view eq '' ? '' : "$view, ") . "$pair, m = $m");
	return;
}

# Views follow each other; of tables only those whose columns have public values.
my @listed = sort keys %views;
my @counted = grep { $_ ne 'together' } @listed;
my $turn = 0;

foreach my $round (1 .. $rounds)
{
	srand($seed * 1000 + $round);
	my @shapes = ('heavy', 'deep', 'alike', 'few', 'outside', 'extreme');
	my $shape = $round <= 2 ? $shapes[ $round - 1 ] : pick(@shapes);
	my $instead = $round == 1 ? 'outside' : pick(@shapes);

	fill($shape, $instead);
	foreach my $way (sort keys %ways)
	{
		foreach my $pair (sort keys %pairs)
		{
			my $name = "seed $seed, round $round, $shape, $instead";
			my $of = $way eq 'table' ? \@counted : \@listed;

			compare($name, $way, '', $pair, pick($way eq 'table' ? (3, 4, 9, 1000) : (1, 2, 3, 9, 1000)));
			compare($name, $way, $of->[ $turn++ % @$of ], $pair, pick($way eq 'table' ? (40, 50, 1000) : (1, 2, 3, 9, 50))) foreach 1 .. 2;
		}
	}
}
if ($seed == 1)
{
	is(join(', ', grep { !$full{$_} } map { my $w = $_; map { "$w $_" } sort keys %pairs } sort keys %ways), '', 'each way to ask is moved by exactly m somewhere');
	is(join(', ', grep { !$full{$_} } @listed), '', 'and so is each view');
}
note("$compared numbers compared");

$node->stop;
done_testing();
