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
#include "dp_noise.h"

static const int table[] = {1, 2};
static int	helper(int x);

/*
 * dp_noise_answer
 *	  Answers; rand() and "palloc(" in a comment are nothing.
 *
 * Requires: nothing.
 * Gives:	 DP_OK.
 * Source:	 doc/theory.md T1.
 */
dp_status
dp_noise_answer(int x)
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

#include "../math/accounting/dp_accounting.h"
#include "dp_base.h"

/* dp_base_fail: raises. */
void
dp_base_fail(void)
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
src/math/noise/  a
src/base/        b
test/         sql
```
EOT
my $good_objects = <<'EOT';
src/math/noise/answer.o:0000000000000000 T dp_noise_answer
src/math/noise/answer.o:                 U dp_noise_y
src/math/noise/answer.o:                 U gone
src/math/noise/approx.o:0000000000000000 T dp_noise_y
src/math/noise/approx.o:0000000000000000 T dp_approx_sql
src/math/noise/approx.o:0000000000000000 T pg_finfo_dp_approx_sql
src/math/noise/gone.o:0000000000000000 T gone
src/math/noise/gone.o:                 U dp_noise_answer
EOT
my %good = (
	'doc/architecture.md' => $good_sheet,
	$LintHouse::objects => $good_objects,
	$LintHouse::folders => "src/base\nsrc/math/noise\ntest/sql",
	'src/math/noise/answer.c' => $good_c,
	'src/base/settings.c' => $good_bridge,
	'src/math/noise/approx.c' => head('approx.c') . "/*\n$contract */\ndouble\ndp_noise_y(int x)\n{\n}\n",
	'src/math/noise/dp_noise.h' => head('dp_noise.h') . "extern double dp_noise_y(double x);\n",
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
		[ 'src/math/noise/answer.c', 'dp_noise.h', '../accounting/dp_accounting.h' ],
		[ 'src/base/settings.c', 'dp_accounting.h', 'accounting_internal.h' ],
		[ 'src/base/settings.c', '../math/accounting/dp_accounting', '../query/split/dp_split' ],
		[ 'src/dp_pg.c', '', "#include \"ledger/ledger_internal.h\"\n" ]
	],
	'postgres.h first, or never' => [
		[ 'src/math/noise/answer.c', 'dp_noise.h', 'postgres.h' ],
		[ 'src/math/noise/answer.c', 'dp_noise.h', 'utils/numeric.h' ],
		[ 'src/base/settings.c', '"postgres.h"', '<stdio.h>' ]
	],
	'versions are told apart in one place' => [
		[ 'src/base/settings.c', '#include "dp_base.h"', '#if PG_VERSION_NUM > 1' ],
		[ 'src/math/noise/answer.c', 'return x', 'return PG_MAJORVERSION_NUM' ]
	],
	'private rows are read in one folder' => [
		[ 'src/base/settings.c', 'DefineCustomIntVariable', 'ExecutorRun(desc); DefineCustomIntVariable' ],
		[ 'src/base/settings.c', 'DefineCustomIntVariable', 'table_beginscan(rel); DefineCustomIntVariable' ]
	],
	'exact numbers are met in few files' => [
		[ 'src/base/settings.c', 'DefineCustomIntVariable', 'static const dp_use_methods m = {a}; DefineCustomIntVariable' ],
		[ 'src/base/settings.c', 'DefineCustomIntVariable', 'static const dp_reader_methods m = {a}; DefineCustomIntVariable' ]
	],
	'purity of math' => [
		[ 'src/math/noise/answer.c', 'return x', 'return rand()' ],
		[ 'src/math/noise/answer.c', 'return x', 'palloc(1)' ],
		[ 'src/math/noise/answer.c', 'return x', 'ereport(ERROR, (errcode(1)))' ],
		[ 'src/math/noise/answer.c', 'static const int', 'static int' ],
		[ 'src/math/noise/answer.c', 'return x', 'static int n = 0' ]
	],
	'no floating point in a sampler' => [
		[ 'src/math/noise/answer.c', 'return x', 'double y' ],
		[ 'src/math/noise/answer.c', 'int x\)\n', "float x)\n" ],
		[ 'src/math/noise/dp_noise.h', '', "extern double dp_noise_z(int x);\n" ]
	],
	'file length' => [
		[ 'src/math/noise/long.c', '', "\n" x 1201 ],
		[ 'src/math/noise/long.h', '', "\n" x 601 ]
	],
	'heads name the file and what it promises' => [
		[ 'src/math/noise/answer.c', 'answer\.c', 'other.c' ],
		[ 'src/math/noise/answer.c', '  A promise.', '' ]
	],
	'layout' => [
		[ 'src/math/noise/answer.c', 'nothing\.', 'nothing. ' ],
		[ 'src/math/noise/answer.c', '\treturn x', '    return x' ],
		[ 'src/math/noise/answer.c', 'nothing\.', 'x' x 70 ],
		[ 'src/math/noise/answer.c', '\}\n\z', '}' ]
	],
	'lines of documents' => [
		[ 'doc/owner.md', 'Text\.', 'x ' x 50 . 'x' ],
		[ 'doc/owner.md', 'Text\.', '- ' . 'x' x 50 . ' ' . 'x' x 50 ],
		[ 'doc/owner.md', ';\n```', ";\n```\n" . 'x ' x 51 ]
	],
	'C style' => [
		[ 'src/math/noise/answer.c', 'return x;', 'return x; // x' ],
		[ 'src/math/noise/answer.c', 'int\nhelper', 'int helper' ],
		[ 'src/math/noise/answer.c', 'return x;', 'for (int i = 0; i < x; i++) return x;' ],
		[ 'src/math/noise/answer.c', 'int\nhelper', "int\nrefuse_helper" ]
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
		[ 'src/math/noise/answer.c', 'Requires:', 'Needs:' ],
		[ 'src/math/noise/answer.c', 'Gives:', 'Returns:' ],
		[ 'src/math/noise/answer.c', 'Source:', 'See:' ],
		[ 'src/math/noise/answer.c', 'T1\.', 'T2.' ],
		[ 'src/math/noise/answer.c', ' T1\.', '.' ],
		[ 'src/base/settings.c', '/\* dp_base_fail: raises. \*/', '' ]
	],
	'settings are sorted' => [
		[ 'src/base/settings.c', 'dp_pg\.a', 'dp_pg.c' ],
		[ 'src/base/settings.c', 'dp_pg\.a', 'dp.a' ]
	],
	'errors have an errcode' =>
	  [ [ 'src/base/settings.c', 'errcode\(\w+\),\n', "\n" ] ],
	'no basename twice' => [
		[ 'src/base/answer.c', '', "#include \"postgres.h\"\n" ],
		[ 'src/base/dp_noise.h', '', "\n" ]
	],
	'no circle of files' => [
		[ $LintHouse::objects, 'U gone', "U gone\nsrc/math/noise/approx.o:  U dp_noise_answer" ]
	],
	'headers of a part' => [
		[ 'src/math/noise/sampler.h', '', "\n" ],
		[ 'src/base/dp_noise.h', '', "\n" ]
	],
	'functions are called by their part' => [
		[ $LintHouse::objects, 'T dp_noise_answer', 'T dp_answer' ],
		[ $LintHouse::objects, 'T dp_noise_y', 'T dp_noisey' ]
	],
	'the sheet of folders' => [
		[ 'doc/architecture.md', 'src/base/        b\n', '' ],
		[ 'doc/architecture.md', 'test/         sql', 'test/         sql fuzz' ],
		[ 'doc/architecture.md', '(src/math/noise/.*\n)(src/base/.*\n)', "src/base/        b\nsrc/math/noise/  a\n" ],
		[ $LintHouse::folders, 'src/math/noise', "src/math/noise\nsrc/math/models" ]
	],
	'test programs run by day or by night' => [
		[ 'test/README.md', 'yes', '-' ],
		[ 'test/README.md', 'sql', 'specs' ],
		[ 'test/README.md', '\\z', "| sql/ | yes | - | 1 | 1 |\n" ],
		[ 'test/t/b.pl', '', "done_testing();\n" ]
	],
	'arguments of our own calls have types' => [
		[ 'sql/20_x.sql', '', "CREATE FUNCTION dp_pg.f() RETURNS int LANGUAGE sql\nAS 'SELECT \@extschema\@.dp_a(\$1, 0.95)';\n" ],
		[ 'src/base/settings.c', 'DefineCustomIntVariable', "run(\"SELECT %s.dp_a(\"\n\t\"%s, \$1)\"); DefineCustomIntVariable" ]
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
