#!/usr/bin/env bash
# holes.sh [hole ...]
#	  Are the machines any good?  Puts holes that dp_pg once had back, one at a
#	  time, and has the machine that is there for it look until it finds it:
#	  prints hole, machine, how many queries it took and how long.  A hole is a
#	  patch, holes/NAME.patch; above the patch stand what it is, the machine, and
#	  how many queries it may take.  The exit status is 0 when all were found.
#	  FUZZ_SEED (1) says which queries.  Called through test/sandbox.sh: make
#	  holes, or make holes HOLES="statistics twins".
set -u
. test/server.sh

export MAKEFLAGS='-s with_llvm=no'	# bitcode is not needed here
seed=${FUZZ_SEED:-1}
missed=0

# Quick, since most of it is built.
build_again()
{
	make -j2 PG_CONFIG="$DP_PG_SYSTEM_CONFIG" &&
		make install DESTDIR="$DP_PG_WORK/root" \
			PG_CONFIG="$DP_PG_SYSTEM_CONFIG"
}

# What stands in the head of a patch: head_of file word
head_of()
{
	sed -n "s/^$2: //p" "$1"
}

look_for()
{
	local patch=test/fuzz/holes/$1.patch
	local log=$DP_PG_WORK/hole.$1
	local start=$SECONDS
	local machine queries number

	# a failed program leaves its cluster, beside which it makes no other
	prepare_tap "hole.$1"
	machine=$(head_of "$patch" Machine) && queries=$(head_of "$patch" Queries) &&
		git apply "$patch" && build_again >"$log.build" 2>&1 || {
		echo "$1: cannot be put back"
		cat "$log.build"
		return 1
	}
	env FUZZ_FINDINGS=1 FUZZ_SEED="$seed" \
		FUZZ_NEIGHBOURS="$queries" FUZZ_QUERIES="$queries" \
		FUZZ_GROUPS="$queries" FUZZ_BOUNDS="$queries" FUZZ_JOINS="$queries" FUZZ_PAIRS="$queries" \
		FUZZ_RELEASED="$queries" \
		perl "test/$machine" >"$log" 2>&1
	number=$(sed -nE 's/.*FUZZ_NUMBER=([0-9]+).*/\1/p' "$log" | head -n 1)
	git apply -R "$patch" || exit 2
	if [ -n "$number" ]; then
		printf '%-18s %-22s found by query %s, %s s\n' "$1" "$machine" \
			"$number" $((SECONDS - start))
	elif grep -q '^not ok' "$log"; then
		printf '%-18s %-22s found: %s, %s s\n' "$1" "$machine" \
			"$(grep -m 1 '^not ok' "$log")" $((SECONDS - start))
	else
		printf '%-18s %-22s NOT FOUND in %s queries, %s s\n' "$1" "$machine" \
			"$queries" $((SECONDS - start))
		tail -n 5 "$log"
		return 1
	fi
}

[ $# -gt 0 ] || set -- $(basename -s .patch test/fuzz/holes/*.patch)
build_and_install || exit 1
for hole in "$@"; do
	look_for "$hole" || missed=$((missed + 1))
done
echo "$(($# - missed)) of $# holes found"
[ "$missed" -eq 0 ]
