#!/usr/bin/env bash
# errors.sh
#	  Measures the errors of every mechanism on real data and writes a tar of
#	  errors.md and its pictures to standard output.  Called through
#	  test/sandbox.sh; "make errors" unpacks it in doc/.  REPEAT is how often
#	  each value is released, a multiple of 50.
set -u
exec 3>&1 1>&2
. test/server.sh

repeat=${REPEAT:-400}
if [ -z "${DP_PG_DATA:-}" ]; then
	echo "errors: no real data here: set DP_PG_DATA to their folder"
	exit 1
fi
echo "# building, starting a private server"
build_and_install || exit 1
start_server errors "jit = off" "fsync = off" "autovacuum = off" || exit 1
export PGHOST=$DP_PG_WORK/errors PGUSER=postgres PGDATABASE=postgres
out=$DP_PG_WORK/out
mkdir "$out"
psql -XAtq -v adult="$DP_PG_DATA/adult.csv" \
	-v randhie="$DP_PG_DATA/randhie.csv" \
	-v flights="$DP_PG_DATA/nycflights.csv" \
	-f test/errors/setup.sql >/dev/null || exit 1
echo "# measuring: $repeat releases of every value"
start=$SECONDS
psql -XAtq -v repeat="$repeat" -f test/errors/measure.sql >/dev/null || exit 1
echo "# measured in $((SECONDS - start)) s"

# Everything known of one kind of measurement.
table()
{
	psql -XAtq -v id="$1" -f test/errors/table.sql || exit 1
}

# The text between the tables names them: "@table 3".
sed "s/@repeat/$repeat/g" test/errors/text.md | while IFS= read -r line; do
	case $line in
		"@table "*) table "${line#@table }" ;;
		*) printf '%s\n' "$line" ;;
	esac
done >"$out/errors.md"

psql -XAtq -F ' ' -d postgres -o "$DP_PG_WORK/plot.data" \
	-f test/errors/plot.sql || exit 1
(cd "$DP_PG_WORK" && gnuplot -e "out='$out'" dp_pg/test/errors/plot.gp) ||
	exit 1
tar -C "$out" -cf - . >&3
