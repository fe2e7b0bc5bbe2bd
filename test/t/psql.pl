# psql and pg_dump as the analyst: \d and the like, queries of tab completion, a
# dump that fails with a clear error, and one that excludes protected tables.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientNode;
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = client_node('psql');

$node->safe_psql('postgres', 'CREATE TABLE notes (body text); GRANT SELECT ON notes TO bob');

# What psql says to bob, both streams.
sub says
{
	my @more = @_;
	my ($out, $err) = run_command([ 'psql', '-X', '-U', 'bob', '-d', $node->connstr('postgres'), @more ]);

	return "$out\n$err";
}

# What it says to a script on its input.
sub scripted
{
	my @lines = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'psql', '-X', '-U', 'bob', '-d', $node->connstr('postgres') ],
		'<', \join('', map { "$_\n" } @lines), '>', \$out, '2>', \$err);
	return "$out\n$err";
}

my %shows = (
	'\d sales' => qr/amount \| integer.*"sales_pkey" PRIMARY KEY/s,
	'\d+ bi.sales' => qr/region .*dp_pg: keys 'N', 'S', 'E'.*security_invoker/s,
	'\dt' => qr/public \| sales/,
	'\dv bi.*' => qr/bi +\| sales/,
	'\dp sales' => qr/public \| sales/,
	'\dn+' => qr/bi +\| owner/,
	'\df dp_count' => qr/dp_count/,
	'\dT dp_pg.*' => qr/rows/,
	'\dRp' => qr/rows/,
	'\sv bi.sales' => qr/CREATE OR REPLACE VIEW/);

foreach my $command (sort keys %shows)
{
	my $said = says('-c', $command);

	like($said, $shows{$command}, "$command shows what there is");
	unlike($said, qr/ERROR/, 'and no error');
}
is(charges($node), 0, 'nothing was charged');
like(says('-c', 'SELECT count(*) FROM bi.sales'), qr/20000/, 'a count');
like(scripted('SELECT region, count(*) FROM sales GROUP BY region \gdesc'), qr/count +\| bigint/, '\gdesc');
like(scripted('SELECT region, extract(year FROM day) AS y, count(*) AS n FROM sales GROUP BY 1, 2 ORDER BY 1, 2 \crosstabview'),
	qr/region +\| +2023 +\| +2024.*E +\| +\d+ +\| +\d+/s, '\crosstabview');
like(scripted("SELECT count(*) AS n FROM sales \\gset\n\\echo :n"), qr/^20000$/m, '\gset');
like(scripted('\if true', '\timing on', 'SELECT sum(amount) FROM sales;', '\endif'), qr/990000/, 'in \if');
like(says('-v', 'FETCH_COUNT=2', '-c', 'SELECT region, count(*) FROM sales GROUP BY region ORDER BY 1'),
	qr/N +\| +6666/, 'FETCH_COUNT, which declares a cursor');
like(says('-c', '\copy sales TO STDOUT'), qr/permission denied for table sales.*protected by differential privacy/s, '\copy is refused');

# ---- completion ----

{
	my ($in, $out) = ('', '');
	my $before = charges($node);
	local $ENV{TERM} = 'dumb';
	local $ENV{PSQL_HISTORY} = '/dev/null';
	local $ENV{PGOPTIONS} = '-c dp_pg.reuse=off';
	my $psql = IPC::Run::start(
		[ 'psql', '-X', '-P', 'pager=off', '-U', 'bob', '-d', $node->connstr('postgres') ],
		'<pty<', \$in, '>pty>', \$out, '2>', '/dev/null', IPC::Run::timeout(60));

	# Waits for a sight after some keys; returns whether it came.
	my $types = sub {
		my ($keys, $sight) = @_;

		$out = '';
		$in .= $keys;
		eval { $psql->pump until $out =~ $sight; };
		return scalar $out =~ $sight;
	};

	ok($types->('', qr/=> /), 'psql is ready');
	ok($types->("SELECT count(*) FROM bi.sa\t", qr/bi\.sales /), 'TAB completes a published view');
	ok($types->(";\n", qr/20000.*=> /s), 'which is asked');
	ok($types->("SELECT count(*) FROM sal\t", qr/sales /), 'and a protected table');
	ok($types->("WHERE reg\t", qr/region /), 'and a column');
	ok($types->("= 'N';\n", qr/6666.*=> /s), 'which are asked');
	ok($types->("SET dp_pg.trans\t", qr/dp_pg\.transparent /), 'and a setting');
	ok($types->("TO off;\n", qr/SET.*=> /s), 'which is set');
	$in .= "\\q\n";
	eval { $psql->finish; };
	is(charges($node) - $before, 2, 'completion charges nothing');
}

# ---- pg_dump ----

# Exit status and errors of a dump by bob.
sub dumped
{
	my @more = @_;
	my ($out, $err);
	my $ok = IPC::Run::run(
		[ 'pg_dump', '-U', 'bob', '-d', $node->connstr('postgres'), @more ],
		'>', \$out, '2>', \$err);

	return ($ok, $out, $err);
}

foreach my $more ([], [ '-t', 'sales' ], [ '-a', '--inserts', '-t', 'sales' ], [ '-s' ])
{
	my ($ok, $out, $err) = dumped(@$more);

	ok(!$ok, "pg_dump @$more fails");
	like($err, qr/permission denied for table sales/, 'and says for which table');
	like($err, qr/protected by differential privacy.*--exclude-table/s, 'why, and what to do');
	unlike($out, qr/^(?:INSERT|COPY)\b/m, 'without rows');
}
my ($ok, $out, $err) = dumped('-t', 'notes');
ok($ok, "pg_dump of another table works: $err");
like($out, qr/CREATE TABLE public\.notes/, 'and has it');
($ok, $out, $err) = dumped('-n', 'bi');
ok($ok, "pg_dump of the published views works: $err");
like($out, qr/CREATE VIEW bi\.sales/, 'and has them, without rows');

done_testing();
