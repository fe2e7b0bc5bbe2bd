# Random private queries on two databases that differ in one unit.  All that an
# analyst can see of a query except released numbers must be the same: errors,
# SQLSTATEs and texts, the number of rows of an answer and the order of their keys,
# EXPLAIN (ANALYZE, BUFFERS, WAL), what is written to WAL, files, ledger and list of
# sessions, what every statistics view counts, temporary files, locks of all
# processes, plans, libraries and caches that it leaves, its connection's memory
# (every context, which the analyst may see here), and the most memory that
# connection, reader and the reader's workers ever had.  Another connection of the
# same role looks at states, wait events and locks meanwhile.
#
# Every second batch of queries runs in databases that dp_harden() has closed.  The
# same is compared there, whatever the analyst's rights: what differs on a server
# that is not hardened, as doc/threat_model.md states, is listed in FuzzSight.pm,
# and must be closed.
#
# The unit has extreme values, or none, long ones out of line, and from none to very
# many rows where a unit may have them; half of the queries see no other unit.  Half
# of them are asked under settings that an attacker might choose, and some where a
# function has called itself until the stack has hardly room for them.  A query that
# differs is repeated alone, up to eight times, and reported if some item differs
# each time: what other processes do by chance, they do in both databases.
#
# FUZZ_NEIGHBOURS queries (300) from FUZZ_SEED (1), until FUZZ_FINDINGS (10) of them
# differ.  A failure prints the command that reproduces it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(log_mark test_library);
use FuzzNode;
use FuzzQuery;
use FuzzShapes;
use FuzzSight;
use LedgerNode;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BATCH => 25;
use constant AGAIN => 8;
use constant STEP => 128;	# a heap grows by at least so much, in kB
use constant WAL_STEP => 128;	# bytes; sums in the ledger take a few more or less
use constant PAGES_STEP => 8;	# pages; files grow now and then
use constant DEEP => 5;			# calls of one query from as many depths

my $seed = $ENV{FUZZ_SEED} || 1;
my $wanted = $ENV{FUZZ_NEIGHBOURS} || 300;
my $only = $ENV{FUZZ_NUMBER};
my $most = $ENV{FUZZ_FINDINGS} || 10;
my $node = fuzz_node('neighbours');
my @beside = split /,/, $ENV{FUZZ_BESIDE} // '';
my $libraries = join ', ', @beside, 'dp_pg', map { test_library($_) } qw(process_peak worker_watch);
my @pairs = ([ 'first', 'second' ], [ 'first_closed', 'second_closed' ]);
my @databases = map { @$_ } @pairs;
my $unit = 401;

use_functions(admitted($node));
$node->append_conf('postgresql.conf', <<"EOT");
shared_preload_libraries = '$libraries'
dp_pg.worker_idle = '10min'
bgwriter_lru_maxpages = 0
bgwriter_delay = '10ms'
checkpoint_timeout = 1d
track_functions = all
log_temp_files = 0
EOT
$node->append_conf('postgresql.conf', <<'EOT') if @beside;
pg_qualstats.sample_rate = 1
pg_stat_statements.track = all
pg_stat_statements.track_planning = on
pgaudit.log = 'all'
EOT
$node->restart;
value($node, "CREATE EXTENSION $_") foreach @beside;

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
cmp_ok(make_sight($node, @beside), '>', 10, 'there are views of statistics');
value($node, 'GRANT SELECT ON pg_backend_memory_contexts TO analyst; GRANT EXECUTE ON FUNCTION pg_get_backend_memory_contexts() TO analyst');
value($node, <<'EOT');
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
	value($node, 'DO $$ BEGIN PERFORM FROM dp_harden(); END $$', $database) if $database =~ /closed/;
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
	return { settings => $settings, asked => $asked, explained => $explained, deep => scalar($asked =~ /\bdeep\(/) };
}

# ---- what there is to see ----

# Numbers that are released are no difference, and neither are seconds; an SQLSTATE
# is none of them, nor are the keys that a line begins with.
sub shape
{
	my ($text, $keyed) = @_;
	my @lines = grep { !/Budget/ } split /\n/, $text =~ s/^psql:\S* //gmr =~ s/^([A-Z]+:  )(\w{5}): /$1state_$2: /gmr;

	return join "\n", map {
		my $key = $keyed && s/^([^|]*)\|// ? "$1|" : '';

		$key . s/-?\b(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?s?|infinity)\b/#/gir
	} @lines;
}

# Does a line of the answer begin with a key?
sub is_keyed
{
	my ($asked) = @_;

	return $asked =~ /^SELECT k, /m || $asked =~ /\ASELECT (.+?)(?: AS key)?, .*GROUP BY \1\z/s;
}

# 18 has no column parent.
my $look = q{SELECT coalesce(to_jsonb(m) ->> 'parent', '') || '/' || name || ':' || coalesce(ident, ''), sum(used_bytes), count(*) FROM pg_backend_memory_contexts AS m WHERE name !~ 'MdSmgr|TopMemoryContext|PgStat' AND to_jsonb(m) ->> 'parent' IS DISTINCT FROM 'PortalContext' GROUP BY 1 ORDER BY 1};

# Bytes that were written, to WAL and in files, since \gset; the lines of the
# ledger and of the list of sessions; plans, locks and processes.
my $mark = q{SELECT wal, size, disk, (SELECT coalesce(max(id), 0) FROM dp_pg.ledger) AS line, peak(pg_backend_pid()) AS peak FROM positions() \gset};
my $counters = q{SELECT wal - :wal FROM positions();
SELECT size - :size, disk - :disk FROM positions();
SELECT to_jsonb(l) - '{id, at}'::text[] FROM dp_pg.ledger AS l WHERE id > :line ORDER BY id;
SELECT kind, state, asked, questions_left, bytes_left, reason, method, numeric_answers, confidence, epsilon, delta FROM dp_pg.sessions WHERE session > :line ORDER BY session;
SELECT name, generic_plans, custom_plans FROM pg_prepared_statements;
SELECT locktype, relation::regclass, mode, pid = pg_backend_pid() FROM pg_locks WHERE pid NOT IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'watcher') ORDER BY 1, 2, 3, 4;
SELECT application_name, backend_type, state, wait_event_type, wait_event, count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'watcher' AND pid <> pg_backend_pid() GROUP BY 1, 2, 3, 4, 5 ORDER BY 1;};

# What another plan finds in the session's caches, and so does not look up.
my $caches = q{EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off) SELECT obj_description('pg_class'::regclass), pg_get_viewdef('pg_views'::regclass) IS NULL, 'sad'::mood < 'odd'::mood, enum_range(NULL::mood), upper('x' COLLATE "C"), '1 day'::interval < '2 days', now() AT TIME ZONE 'AAB3:10';};
my $statistics = 'SELECT * FROM statistics()';

# Once the readers have told what they counted, and the writer of pages.
my $count = "SELECT end_readers(), pg_stat_force_next_flush(), pg_sleep(0.03);\n\\echo =statistics\n$statistics;\n";

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

# Of each statement, by name, what is seen.  It has a connection of its own, and a
# reader that has done nothing but another count.
sub observe
{
	my ($database, @statements) = @_;
	my $base = PostgreSQL::Test::Utils::tempdir() . "/$database";
	my $connection = $node->connstr($database) . ' user=analyst';
	my $log = log_mark($node);
	my $script = "SET application_name = 'asker idle';\n\\set VERBOSITY verbose\n$count";
	my @seen;

	foreach my $i (0 .. $#statements)
	{
		my ($settings, $asked, $explained) = @{ $statements[$i] }{qw(settings asked explained)};
		my $plain = "RESET ALL;\nSET dp_pg.epsilon = '0.01';\nSET application_name = 'asker idle';\n";

		$explained = defined $explained ? "EXPLAIN (ANALYZE, BUFFERS, WAL, VERBOSE, SETTINGS, TIMING off, SUMMARY off) $explained;\n" : '';
		$script .= "\\connect\n\\echo =first\n$plain$look;\nSELECT dp_count(*) AS first FROM person WHERE id < 0;\nSELECT begin_statement($i);\n";
		$script .= "\\echo =before\n$look;\n$mark\nSET application_name = 'asker $i';\n$settings\\echo =answer\n\\warn =answer\n$asked;\n";
		$script .= "\\echo =counters\n\\warn =counters\n$plain$counters\n\\echo =caches\n$caches\n\\echo =peaks\nSELECT peak(pg_backend_pid()) - :peak, reader_peak();\nSELECT * FROM worker_peaks();\n";
		$script .= "\\echo =libraries\nSELECT * FROM libraries();\n\\echo =locks\nSELECT * FROM worker_locks();\n";
		$script .= "$settings\\echo =explain\n\\warn =explain\n$explained\\warn =rest\n$plain\\echo =memory\n$look;\n$count";
	}
	$script .= "SET application_name = 'asker end';\nSELECT pg_sleep(0.1);\n";
	unlink "$base.sql";
	append_to_file("$base.sql", $script);
	my $watch = start_watch($connection);
	system("psql -XAtq -d \"$connection\" -f $base.sql >$base.out 2>$base.err");
	my ($counted, @out) = split /^=first\n/m, slurp_file("$base.out"), -1;
	my @err = split /^=(?:answer|counters|explain|rest)\n/m, slurp_file("$base.err"), -1;
	my $watched = end_watch($watch);
	my $files = temporary_files($node, $log);

	die "psql ended early: $err[-1]" if @out != @statements || $out[-1] !~ /^=statistics\n/m;
	foreach my $i (0 .. $#statements)
	{
		my (undef, %part) = split /^=(\w+)\n/m, $out[$i], -1;
		my ($wal, $counters) = split /\n/, $part{counters}, 2;
		my ($peaks, @workers) = split /\n/, $part{peaks};
		my ($own, $reader) = split /\|/, $peaks;
		my ($told, $pages, $statistics) = told_apart($statements[$i]{asked}, changed($counted, $part{statistics}));

		$counted = $part{statistics};
		push @seen, {
			answer => shape($part{answer}, is_keyed($statements[$i]{asked})), messages => shape($err[ 4 * $i + 1 ]), explained => shape($err[ 4 * $i + 3 ]),
			explain => (join "\n", grep { !/Budget/ } split /\n/, $part{explain} =~ s/stored \d+ \w+ ago/stored/gr),
			counters => $counters, memory => changed(@part{qw(before memory)}), wal => $wal, own => $own, peak => $reader, worker => max(0, @workers), workers => scalar @workers,
			caches => $part{caches}, libraries => $part{libraries}, locks => $part{locks}, statistics => $statistics, pages => $pages, told => $told, files => $files->{$i} // 'none', watched => $watched->{$i} // {} };
	}
	return @seen;
}

# Numbers that are alike are not the same.
my %step = (own => STEP, peak => STEP, worker => STEP, wal => WAL_STEP, pages => PAGES_STEP);

# Is a thing the same in two sightings?
sub is_alike
{
	my ($thing, @seen) = @_;
	my ($a, $b) = map { $_->{$thing} } @seen;

	return watched_alike($a, $b) if $thing eq 'watched';
	return exists $step{$thing} ? abs($a - $b) < $step{$thing} : $a eq $b;
}

# Names of what differs between two sightings of a statement.
sub differing
{
	my ($a, $b) = @_;

	return grep { $_ ne 'told' && !is_alike($_, $a, $b) } sort keys %$a;
}

# ---- the machine ----

my ($asked, $suspects, $refused, $found, $shared, $deep, $too_deep, $keyed, $told) = (0) x 9;

# Is there a thing that is never the same, when it is asked by itself?  Then by
# name what was seen of it.
sub confirmed
{
	my ($statement, @pair) = @_;
	my (%seen, @left);

	$suspects++;
	foreach my $time (1 .. AGAIN)
	{
		push @{ $seen{$_} }, observe($_, $statement) foreach $time % 2 ? @pair : reverse @pair;
		my ($first, $second) = @seen{@pair};

		@left = $time == 1 ? differing($first->[0], $second->[0]) : @left;
		@left = grep { my $thing = $_; !grep { my $a = $_; grep { is_alike($thing, $a, $_) } @$second } @$first } @left;
		return () if !@left;
	}
	return map { my $thing = $_; $thing => [ apart(map { $seen{$_}[-1]{$thing} } @pair) ] } @left;
}

my $number = 0;
while ($number < $wanted && $found < $most)
{
	my @numbers = defined $only ? ($only) : ($number + 1 .. min($number + BATCH, $wanted));
	my @statements = map { statement($_) } @numbers;
	my $batch = int(($numbers[0] - 1) / BATCH);

	my @pair = @{ $pairs[ ($batch + int($batch / 12)) % @pairs ] };	# of 12 units, with each

	value($node, "DELETE FROM bill WHERE of_visit / 1000 = $unit; DELETE FROM visit WHERE who = $unit; DELETE FROM person WHERE id = $unit", $pair[1]);
	value($node, 'SET SESSION AUTHORIZATION owner; ' . insert_unit($batch % 12) . '; ' . unit_rows($unit, $batch), $pair[1]);
	value($node, 'VACUUM (FREEZE, ANALYZE) person, visit, bill', $_) foreach @pair;
	my ($first, $second) = map { [ observe($_, @statements) ] } @pair;

	foreach my $i (0 .. $#statements)
	{
		my @differ = differing($first->[$i], $second->[$i]);

		$asked++;
		$refused++ if $first->[$i]{messages} =~ /ERROR/ && !$statements[$i]{deep};
		$shared++ if $first->[$i]{worker};
		$deep++ if $statements[$i]{deep};
		$too_deep++ if $first->[$i]{messages} =~ /stack depth/;
		$keyed++ if is_keyed($statements[$i]{asked});
		$told++ if $first->[$i]{told} ne $second->[$i]{told};
		next if !@differ || $found >= $most;
		note("$numbers[$i]: " . join ', ', map { "$_ (" . join(' / ', apart($first->[$i]{$_}, $second->[$i]{$_})) . ')' } @differ) if $ENV{FUZZ_VERBOSE};
		my %differ = confirmed($statements[$i], @pair);
		next if !%differ;
		$found++;
		diag(join(' ', sort keys %differ) . ": FUZZ_SEED=$seed FUZZ_NUMBER=$numbers[$i] make fuzz\n  $statements[$i]{settings}$statements[$i]{asked}");
		diag("  $_: $differ{$_}[0]\n  $_: $differ{$_}[1]") foreach sort keys %differ;
	}
	pass("queries up to $numbers[-1] have ended");
	$number = defined $only ? $wanted : $numbers[-1];
}
is($found, 0, "neighbours look alike: $asked queries, $refused refused, $suspects asked again, $told differ in what is told");
if (!defined $only && $seed == 1 && $asked >= 300)
{
	cmp_ok($refused, '<', 0.4 * $asked, 'most are answered');
	cmp_ok($keyed, '>', 0.1 * $asked, "$keyed have keys");
	cmp_ok($shared, '>', 0.03 * $asked, "$shared have parallel workers");
	cmp_ok($too_deep, '>', 0.1 * $deep, "of $deep from a deep stack $too_deep were too deep");
}

# What differs where nothing is closed cannot be read where it is, or is unknown
# there: then each counter is NULL.
foreach my $relation (map { $_->[0] } @told)
{
	my $state = sqlstate($node, 'analyst', "SELECT * FROM $relation", $pairs[1][0]);

	if ($state eq '')
	{
		is(value($node, "SET SESSION AUTHORIZATION analyst; SELECT string_agg(DISTINCT c.key, ' ') FROM $relation AS r, jsonb_each_text(to_jsonb(r)) AS c"
			  . " WHERE c.value IS NOT NULL AND c.key ~ '^(seq|idx|n|last|heap|toast|tidx|blks?|tup|xact|temp|(auto)?(vacuum|analyze))_'", $pairs[1][0]), '', "unknown: $relation");
		next;
	}
	is($state, value($node, "SELECT to_regclass('$relation') IS NULL") eq 't' ? '42P01' : '42501', "closed: $relation");
}

# It would be seen, by each thing: of an own table that differs.
value($node, "SET SESSION AUTHORIZATION analyst; CREATE TABLE mine AS SELECT i FROM generate_series(1, 5000) AS i WHERE current_database() = 'second'; CREATE FUNCTION mine() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN current_database(); END'; ANALYZE mine", $_) foreach @{ $pairs[0] };
my @own = (
	[ messages => q{WITH w AS (SELECT i FROM mine) SELECT dp_count(*), dp_median(i, 0, 10), (SELECT count(1 / (i - 1)) FROM w) FROM person} ],
	[ 'answer explain' => 'SELECT * FROM mine' ],
	[ counters => 'CREATE TABLE copied AS TABLE mine' ],
	[ memory => sub { "PREPARE p AS SELECT '" . ($_[0] eq 'second' ? 'x' x 20000 : 'x') . "'" } ],
	[ messages => q{DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = CASE current_database() WHEN 'first' THEN 'P0001' ELSE '12345' END; END $$} ],
	[ answer => q{SELECT k, dp_count(*) IS NULL FROM person GROUP BY k ORDER BY k * CASE current_database() WHEN 'first' THEN 1 ELSE -1 END} ],
	[ statistics => 'SELECT count(mine()) FROM mine' ],
	[ files => q{SELECT count(*) FROM (SELECT a.i FROM mine AS a, generate_series(1, 20) ORDER BY a.i + 1) AS q} ],
	[ libraries => q{SELECT to_tsvector('english', current_database()) WHERE current_database() = 'second'} ],
	[ caches => q{DO $$ BEGIN IF current_database() = 'second' THEN PERFORM pg_get_viewdef('pg_views'::regclass); END IF; END $$} ],
	[ watched => q{SELECT pg_sleep(0.5) WHERE current_database() = 'second'} ],
	[ own => q{SELECT length(repeat('x', 30000000 * (current_database() = 'second')::int))} ]);
foreach my $own (@own)
{
	my ($things, $asked) = @$own;
	my @seen = map { observe($_, { settings => '', asked => ref $asked ? $asked->($_) : $asked, explained => 'SELECT * FROM mine' }) } @{ $pairs[0] };
	my @differ = differing(@seen);

	foreach my $thing (split / /, $things)
	{
		ok((grep { $_ eq $thing } @differ), "seen: $thing") or diag("@differ: " . join ' / ', apart(map { $_->{$thing} } @seen));
	}
}

$node->stop;
done_testing();
