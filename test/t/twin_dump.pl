# Twins survive dump and restore: as tables, as twins, and tied to relations.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('twin');
my $dump = $node->basedir . '/dump.sql';

value($node, <<'EOT');
ALTER ROLE alice SET dp_pg.transparent = on;
SET SESSION AUTHORIZATION owner;
CREATE TABLE poll (id int PRIMARY KEY, yes boolean NOT NULL);
INSERT INTO poll SELECT g, g % 3 = 0 FROM generate_series(1, 300) g;
SELECT dp_protect('poll', dataset => 'h');
SELECT dp_publish_twin('poll', 'public.poll_twin', ARRAY['yes'], epsilon => 5, delta => 1e-9, rows => 30);
EOT

# Rows of a preview, and how many of them have a value that is the relation's.
my $preview = 'SELECT yes IS NOT NULL, id IS NULL FROM poll LIMIT 2';

sub preview
{
	my ($db) = @_;

	return $node->safe_psql($db, $preview, extra_params => [ '-U', 'alice' ]);
}

is(preview('postgres'), "t|t\nt|t", 'a preview shows the twin');
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'dump');
value($node, 'CREATE DATABASE other');
command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('other'), '-f', $dump
	],
	'restore');
is(value($node, 'SELECT relid, twin FROM dp_pg.relation', 'other'),
	'poll|poll_twin', 'it is known again');
is(value($node, 'SELECT count(*) FROM poll_twin', 'other'), '30', 'with its rows');
is(preview('other'), "t|t\nt|t", 'which a preview shows');
is(charges($node), '1', 'for one charge');
is(sqlstate($node, 'owner', "SELECT dp_publish_twin('poll', 'again', ARRAY['yes'], delta => 1e-9)", 'other'),
	'55000', 'no second one is published');
is(sqlstate($node, 'owner', 'DROP TABLE poll', 'other'), '', 'the relation is dropped');
is(value($node, "SELECT to_regclass('poll_twin') IS NULL", 'other'), 't', 'and its twin with it');

done_testing();
