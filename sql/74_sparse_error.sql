-- The errors that sparse vector sessions and online multiplicative weights
-- promise, before anything is charged.  They read no data, so everybody may
-- call them; errors and costs are rounded up.
--
-- NUMBER stands for numeric, and a second time for double precision, which
-- drivers bind.  The last column is the comment.
DO $make$
DECLARE
	f record;
	number text;
	made regprocedure;
BEGIN
	FOR f IN SELECT * FROM (VALUES
('dp_sparse_vector_error', 'sparse_vector_error', 'STRICT', '',
$$questions bigint, cutoff bigint, epsilon NUMBER, delta NUMBER DEFAULT 0, confidence NUMBER DEFAULT 0.95, numeric_answers boolean DEFAULT false, method text DEFAULT 'best', monotone boolean DEFAULT false, sensitivity bigint DEFAULT 1, OUT alpha numeric, OUT method text, OUT rounds bigint, OUT threshold_epsilon numeric, OUT query_epsilon numeric, OUT answer_epsilon numeric, OUT threshold_offset bigint, OUT epsilon numeric, OUT delta numeric, OUT rho numeric$$,
'one row: what a sparse vector session of at most so many questions and cutoff "above"s would promise and cost; alpha: with probability confidence every "above" is at least threshold - alpha, every other one at most threshold + alpha, numeric answers within alpha, in the unit of sensitivity, which is that of one question; method: the one chosen (best: the smaller alpha of geometric and rounds; book: Algorithms 1 to 3, corrected); rounds: how often a threshold is drawn; threshold_epsilon, query_epsilon, answer_epsilon (NULL without numeric_answers): the parts of epsilon, for each round; threshold_offset: what is added to the threshold beside its noise; epsilon, delta, rho: the charge; monotone only where neighbours move all questions the same way; theorems T52 to T54, book 3.23 to 3.28'),

('dp_weights_error', 'weights_error', 'CALLED ON NULL INPUT', ' but alpha',
$$cells bigint, n bigint, questions bigint, epsilon NUMBER, delta NUMBER DEFAULT 0, confidence NUMBER DEFAULT 0.95, alpha NUMBER DEFAULT NULL, method text DEFAULT 'best', sensitivity bigint DEFAULT 1, OUT alpha numeric, OUT error numeric, OUT updates bigint, OUT threshold bigint, OUT noise numeric, OUT method text, OUT step numeric, OUT epsilon numeric, OUT delta numeric, OUT rho numeric$$,
'one row: what a session of online multiplicative weights over a universe of so many cells and n rows would promise and cost; alpha: the one asked for, or for NULL the least that can be reached, as a fraction of n; error: in rows, no answer is farther off with probability confidence, at most 3 alpha n, and n, with which an answer says nothing: dp_weights_open refuses an alpha above 1/3; updates: how many questions may be answered from the data; threshold: of the distance between data and hypothesis, in rows; noise: what its noises do not exceed; method: of the sparse vector; step: eta, of an update; epsilon, delta, rho: the charge; sensitivity: of one count; theorems T55 and T56, book 4.14 and 4.15')
		) v(name, symbol, nulls, besides, arguments, comment)
	LOOP
		FOREACH number IN ARRAY ARRAY['numeric', 'double precision'] LOOP
			EXECUTE pg_catalog.format(
				$$CREATE FUNCTION @extschema@.%I(%s)
				LANGUAGE c IMMUTABLE %s PARALLEL SAFE
				AS 'MODULE_PATHNAME', %L$$,
				f.name, pg_catalog.replace(f.arguments, 'NUMBER', number),
				f.nulls,
				'dp_accounting_' || f.symbol ||
				CASE number WHEN 'numeric' THEN '' ELSE '_float' END);
			SELECT p.oid INTO STRICT made FROM pg_catalog.pg_proc p
			WHERE p.prosrc = 'dp_accounting_' || f.symbol ||
				CASE number WHEN 'numeric' THEN '' ELSE '_float' END
			AND p.pronamespace = '@extschema@'::pg_catalog.regnamespace;
			EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', made,
				CASE number WHEN 'numeric' THEN f.comment || '; '
				ELSE f.name || ' for drivers that bind double precision, '
					|| 'whose numbers are read by their shortest decimal '
					|| 'text; ' END ||
				'NULL when an argument' || f.besides
				|| ' is NULL; errors 22023');
		END LOOP;
	END LOOP;
END
$make$;
