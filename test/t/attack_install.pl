# A role that may create objects in the extension's schema plants operators and
# functions that match better than PostgreSQL's own.  None may run when a superuser
# creates the extension, and none may end up inside it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use LedgerNode;
use AttackNode;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('install');

$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_pg'");
$node->start;
$node->safe_psql('postgres', <<'EOT');
CREATE ROLE planter LOGIN;
GRANT CREATE ON SCHEMA public TO planter;
EOT

# Every pair of types the script could meet, unless pg_catalog has exactly it.
my ($out, $err) = as($node, 'planter', <<'EOT');
CREATE FUNCTION public.trap_bool() RETURNS boolean LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'trap sprung by %', current_user; END $$;
DO $plant$
DECLARE
	p record;
	n int := 0;
BEGIN
	FOR p IN
		SELECT o.name, l.t AS l, r.t AS r, CASE o.name WHEN '||' THEN 'text' ELSE 'boolean' END AS result
		FROM unnest(ARRAY['=', '<>', '<', '>', '<=', '>=', '~~', '!~~', '~', '!~', '||', '+']) o (name),
			unnest(ARRAY['oid', 'regclass', 'regproc', 'regprocedure', 'regtype', 'regnamespace', 'regrole',
				'name', 'text', 'varchar', '"char"', 'bpchar', 'int2', 'int4', 'int8', 'bool', 'name[]', 'text[]', 'oid[]', 'oidvector', 'numeric', 'float8']) l (t),
			unnest(ARRAY['oid', 'regclass', 'regproc', 'regprocedure', 'regtype', 'regnamespace', 'regrole',
				'name', 'text', 'varchar', '"char"', 'bpchar', 'int2', 'int4', 'int8', 'bool', 'name[]', 'text[]', 'oid[]', 'oidvector', 'numeric', 'float8']) r (t)
		WHERE NOT EXISTS (SELECT FROM pg_operator WHERE oprname = o.name
			AND oprleft = l.t::regtype AND oprright = r.t::regtype)
	LOOP
		n := n + 1;
		EXECUTE format($$CREATE FUNCTION public.trap_%s(%s, %s) RETURNS %s LANGUAGE plpgsql IMMUTABLE
			AS 'BEGIN RAISE EXCEPTION ''trap sprung by %%: %s %s %s'', current_user; END'$$,
			n, p.l, p.r, p.result, p.l, p.name, p.r);
		EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.trap_%s)',
			p.name, p.l, p.r, n);
	END LOOP;
	-- functions whose built-in is variadic or polymorphic, or takes another type
	FOR p IN SELECT * FROM (VALUES
		('format', 'text, text', 'text'), ('format', 'text, name', 'text'), ('format', 'text, text, text', 'text'),
		('format', 'text, text, text, text', 'text'), ('format', 'text, name, text', 'text'),
		('concat', 'text, text', 'text'), ('concat_ws', 'text, text, text', 'text'), ('unnest', 'text[]', 'text'),
		('unnest', 'name[]', 'name'), ('array_length', 'text[], int', 'int'), ('array_position', 'text[], text', 'int'),
		('array_cat', 'text[], text[]', 'text[]'), ('quote_ident', 'name', 'text'), ('quote_literal', 'name', 'text'),
		('replace', 'name, text, text', 'text'), ('lower', 'name', 'text'), ('length', 'name', 'int'),
		('oidvectortypes', 'oid[]', 'text'), ('set_config', 'name, text, boolean', 'text'),
		('pg_extension_config_dump', 'text, text', 'void'), ('pg_extension_config_dump', 'unknown, unknown', 'void'),
		('check_preload', '', 'void'), ('dp_count', 'int', 'bigint'),
		('dp_laplace', 'int', 'int'), ('dp_synthesize', 'int', 'int')) f (name, l, result)
	LOOP
		BEGIN
			EXECUTE format($$CREATE FUNCTION public.%s(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE
				AS 'BEGIN RAISE EXCEPTION ''trap sprung by %%: %s(%s)'', current_user; END'$$, p.name, p.l, p.result, p.name, p.l);
		EXCEPTION WHEN OTHERS THEN NULL;	-- pseudo-types
		END;
	END LOOP;
	RAISE NOTICE 'planted %', n;
END $plant$;
EOT
like($err, qr/planted \d{4}/, 'thousands of operators are planted');

my ($rc, $stdout, $stderr) = $node->psql('postgres', 'CREATE EXTENSION dp_pg');
is($stderr, '', 'CREATE EXTENSION springs none');
is($rc, 0, 'and succeeds');

# (the tests' own questions stay off the planted path)
is( value(
		$node, <<'EOT'),
SET search_path = pg_catalog;
SELECT count(*) FROM pg_depend d
WHERE (d.refclassid = 'pg_operator'::regclass AND d.refobjid IN (SELECT oid FROM pg_operator WHERE oprowner = 'planter'::regrole)
	OR d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT oid FROM pg_proc WHERE proowner = 'planter'::regrole))
	AND d.classid <> 'pg_operator'::regclass
EOT
	0, 'nothing depends on what was planted');
is( value($node, "SET search_path = pg_catalog; SELECT count(*) FROM pg_proc WHERE proowner = 'planter'::regrole AND oid IN (SELECT objid FROM pg_depend WHERE deptype = 'e')"),
	0, 'nothing planted belongs to the extension');

# Nor do they run when the extension works, with public on everybody's path.
is( errors($node, 'postgres', <<'EOT'), '', 'the owner springs none');
CREATE ROLE owner LOGIN;
CREATE ROLE analyst LOGIN;
CREATE SCHEMA o AUTHORIZATION owner;
GRANT USAGE ON SCHEMA o TO analyst;
SET SESSION AUTHORIZATION owner;
CREATE TABLE o.t (id int PRIMARY KEY, k text, n numeric, d date);
SELECT dp_protect('o.t', unit => 'id', dataset => 'h', publish => 'o.v');
SELECT dp_declare('o.t', 'k', keys => ARRAY['a', 'b'], other => 'c');
SELECT dp_declare('o.t', 'n', lower => 0, upper => 10);
SELECT dp_declare('o.t', 'd', lower => '2020-01-01'::date, upper => '2020-01-09'::date);
SELECT dp_grant('analyst', 'h', epsilon => 10::numeric);
SELECT dp_limit('h', epsilon => 100::numeric);
SELECT * FROM dp_audit();
SELECT * FROM dp_pg.budgets;
ALTER TABLE o.t RENAME k TO kk;
EOT
is( errors($node, 'postgres', 'SELECT * FROM dp_harden(); SELECT * FROM dp_unharden();'),
	'', 'a superuser who hardens springs none');
is( errors($node, 'analyst', <<'EOT'), '', 'the analyst springs none');
SELECT kk, dp_count(*), dp_sum(n), dp_avg(n) FROM o.t GROUP BY kk;
SELECT d, dp_count(*) FROM o.t GROUP BY d;
EXPLAIN SELECT dp_count(*) FROM o.t;
SELECT * FROM dp_pg.my_budget;
SELECT * FROM dp_pg.ledger;
SELECT * FROM dp_pg.allowed_functions;
SELECT * FROM dp_last_release();
EOT

# ---- functions of the extension's own names ----

# A trap for each, of the types that a quoted literal prefers.
my ($planted, $why) = as($node, 'planter', <<'EOQ');
SET search_path = pg_catalog, pg_temp;
CREATE TABLE public.loot (who text, what text);
GRANT INSERT ON public.loot TO PUBLIC;
DO $plant$
DECLARE
	f record;
	t text;
	arguments text;
	n int := 0;
BEGIN
	FOR f IN SELECT p.proname, p.proargtypes::oid[] AS types, p.proargnames AS names FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid
		WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
	LOOP
		FOREACH t IN ARRAY ARRAY['text', 'varchar', 'int', 'int all'] LOOP
			SELECT string_agg(coalesce(quote_ident(f.names[u.n]) || ' ', '') || CASE WHEN t LIKE 'int%' AND u.type IN ('numeric'::regtype, 'float8'::regtype) AND (u.n = 1 OR t = 'int all') THEN 'int'
				WHEN t NOT LIKE 'int%' AND u.type::regtype::text IN ('regclass', 'name', 'dp_pg.regrelation', 'interval', 'anyelement', 'regprocedure') THEN t
				ELSE format_type(u.type, NULL) END, ', ' ORDER BY u.n) INTO arguments FROM unnest(f.types) WITH ORDINALITY AS u (type, n);
			CONTINUE WHEN arguments IS NULL OR arguments ~ 'internal|any';
			BEGIN
				EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS SETOF record LANGUAGE plpgsql AS $q$ BEGIN INSERT INTO public.loot VALUES (current_user, %L); RETURN; END $q$',
					f.proname, arguments, f.proname || '(' || arguments || ')');
				n := n + 1;
			EXCEPTION WHEN duplicate_function OR invalid_function_definition THEN NULL;
			END;
		END LOOP;
	END LOOP;
	RAISE NOTICE 'planted %', n;
END $plant$;
SELECT count(*) > 50 FROM pg_proc WHERE proowner = 'planter'::regrole AND proname ~ '^dp_' AND prosrc ~ 'loot';
EOQ
is($planted, "t", "traps of our own names are planted") or diag($why);
is(value($node, q{SELECT count(*) FROM dp_audit() WHERE severity = 'critical' AND finding ~ '^planter can create functions in the schema of the extension' AND object = 'public'}),
	1, 'which dp_audit says is possible');
my (undef, $sprung) = as($node, 'postgres', 'SELECT * FROM public.dp_describe($$o.t$$) AS t (x int)');
is(value($node, q{SELECT count(*) > 0 FROM public.loot WHERE what ~ '^dp_describe'}), 't', 'a call without types springs one') or diag($sprung);
value($node, 'TRUNCATE public.loot');

# Calls with the declared types, and all that these call themselves.
is( errors($node, 'postgres', <<'EOQ'), '', 'an owner who tells types springs none');
SET search_path = pg_catalog, pg_temp;
SET client_min_messages = warning;
SELECT count(*) FROM public.dp_audit();
SET SESSION AUTHORIZATION owner;
CREATE TABLE o.p (id int PRIMARY KEY, ward text COLLATE "C" NOT NULL, age int NOT NULL);
INSERT INTO o.p SELECT i, (ARRAY['A', 'B'])[1 + i % 2], i % 100 FROM generate_series(1, 300) AS i;
SELECT public.dp_protect('o.p'::regclass, unit => 'id'::name, dataset => 'h'::name);
SELECT public.dp_declare('o.p'::regclass, 'ward'::name, keys => ARRAY['A', 'B']);
SELECT public.dp_declare('o.p'::regclass, 'age'::name, lower => 0, upper => 100);
SELECT public.dp_grant('analyst'::name, 'h'::name, epsilon => 1000::numeric, delta => 0.001);
SELECT public.dp_limit('h'::name, epsilon => 1000000::numeric, delta => 0.5);
SELECT count(*) FROM public.dp_describe('o.p'::regclass);
SELECT count(*) FROM public.dp_smalldb_error('o.p'::dp_pg.regrelation, ARRAY['ward'], ARRAY['ward = ''A'''], 1::numeric, 100::bigint);
SELECT count(*) FROM public.dp_compose_basic(ARRAY[1, 2]);
SELECT public.dp_count(*) FROM o.p;
SELECT public.dp_publish_twin('o.p'::regclass, 'o.p_twin'::text, columns => ARRAY['ward'], epsilon => 1::numeric, delta => 1e-9);
SELECT count(*) FROM dp_pg.budgets;
SELECT length(public.dp_report('h'::name)) > 0;
EOQ
is(value($node, 'SELECT string_agg(DISTINCT who || $$ $$ || what, chr(10)) FROM public.loot'), '', 'nothing of theirs has run');
is(value($node, 'SELECT count(*) > 0 FROM o.p_twin'), 't', 'and the twin has rows');

$node->stop;
done_testing();
