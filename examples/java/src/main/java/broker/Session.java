package broker;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.concurrent.TimeUnit;
import quorate.v1.CommandOuterClass.Command;
import quorate.v1.CommandOuterClass.CommandReply;
import quorate.v1.CommandOuterClass.ExecuteRequest;
import quorate.v1.CommandOuterClass.OpenSessionRequest;
import quorate.v1.CommandServiceGrpc;
import quorate.v1.Entry.Stamp;

/**
 * Carries out each command once, however often it is sent. It belongs to the shard of a key, and
 * takes one command at a time.
 */
final class Session {
  private static final long TTL_MS = 60_000;

  private final Cluster cluster;
  private final String group;
  private final ByteString shardKey;
  /** 0: it is not open. */
  private long number;

  private long sequence;

  Session(Cluster cluster, String group, ByteString shardKey) {
    this.cluster = cluster;
    this.group = group;
    this.shardKey = shardKey;
  }

  /** Carries out a command once; OutcomeUnknownException is all that leaves open whether it did. */
  synchronized CommandReply execute(Message command) {
    while (true) {
      if (number == 0) {
        open();
      }
      sequence++;
      // No earlier command is sent again, so that the shard may forget their answers.
      var stamp =
          Stamp.newBuilder()
              .setSession(number)
              .setSequence(sequence)
              .setLowestUnanswered(sequence);
      try {
        return send(
            Command.newBuilder()
                .setType(command.getDescriptorForType().getFullName())
                .setPayload(command.toByteString())
                .setStamp(stamp)
                .build());
      } catch (StatusRuntimeException refused) {
        if (!Advice.of(refused).reason().equals("SESSION_EXPIRED")) {
          throw refused;
        }
        // It was refused for that alone, so another session may have it.
        number = 0;
      } catch (OutcomeUnknownException unknown) {
        number = 0;
        throw unknown;
      }
    }
  }

  private void open() {
    var request =
        OpenSessionRequest.newBuilder().setGroup(group).setShardKey(shardKey).setTtlMs(TTL_MS);
    var opened =
        cluster.call(
            group,
            shardKey,
            node ->
                CommandServiceGrpc.newBlockingStub(node)
                    .withDeadlineAfter(Cluster.ATTEMPT_MS, TimeUnit.MILLISECONDS)
                    .openSession(request.build()));
    number = opened.getSession();
    sequence = 0;
  }

  private CommandReply send(Command command) {
    var request = ExecuteRequest.newBuilder().addCommands(command).build();
    return cluster.call(
        group,
        shardKey,
        node -> {
          var answer =
              CommandServiceGrpc.newBlockingStub(node)
                  .withDeadlineAfter(Cluster.ATTEMPT_MS, TimeUnit.MILLISECONDS)
                  .execute(request)
                  .getAnswers(0);
          if (answer.hasStatus()) {
            throw StatusProto.toStatusRuntimeException(answer.getStatus());
          }
          return answer.getReply();
        });
  }
}
