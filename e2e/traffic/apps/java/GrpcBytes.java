import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Methods of gRPC whose messages are bytes, and names of metadata. */
final class GrpcBytes implements MethodDescriptor.Marshaller<byte[]> {
  private static final GrpcBytes INSTANCE = new GrpcBytes();

  private GrpcBytes() {}

  static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    return methodOf("corpus.Echo/" + name, type);
  }

  static MethodDescriptor<byte[], byte[]> methodOf(String fullName, MethodType type) {
    return MethodDescriptor.newBuilder(INSTANCE, INSTANCE).setFullMethodName(fullName).setType(type).build();
  }

  static Metadata.Key<String> ascii(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  static Metadata.Key<byte[]> binary(String name) {
    return Metadata.Key.of(name, Metadata.BINARY_BYTE_MARSHALLER);
  }

  @Override
  public InputStream stream(byte[] message) {
    return new ByteArrayInputStream(message);
  }

  @Override
  public byte[] parse(InputStream stream) {
    try {
      return stream.readAllBytes();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
