# A prepared statement that is repeatedly answered from a stored answer, which its
# process keeps: all changes in between, of this connection or of others, count at
# its next run.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = ledger_node('reuse_kept', <<'EOT');
autovacuum = off
dp_pg.epsilon_floor = ''
EOT

value($node, <<'EOT');
CREATE ROLE team;
CREATE ROLE ann LOGIN IN ROLE team;
CREATE ROLE ben LOGIN IN ROLE team;
ALTER ROLE ann SET dp_pg.reuse = '1 hour';
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('team', 'h', epsilon => 1000000, filter => 'basic');
CREATE TABLE person (id int PRIMARY KEY, age int NOT NULL);
INSERT INTO person SELECT n, n % 100 FROM generate_series(1, 1000) AS n;
SELECT dp_protect('person', dataset => 'h');
SELECT dp_declare('person', 'age', 0, 99);
EOT

# Its noise has a scale of 10^4: two draws of twenty cells are not the same but
# with probability 10^-80.
my $ann = session($node, 'ann');

answer($ann,
	    'PREPARE q AS SELECT dp_histogram(age, 0, 100, 20, 0.0001),'
	  . ' dp_error(dp_histogram(age, 0, 100, 20, 0.0001)) FROM person;');

my $last = '';

# Runs the statement three times; returns whether the first of them is
# answered as the last one was, and how many of them were charged.  All three
# are answered alike.
sub run
{
	my $before = charges($node);
	my @answers = map { (answer($ann, 'EXECUTE q;'))[0] } 1 .. 3;
	my $same = $answers[0] eq $last ? 'same' : 'new';

	is($answers[1], $answers[0], 'given again') if $answers[0] ne '';
	is($answers[2], $answers[0], 'and again') if $answers[0] ne '';
	$last = $answers[0];
	return "$same " . (charges($node) - $before);
}

# The same where it fails.
sub fails
{
	my ($state, $name) = @_;

	like((answer($ann, 'EXECUTE q;'))[1], qr/$state/, $name);
	return;
}

sub hits
{
	return value($node, 'SELECT sum(hits) FROM dp_pg.answers');
}

sub owner
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', 'owner' ]);
}

is(run(), 'new 1', 'asked first');
is(run(), 'same 0', 'then free');

my $before = hits();

is(run(), 'same 0', 'still');
is(hits(), $before + 3, 'each time counts');
is(value($node, 'SELECT count(*) FROM dp_pg.answers'), 1, 'one answer');

# What belongs to the session.
answer($ann, "SET dp_pg.reuse = '1 ms'; SELECT pg_sleep(0.01);");
isnt((answer($ann, 'EXECUTE q;'))[0], $last, 'too old for who wants it so');
answer($ann, "SET dp_pg.reuse = '1 hour';");
is(run(), 'new 0', 'the younger one is taken');
answer($ann, 'SET dp_pg.reuse = off;');
isnt((answer($ann, 'EXECUTE q;'))[0], $last, 'turned off');
answer($ann, "SET dp_pg.reuse = '1 hour';");
is(run(), 'same 0', 'and on: that one was not stored');
answer($ann, "SET TimeZone = 'Asia/Tokyo';");
is(run(), 'new 1', 'another setting');
answer($ann, 'RESET TimeZone;');
is(run(), 'new 0', 'and back');
answer($ann, "SET dp_pg.epsilon = '0.2';");
is(run(), 'new 1', 'a setting that changes nothing but might');
answer($ann, 'RESET dp_pg.epsilon;');
is(run(), 'new 0', 'and back again');
answer($ann, 'SET ROLE team;');
is(run(), 'same 0', 'as the group, which pays');
answer($ann, 'RESET ROLE;');
is(run(), 'same 0', 'and as oneself');
answer($ann, 'BEGIN; CREATE TEMPORARY TABLE t (i int);');
is(run(), 'same 0', 'in a transaction that has written');
answer($ann, 'COMMIT;');
is(run(), 'same 0', 'and after it');
answer($ann, 'BEGIN ISOLATION LEVEL REPEATABLE READ;');
is(run(), 'same 0', 'in one that keeps its snapshot');
answer($ann, 'COMMIT;');
like((answer($ann, 'EXPLAIN EXECUTE q;'))[0], qr/Answer: stored .* no charge/,
	'EXPLAIN');
is((answer($ann, 'EXECUTE q; SELECT count(*), max(value) FROM dp_last_release();'))[0],
	"$last\n1|dp_histogram(age, 0, 100, 20)", 'dp_last_release()');

# What others do.
is($node->safe_psql('postgres', "SELECT dp_refresh('h')",
		extra_params => [ '-U', 'ben' ]) > 0, 1, 'given up by a member');
is(run(), 'new 1', 'and asked anew');
owner("SELECT dp_declare('person', 'age', 0, 98)");
is(run(), 'new 1', 'declared otherwise');
owner("SELECT dp_declare('person', 'age', 0, 98)");
is(run(), 'new 1', 'declared the same once more');
owner('ALTER TABLE person ADD COLUMN more int');
is(run(), 'new 1', 'another definition');
owner("SELECT dp_limit('h', epsilon => 1000000)");
is(run(), 'same 0', 'a limit does not matter');
owner('INSERT INTO person SELECT n, 1 FROM generate_series(1001, 2000) AS n');
is(run(), 'same 0', 'nor do rows');
value($node, 'REVOKE team FROM ann');
fails('42501', 'who left the group may not ask');
value($node, 'GRANT team TO ann');
is(run(), 'same 0', 'who came back may');
owner("SELECT dp_revoke('team', 'h')");
fails('42501', 'a budget that was revoked');
owner("SELECT dp_grant('team', 'h', epsilon => 1000000, filter => 'basic')");
is(run(), 'new 1', 'and granted again');
owner("SELECT dp_limit('h', epsilon => 1000000, delta => 1e-5)");
is(run(), 'same 0', 'a cap that is not reached');
owner("SELECT dp_unprotect('person')");
fails('42501|0A000', 'protected no more, and nobody else may read it');
owner("SELECT dp_protect('person', dataset => 'h');"
	  . "SELECT dp_declare('person', 'age', 0, 99)");
is(run(), 'new 1', 'protected again');
value($node, 'DELETE FROM dp_pg.answer');
is(run(), 'new 1', 'without the row there is no answer');
owner('DROP TABLE person');
like((answer($ann, 'EXECUTE q;'))[1], qr/42P01/, 'the table is gone');
owner(<<'EOT');
CREATE TABLE person (id int PRIMARY KEY, age int NOT NULL);
SELECT dp_protect('person', dataset => 'h');
SELECT dp_declare('person', 'age', 0, 99);
EOT
is(run(), 'new 1', 'another table of that name');

# A period that ends.
owner("SELECT dp_grant('team', 'h', epsilon => 1000000, filter => 'basic',"
	  . " renew => '2 seconds')");
run();
sleep 2.5;
is(run(), 'new 1', 'another period');

hang_up($ann);
$node->stop;
done_testing();
