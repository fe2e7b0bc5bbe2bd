# Discrete Laplace and Gaussian noise, undeclared keys, without a server: see
# additive.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('additive');
