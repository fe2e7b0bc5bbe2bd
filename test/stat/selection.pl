# Permute-and-flip, the exponential mechanism, noisy max, without a server: see selection.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('selection');
