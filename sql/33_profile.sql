-- dp_profile: bounds from the data, measured once with noise and charged.
--
-- What is measured are histograms to each of which a unit adds one, over one
-- row per unit (doc/theory.md T161).  They are values of one private query, so
-- that charge, noise and reading are those of every other.  All the rest is
-- computed from noisy numbers.

CREATE TABLE dp_pg.profile (
	relid regclass PRIMARY KEY
		REFERENCES dp_pg.relation ON UPDATE CASCADE ON DELETE CASCADE,
	dataset name NOT NULL,
	at timestamptz NOT NULL,
	epsilon numeric NOT NULL,
	delta numeric,
	lines jsonb NOT NULL,
	bars jsonb NOT NULL
);
COMMENT ON TABLE dp_pg.profile IS
'the last profile of a protected relation; written by dp_profile; visible to the owner of the dataset and to roles with a budget on it';
COMMENT ON COLUMN dp_pg.profile.relid IS 'the protected relation';
COMMENT ON COLUMN dp_pg.profile.dataset IS 'the dataset that was charged';
COMMENT ON COLUMN dp_pg.profile.at IS 'when it was made; rows may be newer';
COMMENT ON COLUMN dp_pg.profile.epsilon IS 'its price';
COMMENT ON COLUMN dp_pg.profile.delta IS 'its price; NULL: none';
COMMENT ON COLUMN dp_pg.profile.lines IS
'what dp_profile returned, an object for each row; of rows and groups also the noisy numbers of units in the six buckets beyond, and the scale of their noise';
COMMENT ON COLUMN dp_pg.profile.bars IS
'the histograms, between the least and the greatest bucket that noise does not explain: attribute, what, and pairs of a bucket''s upper end and its noisy number of units';

ALTER TABLE dp_pg.profile ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner_and_payers_read ON dp_pg.profile FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR EXISTS (SELECT FROM dp_pg.budget AS b
					  WHERE b.dataset = profile.dataset AND b.active));
GRANT SELECT ON dp_pg.profile TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('dp_pg.profile', '');

CREATE FUNCTION dp_pg.profile_dataset(relation regclass, exact boolean) RETURNS name
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dp_profile_dataset';
COMMENT ON FUNCTION dp_pg.profile_dataset(regclass, boolean) IS
'internal: the dataset of a relation, if the asking role owns both, and (exact) the relations on the way to its unit; for dp_profile and dp_suggest_bounds';

CREATE FUNCTION dp_pg.suggest_key(relation regclass, key text) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dp_suggest_key';
COMMENT ON FUNCTION dp_pg.suggest_key(regclass, text) IS
'internal: a column of a relation, or an expression over its columns, parsed, written so that it can be pasted where the relation is "t"; NULL for NULL; for dp_profile and dp_suggest_bounds';

CREATE FUNCTION dp_pg.unit_path(relation regclass, OUT tables text, OUT unit text, OUT hides boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH RECURSIVE path AS (
		SELECT 0 AS n, format('%s AS t', r.relid) COLLATE "C" AS tables, ('t.' || quote_ident(r.unit)) COLLATE "C" AS unit,
			r.min_units > 0 AS hides, r.unit_through AS through, r.unit || r.unit_more AS columns, r.unit_key || r.unit_key_more AS keys
		FROM dp_pg.relation AS r WHERE r.relid = relation
		UNION ALL
		SELECT p.n + 1, (SELECT format('%s JOIN %s AS t%s ON %s', p.tables, r.relid, p.n + 1,
				string_agg(format('t%s.%I = t%s.%I', nullif(p.n, 0), u.a, p.n + 1, u.b), ' AND ')) COLLATE "C"
				FROM ROWS FROM (pg_catalog.unnest(p.columns), pg_catalog.unnest(p.keys)) AS u (a, b)),
			format('t%s.%I', p.n + 1, r.unit) COLLATE "C", p.hides IS TRUE OR r.min_units > 0,
			r.unit_through, r.unit || r.unit_more, r.unit_key || r.unit_key_more
		FROM path AS p JOIN dp_pg.relation AS r ON r.relid = p.through
	)
	SELECT p.tables, p.unit, p.hides IS TRUE FROM path AS p ORDER BY p.n DESC LIMIT 1;
END;
COMMENT ON FUNCTION dp_pg.unit_path(regclass) IS
'internal: FROM with a protected relation, "t", and those on the way to its unit; the unit there, NULL: each row; whether one of them has min_units; NULL for NULL';

CREATE FUNCTION dp_pg.profile_keep(relation regclass, epsilon numeric, delta numeric,
	lines jsonb, bars jsonb) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'dp_profile_keep';
COMMENT ON FUNCTION dp_pg.profile_keep(regclass, numeric, numeric, jsonb, jsonb) IS
'internal: replaces the profile of a relation, if the asking role owns it and its dataset; for dp_profile';

CREATE FUNCTION dp_pg.profile_noise(n bigint, scale double precision, gaussian boolean,
	log_beta double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE
		WHEN gaussian THEN scale * sqrt(2 * n * log_beta)
		WHEN n = 1 THEN scale * (log_beta - ln(2::double precision))
		ELSE (SELECT scale * min((log_beta - n * ln(1 - l.l * l.l)) / l.l)
			FROM (SELECT i / 200.0::double precision FROM pg_catalog.generate_series(1, 199) AS g (i)) AS l (l)) END;
END;
COMMENT ON FUNCTION dp_pg.profile_noise(bigint, double precision, boolean, double precision) IS
'internal: what the sum of n noises of a scale (gaussian: standard deviation) exceeds with probability at most exp(-log_beta), for log_beta of at least 1 (doc/theory.md T161); NULL for NULL';

CREATE FUNCTION dp_pg.profile_span(counts bigint[], thresholds double precision[], share double precision,
	OUT low integer, OUT high integer, OUT units bigint, OUT below bigint, OUT above bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	WITH t AS MATERIALIZED (
		SELECT array_agg(greatest(t.t, share) ORDER BY t.n) AS t FROM pg_catalog.unnest(thresholds) WITH ORDINALITY AS t (t, n)
	), s AS MATERIALIZED (
		SELECT c.i, c.y, sum(c.y) OVER (ORDER BY c.i) AS s FROM pg_catalog.unnest(counts) WITH ORDINALITY AS c (y, i)
	), w AS MATERIALIZED (
		SELECT s.i, s.y, s.s,
			s.y > t.t[1] OR lead(s.s, 1, last.s) OVER o - s.s + s.y > t.t[2] OR lead(s.s, 3, last.s) OVER o - s.s + s.y > t.t[3]
				OR lead(s.s, 7, last.s) OVER o - s.s + s.y > t.t[4] OR lead(s.s, 15, last.s) OVER o - s.s + s.y > t.t[5] AS begins,
			s.y > t.t[1] OR s.s - lag(s.s, 2, 0::numeric) OVER o > t.t[2] OR s.s - lag(s.s, 4, 0::numeric) OVER o > t.t[3]
				OR s.s - lag(s.s, 8, 0::numeric) OVER o > t.t[4] OR s.s - lag(s.s, 16, 0::numeric) OVER o > t.t[5] AS ends
		FROM s, t, (SELECT sum(s.y) AS s FROM s) AS last WINDOW o AS (ORDER BY s.i)
	), span AS (
		SELECT min(w.i) FILTER (WHERE w.ends) AS low, max(w.i) FILTER (WHERE w.begins) AS high FROM w
	)
	SELECT e.low, e.high, sum(w.y) FILTER (WHERE w.i BETWEEN least(e.low, e.high) AND greatest(e.low, e.high)),
		coalesce(sum(w.y) FILTER (WHERE w.i < e.low), 0), coalesce(sum(w.y) FILTER (WHERE w.i > e.high), 0)
	FROM w, span AS e GROUP BY e.low, e.high;
END;
COMMENT ON FUNCTION dp_pg.profile_span(bigint[], double precision[], double precision) IS
'internal: of noisy counts of buckets, the greatest (high) that begins a window of 1, 2, 4, 8 or 16 buckets with more units than `share` and than its threshold, and the least (low) that ends one; the noisy number of units from one to the other, below and above; NULL: no window has so many';

-- Buckets of a number of rows or groups, or of the size of a number, end with
-- the powers of two and with three times them: the places of dp_pg.magnitude of
-- n and of n/3, rounded away from zero, are added.
CREATE FUNCTION dp_pg.profile_bucket(kind text, i integer, upper boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
	place integer := CASE kind WHEN 'count' THEN i + 1 WHEN 'integer' THEN i - 129 ELSE i - 243 END;
	near boolean := upper = (place < 0);	-- the end next to zero
	twice integer := abs(place);			-- of the exponent, and 1 if the bucket ends with 2^exponent
	edge numeric;
BEGIN
	IF kind = 'month' THEN
		RETURN to_char(make_date(1900, 1, 1) + make_interval(months => i - CASE WHEN upper THEN 0 ELSE 1 END, days => CASE WHEN upper THEN -1 ELSE 0 END), 'YYYY-MM-DD');
	END IF;
	twice := CASE WHEN kind = 'real' THEN twice - 80 ELSE twice END;
	edge := CASE WHEN (twice % 2 = 0) = near THEN power(2::numeric, floor(twice / 2.0) - CASE WHEN near THEN 1 ELSE 0 END)
		ELSE 3 * power(2::numeric, floor(twice / 2.0) - 2) END;
	IF kind <> 'real' THEN
		edge := CASE WHEN twice <= 2 THEN 1 WHEN near THEN floor(edge) + 1 ELSE floor(edge) END;
	END IF;
	RETURN trim_scale(sign(place)::integer * edge);
END $$;
COMMENT ON FUNCTION dp_pg.profile_bucket(text, integer, boolean) IS
'internal: the upper or the lower end of bucket i, from 1, of a histogram of counts, of integer or of real numbers, or of months, both within it; NULL for NULL';

CREATE FUNCTION dp_pg.profile_bounds(caller text, relation regclass, attribute text, kind text, low text, high text)
RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	type oid;
	modifier integer;
	most numeric;
BEGIN
	SELECT CASE y.typtype WHEN 'd' THEN y.typbasetype ELSE y.oid END, CASE y.typtype WHEN 'd' THEN y.typtypmod ELSE a.atttypmod END
	INTO type, modifier FROM pg_attribute AS a JOIN pg_type AS y ON y.oid = a.atttypid
	WHERE a.attrelid = relation AND a.attname = attribute AND NOT a.attisdropped;
	IF kind = 'month' THEN
		IF type <> 'date'::regtype THEN
			high := high || ' 23:59:59.999999';
		END IF;
		IF type = 'timestamptz'::regtype THEN
			low := low || ' 00:00:00+00';
			high := high || '+00';
		END IF;
		RETURN format('%s(%L, %L, lower => %L, upper => %L)', caller, relation, attribute, low, high);
	END IF;
	-- a width of zero would make every sum zero
	IF low::numeric = high::numeric THEN
		low := least(low::numeric, 0)::text;
		high := greatest(high::numeric, 0)::text;
	END IF;
	IF type = 'numeric'::regtype AND modifier >= 4 THEN
		modifier := modifier - 4;
		most := power(10::numeric, (modifier >> 16) - (((modifier & 2047) # 1024) - 1024)) - power(10::numeric, 1024 - ((modifier & 2047) # 1024));
	ELSE
		most := CASE type WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647 WHEN 'int8'::regtype THEN 9223372036854775807 END;
	END IF;
	low := trim_scale(greatest(low::numeric, -most))::text;
	high := trim_scale(least(high::numeric, most))::text;
	RETURN CASE WHEN low::numeric < high::numeric THEN
		format('%s(%L, %L, lower => %s, upper => %s)', caller, relation, attribute, low, high) END;
END $$;
COMMENT ON FUNCTION dp_pg.profile_bounds(text, regclass, text, text, text, text) IS
'internal: the call of dp_declare for bounds that a profile found, within the type of the column; NULL for NULL, and for bounds without width';

CREATE FUNCTION @extschema@.dp_profile(relation regclass, epsilon double precision DEFAULT 1,
	delta double precision DEFAULT NULL, columns text[] DEFAULT NULL, apply boolean DEFAULT false,
	OUT attribute text, OUT what text, OUT value text, OUT error bigint, OUT statement text)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO, MDY'
SET dp_pg.reuse = 'off'
SET dp_pg.transparent = off
SET dp_pg.suppress = off
SET dp_pg.delta = ''
SET dp_pg.epsilon = '1'
SET dp_pg.max_rows = 2
SET dp_pg.max_keys = 1
AS $$
#variable_conflict use_column
DECLARE
	dataset name := dp_pg.profile_dataset(relation, false);
	asked dp_pg.dataset;
	protected dp_pg.relation;
	path record;
	caller text := 'SELECT @extschema@.dp_declare';
	one boolean;			-- each unit has one row
	gaussian boolean := current_setting('dp_pg.mechanism') = 'gaussian';
	mechanism text := current_setting('dp_pg.mechanism');
	-- of each histogram: its column, what it is, its kind, its buckets, the bucket of a unit
	h_attribute text[] := '{}';
	h_what text[] := '{}';
	h_kind text[] := '{}';
	h_size integer[] := '{}';
	h_place text[] := '{}';
	texts text[] := '{}';	-- columns whose values are looked for
	of_row text[] := '{}';	-- targets: of a row, of windows over it, of a unit
	of_window text[] := '{}';
	of_unit text[] := '{}';
	c record;
	n integer;
	x text;
	shares integer;
	added integer;			-- 1: the number of units, for an owner's min_units
	price numeric := epsilon::text::numeric;
	part numeric := delta::text::numeric;	-- of delta, for each that needs one
	each numeric;			-- price of a histogram
	each_delta numeric;
	rho numeric;
	most numeric;
	f integer;
	scale double precision;
	thresholds double precision[];	-- of windows of 1, 2, 4, 8 and 16 buckets
	share double precision := 0;
	counts bigint[];
	answer jsonb;
	span record;
	total numeric;
	most_rows numeric;
	most_keys numeric;
	low text;
	high text;
	found text[];
	call text;
	domains text[] := '{}';	-- those that say what queries can group by
	lines jsonb := '[]';
	bars jsonb := '[]';
BEGIN
	SELECT d.* INTO STRICT asked FROM dp_pg.dataset AS d WHERE d.name = dataset;
	IF price IS NULL OR apply IS NULL OR array_position(columns, NULL) IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
			MESSAGE = 'epsilon, apply and the elements of columns must not be NULL',
			DETAIL = 'Each element is the name of a column, or an expression that queries group by.',
			HINT = 'Leave the argument out, which uses its default.';
	END IF;
	IF NOT (price > 0 AND price < 'Infinity') OR NOT coalesce(part > 0 AND part < 1, NOT gaussian) THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'a profile needs a positive epsilon, and a delta between 0 and 1 if any',
			DETAIL = 'They are its price. Gaussian noise, which dp_pg.mechanism asks for, needs a delta.',
			HINT = 'Call it with epsilon => 1, without delta, and with dp_pg.mechanism = laplace.';
	END IF;

	-- whoever may create functions there must not have one called in place of ours
	IF EXISTS (SELECT FROM pg_proc AS p WHERE p.proname IN ('dp_declare', 'dp_histogram', 'dp_count', 'dp_zcdp_rho')
		AND p.pronamespace = '@extschema@'::regnamespace
		AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_function',
			MESSAGE = 'a function in the schema of dp_pg has the name of one that a profile calls',
			DETAIL = 'It is dp_declare, dp_histogram, dp_count or dp_zcdp_rho, and does not belong to the extension.',
			HINT = 'Drop it, or move it to another schema.';
	END IF;

	-- whose row it is, through its keys
	SELECT r.* INTO STRICT protected FROM dp_pg.relation AS r WHERE r.relid = relation;
	path := dp_pg.unit_path(relation);
	added := path.hides::integer;
	one := protected.unit IS NULL OR protected.unit_through IS NULL AND dp_pg.rows_of_unit(relation) = 1
		AND EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = relation AND i.indisunique AND i.indnkeyatts = 1 AND i.indkey[0] = protected.unit_attnum);

	IF NOT one THEN
		h_attribute := ARRAY[NULL]; h_what := ARRAY['rows']; h_kind := ARRAY['count'];
		h_place := ARRAY['dp_pg.magnitude(u.n) + dp_pg.magnitude((u.n + 2) / 3) - 130'];
		h_size := ARRAY[42];
	END IF;
	FOR c IN
		SELECT u.key, a.attname, a.attnotnull, b.oid AS type, a.atttypmod AS modifier, u.place AS n,
			dp_pg.suggest_key(relation, u.key) AS expression,
			CASE WHEN d.keys IS NOT NULL THEN 'key'
				WHEN columns IS NULL AND b.oid <> ALL (ARRAY['date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype])
					AND EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = relation
					AND k.contype IN ('p', 'u', 'f') AND a.attnum = ANY (k.conkey)) THEN
					CASE WHEN EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = relation AND k.contype = 'f' AND k.conkey = ARRAY[a.attnum]
						AND NOT EXISTS (SELECT FROM dp_pg.relation AS r WHERE r.relid = k.confrelid)) THEN 'key' END
				WHEN b.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN 'integer'
				WHEN b.oid IN ('float4'::regtype, 'float8'::regtype, 'numeric'::regtype) THEN 'real'
				WHEN b.oid IN ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) THEN 'month'
				WHEN columns IS NOT NULL OR b.oid = 'bool'::regtype OR b.typtype = 'e' THEN 'key'
				WHEN b.oid IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) AND part IS NOT NULL THEN 'key' END AS kind,
			b.oid IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) AND d.keys IS NULL AND part IS NOT NULL AS searched,
			b.typtype = 'e' OR d.keys IS NOT NULL OR b.oid IN ('bool'::regtype, 'int2'::regtype, 'int4'::regtype, 'int8'::regtype,
				'date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype, 'uuid'::regtype, 'text'::regtype, 'varchar'::regtype) AS sortable,
			coalesce(b.typtype = 'e', false) AS enum, d.keys AS declared,
			CASE WHEN b.typcategory = 'S' AND d.keys IS NULL THEN ' COLLATE "C"' ELSE '' END AS sorted
		FROM (SELECT k.key, min(k.place) AS place FROM unnest(coalesce(columns, ARRAY(SELECT p.attname::text FROM pg_attribute AS p WHERE p.attrelid = relation
			AND p.attnum > 0 AND NOT p.attisdropped AND p.attname <> ALL (coalesce(protected.unit || protected.unit_more, '{}'::name[])) ORDER BY p.attnum)))
			WITH ORDINALITY AS k (key, place) GROUP BY k.key) AS u
		LEFT JOIN pg_attribute AS a ON a.attrelid = relation AND a.attname = u.key AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_type AS y ON y.oid = a.atttypid
		LEFT JOIN pg_type AS b ON b.oid = CASE y.typtype WHEN 'd' THEN y.typbasetype ELSE y.oid END
		LEFT JOIN dp_pg.attribute AS d ON d.relid = relation AND d.attnum = a.attnum
		ORDER BY u.place
	LOOP
		IF c.kind = 'key' OR c.attname IS NULL THEN
			IF c.searched THEN
				texts := texts || c.key;
			END IF;
			CONTINUE WHEN one OR NOT c.sortable AND columns IS NULL;
			-- values that are public are numbered: windows have no enums, and numbers take little room
			of_row := of_row || format('%s AS k%s', coalesce((
				SELECT format('CASE %s %s %s END', c.expression, string_agg(format('WHEN %L::%s THEN %s', v.v, format_type(c.type, NULL), v.n), ' '),
					CASE WHEN c.enum THEN '' ELSE format('ELSE CASE WHEN %s IS NOT NULL THEN 0 END', c.expression) END)
				FROM (SELECT e.enumlabel::text, row_number() OVER (ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE c.enum AND e.enumtypid = c.type
					UNION ALL SELECT d.v, d.n FROM unnest(c.declared) WITH ORDINALITY AS d (v, n) WHERE NOT c.enum) AS v (v, n)
				HAVING count(*) BETWEEN 1 AND 1000), c.expression), c.n);
			of_window := of_window || format('dense_rank() OVER (PARTITION BY s.u ORDER BY s.k%1$s%2$s) AS d%1$s, count(*) OVER (PARTITION BY s.u, s.k%1$s%2$s) AS m%1$s', c.n, c.sorted);
			of_unit := of_unit || format('max(s.d%1$s) AS d%1$s, max(s.m%1$s) AS m%1$s', c.n);
			h_attribute := h_attribute || ARRAY[c.key, c.key];
			h_what := h_what || ARRAY['groups', 'rows in a group'];
			h_kind := h_kind || ARRAY['count', 'count'];
			h_place := h_place || ARRAY[format('dp_pg.magnitude(u.d%1$s) + dp_pg.magnitude((u.d%1$s + 2) / 3) - 130', c.n),
				format('dp_pg.magnitude(u.m%1$s) + dp_pg.magnitude((u.m%1$s + 2) / 3) - 130', c.n)];
			h_size := h_size || ARRAY[42, 42];
			CONTINUE;
		END IF;
		CONTINUE WHEN c.kind IS NULL;
		x := format(CASE c.kind
			WHEN 'integer' THEN 'dp_pg.magnitude(%1$s::bigint) + dp_pg.magnitude((%1$s::bigint + CASE WHEN %1$s < 0 THEN -2 ELSE 2 END) / 3)'
			WHEN 'real' THEN CASE c.type WHEN 'numeric'::regtype THEN 'dp_pg.magnitude(%1$s) + dp_pg.magnitude(%1$s / 3)'
				ELSE 'dp_pg.magnitude(%1$s::float8) + dp_pg.magnitude(%1$s::float8 / 3)' END
			ELSE '((extract(year FROM %1$s) - 1900) * 12 + extract(month FROM %1$s))::integer - 1' END, c.expression);
		n := CASE c.kind WHEN 'integer' THEN 257 WHEN 'real' THEN 485 ELSE 2400 END;
		IF one THEN
			h_attribute := h_attribute || c.key;
			h_what := h_what || 'values'::text;
			h_kind := h_kind || c.kind;
			h_place := h_place || CASE WHEN c.attnotnull THEN x ELSE format('CASE WHEN %s IS NULL THEN %s ELSE %s END', c.expression, n, x) END;
			h_size := h_size || CASE WHEN c.attnotnull THEN n ELSE n + 1 END;
			CONTINUE;
		END IF;
		of_row := of_row || format('%s AS v%s', x, c.n);
		of_unit := of_unit || format('min(s.v%1$s) AS l%1$s, max(s.v%1$s) AS g%1$s', c.n);
		h_attribute := h_attribute || ARRAY[c.key, c.key];
		h_what := h_what || ARRAY['least', 'greatest'];
		h_kind := h_kind || ARRAY[c.kind, c.kind];
		h_place := h_place || ARRAY[format('u.l%s', c.n), format('u.g%s', c.n)];
		h_size := h_size || ARRAY[n, n];
		CONTINUE WHEN c.attnotnull;
		of_row := of_row || format('%s IS NULL AS z%s', c.expression, c.n);
		of_unit := of_unit || format('bool_or(s.z%1$s) AS z%1$s', c.n);
		h_attribute := h_attribute || c.key;
		h_what := h_what || 'nulls'::text;
		h_kind := h_kind || 'null'::text;
		h_place := h_place || format('CASE WHEN u.z%s THEN 0 END', c.n);
		h_size := h_size || 1;
	END LOOP;
	added := CASE WHEN cardinality(h_size) > 0 THEN coalesce(added, 0) ELSE 0 END;
	shares := cardinality(h_size) + added + 2 * cardinality(texts);
	IF shares = 0 THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = format('there is nothing to measure of relation "%s"', relation),
			DETAIL = 'Each unit has one row, and there are neither numbers nor times.',
			HINT = 'Give columns that are numbers or times; with a delta, texts.';
	END IF;

	-- the price of each; of Gaussian noise rho adds up, if the cap counts it
	each := div(price * 1e20, shares) * 1e-20;
	PERFORM set_config('dp_pg.epsilon', each::text, true);
	part := trim_scale(div(part * 1e24, greatest(cardinality(texts) + gaussian::int, 1)) * 1e-24);
	PERFORM set_config('dp_pg.delta', coalesce(part::text, ''), true);
	f := CASE asked.neighbours WHEN 'replace_one' THEN 2 ELSE 1 END;
	scale := f / each;
	IF gaussian AND cardinality(h_size) > 0 THEN
		n := cardinality(h_size) + added;
		each_delta := trim_scale(div(part * 1e24, n) * 1e-24);
		IF asked.cap_filter IN ('zcdp', 'best') THEN
			rho := @extschema@.dp_zcdp_rho(each * n, part) / n;
			most := each * n;
			FOR i IN 1 .. 64 LOOP
				IF @extschema@.dp_zcdp_rho((each + most) / 2, each_delta) > rho THEN
					most := (each + most) / 2;
				ELSE
					each := trunc((each + most) / 2, 20);
				END IF;
			END LOOP;
		END IF;
		scale := sqrt(f / (2 * @extschema@.dp_zcdp_rho(each, each_delta)));
		PERFORM set_config('dp_pg.delta', each_delta::text, true);
	END IF;

	-- the one query: a row for each unit
	IF cardinality(h_size) > 0 THEN
		SELECT string_agg(format('jsonb_build_array(@extschema@.dp_histogram(%s::numeric, 0::numeric, %s::numeric, %2$s::integer, %s::numeric))', h_place[i], h_size[i], each), ' || ' ORDER BY i)
		INTO x FROM generate_subscripts(h_size, 1) AS i;
		IF one THEN
			x := format('SELECT %s FROM %s', x, path.tables);
		ELSE
			x := format('SELECT %s FROM (SELECT s.u, count(*) AS n%s FROM (SELECT s.*%s FROM (SELECT %s AS u%s FROM %s) AS s) AS s GROUP BY s.u) AS u',
				x, concat(', ' || nullif(array_to_string(of_unit, ', '), '')), concat(', ' || nullif(array_to_string(of_window, ', '), '')),
				path.unit, concat(', ' || nullif(array_to_string(of_row, ', '), '')), path.tables);
		END IF;
		EXECUTE x INTO STRICT answer;
	END IF;

	-- what the noise does not explain
	SELECT array_agg(dp_pg.profile_noise(w, scale, gaussian, ln(1000 * 5 * greatest(t.n, 1)::double precision)) ORDER BY w)
	INTO thresholds FROM unnest('{1,2,4,8,16}'::bigint[]) AS w, (SELECT sum(s) AS n FROM unnest(h_size) AS s) AS t;
	FOR i IN 1 .. cardinality(h_size) LOOP
		counts := ARRAY(SELECT e.y::bigint FROM jsonb_array_elements_text(answer -> i - 1) WITH ORDINALITY AS e (y, i) ORDER BY e.i);
		IF h_kind[i] = 'null' OR cardinality(counts) IN (258, 486, 2401) THEN
			n := cardinality(counts);
			lines := lines || jsonb_build_object('attribute', h_attribute[i], 'what', 'nulls',
				'value', greatest(0, counts[n]), 'error', ceil(scale * 3));
			CONTINUE WHEN h_kind[i] = 'null';
			counts := trim_array(counts, 1);
		END IF;
		span := dp_pg.profile_span(counts, thresholds, share);
		IF i = 1 THEN
			lines := lines || jsonb_build_object('attribute', NULL, 'what', 'units', 'value', greatest(0, span.units),
				'error', ceil(dp_pg.profile_noise(abs(span.high - span.low) + 1, scale, gaussian, 3)));
			share := greatest(0, coalesce(span.units, 0)) / 1000.0;
			span := dp_pg.profile_span(counts, thresholds, share);
		END IF;
		span.below := greatest(0, ceil(span.below + dp_pg.profile_noise(span.low - 1, scale, gaussian, 3)));
		span.above := greatest(0, ceil(span.above + dp_pg.profile_noise(cardinality(counts) - span.high, scale, gaussian, 3)));
		bars := bars || jsonb_build_object('attribute', h_attribute[i], 'what', h_what[i], 'bars', (
			SELECT jsonb_agg(jsonb_build_array(dp_pg.profile_bucket(h_kind[i], b, true), counts[b]) ORDER BY b)
			FROM generate_series(least(span.low, span.high), greatest(span.low, span.high)) AS b));
		IF h_kind[i] = 'count' THEN
			most := dp_pg.profile_bucket('count', span.high, true)::numeric;
			CASE h_what[i]
				WHEN 'rows' THEN total := most;
				WHEN 'groups' THEN most_keys := greatest(most_keys, most);
				ELSE most_rows := greatest(most_rows, most);
			END CASE;
			lines := lines || jsonb_build_object('attribute', h_attribute[i], 'what', h_what[i], 'value', most, 'error', span.above,
				'beyond', counts[span.high + 1:span.high + 6], 'scale', scale);
			CONTINUE;
		END IF;
		IF h_what[i] <> 'greatest' THEN
			low := dp_pg.profile_bucket(h_kind[i], span.low, false);
			lines := lines || jsonb_build_object('attribute', h_attribute[i], 'what', 'lower', 'value', low, 'error', span.below);
		END IF;
		IF h_what[i] <> 'least' THEN
			high := dp_pg.profile_bucket(h_kind[i], span.high, true);
			call := dp_pg.profile_bounds(caller, relation, h_attribute[i], h_kind[i], low, high);
			lines := lines || jsonb_build_object('attribute', h_attribute[i], 'what', 'upper', 'value', high, 'error', span.above, 'statement', call);
			domains := domains || CASE h_kind[i] WHEN 'month' THEN call WHEN 'integer' THEN CASE WHEN high::numeric - low::numeric <= 1000 THEN call END END;
		END IF;
	END LOOP;
	IF total IS NOT NULL THEN
		most_keys := CASE WHEN most_keys > total THEN total ELSE most_keys END;
		most_rows := CASE WHEN most_rows > total THEN total ELSE most_rows END;
		call := format('%s(%L, %s)', caller, relation, 'max_total => ' || total);
		lines := lines || jsonb_build_object('attribute', NULL, 'what', 'bounds', 'value', concat_ws(', ', total || ' in all', most_rows || ' in a group', most_keys || ' groups'), 'statement', call);
	END IF;

	-- values of texts: one of each unit, drawn at random; told from a threshold on
	PERFORM set_config('dp_pg.max_rows', '1', true), set_config('dp_pg.delta', coalesce(part::text, ''), true);
	FOREACH x IN ARRAY texts LOOP
		PERFORM set_config('dp_pg.mechanism', 'laplace', true);
		EXECUTE format('SELECT array_agg(v ORDER BY v), jsonb_agg(jsonb_build_array(v, n) ORDER BY n DESC) FROM ('
			|| 'SELECT t.%I AS v, %s AS n FROM %s GROUP BY 1) AS f WHERE v IS NOT NULL', x,
			coalesce('@extschema@.dp_count(DISTINCT ' || path.unit || ')', '@extschema@.dp_count(*)'), path.tables)
		INTO found, answer;
		PERFORM set_config('dp_pg.mechanism', mechanism, true);
		-- declared keys are the only ones, so they must be those of nearly all
		most := greatest(0, ceil(share * 1000 - (SELECT coalesce(sum((f.bar ->> 1)::numeric), 0) FROM jsonb_array_elements(answer) AS f (bar))));
		call := CASE WHEN most <= share * 100 THEN format('%s(%L, %L, keys => %L::text[])', caller, relation, x, found) END;
		lines := lines || jsonb_build_object('attribute', x, 'what', 'keys', 'value', found::text, 'error', most, 'statement', call);
		domains := domains || call;
		bars := bars || jsonb_build_object('attribute', x, 'what', 'keys', 'bars', answer);
	END LOOP;
	PERFORM dp_pg.profile_keep(relation, price, delta::text::numeric, lines, bars);
	IF apply THEN
		FOREACH call IN ARRAY array_remove(domains, NULL) LOOP
			EXECUTE call;
		END LOOP;
	END IF;
	RETURN QUERY SELECT l.attribute, l.what, l.value, l.error, l.statement
		FROM jsonb_to_recordset(lines) AS l (attribute text, what text, value text, error bigint, statement text);
END $$;
COMMENT ON FUNCTION @extschema@.dp_profile(regclass, double precision, double precision, text[], boolean) IS
'for the owner: bounds for dp_declare that come from the rows, with noise, for a price. A row for each of (attribute, what): units; rows of a unit; of each key groups of a unit and its most rows in one; of each number or time lower, upper and nulls (units that have a NULL); with a delta, keys of each text: values that enough units have. value: an estimate, NULL where noise explains all; error: how many units may lie beyond it, or how far the number of units may be off, each at most with probability 95%; statement: a call of dp_declare that declares it, NULL: none; that of all rows declares max_total only, since groups and rows in one are those of the keys that were looked at. Numbers and times are to within a power of two or three times one, or a month. epsilon (and delta) are the price of all together, charged to the cap of the dataset before a row is read; columns: names, and expressions that queries group by (NULL: numbers, times, booleans, enums, declared keys, references to tables that are not protected, with a delta texts, without keys of the table); apply: makes the calls that say what queries can group by, of keys, times and whole numbers within 1000; each query chooses other bounds by the profile. Each call is charged anew and replaces dp_pg.profile. Not exact, and unlike dp_suggest_bounds no leak: what a role may learn is its budget plus the prices of all profiles. Errors: 42501 not the owner, or a function of the owner that another role calls; 42704 not protected; 22004 a NULL; 22023 a bad epsilon or delta, or nothing to measure; 42703 unknown column; 0A000 a key is not allowed in private queries; 53400 the cap; theory T161';

CREATE FUNCTION dp_pg.profile_note(named regclass, attribute name) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('profile of %s at epsilon %s: ', p.at::date, pg_catalog.trim_scale(p.epsilon))
		|| string_agg(concat_ws(' ', l.what, l.value, '(up to ' || l.error || CASE WHEN l.what IN ('units', 'nulls') THEN ' off)' ELSE ' units beyond)' END), ', ' ORDER BY l.n)
	FROM dp_pg.profile AS p
	CROSS JOIN LATERAL ROWS FROM (pg_catalog.jsonb_to_recordset(p.lines) AS (attribute text, what text, value text, error bigint)) WITH ORDINALITY AS l (attribute, what, value, error, n)
	JOIN dp_pg.relation AS r ON r.relid = p.relid
	WHERE named IN (r.relid, r.published) AND l.attribute IS NOT DISTINCT FROM profile_note.attribute AND l.value IS NOT NULL AND l.what <> 'bounds'
	GROUP BY p.relid;
END;
COMMENT ON FUNCTION dp_pg.profile_note(regclass, name) IS
'internal: what the profile of a relation says about a column, or about the relation (NULL), if the caller may see it; NULL: nothing; for dp_describe';

CREATE FUNCTION dp_pg.profile_bars(bars jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT jsonb_agg(g.bar ORDER BY g.place) FROM (
		SELECT min(b.n) AS place, jsonb_build_array((array_agg(b.bar -> 0 ORDER BY b.n DESC))[1], greatest(0, sum((b.bar ->> 1)::bigint))) AS bar
		FROM pg_catalog.jsonb_array_elements(bars) WITH ORDINALITY AS b (bar, n)
		GROUP BY (b.n - 1) / (1 + (pg_catalog.jsonb_array_length(bars) - 1) / 30)) AS g;
END;
COMMENT ON FUNCTION dp_pg.profile_bars(jsonb) IS
'internal: a histogram of dp_pg.profile as at most 30 bars for dp_report, neighbours added up; NULL for NULL';
