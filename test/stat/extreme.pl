# Least and greatest values, without a server: see extreme.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('extreme');
