/*
 * abba.c
 *	  Compares the time of two SQL scripts in interleaved blocks.
 *
 * usage: abba name limit blocks repeat conninfo-a sql-a conninfo-b sql-b
 *
 * A block runs the scripts in the order A B C C B A, where C is B once more
 * over a connection of its own: a drift of the machine that is linear over a
 * block falls out of A/B and of C/B, and C/B (printed as A/A) shows what the
 * measurement makes of two equal things.  Each letter stands for `repeat`
 * executions.  A script is a list of statements separated by ";;", each sent
 * by itself through the simple protocol; with PREPARED=1 in the environment
 * it is prepared once, and only executed then.
 *
 * With PIN=1 in the environment the backends share one processor and this
 * program has another one, so that statements of microseconds are not measured
 * by where the scheduler happens to put a backend.  It must be run by the
 * server's user then.
 *
 * FRESH in the environment is a command that restarts the servers; it is run
 * before every block, which then has connections of its own.  Where the memory
 * of a server and its backends lies makes statements up to 8% slower or faster
 * for as long as they live, which an interval over blocks of one start of two
 * servers leaves out.
 *
 * Prints the median over blocks of A/B, its 95% interval by bootstrap, and the
 * same for A/A.  The exit status is 0 when the interval's lower end is at or
 * below the limit or there are too few blocks to judge, 1 when it is above, 2
 * on any error.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#define MIN_BLOCKS 31			/* fewer are not judged */
#define MAX_BLOCKS 1000
#define RESAMPLES 4000

typedef struct script
{
	PGconn	   *conn;
	char	   *statements;		/* separated by NUL, ended by an empty one */
} script;

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* A prepared statement's name: where it begins. */
static const char *
name_of(const script *s, const char *statement)
{
	static char name[32];

	snprintf(name, sizeof(name), "s%ld", (long) (statement - s->statements));
	return name;
}

static void
prepare_all(const script *s)
{
	const char *statement;

	for (statement = s->statements; *statement != '\0';
		 statement += strlen(statement) + 1)
		PQclear(PQprepare(s->conn, name_of(s, statement), statement, 0, NULL));
}

static void
pin(pid_t process, int processor)
{
	cpu_set_t	set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(process, sizeof(set), &set) != 0)
	{
		perror("abba: sched_setaffinity");
		exit(2);
	}
}

static void
prepare(script *s, const char *conninfo, const char *sql)
{
	const char *end;
	char	   *out = calloc(strlen(sql) + 2, 1);

	s->conn = PQconnectdb(conninfo);
	if (out == NULL || PQstatus(s->conn) != CONNECTION_OK)
	{
		fprintf(stderr, "abba: %s", PQerrorMessage(s->conn));
		exit(2);
	}
	if (getenv("PIN") != NULL)
		pin(PQbackendPID(s->conn), 1);
	s->statements = out;
	while ((end = strstr(sql, ";;")) != NULL)
	{
		memcpy(out, sql, end - sql);
		out += end - sql + 1;
		sql = end + 2;
	}
	strcpy(out, sql);
	if (getenv("PREPARED") != NULL)
		prepare_all(s);
}

static PGresult *
execute(const script *s, const char *statement)
{
	return getenv("PREPARED") == NULL ? PQexec(s->conn, statement) :
		PQexecPrepared(s->conn, name_of(s, statement), 0, NULL, NULL, NULL, 0);
}

/* One execution of all statements. */
static void
run(const script *s)
{
	const char *statement;

	for (statement = s->statements; *statement != '\0';
		 statement += strlen(statement) + 1)
	{
		PGresult   *result = execute(s, statement);

		if (PQresultStatus(result) != PGRES_TUPLES_OK &&
			PQresultStatus(result) != PGRES_COMMAND_OK)
		{
			fprintf(stderr, "abba: %s: %s", statement,
					PQerrorMessage(s->conn));
			exit(2);
		}
		PQclear(result);
	}
}

static double
measure(const script *s, int repeat)
{
	double		start = now_ms();
	int			i;

	for (i = 0; i < repeat; i++)
		run(s);
	return now_ms() - start;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
median(double *values, int n)
{
	qsort(values, n, sizeof(double), compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void
finish(script *s)
{
	PQfinish(s->conn);
	free(s->statements);
}

/* Median of the ratios and its 95% percentile interval. */
static void
estimate(const double *ratios, int n, double *middle, double *low,
		 double *high)
{
	static double medians[RESAMPLES];
	double		sample[MAX_BLOCKS];
	int			i;
	int			j;

	srandom(15);
	for (i = 0; i < RESAMPLES; i++)
	{
		for (j = 0; j < n; j++)
			sample[j] = ratios[random() % n];
		medians[i] = median(sample, n);
	}
	qsort(medians, RESAMPLES, sizeof(double), compare_doubles);
	*low = medians[RESAMPLES / 40];
	*high = medians[RESAMPLES - 1 - RESAMPLES / 40];
	memcpy(sample, ratios, n * sizeof(double));
	*middle = median(sample, n);
}

int
main(int argc, char **argv)
{
	double		ratio[MAX_BLOCKS];
	double		same[MAX_BLOCKS];
	double		plain[MAX_BLOCKS];
	const char *verdict;
	double		limit;
	double		m[2];
	double		low[2];
	double		high[2];
	script		a;
	script		b;
	script		c;
	int			blocks;
	int			repeat;
	int			i;

	if (argc != 9)
	{
		fprintf(stderr, "usage: abba name limit blocks repeat "
				"conninfo-a sql-a conninfo-b sql-b\n");
		return 2;
	}
	limit = atof(argv[2]);
	blocks = atoi(argv[3]);
	repeat = atoi(argv[4]);
	if (blocks < 1 || blocks > MAX_BLOCKS || repeat < 1)
		return 2;
	if (getenv("PIN") != NULL)
		pin(0, 0);
	prepare(&a, argv[5], argv[6]);
	prepare(&b, argv[7], argv[8]);
	prepare(&c, argv[7], argv[8]);
	run(&a);
	run(&b);
	run(&c);

	for (i = 0; i < blocks; i++)
	{
		double		a1;
		double		a2;
		double		b1;
		double		b2;
		double		c1;
		double		c2;

		if (getenv("FRESH") != NULL)
		{
			finish(&a);
			finish(&b);
			finish(&c);
			if (system(getenv("FRESH")) != 0)
			{
				fprintf(stderr, "abba: %s failed\n", getenv("FRESH"));
				return 2;
			}
			prepare(&a, argv[5], argv[6]);
			prepare(&b, argv[7], argv[8]);
			prepare(&c, argv[7], argv[8]);
			run(&a);
			run(&b);
			run(&c);
		}
		a1 = measure(&a, repeat);
		b1 = measure(&b, repeat);
		c1 = measure(&c, repeat);
		c2 = measure(&c, repeat);
		b2 = measure(&b, repeat);
		a2 = measure(&a, repeat);
		ratio[i] = (a1 + a2) / (b1 + b2);
		same[i] = (c1 + c2) / (b1 + b2);
		plain[i] = (b1 + b2) / (2 * repeat);
	}
	estimate(ratio, blocks, &m[0], &low[0], &high[0]);
	estimate(same, blocks, &m[1], &low[1], &high[1]);
	if (blocks < MIN_BLOCKS)
		verdict = "";
	else
		verdict = low[0] <= limit ? "ok" : "SLOW";
	printf("%-32s %.3f [%.3f, %.3f] limit %.2f %-4s A/A %.3f [%.3f, %.3f]"
		   "  plain %.3f ms\n",
		   argv[1], m[0], low[0], high[0], limit,
		   verdict, m[1], low[1], high[1],
		   median(plain, blocks));
	PQfinish(a.conn);
	PQfinish(b.conn);
	PQfinish(c.conn);
	return blocks < MIN_BLOCKS || low[0] <= limit ? 0 : 1;
}
