/*
 * teller.c
 *	  The process that reads tells the connection its progress
 *	  (dp_pg.progress).
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "synth.h"

#define INTERVAL 50000			/* us between two tellings of one phase */

/* dp_synth_tell_progress: see synth.h. */
void
dp_synth_tell_progress(dp_synth_teller *teller, dp_phase phase,
					   int64 done)
{
	dp_synth_piece piece = {phase, done};
	TimestampTz now = GetCurrentTimestamp();

	if (phase == teller->phase && now - teller->at < INTERVAL)
		return;
	teller->phase = phase;
	teller->at = now;
	teller->sink(teller->context, &piece, sizeof(piece));
}

/* dp_synth_hear_progress: see synth.h. */
bool
dp_synth_hear_progress(const void *data)
{
	const dp_synth_piece *piece = data;

	if (piece->phase == 0)
		return false;
	dp_bridge_progress((dp_phase) piece->phase, piece->done);
	return true;
}
