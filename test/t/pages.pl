# Pages of doc/ that are run from top to bottom, as they stand; see PageNode.pm.
# The distances that they allow for released numbers are at least 25 times the scale
# of the noise, or 7 standard deviations of coins, and 6 standard deviations more
# for rows drawn at random.  Each is exceeded with a probability below e^-24, and
# there are fewer than 400.  Selections that are printed as words differ with a
# probability below e^-19 each.  A false alarm in all has a probability below 10^-7.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PageNode;
use PostgreSQL::Test::Cluster;
use Test::More;

# Pages on real data, and which.
my %real = (tutorial => 'randhie.csv', surveys => 'fair.csv', weights => 'adult.csv', synthesize => 'adult.csv',
	smalldb => 'adult.csv');

foreach my $page (qw(tutorial bi faq warehouse weights synthesize smalldb procedures))
{
	run_blocks($page, page_blocks(page_text("$page.md")));
}

# One sitting: what the owner sets up, the analyst uses.
my @owner = map { page_blocks(page_text($_)) } '../README.md', 'owner.md';
my @analyst = page_blocks(page_text('analyst.md'));
run_blocks('hospital', @owner, @analyst);

# What other pages ask of the same tables; the end of analyst.md tidies up.
my @other = map { page_blocks(page_text("$_.md")) } qw(
	accounting sparse_vector iterate transparent conditions ledger);
run_blocks('questions', @owner, @other, $analyst[-1]);

run_blocks('surveys', map { page_blocks(page_text("$_.md")) } qw(tally quantile local));
done_testing();

sub run_blocks
{
	my ($page, @block) = @_;
	my $node = PostgreSQL::Test::Cluster->new($page);

	# As a server is: the tutorial asks dp_audit.
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'\ntimezone = 'UTC'\nfsync = on\nmax_worker_processes = 12\n");
	$node->start;
	local $ENV{PGUSER} = 'postgres';
  SKIP:
	{
		if (my $file = $real{$page})
		{
			my $data = $ENV{DP_PG_DATA} // '';

			skip 'no real data: DP_PG_DATA', 1 if !-r "$data/$file";
			chdir $data or die "$data: $!";
		}
		page_is($node, $page, @block);
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_db_role_setting'), 0, "$page: no setting is left");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_roles WHERE oid >= 16384'), 0, "$page: nor a role");
	$node->stop;
	return;
}
