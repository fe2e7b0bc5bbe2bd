# Sparse vector, all methods, without a server: see sparse.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('sparse');
