# Online multiplicative weights through SQL: answers are as near as opening
# said, and an answer from the data has noise of its own.
#
# Accuracy, on the census data with columns sex, income and race (20 cells):
# 48842 rows are too few for 3 alpha <= 0.2 at epsilon 1, so it is asked once
# with epsilon 10 and without delta, and once of every row ten times over with
# epsilon 1 and delta 1e-9.  Sessions are opened at confidence 1 - 1e-9, the
# false-alarm rate of each.  The noisy number of rows of the second is off by
# more than 700 with probability exp(-35).
#
# The law of the answers is judged at ALPHA.  An answer that showed the noise
# of the comparison, which is one-sided, or none at all, would be rejected.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

my $questions = 200;
my $node = stat_node('weights', <<'EOT');
CREATE TABLE flat (a integer NOT NULL);
INSERT INTO flat SELECT i % 16 FROM generate_series(1, 1600) i;
SELECT dp_protect('flat');
SELECT dp_declare('flat', 'a', lower => 0, upper => 15);
SELECT dp_grant('analyst', epsilon => 1000000000, delta => 1e-6);
EOT

# ---- fresh noise ----

# n is 10^6 for 1600 rows, so that every guess is far away.
sub far_session
{
	my ($price) = @_;

	return as($node, 'postgres', <<"EOT");
SET client_min_messages = warning;
SET dp_pg.epsilon_ceiling = '1000';
SET ROLE analyst;
SELECT dp_weights_open('flat', ARRAY['a'], 2000, $price, n => 1000000,
	alpha => 0.02);
EOT
}

# Of one price for all, and with a delta, where each round has its own.
my ($epsilon, $sensitivity);

foreach my $case ([ 'rounds', '100, delta => 1e-9' ], [ 'geometric', '1000' ])
{
	my ($method, $price) = @$case;
	my $session = far_session($price);
	my $planned;

	# The cells are asked in turn, and their weights stay about equal.
	is( as($node, 'analyst', <<"EOT"),
SELECT count(*), bool_and(updated) FROM generate_series(1, 2000) i,
	LATERAL dp_weights_ask($session, 'a = ' || i % 16);
EOT
		'2000|t',
		"$method: every question is an update");
	($planned, $epsilon, $sensitivity) = split /\|/,
	  as($node, 'analyst', <<"EOT");
SELECT method, round(answer_epsilon * 1000000), answer_sensitivity * 1000000
FROM dp_pg.session WHERE id = $session;
EOT
	my $file = fetch($node, 'analyst',
		"SELECT answer, 100 FROM dp_pg.session_above WHERE session = $session");
	my $found = judge($file, 'laplace', "$epsilon/$sensitivity", 0);

	is($planned, $method, "$method: the plan is of that method");
	follows($found, 2000, "$method: answers have the noise of their plan");
	is($found->{off}, 0, "$method: on the integers");
	cmp_ok(
		judge($file, 'laplace', 2 * $epsilon . "/$sensitivity", 0)->{p},
		'<', ALPHA, "rejected: $method: half the noise");
}

# The same of weights: 1600 rows in 16 cells, 70 of them by weights that come
# to 0.7 rows for each of one cell's 100.
my $weighed = far_session('1000');

is( as($node, 'analyst', <<"EOT"),
SELECT count(*), bool_and(updated) FROM generate_series(1, 2000) i,
	LATERAL dp_weights_ask($weighed,
		'CASE WHEN a = ' || i % 16 || ' THEN 0.7 ELSE 0 END');
EOT
	'2000|t',
	'every weight is an update');
my $found = judge(
	fetch($node, 'analyst',
		"SELECT answer, 70 FROM dp_pg.session_above WHERE session = $weighed"),
	'laplace', "$epsilon/$sensitivity", 0);
follows($found, 2000, 'answers about weights have the same noise');
cmp_ok(
	judge(
		fetch($node, 'analyst',
			    'SELECT answer, 68 FROM dp_pg.session_above'
			  . " WHERE session = $weighed"),
		'laplace', "$epsilon/$sensitivity", 0)->{p},
	'<', ALPHA, 'rejected: two rows less');

# ---- accuracy ----

my $data = defined $ENV{DP_PG_DATA} ? "$ENV{DP_PG_DATA}/adult.csv" : '';

# The same predicates in each run: conjunctions and disjunctions.
sub predicates
{
	my @conditions = (
		[ 'sex = 0', 'sex = 1' ],
		[ 'rich = 0', 'rich = 1' ],
		[ map { ("race = $_", "race <> $_") } 0 .. 4 ]);
	my @found;

	srand(15);
	foreach (1 .. $questions)
	{
		my @parts = map { $_->[ rand @$_ ] } @conditions;

		splice @parts, rand @parts, 1 if rand() < 0.4;
		push @found, join(rand() < 0.7 ? ' AND ' : ' OR ', @parts);
	}
	return @found;
}

# Opens a session, asks, and compares with the truth.
sub accuracy
{
	my ($table, $name, $n, $parameters) = @_;
	my @predicates = predicates();
	my $values = join ', ', map { "($_, '$predicates[$_]')" } 0 .. $#predicates;
	my $truths = join ', ', map { "count(*) FILTER (WHERE $_)" } @predicates;
	my @truth =
	  split /\|/, as($node, 'owner', "SELECT $truths FROM $table");
	my ($id, $n_used, $alpha) = split /\|/, as($node, 'postgres', <<"EOT");
SET client_min_messages = warning;
SET dp_pg.epsilon_ceiling = '1000';
SET ROLE analyst;
SELECT dp_weights_open('$table', ARRAY['sex', 'rich', 'race'], $questions,
	$parameters, confidence => 0.999999999) AS id \\gset
SELECT :id, details::json->>'n', details::json->>'alpha'
FROM dp_pg.session WHERE id = :id;
EOT
	my @answers = split /\n/, as($node, 'analyst', <<"EOT");
SELECT answer, updated FROM (VALUES $values) v(i, predicate),
	LATERAL dp_weights_ask($id, predicate) ORDER BY i;
EOT
	my ($worst, $updates) = (0, 0);

	foreach my $i (0 .. $#answers)
	{
		my ($answer, $updated) = split /\|/, $answers[$i];
		my $error = abs($answer - $truth[$i]);

		$worst = $error if $error > $worst;
		$updates++ if $updated eq 't';
	}
	is(scalar @answers, $questions, "$name: every question is answered");
	cmp_ok($alpha, '>', 0, "$name: alpha is known");
	cmp_ok(3 * $alpha, '<=', 0.2, "$name: 3 alpha is " . 3 * $alpha);
	cmp_ok($worst, '<=', 3 * $alpha * $n_used,
		"$name: errors are at most " . $worst / $n);
	ok($updates > 0 && $updates < $questions,
		"$name: $updates of $questions from the data");
	return;
}

SKIP:
{
	skip 'the census data is not here: set DP_PG_DATA', 9
	  unless -r $data;
	as($node, 'owner', 'CREATE TABLE person (' . join(', ',
			map { "c$_ integer" } 1 .. 14) . ')');
	$node->command_ok(
		[
			'psql', '-XAtq', '-U', 'owner', '-d',
			$node->connstr('postgres'), '-c',
			"\\copy person FROM '$data' WITH (FORMAT csv, HEADER)"
		],
		'the data is read');
	as($node, 'owner', <<'EOT');
CREATE TABLE adult (race integer NOT NULL, sex integer NOT NULL,
	rich integer NOT NULL);
INSERT INTO adult SELECT c8, c9, c14 FROM person;
CREATE TABLE adult10 (LIKE adult INCLUDING ALL);
INSERT INTO adult10 SELECT adult.* FROM adult, generate_series(1, 10);
SELECT dp_protect(t) FROM unnest('{adult,adult10}'::regclass[]) t;
SELECT dp_declare(t, 'race', lower => 0, upper => 4),
	dp_declare(t, 'sex', lower => 0, upper => 1),
	dp_declare(t, 'rich', lower => 0, upper => 1)
FROM unnest('{adult,adult10}'::regclass[]) t;
EOT
	accuracy('adult', 'pure', 48842, '10, n => 48842');
	accuracy('adult10', 'delta', 488420, '1, delta => 1e-9');
}

done_testing();
