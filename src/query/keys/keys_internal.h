/*
 * keys_internal.h
 *	  Private to keys: what its files share.
 */
#ifndef KEYS_INTERNAL_H
#define KEYS_INTERNAL_H

#include "nodes/nodes.h"
#include "nodes/primnodes.h"

/* ---- key.c ---- */
extern Var *dp_keys_column_of_extreme(Node *node);

#endif							/* KEYS_INTERNAL_H */
