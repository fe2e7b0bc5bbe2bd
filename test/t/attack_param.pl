# Parameters numbered like the ones the extension makes itself.  Had the two
# numbers met, a bigint of the analyst would be read as the address of a text.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('param');

# A prepared statement with n parameters, the last of which is used.
sub ask_with
{
	my ($n, $type, $value, $where) = @_;
	my $sql = 'PREPARE p (' . ('int,' x ($n - 1)) . "$type) AS SELECT dp_count(*) FROM patients WHERE $where;\n"
	  . 'EXECUTE p (' . ('1,' x ($n - 1)) . "$value);\n";
	my ($out, $err) = as($node, 'analyst', $sql);

	return $err =~ /ERROR:\s+(.*)/ ? $1 : $out;
}

my $inner = 'age >= (SELECT 41414141414141::bigint - 41414141414141)';
for my $n (1, 1_000_000, 1_000_001)
{
	is(ask_with($n, 'text', "'xyz'", "$inner AND starts_with(\$$n, 'x')"), 10000, "parameter $n is the text it was given");
}
is(ask_with(1_000_000, 'text', "'xyz'", "$inner AND starts_with(\$1000000, 'y')"), 0, 'another question');
is(ask_with(1_000_000, 'int', '50', "age < \$1000000"), 5000, 'without a subquery');
like(sqlstate($node, 'analyst', 'SELECT dp_count(*) FROM patients WHERE age > $0'), qr/^42/, 'there is no parameter 0');
like(sqlstate($node, 'analyst', 'SELECT dp_count(*) FROM patients WHERE age > $-1'), qr/^42/, 'nor a negative one');
# a subquery of another type than what surrounds it
is(ask_with(1, 'int', '1', "name = (SELECT 'often'::text) AND age >= (SELECT 0) AND \$1 = 1 AND id <= (SELECT 100::numeric)"), 33, 'several subqueries');
is(value($node, 'SELECT 1'), 1, 'the server is alive');
unlike(log_since($node, 0), qr/terminated by signal/, 'and never crashed');

$node->stop;
done_testing();
