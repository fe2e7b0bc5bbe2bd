# Random private queries over the table of FuzzNode, each beside the plain query
# that it must equal.  The caller seeds rand.
package FuzzQuery;

use strict;
use warnings;

use Exporter 'import';
use FuzzNode;

our @EXPORT = qw(use_functions pick expression special condition block);

# How deep an expression may be; the caller sets it.
our $depth;

my %by_result;

# What admitted() gave.  Casts to a length have numbers for lengths that no SQL
# writes, and are left out.
sub use_functions
{
	push @{ $by_result{ $_->[1] } }, $_ foreach grep { $_->[0] ne $_->[1] || @{ $_->[2] } == 1 } @_;
	return;
}

sub pick { return $_[ int rand @_ ] }

sub literal
{
	my ($type) = @_;

	return "'" . pick(@{ $literals{$type} }) . "'::$type";
}

my @zones = ('UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Tokyo', 'EST', 'AAB7:11');

# Functions whose first argument must be a known word, and collations.
sub special
{
	my ($type) = @_;
	my $trunc = pick('second', 'day', 'week', 'month', 'quarter', 'century');
	my $field = pick('hour', 'minute', 'microseconds');
	my $days = pick('day', 'month', 'year', 'decade');

	return '(' . expression('timestamptz') . ' AT TIME ZONE ' . "'" . pick(@zones) . "')" if $type eq 'timestamp' && rand() < 0.5;
	return '(' . expression('timestamp') . ' AT TIME ZONE ' . "'" . pick(@zones) . "')" if $type eq 'timestamptz' && rand() < 0.5;
	return "date_trunc('$trunc', " . expression($type) . ')' if $type =~ /^timestamp/;
	return "date_trunc('month', " . expression($type) . ')' if $type eq 'interval';
	return "extract($field FROM " . expression(pick(qw(time timestamp interval))) . ')' if $type eq 'numeric' && rand() < 0.5;
	return "extract($days FROM " . expression(pick(qw(date timestamp interval))) . ')' if $type eq 'numeric';
	return "date_part('$days', " . expression(pick(qw(date timestamptz))) . ')' if $type eq 'float8';
	return pick('upper', 'lower', 'initcap') . '(' . expression('text') . ' COLLATE "' . pick(@collations) . '")' if $type eq 'text';
	return '(' . expression('text') . ' COLLATE "' . pick(@collations) . '" ' . pick('<', '>=', '=') . ' ' . literal('text') . ')' if $type eq 'bool';
	return expression($type);
}

# A random expression of a type.
sub expression
{
	my ($type) = @_;
	my $kind = rand;

	return literal($type) if $kind < 0.12;
	return pick(@{ $columns{$type} }) if $kind < 0.35 || $depth <= 0;
	local $depth = $depth - 1;
	return 'CASE WHEN ' . condition() . ' THEN ' . expression($type) . ($kind < 0.4 ? ' ELSE ' . expression($type) : '') . ' END' if $kind < 0.43;
	return 'coalesce(' . expression($type) . ', ' . expression($type) . ')' if $kind < 0.46;
	return 'nullif(' . expression($type) . ', ' . expression($type) . ')' if $kind < 0.48;
	return pick('greatest', 'least') . '(' . expression($type) . ', ' . expression($type) . ')' if $kind < 0.5 && $type !~ /^(bool|bit|mood)$/;
	return special($type) if $kind < 0.58;
	return pick(@{ $columns{$type} }) if !$by_result{$type};
	my ($name, undef, $types, $variable) = @{ pick(@{ $by_result{$type} }) };
	my @arguments = map { $_ < $variable ? expression($types->[$_]) : literal($types->[$_]) } 0 .. $#$types;

	return "\"$name\"(" . join(', ', @arguments) . ')';
}

sub condition
{
	my $kind = rand;
	my $type = pick(sort keys %columns);

	return pick(@{ $columns{bool} }) if $depth <= 0;
	local $depth = $depth - 1;
	return expression($type) . ' IS ' . pick('', 'NOT ') . 'NULL' if $kind < 0.08;
	return expression($type) . ' IS ' . pick('', 'NOT ') . 'DISTINCT FROM ' . literal($type) if $kind < 0.12;
	return '(' . condition() . pick(' AND ', ' OR ') . condition() . ')' if $kind < 0.22;
	return 'NOT (' . condition() . ')' if $kind < 0.26;
	return expression($type) . ' IN (' . join(', ', map { literal($type) } 0 .. int rand 12) . ')' if $kind < 0.34;
	return expression($type) . pick(' = ', ' <> ', ' < ', ' <= ', ' > ', ' >= ') . expression($type) if $kind < 0.6;
	return expression('text') . pick(' LIKE ', ' NOT LIKE ', ' ILIKE ') . literal('text') if $kind < 0.66;
	return '(' . expression('int4') . ', ' . expression('text') . ') ' . pick('<', '>=') . ' (' . literal('int4') . ', ' . literal('text') . ')' if $kind < 0.69;
	return expression('bool');
}

# An aggregate: as private and as plain.
sub aggregate
{
	my $kind = rand;
	my $passes = rand() < 0.3 ? condition() : undef;
	my $filter = defined $passes ? " FILTER (WHERE $passes)" : '';
	my ($type, $x);

	return [ "dp_count(*)$filter", "count(*)$filter" ] if $kind < 0.25;
	$type = pick(sort keys %columns);
	$x = expression($type);
	return [ "dp_count($x)$filter", "count($x)$filter" ] if $kind < 0.45;
	return [ "dp_count(DISTINCT $x)$filter", "count(DISTINCT $x)$filter" ] if $kind < 0.65;
	$type = pick(qw(int2 int4 int8));
	$x = expression($type);
	return [ "dp_sum($x, -100, 100)$filter", "coalesce(sum(CASE WHEN $x IS NOT NULL THEN least(greatest($x, -100), 100) END)$filter, 0)" ] if $kind < 0.85;
	$type = pick(qw(int4 int8 float8 numeric));
	$x = expression($type);
	my $buckets = join ', ', map {
		my ($low, $high, $comparison) = (2 * $_, 2 * $_ + 2, $_ == 4 ? '<=' : '<');
		my $within = "($x) >= $low AND ($x) $comparison $high";
		"count(*) FILTER (WHERE $within" . (defined $passes ? " AND ($passes))" : ')')
	} 0 .. 4;
	return [ "dp_histogram($x, 0, 10, 5)$filter", "ARRAY[$buckets]" ];
}

# One block: [private, plain].
sub block
{
	my ($keys) = @_;
	my @aggregates = map { aggregate() } 0 .. int rand 3;
	my $where = rand() < 0.8 ? ' WHERE ' . condition() : '';
	my $key = $keys ? pick('k', 'b') : undef;
	my $inner = rand;
	my @made;

	foreach my $side (0, 1)
	{
		my $table = $side == 0 ? 'person' : 'plain';
		my $from = $inner < 0.15 ? "(SELECT * FROM $table$where) AS x" : $inner < 0.25 ? "(SELECT * FROM (SELECT * FROM $table) AS y$where) AS x" : "$table$where";
		my $n = $side == 0 ? 'dp_count(*) AS n' : 'count(*) AS n';
		my @list = ($n, map { "$aggregates[$_][$side] AS a$_" } 0 .. $#aggregates);

		unshift @list, "$key AS key" if $keys;
		push @made, 'SELECT ' . join(', ', @list) . " FROM $from" . ($keys ? " GROUP BY $key" : '');
	}
	return \@made;
}

1;
