#!/usr/bin/env bash
# cassert.sh [--only variant] [suite ...]
#	  Runs the suites (default: regress isolation pgtap) against PostgreSQL
#	  built with assertions, and built with sanitizers, dp_pg with the same
#	  flags; then PostgreSQL's own suite with dp_pg in every database
#	  (own_suite.sh).  Prints a table and, as the last line, "N passed, N
#	  failed".  The builds are made once (build.sh): half an hour.
set -u
cd "$(dirname "$0")/../.." || exit 2
export PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
unset MAKEFLAGS MAKELEVEL MFLAGS	# of "make cassert" itself
major=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
. test/cassert/build.sh

suites=()
while [ $# -gt 0 ]; do
	case $1 in
		--only)
			shift
			variants=("${1:?which variant?}")
			;;
		*) suites+=("$1") ;;
	esac
	shift
done
[ ${#suites[@]} -gt 0 ] || suites=(regress isolation pgtap own)

log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
table=
passed=0
failed=0

# step variant what command ...: what the last line of the command counts
step()
{
	local start=$SECONDS
	local variant=$1
	local what=$2
	local good bad

	shift 2
	# Warnings are of the sanitizers' making; nothing is inlined, see build.sh.
	PG_CONFIG=$prefix/bin/pg_config DP_WERROR= MAKEFLAGS=" -- with_llvm=no" \
		"$@" >"$log" 2>&1
	good= bad=
	read -r good _ bad _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" |
		tail -n 1)
	good=${good:-0} bad=${bad:-1}
	[ "$bad" -eq 0 ] && [ "$good" -gt 0 ] || {
		cat "$log"
		[ "$bad" -gt 0 ] || bad=1
	}
	passed=$((passed + good))
	failed=$((failed + bad))
	table+=$(printf '%-9s %-24s %5s passed %4s failed %6s s' \
		"$variant" "$what" "$good" "$bad" $((SECONDS - start)))$'\n'
}

fetch_source "$major" || { echo "0 passed, 1 failed"; exit 1; }
for variant in "${variants[@]}"; do
	if ! build_variant "$variant"; then
		table+="$variant could not be built"$'\n'
		failed=$((failed + 1))
		continue
	fi
	ours=()
	own=
	for suite in "${suites[@]}"; do
		if [ "$suite" = own ]; then own=yes; else ours+=("$suite"); fi
	done
	if [ ${#ours[@]} -gt 0 ]; then
		echo "# $variant: ${ours[*]}"
		step "$variant" "${ours[*]}" \
			bash test/sandbox.sh test/run.sh day "${ours[@]}"
	fi
	if [ -n "$own" ]; then
		echo "# $variant: PostgreSQL's own suite"
		step "$variant" "PostgreSQL's own" \
			bash test/sandbox.sh test/cassert/own_suite.sh "$source"
	fi
done
echo
echo "PostgreSQL $version"
printf '%s' "$table"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
