# A long list of predicates, evaluated for every row of a large table, ends soon
# when it is cancelled or its time is over.  How long it would take, and what "soon"
# means, is measured on the machine: a share of the list is counted completely, and
# a cancelled call may take a tenth of the time that the list would.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use AttackNode qw(attack_node);
use LedgerNode;
use PostgreSQL::Test::Utils;
use ReleaseNode;
use Test::More;
use Time::HiRes qw(time);

my $given = 1000;
my $share = 10;
my $rows = 200_000;
my $node = attack_node('predicate_cancel');

$node->safe_psql('postgres', <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TABLE notes (id int PRIMARY KEY, body varchar(420));
INSERT INTO notes SELECT i, repeat('ab', 200) || i
FROM generate_series(1, $rows) i;
SELECT dp_protect('notes', dataset => 'archive');
SELECT dp_grant('analyst', dataset => 'archive', epsilon => 1e6);
CREATE TABLE candidate AS SELECT i AS id,
	array_fill(i::float8, ARRAY[$given]) AS answers
FROM generate_series(1, 2) i;
GRANT SELECT ON candidate TO analyst;
EOT
$node->safe_psql('postgres', 'VACUUM ANALYZE notes');
$node->safe_psql('postgres', <<'EOT');
CREATE FUNCTION slow(n int) RETURNS text[] LANGUAGE sql AS $$
SELECT array_agg(format('body LIKE %L', '%abz' || i || '%'))
FROM generate_series(1, n) i $$
EOT

my $super = quiet_session($node, 'postgres');
my $analyst = quiet_session($node, 'analyst');

sub charged
{
	return value($node,
		"SELECT count(*) FROM dp_pg.ledger WHERE dataset = 'archive'");
}

is((answer($analyst, "SELECT * FROM dp_predicate_cost('notes', slow($given));"))[0],
	"$given|$given|$given", 'as many as the limit allows, none by a table');

# what a share takes, and from it the whole
my $before = work_time($node, $analyst);
is( (answer($analyst, "SELECT dp_argmax('notes', slow($share), 1) IS NULL;"))[0],
	'f', 'a share of the list is answered');
my $whole = (work_time($node, $analyst) - $before) * $given / $share;
note(sprintf 'the whole list would take %.0f s', $whole);

# what comes before the rows are read, with room for a slow machine
$before = time;
answer($analyst, "SELECT * FROM dp_predicate_cost('notes', slow($given));");
my $wait = int(3_000 + 30_000 * (time - $before));
cmp_ok($whole, '>', 5 * $wait / 1000, 'and takes far longer than we wait');

my %long = (
	dp_argmax => "SELECT dp_argmax('notes', slow($given), 1)",
	dp_sparse_vector => "SELECT count(*) FROM dp_sparse_vector('notes',"
	  . " slow($given), 5, cutoff => 1, epsilon => 1)",
	dp_net => "SELECT id FROM dp_net('notes', 'candidate', slow($given), 1)"
	  . ' AS t(id int)');

sub is_soon
{
	my ($name, $took) = @_;

	note(sprintf '%s: %.2f s of processor time', $name, $took);
	cmp_ok($took, '<', $whole / 10, "$name: soon");
	is((answer($analyst, 'SELECT 7;'))[0], '7', "$name: the session goes on");
	is( (answer($analyst,
				"SELECT dp_argmax('notes', ARRAY['id > 0', 'id < 0'], 1);"))[0],
		'id > 0', "$name: the next private query is answered");
	return;
}

foreach my $name (sort keys %long)
{
	my $charges = charged();
	my ($took, $error);

	# sessions of the helpers last for three minutes
	hang_up($_) foreach $super, $analyst;
	($super, $analyst) =
	  (quiet_session($node, 'postgres'), quiet_session($node, 'analyst'));

	# cancelled when its reader has worked on the rows for a while
	ask($analyst, '\set VERBOSITY sqlstate' . "\n$long{$name};");
	ok(await(sub { charged() > $charges }), "$name: charged")
	  or BAIL_OUT(join "", answer($analyst));
	my $begun = readers_time($node);
	ok(await(sub { readers_time($node) > $begun + 1 }), "$name: reads");
	($took, $error) = cancel_takes($node, $super, $analyst);
	like($error, qr/57014/, "$name: cancelled");
	is(charged(), $charges + 1, "$name: the charge stays");
	is_soon("$name, cancelled", $took);

	# its time is over; what it takes in all, less the time it may take
	$charges = charged();
	$before = work_time($node, $analyst);
	(undef, $error) = answer($analyst,
		"SET statement_timeout = $wait; $long{$name};"
		  . ' RESET statement_timeout;');
	like($error, qr/57014/, "$name: timed out");
	ok(readers_idle($node), "$name: its reader ends it, too");
	$took = work_time($node, $analyst) - $before;
	is(charged(), $charges + 1, "$name: charged by then, once");
	is_soon("$name, timed out", $took - $wait / 1000);
}

hang_up($_) foreach $super, $analyst;
$node->stop;
done_testing();
