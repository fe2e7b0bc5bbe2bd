#!/usr/bin/env bash
# package.sh
#	  Inside a Debian system that test/matrix/matrix.sh made: installs what
#	  debian/control asks for, builds the packages of /build/dp_pg into /build,
#	  and runs debian/tests on them.
set -eu
cd /build/dp_pg
apt-get update -qq
apt-get install -y -qq --no-install-recommends dpkg-dev devscripts equivs \
	>/dev/null
mk-build-deps -i -r -t 'apt-get -y -qq --no-install-recommends' debian/control \
	>/dev/null
rm -f /build/*.deb ./*.buildinfo ./*.changes
dpkg-buildpackage -us -uc -b
apt-get install -y -qq --no-install-recommends /build/postgresql-*-dp-pg_*.deb
bash debian/tests/installcheck
