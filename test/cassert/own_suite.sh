#!/usr/bin/env bash
# own_suite.sh source
#	  PostgreSQL's own regression suite, from the source that PG_CONFIG's
#	  programs were built from, on a server with dp_pg preloaded and installed
#	  in template1.  Outputs may differ from those of PostgreSQL only as
#	  own_suite.MAJOR says: every test in the lines that stand there, no more
#	  and no fewer (compare.pl), or not at all.  Prints "N passed, N failed"
#	  last.  Called through test/sandbox.sh by test/cassert/cassert.sh.
set -u
. test/server.sh

regress=$1/src/test/regress
library=$("$PG_CONFIG" --bindir)/../regress
known=$PWD/test/cassert/own_suite.$("$PG_CONFIG" --version |
	sed 's/[^0-9]*\([0-9]*\).*/\1/')
out=$DP_PG_WORK/own_suite

build_and_install || { echo "0 passed, 1 failed"; exit 1; }
prepare_tap own_suite
mkdir -p "$out"
initdb -D "$out/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync \
	>"$out/initdb.log" 2>&1 || { cat "$out/initdb.log"; exit 1; }
cat >>"$out/data/postgresql.conf" <<EOT
shared_preload_libraries = 'dp_pg'
listen_addresses = ''
unix_socket_directories = '$out'
max_prepared_transactions = 2
max_worker_processes = 16
log_autovacuum_min_duration = 0
log_temp_files = 128kB
fsync = off
EOT
servers+=("$out/data")
pg_ctl -D "$out/data" -l "$out/server.log" -w start >/dev/null || {
	cat "$out/server.log"
	exit 1
}
export PGHOST=$out PGUSER=postgres
# As pg_regress makes it, but from template1.
psql -X -q -v ON_ERROR_STOP=1 -d template1 <<'EOT' || exit 1
CREATE EXTENSION dp_pg;
CREATE DATABASE regression TEMPLATE template1;
ALTER DATABASE regression SET lc_messages TO 'C';
ALTER DATABASE regression SET lc_monetary TO 'C';
ALTER DATABASE regression SET lc_numeric TO 'C';
ALTER DATABASE regression SET lc_time TO 'C';
ALTER DATABASE regression SET bytea_output TO 'hex';
ALTER DATABASE regression SET timezone_abbreviations TO 'Default';
EOT
(
	cd "$out" || exit 1
	"$PG_REGRESS" --inputdir="$regress" --outputdir="$out" --use-existing \
		--bindir="$(dirname "$(command -v postgres)")" --host="$out" \
		--dlpath="$library" --schedule="$regress/parallel_schedule"
) >"$out/said" 2>&1

crashes=$(grep -cE "$server_findings" "$out/server.log")
grep -A 40 -m 3 -E "$server_findings" "$out/server.log"
ran=$(grep -cE '^(test|    ) .* (ok|FAILED.*) +[0-9]+ ms' "$out/said")
[ "$ran" -gt 0 ] || cat "$out/said"
perl test/cassert/compare.pl "$known" "$out/regression.diffs" \
	>"$out/compared" || echo "0 1" >"$out/compared"
sed '$d' "$out/compared" | cut -c 1-200 | head -n 200
read -r differ failed < <(tail -n 1 "$out/compared")
# What failed without an output to compare.
bad=$(grep -cE '^(test|    ) .* FAILED.*' "$out/said")
[ "$bad" -le $((differ + failed)) ] || {
	grep -E '^(test|    ) .* FAILED' "$out/said"
	failed=$bad
}
failed=$((failed + crashes))
[ "$ran" -gt 100 ] || failed=$((failed + 1))
echo "# PostgreSQL's own suite: $ran tests, $differ of them differ as listed"
echo "$((ran - failed > 0 ? ran - failed : 0)) passed, $failed failed"
[ "$failed" -eq 0 ]
