/*
 * Malloy: a model over the published view, whose dashboard has nested views.
 * What the same model gives the owner is what bob has to see.
 *
 * Of nested views and of all() Malloy makes one query, which joins each row
 * with a number for each view: a unit is in as many groups as there are, and
 * carol, who asks these, has dp_pg.max_keys of as many, and one row in each
 * (dp_pg.max_rows).  Keys that depend on that number and a column are released
 * by threshold: she has dp_pg.delta.
 */
const { SingleConnectionRuntime } = require('@malloydata/malloy');
const { PostgresConnection } = require('@malloydata/db-postgres');

const { address, charges, equal, main, near } = require('./checks');

const MODEL = `
source: sales is db.table('bi.sales') extend {
  measure:
    orders is count()
    revenue is amount.sum()
    mean is amount.avg()
    large is count() { where: amount > 50 }
  dimension:
    size is pick 'small' when amount < 20 pick 'middle' when amount < 60 else 'large'
  view: by_region is { group_by: region; aggregate: orders, revenue; order_by: region }
  view: by_month is { group_by: sold is \`day\`.month; aggregate: revenue; order_by: sold }
}
`;

const VIEWS = {
	'totals': 'run: sales -> { aggregate: orders, revenue, mean }',
	'a view': 'run: sales -> by_region',
	'months': 'run: sales -> by_month',
	'filters': "run: sales -> { where: region = 'N', `day` >= @2024; aggregate: orders, large }",
	'two keys': 'run: sales -> { group_by: region, sold is `day`.year; aggregate: mean; order_by: region, sold }',
	'a pick': 'run: sales -> { group_by: size; aggregate: orders; order_by: size }',
	'a second stage': 'run: sales -> by_region -> { aggregate: most is max(orders), all_of_it is revenue.sum() }',
	'a limit': 'run: sales -> { group_by: region; aggregate: large; order_by: region; limit: 2 }',
};

const NESTED = {
	'a nested view': "run: sales -> { group_by: region; aggregate: orders; nest: sizes is { group_by: size; aggregate: orders; order_by: size }; order_by: region }",
	'shares of all': 'run: sales -> { group_by: region; aggregate: orders, share is orders / all(orders); order_by: region }',
};

function connect(user) {
	const { host, port, database } = address(user);

	return new PostgresConnection({ name: 'db', host, port, databaseName: database, username: user });
}

async function dashboard(user, views) {
	const connection = connect(user);
	const runtime = new SingleConnectionRuntime({ connection });
	const model = runtime.loadModel(MODEL);
	const seen = {};

	for (const [name, query] of Object.entries(views))
		seen[name] = near((await model.loadQuery(query).run()).data.toObject());
	return seen;
}

main(async () => {
	const before = await charges();
	const schema = await connect('bob').fetchSchemaForTables({ sales: 'bi.sales' }, {});

	equal(Object.values(schema.schemas)[0].fields.map((f) => `${f.name} ${f.type}`),
		['id number', 'day date', 'region string', 'amount number'], 'the columns of the published view');
	equal(await charges(), before, 'are free');
	for (const [user, views] of [['bob', VIEWS], ['carol', NESTED]]) {
		const plain = await dashboard('owner', views);
		const seen = await dashboard(user, views);

		for (const name of Object.keys(views))
			equal(seen[name], plain[name], name);
	}
	const paid = await charges();
	await dashboard('bob', VIEWS);
	equal(await charges(), paid, 'a dashboard that is refreshed costs nothing');
});
