-- An argument that must be constant may be a parameter, or computed from
-- constants: it is checked when its value is known, before the charge.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_constant
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :analyst;
-- patterns
PREPARE pattern (text) AS SELECT dp_count(*) FROM person WHERE ward LIKE $1;
EXECUTE pattern('A');
EXECUTE pattern('_%');
EXECUTE pattern(NULL);
PREPARE folded (text) AS SELECT dp_count(*) FROM person WHERE ward ILIKE '%' || $1 || '%';
EXECUTE folded('b');
PREPARE escaped (text) AS SELECT dp_count(*) FROM person WHERE ward NOT LIKE $1 ESCAPE '!';
EXECUTE escaped('!A');
PREPARE several (text[], text) AS SELECT dp_count(*), dp_count(*) FILTER (WHERE ward LIKE ANY (ARRAY[$2, 'B'])) FROM person WHERE ward LIKE ANY ($1);
EXECUTE several('{A,B}', 'A');
-- fields and zones
PREPARE field (text) AS SELECT dp_count(*) FROM person WHERE date_trunc($1, born) = '2020-03-01';
EXECUTE field('day');
EXECUTE field('month');
PREPARE zone (text) AS SELECT dp_count(*) FROM person WHERE extract(hour FROM seen AT TIME ZONE $1) = 3;
EXECUTE zone('Asia/Tokyo');
EXECUTE zone('UTC');
-- calls of functions that private rows must not meet are computed before
PREPARE since (float8) AS SELECT dp_count(*) FROM person WHERE seen < to_timestamp($1);
EXECUTE since(1578000000);
SELECT dp_count(*) FROM person WHERE born < to_date('2020-01-15', 'YYYY-MM-DD') AND ward <> md5('A') AND age < power(2, 3) AND age < '6'::text::int;
-- every kind of plan, PL/pgSQL, cursors
SET plan_cache_mode = force_generic_plan;
EXECUTE pattern('A');
SELECT s.state, s.hinted, s.charges FROM outcome('EXECUTE pattern(''A\'')') s;
RESET plan_cache_mode;
DO $$ DECLARE p text := 'A'; n bigint; BEGIN SELECT dp_count(*) INTO n FROM person WHERE ward LIKE p; IF n <> 250 THEN RAISE EXCEPTION 'it is %', n; END IF; END $$;
-- bad values: refused when they are known; nothing is charged, with rows or without
SELECT statement, state, hinted, charges FROM unnest(ARRAY['pattern(''A\'')', 'pattern(repeat(''%'', 65))', 'folded(''\\\'')', 'escaped(''A!'')', 'several(''{A,"B\\"}'', ''A'')', 'several(''{A}'', ''A\'')',
	'field(''fortnight'')', 'zone(''Nowhere'')']) AS statement, outcome('EXECUTE ' || statement);
SELECT condition, state, charges FROM unnest(ARRAY['ward LIKE ''A'' || ''\''', 'ward LIKE lower(''A\'')', 'born < to_date(''x'', ''YYYY'')']) AS condition, outcome('SELECT dp_count(*) FROM person WHERE ' || condition);
-- still refused: what depends on a row, functions that are not PostgreSQL's, or volatile, with constants too
CREATE FUNCTION own(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $1 $$;
SELECT condition, state, hinted, charges FROM unnest(ARRAY['ward LIKE ward || ''%''', 'date_trunc(ward, born) IS NULL', 'ward LIKE own(''A'')', 'own(''A'') = ward', 'ward LIKE random()::text', 'age < random()',
	'seen AT TIME ZONE ward IS NULL', 'ward ~ ''A''', 'md5(ward) = ''x''', 'ward LIKE ''A'' ESCAPE ward']) AS condition, outcome('SELECT dp_count(*) FROM person WHERE ' || condition);
-- in texts of predicates
SELECT above FROM dp_sparse_vector('person', ARRAY['ward LIKE ''A'' || ''%''', 'born < to_date(''2020-01-15'', ''YYYY-MM-DD'')'], threshold => 200, cutoff => 2, epsilon => 1000);
SELECT state FROM outcome($$SELECT above FROM dp_sparse_vector('person', ARRAY['ward LIKE ''A'' || ''\'''], threshold => 200, cutoff => 1, epsilon => 1000)$$);
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
