# Budgets and charges survive dump and restore, into another cluster too, and
# pg_upgrade; copies are distinguished from the original.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = ledger_node('source');
my $target = PostgreSQL::Test::Cluster->new('target');
my $dump = $source->basedir . '/dump.sql';

value($source, <<'EOT');
CREATE ROLE carol LOGIN;
CREATE ROLE staff;
GRANT staff TO bob;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('alice', 'h', epsilon => 3, delta => 1e-6, renew => '7 days');
SELECT dp_grant('carol', 'h', epsilon => 2);
SELECT dp_grant('staff', 'h', epsilon => 4);
SELECT dp_limit('h', epsilon => 50, delta => 1e-5);
CREATE TABLE visit (person int, day date);
SELECT dp_protect('visit', unit => 'person', dataset => 'h', rows => 1000);
SELECT dp_declare('visit', max_rows => 3, max_keys => 2147483647, max_total => 50, min_units => 7);
CREATE TABLE purchase (gone int, person int NOT NULL, id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
ALTER TABLE purchase DROP gone;
CREATE TABLE purchase_all PARTITION OF purchase DEFAULT;
CREATE TABLE line (id int NOT NULL, gone int, day date NOT NULL);
ALTER TABLE line DROP gone;
SELECT dp_protect('purchase', unit => 'person', dataset => 'h');
SELECT dp_protect('line', unit => '(id, day) -> purchase.person', dataset => 'h', max_total => 9);
EOT

# Two rows that carry one name: erin gave it up and has asked nothing since.
value($source, <<'EOT');
CREATE ROLE dave LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('dave', 'h', epsilon => 6);
RESET SESSION AUTHORIZATION;
ALTER ROLE dave RENAME TO erin;
CREATE ROLE dave LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('dave', 'h', epsilon => 7);
EOT
my $two = "SELECT string_agg(role || '=' || epsilon || ' ' || in_force, ', '"
  . " ORDER BY epsilon) FROM dp_pg.budgets WHERE epsilon IN (6, 7)";
is(value($source, $two), 'erin=6 true, dave=7 true', 'each under its name');
foreach my $role ('alice', 'bob', 'carol')
{
	is(sqlstate($source, $role, "SELECT dp_pg.charge('h', 'm', 1)"),
		'', "$role charges at the source");
}

# Into another database of the same cluster, with a right that was taken away.
value($source, "INSERT INTO dp_pg.profile VALUES ('visit', 'h', now(), 1, NULL, '[]', '[]')");
value($source, 'REVOKE SELECT ON dp_pg.answers FROM PUBLIC');
command_ok(
	[
		'pg_dump', '-d', $source->connstr('postgres'), '-f', $dump
	],
	'dump');
value($source, 'CREATE DATABASE other');
command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d',
		$source->connstr('other'), '-f', $dump
	],
	'restore into the same cluster');
is(value($source, "SELECT has_table_privilege('alice', 'dp_pg.answers', 'SELECT')", 'other'), 'f', 'REVOKE on a view of the extension is dumped');
my $said = 'SELECT relid, unit, rows, max_rows, max_keys, max_total, min_units, relid = relid_origin FROM dp_pg.relation WHERE rows IS NOT NULL';
# Columns of a path have other numbers where dropped ones are no more.
my $path = 'SELECT relid, unit, unit_attnum, unit_more, unit_more_attnums, unit_through,'
  . ' unit_key, unit_key_attnum, unit_key_more, unit_key_more_attnums'
  . ' FROM dp_pg.relation WHERE unit_through IS NOT NULL';
is($source->safe_psql('postgres', $path), 'line|id|1|{day}|{3}|purchase|id|3|{day}|{4}', 'a path at the source');
is($source->safe_psql('other', $path), 'line|id|1|{day}|{2}|purchase|id|2|{day}|{3}', 'and restored');
is($source->safe_psql('other', $said), 'visit|person|1000|3|2147483647|50|7|t',
	'declarations too');
is($source->safe_psql('other', 'SELECT relid FROM dp_pg.profile'), 'visit', 'and profiles');
is($source->safe_psql('other', 'SELECT count(*) FROM dp_pg.ledger'),
	3, 'the ledger is there');
is( sqlstate(
		$source, 'alice',
		"SELECT dp_pg.charge('h', 'm', 3, 0)", 'other'),
	'53400',
	'with what was spent');

my $is_copy = "SELECT object, finding FROM dp_audit() WHERE severity = 'critical' AND finding LIKE 'it is a copy%'";
my $may_be_twice = 'if private queries go on there, budgets are spent twice';
is($source->safe_psql('postgres', $is_copy), '', 'the original is no copy');
is($source->safe_psql('other', $is_copy), "h|it is a copy of the dataset in database postgres: $may_be_twice", 'what was restored beside it is');
is(sqlstate($source, 'owner', 'UPDATE dp_pg.dataset SET home = dp_pg.home()', 'other'), '42501', 'which its owner cannot deny');
value($source, 'CREATE DATABASE third TEMPLATE other');
is($source->safe_psql('third', $is_copy), "h|it is a copy of the dataset in database postgres: $may_be_twice", 'and so is a copy of the copy');
value($source, $source->safe_psql('other', "SELECT remedy FROM dp_audit() WHERE object = 'h'"), 'other');
is($source->safe_psql('other', $is_copy), '', 'a superuser says that it takes the place of the original');
value($source, 'DROP DATABASE third');
value($source, 'CREATE DATABASE third TEMPLATE other');
is($source->safe_psql('third', $is_copy), "h|it is a copy of the dataset in database other: $may_be_twice", 'and then copies are its own');
value($source, 'DROP DATABASE third');

# Into another cluster, where OIDs differ and carol does not exist.
$target->init;
$target->append_conf('postgresql.conf',
	"shared_preload_libraries = 'dp_pg'\n");
$target->start;
$target->safe_psql('postgres', <<'EOT');
CREATE ROLE nobody_1;
CREATE ROLE staff;
CREATE ROLE bob LOGIN IN ROLE staff;
CREATE ROLE alice LOGIN;
CREATE ROLE nobody_2;
CREATE ROLE owner LOGIN;
EOT
isnt(
	$source->safe_psql('postgres', "SELECT 'alice'::regrole::oid"),
	$target->safe_psql('postgres', "SELECT 'alice'::regrole::oid"),
	'OIDs differ');
command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d',
		$target->connstr('postgres'), '-f', $dump
	],
	'restore into another cluster');
is($target->safe_psql('postgres', $said), 'visit|person|1000|3|2147483647|50|7|t',
	'declarations are there');
is($target->safe_psql('postgres', $path), 'line|id|1|{day}|{2}|purchase|id|2|{day}|{3}', 'and the path');
is($target->safe_psql('postgres', 'SELECT count(*) FROM dp_pg.ledger'),
	3, 'the ledger is there');
is( $target->safe_psql(
		'postgres',
		'SELECT spent, payer, calls_left FROM dp_pg.my_budget',
		extra_params => [ '-U', 'alice' ]),
	'1|alice|20',
	'alice sees her budget before she uses it');
$target->safe_psql('postgres',
	'GRANT EXECUTE ON FUNCTION dp_pg.charge TO PUBLIC');
is(sqlstate($target, 'alice', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'alice goes on');
is( $target->safe_psql(
		'postgres',
		"SELECT role_oid = 'alice'::regrole AND cluster = dp_pg.cluster()"
		  . " AND total_epsilon = 2 AND charges = 2"
		  . " FROM dp_pg.budget WHERE role_name = 'alice'"),
	't',
	'her row is adopted with its spending');
is(sqlstate($target, 'alice', "SELECT dp_pg.charge('h', 'm', 1.5)"),
	'53400', 'and bounds her');
is(sqlstate($target, 'bob', "SELECT dp_pg.charge('h', 'm', 3)"),
	'', 'the budget of a group is found by name too');
is(sqlstate($target, 'bob', "SELECT dp_pg.charge('h', 'm', 0.1)"),
	'53400', 'with what was spent of it');
is( $target->safe_psql(
		'postgres',
		"SELECT owner_oid = 'owner'::regrole AND cluster = dp_pg.cluster()"
		  . " AND charges = 5 AND spent_epsilon = 7 FROM dp_pg.dataset"),
	't',
	'the dataset is adopted with its spending');
is( $target->safe_psql('postgres',
		'SELECT count(*), max(id) FROM dp_pg.ledger'),
	'5|5',
	'the ledger goes on counting');
is(sqlstate($target, 'owner', "SELECT dp_grant('alice', 'h', epsilon => 3)"),
	'', 'the owner is known by name');
is(sqlstate($target, 'alice', "SELECT dp_pg.charge('h', 'm', 1.5)"),
	'53400', 'a grant at the target refunds nothing');

# Of two rows of one name one counts: that of the younger role.
is($target->safe_psql('postgres', $two),
	'dave=6 false, dave=7 false', 'rows of a missing role are nobody\'s');
$target->safe_psql('postgres', 'CREATE ROLE dave LOGIN');
is($target->safe_psql('postgres', $two),
	'dave=6 false, dave=7 true', 'one row is in force');
is( $target->safe_psql(
		'postgres',
		'SELECT dataset, epsilon, remaining_epsilon FROM dp_pg.my_budget',
		extra_params => [ '-U', 'dave' ]),
	'h|7|7', 'and it is the one that counts');
is(sqlstate($target, 'dave', "SELECT dp_pg.charge('h', 'm', 6.5)"),
	'', 'by it dave asks');
is($target->safe_psql('postgres', $two),
	'dave=6 false, dave=7 true', 'before and after it is adopted');

# A role that comes later.
is( $target->safe_psql(
		'postgres', "SELECT total_epsilon FROM dp_pg.budget"
		  . " WHERE role_name = 'carol'"),
	'1',
	'the row of a missing role is kept');
is( $target->safe_psql(
		'postgres', 'SELECT count(*) FROM dp_pg.ledger',
		extra_params => [ '-U', 'alice' ]),
	'2',
	'alice sees her lines of both clusters');
$target->safe_psql('postgres', 'CREATE ROLE carol LOGIN');
is(sqlstate($target, 'carol', "SELECT dp_pg.charge('h', 'm', 1.5)"),
	'53400', 'a role created later finds its budget with what was spent');
is(sqlstate($target, 'carol', "SELECT dp_pg.charge('h', 'm', 1)"),
	'', 'and what remains');

# Dump and restore once more, back into a third database: nothing doubles.
command_ok(
	[
		'pg_dump', '-Fc', '-d', $target->connstr('postgres'), '-f',
		"$dump.custom"
	],
	'dump the target');
$target->safe_psql('postgres', 'CREATE DATABASE again');
command_ok(
	[
		'pg_restore', '-e', '-d', $target->connstr('again'), "$dump.custom"
	],
	'restore it');
is( $target->safe_psql(
		'again',
		'SELECT (SELECT count(*) FROM dp_pg.ledger),'
		  . ' (SELECT count(*) FROM dp_pg.budget),'
		  . ' (SELECT sum(total_epsilon) FROM dp_pg.budget)'),
	'7|5|14.5',
	'the same rows again');
is( $target->safe_psql('postgres',
		'SET dp_pg.epsilon = 1; SELECT dp_count(*) IS NOT NULL FROM line',
		extra_params => [ '-U', 'owner' ]),
	't',
	'rows are followed to their units there');

is($target->safe_psql('again', 'SELECT home FROM dp_pg.dataset'), $source->safe_psql('postgres', 'SELECT dp_pg.home()'), 'at home in the first');
$target->stop;

# pg_upgrade keeps OIDs: rows follow a role that gave up its name before it
# asked anything, and nobody who has the name since; twice.
sub upgrade
{
	my ($from, $name) = @_;
	my $to = PostgreSQL::Test::Cluster->new($name);
	my $bin = `$ENV{PG_CONFIG} --bindir`;

	chomp $bin;
	$from->stop;
	$to->init;
	$to->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'\n");
	mkdir $to->basedir . '/work' or die;
	chdir $to->basedir . '/work' or die;
	command_ok(
		[
			'pg_upgrade', '--no-sync', '-U', 'postgres', '-b', $bin, '-B', $bin, '-s', $to->host,
			'-d', $from->data_dir, '-D', $to->data_dir, '-p', $from->port, '-P', $to->port
		],
		"pg_upgrade: $name");
	$to->start;
	return $to;
}
value($source, 'SET SESSION AUTHORIZATION carol; SELECT dp_batch_open(\'h\', 0.01, 9)');
my $first = upgrade($source, 'first');
isnt($first->safe_psql('postgres', 'SELECT dp_pg.home()'), '', 'it has a home');
like($first->safe_psql('postgres', $is_copy), qr/^h\|it is a copy of the dataset in a database that is not in this cluster: /, 'which nobody has said to be that');
value($first, 'ALTER ROLE carol RENAME TO carla; CREATE ROLE carol LOGIN');
my $her = "SELECT role, total_epsilon, in_force FROM dp_pg.budgets WHERE epsilon = 2";
is(value($first, $her), 'carla|1.09|t', 'the row is the role\'s, by whatever name');
is(sqlstate($first, 'carol', "SELECT dp_pg.charge('h', 'm', 0.1)"), '42501', 'not that of who has the name now');
is(sqlstate($first, 'carla', "SELECT dp_pg.charge('h', 'm', 1)"), '53400', 'nothing was given back');
is(sqlstate($first, 'owner', "SELECT dp_grant('carla', 'h', epsilon => 2)"), '', 'a grant');
is(sqlstate($first, 'carla', "SELECT dp_pg.charge('h', 'm', 1)"), '53400', 'does neither');
is(value($first, 'SELECT count(*) FROM dp_pg.lineage'), '2', 'the worker has written down where it is');
is(sqlstate($first, 'carla', "SELECT dp_pg.charge('h', 'm', 0.5)"), '', 'what is left is hers');
is(value($first, $her), 'carla|1.59|t', 'on top of the rest');
is( $first->safe_psql('postgres', 'SELECT count(*) FROM dp_pg.ledger', extra_params => [ '-U', 'carla' ]),
	3, 'and all of her lines');
my $second = upgrade($first, 'second');
value($second, 'ALTER ROLE carla RENAME TO caro');
is(sqlstate($second, 'caro', "SELECT dp_pg.charge('h', 'm', 0.5)"), '53400', 'not after another one');
is(sqlstate($second, 'caro', "SELECT dp_pg.charge('h', 'm', 0.4)"), '', 'what is left is');
$second->stop;
done_testing();
