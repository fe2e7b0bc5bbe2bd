/*
 * Cube: a server with a data model over the published view, asked by its REST
 * interface as its dashboards ask.  Queue and cache are in memory.
 */
const http = require('node:http');
const express = require('express');
const { CubejsServerCore } = require('@cubejs-backend/server-core');
const { PostgresDriver } = require('@cubejs-backend/postgres-driver');

const { address, charges, check, equal, main, near, rows } = require('./checks');

const MODEL = `
cube('Sales', {
  sql: 'SELECT * FROM bi.sales',
  refreshKey: { every: '1 hour' },
  measures: {
    count: { type: 'count' },
    revenue: { sql: 'amount', type: 'sum' },
    mean: { sql: 'amount', type: 'avg' },
    large: { type: 'count', filters: [{ sql: CUBE + '.amount > 50' }] },
    perOrder: { sql: CUBE.revenue + ' / ' + CUBE.count, type: 'number' }
  },
  dimensions: {
    id: { sql: 'id', type: 'number', primaryKey: true },
    region: { sql: 'region', type: 'string' },
    day: { sql: 'day', type: 'time' }
  }
});
`;

const QUERIES = {
	'totals': [{ measures: ['Sales.count', 'Sales.revenue'] },
		'SELECT count(*) AS "Sales.count", sum(amount) AS "Sales.revenue" FROM sales'],
	'a bar chart': [{ measures: ['Sales.count'], dimensions: ['Sales.region'], order: { 'Sales.region': 'asc' } },
		'SELECT region AS "Sales.region", count(*) AS "Sales.count" FROM sales GROUP BY 1 ORDER BY 1'],
	'a line, by months': [{
		measures: ['Sales.revenue'],
		timeDimensions: [{ dimension: 'Sales.day', granularity: 'month', dateRange: ['2024-01-01', '2024-06-30'] }] },
		`SELECT to_char(date_trunc('month', day), 'YYYY-MM-DD') || 'T00:00:00.000' AS "Sales.day", sum(amount) AS "Sales.revenue"
		FROM sales WHERE day BETWEEN '2024-01-01' AND '2024-06-30' GROUP BY 1 ORDER BY 1`],
	'filters': [{
		measures: ['Sales.count', 'Sales.large'],
		filters: [{ member: 'Sales.region', operator: 'equals', values: ['N', 'S'] }] },
		`SELECT count(*) AS "Sales.count", count(*) FILTER (WHERE amount > 50) AS "Sales.large" FROM sales WHERE region IN ('N', 'S')`],
	'a pattern': [{ measures: ['Sales.count'], filters: [{ member: 'Sales.region', operator: 'contains', values: ['n'] }] },
		`SELECT count(*) AS "Sales.count" FROM sales WHERE region ILIKE '%n%'`],
	'a filter on a measure': [{
		measures: ['Sales.mean'], dimensions: ['Sales.region'], order: { 'Sales.region': 'asc' },
		filters: [{ member: 'Sales.mean', operator: 'gt', values: ['1'] }] },
		'SELECT region AS "Sales.region", avg(amount) AS "Sales.mean" FROM sales GROUP BY 1 ORDER BY 1'],
	'a quotient': [{ measures: ['Sales.perOrder'] }, 'SELECT sum(amount) / count(*) AS "Sales.perOrder" FROM sales'],
	'a limit': [{ measures: ['Sales.revenue'], dimensions: ['Sales.region'], order: { 'Sales.region': 'desc' }, limit: 2 },
		'SELECT region AS "Sales.region", sum(amount) AS "Sales.revenue" FROM sales GROUP BY 1 ORDER BY 1 DESC LIMIT 2'],
};

/* A server that reads as a role. */
async function serve(user) {
	const core = new CubejsServerCore({
		apiSecret: 'secret',
		cacheAndQueueDriver: 'memory',
		checkAuth: () => {},
		dbType: 'postgres',
		devServer: false,
		driverFactory: () => new PostgresDriver(address(user)),
		logger: () => {},
		repositoryFactory: () => ({ dataSchemaFiles: async () => [{ fileName: 'Sales.js', content: MODEL }] }),
		scheduledRefreshTimer: false,
		telemetry: false,
	});
	const app = express();

	app.use(express.json());
	await core.initApp(app);
	return new Promise((done) => {
		const server = http.createServer(app).listen(0, '127.0.0.1', () =>
			done(`http://127.0.0.1:${server.address().port}/cubejs-api/v1`));
	});
}

/* What a dashboard does: asks again while the server says "Continue wait". */
async function load(base, query) {
	for (;;) {
		const answer = await (await fetch(`${base}/load?query=${encodeURIComponent(JSON.stringify(query))}`)).json();

		if (answer.error !== 'Continue wait')
			return answer;
	}
}

main(async () => {
	const base = await serve('bob');
	const before = await charges();
	const meta = await (await fetch(`${base}/meta`)).json();

	equal(meta.cubes.map((cube) => cube.name), ['Sales'], 'the model is read');
	for (const [name, [query, plain]] of Object.entries(QUERIES)) {
		const answer = await load(base, query);
		const wanted = near(await rows('owner', plain));
		const columns = Object.keys(wanted[0]);

		check(!answer.error, `${name}: answered`, answer.error);
		equal(near(answer.data ?? []).map((row) => Object.fromEntries(columns.map((c) => [c, row[c]]))), wanted, name);
	}
	const paid = await charges() - before;
	check(paid > 0 && paid <= Object.keys(QUERIES).length, 'each query is paid for once at most', paid);

	const other = await serve('bob');
	for (const [query] of Object.values(QUERIES))
		await load(other, query);
	equal(await charges() - before, paid, 'a server that has forgotten its answers gets them again, free');
	const refused = await load(base, { dimensions: ['Sales.id', 'Sales.region'], filters: [{ member: 'Sales.region', operator: 'equals', values: ['N'] }], ungrouped: true });
	check((refused.error ?? '').includes('permission denied'), 'rows are refused', refused);
});
