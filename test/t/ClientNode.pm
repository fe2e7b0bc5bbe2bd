# Helpers of the tests of drivers and tools: on top of LedgerNode a protected
# table "sales" with a published view, a role "bob" in transparent mode whose
# epsilon leaves no noise, so that what it is answered is what the owner is.
# Each group has thousands of rows: a value of a client's is another than the
# plain one with a probability below e^-10^5.
package ClientNode;

use strict;
use warnings;

use Exporter 'import';
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(client_node checks);

sub client_node
{
	my ($name, $conf) = @_;
	my $node = ledger_node($name, ($conf // '') . "dp_pg.epsilon_ceiling = '1000000'\n");

	value($node, <<'EOT');
CREATE SCHEMA bi AUTHORIZATION owner;
SET SESSION AUTHORIZATION owner;
GRANT USAGE ON SCHEMA bi TO bob;
CREATE TABLE sales (id int PRIMARY KEY, day date NOT NULL, region text NOT NULL, amount int NOT NULL);
INSERT INTO sales SELECT g, date '2023-01-01' + g % 700, (ARRAY['N', 'S', 'E'])[1 + g % 3], g % 100 FROM generate_series(1, 20000) g;
SELECT dp_protect('sales', unit => 'id', dataset => 'h', publish => 'bi.sales');
SELECT dp_declare('sales', 'day', lower => date '2023-01-01', upper => date '2024-12-31');
SELECT dp_declare('sales', 'region', keys => ARRAY['N', 'S', 'E']);
SELECT dp_declare('sales', 'amount', lower => 0, upper => 100);
SELECT dp_grant('bob', 'h', epsilon => 1000000000);
RESET SESSION AUTHORIZATION;
ALTER ROLE bob SET dp_pg.transparent = on;
ALTER ROLE bob SET dp_pg.epsilon = '1000000';
EOT
	return $node;
}

# Runs a program that prints "ok NAME" or "not ok NAME: WHY" for each check;
# what else it says is shown.  One more check: that it came to its end, which
# it says by the number of its checks.
sub checks
{
	my ($name, @command) = @_;
	my ($out, $err) = run_command(\@command);
	my $n = 0;

	diag($err) if $err ne '';
	for my $line (split /\n/, $out)
	{
		if ($line =~ /^(not )?ok (.*)/)
		{
			ok(!$1, "$name: $2");
			$n++;
		}
		elsif ($line =~ /^checks: (\d+)$/)
		{
			is($n, $1, "$name: came to its end");
			return;
		}
		else
		{
			diag($line);
		}
	}
	fail("$name: came to its end");
	return;
}

1;
