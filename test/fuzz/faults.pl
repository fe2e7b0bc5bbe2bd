# Processes of the server are killed while clients ask: backends, the ledger's
# worker, readers and their parallel workers, PostgreSQL's own processes and the
# postmaster; some are stopped for a while instead.  The clients' answers and the
# ledger must agree (FuzzClients).
#
# FUZZ_FAULTS signals (60) from FUZZ_SEED (1); their times are not reproducible.  A
# file that is written survives a kill, so nothing is flushed to disk.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node);
use FuzzClients;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant ROUND => 20;          # signals, before all is compared
use constant LONGEST => 150_000;   # between two of them, in microseconds

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_FAULTS} || 60;
my $node = attack_node('faults', <<'EOT');
fsync = off
restart_after_crash = on
dp_pg.readers = 4
dp_pg.worker_idle = '2s'
max_wal_size = 1GB
checkpoint_timeout = 30s
autovacuum = on
autovacuum_naptime = 1
EOT
my $folder = PostgreSQL::Test::Utils::tempdir();

srand $seed;

prepare_clients($node, $folder);

# ---- signals ----

# A kind of process, so that there is a turn for those of which there are few.
sub kind_of
{
	my ($title) = @_;

	return 'client' if $title =~ /^(?:\w+) postgres \[local\]/;
	return $title =~ s/\d+//gr;
}

my %sent;
my %to;

# One signal; whether the server has to be started afterwards.
sub strike
{
	my %by_kind;
	my ($pid, $kind, $signal);
	my $how = rand;

	push @{ $by_kind{ kind_of($_->[1]) } }, $_->[0] foreach grep { $_->[1] ne '' } processes();
	delete $by_kind{postmaster} if rand() < 0.8;
	return 0 if !%by_kind;
	$kind = (sort keys %by_kind)[ rand keys %by_kind ];
	$pid = $by_kind{$kind}[ rand @{ $by_kind{$kind} } ];
	$signal = $how < 0.4 ? 'KILL' : $how < 0.6 ? 'TERM' : $how < 0.75 ? 'INT' : $how < 0.85 ? 'STOP' : $how < 0.92 ? 'SEGV' : 'QUIT';
	$signal = (qw(KILL QUIT INT))[ rand 3 ] if $kind eq 'postmaster';
	return 0 if !kill $signal, $pid;
	$sent{$signal}++;
	$to{ $kind =~ /logical|autovacuum|client|dp_pg|parallel|postmaster|check|writer/ ? $kind : 'others' }++;
	if ($signal eq 'STOP')
	{
		usleep(rand LONGEST);
		kill 'CONT', $pid;
	}
	return $kind eq 'postmaster';
}

# ---- the machine ----

my ($signals, $bad) = (0, 0);

start_clients();
while ($signals < $wanted && !$bad)
{
	for (1 .. ROUND)
	{
		usleep(rand LONGEST);
		start_again() if strike() || !is_up();
	}
	$signals += ROUND;
	$bad = count_unpaid();
	note("$signals signals so far, all answers paid") if !$bad && $signals % 500 == 0;
}
come_back();
stop_clients();

my $answers = check_clients();
is($bad, 0, "ledger and answers agree: $signals signals, $answers answers (" . join(', ', map { "$sent{$_} $_" } sort keys %sent) . ')');
note(join ', ', map { "$to{$_} $_" } sort keys %to);

$node->stop;
done_testing();
