# server.sh
#	  For scripts that test/sandbox.sh runs: builds the extension, makes a
#	  private installation of PostgreSQL with it, starts and stops servers.
#
# PostgreSQL finds its folders relative to its programs, so copies of the
# programs in $DP_PG_WORK/root, beside links to everything else, are an
# installation of their own: the system's one is only read, and any number of
# tests can run at once, with different versions of dp_pg.

: "${DP_PG_WORK:?run this through test/sandbox.sh}"

servers=()

# What a server's log says when one of its processes failed: an assertion, a
# sanitizer's finding, a signal, memory overwritten (grep -E).
server_findings='TRAP: |runtime error: |AddressSanitizer|by signal [0-9]'
server_findings+='|WARNING: +(problem in |detected write past)'
export DP_PG_FINDINGS=$server_findings

stop_servers()
{
	local data

	for data in "${servers[@]}"; do
		if [ -f "$data/postmaster.pid" ]; then
			pg_ctl -D "$data" -m immediate -w stop >/dev/null 2>&1
		fi
	done
	servers=()
}
trap stop_servers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Builds dp_pg and installs it privately; afterwards PATH and PG_CONFIG name
# the private programs, and DP_PG_SYSTEM_CONFIG is what PG_CONFIG was.  Prints
# nothing unless something is wrong.
build_and_install()
{
	local root=$DP_PG_WORK/root
	local log=$DP_PG_WORK/build.log
	local folder

	if ! make -s -j2 "$@" PG_CONFIG="$PG_CONFIG" >"$log" 2>&1; then
		cat "$log" >&2
		echo "dp_pg: the build failed" >&2
		return 1
	fi
	for folder in --bindir --pkglibdir --sharedir; do
		folder=$("$PG_CONFIG" $folder) || return 1
		mkdir -p "$root$folder"
		cp -as "$folder/." "$root$folder/" || return 1
	done
	folder=$("$PG_CONFIG" --bindir)
	cp -aL --remove-destination "$folder/." "$root$folder/" || return 1
	find "$root" \( -name 'dp_pg.so' -o -name 'dp_pg.control' \
		-o -name 'dp_pg--*.sql' -o -path '*/bitcode/dp_pg*' \) -type l -delete
	if ! make install "$@" DESTDIR="$root" PG_CONFIG="$PG_CONFIG" \
		>>"$log" 2>&1; then
		cat "$log" >&2
		echo "dp_pg: the private installation failed" >&2
		return 1
	fi
	# The private pg_config names the private folders, for everybody.
	export PATH=$root$folder:$PATH
	[ -x "$root$folder/pg_config" ] || cp "$PG_CONFIG" "$root$folder/" || return 1
	export DP_PG_SYSTEM_CONFIG=$PG_CONFIG
	export PG_CONFIG=$root$folder/pg_config
	copy_clusters "$root$folder"
}

# copy_clusters bindir: initdb runs once there, and what it made is copied when
# it is called with the arguments that PostgreSQL::Test gives it.  A program's
# second cluster is made by initdb: it must be another system.
copy_clusters()
{
	"$1/initdb" -D "$DP_PG_WORK/cluster" -A trust -N \
		>"$DP_PG_WORK/cluster.log" 2>&1 || {
		cat "$DP_PG_WORK/cluster.log" >&2
		return 1
	}
	mv "$1/initdb" "$1/initdb.real"
	cat >"$1/initdb" <<-EOT
		#!/bin/sh
		if [ "\$#" -eq 5 ] && [ "\$1 \$3 \$4 \$5" = "-D -A trust -N" ] &&
			[ "\$(ls -d "\${2%/*}"/../*_data/pgdata 2>/dev/null)" = "" ]; then
			cp -RPp "$DP_PG_WORK/cluster" "\$2"
		else
			exec "$1/initdb.real" "\$@"
		fi
	EOT
	chmod 755 "$1/initdb"
}

# prepare_tap name: the environment of programs that use PostgreSQL::Test.
prepare_tap()
{
	pgxs_test=$("$DP_PG_SYSTEM_CONFIG" --pkglibdir)/pgxs/src/test
	export PERL5LIB=$pgxs_test/perl${PERL5LIB:+:$PERL5LIB}
	export PG_REGRESS=$pgxs_test/regress/pg_regress
	export TESTDIR=$DP_PG_WORK/$1.tap TESTDATADIR=$DP_PG_WORK/$1.tap
	export TESTLOGDIR=$DP_PG_WORK/$1.tap/log
	mkdir -p "$TESTLOGDIR"
}

# start_server name [line of configuration ...]: a server of its own, reached
# through the socket folder $DP_PG_WORK/name and nothing else.
start_server()
{
	local name=$1
	local data=$DP_PG_WORK/$name/data
	local line

	shift
	mkdir -p "$DP_PG_WORK/$name"
	initdb -D "$data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 \
		--no-sync >"$DP_PG_WORK/$name/initdb.log" 2>&1 || {
		cat "$DP_PG_WORK/$name/initdb.log" >&2
		return 1
	}
	{
		cat test/dp_pg.conf
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$DP_PG_WORK/$name'"
		for line in "$@"; do
			echo "$line"
		done
	} >>"$data/postgresql.conf"
	servers+=("$data")
	pg_ctl -D "$data" -l "$DP_PG_WORK/$name/server.log" -w start \
		>/dev/null 2>&1 || {
		cat "$DP_PG_WORK/$name/server.log" >&2
		return 1
	}
}
