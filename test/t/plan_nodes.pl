# The nodes that plans of private queries carry and readers are sent: every field of
# them survives a copy, and writing and reading, and is compared.  plan_nodes.c,
# which is built here, tries values of each field, and finds fields that the tables
# of src lack: the compiler tells which bytes of a struct are no padding.  Also
# tested are the canonical text of a block, which statements with the same meaning
# share and others do not, and how blocks join their rows: by hash tables, wherever
# there is an equality.  No false alarms.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = test_library('plan_nodes');
my $node = attack_node('plan_nodes');

value($node, <<"EOT");
CREATE FUNCTION nodes_check(statement text) RETURNS int STRICT
LANGUAGE c AS '$library', 'plan_nodes_check';
CREATE FUNCTION canonical(statement text, kept boolean) RETURNS text STRICT
LANGUAGE c AS '$library', 'plan_nodes_canonical';
CREATE FUNCTION packed(statement text) RETURNS int STRICT
LANGUAGE c AS '$library', 'plan_nodes_packed';
CREATE FUNCTION joins(statement text) RETURNS text STRICT
LANGUAGE c AS '$library', 'plan_nodes_joins';
CREATE TABLE open (v int, w int);
CREATE TABLE other (v int, w int);
CREATE FUNCTION pick("p :location 5" int DEFAULT 0, "p :location 6" int DEFAULT 0) RETURNS int
LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
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

# Canonical texts, constants kept and blanked.
sub texts
{
	return map { value($node, "SELECT canonical(\$q\$$_[0]\$q\$, $_)") } qw(true false);
}

sub same
{
	my ($what, $first, @others) = @_;
	my @texts = texts($first);

	is_deeply([ texts($_) ], \@texts, "$what: $_") foreach @others;
	return;
}

sub differ
{
	my ($what, $first, @others) = @_;
	my @texts = texts($first);

	foreach my $other (@others)
	{
		my @found = texts($other);

		isnt($found[0], $texts[0], "$what: $other");
		isnt($found[1], $texts[1], "$what, constants blanked: $other");
	}
	return;
}

sub constants_differ
{
	my ($first, @others) = @_;
	my @texts = texts($first);

	foreach my $other (@others)
	{
		my @found = texts($other);

		isnt($found[0], $texts[0], "constants differ: $other");
		is($found[1], $texts[1], "one shape: $other");
	}
	return;
}

same('places in the text', 'SELECT dp_count(*) FROM visit WHERE age > 3',
	"/* a question */ select  dp_count( * )\nfrom visit\nwhere  (age > 3) -- so it is",
	'SELECT dp_count(*)*2 AS twice FROM visit WHERE age > 3 ORDER BY 1 LIMIT 1');
same('aliases', 'SELECT flag, dp_sum(age) FROM visit WHERE id > 3 GROUP BY flag',
	'SELECT flag AS f, dp_sum(age) AS total FROM visit WHERE id > 3 GROUP BY flag',
	'SELECT v.flag, dp_sum(v.age) FROM visit v WHERE v.id > 3 GROUP BY 1',
	'SELECT b, dp_sum(y) FROM visit AS v (a, y, c, d, b) WHERE a > 3 GROUP BY b',
	'SELECT flag, dp_sum(age) FROM public.visit WHERE id > 3 GROUP BY flag HAVING dp_sum(age) > 7');
same('aliases of a subquery', 'SELECT dp_sum(age) FROM (SELECT age, flag FROM visit) s WHERE flag',
	'SELECT dp_sum(x) FROM (SELECT v.age AS x, v.flag AS y FROM visit v) t WHERE t.y',
	'SELECT dp_sum(x) FROM (SELECT age, flag FROM visit ORDER BY flag, age) AS t (x, y) WHERE y',
	'WITH w (a, b) AS (SELECT age, flag FROM visit) SELECT dp_sum(a) FROM w WHERE b');
same('order of clauses', 'SELECT flag, name, dp_count(*) FROM visit GROUP BY flag, name',
	'SELECT flag, name, dp_count(*) FROM visit GROUP BY 2, 1',
	'SELECT flag, name, dp_count(*) FROM visit GROUP BY name, flag ORDER BY 3 DESC, name DESC NULLS LAST');
same('names in a subquery that runs before',
	'SELECT dp_count(*) FROM visit WHERE age > (WITH a AS (SELECT v FROM open), b AS (SELECT v + 1 AS v FROM a)'
	  . ' SELECT max(b.v) FROM a JOIN b ON a.v = b.v)',
	'SELECT dp_count(*) FROM visit WHERE age > (WITH b (q) AS (SELECT v FROM open), a (z) AS (SELECT q + 1 AS v FROM b)'
	  . ' SELECT max(y.z) FROM b x JOIN a y ON x.q = y.z)');
same('windows', 'SELECT dp_count(*) FROM visit WHERE age > (SELECT max(r) FROM (SELECT rank() OVER w AS r'
	  . ' FROM open WINDOW w AS (PARTITION BY w ORDER BY v)) s)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT max(r) FROM (SELECT rank() OVER x AS r'
	  . ' FROM open WINDOW x AS (PARTITION BY w ORDER BY v)) s)');

constants_differ("SELECT dp_count(*) FROM visit WHERE name = 'a' AND age > 3",
	"SELECT dp_count(*) FROM visit WHERE name = 'b' AND age > 3",
	"SELECT dp_count(*) FROM visit WHERE name = 'a ' AND age > 3",
	"SELECT dp_count(*) FROM visit WHERE name = ':location 3' AND age > 3",
	"SELECT dp_count(*) FROM visit WHERE name = 'a' AND age > -3",
	"SELECT dp_count(*) FROM visit WHERE name = NULL AND age > 3",
	"SELECT dp_count(*) FROM visit WHERE name = 'a' AND age > NULL::int");
constants_differ('SELECT dp_sum(age, 0, 10) FROM visit', 'SELECT dp_sum(age, 0, 11) FROM visit');
constants_differ('SELECT dp_count(*) FROM visit WHERE age > (SELECT min(v) + 1 FROM open LIMIT 1)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT min(v) + 2 FROM open LIMIT 1)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT min(v) + 1 FROM open LIMIT 2)');

differ('another question', 'SELECT dp_count(age) FROM visit WHERE age > 3',
	'SELECT dp_count(age) FROM visit', 'SELECT dp_count(id) FROM visit WHERE age > 3',
	'SELECT dp_count(age) FROM visit WHERE id > 3', 'SELECT dp_count(age) FROM visit WHERE age >= 3',
	'SELECT dp_count(age) FROM visit WHERE age > 3::bigint', 'SELECT dp_count(*) FROM visit WHERE age > 3',
	'SELECT dp_count(DISTINCT age) FROM visit WHERE age > 3',
	'SELECT dp_count(age) FILTER (WHERE flag) FROM visit WHERE age > 3',
	'SELECT dp_count(age), dp_sum(age) FROM visit WHERE age > 3',
	'SELECT flag, dp_count(age) FROM visit WHERE age > 3 GROUP BY flag');
differ('another key', 'SELECT flag, dp_count(*) FROM visit GROUP BY flag',
	'SELECT name, dp_count(*) FROM visit GROUP BY name',
	'SELECT flag, name, dp_count(*) FROM visit GROUP BY flag, name');
differ('another subquery', 'SELECT dp_count(*) FROM visit WHERE age > (SELECT max(v) FROM open)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT min(v) FROM open)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT max(w) FROM open)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT max(v) FROM other)',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT max(v) FROM open GROUP BY w)');
differ('the other WITH query', 'SELECT dp_count(*) FROM visit WHERE age > (WITH a AS (SELECT v FROM open),'
	  . ' b AS (SELECT w AS v FROM open) SELECT max(a.v) FROM a)',
	'SELECT dp_count(*) FROM visit WHERE age > (WITH a AS (SELECT v FROM open),'
	  . ' b AS (SELECT w AS v FROM open) SELECT max(a.v) FROM b a)');
differ('a name that looks like a place',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT pick("p :location 5" => 1))',
	'SELECT dp_count(*) FROM visit WHERE age > (SELECT pick("p :location 6" => 1))');

is(value($node, "SELECT packed(\$q\$SELECT dp_count(*) FROM visit WHERE name IN ('a', 'b') AND flag\$q\$)"),
	2, 'constants in the form of stored values are the same');

# How rows are joined: in time that is linear in them, whatever is asked, but
# where nothing is equal.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE person (id int PRIMARY KEY, g int NOT NULL, t text COLLATE "C");
CREATE TABLE event (pid int NOT NULL, c int NOT NULL, x int, y int, t text COLLATE "C");
CREATE TABLE bill (pid int NOT NULL, c int NOT NULL);
CREATE TABLE place (id int PRIMARY KEY, kind text COLLATE "C", name text COLLATE "C", n int);
SELECT dp_protect('person', unit => 'id', dataset => 'joined'), dp_protect('event', unit => 'pid', dataset => 'joined', max_total => 1), dp_protect('bill', unit => 'pid', dataset => 'joined', max_total => 1);
EOT
my $both = 'event e JOIN person p ON p.id = e.pid';
my $lookups = "$both JOIN place a ON a.id = e.c JOIN place b ON b.id = p.g";

sub joined
{
	my ($hashed, $looped, $kept, $from) = @_;

	is(value($node, "SELECT joins(\$q\$SELECT dp_count(*) FROM $from\$q\$)"), "$hashed hashed, $looped looped, $kept kept", $from);
	return;
}

joined(@$_)
  foreach [ 1, 0, 0, $both ], [ 1, 0, 0, "$both WHERE e.c = 1 AND e.x = 2 AND e.y = 3 AND e.t = 'a' AND p.g = 4 AND p.t = 'b'" ],
  [ 3, 0, 0, $lookups ], [ 3, 0, 0, "$lookups WHERE a.kind = 'x' AND b.kind = 'x'" ],
  [ 3, 0, 0, "$lookups WHERE a.kind = 'x' AND a.name = 'y' AND a.n = 3 AND b.kind = 'x' AND b.name = 'y'" ],
  [ 3, 0, 0, "$lookups WHERE a.kind IN ('x', 'y') AND b.name LIKE 'x%' AND b.n BETWEEN 1 AND 3 AND e.x > 3" ],
  [ 5, 0, 0, "$lookups JOIN bill f ON f.pid = p.id AND f.c = e.c JOIN place d ON d.id = f.c AND d.n = e.x WHERE a.kind = 'x' AND b.kind = 'x' AND d.kind = 'x'" ],
  [ 4, 0, 0, "$lookups JOIN bill f ON f.pid = e.pid AND f.c < e.c WHERE a.kind = 'x' AND b.kind = 'x'" ],
  [ 3, 0, 0, "person p LEFT JOIN (event e JOIN place a ON a.id = e.c AND a.kind = 'x' JOIN place b ON b.n = e.x AND b.kind = 'y') ON e.pid = p.id AND e.y = 3" ],
  [ 3, 0, 0, "bill f RIGHT JOIN ($both AND e.x = 1 AND p.g = 2) ON f.pid = p.id AND f.c = 1 LEFT JOIN place a ON a.id = f.c AND a.kind = 'x'" ],
  [ 1, 0, 0, "(SELECT id FROM person WHERE g = 1 AND t = 'a') p FULL JOIN (SELECT pid FROM event WHERE c = 1 AND x = 2) e ON e.pid = p.id" ],
  [ 3, 0, 0, "$both JOIN place a ON a.id = e.c AND a.kind = 'x' WHERE EXISTS (SELECT FROM bill f WHERE f.pid = p.id AND f.c = 3)" ],
  [ 3, 0, 0, "person p WHERE g = 1 AND NOT EXISTS (SELECT FROM event e JOIN place a ON a.id = e.c AND a.kind = 'x' JOIN place b ON b.n = e.x WHERE e.pid = p.id AND b.kind = 'x')" ],
  [ 3, 0, 0, "(SELECT pid, count(*) AS n FROM event e JOIN place a ON a.id = e.c WHERE a.kind = 'x' GROUP BY pid) s JOIN person p ON p.id = s.pid JOIN place b ON b.id = p.g WHERE b.kind = 'x' AND s.n = 2" ],
  [ 2, 0, 0, "event e JOIN place a ON a.id = e.c JOIN place b ON b.id = e.x WHERE a.kind = 'x' AND b.kind = 'x' AND e.y = 3" ],
  [ 1, 2, 2, "$lookups WHERE a.id = 3 AND b.id = 4" ], [ 0, 1, 1, 'event e JOIN place a ON a.id = e.c WHERE e.c = 3' ],
  [ 3, 1, 1, "$lookups JOIN place d ON d.id < e.x WHERE a.kind = 'x' AND b.kind = 'x' AND d.kind = 'x'" ], [ 1, 1, 0, "$both CROSS JOIN place a" ];

$node->stop;
done_testing();
