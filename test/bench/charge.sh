#!/bin/sh
# Charges at 32 clients on one budget against the same charge written as an
# UPDATE of the budget row and an INSERT into the ledger in the session's own
# transaction.  Needs a server with dp_pg preloaded and a superuser; makes and
# drops the database dp_pg_bench.
#
#	test/bench/charge.sh [seconds [pairs]]		(PGHOST, PGPORT, PGUSER)
#
# Prints the median of the pairs' ratios; fails when it is below 4.
set -eu

seconds=${1:-5}
pairs=${2:-5}
clients=32
dir=$(mktemp -d)
db=dp_pg_bench
trap 'rm -rf "$dir"; dropdb --if-exists "$db" >/dev/null 2>&1 || true' EXIT

dropdb --if-exists "$db"
createdb "$db"
psql -Xq -v ON_ERROR_STOP=1 -d "$db" >/dev/null <<'EOT'
CREATE EXTENSION dp_pg;
DO $$ BEGIN
	CREATE ROLE dp_bench_analyst LOGIN;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
GRANT EXECUTE ON FUNCTION dp_pg.charge TO dp_bench_analyst;
SELECT dp_pg.open_dataset('bench');
SELECT dp_grant('dp_bench_analyst', 'bench', epsilon => 1e11,
	filter => 'basic');
CREATE TABLE own_budget (role name PRIMARY KEY, epsilon numeric,
	spent numeric) WITH (fillfactor = 50);
CREATE TABLE own_ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at timestamptz, role name, mechanism text, epsilon numeric);
INSERT INTO own_budget VALUES ('dp_bench_analyst', 1e11, 0);
GRANT ALL ON own_budget, own_ledger TO dp_bench_analyst;
EOT
cat > "$dir/charge.sql" <<'EOT'
SELECT dp_pg.charge('bench', 'bench', 0.1);
EOT
cat > "$dir/update.sql" <<'EOT'
WITH paid AS (UPDATE own_budget SET spent = spent + 0.1 WHERE role = 'dp_bench_analyst' AND spent + 0.1 <= epsilon RETURNING role) INSERT INTO own_ledger (at, role, mechanism, epsilon) SELECT now(), role, 'bench', 0.1 FROM paid;
EOT

run()
{
	pgbench -n -M prepared -U dp_bench_analyst -c "$clients" -j 2 \
		-T "$seconds" -f "$dir/$1.sql" "$db" 2>/dev/null |
		sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

run charge >/dev/null			# warm up
i=0
while [ "$i" -lt "$pairs" ]
do
	i=$((i + 1))
	if [ $((i % 2)) -eq 1 ]
	then
		charge=$(run charge); update=$(run update)
	else
		update=$(run update); charge=$(run charge)
	fi
	echo "$charge $update" | awk '{ printf "%.3f\n", $1 / $2 }' >> "$dir/ratios"
	echo "charge $charge/s, update $update/s"
done
dropdb "$db"
psql -Xq -d postgres -c 'DROP ROLE dp_bench_analyst'
sort -n "$dir/ratios" | awk -v clients="$clients" '
	{ r[NR] = $1 }
	END {
		m = NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2
		printf "charge at %d clients: %.2fx of UPDATE in the session (%s)\n",
			clients, m, (m >= 4 ? "ok, at least 4" : "below 4")
		exit (m < 4)
	}'
