# Privacy audits of counts, sums and means, without a server: see audit.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('audit');
