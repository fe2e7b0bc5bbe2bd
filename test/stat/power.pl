# What the law, support and independence tests must reject, without a server: see power.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('power');
