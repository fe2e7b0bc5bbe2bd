# Helpers of the statistical tests: a server of its own for each test, with the
# roles "owner" and "analyst", and the program that judges its answers.
#
# Every p-value is compared with ALPHA = 1e-12, the false-alarm rate of one
# check.  All programs of this folder together make fewer than 1000 such
# comparisons (law and lag checks make several each), which is below 1e-9 a
# run, and below 1e-7 even were the chi-square law wrong by a factor of 100
# that far out.  Checks with a rate of their own say it: fewer than 150 audits
# at 1e-10 are the largest part of those, together below 1.5e-8.  The suite
# stays below 2e-7.
package StatServer;

use strict;
use warnings;

use Exporter 'import';
use File::Temp ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils ();
use StatPrograms qw(build);
use Test::More;

our @EXPORT = qw(stat_node as fetch edited keep show judge follows ALPHA);

use constant ALPHA => 1e-12;

my $bin = build();
my $scratch = File::Temp->newdir('dp_pg_stat_XXXX', TMPDIR => 1);

# A running server; the analyst may spend 10^9 on the owner's dataset.
sub stat_node
{
	my ($name, $sql) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', <<'EOT');
shared_preload_libraries = 'dp_pg'
max_worker_processes = 16
timezone = 'UTC'
dp_pg.reader_memory = '4GB'	# many values in one query
EOT
	$node->start;
	as($node, 'postgres', <<'EOT');
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE analyst LOGIN;
GRANT CREATE ON SCHEMA public TO owner;
EOT
	as($node, 'owner', $sql) if defined $sql;
	return $node;
}

# Runs a script as a role; returns what it printed, unaligned.
sub as
{
	my ($node, $role, $sql) = @_;

	return $node->safe_psql('postgres', $sql,
		extra_params => [ '-U', $role ]);
}

# The same for answers of many rows: they go into a file, whose name is
# answered.  Fields are separated by blanks.
my $files = 0;

sub fetch
{
	my ($node, $role, $sql) = @_;
	my $file = "$scratch/" . ++$files;
	my $script = keep("$sql;");

	PostgreSQL::Test::Utils::system_or_bail(
		'psql', '-XAtq', '-F', ' ', '-v', 'ON_ERROR_STOP=1', '-U', $role,
		'-d', $node->connstr('postgres'), '-o', $file, '-f', $script);
	return $file;
}

# Keeps text in a file, whose name is answered.
sub keep
{
	my ($text) = @_;
	my $file = "$scratch/" . ++$files;

	$text .= "\n" if $text ne '' && $text !~ /\n\z/;
	open(my $out, '>', $file) or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
	return $file;
}

# The lines of a file, or of several one after the other, in one file; a code
# reference, if defined, turns each line into the lines that are kept.
sub edited
{
	my ($edit, @files) = @_;
	my $kept = "$scratch/" . ++$files;

	open(my $out, '>', $kept) or die "$kept: $!";
	foreach my $name (@files)
	{
		open(my $in, '<', $name) or die "$name: $!";
		while (my $line = <$in>)
		{
			chomp $line;
			print $out defined $edit ? $edit->($line) : "$line\n";
		}
		close $in;
	}
	close $out or die "$kept: $!";
	return $kept;
}

# Runs the program `judge` on a file, or on several one after the other;
# returns a hash of what it found.  With a code reference first, that turns
# each line into the lines to be judged.
sub judge
{
	my $edit = ref $_[0] eq 'CODE' ? shift : undef;
	my ($file, @arguments) = @_;
	my $answer;

	$file = edited($edit, ref $file ? @$file : $file) if defined $edit || ref $file;
	$answer = `'$bin/judge' @arguments <'$file'`;
	die "judge @arguments failed" if $? != 0;
	chomp $answer;
	return { map { split /=/, $_, 2 } split / /, $answer };
}

# What judge found, as text.
sub show
{
	my ($found) = @_;

	return join ', ', map { "$_ $found->{$_}" } sort keys %$found;
}

# Passes unless p is below ALPHA or the number of values is not n.
sub follows
{
	my ($found, $n, $name) = @_;

	return ok($found->{n} == $n && $found->{p} >= ALPHA,
		"$name (" . show($found) . ")");
}

1;
