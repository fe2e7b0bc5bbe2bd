# Tables beside that of FuzzNode, and random queries over all of them whose shape
# FuzzQuery does not have: joins, levels that group rows by their unit, units
# behind keys, keys that nobody declared, plain aggregates in transparent mode,
# FILTERs that exclude each other, stored answers, sessions, and what is refused.
# The caller seeds rand, and sets $FuzzQuery::depth.
package FuzzShapes;

use strict;
use warnings;

use Exporter 'import';
use FuzzNode;
use FuzzQuery;
use LedgerNode;

our @EXPORT = qw(make_shapes unit_rows other_shape adverse_settings);

# What a unit of a number has: rows of visit, and of bill for each; how many
# wards, how long a note, and what a visit costs.
my @of_unit = ([ 0, 0, 1, 1, '0' ], [ 1, 1, 1, 16384, '2147483647' ], [ 40, 3, 40, 1, '-2147483648' ], [ 700, 1, 3, 20, 'j' ], [ 3, 200, 2, 300000, 'NULL' ]);

my $visits = <<'EOT';
SELECT i * 1000 + j AS visit_id, i AS who, nullif('w' || i % 4, 'w3') AS ward, date '2024-01-01' + (i * j) % 90 AS seen, (i + j) % 60 AS cost,
	md5(i::text) AS note, (ARRAY['sad', 'ok', 'happy', 'odd', NULL]::mood[])[1 + (i + j) % 5] AS feel, timestamptz '2024-01-01 00:00+00' + i * interval '7 hours' AS since
FROM generate_series(1, 400) i, generate_series(1, 1 + i % 3) j
EOT

sub make_shapes
{
	my ($node) = @_;

	value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
SELECT dp_protect('person', unit => 'id', dataset => 'hospital', rows => 10000000);
CREATE TABLE visit (visit_id int PRIMARY KEY, who int NOT NULL, ward text COLLATE "C", seen date, cost int, note text COLLATE "C", feel mood, since timestamptz);
ALTER TABLE visit ALTER note SET STORAGE EXTERNAL;
INSERT INTO visit $visits;
CREATE TABLE bill (bill_id int, of_visit int NOT NULL, item text COLLATE "C", price numeric);
INSERT INTO bill SELECT visit_id, visit_id, 'i' || visit_id % 3, visit_id % 20 FROM visit;
CREATE TABLE ward (w_name text COLLATE "C", floor int, beds numeric);
INSERT INTO ward VALUES ('w0', 1, 10), ('w1', 1, 20), ('w1', 2, 2.50), ('w2', NULL, 7), ('w4', 3, NULL), (NULL, 4, 4);
CREATE TABLE step (step_id int PRIMARY KEY, title text);
INSERT INTO step SELECT i, 't' || i % 3 FROM generate_series(0, 6) i;
CREATE TABLE guest (g_who int PRIMARY KEY);
INSERT INTO guest SELECT generate_series(1, 401);
GRANT SELECT ON ward, step TO analyst;
SELECT dp_protect('visit', unit => 'who', dataset => 'hospital');
SELECT dp_protect('bill', unit => 'of_visit -> visit.who', dataset => 'hospital');
SELECT dp_protect('guest', unit => 'g_who', dataset => 'hospital');
SELECT dp_declare('visit', max_rows => 3, max_keys => 2), dp_declare('bill', max_rows => 2), dp_declare('guest', min_units => 2147483647);
SELECT dp_declare('visit', 'ward', keys => ARRAY['w0', 'w1', 'w2', 'w4']), dp_declare('visit', 'seen', lower => '2024-01-01', upper => '2024-12-31');
EOT
	return;
}

# Statements that give the unit rows of visit and bill, by a number.
sub unit_rows
{
	my ($unit, $k) = @_;
	my ($n, $bills, $wards, $length, $cost) = @{ $of_unit[ $k % @of_unit ] };

	return <<"EOT";
INSERT INTO visit SELECT $unit * 1000 + j, $unit, nullif('w' || j % $wards, 'w3'), date '2024-02-29' + j, $cost, repeat('a', $length), 'odd', 'infinity' FROM generate_series(1, $n) j;
INSERT INTO bill SELECT -j, visit_id, 'mine', 1e100 FROM visit, generate_series(1, $bills) j WHERE who = $unit
EOT
}

# ---- pieces ----

# What may stand in FROM where visit, bill or person does, and columns of it.
my %numbers = (visit => [qw(cost)], bill => [qw(price)], person => [qw(i s k l)], ward => [qw(beds floor)]);
my %values = (visit => [qw(ward note seen feel cost)], bill => [qw(item price)], person => [qw(t m k u day name)], ward => [qw(floor w_name)]);

sub zone { return 'AAB' . int(rand 168) . ':' . int(rand 60) }

# A condition on the columns of tables.
sub condition_on
{
	my (@tables) = @_;
	my $table = pick(@tables);

	return condition() if $table eq 'person';
	return pick('beds > 5', 'floor IS NULL', "w_name < 'w2'", 'beds = 2.5') if $table eq 'ward';
	return pick("item = 'mine'", 'price > 3', 'price * price > 7', 'price::int4 = 3', "item || 'x' >= 'i1x'") if $table eq 'bill';
	return pick('cost > 10', 'cost + 2147483600 > 7', '1000 / cost > 20', "note LIKE '%aa%'", "note || 'x' > 'b'",
		'upper(note COLLATE "' . pick(@collations) . "\") < 'M'", 'length(note) > 31', "ward IN ('w0', 'w1')", 'ward IS NULL', "feel > 'sad'",
		"since AT TIME ZONE '" . zone() . "' > '2024-03-01'", "extract(month FROM seen) = 2", "CASE WHEN cost > 30 THEN note END = 'a'");
}

sub where
{
	my ($unit, @tables) = @_;
	my @all = map { condition_on(@tables) } 1 .. int rand 3;

	push @all, $unit if rand() < 0.4;
	return @all ? ' WHERE ' . join(' AND ', map { "($_)" } @all) : '';
}

# Whether a value is NULL is noise's choice, too, for some.
sub aggregate_on
{
	my (@tables) = @_;
	my $table = pick(@tables);
	my $x = pick(@{ $numbers{$table} });
	my $v = pick(@{ $values{ pick(@tables) } });
	my $filter = rand() < 0.3 ? ' FILTER (WHERE ' . condition_on(@tables) . ')' : '';
	my $kind = pick('count', 'value', 'distinct', 'sum', 'sum', 'avg', 'median', 'histogram', 'total', 'pair', 'least', 'bounds', 'best', 'variance');

	return "dp_count(*)$filter" if $kind eq 'count';
	return "dp_count($v)$filter" if $kind eq 'value';
	return "dp_count(DISTINCT $v)$filter" if $kind eq 'distinct';
	return "dp_sum($x, -5, 50)$filter" if $kind eq 'sum';
	return "dp_sum(DISTINCT $x, 0, 50)$filter" if $kind eq 'total';
	return "dp_median($x, 0, 100)$filter" if $kind eq 'median';
	return "dp_histogram($x, 0, 100, 5)$filter" if $kind eq 'histogram';
	return pick('dp_min', 'dp_max') . "($x, 0, 100)$filter IS NULL OR true" if $kind eq 'least';
	return "dp_bounds($x)$filter IS NULL OR true" if $kind eq 'bounds';
	return pick("dp_topk($v, ARRAY[$v, NULL], 1)", "dp_argmax($v, ARRAY[$v, NULL])") . "$filter IS NULL OR true" if $kind eq 'best' && rand() < 0.1;
	return "dp_topk($x, ARRAY[1, 2, 3, 7], 2)$filter IS NULL OR true" if $kind eq 'best';
	return 'dp_' . pick(qw(corr covar_pop regr_slope regr_r2)) . "($x, $x, 0, 10, 0, 100)$filter IS NULL OR true" if $kind eq 'pair';
	return 'dp_' . pick(qw(variance stddev)) . "($x, 0, 100)$filter IS NULL OR true" if $kind eq 'variance';
	return "dp_avg($x, 0, 100)$filter IS NULL OR true";
}

# A query over items of FROM: what is asked of each group, or of all.
sub query_over
{
	my ($from, $unit, $tables, @keys) = @_;
	my $key = @keys && rand() < 0.5 ? pick(@keys) : undef;
	my @asked = map { aggregate_on(@$tables) } 0 .. int rand 4;

	return 'SELECT ' . join(', ', (defined $key ? $key : ()), @asked) . " FROM $from" . where($unit, @$tables) . (defined $key ? " GROUP BY $key" : '');
}

# ---- shapes ----

# Where PostgreSQL's own functions would fail for some values, as written.
sub partial
{
	my @all = map { pick('1 / i < 2', '7 / s > 1', 'i / s = 1', 'i % s = 1', 's * i > 3', 'l + l > 3', '-i > 3', 'd::int2 > 1', 'n::int4 > 1', 'exp(d) > 3', 'sqrt(n) > 1', 'ln(d) > 1', 'd * d > 1', 'n / n = 1') } 0 .. 3;

	return 'SELECT dp_count(*), dp_sum(' . pick('i / s', 'i * s', 'l - 3', 'k / k') . ', 0, 9) FROM person WHERE ' . join(' OR ', @all);
}

sub one_table
{
	return rand() < 0.6 ? query_over('visit', 'who = 401', ['visit'], 'ward', 'cost > 10', "date_trunc('month', seen)", 'feel', 'upper(ward)')
	  : query_over('bill', "item = 'mine'", ['bill'], 'price > 3');
}

sub joined_on_units
{
	return pick(
		sub { query_over('person JOIN visit ON who = id', 'id = 401', [qw(person visit)], 'ward', 'k', 'b') },
		sub { query_over('visit JOIN person ON id = who', 'who = 401', [qw(person visit)], 'ward', 'k') },
		sub { query_over('bill JOIN visit ON of_visit = visit_id', 'who = 401', [qw(bill visit)], 'ward') },
		sub { query_over('bill JOIN visit ON of_visit = visit_id JOIN person ON who = id', "item = 'mine'", [qw(bill visit person)], 'ward', 'k') },
		sub { query_over('visit', "who = 401 OR EXISTS (SELECT FROM visit w WHERE w.who = visit.who AND w.ward = visit.ward AND w.cost > 30)", ['visit'], 'ward', 'who IN (SELECT id FROM person WHERE k = 3)') },
		sub { query_over('bill', 'EXISTS (SELECT FROM visit WHERE visit_id = of_visit AND note IS NULL) OR price > 3', ['bill'], 'price > 3') },
		sub { 'SELECT dp_count(*), dp_sum(v.cost, 0, 50) FROM visit v JOIN visit w ON v.who = w.who AND v.seen < w.seen' . pick('', ' WHERE v.who = 401', ' WHERE v.note = w.note') },
		sub { query_over('person FULL JOIN visit ON who = id' . pick('', ' AND cost > k', ' AND cost / 0 IS NULL'), 'coalesce(id, who) = 401', [qw(person visit)], 'ward', 'k', 'b') },
		sub { query_over('visit FULL JOIN bill ON of_visit = visit_id', 'who = 401', [qw(bill visit)], 'ward') },
		sub { query_over('person LEFT JOIN (SELECT who, count(*) AS cost, max(note) AS note, min(ward) AS ward, bool_or(cost > 5) AS feel, max(seen) AS seen, max(since) AS since FROM visit GROUP BY who) AS g ON who = id', 'id = 401', ['person'], 'k') })->();
}

sub joined_with_public
{
	return pick(
		sub { query_over('visit LEFT JOIN ward ON w_name = ward', 'who = 401', [qw(visit ward)], 'floor', 'ward') },
		sub { query_over('visit JOIN ward ON w_name = ward AND beds > 1', 'who = 401', [qw(visit ward)], 'w_name') },
		sub { query_over('person JOIN step ON k = step_id', 'id = 401', ['person'], 'title', 'k') },
		sub { query_over('person LEFT JOIN step ON i = step_id', 'id = 401', ['person'], 'k') },
		sub { query_over("(VALUES ('i0', 1), ('mine', 2), ('mine', 3)) AS list (word, x) LEFT JOIN bill ON word = item", "item = 'mine'", ['bill'], 'x') =~ s/dp_count\(\*\)/dp_count(item)/gr },
		sub { query_over("bill JOIN (VALUES ('i0', 1), ('mine', 2), ('mine', 3)) AS list (word, x) ON word = item", "item = 'mine'", ['bill'], 'x') },
		sub { 'SELECT count(c), sum(c) FROM (SELECT (SELECT ' . pick('dp_count(*)', 'dp_sum(cost, 0, 50)', 'dp_count(note)') . ' FROM visit' . (where('who = 401', 'visit') || ' WHERE true') . ' AND visit.ward = w_name) AS c FROM ward) AS q' },
		sub { 'WITH a AS (SELECT dp_avg(cost, 0, 60) AS mean FROM visit) SELECT dp_count(*) FROM visit, a WHERE cost > mean' })->();
}

sub with_windows
{
	my $order = pick('seen', 'cost DESC, visit_id', 'seen, random()', 'note COLLATE "C"');
	my $from = 'visit' . where('who = 401', 'visit');

	return pick(
		sub { query_over("(SELECT who, ward, note, cost AS price, row_number() OVER (PARTITION BY who ORDER BY $order) AS cost FROM $from) AS g", 'cost = 1', ['bill'], 'cost < 3') =~ s/\bitem\b/note/gr },
		sub { query_over("(SELECT who, cost - lag(cost) OVER w AS cost, max(cost) OVER (PARTITION BY who ORDER BY cost ROWS 2 PRECEDING) AS price, lag(note) OVER w AS item FROM $from WINDOW w AS (PARTITION BY who ORDER BY $order)) AS g", 'who = 401', ['bill'], 'cost > 2') },
		sub { "SELECT dp_count(*), dp_sum(r, 0, 9) FROM person JOIN (SELECT who, rank() OVER (PARTITION BY who, ward ORDER BY cost) AS r, count(*) OVER (PARTITION BY who) AS n FROM $from) AS g ON who = id WHERE r < n" })->();
}

sub grouped_by_unit
{
	my $having = pick('', '', ' HAVING count(*) > 1', ' HAVING sum(cost) > 50', ' HAVING bool_or(cost > 30)');
	my $from = 'visit' . where('who = 401', 'visit');
	my $made = 'count(*) AS cost, sum(cost) AS price, avg(cost) AS beds, max(note) AS note, min(seen) AS seen, max(feel) AS feel, min(ward) AS ward, max(since) AS since';

	return pick(
		sub { query_over("(SELECT who, $made FROM $from GROUP BY who$having) AS g", 'who = 401', ['visit'], 'cost > 2', "ward = 'w1'") },
		sub { query_over("(SELECT who, ward, $made FROM $from GROUP BY who, ward$having) AS g", 'cost > 2', ['bill'], 'cost > 2') =~ s/, min\(ward\) AS ward|item/price/gr },
		sub { "SELECT dp_count(*), dp_sum(n, 0, 9) FROM (SELECT who, count(*) AS n FROM (SELECT DISTINCT who, ward, cost FROM $from) AS d GROUP BY who) AS g" },
		sub { 'SELECT dp_count(*), dp_sum(cost, 0, 50), dp_count(DISTINCT note) FROM (SELECT who, ward, cost, note ' . "FROM $from" . pick(' INTERSECT', ' EXCEPT', ' UNION') . ' SELECT who, ward, cost, note FROM visit' . where('who = 401', 'visit') . ') AS g' },
		sub { "SELECT n, dp_count(*) FROM (SELECT who, count(*) AS n FROM $from GROUP BY who) AS g WHERE n IN (1, 2, 3, 40) GROUP BY n" })->();
}

# No group has so many people as the owner of guest wants, so none is shown.
sub left_out
{
	return query_over('visit ' . pick('', 'LEFT ') . 'JOIN guest ON who = g_who', 'who = 401', ['visit'], 'ward', 'ward, seen');
}

# Told are keys of very many units, or of none but by delta.
sub undeclared
{
	my $query = pick(
		sub { query_over('visit', 'who = 401', ['visit'], pick(qw(note seen cost visit_id))) },
		sub { query_over('person', 'id = 401', ['person'], pick(qw(t u i day name vc c host), 'i % 3', 'lower(t)')) },
		sub { query_over('bill JOIN visit ON of_visit = visit_id', 'who = 401', [qw(bill visit)], 'item', 'note') },
		sub { 'SELECT k, t, dp_count(*) FROM person GROUP BY k, t' })->();

	return "SET dp_pg.delta = '1e-9';\n" . pick($query, "SELECT count(*) FROM ($query) AS q") if $query =~ /GROUP BY/;
	return $query;
}

sub plain_aggregate
{
	my $filter = rand() < 0.2 ? ' FILTER (WHERE ' . condition() . ')' : '';

	return 'coalesce((' . pick('count(*)', 'count(i)', 'count(DISTINCT t)', 'sum(k)', 'avg(k)', 'stddev(k)', 'var_pop(k)', 'corr(k, k)', 'min(k)', 'max(k)',
		'percentile_cont(0.5) WITHIN GROUP (ORDER BY k)', 'mode() WITHIN GROUP (ORDER BY k)') . "$filter)::text, '0')";
}

sub transparent
{
	my $set = "SET dp_pg.transparent = on; SET dp_pg.suppress = off;\n";
	my $list = join ', ', map { plain_aggregate() } 0 .. int rand 3;

	return $set . pick(
		"SELECT $list FROM person" . where('id = 401', 'person'),
		"SELECT k, $list FROM person" . where('id = 401', 'person') . ' GROUP BY k',
		"SELECT k, b, count(*) FROM person GROUP BY " . pick('ROLLUP (k, b)', 'CUBE (k, b)', 'GROUPING SETS ((k), (b), ())'),
		"SELECT coalesce(avg(least(greatest(n, 0), 9)), 0) FROM (SELECT who, count(*) AS n FROM visit" . where('who = 401', 'visit') . ' GROUP BY who) AS q',
		'SELECT * FROM person LIMIT 3', 'SELECT * FROM person WHERE false', 'SELECT id FROM person', 'SELECT DISTINCT k FROM person',
		'SELECT count(*) FROM visit JOIN ward ON w_name = ward' . where('who = 401', 'visit', 'ward'));
}

# A set of FILTERs on one column.
sub disjoint
{
	my ($condition) = (condition());
	my @filters = @{ pick([ 'k < 2', 'k >= 2', 'k IS NULL' ], [ 'b', 'NOT b', 'b IS NULL' ], [ 'b IS TRUE', 'b IS NOT TRUE' ], [ "t = 'a'", "t = 'b'", "t <> 'a' AND t <> 'b'" ],
		[ "m = 'sad'", "m > 'sad'" ], [ "($condition)", "($condition) IS NOT TRUE" ], [ 'id = 401', 'id <> 401' ], [ "t < 'm'", "t >= 'm'", "(t < 'm') IS NOT TRUE" ]) };

	return 'SELECT ' . join(', ', map { pick('dp_count(*)', 'dp_sum(i, 0, 9)', 'dp_median(i, 0, 9)', 'dp_count(DISTINCT t)') . " FILTER (WHERE $_)" } @filters) . ' FROM person' . where('id = 401', 'person');
}

sub quoted { return '$c$' . shift() . '$c$' }

# What a session leaves besides its answers: an epsilon of 1000 tells these for
# sure, and more of them are "above" on one side.
sub asked_in_session
{
	my @conditions = map { rand() < 0.5 ? 'id = 401' . (rand() < 0.5 ? ' AND (' . condition() . ')' : '') : condition() } 1 .. 2 + int rand 20;

	return 'SELECT query FROM dp_sparse_vector(\'person\', ARRAY[' . join(', ', map { quoted($_) } @conditions) . "], threshold => 1, cutoff => 100, epsilon => 1000)" if rand() < 0.3;
	if (rand() < 0.3)
	{
		@conditions = map { pick('b', 'k = 6', 'k > 2 AND b', 'b IS NULL', 'k = 0 OR b', 'NOT b') } @conditions;
		return "SELECT dp_weights_open('person', columns => ARRAY['b', 'k'], queries => 100, epsilon => 1000, n => 400) AS session \\gset\n"
		  . join(";\n", map { "SELECT questions_left FROM dp_weights_" . 'ask(:session, ' . quoted($_) . ')' } @conditions) . ";\nSELECT dp_weights_close(:session)";
	}
	my $numbers = pick('false', 'true');
	return "SELECT dp_sparse_vector_open('person', threshold => 1, cutoff => 50, epsilon => 1000, questions => 60, numeric_answers => $numbers) AS session \\gset\n"
	  . join(";\n", map { 'SELECT questions_left FROM dp_sparse_vector_ask(:session, ' . quoted($_) . ')' } @conditions) . pick('', ";\nSELECT dp_sparse_vector_close(:session)");
}

# Refused for want of rights: at the sixth time a plan would be chosen.
sub refused
{
	my $text = pick('SELECT count(*) FROM person, generate_series(1, $1) AS x WHERE k = $1', 'SELECT * FROM visit WHERE visit_id > $1', 'SELECT note FROM visit, person WHERE who = id AND cost < $1');

	return "PREPARE r(int) AS $text;\n" . 'EXECUTE r(401);' . "\nEXECUTE r(7);" x 6 . "\nSELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = 'r';\nDEALLOCATE r";
}

sub stored
{
	my $query = pick(\&one_table, \&joined_with_public, \&grouped_by_unit)->();

	return "SET dp_pg.reuse = '1 hour';\n$query;\n$query";
}

sub other_shape
{
	return pick(\&partial, \&one_table, \&joined_on_units, \&joined_on_units, \&joined_with_public, \&grouped_by_unit, \&with_windows, \&left_out, \&undeclared, \&transparent, \&disjoint, \&asked_in_session, \&stored, \&refused)->();
}

# ---- settings that an asker may have ----

# A version that has not all of them gives errors before the query, on both.

my %adverse = (
	%of_plans,
	client_min_messages => ['debug1'], TimeZone => [ "'Asia/Tokyo'", "'AAB9:11'" ], DateStyle => [ "'German'", "'SQL, DMY'" ], IntervalStyle => ["'iso_8601'"], bytea_output => ['escape'], extra_float_digits => [-15],
	default_statistics_target => [ 1, 10000 ], stats_fetch_consistency => [qw(none snapshot)], synchronous_commit => ['off'], default_transaction_isolation => ["'repeatable read'"],
	row_security => ['off'], transform_null_equals => ['on'], xmloption => ['document'], array_nulls => ['off'], lc_time => ["'C'"],
	'dp_pg.max_rows' => [ 1, 7, 100 ], 'dp_pg.max_keys' => [ 1, 5 ], 'dp_pg.split' => [qw(on off)], 'dp_pg.max_groups' => [ 5, 100000 ], 'dp_pg.epsilon' => [ "'0.001'", "'0.3'" ]);
my @adverse = sort keys %adverse;

sub adverse_settings
{
	my @chosen = rand() < 0.5 ? () : map { pick(@adverse) } 0 .. int rand 6;

	return join '', map { "SET $_ = " . pick(@{ $adverse{$_} }) . ";\n" } @chosen;
}

1;
