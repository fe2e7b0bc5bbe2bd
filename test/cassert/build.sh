# shellcheck shell=bash
# build.sh
#	  PostgreSQL built otherwise than Debian does, for test/cassert/cassert.sh:
#	  from the source of Debian's package, into a folder of its own, each
#	  variant once.  Nothing is installed into the system, and apt's own lists
#	  stay as they are.
#
# DP_PG_CACHE is where sources and builds are kept, about 700 MB: default
# /var/cache/dp_pg, for others than root ~/.cache/dp_pg.  Builds are of the
# version's name, so a newer one is built beside an older one.

if [ -n "${DP_PG_CACHE:-}" ]; then
	cache=$DP_PG_CACHE
elif [ "$(id -u)" -eq 0 ]; then
	cache=/var/cache/dp_pg
else
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/dp_pg
fi

variants=(cassert sanitize)

# What a variant is built with: options of configure, one a line.
variant_options()
{
	case $1 in
		# Assertions; memory is filled when it is allocated and when it is
		# freed; every parse tree and plan is copied, written and read again.
		cassert)
			echo --enable-cassert
			echo "CFLAGS=-O2 -g1"
			echo "CPPFLAGS=-DRANDOMIZE_ALLOCATED_MEMORY" \
				-DCOPY_PARSE_PLAN_TREES -DWRITE_READ_PARSE_PLAN_TREES \
				-DRAW_EXPRESSION_COVERAGE_TEST
			;;
		# AddressSanitizer and UndefinedBehaviorSanitizer; the first finding
		# ends the process.
		sanitize)
			echo "CFLAGS=-O1 -g1 -fno-omit-frame-pointer" \
				-fsanitize=address,undefined -fno-sanitize-recover=all
			;;
		*) return 1 ;;
	esac
}

# PostgreSQL measures its stack from one frame to another, which must both be
# on the real one.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1

# fetch_source major: the newest source of this version that the mirrors
# have, which need not be what is installed; sets `source` and `version`.
fetch_source()
{
	local package=postgresql-$1
	local state=$cache/source
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg
	local apt=(-o "Dir::Etc::sourcelist=$state/sources.list"
		-o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache"
		-o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root)
	local found newest file

	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	# What is there is used; without a network, too.
	if ! compgen -G "$state/${package}_$1.*.orig.tar.*" >/dev/null; then
		[ -e "$keys" ] && keys="[signed-by=$keys] " || keys=
		apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
			--format "deb-src $keys"'$(REPO_URI) $(RELEASE) $(COMPONENT)' \
			>"$state/sources.list"
		apt-get "${apt[@]}" update -qq || return 1
		found=$(apt-cache "${apt[@]}" showsrc --only-source "$package" |
			sed -n 's/^Version: //p' | sort -rV)
		for newest in $found; do
			(cd "$state" && apt-get "${apt[@]}" source -qq --download-only \
				--only-source "$package=$newest" >/dev/null 2>&1) && break
			echo "# $package $newest: its source is not on the mirror"
		done
	fi
	file=$(compgen -G "$state/${package}_$1.*.orig.tar.*" | sort -V | tail -n 1)
	[ -n "$file" ] || {
		echo "cassert: no source of $package can be had" >&2
		return 1
	}
	version=$(sed 's/.*_\(.*\)\.orig\.tar.*/\1/' <<<"$file")
	# Debian's patches are about folders and are left out.
	source=$state/postgresql-$version
	[ -d "$source" ] || {
		rm -rf "$source.part"
		mkdir "$source.part" &&
			tar -C "$source.part" --strip-components=1 --no-same-owner \
				-xf "$file" && mv "$source.part" "$source"
	}
}

# build_variant name: configured, compiled and installed, unless it is there;
# sets `prefix`.  With LLVM, but without the bitcode of PostgreSQL's own
# functions, which would take as long again: nothing is inlined.
build_variant()
{
	local log=$cache/postgresql-$version-$1.log
	local build=$cache/postgresql-$version-$1.build
	local start=$SECONDS
	local clang llvm options

	prefix=$cache/postgresql-$version-$1
	[ -e "$prefix/share/extension/file_fdw.control" ] && return 0
	variant_options "$1" >/dev/null || {
		echo "cassert: no such variant: $1" >&2
		return 1
	}
	# The LLVM of Debian's own build.
	llvm=$("$PG_CONFIG" --configure | sed -n "s/.*'LLVM_CONFIG=\([^']*\)'.*/\1/p")
	clang=$("$PG_CONFIG" --configure | sed -n "s/.*'CLANG=\([^']*\)'.*/\1/p")
	echo "# building PostgreSQL $version: $1"
	rm -rf "$build" "$prefix.part"
	mkdir -p "$build"
	(
		cd "$build" || exit 1
		mapfile -t options < <(variant_options "$1")
		"$source/configure" --prefix="$prefix" --with-icu --with-libxml \
			--with-openssl --with-llvm LLVM_CONFIG="${llvm:-llvm-config}" \
			CLANG="${clang:-clang}" --with-system-tzdata=/usr/share/zoneinfo \
			--without-readline --enable-tap-tests "${options[@]}" &&
			make -s -j2 with_llvm=no &&
			make -s with_llvm=no DESTDIR="$prefix.part" install &&
			make -s -j2 -C src/backend/jit/llvm DESTDIR="$prefix.part" install &&
			make -s -C src/test/regress with_llvm=no all &&
			make -s -C contrib/pg_stat_statements with_llvm=no \
				DESTDIR="$prefix.part" install &&
			make -s -C contrib/file_fdw with_llvm=no DESTDIR="$prefix.part" install
	) >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		echo "cassert: PostgreSQL could not be built, see $log" >&2
		return 1
	}
	mkdir -p "$prefix.part$prefix/regress"
	cp "$build"/src/test/regress/*.so "$prefix.part$prefix/regress/"
	# Debian's pgTAP is SQL alone.
	cp "$("$PG_CONFIG" --sharedir)"/extension/pgtap* \
		"$prefix.part$prefix/share/extension/"
	chmod -R a+rX "$prefix.part"
	rm -rf "$prefix"			# of an earlier version of this script
	mv "$prefix.part$prefix" "$prefix" && rm -rf "$build" "$prefix.part"
	echo "# built after $((SECONDS - start)) s"
}
