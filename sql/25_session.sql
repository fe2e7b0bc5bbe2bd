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
	opened			timestamptz NOT NULL,
	closed			timestamptz,
	reason			text,
	details			text NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 1024);

COMMENT ON TABLE dp_pg.session IS
'one row per session of an interactive mechanism, as it was opened and how far it has come; visible to its role and to the owner of the dataset; dp_pg.sessions is for people';
COMMENT ON COLUMN dp_pg.session.id IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.session.kind IS 'sparse_vector or weights';
COMMENT ON COLUMN dp_pg.session.role IS 'who may ask';
COMMENT ON COLUMN dp_pg.session.role_oid IS
'the role in the cluster that opened it';
COMMENT ON COLUMN dp_pg.session.cluster IS
'system identifier of the cluster that opened it; no other answers it';
COMMENT ON COLUMN dp_pg.session.database IS
'OID of the database that opened it; no other answers it';
COMMENT ON COLUMN dp_pg.session.payer IS
'the role whose budget paid, NULL: exempt';
COMMENT ON COLUMN dp_pg.session.period IS
'period of the payer''s budget; the session ends with it';
COMMENT ON COLUMN dp_pg.session.relation_oid IS 'the relation asked about';
COMMENT ON COLUMN dp_pg.session.relation IS
'its name when the session was opened';
COMMENT ON COLUMN dp_pg.session.neighbours IS
'add_remove or replace_one, as the plan was made';
COMMENT ON COLUMN dp_pg.session.sensitivity IS
'most by which one unit moves one count, as the plan was made';
COMMENT ON COLUMN dp_pg.session.threshold IS
'what was asked for, without threshold_offset and without noise';
COMMENT ON COLUMN dp_pg.session.questions IS 'most that may be asked';
COMMENT ON COLUMN dp_pg.session.cutoff IS 'most that are answered "above"';
COMMENT ON COLUMN dp_pg.session.beta IS
'probability that alpha does not hold';
COMMENT ON COLUMN dp_pg.session.method IS 'geometric, rounds or book';
COMMENT ON COLUMN dp_pg.session.two_sided IS
'noise is discrete Laplace instead of geometric';
COMMENT ON COLUMN dp_pg.session.numeric_answers IS
'an "above" comes with a noisy count';
COMMENT ON COLUMN dp_pg.session.fresh IS
'the threshold takes fresh noise after each "above"';
COMMENT ON COLUMN dp_pg.session.threshold_epsilon IS
'noise of the threshold has scale threshold_sensitivity / threshold_epsilon; those of a question and of an answer likewise';
COMMENT ON COLUMN dp_pg.session.threshold_offset IS
'public number added to the threshold';
COMMENT ON COLUMN dp_pg.session.alpha IS
'error of every answer up to the last "above", but for beta; in rows';
COMMENT ON COLUMN dp_pg.session.epsilon IS
'charge of the whole session; Infinity without a pure guarantee';
COMMENT ON COLUMN dp_pg.session.asked IS 'questions asked so far';
COMMENT ON COLUMN dp_pg.session.above IS 'how many were answered "above"';
COMMENT ON COLUMN dp_pg.session.closed IS 'when it was closed, NULL: not';
COMMENT ON COLUMN dp_pg.session.reason IS 'why it was closed';
COMMENT ON COLUMN dp_pg.session.details IS
'what its kind needs to know, all of it public';

-- Not dumped: a session that was restored cannot be asked.
CREATE TABLE dp_pg.session_secret (
	session		bigint PRIMARY KEY,
	armed		numeric NOT NULL
) WITH (fillfactor = 50);

COMMENT ON TABLE dp_pg.session_secret IS
'noisy thresholds of sessions that go on; readable by nobody, deleted when the session is over';
COMMENT ON COLUMN dp_pg.session_secret.session IS 'id in dp_pg.session';
COMMENT ON COLUMN dp_pg.session_secret.armed IS
'the threshold with its noise; whoever learns it learns more than was paid for';

-- ANALYZE collects no values of it.
ALTER TABLE dp_pg.session_secret ALTER COLUMN armed SET STATISTICS 0;

CREATE TABLE dp_pg.session_above (
	session		bigint NOT NULL,
	number		int NOT NULL,
	asked_at	bigint NOT NULL,
	predicate	text NOT NULL,
	answer		numeric,
	guess		numeric NOT NULL,
	PRIMARY KEY (session, number)
);

COMMENT ON TABLE dp_pg.session_above IS
'the questions that were answered "above"; visible to the role of the session only';
COMMENT ON COLUMN dp_pg.session_above.session IS 'id in dp_pg.session';
COMMENT ON COLUMN dp_pg.session_above.number IS
'which "above" of the session it was, from 1';
COMMENT ON COLUMN dp_pg.session_above.asked_at IS
'which question of the session it was, from 1';
COMMENT ON COLUMN dp_pg.session_above.predicate IS 'the question';
COMMENT ON COLUMN dp_pg.session_above.answer IS
'noisy count, NULL: the session gives none';
COMMENT ON COLUMN dp_pg.session_above.guess IS
'what the hypothesis of a weights session had said, else 0';

SELECT pg_catalog.pg_extension_config_dump('dp_pg.session', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.session_above', '');

-- Who sees what.  Row security without a policy keeps the thresholds from
-- roles that may read every table.

ALTER TABLE dp_pg.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.session_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.session_above ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_and_role_read ON dp_pg.session FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR dp_pg.is_me(role_oid, role, cluster));
CREATE POLICY role_reads ON dp_pg.session_above FOR SELECT
	USING (EXISTS (SELECT FROM dp_pg.session AS s
				   WHERE s.id = session
				   AND dp_pg.is_me(s.role_oid, s.role, s.cluster)));

REVOKE ALL ON dp_pg.session, dp_pg.session_secret, dp_pg.session_above
	FROM PUBLIC;
GRANT SELECT ON dp_pg.session, dp_pg.session_above TO PUBLIC;

CREATE VIEW dp_pg.sessions WITH (security_invoker = true) AS
SELECT s.id AS session, s.kind, s.dataset, s.relation, s.role,
	CASE WHEN s.closed IS NOT NULL THEN 'closed'
		WHEN s.above >= s.cutoff OR s.asked >= s.questions THEN 'used up'
		WHEN s.cluster <> dp_pg.cluster() OR s.database <> d.oid
			OR (s.payer IS NOT NULL AND b.period IS NULL
				AND dp_pg.is_me(s.role_oid, s.role, s.cluster)) THEN 'ended'
		ELSE 'open' END AS state,
	s.threshold, s.asked, s.questions - s.asked AS questions_left,
	s.above, s.cutoff - s.above AS above_left,
	s.method, s.numeric_answers, s.alpha,
	(1 - s.beta::numeric)::double precision AS confidence,
	s.epsilon, s.delta, s.payer, s.opened, s.closed, s.reason
FROM dp_pg.session AS s
CROSS JOIN (SELECT oid FROM pg_catalog.pg_database
			WHERE datname = current_database()) AS d
LEFT JOIN dp_pg.budget AS b ON b.dataset = s.dataset
	AND b.role_oid = s.payer_oid AND b.cluster = s.cluster
	AND b.period = s.period
	AND (b.renew IS NULL OR ((b.period_start AT TIME ZONE 'UTC') + b.renew)
		 AT TIME ZONE 'UTC' > now());
COMMENT ON VIEW dp_pg.sessions IS
'sessions of one''s own, and those of one''s datasets: state open, used up (all questions or all "above"s were had), closed (reason says why) or ended (the budget that paid was renewed or is not one''s own any more, or the session was opened in another database or cluster); counts left; alpha in rows, which holds with probability confidence; epsilon and delta of the whole session, charged when it was opened';
GRANT SELECT ON dp_pg.sessions TO PUBLIC;
