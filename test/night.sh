#!/usr/bin/env bash
# night.sh
#	  What takes too long for the day: the programs and shares that the table in
#	  test/README.md names for the night, the matrix, the suites on servers with
#	  assertions and sanitizers, known holes, choices and draws, and load.  Each
#	  is a target of the Makefile.  Writes and prints one page, night.md, with
#	  the last line of each and the seconds it took; what they said is in
#	  night.log.  The exit status is 0 when all passed.  "make night", or
#	  make night NIGHT="suites holes".
set -u
cd "$(dirname "$0")/.." || exit 2
unset MAKEFLAGS MAKELEVEL MFLAGS

[ $# -gt 0 ] || set -- suites matrix cassert holes flakes soak
failed=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

{
	echo "# Night of $(date -u +%F), commit $(git describe --always --dirty 2>/dev/null)"
	echo
	echo "| what | passed | s | last line |"
	echo "|---|---|---|---|"
} >night.md
: >night.log
for what in "$@"; do
	start=$SECONDS
	verdict=yes
	if [ "$what" = suites ]; then
		bash test/deps.sh && bash test/sandbox.sh test/run.sh night
	else
		make --no-print-directory "$what"
	fi 2>&1 | tee -a night.log >"$log"
	[ "${PIPESTATUS[0]}" -eq 0 ] || { verdict=NO; failed=$((failed + 1)); }
	said=$(grep -v '^make' "$log" | tail -n 1 | tr '|' '/')
	echo "| $what | $verdict | $((SECONDS - start)) | $said |" >>night.md
done
cat night.md
[ "$failed" -eq 0 ]
