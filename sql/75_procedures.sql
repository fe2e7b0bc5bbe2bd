-- The data owner's building blocks: noise and selection for values that the
-- owner computed, with a sensitivity that the owner vouches for.  They are
-- charged to the asking role; EXECUTE is given by grant only.
-- doc/procedures.md.

SELECT dp_pg.make_twins('dp_laplace',
$$value anyelement, sensitivity NUMBER, epsilon NUMBER, dataset name, granule NUMBER DEFAULT NULL$$,
'RETURNS anyelement VOLATILE PARALLEL UNSAFE',
'dp_procedure_sql_laplace',
'value plus discrete Laplace noise of scale sensitivity / epsilon, of the type of value: integer, numeric, double precision or an array of these, whose sensitivity is that in L1; charged epsilon to the asking role; integers are released on the integers, others on multiples of granule (a power of two, NULL: chosen from sensitivity and epsilon); NULL and NaN values count as 0; errors 22004 NULL for sensitivity, epsilon, dataset or an array, 22023 bad parameter, 42804 type, 22003 scale out of range, 42704, 42501 no budget, 53400 exhausted, 55000 in a function that is not known to call this one, 55P03, 53000, 25000 parallel operation, 25006 recovery, 0A000 serializable or restricted operation; theory T6, T22',
true);

SELECT dp_pg.make_twins('dp_gaussian',
$$value anyelement, sensitivity NUMBER, epsilon NUMBER, delta NUMBER, dataset name, method text DEFAULT NULL, granule NUMBER DEFAULT NULL$$,
'RETURNS anyelement VOLATILE PARALLEL UNSAFE',
'dp_procedure_sql_gaussian',
'value plus discrete Gaussian noise that is (epsilon, delta)-private, of the type of value as in dp_laplace; sensitivity of an array is that in L2; method exact (one value: least variance with the exact delta), zcdp, classical (Theorem 3.22, epsilon up to 1), NULL: exact for one value, zcdp for several; charged in rho alone where the filters of payer and cap count rho, else as (epsilon, delta); NULL and NaN values count as 0; errors 22004 NULL for sensitivity, epsilon, delta, dataset or an array, 22023 bad parameter, 42804 type, 22003 scale out of range, 42704, 42501 no budget, 53400 exhausted, 55000 in a function that is not known to call this one, 55P03, 53000, 25000 parallel operation, 25006 recovery, 0A000 serializable or restricted operation; theory T12, T36',
true);

SELECT dp_pg.make_twins('dp_exponential',
$$candidates anyarray, utilities anycompatiblearray, sensitivity NUMBER, epsilon NUMBER, dataset name, monotone boolean DEFAULT false$$,
'RETURNS anyelement VOLATILE PARALLEL UNSAFE',
'dp_procedure_sql_exponential',
'one of the candidates, drawn with probability proportional to exp(epsilon utility / (2 sensitivity)), to exp(epsilon utility / sensitivity) when monotone (one person more moves all utilities up, or all down); sensitivity is that of one utility; charged epsilon and epsilon^2/8 in rho; utilities are integers, numeric or double precision, NULL and NaN count as 0; errors 22004 a NULL argument, 22023 bad parameter, 42804 type, 22003 scale out of range, 42704, 42501 no budget, 53400 exhausted, 55000 in a function that is not known to call this one, 55P03, 53000, 25000 parallel operation, 25006 recovery, 0A000 serializable or restricted operation; theory T16',
true);

SELECT dp_pg.make_twins('dp_noisy_max',
$$candidates anyarray, utilities anycompatiblearray, sensitivity NUMBER, epsilon NUMBER, dataset name, noise text DEFAULT 'laplace', monotone boolean DEFAULT false$$,
'RETURNS anyelement VOLATILE PARALLEL UNSAFE',
'dp_procedure_sql_noisy_max',
'the candidate whose utility is largest after noise of scale 2 sensitivity / epsilon, sensitivity / epsilon when monotone (as in dp_exponential): noise laplace (two-sided) or exponential (one-sided), discrete, ties to the first; gumbel: the exponential mechanism; permute_and_flip; charged epsilon; utilities as in dp_exponential; errors 22004 a NULL argument, 22023 bad parameter, 42804 type, 22003 scale out of range, 42704, 42501 no budget, 53400 exhausted, 55000 in a function that is not known to call this one, 55P03, 53000, 25000 parallel operation, 25006 recovery, 0A000 serializable or restricted operation; theory T16, T17, T19',
true);
