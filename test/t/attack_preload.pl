# A server that does not preload the library, with and without its file: no
# private row can be read, no answer is given, and nothing crashes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('preload');
my @tries = (
	'SELECT * FROM patients', 'SELECT count(*) FROM patients',
	'SELECT dp_count(*) FROM patients', 'SELECT dp_sum(age) FROM patients',
	'SELECT dp_count(*) OVER () FROM patients', 'COPY patients TO STDOUT',
	'EXPLAIN SELECT dp_count(*) FROM patients');

is(sqlstate($node, 'analyst', 'SELECT dp_count(*) FROM patients'), '', 'preloaded: answered');
as($node, 'analyst', 'CREATE VIEW mine AS SELECT dp_count(*) AS n FROM patients');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->restart;

is(sqlstate($node, 'analyst', $_), '42501', "not preloaded: $_") for @tries;
is(sqlstate($node, 'analyst', 'SELECT * FROM mine'), '42501', 'a view of a release');
# the library is loaded by a call, and then as little
is(sqlstate($node, 'analyst', "SELECT * FROM dp_last_release(); $_"), '42501', "loaded late: $_") for @tries;
is(sqlstate($node, 'analyst', "SET dp_pg.epsilon = 'x'; SELECT * FROM dp_last_release(); $tries[2]"), '42501', 'settings are place holders');
# everything else answers or refuses; the server stays
for my $sql (
	'SELECT * FROM dp_pg.my_budget', 'SELECT * FROM dp_pg.standing()', 'SELECT * FROM dp_pg.budgets',
	'SELECT * FROM dp_pg.ledger', 'SELECT * FROM dp_audit()', 'SELECT * FROM dp_pg.allowed_functions',
	"SELECT dp_pg.charge('hospital', 'x', 1)", 'SELECT * FROM dp_pg.release(1, 0) AS t (n int)',
	"SELECT dp_pg.sum_state_in('')", 'SELECT dp_pg.bounded_sum(1, NULL)', "SELECT dp_protect('patients')",
	"SELECT dp_declare('patients', 'age', lower => 0, upper => 1)",
	"SELECT dp_declare('patients', 'name', keys => ARRAY['a'])",
	"SELECT dp_grant('analyst', 'hospital', 5::numeric)", "SELECT dp_limit('hospital', 5::numeric)",
	"SELECT dp_revoke('analyst', 'hospital')", "SELECT dp_unprotect('patients')",
	'SELECT dp_count(*) FROM patients', 'SELECT dp_avg(age, 0, 1) FROM patients', 'ALTER TABLE patients ADD y int')
{
	for my $user ('analyst', 'owner', 'postgres')
	{
		my $mark = log_mark($node);

		as($node, $user, "BEGIN; $sql; ROLLBACK");
		unlike(log_since($node, $mark), qr/terminated by signal/, "$user: no crash: $sql");
		wait_ready($node);
	}
}
# the owner reads his own table, but gets no private answer for it
is(value($node, 'SELECT count(*) FROM patients'), 10000, 'the rows are there');
is(sqlstate($node, 'owner', 'SELECT dp_count(*) FROM patients'), '55000', 'the owner gets no private answer');
is(sqlstate($node, 'owner', 'SELECT dp_sum(age, 0, 1) FROM patients'), '55000', 'nor a sum');
isnt(sqlstate($node, 'postgres', 'DROP EXTENSION dp_pg CASCADE; CREATE EXTENSION dp_pg'), '', 'no CREATE EXTENSION without preload');
is(sqlstate($node, 'analyst', $_), '42501', "after that: $_") for @tries[ 0, 1, 5 ];
$node->safe_psql('postgres', 'DROP EXTENSION IF EXISTS dp_pg CASCADE');
is(sqlstate($node, 'analyst', $_), '42501', "extension dropped: $_") for @tries[ 0, 1, 5 ];

$node->stop;
done_testing();
