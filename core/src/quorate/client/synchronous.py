"""The client for code that does not await."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar, Unpack

from google.protobuf.message import Message

from quorate.client.asynchronous import CONNECT_TIMEOUT_S, TIMEOUT_S, AsyncClient
from quorate.client.brokers import SyncBrokers
from quorate.client.calls import NodeCalls
from quorate.client.kv import SyncKv
from quorate.client.sessions import SyncNamedSessions
from quorate.client.tls import Tls
from quorate.client.twins import Blocking, LoopThread, blocking, iterating, twinned
from quorate.client.vocabulary import Vocabulary

if TYPE_CHECKING:
    # For the checker alone: OpenTelemetry need not be installed, nor locks be imported.
    from opentelemetry.trace import TracerProvider

    from quorate.client.coordination import (
        LockOptions,
        SyncCoordination,
        SyncElection,
        SyncHeld,
        SyncKeptLease,
    )
    from quorate.client.records import SyncRecords
    from quorate.plugin.resource import Resource

R = TypeVar("R", bound=Message)


class SyncNodeCalls(Blocking[NodeCalls]):
    """Calls to one node."""

    call = blocking(NodeCalls.call)
    stream = iterating(NodeCalls.stream)


class _Writer(Blocking[AsyncClient]):
    """What a client with a fence and one without have in common."""

    def __init__(self, thread: LoopThread, q: AsyncClient) -> None:
        super().__init__(thread, q)
        #: Pairs of keys and values.
        self.kv: Final = SyncKv(thread, q.kv)

    execute = blocking(AsyncClient.execute)
    execute_all = blocking(AsyncClient.execute_all)

    def records(self, resource: Resource[R]) -> SyncRecords[R]:
        """Return the rows of a resource that a plugin declares."""
        from quorate.client.records import SyncRecords

        return SyncRecords(self.thread, self.asynchronous.records(resource))


class FencedClient(_Writer):
    """A client with a fence on every write."""


class Client(_Writer):
    """A cluster, for any number of threads at a time.

    A thread of its own runs an `AsyncClient`; a call waits for it. In a thread that runs an event
    loop such a call stops that loop until it is answered: use `connect` there.
    """

    def __init__(
        self,
        endpoints: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        exactly_once: bool = False,
        tls: Tls | None = None,
        token: str | Path | None = None,
        vocabulary: Vocabulary | None = None,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        q = AsyncClient(
            endpoints,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            exactly_once=exactly_once,
            tls=tls,
            token=token,
            vocabulary=vocabulary,
            tracer_provider=tracer_provider,
        )
        super().__init__(LoopThread(), q)
        #: The brokers of the cluster.
        self.brokers: Final = SyncBrokers(self.thread, q.brokers)
        #: Exactly-once sessions that outlive this client, by their names.
        self.sessions: Final = SyncNamedSessions(self.thread, q.sessions)

    def __repr__(self) -> str:
        return repr(self.asynchronous).replace("AsyncClient", "Client", 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    call = blocking(AsyncClient.call)
    stream = iterating(AsyncClient.stream)
    watch = iterating(AsyncClient.watch)
    topology = blocking(AsyncClient.topology)
    shard_of = blocking(AsyncClient.shard_of)
    fenced = twinned(AsyncClient.fenced, FencedClient)
    at = twinned(AsyncClient.at, SyncNodeCalls)

    def likely_shard(self, group: str, shard_key: bytes) -> str:
        """Return the shard that holds a shard key, as far as this client knows."""

        async def look() -> str:
            return self.asynchronous.likely_shard(group, shard_key)

        return self.thread.run(look())

    def lock(
        self, name: str, /, **options: Unpack[LockOptions]
    ) -> AbstractContextManager[SyncHeld]:
        """Hold a lock, and give it to writes as their `fence`: `SyncCoordination.lock`."""
        return self._coordination().lock(name, **options)

    def election(self, name: str) -> SyncElection:
        """Return the election of a name: `SyncCoordination.election`."""
        return self._coordination().election(name)

    def lease(
        self, place: str, *, ttl_s: float = 10.0, owner: str = ""
    ) -> AbstractContextManager[SyncKeptLease]:
        """Keep a lease for rows that are deleted when it ends: `SyncCoordination.lease`."""
        return self._coordination().lease(place, ttl_s=ttl_s, owner=owner)

    def _coordination(self) -> SyncCoordination:
        from quorate.client.coordination import installed

        return installed().synchronous(self)

    def close(self) -> None:
        """End everything; calls of other threads that are under way raise `ClosedError`."""
        self.thread.close(self.asynchronous.close)
