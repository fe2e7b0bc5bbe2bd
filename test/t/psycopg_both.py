# psycopg 2 and 3, which do the same things differently: psycopg 2 puts values
# into the text of a query, psycopg 3 sends them beside it, and prepares on the
# server what was asked five times.
#
# Arguments: those of driver_checks.py.
import datetime
import io
import threading

import psycopg
import psycopg2
import psycopg2.extensions

from driver_checks import check, equal, finish, host, port

LIKE = "SELECT count(*) FROM sales WHERE region LIKE %s"
GROUPS = 'SELECT region, count(*), sum(amount) FROM sales GROUP BY region ORDER BY 1'


def dsn(user):
	return f'host={host} port={port} dbname=postgres user={user}'


def charges():
	with psycopg.connect(dsn('postgres'), autocommit=True) as admin:
		return admin.execute('SELECT count(*) FROM dp_pg.ledger').fetchone()[0]


def rows(connection, query, values=None):
	cursor = connection.cursor()
	cursor.execute(query, values)
	return cursor.fetchall()


# The SQLSTATE of what a call raises.
def state(call):
	try:
		call()
	except psycopg2.Error as error:
		return error.pgcode
	except psycopg.Error as error:
		return error.sqlstate
	return 'none'


def same(v, connection, owner, query, values, name):
	equal(rows(connection, query, values), rows(owner, query, values), f'{v}: {name}')


def values(v, connection, owner):
	same(v, connection, owner, GROUPS, None, 'keys, counts, sums')
	same(v, connection, owner, LIKE, ('N%',), 'LIKE with a value')
	same(v, connection, owner, "SELECT date_trunc(%s, day) AS d, count(*) FROM sales GROUP BY 1 ORDER BY 1",
		('year',), 'a unit of date_trunc as a value')
	same(v, connection, owner, 'SELECT count(*) FROM sales WHERE day >= %s AND amount < %s',
		(datetime.date(2024, 1, 1), 50), 'a date and a number')
	same(v, connection, owner, 'SELECT count(*) FROM sales WHERE region = ANY(%s)', (['N', 'S'],), 'a list')


def repeated(v, connection):
	before = charges()
	seen = {tuple(rows(connection, LIKE, ('S%',))[0]) for i in range(8)}
	equal(seen, {(6667,)}, f'{v}: the same eight times')
	equal(charges() - before, 8, f'{v}: eight charges')
	if v == 'psycopg 3':
		prepared = rows(connection, 'SELECT statement FROM pg_prepared_statements')
		check(any('LIKE $1' in r[0] for r in prepared), f'{v}: prepared on the server', prepared)


# Transactions: the charge of one that is rolled back stands, an error ends it.
def transactions(v, connection):
	before = charges()
	rows(connection, LIKE, ('N%',))
	connection.rollback()
	equal(charges() - before, 1, f'{v}: autocommit off, ROLLBACK returns nothing')
	equal(state(lambda: rows(connection, 'SELECT id, amount FROM sales WHERE amount > 1')),
		'42501', f'{v}: rows are refused')
	equal(state(lambda: rows(connection, 'SELECT 1')), '25P02', f'{v}: and end the transaction')
	connection.rollback()
	equal(rows(connection, LIKE, ('N%',)), [(6666,)], f'{v}: the next one is answered')
	connection.rollback()


def server_cursor(v, connection, cursor):
	before = charges()
	cursor.itersize = 1
	cursor.execute('SELECT region, count(*) FROM sales GROUP BY region ORDER BY 1')
	equal(cursor.fetchmany(2), [('E', 6667), ('N', 6666)], f'{v}: a server-side cursor')
	equal([r[0] for r in cursor], ['S'], f'{v}: and its rest')
	cursor.close()
	connection.commit()
	equal(charges() - before, 1, f'{v}: is charged once')


# A query that would wait for a minute, cancelled when it waits: its release
# was made, so that the charge stands.
def cancel(v, connection, call):
	before = charges()
	waiting = 'SELECT n, pg_sleep(60) FROM (SELECT count(*) AS n FROM sales OFFSET 0) s'

	def when_waiting():
		with psycopg.connect(dsn('postgres'), autocommit=True) as admin:
			for i in range(600):
				if admin.execute("SELECT count(*) FROM pg_stat_activity"
						" WHERE usename = 'bob' AND wait_event = 'PgSleep'").fetchone()[0]:
					break
				threading.Event().wait(0.05)
		call()

	helper = threading.Thread(target=when_waiting)
	helper.start()
	equal(state(lambda: rows(connection, waiting)), '57014', f'{v}: cancelled')
	helper.join()
	connection.rollback()
	equal(charges() - before, 1, f'{v}: and charged')
	equal(rows(connection, LIKE, ('E',)), [(6667,)], f'{v}: the connection goes on')
	connection.rollback()


def copy2(connection):
	cursor = connection.cursor()
	equal(state(lambda: cursor.copy_expert('COPY sales TO STDOUT', io.StringIO())), '42501', 'psycopg2: COPY is refused')
	connection.rollback()
	out = io.StringIO()
	cursor.copy_expert(f'COPY ({GROUPS}) TO STDOUT', out)
	equal(out.getvalue().split('\n')[0].split('\t')[:2], ['E', '6667'], 'psycopg2: COPY of a private query')
	connection.rollback()


def copy3(connection):
	def read(query):
		with connection.cursor().copy(query) as copy:
			return list(copy.rows())

	equal(state(lambda: read('COPY sales TO STDOUT')), '42501', 'psycopg 3: COPY is refused')
	connection.rollback()
	equal(read(f'COPY ({GROUPS}) TO STDOUT')[0][:2], ('E', '6667'), 'psycopg 3: COPY of a private query')
	connection.rollback()


def serializable(v, connection):
	equal(state(lambda: rows(connection, LIKE, ('N%',))), '0A000', f'{v}: SERIALIZABLE is refused')
	connection.rollback()


# What both do in the same way.
def both(v, connection, owner):
	values(v, connection, owner)
	repeated(v, connection)
	transactions(v, connection)
	server_cursor(v, connection, connection.cursor(name='c'))
	cancel(v, connection, connection.cancel)


def psycopg_2(owner):
	v = 'psycopg2'
	connection = psycopg2.connect(dsn('bob') + ' options=-cdp_pg.reuse=off')
	both(v, connection, owner)
	copy2(connection)
	before = charges()
	connection.cursor().executemany(LIKE, [('N',), ('S',), ('E',)])
	equal(charges() - before, 3, f'{v}: executemany is charged for each')
	connection.rollback()
	connection.set_session(isolation_level='SERIALIZABLE')
	serializable(v, connection)
	connection.set_session(isolation_level='REPEATABLE READ', readonly=True)
	equal(rows(connection, LIKE, ('N%',)), [(6666,)], f'{v}: REPEATABLE READ, READ ONLY')
	connection.close()


def psycopg_3(owner):
	v = 'psycopg 3'
	connection = psycopg.connect(dsn('bob') + ' options=-cdp_pg.reuse=off')
	both(v, connection, owner)
	copy3(connection)
	binary = connection.cursor(binary=True).execute('SELECT sum(amount), avg(amount) FROM sales WHERE region = %s', ('N',))
	equal(binary.fetchall(), rows(owner, 'SELECT sum(amount), avg(amount) FROM sales WHERE region = %s', ('N',)),
		f'{v}: values in binary form')
	connection.rollback()
	with connection.pipeline():
		answers = [connection.execute(LIKE, (r,)) for r in 'NS']
		equal([c.fetchall() for c in answers], [[(6666,)], [(6667,)]], f'{v}: a pipeline')
	connection.rollback()
	connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
	serializable(v, connection)
	connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
	equal(rows(connection, LIKE, ('N%',)), [(6666,)], f'{v}: REPEATABLE READ')
	connection.close()


psycopg_2(psycopg2.connect(dsn('owner')))
psycopg_3(psycopg.connect(dsn('owner')))
finish()
