# What threads of src run is made for threads: no call leads from it to a function
# of PostgreSQL, which may allocate, raise an error or look for interrupts.  By the
# compiler's graph of calls.  Calls that the graph has and threads do not make are
# listed below, each with what keeps them from it; one that is gone is an error, too.
use strict;
use warnings;

use File::Temp;
use FindBin;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $config = $ENV{DP_PG_SYSTEM_CONFIG} || $ENV{PG_CONFIG} || 'pg_config';
my $objects = File::Temp->newdir;

# Of the C library, without locks and without memory of its own; division of 128
# bits; an assertion, where PostgreSQL has them, ends the process.
my %safe = map { $_ => 1 } qw(memcpy memmove memset memcmp pread __errno_location __divti3 __udivti3 __modti3 __umodti3 ExceptionalCondition);

# A call by a pointer: whom it may be to.
my %pointers = (
	'partition.c:help' => ['choose.c:choose_loaded'],    # dp_units_choose alone has helpers
	'rows.c:give' => ['choose.c:sums_put']);            # the sink of a helper

# from, to: why it is not made.
my $few = 'units that keep more than FEW groups have no threads (make_helpers)';
my $memory = 'the rows are in memory';
my $sums = 'threads have counts, sums, means and squares alone (dp_bound_sums_most)';
my $keys = 'nor where keys are found (dp_bound_sums_most)';
my %never = (
	'choose.c:choose_unit choose.c:sort_kept' => $few,
	'choose.c:choose_next_group repalloc_huge' => $few,
	'rows.c:dp_units_rows_rewind dp_units_cursor_open' => $memory,
	'rows.c:dp_units_rows_next dp_units_cursor_fetch' => $memory,
	'rows.c:open_group dp_units_votes_begin' => $keys,
	'rows.c:open_group dp_units_votes_name' => $keys,
	'rows.c:open_group dp_units_votes_end_names' => $keys,
	'rows.c:open_group dp_units_votes_cast' => $keys,
	'dp_units_rows_count rows.c:rows_list_distinct' => $sums,
	'dp_units_rows_add_up rows.c:add_pairs' => $sums,
	'dp_units_rows_add_up rows.c:add_values' => $sums,
	'dp_units_rows_add_up rows.c:add_totals' => $sums,
	'dp_units_rows_add_up rows.c:rows_add_distinct' => $sums);

my %source;
foreach my $path (glob "$top/src/*/*.c $top/src/*/*/*.c")
{
	open my $file, '<', $path or die "$path: $!";
	local $/;
	$source{$path} = <$file>;
}

# Calls of a file: {from => {to => 1}}; a function that is static has its file's
# name before its own.
my %compiled;

sub calls_of
{
	my ($path) = @_;
	my ($name) = $path =~ m{([^/]+)\.c$};
	my %calls;

	return $compiled{$path} if $compiled{$path};
	chomp(my $headers = `$config --includedir-server`);
	system('gcc', '-w', '-O0', '-fcallgraph-info', "-I$headers", "-I$top/src", '-D_GNU_SOURCE', '-c', $path, '-o', "$objects/$name.o") == 0
	  or die "$path does not compile";
	open my $file, '<', "$objects/$name.ci" or die "$name.ci: $!";
	while (<$file>)
	{
		s{"[^" ]*/([^/" ]+:\w+)"}{"$1"}g;
		$calls{$1}{$2} = 1 if /sourcename: "([^"]+)" targetname: "([^"]+)"/;
		$calls{$1} ||= {} if /node: \{ title: "([^"]+)" label: "[^"]+" \}/;
	}
	close $file;
	return $compiled{$path} = \%calls;
}

# The file that defines a function, as the house writes it.
sub file_of
{
	my ($function) = @_;
	my @paths = $function =~ /^([\w.]+\.c):/ ? grep { m{/\Q$1\E$} } keys %source :
	  grep { $source{$_} =~ /^\Q$function\E\(/m } keys %source;

	return @paths == 1 ? $paths[0] : undef;
}

# Calls from functions to what is not safe, "from to"; with all that were kept out.
sub unsafe
{
	my ($roots, $graph) = @_;
	my @next = @$roots;
	my (%seen, @found, %kept);

	while (defined(my $function = shift @next))
	{
		next if $seen{$function}++;
		my $calls = $graph->($function);

		foreach my $to (sort keys %$calls)
		{
			my $call = "$function $to";

			if ($never{$call}) { $kept{$call} = 1 }
			elsif ($to eq '__indirect_call' && $pointers{$function}) { push @next, @{ $pointers{$function} } }
			elsif ($graph->($to)) { push @next, $to }
			elsif (!$safe{$to} && $to !~ /^__builtin_|^__atomic_/) { push @found, $call }
		}
	}
	return (\@found, \%kept);
}

sub graph
{
	my ($function) = @_;
	my $path = $function eq '__indirect_call' ? undef : file_of($function);

	return defined $path ? calls_of($path)->{$function} : undef;
}

my @roots;
foreach my $path (sort keys %source)
{
	my ($name) = $path =~ m{([^/]+)$};

	next if $path =~ m{/numbers/};
	push @roots, "$name:$1" while $source{$path} =~ /dp_numbers_threads_start\(&?\w+, (\w+)/g;
}
cmp_ok(scalar @roots, '>=', 2, 'threads run ' . join ', ', @roots);

my ($found, $kept) = unsafe(\@roots, \&graph);

is_deeply($found, [], 'threads call nothing that is not made for them');
is_deeply([ sort keys %$kept ], [ sort keys %never ], 'all that they do not call is in the graph');
cmp_ok(scalar keys %compiled, '>=', 5, 'several files were looked at');

# One call too many is found, wherever it is.
foreach my $from ('partition.c:help', 'choose.c:keep_group', 'choose.c:sums_put', 'dp_models_smalldb_step')
{
	my ($one) = unsafe(\@roots, sub { my $calls = graph($_[0]); return $_[0] eq $from ? { %$calls, palloc => 1 } : $calls });

	is_deeply($one, ["$from palloc"], "memory that $from allocates is found");
}

# And so is what is left out of the list.
my ($call) = sort keys %never;
delete $never{$call};
($found) = unsafe(\@roots, \&graph);
cmp_ok(scalar @$found, '>', 0, "$call: found when it is not listed");
done_testing();
