# pgjdbc as BI tools use it: see Tools.java, which does the checks.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use ClientNode;
use LedgerNode;
use Test::More;

my $driver = $ENV{DP_PG_JDBC} || '/usr/share/java/postgresql.jar';

# pgjdbc speaks TCP only.
my $node = client_node('tools', "listen_addresses = '127.0.0.1'\n");

value($node, 'GRANT TEMP ON DATABASE postgres TO bob');
checks('jdbc', 'java', '-XX:-UsePerfData', '-cp', $driver, "$FindBin::RealBin/Tools.java",
	'jdbc:postgresql://127.0.0.1:' . $node->port . '/postgres?sslmode=disable');
done_testing();
