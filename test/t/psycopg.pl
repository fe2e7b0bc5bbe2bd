# psycopg 2 and 3: psycopg_both.py, which does the checks.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientNode;
use Test::More;

my $node = client_node('psycopg');

checks('python', '/usr/bin/python3', "$FindBin::RealBin/psycopg_both.py", $node->host, $node->port);
done_testing();
