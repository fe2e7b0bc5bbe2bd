# Sessions when the lock table or the disk is full: whether a question could be
# written reveals nothing about its answer.  The full disk is simulated by a limit
# on the size of the files that the ledger's worker writes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SessionNode;
use Test::More;

my $most = 12 * 1024 * 1024;

# WAL segments must stay below the limit: the worker writes them too.
my $node = session_node('session_full', "autovacuum = off\n",
	[ '--wal-segsize=1' ]);
my $filler = as($node, 'alice',
	    "SELECT dp_sparse_vector_open('visits', threshold => -1e6,"
	  . ' cutoff => 100000, questions => 100000, epsilon => 1)');
my %session = map {
	(   $_ => as($node, 'alice',
			    "SELECT dp_sparse_vector_open('visits', threshold => 500,"
			  . " cutoff => 100, questions => 200, epsilon => 100000,"
			  . ($_ eq 'rounds' ? ' delta => 1e-9,' : '')
			  . " method => '$_')"))
} qw(geometric rounds);

# 50 kB that cannot be compressed, after the answer wanted.
sub question
{
	my ($session, $truth) = @_;

	return 'SELECT above FROM dp_sparse_vector_ask'
	  . "($session, '$truth /*' || (SELECT string_agg(md5(random()::text), '')"
	  . " FROM generate_series(1, 1560)) || '*/')";
}

# SQLSTATE of a question, '' when it was answered.
my $alice = session($node, 'alice');

sub fate
{
	my ($session, $truth) = @_;
	my ($out, $error) = answer($alice, question($session, $truth) . ';');

	return $error =~ /(?:ERROR|FATAL):\s+(\w{5})\b/ ? $1 : '';
}

# Five questions of each kind: how many ended how.
sub fates
{
	my ($session) = @_;
	my %seen;

	for (1 .. 5)
	{
		$seen{$_}{ fate($session, $_) }++ for qw(true false);
	}
	return \%seen;
}

# The lock table.  An error does not give back what was locked before it.
my $holder = session($node, 'postgres');
my $locks = 'SELECT count(pg_advisory_lock(i)) FROM generate_series(1, 1000000) AS i;';
my $answered = 0;

fate($session{geometric}, 'false');
my (undef, $full) = answer($holder, $locks);
like($full, qr/53200/, 'the lock table is full');
foreach my $free (1 .. 12)
{
	my $seen = fates($session{geometric});

	is_deeply($seen->{false}, $seen->{true},
		'what fails does not depend on the answer');
	$answered += $seen->{true}{''} // 0;
	answer($holder, "SELECT pg_advisory_unlock($free);");
}
cmp_ok($answered, '<', 60, 'some questions failed');
answer($holder, 'SELECT pg_advisory_unlock_all();');
is( session_state($node, $session{geometric}, 'asked, above'),
	2 * $answered + 1 . "|$answered",
	'what was answered is counted');

my $worker = value($node,
	"SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg ledger'");
system_or_bail('prlimit', "--pid=$worker", "--fsize=$most:$most");

my $written = 0;
$written++ while fate($filler, 'true') eq '' && $written < 1000;
cmp_ok($written, '>', 10, 'questions were written before the disk was full');
cmp_ok($written, '<', 1000, 'and then no more');

foreach my $method (sort keys %session)
{
	my $s = $session{$method};
	my $before = session_state($node, $s);
	my $seen = fates($s);

	is_deeply($seen->{false}, $seen->{true},
		"$method: what fails does not depend on the answer");
	is(session_state($node, $s), $before, "$method: nothing was told");
}
is( value($node,
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg ledger'"
	),
	$worker,
	'by one and the same worker');

$node->stop('immediate');
done_testing();
