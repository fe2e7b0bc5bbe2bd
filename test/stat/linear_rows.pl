# Linear queries over units with many rows: noise and selection follow the law of
# the bound, m rows of a unit, and reveal no more about a unit of 1000 rows than is
# claimed; rows of tables are chosen fairly.
#
# Audits of answers of dp_sparse_vector, 10000 of one call, as in
# linear_weights.pl: neighbours differ by a unit of 1000 rows of which m = 5
# count, or by one that is replaced by another.  Rates: 1e-10 per audit, of
# which there are five; the two of answers must see half of the claim.  Noise
# for one row a unit in place of m, which a session at m times the price has,
# must show more than the claim.  Laws are judged at ALPHA: seven p-values, three
# of them rejections.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use StatCalls;
use StatServer;
use Test::More;

use constant {
	N => 10000,
	M => 5,
	RUNS => 4000,
	DRAWS => 2000
};

# 20 units of three rows; then one of 1000 rows that are x, or that are not.
my $node = stat_node('linear_rows', <<'EOT');
CREATE TABLE base (u int, x boolean NOT NULL);
INSERT INTO base SELECT u, j < 3 FROM generate_series(1, 20) u, generate_series(1, 3) j;
CREATE TABLE one_more AS SELECT * FROM base UNION ALL SELECT 1000, true FROM generate_series(1, 1000);
CREATE TABLE replaced AS SELECT * FROM base UNION ALL SELECT 1001, false FROM generate_series(1, 1000);
CREATE TABLE single (u int, k int NOT NULL);
INSERT INTO single SELECT 1, i / 7 FROM generate_series(1, 10) i;
SELECT dp_protect(t, unit => 'u', dataset => 'added'), dp_declare(t, max_rows => 5)
FROM unnest('{base,one_more,replaced,single}'::regclass[]) t;
SELECT dp_declare('single', 'k', lower => 0, upper => 1);
SELECT dp_grant('analyst', dataset => 'added', epsilon => 1000000000);
EOT
as($node, 'postgres', <<'EOT');
ALTER ROLE analyst SET dp_pg.epsilon_ceiling = '1000000';
ALTER ROLE analyst SET dp_pg.max_predicates_per_row = 10000;
ALTER ROLE analyst SET client_min_messages = error;
EOT

# What an answer costs, and its noise per row, are in the plan of a session
# with the same parameters.
sub plan_of
{
	my ($epsilon) = @_;
	my $id = as($node, 'analyst',
		    "SELECT dp_sparse_vector_open('base', -1000, 1000, $epsilon, "
		  . "1000, numeric_answers => true, method => 'geometric')");

	return split /\|/,
	  as($node, 'analyst',
		    'SELECT sensitivity * answer_epsilon / answer_sensitivity, sensitivity, '
		  . 'round(1000000 * answer_epsilon / answer_sensitivity) '
		  . "FROM dp_pg.session WHERE id = $id");
}

# 10 calls of 1000 answers about a table, each with its own noise.
sub answers_of
{
	my ($table, $epsilon) = @_;

	return fetch($node, 'analyst',
		    'SELECT v.answer FROM generate_series(1, 10) c, LATERAL '
		  . "dp_sparse_vector('$table', array_fill('x'::text, "
		  . "ARRAY[1000 + 0 * c]), -1000, 1000, $epsilon, "
		  . "numeric_answers => true, method => 'geometric') v");
}

my $total = 1500;
my ($price, $sensitivity, $millionths) = plan_of($total);

is($sensitivity, M, 'a unit moves an answer by five rows');
cmp_ok(abs($price - 1), '<', 0.3, "an answer costs $price");

# ---- noise ----

my $base = answers_of('base', $total);

follows(
	judge(sub { "$_[0] 40\n" }, $base, 'laplace', "$millionths/1000000", 0),
	N, 'answers about 40 rows, noise for five');
cmp_ok(
	judge(
		sub { "$_[0] 40\n" }, $base, 'laplace', M * $millionths . '/1000000',
		0)->{p},
	'<', ALPHA,
	'rejected: noise for one row');
follows(
	judge(
		sub { "$_[0] 45\n" }, answers_of('one_more', $total),
		'laplace', "$millionths/1000000", 0),
	N, 'of 1000 rows five count');

# ---- audits of answers ----

sub bound
{
	my ($one, $other) = @_;
	my @lines;

	foreach my $input (0, 1)
	{
		open(my $in, '<', ($one, $other)[$input]) or die "$!";
		push @lines, map { "$input $_" } <$in>;
	}
	return judge(keep(join '', @lines), 'loss', 1, 40, 0, 1)->{bound};
}

my $more = answers_of('one_more', $total);

foreach my $case (
	[ 'a unit more', $base, $more ],
	[ 'a unit replaced', $more, answers_of('replaced', $total) ])
{
	my ($name, $one, $other) = @$case;
	my $seen = bound($one, $other);

	cmp_ok($seen, '<=', $price, "$name: $seen seen, $price claimed");
	cmp_ok($seen, '>=', 0.5 * $price, "$name: the audit looks at the loss");
}
cmp_ok(
	bound(
		answers_of('base', M * $total), answers_of('one_more', M * $total)),
	'>', $price, 'noise for one row shows more');

# ---- the choice of a condition ----

# 40 rows are x and 38 are not; with the unit of 1000 that are not, 43.
as($node, 'owner', <<'EOT');
CREATE TABLE even AS SELECT * FROM base UNION ALL
SELECT 30 + i / 3, false FROM generate_series(0, 17) i;
CREATE TABLE even_more AS SELECT * FROM even UNION ALL SELECT 1001, false FROM generate_series(1, 1000);
SELECT dp_protect(t, unit => 'u', dataset => 'added'), dp_declare(t, max_rows => 5)
FROM unnest('{even,even_more}'::regclass[]) t;
EOT
my $epsilon = 1;
my @laws = map { permute({ 'x' => 40, 'NOTx' => $_ }, $epsilon / M) } (38, 43);
my @counts = map {
	answers($node,
		"SELECT replace(dp_argmax('$_', ARRAY['x', 'NOT x'], $epsilon + 0 * k), ' ', '')",
		RUNS)
} qw(even even_more);

audit('dp_argmax', \@counts, \@laws, RUNS, $epsilon);
reject_law('dp_argmax for one row a unit', $counts[0], permute({ 'x' => 40, 'NOTx' => 38 }, $epsilon));

# ---- rows of tables ----

# Five of six rows of k = 0 and four of k = 1, all of one unit.
sub ways
{
	my ($n, $k) = @_;
	my $ways = 1;

	$ways *= ($n - $_) / ($_ + 1) foreach 0 .. $k - 1;
	return $ways;
}

my %chosen = map { $_ => ways(6, $_) * ways(4, M - $_) / ways(10, M) } 1 .. M;

as($node, 'analyst', "SELECT count(t.*) FROM generate_series(1, @{[DRAWS]}) i, LATERAL "
	  . "dp_iterate('single', ARRAY['k'], ARRAY['k = 0'], epsilon => 10000 + 0 * i, "
	  . 'n => 5, rounds => 1) AS t(k int, probability float8)');
my %count = split /[|\n]/, as($node, 'analyst',
	    "SELECT parameters -> 'steps' -> 0 ->> 'answer', count(*) "
	  . "FROM dp_pg.releases WHERE mechanism = 'iterate' GROUP BY 1");

accept_counts('rows of a unit that count', \%count, \%chosen, DRAWS);

$node->stop;
done_testing();
