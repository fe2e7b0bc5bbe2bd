# What tools send through psqlODBC: escapes that the driver translates, and texts in
# transparent mode, by isql; what programs do with the driver, by
# odbc_parameters.py.  Each row is compared with that of the plain query, run by the
# owner.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientNode;
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = client_node('odbc');

# Rows that isql prints for a statement of a role, or its SQLSTATE.
sub asks
{
	my ($role, $statement) = @_;
	my $to = join ';', 'DRIVER=PostgreSQL Unicode', 'SERVER=' . $node->host, 'PORT=' . $node->port,
	  'DATABASE=postgres', "UID=$role";
	my ($out, $err);

	IPC::Run::run([ 'isql', '-k', $to, '-b', '-v', '-d|' ], '<', \"$statement\n", '>', \$out, '2>', \$err);
	return $1 if "$out$err" =~ /^\[(\w{5})\]ERROR/m;
	return join "\n", sort grep { /\|/ && !/^\[/ } split /\n/, $out;
}

my %statements = (
	'YEAR, COUNT and SUM' => 'SELECT {fn YEAR("day")} AS y, COUNT(*) AS n, SUM("amount") AS s FROM "sales" GROUP BY {fn YEAR("day")} ORDER BY 1',
	'CONVERT' => 'SELECT "region", ROUND(AVG({fn CONVERT("amount", SQL_DOUBLE)})) AS a FROM "sales" GROUP BY "region"',
	'a date, and HAVING' => q(SELECT "region", COUNT(*) AS n FROM "sales" WHERE "day" >= {d '2024-01-01'} GROUP BY "region" HAVING (COUNT(1) > 0)),
	'a text as a key, CASE' => q(SELECT CAST("region" AS VARCHAR) AS r, SUM(CASE WHEN "amount" > 49 THEN 1 ELSE 0 END) AS n FROM "sales" GROUP BY 1),
	'levels, with columns that nobody uses' => 'SELECT "source"."region" AS r, SUM("source"."n") AS n FROM (SELECT "region", {fn MONTH("day")} AS m, COUNT(*) AS n, SUM("amount") AS unused FROM "sales" GROUP BY 1, 2) "source" GROUP BY "source"."region"');

foreach my $name (sort keys %statements)
{
	my $plain = asks('owner', $statements{$name});

	like($plain, qr/\|/, "$name: the plain query has rows");
	is(asks('bob', $statements{$name}), $plain, "$name: the private one has them");
}
is(asks('bob', 'SELECT "id", "amount" FROM "sales"'), '42501', 'rows are refused');
is(asks('alice', 'SELECT COUNT(*) FROM "sales"'), '42501', 'a role without a budget is refused');
is(value($node, 'SELECT count(*) > 0 FROM dp_pg.ledger'), 't', 'what was asked is in the ledger');


# ---- programs ----

checks('odbc', '/usr/bin/python3', "$FindBin::RealBin/odbc_parameters.py", $node->host, $node->port);

done_testing();
