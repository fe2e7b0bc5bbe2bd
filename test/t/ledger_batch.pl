# Batches: queries that are paid for together.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('batch');

sub as
{
	my ($user, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $user ]);
}

# SQLSTATE of a charge on dataset b.
sub ask_for
{
	my ($user, $arguments) = @_;

	return sqlstate($node, $user, "SELECT dp_pg.charge('b', 'm', $arguments)");
}

# The last line of the ledger.
sub line
{
	my ($columns) = @_;

	return value($node,
		"SELECT $columns FROM dp_pg.ledger ORDER BY id DESC LIMIT 1");
}

sub spent
{
	my ($role) = @_;

	return value($node, "SELECT spent_epsilon, spent_delta, charges"
		  . " FROM dp_pg.budget WHERE dataset = 'b' AND role_name = '$role'");
}

as('owner', <<'EOT');
SELECT dp_pg.open_dataset('b');
SELECT dp_pg.open_dataset('c');
SELECT dp_grant('alice', 'b', epsilon => 100, delta => 1e-3);
SELECT dp_grant('bob', 'b', epsilon => 100, delta => 1e-3);
SELECT dp_grant('alice', 'c', epsilon => 100);
EOT

value($node, 'GRANT EXECUTE ON FUNCTION dp_pg.preview TO PUBLIC');

sub preview
{
	my ($user, $arguments) = @_;

	return as($user, 'SELECT epsilon, batch, batch_left'
		  . " FROM dp_pg.preview('b', 'm', $arguments)");
}

# ---- one batch from its beginning to its end ----

my $id = as('alice', "SELECT dp_batch_open('b', 0.1, 4)");

is(line("id, role, payer, epsilon, delta, releases, batch"),
	"$id|alice|alice|0.4|0|4|$id", 'the batch is one charge');
is(spent('alice'), '0.4|0|1', 'of the whole price');
is( as(
		'alice', 'SELECT id, dataset, state, epsilon, queries, used, method,'
		  . ' charged_epsilon, charged_delta FROM dp_pg.my_batches'),
	"$id|b|open|0.1|4|0|basic|0.4|0",
	'which the role can see');
is(as('bob', 'SELECT count(*) FROM dp_pg.batch'), 0, 'others cannot');
is(as('owner', 'SELECT count(*) FROM dp_pg.batch'), 1, 'the owner can');
is(preview('alice', '0.1'), "0|$id|4", 'preview: the batch pays');
is(preview('alice', '0.2'), '0.2||', 'or not');
is(preview('bob', '0.1'), '0.1||', 'for nobody else');
is(preview('owner', '0.1'), '0.1||', 'nor for the owner');
is(ask_for('alice', '0.1'), '', 'a query of the batch');
is(line('epsilon, delta, rho, price_epsilon, price_delta, batch'),
	"0|0|0|0.1|0|$id", 'costs nothing but a line');
is(spent('alice'), '0.4|0|2', 'which is counted');
is(ask_for('alice', '0.05'), '', 'a smaller one takes a whole query');
is(ask_for('alice', '0.10000001'), '', 'a larger one is none of the batch');
is(line('epsilon, price_epsilon, batch'),
	'0.10000001||', 'and charged as ever');
is(ask_for('alice', '0.1, 1e-9'), '', 'nor is one with a delta');
is(line('epsilon, delta, batch'), '0.1|0.000000001|', 'charged as ever');
is(ask_for('alice', 'NULL, 0, 0.0001'), '', 'nor one without epsilon');
is(line('epsilon, batch'), 'Infinity|', 'charged as ever');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('c', 'm', 0.1)"),
	'', 'another dataset');
is(line('epsilon, batch'), '0.1|', 'has no batch');
is(ask_for('bob', '0.1'), '', 'another role');
is(line('epsilon, batch'), '0.1|', 'has no batch');
is( as(
		'alice', 'SELECT state, used FROM dp_pg.my_batches'),
	'open|2',
	'two of four were asked');
is(ask_for('alice', '0.1'), '', 'the third');
is(ask_for('alice', '0.1'), '', 'the fourth');

my $count = charges($node);
my ($rc, $out, $err) = $node->psql(
	'postgres',
	"SELECT dp_pg.charge('b', 'm', 0.1)",
	extra_params => [ '-U', 'alice' ]);

like($err, qr/batch $id .*used up/, 'used up: refused');
like($err, qr/HINT:.*dp_batch_close\($id\)/, 'with a way to go on');
is(ask_for('alice', '0.1'), '53400', 'as an exhausted budget');
is(charges($node), $count, 'and not charged');
is(ask_for('alice', '0.2'), '', 'what the batch does not cover goes on');
is(as('alice', 'SELECT state FROM dp_pg.my_batches'), 'used up', 'its state');
is(preview('alice', '0.1'), "0|$id|0", 'preview: nothing is left');
is(as('alice', "SELECT dp_batch_close($id)"), 0, 'closed: nothing was left');
is(as('alice', 'SELECT state FROM dp_pg.my_batches'), 'closed', 'its state');
is(ask_for('alice', '0.1'), '', 'the budget pays again');
is(line('epsilon, batch'), '0.1|', 'the whole price');

# ---- its price ----

sub price
{
	my ($arguments) = @_;
	my $new = as('alice', "SELECT dp_batch_open('b', $arguments)");
	my @row = split /\|/,
	  value($node, 'SELECT l.epsilon, l.delta, l.rho, x.method'
		  . ' FROM dp_pg.ledger l JOIN dp_pg.batch x USING (id)'
		  . " WHERE id = $new");

	as('alice', "SELECT dp_batch_close($new)");
	return @row;
}

my @basic = price("0.01, 500, method => 'basic', delta_slack => 1e-6");
my @advanced = price("0.01, 500, 1e-6, 'advanced'");
my @optimal = price("0.01, 500, 1e-6, 'optimal'");
my @cheapest = price('0.01, 500, 1e-6');
my @float = price('0.01::float8, 500, 1e-6::float8');
my $printed =
  sqrt(2 * 500 * log(1e6)) * 0.01 + 500 * 0.01 * (exp(0.01) - 1);

is("$basic[0]|$basic[1]", '5|0', 'basic: the sum, and no delta');
cmp_ok(abs($advanced[0] / $printed - 1), '<', 1e-12, 'advanced: Theorem 3.20');
cmp_ok($advanced[1], '==', 1e-6, 'and the slack');
cmp_ok($optimal[0], '<', $advanced[0], 'optimal: less');
cmp_ok($optimal[0], '>', 0.9, 'but not too little');
is(join('|', @cheapest), join('|', @optimal), 'cheapest is optimal here');
is(join('|', @float), join('|', @optimal), 'double precision');
is((price('1, 3'))[3], 'basic', 'without slack too');
for my $filter ('zcdp', 'advanced', 'best')
{
	as('owner', "SELECT dp_grant('alice', 'c', epsilon => 100,"
		  . " delta => 1e-3, filter => '$filter')");
	as('alice', "SELECT dp_batch_close(dp_batch_open('c', 0.01, 100, 1e-6))");
	is( as(
			'alice', 'SELECT method, charged_delta FROM dp_pg.my_batches'
			  . ' ORDER BY id DESC LIMIT 1'),
		$filter eq 'best' ? 'optimal|0.000001' : 'basic|0',
		"filter $filter: no delta where it buys nothing");
}
as('alice', "SELECT dp_pg.charge('c', 'm', 0.01)");
my $one = line('rho');

cmp_ok(abs($optimal[2] / (500 * $one) - 1),
	'<', 1e-15, 'rho: that of every query, without the theorem');
# ---- one at a time; who may close ----

$id = as('alice', "SELECT dp_batch_open('b', 0.1, 4)");
is(sqlstate($node, 'alice', "SELECT dp_batch_open('b', 0.1, 4)"),
	'55000', 'one at a time');
is(as('bob', "SELECT dp_batch_open('b', 0.1, 4) > $id"), 't', 'per role');
my $squares = value($node,
	"SELECT spent_squares FROM dp_pg.dataset WHERE name = 'c'");
is(as('alice', "SELECT dp_batch_open('c', 0.1, 4) > $id"), 't',
	'and dataset');
is( value(
		$node, "SELECT spent_squares - $squares FROM dp_pg.dataset"
		  . " WHERE name = 'c'"),
	'0.0400',
	'it adds the squares of its queries, not that of its sum');
is(sqlstate($node, 'bob', "SELECT dp_batch_close($id)"),
	'42704', 'somebody else cannot close it');
is(ask_for('alice', '0.1'), '', 'one query');
is(as('owner', "SELECT dp_batch_close($id)"), 3, 'the owner can');
is(sqlstate($node, 'alice', "SELECT dp_batch_close($id)"), '42704', 'once');
$id = as('alice', "SELECT dp_batch_open('b', 0.1, 1)");
is(ask_for('alice', '0.1'), '', 'the only query');
my $next = as('alice', "SELECT dp_batch_open('b', 0.1, 1)");
cmp_ok($next, '>', $id, 'one that is used up gives way to another');
is(value($node, "SELECT closed IS NOT NULL FROM dp_pg.batch WHERE id = $id"),
	't', 'and is closed');

# ---- nothing undoes it ----

is(ask_for('alice', '0.1'), '', 'used up');
$count = spent('alice');
as('alice', "BEGIN; SELECT dp_batch_open('b', 0.1, 3); ROLLBACK");
isnt(spent('alice'), $count, 'ROLLBACK does not undo the charge');
is(as('alice', "SELECT used FROM dp_pg.my_batches WHERE state = 'open'"
		  . " AND dataset = 'b'"),
	0, 'nor the batch');
as('alice', "BEGIN READ ONLY; SELECT dp_pg.charge('b', 'm', 0.1); ROLLBACK");
as(
	'alice', "DO \$\$ BEGIN PERFORM dp_pg.charge('b', 'm', 0.1);"
	  . " RAISE division_by_zero; EXCEPTION WHEN others THEN NULL; END \$\$");
is(as('alice', "SELECT used FROM dp_pg.my_batches WHERE state = 'open'"
		  . " AND dataset = 'b'"),
	2, 'nor that a query was asked');
$id = as('alice', "SELECT id FROM dp_pg.my_batches WHERE state = 'open'"
	  . " AND dataset = 'b'");
as('alice', "BEGIN READ ONLY; SELECT dp_batch_close($id); ROLLBACK");
is(as('alice', "SELECT count(*) FROM dp_pg.my_batches WHERE state = 'open'"
		  . " AND dataset = 'b'"),
	0, 'nor the end');

# ---- rights, limits, renewal ----

$count = charges($node);
is(sqlstate($node, 'alice', "SELECT dp_batch_open('b', 0.5, 1000)"),
	'53400', 'more than the budget');
is(charges($node) . value($node, 'SELECT max(id) FROM dp_pg.batch'),
	$count . $id, 'nothing was charged or opened');
as('owner', "SELECT dp_limit('c', epsilon => 2, delta => 1e-3)");
is(sqlstate($node, 'alice', "SELECT dp_batch_open('c', 0.5, 4)"),
	'55000', 'one is still open there');
as('alice', "SELECT dp_batch_close(id) FROM dp_pg.my_batches"
	  . " WHERE dataset = 'c' AND state = 'open'");
is(sqlstate($node, 'alice', "SELECT dp_batch_open('c', 0.5, 4)"),
	'53400', 'the cap counts a batch');
as('owner', "SELECT dp_unlimit('c')");
$id = as('alice', "SELECT dp_batch_open('c', 0.5, 4)");
as('owner', "SELECT dp_limit('c', epsilon => 0.1)");
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('c', 'm', 0.5)"),
	'', 'what was paid for stays paid for');
as('owner', "SELECT dp_revoke('alice', 'c')");
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('c', 'm', 0.5)"),
	'42501', 'but a revoked budget gives no right to ask');
as('owner', "SELECT dp_grant('alice', 'c', epsilon => 1)");
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('c', 'm', 0.5)"),
	'', 'a new grant does');
is(as('alice', "SELECT dp_batch_close($id)"), 2, 'two were left');

# The owner is exempt from limits; his batch counts against the cap.
as('owner', "SELECT dp_unlimit('c')");
$id = as('owner', "SELECT dp_batch_open('c', 0.5, 2)");
is(sqlstate($node, 'owner', "SELECT dp_pg.charge('c', 'm', 0.5)"),
	'', 'a query of the owner');
is(line('epsilon, payer, batch'), "0||$id", 'takes one of his batch');
is(as('owner', "SELECT state FROM dp_pg.my_batches WHERE id = $id"),
	'open', 'which he can see');

# A group pays; a batch belongs to the member that opened it.
value($node, <<'EOT');
CREATE ROLE staff;
CREATE ROLE carol LOGIN IN ROLE staff;
CREATE ROLE dave LOGIN IN ROLE staff;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('staff', 'b', epsilon => 10, renew => '1 day');
EOT
$id = as('carol', "SELECT dp_batch_open('b', 0.1, 5)");
is(line('role, payer, epsilon'), 'carol|staff|0.5', 'the group pays');
is(ask_for('carol', '0.1'), '', 'the member asks');
is(line('epsilon, batch'), "0|$id", 'from the batch');
is(ask_for('dave', '0.1'), '', 'another member');
is(line('epsilon, batch'), '0.1|', 'pays as ever');
as('owner', "SELECT dp_grant('carol', 'b', epsilon => 10)");
is(ask_for('carol', '0.1'), '', 'when another budget pays');
is(line('payer, epsilon, batch'), 'carol|0.1|', 'the batch does not count');
as('owner', "SELECT dp_revoke('carol', 'b')");
is(ask_for('carol', '0.1'), '', 'and when the first one pays again');
is(line('payer, epsilon, batch'), "staff|0|$id", 'it does');
value($node, "UPDATE dp_pg.budget SET period_start = period_start"
	  . " - interval '25 hours' WHERE role_name = 'staff'");
is(as('carol', "SELECT state FROM dp_pg.my_batches"),
	'ended', 'a batch ends with the period of its budget');
is(ask_for('carol', '0.1'), '', 'in the next one');
is(line('payer, epsilon, batch'), 'staff|0.1|', 'the budget pays');
is(as('carol', "SELECT dp_batch_open('b', 0.1, 5) > $id"),
	't', 'and another batch can be opened');
is(ask_for('carol', '0.1'), '', 'whose query');
is(line('epsilon'), '0', 'is paid for');

# A name does not make the role: neither a renamed nor a new one.
value($node, <<'EOT');
CREATE ROLE frank LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('frank', 'b', epsilon => 10);
EOT
$id = as('frank', "SELECT dp_batch_open('b', 0.1, 5)");
value($node, 'ALTER ROLE frank RENAME TO francis; CREATE ROLE frank LOGIN');
as('owner', "SELECT dp_grant('frank', 'b', epsilon => 10)");
is(ask_for('frank', '0.1'), '', 'somebody takes the name');
is(line('role, epsilon, batch'), 'frank|0.1|', 'but not the batch');
is(sqlstate($node, 'frank', "SELECT dp_batch_close($id)"),
	'42704', 'which he cannot close');
is(ask_for('francis', '0.1'), '', 'a renamed role');
is(line('role, epsilon, batch'), 'francis|0.1|', 'does not find it');
value($node, 'ALTER ROLE frank RENAME TO franz;'
	  . ' ALTER ROLE francis RENAME TO frank');
is(ask_for('frank', '0.1'), '', 'until it is renamed back');
is(line('role, epsilon, batch'), "frank|0|$id", 'then it does');
is(as('frank', "SELECT dp_batch_close($id)"), 4, 'and can close it');
$id = as('frank', "SELECT dp_batch_open('b', 0.1, 5)");
value($node, 'DROP ROLE frank; CREATE ROLE frank LOGIN');
as('owner', "SELECT dp_grant('frank', 'b', epsilon => 10)");
is(ask_for('frank', '0.1'), '', 'created anew');
is(line('role, epsilon, batch'), 'frank|0.1|', 'without the batch');
is(as('frank', "SELECT dp_batch_open('b', 0.1, 5) > $id"),
	't', 'and can open another one');
is(ask_for('frank', '0.1'), '', 'whose query');
is(line('epsilon, batch > ' . $id), '0|t', 'is paid for');

# ---- bad input ----

foreach my $case (
	[ '22023', "dp_batch_open('b', 0, 4)" ],
	[ '22023', "dp_batch_open('b', NULL::numeric, 4)" ],
	[ '22023', "dp_batch_open('b', 'NaN'::float8, 4)" ],
	[ '22023', "dp_batch_open('b', 0.1, 0)" ],
	[ '22023', "dp_batch_open('b', 0.1, NULL)" ],
	[ '22023', "dp_batch_open('b', 0.1, 2000000)" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, -1)" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, 1)" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, NULL::numeric)" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, 1e-6, 'magic')" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, 1e-6, NULL)" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, 0, 'advanced')" ],
	[ '22023', "dp_batch_open('b', 0.1, 4, 0, 'optimal')" ],
	[ '42704', "dp_batch_open('ghost', 0.1, 4)" ],
	[ '42704', "dp_batch_open(NULL, 0.1, 4)" ],
	[ '42704', 'dp_batch_close(0)' ],
	[ '42704', 'dp_batch_close(NULL)' ])
{
	is(sqlstate($node, 'alice', "SELECT $case->[1]"),
		$case->[0], $case->[1]);
}
value($node, 'CREATE ROLE erin LOGIN');
is(preview('erin', '0.1'), '||', 'preview without a budget');
is(sqlstate($node, 'erin', "SELECT dp_batch_open('b', 0.1, 4)"),
	'42501', 'no budget, no batch');
as('owner', "SELECT dp_limit('b', epsilon => 1e6, epsilon_ceiling => 0.05)");
is(sqlstate($node, 'alice', "SELECT dp_batch_open('b', 0.1, 4)"),
	'22023', 'queries above the ceiling of the dataset');
foreach my $sql ('INSERT INTO dp_pg.batch SELECT * FROM dp_pg.batch',
	'UPDATE dp_pg.batch SET used = 0', 'DELETE FROM dp_pg.batch')
{
	is(sqlstate($node, 'owner', $sql), '42501', "nobody writes: $sql");
}
is( value(
		$node, "SELECT count(*) FROM dp_pg.dataset d WHERE charges <>"
		  . ' (SELECT count(*) FROM dp_pg.ledger l WHERE l.dataset = d.name)'
	),
	0,
	'every line is counted');
is( value(
		$node, "SELECT sum(epsilon) FILTER (WHERE payer IS NOT NULL) ="
		  . " (SELECT total_epsilon FROM dp_pg.budget WHERE dataset = 'c')"
		  . " AND sum(epsilon) = (SELECT spent_epsilon FROM dp_pg.dataset"
		  . " WHERE name = 'c') FROM dp_pg.ledger WHERE dataset = 'c'"),
	't',
	'and sums agree with the lines');

$node->stop;
done_testing();
