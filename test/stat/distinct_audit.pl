# dp_count(DISTINCT x): its law, and audits on neighbouring groups.
#
# One statement over 20000 public groups that are alike is as many runs of the
# mechanism; a second table has groups that are their neighbours.  Where a unit
# is a row, a neighbour has one row more with a value of its own.  Where a unit
# has many rows, it has one more unit with nine values: of these max_rows
# count, whichever, and the noise is that much larger.
#
# Rates: 1e-10 per audit, three; each must see 3/4 of its claim, and one at one
# and a half times the price must show more than the claim; the law is judged
# at ALPHA, twice, once to be rejected.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
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

$node->stop;
done_testing();
