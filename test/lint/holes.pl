# The holes that test/fuzz/holes.sh reopens: each patch applies to the checkout as
# it is, to sources only, and names a machine that exists.  So does that of
# test/flakes/flakes.sh.
use strict;
use warnings;

use FindBin;
use Test::More;

my $top = "$FindBin::RealBin/../..";

sub slurp
{
	my ($path) = @_;

	open my $file, '<', $path or die "$path: $!";
	local $/;
	return <$file>;
}

# Does it apply?  A copy of the checkout is in no repository.
sub applies
{
	my ($text) = @_;

	open my $git, '|-', "cd '$top' && git apply --check - 2>/dev/null" or die "git: $!";
	print $git $text;
	return close $git;
}

my @patches = sort glob "$FindBin::RealBin/../fuzz/holes/*.patch";

cmp_ok(scalar @patches, '>=', 8, 'there are holes to put back');
foreach my $path (@patches)
{
	my ($name) = $path =~ m{([^/]+)\.patch$};
	my $text = slurp($path);
	my ($machine) = $text =~ m{^Machine: (\S+\.pl)$}m;
	my @changed = $text =~ m{^\+\+\+ b/(\S+)}mg;

	ok(applies($text), "$name applies");
	ok(defined $machine && -f "$top/test/$machine", "$name: there is its machine");
	like($text, qr/^Queries: [1-9]\d*$/m, "$name: it has a number of queries");
	ok(@changed && !grep({ !m{^src/} } @changed), "$name: sources only");
}

ok(applies(slurp("$top/test/flakes/draws.patch")), 'the draws can be shown');

# One that does not fit is noticed.
my $text = slurp($patches[0]);
$text =~ s/^-(?!-).*$/-no such line/m;
ok(!applies($text), 'a patch of other sources does not apply');

done_testing();
