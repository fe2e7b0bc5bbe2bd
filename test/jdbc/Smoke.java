/*
 * Smoke.java
 *	  What Java programs and BI tools do, through pgjdbc: parameters of both
 *	  number types, a prepared statement often enough to live on the server, a
 *	  cursor.  Prints "ok NAME" or "not ok NAME: WHY"; smoke.pl counts them.
 *
 * Argument: the JDBC address without user.
 */
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

import org.postgresql.PGStatement;
import org.postgresql.PGConnection;
import org.postgresql.fastpath.FastpathArg;

public class Smoke
{
	private final Connection analyst;
	private final Connection admin;

	private Smoke(String url) throws SQLException
	{
		analyst = DriverManager.getConnection(url + "&user=analyst");
		admin = DriverManager.getConnection(url + "&user=postgres");
	}

	private static void check(boolean good, String name, Object seen)
	{
		System.out.println(good ? "ok " + name
			: "not ok " + name + ": " + seen);
	}

	private long charges() throws SQLException
	{
		try (Statement s = admin.createStatement();
			ResultSet r = s.executeQuery("SELECT count(*) FROM dp_pg.ledger"))
		{
			r.next();
			return r.getLong(1);
		}
	}

	/* One row, one value, not NULL. */
	private static Object onlyValue(PreparedStatement p) throws SQLException
	{
		try (ResultSet r = p.executeQuery())
		{
			Object value = r.next() ? r.getObject(1) : null;

			return r.next() ? null : value;
		}
	}

	private void parameters() throws SQLException
	{
		long before = charges();

		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT dp_count(1, ?) FROM person"))
		{
			Object value;

			check(p.getMetaData().getColumnCount() == 1, "describe", "?");
			check(charges() == before, "describe charges nothing", charges());
			p.setDouble(1, 0.5);
			value = onlyValue(p);
			check(value instanceof Long, "setDouble for epsilon", value);
		}
		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT dp_count(1, ?) FROM person"))
		{
			Object value;

			p.setBigDecimal(1, new BigDecimal("0.1"));
			value = onlyValue(p);
			check(value instanceof Long, "setBigDecimal for epsilon", value);
		}
		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT dp_sum(visits, ?, ?, ?) FROM person"))
		{
			Object value;

			p.setDouble(1, 0);
			p.setDouble(2, 20);
			p.setDouble(3, 0.1);
			value = onlyValue(p);
			check(value instanceof Long, "setDouble for bounds", value);
		}
		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT dp_avg(weight, ?, ?, ?) FROM person WHERE visits > ?"))
		{
			Object value;

			p.setBigDecimal(1, new BigDecimal("0"));
			p.setBigDecimal(2, new BigDecimal("120.5"));
			p.setBigDecimal(3, new BigDecimal("0.1"));
			p.setInt(4, 3);
			value = onlyValue(p);
			check(value instanceof Double, "setBigDecimal for bounds", value);
		}
		check(charges() == before + 4, "four executions, four charges",
			charges() - before);

		try (Statement s = admin.createStatement();
			ResultSet r = s.executeQuery("SELECT string_agg(epsilon::text, ' ' "
				+ "ORDER BY id) FROM dp_pg.ledger"))
		{
			r.next();
			check("0.5 0.1 0.1 0.1".equals(r.getString(1)),
				"both kinds of numbers are read exactly", r.getString(1));
		}
	}

	private interface Setter
	{
		void set(PreparedStatement p, int place, int number)
			throws SQLException;
	}

	/* Every way to give a number, in every shape of an aggregate. */
	private void setters() throws SQLException
	{
		final String[] calls = {
			"dp_sum(DISTINCT visits, ?, ?, ?)", "dp_max(visits, ?, ?, ?)",
			"dp_quantile(weight, 0.5, ?, ?, ?)",
			"dp_corr(visits, weight, ?, ?, 0, 100, ?)",
			"dp_histogram(visits, ?, ?, 4, ?)"};
		final Setter[] setters = {
			(p, i, n) -> p.setInt(i, n),
			(p, i, n) -> p.setLong(i, n),
			(p, i, n) -> p.setFloat(i, n),
			(p, i, n) -> p.setObject(i, Integer.valueOf(n)),
			(p, i, n) -> p.setObject(i, Double.valueOf(n)),
			(p, i, n) -> p.setObject(i, new BigDecimal(n)),
			(p, i, n) -> p.setObject(i, String.valueOf(n), Types.OTHER)};
		int answered = 0;

		for (String call : calls)
			for (Setter setter : setters)
				try (PreparedStatement p = analyst.prepareStatement(
					"SELECT " + call + " FROM person"))
				{
					setter.set(p, 1, 0);
					setter.set(p, 2, 20);
					p.setBigDecimal(3, new BigDecimal("0.01"));
					/* noise may leave no variance to divide by */
					if (onlyValue(p) != null || call.startsWith("dp_corr"))
						answered++;
				}
		check(answered == calls.length * setters.length,
			"every setter in every shape", answered);
	}

	/* pgjdbc prepares on the server from the fifth execution on. */
	private void prepared() throws SQLException
	{
		long before = charges();
		int answered = 0;
		boolean server = false;

		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT health, dp_count(1, ?) FROM person GROUP BY health"))
		{
			for (int i = 0; i < 6; i++)
			{
				int rows = 0;

				p.setDouble(1, 0.1);
				try (ResultSet r = p.executeQuery())
				{
					while (r.next())
					{
						r.getLong(2);
						if (!r.wasNull() && r.getString(1) != null)
							rows++;
					}
				}
				if (rows == 4)
					answered++;
				server = p.unwrap(PGStatement.class).isUseServerPrepare();
			}
		}
		check(answered == 6, "six executions are answered", answered);
		check(server, "the last ones prepared on the server", server);
		check(charges() == before + 6, "six executions, six charges",
			charges() - before);
	}

	private void cursor() throws SQLException
	{
		long before = charges();
		StringBuilder keys = new StringBuilder();

		analyst.setAutoCommit(false);
		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT health, dp_avg(weight, 0, 120, ?) FROM person "
			+ "GROUP BY health"))
		{
			p.setFetchSize(2);
			p.setBigDecimal(1, new BigDecimal("0.25"));
			try (ResultSet r = p.executeQuery())
			{
				while (r.next())
				{
					r.getDouble(2);
					keys.append(r.getString(1)).append(r.wasNull() ? "!" : " ");
				}
			}
		}
		analyst.rollback();
		analyst.setAutoCommit(true);
		check("excellent good fair poor ".contentEquals(keys),
			"a cursor fetches all keys in order", keys);
		check(charges() == before + 1,
			"a cursor is charged once, ROLLBACK or not", charges() - before);
	}

	private void refusals() throws SQLException
	{
		long before = charges();
		String state = "none";

		try (Statement s = analyst.createStatement())
		{
			s.executeQuery("SELECT * FROM person").close();
		}
		catch (SQLException e)
		{
			state = e.getSQLState();
		}
		check("42501".equals(state), "no raw rows", state);
		state = "none";
		try (PreparedStatement p = analyst.prepareStatement(
			"SELECT dp_count(1, ?) FROM person"))
		{
			p.setDouble(1, 9.5);
			onlyValue(p);
		}
		catch (SQLException e)
		{
			state = e.getSQLState();
		}
		check("53400".equals(state), "an exhausted budget", state);
		check(charges() == before, "refusals charge nothing", charges());
	}

	/*
	 * Sparse vector: arrays, both number types, a session.  Counts are 2500
	 * rows off the threshold, a wrong answer has probability below exp(-30).
	 */
	private void questions() throws SQLException
	{
		long before = charges();
		long session;
		String[] all = {"visits < 10", "visits < 0"};

		try (PreparedStatement p = analyst.prepareStatement("SELECT above "
			+ "FROM dp_sparse_vector(?::regclass, ?, ?, ?, epsilon => ?)"))
		{
			p.setString(1, "person");
			p.setArray(2, analyst.createArrayOf("text", all));
			p.setDouble(3, 2500);
			p.setInt(4, 2);
			p.setDouble(5, 0.1);
			try (ResultSet r = p.executeQuery())
			{
				check(r.next() && r.getBoolean(1) && r.next()
					&& !r.getBoolean(1) && !r.next(),
					"setArray and setDouble for sparse vector", "?");
			}
		}
		try (PreparedStatement p = analyst.prepareStatement("SELECT "
			+ "dp_sparse_vector_open('person', ?, epsilon => ?)"))
		{
			p.setBigDecimal(1, new BigDecimal("2500"));
			p.setBigDecimal(2, new BigDecimal("0.1"));
			session = (Long) onlyValue(p);
		}
		try (PreparedStatement p = analyst.prepareStatement("SELECT above, "
			+ "above_left FROM dp_sparse_vector_ask(?, ?)"))
		{
			p.setLong(1, session);
			p.setString(2, all[0]);
			try (ResultSet r = p.executeQuery())
			{
				check(r.next() && r.getBoolean(1) && r.getInt(2) == 0,
					"a session is asked", "?");
			}
		}
		check(charges() == before + 2, "a call and a session, two charges",
			charges() - before);
	}

	/*
	 * The protocol's function call, which tells a function nothing about the
	 * expression it is called from.
	 */
	private void fastPath() throws SQLException
	{
		long function = (Long) onlyValue(analyst.prepareStatement(
			"SELECT 'dp_smalldb_error(bigint,bigint,float8,bigint,float8,"
			+ "float8,bigint,bigint,bigint)'::regprocedure::oid::bigint"));
		FastpathArg[] args = new FastpathArg[9];
		String seen = "an answer";

		for (int i = 0; i < args.length; i++)
		{
			args[i] = i == 2 || i == 4 || i == 5 ?
				new FastpathArg(ByteBuffer.allocate(8).putDouble(0.5).array())
				: new FastpathArg(100L);
		}
		try
		{
			analyst.unwrap(PGConnection.class).getFastpathAPI()
				.fastpath((int) function, args);
		}
		catch (SQLException e)
		{
			seen = e.getSQLState();
		}
		check(seen.equals("an answer"), "a function call by the protocol",
			seen);
	}

	/* What tools show beside names, and a query that dp_describe gives. */
	private void remarks() throws SQLException
	{
		DatabaseMetaData data = analyst.getMetaData();

		try (ResultSet r = data.getTables(null, "bi", "%", null))
		{
			String text = r.next() ? r.getString("REMARKS") : null;

			check(text != null && text.startsWith("People of the clinic ["),
				"remarks of the view", text);
		}
		try (ResultSet r = data.getColumns(null, "bi", "people", "%"))
		{
			while (r.next())
			{
				String text = r.getString("REMARKS");

				if (r.getString("COLUMN_NAME").equals("health"))
					check(text != null &&
						text.startsWith("As they feel [") &&
						text.contains("'excellent'"), "remarks: keys", text);
				else if (r.getString("COLUMN_NAME").equals("visits"))
					check(text != null && text.contains("from 0 to 20"),
						"remarks: bounds", text);
			}
		}
		try (Statement s = analyst.createStatement();
			ResultSet r = s.executeQuery("SELECT example FROM "
				+ "dp_describe('bi.people') WHERE attribute = 'health'"))
		{
			String example = r.next() ? r.getString(1) : null;

			check(example != null && example.contains("GROUP BY health"),
				"an example of dp_describe", example);
			try (Statement t = analyst.createStatement();
				ResultSet e = t.executeQuery("EXPLAIN " + example))
			{
				check(e.next(), "the example is a private query", "no plan");
			}
		}
	}

	public static void main(String[] args) throws SQLException
	{
		Smoke smoke = new Smoke(args[0]);

		smoke.parameters();
		smoke.setters();
		smoke.prepared();
		smoke.cursor();
		smoke.questions();
		smoke.refusals();
		smoke.fastPath();
		smoke.remarks();
		smoke.analyst.close();
		smoke.admin.close();
	}
}
