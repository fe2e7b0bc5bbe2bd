/*
 * deferred.c
 *	  A charge that another process submits and waits for: the reader that
 *	  works for a connection has the charge made when everything is ready, and
 *	  reads rows when it is on disk.  The connection need not wake up in
 *	  between.
 *
 * The connection fills in the request, including who asks.  The reader is
 * given the ticket, submits the request and learns only whether it was
 * admitted.  The connection does the rest: it sees to it that a worker runs,
 * is told why a charge was refused, and takes the answer, which stays in the
 * slot until then.
 *
 * If the connection gives up before the worker has taken the request, nothing
 * is charged and the ticket is void.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

#include "ledger.h"

#define POLL_INTERVAL 1000		/* ms; a safety net: events set the latch */

/*
 * dp_ledger_defer
 *	  See dp_ledger.h.  Errors: those of dp_ledger_check_place, 53000.
 */
void
dp_ledger_defer(const dp_ledger_request *request, dp_ledger_deferred *out)
{
	dp_ledger_check_place();
	MemSet(out, 0, sizeof(*out));
	out->request = request;
	out->slot = dp_ledger_get_slot(NULL, NULL);
	dp_ledger_fill_reserved(out->slot, request, &out->ticket);
}

/* dp_ledger_look: see dp_ledger.h. */
bool
dp_ledger_look(dp_ledger_deferred *deferred, dp_ledger_receipt *receipt)
{
	switch (dp_ledger_slot_state(deferred->slot, NULL))
	{
		case DP_SLOT_DONE:
			dp_ledger_accept(deferred->request, &deferred->slot->answer,
							 receipt);
			return true;
		case DP_SLOT_PENDING:
			dp_ledger_rouse_worker(&deferred->rousing, &deferred->slot);
			break;
		default:
			break;
	}
	return false;
}

/* dp_ledger_settle: see dp_ledger.h. */
bool
dp_ledger_settle(dp_ledger_deferred *deferred, dp_ledger_receipt *receipt)
{
	while (!dp_ledger_withdraw(deferred->slot))
	{
		if (dp_ledger_look(deferred, receipt))
			return true;
		dp_bridge_wait(deferred->rousing.poll > 0 ?
					   deferred->rousing.poll : POLL_INTERVAL);
	}
	deferred->slot = NULL;
	return false;
}

/* dp_ledger_drop: see dp_ledger.h. */
void
dp_ledger_drop(dp_ledger_deferred *deferred)
{
	if (deferred->slot == NULL)
		return;
	dp_ledger_abandon(deferred->slot);
	deferred->slot = NULL;
}

/* dp_ledger_tell_deferred: dp_ledger_tell_canceled for its request. */
void
dp_ledger_tell_deferred(dp_ledger_deferred *deferred)
{
	dp_ledger_tell_canceled(&deferred->slot);
}

/* dp_ledger_have_charged: see dp_ledger.h. */
bool
dp_ledger_have_charged(const dp_ledger_ticket *ticket)
{
	static bool late = false;
	TimestampTz start = GetCurrentTimestamp();
	bool		alone;

	if (!dp_ledger_submit_reserved(ticket, NULL, 0, MyProc))
		return false;
	for (;;)
	{
		switch (dp_ledger_look_up(ticket, &alone))
		{
			case DP_TICKET_ADMITTED:
				late = dp_ledger_is_late(start);
				return true;
			case DP_TICKET_VOID:
				return false;
			case DP_TICKET_WAITING:
				break;
		}
		dp_bridge_watch(alone && !late ? DP_LEDGER_SPIN_SESSION : 0,
						POLL_INTERVAL);
	}
}
