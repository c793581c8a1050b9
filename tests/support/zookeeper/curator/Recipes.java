import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;

/** Plays recipes of Curator, each with several clients, and says which were played to the end. */
public class Recipes {
  static final int CLIENTS = 3;
  static final int ROUNDS = 5;
  static final List<CuratorFramework> clients = new ArrayList<>();

  interface Work {
    void run(CuratorFramework client) throws Exception;
  }

  static void all(Work work) throws Exception {
    List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (CuratorFramework client : clients) {
      Thread thread = new Thread(() -> {
        try {
          work.run(client);
        } catch (Throwable failure) {
          failures.add(failure);
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    for (Throwable failure : failures) {
      throw new Exception(failure);
    }
  }

  static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (int number = 0; number < CLIENTS; number++) {
      CuratorFramework client =
          CuratorFrameworkFactory.newClient(arguments[0], new ExponentialBackoffRetry(100, 8));
      client.start();
      check(client.blockUntilConnected(30, TimeUnit.SECONDS), "connected");
      clients.add(client);
    }
    CuratorFramework first = clients.get(0);

    AtomicInteger holders = new AtomicInteger();
    all(client -> {
      InterProcessMutex mutex = new InterProcessMutex(client, "/mutex/jobs");
      for (int round = 0; round < ROUNDS; round++) {
        mutex.acquire();
        check(holders.incrementAndGet() == 1, "one holder");
        holders.decrementAndGet();
        mutex.release();
      }
    });
    System.out.println("played mutex");

    all(client -> {
      InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, "/semaphore", 2);
      for (int round = 0; round < ROUNDS; round++) {
        var lease = semaphore.acquire();
        check(holders.incrementAndGet() <= 2, "two holders");
        holders.decrementAndGet();
        semaphore.returnLease(lease);
      }
    });
    System.out.println("played semaphore");

    all(client -> {
      LeaderLatch latch = new LeaderLatch(client, "/latch");
      latch.start();
      latch.await();
      check(latch.hasLeadership(), "leads");
      latch.close();
    });
    System.out.println("played leader latch");

    all(client -> {
      var counter = new DistributedAtomicLong(client, "/count", new ExponentialBackoffRetry(10, 20));
      for (int round = 0; round < ROUNDS; round++) {
        check(counter.increment().succeeded(), "counted");
      }
    });
    var counted = new DistributedAtomicLong(first, "/count", new ExponentialBackoffRetry(10, 3));
    check(counted.get().postValue() == CLIENTS * ROUNDS, "counted all");
    System.out.println("played counter");

    all(client -> {
      var barrier = new DistributedDoubleBarrier(client, "/barrier", CLIENTS);
      check(barrier.enter(30, TimeUnit.SECONDS), "entered");
      check(barrier.leave(30, TimeUnit.SECONDS), "left");
    });
    System.out.println("played barrier");

    CountDownLatch seen = new CountDownLatch(3);
    first.create().creatingParentsIfNeeded().forPath("/cache/a", new byte[] {1});
    try (CuratorCache cache = CuratorCache.build(first, "/cache")) {
      CountDownLatch ready = new CountDownLatch(1);
      cache.listenable().addListener(
          org.apache.curator.framework.recipes.cache.CuratorCacheListener.builder()
              .forInitialized(ready::countDown)
              .afterInitialized()
              .forAll((type, before, after) -> seen.countDown())
              .build());
      cache.start();
      check(ready.await(30, TimeUnit.SECONDS), "cache is there");
      CuratorFramework other = clients.get(1);
      other.create().forPath("/cache/a/b", new byte[] {2});
      other.setData().forPath("/cache/a/b", new byte[] {3});
      other.delete().forPath("/cache/a/b");
      check(seen.await(30, TimeUnit.SECONDS), "cache follows");
    }
    System.out.println("played cache");

    try (var node = new PersistentTtlNode(first, "/ttl/mine", 60_000, new byte[] {1})) {
      node.start();
      check(node.waitForInitialCreate(30, TimeUnit.SECONDS), "node with a time to live");
    }
    first.create().creatingParentContainersIfNeeded().withMode(CreateMode.EPHEMERAL)
        .forPath("/containers/a/b");
    check(first.checkExists().forPath("/containers/a/b").getEphemeralOwner() != 0, "ephemeral");
    System.out.println("played nodes");

    for (CuratorFramework client : clients) {
      client.close();
    }
    System.out.println("played all");
  }
}
