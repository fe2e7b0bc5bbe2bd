#!/usr/bin/env bash
# soak.sh
#	  Load for a long time: SOAK_CLIENTS clients (200) ask for SOAK_SECONDS
#	  seconds (600), then one session asks SOAK_QUERIES private queries
#	  (100,000).  Prints throughput, latencies, and what memory the ledger's
#	  worker, the readers and the sessions have to themselves, after a tenth of
#	  the time and at the end; fails when any of it has grown by more than
#	  SOAK_GROWTH kB (4096), when a statement failed, or when the ledger does
#	  not hold what clients were answered.  Called through test/sandbox.sh.
set -u
. test/server.sh

clients=${SOAK_CLIENTS:-200}
seconds=${SOAK_SECONDS:-600}
queries=${SOAK_QUERIES:-100000}
growth=${SOAK_GROWTH:-4096}

echo "# building, starting a server"
build_and_install || exit 1
start_server soak "max_connections = $((clients + 20))" "dp_pg.readers = 12" \
	"max_wal_size = 4GB" "shared_buffers = 256MB" "autovacuum = on" \
	"statement_timeout = 0" || exit 1
export PGHOST=$DP_PG_WORK/soak PGDATABASE=postgres
psql -X -q -v ON_ERROR_STOP=1 -U postgres <<'EOT' >/dev/null || exit 1
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE analyst LOGIN;
ALTER ROLE analyst SET client_min_messages = error;
GRANT CREATE ON SCHEMA public TO owner;
SET ROLE owner;
CREATE TABLE person (id int PRIMARY KEY, k int NOT NULL, i int);
INSERT INTO person SELECT i, i % 5, i % 100 FROM generate_series(1, 100) AS i;
SELECT dp_protect('person', dataset => 'hospital');
SELECT dp_declare('person', 'k', lower => 0, upper => 4);
SELECT dp_grant('analyst', dataset => 'hospital', epsilon => 1e9,
	filter => 'basic');
EOT

cat >"$DP_PG_WORK/mix.sql" <<'EOT'
\set kind random(1, 10)
\if :kind < 6
SELECT dp_count(*) FROM person;
\elif :kind < 8
SELECT k, dp_count(*) FROM person GROUP BY k;
\elif :kind < 9
SELECT dp_sum(i, 0, 100) FROM person WHERE k = :kind % 5;
\else
SELECT dp_median(i, 0, 100) FROM person;
\endif
EOT

charges()
{
	psql -X -At -U postgres -c "SELECT count(*) FROM dp_pg.ledger"
}

# Most memory that a process of a kind has to itself, in kB: "kind kB".
memory()
{
	psql -X -At -F ' ' -U postgres -c "
		SELECT pid, CASE WHEN application_name ~ '^dp_pg'
			THEN replace(application_name, ' ', '_') ELSE 'session' END
		FROM pg_stat_activity WHERE application_name ~ '^dp_pg' OR
			usename = 'analyst'" | while read -r pid kind; do
		awk -v kind="$kind" '/^(RssAnon):/ { print kind, $2 }' \
			"/proc/$pid/status" 2>/dev/null
	done | sort -k1,1 -k2,2n | awk '{ most[$1] = $2 }
		END { for (kind in most) print kind, most[kind] }' | sort
}

bad=0

# judge what before-file after-file
judge()
{
	local kind before after

	while read -r kind after; do
		before=$(awk -v kind="$kind" '$1 == kind { print $2 }' "$2")
		[ -n "$before" ] || continue
		printf '%-14s %-28s %8d kB, at the end %8d kB\n' "$kind" "$1" \
			"$before" "$after"
		if [ $((after - before)) -gt "$growth" ]; then
			echo "soak: $kind has grown"
			bad=1
		fi
	done <"$3"
}

echo "# $clients clients, $seconds s; $(nproc) processors"
before=$(charges)
cd "$DP_PG_WORK" || exit 1
pgbench -n -U analyst -c "$clients" -j 2 -T "$seconds" -M prepared \
	-f mix.sql -l --log-prefix="$DP_PG_WORK/latency" --sampling-rate=0.2 \
	>pgbench.log 2>&1 &
bench=$!
sleep $((seconds / 10 + 1))
memory >early
while kill -0 $bench 2>/dev/null; do
	memory >now
	[ -s now ] && grep -q session now && mv now late
	sleep 1
done
wait $bench || bad=1
grep -E 'processed|failed|tps|average' pgbench.log
answers=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' pgbench.log)
charged=$(($(charges) - before))
cut -d ' ' -f 3 latency.* | sort -n >sorted
awk '{ us[NR] = $1 } END { if (NR == 0) exit 1
	printf "latency: median %.1f ms, p99 %.1f ms, most %.1f ms\n",
	us[int(NR / 2) + 1] / 1000, us[int(NR * .99) + 1] / 1000, us[NR] / 1000 }' \
	sorted || bad=1
echo "answers ${answers:-0}, charges $charged"
[ "${answers:-0}" -gt 0 ] && [ "$charged" = "$answers" ] || {
	echo "soak: answers and charges differ"
	bad=1
}
judge "after a tenth" early late

echo "# one session, $queries queries"
{
	for ((i = 0; i < queries; i++)); do
		echo "SELECT dp_count(*) FROM person WHERE i > $((i % 100));"
	done
	echo "SELECT pg_sleep(600);"
} >one.sql
before=$(charges)
start=$SECONDS
psql -X -At -U analyst -f one.sql >one.out 2>one.err &
session=$!
while [ $(($(charges) - before)) -lt $((queries / 10)) ] &&
	kill -0 $session 2>/dev/null; do
	sleep .2
done
memory >early
while [ $(($(charges) - before)) -lt "$queries" ] &&
	kill -0 $session 2>/dev/null; do
	sleep .2
done
sleep 1
memory >late
echo "$(($(charges) - before)) charges in $((SECONDS - start)) s"
[ $(($(charges) - before)) -eq "$queries" ] && [ ! -s one.err ] || {
	head -n 5 one.err
	echo "soak: the session did not get all answers"
	bad=1
}
psql -X -At -U postgres -c "SELECT pg_terminate_backend(pid)
	FROM pg_stat_activity WHERE usename = 'analyst'" >/dev/null
wait $session 2>/dev/null
judge "after a tenth" early late
[ $bad -eq 0 ] && echo "soak: memory is flat, answers and ledger agree"
exit $bad
