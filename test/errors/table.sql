-- One table of errors.md: a line per data, size and noise, a column per price.
\set ON_ERROR_STOP 1
SELECT '| ' || concat_ws(' | ', 'data', 'n', 'exact', 'noise',
	'epsilon 0.1', '0.5', '1', '2') || ' |';
SELECT '|---|---|---|---|---|---|---|---|';
SELECT concat('| ', CASE WHEN name = 'dp_count' THEN data
		ELSE data || ': ' || what END, ' | ', trim(to_char(n, '999,999')),
	' | ', CASE WHEN name NOT LIKE 'dp_histogram%' THEN shown(max(exact)) END,
	' | ', noise, ' | ',
	string_agg(CASE WHEN rmse = 0 THEN '0'
		ELSE concat(shown(rmse), ' (', shown(error95), ')',
			CASE WHEN name = 'dp_argmax' THEN
				concat(', wrong ', round(100 * wrong::numeric), '%') END) END,
		' | ' ORDER BY epsilon), ' |')
FROM (SELECT r.*, d.id AS place,
		CASE WHEN name = 'dp_argmax' THEN d.k
			WHEN name = 'dp_randomized_response' THEN d.b ELSE d.x END AS what
	FROM result r JOIN data d USING (data) WHERE r.id = :id) s
GROUP BY name, noise, data, n, what, place
ORDER BY place, n, noise DESC;
