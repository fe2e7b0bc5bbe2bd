# Everything at once: plain charges, parts, batches, caps, renewal, two roles,
# errors and a worker that is killed.  The sums always follow from the lines.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant CLIENTS => 12;

my $node = ledger_node('mix', <<'EOT');
autovacuum = off
log_statement = none
log_min_error_statement = panic
EOT
my @numbers;

value($node, <<'EOT');
CREATE FUNCTION act(what int, e numeric, p bigint, key int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	CASE
		WHEN what < 6 THEN
			PERFORM dp_pg.charge('h', 'plain', e);
		WHEN what < 12 THEN
			PERFORM dp_pg.charge('h', 'part', e, 1e-9, partition => p,
				part => 'p' || key);
		WHEN what < 14 THEN
			PERFORM dp_pg.charge('h', 'impure', NULL, 1e-9, e,
				partition => CASE WHEN what = 13 THEN p END,
				part => CASE WHEN what = 13 THEN 'p' || key END);
		WHEN what < 15 THEN
			PERFORM dp_batch_open('h', 0.005, 20, 1e-9);
		ELSE
			PERFORM dp_batch_close(id) FROM dp_pg.my_batches
			WHERE state IN ('open', 'used up');
	END CASE;
	RETURN '';
EXCEPTION WHEN configuration_limit_exceeded
	OR object_not_in_prerequisite_state OR undefined_object THEN
	RETURN SQLSTATE;
END $$;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('alice', 'h', epsilon => 1e5, delta => 0.1);
SELECT dp_grant('bob', 'h', epsilon => 1e5, delta => 0.1, renew => '2 seconds');
SELECT dp_limit('h', epsilon => 2e5, delta => 0.2);
EOT
push @numbers, value($node, 'SELECT dp_pg.new_partition()') for 1 .. 2;

sub start_load
{
	my ($user, $seconds) = @_;
	my $script = $node->basedir . '/mix.sql';
	my $load = { out => '' };

	unlink $script;
	append_to_file($script,
		    "\\set what random(0, 15)\n\\set e random(1, 9)\n"
		  . "\\set p random($numbers[0], $numbers[1])\n"
		  . "\\set key random(1, 3)\n"
		  . "SELECT act(:what, :e * 0.001, :p, :key);\n");
	$load->{h} = IPC::Run::start(
		[
			'pgbench', '-n', '-U', $user, '-h', $node->host, '-p',
			$node->port, '-c', CLIENTS, '-j', 1, '-T', $seconds, '-f',
			$script, 'postgres'
		],
		'<', '/dev/null', '>&', \$load->{out},
		IPC::Run::timeout(120));
	return $load;
}

# What was asked about no part was charged as the line says: the whole price,
# or nothing in a batch.  A part was charged the rise of the largest.
my $sums = <<'EOT';
WITH line AS (
	SELECT payer, partition, part, coalesce(price_epsilon, epsilon) AS e,
		coalesce(price_rho, rho) AS r, coalesce(price_delta, delta) AS d
	FROM dp_pg.ledger WHERE partition IS NOT NULL
	UNION ALL
	SELECT payer, NULL, NULL, epsilon, rho, delta
	FROM dp_pg.ledger WHERE partition IS NULL),
part AS (
	SELECT payer, partition, sum(e) AS e, sum(r) AS r, sum(d) AS d
	FROM line GROUP BY payer, partition, part),
alice AS (
	SELECT partition, max(e) AS e, max(r) AS r, max(d) AS d
	FROM part WHERE payer = 'alice' GROUP BY partition),
whole AS (
	SELECT partition, max(e) AS e, max(r) AS r, max(d) AS d
	FROM (SELECT partition, sum(e) AS e, sum(r) AS r, sum(d) AS d
		FROM line GROUP BY partition, part) AS p GROUP BY partition)
SELECT (SELECT (spent_epsilon, spent_rho, spent_delta) FROM dp_pg.budget
		WHERE role_name = 'alice') =
		(SELECT (sum(e), sum(r), sum(d)) FROM alice),
	(SELECT (spent_epsilon, spent_rho, spent_delta) FROM dp_pg.dataset) =
		(SELECT (sum(e), sum(r), sum(d)) FROM whole),
	-- charges of a role are what its lines say, over all periods
	NOT EXISTS (SELECT FROM dp_pg.budget AS b
		WHERE (total_rho, total_delta) <>
			(SELECT sum(rho), sum(delta) FROM dp_pg.ledger AS l
			 WHERE l.payer = b.role_name)),
	(SELECT charges FROM dp_pg.dataset) =
		(SELECT count(*) FROM dp_pg.ledger),
	-- a batch holds as many lines as it says, none of them above its price
	NOT EXISTS (SELECT FROM dp_pg.batch AS x
		JOIN dp_pg.ledger AS l ON l.batch = x.id
		GROUP BY x.id HAVING used > queries OR used <> count(*) - 1
		OR bool_or(l.id <> x.id AND (l.epsilon <> 0
			OR l.price_epsilon > x.epsilon OR l.at < x.opened
			OR l.at > x.closed + interval '1 s')))
EOT

for my $round (1 .. 3)
{
	my $known = charges($node);
	my @load = map { start_load($_, $round == 1 ? 3 : 60) } 'alice', 'bob';

	if ($round > 1)
	{
		my $pid;

		wait_until($node,
			"SELECT count(*) > $known + 200 FROM dp_pg.ledger");
		$pid = worker_pid($node);
		kill 9, $pid if $pid;
	}
	$_->{h}->finish for @load;
	wait_ready($node) or BAIL_OUT('server does not come back');
	is(value($node, $sums), 't|t|t|t|t',
		"round $round: sums, totals, lines and batches agree");
}
cmp_ok(charges($node), '>', 500, 'there was something to count');

# Of 500 charges one in sixteen or more is of each kind; the rarest, a part
# without a pure epsilon that rises by less than its price, is every thirtieth:
# none of them in 10^7 runs.
foreach my $kind (
	"mechanism = 'part' AND epsilon = 0 AND price_epsilon > 0",
	"mechanism = 'part' AND rho > 0 AND rho < price_rho",
	"mechanism = 'plain' AND batch IS NOT NULL",
	"mechanism = 'plain' AND batch IS NULL",
	"mechanism = 'impure' AND price_rho > rho",
	"mechanism LIKE 'batch of%' AND epsilon > 0")
{
	cmp_ok(
		value($node, "SELECT count(*) FROM dp_pg.ledger WHERE $kind"),
		'>', 0, "among it: $kind");
}
cmp_ok(value($node, "SELECT period FROM dp_pg.budget WHERE role_name = 'bob'"),
	'>', 1, 'and renewals');

$node->stop;
done_testing();
