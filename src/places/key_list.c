/*
 * key_list.c
 *	  The public values of a group key in a form that plans can carry.
 */
#include "postgres.h"

#include "nodes/value.h"

#include "dp_places.h"

/* Positions in the list form. */
enum
{
	KEY_KIND,
	KEY_TYPE,
	KEY_TYPMOD,
	KEY_COLLATION,
	KEY_RELID,
	KEY_ATTNUM,
	KEY_BASE_TYPE,
	KEY_FIELD,
	KEY_NULLABLE,
	KEY_CONSTANT
};

static Node *
oid_node(Oid oid)
{
	return (Node *) makeInteger((int) oid);
}

/* dp_key_to_list: copyable form. */
List *
dp_key_to_list(const dp_key *key)
{
	List	   *list = NIL;

	list = lappend(list, makeInteger((int) key->kind));
	list = lappend(list, oid_node(key->type));
	list = lappend(list, makeInteger(key->typmod));
	list = lappend(list, oid_node(key->collation));
	list = lappend(list, oid_node(key->relid));
	list = lappend(list, makeInteger(key->attnum));
	list = lappend(list, oid_node(key->base_type));
	list = lappend(list, makeString(key->field ? pstrdup(key->field) : ""));
	list = lappend(list, makeInteger(key->nullable ? 1 : 0));
	list = lappend(list, key->constant ? (void *) copyObject(key->constant) :
				   (void *) makeInteger(0));
	return list;
}

static Oid
oid_at(const List *list, int n)
{
	return (Oid) intVal(list_nth(list, n));
}

/* dp_key_from_list: inverse of the above; palloc'd. */
dp_key *
dp_key_from_list(const List *list)
{
	dp_key	   *key = palloc0(sizeof(dp_key));
	Node	   *constant = list_nth(list, KEY_CONSTANT);

	key->kind = (dp_key_kind) intVal(list_nth(list, KEY_KIND));
	key->type = oid_at(list, KEY_TYPE);
	key->typmod = intVal(list_nth(list, KEY_TYPMOD));
	key->collation = oid_at(list, KEY_COLLATION);
	key->relid = oid_at(list, KEY_RELID);
	key->attnum = (AttrNumber) intVal(list_nth(list, KEY_ATTNUM));
	key->base_type = oid_at(list, KEY_BASE_TYPE);
	key->field = strVal(list_nth(list, KEY_FIELD));
	key->nullable = intVal(list_nth(list, KEY_NULLABLE)) != 0;
	key->constant = IsA(constant, Const) ? (Const *) constant : NULL;
	return key;
}
