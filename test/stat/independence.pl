# No noise is used twice: not between groups, aggregates, executions, the two
# sums of a mean, transactions, sessions, or processes forked from one another.
#
# Collisions.  Sums with bounds of 2^62 - 1 at epsilon 0.001 have noise of
# scale 4.6e21: two that share a magnitude mean reuse.  By chance it happens
# with the probability that judge prints as `rate`, together below 2e-11.
# Dependence: p-values as StatServer says.
use strict;
use warnings;

use FindBin;
use IPC::Run ();
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

my $node = stat_node('independence', <<'EOT');
CREATE TABLE empty (k integer NOT NULL, x bigint, y bigint, i integer);
SELECT dp_protect('empty');
SELECT dp_declare('empty', 'k', lower => 0, upper => 99999);
SELECT dp_declare('empty', 'x', lower => -4611686018427387903,
	upper => 4611686018427387903);
SELECT dp_declare('empty', 'y', lower => -4611686018427387903,
	upper => 4611686018427387903);
SELECT dp_grant('analyst', epsilon => 1000000000);
EOT
as($node, 'postgres', <<'EOT');
CREATE FUNCTION noises(n integer) RETURNS SETOF numeric
LANGUAGE plpgsql AS $$
DECLARE
	noise numeric;
BEGIN
	FOR i IN 1 .. n LOOP
		SELECT dp_sum(x, 0.001) INTO noise FROM empty;
		RETURN NEXT noise;
	END LOOP;
END $$;
ALTER FUNCTION noises(integer) OWNER TO analyst;
EOT

my $scale = '1/4611686018427387903000';

# Everything that check must not find twice is kept and checked together, too.
my @all;

sub fresh
{
	my ($files, $n, $name) = @_;
	my $found = judge(
		sub { join('', map { "$_\n" } split / /, $_[0]) },
		$files, 'collide', $scale);

	push @all, ref $files ? @$files : $files;
	ok($found->{n} == $n && $found->{twice} == 0,
		"$name (" . show($found) . ')');
	return;
}

# ---- one statement: groups and aggregates ----

my $groups = fetch($node, 'analyst',
	'SELECT dp_sum(x, 0.001), dp_sum(y, 0.001)'
	  . ' FROM empty WHERE k >= 0 GROUP BY k');
my @parts = (
	fetch($node, 'analyst',
		'SELECT dp_sum(x, 0.001), dp_sum(y, 0.001), dp_sum(-x,'
		  . ' -4611686018427387903, 4611686018427387903, 0.001)'
		  . ' FROM empty WHERE i = 1 GROUP BY k ORDER BY k LIMIT 5000'),
	fetch($node, 'analyst',
		'SELECT dp_sum(x, 0.001) FILTER (WHERE i = 1),'
		  . ' dp_sum(x, 0.001) FILTER (WHERE i = 2)'
		  . ' FROM empty GROUP BY k ORDER BY k DESC LIMIT 5000'));

fresh(\@parts, 25000, 'groups and aggregates of a statement');
push @all, $groups;
follows(judge($groups, 'dependence', $scale, $scale),
	100000, 'two sums of one statement');

# The same random bytes would show at different scales, too.
my $mixed = fetch($node, 'analyst',
	'SELECT dp_count(1, 0.001), dp_sum(x, 0.001), dp_sum(i, 0, 100, 0.5)'
	  . ' FROM empty GROUP BY k');
foreach my $case (
	[ 'count and sum',           0, 1, '1/1000', $scale ],
	[ 'sum and another sum',     1, 2, $scale,   '1/200' ],
	[ 'count and sum of an int', 0, 2, '1/1000', '1/200' ])
{
	my ($name, $one, $other, @scales) = @$case;

	follows(
		judge(
			sub { join(' ', (split / /, $_[0])[ $one, $other ]) . "\n" },
			$mixed, 'dependence', @scales),
		100000,
		"$name of one group");
}

# The two sums of a mean over nobody: with one noise for both the mean would
# be NULL, here the midpoint, always, with mirrored noise too.  X > 0 > Y and Y > 0 > X
# give the bounds, X + Y <= 0 gives NULL; law.pl has the whole law.
my $means = judge(
	fetch($node, 'analyst',
		'SELECT coalesce(dp_avg(i, 0, 100, 0.5), 50) FROM empty GROUP BY k'),
	'simulated', 0, 100, 0, 0, '1/200');

follows($means, 100000, 'the two sums of a mean');

# ---- many executions ----

fresh(
	fetch($node, 'analyst', 'SELECT * FROM noises(2000)'),
	2000, 'executions of one statement in PL/pgSQL');

my $script = "PREPARE q(numeric) AS SELECT dp_sum(x, \$1) FROM empty;\n"
  . "EXECUTE q(0.001);\n" x 500
  . "SET plan_cache_mode = force_generic_plan;\n"
  . "EXECUTE q(0.001);\n" x 500
  . "SET plan_cache_mode = force_custom_plan;\n"
  . "EXECUTE q(0.001);\n" x 500;
my $file = keep(as($node, 'analyst', $script));

fresh($file, 1500, 'executions of a prepared statement, both kinds of plan');

# Rolled back work must not bring the noise back.
$script =
  "BEGIN;\nSAVEPOINT a;\nSELECT dp_sum(x, 0.001) FROM empty;\n"
  . "ROLLBACK TO a;\nSELECT dp_sum(x, 0.001) FROM empty;\nROLLBACK;\n";
fresh(keep(as($node, 'analyst', $script x 100)),
	200, 'rolled back transactions');

# Reading a cursor twice shows the same released rows, no fresh noise.
my @lines = split /\n/, as($node, 'analyst', <<'EOT');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT dp_sum(x, 0.001) FROM empty GROUP BY k;
FETCH 50 FROM c;
MOVE ABSOLUTE 0 FROM c;
FETCH 50 FROM c;
COMMIT;
EOT
is("@lines[0 .. 49]", "@lines[50 .. 99]",
	'a released value stays what it was');

# ---- many processes ----

# Short sessions one after the other, each a fresh child of the postmaster.
my @sessions = map {
	fetch($node, 'analyst',
		'SELECT dp_sum(x, 0.001) FROM empty GROUP BY k LIMIT 100')
} 1 .. 20;

fresh(\@sessions, 2000, 'twenty sessions one after the other');

# Sessions at the same time; started together, so that their processes are
# forked from the postmaster in one state.
my @running;

foreach my $i (1 .. 8)
{
	my $session = { out => '', err => '' };
	my $in = "SELECT dp_sum(x, 0.001) FROM empty GROUP BY k LIMIT 500;\n" x 5;

	$session->{harness} = IPC::Run::start(
		[
			'psql', '-XAtq', '-U', 'analyst',
			'-d', $node->connstr('postgres')
		],
		'<', \$in, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout(120));
	push @running, $session;
}
$_->{harness}->finish foreach @running;
fresh([ map { keep($_->{out}) } @running ],
	20000, 'eight sessions at the same time');

# A crash and a restart: the postmaster forks anew from its own memory.
my @restarts;

foreach my $mode ('immediate', 'fast')
{
	push @restarts,
	  fetch($node, 'analyst',
		'SELECT dp_sum(x, 0.001) FROM empty GROUP BY k LIMIT 500');
	$node->stop($mode);
	$node->start;
}
push @restarts,
  fetch($node, 'analyst',
	'SELECT dp_sum(x, 0.001) FROM empty GROUP BY k LIMIT 500');
fresh(\@restarts, 1500, 'before and after restarts');

# ---- everything together ----

my $found = judge(
	sub { join('', map { "$_\n" } split / /, $_[0]) },
	\@all, 'collide', $scale);

ok( $found->{n} > 250000 && $found->{twice} == 0,
	'no noise of this test was used twice (' . show($found) . ')');

$node->stop;
done_testing();
