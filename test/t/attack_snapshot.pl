# Time: snapshots, cursors and plans that are older than the present state.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('snapshot');

sub owner
{
	my ($sql) = @_;

	is(errors($node, 'owner', "SET client_min_messages = error; $sql"), '', 'owner: ' . substr($sql, 0, 50));
	return;
}

# An answer, or the SQLSTATE that an open session got.
sub told
{
	my ($session, $sql) = @_;
	my ($out, $err) = answer($session, $sql);

	return $1 if $err =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})/;
	return $out;
}

# 1. A unit that became unique after the snapshot was taken: one person has
# 5000 rows in the old snapshot.
for my $how ('ADD PRIMARY KEY (pid)', 'ADD UNIQUE (pid)')
{
	owner('DROP TABLE IF EXISTS dup; CREATE TABLE dup (pid int NOT NULL, age int);'
		  . " INSERT INTO dup SELECT 1, 50 FROM generate_series(1, 5000);"
		  . " SELECT dp_protect('dup', unit => 'pid', dataset => 'hospital')");
	my $old = session($node, 'analyst');

	told($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
	owner("DELETE FROM dup WHERE ctid > '(0,1)'; ALTER TABLE dup $how");
	like(told($old, 'SELECT dp_count(*) FROM dup;'), qr/^(0A000|55000|42501)$/, "$how: an older snapshot gets no answer")
	  or diag('one person moved the answer by thousands');
	told($old, 'ROLLBACK;');
	is(told($old, 'SELECT dp_count(*) FROM dup;'), 1, "$how: a newer one does");
	hang_up($old);
}

# So of a key of several columns that units are behind: rows of one line had
# the units of several orders.
owner('CREATE TABLE sale (id int NOT NULL, day date NOT NULL, pid int NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);'
	  . ' CREATE TABLE sale_all PARTITION OF sale DEFAULT; CREATE TABLE sold (id int NOT NULL, day date NOT NULL);'
	  . " INSERT INTO sale SELECT i, date '2024-01-01', i FROM generate_series(1, 9) i; INSERT INTO sold SELECT id, day FROM sale;"
	  . " SELECT dp_protect('sale', unit => 'pid', dataset => 'hospital'), dp_protect('sold', unit => '(id, day) -> sale.pid', dataset => 'hospital', max_total => 1)");
for my $how ('ALTER TABLE sale DROP CONSTRAINT sale_pkey; ALTER TABLE sale ADD PRIMARY KEY (id, day)',
	"CREATE TABLE sale_new (LIKE sale INCLUDING INDEXES); ALTER TABLE sale ATTACH PARTITION sale_new FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')")
{
	my $old = session($node, 'analyst');

	told($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
	owner($how);
	is(told($old, 'SELECT dp_count(*) FROM sold;'), '55000', "an older snapshot gets no answer: " . substr($how, 0, 30));
	told($old, 'ROLLBACK;');
	like(told($old, 'SELECT dp_count(*) FROM sold;'), qr/^-?\d+$/, 'a newer one does');
	hang_up($old);
}

# The same in a STABLE function that a cursor's rows call: its snapshot is the
# cursor's, and what the statement asks a reader is kept from newer runs.
for my $how (0, 1)
{
	owner('DROP TABLE IF EXISTS dup; CREATE TABLE dup (pid int NOT NULL, age int);'
		  . " INSERT INTO dup SELECT 1, 50 FROM generate_series(1, 5000);"
		  . " SELECT dp_protect('dup', unit => 'pid', dataset => 'hospital')");
	my $old = session($node, 'analyst');

	told($old, "CREATE OR REPLACE FUNCTION stable_count() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT dp_count(*) FROM dup); END';");
	told($old, 'BEGIN; DECLARE c CURSOR FOR SELECT stable_count() FROM generate_series(1, 3);');
	owner("DELETE FROM dup WHERE ctid > '(0,1)'; ALTER TABLE dup ADD PRIMARY KEY (pid)");
	is(told($old, 'SELECT stable_count();'), 1, "newer snapshots are answered: $_") foreach 1 .. 8 * $how;
	like(told($old, 'FETCH c;'), qr/^(0A000|55000)$/, 'an older one is not, ' . ($how ? 'after newer ones' : 'nor at first'));
	told($old, 'ROLLBACK; DROP FUNCTION stable_count();');
	hang_up($old);
}

# The same with NULL units: NOT NULL came later than the snapshot.
owner('CREATE TABLE late (pid int UNIQUE, age int); INSERT INTO late SELECT NULL, 5 FROM generate_series(1, 3000);'
	  . " INSERT INTO late VALUES (1, 5); SELECT dp_protect('late', unit => 'pid', dataset => 'hospital')");
my $old = session($node, 'analyst');
told($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
owner('DELETE FROM late WHERE pid IS NULL; ALTER TABLE late ALTER pid SET NOT NULL');
unlike(told($old, 'SELECT dp_count(*) FROM late;'), qr/^3001$/, 'rows without a unit in an older snapshot');
told($old, 'ROLLBACK;');
is(told($old, 'SELECT dp_count(*) FROM late;'), 1, 'later it is answered');
hang_up($old);

# An exported snapshot is one, too.
owner('CREATE TABLE dup2 (pid int NOT NULL, age int); INSERT INTO dup2 SELECT 1, 50 FROM generate_series(1, 5000);'
	  . " SELECT dp_protect('dup2', unit => 'pid', dataset => 'hospital')");
my $keeper = session($node, 'analyst');
my $id = told($keeper, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();');
owner("DELETE FROM dup2 WHERE ctid > '(0,1)'; ALTER TABLE dup2 ADD PRIMARY KEY (pid)");
my $importer = session($node, 'analyst');
like(told($importer, "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$id'; SELECT dp_count(*) FROM dup2;"),
	qr/^(0A000|55000|42501)$/, 'nor through an imported snapshot');
hang_up($_) for $keeper, $importer;

# A partition whose rows were put in order, and which was attached, after the
# snapshot was taken.
owner('CREATE TABLE whole (pid int PRIMARY KEY, age int) PARTITION BY LIST (pid); CREATE TABLE whole_1 PARTITION OF whole FOR VALUES IN (1);'
	  . ' CREATE TABLE piece (pid int NOT NULL, age int); INSERT INTO piece SELECT 2, 50 FROM generate_series(1, 5000);'
	  . " SELECT dp_protect('whole', unit => 'pid', dataset => 'hospital')");
$old = session($node, 'analyst');
told($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
owner("DELETE FROM piece WHERE ctid > '(0,1)'; ALTER TABLE whole ATTACH PARTITION piece FOR VALUES IN (2)");
like(told($old, 'SELECT dp_count(*) FROM whole;'), qr/^(0A000|55000|42501|0)$/, 'a partition attached later, in an older snapshot');
told($old, 'ROLLBACK;');
is(told($old, 'SELECT dp_count(*) FROM whole;'), 1, 'later it is answered');
hang_up($old);

# 2. A cursor opened while the unit was unique; read when it is not.
for my $change (
	[ "SELECT dp_protect('family', unit => 'home')", 'another unit' ],
	[ 'CREATE TABLE more (PRIMARY KEY (pid)) INHERITS (family); INSERT INTO more SELECT i, 1, 5 FROM generate_series(1, 5000) i', 'a child' ],
	[ 'CREATE TABLE more (pid int NOT NULL, home int NOT NULL, age int); INSERT INTO more SELECT i, 1, 5 FROM generate_series(1, 5000) i;'
		  . ' ALTER TABLE more INHERIT family', 'an inherited table' ],
	[ "SELECT dp_unprotect('family')", 'no protection' ],
	[ "SELECT dp_revoke('analyst', 'hospital')", 'no budget' ])
{
	owner("DROP TABLE IF EXISTS family CASCADE; DROP TABLE IF EXISTS more; SELECT dp_grant('analyst', 'hospital', 1e9::numeric, 1e-6);"
		  . ' CREATE TABLE family (pid int PRIMARY KEY, home int NOT NULL, age int);'
		  . ' INSERT INTO family SELECT i, 1, 50 FROM generate_series(1, 5000) i;'
		  . " SELECT dp_protect('family', unit => 'pid', dataset => 'hospital')");
	my $s = session($node, 'analyst');

	is(told($s, 'BEGIN; DECLARE c CURSOR FOR SELECT dp_count(*) FROM family;'), '', "$change->[1]: cursor open");
	owner($change->[0]);
	like(told($s, 'FETCH c;'), qr/^(0A000|55000|42501)$/, "$change->[1]: and refused when read");
	hang_up($s);
}
owner("DROP TABLE family CASCADE; SELECT dp_grant('analyst', 'hospital', 1e9::numeric, 1e-6)");

# 3. A charge is made by what is asked, however old the plan.
my $p = session($node, 'analyst');
is(told($p, 'PREPARE q AS SELECT dp_count(*) FROM patients; SET plan_cache_mode = force_generic_plan; EXECUTE q;'), 10000, 'a plan is kept');
owner("SELECT dp_declare('patients', 'age', lower => 0, upper => 1)");
owner('ALTER TABLE patients ADD z int');
is(told($p, 'EXECUTE q;'), 10000, 'and made again');
owner("SELECT dp_revoke('analyst', 'hospital')");
is(told($p, 'EXECUTE q;'), '42501', 'without a budget it is worth nothing');
owner("SELECT dp_grant('analyst', 'hospital', 1e9::numeric, 1e-6)");
owner("SELECT dp_unprotect('patients')");
is(told($p, 'EXECUTE q;'), '0A000', 'nor when protection is gone') or diag('unprotected rows must not be read by the old plan');
is(told($p, 'SELECT count(*) FROM patients;'), '42501', 'and rows stay the owner\'s');
owner("SELECT dp_protect('patients', dataset => 'hospital')");
is(told($p, 'EXECUTE q;'), 10000, 'until it is back');
hang_up($p);

# 4. EvalPlanQual: rows of the analyst's own table change under a statement
# that holds a release; it is drawn once and charged once.
$node->safe_psql('postgres', "ALTER ROLE analyst SET dp_pg.epsilon_floor = '0.000001'");
as($node, 'analyst', "ALTER ROLE analyst SET dp_pg.epsilon = '0.000001'");
as($node, 'analyst', 'CREATE TABLE own (id int PRIMARY KEY, v bigint); INSERT INTO own SELECT i, i FROM generate_series(1, 20) i');
for my $statement (
	'UPDATE own SET v = s.n FROM (SELECT dp_count(*) AS n FROM patients) s WHERE own.v < 1000 RETURNING v',
	'UPDATE own SET v = s.n FROM (SELECT age > 50 AS k, dp_count(*) AS n FROM patients GROUP BY 1) s WHERE s.k = (own.id > 0) AND own.v < 1000 RETURNING v',
	'UPDATE own SET v = (SELECT dp_count(*) FROM patients) WHERE own.v < 1000 RETURNING v',
	'SELECT (SELECT dp_count(*) FROM patients) FROM own WHERE v < 1000 FOR UPDATE',
	# sub-plans that refer to the row are run again for its new version
	'UPDATE own SET v = (SELECT dp_count(*) + 0 * own.v FROM patients) WHERE own.v < 1000 RETURNING v',
	'SELECT (SELECT dp_count(*) + 0 * own.v FROM patients) FROM own WHERE v < 1000 FOR UPDATE',
	'SELECT s.n FROM own, LATERAL (SELECT dp_count(*) + 0 * own.v AS n FROM patients) s WHERE v < 1000 FOR UPDATE OF own',
	'SELECT s.n FROM own, (SELECT dp_count(*) AS n FROM patients) s WHERE v < 1000 FOR UPDATE OF own',
	'DELETE FROM own USING (SELECT dp_count(*) AS n FROM patients) s WHERE own.v < 1000 RETURNING s.n',
	'MERGE INTO own USING (SELECT dp_count(*) AS n FROM patients) s ON own.v < 1000 WHEN MATCHED THEN UPDATE SET v = s.n')
{
	my $busy = session($node, 'analyst');
	my $waits = session($node, 'analyst');
	my $before;

	as($node, 'analyst', 'DELETE FROM own; INSERT INTO own SELECT i, i FROM generate_series(1, 20) i');
	told($busy, 'BEGIN; UPDATE own SET v = v + 1;');
	told($waits, 'SELECT 1;');
	$before = charges($node);
	ask($waits, "$statement;");
	wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'analyst'");
	told($busy, 'COMMIT;');
	my ($out, $err) = answer($waits);
	$out = value($node, 'SELECT v FROM own') if $statement =~ /^MERGE/;
	my @values = split /\n/, $out;
	my %seen = map { $_ => 1 } @values;

	is($err, '', "no error: $statement");
	is(scalar @values, 20, 'every row is met');
	is(scalar keys %seen, 1, 'one draw');
	is(charges($node) - $before, 1, 'one charge');
	hang_up($_) for $busy, $waits;
}

$node->stop;
done_testing();
