#!/usr/bin/env bash
# synthesis.sh
#	  Compares dp_synthesize with plain Gaussian noise and with MWEM on census
#	  data and writes doc/synthesis.md to standard output.  Called through
#	  test/sandbox.sh by "make synthesis".  REPEAT is how often each is run.
set -u
exec 3>&1 1>&2
. test/server.sh

repeat=${REPEAT:-5}
if [ -z "${DP_PG_DATA:-}" ]; then
	echo "synthesis: no real data here: set DP_PG_DATA to their folder"
	exit 1
fi
echo "# building, starting a private server"
build_and_install || exit 1
start_server synthesis "jit = off" "fsync = off" "autovacuum = off" || exit 1
export PGHOST=$DP_PG_WORK/synthesis PGUSER=postgres PGDATABASE=postgres
echo "# comparing: $repeat runs of every method"
psql -XAtq -v repeat="$repeat" -v adult="$DP_PG_DATA/adult.csv" \
	-v out="$DP_PG_WORK/out" -f test/errors/synthesis.sql || exit 1

# The text between the tables names them: "@table 3".
sed "s/@repeat/$repeat/g" test/errors/synthesis.text | while IFS= read -r line
do
	case $line in
		"@table "*)
			psql -XAtq -c "SELECT * FROM shown(${line#@table })" || exit 1
			;;
		*) printf '%s\n' "$line" ;;
	esac
done >&3
