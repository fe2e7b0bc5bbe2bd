-- Numbers of the pictures: plot.gp picks lines by their first words.
SELECT split_part(name, '(', 1) || CASE WHEN name LIKE '%(0.9)' THEN '0.9'
		ELSE '' END, split_part(noise, ' ', 1), r.data, n, epsilon, rmse,
	rmse / (upper - lower), wrong,
	rank() OVER (PARTITION BY name, noise, r.data, epsilon ORDER BY n)
FROM result r JOIN data d USING (data)
ORDER BY r.id, noise, d.id, n, epsilon;
