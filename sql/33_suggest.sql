-- dp_suggest_bounds: what each choice of max_total, max_keys and max_rows would
-- lose.
--
-- It shows exact numbers about private rows, so it is for the owner alone: it
-- reads with the rights of its caller, and raises an error if a function of
-- the owner calls it for another role.

-- Of each unit: its groups, its rows, and the most rows of it in one group;
-- then how many units have which numbers, so that candidates are compared with
-- short lists.  Of max_keys groups drawn at random a unit's row is in one with
-- probability max_keys / groups.
CREATE FUNCTION @extschema@.dp_suggest_bounds(relation regclass, keys text[] DEFAULT '{}',
	OUT what text, OUT bound bigint, OUT units_kept double precision,
	OUT rows_kept double precision, OUT statement text)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	dataset name := dp_pg.profile_dataset(relation, true);
	path record := dp_pg.unit_path(relation);
	columns text;
BEGIN
	IF path.unit IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = format('each row of relation "%s" is one unit', relation),
			DETAIL = 'It was protected without a unit column, so that no unit has many rows or groups.',
			HINT = 'Bounds on rows of a unit need not be declared.';
	END IF;
	IF array_position(keys, NULL) IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
			MESSAGE = 'keys must not contain NULL',
			DETAIL = 'Each is what a query has in GROUP BY: the name of a column, or an expression.',
			HINT = 'Leave it out.';
	END IF;
	SELECT string_agg(', ' || dp_pg.suggest_key(relation, u.key), '' ORDER BY u.place) INTO columns
	FROM unnest(keys) WITH ORDINALITY AS u (key, place);
	BEGIN
	RETURN QUERY EXECUTE format($query$
		WITH part AS MATERIALIZED (
			SELECT %1$s AS unit, count(*) AS rows
			FROM %2$s WHERE %1$s IS NOT NULL GROUP BY %1$s%3$s
		), person AS MATERIALIZED (
			SELECT count(*) AS groups, sum(p.rows) AS rows, max(p.rows) AS most
			FROM part AS p GROUP BY p.unit
		), size AS (
			SELECT 'max_total' AS what, p.rows AS size, count(*) AS units, sum(p.rows) AS rows FROM person AS p GROUP BY p.rows
			UNION ALL SELECT 'max_keys', p.groups, count(*), sum(p.rows) FROM person AS p GROUP BY p.groups
			UNION ALL SELECT 'max_rows', p.most, count(*), 0 FROM person AS p GROUP BY p.most
			UNION ALL SELECT 'max_rows', p.rows, 0, sum(p.rows) FROM part AS p GROUP BY p.rows
		), candidate AS (
			SELECT c.i, (ARRAY[1, 2, 5])[1 + c.i %% 3] * (10 ^ (c.i / 3))::bigint AS bound FROM generate_series(0, 28) AS c (i)
		), needed AS (
			SELECT c.bound, coalesce(lag(c.bound) OVER (ORDER BY c.i), 0) AS below FROM candidate AS c
		)
		SELECT w.what, n.bound,
			(coalesce(sum(s.units) FILTER (WHERE s.size <= n.bound), 0) / sum(s.units))::float8,
			(sum(s.rows * least(s.size, n.bound) / s.size) / sum(s.rows))::float8,
			format('SELECT @extschema@.dp_declare(%%L, %%s => %%s)', %4$L, w.what, n.bound)
		FROM unnest(%5$L::text[]) AS w (what) CROSS JOIN needed AS n LEFT JOIN size AS s ON s.what = w.what
		GROUP BY w.what, n.bound, n.below HAVING n.below < greatest(max(s.size), 1)
		ORDER BY 1 DESC, 2
	$query$, path.unit, path.tables, columns, relation, CASE WHEN columns IS NULL THEN '{max_total}' ELSE '{max_total,max_keys,max_rows}' END);
	-- what PostgreSQL says of it shows the row
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'a key cannot be computed for every row',
			DETAIL = format('For a row it fails with SQLSTATE %s. In private queries such a key is NULL, or not allowed.', SQLSTATE),
			HINT = 'Write it so that it fails for no row, as in ''100 / nullif(n, 0)'' for a column n that can be 0.';
	END;
END $$;
COMMENT ON FUNCTION @extschema@.dp_suggest_bounds(regclass, text[]) IS
'for the owner only: what would be lost with numbers that dp_declare could declare. Rows: what (max_total: rows of a unit; with keys also max_keys: groups of a unit, and max_rows: its rows in a group), bound, units_kept (share of units of which nothing is lost), rows_kept (share of rows that count), statement (the call of dp_declare). keys: by what queries group, all together, each the name of a column or an expression that private queries can group by, such as date_trunc(''month'', day). The numbers are exact: a person who sees them learns something about rows, and bounds chosen by them leak a little of it, which their owner must decide; bounds from knowledge of the subject, or of dp_profile, do not. Where the unit is behind keys, rows are joined along its path, and the caller must own the relations there. Errors: 42501 not the owner, or a function of the owner that another role calls; 42704 not protected, 42703 unknown column, 42601 a key is not an expression, 0A000 a key is not allowed in private queries, 22004 a NULL key, 22023 a key has no column, or fails for a row, or each row is one unit';
