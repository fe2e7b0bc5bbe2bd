# Weights of rows: released values of linear queries with values from 0 to 1 have
# the law of their whole number of rows, and reveal no more about one row than those
# of a predicate.
#
# Audits look at answers of dp_sparse_vector, 10000 of one call: each has noise
# of its own, so one call is 10000 runs of the mechanism that gives an answer.
# Neighbours differ by a row of weight 1, which moves the number by 1; by one
# of weight 0.25 that moves the rounded number by 1, as much as it may; and by
# a row that is replaced.  Rates: 1e-10 per audit, four; each must see half of
# the claim, and one of answers at one and a half times the price must show
# more than the claim.  The law is judged at ALPHA, three times, two of them
# rejections.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

use constant N => 10000;

my $node = stat_node('linear_weights', <<'EOT');
CREATE TABLE base (w double precision NOT NULL);
INSERT INTO base SELECT i % 64 / 64.0 FROM generate_series(1, 640) i;
-- 315 rows; 315.25, 316; 315.5 is rounded to 316
CREATE TABLE one_more AS SELECT * FROM base UNION ALL SELECT 1;
CREATE TABLE quarter AS SELECT * FROM base UNION ALL SELECT 0.25;
CREATE TABLE half AS SELECT * FROM quarter UNION ALL SELECT 0.25;
CREATE TABLE replaced AS SELECT * FROM base UNION ALL SELECT 0;
SELECT dp_protect(t) FROM
	unnest('{base,one_more,quarter,half,replaced}'::regclass[]) t;
SELECT dp_declare(t, 'w', lower => 0, upper => 1) FROM
	unnest('{base,one_more,quarter,half,replaced}'::regclass[]) t;
SELECT dp_grant('analyst', epsilon => 1000000000);
EOT
as($node, 'postgres', <<'EOT');
ALTER ROLE analyst SET dp_pg.epsilon_ceiling = '1000000';
ALTER ROLE analyst SET dp_pg.max_predicates_per_row = 10000;
ALTER ROLE analyst SET client_min_messages = error;
EOT

is( as($node, 'owner', 'SELECT sum(w) FROM base'), '315',
	'the weights come to 315');

# What an answer costs is in the plan of a session with the same parameters.
sub plan_of
{
	my ($epsilon) = @_;
	my $id = as($node, 'analyst',
		    "SELECT dp_sparse_vector_open('base', -1000, @{[N]}, $epsilon, "
		  . "@{[N]}, numeric_answers => true, method => 'geometric')");

	return split /\|/,
	  as($node, 'analyst',
		    'SELECT answer_epsilon / answer_sensitivity, '
		  . 'round(1000000 * answer_epsilon / answer_sensitivity) '
		  . "FROM dp_pg.session WHERE id = $id");
}

# N answers about a table, each with its own noise.
sub answers
{
	my ($table, $epsilon) = @_;

	return fetch($node, 'analyst',
		    "SELECT answer FROM dp_sparse_vector('$table', "
		  . "array_fill('w'::text, ARRAY[@{[N]}]), -1000, @{[N]}, $epsilon, "
		  . "numeric_answers => true, method => 'geometric')");
}

my $total = 1.5 * N;
my ($price, $millionths) = plan_of($total);

cmp_ok(abs($price - 1), '<', 0.3, "an answer costs $price");

# ---- law ----

my $law = sub { return "$_[0] 315\n" };
my $base = answers('base', $total);

follows(judge($law, $base, 'laplace', "$millionths/1000000", 0),
	N, 'answers about 315 rows');
foreach my $wrong (314, 316)
{
	cmp_ok(
		judge(
			sub { return "$_[0] $wrong\n" },
			$base, 'laplace', "$millionths/1000000", 0)->{p},
		'<', ALPHA,
		"rejected: $wrong rows");
}

# ---- audits ----

# A bound on the loss between answers about two tables.
sub bound
{
	my ($one, $other) = @_;
	my @lines;

	foreach my $input (0, 1)
	{
		open(my $in, '<', ($one, $other)[$input]) or die "$!";
		push @lines, map { "$input $_" } <$in>;
	}
	return judge(keep(join '', @lines), 'loss', 1, 315, 0, 1)->{bound};
}

foreach my $case (
	[ 'a row of weight 1', $base, answers('one_more', $total) ],
	[
		'a row of weight 0.25, at the edge of rounding',
		answers('quarter', $total),
		answers('half', $total)
	],
	[
		'a row replaced', answers('one_more', $total),
		answers('replaced', $total)
	])
{
	my ($name, $one, $other) = @$case;
	my $seen = bound($one, $other);

	cmp_ok($seen, '<=', $price, "$name: $seen seen, $price claimed");
	cmp_ok($seen, '>=', 0.5 * $price, "$name: the audit looks at the loss");
}
cmp_ok(
	bound(answers('base', 1.5 * $total), answers('one_more', 1.5 * $total)),
	'>', $price, 'answers at one and a half times the price show more');

$node->stop;
done_testing();
