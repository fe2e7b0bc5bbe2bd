# The weights of rows of units with many rows, and the groups that units keep: at a
# huge epsilon answers equal what SQL computes from doc/theory.md T78.  A noise of a
# thousandth of a row or of a bound has a probability below exp(-40).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(as bounding_node bounded protect);
use LedgerNode;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant ROUNDED => (0, 0.501, 0.501, 0.501, 0.001, 0.01, 0);

my $node = bounding_node('row_weights');

# ---- against SQL, where nothing is random ----

# 200 units of 1 to 5 groups with 1 to 9 rows in each; values beyond their
# bounds, NULLs in every column, and keys that nobody declared.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (u int, k int, x int, f float8, n numeric, b boolean, day date);
INSERT INTO visit SELECT u, nullif(k, 4), CASE WHEN (u + k + j) % 7 > 0 THEN (u * 31 + k * 17 + j * j * 13) % 60 - 20 END,
	CASE WHEN j % 8 > 0 THEN (u % 9 - j) / 4.0 END, (u - j * 20) / 8.0, (u + j) % 3 > 0, date '2026-01-01' + (u + j) % 20
FROM generate_series(1, 200) u, generate_series(0, u % 5) k, generate_series(1, (u * 7 + k * k) % 9 + 1) j;
INSERT INTO visit SELECT u, 77, 5, 1, 1, true, '2026-01-05' FROM generate_series(1, 200, 3) u, generate_series(1, 20);
INSERT INTO visit SELECT NULL, j % 4, 5, 1, 1, true, '2026-01-05' FROM generate_series(1, 50) j;
CREATE TABLE plain AS TABLE visit;
DELETE FROM plain WHERE u IS NULL OR k = 77;
EOT
protect('visit', "SELECT dp_declare('visit', 'k', keys => ARRAY[0, 1, 2, 3])");

# What is added of a unit and group: x times the row's weight, in fractions of 2^f.
value($node, <<'EOT');
CREATE FUNCTION weigh(x numeric, kept numeric, rows numeric, total numeric, sum numeric, f int) RETURNS numeric LANGUAGE sql AS
$$ SELECT coalesce(sign(x) * div(div(abs(x) * 2::numeric ^ f * kept, nullif(rows, 0)) * least(total, sum), nullif(sum, 0)) / 2::numeric ^ f, 0) $$;
EOT

# Granules of parts, of which a row adds so many: the least power of two that
# makes it 2^20 of them.
sub fine
{
	my ($most, $power) = @_;
	my $f = 0;

	$f++ while $most * 2**($power * $f) < 2**20;
	return $power * $f;
}

# What bounded aggregates answer in each group, of the rows that pass a filter:
# the sum over units of what each adds.  G is 50 in all of them.
sub reference
{
	my ($m, $low, $where, $filter, $total) = @_;
	my $high = $low + 50;
	my ($f1, $f2, $f3) = (fine(50, 1), fine(2500, 2), fine($high > -$low ? $high : -$low, 1));

	$total //= 5 * $m;

	return value($node, <<"EOT");
WITH r AS (SELECT *, CASE WHEN x IS NOT NULL THEN least(greatest(x, $low), $high) END AS v FROM plain WHERE $where),
p AS (SELECT k, u, count(*) FILTER (WHERE $filter) AS c, count(v) FILTER (WHERE $filter) AS cv, coalesce(sum(v) FILTER (WHERE $filter), 0)::numeric AS s,
	sum(v - $low) FILTER (WHERE $filter)::numeric AS a,
	sum(($high - v) * ($high - v)) FILTER (WHERE $filter)::numeric AS q0, sum((v - $low) * (v - $low)) FILTER (WHERE $filter)::numeric AS q2
	FROM r GROUP BY k, u),
w AS (SELECT *, least(c, $m)::numeric AS kept, sum(least(c, $m)) OVER (PARTITION BY u) AS all_kept FROM p),
q AS (SELECT k, u, c, weigh(c, kept, c, $total, all_kept, 20) AS n, weigh(cv, kept, c, $total, all_kept, 20) AS rows, weigh(s, kept, c, $total, all_kept, $f3) AS s,
	weigh(a, kept, c, $total, all_kept, $f1) AS a, weigh(50 * cv, kept, c, $total, all_kept, $f1) AS t,
	weigh(q0, kept, c, $total, all_kept, $f2) AS q0, weigh(q2, kept, c, $total, all_kept, $f2) AS q2, weigh(2500 * cv, kept, c, $total, all_kept, $f2) AS q FROM w),
g AS (SELECT k, sum(n) AS n, sum(rows) AS rows, sum(s) AS s, sum(a) AS a, sum(t) AS t,
	sum(q0) AS t0, sum(q2) AS t2, sum(q - q0 - q2) AS t1, sum(q) / 2500 AS cq, count(*) FILTER (WHERE c > 0) AS units FROM q GROUP BY k)
SELECT k, n, rows, s, round($low + 50 * a / nullif(t, 0), 9), round((t2 - ((t1 / 2 + t2) / 50) ^ 2 / nullif(cq, 0)) / nullif(cq - 1, 0), 9), units
FROM g ORDER BY k
EOT
}

# The same, asked privately.
sub private
{
	my ($low, $where, $filter, $from) = @_;
	my $high = $low + 50;
	my $f = $filter eq 'true' ? '' : " FILTER (WHERE $filter)";

	return "SELECT k, dp_count(*)$f, dp_count(x)$f, dp_sum(x, $low, $high)$f, round(dp_avg(x, $low, $high)$f, 9),"
	  . " round(dp_variance(x, $low, $high)$f, 9), dp_count(DISTINCT u)$f FROM $from WHERE $where GROUP BY k ORDER BY k";
}

# Bounds that do not bind give what plain aggregates do.
near(bounded(9, 5, "SELECT k, dp_count(*), dp_count(x), dp_count(DISTINCT x), dp_count(DISTINCT u), dp_count(DISTINCT f), dp_count(DISTINCT day),"
	  . " dp_sum(x, -20, 40), round(8 * dp_sum(n, -32, 32)), dp_count(*) FILTER (WHERE b), dp_sum(x, -20, 40) FILTER (WHERE n > 3),"
	  . " round(dp_avg(x, -20, 40), 9), round(dp_variance(x, -20, 40), 9), round(8 * dp_sum(f, -4, 4)), dp_histogram(x, -50, 50, 4) FROM visit GROUP BY k ORDER BY k"),
	value($node, "SELECT k, count(*), count(x), count(DISTINCT x), count(DISTINCT u), count(DISTINCT f), count(DISTINCT day),"
	  . " sum(x), round(8 * sum(n)), count(*) FILTER (WHERE b), sum(x) FILTER (WHERE n > 3),"
	  . " round(avg(x), 9), round(variance(x), 9), round(8 * sum(f)), ARRAY[count(*) FILTER (WHERE x < -25),"
	  . " count(*) FILTER (WHERE x >= -25 AND x < 0), count(*) FILTER (WHERE x >= 0 AND x < 25), count(*) FILTER (WHERE x >= 25)] FROM plain GROUP BY k ORDER BY k"),
	'bounds that do not bind change nothing', (0) x 11, 0.001, 0.01);
near(bounded(45, 1, 'SELECT dp_count(*), dp_count(DISTINCT u), dp_sum(x, -20, 40), dp_stddev(x, -20, 40)::numeric(12, 6), dp_count(DISTINCT k) FROM visit WHERE k <> 77 OR k IS NULL'),
	value($node, 'SELECT count(*), count(DISTINCT u), sum(x), stddev(x)::numeric(12, 6), count(DISTINCT k) FROM plain'), 'nor without groups', 0, 0, 0, 0.001, 0);

# Those that do, with as many groups as there are.
foreach my $case ([ 1, -20, 'true', 'true' ], [ 2, -20, 'true', 'true' ], [ 3, 5, 'n > 2', 'true' ], [ 4, -70, 'true', 'b' ], [ 1, 0, 'b', 'day < \'2026-01-08\'' ], [ 9, -20, 'true', 'x <> 3' ])
{
	my ($m, $low, $where, $filter) = @$case;

	near(bounded($m, 5, private($low, $where, $filter, 'visit')), reference($m, $low, $where, $filter), "m $m, from $low, WHERE $where, FILTER $filter", ROUNDED);
	near(bounded($m, 5, private($low, $where, $filter, 'visit'), $_), reference(min($m, $_), $low, $where, $filter, $_), "and $_ in all groups", ROUNDED) foreach 1, 2, 3, 7;
}
value($node, 'SET SESSION AUTHORIZATION analyst; CREATE VIEW seen AS SELECT k, x, u, n, b FROM visit WHERE b');
near(bounded(2, 5, private(-20, 'true', 'true', 'seen')), reference(2, -20, 'b', 'true'), 'through a view', ROUNDED);
near(bounded(2, 5, private(-20, 'true', 'true', '(SELECT v.* FROM (SELECT * FROM visit WHERE n > 0) AS v WHERE b) AS s')), reference(2, -20, 'b AND n > 0', 'true'), 'through subqueries', ROUNDED);
near(bounded(2, 5, 'WITH w AS (SELECT * FROM visit WHERE n > 0) ' . private(-20, 'true', 'true', 'w')), reference(2, -20, 'n > 0', 'true'), 'through WITH', ROUNDED);
near(bounded(2, 5, 'PREPARE p(numeric) AS ' . private(-20, 'n > $1', 'true', 'visit') . '; EXECUTE p(2); SET dp_pg.max_rows = 3; EXECUTE p(-3)'),
	reference(2, -20, 'n > 2', 'true') . "\n" . reference(3, -20, 'n > -3', 'true'), 'prepared, with parameters and bounds that change', ROUNDED);
near(bounded(2, 5, 'SET plan_cache_mode = force_generic_plan; PREPARE p(numeric) AS ' . private(-20, 'n > $1', 'true', 'visit') . '; EXECUTE p(2); SET dp_pg.max_rows = 3; EXECUTE p(-3)'),
	reference(2, -20, 'n > 2', 'true') . "\n" . reference(3, -20, 'n > -3', 'true'), 'in a generic plan', ROUNDED);
near(bounded(2, 5, 'SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; ' . private(-20, 'true', 'true', 'visit')),
	reference(2, -20, 'true', 'true'), 'with parallel workers allowed', ROUNDED);

# Bounds that the owner declared, and those that the analyst says instead.
my ($second, $third) = (reference(2, -20, 'true', 'true'), reference(3, -20, 'true', 'true'));
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('visit', max_rows => 3, max_keys => 5)");
near((as($node, 'analyst', private(-20, 'true', 'true', 'visit')))[0], $third, 'declared bounds', ROUNDED);
near((as($node, 'analyst', 'SET dp_pg.max_rows = 2; ' . private(-20, 'true', 'true', 'visit')))[0], $second, 'a setting goes before them', ROUNDED);
near((as($node, 'owner', "SET dp_pg.epsilon = '20000000'; " . private(-20, 'true', 'true', 'visit')))[0], $third, 'the owner is answered alike', ROUNDED);
value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_declare('visit', max_rows => 1, max_keys => 1)");

# All values of a level are about the same weighted rows: parts add up to the
# whole, but for what is rounded, and groups to the total where it does not bind.
near(bounded(2, 5, 'SELECT dp_count(*) FILTER (WHERE b), dp_count(*) FILTER (WHERE NOT b), dp_count(*) FROM visit WHERE k IN (0, 1, 2, 3)'),
	value($node, 'SELECT sum(weigh(b, least(2, c), c, 2, 2, 20)), sum(weigh(c - b, least(2, c), c, 2, 2, 20)), sum(least(2, c))'
		  . ' FROM (SELECT count(*) AS c, count(*) FILTER (WHERE b) AS b FROM plain WHERE k IN (0, 1, 2, 3) GROUP BY u) AS s'),
	'what filters leave has the weights of all rows', 0.501, 0.501, 0.501);
is(bounded(2, 1, 'SELECT dp_count(*) FILTER (WHERE b), dp_count(DISTINCT u) FROM visit'),
	value($node, 'SELECT sum(least(2, b)), count(*) FROM (SELECT count(*) FILTER (WHERE b) AS b FROM visit WHERE u IS NOT NULL GROUP BY u) AS s'),
	'a number of units leaves the weights of rows as they are');
{
	my $granules = 'dp_sum(CASE WHEN %s THEN 1::float8 END, 0, 1)';

	foreach my $case (map { my $f = $_; map { [ $_, $f ] } [ 2, 5, 3 ], [ 1, 3, 2 ], [ 7, 5, 9 ] } 'b', 'x > 3', 'n IS NULL OR day < \'2026-01-08\'')
	{
		my ($bounds, $f) = @$case;
		my ($m, $kappa, $total) = @$bounds;
		my $query = 'SELECT ' . join(', ', map { sprintf "$granules AS p$_->[0]", $_->[1] } [ 0, $f ], [ 1, "($f) IS NOT TRUE" ], [ 2, 'true' ]) . ' FROM visit WHERE k < 5';

		is(bounded($m, 1, "SELECT abs(p0 + p1 - p2) < 0.001, p2 > 0 FROM ($query) AS s", $total), 't|t', "$f and the rest add up, $total");
		is(bounded($m, 5, "SELECT bool_and(abs(p0 + p1 - p2) < 0.001), sum(p2) > 0 FROM ($query GROUP BY k, b) AS s", $total), 't|t', 'in groups, too');
	}
	is(bounded(45, 5, "SELECT (SELECT sum(n) FROM (SELECT dp_count(*) AS n FROM visit WHERE k < 5 GROUP BY k) AS s) = (SELECT dp_count(*) FROM visit WHERE k < 5)", 45),
		't', 'groups add up to all rows, if no bound binds');
}

# If the total is all that bounds, groups add up to all rows also where it binds, in each set of
# ROLLUP: a unit keeps all its groups, and the total of them all.
{
	my ($out, $err) = as($node, 'analyst', 'SET client_min_messages = warning; SET dp_pg.max_total = 3; SET dp_pg.max_rows = 3; SET dp_pg.max_keys = 3; SET dp_pg.transparent = on;'
		  . ' SELECT sum(n) FILTER (WHERE k IS NOT NULL), sum(n) FILTER (WHERE k IS NULL) FROM (SELECT k, count(*) AS n FROM visit WHERE k IN (0, 1, 2, 3) GROUP BY ROLLUP (k)) AS s');
	my $all = value($node, 'SELECT sum(least(n, 3)) FROM (SELECT count(*) AS n FROM plain WHERE k IS NOT NULL GROUP BY u) AS s');

	is($err, '', 'ROLLUP');
	near($out, "$all|$all", 'groups of ROLLUP add up to its total', 2, 0);
}

# ---- GROUPING SETS ----

# Transparent answers at m rows, kappa combinations of all keys, and a total.
sub rolled
{
	my ($m, $kappa, $total, $sql) = @_;

	return bounded($m, $kappa, "SET client_min_messages = warning; SET dp_pg.transparent = on; SET dp_pg.split = off; SET dp_pg.suppress = off; SET dp_pg.reuse = off; $sql", $total);
}

# How many cells of coarser sets are not the sum of those of finer ones, in granules; of all cells.
sub additive
{
	my ($from, $more, $near) = @_;
	my $sets = "SELECT k, b, GROUPING(k, b) AS g, sum(CASE WHEN u > 0 THEN 1::float8 END) AS n, sum(CASE WHEN x > 0 THEN 1::float8 END) AS p,"
	  . " sum(CASE WHEN (x > 0) IS NOT TRUE THEN 1::float8 END) AS q, sum(CASE WHEN x > 9 THEN 0.5::float8 WHEN x < 9 THEN -0.3::float8 END) AS s FROM $from GROUP BY CUBE (k, b)";

	return ($more // '') . "WITH w AS ($sets), v AS (SELECT k, b, g, x.* FROM w, unnest(ARRAY['n', 'p', 'q', 's'], ARRAY[n, p, q, s]) AS x (what, n)),"
	  . " c AS (SELECT n, (SELECT sum(n) FROM v AS f WHERE f.what = v.what AND f.g = d.g AND (v.g & 2 > 0 OR f.k IS NOT DISTINCT FROM v.k) AND (v.g & 1 > 0 OR f.b IS NOT DISTINCT FROM v.b)) AS sum"
	  . " FROM v, generate_series(0, 3) AS d (g) WHERE d.g & v.g = d.g)"
	  . " SELECT count(*) FILTER (WHERE (abs(n - sum) < @{[ $near // 0.01 ]}) IS NOT TRUE), count(*), (SELECT count(*) FROM w WHERE (abs(n - p - q) < @{[ $near // 0.01 ]}) IS NOT TRUE) FROM c";
}

# Four values in 12 cells of both keys, 4 and 3 of one, and the total, with the sums over each
# set that is as fine.
{
	my $cells = 4 * (12 + 4 * 2 + 3 * 2 + 4);
	my $from = 'visit WHERE k < 4';

	value($node, "SET SESSION AUTHORIZATION owner; CREATE TABLE one AS SELECT generate_series(1, 150) AS u");
	protect('one');
	foreach my $bounds ([ 2, 1, 2 ], [ 2, 2, 3 ], [ 1, 3, 2 ], [ 3, 100, 7 ], [ 9, 2, 4 ], [ 1, 1, 1 ], [ 9, 9, 9 ])
	{
		is(rolled(@$bounds, additive($from)), "0|$cells|0", "every cell of CUBE is the sum of finer ones, @$bounds");
	}
	is(rolled(2, 2, 3, additive($from, 'SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; ')), "0|$cells|0", 'by parallel workers, too');
	is(rolled(2, 2, 3, additive("(SELECT v.* FROM visit AS v JOIN one AS o USING (u)) AS s WHERE k < 4")), "0|$cells|0", 'over joined rows');
	is(rolled(2, 2, 3, 'PREPARE p AS ' . additive($from) . '; EXECUTE p; EXECUTE p'), "0|$cells|0\n0|$cells|0", 'prepared');
}

# All that do not bind leave the total, in which rows of no public key count; and those that do.
foreach my $bounds ([ 9, 100, 900 ], [ 2, 100, 200 ], [ 3, 100, 4 ])
{
	my ($m, $kappa, $total) = @$bounds;

	near(rolled(@$bounds, 'SELECT sum(n) FILTER (WHERE g = 3), sum(n) FILTER (WHERE g = 1), sum(n) FILTER (WHERE g = 2), sum(n) FILTER (WHERE g = 0) FROM'
			  . ' (SELECT GROUPING(k, b) AS g, sum(CASE WHEN u > 0 THEN 1::float8 END) AS n FROM visit GROUP BY CUBE (k, b)) AS s'),
		value($node, "WITH w AS (SELECT u, k, sum(least(c, $m)) OVER (PARTITION BY u) AS t, least(c, $m) AS n FROM (SELECT u, k, count(*) AS c FROM visit WHERE u > 0 GROUP BY u, k, b) AS p),"
			  . " s AS (SELECT k, n * least(1, $total / t::numeric) AS n FROM w) SELECT sum(n), known, sum(n), known FROM s, (SELECT sum(n) AS known FROM s WHERE k IS DISTINCT FROM 77) AS k GROUP BY known"),
		"the total has the rows of keys that are not public, @$bounds", (0.01) x 4);
}

# A unit is in a group once, however many combinations it keeps there.
foreach my $kappa (1 .. 4)
{
	is(rolled(1, $kappa, undef, 'SELECT sum(n) FILTER (WHERE g = 3), sum(n) FILTER (WHERE g = 0) FROM (SELECT GROUPING(k, b) AS g, count(DISTINCT u) AS n FROM visit WHERE k < 4 GROUP BY CUBE (k, b)) AS s'),
		value($node, "SELECT count(*), sum(least(n, $kappa)) FROM (SELECT count(DISTINCT (k, b)) AS n FROM plain WHERE k < 4 GROUP BY u) AS s"), "units of $kappa combinations");
}
is(rolled(1, 4, undef, 'SELECT bool_and(n = m), count(*) FROM (SELECT k, count(DISTINCT u) AS n FROM visit WHERE k < 4 GROUP BY ROLLUP (k, (b, x > 3)) HAVING GROUPING(b) = 1) AS s JOIN'
		  . ' (SELECT k, count(DISTINCT u) AS m FROM visit WHERE k < 4 GROUP BY ROLLUP (k)) AS t ON s.k = t.k OR coalesce(s.k, t.k) IS NULL'), 'f|5', 'some are lost where combinations are more');

# A key nobody declared: each of its values is one, and units vote for it once.  Some 50 units
# draw each combination; that only one does, which is not released then, has probability 1e-20.
value($node, "SET SESSION AUTHORIZATION owner; ALTER TABLE visit ADD c text; UPDATE visit SET c = 'c' || abs(coalesce(x, 0)) % 2");
foreach my $bounds ([ 2, 1, 2 ], [ 2, 3, 4 ], [ 3, 100, 5 ], [ 1, 30, 30 ])
{
	my $sets = "SELECT GROUPING(c, b) AS g, sum(CASE WHEN u > 0 THEN 1::float8 END) AS n, count(DISTINCT u) AS units FROM visit WHERE k < 4 GROUP BY CUBE (c, b)";

	is(rolled(@$bounds, "SET dp_pg.delta = '1e-7'; SELECT count(*), max(n) - min(n) < 0.01, max(units) FILTER (WHERE g = 3) FROM (SELECT g, sum(n) AS n, sum(units) AS units FROM ($sets) AS s GROUP BY g) AS t"),
		'4|t|200', "sets with undeclared keys add up, @$bounds");
}

# A set's answer is not that of the same groups alone, whatever is stored.
is(rolled(2, 3, 6, "SET dp_pg.reuse = '1 hour'; SELECT sum(n) FROM (SELECT GROUPING(k, b) AS g, count(*) AS n FROM visit WHERE k < 4 GROUP BY ROLLUP (k, b)) AS s WHERE g = 3; SELECT count(*) FROM visit WHERE k < 4")
	  =~ /^(\d+)\n(\d+)$/ && $1 > $2, 1, 'a total of sets has more rows than one without');

# Units with more rows than memory holds, in many combinations, of which they keep some.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE vast (u text, k int, b boolean, x int);
INSERT INTO vast SELECT 'heavy' || u, i % 5, i % 3 = 0, i % 100 - 40 FROM generate_series(1, 2) u, generate_series(1, 200000) i;
INSERT INTO vast SELECT 'light' || u, u % 5, u % 2 = 0, u % 60 FROM generate_series(1, 2000) u;
SELECT dp_protect('vast', unit => 'u', dataset => 'hospital'), dp_declare('vast', 'k', keys => ARRAY[0, 1, 2, 3]);
EOT
foreach my $bounds ([ 20000, 3, 50000 ], [ 30000, 100, 1000000 ], [ 500, 2, 700 ])
{
	is(rolled(@$bounds, additive("(SELECT length(u) AS u, k, b, x FROM vast) AS s WHERE k < 4", '', 0.5)), '0|120|0', "on disk, too, @$bounds");
}
is(rolled(1, 3, undef, 'SELECT sum(n) FILTER (WHERE g = 3), sum(n) FILTER (WHERE g = 0) FROM (SELECT GROUPING(k, b) AS g, count(DISTINCT u) AS n FROM vast WHERE k < 4 GROUP BY CUBE (k, b)) AS s'),
	'1602|1606', 'and numbers of units');

# Bounds far from zero for their distance, of 100 units with three rows each, of
# which two count: finer granules would not fit, and answers stay within bounds.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE far (u int, x bigint);
INSERT INTO far SELECT u, x FROM generate_series(1, 100) u, unnest(ARRAY[0, 1, 2]) x;
SELECT dp_protect('far', unit => 'u', dataset => 'hospital');
EOT
foreach my $low ('4611686018427387903', '-4611686018427387905', '9223372036854775805', '-9223372036854775808', '1700000000000000', '1099511627776', '0')
{
	my $x = "x + ($low)";

	near(bounded(2, 1, "SELECT dp_avg($x, $low, $low + 2) - ($low), dp_variance($x, $low, $low + 2), dp_avg($x, $low + 1, $low + 1) - ($low), dp_sum(x, $low + 1, $low + 1) / ($low + 1.0) FROM far"),
		'1|0.67|1|200', "bounds from $low", 0.1, 0.2, 0, 1);
}

# ---- groups that a unit keeps ----

foreach my $kappa (1 .. 4)
{
	is(bounded(1, $kappa, 'SELECT sum(n) FROM (SELECT dp_count(DISTINCT u) AS n FROM visit GROUP BY k) AS s'),
		value($node, "SELECT sum(least(n, $kappa)) FROM (SELECT count(DISTINCT coalesce(k, 4)) AS n FROM plain GROUP BY u) AS s"),
		"$kappa groups of a unit, and none for keys nobody declared");
	is(bounded(1, $kappa, 'SELECT sum(n) FROM (SELECT dp_count(*) AS n FROM visit WHERE x > 10 GROUP BY k, b) AS s'),
		value($node, "SELECT sum(least(n, $kappa)) FROM (SELECT count(DISTINCT (coalesce(k, 4), b)) AS n FROM plain WHERE x > 10 GROUP BY u) AS s"),
		"of those that WHERE leaves, by two keys");
}

$node->stop;
done_testing();
