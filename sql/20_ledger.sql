-- The privacy ledger: datasets, budgets, charges.
--
-- Nobody writes these tables but the extension: the owner's functions while
-- they act as the extension's owner, and the ledger's background worker.
-- Everybody may read them; row-level security shows each role its own rows.

CREATE TABLE dp_pg.dataset (
	name				name PRIMARY KEY,
	owner_oid			oid NOT NULL,
	owner_name			name NOT NULL,
	cluster				bigint NOT NULL,
	neighbours			text NOT NULL DEFAULT 'add_remove'
		CHECK (neighbours IN ('add_remove', 'replace_one')),
	cap_filter			text,
	cap_epsilon			numeric,
	cap_delta			numeric,
	cap_delta_conversion	numeric,
	cap_delta_sum		numeric,
	cap_rho				numeric,
	cap_alpha			bigint,
	cap_squares			numeric,
	spent_epsilon		numeric NOT NULL DEFAULT 0,
	spent_rho			numeric NOT NULL DEFAULT 0,
	spent_delta			numeric NOT NULL DEFAULT 0,
	spent_squares		numeric NOT NULL DEFAULT 'Infinity',
	charges				bigint NOT NULL DEFAULT 0,
	epsilon_floor		numeric,
	epsilon_ceiling		numeric,
	home				text
) WITH (fillfactor = 50);

COMMENT ON TABLE dp_pg.dataset IS
'one row per dataset: who owns it, the cap over all roles, what all roles together have spent; visible to its owner';
COMMENT ON COLUMN dp_pg.dataset.owner_oid IS
'OID of the owner in the cluster that wrote the row; in other clusters owner_name decides';
COMMENT ON COLUMN dp_pg.dataset.cluster IS
'system identifier of the cluster that wrote the row';
COMMENT ON COLUMN dp_pg.dataset.home IS
'dp_pg.home() of the database where its budgets count: where it was created, or where a superuser moved it; in any other database it is a copy, which dp_audit reports';
COMMENT ON COLUMN dp_pg.dataset.neighbours IS
'add_remove or replace_one: how neighbouring databases differ in one privacy unit';
COMMENT ON COLUMN dp_pg.dataset.cap_epsilon IS
'cap over all roles, NULL: none; it never renews';
COMMENT ON COLUMN dp_pg.dataset.cap_rho IS
'largest sum of rho that the cap certifies, found when the cap was set';
COMMENT ON COLUMN dp_pg.dataset.cap_alpha IS
'order of the cap''s certificate in units of 2^-20';
COMMENT ON COLUMN dp_pg.dataset.cap_squares IS
'largest sum of squared epsilons that filter advanced admits, else 0';
COMMENT ON COLUMN dp_pg.dataset.spent_squares IS
'sum of squared epsilons; Infinity once a mechanism was not pure, and in rows of a dump that did not have it';
COMMENT ON COLUMN dp_pg.dataset.spent_epsilon IS
'sum of epsilon over the whole ledger of the dataset, exempt roles included; Infinity once a mechanism was not pure';
COMMENT ON COLUMN dp_pg.dataset.epsilon_floor IS
'smallest epsilon of a charge, which pays for all values of a query, NULL: only the server''s; the greater of the two counts';
COMMENT ON COLUMN dp_pg.dataset.epsilon_ceiling IS
'largest epsilon of one released value, NULL: only the server''s';

CREATE TABLE dp_pg.budget (
	dataset				name NOT NULL,
	role_oid			oid NOT NULL,
	role_name			name NOT NULL,
	cluster				bigint NOT NULL,
	active				bool NOT NULL DEFAULT true,
	filter				text NOT NULL,
	epsilon				numeric NOT NULL,
	delta				numeric NOT NULL,
	delta_conversion	numeric NOT NULL,
	delta_sum			numeric NOT NULL,
	rho					numeric NOT NULL,
	alpha				bigint NOT NULL,
	squares				numeric NOT NULL DEFAULT 0,
	renew				interval,
	period_start		timestamptz NOT NULL DEFAULT now(),
	period				bigint NOT NULL DEFAULT 0,
	spent_epsilon		numeric NOT NULL DEFAULT 0,
	spent_rho			numeric NOT NULL DEFAULT 0,
	spent_delta			numeric NOT NULL DEFAULT 0,
	spent_squares		numeric NOT NULL DEFAULT 'Infinity',
	charges				bigint NOT NULL DEFAULT 0,
	total_epsilon		numeric NOT NULL DEFAULT 0,
	total_rho			numeric NOT NULL DEFAULT 0,
	total_delta			numeric NOT NULL DEFAULT 0,
	total_squares		numeric NOT NULL DEFAULT 'Infinity',
	total_charges		bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (dataset, role_oid, cluster)
) WITH (fillfactor = 50);

CREATE INDEX budget_role_name ON dp_pg.budget (dataset, role_name);

COMMENT ON TABLE dp_pg.budget IS
'what a role may spend on a dataset and has spent; visible to the role, to its members and to the owner of the dataset';
COMMENT ON COLUMN dp_pg.budget.role_oid IS
'OID of the role in the cluster that wrote the row; in other clusters role_name decides';
COMMENT ON COLUMN dp_pg.budget.active IS
'false after dp_revoke, which refunds nothing';
COMMENT ON COLUMN dp_pg.budget.filter IS 'basic, advanced, zcdp or best';
COMMENT ON COLUMN dp_pg.budget.delta_conversion IS
'part of delta for the conversion from rho or squares';
COMMENT ON COLUMN dp_pg.budget.delta_sum IS
'part of delta that bounds the sum of the charges'' deltas';
COMMENT ON COLUMN dp_pg.budget.rho IS
'largest sum of rho that (epsilon, delta_conversion) certifies, 0: none';
COMMENT ON COLUMN dp_pg.budget.alpha IS
'order of that certificate in units of 2^-20';
COMMENT ON COLUMN dp_pg.budget.squares IS
'largest sum of squared epsilons that filter advanced admits, else 0';
COMMENT ON COLUMN dp_pg.budget.renew IS
'length of a period, NULL: the budget never renews';
COMMENT ON COLUMN dp_pg.budget.period_start IS
'start of the period that the spent_ columns count; the next charge advances it by whole periods';
COMMENT ON COLUMN dp_pg.budget.period IS
'number of the period: how often the budget was renewed';
COMMENT ON COLUMN dp_pg.budget.spent_epsilon IS
'sum of epsilon in the period; Infinity once a mechanism was not pure';
COMMENT ON COLUMN dp_pg.budget.spent_squares IS
'sum of squared epsilons in the period; Infinity once a mechanism was not pure, and in rows of a dump that did not have it';
COMMENT ON COLUMN dp_pg.budget.total_epsilon IS
'sum of epsilon over all periods; never lowered';

CREATE TABLE dp_pg.ledger (
	id			bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at			timestamptz NOT NULL,
	role		name NOT NULL,
	role_oid	oid NOT NULL,
	cluster		bigint NOT NULL,
	login_role	name NOT NULL,
	payer		name,
	dataset		name NOT NULL,
	mechanism	text NOT NULL,
	epsilon		numeric NOT NULL,
	delta		numeric NOT NULL,
	rho			numeric NOT NULL,
	releases	int NOT NULL,
	fingerprint	bigint NOT NULL,
	price_epsilon	numeric,
	price_delta		numeric,
	price_rho		numeric,
	batch		bigint,
	partition	bigint,
	part		name,
	period		bigint
);

-- By it roles find their own lines: src/release/rights/row_security.c.
CREATE INDEX ledger_asker ON dp_pg.ledger (cluster, role_oid, id);

COMMENT ON TABLE dp_pg.ledger IS
'one row per charge, appended before data is read and never changed; visible to the role that asked and to the owner of the dataset';
COMMENT ON COLUMN dp_pg.ledger.role IS 'the asking role';
COMMENT ON COLUMN dp_pg.ledger.login_role IS 'the role that logged in';
COMMENT ON COLUMN dp_pg.ledger.payer IS
'the role whose budget paid, NULL: exempt (counted against the cap only)';
COMMENT ON COLUMN dp_pg.ledger.epsilon IS
'what the payer was charged (exempt: what was added to the dataset''s sum); Infinity for a mechanism without a pure guarantee';
COMMENT ON COLUMN dp_pg.ledger.price_epsilon IS
'price of the release alone, NULL: what was charged; more than the charge for a query of a batch, which paid in advance, and for a part of a partition';
COMMENT ON COLUMN dp_pg.ledger.batch IS
'the batch that paid for it, or for which this line paid; NULL: none';
COMMENT ON COLUMN dp_pg.ledger.partition IS
'the partition whose largest part is charged, NULL: none';
COMMENT ON COLUMN dp_pg.ledger.part IS 'the part that the release is about';
COMMENT ON COLUMN dp_pg.ledger.period IS
'period of the payer''s budget that the charge counts in, NULL: exempt';
COMMENT ON COLUMN dp_pg.ledger.releases IS 'noisy values released per key';
COMMENT ON COLUMN dp_pg.ledger.fingerprint IS
'identifies the query''s shape, without its constants';

CREATE TABLE dp_pg.batch (
	id			bigint PRIMARY KEY,
	dataset		name NOT NULL,
	role		name NOT NULL,
	role_oid	oid NOT NULL,
	cluster		bigint NOT NULL,
	payer		name,
	payer_oid	oid,
	period		bigint NOT NULL,
	epsilon		numeric NOT NULL,
	queries		int NOT NULL,
	used		int NOT NULL,
	method		text NOT NULL,
	opened		timestamptz NOT NULL,
	closed		timestamptz
) WITH (fillfactor = 50);

CREATE INDEX batch_open ON dp_pg.batch (dataset, role) WHERE closed IS NULL;

COMMENT ON TABLE dp_pg.batch IS
'queries that a role has paid for together with dp_batch_open; visible to the role and to the owner of the dataset';
COMMENT ON COLUMN dp_pg.batch.id IS
'id of the line of dp_pg.ledger that paid for it';
COMMENT ON COLUMN dp_pg.batch.role IS 'role that may run the queries';
COMMENT ON COLUMN dp_pg.batch.payer IS
'the role whose budget paid, NULL: exempt';
COMMENT ON COLUMN dp_pg.batch.period IS
'period of the payer''s budget; the batch ends with it';
COMMENT ON COLUMN dp_pg.batch.epsilon IS 'the most that one query may cost';
COMMENT ON COLUMN dp_pg.batch.queries IS 'number of queries paid for';
COMMENT ON COLUMN dp_pg.batch.used IS 'number of queries asked';
COMMENT ON COLUMN dp_pg.batch.method IS
'how its price was computed: basic, advanced (Theorem 3.20) or optimal';
COMMENT ON COLUMN dp_pg.batch.closed IS
'when it was closed, NULL: it was not';

-- Not dumped: after a restore the sums of all parts begin at zero and the
-- totals stay, which costs more and never less.
CREATE TABLE dp_pg.part (
	dataset			name NOT NULL,
	payer_oid		oid NOT NULL,
	partition		bigint NOT NULL,
	part			name NOT NULL,
	period			bigint NOT NULL,
	spent_epsilon	numeric NOT NULL,
	spent_rho		numeric NOT NULL,
	spent_delta		numeric NOT NULL,
	spent_squares	numeric NOT NULL,
	charges			bigint NOT NULL,
	PRIMARY KEY (dataset, payer_oid, partition, part)
) WITH (fillfactor = 50);

CREATE SEQUENCE dp_pg.partition_seq;

COMMENT ON TABLE dp_pg.part IS
'what was spent on each part of a partition, whose maximum counts in dp_pg.budget and dp_pg.dataset; visible to the owner of the dataset';
COMMENT ON COLUMN dp_pg.part.payer_oid IS
'the role whose budget paid, 0: all roles together';
COMMENT ON COLUMN dp_pg.part.partition IS
'number from dp_pg.new_partition';
COMMENT ON COLUMN dp_pg.part.part IS
'the part; empty: the maximum of each sum over all parts';
COMMENT ON COLUMN dp_pg.part.period IS
'period of the payer''s budget that the sums count';
COMMENT ON SEQUENCE dp_pg.partition_seq IS 'numbers of partitions';

-- Not dumped, but kept by pg_upgrade, which distinguishes the two.
CREATE TABLE dp_pg.lineage (cluster bigint PRIMARY KEY);
COMMENT ON TABLE dp_pg.lineage IS
'internal: system identifiers of the clusters that this database has been in since the extension was created; roles in rows of these clusters are found by OID, in others by name';
COMMENT ON COLUMN dp_pg.lineage.cluster IS 'system identifier';

-- Budgets, charges and batches survive dump and restore.
SELECT pg_catalog.pg_extension_config_dump('dp_pg.dataset', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.budget', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.ledger', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.ledger_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.batch', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.partition_seq', '');

-- Who sees what.

CREATE FUNCTION dp_pg.cluster() RETURNS bigint
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_cluster';
COMMENT ON FUNCTION dp_pg.cluster() IS
'system identifier of this cluster, which distinguishes it in the catalog from a cluster that a dump was restored into';

INSERT INTO dp_pg.lineage VALUES (dp_pg.cluster());

CREATE FUNCTION dp_pg.in_lineage(cluster bigint) RETURNS bool
LANGUAGE c STABLE STRICT
AS 'MODULE_PATHNAME', 'dp_ledger_sql_in_lineage';
COMMENT ON FUNCTION dp_pg.in_lineage(bigint) IS
'whether OIDs of roles in rows written by a cluster are valid here: true for this cluster and those it was upgraded from; NULL for NULL';

CREATE FUNCTION dp_pg.home() RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT pg_catalog.concat(dp_pg.cluster(), '/', d.oid)
		FROM pg_catalog.pg_database AS d
		WHERE d.datname = pg_catalog.current_database());
COMMENT ON FUNCTION dp_pg.home() IS
'this database: system identifier of the cluster and OID; see dp_pg.dataset.home';

CREATE FUNCTION dp_pg.owned_datasets() RETURNS name[]
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_owned';
COMMENT ON FUNCTION dp_pg.owned_datasets() IS
'datasets of owners whose privileges the current user has; all for a superuser';

CREATE FUNCTION dp_pg.inherits(role_oid oid, role_name name, cluster bigint)
RETURNS bool
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_inherits';
COMMENT ON FUNCTION dp_pg.inherits(oid, name, bigint) IS
'whether the current user has the privileges of the role that a catalog row names; false for NULL and for a dropped role';

CREATE FUNCTION dp_pg.is_me(role_oid oid, role_name name, cluster bigint)
RETURNS bool
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_is_me';
COMMENT ON FUNCTION dp_pg.is_me(oid, name, bigint) IS
'whether the current user is the role that a catalog row names; false for NULL and for a dropped role';

CREATE FUNCTION dp_pg.sees_more() RETURNS bool
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_sees_more';
COMMENT ON FUNCTION dp_pg.sees_more() IS
'whether the current user can see lines of dp_pg.ledger for queries of another role, or written by another cluster: true for owners of a dataset, and for all while there are lines from before a restore';

ALTER TABLE dp_pg.dataset ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.budget ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.batch ENABLE ROW LEVEL SECURITY;
ALTER TABLE dp_pg.part ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_reads ON dp_pg.dataset FOR SELECT
	USING (name = ANY ((SELECT dp_pg.owned_datasets())::name[]));
CREATE POLICY owner_and_members_read ON dp_pg.budget FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR dp_pg.inherits(role_oid, role_name, cluster));
CREATE POLICY owner_and_asker_read ON dp_pg.ledger FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR dp_pg.is_me(role_oid, role, cluster));

CREATE POLICY owner_and_role_read ON dp_pg.batch FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[])
		   OR dp_pg.is_me(role_oid, role, cluster));
CREATE POLICY owner_reads ON dp_pg.part FOR SELECT
	USING (dataset = ANY ((SELECT dp_pg.owned_datasets())::name[]));

REVOKE ALL ON dp_pg.dataset, dp_pg.budget, dp_pg.ledger, dp_pg.batch,
	dp_pg.part FROM PUBLIC;
REVOKE ALL ON SEQUENCE dp_pg.ledger_id_seq, dp_pg.partition_seq FROM PUBLIC;
GRANT SELECT ON dp_pg.dataset, dp_pg.budget, dp_pg.ledger, dp_pg.batch,
	dp_pg.part TO PUBLIC;

CREATE VIEW dp_pg.budgets WITH (security_invoker = true) AS
SELECT b.dataset, coalesce(g.rolname, b.role_name) AS role, b.active, b.filter,
	b.epsilon, b.delta,
	CASE WHEN p.over THEN 0 ELSE trim_scale(ceil(b.spent_epsilon * 1e9) * 1e-9) END AS spent_epsilon,
	CASE WHEN p.over THEN 0 ELSE trim_scale(ceil(b.spent_rho * 1e9) * 1e-9) END AS spent_rho,
	CASE WHEN p.over THEN 0 ELSE trim_scale(ceil(b.spent_delta * 1e18) * 1e-18) END AS spent_delta,
	CASE WHEN p.over THEN 0 ELSE b.charges END AS charges,
	b.renew,
	CASE WHEN NOT p.over THEN p.renewal END AS renewal,
	trim_scale(ceil(b.total_epsilon * 1e9) * 1e-9) AS total_epsilon,
	trim_scale(ceil(b.total_rho * 1e9) * 1e-9) AS total_rho,
	trim_scale(ceil(b.total_delta * 1e18) * 1e-18) AS total_delta,
	b.total_charges,
	g.oid IS NOT NULL AND NOT EXISTS (
		SELECT FROM dp_pg.budget AS o
		WHERE NOT h.own AND o.dataset = b.dataset
			AND CASE WHEN dp_pg.in_lineage(o.cluster) THEN o.role_oid = g.oid
				ELSE o.role_name = b.role_name
					AND (o.total_charges, o.role_oid) > (b.total_charges, b.role_oid) END
	) AS in_force,
	b.period
FROM dp_pg.budget AS b
CROSS JOIN LATERAL (SELECT dp_pg.in_lineage(b.cluster) AS own) AS h
LEFT JOIN pg_catalog.pg_roles AS g
	ON CASE WHEN h.own THEN g.oid = b.role_oid
		ELSE g.rolname = b.role_name END
CROSS JOIN LATERAL (
	SELECT ((b.period_start AT TIME ZONE 'UTC') + b.renew)
		AT TIME ZONE 'UTC' AS renewal) AS r
CROSS JOIN LATERAL (
	SELECT r.renewal, coalesce(r.renewal <= now(), false) AS over) AS p;
COMMENT ON VIEW dp_pg.budgets IS
'limits and spending per dataset and role: all roles on your datasets, otherwise your own and those of your groups; spent_ columns count the current period, which ends at renewal (NULL: never, or the next charge starts a new one); role is the current name, and of the rows of one name at most one per dataset is in_force: the others belong to dropped roles, or were restored and then replaced by another row; sums have nine digits after the point, a delta''s eighteen, rounded up (dp_pg.budget has all)';
GRANT SELECT ON dp_pg.budgets TO PUBLIC;

CREATE FUNCTION dp_pg.standing(
	OUT dataset name, OUT exempt bool, OUT filter text,
	OUT epsilon numeric, OUT delta numeric, OUT spent numeric,
	OUT remaining_epsilon numeric, OUT remaining_delta numeric,
	OUT calls_left bigint, OUT renewal timestamptz, OUT payer name)
RETURNS SETOF record
LANGUAGE c VOLATILE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_standing';
COMMENT ON FUNCTION dp_pg.standing() IS
'what the asking role may still spend, one row per dataset; see dp_pg.my_budget';

CREATE VIEW dp_pg.my_budget WITH (security_invoker = true) AS
SELECT s.dataset, s.filter, s.epsilon, s.delta,
	trim_scale(ceil(s.spent * 1e9) * 1e-9) AS spent,
	trim_scale(trunc(s.remaining_epsilon, 9)) AS remaining_epsilon,
	trim_scale(trunc(s.remaining_delta, 18)) AS remaining_delta,
	s.calls_left, s.renewal, s.payer, s.exempt
FROM dp_pg.standing() AS s;
COMMENT ON VIEW dp_pg.my_budget IS
'what the asking role may still spend: remaining_epsilon is the largest epsilon one more query may have, calls_left the number of counts at the settings dp_pg.epsilon, mechanism and delta; the cap is taken into account; payer is the role that pays (NULL: exempt, the numbers are then those of the cap, NULL without one); nine digits after the point, a delta''s eighteen, rounded up in spent and down in what remains (dp_pg.standing() has all)';
GRANT SELECT ON dp_pg.my_budget TO PUBLIC;

CREATE VIEW dp_pg.my_batches WITH (security_invoker = true) AS
SELECT x.id, x.dataset,
	CASE WHEN x.closed IS NOT NULL THEN 'closed'
		WHEN x.payer IS NOT NULL AND b.period IS NULL THEN 'ended'
		WHEN x.used >= x.queries THEN 'used up'
		ELSE 'open' END AS state,
	x.epsilon, x.queries, x.used, x.method,
	l.epsilon AS charged_epsilon, l.delta AS charged_delta, x.payer,
	x.opened, x.closed
FROM dp_pg.batch AS x
LEFT JOIN dp_pg.ledger AS l ON l.id = x.id
LEFT JOIN dp_pg.budget AS b ON b.dataset = x.dataset
	AND CASE WHEN b.cluster = x.cluster
			OR (dp_pg.in_lineage(b.cluster) AND dp_pg.in_lineage(x.cluster))
		THEN b.role_oid = x.payer_oid ELSE b.role_name = x.payer END
	AND b.period = x.period
	AND (b.renew IS NULL OR ((b.period_start AT TIME ZONE 'UTC') + b.renew)
		 AT TIME ZONE 'UTC' > now())
WHERE dp_pg.is_me(x.role_oid, x.role, x.cluster);
COMMENT ON VIEW dp_pg.my_batches IS
'your own batches: state open, used up (queries that it covers are refused until it is closed), ended (the budget that paid was renewed or is gone) or closed; the most that one query may cost, the numbers of queries paid for and asked, and what the batch cost';
GRANT SELECT ON dp_pg.my_batches TO PUBLIC;

-- What the owner of a dataset decides.

CREATE FUNCTION @extschema@.dp_grant(
	role name, dataset name DEFAULT NULL,
	epsilon numeric DEFAULT NULL, delta numeric DEFAULT 0,
	filter text DEFAULT 'best', renew interval DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_grant';
COMMENT ON FUNCTION @extschema@.dp_grant(name, name, numeric, numeric, text, interval) IS
'gives a role a budget on a dataset (NULL: your default one), or replaces the limits of its budget but not what it has spent; epsilon > 0, 0 <= delta < 1, filter basic, advanced, zcdp or best, renew NULL or positive; errors 22023, 42704, 42501, 25006';

-- Two overloads for double precision, since one with the same defaults as
-- above would make calls that leave epsilon out ambiguous.
CREATE FUNCTION @extschema@.dp_grant(
	role name, dataset name,
	epsilon double precision, delta double precision DEFAULT 0,
	filter text DEFAULT 'best', renew interval DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_grant_float';
COMMENT ON FUNCTION @extschema@.dp_grant(name, name, double precision, double precision, text, interval) IS
'dp_grant for drivers that bind double precision; numbers are read by their shortest decimal text';

CREATE FUNCTION @extschema@.dp_grant(
	role name,
	epsilon double precision, delta double precision DEFAULT 0,
	filter text DEFAULT 'best', renew interval DEFAULT NULL)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
AS 'SELECT @extschema@.dp_grant($1, NULL::pg_catalog.name, $2, $3, $4, $5)';
COMMENT ON FUNCTION @extschema@.dp_grant(name, double precision, double precision, text, interval) IS
'dp_grant on your default dataset for drivers that bind double precision';

CREATE FUNCTION @extschema@.dp_limit(
	dataset name DEFAULT NULL,
	epsilon numeric DEFAULT NULL, delta numeric DEFAULT 0,
	filter text DEFAULT 'best',
	epsilon_floor numeric DEFAULT NULL, epsilon_ceiling numeric DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_limit';
COMMENT ON FUNCTION @extschema@.dp_limit(name, numeric, numeric, text, numeric, numeric) IS
'caps what all roles together, including the owner, may ever spend on a dataset (NULL: your default one), and bounds the epsilon of a charge from below and that of one released value from above; replaces the previous cap, floor and ceiling; errors 22023, 42704, 42501, 25006';

CREATE FUNCTION @extschema@.dp_limit(
	dataset name,
	epsilon double precision,
	delta double precision DEFAULT 0,
	filter text DEFAULT 'best',
	epsilon_floor double precision DEFAULT NULL,
	epsilon_ceiling double precision DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_limit_float';
COMMENT ON FUNCTION @extschema@.dp_limit(name, double precision, double precision, text, double precision, double precision) IS
'dp_limit for drivers that bind double precision; numbers are read by their shortest decimal text';

CREATE FUNCTION @extschema@.dp_limit(
	epsilon double precision,
	delta double precision DEFAULT 0,
	filter text DEFAULT 'best',
	epsilon_floor double precision DEFAULT NULL,
	epsilon_ceiling double precision DEFAULT NULL)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
AS 'SELECT @extschema@.dp_limit(NULL::pg_catalog.name, $1, $2, $3, $4, $5)';
COMMENT ON FUNCTION @extschema@.dp_limit(double precision, double precision, text, double precision, double precision) IS
'dp_limit on your default dataset for drivers that bind double precision';

CREATE FUNCTION @extschema@.dp_unlimit(dataset name DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_unlimit';
COMMENT ON FUNCTION @extschema@.dp_unlimit(name) IS
'removes cap, epsilon_floor and epsilon_ceiling of a dataset (NULL: your default one); what was spent stays counted, and a later cap counts it; errors 42704, 42501, 25006';

CREATE FUNCTION @extschema@.dp_neighbours(dataset name, relation text)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_neighbours';
COMMENT ON FUNCTION @extschema@.dp_neighbours(name, text) IS
'chooses how neighbouring databases of a dataset (NULL: your default one) differ: add_remove (the default: one has one privacy unit more) or replace_one (one unit''s data is replaced); only before the first charge; errors 22023, 42704, 42501, 25006, 55000 already charged';

CREATE FUNCTION @extschema@.dp_revoke(role name, dataset name DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_revoke';
COMMENT ON FUNCTION @extschema@.dp_revoke(name, name) IS
'revokes a role''s budget on a dataset (NULL: your default one); refunds nothing; errors 42704 no such dataset or budget, 42501, 25006';

-- Building blocks for the owner's procedures; not for everybody.

CREATE FUNCTION dp_pg.charge(
	dataset name, mechanism text, epsilon numeric, delta numeric DEFAULT 0,
	rho numeric DEFAULT NULL, partition bigint DEFAULT NULL,
	part name DEFAULT NULL)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_charge';
COMMENT ON FUNCTION dp_pg.charge(name, text, numeric, numeric, numeric, bigint, name) IS
'charges the asking role for a release made outside dp_pg and returns the id of the charge in dp_pg.ledger; rho NULL: as epsilon implies, epsilon NULL: the mechanism has only a rho; partition and part: the release depends only on the units of one part; durable at once, even if the transaction rolls back; errors 22023, 42704, 42501, 53400 exhausted, 55000 in a function that is not known to call this one, 55P03 locked, 53000 no worker, 25006 recovery, 0A000 restricted operation, 08007 outcome unknown';
REVOKE EXECUTE ON FUNCTION
	dp_pg.charge(name, text, numeric, numeric, numeric, bigint, name)
	FROM PUBLIC;

CREATE FUNCTION dp_pg.preview(
	dataset name, mechanism text, INOUT epsilon numeric,
	INOUT delta numeric DEFAULT 0, INOUT rho numeric DEFAULT NULL,
	partition bigint DEFAULT NULL, part name DEFAULT NULL,
	OUT batch bigint, OUT batch_left int)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_preview';
COMMENT ON FUNCTION dp_pg.preview(name, text, numeric, numeric, numeric, bigint, name) IS
'what dp_pg.charge with these arguments would add to the sums of the budget that pays (exempt: of the dataset), and the batch that would pay for it with the number of queries left, NULL: none; NULL without a budget; charges nothing, and does not check the limits; errors 22023';
REVOKE EXECUTE ON FUNCTION
	dp_pg.preview(name, text, numeric, numeric, numeric, bigint, name)
	FROM PUBLIC;

CREATE FUNCTION dp_pg.new_partition() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_new_partition';
COMMENT ON FUNCTION dp_pg.new_partition() IS
'a new number for a partition of units into parts; the caller guarantees that no unit ever changes its part';
REVOKE EXECUTE ON FUNCTION dp_pg.new_partition() FROM PUBLIC;

CREATE FUNCTION dp_pg.open_dataset(dataset name DEFAULT NULL) RETURNS name
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_open_dataset';
COMMENT ON FUNCTION dp_pg.open_dataset(name) IS
'creates a dataset without tables for the current user, unless the user already has it (NULL: the default one), and returns its name; errors 42501 another owner''s, 22023 empty name, 25006';
REVOKE EXECUTE ON FUNCTION dp_pg.open_dataset(name) FROM PUBLIC;

-- What was spent, as a statement about privacy.

CREATE FUNCTION @extschema@.dp_odometer_statement(
	INOUT dataset name, delta numeric, INOUT role name DEFAULT NULL,
	OUT charges bigint, OUT rho numeric,
	OUT basic_epsilon numeric, OUT basic_delta numeric,
	OUT odometer_epsilon numeric, OUT odometer_delta numeric)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_odometer';
COMMENT ON FUNCTION @extschema@.dp_odometer_statement(name, numeric, name) IS
'privacy of all that a role (NULL: the asking one) has learnt on a dataset (NULL: your default one), over all periods and including the spending of its groups; for the owner, who is exempt, of all that all roles have learnt (role NULL): with respect to one privacy unit it is (basic_epsilon, basic_delta)-private (Theorem 3.16), and at every moment the loss is at most odometer_epsilon except with probability odometer_delta, which is delta plus the deltas of the charges (T38); Infinity once a mechanism was not pure; 0 < delta < 1; charges nothing; errors 22023, 42704, 42501 about others, unless you own the dataset, or without a budget';

CREATE FUNCTION @extschema@.dp_odometer_statement(
	INOUT dataset name, delta double precision, INOUT role name DEFAULT NULL,
	OUT charges bigint, OUT rho numeric,
	OUT basic_epsilon numeric, OUT basic_delta numeric,
	OUT odometer_epsilon numeric, OUT odometer_delta numeric)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_odometer_float';
COMMENT ON FUNCTION @extschema@.dp_odometer_statement(name, double precision, name) IS
'dp_odometer_statement for drivers that bind double precision; delta is read by its shortest decimal text';

-- Queries that are paid for together.

CREATE FUNCTION @extschema@.dp_batch_open(
	dataset name, epsilon numeric, k int, delta_slack numeric DEFAULT 0,
	method text DEFAULT 'cheapest')
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_batch_open';
COMMENT ON FUNCTION @extschema@.dp_batch_open(name, numeric, int, numeric, text) IS
'pays at once for k queries of at most epsilon each on a dataset (NULL: your default one) and returns the id of the batch; until it ends, each of your queries there that is pure and costs at most epsilon uses one of the k instead of your budget; method basic (k epsilon), advanced (Theorem 3.20), optimal (Kairouz, Oh and Viswanath) or cheapest, whose delta_slack is charged as delta, 0 <= delta_slack < 1; durable at once; the batch ends when it is closed or your budget renews; errors 22023, 42704, 42501, 53400 exhausted, 55000 you already have one open there, 55P03, 53000, 25006, 0A000, 08007';

CREATE FUNCTION @extschema@.dp_batch_open(
	dataset name, epsilon double precision, k int,
	delta_slack double precision DEFAULT 0, method text DEFAULT 'cheapest')
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_batch_open_float';
COMMENT ON FUNCTION @extschema@.dp_batch_open(name, double precision, int, double precision, text) IS
'dp_batch_open for drivers that bind double precision; numbers are read by their shortest decimal text';

CREATE FUNCTION @extschema@.dp_batch_close(id bigint) RETURNS int
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_ledger_sql_batch_close';
COMMENT ON FUNCTION @extschema@.dp_batch_close(bigint) IS
'closes a batch of yours, or on your dataset, and returns the number of its unused queries; refunds nothing; durable at once; errors 42704 no such open batch, 55P03, 53000, 25006, 0A000, 08007';
