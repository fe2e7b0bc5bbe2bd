# The nodes that plans of private queries carry and readers are sent: every
# field of them survives a copy, and writing and reading, and is compared.
# plan_nodes.c, which is built here, tries values of each field, and finds
# fields that the tables of src lack: the compiler tells which bytes of a
# struct are no padding.  No false alarms.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The library of test functions; the folders of the system's PostgreSQL have
# what a private installation lacks.
sub build
{
	my $library = PostgreSQL::Test::Utils::tempdir() . '/plan_nodes.so';
	my $source = "$FindBin::RealBin/../../src";
	my $config = $ENV{DP_PG_SYSTEM_CONFIG};
	my ($cc, $cflags, $cppflags, $include) = map { my $v = `$config --$_`; chomp $v; $v }
	  qw(cc cflags cppflags includedir-server);

	system("$cc $cflags -Werror -fPIC -shared $cppflags -I$include -I$source"
		  . " -o $library $FindBin::RealBin/plan_nodes.c") == 0
	  or BAIL_OUT('plan_nodes.c does not compile');
	return $library;
}

my $library = build();
my $node = attack_node('plan_nodes');

value($node, <<"EOT");
CREATE FUNCTION nodes_check(statement text) RETURNS int STRICT
LANGUAGE c AS '$library', 'plan_nodes_check';
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id int PRIMARY KEY, age int, name text COLLATE "C", at timestamp, flag boolean NOT NULL);
SELECT dp_protect('visit', dataset => 'hospital');
SELECT dp_declare('visit', 'age', lower => 0, upper => 120);
SELECT dp_declare('visit', 'name', keys => ARRAY['a', 'b', 'c']);
SELECT dp_declare('visit', 'at', lower => '2020-01-01'::timestamp, upper => '2020-03-01'::timestamp);
SELECT dp_declare('visit', 'id', immutable => true);
EOT

# All kinds of keys, a candidate's key beside an argument without one,
# subqueries, parts, and two blocks.
my @statements = (
	'SELECT dp_count(*) FROM visit',
	"SELECT 'x', flag, age > 3, age, name, date_trunc('month', at), extract(dow FROM at), dp_count(*)"
	  . ' FROM visit GROUP BY 1, 2, 3, 4, 5, 6, 7',
	'SELECT dp_count(*), dp_argmax(name), dp_sum(age, 0, 10) FROM visit',
	"SELECT dp_count(*) FILTER (WHERE name <> (SELECT max(rolname) FROM pg_authid)) FROM visit"
	  . ' WHERE age > (SELECT min(reltuples) FROM pg_class)',
	'SELECT dp_count(*) FROM visit WHERE id = 7',
	'SELECT (SELECT dp_count(*) FROM visit) + dp_sum(age) FROM visit');

foreach my $statement (@statements)
{
	my $checks = value($node, 'SELECT nodes_check($q$' . $statement . '$q$)');

	cmp_ok($checks, '>=', 50, "$checks values of fields: $statement");
}

$node->stop;
done_testing();
