# Pools of connections: pgbouncer gives one server connection to many clients, a
# transaction at a time.  No client pays by another client's settings: with
# dp_pg.setting_scope, or where pgbouncer tracks parameters (since 1.20).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

# What psql connects to in place of the server.
package Pool
{
	sub connstr { my ($self, $db) = @_; return "$self->{connstr} dbname=$db"; }
}

my $node = ledger_node('pooling');
my @settings = map { "dp_pg.$_" }
  qw(delta epsilon max_keys max_rows max_total mechanism publish_schema reuse split
	 suppress transparent);
my $count = 'SELECT dp_count(*) IS NOT NULL FROM people';
my @running;

END
{
	my $status = $?;

	$_->kill_kill foreach @running;
	$? = $status;
}

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE people (id int PRIMARY KEY);
INSERT INTO people SELECT g FROM generate_series(1, 100) g;
SELECT dp_protect('people', dataset => 'h');
SELECT dp_grant('bob', 'h', epsilon => 1000, filter => 'basic');
RESET SESSION AUTHORIZATION;
ALTER ROLE alice SET dp_pg.setting_scope = transaction;
EOT

# The program is where an ordinary user has no path.
$ENV{PATH} .= ':/usr/sbin';
my ($version) = (`pgbouncer --version` || '') =~ /^PgBouncer (\d+\.\d+)/;
ok($version, 'pgbouncer is there');
my $tracks = (split /\./, $version // '1.0')[1] >= 20;

# A pgbouncer of one session for each role, with more lines in its file.
sub start_pool
{
	my ($name, $more) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();

	append_to_file("$folder/users", qq{"alice" ""\n"bob" ""\n});
	append_to_file("$folder/ini", <<"EOT");
[databases]
postgres = host=@{[ $node->host ]} port=@{[ $node->port ]} dbname=postgres
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $folder
logfile = $folder/log
auth_type = trust
auth_file = $folder/users
pool_mode = transaction
default_pool_size = 1
$more
EOT
	push @running, IPC::Run::start([ 'pgbouncer', '-q', "$folder/ini" ],
		'>', '/dev/null', '2>&1');
	foreach (1 .. 100)
	{
		last if -S "$folder/.s.PGSQL.$port";
		usleep(100_000);
	}
	return bless { connstr => "host=$folder port=$port" }, 'Pool';
}

# The price of the last charge of the ledger.
sub last_price
{
	return value($node,
		'SELECT trim_scale(epsilon) FROM dp_pg.ledger ORDER BY id DESC LIMIT 1');
}

# A statement of a client is answered, or not: SQLSTATE.
sub says
{
	my ($client, $sql) = @_;
	my (undef, $err) = answer($client, "$sql;");

	return $err =~ /ERROR:\s+(\w{5})/ ? $1 : '';
}

# Both ask; what each of them is charged.
sub prices
{
	my @clients = @_;

	return join ' ', map { says($_, $count) || last_price() } @clients;
}

sub two_clients
{
	my ($pool, $role) = @_;
	my @clients = map { session($pool, $role) } 1 .. 2;
	my @pids = map { (answer($_, 'SELECT pg_backend_pid();'))[0] } @clients;

	is($pids[0], $pids[1], "two clients of $role share a session");
	return @clients;
}

# ---- scope ----

my $pool = start_pool('plain', '');
my ($one, $two) = two_clients($pool, 'bob');
is(says($one, "SET dp_pg.epsilon = '2'"), '', 'without the scope one sets a price');
is(prices($two), '2', 'and the other pays it');
hang_up($_) foreach $one, $two;

($one, $two) = two_clients($pool, 'alice');
is(says($one, "SET dp_pg.epsilon = '2'"), '25P01', 'with it SET is refused');
is(says($one, "SELECT set_config('dp_pg.epsilon', '2', false)"),
	'25P01', 'and so is set_config');
is(prices($one, $two), '0.1 0.1', 'nobody pays another price');
foreach my $set ("SET LOCAL dp_pg.epsilon = '2'", "SET dp_pg.epsilon = '2'",
	"SELECT set_config('dp_pg.epsilon', '2', false)",
	"SET dp_pg.epsilon = '2'; SAVEPOINT s; SET dp_pg.epsilon = '3'; ROLLBACK TO s",
	"SAVEPOINT s; SET dp_pg.epsilon = '2'; RELEASE s")
{
	answer($one, "BEGIN; $set;");
	is(prices($one), '2', "$set: counts in its transaction");
	is(says($one, 'COMMIT'), '', 'which commits');
	is(prices($two, $one), '0.1 0.1', 'and no longer');
	answer($one, "BEGIN; $set; ROLLBACK;");
	is(prices($two), '0.1', 'nor after a rollback');
}
answer($one, "BEGIN; SET dp_pg.epsilon = '2'; SET LOCAL dp_pg.epsilon TO DEFAULT; COMMIT;");
is(prices($two), '0.1', 'not a price below a local one either');
answer($one, "BEGIN; SET dp_pg.epsilon = '2'; COMMIT AND CHAIN;");
is(prices($one), '0.1', 'nor in a chained transaction');
answer($one, 'COMMIT;');
my @lines = split /\n/, (answer($one, "SET dp_pg.epsilon = '2'\\; $count\\; SHOW dp_pg.epsilon;"))[0];
is($lines[-1], '2', 'statements sent together are a transaction');
is(last_price(), '2', 'whose price counts');
is(prices($two), '0.1', 'and no longer');
is(says($one, "ALTER ROLE alice SET dp_pg.epsilon = '9'"),
	'42501', 'the defaults of the role are not its clients\' to change');
is(says($one, 'ALTER ROLE alice RESET ALL'), '42501', 'nor to forget');
is(says($one, "ALTER ROLE alice SET work_mem = '5MB'"), '', 'but others are');
is(says($one, 'DISCARD ALL'), '', 'a pool may tidy up');
is(prices($two), '0.1', 'which changes nothing');
hang_up($_) foreach $one, $two;
value($node, "ALTER ROLE alice SET dp_pg.epsilon = '0.5'");
$pool = start_pool('again', '');
($one, $two) = two_clients($pool, 'alice');
is(prices($one), '0.5', 'a default of the role counts');
answer($one, "BEGIN; SET dp_pg.epsilon = '2'; COMMIT;");
is(prices($two), '0.5', 'and is what a transaction leaves behind');
hang_up($_) foreach $one, $two;

# ---- values of a connection, and a scope that comes later ----

{
	local $ENV{PGOPTIONS} = "-c dp_pg.epsilon=5";
	my $direct = session($node, 'alice');

	is(prices($direct), '55000', 'a value of the connection does not count');
	is(says($direct, "BEGIN; SET LOCAL dp_pg.epsilon = '2'; $count; COMMIT"),
		'', 'one of the transaction does');
	is(last_price(), '2', 'as it says');
	is(prices($direct), '55000', 'and leaves the other one behind');
	hang_up($direct);
}
{
	local $ENV{PGOPTIONS} = '-c dp_pg.reuse=1h';
	my $direct = session($node, 'alice');

	is(says($direct, "BEGIN; SET LOCAL dp_pg.reuse = '1h'; $count; COMMIT"),
		'', 'an answer is stored');
	is(says($direct, $count), '55000',
		'and not given for a value of the connection');
	is(says($direct, "BEGIN; SET LOCAL dp_pg.reuse = '1h'; $count; COMMIT"),
		'', 'for one of the transaction it is');
	hang_up($direct);
}
my $direct = session($node, 'bob');
is(says($direct, "SET dp_pg.epsilon = '5'"), '', 'a session sets a price');
value($node, 'ALTER SYSTEM SET dp_pg.setting_scope = transaction');
value($node, 'SELECT pg_reload_conf()');
ok(wait_until($node, "SELECT current_setting('dp_pg.setting_scope') = 'transaction'"),
	'then the scope changes');
is(prices($direct), '55000', 'and the price does not count any more');
is(says($direct, 'SELECT 1'), '', 'it ends with the transaction');
is(prices($direct), '0.1', 'and the default counts');
is(says($direct, "BEGIN; SET LOCAL dp_pg.epsilon = '2'; $count; COMMIT"),
	'', 'readers take the values of their sessions');
is(last_price(), '2', 'which are charged');
value($node, 'ALTER SYSTEM RESET dp_pg.setting_scope');
value($node, 'SELECT pg_reload_conf()');
hang_up($direct);

# ---- tracking ----

if ($tracks)
{
	my $set = join ', ', @settings;

	$pool = start_pool('tracking', "track_extra_parameters = $set");
	($one, $two) = two_clients($pool, 'bob');
	is(says($one, "SET dp_pg.epsilon = '2'"), '', 'a client sets a price');
	is(prices($two, $one, $two), '0.1 2 0.1', 'and pays it, nobody else');
	is(says($two, "SET dp_pg.transparent = on"), '', 'another sets the mode');
	is(says($one, 'SELECT count(*) FROM people'), '42501', 'which is its own');
	is(says($two, 'SELECT count(*) FROM people'), '', 'as it stays');
	hang_up($_) foreach $one, $two;
}

done_testing();
