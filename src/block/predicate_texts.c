/*
 * predicate_texts.c
 *	  The texts of an SQL function's predicates, checked against limits.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "dp_block.h"

/* Memory kept for a predicate grows with its text. */
static void
check_length(int number, Size length, Size *total)
{
	*total += length;
	if (length > DP_PREDICATE_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("predicate %d is too long", number),
				 errdetail("It may have %d bytes.", DP_PREDICATE_LENGTH),
				 errhint("Write a shorter predicate.")));
	if (*total > DP_PREDICATES_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("predicates are too long"),
				 errdetail("All together may have %d bytes.",
						   DP_PREDICATES_LENGTH),
				 errhint("Ask about fewer at a time.")));
}

/*
 * dp_block_predicate_texts
 *	  The elements of a text[] argument with predicates: a list of at least one
 *	  char *.
 *
 * Errors: 22004 a NULL element, 22023 no elements or several dimensions, 54000
 * more than DP_PREDICATES_MAX, or texts that are too long.
 */
List *
dp_block_predicate_texts(ArrayType *array)
{
	List	   *texts = NIL;
	Size		total = 0;
	char	   *predicate;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predicates must be an array of one dimension")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values,
					  &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are no predicates"),
				 errhint("Write them as ARRAY['cost > 1000', 'age < 18'].")));
	if (n > DP_PREDICATES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many predicates"),
				 errdetail("%d were given; at most %d are allowed.", n,
						   DP_PREDICATES_MAX),
				 errhint("Ask about fewer at a time.")));
	for (i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("predicate %d is NULL", i + 1),
					 errhint("Leave it out, or write 'false'.")));
		predicate = TextDatumGetCString(values[i]);
		check_length(i + 1, strlen(predicate), &total);
		texts = lappend(texts, predicate);
	}
	return texts;
}
