-- After README's ten lines: as the analyst they end as.  The counts are off by
-- more than 200 with probability exp(-20) each.
\set ON_ERROR_STOP on
DO $$
BEGIN
	IF (SELECT count(*) FROM (SELECT ward, dp_count(*) AS n FROM patients
			GROUP BY ward) AS s WHERE n BETWEEN 800 AND 1200) <> 3 THEN
		RAISE EXCEPTION 'wards are not as they should be';
	END IF;
	PERFORM FROM patients;
	RAISE EXCEPTION 'rows can be read';
EXCEPTION WHEN insufficient_privilege THEN
	RAISE NOTICE 'rows cannot be read';
END $$;
SELECT role, dataset, mechanism, epsilon FROM dp_pg.ledger;
SELECT remaining_epsilon FROM dp_pg.my_budget;
