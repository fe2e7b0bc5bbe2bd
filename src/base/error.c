/*
 * error.c
 *	  The only place where statuses of the pure parts and refusals of the
 *	  analysis become errors.
 */
#include "postgres.h"

#include <stdarg.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "tcop/tcopprot.h"

#include "../math/numbers/dp_numbers.h"
#include "dp_base.h"

/* ----------------
 *		Transactions in which no private query may run, and functions that run
 *		with another role's rights.
 * ----------------
 */

/*
 * dp_base_forbid_parallel
 *	  Neither a parallel worker nor, while there are some, its leader can
 *	  charge.
 *
 * Errors: 25000.
 */
void
dp_base_forbid_parallel(void)
{
	if (IsInParallelMode() || IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot charge a privacy budget during a parallel "
						"operation"),
				 errdetail("A function that runs a private query is marked "
						   "PARALLEL SAFE or PARALLEL RESTRICTED."),
				 errhint("Mark it PARALLEL UNSAFE.")));
}

/*
 * dp_base_forbid_serializable
 *	  Predicate locks are visible to others.
 *
 * Errors: 0A000.
 */
void
dp_base_forbid_serializable(void)
{
	if (IsolationIsSerializable())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a private query cannot run in a serializable "
						"transaction"),
				 errdetail("Predicate locks would show which rows were "
						   "read."),
				 errhint("Use REPEATABLE READ or READ COMMITTED.")));
}

/*
 * dp_base_has_others_rights
 *	  Whether a function (or a foreign key check) runs with the rights of a
 *	  role other than the outer user.
 */
bool
dp_base_has_others_rights(void)
{
	Oid			user;
	int			security;

	GetUserIdAndSecContext(&user, &security);
	return (security & SECURITY_LOCAL_USERID_CHANGE) != 0 &&
		user != GetOuterUserId();
}

/*
 * dp_base_check_status
 *	  Raise an error unless status is DP_OK.  `what` completes "could not ..."
 *	  and must not contain a protected value.
 *
 * Errors: 22003 overflow, 22023 range, 58030 random source, 53200 memory.
 */
void
dp_base_check_status(dp_status status, const char *what)
{
	switch (status)
	{
		case DP_OK:
			return;
		case DP_E_RANGE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("could not %s: an argument is out of range",
							what)));
			break;
		case DP_E_OVERFLOW:
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("could not %s: the exact result is too large",
							what),
					 errhint("Use narrower bounds, a coarser granule or a "
							 "larger epsilon.")));
			break;
		case DP_E_RANDOM:
			ereport(ERROR,
					(errcode(ERRCODE_IO_ERROR),
					 errmsg("could not %s: the random source failed", what),
					 errhint("Check the operating system's random source; "
							 "nothing was released.")));
			break;
		case DP_E_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("could not %s: out of memory", what)));
			break;
	}
	elog(ERROR, "unrecognized dp_status %d", (int) status);
}

/*
 * dp_base_refuse
 *	  Make a refusal.  The message is formatted; detail and hint are taken as
 *	  they are and must outlive the refusal.
 */
dp_refusal *
dp_base_refuse(int sqlstate, int location, const char *detail,
			   const char *hint, const char *fmt,...)
{
	dp_refusal *refusal = palloc(sizeof(dp_refusal));
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list		args;
		int			need;

		va_start(args, fmt);
		need = appendStringInfoVA(&text, fmt, args);
		va_end(args);
		if (need == 0)
			break;
		enlargeStringInfo(&text, need);
	}
	refusal->sqlstate = sqlstate;
	refusal->location = location;
	refusal->message = text.data;
	refusal->detail = detail;
	refusal->hint = hint;
	return refusal;
}

/* The error position for the client; 0: none. */
static int
position_of(const char *text, int location)
{
	return text != NULL && location >= 0 && location <= (int) strlen(text) ?
		pg_mbstrlen_with_len(text, location) + 1 : 0;
}

/*
 * dp_base_raise_refusal
 *	  Raise the error of a refusal.  If the text of the query is known, the
 *	  error points at the offending token.
 */
void
dp_base_raise_refusal(const dp_refusal *refusal, const char *query_text)
{
	int			position = position_of(query_text, refusal->location);

	ereport(ERROR,
			(errcode(refusal->sqlstate),
			 errmsg("%s", refusal->message),
			 refusal->detail ? errdetail("%s", refusal->detail) : 0,
			 refusal->hint ? errhint("%s", refusal->hint) : 0,
			 position > 0 ? errposition(position) : 0));
	pg_unreachable();
}

/*
 * Error context callback.  A position is given only if the client sent the
 * text that was analyzed, and not, for example, EXECUTE.
 */
static void
point(void *context)
{
	const dp_pointer *pointer = context;

	if (pointer->text != NULL && debug_query_string != NULL &&
		geterrposition() == 0 &&
		strcmp(pointer->text, debug_query_string) == 0)
		(void) errposition(position_of(pointer->text, pointer->location));
}

/* dp_base_point_begin: see dp_base.h. */
void
dp_base_point_begin(dp_pointer *pointer, const char *text)
{
	pointer->callback.callback = point;
	pointer->callback.arg = pointer;
	pointer->callback.previous = error_context_stack;
	pointer->text = text;
	pointer->location = -1;
	error_context_stack = &pointer->callback;
}

/* dp_base_point_end: see dp_base.h. */
void
dp_base_point_end(const dp_pointer *pointer)
{
	error_context_stack = pointer->callback.previous;
}

#define SAID 256				/* of the last things said of a kind */

/*
 * dp_base_first_time
 *	  Whether this is said of `about`, a relation or a query's fingerprint,
 *	  for the first time in the connection.
 */
bool
dp_base_first_time(dp_first what, int64 about)
{
	static int64 said[DP_FIRST_KINDS][SAID];
	static int	next[DP_FIRST_KINDS];
	int			i;

	for (i = 0; i < SAID; i++)
		if (said[what][i] == about)
			return false;
	said[what][next[what]] = about;
	next[what] = (next[what] + 1) % SAID;
	return true;
}
