-- Tables that come to the name of a protected one.

CREATE FUNCTION dp_pg.column_type(relation oid, attribute name) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT format_type(a.atttypid, a.atttypmod) ||
		CASE WHEN a.attcollation <> t.typcollation
			THEN ' COLLATE ' || a.attcollation::regcollation ELSE '' END
	FROM pg_attribute AS a LEFT JOIN pg_type AS t ON t.oid = a.atttypid
	WHERE a.attrelid = relation AND a.attname = attribute AND a.attnum > 0
		AND NOT a.attisdropped
$$;
COMMENT ON FUNCTION dp_pg.column_type(oid, name) IS
'internal: type, length and collation of a column; NULL: no such column';
REVOKE ALL ON FUNCTION dp_pg.column_type(oid, name) FROM PUBLIC;

-- It reads tables only: while a relation is being dropped, a snapshot of the
-- command still sees its rows there, and caches do not.
CREATE FUNCTION dp_pg.keep(relation oid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT jsonb_build_object('relid', r.relid::oid::bigint,
		'relation', to_jsonb(r) - ARRAY['relid', 'relid_origin', 'unit_attnum', 'unit_more_attnums', 'unit_through', 'unit_key_attnum', 'unit_key_more_attnums', 'published', 'twin'],
		'attributes', (
			SELECT coalesce(jsonb_agg(to_jsonb(a) - ARRAY['relid', 'relid_origin', 'attnum', 'partition', 'guard', 'public_sizes']), '[]')
			FROM dp_pg.attribute AS a WHERE a.relid = r.relid),
		'profile', (SELECT to_jsonb(p) - 'relid' FROM dp_pg.profile AS p WHERE p.relid = r.relid),
		'types', (
			SELECT jsonb_object_agg(n.name, dp_pg.column_type(r.relid, n.name))
			FROM (
				SELECT unnest(r.unit || r.unit_more)
				UNION SELECT a.attname FROM dp_pg.attribute AS a WHERE a.relid = r.relid
				UNION SELECT unnest(b.unit_key || b.unit_key_more) FROM dp_pg.relation AS b WHERE b.unit_through = r.relid
			) AS n (name) WHERE n.name IS NOT NULL),
		'through', CASE WHEN r.unit_through IS NOT NULL THEN coalesce(
			(SELECT format('%I.%I', m.schema, m.name) FROM dp_pg.relation_name AS m
			 WHERE m.relid = r.unit_through OR (m.kept->>'relid')::oid = r.unit_through
			 ORDER BY m.follow DESC, m.schema, m.name LIMIT 1),
			(SELECT format('%I.%I', s.nspname, c.relname)
			 FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
			 WHERE c.oid = r.unit_through), '?') END,
		'view_schema', s.nspname, 'view', v.relname,
		-- none: all that there are
		'columns', (
			SELECT CASE WHEN jsonb_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attrelid = r.published)
				IS DISTINCT FROM jsonb_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attrelid = r.relid)
				THEN coalesce(jsonb_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attrelid = r.published), '[]')
				ELSE '[]' END
			FROM pg_attribute AS a
			WHERE a.attrelid IN (r.published, r.relid) AND a.attnum > 0 AND NOT a.attisdropped),
		'secured', (SELECT c.relrowsecurity FROM pg_class AS c WHERE c.oid = r.relid),
		'forced', (SELECT c.relrowsecurity AND c.relforcerowsecurity FROM pg_class AS c WHERE c.oid = r.relid))
	FROM dp_pg.relation AS r
	LEFT JOIN pg_class AS v ON v.oid = r.published
	LEFT JOIN pg_namespace AS s ON s.oid = v.relnamespace
	WHERE r.relid = relation
$$;
COMMENT ON FUNCTION dp_pg.keep(oid) IS
'internal: the declarations and the profile of a protected relation that the next table with its name inherits';
REVOKE ALL ON FUNCTION dp_pg.keep(oid) FROM PUBLIC;

CREATE FUNCTION dp_pg.heritage(schema name, name name) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(n.kept, dp_pg.keep(n.relid))
	FROM dp_pg.relation_name AS n WHERE n.schema = $1 AND n.name = $2
$$;
COMMENT ON FUNCTION dp_pg.heritage(name, name) IS
'internal: the declarations that the next table with the name inherits; NULL: none known';
REVOKE ALL ON FUNCTION dp_pg.heritage(name, name) FROM PUBLIC;

CREATE FUNCTION dp_pg.listed(first name, more name[]) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT string_agg(quote_ident(c.name), ', ' ORDER BY c.n)
	FROM unnest(first || more) WITH ORDINALITY AS c (name, n)
$$;
COMMENT ON FUNCTION dp_pg.listed(name, name[]) IS
'internal: names of columns as dp_protect takes them; NULL: none';
REVOKE ALL ON FUNCTION dp_pg.listed(name, name[]) FROM PUBLIC;

CREATE FUNCTION dp_pg.unlike(relation oid, kept jsonb) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT nullif(concat_ws('; ', string_agg(format(CASE WHEN d.now_is IS NULL THEN 'column %I is missing'
			WHEN d.was IS NULL THEN 'the type that column %I had is not known'
			ELSE 'column %I has type %s, and had %s' END, d.name, d.now_is, d.was), '; ' ORDER BY d.name),
		(SELECT 'row security is not enabled' FROM pg_class AS c
		 WHERE c.oid = relation AND NOT c.relrowsecurity AND (kept->'secured')::boolean),
		(SELECT 'row security is not forced' FROM pg_class AS c
		 WHERE c.oid = relation AND NOT c.relforcerowsecurity AND (kept->'forced')::boolean)), '')
	FROM (
		SELECT n.name, dp_pg.column_type(relation, n.name::name), kept->'types'->>n.name
		FROM (
			SELECT kept->'relation'->>'unit'
			UNION SELECT a->>'attname' FROM jsonb_array_elements(kept->'attributes') AS a
			UNION SELECT jsonb_object_keys(coalesce(nullif(kept->'types', 'null'), '{}'))
		) AS n (name) WHERE n.name IS NOT NULL
	) AS d (name, now_is, was)
	WHERE d.now_is IS DISTINCT FROM d.was OR d.now_is IS NULL
$$;
COMMENT ON FUNCTION dp_pg.unlike(oid, jsonb) IS
'internal: declared columns that a relation lacks or has with another type, and missing row security; NULL: none';
REVOKE ALL ON FUNCTION dp_pg.unlike(oid, jsonb) FROM PUBLIC;

CREATE FUNCTION dp_pg.follow_tables() RETURNS event_trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_follow_tables';
COMMENT ON FUNCTION dp_pg.follow_tables() IS
'event trigger: protects tables that get followed names, and warns about those that get names not followed';
REVOKE ALL ON FUNCTION dp_pg.follow_tables() FROM PUBLIC;
CREATE EVENT TRIGGER dp_pg_follow_tables ON ddl_command_end
EXECUTE FUNCTION dp_pg.follow_tables();
ALTER EVENT TRIGGER dp_pg_follow_tables ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER dp_pg_follow_tables IS
'dp_pg: protects tables that get followed names';

CREATE FUNCTION @extschema@.dp_unfollow(relation text)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_unfollow';
COMMENT ON FUNCTION @extschema@.dp_unfollow(text) IS
'stops following a name: a table that gets it later is not protected automatically, nor, if the protected one is gone, warned about; a protected table with the name stays protected. Of a table that was renamed both names end, with a notice. No table need have the name. Errors: 42501 not the owner, 42704 no protected relation has or had the name, 42602 not a name, 22004 NULL';
