# pgjdbc against a private server: see Smoke.java, which does the checks.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $driver = $ENV{DP_PG_JDBC} || '/usr/share/java/postgresql.jar';

plan tests => 28;
ok(-f $driver, "pgjdbc is installed: $driver");

# pgjdbc speaks TCP only.
my $node = PostgreSQL::Test::Cluster->new('jdbc');
$node->init;
$node->append_conf('postgresql.conf', <<'EOT');
shared_preload_libraries = 'dp_pg'
listen_addresses = '127.0.0.1'
EOT
$node->start;
$node->safe_psql('postgres', <<'EOT');
CREATE EXTENSION dp_pg;
CREATE ROLE analyst LOGIN;
CREATE TABLE person (health text NOT NULL, visits int, weight float8);
INSERT INTO person
SELECT (ARRAY['excellent', 'good', 'fair', 'poor'])[1 + i % 4], i % 20, i % 100
FROM generate_series(1, 10000) AS i;
COMMENT ON TABLE person IS 'People of the clinic';
COMMENT ON COLUMN person.health IS 'As they feel';
CREATE SCHEMA bi;
GRANT USAGE ON SCHEMA bi TO analyst;
SELECT dp_protect('person', dataset => 'clinic', publish => 'bi.people');
SELECT dp_declare('person', 'health',
				  keys => ARRAY['excellent', 'good', 'fair', 'poor']);
SELECT dp_declare('person', 'visits', lower => 0, upper => 20);
SELECT dp_grant('analyst', 'clinic', epsilon => 10);
EOT

my $url = 'jdbc:postgresql://127.0.0.1:' . $node->port
  . '/postgres?sslmode=disable';
my ($out, $err) = run_command(
	[
		'java', '-XX:-UsePerfData', '-cp', $driver,
		"$FindBin::RealBin/Smoke.java", $url
	]);

diag($err) if $err ne '';
for my $line (split /\n/, $out)
{
	if ($line =~ /^(not )?ok (.*)/)
	{
		ok(!$1, $2);
	}
	else
	{
		diag($line);
	}
}
# 25 checks above; fewer when the program died.
is($node->safe_psql('postgres', 'SELECT count(*) FROM dp_pg.ledger'),
	48, 'as many ledger rows as answered executions');
$node->stop;
