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

# run name program [argument ...]: a test program in a folder of its own
run()
{
	export TESTDIR=$DP_PG_WORK/$1 TESTDATADIR=$DP_PG_WORK/$1
	export TESTLOGDIR=$TESTDIR/log
	mkdir -p "$TESTLOGDIR"
	shift
	perl "$@" >"$TESTDIR/said" 2>&1
}

git apply test/flakes/draws.patch || exit 1
build_and_install || exit 1
prepare_tap flakes
for choice in least greatest 1 2 3; do
	export DP_PG_CHOICE=$choice
	for suite in regress pgtap; do
		if run "$suite.$choice" "test/$suite.pl" sql; then
			echo "$suite passes when units choose: $choice"
		else
			failed=$((failed + 1))
			cat "$TESTDIR/said"
		fi
	done
done
unset DP_PG_CHOICE
# Lines for the log are sent to some sessions, too, so outputs differ here.
printf '%s\n' "log_statement = all" "log_line_prefix = '@%a@ '" >"$DP_PG_WORK/odds.conf"
run odds test/regress.pl sql --temp-config="$DP_PG_WORK/odds.conf"
perl test/flakes/odds.pl "$TESTDIR/sql/log/postmaster.log" || failed=$((failed + 1))
echo "$failed of 11 runs failed"
[ "$failed" -eq 0 ]
