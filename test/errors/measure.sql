-- Measures every cell; :repeat releases each.
\set ON_ERROR_STOP 1
SET SESSION AUTHORIZATION owner;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET dp_pg.delta = '1e-6';
INSERT INTO result
SELECT m.id, m.name, m.noise, d.data, t.n, e, avg(r.exact), avg(r.error), sqrt(avg(r.error ^ 2)),
	percentile_disc(0.95) WITHIN GROUP (ORDER BY abs(r.error)), avg((r.error <> 0)::int)
FROM measurement m
JOIN data d ON m.tables IS NULL OR d.data = ANY (m.tables)
JOIN size t USING (data)
CROSS JOIN unnest(ARRAY[0.1, 0.5, 1, 2]) e
CROSS JOIN LATERAL errors(m, t, d, e, :repeat) r
WHERE EXISTS (SELECT FROM pg_proc WHERE proname = split_part(m.name, '(', 1))
GROUP BY m.id, m.name, m.noise, d.data, t.n, e;
