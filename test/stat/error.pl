# Errors that theorems and recipes promise, without a server: see error.c.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatPrograms qw(run);

run('error');
