#!/usr/bin/env bash
# demo.sh
#	  A guided run of dp_pg on the RAND health data: a private server in a
#	  temporary folder, an owner, an analyst.  Fails when anything goes
#	  otherwise than the demo says.  Called through test/sandbox.sh.
set -u
. test/server.sh

echo "Building dp_pg, starting a private server in a temporary folder ..."
# Code for the just-in-time compiler would take as long again.
build_and_install with_llvm=no || exit 1
start_server demo || exit 1
export PGHOST=$DP_PG_WORK/demo PGDATABASE=demo
createdb -U postgres demo || exit 1

csv=$DP_PG_WORK/randhie.csv
if [ -f "${DP_PG_DATA:-/nowhere}/randhie.csv" ]; then
	cp "$DP_PG_DATA/randhie.csv" "$csv"
	source="RAND Health Insurance Experiment (found in DP_PG_DATA)"
elif [ -f "$csv" ]; then
	source="RAND Health Insurance Experiment (package python3-statsmodels)"
else
	source="GENERATED rows with the columns of the RAND experiment (its
      package, python3-statsmodels, could not be had)"
	psql -qX -U postgres -f test/demo/generate.sql >"$csv" || exit 1
fi
echo "Data: $source."

psql -X -q -U postgres -v csv="$csv" -f test/demo/demo.sql \
	>"$DP_PG_WORK/demo.log" 2>&1
status=$?
sed "s#^psql:[^ ]*: ##; s#$DP_PG_WORK#...#g" "$DP_PG_WORK/demo.log"

# What must have happened: these refusals, no other error.
seen=$(sed -n 's/^SQLSTATE \([0-9A-Z]*\)$/\1/p' "$DP_PG_WORK/demo.log" |
	tr '\n' ' ')
errors=$(grep -c 'ERROR:' "$DP_PG_WORK/demo.log")
if [ $status -ne 0 ] || [ "$seen" != "42501 42501 0A000 53400 " ] ||
	[ "$errors" -ne 4 ]; then
	echo "demo: went wrong (status $status, refusals $seen, errors $errors)"
	exit 1
fi
