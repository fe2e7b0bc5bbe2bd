# doc/threat_model.md names everything that a role can see: all relations, functions
# and settings in the catalogs that PUBLIC, or roles with pg_monitor, can read or
# call must be there.  Names in its tables must exist, unless they are marked for
# other versions.  What the page calls refused must be refused.  No false alarms.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node errors);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('threat_model');
my $version = int($node->pg_version);

# ---- what the document names ----

my $text = slurp_file("$FindBin::RealBin/../../doc/threat_model.md");
my ($look) = $text =~ /^## What a role can look at\n(.*?)^## /ms
  or BAIL_OUT('the document has lost its section');

# A name may be followed by its versions: (17), (-16), (16-17).  Texts in bold
# or italics are none.
my (@exact, @family, %here);
while ($look =~ /`([^`\n]+)`(?: \((\d*)(-?)(\d*)\))?/g)
{
	my ($name, $from, $to) = ($1, $2 || 0, $3 ? $4 || 99 : 99);

	$here{$name} = $version >= $from && $version <= $to;
	if ($name !~ /\*/)
	{
		push @exact, $name;
		next;
	}
	my $pattern = join '[a-z0-9_]*', map { quotemeta } split /\*/, $name, -1;
	$pattern = "(?!pg_)$pattern" if $name =~ /^\*/;
	push @family, [ $name, qr/^$pattern$/ ];
}
my %exact = map { $_ => 1 } @exact;

sub is_named
{
	my ($name) = @_;

	return 1 if $exact{$name};
	return scalar grep { $name =~ $_->[1] } @family;
}

# Every line of a query's answer is named.
sub all_named
{
	my ($what, $sql, $least) = @_;
	my @names = split /\n/, value($node, $sql);
	my @missing = grep { !is_named($_) } @names;

	cmp_ok(scalar @names, '>=', $least, "$what: the catalogs have them");
	is_deeply(\@missing, [], "$what: all are named");
	return @names;
}

# ---- what there is ----

# Where neither arguments nor results are internal, since nobody calls those.
my $callable = q{p.provolatile <> 'i' AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)};
my $ours = q{EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass}
  . q{ WHERE e.extname = 'dp_pg' AND d.deptype = 'e' AND d.classid = '%s'::regclass AND d.objid = %s.oid)};
my $in_schema = q{CASE WHEN n.nspname = 'dp_pg' THEN 'dp_pg.' ELSE '' END};

my @found = all_named('relations', <<'EOT', 120);
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind NOT IN ('i', 'I')
	AND (has_table_privilege('public', c.oid, 'SELECT') OR has_any_column_privilege('public', c.oid, 'SELECT'))
	-- some of their columns only, which hold names of owners and settings
	AND c.relname <> 'pg_subscription'
ORDER BY 1
EOT
push @found, all_named('functions', <<"EOT", 640);
SELECT DISTINCT p.proname FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
	AND has_function_privilege('public', p.oid, 'EXECUTE') AND $callable ORDER BY 1
EOT
push @found, all_named('settings', <<'EOT', 10);
SELECT name FROM pg_settings WHERE context = 'user' AND category ~ '^(Developer|Reporting|Statistics|Error)' ORDER BY 1
EOT
push @found, all_named('own relations', sprintf(<<"EOT", 'pg_class', 'c'), 18);
SELECT $in_schema || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE $ours AND c.relkind NOT IN ('i', 'c') AND c.relkind <> 'S' AND has_table_privilege('public', c.oid, 'SELECT') ORDER BY 1
EOT
push @found, all_named('own functions', sprintf(<<"EOT", 'pg_proc', 'p'), 40);
SELECT DISTINCT $in_schema || p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE $ours AND has_function_privilege('public', p.oid, 'EXECUTE') AND $callable ORDER BY 1
EOT
push @found, all_named('relations for monitors', <<'EOT', 2);
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v')
	AND NOT has_table_privilege('public', c.oid, 'SELECT') AND has_table_privilege('pg_monitor', c.oid, 'SELECT') ORDER BY 1
EOT
push @found, all_named('functions for monitors', <<'EOT', 9);
SELECT DISTINCT p.proname FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
	AND NOT has_function_privilege('public', p.oid, 'EXECUTE') AND has_function_privilege('pg_monitor', p.oid, 'EXECUTE') ORDER BY 1
EOT
ok(!is_named('pg_stat_get_everything') && !is_named('pg_everything_in') && !is_named('dp_pg.everything'),
	'a name that is new would be missed');

# What else can be read is the information schema, which stands on catalogs.
is( value($node, <<'EOT'), '', 'nothing else that PUBLIC can read came with the server');
SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid < 16384 AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND has_table_privilege('public', c.oid, 'SELECT')
EOT

# The other way round: a table's first column has no name that is none.
my %found = map { $_ => 1 } @found;
my (@unknown, @elsewhere);
while ($look =~ /^\| (`.*?) \|/mg)
{
	my $cell = $1;

	while ($cell =~ /`([^`]+)`/g)
	{
		my $name = $1;
		my ($family) = grep { $_->[0] eq $name } @family;
		my $there = $family ? scalar grep { $_ =~ $family->[1] } @found : $found{$name};

		$there ||= value($node, "SELECT count(*) FROM pg_attribute WHERE attrelid IN ('pg_class'::regclass, 'pg_database'::regclass)"
			  . " AND attname = '$name' AND attnum > 0");
		push @unknown, $name if !$there && $here{$name};
		push @elsewhere, $name if $there && !$here{$name};
	}
}
is_deeply(\@unknown, [], 'every name exists here, unless it is marked');
is_deeply(\@elsewhere, [], 'what is marked for other versions does not exist here');

# ---- what is refused (see also sql/attack_raw.sql) ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visit (id serial PRIMARY KEY, age int NOT NULL, note text);
INSERT INTO visit (age, note) SELECT i % 90, 'n' || i FROM generate_series(1, 1000) AS i;
CREATE INDEX visit_brin ON visit USING brin (age);
CREATE INDEX visit_gin ON visit USING gin (to_tsvector('simple', note));
CREATE STATISTICS visit_mcv (mcv) ON age, note FROM visit;
ANALYZE visit;
SELECT dp_protect('visit', dataset => 'hospital');
EOT
is(errors($node, 'analyst', 'SELECT dp_count(*) FROM visit'), '', 'a reader is there');
my $reader = value($node, q{SELECT pid FROM pg_stat_activity WHERE application_name = 'dp_pg reader' LIMIT 1});
my @refused = (
	q{SELECT pg_sequence_parameters('visit_id_seq'::regclass)},
	q{SELECT currval('visit_id_seq')}, q{SELECT nextval('visit_id_seq')}, q{SELECT last_value FROM visit_id_seq},
	q{SELECT brin_summarize_new_values('visit_brin')}, q{SELECT brin_summarize_range('visit_brin', 0)},
	q{SELECT brin_desummarize_range('visit_brin', 0)}, q{SELECT gin_clean_pending_list('visit_gin')},
	q{SELECT stxdmcv FROM pg_statistic_ext_data}, q{SELECT stavalues1 FROM pg_statistic},
	q{BEGIN; LOCK TABLE visit IN ACCESS SHARE MODE}, q{SELECT lo_import('/etc/passwd')}, q{COPY visit TO STDOUT},
	q{SELECT pg_create_physical_replication_slot('s')}, q{SELECT pg_logical_slot_peek_changes('s', NULL, NULL)},
	q{SELECT * FROM pg_backend_memory_contexts}, q{SELECT pg_ls_tmpdir()}, q{SELECT pg_stat_file('base')},
	"SELECT pg_cancel_backend($reader)", "SELECT pg_terminate_backend($reader)");
push @refused, q{SELECT pg_clear_relation_stats('public', 'visit')}, q{SELECT pg_clear_attribute_stats('public', 'visit', 'age', false)}
  if $version >= 18;
is(sqlstate($node, 'analyst', $_), '42501', "refused: $_") foreach @refused;
like(sqlstate($node, 'analyst', q{SELECT pg_sequence_last_value('visit_id_seq')}) || 'NULL', qr/42501|NULL/, 'refused: pg_sequence_last_value');
my @empty = (
	q{SELECT count(*) FROM pg_stats WHERE tablename = 'visit'}, q{SELECT count(*) FROM pg_stats_ext WHERE tablename = 'visit'},
	q{SELECT count(last_value) FROM pg_sequences WHERE sequencename = 'visit_id_seq'},
	"SELECT count(*) FROM pg_stat_get_activity($reader) WHERE state IS NOT NULL OR query <> '<insufficient privilege>' OR wait_event IS NOT NULL"
	  . ' OR wait_event_type IS NOT NULL OR xact_start IS NOT NULL OR query_start IS NOT NULL OR backend_start IS NOT NULL',
	"SELECT count(*) FROM pg_stat_get_backend_idset() AS i WHERE pg_stat_get_backend_pid(i) = $reader AND"
	  . " (pg_stat_get_backend_activity(i) <> '<insufficient privilege>' OR pg_stat_get_backend_wait_event(i) <> '<insufficient privilege>'"
	  . ' OR pg_stat_get_backend_activity_start(i) IS NOT NULL OR pg_stat_get_backend_xact_start(i) IS NOT NULL)');
push @empty, q{SELECT count(*) FROM pg_get_sequence_data('visit_id_seq') WHERE last_value IS NOT NULL} if $version >= 18;
foreach my $query (@empty)
{
	is($node->safe_psql('postgres', $query, extra_params => [ '-U', 'analyst' ]), 0, "nothing: $query");
}

# ---- what EXPLAIN (ANALYZE) met ----

# PostgreSQL tries conditions that are LEAKPROOF before those that hide rows.
# The plan of a query with what it met, without the constants of the query.
sub met
{
	my ($query, $settings) = @_;
	my $plan = $node->safe_psql('postgres', "$settings; EXPLAIN (ANALYZE, BUFFERS off, COSTS off, TIMING off, SUMMARY off) $query",
		extra_params => [ '-U', 'other' ]);

	return $plan =~ s/^\s*(?:(?:Index |Hash |Merge |Join |TID )?(?:Filter|Cond)|Buckets|Sort Key): .*//gmr;
}

value($node, <<'EOT');
CREATE ROLE other LOGIN;
UPDATE visit SET note = NULL WHERE id = 7;
CREATE STATISTICS visit_both (mcv) ON age, note FROM visit;
ANALYZE visit;
GRANT CREATE ON SCHEMA public TO other;
-- who owns a dataset is not kept from other lines before they are looked at
GRANT EXECUTE ON FUNCTION dp_pg.open_dataset TO other;
SET SESSION AUTHORIZATION other;
SELECT dp_pg.open_dataset('others');
EOT
errors($node, 'analyst', <<'EOT');
SELECT dp_sparse_vector_open('patients', 5000, 1, 1000, 2) AS s \gset
SELECT dp_sparse_vector_ask(:s, 'id > 10');
EOT
errors($node, 'other', <<'EOT');
CREATE FUNCTION inlined(value real) RETURNS SETOF pg_stats STABLE LANGUAGE sql
AS 'SELECT * FROM pg_stats WHERE tablename = ''visit'' AND null_frac = value';
CREATE TABLE m (yes text, no text, x int, p real, c tid);
INSERT INTO m VALUES ('id > 10', 'id > 11', 1, 100, '(0,1)');
EOT
my $line = value($node, 'SELECT max(id) FROM dp_pg.ledger');
my $hidden = value($node, q{SELECT null_frac FROM pg_stats WHERE tablename = 'visit' AND attname = 'note'});
cmp_ok($hidden, '>', 0, 'there is something to learn');
my $often = value($node, q{SELECT most_common_freqs[1] FROM pg_stats WHERE tablename = 'visit' AND attname = 'age'});
cmp_ok($often, '>', 0, 'and something else');
foreach my $settings ('SET join_collapse_limit = 1', 'SET from_collapse_limit = 1; SET join_collapse_limit = 1; SET enable_hashjoin = off',
	'SET enable_seqscan = off', 'SET enable_nestloop = off; SET enable_hashjoin = off', 'SET enable_hashjoin = off; SET enable_mergejoin = off')
{
	foreach my $pair (
		[ "pg_stats WHERE tablename = 'visit' AND null_frac = $hidden\::real", "pg_stats WHERE tablename = 'visit' AND null_frac = 0.00123\::real" ],
		[ "inlined($hidden)", 'inlined(0.00123)' ],
		[ "(VALUES (1)) AS v LEFT JOIN pg_stats AS s ON tablename = 'visit' AND null_frac = $hidden\::real",
		  "(VALUES (1)) AS v LEFT JOIN pg_stats AS s ON tablename = 'visit' AND null_frac = 0.00123\::real" ],
		[ "pg_stats WHERE most_common_freqs[1] = $often\::real", "pg_stats WHERE most_common_freqs[1] = 0.00123\::real" ],
		[ 'pg_stats_ext WHERE most_common_freqs[1] > 0.0001', 'pg_stats_ext WHERE most_common_freqs[1] > 0.9' ],
		map({ [ $_, s/m[.]yes/m.no/r ] } 'm, LATERAL (SELECT * FROM dp_pg.session_question TABLESAMPLE bernoulli (m.p)) AS q WHERE q.predicate = m.yes',
			'm, LATERAL (SELECT * FROM dp_pg.session_question TABLESAMPLE bernoulli (m.p)) AS q WHERE q.predicate >= m.yes AND q.predicate <= m.yes',
			'm LEFT JOIN LATERAL (SELECT q.*, coalesce(m.x + q.answer, 1) AS y FROM dp_pg.session_question AS q) AS s ON true JOIN m AS m2 ON s.predicate = m.yes',
			'm JOIN dp_pg.session_question AS q ON q.ctid = m.c AND q.predicate = m.yes',
			'm JOIN dp_pg.session_question AS q ON q.predicate = m.yes'),
		[ "dp_pg.session_question WHERE predicate = 'id > 10'", "dp_pg.session_question WHERE predicate = 'id > 11'" ],
		[ 'dp_pg.session_question WHERE above', 'dp_pg.session_question WHERE NOT above' ],
		[ 'dp_pg.session_question WHERE answer + 0 IS NULL', 'dp_pg.session_question WHERE answer + 0 IS NOT NULL' ],
		[ "dp_pg.session WHERE role = 'analyst'", "dp_pg.session WHERE role = 'other'" ],
		[ "dp_pg.ledger WHERE mechanism = 'sparse vector'", "dp_pg.ledger WHERE mechanism = 'none'" ],
		[ "dp_pg.ledger WHERE mechanism = 'sparse vector' ORDER BY id DESC LIMIT 1", "dp_pg.ledger WHERE mechanism = 'none' ORDER BY id DESC LIMIT 1" ],
		[ "dp_pg.ledger WHERE id = $line", 'dp_pg.ledger WHERE id = -1' ],
		[ "dp_pg.ledger AS l JOIN (VALUES ('hospital')) AS v (d) ON l.dataset = v.d", "dp_pg.ledger AS l JOIN (VALUES ('other')) AS v (d) ON l.dataset = v.d" ])
	{
		my ($one, $two) = map { s/\\::/::/r } @$pair;

		is(met("SELECT FROM $one", $settings), met("SELECT FROM $two", $settings), "$settings: $one");
	}
	like(met("SELECT FROM pg_stats_ext WHERE $_", $settings), qr/Seq Scan on pg_statistic_ext_data sd \((?:actual rows=0(?:[.]00)? |never)/, "$settings: pg_stats_ext, $_")
	  foreach 'n_distinct IS NULL', 'n_distinct IS NOT NULL';
}
# Rows that are somebody's own are still there.
my $own = q{SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_stats WHERE tablename = 'visit' AND null_frac >= 0};
my $all = value($node, $own);
like($all, qr/age.*note/, 'a superuser sees statistics');
is($node->safe_psql('postgres', $own, extra_params => [ '-U', 'owner' ]), $all, 'and so does the owner');
is($node->safe_psql('postgres', $own, extra_params => [ '-U', 'other' ]), '', 'and nobody else');
is($node->safe_psql('postgres', q{SELECT string_agg(statistics_name, ' ' ORDER BY statistics_name) FROM pg_stats_ext}, extra_params => [ '-U', $_->[0] ]),
	$_->[1], "extended ones: $_->[0]")
  foreach [ 'postgres', 'visit_both visit_mcv' ], [ 'owner', 'visit_both visit_mcv' ], [ 'analyst', '' ], [ 'other', '' ];
is($node->safe_psql('postgres', q{SELECT predicate FROM dp_pg.session_question WHERE above IS NOT NULL}, extra_params => [ '-U', 'analyst' ]),
	'id > 10', 'one sees his own questions');

$node->stop;
done_testing();
