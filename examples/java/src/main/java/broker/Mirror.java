package broker;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.util.Map;
import java.util.function.Consumer;
import quorate.v1.Watch.WatchEvent;
import quorate.v1.Watch.WatchRequest;
import quorate.v1.Watch.WatchResponse;
import quorate.v1.Watch.WatchedFamily;
import quorate.v1.WatchServiceGrpc;

/**
 * Keeps rows of a family as the cluster has them. Keep rows and token together, for example in a
 * file, and another mirror goes on from there: it is given nothing twice and misses nothing.
 */
final class Mirror {
  private final Cluster cluster;
  private final WatchedFamily family;
  private final Map<ByteString, ByteString> rows;
  private final Consumer<WatchEvent> change;
  private final Runnable listed;
  /** Empty: the rows come first. */
  private ByteString token;

  /** `change` is told of each event, and `listed`, from then on, that all rows were given. */
  Mirror(
      Cluster cluster,
      WatchedFamily family,
      Map<ByteString, ByteString> rows,
      ByteString token,
      Consumer<WatchEvent> change,
      Runnable listed) {
    this.cluster = cluster;
    this.family = family;
    this.rows = rows;
    this.token = token;
    this.change = change;
    this.listed = listed;
  }

  /** Returns where to go on; to be asked for when `follow` has ended. */
  ByteString token() {
    return token;
  }

  /** Keeps the rows until its gRPC context is cancelled, or the cluster refuses the watch. */
  void follow(Context context) {
    while (!context.isCancelled()) {
      if (token.isEmpty()) {
        rows.clear();
      }
      try {
        watch();
      } catch (StatusRuntimeException error) {
        if (!context.isCancelled() && Advice.of(error).retry().isEmpty()) {
          throw error;
        }
      }
      if (!context.isCancelled()) {
        Cluster.pause(100);
      }
    }
  }

  /** Follows one stream of any node. */
  private void watch() {
    var request = WatchRequest.newBuilder().addFamilies(family).setToken(token).build();
    var responses =
        WatchServiceGrpc.newBlockingStub(cluster.channel(cluster.anyone())).watch(request);
    while (responses.hasNext()) {
      var response = responses.next();
      if (response.hasResync()) {
        // History after the token is gone.
        token = ByteString.EMPTY;
        return;
      }
      take(response);
    }
  }

  private void take(WatchResponse response) {
    for (WatchEvent event : response.getEventsList()) {
      if (event.getKind() == WatchEvent.Kind.DELETED) {
        rows.remove(event.getKey());
      } else {
        rows.put(event.getKey(), event.getValue());
      }
      change.accept(event);
    }
    // There is none while the rows are being given: a watch that breaks then begins anew.
    if (!response.getToken().isEmpty()) {
      token = response.getToken();
    }
    if (response.getListed()) {
      listed.run();
    }
  }
}
