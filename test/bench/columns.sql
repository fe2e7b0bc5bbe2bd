SELECT n.nspname, c.relname, a.attname, a.atttypid, a.atttypmod, t.typtype,
	a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS filled,
	row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS place,
	nullif(a.attidentity, '') AS identity,
	pg_catalog.pg_get_expr(f.adbin, f.adrelid) AS otherwise, d.description
FROM pg_catalog.pg_namespace n
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid
	AND f.adnum = a.attnum
LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid
	AND d.objsubid = a.attnum
LEFT JOIN pg_catalog.pg_class k ON k.oid = d.classoid
	AND k.relname = 'pg_class'
WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND a.attnum > 0
	AND NOT a.attisdropped AND n.nspname LIKE 'public'
	AND c.relname LIKE 'small'
ORDER BY 1, 2, place
