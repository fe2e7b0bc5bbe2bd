# PostgreSQL's aggregates as doc/analyst.md says that they are below a private one, in the schema
# documented: of what groups of a unit's rows give, the plain query that must be equal calls these.
package FuzzDocumented;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw($documented);

our $documented = <<'EOT';
CREATE SCHEMA documented;
CREATE FUNCTION documented.addend(numeric) RETURNS numeric IMMUTABLE
RETURN CASE WHEN $1 > -1e100 AND $1 < 1e100 THEN CASE WHEN scale($1) > 100 THEN trim_scale(round($1, 100)) ELSE $1 END END;
CREATE FUNCTION documented.addend(float8) RETURNS numeric IMMUTABLE
RETURN CASE WHEN $1 > -1e100 AND $1 < 1e100 THEN documented.addend($1::numeric) END;
CREATE FUNCTION documented.addend(float4) RETURNS numeric IMMUTABLE
RETURN CASE WHEN $1 > '-Infinity' AND $1 < 'Infinity' THEN documented.addend($1::numeric) END;
CREATE FUNCTION documented.total(numeric[]) RETURNS numeric IMMUTABLE RETURN (SELECT pg_catalog.sum(x) FROM unnest($1) x);
CREATE FUNCTION documented.mean(numeric[]) RETURNS numeric IMMUTABLE RETURN (SELECT pg_catalog.avg(x) FROM unnest($1) x);
CREATE FUNCTION documented.total8(numeric[]) RETURNS float8 IMMUTABLE RETURN documented.total($1)::float8;
CREATE FUNCTION documented.mean8(numeric[]) RETURNS float8 IMMUTABLE RETURN documented.mean($1)::float8;
CREATE FUNCTION documented.total4(numeric[]) RETURNS float4 IMMUTABLE RETURN documented.total($1)::float4;
CREATE FUNCTION documented.add(numeric[], numeric) RETURNS numeric[] IMMUTABLE RETURN $1 || documented.addend($2);
CREATE FUNCTION documented.add(numeric[], float8) RETURNS numeric[] IMMUTABLE RETURN $1 || documented.addend($2);
CREATE FUNCTION documented.add(numeric[], float4) RETURNS numeric[] IMMUTABLE RETURN $1 || documented.addend($2);
CREATE AGGREGATE documented.sum(numeric) (sfunc = documented.add, stype = numeric[], initcond = '{}', finalfunc = documented.total);
CREATE AGGREGATE documented.avg(numeric) (sfunc = documented.add, stype = numeric[], initcond = '{}', finalfunc = documented.mean);
CREATE AGGREGATE documented.sum(float8) (sfunc = documented.add, stype = numeric[], initcond = '{}', finalfunc = documented.total8);
CREATE AGGREGATE documented.avg(float8) (sfunc = documented.add, stype = numeric[], initcond = '{}', finalfunc = documented.mean8);
CREATE AGGREGATE documented.sum(float4) (sfunc = documented.add, stype = numeric[], initcond = '{}', finalfunc = documented.total4);
CREATE AGGREGATE documented.avg(float4) (sfunc = documented.add, stype = numeric[], initcond = '{}', finalfunc = documented.mean8);
EOT

1;
