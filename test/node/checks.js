/*
 * What the programs of this folder share: checks that are printed, as
 * ../t/ClientNode.pm reads them; connections; a look at the ledger.
 *
 * Arguments of each: folder of the server's socket, port.
 */
const { isDeepStrictEqual } = require('node:util');
const { Client, types } = require('pg');

const [host, port] = process.argv.slice(2);
let count = 0;

function check(good, name, seen = '') {
	count++;
	console.log(good ? `ok ${name}` : `not ok ${name}: ${JSON.stringify(seen)}`);
}

function equal(seen, wanted, name) {
	check(isDeepStrictEqual(seen, wanted), name, { seen, wanted });
}

function address(user) {
	return { host, port: Number(port), database: 'postgres', user };
}

/* Rows of a query as objects, asked by a role in a connection of its own. */
async function rows(user, query, values) {
	const client = new Client(address(user));

	await client.connect();
	try {
		return (await client.query(query, values)).rows;
	} finally {
		await client.end();
	}
}

async function charges() {
	return Number((await rows('postgres', 'SELECT count(*) AS n FROM dp_pg.ledger'))[0].n);
}

/* SQLSTATE, or message, of what a promise fails with. */
async function state(promise) {
	try {
		await promise;
	} catch (error) {
		return error.code ?? error.message;
	}
	return 'none';
}

/* Numbers as numbers, however a tool reads bigint and numeric. */
function numbers(list) {
	return list.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) =>
		[name, typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value])));
}

/* Numbers with six digits after the point, as far as they are compared. */
function near(list) {
	return numbers(list).map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) =>
		[name, typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value])));
}

/* Runs a program whole; a promise that nobody caught ends it, unfinished. */
async function main(body) {
	types.setTypeParser(1082, (text) => text);
	await body();
	console.log(`checks: ${count}`);
	process.exit(0);
}

module.exports = { address, charges, check, equal, main, near, rows, state };
