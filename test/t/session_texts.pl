# Questions are kept permanently, so the bytes of a session's texts are limited: the
# count is always exact, a text that does not fit is refused before rows are read,
# and shorter ones are accepted until nothing is left.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SessionNode;
use Test::More;

my $most = 64 * 1024 * 1024;	# DP_SESSION_TEXTS
my $node = session_node('session_texts', "autovacuum = off\n");

value($node, "SET SESSION AUTHORIZATION owner; SELECT dp_grant('alice', 'h',"
	  . ' epsilon => 1e11, delta => 1e-6)');

# A text of so many bytes.
sub padded
{
	my ($truth, $bytes) = @_;

	return "'$truth /*' || repeat('x', $bytes - "
	  . (length($truth) + 5) . ") || '*/'";
}

# Asks a text that an SQL expression gives.
sub asking
{
	my ($session, $text) = @_;

	return "SELECT above FROM dp_sparse_vector_ask($session, $text)";
}

sub left
{
	my ($session) = @_;

	return value($node,
		"SELECT bytes_left FROM dp_pg.sessions WHERE session = $session");
}

# Few bytes are left, as if many questions had been asked.
sub leave
{
	my ($session, $bytes) = @_;

	value($node,
		"UPDATE dp_pg.session SET bytes_left = $bytes WHERE id = $session");
	return;
}

# Does the count agree with what is kept, when there were `given` at first?
sub agrees
{
	my ($session, $given, $name) = @_;

	is( value(
			$node,
			"SELECT $given - bytes_left - (SELECT sum(greatest(64,"
			  . ' octet_length(predicate))) FROM dp_pg.session_question AS q'
			  . ' WHERE q.session = s.id) FROM dp_pg.session AS s'
			  . " WHERE id = $session"),
		0,
		"$name: the count is that of the texts");
	return;
}

# Number of rows of the threshold.
sub thresholds
{
	my ($session) = @_;

	return value($node,
		"SELECT count(*) FROM dp_pg.session_secret WHERE session = $session");
}

# What is counted.
my $alice = session($node, 'alice');
my $s = open_session($node, 'alice', 10**12, 10**4);

is(left($s), $most, 'what a session has at first');
answer($alice, asking($s, "'true'") . ';');
is(left($s), $most - 64, 'a short text counts as 64 bytes');
answer($alice, asking($s, padded('false', 65)) . ';');
is(left($s), $most - 129, 'a longer one as it is');
answer($alice, asking($s, "'true /*' || repeat('é', 100) || '*/'") . ';');
is(left($s), $most - 338, 'in bytes');
answer($alice, 'BEGIN; ' . asking($s, padded('true', 1000)) . '; ROLLBACK;');
is(left($s), $most - 1338, 'a rollback gives nothing back');
isnt(sqlstate($node, 'alice', asking($s, "'nonsense'")), '', 'nonsense');
isnt(sqlstate($node, 'alice', asking($s, padded('true', 65537))),
	'', 'a text that is too long by itself');
is(left($s), $most - 1338, 'a wrong question counts nothing');
agrees($s, $most, 'a few');

# Texts of 64 kB until no more fits.
value($node, <<'EOT');
CREATE FUNCTION fill(session bigint, OUT asked int, OUT told text)
LANGUAGE plpgsql AS $$
DECLARE
	error text;
	detail text;
	hint text;
BEGIN
	asked := 0;
	WHILE asked < 1100 LOOP
		PERFORM dp_sparse_vector_ask(session,
			'false /*' || repeat('x', 65526) || '*/');
		asked := asked + 1;
	END LOOP;
EXCEPTION WHEN configuration_limit_exceeded THEN
	GET STACKED DIAGNOSTICS error = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	told := concat_ws('|', error, detail, hint);
END $$;
EOT
is( as($node, 'alice', "SELECT asked, told FROM fill($s)"),
	"1023|session $s has no room for this question|The texts of its questions,"
	  . ' which are kept, may take 64198 bytes more; this one has 65536.'
	  . '|Shorten the predicate, or open another session, which is charged anew.',
	'64 MB are the most');
is(session_state($node, $s, 'state, asked, bytes_left'),
	'open|1027|64198', 'the session goes on');
is(told($alice, asking($s, "'true'") . ';'), 't', 'with shorter questions');
is(sqlstate($node, 'alice', asking($s, padded('false', 64135))),
	'53400', 'one byte too many');
is(session_state($node, $s, 'state, asked, bytes_left'),
	'open|1028|64134', 'a question that was refused counts nothing');
agrees($s, $most, 'nearly full');
is(told($alice, asking($s, padded('true', 64134)) . ';'),
	't', 'one that just fits');
is(session_state($node, $s, 'state, asked, above, bytes_left'),
	'used up|1029|5|0', 'then it is used up');
is(thresholds($s), 0, 'without a threshold');
is(sqlstate($node, 'alice', asking($s, "'true'")), '53400', 'for every text');
my (undef, undef, $error) = $node->psql('postgres', asking($s, "'true'"),
	extra_params => [ '-U', 'alice' ]);
like(
	$error,
	qr/is used up\nDETAIL: .* take all the $most bytes that are allowed/,
	'and says why');

# What does not fit is refused before rows are read: the function of the view
# runs with them.
$node->safe_psql('postgres', <<'EOT', extra_params => [ '-U', 'alice' ]);
CREATE SEQUENCE readings MINVALUE 0;
CREATE FUNCTION spy() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RETURN nextval('readings') * 0;
END $$;
CREATE VIEW spied AS SELECT id FROM visits WHERE id > (SELECT spy());
EOT
my $spied = as($node, 'alice', "SELECT dp_sparse_vector_open('spied',"
	  . ' threshold => 500, cutoff => 10, epsilon => 10000)');
my $readings = 'SELECT last_value FROM readings';

leave($spied, 1000);
value($node, "SELECT setval('readings', 0)");
is(sqlstate($node, 'alice', asking($spied, padded('true', 1001))),
	'53400', 'a text that does not fit');
is(value($node, $readings), 0, 'is refused before rows are read');
is(sqlstate($node, 'alice', asking($spied, padded('true', 1000))),
	'', 'one that fits');
is(value($node, $readings), 1, 'is answered from them');
is(sqlstate($node, 'alice', asking($spied, "'true'")), '53400', 'used up');
is(value($node, $readings), 1, 'nothing is read any more');

# A threshold that is armed afresh is overwritten at the end.
my $rounds = open_session($node, 'alice', 100, 10,
	"epsilon => 10000, delta => 1e-9, method => 'rounds'");

leave($rounds, 65);
answer($alice, asking($rounds, "'true'") . ';');
is(session_state($node, $rounds, 'state, bytes_left'), 'open|1', 'one byte');
is(sqlstate($node, 'alice', asking($rounds, "'true'")),
	'53400', 'is too little for any question');
leave($rounds, 64);
answer($alice, asking($rounds, "'true'") . ';');
is(session_state($node, $rounds), 'used up|2|2', 'used up in rounds');
is( value(
		$node, 'SELECT armed FROM dp_pg.session_secret'
		  . " WHERE session = $rounds"),
	'\x' . '00' x 16,
	'without a threshold');

# Weights: the hypothesis goes on.
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE flags (id int NOT NULL, sex bool NOT NULL);
INSERT INTO flags SELECT g, g % 4 = 0 FROM generate_series(1, 1000) g;
SELECT dp_protect('flags', dataset => 'h');
EOT
my $weights = as($node, 'alice', "SELECT dp_weights_open('flags',"
	  . " ARRAY['sex'], queries => 10, epsilon => 100000, n => 1000)");
my $asking = "SELECT updated FROM dp_weights_ask($weights, ";

leave($weights, 100);
is(sqlstate($node, 'alice', $asking . padded('sex', 101) . ')'),
	'53400', 'weights: too long');
is(as($node, 'alice', $asking . padded('sex', 100) . ')'),
	't', 'weights: just fits');
is(session_state($node, $weights, 'state, asked, updates, bytes_left'),
	'used up|1|1|0', 'weights: used up');
is(sqlstate($node, 'alice', "$asking 'sex')"), '53400', 'weights: no more');
is( as($node, 'alice', 'SELECT answer BETWEEN 200 AND 300'
		  . " FROM dp_weights_estimate($weights, 'sex')"),
	't',
	'weights: estimates go on');

# Two connections have read their rows when one text takes the room of the
# other: the worker refuses it.
my $holder = session($node, 'postgres');
my @rivals = map { session($node, 'alice') } 1 .. 2;
my $raced = open_session($node, 'alice', 100, 10);
my @fates;

leave($raced, 1000);
value($node, 'ALTER SYSTEM SET dp_pg.worker_lock_timeout = 60000');
value($node, 'SELECT pg_reload_conf()');
answer($holder, "BEGIN; SELECT FROM dp_pg.session WHERE id = $raced FOR UPDATE;");
ask($_, asking($raced, padded('true', 600)) . ';') for @rivals;
ok( wait_until(
		$node,
		q{SELECT count(*) = 2 FROM pg_stat_activity WHERE usename = 'alice'}
		  . q{ AND state = 'active' AND wait_event = 'Extension'}),
	'two questions wait for the worker');
answer($holder, 'COMMIT;');
foreach my $rival (@rivals)
{
	my ($out, $refused) = answer($rival);

	push @fates, $refused =~ /ERROR:\s+(\w{5})/ ? $1 : $out;
}
is(join(' ', sort @fates), '53400 t', 'one of them fits');
is(session_state($node, $raced, 'asked, above, bytes_left'),
	'1|1|400', 'and is counted');
hang_up($_) for @rivals, $holder, $alice;

# Many connections: as many questions as fit, and not one more.
prepare_race($node, 'refused');
$raced = open_session($node, 'alice', 1000, 100);
leave($raced, 640);
race($node, $raced, 'true', 16, 3);
is( value(
		$node,
		q{SELECT string_agg(what || ' ' || n, ', ' ORDER BY what) FROM}
		  . ' (SELECT what, count(*) AS n FROM told GROUP BY what) AS t'),
	'refused 38, true 10',
	'ten fit');
is(session_state($node, $raced, 'state, asked, above, bytes_left'),
	'used up|10|10|0', 'to the last byte');
agrees($raced, 640, 'a race');

$node->stop;
done_testing();
