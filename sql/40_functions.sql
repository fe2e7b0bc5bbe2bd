-- Functions for expressions over private rows.

-- Total versions.  Each has the arguments, result and volatility of the
-- built-in it stands for, read from the catalog, and gives NULL where that
-- raises an error; a private query is rewritten to them.  They run as the
-- analyst, so everybody may execute them.  The names come from
-- src/query/expressions/allow_list.c, whose last column is the C symbol here.
DO $make$
DECLARE
	f record;
BEGIN
	FOR f IN
		SELECT p.proname AS name, v.symbol,
			pg_catalog.oidvectortypes(p.proargtypes) AS arguments,
			pg_catalog.format_type(p.prorettype, NULL) AS result,
			CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' ELSE 'STABLE' END
				AS volatility,
			p.oid::pg_catalog.regprocedure::text AS original,
			EXISTS (SELECT 1 FROM pg_catalog.unnest(p.proargtypes) a
					WHERE a IN ('text'::pg_catalog.regtype,
						'bpchar'::pg_catalog.regtype)
						AND v.symbol !~ '^(time|date|interval|extract)')
				AS collates
		FROM (VALUES
			('substr(text,integer,integer)', 'text_substr'),
			('"substring"(text,integer,integer)', 'text_substr'),
			('text(bpchar)', 'rtrim1'),
			('btrim(text)', 'btrim1'),
			('ltrim(text)', 'ltrim1'),
			('rtrim(text)', 'rtrim1'),
			('btrim(text,text)', 'btrim'),
			('ltrim(text,text)', 'ltrim'),
			('rtrim(text,text)', 'rtrim'),
			('textcat(text,text)', 'textcat'),
			('lower(text)', 'lower'),
			('upper(text)', 'upper'),
			('initcap(text)', 'initcap'),
			('strpos(text,text)', 'textpos'),
			('position(text,text)', 'textpos'),
			('split_part(text,text,integer)', 'split_part'),
			('string_to_array(text,text)', 'text_to_array'),
			('texticlike(text,text)', 'texticlike'),
			('texticnlike(text,text)', 'texticnlike'),
			('bpchariclike(bpchar,text)', 'texticlike'),
			('bpcharicnlike(bpchar,text)', 'texticnlike'),
			('nameiclike(name,text)', 'nameiclike'),
			('nameicnlike(name,text)', 'nameicnlike'),
			('int2pl(smallint,smallint)', 'int2pl'),
			('int2mi(smallint,smallint)', 'int2mi'),
			('int2mul(smallint,smallint)', 'int2mul'),
			('int2div(smallint,smallint)', 'int2div'),
			('int2mod(smallint,smallint)', 'int2mod'),
			('int2um(smallint)', 'int2um'),
			('int2abs(smallint)', 'int2abs'),
			('abs(smallint)', 'int2abs'),
			('mod(smallint,smallint)', 'int2mod'),
			('int4pl(integer,integer)', 'int4pl'),
			('int4mi(integer,integer)', 'int4mi'),
			('int4mul(integer,integer)', 'int4mul'),
			('int4div(integer,integer)', 'int4div'),
			('int4mod(integer,integer)', 'int4mod'),
			('int4um(integer)', 'int4um'),
			('int4abs(integer)', 'int4abs'),
			('abs(integer)', 'int4abs'),
			('mod(integer,integer)', 'int4mod'),
			('int8pl(bigint,bigint)', 'int8pl'),
			('int8mi(bigint,bigint)', 'int8mi'),
			('int8mul(bigint,bigint)', 'int8mul'),
			('int8div(bigint,bigint)', 'int8div'),
			('int8mod(bigint,bigint)', 'int8mod'),
			('int8um(bigint)', 'int8um'),
			('int8abs(bigint)', 'int8abs'),
			('abs(bigint)', 'int8abs'),
			('mod(bigint,bigint)', 'int8mod'),
			('int24pl(smallint,integer)', 'int24pl'),
			('int24mi(smallint,integer)', 'int24mi'),
			('int24mul(smallint,integer)', 'int24mul'),
			('int24div(smallint,integer)', 'int24div'),
			('int42pl(integer,smallint)', 'int42pl'),
			('int42mi(integer,smallint)', 'int42mi'),
			('int42mul(integer,smallint)', 'int42mul'),
			('int42div(integer,smallint)', 'int42div'),
			('int28pl(smallint,bigint)', 'int28pl'),
			('int28mi(smallint,bigint)', 'int28mi'),
			('int28mul(smallint,bigint)', 'int28mul'),
			('int28div(smallint,bigint)', 'int28div'),
			('int82pl(bigint,smallint)', 'int82pl'),
			('int82mi(bigint,smallint)', 'int82mi'),
			('int82mul(bigint,smallint)', 'int82mul'),
			('int82div(bigint,smallint)', 'int82div'),
			('int48pl(integer,bigint)', 'int48pl'),
			('int48mi(integer,bigint)', 'int48mi'),
			('int48mul(integer,bigint)', 'int48mul'),
			('int48div(integer,bigint)', 'int48div'),
			('int84pl(bigint,integer)', 'int84pl'),
			('int84mi(bigint,integer)', 'int84mi'),
			('int84mul(bigint,integer)', 'int84mul'),
			('int84div(bigint,integer)', 'int84div'),
			('int2(integer)', 'i4toi2'),
			('int2(bigint)', 'int82'),
			('int4(bigint)', 'int84'),
			('int2(real)', 'ftoi2'),
			('int4(real)', 'ftoi4'),
			('int8(real)', 'ftoi8'),
			('int2(double precision)', 'dtoi2'),
			('int4(double precision)', 'dtoi4'),
			('int8(double precision)', 'dtoi8'),
			('float4(double precision)', 'dtof'),
			('int2(numeric)', 'numeric_int2'),
			('int4(numeric)', 'numeric_int4'),
			('int8(numeric)', 'numeric_int8'),
			('float4(numeric)', 'numeric_float4'),
			('float8(numeric)', 'numeric_float8'),
			('numeric(numeric,integer)', 'numeric'),
			('float4pl(real,real)', 'float4pl'),
			('float4mi(real,real)', 'float4mi'),
			('float4mul(real,real)', 'float4mul'),
			('float4div(real,real)', 'float4div'),
			('float8pl(double precision,double precision)', 'float8pl'),
			('float8mi(double precision,double precision)', 'float8mi'),
			('float8mul(double precision,double precision)', 'float8mul'),
			('float8div(double precision,double precision)', 'float8div'),
			('float48pl(real,double precision)', 'float48pl'),
			('float48mi(real,double precision)', 'float48mi'),
			('float48mul(real,double precision)', 'float48mul'),
			('float48div(real,double precision)', 'float48div'),
			('float84pl(double precision,real)', 'float84pl'),
			('float84mi(double precision,real)', 'float84mi'),
			('float84mul(double precision,real)', 'float84mul'),
			('float84div(double precision,real)', 'float84div'),
			('dsqrt(double precision)', 'dsqrt'),
			('sqrt(double precision)', 'dsqrt'),
			('dexp(double precision)', 'dexp'),
			('exp(double precision)', 'dexp'),
			('dlog1(double precision)', 'dlog1'),
			('ln(double precision)', 'dlog1'),
			('dlog10(double precision)', 'dlog10'),
			('log(double precision)', 'dlog10'),
			('log10(double precision)', 'dlog10'),
			('width_bucket(float8,float8,float8,integer)',
				'width_bucket_float8'),
			('numeric_add(numeric,numeric)', 'numeric_add'),
			('numeric_sub(numeric,numeric)', 'numeric_sub'),
			('numeric_mul(numeric,numeric)', 'numeric_mul'),
			('numeric_div(numeric,numeric)', 'numeric_div'),
			('numeric_mod(numeric,numeric)', 'numeric_mod'),
			('mod(numeric,numeric)', 'numeric_mod'),
			('ceil(numeric)', 'numeric_ceil'),
			('ceiling(numeric)', 'numeric_ceil'),
			('floor(numeric)', 'numeric_floor'),
			('round(numeric)', 'numeric_round_integral'),
			('round(numeric,integer)', 'numeric_round'),
			('trunc(numeric)', 'numeric_trunc_integral'),
			('width_bucket(numeric,numeric,numeric,integer)',
				'width_bucket_numeric'),
			('"timestamp"(date)', 'date_timestamp'),
			('timestamptz(date)', 'date_timestamptz'),
			('timestamptz(timestamp)', 'timestamp_timestamptz'),
			('"timestamp"(timestamptz)', 'timestamptz_timestamp'),
			('date(timestamptz)', 'timestamptz_date'),
			('date_trunc(text,timestamp)', 'timestamp_trunc'),
			('date_trunc(text,timestamptz)', 'timestamptz_trunc'),
			('date_trunc(text,interval)', 'interval_trunc'),
			('date_part(text,timestamp)', 'timestamp_part'),
			('date_part(text,timestamptz)', 'timestamptz_part'),
			('date_part(text,date)', 'date_part_date'),
			('date_part(text,time)', 'time_part'),
			('date_part(text,timetz)', 'timetz_part'),
			('date_part(text,interval)', 'interval_part'),
			('extract(text,timestamp)', 'extract_timestamp'),
			('extract(text,timestamptz)', 'extract_timestamptz'),
			('extract(text,date)', 'extract_date'),
			('extract(text,time)', 'extract_time'),
			('extract(text,timetz)', 'extract_timetz'),
			('extract(text,interval)', 'extract_interval'),
			('timezone(text,timestamp)', 'timestamp_zone'),
			('timezone(text,timestamptz)', 'timestamptz_zone'),
			('date_pli(date,integer)', 'date_pli'),
			('date_mii(date,integer)', 'date_mii'),
			('integer_pl_date(integer,date)', 'integer_pl_date'),
			('date_mi(date,date)', 'date_mi'),
			('date_pl_interval(date,interval)', 'date_pl_interval'),
			('date_mi_interval(date,interval)', 'date_mi_interval'),
			('timestamp_pl_interval(timestamp,interval)',
				'timestamp_pl_interval'),
			('timestamp_mi_interval(timestamp,interval)',
				'timestamp_mi_interval'),
			('timestamptz_pl_interval(timestamptz,interval)',
				'timestamptz_pl_interval'),
			('timestamptz_mi_interval(timestamptz,interval)',
				'timestamptz_mi_interval'),
			('timestamp_mi(timestamp,timestamp)', 'timestamp_mi'),
			('timestamptz_mi(timestamptz,timestamptz)', 'timestamp_mi'),
			('age(timestamp,timestamp)', 'timestamp_age'),
			('age(timestamptz,timestamptz)', 'timestamptz_age'),
			('"time"(interval)', 'interval_time'),
			('interval_um(interval)', 'interval_um'),
			('interval_pl(interval,interval)', 'interval_pl'),
			('interval_mi(interval,interval)', 'interval_mi')
			) v(signature, symbol)
			JOIN pg_catalog.pg_proc p
				ON p.oid = v.signature::pg_catalog.regprocedure
	LOOP
		EXECUTE pg_catalog.format(
			$$CREATE FUNCTION dp_pg.%I(%s) RETURNS %s
			AS 'MODULE_PATHNAME', %L
			LANGUAGE c STRICT %s PARALLEL SAFE %s$$,
			'total_' || f.name, f.arguments, f.result,
			'dp_total_' || f.symbol, f.volatility,
			CASE WHEN f.collates THEN '' ELSE 'LEAKPROOF' END);
		EXECUTE pg_catalog.format(
			'COMMENT ON FUNCTION dp_pg.%I(%s) IS %L',
			'total_' || f.name, f.arguments,
			'as ' || f.original || ', but NULL where that raises an error');
	END LOOP;
END
$make$;

CREATE FUNCTION dp_pg.expression_rules(OUT function regprocedure,
	OUT replacement regprocedure, OUT condition text) RETURNS SETOF record
LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'dp_expression_list_rules';
COMMENT ON FUNCTION dp_pg.expression_rules() IS
'one row for each built-in function that may be used on private rows although
it is not LEAKPROOF, with the total version that replaces it in queries (NULL:
none is needed) and the condition on its arguments (NULL: none)';

CREATE FUNCTION dp_pg.is_leakproof(function regprocedure) RETURNS boolean
LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'dp_expression_leakproof';
COMMENT ON FUNCTION dp_pg.is_leakproof(regprocedure) IS
'whether a function may be used on private rows because PostgreSQL marks it
LEAKPROOF: built in, in C, not volatile, and known to raise no errors';

CREATE VIEW dp_pg.allowed_functions AS
	SELECT r.function, 'total as is' AS reason, r.replacement, r.condition
		FROM dp_pg.expression_rules() r WHERE r.replacement IS NULL
	UNION ALL
	SELECT r.function, 'total version', r.replacement, r.condition
		FROM dp_pg.expression_rules() r WHERE r.replacement IS NOT NULL
	UNION ALL
	SELECT p.oid::pg_catalog.regprocedure, 'leakproof', NULL, NULL
		FROM pg_catalog.pg_proc p
		WHERE p.proleakproof AND dp_pg.is_leakproof(p.oid);
COMMENT ON VIEW dp_pg.allowed_functions IS
'the functions that may be used on private rows, also through operators and
casts; reason is leakproof, total as is, or total version, in which case the
query calls replacement, which returns NULL instead of an error';
GRANT SELECT ON dp_pg.allowed_functions TO PUBLIC;

CREATE FUNCTION dp_pg.null_on_error(result anyelement, function regprocedure,
	VARIADIC arguments "any") RETURNS anyelement
LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'dp_null_on_error';
COMMENT ON FUNCTION dp_pg.null_on_error(anyelement, regprocedure, "any") IS
'what a built-in function of numbers, dates and times returns for the arguments, or NULL where they are out of a range (division by zero, overflow, the logarithm of a negative number); the first argument only gives the type of the result, and is usually NULL; added in queries around functions and operators of released values; NULL for a NULL function, or for a NULL argument of a STRICT one; 0A000 for a function that is volatile, not parallel safe, LEAKPROOF, not built in, without a number, date or time, or with an argument that is none of these nor text, boolean, bit, bytea or inet; 42804 if types are not exactly those of the function; 42501 without EXECUTE on it';

CREATE FUNCTION dp_pg.sortable_value(value anyelement) RETURNS anyelement
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sortable_value';
COMMENT ON FUNCTION dp_pg.sortable_value(anyelement) IS
'the value of a type of variable length, or NULL if it is longer than 16 kB (16384 bytes); added in private queries around values compared under a collation other than C, or passed to initcap(); 0A000 for other types; NULL for NULL';

CREATE FUNCTION dp_pg.short_value(value anyelement) RETURNS anyelement
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_short_value';
COMMENT ON FUNCTION dp_pg.short_value(anyelement) IS
'the value of a type of variable length, or NULL if it is longer than 1 MB (1048576 bytes); added in private queries around columns without a maximum length; 0A000 for other types; NULL for NULL';
