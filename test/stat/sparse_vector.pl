# Sparse vector through SQL: outcomes follow their exact law, and every answer
# is right within the promised alpha as often as promised.
#
# Rates: every p-value is compared with ALPHA, see StatServer; 20 comparisons,
# 9 of them rejections of a law that is slightly wrong, whose statistics are
# expected 9 standard deviations or more beyond ALPHA.  The accuracy of a call is a coin of at least .95: of RUNS calls
# fewer than WORST are right with probability below 1e-12 (Chernoff's bound,
# computed below).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use StatCalls;
use StatServer;
use Test::More;

my $node = stat_node('sparse_vector', <<'EOT');
CREATE TABLE few (id int PRIMARY KEY, x int NOT NULL);
INSERT INTO few SELECT i, i FROM generate_series(1, 4) i;
SELECT dp_protect('few');
SELECT dp_declare('few', 'x', lower => 0, upper => 4);
CREATE TABLE many (id int PRIMARY KEY, x int NOT NULL);
INSERT INTO many SELECT i, i FROM generate_series(1, 1000) i;
SELECT dp_protect('many');
SELECT dp_grant('analyst', epsilon => 1000000000, delta => 0.5);
EOT

as($node, 'postgres', 'ALTER ROLE analyst SET client_min_messages = error');

# ---- the exact law, by definition ----

# Outcomes such as "_T__" from query `at` on, with `left` more "above"s:
# armed is the noisy threshold, undef before it is drawn; %$drawn keeps laws from
# there on.
sub outcomes
{
	my ($plan, $counts, $at, $left, $armed, $drawn) = @_;
	my %law;

	return { '' => 1 } if $at == @$counts || $left == 0;
	$drawn //= {};
	if (!defined $armed)
	{
		return $drawn->{"$at $left"} if $drawn->{"$at $left"};
		my $b = $plan->{threshold_b};
		my $reach = int(45 * $b) + 2;

		foreach my $z (($plan->{two_sided} ? -$reach : 0) .. $reach)
		{
			my $chance = mass($b, $plan->{two_sided}, $z);
			my $rest = outcomes($plan, $counts, $at, $left,
				$plan->{threshold} + $plan->{offset} + $z, $drawn);

			$law{$_} += $chance * $rest->{$_} foreach keys %$rest;
		}
		return $drawn->{"$at $left"} = \%law;
	}
	my $above = tail($plan->{query_b}, $plan->{two_sided},
		$armed - $counts->[$at]);
	my $yes = outcomes($plan, $counts, $at + 1, $left - 1,
		$plan->{fresh} ? undef : $armed, $drawn);
	my $no = outcomes($plan, $counts, $at + 1, $left, $armed, $drawn);

	$law{"T$_"} += $above * $yes->{$_} foreach keys %$yes;
	$law{"_$_"} += (1 - $above) * $no->{$_} foreach keys %$no;
	return \%law;
}

# ---- outcomes of calls ----

my @predicates = ('x < 3', 'false', 'true', 'x = 1', 'x > 1');
my @counts = (2, 0, 4, 1, 3);
my $queries = 'ARRAY[' . join(', ', map { "'$_'" } @predicates) . ']';

# The noise of the plan for these arguments, as a session records it.
sub plan_of
{
	my ($threshold, $cutoff, $rest) = @_;
	my $id = as($node, 'analyst',
		"SELECT dp_sparse_vector_open('few', $threshold, $cutoff, "
		  . "questions => 5, $rest)");
	my @row = split /\|/, as($node, 'analyst', <<"EOT");
SELECT method, two_sided, fresh, threshold_offset,
	threshold_sensitivity / threshold_epsilon::float8,
	query_sensitivity / query_epsilon::float8,
	CASE WHEN numeric_answers THEN answer_epsilon::float8 / answer_sensitivity::float8 END
FROM dp_pg.session WHERE id = $id
EOT
	return {
		threshold => $threshold,
		method => $row[0],
		two_sided => $row[1] eq 't',
		fresh => $row[2] eq 't',
		offset => $row[3],
		threshold_b => $row[4],
		query_b => $row[5],
		answer_inverse => $row[6]
	};
}

# ---- weights: the same law at whole numbers of rows ----

# 2.5, 0.4, 4, 1.2 and 3 rows, rounded.
my @weights = ('x / 4.0', '0.1', '1', '0.3', 'least(x / 3.0, 1)');
my @rounded = (3, 0, 4, 1, 3);
my $weighed = 'ARRAY[' . join(', ', map { "'$_'" } @weights) . ']';
my $weights_plan = plan_of(3, 2, "epsilon => 4, method => 'geometric'");
my $weights_file = released($node, <<"EOT", 10000);
SELECT string_agg(CASE WHEN above THEN 'T' ELSE '_' END, '' ORDER BY query)
FROM dp_sparse_vector('few', $weighed, 3 + 0 * k, 2, 4, method => 'geometric')
EOT

follows(
	judge($weights_file, 'choice',
		law_text(outcomes($weights_plan, \@rounded, 0, 2))),
	10000,
	'weights: outcomes of five questions');
cmp_ok(
	judge($weights_file, 'choice',
		law_text(outcomes($weights_plan, [ 2, @rounded[ 1 .. 4 ] ], 0, 2)))->{p},
	'<', ALPHA,
	'rejected: weights rounded down');

my $first;

foreach my $case (
	# method, threshold, cutoff, arguments, calls
	[ 'geometric', 3, 2, 'epsilon => 2', 10000 ],
	[ 'book', 2, 2, 'epsilon => 6', 2000 ],
	[ 'rounds', 3, 2, 'epsilon => 3', 2000 ],
	[ 'rounds', 3, 2, 'epsilon => 3, delta => 0.000001', 16000 ],
	[ 'book', 2, 2, 'epsilon => 6, delta => 0.01', 2000 ])
{
	my ($method, $threshold, $cutoff, $arguments, $n) = @$case;
	my $rest = "$arguments, method => '$method'";
	my $name = $arguments =~ /delta/ ? "$method, delta" : $method;
	my $plan = plan_of($threshold, $cutoff, $rest);
	my $file = released($node, <<"EOT", $n);
SELECT string_agg(CASE WHEN above THEN 'T' ELSE '_' END, '' ORDER BY query)
FROM dp_sparse_vector('few', $queries, $threshold + 0 * k, $cutoff, $rest)
EOT

	$first //= [ $file, $plan ];
	is($plan->{method}, $method, "$name: the plan is of that method");
	follows(
		judge($file, 'choice',
			law_text(outcomes($plan, \@counts, 0, $cutoff))),
		$n,
		"$name: outcomes of five questions, cutoff $cutoff");
	next if $name ne 'rounds, delta';

	# a threshold that is kept from round to round has another law
	cmp_ok(
		judge($file, 'choice',
			law_text(outcomes({ %$plan, fresh => 0 }, \@counts, 0, $cutoff)))->{p},
		'<', ALPHA,
		"rejected: $name: the threshold of the round before");
}

# power: two rows more, a threshold one larger, and noise that is 30% less
foreach my $wrong (
	[ 'two more rows', sub { $_[1][3] += 2 } ],
	[ 'the threshold one larger', sub { $_[0]{threshold}++ } ],
	[ 'less noise of questions', sub { $_[0]{query_b} *= 0.7 } ])
{
	my ($name, $change) = @$wrong;
	my %plan = %{ $first->[1] };
	my @changed = @counts;

	$change->(\%plan, \@changed);
	cmp_ok(
		judge($first->[0], 'choice',
			law_text(outcomes(\%plan, \@changed, 0, 2)))->{p},
		'<', ALPHA,
		"rejected: $name");
}

# ---- numeric answers ----

foreach my $case (
	[ 'geometric', 'epsilon => 5' ],
	[ 'rounds', 'epsilon => 8' ],
	[ 'rounds', 'epsilon => 8, delta => 0.000001' ],
	[ 'book', 'epsilon => 9' ])
{
	my ($method, $arguments) = @$case;
	my $rest = "numeric_answers => true, $arguments, method => '$method'";
	my $name = "$method, $arguments";
	my $plan = plan_of(-60, 5, $rest);
	my $answers = released($node, <<"EOT", 1000);
SELECT v.answer, (ARRAY[2, 0, 4, 1, 3])[v.query]
FROM dp_sparse_vector('few', $queries, -60 + 0 * k, 5, $rest) v
WHERE above
EOT
	my $found = judge($answers, 'laplace', $plan->{answer_inverse}, 0);

	# below the threshold only by noise of more than 60: nearly never
	cmp_ok($found->{n}, '>', 4900, "$name: nearly all are above");
	cmp_ok($found->{p}, '>=', ALPHA,
		"$name: answers have fresh Laplace noise (" . show($found) . ")");
	cmp_ok(
		judge($answers, 'laplace', $plan->{answer_inverse} * 1.5, 0)->{p},
		'<', ALPHA, "rejected: $name: a third less noise");
}

# ---- one question after the other has the same law ----

my $asked = 800;
my $session_law = plan_of(3, 2, "epsilon => 2, method => 'geometric'");

as($node, 'postgres', <<'EOT');
CREATE FUNCTION play(predicates text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	s bigint := dp_sparse_vector_open('few', 3, 2, 2, 5, method => 'geometric');
	outcome text := '';
	found int := 0;
	a boolean;
BEGIN
	FOR i IN 1 .. array_length(predicates, 1) LOOP
		EXIT WHEN found = 2;
		SELECT above INTO a FROM dp_sparse_vector_ask(s, predicates[i]);
		outcome := outcome || CASE WHEN a THEN 'T' ELSE '_' END;
		found := found + a::int;
	END LOOP;
	RETURN outcome;
END $$;
EOT
my $played = released($node, "SELECT play($queries) WHERE k > 0", $asked);

follows(
	judge($played, 'choice', law_text(outcomes($session_law, \@counts, 0, 2))),
	$asked,
	'sessions: outcomes of five questions');

# ---- accuracy: k = 1000 questions, c = 10 ----

use constant {
	RUNS => 60,
	K => 1000,
	C => 10
};

# Chance that of RUNS coins of .95 fewer than `right` come up, at most.
sub chernoff
{
	my ($right) = @_;
	my $q = $right / RUNS;

	return exp(-RUNS * ($q * log($q / 0.95)
			  + (1 - $q) * log((1 - $q) / 0.05)));
}

my $worst = RUNS - 1;

$worst-- while chernoff($worst) > 1e-12;
foreach my $case (
	[ 'geometric', '' ],
	[ 'best', ', delta => 0.000001, numeric_answers => true' ])
{
	my ($method, $more) = @$case;
	my $rest = "cutoff => @{[C]}, epsilon => 1, method => '$method'$more";
	my $alpha = as($node, 'analyst', <<"EOT");
SELECT dp_sparse_vector_open('many', 500, questions => @{[K]}, $rest) AS id \\gset
SELECT alpha FROM dp_pg.sessions WHERE session = :id
EOT

	# Ten questions are far above, all others at the edge of what may be
	# called above: that is where wrong answers come from.
	my $right = as($node, 'analyst', <<"EOT");
SELECT count(*) FROM (
	SELECT bool_and(CASE WHEN above THEN x >= 500 - $alpha AND
			coalesce(abs(answer - x) <= $alpha, true)
		ELSE x <= 500 + $alpha END) AS good
	FROM generate_series(1, @{[RUNS]}) k,
		LATERAL dp_sparse_vector('many', (
			SELECT array_agg(format('x <= %s', CASE WHEN i % 100 = 0 THEN least(1000, 501 + $alpha) ELSE greatest(0, 499 - $alpha) END) ORDER BY i)
			FROM generate_series(1, @{[K]}) i), 500 + 0 * k, $rest) v,
		LATERAL (SELECT substring(predicate FROM '\\d+')::int AS x) t
	GROUP BY k) r
WHERE good
EOT
	cmp_ok($right, '>=', $worst,
		"$method$more: $right of @{[RUNS]} calls are right within $alpha");
}

done_testing();
