/*
 * scratch.c
 *	  The one file of this process for what depends on private rows.
 *
 * Nobody may see how long it is or whether it is needed: it has no name
 * (O_TMPFILE), is not one of PostgreSQL's temporary files, and is counted in
 * no statistics.  It lies where those of the default tablespace lie.  A
 * process has one, however many users it has at once, so that what they need
 * of open files does not follow rows; a reader opens it before its first job.
 *
 * Users append, and read what they have appended.  When the last of them is
 * gone the file is empty again.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "dp_bridge.h"

static int	file = -1;
static off_t size = 0;
static int	users = 0;

/* A file without a name, or one that loses it while it is empty. */
static int
open_nameless(void)
{
	char		path[] = "base/dp_pg.XXXXXX";
	int			opened = -1;

#ifdef O_TMPFILE
	opened = open("base", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC,
				  S_IRUSR | S_IWUSR);
#endif
	if (opened < 0)
	{
		opened = mkstemp(path);
		if (opened >= 0)
			(void) unlink(path);
	}
	return opened;
}

/*
 * dp_bridge_scratch_open
 *	  Open the file, unless it is open; it stays open with the process.
 */
void
dp_bridge_scratch_open(void)
{
	if (file >= 0)
		return;
	ReserveExternalFD();
	file = open_nameless();
	if (file < 0)
	{
		ReleaseExternalFD();
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create a temporary file: %m")));
	}
}

/* dp_bridge_scratch_use: one more user, who calls dp_bridge_scratch_leave. */
void
dp_bridge_scratch_use(void)
{
	dp_bridge_scratch_open();
	users++;
}

/* dp_bridge_scratch_leave: with the last user, what was appended is gone. */
void
dp_bridge_scratch_leave(void)
{
	Assert(users > 0);
	if (--users > 0)
		return;
	if (ftruncate(file, 0) == 0)
		size = 0;				/* else it is longer than it need be */
}

/*
 * dp_bridge_scratch_append
 *	  Write bytes to the end; returns where they begin.
 */
off_t
dp_bridge_scratch_append(const void *data, Size length)
{
	off_t		start = size;
	const char *from = data;

	while (length > 0)
	{
		ssize_t		n;

		CHECK_FOR_INTERRUPTS();
		n = pwrite(file, from, Min(length, 1024 * 1024), size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
		{
			errno = n == 0 ? ENOSPC : errno;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write a temporary file: %m")));
		}
		size += n;
		from += n;
		length -= n;
	}
	return start;
}

/*
 * dp_bridge_scratch_try
 *	  Read bytes from a place; false, with errno, when that cannot be done.  A
 *	  thread may call it.
 */
bool
dp_bridge_scratch_try(void *data, Size length, off_t from)
{
	char	   *to = data;

	while (length > 0)
	{
		ssize_t		n = pread(file, to, length, from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
		{
			errno = n == 0 ? EIO : errno;
			return false;
		}
		from += n;
		to += n;
		length -= n;
	}
	return true;
}

/* dp_bridge_scratch_raise_read: reading has failed, with errno. */
void
dp_bridge_scratch_raise_read(void)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read a temporary file: %m")));
}

/* dp_bridge_scratch_read: bytes from a place. */
void
dp_bridge_scratch_read(void *data, Size length, off_t from)
{
	CHECK_FOR_INTERRUPTS();
	if (!dp_bridge_scratch_try(data, length, from))
		dp_bridge_scratch_raise_read();
}
