/*
 * session.c
 *	  From _PG_init: what interactive mechanisms do in other processes.
 */
#include "postgres.h"

#include "session_sparse.h"
#include "store.h"

/* dp_session_init: from _PG_init, in every process. */
void
dp_session_init(void)
{
	dp_ledger_register_task(DP_TASK_SESSION, &dp_session_tasks);
	dp_session_sparse_init();
	dp_session_question_init();
}
