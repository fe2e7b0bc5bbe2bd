# Materialized views over private queries, dumped and restored: a superuser's
# restore cannot fill them, says so, and continues; their owners can.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('refresh_dump', "dp_pg.epsilon_ceiling = '1000000'\n");
my $dump = $node->basedir . '/dump';
my $filled = 'SELECT relispopulated FROM pg_class WHERE relname = ';

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY);
INSERT INTO visits SELECT generate_series(1, 1000);
SELECT dp_protect('visits', unit => 'id', dataset => 'h');
SELECT dp_grant('bob', 'h', epsilon => 300000, filter => 'basic');
SET SESSION AUTHORIZATION bob;
CREATE MATERIALIZED VIEW kept AS SELECT dp_count(1, 100000) AS n FROM visits;
CREATE MATERIALIZED VIEW plain AS SELECT 7 AS n;
EOT
is(value($node, 'SELECT n FROM kept'), 1000, 'filled by its owner');

# What pg_restore says of a dump in a new database.
sub restored
{
	my ($db, @more) = @_;
	my ($out, $err) = ('', '');

	command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr('postgres'), '-f', $dump, @more ], "dump for $db");
	value($node, "CREATE DATABASE $db");
	IPC::Run::run([ 'pg_restore', '-d', $node->connstr($db), $dump ], '>', \$out, '2>', \$err);
	is(value($node, 'SELECT count(*) FROM visits', $db), 1000, "$db: the table is there");
	is(value($node, "$filled 'plain'", $db), 't', 'and an ordinary view is filled');
	is(value($node, "$filled 'kept'", $db), 'f', 'but not that over a private query');
	return $err;
}

my $said = restored('whole');
like($said, qr/private queries are not allowed within a security-restricted operation/, 'the restore says so');
like($said, qr/Refresh a materialized view as its owner/, 'and what to do');
is(() = $said =~ /pg_restore: error: could not execute query/g, 1, 'and nothing else');
is(restored('without', '--exclude-table-data=kept'), '', 'a dump without its rows is restored without an error');
foreach my $db ('whole', 'without')
{
	my $before = value($node, 'SELECT count(*) FROM dp_pg.ledger', $db);

	is(sqlstate($node, 'bob', 'REFRESH MATERIALIZED VIEW kept', $db), '', "$db: its owner fills it");
	is(value($node, 'SELECT n FROM kept', $db), 1000, 'with an answer');
	is(value($node, 'SELECT count(*) FROM dp_pg.ledger', $db), $before + 1, 'which is charged');
}

done_testing();
