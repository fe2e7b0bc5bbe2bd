# Random private queries on two databases that differ in one unit.  All that an
# analyst can see of a query besides released numbers must be the same: error or
# none, its texts, how many rows an answer has, EXPLAIN (ANALYZE, BUFFERS, WAL),
# what is written to WAL, files, ledger and list of sessions, locks and plans that
# it leaves, and its session's memory (every context, which is granted to him
# here), and the most memory that its reader and the reader's workers ever had.
#
# The unit has values at an end of what they hold, or none, long ones out of line,
# and from none to very many rows where a unit may have them; half of the queries
# see no other unit.  Half of them are asked under settings that an attacker might
# choose, and some where a function has called itself until the stack has hardly
# room for them.  A query that differs is asked again three times, by itself, and
# reported if the databases differ in the same thing every time.
#
# FUZZ_NEIGHBOURS queries (300) from FUZZ_SEED (1), until FUZZ_FINDINGS (10) of
# them differ.  A failure prints the command that shows it again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(test_library);
use FuzzNode;
use FuzzQuery;
use FuzzShapes;
use LedgerNode;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BATCH => 25;
use constant AGAIN => 3;
use constant STEP => 128;	# a heap grows by at least so much, in kB
use constant WAL_STEP => 128;	# bytes; sums in the ledger take a few more or less
use constant DEEP => 5;			# calls of one query from as many depths

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_NEIGHBOURS} || 300;
my $only = $ENV{FUZZ_NUMBER};
my $most = $ENV{FUZZ_FINDINGS} || 10;
my $node = fuzz_node('neighbours');
my $library = test_library('process_peak');
my @databases = ('first', 'second');
my $unit = 401;

use_functions(admitted($node));
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg, $library'\ndp_pg.worker_idle = '10min'\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h");
$node->restart;

# ---- the databases ----

# The unit's values: NULL, the first literal of each type (0), or others, by k.
sub insert_unit
{
	my ($k) = @_;
	my @columns = ('id', 'long');
	my @values = ($unit, "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 20000) AS i)");

	foreach my $type (sort keys %columns)
	{
		my @literals = grep { $type ne 'bpchar' || length $_ < 7 } @{ $literals{$type} };

		foreach my $column (grep { !/^(id|long)$/ } @{ $columns{$type} })
		{
			push @columns, $column;
			push @values, $k == 0 ? 'NULL' : "'" . $literals[ $k % 3 == 1 ? 0 : ($k * 5 + @columns) % @literals ] . "'";
		}
	}
	return 'INSERT INTO person (' . join(', ', @columns) . ') VALUES (' . join(', ', @values) . ')';
}

value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
ALTER TABLE person ADD COLUMN long text COLLATE "C";
ALTER TABLE person ALTER long SET STORAGE EXTERNAL;
EOT
make_shapes($node);
value($node, 'GRANT SELECT ON pg_backend_memory_contexts TO analyst; GRANT EXECUTE ON FUNCTION pg_get_backend_memory_contexts() TO analyst');
value($node, <<'EOT');
CREATE FUNCTION fresh_reader() RETURNS bigint SECURITY DEFINER
RETURN (SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE backend_type = 'dp_pg reader');
CREATE FUNCTION reader_peak() RETURNS text SECURITY DEFINER
RETURN (SELECT max(substring(pg_read_file('/proc/' || pid || '/status') FROM 'VmPeak:\s+(\d+)')) FROM pg_stat_activity WHERE backend_type = 'dp_pg reader');
CREATE FUNCTION worker_peak() RETURNS text SECURITY DEFINER
RETURN (SELECT max(line::int) FROM string_to_table(pg_read_file('process_peak'), E'\n') AS line WHERE line <> '');
CREATE FUNCTION forget_workers() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE format('COPY (SELECT WHERE false) TO %L', current_setting('data_directory') || '/process_peak');
END $$;
CREATE FUNCTION deep(n int, statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF n > 0 THEN
		PERFORM deep(n - 1, statement);
	ELSE
		EXECUTE statement;
	END IF;
END $$;
EOT
value($node, "SET SESSION AUTHORIZATION analyst; CREATE VIEW one AS SELECT * FROM person WHERE id = $unit");
foreach my $database (@databases)
{
	value($node, "CREATE DATABASE $database TEMPLATE postgres");
	value($node, 'VACUUM (FREEZE, ANALYZE)', $database);
}

# How often deep may call itself, so that it can do hardly anything then.
my $depth = 0;
foreach my $step (map { 2 ** (13 - $_) } 0 .. 13)
{
	my ($rc) = $node->psql('first', 'SELECT deep(' . ($depth + $step) . ", 'SELECT 1')", extra_params => [ '-U', 'analyst', '-v', 'SHOW_CONTEXT=never' ]);

	$depth += $step if $rc == 0;
}
cmp_ok($depth, '>', 100, "a function may call itself $depth times");

# ---- queries ----

$columns{text} = [ @{ $columns{text} }, 'long' ];

# Aggregates whose values the differential machine does not compare.  That a mean
# is NULL says that its released count is not positive, which noise decides.
sub more_aggregates
{
	my $kind = rand;
	my $filter = rand() < 0.3 ? ' FILTER (WHERE ' . condition() . ')' : '';
	my $x = expression(pick(qw(int2 int4 int8 float8 numeric)));
	my $v = expression(pick(qw(int4 text date uuid bool)));

	return "coalesce(dp_avg($x, -100, 100)$filter, 0)" if $kind < 0.2;
	return "coalesce(dp_variance($x, -10, 10)$filter, 0)" if $kind < 0.3;
	return 'coalesce(dp_' . pick(qw(corr covar_samp regr_slope)) . "($x, " . expression(pick(qw(int4 float8))) . ", -10, 10, -1, 100)$filter, 0)" if $kind < 0.35;
	return "dp_bounds($x)$filter IS NULL OR true" if $kind < 0.4;
	return "dp_median($x, -10, 10)$filter" if $kind < 0.5;
	return "dp_quantile($x, 0.9, -10, 10)$filter" if $kind < 0.6;
	return "dp_argmax($v, ARRAY[$v, NULL])$filter IS NULL" if $kind < 0.65;
	$x = expression('int4');
	return "dp_argmax($x, ARRAY[1, 2, 7])$filter IS NULL" if $kind < 0.8;
	return "dp_count(DISTINCT $v)$filter";
}

# The same with other constants, n times: what one takes adds up.
sub varied
{
	my ($text, $n) = @_;

	return map { $text =~ s/'[^']*'::(\w+)/"'" . pick(@{ $literals{$1} }) . "'::$1"/ger =~ s/AT TIME ZONE '[^']*'/"AT TIME ZONE 'AAB" . int(rand 168) . ':' . int(rand 60) . "'"/ger } 1 .. $n;
}

# Many of one thing, and half of the time for the unit alone.
sub many
{
	my $kind = rand;
	my $x = expression(pick(qw(int2 int4 int8)));
	my @pairs = map { my $n = $_; map { "\$c\$$_ = $n\$c\$" } "k = $n AND i", "s = $n AND l", "i = $n AND l", "id = $n AND s", "id = $n AND l" } 0 .. 30 + int rand 220;

	my $condition = rand() < 0.5 ? condition() : special(pick(qw(timestamp timestamp timestamptz text numeric))) . ' IS NULL';

	return 'SELECT dp_count(*) FROM person WHERE ' . join(' + ', map { "($_)::int4" } varied("($condition) IS NULL", 150)) . ' < 7' if $kind < 0.4;
	return 'SELECT ' . join(', ', varied("dp_median($x + '1'::int4, 0, 131071)", 5 + int rand 25)) . ' FROM person' if $kind < 0.5;
	return 'SELECT ' . join(', ', varied("dp_histogram($x + '1'::int4, 0, 10000, 10000) IS NULL", 5 + int rand 45)) . ' FROM person' if $kind < 0.6;
	return 'SELECT ' . join(', ', varied((more_aggregates())[0], 30)) . ' FROM person' if $kind < 0.75;
	return 'SELECT dp_argmax(\'person\', ARRAY[' . join(', ', @pairs) . ']) IS NULL' if $kind < 0.9;
	return 'SELECT k, ' . join(', ', varied((more_aggregates())[0], 10)) . ' FROM person GROUP BY k';
}

sub block_of
{
	my $block = block(rand() < 0.4)->[0];

	if (rand() < 0.4)
	{
		my @more = map { more_aggregates() } 0 .. int rand 3;

		$block =~ s/dp_count\(\*\) AS n/'dp_count(*) AS n, ' . join(', ', @more)/e;
	}
	$block = 'SELECT dp_argmax(\'person\', ARRAY[' . join(', ', map { '$c$' . condition() . '$c$' } 0 .. int rand 5) . ']) IS NULL' if rand() < 0.08;
	$block = many() if rand() < 0.3;
	return $block;
}

# A statement, or several: settings before, what is asked, and of what EXPLAIN is.
sub statement
{
	my ($number) = @_;
	my ($asked, $settings, $explained);

	srand($seed * 1000003 + $number);
	$FuzzQuery::depth = 1 + int rand 4;
	$settings = adverse_settings();
	$asked = rand() < 0.5 ? block_of() : other_shape();
	$asked =~ s/\bperson\b/one/g if rand() < 0.5 && $asked !~ /\bvisit\b|\bwho\b/;
	$settings .= "$1\n" while $asked =~ s/^(SET [^\n]*)\n//;
	$explained = (split /;\n/, $asked)[-1] if $asked !~ /\\gset|^PREPARE/;
	if (defined $explained && rand() < 0.1)
	{
		my $from = int(rand 6) - 2;

		$settings .= "SET jit = off;\n";	# compiled at each depth anew
		$asked = "\\set SHOW_CONTEXT never\n" . join(";\n", map { 'SELECT deep(' . ($depth - $from - $_) . ", \$deep\$$explained\$deep\$)" } 1 .. DEEP) . ";\n\\set SHOW_CONTEXT errors";
	}
	return { settings => $settings, asked => $asked, explained => $explained, deep => $asked =~ /\bdeep\(/ };
}

# ---- what there is to see ----

# Numbers that are released are no difference.
sub shape
{
	my ($text) = @_;

	return join "\n", grep { !/Budget/ } split /\n/, $text =~ s/^psql:\S* //gmr =~ s/-?\b(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|infinity)\b/#/gir;
}

# 18 has no column parent.
my $look = q{SELECT coalesce(to_jsonb(m) ->> 'parent', '') || '/' || name || ':' || coalesce(ident, ''), sum(used_bytes), count(*) FROM pg_backend_memory_contexts AS m WHERE name !~ 'MdSmgr|TopMemoryContext|PgStat Pending' AND to_jsonb(m) ->> 'parent' IS DISTINCT FROM 'PortalContext' GROUP BY 1 ORDER BY 1};

# Bytes that were written, to WAL and in files, since \gset; the lines of the
# ledger and of the list of sessions; plans and locks.
my $mark = q{SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal, pg_database_size(current_database()) AS size, pg_tablespace_size('pg_default') AS disk, (SELECT coalesce(max(id), 0) FROM dp_pg.ledger) AS line \gset};
my $counters = q{SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') - :wal;
SELECT pg_database_size(current_database()) - :size, pg_tablespace_size('pg_default') - :disk;
SELECT to_jsonb(l) - '{id, at}'::text[] FROM dp_pg.ledger AS l WHERE id > :line ORDER BY id;
SELECT kind, state, asked, questions_left, bytes_left, reason, method, numeric_answers, confidence, epsilon, delta FROM dp_pg.sessions WHERE session > :line ORDER BY session;
SELECT name, generic_plans, custom_plans FROM pg_prepared_statements;
SELECT locktype, relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() ORDER BY 1, 2, 3;};

# By how much a statement changed the contexts of memory, given what a look
# printed before and after.
sub changed
{
	my ($before, $after) = map { { map { /^(.*)\|(\d+)\|\d+$/ ? ($1 => $2) : () } split /\n/, $_ } } @_;
	my @changes;

	foreach my $context (sort keys %{ { %$before, %$after } })
	{
		my $more = ($after->{$context} // 0) - ($before->{$context} // 0);

		push @changes, "$context: $more" if $more != 0;
	}
	return join "\n", @changes;
}

# Of each statement, by name, what is seen.  It has a reader that has done nothing
# but another count.
sub observe
{
	my ($database, @statements) = @_;
	my $base = PostgreSQL::Test::Utils::tempdir() . "/$database";
	my $connection = $node->connstr($database) . ' user=analyst';
	my $script = "SELECT dp_count(*) AS first FROM person;\n$look;\n";
	my @seen;

	foreach my $statement (@statements)
	{
		my ($settings, $asked, $explained) = @$statement{qw(settings asked explained)};
		my $plain = "RESET ALL;\nSET dp_pg.epsilon = '0.01';\n";

		$explained = defined $explained ? "EXPLAIN (ANALYZE, BUFFERS, WAL, VERBOSE, SETTINGS, TIMING off, SUMMARY off) $explained;\n" : '';
		$script .= "\\echo =first\nSELECT fresh_reader();\n${plain}SELECT dp_count(*) AS first FROM person WHERE id < 0;\nSELECT forget_workers();\n";
		$script .= "\\echo =memory\n$look;\n$mark\n$settings\\echo =answer\n\\warn =answer\n$asked;\n";
		$script .= "\\echo =counters\n\\warn =counters\n$plain$counters\n\\echo =peak\nSELECT reader_peak();\nSELECT worker_peak();\n";
		$script .= "$settings\\echo =explain\n\\warn =explain\n$explained\\warn =rest\n$plain\\echo =memory\n$look;\n";
	}
	unlink "$base.sql";
	append_to_file("$base.sql", $script);
	system("psql -XAtq -d \"$connection\" -f $base.sql >$base.out 2>$base.err");
	my @out = split /^=(?:first|answer|counters|peak|explain|memory)\n/m, slurp_file("$base.out"), -1;
	my @err = split /^=(?:answer|counters|explain|rest)\n/m, slurp_file("$base.err"), -1;

	die "psql ended early: $err[-1]" if @out != 7 * @statements + 1;
	foreach my $i (0 .. $#statements)
	{
		my ($before, $answer, $written, $peaks, $explained, $after) = @out[ 7 * $i + 2 .. 7 * $i + 7 ];
		my ($wal, $counters) = split /\n/, $written, 2;
		my ($peak, $worker) = split /\n/, $peaks;

		push @seen, {
			answer => shape($answer), messages => shape($err[ 4 * $i + 1 ]), explained => shape($err[ 4 * $i + 3 ]),
			explain => (join "\n", grep { !/Budget/ } split /\n/, $explained =~ s/stored \d+ \w+ ago/stored/gr),
			counters => $counters, memory => changed($before, $after), wal => $wal, peak => $peak, worker => $worker || 0 };
	}
	return @seen;
}

# Numbers that are alike are not the same.
my %step = (peak => STEP, worker => STEP, wal => WAL_STEP);

# Names of what differs between two sightings of a statement.
sub differing
{
	my ($a, $b) = @_;

	return grep { exists $step{$_} ? abs($a->{$_} - $b->{$_}) >= $step{$_} : $a->{$_} ne $b->{$_} } sort keys %$a;
}

# ---- the machine ----

my ($asked, $suspects, $refused, $found, $shared, $deep, $too_deep) = (0) x 7;

# Is it so every time, and by itself?  Then by what.
sub confirmed
{
	my ($statement) = @_;
	my %times;

	$suspects++;
	foreach my $time (1 .. AGAIN)
	{
		my @seen = map { observe($_, $statement) } $time % 2 ? @databases : reverse @databases;

		$times{$_}++ foreach differing(@seen);
		return () if !grep { $_ == $time } values %times;
	}
	return grep { $times{$_} == AGAIN } sort keys %times;
}

my $number = 0;
while ($number < $wanted && $found < $most)
{
	my @numbers = defined $only ? ($only) : ($number + 1 .. min($number + BATCH, $wanted));
	my @statements = map { statement($_) } @numbers;
	my $batch = int(($numbers[0] - 1) / BATCH);

	value($node, "DELETE FROM bill WHERE of_visit / 1000 = $unit; DELETE FROM visit WHERE who = $unit; DELETE FROM person WHERE id = $unit", 'second');
	value($node, 'SET SESSION AUTHORIZATION owner; ' . insert_unit($batch % 12) . '; ' . unit_rows($unit, $batch), 'second');
	value($node, 'VACUUM (FREEZE, ANALYZE) person, visit, bill', $_) foreach @databases;
	my ($first, $second) = map { [ observe($_, @statements) ] } @databases;

	foreach my $i (0 .. $#statements)
	{
		my @differ = differing($first->[$i], $second->[$i]);

		$asked++;
		$refused++ if $first->[$i]{messages} =~ /ERROR/ && !$statements[$i]{deep};
		$shared++ if $first->[$i]{worker};
		$deep++ if $statements[$i]{deep};
		$too_deep++ if $first->[$i]{messages} =~ /stack depth/;
		next if !@differ || $found >= $most;
		note("$numbers[$i]: @differ");
		@differ = confirmed($statements[$i]);
		next if !@differ;
		$found++;
		diag("@differ: FUZZ_SEED=$seed FUZZ_NUMBER=$numbers[$i] make fuzz\n  $statements[$i]{settings}$statements[$i]{asked}");
		diag("  $_: $first->[$i]{$_}\n  $_: $second->[$i]{$_}") foreach @differ;
	}
	pass("queries up to $numbers[-1] have ended");
	$number = defined $only ? $wanted : $numbers[-1];
}
is($found, 0, "neighbours look alike: $asked queries, $refused refused, $suspects asked again");
if (!defined $only && $asked >= 300)
{
	cmp_ok($refused, '<', 0.4 * $asked, 'most are answered');
	cmp_ok($shared, '>', 0.03 * $asked, "$shared have parallel workers");
	cmp_ok($too_deep, '>', 0.1 * $deep, "of $deep from a deep stack $too_deep were too deep");
}

# It would be seen, by each thing: of an own table that differs.
value($node, "SET SESSION AUTHORIZATION analyst; CREATE TABLE mine AS SELECT i FROM generate_series(1, 5000) AS i WHERE current_database() = 'second'", $_) foreach @databases;
my @seen = map { observe($_, map { { settings => '', asked => $_, explained => $_ } } 'WITH w AS (SELECT i FROM mine) SELECT dp_count(*), dp_median(i, 0, 10), (SELECT count(1 / (i - 1)) FROM w) FROM person',
		'SELECT * FROM mine', 'CREATE TABLE copied AS TABLE mine', "PREPARE p AS SELECT '" . ($_ eq 'second' ? 'x' x 20000 : 'x') . "'") } @databases;
like("@{[ differing(@seen[ 0, 4 ]) ]}", qr/messages/, 'an error is seen');
like("@{[ differing(@seen[ 1, 5 ]) ]}", qr/answer explain/, 'rows and EXPLAIN are seen');
like("@{[ differing(@seen[ 2, 6 ]) ]}", qr/counters/, 'pages written are seen');
like("@{[ differing(@seen[ 3, 7 ]) ]}", qr/memory/, 'memory is seen');

$node->stop;
done_testing();
