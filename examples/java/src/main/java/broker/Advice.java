package broker;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Set;

/**
 * What the failure of an attempt says about another one.
 *
 * @param retry "safe": nothing was done; "session": it may have been done; empty: do not try again
 * @param unlogged it was refused before the shard looked whether an earlier attempt was carried out
 */
record Advice(String reason, String retry, boolean unlogged, long delayMs) {
  /** No node says these: the connection was lost, or the time of the attempt was over. */
  private static final Set<Status.Code> LOST =
      Set.of(
          Status.Code.UNAVAILABLE,
          Status.Code.CANCELLED,
          Status.Code.UNKNOWN,
          Status.Code.INTERNAL,
          Status.Code.DEADLINE_EXCEEDED);

  /** Reads the details that nodes give with every failure. */
  static Advice of(StatusRuntimeException error) {
    var status = StatusProto.fromThrowable(error);
    ErrorInfo info = null;
    long delayMs = 0;
    for (Any detail : status.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        info = unpacked(detail, ErrorInfo.class);
      } else if (detail.is(RetryInfo.class)) {
        var delay = unpacked(detail, RetryInfo.class).getRetryDelay();
        delayMs = delay.getSeconds() * 1_000 + delay.getNanos() / 1_000_000;
      }
    }
    if (info == null) {
      var retry = LOST.contains(error.getStatus().getCode()) ? "session" : "";
      return new Advice("", retry, false, delayMs);
    }
    var admission = "admission".equals(info.getMetadataOrDefault("stage", ""));
    return new Advice(
        info.getReason(),
        info.getMetadataOrDefault("retry", ""),
        admission || info.getReason().equals("INVALID"),
        delayMs);
  }

  private static <M extends Message> M unpacked(Any detail, Class<M> kind) {
    try {
      return detail.unpack(kind);
    } catch (InvalidProtocolBufferException error) {
      throw new IllegalStateException("a node has sent details that nobody can read", error);
    }
  }
}
