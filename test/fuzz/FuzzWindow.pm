# Window functions over the rows of one unit, for queries made at random.
#
# Where ORDER BY leaves rows in doubt, PostgreSQL takes them as they come, and a private query does
# not; so mostly it names all columns, and else $partial says that a plain query may differ.
package FuzzWindow;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(window_function);
our $partial = 0;

my %sum_of = (int2 => 'int8', int4 => 'int8', int8 => 'numeric', numeric => 'numeric', float8 => 'float8', float4 => 'float4');
my %avg_of = (int2 => 'numeric', int4 => 'numeric', int8 => 'numeric', numeric => 'numeric', float8 => 'float8', float4 => 'float8');
my @frames = ('', '', ' ROWS BETWEEN 1 PRECEDING AND CURRENT ROW', ' ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING', ' ROWS 2 PRECEDING', ' ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING',
	' RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING', ' GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW', ' ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING');

sub pick { return $_[ int rand @_ ] }

sub written
{
	my ($column) = @_;

	return $column->[1] eq 'text' ? qq{$column->[0] COLLATE "C"} : $column->[0];
}

# Columns are [how they are written, type], the unit's the first: a function, and its type.
sub window_function
{
	my @columns = grep { $_->[1] ne 'name' } @_;
	my $unit = $columns[0];
	my @first = map { written($_) . pick('', ' DESC', ' NULLS FIRST') } map { pick(@columns) } 1 .. pick(0, 1, 1, 2);
	my $parts = join ', ', $unit->[0], map { $_->[0] } rand() < .3 ? pick(@columns) : ();
	my $all = join ', ', @first, map { written($_) } @columns;
	my ($x, $type) = @{ pick(@columns) };
	my ($n, $n_type) = @{ pick(grep { $_->[1] =~ /int|numeric|float/ } @columns) };
	my $filter = rand() < .2 ? " FILTER (WHERE $unit->[0] IS NOT NULL AND $x IS NOT NULL)" : '';
	my $frame = pick(@frames);
	my $kind = pick('row', 'row', 'peers', 'value', 'value', 'rows', 'sum', 'least');
	my $least = $type !~ /uuid|bytea|bool/;
	my ($call, $result) = @{ {
		row => pick([ 'row_number()', 'int8' ], [ 'ntile(3)', 'int4' ]),
		peers => pick([ 'rank()', 'int8' ], [ 'dense_rank()', 'int8' ], [ 'cume_dist()', 'float8' ], [ 'percent_rank()', 'float8' ]),
		value => [ pick("lag($x)", "lead($x, 2)", "lag($x, -1)", "first_value($x)", "last_value($x)", "nth_value($x, 2)"), $type ],
		rows => [ pick('count(*)', "count($x)") . $filter, 'int8' ],
		sum => pick([ "sum($n)$filter", $sum_of{$n_type} ], [ "avg($n)$filter", $avg_of{$n_type} ]),
		least => $least ? [ pick('min', 'max') . "($x)$filter", $type ] : [ "count($x)", 'int8' ] }->{$kind} };

	# what looks at peers may have as few columns as it likes
	my $peers = $kind eq 'peers' || $kind =~ /rows|sum|least/ && $frame !~ /ROWS/;
	my $few = $peers ? rand() < .6 : rand() < .2;
	$frame = ' ROWS UNBOUNDED PRECEDING' if $call =~ /^(last|nth)/ && $frame !~ /ROWS/;
	$partial = 1 if $few && !$peers;
	my $order = $few ? join(', ', @first) : $all;
	$order = " ORDER BY $order" if $order ne '';
	$frame = '' if $kind =~ /row$|peers/ || $frame =~ /GROUPS/ && $order eq '';
	return [ "$call OVER (PARTITION BY $parts$order$frame)", $result ];
}

1;
