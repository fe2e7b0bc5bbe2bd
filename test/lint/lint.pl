# The house rules, checked over the checkout: one test per rule.
use strict;
use warnings;

use File::Find;
use FindBin;
use lib $FindBin::RealBin;
use Lint;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my %tree;
my %folders;

find(
	{
		no_chdir => 1,
		wanted => sub {
			return if !-f || -l;
			my $path = substr($File::Find::name, length($top) + 1);

			return if $path =~ m{^\.git/} || $path =~ m{/bin/};
			$folders{$1} = 1 if $path =~ m{^(src(?:/\w+)+(?=/[^/]+$)|test/\w+)/} && $path !~ m{\.(o|bc)$};
			return if $path =~ m{^sql/dp_pg--};
			return if $path !~ m{\.(c|h|sql|pl|pm|sh|java|spec|conf|md|out)$};
			open my $fh, '<', $File::Find::name or die "$path: $!";
			local $/;
			$tree{$path} = <$fh>;
			close $fh;
		}
	},
	$top);

if (-f "$top/dp_pg.so")
{
	$tree{$Lint::symbols} = `nm -D --defined-only $top/dp_pg.so`;
}
$tree{$LintHouse::folders} = join "\n", sort keys %folders;
$tree{$LintHouse::objects} = `cd $top && nm -A src/*.o src/*/*.o src/*/*/*.o 2>/dev/null`;
ok($tree{$Lint::symbols}, 'the library is built and has symbols');
ok($tree{$LintHouse::objects}, 'its objects are there');
ok(scalar(grep { m{^src/} } keys %tree) > 0, 'there are sources');

for my $name (sort keys %Lint::rules)
{
	my @found = $Lint::rules{$name}->(\%tree);

	is(scalar(@found), 0, $name) or diag(join "\n", @found);
}
done_testing();
