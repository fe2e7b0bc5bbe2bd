# Online multiplicative weights under concurrent questions: every question is
# decided with the newest hypothesis, no limit is passed, and the hypothesis
# is the same in every connection and after a restart.
#
# A session pays 1000000 for 400 updates, so its noise has scale 0.003: it is 0 in
# all draws of this test except with probability below exp(-300).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('weights', "dp_pg.epsilon_ceiling = '1000000'\n");

value($node, <<'EOT');
CREATE TABLE told (session bigint, updated bool, state text);
GRANT ALL ON told TO alice;
CREATE FUNCTION try_ask(s bigint, predicate text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	answer record;
BEGIN
	SELECT * INTO answer FROM dp_weights_ask(s, predicate);
	INSERT INTO told VALUES (s, answer.updated);
EXCEPTION WHEN OTHERS THEN
	INSERT INTO told VALUES (s, NULL, SQLSTATE);
END $$;

-- Algorithm 5 with T63's steps in SQL: how many guesses are not those of the
-- hypothesis after all earlier updates, and the largest difference of a
-- probability.
CREATE FUNCTION replay(s bigint, n bigint, OUT updates bigint,
	OUT wrong bigint, OUT far double precision) LANGUAGE plpgsql AS $$
DECLARE
	u record;
	slack double precision := alpha FROM dp_pg.session WHERE id = s;
	eta double precision := details::json ->> 'step'
		FROM dp_pg.session WHERE id = s;
	down bool;
	p double precision;
	q double precision;
	move double precision;
BEGIN
	wrong := 0;
	updates := 0;
	CREATE TEMP TABLE cell AS SELECT a, b, 1::double precision AS w
	FROM generate_series(0, 15) a, generate_series(0, 15) b;
	FOR u IN SELECT * FROM dp_pg.session_above WHERE session = s
		ORDER BY number
	LOOP
		EXECUTE format('SELECT coalesce(sum(w) FILTER (WHERE %s), 0) / sum(w)
			FROM cell', u.predicate) INTO q;
		updates := updates + 1;
		wrong := wrong + (abs(n * q - u.guess) > 0.5 + 1e-6)::int;
		down := u.answer < u.guess;
		p := (u.answer + CASE WHEN down THEN slack ELSE -slack END) / n;
		p := least(greatest(p, 0.5 / n), 1 - 0.5 / n);
		move := ln(p / (1 - p)) - ln(q / (1 - q));
		move := CASE WHEN down THEN least(move, -eta)
			ELSE greatest(move, eta) END;
		EXECUTE format('UPDATE cell SET w = w * exp(%L::double precision)
			WHERE %s', move, u.predicate);
	END LOOP;
	SELECT max(abs(probability - w / total)) INTO far
	FROM dp_weights_hypothesis(s)
		AS t(a int, b int, probability double precision)
	JOIN cell USING (a, b)
	CROSS JOIN (SELECT sum(w) AS total FROM cell) AS whole;
	DROP TABLE cell;
END $$;

SET SESSION AUTHORIZATION owner;
CREATE TABLE pair (a int NOT NULL, b int NOT NULL);
INSERT INTO pair SELECT i % 4, i * i % 16 FROM generate_series(1, 1000) i;
SELECT dp_protect('pair', dataset => 'w');
SELECT dp_declare('pair', 'a', lower => 0, upper => 15);
SELECT dp_declare('pair', 'b', lower => 0, upper => 15);
SELECT dp_grant('alice', 'w', epsilon => 1e9, filter => 'basic');
EOT

# A session of alice; its number.
sub open_session
{
	my ($queries) = @_;

	return $node->safe_psql(
		'postgres',
		"SELECT dp_weights_open('pair', ARRAY['a', 'b'], $queries, 1000000,
			1000, alpha => 0.02)",
		extra_params => [ '-U', 'alice' ]);
}

sub as_alice
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', 'alice' ]);
}

# Many connections at once, each with some asks about random rectangles.
sub storm
{
	my ($session, $clients, $each) = @_;
	my $script = $node->basedir . '/storm.sql';

	unlink $script;
	append_to_file($script, <<"EOT");
\\set x random(0, 15)
\\set y random(0, 15)
\\set z random(0, 1)
SELECT try_ask($session, format('a <= %s AND b > %s AND (b %% 2 = %s)',
	:x, :y, :z));
EOT
	$node->command_ok(
		[
			'pgbench', '-n', '-U', 'alice', '-h', $node->host,
			'-p', $node->port, '-c', $clients, '-j', 1,
			'-t', $each, '-f', $script, 'postgres'
		],
		"$clients connections ask");
	return;
}

my $session = open_session(400);
my $charges = charges($node);

storm($session, 16, 30);
is( as_alice(
		"SELECT count(*) FILTER (WHERE updated IS NOT NULL),
			string_agg(DISTINCT state, ' ') FROM told"),
	'400|53400',
	'as many answers as questions were paid for, then "used up"');
is( as_alice(
		"SELECT asked, above = (SELECT count(*) FROM told WHERE updated),
			above > 20 FROM dp_pg.session WHERE id = $session"),
	'400|t|t',
	'each update was told to one');
is( as_alice(
		"SELECT wrong, far < 1e-9 FROM replay($session, 1000)"),
	'0|t',
	'each was decided with the hypothesis after all before it');
is(charges($node), $charges, 'asking charges nothing');

# With noise, whatever it is, and steps that it keeps short.
my $noisy = as_alice("SELECT dp_weights_open('pair', ARRAY['a', 'b'], 200, 150,
	1000)");
storm($noisy, 4, 40);
is( as_alice(
		"SELECT updates > 0, wrong, far < 1e-9 FROM replay($noisy, 1000)"),
	't|0|t',
	'noisy answers are learned from likewise');

# An update at every question, until there are none left.
my $short = open_session(40);
storm($short, 8, 3);
my $many = as_alice("SELECT above FROM dp_pg.session WHERE id = $short");
cmp_ok($many, '<=', 24, 'no more updates than questions');
as_alice("SELECT try_ask($short, format('a = %s AND b >= 0', i % 4))
	FROM generate_series(1, 60) i");
is( as_alice("SELECT asked, above <= 40 FROM dp_pg.session
	WHERE id = $short"),
	'40|t',
	'the limit holds in one connection');

# Two sessions in turn through one connection, and from afresh.
my $mixed = as_alice(join ';',
	map { "SELECT fraction FROM dp_weights_estimate($_, 'a < 4')" }
	  $session, $short, $session, $short);
my ($first, $second) = split /\n/, $mixed;
is($mixed, join("\n", ($first, $second) x 2), 'sessions do not mix');
isnt($first, $second, 'and differ');
$node->restart;
is( as_alice("SELECT fraction FROM dp_weights_estimate($session, 'a < 4')"),
	$first,
	'a restart keeps the hypothesis');
is(sqlstate($node, 'alice', "SELECT dp_weights_ask($session, 'true')"),
	'53400', 'and the limit');
is( sqlstate(
		$node, 'bob', "SELECT dp_weights_estimate($session, 'true')"),
	'42704',
	'another role has no such session');

$node->stop;
done_testing();
