-- Sessions of interactive mechanisms.
--
-- Only the ledger's background worker writes these tables.  Everybody may
-- read sessions, where row-level security shows each role its own; the noisy
-- thresholds are for nobody.

CREATE TABLE dp_pg.session (
	id				bigint PRIMARY KEY,
	kind			text NOT NULL,
	role			name NOT NULL,
	role_oid		oid NOT NULL,
	cluster			bigint NOT NULL,
	database		oid NOT NULL,
	dataset			name NOT NULL,
	payer			name,
	payer_oid		oid,
	period			bigint NOT NULL,
	relation_oid	oid NOT NULL,
	relation		text NOT NULL,
	neighbours		text NOT NULL,
	sensitivity		numeric NOT NULL,
	threshold		bigint NOT NULL,
	questions		bigint NOT NULL,
	cutoff			int NOT NULL,
	beta			double precision NOT NULL,
	method			text NOT NULL,
	two_sided		bool NOT NULL,
	numeric_answers	bool NOT NULL,
	fresh			bool NOT NULL,
	threshold_sensitivity	numeric NOT NULL,
	threshold_epsilon		numeric NOT NULL,
	query_sensitivity		numeric NOT NULL,
	query_epsilon			numeric NOT NULL,
	answer_sensitivity		numeric NOT NULL,
	answer_epsilon			numeric NOT NULL,
	threshold_offset		bigint NOT NULL,
	alpha			numeric NOT NULL,
	epsilon			numeric NOT NULL,
	rho				numeric NOT NULL,
	delta			numeric NOT NULL,
	asked			bigint NOT NULL,
	above			int NOT NULL,
	bytes_left		bigint NOT NULL,
	opened			timestamptz NOT NULL,
	closed			timestamptz,
	reason			text,
	details			text NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 1024);

COMMENT ON TABLE dp_pg.session IS
'one row per session of an interactive mechanism, as it was opened and with its progress; visible to its role and to the owner of the dataset; view dp_pg.sessions is easier to read';
COMMENT ON COLUMN dp_pg.session.id IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.session.kind IS 'sparse_vector or weights';
COMMENT ON COLUMN dp_pg.session.role IS 'who may ask';
COMMENT ON COLUMN dp_pg.session.role_oid IS
'the role in the cluster that opened it';
COMMENT ON COLUMN dp_pg.session.cluster IS
'system identifier of the cluster that opened it, where alone it can be used';
COMMENT ON COLUMN dp_pg.session.database IS
'OID of the database that opened it, where alone it can be used';
COMMENT ON COLUMN dp_pg.session.dataset IS 'the dataset that was charged';
COMMENT ON COLUMN dp_pg.session.payer IS
'the role whose budget paid, NULL: exempt';
COMMENT ON COLUMN dp_pg.session.payer_oid IS
'OID of payer, which identifies it';
COMMENT ON COLUMN dp_pg.session.period IS
'period of the payer''s budget; the session ends with it';
COMMENT ON COLUMN dp_pg.session.relation_oid IS 'the relation asked about';
COMMENT ON COLUMN dp_pg.session.relation IS
'its name when the session was opened';
COMMENT ON COLUMN dp_pg.session.neighbours IS
'add_remove or replace_one, when the session was opened';
COMMENT ON COLUMN dp_pg.session.sensitivity IS
'most by which one unit changes one count, when the session was opened';
COMMENT ON COLUMN dp_pg.session.threshold IS
'as requested (weights: as the plan chose), without threshold_offset and without noise';
COMMENT ON COLUMN dp_pg.session.questions IS 'most that may be asked';
COMMENT ON COLUMN dp_pg.session.cutoff IS
'most that are answered "above"; weights: most updates';
COMMENT ON COLUMN dp_pg.session.beta IS
'probability that alpha does not hold';
COMMENT ON COLUMN dp_pg.session.method IS 'geometric, rounds or book';
COMMENT ON COLUMN dp_pg.session.two_sided IS
'noise is discrete Laplace instead of geometric';
COMMENT ON COLUMN dp_pg.session.numeric_answers IS
'an "above" comes with a noisy count';
COMMENT ON COLUMN dp_pg.session.fresh IS
'the threshold takes fresh noise after each "above"';
COMMENT ON COLUMN dp_pg.session.threshold_sensitivity IS
'noise of the threshold has scale threshold_sensitivity / threshold_epsilon';
COMMENT ON COLUMN dp_pg.session.threshold_epsilon IS
'see threshold_sensitivity';
COMMENT ON COLUMN dp_pg.session.query_sensitivity IS
'noise of the comparison with a count has scale query_sensitivity / query_epsilon';
COMMENT ON COLUMN dp_pg.session.query_epsilon IS 'see query_sensitivity';
COMMENT ON COLUMN dp_pg.session.answer_sensitivity IS
'noise of a numeric answer has scale answer_sensitivity / answer_epsilon; 0 without numeric answers';
COMMENT ON COLUMN dp_pg.session.answer_epsilon IS
'see answer_sensitivity; 0 without numeric answers';
COMMENT ON COLUMN dp_pg.session.threshold_offset IS
'public number added to the threshold';
COMMENT ON COLUMN dp_pg.session.alpha IS
'error of every answer of the sparse vector up to the last "above", except with probability beta; in rows; answers of a weights session are off by up to 3 n times the alpha of its details';
COMMENT ON COLUMN dp_pg.session.epsilon IS
'charge of the whole session; Infinity without a pure guarantee';
COMMENT ON COLUMN dp_pg.session.rho IS
'charge of the whole session in zCDP, in addition to epsilon and delta';
COMMENT ON COLUMN dp_pg.session.delta IS
'charge of the whole session, with epsilon';
COMMENT ON COLUMN dp_pg.session.asked IS 'questions asked so far';
COMMENT ON COLUMN dp_pg.session.above IS
'how many were answered "above"; weights: updates so far';
COMMENT ON COLUMN dp_pg.session.opened IS 'when it was charged';
COMMENT ON COLUMN dp_pg.session.bytes_left IS
'bytes that the texts of further questions may take together';
COMMENT ON COLUMN dp_pg.session.closed IS 'when it was closed, NULL: it was not';
COMMENT ON COLUMN dp_pg.session.reason IS 'why it was closed';
COMMENT ON COLUMN dp_pg.session.details IS
'public parameters of its kind: empty for sparse_vector, for weights a JSON object of columns, n, alpha (a fraction of n), step and universe';

-- Not dumped: a session that was restored cannot be asked.
CREATE TABLE dp_pg.session_secret (
	session		bigint PRIMARY KEY,
	armed		bytea NOT NULL
) WITH (fillfactor = 50);

COMMENT ON TABLE dp_pg.session_secret IS
'noisy thresholds of open sessions; no role may read them; deleted when the session is over';
COMMENT ON COLUMN dp_pg.session_secret.session IS 'id in dp_pg.session';
COMMENT ON COLUMN dp_pg.session_secret.armed IS
'the threshold with its noise; reading it reveals more than was paid for';

-- ANALYZE collects no values of it.
ALTER TABLE dp_pg.session_secret ALTER COLUMN armed SET STATISTICS 0;

-- A row takes the same space whatever was answered, so that nothing about the
-- answer can be learnt from whether it could be written.
CREATE TABLE dp_pg.session_question (
	session		bigint NOT NULL,
	question	bigint NOT NULL,
	answer		bigint NOT NULL,
	guess		bigint NOT NULL,
	number		int NOT NULL,
	above		bool NOT NULL,
	predicate	text NOT NULL,
	PRIMARY KEY (session, question)
);

COMMENT ON TABLE dp_pg.session_question IS
'the questions that were answered; visible to the role of the session only';
COMMENT ON COLUMN dp_pg.session_question.session IS 'id in dp_pg.session';
COMMENT ON COLUMN dp_pg.session_question.question IS
'number of the question in the session, from 1';
COMMENT ON COLUMN dp_pg.session_question.answer IS
'noisy count, 0 when none was given';
COMMENT ON COLUMN dp_pg.session_question.guess IS
'what the hypothesis of a weights session answered, if above, otherwise 0';
COMMENT ON COLUMN dp_pg.session_question.number IS
'number of the "above" in the session, from 1; 0 for other answers';
COMMENT ON COLUMN dp_pg.session_question.above IS 'whether the answer was "above"';
COMMENT ON COLUMN dp_pg.session_question.predicate IS 'the question';

SELECT pg_catalog.pg_extension_config_dump('dp_pg.session', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.session_question', '');

-- Who sees what.  Row security without a policy keeps the thresholds from
-- roles that may read every table.

ALTER TABLE dp_pg.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.session_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.session_question ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_and_role_read ON dp_pg.session FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR dp_pg.is_me(role_oid, role, cluster));
CREATE POLICY role_reads ON dp_pg.session_question FOR SELECT
	USING (EXISTS (SELECT FROM dp_pg.session AS s
				   WHERE s.id = session_question.session
				   AND dp_pg.is_me(s.role_oid, s.role, s.cluster)));

REVOKE ALL ON dp_pg.session, dp_pg.session_secret, dp_pg.session_question
	FROM PUBLIC;
GRANT SELECT ON dp_pg.session, dp_pg.session_question TO PUBLIC;

CREATE VIEW dp_pg.session_above WITH (security_invoker = true) AS
SELECT q.session, q.number, q.question AS asked_at, q.predicate,
	CASE WHEN s.numeric_answers THEN q.answer END AS answer, q.guess
FROM dp_pg.session_question AS q
JOIN dp_pg.session AS s ON s.id = q.session
WHERE q.above;
COMMENT ON VIEW dp_pg.session_above IS
'the questions that were answered "above": session, number (which "above" it was), asked_at (which question), predicate, answer (noisy count, NULL: the session gives none) and guess (what the hypothesis of a weights session answered, otherwise 0); visible to the role of the session only';
GRANT SELECT ON dp_pg.session_above TO PUBLIC;

CREATE VIEW dp_pg.sessions WITH (security_invoker = true) AS
SELECT s.id AS session, s.kind, s.dataset, s.relation, s.role,
	CASE WHEN s.closed IS NOT NULL THEN 'closed'
		WHEN s.above >= s.cutoff OR s.asked >= s.questions
			OR s.bytes_left <= 0 THEN 'used up'
		WHEN s.cluster <> dp_pg.cluster() OR s.database <> d.oid
			OR (s.payer IS NOT NULL AND b.period IS NULL
				AND dp_pg.is_me(s.role_oid, s.role, s.cluster)) THEN 'ended'
		ELSE 'open' END AS state,
	s.threshold, s.asked, s.questions - s.asked AS questions_left,
	s.bytes_left,
	CASE s.kind WHEN 'sparse_vector' THEN s.above END AS above,
	CASE s.kind WHEN 'sparse_vector' THEN s.cutoff - s.above END AS above_left,
	CASE s.kind WHEN 'weights' THEN s.above END AS updates,
	CASE s.kind WHEN 'weights' THEN s.cutoff - s.above END AS updates_left,
	s.method, s.numeric_answers,
	CASE s.kind WHEN 'weights' THEN floor(3 * u.alpha * u.n)
		ELSE s.alpha END AS alpha,
	(1 - s.beta::numeric)::double precision AS confidence,
	s.epsilon, s.delta, s.payer, s.opened, s.closed, s.reason,
	u.columns, u.n
FROM dp_pg.session AS s
LEFT JOIN LATERAL json_to_record(
	CASE s.kind WHEN 'weights' THEN s.details::json END)
	AS u(columns text, n bigint, alpha numeric) ON true
CROSS JOIN (SELECT oid FROM pg_catalog.pg_database
			WHERE datname = current_database()) AS d
LEFT JOIN dp_pg.budget AS b ON b.dataset = s.dataset
	AND b.role_oid = s.payer_oid AND b.cluster = s.cluster
	AND b.period = s.period
	AND (b.renew IS NULL OR ((b.period_start AT TIME ZONE 'UTC') + b.renew)
		 AT TIME ZONE 'UTC' > now());
COMMENT ON VIEW dp_pg.sessions IS
'your own sessions, and those on your datasets: state open, used up (no questions, "above"s, updates or bytes of texts are left), closed (reason says why) or ended (the budget that paid was renewed or is no longer yours, or the session was opened in another database or cluster); counts left; alpha, the error of every answer, in rows, which holds with probability confidence; epsilon and delta of the whole session, charged when it was opened; columns and n of weights sessions; in no order, so ORDER BY session';
COMMENT ON COLUMN dp_pg.sessions.session IS
'argument of the functions that ask and close; id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.sessions.kind IS
'sparse_vector (dp_sparse_vector_ask) or weights (dp_weights_ask)';
COMMENT ON COLUMN dp_pg.sessions.dataset IS 'the dataset that was charged';
COMMENT ON COLUMN dp_pg.sessions.relation IS
'the relation asked about, by its qualified name when the session was opened: text, because it may since have been dropped, or restored with another OID';
COMMENT ON COLUMN dp_pg.sessions.role IS 'who may ask';
COMMENT ON COLUMN dp_pg.sessions.state IS
'open, used up, closed or ended, as described for the view';
COMMENT ON COLUMN dp_pg.sessions.threshold IS
'in rows; sparse_vector: as requested; weights: of the distance between data and hypothesis, as the plan chose it';
COMMENT ON COLUMN dp_pg.sessions.asked IS 'questions so far';
COMMENT ON COLUMN dp_pg.sessions.questions_left IS
'questions that may still be asked';
COMMENT ON COLUMN dp_pg.sessions.bytes_left IS
'bytes that the texts of further questions may take together, 64 MB at first; a question counts as at least 64; at 0 the session is used up';
COMMENT ON COLUMN dp_pg.sessions.above IS
'sparse_vector: questions that were above; weights: NULL';
COMMENT ON COLUMN dp_pg.sessions.above_left IS
'sparse_vector: how many more may be above; weights: NULL';
COMMENT ON COLUMN dp_pg.sessions.updates IS
'weights: questions that were answered from the data; sparse_vector: NULL';
COMMENT ON COLUMN dp_pg.sessions.updates_left IS
'weights: how many more may be answered from the data; sparse_vector: NULL';
COMMENT ON COLUMN dp_pg.sessions.method IS
'of the sparse vector: geometric, rounds or book';
COMMENT ON COLUMN dp_pg.sessions.numeric_answers IS
'an "above" comes with a noisy count; true for weights';
COMMENT ON COLUMN dp_pg.sessions.alpha IS
'error of every answer, in rows; weights: 3 n times the alpha that dp_weights_open shows, which is a fraction';
COMMENT ON COLUMN dp_pg.sessions.confidence IS
'probability with which alpha holds for all answers together';
COMMENT ON COLUMN dp_pg.sessions.epsilon IS
'of the whole session, charged when it opened; Infinity without a pure guarantee; weights: without the charge for a noisy n, which has its own line in dp_pg.ledger';
COMMENT ON COLUMN dp_pg.sessions.delta IS
'of the whole session, charged when it opened';
COMMENT ON COLUMN dp_pg.sessions.payer IS
'the role whose budget paid, NULL: exempt';
COMMENT ON COLUMN dp_pg.sessions.opened IS 'when it was charged';
COMMENT ON COLUMN dp_pg.sessions.closed IS 'when it was closed, NULL: it was not';
COMMENT ON COLUMN dp_pg.sessions.reason IS 'why it was closed, NULL: it was not';
COMMENT ON COLUMN dp_pg.sessions.columns IS
'weights: the columns of the universe with their types, with which the column list of dp_weights_hypothesis begins; sparse_vector: NULL';
COMMENT ON COLUMN dp_pg.sessions.n IS
'weights: the public number of rows, given or noisy; sparse_vector: NULL';
GRANT SELECT ON dp_pg.sessions TO PUBLIC;
