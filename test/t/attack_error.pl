# Errors inside a private query reach the client as one text and one SQLSTATE,
# whatever the connection's settings are; the server log has more.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('error', "log_min_messages = warning\n");

# One row cannot be read: its long value is gone from the disk.  An inner run
# fails where it meets that row.
$node->safe_psql('postgres', <<'EOT');
INSERT INTO patients VALUES (10001, 50, 'n', repeat(md5('x'), 1000));
CHECKPOINT;
EOT
my $file = $node->data_dir . '/' . value($node, <<'EOT');
SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'patients'
EOT
$node->stop;
truncate $file, 0 or die "$file: $!";
$node->start;

my $forced = forced_parallel($node);
my $setup = "SET work_mem = '64kB'; SET enable_hashagg = off; ";
my $fails = 'SELECT dp_count(DISTINCT doc) FROM patients';
my $works = 'SELECT dp_count(DISTINCT doc) FROM patients WHERE id < 10';
my $reason = qr/missing chunk|could not read|unexpected\b/;

is(sqlstate($node, 'analyst', "$setup $works"), '', 'rows that can be read: answered');
my $plain = errors($node, 'analyst', "$setup $fails");
like($plain, qr/ERROR:  the private query failed/, 'one that cannot: it failed');
unlike($plain, qr/chunk|block|toast/, 'without saying why');
is(sqlstate($node, 'analyst', "$setup $fails"), '22000', 'one SQLSTATE');

my $mark = log_mark($node);
for my $set (
	'SET exit_on_error = on', 'SET client_min_messages = debug5', "SET client_min_messages = 'error'",
	"SET $forced = on", 'SET debug_print_plan = on; SET client_min_messages = log',
	'SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0',
	'SET jit = on; SET jit_above_cost = 0', 'SET plan_cache_mode = force_generic_plan', 'SET backslash_quote = off',
	"SET exit_on_error = on; SET $forced = on", 'BEGIN', 'BEGIN; SAVEPOINT s', 'SET bytea_output = escape')
{
	my $err = errors($node, 'analyst', "$setup $set; $fails");

	like($err, qr/the private query failed/, "$set: masked");
	unlike($err, qr/$reason|toast|XX00/, "$set: nothing else");
}
like(log_since($node, $mark), qr/private query failed: XX00.: .*$reason/, 'the server log tells the administrator');

# PL/pgSQL looks at every part of an error.
my $look = <<'EOT';
DO $$
DECLARE
	a text; b text; c text; d text; e text; f text; g text; h text; i text; j text;
BEGIN
	EXECUTE 'QUERY';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS a = RETURNED_SQLSTATE, b = MESSAGE_TEXT, c = PG_EXCEPTION_DETAIL, d = PG_EXCEPTION_HINT,
		e = PG_EXCEPTION_CONTEXT, f = COLUMN_NAME, g = CONSTRAINT_NAME, h = PG_DATATYPE_NAME, i = TABLE_NAME, j = SCHEMA_NAME;
	RAISE NOTICE 'parts % % % % % % % % % %', a, b, c, d, e, f, g, h, i, j;
END $$;
EOT
my $parts = errors($node, 'analyst', $setup . $look =~ s/QUERY/$fails/r);
like($parts, qr/parts 22000 the private query failed/, 'stacked diagnostics: masked');
unlike($parts, qr/$reason|toast/, 'no part tells more');

# The charge stands for a query that failed, and is the same.
is( value($node, "SELECT count(DISTINCT (epsilon, rho, delta)) FROM dp_pg.ledger WHERE role = 'analyst'"), 1, 'every charge is the same');
my $before = charges($node);
errors($node, 'analyst', "$setup $fails");
is(charges($node), $before + 1, 'a failing query is charged');
errors($node, 'analyst', "$setup $works");
is(charges($node), $before + 2, 'like one that works');

# Settings of the session are what they were, after errors too.
my ($out) = as($node, 'analyst', <<"EOT");
$setup
SET client_min_messages = log; SET exit_on_error = off; SET parallel_setup_cost = 7;
BEGIN; SAVEPOINT s; $fails; ROLLBACK TO s;
SELECT current_setting('client_min_messages'), current_setting('exit_on_error'), current_setting('track_counts'),
	current_setting('parallel_setup_cost'), current_setting('enable_indexscan'), current_setting('track_functions');
COMMIT;
$works;
SELECT current_setting('client_min_messages'), current_setting('exit_on_error'), current_setting('track_counts'),
	current_setting('parallel_setup_cost'), current_setting('enable_indexscan'), current_setting('track_functions');
EOT
is(() = $out =~ /^log\|off\|on\|7\|on\|none$/mg, 2, 'settings come back');

# Cancelled, timed out: a SQLSTATE that does not depend on rows, and charged.
$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE slow (id int PRIMARY KEY, doc text);
ALTER TABLE slow ALTER doc SET STORAGE EXTERNAL;
INSERT INTO slow SELECT i, repeat(md5(i::text), 2000) FROM generate_series(1, 300) i;
SELECT dp_protect('slow', dataset => 'hospital');
EOT
my $slow = 'SELECT dp_count(*) FROM slow WHERE ' . join(' OR ', map { "doc COLLATE \"C\" > 'zz$_'" } 1 .. 300);
is(sqlstate($node, 'analyst', "SET statement_timeout = '300ms'; $slow"), '57014', 'statement_timeout');
is(sqlstate($node, 'analyst', "SET exit_on_error = on; SET statement_timeout = '300ms'; $slow"), '57014', 'and with exit_on_error');

$node->stop;
done_testing();
