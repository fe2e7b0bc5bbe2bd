#!/usr/bin/env bash
# flakes.sh
#	  Can a test turn red by chance?  On a build with draws.patch, in which
#	  DP_PG_CHOICE says how a unit with more rows, groups or values than count
#	  chooses among them, regress and pgtap must pass whatever the choice.  Then
#	  regress runs once more, and odds.pl prints the statements in which a unit
#	  chose, and those whose noise is seen now and then: what they print must be
#	  the same nevertheless, which a person has to look at.  Called through
#	  test/sandbox.sh: make flakes.
set -u
. test/server.sh

export MAKEFLAGS='-s with_llvm=no'	# bitcode is not needed here
failed=0

# run_regress name [line of configuration ...]: pg_regress on a server of its own
run_regress()
{
	local out=$DP_PG_WORK/$1
	local tests=()
	local file

	shift
	for file in test/sql/*.sql; do
		file=${file##*/}
		tests+=("${file%.sql}")
	done
	mkdir -p "$out"
	ln -s "$PWD/expected" "$out/expected"
	{
		cat test/dp_pg.conf
		printf '%s\n' "$@"
	} >"$out/conf"
	"$PG_REGRESS" --inputdir="$PWD/test" --outputdir="$out" \
		--bindir="$(dirname "$(command -v postgres)")" \
		--temp-instance="$out/instance" --temp-config="$out/conf" \
		--dlpath="$("$PG_CONFIG" --pkglibdir)" --dbname=regress \
		"${tests[@]}" >"$out.log" 2>&1
}

run_pgtap()
{
	start_server "pgtap_$1" || return
	export PGHOST=$DP_PG_WORK/pgtap_$1 PGUSER=postgres PGDATABASE=postgres
	psql -qX -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION dp_pg' \
		-c 'CREATE EXTENSION pgtap' &&
		perl test/tap.pl "$DP_PG_WORK/count.pgtap" --pgtap -- test/pgtap/*.sql \
			>"$DP_PG_WORK/pgtap_$1.log" 2>&1
}

git apply test/flakes/draws.patch || exit 1
build_and_install || exit 1
prepare_tap flakes
for choice in least greatest 1 2 3; do
	export DP_PG_CHOICE=$choice
	if run_regress "$choice" 'fsync = off'; then
		echo "regress passes when units choose: $choice"
	else
		failed=$((failed + 1))
		cat "$DP_PG_WORK/$choice/regression.diffs" || cat "$DP_PG_WORK/$choice.log"
	fi
	if run_pgtap "$choice"; then
		echo "pgtap passes when units choose: $choice"
	else
		failed=$((failed + 1))
		cat "$DP_PG_WORK/pgtap_$choice.log"
	fi
	stop_servers
done
unset DP_PG_CHOICE
# Lines for the log are sent to some sessions, too, so outputs differ here.
run_regress odds 'fsync = off' 'log_statement = all' "log_line_prefix = '@%a@ '"
perl test/flakes/odds.pl "$DP_PG_WORK/odds/log/postmaster.log" || failed=$((failed + 1))
echo "$failed of 11 runs failed"
[ "$failed" -eq 0 ]
