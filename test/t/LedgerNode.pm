# Helpers of the ledger's TAP tests: a server with the extension, a dataset
# "h" that the role "owner" owns, and roles that ask.
package LedgerNode;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

our @EXPORT = qw(ledger_node populate sqlstate value charges session ask
  answer hang_up wait_until wait_ready worker_pid start_patiently near);

# A running server; conf is appended to postgresql.conf.
sub ledger_node
{
	my ($name, $conf, $initdb) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1, extra => $initdb || []);
	$node->append_conf('postgresql.conf', <<"EOT");
shared_preload_libraries = 'dp_pg'
max_connections = 120
restart_after_crash = on
log_min_messages = info
timezone = 'UTC'
EOT
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	$node->start;
	populate($node, 'postgres');
	return $node;
}

# The extension, roles and a dataset; alice has a budget of epsilon 1000.
sub populate
{
	my ($node, $db) = @_;

	$node->safe_psql($db, <<'EOT');
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE alice LOGIN;
CREATE ROLE bob LOGIN;
GRANT EXECUTE ON FUNCTION dp_pg.charge TO PUBLIC;
GRANT EXECUTE ON FUNCTION dp_pg.open_dataset TO owner;
GRANT CREATE ON SCHEMA public TO owner, alice, bob;
SET SESSION AUTHORIZATION owner;
SELECT dp_pg.open_dataset('h');
SELECT dp_grant('alice', 'h', epsilon => 1000, filter => 'basic');
EOT
	return;
}

# SQLSTATE of the first error of a script, or '' when there was none.
sub sqlstate
{
	my ($node, $user, $sql, $db) = @_;
	my ($rc, $out, $err) = $node->psql(
		$db || 'postgres',
		"\\set VERBOSITY sqlstate\n$sql",
		extra_params => [ '-U', $user ],
		timeout => 120);

	return $1 if $err =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})\b/;
	return $rc == 0 ? '' : "psql: $err";
}

# One value, asked by a superuser.
sub value
{
	my ($node, $sql, $db) = @_;

	return $node->safe_psql($db || 'postgres', $sql);
}

# Lines of numbers that differ by no more than is allowed in each column: what is
# rounded may end on either side, and the noise of a mean is not 0.
sub near
{
	my ($got, $wanted, $name, @most) = @_;
	my @lines = ([ split /\n/, $got ], [ split /\n/, $wanted ]);
	my $far = @{ $lines[0] } != @{ $lines[1] };

	foreach my $i (0 .. $#{ $lines[1] })
	{
		my ($a, $b) = map { [ split /\|/, $_->[$i] // '', -1 ] } @lines;

		$far ||= @$a != @$b;
		$far ||= $b->[$_] =~ /^-?[\d.]+$/ && $a->[$_] =~ /^-?[\d.]+$/ ? abs($a->[$_] - $b->[$_]) > ($most[$_] // 0) : $a->[$_] ne $b->[$_] foreach 0 .. $#$b;
	}
	return ok(!$far, $name) || diag("got:\n$got\nwanted:\n$wanted");
}

# Number of charges in the ledger, optionally of one mechanism.
sub charges
{
	my ($node, $mechanism) = @_;
	my $where = defined $mechanism ? "WHERE mechanism = '$mechanism'" : '';

	return value($node, "SELECT count(*) FROM dp_pg.ledger $where");
}

# An interactive psql.
sub session
{
	my ($node, $user, $db) = @_;
	my $self = { in => '', out => '', err => '', n => 0 };

	$self->{h} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-U', $user,
			'-d', $node->connstr($db || 'postgres')
		],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		IPC::Run::timeout(180));
	return $self;
}

# Send a statement without waiting.
sub ask
{
	my ($self, $sql) = @_;

	$self->{n}++;
	$self->{in} .= "$sql\n\\echo =done $self->{n}=\n";
	$self->{h}->pump_nb;
	return;
}

# Wait for everything sent; returns (output, errors) and forgets them.
sub answer
{
	my ($self, $sql) = @_;
	my ($out, $err);

	ask($self, $sql) if defined $sql;
	$self->{h}->pump
	  until $self->{out} =~ /=done $self->{n}=/ || !$self->{h}->pumpable;
	($out, $err) = ($self->{out}, $self->{err});
	$out =~ s/=done \d+=\n//g;
	chomp $out;
	$self->{out} = '';
	$self->{err} = '';
	return ($out, $err);
}

sub hang_up
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	eval { $self->{h}->finish; };
	return;
}

# Poll until a query of a superuser returns true.
sub wait_until
{
	my ($node, $sql) = @_;

	return $node->poll_query_until('postgres', $sql);
}

# Poll until the server takes connections again after a crash.  Statements go
# in as arguments: psql does not read its input when it cannot connect.
sub wait_ready
{
	my ($node, $sql) = @_;

	for (1 .. 600)
	{
		my $out = '';
		my $ok = IPC::Run::run(
			[
				'psql', '-XAtq', '-d', $node->connstr('postgres'),
				'-c', $sql || 'SELECT true'
			],
			'<', '/dev/null', '>', \$out, '2>', '/dev/null');

		return 1 if $ok && $out eq "t\n";
		usleep(100_000);
	}
	return 0;
}

sub worker_pid
{
	my ($node, $db) = @_;

	return value($node,
		    "SELECT pid FROM pg_stat_activity WHERE application_name ="
		  . " 'dp_pg ledger' AND datname = '"
		  . ($db || 'postgres')
		  . "'");
}

# Start after a kill -9 of the postmaster, whose children may need a moment.
sub start_patiently
{
	my ($node) = @_;

	for (1 .. 40)
	{
		return 1 if $node->start(fail_ok => 1);
		$node->stop('fast', fail_ok => 1);
		usleep(250_000);
	}
	return 0;
}

1;
