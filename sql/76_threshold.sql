-- The data owner's AboveThreshold: doc/procedures.md, doc/sparse_vector.md.

DO $make$
DECLARE
	number text;
BEGIN
	FOREACH number IN ARRAY ARRAY['numeric', 'double precision']
	LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION @extschema@.dp_above_threshold(
				value anyarray, threshold %1$s, sensitivity %1$s,
				epsilon %1$s, dataset name, monotone boolean DEFAULT false,
				method text DEFAULT 'geometric')
			RETURNS integer LANGUAGE c VOLATILE PARALLEL UNSAFE
			AS 'MODULE_PATHNAME', 'dp_procedure_sql_threshold%2$s';
			COMMENT ON FUNCTION @extschema@.dp_above_threshold(
				anyarray, %1$s, %1$s, %1$s, name, boolean, text) IS
			'place (from 1) of the first of the values that is at or above the threshold, NULL when none is: sparse vector with cutoff 1; sensitivity is that of one value, in any number of values; charged epsilon to the asking role; monotone: one person more moves all values up, or all down, and noise is smaller; method geometric (one-sided noise) or book (Algorithm 1 of Dwork and Roth); values are integers, numeric or double precision, NULL and NaN count as 0; errors 22023 bad parameter, 42804 type, 22003 scale out of range, 42704, 42501 no budget, 53400 exhausted, 55P03, 53000, 25000 parallel operation, 25006 recovery, 0A000 serializable or restricted operation; doc/sparse_vector.md';
			REVOKE EXECUTE ON FUNCTION @extschema@.dp_above_threshold(
				anyarray, %1$s, %1$s, %1$s, name, boolean, text) FROM PUBLIC;
		$sql$, number,
			CASE number WHEN 'numeric' THEN '' ELSE '_float' END);
	END LOOP;
END
$make$;
