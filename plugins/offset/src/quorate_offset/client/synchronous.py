"""The synchronous clients: offsets, subscription groups and a committer."""

from typing import Self

from quorate.client import Blocking, Client, blocking, iterating

from quorate_offset.client.committer import INTERVAL_S, Committer, check
from quorate_offset.client.offsets import COMMIT_S, Offsets
from quorate_offset.client.subscription_groups import SubscriptionGroups


class SyncCommitter(Blocking[Committer]):
    """A thread-safe committer, for `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        refused = self.close()
        if raised is None:
            check(refused)

    @property
    def dirty(self) -> int:
        """The number of unanswered marks."""
        return self.asynchronous.dirty

    def mark(
        self,
        tenant: str,
        group: str,
        topic: str,
        partition: int,
        offset: int,
        *,
        generation: int | None = None,
        metadata: str = "",
    ) -> None:
        """Mark an offset for commit, in place of an earlier mark of the partition."""
        self.asynchronous.mark(
            tenant, group, topic, partition, offset, generation=generation, metadata=metadata
        )

    flush = blocking(Committer.flush)
    close = blocking(Committer.close)


class SyncSubscriptionGroups(Blocking[SubscriptionGroups]):
    """Subscription groups over a `Client`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, SubscriptionGroups(q.asynchronous))

    put = blocking(SubscriptionGroups.put)
    put_many = blocking(SubscriptionGroups.put_many)
    delete = blocking(SubscriptionGroups.delete)
    get = blocking(SubscriptionGroups.get)
    list = iterating(SubscriptionGroups.list)


class SyncOffsets(Blocking[Offsets]):
    """Offsets over a `Client`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Offsets(q.asynchronous))

    commit = blocking(Offsets.commit)
    commit_many = blocking(Offsets.commit_many)
    fence = blocking(Offsets.fence)
    fence_many = blocking(Offsets.fence_many)
    reset = blocking(Offsets.reset)
    reset_many = blocking(Offsets.reset_many)
    delete = blocking(Offsets.delete)
    delete_group = blocking(Offsets.delete_group)
    delete_many = blocking(Offsets.delete_many)
    fetch = blocking(Offsets.fetch)
    fetch_group = blocking(Offsets.fetch_group)
    fetch_groups = blocking(Offsets.fetch_groups)
    lag = blocking(Offsets.lag)
    state = blocking(Offsets.state)
    states = iterating(Offsets.states)
    changes_since = iterating(Offsets.changes_since)

    def committer(
        self,
        *,
        monotonic: bool = True,
        interval_s: float = INTERVAL_S,
        timeout_s: float = COMMIT_S,
    ) -> SyncCommitter:
        """Return a committer, which commits the latest offsets in the background, for `with`."""

        async def opened() -> Committer:
            return self.asynchronous.committer(
                monotonic=monotonic, interval_s=interval_s, timeout_s=timeout_s
            )

        return SyncCommitter(self.thread, self.thread.run(opened()))
