# Noise cannot be predicted, replayed or switched off: not by seeds, settings, new
# connections (which are forked from one process), parallel workers, prepared plans
# or equal statements.  Noise has scale 10^6, so two independent draws agree with
# probability 2.5e-7.  The largest comparison below joins 60 draws: 1770 pairs, of
# which one agrees by chance with probability 4.4e-4; so up to two equal pairs are
# accepted, and three or more appear by chance with probability below 1e-11.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = attack_node('noise');

$node->safe_psql('postgres', "ALTER ROLE analyst SET dp_pg.epsilon_floor = '0.000001'; ALTER ROLE analyst SET dp_pg.epsilon = '0.000001'");
my $ask = 'SELECT dp_count(*) FROM patients;';

sub equal_pairs
{
	my %n;
	my $pairs = 0;

	$n{$_}++ for @_;
	$pairs += $_ * ($_ - 1) / 2 for values %n;
	return $pairs;
}

sub draws
{
	my ($name, $count, $setup) = @_;
	my @all;

	for (1 .. $count)
	{
		my ($out) = as($node, 'analyst', "$setup $ask");

		push @all, $1 if $out =~ /^(-?\d+)\s*\z/m;
	}
	is(scalar @all, $count, "$name: answered");
	cmp_ok(equal_pairs(@all), '<=', 2, "$name: every answer is fresh");
	return @all;
}

my @all = draws('first draw of a connection', 10, '');
push @all, draws('setseed', 10, 'SELECT setseed(0.5) \g /dev/null' . "\n");
push @all, draws('parallel', 10,
	'SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET '
	  . forced_parallel($node) . ' = on;');
push @all, draws('generic plan', 10, 'SET plan_cache_mode = force_generic_plan;');
push @all, draws('after a draw that was rolled back', 10, "BEGIN; SELECT dp_count(1) FROM patients \\g /dev/null\nROLLBACK;");
$node->restart;
push @all, draws('after a restart', 10, '');
cmp_ok(equal_pairs(@all), '<=', 2, 'and of all of them together');

# Within a session: equal statements, plans kept, sleeping processes.
my ($out) = as($node, 'analyst', "PREPARE p AS $ask\n" . "EXECUTE p;\n" x 20 . "$ask\n" x 20);
my @within = $out =~ /^(-?\d+)$/mg;
is(scalar @within, 40, 'one session: answered');
cmp_ok(equal_pairs(@within), '<=', 2, 'one session: every answer is fresh');

# Sessions that were opened before anything was drawn draw differently.
my @open = map { session($node, 'analyst') } 1 .. 10;
answer($_, 'SELECT 1;') for @open;
my @first = map { (answer($_, $ask))[0] } @open;
cmp_ok(equal_pairs(@first), '<=', 2, 'sessions side by side');
hang_up($_) for @open;

# Noise is there: of 60 answers about 10000 rows none is near by.  An answer
# within 100 has probability 1e-4 each; three of them 4e-8 in 60.
cmp_ok(scalar(grep { abs($_ - 10000) < 100 } @all), '<', 3, 'no answer is exact');
# And no setting takes it away.
for my $setting (map { s/\s+//gr } split /\n/, value($node, "SELECT name FROM pg_settings WHERE name LIKE 'dp\\_pg.%' ORDER BY 1"))
{
	for my $value ('0', 'off', "''", '-1', 'DEFAULT')
	{
		my ($answer) = as($node, 'analyst', "SET $setting = $value; $ask");
		my ($again) = as($node, 'analyst', "SET $setting = $value; $ask");

		next if $answer !~ /^(-?\d+)$/m;
		ok(!($answer eq $again && $answer =~ /^10000$/m), "$setting = $value");
	}
}

$node->stop;
done_testing();
