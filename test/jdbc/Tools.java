/*
 * Tools.java
 *	  What BI tools do with pgjdbc in transparent mode, beside Smoke.java: both
 *	  protocols, many fetch sizes, metadata, batches, cancel, SERIALIZABLE.
 *	  Prints "ok NAME" or "not ok NAME: WHY", and how many checks there were.
 *
 * Argument: the JDBC address without user.
 */
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.postgresql.PGStatement;

public class Tools
{
	private static final String GROUPS = "SELECT region, count(*) AS n, "
		+ "sum(amount) AS s, avg(amount) AS a FROM sales "
		+ "GROUP BY region ORDER BY region";
	private static int checks = 0;

	private final String url;
	private final Connection owner;
	private final Connection admin;

	private Tools(String address) throws SQLException
	{
		url = address;
		owner = connect("owner", "");
		admin = connect("postgres", "");
	}

	private Connection connect(String user, String more) throws SQLException
	{
		return DriverManager.getConnection(url + "&user=" + user + more);
	}

	private static void check(boolean good, String name, Object seen)
	{
		checks++;
		System.out.println(good ? "ok " + name
			: "not ok " + name + ": " + seen);
	}

	private static void equal(Object wanted, Object seen, String name)
	{
		check(wanted.equals(seen), name, seen + ", not " + wanted);
	}

	private static List<String> rows(ResultSet r) throws SQLException
	{
		List<String> rows = new ArrayList<>();
		int columns = r.getMetaData().getColumnCount();

		while (r.next())
		{
			StringBuilder row = new StringBuilder();

			for (int i = 1; i <= columns; i++)
				row.append(r.getString(i)).append('|');
			rows.add(row.toString());
		}
		r.close();
		return rows;
	}

	private static List<String> rows(Connection c, String query)
		throws SQLException
	{
		try (Statement s = c.createStatement())
		{
			return rows(s.executeQuery(query));
		}
	}

	private long charges() throws SQLException
	{
		return Long.parseLong(rows(admin,
			"SELECT count(*) FROM dp_pg.ledger").get(0).replace("|", ""));
	}

	private static String state(Connection c, String query)
	{
		try
		{
			rows(c, query);
		}
		catch (SQLException e)
		{
			return e.getSQLState();
		}
		return "none";
	}

	/* The same queries by each way that the driver can send them. */
	private void protocols() throws SQLException
	{
		String[] modes = {"simple", "extended", "extendedForPrepared",
			"extendedCacheEverything"};

		for (String mode : modes)
		{
			try (Connection c = connect("bob", "&preferQueryMode=" + mode))
			{
				equal(rows(owner, GROUPS), rows(c, GROUPS),
					mode + ": a query");
				equal(values(owner), values(c), mode + ": values beside it");
				equal("42501", state(c, "SELECT * FROM sales WHERE id = 1"),
					mode + ": rows are refused");
			}
		}
	}

	private static List<String> values(Connection c) throws SQLException
	{
		List<String> all = new ArrayList<>();

		try (PreparedStatement p = c.prepareStatement("SELECT count(*) FROM "
			+ "sales WHERE region LIKE ? AND day >= ? AND amount < ?"))
		{
			p.setString(1, "N%");
			p.setDate(2, Date.valueOf("2024-01-01"));
			p.setInt(3, 50);
			all.addAll(rows(p.executeQuery()));
		}
		try (PreparedStatement p = c.prepareStatement("SELECT date_trunc(?, "
			+ "day) AS d, sum(amount) FROM sales GROUP BY 1 ORDER BY 1"))
		{
			p.setString(1, "year");
			all.addAll(rows(p.executeQuery()));
		}
		return all;
	}

	/* From the fifth execution on, prepared on the server; text, binary. */
	private void prepared() throws SQLException
	{
		long before = charges();

		try (Connection c = connect("bob", "&options=-c%20dp_pg.reuse=off");
			PreparedStatement p = c.prepareStatement(
			"SELECT region, count(*), max(amount) FROM sales WHERE region = "
			+ "ANY (?) GROUP BY region ORDER BY 1"))
		{
			Array keys = c.createArrayOf("text", new String[] {"N", "S"});
			boolean good = true;

			for (int i = 0; i < 8; i++)
			{
				List<String> seen;

				p.setArray(1, keys);
				seen = rows(p.executeQuery());
				good &= seen.size() == 2 && seen.get(0).startsWith("N|6666|")
					&& seen.get(1).startsWith("S|6667|");
			}
			check(good, "eight executions are the same", "?");
			check(p.unwrap(PGStatement.class).isUseServerPrepare(),
				"prepared on the server", "no");
		}
		equal(8L, charges() - before, "eight executions, eight charges");
	}

	private void fetchSizes() throws SQLException
	{
		List<String> wanted = rows(owner, GROUPS);

		for (int size = 0; size <= 3; size++)
		{
			long before = charges();

			try (Connection c = connect("bob",
				"&options=-c%20dp_pg.reuse=off"))
			{
				c.setAutoCommit(false);
				try (Statement s = c.createStatement())
				{
					s.setFetchSize(size);
					equal(wanted, rows(s.executeQuery(GROUPS)),
						"fetch size " + size);
				}
				c.rollback();
			}
			equal(1L, charges() - before, "one charge, and ROLLBACK keeps it");
		}
		try (Connection c = connect("bob", ""); Statement s = c.createStatement(
			ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
			ResultSet r = s.executeQuery(GROUPS))
		{
			check(r.last() && r.getRow() == 3 && r.first()
				&& r.getString(1).equals("E"), "a scrollable result", "?");
		}
	}

	private void metadata() throws SQLException
	{
		long before = charges();

		try (Connection c = connect("bob", ""))
		{
			DatabaseMetaData data = c.getMetaData();
			List<String> seen = new ArrayList<>();

			try (ResultSet r = data.getTables(null, "bi", "%",
				new String[] {"VIEW", "TABLE"}))
			{
				while (r.next())
					seen.add(r.getString("TABLE_NAME"));
			}
			equal(List.of("sales"), seen, "getTables: the published view");
			try (ResultSet r = data.getPrimaryKeys(null, "public", "sales"))
			{
				check(r.next() && r.getString("COLUMN_NAME").equals("id"),
					"getPrimaryKeys", "?");
			}
			try (ResultSet r = data.getColumns(null, "bi", "sales", "amount"))
			{
				check(r.next() && r.getInt("DATA_TYPE") == Types.INTEGER,
					"getColumns", "?");
			}
			try (ResultSet r = data.getIndexInfo(null, "public", "sales",
				false, true))
			{
				check(r.next(), "getIndexInfo", "nothing");
			}
			try (PreparedStatement p = c.prepareStatement(GROUPS))
			{
				ResultSetMetaData m = p.getMetaData();

				equal("region text, n int8, s int8, a numeric",
					described(m), "what an answer will be");
			}
			try (PreparedStatement p = c.prepareStatement(
				"SELECT count(*) FROM sales WHERE day < ? AND region = ?"))
			{
				equal("date text",
					p.getParameterMetaData().getParameterTypeName(1) + " "
					+ p.getParameterMetaData().getParameterTypeName(2),
					"what parameters are");
			}
			equal(List.of(), rows(c, "SELECT * FROM sales LIMIT 0"),
				"a probe has no rows");
		}
		equal(0L, charges() - before, "which cost nothing");
	}

	private List<String> catalogs(DatabaseMetaData data) throws SQLException
	{
		List<String> seen = new ArrayList<>();

		seen.addAll(rows(data.getTables(null, null, "%", null)));
		seen.addAll(rows(data.getColumns(null, null, "%", "%")));
		seen.addAll(rows(data.getPrimaryKeys(null, "public", "sales")));
		return seen;
	}

	/* The same after dp_harden(), but for numbers of rows and pages. */
	private void hardened() throws SQLException
	{
		try (Connection c = connect("bob", ""))
		{
			DatabaseMetaData data = c.getMetaData();
			List<String> seen = catalogs(data);

			rows(admin, "SELECT dp_harden()");
			metadata();
			equal(seen, catalogs(data), "getTables and its like, hardened");
			try (ResultSet r = data.getIndexInfo(null, "public", "sales",
				false, true))
			{
				check(r.next() && r.getLong("CARDINALITY") == -1
					&& r.getLong("PAGES") == 0,
					"getIndexInfo, hardened: unknown rows and pages",
					"something else");
			}
			rows(admin, "SELECT dp_unharden()");
		}
	}

	private static String described(ResultSetMetaData m) throws SQLException
	{
		List<String> columns = new ArrayList<>();

		for (int i = 1; i <= m.getColumnCount(); i++)
			columns.add(m.getColumnLabel(i) + " " + m.getColumnTypeName(i));
		return String.join(", ", columns);
	}

	/* A batch writes: each of its statements stores released values. */
	private void batch() throws SQLException
	{
		long before = charges();

		try (Connection c = connect("bob", "&options=-c%20dp_pg.reuse=off");
			Statement s = c.createStatement())
		{
			s.execute("CREATE TEMP TABLE kept (region text, n bigint)");
			try (PreparedStatement p = c.prepareStatement("INSERT INTO kept "
				+ "SELECT region, count(*) FROM sales WHERE region = ? "
				+ "GROUP BY region"))
			{
				for (String region : new String[] {"N", "S", "E"})
				{
					p.setString(1, region);
					p.addBatch();
				}
				check(p.executeBatch().length == 3, "a batch", "?");
			}
			equal(List.of("E|6667|", "N|6666|", "S|6667|"),
				rows(c, "SELECT * FROM kept ORDER BY 1"), "and what it wrote");
			s.addBatch("INSERT INTO kept SELECT 'all', count(*) FROM sales");
			s.addBatch("INSERT INTO kept SELECT region, id FROM sales");
			try
			{
				s.executeBatch();
				check(false, "a batch that copies rows", "done");
			}
			catch (BatchUpdateException e)
			{
				equal("42501", e.getSQLState(), "a batch that copies rows");
			}
			equal(List.of("3|"), rows(c, "SELECT count(*) FROM kept"),
				"is undone whole");
		}
		equal(4L, charges() - before, "what was released is charged");
	}

	/* Waits for a minute behind its release, and is cancelled. */
	private void cancel() throws SQLException
	{
		long before = charges();

		try (Connection c = connect("bob", "&options=-c%20dp_pg.reuse=off");
			Statement s = c.createStatement())
		{
			CompletableFuture<Void> helper = CompletableFuture.runAsync(() ->
			{
				try
				{
					while (rows(admin, "SELECT 1 FROM pg_stat_activity WHERE "
						+ "usename = 'bob' AND wait_event = 'PgSleep'").isEmpty())
						Thread.sleep(50);
					s.cancel();
				}
				catch (SQLException | InterruptedException e)
				{
					System.out.println(e);
				}
			});
			String seen = "none";

			try
			{
				s.executeQuery("SELECT n, pg_sleep(60) FROM "
					+ "(SELECT count(*) AS n FROM sales OFFSET 0) q").close();
			}
			catch (SQLException e)
			{
				seen = e.getSQLState();
			}
			helper.join();
			equal("57014", seen, "cancelled");
			equal(List.of("20000|"), rows(c, "SELECT count(*) FROM sales"),
				"the connection goes on");
			s.setQueryTimeout(1);
			try
			{
				s.executeQuery("SELECT n, pg_sleep(60) FROM "
					+ "(SELECT count(*) AS n FROM sales OFFSET 0) q").close();
				seen = "none";
			}
			catch (SQLException e)
			{
				seen = e.getSQLState();
			}
			equal("57014", seen, "setQueryTimeout");
		}
		equal(3L, charges() - before, "what was cancelled is charged");
	}

	private void transactions() throws SQLException
	{
		try (Connection c = connect("bob", ""))
		{
			c.setAutoCommit(false);
			equal("42501", state(c, "SELECT amount FROM sales WHERE id = 1"),
				"an error in a transaction");
			equal("25P02", state(c, GROUPS), "ends it");
			c.rollback();
			check(rows(c, GROUPS).size() == 3, "the next one is answered", "?");
			c.rollback();
			c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
			equal("0A000", state(c, GROUPS), "SERIALIZABLE is refused");
			c.rollback();
			c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			c.setReadOnly(true);
			check(rows(c, GROUPS).size() == 3,
				"REPEATABLE READ, READ ONLY is answered", "?");
			c.rollback();
		}
		try (Connection c = connect("bob", "&autosave=always"))
		{
			c.setAutoCommit(false);
			equal("42501", state(c, "SELECT amount FROM sales WHERE id = 1"),
				"autosave: an error");
			check(rows(c, GROUPS).size() == 3, "does not end a transaction",
				"?");
			c.commit();
		}
	}

	public static void main(String[] args) throws SQLException
	{
		Tools tools = new Tools(args[0]);

		tools.protocols();
		tools.prepared();
		tools.fetchSizes();
		tools.metadata();
		tools.hardened();
		tools.batch();
		tools.cancel();
		tools.transactions();
		tools.owner.close();
		tools.admin.close();
		System.out.println("checks: " + checks);
	}
}
