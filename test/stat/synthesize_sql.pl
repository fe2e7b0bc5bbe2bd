# dp_synthesize through SQL: the noise in the number of rows that it estimates,
# which dp_pg.releases shows.
#
# By mwem that number is the count with discrete Laplace noise at
# epsilon/(2T + 1).  By aim it is a mean of noisy counts, unbiased; an unbiased
# estimate of a count that is rho-zCDP has a variance of at least
# 1/(exp(2 rho) - 1) (Hammersley, Chapman and Robbins), of which it has about
# twice as much, since two cells are summed, and again twice when neighbours
# exchange a unit, which moves one count by 1 at most, but two of a table.
#
# Rates: two p-values are compared with ALPHA, see StatServer, and two wrong
# laws are rejected.  A sample variance of 1000 numbers that are close to normal
# leaves [0.65, 1.6] of the true one, about 2.1 times the bound, with probability
# below 1e-18; the limits here are wider.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(sum);
use StatCalls;
use StatServer;
use Test::More;

use constant RUNS => 1000;
use constant ROWS => 5000;

my $rows = ROWS;
my $node = stat_node('synthesize_sql', <<"EOT");
CREATE TABLE people (a boolean NOT NULL);
CREATE TABLE swapped (a boolean NOT NULL);
INSERT INTO people SELECT i % 3 = 0 FROM generate_series(1, $rows) i;
INSERT INTO swapped SELECT * FROM people;
SELECT dp_protect('people', dataset => 'd');
SELECT dp_protect('swapped', dataset => 's');
SELECT dp_neighbours('s', 'replace_one');
SELECT dp_grant('analyst', d, epsilon => 1000000000, delta => 0.5)
FROM unnest(ARRAY['d', 's']) d;
EOT
as($node, 'postgres',
	'ALTER ROLE analyst SET client_min_messages = warning');

# Estimated numbers of rows, a file of lines "released true".
my $seen = 0;

sub numbers
{
	my ($relation, $arguments) = @_;

	answers($node, <<"EOT", RUNS);
SELECT count(*)::text FROM dp_synthesize('$relation', ARRAY['a'],
	marginals => 1, $arguments, rows => 1 + 0 * k) AS t(a boolean)
EOT
	my $file = fetch($node, 'analyst', <<"EOT");
SELECT parameters ->> 'n', $rows FROM dp_pg.releases WHERE id > $seen
EOT
	$seen = as($node, 'analyst', 'SELECT max(id) FROM dp_pg.releases');
	return $file;
}

foreach my $relation ('people', 'swapped')
{
	my $file = numbers($relation, "epsilon => 0.2, method => 'mwem'");
	my $rounds = as($node, 'analyst', <<'EOT');
SELECT parameters ->> 'rounds' FROM dp_pg.releases ORDER BY id DESC LIMIT 1
EOT
	my $parts = 2 * $rounds + 1;

	follows(judge($file, 'laplace', "2/${parts}0", 0),
		RUNS, "mwem, $relation: Laplace noise, $parts parts");
	cmp_ok(judge($file, 'laplace', "4/${parts}0", 0)->{p},
		'<', ALPHA, "rejected: half the noise, mwem, $relation");
}

my $rho = as($node, 'analyst', 'SELECT dp_zcdp_rho(1, 1e-9)');
foreach my $case ([ 'people', 1 ], [ 'swapped', 2 ])
{
	my ($relation, $factor) = @$case;
	my @found;

	open(my $in, '<', numbers($relation, 'epsilon => 1, delta => 1e-9')) or die "numbers: $!";
	push @found, (split / /)[0] while <$in>;
	close $in;
	my $mean = sum(@found) / @found;
	my $variance = sum(map { ($_ - $mean)**2 } @found) / (@found - 1);
	my $least = $factor / (exp(2 * $rho) - 1);

	cmp_ok(scalar @found, '==', RUNS, "$relation: all runs");
	cmp_ok(abs($mean - ROWS), '<', 8 * sqrt($variance / @found),
		"$relation: unbiased, 8 standard errors");
	cmp_ok($variance, '>', 1.3 * $least,
		sprintf('%s: %.2f times the least variance; a half would not do',
			$relation, $variance / $least));
	cmp_ok($variance, '<', 4 * $least, "$relation: and not much more");
}

done_testing();
