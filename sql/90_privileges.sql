-- Nobody but the extension's owner may build on its internal functions.

DO $lock$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN
		SELECT p.oid::regprocedure
		FROM pg_catalog.pg_proc p
		WHERE p.pronamespace = 'dp_pg'::regnamespace
		AND (p.proname LIKE 'final\_%' OR
			 p.proname IN ('skip', 'sum_add', 'sum_combine', 'release',
						'tally_combine',
						'counts_add', 'counts_combine', 'counts_save',
						'counts_load'))
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
	END LOOP;
END
$lock$;

-- What only this script calls.
DROP FUNCTION dp_pg.make_twins(text, text, text, text, text, boolean);

-- Estimates of a planner go past row security: without statistics of its
-- columns a hidden row shows in no estimate.
DO $statistics$
DECLARE
	a record;
BEGIN
	FOR a IN
		SELECT c.oid::pg_catalog.regclass AS relation, t.attname
		FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_attribute t ON t.attrelid = c.oid
		WHERE c.relnamespace = 'dp_pg'::regnamespace AND c.relkind = 'r'
			AND c.relrowsecurity AND t.attnum > 0 AND NOT t.attisdropped
	LOOP
		EXECUTE pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0',
			a.relation, a.attname);
	END LOOP;
END
$statistics$;
