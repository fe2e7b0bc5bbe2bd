# Helpers of the tests of released tables: on top of LedgerNode sessions that
# are interrupted in a phase that dp_pg.progress shows, and what their
# processes take.
package ReleaseNode;

use strict;
use warnings;

use Exporter 'import';
use LedgerNode;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

our @EXPORT = qw(as quiet_session processor_time readers_time readers_idle
  memory readers_memory await reach work_time cancel_takes end_by_force);

# Output of a role's statement.
sub as
{
	my ($node, $role, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $role ]);
}

# A session that prints warnings and errors only; pid is its process.
sub quiet_session
{
	my ($node, $role) = @_;
	my $self = session($node, $role);

	answer($self, 'SET client_min_messages = warning;');
	($self->{pid}) = answer($self, 'SELECT pg_backend_pid();');
	$self->{role} = $role;
	return $self;
}

# Seconds of processor time that a process has taken, with its threads.
sub processor_time
{
	my ($pid) = @_;
	my @fields = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\) //sr;

	return ($fields[11] + $fields[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# The readers that are there now.
sub readers
{
	my ($node) = @_;

	return split /\n/, value($node, 'SELECT pid FROM pg_stat_activity'
		  . " WHERE application_name = 'dp_pg reader'");
}

# Seconds of processor time that they have taken.
sub readers_time
{
	my ($node) = @_;
	my $time = 0;

	$time += processor_time($_) foreach readers($node);
	return $time;
}

# Wait until no reader is at work.
sub readers_idle
{
	my ($node) = @_;

	return wait_until($node, 'SELECT count(*) = 0 FROM pg_stat_activity'
		  . " WHERE application_name = 'dp_pg reader' AND state = 'active'");
}

# A number that /proc tells of a process: VmHWM (kB), RssAnon (kB), Threads.
sub memory
{
	my ($pid, $name) = @_;

	return slurp_file("/proc/$pid/status") =~ /^$name:\s+(\d+)/m ? $1 : -1;
}

# The largest one that it tells of a reader.
sub readers_memory
{
	my ($node, $name) = @_;
	my $most = -1;

	foreach my $pid (readers($node))
	{
		my $number = memory($pid, $name);

		$most = $number if $number > $most;
	}
	return $most;
}

# Poll, for a minute and a half, until a condition holds.
sub await
{
	my ($condition) = @_;
	my $end = time + 90;

	while (!$condition->())
	{
		return 0 if time > $end;
		usleep(10_000);
	}
	return 1;
}

# Wait until the release of a session is in a phase, as $super sees it.
sub reach
{
	my ($super, $session, $phase, $name) = @_;
	my $sql = "SELECT phase FROM dp_pg.progress WHERE pid = $session->{pid};";

	return ok(await(sub { (answer($super, $sql))[0] eq $phase }), $name);
}

# Seconds of processor time that a session and the readers have taken.
sub work_time
{
	my ($node, $session) = @_;

	return processor_time($session->{pid}) + readers_time($node);
}

# Cancel what a session does; seconds of processor time that it takes, with
# its reader, until both have ended it, and its errors.
sub cancel_takes
{
	my ($node, $super, $session) = @_;
	my $before;
	my $error;

	answer($super, "SELECT pg_cancel_backend($session->{pid});");
	$before = work_time($node, $session);
	(undef, $error) = answer($session);
	ok(readers_idle($node), 'its reader ends it, too');
	return (work_time($node, $session) - $before, $error);
}

# Kill the process of a session, at which the server begins anew.
sub kill_session
{
	my ($node, $session) = @_;
	my $log = -s $node->logfile;

	kill 9, $session->{pid};
	$node->wait_for_log(qr/server processes terminated; reinitializing/,
		$log);
	return;
}

# Kill every process of the server, and start it again.
sub kill_server
{
	my ($node) = @_;
	my @pids = split /\n/, value($node, 'SELECT pid FROM pg_stat_activity'
		  . ' WHERE pid <> pg_backend_pid()');

	$node->kill9;
	kill 9, @pids;
	start_patiently($node) or BAIL_OUT('server does not start');
	return;
}

# Kill the process of the first session, or the whole server; returns sessions
# of the same roles on the server that is back.
sub end_by_force
{
	my ($node, $victim, @sessions) = @_;
	my @roles = map { $_->{role} } @sessions;

	kill_session($node, $sessions[0]) if $victim eq 'session';
	kill_server($node) if $victim eq 'server';
	hang_up($_) for @sessions;
	wait_ready($node) or BAIL_OUT('server does not come back');
	return map { quiet_session($node, $_) } @roles;
}

1;
