#!/usr/bin/env bash
# run.sh suite ...
#	  Builds dp_pg with warnings as errors, installs it privately, runs the
#	  suites, at most two at a time, and prints what each of them says.  Per
#	  suite a count, and as the very last line "N passed, N failed"; the exit
#	  status is 0 when nothing failed.  Called through test/sandbox.sh.
set -u
. test/server.sh

# A suite prints what it likes and ends by writing "passed failed skipped" to
# $DP_PG_WORK/count.SUITE; without that, or with nothing passed, it failed,
# except a suite that has no test, which says "none".

count()
{
	echo "$2 $3 $4" >"$DP_PG_WORK/count.$1"
}

no_tests()
{
	echo none >"$DP_PG_WORK/count.$1"
}

# run_tap suite [option of tap.pl ...] -- file ...
run_tap()
{
	local suite=$1

	shift
	perl test/tap.pl "$DP_PG_WORK/count.$suite" "$@"
}

have_files()
{
	compgen -G "$1" >/dev/null
}

suite_lint()
{
	run_tap lint -- test/lint/*.pl
}

suite_unit()
{
	local good bad

	have_files 'test/unit/test_*.c' || { no_tests unit; return; }
	make -s -C test/unit check 2>&1 | tee "$DP_PG_WORK/unit.log"
	good=$(grep -c '^ok ' "$DP_PG_WORK/unit.log")
	bad=$(sed -n 's/^# unit: [0-9]* passed, \([0-9]*\) failed$/\1/p' \
		"$DP_PG_WORK/unit.log")
	count unit "$good" "${bad:-1}" 0
}

# pg_regress looks for expected files in its output directory first.
run_regress()
{
	local suite=$1
	local program=$2
	local kind=$3
	local out=$DP_PG_WORK/$suite
	local tests=()
	local file
	local missing=0
	local good bad status

	for file in test/$kind/*."${kind%s}"; do
		[ "$kind" = sql ] && file=${file%.sql}
		file=${file%.spec}
		file=${file##*/}
		# Without expected output pg_regress would end there and then.
		if [ -f "expected/$file.out" ]; then
			tests+=("$file")
		else
			echo "test $file: expected/$file.out is missing"
			missing=$((missing + 1))
		fi
	done
	if [ ${#tests[@]} -eq 0 ]; then
		count "$suite" 0 "$missing" 0
		return
	fi
	mkdir -p "$out"
	ln -s "$PWD/expected" "$out/expected"
	"$program" --inputdir="$PWD/test" --outputdir="$out" \
		--bindir="$(dirname "$(command -v postgres)")" \
		--temp-instance="$out/instance" --temp-config="$PWD/test/dp_pg.conf" \
		--dlpath="$("$PG_CONFIG" --pkglibdir)" --dbname="$suite" \
		"${tests[@]}" 2>&1 | tee "$out.log"
	status=${PIPESTATUS[0]}
	# The second forms are those of PostgreSQL 16 and later.
	good=$(grep -cE '^((test|     ).* ok|ok [0-9]+ .*) +[0-9]+ ms' "$out.log")
	bad=$(grep -cE '^((test|     ).* FAILED .*|not ok [0-9]+ .*) +[0-9]+ ms' \
		"$out.log")
	if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
		tail -n 30 "$out/log/initdb.log" "$out/log/postmaster.log" \
			2>/dev/null
	fi
	[ -f "$out/regression.diffs" ] && cat "$out/regression.diffs"
	if [ $((good + bad)) -lt ${#tests[@]} ]; then
		echo "$suite: ran $((good + bad)) of ${#tests[@]} tests"
		bad=$((${#tests[@]} - good))
	fi
	if grep -A 40 -m 3 -E "$server_findings" "$out/log/postmaster.log"; then
		bad=$((bad + 1))
	fi
	count "$suite" "$good" $((bad + missing)) 0
}

suite_regress()
{
	have_files 'test/sql/*.sql' || { no_tests regress; return; }
	run_regress regress "$PG_REGRESS" sql
}

suite_isolation()
{
	have_files 'test/specs/*.spec' || { no_tests isolation; return; }
	run_regress isolation "$pgxs_test/isolation/pg_isolation_regress" specs
}

# Includes the part of lint that needs a database.
suite_pgtap()
{
	shopt -s nullglob
	start_server pgtap || return
	export PGHOST=$DP_PG_WORK/pgtap PGUSER=postgres PGDATABASE=postgres
	psql -qX -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION dp_pg' \
		-c 'CREATE EXTENSION pgtap' || return
	run_tap pgtap --pgtap -- test/lint/*.sql test/pgtap/*.sql
}

suite_tap()
{
	have_files 'test/t/*.pl' || { no_tests tap; return; }
	run_tap tap -- test/t/*.pl
}

# Statistics on released values: Perl programs that print TAP.
suite_stat()
{
	have_files 'test/stat/*.pl' || { no_tests stat; return; }
	run_tap stat -- test/stat/*.pl
}

# Random queries; FUZZ_SEED, FUZZ_QUERIES and FUZZ_NUMBER say which.
suite_fuzz()
{
	run_tap fuzz -- test/fuzz/*.pl
}

suite_jdbc()
{
	run_tap jdbc -- test/jdbc/*.pl
}

suite_node()
{
	run_tap node -- test/node/*.pl
}

run_suite()
{
	local suite=$1
	local start=$SECONDS

	trap stop_servers EXIT
	trap 'exit 143' TERM
	prepare_tap "$suite"
	"suite_$suite" >"$DP_PG_WORK/log.$suite" 2>&1
	echo $((SECONDS - start)) >"$DP_PG_WORK/time.$suite"
	echo "# $suite: done after $((SECONDS - start)) s"
}

# Suites of one lane run one after the other.
run_lane()
{
	local suite

	for suite in "$@"; do
		run_suite "$suite" &
		wait $!
	done
}

echo "# building and installing privately"
build_and_install "DP_WERROR=${DP_WERROR--Werror}" || {
	echo "0 passed, 1 failed"
	exit 1
}
if [ -z "${DP_PG_DATA:-}" ]; then
	echo "# DP_PG_DATA: no real data here; tests that need it say so"
else
	echo "# DP_PG_DATA: real data found"
fi

if [ -z "${DP_PG_CORPUS:-}" ]; then
	echo "# DP_PG_CORPUS: no corpus of queries here; its test says so"
else
	echo "# DP_PG_CORPUS: corpus of queries found"
fi

first=()
second=()
for suite in "$@"; do
	case $suite in
		unit | lint | stat) first+=("$suite") ;;
		*) second+=("$suite") ;;
	esac
done
run_lane "${first[@]}" &
lane=$!
run_lane "${second[@]}" &
wait "$lane" $!

passed=0
failed=0
summary=
for suite in "$@"; do
	echo
	echo "== $suite"
	cat "$DP_PG_WORK/log.$suite"
	if ! read -r good bad skipped \
		2>/dev/null <"$DP_PG_WORK/count.$suite"; then
		good=0 bad=1 skipped=0
		line="died before it counted"
	elif [ "$good" = none ]; then
		good=0 bad=0 skipped=0
		line="no tests"
	else
		[ $((good + bad)) -eq 0 ] && bad=1
		line="$good passed, $bad failed"
		[ "$skipped" -eq 0 ] || line="$line, $skipped SKIPPED"
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	summary+="$(printf '%-10s %s, %s s' "$suite" "$line" \
		"$(cat "$DP_PG_WORK/time.$suite" 2>/dev/null)")"$'\n'
done
echo
printf '%s' "$summary"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
