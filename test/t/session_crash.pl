# kill -9 of a client, of the worker and of the postmaster, and immediate
# shutdowns, while clients ask one session: no "above" that a client saw is
# forgotten, and no limit is exceeded.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SessionNode;
use Test::More;
use Time::HiRes qw(usleep);

use constant CLIENTS => 8;
use constant QUESTIONS => 1500;	# of a client, more than it can ask

my $node = session_node('session_crash', <<'EOT');
autovacuum = off
log_statement = none
EOT

# Clients whose questions carry a tag each; every other one is above.  Each
# prints the tag and what it was told.
sub start_clients
{
	my ($session) = @_;
	my @clients;

	foreach my $c (1 .. CLIENTS)
	{
		my $script = $node->basedir . "/client$c.sql";
		my $client = { out => '', err => '' };

		unlink $script;
		append_to_file(
			$script,
			join '',
			map {
				my $tag = $c * 100000 + $_;
				my $sign = $_ % 2 ? '<>' : '=';

				"SELECT $tag, above FROM dp_sparse_vector_ask($session,"
				  . " 'id $sign -$tag');\n"
			} 1 .. QUESTIONS);
		$client->{h} = IPC::Run::start(
			[
				'psql', '-XAtq', '-U', 'alice', '-d',
				$node->connstr('postgres'), '-f', $script
			],
			'<', '/dev/null', '>', \$client->{out}, '2>',
			\$client->{err}, IPC::Run::timeout(120));
		push @clients, $client;
	}
	return @clients;
}

# What clients were told: tags of questions that were above, and the others.
sub told_tags
{
	my (@clients) = @_;
	my (@above, @below);

	foreach my $client (@clients)
	{
		eval { $client->{h}->finish; };
		push @above, $client->{out} =~ /^(\d+)\|t$/gm;
		push @below, $client->{out} =~ /^(\d+)\|f$/gm;
	}
	return (\@above, \@below);
}

sub strike
{
	my ($kind) = @_;
	my $pid;

	if ($kind eq 'postmaster')
	{
		$node->kill9;
		return;
	}
	if ($kind eq 'immediate')
	{
		$node->stop('immediate');
		return;
	}
	$pid = value($node, 'SELECT pid FROM pg_stat_activity WHERE '
		  . ($kind eq 'client'
			? "usename = 'alice'"
			: "application_name = 'dp_pg ledger'")
		  . ' LIMIT 1');
	kill 9, $pid if $pid;
	ok($pid, "found a $kind");
	return;
}

sub recover
{
	my ($kind) = @_;

	if ($kind eq 'postmaster' || $kind eq 'immediate')
	{
		start_patiently($node) or BAIL_OUT('server does not start');
	}
	wait_ready($node) or BAIL_OUT('server does not come back');
	return;
}

foreach my $kind (qw(client worker postmaster immediate worker postmaster))
{
	my $s = open_session($node, 'alice', 10**6, 10**5);
	my @clients = start_clients($s);
	my ($above, $below, $asked, $counted);

	wait_until($node, "SELECT asked > 100 FROM dp_pg.session WHERE id = $s");
	usleep(rand(200_000));
	strike($kind);
	($above, $below) = told_tags(@clients);
	recover($kind);

	$asked = @$above + @$below;
	cmp_ok(scalar(@$above), '>', 10, "$kind: some were above");
	cmp_ok(scalar(@$below), '>', 10, "$kind: some were not");
	is( value(
			$node, "SELECT count(*) FROM unnest('{"
			  . join(',', @$above)
			  . "}'::text[]) AS tag WHERE NOT EXISTS (SELECT FROM"
			  . " dp_pg.session_above WHERE session = $s"
			  . q{ AND predicate = 'id <> -' || tag)}),
		0,
		"$kind: no \"above\" was forgotten");
	is( value(
			$node, "SELECT count(*) FROM dp_pg.session_above"
			  . " WHERE session = $s AND predicate LIKE 'id = -%'"),
		0,
		"$kind: none was invented");
	$counted = value($node,
		"SELECT asked FROM dp_pg.session WHERE id = $s");
	cmp_ok($counted, '>=', $asked, "$kind: every answer was counted");
	cmp_ok($counted, '<=', $asked + CLIENTS,
		"$kind: at most what was under way is extra");
	is( value(
			$node, 'SELECT s.above = count(*) AND s.above = max(number)'
			  . ' AND s.asked >= max(asked_at)'
			  . ' AND count(DISTINCT asked_at) = count(*)'
			  . ' AND count(DISTINCT predicate) = count(*)'
			  . ' FROM dp_pg.session AS s JOIN dp_pg.session_above AS a'
			  . " ON a.session = s.id WHERE s.id = $s GROUP BY s.id"),
		't',
		"$kind: counts and list agree");
	is( value(
			$node,
			'SELECT 64 * 1024 * 1024 - s.bytes_left = sum(greatest(64,'
			  . ' octet_length(q.predicate))) AND s.asked = count(*)'
			  . ' FROM dp_pg.session AS s JOIN dp_pg.session_question AS q'
			  . " ON q.session = s.id WHERE s.id = $s GROUP BY s.id"),
		't',
		"$kind: bytes and texts agree");

	# A reader that notices the postmaster's end before its session does ends
	# a question that had begun to read, which closes the session.
	my $closed = value($node, 'SELECT count(*) FROM dp_pg.sessions WHERE'
		  . " session = $s AND reason LIKE 'a question failed%'");

	is(sqlstate($node, 'alice', ask_once($s, 'true')),
		$kind eq 'postmaster' && $closed ? '55000' : '',
		"$kind: the session goes on");
}

# 32 connections on one session: never beyond the cutoff, nor the last
# question.
prepare_race($node, 'used up');
foreach my $case ([ 200, 50, 'true', 50, 50 ], [ 100, 200, 'true', 100, 100 ])
{
	my ($questions, $cutoff, $predicate, $asked, $above) = @$case;
	my $s = open_session($node, 'alice', $questions, $cutoff);

	race($node, $s, $predicate, 32, 8);
	is(session_state($node, $s), "used up|$asked|$above", 'to its end');
	is( value(
			$node, "SELECT count(*) FILTER (WHERE what = 'true'),"
			  . " count(*) FILTER (WHERE what = 'used up'), count(*)"
			  . " FROM told WHERE session = $s"),
		"$above|" . (256 - $above) . '|256',
		'and not beyond');
}

$node->stop;
done_testing();
