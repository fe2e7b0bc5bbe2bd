-- dp_harden: runs the remedies of dp_audit that only take privileges away, and
-- dp_unharden gives back what it took.
--
-- Both act as the superuser who calls them.  What they execute is built here
-- and in 31_audit.sql from fixed words and quoted names of the catalogs, under
-- a search_path of pg_catalog; whether a command did what it should is looked
-- up by OID, and otherwise it is undone: names can change hands in between.

CREATE TABLE dp_pg.hardened (
	relid			regclass NOT NULL,
	relid_origin	oid NOT NULL,
	attname			name,
	attnum			int2,
	function		text,
	taken			boolean NOT NULL,
	privilege		text NOT NULL,
	grantable		boolean NOT NULL,
	grantee			name NOT NULL,
	grantee_oid		oid NOT NULL,
	grantor			name,
	grantor_oid		oid,
	cluster			bigint NOT NULL,
	at				timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT hardened_key UNIQUE NULLS NOT DISTINCT (relid, attname,
		function, taken, privilege, grantee_oid, grantor_oid, cluster)
);
-- a publication of all tables must not keep a superuser from closing
ALTER TABLE dp_pg.hardened REPLICA IDENTITY FULL;
COMMENT ON TABLE dp_pg.hardened IS
'privileges that dp_harden changed and dp_unharden has not given back; written by superusers only, readable by every role';
COMMENT ON COLUMN dp_pg.hardened.relid IS
'the relation; pg_proc for a function';
COMMENT ON COLUMN dp_pg.hardened.relid_origin IS
'its OID when the row was written or restored';
COMMENT ON COLUMN dp_pg.hardened.attname IS
'the column, NULL: the whole relation; follows a rename';
COMMENT ON COLUMN dp_pg.hardened.attnum IS 'its number';
COMMENT ON COLUMN dp_pg.hardened.function IS
'the function of pg_catalog, with its arguments; NULL: a relation';
COMMENT ON COLUMN dp_pg.hardened.taken IS
'true: taken away; false: granted, in place of a wider privilege';
COMMENT ON COLUMN dp_pg.hardened.privilege IS 'SELECT, EXECUTE, ...';
COMMENT ON COLUMN dp_pg.hardened.grantable IS 'it was held with grant option';
COMMENT ON COLUMN dp_pg.hardened.grantee IS 'who held it; empty: PUBLIC';
COMMENT ON COLUMN dp_pg.hardened.grantee_oid IS
'as OID in the cluster that wrote the row; elsewhere the name decides; 0: PUBLIC';
COMMENT ON COLUMN dp_pg.hardened.grantor IS
'who had granted it; NULL: the owner of the object';
COMMENT ON COLUMN dp_pg.hardened.grantor_oid IS 'as OID';
COMMENT ON COLUMN dp_pg.hardened.cluster IS
'system identifier of the cluster that wrote the row';
COMMENT ON COLUMN dp_pg.hardened.at IS 'when';
GRANT SELECT ON dp_pg.hardened TO PUBLIC;

-- Catalogs' privileges are dumped, so what was taken must be known after a
-- restore too.
SELECT pg_catalog.pg_extension_config_dump('dp_pg.hardened', '');

CREATE FUNCTION dp_pg.guard_hardened() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_harden_guard';
COMMENT ON FUNCTION dp_pg.guard_hardened() IS
'row trigger of dp_pg.hardened: raises 42501 for all but superusers, since dp_unharden grants what the rows say';
REVOKE ALL ON FUNCTION dp_pg.guard_hardened() FROM PUBLIC;
CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE OR DELETE ON dp_pg.hardened
FOR EACH ROW EXECUTE FUNCTION dp_pg.guard_hardened();
ALTER TABLE dp_pg.hardened ENABLE ALWAYS TRIGGER a_guard;
COMMENT ON TRIGGER a_guard ON dp_pg.hardened IS 'superusers only';
CREATE TRIGGER fill_origin BEFORE INSERT ON dp_pg.hardened
FOR EACH ROW EXECUTE FUNCTION dp_pg.fill_origin();
ALTER TABLE dp_pg.hardened ENABLE ALWAYS TRIGGER fill_origin;
COMMENT ON TRIGGER fill_origin ON dp_pg.hardened IS
'fills relid_origin and attnum, after a restore too';

CREATE FUNCTION dp_pg.check_harden(function text) RETURNS void
LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'dp_harden_check';
COMMENT ON FUNCTION dp_pg.check_harden(text) IS
'internal: raises 42501, 25006, 55000 or 0A000 where dp_harden or dp_unharden may not run';

CREATE TYPE dp_pg.privilege AS (relid oid, attname name, function text,
	privilege text, grantable boolean, grantee oid, grantor oid);
COMMENT ON TYPE dp_pg.privilege IS
'internal: a privilege that a role holds, named as in dp_pg.hardened; grantor NULL: the owner';

CREATE FUNCTION dp_pg.privileges(catalog regclass, touched oid[])
RETURNS SETOF dp_pg.privilege LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT c.oid, a.attname, NULL::text, x.privilege_type, x.is_grantable,
		x.grantee, nullif(x.grantor, c.relowner)
	FROM pg_class AS c
	CROSS JOIN LATERAL (
		SELECT NULL::name, coalesce(c.relacl, acldefault('r', c.relowner))
		UNION ALL
		SELECT b.attname, b.attacl FROM pg_attribute AS b
		WHERE b.attrelid = c.oid AND NOT b.attisdropped) AS a (attname, acl)
	CROSS JOIN LATERAL aclexplode(a.acl) AS x
	WHERE catalog = 'pg_class'::regclass AND c.oid = ANY (touched)
	UNION ALL
	SELECT 'pg_proc'::regclass, NULL, 'pg_catalog.' || f.oid::regprocedure::text,
		x.privilege_type, x.is_grantable, x.grantee, nullif(x.grantor, f.proowner)
	FROM pg_proc AS f
	CROSS JOIN LATERAL aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) AS x
	WHERE catalog = 'pg_proc'::regclass AND f.oid = ANY (touched)
		AND f.pronamespace = 'pg_catalog'::regnamespace
$$;
COMMENT ON FUNCTION dp_pg.privileges(regclass, oid[]) IS
'internal: the privileges that roles hold on relations and their columns (pg_class) or on functions of pg_catalog (pg_proc)';
REVOKE ALL ON FUNCTION dp_pg.privileges(regclass, oid[]) FROM PUBLIC;

CREATE FUNCTION dp_pg.harden_run(command text, catalog regclass, touched oid[])
RETURNS text LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	before dp_pg.privilege[] := ARRAY(
		SELECT p FROM dp_pg.privileges(catalog, touched) AS p);
	changes bigint;
BEGIN
	EXECUTE command;
	WITH after AS (SELECT p.* FROM dp_pg.privileges(catalog, touched) AS p),
	change AS (
		SELECT true AS taken, t.*
		FROM (SELECT b.* FROM unnest(before) AS b EXCEPT SELECT * FROM after) AS t
		UNION ALL
		SELECT false, g.*
		FROM (SELECT * FROM after EXCEPT SELECT b.* FROM unnest(before) AS b) AS g)
	INSERT INTO dp_pg.hardened AS h (relid, relid_origin, attname, function,
		taken, privilege, grantable, grantee, grantee_oid, grantor, grantor_oid,
		cluster)
	SELECT c.relid, c.relid, c.attname, c.function, c.taken, c.privilege,
		c.grantable, coalesce(e.rolname, ''), c.grantee, o.rolname, c.grantor,
		dp_pg.cluster()
	FROM change AS c
	LEFT JOIN pg_roles AS e ON e.oid = c.grantee
	LEFT JOIN pg_roles AS o ON o.oid = c.grantor
	ON CONFLICT ON CONSTRAINT hardened_key
	DO UPDATE SET grantable = h.grantable OR excluded.grantable;
	GET DIAGNOSTICS changes = ROW_COUNT;
	IF changes = 0 THEN
		RAISE EXCEPTION 'it changed nothing (granted by another role than the owner?)';
	END IF;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
COMMENT ON FUNCTION dp_pg.harden_run(text, regclass, oid[]) IS
'internal: runs a remedy and records what it changed; NULL, or why it did nothing';
REVOKE ALL ON FUNCTION dp_pg.harden_run(text, regclass, oid[]) FROM PUBLIC;

CREATE FUNCTION dp_pg.check_keep(keep text[], findings dp_pg.finding[])
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	known CONSTANT text[] := '{pg_class,pg_relation_size,pg_stat_all_tables,pg_stat_database}';
	name text;
BEGIN
	SELECT k.name INTO name FROM unnest(keep) AS k (name)
	WHERE k.name = ANY (known) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = format('dp_harden() cannot keep %s', coalesce(quote_ident(name), 'NULL')),
			DETAIL = 'keep names statistics that are to stay readable, by the column object of dp_audit().',
			HINT = format('Names are %s.', array_to_string(known, ', '));
	END IF;
	SELECT k.name INTO name FROM unnest(keep) AS k (name)
	WHERE NOT EXISTS (SELECT FROM unnest(findings) AS f WHERE f.object = k.name AND f.told IS NULL) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = format('%s is closed already', name),
			DETAIL = 'keep leaves open what is open, and opens nothing.',
			HINT = format('If dp_harden() closed it: SELECT * FROM dp_unharden(); SELECT * FROM dp_harden(keep => %L);', keep);
	END IF;
END $$;
COMMENT ON FUNCTION dp_pg.check_keep(text[], dp_pg.finding[]) IS
'internal: raises 22023 or 55000 if dp_harden cannot keep what its argument names';
REVOKE ALL ON FUNCTION dp_pg.check_keep(text[], dp_pg.finding[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.dp_harden(keep text[] DEFAULT '{}', OUT severity text, OUT finding text,
	OUT object text, OUT command text, OUT done boolean, OUT why text)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off AS $$
#variable_conflict use_column
DECLARE
	found dp_pg.finding[];
	reasons text[] := '{}';
	f dp_pg.finding;
BEGIN
	PERFORM dp_pg.check_harden('dp_harden');
	LOCK TABLE dp_pg.hardened IN SHARE ROW EXCLUSIVE MODE;
	found := ARRAY(SELECT a FROM dp_pg.audit() AS a);
	PERFORM dp_pg.check_keep(keep, found);
	FOREACH f IN ARRAY found LOOP
		reasons := array_append(reasons, CASE WHEN f.told IS NOT NULL THEN f.told
			WHEN f.object = ANY (keep) THEN 'it is kept: whoever can read it learns exact numbers about private rows'
			ELSE dp_pg.harden_run(f.remedy, f.catalog, f.touched) END);
	END LOOP;
	RETURN QUERY
	WITH before AS (
		SELECT b.*, r.reason
		FROM unnest(found) WITH ORDINALITY AS b (severity, finding, object,
			remedy, alternative, told, catalog, touched, place)
		JOIN unnest(reasons) WITH ORDINALITY AS r (reason, place)
			ON r.place = b.place),
	after AS (SELECT a.* FROM dp_pg.audit() AS a),
	-- what is found now of an object, and was not found so before
	rest AS (
		SELECT a.* FROM after AS a
		WHERE a.remedy NOT IN (SELECT b.remedy FROM before AS b)),
	result AS (
		SELECT b.place, b.severity, b.finding, b.object, b.remedy, b.reason,
			b.remedy IN (SELECT a.remedy FROM after AS a)
			OR EXISTS (SELECT FROM rest AS r
				WHERE r.catalog = b.catalog AND r.touched && b.touched) AS open
		FROM before AS b
		UNION ALL
		SELECT 9223372036854775807, r.severity, r.finding, r.object, r.remedy,
			coalesce(r.told, 'it was found after the others were closed'), true
		FROM rest AS r)
	SELECT r.severity, r.finding, r.object, r.remedy, NOT r.open,
		CASE WHEN r.open THEN coalesce(r.reason, 'something is left of it')
			WHEN r.reason IS NOT NULL THEN 'another command closed it' END
	FROM result AS r ORDER BY r.place, r.remedy COLLATE "C";
END $$;
COMMENT ON FUNCTION @extschema@.dp_harden(text[]) IS
'runs those remedies of dp_audit() that only take away privileges on objects of this database, and lists the others: a row per finding, with the command, whether the finding is closed, and if not, why (NULL otherwise); keep (NULL: nothing): statistics that stay readable and are found again, of pg_class, pg_relation_size, pg_stat_all_tables, pg_stat_database; dp_unharden() gives back what it took; for superusers; errors 42501, 25006, 22023 keep has another name or NULL, 55000 what it names is closed already, or the extension does not belong to a superuser, 0A000 not READ COMMITTED';

-- Giving back.

CREATE VIEW dp_pg.hardening AS
SELECT h.ctid AS place, h.relid, h.attname, h.attnum, h.function, h.taken,
	h.privilege, h.grantable, e.oid AS grantee,
	CASE WHEN h.grantee_oid = 0 THEN 'PUBLIC'
		ELSE quote_ident(coalesce(e.rolname, h.grantee)) END AS to_whom,
	o.rolname AS grantor, h.grantor_oid IS NULL AS by_owner,
	coalesce(format('%I.%I', n.nspname, c.relname), h.relid::text) AS target,
	coalesce(f.oid, h.relid) AS touched,
	s.own AND (e.oid IS NULL AND h.grantee_oid <> 0
		OR o.oid IS NULL AND h.grantor_oid IS NOT NULL) AS is_lost,
	CASE WHEN h.function IS NOT NULL AND f.oid IS NULL
			THEN format('function %s does not exist', h.function)
		WHEN c.oid IS NULL THEN 'the relation does not exist'
		WHEN h.attname IS NOT NULL AND a.attnum IS NULL
			THEN format('column %I does not exist', h.attname)
		WHEN e.oid IS NULL AND h.grantee_oid <> 0
			THEN format('role %I does not exist', h.grantee)
		WHEN o.oid IS NULL AND h.grantor_oid IS NOT NULL
			THEN format('role %I, who had granted it, does not exist', h.grantor)
	END AS why
FROM dp_pg.hardened AS h
CROSS JOIN LATERAL (SELECT dp_pg.in_lineage(h.cluster) AS own) AS s
LEFT JOIN (pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace) ON c.oid = h.relid
LEFT JOIN pg_attribute AS a ON a.attrelid = h.relid AND a.attname = h.attname AND NOT a.attisdropped
LEFT JOIN pg_proc AS f ON f.oid = to_regprocedure(h.function)
LEFT JOIN pg_roles AS e ON h.grantee_oid <> 0
	AND CASE WHEN s.own THEN e.oid = h.grantee_oid ELSE e.rolname = h.grantee END
LEFT JOIN pg_roles AS o ON h.grantor_oid IS NOT NULL
	AND CASE WHEN s.own THEN o.oid = h.grantor_oid ELSE o.rolname = h.grantor END;
COMMENT ON VIEW dp_pg.hardening IS
'internal: dp_pg.hardened with roles and objects as they are here and now';

CREATE FUNCTION dp_pg.unharden_plan(OUT step int, OUT relid regclass,
	OUT command text, OUT grantor name, OUT why text, OUT places tid[])
RETURNS SETOF record LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT CASE WHEN NOT p.taken THEN 3 WHEN p.by_owner THEN 1 ELSE 2 END,
		p.relid,
		CASE WHEN p.taken
			THEN format('GRANT %s ON %s TO %s%s;', string_agg(DISTINCT p.what, ', ' ORDER BY p.what),
				p.target, p.to_whom, CASE WHEN p.grantable THEN ' WITH GRANT OPTION' END)
			ELSE format('REVOKE %s ON %s FROM %s;', string_agg(DISTINCT p.what, ', ' ORDER BY p.what),
				p.target, p.to_whom) END,
		p.grantor, p.why, array_agg(u.place)
	FROM (
		SELECT h.relid, h.taken, h.by_owner, h.grantable, h.to_whom, h.grantor, h.why,
			(h.privilege || CASE WHEN h.attname IS NULL THEN ''
				ELSE format(' (%s)', string_agg(quote_ident(h.attname), ', ' ORDER BY h.attnum))
				END) COLLATE "C" AS what,
			CASE WHEN h.function IS NULL THEN 'TABLE ' || h.target
				ELSE 'FUNCTION ' || string_agg(h.function, ', ' ORDER BY h.function COLLATE "C")
				END AS target,
			array_agg(h.place) AS places
		FROM dp_pg.hardening AS h
		GROUP BY h.relid, h.taken, h.by_owner, h.grantable, h.to_whom, h.grantor, h.why,
			h.target, h.privilege, h.attname IS NULL, h.function IS NULL
	) AS p
	CROSS JOIN LATERAL unnest(p.places) AS u (place)
	GROUP BY p.taken, p.by_owner, p.relid, p.grantable, p.target, p.to_whom,
		p.grantor, p.why
$$;
COMMENT ON FUNCTION dp_pg.unharden_plan() IS
'internal: the commands that give back what dp_pg.hardened records: step 1 what owners had granted, 2 what others had, 3 ends what was granted instead; why: it cannot be; places: the rows';
REVOKE ALL ON FUNCTION dp_pg.unharden_plan() FROM PUBLIC;

CREATE FUNCTION dp_pg.unharden_run(command text, grantor name, places tid[])
RETURNS text LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	role text := current_setting('role');
BEGIN
	-- a grant that others made is theirs again
	IF grantor IS NOT NULL THEN
		PERFORM set_config('role', grantor, true);
	END IF;
	EXECUTE command;
	IF grantor IS NOT NULL THEN
		PERFORM set_config('role', role, true);
	END IF;
	IF EXISTS (
		SELECT FROM dp_pg.hardening AS h
		WHERE h.place = ANY (places) AND h.taken <> EXISTS (
			SELECT FROM dp_pg.privileges(CASE WHEN h.function IS NULL
				THEN 'pg_class'::regclass ELSE 'pg_proc' END, ARRAY[h.touched]) AS p
			WHERE p.attname IS NOT DISTINCT FROM h.attname
				AND p.privilege = h.privilege
				AND p.grantee = coalesce(h.grantee, 0)
				AND (p.grantable OR NOT h.grantable)
				AND (h.taken OR p.grantor IS NULL)))
	THEN
		RAISE EXCEPTION 'it changed nothing';
	END IF;
	DELETE FROM dp_pg.hardened WHERE ctid = ANY (places);
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
COMMENT ON FUNCTION dp_pg.unharden_run(text, name, tid[]) IS
'internal: runs a command of dp_pg.unharden_plan(), as the grantor where one is named, and forgets the rows; NULL, or why it did nothing';
REVOKE ALL ON FUNCTION dp_pg.unharden_run(text, name, tid[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.dp_unharden(OUT object text, OUT command text,
	OUT done boolean, OUT why text)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off AS $$
#variable_conflict use_column
DECLARE
	p record;
	progress boolean := true;
BEGIN
	PERFORM dp_pg.check_harden('dp_unharden');
	LOCK TABLE dp_pg.hardened IN SHARE ROW EXCLUSIVE MODE;
	-- a role that got a grant option back can grant what it had granted
	WHILE progress LOOP
		progress := false;
		FOR p IN SELECT q.* FROM dp_pg.unharden_plan() AS q
			WHERE q.why IS NULL ORDER BY q.step, q.command COLLATE "C"
		LOOP
			-- what was granted instead goes when all it stands for is back
			CONTINUE WHEN p.step = 3 AND EXISTS (SELECT FROM dp_pg.hardened AS h
				WHERE h.relid = p.relid AND h.taken);
			CONTINUE WHEN dp_pg.unharden_run(p.command, p.grantor, p.places) IS NOT NULL;
			progress := true;
			object := p.relid;
			command := p.command;
			done := true;
			RETURN NEXT;
		END LOOP;
	END LOOP;
	done := false;
	FOR p IN SELECT q.* FROM dp_pg.unharden_plan() AS q
		ORDER BY q.step, q.command COLLATE "C"
	LOOP
		object := p.relid;
		command := p.command;
		why := CASE WHEN p.why IS NOT NULL THEN p.why
			WHEN p.step = 3 THEN 'what it stands for was not given back'
			ELSE dp_pg.unharden_run(p.command, p.grantor, p.places) END;
		RETURN NEXT;
	END LOOP;
	-- nobody will bear these OIDs again
	DELETE FROM dp_pg.hardened AS h USING dp_pg.hardening AS g
	WHERE h.ctid = g.place AND g.is_lost;
END $$;
COMMENT ON FUNCTION @extschema@.dp_unharden() IS
'gives back what dp_harden() took away in this database, and nothing else: a row per command, done or why not (a role was dropped, a grantor may no longer grant); what others granted meanwhile stays; for superusers; errors 42501, 25006, 55000 the extension does not belong to a superuser, 0A000 not READ COMMITTED';
