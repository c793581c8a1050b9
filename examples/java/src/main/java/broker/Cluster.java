package broker;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.zip.CRC32;
import quorate.v1.Admin.NodeAddress;
import quorate.v1.Admin.ShardPlace;
import quorate.v1.Admin.TopologyRequest;
import quorate.v1.Admin.TopologyResponse;
import quorate.v1.AdminServiceGrpc;

/** The nodes of a cluster, and which of them leads the shard of a key. */
final class Cluster implements AutoCloseable {
  /** How long an attempt may take, for the deadline of its stub. */
  static final long ATTEMPT_MS = 5_000;

  private static final long PATIENCE_MS = 60_000;
  private static final long FIRST_PAUSE_MS = 20;
  private static final long LONGEST_PAUSE_MS = 1_000;
  private static final int SLOTS = 1_024;
  /** A little more than limits.grpc_message_bytes. */
  private static final int MESSAGE_BYTES = 17 << 20;

  private final List<String> endpoints;
  private final ChannelCredentials credentials;
  private final AtomicInteger turn = new AtomicInteger();
  private final Map<String, ManagedChannel> channels = new ConcurrentHashMap<>();
  /** Of nodes. */
  private final Map<String, String> addresses = new HashMap<>();
  /** Of the slots of a group: the node. */
  private final Map<String, String[]> leaders = new HashMap<>();
  private volatile boolean closed;

  /** Any of the endpoints is a node of the cluster. */
  Cluster(List<String> endpoints, ChannelCredentials credentials) {
    this.endpoints = endpoints;
    this.credentials = credentials;
    var following = new Thread(this::follow, "topology");
    following.setDaemon(true);
    following.start();
  }

  /** Has one node after the other tell where the shards are and who leads them. */
  private void follow() {
    while (!closed) {
      try {
        var nodes = AdminServiceGrpc.newBlockingStub(channel(anyone()));
        nodes.watchTopology(TopologyRequest.getDefaultInstance()).forEachRemaining(this::learn);
      } catch (StatusRuntimeException ended) {
        // Another node knows as well.
      }
      pause(100);
    }
  }

  private synchronized void learn(TopologyResponse change) {
    addresses.clear();
    for (NodeAddress node : change.getNodesList()) {
      addresses.put(node.getNode(), node.getAddress());
    }
    if (!change.getChangesOnly()) {
      leaders.clear();
    }
    for (ShardPlace shard : change.getShardsList()) {
      var known = leaders.computeIfAbsent(shard.getGroup(), group -> new String[SLOTS]);
      var slots = shard.getSlots();
      for (int slot = 0; slot < SLOTS && slot >> 3 < slots.size(); slot++) {
        if ((slots.byteAt(slot >> 3) & 1 << (slot & 7)) != 0) {
          known[slot] = shard.getLeader();
        }
      }
    }
  }

  /** Returns the address of the node that leads the shard of a key; null: it is not known. */
  synchronized String leader(String group, ByteString shardKey) {
    var known = leaders.get(group);
    if (known == null) {
      return null;
    }
    var checksum = new CRC32();
    checksum.update(shardKey.toByteArray());
    return addresses.get(known[(int) (checksum.getValue() % SLOTS)]);
  }

  /** Returns the address of one endpoint after the other: each takes every call. */
  String anyone() {
    return endpoints.get(Math.floorMod(turn.getAndIncrement(), endpoints.size()));
  }

  Channel channel(String address) {
    return channels.computeIfAbsent(
        address,
        target ->
            Grpc.newChannelBuilder(target, credentials)
                .maxInboundMessageSize(MESSAGE_BYTES)
                // A node that vanishes without a word is noticed within seconds.
                .keepAliveTime(10, TimeUnit.SECONDS)
                .keepAliveTimeout(3, TimeUnit.SECONDS)
                .build());
  }

  /**
   * Makes attempts until one is answered or refused for good, or patience ends. It is for reads and
   * for commands with a stamp: only these may be sent again after an answer was lost.
   */
  <T> T call(String group, ByteString shardKey, Function<Channel, T> attempt) {
    var end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
    var wait = FIRST_PAUSE_MS;
    var lost = false;
    for (int number = 0; ; number++) {
      var address = leader(group, shardKey);
      if (address == null || number % 2 == 1) {
        // The leader may be gone, and any node finds the next one.
        address = anyone();
      }
      try {
        return attempt.apply(channel(address));
      } catch (StatusRuntimeException error) {
        var advice = Advice.of(error);
        if (advice.retry().isEmpty()) {
          var silent = advice.unlogged() || advice.reason().equals("SESSION_EXPIRED");
          throw lost && silent ? new OutcomeUnknownException(error) : error;
        }
        lost |= !advice.retry().equals("safe");
        if (System.nanoTime() - end > 0) {
          throw lost ? new OutcomeUnknownException(error) : error;
        }
        pause(Math.max(wait, advice.delayMs()));
        wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
      }
    }
  }

  /** Waits; a thread that is interrupted goes on at once. */
  static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed = true;
    channels.values().forEach(ManagedChannel::shutdownNow);
  }
}
