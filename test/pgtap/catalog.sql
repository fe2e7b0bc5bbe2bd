-- The catalog of the extension: what exists with which signature, who may
-- use it, and that everything a user can see explains itself.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
BEGIN;
SELECT * FROM no_plan();

-- objects of the extension
CREATE TEMP VIEW member AS
	SELECT classid, objid, objsubid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'dp_pg';
CREATE TEMP VIEW member_function AS
	SELECT p.*, p.oid AS id FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;
CREATE TEMP VIEW member_relation AS
	SELECT c.*, c.oid AS id FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid;
-- the schema of CREATE EXTENSION
CREATE TEMP TABLE home AS SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dp_pg';

SELECT has_extension('dp_pg');
SELECT is((SELECT extversion FROM pg_extension WHERE extname = 'dp_pg'), '0.1.0', 'version');
SELECT isnt((SELECT extrelocatable FROM pg_extension WHERE extname = 'dp_pg'), true, 'not relocatable');
SELECT has_schema('dp_pg');
SELECT ok(EXISTS (SELECT 1 FROM member WHERE classid = 'pg_namespace'::regclass AND objid = 'dp_pg'::regnamespace), 'schema dp_pg belongs to the extension');

-- aggregates: result types as the built-ins', every form for every type
CREATE TEMP TABLE typed (input text, sum_ text, avg_ text);
INSERT INTO typed VALUES ('smallint', 'bigint', 'numeric'), ('integer', 'bigint', 'numeric'), ('bigint', 'numeric', 'numeric'),
	('real', 'real', 'double precision'), ('double precision', 'double precision', 'double precision'), ('numeric', 'numeric', 'numeric');
SELECT results_eq(
	format($$SELECT prorettype::regtype::text FROM pg_proc WHERE oid = '%s(%s)'::regprocedure$$, f, input),
	ARRAY[CASE f WHEN 'sum' THEN sum_ ELSE avg_ END], format('%s(%s) is as this test says', f, input))
FROM typed, unnest(ARRAY['sum', 'avg', 'variance', 'stddev', 'var_pop', 'stddev_pop']) f;
CREATE TEMP TABLE timed AS SELECT unnest(ARRAY['date', 'timestamp without time zone', 'timestamp with time zone']) AS t;
CREATE TEMP TABLE priced AS SELECT e FROM (VALUES ('{}'::text[]), (ARRAY['double precision'])) v(e);
CREATE TEMP TABLE given AS SELECT g FROM (VALUES ('{}'::text[]), (ARRAY['VARIADIC double precision[]'])) v(g);
CREATE TEMP VIEW form AS
	SELECT 'dp_' || f AS name, CASE f WHEN 'sum' THEN sum_ ELSE avg_ END AS result, array_prepend(input, array_fill('double precision'::text, ARRAY[n])) AS arguments
	FROM typed, unnest(ARRAY['sum', 'avg']) f, generate_series(0, 3) n
	UNION ALL SELECT 'dp_' || f, avg_, input || g FROM typed, unnest(ARRAY['variance', 'stddev', 'var_pop', 'stddev_pop']) f, given
	UNION ALL SELECT 'dp_' || f, 'double precision', ARRAY['double precision', 'double precision'] || g
	FROM unnest(ARRAY['corr', 'covar_pop', 'covar_samp', 'regr_avgx', 'regr_avgy', 'regr_intercept', 'regr_r2', 'regr_slope', 'regr_sxx', 'regr_sxy', 'regr_syy']) f, given
	UNION ALL SELECT 'dp_regr_count', 'bigint', ARRAY['double precision', 'double precision'] || e FROM priced
	UNION ALL SELECT 'dp_bounds', 'numeric[]', ARRAY['double precision'] || e FROM priced
	UNION ALL SELECT 'dp_count', 'bigint', a FROM (VALUES (ARRAY['"any"']), (ARRAY['"any"', 'double precision']), (ARRAY[]::text[])) v(a)
	UNION ALL SELECT 'dp_histogram', 'bigint[]', ARRAY[t] || b || 'integer'::text || e
	FROM (SELECT t FROM timed UNION ALL SELECT 'double precision') u(t), priced, LATERAL (VALUES ('{}'::text[]), (ARRAY[t, t])) v(b)
	UNION ALL SELECT 'dp_' || f, CASE f WHEN 'argmax' THEN 'anycompatible' ELSE 'anycompatiblearray' END, CASE f WHEN 'argmax' THEN ARRAY['anycompatible'] ELSE ARRAY['anycompatible', 'integer'] END || e
	FROM unnest(ARRAY['argmax', 'topk']) f, (VALUES ('{}'::text[]), (ARRAY['anycompatiblearray']), (ARRAY['anycompatiblearray', 'double precision'])) v(e)
	UNION ALL SELECT 'dp_' || f, input, input || g FROM typed, unnest(ARRAY['quantile', 'median', 'min', 'max']) f, given WHERE f <> 'quantile' OR g <> '{}'
	UNION ALL SELECT 'dp_' || f, t, CASE f WHEN 'quantile' THEN ARRAY[t, 'double precision'] ELSE ARRAY[t] END || b || e
	FROM unnest(ARRAY['quantile', 'median', 'min', 'max']) f, timed, priced, LATERAL (VALUES ('{}'::text[]), (ARRAY[t, t])) v(b);
SELECT is((SELECT prokind::text || ' ' || prorettype::regtype FROM pg_proc
		WHERE oid = to_regprocedure(format('%I.%s(%s)', nspname, name, replace(array_to_string(arguments, ', '), 'VARIADIC ', '')))),
	'a ' || result, format('aggregate %s(%s) returns %s', name, array_to_string(arguments, ', '), result))
FROM form, home ORDER BY name, arguments;
SELECT is((SELECT count(*)::int FROM member_function WHERE prokind = 'a' AND proname IN (SELECT name FROM form)), (SELECT count(*)::int FROM form), 'no other form of these aggregates');

-- functions: names of parameters, in the order of positional use
CREATE TEMP TABLE wanted (name text, names text[], types text[]);
INSERT INTO wanted VALUES
	('dp_histogram_rows', '{counts,lower,upper}', '{bigint[],numeric,numeric}'),
	('dp_histogram_rows', '{counts,lower,upper}', '{bigint[],"double precision","double precision"}'),
	('dp_histogram_rows', '{counts,lower,upper}', '{bigint[],date,date}'),
	('dp_histogram_rows', '{counts,lower,upper}', '{bigint[],"timestamp without time zone","timestamp without time zone"}'),
	('dp_histogram_rows', '{counts,lower,upper}', '{bigint[],"timestamp with time zone","timestamp with time zone"}'),
	('dp_protect', '{relation,unit,dataset,publish,revoke,rows,comment,follow}', '{regclass,text,name,text,boolean,bigint,boolean,boolean}'),
	('dp_unprotect', '{relation}', '{regclass}'),
	('dp_unfollow', '{relation}', '{text}'),
	('dp_declare', '{relation,attribute,lower,upper,granule}', '{regclass,name,numeric,numeric,numeric}'),
	('dp_declare', '{relation,attribute,lower,upper,granule}', '{regclass,name,"double precision","double precision","double precision"}'),
	('dp_declare', '{relation,attribute,lower,upper}', '{regclass,name,date,date}'),
	('dp_declare', '{relation,attribute,keys,other,nulls}', '{regclass,name,anyarray,text,boolean}'),
	('dp_declare', '{relation,attribute,immutable,public_sizes}', '{regclass,name,boolean,boolean}'),
	('dp_declare', '{relation,rows}', '{regclass,bigint}'),
	('dp_declare', '{relation,max_rows,max_keys,max_total,min_units}', '{regclass,bigint,bigint,bigint,bigint}'),
	('dp_profile', '{relation,epsilon,delta,columns,apply,attribute,what,value,error,statement}', '{regclass,"double precision","double precision",text[],boolean}'),
	('dp_suggest_bounds', '{relation,keys,what,bound,units_kept,rows_kept,statement}', '{regclass,text[]}'),
	('dp_describe', '{relation,attribute,type,example,note,nullable,lower,upper,keys,other}', '{regclass}'),
	('dp_grant', '{role,dataset,epsilon,delta,filter,renew}', '{name,name,numeric,numeric,text,interval}'),
	('dp_grant', '{role,dataset,epsilon,delta,filter,renew}', '{name,name,"double precision","double precision",text,interval}'),
	('dp_limit', '{dataset,epsilon,delta}', '{name,numeric,numeric}'),
	('dp_limit', '{dataset,epsilon,delta}', '{name,"double precision","double precision"}'),
	('dp_revoke', '{role,dataset}', '{name,name}'),
	('dp_refresh', '{dataset}', '{name}'),
	('dp_report', '{dataset}', '{name}'),
	('dp_odometer_statement', '{dataset,delta,role}', '{name,numeric,name}'),
	('dp_batch_open', '{dataset,epsilon,k,delta_slack,method}', '{name,numeric,integer,numeric,text}'),
	('dp_batch_open', '{dataset,epsilon,k,delta_slack,method}', '{name,"double precision",integer,"double precision",text}'),
	('dp_batch_close', '{id}', '{bigint}'),
	('dp_neighbours', '{dataset,relation}', '{name,text}'),
	('dp_unlimit', '{dataset}', '{name}'),
	('dp_ledger_archive', '{before,dataset,first,last}', '{"timestamp with time zone",name,bigint,bigint}'),
	('dp_ledger_archive_into', '{lines,before,dataset,batch}', '{regclass,"timestamp with time zone",name,integer}'),
	('dp_ledger_verify', '{lines,dataset}', '{regclass,name}'),
	('dp_odometer_statement', '{dataset,delta,role}', '{name,"double precision",name}'),
	('dp_laplace', '{value,sensitivity,epsilon,dataset,granule}', '{anyelement,numeric,numeric,name,numeric}'),
	('dp_gaussian', '{value,sensitivity,epsilon,delta,dataset,method,granule}', '{anyelement,numeric,numeric,numeric,name,text,numeric}'),
	('dp_exponential', '{candidates,utilities,sensitivity,epsilon,dataset,monotone}', '{anyarray,anycompatiblearray,numeric,numeric,name,boolean}'),
	('dp_noisy_max', '{candidates,utilities,sensitivity,epsilon,dataset,noise,monotone}', '{anyarray,anycompatiblearray,numeric,numeric,name,text,boolean}'),
	('dp_laplace', '{value,sensitivity,epsilon,dataset,granule}', '{anyelement,"double precision","double precision",name,"double precision"}'),
	('dp_gaussian', '{value,sensitivity,epsilon,delta,dataset,method,granule}', '{anyelement,"double precision","double precision","double precision",name,text,"double precision"}'),
	('dp_exponential', '{candidates,utilities,sensitivity,epsilon,dataset,monotone}', '{anyarray,anycompatiblearray,"double precision","double precision",name,boolean}'),
	('dp_noisy_max', '{candidates,utilities,sensitivity,epsilon,dataset,noise,monotone}', '{anyarray,anycompatiblearray,"double precision","double precision",name,text,boolean}'),
	('dp_audit', NULL, '{}'),
	('dp_harden', '{keep,severity,finding,object,command,done,why}', '{text[]}'),
	('dp_unharden', NULL, '{}'),
	('dp_randomized_response', '{value,epsilon}', '{boolean,numeric}'),
	('dp_randomized_response', '{value,candidates,epsilon}', '{anycompatible,anycompatiblearray,numeric}'),
	('dp_randomized_response_estimate', '{answer,epsilon}', '{boolean,numeric}'),
	('dp_randomized_response_estimate', '{answer,candidates,epsilon}', '{anycompatible,anycompatiblearray,numeric}'),
	('dp_argmax', '{relation,predicates}', '{dp_pg.regrelation,text[]}'),
	('dp_argmax', '{relation,predicates,epsilon}', '{dp_pg.regrelation,text[],numeric}'),
	('dp_argmax', '{relation,predicates,epsilon}', '{dp_pg.regrelation,text[],"double precision"}'),
	('dp_sparse_vector_ask', '{session,predicate,above,answer,questions_left,above_left}', '{bigint,text}'),
	('dp_sparse_vector_close', '{session}', '{bigint}'),
	('dp_weights_open', '{relation,columns,queries,epsilon,n,bins,alpha,delta,confidence,method}', '{dp_pg.regrelation,text[],integer,numeric,bigint,integer[],numeric,numeric,numeric,text}'),
	('dp_weights_open', '{relation,columns,queries,epsilon,n,bins,alpha,delta,confidence,method}', '{dp_pg.regrelation,text[],integer,"double precision",bigint,integer[],"double precision","double precision","double precision",text}'),
	('dp_weights_ask', '{session,predicate}', '{bigint,text}'),
	('dp_weights_estimate', '{session,predicate}', '{bigint,text}'),
	('dp_weights_hypothesis', '{session}', '{bigint}'),
	('dp_weights_close', '{session}', '{bigint}'),
	('dp_weights_step', '{distribution,query,answer,eta}', '{"double precision[]","double precision[]","double precision","double precision"}'),
	('dp_vc_dimension', '{relation,columns,queries,bins,dimension,exact,shattered,universe,queries_apart}', '{dp_pg.regrelation,text[],text[],integer[]}'),
	('dp_error', NULL, '{"\"any\""}'),
	('dp_last_release', NULL, '{}');
-- accounting, each for numeric and for double precision
INSERT INTO wanted
SELECT name, names, replace(types, 'number', t)::text[] FROM unnest('{numeric,double precision}'::text[]) t, (VALUES
	('dp_compose_basic', '{epsilon,delta,k}'::text[], '{number,number,bigint}'),
	('dp_compose_basic', '{epsilons,deltas}'::text[], '{number[],number[]}'),
	('dp_compose_advanced', '{epsilon,delta,k,delta_slack}'::text[], '{number,number,bigint,number}'),
	('dp_compose_optimal', '{epsilon,delta,k,delta_slack}'::text[], '{number,number,bigint,number}'),
	('dp_epsilon_for', '{epsilon_total,k,delta_slack}'::text[], '{number,bigint,number}'),
	('dp_epsilon_for_advanced', '{epsilon_total,k,delta_slack}'::text[], '{number,bigint,number}'),
	('dp_epsilon_for_optimal', '{epsilon_total,k,delta_slack}'::text[], '{number,bigint,number}'),
	('dp_group_privacy', '{epsilon,delta,group_size}'::text[], '{number,number,bigint}'),
	('dp_group_privacy_rho', '{rho,group_size}'::text[], '{number,bigint}'),
	('dp_zcdp_epsilon', '{rho,delta}'::text[], '{number,number}'),
	('dp_zcdp_rho', '{epsilon,delta}'::text[], '{number,number}'),
	('dp_zcdp_delta', '{rho,epsilon}'::text[], '{number,number}'),
	('dp_pure_rho', '{epsilon}'::text[], '{number}'),
	('dp_exponential_rho', '{epsilon}'::text[], '{number}'),
	('dp_laplace_rho', '{sensitivity,epsilon,granule}'::text[], '{number,number,number}'),
	('dp_gaussian_rho', '{sensitivity,sigma}'::text[], '{number,number}'),
	('dp_gaussian_sigma', '{sensitivity,epsilon,delta,method,granule}'::text[], '{number,number,number,text,number}'),
	('dp_gaussian_delta', '{sensitivity,sigma,epsilon,granule}'::text[], '{number,number,number,number}'),
	('dp_laplace_error', '{sensitivity,epsilon,confidence,k,granule}'::text[], '{number,number,number,bigint,number}'),
	('dp_gaussian_error', '{sigma,confidence,k,granule}'::text[], '{number,number,bigint,number}'),
	('dp_selection_error', '{candidates,sensitivity,epsilon,confidence,monotone}'::text[], '{bigint,number,number,number,boolean}'),
	('dp_randomized_response_error', '{n,epsilon,candidates}'::text[], '{bigint,number,bigint}'),
	('dp_odometer', '{rho,delta}'::text[], '{number,number}'),
	('dp_sparse_vector', '{relation,queries,threshold,cutoff,epsilon,alpha,delta,confidence,method,numeric_answers,query,predicate,above,answer}'::text[],
		'{dp_pg.regrelation,text[],number,integer,number,number,number,number,text,boolean}'),
	('dp_sparse_vector_open', '{relation,threshold,cutoff,epsilon,questions,alpha,delta,confidence,method,numeric_answers}'::text[],
		'{dp_pg.regrelation,number,integer,number,bigint,number,number,number,text,boolean}'),
	('dp_above_threshold', '{value,threshold,sensitivity,epsilon,dataset,monotone,method}'::text[], '{anyarray,number,number,number,name,boolean,text}'),
	('dp_sparse_vector_error', '{questions,cutoff,epsilon,delta,confidence,method,numeric_answers,monotone,sensitivity}'::text[], '{bigint,bigint,number,number,number,text,boolean,boolean,bigint}'),
	('dp_weights_error', '{cells,questions,epsilon,n,alpha,delta,confidence,method,sensitivity}'::text[], '{bigint,bigint,number,bigint,number,number,number,text,bigint}'),
	('dp_smalldb', '{relation,columns,queries,epsilon,n,bins,alpha}'::text[], '{dp_pg.regrelation,text[],text[],number,bigint,integer[],number}'),
	('dp_smalldb', '{relation,columns,queries,epsilon,n,bins,alpha}'::text[], '{anyelement,text[],text[],number,bigint,integer[],number}'),
	('dp_smalldb', '{relation,columns,marginals,epsilon,n,bins,alpha}'::text[], '{dp_pg.regrelation,text[],integer,number,bigint,integer[],number}'),
	('dp_smalldb', '{relation,columns,marginals,epsilon,n,bins,alpha}'::text[], '{anyelement,text[],integer,number,bigint,integer[],number}'),
	('dp_smalldb_error', '{universe,queries,epsilon,n,alpha,confidence,size,vc_dimension,max_rows}'::text[], '{bigint,bigint,number,bigint,number,number,bigint,bigint,bigint}'),
	('dp_smalldb_error', '{relation,columns,queries,epsilon,n,bins,alpha,confidence,size,max_rows}'::text[], '{dp_pg.regrelation,text[],text[],number,bigint,integer[],number,number,bigint,bigint}'),
	('dp_net', '{relation,candidates,queries,epsilon,answers}'::text[], '{dp_pg.regrelation,regclass,text[],number,name}'),
	('dp_net_values', '{value,sensitivity,candidates,dataset,epsilon,answers}'::text[], '{number[],number,regclass,name,number,name}'),
	('dp_synthesize', '{relation,columns,marginals,epsilon,n,bins,delta,method,rows}'::text[], '{dp_pg.regrelation,text[],integer,number,bigint,integer[],number,text,bigint}'),
	('dp_synthesize', '{relation,columns,marginals,epsilon,n,bins,delta,method,rows}'::text[], '{dp_pg.regrelation,text[],text[],number,bigint,integer[],number,text,bigint}'),
	('dp_iterate', '{relation,columns,queries,epsilon,n,update,distinguisher,rounds,bins,alpha,delta}'::text[], '{dp_pg.regrelation,text[],text[],number,bigint,text,text,integer,integer[],number,number}'),
	('dp_synthesize_error', '{sizes,marginals,epsilon,n,delta,confidence,max_rows}'::text[], '{integer[],integer,number,bigint,number,number,bigint}'),
	('dp_publish_twin', '{relation,publish,columns,marginals,epsilon,n,bins,delta,method,rows}'::text[], '{regclass,text,text[],integer,number,bigint,integer[],number,text,bigint}'),
	('dp_publish_twin', '{relation,publish,columns,marginals,epsilon,n,bins,delta,method,rows}'::text[], '{regclass,text,text[],text[],number,bigint,integer[],number,text,bigint}'),
	('dp_predicate_cost', '{relation,predicates}'::text[], '{dp_pg.regrelation,text[]}'),
	('dp_plan', '{epsilon_total,delta,k}'::text[], '{number,number,bigint}')) v(name, names, types);
SELECT ok(EXISTS (SELECT 1 FROM member_function p
		WHERE proname = name AND pronamespace = nspname::regnamespace
			AND (names IS NULL OR proargnames[1:cardinality(names)] = names)
			AND (SELECT coalesce(array_agg(t::regtype::text ORDER BY o), '{}') FROM unnest(proargtypes::oid[]) WITH ORDINALITY u(t, o) WHERE o <= greatest(cardinality(types), CASE WHEN types = '{}' THEN pronargs ELSE 0 END)) = types),
	format('%s(%s)', name, array_to_string(types, ', ')))
FROM wanted, home;
-- and no public function nobody asked for
SELECT is_empty($$ SELECT DISTINCT proname FROM member_function, home WHERE pronamespace = nspname::regnamespace
	AND proname NOT IN (SELECT name FROM wanted UNION SELECT name FROM form) $$, 'the schema of the extension holds only documented functions');
SELECT is_empty($$ SELECT proname FROM member_function, home WHERE pronamespace NOT IN (nspname::regnamespace, 'dp_pg'::regnamespace) $$, 'functions are in two schemas');
SELECT is_empty($$ SELECT proname FROM member_function, home WHERE pronamespace = nspname::regnamespace AND proname !~ '^dp_' $$, 'public functions begin with dp_');

-- columns of the catalog
SELECT has_table('dp_pg', t, 'table dp_pg.' || t) FROM unnest('{ledger,budget,relation,attribute,dataset}'::name[]) t;
SELECT has_view('dp_pg', v, 'view dp_pg.' || v) FROM unnest('{budgets,my_budget,releases,progress}'::name[]) v;
SELECT col_type_is('dp_pg', t, c, k, format('dp_pg.%s.%s is %s', t, c, k)) FROM (VALUES
	('ledger'::name, 'id'::name, 'bigint'), ('ledger', 'at', 'timestamp with time zone'), ('ledger', 'role', 'name'), ('ledger', 'login_role', 'name'),
	('ledger', 'dataset', 'name'), ('ledger', 'mechanism', 'text'), ('ledger', 'epsilon', 'numeric'), ('ledger', 'delta', 'numeric'),
	('ledger', 'rho', 'numeric'), ('ledger', 'releases', 'integer'), ('ledger', 'fingerprint', 'bigint'),
	('budgets', 'dataset', 'name'), ('budgets', 'role', 'name'), ('budgets', 'epsilon', 'numeric'), ('budgets', 'delta', 'numeric'),
	('budgets', 'spent_epsilon', 'numeric'), ('budgets', 'spent_delta', 'numeric'),
	('my_budget', 'dataset', 'name'), ('my_budget', 'remaining_epsilon', 'numeric'), ('my_budget', 'remaining_delta', 'numeric'),
	('my_budget', 'calls_left', 'bigint'), ('my_budget', 'renewal', 'timestamp with time zone')) v(t, c, k);
SELECT col_type_is('dp_pg', 'relation', c, 'bigint', format('dp_pg.relation.%s is bigint', c)) FROM unnest('{rows,max_rows,max_keys,max_total,min_units}'::name[]) c;
SELECT col_is_null('dp_pg', 'relation', c, format('dp_pg.relation.%s may be undeclared', c)) FROM unnest('{rows,max_rows,max_keys,max_total,min_units}'::name[]) c;
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE proname = 'dp_suggest_bounds' AND (prosecdef OR proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}') $$,
	'dp_suggest_bounds reads with the rights of its caller, and pins its search_path');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE proname = 'dp_profile' AND (prosecdef OR proconfig[1] IS DISTINCT FROM 'search_path=pg_catalog, pg_temp') $$,
	'dp_profile asks with the rights of its caller, and pins its search_path');
SELECT matches(obj_description(id, 'pg_proc'), 'leak', 'its comment says what its numbers do') FROM member_function WHERE proname = 'dp_suggest_bounds';
SELECT results_eq($$ SELECT a.attname::text COLLATE "default" FROM pg_attribute a WHERE attrelid = 'dp_pg.budget'::regclass AND attname IN ('role_name', 'role_oid') ORDER BY 1 $$,
	ARRAY['role_name', 'role_oid'], 'a budget knows its role by name and OID');

-- every object explains itself
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE coalesce(length(obj_description(id, 'pg_proc')), 0) < 10 $$, 'every function has a comment');
SELECT is_empty($$ SELECT id::regclass FROM member_relation WHERE relkind IN ('r', 'v') AND coalesce(length(obj_description(id, 'pg_class')), 0) < 10 $$, 'every relation has a comment');
SELECT is_empty($$ SELECT id::regtype FROM (SELECT t.oid AS id FROM pg_type t JOIN member m ON m.classid = 'pg_type'::regclass AND m.objid = t.oid WHERE t.typrelid = 0 AND t.typelem = 0) x
	WHERE obj_description(id, 'pg_type') IS NULL $$, 'every type has a comment');
SELECT isnt(obj_description('dp_pg'::regnamespace, 'pg_namespace'), NULL, 'the schema has a comment');
SELECT isnt((SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'dp_pg'), NULL, 'the extension has a comment');
SELECT is_empty($$ SELECT evtname FROM pg_event_trigger t JOIN member m ON m.classid = 'pg_event_trigger'::regclass AND m.objid = t.oid WHERE obj_description(t.oid, 'pg_event_trigger') IS NULL $$, 'every event trigger has a comment');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function, home WHERE pronamespace = nspname::regnamespace AND prokind = 'a' AND obj_description(id, 'pg_proc') !~ '22023' $$, 'comments of aggregates name the errors');

-- privileges
SELECT is_empty($$ SELECT id::regprocedure FROM member_function, home WHERE pronamespace = nspname::regnamespace
	AND proname <> ALL ('{dp_laplace,dp_gaussian,dp_exponential,dp_noisy_max,dp_above_threshold,dp_net_values}')
	AND NOT has_function_privilege('public', id, 'EXECUTE') $$, 'everybody may call the documented functions, which check rights themselves');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function, home WHERE pronamespace = nspname::regnamespace
	AND proname = ANY ('{dp_laplace,dp_gaussian,dp_exponential,dp_noisy_max,dp_above_threshold,dp_net_values}') AND has_function_privilege('public', id, 'EXECUTE') $$, 'the owner''s building blocks may be called only with a grant');
SELECT is_empty($$ SELECT id::regclass, p FROM member_relation, unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) p
	WHERE relkind IN ('r', 'v') AND has_table_privilege('public', id, p) $$, 'nobody writes the catalog');
SELECT is_empty($$ SELECT id::regclass, p FROM member_relation, unnest('{USAGE,SELECT,UPDATE}'::text[]) p
	WHERE relkind = 'S' AND has_sequence_privilege('public', id, p) $$, 'nobody uses the sequences');
SELECT is_empty($$ SELECT 1 WHERE has_schema_privilege('public', 'dp_pg', 'CREATE') $$, 'nobody creates in schema dp_pg');
SELECT ok(has_schema_privilege('public', 'dp_pg', 'USAGE'), 'everybody may use schema dp_pg');
SELECT ok(has_table_privilege('public', 'dp_pg.my_budget', 'SELECT'), 'everybody may read my_budget');
SELECT ok(has_table_privilege('public', 'dp_pg.budgets', 'SELECT'), 'everybody may read budgets');
SELECT ok(has_table_privilege('public', 'dp_pg.ledger', 'SELECT'), 'everybody may read the ledger');
SELECT ok((SELECT bool_and(relrowsecurity) FROM pg_class WHERE oid IN ('dp_pg.ledger'::regclass, 'dp_pg.budget'::regclass)), 'but only his own rows');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE proname = 'charge' AND has_function_privilege('public', id, 'EXECUTE') $$, 'nobody charges by hand');
SELECT is_empty($$ SELECT id::regclass FROM member_relation WHERE relkind = 'v' AND relname IN ('budgets', 'my_budget') AND NOT coalesce(reloptions, '{}') && '{security_invoker=true,security_invoker=on,security_barrier=true,security_barrier=on}' $$, 'views over rows of several roles are barriers or run as the invoker');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE prosecdef AND NOT EXISTS (SELECT 1 FROM unnest(proconfig) c WHERE c ~ '^search_path=') $$, 'SECURITY DEFINER functions pin their search_path');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE proleakproof AND has_function_privilege('public', id, 'EXECUTE') AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'c') AND proname !~ '^total_' $$, 'no function claims to be leakproof');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function p JOIN pg_roles r ON r.oid = proowner WHERE NOT rolsuper $$, 'a superuser owns the functions');
-- the marker never runs in parallel, and is never folded
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE proname = 'release' AND pronamespace = 'dp_pg'::regnamespace AND (proparallel <> 'u' OR provolatile <> 'v') $$, 'the marker is volatile and parallel unsafe');
SELECT is_empty($$ SELECT id::regprocedure FROM member_function WHERE prokind = 'a' AND proname ~ '^dp_' AND proname <> 'dp_randomized_response_estimate' AND proparallel = 's' $$, 'private aggregates are not parallel safe');

-- dump and restore keep budgets, ledger and declarations
SELECT set_has($$ SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'dp_pg' $$,
	$$ VALUES ('dp_pg.ledger'), ('dp_pg.budget'), ('dp_pg.dataset'), ('dp_pg.relation'), ('dp_pg.attribute'), ('dp_pg.profile'), ('dp_pg.relation_name'), ('dp_pg.hardened') $$, 'configuration tables are dumped');

-- estimates of the planner go past row security
SELECT is_empty($$ SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
	WHERE relnamespace = 'dp_pg'::regnamespace AND relkind = 'r' AND relrowsecurity AND attnum > 0 AND NOT attisdropped AND attstattarget IS DISTINCT FROM 0 $$,
	'no statistics of what row security hides');
INSERT INTO dp_pg.ledger (at, role, role_oid, cluster, login_role, dataset, mechanism, epsilon, delta, rho, releases, fingerprint)
	SELECT now(), 'postgres', 10, 0, 'postgres', 'stat', 'none', 0.1, 0, 0, 1, 0 FROM generate_series(1, 1000);
ANALYZE dp_pg.dataset, dp_pg.budget, dp_pg.ledger, dp_pg.batch, dp_pg.part, dp_pg.session, dp_pg.session_secret, dp_pg.session_question, dp_pg.released;
SELECT is_empty($$ SELECT starelid::regclass, staattnum FROM pg_statistic JOIN pg_class c ON c.oid = starelid
	WHERE relnamespace = 'dp_pg'::regnamespace AND relrowsecurity $$, 'ANALYZE keeps none');

-- settings
SELECT is((SELECT context FROM pg_settings s WHERE s.name = v.name), v.context, format('%s is set by %s', v.name, v.context))
FROM (VALUES ('dp_pg.epsilon', 'user'), ('dp_pg.epsilon_ceiling', 'superuser'), ('dp_pg.epsilon_floor', 'superuser'), ('dp_pg.max_groups', 'superuser'), ('dp_pg.max_predicates_per_row', 'superuser'),
	('dp_pg.bounds', 'user'), ('dp_pg.max_rows', 'user'), ('dp_pg.max_keys', 'user'), ('dp_pg.max_total', 'user'), ('dp_pg.setting_scope', 'superuser')) v(name, context);
SELECT is((SELECT boot_val FROM pg_settings WHERE name = 'dp_pg.epsilon'), '0.1', 'default epsilon');
SELECT is_empty($$ SELECT name FROM pg_settings WHERE name LIKE 'dp\_pg.%' AND (short_desc = '' OR short_desc IS NULL) $$, 'settings have descriptions');
SELECT is_empty($$ SELECT name FROM pg_settings WHERE name LIKE 'dp\_pg.%' AND context = 'user' AND name NOT IN ('dp_pg.epsilon', 'dp_pg.bounds', 'dp_pg.delta', 'dp_pg.max_keys', 'dp_pg.max_rows', 'dp_pg.max_total', 'dp_pg.mechanism', 'dp_pg.publish_schema', 'dp_pg.reuse', 'dp_pg.split', 'dp_pg.suppress', 'dp_pg.transparent', 'dp_pg.procedure') $$, 'no other setting is the user''s');
SELECT throws_ok('SET dp_pg.no_such_setting = 1', '42602');
SELECT ok(current_setting('shared_preload_libraries') ~ 'dp_pg', 'the library is preloaded');

SELECT * FROM finish();
ROLLBACK;
