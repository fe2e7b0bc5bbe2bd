-- dp_audit: what still leaks around the extension on this server.

-- The parts are internal; each answers rows of this type.  A remedy is whole
-- commands and nothing else, with every name quoted: other roles chose the
-- names, and superusers run it.
CREATE TYPE dp_pg.finding AS (severity text, finding text, object text,
	remedy text, alternative text, told text, catalog regclass, touched oid[]);
COMMENT ON TYPE dp_pg.finding IS
'internal: a finding of dp_audit; alternative: another command, NULL: none; told: why dp_harden does not run the remedy; NULL: it does, and the remedy changes only privileges on the objects touched of the catalog';

CREATE FUNCTION dp_pg.exposures(OUT relation oid, OUT part oid,
	OUT severity text, OUT finding text, OUT remedy text, OUT alternative text,
	OUT privilege boolean)
RETURNS SETOF record LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'dp_relation_exposures';
COMMENT ON FUNCTION dp_pg.exposures() IS
'internal: privileges and other things through which other roles learn rows of protected relations';
REVOKE ALL ON FUNCTION dp_pg.exposures() FROM PUBLIC;

CREATE FUNCTION dp_pg.is_preloaded() RETURNS boolean
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'dp_relation_is_preloaded';
COMMENT ON FUNCTION dp_pg.is_preloaded() IS
'internal: did the library come in through shared_preload_libraries?';
REVOKE ALL ON FUNCTION dp_pg.is_preloaded() FROM PUBLIC;

CREATE FUNCTION dp_pg.has_left_dataset(relation oid) RETURNS boolean
LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'dp_relation_has_left_dataset';
COMMENT ON FUNCTION dp_pg.has_left_dataset(oid) IS
'internal: does a protected relation belong to a role whose rights the owner of its dataset does not have?';
REVOKE ALL ON FUNCTION dp_pg.has_left_dataset(oid) FROM PUBLIC;

CREATE VIEW dp_pg.audit_part AS
WITH RECURSIVE part (root, relid) AS (
	SELECT r.relid::oid, r.relid::oid FROM dp_pg.relation AS r
	UNION
	SELECT p.root, i.inhrelid
	FROM part AS p JOIN pg_catalog.pg_inherits AS i ON i.inhparent = p.relid
)
SELECT p.root, p.relid, c.relowner
FROM part AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid;
COMMENT ON VIEW dp_pg.audit_part IS
'internal: every table whose rows are protected';

CREATE FUNCTION dp_pg.audit_grantees(acl aclitem[], owner oid,
	privileges text[])
RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT string_agg(DISTINCT CASE WHEN x.grantee = 0 THEN 'PUBLIC'
					  ELSE quote_ident(g.rolname) END, ', ')
	FROM aclexplode(acl) AS x
	LEFT JOIN pg_roles AS g ON g.oid = x.grantee
	WHERE x.privilege_type = ANY (privileges) AND x.grantee <> owner
		AND NOT coalesce(g.rolsuper, false)
$$;
COMMENT ON FUNCTION dp_pg.audit_grantees(aclitem[], oid, text[]) IS
'internal: the roles other than owner and superusers that hold one of the privileges; NULL: none';
REVOKE ALL ON FUNCTION dp_pg.audit_grantees(aclitem[], oid, text[])
FROM PUBLIC;

CREATE FUNCTION dp_pg.audit_revoke(role oid, member oid, grantor oid, what text)
RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	-- since PostgreSQL 16 a grant has a grantor, and ends only in the name of that role
	SELECT format('REVOKE %s%I FROM %I%s;', what, pg_get_userbyid(role), pg_get_userbyid(member),
		CASE WHEN current_setting('server_version_num')::int >= 160000
			THEN format(' GRANTED BY %I CASCADE', pg_get_userbyid(grantor)) END)
$$;
COMMENT ON FUNCTION dp_pg.audit_revoke(oid, oid, oid, text) IS
'internal: the command that ends a membership, or the part of it that is named';
REVOKE ALL ON FUNCTION dp_pg.audit_revoke(oid, oid, oid, text) FROM PUBLIC;

CREATE FUNCTION dp_pg.audit_tables() RETURNS SETOF dp_pg.finding LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT e.severity, e.finding || ': rows can be learnt without differential privacy',
		e.part::regclass::text, e.remedy, e.alternative,
		CASE WHEN NOT e.privilege THEN 'it changes or drops an object: its owner decides' END,
		CASE WHEN e.privilege THEN 'pg_class'::regclass END,
		CASE WHEN e.privilege THEN ARRAY[e.part] END
	FROM dp_pg.exposures() AS e
	UNION ALL
	SELECT x.severity, x.finding, x.object, x.remedy, NULL, x.told, NULL, NULL
	FROM (
	SELECT 'high', 'the unit column ' || quote_ident(r.unit) || ' does not exist any more: private queries are refused',
		r.relid::text, format('SELECT dp_protect(%L, unit => ...);', r.relid::text),
		'the command lacks the name of the unit column, which the table''s owner knows'
	FROM dp_pg.relation AS r
	WHERE r.unit IS NOT NULL AND NOT EXISTS (
		SELECT FROM pg_attribute AS a
		WHERE a.attrelid = r.relid AND a.attname = r.unit
			AND NOT a.attisdropped
			AND (r.relid_origin <> r.relid::oid OR a.attnum = r.unit_attnum))
	UNION ALL
	SELECT 'high', format('its unit is behind the primary key (%s) of %s, which is gone: private queries are refused', k.columns, r.unit_through),
		r.relid::text, format('ALTER TABLE %s ADD PRIMARY KEY (%s);', r.unit_through, k.columns),
		'it changes an object: its owner decides'
	FROM dp_pg.relation AS r
	CROSS JOIN LATERAL (
		SELECT array_agg(u.name::text ORDER BY u.name::text) AS names, string_agg(quote_ident(u.name), ', ' ORDER BY u.place) AS columns
		FROM unnest(r.unit_key || r.unit_key_more) WITH ORDINALITY AS u (name, place)) AS k
	WHERE r.unit_through IS NOT NULL AND EXISTS (SELECT FROM pg_class AS c WHERE c.oid = r.unit_through) AND NOT EXISTS (
		SELECT FROM pg_index AS i
		WHERE i.indrelid = r.unit_through AND i.indisprimary AND i.indimmediate
			AND k.names = ARRAY(
				SELECT a.attname::text FROM pg_attribute AS a
				WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
				ORDER BY 1))
	UNION ALL
	SELECT 'high', format('it belongs to %I, whose rights the owner of dataset %I does not have: private queries are refused', o.rolname, r.dataset),
		r.relid::text, format('SELECT dp_unprotect(%L), dp_protect(%1$L, dataset => ...);', r.relid::text),
		'the command lacks the name of a dataset, which the table''s owner knows'
	FROM dp_pg.relation AS r
	JOIN pg_class AS c ON c.oid = r.relid
	JOIN pg_roles AS o ON o.oid = c.relowner
	WHERE dp_pg.has_left_dataset(r.relid)
	UNION ALL
	SELECT 'critical', format('it is a copy of the dataset in %s: if private queries go on there, budgets are spent twice',
			coalesce('database ' || quote_ident(o.datname), 'a database that is not in this cluster')),
		quote_ident(d.name), format('UPDATE dp_pg.dataset SET home = dp_pg.home() WHERE name = %L;', d.name),
		'it says that nobody asks private queries there any more, which a superuser must know'
	FROM dp_pg.dataset AS d
	LEFT JOIN pg_database AS o ON d.home = dp_pg.cluster() || '/' || o.oid
	WHERE d.home IS DISTINCT FROM dp_pg.home()
	UNION ALL
	SELECT 'low', format('trigger %I runs function %s, owned by %I, on protected rows',
			t.tgname, f.oid::regprocedure, o.rolname),
		p.relid::regclass::text,
		format('DROP TRIGGER %I ON %s;', t.tgname, p.relid::regclass),
		'it drops an object of the table: its owner decides'
	FROM dp_pg.audit_part AS p
	JOIN pg_trigger AS t ON t.tgrelid = p.relid AND NOT t.tgisinternal
	-- another role's function is among the exposures
	JOIN pg_proc AS f ON f.oid = t.tgfoid AND f.proowner = p.relowner
	JOIN pg_roles AS o ON o.oid = f.proowner AND NOT o.rolsuper
	UNION ALL
	SELECT 'medium', format('rule %I rewrites commands on protected rows', w.rulename),
		p.relid::regclass::text,
		format('DROP RULE %I ON %s;', w.rulename, p.relid::regclass),
		'it drops an object of the table: its owner decides'
	FROM dp_pg.audit_part AS p JOIN pg_rewrite AS w ON w.ev_class = p.relid
	UNION ALL
	SELECT 'low', format('policy %I decides which protected rows private queries of a role count', l.polname),
		p.relid::regclass::text,
		format('DROP POLICY %I ON %s;', l.polname, p.relid::regclass),
		'it drops an object of the table: its owner decides'
	FROM dp_pg.audit_part AS p JOIN pg_policy AS l ON l.polrelid = p.relid
	UNION ALL
	SELECT 'information', 'no bound says how many rows of a unit count: queries that need one are refused until their role sets dp_pg.max_total',
		r.relid::text, format('SELECT dp_declare(%L, max_total => ...);', r.relid::text),
		'the command lacks the most rows that a unit has, which the table''s owner may know'
	FROM dp_pg.relation AS r WHERE dp_pg.bounds_text(r.relid) = ''
	UNION ALL
	SELECT 'high', format('detaching it from %s has begun and not ended: GRANT does not warn of it', i.inhparent::regclass),
		i.inhrelid::regclass::text, format('ALTER TABLE %s DETACH PARTITION %s FINALIZE;', i.inhparent::regclass, i.inhrelid::regclass),
		'it changes an object: its owner decides'
	FROM dp_pg.audit_part AS p JOIN pg_inherits AS i ON i.inhparent = p.relid AND i.inhdetachpending
	UNION ALL
	SELECT 'medium', format('publication %I replicates protected rows', b.pubname),
		p.relid::regclass::text,
		CASE WHEN b.puballtables OR s.pnpubid IS NOT NULL
			THEN format('DROP PUBLICATION %I;', b.pubname)
			ELSE format('ALTER PUBLICATION %I DROP TABLE %s;', b.pubname, p.relid::regclass) END,
		'it ends a replication: its owner decides'
	FROM dp_pg.audit_part AS p
	JOIN pg_class AS c ON c.oid = p.relid
	CROSS JOIN pg_publication AS b
	LEFT JOIN pg_publication_namespace AS s
		ON s.pnpubid = b.oid AND s.pnnspid = c.relnamespace
	WHERE b.puballtables OR s.pnpubid IS NOT NULL
		OR EXISTS (SELECT FROM pg_publication_rel AS x
				   WHERE x.prpubid = b.oid AND x.prrelid = p.relid)
	) AS x (severity, finding, object, remedy, told)
	UNION ALL
	SELECT 'high', 'it is not protected, and the relation that had its name before was',
		c.oid::regclass::text, format('SELECT dp_protect(%L, unit => ...);', format('%I.%I', n.schema, n.name)),
		format('SELECT dp_unfollow(%L);', format('%I.%I', n.schema, n.name)),
		'the command lacks the name of the unit column, which the table''s owner knows', NULL, NULL
	FROM dp_pg.relation_name AS n
	JOIN pg_namespace AS s ON s.nspname = n.schema
	JOIN pg_class AS c ON c.relnamespace = s.oid AND c.relname = n.name
	WHERE c.oid <> n.relid AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
		AND NOT EXISTS (SELECT FROM dp_pg.audit_part AS p WHERE p.relid = c.oid)
		AND NOT EXISTS (SELECT FROM dp_pg.relation AS r WHERE r.published = c.oid)
	UNION ALL
	SELECT 'low', 'no table has the name, and the next one that comes to it is protected',
		format('%I.%I', n.schema, n.name), format('SELECT dp_unfollow(%L);', format('%I.%I', n.schema, n.name)),
		NULL, 'its owner may be about to create that table', NULL, NULL
	FROM dp_pg.relation_name AS n
	WHERE n.follow AND NOT EXISTS (
		SELECT FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
		WHERE s.nspname = n.schema AND c.relname = n.name)
$$;
COMMENT ON FUNCTION dp_pg.audit_tables() IS
'internal: findings of dp_audit about the protected tables themselves';
REVOKE ALL ON FUNCTION dp_pg.audit_tables() FROM PUBLIC;

-- A table that is built anew is readable until it comes to its name, or for
-- ever, where default privileges say so.
CREATE FUNCTION dp_pg.audit_defaults() RETURNS SETOF dp_pg.finding LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT 'high', format('default privileges open every table that %I creates%s to %s',
			o.rolname, ' in schema ' || quote_ident(s.nspname), CASE g.grantees WHEN 'PUBLIC' THEN 'everybody' ELSE g.grantees END),
		coalesce(quote_ident(s.nspname), 'pg_default_acl'),
		format('ALTER DEFAULT PRIVILEGES FOR ROLE %I%s REVOKE ALL ON TABLES FROM %s;',
			o.rolname, ' IN SCHEMA ' || quote_ident(s.nspname), g.grantees),
		NULL, 'they may be meant for other tables: the role decides', NULL::regclass, NULL::oid[]
	FROM pg_default_acl AS d
	JOIN pg_roles AS o ON o.oid = d.defaclrole
	LEFT JOIN pg_namespace AS s ON s.oid = d.defaclnamespace
	CROSS JOIN LATERAL dp_pg.audit_grantees(d.defaclacl, d.defaclrole,
		ARRAY['SELECT', 'UPDATE', 'DELETE', 'REFERENCES', 'TRIGGER', 'MAINTAIN']) AS g (grantees)
	WHERE d.defaclobjtype = 'r' AND g.grantees IS NOT NULL
		AND (EXISTS (SELECT FROM dp_pg.audit_part AS p JOIN pg_class AS c ON c.oid = p.relid
				WHERE CASE d.defaclnamespace WHEN 0 THEN c.relowner = d.defaclrole
					ELSE c.relnamespace = d.defaclnamespace END)
			OR EXISTS (SELECT FROM dp_pg.relation_name AS n WHERE n.schema = s.nspname))
$$;
COMMENT ON FUNCTION dp_pg.audit_defaults() IS
'internal: findings of dp_audit about default privileges where protected tables are';
REVOKE ALL ON FUNCTION dp_pg.audit_defaults() FROM PUBLIC;

CREATE FUNCTION dp_pg.audit_readers() RETURNS SETOF dp_pg.finding LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT 'medium', format('%s can execute a SECURITY DEFINER function of %I, who can read protected rows',
			g.grantees, o.rolname),
		f.oid::regprocedure::text,
		format('REVOKE EXECUTE ON %s %s FROM %s;',
			CASE f.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END,
			f.oid::regprocedure, g.grantees),
		NULL, 'it may be a procedure that is meant for them: its owner decides',
		NULL::regclass, NULL::oid[]
	FROM pg_proc AS f
	JOIN pg_roles AS o ON o.oid = f.proowner
	CROSS JOIN LATERAL dp_pg.audit_grantees(
		coalesce(f.proacl, acldefault('f', f.proowner)), f.proowner,
		ARRAY['EXECUTE']) AS g (grantees)
	WHERE f.prosecdef AND g.grantees IS NOT NULL
		AND (o.rolsuper OR EXISTS (
			SELECT FROM dp_pg.audit_part AS p
			WHERE pg_has_role(f.proowner, p.relowner, 'MEMBER')))
		AND EXISTS (SELECT FROM dp_pg.audit_part)
		AND NOT EXISTS (SELECT FROM pg_depend AS d
			WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid
				AND d.deptype = 'e')
$$;
COMMENT ON FUNCTION dp_pg.audit_readers() IS
'internal: findings of dp_audit about functions that run with the rights of a role that can read protected tables';
REVOKE ALL ON FUNCTION dp_pg.audit_readers() FROM PUBLIC;

CREATE FUNCTION dp_pg.audit_roles() RETURNS SETOF dp_pg.finding LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT x.severity, x.finding, x.object, x.remedy, NULL,
		'it concerns all databases of the server, and who logs in as the role', NULL::regclass, NULL::oid[]
	FROM (
	SELECT p.severity, format('role %I has the rights of %I: %s', m.rolname, r.rolname, p.why),
		quote_ident(m.rolname),
		dp_pg.audit_revoke(a.roleid, a.member, a.grantor, '')
	FROM (VALUES
		('pg_read_all_data', 'critical', 'it reads every table'),
		('pg_write_all_data', 'critical', 'it learns how many rows a command meets'),
		('pg_read_server_files', 'critical', 'it reads the files of the tables'),
		('pg_write_server_files', 'critical', 'it can change the server''s files'),
		('pg_execute_server_program', 'critical', 'it runs programs as the server'),
		('pg_monitor', 'medium', 'it sees statistics about rows'),
		('pg_read_all_stats', 'medium', 'it sees statistics about rows'),
		('pg_stat_scan_tables', 'medium', 'it scans tables for statistics'),
		('pg_maintain', 'critical', 'it learns how many rows every table has')
	) AS p (name, severity, why)
	JOIN pg_roles AS r ON r.rolname = p.name
	JOIN pg_auth_members AS a ON a.roleid = r.oid
	JOIN pg_roles AS m ON m.oid = a.member
	WHERE NOT m.rolsuper AND m.rolname NOT LIKE 'pg\_%'
	UNION ALL
	-- since PostgreSQL 16 only of roles that it administers
	SELECT 'critical', format('role %I may make itself a member of the owner of any table', r.rolname),
		quote_ident(r.rolname), format('ALTER ROLE %I NOCREATEROLE;', r.rolname)
	FROM pg_roles AS r WHERE r.rolcreaterole AND NOT r.rolsuper
		AND current_setting('server_version_num')::int < 160000
	UNION ALL
	SELECT DISTINCT 'critical', format('role %I administers %s%I, who owns protected tables, and may make itself a member', r.rolname,
			CASE WHEN a.roleid <> o.oid THEN format('%I, a member of ', pg_get_userbyid(a.roleid)) END, o.rolname),
		quote_ident(r.rolname), dp_pg.audit_revoke(a.roleid, a.member, a.grantor, 'ADMIN OPTION FOR ')
	FROM pg_auth_members AS a
	JOIN pg_roles AS r ON r.oid = a.member AND NOT r.rolsuper
	JOIN dp_pg.audit_part AS p ON p.relowner <> r.oid
	JOIN pg_roles AS o ON o.oid = p.relowner
	WHERE a.admin_option AND pg_has_role(a.roleid, o.oid, 'MEMBER')
	UNION ALL
	SELECT 'high', format('role %I owns the database and learns by VACUUM VERBOSE how many rows every table has', r.rolname),
		quote_ident(d.datname), format('ALTER DATABASE %I OWNER TO %I;', d.datname,
			(SELECT o.rolname FROM pg_roles AS o WHERE o.rolsuper ORDER BY o.oid LIMIT 1))
	FROM pg_database AS d JOIN pg_roles AS r ON r.oid = d.datdba
	WHERE d.datname = current_database() AND NOT r.rolsuper
		AND EXISTS (SELECT FROM dp_pg.audit_part AS p WHERE NOT pg_has_role(r.oid, p.relowner, 'MEMBER'))
	UNION ALL
	SELECT 'critical', format('role %I may copy the whole server by replication', r.rolname),
		quote_ident(r.rolname), format('ALTER ROLE %I NOREPLICATION;', r.rolname)
	FROM pg_roles AS r WHERE r.rolreplication AND NOT r.rolsuper
	UNION ALL
	SELECT DISTINCT 'critical', format('role %I has a budget and is a member of %I, who owns protected tables', r.rolname, o.rolname),
		quote_ident(r.rolname), dp_pg.audit_revoke(a.roleid, a.member, a.grantor, '')
	FROM dp_pg.budgets AS b
	JOIN pg_roles AS r ON r.rolname = b.role AND NOT r.rolsuper
	JOIN dp_pg.audit_part AS p ON p.relowner <> r.oid
	JOIN pg_roles AS o ON o.oid = p.relowner
	JOIN pg_auth_members AS a ON a.member = r.oid
	WHERE b.active AND b.in_force AND pg_has_role(a.roleid, o.oid, 'MEMBER')
	) AS x (severity, finding, object, remedy)
$$;
COMMENT ON FUNCTION dp_pg.audit_roles() IS
'internal: findings of dp_audit about roles';
REVOKE ALL ON FUNCTION dp_pg.audit_roles() FROM PUBLIC;

CREATE FUNCTION dp_pg.audit_server() RETURNS SETOF dp_pg.finding LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT x.severity, x.finding, x.object, x.remedy, NULL,
		'it is a setting of the whole server, which no function can change', NULL::regclass, NULL::oid[]
	FROM (
	SELECT 'critical', 'the library is not preloaded: no query is private and grants are not watched',
		'shared_preload_libraries',
		format('ALTER SYSTEM SET shared_preload_libraries = %s; -- then restart',
			concat_ws(', ', nullif(current_setting('shared_preload_libraries'), ''), 'dp_pg'))
	WHERE NOT dp_pg.is_preloaded()
	UNION ALL
	SELECT w.severity, w.why, s.name,
		format('ALTER SYSTEM SET %I = %s; SELECT pg_reload_conf();', s.name, 'on')
	FROM (VALUES
		('fsync', 'critical', 'a crash of the machine can lose charges'),
		('full_page_writes', 'high', 'a crash of the machine can damage the ledger'),
		('synchronous_commit', 'low', 'sessions commit before their work is durable; the ledger''s worker does not')
	) AS w (name, severity, why)
	JOIN pg_settings AS s ON s.name = w.name
	WHERE s.setting IN ('off', 'local', 'remote_write')
	UNION ALL
	SELECT 'medium', 'calls and times of functions are counted where everybody can read them',
		s.name, format('ALTER SYSTEM SET %I = none; SELECT pg_reload_conf();', s.name)
	FROM pg_settings AS s WHERE s.name = 'track_functions' AND s.reset_val <> 'none'
	UNION ALL
	SELECT 'medium', 'summaries of the WAL name every block that a query over a table touched',
		s.name, format('ALTER SYSTEM SET %I = off; SELECT pg_reload_conf();', s.name)
	FROM pg_settings AS s WHERE s.name = 'summarize_wal' AND s.setting = 'on'
	UNION ALL
	SELECT 'low', format('parallel queries may find too few workers: dp_pg.workers (%s) leaves fewer than max_parallel_workers', w.kept),
		'max_worker_processes',
		format('ALTER SYSTEM SET max_worker_processes = %s; -- then restart', w.parallel + w.kept + 1)
	FROM (SELECT current_setting('max_worker_processes')::int, current_setting('max_parallel_workers')::int,
			current_setting('dp_pg.workers', true)::int) AS w (all_of_them, parallel, kept)
	WHERE w.kept > 0 AND w.all_of_them < w.parallel + w.kept + 1
	UNION ALL
	SELECT 'medium', 'an asynchronous standby can be promoted without the latest charges',
		coalesce(nullif(r.application_name, ''), 'standby'),
		format('ALTER SYSTEM SET synchronous_standby_names = %L; SELECT pg_reload_conf();',
			quote_ident(r.application_name))
	FROM pg_stat_replication AS r WHERE r.sync_state = 'async'
	) AS x (severity, finding, object, remedy)
	UNION ALL
	SELECT 'critical', format('%s can create functions in the schema of the extension, which calls with quoted literals may choose in place of its own, and which run with the rights of the caller', g.grantees),
		n.oid::regnamespace::text,
		format('REVOKE CREATE ON SCHEMA %I FROM %s CASCADE;', n.nspname, g.grantees), NULL,
		'roles may need the right for objects of their own: the owner of the schema decides',
		NULL, NULL
	FROM pg_extension AS e
	JOIN pg_namespace AS n ON n.oid = e.extnamespace
	CROSS JOIN LATERAL dp_pg.audit_grantees(n.nspacl, n.nspowner, ARRAY['CREATE']) AS g (grantees)
	WHERE e.extname = 'dp_pg' AND g.grantees IS NOT NULL
	UNION ALL
	SELECT 'critical', format('%s can read sampled values of every table', g.grantees),
		c.oid::regclass::text,
		format('REVOKE ALL ON pg_catalog.%I FROM %s CASCADE;', c.relname, g.grantees),
		NULL, NULL, 'pg_class', ARRAY[c.oid]
	FROM pg_class AS c
	CROSS JOIN LATERAL dp_pg.audit_grantees(array_cat(c.relacl, (
			SELECT array_agg(x) FROM pg_attribute AS a, unnest(a.attacl) AS x
			WHERE a.attrelid = c.oid)), c.relowner, ARRAY['SELECT']) AS g (grantees)
	WHERE c.oid IN ('pg_statistic'::regclass, 'pg_statistic_ext_data'::regclass)
		AND g.grantees IS NOT NULL
	UNION ALL
	-- who could read all of pg_class keeps the rest of it
	SELECT 'medium', format('%s can read how many rows and pages every table had at its last VACUUM or ANALYZE',
			CASE t.grantees WHEN 'PUBLIC' THEN 'everybody' ELSE t.grantees END),
		'pg_class',
		CASE WHEN t.whole THEN format('REVOKE SELECT ON pg_catalog.pg_class FROM %1$s CASCADE; GRANT SELECT (%2$s) ON pg_catalog.pg_class TO %1$s;', t.grantees, t.harmless)
			ELSE format('REVOKE SELECT (%s) ON pg_catalog.pg_class FROM %s CASCADE;', t.telling, t.grantees) END,
		NULL, NULL, 'pg_class', ARRAY['pg_class'::regclass::oid]
	FROM (
		SELECT w.whole, dp_pg.audit_grantees(CASE WHEN w.whole THEN c.relacl ELSE a.acl END,
				c.relowner, ARRAY['SELECT']), a.telling, a.harmless
		FROM pg_class AS c
		CROSS JOIN (VALUES (true), (false)) AS w (whole)
		CROSS JOIN LATERAL (
			SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE b.telling),
				string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE NOT b.telling),
				(SELECT array_agg(x) FROM pg_attribute AS y, unnest(y.attacl) AS x
				 WHERE y.attrelid = c.oid AND y.attname = ANY (array_agg(a.attname) FILTER (WHERE b.telling)))
			FROM pg_attribute AS a
			CROSS JOIN LATERAL (SELECT a.attname IN
				('reltuples', 'relpages', 'relallvisible', 'relallfrozen')) AS b (telling)
			WHERE a.attrelid = c.oid AND NOT a.attisdropped
		) AS a (telling, harmless, acl)
		WHERE c.oid = 'pg_class'::regclass
	) AS t (whole, grantees, telling, harmless)
	WHERE t.grantees IS NOT NULL
	UNION ALL
	SELECT 'medium', k.why, k.object,
		format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC;',
			string_agg('pg_catalog.' || f.oid::regprocedure::text, ', ' ORDER BY f.oid::regprocedure::text)),
		NULL, NULL, 'pg_proc', array_agg(f.oid)
	FROM (VALUES
		('everybody can read the size of every table', 'pg_relation_size',
		 '^pg_(relation|table|indexes|total_relation|tablespace|database)_size$'),
		('everybody can read counters of rows scanned, written and live in every table', 'pg_stat_all_tables',
		 '^pg_stat_get_(xact_)?(numscans|lastscan|tuples_.*|live_tuples|dead_tuples|mod_since_analyze|ins_since_vacuum|blocks_.*|(auto)?(vacuum|analyze)_count|(last|total)_(auto)?(vacuum|analyze)_time)$'),
		('everybody can read counters of the whole server, such as pg_stat_wal, which a quiet server moves by single rows', 'pg_stat_database',
		 '^pg_(stat_get_(slru|wal|io|backend_(io|wal)|checkpointer_.*|buf_.*|bgwriter_.*|db_(blocks|tuples|temp|blk|parallel_workers|xact)_.*|archiver|(xact_)?function_.*)|current_wal_(insert_|flush_)?lsn|last_wal_(receive|replay)_lsn|logical_emit_message|control_(checkpoint|recovery)|get_replication_slots|get_loaded_modules|wal_summary_contents|available_wal_summaries|get_wal_summarizer_state)$')
	) AS k (why, object, pattern)
	JOIN pg_proc AS f ON f.proname ~ k.pattern
		AND f.pronamespace = 'pg_catalog'::regnamespace
	WHERE has_function_privilege('public', f.oid, 'EXECUTE')
	GROUP BY k.why, k.object
$$;
COMMENT ON FUNCTION dp_pg.audit_server() IS
'internal: findings of dp_audit about settings, standbys and statistics';
REVOKE ALL ON FUNCTION dp_pg.audit_server() FROM PUBLIC;

CREATE FUNCTION dp_pg.audit() RETURNS SETOF dp_pg.finding LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off AS $$	-- recursion over catalogs looks costly, and is not
	SELECT w.* FROM (
		-- one command closes a thing once, however often it was found
		SELECT DISTINCT ON (a.remedy) a.*
		FROM (
			SELECT * FROM dp_pg.audit_tables()
			UNION ALL SELECT * FROM dp_pg.audit_defaults()
			UNION ALL SELECT * FROM dp_pg.audit_readers()
			UNION ALL SELECT * FROM dp_pg.audit_roles()
			UNION ALL SELECT * FROM dp_pg.audit_server()
		) AS a
		ORDER BY a.remedy, array_position(ARRAY['critical', 'high', 'medium',
				'low'], a.severity), a.object COLLATE "C",
			a.finding COLLATE "C"
	) AS w
	ORDER BY array_position(ARRAY['critical', 'high', 'medium', 'low'],
							w.severity),
		w.object COLLATE "C", w.finding COLLATE "C", w.remedy COLLATE "C"
$$;
COMMENT ON FUNCTION dp_pg.audit() IS
'internal: the findings of dp_audit, worst first';
REVOKE ALL ON FUNCTION dp_pg.audit() FROM PUBLIC;

CREATE FUNCTION @extschema@.dp_audit(OUT severity text, OUT finding text, OUT object text,
	OUT remedy text)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off AS $$
	-- a comment ends with its line, and names can hold line ends
	SELECT a.severity, a.finding, a.object, a.remedy ||
		CASE WHEN a.alternative !~ '[\n\r]' THEN ' -- or ' || a.alternative ELSE '' END
	FROM dp_pg.audit() AS a
$$;
COMMENT ON FUNCTION @extschema@.dp_audit() IS
'what still leaks around the extension on this server, and what will be refused: severity (critical, high, medium, low, information), finding, object, and the command that closes it; reads catalogs only and charges nothing';
