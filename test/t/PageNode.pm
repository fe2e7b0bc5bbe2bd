# Helpers of the tests of pages: the SQL of a page of doc/ is run from top to
# bottom, in one psql, and what each block prints is compared with the block
# of output behind it.
package PageNode;

use strict;
use warnings;

use Exporter 'import';
use List::Util 'max';
use PostgreSQL::Test::Utils;
use Test::More;
use Time::Local 'timegm';

our @EXPORT = qw(page_text page_blocks page_commands page_prints page_is);

sub page_text
{
	my ($name) = @_;

	return slurp_file("$FindBin::RealBin/../../doc/$name");
}

# Blocks in order: SQL, and the block of output behind it, if there is one.
# Before that "<!-- within 30 -->" says that its numbers are released values,
# each no further than this from what is printed; "<!-- within 30 0.5 -->" says
# it of each column of numbers in turn, where dates are numbers of days; after
# "<!-- within any -->" nothing but the first line and how many there are is
# always the same.
# A page with "<!-- outputs: some -->" shows not all that is printed: of a block
# the end, without the numbers of rows, or nothing.  The rest must be no error
# and no warning.
# "<!-- not run -->" before a block of SQL: a test cannot run it.
sub page_blocks
{
	my ($text) = @_;
	my $some = $text =~ /^<!-- outputs: some -->$/m;
	my @block;

	$text =~ s/^<!-- not run -->\n```sql\n.*?^```\n//msg;
	while ($text =~ /^```sql\n(.*?)^```\n(?:\n?(?:<!-- within ([\d. ]+|any) -->\n)?```\n(.*?)^```\n)?/msg)
	{
		push @block, { sql => $1, within => $2, wanted => $3 // '', some => $some };
	}
	return @block;
}

# Blocks of commands for a shell, in order, of a page or a part of it.
sub page_commands
{
	my ($text) = @_;

	return $text =~ /^```sh\n(.*?)^```\n/msg;
}

# What each block prints.
sub page_prints
{
	my ($node, @block) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/page.sql';

	append_to_file($script, join '', map { "$block[$_]{sql}\\echo == $_\n" } 0 .. $#block);
	my $command = 'psql -X -q -d "' . $node->connstr('postgres') . "\" <$script 2>&1";
	my @printed = split /^== \d+\n/m, `$command`, -1;

	is(scalar @printed, @block + 1, 'all blocks were run');
	return @printed;
}

# psql ends its tables with an empty line, and pads them.
sub trimmed
{
	my ($output) = @_;

	$output =~ s/[ \t]+$//mg;
	$output =~ s/\n+\z/\n/;
	return $output;
}

# The end of an output that a page with some outputs shows, and what it leaves out.
sub shown
{
	my ($printed, $wanted) = @_;

	$printed =~ s/^\(\d+ rows?\)\n//mg;
	my @line = grep { /\S/ } split /\n/, $printed;
	my $wanted_lines = grep { /\S/ } split /\n/, $wanted;
	my @end = splice @line, max(0, @line - $wanted_lines);

	return (join("\n", @end) . "\n", join("\n", @line) . "\n");
}

# The days before a date.
sub days
{
	my ($date) = @_;
	my ($year, $month, $day) = split /-/, $date;

	return timegm(0, 0, 0, $day, $month - 1, $year) / 86400;
}

# An output without the widths of its columns: words, and its numbers apart,
# the lengths of bars among them.  When it was printed makes no difference.  What
# remains of a budget is such a number: a session of weights costs a little more
# or less by the noise of its n.
sub parts
{
	my ($output, $days) = @_;
	my (@words, @numbers);

	$output =~ s/\d{4}-\d\d-\d\d (?!00:00:00)\d\d:\d\d:\d\d(?:\.\d+)?\+00/(time)/g;
	$output =~ s/((?:now|after it) epsilon \d+\.\d+),/$1 ,/g;
	$output =~ s/\{([-\d,]+)\}/"{ " . $1 =~ s{,}{ , }gr . " }"/ge;
	$output =~ s/\b(\d{4}-\d\d-\d\d)\b/days($1)/ge if $days;
	foreach my $word (split /[\s|+]+|-{2,}/, $output)
	{
		next if $word eq '';
		my $number = $word =~ /^#+$/ ? length $word : $word =~ /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/ ? $word : undef;

		push @numbers, $number if defined $number;
		push @words, defined $number ? '#' : $word;
	}
	return ("@words", @numbers);
}

sub near
{
	my ($printed, $wanted, $within, $name) = @_;

	if ($within eq 'any')
	{
		my ($is, $should) = map { [ split /\n/, trimmed($_) =~ s/ +/ /gr ] } $printed, $wanted;

		is_deeply([ $is->[0], scalar @$is ], [ $should->[0], scalar @$should ], "$name: its form") or diag($printed);
		return;
	}

	my @within = split / /, $within;
	my ($is, @is) = parts($printed, @within > 1);
	my ($should, @should) = parts($wanted, @within > 1);

	is($is, $should, "$name: the words") or return diag($printed);
	my @far = grep { abs($is[$_] - $should[$_]) > $within[ $_ % @within ] } 0 .. $#should;
	ok(!@far, "$name: the numbers, within $within")
	  or diag(join ', ', map { "$is[$_], not about $should[$_]" } @far);
	return;
}

# A page prints what it says.
sub page_is
{
	my ($node, $page, @block) = @_;
	my @printed = page_prints($node, @block);

	foreach my $i (0 .. $#block)
	{
		my ($first) = $block[$i]{sql} =~ /^(.*)$/m;
		my $name = "$page, block $i: $first";
		my ($is, $wanted) = ($printed[$i] // '', $block[$i]{wanted});

		if ($block[$i]{some})
		{
			($is, my $rest) = shown($is, $wanted);
			($wanted) = shown($wanted, $wanted);
			unlike($rest, qr/^(?:ERROR|FATAL|WARNING|invalid |error)/m, "$name: no error");
		}
		if (defined $block[$i]{within})
		{
			near($is, $wanted, $block[$i]{within}, $name);
		}
		else
		{
			is(trimmed($is), trimmed($wanted), $name);
		}
	}
	return;
}

1;
