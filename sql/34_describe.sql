-- What may be asked about a relation: dp_describe, and declarations found by
-- the name of the published view.  All of it is public: declarations, which
-- everybody can read, and the system catalogs.

CREATE FUNCTION dp_pg.shown_column(relation oid, named oid, attnum int2)
RETURNS int2 LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'dp_publish_shown_column';
COMMENT ON FUNCTION dp_pg.shown_column(oid, oid, int2) IS
'internal: number of the column of a relation shown by column attnum of `named`, which is the relation itself or a view of its columns; NULL: none';

CREATE VIEW dp_pg.attributes AS
SELECT n.named AS relation, c.attname AS attribute, r.dataset,
	pg_catalog.format_type(c.atttypid, c.atttypmod) AS type, a.lower, a.upper, a.granule,
	a.keys, a.other, a.nulls, a.partition IS NOT NULL AS immutable,
	coalesce(a.public_sizes, false) AS public_sizes
FROM dp_pg.relation AS r
JOIN dp_pg.attribute AS a ON a.relid = r.relid
CROSS JOIN LATERAL (VALUES (r.relid), (r.published)) AS n (named)
JOIN pg_catalog.pg_attribute AS c ON c.attrelid = n.named AND c.attnum > 0
	AND NOT c.attisdropped
	AND dp_pg.shown_column(r.relid, n.named, c.attnum) = a.attnum;
COMMENT ON VIEW dp_pg.attributes IS
'dp_pg.attribute by every name: each declared column as a column of the table and of its published view, readable by all roles';
COMMENT ON COLUMN dp_pg.attributes.relation IS 'the protected relation, or its published view';
COMMENT ON COLUMN dp_pg.attributes.attribute IS 'name of the column there';
GRANT SELECT ON dp_pg.attributes TO PUBLIC;

CREATE FUNCTION dp_pg.describe(named regclass, name text, home text,
	OUT attribute name, OUT type text, OUT nullable boolean, OUT lower text,
	OUT upper text, OUT keys text[], OUT other text, OUT note text,
	OUT example text)
RETURNS SETOF record LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	protected dp_pg.relation;
	bounds text;
	person text;	-- without bounds, what can be asked is how many there are
BEGIN
	SELECT r.* INTO protected FROM dp_pg.relation AS r WHERE named IN (r.relid, r.published);
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'undefined_object',
			MESSAGE = format('relation "%s" is not protected', name),
			DETAIL = 'Neither is it the view that dp_protect published for one.',
			HINT = 'dp_pg.relation lists what is protected.';
	END IF;
	bounds := dp_pg.bounds_text(protected.relid);
	IF bounds = '' THEN
		SELECT format('SELECT %sdp_count(DISTINCT %I) FROM %s', home, c.attname, name) INTO person FROM pg_attribute AS c
		WHERE c.attrelid = named AND c.attnum > 0 AND NOT c.attisdropped AND protected.unit_through IS NULL
			AND dp_pg.shown_column(protected.relid, named, c.attnum) = protected.unit_attnum LIMIT 1;
	END IF;
	note := format('rows are private, aggregates are answered; dataset "%s"%s%s%s%s', protected.dataset,
		CASE WHEN protected.unit IS NULL THEN '; each row is one unit' END,
		CASE bounds
			WHEN '' THEN '; no bound says how many rows of a unit count: SET dp_pg.max_total to what nearly every unit has at most, or dp_pg.bounds to measure'
			ELSE '; ' || bounds END,
		concat('; about ' || protected.rows || ' rows',
			'; groups with fewer than ' || protected.min_units || ' units, by a noisy number, are not shown'),
		CASE WHEN EXISTS (SELECT FROM dp_pg.relation_name AS n WHERE n.relid = protected.relid AND n.follow)
			THEN '; a table that comes to its name is protected likewise' END);
	example := CASE bounds WHEN '' THEN person ELSE format('SELECT %sdp_count(*) FROM %s', home, name) END;
	RETURN NEXT;
	RETURN QUERY
		SELECT c.attname, format_type(c.atttypid, c.atttypmod), NOT b.attnotnull,
			a.lower, a.upper, a.keys, a.other,
			concat_ws('; ',
				CASE WHEN u.is_unit THEN 'privacy unit, says whose row it is' END,
				CASE WHEN protected.unit_through IS NOT NULL AND b.attname = ANY (protected.unit || protected.unit_more) THEN format('leads to the privacy unit through %s', protected.unit_through)
					|| CASE WHEN protected.unit_more IS NOT NULL THEN ', together with ' || array_to_string(array_remove(protected.unit || protected.unit_more, b.attname), ', ') ELSE '' END END,
				CASE WHEN k.is_key AND a.nulls IS FALSE THEN 'group key, NULL is none' WHEN k.is_key THEN 'group key' END,
				CASE WHEN a.partition IS NOT NULL THEN 'immutable, queries on different values cost together what the costliest costs' END,
				CASE WHEN k.is_number AND a.lower IS NULL AND NOT u.is_unit AND dp_pg.profile_note(named, c.attname) IS NULL THEN 'no bounds are declared, write some that do not come from the rows' END),
			CASE
				WHEN bounds = '' THEN person || format(' WHERE %I IS NOT NULL', c.attname)
				WHEN u.is_unit THEN format('SELECT %sdp_count(DISTINCT %I) FROM %s', home, c.attname, name)
				WHEN k.is_key THEN format('SELECT %2$I, %1$sdp_count(*) FROM %3$s GROUP BY %2$I', home, c.attname, name)
				WHEN (a.lower IS NOT NULL OR dp_pg.profile_note(named, c.attname) ~ 'upper') AND k.is_number THEN format('SELECT %sdp_avg(%I) FROM %s', home, c.attname, name)
				WHEN a.lower IS NOT NULL THEN format('SELECT %sdp_median(%I) FROM %s', home, c.attname, name)
				WHEN k.is_number THEN format('SELECT %sdp_avg(%I, 0, 100) FROM %s', home, c.attname, name)
				ELSE format('SELECT %sdp_count(%I) FROM %s', home, c.attname, name)
			END
		FROM pg_attribute AS c
		JOIN pg_attribute AS b ON b.attrelid = protected.relid
			AND b.attnum = dp_pg.shown_column(protected.relid, named, c.attnum)
		JOIN pg_type AS y ON y.oid = b.atttypid
		JOIN pg_type AS t ON t.oid = CASE y.typtype WHEN 'd' THEN y.typbasetype ELSE y.oid END
		LEFT JOIN dp_pg.attribute AS a ON a.relid = protected.relid AND a.attnum = b.attnum
		CROSS JOIN LATERAL (SELECT b.attname IS NOT DISTINCT FROM protected.unit AND protected.unit_through IS NULL AS is_unit) AS u
		CROSS JOIN LATERAL (SELECT
			a.keys IS NOT NULL OR t.oid = 'bool'::regtype OR t.typtype = 'e' AS is_key,
			t.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'float8'::regtype, 'numeric'::regtype) AS is_number) AS k
		WHERE c.attrelid = named AND c.attnum > 0 AND NOT c.attisdropped
		ORDER BY c.attnum;
END $$;
COMMENT ON FUNCTION dp_pg.describe(regclass, text, text) IS
'internal: dp_describe, given the name of the relation and the qualification of the names of aggregates, both as the caller finds them; also for roles that may not read dp_pg.relation';

CREATE FUNCTION @extschema@.dp_describe(relation regclass,
	OUT attribute name, OUT type text, OUT example text, OUT note text,
	OUT nullable boolean, OUT lower text, OUT upper text, OUT keys text[],
	OUT other text)
RETURNS SETOF record LANGUAGE sql STABLE STRICT AS $$
	SELECT d.attribute, d.type, d.example, pg_catalog.concat_ws('; ', nullif(d.note, ''), CASE WHEN pg_catalog.has_table_privilege('dp_pg.profile', 'SELECT')
			AND pg_catalog.has_table_privilege('dp_pg.budget', 'SELECT') AND pg_catalog.has_table_privilege('dp_pg.relation', 'SELECT')
			THEN dp_pg.profile_note($1, d.attribute) END),
		d.nullable, d.lower, d.upper, d.keys, d.other
	FROM dp_pg.describe($1, $1::pg_catalog.text, CASE WHEN pg_catalog.pg_function_is_visible('@extschema@.dp_count()'::pg_catalog.regprocedure) THEN '' ELSE '@extschema@.' END) AS d
$$;
COMMENT ON FUNCTION @extschema@.dp_describe(regclass) IS
'what queries can use of a protected relation, which is given by itself or by its published view: a row for the relation (attribute NULL) and one for each column, with its declarations and an example that runs. Reads no private row and charges nothing. Errors: 42704 not protected';
