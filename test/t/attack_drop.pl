# The owner of a type or a collation that a private query uses can drop or change it
# at any moment.  A row that needs it must not be the first to notice: the reader is
# stopped before it has prepared anything, the object is dropped, and the reader
# goes on.  The query must give the same result whether or not a row needs the
# object.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(quiet_session);
use Test::More;

my $node = attack_node('attack_drop', "dp_pg.readers = 1\njit = off\n");
my $icu = value($node, q{SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'});
my $provider = $icu ? q{(provider = icu, locale = 'en-US-x-icu')} : q{(locale = 'C.UTF-8')};
my $fresh = 0;

# Number of an answer, SQLSTATE of an error, and charges.
sub outcome
{
	my ($charges, $out, $err) = @_;
	my ($state) = $err =~ /ERROR:  (\w{5}):/;
	my $charged = value($node, 'SELECT count(*) FROM dp_pg.ledger') - $charges;

	return (defined $state ? $state : $out =~ /^-?\d+$/ ? 'a number' : "nothing: $out$err")
	  . ", charges $charged";
}

# Run the query while somebody else tries to change what it uses; returns the
# outcome and the SQLSTATE of the change.
sub meddled
{
	my ($setup, $query, $change) = @_;
	my $analyst = quiet_session($node, 'analyst');
	my $other = quiet_session($node, 'analyst');

	$fresh++;
	s/fresh/fresh$fresh/g foreach $setup, $query, $change;
	answer($other, "\\set VERBOSITY verbose\n$setup SET lock_timeout = '1s';");
	answer($analyst, "\\set VERBOSITY verbose\nSELECT dp_count(*) FROM patients;");
	my $reader = value($node, q{SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader'});
	my $charges = value($node, 'SELECT count(*) FROM dp_pg.ledger');
	kill 'STOP', $reader;
	ask($analyst, "$query;");
	wait_until($node, "SELECT wait_event_type = 'Extension' OR wait_event LIKE 'Message%' FROM pg_stat_activity WHERE pid = $analyst->{pid}") or die;
	my ($undef, $err) = answer($other, "$change;");
	kill 'CONT', $reader;
	my $outcome = outcome($charges, answer($analyst));
	hang_up($_) foreach $analyst, $other;
	return ($outcome, $err =~ /ERROR:  (\w{5}):/ ? $1 : 'done');
}

foreach my $case (
	[ q{CREATE TYPE fresh AS ENUM ('b', 'c'); ALTER TYPE fresh ADD VALUE 'a' BEFORE 'b'; ALTER TYPE fresh ADD VALUE 'aa' BEFORE 'b';},
		q{'a'::fresh END < 'b'::fresh}, 'DROP TYPE fresh' ],
	[ q{CREATE TYPE fresh AS ENUM ('b', 'c');}, q{'c'::fresh END < 'b'::fresh}, q{ALTER TYPE fresh RENAME VALUE 'b' TO 'd'} ],
	[ q{CREATE TYPE fresh AS ENUM ('b', 'c');}, q{'c'::fresh END < 'b'::fresh}, q{ALTER TYPE fresh ADD VALUE 'a' BEFORE 'b'} ],
	[ q{CREATE TYPE fresh AS ENUM ('b', 'a');}, q{'a'::fresh END = ANY ('{b, a}'::fresh[])}, 'DROP TYPE fresh' ],
	[ "CREATE COLLATION fresh $provider; SELECT dp_count(*) FROM patients WHERE CASE WHEN id < 0 THEN name COLLATE fresh < 'x' END;",
		q{name COLLATE fresh < 'x' END}, 'DROP COLLATION fresh' ],
	[ "CREATE COLLATION fresh $provider; SELECT dp_count(*) FROM patients WHERE CASE WHEN id < 0 THEN upper(name COLLATE fresh) LIKE 'x%' END;",
		q{upper(name COLLATE fresh) LIKE 'x%' END}, 'DROP COLLATION fresh' ])
{
	my ($setup, $expression, $change) = @$case;

	foreach my $id (5, 50000)
	{
		my ($outcome, $changed) =
		  meddled($setup, "SELECT dp_count(*) FROM patients WHERE CASE WHEN id = $id THEN $expression", $change);

		is($outcome, 'a number, charges 1', "$expression: answered, person $id");
		is($changed, '55P03', "$change waits for the query");
	}
}

# Whoever prepares a query first finds out before anything is charged.
foreach my $id (5, 50000)
{
	my $analyst = quiet_session($node, 'analyst');

	answer($analyst, "\\set VERBOSITY verbose\nCREATE TYPE gone AS ENUM ('b', 'a'); PREPARE p AS SELECT dp_count(*) FROM patients WHERE CASE WHEN id = $id THEN 'a'::gone END = ANY ('{b, a}'::gone[]);");
	my $charges = value($node, 'SELECT count(*) FROM dp_pg.ledger');
	answer($analyst, 'EXECUTE p;') for 1 .. 6;
	answer($analyst, 'DROP TYPE gone;');
	is(outcome($charges, answer($analyst, 'EXECUTE p;')), '42704, charges 6', "a prepared query whose type is gone is refused, person $id");
	hang_up($analyst);
}

# The reader may have the collation's locale from an earlier query.
answer(my $preparer = quiet_session($node, 'analyst'), "\\set VERBOSITY verbose\nCREATE COLLATION gone $provider; PREPARE p(int) AS SELECT dp_count(*) FROM patients WHERE CASE WHEN id = \$1 THEN name COLLATE gone < 'x' END;");
answer($preparer, 'EXECUTE p(-1);');
answer($preparer, 'DROP COLLATION gone;');
foreach my $id (5, 50000)
{
	my $charges = value($node, 'SELECT count(*) FROM dp_pg.ledger');

	is(outcome($charges, answer($preparer, "EXECUTE p($id);")), '42704, charges 0', "or whose collation is gone, person $id");
}
hang_up($preparer);

# In a transaction that has made the type itself, and lost it again.
foreach my $id (5, 50000)
{
	my $analyst = quiet_session($node, 'analyst');
	my $charges = value($node, 'SELECT count(*) FROM dp_pg.ledger');

	answer($analyst, "\\set VERBOSITY verbose\nBEGIN; SAVEPOINT s; CREATE TYPE own AS ENUM ('b', 'a'); PREPARE p AS SELECT dp_count(*) FROM patients WHERE CASE WHEN id = $id THEN 'a'::own END > 'b'::own;");
	is(outcome($charges, answer($analyst, 'EXECUTE p;')), 'a number, charges 1', "a type of the same transaction is seen, person $id");
	answer($analyst, 'ROLLBACK TO s;');
	is(outcome($charges, answer($analyst, 'EXECUTE p;')), '42704, charges 1', "and is not once it is undone, person $id");
	hang_up($analyst);
}

$node->stop;
done_testing();
