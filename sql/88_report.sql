-- dp_report: a page for the owner of a dataset.  It shows what the caller may
-- read anyway: ledger, budgets, declarations and the audit's findings; never a
-- row.  Whatever it shows goes through report_text, which makes text of it.
-- Sorting is off: the ledger has no statistics, and a planner that expects few
-- lines would sort all of them to group them.

CREATE FUNCTION dp_pg.report_text(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(replace(replace(replace(replace(coalesce(value, ''),
	'&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
COMMENT ON FUNCTION dp_pg.report_text(text) IS
'internal: a text escaped for HTML, between tags or in an attribute; empty for NULL';

CREATE FUNCTION dp_pg.report_number(value numeric) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN value = 'Infinity' THEN '∞' WHEN value = 0 OR abs(value) >= 0.001
	THEN trim_scale(round(value, 4))::text ELSE trim(to_char(value, '9.9EEEE')) END;
COMMENT ON FUNCTION dp_pg.report_number(numeric) IS
'internal: a number as the report shows it, with four digits after the point, or two digits and an exponent; NULL for NULL';

CREATE FUNCTION dp_pg.report_table(head text[], lines jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN lines IS NULL THEN '<p>None.</p>' ELSE format('<table><tr>%s</tr>%s</table>',
		(SELECT string_agg(format('<th>%s</th>', dp_pg.report_text(h.name)), '' ORDER BY h.n)
			FROM unnest(head) WITH ORDINALITY AS h (name, n)),
		(SELECT string_agg(format('<tr>%s</tr>', (
				SELECT string_agg(format('<td>%s</td>', dp_pg.report_text(c.value)), '' ORDER BY c.n)
				FROM jsonb_array_elements_text(l.line) WITH ORDINALITY AS c (value, n))), '' ORDER BY l.n)
			FROM jsonb_array_elements(lines) WITH ORDINALITY AS l (line, n))) END;
END;
COMMENT ON FUNCTION dp_pg.report_table(text[], jsonb) IS
'internal: an HTML table from an array of arrays of texts; NULL: a line of text instead';

CREATE FUNCTION dp_pg.report_bars(title text, bars jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN bars IS NULL THEN '<p>Nothing was spent.</p>' ELSE (
		SELECT format('<svg role="img" viewBox="0 0 640 %s" width="640"><title>%s</title>%s</svg>',
			10 + 24 * count(*), dp_pg.report_text(title),
			string_agg(format('<text x="230" y="%s" text-anchor="end">%s</text><rect x="240" y="%s" width="%s" height="16"/><text x="%s" y="%s">%s</text>',
				17 + 24 * (b.n - 1), dp_pg.report_text(left(b.bar ->> 0, 34)), 5 + 24 * (b.n - 1), b.width,
				246 + b.width, 17 + 24 * (b.n - 1), dp_pg.report_text(dp_pg.report_number((b.bar ->> 1)::numeric))), '' ORDER BY b.n))
		FROM (SELECT a.bar, a.n, round(320 * (a.bar ->> 1)::numeric / greatest(max((a.bar ->> 1)::numeric) OVER (), 1e-300), 1) AS width
			FROM jsonb_array_elements(bars) WITH ORDINALITY AS a (bar, n)) AS b) END;
END;
COMMENT ON FUNCTION dp_pg.report_bars(text, jsonb) IS
'internal: an SVG plot, a horizontal bar for each pair of label and number not below 0; NULL: a line of text instead';

CREATE FUNCTION dp_pg.report_days(title text, bars jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN bars IS NULL THEN '<p>Nothing was spent.</p>' ELSE (
		SELECT format('<svg role="img" viewBox="0 0 640 190" width="640"><title>%s</title><line x1="50" y1="150" x2="640" y2="150"/><text x="44" y="24" text-anchor="end">%s</text><text x="44" y="154" text-anchor="end">0</text>%s</svg>',
			dp_pg.report_text(title), dp_pg.report_text(dp_pg.report_number(max(b.most))),
			string_agg(format('<rect x="%s" y="%s" width="%s" height="%s"><title>%s: %s</title></rect>%s',
				round(52 + (b.n - 1) * 588 / b.days, 1), 150 - b.height, round(least(40, greatest(588 / b.days - 2, 1)), 1), b.height,
				dp_pg.report_text(b.bar ->> 0), dp_pg.report_text(dp_pg.report_number((b.bar ->> 1)::numeric)),
				CASE WHEN b.n IN (1, b.days) THEN format('<text x="%s" y="170" text-anchor="%s">%s</text>',
					CASE WHEN b.n = 1 THEN 52 ELSE round(52 + (b.n - 1) * 588 / b.days + least(40, 588 / b.days)) END, CASE WHEN b.n = 1 THEN 'start' ELSE 'end' END,
					dp_pg.report_text(b.bar ->> 0)) ELSE '' END), '' ORDER BY b.n))
		FROM (SELECT a.bar, a.n::numeric, count(*) OVER ()::numeric AS days, m.most,
				round(130 * (a.bar ->> 1)::numeric / greatest(m.most, 1e-300), 1) AS height
			FROM jsonb_array_elements(bars) WITH ORDINALITY AS a (bar, n)
			CROSS JOIN (SELECT max((e.bar ->> 1)::numeric) AS most FROM jsonb_array_elements(bars) AS e (bar)) AS m) AS b) END;
END;
COMMENT ON FUNCTION dp_pg.report_days(text, jsonb) IS
'internal: an SVG plot, a vertical bar for each pair of day and number not below 0, in order; NULL: a line of text instead';

CREATE FUNCTION dp_pg.report_used(filter text, epsilon numeric, delta numeric,
	spent_epsilon numeric, spent_rho numeric, spent_delta numeric)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN s.share IS NOT NULL THEN least(1, greatest(s.share,
			CASE WHEN delta > 0 THEN spent_delta / delta ELSE 0 END)) END
	FROM (SELECT least(
			CASE WHEN filter <> 'zcdp' AND spent_epsilon < 'Infinity' THEN spent_epsilon / epsilon END,
			CASE WHEN filter IN ('zcdp', 'best') AND delta > 0 AND delta < 1
				THEN spent_rho / nullif(@extschema@.dp_zcdp_rho(epsilon, delta), 0) END) AS share) AS s;
END;
COMMENT ON FUNCTION dp_pg.report_used(text, numeric, numeric, numeric, numeric, numeric) IS
'internal: the share of limits that sums have used up: of epsilon by basic composition, of rho by zCDP, the smaller one where the filter is "best"; an upper bound where the filter admits more than these';

CREATE FUNCTION dp_pg.report_ends(used numeric, since timestamptz, at timestamptz, renewal timestamptz)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
	WHEN used IS NULL THEN 'not known'
	WHEN used >= 1 THEN concat('used up', ', starts again ' || to_char(renewal, 'YYYY-MM-DD'))
	WHEN used = 0 THEN 'nothing was spent'
	WHEN since IS NULL THEN 'not known'
	ELSE (SELECT CASE
			WHEN renewal < at + d.days * interval '1 day' THEN 'lasts until it starts again, ' || to_char(renewal, 'YYYY-MM-DD')
			WHEN d.days > 36500 THEN 'in more than a hundred years'
			ELSE format('%s, in %s days', to_char(at + d.days * interval '1 day', 'YYYY-MM-DD'), round(d.days))
			END
		FROM (SELECT least(36501, ((1 - used) / used * greatest(extract(epoch FROM at - since) / 86400, 1)))::float8 AS days) AS d)
	END;
COMMENT ON FUNCTION dp_pg.report_ends(numeric, timestamptz, timestamptz, timestamptz) IS
'internal: when a budget ends of which a share was used since a time, at the same pace; the pace is measured over at least a day';

CREATE FUNCTION @extschema@.dp_report(dataset name) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO, MDY'
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
	d dp_pg.dataset;
	now timestamptz := statement_timestamp();
	unit text;
	page text;
	of_budgets jsonb;
	by_role jsonb;
	by_day jsonb;
	by_mechanism jsonb;
BEGIN
	IF NOT coalesce(dataset = ANY (dp_pg.owned_datasets()), false) THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = format('dataset "%s" is not yours, or there is none', dataset),
			DETAIL = 'The report shows the ledger of all roles.',
			HINT = 'dp_pg.my_budget shows what you may ask and have spent.';
	END IF;
	SELECT s.* INTO STRICT d FROM dp_pg.dataset AS s WHERE s.name = dataset;
	-- charges without a pure guarantee have no finite epsilon, but a rho
	unit := CASE WHEN d.spent_epsilon = 'Infinity' THEN 'rho' ELSE 'epsilon' END;
	-- one reading of the ledger, which may have millions of lines
	WITH lines AS MATERIALIZED (
		SELECT l.role, l.payer, l.period, date_trunc('day', l.at) AS day, l.mechanism, min(l.at) AS first,
			sum(CASE unit WHEN 'rho' THEN l.rho ELSE l.epsilon END) AS spent
		FROM dp_pg.ledger AS l WHERE l.dataset = dataset GROUP BY 1, 2, 3, 4, 5)
	SELECT (
		SELECT jsonb_agg(jsonb_build_array(x.role, x.filter, dp_pg.report_number(x.epsilon), dp_pg.report_number(x.delta),
			x.charges, round(100 * x.used, 1) || '%', round(100 * (1 - x.used), 1) || '%',
			CASE WHEN x.active THEN dp_pg.report_ends(x.used, x.since, now, x.renewal) ELSE 'revoked' END) ORDER BY x.cap DESC, x.role COLLATE "C")
		FROM (
			SELECT b.role::text, b.filter, b.epsilon, b.delta, b.charges::text, b.active, b.renewal, false AS cap,
				dp_pg.report_used(b.filter, b.epsilon, b.delta, b.spent_epsilon, b.spent_rho, b.spent_delta) AS used,
				coalesce(s.first, b.renewal - b.renew) AS since
			FROM dp_pg.budgets AS b LEFT JOIN (
				SELECT l.payer, l.period, min(l.first) AS first FROM lines AS l GROUP BY 1, 2) AS s
				ON s.payer = b.role AND s.period = b.period
			WHERE b.dataset = dataset AND b.in_force
			UNION ALL
			SELECT 'all together (the cap)', d.cap_filter, d.cap_epsilon, d.cap_delta, d.charges::text, true, NULL, true,
				dp_pg.report_used(d.cap_filter, d.cap_epsilon, d.cap_delta, d.spent_epsilon, d.spent_rho, d.spent_delta),
				(SELECT min(l.first) FROM lines AS l)
			WHERE d.cap_epsilon IS NOT NULL) AS x), (
		SELECT jsonb_agg(jsonb_build_array(x.role, x.spent) ORDER BY x.spent DESC, x.role COLLATE "C") FROM (
			SELECT l.role::text, sum(l.spent) AS spent FROM lines AS l GROUP BY l.role ORDER BY 2 DESC, 1 LIMIT 20) AS x), (
		SELECT jsonb_agg(jsonb_build_array(to_char(g.day, 'YYYY-MM-DD'), coalesce(x.spent, 0)) ORDER BY g.day)
		FROM (SELECT greatest(min(l.day), date_trunc('day', now) - interval '59 days') AS first FROM lines AS l) AS f
		CROSS JOIN LATERAL generate_series(f.first, date_trunc('day', now), interval '1 day') AS g (day)
		LEFT JOIN (SELECT l.day, sum(l.spent) AS spent FROM lines AS l GROUP BY 1) AS x ON x.day = g.day), (
		SELECT jsonb_agg(jsonb_build_array(x.mechanism, x.spent) ORDER BY x.spent DESC, x.mechanism COLLATE "C") FROM (
			SELECT split_part(l.mechanism, ':', 1) AS mechanism, sum(l.spent) AS spent
			FROM lines AS l GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20) AS x)
	INTO of_budgets, by_role, by_day, by_mechanism;

	page := format('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
		|| '<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">'
		|| '<title>dp_pg: %1$s</title><style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}'
		|| 'table{border-collapse:collapse;margin:.5em 0 1.5em}th,td{border-bottom:1px solid #ccc;padding:.2em .8em .2em 0;text-align:left;vertical-align:top}'
		|| 'svg{max-width:100%%}svg text{font:12px sans-serif;fill:#222}svg rect{fill:#3a6ea5}svg line{stroke:#888}</style></head>'
		|| '<body><h1>Dataset %1$s</h1><p>Of %2$s, owned by %3$s. Neighbours: %4$s. Times are UTC.</p>',
		dp_pg.report_text(dataset), to_char(now, 'YYYY-MM-DD HH24:MI'), dp_pg.report_text(d.owner_name),
		CASE d.neighbours WHEN 'replace_one' THEN 'one unit is replaced' ELSE 'one unit is added or removed' END);

	page := page || '<h2>Budgets</h2><p>What is used is a share of what was granted, in the present period; at most that, where a filter admits more. '
		|| 'The end is at the pace since the first charge of the period, or since the first of the dataset for the cap.</p>'
		|| dp_pg.report_table(ARRAY['role', 'filter', 'epsilon', 'delta', 'charges', 'used', 'left', 'ends'], of_budgets);

	page := page || format('<h2>Spending</h2><p>In %s, of the lines that are in the ledger; owners and superusers, who are exempt, included.</p><h3>By role</h3>', unit)
		|| dp_pg.report_bars('spending by role', by_role)
		|| '<h3>By day</h3>' || dp_pg.report_days('spending by day', by_day)
		|| '<h3>By mechanism</h3>' || dp_pg.report_bars('spending by mechanism', by_mechanism);

	page := page || '<h2>Protected relations</h2>' || dp_pg.report_table(
		ARRAY['relation', 'unit', 'published as', 'rows, about', 'what of a unit counts', 'least units of a group', 'synthetic rows'], (
			SELECT jsonb_agg(jsonb_build_array(r.relid::text, coalesce(r.unit::text, 'each row')
					|| coalesce(', through ' || r.unit_through::text, ''), r.published::text,
				r.rows, CASE dp_pg.bounds_text(r.relid) WHEN '' THEN 'no bound' ELSE dp_pg.bounds_text(r.relid) END, r.min_units, r.twin::text) ORDER BY r.relid::text COLLATE "C")
			FROM dp_pg.relation AS r WHERE r.dataset = dataset))
		|| '<h2>Declarations</h2>' || dp_pg.report_table(
		ARRAY['relation', 'column', 'type', 'from', 'to', 'keys', 'other', 'notes'], (
			SELECT jsonb_agg(jsonb_build_array(a.relation::text, a.attribute, a.type, a.lower, a.upper,
				CASE WHEN cardinality(a.keys) > 12 THEN format('%s and %s more', array_to_string(a.keys[:12], ', '), cardinality(a.keys) - 12)
					ELSE array_to_string(a.keys, ', ') END, a.other,
				concat_ws(', ', CASE WHEN a.immutable THEN 'never changes' END, CASE WHEN a.public_sizes THEN 'sizes are public' END))
				ORDER BY a.relation::text COLLATE "C", a.attribute COLLATE "C")
			FROM dp_pg.attributes AS a JOIN dp_pg.relation AS r ON r.relid = a.relation WHERE a.dataset = dataset));

	page := page || '<h2>Profiles</h2><p>What dp_profile measured once, with noise: how many people are in each bucket, by its upper end.</p>'
		|| coalesce((SELECT string_agg(format('<h3>%s</h3><p>Of %s, at epsilon %s%s.</p>', dp_pg.report_text(p.relid::text), to_char(p.at, 'YYYY-MM-DD HH24:MI'),
					dp_pg.report_number(p.epsilon), ', delta ' || dp_pg.report_number(p.delta))
				|| dp_pg.report_table(ARRAY['column', 'what', 'value', 'units beyond, or off, at most'], (
					SELECT jsonb_agg(jsonb_build_array(l.line ->> 'attribute', l.line ->> 'what', l.line ->> 'value', l.line ->> 'error') ORDER BY l.n)
					FROM jsonb_array_elements(p.lines) WITH ORDINALITY AS l (line, n)))
				|| (SELECT coalesce(string_agg('<h4>' || dp_pg.report_text(concat_ws(': ', h.bar ->> 'attribute', h.bar ->> 'what')) || '</h4>'
						|| dp_pg.report_bars('units by bucket', dp_pg.profile_bars(h.bar -> 'bars')), '' ORDER BY h.n), '')
					FROM jsonb_array_elements(p.bars) WITH ORDINALITY AS h (bar, n) WHERE jsonb_typeof(h.bar -> 'bars') = 'array'), '' ORDER BY p.relid::text COLLATE "C")
			FROM dp_pg.profile AS p WHERE p.dataset = dataset), '<p>None was made.</p>');

	RETURN page || '<h2>Last releases</h2><p>The error is how far noise moves a count of people at that price, in 95 of 100 cases; '
		|| 'of tables, the estimated largest error of what they were made for.</p>'
		|| dp_pg.report_table(ARRAY['when', 'role', 'paid by', 'mechanism', 'values', 'epsilon', 'delta', 'rho', 'error, in rows'], (
			SELECT jsonb_agg(jsonb_build_array(to_char(x.at, 'YYYY-MM-DD HH24:MI'), x.role, coalesce(x.payer::text, 'exempt'), x.mechanism,
				x.releases, dp_pg.report_number(x.epsilon), dp_pg.report_number(x.delta), dp_pg.report_number(x.rho),
				CASE WHEN x.error IS NOT NULL THEN '± ' || dp_pg.report_number(x.error::numeric)
					WHEN x.mechanism ~ '^discrete Laplace: [a-z, ]*count' AND x.epsilon > 0 AND x.epsilon < 'Infinity'
						THEN '± ' || dp_pg.report_number(@extschema@.dp_laplace_error(1::numeric, x.epsilon / x.releases, 0.95::numeric))
					ELSE '' END) ORDER BY x.id DESC)
			FROM (SELECT l.id, l.at, l.role, l.payer, l.mechanism, l.releases, coalesce(l.price_epsilon, l.epsilon) AS epsilon,
					coalesce(l.price_delta, l.delta) AS delta, coalesce(l.price_rho, l.rho) AS rho, t.error
				FROM dp_pg.ledger AS l LEFT JOIN dp_pg.released AS t USING (id)
				WHERE l.dataset = dataset ORDER BY l.id DESC LIMIT 30) AS x))
		|| '<h2>Audit</h2><p>What still leaks around the extension on this server, worst first; <code>dp_audit()</code> has all.</p>'
		|| dp_pg.report_table(ARRAY['severity', 'finding', 'what closes it begins with'], (
			SELECT jsonb_agg(jsonb_build_array(a.severity, a.finding, left(a.remedy, 80) || CASE WHEN length(a.remedy) > 80 THEN ' …' ELSE '' END) ORDER BY a.n)
			FROM @extschema@.dp_audit() WITH ORDINALITY AS a (severity, finding, object, remedy, n) WHERE a.n <= 30))
		|| '</body></html>';
END
$$;
COMMENT ON FUNCTION @extschema@.dp_report(name) IS
'an HTML page about a dataset for its owner and superusers: budgets with what is used and when they end at this pace, plots of spending by role, day and mechanism, protected relations, declarations, findings of dp_audit, the last releases with their errors; self-contained, and shows only what the caller may read anyway, no row; charges nothing; errors 42501 another owner''s dataset, or none';
