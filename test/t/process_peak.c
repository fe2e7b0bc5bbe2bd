/*
 * process_peak.c
 *	  For memory_peak.pl: every parallel worker writes the most memory that it
 *	  ever had, in kB, to the file process_peak in the data directory.
 */
#include "postgres.h"

#include <stdio.h>

#include "access/parallel.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "storage/ipc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static ExecutorStart_hook_type next_start = NULL;

static void
tell_peak(int code, Datum arg)
{
	FILE	   *status = fopen("/proc/self/status", "r");
	FILE	   *out = fopen("process_peak", "a");
	char		line[256];
	long		peak;

	while (status != NULL && out != NULL &&
		   fgets(line, sizeof(line), status) != NULL)
		if (sscanf(line, "VmPeak: %ld kB", &peak) == 1)
			fprintf(out, "%ld\n", peak);
	if (status != NULL)
		fclose(status);
	if (out != NULL)
		fclose(out);
}

static void
start(QueryDesc *desc, int flags)
{
	static bool told = false;

	if (IsParallelWorker() && !told)
		on_proc_exit(tell_peak, (Datum) 0);
	told = true;
	if (next_start != NULL)
		next_start(desc, flags);
	else
		standard_ExecutorStart(desc, flags);
}

void
_PG_init(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = start;
}
