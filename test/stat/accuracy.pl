# The errors that theory and EXPLAIN promise are the errors that occur.
#
# Rates: p-values (two-sided, exact binomial) as StatServer says.  The root
# mean square of 6000 errors of a mean has a relative standard error of 1.2%,
# so it leaves 10% around its expectation with probability below 1e-14.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

my $node = stat_node('accuracy', <<'EOT');
CREATE TABLE empty (k integer NOT NULL, i integer, w double precision);
SELECT dp_protect('empty');
SELECT dp_declare('empty', 'k', lower => 0, upper => 99999);
CREATE TABLE people (fine double precision, coarse double precision,
	low double precision);
INSERT INTO people
	SELECT i % 2, i % 2, CASE WHEN i % 20 = 0 THEN 1 ELSE 0 END
	FROM generate_series(1, 1000) i;
SELECT dp_protect('people');
SELECT dp_declare('people', 'coarse', lower => 0, upper => 1,
	granule => 0.015625);
SELECT dp_declare('people', 'low', lower => 0, upper => 1,
	granule => 0.015625);
SELECT dp_grant('analyst', epsilon => 1000000000);
EOT
as($node, 'postgres', <<'EOT');
CREATE FUNCTION means(n integer) RETURNS TABLE (a numeric, b numeric, c numeric)
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		SELECT dp_avg(fine, 0, 1, 0.5), dp_avg(coarse, 0.5), dp_avg(low, 0.5)
		INTO a, b, c FROM people;
		RETURN NEXT;
	END LOOP;
END $$;
ALTER FUNCTION means(integer) OWNER TO analyst;
EOT

# The error EXPLAIN announces for a statement of one released value.
sub announced
{
	my ($sql) = @_;
	my $plan = as($node, 'analyst', "EXPLAIN $sql");

	return $plan =~ /95% error ([0-9.e+-]+)/ ? $1 : 'nothing';
}

# ---- counts and sums ----

# The announced error a is the smallest number of granules with P[|X| > a] at
# most 0.05.  It is printed with six digits, so of fine grids only that much
# can be asked: within 1e-5 of the promise.
foreach my $case (
	# released value, 1/scale in granules, granule's exponent
	[ 'dp_count(1, 0.1)',             '1/10',      0 ],
	[ 'dp_count(1, 0.5)',             '1/2',       0 ],
	[ 'dp_count(1, 3)',               '3/1',       0 ],
	[ 'dp_count(1, 10)',              '10/1',      0 ],
	[ 'dp_sum(i, -7, 5, 0.5)',        '1/14',      0 ],
	[ 'dp_sum(w, 0, 1, 0.5)',         '1/2097152', -20 ],
	[ 'dp_sum(w, -1000, 4000, 0.25)', '1/4096000', -8 ])
{
	my ($value, $inverse, $exponent) = @$case;
	my $error = announced("SELECT $value FROM empty");
	my $file =
	  fetch($node, 'analyst', "SELECT $value FROM empty GROUP BY k");
	my $granules = $error eq 'nothing' ? 0 : $error * 2**-$exponent;
	my $found = judge(
		sub { sprintf("%.0f\n", $_[0] * 2**-$exponent) },
		$file, 'exceed', $inverse, $granules);
	my ($one, $other) = split m{/}, $inverse;
	my $p = exp(-$one / $other);
	my $shorter =
	  2 * $p**(int($granules * (1 - 1e-5) - 1) + 1) / (1 + $p);

	follows($found, 100000, "$value: error of $error");
	ok( $found->{exact} <= 0.05 * (1 + 1e-5)
		  && ($granules < 1 || $shorter > 0.05 * (1 - 1e-5)),
		"$value: the error is the smallest that 95% keep");
}

# dp_last_release() says the same.
is( as($node, 'analyst', <<'EOT'),
SET dp_pg.epsilon = 0.1;
\o /dev/null
SELECT dp_count(*), dp_sum(i, -7, 5, 0.5) FROM empty;
\o
SELECT error_95 FROM dp_last_release() ORDER BY value;
EOT
	announced('SELECT dp_count(1, 0.1) FROM empty')
	  . "\n"
	  . announced('SELECT dp_sum(i, -7, 5, 0.5) FROM empty'),
	'dp_last_release() announces the same errors');

# ---- means ----

my $n = 6000;
my $means = fetch($node, 'analyst', "SELECT * FROM means($n)");

sub column
{
	my ($i) = @_;

	return sub { (split / /, $_[0])[$i] . "\n" };
}

# What mechanisms promise: n = 1000, epsilon 0.5, mean 0.5.  The tail of the
# fine grid is not asked for: the granule 1/4 stands for it here.
my $found = judge(column(0), $means, 'exceedmean', 0, 1, 500, 500, '1/2', 1);

cmp_ok($found->{n}, '==', $n, 'means');
ok($found->{rmse} > 0.0018 && $found->{rmse} < 0.0022,
	"root mean square error $found->{rmse}, promised 0.0020");

# In granules of 1/64: 1000 rows, scale 64 / 0.5 = 128; true sums for the means
# 0.5 and 0.05.
my $error = announced('SELECT dp_avg(coarse, 0.5) FROM people');

is(announced('SELECT dp_avg(low, 0.5) FROM people'),
	$error, 'the announced error does not depend on rows');
foreach my $case ([ 'mean 0.5', 1, 32000, 32000 ],
	[ 'mean 0.05', 2, 3200, 60800 ])
{
	my ($name, $column, $a, $b) = @$case;

	$found = judge(column($column), $means, 'exceedmean', 0, 1, $a, $b,
		'1/128', $error / 1000);
	follows($found, $n, "$name: error of $error / 1000 rows");
	cmp_ok($found->{exact}, '<=', 0.05,
		"$name: the error is kept by at least 95%");
}

$node->stop;
done_testing();
