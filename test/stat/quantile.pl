# Quantiles and the envelope sampler, without a server: see quantile.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('quantile');
