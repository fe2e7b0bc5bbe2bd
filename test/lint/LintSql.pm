# LintSql.pm: the house rule about the install script: every object that a
# user can see has a COMMENT.  Objects that a DO block makes by format() are
# checked by comments.sql on a live database.
package LintSql;

use strict;
use warnings;

my $kinds = qr/FUNCTION|PROCEDURE|AGGREGATE|VIEW|TABLE|TYPE|SCHEMA|OPERATOR/;

# Number of statements per "KIND name", and where the first one stands.
sub statements
{
	my ($text, $verb) = @_;
	my %seen;

	while ($text =~
		/^[ \t]*'?$verb[ ]+(?:OR[ ]REPLACE[ ]+)?($kinds)[ ]+([\w.@"%]+)/gmx)
	{
		my ($kind, $name, $offset) = ($1, $2, $-[0]);

		$name =~ s/^\@extschema\@\.//;
		$seen{"$kind $name"}{count}++;
		$seen{"$kind $name"}{line} //=
		  1 + (substr($text, 0, $offset) =~ tr/\n//);
	}
	return \%seen;
}

sub uncommented
{
	my ($tree) = @_;
	my @paths = grep { m{^sql/\d\d_\w+\.sql$} } sort keys %$tree;
	my $all = join "\n", map { $tree->{$_} } @paths;
	my $made = statements($all, 'CREATE');
	my $told = statements($all, 'COMMENT[ ]+ON');
	my @found;

	# Comments that a DO block writes name their object in a literal.
	my %generated;
	while ($all =~ /^DO (\$\w*\$)(.*?)\1/gms)
	{
		my $body = $2;

		$generated{"$1 $2"} = 1
		  while $body =~ /COMMENT ON ($kinds) (?:\@extschema\@\.)?([\w.]+)/g;
	}
	for my $path (@paths)
	{
		my $here = statements($tree->{$path}, 'CREATE');

		for my $object (sort keys %$here)
		{
			# A shell type is made twice.
			my $wanted = $object =~ /^TYPE/ ? 1 : $made->{$object}{count};
			my $have = $told->{$object} ? $told->{$object}{count} : 0;

			next if $object =~ /%/ || $generated{$object} || $have >= $wanted;
			push @found,
			  "$path:$here->{$object}{line}: $wanted x CREATE $object, "
			  . "$have x COMMENT";
		}
	}
	return @found;
}

# A call of a function in the extension's schema from a text of ours is told
# apart by the types of its arguments alone, and whoever may create there could
# plant one that fits a literal better.  So none is a bare literal.
sub bare_literals
{
	my ($tree) = @_;
	my @found;

	for my $path (sort grep { m{^sql/\d\d_\w+\.sql$|^src/.*\.c$} } keys %$tree)
	{
		my $text = $tree->{$path};
		my $call = $path =~ /^sql/ ? qr/\@extschema\@\.dp_\w+/ : qr/%s\.dp_\w+/;

		# One string in several lines; these stay to be counted.
		$text =~ s/"(\s*\n\s*)"/$1/g if $path =~ /^src/;
		while ($text =~ /$call(\((?:[^()]++|(?1))*\))/g)
		{
			my ($arguments, $before) = (substr($1, 1, -1), substr($text, 0, $-[0]));

			next if $before =~ /(?:FUNCTION|AGGREGATE|PROCEDURE)\s+$/;
			1 while $arguments =~ s/\([^()]*\)//g;
			push @found,
			  map { "$path:" . (1 + ($before =~ tr/\n//)) . ": $_ has no type" }
			  grep { /^\s*(?:'[^']*'|NULL|%s|[\d.]+|\w+\s*=>.*)\s*$/s }
			  split /,/, $arguments;
		}
	}
	return @found;
}

1;
