#!/usr/bin/env bash
# matrix.sh [--only debian-suite] [--no-packages] [suite ...]
#	  Runs the suites (default: all, and the demo) on every version of
#	  PostgreSQL that a Debian release has, in systems of their own, from a
#	  copy of this checkout without anything that was built; builds Debian
#	  packages there, and tries them in clean systems.  Prints a table and, as
#	  the last line, "N passed, N failed".  Needs root: make matrix.
#
# DP_PG_CACHE is where the systems are kept (default /var/cache/dp_pg).
set -u
cd "$(dirname "$0")/../.." || exit 2
checkout=$PWD
. test/matrix/chroot.sh

[ "$(id -u)" -eq 0 ] || { echo "make matrix: run as root" >&2; exit 2; }

# Debian's release, its PostgreSQL, and whether packages are built for it.
rows=("bookworm 15 package" "trixie 17 package" "forky 18 -")
packages=yes
suites=()
while [ $# -gt 0 ]; do
	case $1 in
		--only)
			shift
			for row in "${rows[@]}"; do
				[[ $row == "$1 "* ]] && only=("$row")
			done
			rows=("${only[@]:?no such release}")
			;;
		--no-packages) packages= ;;
		*) suites+=("$1") ;;
	esac
	shift
done
demo=
if [ ${#suites[@]} -eq 0 ]; then
	suites=(lint unit regress isolation pgtap tap stat jdbc node fuzz)
	demo=yes
fi

logs=$(mktemp -d) || exit 2
table=
passed=0
failed=0
finish()
{
	unmount_all
	rm -rf "$logs"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# record version what passed failed seconds [note]
record()
{
	passed=$((passed + $3))
	failed=$((failed + $4))
	table+=$(printf '%-4s %-10s %6s passed %4s failed %6s s%s' \
		"$1" "$2" "$3" "$4" "$5" "${6:+  $6}")$'\n'
}

# one version what command ...: a step that passes or fails as a whole
step()
{
	local version=$1
	local what=$2
	local start=$SECONDS

	shift 2
	if "$@" >"$logs/step" 2>&1; then
		record "$version" "$what" 1 0 $((SECONDS - start))
	else
		tail -n 60 "$logs/step" | cut -c 1-300
		record "$version" "$what" 0 1 $((SECONDS - start))
		return 1
	fi
}

# The checkout as a stranger gets it, with the real data beside it.
copy_checkout()
{
	rm -rf "$root/build"
	mkdir -p "$root/build/dp_pg"
	if [ -d .git ]; then
		git -c safe.directory="$checkout" ls-files -z -co --exclude-standard |
			while IFS= read -r -d '' file; do
				[ -e "$file" ] && printf '%s\0' "$file"
			done | tar --null -T - -cf -
	else
		tar -cf - --exclude='*.o' --exclude='*.so' --exclude='*.bc' \
			--exclude=./tmp_check --exclude=./tmp_check_iso .
	fi | tar -C "$root/build/dp_pg" --no-same-owner -xf - || return 1
	if [ -d ../shared ]; then
		cp -r ../shared "$root/build/shared"
		chmod -R u+w,a+rX "$root/build/shared"
	fi
}

# The lines that test/run.sh ends with become rows of the table.
run_suites()
{
	local version=$1
	local log=$logs/suites
	local suite good bad rest seen=" "

	# What README asks for, and nothing else.
	inside "$root" apt-get install -y -qq --no-install-recommends make git \
		>"$log" 2>&1
	if [ -n "$demo" ]; then
		inside "$root" make -C /build/dp_pg test >>"$log" 2>&1
	else
		# pg_regress comes with the server's headers.
		local deps=build-deps
		[[ " ${suites[*]} " =~ ^(\ (regress|isolation))+\ $ ]] || deps=deps
		inside "$root" make -C /build/dp_pg $deps >>"$log" 2>&1 &&
			inside "$root" bash -c "cd /build/dp_pg &&
				bash test/sandbox.sh test/run.sh day ${suites[*]}" >>"$log" 2>&1
	fi
	while read -r suite good _ bad _ rest; do
		seen+="$suite "
		record "$version" "$suite" "$good" "$bad" "${rest% s}"
		[ "$bad" -eq 0 ] || touch "$logs/bad"
	done < <(tail -n 12 "$log" |
		sed -n 's/^\([a-z]* *[0-9]* passed, [0-9]* failed\),.* \([0-9]* s\)$/\1 \2/p')
	for suite in "${suites[@]}"; do
		[[ $seen == *" $suite "* ]] && continue
		record "$version" "$suite" 0 1 0 "did not end"
		touch "$logs/bad"
	done
	[ ! -e "$logs/bad" ] || cat "$log"
	rm -f "$logs/bad"
}

run_version()
{
	local suite=$1
	local version=$2

	echo "# $suite: PostgreSQL $version"
	open_copy "$suite" test || {
		record "$version" system 0 1 0 "could not be made"
		close_copy
		return
	}
	copy_checkout
	run_suites "$version"
	if [ -n "$demo" ]; then
		step "$version" demo inside "$root" make -C /build/dp_pg demo
	fi
	close_copy
	if [ -n "$packages" ] && [ "$3" = package ]; then
		package_version "$suite" "$version"
	fi
}

# Build the package where only its build dependencies are, install and try it
# where only PostgreSQL is.
package_version()
{
	local suite=$1
	local version=$2
	local built

	open_copy "$suite" build && copy_checkout &&
		step "$version" package inside "$root" \
			bash /build/dp_pg/test/matrix/package.sh
	built=$?
	if [ $built -ne 0 ]; then
		close_copy
		return
	fi
	rm -rf "$logs/debs"
	mkdir "$logs/debs"
	cp "$root"/build/*.deb "$logs/debs/"
	close_copy
	open_copy "$suite" try && {
		mkdir -p "$root/debs"
		cp "$logs"/debs/*.deb test/matrix/try.sh test/matrix/try.sql README.md \
			"$root/debs/"
		step "$version" installed inside "$root" bash /debs/try.sh
	}
	close_copy forget
}

for row in "${rows[@]}"; do
	# shellcheck disable=SC2086
	run_version $row
done
echo
printf '%s' "$table"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
