# The classic embarrassing question: the fraction of women with an affair in
# the survey of Fair (1978), from randomised answers only.
#
# Rates: an estimate is a binomial count, shifted and scaled; one of 6366 draws
# lies more than 8 standard errors off with probability below 1e-13, nine
# such checks.  For candidates the standard error is itself estimated, within
# 2%, which 8 leaves room for.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

my $file = defined $ENV{DP_PG_DATA} ? "$ENV{DP_PG_DATA}/fair.csv" : '';

plan skip_all => 'the survey of Fair is not here: set DP_PG_DATA'
  unless -r $file;
my $node = stat_node('local_fair', <<'EOT');
CREATE TABLE fair (rate_marriage int, age float8, yrs_married float8,
	children float8, religious int, educ int, occupation int,
	occupation_husb int, affairs float8);
EOT

$node->command_ok(
	[
		'psql', '-XAtq', '-U', 'owner', '-d', $node->connstr('postgres'), '-c',
		"\\copy fair FROM '$file' WITH (FORMAT csv, HEADER)"
	],
	'the survey is read');

my ($n, $true) = split /\|/, as($node, 'owner',
	'SELECT count(*), avg((affairs > 0)::int) FROM fair');

is($n, 6366, 'rows');

# What the women would have stored; nothing else is kept.
as($node, 'owner', <<'EOT');
CREATE TABLE answer AS SELECT
	dp_randomized_response(affairs > 0) AS coins,
	dp_randomized_response(affairs > 0, 0.5) AS half,
	dp_randomized_response(affairs > 0, 1) AS one,
	dp_randomized_response(affairs > 0, 2) AS two,
	dp_randomized_response(rate_marriage, ARRAY[1, 2, 3, 4, 5], 1) AS rate
FROM fair;
GRANT SELECT ON answer TO analyst;
EOT
isnt(
	as($node, 'owner', 'SELECT avg(coins::int) FROM answer'),
	$true, 'answers are not the truth');

foreach my $case ([ 'coins', '' ], [ 'half', ', 0.5' ], [ 'one', ', 1' ],
	[ 'two', ', 2' ])
{
	my ($column, $epsilon) = @$case;
	my ($rows, $fraction, $error) = split /\|/, as($node, 'analyst',
		'SELECT (e).n, (e).fraction, (e).fraction_error FROM (SELECT '
		  . "dp_randomized_response_estimate($column$epsilon) AS e"
		  . ' FROM answer) s');

	is($rows, $n, "$column: every woman answered");
	cmp_ok(abs($fraction - $true), '<', 8 * $error,
		"$column: $fraction +- $error, in truth $true");
	cmp_ok($error, '<', 0.03, "$column: that says something");
}

# A public question of five answers.
my @rates = split /\n/, as($node, 'analyst', <<'EOT');
SELECT candidate, fraction, fraction_error FROM unnest((
	SELECT dp_randomized_response_estimate(rate, ARRAY[1, 2, 3, 4, 5], 1)
	FROM answer))
EOT
my $total = 0;

is(scalar @rates, 5, 'five rates');
foreach my $row (@rates)
{
	my ($rate, $fraction, $error) = split /\|/, $row;
	my $truth = as($node, 'owner',
		"SELECT avg((rate_marriage = $rate)::int) FROM fair");

	$total += $fraction;
	cmp_ok(abs($fraction - $truth), '<', 8 * $error,
		"rate $rate: $fraction +- $error, in truth $truth");
}
cmp_ok(abs($total - 1), '<', 1e-9, 'fractions add up to 1');

# Nothing was charged: no dataset, no budget, no ledger.
is(as($node, 'postgres', 'SELECT count(*) FROM dp_pg.ledger'),
	0, 'the ledger is empty');

$node->stop;
done_testing();
