# What the attacks that need several sessions, restarts or logs start from: a
# server with a data owner, an analyst with a large budget, and one table.
package AttackNode;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(attack_node as errors log_mark log_since forced_parallel
  test_library);
our @EXPORT_OK = qw(bounding_node bounded protect);

# A running server; conf is appended to postgresql.conf.  Answers are exact
# for tests that need it: with epsilon 1000 a count is wrong with probability
# 2 exp(-1000).
sub attack_node
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', <<'EOT');
shared_preload_libraries = 'dp_pg'
dp_pg.epsilon_ceiling = '1000000'
max_worker_processes = 16
autovacuum = off
timezone = 'UTC'
EOT
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	$node->start;
	$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE analyst LOGIN;
GRANT CREATE ON SCHEMA public TO owner, analyst;
ALTER ROLE analyst SET dp_pg.epsilon = '1000';
SET SESSION AUTHORIZATION owner;
CREATE TABLE patients (id int PRIMARY KEY, age int, name text, doc text);
ALTER TABLE patients ALTER doc SET STORAGE EXTERNAL;
INSERT INTO patients SELECT i, i % 100,
	CASE WHEN i % 3 = 0 THEN 'often' ELSE 'n' || i END, repeat(md5(i::text), 10)
FROM generate_series(1, 10000) i;
SELECT dp_protect('patients', dataset => 'hospital');
SELECT dp_declare('patients', 'age', lower => 0, upper => 120);
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 1e9, delta => 1e-6);
EOT
	return $node;
}

# The same for relations with many rows of a unit, at a huge epsilon.
my $bounding;

sub bounding_node
{
	my ($name, $conf) = @_;

	$bounding = attack_node($name, <<"EOT" . ($conf // ''));
dp_pg.epsilon_ceiling = '20000000'
dp_pg.readers = 2
fsync = off
jit = off
max_wal_size = 4GB
EOT
	value($bounding, 'ALTER ROLE analyst SET dp_pg.epsilon = 20000000');
	value($bounding, "SET SESSION AUTHORIZATION owner; SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 9e11, delta => 1e-3)");
	return $bounding;
}

# The answer at m rows and kappa groups of a unit, and a total; errors are part of it.
sub bounded
{
	my ($m, $kappa, $sql, $total) = @_;
	my ($out, $err) = as($bounding, 'analyst', "SET dp_pg.max_rows = $m; SET dp_pg.max_keys = $kappa; "
		  . (defined $total ? "SET dp_pg.max_total = $total; " : '') . $sql);

	return $err eq '' ? $out : "$out$err";
}

# Of a relation of the owner's: its unit, and what else he does.
sub protect
{
	my ($relation, $more) = @_;

	return value($bounding, "SET SESSION AUTHORIZATION owner; SELECT dp_protect('$relation', unit => 'u', dataset => 'hospital');"
		  . ($more // ''));
}

# The path of a library of test functions, NAME.c, built now; the folders of
# the system's PostgreSQL have what a private installation lacks.  A file of
# src that NAME.c includes may call others, which no library of a later version
# exports: with its name, they are linked into this one.
sub test_library
{
	my ($name, $included) = @_;
	my $folder = dirname(__FILE__);
	my $library = PostgreSQL::Test::Utils::tempdir() . "/$name.so";
	my $source = "$folder/../../src";
	my $config = $ENV{DP_PG_SYSTEM_CONFIG};
	my ($cc, $cflags, $cppflags, $include) = map { my $v = `$config --$_`; chomp $v; $v }
	  qw(cc cflags cppflags includedir-server);
	my @objects = defined $included ? grep { !m{/\Q$included\E\.o$} } glob "$source/*/*.o $source/*/*/*.o" : ();

	system("$cc $cflags -Werror -fPIC -shared $cppflags -I$include"
		  . " -I$source -o $library $folder/$name.c @objects " . ($ENV{DP_PG_TEST_LINK} // '')
		  . (@objects ? ' -Wl,-Bsymbolic -lcrypto' : '')) == 0
	  or die "$name.c does not compile";
	return $library;
}

# The setting that gives every plan a worker.
sub forced_parallel
{
	my ($node) = @_;

	return $node->pg_version >= 16 ? 'debug_parallel_query' :
	  'force_parallel_mode';
}

# Run a script as somebody; returns (output, messages).
sub as
{
	my ($node, $user, $sql) = @_;
	my ($out, $err) = ('', '');

	$node->psql(
		'postgres', $sql,
		extra_params => [ '-U', $user ],
		on_error_stop => 0,
		timeout => 180,
		stdout => \$out,
		stderr => \$err);
	return ($out, $err);
}

# The messages alone.
sub errors
{
	my ($out, $err) = as(@_);

	return $err;
}

sub log_mark
{
	my ($node) = @_;

	return -s $node->logfile;
}

sub log_since
{
	my ($node, $mark) = @_;

	open my $fh, '<', $node->logfile or die $!;
	seek $fh, $mark, 0;
	local $/;
	my $text = <$fh>;
	close $fh;
	return $text // '';
}

1;
