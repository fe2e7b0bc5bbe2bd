# The generators of dp_synthesize, without a server: see synthesize.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('synthesize');
