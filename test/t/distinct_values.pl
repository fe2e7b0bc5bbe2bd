# dp_count(DISTINCT x) distinguishes exactly those values that are not equal, and
# dp_argmax and group keys find them, whatever their type: some of PostgreSQL's hash
# functions are the same for many values under every seed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('distinct_values', "dp_pg.readers = 1\njit = off\n");

# Many values that differ in a way that a hash of 64 bits folded to 32 misses.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE wide (id int PRIMARY KEY, i int8, t timestamptz, clock time, lsn pg_lsn, money money, d float8, n numeric, far interval);
INSERT INTO wide SELECT k, k * 4294967297, '2000-01-01 00:00+00'::timestamptz + k * interval '4294.967297 s',
	'00:00'::time + (k * 4294967297) % 86400000000 * interval '1 us', '0/0'::pg_lsn + k * 4294967297::numeric,
	(k * 42949672.97)::numeric::money, k * 4294967297.0, (k - 10000) * 0.5, k * interval '4294.967297 s'
FROM generate_series(1, 20000) AS k(k);
SELECT dp_protect('wide', dataset => 'hospital');
EOT
foreach my $column (qw(id i t clock lsn money d n far))
{
	my ($out) = as($node, 'analyst', "SELECT dp_count(DISTINCT $column) FROM wide");

	is($out, value($node, "SELECT count(DISTINCT $column) FROM wide"), "distinct values of $column");
}

# Values that look different and are equal, and the reverse.
my %values = (
	numeric => [qw(1 1.0 1.000 -1 -1.00 0 0.00 10000 1e4 0.0001 1e-4 NaN Infinity -Infinity 123456789012345678901234567890.5 -123456789012345678901234567890.50 1e100 1e-100)],
	float8 => [qw(0 -0 1 1e0 NaN Infinity -Infinity 1e-300 2e-300)],
	float4 => [qw(0 -0 1 NaN Infinity -Infinity 0.1 0.10000000149)],
	interval => [ '1 mon', '30 days', '720 hours', '1 day', '24:00', '-1 day', '0', '12 mon', '1 year', '360 days', '1 mon -30 days', '100 years' ],
	timetz => [ '12:00+00', '13:00+01', '12:00+01', '11:00+00', '12:00:00.000+00' ],
	'char(5)' => [ 'a', 'a  ', ' a', '', '  ' ],
	text => [ 'a', 'a  ', ' a', '', 'b' x 3000, 'b' x 3001 ],
	bytea => [ '\x', '\x00', '\x0000', '\x01' ],
	varbit => [ '', '0', '00', '1', '10', '000000000' ],
	inet => [ '10.0.0.1', '10.0.0.1/32', '10.0.0.1/24', '::1', '::1/128', '::10.0.0.1' ],
	cidr => [ '10.0.0.0/8', '10.0.0.0/16', '::/0', '0.0.0.0/0' ],
	macaddr8 => [ '08:00:2b:01:02:03:04:05', '08002b0102030405', '08:00:2b:01:02:03:04:06' ],
	macaddr => [ '08:00:2b:01:02:03', '08002b010203', '08:00:2b:01:02:04' ],
	uuid => [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC999C0B4EF8BB6D6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12' ],
	tid => [ '(0,1)', '(1,0)', '(0,1)', '(65536,1)' ], oidvector => [ '', '0', '1 2', '2 1', '1 2 3' ], xid8 => [qw(1 4294967296 4294967297)],
	name => [ 'a', 'ab' ], bool => [ 't', 'f', 'true' ], '"char"' => [ 'a', 'b' ], date => [ '2000-01-01', 'infinity', '-infinity' ]);
my $n = 0;

foreach my $type (sort keys %values)
{
	my @literals = map { "('$_'::$type)" } @{ $values{$type} };
	my $table = 'v' . ++$n;

	value($node, "SET SESSION AUTHORIZATION owner; CREATE TABLE $table (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v $type);"
		  . " INSERT INTO $table (v) VALUES " . join(', ', @literals, '(NULL)') . "; SELECT dp_protect('$table', dataset => 'hospital')");
	my ($out) = as($node, 'analyst', "SELECT dp_count(DISTINCT v) FROM $table");
	is($out, value($node, "SELECT count(DISTINCT v) FROM $table"), "distinct values of $type");

	# each of the values is among its equals, and among no others
	my $counted = value($node, "SELECT string_agg(n::text, ' ' ORDER BY id) FROM (SELECT a.id, count(*) AS n FROM $table a JOIN $table b USING (v) GROUP BY a.id) AS s");
	my $found = '';
	foreach my $literal (@{ $values{$type} })
	{
		my ($one) = as($node, 'analyst', "SELECT (dp_histogram(CASE WHEN id > 0 THEN 1 END, 0, 2, 2) FILTER (WHERE v = '$literal'))[2] FROM $table");
		my ($top, $err) = as($node, 'analyst', "SELECT dp_argmax(v, ARRAY['$literal']::$type\[]) FROM $table");

		is($err, '', "found among candidates: " . substr("$type $literal", 0, 40)) if $err ne '';
		$found .= ($found eq '' ? '' : ' ') . $one;
	}
	is($found, $counted, "equal values of $type");
	my @twice = as($node, 'analyst', "\\set VERBOSITY verbose\nSELECT dp_argmax(v, ARRAY[" . join(',', map { "'$_'" } @{ $values{$type} }) . "]::$type\[]) FROM $table");
	my $distinct = value($node, "SELECT count(DISTINCT v) = count(v) FROM $table");
	like($twice[1], $distinct eq 't' ? qr/^$/ : qr/22023/, "equal candidates of $type are seen");
}

my ($undef, $err) = as($node, 'analyst', "\\set VERBOSITY verbose\nSELECT dp_count(DISTINCT ARRAY[id]) FROM wide");
like($err, qr/ERROR:  0A000/, 'types of no known equality are refused');

$node->stop;
done_testing();
