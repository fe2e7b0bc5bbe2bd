-- Online private multiplicative weights: many questions about counts, most of
-- them answered by a public hypothesis.  doc/weights.md.

SELECT dp_pg.make_twins('dp_weights_open',
$$relation dp_pg.regrelation, columns text[], queries integer, epsilon NUMBER [DEFAULT NULL], n bigint DEFAULT NULL, bins integer[] DEFAULT NULL, alpha NUMBER DEFAULT NULL, delta NUMBER DEFAULT NULL, confidence NUMBER DEFAULT 0.95, method text DEFAULT 'best'$$,
'RETURNS bigint VOLATILE PARALLEL UNSAFE COST 10000',
'dp_session_sql_weights_open',
'opens a session of online multiplicative weights over a protected relation and returns its number; the universe is the product of the public values of columns, bins[i] > 0 cuts a number into so many equal bins, at most 2^20 cells; queries: how many questions may be asked, each a predicate over those columns; with probability confidence every answer is within 3 alpha n rows; alpha (NULL: the least that can be reached, which is shown) is at most 1/3; n is the public number of rows, without it a twentieth of epsilon pays for a noisy count, as a charge of its own that is made first; everything that the session can answer is charged here, epsilon (NULL: dp_pg.epsilon) and delta (NULL: 0, or dp_pg.delta when dp_pg.mechanism is gaussian); method best, geometric, rounds or book; the session belongs to the asking role and dataset, and outlives the connection and a ROLLBACK; errors 22004 another NULL, 22023 a column without public values, a bad parameter, or an alpha that cannot be reached, 42703, 42P01, 54000 too many cells, 42501 no budget, 53400 exhausted, 55000 not preloaded, 55P03, 53000, 25006 recovery; Dwork and Roth, Algorithm 6, Theorems 4.14 and 4.15; theory T61 to T64');

CREATE FUNCTION @extschema@.dp_weights_ask(
	session bigint, predicate text,
	OUT answer bigint, OUT fraction double precision, OUT updated boolean,
	OUT questions_left bigint, OUT updates_left integer)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000
AS 'MODULE_PATHNAME', 'dp_session_sql_weights_ask';
COMMENT ON FUNCTION @extschema@.dp_weights_ask(bigint, text) IS
'asks one question in a session of dp_weights_open: how many rows satisfy the predicate, an SQL condition over the columns of the universe, NULL counting as false, or the sum of a weight from 0 to 1 of each cell; each bin is represented by a value inside it, so the error bound is about binned values; one row: answer in rows from 0 to n, the same as a fraction of n, whether it came from the data and updated the hypothesis (otherwise it came from the hypothesis), and what the session still allows; no further charge; the answer is stored before it is shown, so no ROLLBACK undoes it; never NULL; errors 22004 NULL argument, 42601, 42703, 42804, 22023 or 0A000 for an invalid predicate, 54000 too many cells, 42704 no such session of the asking role, 42809 a session of dp_sparse_vector_open, 53400 questions or updates are used up, or a text longer than dp_pg.sessions.bytes_left (shorter ones go on), 55000 closed or not preloaded, 55P03, 53000, 25006 recovery; an error while private rows are read closes the session; theory T61 to T63';

CREATE FUNCTION @extschema@.dp_weights_estimate(
	session bigint, predicate text,
	OUT answer bigint, OUT fraction double precision)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000
AS 'MODULE_PATHNAME', 'dp_session_sql_weights_estimate';
COMMENT ON FUNCTION @extschema@.dp_weights_estimate(bigint, text) IS
'what the hypothesis of a session of dp_weights_open says about a predicate: rows from 0 to n, and their fraction; reads no private row, charges nothing, uses up no question, works after the session is used up or closed; its error has no bound; never NULL; errors 22004 NULL argument, 42601, 42703, 42804, 22023 or 0A000 for an invalid predicate, 54000 too many cells, 42704 no such session of the asking role, 42809 a session of dp_sparse_vector_open, 55000 not preloaded; theory T64';

CREATE FUNCTION @extschema@.dp_weights_hypothesis(session bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 ROWS 1000
AS 'MODULE_PATHNAME', 'dp_session_sql_weights_hypothesis';
COMMENT ON FUNCTION @extschema@.dp_weights_hypothesis(bigint) IS
'the hypothesis of a session of dp_weights_open: one row for each cell of the universe, its values and their probability, which add up to 1; needs a column list: the columns of the universe in their order and with their types, as dp_pg.sessions.columns has them, then probability double precision; reads no private row, charges nothing, works after the session is used up or closed; values may be NULL, probability never; errors 22004 NULL argument, 22023 the column list does not match, 42601 no column list, or not in FROM, 42704 no such session of the asking role, 42809 a session of dp_sparse_vector_open, 55000 not preloaded; theory T64';

CREATE FUNCTION @extschema@.dp_weights_close(session bigint)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000
AS 'MODULE_PATHNAME', 'dp_session_sql_weights_close';
COMMENT ON FUNCTION @extschema@.dp_weights_close(bigint) IS
'closes a session of dp_weights_open, your own or one on your dataset: no more questions; its role can still read its hypothesis; refunds nothing; errors 22004 NULL, 42704 no such session, 42809 a session of dp_sparse_vector_open, 55000 already closed or not preloaded, 55P03, 53000, 25006 recovery';

CREATE FUNCTION @extschema@.dp_weights_step(
	distribution double precision[], query double precision[],
	answer double precision, eta double precision)
RETURNS double precision[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_session_sql_weights_step';
COMMENT ON FUNCTION @extschema@.dp_weights_step(double precision[], double precision[], double precision, double precision) IS
'one step of multiplicative weights on a public distribution over the cells of a universe: distribution, one probability for each cell, none negative and adding up to 1 within 10^-6; query, the value of a linear query in each cell, from 0 to 1, in the same order; answer, the fraction that was released for it; eta above 0 and at most 1, the learning rate (alpha/2 in the book); r is the query if answer is below its value on the distribution, otherwise 1 minus the query, and the result is distribution times exp(-eta r), divided by its sum; computes from its arguments only, reads no data and charges nothing; NULL when an argument is NULL; errors 22004 a NULL element, 22023 arrays of different lengths, empty or of more than one dimension, numbers out of range; book, Algorithm 5; theory T56, T121';
