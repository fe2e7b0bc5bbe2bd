# Pages of doc/ that are run from top to bottom, as they stand; see PageNode.pm.
# At the prices there a count is off by more than 25 with a probability below
# e^-25, and there are fewer than 100 of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PageNode;
use PostgreSQL::Test::Cluster;
use Test::More;

foreach my $page (qw(warehouse))
{
	my $node = PostgreSQL::Test::Cluster->new($page);

	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'\ntimezone = 'UTC'\n");
	$node->start;
	local $ENV{PGUSER} = 'postgres';
	page_is($node, "$page.md", page_blocks(page_text("$page.md")));
	$node->stop;
}
done_testing();
