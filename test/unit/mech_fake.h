/*
 * mech_fake.h
 *	  Sources for tests only: a reproducible stream, a scripted one and one
 *	  that fails.  They are linked into tests and never into the extension.
 */
#ifndef MECH_FAKE_H
#define MECH_FAKE_H

#include <string.h>

#include "dp_numbers.h"
#include "dp_noise.h"

/* Reproducible bytes: splitmix64 from a seed. */
static inline bool
fake_fill(void *state, void *out, size_t n)
{
	uint64_t   *x = state;
	unsigned char *p = out;
	uint64_t	z = 0;
	size_t		i;

	for (i = 0; i < n; i++)
	{
		if (i % 8 == 0)
		{
			*x += UINT64_C(0x9e3779b97f4a7c15);
			z = *x;
			z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
			z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
			z ^= z >> 31;
		}
		p[i] = (unsigned char) z;
		z >>= 8;
	}
	return true;
}

/* Fails always, after leaving rubbish. */
static inline bool
failing_fill(void *state, void *out, size_t n)
{
	(void) state;
	memset(out, 0xa5, n);
	return false;
}

/*
 * A source that serves exactly these n bytes and then fails.  Uses what
 * random.c keeps private: unread bytes are the end of the buffer.
 */
static inline void
scripted_source(dp_source *source, const void *bytes, size_t n)
{
	dp_noise_source_init(source, failing_fill, NULL);
	memcpy(source->buffer + DP_SOURCE_BUFFER - n, bytes, n);
	source->next = DP_SOURCE_BUFFER - n;
}

#endif							/* MECH_FAKE_H */
