# Histograms and variances, without a server: see aggregate.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('aggregate');
