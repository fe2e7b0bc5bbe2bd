#!/usr/bin/env bash
# bench.sh
#	  Private queries against the owner's plain ones, on servers of their own.
#	  QUICK=1 takes few rows and blocks and judges nothing; ROWS=n takes n rows;
#	  ONLY=regex takes the lines whose name matches.  The limits are for five
#	  million rows: a durable charge and a reader cost about .4 ms a statement,
#	  up to 2 ms where they have slept, which is much of a plain query of 10 ms.
#	  Called through test/sandbox.sh; fails when a ratio is above its limit.
set -u
. test/server.sh

rows=${ROWS:-5000000}
blocks=31
repeat=2000
charge_seconds=5
charge_pairs=5
if [ -n "${QUICK:-}" ]; then
	rows=100000
	blocks=3
	repeat=100
	charge_seconds=1
	charge_pairs=1
fi

echo "# building, starting servers, making $rows rows"
build_and_install || exit 1
gcc -O2 -Wall -Wextra -Werror -I"$("$DP_PG_SYSTEM_CONFIG" --includedir)" \
	-o "$DP_PG_WORK/abba" test/bench/abba.c -lpq || exit 1
settings=("shared_buffers = 768MB" "jit = off" "autovacuum = off"
	"max_wal_size = 8GB" "max_connections = 100")
start_server with "${settings[@]}" || exit 1
start_server without "${settings[@]}" "shared_preload_libraries = ''" ||
	exit 1
with="host=$DP_PG_WORK/with dbname=postgres"
without="host=$DP_PG_WORK/without dbname=postgres"

psql -X -q -v ON_ERROR_STOP=1 -v rows="$rows" "$with user=postgres" \
	-f test/bench/setup.sql >/dev/null || exit 1
for server in with without; do
	psql -X -q -v ON_ERROR_STOP=1 -h "$DP_PG_WORK/$server" -U postgres \
		-v rows=$((rows / 10)) -d postgres -f test/bench/setup_plain.sql \
		>/dev/null || exit 1
done

slow=0
errors=0

# compare name limit repeat conninfo-a sql-a conninfo-b sql-b
compare()
{
	[[ $1 =~ ${ONLY:-} ]] || return 0
	"$DP_PG_WORK/abba" "$1" "$2" "$blocks" "$3" "$4" "$5" "$6" "$7"
	case $? in
		0) ;;
		1) slow=$((slow + 1)) ;;
		*) errors=$((errors + 1)) ;;
	esac
}

# private name limit private-sql plain-sql
private()
{
	compare "$1, $mode" "$2" 1 "$with user=analyst options='$workers -c client_min_messages=warning'" "$3" \
		"$with user=owner options='$workers'" "$4"
}

# 20 plain counts of conjunctions, 50 apart
twenty=$(psql -X -q -At -v ON_ERROR_STOP=1 "$with user=owner" -c "
	SELECT string_agg(format('count(*) FILTER (WHERE %s)', p), ', ')
	FROM conjunction WHERE n % 50 = 7") || exit 1

echo "# median of $blocks blocks A B C C B A, [95% interval]; $(nproc) cores"
for mode in serial parallel; do
	workers="-c max_parallel_workers_per_gather=0"
	[ $mode = serial ] || workers="-c max_parallel_workers_per_gather=2"
	private "dp_count" 1.03 \
		"SELECT dp_count(*) FROM survey" "SELECT count(*) FROM survey"
	private "dp_count by 4 keys" 1.03 \
		"SELECT k4, dp_count(*) FROM survey GROUP BY k4" \
		"SELECT k4, count(*) FROM survey GROUP BY k4"
	private "dp_count by 1000 keys" 1.03 \
		"SELECT k1000, dp_count(*) FROM survey GROUP BY k1000" \
		"SELECT k1000, count(*) FROM survey GROUP BY k1000"
	private "dp_count by 1000 texts" 1.03 \
		"SELECT t1000, dp_count(*) FROM survey GROUP BY t1000" \
		"SELECT t1000, count(*) FROM survey GROUP BY t1000"
	private "dp_sum integer by 1000 keys" 1.06 \
		"SELECT k1000, dp_sum(i, 0, 1000) FROM survey GROUP BY k1000" \
		"SELECT k1000, sum(i) FROM survey GROUP BY k1000"
	private "dp_count(DISTINCT integer)" 1.5 \
		"SELECT dp_count(DISTINCT n) FROM survey" \
		"SELECT count(DISTINCT n) FROM survey"
	private "dp_count(DISTINCT text)" 1.5 \
		"SELECT dp_count(DISTINCT t1000) FROM survey" \
		"SELECT count(DISTINCT t1000) FROM survey"
	private "dp_count(DISTINCT) by 4 keys" 1.5 \
		"SELECT k4, dp_count(DISTINCT n) FROM survey GROUP BY k4" \
		"SELECT k4, count(DISTINCT n) FROM survey GROUP BY k4"
	private "dp_sum integer" 1.06 \
		"SELECT dp_sum(i, 0, 1000) FROM survey" "SELECT sum(i) FROM survey"
	private "dp_sum double" 1.06 \
		"SELECT dp_sum(d, 0, 1000) FROM survey" "SELECT sum(d) FROM survey"
	private "dp_avg integer" 1.06 \
		"SELECT dp_avg(i, 0, 1000) FROM survey" "SELECT avg(i) FROM survey"
	private "dp_avg double" 1.06 \
		"SELECT dp_avg(d, 0, 1000) FROM survey" "SELECT avg(d) FROM survey"
	private "dp_histogram, 100 buckets" 1.1 \
		"SELECT dp_histogram(d, 0, 1000, 100) FROM survey" \
		"SELECT width_bucket(d, 0, 1000, 100), count(*) FROM survey GROUP BY 1"
	private "dp_argmax, 1000 candidates" 1.1 \
		"SELECT dp_argmax(k1000) FROM survey" \
		"SELECT k1000 FROM survey GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
	private "dp_argmax, 1000 texts" 1.1 \
		"SELECT dp_argmax(t1000) FROM survey" \
		"SELECT t1000 FROM survey GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
	private "dp_quantile integer" 0.7 \
		"SELECT dp_quantile(i, 0.5, 0, 1000) FROM survey" \
		"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM survey"
	private "dp_quantile double" 0.7 \
		"SELECT dp_quantile(d, 0.5, 0, 1000) FROM survey" \
		"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d) FROM survey"
	private "dp_variance double" 1.1 \
		"SELECT dp_variance(d, 0, 1000) FROM survey" \
		"SELECT variance(d) FROM survey"
	private "one of 5 parts" 1.1 \
		"SELECT dp_sum(i, 0, 1000) FROM divided WHERE k5 = 3" \
		"SELECT sum(i) FROM divided WHERE k5 = 3"
	private "5 parts by their key" 1.1 \
		"SELECT k5, dp_count(*) FROM divided GROUP BY k5" \
		"SELECT k5, count(*) FROM divided GROUP BY k5"
	# Which rows of units count is chosen when all are there.
	bounded=1.25
	[ $mode = serial ] || bounded=1.6
	private "bounded dp_count by 1000 keys" $bounded \
		"SELECT k1000, dp_count(*) FROM visit GROUP BY k1000" \
		"SELECT k1000, count(*) FROM visit GROUP BY k1000"
	private "bounded dp_sum by 1000 keys" $bounded \
		"SELECT k1000, dp_sum(i, 0, 1000) FROM visit GROUP BY k1000" \
		"SELECT k1000, sum(i) FROM visit GROUP BY k1000"
	private "bounded dp_sum, a sixth of SQL's" 0.167 \
		"SELECT k1000, dp_sum(i, 0, 1000) FROM visit GROUP BY k1000" \
		"SELECT k1000, sum(least(greatest(s, 0), 1000)) FROM (
			SELECT k1000, s, row_number() OVER (PARTITION BY unit
				ORDER BY hashint8extended(unit, k1000)) AS n
			FROM (SELECT unit, k1000, sum(i) AS s FROM visit
				GROUP BY unit, k1000) AS g) AS r
		WHERE n <= 5 GROUP BY k1000"
	# Rows are brought together by units before they are grouped or joined,
	# which one process does.
	whole=1
	[ $mode = serial ] || whole=2
	private "lookup join of rows of units" 1.2 \
		"SELECT dp_count(*) FROM visit JOIN kind ON kind.id = visit.k1000
			WHERE kind.name = 'kind 3'" \
		"SELECT count(*) FROM visit JOIN kind ON kind.id = visit.k1000
			WHERE kind.name = 'kind 3'"
	private "a count of each unit" $((whole + 1)) \
		"SELECT dp_avg(n, 0, 100) FROM
			(SELECT unit, count(*) AS n FROM visit GROUP BY unit) AS v" \
		"SELECT avg(n) FROM
			(SELECT unit, count(*) AS n FROM visit GROUP BY unit) AS v"
	private "units behind a key" $((whole + 2)) \
		"SELECT dp_sum(i, 0, 1000) FROM line" \
		"SELECT sum(i) FROM line JOIN orders ON orders.id = order_id"
	private "a join along the path" $((whole + 3)) \
		"SELECT dp_sum(i, 0, 1000) FROM line JOIN orders ON orders.id = order_id" \
		"SELECT sum(i) FROM line JOIN orders ON orders.id = order_id"
	joined=1.3
	lookups=1.5
	[ $mode = serial ] || { joined=2.6; lookups=3; }
	private "two private tables on the unit" $joined \
		"SELECT dp_sum(i, 0, 1000) FROM visit
			JOIN person ON person.id = visit.unit" \
		"SELECT sum(i) FROM visit JOIN person ON person.id = visit.unit"
	# Of each lookup a condition leaves any number: joins hash all the same.
	states="FROM visit JOIN kind AS a ON a.id = k1000
		JOIN person ON person.id = visit.unit JOIN kind AS b ON b.id = age
		WHERE a.state = 'open' AND b.state = 'open'"
	private "two private tables, two lookups" $lookups \
		"SELECT dp_sum(i, 0, 1000) $states" "SELECT sum(i) $states"
	private "a lookup of one value" $lookups \
		"SELECT dp_sum(i, 0, 1000) FROM visit JOIN kind ON kind.id = k1000
			WHERE kind.id = 3" \
		"SELECT sum(i) FROM visit JOIN kind ON kind.id = k1000
			WHERE kind.id = 3"
	private "1000 predicates against 20 counts" 3 \
		"SELECT count(above) FROM dp_sparse_vector('people',
			(SELECT array_agg(p) FROM conjunction), 1e9)" \
		"SELECT $twenty FROM people"
done
# Ordinary statements of a role that was granted what it reads, with the library
# and without.  Short ones, where planning is nearly all that there is.  Every
# block has servers that have just started, and whose caches of catalogs the
# first connection has written.
restart="for server in with without; do
	pg_ctl -D \$DP_PG_WORK/\$server/data -m fast -w restart \
		-l \$DP_PG_WORK/\$server/server.log >/dev/null &&
	psql -X -q -h \$DP_PG_WORK/\$server -U reader -d postgres -c '' || exit 1
done"
loaded()
{
	FRESH=$restart compare "library loaded: $1" 1.01 "$2" \
		"$with user=reader" "$3" "$without user=reader" "$3"
}
join="FROM small a JOIN small b ON b.id = a.i + 1 JOIN small c ON c.id = b.i + 1
	JOIN small d ON d.id = c.i + 1 WHERE a.id = 7"
PIN=1 loaded "point query" "$repeat" "SELECT i FROM small WHERE id = 7"
loaded "aggregate" 1 "SELECT id % 10, sum(i) FROM small GROUP BY 1"
PIN=1 loaded "four-way join" $((repeat / 4)) "SELECT count(*) $join"
PIN=1 loaded "another's aggregate" "$repeat" \
	"SELECT own_sum(i) FROM small WHERE id = 7"
# Transparent mode costs nothing where nothing is private: neither the queries
# of a role that may read what it asks, nor those that drivers ask catalogs, as
# JDBC does for columns.  Both sides have the library, and the same catalogs;
# what the library costs is above.
plain="user=reader options='-c dp_pg.transparent=on'"
PIN=1 compare "transparent: point query" 1.02 "$repeat" \
	"$with $plain" "SELECT i FROM small WHERE id = 7" \
	"$with user=reader" "SELECT i FROM small WHERE id = 7"
grouped="WITH q AS (SELECT id, i FROM small WHERE id < 1000)
	SELECT a.i, count(*), (SELECT max(i) FROM q)
	FROM q a JOIN q b USING (id) WHERE a.id < 9 GROUP BY 1 ORDER BY 2"
PIN=1 compare "transparent: grouped join" 1.02 $((repeat / 10)) \
	"$with $plain" "$grouped" "$with user=reader" "$grouped"
# And what it makes of a plain query costs what the private one does.
compare "transparent: a private query" 1.02 1 \
	"$with user=analyst options='-c dp_pg.transparent=on -c dp_pg.suppress=off -c dp_pg.reuse=off -c client_min_messages=warning'" \
	"SELECT k1000, count(*) FROM survey GROUP BY k1000" \
	"$with user=analyst" "SELECT k1000, dp_count(*) FROM survey GROUP BY k1000"
columns=$(cat test/bench/columns.sql)
PIN=1 compare "transparent: columns of a table" 1.02 $((repeat / 100)) \
	"$with $plain" "$columns" "$with user=reader" "$columns"
# The charge is a durable commit, so the plain statement makes one too.  What
# comes on top is two other processes that are woken: the ledger's worker and a
# reader; .3 ms is allowed for it.
compare "ten rows, whole statement" 2.5 $((repeat / 10)) \
	"$with user=analyst" "SELECT dp_count(*) FROM ten" \
	"$with user=owner" \
	"SELECT count(*) FROM ten;;INSERT INTO note VALUES (now(), 'x', 0.1)"
compare "one of 1000 parts by an index" 1.5 $((repeat / 50)) \
	"$with user=analyst" \
	"SELECT dp_sum(i, 0, 1000) FROM indexed WHERE k1000 = 7" \
	"$with user=owner" \
	"SELECT sum(i) FROM indexed WHERE k1000 = 7;;INSERT INTO note VALUES (now(), 'x', 0.1)"
# A stored answer that a prepared statement was given before is given again
# where nothing was committed since; of many rows it is found anew, by a text of
# all that it follows from.
for n in 20 10000; do
	PREPARED=1 PIN=1 compare "stored answer, $n rows, prepared" 2 \
		$((repeat / 20)) \
		"$with user=analyst options='-c dp_pg.reuse=1day'" \
		"SELECT k$n, dp_count(*), dp_avg(i, 0, 10) FROM few GROUP BY k$n" \
		"$with user=owner" "SELECT * FROM plain$n"
done
# Nearly every answer is the uniform one, so that no question is an update.
session=$(psql -X -q -At -v ON_ERROR_STOP=1 "$with user=postgres" <<-'EOT'
	SET client_min_messages = warning;
	SET dp_pg.epsilon_ceiling = '1000000';
	SET ROLE analyst;
	SELECT dp_weights_open('cell', ARRAY['a', 'b', 'c', 'd'], 1000000000,
		1000000, 100000, alpha => 0.2);
EOT
) || exit 1
where="a < 8 AND b > 3 AND c <> 5 AND d < 12"
compare "weights question, 65536 cells" 1.5 $((repeat / 100)) \
	"$with user=analyst options='$workers'" \
	"SELECT * FROM dp_weights_ask($session, '$where')" \
	"$with user=owner options='$workers'" \
	"SELECT count(*) FROM cell WHERE $where;;INSERT INTO note VALUES (now(), 'x', 0.1)"
# An ask is a charge and a reading in a process of its own: at most 3 charges,
# measured on ten rows against a charge alone.
psql -X -q -v ON_ERROR_STOP=1 "$with user=postgres" \
	-c "GRANT EXECUTE ON FUNCTION dp_pg.charge TO analyst" || exit 1
session=$(psql -X -A -t -v ON_ERROR_STOP=1 "$with user=analyst" -c "
	SELECT dp_sparse_vector_open('ten', threshold => 1000, epsilon => 1,
		questions => 1000000000)" 2>/dev/null) || exit 1
compare "an ask, whole statement" 3 $((repeat / 10)) \
	"$with user=analyst" \
	"SELECT above FROM dp_sparse_vector_ask($session, 'i > 3')" \
	"$with user=analyst" "SELECT dp_pg.charge('bench', 'bench', 0.001)"
if [[ charges =~ ${ONLY:-} ]]; then
	PGHOST=$DP_PG_WORK/with PGUSER=postgres \
		sh test/bench/charge.sh "$charge_seconds" "$charge_pairs"
	case $? in
		0) ;;
		1) slow=$((slow + 1)) ;;
		*) errors=$((errors + 1)) ;;
	esac
fi
if [[ smalldb =~ ${ONLY:-} ]]; then
	program=test/unit/bin/plain/bench_model_smalldb
	make -s -C test/unit "${program#test/unit/}" >/dev/null &&
		"$program" ${QUICK:-judge}
	case $? in
		0) ;;
		1) slow=$((slow + 1)) ;;
		*) errors=$((errors + 1)) ;;
	esac
fi

[ "$errors" -eq 0 ] || { echo "bench: $errors errors"; exit 1; }
if [ -n "${QUICK:-}" ]; then
	echo "bench: quick run, nothing judged"
elif [ "$slow" -gt 0 ]; then
	echo "bench: $slow above their limit"
	exit 1
else
	echo "bench: all within their limits"
fi
