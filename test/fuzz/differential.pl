# Random private queries compared with the plain ones.  At an epsilon at which noise
# is 0 except with probability exp(-100), dp_count and the others must return what
# PostgreSQL's aggregates do, whatever the functions in WHERE, FILTER and arguments,
# the shape of the query and the settings of the connection.
#
# FUZZ_QUERIES queries (20,000) from FUZZ_SEED (1, so that a red test is caused by a
# change of the code), until FUZZ_FINDINGS (100) of them differ; a failure prints
# the command that reproduces it.  If the plain query fails, because of functions
# that are not total, the private one must be answered or refused.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use FuzzNode;
use FuzzQuery;
use LedgerNode;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BATCH => 500;

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_QUERIES} || 20000;
my $only = $ENV{FUZZ_NUMBER};
my $most = $ENV{FUZZ_FINDINGS} || 100;
my $node = fuzz_node('differential');

# what WHERE asks for and declared bounds leave out is noticed
$node->append_conf('postgresql.conf', 'client_min_messages = warning');
$node->reload;
my @functions = admitted($node);

use_functions(@functions);
cmp_ok(scalar @functions, '>', 300, scalar(@functions) . ' functions may meet private rows');

value($node, <<'EOT');
CREATE FUNCTION run(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE sql INTO result;
	RETURN result;
END $$;
EOT

# Numbers whose plain form is no literal: what is asked of the table is whether
# the private answer is right.  [private, what makes a plain query of an answer]
sub judged
{
	my $type = pick(qw(int2 int4 int8 float8 numeric));
	my $kind = rand;
	my $x = expression($type);
	my $where = rand() < 0.7 ? ' WHERE ' . condition() : '';
	my $passes = rand() < 0.3 ? condition() : undef;
	my $filter = defined $passes ? " FILTER (WHERE $passes)" : '';
	my $within = defined $passes ? "($passes) AND " : '';
	my $v = $type =~ /^int/ ? "least(greatest($x, -10), 10)" : "CASE WHEN $x <> 'NaN' THEN least(greatest($x, -10), 10) END";
	my $from = "FROM (SELECT CASE WHEN $within$x IS NOT NULL THEN $v END AS v FROM plain$where) AS q WHERE v IS NOT NULL";
	my $fraction = pick(qw(0 0.1 0.25 0.5 0.75 0.999 1));

	return [ "SELECT dp_avg($x, -10, 10)$filter FROM person$where", sub { "SELECT count(*) = 0 OR abs(avg(v) - NULLIF('$_[0]', '')::numeric) <= 0.02 $from" } ] if $kind < 0.25;
	return [ "SELECT dp_variance($x, -10, 10)$filter FROM person$where", sub { "SELECT count(*) < 2 OR abs(var_samp(v) - NULLIF('$_[0]', '')::numeric) <= 1 $from" } ] if $kind < 0.4;
	return [ "SELECT dp_stddev($x, -10, 10)$filter FROM person$where", sub { "SELECT count(*) < 2 OR abs(var_samp(v) - NULLIF('$_[0]', '')::float8 ^ 2) <= 1 $from" } ] if $kind < 0.5;
	return [ "SELECT dp_quantile($x, $fraction, -10, 10)$filter FROM person$where", sub { "SELECT count(*) = 0 OR count(*) FILTER (WHERE v < '$_[0]'::numeric - 0.001) <= $fraction * count(*) AND count(*) FILTER (WHERE v <= '$_[0]'::numeric + 0.001) >= $fraction * count(*) $from" } ] if $kind < 0.75;
	$type = pick(qw(int4 text date bool uuid));
	$x = expression($type);
	my @candidates = map { "'$_'::$type" } @{ $literals{$type} };
	return [ "SELECT dp_argmax($x, ARRAY[" . join(', ', @candidates) . "])$filter FROM person$where",
		sub { my $answer = shift; 'SELECT count(*) FILTER (WHERE ' . "$within$x = '$answer') = greatest(" . join(', ', map { "count(*) FILTER (WHERE $within$x = $_)" } @candidates) . ") FROM plain$where" } ];
}

# A sum whose bounds follow from conditions, so that no row may be outside of them:
# [private, plain].
sub narrowed
{
	my $names = join '|', map { @$_ } values %columns;
	my $x = '';

	# of constants bounds are these, and the noise follows
	local @literals{qw(int2 int4 int8)} = ([qw(0 1 -1 3)], [qw(0 1 -1 2 7 100)], [qw(0 1 -1 5)]);
	$x = expression(pick(qw(int2 int4 int8))) until $x =~ s/'[^']*'//gr =~ /\b(?:$names)\b/;
	my ($low, $high) = @{ pick([ 0, 7 ], [ -1, 5 ], [ 1, 1 ], [ -20, 100 ], [ 2, 3 ]) };
	my $v = sprintf(pick('%s', '%s', '-(%s)', 'abs(%s)', '(%s) + 1', '(%s) * 2', '(%s) / 2', '(%s) %% 3', 'least(%s, 3)', 'coalesce(%s, 2)', 'nullif(%s, 1)', 'least(length(name), %s)'), $x);
	my $holds = pick("$x BETWEEN $low AND $high", "$low <= $x AND NOT $x > $high", "$x > $low - 1 AND ($x < $high OR $x = $high)", "NOT ($x < $low OR $x >= $high + 1)",
		"$x IN ($low, $high, $low)", "$x >= $low AND $x <= $high.5", "($x = $low OR $x BETWEEN $low AND $high AND " . condition() . ')');
	my $other = condition();
	my $from = pick('FROM %s', 'FROM (SELECT * FROM %s) AS q', "FROM (SELECT * FROM %s WHERE $holds) AS q");
	my $where = rand() < 0.5 ? " WHERE $other" : '';
	my $kind = rand;

	# bounds are those of the last values, whatever plan was kept
	return [ map { "PREPARE p(int, int) AS SELECT $_ AND $x BETWEEN \$1 AND \$2; EXECUTE p(0, 50); EXECUTE p($low, $high); DEALLOCATE p" } "dp_sum($v) FROM person WHERE $other", "coalesce(sum($v), 0) FROM plain WHERE $other" ] if $kind < 0.15;
	$v = pick("CASE WHEN $holds THEN $v END", "CASE WHEN $x > $high THEN $high WHEN $x < $low THEN $low ELSE $v END", "CASE WHEN NOT ($holds) THEN $low ELSE $v END", "least(greatest($v, $low), $high)") if $kind > 0.6;
	return [ map { "SELECT $_$where" } "dp_sum($v) " . sprintf($from, 'person'), "coalesce(sum($v), 0) " . sprintf($from, 'plain') ] if $kind > 0.6 || $from =~ /WHERE/;
	return [ map { "SELECT $_$where" } "dp_sum($v) FILTER (WHERE $holds) " . sprintf($from, 'person'), "coalesce(sum($v) FILTER (WHERE $holds), 0) " . sprintf($from, 'plain') ] if $kind > 0.4;
	return [ map { "SELECT $_ WHERE $other AND $holds" } "dp_sum($v) " . sprintf($from, 'person'), "coalesce(sum($v), 0) " . sprintf($from, 'plain') ];
}

# Two blocks with the same key.
sub two_blocks
{
	my ($one, $other) = map { block(1) } 1 .. 2;

	$other = block(1) until ($one->[0] =~ /GROUP BY (\w)$/)[0] eq ($other->[0] =~ /GROUP BY (\w)$/)[0];
	return ($one, $other);
}

# A statement: [private, plain].
sub statement
{
	my $kind = rand;
	my $block;

	$FuzzQuery::depth = 1 + int rand 4;
	if ($kind > 0.94)
	{
		my ($one, $other) = two_blocks();
		my $operation = pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT');

		return [ map { "SELECT key FROM ($one->[$_]) AS q WHERE n > 30 $operation SELECT key FROM ($other->[$_]) AS r WHERE n > 60 ORDER BY 1 NULLS LAST" } 0, 1 ];
	}
	if ($kind > 0.91)
	{
		$block = block(1);
		return [ map { "SELECT run(\$run\$SELECT string_agg(coalesce(key::text, '-') || n, ' ' ORDER BY key NULLS LAST) FROM ($_) AS q WHERE n > 5\$run\$)" } @$block ];
	}
	return narrowed() if $kind > 0.86;
	return judged() if $kind > 0.8;
	$kind /= 0.8;
	return block(0) if $kind < 0.45;
	$block = block(1) if $kind < 0.8;
	return [ map { "SELECT * FROM ($_) AS q WHERE n > 0 ORDER BY key NULLS LAST" } @$block ] if $kind < 0.55;
	return [ map { "WITH q AS ($_) SELECT q.*, sum(n) OVER (ORDER BY key NULLS LAST) FROM q WHERE n > 0 ORDER BY key NULLS LAST" } @$block ] if $kind < 0.65;
	return [ map { "SELECT count(*), sum(n) FROM ($_) AS q WHERE n > 20" } @$block ] if $kind < 0.72;
	return [ map { "SELECT q.key, q.n, v.x FROM ($_) AS q JOIN (VALUES (1, 'a'), (0, 'b'), (2, 'c')) AS v (n, x) ON q.n % 3 = v.n WHERE q.n > 0 ORDER BY 1 NULLS LAST" } @$block ] if $kind < 0.8;
	$block = block(0);
	return [ map { "PREPARE p(int) AS SELECT * FROM ($_ ) AS q WHERE n > \$1; EXECUTE p(3); DEALLOCATE p" } @$block ] if $kind < 0.9;
	return [ map { "SELECT n FROM ($_) AS q UNION ALL SELECT -n FROM ($_) AS r ORDER BY 1" } @$block ];
}

# Sessions as an analyst may set them; the exact numbers must not change.  Workers
# take most of a statement's time, and code that is compiled as much again: of 20
# batches one is compiled, which has workers, and seven others have.  Optimizing what
# is compiled took half of the time, though dp_pg's own plans are not: the second of
# ten compiled batches is, by night.
my $parallel = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
my $workers = "SET $parallel = on; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;";
my @plans = (
	'',
	'SET work_mem = \'64kB\'; SET enable_hashagg = off; SET enable_seqscan = off; SET cpu_tuple_cost = 100;',
	'SET enable_sort = off; SET plan_cache_mode = force_generic_plan;');
my @settings = (
	'SET jit = on; SET jit_above_cost = 0;',
	map { "SET jit = off; $_" } @plans, $workers, (map { "SET max_parallel_workers_per_gather = 0; $_" } @plans) x 4,
	$plans[0], $workers, $plans[1]);
my $optimized = 'SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;';
my ($compared, $refused, $failing, $mismatches, $number) = (0, 0, 0, 0, 0);

sub report
{
	my ($i, $what, $pair, @results) = @_;

	$mismatches++;
	diag("$what: FUZZ_SEED=$seed FUZZ_NUMBER=$i make fuzz\n  $pair->[0]\n  $pair->[1]\n  " . join("\n  ", map { s/\n/ ; /gr } @results)) if $mismatches <= 10;
	return;
}

while ($number < $wanted && $mismatches < $most)
{
	my @numbers = defined $only ? ($only) : ($number + 1 .. min($number + BATCH, $wanted));
	my @pairs = map { srand($seed * 1000003 + $_); statement() } @numbers;
	my $before = "SET dp_pg.epsilon = '100000';";
	my $batch = int(($numbers[0] - 1) / BATCH);
	my $variant = $settings[ $batch % @settings ] . ($batch % (10 * @settings) == @settings ? $optimized : '');
	my @private = run_statements($node, 'analyst', $before . $variant, map { $_->[0] } @pairs);
	foreach my $i (grep { ref $pairs[$_][1] } 0 .. $#pairs)
	{
		$pairs[$i][1] = $private[$i] =~ /^error/ ? 'SELECT 1' : $private[$i] eq '(null)' ? 'SELECT NULL' : $pairs[$i][1]->($private[$i]);
		$private[$i] = 't' if $private[$i] !~ /^error|^\(null\)$/;
	}
	my @plain = run_statements($node, 'owner', 'SET search_path = documented, pg_catalog, public;', map { $_->[1] } @pairs);

	pass("statements up to $numbers[-1] have ended");
	foreach my $i (0 .. $#pairs)
	{
		my $refusal = $private[$i] =~ /^error (0A000|22023|54000|54001|42\w{3})$/;

		if ($refusal) { $refused++ }
		elsif ($private[$i] =~ /^error/) { report($numbers[$i], 'failed', $pairs[$i], $private[$i]) }
		elsif ($plain[$i] =~ /^error/) { $failing++ }
		elsif ($plain[$i] ne $private[$i]) { report($numbers[$i], 'mismatch', $pairs[$i], $private[$i], $plain[$i]) }
		else { $compared++ }
	}
	$number = defined $only ? $wanted : $numbers[-1];
}
is($mismatches, 0, "private as plain: $compared queries; $refused refused, $failing where the plain one fails");
cmp_ok($compared, '>=', 0.4 * $wanted, 'most are compared') if !defined $only && $seed == 1;

$node->stop;
done_testing();
