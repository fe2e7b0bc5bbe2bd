# Lint.pm: the house rules that a script can check.
#
# A tree is a hash from path to text.  A rule takes a tree and returns its
# findings, "path:line: what is wrong"; %rules at the end names them all.
# lint.pl runs them over the checkout, selftest.pl over bad samples.
package Lint;

use strict;
use warnings;

use LintHouse ();
use LintSql ();

our %rules;

# Pseudo file: output of "nm -D --defined-only" on the library.
our $symbols = 'symbols of dp_pg.so';

my $max_lines = 600;			# of SQL, tests and headers
my $max_source_lines = 1200;	# of src/**/*.c
my $max_columns = 79;
my $max_text_columns = 100;

# The rooms and their parts: each may include what stands before it, or only what
# %narrow says.
my $pure = qr{^src/math/};
my @math = map { "math/$_" } qw(numbers noise accounting models);
my @rooms = (@math, qw(base catalog ledger protect
	query/expressions query/domains query/rowsets query/keys query/split query/transparent
	reader
	measure/exact measure/units measure/aggregates
	release/rights release/joined release/inner release/prepare release/explain release/answers
	release/run
	mechanisms/readings mechanisms/workload mechanisms/accounting_functions mechanisms/local
	mechanisms/procedure mechanisms/sessions mechanisms/tables));
my %narrow = (
	base => [@math],
	catalog => [ @math, 'base' ],
	ledger => [ @math, qw(base catalog) ],
	reader => [ @math, qw(base catalog ledger query/expressions) ],
	'query/transparent' => [ @math, qw(base catalog ledger protect query/rowsets) ],
	'measure/units' => [ @math, qw(base query/domains) ],
	'mechanisms/accounting_functions' => [ @math, 'base' ],
	'mechanisms/local' => [ @math, 'base' ],
	'mechanisms/procedure' => [ @math, qw(base catalog ledger) ]);
# Headers that stand beside a part's two: of other versions, names, templates.
my %more_headers = map { $_ => 1 } qw(base/dp_compat.h catalog/dp_names.h catalog/dp_table.h
  math/models/smalldb_lanes.h math/noise/dp_round.h measure/exact/dp_to_grid.h measure/exact/transitions.h);
my %may_include =
  map { $rooms[$_] => $narrow{ $rooms[$_] } || [ @rooms[ 0 .. $_ - 1 ] ] }
  0 .. $#rooms;

sub line_of
{
	my ($text, $offset) = @_;

	return 1 + (substr($text, 0, $offset) =~ tr/\n//);
}

# C text with comments, strings and character constants blanked; same length
# and lines.
sub code_only
{
	my ($text) = @_;

	$text =~ s{(/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')}
			  { my $t = $1; $t =~ s/[^\n]/ /g; $t }gse;
	return $text;
}

sub c_files
{
	my ($tree, $pattern) = @_;

	return grep { m{$pattern} } sort grep { m{^src/.*\.[ch]$} } keys %$tree;
}

# Calls $body with (path, line, header) for every #include "header".
sub each_include
{
	my ($tree, $path, $body) = @_;

	while ($tree->{$path} =~ /^[ \t]*#[ \t]*include[ \t]+"([^"]+)"/gm)
	{
		$body->($path, line_of($tree->{$path}, $-[0]), $1);
	}
	return;
}

# Every match of $pattern in the code of a file.
sub matches
{
	my ($tree, $path, $pattern, $what) = @_;
	my $code = code_only($tree->{$path});
	my @found;

	while ($code =~ /$pattern/gm)
	{
		push @found,
		  "$path:" . line_of($code, $-[0]) . ': ' . $what->($1 // $&);
	}
	return @found;
}

# 1. Parts include only parts above them, and only public headers.
$rules{'include direction'} = sub {
	my ($tree) = @_;
	my @found;

	for my $path (c_files($tree, qr{.}))
	{
		my ($folder) = $path =~ m{^src/([\w/]+)/};

		each_include(
			$tree, $path,
			sub {
				my ($at, $line, $header) = @_;
				my $target = (defined $folder ? "$folder/" : '') . $header;

				1 while $target =~ s{[^/.]+/\.\./}{};
				my ($other, $name) = $target =~ m{^(?:(.*)/)?([^/]+)$};
				$other //= '';
				return if defined $folder ? $header !~ m{^\.\./} : !$may_include{$other};
				push @found, "$at:$line: src/$folder may not include $other"
				  if defined $folder && !grep { $_ eq $other } @{ $may_include{$folder} || [] };
				push @found, "$at:$line: $header is not a public header"
				  if $name !~ /^dp_\w+\.h$/;
			});
	}
	return @found;
};

# 2. Pure folders know nothing of PostgreSQL; elsewhere postgres.h is first.
$rules{'postgres.h first, or never'} = sub {
	my ($tree) = @_;
	my @found;

	for my $path (c_files($tree, qr{.}))
	{
		my $pure = $path =~ $pure;
		my ($first) = $tree->{$path} =~ /^#include ["<]([^">]+)[">]/m;
		my $own = $tree->{$path} =~ /^#include "(?!dp_|\w+\.h"|\.\.\/)/m;

		push @found, "$path:1: a pure folder may not include PostgreSQL headers"
		  if $pure && ($tree->{$path} =~ /^#include "postgres\.h"/m || $own);
		push @found, "$path:1: the first include must be postgres.h"
		  if !$pure && $path =~ /\.c$/ && ($first // '') ne 'postgres.h';
	}
	return @found;
};

$rules{'versions are told apart in one place'} = sub {
	my ($tree) = @_;

	return map {
		matches($tree, $_, qr/\b(PG_VERSION_NUM|PG_MAJORVERSION\w*)\b/,
			sub { "$_[0] outside of base/dp_compat.h" })
	} grep { !m{^src/base/(dp_)?compat\.[ch]$} } c_files($tree, '^src/');
};

# Who executes a plan or looks at pages of a table, and whose.
my %executes = (
	'src/reader/read.c' => 'private rows',
	'src/reader/warm.c' => 'pages of private relations, not what is on them',
	'src/release/joined/own_query.c' => 'statements of the role that asks, as that role',
	'src/release/explain/explain.c' => 'nothing: EXPLAIN only',
	'src/catalog/table_access.c' => 'the extension\'s own tables',
	'src/base/dp_compat.h' => 'nothing: the call of another version');

$rules{'private rows are read in one folder'} = sub {
	my ($tree) = @_;
	my $calls = qr/\b(Executor(?:Run|Start)|table_beginscan\w*|
		table_tuple_\w+|heap_getnext\w*|heap_fetch|ReadBuffer\w*)[ \t]*\(/x;

	return map {
		matches($tree, $_, $calls, sub { "$_[0]() outside of the list" })
	} grep { !$executes{$_} } c_files($tree, '^src/');
};

# What is done with exact numbers where they are read, and what leaves.
my %draws = (
	'src/release/run/reader_work.c' => 'rows of a release, with noise',
	'src/mechanisms/readings/reading_use.c' => 'what the use of a reading gives',
	'src/mechanisms/workload/noisy_rows.c' => 'a noisy number of rows',
	'src/mechanisms/sessions/sparse_vector.c' => 'which counts are above a noisy threshold',
	'src/mechanisms/sessions/session_store.c' => 'nothing: the ledger\'s worker decides',
	'src/mechanisms/tables/smalldb_release.c' => 'a candidate that was drawn',
	'src/mechanisms/tables/net.c' => 'a candidate that was drawn',
	'src/mechanisms/tables/synthesize_run.c' => 'rows that were drawn',
	'src/mechanisms/tables/iterate_run.c' => 'steps, and the distribution made of them');

$rules{'exact numbers are met in few files'} = sub {
	my ($tree) = @_;
	my $methods = qr/\b(dp_(?:reader|use)_methods)[ \t]+\w+[ \t]*=/;

	return map {
		matches($tree, $_, $methods, sub { "$_[0] outside of the list" })
	} grep { !$draws{$_} } c_files($tree, '^src/');
};

$rules{'purity of math'} = sub {
	my ($tree) = @_;
	my $calls = qr/\b(palloc\w*|pfree|ereport|elog|malloc|calloc|realloc|
		s?random|s?rand|rand_r|[dlm]rand48|arc4random\w*)[ \t]*\(/x;
	my $static = qr/^[ \t]*(static\b(?![^;={(]*\b(?:inline|const)\b)
		[^;={()]*[;=\[])/mx;
	my @found;

	for my $path (c_files($tree, $pure))
	{
		push @found,
		  matches($tree, $path, $calls, sub { "$_[0]() in a pure folder" }),
		  matches($tree, $path, $static, sub { 'mutable static' });
	}
	return @found;
};

$rules{'no floating point in a sampler'} = sub {
	my ($tree) = @_;
	my $approx = $tree->{'src/math/noise/approx.c'} // '';
	my @found;

	# dp_round.h reads values of doubles; it draws nothing
	for my $path (grep { !m{/(?:approx\.c|dp_round\.h)$} } c_files($tree, '^src/math/n(?:umbers|oise)/'))
	{
		my %rest = ($path => $tree->{$path});

		# What approx.c defines may be declared in a header.
		$rest{$path} =~ s{^(extern\s[^;(]*?(\w+)\([^;]*;)}
						 {index($approx, "\n$2(") >= 0 ? "\n" x ($1 =~ tr{\n}{})
						   : $1}gmse;
		push @found, matches(\%rest, $path, qr/\b(float|double)\b/,
			sub { "$_[0] outside approx.c" });
	}
	return @found;
};

# 3. File length and layout.
$rules{'file length'} = sub {
	my ($tree) = @_;
	my @found;

	for my $path (sort keys %$tree)
	{
		my $lines = $tree->{$path} =~ tr/\n//;
		my $most = $path =~ m{^src/.*\.c$} ? $max_source_lines : $max_lines;

		push @found, "$path:$lines: more than $most lines"
		  if $lines > $most
		  && $path =~ m{^(src|sql|test)/.*\.(c|h|sql|pl|pm|sh|java|spec)$};
	}
	return @found;
};

$rules{'layout'} = sub {
	my ($tree) = @_;
	my @found;

	for my $path (sort grep { m{\.(c|h|sql|pl|pm|sh|java|spec|conf)$} }
		keys %$tree)
	{
		my $is_c = $path =~ /\.[ch]$/;
		my $n = 0;

		push @found, "$path: the last line does not end"
		  if $tree->{$path} =~ /[^\n]\z/;
		for my $line (split /\n/, $tree->{$path})
		{
			my $wide = $line;

			$n++;
			push @found, "$path:$n: trailing blank" if $line =~ /[ \t\r]$/;
			push @found, "$path:$n: indented with blanks, not tabs"
			  if $is_c && $line =~ /^\t* {4}/;
			1 while $wide =~ s/\t/' ' x (4 - $-[0] % 4)/e;
			push @found, "$path:$n: more than $max_columns columns"
			  if $is_c && length($wide) > $max_columns;
		}
	}
	return @found;
};

# Lines of documents that can be broken: not those of tables, headings and code,
# nor one word.  CHANGELOG.md is not among them.
$rules{'lines of documents'} = sub {
	my ($tree) = @_;
	my @found;

	for my $path (sort grep { m{\.md$} && $_ ne 'CHANGELOG.md' } keys %$tree)
	{
		my ($n, $fenced) = (0, 0);

		for my $line (split /\n/, $tree->{$path})
		{
			my $wide = $line;

			$n++;
			$fenced = !$fenced if $line =~ /^\s*```/;
			utf8::decode($wide);
			1 while $wide =~ s/\t/' ' x (4 - $-[0] % 4)/e;
			next if $fenced || length($wide) <= $max_text_columns;
			push @found, "$path:$n: more than $max_text_columns columns"
			  if $wide !~ /^\s*([|#]|\S+$)|^ {4}/;
		}
	}
	return @found;
};

$rules{'C style'} = sub {
	my ($tree) = @_;
	my @found;

	for my $path (sort grep { m{^(src|test)/.*\.[ch]$} } keys %$tree)
	{
		push @found,
		  matches($tree, $path, qr{(//)}, sub { 'comments are /* */' }),
		  matches(
			$tree, $path,
			qr/^(?!typedef|struct|enum|union|\#|\s)\w[\w \t*]*[ \t*]
				(\w+)\([^;{}]*\)\s*\n\{/mx,
			sub { "the return type of $_[0] is not on its own line" }),
		  matches($tree, $path, qr/\bfor \((\w+ \**\w+ =)/, sub { "declare \"$_[0]\" at a block's head" });
		next unless $path =~ /^src/;
		push @found, matches(
			$tree, $path,
			qr/^(?!\s|.*dp_refusal|Datum\b)[^\n]*\n(\w*refuse\w*)\([^;{}]*\)\s*\n\{/m,
			sub { "$_[0] returns no refusal: what raises is called raise or forbid" });
	}
	return @found;
};

# 4. Tests and their expected outputs.
$rules{'tests and expected outputs'} = sub {
	my ($tree) = @_;
	my %tests;
	my @found;

	for my $path (sort keys %$tree)
	{
		$tests{$1} = $path
		  if $path =~ m{^test/sql/(\w+)\.sql$}
		  || $path =~ m{^test/specs/([\w-]+)\.spec$};
	}
	for my $name (sort keys %tests)
	{
		push @found, "$tests{$name}:1: expected/$name.out is missing"
		  if !exists $tree->{"expected/$name.out"};
		push @found, "$tests{$name}:1: sql/$name.sql would be run instead"
		  if exists $tree->{"sql/$name.sql"};
	}
	for my $path (sort keys %$tree)
	{
		push @found, "$path:1: no test of this name"
		  if $path =~ m{^expected/([\w-]+?)(_\d)?\.out$}
		  && !$tests{$1}
		  && !$tests{ $1 . ($2 // '') };
	}
	return @found;
};

# 5. Exported symbols.
$rules{'exported symbols'} = sub {
	my ($tree) = @_;
	my @found;

	return () if !exists $tree->{$symbols};
	for my $line (split /\n/, $tree->{$symbols})
	{
		my ($name) = $line =~ /\s[A-Za-z]\s+(\S+)$/ or next;

		push @found, "$symbols: $name does not begin with dp_"
		  if $name !~ /^(dp_\w+|pg_finfo_dp_\w+|_PG_init|Pg_magic_func)$/;
	}
	return @found;
};

# 6. Contracts, and the theorems they rest on.

# Every function defined in a C text that is not static:
# [name, line, the comment directly above].
sub exported_functions
{
	my ($text) = @_;
	my $code = code_only($text);
	my @functions;

	while ($code =~
		/^((?!static\b|typedef\b|extern\b|struct \w+\n)\w[\w \t*]*)\n
			(\w+)\([^;{}]*\)\s*\n\{/gmx)
	{
		my ($name, $start) = ($2, $-[1]);
		my $above = substr($text, 0, $start);
		my ($comment) = $above =~ m{(/\*(?:(?!\*/).)*\*/)\s*\z}s;

		next if $1 =~ /^(static|PG_FUNCTION_INFO)/;
		push @functions, [ $name, line_of($text, $start), $comment // '' ];
	}
	return @functions;
}

# Does a comment of the file speak of a family, "dp_sum_add_*", with name in it?
sub told_as_family
{
	my ($text, $name) = @_;

	while ($text =~ m{/\*(.*?)\*/}gs)
	{
		my $comment = $1;

		return 1 if grep { index($name, $_) == 0 } $comment =~ /(\bdp_\w+_)\*/g;
	}
	return 0;
}

$rules{'contracts'} = sub {
	my ($tree) = @_;
	my $theory = join '', map { $tree->{$_} }
	  grep { m{^doc/theory\w*\.md$} } sort keys %$tree;
	my %theorem = map { $_ => 1 } $theory =~ /^(?:#+ |\*\*)(T\d+)\b/gm;
	my @found;

	for my $path (c_files($tree, '\.c$'))
	{
		my $pure = $path =~ $pure;

		for my $function (exported_functions($tree->{$path}))
		{
			my ($name, $line, $comment) = @$function;
			my @words = $pure ? qw(Requires Gives Source) : ();

			next if $name eq '_PG_init';
			push @found, "$path:$line: $name has no comment"
			  if $comment eq '' && !told_as_family($tree->{$path}, $name);
			for my $word (@words)
			{
				push @found, "$path:$line: the contract of $name lacks $word:"
				  if $comment !~ /^ \*[ \t]+$word:/m;
			}
			next if !$pure;
			my ($source) = $comment =~ /^ \*[ \t]+Source:(.*)\*\//ms;
			my @numbers = ($source // '') =~ /\b(T\d+)\b/g;
			push @found, "$path:$line: $name names no theorem (T1, ...)"
			  if defined $source && !@numbers;
			push @found,
			  map { "$path:$line: $name: no $_ in doc/theory" }
			  grep { !$theorem{$_} } @numbers;
		}
	}
	return @found;
};

# 7. Settings and errors.
$rules{'settings are sorted'} = sub {
	my ($tree) = @_;
	my $path = 'src/base/settings.c';
	my $text = $tree->{$path} // '';
	my $last = '';
	my @found;

	while ($text =~ /DefineCustom\w+Variable\("([^"]+)"/g)
	{
		my ($name, $line) = ($1, line_of($text, $-[0]));

		push @found, "$path:$line: $name after $last" if $name lt $last;
		push @found, "$path:$line: $name is not dp_pg.*"
		  if $name !~ /^dp_pg\./;
		$last = $name;
	}
	return @found;
};

$rules{'errors have an errcode'} = sub {
	my ($tree) = @_;
	my $balanced = qr/(\((?:[^()]++|(?1))*\))/;
	my @found;

	for my $path (c_files($tree, qr{.}))
	{
		my $code = code_only($tree->{$path});

		while ($code =~ /\bereport$balanced/g)
		{
			my ($call, $offset) = ($1, $-[0]);

			push @found,
			  "$path:" . line_of($code, $offset) . ': ereport without errcode'
			  if $call =~ /^\(\s*(ERROR|FATAL|PANIC|\w*level)\b/
			  && $call !~ /\berrcode\w*\(/;
		}
	}
	return @found;
};

# 8. The house as a whole.
$rules{'no basename twice'} = \&LintHouse::repeated_names;
$rules{'no circle of files'} = \&LintHouse::circles;
$rules{'functions are called by their part'} = \&LintHouse::foreign_names;
$rules{'the sheet of folders'} = sub {
	my ($tree) = @_;

	return LintHouse::folder_lines($tree, \@rooms);
};

$rules{'headers of a part'} = sub { return LintHouse::headers($_[0], \%more_headers) };

# What `make files` lists.
$rules{'heads name the file and what it promises'} = \&LintHouse::heads;

$rules{'test programs run by day or by night'} = \&LintHouse::program_lines;

$rules{'SQL objects have a comment'} = \&LintSql::uncommented;
$rules{'arguments of our own calls have types'} = \&LintSql::bare_literals;

1;
