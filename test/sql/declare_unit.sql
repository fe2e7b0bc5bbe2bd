-- Notices about an accepted unit: it may be the wrong one, and rows with a
-- NULL unit are not counted.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
RESET client_min_messages;
CREATE ROLE regress_declare_unit_owner;
CREATE SCHEMA regress_declare_unit AUTHORIZATION regress_declare_unit_owner;
SET search_path = regress_declare_unit, public;
SET ROLE regress_declare_unit_owner;
CREATE TABLE customers (id int PRIMARY KEY, friend int REFERENCES customers, email text UNIQUE);
CREATE TABLE orders (order_id int PRIMARY KEY, customer_id int REFERENCES customers, "Seller" int NOT NULL REFERENCES customers, email text REFERENCES customers (email));
CREATE TABLE items (order_id int NOT NULL REFERENCES orders, line int, customer_id int NOT NULL, PRIMARY KEY (order_id, line));
CREATE TABLE parcels (order_id int NOT NULL, line int NOT NULL, weight int NOT NULL, FOREIGN KEY (line, order_id) REFERENCES items (line, order_id));
CREATE TABLE visits (customer int, at date);
CREATE TABLE mails (email text NOT NULL REFERENCES customers (email), at date);
-- a key to itself leads nowhere else
SELECT dp_protect('customers', unit => 'id', dataset => 'regress_declare_unit');
-- an order is of a customer; so is a row where each is a unit
SELECT dp_protect('orders', unit => 'order_id', dataset => 'regress_declare_unit');
SELECT dp_protect('orders', dataset => 'regress_declare_unit');
-- what the hint says; nobody knows whose the rows with NULL are
SELECT dp_protect('regress_declare_unit.orders', unit => 'customer_id');
-- either person of a row may be meant
SELECT dp_protect('orders', unit => 'Seller');
SELECT dp_protect('orders', unit => 'customer_id');
-- along a path; of a copy of the column there is nothing to say
SELECT dp_protect('items', unit => 'order_id', dataset => 'regress_declare_unit');
SELECT dp_protect('items', unit => 'customer_id');
SELECT dp_protect('regress_declare_unit.items', unit => 'order_id -> regress_declare_unit.orders.customer_id');
-- through a key of several columns
SELECT dp_protect('parcels', unit => 'order_id', dataset => 'regress_declare_unit');
SELECT dp_protect('regress_declare_unit.parcels', unit => '(order_id, line) -> regress_declare_unit.items.order_id');
-- in another dataset there are other units
SELECT dp_unprotect('parcels');
SELECT dp_protect('parcels', dataset => 'regress_declare_unit_other');
-- without a foreign key nothing is known; a key that is none of the path's
SELECT dp_protect('visits', unit => 'customer', dataset => 'regress_declare_unit');
SELECT dp_protect('mails', unit => 'email', dataset => 'regress_declare_unit');
-- none of the columns of a path may be NULL
ALTER TABLE visits ADD line int;
SELECT dp_protect('visits', unit => '(customer, line) -> items.order_id', dataset => 'regress_declare_unit');
ALTER TABLE visits ALTER customer SET NOT NULL;
SELECT dp_protect('visits', unit => '(customer, line) -> items.order_id');
ALTER TABLE regress_declare_unit.visits ALTER line SET NOT NULL;
SELECT dp_protect('visits', unit => '(customer, line) -> items.order_id');
-- a path of a key that is missing
CREATE TABLE loose (n int, person int NOT NULL);
CREATE TABLE behind (n int NOT NULL);
SELECT dp_protect('loose', unit => 'person', dataset => 'regress_declare_unit');
SELECT dp_protect('behind', unit => 'n -> loose.person', dataset => 'regress_declare_unit');
-- what is described
SELECT attribute, note FROM dp_describe('visits');
RESET ROLE;
