# doc/nulls.md says for every function that has a total version when it is NULL in a
# private query, and what PostgreSQL does there: each example is run both ways, and
# no function of dp_pg.allowed_functions is missing.  Counts have epsilon 1000: a
# false alarm has a probability below 1e-300.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node);
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('nulls');
my $version = int($node->pg_version);
my $text = slurp_file("$FindBin::RealBin/../../doc/nulls.md");

# ---- what the document says ----

# Does "(17)", "(-16)" or "(16-17)" mean this version?
sub is_here
{
	my ($mark) = @_;

	return 1 if !defined $mark;
	my ($from, $dash, $to) = $mark =~ /^\((\d*)(-?)(\d*)\)$/
	  or BAIL_OUT("version: $mark");
	return $version >= ($from || 0) && $version <= ($dash ? $to || 99 : 99);
}

# The texts between backticks of a cell that mean this version; the second
# answer is how many there are in all.
sub quoted
{
	my ($cell) = @_;
	my (@here, $all);

	while ($cell =~ /`([^`]+)`(?: (\([0-9-]+\)))?/g)
	{
		$all++;
		push @here, $1 if is_here($2);
	}
	return (\@here, $all || 0);
}

# What PostgreSQL does: an SQLSTATE, or '' for a value.
sub outcome
{
	my ($cell) = @_;
	my @said;

	while ($cell =~ /(?:`([0-9A-Z]{5})`|(value))[^(,;]*(?:, an? [a-z]+ one)? ?(\([0-9-]+\))?/g)
	{
		push @said, $1 || '' if is_here($3);
	}
	return @said;
}

my ($table) = $text =~ /^```sql\n(.*?)^```$/ms or BAIL_OUT('no table in the document');
my @rows;
foreach my $line ($text =~ /^\| (?!function \|)(.*) \|$/mg)
{
	my @cell = split /(?<=\s)\|(?=\s)/, $line =~ s/\\\|/\x01/gr, -1;

	is(scalar @cell, 5, "five cells: $cell[0]") or next;
	s/\x01/|/g, s/^ +| +$//g foreach @cell;
	my ($forms) = quoted($cell[0]);
	my ($null, $nulls) = quoted($cell[3]);
	my ($value, $values) = quoted($cell[4]);
	my @outcome = outcome($cell[2]);

	push @rows,
	  {
		name => "$cell[0]: $cell[1]",
		forms => [ map { s/\(p, s\)//r } @$forms ],
		never => scalar $cell[1] =~ /^never/,
		outcome => $outcome[0],
		outcomes => scalar @outcome,
		null => $null,
		nulls => $nulls,
		value => $value,
		values => $values
	  };
}
cmp_ok(scalar @rows, '>', 50, 'rows of the document');
foreach my $row (@rows)
{
	is($row->{outcomes}, $row->{never} ? 0 : 1, "PostgreSQL does one thing: $row->{name}");
	ok(($row->{never} ? !$row->{nulls} : $row->{nulls}) && $row->{values}, "it has examples: $row->{name}");
}

# ---- what there is ----

# Every total function by the forms in which it is written: operator and cast,
# or else by its name.  Types that the document sums up have one word.
my %kind = (
	'smallint' => 'integer', 'bigint' => 'integer', 'real' => 'float',
	'double precision' => 'float', 'name' => 'text', 'character varying' => 'text',
	'timestamp without time zone' => 'timestamp', 'timestamp with time zone' => 'timestamptz',
	'time without time zone' => 'time', 'time with time zone' => 'timetz');
my %forms;
my $catalogue = value($node, <<'EOT');
WITH total AS (SELECT a.function::oid AS oid FROM dp_pg.allowed_functions a WHERE replacement IS NOT NULL),
form AS (
	SELECT t.oid, 'operator' AS kind, oprname AS name, nullif(oprleft, 0) AS a, oprright AS b
	FROM total t JOIN pg_operator o ON oprcode = t.oid
	UNION ALL
	SELECT t.oid, 'cast', '::', castsource, casttarget FROM total t JOIN pg_cast c ON castfunc = t.oid)
SELECT oid, kind, name, concat(format_type(a, NULL), ',', format_type(b, NULL)) FROM form
UNION ALL
SELECT oid, 'function', proname, (SELECT string_agg(format_type(x, NULL), ',' ORDER BY i) FROM unnest(proargtypes::oid[]) WITH ORDINALITY u (x, i))
FROM total t JOIN pg_proc p USING (oid) WHERE oid NOT IN (SELECT oid FROM form)
ORDER BY 1, 2, 3, 4
EOT
foreach my $line (split /\n/, $catalogue)
{
	my ($oid, $what, $name, $types) = $line =~ /^(\d+)\|(\w+)\|(.*)\|(.*)$/;
	my @types = map { $kind{$_} || $_ } split /,/, $types, -1;

	$forms{$oid}{
		$what eq 'cast' ? join('::', @types) :
		  $what eq 'function' ? "$name(" . join(', ', @types) . ')' :
		  $types[0] eq '' ? "$name $types[1]" :
		  join(' ', $types[0], $name, $types[1]) } = 1;
}
my %known = map { map { $_ => 1 } keys %$_ } values %forms;
my %said = map { map { $_ => 1 } @{ $_->{forms} } } @rows;
cmp_ok(scalar keys %forms, '>', 150, 'total functions');
is_deeply([ sort grep { !$said{$_} } keys %known ], [], 'each form of each is in the document');
is_deeply([ sort grep { !$known{$_} } keys %said ], [], 'the document has no others');

# ---- the examples ----

value($node, "SET SESSION AUTHORIZATION owner;\n$table" . <<'EOT');
SELECT dp_protect('extreme', dataset => 'hospital');
EOT
my $owner = session($node, 'owner');
my $analyst = session($node, 'analyst');
answer($_, "SELECT repeat('x', 1048577) AS long \\gset") foreach $owner, $analyst;

# The SQLSTATE of the first error, or ''.
sub state_of
{
	my ($error) = @_;

	return $error =~ /ERROR: +(\w+)/ ? $1 : $error;
}

# The forms that an expression uses, by its parse tree.
sub forms_of
{
	my ($example) = @_;
	my ($tree, $error);
	my %uses;

	answer($owner, 'CREATE TEMP VIEW used AS SELECT ' . ($example =~ s/:'long'/'x'/gr) . ' AS x FROM extreme;');
	($tree) = answer($owner, "SELECT DISTINCT coalesce(o.oprcode::oid, n[2]::oid) FROM pg_rewrite r,"
		  . " regexp_matches(r.ev_action, ':(funcid|opno) (\\d+)', 'g') n LEFT JOIN pg_operator o ON n[1] = 'opno' AND o.oid = n[2]::oid"
		  . q{ WHERE ev_class = 'used'::regclass;});
	answer($owner, 'DROP VIEW used;');
	foreach my $oid (split /\n/, $tree)
	{
		$uses{$_} = 1 foreach keys %{ $forms{$oid} || {} };
	}
	return \%uses;
}

# Is it so in every row, as a private count sees it?  Answers 'all', 'none',
# or what went wrong.
sub privately
{
	my ($condition) = @_;
	my ($count, $error) = answer($analyst, "SELECT dp_count(*) FILTER (WHERE $condition) FROM extreme;");

	return $error ne '' ? state_of($error) : $count eq '20' ? 'all' : $count eq '0' ? 'none' : "a count of $count";
}

my %shown;
foreach my $row (@rows)
{
	foreach my $example (@{ $row->{null} })
	{
		my (undef, $error) = answer($owner, "SELECT ($example) IS NULL FROM extreme;");
		my ($null) = answer($owner, "SELECT DISTINCT ($example) IS NULL FROM extreme;");
		my $uses = forms_of($example);

		is($error eq '' ? '' : state_of($error), $row->{outcome}, "PostgreSQL: $example");
		is($null, 'f', "which is not NULL there: $example") if $row->{outcome} eq '';
		is(privately("($example) IS NULL"), 'all', "NULL: $example");
		ok(!@{ $row->{forms} } || grep({ $uses->{$_} } @{ $row->{forms} }), "it is an example of: $row->{name}");
		$shown{$_} = 1 foreach grep { $uses->{$_} } @{ $row->{forms} };
	}
	foreach my $example (@{ $row->{value} })
	{
		my ($value, $error) = answer($owner, "SELECT DISTINCT pg_typeof($example), ($example)::text FROM extreme;");
		my ($type, $literal) = split /\|/, $value, 2;

		is($error, '', "PostgreSQL has a value: $example") or next;
		$literal =~ s/'/''/g;
		is(privately("($example) IS NOT DISTINCT FROM CAST('$literal' AS $type)"), 'all', "the same: $example");
		isnt(privately("($example) IS NULL"), 'all', "not NULL: $example");
		next if !$row->{never} && @{ $row->{null} };
		my $uses = forms_of($example);
		$shown{$_} = 1 foreach grep { $uses->{$_} } @{ $row->{forms} };
	}
}
hang_up($_) foreach $owner, $analyst;
is_deeply([ sort grep { !$shown{$_} } keys %said ], [], 'each form has an example');

$node->stop;
done_testing();
