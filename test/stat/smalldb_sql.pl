# dp_smalldb through SQL: its exact law, an audit on neighbours, and its
# accuracy on census data and on the survey of Fair (1978).  dp_net has net.pl.
#
# Every law is computed here from the definition of the score.
#
# Rates: an audit of a sound mechanism at 1e-10; 4 p-values are compared with ALPHA,
# see StatServer, and wrong laws are rejected.  A variant with half of the noise
# must exceed the claim, which it fails with a probability below 1e-12, by the exact
# law.  How probable a larger error than Theorem 3.11 allows is, is computed from
# the exact law; it is below 1e-12, twice 20 times.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use List::Util qw(max min sum);
use StatCalls;
use StatServer;
use Test::More;

use constant RUNS => 10000;
use constant FEW => 2000;

my $node = stat_node('smalldb_sql', <<'EOT');
CREATE TABLE four (a boolean NOT NULL, b boolean NOT NULL);
INSERT INTO four SELECT i % 3 = 0, i % 2 = 0 FROM generate_series(1, 20) i;
CREATE TABLE replaced_0 (a boolean NOT NULL, b boolean NOT NULL);
INSERT INTO replaced_0 SELECT i > 4, i = 8 FROM generate_series(1, 8) i;
CREATE TABLE replaced_1 (LIKE replaced_0 INCLUDING ALL);
INSERT INTO replaced_1 SELECT * FROM replaced_0;
UPDATE replaced_1 SET a = true, b = true WHERE ctid =
	(SELECT ctid FROM replaced_1 WHERE NOT a LIMIT 1);
SELECT dp_protect('four', dataset => 'd');
SELECT dp_protect(t, dataset => 'r')
FROM unnest('{replaced_0,replaced_1}'::regclass[]) t;
SELECT dp_neighbours('r', 'replace_one');
SELECT dp_grant('analyst', d, epsilon => 1000000000)
FROM unnest('{d,r}'::name[]) d;
EOT

as($node, 'postgres',
	'ALTER ROLE analyst SET client_min_messages = warning');

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

# ---- laws ----

# Cells by number: 2 a + b.  Scores of all multisets of 3 of them, by name, for
# n rows and the counts of the queries that hold in these cells.
sub scores
{
	my ($holds, $n, @counts) = @_;
	my %score;

	each_multiset(
		$holds, $n, 3, 0, [],
		[ map { 3 * min($_, $n) } @counts ],
		sub {
			my ($chosen, $rest) = @_;

			$score{ join '', @$chosen } = -max(map { abs } @$rest);
		});
	return \%score;
}

# A universe so small gains nothing from threads.
sub tables
{
	my ($relation, $queries, $epsilon, $n) = @_;

	return answers($node, <<"EOT", RUNS,
SELECT (2 * a::int + b::int)::text
FROM dp_smalldb('$relation', ARRAY['a', 'b'], ARRAY[$queries],
	alpha => 0.65, epsilon => $epsilon, n => $n + 0 * k)
	AS s(a boolean, b boolean)
EOT
		'SET max_parallel_workers_per_gather = 0;');
}

# Of 20 rows 6 have a, 10 have b, 13 have either.  A score's sensitivity is 3.
my @holds = ([ 0, 0, 1, 1 ], [ 0, 1, 0, 1 ], [ 0, 1, 1, 1 ]);
my $score = scores(\@holds, 20, 6, 10, 13);
my $count = tables('four', "'a', 'b', 'a OR b'", 0.8, 20);

is(scalar(keys %$score), 20, 'multisets of 3 of 4 cells');
accept_counts('dp_smalldb', $count, exponential($score, 0.8 / (2 * 3)), RUNS);
reject_law('half as private',
	$count, exponential($score, 1.5 * 0.8 / (2 * 3)));

# Of 8 rows (neither, a, both: 4, 3, 1) one of the first kind becomes one of
# the last, which moves three counts: the sensitivity is 3 again.
my @apart = ([ 0, 1, 1, 1 ], [ 1, 0, 0, 0 ], [ 1, 1, 0, 0 ]);
my @replaced =
  (scores(\@apart, 8, 4, 4, 4), scores(\@apart, 8, 5, 3, 3));
my @laws = map { exponential($_, 4 / (2 * 3)) } @replaced;
my @counts = map {
	tables("replaced_$_", "'a OR b', 'NOT (a OR b)', 'NOT a'", '4.0', 8)
} 0, 1;

audit('dp_smalldb, a row is replaced', \@counts, \@laws, RUNS, 4);
reject_law('noise for two persons',
	$counts[$_], exponential($replaced[$_], 4 / (2 * 6))) foreach 0, 1;

# A noisy count in place of n: the law is the mixture.
sub mixture
{
	my %sum;

	foreach my $noise (-400 .. 400)
	{
		my $law = exponential(
			scores(\@holds, max(1, 20 + $noise), 6, 10, 13),
			2 * 0.95 / (2 * 3));

		$sum{$_} += mass(20 / 2, 1, $noise) * $law->{$_} foreach keys %$law;
	}
	return \%sum;
}

my $counted = answers($node, <<'EOT', FEW);
SELECT (2 * a::int + b::int)::text
FROM dp_smalldb('four', ARRAY['a', 'b'], ARRAY['a', 'b', 'a OR b'],
	alpha => 0.65, epsilon => 2.0 + 0 * k) AS s(a boolean, b boolean)
EOT

accept_counts('dp_smalldb with a noisy count', $counted, mixture(), FEW);
reject_law('the law of a public n',
	$counted, exponential($score, 2 / (2 * 3)));

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
