# Statements of groups.pl as the analyst asks them, and as the owner's plain ones.
package FuzzAnswers;

use strict;
use warnings;

use Exporter 'import';
use FuzzNode qw(priced_statements run_statements);

our @EXPORT = qw(answers_from answers_of priced_answers plain_answers is_refused lacks_room);

use constant EPSILON => 10_000_000;

my $node;

sub answers_from
{
	$node = shift;
	return;
}

sub opening { return "SET search_path = $_[0], public; SET dp_pg.epsilon = '" . EPSILON . "';" }

# Of tables of a schema.
sub answers_of
{
	my ($schema, @statements) = @_;

	return run_statements($node, 'analyst', opening($schema), @statements);
}

# The same, under settings of plans, and explained before.
sub priced_answers
{
	my ($schema, @statements) = @_;

	return priced_statements($node, 'analyst', opening($schema), @statements);
}

sub plain_answers { return run_statements($node, 'owner', 'SET search_path = plain, documented, pg_catalog, public;', @_) }

sub is_refused { return shift() =~ /^error (?:0A000|54000|22023)$/ }

# Is there room for fewer rows of a unit than may count?  Then some are drawn.
sub lacks_room
{
	my ($schema, $settings, $statement) = @_;
	my ($answer) = run_statements($node, 'analyst', "\\set VERBOSITY default\n" . opening($schema),
		"$settings SET client_min_messages = notice; $statement");

	return $answer =~ /there is room for \d+ rows of a privacy unit/;
}

1;
