# Helpers of the sessions' TAP tests: on top of LedgerNode a protected table
# "visits" of the dataset "h", id = 1 .. 1000.
package SessionNode;

use strict;
use warnings;

use Exporter 'import';
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(session_node as open_session ask_once session_state
  told prepare_race race);

# About "true", 1000 rows, a session with threshold 500 and epsilon 1000 per
# "above" says yes, about "false" it says no: the noise has a scale of at most
# 2 / 1000 rows for the threshold and for a question, so that an answer of a
# run of 10^5 questions is otherwise with probability e^-10^5.
sub session_node
{
	my ($name, $conf, $initdb) = @_;
	my $node = ledger_node($name,
		($conf // '') . "dp_pg.epsilon_ceiling = 10000000000\n", $initdb);

	$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY);
INSERT INTO visits SELECT generate_series(1, 1000);
SELECT dp_protect('visits', dataset => 'h');
SELECT dp_grant('alice', 'h', epsilon => 1e11, filter => 'basic');
EOT
	return $node;
}

# One value, asked by a role.
sub as
{
	my ($node, $user, $sql, $db) = @_;

	return $node->safe_psql($db || 'postgres', $sql,
		extra_params => [ '-U', $user ]);
}

# A session of a role; more arguments as SQL.
sub open_session
{
	my ($node, $user, $questions, $cutoff, $more) = @_;
	my $epsilon = 1000 * $cutoff;

	return as($node, $user,
		    "SELECT dp_sparse_vector_open('visits', threshold => 500,"
		  . " cutoff => $cutoff, questions => $questions,"
		  . ($more || " epsilon => $epsilon") . ')');
}

sub ask_once
{
	my ($session, $predicate) = @_;

	return 'SELECT above FROM dp_sparse_vector_ask'
	  . "($session, '$predicate')";
}

# What a statement of a session printed.
sub told
{
	my ($session, $sql) = @_;
	my ($out) = answer($session, $sql);

	return $out;
}

# What a superuser sees of a session.
sub session_state
{
	my ($node, $session, $columns, $db) = @_;

	$columns ||= 'state, asked, above';
	return value($node,
		"SELECT $columns FROM dp_pg.sessions WHERE session = $session", $db);
}

# Before races: told holds what each question of each session got, $refused
# where there was no more room.
sub prepare_race
{
	my ($node, $refused) = @_;

	value($node, <<"EOT");
CREATE FUNCTION try_ask(bigint, text) RETURNS text LANGUAGE plpgsql AS \$\$
BEGIN
	RETURN (SELECT above FROM dp_sparse_vector_ask(\$1, \$2));
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN '$refused';
END \$\$;
CREATE TABLE told (session bigint, what text);
GRANT INSERT ON told TO alice;
EOT
	return;
}

# Many connections ask one session, some questions each.
sub race
{
	my ($node, $session, $predicate, $connections, $questions) = @_;
	my $script = $node->basedir . '/race.sql';

	unlink $script;
	append_to_file($script, "INSERT INTO told"
		  . " SELECT $session, try_ask($session, '$predicate');\n");
	command_ok(
		[
			'pgbench', '-n', '-U', 'alice', '-h', $node->host, '-p',
			$node->port, '-c', $connections, '-j', 1, '-t', $questions,
			'-f', $script, 'postgres'
		],
		"$connections connections ask one session");
	return;
}

1;
