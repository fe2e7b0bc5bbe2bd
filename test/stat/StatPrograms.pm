# The C programs of this folder.
package StatPrograms;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(:flock);
use FindBin;

our @EXPORT_OK = qw(build run);

# Builds them, one test at a time; returns where they are.
sub build
{
	open(my $lock, '<', "$FindBin::RealBin/Makefile") or die "Makefile: $!";
	flock($lock, LOCK_EX) or die "lock: $!";
	my $said = `make -s -C '$FindBin::RealBin' all 2>&1`;

	die "build failed:\n$said" if $? != 0;
	return "$FindBin::RealBin/bin";
}

# Becomes one of them.
sub run
{
	my ($name) = @_;
	my $program = build() . "/$name";

	exec $program or die "$program: $!";
}

1;
