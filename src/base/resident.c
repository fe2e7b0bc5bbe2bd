/*
 * resident.c
 *	  Make pages resident before rows make a process touch them.
 *
 * The first use of a page takes memory and increases the size of the process:
 * both would depend on rows.  So when memory is reserved all pages of the heap
 * are made resident, including free ones, any of which may be used for rows;
 * and once, those of all other mappings, such as code that only some rows run.
 * If the system cannot do that (before Linux 5.14), pages of the heap are
 * touched one by one, and other mappings are left alone.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "storage/fd.h"

#include "dp_base.h"
#include "base_internal.h"

#define PAGE 4096
#define HUGE_FROM ((Size) 8 * 1024 * 1024)

/* Larger mappings are assumed to be mostly unused. */
#define LARGEST ((Size) 128 * 1024 * 1024)

/*
 * dp_base_populate
 *	  Make pages resident and keep their contents; false: no memory is left.
 */
bool
dp_base_populate(char *memory, Size bytes)
{
	volatile char *page = memory;
	Size		i;

#ifdef MADV_POPULATE_WRITE
	char	   *first = (char *) TYPEALIGN(PAGE, memory);
	char	   *end = (char *) TYPEALIGN_DOWN(PAGE, memory + bytes);

	if (first >= end)
		return true;
#ifdef MADV_HUGEPAGE
	if (bytes >= HUGE_FROM)		/* takes a third of the time, if there are
								 * any */
		(void) madvise(first, end - first, MADV_HUGEPAGE);
#endif
	if (madvise(first, end - first, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)		/* EINVAL: an older system, or another page
								 * size */
		return false;
#endif
	for (i = 0; i < bytes; i += PAGE)
		page[i] += 0;			/* keeps the contents: it may be a stack */
	return true;
}

static char *heap = NULL;		/* where it begins */

/* A line of the process's list of mappings. */
typedef struct mapping
{
	char	   *start;
	Size		bytes;
	bool		reads;
	bool		writes;
	bool		shared;
	const char *name;
} mapping;

static bool
read_mapping(char *line, mapping *out)
{
	unsigned long start;
	unsigned long end;
	char		rights[5];
	int			name = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &start, &end, rights,
			   &name) != 3 || name == 0)
		return false;
	out->start = (char *) start;
	out->bytes = end - start;
	out->reads = rights[0] == 'r';
	out->writes = rights[1] == 'w';
	out->shared = rights[3] == 's';
	out->name = line + name;
	return true;
}

/*
 * Devices and shared memory, whose pages are not the process's own, and others
 * that are left alone.
 */
static bool
resident_is_foreign(const mapping *m)
{
	return strncmp(m->name, "/dev/", 5) == 0 ||
		(m->shared && (m->name[0] != '/' || m->writes ||
					   strstr(m->name, " (deleted)") != NULL)) ||
		(m->name[0] == '[' && strcmp(m->name, "[heap]") != 0) ||
		m->bytes > LARGEST;
}

/*
 * dp_base_populate_mappings
 *	  Make all mappings resident that are the process's own, and find the heap
 *	  for dp_base_populate_heap.
 */
void
dp_base_populate_mappings(void)
{
	FILE	   *file = AllocateFile("/proc/self/maps", "r");
	char		line[MAXPGPATH];
	mapping		m;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		if (!read_mapping(line, &m))
			continue;
		if (heap == NULL && strcmp(m.name, "[heap]") == 0)
			heap = m.start;		/* the first part: madvise may split it */
		if (!m.reads || resident_is_foreign(&m))
			continue;
#ifdef MADV_POPULATE_WRITE
		(void) madvise(m.start, m.bytes,
					   m.writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#endif
	}
	if (file != NULL)
		FreeFile(file);
}

/*
 * dp_base_populate_heap
 *	  Make the heap resident, except for `bytes` at `but`, which already are;
 *	  false: no memory is left.  Does nothing before
 *	  dp_base_populate_mappings.
 */
bool
dp_base_populate_heap(char *but, Size bytes)
{
	char	   *end = sbrk(0);

	if (heap == NULL)
		return true;
	if (but < heap || but + bytes > end)	/* not within the heap */
		return dp_base_populate(heap, end - heap);
	return dp_base_populate(heap, but - heap) &&
		dp_base_populate(but + bytes, end - (but + bytes));
}
