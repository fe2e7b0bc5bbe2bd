#!/bin/sh
# check.sh [test ...]
#	  Runs the tests of this folder, passes their TAP through and prints
#	  "# stat: N passed, M failed" last.  Root becomes "postgres".  A test that
#	  dies, or whose plan differs from its checks, is one more failure.
cd "$(dirname "$0")" || exit 2
PG_CONFIG=${PG_CONFIG:-pg_config}
library=$("$PG_CONFIG" --pkglibdir) || exit 2
PATH=$("$PG_CONFIG" --bindir):$PATH
PERL5LIB=$library/pgxs/src/test/perl${PERL5LIB:+:$PERL5LIB}
PG_REGRESS=$library/pgxs/src/test/regress/pg_regress
if [ ! -f "$("$PG_CONFIG" --sharedir)/extension/dp_pg.control" ]; then
	echo "Bail out!  dp_pg is not installed where $PG_CONFIG points"
	exit 2
fi

work=$(mktemp -d /tmp/dp_pg_stat.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
TESTDIR=$work TESTDATADIR=$work TESTLOGDIR=$work/log TMPDIR=$work
export PATH PERL5LIB PG_REGRESS TESTDIR TESTDATADIR TESTLOGDIR TMPDIR
mkdir "$work/log"
data=${DP_PG_DATA:-../../../shared/data}
if ls "$data"/*.csv >/dev/null 2>&1; then
	mkdir "$work/data"
	cp "$data"/*.csv "$work/data"
	DP_PG_DATA=$work/data
	export DP_PG_DATA
fi
as_user=
if [ "$(id -u)" -eq 0 ]; then
	chown -R postgres "$work"
	as_user="runuser -u postgres --"
fi

passed=0
failed=0
[ $# -gt 0 ] || set -- *.pl
for test in "$@"; do
	echo "# $test"
	start=$(date +%s)
	$as_user perl "$test" >"$work/out" 2>"$work/err"
	status=$?
	cat "$work/out"
	good=$(grep -c '^ok ' "$work/out")
	bad=$(grep -c '^not ok ' "$work/out")
	plan=$(sed -n 's/^1\.\.\([0-9]*\)\( # SKIP.*\)*$/\1/p' "$work/out")
	if [ $status -ne 0 ] || [ "${plan:-none}" != $((good + bad)) ]; then
		cut -c -500 "$work/err"
		tail -n 30 "$work/tmp_check/log/regress_log_${test%.pl}" |
			cut -c -500
		[ "$bad" -gt 0 ] || bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	echo "# $test: $good passed, $bad failed, $(($(date +%s) - start)) s"
done
echo "# stat: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
