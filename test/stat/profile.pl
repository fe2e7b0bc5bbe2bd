# dp_profile: the released histograms follow their exact law, all at their shares
# of one price; an audit on neighbouring tables accuses them of no more, and
# accuses those of twice the price; bounds found at epsilon 1 of 20,000 people are
# not above twice the greatest value; a crash loses no charge.  A bound that a query
# measures: the same audit of a quarter of its price, the law of three quarters.
#
# Rates: p-values as StatServer says; 2 audits at 1e-10.  The least losses that it
# must see lie seven standard errors below what it sees.  A bound is above twice the greatest value
# with a probability of at most 1e-3 a profile (T161), in three of nine with at
# most 84e-9.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../t";
use LedgerNode qw(start_patiently);
use StatServer;
use Test::More;

my $node = stat_node('profile', <<'EOT');
-- dates at both ends of what is measured: all that lies between is released
CREATE TABLE wide AS SELECT i AS id, d AS d1, d AS d2, d AS d3, d AS d4, d AS d5, d AS d6, d AS d7, d AS d8, d AS d9, d AS d10
FROM generate_series(1, 4000) i, LATERAL (SELECT CASE WHEN i % 2 = 0 THEN date '1900-01-01' ELSE date '2099-12-31' END) v (d);
CREATE TABLE visits AS SELECT id AS who, d1, d2, d3, d4, d5 FROM wide, generate_series(1, 1 + id % 3);
ALTER TABLE wide ADD PRIMARY KEY (id);
-- neighbours: a person with a zero among others that are far away
DO $make$ BEGIN
	EXECUTE 'CREATE TABLE less AS SELECT i AS id' || (SELECT string_agg(', (i % 2) * 16 - 8 AS x' || j, '') FROM generate_series(1, 100) j) || ' FROM generate_series(1, 400) i';
	EXECUTE 'CREATE TABLE more AS SELECT * FROM less UNION ALL SELECT 0' || repeat(', 0', 100);
	EXECUTE 'ALTER TABLE less ADD PRIMARY KEY (id)';
	EXECUTE 'ALTER TABLE more ADD PRIMARY KEY (id)';
END $make$;
CREATE TABLE swapped AS SELECT * FROM wide;
ALTER TABLE swapped ADD PRIMARY KEY (id);
SELECT dp_protect('swapped', unit => 'id', dataset => 'swapped'), dp_neighbours('swapped', 'replace_one');
SELECT dp_protect('wide', unit => 'id'), dp_protect('visits', unit => 'who'), dp_protect('less', unit => 'id'), dp_protect('more', unit => 'id');
EOT
as($node, 'postgres',
	"ALTER ROLE owner SET dp_pg.epsilon_ceiling = '1000000'; ALTER ROLE owner SET client_min_messages = error");

# The released buckets of a profile, as a file of lines "noisy what bucket".
sub profile
{
	my ($relation, $epsilon) = @_;

	as($node, 'owner', "SELECT count(*) FROM dp_profile('$relation', $epsilon)");
	return fetch($node, 'owner', <<"EOT");
SELECT b.bar ->> 1, replace(h.hist ->> 'what', ' ', '_'), b.bar ->> 0 FROM dp_pg.profile p
CROSS JOIN LATERAL jsonb_array_elements(p.bars) h (hist)
CROSS JOIN LATERAL jsonb_array_elements(h.hist -> 'bars') b (bar)
WHERE p.relid = '$relation'::regclass
EOT
}

# ---- the law: of people with one row, and with many ----

my %people = ('1900-01-31' => 2000, '2099-12-31' => 2000, 1 => 1333, 2 => 1334, 3 => 1333);

sub against_law
{
	my ($line) = @_;
	my ($noisy, $what, $bucket) = split / /, $line;

	return "$noisy " . ($people{$bucket} // 0) . "\n";
}

my $one = profile('wide', 5);
my $many = profile('visits', 5);

follows(judge(\&against_law, $one, 'laplace', '1/2', 0),
	10 * 2400, 'people with one row: 10 histograms at epsilon 5');
cmp_ok(judge(\&against_law, $one, 'laplace', '1/1.8', 0)->{p},
	'<', ALPHA, 'rejected: a tenth more each');
follows(judge(\&against_law, $many, 'laplace', '5/16', 0),
	10 * 2400 + 3, 'people with many rows: 16 histograms at epsilon 5');
follows(judge(\&against_law, profile('swapped', 5), 'laplace', '1/4', 0),
	10 * 2400, 'the same where a person may be replaced: twice the noise');
is( as($node, 'owner',
		'SELECT round(sum(epsilon), 15), max(epsilon) <= 5, sum(releases) FROM dp_pg.ledger'),
	'15.000000000000000|t|36',
	'each profile is charged its price and no more');

# ---- neighbours: a person who is in each histogram ----

# How many are counted where only this person is, by 100 histograms of each of so
# many profiles: the share of the price of each bounds its loss.
sub shares
{
	my ($price, $n) = @_;
	my $lines = '';

	foreach my $input (0, 1)
	{
		foreach (1 .. $n)
		{
			my $file = profile(('less', 'more')[$input], $price * 100);

			open(my $in, '<', $file) or die "$file: $!";
			while (<$in>)
			{
				$lines .= "$input $1\n" if /^(-?\d+) values 0$/;
			}
			close $in;
		}
	}
	return judge(keep($lines), 'loss', 1, 0, 0, 1);
}

my ($fair, $broken) = (shares(1.2, 10), shares(2.4, 20));
my $seen = "a loss of at least $fair->{bound} is seen";

is("$fair->{n} $fair->{m}", '1000 1000', 'every histogram is there');
cmp_ok($fair->{bound}, '<=', 1.2, "one of 100 histograms at epsilon 120: $seen, 1.2 claimed");
cmp_ok($fair->{bound}, '>=', 0.1, 'the audit looks where the loss is');
cmp_ok($broken->{bound}, '>', 1.2,
	"rejected: half the noise, a loss of at least $broken->{bound} is seen");

# ---- a bound that a query measures (dp_pg.bounds) ----
#
# People with one row, and 6 or 7 with ten: only noise of scale 4 / epsilon tells
# whether these count, so the bound is 1 or far above.  (3 or 4 at twice the price.)

as($node, 'owner', <<'EOT');
DO $make$ DECLARE n int; BEGIN
	FOREACH n IN ARRAY '{0,3,4,6,7}'::int[] LOOP
		EXECUTE format('CREATE TABLE ten%s AS SELECT i AS who FROM generate_series(1 - %1$s, 100) i, generate_series(1, CASE WHEN i <= 0 THEN 10 ELSE 1 END)', n);
		PERFORM dp_protect('ten' || n, unit => 'who', dataset => 'measured');
	END LOOP;
END $make$;
SELECT dp_grant('analyst', 'measured', epsilon => 1e9);
EOT
as($node, 'postgres',
	"ALTER ROLE analyst SET dp_pg.epsilon_ceiling = '1000000'; ALTER ROLE analyst SET dp_pg.bounds = measure");

# Answers of so many queries and the bounds that they measured, as a file of
# lines "answer bound".
sub measured
{
	my ($relation, $epsilon, $n) = @_;
	my $query = "SELECT dp_count(1, $epsilon) FROM $relation \\gset\n"
	  . "SELECT :dp_count, max_total FROM dp_last_release() WHERE max_total > 0;\n";

	return fetch($node, 'analyst', $query x $n . 'SELECT');
}

# The loss by whether the bound is above 1.
sub bounds_lose
{
	my ($epsilon, @tables) = @_;
	my $lines = '';

	foreach my $input (0, 1)
	{
		open(my $in, '<', measured($tables[$input], $epsilon, 1000)) or die;
		while (<$in>)
		{
			$lines .= "$input " . ($1 > 1 ? 1 : 0) . "\n" if /^-?\d+ (\d+)$/;
		}
		close $in;
	}
	return judge(keep($lines), 'loss', 1, 0, 0, 1);
}

($fair, $broken) = (bounds_lose(8, 'ten6', 'ten7'), bounds_lose(16, 'ten3', 'ten4'));
is("$fair->{n} $fair->{m}", '1000 1000', 'every query measured a bound');
cmp_ok($fair->{bound}, '<=', 2,
	"a quarter of epsilon 8 measures: a loss of at least $fair->{bound} is seen, 2 claimed");
cmp_ok($fair->{bound}, '>=', 0.5, 'and the audit looks where the loss is');
cmp_ok($broken->{bound}, '>', 2,
	"rejected: a quarter of epsilon 16, a loss of at least $broken->{bound} is seen");

# rows are weighed, so the noise is far finer than one: at 0.1 that is not seen
my $answers = measured('ten0', 0.1, 2000);
my $of_one = sub { $_[0] =~ /^(-?\d+) 1$/ ? "$1 100\n" : '' };
my $found = judge($of_one, $answers, 'laplace', '3/40', 0);

cmp_ok($found->{n}, '>=', 1970, 'noise alone is hardly ever taken for people');
follows($found, $found->{n}, 'three quarters of the price are the noise of the answer');
cmp_ok(judge($of_one, $answers, 'laplace', '1/10', 0)->{p}, '<', ALPHA, 'rejected: all of it');
is( as($node, 'owner', "SELECT epsilon, count(*) FROM dp_pg.ledger WHERE dataset = 'measured' GROUP BY 1 ORDER BY 1"),
	"0.025|2000\n0.075|2000\n2|2000\n4|2000\n6|2000\n12|2000",
	'both releases are charged, together the price');

# ---- bounds: people with heavy tails, 3, 10 and 20 columns ----

as($node, 'owner', <<'EOT');
SELECT setseed(0.3);
CREATE TABLE tail3 AS SELECT i AS who, (10 / power(random() + 1e-9, 0.7))::integer AS a, (random() * random() * 200)::numeric(8, 2) AS b, date '2023-01-01' + (random() * 900)::integer AS t
FROM (SELECT i, 1 + floor(-ln(random() + 1e-12) * 4)::integer AS k FROM generate_series(1, 20000) i) p, generate_series(1, k);
CREATE TABLE tail10 AS SELECT *, a * 2 AS a2, b * b AS b2, -ln(random() + 1e-9) AS f, (random() < 0.1)::integer * (random() * 1e6)::integer AS z, t + 9 AS t2, (random() * 120)::integer AS age, -a AS neg FROM tail3;
CREATE TABLE tail20 AS SELECT *, a / 7 AS a3, b / 9 AS b3, power(random() + 1e-9, -1.5) AS f2, (random() * 3)::integer AS q, (random() * 1000)::numeric AS n, random() / 1e6 AS tiny, a * 5::bigint AS a4, b * 4 AS b4, f * 100 AS f3, t - 5000 AS t3 FROM tail10;
SELECT dp_protect(t, unit => 'who') FROM unnest('{tail3,tail10,tail20}'::regclass[]) t;
EOT

my $wide = 0;

foreach my $table (('tail3', 'tail10', 'tail20') x 3)
{
	my @bounds = split /\n/, as($node, 'owner',
		"SELECT attribute, value FROM dp_profile('$table') WHERE what = 'upper' AND value !~ '^....-'");
	my @ratios = map { /^(\w+)\|(.*)/ ? "$2 / nullif(greatest(max($1), 0), 0)" : () } @bounds;
	my $worst = as($node, 'owner', 'SELECT greatest(' . join(', ', @ratios) . ") FROM $table");

	$wide++ if $worst > 2;
	note("$table: the widest bound is $worst times the greatest value");
}
cmp_ok($wide, '<', 3, "$wide of 9 profiles have a bound above twice the greatest value");

# ---- a crash after the charge ----

my $before = as($node, 'owner', 'SELECT sum(epsilon) FROM dp_pg.ledger');
$node->psql('postgres', "BEGIN; SELECT count(*) FROM dp_profile('wide', 7); COPY (SELECT 1) TO PROGRAM 'kill -9 \$PPID'");
$node->kill9;
start_patiently($node) or BAIL_OUT('server does not start');
is(as($node, 'owner', "SELECT round(sum(epsilon) - $before, 9) FROM dp_pg.ledger"), '7.000000000', 'what it cost is there after a crash');
is(as($node, 'owner', "SELECT epsilon FROM dp_pg.profile WHERE relid = 'wide'::regclass"), '5', 'and the profile is the one before');

$node->stop;
done_testing();
