# Grants, caps, revocation, renewal; which roles may do this and see it; nothing is
# ever refunded.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = ledger_node('grant');

sub as
{
	my ($user, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $user ]);
}

sub charge
{
	my ($user, $epsilon, $delta) = @_;

	return sqlstate($node, $user,
		"SELECT dp_pg.charge('h', 'm', $epsilon, " . ($delta || 0) . ')');
}

# What bad input gets: each its SQLSTATE, nothing written.
my $dump = "SELECT md5(string_agg(t::text, ',')) FROM (SELECT d::text"
  . " FROM dp_pg.dataset d UNION ALL SELECT b::text FROM dp_pg.budget b) t";
my $before = value($node, $dump);

foreach my $case (
	[ '22023', "dp_grant('alice', 'h')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 0)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => -1)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 'NaN'::numeric)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 'NaN'::float8)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 'Infinity'::numeric)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => NULL::numeric)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1e13)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1e-25)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, delta => -1e-6)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, delta => 1)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, delta => 'NaN')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, filter => 'magic')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, filter => NULL)" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, filter => 'zcdp')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, filter => 'advanced')" ],
	[ '22023', "dp_limit('h', epsilon => 1, filter => 'advanced')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, filter => 'Advanced')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, renew => '0')" ],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, renew => '-1 day')" ],
	[
		'22023', "dp_grant('alice', 'h', epsilon => 1,"
		  . " renew => '1 month -29 days')"
	],
	[ '22023', "dp_grant('alice', 'h', epsilon => 1, renew => '200 years')" ],
	[ '22023', "dp_grant(NULL, 'h', epsilon => 1)" ],
	[ '42704', "dp_grant('ghost', 'h', epsilon => 1)" ],
	[ '42704', "dp_grant('public', 'h', epsilon => 1)" ],
	[ '42704', "dp_grant('alice', 'ghost', epsilon => 1)" ],
	[ '42704', "dp_grant('alice', epsilon => 1)" ],
	[ '22023', "dp_limit('h')" ],
	[ '22023', "dp_limit('h', epsilon => 0)" ],
	[ '22023', "dp_limit('h', epsilon => 1, delta => 2)" ],
	[ '22023', "dp_limit('h', epsilon => 1, epsilon_floor => 0)" ],
	[ '22023', "dp_limit('h', epsilon => 1, epsilon_ceiling => -1)" ],
	[
		'22023', "dp_limit('h', epsilon => 1, epsilon_floor => 2,"
		  . " epsilon_ceiling => 1)"
	],
	[ '42704', "dp_limit('ghost', epsilon => 1)" ],
	[ '42704', "dp_revoke('ghost', 'h')" ],
	[ '42704', "dp_revoke('bob', 'h')" ],
	[ '22023', "dp_revoke(NULL, 'h')" ],
	[ '22023', "dp_pg.open_dataset('')" ])
{
	is(sqlstate($node, 'owner', "SELECT $case->[1]"),
		$case->[0], $case->[1]);
}
foreach my $case (
	[ '22023', "dp_pg.charge('h', 'm', 0)" ],
	[ '22023', "dp_pg.charge('h', 'm', -1)" ],
	[ '22023', "dp_pg.charge('h', 'm', NULL)" ],
	[ '22023', "dp_pg.charge('h', 'm', 'NaN')" ],
	[ '22023', "dp_pg.charge('h', 'm', 1, 1)" ],
	[ '22023', "dp_pg.charge('h', 'm', 1, NULL)" ],
	[ '22023', "dp_pg.charge(NULL, 'm', 1)" ],
	[ '22023', "dp_pg.charge('h', repeat('m', 128), 1)" ],
	[ '42501', "dp_grant('alice', 'h', epsilon => 1e6)" ],
	[ '42501', "dp_limit('h', epsilon => 1e6)" ],
	[ '42501', "dp_revoke('alice', 'h')" ],
	[ '42501', "dp_pg.open_dataset('h')" ])
{
	is(sqlstate($node, 'alice', "SELECT $case->[1]"),
		$case->[0], "analyst: $case->[1]");
}
is( sqlstate(
		$node, 'owner',
		"BEGIN READ ONLY; SELECT dp_grant('alice', 'h', epsilon => 1)"),
	'25006',
	'no grant in a read-only transaction');
is(charges($node), 0, 'nothing was charged');
is(value($node, $dump), $before, 'and nothing changed');

# Nobody writes the tables.
foreach my $sql (
	"UPDATE dp_pg.budget SET spent_epsilon = 0",
	"DELETE FROM dp_pg.ledger",
	"TRUNCATE dp_pg.ledger",
	"INSERT INTO dp_pg.dataset VALUES ('x', 1, 'x', 1)",
	"ALTER TABLE dp_pg.budget DISABLE ROW LEVEL SECURITY",
	"CREATE TRIGGER t BEFORE INSERT ON dp_pg.ledger"
	. " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
	"LOCK TABLE dp_pg.ledger IN ACCESS EXCLUSIVE MODE",
	"SELECT setval('dp_pg.ledger_id_seq', 1)",
	"SELECT 1 FROM dp_pg.budget FOR UPDATE")
{
	is(sqlstate($node, 'owner', "BEGIN; $sql"), '42501', "refused: $sql");
}

# Revoke, grant again, drop and create the role again: no refund.
as('owner',
	"SELECT dp_grant(role => 'alice', dataset => 'h', epsilon => 3,"
	  . " filter => 'basic')");
is(charge('alice', 2), '', 'spend 2 of 3');
is(charge('alice', 2), '53400', 'no more than 3');
as('owner', "SELECT dp_revoke('alice', 'h')");
is(charge('alice', 1), '42501', 'revoked');
as('owner',
	"SELECT dp_grant('alice', 'h', epsilon => 3, filter => 'basic')");
is(charge('alice', 2), '53400', 'granted again: what was spent stays spent');
is(charge('alice', 0.5), '', 'what remained remains');
value($node, <<'EOT');
REVOKE ALL ON SCHEMA public FROM alice;
DROP ROLE alice;
CREATE ROLE alice LOGIN;
EOT
is(charge('alice', 0.1), '42501', 'a role of the same name has no budget');
is(as('alice', 'SELECT count(*) FROM dp_pg.ledger'),
	0, 'and sees no line of its namesake');
as('owner',
	"SELECT dp_grant('alice', 'h', epsilon => 3, filter => 'basic')");
is(charge('alice', 1), '53400', 'a new grant continues the old spending');
is(charge('alice', 0.5), '', 'to its end');
is( value(
		$node, "SELECT count(*), sum(total_epsilon) FROM dp_pg.budget"
		  . " WHERE dataset = 'h'"),
	'1|3',
	'one row with everything');

# A grant and its rollback.
as('owner',
	"BEGIN; SELECT dp_grant('alice', 'h', epsilon => 100); ROLLBACK");
is(charge('alice', 1), '53400', 'a grant rolled back counts for nothing');

# A renamed role keeps its budget; the old name begins with nothing.
value($node, <<'EOT');
ALTER ROLE alice RENAME TO alicia;
CREATE ROLE alice LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('alicia', 'h', epsilon => 4, filter => 'basic');
EOT
is(charge('alice', 0.5), '42501', 'the old name has no budget');
is(charge('alicia', 0.5), '', 'the renamed role has');
as('owner',
	"SELECT dp_grant('alice', 'h', epsilon => 1, filter => 'basic')");
is(charge('alice', 1), '', 'nor the spending of a living role');
is( value(
		$node, "SELECT string_agg(role_name || '=' || total_epsilon, ' '"
		  . " ORDER BY role_name) FROM dp_pg.budget WHERE dataset = 'h'"),
	'alice=1 alicia=3.5',
	'names are refreshed');

# dp_pg.budgets: nobody can take one role's row for another's.
sub budgets_of
{
	my ($pattern) = @_;

	return as('owner', "SELECT string_agg(role || '=' || epsilon ||"
		  . " CASE WHEN in_force THEN '' ELSE ' gone' END, ', '"
		  . " ORDER BY epsilon) FROM dp_pg.budgets"
		  . " WHERE dataset = 'h' AND role ~ '$pattern'");
}

value($node, 'CREATE ROLE carl LOGIN');
as('owner', "SELECT dp_grant('carl', 'h', epsilon => 1)");
value($node, 'ALTER ROLE carl RENAME TO carla; CREATE ROLE carl LOGIN');
is(budgets_of('^carl'), 'carla=1', 'a renamed role is shown by its name');
as('owner', "SELECT dp_grant('carl', 'h', epsilon => 2)");
is(budgets_of('^carl'), 'carla=1, carl=2', 'and a new one of the old name');
is( as('carla', 'SELECT role, epsilon, in_force FROM dp_pg.budgets'),
	'carla|1|t', 'she sees her own');
value($node, 'DROP ROLE carl; ALTER ROLE carla RENAME TO carl');
is(budgets_of('^carl'), 'carl=1, carl=2 gone',
	'a dropped role is told from one that took its name');
is( as('carl', 'SELECT role, epsilon, in_force FROM dp_pg.budgets'),
	'carl|1|t', 'who does not see its row');
as('owner', "SELECT dp_grant('carl', 'h', epsilon => 3)");
is(budgets_of('^carl'), 'carl=2 gone, carl=3', 'nor gets it by a grant');

# Overloads: a double means its shortest decimal.
as('owner', "SELECT dp_grant('bob', 'h', 0.3::float8, 1e-6::float8)");
is( value(
		$node, "SELECT epsilon, delta FROM dp_pg.budget"
		  . " WHERE role_name = 'bob'"),
	'0.3|0.000001',
	'double precision is read by its shortest decimal');
as('owner', "SELECT dp_grant('bob', 'h', epsilon => 1, filter => 'basic')");
is(sqlstate($node, 'bob', <<'EOT'), '', 'ten times 0.1 is 1');
SELECT dp_pg.charge('h', 'm', 0.1) FROM generate_series(1, 10);
EOT
is(charge('bob', '0.001'), '53400', 'and not a bit more');

# Delta has a limit of its own.
as('owner',
	"SELECT dp_grant('bob', 'h', epsilon => 5, delta => 1e-6,"
	  . " filter => 'basic')");
is(charge('bob', 1, '9e-7'), '', 'a charge with delta');
is(charge('bob', 1, '2e-7'), '53400', 'delta is exhausted');
is(charge('bob', 1), '', 'epsilon is not');

# Renewal: the period's spending begins anew, totals and caps do not.
as('owner',
	"SELECT dp_grant('bob', 'h', epsilon => 1, filter => 'basic',"
	  . " renew => '3 seconds')");
is(charge('bob', 1), '53400', 'a renewal begins without a refund');
is(sqlstate($node, 'bob', 'SELECT pg_sleep(3.1)'), '', 'wait');
is(as('bob', 'SELECT spent, remaining_epsilon FROM dp_pg.my_budget'),
	'0|1', 'my_budget shows the new period');
is(as('bob', 'SELECT spent_epsilon, charges FROM dp_pg.budgets'),
	'0|0', 'so does budgets');
is(charge('bob', 1), '', 'a new period');
is(charge('bob', 1), '53400', 'with its limit');
as('owner',
	"SELECT dp_grant('bob', 'h', epsilon => 1, filter => 'basic',"
	  . " renew => '3 seconds')");
is(charge('bob', 1), '53400', 'the same grant again refunds nothing');
is( value(
		$node,
		"SELECT spent_epsilon, charges, total_epsilon, total_charges,"
		  . " period_start > now() - interval '4 seconds'"
		  . " FROM dp_pg.budget WHERE role_name = 'bob'"),
	'1|1|4|13|t',
	'totals go on');
value($node, <<'EOT');
UPDATE dp_pg.budget SET renew = '1 month', period_start =
	(now() AT TIME ZONE 'UTC' - interval '70 days') AT TIME ZONE 'UTC'
	WHERE role_name = 'bob';
EOT
is(charge('bob', 1), '', 'periods of months');
is( value(
		$node,
		"SELECT spent_epsilon, period_start <= now(),"
		  . " period_start + renew > now() FROM dp_pg.budget"
		  . " WHERE role_name = 'bob'"),
	'1|t|t',
	'are skipped whole');

# The cap counts everything before it, the owner too, and never renews.
my $spent =
  value($node, "SELECT sum(epsilon) FROM dp_pg.ledger WHERE dataset = 'h'");

as('owner',
	"SELECT dp_grant('bob', 'h', epsilon => 1000, filter => 'basic');"
	  . " SELECT dp_limit('h', epsilon => $spent + 2, delta => 1e-5,"
	  . " filter => 'basic')");
is(charge('bob', 1), '', 'below the cap');
is(as('bob', 'SELECT remaining_epsilon, calls_left FROM dp_pg.my_budget'),
	'1|10', 'my_budget knows the cap');
is(charge('owner', 1), '', 'the owner counts');
is(charge('bob', 0.5), '53400', 'the cap is exhausted');
is(charge('owner', 0.5), '53400', 'for the owner as well');
is(charge('postgres', 0.5), '53400', 'and for superusers');
is( value(
		$node, "SELECT spent_epsilon = (SELECT sum(epsilon) FROM"
		  . " dp_pg.ledger WHERE dataset = 'h') FROM dp_pg.dataset"
		  . " WHERE name = 'h'"),
	't',
	'the cap counts the whole ledger');

# Filter best admits by the sum of rho what the sum of epsilon would refuse.
as('owner', <<'EOT');
SELECT dp_pg.open_dataset('many');
SELECT dp_grant('bob', 'many', epsilon => 1, delta => 2e-6);
EOT
is( as( 'bob',
		"SET dp_pg.epsilon = 0.01;"
		  . " SELECT calls_left FROM dp_pg.my_budget WHERE dataset = 'many'"),
	'487',
	'calls left as the theory has it');
is( sqlstate(
		$node, 'bob', "SELECT dp_pg.charge('many', 'm', 0.01)"
		  . " FROM generate_series(1, 488)"),
	'53400',
	'then it is exhausted');
is( value(
		$node, "SELECT count(*) FROM dp_pg.ledger WHERE dataset = 'many'"),
	487,
	'after exactly as many calls');

# The default dataset, and whose it is.
is(as('owner', 'SELECT dp_pg.open_dataset()'), 'owner', 'default dataset');
is(sqlstate($node, 'owner', <<'EOT'), '', 'left out in every overload');
SELECT dp_grant(CURRENT_USER, epsilon => 1);
SELECT dp_grant(CURRENT_USER, epsilon => 1.5, delta => 1e-6);
SELECT dp_grant(CURRENT_USER, epsilon => 1.5::float8, delta => 1e-6);
SELECT dp_grant('owner', NULL, 2, filter => 'basic');
SELECT dp_limit(epsilon => 3);
SELECT dp_limit(NULL, 3.5);
SELECT dp_limit(epsilon => 2.5::float8, epsilon_floor => 0.1);
SELECT dp_limit('owner', epsilon => 2, epsilon_floor => 0.1,
	epsilon_ceiling => 1);
SELECT dp_revoke('owner');
EOT
is( value(
		$node, "SELECT cap_epsilon, epsilon_floor, epsilon_ceiling"
		  . " FROM dp_pg.dataset WHERE name = 'owner'"),
	'2|0.1|1',
	'the last cap counts');

# Who sees what.
is(as('alice', 'SELECT count(DISTINCT role) FROM dp_pg.ledger'),
	1, 'an analyst sees his own lines');
is(as('alice', 'SELECT count(*) FROM dp_pg.budget'),
	1, 'and his own budget');
is(as('alice', 'SELECT count(*) FROM dp_pg.dataset'), 0, 'no dataset');
is( as('owner', 'SELECT count(*) FROM dp_pg.ledger'),
	charges($node), 'the owner sees all lines');
cmp_ok(as('owner', 'SELECT count(*) FROM dp_pg.budgets'),
	'>=', 4, 'and all budgets');
value($node, 'CREATE ROLE other LOGIN');
foreach my $relation ('ledger', 'budget', 'budgets', 'dataset', 'my_budget')
{
	is(as('other', "SELECT count(*) FROM dp_pg.$relation"),
		0, "others see nothing in $relation");
}

# Published views follow the grant.
as('owner', 'CREATE TABLE t (id int PRIMARY KEY)');
if (value($node, "SELECT to_regclass('dp_pg.relation')") eq '')
{
	value($node, <<'EOT');
CREATE TABLE dp_pg.relation (relid regclass, dataset name,
	published regclass);
SET ROLE owner;
CREATE VIEW published WITH (security_invoker = true) AS SELECT * FROM t;
RESET ROLE;
INSERT INTO dp_pg.relation VALUES ('t', 'many', 'published');
EOT
}
else
{
	as('owner',
		"SELECT dp_protect('t', dataset => 'many',"
		  . " publish => 'public.published')");
}
my $may = "SELECT has_table_privilege('alice', 'published', 'SELECT')";

is(value($node, $may), 'f', 'before the grant');
as('owner', "SELECT dp_grant('alice', 'many', epsilon => 1)");
is(value($node, $may), 't', 'dp_grant grants the published view');
is(sqlstate($node, 'alice', 'SELECT id FROM published'),
	'42501', 'which shows nothing by itself');
as('owner', "SELECT dp_revoke('alice', 'many')");
is(value($node, $may), 'f', 'dp_revoke takes it back');

$node->stop;
done_testing();
