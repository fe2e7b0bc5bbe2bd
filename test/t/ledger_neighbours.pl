# The neighbouring relation of a dataset, and how a cap is removed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('neighbours');
my ($out, $err);

sub as
{
	my ($user, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $user ]);
}

sub relation
{
	return value($node,
		"SELECT neighbours FROM dp_pg.dataset WHERE name = 'h'");
}

foreach my $case (
	[ '22023', 'owner', "'h', 'magic'" ],
	[ '22023', 'owner', "'h', NULL" ],
	[ '22023', 'owner', "'h', 'Replace_One'" ],
	[ '42704', 'owner', "'ghost', 'replace_one'" ],
	[ '42704', 'owner', "NULL, 'replace_one'" ],
	[ '42501', 'alice', "'h', 'replace_one'" ],
	[ '42501', 'alice', "'h', 'add_remove'" ])
{
	is(sqlstate($node, $case->[1], "SELECT dp_neighbours($case->[2])"),
		$case->[0], "$case->[1]: $case->[2]");
}
is( sqlstate(
		$node, 'owner',
		"BEGIN READ ONLY; SELECT dp_neighbours('h', 'replace_one')"),
	'25006',
	'not in a read-only transaction');
is(relation(), 'add_remove', 'the default, unchanged');
as('owner', "BEGIN; SELECT dp_neighbours('h', 'replace_one'); ROLLBACK");
is(relation(), 'add_remove', 'ROLLBACK undoes it');
as('owner', "SELECT dp_neighbours('h', 'replace_one')");
is(relation(), 'replace_one', 'the owner chooses');
as('owner', "SELECT dp_neighbours('h', 'add_remove')");
is(relation(), 'add_remove', 'and changes his mind');

# While the choice is not committed, nothing is charged; a charge that was
# computed for the former relation is refused.
my $owner = session($node, 'owner');
my $alice = session($node, 'alice');

answer($owner, "BEGIN; SELECT dp_neighbours('h', 'replace_one');");
answer($alice, "SET lock_timeout = '60s';");
ask($alice, "SELECT dp_pg.charge('h', 'm', 1);");
wait_until($node,
	"SELECT wait_event = 'Extension' FROM pg_stat_activity"
	  . " WHERE usename = 'alice' AND query LIKE '%charge%'");
answer($owner, 'COMMIT;');
($out, $err) = answer($alice);
like($err, qr/55000/, 'a charge for the former relation is refused');
is(charges($node), 0, 'and not made');
($out, $err) = answer($alice, "SELECT dp_pg.charge('h', 'm', 1) > 0;");
is($out, 't', 'asked again, it is made');

# The same with ROLLBACK: the charge was for the right relation.
as('owner', "SELECT dp_pg.open_dataset('other');"
	  . " SELECT dp_grant('alice', 'other', epsilon => 10)");
answer($owner, "BEGIN; SELECT dp_neighbours('other', 'replace_one');");
ask($alice, "SELECT dp_pg.charge('other', 'm', 1) > 0;");
wait_until($node,
	"SELECT wait_event = 'Extension' FROM pg_stat_activity"
	  . " WHERE usename = 'alice' AND query LIKE '%other%'");
answer($owner, 'ROLLBACK;');
($out, $err) = answer($alice);
is($out, 't', 'after ROLLBACK the waiting charge is made');

# After the first charge it is fixed.
foreach my $case ([ 'h', 'add_remove' ], [ 'other', 'replace_one' ])
{
	is( sqlstate(
			$node, 'owner', "SELECT dp_neighbours('$case->[0]',"
			  . " '$case->[1]')"),
		'55000',
		"$case->[0] was charged: too late");
}
is(sqlstate($node, 'owner', "SELECT dp_neighbours('h', 'replace_one')"),
	'', 'saying what it is changes nothing');
is(sqlstate($node, 'alice', "SELECT dp_batch_open('h', 0.1, 3)"),
	'', 'a batch under replace_one');
is(sqlstate($node, 'alice', "SELECT dp_pg.charge('h', 'm', 0.1)"),
	'', 'and its query');

# A race: the owner turns the relation while sessions charge.  Whoever comes
# first wins, and the other is told.
for my $round (1 .. 5)
{
	as('owner', "SELECT dp_pg.open_dataset('r$round');"
		  . " SELECT dp_grant('alice', 'r$round', epsilon => 10)");
	ask($owner, "SELECT dp_neighbours('r$round', 'replace_one');");
	ask($alice, "SELECT dp_pg.charge('r$round', 'm', 1);");
	my ($out1, $err1) = answer($owner);
	my ($out2, $err2) = answer($alice);
	my $state = value($node, 'SELECT neighbours, charges FROM dp_pg.dataset'
		  . " WHERE name = 'r$round'");

	ok( $state eq 'add_remove|1' && $err1 =~ /55000/ && $err2 eq ''
		  || $state eq 'replace_one|1' && $err1 eq '' && $err2 eq ''
		  || $state eq 'replace_one|0' && $err1 eq '' && $err2 =~ /55000/,
		"race $round: $state");
}
hang_up($owner);
hang_up($alice);

# ---- dp_unlimit ----

as('owner', "SELECT dp_pg.open_dataset('capped');"
	  . " SELECT dp_grant('alice', 'capped', epsilon => 100);"
	  . " SELECT dp_limit('capped', epsilon => 1, delta => 1e-6,"
	  . " epsilon_floor => 0.01, epsilon_ceiling => 1)");
my $charge = "SELECT dp_pg.charge('capped', 'm', 1)";

is(sqlstate($node, 'alice', $charge), '', 'up to the cap');
is(sqlstate($node, 'alice', $charge), '53400', 'not beyond');
foreach my $case (
	[ '42501', 'alice', "'capped'" ],
	[ '42704', 'owner', "'ghost'" ],
	[ '42704', 'owner', '' ])
{
	is(sqlstate($node, $case->[1], "SELECT dp_unlimit($case->[2])"),
		$case->[0], "$case->[1]: $case->[2]");
}
is( sqlstate(
		$node, 'owner', "BEGIN READ ONLY; SELECT dp_unlimit('capped')"),
	'25006',
	'not in a read-only transaction');
as('owner', "BEGIN; SELECT dp_unlimit('capped'); ROLLBACK");
is(sqlstate($node, 'alice', $charge), '53400', 'ROLLBACK keeps the cap');
as('owner', "SELECT dp_unlimit('capped')");
is( value(
		$node, 'SELECT num_nonnulls(cap_filter, cap_epsilon, cap_delta,'
		  . ' cap_delta_conversion, cap_delta_sum, cap_rho, cap_alpha,'
		  . ' cap_squares, epsilon_floor, epsilon_ceiling), spent_epsilon'
		  . " FROM dp_pg.dataset WHERE name = 'capped'"),
	'0|1',
	'cap, floor and ceiling are gone, the spending is not');
is(sqlstate($node, 'alice', $charge), '', 'the budget alone counts');
as('owner', "SELECT dp_unlimit('capped')");
pass('removing no cap is no error');
as('owner', "SELECT dp_limit('capped', epsilon => 2)");
is(sqlstate($node, 'alice', $charge), '53400', 'a later cap counts it all');

$node->stop;
done_testing();
