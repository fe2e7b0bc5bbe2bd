# What the Python programs of the driver tests share: checks that are printed,
# as ClientNode.pm reads them, and a look at the ledger.
#
# Arguments of such a program: folder of the server's socket, port.
import sys

host, port = sys.argv[1:]
count = 0


def check(good, name, seen=''):
	global count
	count += 1
	print(f'ok {name}' if good else f'not ok {name}: {seen!r}', flush=True)


def equal(seen, wanted, name):
	check(seen == wanted, name, (seen, wanted))


def finish():
	print(f'checks: {count}', flush=True)
