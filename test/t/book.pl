# doc/book.md, run from top to bottom: every block of SQL as it stands, and its
# output compared with the block after it.  Released values are tested for being
# near the true ones; any of them is not with a probability below 10^-9 in all.
# And: each statement has SQL and a theorem that exists, or is in the list of those
# that are only mathematics; no number of the book's chapters 2 to 5.2 is missing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PageNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $text = page_text('book.md');
my $theory = page_text('theory.md');

# ---- the page ----

my @block = page_blocks($text);
cmp_ok(scalar @block, '>', 30, 'blocks of SQL');

my ($shown, $rest) = $text =~ /\A(.*?)^## Only mathematics\n(.*)\z/ms or BAIL_OUT('no list of what is only mathematics');
my @section = split /^(?=##+ )/m, $shown;
foreach my $section (grep { /\A### / } @section)
{
	my ($title) = $section =~ /\A### (.*)\n/;

	like($section, qr/^```sql\n/m, "has SQL: $title");
	my @theorem = ($section =~ /\bT(\d+)\b/g, map { $_->[0] .. $_->[1] } map { [ /T(\d+) to T(\d+)/ ] } $section =~ /(T\d+ to T\d+)/g);

	ok(@theorem > 0, "names a theorem: $title");
	is_deeply([ grep { $theory !~ /^### T$_\. /m && $_ != 76 } @theorem ], [], "which exists: $title");
}

# "Theorems 3.14 to 3.16", "Definitions 3.2 and 3.3", "Theorem 3.6": kind and number.
my %has;
foreach my $part (map { /\A### (.*)\n/ ? $1 : () } @section)
{
	add_statements($part);
}
add_statements($rest =~ s/\n +/ /gr);

sub add_statements
{
	my ($line) = @_;

	while ($line =~ /\b(Definition|Theorem|Lemma|Claim|Proposition|Corollary|Example|Algorithm|Remark|Fact|Lemma)s? ((?:[\d.]+\d|\d)(?:(?:,? \([^)]*\))?(?:,| and| to|, \D{0,3}) (?:[\d.]+\d|\d))*)/g)
	{
		my ($kind, $numbers) = ($1, $2);
		my $before;

		$numbers =~ s/\([^)]*\)//g;
		while ($numbers =~ /(to )?(?:(\d)\.)?(\d+)/g)
		{
			my ($range, $chapter, $number) = ($1, $2 // '', $3);

			$has{"$kind $chapter.$_"} = 1 foreach ($range ? $before + 1 : $number) .. $number;
			$before = $number;
		}
	}
	return;
}

my %wanted = (
	Definition => { 2 => [ 1 .. 4 ], 3 => [ 1 .. 10 ], 4 => [ 1, 2 ], 5 => [ 1 .. 6 ] },
	Proposition => { 2 => [1], 4 => [ 1, 4 ], 5 => [ 1, 2 ] },
	Theorem => { 2 => [2], 3 => [ 1 .. 4, 6, 8, 10, 11, 13, 14, 16, 20, 22 .. 28 ], 4 => [ 2, 5, 6, 8 .. 10, 13 .. 15 ], 5 => [ 3 .. 15 ] },
	Claim => { 3 => [ 5, 9 ], 4 => [11] },
	Fact => { 3 => [7] },
	Lemma => { 3 => [ 17 .. 19 ], 4 => [ 3, 7, 12 ] },
	Corollary => { 3 => [ 12, 15, 21 ] },
	Example => { 3 => [ 1 .. 7 ], 4 => [1] },
	Remark => { 2 => [1], 3 => [1], 5 => [ 1, 2 ] },
	Algorithm => { '' => [ 1 .. 11 ] });
# The statements of a chapter share one numbering: none is left out of it.
foreach my $chapter (2 .. 5)
{
	my %number = map { $_ => 1 } map { @{ $wanted{$_}{$chapter} // [] } } qw(Proposition Theorem Claim Fact Lemma Corollary);
	my ($last) = sort { $b <=> $a } keys %number;

	is_deeply([ sort { $a <=> $b } keys %number ], [ 1 .. $last ], "chapter $chapter: every number up to $last");
}
my @missing;
foreach my $kind (sort keys %wanted)
{
	foreach my $chapter (sort keys %{ $wanted{$kind} })
	{
		push @missing, map { "$kind $chapter.$_" } grep { !$has{"$kind $chapter.$_"} } @{ $wanted{$kind}{$chapter} };
	}
}
is_deeply(\@missing, [], 'no numbered statement is missing');

# ---- what it prints ----

my $node = PostgreSQL::Test::Cluster->new('book');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'\ntimezone = 'UTC'\n");
$node->start;

page_is($node, 'book.md', @block);

done_testing();
