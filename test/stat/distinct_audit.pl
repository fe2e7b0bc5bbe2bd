# dp_count(DISTINCT x): its law, and audits on neighbouring groups; also where
# it is measured as the presence of public values (doc/theory.md T162).
#
# One statement over 20000 public groups that are alike is as many runs of the
# mechanism; a second table has groups that are their neighbours.  Where a unit
# is a row, a neighbour has one row more with a value of its own.  Where a unit
# has many rows, it has one more unit with nine values: of these max_rows
# count, whichever, and the noise is that much larger.  Of presence the groups have
# values with as many units as make the loss largest, if one more has all of them.
#
# Rates: 1e-10 per audit, eight; those that look where the loss is must see 3/4 of
# their claim, of presence .65, and two at one and a half times the price more than
# the claim; laws are judged at ALPHA, six times, half of them to be rejected.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use StatServer;
use Test::More;

use constant GROUPS => 20000;

my $node = stat_node('distinct_audit', <<"EOT");
CREATE TABLE rows_less (g integer NOT NULL, x integer NOT NULL);
INSERT INTO rows_less
	SELECT g, i % 5 FROM generate_series(1, @{[GROUPS]}) g, generate_series(1, 8) i;
CREATE TABLE rows_more AS
	SELECT * FROM rows_less
	UNION ALL SELECT g, 99 FROM generate_series(1, @{[GROUPS]}) g;
CREATE TABLE units_less (u integer NOT NULL, g integer NOT NULL, x integer NOT NULL);
INSERT INTO units_less
	SELECT g * 10 + u, g, u FROM generate_series(1, @{[GROUPS]}) g, generate_series(1, 5) u;
CREATE TABLE units_more AS
	SELECT * FROM units_less
	UNION ALL SELECT g * 10, g, 100 + i FROM generate_series(1, @{[GROUPS]}) g, generate_series(1, 9) i;
SELECT dp_protect(t) FROM unnest('{rows_less,rows_more}'::regclass[]) t;
SELECT dp_protect(t, unit => 'u') FROM unnest('{units_less,units_more}'::regclass[]) t;
SELECT dp_declare(t, 'g', lower => 1, upper => @{[GROUPS]})
FROM unnest('{rows_less,rows_more,units_less,units_more}'::regclass[]) t;
SELECT dp_grant('analyst', epsilon => 1000000000);
EOT

sub answers
{
	my ($table, $settings) = @_;

	return fetch($node, 'analyst',
		    "SET client_min_messages = error; $settings; "
		  . "SELECT dp_count(DISTINCT x) FROM $table GROUP BY g");
}

sub bound
{
	my ($one, $other, $step) = @_;
	my @lines;

	foreach my $input (0, 1)
	{
		open(my $in, '<', ($one, $other)[$input]) or die "$!";
		push @lines, map { "$input $_" } <$in>;
		close $in;
	}
	return judge(keep(join '', @lines), 'loss', 1, 5, 0, $step)->{bound};
}

my $less = answers('rows_less', 'SET dp_pg.epsilon = 1');
my $more = answers('rows_more', 'SET dp_pg.epsilon = 1');

follows(judge(sub { "$_[0] 5\n" }, $less, 'laplace', '1', 0),
	GROUPS, 'five values of eight rows');
cmp_ok(judge(sub { "$_[0] 5\n" }, $more, 'laplace', '1', 0)->{p},
	'<', ALPHA, 'rejected: six values');

my $seen = bound($less, $more, 1);

cmp_ok($seen, '<=', 1, "rows: loss of at least $seen is seen, 1 claimed");
cmp_ok($seen, '>=', 0.75, 'rows: the audit looks where the loss is');
cmp_ok(
	bound(
		answers('rows_less', 'SET dp_pg.epsilon = 1.5'),
		answers('rows_more', 'SET dp_pg.epsilon = 1.5'), 1),
	'>', 1, 'rows: more is seen at one and a half times the price');
foreach my $rows (1, 3)
{
	my $settings =
	  "SET dp_pg.epsilon = 1; SET dp_pg.max_keys = 1; SET dp_pg.max_rows = $rows";

	$seen = bound(answers('units_less', $settings),
		answers('units_more', $settings), 1);
	cmp_ok($seen, '<=', 1,
		"units, $rows of nine values: loss of at least $seen is seen, 1 claimed");
	cmp_ok($seen, '>=', 0.75,
		"units, $rows of nine values: the audit looks where the loss is");
}

# Groups in which so many units have each of some public values; @unit: what one
# more unit has, each three times, which is once.
sub make_presence
{
	my ($table, $units, @unit) = @_;
	my $groups = 'generate_series(1, ' . GROUPS . ') g';
	my $numbers = join ', ', @$units;
	my $values = join ', ', map { "'v$_'" } 0 .. $#$units;
	my $all = join ', ', map { ("'v$_'") x 3 } @unit;
	my $more = @unit ? "INSERT INTO $table SELECT g * 1000, g, x FROM $groups, unnest(ARRAY[$all]) x;" : '';

	$node->safe_psql('postgres', <<"EOT", extra_params => [ '-U', 'owner' ]);
SET client_min_messages = error;
CREATE TABLE $table (u integer NOT NULL, g integer NOT NULL, x text NOT NULL);
INSERT INTO $table SELECT g * 1000 + i * 100 + j, g, 'v' || i - 1
FROM $groups, unnest(ARRAY[$numbers]) WITH ORDINALITY AS n (units, i), generate_series(1, units) j;
$more
SELECT dp_protect('$table', unit => 'u', rows => 1000000000000000000),
	dp_declare('$table', 'g', lower => 1, upper => @{[GROUPS]}), dp_declare('$table', 'x', keys => ARRAY[$values]);
EOT
	return;
}

# How many of these values are above t, with noise of scale b.
sub presence_law
{
	my ($scale, $t, @units) = @_;
	my @law = (1);

	foreach my $n (@units)
	{
		my $p = tail($scale, 1, $t + 1 - $n);

		@law = map { ($law[$_] // 0) * (1 - $p) + ($_ > 0 ? $law[ $_ - 1 ] * $p : 0) } 0 .. @law;
	}
	return law_text({ map { $_ => $law[$_] } 0 .. $#law });
}

sub presence_settings
{
	my ($rows, $epsilon) = @_;

	return "SET dp_pg.max_keys = 1; SET dp_pg.max_rows = $rows; SET dp_pg.max_total = $rows; SET dp_pg.epsilon = $epsilon";
}

# What EXPLAIN states: S, the noise's scale, and t.
sub presence_stated
{
	my ($table, $settings, $values) = @_;
	my $plan = $node->safe_psql('postgres', "SET client_min_messages = error; $settings; EXPLAIN SELECT dp_count(DISTINCT x) FROM $table GROUP BY g",
		extra_params => [ '-U', 'analyst' ]);
	my @stated = $plan =~ /presence of $values values.*?sensitivity (\d+), scale ([0-9.]+), .* at least (\d+) units/;

	is(scalar @stated, 3, "presence of $values values is measured") or die $plan;
	return (@stated[ 0, 1 ], ($stated[2] - 1) / 2);
}

my @law_units = (3, 9, 0, 12, 30);

make_presence('presence_law', \@law_units);
foreach my $rows (1, 7)
{
	my $settings = presence_settings($rows, 1);
	my ($changes, $scale, $t) = presence_stated('presence_law', $settings, 5);
	my $found = answers('presence_law', $settings);

	is($changes, $rows < 5 ? $rows : 5, "$rows rows: so many values of a unit count");
	cmp_ok(5 * tail($scale, 1, $t + 1), '<=', 0.05, "no noise is above $t with odds of 0.95");
	cmp_ok(6 * tail($scale, 1, $t), '>', 0.05, 'and no higher than need be');
	follows(judge(sub { "$_[0]\n" }, $found, 'choice', presence_law($scale, $t, @law_units)),
		GROUPS, "presence, $rows rows, above $t");
	cmp_ok(judge(sub { "$_[0]\n" }, $found, 'choice', presence_law($scale, $t - 1, @law_units))->{p},
		'<', ALPHA, 'rejected: a threshold one lower');
}

# Of two values, each in as many units as noise of 0 leaves out, one more unit has
# both or one; the price and what is claimed.
make_presence('presence_two', [ 1, 1 ]);
foreach my $case ([ 1, 1, 4, 0, 1 ], [ 1, 0.5, 4, 0 ], [ 1, 1, 1, 0, 1 ], [ 1.5, 1, 4, 0, 1 ])
{
	my ($price, $claim, $rows, @unit) = @$case;
	my $settings = presence_settings($rows, $price);
	my (undef, undef, $t) = presence_stated('presence_two', $settings, 2);
	my @tables = map { join '_', 'presence', $_, @$case[ 0, 2 ], scalar @unit } qw(less more);
	my $name = "presence, $rows rows, @{[ scalar @unit ]} values";

	s/\./_/ foreach @tables;
	make_presence($tables[0], [ $t, $t ]);
	make_presence($tables[1], [ $t, $t ], @unit);
	$seen = bound(map({ answers($_, $settings) } @tables), 1);
	if ($price > 1)
	{
		cmp_ok($seen, '>', $claim, "$name: more is seen at one and a half times the price");
		next;
	}
	cmp_ok($seen, '<=', $claim, "$name: loss of at least $seen is seen, $claim claimed");
	cmp_ok($seen, '>=', 0.65 * $claim, "$name: the audit looks where the loss is") if @unit > 1;
}

$node->stop;
done_testing();
