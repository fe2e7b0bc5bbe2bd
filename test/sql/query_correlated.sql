-- Correlated subqueries with private aggregates: released once, then looked up
-- for each public row of the outer query.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_correlated
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE sale (unit int, item int, shop text, amount int, at date);
INSERT INTO sale SELECT i % 60, nullif(i % 5, 4), nullif('s' || i % 4, 's3'), nullif(i * 7 % 11, 3), date '2024-01-01' + i % 50 FROM generate_series(1, 600) i;
INSERT INTO sale VALUES (7, 77, 's0', 4, '2024-01-01');
CREATE TABLE offer (n int, item int, shop text, stock numeric);
INSERT INTO offer SELECT i, nullif(i % 7, 6), 's' || i % 5, i * 40 FROM generate_series(1, 14) i;
INSERT INTO offer VALUES (15, 77, 's0', 1);
GRANT SELECT ON offer TO :analyst;
SELECT dp_protect('sale', unit => 'unit', dataset => :'schema') \g /dev/null
SELECT dp_declare('sale', 'item', keys => ARRAY[0, 1, 2, 3]), dp_declare('sale', 'amount', lower => 0, upper => 10), dp_declare('sale', max_rows => 20, max_keys => 20) \g /dev/null
RESET ROLE;

-- What an outer query gives, in order, and whether it is what the plain one gives.
CREATE FUNCTION compare(query text, OUT private text, OUT same boolean, OUT charges bigint)
LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	schema text := current_setting('regress.dataset');
BEGIN
	PERFORM spent();
	EXECUTE format('SET LOCAL ROLE %I', schema || '_analyst');
	EXECUTE 'SELECT string_agg(q::text, '' '' ORDER BY q) FROM (' || query || ') q' INTO private;
	EXECUTE format('SET LOCAL ROLE %I', schema || '_owner');
	EXECUTE 'SELECT string_agg(q::text, '' '' ORDER BY q) FROM (' || replace(query, 'dp_', '') || ') q' INTO plain;
	RESET ROLE;
	same := private = plain;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
SELECT q, b.* FROM unnest(ARRAY[
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item) FROM offer o WHERE item IS DISTINCT FROM 77',
	'SELECT n, coalesce((SELECT 0.5 * dp_sum(amount) FROM sale WHERE item = o.item AND at < ''2024-02-01''), 0.0) FROM offer o WHERE item IS DISTINCT FROM 77',
	'SELECT n FROM offer o WHERE stock > (SELECT 0.5 * coalesce(dp_sum(amount), 0) FROM sale WHERE item = o.item AND o.item <> 77) AND n > 1',
	'SELECT n FROM offer o WHERE n IN (SELECT p.n FROM offer p WHERE 3 * p.stock > (SELECT dp_sum(amount) FROM sale s WHERE s.item = p.item) AND p.item < 4)',
	'SELECT n FROM offer o WHERE n < 3 OR stock > 2 * (SELECT dp_count(amount) FILTER (WHERE at > ''2024-01-10'') + n FROM sale WHERE o.item = sale.item)',
	'SELECT n, CASE WHEN n > 3 THEN (SELECT dp_count(*) - dp_count(amount) FROM sale WHERE item = o.item) END FROM offer o WHERE item IS DISTINCT FROM 77',
	-- no group: counts are 0, the rest NULL; of no rows a sum is about 0; HAVING
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item) + 1, (SELECT dp_sum(amount) FROM sale WHERE item = o.item) IS NULL FROM offer o WHERE item IS NULL',
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item HAVING dp_count(*) > 0) FROM offer o WHERE item IS DISTINCT FROM 77',
	'SELECT n, (SELECT dp_sum(amount) FROM sale WHERE item = o.item HAVING dp_count(*) > 0) FROM offer o WHERE item IS DISTINCT FROM 77',
	'SELECT n, (SELECT 1 FROM sale WHERE item = o.item HAVING dp_count(*) = 0) FROM offer o WHERE item IS DISTINCT FROM 77',
	'SELECT n FROM offer o WHERE EXISTS (SELECT dp_count(*) FROM sale WHERE item = o.item HAVING dp_count(*) > 119) AND n < 9 OR n IN (SELECT dp_count(*) / 12 FROM sale WHERE item = o.item)',
	-- keys that are computed, two of them, NULL in one, in a view, with WITH
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE item + 1 = o.item + 1 AND (item > 1) = (o.n > 7)) FROM offer o WHERE item < 5',
	'SELECT n, (WITH s AS (SELECT * FROM sale WHERE amount > 3) SELECT dp_count(*) FROM s WHERE s.item = o.item) FROM offer o WHERE item < 5',
	'WITH s AS (SELECT * FROM sale WHERE amount > 3) SELECT n, (SELECT dp_count(*) FROM s WHERE s.item = o.item) FROM offer o WHERE item < 5',
	'SELECT n, c FROM offer o, LATERAL (SELECT dp_count(*) AS c FROM sale WHERE item = o.item) l WHERE item < 5',
	'SELECT n, (SELECT c FROM (SELECT dp_count(*) AS c FROM sale WHERE item = o.item) s) FROM offer o WHERE item < 5',
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE o.n > 4 AND amount > 2) FROM offer o',
	'SELECT n, c FROM offer o LEFT JOIN LATERAL (SELECT dp_count(*) AS c FROM sale s JOIN (VALUES (0, 4), (1, 5)) v (k, b) ON s.item = k AND s.amount > b WHERE item = o.item) l ON c > 0',
	-- outer rows with values that their table has not by itself
	'SELECT p.n, (SELECT dp_count(*) FROM sale WHERE item = coalesce(o.n - 14, 3)) FROM generate_series(13, 17) p (n) LEFT JOIN offer o USING (n)',
	'SELECT p.n FROM offer o RIGHT JOIN generate_series(13, 17) p (n) USING (n) WHERE (SELECT dp_count(*) FROM sale WHERE item = coalesce(o.n - 14, 3)) > 0',
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE item = coalesce(o.n - 14, 3)) FROM (SELECT n FROM offer WHERE n > 13) o FULL JOIN generate_series(13, 17) p (n) USING (n)',
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE item = coalesce(p.n - 14, 3)) FROM generate_series(13, 17) g (n) FULL JOIN offer p USING (n) WHERE n > 12',
	'SELECT o.n, (SELECT dp_count(*) FROM sale WHERE item = coalesce(o.n - 14, 3)) FROM offer o GROUP BY ROLLUP (o.n)',
	'SELECT item, dp_count(*), (SELECT dp_count(*) FROM sale t WHERE t.item = s.item AND t.amount > 5) FROM sale s WHERE item IN (1, 2) GROUP BY item']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;

-- values of several tables: keys nobody declared are told, or not, like what is not there
SET dp_pg.delta = '1e-9';
SELECT q, b.* FROM unnest(ARRAY[
	'SELECT n, k, (SELECT dp_count(*) FROM sale WHERE shop = o.shop AND item = k) FROM offer o, (VALUES (1), (5)) v (k)',
	'SELECT n, k, (SELECT dp_sum(amount) FROM sale WHERE item = o.item AND shop = s) FROM offer o, (VALUES (1, ''s1''), (3, ''s9'')) v (k, s) WHERE item < 4',
	'SELECT n, (SELECT dp_count(*) FROM sale WHERE at = date ''2024-01-01'' + o.n + p.k) FROM offer o, (VALUES (0), (1)) p (k)']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;
SET ROLE :analyst;
SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item + p.k) AS c, (SELECT dp_count(*) FROM sale WHERE item + 0 = o.item + p.k) AS told FROM offer o, (VALUES (0)) p (k) WHERE item = 77;
RESET dp_pg.delta;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('sale', 'shop', keys => ARRAY['s0', 's1'], other => 'rest') \g /dev/null
SET ROLE :analyst;
SELECT n, (SELECT dp_count(*) FROM sale WHERE shop = o.shop) AS c FROM offer o WHERE n < 6 ORDER BY n;
SELECT * FROM outcome('SELECT (SELECT dp_count(*) FROM sale WHERE shop = o.shop AND item = v.k) FROM offer o, (VALUES (1)) v (k)');
CREATE TEMPORARY TABLE mine AS SELECT n, item, 0 AS sold FROM offer WHERE n < 4;
UPDATE mine SET sold = (SELECT dp_count(*) FROM sale WHERE item = mine.item);
SELECT * FROM mine ORDER BY n;
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Plan|DpRelease|Filter|Groups|Charge' THEN RETURN NEXT btrim(line); END IF;
	END LOOP;
END $$;
-- of other types
CREATE DOMAIN name_of AS varchar(5);
CREATE TEMPORARY TABLE typed AS SELECT n, shop::varchar(9) AS v, shop::char(3) AS c, shop::name_of AS d, item::numeric(5,1) AS i, item::bigint AS b FROM offer WHERE n < 4;
SELECT n, (SELECT dp_count(*) FROM sale WHERE shop = v) AS v, (SELECT dp_count(*) FROM sale WHERE shop = c) AS c, (SELECT dp_count(*) FROM sale WHERE shop = d) AS d, (SELECT dp_count(*) FROM sale WHERE item = i) AS i,
	(SELECT dp_count(*) FROM sale WHERE item = b) AS b, (SELECT dp_count(*) FROM sale WHERE upper(shop) = upper(v)) AS u FROM typed ORDER BY n;
-- rows of VALUES that refer further out
SELECT n, (SELECT string_agg(c, ' ') FROM (SELECT (SELECT dp_count(*) FROM sale WHERE item = x)::text AS c FROM (VALUES (o.item), (2)) v (x)) q) AS c FROM offer o WHERE n < 3 ORDER BY n;
-- policies of the table that is compared with
RESET ROLE;
SET ROLE :owner;
ALTER TABLE offer ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON offer FOR SELECT TO public USING (offer.n < 3 AND offer.item IN (SELECT 1));
SET ROLE :analyst;
SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item) AS c FROM offer o ORDER BY n;
SELECT explained FROM explained('SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item) AS c FROM offer o') WHERE explained ~ 'Groups';
RESET ROLE;
SET ROLE :owner;
ALTER TABLE offer DISABLE ROW LEVEL SECURITY;
SET ROLE :analyst;
-- one charge, which EXPLAIN shows
SELECT explained('SELECT n FROM offer o WHERE stock > (SELECT 0.5 * dp_sum(amount) FROM sale WHERE item = o.item)');
-- transparent mode, and a prepared statement that is run twice
SET dp_pg.transparent = on;
SELECT n, (SELECT count(*) FROM sale WHERE item = o.item) AS c, (SELECT sum(amount) FROM sale WHERE item = o.item AND o.item < 3) AS s FROM offer o WHERE n < 6 ORDER BY n;
RESET dp_pg.transparent;
PREPARE asked(int) AS SELECT n, (SELECT dp_count(*) FROM sale WHERE item = o.item AND amount > $1) AS c FROM offer o WHERE n < 4 ORDER BY n;
EXECUTE asked(3);
EXECUTE asked(8);
-- what is read once is drawn once
SELECT spent() \g /dev/null
SET dp_pg.epsilon = 0.01;
SELECT count(DISTINCT c) AS different FROM (SELECT (SELECT dp_count(*) FROM sale WHERE item = o.item) AS c FROM offer o, generate_series(1, 50) WHERE o.item = 2) q;
SELECT * FROM spent();
SET dp_pg.epsilon = 100000;

-- a quotient by a count of no rows is NULL here, too
SELECT n, (SELECT dp_sum(amount) / dp_count(*) FROM sale WHERE item = o.item AND amount < 0) AS q FROM offer o WHERE n < 3 ORDER BY n;
-- rows of a statement that changes them are not what its table had before
CREATE TEMP TABLE board (item int PRIMARY KEY, c bigint);
INSERT INTO board VALUES (1, 0) RETURNING item, c = (SELECT dp_count(*) FROM sale WHERE item = board.item AND item IN (1, 2, 3)) AS same, (SELECT dp_count(*) FROM sale WHERE item = board.item AND item IN (1, 2, 3)) AS c;
UPDATE board SET item = 2 RETURNING item, (SELECT dp_count(*) FROM sale WHERE item = board.item AND item IN (1, 2, 3)) AS c;
INSERT INTO board VALUES (2, 1) ON CONFLICT (item) DO UPDATE SET c = (SELECT dp_count(*) FROM sale WHERE item = excluded.c AND item IN (1, 2, 3)) RETURNING *;
UPDATE board SET c = (SELECT dp_count(*) FROM sale WHERE item = board.item) RETURNING *;
CREATE TEMP VIEW few AS SELECT * FROM board WHERE (SELECT dp_count(*) FROM sale WHERE item = board.item AND item IN (1, 2, 3)) > 1000 OR item > 3 OR (SELECT dp_count(*) FROM sale WHERE item = board.item AND item IN (1, 2, 3)) < 9 WITH CHECK OPTION;
INSERT INTO board VALUES (5, 0);
UPDATE few SET item = 1;
DELETE FROM board WHERE item = 5;
DELETE FROM board RETURNING (SELECT dp_count(*) FROM sale WHERE item = board.item AND item IN (1, 2, 3)) AS c;
SELECT item, dp_count(*) FROM sale WHERE item IN (1, 2) GROUP BY item;
-- aggregates of the outer query are no values of a table
SELECT (SELECT dp_count(*) FROM sale WHERE item = min(o.item) AND item IN (1, 2, 3)) AS c, min(item) FROM offer o;
SELECT item, (SELECT dp_count(*) FROM sale WHERE item = 1 + grouping(o.item) AND item IN (1, 2, 3)) AS c FROM offer o WHERE item < 3 GROUP BY ROLLUP (item) ORDER BY 1;

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	'SELECT (SELECT dp_count(*) FROM sale WHERE item < o.item) FROM offer o', 'SELECT (SELECT dp_count(*) FROM sale WHERE item = o.item OR amount = 3) FROM offer o', 'SELECT (SELECT dp_count(*) FROM sale WHERE item + o.item = 3) FROM offer o',
	'SELECT (SELECT dp_sum(amount + o.n, 0, 9) FROM sale WHERE item = o.item) FROM offer o', 'SELECT (SELECT dp_count(*) FILTER (WHERE amount > o.n) FROM sale WHERE item = o.item) FROM offer o',
	'SELECT (SELECT dp_count(*) FROM sale WHERE item = o.item GROUP BY shop LIMIT 1) FROM offer o', 'SELECT (SELECT dp_count(*) FROM sale WHERE item = o.item LIMIT 1) FROM offer o', 'SELECT (SELECT dp_count(*) FROM sale JOIN offer p ON p.item = o.item) FROM offer o',
	'SELECT (SELECT dp_count(*) FROM sale WHERE shop = o.shop || v.x) FROM offer o, (VALUES (''s'')) v (x)', 'SELECT (SELECT dp_count(*) FROM sale WHERE at = date ''2024-01-01'' + o.n + v.x) FROM offer o, (VALUES (1)) v (x)', 'SELECT (SELECT round(dp_error(dp_count(*))) FROM sale WHERE item = o.item) FROM offer o',
	'SELECT dp_count(*) FROM sale s WHERE amount > (SELECT dp_avg(amount) FROM sale t WHERE t.item = s.item)', 'SELECT dp_sum(amount * (SELECT dp_count(*) FROM sale t WHERE t.item = s.item), 0, 9) FROM sale s']) WITH ORDINALITY a (q, i),
	outcome(q) o ORDER BY i;
\set VERBOSITY terse
SELECT (SELECT dp_count(*) FROM sale WHERE item < o.item) FROM offer o;
\set VERBOSITY sqlstate
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
