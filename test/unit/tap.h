/*
 * tap.h
 *	  A tiny harness for the unit tests: prints TAP, counts failures.
 *
 * Each test program includes this once, calls tap_ok() for every check and
 * returns tap_done() from main().  A check whose tolerance is statistical
 * says its false-alarm rate in its name or beside it.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	tap_count;
static int	tap_failures;

/* Prints a comment line; fmt carries no newline. */
static inline void
			__attribute__((format(printf, 1, 2)))
tap_diag(const char *fmt,...)
{
	va_list		args;

	fputs("# ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* One check; returns its outcome, so that a caller can print details. */
static inline bool
			__attribute__((format(printf, 2, 3)))
tap_ok(bool outcome, const char *fmt,...)
{
	va_list		args;

	tap_count++;
	if (!outcome)
		tap_failures++;
	printf("%s %d - ", outcome ? "ok" : "not ok", tap_count);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return outcome;
}

/* Prints the plan; returns the exit status of the program. */
static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	fflush(stdout);
	return tap_failures == 0 && tap_count > 0 ? 0 : 1;
}

#endif							/* TAP_H */
