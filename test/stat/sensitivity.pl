# Sums are exact: attacks on their sensitivity (Casacuberta et al. 2022) find
# the same integers for every order of rows and every plan, next to 2^53, at
# the extremes of int8, with NaN and infinities.
#
# To see the exact sum behind the noise, a superuser raises the ceiling and
# the owner asks with epsilon 999999999999.  For bounds of B granules noise
# other than 0 has probability below 2 exp(-epsilon / B): 2 exp(-58) for
# B = 2^34 + 9, the largest one here whose answers must be exact, less than
# 1e-400 for the others.  Fewer than 50 answers with that B: below 1e-23 per
# run.  Where B = 2^62 - 1 answers must lie within 60 scales of the truth,
# which one misses with probability below exp(-60).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils qw(slurp_file);
use StatServer;
use Test::More;

use constant E => '999999999999';

my $node = stat_node('sensitivity', <<'EOT');
CREATE TABLE big (id integer NOT NULL, i bigint, f double precision,
	n numeric, s smallint, m integer);
INSERT INTO big
	SELECT i, 17179869185 + i % 3 * 4, 17179869185 + i % 3 * 4,
		17179869185 + i % 3 * 4, i % 60000 - 30000, i * 2000
	FROM generate_series(1, 1000000) i;
ALTER TABLE big SET (parallel_workers = 4);
CREATE TABLE reversed AS SELECT * FROM big ORDER BY id DESC;
CREATE TABLE shuffled AS
	SELECT * FROM big ORDER BY id::bigint * 611953 % 1000003;
CREATE TABLE hard (name text NOT NULL, i bigint, f double precision, r real,
	n numeric);
SELECT dp_protect(t) FROM unnest('{big,reversed,shuffled,hard}'::regclass[]) t;
SELECT dp_declare(t, 'f', lower => 0, upper => 17179869193, granule => 1)
	FROM unnest('{big,reversed,shuffled}'::regclass[]) t;
SELECT dp_declare(t, 'n', lower => 0, upper => 17179869193, granule => 1)
	FROM unnest('{big,reversed,shuffled}'::regclass[]) t;
SELECT dp_declare('hard', 'r', lower => -16777220, upper => 16777220,
	granule => 1);
EOT
as($node, 'postgres',
	'ALTER ROLE owner SET dp_pg.epsilon = ' . E . ';'
	  . " ALTER ROLE owner SET dp_pg.epsilon_ceiling = '" . E . "';"
	  . ' VACUUM ANALYZE');

is(as($node, 'owner', 'SHOW dp_pg.epsilon_ceiling'),
	E, 'the superuser has raised the ceiling');

# ---- order of rows, and 2^53 ----

# A million doubles near 2^34 add up to nearly 2^54, where doubles are even.
# Their text is exact, a cast to numeric would keep 15 digits only.
my $exact = as($node, 'owner', 'SELECT sum(i) FROM big');

is( as($node, 'owner',
		'SET max_parallel_workers_per_gather = 0;'
		  . " SELECT $exact = sum(f)::text::numeric FROM big"),
	'f', 'the engine\'s own sum of doubles is wrong');

my $sums = 'dp_sum(i, 0, 17179869193), dp_sum(f), dp_sum(n),'
  . ' dp_sum(s, -32768, 32767), dp_sum(m, -2000000, 1999999999)';
my $means = 'dp_avg(i, 0, 17179869193), dp_avg(f), dp_avg(n),'
  . ' dp_avg(s, -32768, 32767), dp_avg(m, -2000000, 1999999999)';
my $truth = as($node, 'owner',
	'SELECT sum(i), sum(i)::float8, sum(i), sum(s),'
	  . ' sum(least(m, 1999999999)) FROM big');
my %answer;

foreach my $table ('big', 'reversed', 'shuffled')
{
	is(as($node, 'owner', "SELECT $sums FROM $table"),
		$truth, "$table: every sum is exact");
	$answer{ as($node, 'owner', "SELECT $means FROM $table") } = $table;
}
is(scalar keys %answer, 1, 'means are the same in every order');

# ---- plans ----

# The private query's inner plan is shown to nobody, so what the same settings
# do to the owner's plain query stands beside what the server's log says.
as($node, 'postgres', "ALTER SYSTEM SET log_min_messages = 'debug1'");
$node->reload;
%answer = ();
foreach my $workers (0 .. 4)
{
	my $settings =
	    "SET max_parallel_workers_per_gather = $workers;"
	  . ' SET max_parallel_workers = 8; SET parallel_setup_cost = 0;'
	  . ' SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;'
	  . ' SET parallel_leader_participation = '
	  . ($workers % 2 ? 'on;' : 'off;');
	my $plain = as($node, 'owner',
		"$settings EXPLAIN (COSTS off) SELECT sum(i) FROM big");
	my $log = -s $node->logfile;
	my $launched;

	is( as($node, 'owner', "$settings SELECT $sums FROM big"),
		$truth, "$workers workers: every sum is exact");
	$answer{ as($node, 'owner', "$settings SELECT $means FROM big") } = 1;
	$launched =
	  () = slurp_file($node->logfile, $log) =~
	  /starting background worker process "parallel worker/g;
	cmp_ok($launched, '>=', $workers, "$launched workers were started");
	if ($workers == 0)
	{
		unlike($plain, qr/Workers/, 'and a plain query is serial');
		is($launched, 0, 'none at all');
	}
	else
	{
		like($plain, qr/Workers Planned: $workers\b/,
			'as for a plain query');
	}
}
is(scalar keys %answer, 1, 'means are the same in every plan');

# Grouped, hashed and sorted.
foreach my $setting ('enable_hashagg = off', 'enable_sort = off')
{
	is( as( $node, 'owner', <<"EOT"),
SET $setting;
SELECT sum(a), sum(b::text::numeric), sum(c) FROM
	(SELECT s % 2 = 0 AS even, dp_sum(i, 0, 17179869193) a, dp_sum(f) b,
		dp_sum(n) c
	 FROM big GROUP BY s % 2 = 0) parts;
EOT
		join('|', ($exact) x 3),
		"$setting: the parts add up");
}
as($node, 'postgres', 'ALTER SYSTEM RESET log_min_messages');
$node->reload;

# ---- extremes, one row more at a time ----

my $id = 0;

# Sum of one column over rows given as SQL literals.
sub of_rows
{
	my ($value, $column, @rows) = @_;
	my $name = 'case' . ++$id;

	as($node, 'owner',
		"INSERT INTO hard (name, $column) VALUES "
		  . join(', ', map { "('$name', $_)" } @rows))
	  if @rows;
	return as($node, 'owner',
		"SELECT $value FROM hard WHERE name = '$name'");
}

my $max = '9223372036854775807';
my $min = '-9223372036854775808';

is(of_rows('dp_sum(i, -1000, 1000)', 'i', $max, $max, $max),
	'3000', 'the largest int8 thrice');
is(of_rows('dp_sum(i, -1000, 1000)', 'i', $min, $min, $max),
	'-1000', 'the least int8 twice and the largest once');
is(of_rows('dp_sum(i, -1000, 1000)', 'i', $min, -1, 0, 'NULL', 5),
	'-996', 'NULL is skipped');
is(of_rows('dp_sum(i, -1000, 1000)', 'i'), '0', 'no row at all');
is( of_rows('dp_avg(i, -1000, 1000)', 'i', $max, $min) + 0,
	0, 'a mean of extremes');

# Neighbours at 2^53: each row moves the sum by itself, no more and no less.
my $near = 9007199254740993;
my $cases = 0;
foreach my $base ($near - 2, $near - 1, $near, $near + 1)
{
	$cases++ if of_rows('dp_sum(i - 9007199254740000, 0, 2000)', 'i', $base)
	  eq $base - 9007199254740000;
}
is($cases, 4, 'int8 beyond 2^53 is not read as a double');

# Bounds of 62 bits: two's complement does not wrap at 63.
my $bound = 4611686018427387903;
foreach my $case ([ $max, 10 ], [ $min, -10 ])
{
	my ($row, $times) = @$case;
	my $sum = of_rows("dp_sum(i, -$bound\::numeric, $bound)", 'i', ($row) x 10);
	my $far = as($node, 'postgres',
		"SELECT abs(($sum) - $times.0 * $bound) <= 60.0 * $bound / " . E);

	is($far, 't', "ten times $row at bounds of 62 bits");
}

# Doubles.  A row counts with itself, put on the grid alone.
is( of_rows('dp_sum(f, -8, 8)', 'f', "'NaN'", "'Infinity'", "'-Infinity'",
		"'Infinity'", 'NULL', 1.5),
	'9.5', 'NaN is skipped, infinities clamp');
is(of_rows('dp_sum(f, -8, 8)', 'f', "'NaN'", "'NaN'"),
	'0', 'nothing but NaN');
is( of_rows('dp_sum(f, -8, 8)', 'f', '1e308', '1e308', '-1e308', '-1e308', 3),
	'3', 'huge doubles that would cancel or overflow');
is( of_rows('dp_sum(f, 0, 1)', 'f', '5e-324', '-0.0', '1e-310',
		'1e-300', '0.25'),
	'0.25', 'denormals round to the grid');
is( of_rows('dp_sum(f, 0, 1048576)', 'f', ('0.5') x 1000),
	'1000', 'a thousand halves of a granule are each rounded alone');
is( of_rows('dp_sum(f, 0, 1048576)', 'f', ('1.5', '2.5') x 500),
	'2500', 'halves go up row by row');
is( of_rows('dp_sum(f, -524288, 524288)', 'f', ('-1.5', '-2.5', '0.49999999999999994') x 500),
	'-1500', 'below zero, too, and what is no half stays below');
is(of_rows('dp_avg(f, -8, 8)', 'f', "'NaN'", 4, 2),
	'3', 'a mean skips NaN in the number of rows, too');
is(of_rows('dp_avg(f, -8, 8)', 'f', "'Infinity'", "'-Infinity'"),
	'0', 'a mean of both infinities');

# Tiny and huge bounds.
foreach my $bound ('1e-240', '1e240')
{
	my $ratio = of_rows("dp_sum(f, 0, $bound) / $bound", 'f', $bound, $bound,
		0);

	cmp_ok(abs($ratio - 2), '<', 1e-5, "bounds of $bound");
}

# real: what a real is, not what its text says.
is( of_rows('dp_sum(r)', 'r', 16777216, 16777217, "'NaN'",
		"'-Infinity'"),
	'1.6777212e+07',
	'reals beyond 2^24');
is(of_rows('dp_sum(r, -4, 4)', 'r', '3.4e38', '3.4e38', '-3.4e38', 1),
	'5', 'huge reals');

# numeric.
is( of_rows('dp_sum(n, -8, 8)', 'n', "'NaN'", "'Infinity'", "'-Infinity'",
		'1' . '0' x 5000, 'NULL', 2.5),
	'10.5000000000000000', 'numeric NaN, infinities and 5001 digits');
is( of_rows('dp_sum(n, 0, 1)', 'n', '0.' . '0' x 4000 . '1', '0.5',
		'-1' . '0' x 3000) + 0,
	0.5, 'a numeric of 4001 places');
is(of_rows('dp_avg(n, 0, 8)', 'n', "'NaN'", 8, 7) + 0,
	7.5, 'a mean of numerics');

$node->stop;
done_testing();
