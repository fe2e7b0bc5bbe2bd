# The table that tests of mechanisms through SQL ask: 200000 groups that are
# alike, but that every second half is the neighbour of the first.
#
# Groups 0 .. 99999 hold the rows of FIRST, groups 100000 .. 199999 those of
# SECOND, one row more.  One statement over all groups gives 100000 independent
# draws of a release on either of two neighbouring inputs: the first half is
# held against an exact law, both halves against each other by an audit.
#
# Columns: x as the data of quantile_em.csv; c with the scores 0 1 3 of the
# oracle's vector A for the candidates p q r, which become 0 2 3; d with the
# scores 3 3 2 0 for u v w z, two of them equal, which become 3 4 2 0; w from
# 0 to 4 for sums and variances.
package MechanismData;

use strict;
use warnings;

use Exporter 'import';
use StatServer;

our @EXPORT = qw(mechanism_node ask half GROUPS);

use constant GROUPS => 100000;

my @first = (
	# x, c, d, w
	[ 1, "'q'",  "'u'",  0 ],
	[ 2, "'r'",  "'u'",  1 ],
	[ 2, "'r'",  "'u'",  1 ],
	[ 4, "'r'",  "'v'",  4 ],
	[ 7, 'NULL', "'v'",  4 ],
	[ 7, "'?'",  "'v'",  3 ],
	[ 7, 'NULL', "'w'",  9 ],
	[ 9, 'NULL', "'w'", -2 ]);
my @added = (12, "'q'", "'v'", 4);

sub rows
{
	my ($from, $to, @rows) = @_;

	return "INSERT INTO cases SELECT k, r.* FROM generate_series($from, $to) k,"
	  . ' (VALUES '
	  . join(', ', map { '(' . join(', ', @$_) . ')' } @rows)
	  . ') AS r;';
}

# A server with the table, asked by "analyst".
sub mechanism_node
{
	my ($name) = @_;
	my $last = 2 * GROUPS - 1;

	return stat_node($name,
		<<"EOT" . rows(0, GROUPS - 1, @first) . rows(GROUPS, $last, @first, \@added) . <<'EOT');
CREATE TABLE cases (k integer NOT NULL, x integer, c text, d text, w integer);
EOT
CREATE TABLE few (w integer);
INSERT INTO few VALUES (1), (2), (4);
SELECT dp_protect('few');
SELECT dp_protect('cases');
SELECT dp_declare('cases', 'k', lower => 0, upper => 199999);
SELECT dp_declare('cases', 'w', lower => 0, upper => 4);
SELECT dp_grant('analyst', epsilon => 1000000000, delta => 0.9);
EOT
}

# Values asked for in one statement over all groups; returns a file for each of
# them, of one line per group in order.
sub ask
{
	my ($node, $mechanism, @values) = @_;
	my $file = fetch($node, 'analyst',
		"SET dp_pg.mechanism = $mechanism; SET dp_pg.delta = '1e-6';"
		  . ' SELECT '
		  . join(', ', @values)
		  . ' FROM cases GROUP BY k');
	my @columns = map { '' } @values;

	open(my $in, '<', $file) or die "$file: $!";
	while (<$in>)
	{
		my $i = 0;

		$columns[ $i++ ] .= "$_\n" foreach split ' ', $_;
		die "a value is missing in: $_" if $i != @values;
	}
	close $in;
	return map { keep($_) } @columns;
}

# Edits an answer of one line per group for `judge`: the lines of one half as
# they are, or, without a half, all of them after the input they belong to.
sub half
{
	my ($half, $edit) = @_;

	return sub {
		my $input = $. <= GROUPS ? 0 : 1;
		my $line = defined $edit ? $edit->($_[0]) : $_[0];

		return "$input $line\n" unless defined $half;
		return $input == $half ? "$line\n" : '';
	};
}

1;
