#!/usr/bin/env bash
# try.sh
#	  Inside a clean Debian system, with the packages beside this script:
#	  installs PostgreSQL and them, and runs README's ten lines on a cluster
#	  made the Debian way.
set -eu
cd "$(dirname "$0")"
apt-get update -qq
package=$(ls ./postgresql-*-dp-pg_*.deb)
version=$(sed 's/.*postgresql-\([0-9]*\)-.*/\1/' <<<"$package")
# Recommends and all, as people install.
apt-get install -y -qq "$package" >/dev/null
pg_lsclusters | grep -q "^$version  *main" || pg_createcluster "$version" main
echo "shared_preload_libraries = 'dp_pg'" \
	>>"/etc/postgresql/$version/main/postgresql.conf"
pg_ctlcluster "$version" main start
trap 'pg_ctlcluster "$version" main stop' EXIT

# The first block of SQL after "Ten lines", as it stands there.
awk '/^## Ten lines/ { t = 1 } t && /^```$/ && s { exit }
	s { print } t && /^```sql$/ { s = 1 }' README.md >ten.sql
[ "$(grep -c . ten.sql)" -ge 10 ]
chmod 755 . && chmod 644 ten.sql try.sql
runuser -u postgres -- psql -X -v ON_ERROR_STOP=1 -f "$PWD/ten.sql" \
	-f "$PWD/try.sql"
