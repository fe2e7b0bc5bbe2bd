# Parallel composition within a release (theory T122): for random pairs of FILTERs
# that exclude each other according to EXPLAIN, no row passes both, in a table with
# the extremes of every type, NULL and texts that are too long to be ordered; and
# one row more moves at most one of two such values.  EXPLAIN is compared with the
# rows, counted plainly and, at an epsilon of 1000, privately, so a false alarm has
# a probability below 1e-400.  FUZZ_PAIRS pairs (3000) from FUZZ_SEED (1).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use Test::More;

my $pairs = $ENV{FUZZ_PAIRS} || 3000;
my $node = attack_node('disjoint');
my $seed = $ENV{FUZZ_SEED} || 1;

my $collation = value($node, q{SELECT max(collname) FROM pg_collation WHERE collname IN ('und-x-icu', 'C')});

srand($seed);

# ---- conditions ----

# Columns, and constants of each that stand at its edges.
my %constants = (
	i => [ '-2147483648', '-1', '0', '1', '2', '2147483647', '1.5', '1.0', '3000000000' ],
	n => [ "'NaN'", '-1', '0', '0.0', '1', '1.00', '1.5', "'Infinity'", "'-Infinity'" ],
	f => [ "'NaN'", '-0.0', '0', '1', '1.5', "'Infinity'", "'-Infinity'", '1e-300' ],
	t => [ "''", "'a'", "'A'", "'a '", "'b'", "U&'\\00e9'", "'ab'" ],
	w => [ "''", "'a'", "'b'", "'z'", "repeat('b', 20000)" ],
	c => [ "''", "'a'", "'A'", "'a  '", "'b'", "'ab'" ],
	d => [ "'-infinity'", "'2020-01-01'", "'2020-01-02'", "'infinity'" ],
	s => [ "'-infinity'", "'2020-01-01'", "'2020-01-01 00:00:00.000001'", "'2020-01-01 12:00'", "'infinity'" ],
	e => [ "'sad'", "'ok'", "'happy'" ]);
my @columns = (sort(keys %constants), 'b', 'b2');
my @drawn = (@columns, ('w') x 4);	# where what is said is easily wrong

sub one_of { return $_[ int rand @_ ]; }

sub condition
{
	my ($depth, $column) = @_;
	my $kind = rand;

	$column ||= one_of(@drawn);
	return '(' . condition($depth - 1, $column) . one_of(' AND ', ' OR ') . condition($depth - 1, rand() < 0.7 ? $column : undef) . ')'
	  if $depth > 0 && $kind < 0.3;
	return '(w ' . one_of('=', '<', '>=') . ' ' . one_of(@{ $constants{w} }) . ') IS ' . one_of('NOT TRUE', 'NOT FALSE', 'UNKNOWN') if $column eq 'w' && rand() < 0.15;
	return "w = $constants{w}[4]" if $column eq 'w' && rand() < 0.15;
	return 'NOT ' . condition($depth - 1, $column) if $depth > 0 && $kind < 0.34;
	return '(' . condition($depth - 1, $column) . ') IS ' . one_of('TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE', 'UNKNOWN', 'NOT UNKNOWN') if $depth > 0 && $kind < 0.45;
	return "$column IS " . one_of('NULL', 'NOT NULL') if $kind < 0.5;
	return $column =~ /^b/
	  ? one_of($column, "NOT $column", "$column IS TRUE", "$column IS NOT TRUE", "$column IS FALSE", "$column IS UNKNOWN",
		"$column = true", "$column <> true", "$column IS DISTINCT FROM false")
	  : do
	{
		my @constant = map { one_of(@{ $constants{$column} }) } 1 .. 3;
		my $list = join ', ', @constant[ 0 .. int rand 3 ];

		$kind < 0.6 ? "$column IN ($list)" :
		  $kind < 0.66 ? "$column NOT IN ($list)" :
		  $kind < 0.74 ? "$column BETWEEN $constant[0] AND $constant[1]" :
		  $kind < 0.78 ? "$column IS DISTINCT FROM $constant[0]" :
		  $kind < 0.82 ? "CASE WHEN $column > $constant[0] THEN true ELSE $column = $constant[1] END" :
		  $kind < 0.86 && $column eq 'i' ? 'i % 2 = ' . int rand 3 :
		  $kind < 0.9 && $column =~ /[tcw]/ ? "lower($column) = $constant[0]" :
		  "$column " . one_of('=', '<>', '<', '<=', '>', '>=') . " $constant[0]";
	};
}

# ---- rows ----

# Every constant in its column, beside NULL in all others and beside random ones.
sub literal
{
	my ($column) = @_;
	my $constant;

	return one_of('true', 'false', 'NULL') if $column =~ /^b/;
	return 'NULL' if rand() < 0.1;
	do { $constant = one_of(@{ $constants{$column} }) } while $column eq 'i' && $constant =~ /\.|3000/;
	return $constant;
}

my @rows = map { '(' . join(', ', map { literal($_) } @columns) . ')' } 1 .. 2000;
my $lists = join ', ', @rows;
$node->safe_psql('postgres', <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE edge (c char(3), d date, e mood, f float8, i int, n numeric, s timestamp, t text, w text COLLATE "$collation", b boolean, b2 boolean);
INSERT INTO edge VALUES $lists;
SELECT dp_protect('edge', dataset => 'hospital');
EOT

# ---- what is said, and what rows do ----

$node->safe_psql('postgres', <<'EOT');
CREATE TABLE pair (id int, a text, b text, said boolean, met bigint, counted bigint, error text);
GRANT ALL ON pair TO PUBLIC;
CREATE FUNCTION say(a text, b text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	said boolean := false;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT dp_count(*) FILTER (WHERE %s), dp_count(*) FILTER (WHERE %s) FROM edge', a, b) LOOP
		said := said OR line ~ '^ *Disjoint: values 1 \| 2:';
	END LOOP;
	RETURN said;
END $$;
CREATE FUNCTION count_both(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM edge WHERE (%s) AND (%s)', a, b) INTO n;
	RETURN n;
END $$;
EOT
value($node, <<'EOT');
CREATE FUNCTION count_privately(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT dp_count(*) FROM edge WHERE (%s) AND (%s)', a, b) INTO n;
	RETURN n;
END $$;
EOT
my @asked;
foreach my $id (1 .. $pairs)
{
	my $column = one_of(@drawn);
	my ($a, $b) = map { condition(2, rand() < 0.9 ? $column : undef) } 1, 2;

	push @asked, "($id, \$x\$$a\$x\$, \$x\$$b\$x\$)";
}
$node->safe_psql('postgres', 'INSERT INTO pair (id, a, b) VALUES ' . join(', ', @asked));
note("FUZZ_SEED=$seed FUZZ_PAIRS=$pairs asks the same again");
my ($rc, $out, $err) = $node->psql('postgres', <<'EOT', extra_params => [ '-U', 'analyst' ]);
DO $$
DECLARE
	p record;
BEGIN
	FOR p IN SELECT * FROM pair LOOP
		BEGIN
			UPDATE pair SET said = say(p.a, p.b), counted = count_privately(p.a, p.b) WHERE id = p.id;
		EXCEPTION WHEN OTHERS THEN
			UPDATE pair SET error = SQLSTATE WHERE id = p.id;
		END;
	END LOOP;
END $$;
EOT
is($rc, 0, "all pairs were asked $err");
$node->safe_psql('postgres', <<'EOT');
SET SESSION AUTHORIZATION owner;
UPDATE pair SET met = count_both(a, b) WHERE error IS NULL;
EOT
is(value($node, "SELECT string_agg(DISTINCT error, ', ') FROM pair WHERE error NOT IN ('0A000', '22P02', '22003', '42883', '42846')"), '', 'no other errors than those of wrong constants');
is(value($node, 'SELECT string_agg(format(\'FUZZ_NUMBER=%s: %s / %s: %s, %s\', id, a, b, met, counted), E\'\n\' ORDER BY id) FROM pair WHERE said AND (met > 0 OR counted > 0)'), '', 'what is said to be disjoint is');
if ($seed == 1)
{
	cmp_ok(value($node, 'SELECT count(*) FROM pair WHERE error IS NULL'), '>', $pairs / 2, 'most pairs can be asked');
	cmp_ok(value($node, 'SELECT count(*) FROM pair WHERE said'), '>', $pairs / 20, 'many are');
	cmp_ok(value($node, 'SELECT count(*) FROM pair WHERE NOT said AND met > 0'), '>', $pairs / 10, 'and many are not');
}

# ---- the charge is that of one, and one row more moves one value ----

my ($a, $b) = split /\|\|\|/, value($node, "SELECT a || '|||' || b FROM pair WHERE said ORDER BY random() LIMIT 1");
my $query = "SELECT dp_count(*) FILTER (WHERE $a), dp_count(*) FILTER (WHERE $b) FROM edge";
my @before = split /\|/, (as($node, 'analyst', $query))[0];
is(value($node, 'SELECT epsilon FROM dp_pg.ledger ORDER BY id DESC LIMIT 1'), '1000', "two for the price of one: $query");
my $moved = 0;
foreach my $row (@rows[ 0 .. 39 ])
{
	$node->safe_psql('postgres', "SET SESSION AUTHORIZATION owner; INSERT INTO edge VALUES $row");
	my @after = split /\|/, (as($node, 'analyst', $query))[0];

	$moved = 2 if $after[0] != $before[0] && $after[1] != $before[1];
	@before = @after;
}
is($moved, 0, 'no row moves both');

done_testing();
