# The data owner's building blocks across connections and servers: no overspending,
# nothing refunded by a crash or a cancel, none on a standby.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = ledger_node('primary');

$primary->safe_psql('postgres', <<'EOT');
GRANT EXECUTE ON FUNCTION
	dp_laplace(anyelement, numeric, numeric, name, numeric),
	dp_laplace(anyelement, float8, float8, name, float8) TO owner;
SET SESSION AUTHORIZATION owner;
CREATE TABLE person (id int PRIMARY KEY);
INSERT INTO person SELECT generate_series(1, 10);
CREATE FUNCTION people(epsilon numeric) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
RETURN dp_laplace((SELECT count(*) FROM person), 1, epsilon, 'h');
SELECT dp_grant('bob', 'h', epsilon => 10, filter => 'basic');
EOT

sub spent
{
	my ($node, $role) = @_;

	return $node->safe_psql('postgres',
		"SELECT spent_epsilon FROM dp_pg.budgets WHERE role = '$role'");
}

# ---- eight sessions on a budget of ten ----

my @runs;

foreach my $i (1 .. 8)
{
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start(
		[
			'psql', '-XAtq', '-U', 'bob', '-d',
			$primary->connstr('postgres'),
			map { ('-c', 'SELECT 1 FROM people(1.0)') } 1 .. 5
		],
		'>', \$out, '2>', \$err);
	push @runs, [ $run, \$out, \$err ];
}
my ($answers, $refusals) = (0, 0);
foreach my $run (@runs)
{
	$run->[0]->finish;
	$answers += () = ${ $run->[1] } =~ /^1$/gm;
	$refusals += () = ${ $run->[2] } =~ /is exhausted/g;
}
is($answers, 10, 'eight sessions get ten answers');
is($refusals, 30, 'and thirty refusals');
is(spent($primary, 'bob'), '10', 'which is what was spent');

# ---- a cancel and a crash refund nothing ----

is( sqlstate(
		$primary, 'alice',
		"SET statement_timeout = '20s'; SELECT people(1.0), pg_sleep(120)"),
	'57014',
	'cancelled after its answer was drawn');
is(spent($primary, 'alice'), '1', 'and charged');

my $s = session($primary, 'alice');
ask($s, 'BEGIN; SELECT people(2.0);');
answer($s);
$primary->stop('immediate');
start_patiently($primary);
is(spent($primary, 'alice'), '3', 'charged though the server crashed');
hang_up($s);

# ---- a standby ----

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
is(sqlstate($standby, 'alice', 'SELECT people(1.0)'),
	'25006', 'a standby does not answer');
is(sqlstate($standby, 'owner', 'SELECT people(1.0)'),
	'25006', 'its owner neither');
$standby->stop;
$primary->stop;
done_testing();
