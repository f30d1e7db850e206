import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.zip.GZIPOutputStream;

/** Answers the exchanges of the HTTP corpus with the server of the JDK: HttpServerProgram port. */
public final class HttpServerProgram {
  private static final byte[] TEXT = "hello from the corpus\n".repeat(20).getBytes(StandardCharsets.UTF_8);

  public static void main(String[] args) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress("0.0.0.0", Integer.parseInt(args[0])), 0);
    server.createContext("/", HttpServerProgram::answer);
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
  }

  private static void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getRawPath();
    try (exchange) {
      exchange.getResponseHeaders().set("Content-Type", "text/plain");
      if (path.startsWith("/early")) {
        send(exchange, 413, "too large".getBytes(StandardCharsets.UTF_8));
      } else if (path.startsWith("/echo")) {
        echo(exchange);
      } else if (path.startsWith("/status/")) {
        int code = Integer.parseInt(path.substring("/status/".length()));
        if (code == 304) exchange.getResponseHeaders().set("ETag", "\"corpus\"");
        if (code == 204 || code == 304) exchange.sendResponseHeaders(code, -1);
        else send(exchange, code, ("status " + code).getBytes(StandardCharsets.UTF_8));
      } else if (path.equals("/redirect")) {
        exchange.getResponseHeaders().set("Location", "/text");
        exchange.sendResponseHeaders(302, -1);
      } else if (path.equals("/gzip")) {
        exchange.getResponseHeaders().set("Content-Encoding", "gzip");
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream writer = new GZIPOutputStream(packed)) {
          writer.write(TEXT);
        }
        send(exchange, 200, packed.toByteArray());
      } else if (path.equals("/cookies")) {
        for (String cookie : List.of("a=1; Path=/", "b=2; HttpOnly", "c=3; Expires=Wed, 21 Oct 2065 07:28:00 GMT"))
          exchange.getResponseHeaders().add("Set-Cookie", cookie);
        send(exchange, 200, String.join("; ", exchange.getRequestHeaders().getOrDefault("Cookie", List.of())).getBytes(StandardCharsets.UTF_8));
      } else if (path.equals("/large-headers")) {
        for (int i = 0; i < 40; i++) exchange.getResponseHeaders().set("X-Large-" + i, "v".repeat(1_000));
        send(exchange, 200, "large".getBytes(StandardCharsets.UTF_8));
      } else if (path.equals("/close")) {
        exchange.getResponseHeaders().set("Connection", "close");
        send(exchange, 200, "closed".getBytes(StandardCharsets.UTF_8));
      } else if (path.equals("/events")) {
        events(exchange);
      } else if (path.equals("/slow")) {
        pause(300);
        send(exchange, 200, "slow".getBytes(StandardCharsets.UTF_8));
      } else {
        exchange.getResponseHeaders().set("X-Mixed-Case", "Value");
        if (exchange.getRequestMethod().equals("HEAD")) {
          exchange.getResponseHeaders().set("Content-Length", String.valueOf(TEXT.length));
          exchange.sendResponseHeaders(200, -1);
        } else send(exchange, 200, TEXT);
      }
    }
  }

  private static void send(HttpExchange exchange, int code, byte[] body) throws IOException {
    exchange.sendResponseHeaders(code, body.length);
    exchange.getResponseBody().write(body);
  }

  private static void echo(HttpExchange exchange) throws IOException {
    byte[] body;
    try (InputStream input = exchange.getRequestBody()) {
      body = input.readAllBytes();
    }
    Map<String, Object> seen = new LinkedHashMap<>();
    seen.put("method", exchange.getRequestMethod());
    seen.put("url", exchange.getRequestURI().toString());
    seen.put("version", exchange.getProtocol());
    List<List<String>> headers = new ArrayList<>();
    exchange.getRequestHeaders().forEach((name, values) -> values.forEach((value) -> headers.add(List.of(name, value))));
    seen.put("headers", headers);
    seen.put("bytes", body.length);
    seen.put("sha256", Json.sha256(body));
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    send(exchange, 200, Json.text(Map.of("seen", seen)).getBytes(StandardCharsets.UTF_8));
  }

  private static void events(HttpExchange exchange) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
    exchange.sendResponseHeaders(200, 0);
    for (int i = 0; i < 5; i++) {
      exchange.getResponseBody().write(("id: " + i + "\ndata: event " + i + "\n\n").getBytes(StandardCharsets.UTF_8));
      exchange.getResponseBody().flush();
      pause(20);
    }
  }

  private static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }
}
