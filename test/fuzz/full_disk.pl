# The disk becomes full while clients ask, for data and WAL alike, and some time
# later it has room again.  The clients' answers and the ledger must agree
# (FuzzClients), and the server must answer again on its own, or after a restart.
#
# The disk is a file system in memory, in a private name space, that a file fills
# up.  If the system has no name spaces for ordinary users, the size of files of the
# server's processes is limited instead, including the WAL and shared memory, which
# mostly ends the server.  FUZZ_FULL times (8, of those 3) from FUZZ_SEED (1); what
# is written then is not reproducible.  FULL_DISK=limit asks for limits.
use strict;
use warnings;

my $space;

BEGIN
{
	$space = $ENV{FULL_DISK} // '';
	my @own = qw(unshare --user --map-current-user --keep-caps --mount);
	my $mount = "mount -t tmpfs -o size=256m tmpfs $ENV{TESTDATADIR}";

	if ($space eq '' && system("@own $mount 2>/dev/null") == 0)
	{
		$ENV{FULL_DISK} = 'own';
		exec @own, $^X, $0 or die "unshare: $!";
	}
	if ($space eq 'own')
	{
		system($mount) == 0 or die 'no tmpfs';
	}
}

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node);
use File::Temp;
use FuzzClients;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(await);
use Test::More;
use Time::HiRes qw(usleep);

use constant LONGEST => 1_500_000;    # that it is full, in microseconds
# What is left, in bytes: from nothing to more than a segment of the WAL.
my @rooms = (0, 8192, 65536, 1 << 20, 3 << 20);

my $wanted = $ENV{FUZZ_FULL} || ($space eq 'own' ? 8 : 3);
my $node = attack_node('full_disk', <<'EOT');
restart_after_crash = on
dp_pg.readers = 4
dp_pg.worker_idle = '2s'
checkpoint_timeout = 30s
EOT
my $folder = File::Temp->newdir;
my $filler = "$ENV{TESTDATADIR}/filler";

srand($ENV{FUZZ_SEED} || 1);

# Segments of 1 MB, so that the WAL needs new ones all the time.
$node->stop;
$node->append_conf('postgresql.conf', "min_wal_size = 2MB\nmax_wal_size = 8MB\n");
system_or_bail('pg_resetwal', '--wal-segsize=1', '-D', $node->data_dir);
$node->start;

# No file may become longer; what there is of them may be written.
sub limit_files
{
	my ($bytes) = @_;

	system("prlimit --pid $_->[0] --fsize=$bytes:unlimited 2>/dev/null") foreach processes();
	return;
}

sub fill
{
	my ($room) = @_;
	my $block = "\0" x 4096;
	my $size = 0;

	return limit_files($room) if $space ne 'own';
	open(my $fh, '>', $filler) or return;
	while ((my $n = syswrite($fh, $block x ($size % 65536 ? 1 : 16))) // 0)
	{
		$size += $n;
	}
	truncate $fh, $size > $room ? $size - $room : 0;
	close $fh;
	return;
}

sub make_room
{
	return limit_files('unlimited') if $space ne 'own';
	unlink $filler;
	return;
}

# All that clients were told beside answers.
sub losses
{
	return join '', map { slurp_file($_) } glob "$folder/*.err";
}

# How many messages say that it was full: clients' by their SQLSTATE, and those of
# the server's log, which lies on the same file system and may miss all of them.
sub has_met
{
	my $met = () = (losses() . slurp_file($node->logfile)) =~ /:  53100|No space left on device|File too large/g;

	return $met;
}

prepare_clients($node, $folder);
start_clients();
my ($times, $bad, $restarts) = (0, 0, 0);
while ($times < $wanted && !$bad)
{
	usleep(rand LONGEST);

	# The first time until the server has met it, with no room at all.
	fill($times ? $rooms[ rand @rooms ] : 0);
	await(sub { has_met() > 0 || !is_up() }) if !$times;
	usleep(LONGEST / 3 + rand LONGEST);
	make_room();
	$times++;

	$restarts++ if !is_up();

	# Again, for processes that were just forked when it was made.
	$bad = count_unpaid(\&make_room);
	make_room();
}
usleep(LONGEST);
stop_clients();

my $answers = check_clients();
my %codes;
$codes{$_}++ foreach losses() =~ /(?:ERROR|FATAL|PANIC):  (\w{5})/g;
note(join ', ', map { "$_ $codes{$_} times" } sort keys %codes);
my $met = has_met();
cmp_ok($space eq 'own' ? $met : $met + $restarts, '>=', 1, "the server met a full disk: $met messages, and ended $restarts times");
is($bad, 0, "ledger and answers agree: full $times times, started $restarts times, $answers answers (" . ($space eq 'own' ? 'file system' : 'limit') . ')');
$node->stop;
done_testing();
