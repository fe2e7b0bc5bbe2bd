# node-postgres, Evidence, Malloy and Cube on a protected table: each program of
# this folder does the checks of one.  Their packages are installed by npm into a
# temporary folder, in the versions of package-lock.json; it is a failure if they
# are not available.  They run on Debian 12's nodejs, 18.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use ClientNode;
use File::Copy qw(copy);
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir();
foreach my $file (glob("$FindBin::RealBin/*.js*"))
{
	copy($file, $folder) or die "$file: $!";
}

# No script of a package runs, and nothing but packages is downloaded.
my ($out, $err) = ('', '');
my $installed = IPC::Run::run(
	[ 'npm', 'ci', '--prefix', $folder, qw(--ignore-scripts --omit=optional --no-audit --no-fund --no-update-notifier) ],
	'>', \$out, '2>', \$err);
ok($installed, 'npm installs what the lockfile names') or BAIL_OUT("$out$err");

my $node = client_node('node');

value($node, <<'EOT');
CREATE ROLE carol LOGIN;
GRANT USAGE ON SCHEMA bi TO carol;
ALTER ROLE carol SET dp_pg.transparent = on;
ALTER ROLE carol SET dp_pg.epsilon = '1000000';
ALTER ROLE carol SET dp_pg.max_keys = 2;
ALTER ROLE carol SET dp_pg.max_rows = 1;
ALTER ROLE carol SET dp_pg.delta = '1e-9';
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('carol', 'h', epsilon => 1000000000, delta => 0.01);
EOT

foreach my $tool (qw(pg evidence malloy cube))
{
	checks($tool, 'node', "$folder/$tool.js", $node->host, $node->port);
}
done_testing();
