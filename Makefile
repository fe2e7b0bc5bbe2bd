# dp_pg: differential privacy inside PostgreSQL.
#
#   make            build            make deps    install what tests need
#   make install    install          make demo    a guided run on real data
#   make test       everything CI runs            make lint / bench

EXTENSION = dp_pg
EXTVERSION = 0.1.0
MODULE_big = dp_pg

SOURCES = $(sort $(wildcard src/*.c src/*/*.c))
OBJS = $(SOURCES:.c=.o)
MODULES_SQL = $(sort $(wildcard sql/[0-9][0-9]_*.sql))
DATA_built = sql/$(EXTENSION)--$(EXTVERSION).sql

PG_CPPFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -Wno-cast-function-type -Wno-clobbered $(DP_WERROR)
SHLIB_LINK = -lcrypto

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --temp-instance=./tmp_check \
	--temp-config=test/dp_pg.conf
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. \
	--temp-instance=./tmp_check_iso --temp-config=test/dp_pg.conf
EXTRA_CLEAN = sql/$(EXTENSION)--$(EXTVERSION).sql

PG_CONFIG ?= pg_config
ifeq ($(shell command -v $(PG_CONFIG) 2>/dev/null),)
$(error pg_config was not found: install PostgreSQL's server headers, on Debian "apt-get install postgresql-server-dev-15", or run "make -f Makefile.deps deps")
endif
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(DATA_built): $(MODULES_SQL)
	cat $^ > $@

# Headers are few and everything is quick to build.
$(OBJS): $(wildcard src/*/*.h)
