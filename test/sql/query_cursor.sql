-- Cursors: one charge at the first FETCH, one draw however the cursor moves,
-- and all checks again at that moment.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_cursor
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- what a cursor said, to compare with what it says later
CREATE FUNCTION said(cursor_ refcursor) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	all_ bigint[] = '{}';
BEGIN
	MOVE ABSOLUTE 0 FROM cursor_;
	LOOP
		FETCH cursor_ INTO n;
		EXIT WHEN NOT FOUND;
		all_ := all_ || n;
	END LOOP;
	RETURN all_;
END $$;
-- plain
BEGIN;
DECLARE c CURSOR FOR SELECT ward, dp_count(*) FROM person GROUP BY ward;
SELECT * FROM spent();
FETCH c;
FETCH FORWARD 2 FROM c;
FETCH ALL FROM c;
FETCH c;
COMMIT;
SELECT * FROM spent();
-- never fetched, or moved over: what does it cost?
BEGIN;
DECLARE c CURSOR FOR SELECT ward, dp_count(*) FROM person GROUP BY ward;
CLOSE c;
ROLLBACK;
SELECT * FROM spent();
-- SCROLL, in all directions
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT ward, dp_count(*) FROM person GROUP BY ward;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH FIRST FROM c;
FETCH ABSOLUTE 3 FROM c;
FETCH RELATIVE -1 FROM c;
FETCH BACKWARD ALL FROM c;
MOVE FORWARD ALL IN c;
FETCH ABSOLUTE -5 FROM c;
COMMIT;
SELECT * FROM spent();
-- one draw
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT dp_count(1, 0.001) FROM person GROUP BY ward;
SELECT said('c') = said('c') AS same, cardinality(said('c')), said('c') = said('c') AS same;
COMMIT;
SELECT * FROM spent();
-- the sort above is rescanned backwards too
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT dp_count(1, 0.001) n FROM person GROUP BY ward ORDER BY n;
SELECT said('c') = said('c') AS same, cardinality(said('c'));
COMMIT;
SELECT * FROM spent();
-- WITH HOLD
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT dp_count(1, 0.001) FROM person GROUP BY ward;
SELECT said('c') AS before \gset
COMMIT;
SELECT said('c') = :'before' AS same;
CLOSE c;
SELECT * FROM spent();
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT ward, dp_count(*) FROM person GROUP BY ward;
FETCH 2 FROM c;
COMMIT;
FETCH 2 FROM c;
CLOSE c;
SELECT * FROM spent();
-- savepoints: rolled back fetches stay charged, and the values stay
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT dp_count(1, 0.001) FROM person GROUP BY ward;
SAVEPOINT s;
SELECT said('c') AS before \gset
RELEASE SAVEPOINT s;
SAVEPOINT s;
SELECT said('c') = :'before' AS same;
SELECT 1 / 0;
ROLLBACK TO SAVEPOINT s;
SELECT said('c') = :'before' AS same;
COMMIT;
SELECT * FROM spent();
-- first fetched inside a savepoint that is rolled back: no second draw
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT dp_count(1, 0.001) FROM person GROUP BY ward;
SAVEPOINT s;
SELECT said('c') AS before \gset
ROLLBACK TO SAVEPOINT s;
SELECT said('c') = :'before' AS same;
COMMIT;
SELECT * FROM spent();
-- opened inside a savepoint
BEGIN;
SAVEPOINT s;
DECLARE c CURSOR FOR SELECT dp_count(*) FROM person;
FETCH c;
ROLLBACK TO SAVEPOINT s;
FETCH c;
ROLLBACK;
SELECT * FROM spent();
-- a ROLLBACK takes nothing back
BEGIN;
SELECT dp_count(1, 0.25) IS NOT NULL FROM person;
ROLLBACK;
SELECT * FROM spent();
-- read only, isolation levels
BEGIN READ ONLY;
SELECT dp_count(*) FROM person;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT dp_count(*) FROM person;
SELECT dp_count(*) FROM person;
COMMIT;
SELECT * FROM spent();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT dp_count(*) FROM person;
ROLLBACK;
SELECT * FROM spent();
-- insensitive, and positioned updates
BEGIN;
DECLARE c INSENSITIVE CURSOR FOR SELECT dp_count(*) FROM person;
FETCH c;
DECLARE d CURSOR FOR SELECT dp_count(*) FROM person FOR UPDATE;
ROLLBACK;
SELECT * FROM outcome('DELETE FROM person WHERE CURRENT OF c');
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
