import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.http.Header;
import org.apache.http.client.config.RequestConfig;
import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.RequestBuilder;
import org.apache.http.entity.AbstractHttpEntity;
import org.apache.http.entity.ByteArrayEntity;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.util.EntityUtils;

/** Does the exchanges of the HTTP corpus with clients in Java: HttpClientProgram jdk|jdk2|apache, with jdk2 for HTTP/2 by an upgrade. */
public final class HttpClientProgram {
  /** The input: see e2e/traffic/support/types.ts. */
  static final class Input {
    List<Target> targets;
  }

  static final class Target {
    String server;
    String host;
    String address;
    int port;
    List<Exchange> exchanges;
  }

  static final class Exchange {
    String name;
    String method;
    String path;
    List<List<String>> headers = List.of();
    Body body;
    String host;
    boolean byAddress;
    boolean expectsContinue;
    int times = 1;
  }

  static final class Body {
    int bytes;
    String framing;
  }

  interface Client {
    Map<String, Object> ask(URI uri, Exchange exchange) throws IOException, InterruptedException;
  }

  public static void main(String[] args) throws IOException, InterruptedException {
    Client client = args[0].equals("apache") ? apache() : jdk(args[0].equals("jdk2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1);
    Input input = Json.parse(new String(System.in.readAllBytes(), StandardCharsets.UTF_8), Input.class);
    Map<String, Object> all = new LinkedHashMap<>();
    for (Target target : input.targets) {
      Map<String, Object> own = new LinkedHashMap<>();
      for (Exchange exchange : target.exchanges) {
        List<Object> answers = new ArrayList<>();
        for (int i = 0; i < exchange.times; i++) answers.add(ask(client, target, exchange));
        own.put(exchange.name, exchange.times == 1 ? answers.get(0) : answers);
      }
      all.put(target.server, own);
    }
    System.out.println(Json.text(all));
    System.exit(0);
  }

  private static Map<String, Object> ask(Client client, Target target, Exchange exchange) throws InterruptedException {
    String dialled = exchange.byAddress ? target.address : target.host;
    try {
      return client.ask(URI.create("http://" + dialled + ":" + target.port + exchange.path), exchange);
    } catch (IOException | IllegalArgumentException error) {
      return Map.of("error", error.getClass().getSimpleName());
    }
  }

  private static Client jdk(HttpClient.Version version) {
    HttpClient client = HttpClient.newBuilder().version(version).build();
    return (uri, exchange) -> {
      HttpRequest.BodyPublisher publisher = HttpRequest.BodyPublishers.noBody();
      if (exchange.body != null) {
        byte[] bytes = "b".repeat(exchange.body.bytes).getBytes(StandardCharsets.UTF_8);
        publisher = HttpRequest.BodyPublishers.ofByteArray(bytes);
        // A body of unknown length goes in chunks.
        if (exchange.body.framing.equals("chunked")) publisher = HttpRequest.BodyPublishers.fromPublisher(publisher);
      }
      HttpRequest.Builder builder = HttpRequest.newBuilder(uri).method(exchange.method, publisher).timeout(Duration.ofSeconds(30));
      for (List<String> header : exchange.headers) builder.header(header.get(0), header.get(1));
      if (exchange.host != null) builder.header("Host", exchange.host);
      if (exchange.expectsContinue) builder.expectContinue(true);
      HttpResponse<byte[]> answer = client.send(builder.build(), HttpResponse.BodyHandlers.ofByteArray());
      List<List<String>> headers = new ArrayList<>();
      answer.headers().map().forEach((name, values) -> values.forEach((value) -> headers.add(List.of(name, value))));
      return seen(answer.statusCode(), answer.version().toString(), headers, answer.body());
    };
  }

  private static Client apache() {
    RequestConfig settings = RequestConfig.custom().setSocketTimeout(30_000).build();
    CloseableHttpClient client = HttpClients.custom().disableRedirectHandling().disableContentCompression().disableAutomaticRetries().setDefaultRequestConfig(settings).build();
    return (uri, exchange) -> {
      RequestBuilder builder = RequestBuilder.create(exchange.method).setUri(uri);
      for (List<String> header : exchange.headers) builder.addHeader(header.get(0), header.get(1));
      if (exchange.host != null) builder.addHeader("Host", exchange.host);
      if (exchange.body != null) {
        AbstractHttpEntity entity = new ByteArrayEntity("b".repeat(exchange.body.bytes).getBytes(StandardCharsets.UTF_8));
        entity.setChunked(exchange.body.framing.equals("chunked"));
        builder.setEntity(entity);
      }
      if (exchange.expectsContinue) builder.setConfig(RequestConfig.copy(settings).setExpectContinueEnabled(true).build());
      try (CloseableHttpResponse answer = client.execute(builder.build())) {
        List<List<String>> headers = new ArrayList<>();
        for (Header header : answer.getAllHeaders()) headers.add(List.of(header.getName(), header.getValue()));
        byte[] body = answer.getEntity() == null ? new byte[0] : EntityUtils.toByteArray(answer.getEntity());
        return seen(answer.getStatusLine().getStatusCode(), answer.getProtocolVersion().toString(), headers, body);
      }
    };
  }

  private static Map<String, Object> seen(int status, String version, List<List<String>> headers, byte[] body) {
    Map<String, Object> seen = new LinkedHashMap<>();
    seen.put("status", status);
    seen.put("version", version);
    seen.put("headers", headers);
    seen.put("bytes", body.length);
    seen.put("sha256", Json.sha256(body));
    String text = new String(body, StandardCharsets.UTF_8);
    if (text.startsWith("{\"seen\":")) seen.put("text", text);
    return seen;
  }
}
