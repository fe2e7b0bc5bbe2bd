#!/usr/bin/env bash
# run.sh day|night [suite ...]
#	  Builds dp_pg with warnings as errors, installs it privately, and runs the
#	  programs of the suites (test/queue.pl).  Prints a line of each and, as the
#	  very last line, "N passed, N failed"; the exit status is 0 when nothing
#	  failed.  Called through test/sandbox.sh.
set -u
. test/server.sh

when=$1
shift

# By day without bitcode, which only PostgreSQL's compiler of plans inlines, and
# without what a debugger reads, a sixth of the time.
flags=()
flavour=plain
[ "$when" = day ] && flags=(with_llvm=no COPT=-g0) flavour=asan

echo "# building and installing privately"
build_and_install "DP_WERROR=${DP_WERROR--Werror}" "${flags[@]}" || {
	echo "0 passed, 1 failed"
	exit 1
}
for suite in unit stat; do
	[[ $# -eq 0 || " $* " == *" $suite "* ]] || continue
	target=all
	[ $suite = unit ] && target=$flavour
	if ! make -s -j"$(nproc)" -C test/$suite $target \
		>"$DP_PG_WORK/build.$suite" 2>&1; then
		cat "$DP_PG_WORK/build.$suite"
		echo "0 passed, 1 failed"
		exit 1
	fi
done
echo "# built after $SECONDS s"
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
prepare_tap run
perl test/queue.pl "$when" "$@" &
queue=$!
trap 'kill "$queue"; exit 143' TERM
wait "$queue"
