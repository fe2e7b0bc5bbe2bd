#!/usr/bin/env bash
# coverage.sh [suite ...]
#	  Which test program reaches which line of src?  Builds dp_pg so that it
#	  counts (gcov), runs the programs of the day and then those of the night,
#	  but for shares of the day's seed, and prints coverage.pl's table.  A process
#	  that is killed counts nothing.  Called through test/sandbox.sh: make
#	  coverage.
set -u
. test/server.sh

export FUZZ_TODAY=none DP_PG_TEST_LINK=--coverage MAKEFLAGS='with_llvm=no'
export DP_PG_COVERAGE=$DP_PG_WORK/coverage
# Folders above the checkout that a counter's path has.
export GCOV_PREFIX_STRIP=$(($(tr -cd / <<<"$PWD" | wc -c)))
flags='-O1 --coverage -fprofile-update=atomic -Wno-error'
mkdir "$DP_PG_COVERAGE"
build_and_install "COPT=$flags" SHLIB_LINK='-lcrypto -pthread --coverage' || exit 1
for folder in unit stat; do
	make -s -j"$(nproc)" -C test/$folder CFLAGS="$flags" all \
		>"$DP_PG_WORK/build.$folder" 2>&1 || { cat "$DP_PG_WORK/build.$folder"; exit 1; }
done
prepare_tap coverage
for when in day night; do
	perl test/queue.pl $when "$@"
	mv "$DP_PG_COVERAGE" "$DP_PG_COVERAGE.$when"
	mkdir "$DP_PG_COVERAGE"
done
perl test/coverage/coverage.pl "$DP_PG_COVERAGE.day" "$DP_PG_COVERAGE.night"
