# dp_pg: differential privacy inside PostgreSQL.
#
#   make            build the extension
#   make install    install it (as root, unless PostgreSQL is yours)
#   make build-deps apt-get install what building needs (Debian)
#   make deps       what testing needs, too: JDK, node, a browser ..
#   make demo       a guided run on real data, on a private server
#   make test       what every change needs, and CI runs; the suites alone: make
#                   lint unit regress isolation pgtap tap stat jdbc node fuzz
#   make check      all but unit, stat and fuzz
#   make night      the programs of the night, then matrix, cassert, holes, flakes
#                   and soak: hours (as root; NIGHT="suites holes" names some).
#                   night.md says how it went
#   make matrix     everything on PostgreSQL 15, 17 and 18, and the packages,
#                   in Debian systems of their own (as root; an hour)
#   make cassert    the suites on PostgreSQL 15 built with assertions and with
#                   sanitizers, and PostgreSQL's own suite with dp_pg in it
#                   (builds them first, half an hour, once)
#   make holes      put known holes back, one at a time, and see how soon the
#                   machines of the suite fuzz find them (HOLES="name .."; half
#                   an hour)
#   make coverage   which test program reaches which line, by day and by night (hours)
#   make flakes     can a test turn red by chance? on a build whose draws are seen
#                   (an hour)
#   make files      what each file of src promises (ROOM=release/run: of one folder)
#   make soak       load for ten minutes: throughput, latency, memory
#   make bench      private queries against plain ones (QUICK=1: a few rows; ROWS=n)
#   make errors     measure errors on real data: doc/errors.md, by hand
#   make synthesis  compare generators on real data: doc/synthesis.md, by hand
#
# deps, demo, test, the suites, night, matrix, cassert, holes, coverage, flakes, soak, bench, errors
# and synthesis need nothing but make and git: they install packages first, when some
# are missing, and touch no server.

EXTENSION = dp_pg
DP_VERSION = 0.1.0
MODULE_big = dp_pg

SOURCES = $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
OBJS = $(SOURCES:.c=.o)
MODULES_SQL = $(sort $(wildcard sql/[0-9][0-9]_*.sql))
DATA_built = sql/$(EXTENSION)--$(DP_VERSION).sql
DATA = $(wildcard sql/upgrade/$(EXTENSION)--*--*.sql)

# "make DP_WERROR=-Werror" is what the tests build.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -Wno-clobbered $(DP_WERROR)
SHLIB_LINK = -lcrypto -pthread

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=.

# "make installcheck" brings a server of its own, unless one is named; that
# one must have the library preloaded.
ifeq ($(PGHOST)$(PGPORT),)
REGRESS_OPTS += --temp-instance=./tmp_check --temp-config=test/dp_pg.conf
ISOLATION_OPTS += --temp-instance=./tmp_check_iso --temp-config=test/dp_pg.conf
endif
EXTRA_CLEAN = sql/$(EXTENSION)--$(DP_VERSION).sql test/unit/bin test/stat/bin

# Without the server's headers only the targets that install them work.
PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
PG_MAJOR := $(shell $(PG_CONFIG) --version 2>/dev/null | sed 's/[^0-9]*\([0-9]*\).*/\1/')

# PGXS has a target "check" that can do nothing.
ifneq ($(MAKECMDGOALS),check)
ifneq ($(and $(PGXS),$(filter 15 16 17 18,$(PG_MAJOR))),)
include $(PGXS)

$(DATA_built): $(MODULES_SQL)
	cat $^ > $@

# Loops written to be vectorised, as PostgreSQL's own page checksums are.
src/math/models/smalldb_lanes.o: CFLAGS += $(CFLAGS_VECTORIZE)

# Headers are few and everything is quick to build.
$(OBJS) $(OBJS:.o=.bc): $(wildcard src/*/*.h src/*/*/*.h)
else
all install uninstall clean installcheck:
	@echo "dp_pg needs PostgreSQL 15, 16, 17 or 18 and its server headers" >&2
	@echo "$(PG_CONFIG) says: $(if $(PG_MAJOR),version $(PG_MAJOR)$(if $(PGXS),,, no server headers),not found)" >&2
	@echo "On Debian 12: apt-get install postgresql-15 postgresql-server-dev-15 libicu-dev libssl-dev gcc" >&2
	@echo "On Debian 13: the same, with 17 for 15" >&2
	@echo "or: make build-deps; elsewhere name it: make PG_CONFIG=/path/to/pg_config" >&2
	@exit 1
endif
endif

SUITES = lint unit regress isolation pgtap tap stat jdbc node fuzz
QUICK_SUITES = lint regress isolation pgtap tap jdbc node

deps:
	bash test/deps.sh

build-deps:
	bash test/deps.sh --build

test: deps
	bash test/sandbox.sh test/run.sh day

ifeq ($(MAKECMDGOALS),check)
check: deps
	bash test/sandbox.sh test/run.sh day $(QUICK_SUITES)
endif

# Suites of the night, and the targets below.
night:
	bash test/night.sh $(NIGHT)

matrix:
	bash test/matrix/matrix.sh

$(SUITES): deps
	bash test/sandbox.sh test/run.sh day $@

demo: build-deps
	DP_PG_FETCH=test/demo/fetch.sh bash test/sandbox.sh test/demo/demo.sh

# CASSERT="--only sanitize regress" does a part of it.
cassert: deps
	bash test/deps.sh g++ libxml2-dev zlib1g-dev xz-utils bzip2
	bash test/cassert/cassert.sh $(CASSERT)

holes: deps
	bash test/sandbox.sh test/fuzz/holes.sh $(HOLES)

coverage: deps
	bash test/sandbox.sh test/coverage/coverage.sh

flakes: deps
	bash test/sandbox.sh test/flakes/flakes.sh

soak: deps
	bash test/sandbox.sh test/soak/soak.sh

bench: deps
	QUICK=$(QUICK) ROWS=$(ROWS) ONLY="$(ONLY)" bash test/sandbox.sh test/bench/bench.sh

errors: deps
	bash test/sandbox.sh test/errors/errors.sh >errors.tar || \
		{ rm -f errors.tar; exit 1; }
	tar -C doc --no-same-owner -xf errors.tar && rm -f errors.tar

synthesis: deps
	bash test/sandbox.sh test/errors/synthesis.sh >synthesis.md || \
		{ rm -f synthesis.md; exit 1; }
	mv synthesis.md doc/synthesis.md

files:
	@awk 'FNR == 1 {n = 0} n == 0 && FNR > 2 && /^ \*($$|\/)/ {n = 1; print f ": " t; t = ""} \
		n == 0 && FNR > 2 {f = FILENAME; sub(/^ \*[ \t]*/, ""); t = t (t == "" ? "" : " ") $$0}' \
		$(wildcard $(addprefix src/$(or $(ROOM:/=),*)/,*.[ch] */*.[ch]))

.PHONY: deps build-deps test check files night matrix demo cassert holes coverage flakes soak bench errors \
	synthesis $(SUITES)
