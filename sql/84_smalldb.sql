-- Released tables: what was released, how far a release is, SmallDB and the
-- net mechanism.  doc/smalldb.md.

-- ---------------------------------------------------------------------------
-- What is public
-- ---------------------------------------------------------------------------

CREATE TABLE dp_pg.released (
	id			bigint PRIMARY KEY,
	role		name NOT NULL,
	role_oid	oid NOT NULL,
	cluster		bigint NOT NULL,
	dataset		name NOT NULL,
	at			timestamptz NOT NULL,
	what		jsonb NOT NULL,
	error		double precision,
	results		jsonb
) WITH (fillfactor = 70);

COMMENT ON TABLE dp_pg.released IS
'one row per table released by dp_smalldb, dp_net, dp_synthesize or dp_iterate, written with the charge, so no rollback undoes it; visible to the role that asked and to the owner of the dataset; view dp_pg.releases is easier to read';
COMMENT ON COLUMN dp_pg.released.id IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.released.role IS 'the asking role';
COMMENT ON COLUMN dp_pg.released.what IS
'mechanism, relation, the protected relation under it, columns, parameters, and the target table of the statement if known';
COMMENT ON COLUMN dp_pg.released.error IS
'estimated largest error of the workload, in rows; NULL: unknown';
COMMENT ON COLUMN dp_pg.released.results IS
'numbers released with the table; NULL: paid for, but perhaps not delivered';

SELECT pg_catalog.pg_extension_config_dump('dp_pg.released', '');

ALTER TABLE dp_pg.released ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner_and_asker_read ON dp_pg.released FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR dp_pg.is_me(role_oid, role, cluster));
REVOKE ALL ON dp_pg.released FROM PUBLIC;
GRANT SELECT ON dp_pg.released TO PUBLIC;

CREATE VIEW dp_pg.releases WITH (security_invoker = true) AS
SELECT r.id, r.at, r.role, r.dataset, r.what ->> 'mechanism' AS mechanism,
	r.what ->> 'relation' AS relation, r.what ->> 'protected' AS protected,
	ARRAY(SELECT pg_catalog.jsonb_array_elements_text(
		CASE pg_catalog.jsonb_typeof(r.what -> 'columns') WHEN 'array'
			THEN r.what -> 'columns' ELSE '[]' END)) AS columns,
	(r.what -> 'parameters') || coalesce(r.results, '{}') AS parameters,
	r.error, r.what ->> 'target' AS target,
	r.results IS NOT NULL AS delivered,
	coalesce(l.price_epsilon, l.epsilon) AS epsilon,
	coalesce(l.price_delta, l.delta) AS delta,
	coalesce(l.price_rho, l.rho) AS rho
FROM dp_pg.released AS r LEFT JOIN dp_pg.ledger AS l USING (id);
COMMENT ON VIEW dp_pg.releases IS
'tables released by dp_smalldb, dp_net and dp_synthesize, your own and those from your datasets: id of the ledger''s line, mechanism, relation, columns, parameters and released numbers, estimated largest error of the workload in rows (NULL: unknown), target table of CREATE TABLE AS or INSERT (NULL: sent to the client, or not known), delivered (false: paid for, but ended before the rows were drawn), and the price of the release alone';
COMMENT ON COLUMN dp_pg.releases.relation IS
'the relation named in the call, by its name at that time; NULL: an owner''s values';
COMMENT ON COLUMN dp_pg.releases.protected IS
'the protected relation itself, another one if relation is a view; NULL: an owner''s values';
COMMENT ON COLUMN dp_pg.releases.parameters IS
'parameters of the call, and numbers released with the table; for dp_synthesize also the epsilon and delta requested';
COMMENT ON COLUMN dp_pg.releases.target IS
'the table of CREATE TABLE AS, SELECT INTO or INSERT that the client sent; NULL: sent to the client, or the statement is in a procedure, function or DO block, or is not known';
COMMENT ON COLUMN dp_pg.releases.epsilon IS
'price of the release alone; Infinity: it was charged only as rho, which is its price';
COMMENT ON COLUMN dp_pg.releases.delta IS
'price of the release alone; 0 also if it was charged only as rho';
COMMENT ON COLUMN dp_pg.releases.rho IS 'price of the release alone';
GRANT SELECT ON dp_pg.releases TO PUBLIC;

-- ---------------------------------------------------------------------------
-- What is under way
-- ---------------------------------------------------------------------------

CREATE FUNCTION dp_pg.progress_rows(
	OUT pid integer, OUT role oid, OUT relation oid, OUT mechanism text,
	OUT phase text, OUT done bigint, OUT total bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'dp_bridge_sql_progress';
COMMENT ON FUNCTION dp_pg.progress_rows() IS
'running releases in this database whose activity the current user may see in pg_stat_activity; see dp_pg.progress';

CREATE VIEW dp_pg.progress AS
SELECT p.pid, p.role::regrole AS role,
	CASE WHEN n.oid IS NOT NULL THEN
		pg_catalog.format('%I.%I', n.nspname, c.relname) END AS relation,
	p.mechanism, p.phase, p.done, p.total
FROM dp_pg.progress_rows() AS p
	LEFT JOIN pg_catalog.pg_class AS c ON c.oid = p.relation
	LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace;
COMMENT ON VIEW dp_pg.progress IS
'private queries (mechanism query) running in this database, and the progress of dp_smalldb, dp_net, dp_synthesize and dp_iterate: one row per connection, for roles that may see its activity (the role itself, its members, pg_read_all_stats); done of total candidates or rounds, which are public numbers, NULL for a query; empty unless track_activities is on';
GRANT SELECT ON dp_pg.progress TO PUBLIC;

-- ---------------------------------------------------------------------------
-- dp_smalldb
-- ---------------------------------------------------------------------------

DO $make$
DECLARE
	f record;
BEGIN
	FOR f IN
		SELECT relation, workload,
			CASE WHEN relation LIKE '%anyelement' THEN 'anyelement'
				ELSE 'record' END AS result,
			CASE WHEN relation LIKE '%anyelement' THEN
				'whole rows of the relation''s type, given as NULL::relation, with NULL in columns outside the universe'
				ELSE 'rows of the universe''s columns, to be listed after AS t(...), and, when the list ends with weight double precision, how many rows of the relation each stands for'
				END AS rows,
			CASE WHEN workload LIKE 'queries%' THEN
				'queries (predicates over the columns, or weights from 0 to 1, SQL text)' ELSE
				'every cell of all tables of that many of the columns'
				END AS answers
		FROM (VALUES ('relation dp_pg.regrelation'), ('relation regclass'),
				('relation anyelement'))
			AS r(relation),
			(VALUES ('queries text[]'), ('marginals integer')) AS w(workload)
	LOOP
		PERFORM dp_pg.make_twins('dp_smalldb', pg_catalog.format(
			'%s, columns text[], %s, epsilon NUMBER [DEFAULT NULL], n bigint DEFAULT NULL, bins integer[] DEFAULT NULL, alpha NUMBER DEFAULT NULL',
			f.relation, f.workload),
			pg_catalog.format('RETURNS SETOF %s VOLATILE PARALLEL UNSAFE COST 1000000', f.result),
			'dp_synth_sql_smalldb',
			'a private synthetic table of few rows, ready for CREATE TABLE AS: '
			|| f.rows || '; chosen by the exponential mechanism among all tables of ceil(ln(queries)/alpha^2) rows (alpha NULL, with n: of as many rows as promise the least error among those that can be searched) over the universe, the product of the columns'' public values (bins: equal bins of declared bounds, 0 or NULL for none), to answer '
			|| f.answers || ' best; a count of its rows times n over its size estimates a count of the relation''s; universe, workload and candidates are shown before the charge of epsilon (default dp_pg.epsilon; rho at most epsilon^2/8, a little more with a count); n: the number of rows in the universe when that is public, NULL: a twentieth of epsilon buys a noisy count; 22004 for a NULL, 22023 for a bad parameter or column list, 42703, 54000 for too many cells or candidates, 42501, 53400, 25000, 25006, 0A000; book, Algorithm 4; theory T65, T66');
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- To plan it
-- ---------------------------------------------------------------------------

SELECT dp_pg.make_twins('dp_smalldb_error',
'universe bigint, queries bigint, epsilon NUMBER, n bigint, alpha NUMBER DEFAULT NULL, confidence NUMBER DEFAULT 0.95, size bigint DEFAULT NULL, vc_dimension bigint DEFAULT NULL, max_rows bigint DEFAULT 1, OUT size bigint, OUT alpha double precision, OUT candidates double precision, OUT feasible boolean, OUT error double precision, OUT theorem_alpha double precision',
'IMMUTABLE PARALLEL SAFE', 'dp_synth_sql_smalldb_error',
'what dp_smalldb over a universe of that many cells and with that many queries would search and promise, when n rows are public (NULL n there: use 0.95 epsilon here, and what the count is off by adds twice): size of the table, from size, else alpha (ceil(ln(queries)/alpha^2); with vc_dimension the smaller of that and Theorem 4.9''s), else the searchable one with the least error; an alpha that gives this size (NULL: none); candidates; feasible: whether they can be searched; error: with probability confidence no query is off by more than this part of n; theorem_alpha: that of Theorem 4.5, which says nothing above 1; max_rows: how many rows of a unit count; NULL when universe, epsilon, n, confidence or max_rows is; queries NULL: any number of vc_dimension; errors 22023; book, Lemma 4.3, Theorems 4.5 and 4.9; theory T67, T68, T136');

CREATE FUNCTION @extschema@.dp_vc_dimension(
	relation dp_pg.regrelation, columns text[], queries text[],
	bins integer[] DEFAULT NULL,
	OUT dimension bigint, OUT exact boolean, OUT shattered bigint,
	OUT universe bigint, OUT queries_apart bigint)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 100000
AS 'MODULE_PATHNAME', 'dp_synth_sql_vc_dimension';
COMMENT ON FUNCTION @extschema@.dp_vc_dimension(dp_pg.regrelation, text[], text[], integer[]) IS
'the VC dimension of a list of queries (predicates over the columns, SQL text) over the universe of dp_smalldb, the product of the columns'' public values (bins: equal bins of declared bounds, 0 or NULL for none): the size of the largest set of cells that the queries shatter; dimension: that number when exact, which it is unless the search takes more than 2^30 steps or the truth table more than 2^25 bytes, otherwise a proved upper bound; shattered: the size of a set of cells known to be shattered; universe: its cells (2^63 - 1: that many or more); queries_apart: how many of the queries differ somewhere (when not exact, perhaps all); reads no private row, charges nothing, and requires the right to ask about the relation; never NULL; errors 22004 a NULL, 22023 for a bad parameter or column, 42501, 42601, 42703, 42804, 0A000, 54000; book, Definition 4.2; theory T120';

CREATE FUNCTION dp_pg.rows_of_unit(relation dp_pg.regrelation) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE COST 1000
AS 'MODULE_PATHNAME', 'dp_reading_sql_rows_of_unit';
COMMENT ON FUNCTION dp_pg.rows_of_unit(dp_pg.regrelation) IS
'most rows of a unit that would count in a linear query over the relation now, by settings and declarations: 1 if a unit has one row; reads no row, charges nothing, and requires the right to ask about the relation; NULL for NULL; errors as dp_predicate_cost; theory T135';

-- What dp_smalldb promises for a list of queries: their number, or their VC
-- dimension where that promises more.
DO $make$
DECLARE
	number text;
BEGIN
	FOREACH number IN ARRAY ARRAY['numeric', 'double precision'] LOOP
		EXECUTE pg_catalog.replace($sql$
CREATE FUNCTION @extschema@.dp_smalldb_error(
	relation dp_pg.regrelation, columns text[], queries text[],
	epsilon NUMBER, n bigint, bins integer[] DEFAULT NULL,
	alpha NUMBER DEFAULT NULL, confidence NUMBER DEFAULT 0.95,
	size bigint DEFAULT NULL, max_rows bigint DEFAULT NULL,
	OUT size bigint, OUT alpha double precision,
	OUT candidates double precision, OUT feasible boolean,
	OUT error double precision, OUT theorem_alpha double precision,
	OUT vc_dimension bigint, OUT vc_exact boolean)
RETURNS record
LANGUAGE sql VOLATILE PARALLEL UNSAFE
AS $$
	SELECT e.size, e.alpha, e.candidates, e.feasible, e.error,
		e.theorem_alpha, v.dimension, v.exact
	FROM @extschema@.dp_vc_dimension($1, $2, $3, $6) AS v,
		@extschema@.dp_smalldb_error(v.universe,
			pg_catalog.cardinality($3)::bigint, $4, $5, $7, $8, $9,
			greatest(v.dimension, 1),
			coalesce($10, dp_pg.rows_of_unit($1))) AS e
$$;
COMMENT ON FUNCTION @extschema@.dp_smalldb_error(dp_pg.regrelation, text[], text[], NUMBER, bigint, integer[], NUMBER, NUMBER, bigint, bigint) IS
'dp_smalldb_error for the queries and the universe of a call of dp_smalldb, with vc_dimension from dp_vc_dimension (vc_exact: it is the dimension itself, otherwise a bound), and with as many rows of a unit as dp_smalldb would count now (max_rows NULL); errors of both; theory T67, T68, T120';
		$sql$, 'NUMBER', number);
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- dp_net
-- ---------------------------------------------------------------------------

SELECT dp_pg.make_twins('dp_net',
$$relation dp_pg.regrelation, candidates regclass, queries text[], epsilon NUMBER [DEFAULT NULL], answers name DEFAULT 'answers'$$,
'RETURNS SETOF record VOLATILE PARALLEL UNSAFE COST 1000000',
'dp_synth_sql_net',
'the row of a public table of candidates whose answers are nearest to the counts of a protected relation, privately: column answers holds an array with one number, in rows, for each of the queries (predicates under the rules of WHERE, or weights from 0 to 1), the other columns anything, listed after AS t(...); drawn with probability proportional to exp(-epsilon d/2), d its largest distance; candidates are read as the asking role, before the charge of epsilon (default dp_pg.epsilon; rho at most epsilon^2/8); 22004 for a NULL, 22023 for a bad parameter or candidate, 42703, 42804, 54000 for more than 2^24 candidates, 42501, 53400, 25000, 25006, 0A000; book, Section 5.1; theory T69');

SELECT dp_pg.make_twins('dp_net_values',
$$value NUMBER[], sensitivity NUMBER, candidates regclass, dataset name, epsilon NUMBER DEFAULT NULL, answers name DEFAULT 'answers'$$,
'RETURNS SETOF record VOLATILE PARALLEL UNSAFE COST 1000000',
'dp_synth_sql_net_values',
'dp_net for values of any queries, linear or not, that the data''s owner computed: sensitivity, for which the owner vouches, is the most by which one unit can move one of them; charged to the asking role on the dataset; NULL and NaN values count as 0; EXECUTE is given by grant only; 22004, 22023, 42703, 42704, 42804, 54000, 42501, 53400, 55000 in a function that is not known to call this one, 25000, 25006, 0A000; book, Section 5.1; theory T69',
true);
