# shellcheck shell=bash
# chroot.sh
#	  Debian systems in folders, for test/matrix/matrix.sh: made once by
#	  debootstrap, kept in DP_PG_CACHE (default /var/cache/dp_pg), about 2 GB
#	  each with what the suites need.  Needs root and a Debian host.
#
# A system NAME.base is as debootstrap left it; copies of it are worked in.

cache=${DP_PG_CACHE:-/var/cache/dp_pg}
testing=forky
mounted=()

# mirror debian, mirror debian-security: where this host's packages come from.
mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		2>/dev/null | grep "/$1/*\$" | head -n 1
}

unmount_all()
{
	local i

	for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
		umount "${mounted[i]}" 2>/dev/null || umount -l "${mounted[i]}"
	done
	mounted=()
}

# mount_into root: what programs in there expect.
mount_into()
{
	local root=$1

	mount -t proc proc "$root/proc" || return 1
	mounted+=("$root/proc")
	mount --bind /dev "$root/dev" || return 1
	mounted+=("$root/dev")
	mount -t tmpfs tmpfs "$root/dev/shm" || return 1
	mounted+=("$root/dev/shm")
	mount --bind /dev/pts "$root/dev/pts" || return 1
	mounted+=("$root/dev/pts")
}

# inside root command ...
inside()
{
	local root=$1

	shift
	chroot "$root" env -i HOME=/root LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# make_base suite: the pristine system, unless it is there.
make_base()
{
	local suite=$1
	local base=$cache/$suite.base
	local script=$suite
	local uri=${DP_PG_MIRROR:-$(mirror debian)}
	local security

	[ -d "$base" ] && return 0
	command -v debootstrap >/dev/null ||
		apt-get install -y -qq --no-install-recommends debootstrap \
			>/dev/null || return 1
	# A script's argument comes after the mirror's.
	uri=${uri:-$(sed -n 's/^DEF_MIRROR="\(.*\)"/\1/p' \
		"$(command -v debootstrap)")}
	# An older debootstrap does not know what comes after its own release.
	[ -e "/usr/share/debootstrap/scripts/$suite" ] || script=sid
	mkdir -p "$cache"
	rm -rf "$base.part"
	debootstrap --variant=minbase --include=ca-certificates "$suite" \
		"$base.part" "$uri" \
		"/usr/share/debootstrap/scripts/$script" \
		>"$cache/$suite.log" 2>&1 || {
		tail -n 20 "$cache/$suite.log" >&2
		return 1
	}
	# As the installer does: releases get what mends them.
	security=$(mirror debian-security)
	if [ "$suite" != "$testing" ] && [ -n "$security" ]; then
		echo "deb $security $suite-security main" \
			>"$base.part/etc/apt/sources.list.d/security.list"
	fi
	# Mirrors that keep a day's state do not sign it anew.
	echo 'Acquire::Check-Valid-Until "false";' \
		>"$base.part/etc/apt/apt.conf.d/90dp_pg"
	# No package starts a server.
	printf '#!/bin/sh\nexit 101\n' >"$base.part/usr/sbin/policy-rc.d"
	chmod 755 "$base.part/usr/sbin/policy-rc.d"
	mv "$base.part" "$base"
}

# open_copy suite name: a copy of the pristine system, unless it is there,
# mounted, its packages those of today; sets `root`.
open_copy()
{
	root=$cache/$1.$2
	make_base "$1" || return 1
	if [ ! -d "$root" ]; then
		rm -rf "$root.part"
		cp -a "$cache/$1.base" "$root.part" && mv "$root.part" "$root" ||
			return 1
	fi
	cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
	mount_into "$root" || return 1
	if [ -z "$(find "$root/etc/dp_pg_updated" -mtime -1 2>/dev/null)" ]; then
		inside "$root" apt-get update -qq &&
			inside "$root" apt-get dist-upgrade -y -qq >/dev/null 2>&1 &&
			touch "$root/etc/dp_pg_updated" ||
			echo "# $1: its packages could not be updated"
	fi
}

# close_copy: unmount it; with "forget" remove it.
close_copy()
{
	unmount_all
	if [ "${1:-}" = forget ] && ! grep -q " $root/" /proc/mounts; then
		rm -rf --one-file-system "$root"
	fi
}
