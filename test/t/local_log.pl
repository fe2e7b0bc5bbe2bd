# A value that randomized response refuses is in no log: not in the message, and not
# through the statement that the server logs with errors.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('local_log', <<'EOT');
log_error_verbosity = verbose
log_statement = none
EOT
my $call = "dp_randomized_response('secret-value', ARRAY['a', 'b'], 1)";

as($node, 'analyst', 'CREATE TABLE answer (a text)');
for my $sql (
	"SELECT $call", "INSERT INTO answer VALUES ($call)",
	"DO \$\$ BEGIN PERFORM $call; END \$\$",
	"DO \$\$ BEGIN INSERT INTO answer VALUES ($call); END \$\$",
	"SELECT dp_randomized_response(NULLIF('secret-value' <> '', true))",
	"SELECT dp_randomized_response(NULLIF('secret-value' <> '', true), 0.5)",
	"SELECT dp_randomized_response(NULLIF('secret-value', 'secret-value'), ARRAY['a', 'b'], 1)")
{
	my $mark = log_mark($node);
	my $err = errors($node, 'analyst', $sql);
	my ($message) = $err =~ /(ERROR:.*\n(?:DETAIL:.*\n)?(?:HINT:.*)?)/;
	my $log = log_since($node, $mark);

	like($err, qr/ERROR: .*randomized response/, "refused: $sql");
	unlike($message, qr/secret/, 'the message does not show it');
	like($log, qr/ERROR: .*randomized response/, 'the error is logged');
	unlike($log, qr/secret/, 'the log does not show it');
}
# the test can see statements: other errors are logged with theirs
my $mark = log_mark($node);

errors($node, 'analyst', "SELECT 1 / 0, 'secret-value'");
like(log_since($node, $mark), qr/secret-value/, 'other errors: statement');

$node->stop;
done_testing();
