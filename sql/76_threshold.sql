-- The data owner's AboveThreshold: doc/procedures.md, doc/sparse_vector.md.

SELECT dp_pg.make_twins('dp_above_threshold',
$$value anyarray, threshold NUMBER, sensitivity NUMBER, epsilon NUMBER, dataset name, monotone boolean DEFAULT false, method text DEFAULT 'best'$$,
'RETURNS integer VOLATILE PARALLEL UNSAFE', 'dp_procedure_sql_threshold',
'place (from 1) of the first of the values that is at or above the threshold, NULL when none is: sparse vector with cutoff 1; sensitivity is that of one value, in any number of values; charged epsilon to the asking role; monotone: one person more moves all values up, or all down, and noise is smaller; method best, geometric or rounds (one-sided noise, which are the same at cutoff 1) or book (Algorithm 1 of Dwork and Roth); values are integers, numeric or double precision, NULL and NaN among them count as 0; errors 22004 a NULL argument, 22023 bad parameter, 42804 type, 22003 scale out of range, 42704, 42501 no budget, 53400 exhausted, 55000 in a function that is not known to call this one, 55P03, 53000, 25000 parallel operation, 25006 recovery, 0A000 serializable or restricted operation; doc/sparse_vector.md',
true);
