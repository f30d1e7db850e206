import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs what a client of the traffic corpus does with each of its servers. */
final class Exchanges {
  private static final long EXCHANGE_SECONDS = 120;

  /** A server, with the names of the exchanges that a client has with it. */
  static final class Target {
    String server;
    String host;
    int port;
    List<Named> exchanges;
  }

  static final class Named {
    String name;
  }

  private static final class Input {
    List<Target> targets;
  }

  /** Connects to a server, and answers with what a client does with it, by names of exchanges. */
  interface Client {
    Map<String, Callable<Object>> connect(Target target) throws Exception;
  }

  private Exchanges() {}

  /** Reads targets from the standard input, runs all exchanges at once, and prints what they have seen as one JSON document. */
  static void run(Client client) throws IOException, InterruptedException, ExecutionException {
    Input input = Json.parse(new String(System.in.readAllBytes(), StandardCharsets.UTF_8), Input.class);
    ExecutorService threads = Executors.newCachedThreadPool();
    Map<String, Map<String, Future<Object>>> running = new TreeMap<>();
    for (Target target : input.targets) {
      Future<Map<String, Callable<Object>>> known = threads.submit(() -> client.connect(target));
      Map<String, Future<Object>> ofTarget = new TreeMap<>();
      for (Named exchange : target.exchanges) ofTarget.put(exchange.name, threads.submit(() -> resultOf(known, exchange.name)));
      running.put(target.server, ofTarget);
    }
    Map<String, Map<String, Object>> seen = new TreeMap<>();
    for (String server : running.keySet()) {
      Map<String, Object> ofTarget = new TreeMap<>();
      for (String name : running.get(server).keySet()) ofTarget.put(name, endOf(running.get(server).get(name)));
      seen.put(server, ofTarget);
    }
    System.out.print(Json.text(seen));
    System.out.flush();
    // Clients may keep connections and threads, which would keep the process.
    System.exit(0);
  }

  /** One that hangs must not hide the others. */
  private static Object endOf(Future<Object> exchange) throws InterruptedException, ExecutionException {
    try {
      return exchange.get(EXCHANGE_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException error) {
      return Map.of("error", "did not end");
    }
  }

  private static Object resultOf(Future<Map<String, Callable<Object>>> known, String name) {
    try {
      Callable<Object> exchange = known.get().get(name);
      if (exchange == null) throw new IllegalStateException("no exchange of this client is named " + name);
      return exchange.call();
    } catch (Throwable error) {
      error.printStackTrace();
      return Map.of("error", error.toString());
    }
  }
}
