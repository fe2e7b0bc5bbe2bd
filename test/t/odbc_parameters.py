# psqlODBC as programs use it: values beside the text of the query, texts where
# numbers and dates are meant, prepared on the server or put into the text by
# the driver, autocommit off, SERIALIZABLE.
#
# Arguments: those of driver_checks.py.
import datetime
import decimal
import threading

import pyodbc

from driver_checks import check, equal, finish, host, port

SERVER_SIDE = {'prepared on the server': 1, 'values put into the text': 0}


def connect(user, server_side=1, autocommit=False):
	return pyodbc.connect(
		f'DRIVER=PostgreSQL Unicode;SERVER={host};PORT={port};DATABASE=postgres;'
		f'UID={user};UseServerSidePrepare={server_side}', autocommit=autocommit)


def rows(connection, query, *values):
	return [tuple(r) for r in connection.execute(query, *values).fetchall()]


def state(call):
	try:
		call()
	except pyodbc.Error as error:
		return error.args[0]
	return 'none'


def charges():
	return rows(connect('postgres', autocommit=True), 'SELECT count(*) FROM dp_pg.ledger')[0][0]


QUERIES = {
	'LIKE with a value': ('SELECT count(*) FROM sales WHERE region LIKE ?', 'N%'),
	'a number': ('SELECT count(*) FROM sales WHERE amount < ?', 50),
	'a number as a text': ('SELECT count(*) FROM sales WHERE amount < ?', '50'),
	'a number as a decimal': ('SELECT sum(amount) FROM sales WHERE amount < ?', decimal.Decimal('49.5')),
	'a date': ('SELECT count(*) FROM sales WHERE day >= ?', datetime.date(2024, 1, 1)),
	'a date as a text': ('SELECT count(*) FROM sales WHERE day >= ?', '2024-01-01'),
	'a date as a text, cast': ('SELECT count(*) FROM sales WHERE day >= CAST(? AS date)', '2024-01-01'),
	'a key': ('SELECT region, count(*), avg(amount) FROM sales WHERE region = ? GROUP BY region', 'S'),
	'a unit of date_trunc': ('SELECT date_trunc(?, day) AS d, count(*) FROM sales GROUP BY 1 ORDER BY 1', 'year'),
}


def parameters(name, server_side):
	owner = connect('owner', server_side)
	bob = connect('bob', server_side)
	for what, (query, value) in QUERIES.items():
		wanted = state(lambda: rows(owner, query, value))
		if wanted == 'none':
			wanted = rows(owner, query, value)
			equal(rows(bob, query, value), wanted, f'{name}: {what}')
		else:
			owner.rollback()
			equal(state(lambda: rows(bob, query, value)), wanted, f'{name}: {what}, refused to the owner, too')
			bob.rollback()


def again(server_side):
	bob = connect('bob', server_side)
	bob.execute("SET dp_pg.reuse = 'off'")
	before = charges()
	cursor = bob.cursor()
	seen = {cursor.execute('SELECT count(*) FROM sales WHERE region LIKE ?', 'E%').fetchone()[0] for i in range(8)}
	equal((seen, charges() - before), ({6667}, 8), 'one cursor, eight executions, eight charges')
	bob.rollback()
	equal(charges() - before, 8, 'autocommit off: ROLLBACK returns nothing')


def isolation():
	bob = connect('bob')
	query = 'SELECT count(*) FROM sales'
	bob.set_attr(pyodbc.SQL_ATTR_TXN_ISOLATION, pyodbc.SQL_TXN_SERIALIZABLE)
	try:
		rows(bob, query)
		check(False, 'SERIALIZABLE is refused', 'an answer')
	except pyodbc.Error as error:
		equal(error.args[0], '0A000', 'SERIALIZABLE is refused')
		check('serializable transaction' in error.args[1], 'by name', error.args[1])
	bob.rollback()
	bob.set_attr(pyodbc.SQL_ATTR_TXN_ISOLATION, pyodbc.SQL_TXN_REPEATABLE_READ)
	equal(rows(bob, query), [(20000,)], 'REPEATABLE READ is answered')
	bob.rollback()


def cancel():
	bob = connect('bob')
	cursor = bob.cursor()
	admin = connect('postgres', autocommit=True)

	def when_waiting():
		for i in range(600):
			if rows(admin, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'bob' AND wait_event = 'PgSleep'")[0][0]:
				break
			threading.Event().wait(0.05)
		cursor.cancel()

	helper = threading.Thread(target=when_waiting)
	helper.start()
	seen = state(lambda: cursor.execute('SELECT n, pg_sleep(60) FROM (SELECT count(*) AS n FROM sales OFFSET 0) s'))
	helper.join()
	check(seen in ('57014', 'HY008'), 'a query is cancelled', seen)
	bob.rollback()
	equal(rows(bob, 'SELECT count(*) FROM sales'), [(20000,)], 'and the connection goes on')


def metadata():
	bob = connect('bob')
	tables = [(r.table_schem, r.table_name) for r in bob.cursor().tables(schema='bi')]
	equal(tables, [('bi', 'sales')], 'SQLTables: the published view')
	columns = [(r.column_name, r.type_name) for r in bob.cursor().columns(table='sales', schema='bi')]
	equal(columns, [('id', 'int4'), ('day', 'date'), ('region', 'text'), ('amount', 'int4')], 'SQLColumns: its columns')
	cursor = bob.execute('SELECT region, count(*) AS n FROM bi.sales GROUP BY region ORDER BY 1')
	equal([d[0] for d in cursor.description], ['region', 'n'], 'names of an answer')
	equal(len(cursor.fetchall()), 3, 'and its rows')


for name, server_side in SERVER_SIDE.items():
	parameters(name, server_side)
again(1)
isolation()
cancel()
metadata()
finish()
