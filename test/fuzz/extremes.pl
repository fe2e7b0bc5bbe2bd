# Every function that may be called on private rows, at the extremes of its
# arguments: interpreted, compiled, in parallel workers, and from a nearly full
# stack; in other time zones, collations and another encoding.  Each returns the
# same values as PostgreSQL's, NULL where PostgreSQL's function fails (and where
# doc/nulls.md says so), and raises no error.
#
# No value is larger than the extension assumes before it reads a row
# (expressions/expression_memory.c).  And none takes long: the query of each function, in
# the fastest of all ways in which it runs, takes at most SLOWEST times as long as
# that of the median function.  This does not depend on seconds, and a busy machine
# fails it only if it is that much slower for all runs of one function, which are
# minutes apart, and for this function alone.
#
# The owner stores PostgreSQL's own values in columns next to the arguments; the
# private query counts the rows that differ from them.  Noise at this epsilon is 0
# except with probability exp(-100).  FUZZ_ROWS combinations of arguments (400) for
# each function.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use AttackNode qw(test_library);
use FuzzNode;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant ROWS => $ENV{FUZZ_ROWS} || 400;
use constant CHUNK => 60;       # functions a table
use constant MOST => '30s';     # for all rows of one: it does not hang
use constant SLOWEST => 20;

my $node = fuzz_node('extremes');
my @functions = admitted($node);
my $parallel = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
my @zones = ('America/St_Johns', 'Asia/Kathmandu', 'Pacific/Apia', 'AAB7:11');
my %more = (
	text => [ 'x' x 3000, "\xc3\xa4\xc3\x96" x 40, ' ' x 50, "a\tb", 'I', "i" ], varchar => [ 'x' x 200 ], bpchar => [ 'x' x 90 ],
	bytea => [ '\\x' . 'ff' x 2000 ], numeric => [ '1e1000', '-1e1000', '1e-1000', 'Infinity', '-Infinity', '9' x 300, '0.000000000000000000001' ],
	int4 => [ '3', '31', '32', '-31', '64' ], int8 => [ '63', '64', '-2' ], float8 => [ '1e308', '-1e308', '1e-307', '709.8', '-745.2', '170.7' ],
	float4 => [ '3.4e38', '-3.4e38', '1e-45' ],
	date => [ '3000-01-01 BC', '290000-01-01', '0001-01-01', '10000-01-01' ], time => [ '23:59:59.999999', '00:00:00.000001' ],
	timestamp => [ '-infinity', '3000-01-01 00:00 BC', '290000-01-01 00:00', '0001-12-31 BC' ],
	timestamptz => [ 'infinity', '3000-01-01 00:00+00 BC', '290000-01-01 00:00+00', '2024-10-27 01:30+00', '2011-12-30 12:00+00' ],
	interval => [ '178000000 years', '-178000000 years', '2147483647 days', '-2147483648 days', '2562047788:00:54.775807', '-1 mon 30 days -24:00' ],
	inet => [ '255.255.255.255', '0.0.0.0/0', 'ffff::/128', '::/0' ], uuid => [ 'ffffffff-ffff-ffff-ffff-ffffffffffff' ]);
# More bytes in capitals, and in the other encoding not there.
my %utf8 = (text => [ "\xce\x90" x 3000, "\xc5\x89" x 3000 ], varchar => [ "\xce\x90" x 200 ], bpchar => [ "\xce\x90" x 100 ]);
my %column_type = (bpchar => 'char(100)', varchar => 'varchar(200)', bit => 'bit(1)', text => 'varchar(3000)');
my @types = sort grep { $_ ne 'mood' } keys %literals;

# What a column of the type may hold, as SQL.
sub values_of
{
	my ($type, $database) = @_;

	return 'NULL', map { "'$_'" } @{ $literals{$type} }, @{ $more{$type} || [] }, $database eq 'latin' ? () : @{ $utf8{$type} || [] };
}

# Arguments of each type at three places, and PostgreSQL's values of a chunk.
sub make_table
{
	my ($database, $table, $list) = @_;
	my (@columns, @values);

	foreach my $type (@types)
	{
		my @literals = values_of($type, $database);
		my $sql = $column_type{$type} // $type;

		foreach my $place (1 .. 4)
		{
			my $n = @values;

			push @columns, "${type}_$place $sql";
			push @values, "(ARRAY[" . join(', ', @literals) . "]::$type\[])[1 + (hashint8extended(i, $n) & 1048575) % " . @literals . ']';
		}
	}
	my $arguments = join ', ', map { /^(\S+)/ } @columns;
	push @columns, map { my $type = $list->[$_][1]; ("want_$_ " . ({ bpchar => 'char(200)', bit => 'varbit', text => 'varchar', varchar => 'varchar' }->{$type} // $type), "failed_$_ bool NOT NULL DEFAULT false", "size_$_ int8") } 0 .. $#$list;
	value($node, "SET SESSION AUTHORIZATION owner; CREATE TABLE $table (id int PRIMARY KEY, " . join(', ', @columns) . ');' .
		"INSERT INTO $table (id, $arguments) SELECT i, " . join(', ', @values) . ' FROM generate_series(1, ' . ROWS . ') AS i;' .
		"SELECT dp_protect('$table', dataset => 'hospital', rows => 10000000)", $database);
	return;
}

# The call, over columns of the table and constants.
sub call
{
	my ($function, $collation) = @_;
	my ($name, undef, $types, $variable) = @$function;
	my @arguments = map {
		my $collate = defined $collation && $types->[$_] =~ /^(?:text|varchar|bpchar)$/ ? " COLLATE \"$collation\"" : '';

		$_ >= $variable ? "'$literals{ $types->[$_] }[1]'::$types->[$_]" : "$types->[$_]_" . ($_ + 1) . $collate
	} 0 .. $#$types;

	return "\"$name\"(" . join(', ', map { $_ =~ /^(text|varchar)_\d$/ ? "$_\::$1" : $_ } @arguments) . ')';
}

# What PostgreSQL's functions give, row by row where one fails.
sub compute
{
	my ($database, $table, $list, $which, $zone, $collation) = @_;
	my $script = "SET SESSION AUTHORIZATION owner; SET search_path = documented, pg_catalog, public; SET timezone = '$zone'; SET client_min_messages = error;\n";

	foreach my $i (@$which)
	{
		my $call = call($list->[$i], $collation);

		$script .= "DO \$\$ DECLARE r int; BEGIN\n\tUPDATE public.$table SET want_$i = $call, size_$i = public.real_size($call), failed_$i = false;\nEXCEPTION WHEN OTHERS THEN\n";
		$script .= "\tFOR r IN SELECT id FROM public.$table LOOP BEGIN\n\t\tUPDATE public.$table SET want_$i = $call, size_$i = public.real_size($call), failed_$i = false WHERE id = r;\n";
		$script .= "\tEXCEPTION WHEN OTHERS THEN UPDATE public.$table SET want_$i = NULL, size_$i = NULL, failed_$i = true WHERE id = r; END; END LOOP; END \$\$;\n";
	}
	value($node, $script . "VACUUM $table", $database);
	check_sizes($database, $table, $list, $which, $collation);
	return;
}

# Is the largest of what was computed as large as is stated, or less?
my ($sizes, $too_large, $fullest) = (0, 0, 0);
sub check_sizes
{
	my ($database, $table, $list, $which, $collation) = @_;
	return if !@$which;
	my $calls = join ', ', map { call($list->[$_], $collation) } @$which;
	my @bounds = split /,/, value($node, "SELECT array_to_string(size_bounds(\$q\$SELECT $calls FROM $table\$q\$), ',')", $database);
	my @largest = split /\|/, value($node, 'SELECT ' . join(', ', map { "coalesce(max(size_$_), 0)" } @$which) . " FROM $table", $database);

	foreach my $i (0 .. $#bounds)
	{
		$sizes++;
		$fullest = $largest[$i] / $bounds[$i] if $list->[ $which->[$i] ][1] =~ /text|char|numeric/ && $largest[$i] / $bounds[$i] > $fullest;
		next if $largest[$i] <= $bounds[$i];
		$too_large++;
		diag("$database: a value of $largest[$i] bytes, at most $bounds[$i]: " . call($list->[ $which->[$i] ], $collation));
	}
	return;
}

# The least that a function's query took, in ms.
my %least;

my ($asked, $refused, $different, $nulls) = (0, 0, 0, 0);

# Functions that doc/nulls.md says are NULL at extremes where PostgreSQL has a
# value; t/nulls.pl tries where.
my %narrow = map { $_ => 1 } qw(timestamp_mi timestamptz_mi timestamp_pl_interval timestamp_mi_interval timestamptz_pl_interval timestamptz_mi_interval
	date_pl_interval date_mi_interval numeric width_bucket);

# One function each, in a session that is set so.
sub compare
{
	my ($database, $table, $list, $which, $name, $before, $collation, $wrap) = @_;
	my @statements = map {
		my $n = $_;
		my $call = call($list->[$n], $collation);
		my $sql = 'SELECT ' . join(', ', map { "dp_count(*) FILTER (WHERE $_)" } "$call IS DISTINCT FROM want_$n AND $call IS NOT NULL AND NOT failed_$n",
			"$call IS NOT NULL AND failed_$n", "$call IS NULL AND want_$n IS NOT NULL") . ", dp_count(*) FROM $table";

		$wrap ? $wrap->($sql) : $sql
	} @$which;
	my @results = run_statements($node, "analyst dbname=$database", "\\timing on\nSET dp_pg.epsilon = '100000';\nSET statement_timeout = '" . MOST . "';\n$before", @statements);

	foreach my $i (0 .. $#results)
	{
		my $function = join ' ', $list->[ $which->[$i] ][0], @{ $list->[ $which->[$i] ][2] };

		$asked++;
		$least{$function} = $1 if $results[$i] =~ s/\n?Time: ([\d.]+) ms.*//s && $1 < ($least{$function} // $1 + 1);
		next if $results[$i] eq '0|0|0|' . ROWS;
		if ($results[$i] =~ /^0\|0\|\d+\|(\d+)$/ && $1 == ROWS && $narrow{ $list->[ $which->[$i] ][0] }) { $nulls++; next }
		if ($results[$i] =~ /^error (0A000|42883)$/) { $refused++; diag("refused: $name: $statements[$i]") if $ENV{FUZZ_VERBOSE}; next }
		$different++;
		diag("$name, $database: $results[$i]: $statements[$i]") if $different <= 40;
	}
	return;
}

# ---- how they are asked ----

my $depth;
value($node, 'CREATE EXTENSION IF NOT EXISTS plpgsql');
my $deep = <<'EOT';
CREATE FUNCTION deep(n int, sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	IF n > 0 THEN RETURN deep(n - 1, sql); END IF;
	EXECUTE sql INTO result;
	RETURN result;
END $$;
EOT

# As deep as a count can be asked.
sub deepest
{
	my ($table) = @_;
	my ($least, $most) = (0, 20000);

	while ($most - $least > 1)
	{
		my $n = int(($least + $most) / 2);
		my ($result) = run_statements($node, 'analyst', '', "SELECT deep($n, 'SELECT dp_count(*) FROM $table') IS NOT NULL");

		if ($result eq 't') { $least = $n } else { $most = $n }
	}
	return $least;
}

sub from_deep
{
	my ($sql) = @_;

	return "SELECT deep($depth, \$q\$SELECT concat_ws('|', a, b, c, d) FROM ($sql) AS q(a, b, c, d)\$q\$)";
}

my %ways = (
	interpreted => ['SET jit = off;'],
	compiled => ['SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;'],
	parallel => ["SET $parallel = on; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"]);

# ---- the machine ----

my $sizes_library = test_library('result_sizes', 'expression_memory');
my $own = "CREATE FUNCTION size_bounds(text) RETURNS bigint[] LANGUAGE c STRICT AS '$sizes_library', 'result_sizes_bounds';"
  . "CREATE FUNCTION real_size(anyelement) RETURNS bigint LANGUAGE c STRICT AS '$sizes_library', 'result_sizes_real'";

value($node, $own);
value($node, "SET SESSION AUTHORIZATION analyst; $deep");
value($node, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
value($node, "CREATE EXTENSION dp_pg; GRANT CREATE ON SCHEMA public TO owner; $own", 'latin');
value($node, "CREATE SCHEMA documented; GRANT USAGE ON SCHEMA documented TO PUBLIC", 'latin');
foreach my $definition (split /\n;;\n/, value($node, q{SELECT string_agg(pg_get_functiondef(oid), E'\n;;\n') FROM pg_proc WHERE pronamespace = 'documented'::regnamespace}))
{
	value($node, $definition, 'latin');
}
my $grant = "SET SESSION AUTHORIZATION owner; SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11)";
my @lists = map { [ @functions[ $_ * CHUNK .. ($_ + 1) * CHUNK - 1 ] ] } 0 .. int($#functions / CHUNK);
@lists = map { [ grep { defined } @$_ ] } @lists;
foreach my $c (0 .. $#lists)
{
	my $list = $lists[$c];
	my $table = "extreme_$c";

	make_table('postgres', $table, $list);
	my @all = 0 .. $#$list;
	my @timed = grep { "@{ $list->[$_][2] } $list->[$_][1]" =~ /date|time|interval/ } @all;
	my @texts = grep { "@{ $list->[$_][2] }" =~ /text|char/ } @all;

	compute('postgres', $table, $list, \@all, 'UTC');
	compare('postgres', $table, $list, \@all, $_, @{ $ways{$_} }) foreach sort keys %ways;
	$depth //= deepest($table) - 2;
	compare('postgres', $table, $list, \@all, 'from a deep stack', '', undef, \&from_deep);
	foreach my $zone (@zones)
	{
		compute('postgres', $table, $list, \@timed, $zone);
		compare('postgres', $table, $list, \@timed, "zone $zone", "SET timezone = '$zone';");
	}
	foreach my $collation (@collations)
	{
		compute('postgres', $table, $list, \@texts, 'UTC', $collation);
		compare('postgres', $table, $list, \@texts, "collation $collation", '', $collation);
	}
	make_table('latin', $table, $list);
	value($node, $grant, 'latin') if $c == 0;
	compute('latin', $table, $list, \@all, 'UTC');
	compare('latin', $table, $list, \@all, 'LATIN1', '');
	pass("functions up to $list->[-1][0]");
}
is($different, 0, scalar(@functions) . " functions at extremes: $asked queries, $nulls with documented NULLs, $refused refused");
cmp_ok($refused, '<', 0.05 * $asked, 'nearly all are answered');
is($too_large, 0, "$sizes largest values are no larger than stated");
cmp_ok($fullest, '>', 0.4, sprintf('and one has %.0f%% of it', 100 * $fullest));
my @slowest = sort { $least{$b} <=> $least{$a} } keys %least;
my $median = $least{ $slowest[ @slowest / 2 ] };
cmp_ok($least{ $slowest[0] }, '<', SLOWEST * $median, sprintf('none takes long: the slowest, %s, %.1f times the median of %.1f ms', $slowest[0], $least{ $slowest[0] } / $median, $median));
cmp_ok($depth, '>', 20, "asked from $depth calls deep");

$node->stop;
done_testing();
