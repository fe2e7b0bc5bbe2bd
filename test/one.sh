#!/usr/bin/env bash
# one.sh file ...
#	  Builds dp_pg, installs it privately, and runs TAP or statistical programs
#	  one by one, printing all they say.  Called through test/sandbox.sh.
set -u
. test/server.sh

build_and_install DP_WERROR=-Werror || exit 1
prepare_tap one
for file in "$@"; do
	perl "$file" || {
		tail -n 20 "$TESTDIR"/tmp_check/log/regress_log_* "$TESTLOGDIR"/regress_log_* 2>/dev/null
		exit 1
	}
done
