package broker;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Context;
import io.grpc.InsecureChannelCredentials;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import quorate.v1.Kv.GetPairRequest;
import quorate.v1.Kv.KeyedPair;
import quorate.v1.Kv.Pair;
import quorate.v1.Kv.PutPair;
import quorate.v1.Kv.PutPairReply;
import quorate.v1.KvServiceGrpc;
import quorate.v1.Watch.WatchEvent;
import quorate.v1.Watch.WatchedFamily;

/** Counts in a cluster, each number written once, while its nodes come and go. */
public final class Count {
  /** Of kv.pairs. */
  private static final String GROUP = "metadata";

  private static final ByteString KEY = ByteString.copyFromUtf8("java/count");
  /** A key up to its first slash. */
  private static final ByteString SHARD_KEY = ByteString.copyFromUtf8("java");

  private final Cluster cluster;
  private final Map<ByteString, ByteString> rows = new HashMap<>();
  private final AtomicInteger seen = new AtomicInteger();
  private final AtomicInteger gaps = new AtomicInteger();

  private Count(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Takes how far to count, at least to 4, and endpoints. */
  public static void main(String[] arguments) throws Exception {
    var endpoints = Arrays.asList(arguments).subList(1, arguments.length);
    // TlsChannelCredentials in its place for a cluster with TLS.
    try (var cluster = new Cluster(endpoints, InsecureChannelCredentials.create())) {
      new Count(cluster).run(Integer.parseInt(arguments[0]));
    }
  }

  private void run(int last) throws Exception {
    var found = read();
    var revision = found.getRevision();
    var first = found.getValue().isEmpty() ? 1 : number(found.getValue()) + 1;
    while (cluster.leader(GROUP, SHARD_KEY) == null) {
      Cluster.pause(10);
    }
    System.out.println("led by " + cluster.leader(GROUP, SHARD_KEY));

    var watching = new Watching(ByteString.EMPTY);
    watching.listed.await();
    var token = ByteString.EMPTY;
    var session = new Session(cluster, GROUP, SHARD_KEY);
    for (int number = first; number <= last; number++) {
      revision = write(session, number, revision);
      if (number % 100 == 0) {
        System.out.println("counted to " + number);
      }
      if (number == last / 2) {
        // As a program does that ends, and later goes on with what it has stored.
        token = watching.stop();
      } else if (number == last / 2 + last / 4) {
        watching = new Watching(token);
      }
    }
    while (seen.get() < last) {
      Cluster.pause(10);
    }
    watching.stop();
    System.out.printf(
        "stored %d, watched %d, gaps %d%n", number(read().getValue()), seen.get(), gaps.get());
  }

  /**
   * Stores a number if nobody has written since the revision, and returns the new one. Were it
   * carried out twice, the second time would be refused with REVISION_MISMATCH.
   */
  private static long write(Session session, int number, long revision)
      throws InvalidProtocolBufferException {
    var put =
        PutPair.newBuilder()
            .setKey(KEY)
            .setValue(ByteString.copyFromUtf8(Integer.toString(number)))
            .setExpectedRevision(revision);
    return PutPairReply.parseFrom(session.execute(put.build()).getPayload()).getRevision();
  }

  /** Returns the pair that is stored; an empty one without any. */
  private KeyedPair read() {
    var request = GetPairRequest.newBuilder().setKey(KEY).build();
    return cluster.call(
        GROUP,
        SHARD_KEY,
        node ->
            KvServiceGrpc.newBlockingStub(node)
                .withDeadlineAfter(Cluster.ATTEMPT_MS, TimeUnit.MILLISECONDS)
                .get(request)
                .getPair());
  }

  private static int number(ByteString value) {
    return Integer.parseInt(value.toStringUtf8());
  }

  /** A mirror on a thread of its own. */
  private final class Watching {
    final CountDownLatch listed = new CountDownLatch(1);
    private final Context.CancellableContext context = Context.current().withCancellation();
    private final Mirror mirror;
    private final Thread thread;

    Watching(ByteString token) {
      var pairs = WatchedFamily.newBuilder().setName("kv.pairs").setPrefix(KEY).build();
      mirror = new Mirror(cluster, pairs, rows, token, this::see, listed::countDown);
      thread = new Thread(() -> context.run(() -> mirror.follow(context)), "watch");
      thread.setDaemon(true);
      thread.start();
    }

    private void see(WatchEvent event) {
      try {
        var number = number(Pair.parseFrom(event.getValue()).getValue());
        if (event.getKind() != WatchEvent.Kind.ROW && number != seen.get() + 1) {
          gaps.incrementAndGet();
        }
        seen.set(number);
      } catch (InvalidProtocolBufferException error) {
        throw new IllegalStateException(error);
      }
    }

    /** Ends it, and returns where to go on. */
    ByteString stop() throws InterruptedException {
      context.cancel(null);
      thread.join();
      return mirror.token();
    }
  }
}
