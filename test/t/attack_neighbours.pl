# Two neighbouring databases, and everything that an analyst can see.  The same
# private queries are run in both, and before and after them every relation and
# function of doc/threat_model.md is read that can be read repeatedly: their results
# must change in the same way, and messages, EXPLAIN and the shape of answers must
# be the same.  The databases differ in one unit, with a long value out of line and
# extremes, in a table of 3000 rows, in one of 3000 groups, and in one that is empty
# without it.
#
# Other processes also count and write at any time.  So each item is compared as a
# set over some rounds: a leak of one row separates the sets in every round, and a
# false alarm needs an item that by chance differs in all of eight rounds.  On a busy
# machine some rows of counters, of WAL syncs and of all that a database read, are
# others in most rounds: then one of the counters must be greater in all rounds of
# one database, which is so by chance once in 6000 times.  No compared item depends
# on noise: questions about thresholds are a million rows away from the answer.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node);
use LedgerNode;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant ROUNDS => 8;

# Readers leave soon: what they count for the whole server they tell then.
my $node = attack_node('attack_neighbours', <<'EOT');
dp_pg.worker_idle = 300ms
dp_pg.workers = 0
max_connections = 40
jit = off
bgwriter_lru_maxpages = 0
wal_writer_delay = 10s
checkpoint_timeout = 1h
EOT

# ---- two databases ----

my @tables = qw(patient visit rare);

sub declared
{
	my ($table) = @_;

	return <<"EOT";
SELECT dp_protect('$table', unit => 'id', dataset => 'clinic');
SELECT dp_declare('$table', 'age', lower => 0, upper => 120);
SELECT dp_declare('$table', 'cost', lower => 0, upper => 100);
SELECT dp_declare('$table', 'name', keys => ARRAY['a', 'b', 'n7'], other => 'other');
SELECT dp_declare('$table', 'at', lower => '2025-01-01 00:00+00'::timestamptz, upper => '2026-01-01 00:00+00'::timestamptz);
EOT
}

value($node, 'ALTER ROLE analyst SET dp_pg.epsilon = 0.01');
value($node, 'CREATE DATABASE first');
value($node, <<'EOT' . join('', map { declared($_) } @tables), 'first');
CREATE EXTENSION dp_pg;
GRANT CREATE ON SCHEMA public TO owner, analyst;
SET SESSION AUTHORIZATION owner;
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE patient (id int PRIMARY KEY, age int, name text, doc text, cost numeric, at timestamptz, state mood);
ALTER TABLE patient ALTER doc SET STORAGE EXTERNAL;
CREATE INDEX ON patient (age);
CREATE TABLE visit (LIKE patient INCLUDING ALL);
CREATE TABLE rare (LIKE patient INCLUDING ALL);
INSERT INTO patient SELECT i, i % 100, chr(97 + i % 3), CASE WHEN i % 50 = 0 THEN repeat(md5(i::text), 200) ELSE 'x' END,
	i % 70, '2025-01-01 00:00+00'::timestamptz + i * interval '1 hour', CASE WHEN i % 2 = 0 THEN 'low' ELSE 'high' END::mood
FROM generate_series(1, 3000) i;
INSERT INTO visit SELECT i, i, 'n' || i, NULL, i, NULL, 'low' FROM generate_series(1, 3000) i;
EOT
value($node, <<'EOT', 'first');
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('analyst', dataset => 'clinic', epsilon => 1e9, delta => 1e-6);
EOT

# What the analyst looks with: probes, queries whose rows are a key and counters.
value($node, <<'EOT', 'first');
SET SESSION AUTHORIZATION analyst;
CREATE TABLE mine AS SELECT i FROM generate_series(1, 10) i;
CREATE TABLE probe (name text, query text);
CREATE VIEW object AS
	SELECT c.oid, c.oid::regclass AS object FROM pg_class c
	WHERE c.relname ~ '^(patient|visit|rare)' OR c.relnamespace = 'dp_pg'::regnamespace
		OR c.oid IN (SELECT t.reltoastrelid FROM pg_class t WHERE t.relname IN ('patient', 'visit', 'rare'))
		OR c.oid IN (SELECT i.indexrelid FROM pg_class t JOIN pg_index i ON i.indrelid = t.reltoastrelid WHERE t.relname IN ('patient', 'visit', 'rare'));
CREATE FUNCTION look(query text) RETURNS TABLE (key text, counters text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE query;
EXCEPTION WHEN OTHERS THEN
	RETURN QUERY SELECT SQLSTATE || ' ' || SQLERRM, '[]';
END $$;
EOT

# Names and columns with nothing to compare: times, identities of processes,
# transactions and databases; answers.
my $no_column = '(_time|_age|^pid|_pid|^datid|^datname|^virtual\w*|^transactionid|^database|^answer|^guess)$';
my %probe;

# One probe for each relation, of the columns that the analyst may read.
foreach (split /\n/, value($node, <<"EOT", 'first'))
SELECT c.oid::regclass || ';'
	|| coalesce(string_agg(format('t.%I::text', a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE NOT counts), '') || ';'
	|| coalesce(string_agg(format('t.%I', a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE counts), '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,
	LATERAL (SELECT a.atttypid IN ('int8'::regtype, 'float8'::regtype, 'numeric'::regtype, 'pg_lsn'::regtype, 'float4'::regtype)
		OR a.attname = 'numbackends' AS counts) AS x
WHERE c.relkind IN ('r', 'v') AND c.relnamespace::regnamespace::text IN ('pg_catalog', 'dp_pg')
	AND has_column_privilege('analyst', c.oid, a.attnum, 'SELECT')
	AND a.atttypid NOT IN ('timestamptz'::regtype, 'interval'::regtype, 'xid'::regtype, 'xid8'::regtype) AND a.attname !~ '$no_column'
	-- installed files; and statistics, of which there are more where an empty
	-- table is none (t/threat_model.pl tells what they show)
	AND c.relname !~ '^pg_(timezone_|available_extension|stats)'
GROUP BY c.oid
EOT
{
	my ($name, $key, $counters) = split /;/, $_, -1;

	# of catalogs, which do not change, a digest
	$probe{$name} = $name =~ /^(pg_stat|pg_locks|pg_cursors|pg_prep|pg_settings|pg_seq|dp_pg)/ ?
	  "SELECT jsonb_build_array($key)::text, jsonb_build_array($counters)::text FROM $name AS t" :
	  "SELECT md5(string_agg(row, '' ORDER BY row)), '[]' FROM (SELECT ROW($key)::text || ROW($counters)::text AS row FROM $name AS t) AS r";
}
my $relations = keys %probe;
cmp_ok($relations, '>', 120, "there are relations to look at: $relations");

# One for each function that returns one value, without arguments, or by the
# OID of an object, or by the number of a process.  What functions answer more
# the relations above show.
my $no_function = '^(pg_advisory|pg_try_|pg_export|pg_sleep|pg_cancel|pg_terminate|pg_import|pg_stop_|pg_nextoid|pg_notify|pg_rotate)'
  . '|(_pid|_dbid|_time|_timestamp|_snapshot|_clear_snapshot|_next_flush|pg_current_xact_id|txid_current|pg_stat_get_backend_(start|activity_start|xact_start))$';
foreach (split /\n/, value($node, <<"EOT", 'first'))
SELECT p.proname || ';' || CASE WHEN p.pronargs > 0 THEN p.proargtypes[0]::regtype::text ELSE '' END || ';'
	|| (p.prorettype IN ('int8'::regtype, 'float8'::regtype, 'pg_lsn'::regtype))
FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND has_function_privilege('public', p.oid, 'EXECUTE')
	AND p.provolatile <> 'i' AND NOT p.proretset AND p.prorettype::regtype::text !~ '(^record|trigger|internal|handler|^void|timestamp)'
	AND p.proname ~ '^(pg_|txid_|lastval)' AND p.proname !~ '$no_function'
	AND (p.pronargs = 0 OR (p.pronargs = 1 AND p.proargtypes[0] IN ('oid'::regtype, 'int4'::regtype, 'regclass'::regtype)))
EOT
{
	my ($name, $argument, $counts) = split /;/;
	my $from = $argument eq 'oid' || $argument eq 'regclass' ? "object, $name(oid::$argument) AS f" :
	  $argument eq 'integer' ? "pg_stat_get_backend_idset() AS i, $name(i) AS f" : "$name() AS f";
	my $key = $from =~ /^object/ ? 'object::text' : "''";

	$key .= " || coalesce(f::text, '')" if $counts eq 'false';
	$probe{"$name($argument)"} = sprintf "SELECT $key, jsonb_build_array(%s)::text FROM $from", $counts eq 'true' ? 'f' : '';
}
cmp_ok(keys(%probe) - $relations, '>', 100, 'and functions: ' . (keys(%probe) - $relations));

# And those that need something else.
my $database = '(SELECT oid FROM pg_database WHERE datname = current_database())';
$probe{$_} = "SELECT '', jsonb_build_array($_)::text"
  foreach "pg_database_size($database)", "pg_tablespace_size('pg_default')",
  split /\n/, value($node, "SELECT p.proname || '($database)' FROM pg_proc p WHERE p.proname LIKE 'pg_stat_get_db_%' AND p.prorettype = 'int8'::regtype");
$probe{'forks'} = q{SELECT object || f, jsonb_build_array(pg_relation_size(oid, f))::text FROM object, unnest(ARRAY['fsm', 'vm', 'init']) AS f};
$probe{'own files'} = q{SELECT object || coalesce(pg_relation_filepath(oid) ~ '^base', false), '[]' FROM object};

# Where pages of long values are found is counted by kind of process, and so
# are pages read, which are more where there is a long value more: dp_audit()
# warns of it (doc/threat_model.md).
delete $probe{$_} foreach 'pg_stat_io', 'pg_stat_get_backend_wal(integer)';

value($node, sprintf('SET SESSION AUTHORIZATION analyst; INSERT INTO probe VALUES (%s)',
		join '), (', map { "\$q\$$_\$q\$, \$q\$$probe{$_}\$q\$" } sort keys %probe), 'first');
value($node, 'CREATE DATABASE second TEMPLATE first');
value($node, <<'EOT', 'second');
SET SESSION AUTHORIZATION owner;
INSERT INTO patient VALUES (9999, 2147483647, 'n7', repeat('y', 600000), 'NaN', 'infinity', 'high');
INSERT INTO visit VALUES (9999, -2147483648, repeat('z', 2000), repeat('y', 600000), '1e1000', '-infinity', NULL);
INSERT INTO rare VALUES (9999, 7, 'n7', repeat('y', 600000), 7, '2025-02-02', 'high');
EOT
value($node, 'VACUUM (FREEZE, ANALYZE)', $_) foreach 'first', 'second';

# ---- what is asked ----

my @queries = (
	'SELECT count(*) FROM TABLE', 'EXPLAIN SELECT * FROM TABLE WHERE id = 9999',
	q{SELECT dp_count(*) FROM TABLE WHERE CASE WHEN id = 9999 THEN doc LIKE '%00%' END},
	q{SELECT dp_count(*), dp_count(DISTINCT name), dp_count(doc) FROM TABLE WHERE state < 'high' OR id = 9999},
	'SELECT dp_sum(age), dp_avg(cost), dp_variance(age) FROM TABLE',
	'SELECT dp_sum(age) FROM TABLE WHERE id = 9999',
	'SELECT name, dp_count(*), dp_sum(cost) FROM TABLE GROUP BY name ORDER BY 1',
	'SELECT age, dp_count(*) FROM TABLE WHERE age > 100 GROUP BY age ORDER BY 1',
	'SELECT state, dp_count(*) FROM TABLE GROUP BY state ORDER BY 1',
	q{SELECT date_trunc('month', at), dp_median(cost) FROM TABLE GROUP BY 1 ORDER BY 1},
	'SELECT dp_quantile(cost, 0.9), dp_median(at) FROM TABLE',
	q{SELECT dp_histogram(age, 0, 100, 10), dp_histogram(at, 5) FROM TABLE WHERE strpos(doc, 'y') > 0},
	q{SELECT dp_histogram(length(name), 0, 100, 4) FROM TABLE WHERE upper(name) > 'N' AND name || 'x' LIKE 'n%'},
	q{SELECT dp_argmax('TABLE', ARRAY['id = 9999', 'name = ''n7''', 'length(doc) > 5']) IS NULL},
	q{SELECT * FROM dp_sparse_vector('TABLE', ARRAY['id = 9999', 'length(doc) > 5'], 1000000, 1, 0.01)},
	q{SELECT * FROM dp_sparse_vector('TABLE', ARRAY['id = 9999', 'length(doc) > 5'], -1000000, 1, 0.01)},
	q{SELECT dp_sparse_vector_open('TABLE', -1000000, 1, 0.01, 5) AS s_TABLE \gset},
	q{SELECT * FROM dp_sparse_vector_ask(:s_TABLE, 'id = 9999 AND strpos(doc, ''yy'') > 0')},
	q{EXPLAIN (ANALYZE, BUFFERS, VERBOSE, WAL, SETTINGS, TIMING off, SUMMARY off) SELECT name, dp_count(*) FROM TABLE WHERE id = 9999 GROUP BY name},
	q{EXPLAIN (ANALYZE, BUFFERS, VERBOSE, WAL, SETTINGS, TIMING off, SUMMARY off) SELECT dp_median(cost), dp_count(DISTINCT doc) FROM TABLE},
	'EXPLAIN VERBOSE SELECT * FROM mine, (SELECT age, dp_count(*) AS n FROM TABLE GROUP BY age) s WHERE n > i',
	(map { 'EXECUTE of_TABLE(9999)' } 1 .. 7),
	'DECLARE c_TABLE CURSOR WITH HOLD FOR SELECT name, dp_count(*) FROM TABLE GROUP BY name', 'FETCH 2 FROM c_TABLE');
my @asked = map { my $query = $_; map { $query =~ s/TABLE/$_/gr } @tables } @queries;

# What an answer, or a message, has besides released numbers.
sub shape
{
	my ($text) = @_;

	return join "\n", grep { !/Budget/ } split /\n/, $text =~ s/-?\b(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|infinity)\b/#/gir;
}

sub explained
{
	my ($text) = @_;

	return join "\n", grep { !/Budget|^SET/ } split /\n/, $text;
}

sub open_session
{
	my ($database) = @_;
	my $self = session($node, 'analyst', $database);

	answer($self, "PREPARE of_$_(int) AS SELECT count(*) FROM mine, (SELECT dp_count(*) AS n FROM $_ WHERE id = \$1) s WHERE n IS NOT NULL;")
	  foreach @tables;
	return $self;
}

# All probes: of each key how often it is there and its counters, added up.
sub look
{
	my ($self) = @_;
	my ($out, $err) = answer($self, q{SELECT translate(concat_ws(chr(31), p.name, l.key, l.counters), E'\n', ' ') FROM probe AS p, look(p.query) AS l;});
	my %seen;

	is($err, '', 'the analyst can look') if $err ne '';
	foreach (split /\n/, $out)
	{
		my ($name, $key, $counters) = split /\x1f/;
		my $sums = $seen{"$name $key"} ||= [0];
		my @numbers = split /, /, $counters =~ tr/[]"//dr;

		$sums->[0]++;
		foreach my $i (0 .. $#numbers)
		{
			my $n = $numbers[$i];

			$n = 0 if $n !~ m{^[-\d]|/};	# null, an infinity
			# a place in the WAL has headers of pages in it, bytes have not
			$n = int((hex($1) * 2**32 + hex($2)) / 16384) if $n =~ m{^([0-9A-F]+)/([0-9A-F]+)$};
			$sums->[ $i + 1 ] = ($sums->[ $i + 1 ] // 0) + $n;
		}
	}
	return \%seen;
}

# What changed between two looks, by key.
sub changes
{
	my ($before, $after) = @_;
	my %changes;

	foreach my $key (keys %{ { %$before, %$after } })
	{
		my @b = @{ $before->{$key} // [] };
		my @a = @{ $after->{$key} // [] };
		my @more = map { ($a[$_] // 0) - ($b[$_] // 0) } 0 .. ($#a > $#b ? $#a : $#b);

		$changes{$key} = join ' ', map { sprintf '%.10g', $_ } @more if grep { $_ != 0 } @more;
	}
	return %changes;
}

# One round in a database: everything there is to see, by name.
sub observe
{
	my ($database) = @_;
	my $self = open_session($database);
	my (%seen, $before);

	answer($self, 'SELECT pg_stat_force_next_flush();');
	$before = look($self);
	answer($self, 'SET client_min_messages = debug1;');
	foreach my $i (0 .. $#asked)
	{
		my ($out, $err) = answer($self, $asked[$i] =~ s{(?<!gset)\z}{;}r);

		$seen{"messages $i: $asked[$i]"} = shape($err);
		$seen{"answer $i: $asked[$i]"} = $asked[$i] =~ /^EXPLAIN/ ? explained($out) : shape($out);
	}
	answer($self, 'SET client_min_messages = notice; SELECT pg_stat_force_next_flush();');
	wait_until($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker' OR application_name = 'dp_pg reader'})
	  or die 'readers stay';
	%seen = (%seen, changes($before, look($self)));
	hang_up($self);
	return \%seen;
}

# ---- the rounds ----

# Whether two lists, of what an item was in the rounds of each database, are apart.
sub apart
{
	my ($first, $second) = @_;
	my %there = map { $_ => 1 } @$second;
	my $moved = 0;

	return 0 if grep { $there{$_} } @$first;
	foreach my $list (@_)
	{
		my %times;

		$times{$_}++ foreach @$list;
		$moved ||= 2 * max(values %times) < @$list;
	}
	return 1 if !$moved || grep { !/^(?:nothing|[-+.e\d ]+)$/ } @$first, @$second;
	my @rows = map { [ map { [ $_ eq 'nothing' ? () : split / / ] } @$_ ] } @_;
	foreach my $i (0 .. max(map { $#$_ } map { @$_ } @rows))
	{
		my ($one, $other) = map { [ map { $_->[$i] // 0 } @$_ ] } @rows;

		return 1 if max(@$one) < min(@$other) || max(@$other) < min(@$one);
	}
	return 0;
}

my (%sets, @differ);
observe($_) foreach 'first', 'second';	# pages come into memory
foreach my $round (1 .. ROUNDS)
{
	my %all;

	foreach my $database ($round % 2 ? ('first', 'second') : ('second', 'first'))
	{
		my $seen = observe($database);

		$sets{$database}{$round} = $seen;
		$all{$_} = 1 foreach keys %$seen;
	}
	@differ = ();
	foreach my $name (keys %{ { map { %{ $_ } } map { values %{ $sets{$_} } } 'first', 'second' } })
	{
		push @differ, $name if apart(map { [ map { $_->{$name} // 'nothing' } values %$_ ] } @sets{qw(first second)});
	}
	last if !@differ;
	note("round $round: " . join ', ', map { substr $_, 0, 80 } @differ);
}
is(scalar @differ, 0, 'nothing that the analyst can look at parts the databases')
  or diag(join "\n", map { my $name = $_; "$name\n" . join "\n", map { "  $_: "
		  . join ' / ', map { $_->{$name} // 'nothing' } values %{ $sets{$_} } } 'first', 'second' } sort @differ);

# It would be seen: the owner's own reading of the one row more.
my $changed = scalar keys %{ $sets{first}{1} };
cmp_ok($changed, '>', scalar @asked * 2, "there was something to see: $changed");

$node->stop;
done_testing();
