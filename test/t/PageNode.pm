# Helpers of the tests of pages: the SQL of a page of doc/ is run from top to
# bottom, in one psql, and what each block prints is compared with the block
# of output behind it.
package PageNode;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(page_text page_blocks page_prints page_is);

sub page_text
{
	my ($name) = @_;

	return slurp_file("$FindBin::RealBin/../../doc/$name");
}

# Blocks in order: SQL, and the block of output behind it, if there is one.
# Before that "<!-- within 30 -->" says that its numbers are released values,
# each no further than this from what is printed.
sub page_blocks
{
	my ($text) = @_;
	my @block;

	while ($text =~ /^```sql\n(.*?)^```\n(?:\n?(?:<!-- within ([\d.]+) -->\n)?```\n(.*?)^```\n)?/msg)
	{
		push @block, { sql => $1, within => $2, wanted => $3 // '' };
	}
	return @block;
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

# An output without the widths of its columns: words, and its numbers apart,
# the lengths of bars among them.
sub parts
{
	my ($output) = @_;
	my (@words, @numbers);

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
	my ($is, @is) = parts($printed);
	my ($should, @should) = parts($wanted);

	is($is, $should, "$name: the words") or return diag($printed);
	my @far = grep { abs($is[$_] - $should[$_]) > $within } 0 .. $#should;
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

		if (defined $block[$i]{within})
		{
			near($printed[$i] // '', $block[$i]{wanted}, $block[$i]{within}, $name);
		}
		else
		{
			is(trimmed($printed[$i] // ''), trimmed($block[$i]{wanted}), $name);
		}
	}
	return;
}

1;
