-- Stored answers: released values that may be given again.
--
-- Only the ledger's background worker writes the table, and nobody reads it
-- but the library.  Not dumped: what was restored is no answer of this server.

CREATE TABLE dp_pg.answer (
	id			bigint PRIMARY KEY,
	dataset		name NOT NULL,
	payer		name NOT NULL,
	payer_oid	oid NOT NULL,
	cluster		bigint NOT NULL,
	database	oid NOT NULL,
	role		name NOT NULL,
	at			timestamptz NOT NULL,
	rows		bigint NOT NULL,
	bytes		bigint NOT NULL,
	hits		bigint NOT NULL,
	last_hit	timestamptz,
	hash		bigint NOT NULL,
	digest		bytea NOT NULL,
	key			bytea NOT NULL,
	content		bytea NOT NULL
) WITH (fillfactor = 80);

CREATE INDEX answer_hash_idx ON dp_pg.answer (hash);
CREATE INDEX answer_dataset_idx ON dp_pg.answer (dataset);
CREATE INDEX answer_payer_idx ON dp_pg.answer (payer_oid);

COMMENT ON TABLE dp_pg.answer IS
'released values that an identical query is answered from; readable by nobody, dp_pg.answers is for people';
COMMENT ON COLUMN dp_pg.answer.id IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.answer.dataset IS 'what was charged';
COMMENT ON COLUMN dp_pg.answer.payer IS 'the role whose budget paid';
COMMENT ON COLUMN dp_pg.answer.payer_oid IS
'OID of payer, by which it is known';
COMMENT ON COLUMN dp_pg.answer.cluster IS
'system identifier of the cluster that stored it';
COMMENT ON COLUMN dp_pg.answer.database IS
'OID of the database that stored it';
COMMENT ON COLUMN dp_pg.answer.role IS 'who asked';
COMMENT ON COLUMN dp_pg.answer.at IS
'when what it is about was read, or earlier';
COMMENT ON COLUMN dp_pg.answer.rows IS 'rows of the answer';
COMMENT ON COLUMN dp_pg.answer.bytes IS
'what counts towards dp_pg.reuse_limit';
COMMENT ON COLUMN dp_pg.answer.hits IS
'how often it was given again, as far as it was written down';
COMMENT ON COLUMN dp_pg.answer.last_hit IS 'when for the last time';
COMMENT ON COLUMN dp_pg.answer.hash IS
'of what all its values have in common, by which it is found';
COMMENT ON COLUMN dp_pg.answer.digest IS 'SHA-256 of key';
COMMENT ON COLUMN dp_pg.answer.key IS
'all that the answer follows from, but the private rows and the noise';
COMMENT ON COLUMN dp_pg.answer.content IS 'the released rows';

-- Row security without a policy keeps it from roles that may read every table.
ALTER TABLE dp_pg.answer ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON dp_pg.answer FROM PUBLIC;

CREATE FUNCTION dp_pg.list_answers(OUT answer bigint, OUT dataset name,
	OUT payer name, OUT role name, OUT at timestamptz, OUT rows bigint,
	OUT bytes bigint, OUT hits bigint, OUT last_hit timestamptz)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_reuse_list_answers';
COMMENT ON FUNCTION dp_pg.list_answers() IS
'stored answers that the current user''s group has paid for, and those of one''s datasets; behind dp_pg.answers';

CREATE VIEW dp_pg.answers WITH (security_invoker = true) AS
SELECT answer, dataset, payer, role, at, rows, bytes, hits, last_hit
FROM dp_pg.list_answers();
COMMENT ON VIEW dp_pg.answers IS
'stored answers that one may be given again, and those of one''s datasets; in no order, so ORDER BY answer';
COMMENT ON COLUMN dp_pg.answers.answer IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.answers.dataset IS 'what was charged';
COMMENT ON COLUMN dp_pg.answers.payer IS
'the role whose budget paid; its members may be given the answer again';
COMMENT ON COLUMN dp_pg.answers.role IS 'who asked';
COMMENT ON COLUMN dp_pg.answers.at IS
'when what it is about was read, or earlier';
COMMENT ON COLUMN dp_pg.answers.rows IS 'rows of the answer';
COMMENT ON COLUMN dp_pg.answers.bytes IS
'what counts towards dp_pg.reuse_limit';
COMMENT ON COLUMN dp_pg.answers.hits IS
'how often it was given again; written down when the next answer is stored, so a server that ends may forget some';
COMMENT ON COLUMN dp_pg.answers.last_hit IS
'when for the last time; NULL: never';
GRANT SELECT ON dp_pg.answers TO PUBLIC;

CREATE FUNCTION @extschema@.dp_refresh(dataset name)
RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_reuse_refresh';
COMMENT ON FUNCTION @extschema@.dp_refresh(name) IS
'give up the stored answers of a dataset, so that the next query of each kind reads the rows again and pays: all of them for the owner of the dataset, else those that one''s own budget has paid for; returns how many. Neither ROLLBACK nor a crash takes it back. Errors: 42704 no such dataset, 42501 no budget on it, 55P03 somebody has locked the table';
