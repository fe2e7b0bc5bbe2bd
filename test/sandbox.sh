#!/usr/bin/env bash
# sandbox.sh script [argument ...]
#	  Runs a bash script of this checkout in a copy of the checkout, in a
#	  temporary folder, as a user who may run a server: the caller, or
#	  "postgres" when the caller is root (initdb refuses root).
#
# The script finds, beside what test/server.sh gives it,
#	DP_PG_WORK	the temporary folder, removed at the end
#	DP_PG_DATA	a readable copy of the real data, unset when there is none
#	DP_PG_CORPUS	the same of queries that others wrote
#	DP_PG_OWNER	"root" when the caller was root
# The checkout itself is only read.
set -u

checkout=$(cd "$(dirname "$0")/.." && pwd) || exit 2
script=$1
shift

work=$(mktemp -d /tmp/dp_pg.XXXXXX) || exit 2
child=
cleanup()
{
	local pidfile

	trap '' INT TERM
	if [ -n "$child" ]; then
		kill -TERM -- "-$child" 2>/dev/null
		wait "$child" 2>/dev/null
		kill -KILL -- "-$child" 2>/dev/null
	fi
	# Servers whose script was killed before it could stop them.
	find "$work" -name postmaster.pid 2>/dev/null |
		while read -r pidfile; do
			kill -QUIT "$(head -n 1 "$pidfile")" 2>/dev/null && sleep 1
		done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$work"

mkdir -p "$work/dp_pg" "$work/home" "$work/tmp"
tar -C "$checkout" -cf - --exclude=./.git --exclude='*.o' --exclude='*.so' \
	--exclude='*.bc' --exclude=./test/unit/bin --exclude=./test/stat/bin --exclude=./tmp_check \
	--exclude=./tmp_check_iso --exclude='./night.*' --exclude='./sql/dp_pg--*' . |
	tar -C "$work/dp_pg" --no-same-owner --no-same-permissions -xf - || exit 2

data=${DP_PG_DATA:-$checkout/../shared/data}
unset DP_PG_DATA
if ls "$data"/*.csv >/dev/null 2>&1; then
	mkdir "$work/data"
	cp "$data"/* "$work/data/" || exit 2
	export DP_PG_DATA=$work/data
fi
corpus=${DP_PG_CORPUS:-$checkout/../shared/corpus}
unset DP_PG_CORPUS
if [ -r "$corpus/peer.py" ]; then
	cp -r "$corpus" "$work/corpus" && chmod -R u+rwX "$work/corpus" || exit 2
	export DP_PG_CORPUS=$work/corpus
fi
if [ -n "${DP_PG_FETCH:-}" ] && [ -z "${DP_PG_DATA:-}" ]; then
	bash "$checkout/$DP_PG_FETCH" "$work"
fi

# Whatever the caller speaks, and where nobody set anything (initdb would make
# databases of SQL_ASCII).
unset LC_ALL LC_CTYPE LC_COLLATE LC_NUMERIC LC_MONETARY LC_TIME LC_MESSAGES
unset LANGUAGE
export LANG=C.UTF-8
export DP_PG_WORK=$work HOME=$work/home TMPDIR=$work/tmp
export PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
user=()
if [ "$(id -u)" -eq 0 ]; then
	chown -R postgres: "$work" || exit 2
	user=(runuser -u postgres --)
fi
cd "$work/dp_pg" || exit 2
# A process group of its own, in the background, so that a signal reaches this
# shell at once and cleanup() reaches everything that the script started.
set -m
"${user[@]}" bash "$script" "$@" </dev/null &
child=$!
wait "$child"
status=$?
child=
exit $status
