import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** JSON and digests, as programs of the corpus print them. */
final class Json {
  private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

  private Json() {}

  static String text(Object value) {
    return GSON.toJson(value);
  }

  static <T> T parse(String text, Class<T> type) {
    return GSON.fromJson(text, type);
  }

  static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }
}
