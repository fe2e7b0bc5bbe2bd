# Shell commands on pages of doc/ are run as printed: dumps are restored, and
# budgets, declarations and the ledger are as before, including what was spent.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PageNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $owner = page_text('owner.md');
my ($roles_and_all, $on_the_new, $keep, $again) = page_commands(section('Back up and restore'));
my ($uninstall) = page_commands(section('Uninstall'));
my ($report) = page_commands(section('Watch'));
my ($tutorial) = page_commands(page_text('tutorial.md'));

is(scalar(() = page_commands($owner)), 6, 'all commands of owner.md are run here');
foreach my $page (map { s/.*\///r } glob "$FindBin::RealBin/../../doc/*.md")
{
	my $n = { 'owner.md' => 6, 'tutorial.md' => 1 }->{$page} // 0;
	my $text = page_text($page);

	is(scalar(() = page_commands($text)), $n, "$page: $n blocks of commands") if $n || $text =~ /^```sh/m;
	unlike($text, qr/^```\n(?:psql|createdb|dropdb|pg_(?!ctlcluster)\w+) /m, "$page: commands are in blocks of sh");
}

my $old = PostgreSQL::Test::Cluster->new('old');
my $new = PostgreSQL::Test::Cluster->new('new');

foreach my $node ($old, $new)
{
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'\nmax_worker_processes = 12\n");
	$node->start;
}
mkdir $old->basedir . '/files' or die;
chdir $old->basedir . '/files' or die;

$old->safe_psql('postgres', 'CREATE DATABASE hospital');
$old->safe_psql('hospital', <<'EOT');
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE ana LOGIN;
CREATE ROLE bob LOGIN;
CREATE ROLE backup LOGIN IN ROLE pg_read_all_data;
GRANT CREATE ON SCHEMA public TO owner, ana;
SET SESSION AUTHORIZATION owner;
CREATE TABLE patients (id int PRIMARY KEY, ward text NOT NULL, age int);
INSERT INTO patients SELECT i, chr(65 + i % 3), i % 95 FROM generate_series(1, 1000) i;
SELECT dp_protect('patients', unit => 'id', dataset => 'hospital');
SELECT dp_declare('patients', 'ward', keys => ARRAY['A', 'B', 'C']);
SELECT dp_declare('patients', 'ward', immutable => true);
SELECT dp_declare('patients', 'age', lower => 0, upper => 120);
SELECT dp_grant('ana', 'hospital', epsilon => 3, delta => 1e-6, renew => '7 days');
SELECT dp_grant('bob', 'hospital', epsilon => 1);
SELECT dp_limit('hospital', epsilon => 50, delta => 1e-5);
SET SESSION AUTHORIZATION ana;
CREATE VIEW wards AS SELECT ward, dp_count(*) AS n FROM patients GROUP BY ward;
CREATE MATERIALIZED VIEW kept AS SELECT dp_count(1, 0.5) AS n FROM patients;
SELECT dp_count(*) FROM patients WHERE ward = 'A';
SET dp_pg.epsilon = '0.25';
SELECT dp_avg(age) FROM patients;
EOT

# ---- the extension's own dump ----

my $state = state_of($old);

is(() = $state =~ /^budget /mg, 2, 'there are budgets');
is(() = $state =~ /^ledger /mg, 3, 'and charges');
runs($old, $keep, 'keep what the extension knows');
is(charged($old, 'bob', 0.2), '', 'what is charged after the dump');
drop_extension($old, 'CASCADE');
is($old->safe_psql('hospital', 'SELECT count(*) FROM patients'), 1000, 'tables remain');
runs($old, $again, 'and have it again');
is(state_of($old), $state, 'budgets, declarations and ledger are what they were');
is($old->safe_psql('hospital', "SELECT spent, remaining_epsilon FROM dp_pg.my_budget", extra_params => [ '-U', 'ana' ]),
	'0.85|2.15', 'with what was spent');
is(charged($old, 'ana', 2.2), '53400', 'of which nothing was given back');
is(charged($old, 'ana', 0.15), '', 'a query is charged');
is($old->safe_psql('hospital', "SELECT spent, remaining_epsilon FROM dp_pg.my_budget", extra_params => [ '-U', 'ana' ]),
	'1|2', 'on top of it');
is($old->safe_psql('hospital', 'SELECT max(id) FROM dp_pg.ledger'), 4, 'and recorded behind the others');

# A column that never changes is one again when it is declared.
sub parts
{
	return $old->safe_psql('hospital', "SELECT dp_count(1, 0.01) IS NULL FROM patients WHERE ward = 'A'; SELECT partition IS NOT NULL FROM dp_pg.ledger ORDER BY id DESC LIMIT 1", extra_params => [ '-U', 'ana' ]);
}
is(parts(), "f\nf", 'without its trigger a column finds no part');
$old->safe_psql('hospital', "SELECT dp_declare('patients', 'ward', immutable => true)", extra_params => [ '-U', 'owner' ]);
is(parts(), "f\nt", 'and does when it is declared again');

# What the page says of the options.
my $only_schema = `pg_dump -U postgres -n dp_pg -h @{[ $old->host ]} -p @{[ $old->port ]} hospital`;
is($?, 0, 'with -n alone no error');
unlike($only_schema, qr/^(?:COPY|CREATE)/m, 'and nothing');
my $only_extension = `pg_dump -U postgres -e dp_pg -h @{[ $old->host ]} -p @{[ $old->port ]} hospital`;
like($only_extension, qr/^CREATE TABLE public\.patients/m, 'with -e alone other things, too');
ok(slurp_file('dp_pg.sql') !~ /^CREATE (?:TABLE|VIEW)/m, 'with both the extension alone');

# ---- another server ----

value($old, 'SET SESSION AUTHORIZATION ana; CREATE MATERIALIZED VIEW kept AS SELECT dp_count(1, 0.05) AS n FROM patients; CREATE VIEW wards AS SELECT ward, dp_count(*) AS n FROM patients GROUP BY ward', 'hospital');
$state = state_of($old);
runs($old, $roles_and_all, 'dump everything');
# A superuser cannot fill a materialized view over a private query.
runs($old, 'pg_dump -Fc --exclude-table-data=public.kept -f hospital.dump hospital', 'without the rows of a materialized view');
like($owner, qr/`pg_dump\s+--exclude-table-data=SCHEMA.VIEW`/, 'as the page says');
runs($new, $on_the_new, 'restore it');
is(state_of($new), $state, 'all is as it was');
my $is_copy = "SELECT count(*) FROM dp_audit() WHERE severity = 'critical' AND finding LIKE 'it is a copy of %'";
is($old->safe_psql('hospital', $is_copy), 0, 'what was restored in its place is no copy');
is($new->safe_psql('hospital', $is_copy), 1, 'what was restored elsewhere is one');
my ($home) = $owner =~ /^\s+(UPDATE dp_pg\.dataset SET home = .*;)$|`(UPDATE dp_pg\.dataset\s+SET home = [^`]*)`/m ? ($1 // $2) : die;
$new->safe_psql('hospital', $home);
is($new->safe_psql('hospital', $is_copy), 0, 'until a superuser says that it takes the place');
is(charged($new, 'ana', 2), '53400', 'nothing was given back');
is(charged($new, 'ana', 0.1), '', 'a query is charged');
is( $new->safe_psql('hospital', "SELECT total_epsilon, charges FROM dp_pg.budget WHERE role_name = 'ana'"),
	$old->safe_psql('hospital', "SELECT total_epsilon + 0.1, charges + 1 FROM dp_pg.budget WHERE role_name = 'ana'"),
	'on top of what was spent');

# ---- without the extension's rows; a page; the end ----

like($owner, qr/`pg_dump -N dp_pg`/, 'who may not read them leaves them out');
runs($old, 'pg_dump -N dp_pg -f without.sql hospital', 'as a member of pg_read_all_data', 'backup');
like(slurp_file('without.sql'), qr/^CREATE TABLE public\.patients/m, 'and has the rest');
runs($old, $report, 'a page for the owner');
like(slurp_file('hospital.html'), qr/<html.*hospital/s, 'which is one');
$old->safe_psql('postgres', 'CREATE DATABASE tutorial');
$old->safe_psql('tutorial', <<'EOT');
CREATE EXTENSION dp_pg;
CREATE ROLE clinic LOGIN;
GRANT CREATE ON SCHEMA public TO clinic;
SET SESSION AUTHORIZATION clinic;
CREATE TABLE rand (id int PRIMARY KEY);
SELECT dp_protect('rand', unit => 'id', dataset => 'rand');
EOT
runs($old, $tutorial, 'that of the tutorial');
like(slurp_file('rand.html'), qr/<html.*rand/s, 'is one, too');

$old->safe_psql('hospital', 'DROP MATERIALIZED VIEW kept; DROP VIEW wards; SELECT dp_unprotect(\'patients\'); SELECT dp_unharden()');
unlink 'dp_pg.sql';
runs($old, $uninstall, 'uninstall');
is($old->safe_psql('hospital', "SELECT count(*) FROM pg_extension WHERE extname = 'dp_pg'"), 0, 'it is gone');
runs($old, $again, 'and can come back');
is($old->safe_psql('hospital', "SELECT sum(total_epsilon) FROM dp_pg.budget"),
	$new->safe_psql('hospital', "SELECT sum(total_epsilon) - 0.1 FROM dp_pg.budget"), 'with budgets as they were');
$old->stop;
$new->stop;
done_testing();

# A section of owner.md.
sub section
{
	my ($title) = @_;

	return $owner =~ /^(## \Q$title\E\n.*?)(?=^## |\z)/ms ? $1 : die "no section $title";
}

# Each line ends well, as a superuser or as somebody else.
sub runs
{
	my ($node, $commands, $name, $user) = @_;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGUSER} = $user // 'postgres';
	delete local $ENV{PGDATABASE};

	foreach my $command (split /\n/, $commands)
	{
		# A redirection is the shell's.
		is(system($command . ($command =~ / > / ? '' : ' >/dev/null')), 0, "$name: $command");
	}
	return;
}

# All that is dumped, without what belongs to a cluster.
sub state_of
{
	my ($node) = @_;

	return join "\n", map {
		$node->safe_psql('hospital', "SELECT '$_ ' || (to_jsonb(r) - ARRAY['role_oid', 'payer_oid', 'owner_oid', 'relid_origin', 'grantee_oid', 'grantor_oid', 'cluster', 'home'])::text AS row FROM dp_pg.$_ r ORDER BY 1")
	} qw(dataset budget ledger relation attribute batch hardened released session);
}

sub drop_extension
{
	my ($node, $how) = @_;

	$node->safe_psql('hospital', "DROP EXTENSION dp_pg $how");
	return;
}

# A query of a role's: its SQLSTATE, '' when it was answered.
sub charged
{
	my ($node, $role, $epsilon) = @_;

	return sqlstate($node, $role, "SELECT dp_count(1, $epsilon) FROM patients", 'hospital');
}
