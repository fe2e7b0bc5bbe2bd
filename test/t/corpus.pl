# Queries from elsewhere: test suites and documentation of other systems, with a
# program that runs them and compares every answer with the plain query's.  At an
# epsilon of 10^9 and with bounds that keep all rows of these small tables noise is
# negligible: a value of them is wrong beyond the program's tolerance of a half with
# a probability below 1e-9.
#
# So are those that BI tools send, in transparent mode, over real data, at an
# epsilon of 200,000 and one row per person.
#
# Then all run under planner settings: a query that EXPLAIN prices must not be
# refused (FuzzNode).
#
# Numbers of answered queries have lower limits.  Answers that differ are named
# here, each with its reason; another one is a failure.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../fuzz";
use AttackNode qw(attack_node);
use FuzzNode qw(priced_statements);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $corpus = $ENV{DP_PG_CORPUS} || '';

plan skip_all => 'no corpus of queries: DP_PG_CORPUS' if !-r "$corpus/peer.py";

my %differs = (
	'clickbench/003' => 'a mean of no rows',
	'google/058' => 'two answers to one question are compared',
	'google/059' => 'two answers to one question are compared',
	'smartnoise/027' => 'each key has one person',
	'smartnoise/070' => 'each key has one person',
	'smartnoise/097' => 'each key has one person',
	'smartnoise/146' => 'each key has one person',
	'smartnoise/186' => 'each key has one person',
	'smartnoise/013' => 'a mean of a public group without rows',
	'smartnoise/016' => 'a mean of a public group without rows',
	'smartnoise/037' => 'a random number',
	'smartnoise/127' => 'public groups without rows',
	'tpch/005' => 'public groups without rows',
	'tpch/007' => 'public groups without rows',
	'tpch/020' => 'sums of public groups without rows');
my $answered = 270;

my $node = attack_node('corpus');

$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGUSER} = 'postgres';
my ($out, $err);

run_log([ '/usr/bin/python3', "$corpus/peer.py", '--setup' ], '>', \$out, '2>', \$err);
is($err, '', 'the corpus is set up');
$node->safe_psql('corpus_peer', <<'EOT');
ALTER ROLE analyst SET dp_pg.epsilon_ceiling = '1000000000';
ALTER ROLE analyst IN DATABASE corpus_peer SET dp_pg.epsilon = '1000000000';
ALTER ROLE analyst IN DATABASE corpus_peer SET dp_pg.max_rows = 3000;
ALTER ROLE analyst IN DATABASE corpus_peer SET dp_pg.max_keys = 100;
SELECT dp_grant('analyst', dataset, epsilon => 999999999999, delta => 0.01) FROM (SELECT DISTINCT dataset FROM dp_pg.relation) d;
EOT
run_log([ '/usr/bin/python3', "$corpus/peer.py", '-v' ], '>', \$out, '2>', \$err);
is($err, '', 'the queries are asked');
my ($n, $of, $wrong) = $out =~ /^(\d+) of (\d+) answered \(\d+%\), (\d+) wrong$/m;
cmp_ok($n // 0, '>=', $answered, "of $of queries $answered are answered");
for ($out =~ m{^WRONG \S*/(\w+/\w+)\.sql}mg)
{
	ok(exists $differs{$_}, "$_ differs: " . ($differs{$_} // 'unknown'));
}
diag($out) if !Test::More->builder->is_passing;

# Of each file the query, and the one that it was made from.
sub are_priced
{
	my ($part, $role, $original) = @_;
	my $of = $part eq 'peer' ? 'peer/queries' : $part;
	my @statements;

	foreach my $file (sort glob "$corpus/$of/*/[0-9]*.sql")
	{
		my $text = slurp_file($file);
		my ($schema) = $text =~ /^-- schema: (\w+)/m;
		my $sql = $original ? join("\n", $text =~ /^-- original: ?(.*)$/mg) : $text =~ s/^--.*\n//mgr;

		push @statements, "SET search_path = $schema, public; " . $sql =~ s/\s*;?\s*\z//r if $sql =~ /\S/;
	}
	my @answers = priced_statements($node, "$role dbname=corpus_$part", '', @statements);
	my @wrong = grep { $answers[$_] =~ /, price / } 0 .. $#answers;

	cmp_ok(scalar(grep { !/^error/ } @answers), '>', @answers / 3, @answers . " of $part are asked of $role");
	is(@wrong, 0, 'what has a price is answered') or diag("$answers[$_]\n  $statements[$_]") foreach @wrong;
	return;
}

run_log([ '/usr/bin/python3', "$corpus/reports.py", '--setup' ], '>', \$out, '2>', \$err);
is($err, '', 'the reports are set up');
are_priced(@$_) foreach [qw(peer analyst)], [qw(reports reports_analyst)], [qw(reports reports_tool 1)];

SKIP:
{
	my %other = (
		'superset.raw_records' => 'a preview has no rows',
		'tableau.view_data_rows' => 'a preview has no rows',
		'superset.time_range_minmax' => 'a step of a grid');

	skip 'no real data beside the corpus', 3 if !-r "$corpus/../data/nycflights.csv";
	run_log([ '/usr/bin/python3', "$corpus/bi.py", '--setup' ], '>', \$out, '2>', \$err);
	is($err, '', 'the warehouse is set up');
	run_log([ '/usr/bin/python3', "$corpus/bi.py", '-v' ], '>', \$out, '2>', \$err);
	is($err, '', 'the queries of BI tools are asked');
	($n, $of) = $out =~ /^(\d+) of (\d+) answered, \d+ right$/m;
	cmp_ok($n // 0, '>=', 52, "of $of queries of BI tools 52 are answered");
	for ($out =~ m{^DIFFERS (\S+)}mg)
	{
		ok(exists $other{$_}, "$_ differs: " . ($other{$_} // 'unknown'));
	}
	diag($out) if !Test::More->builder->is_passing;
	run_log([ '/usr/bin/python3', "$corpus/bi.py", '--off' ], '>', \$out, '2>', \$err);
	($n) = $out =~ /^(\d+) of \d+ answered, \1 right$/m;
	cmp_ok($n // 99, '<=', 6, 'without the mode only public keys are answered');
}
$node->stop('fast');
done_testing();
