# Parts of a partition: the largest one is charged, in the budget of the asking role
# and in the dataset's sums, whatever the order, concurrency or crash.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use List::Util qw(max sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = ledger_node('part', "log_statement = none\n");

sub as
{
	my ($user, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $user ]);
}

sub charge_sql
{
	my ($dataset, $epsilon, $partition, $part) = @_;

	return "SELECT dp_pg.charge('$dataset', 'm', $epsilon"
	  . (defined $part ? ", partition => $partition, part => '$part'" : '')
	  . ');';
}

sub spent
{
	my ($dataset, $role) = @_;

	return value($node, 'SELECT spent_epsilon FROM dp_pg.budget'
		  . " WHERE dataset = '$dataset' AND role_name = '$role'");
}

sub line
{
	my ($columns) = @_;

	return value($node,
		"SELECT $columns FROM dp_pg.ledger ORDER BY id DESC LIMIT 1");
}

# Do the sums follow from the lines?  In each component the sum of what was
# asked about no part, plus for each partition the largest part's sum.
sub sums_follow
{
	my ($dataset) = @_;

	return value($node, <<"EOT");
WITH line AS (
	SELECT payer, partition, part,
		coalesce(price_epsilon, epsilon) AS e,
		coalesce(price_rho, rho) AS r, coalesce(price_delta, delta) AS d
	FROM dp_pg.ledger WHERE dataset = '$dataset'),
part AS (
	SELECT payer, partition, sum(e) AS e, sum(r) AS r, sum(d) AS d,
		sum(e * e) AS s
	FROM line GROUP BY payer, partition, part),
mine AS (
	SELECT payer, partition, max(e) AS e, max(r) AS r, max(d) AS d,
		max(s) AS s
	FROM part GROUP BY payer, partition),
whole AS (
	SELECT partition, max(e) AS e, max(r) AS r, max(d) AS d, max(s) AS s
	FROM (SELECT partition, sum(e) AS e, sum(r) AS r, sum(d) AS d,
			sum(e * e) AS s FROM line GROUP BY partition, part) AS p
	GROUP BY partition)
SELECT NOT EXISTS (
		SELECT FROM dp_pg.budget AS b WHERE dataset = '$dataset'
		AND (spent_epsilon, spent_rho, spent_delta, spent_squares) IS DISTINCT
			FROM (SELECT (coalesce(sum(e), 0), coalesce(sum(r), 0),
				coalesce(sum(d), 0), coalesce(sum(s), 0))
				FROM mine WHERE payer = role_name))
	AND (SELECT (spent_epsilon, spent_rho, spent_delta, spent_squares)
		 FROM dp_pg.dataset WHERE name = '$dataset') =
		(SELECT (sum(e), sum(r), sum(d), sum(s)) FROM whole)
	AND (SELECT charges FROM dp_pg.dataset WHERE name = '$dataset') =
		(SELECT count(*) FROM line)
EOT
}

as('owner', <<'EOT');
SELECT dp_pg.open_dataset(d), dp_grant('alice', d, epsilon => 1000),
	dp_grant('bob', d, epsilon => 1000, delta => 1e-3)
FROM unnest('{a,random,race,renewed,repl,batch}'::name[]) AS d;
EOT
value($node, 'GRANT EXECUTE ON FUNCTION dp_pg.preview TO PUBLIC');
my $p = value($node, 'SELECT dp_pg.new_partition()');
my $q = value($node, 'SELECT dp_pg.new_partition()');

cmp_ok($q, '>', $p, 'numbers of partitions differ');

# ---- step by step ----

as('alice', charge_sql('a', 1, $p, 'north'));
is(spent('a', 'alice'), 1, 'the first part costs its price');
is(line('epsilon, price_epsilon, partition, part'),
	"1||$p|north", 'which the line says');
as('alice', charge_sql('a', 0.75, $p, 'south'));
is(spent('a', 'alice'), 1, 'a second part below it costs nothing');
is(line('epsilon, delta, rho, price_epsilon, part'),
	'0|0|0|0.75|south', 'but has a line with its price');
as('alice', charge_sql('a', 0.75, $p, 'south'));
is(spent('a', 'alice'), '1.5', 'above it: the rise');
is(line('epsilon, price_epsilon'), '0.5|0.75', 'is charged');
as('alice', charge_sql('a', 1, $q, 'north'));
is(spent('a', 'alice'), '2.5', 'another partition adds');
as('alice', charge_sql('a', 1));
is(spent('a', 'alice'), '3.5', 'as does a query about no part');
is(line('epsilon, price_epsilon, partition, part'), '1|||', 'as ever');
as('bob', charge_sql('a', 1, $p, 'south'));
is(spent('a', 'bob'), 1, 'another role pays for itself');
is(value($node, "SELECT spent_epsilon FROM dp_pg.dataset WHERE name = 'a'"),
	'4.5', 'the dataset: the rise over all roles');
as('bob', charge_sql('a', 1, $p, 'east'));
is(line('epsilon, price_epsilon'), '0|1', 'nothing in the budget');
as('bob', charge_sql('a', 1, $p, 'north'));
is(value($node, "SELECT spent_epsilon FROM dp_pg.dataset WHERE name = 'a'"),
	'4.5', 'nor in the dataset: north is at 2, south at 2.5');
is(sums_follow('a'), 't', 'the sums follow from the lines');
as('owner', charge_sql('a', 3, $p, 'east'));
is(line('payer, epsilon, price_epsilon'),
	'|1.5|3', 'the owner: what the dataset grows by');
is(value($node, "SELECT spent_epsilon FROM dp_pg.dataset WHERE name = 'a'"),
	'6', 'as the cap counts');
is( value(
		$node, 'SELECT part, spent_epsilon, charges FROM dp_pg.part'
		  . " WHERE dataset = 'a' AND payer_oid = 0 AND partition = $p"
		  . ' ORDER BY 1'),
	"|4|7\neast|4|2\nnorth|2|2\nsouth|2.5|3",
	'parts and their maximum');

# The preview says what would be charged.
foreach my $case (
	[ 'alice', "1, partition => $p, part => 'south'", '1|0||' ],
	[ 'alice', "1, partition => $p, part => 'north'", '0.5|0||' ],
	[ 'alice', "0.5, partition => $p, part => 'north'", '0|0||' ],
	[ 'bob', "1, partition => $p, part => 'north'", '1|0||' ],
	[ 'bob', "1, partition => $q, part => 'north'", '1|0||' ],
	[ 'bob', '1', '1|0||' ],
	[ 'owner', "2, partition => $p, part => 'south'", '0.5|0||' ])
{
	is( value(
			$node, "SET SESSION AUTHORIZATION $case->[0];"
			  . ' SELECT epsilon, delta, batch, batch_left'
			  . " FROM dp_pg.preview('a', 'm', $case->[1])"),
		$case->[2],
		"preview for $case->[0]: $case->[1]");
}

# A budget that is spent still answers about the other parts.
as('owner', "SELECT dp_grant('alice', 'a', epsilon => 3.5, filter => 'basic')");
is(sqlstate($node, 'alice', charge_sql('a', 0.1)), '53400', 'spent');
is(sqlstate($node, 'alice', charge_sql('a', 0.1, $p, 'south')),
	'53400', 'the largest part too');
is(sqlstate($node, 'alice', charge_sql('a', 0.5, $p, 'north')),
	'', 'but not the others');
is(sqlstate($node, 'alice', charge_sql('a', 0.5, $p, 'north')),
	'53400', 'up to the largest');
is(sqlstate($node, 'alice', charge_sql('a', 1.5, $p, 'west')),
	'', 'nor one that was never asked about');
is(spent('a', 'alice'), '3.5', 'and nothing was spent');
as('owner', "SELECT dp_limit('a', epsilon => 6, filter => 'basic')");
is(sqlstate($node, 'bob', charge_sql('a', 2.5, $p, 'west')),
	'', 'a cap that is spent: up to the largest part');
is(sqlstate($node, 'bob', charge_sql('a', 0.1, $p, 'west')),
	'53400', 'not beyond');

# Without a pure epsilon.
as('owner', "SELECT dp_unlimit('a')");
as('bob', charge_sql('a', 0.25, $q, 'south'));
as('bob', "SELECT dp_pg.charge('a', 'm', NULL, 0, 0.5, $q, 'south')");
is(line('epsilon, rho, price_epsilon'),
	'Infinity|0.5|', 'an impure charge to a part');
as('bob', "SELECT dp_pg.charge('a', 'm', NULL, 0, 0.001, $q, 'east')");
is(line('epsilon, rho, price_epsilon, price_rho'),
	'0|0|Infinity|0.001', 'one to another part');

foreach my $arguments (
	"partition => $p",
	"part => 'north'",
	"partition => 0, part => 'north'",
	"partition => -1, part => 'north'",
	"partition => $p, part => ''")
{
	is( sqlstate(
			$node, 'alice', "SELECT dp_pg.charge('a', 'm', 1, $arguments)"),
		'22023',
		$arguments);
}
is(sqlstate($node, 'alice', 'SELECT dp_pg.new_partition()'),
	'42501', 'partitions are not for everybody');
is(as('alice', 'SELECT count(*) FROM dp_pg.part'),
	0, 'an analyst does not see the sums of parts');
cmp_ok(as('owner', 'SELECT count(*) FROM dp_pg.part'),
	'>', 0, 'the owner does');

# ---- random charges against sums made here ----

srand(42);
my (%seq, %part);

for (1 .. 200)
{
	my $role = (qw(alice bob))[ int rand 2 ];
	my $milli = 1 + int rand 300;
	my $where = int rand 5;
	my $partition = $where == 0 ? undef : $where < 3 ? $p : $q;
	my $key = (qw(x y z))[ int rand 3 ];
	my %before = map { $_ => total($_) } $role;
	my $epsilon = sprintf '%.3f', $milli / 1000;

	if (defined $partition)
	{
		$part{$role}{$partition}{$key} += $milli;
		$part{''}{$partition}{$key} += $milli;
	}
	else
	{
		$seq{$_} += $milli for $role, '';
	}
	push @main::script,
	  "SET ROLE $role;"
	  . charge_sql('random', $epsilon, $partition,
		defined $partition ? $key : undef);
	push @main::expected, sprintf '%.3f',
	  (total($role) - $before{$role}) / 1000;
}

sub total
{
	my ($role) = @_;

	return ($seq{$role} // 0)
	  + sum0(map { max(values %$_) } values %{ $part{$role} // {} });
}

value($node, join("\n", @main::script));
is( value(
		$node, "SELECT string_agg(round(epsilon, 3)::text, ' ' ORDER BY id)"
		  . " FROM dp_pg.ledger WHERE dataset = 'random'"),
	join(' ', @main::expected),
	'200 random charges are charged what they should');
is( value(
		$node, "SELECT round(spent_epsilon * 1000) FROM dp_pg.dataset"
		  . " WHERE name = 'random'"),
	total(''),
	'the dataset has the sum over all roles');
is(sums_follow('random'), 't', 'in all components');

# ---- under replace one, no discount ----

as('owner', "SELECT dp_neighbours('repl', 'replace_one')");
as('alice', charge_sql('repl', 1, $p, 'north'));
as('alice', charge_sql('repl', 1, $p, 'south'));
is(spent('repl', 'alice'), 2, 'replace_one: a unit may be in both');
is(line('epsilon, price_epsilon, partition, part'), '1|||', 'no part');

# ---- a batch first ----

my $id = as('alice', "SELECT dp_batch_open('batch', 0.1, 2)");
as('alice', charge_sql('batch', 0.1, $p, 'north'));
is(line('epsilon, price_epsilon, batch, partition'),
	"0|0.1|$id|", 'a batch has paid for a query about a part');
as('alice', charge_sql('batch', 0.5, $p, 'north'));
is(line('epsilon, batch, partition'), "0.5||$p", 'beyond it the part pays');

# ---- renewal: parts begin anew, the dataset does not ----

as('owner', "SELECT dp_grant('alice', 'renewed', epsilon => 1,"
	  . " filter => 'basic', renew => '1 day')");
as('alice', charge_sql('renewed', 1, $p, 'north'));
as('alice', charge_sql('renewed', 0.25, $p, 'south'));
value($node, "UPDATE dp_pg.budget SET period_start = period_start"
	  . " - interval '25 hours' WHERE dataset = 'renewed'");
as('alice', charge_sql('renewed', 0.5, $p, 'south'));
is(line('epsilon, price_epsilon'), '0.5|', 'the new period pays again');
is(sqlstate($node, 'alice', charge_sql('renewed', 0.75, $p, 'south')),
	'53400', 'and is bounded');
is(sqlstate($node, 'alice', charge_sql('renewed', 0.5, $p, 'north')),
	'', 'by its largest part');
is(line('epsilon, price_epsilon'), '0|0.5', 'of this period');
is( value(
		$node, 'SELECT spent_epsilon, total_epsilon FROM dp_pg.budget'
		  . " WHERE dataset = 'renewed' AND role_name = 'alice'"),
	'0.5|1.5',
	'the total adds up periods');
is( value(
		$node, 'SELECT spent_epsilon FROM dp_pg.dataset'
		  . " WHERE name = 'renewed'"),
	'1.5',
	'the dataset has the largest part of all times');

# ---- concurrency: exactly the budget in every part ----

value($node, <<'EOT');
CREATE FUNCTION try_part(bigint, text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dp_pg.charge('race', 'm', 0.1, partition => $1, part => $2);
	RETURN true;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN false;
END $$;
EOT
as('owner', "SELECT dp_grant('alice', 'race', epsilon => 5,"
	  . " filter => 'basic')");

sub load
{
	my ($sql, $clients, @how_long) = @_;
	my $script = $node->basedir . '/part.sql';
	my $load = { out => '' };

	unlink $script;
	append_to_file($script, $sql);
	$load->{h} = IPC::Run::start(
		[
			'pgbench', '-n', '-U', 'alice', '-h', $node->host, '-p',
			$node->port, '-c', $clients, '-j', 1, @how_long, '-f',
			$script, 'postgres'
		],
		'<', '/dev/null', '>&', \$load->{out},
		IPC::Run::timeout(120));
	return $load;
}

load("\\set k random(1, 4)\nSELECT try_part($p, 'p' || :k);\n",
	48, '-t', 20)->{h}->finish;
is( value(
		$node, "SELECT string_agg(part || ' ' || n, ', ' ORDER BY part) FROM"
		  . ' (SELECT part, count(*) AS n FROM dp_pg.ledger'
		  . " WHERE dataset = 'race' GROUP BY part) AS x"),
	'p1 50, p2 50, p3 50, p4 50',
	'48 sessions, 960 requests: 50 of 0.1 in each of four parts');
is(spent('race', 'alice'), 5, 'and exactly the budget is spent');
is(sums_follow('race'), 't', 'the sums follow from the lines');

# ---- kill -9 under load ----

as('owner', "SELECT dp_pg.open_dataset('crash');"
	  . " SELECT dp_grant('alice', 'crash', epsilon => 1e6)");
for my $kind (qw(worker postmaster worker postmaster))
{
	my $known = charges($node);
	my $load = load(
		"\\set k random(1, 3)\n\\set e random(1, 20)\n"
		  . "SELECT dp_pg.charge('crash', 'm', :e * 0.001,"
		  . " partition => $p, part => 'p' || :k);\n",
		16, '-T', 60);
	my ($pid, $acknowledged);

	wait_until($node, "SELECT count(*) > $known + 40 FROM dp_pg.ledger");
	usleep(rand(200_000));
	if ($kind eq 'postmaster')
	{
		$node->kill9;
	}
	else
	{
		$pid = worker_pid($node);
		kill 9, $pid if $pid;
	}
	$load->{h}->finish;
	($acknowledged) =
	  $load->{out} =~ /transactions actually processed: (\d+)/;
	if ($kind eq 'postmaster')
	{
		start_patiently($node) or BAIL_OUT('server does not start');
	}
	else
	{
		wait_ready($node) or BAIL_OUT('server does not come back');
	}
	cmp_ok(charges($node) - $known,
		'>=', $acknowledged, "$kind: nothing acknowledged was lost");
	is(sums_follow('crash'), 't', "$kind: the sums follow from the lines");
}

# ---- a restore keeps totals and begins anew with the parts ----

my $dump = $node->basedir . '/dump.sql';
my $all = spent('crash', 'alice');

command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ],
	'dump');
value($node, 'CREATE DATABASE other');
command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d',
		$node->connstr('other'), '-f', $dump
	],
	'restore');
is( $node->safe_psql(
		'other', 'SELECT (SELECT count(*) FROM dp_pg.part), spent_epsilon'
		  . " FROM dp_pg.budget WHERE dataset = 'crash'"
		  . " AND role_name = 'alice'"),
	"0|$all",
	'totals are there, parts are not');
is( sqlstate(
		$node, 'alice', charge_sql('crash', 0.001, $p, 'p1'), 'other'),
	'',
	'a charge');
is( $node->safe_psql(
		'other', "SELECT spent_epsilon - $all FROM dp_pg.budget"
		  . " WHERE dataset = 'crash' AND role_name = 'alice'"),
	'0.001',
	'costs its whole price again');

$node->stop;
done_testing();
