-- Collations in expressions over private rows: deterministic ones are used
-- as they are, a nondeterministic or undetermined one is refused.
--
-- Needs ICU, and a database in UTF8, which it makes.
\getenv abs_srcdir PG_ABS_SRCDIR
SELECT count(*) = 0 AS skip FROM pg_collation WHERE collprovider = 'i' \gset
\if :skip
\quit
\endif
\set home :DBNAME
CREATE DATABASE regress_expression_collation TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C';
\c regress_expression_collation
\set test expression_collation
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

CREATE COLLATION blind (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE COLLATION strict (PROVIDER = icu, LOCALE = 'und');
SET ROLE :owner;
CREATE TABLE word (plain text, blind text COLLATE blind, strict text COLLATE strict, posix text COLLATE "POSIX",
	short varchar(5) COLLATE blind, padded char(5) COLLATE strict, nm name, list text[] COLLATE blind);
INSERT INTO word SELECT x, x, x, x, x, x, x, ARRAY[x] FROM unnest(ARRAY['a', 'A', 'b', 'é', 'É', 'straße', 'STRASSE', 'ﬀ', 'İ', 'z', '', NULL]) x WHERE length(x) < 6;
SELECT dp_protect('word', dataset => :'schema') \g /dev/null
RESET ROLE;
-- the same condition asked and counted exactly
CREATE FUNCTION exact(condition text, OUT exact bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM word WHERE %s', condition) INTO exact;
END $$;
SET ROLE :analyst;
CREATE FUNCTION asked(condition text, OUT state text, OUT answer bigint, OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	BEGIN
		EXECUTE format('SELECT dp_count(*) FROM word WHERE %s', condition) INTO answer;
		state := '00000';
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
SELECT condition, state, answer, charges, answer = exact AS exact FROM regexp_split_to_table($$plain = 'a'
plain < 'b'
plain < 'b' COLLATE strict
plain COLLATE strict < 'b'
strict = 'a'
strict < 'b'
strict < plain COLLATE strict
strict BETWEEN 'A' AND 'é'
greatest(strict, 'b') = 'b'
(strict, plain) < ('b', 'b')
nullif(strict, 'a') IS NULL
strict IN ('a', 'b')
strict LIKE 'a%'
strict ILIKE 'É%'
lower(strict) = 'é'
upper(plain COLLATE strict) = 'É'
upper(plain) = 'A'
initcap(strict) = 'É'
strpos(strict, 'a') > 0
starts_with(strict, 'a')
length(strict) = 1
substr(strict, 1, 1) = 'é'
trim(strict) = 'é'
strict || 'x' = 'éx'
padded = 'a'
padded LIKE 'a%'
posix < 'b'
nm < 'b'
nm = plain
blind COLLATE "C" = 'a'
blind COLLATE strict < 'b'
lower(blind COLLATE strict) = 'é'
blind IS NULL
blind IS NOT NULL
plain < plain COLLATE "C" || blind
coalesce(blind, '') IS NOT NULL$$, '\n') WITH ORDINALITY x(condition, n), asked(condition), exact(condition) ORDER BY n;
SELECT condition, state, charges FROM regexp_split_to_table($$blind = 'a'
blind <> 'a'
blind < 'b'
blind > 'b'
blind IN ('a', 'b')
blind = ANY ('{a,b}')
blind BETWEEN 'a' AND 'b'
blind IS DISTINCT FROM 'a'
nullif(blind, 'a') IS NULL
greatest(blind, 'a') IS NULL
(blind, plain) = ('a', 'a')
(blind, plain) < ('a', 'a')
CASE blind WHEN 'a' THEN true END
blind LIKE 'a%'
blind ILIKE 'a%'
blind LIKE ANY ('{a%}')
blind ^@ 'a'
starts_with(blind, 'a')
strpos(blind, 'a') > 0
position('a' IN blind) > 0
lower(blind) IS NULL
upper(blind) IS NULL
length(blind) > 0
substr(blind, 1, 2) IS NULL
left(blind, 1) IS NULL
trim(blind) IS NULL
blind || 'x' IS NULL
short = 'a'
short::text = 'a'
short::varchar(2) = 'a'
padded COLLATE blind = 'a'
plain = blind
plain = 'a' COLLATE blind
plain COLLATE blind = 'a'
plain COLLATE blind IS NULL
nm = blind
nm COLLATE blind = 'a'
strict = blind
strict || posix < 'a'
strict = posix
strict LIKE posix
greatest(strict, posix) IS NULL
strict < ALL (ARRAY[posix])
list = list
'a' = ANY (list)$$, '\n') WITH ORDINALITY x(condition, n), asked(condition) ORDER BY n;
\set VERBOSITY default
SELECT dp_count(*) FROM word WHERE plain = 'a' OR blind = 'a';
SELECT dp_count(*) FROM word WHERE plain COLLATE blind = 'a';
SELECT dp_count(*) FROM word WHERE strict < posix;
SELECT dp_count(*) FROM word WHERE lower(strict || posix) = 'a';
\set VERBOSITY sqlstate
SELECT * FROM outcome('SELECT dp_count(DISTINCT strict) FROM word');
SELECT * FROM outcome('SELECT dp_count(DISTINCT blind COLLATE "C") FROM word');
SELECT * FROM outcome('SELECT dp_count(DISTINCT blind) FROM word');
SELECT * FROM outcome('SELECT dp_count(DISTINCT plain COLLATE blind) FROM word');
SELECT * FROM outcome('SELECT dp_count(*) FROM word GROUP BY blind = ''a''');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT * FROM word ORDER BY blind) w');
SELECT * FROM outcome('SELECT dp_count(blind) FROM word');
-- of public rows that are asked for, too: none of equal spellings stands for the others
CREATE TABLE fee (kind text COLLATE blind, cost numeric);
INSERT INTO fee VALUES ('a', 1), ('A', 1), ('a', 1);
SELECT * FROM outcome('SELECT dp_count(*) FROM word WHERE EXISTS (SELECT FROM fee WHERE kind = plain COLLATE "C" GROUP BY cost HAVING count(*) > 2)');
SELECT * FROM outcome('SELECT dp_count(*) FROM word WHERE EXISTS (SELECT FROM fee WHERE kind COLLATE "C" = plain COLLATE "C")');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
\c :home
DROP DATABASE regress_expression_collation;
