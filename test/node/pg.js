/*
 * node-postgres: values beside a query, named statements, cursors, a pool,
 * transactions, cancel.
 */
const { Client, Pool } = require('pg');
const Cursor = require('pg-cursor');

const { address, charges, check, equal, main, near, rows, state } = require('./checks');

const GROUPS = 'SELECT region, count(*) AS n, sum(amount) AS s, avg(amount)::float8 AS a FROM sales GROUP BY region ORDER BY 1';
const LIKE = 'SELECT count(*) AS n FROM sales WHERE region LIKE $1';

async function same(client, query, values, name) {
	equal(near((await client.query(query, values)).rows), near(await rows('owner', query, values)), name);
}

async function values(client) {
	await same(client, GROUPS, undefined, 'keys, counts, sums, means');
	await same(client, LIKE, ['N%'], 'LIKE with a value');
	await same(client, 'SELECT count(*) AS n FROM sales WHERE day >= $1 AND amount < $2', ['2024-01-01', 50], 'a date and a number');
	await same(client, 'SELECT count(*) AS n FROM sales WHERE day < $1', [new Date(Date.UTC(2024, 0, 1))], 'a Date');
	await same(client, 'SELECT date_trunc($1, day) AS d, count(*) AS n FROM sales GROUP BY 1 ORDER BY 1', ['year'], 'a unit of date_trunc');
	await same(client, 'SELECT count(*) AS n FROM sales WHERE region = ANY($1)', [['N', 'S']], 'a list');
}

async function named(client) {
	const before = await charges();
	const seen = new Set();

	for (let i = 0; i < 8; i++)
		seen.add((await client.query({ name: 'like', text: LIKE, values: ['S%'] })).rows[0].n);
	equal([...seen], ['6667'], 'a named statement, eight times the same');
	equal(await charges() - before, 8, 'and eight charges');
}

async function cursor(client) {
	const before = await charges();
	const open = client.query(new Cursor(GROUPS));

	equal((await open.read(2)).map((row) => row.region), ['E', 'N'], 'a cursor, by parts');
	equal((await open.read(2)).map((row) => row.region), ['S'], 'and its rest');
	await open.close();
	equal(await charges() - before, 1, 'is charged once');
}

async function transactions(client) {
	const before = await charges();

	await client.query('BEGIN');
	await client.query(LIKE, ['N%']);
	await client.query('ROLLBACK');
	equal(await charges() - before, 1, 'ROLLBACK returns nothing');
	equal(await state(client.query('SELECT id, amount FROM sales WHERE amount > $1', [1])), '42501', 'rows are refused');
	await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
	equal(await state(client.query(GROUPS)), '0A000', 'SERIALIZABLE is refused');
	await client.query('ROLLBACK');
	equal(await state(client.query(`${GROUPS}; ${GROUPS}`)), 'none', 'two statements in one text');
}

async function cancel(client) {
	const waiting = state(client.query('SELECT n, pg_sleep(60) FROM (SELECT count(*) AS n FROM sales OFFSET 0) s'));
	let stopped = false;

	for (let i = 0; i < 600 && !stopped; i++) {
		stopped = (await rows('postgres', "SELECT pg_cancel_backend(pid) AS c FROM pg_stat_activity WHERE usename = 'bob' AND wait_event = 'PgSleep'")).length > 0;
		await new Promise((done) => setTimeout(done, 50));
	}
	equal(await waiting, '57014', 'cancelled');
	equal((await client.query(LIKE, ['E'])).rows, [{ n: '6667' }], 'the connection goes on');
}

async function pool() {
	const all = new Pool({ ...address('bob'), max: 4, options: '-c dp_pg.reuse=off' });
	const before = await charges();
	const seen = await Promise.all(Array.from({ length: 12 }, () => all.query(LIKE, ['N'])));

	equal(seen.map((answer) => answer.rows[0].n), Array(12).fill('6666'), 'a pool answers twelve at once');
	equal(await charges() - before, 12, 'and twelve are charged');
	await all.end();
}

main(async () => {
	const client = new Client({ ...address('bob'), options: '-c dp_pg.reuse=off' });

	await client.connect();
	await values(client);
	await named(client);
	await cursor(client);
	await transactions(client);
	await cancel(client);
	await pool();
	check((await client.query('SELECT 1')).rowCount === 1, 'all in one connection');
	await client.end();
});
