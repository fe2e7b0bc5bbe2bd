# dp_smalldb and dp_net through SQL: their exact laws, and dp_smalldb's accuracy
# on census data and on the survey of Fair (1978).
#
# Every law is computed here from the definition of the score.
#
# Rates: 4 p-values are compared with ALPHA, see StatServer, and as many wrong
# laws are rejected.  How probable a larger error than Theorem 3.11 allows is,
# is computed from the exact law; it is below 1e-12, twice 20 times.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max min sum);
use StatFit;
use StatServer;
use Test::More;

use constant RUNS => 10000;
use constant FEW => 2000;

my $node = stat_node('smalldb_sql', <<'EOT');
CREATE TABLE four (a boolean NOT NULL, b boolean NOT NULL);
INSERT INTO four SELECT i % 3 = 0, i % 2 = 0 FROM generate_series(1, 20) i;
SELECT dp_protect('four', dataset => 'd');
SELECT dp_grant('analyst', 'd', epsilon => 1000000000);
EOT

as($node, 'postgres', <<'EOT');
ALTER ROLE analyst SET client_min_messages = warning;
CREATE TABLE candidate (id int, answers numeric[]);
INSERT INTO candidate
	SELECT i, ARRAY[i * 4, 10 + i] FROM generate_series(0, 5) i;
GRANT SELECT ON candidate TO analyst;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO analyst;
EOT

# Four sessions at a time, because every call is a charge: how often each
# answer of a call came, $k being the number of the call.
sub answers
{
	my ($sql, $runs) = @_;
	my (%count, @pipes);

	foreach (1 .. 4)
	{
		my $each = $runs / 4;

		open(my $pipe, '-|', 'psql', '-XAtq', '-F', ' ', '-v',
			'ON_ERROR_STOP=1', '-U', 'analyst', '-d',
			$node->connstr('postgres'), '-c', <<"EOT") or die "psql: $!";
SELECT c, count(*) FROM (
	SELECT k, string_agg(x, '' ORDER BY x) AS c
	FROM generate_series(1, $each) AS k, LATERAL ($sql) AS t(x)
	GROUP BY k) s
GROUP BY c
EOT
		push @pipes, $pipe;
	}
	foreach my $pipe (@pipes)
	{
		while (<$pipe>)
		{
			$count{$1} += $2 if /^(\S+) (\d+)$/;
		}
		close $pipe or die "psql failed: $sql";
	}
	return \%count;
}

# The exponential mechanism's law of scores by name.
sub law
{
	my ($score, $rate) = @_;
	my $best = max(values %$score);
	my %weight =
	  map { $_ => exp($rate * ($score->{$_} - $best)) } keys %$score;
	my $all = sum(values %weight);

	return { map { $_ => $weight{$_} / $all } keys %weight };
}

sub compare
{
	my ($name, $count, $score, $rate, $runs) = @_;
	my @names = sort keys %$score;
	my $p = sub {
		my $law = law($score, $_[0]);

		return fit([ map { $count->{$_} // 0 } @names ],
			[ map { $law->{$_} } @names ], $runs);
	};
	my $right = $p->($rate);
	my $wrong = $p->($rate * 1.5);

	is(sum(values %$count), $runs, "$name: $runs answers");
	cmp_ok($right, '>=', ALPHA, "$name: its law (p $right)");
	cmp_ok($wrong, '<', ALPHA, "$name: rejected: half as private (p $wrong)");
	return;
}

# Calls $use with each multiset of $left of the cells from $cell on, and what
# remains of the targets: $n is taken off a target for each of its cells.
sub each_multiset
{
	my ($holds, $n, $left, $cell, $chosen, $rest, $use) = @_;

	return $use->($chosen, $rest) if $left == 0;
	foreach my $c ($cell .. $#{ $holds->[0] })
	{
		my @rest =
		  map { $rest->[$_] - ($holds->[$_][$c] ? $n : 0) } 0 .. $#$rest;

		each_multiset($holds, $n, $left - 1, $c, [ @$chosen, $c ],
			\@rest, $use);
	}
	return;
}

# ---- dp_smalldb ----

# Cells by number: 2 a + b.  Of 20 rows 6 have a, 10 have b, 13 have either.
my @holds = ([ 0, 0, 1, 1 ], [ 0, 1, 0, 1 ], [ 0, 1, 1, 1 ]);
my %score;

each_multiset(
	\@holds, 20, 3, 0, [],
	[ map { 3 * $_ } 6, 10, 13 ],
	sub {
		my ($chosen, $rest) = @_;

		$score{ join '', @$chosen } = -max(map { abs } @$rest);
	});
is(scalar(keys %score), 20, 'multisets of 3 of 4 cells');

# A score's sensitivity is 3.
compare(
	'dp_smalldb',
	answers(<<'EOT', RUNS), \%score, 0.8 / (2 * 3), RUNS);
SELECT (2 * a::int + b::int)::text
FROM dp_smalldb('four', ARRAY['a', 'b'], ARRAY['a', 'b', 'a OR b'],
	alpha => 0.65, epsilon => 0.8, n => 20 + 0 * k) AS s(a boolean, b boolean)
EOT

# ---- dp_net ----

my %net = map { $_ => -max(abs(6 - $_ * 4), abs(10 - (10 + $_))) } 0 .. 5;

compare('dp_net', answers(<<'EOT', RUNS), \%net, 0.8 / 2, RUNS);
SELECT id::text
FROM dp_net('four', 'candidate', ARRAY['a', 'b'], epsilon => 0.8 + 0 * k)
	AS t(id int)
EOT

# An owner's values: a maximum and a product, of which one unit moves each by
# at most 2.5.
my %owned = map { $_ => -max(abs(7.3 - $_ * 4), abs(12.1 - (10 + $_))) } 0 .. 5;

compare('dp_net_values',
	answers(<<'EOT', FEW), \%owned, 2 / (2 * 2.5), FEW);
SELECT id::text
FROM dp_net_values(ARRAY[7.3, 12.1], 2.5, 'candidate', 'd', epsilon => 2.0 + 0 * k)
	AS t(id int)
EOT

# A noisy count in place of n: the law is the mixture.
sub mixture
{
	my ($p, %sum) = (exp(-2 / 20));

	foreach my $noise (-400 .. 400)
	{
		my $n = max(1, 20 + $noise);
		my %s;
		my $law;

		each_multiset(
			\@holds, $n, 3, 0, [],
			[ map { 3 * min($_, $n) } 6, 10, 13 ],
			sub { $s{ join '', @{ $_[0] } } = -max(map { abs } @{ $_[1] }); });
		$law = law(\%s, 2 * 0.95 / (2 * 3));
		$sum{$_} += (1 - $p) / (1 + $p) * $p**abs($noise) * $law->{$_}
		  foreach keys %$law;
	}
	return \%sum;
}

my $mixture = mixture();
my $counted = answers(<<'EOT', FEW);
SELECT (2 * a::int + b::int)::text
FROM dp_smalldb('four', ARRAY['a', 'b'], ARRAY['a', 'b', 'a OR b'],
	alpha => 0.65, epsilon => 2.0 + 0 * k) AS s(a boolean, b boolean)
EOT
my @names = sort keys %$mixture;
my $p = fit([ map { $counted->{$_} // 0 } @names ],
	[ map { $mixture->{$_} } @names ], FEW);

cmp_ok($p, '>=', ALPHA, "dp_smalldb with a noisy count (p $p)");
my $law = law(\%score, 2 / (2 * 3));
$p = fit([ map { $counted->{$_} // 0 } @names ],
	[ map { $law->{$_} } @names ], FEW);
cmp_ok($p, '<', ALPHA, "rejected: the law of a public n (p $p)");

# ---- accuracy ----

# The queries of all marginals of two columns, over cells by their values.
sub marginals
{
	my ($cells) = @_;
	my (%query, @holds);
	my $columns = @{ $cells->[0] };

	foreach my $i (0 .. $#$cells)
	{
		foreach my $a (0 .. $columns - 2)
		{
			foreach my $b ($a + 1 .. $columns - 1)
			{
				$query{"$a $b $cells->[$i][$a] $cells->[$i][$b]"}[$i] = 1;
			}
		}
	}
	foreach my $name (sort keys %query)
	{
		push @holds, [ map { $query{$name}[$_] // 0 } 0 .. $#$cells ];
	}
	return \@holds;
}

# Real rows, the domain of each column in order, and what to ask.
sub accuracy
{
	my ($table, $columns, $domains, $m, $alpha, $epsilon) = @_;
	my $list = join ', ', @$columns;
	my @cells = ([]);
	my (%count, %place, @target, @errors);
	my ($best, $weight, $bad, $limit) = (-1e9, 0, 0);

	foreach my $domain (@$domains)
	{
		@cells = map {
			my $cell = $_;
			map { [ @$cell, $_ ] } @$domain
		} @cells;
	}
	$place{"@{ $cells[$_] }"} = $_ foreach 0 .. $#cells;
	$count{$_} = 0 foreach 0 .. $#cells;
	foreach (split /\n/,
		as($node, 'owner',
			"SELECT $list, count(*) FROM $table GROUP BY $list"))
	{
		my @field = split /\|/;
		my $n = pop @field;

		$count{ $place{"@field"} } = $n;
	}
	my $n = sum(values %count);
	my $holds = marginals(\@cells);

	foreach my $query (@$holds)
	{
		push @target, $m * sum(map { $query->[$_] * $count{$_} } 0 .. $#cells);
	}
	each_multiset($holds, $n, $m, 0, [], \@target,
		sub { push @errors, max(map { abs } @{ $_[1] }); });
	$best = min(@errors);
	$limit = $best / ($m * $n) +
	  2 * (log(@errors) + log(1 / 0.05)) / ($epsilon * $n);

	# the exact law's probability of a larger error
	foreach my $error (@errors)
	{
		my $w = exp(-$epsilon / (2 * $m) * ($error - $best));

		$weight += $w;
		$bad += $w if $error / ($m * $n) > $limit;
	}
	$bad /= $weight;
	cmp_ok($bad, '<', 1e-12,
		"$table: the theorem allows .05, the law has $bad");

	my $list_of = join ', ', map { "'$_'" } @$columns;
	my $pairs = join ', ', map { "$_ int" } @$columns;
	my $rows = as($node, 'analyst', <<"EOT");
SELECT k, $list
FROM generate_series(1, 20) AS k, LATERAL dp_smalldb('$table',
	ARRAY[$list_of], 2, alpha => $alpha, epsilon => $epsilon,
	n => $n + 0 * k) AS t($pairs)
EOT
	my (%chosen, $worst);

	foreach (split /\n/, $rows)
	{
		my ($k, @field) = split /\|/;

		push @{ $chosen{$k} }, $place{"@field"};
	}
	is(scalar(keys %chosen), 20, "$table: 20 tables of $m rows");
	$worst = max(
		map {
			my $cells = $_;

			die 'a table has not so many rows' if @$cells != $m;
			map {
				my $q = $_;
				abs($target[$q] -
					  $n * sum(map { $holds->[$q][$_] } @$cells)) / ($m * $n)
			} 0 .. $#$holds
		} values %chosen);
	cmp_ok($worst, '<=', $limit,
		sprintf('%s: largest error %.4f, best %.4f of %d candidates, bound %.4f',
			$table, $worst, $best / ($m * $n), scalar(@errors), $limit));
	return;
}

SKIP:
{
	my $data = $ENV{DP_PG_DATA} // '';

	skip 'the real data is not here: set DP_PG_DATA', 6
	  unless -r "$data/adult.csv" && -r "$data/fair.csv";
	as($node, 'owner', <<'EOT');
CREATE TABLE adult_raw (age int, workclass int, fnlwgt int, educ int,
	marital int, occupation int, relationship int, race int, sex int,
	gain int, loss int, hours int, country int, income int);
CREATE TABLE fair_raw (rate_marriage int, age float8, yrs_married float8,
	children float8, religious int, educ int, occupation int,
	occupation_husb int, affairs float8);
EOT
	foreach my $name ('adult', 'fair')
	{
		PostgreSQL::Test::Utils::system_or_bail(
			'psql', '-XAtq', '-U', 'owner', '-d', $node->connstr('postgres'),
			'-c', "\\copy ${name}_raw FROM '$data/$name.csv' "
			  . 'WITH (FORMAT csv, HEADER)');
	}
	as($node, 'owner', <<'EOT');
CREATE TABLE adult (sex int NOT NULL, income int NOT NULL, race int NOT NULL);
INSERT INTO adult SELECT sex, income, race FROM adult_raw;
CREATE TABLE fair (rate_marriage int NOT NULL, affair int NOT NULL);
INSERT INTO fair SELECT rate_marriage, (affairs > 0)::int FROM fair_raw;
SELECT dp_protect('adult', dataset => 'd');
SELECT dp_protect('fair', dataset => 'd');
SELECT dp_declare('adult', 'sex', lower => 0, upper => 1);
SELECT dp_declare('adult', 'income', lower => 0, upper => 1);
SELECT dp_declare('adult', 'race', lower => 0, upper => 4);
SELECT dp_declare('fair', 'rate_marriage', lower => 1, upper => 5);
SELECT dp_declare('fair', 'affair', lower => 0, upper => 1);
EOT
	accuracy('adult', [ 'sex', 'income', 'race' ],
		[ [ 0, 1 ], [ 0, 1 ], [ 0 .. 4 ] ], 6, 0.73, 0.1);
	accuracy('fair', [ 'rate_marriage', 'affair' ],
		[ [ 1 .. 5 ], [ 0, 1 ] ], 9, 0.51, 0.4);
}

$node->stop;
done_testing();
