-- dp_suggest_bounds: what each choice of max_rows and max_keys would lose.
--
-- It shows exact numbers about private rows, so it is for the owner alone: it
-- reads with the rights of its caller, and raises an error if a function of
-- the owner calls it for another role.

CREATE FUNCTION dp_pg.suggest_unit(relation regclass) RETURNS name
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dp_suggest_unit';
COMMENT ON FUNCTION dp_pg.suggest_unit(regclass) IS
'internal: the unit column of a relation, if the owner is the asking role; for dp_suggest_bounds';

CREATE FUNCTION dp_pg.suggest_key(relation regclass, key text) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dp_suggest_key';
COMMENT ON FUNCTION dp_pg.suggest_key(regclass, text) IS
'internal: an expression over the columns of a relation, parsed, and written so that it can be pasted where the relation is "t"; NULL for NULL; for dp_suggest_bounds';

-- Of each unit: its groups, its rows, and the most rows of it in one group;
-- then how many units have which numbers, so that candidates are compared with
-- short lists.  Of max_keys groups drawn at random a unit's row is in one with
-- probability max_keys / groups.
CREATE FUNCTION @extschema@.dp_suggest_bounds(relation regclass, keys text[] DEFAULT '{}',
	OUT what text, OUT bound bigint, OUT units_kept double precision,
	OUT rows_kept double precision)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	unit name := dp_pg.suggest_unit(relation);
	columns text;
BEGIN
	IF array_position(keys, NULL) IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
			MESSAGE = 'keys must not contain NULL',
			DETAIL = 'Each is what a query has in GROUP BY: the name of a column, or an expression.',
			HINT = 'Leave it out.';
	END IF;
	-- a name, however it is spelt, or what the parser reads as an expression
	SELECT string_agg(', ' || CASE WHEN a.attname IS NOT NULL THEN format('t.%I', a.attname)
			ELSE dp_pg.suggest_key(relation, u.key) END, '' ORDER BY u.place) INTO columns
	FROM unnest(keys) WITH ORDINALITY AS u (key, place)
	LEFT JOIN pg_attribute AS a ON a.attrelid = relation AND a.attname = u.key
		AND a.attnum > 0 AND NOT a.attisdropped;
	BEGIN
	RETURN QUERY EXECUTE format($query$
		WITH part AS MATERIALIZED (
			SELECT t.%1$I AS unit, count(*) AS rows
			FROM %2$s AS t WHERE t.%1$I IS NOT NULL GROUP BY t.%1$I%3$s
		), person AS MATERIALIZED (
			SELECT count(*) AS groups, sum(p.rows) AS rows, max(p.rows) AS most
			FROM part AS p GROUP BY p.unit
		), total AS (
			SELECT count(*) AS units, sum(p.rows) AS rows, max(p.most) AS most, max(p.groups) AS groups FROM person AS p
		), candidate AS (
			SELECT c.i, (ARRAY[1, 2, 5])[1 + c.i %% 3] * (10 ^ (c.i / 3))::bigint AS bound FROM generate_series(0, 28) AS c (i)
		), needed AS (
			SELECT c.bound, coalesce(lag(c.bound) OVER (ORDER BY c.i), 0) AS below FROM candidate AS c
		), most AS (
			SELECT p.most, count(*) AS units FROM person AS p GROUP BY p.most
		), length AS (
			SELECT p.rows, count(*) AS parts FROM part AS p GROUP BY p.rows
		), breadth AS (
			SELECT p.groups, count(*) AS units, sum(p.rows) AS rows FROM person AS p GROUP BY p.groups
		)
		SELECT 'max_rows', n.bound,
			(SELECT coalesce(sum(m.units), 0) FROM most AS m WHERE m.most <= n.bound)::float8 / nullif(t.units, 0),
			(SELECT sum(l.parts * least(l.rows, n.bound)) FROM length AS l)::float8 / t.rows::float8
		FROM needed AS n, total AS t WHERE n.below < greatest(t.most, 1)
		UNION ALL
		SELECT 'max_keys', n.bound,
			(SELECT coalesce(sum(b.units), 0) FROM breadth AS b WHERE b.groups <= n.bound)::float8 / nullif(t.units, 0),
			(SELECT sum(b.rows * least(1, n.bound::float8 / b.groups)) FROM breadth AS b) / t.rows::float8
		FROM needed AS n, total AS t WHERE %4$L AND n.below < greatest(t.groups, 1)
		ORDER BY 1 DESC, 2
	$query$, unit, relation, columns, columns IS NOT NULL);
	-- what PostgreSQL says of it shows the row
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'a key cannot be computed for every row',
			DETAIL = format('For a row it fails with SQLSTATE %s. In private queries such a key is NULL, or not allowed.', SQLSTATE),
			HINT = 'Write it so that it fails for no row, as in ''100 / nullif(n, 0)'' for a column n that can be 0.';
	END;
END $$;
COMMENT ON FUNCTION @extschema@.dp_suggest_bounds(regclass, text[]) IS
'for the owner only: what would be lost with numbers that dp_declare(relation, max_rows => .., max_keys => ..) could declare. Rows: what (max_rows, max_keys), bound, units_kept (share of units of which nothing is lost), rows_kept (share of rows that count). keys: by what queries group, each the name of a column or an expression that private queries can group by, such as date_trunc(''month'', day); without them max_rows of a whole unit, and no max_keys. The numbers are exact: a person who sees them learns something about rows, and bounds chosen by them leak a little of it, which their owner must decide; bounds from knowledge of the subject leak nothing. Errors: 42501 not the owner, or a function of the owner that another role calls; 42704 not protected, 42703 unknown column, 42601 a key is not an expression, 0A000 a key is not allowed in private queries, 22004 a NULL key, 22023 a key has no column, or fails for a row, or each row is one unit, 0A000 the unit is behind a key';
