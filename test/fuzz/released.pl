# Random arithmetic over released values: what cannot fail over the plain values must not fail over
# noisy ones, at any level of a query.
#
# Expressions of numbers, dates, intervals and texts over counts, sums and a mean of small groups stand
# beside the aggregates, in HAVING and ORDER BY, above a subquery, WITH query or view, below and above
# aggregates and windows, in set operations, joins, subqueries of expressions, LIMIT and
# generate_series.  Each query is asked plainly, and if it has an answer, privately in transparent mode,
# with much noise, several times.
#
# The machine sees a missing guard: where a plain value is none, noise often makes it NULL.
#
# FUZZ_RELEASED queries (500) from FUZZ_SEED (1).  A failure prints the command that shows it again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(attack_node as);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { BATCH => 50, TIMES => 3 };

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_RELEASED} || 500;
my $only = $ENV{FUZZ_NUMBER};
my $node = attack_node('released', "dp_pg.readers = 2\nfsync = off\njit = off\n");

value($node, <<'EOT');
CREATE SCHEMA plain AUTHORIZATION owner;
GRANT USAGE ON SCHEMA plain TO analyst;
SET SESSION AUTHORIZATION owner;
CREATE TABLE plain.item (id int PRIMARY KEY, g text NOT NULL, x int NOT NULL);
INSERT INTO plain.item SELECT 10 * k + i, substr('abcdef', k, 1), 1 + (7 * i) % 9 FROM generate_series(1, 6) k, generate_series(1, k + 3) i;
SELECT dp_protect('plain.item', unit => 'id', dataset => 'items'), dp_declare('plain.item', 'x', lower => 0, upper => 10),
	dp_declare('plain.item', 'g', keys => ARRAY['a', 'b', 'c', 'd', 'e', 'f']), dp_grant('analyst', dataset => 'items', epsilon => 1e9);
CREATE FUNCTION plain.ask(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; answer text := '00000';
BEGIN
	FOR r IN EXECUTE query LOOP answer := answer || ' ' || left(r::text, 200); END LOOP;
	RETURN replace(answer, E'\n', ' ');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || replace(SQLERRM, E'\n', ' ');
END $$;
CREATE VIEW plain.level AS SELECT g AS k, count(*) AS n, sum(x) AS s, count(*) FILTER (WHERE x > 4) AS f,
	sum(CASE WHEN x > 2 THEN 1 ELSE 0 END) AS c, avg(x) AS a FROM plain.item GROUP BY g;
GRANT SELECT ON plain.level TO analyst;
EOT

# ---- expressions ----

sub drawn { return $_[ int(rand(@_)) ] }

# The released columns, of types int8 and numeric.
my @columns = qw(n s f c);
my %literals = (int8 => [qw(0 1 2 3 10 -1)], int4 => [qw(0 1 2 5)], numeric => [qw(0.5 1.0 2 100.0 -1.5)], float8 => [ '0.5::float8', '2::float8', '1::float8' ],
	interval => [ q{interval '1 day'}, q{interval '1 month 2 hours'} ], date => [q{date '2024-02-29'}], timestamp => [q{timestamp '2024-02-29 12:00'}], text => [q{'abcdef'}]);

# By type, what makes it; a word in capitals is an expression of that type.
my %forms = (
	int8 => [ '(INT8 + INT8)', '(INT8 - INT8)', '(INT8 * INT8)', '(INT8 / INT8)', '(INT8 / INT8)', '(INT8 % INT8)', 'mod(INT8, INT8)', 'abs(INT8)', '(- INT8)', 'INT4::int8',
		'NUMERIC::int8', 'FLOAT8::int8', 'greatest(INT8, 1)', 'coalesce(INT8, 0)', 'nullif(INT8, 3)', 'gcd(INT8, INT8)', '(CASE WHEN INT8 < INT8 THEN INT8 ELSE INT8 / INT8 END)' ],
	int4 => [ 'INT8::int4', '(INT8 * 1000000)::int4', 'NUMERIC::int4', 'FLOAT8::int4', 'INT8::int2::int4', 'width_bucket(NUMERIC, 0, 10, INT4)', '(INT4 / INT4)', '(date \'2024-03-01\' - DATE)', 'length(TEXT)' ],
	numeric => [ 'INT8::numeric', '(NUMERIC + NUMERIC)', '(NUMERIC * NUMERIC)', '(NUMERIC / NUMERIC)', '(INT8 * 100.0 / INT8)', '(NUMERIC % NUMERIC)', 'div(NUMERIC, NUMERIC)', 'sqrt(INT8::numeric)',
		'ln(NUMERIC)', 'log(INT8::numeric)', 'log(2, INT8)', 'round(NUMERIC, 2)', 'NUMERIC::numeric(5, 2)', 'NUMERIC::numeric(3, 2)', 'power(NUMERIC, 0.5)', '(NUMERIC ^ 2)', 'factorial(INT8)' ],
	float8 => [ 'INT8::float8', '(FLOAT8 + FLOAT8)', '(FLOAT8 * FLOAT8)', '(FLOAT8 / FLOAT8)', '(INT8 / FLOAT8)', 'sqrt(INT8)', 'ln(FLOAT8)', 'log(INT8)', 'exp(FLOAT8)', '(FLOAT8 ^ 0.5)',
		'acos(1 / FLOAT8)', 'atanh(0.5 / FLOAT8)', 'NUMERIC::float8', 'extract(epoch FROM INTERVAL)::float8', 'FLOAT8::float4::float8' ],
	interval => [ 'make_interval(days => INT4)', 'make_interval(years => INT4 * 1000)', '(INTERVAL * FLOAT8)', '(INTERVAL / INT8)', '(INTERVAL + INTERVAL)', '(TIMESTAMP - timestamp \'2024-01-01\')', '(- INTERVAL)' ],
	date => [ '(DATE + INT4)', '(DATE - INT4)', 'TIMESTAMP::date', 'make_date(2000 + INT4, greatest(least(INT4, 12), 1), 1)', 'make_date(INT4, 1, 1)', 'make_date(day => 1, month => INT4, year => 2024)' ],
	timestamp => [ '(TIMESTAMP + INTERVAL)', '(DATE + INTERVAL)', 'date_trunc(\'month\', TIMESTAMP)', 'date_bin(INTERVAL, TIMESTAMP, timestamp \'2024-01-01\')', 'DATE::timestamp' ],
	text => [ 'to_char(INT8, \'999\')', 'repeat(\'x\', INT4)', 'chr(INT4 + 64)', 'substr(TEXT, 1, INT4)', 'left(TEXT, INT4)', 'lpad(TEXT, INT4)', 'split_part(\'a,b,c\', \',\', INT4)', 'int8range(0, INT8)::text', 'INT8::text' ]);

sub expression
{
	my ($type, $depth, @values) = @_;

	return drawn(@values) if $type eq 'int8' && rand() < ($depth > 0 ? 0.4 : 0.8);
	return $depth > 0 && rand() < 0.2 ? drawn(@{ $literals{$type} }) : expression('int8', 0, @values) . '::' . $type if $type =~ /^(?:int4|numeric|float8)$/ && ($depth <= 0 || rand() < 0.15);
	return drawn(@{ $literals{$type} }) if $depth <= 0;
	my $form = drawn(@{ $forms{$type} });

	$form =~ s/\b(INT8|INT4|NUMERIC|FLOAT8|INTERVAL|DATE|TIMESTAMP|TEXT)\b/expression(lc $1, $depth - 1, @values)/ge;
	return $form;
}

sub any_of
{
	my (@values) = @_;

	return expression(drawn(qw(int8 int8 numeric numeric float8 int4 interval date timestamp text)), 1 + int(rand(3)), @values);
}

sub int8_of { return expression('int8', 1 + int(rand(2)), @_) }

# ---- queries ----

my %aggregates = (n => 'count(*)', s => 'sum(x)', f => 'count(*) FILTER (WHERE x > 4)', c => 'sum(CASE WHEN x > 2 THEN 1 ELSE 0 END)');
my $level = 'SELECT g AS k, ' . join(', ', map { "$aggregates{$_} AS $_" } @columns) . ', avg(x) AS a FROM plain.item GROUP BY g';

# The released rows, as FROM has them, and what stands before the query.
sub source
{
	my $kind = drawn(qw(subquery with view deep));

	return ('', "($level) AS q") if $kind eq 'subquery';
	return ("WITH q AS ($level) ", 'q') if $kind eq 'with';
	return ('', 'plain.level AS q') if $kind eq 'view';
	return ('', '(SELECT k, n, s, f, ' . int8_of(@columns) . " AS c, a FROM ($level) AS p) AS q");
}

my %shapes = (
	same => sub {
		my @values = values %aggregates;
		my $having = rand() < 0.5 ? ' HAVING ' . any_of(sort @values) . ' IS NOT NULL OR true' : '';

		@values = sort @values;
		return 'SELECT g, ' . join(', ', map { any_of(@values) } 1 .. 3) . " FROM plain.item GROUP BY g$having ORDER BY " . any_of(@values) . ', g';
	},
	above => sub {
		my ($with, $from) = source();

		return "${with}SELECT k, " . join(', ', map { any_of(@columns, 'a::int8') } 1 .. 3) . " FROM $from WHERE " . any_of(@columns) . ' IS NOT NULL OR true ORDER BY ' . any_of(@columns) . ', k';
	},
	total => sub {
		my ($with, $from) = source();
		my @values = ('sum(n)::int8', 'count(*)', 'max(' . int8_of(@columns) . ')', 'count(*) FILTER (WHERE ' . int8_of(@columns) . ' > 2)');

		return "${with}SELECT " . join(', ', map { any_of(@values) } 1 .. 3) . " FROM $from";
	},
	window => sub {
		my ($with, $from) = source();

		return "${with}SELECT k, sum(" . int8_of(@columns) . ') OVER w, ntile(' . expression('int4', 1, @columns) . ') OVER (), lag(k, ' . expression('int4', 1, @columns) . ') OVER w, '
		  . any_of('rank() OVER w', 'sum(n) OVER ()::int8') =~ s/\bOVER \(\)::int8/OVER ()/gr . " FROM $from WINDOW w AS (ORDER BY " . any_of(@columns) . ', k)';
	},
	united => sub {
		my ($with, $from) = source();
		my $type = drawn(qw(int8 numeric float8 date interval));

		return "${with}SELECT " . expression($type, 2, 'v') . " FROM (SELECT " . int8_of(@columns) . " AS v FROM $from UNION ALL SELECT " . int8_of(@columns) . " FROM $from) AS u";
	},
	asked => sub {
		my ($with, $from) = source();
		my @values = map { "(SELECT $_ FROM $from WHERE k = 'b')" } @columns;

		return "${with}SELECT " . join(', ', map { any_of(@values) } 1 .. 2);
	},
	joined => sub {
		my ($with, $from) = source();

		return "${with}SELECT k, " . join(', ', map { any_of(map { ("q.$_", "r.$_") } @columns) } 1 .. 3) . " FROM $from JOIN ($level) AS r USING (k) ORDER BY k";
	},
	limited => sub {
		my ($with, $from) = source();

		return "${with}SELECT k, " . any_of(@columns) . " FROM $from ORDER BY k LIMIT (SELECT " . int8_of(@columns) . " FROM $from WHERE k = 'c') OFFSET (SELECT n - 5 FROM $from WHERE k = 'd')";
	},
	series => sub {
		my ($with, $from) = source();

		return "${with}SELECT k, " . any_of(@columns, 'i') . " FROM $from, generate_series(1, 3, " . expression('int8', 1, @columns) . ') AS i';
	});

sub make_query
{
	my ($number) = @_;

	srand($seed * 1000003 + $number);
	return $shapes{ drawn(sort keys %shapes) }->();
}

# ---- asking ----

my ($found, $answered, $refused, $guarded, $plain_errors) = (0, 0, 0, 0, 0);

sub ask_all
{
	my ($user, $settings, @queries) = @_;
	my $script = $settings . join '', map { "SELECT plain.ask(\$query\$$_\$query\$);\n" } @queries;
	my ($out) = as($node, $user, $script);

	return split /\n/, $out;
}

sub has_null { return $_[0] =~ /\(,|,,|,\)|\(\)/ ? 1 : 0 }

sub judge
{
	my ($number, $query, $plain, $private) = @_;
	my $state = substr $private, 0, 5;

	if ($state eq '00000')
	{
		$answered++;
		$guarded++ if has_null($private) && !has_null($plain);
	}
	elsif ($state =~ /^(?:0A|42)/) { $refused++; note("$number refused: $private\n$query") if defined $only }
	else
	{
		$found++;
		diag("FUZZ_SEED=$seed FUZZ_NUMBER=$number: $private\n  $query") if $found <= 5;
	}
	return;
}

my @numbers = defined $only ? ($only) : (1 .. $wanted);

while (my @batch = splice @numbers, 0, BATCH)
{
	my @queries = map { make_query($_) } @batch;
	my @plain = ask_all('postgres', '', @queries);
	my @asked = grep { $plain[$_] =~ /^00000/ } 0 .. $#batch;
	my @private;

	is(scalar @plain, scalar @batch, 'each is asked') if @plain != @batch;
	$plain_errors += @batch - @asked;
	note("$batch[$_]: $plain[$_]") foreach defined $only ? 0 .. $#batch : ();
	@private = ask_all('analyst', "SET dp_pg.transparent = on;\nSET dp_pg.suppress = off;\nSET dp_pg.reuse = off;\nSET dp_pg.epsilon = 0.25;\nSET client_min_messages = warning;\n", map { ($queries[$_]) x TIMES } @asked);
	judge($batch[ $asked[ int($_ / TIMES) ] ], $queries[ $asked[ int($_ / TIMES) ] ], $plain[ $asked[ int($_ / TIMES) ] ], $private[$_] // 'XX000 no answer') foreach 0 .. TIMES * @asked - 1;
}

is($found, 0, "noise alone makes no error: $answered answers, $refused refused; $guarded have NULL where the plain one has none; $plain_errors fail plainly");
cmp_ok($answered, '>', $wanted, 'enough are answered') if !defined $only && $seed == 1;
cmp_ok($refused, '<', $answered / 20, 'few are refused') if !defined $only && $seed == 1;
cmp_ok($guarded, '>', $answered / 20, 'and noise would have been an error in many') if !defined $only && $seed == 1;

$node->stop('fast');
done_testing();
