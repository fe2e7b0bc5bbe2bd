# Attack: what a private query writes to disk.  A role that may call
# pg_tablespace_size('pg_default') sees the temporary files of all processes, to the
# byte, while they exist.  So sorting, grouping and counting distinct values must
# write none, however many rows, values and groups there are.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node log_mark log_since);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReleaseNode qw(quiet_session);
use Test::More;

my $n = 1_200_000;
my $node = attack_node('attack_disk',
	"log_temp_files = 0\njit = off\nmax_wal_size = 4GB\nfsync = off\n");

# Distinct values: more than fit the memory that they are counted in.
value($node, <<"EOT");
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY, code varchar(40) NOT NULL, half int NOT NULL, ward text);
INSERT INTO visits SELECT i, md5(i::text) || (i % 10), i / 2,
	CASE WHEN i % 3 > 0 THEN 'w' || i % 3 ELSE md5(i::text) END FROM generate_series(1, $n) i;
SELECT dp_protect('visits', dataset => 'hospital');
SELECT dp_declare('visits', 'ward', keys => ARRAY['w1', 'w2'], other => 'else');
SELECT dp_declare('visits', 'code', keys => ARRAY['a', 'b']);
SELECT dp_declare('visits', 'half', lower => 0, upper => 100);
EOT

my $spy = quiet_session($node, 'analyst');
my $forced = quiet_session($node, 'analyst');
answer($forced, "SET dp_pg.epsilon = '1000';");

# Answers, and every size that was seen while the statement ran.
sub watched
{
	my ($sql) = @_;
	my %sizes;
	my ($out, $err);

	ask($forced, "$sql;");
	for (my $ended = 0; !$ended;)
	{
		my ($size) = answer($spy, "SELECT pg_tablespace_size('pg_default') || ' ' || (SELECT count(*) FROM pg_stat_activity WHERE pid = $forced->{pid} AND state <> 'idle');");

		$ended = $size !~ / 1$/;
		$size =~ s/ .*//s;
		$sizes{$size} = 1;
	}
	($out, $err) = answer($forced, '');
	return ($out, $err, join(' ', sort keys %sizes));
}

my $quarter = $n / 2 + 1;
my @queries = (
	# a column with declared keys has no more values than these, a text made of it has
	[ 'values are told apart', 'SELECT dp_count(DISTINCT upper(code)) FROM visits', $n ],
	[ 'in halves', 'SELECT dp_count(DISTINCT half) FROM visits', $quarter ],
	[ 'two sets beside a count',
		'SELECT dp_count(*), dp_count(DISTINCT upper(code)), dp_count(DISTINCT half) FROM visits',
		"$n|$n|$quarter" ],
	[ 'by groups', 'SELECT ward, dp_count(DISTINCT upper(code)) FROM visits GROUP BY ward',
		join("\n", map { "$_|" . $n / 3 } qw(w1 w2 else)) . "\n|0" ],
	[ 'by a key that is hardly ever public', 'SELECT code, dp_count(*) FROM visits GROUP BY code',
		"a|0\nb|0" ],
	[ 'by two such keys', 'SELECT sum(c) FROM (SELECT half, code, dp_count(*) AS c FROM visits GROUP BY half, code) AS t', 0 ],
	[ 'a median by groups', 'SELECT ward, ward IS NULL OR dp_median(half, 0, 1000000) BETWEEN 100 AND 700000 FROM visits GROUP BY ward',
		"w1|t\nw2|t\nelse|t\n|t" ],
);

# A count at epsilon 1000 is wrong with probability below 10^-434.
answer($forced, 'SELECT dp_count(*) FROM visits;');    # opens what it opens
for (@queries)
{
	my ($name, $sql, $expected) = @$_;
	my $mark = log_mark($node);
	my ($out, $err, $sizes) = watched($sql);

	is($err, '', "$name: answered");
	is($out, $expected, "$name: what is answered");
	unlike($sizes, qr/ /, "$name: the size of the tablespace stays");
	unlike(log_since($node, $mark), qr/temporary file/,
		"$name: no temporary file of PostgreSQL's");
}

# The watch sees an owner's own query that sorts on disk.
{
	my $owner = quiet_session($node, 'owner');
	my $mark = log_mark($node);

	answer($owner, "SET work_mem = '1MB'; SELECT count(DISTINCT code) FROM visits;");
	like(log_since($node, $mark), qr/temporary file/, 'the log tells of temporary files');
	hang_up($owner);
}

# The files that the sets used have no names, and are gone.
is_deeply([ glob($node->data_dir . '/base/dp_pg.*') ], [], 'no file of ours has a name');
hang_up($_) for $spy, $forced;
$node->stop;
done_testing();
