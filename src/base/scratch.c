/*
 * scratch.c
 *	  A file of this process for data that depend on private rows.
 *
 * Its size and its use must not be visible: it has no name (O_TMPFILE), is not
 * one of PostgreSQL's temporary files, and appears in no statistics.  It is in
 * the directory of the default tablespace.  All users in a process share one
 * file, so that the number of open files does not depend on rows; a reader
 * opens it before its first job.
 *
 * Users append, and read what they have appended.  When the last of them
 * leaves, the file is truncated.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "dp_base.h"

static int	file = -1;
static off_t size = 0;
static int	users = 0;

/* Open a file without a name, or unlink it at once. */
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
 * dp_base_scratch_open
 *	  Open the file unless it is open; it stays open until the process exits.
 */
void
dp_base_scratch_open(void)
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

/*
 * dp_base_scratch_use: one more user, which must call
 * dp_base_scratch_leave.
 */
void
dp_base_scratch_use(void)
{
	dp_base_scratch_open();
	users++;
}

/*
 * dp_base_scratch_leave: when the last user leaves, the file is truncated.
 */
void
dp_base_scratch_leave(void)
{
	Assert(users > 0);
	if (--users > 0)
		return;
	if (ftruncate(file, 0) == 0)
		size = 0;				/* otherwise it stays longer than necessary */
}

/*
 * dp_base_scratch_append
 *	  Append bytes; returns their offset.
 */
off_t
dp_base_scratch_append(const void *data, Size length)
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
 * dp_base_scratch_try
 *	  Read bytes at an offset; false, with errno, on failure.  Threads may call
 *	  it.
 */
bool
dp_base_scratch_try(void *data, Size length, off_t from)
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

/* dp_base_scratch_raise_read: reading has failed, with errno. */
void
dp_base_scratch_raise_read(void)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read a temporary file: %m")));
}

/* dp_base_scratch_read: read bytes at an offset. */
void
dp_base_scratch_read(void *data, Size length, off_t from)
{
	CHECK_FOR_INTERRUPTS();
	if (!dp_base_scratch_try(data, length, from))
		dp_base_scratch_raise_read();
}
