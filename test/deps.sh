#!/usr/bin/env bash
# deps.sh
#	  Installs the Debian packages that building, testing, demo and bench
#	  need, those only that are missing.  Needs root or sudo when any is.
set -u

packages=(
	# building
	gcc make libc6-dev libssl-dev postgresql-15 postgresql-server-dev-15
	# tests
	perl binutils libipc-run-perl postgresql-15-pgtap
	libtap-parser-sourcehandler-pgtap-perl
	default-jdk-headless libpostgresql-jdbc-java clang-format
	# benchmarks
	libpq-dev
	# pictures of errors
	gnuplot-nox
)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "deps: not a Debian system; these packages, or what they are called" \
		"here, must be installed: ${packages[*]}" >&2
	exit 0
fi

missing=()
for package in "${packages[@]}"; do
	state=$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null)
	[ "${state:0:2}" = ii ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "deps: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: run as root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq --no-install-recommends)
"${as_root[@]}" apt-get update -qq || exit 1
"${install[@]}" "${missing[@]}" >/tmp/dp_pg_deps.$$ 2>&1
status=$?
[ $status -eq 0 ] || cat /tmp/dp_pg_deps.$$ >&2
rm -f /tmp/dp_pg_deps.$$
exit $status
