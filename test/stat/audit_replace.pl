# Audits through SQL where neighbours replace one row by another, which may
# stand in another group.
#
# Pairs of groups are alike, but for one row: in the first half of the pairs it
# stands in the pair's first group, in the second half it is another one, in the
# same group (table "changing") or the same one in the pair's second group
# ("moving").  One statement over all groups gives the releases of both groups on
# either of two neighbouring inputs, for the bounds of loss.h.  Selections are
# compared with their exact laws, too.
#
# Rates: 18 audits at 1e-10 each, p-values as StatServer says.  The least loss that
# an audit must see lies ten standard errors below the actual one, and so does the
# claim that is exceeded with noise for added and removed rows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Laws;
use StatServer;
use Test::More;

use constant PAIRS => 40000;	# of either half

my $last = 4 * PAIRS - 1;

# Two rows in each group, and the row in question.
sub table
{
	my ($name, $group, $before, $dataset) = @_;
	my ($from, $to) = (PAIRS, 2 * PAIRS - 1);
	my $below = $from - 1;

	return <<"EOT";
CREATE TABLE $name (k integer NOT NULL, x integer, c text);
INSERT INTO $name
	SELECT k, r.*
	FROM generate_series(0, $last) k, (VALUES (1, 'a'), (3, 'b')) AS r;
INSERT INTO $name SELECT 2 * p, $before FROM generate_series(0, $below) p;
INSERT INTO $name
	SELECT 2 * p + $group, 4, 'b' FROM generate_series($from, $to) p;
SELECT dp_protect('$name', dataset => '$dataset');
SELECT dp_declare('$name', 'k', lower => 0, upper => $last);
EOT
}

my $node = stat_node('audit_replace',
	table('changing', 0, "0, 'a'", 'replaced')
	  . table('moving', 1, "4, 'b'", 'replaced')
	  . table('changing_added', 0, "0, 'a'", 'added')
	  . table('moving_added', 1, "4, 'b'", 'added') . <<'EOT');
SELECT dp_grant('analyst', dataset => 'replaced', epsilon => 1000000000,
	delta => 0.9);
SELECT dp_grant('analyst', dataset => 'added', epsilon => 1000000000,
	delta => 0.9);
SELECT dp_neighbours('replaced', 'replace_one');
EOT

# Values of all groups, a file of lines "input a b" for each: "a b" is what the
# edit makes of the answers of a pair's two groups.
sub pairs
{
	my ($table, $mechanism, @cases) = @_;
	my $file = fetch($node, 'analyst',
		"SET dp_pg.mechanism = $mechanism; SET dp_pg.delta = '1e-6'; SELECT "
		  . join(', ', map { $_->[0] } @cases)
		  . " FROM $table GROUP BY k");
	my @texts = map { '' } @cases;

	open(my $in, '<', $file) or die "$file: $!";
	while (defined(my $one = <$in>) && defined(my $other = <$in>))
	{
		my @one = split ' ', $one;
		my @other = split ' ', $other;
		my $input = $. <= 2 * PAIRS ? 0 : 1;

		die "a value is missing in: $one$other"
		  if @one != @cases || @other != @cases;
		foreach my $i (0 .. $#cases)
		{
			my $edit = $cases[$i]->[1];

			$texts[$i] .= "$input " . $edit->($one[$i], $other[$i]) . "\n";
		}
	}
	close $in;
	return map { keep($_) } @texts;
}

# Cases of a value, its edit, where to look, the epsilon claimed, what must be
# seen of it, and a delta.
sub audit
{
	my ($table, $mechanism, @cases) = @_;
	my @files = pairs($table, $mechanism, @cases);

	foreach my $case (@cases)
	{
		my ($value, $edit, $where, $claim, $seen, $delta) = @$case;
		my $found = judge(shift @files, 'loss', 2, @$where,
			defined $delta ? $delta : ());
		my $name = "$table, $mechanism, $value";

		is("$found->{n} $found->{m}", PAIRS . ' ' . PAIRS,
			"$name: all pairs");
		cmp_ok($found->{bound}, '<=', $claim,
			"$name: loss of at least $found->{bound} is seen, $claim claimed");
		cmp_ok($found->{bound}, '>=', $seen, "$name: the audit sees $seen")
		  if defined $seen;
	}
	return;
}

my %place = (a => 0, b => 1, c => 2);

sub numbers { return "$_[0] $_[1]" }
sub places { return "$place{$_[0]} $place{$_[1]}" }
sub thousandths { return sprintf '%.0f %.0f', 1000 * $_[0], 1000 * $_[1] }

# Both cells of the first group; the last cells of both groups.
sub cells { return join ' ', ($_[0] =~ /-?\d+/g)[ 0, 1 ] }
sub last_cells { return join ' ', map { (/-?\d+/g)[1] } @_ }

my $pqr = "ARRAY['a', 'b', 'c']";
my $argmax = "dp_argmax(c, $pqr, 6)";
my $histogram = 'dp_histogram(x, 0, 4, 2, 1.0)';

# In one group: a sum moves by 4, a cell or a score goes down, one goes up.
audit(
	'changing',
	'laplace',
	[
		'dp_count(1, 1.0) FILTER (WHERE x = 4)',
		\&numbers, [ 0, 0, 1 ], 1, 0.2
	],
	[ 'dp_sum(x, 0, 4, 1.0)', \&numbers, [ 6, 4, 2 ], 1, 0.2 ],
	[ $histogram, \&cells, [ 2, 1, 1 ], 1, 0.5 ],
	[ 'coalesce(dp_avg(x, 0, 4, 8), 2)', \&thousandths, [ 2000, 2000, 100 ], 8, 1 ],
	[ $argmax, \&places, [ 0, 0, 1 ], 6, 0.5 ],
	[ 'dp_quantile(x, 0.5, 0, 4, 8)', \&numbers, [ 0, 0, 1 ], 8, 0.5 ]);

# From one group to another: everything of both groups moves.
audit(
	'moving',
	'laplace',
	[ 'dp_count(1, 1.0)', \&numbers, [ 3, 2, 1 ], 1, 0.5 ],
	[ 'dp_sum(x, 0, 4, 1.0)', \&numbers, [ 8, 4, 2 ], 1, 0.5 ],
	[ $histogram, \&last_cells, [ 2, 1, 1 ], 1, 0.5 ],
	[ 'coalesce(dp_avg(x, 0, 4, 8), 2)', \&thousandths, [ 2000, 2000, 100 ], 8, 0.5 ],
	[ $argmax, \&places, [ 0, 0, 1 ], 6, 0.5 ],
	[ 'dp_quantile(x, 0.5, 0, 4, 8)', \&numbers, [ 0, 0, 1 ], 8, 0.5 ]);

# Gaussian, at an epsilon of which delta is large enough to be seen: all values
# of a statement cost what one number of sensitivity 1 would.
my $sigma = as($node, 'analyst',
	"SELECT dp_gaussian_sigma(1, 2, 0.000001, method => 'zcdp')");
my $delta = as($node, 'analyst', "SELECT dp_gaussian_delta(1, $sigma, 0.5)");

audit(
	'moving',
	'gaussian',
	[ 'dp_count(1, 2)', \&numbers, [ 3, 2, 2 ], 0.5, 0.1, $delta ],
	[ 'dp_sum(x, 0, 4, 2)', \&numbers, [ 8, 4, 4 ], 0.5, 0.1, $delta ],
	[ 'dp_histogram(x, 0, 4, 2, 2)', \&last_cells, [ 2, 1, 2 ], 0.5, 0.1,
		$delta ],
	[ $argmax, \&places, [ 0, 0, 1 ], 6, 0.5 ]);
audit(
	'changing',
	'gaussian',
	[ 'dp_histogram(x, 0, 4, 2, 2)', \&cells, [ 2, 1, 2 ], 0.5, 0.1, $delta ],
	[ $argmax, \&places, [ 0, 0, 1 ], 6, 0.5 ]);

# ---- laws ----

# Scores that a row moves both ways: epsilon / 2 for each.  The first groups of
# "changing" hold a twice, b once; of quantiles their rows 0, 1 and 3, which a
# row may leave for another group: four times max(a, d - a).
my %score = (a => 2, b => 1, c => 0);

foreach my $mechanism ('laplace', 'gaussian')
{
	my $law = ($mechanism eq 'laplace' ? \&permute : \&exponential)
	  ->(\%score, 0.8);
	my ($selected, $median, $quarter) = first_groups($mechanism,
		"dp_argmax(c, $pqr, 1.6)", 'dp_median(x, 0, 4, 1.6)',
		'dp_quantile(x, 0.25, 0, 4, 6)');

	follows(judge($selected, 'choice', law_text($law)),
		PAIRS, "dp_argmax, $mechanism, one replaced");
	foreach my $case ([ $median, 1, 2, 1.6 / 4 ], [ $quarter, 1, 4, 6 / 12 ])
	{
		my ($file, $a, $d, $rate) = @$case;
		my %rank = map { $_ => rank_score($_, $a, $d, 0, 1, 3) } 0 .. 4;

		follows(
			judge($file, 'choice', law_text(exponential(\%rank, $rate))),
			PAIRS, "dp_quantile, $a/$d, one replaced");
	}
}

# Means and variances: twice the noise, 2 4 / 8 and 2 16 / 10; for NULL, when
# their released number is not positive, those of a uniform variable.
my ($mean, $variance) =
  first_groups('laplace', 'coalesce(dp_avg(x, 0, 4, 8), 2)',
	'coalesce(dp_variance(x, 0, 4, 10), 16 / 12.0)');

follows(judge($mean, 'mean', 0, 4, 4, 8, 1), PAIRS, 'dp_avg, one replaced');
follows(judge($variance, 'variance', 4, 3, 4, 10, '10/32', 0),
	PAIRS, 'dp_variance, one replaced');

# Answers of the first half's first groups.
sub first_groups
{
	my ($mechanism, @values) = @_;
	my @files = pairs('changing', $mechanism,
		map { [ $_, sub { $_[0] } ] } @values);
	my @kept;

	foreach my $file (@files)
	{
		open(my $in, '<', $file) or die "$file: $!";
		push @kept, keep(join '', map { /^0 (.*)/ ? "$1\n" : () } <$in>);
		close $in;
	}
	return @kept;
}

# ---- noise for rows that come and go is not enough here ----

foreach my $case (
	[ 'moving_added', 'dp_count(1, 1.0)', \&numbers, [ 3, 2, 1 ], 1 ],
	[ 'changing_added', $histogram, \&cells, [ 2, 1, 1 ], 1 ],
	[
		'changing_added', "dp_argmax(c, $pqr, 2)",
		\&places, [ 0, 0, 1 ], 2
	])
{
	my ($table, $value, $edit, $where, $claim) = @$case;
	my ($file) = pairs($table, 'laplace', [ $value, $edit ]);
	my $found = judge($file, 'loss', 2, @$where);

	cmp_ok($found->{bound}, '>', $claim,
		"rejected: noise for rows added, $table, $value: "
		  . "$found->{bound} is seen, $claim claimed");
}

$node->stop;
done_testing();
