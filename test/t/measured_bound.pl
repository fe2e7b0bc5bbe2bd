# dp_pg.bounds = measure is two releases: what the ledger holds where the second
# does not follow the first.  kill -9 between them, a cancel, a budget that another
# session has taken meanwhile, a batch.
#
# A public subquery runs before each of the two, so that a function in it can wait
# for the second: the first has been charged and read then.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('measured', "dp_pg.epsilon_ceiling = '1000000'\n");

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE orders AS SELECT i % 300 AS customer, i % 100 AS cost FROM generate_series(1, 1500) i;
SELECT dp_protect('orders', unit => 'customer', dataset => 'h');
SELECT dp_grant('alice', 'h', epsilon => 4, filter => 'basic'), dp_grant('bob', 'h', epsilon => 4, filter => 'basic');
SET SESSION AUTHORIZATION alice;
CREATE SEQUENCE turn;
CREATE FUNCTION most(waits boolean) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
	IF nextval('public.turn') % 2 = 0 AND waits THEN PERFORM pg_advisory_xact_lock(7); END IF;
	RETURN 100;
END $$;
ALTER ROLE alice SET dp_pg.bounds = measure;
ALTER ROLE alice SET dp_pg.epsilon = '1';
EOT

my $slow = 'SELECT dp_count(*) FROM orders WHERE cost < (SELECT most(true))';
my $quick = 'SELECT dp_count(*) FROM orders WHERE cost < (SELECT most(false))';

# Start the query; when it is between its releases, return its process.
sub between
{
	my ($alice) = @_;

	ask($alice, "$slow;");
	wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = 'alice' AND wait_event = 'advisory'");
	return value($node, "SELECT pid FROM pg_stat_activity WHERE usename = 'alice' AND wait_event = 'advisory'");
}

sub ledger
{
	return value($node, "SELECT string_agg(split_part(mechanism, ': ', 2) || ' ' || epsilon, ', ' ORDER BY id) FROM dp_pg.ledger");
}

sub spent
{
	return value($node, "SELECT spent_epsilon FROM dp_pg.budget WHERE role_name = 'alice' AND dataset = 'h'");
}

# ---- a crash ----

my $holder = session($node, 'postgres');
answer($holder, 'SELECT pg_advisory_lock(7);');

my $alice = session($node, 'alice');
my $pid = between($alice);

is(ledger(), 'rows of a unit 0.25', 'the first release is charged alone');
kill 'KILL', $pid;
wait_ready($node);
$holder = session($node, 'postgres');
answer($holder, 'SELECT pg_advisory_lock(7);');
is(ledger(), 'rows of a unit 0.25', 'after kill -9 it still is');
value($node, "SELECT setval('turn', 2)");
like($node->safe_psql('postgres', $quick, extra_params => [ '-U', 'alice' ]), qr/^\d+$/, 'asked again');
is(ledger(), 'rows of a unit 0.25, rows of a unit 0.25, count 0.75', 'and paid for anew, both');

# ---- a cancel ----

$alice = session($node, 'alice');
$pid = between($alice);
value($node, "SELECT pg_cancel_backend($pid)");
like((answer($alice))[1], qr/57014/, 'canceled between');
is(charges($node), 4, 'one more charge, of the first release');
value($node, "SELECT setval('turn', 2)");

# ---- another session takes what was left ----

$pid = between($alice);
value($node, "SET SESSION AUTHORIZATION alice; SET dp_pg.bounds = auto; SET dp_pg.max_total = 5; SELECT dp_count(1, 2.1) FROM orders");
answer($holder, 'SELECT pg_advisory_unlock(7);');
like((answer($alice))[1], qr/53400/, 'the second release is refused');
is(charges($node), 6, 'and the first stands');
answer($holder, 'SELECT pg_advisory_lock(7);');
is(sqlstate($node, 'alice', $quick), '53400', 'a budget that does not admit both is not charged');
is(charges($node), 6, 'for either');
value($node, "SELECT setval('turn', 2)");

# ---- in a batch: a crash leaves two of its queries used, or one ----

value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_grant('alice', 'h', epsilon => 100, filter => 'basic')");
value($node, "SET SESSION AUTHORIZATION alice; SELECT dp_batch_open('h', 1, 5)");
$alice = session($node, 'alice');
$pid = between($alice);
kill 'KILL', $pid;
wait_ready($node);
$holder = session($node, 'postgres');
answer($holder, 'SELECT pg_advisory_lock(7);');
value($node, "SELECT setval('turn', 2)");
is(value($node, 'SELECT used FROM dp_pg.batch'), '1', 'a query of a batch is used');
is(sqlstate($node, 'alice', $quick), '', 'two more');
is(sqlstate($node, 'alice', $quick), '', 'and two more');
is(sqlstate($node, 'alice', $quick), '53400', 'then it is used up');
is(value($node, 'SELECT used FROM dp_pg.batch'), '5', 'at five');

$node->stop;
done_testing();
