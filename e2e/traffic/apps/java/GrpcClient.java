import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Does the exchanges of the gRPC corpus with grpc-java on Netty. */
public final class GrpcClient {
  private static final int LARGE_BYTES = 3 << 20;
  private static final int CONCURRENT_CALLS = 150;
  // grpc-java sends no pings more often than every ten seconds.
  private static final long KEEPALIVE_SECONDS = 10;
  private static final long IDLE_MS = 12_000;
  private static final long COUNT_MS = 100_000;
  private static final long BARRIER_SECONDS = 60;
  private static final String[] STATUSES = {"UNKNOWN", "SERVING", "NOT_SERVING"};

  private final ManagedChannel channel;
  private final String key;

  private GrpcClient(Exchanges.Target target) {
    channel =
        NettyChannelBuilder.forTarget("dns:///" + target.host + ":" + target.port)
            .usePlaintext()
            .keepAliveTime(KEEPALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(60, TimeUnit.SECONDS)
            .keepAliveWithoutCalls(true)
            .build();
    // Several clients may ask one server.
    key = "java-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
  }

  public static void main(String[] arguments) throws Exception {
    Exchanges.run(target -> new GrpcClient(target).exchanges());
  }

  private Map<String, Callable<Object>> exchanges() {
    Map<String, Callable<Object>> all = new TreeMap<>();
    all.put("unary", this::unary);
    all.put("empty-message", () -> Map.of("bytes", call("Unary", "").succeeded().length));
    all.put("large-message", () -> digest(call("Unary", "large".repeat(LARGE_BYTES / 5)).succeeded()));
    all.put("gzip", () -> digest(call("Unary", "small ".repeat(50_000), CallOptions.DEFAULT.withCompression("gzip")).succeeded()));
    all.put("failure", this::failure);
    all.put("unimplemented", () -> call("Missing", "").codeAndMessage());
    all.put("client-stream", this::clientStream);
    all.put("server-stream", this::serverStream);
    all.put("bidi-stream", this::bidiStream);
    all.put("early-end", this::earlyEnd);
    all.put("deadline", this::deadline);
    all.put("cancellation", this::cancellation);
    all.put("concurrent", this::concurrent);
    all.put("keepalive", this::keepalive);
    all.put("health", this::health);
    return all;
  }

  /** A call that has begun; nothing but its status says whether it failed. */
  private static final class Call extends ClientCall.Listener<byte[]> {
    private final ClientCall<byte[], byte[]> call;
    private final BlockingQueue<byte[]> messages = new LinkedBlockingQueue<>();
    private final CompletableFuture<Metadata> header = new CompletableFuture<>();
    private final CompletableFuture<Status> status = new CompletableFuture<>();
    private Metadata trailer = new Metadata();

    Call(ClientCall<byte[], byte[]> call, Metadata metadata) {
      this.call = call;
      call.start(this, metadata);
      call.request(Integer.MAX_VALUE);
    }

    @Override
    public void onHeaders(Metadata headers) {
      header.complete(headers);
    }

    @Override
    public void onMessage(byte[] message) {
      messages.add(message);
    }

    @Override
    public void onClose(Status ended, Metadata trailers) {
      trailer = trailers;
      header.complete(new Metadata());
      status.complete(ended);
    }

    String ask(String message) throws InterruptedException {
      call.sendMessage(bytes(message));
      return text(messages.take());
    }

    int code() throws Exception {
      return status.get().getCode().value();
    }

    byte[] succeeded() throws Exception {
      if (code() != 0) throw status.get().asRuntimeException();
      return messages.take();
    }

    Map<String, Object> codeAndMessage() throws Exception {
      return Map.of("code", code(), "message", String.valueOf(status.get().getDescription()));
    }
  }

  private Call begin(String path, MethodType type, CallOptions options, Metadata metadata) {
    return new Call(channel.newCall(GrpcBytes.methodOf(path, type), options.withWaitForReady()), metadata);
  }

  private Call call(String method, String message) {
    return call(method, message, CallOptions.DEFAULT);
  }

  private Call call(String method, String message, CallOptions options) {
    Call begun = begin("corpus.Echo/" + method, MethodType.UNARY, options, new Metadata());
    return send(begun, bytes(message));
  }

  private static Call send(Call begun, byte[] message) {
    begun.call.setMessageCompression(true);
    begun.call.sendMessage(message);
    begun.call.halfClose();
    return begun;
  }

  private Call stream(String method) {
    return begin("corpus.Echo/" + method, MethodType.BIDI_STREAMING, CallOptions.DEFAULT, new Metadata());
  }

  private Object unary() throws Exception {
    Metadata metadata = new Metadata();
    metadata.put(GrpcBytes.ascii("text"), "plain value");
    metadata.put(GrpcBytes.ascii("list"), "a");
    metadata.put(GrpcBytes.ascii("list"), "b");
    metadata.put(GrpcBytes.binary("blob-bin"), new byte[] {0, 1, -2, -1});
    metadata.put(GrpcBytes.ascii("long"), "x".repeat(6000));
    Call call = send(begin("corpus.Echo/Unary", MethodType.UNARY, CallOptions.DEFAULT, metadata), bytes("hello"));
    return Map.of(
        "message", text(call.succeeded()),
        "metadata", Json.parse(text(call.header.get().get(GrpcBytes.binary("seen-bin"))), Map.class),
        "header", call.header.get().get(GrpcBytes.ascii("answer-text")),
        "trailer", call.trailer.get(GrpcBytes.ascii("trailer-text")),
        "trailerBlob", Base64.getEncoder().encodeToString(call.trailer.get(GrpcBytes.binary("trailer-blob-bin"))));
  }

  private Object failure() throws Exception {
    Call call = call("Fail", "7:Grüße, 100 % sure\nof it");
    Map<String, Object> seen = new TreeMap<>(call.codeAndMessage());
    seen.put("details", text(call.trailer.get(GrpcBytes.binary("detail-bin"))));
    return seen;
  }

  private Object clientStream() throws Exception {
    Call sum = stream("Sum");
    for (int i = 0; i < 100; i++) sum.call.sendMessage(new byte[1024]);
    sum.call.halfClose();
    sum.status.get();
    return Map.of("answers", texts(sum));
  }

  private Object serverStream() throws Exception {
    Call count = stream("Count");
    count.call.sendMessage(bytes("500"));
    count.call.halfClose();
    count.status.get();
    List<String> messages = texts(count);
    boolean isInOrder = true;
    for (int i = 0; i < messages.size(); i++) isInOrder &= messages.get(i).equals(Integer.toString(i));
    return Map.of("messages", messages.size(), "inOrder", isInOrder);
  }

  private static List<String> texts(Call ended) {
    List<String> all = new ArrayList<>();
    for (byte[] message : ended.messages) all.add(text(message));
    return all;
  }

  private Object bidiStream() throws Exception {
    Call chat = stream("Chat");
    String header = chat.header.get().get(GrpcBytes.ascii("answer-text"));
    int same = 0;
    for (int i = 0; i < 20; i++) if (chat.ask(Integer.toString(i)).equals(Integer.toString(i))) same++;
    chat.call.halfClose();
    chat.status.get();
    return Map.of("header", header, "answers", same, "rest", chat.messages.size(), "trailer", chat.trailer.get(GrpcBytes.ascii("trailer-text")));
  }

  private Object earlyEnd() throws Exception {
    Call reject = stream("Reject");
    reject.call.sendMessage(bytes("first"));
    return reject.codeAndMessage();
  }

  private Object deadline() throws Exception {
    String name = key + "-deadline";
    // The time is not for making the connection.
    call("Unary", "").succeeded();
    int code = call("Wait", name + ":60000", CallOptions.DEFAULT.withDeadlineAfter(4, TimeUnit.SECONDS)).code();
    // A server that is faster than the client resets the stream, and a sidecar says UNAVAILABLE then.
    return Map.of("isOver", List.of(1, 4, 14).contains(code), "endedAtServer", isCounted(name, "1:1"));
  }

  private Object cancellation() throws Exception {
    String name = key + "-cancellation";
    Call waiting = call("Wait", name + ":60000");
    boolean began = isCounted(name, "1:0");
    waiting.call.cancel("enough", null);
    return Map.of("began", began, "code", waiting.code(), "endedAtServer", isCounted(name, "1:1"));
  }

  /** Waits until a server has counted so many calls that began and that callers ended. */
  private boolean isCounted(String name, String counts) throws Exception {
    for (long end = System.currentTimeMillis() + COUNT_MS; System.currentTimeMillis() < end; Thread.sleep(50))
      if (text(call("Counts", name).succeeded()).equals(counts)) return true;
    return false;
  }

  private Object concurrent() throws Exception {
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < CONCURRENT_CALLS; i++) calls.add(call("Barrier", key + ":" + CONCURRENT_CALLS, CallOptions.DEFAULT.withDeadlineAfter(BARRIER_SECONDS, TimeUnit.SECONDS)));
    Map<String, Integer> byCode = new TreeMap<>();
    for (Call call : calls) byCode.merge(Integer.toString(call.code()), 1, Integer::sum);
    return Map.of("callsByCode", byCode);
  }

  private Object keepalive() throws Exception {
    Call chat = stream("Chat");
    String before = chat.ask("before");
    Thread.sleep(IDLE_MS);
    String after = chat.ask("after");
    chat.call.halfClose();
    return Map.of("before", before, "after", after);
  }

  private Object health() throws Exception {
    byte[] known = check("corpus.Echo").succeeded();
    return Map.of("known", STATUSES[known[1]], "unknown", check("corpus.Nothing").code());
  }

  /** Sends a grpc.health.v1.HealthCheckRequest by hand: {1: name}. */
  private Call check(String name) {
    return send(
        begin("grpc.health.v1.Health/Check", MethodType.UNARY, CallOptions.DEFAULT, new Metadata()),
        bytes("\n" + (char) name.length() + name));
  }

  private static Map<String, Object> digest(byte[] message) {
    return Map.of("bytes", message.length, "sha256", Json.sha256(message));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] message) {
    return new String(message, StandardCharsets.UTF_8);
  }
}
