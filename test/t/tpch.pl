# TPC-H as transparent mode answers it, unmodified, the customer being the privacy
# unit: customer, orders and lineitem are private, the other tables public.  Small
# tables of the benchmark's form, made here; parameters are the benchmark's own if
# these rows have them.
#
# Declarations needed: units (of a line that of its order), how many rows of a
# customer count, bounds of what is summed, the keys of flags and priorities, the
# span of dates.  Names of nations come from the public tables; codes of countries
# and suppliers' names need none.
#
# At the epsilon used, noise of one value has a scale below 0.01, and numbers are
# taken to a grid of steps below 0.1 of 15,000 lines: within 200 of sums, which a
# value misses with a probability below exp(-20000).
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use AttackNode qw(attack_node as);
use LedgerNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = attack_node('tpch', "dp_pg.epsilon_ceiling = '100000000000'\ndp_pg.max_groups = 10000\n");

value($node, <<'EOT');
SET SESSION AUTHORIZATION owner;
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL);
INSERT INTO region SELECT i - 1, n FROM unnest(ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST']) WITH ORDINALITY AS u(n, i);
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL REFERENCES region);
INSERT INTO nation SELECT i - 1, n, r FROM unnest(ARRAY['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'],
	ARRAY[0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1]) WITH ORDINALITY AS u(n, r, i);
CREATE TABLE part (p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL);
INSERT INTO part SELECT i, 'part ' || i, 'Brand#' || 1 + i % 5 || 1 + i / 5 % 5, (ARRAY['PROMO', 'STANDARD', 'ECONOMY', 'SMALL'])[1 + i % 4] || ' ' || (ARRAY['ANODIZED', 'PLATED', 'BRUSHED'])[1 + i % 3] || ' ' || (ARRAY['STEEL', 'TIN', 'BRASS'])[1 + i / 3 % 3], 1 + i % 50, (ARRAY['SM CASE', 'SM BOX', 'MED BAG', 'MED BOX', 'LG CASE', 'LG BOX'])[1 + i % 6] FROM generate_series(1, 400) AS i;
CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_nationkey int NOT NULL REFERENCES nation);
INSERT INTO supplier SELECT i, 'Supplier#' || i, i % 25 FROM generate_series(1, 100) AS i;
CREATE TABLE partsupp (ps_partkey int REFERENCES part, ps_suppkey int REFERENCES supplier, ps_availqty int NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
INSERT INTO partsupp SELECT i, 1 + (i + 25 * j - 1) % 100, CASE j WHEN 0 THEN i * 3 ELSE -100 END FROM generate_series(1, 400) AS i, generate_series(0, 3) AS j;
CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name varchar(25) NOT NULL, c_nationkey int NOT NULL REFERENCES nation, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment char(10) NOT NULL);
INSERT INTO customer SELECT i, 'Customer#' || i, n, 10 + n || '-' || 100 + i % 900, (i * 7919 % 1099999)::numeric / 100 - 999.99, (ARRAY['BUILDING', 'AUTOMOBILE', 'MACHINERY', 'HOUSEHOLD', 'FURNITURE'])[1 + i % 5] FROM generate_series(1, 1500) AS i, LATERAL (SELECT (i * 31 % 25)) AS h(n);
CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int NOT NULL REFERENCES customer, o_orderstatus char(1) NOT NULL, o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
INSERT INTO orders SELECT i, 1 + (i * 7 % 1000) + (i * 7 % 1000) / 2, (ARRAY['F', 'O', 'P'])[1 + i % 3], 1000 + i % 5000, date '1992-01-01' + i * 2477 % 2400, (ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])[1 + i % 5], 0, CASE WHEN i % 9 = 0 THEN 'some special things requests' ELSE 'plain' END FROM generate_series(1, 10000) AS i;
CREATE TABLE lineitem (l_orderkey int NOT NULL REFERENCES orders, l_linenumber int NOT NULL, l_partkey int NOT NULL REFERENCES part, l_suppkey int NOT NULL REFERENCES supplier, l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber));
INSERT INTO lineitem SELECT o, n, 1 + h % 400, 1 + h % 100, q, q * (1 + h % 1000), (h % 11) / 100.0, (h % 9) / 100.0, (ARRAY['A', 'N', 'R'])[1 + h % 3], (ARRAY['O', 'F'])[1 + h % 2], o_orderdate + h % 120, o_orderdate + 30 + h % 61, o_orderdate + h % 120 + 1 + h % 30, (ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[1 + h % 4], (ARRAY['AIR', 'MAIL', 'SHIP', 'RAIL', 'TRUCK', 'FOB', 'REG AIR'])[1 + h % 7]
	FROM orders AS o(o, c), LATERAL generate_series(1, 1 + o % 7) AS n, LATERAL (SELECT hashint4(o * 10 + n) & 1048575) AS x(h), LATERAL (SELECT 1 + h / 7 % 50) AS y(q);
SELECT dp_protect('customer', unit => 'c_custkey', dataset => 'tpch');
SELECT dp_protect('orders', unit => 'o_custkey', dataset => 'tpch');
SELECT dp_protect('lineitem', unit => 'l_orderkey -> orders.o_custkey', dataset => 'tpch');
SELECT dp_declare('customer', max_rows => 1), dp_declare('orders', max_rows => 10, max_keys => 10), dp_declare('lineitem', max_rows => 70, max_keys => 70);
SELECT dp_declare('customer', 'c_acctbal', lower => -1000, upper => 10000), dp_declare('orders', 'o_totalprice', lower => 0, upper => 600000),
	dp_declare('lineitem', 'l_quantity', lower => 0, upper => 50), dp_declare('lineitem', 'l_extendedprice', lower => 0, upper => 100000),
	dp_declare('lineitem', 'l_discount', lower => 0, upper => 0.1), dp_declare('lineitem', 'l_tax', lower => 0, upper => 0.08),
	dp_declare('lineitem', 'l_returnflag', keys => ARRAY['A', 'N', 'R']), dp_declare('lineitem', 'l_linestatus', keys => ARRAY['F', 'O']),
	dp_declare('orders', 'o_orderpriority', keys => ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']),
	dp_declare('orders', 'o_orderdate', lower => '1992-01-01', upper => '1998-12-31'), dp_declare('lineitem', 'l_shipdate', lower => '1992-01-01', upper => '1999-12-31');
GRANT SELECT ON region, nation, part, supplier, partsupp TO analyst;
SELECT dp_grant('analyst', dataset => 'tpch', epsilon => 900000000000, delta => 1e-5);
EOT

my $settings = 'SET client_min_messages = error; SET dp_pg.transparent = on; SET dp_pg.reuse = off; SET dp_pg.epsilon = 10000000000; SET dp_pg.delta = 1e-9';

# Rows of an answer: keys, and then numbers.
sub rows
{
	my ($keys, $out) = @_;

	return map {
		my @fields = split /\|/, $_, -1;
		my $key = join '|', splice(@fields, 0, $keys);

		($key => \@fields)
	} split /\n/, $out;
}

# The largest distance between numbers of the same rows.
sub distance
{
	my ($private, $plain) = @_;
	my $most = 0;

	foreach my $key (keys %$plain)
	{
		foreach my $i (0 .. $#{ $plain->{$key} })
		{
			my ($a, $b) = ($private->{$key}[$i], $plain->{$key}[$i]);

			$a = 0 if $a eq '' || $b eq '';    # a sum of no rows is about 0
			$b = 0 if $b eq '';
			$most = abs($a - $b) if abs($a - $b) > $most;
		}
	}
	return $most;
}

# The query as the analyst asks it and as the owner does, who sees the rows.
sub same
{
	my ($name, $keys, $tolerance, $sql) = @_;
	my ($out, $err) = as($node, 'analyst', "$settings; $sql");
	my %private = rows($keys, $out);
	my %plain = rows($keys, value($node, "SET SESSION AUTHORIZATION owner; $sql"));

	is($err, '', "$name: answered");
	is(join(', ', sort keys %private), join(', ', sort keys %plain), "$name: " . keys(%plain) . ' rows');
	cmp_ok(distance(\%private, \%plain), '<=', $tolerance, "$name: numbers");
	return;
}

same('Q1', 2, 200, <<'EOT');
select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price, sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty, avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus
EOT
same('Q4', 1, 0, <<'EOT');
select o_orderpriority, count(*) as order_count from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-07-01' + interval '3' month and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by o_orderpriority order by o_orderpriority
EOT
same('Q5', 1, 200, <<'EOT');
select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue from customer, orders, lineitem, supplier, nation, region where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and o_orderdate < date '1994-01-01' + interval '1' year group by n_name order by revenue desc
EOT
same('Q6', 0, 200, <<'EOT');
select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24
EOT
same('Q7', 3, 200, <<'EOT');
select supp_nation, cust_nation, l_year, sum(volume) as revenue from (select n1.n_name as supp_nation, n2.n_name as cust_nation, extract(year from l_shipdate) as l_year, l_extendedprice * (1 - l_discount) as volume from supplier, lineitem, orders, customer, nation n1, nation n2 where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey and c_nationkey = n2.n_nationkey and ((n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY') or (n1.n_name = 'GERMANY' and n2.n_name = 'FRANCE')) and l_shipdate between date '1995-01-01' and date '1996-12-31') as shipping group by supp_nation, cust_nation, l_year order by supp_nation, cust_nation, l_year
EOT
same('Q8', 1, 0.01, <<'EOT');
select o_year, sum(case when nation = 'BRAZIL' then volume else 0 end) / sum(volume) as mkt_share from (select extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume, n2.n_name as nation from part, supplier, lineitem, orders, customer, nation n1, nation n2, region where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey and r_name = 'AMERICA' and s_nationkey = n2.n_nationkey and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = 'ECONOMY ANODIZED TIN') as all_nations group by o_year order by o_year
EOT
same('Q9', 2, 400, <<'EOT');
select nation, o_year, sum(amount) as sum_profit from (select n_name as nation, extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) - l_quantity as amount from part, supplier, lineitem, orders, nation where s_suppkey = l_suppkey and p_partkey = l_partkey and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%7%') as profit group by nation, o_year order by nation, o_year desc
EOT
same('Q12', 1, 0, <<'EOT');
select l_shipmode, sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) as high_line_count, sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) as low_line_count from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1994-01-01' + interval '1' year group by l_shipmode order by l_shipmode
EOT
same('Q13', 1, 0, <<'EOT');
select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) from customer left outer join orders on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) as c_orders (c_custkey, c_count) group by c_count order by custdist desc, c_count desc
EOT
same('Q14', 0, 0.01, <<'EOT');
select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue from lineitem, part where l_partkey = p_partkey and l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-09-01' + interval '1' month
EOT
same('Q19', 0, 200, <<'EOT');
select sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem, part where (p_partkey = l_partkey and p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity >= 1 and l_quantity <= 1 + 10 and p_size between 1 and 50 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON') or (p_partkey = l_partkey and p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity >= 10 and l_quantity <= 10 + 10 and p_size between 1 and 50 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON') or (p_partkey = l_partkey and p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity >= 20 and l_quantity <= 20 + 10 and p_size between 1 and 50 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')
EOT
same('Q21', 1, 0, <<'EOT');
select s_name, count(*) as numwait from supplier, lineitem l1, orders, nation where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate and exists (select * from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and not exists (select * from lineitem l3 where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate) and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by s_name order by numwait desc, s_name limit 100
EOT
same('Q22', 1, 200, <<'EOT');
select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from (select substring(c_phone from 1 for 2) as cntrycode, c_acctbal from customer where substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17') and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00 and substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17')) and not exists (select * from orders where o_custkey = c_custkey)) as custsale group by cntrycode order by cntrycode
EOT

# What public rows are compared with is released once, for the pairs that they have.
same('Q20, of all years', 1, 0, <<'EOT');
select s_name from supplier, nation where s_suppkey in (select ps_suppkey from partsupp where ps_partkey in (select p_partkey from part where p_name like 'part 1%') and ps_availqty > (select 0.5 * sum(l_quantity) from lineitem where l_partkey = ps_partkey and l_suppkey = ps_suppkey and l_shipdate >= date '1992-01-01')) and s_nationkey = n_nationkey and n_name = 'CANADA' order by s_name
EOT

# Groups that are one customer's are never told: no row, which is right at any epsilon.
foreach my $query (
	[ Q3 => <<'EOT' ], [ Q10 => <<'EOT' ], [ Q18 => <<'EOT' ])
select l_orderkey, dp_sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10
EOT
select c_custkey, c_name, dp_sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_phone from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate >= date '1993-10-01' and o_orderdate < date '1993-10-01' + interval '3' month and l_returnflag = 'R' and c_nationkey = n_nationkey group by c_custkey, c_name, c_acctbal, c_phone, n_name order by revenue desc limit 20
EOT
select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, dp_sum(l_quantity) from customer, orders, lineitem where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 200) and c_custkey = o_custkey and o_orderkey = l_orderkey group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order by o_totalprice desc, o_orderdate limit 100
EOT
{
	my ($name, $sql) = @$query;
	my ($out, $err) = as($node, 'analyst', "$settings; SET dp_pg.transparent = off; $sql");

	is($err, '', "$name: answered");
	is($out, '', "$name: no group is about more than one customer");
}

# Which orders are large can be counted.
same('Q18, counted', 0, 0, <<'EOT');
select count(*) from orders where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 200)
EOT

# The average of each part's lines is over all customers' rows, so it is no fact of
# one of them: released by itself, for the parts that are asked about, it is.
like((as($node, 'analyst', "$settings; select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)"))[1], qr/ERROR:  subquery cannot be used on private rows.*HINT/s, 'Q17: refused, with a hint');
same('Q17, with its averages released first', 0, 200, <<'EOT');
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, (select l_partkey as agg_partkey, 0.2 * avg(l_quantity) as avg_quantity from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23' and p_container = 'MED BOX' group by l_partkey) as part_agg where agg_partkey = l_partkey and l_quantity < avg_quantity
EOT

$node->stop;
done_testing();
