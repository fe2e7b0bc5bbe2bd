/*
 * Evidence's connector: each chart is sent twice, SELECT COUNT(*) around the
 * query and then the query, by a cursor.  A block within another query is
 * answered with what was released for it (dp_pg.reuse), so that a chart is
 * paid for once, and a page that is built again not at all.
 */
const runQuery = require('@evidence-dev/postgres');

const { address, check, equal, main, near, rows } = require('./checks');

const CHARTS = {
	'a big value': 'SELECT count(*) AS orders, sum(amount) AS revenue FROM bi.sales',
	'a bar chart': 'select region, count(*) as orders from bi.sales group by region order by 1',
	'a line': "select date_trunc('month', day) as month, sum(amount) as revenue from bi.sales group by 1 order by 1",
	'a table': "select region, extract(year from day) as year, avg(amount)::float8 as mean, count(*) as n from bi.sales where amount > 10 group by 1, 2 order by 1, 2;",
	'a share': "with totals as (select region, sum(amount) as s from bi.sales group by region) select region, s / sum(s) over () as share from totals order by 1",
	'a top list': 'select region, count(*) as n from bi.sales group by 1 having count(*) > 6666 order by 1 limit 2',
};

/* What a page gets: all rows, and how many the connector expected. */
async function chart(query, user) {
	const answer = await runQuery(query, address(user), 2);
	const all = [];

	for await (const batch of answer.rows())
		all.push(...batch);
	return { rows: near(all), expected: answer.expectedRowCount, types: answer.columnTypes.map((t) => t.evidenceType) };
}

async function page(name) {
	for (const [what, query] of Object.entries(CHARTS)) {
		const plain = await chart(query, 'owner');
		const seen = await chart(query, 'bob');

		equal(seen.rows, plain.rows, `${name}: ${what}`);
		equal(Number(seen.expected), plain.rows.length, `${name}: and its number of rows`);
		equal(seen.types, plain.types, `${name}: and its types`);
	}
}

main(async () => {
	const bob = async () => Number((await rows('postgres', "SELECT count(*) AS n FROM dp_pg.ledger WHERE role = 'bob'"))[0].n);

	equal(await runQuery.testConnection(address('bob')), true, 'the connection is tested');
	const before = await bob();
	await page('first');
	const paid = await bob() - before;
	check(paid >= 4 && paid <= Object.keys(CHARTS).length, 'each chart is paid for once at most', paid);
	await page('again');
	equal(await bob() - before, paid, 'a page that is built again costs nothing');
	let refused = '';
	try {
		await chart('select * from bi.sales where amount > 10', 'bob');
	} catch (error) {
		refused = error.message;
	}
	check(refused.includes('permission denied'), 'rows are refused', refused);
	equal(await bob() - before, paid + 1, 'but for their number, which is a count');
});
