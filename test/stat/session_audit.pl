# Audits of interactive sessions through SQL: what answers reveal about one row, of
# sparse vector, of its rounds, and of multiplicative weights.
#
# The speed of a session allows some thousand questions, so each is a separate run
# of the mechanism: an answer has noise of its own, and a round a threshold of its
# own.  Prices are such that one answer or round costs 2 to 3: so high a loss shows
# in as few runs, and more than it at a multiple of the price.  Neighbours are 200
# rows and 201.
#
# Rates: 1e-10 per audit, six.  Each of the three at its price must see a share
# of the claim.  Its twin at four times the price (rounds: eight), which is what
# a session with so much less noise would do, must show more than the claim.
# The bounds lie seven standard errors or more away.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

use constant N => 1500;

my $node = stat_node('session_audit', <<'EOT');
CREATE TABLE less (a integer NOT NULL);
INSERT INTO less SELECT i % 8 FROM generate_series(1, 200) i;
CREATE TABLE more (a integer NOT NULL);
INSERT INTO more SELECT * FROM less UNION ALL SELECT 0;
SELECT dp_protect(t), dp_declare(t, 'a', lower => 0, upper => 7)
FROM unnest('{less,more}'::regclass[]) t;
SELECT dp_grant('analyst', epsilon => 1000000000, delta => 0.5);
EOT
as($node, 'postgres', <<'EOT');
ALTER ROLE analyst SET dp_pg.epsilon_ceiling = '1000000';
ALTER ROLE analyst SET client_min_messages = error;
EOT

# The session's price per answer, or per round, from what it recorded.
sub price_of
{
	my ($session, $columns) = @_;

	return as($node, 'analyst',
		"SELECT $columns FROM dp_pg.session WHERE id = $session");
}

# What a script of questions prints about each table: one file for the judge.
sub both
{
	my ($open, $questions) = @_;
	my @lines;
	my $session;

	foreach my $input (0, 1)
	{
		my $table = ('less', 'more')[$input];

		$session = as($node, 'analyst', sprintf($open, $table));
		my $file =
		  fetch($node, 'analyst', sprintf($questions, $session));
		open(my $in, '<', $file) or die "$file: $!";
		push @lines, map { "$input $_" } <$in>;
		close $in;
	}
	return ($session, keep(join '', @lines));
}

# The same at a price and at a multiple of it.
sub audit
{
	my ($name, $share, $times, $columns, $total, $open, $questions, $centre) = @_;
	my ($session, $file) =
	  both(sprintf($open, '%s', $total), $questions);
	my $claim = price_of($session, $columns);
	my $found = judge($file, 'loss', 1, $centre, 0, 1);
	my (undef, $dearer) =
	  both(sprintf($open, '%s', $times * $total), $questions);
	my $more = judge($dearer, 'loss', 1, $centre, 0, 1);

	is("$found->{n} $found->{m}", "@{[N]} @{[N]}",
		"$name: every answer is there");
	cmp_ok($found->{bound}, '<=', $claim,
		"$name: loss of at least $found->{bound} is seen, $claim claimed");
	cmp_ok($found->{bound}, '>=', $share * $claim,
		"$name: the audit looks where the loss is");
	cmp_ok($more->{bound}, '>', $claim,
		"rejected: $name, noise of $times times the price: $more->{bound} is seen, $claim claimed");
	return;
}

# ---- an answer of a session of sparse vector ----

audit(
	'numeric answers',
	0.3,
	4,
	'answer_epsilon / answer_sensitivity',
	4 * N,
	"SELECT dp_sparse_vector_open('%s', -1000, @{[N]}, %s, @{[N]}, "
	  . "numeric_answers => true, method => 'geometric')",
	"SELECT answer FROM generate_series(1, @{[N]}) i, LATERAL dp_sparse_vector_ask(%s, 'a < 8 + ' || i %% 2) v",
	200);

# ---- a round: one question to a fresh threshold ----

# A question that is far above ends a round that the first one did not end.
as($node, 'postgres', <<'EOT');
CREATE FUNCTION probe(session bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	first boolean := above FROM dp_sparse_vector_ask(session, 'a = 0');
BEGIN
	IF NOT first THEN
		PERFORM dp_sparse_vector_ask(session, 'true');
	END IF;
	RETURN first::int;
END $$;
EOT
audit(
	'rounds',
	0.15,
	8,
	'threshold_epsilon + query_epsilon',
	3 * N,
	"SELECT dp_sparse_vector_open('%s', 26, @{[N]}, %s, @{[2 * N]}, "
	  . "delta => 0.01, method => 'rounds')",
	"SELECT probe(%s + 0 * i) FROM generate_series(1, @{[N]}) i",
	0);

# ---- an answer of multiplicative weights ----

# n is so large that every guess is far away; each question counts the row.
audit(
	'weights',
	0.3,
	4,
	'answer_epsilon / answer_sensitivity',
	4 * N,
	"SELECT dp_weights_open('%s', ARRAY['a'], @{[N]}, %s, n => 1000000, "
	  . 'alpha => 0.02)',
	"SELECT answer FROM generate_series(1, @{[N]}) i, "
	  . "LATERAL dp_weights_ask(%s, 'a IN (0, ' || 1 + i %% 7 || ')') v "
	  . 'WHERE updated',
	50);

$node->stop;
done_testing();
