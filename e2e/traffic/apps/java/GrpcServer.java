import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** A gRPC server of the traffic corpus: the service corpus.Echo as tools/traffic/go/grpc-server has it. Its argument is the port. */
public final class GrpcServer {
  private static final byte[] SERVING = {8, 1};

  private final Map<String, Integer> began = new HashMap<>();
  private final Map<String, Integer> ended = new HashMap<>();
  private final Map<String, List<Runnable>> barriers = new HashMap<>();
  private final ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor();

  public static void main(String[] arguments) throws Exception {
    GrpcServer echo = new GrpcServer();
    NettyServerBuilder.forPort(Integer.parseInt(arguments[0]))
        .addService(ServerInterceptors.intercept(echo.service(), new Headers()))
        .addService(health())
        .permitKeepAliveTime(500, TimeUnit.MILLISECONDS)
        .permitKeepAliveWithoutCalls(true)
        .build()
        .start()
        .awaitTermination();
  }

  private ServerServiceDefinition service() {
    return ServerServiceDefinition.builder("corpus.Echo")
        .addMethod(GrpcBytes.method("Unary", MethodType.UNARY), ServerCalls.asyncUnaryCall(GrpcServer::answer))
        .addMethod(GrpcBytes.method("Fail", MethodType.UNARY), ServerCalls.asyncUnaryCall(GrpcServer::fail))
        .addMethod(GrpcBytes.method("Wait", MethodType.UNARY), ServerCalls.asyncUnaryCall(this::waitFor))
        .addMethod(GrpcBytes.method("Counts", MethodType.UNARY), ServerCalls.asyncUnaryCall(this::counts))
        .addMethod(GrpcBytes.method("Barrier", MethodType.UNARY), ServerCalls.asyncUnaryCall(this::barrier))
        .addMethod(GrpcBytes.method("Sum", MethodType.BIDI_STREAMING), ServerCalls.asyncBidiStreamingCall(GrpcServer::sum))
        .addMethod(GrpcBytes.method("Count", MethodType.BIDI_STREAMING), ServerCalls.asyncBidiStreamingCall(GrpcServer::count))
        .addMethod(GrpcBytes.method("Chat", MethodType.BIDI_STREAMING), ServerCalls.asyncBidiStreamingCall(GrpcServer::chat))
        .addMethod(GrpcBytes.method("Reject", MethodType.BIDI_STREAMING), ServerCalls.asyncBidiStreamingCall(GrpcServer::reject))
        .build();
  }

  /** grpc.health.v1.Health/Check by hand: its answer is {1: status}. */
  private static ServerServiceDefinition health() {
    MethodDescriptor<byte[], byte[]> check = GrpcBytes.methodOf("grpc.health.v1.Health/Check", MethodType.UNARY);
    return ServerServiceDefinition.builder("grpc.health.v1.Health")
        .addMethod(
            check,
            ServerCalls.asyncUnaryCall(
                (byte[] request, StreamObserver<byte[]> answer) -> {
                  String name = request.length == 0 ? "" : text(Arrays.copyOfRange(request, 2, request.length));
                  if (name.isEmpty() || name.equals("corpus.Echo")) complete(answer, SERVING);
                  else answer.onError(Status.NOT_FOUND.withDescription("unknown service").asRuntimeException());
                }))
        .build();
  }

  /** Puts into headers and trailers what methods of the service tell in them. */
  private static final class Headers implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata received, ServerCallHandler<Q, A> next) {
      String method = call.getMethodDescriptor().getFullMethodName();
      Metadata trailers = new Metadata();
      ServerCall<Q, A> answering =
          new SimpleForwardingServerCall<>(call) {
            @Override
            public void sendHeaders(Metadata headers) {
              if (method.endsWith("/Unary")) {
                headers.put(GrpcBytes.binary("seen-bin"), printable(received).getBytes(StandardCharsets.UTF_8));
                headers.put(GrpcBytes.ascii("answer-text"), "of the header");
                trailers.put(GrpcBytes.ascii("trailer-text"), "of the trailer");
                trailers.put(GrpcBytes.binary("trailer-blob-bin"), new byte[] {0, 1, -1});
              }
              if (method.endsWith("/Chat")) {
                headers.put(GrpcBytes.ascii("answer-text"), "before any message");
                trailers.put(GrpcBytes.ascii("trailer-text"), "of the chat");
              }
              super.sendHeaders(headers);
            }

            @Override
            public void close(Status status, Metadata own) {
              own.merge(trailers);
              super.close(status, own);
            }
          };
      if (method.endsWith("/Chat")) {
        answering.sendHeaders(new Metadata());
        // The first message would send it again.
        ServerCall<Q, A> headed =
            new SimpleForwardingServerCall<>(answering) {
              @Override
              public void sendHeaders(Metadata headers) {}
            };
        return next.startCall(headed, received);
      }
      return next.startCall(answering, received);
    }
  }

  private static String printable(Metadata received) {
    Map<String, List<String>> names = new TreeMap<>();
    for (String name : received.keys()) {
      List<String> values = names.computeIfAbsent(name, key -> new ArrayList<>());
      if (name.endsWith("-bin"))
        for (byte[] value : received.getAll(GrpcBytes.binary(name))) values.add(shorten(Base64.getEncoder().encodeToString(value)));
      else for (String value : received.getAll(GrpcBytes.ascii(name))) values.add(shorten(value));
    }
    return Json.text(names);
  }

  /** All of it must fit into the header of an answer. */
  private static String shorten(String value) {
    return value.length() > 100 ? value.length() + " characters" : value;
  }

  private static void answer(byte[] message, StreamObserver<byte[]> answer) {
    complete(answer, message);
  }

  private static void fail(byte[] message, StreamObserver<byte[]> answer) {
    String[] parts = text(message).split(":", 2);
    Metadata trailers = new Metadata();
    trailers.put(GrpcBytes.binary("detail-bin"), ("details of " + parts[1]).getBytes(StandardCharsets.UTF_8));
    answer.onError(Status.fromCodeValue(Integer.parseInt(parts[0])).withDescription(parts[1]).asRuntimeException(trailers));
  }

  private void waitFor(byte[] message, StreamObserver<byte[]> answer) {
    String[] parts = text(message).split(":", 2);
    note(began, parts[0]);
    ScheduledFuture<?> timer = timers.schedule(() -> complete(answer, message), Long.parseLong(parts[1]), TimeUnit.MILLISECONDS);
    ((ServerCallStreamObserver<byte[]>) answer)
        .setOnCancelHandler(
            () -> {
              timer.cancel(false);
              note(ended, parts[0]);
            });
  }

  private synchronized void note(Map<String, Integer> counts, String key) {
    counts.merge(key, 1, Integer::sum);
  }

  private synchronized void counts(byte[] key, StreamObserver<byte[]> answer) {
    complete(answer, (began.getOrDefault(text(key), 0) + ":" + ended.getOrDefault(text(key), 0)).getBytes(StandardCharsets.UTF_8));
  }

  private synchronized void barrier(byte[] message, StreamObserver<byte[]> answer) {
    String[] parts = text(message).split(":", 2);
    List<Runnable> waiting = barriers.computeIfAbsent(parts[0], key -> new ArrayList<>());
    waiting.add(() -> complete(answer, message));
    if (waiting.size() < Integer.parseInt(parts[1])) return;
    barriers.remove(parts[0]);
    waiting.forEach(Runnable::run);
  }

  private static StreamObserver<byte[]> sum(StreamObserver<byte[]> answer) {
    return new Receiver(answer) {
      private int messages;
      private int length;

      @Override
      public void onNext(byte[] message) {
        messages++;
        length += message.length;
      }

      @Override
      public void onCompleted() {
        complete(answer, (messages + ":" + length).getBytes(StandardCharsets.UTF_8));
      }
    };
  }

  private static StreamObserver<byte[]> count(StreamObserver<byte[]> answer) {
    return new Receiver(answer) {
      @Override
      public void onNext(byte[] message) {
        for (int i = 0; i < Integer.parseInt(text(message)); i++) answer.onNext(Integer.toString(i).getBytes(StandardCharsets.UTF_8));
        answer.onCompleted();
      }

      @Override
      public void onCompleted() {}
    };
  }

  private static StreamObserver<byte[]> chat(StreamObserver<byte[]> answer) {
    return new Receiver(answer) {
      @Override
      public void onNext(byte[] message) {
        answer.onNext(message);
      }

      @Override
      public void onCompleted() {
        answer.onCompleted();
      }
    };
  }

  private static StreamObserver<byte[]> reject(StreamObserver<byte[]> answer) {
    return new Receiver(answer) {
      private boolean isRejected;

      @Override
      public void onNext(byte[] message) {
        if (isRejected) return;
        isRejected = true;
        answer.onError(Status.RESOURCE_EXHAUSTED.withDescription("enough").asRuntimeException());
      }

      @Override
      public void onCompleted() {}
    };
  }

  private abstract static class Receiver implements StreamObserver<byte[]> {
    Receiver(StreamObserver<byte[]> answer) {
      // Without a handler, an answer to a call that ended throws.
      ((ServerCallStreamObserver<byte[]>) answer).setOnCancelHandler(() -> {});
    }

    @Override
    public void onError(Throwable error) {}
  }

  private static void complete(StreamObserver<byte[]> answer, byte[] message) {
    answer.onNext(message);
    answer.onCompleted();
  }

  private static String text(byte[] message) {
    return new String(message, StandardCharsets.UTF_8);
  }
}
