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
'released values that answer an identical query again; no role may read it; view dp_pg.answers shows all but the values';
COMMENT ON COLUMN dp_pg.answer.id IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.answer.dataset IS 'the dataset that was charged';
COMMENT ON COLUMN dp_pg.answer.payer IS 'the role whose budget paid';
COMMENT ON COLUMN dp_pg.answer.payer_oid IS
'OID of payer, which identifies it';
COMMENT ON COLUMN dp_pg.answer.cluster IS
'system identifier of the cluster that stored it';
COMMENT ON COLUMN dp_pg.answer.database IS
'OID of the database that stored it';
COMMENT ON COLUMN dp_pg.answer.role IS 'who asked';
COMMENT ON COLUMN dp_pg.answer.at IS
'when its rows were read, or earlier';
COMMENT ON COLUMN dp_pg.answer.rows IS 'rows of the answer';
COMMENT ON COLUMN dp_pg.answer.bytes IS
'size that counts towards dp_pg.reuse_limit';
COMMENT ON COLUMN dp_pg.answer.hits IS
'how often it was given again, as far as recorded';
COMMENT ON COLUMN dp_pg.answer.last_hit IS 'when it was last given again';
COMMENT ON COLUMN dp_pg.answer.hash IS
'hash of what all its values have in common, to look it up';
COMMENT ON COLUMN dp_pg.answer.digest IS 'SHA-256 of key';
COMMENT ON COLUMN dp_pg.answer.key IS
'everything that determines the answer except the private rows and the noise';
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
'rows of dp_pg.answers';

CREATE VIEW dp_pg.answers WITH (security_invoker = true) AS
SELECT answer, dataset, payer, role, at, rows, bytes, hits, last_hit
FROM dp_pg.list_answers();
COMMENT ON VIEW dp_pg.answers IS
'stored answers that you may be given again, and those on your datasets; in no order, so ORDER BY answer';
COMMENT ON COLUMN dp_pg.answers.answer IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.answers.dataset IS 'the dataset that was charged';
COMMENT ON COLUMN dp_pg.answers.payer IS
'the role whose budget paid; its members may be given the answer again';
COMMENT ON COLUMN dp_pg.answers.role IS 'who asked';
COMMENT ON COLUMN dp_pg.answers.at IS
'when its rows were read, or earlier';
COMMENT ON COLUMN dp_pg.answers.rows IS 'rows of the answer';
COMMENT ON COLUMN dp_pg.answers.bytes IS
'size that counts towards dp_pg.reuse_limit';
COMMENT ON COLUMN dp_pg.answers.hits IS
'how often it was given again; recorded when the next answer is stored, so some are lost when the server stops';
COMMENT ON COLUMN dp_pg.answers.last_hit IS
'when it was last given again; NULL: never';
GRANT SELECT ON dp_pg.answers TO PUBLIC;

CREATE FUNCTION @extschema@.dp_refresh(dataset name)
RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_reuse_refresh';
COMMENT ON FUNCTION @extschema@.dp_refresh(name) IS
'discards the stored answers of a dataset, so that the next identical query reads the rows again and pays: all answers for the owner of the dataset, otherwise those that your own budget paid for; returns their number. Neither ROLLBACK nor a crash undoes it. Errors: 42704 no such dataset, 42501 no budget on it, 55P03 the table is locked';
