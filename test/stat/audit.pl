# Privacy audits without a server: see audit.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(build);

my $program = build() . '/audit';
exec $program or die "$program: $!";
