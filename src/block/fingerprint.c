/*
 * fingerprint.c
 *	  One number for all queries of one shape, which the ledger records.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "split.h"

static Node *
blank_constants_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Const))
		return (Node *) makeNullConst(((Const *) node)->consttype, -1,
									  InvalidOid);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node,
										   blank_constants_mutator, context,
										   0);
	return expression_tree_mutator(node, blank_constants_mutator, context);
}

/*
 * dp_block_fingerprint
 *	  Hash of an inner query's shape: constants and places in the text left
 *	  out.
 */
int64
dp_block_fingerprint(Query *inner)
{
	static const char mark[] = ":location ";
	char	   *text = nodeToString(blank_constants_mutator((Node *) inner,
															NULL));
	char	   *from = text;
	char	   *to = text;

	while (*from != '\0')
	{
		if (strncmp(from, mark, strlen(mark)) == 0)
			for (from += strlen(mark); *from == '-' ||
				 (*from >= '0' && *from <= '9'); from++)
				;
		else
			*to++ = *from++;
	}
	return (int64) hash_bytes_extended((unsigned char *) text,
									   (int) (to - text), 0);
}
