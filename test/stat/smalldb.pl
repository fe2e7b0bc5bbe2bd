# SmallDB, without a server: see smalldb.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('smalldb');
