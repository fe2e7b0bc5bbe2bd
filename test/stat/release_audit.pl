# An audit of the whole path: a server, SQL, real data, and the answers on two
# tables that differ by one person.
#
# Neighbours are the RAND health data and the same without one row, the one
# with the most visits.  One statement of fifty private blocks releases 20000
# counts, another 20000 sums and another 10000 means of each table; loss.h
# turns them into lower bounds on the privacy loss.
#
# Rates: a sound release is accused with probability at most 1e-10 per audit, four
# audits.  The audits have power: asked with one and a half times the epsilon, they
# show a loss above the claim of the smaller one, and a bound below 3/4 of what was
# claimed would mean that they show nothing; either misses with probability below
# 1e-12.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use StatServer;
use Test::More;

my $file = defined $ENV{DP_PG_DATA} ? "$ENV{DP_PG_DATA}/randhie.csv" : '';

plan skip_all => 'the RAND health data is not here: set DP_PG_DATA'
  unless -r $file;
my $node = stat_node('release_audit', <<'EOT');
CREATE TABLE everybody (mdvis integer, lncoins double precision, idp integer,
	lpi double precision, fmde double precision, physlm double precision,
	disea double precision, hlthg integer, hlthf integer, hlthp integer);
EOT

$node->command_ok(
	[
		'psql', '-XAtq', '-U', 'owner', '-d', $node->connstr('postgres'), '-c',
		"\\copy everybody FROM '$file' WITH (FORMAT csv, HEADER)"
	],
	'the data is read');
as($node, 'owner', <<'EOT');
CREATE TABLE nearly AS SELECT * FROM everybody;
DELETE FROM nearly WHERE ctid =
	(SELECT ctid FROM nearly ORDER BY mdvis DESC LIMIT 1);
SELECT dp_protect('everybody');
SELECT dp_protect('nearly');
SELECT dp_grant('analyst', epsilon => 1000000000);
EOT

my ($count, $total, $most) = split /\|/,
  as($node, 'owner', 'SELECT count(*), sum(mdvis), max(mdvis) FROM everybody');

is( as($node, 'owner', 'SELECT count(*), sum(mdvis) FROM nearly'),
	($count - 1) . '|' . ($total - $most),
	'the neighbour has one person less');

# One statement: fifty blocks of n values each, one value a line.
sub releases
{
	my ($table, $n, $value) = @_;
	my @values = map { sprintf $value, $_ } 1 .. $n;
	my $block = 'SELECT unnest(ARRAY[' . join(', ', @values) . "]) FROM $table";

	return fetch($node, 'analyst', join("\nUNION ALL\n", ($block) x 50));
}

sub both
{
	my ($n, $value, $edit) = @_;
	my @files;

	foreach my $input (0, 1)
	{
		my $file = releases($input == 0 ? 'everybody' : 'nearly', $n, $value);

		open(my $in, '<', $file) or die "$file: $!";
		push @files, map { chomp; "$input " . $edit->($_) . "\n" } <$in>;
	}
	return keep(join '', @files);
}

sub audit
{
	my ($name, $n, $file, $epsilon, $claimed, @where) = @_;
	my $found = judge($file, 'loss', 1, @where);
	my $said = "$name: loss of at least $found->{bound} is seen";

	is("$found->{n} $found->{m}", "$n $n", "$name: every value is there");
	if ($claimed < $epsilon)
	{
		cmp_ok($found->{bound}, '>', $claimed,
			"$said, more than $claimed; it cost $epsilon");
		return;
	}
	cmp_ok($found->{bound}, '<=', $claimed, "$said, $claimed claimed");
	cmp_ok($found->{bound}, '>=', 0.75 * $claimed,
		"$name: the audit looks where the loss is");
	return;
}

# A different expression of epsilon makes each value one of its own, with noise
# of its own.
sub number { return $_[0] }

audit('count', 20000, both(400, 'dp_count(mdvis, 1.0 + 0 * %d)', \&number),
	1, 1, $count, 0, 1);
audit('count at one and a half times the price',
	20000, both(400, 'dp_count(mdvis, 1.5 + 0 * %d)', \&number),
	1.5, 1, $count, 0, 1);
audit(
	'sum', 20000,
	both(400, "dp_sum(mdvis, 0, $most, 1.0 + 0 * %d)", \&number),
	1, 1, $total, 0, int($most / 8));

# The row leaves with the most visits, which is the upper bound here.  The mean
# moves by little beside its noise, so nothing near epsilon can be seen in it;
# it must not be more.
my $means = judge(
	both(
		200,
		"dp_avg(mdvis, 0, $most, 1.0 + 0 * %d)",
		sub { sprintf '%.0f', $_[0] * 1e6 }),
	'loss', 1, int(1e6 * $total / $count), 0, 500);

is("$means->{n} $means->{m}", '10000 10000', 'mean: every value is there');
cmp_ok($means->{bound}, '<=', 1,
	"mean: loss of at least $means->{bound} is seen, 1 claimed");

# What all this cost is in the ledger, to the last value.
is( as($node, 'owner',
		'SELECT sum(releases), sum(epsilon) = 40000 + 60000 + 40000 + 20000'
		  . ' FROM dp_pg.ledger'),
	'140000|t',
	'every release was charged');

$node->stop;
done_testing();
