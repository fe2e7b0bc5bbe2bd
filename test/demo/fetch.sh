#!/usr/bin/env bash
# fetch.sh folder
#	  Puts folder/randhie.csv there, out of Debian's package
#	  python3-statsmodels, which is unpacked and not installed.  Without
#	  network or apt nothing is put there.
set -u
folder=$1
temp=$(mktemp -d) || exit 1
trap 'rm -rf "$temp"' EXIT
cd "$temp" || exit 1
chmod 755 "$temp"

download()
{
	apt-get download -qq python3-statsmodels >/dev/null 2>&1 &&
		ls ./*.deb >/dev/null 2>&1
}

command -v apt-get >/dev/null || exit 0
if ! download; then
	as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
	"${as_root[@]}" apt-get update -qq >/dev/null 2>&1
	download || exit 0
fi
dpkg-deb --fsys-tarfile ./*.deb | tar -xf - --wildcards '*/randhie.csv' &&
	find . -name randhie.csv -exec cp {} "$folder/randhie.csv" \;
