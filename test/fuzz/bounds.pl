# Random private queries over relations whose units have many rows, on databases
# that differ in one unit: removed, or replaced by another.  At an epsilon with
# almost no noise, the vector of all cells of an answer may move by no more than the
# sensitivities in L1 and L2 that EXPLAIN states.
#
# The unit that differs has up to 20,000 rows in all groups, few or one; which of
# its groups and rows count is drawn anew for each answer.  The others have all
# their rows in one group each, and not too many, so that none of them is drawn; if
# they have several groups, sums of numbers of units are compared.  A mean and a
# variance are converted back to the sums they are made of.  Most of the queries
# join: the unit's rows with one another through a second protected relation, by
# FULL JOIN, too, or with public rows, so that it has three times as many, or some,
# or with a list that names groups; or use EXISTS on rows of the unit, or UNION ALL,
# or have windows over the rows of each.  A third is read by parallel workers.
#
# A fifth of those with the key k group by an undeclared key instead, or by one of
# too many values.  The cells of keys that both databases release are compared, and
# the others may be no more than the numbers of units that one unit changes
# according to EXPLAIN.
#
# Others group by the sets of ROLLUP, CUBE or GROUPING SETS, in transparent mode; each
# set is compared with what EXPLAIN states for it.
#
# The machine detects bounds that are too small: a unit that fills its groups
# exceeds those of one row less, and of one group less, by every aggregate.
#
# FUZZ_BOUNDS queries (300) from FUZZ_SEED (1).  A failure prints the command that
# reproduces it.  Noise is at most 40 of its scales in each cell, which fails with
# probability exp(-40).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node);
use FuzzNode qw(run_statements);
use LedgerNode;
use List::Util qw(max min sum);
use POSIX qw(ceil);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BATCH => 30;
use constant EPSILON => 10_000_000;
use constant KEY => '(CASE WHEN u < 1000 THEN u % 100 ELSE x END)';
use constant ROUNDED => 1e-5;	# EXPLAIN writes six digits

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_BOUNDS} || 300;
my $only = $ENV{FUZZ_NUMBER};
my $node = attack_node('bounds', "dp_pg.epsilon_ceiling = '10000000'\ndp_pg.readers = 2\nfsync = off\njit = off\nmax_wal_size = 4GB\n");

# ---- the databases ----

# whole has all units, removed lacks one; swapped has another in its place.
value($node, <<'EOT');
CREATE ROLE other_owner LOGIN;
GRANT CREATE ON SCHEMA public TO other_owner;
CREATE TABLE copies AS SELECT generate_series(1, 3) AS n;
ALTER TABLE copies ADD UNIQUE (n);
GRANT SELECT ON copies TO analyst;
SET SESSION AUTHORIZATION other_owner;
CREATE TABLE before (u int, k int, b boolean, c text, x int, y numeric(12, 3), f float8, g int);
CREATE TABLE swapped (LIKE before);
SELECT dp_protect(t::regclass, unit => 'u', dataset => 'school'),
	dp_declare(t::regclass, 'k', keys => ARRAY[0, 1, 2, 3, 4]), dp_declare(t::regclass, 'c', keys => ARRAY['a', 'b', 'c']),
	dp_declare(t::regclass, 'g', lower => -2147483648, upper => 2147483647)
FROM unnest(ARRAY['before', 'swapped']) AS t;
CREATE TABLE before_mates (u bigint, n int);
CREATE TABLE swapped_mates (u bigint, n int);
INSERT INTO before_mates SELECT u, n FROM generate_series(1, 1000) u, generate_series(1, CASE WHEN u < 1000 THEN 1 ELSE 3 END) n WHERE u <= 150 OR u = 1000;
INSERT INTO swapped_mates SELECT u, n FROM generate_series(1, 1001) u, generate_series(1, CASE WHEN u < 1000 THEN 1 ELSE 3 END) n WHERE u <= 150 OR u = 1001;
SELECT dp_protect(t::regclass, unit => 'u', dataset => 'school') FROM unnest(ARRAY['before_mates', 'swapped_mates']) AS t;
CREATE TABLE before_homes (u int PRIMARY KEY, k int, b boolean, c text, x int, y numeric(12, 3), f float8, g int, n int);
CREATE TABLE swapped_homes (LIKE before_homes INCLUDING INDEXES);
SELECT dp_protect(t::regclass, unit => 'u', dataset => 'school'),
	dp_declare(t::regclass, 'k', keys => ARRAY[0, 1, 2, 3, 4]), dp_declare(t::regclass, 'c', keys => ARRAY['a', 'b', 'c']),
	dp_declare(t::regclass, 'g', lower => -2147483648, upper => 2147483647)
FROM unnest(ARRAY['before_homes', 'swapped_homes']) AS t;
SELECT dp_neighbours('school', 'replace_one');
SELECT dp_grant('analyst', dataset => 'school', epsilon => 9e11, delta => 1e-3);
SET SESSION AUTHORIZATION owner;
CREATE TABLE whole (u int, k int, b boolean, c text, x int, y numeric(12, 3), f float8, g int);
CREATE TABLE removed (LIKE whole);
SELECT dp_protect(t::regclass, unit => 'u', dataset => 'hospital'),
	dp_declare(t::regclass, 'k', keys => ARRAY[0, 1, 2, 3, 4]), dp_declare(t::regclass, 'c', keys => ARRAY['a', 'b', 'c']),
	dp_declare(t::regclass, 'g', lower => -2147483648, upper => 2147483647)
FROM unnest(ARRAY['whole', 'removed']) AS t;
CREATE TABLE whole_mates (u bigint, n int);
CREATE TABLE removed_mates (u bigint, n int);
INSERT INTO whole_mates SELECT u, n FROM generate_series(1, 1000) u, generate_series(1, CASE WHEN u < 1000 THEN 1 ELSE 3 END) n WHERE u <= 150 OR u = 1000;
INSERT INTO removed_mates SELECT u, 1 FROM generate_series(1, 150) u;
SELECT dp_protect(t::regclass, unit => 'u', dataset => 'hospital') FROM unnest(ARRAY['whole_mates', 'removed_mates']) AS t;
CREATE TABLE whole_homes (u int PRIMARY KEY, k int, b boolean, c text, x int, y numeric(12, 3), f float8, g int, n int);
CREATE TABLE removed_homes (LIKE whole_homes INCLUDING INDEXES);
SELECT dp_protect(t::regclass, unit => 'u', dataset => 'hospital'),
	dp_declare(t::regclass, 'k', keys => ARRAY[0, 1, 2, 3, 4]), dp_declare(t::regclass, 'c', keys => ARRAY['a', 'b', 'c']),
	dp_declare(t::regclass, 'g', lower => -2147483648, upper => 2147483647)
FROM unnest(ARRAY['whole_homes', 'removed_homes']) AS t;
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11, delta => 1e-3);
EOT
value($node, "ALTER TABLE $_ SET (parallel_workers = 2); ALTER TABLE ${_}_mates SET (parallel_workers = 2)") foreach qw(before swapped whole removed);

sub pick { return $_[ int rand @_ ] }

# Rows of one unit, of a shape: SQL that gives (k, b, c, x, y, f).
sub unit_rows
{
	my ($shape) = @_;
	my $n = { heavy => 20000, wide => 500, deep => 4000, few => 7, one => 1, extreme => 3000, here => 40, there => 40 }->{$shape};
	my $three = q{(ARRAY['a', 'b', 'c'])[1 + i / 2 % 3]};
	my $group = $shape eq 'here' ? "1 + i % 2, true, $three" : $shape eq 'there' ? "3 + i % 2, true, $three" : $shape eq 'deep' ? "1, true, 'a'" : q{(ARRAY[0, 1, 2, 3, 4, NULL, 99])[1 + i % 7], (ARRAY[true, false, NULL])[1 + i / 7 % 3], (ARRAY['a', 'b', 'c', NULL, 'zz'])[1 + i / 21 % 5]};
	my $x = $shape eq 'extreme' ? '(ARRAY[2147483647, -2147483648, 0, NULL])[1 + i / 105 % 4], 999999999, (ARRAY[\'Infinity\', \'-Infinity\', \'NaN\', 1e300]::float8[])[1 + i / 105 % 4]' :
	  $shape =~ /here/ ? '10, 1000 + i, 60' : $shape eq 'deep' ? '60, 60, 60' : "i * 37 % 131 - 65, i % 1000 / 8.0 - 60, CASE WHEN i % 11 > 0 THEN i % 257 / 4.0 - 30 END";

	return "SELECT $group, $x FROM generate_series(1, $n) AS i";
}

# Other units, of at most 3 rows in each of as many groups.
sub fill
{
	my ($groups, $shape, $instead) = @_;
	my $columns = '(u, k, b, c, x, y, f)';

	value($node, <<"EOT");
TRUNCATE whole, removed, before, swapped, whole_homes, removed_homes, before_homes, swapped_homes;
INSERT INTO whole SELECT u, (u + g) % 5, (u / 5 + g) % 2 = 0, (ARRAY['a', 'b', 'c'])[1 + u % 3], (u * 7 + j * 13) % 120 - 60, j * 1.5 + u % 7, u % 40 - j
FROM generate_series(1, 150) u, generate_series(1, $groups) g, generate_series(1, 1 + u % 3) j;
INSERT INTO removed TABLE whole;
INSERT INTO swapped TABLE whole;
INSERT INTO whole $columns SELECT 1000, r.* FROM (@{[ unit_rows($shape) ]}) AS r;
INSERT INTO before TABLE whole;
INSERT INTO swapped $columns SELECT 1001, r.* FROM (@{[ unit_rows($instead) ]}) AS r;
UPDATE whole SET g = @{[ KEY ]};
UPDATE removed SET g = @{[ KEY ]};
UPDATE before SET g = @{[ KEY ]};
UPDATE swapped SET g = @{[ KEY ]};
@{[ map { "INSERT INTO ${_}_homes SELECT DISTINCT ON (u) *, 1 + u % 3 FROM $_ ORDER BY u, k DESC, x DESC;" } qw(whole removed before swapped) ]}
EOT
	return;
}

# ---- queries ----

# Rows of a relation as they are, and joined with its units' rows in another one.
my @sources = ('%s', '%s', '(SELECT * FROM %s WHERE x IS DISTINCT FROM 7) AS s',
	'(SELECT x, y, f, g, u, k, b, c FROM (SELECT * FROM %s) AS t WHERE k IS DISTINCT FROM 4) AS s',
	'(SELECT t.* FROM %1$s AS t JOIN %1$s_mates AS p ON p.u = t.u) AS s',
	'(SELECT t.* FROM %1$s_mates AS p LEFT JOIN %1$s AS t ON p.u = t.u AND p.n < 3) AS s',
	'(SELECT coalesce(t.u, p.u) AS u, k, b, c, x, y, f, g FROM (SELECT * FROM %1$s WHERE x > -60 OR k = 2) AS t FULL JOIN %1$s_mates AS p ON p.u = t.u AND (p.n < 3 OR t.k > 1)) AS s',
	'(SELECT t.* FROM %1$s AS t JOIN copies AS d ON t.u >= 1000 OR d.n = 1) AS s',
	'(SELECT t.* FROM %1$s AS t WHERE EXISTS (SELECT FROM %1$s_mates AS p WHERE p.u = t.u AND (t.x > -60 OR p.n = 1))) AS s',
	'(SELECT t.* FROM %1$s AS t WHERE u NOT IN (SELECT u FROM %1$s_mates AS p WHERE p.n > t.x)) AS s',
	'(SELECT u, k, b, c, x, y, f, g FROM %1$s UNION ALL SELECT u, k, b, c, x, y, f, g FROM %1$s WHERE u >= 1000) AS s',
	'(SELECT t.* FROM %1$s_mates AS p JOIN (SELECT * FROM %1$s AS r LEFT JOIN copies AS d ON d.n = r.k) AS t USING (u)) AS s',
	'(SELECT u, k, b, c, x, y, f, g FROM (SELECT *, row_number() OVER (PARTITION BY u ORDER BY x) AS nth, count(*) OVER (PARTITION BY u, k) AS same FROM %1$s) AS t WHERE nth <> 2 OR same < 9) AS s',
	'(SELECT t.u, k, b, c, lag(x) OVER w AS x, max(y) OVER (PARTITION BY t.u ORDER BY x ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS y, first_value(f) OVER w AS f, g FROM %1$s AS t JOIN %1$s_mates AS p ON p.u = t.u WINDOW w AS (PARTITION BY t.u ORDER BY k)) AS s',
	'(SELECT h.u, k, b, c, x, y, f, g FROM %1$s_homes AS h JOIN copies AS d USING (n) LEFT JOIN copies AS e ON e.n = h.k) AS s',
	'(SELECT h.u, k, b, c, x, y, f, g FROM %1$s_homes AS h JOIN (SELECT max(n) AS most FROM copies) AS d ON x > d.most OR b) AS s',
	'(SELECT u, k, b, c, x, y, f, g FROM (SELECT DISTINCT u FROM %1$s WHERE x > -60) AS t JOIN %1$s_homes AS h USING (u) JOIN copies AS d USING (n)) AS s',
	'(SELECT coalesce(h.u, t.u) AS u, k, b, c, x, y, f, g FROM %1$s_homes AS h FULL JOIN (SELECT u FROM %1$s GROUP BY u) AS t ON t.u = h.u) AS s',
	'(VALUES (1, 1), (1, 1), (1, 2), (2, 1), (3, NULL), (NULL, 1), (7, 1)) AS l (key, twice) LEFT JOIN %1$s AS s ON s.k = l.key AND (s.u >= 1000 OR l.twice = 1)',
	'(SELECT t.* FROM %1$s AS t JOIN %1$s_mates AS p USING (u)) AS s RIGHT JOIN generate_series(0, 5) AS key ON k >= key AND (u >= 1000 OR key = 0)',
	q{(SELECT t.* FROM %1$s AS t, unnest(string_to_array(CASE WHEN t.u >= 1000 THEN 'a,b,c' ELSE 'a' END, ',')) AS l WHERE l <> 'b' OR t.x > 0) AS s});

my @conditions = ('true', 'true', 'x > 0', 'x IS NOT NULL', 'b', 'k <> 3', 'y < 20', "c IN ('a', 'b')", 'f > -10', 'u % 2 = 0 OR x < 30', 'x BETWEEN -20 AND 40');

# An aggregate is { kind, sql, parts, at }: what is asked, and how its columns
# become cells; columns holds what all of a query ask, each once.
sub column
{
	my ($columns, $sql) = @_;

	foreach my $i (0 .. $#$columns)
	{
		return $i if $columns->[$i] eq $sql;
	}
	push @$columns, $sql;
	return $#$columns;
}

sub aggregate
{
	my ($columns, $kind, $v, $low, $high, $filter) = @_;
	my $cells = { kind => $kind, low => $low, high => $high };

	if ($kind eq 'count') { $cells->{main} = column($columns, "dp_count(*)$filter") }
	elsif ($kind eq 'count_x') { $cells->{main} = column($columns, "dp_count($v)$filter") }
	elsif ($kind eq 'units') { $cells->{main} = column($columns, 'dp_count(DISTINCT ' . ($v || 'u') . ')') }
	elsif ($kind =~ /distinct|few/) { $cells->{main} = column($columns, "dp_count(DISTINCT $v)$filter") }
	elsif ($kind eq 'sum') { $cells->{main} = column($columns, "dp_sum($v, $low, $high)$filter") }
	elsif ($kind eq 'histogram') { $cells->{main} = column($columns, "dp_histogram($v, $low, $high, 4)$filter") }
	elsif ($kind eq 'selection')
	{
		$cells->{main} = column($columns, pick("dp_median($v, $low, $high)", "dp_argmax(c)", "dp_argmax(x, ARRAY[1, 2, 60])", "dp_quantile(x, 0.9, $low, $high)") . $filter);
	}
	else
	{
		# values at both ends, whose variance tells how many are at which
		$v = "CASE WHEN $v > 3 THEN $high WHEN $v <= 3 THEN $low END" if $kind eq 'variance';
		$cells->{main} = column($columns, ($kind eq 'mean' ? 'dp_avg' : 'dp_variance') . "(($v)::numeric, $low, $high)$filter");
		$cells->{mean} = column($columns, "dp_avg(($v)::numeric, $low, $high)$filter");

		# weights are no whole numbers, and a count is rounded to one
		$cells->{rows} = column($columns, "dp_sum(CASE WHEN $v IS NOT NULL THEN 1::float8 END, 0, 1)$filter");
		$cells->{alone} = column($columns, "dp_var_pop(($v)::numeric, $low, $high)$filter") if $kind eq 'variance';
	}
	return $cells;
}

sub random_aggregate
{
	my ($columns) = @_;
	my $kind = pick(qw(count count_x units distinct distinct few sum sum mean variance histogram histogram selection));
	my $filter = rand() < 0.4 ? ' FILTER (WHERE ' . pick(@conditions) . ')' : '';
	my $v = pick('x', 'x', 'y', 'f', 'CASE WHEN b THEN x END', 'x + k');
	$v = pick('u', 'CASE WHEN x > 0 THEN u WHEN b THEN u END', 'nullif(u, 3)') if $kind eq 'units';

	# few public values, which the others have, too
	($v, $filter) = (pick(qw(k b c)), ' FILTER (WHERE u >= 1000)') if $kind eq 'few';
	my ($low, $high) = @{ pick([ -50, 50 ], [ 0, 10 ], [ -3, 64 ], [ 5, 30 ], [ -40, -8 ]) };

	return aggregate($columns, $kind, $v, $low, $high, $filter);
}

sub query
{
	my ($number) = @_;
	my @columns;

	srand($seed * 1000003 + $number);
	my @keys = grep { rand() < 0.5 } qw(k b c);
	my $undeclared = @keys && $keys[0] eq 'k' && rand() < 0.2;
	my $m = pick(1, 2, 3, 7, 7, 50, 3000);
	my $kappa = pick(1, 1, 2, 2, 3, 10, 100);
	my $total = pick($m * $kappa, 1 + int rand $m * $kappa);
	my @aggregates = map { random_aggregate(\@columns) } 0 .. int rand 4;
	my $where = pick(@conditions);
	my $from = pick(@sources);

	# the row of a value that nobody has is not counted
	s/dp_count\(\*\)/dp_count(u)/ foreach grep { $from =~ /\bkey\b/ } @columns;

	# what several queries give together is declared nowhere
	s/dp_argmax\(c\)/dp_argmax(c, ARRAY['a', 'b', 'c'])/ foreach grep { $from =~ /UNION/ } @columns;

	# of other units one each, that one or two of them have; or such a column of too many values
	$keys[0] = $number % 2 ? 'g' : KEY =~ s/%/%%/r if $undeclared;

	my $list = join ', ', @keys;
	my @sets = ("ROLLUP ($list)", "CUBE ($list)", @keys > 1 ? "GROUPING SETS (($keys[0]), (@{[ join ', ', @keys[ 1 .. $#keys ] ]}), ())" : ());
	my $sets = !@keys || rand() > 0.3 ? '' : $undeclared ? $sets[0] : pick(@sets);
	my @shown = $sets ? (@keys, "GROUPING($list)") : @keys;
	my $mode = $sets ? 'on; SET dp_pg.split = off; SET dp_pg.suppress = off' : 'off; RESET dp_pg.split; RESET dp_pg.suppress';
	return {
		m => min($m, $total), kappa => $kappa, total => $total, keys => scalar @shown, sets => $sets, columns => \@columns, aggregates => \@aggregates, undeclared => $undeclared,
		settings => "SET dp_pg.transparent = $mode; " . 'SET max_parallel_workers_per_gather = ' . pick(0, 0, 2) . "; SET dp_pg.max_rows = $m; SET dp_pg.max_keys = $kappa; SET dp_pg.max_total = $total; SET dp_pg.epsilon = '" . EPSILON . "'; SET dp_pg.delta = '1e-9'; SET client_min_messages = warning",
		text => 'SELECT ' . join(', ', @shown, @columns) . " FROM $from WHERE $where" . (@keys ? ' GROUP BY ' . ($sets || $list) : '') };
}

# ---- cells ----

# Of an answer's rows, what an aggregate's cells are: a list of numbers.
sub cells
{
	my ($query, $cells, $rows) = @_;
	my $width = $cells->{high} - $cells->{low};
	my @vector;

	foreach my $row (@$rows)
	{
		my @values = @$row[ $query->{keys} .. $#$row ];
		my $main = $values[ $cells->{main} ];

		if ($cells->{kind} eq 'histogram') { push @vector, $main =~ /(-?\d+)/g }
		elsif ($cells->{kind} !~ /mean|variance/) { push @vector, $main }
		else
		{
			my $n = $values[ $cells->{rows} ];
			my $share = $n > 0 ? ($values[ $cells->{mean} ] - $cells->{low}) / $width : 0;

			# of one row, a sample's is noise over noise: what divides it is n - 1
			$main = $values[ $cells->{alone} ] if defined $cells->{alone} && $n < 2;

			# near a half, a variance tells little of the share
			if ($cells->{kind} eq 'variance' && $main =~ /\d/ && $n > 0 && abs($share - 0.5) > 0.1)
			{
				my $q = $main * max($n - 1, 1) / $n / $width**2;
				my $root = sqrt(max(0, 1 - 4 * $q)) / 2;

				$share = $share > 0.5 ? 0.5 + $root : 0.5 - $root;
			}
			my $unit = $cells->{kind} eq 'mean' ? $width : $width**2;
			push @vector, $n * $share * $unit, $n * (1 - $share) * $unit;
		}
	}
	return @vector;
}

# May cells be compared one by one, given in how many groups the other units are?
sub is_exact
{
	my ($query, $kind, $groups) = @_;

	return 0 if $kind eq 'selection';
	return 0 if $groups > 1 && $query->{kappa} < $groups && $query->{keys};
	return $kind =~ /^(histogram|distinct)$/ ? $query->{m} >= 3 * $groups : 1;
}

# Moves of all cells, in L1 and L2; of numbers of units, their sum.
sub moves
{
	my ($query, $cells, $groups, @answers) = @_;
	my ($a, $b) = map { [ cells($query, $cells, $_) ] } @answers;

	die "cells differ: @$a / @$b" if @$a != @$b;
	if (!is_exact($query, $cells->{kind}, $groups))
	{
		# a group that a unit keeps may have none of the rows that name it
		return if $cells->{kind} ne 'units' || $query->{columns}[ $cells->{main} ] =~ /CASE/;
		my $move = abs(sum(@$a) - sum(@$b));

		return ($move, 0, scalar @$a);
	}
	my @moved = map { abs($a->[$_] - $b->[$_]) } 0 .. $#$a;
	return (sum(@moved), sqrt(sum(map { $_**2 } @moved)), scalar @moved);
}

# Sensitivities that EXPLAIN states, by column.
sub stated
{
	my ($text) = @_;

	return [ $text =~ /Released: dp_.*?sensitivity ([0-9.e+]+)/g ];
}

# ---- the machine ----

my @pairs = ([ 'whole', 'removed' ], [ 'before', 'swapped' ]);
my ($asked, $compared, $found) = (0, 0, 0);
my ($told, $different) = (0, 0);	# undeclared keys

sub rows_of
{
	my ($answer) = @_;

	return [ map { [ split /\|/, $_, -1 ] } split /\n/, $answer ];
}

# Are both norms of an aggregate within what is stated?
sub within
{
	my ($query, $cells, $groups, $number, $pair, $laplace, $gauss, @answers) = @_;
	my ($one, $two, $n) = moves($query, $cells, $groups, @answers) or return;
	my ($l1, $l2) = ($laplace->[ $cells->{main} ], $gauss->[ $cells->{main} ]);
	my $slack = 1 + ROUNDED + 2 * 40 * $n / EPSILON;

	# a mean's rows have a noise of their own; a share by variance has five times its noise
	$slack += 2 * 40 * $n / EPSILON * ($cells->{kind} eq 'mean' ? 1 : 6) if $cells->{kind} =~ /mean|variance/;
	# numbers of granules finer than a row or an integer have been rounded to it
	my $rounded = $cells->{kind} =~ /^(count|count_x|sum)$/ ? $n : 0;

	$compared++;
	return if $one <= $l1 * $slack + $rounded && $two <= $l2 * $slack + sqrt $rounded;
	$found++;
	diag("$cells->{kind} ($query->{columns}[ $cells->{main} ]) moves by $one and $two, stated are $l1 and $l2 (@$pair): FUZZ_SEED=$seed FUZZ_NUMBER=$number make fuzz\n"
		  . "  $query->{settings}; $query->{text}");
	return;
}

# Undeclared keys: leave the rows of keys that both answers have; how many there
# are that one of them has.
sub keep_common
{
	my ($query, @answers) = @_;
	my @keys = map { my $rows = $_; +{ map { join('|', @$_[ 0 .. $query->{keys} - 1 ]) => 1 } @$rows } } @answers;
	my $told = sum(map { scalar @$_ } @answers);

	foreach my $i (0, 1)
	{
		@{ $answers[$i] } = grep { $keys[ 1 - $i ]{ join('|', @$_[ 0 .. $query->{keys} - 1 ]) } } @{ $answers[$i] };
	}
	return $told - sum(map { scalar @$_ } @answers);
}

# Of an explanation what is said of each release; of rows those of each set, in this
# order.  Of ROLLUP with undeclared keys a set may have none.
sub sets_of
{
	my ($query, $result) = @_;
	my @order = $query->{undeclared} ? map { 2**$_ - 1 } reverse 0 .. $query->{keys} - 1 : ();
	my %rows;

	return ($result) if !$query->{sets} || $result =~ /^error/;
	return grep { /Dataset:/ } split /(?=Custom Scan .DpRelease)/, $result if $result =~ /DpRelease/;
	foreach my $row (split /\n/, $result)
	{
		my $set = (split /\|/, $row, -1)[ $query->{keys} - 1 ];

		push @order, $set if !$query->{undeclared} && !$rows{$set};
		push @{ $rows{$set} }, $row;
	}
	return map { join "\n", @{ $rows{$_} || [] } } @order;
}

sub judge
{
	my ($query, $groups, $number, $pair, @results) = @_;
	my @sets = map { [ sets_of($query, $_) ] } @results;
	my $n = max(map { scalar @$_ } @sets);

	foreach my $set (0 .. $n - 1)
	{
		judge_set($query, $groups, $number, $pair, map { $_->[$set] // 'error: no such set' } @sets);
	}
	return;
}

sub judge_set
{
	my ($query, $groups, $number, $pair, @results) = @_;
	my ($laplace, $gauss) = map { stated($_) } @results[ 0, 1 ];
	my @answers = map { rows_of($_) } @results[ 2, 3 ];

	$asked++;
	if (grep { /^error/ } @results or @$laplace != @{ $query->{columns} } || @$gauss != @{ $query->{columns} })
	{
		$found++;
		diag("not answered: FUZZ_SEED=$seed FUZZ_NUMBER=$number make fuzz\n  $query->{settings}; $query->{text}\n" . join "\n", grep { /^error/ } @results);
		return;
	}

	# so are those of several queries, where a column has no declaration
	my ($changes) = $results[0] =~ /Released: (?:undeclared )?keys: .*?sensitivity (\d+)/;
	if ($query->{undeclared} || defined $changes)
	{
		my $apart = keep_common($query, @answers);

		# units that choose among their groups do so anew for each answer
		$apart = 0 if $groups > $query->{kappa};
		$told += @{ $answers[0] };
		$different += $apart;
		if ($apart > ($changes // ($query->{sets} ? 0 : -1)))
		{
			$found++;
			diag("$apart keys differ, stated are @{[ $changes // 'none' ]}: FUZZ_SEED=$seed FUZZ_NUMBER=$number make fuzz\n  $query->{settings}; $query->{text}");
		}
		return if !@{ $answers[0] };
	}
	if (grep { my $i = $_; grep { $answers[0][$i][$_] ne $answers[1][$i][$_] } 0 .. $query->{keys} - 1 } 0 .. $#{ $answers[0] })
	{
		$found++;
		diag("keys differ: FUZZ_SEED=$seed FUZZ_NUMBER=$number make fuzz\n  $query->{text}");
	}
	within($query, $_, $groups, $number, $pair, $laplace, $gauss, @answers) foreach @{ $query->{aggregates} };
	return;
}

# Of the unit, and of the one that comes in its place.
my @shapes = ([qw(heavy wide)], [qw(deep heavy)], [qw(wide heavy)], [qw(extreme deep)], [qw(few heavy)], [qw(heavy heavy)], [qw(one wide)], [qw(wide wide)], [qw(heavy extreme)], [qw(deep few)]);
my $number = 0;
while ($number < $wanted && $found < 10)
{
	my @numbers = defined $only ? ($only) : ($number + 1 .. min($number + BATCH, $wanted));
	my $batch = int(($numbers[0] - 1) / BATCH);
	my $groups = $batch % 4 == 3 ? 2 : 1;
	my @queries = map { query($_) } @numbers;
	my @statements;

	fill($groups, @{ $shapes[ $batch % @shapes ] });
	foreach my $query (@queries)
	{
		foreach my $pair (@pairs)
		{
			my ($first, $second) = map { sprintf($query->{text}, $_) } @$pair;

			push @statements, "$query->{settings}; EXPLAIN $first",
			  "SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '1e-9'; EXPLAIN $first; RESET dp_pg.mechanism", $first, $second;
		}
	}
	my @results = run_statements($node, 'analyst', '', @statements);
	foreach my $i (0 .. $#queries)
	{
		judge($queries[$i], $groups, $numbers[$i], $pairs[$_], @results[ 8 * $i + 4 * $_ .. 8 * $i + 4 * $_ + 3 ]) foreach 0, 1;
	}
	pass("queries up to $numbers[-1] have ended");
	$number = defined $only ? $wanted : $numbers[-1];
}
is($found, 0, "no answer moves by more than is stated: $asked pairs of answers, $compared of aggregates compared");
note("undeclared keys: $told told of both databases, $different of one");

# It would be seen: a unit in two groups, and one in two others, that fill their
# bounds.
my (@columns, @power);
my %of = (distinct => 'y', few => 'c', histogram => 'x', sum => 'y', mean => 'y', variance => 'y', count_x => 'x');
push @power, aggregate(\@columns, $_, $of{$_} // '', 0, 50, $_ eq 'few' ? ' FILTER (WHERE u >= 1000)' : '') foreach qw(count count_x units distinct few sum mean variance histogram);
my $filled = { m => 7, kappa => 2, keys => 1, columns => \@columns, aggregates => \@power };
my $text = "SET dp_pg.max_rows = 7; SET dp_pg.max_keys = 2; SET dp_pg.max_total = 14; SET dp_pg.epsilon = '" . EPSILON . "'; %sSELECT k, " . join(', ', @columns) . ' FROM %s GROUP BY k';
my $gaussian = "SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '1e-9'; EXPLAIN ";

fill(1, 'here', 'there');
foreach my $case ([ $pairs[0], 14 ], [ $pairs[1], 14 ], [ $pairs[0], 9 ], [ $pairs[1], 9 ])
{
	my ($pair, $total) = @$case;
	my @statements = (sprintf($text, 'EXPLAIN ', $pair->[0]), map({ sprintf($text, '', $_) } @$pair), sprintf($text, $gaussian, $pair->[0]));
	my @results = run_statements($node, 'analyst', '', map { s/total = 14/total = $total/r } @statements);
	my ($laplace, $gauss) = map { stated($_) } @results[ 0, 3 ];

	foreach my $cells (@power)
	{
		my $kind = $cells->{kind};
		my ($one, $two) = moves($filled, $cells, 1, map { rows_of($_) } @results[ 1, 2 ]);
		my ($l1, $l2) = map { $_->[ $cells->{main} ] } $laplace, $gauss;

		# cells whose parts are no whole numbers are rounded
		my $near = $total == 14 ? 0.001 : $kind =~ /count/ ? 2 / 9 : 0.01;

		cmp_ok(abs($one / $l1 - 1), '<', $near, "$kind: the bound in L1 is reached, @$pair, $total") or diag("$one $l1");
		cmp_ok($one, '>', 0.51 * $l1, "$kind: one group less would be exceeded") if $total == 14;
		next if $kind eq 'units' || $total == 9;
		cmp_ok($one, '>', 0.86 * $l1, "$kind: one row less would be exceeded");
		next if $kind =~ /mean|variance/ && $pair->[1] eq 'swapped';

		# which is stated as an integer
		cmp_ok($two, '>', min(0.86 * $l2, $l2 - 1), "$kind: and in L2");
	}
}

# Where presence of few values is measured (doc/theory.md T162), what is stated: S
# numbers change by 1 each.
value($node, "SET SESSION AUTHORIZATION $_->[0]; SELECT dp_declare('$_->[1]', rows => 1000000000000000000)") foreach [ 'owner', 'whole' ], [ 'other_owner', 'before' ];
foreach my $n (1 .. 40)
{
	my ($m, $kappa) = (pick(1, 2, 3, 7, 50), pick(1, 2, 3, 10));
	my $total = pick($m * $kappa, 1 + int rand $m * $kappa);
	my $grouped = rand() < 0.5;
	my ($column, $few) = @{ pick([ 'b', 2 ], [ 'c', 3 ], [ 'k', 5 ]) };
	my $asked = "SET dp_pg.max_rows = $m; SET dp_pg.max_keys = $kappa; SET dp_pg.max_total = $total; SET dp_pg.epsilon = '0.2'; %sEXPLAIN SELECT dp_count(DISTINCT $column) FROM %s" . ($grouped ? ' GROUP BY b' : '');

	# a group of b may be NULL
	my $changes = min(min($kappa, $grouped ? 3 : 1) * min($m, $few, $total), $total);
	foreach my $case ([ 'whole', 1 ], [ 'before', 2 ])
	{
		my ($laplace, $gauss) = run_statements($node, 'analyst', '', map { sprintf $asked, $_, $case->[0] } '', "SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '1e-9'; ");

		like("$laplace$gauss", qr/presence of $few values.*presence of $few values/s, "presence is measured: $asked");
		is_deeply([ map { stated($_)->[0] } $laplace, $gauss ], [ $changes * $case->[1], ceil(sqrt($changes * $case->[1])) ], "what a unit changes is stated: $case->[0], $asked");
	}
}

# Nor less for a set that lacks keys, of which a cell has all rows.
{
	my $rolled = $text =~ s/SELECT k/SELECT GROUPING(k)/r =~ s/GROUP BY k/GROUP BY ROLLUP (k)/r;
	my $query = { %$filled, sets => 'ROLLUP' };
	my $mode = 'SET client_min_messages = warning; SET dp_pg.transparent = on; SET dp_pg.split = off; SET dp_pg.suppress = off; ';
	my @results = run_statements($node, 'analyst', '', map { "$mode$_" } sprintf($rolled, 'EXPLAIN ', 'whole'), map({ sprintf($rolled, '', $_) } 'whole', 'removed'), sprintf($rolled, $gaussian, 'whole'));
	my ($laplace, $gauss) = map { stated((sets_of($query, $_))[0]) } @results[ 0, 3 ];
	my @answers = map { rows_of((sets_of($query, $_))[0]) } @results[ 1, 2 ];

	foreach my $cells (@power)
	{
		my ($one, $two) = moves($filled, $cells, 1, @answers);

		cmp_ok(abs($one / $laplace->[ $cells->{main} ] - 1), '<', 0.001, "$cells->{kind}: the total of ROLLUP reaches its bound");
		cmp_ok($two, '>', 0.7 * $gauss->[ $cells->{main} ], "$cells->{kind}: and in L2");
	}
}

# And noise would not: the same rows twice, one in each group.
my $same = sprintf($text, '', 'removed') =~ s/GROUP BY k/WHERE u % 3 = 0 AND u <= 30 GROUP BY k, b/r =~ s/SELECT k/SELECT k, b/r;

$filled->{keys} = 2;
{
	my @results = run_statements($node, 'analyst', '', $same =~ s/SELECT/EXPLAIN SELECT/r, $same, $same);

	foreach my $cells (@power)
	{
		my ($move) = moves($filled, $cells, 1, map { rows_of($_) } @results[ 1, 2 ]);

		cmp_ok($move, '<', 0.01 * stated($results[0])->[ $cells->{main} ], "$cells->{kind}: does not move of itself");
	}
}

$node->stop;
done_testing();
