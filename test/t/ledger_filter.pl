# The filter "advanced" and the odometer, through SQL.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = ledger_node('filter');

sub as
{
	my ($user, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $user ]);
}

# Charges of one size until one is refused; returns how many were admitted.
value($node, <<'EOT');
CREATE FUNCTION spend(dataset name, epsilon numeric, most int) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. most LOOP
		PERFORM dp_pg.charge(dataset, 'm', epsilon);
	END LOOP;
	RETURN most;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN -1;
END $$;
EOT

sub hint_of
{
	my ($user, $sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $sql,
		extra_params => [ '-U', $user ]);

	return $err =~ /HINT:\s+(.*)/ ? $1 : '';
}

# (1, d' = 1e-6): 349 charges of 0.01, by the oracle's filter_max_calls.csv.
as('owner', "SELECT dp_grant('alice', 'h', epsilon => 1, delta => 2e-6,"
	  . " filter => 'advanced')");
is( as('alice', "SET dp_pg.epsilon = 0.01;"
		  . " SELECT filter, calls_left FROM dp_pg.my_budget"),
	'advanced|349',
	'calls left under filter advanced');
is(as('alice', "SELECT spend('h', 0.01, 349)"), 349, '349 charges of 0.01');
is(as('alice', "SELECT spend('h', 0.01, 1)"), -1, 'not one more');
is(as('alice', "SELECT spend('h', 0.001, 1)"), 1, 'a smaller one fits');
is( value(
		$node, "SELECT spent_squares, total_squares FROM dp_pg.budget"
		  . " WHERE role_name = 'alice'"),
	'0.034901|0.034901',
	'sums of squares are exact');
is( as(
		'alice', 'SELECT remaining_epsilon < 0.01, remaining_epsilon > 0'
		  . ' FROM dp_pg.my_budget'),
	't|t',
	'what remains fits the sum of squares');

# The sums survive a crash.
$node->kill9;
start_patiently($node) or BAIL_OUT('server does not start');
is(as('alice', "SELECT spend('h', 0.01, 1)"), -1, 'spent after a crash');
is( value(
		$node, "SELECT spent_squares FROM dp_pg.budget"
		  . " WHERE role_name = 'alice'"),
	'0.034901',
	'sums of squares survive');
is( value(
		$node, 'SELECT spent_squares FROM dp_pg.dataset'),
	'0.034901',
	'those of the dataset too');

# A mechanism without a pure epsilon has no place there.
as('owner', "SELECT dp_grant('bob', 'h', epsilon => 1, delta => 2e-6,"
	  . " filter => 'advanced')");
my $impure = "SELECT dp_pg.charge('h', 'gaussian', NULL, 1e-9, 0.001)";
is(sqlstate($node, 'bob', $impure), '53400', 'an infinite epsilon is refused');
like(hint_of('bob', $impure), qr/pure epsilon.*zcdp or best/,
	'with the filters that admit it');
as('owner', "SELECT dp_grant('bob', 'h', epsilon => 1, delta => 2e-6)");
is(sqlstate($node, 'bob', $impure), '', 'filter best admits it');
as('owner', "SELECT dp_grant('bob', 'h', epsilon => 1, delta => 2e-6,"
	  . " filter => 'advanced')");
is(sqlstate($node, 'bob', "SELECT dp_pg.charge('h', 'm', 0.01)"),
	'53400', 'after it advanced admits nothing');
like(hint_of('bob', "SELECT dp_pg.charge('h', 'm', 0.01)"),
	qr/charged before/, 'and says why');
is( value(
		$node, "SELECT spent_epsilon, spent_squares FROM dp_pg.budget"
		  . " WHERE role_name = 'bob'"),
	'Infinity|Infinity',
	'both sums are infinite');

# Caps, and the sum of deltas.
as('owner', <<'EOT');
SELECT dp_pg.open_dataset('capped');
SELECT dp_grant('alice', 'capped', epsilon => 100);
SELECT dp_grant('bob', 'capped', epsilon => 100);
SELECT dp_limit('capped', epsilon => 1, delta => 2e-6, filter => 'advanced');
EOT
is(as('alice', "SELECT spend('capped', 0.02, 50)"), 50, 'alice below the cap');
is(as('bob', "SELECT spend('capped', 0.02, 37)"), 37, 'bob up to it: 87');
is(sqlstate($node, 'bob', "SELECT dp_pg.charge('capped', 'm', 0.02)"),
	'53400', 'a cap with filter advanced holds');
as('owner', "SELECT dp_limit('capped', epsilon => 50, delta => 2e-6,"
	  . " filter => 'advanced')");
as('owner', "SELECT dp_grant('alice', 'capped', epsilon => 50,"
	  . " delta => 2e-6, filter => 'advanced')");
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('capped', 'm', 0.1, 1e-6)"),
	'', 'delta up to its half');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('capped', 'm', 0.1, 1e-24)"),
	'53400', 'and not beyond');

# A new period begins with no squares; the total goes on.
as('owner', "SELECT dp_pg.open_dataset('renewed');"
	  . " SELECT dp_grant('alice', 'renewed', epsilon => 1, delta => 2e-6,"
	  . " filter => 'advanced', renew => '2 seconds')");
is(as('alice', "SELECT spend('renewed', 0.18, 1)"), 1, 'most of a period');
wait_until($node, "SELECT renewal IS NULL FROM dp_pg.budgets"
	  . " WHERE dataset = 'renewed'");
is(as('alice', "SELECT spend('renewed', 0.18, 1)"), 1, 'the next period');
is( value(
		$node, "SELECT spent_squares, total_squares FROM dp_pg.budget"
		  . " WHERE dataset = 'renewed'"),
	'0.0324|0.0648',
	'squares begin anew, the total does not');

# Calls left are those of the mechanism that is set: (1, 1e-6) by filter best
# admits 12 Laplace counts of 0.077, and 98 Gaussian ones of (0.077, 1e-6).
as('owner', "SELECT dp_pg.open_dataset('settings');"
	  . " SELECT dp_grant('alice', 'settings', epsilon => 1, delta => 1e-6)");
foreach my $case (
	[ 'laplace', "''", 12 ],
	[ 'gaussian', "'1e-6'", 98 ],
	[ 'gaussian', "''", '' ])
{
	is( as(
			'alice', "SET dp_pg.epsilon = 0.077; SET dp_pg.delta = $case->[1];"
			  . " SET dp_pg.mechanism = $case->[0];"
			  . ' SELECT calls_left FROM dp_pg.my_budget'
			  . " WHERE dataset = 'settings'"),
		$case->[2],
		"calls left: $case->[0], delta $case->[1]");
}

# ---- the odometer ----

# What PROOFS.md P4 says for a sum of rho.
sub odometer
{
	my ($rho, $delta) = @_;
	my $pi = atan2(0, -1);
	my $j = 0;

	$j++ while 2**($j - 10) < $rho;
	my $r = 2**($j - 10);
	my $d = 6 * $delta / ($pi**2 * ($j + 1)**2);
	return $r + 2 * sqrt($r * log(1 / $d));
}

sub statement
{
	my ($user, $arguments) = @_;

	return split /\|/,
	  as($user, "SELECT * FROM dp_odometer_statement($arguments)");
}

my @s = statement('alice', "'h', 1e-9");
is("$s[0]|$s[1]|$s[2]", 'h|alice|350', 'about the asking role');
is($s[4], '3.491', 'basic composition: the sum of epsilons');
is($s[5], '0', 'and of deltas');
cmp_ok(abs($s[6] / odometer($s[3], 1e-9) - 1),
	'<', 1e-12, 'odometer by P4');
cmp_ok($s[7], '==', 1e-9, 'with its delta');
cmp_ok($s[6], '<', $s[4], 'here it says more');
@s = statement('alice', "'capped', 1e-9::float8");
cmp_ok($s[7], '==', 1e-9 + 1e-6, 'deltas of charges are added');
cmp_ok(abs($s[6] / odometer($s[3], 1e-9) - 1), '<', 1e-12, 'float8 delta');
@s = statement('bob', "'h', 1e-9");
is($s[4], 'Infinity', 'no basic statement after an impure mechanism');
cmp_ok(abs($s[6] / odometer(0.001, 1e-9) - 1),
	'<', 1e-12, 'but one by the odometer');
@s = statement('owner', "'h', 1e-9");
is("$s[1]|$s[2]", '|351', 'the owner sees what everybody has spent');
is(join('|', statement('owner', "'h', 1e-9, 'alice'")),
	join('|', statement('alice', "'h', 1e-9")),
	'and asks about any role');
@s = statement('postgres', "'renewed', 0.5, 'alice'");
is("$s[2]|$s[4]", '2|0.36', 'over all periods');

# Groups: a member has seen what its group has; revoked budgets count.
value($node, <<'EOT');
CREATE ROLE staff;
CREATE ROLE carol LOGIN IN ROLE staff;
CREATE ROLE dave LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('staff', 'h', epsilon => 5);
EOT
as('carol', "SELECT dp_pg.charge('h', 'm', 0.5)");
as('owner', "SELECT dp_grant('carol', 'h', epsilon => 5)");
as('carol', "SELECT dp_pg.charge('h', 'm', 0.25)");
as('owner', "SELECT dp_revoke('staff', 'h')");
@s = statement('carol', "'h', 1e-9");
is("$s[2]|$s[4]", '2|0.75', 'own and group spending');
@s = statement('carol', "'h', 1e-9, 'staff'");
is("$s[2]|$s[4]", '1|0.5', 'a member asks about its group');

foreach my $case (
	[ '42501', 'carol', "'h', 1e-9, 'alice'" ],
	[ '42501', 'dave', "'h', 1e-9" ],
	[ '42704', 'owner', "'h', 1e-9, 'ghost'" ],
	[ '42704', 'alice', "'ghost', 1e-9" ],
	[ '42704', 'alice', "NULL, 1e-9" ],
	[ '22023', 'alice', "'h', 0" ],
	[ '22023', 'alice', "'h', 1" ],
	[ '22023', 'alice', "'h', -0.1" ],
	[ '22023', 'alice', "'h', NULL" ],
	[ '22023', 'alice', "'h', 'NaN'::float8" ],
	[ '22023', 'alice', "'h', 1e-25" ])
{
	is( sqlstate(
			$node, $case->[1],
			"SELECT * FROM dp_odometer_statement($case->[2])"),
		$case->[0],
		"$case->[1]: $case->[2]");
}
is(charges($node), 350 + 1 + 87 + 1 + 2 + 2, 'no statement was charged');

$node->stop;
done_testing();
