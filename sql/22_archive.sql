-- Lines of the ledger of past periods, taken out of it.

-- What stays of lines that dp_ledger_archive took out of the ledger.
CREATE TABLE dp_pg.archive (
	id			bigint PRIMARY KEY,
	dataset		name NOT NULL,
	before		timestamptz NOT NULL,
	at			timestamptz NOT NULL,
	by			name NOT NULL,
	lines		bigint NOT NULL,
	first		bigint NOT NULL,
	last		bigint NOT NULL,
	epsilon		numeric NOT NULL,
	delta		numeric NOT NULL,
	rho			numeric NOT NULL,
	digest		bytea NOT NULL
);

COMMENT ON TABLE dp_pg.archive IS
'one row for each archiving of lines of dp_pg.ledger; visible to the owner of the dataset';
COMMENT ON COLUMN dp_pg.archive.before IS 'lines charged before this time were archived';
COMMENT ON COLUMN dp_pg.archive.at IS 'when they were archived';
COMMENT ON COLUMN dp_pg.archive.by IS 'who called dp_ledger_archive';
COMMENT ON COLUMN dp_pg.archive.lines IS 'number of lines';
COMMENT ON COLUMN dp_pg.archive.first IS 'smallest id of them';
COMMENT ON COLUMN dp_pg.archive.last IS 'greatest id of them';
COMMENT ON COLUMN dp_pg.archive.epsilon IS
'sum of what all payers were charged; Infinity if a mechanism had no pure guarantee';
COMMENT ON COLUMN dp_pg.archive.digest IS
'SHA-256 over the previous digest of the dataset and each line, in sequence; dp_ledger_verify compares it';

CREATE TABLE dp_pg.archive_sum (
	archive		bigint NOT NULL,
	role		name NOT NULL,
	payer		name,
	period		bigint,
	partition	bigint,
	part		name,
	lines		bigint NOT NULL,
	epsilon		numeric NOT NULL,
	delta		numeric NOT NULL,
	rho			numeric NOT NULL
);

CREATE INDEX archive_sum_archive ON dp_pg.archive_sum (archive);

COMMENT ON TABLE dp_pg.archive_sum IS
'sums of the archived lines, by asking role, payer, period and part; visible to the owner of the dataset';
COMMENT ON COLUMN dp_pg.archive_sum.archive IS 'id in dp_pg.archive';
COMMENT ON COLUMN dp_pg.archive_sum.role IS 'the asking role';
COMMENT ON COLUMN dp_pg.archive_sum.payer IS
'the role whose budget paid, NULL: exempt';
COMMENT ON COLUMN dp_pg.archive_sum.period IS
'period of the payer''s budget, NULL: exempt';
COMMENT ON COLUMN dp_pg.archive_sum.partition IS
'the partition whose largest part was charged, NULL: none';
COMMENT ON COLUMN dp_pg.archive_sum.part IS 'the part that the release is about';
COMMENT ON COLUMN dp_pg.archive_sum.lines IS 'number of lines';

-- Archives survive dump and restore.
SELECT pg_catalog.pg_extension_config_dump('dp_pg.archive', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.archive_sum', '');

ALTER TABLE dp_pg.archive ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.archive_sum ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_reads ON dp_pg.archive FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[]));
CREATE POLICY owner_reads ON dp_pg.archive_sum FOR SELECT
	USING (EXISTS (SELECT FROM dp_pg.archive AS a WHERE a.id = archive_sum.archive));

REVOKE ALL ON dp_pg.archive, dp_pg.archive_sum FROM PUBLIC;
GRANT SELECT ON dp_pg.archive, dp_pg.archive_sum TO PUBLIC;

CREATE FUNCTION @extschema@.dp_ledger_archive(
	before timestamptz, dataset name DEFAULT NULL,
	first bigint DEFAULT NULL, last bigint DEFAULT NULL)
RETURNS TABLE (id bigint, at timestamptz, role name, role_oid oid,
	cluster bigint, login_role name, payer name, dataset name, mechanism text,
	epsilon numeric, delta numeric, rho numeric, releases int,
	fingerprint bigint, price_epsilon numeric, price_delta numeric,
	price_rho numeric, batch bigint, partition bigint, part name,
	period bigint, archive bigint)
LANGUAGE c VOLATILE PARALLEL UNSAFE
SET jit = off
AS 'MODULE_PATHNAME', 'dp_ledger_sql_archive';
COMMENT ON FUNCTION @extschema@.dp_ledger_archive(timestamptz, name, bigint, bigint) IS
'removes from dp_pg.ledger the lines of a dataset (NULL: your default one) charged before a time, with ids from first to last (NULL: no limit), and returns them with the id of their archive, for the caller to keep: CREATE TABLE .. AS SELECT * FROM dp_ledger_archive(..); lines of a payer''s current period stay, as do those that paid for an open batch or session; budgets, caps and parts keep what was spent, and sums and a digest of the lines stay in dp_pg.archive; errors 22004, 42704, 42501, 25006';

-- Without SET, which would forbid COMMIT; so operators have their schema.
CREATE PROCEDURE @extschema@.dp_ledger_archive_into(
	lines regclass, before timestamptz, dataset name DEFAULT NULL,
	batch int DEFAULT 100000)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	next bigint;
	last bigint;
	moved bigint;
	kept bigint;
	target text;
	total bigint := 0;
BEGIN
	IF (SELECT pg_catalog.count(*) OPERATOR(pg_catalog.=) 0
			OR pg_catalog.bool_or(EXISTS (SELECT FROM pg_catalog.pg_rewrite AS w WHERE w.ev_class OPERATOR(pg_catalog.=) c.oid)
				OR pg_catalog.concat(c.relkind, c.relpersistence) OPERATOR(pg_catalog.!~) '^[rp]p$'::pg_catalog.text)
			FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) lines
			OR c.oid OPERATOR(pg_catalog.=) ANY (SELECT p.relid FROM pg_catalog.pg_partition_tree(lines) AS p)) THEN
		RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
			MESSAGE = pg_catalog.format('%s is not a permanent table without rules', coalesce(lines::pg_catalog.text, 'NULL')),
			DETAIL = 'The lines leave the ledger, and would be lost with the table''s rows, or go elsewhere.',
			HINT = 'Make it with CREATE TABLE .. AS SELECT * FROM dp_ledger_archive(now()) WITH NO DATA.';
	END IF;
	IF (batch OPERATOR(pg_catalog.>) 0) IS NOT TRUE THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'a batch must have one line at least', HINT = 'Leave it out for 100000 ids.';
	END IF;
	SELECT coalesce(pg_catalog.min(l.id), 1), coalesce(pg_catalog.max(l.id), 0) INTO next, last FROM dp_pg.ledger AS l
		WHERE l.dataset OPERATOR(pg_catalog.=) coalesce(dataset, current_user);
	SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) INTO STRICT target
		FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		WHERE c.oid OPERATOR(pg_catalog.=) lines;
	LOOP
		EXECUTE pg_catalog.format('WITH gone AS MATERIALIZED (SELECT * FROM @extschema@.dp_ledger_archive($1, $2, $3, $4)), '
			'kept AS (INSERT INTO %s SELECT * FROM gone RETURNING 1) '
			'SELECT (SELECT pg_catalog.count(*) FROM gone), (SELECT pg_catalog.count(*) FROM kept)', target)
			INTO moved, kept
			USING before, dataset, next, next OPERATOR(pg_catalog.+) batch OPERATOR(pg_catalog.-) 1;
		IF (kept OPERATOR(pg_catalog.=) moved) IS NOT TRUE THEN
			RAISE EXCEPTION USING ERRCODE = 'triggered_data_change_violation',
				MESSAGE = pg_catalog.format('table %s did not take all lines', lines),
				DETAIL = pg_catalog.format('It took %s of %s.  The lines of this batch stay in the ledger; batches before it have been archived.', kept, moved),
				HINT = 'Drop the table''s triggers, or name another table.';
		END IF;
		COMMIT;
		total := total OPERATOR(pg_catalog.+) moved;
		next := next OPERATOR(pg_catalog.+) batch;
		EXIT WHEN next OPERATOR(pg_catalog.>) last;
		RAISE NOTICE 'archived % lines, up to id % of %', total, next OPERATOR(pg_catalog.-) 1, last;
	END LOOP;
	IF total OPERATOR(pg_catalog.=) 0 THEN
		RAISE NOTICE USING MESSAGE = 'archived 0 lines',
			DETAIL = 'Lines stay that are not of before that time, that are of a payer''s current period, or that paid for a batch or session that is open.';
	ELSE
		RAISE NOTICE 'archived % lines', total;
	END IF;
END
$$;
COMMENT ON PROCEDURE @extschema@.dp_ledger_archive_into(regclass, timestamptz, name, int) IS
'moves what dp_ledger_archive(before, dataset) returns into a table with its columns, committing after every `batch` ids of the ledger and reporting each in a NOTICE; if it fails, committed batches stay moved, and another call moves the rest; errors of dp_ledger_archive, 42809 not a permanent table, or one with rules, 27000 a trigger on it omits lines, 22023 batch below 1, 2D000 within a transaction';

CREATE FUNCTION @extschema@.dp_ledger_verify(
	lines regclass, dataset name DEFAULT NULL,
	OUT archive bigint, OUT lines_archived bigint, OUT problem text)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_verify';
COMMENT ON FUNCTION @extschema@.dp_ledger_verify(regclass, name) IS
'checks that a table holds the lines of a dataset (NULL: your default one) that dp_ledger_archive returned; one row for each archive; problem NULL: every line is there unchanged; errors 22004, 42704, 42501, 42703 the table has other columns';
