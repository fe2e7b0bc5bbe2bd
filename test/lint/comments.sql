-- Every object of the extension that a user can see has a comment.
BEGIN;
SELECT plan(3);

CREATE TEMPORARY VIEW uncommented AS
SELECT i.type || ' ' || i.identity AS object
FROM pg_depend AS d
CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) AS i
JOIN pg_extension AS e ON e.oid = d.refobjid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
AND e.extname = 'dp_pg'
AND i.type IN ('function', 'aggregate', 'procedure', 'view', 'table', 'type',
			   'schema', 'operator', 'event trigger')
-- Row types and array types go with their table or type.
AND NOT EXISTS (SELECT FROM pg_type AS t
				WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid
				AND (t.typrelid <> 0 OR t.typelem <> 0))
AND obj_description(d.objid, d.classid::regclass::name) IS NULL;

SELECT cmp_ok((SELECT count(*)::int FROM pg_depend AS d
			   JOIN pg_extension AS e ON e.oid = d.refobjid
			   WHERE d.deptype = 'e' AND e.extname = 'dp_pg'),
			  '>', 50, 'the extension has objects');
SELECT is_empty('SELECT object FROM uncommented ORDER BY 1',
				'every object has a comment');

CREATE FUNCTION dp_lint_sample() RETURNS int LANGUAGE sql AS 'SELECT 1';
ALTER EXTENSION dp_pg ADD FUNCTION dp_lint_sample();
SELECT results_eq('SELECT object FROM uncommented',
				  ARRAY['function public.dp_lint_sample()'],
				  'an object without comment is found');
SELECT * FROM finish();
ROLLBACK;
