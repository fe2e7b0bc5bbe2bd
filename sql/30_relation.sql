-- Protected relations: what the owner declared, and what still leaks around.

CREATE TABLE dp_pg.relation (
	relid regclass PRIMARY KEY,
	relid_origin oid NOT NULL,
	dataset name NOT NULL,
	unit name,
	unit_attnum int2,
	unit_through regclass,
	unit_key name,
	unit_key_attnum int2,
	published regclass,
	rows bigint CHECK (rows > 0),
	max_rows bigint CHECK (max_rows BETWEEN 1 AND 2147483647),
	max_keys bigint CHECK (max_keys BETWEEN 1 AND 2147483647),
	max_total bigint CHECK (max_total BETWEEN 1 AND 2147483647),
	commented boolean NOT NULL DEFAULT true,
	twin regclass,
	unit_more name[],
	unit_more_attnums int2[],
	unit_key_more name[],
	unit_key_more_attnums int2[],
	min_units bigint CHECK (min_units BETWEEN 1 AND 2147483647)
);
COMMENT ON TABLE dp_pg.relation IS
'protected relations; written by dp_protect, dp_declare and dp_unprotect, readable by all roles';
COMMENT ON COLUMN dp_pg.relation.relid IS
'the relation, with all its partitions and inheritance children';
COMMENT ON COLUMN dp_pg.relation.relid_origin IS
'OID of the relation when the row was written; differs from relid after a restore, until the row is adopted';
COMMENT ON COLUMN dp_pg.relation.dataset IS
'the dataset whose budgets pay for queries on the relation';
COMMENT ON COLUMN dp_pg.relation.unit IS
'column that identifies the privacy unit of a row; NULL: each row is one unit';
COMMENT ON COLUMN dp_pg.relation.unit_attnum IS
'number of the unit column; follows a rename';
COMMENT ON COLUMN dp_pg.relation.unit_through IS
'protected relation whose primary key the unit column refers to: a row has the unit of the row that it refers to; NULL: the column itself is the unit';
COMMENT ON COLUMN dp_pg.relation.unit_key IS
'primary key of unit_through when the unit was declared, which it must still be; NULL: the column itself is the unit';
COMMENT ON COLUMN dp_pg.relation.unit_key_attnum IS
'number of the primary key''s column; follows a rename';
COMMENT ON COLUMN dp_pg.relation.published IS
'security_invoker view for tools that list relations which they may select from; NULL: none';
COMMENT ON COLUMN dp_pg.relation.rows IS
'size class: approximate number of rows that its owner declared, a power of ten; plans depend on it and never on the rows; NULL: none declared';
COMMENT ON COLUMN dp_pg.relation.max_rows IS
'most rows of one unit that count in a group, as declared by the owner, unless dp_pg.max_rows is set; NULL: max_total';
COMMENT ON COLUMN dp_pg.relation.max_keys IS
'most groups of one unit that count, as declared by the owner, unless dp_pg.max_keys is set; NULL: max_total, else 1 where max_rows is declared';
COMMENT ON COLUMN dp_pg.relation.max_total IS
'most rows of one unit that count in all groups together, as declared by the owner, unless dp_pg.max_total is set; NULL: max_rows times max_keys; where max_rows is NULL, too, and neither is set, what counts rows is refused';
COMMENT ON COLUMN dp_pg.relation.commented IS
'true: comments on the published view and its columns show the declarations';
COMMENT ON COLUMN dp_pg.relation.twin IS
'table of released synthetic rows that previews show in transparent mode, made by dp_publish_twin; NULL: none';
COMMENT ON COLUMN dp_pg.relation.unit_more IS
'if that primary key has several columns, the columns that refer to those after the first; NULL: it has one';
COMMENT ON COLUMN dp_pg.relation.unit_more_attnums IS
'numbers of these columns; follow renames';
COMMENT ON COLUMN dp_pg.relation.unit_key_more IS
'the further columns of the primary key, in the same order';
COMMENT ON COLUMN dp_pg.relation.unit_key_more_attnums IS
'numbers of these columns; follow renames';
COMMENT ON COLUMN dp_pg.relation.min_units IS
'groups whose noisy number of units is below are shown to nobody who is not exempt, as declared by the owner; NULL: none declared';

CREATE TABLE dp_pg.attribute (
	relid regclass NOT NULL,
	relid_origin oid NOT NULL,
	attname name NOT NULL,
	attnum int2 NOT NULL,
	lower text,
	upper text,
	granule numeric,
	keys text[],
	other text,
	partition bigint CHECK (partition > 0),
	guard bigint CHECK (guard > 0),
	public_sizes boolean,
	nulls boolean,
	PRIMARY KEY (relid, attname)
);
COMMENT ON TABLE dp_pg.attribute IS
'public bounds and keys of columns; written by dp_declare, readable by all roles';
COMMENT ON COLUMN dp_pg.attribute.relid IS 'the protected relation';
COMMENT ON COLUMN dp_pg.attribute.relid_origin IS
'OID of the relation when the row was written; differs from relid after a restore, until the row is adopted';
COMMENT ON COLUMN dp_pg.attribute.attname IS 'the column; follows a rename';
COMMENT ON COLUMN dp_pg.attribute.attnum IS 'number of the column';
COMMENT ON COLUMN dp_pg.attribute.lower IS
'public lower bound: decimal, or ISO text of the column''s type; NULL: none';
COMMENT ON COLUMN dp_pg.attribute.upper IS
'public upper bound, above lower; NULL: none';
COMMENT ON COLUMN dp_pg.attribute.granule IS
'grid of sums, a power of two; NULL: 1 for integers, otherwise the largest power of two not above (upper - lower) / 2^20';
COMMENT ON COLUMN dp_pg.attribute.keys IS
'public group keys in the order of the result, as text of the column''s type; NULL: none';
COMMENT ON COLUMN dp_pg.attribute.other IS
'key under which rows with an undeclared value are counted; NULL: nowhere';

COMMENT ON COLUMN dp_pg.attribute.partition IS
'number in the ledger of the partition by the column, since the owner declared it immutable: queries about different values are charged together, by the largest part; NULL: not immutable';
COMMENT ON COLUMN dp_pg.attribute.guard IS
'number in the name of the trigger dp_pg_immutable_N that refuses UPDATEs of the column; NULL: not immutable';
COMMENT ON COLUMN dp_pg.attribute.public_sizes IS
'true: the owner declared it public how many rows each declared value has and where they are stored; queries about one of many values may then read an index on the column';
COMMENT ON COLUMN dp_pg.attribute.nulls IS
'false: the owner declared that NULL is no group key, so rows with NULL are counted nowhere; NULL: not declared';

CREATE TABLE dp_pg.relation_name (
	schema name NOT NULL,
	name name NOT NULL,
	relid regclass NOT NULL,
	follow boolean NOT NULL,
	owner_oid oid NOT NULL,
	owner_name name NOT NULL,
	cluster bigint NOT NULL,
	seen regclass NOT NULL DEFAULT 0,
	kept jsonb,
	PRIMARY KEY (schema, name)
);
COMMENT ON TABLE dp_pg.relation_name IS
'names that protected relations have, or had; of those not followed whose relation was dropped, the last 100 of each owner; written by dp_protect, dp_unprotect and dp_unfollow, readable by all roles';
COMMENT ON COLUMN dp_pg.relation_name.schema IS 'the schema';
COMMENT ON COLUMN dp_pg.relation_name.name IS 'the name in it';
COMMENT ON COLUMN dp_pg.relation_name.relid IS
'the protected relation that last had the name; 0: it was dropped';
COMMENT ON COLUMN dp_pg.relation_name.follow IS
'true: the next table to get the name is protected likewise; false: its owner is warned';
COMMENT ON COLUMN dp_pg.relation_name.owner_oid IS 'OID of the owner of that relation, who must also own the next one';
COMMENT ON COLUMN dp_pg.relation_name.owner_name IS 'name of the owner, which decides in another cluster, after a restore';
COMMENT ON COLUMN dp_pg.relation_name.cluster IS
'system identifier of the cluster that wrote the row';
COMMENT ON COLUMN dp_pg.relation_name.seen IS
'unprotected relation with the name about which its owner was warned; 0: none';
COMMENT ON COLUMN dp_pg.relation_name.kept IS
'declarations of a followed relation that was dropped; NULL: it was not dropped';

GRANT SELECT ON dp_pg.relation, dp_pg.attribute, dp_pg.relation_name TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('dp_pg.relation', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.attribute', '');
SELECT pg_catalog.pg_extension_config_dump('dp_pg.relation_name', '');

-- Columns are matched by name: keep names, and rows, true.

CREATE FUNCTION dp_pg.fill_origin() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_relation_fill_origin';
COMMENT ON FUNCTION dp_pg.fill_origin() IS
'row trigger on dp_pg.relation and dp_pg.attribute: sets relid_origin and the column number';
REVOKE ALL ON FUNCTION dp_pg.fill_origin() FROM PUBLIC;

CREATE TRIGGER fill_origin BEFORE INSERT ON dp_pg.relation
FOR EACH ROW EXECUTE FUNCTION dp_pg.fill_origin();
ALTER TABLE dp_pg.relation ENABLE ALWAYS TRIGGER fill_origin;
COMMENT ON TRIGGER fill_origin ON dp_pg.relation IS
'sets relid_origin and unit_attnum, also after a restore';
CREATE TRIGGER fill_origin BEFORE INSERT ON dp_pg.attribute
FOR EACH ROW EXECUTE FUNCTION dp_pg.fill_origin();
ALTER TABLE dp_pg.attribute ENABLE ALWAYS TRIGGER fill_origin;
COMMENT ON TRIGGER fill_origin ON dp_pg.attribute IS
'sets relid_origin and attnum, also after a restore';

CREATE FUNCTION dp_pg.follow_names() RETURNS event_trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_relation_follow_names';
COMMENT ON FUNCTION dp_pg.follow_names() IS
'event trigger: declarations follow columns that were renamed';
REVOKE ALL ON FUNCTION dp_pg.follow_names() FROM PUBLIC;
CREATE EVENT TRIGGER dp_pg_follow_names ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW',
			 'ALTER FOREIGN TABLE', 'ALTER TYPE')
EXECUTE FUNCTION dp_pg.follow_names();
ALTER EVENT TRIGGER dp_pg_follow_names ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER dp_pg_follow_names IS
'dp_pg: declarations follow columns that were renamed';

CREATE FUNCTION dp_pg.forget_dropped() RETURNS event_trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_relation_forget_dropped';
COMMENT ON FUNCTION dp_pg.forget_dropped() IS
'event trigger: removes declarations about dropped relations and columns';
REVOKE ALL ON FUNCTION dp_pg.forget_dropped() FROM PUBLIC;
CREATE EVENT TRIGGER dp_pg_forget_dropped ON sql_drop
EXECUTE FUNCTION dp_pg.forget_dropped();
ALTER EVENT TRIGGER dp_pg_forget_dropped ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER dp_pg_forget_dropped IS
'dp_pg: removes declarations about dropped relations and columns';

-- The owner's functions.

CREATE FUNCTION @extschema@.dp_protect(relation regclass, unit text DEFAULT NULL,
	dataset name DEFAULT NULL, publish text DEFAULT NULL,
	revoke boolean DEFAULT false, rows bigint DEFAULT NULL,
	comment boolean DEFAULT NULL, follow boolean DEFAULT NULL,
	max_total bigint DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_protect';
COMMENT ON FUNCTION @extschema@.dp_protect(regclass, text, name, text, boolean, bigint, boolean, boolean, bigint) IS
'protects a table and its partitions or children with differential privacy. unit: column that identifies the privacy unit of a row (NULL: each row is one unit), or a path of keys, order_id -> orders.customer_id, to the unit of a protected relation of the dataset: the column refers to its primary key, or several columns do, (order_id, day) -> orders.customer_id; a notice reports a foreign key that leads to another unit of the dataset, and that there may be rows without a unit, which count nowhere; dataset: whose budgets pay (NULL: the current one, otherwise the caller''s default); publish: name of a view to create for tools (NULL: by dp_pg.publish_schema, empty: none); revoke: revokes privileges through which other roles learn rows; rows: approximate number of rows, which becomes public (NULL: as declared before); comment: whether comments on the view and its columns show the declarations (NULL: as before, by default true); follow: whether a table that gets this name later, by CREATE, RENAME or SET SCHEMA of itself or its schema, is protected likewise before its transaction ends (NULL: as before, by default false, with a warning); max_total: how many rows of one unit count at most in an answer, as dp_declare(relation, max_total => ..) declares (NULL: as declared before; a notice says where a unit may have many rows and nothing is declared). Errors: 42501 not the owner, 42703 unknown column, 42809 not a table, 0A000 foreign, temporary or Citus table, or follow with immutable columns, 22023 unusable unit or path, negative rows, or max_total not between 1 and 2147483647, 55000 other roles can read it, it shares rows with another dataset, or its name is followed for tables of another role';

CREATE FUNCTION @extschema@.dp_unprotect(relation regclass)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_unprotect';
COMMENT ON FUNCTION @extschema@.dp_unprotect(regclass) IS
'removes all declarations of a relation and drops its published view and its twin; refunds nothing. Errors: 42501 not the owner, 42704 not protected, 2BP01 an object depends on the view or twin, or the unit path of another relation leads through this one';

CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, lower integer,
	upper integer, granule numeric DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, lower bigint,
	upper bigint, granule numeric DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, lower numeric,
	upper numeric, granule numeric DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name,
	lower double precision, upper double precision,
	granule double precision DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, lower text,
	upper text, granule numeric DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, lower date,
	upper date)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, lower timestamp,
	upper timestamp)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name,
	lower timestamptz, upper timestamptz)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_bounds';
CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name, keys anyarray,
	other text DEFAULT NULL, nulls boolean DEFAULT true)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_keys';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, integer, integer, numeric) IS
'declares public bounds of a column: finite, lower < upper, in the column''s type; granule: grid of sums, a power of two. Replaces earlier bounds. Errors: 42501 not the owner, 42703 unknown column, 42704 not protected, 22023 NULL or unusable bounds or granule';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, bigint, bigint, numeric) IS
'declares public bounds of a numeric column; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, numeric, numeric, numeric) IS
'declares public bounds of a numeric column; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, double precision,
	double precision, double precision) IS
'declares public bounds of a numeric column, read by their shortest decimal text; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, text, text, numeric) IS
'declares public bounds given as text of the column''s type; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, date, date) IS
'declares public bounds of a date or timestamp column; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, timestamp, timestamp) IS
'declares public bounds of a timestamp column; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, timestamptz, timestamptz) IS
'declares public bounds of a timestamp with time zone column; see the integer form';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, anyarray, text, boolean) IS
'declares public group keys of a column; the result has a row for each, in this order; other: key for rows with any other value (NULL: such rows count nowhere); nulls: false if NULL is no key although the column can be NULL (such rows count nowhere). Replaces earlier keys. Errors: 42501 not the owner, 42703 unknown column, 42704 not protected, 22023 no keys, NULL or equal keys, keys that are not values of the column, more than dp_pg.max_groups';

-- The size class: all that plans know of a relation's size.

CREATE FUNCTION @extschema@.dp_declare(relation regclass, rows bigint)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_rows';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, bigint) IS
'declares publicly the approximate number of rows of a relation with its partitions and children; stored as the nearest power of ten. It determines how many parallel workers read the relation; NULL withdraws it, and one process then reads the relation. Errors: 42501 not the owner, 42704 not protected, 22023 negative rows';

-- How much of one unit counts, and how many units a group must have.  A lone
-- number must be named, since it could be the size class as well.

CREATE FUNCTION @extschema@.dp_declare(relation regclass, max_rows bigint DEFAULT NULL,
	max_keys bigint DEFAULT NULL, max_total bigint DEFAULT NULL, min_units bigint DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_contribution';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, bigint, bigint, bigint, bigint) IS
'declares publicly how much of one unit counts in answers about a relation whose units have many rows: at most max_total rows in all, in at most max_keys groups, at most max_rows in each; an analyst may override each by dp_pg.max_total, dp_pg.max_keys and dp_pg.max_rows. max_total is what an owner usually knows (a customer has at most 50 orders); with it the other two are max_total where they are not declared, without it max_total is their product, and max_keys is 1 where it is not declared; max_keys alone bounds no rows. What a unit has beyond them is left out of answers, and noise grows with them, so any numbers are private; dp_suggest_bounds shows the owner what they omit. min_units: groups whose noisy number of units is below are left out of answers to roles that are not exempt, and without group keys all values are then NULL; where the query does not release that number, it is released in addition, for the price of a value (doc/theory.md T106). 0 withdraws a number; NULL: as declared before. While nothing bounds rows, what counts them is refused; while there is no bound at all, also numbers of units by groups. Errors: 42501 not the owner, 42704 not protected, 22023 all NULL, or one not between 0 and 2147483647';

CREATE FUNCTION dp_pg.bounds_text(relation oid) RETURNS text
LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'dp_relation_bounds_text';
COMMENT ON FUNCTION dp_pg.bounds_text(oid) IS
'internal: the bounds declared on the rows of a unit of a protected relation, in words, or that a profile gives them; empty: none, though a unit may have many rows; NULL: none, and each unit has one row, or it is not protected';

-- A partition column: no row ever moves from one part to another.

CREATE FUNCTION dp_pg.refuse_change() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_declare_refuse_change';
COMMENT ON FUNCTION dp_pg.refuse_change() IS
'row trigger created on a table by dp_declare(..., immutable => true): raises 55000 when an UPDATE changes the column';

CREATE FUNCTION @extschema@.dp_declare(relation regclass, attribute name,
	immutable boolean, public_sizes boolean DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_declare_immutable';
COMMENT ON FUNCTION @extschema@.dp_declare(regclass, name, boolean, boolean) IS
'declares that the values of a column with public keys never change, neither by UPDATE, which a trigger refuses from then on, nor by deleting a unit and inserting it with another value, which only the owner can guarantee; queries with WHERE column = key for different keys then cost the role, and the dataset''s cap, as much as the largest part (parallel composition, McSherry 2009). false withdraws it for later queries, as does ATTACH PARTITION of the table, with a notice. public_sizes: it is also public how many rows each declared value has and where they are stored, so a query about one of many values may read an index on the column (NULL: as before, by default false). For columns of type boolean, smallint, integer, bigint, date, text, varchar and uuid. Errors: 42501 not the owner, 42703 unknown column, 42704 not protected, 22023 NULL or a column that cannot be one';

CREATE FUNCTION dp_pg.check_published(relation oid) RETURNS boolean
LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'dp_publish_check';
COMMENT ON FUNCTION dp_pg.check_published(oid) IS
'internal: whether the relation has a published view that can still be granted; warns when it cannot';
REVOKE ALL ON FUNCTION dp_pg.check_published(oid) FROM PUBLIC;
