-- Synthetic tables of any number of columns, fitted to marginals.
-- doc/synthesize.md.

DO $make$
DECLARE
	f record;
BEGIN
	FOR f IN SELECT * FROM (VALUES
		('integer [DEFAULT NULL]', 'the marginals are all tables of that many of the columns (NULL: 2, or 1 of a single column)'),
		('text[]', 'the marginals are those of the sets in marginals, each a list of names as in SQL'))
		AS w(marginals, answers)
	LOOP
		PERFORM dp_pg.make_twins('dp_synthesize', pg_catalog.format(
			'relation dp_pg.regrelation, columns text[], marginals %s, epsilon NUMBER [DEFAULT NULL], n bigint DEFAULT NULL, bins integer[] DEFAULT NULL, delta NUMBER DEFAULT NULL, method text DEFAULT ''aim'', rows bigint DEFAULT NULL',
			f.marginals),
			'RETURNS SETOF record VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10000',
			'dp_synth_sql_synthesize',
			'synthetic rows over the columns'' public values (bins: equal bins of declared bounds, 0 or NULL for none), to be listed after AS t(...), ready for CREATE TABLE AS; their marginals are near those of the protected relation: '
			|| f.answers || '; method aim: adaptively chosen marginals with discrete Gaussian noise, (epsilon, delta), for universes of any size; method mwem: multiplicative weights, pure epsilon, at most 2^20 cells; epsilon (NULL: dp_pg.epsilon) and delta (NULL: dp_pg.delta, whatever dp_pg.mechanism is; mwem takes none); rows: how many, at least 1, NULL for about as many as there are; delta may not be above that of the budget or of the dataset''s cap; n: the number of rows of the relation when that is public, used where declarations and types give every row a place; rows with a value without one in any of the columns are left out; universe and workload are shown before the charge, which is made once, and the estimated error afterwards and in dp_pg.releases; values may be NULL; 22004 for a NULL, 22023 for a bad parameter, column, marginal or column list, 42703, 54000 for too many cells, tables or rows, 42501, 53400, 25000, 25006, 0A000; book, Section 5.2; theory T70 to T75');
		PERFORM dp_pg.make_twins('dp_publish_twin', pg_catalog.format(
			'relation regclass, publish text, columns text[], marginals %s, epsilon NUMBER [DEFAULT NULL], n bigint DEFAULT NULL, bins integer[] DEFAULT NULL, delta NUMBER DEFAULT NULL, method text DEFAULT ''aim'', rows bigint DEFAULT NULL',
			f.marginals),
			'RETURNS void VOLATILE PARALLEL UNSAFE COST 1000000',
			'dp_publish_twin',
			'create a table of synthetic rows, named by publish, of a protected relation of one''s own: its columns with their names and types, those in columns filled by dp_synthesize, which is charged and takes the other arguments, the rest NULL; raw previews in transparent mode show its rows, and roles with a budget on the dataset, also later ones, may read it; '
			|| f.answers || '; it is dropped with the relation or by dp_unprotect, and may be dropped to publish another; 42501 not the owner, 42704 not protected, 42703 unknown column, 22004 for a NULL, 55000 there is a twin already, 42P07, 42602, 3F000 a name that cannot be used, 23502 or 23514 a domain that does not allow NULL, 25006, and the errors of dp_synthesize');
	END LOOP;
END
$make$;

SELECT dp_pg.make_twins('dp_synthesize_error',
'sizes integer[], marginals integer, epsilon NUMBER, n bigint, delta NUMBER DEFAULT NULL, confidence NUMBER DEFAULT 0.95, max_rows bigint DEFAULT 1, OUT cells double precision, OUT tables double precision, OUT table_cells double precision, OUT sigma double precision, OUT gaussian_error double precision, OUT laplace_error double precision, OUT rounds integer, OUT theorem_alpha double precision',
'IMMUTABLE PARALLEL SAFE', 'dp_synth_sql_synthesize_error',
'the size of a workload for dp_synthesize, all tables of counts by so many of the columns that have sizes public values, and what its price buys without it, for n rows: cells of the universe, tables of counts and their cells; sigma of plain Gaussian noise on all of them at (epsilon, delta); gaussian_error and laplace_error: parts of n that no cell is off by with probability confidence, a bound for method aim to stay below where it can choose well; rounds of method mwem and theorem_alpha, the promise of Theorem 5.6, which says nothing above 1; max_rows: how many rows of a unit count; NULL where delta is NULL, or the universe is too large for mwem; NULL when another argument is; errors 22023; theory T71, T75, T136');
