# dp_report: who may call it, what it contains, that names cannot become markup, and
# that a browser shows it without loading anything.  DP_PG_PICTURE=file keeps a
# picture of it: doc/report.png was made so.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use File::Copy qw(copy);
use IPC::Run ();
use LedgerNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ledger_node('report');

# A page, as a role.
sub page
{
	my ($user, $dataset) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT dp_report('$dataset')", extra_params => [ '-U', $user ]);

	return $rc == 0 ? $out : $err;
}

# ---- whose it is ----

foreach my $user (qw(alice bob))
{
	is(sqlstate($node, $user, "SELECT dp_report('h')"), '42501', "$user gets none");
}
is(sqlstate($node, 'owner', "SELECT dp_report('other')"), '42501', 'of no dataset there is none');
is(sqlstate($node, 'postgres', "SELECT dp_report('other')"), '42501', 'for superusers neither');
is(sqlstate($node, 'owner', 'SELECT dp_report(NULL)'), '42501', 'nor of NULL');
value($node, 'CREATE ROLE deputy LOGIN; GRANT owner TO deputy');
like(page($_, 'h'), qr/<h1>Dataset h</, "$_ gets one") foreach qw(owner postgres deputy);
like(page('owner', 'h'), qr/Nothing was spent/, 'of a dataset where nothing was asked');

# ---- what it says ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE visits (id int PRIMARY KEY, patient int NOT NULL, ward text NOT NULL, cost int);
INSERT INTO visits SELECT g, g % 2000, (ARRAY['north', 'south', 'east'])[1 + g % 3], g % 500 FROM generate_series(1, 6000) g;
SELECT dp_protect('visits', unit => 'patient', dataset => 'hospital', max_total => 1);
SELECT dp_declare('visits', 'ward', keys => ARRAY['north', 'south', 'east']);
SELECT dp_declare('visits', 'cost', lower => 0, upper => 500);
SELECT dp_grant('alice', 'hospital', epsilon => 10, filter => 'basic');
SELECT dp_grant('bob', 'hospital', epsilon => 2, renew => '30 days');
SELECT dp_limit('hospital', epsilon => 40);
EOT
foreach my $i (1 .. 12)
{
	my ($user, $query) = @{
		[
			[ 'alice', 'SELECT dp_count(1, 0.5) FROM visits' ],
			[ 'bob', 'SELECT ward, dp_count(1, 0.1) FROM visits GROUP BY ward' ],
			[ 'alice', 'SELECT dp_sum(cost, 0, 500, 0.25), dp_count(1, 0.25) FROM visits' ],
			[ 'bob', 'SELECT dp_median(cost, 0, 500, 0.2) FROM visits' ]
		]->[ $i % 4 ]
	};
	$node->safe_psql('postgres', "SET dp_pg.reuse = off; $query", extra_params => [ '-U', $user ]);
}
# The charges of ten days; only a superuser could write that.
value($node, q(UPDATE dp_pg.ledger SET at = at - (id % 10) * interval '1 day' WHERE dataset = 'hospital'));
my $html = page('owner', 'hospital');

sub rows_of
{
	my ($title) = @_;
	my ($table) = $html =~ m{<h2>\Q$title\E</h2>.*?<table>(.*?)</table>}s;

	return grep { $_ ne '' } map { join '|', m{<td>(.*?)</td>}g } ($table // '') =~ m{<tr>(.*?)</tr>}g;
}

my ($alice) = grep { /^alice/ } rows_of('Budgets');
my ($bob) = grep { /^bob/ } rows_of('Budgets');
my ($cap) = grep { /^all together/ } rows_of('Budgets');
like($alice, qr/^alice\|basic\|10\|0\|6\|30(?:\.0)?%\|70(?:\.0)?%\|\d{4}-\d\d-\d\d, in (?:1\d|2\d) days$/, 'what alice used, and when it ends');
like($bob, qr/^bob\|best\|2\|0\|6\|45\.0%\|55\.0%\|(?:\d{4}-\d\d-\d\d, in \d+ days|lasts until)/, 'what bob used');
like($cap, qr/\|40\|0\|12\|9\.8%\|90\.\d%\|/, 'and the cap');
is(scalar rows_of('Last releases'), 12, 'all releases');
like(join("\n", rows_of('Last releases')), qr/\|alice\|discrete Laplace: count\|1\|0\.5\|0\|0\.1065\|± 6$/m, 'with their errors');
like(join("\n", rows_of('Protected relations')), qr/^public\.visits\|patient\|/m, 'the relation');
like(join("\n", rows_of('Declarations')), qr/^public\.visits\|cost\|integer\|0\|500\|/m, 'bounds');
like(join("\n", rows_of('Declarations')), qr/\|north, south, east\|/, 'keys');
like($html, qr{<h2>Audit</h2>.*<td>medium</td>}s, 'findings');
my @plots = $html =~ m{<svg .*?</svg>}gs;
is(scalar @plots, 3, 'three plots');
like($plots[0], qr{>alice</text>.*>3</text>.*>bob</text>.*>0\.9</text>}s, 'by role');
is(scalar(() = $plots[1] =~ /<rect/g), 10, 'by day');
like($plots[2], qr{>discrete Laplace</text>.*>exponential mechanism</text>}s, 'by mechanism');

cmp_ok(value($node, q{SET SESSION AUTHORIZATION owner; BEGIN; SELECT FROM dp_report('hospital'); SELECT pg_stat_get_xact_tuples_returned('dp_pg.ledger'::regclass)}),
	'<=', 2 * 12, 'the ledger is read once, and again for the last releases at most');

my $ends = sub {
	my ($used, $since, $renewal) = @_;

	return value($node, "SELECT dp_pg.report_ends($used, $since, timestamptz '2030-01-11 00:00+00', $renewal)");
};
is($ends->('0.5', "timestamptz '2030-01-01 00:00+00'", 'NULL'), '2030-01-21, in 10 days', 'half in ten days: ten more');
is($ends->('0.5', "timestamptz '2030-01-01 00:00+00'", "timestamptz '2030-01-15 00:00+00'"), 'lasts until it starts again, 2030-01-15', 'unless it starts again before');
is($ends->('1', "timestamptz '2030-01-01 00:00+00'", "timestamptz '2030-01-15 00:00+00'"), 'used up, starts again 2030-01-15', 'used up');
is($ends->('0', 'NULL', 'NULL'), 'nothing was spent', 'nothing');
is($ends->('1e-20', "timestamptz '2030-01-01 00:00+00'", 'NULL'), 'in more than a hundred years', 'next to nothing');
is($ends->('NULL', 'NULL', 'NULL'), 'not known', 'without a finite sum');
is(value($node, q(SELECT string_agg(coalesce(round(dp_pg.report_used(f, 2, 1e-6, e, r, 0), 3)::text, '-'), ' ') FROM (VALUES
	('basic', 1, 0.5), ('zcdp', 1, 0), ('best', 2, 0), ('best', numeric 'Infinity', 1), ('basic', 'Infinity', 1)) v (f, e, r))),
	'0.500 0.000 0.000 1.000 -', 'shares by filter');

# ---- the pace is that of the period, whenever renewal was granted ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
SELECT dp_pg.open_dataset('late');
CREATE TABLE late (id int PRIMARY KEY);
SELECT dp_protect('late', unit => 'id', dataset => 'late');
SELECT dp_grant('alice', 'late', epsilon => 2, filter => 'basic');
SET SESSION AUTHORIZATION alice;
SELECT dp_count(1, 1) FROM late;
RESET SESSION AUTHORIZATION;
UPDATE dp_pg.ledger SET at = at - interval '10 days' WHERE dataset = 'late';
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('alice', 'late', epsilon => 2, filter => 'basic', renew => '60 days');
EOT
$html = page('owner', 'late');
like((rows_of('Budgets'))[0], qr{^alice\|basic\|2\|.*\|50\.0%\|50\.0%\|\d+-\d+-\d+, in 10 days$}, 'half was used in ten days, though it renews since today');

# ---- names are text ----

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
SELECT dp_pg.open_dataset('<img src=x onerror=alert(1)>');
CREATE TABLE "<script>alert(2)</script>" (id int PRIMARY KEY, "a""><b>" text NOT NULL);
SELECT dp_protect('"<script>alert(2)</script>"', unit => 'id', dataset => '<img src=x onerror=alert(1)>');
SELECT dp_declare('"<script>alert(2)</script>"', 'a"><b>', keys => ARRAY['</td></table>', '&amp;', '''"<i>']);
RESET SESSION AUTHORIZATION;
CREATE ROLE "<u>eve</u>" LOGIN;
SET SESSION AUTHORIZATION owner;
SELECT dp_grant('<u>eve</u>', '<img src=x onerror=alert(1)>', epsilon => 10);
SET SESSION AUTHORIZATION "<u>eve</u>";
SELECT "a""><b>", dp_count(*) FROM "<script>alert(2)</script>" GROUP BY 1;
EOT
my $marked = page('owner', '<img src=x onerror=alert(1)>');
my %known = map { $_ => 1 } qw(html head meta title style body h1 h2 h3 p code table tr th td svg text rect line);
is_deeply([ grep { !$known{$_} } map { lc } $marked =~ m{</?([A-Za-z!][\w]*)}g ], [], 'no tag comes from a name')
  if $marked =~ s/^<!DOCTYPE html>//;
like($marked, qr/&lt;script&gt;alert\(2\)/, 'the table is there');
like($marked, qr/&lt;u&gt;eve&lt;\/u&gt;/, 'and the role');
like($marked, qr/&amp;amp;/, 'and a key that looks like an entity');
like($marked, qr/&#39;&quot;&lt;i&gt;/, 'and quotes');

# ---- a browser ----

my $folder = PostgreSQL::Test::Utils::tempdir();

# What the browser makes of a page, and a picture of it.
sub browse
{
	my ($text, $name, $height) = @_;
	my @browser = ('chromium', '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
		"--user-data-dir=$folder/$name.profile", "--window-size=900,$height");
	my ($dom, $err) = ('', '');

	local $ENV{HOME} = $folder;
	append_to_file("$folder/$name.html", $text);
	IPC::Run::run([ @browser, '--dump-dom', "file://$folder/$name.html" ], '<', '/dev/null', '>', \$dom, '2>', \$err);
	diag($err) if $dom eq '';
	IPC::Run::run([ @browser, "--screenshot=$folder/$name.png", "file://$folder/$name.html" ], '<', '/dev/null', '>', \$err, '2>', \$err);
	return $dom;
}

foreach my $text ($html, $marked)
{
	unlike($text =~ s{&[a-z#\d]+;.*?(?=<)}{}gsr, qr{\b(?:src|href|srcset|action|xlink:href)\s*=|url\(|\@import|https?:}i, 'nothing is loaded from elsewhere');
	like($text, qr/Content-Security-Policy" content="default-src 'none'/, 'and a browser would not');
}
my $dom = browse($html, 'hospital', 1750);
is(scalar(() = $dom =~ /<rect/g), scalar(() = $html =~ /<rect/g), 'the browser has all bars');
is(scalar(() = $dom =~ /<tr>/g), scalar(() = $html =~ /<tr>/g), 'and all rows');
my $picture = slurp_file("$folder/hospital.png");
is(join('x', unpack('x16 N N', $picture)), '900x1750', 'it draws a picture');
cmp_ok(length $picture, '>', 40_000, 'which is not empty');
copy("$folder/hospital.png", $ENV{DP_PG_PICTURE}) or die $! if $ENV{DP_PG_PICTURE};
$dom = browse("<!DOCTYPE html>$marked", 'marked', 1000);
unlike($dom, qr/<(?:script|img|u|i|b)\b/, 'no name has become markup');
like($dom, qr/&lt;img src=x/, 'but text');

done_testing();
