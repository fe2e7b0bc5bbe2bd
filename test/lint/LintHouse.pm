# LintHouse.pm: rules about the files of the house as a whole.  See Lint.pm.
package LintHouse;

use strict;
use warnings;

# Pseudo files: output of "nm -A" on the objects, and the folders of src and
# test, one a line.
our $objects = 'symbols of the objects';
our $folders = 'folders';

my $sheet = 'doc/architecture.md';

# PostgreSQL tells the basename of a file in LOCATION.
sub repeated_names
{
	my ($tree) = @_;
	my %paths;

	for my $path (sort grep { m{^src/.*\.[ch]$} } keys %$tree)
	{
		push @{ $paths{$1} }, $path if $path =~ m{([^/]+)$};
	}
	return map { "$paths{$_}[1]:1: $paths{$_}[0] has the same name" }
	  grep { @{ $paths{$_} } > 1 } sort keys %paths;
}

# What each file uses of others, by the symbols of its object: of
# "src/a/b.o:... U name" and "src/a/b.o:... T name".
sub uses
{
	my ($tree) = @_;
	my (%defines, %wants, %uses);

	for my $line (split /\n/, $tree->{$objects} // '')
	{
		my ($file, $kind, $name) =
		  $line =~ m{src/(\S+)\.o:[0-9a-f]*\s+(\w)\s+(\S+)$} or next;

		next if !exists $tree->{"src/$file.c"};	# of a file that is gone
		$wants{$file}{$name} = 1 if $kind eq 'U';
		$defines{$name} = $file if $kind =~ /^[TDBRGC]$/;
	}
	for my $file (keys %wants)
	{
		for my $name (keys %{ $wants{$file} })
		{
			my $other = $defines{$name};

			$uses{$file}{$other} = $name if defined $other && $other ne $file;
		}
	}
	return \%uses;
}

# A function is called dp_PART_...; what SQL calls has a name for SQL.
sub foreign_names
{
	my ($tree) = @_;
	my (%sql, @others);

	for my $line (split /\n/, $tree->{$objects} // '')
	{
		my ($file, $part, $name) =
		  $line =~ m{(src/(?:\w+/)*(\w+)/\w+)\.o:[0-9a-f]*\s+T\s+(\S+)$} or next;

		$sql{$1} = 1 if $name =~ /^pg_finfo_(\w+)$/;
		push @others, [ $name, $part, "$file.c" ]
		  if $name !~ /^(dp_${part}|pg_finfo)_/ && exists $tree->{"$file.c"};
	}
	return map { "$_->[2]:1: $_->[0] is not called dp_$_->[1]_..." }
	  sort { $a->[0] cmp $b->[0] } grep { !$sql{ $_->[0] } } @others;
}

# The files that can be reached from one.
sub reached
{
	my ($uses, $from) = @_;
	my %seen;
	my @next = keys %{ $uses->{$from} };

	while (defined(my $file = shift @next))
	{
		push @next, keys %{ $uses->{$file} } if !$seen{$file}++;
	}
	return \%seen;
}

# No two files need each other.
sub circles
{
	my ($tree) = @_;
	my $uses = uses($tree);
	my %reached = map { $_ => reached($uses, $_) } keys %$uses;
	my (%told, @found);

	for my $file (sort grep { $reached{$_}{$_} } keys %reached)
	{
		my @circle =
		  sort grep { $reached{$_} && $reached{$_}{$file} } keys %{ $reached{$file} };

		next if $told{"@circle"}++;
		push @found, "src/$file.c:1: files need each other: "
		  . join ', ', map { "$_ (for " . join(' ', uses_of($uses, $_, @circle)) . ')' }
		  @circle;
	}
	return @found;
}

sub uses_of
{
	my ($uses, $file, @circle) = @_;

	return map { $uses->{$file}{$_} // () } @circle;
}

# The folders, by the tree and by the sheet.
sub folder_lines
{
	my ($tree, $rooms) = @_;
	my %is = map { $_ => 1 } split /\n/, $tree->{$folders} // '';
	my ($block) = ($tree->{$sheet} // '') =~ /^## Folders\n+```\n(.*?)^```/ms;
	my @lines = ($block // '') =~ m{^src/([\w/]+)/}mg;
	my ($test) = ($block // '') =~ m{^test/\s+(.*)$}m;
	my %told = map { $_ => 1 } (map { "src/$_" } @lines),
	  map { "test/$_" } split ' ', $test // '';
	my @found;

	push @found, map { "$sheet:1: folder $_ is not in the sheet" }
	  grep { !$told{$_} } sort keys %is;
	push @found, map { "$sheet:1: there is no folder $_" }
	  grep { !$is{$_} } sort keys %told;
	push @found, "$sheet:1: the rooms stand in another order than in Lint.pm"
	  if !@found && "@lines" ne join ' ', grep { $is{"src/$_"} } @$rooms;
	return @found;
}

# A part has a public header and one of its own, and few have more.
sub headers
{
	my ($tree, $more) = @_;
	my @found;

	for my $path (sort keys %$tree)
	{
		my ($folder, $name) = $path =~ m{^src/([\w/]+)/(\w+\.h)$} or next;
		my ($part) = $folder =~ m{(\w+)$};

		push @found, "$path:1: a header of $folder is dp_$part.h or ${part}_internal.h"
		  if $name !~ /^(dp_$part|${part}_internal)\.h$/ && !$more->{"$folder/$name"};
	}
	return @found;
}

# The head of each source: its name, then a sentence.
sub heads
{
	my ($tree) = @_;

	return map { "$_:1: its head does not say what it promises" }
	  grep { my ($name) = m{([^/]+)$}; $tree->{$_} !~ m{\A/\*\n \* \Q$name\E\n \*\t  \S} }
	  sort grep { m{^src/.*\.[ch]$} } keys %$tree;
}

# The test programs, by the tree and by the table of test/README.md: each runs by
# day or by night.  Of sql, specs and pgtap the folder is one program.
sub program_lines
{
	my ($tree) = @_;
	my $table = 'test/README.md';
	my %is = map { m{^test/((?:lint|unit|t|stat|jdbc|node|fuzz)/(?:[^/]+\.pl|test_[^/]+\.c))$} ? ($1 => 1) :
		  m{^test/((?:sql|specs|pgtap)/)} ? ($1 => 1) : () } keys %$tree;
	my (%told, @found);

	while (($tree->{$table} // '') =~ m{^\| (\w+/[\w.]*) \| ([^|]+) \| ([^|]+) \| [\d.]+ \| [\d.]+ \|$}gm)
	{
		push @found, "$table:1: there is no test/$1" if !$is{$1};
		push @found, "$table:1: $1 has two lines" if $told{$1}++;
		push @found, "$table:1: $1 runs neither by day nor by night" if "$2$3" eq '--';
	}
	return @found, map { "$table:1: $_ is in no line of the table" } grep { !$told{$_} } sort keys %is;
}

1;
