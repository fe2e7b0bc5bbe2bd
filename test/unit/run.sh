#!/bin/sh
# run.sh program...
#	  Runs unit test programs, passes their TAP through and prints
#	  "# unit: N passed, M failed" last.  A program that dies, prints no plan
#	  or a plan that differs from its checks counts as one more failure.
passed=0
failed=0
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
for program in "$@"; do
	echo "# $program"
	start=$(date +%s)
	"$program" >"$out" 2>&1
	status=$?
	cat "$out"
	good=$(grep -c '^ok ' "$out")
	bad=$(grep -c '^not ok ' "$out")
	plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$out")
	if [ "${plan:-0}" -ne $((good + bad)) ] || [ "${plan:-0}" -eq 0 ] ||
		{ [ $status -ne 0 ] && [ "$bad" -eq 0 ]; }; then
		echo "# $program: exit status $status, plan ${plan:-none}"
		bad=$((bad + 1))
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	echo "# $program: $good passed, $bad failed," \
		"$(($(date +%s) - start)) s"
done
echo "# unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
