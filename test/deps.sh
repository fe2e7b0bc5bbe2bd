#!/usr/bin/env bash
# deps.sh [--build] [package ...]
#	  Installs the Debian packages that building, testing, demo and bench
#	  need, and those named, those only that are missing; with --build those
#	  only that building and a server need.  Needs root or sudo when any is
#	  missing.  PostgreSQL is of the version of pg_config, else of the
#	  distribution.
set -u

build_only=
if [ "${1:-}" = --build ]; then
	build_only=1
	shift
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

# Major version of PostgreSQL: what is here, else what Debian would install.
version_here()
{
	"${PG_CONFIG:-pg_config}" --version 2>/dev/null |
		sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'
}

version_of_debian()
{
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p'
}

have_apt=1
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	have_apt=
fi
version=$(version_here)
if [ -z "$version" ] && [ -n "$have_apt" ]; then
	version=$(version_of_debian)
	if [ -z "$version" ]; then
		"${as_root[@]}" apt-get update -qq || exit 1
		version=$(version_of_debian)
	fi
fi
version=${version:-15}

beside=(pgaudit pg-qualstats pg-stat-kcache pg-wait-sampling set-user hypopg
	cron partman pglogical plpgsql-check plprofiler pgextwlist powa)

# building; the server's headers name those of ICU
packages=(
	gcc make libc6-dev libssl-dev libicu-dev
	"postgresql-$version" "postgresql-server-dev-$version"
	"$@"
)
[ -n "$build_only" ] || packages+=(
	# tests
	perl binutils libipc-run-perl "postgresql-$version-pgtap"
	default-jdk-headless libpostgresql-jdbc-java
	python3-psycopg2 python3-psycopg python3-pyodbc
	pgbouncer
	# extensions beside which dp_pg is tried
	"${beside[@]/#/postgresql-$version-}"
	odbc-postgresql unixodbc
	chromium
	# benchmarks
	libpq-dev
	# pictures of errors
	gnuplot-nox
)
# node's packages are installed by npm; elsewhere than in Debian's packages it
# comes with node
if [ -z "$build_only" ]; then
	command -v node >/dev/null || packages+=(nodejs)
	command -v npm >/dev/null || packages+=(npm)
fi

if [ -z "$have_apt" ]; then
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
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
	echo "deps: run as root: apt-get install ${missing[*]}" >&2
	exit 1
fi
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq --no-install-recommends)
"${as_root[@]}" apt-get update -qq || exit 1
# Not every release has every extension for its PostgreSQL.
for package in "${beside[@]/#/postgresql-$version-}"; do
	apt-cache show "$package" >/dev/null 2>&1 && continue
	for i in "${!missing[@]}"; do
		[ "${missing[i]}" != "$package" ] || unset "missing[i]"
	done
done
[ ${#missing[@]} -eq 0 ] && exit 0
"${install[@]}" "${missing[@]}" >/tmp/dp_pg_deps.$$ 2>&1
status=$?
[ $status -eq 0 ] || cat /tmp/dp_pg_deps.$$ >&2
rm -f /tmp/dp_pg_deps.$$
exit $status
