# What the tests of released values must reject: see power.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(build);

my $program = build() . '/power';
exec $program or die "$program: $!";
