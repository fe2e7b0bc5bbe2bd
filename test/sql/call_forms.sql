-- Every way to write a call of a private aggregate: which are accepted for
-- which columns, with which result type, and which type parameters without one
-- get.  Calls are only analysed, never run.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE SCHEMA call_forms;
SET search_path = call_forms, public;
CREATE DOMAIN adult AS integer CHECK (VALUE >= 18);
CREATE TYPE feel AS ENUM ('good', 'bad');
CREATE TABLE typed (
	"int2" int2, "int4" int4, "int8" int8, "float4" float4, "float8" float8,
	"numeric" numeric(6, 2), adult adult, "date" date, "timestamp" timestamp,
	"timestamptz" timestamptz, "interval" interval, "time" time, "text" text,
	"bool" bool, feel feel, "oid" oid);

-- what two bounds and a price are written as
CREATE TABLE style (style text, lower text, upper text, price text);
INSERT INTO style VALUES
	('integers', '0', '100', '1'),
	('decimals', '0.5', '99.5', '0.5'),
	('mixed', '0', '99.5', '1'),
	('other', '0.5', '99', '1e-1'),
	('strings', '''0''', '''100''', '''0.5'''),
	('null', 'NULL', 'NULL', 'NULL'),
	('bigint', '-9223372036854775807', '9223372036854775807', '1'),
	('long', '0', '123456789012345678901234567890', '1'),
	('int2', '0::int2', '100::int2', '1::int2'),
	('float4', '0::float4', '100::float4', '1::float4'),
	('float8', '0::float8', '100::float8', '0.5::float8'),
	('numeric', '0::numeric', '100::numeric', '0.5::numeric'),
	('float8 and numeric', '0::float8', '100::numeric', '0.5::numeric'),
	('numeric and float8', '0::numeric', '100::float8', '0.5::float8'),
	('float8 and integer', '0::float8', '100', '1'),
	('domain', '18::adult', '100::adult', '1::adult'),
	('subquery', '(SELECT 1)', '(SELECT 2.5)', '(SELECT 1.5)'),
	('text', '''0''::text', '''100''::text', '''1''::text'),
	('dates', '''2020-01-01''', '''2021-01-01''', '0.5'),
	('date', 'date ''2020-01-01''', 'date ''2021-01-01''', '0.5::float8'),
	('timestamp', 'timestamp ''2020-01-01''', '''2021-01-01''', '1'),
	('timestamptz', '''2020-01-01''', 'now()', '0.5::numeric'),
	('interval', 'date ''2020-01-01''', 'date ''2020-01-01'' + interval ''1 year''', '1'),
	('parameters', '$1', '$2', '$3');

-- names with their arguments: %1$s is the column, %2$s bounds, %3$s a price;
-- every other aggregate has the forms of one of these (pgtap/catalog.sql)
CREATE TABLE name (name text, pattern text, bounded bool);
INSERT INTO name VALUES
	('count', 'dp_count(%1$s%3$s)', false),
	('sum', 'dp_sum(%1$s%2$s%3$s)', true),
	('sum distinct', 'dp_sum(DISTINCT %1$s%2$s%3$s)', true),
	('avg', 'dp_avg(%1$s%2$s%3$s) FILTER (WHERE true)', true),
	('max', 'dp_max(%1$s%2$s%3$s)', true),
	('quantile', 'dp_quantile(%1$s, 0.5%2$s%3$s)', true),
	('quantile 1', 'dp_quantile(%1$s, 1%2$s%3$s)', true),
	('corr', 'dp_corr(%1$s, %1$s%2$s%2$s%3$s)', true),
	('regr_sxx', 'dp_regr_sxx(%1$s, %1$s%2$s%3$s)', true),
	('bounds', 'dp_bounds(%1$s%3$s)', false),
	('histogram', 'dp_histogram(%1$s%2$s, 10%3$s)', true),
	('argmax', 'dp_argmax(%1$s, NULL%3$s)', false),
	('topk', 'dp_topk(%1$s, 2, ''{1,2}''%3$s)', false);

-- the type of a call's result, or its SQLSTATE; and of its parameters
CREATE FUNCTION result_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	IF call LIKE '%$_%' THEN
		EXECUTE format('PREPARE form AS SELECT %s FROM typed', call);
		SELECT array_to_string(parameter_types, ',') INTO result
		FROM pg_prepared_statements WHERE name = 'form';
		DEALLOCATE form;
		RETURN result;
	END IF;
	EXECUTE format('CREATE TEMP VIEW form AS SELECT %s AS it FROM typed', call);
	SELECT atttypid::regtype INTO result
	FROM pg_attribute WHERE attrelid = 'pg_temp.form'::regclass AND attnum = 1;
	RAISE EXCEPTION '%', result USING ERRCODE = 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
	RETURN result;
WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
CREATE TABLE form AS
SELECT name, attname AS column, style, given, priced,
	result_of(format(pattern, quote_ident(attname),
		CASE WHEN given THEN ', ' || lower || ', ' || upper ELSE '' END,
		CASE WHEN NOT priced THEN '' WHEN given THEN ', ' || price
			ELSE ', ' || replace(price, '$3', '$1') END)) AS result
FROM name, pg_attribute, style,
	(VALUES (false, false), (false, true), (true, false), (true, true)) v(given, priced)
WHERE attrelid = 'typed'::regclass AND attnum > 0 AND (bounded OR NOT given)
	AND (given AND priced OR style = ANY (CASE WHEN given OR priced
		THEN '{decimals,dates,parameters}'::text[] ELSE '{decimals}' END));

-- what is accepted, and what a parameter is
\pset format unaligned
\pset tuples_only on
\pset recordsep '\n\n'
\pset fieldsep '\n'
SELECT concat_ws(', ', CASE WHEN given THEN 'bounds' END, CASE WHEN priced THEN 'price' END, styles) || ':',
	names, string_agg(format('%s -> %s', "column", result), '; ' ORDER BY "column" COLLATE "C")
FROM (SELECT given, priced, "column", result, styles, string_agg(name, ', ' ORDER BY name COLLATE "C") AS names
	FROM (SELECT given, priced, "column", result, name, string_agg(style, ', ' ORDER BY style COLLATE "C") AS styles
		FROM form WHERE result <> '42883' GROUP BY given, priced, "column", result, name) f
	GROUP BY given, priced, "column", result, styles) f
GROUP BY given, priced, styles, names
ORDER BY given, priced, styles COLLATE "C", names COLLATE "C";

-- what is not
SELECT count(*), 'are refused' FROM form WHERE result = '42883';
SELECT count(*), 'are ambiguous' FROM form WHERE result = '42725';
DROP SCHEMA call_forms CASCADE;
