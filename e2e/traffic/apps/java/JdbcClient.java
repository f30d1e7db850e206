import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** Does the exchanges of the TCP corpus with drivers for JDBC: JdbcClient postgresql|mariadb keys. */
public final class JdbcClient {
  private static final int LARGE_BYTES = 1 << 20;
  private static final int IDLE_MS = 2_000;

  private final String url;
  private final boolean isPostgres;
  private final String certificate;

  private JdbcClient(String kind, String keys, Exchanges.Target target) {
    isPostgres = kind.equals("postgresql");
    certificate = keys + "/tls.crt";
    url = "jdbc:" + kind + "://" + target.host + ":" + target.port + "/" + (isPostgres ? "postgres" : "corpus");
  }

  public static void main(String[] arguments) throws Exception {
    Exchanges.run(target -> new JdbcClient(arguments[0], arguments[1], target).exchanges());
  }

  private Map<String, Callable<Object>> exchanges() {
    String rows = isPostgres ? "select i from generate_series(1, 5000) i" : "select seq from seq_1_to_5000";
    String wrong = isPostgres ? "select 1 / 0" : "select nothing from nowhere";
    String cipher = isPostgres ? "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()" : "show status like 'Ssl_version'";
    Map<String, Callable<Object>> all = new TreeMap<>();
    all.put("query", () -> rowsOf("select 1 + 1, version()", plain()));
    all.put("prepared", this::prepared);
    all.put("many-rows", () -> rowsOf(rows, plain()).size());
    all.put("large", this::large);
    all.put("error", () -> failureOf(wrong, plain()));
    all.put("wrong-password", () -> failureOf("select 1", with(plain(), "password", "wrong")));
    all.put("idle", this::idle);
    all.put("tls", () -> rowsOf(cipher, tls()));
    return all;
  }

  private Properties plain() {
    Properties settings = new Properties();
    settings.setProperty("user", "corpus");
    settings.setProperty("password", "corpus");
    return isPostgres ? with(settings, "sslmode", "disable") : settings;
  }

  private Properties tls() {
    if (isPostgres) return with(with(plain(), "sslmode", "verify-full"), "sslrootcert", certificate);
    return with(with(plain(), "useSsl", "true"), "serverSslCert", certificate);
  }

  private static Properties with(Properties settings, String name, String value) {
    settings.setProperty(name, value);
    return settings;
  }

  private List<List<String>> rowsOf(String query, Properties settings) throws SQLException {
    try (Connection connection = DriverManager.getConnection(url, settings)) {
      return rowsOf(connection.prepareStatement(query));
    }
  }

  private static List<List<String>> rowsOf(PreparedStatement statement) throws SQLException {
    List<List<String>> rows = new ArrayList<>();
    try (ResultSet found = statement.executeQuery()) {
      while (found.next()) {
        List<String> row = new ArrayList<>();
        for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) row.add(found.getString(i));
        rows.add(row);
      }
    }
    return rows;
  }

  /** More often than the five times after which the driver for PostgreSQL names a statement at the server. */
  private Object prepared() throws SQLException {
    List<Object> seen = new ArrayList<>();
    try (Connection connection = DriverManager.getConnection(url, plain());
        PreparedStatement twice = connection.prepareStatement(isPostgres ? "select ?::text || 'b'" : "select concat(?, 'b')")) {
      for (int i = 0; i < 8; i++) {
        twice.setString(1, Integer.toString(i));
        seen.add(rowsOf(twice));
      }
    }
    return seen;
  }

  private Object large() throws SQLException {
    String value = rowsOf("select repeat('x', " + LARGE_BYTES + ")", plain()).get(0).get(0);
    return Map.of("bytes", value.length(), "sha256", Json.sha256(value.getBytes(StandardCharsets.UTF_8)));
  }

  private Object failureOf(String query, Properties settings) {
    try {
      return rowsOf(query, settings);
    } catch (SQLException error) {
      return Map.of("state", error.getSQLState(), "code", error.getErrorCode());
    }
  }

  private Object idle() throws Exception {
    try (Connection connection = DriverManager.getConnection(url, plain())) {
      Thread.sleep(IDLE_MS);
      return rowsOf(connection.prepareStatement("select 2"));
    }
  }
}
