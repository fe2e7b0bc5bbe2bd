-- Sparse vector: which questions are at or above a threshold, paid for by the
-- number of those that are.  doc/sparse_vector.md.

SELECT dp_pg.make_twins('dp_sparse_vector',
$$relation dp_pg.regrelation, queries text[], threshold NUMBER, cutoff integer DEFAULT 1, epsilon NUMBER DEFAULT NULL, alpha NUMBER DEFAULT NULL, delta NUMBER DEFAULT NULL, confidence NUMBER DEFAULT 0.95, method text DEFAULT 'best', numeric_answers boolean DEFAULT false$$,
'RETURNS TABLE (query integer, predicate text, above boolean, answer bigint)
VOLATILE PARALLEL UNSAFE COST 10000 ROWS 100', 'dp_session_sql_sparse_vector',
'one row per predicate, in their order, up to the cutoff-th that is above; predicates after it have no row, and a NOTICE says how many; another NOTICE shows alpha, the charge and what remains, with a HINT when alpha is not below the threshold; query: place from 1; predicate: its text; above: whether it holds for at least threshold rows, privately; answer: for an above with numeric_answers the noisy number of rows, else NULL; predicates are SQL texts under the rules of WHERE, NULL does not hold, or weights from 0 to 1, whose sum counts; one scan and one charge per call, of epsilon (NULL: dp_pg.epsilon) and delta (NULL: 0, or dp_pg.delta when dp_pg.mechanism is gaussian); confidence, method and alpha as in dp_sparse_vector_open; 22004 for another NULL, 22023 for no predicates or a bad number, 54000 for more than 10000 predicates, 42601, 42703, 42804 or 0A000 with number and text of a wrong predicate, 53400 when the budget is exhausted; Dwork and Roth, section 3.6');

SELECT dp_pg.make_twins('dp_sparse_vector_open',
$$relation dp_pg.regrelation, threshold NUMBER, cutoff integer DEFAULT 1, epsilon NUMBER DEFAULT NULL, questions bigint DEFAULT 1000, alpha NUMBER DEFAULT NULL, delta NUMBER DEFAULT NULL, confidence NUMBER DEFAULT 0.95, method text DEFAULT 'best', numeric_answers boolean DEFAULT false$$,
'RETURNS bigint VOLATILE PARALLEL UNSAFE COST 10000',
'dp_session_sql_sparse_open',
'opens a session of the asking role for at most so many questions about a protected relation, of which at most cutoff are answered "above" (at least threshold rows), and returns its number; charged here, once: epsilon (NULL: dp_pg.epsilon) and delta (NULL: 0, or dp_pg.delta when dp_pg.mechanism is gaussian); a NOTICE shows alpha, in rows: with probability confidence only counts of at least threshold - alpha are "above", only counts of at most threshold + alpha are not, and numeric answers are within alpha; method best, geometric, rounds (a fresh threshold after each "above") or book (Algorithms 1 to 3, corrected); alpha, when given, is refused with 22023 when it cannot be reached; other errors 22004 another NULL, 22023 bad number, 42P01, 42501, 0A000 relation not protected, 53400 budget exhausted; no rollback closes it or gives back the charge; Dwork and Roth, section 3.6');

CREATE FUNCTION @extschema@.dp_sparse_vector_ask(
	session bigint, predicate text, OUT above boolean, OUT answer bigint,
	OUT questions_left bigint, OUT above_left integer)
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000
AS 'MODULE_PATHNAME', 'dp_session_sql_sparse_ask';
COMMENT ON FUNCTION @extschema@.dp_sparse_vector_ask(bigint, text) IS
'asks one question in an open session, as a row of FROM: above: privately, whether the number of rows for which the predicate holds, or the sum of a weight from 0 to 1, is at least the threshold; answer: the noisy number of rows if above and the session has numeric_answers, otherwise NULL; questions_left and above_left: what the session still allows; charges nothing; answers are kept across ROLLBACK, crashes and connections; in a SELECT list (f(...)).* asks once per column; 22004 for a NULL, 42704 no such session of the asking role, 42809 a session of dp_weights_open, 53400 after the cutoff or the last question, or a text longer than dp_pg.sessions.bytes_left (shorter ones go on), 55000 closed or protection changed, 42601, 42703, 42804, 22023 or 0A000 for an invalid predicate or weight (the session stays open); an error or cancel while rows are read closes the session; Dwork and Roth, section 3.6';

CREATE FUNCTION @extschema@.dp_sparse_vector_close(session bigint)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_session_sql_sparse_close';
COMMENT ON FUNCTION @extschema@.dp_sparse_vector_close(bigint) IS
'closes a session of dp_sparse_vector_open, your own or one on your dataset, permanently, even if the transaction is rolled back; refunds nothing; errors 22004 NULL, 42704 no such session, 42809 a session of dp_weights_open, 55000 already closed or not preloaded, 55P03, 53000, 25006 recovery';
