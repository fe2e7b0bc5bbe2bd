# Every lint rule rejects what it is meant to, and accepts good code.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Lint;
use LintHouse;
use Test::More;

sub head
{
	return "/*\n * $_[0]\n *\t  A promise.\n */\n";
}

my $good_c = head('answer.c') . <<'EOT';
#include "dp_mech.h"

static const int table[] = {1, 2};
static int	helper(int x);

/*
 * dp_mech_answer
 *	  Answers; rand() and "palloc(" in a comment are nothing.
 *
 * Requires: nothing.
 * Gives:	 DP_OK.
 * Source:	 doc/theory.md T1.
 */
dp_status
dp_mech_answer(int x)
{
	return helper(x) ? table[0] : table[1];
}

static int
helper(int x)
{
	return x;
}
EOT
my $contract = " * Requires: nothing.\n * Gives: 1.\n * Source: T1.\n";
my $good_bridge = head('settings.c') . <<'EOT';
#include "postgres.h"

#include "utils/guc.h"

#include "../acct/dp_acct.h"
#include "dp_bridge.h"

/* dp_bridge_fail: raises. */
void
dp_bridge_fail(void)
{
	DefineCustomIntVariable("dp_pg.a", "");
	DefineCustomStringVariable("dp_pg.b", "");
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("no (parenthesis")));
}
EOT
my $good_sql = <<'EOT';
CREATE FUNCTION dp_a(int) RETURNS int LANGUAGE c AS 'x';
COMMENT ON FUNCTION dp_a(int) IS 'a';
EOT
my $good_sheet = <<'EOT';
## Folders

```
src/mech/     a
src/bridge/   b
test/         sql
```
EOT
my $good_objects = <<'EOT';
src/mech/answer.o:0000000000000000 T dp_mech_answer
src/mech/answer.o:                 U dp_mech_y
src/mech/answer.o:                 U gone
src/mech/approx.o:0000000000000000 T dp_mech_y
src/mech/approx.o:0000000000000000 T dp_approx_sql
src/mech/approx.o:0000000000000000 T pg_finfo_dp_approx_sql
src/mech/gone.o:0000000000000000 T gone
src/mech/gone.o:                 U dp_mech_answer
EOT
my %good = (
	'doc/architecture.md' => $good_sheet,
	$LintHouse::objects => $good_objects,
	$LintHouse::folders => "src/bridge\nsrc/mech\ntest/sql",
	'src/mech/answer.c' => $good_c,
	'src/bridge/settings.c' => $good_bridge,
	'src/mech/approx.c' => head('approx.c') . "/*\n$contract */\ndouble\ndp_mech_y(int x)\n{\n}\n",
	'src/mech/dp_mech.h' => head('dp_mech.h') . "extern double dp_mech_y(double x);\n",
	'doc/theory.md' => "## T1. A theorem\n",
	'doc/owner.md' => "| a | " . 'x ' x 50 . "|\n\n```sql\n" . 'x ' x 51 . ";\n```\n\n"
	  . '# ' . 'x ' x 50 . "\n\n" . 'x' x 101 . "\n\nText.\n",
	'sql/10_types.sql' => $good_sql,
	'test/README.md' => "| sql/ | yes | - | 1 | 1 |\n",
	'test/sql/a.sql' => "SELECT 1;\n",
	'expected/a.out' => "1\n",
	$Lint::symbols => "00 T dp_a\n00 T _PG_init\n00 T pg_finfo_dp_a\n");

# rule => [path, pattern, replacement]...: one change of the good tree that
# the rule must find; an empty pattern replaces the whole text.
my %bad = (
	'include direction' => [
		[ 'src/mech/answer.c', 'dp_mech.h', '../acct/dp_acct.h' ],
		[ 'src/bridge/settings.c', 'dp_acct.h', 'interval.h' ],
		[ 'src/bridge/settings.c', '../acct/dp_acct', '../block/dp_block' ],
		[ 'src/dp_pg.c', '', "#include \"ledger/ledger.h\"\n" ]
	],
	'postgres.h first, or never' => [
		[ 'src/mech/answer.c', 'dp_mech.h', 'postgres.h' ],
		[ 'src/mech/answer.c', 'dp_mech.h', 'utils/numeric.h' ],
		[ 'src/bridge/settings.c', '"postgres.h"', '<stdio.h>' ]
	],
	'versions are told apart in one place' => [
		[ 'src/bridge/settings.c', '#include "dp_bridge.h"', '#if PG_VERSION_NUM > 1' ],
		[ 'src/mech/answer.c', 'return x', 'return PG_MAJORVERSION_NUM' ]
	],
	'private rows are read in one folder' => [
		[ 'src/bridge/settings.c', 'DefineCustomIntVariable', 'ExecutorRun(desc); DefineCustomIntVariable' ],
		[ 'src/bridge/settings.c', 'DefineCustomIntVariable', 'table_beginscan(rel); DefineCustomIntVariable' ]
	],
	'exact numbers are met in few files' => [
		[ 'src/bridge/settings.c', 'DefineCustomIntVariable', 'static const dp_use_methods m = {a}; DefineCustomIntVariable' ],
		[ 'src/bridge/settings.c', 'DefineCustomIntVariable', 'static const dp_reader_methods m = {a}; DefineCustomIntVariable' ]
	],
	'purity of mech and acct' => [
		[ 'src/mech/answer.c', 'return x', 'return rand()' ],
		[ 'src/mech/answer.c', 'return x', 'palloc(1)' ],
		[ 'src/mech/answer.c', 'return x', 'ereport(ERROR, (errcode(1)))' ],
		[ 'src/mech/answer.c', 'static const int', 'static int' ],
		[ 'src/mech/answer.c', 'return x', 'static int n = 0' ]
	],
	'no floating point in a sampler' => [
		[ 'src/mech/answer.c', 'return x', 'double y' ],
		[ 'src/mech/answer.c', 'int x\)\n', "float x)\n" ],
		[ 'src/mech/dp_mech.h', '', "extern double dp_mech_z(int x);\n" ]
	],
	'file length' => [
		[ 'src/mech/long.c', '', "\n" x 1201 ],
		[ 'src/mech/long.h', '', "\n" x 601 ]
	],
	'heads name the file and what it promises' => [
		[ 'src/mech/answer.c', 'answer\.c', 'other.c' ],
		[ 'src/mech/answer.c', '  A promise.', '' ]
	],
	'layout' => [
		[ 'src/mech/answer.c', 'nothing\.', 'nothing. ' ],
		[ 'src/mech/answer.c', '\treturn x', '    return x' ],
		[ 'src/mech/answer.c', 'nothing\.', 'x' x 70 ],
		[ 'src/mech/answer.c', '\}\n\z', '}' ]
	],
	'lines of documents' => [
		[ 'doc/owner.md', 'Text\.', 'x ' x 50 . 'x' ],
		[ 'doc/owner.md', 'Text\.', '- ' . 'x' x 50 . ' ' . 'x' x 50 ],
		[ 'doc/owner.md', ';\n```', ";\n```\n" . 'x ' x 51 ]
	],
	'C style' => [
		[ 'src/mech/answer.c', 'return x;', 'return x; // x' ],
		[ 'src/mech/answer.c', 'int\nhelper', 'int helper' ],
		[ 'src/mech/answer.c', 'return x;', 'for (int i = 0; i < x; i++) return x;' ],
		[ 'src/mech/answer.c', 'int\nhelper', "int\nrefuse_helper" ]
	],
	'tests and expected outputs' => [
		[ 'test/sql/b.sql', '', "SELECT 2;\n" ],
		[ 'test/specs/c.spec', '', "session a\n" ],
		[ 'sql/a.sql', '', "SELECT 2;\n" ],
		[ 'expected/d.out', '', "2\n" ]
	],
	'exported symbols' => [
		[ $Lint::symbols, 'T dp_a', 'T helper' ],
		[ $Lint::symbols, 'T dp_a', 'B counter' ]
	],
	'contracts' => [
		[ 'src/mech/answer.c', 'Requires:', 'Needs:' ],
		[ 'src/mech/answer.c', 'Gives:', 'Returns:' ],
		[ 'src/mech/answer.c', 'Source:', 'See:' ],
		[ 'src/mech/answer.c', 'T1\.', 'T2.' ],
		[ 'src/mech/answer.c', ' T1\.', '.' ],
		[ 'src/bridge/settings.c', '/\* dp_bridge_fail: raises. \*/', '' ]
	],
	'settings are sorted' => [
		[ 'src/bridge/settings.c', 'dp_pg\.a', 'dp_pg.c' ],
		[ 'src/bridge/settings.c', 'dp_pg\.a', 'dp.a' ]
	],
	'errors have an errcode' =>
	  [ [ 'src/bridge/settings.c', 'errcode\(\w+\),\n', "\n" ] ],
	'no basename twice' => [
		[ 'src/bridge/answer.c', '', "#include \"postgres.h\"\n" ],
		[ 'src/bridge/dp_mech.h', '', "\n" ]
	],
	'no circle of files' => [
		[ $LintHouse::objects, 'U gone', "U gone\nsrc/mech/approx.o:  U dp_mech_answer" ]
	],
	'functions are called by their room' => [
		[ $LintHouse::objects, 'T dp_mech_answer', 'T dp_answer' ],
		[ $LintHouse::objects, 'T dp_mech_y', 'T dp_mechy' ]
	],
	'the sheet of folders' => [
		[ 'doc/architecture.md', 'src/bridge/   b\n', '' ],
		[ 'doc/architecture.md', 'test/         sql', 'test/         sql fuzz' ],
		[ 'doc/architecture.md', '(src/mech/.*\n)(src/bridge/.*\n)', "src/bridge/   b\nsrc/mech/     a\n" ],
		[ $LintHouse::folders, 'src/mech', "src/mech\nsrc/model" ]
	],
	'test programs run by day or by night' => [
		[ 'test/README.md', 'yes', '-' ],
		[ 'test/README.md', 'sql', 'specs' ],
		[ 'test/README.md', '\\z', "| sql/ | yes | - | 1 | 1 |\n" ],
		[ 'test/t/b.pl', '', "done_testing();\n" ]
	],
	'arguments of our own calls have types' => [
		[ 'sql/20_x.sql', '', "CREATE FUNCTION dp_pg.f() RETURNS int LANGUAGE sql\nAS 'SELECT \@extschema\@.dp_a(\$1, 0.95)';\n" ],
		[ 'src/bridge/settings.c', 'DefineCustomIntVariable', "run(\"SELECT %s.dp_a(\"\n\t\"%s, \$1)\"); DefineCustomIntVariable" ]
	],
	'SQL objects have a comment' => [
		[ 'sql/10_types.sql', 'COMMENT.*', '' ],
		[ 'sql/20_x.sql', '', "CREATE VIEW dp_pg.v AS\nSELECT 1;\n" ],
		[ 'sql/20_x.sql', '', "CREATE FUNCTION dp_a(text)\nRETURNS int;\n" ]
	]);

for my $name (sort keys %Lint::rules)
{
	my @found = $Lint::rules{$name}->(\%good);
	my $n = 0;

	is_deeply(\@found, [], "$name: good code passes");
	ok($bad{$name}, "$name: has bad samples");
	for my $sample (@{ $bad{$name} || [] })
	{
		my ($path, $pattern, $replacement) = @$sample;
		my %tree = %good;

		$n++;
		if ($pattern eq '')
		{
			$tree{$path} = $replacement;
		}
		else
		{
			$tree{$path} =~ s/$pattern/$replacement/
			  or die "sample $n of $name changes nothing";
		}
		@found = $Lint::rules{$name}->(\%tree);
		ok(@found > 0, "$name: catches sample $n");
	}
}
done_testing();
