# dp_net and dp_net_values through SQL: exact laws and audits on neighbours.
#
# Six candidates have the true answers of the first of two neighbours, one those of
# the second, and one is far from both.  The row by which they differ moves the
# score of the one up and of the six down, and the one is rare on the first, so
# nearly all of epsilon can be seen.
#
# Rates: 3 audits of sound mechanisms at 1e-10, 6 p-values at ALPHA, see
# StatServer.  A broken variant must exceed the claim, which it fails with a
# probability below 2e-11, by the exact laws.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use List::Util qw(max);
use StatCalls;
use StatServer;
use Test::More;

use constant {
	RUNS => 10000,
	FEW => 5000,
	EPSILON => 4
};

# One row comes, and a row is replaced, which moves both counts; a payment of
# -5 becomes one of 5.
my $node = stat_node('net', <<'EOT');
CREATE TABLE come_0 (a boolean NOT NULL, b boolean NOT NULL);
INSERT INTO come_0 SELECT i <= 10, i > 7 FROM generate_series(1, 12) i;
CREATE TABLE come_1 AS SELECT * FROM come_0 UNION ALL SELECT true, false;
CREATE TABLE replaced_0 AS SELECT * FROM come_0;
CREATE TABLE replaced_1 AS SELECT * FROM come_0;
UPDATE replaced_1 SET a = true, b = false WHERE ctid =
	(SELECT ctid FROM replaced_1 WHERE NOT a AND b LIMIT 1);
CREATE TABLE paid_0 (x numeric NOT NULL);
INSERT INTO paid_0 SELECT 4.25 FROM generate_series(1, 20) UNION ALL SELECT -7;
CREATE TABLE paid_1 AS SELECT greatest(x, -x) AS x FROM paid_0;

SELECT dp_protect(t, dataset => 'added')
FROM unnest('{come_0,come_1}'::regclass[]) t;
SELECT dp_protect(t, dataset => 'replaced')
FROM unnest('{replaced_0,replaced_1,paid_0,paid_1}'::regclass[]) t;
SELECT dp_neighbours('replaced', 'replace_one');
SELECT dp_grant('analyst', d, epsilon => 1000000000)
FROM unnest('{added,replaced}'::name[]) d;
EOT

is( as($node, 'owner', <<'EOT'),
SELECT count(*) FILTER (WHERE a), count(*) FILTER (WHERE b) FROM come_0;
SELECT count(*) FILTER (WHERE a), count(*) FILTER (WHERE b) FROM come_1;
SELECT count(*) FILTER (WHERE a), count(*) FILTER (WHERE b) FROM replaced_1;
SELECT sum(least(greatest(x, -5), 5)) FROM paid_0;
SELECT sum(least(greatest(x, -5), 5)) FROM paid_1;
EOT
	"10|5\n11|5\n11|4\n80.00\n90.00",
	'neighbours are what the laws say');

# Candidates: the number of the one that is right on the second input is 0.
as($node, 'postgres', <<'EOT');
ALTER ROLE analyst SET client_min_messages = warning;
ALTER ROLE analyst SET dp_pg.epsilon_ceiling = '1000';
CREATE TABLE for_come (id text, answers numeric[]);
INSERT INTO for_come SELECT i::text, ARRAY[10, 5] FROM generate_series(1, 6) i
UNION ALL VALUES ('0', ARRAY[11, 5]), ('7', ARRAY[12, 8]);
CREATE TABLE for_replaced AS SELECT * FROM for_come WHERE id <> '0';
INSERT INTO for_replaced VALUES ('0', ARRAY[11, 4]);
CREATE TABLE for_paid (id text, answers numeric[]);
INSERT INTO for_paid
SELECT i::text, ARRAY[80, 4.25] FROM generate_series(1, 6) i
UNION ALL VALUES ('0', ARRAY[90, 5]), ('7', ARRAY[65, 7.5]);
GRANT SELECT ON for_come, for_replaced, for_paid TO analyst;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO owner;
EOT

# The owner's sum and maximum of payments from -5 to 5.
as($node, 'owner', <<'EOT');
CREATE FUNCTION model(sensitivity numeric, relation regclass, epsilon numeric)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	exact numeric[];
	chosen text;
BEGIN
	EXECUTE format('SELECT ARRAY[sum(v), max(v)]
		FROM %s, LATERAL (SELECT least(greatest(x, -5), 5) AS v) t', relation)
	INTO exact;
	SELECT id INTO chosen FROM public.dp_net_values(exact, sensitivity,
		'public.for_paid', 'replaced', epsilon) AS t(id text);
	RETURN chosen;
END $$;
EOT

# Scores by name in units of what a person can change: minus the largest
# distance of answers, in the order of the queries.
sub scores
{
	my ($unit, $truth, %answers) = @_;
	my $score = sub {
		my ($answers) = @_;

		return -max(map { abs($truth->[$_] - $answers->[$_]) } 0, 1) / $unit;
	};

	return {
		map { $_ => $score->($answers{ $_ >= 1 && $_ <= 6 ? 'six' : $_ }) }
		  0 .. 7
	};
}

my %come = (six => [ 10, 5 ], 0 => [ 11, 5 ], 7 => [ 12, 8 ]);
my %replaced = (%come, 0 => [ 11, 4 ]);
my %paid = (six => [ 80, 4.25 ], 0 => [ 90, 5 ], 7 => [ 65, 7.5 ]);

my %cases = (
	come => [
		"dp_net('come_%d', 'for_come', ARRAY['a', 'b'], %s + 0 * k)",
		scores(1, [ 10, 5 ], %come),
		scores(1, [ 11, 5 ], %come)
	],
	replaced => [
		"dp_net('replaced_%d', 'for_replaced', ARRAY['a', 'b'], %s + 0 * k)",
		scores(1, [ 10, 5 ], %replaced),
		scores(1, [ 11, 4 ], %replaced)
	],
	paid => [
		"model(10, 'paid_%d', %s + 0 * k)",
		scores(10, [ 80, 4.25 ], %paid),
		scores(10, [ 90, 5 ], %paid)
	]);

# Counts of both inputs at an epsilon, and their laws at another.
sub both
{
	my ($case, $epsilon, $runs, $claim) = @_;
	my ($call, @scores) = @{ $cases{$case} };
	my $column = $call =~ /^dp_net/ ? 'AS t(id text)' : 'AS t(id)';
	my @counts = map {
		answers($node, 'SELECT id FROM ' . sprintf("$call $column", $_, $epsilon),
			$runs)
	} 0, 1;

	return (\@counts, [ map { exponential($_, $claim / 2) } @scores ]);
}

# ---- sound ----

foreach my $case (
	[ 'come', 'dp_net, a row comes', FEW ],
	[ 'replaced', 'dp_net, a row is replaced', RUNS ],
	[ 'paid', 'dp_net_values, a row is replaced', FEW ])
{
	my ($pair, $name, $runs) = @$case;
	my ($counts, $laws) = both($pair, EPSILON, $runs, EPSILON);
	my $score = $cases{$pair}[2];

	audit($name, $counts, $laws, $runs, EPSILON);
	reject_law("$name: a third less noise",
		$counts->[1], exponential($score, 1.5 * EPSILON / 2));
	reject_law("$name: noise for two persons",
		$counts->[1], exponential($score, EPSILON / 4));
}

# ---- no noise, noise for other neighbours ----

caught('dp_net without noise',
	both('come', 200, 1000, EPSILON / 2), EPSILON / 2);

# A payment that comes changes a sum by 5, one that is replaced by 10.
$cases{paid}[0] =~ s/\(10,/(5,/;
caught('dp_net_values, the sensitivity of the other neighbours',
	both('paid', EPSILON / 2, FEW, EPSILON / 2), EPSILON / 2);

$node->stop;
done_testing();
