# Long ledgers.  dp_ledger_archive: lines of past periods leave the ledger, complete
# and once; what was spent stays, and an owner who keeps the lines can show that
# none is missing.  A role finds its own lines among many by an index, and no
# others.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('archive', "autovacuum = off\n");
my $owner = 'SET SESSION AUTHORIZATION owner;';

value($node, <<'EOT');
CREATE ROLE carol LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('bob', 'h', epsilon => 1000, filter => 'basic', renew => '1 hour');
SELECT dp_grant('carol', 'h', epsilon => 1000, filter => 'basic', renew => '1 hour');
SELECT dp_pg.open_dataset('other');
SELECT dp_grant('bob', 'other', epsilon => 1000, filter => 'basic', renew => '1 hour');
SELECT dp_limit('h', epsilon => 100000, filter => 'basic');
EOT

sub charge
{
	my ($role, $epsilon, $dataset) = @_;

	$dataset //= 'h';
	return value($node, "SET SESSION AUTHORIZATION $role; SELECT dp_pg.charge('$dataset', 'm', $epsilon)");
}

# As if the periods had begun an hour and more ago.
sub pass_time
{
	value($node, "UPDATE dp_pg.budget SET period_start = period_start - interval '90 minutes'; UPDATE dp_pg.ledger SET at = at - interval '90 minutes'");
	return;
}

my $sums = q{SELECT string_agg(concat_ws(' ', role_name, dataset, spent_epsilon, total_epsilon, total_charges), ',' ORDER BY dataset, role_name) FROM dp_pg.budget};
my $spent = q{SELECT string_agg(concat_ws(' ', name, spent_epsilon, charges), ',' ORDER BY name) FROM dp_pg.dataset};

# Two periods of bob's, one of carol's; alice's budget does not begin anew, and
# the owner is exempt.
charge('alice', 1);
charge('bob', 0.5) for 1 .. 3;
charge('bob', 0.25, 'other');
charge('carol', 2);
charge('owner', 4);
value($node, "UPDATE dp_pg.ledger SET mechanism = E'tab\\tand \"quote\"' WHERE role = 'carol'");
pass_time();
charge('bob', 0.125);
charge('alice', 1);
is(value($node, "SELECT string_agg(DISTINCT coalesce(payer, '-') || coalesce(period::text, '-'), ' ') FROM dp_pg.ledger"), '-- alice0 bob0 bob1 carol0', 'lines tell their periods');

my ($before_sums, $before_spent) = (value($node, $sums), value($node, $spent));
my $lines = charges($node);

# ---- who may, and what it refuses ----

is(sqlstate($node, 'alice', "SELECT * FROM dp_ledger_archive(now(), 'h')"), '42501', 'not for an analyst');
is(sqlstate($node, 'owner', 'SELECT * FROM dp_ledger_archive(NULL, \'h\')'), '22004', 'a time is needed');
is(sqlstate($node, 'owner', "SELECT * FROM dp_ledger_archive(now(), 'none')"), '42704', 'no such dataset');
is(sqlstate($node, 'owner', "BEGIN READ ONLY; SELECT * FROM dp_ledger_archive(now(), 'h')"), '25006', 'not in a read-only transaction');
is(sqlstate($node, 'owner', "SELECT * FROM dp_ledger_verify(NULL, 'h')"), '22004', 'a table is needed');
is(sqlstate($node, 'alice', "CREATE TABLE mine (i int); SELECT * FROM dp_ledger_verify('mine', 'h')"), '42501', 'nor is verifying for an analyst');
is(charges($node), $lines, 'nothing has left');

# ---- rolled back, and committed ----

is(value($node, "$owner BEGIN; SELECT count(*) FROM dp_ledger_archive(now(), 'h'); ROLLBACK"), '4', 'four lines may leave');
is(charges($node), $lines, 'rolled back: all are there');
is(value($node, 'SELECT count(*) FROM dp_pg.archive'), '0', 'rolled back: no archive');
is(value($node, "$owner SELECT count(*) FROM dp_ledger_archive(now() - interval '1 day', 'h')"), '0', 'none is so old');
is(value($node, 'SELECT count(*) FROM dp_pg.archive'), '0', 'and nothing is written');

# An open batch's line stays.
value($node, "$owner SELECT dp_revoke('alice', 'h')");
value($node, "INSERT INTO dp_pg.batch SELECT max(id), 'h', 'bob', 1, 0, 'bob', 1, 0, 0.1, 5, 0, 'basic', now() FROM dp_pg.ledger WHERE payer = 'bob' AND period = 0 AND dataset = 'h'");
is(value($node, "$owner BEGIN; SELECT count(*) FROM dp_ledger_archive(now(), 'h'); ROLLBACK"), '3', 'the line of an open batch stays');
value($node, 'UPDATE dp_pg.ledger SET batch = 1000000 WHERE id = (SELECT id FROM dp_pg.batch)');
is(value($node, "$owner BEGIN; SELECT count(*) FROM dp_ledger_archive(now(), 'h'); ROLLBACK"), '3', 'also when another one paid for it');
value($node, 'UPDATE dp_pg.ledger SET batch = NULL; DELETE FROM dp_pg.batch');

value($node, "$owner CREATE TABLE old AS SELECT * FROM dp_ledger_archive(now(), 'h')");
is(value($node, "SELECT string_agg(concat_ws(' ', role, payer, period, epsilon), ',' ORDER BY id) FROM old"), 'bob bob 0 0.5,bob bob 0 0.5,bob bob 0 0.5,owner 4', 'what left');
is(value($node, q{SELECT string_agg(concat_ws(' ', role, dataset, period), ',' ORDER BY id) FROM dp_pg.ledger}), 'alice h 0,bob other 0,carol h 0,bob h 1,alice h 0', 'what stays: current periods, and other datasets');
is(value($node, $sums), $before_sums, 'what was spent is the same');
is(value($node, $spent), $before_spent, 'of the datasets, too');
is(value($node, q{SELECT string_agg(concat_ws(' ', role, payer, period, lines, epsilon), ',' ORDER BY role) FROM dp_pg.archive_sum}), 'bob bob 0 3 1.5,owner 1 4', 'sums');
is(value($node, q{SELECT concat_ws(' ', dataset, by, lines, epsilon, last - first > 3, octet_length(digest)) FROM dp_pg.archive}), 'h owner 4 5.5 t 32', 'one archive');
is(value($node, q{SELECT (SELECT sum(epsilon) FROM dp_pg.ledger WHERE dataset = 'h') + (SELECT sum(epsilon) FROM dp_pg.archive WHERE dataset = 'h') = (SELECT spent_epsilon FROM dp_pg.dataset WHERE name = 'h')}), 't', 'ledger and archive are what the dataset has spent');

# Later: carol's first period is over too; bob is renamed, and his lines, which
# have the old name, wait for all current periods to end.
pass_time();
charge('carol', 1);
charge('bob', 0.0625);
value($node, 'ALTER ROLE bob RENAME TO robert');
value($node, "SET SESSION AUTHORIZATION robert; SELECT dp_pg.charge('h', 'm', 1)");
value($node, "$owner INSERT INTO old SELECT * FROM dp_ledger_archive(now(), 'h')");
is(value($node, 'SELECT string_agg(role || period, \',\' ORDER BY id) FROM old WHERE payer IS NOT NULL'), 'bob0,bob0,bob0,carol0', 'of a name that nobody has, nothing younger than a current period');

# ---- verifying ----

my $verify = "SELECT string_agg(concat_ws(' ', archive, lines_archived, coalesce(problem, 'as it was')), ', ' ORDER BY archive) FROM dp_ledger_verify('old', 'h')";
is(value($node, "$owner $verify"), '1 4 as it was, 2 1 as it was', 'both archives are whole');
is(value($node, "$owner SET timezone = 'Asia/Tokyo'; SET datestyle = 'German'; SET extra_float_digits = -15; SET bytea_output = 'escape'; $verify"), '1 4 as it was, 2 1 as it was', 'whatever the settings');
is(value($node, "$owner BEGIN; UPDATE old SET epsilon = epsilon + 1 WHERE id = (SELECT min(id) FROM old); $verify"), '1 4 lines were changed, 2 1 as it was', 'a change is seen');
is(value($node, "$owner BEGIN; UPDATE old SET at = at + interval '1 microsecond' WHERE archive = 2; $verify"), '1 4 as it was, 2 1 lines were changed', 'of a time, too');
is(value($node, "$owner BEGIN; UPDATE old SET payer = NULL, period = NULL WHERE archive = 2; $verify"), '1 4 as it was, 2 1 lines were changed', 'and of a payer');
is(value($node, "$owner BEGIN; DELETE FROM old WHERE id = (SELECT min(id) FROM old); $verify"), '1 4 lines are missing, 2 1 as it was', 'a loss is seen');
is(value($node, "$owner BEGIN; INSERT INTO old SELECT * FROM old WHERE archive = 2; $verify"), '1 4 as it was, 2 1 there are more lines', 'what was added is seen');
value($node, "$owner CREATE TABLE \"Old er\" AS SELECT id::numeric, part, period, partition, batch, price_rho, price_delta, price_epsilon, archive, fingerprint, releases, rho, delta, epsilon, mechanism, dataset::text, payer::text, login_role, cluster, role_oid::bigint, role::text, at FROM old");
is(value($node, "$owner " . $verify =~ s/'old'/'"Old er"'/r), '1 4 as it was, 2 1 as it was', 'other types and orders of columns are the same lines');
is(sqlstate($node, 'owner', "CREATE TABLE wrong (dataset name, id bigint); SELECT * FROM dp_ledger_verify('wrong', 'h')"), '42703', 'a table of something else');

# ---- who sees what ----

is(value($node, 'SET SESSION AUTHORIZATION carol; SELECT (SELECT count(*) FROM dp_pg.archive) + (SELECT count(*) FROM dp_pg.archive_sum)'), '0', 'an analyst sees no archive');
is(value($node, "$owner SELECT count(*) FROM dp_pg.archive"), '2', 'the owner sees both');
is(sqlstate($node, 'owner', 'DELETE FROM dp_pg.archive'), '42501', 'and changes none');

# ---- beside charges, and a crash ----

my $session = session($node, 'owner');
charge('carol', 1);
pass_time();
charge('carol', 1);
answer($session, "BEGIN; CREATE TABLE third AS SELECT * FROM dp_ledger_archive(now(), 'h');");
is(sqlstate($node, 'carol', "SET statement_timeout = '60s'; SELECT dp_pg.charge('h', 'm', 1)"), '', 'charges go on meanwhile');
my $here = charges($node);
$node->kill9;
start_patiently($node) or BAIL_OUT('server does not start');
hang_up($session);
is(charges($node), $here, 'killed before COMMIT: every line is there');
is(value($node, 'SELECT count(*) FROM dp_pg.archive'), '2', 'and no third archive');
my $gone = value($node, "$owner CREATE TABLE third AS SELECT * FROM dp_ledger_archive(now(), 'h'); SELECT count(*) FROM third");
$node->kill9;
start_patiently($node) or BAIL_OUT('server does not start');
is(charges($node), $here - $gone, 'killed after COMMIT: they have left');
cmp_ok($gone, '>=', 1, 'some have');
is(value($node, "$owner SELECT count(problem) FROM dp_ledger_verify('third', 'h') WHERE archive = 3"), '0', 'to a table that holds them');

# ---- one's own lines among many ----

# 100,000 lines, of which carol has each tenth, and dave has none.
value($node, <<'EOT');
CREATE ROLE dave LOGIN;
INSERT INTO dp_pg.ledger (at, role, role_oid, cluster, login_role, payer, dataset, mechanism, epsilon, delta, rho, releases, fingerprint, period)
SELECT now() - interval '1 hour', r, r::regrole, dp_pg.cluster(), r, r, 'h', 'm' || i % 7, 0.001, 0, 0, 1, 1, 0
FROM generate_series(1, 100000) AS i, LATERAL (SELECT CASE WHEN i % 10 = 0 THEN 'carol' ELSE 'alice' END) AS x (r);
VACUUM dp_pg.ledger;
EOT
my $own = sub { "role_oid = '$_[0]'::regrole AND cluster = dp_pg.cluster()" };
my $middle = value($node, 'SELECT max(id) - 50000 FROM dp_pg.ledger');
my $hers = value($node, "SELECT max(id) FROM dp_pg.ledger WHERE role = 'carol' AND id < $middle");

# What a role is given of a query, which reads few pages.
sub ids
{
	my ($role, $query) = @_;
	my ($plan, $ids) = value($node, "SET SESSION AUTHORIZATION $role; EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) $query; SELECT string_agg(id::text, ' ') FROM ($query) AS q")
	  =~ /^(.*\])\n?([\d ]*)$/s;

	cmp_ok($plan =~ /"Shared Hit Blocks": (\d+),\s+"Shared Read Blocks": (\d+)/ ? $1 + $2 : 1e9, '<', 60, "few pages: $role, $query");
	return $ids;
}

foreach my $role (qw(alice carol dave))
{
	foreach my $rest ('', "AND id < $middle AND mechanism = 'm3'", "AND dataset = 'h' AND id BETWEEN $middle - 20 AND $middle")
	{
		my $query = "SELECT id FROM dp_pg.ledger WHERE %s $rest ORDER BY id DESC LIMIT 10";

		is(ids($role, sprintf $query, 'true'), value($node, 'SELECT string_agg(id::text, \' \') FROM (' . sprintf($query, $own->($role)) . ') AS q'), 'which are the last');
	}
	is(ids($role, "SELECT id FROM dp_pg.ledger WHERE id = $hers"), $role eq 'carol' ? $hers : '', "$role, and a line of carol's");
}
ids('owner', 'SELECT id FROM dp_pg.ledger ORDER BY id DESC LIMIT 10');

# All of them, also after a restore and by plans that were made before.
sub sees
{
	my ($role, $condition, $name) = @_;
	my $sum = "SELECT concat_ws(' ', count(*), sum(id)) FROM dp_pg.ledger";

	is(value($node, "SET SESSION AUTHORIZATION $role; $sum"), value($node, "$sum WHERE $condition"), "$role: $name");
	return;
}

my $kept = session($node, 'carol');
my $ask = 'EXECUTE last; EXECUTE number;';
my $last = 'SELECT max(id), count(*) FROM dp_pg.ledger WHERE ';
answer($kept, q(SET plan_cache_mode = force_generic_plan; PREPARE last AS SELECT id FROM dp_pg.ledger ORDER BY id DESC LIMIT 1; PREPARE number AS SELECT count(*) FROM dp_pg.ledger;));
is((answer($kept, $ask))[0] =~ tr/\n/|/r, value($node, $last . $own->('carol')), 'a plan that is kept');
sees($_, $own->($_), 'own lines') foreach qw(alice carol dave);
sees('owner', "dataset IN ('h', 'other')", 'his datasets');
value($node, "UPDATE dp_pg.ledger SET cluster = 1, role_oid = 'alice'::regrole WHERE id IN (SELECT max(id) FROM dp_pg.ledger UNION SELECT $hers); UPDATE dp_pg.ledger SET role = 'dave' WHERE id = $hers");
sees('alice', $own->('alice'), 'of another cluster, not by OID');
sees('carol', $own->('carol') . ' OR (SELECT max(id) FROM dp_pg.ledger) = id', 'but by name');
sees('dave', "id = $hers", 'of another cluster alone');
is((answer($kept, $ask))[0] =~ tr/\n/|/r, value($node, $last . $own->('carol') . ' OR (SELECT max(id) FROM dp_pg.ledger) = id'), 'the plan that was kept sees them');
value($node, "UPDATE dp_pg.ledger SET cluster = dp_pg.cluster(), role = 'carol', role_oid = 'carol'::regrole WHERE cluster = 1");
is((answer($kept, $ask))[0] =~ tr/\n/|/r, value($node, $last . $own->('carol')), 'as if they had been written here');
value($node, 'GRANT owner TO carol');
is((answer($kept, $ask))[0] =~ tr/\n/|/r, value($node, $last . $own->('carol') . " OR dataset IN ('h', 'other')"), 'and what a new member of the owner sees');
value($node, 'REVOKE owner FROM carol');
is((answer($kept, $ask))[0] =~ tr/\n/|/r, value($node, $last . $own->('carol')), 'until it is none');
hang_up($kept);

# ---- batch by batch ----

my $call = "CALL dp_ledger_archive_into('kept', now(), 'h', 20000)";
my $whole = q{SELECT concat_ws(' ', count(*), sum(id), sum(epsilon)) FROM (SELECT id, epsilon FROM dp_pg.ledger WHERE dataset = 'h' UNION ALL SELECT id, epsilon FROM kept) AS l};
my $told = q{SELECT (SELECT count(*) FROM kept) = (SELECT sum(lines) FROM dp_pg.archive WHERE id > 3)};
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE kept AS SELECT * FROM dp_ledger_archive(now(), 'h') WITH NO DATA;
CREATE UNLOGGED TABLE fleeting AS SELECT * FROM kept;
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END';
EOT
is(sqlstate($node, 'owner', $call =~ s/kept/fleeting/r), '42809', 'not to a table that a crash empties');
is(sqlstate($node, 'owner', $call =~ s/20000/0/r), '22023', 'a batch of nothing');
is(sqlstate($node, 'owner', "BEGIN; $call"), '2D000', 'not within a transaction');
is(sqlstate($node, 'owner', $call =~ s/now\(\)/NULL/r), '22004', 'a time is needed');
is(sqlstate($node, 'alice', 'CREATE TABLE hers AS SELECT * FROM dp_ledger_archive(now()) WITH NO DATA; ' . $call =~ s/kept/hers/r), '42501', 'not for an analyst');
value($node, <<'EOT');
SET SESSION AUTHORIZATION alice;
CREATE FUNCTION caught(pg_catalog."char") RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''DP999''; END';
CREATE DOMAIN public."char" AS pg_catalog."char" CHECK (caught(value));
EOT
is(sqlstate($node, 'owner', 'SET search_path = public, pg_catalog; ' . $call =~ s/kept/fleeting/r), '42809', "an analyst's type is not taken");
value($node, 'DROP DOMAIN public."char"');
value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE parted (LIKE kept) PARTITION BY LIST (dataset);
CREATE UNLOGGED TABLE parted_h PARTITION OF parted DEFAULT;
CREATE VIEW seen AS SELECT * FROM kept;
CREATE TABLE ruled (LIKE kept);
CREATE RULE elsewhere AS ON INSERT TO ruled DO INSTEAD INSERT INTO fleeting VALUES (NEW.*) RETURNING *;
CREATE TABLE refusing (LIKE kept);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id % 7 = 0 THEN RETURN NULL; END IF; RETURN NEW; END';
CREATE TRIGGER refuse BEFORE INSERT ON refusing FOR EACH ROW EXECUTE FUNCTION refuse();
EOT
is(sqlstate($node, 'owner', $call =~ s/kept/$_/r), '42809', "not to $_") foreach 'parted', 'seen', 'ruled';
is(sqlstate($node, 'owner', $call =~ s/kept/refusing/r), '27000', 'not to a table that leaves lines out');
is(value($node, 'SELECT count(*) FROM dp_pg.archive'), 3, 'nothing has left');

is(value($node, "$owner BEGIN; SELECT concat_ws(' ', count(*), min(id), max(id)) FROM dp_ledger_archive(now(), 'h', $hers - 15, $hers)"),
	'2 ' . ($hers - 10) . " $hers", 'between two ids');

# Killed in the middle of the third batch.
my $all = value($node, $whole);
my $third = value($node, "SELECT min(id) + 50000 FROM dp_pg.ledger WHERE dataset = 'h'");
value($node, "CREATE TRIGGER wait BEFORE INSERT ON kept FOR EACH ROW WHEN (NEW.id > $third) EXECUTE FUNCTION wait()");
my $lock = session($node, 'postgres');
answer($lock, 'SELECT pg_advisory_lock(1);');
$session = session($node, 'owner');
ask($session, "SET VERBOSITY terse; $call;");
wait_until($node, q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)});
$node->kill9;
start_patiently($node) or BAIL_OUT('server does not start');
hang_up($_) foreach $session, $lock;
is(value($node, 'SELECT count(*) FROM dp_pg.archive'), 5, 'killed in the third batch: two have left');
is(value($node, $whole), $all, 'no line is lost, and none is there twice');
is(value($node, $told), 't', 'the archives are what was moved');
value($node, 'DROP TRIGGER wait ON kept');
my ($rc, $out, $err) = $node->psql('postgres', $call, extra_params => [ '-U', 'owner' ]);
is($rc, 0, 'another call');
my @progress = $err =~ /NOTICE:  archived (\d+) lines, up to id (\d+) of \d+/g;
cmp_ok(scalar @progress, '>=', 2 * 3, 'tells how far it is');
is(($err =~ /NOTICE:  archived (\d+) lines$/m)[0], value($node, 'SELECT sum(lines) FROM dp_pg.archive WHERE id > 5'), 'and in the end how many');
is(value($node, $whole), $all, 'all lines are there');
is(value($node, $told), 't', 'and all that were moved are archived');
is(value($node, "SELECT count(*) FROM dp_pg.ledger WHERE payer = 'carol' AND period = 0"), 0, 'none is left');
is(value($node, "$owner SELECT count(problem) FROM dp_ledger_verify('kept', 'h') WHERE archive > 3"), 0, 'and they are as they were');
is(value($node, "$owner SELECT count(problem) FROM dp_ledger_verify('kept', 'h')"), 3, 'those of other tables are missing');
is(value($node, "$owner BEGIN; UPDATE kept SET rho = 1 WHERE id = (SELECT max(id) FROM kept WHERE archive = 5); SELECT string_agg(archive::text, ' ') FROM dp_ledger_verify('kept', 'h') WHERE problem = 'lines were changed'"), 5, 'a change is seen in its archive');
is(value($node, "$owner SELECT count(*) FROM dp_ledger_archive(now(), 'h')"), 0, 'nothing is left to move');
(undef, undef, $err) = $node->psql('postgres', $call, extra_params => [ '-U', 'owner' ]);
like($err, qr/NOTICE:  archived 0 lines\nDETAIL:  Lines stay that are not of before that time/, 'and it says which lines stay');

$node->stop;
done_testing();
