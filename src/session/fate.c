/*
 * fate.c
 *	  Whether a session may still be asked, by its own row.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "store.h"

/*
 * dp_session_judge
 *	  Whether the session may still be asked, as far as its own row shows.
 */
dp_session_fate
dp_session_judge(const dp_session_row *row)
{
	const dp_session *session = &row->session;

	if (row->cluster != dp_bridge_cluster_id() ||
		row->database != MyDatabaseId)
		return DP_SESSION_ELSEWHERE;
	if (row->closed)
		return DP_SESSION_CLOSED;
	if (session->above >= session->terms.cutoff)
		return DP_SESSION_NO_ABOVES;
	if (session->asked >= session->terms.questions)
		return DP_SESSION_NO_QUESTIONS;
	if (session->bytes_left <= 0)
		return DP_SESSION_NO_BYTES;
	return DP_SESSION_WELL;
}

/* dp_session_fits: whether a question with this text can still be kept. */
bool
dp_session_fits(const dp_session *session, const char *predicate)
{
	return (int64) strlen(predicate) <= session->bytes_left;
}

/* dp_session_count_text: account for the text of a question that is kept. */
void
dp_session_count_text(dp_session *session, const char *predicate)
{
	int64		bytes = Max(strlen(predicate), DP_SESSION_TEXT_LEAST);

	session->bytes_left = Max(session->bytes_left - bytes, 0);
}
