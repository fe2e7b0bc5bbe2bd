# What the fuzzing programs start from: a server whose one table has values that
# are hard to treat alike, and the functions of PostgreSQL that may meet them.
package FuzzNode;

use strict;
use warnings;

use AttackNode qw(attack_node);
use Exporter 'import';
use LedgerNode;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(fuzz_node admitted run_statements priced_statements by_key is_same %columns %literals %of_plans @collations);

# Columns of the table, by type.
our %columns = (
	int2 => ['s'], int4 => [ 'i', 'k', 'id' ], int8 => ['l'], float4 => ['r'], float8 => ['d'],
	numeric => ['n'], text => [ 't', 'name' ], varchar => ['vc'], bpchar => ['c'], bool => ['b'],
	date => ['day'], time => ['clock'], timestamp => ['at'], timestamptz => ['tz'], interval => ['span'],
	uuid => ['u'], bytea => ['y'], inet => ['host'], bit => ['bits'], mood => ['m']);

# Constants of each type, some of them at an end of what it holds.
our %literals = (
	int2 => [ '0', '1', '-1', '3', '32767', '-32768' ], int4 => [ '0', '1', '-1', '2', '7', '100', '2147483647', '-2147483648' ],
	int8 => [ '0', '1', '-1', '5', '4294967296', '9223372036854775807', '-9223372036854775808' ],
	float4 => [ '0', '-0', '1.5', '-2.25', '1e30', 'NaN', 'Infinity' ],
	float8 => [ '0', '-0', '0.5', '-1.25', '3', '1e300', '-1e300', '1e-300', 'NaN', 'Infinity', '-Infinity' ],
	numeric => [ '0', '1', '-1', '0.5', '2.50', '-7.125', '100', '1e20', '-1e-20', 'NaN' ],
	text => [ '', ' ', 'a', 'b', 'abc', 'ABC', 'a%', '_b%', 'a\\_', 'zz', 'ä', '%' ], varchar => [ '', 'a', 'abc', 'b  ' ],
	bpchar => [ '', 'a', 'abc  ', 'b' ], bool => [ 't', 'f' ],
	date => [ '2000-01-01', '2024-02-29', '1999-12-31', 'infinity', '-infinity' ],
	time => [ '00:00', '12:34:56.789', '24:00' ], timestamp => [ '2000-01-01 00:00', '2024-02-29 23:59:59.999999', 'infinity' ],
	timestamptz => [ '2000-01-01 00:00+00', '2024-03-31 01:30+00', '-infinity' ],
	interval => [ '0', '1 day', '-1 mon', '1 mon 3 days 04:05:06.7', '00:00:00.000001' ],
	uuid => [ '00000000-0000-0000-0000-000000000000', 'c4ca4238-a0b9-2382-0dcc-509a6f75849b' ],
	bytea => [ '\\x', '\\x00', '\\x6162' ], inet => [ '10.0.0.1', '10.0.0.0/8', '::1' ], bit => [ '0', '1' ],
	mood => [ 'sad', 'ok', 'happy', 'odd' ]);

# Collations that are there.
our @collations;

# What an asker may set, and plans might follow.
our %of_plans = (
	work_mem => ["'64kB'", "'1GB'"], hash_mem_multiplier => [ 1, 1000 ], temp_buffers => [ 100, 100000 ], maintenance_work_mem => ["'1MB'"],
	(map { $_ => [ 0, 0.0001, 1e6, 1e10 ] } qw(seq_page_cost random_page_cost cpu_tuple_cost cpu_index_tuple_cost cpu_operator_cost parallel_setup_cost parallel_tuple_cost)),
	(map { ("enable_$_" => ['off']) } qw(async_append bitmapscan gathermerge hashagg hashjoin incremental_sort indexonlyscan indexscan material memoize mergejoin nestloop parallel_append parallel_hash partition_pruning seqscan sort tidscan)),
	(map { ("enable_$_" => ['on']) } qw(partitionwise_aggregate partitionwise_join)),
	(map { $_ => [ 0, 1, 1e5 ] } qw(jit_above_cost jit_inline_above_cost jit_optimize_above_cost)), jit => [qw(on off)],
	effective_cache_size => [ 1, 2000000 ], (map { $_ => [ 1, 2, 100 ] } qw(from_collapse_limit join_collapse_limit)), geqo_threshold => [ 2, 100 ], geqo_seed => [0.5], constraint_exclusion => [qw(on off)],
	cursor_tuple_fraction => [ 0, 1 ], recursive_worktable_factor => [1000], plan_cache_mode => [qw(force_generic_plan force_custom_plan)],
	max_parallel_workers_per_gather => [ 0, 3, 8 ], max_parallel_workers => [ 0, 8 ], min_parallel_table_scan_size => [0], min_parallel_index_scan_size => [0], parallel_leader_participation => ['off'], (map { $_ => [qw(on regress)] } qw(force_parallel_mode debug_parallel_query)));

# The table, 400 rows, and a copy under the name that plain queries use.
sub fuzz_node
{
	my ($name) = @_;
	my $node = attack_node($name, "dp_pg.readers = 2\nmax_wal_size = 4GB\nfsync = off\n");
	my @types = sort keys %literals;
	my %sql = (bpchar => 'char(6)', varchar => 'varchar(8)', bit => 'bit(1)', text => 'text COLLATE "C"');
	my (@definitions, @values);

	foreach my $type (grep { $_ ne 'mood' } @types)
	{
		my $of = $sql{$type} // $type;
		my $list = join ', ', map { "'$_'" } grep { $type ne 'bpchar' || length $_ < 7 } @{ $literals{$type} };
		my $n = @{ $literals{$type} };

		foreach my $column (grep { !/^(id|k|name)$/ } @{ $columns{$type} })
		{
			push @definitions, "$column $of";
			push @values, "(ARRAY[$list, NULL]::$type\[])[1 + (hashint4extended(i, " . scalar(@values) . ") & 1023) % " . ($n + 1) . ']';
		}
	}
	my $table = join ', ', 'id int PRIMARY KEY', 'k int', 'name text COLLATE "C"', 'm mood', @definitions;
	my $select = join ', ', 'i', 'i % 5', q{CASE WHEN i % 7 > 0 THEN md5(i::text) END}, q{(ARRAY['sad', 'ok', 'happy', 'odd', NULL]::mood[])[1 + i % 5]}, @values;

	value($node, "SET SESSION AUTHORIZATION owner; CREATE TYPE mood AS ENUM ('sad', 'happy'); ALTER TYPE mood ADD VALUE 'odd' BEFORE 'sad'; ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy';");
	value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TABLE person ($table);
INSERT INTO person SELECT $select FROM generate_series(1, 400) AS i;
CREATE TABLE plain AS TABLE person;
SELECT dp_protect('person', dataset => 'hospital', rows => 10000000);
SELECT dp_declare('person', 'k', lower => 0, upper => 6), dp_declare('person', 'b', keys => ARRAY['t', 'f']);
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11, delta => 1e-6);
EOT

	@collations = split /\n/, value($node, q{SELECT collname FROM pg_collation
		WHERE collname IN ('C', 'C.utf8', 'en-US-x-icu', 'tr-x-icu') AND collencoding IN (-1, pg_char_to_encoding('UTF8')) ORDER BY 1});

	# where doc/nulls.md says that a private value is NULL and PostgreSQL has one
	value($node, <<'EOT');
CREATE SCHEMA documented;
GRANT USAGE ON SCHEMA documented TO PUBLIC;
CREATE FUNCTION documented.age(a timestamp, b timestamp) RETURNS interval IMMUTABLE STRICT
RETURN CASE WHEN isfinite(a) AND isfinite(b) THEN pg_catalog.age(a, b) END;
CREATE FUNCTION documented.age(a timestamptz, b timestamptz) RETURNS interval IMMUTABLE STRICT
RETURN CASE WHEN isfinite(a) AND isfinite(b) THEN pg_catalog.age(a, b) END;
CREATE FUNCTION documented.timestamp_mi(a timestamp, b timestamp) RETURNS interval IMMUTABLE STRICT
RETURN CASE WHEN isfinite(a) AND isfinite(b) THEN pg_catalog.timestamp_mi(a, b) END;
CREATE FUNCTION documented.timestamptz_mi(a timestamptz, b timestamptz) RETURNS interval IMMUTABLE STRICT
RETURN CASE WHEN isfinite(a) AND isfinite(b) THEN pg_catalog.timestamptz_mi(a, b) END;
CREATE FUNCTION documented.round(n numeric, digits int) RETURNS numeric IMMUTABLE STRICT
RETURN CASE WHEN digits >= -1000 THEN pg_catalog.round(n, digits) END;
CREATE FUNCTION documented.width_bucket(x float8, a float8, b float8, n int) RETURNS int IMMUTABLE STRICT
RETURN CASE WHEN n < 1 OR n < 2147483647 AND abs(b / 2 - a / 2) < 8e307 / n THEN pg_catalog.width_bucket(x, a, b, n) END;
CREATE FUNCTION documented.width_bucket(x numeric, a numeric, b numeric, n int) RETURNS int IMMUTABLE STRICT
RETURN CASE WHEN n < 2147483647 OR CASE WHEN a < b THEN x >= b WHEN a > b THEN x <= b END THEN pg_catalog.width_bucket(x, a, b, n) END;
EOT
	return $node;
}

# Statements of a role (which may be followed by other words of a connection) in
# one session: for each what it prints, or SQLSTATE.
sub run_statements
{
	my ($node, $role, $before, @statements) = @_;
	return () if !@statements;
	my $script = "\\set VERBOSITY sqlstate\n\\pset null '(null)'\n$before\n";
	my $base = PostgreSQL::Test::Utils::tempdir() . '/statements';
	my $connection = $node->connstr('postgres') . " user=$role";

	$script .= "\\echo =statement\n\\warn =statement\n$_;\n" foreach @statements;
	open my $handle, '>', "$base.sql" or die "cannot write $base.sql";
	print $handle $script;
	close $handle or die "cannot write $base.sql";
	system("psql -XAtq -d \"$connection\" -f $base.sql >$base.out 2>$base.err");
	my ($answers, $errors) = map { [ split /^=statement\n/m, slurp_file("$base.$_"), -1 ] } qw(out err);

	die "psql ended early: $errors->[-1]" if @$answers != @statements + 1 || @$errors != @statements + 1;
	return map {
		my ($answer, $error) = ($answers->[$_], $errors->[$_]);

		chomp $answer;
		$error =~ /ERROR:\s+(\w{5})(.*step that may not)?/ ? "error $1" . ($2 // '') : $error ne '' ? "error $error" : $answer
	} 1 .. @statements;
}

# The same, each under settings of plans that follow from its text, and after it
# was explained: what has a price is not refused, but for how much it joins, which
# is read when it runs, and values, which may fail in what is made of them.  An error says what was set where it had a price, or where
# a plan of dp_pg's own making is refused.
sub priced_statements
{
	my ($node, $role, $before, @statements) = @_;
	my %has = map { $_ => 1 } split /\n/, value($node, 'SELECT name FROM pg_settings');
	my @names = grep { $has{$_} } sort keys %of_plans;
	my (@settings, @asked);

	foreach my $statement (@statements)
	{
		my ($set, $query) = $statement =~ /\A((?:\s*SET [^;]*;)*)(.*)\z/s;

		srand(unpack '%32C*', $statement);
		push @settings, join ' ', map { my $name = $names[ rand @names ]; "SET $name = $of_plans{$name}[ rand @{ $of_plans{$name} } ];" } 0 .. rand 8;
		push @asked, "RESET ALL; $before $settings[-1] $set EXPLAIN $query", $query;
	}
	my @results = run_statements($node, $role, '\set VERBOSITY verbose', @asked);

	return map {
		my ($price, $answer) = @results[ 2 * $_, 2 * $_ + 1 ];

		$answer =~ /^error \w{5}:? .*step that may not/ || $answer =~ /^error (?!22|54000)\w{5}$/ && $price !~ /^error \w{5}/ ? "$answer, price $price: $settings[$_]" : $answer
	} 0 .. $#statements;
}

# Built-in functions that may meet private rows: [name, result, argument types,
# which of them may be columns].  Found by asking.
sub admitted
{
	my ($node) = @_;
	my $types = join ', ', map { "'$_'" } grep { $_ ne 'mood' } sort keys %literals;
	my @candidates = split /\n/, value($node, <<"EOT");
SELECT p.proname || '|' || r.typname || '|' ||
	(SELECT string_agg(t.typname, ',' ORDER BY a.n) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a(o, n) JOIN pg_type t ON t.oid = a.o)
FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.provolatile <> 'v' AND NOT p.proretset
AND p.pronargs BETWEEN 1 AND 4 AND r.typname IN ($types)
AND NOT EXISTS (SELECT FROM unnest(p.proargtypes::oid[]) AS o JOIN pg_type t ON t.oid = o WHERE t.typname NOT IN ($types))
ORDER BY p.oid
EOT
	my (@calls, @tries);

	foreach my $line (@candidates)
	{
		my ($name, $result, $arguments) = split /\|/, $line;
		my @types = split /,/, $arguments;

		# every argument a column, or those behind the first constants
		foreach my $variable (@types > 1 ? (scalar @types, 1) : 1)
		{
			my @given = map {
				$_ < $variable ? $columns{ $types[$_] }[0] : "'$literals{ $types[$_] }[1]'::$types[$_]"
			} 0 .. $#types;
			push @calls, [ $name, $result, \@types, $variable ];
			push @tries, "EXPLAIN SELECT dp_count(*) FROM person WHERE \"$name\"(" . join(', ', @given) . ') IS NOT NULL';
		}
	}
	my @results = run_statements($node, 'analyst', '', @tries);
	my (@admitted, %seen);

	foreach my $i (0 .. $#calls)
	{
		my $key = "$calls[$i][0](@{ $calls[$i][2] })";

		next if $results[$i] =~ /^error/ || $seen{$key}++;
		push @admitted, $calls[$i];
	}
	return @admitted;
}

# Rows of an answer by their key, if the query has one.
sub by_key
{
	my ($query, $answer) = @_;

	return { map { $query->{keys} ? /^([^|]*)\|(.*)$/ : ('', $_) } split /\n/, $answer };
}

# Is it the answer of the plain query, but for groups that no row is in?
sub is_same
{
	my ($query, $private, $plain) = @_;
	my ($rows, $wanted) = map { by_key($query, $_) } $private, $plain;

	foreach my $key (keys %$rows)
	{
		return 0 if defined $wanted->{$key} ? $rows->{$key} ne $wanted->{$key} : $rows->{$key} =~ /[1-9]/;
	}
	return !grep { !exists $rows->{$_} } keys %$wanted;
}

1;
