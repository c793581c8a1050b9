"""Brokers: client processes that register themselves and are held to be alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar, Unpack

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.client.errors import QuorateError, RejectedError, or_none
from quorate.client.twins import Blocking, blocking, entering, iterating
from quorate.v1 import cluster_pb2 as pb

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

_GROUP: Final = "metadata"
_SERVICE: Final = "/quorate.v1.ClusterService/"
#: Heartbeats in the time for which a broker is held to be alive.
_BEATS: Final = 3
#: With these the registration is over: another process has it, or it was not renewed in time.
_OVER: Final = frozenset({"FENCED", "NOT_FOUND"})

M = TypeVar("M", bound=Message)


class Registration:
    """A registered broker with running heartbeats."""

    def __init__(self, broker: pb.Broker) -> None:
        #: As the cluster knows it; its `epoch` distinguishes this process from others of that name.
        self.broker: Final = broker
        self._lost: Final[asyncio.Future[RejectedError]] = (
            asyncio.get_running_loop().create_future()
        )

    @property
    def is_lost(self) -> bool:
        """Whether another process has the name, or it expired; any thread may look."""
        return self._lost.done()

    async def lost(self) -> RejectedError:
        """Wait until the registration is over, and return why: stop serving, or register again."""
        return await asyncio.shield(self._lost)

    def end(self, error: RejectedError) -> None:
        """Notify waiters that it is over."""
        if not self._lost.done():
            self._lost.set_result(error)


class BrokerDetails(TypedDict, total=False):
    """The optional details of a broker's registration."""

    roles: Sequence[str]
    labels: Mapping[str, str] | None
    addresses: Mapping[str, str] | None
    ttl_ms: int


class Brokers:
    """Registers, renews and lists brokers."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def register(
        self,
        name: str,
        cluster_name: str,
        *,
        timeout_s: float | None = None,
        **details: Unpack[BrokerDetails],
    ) -> pb.Broker:
        """Register a broker, for the first time or again: earlier processes of it are fenced.

        It expires unless a heartbeat comes every `ttl_ms`; 0: 10,000.
        """
        command = pb.RegisterBroker(name=name, cluster_name=cluster_name, **details)
        return await self._q.execute(command, pb.Broker, timeout_s=timeout_s)

    async def heartbeat(self, name: str, epoch: int, *, timeout_s: float | None = None) -> None:
        """Say that a broker is alive; refused with FENCED or NOT_FOUND when it must not go on."""
        await self._q.execute(pb.SendHeartbeat(name=name, epoch=epoch), Empty, timeout_s=timeout_s)

    async def unregister(
        self, name: str, epoch: int, *, missing_ok: bool = False, timeout_s: float | None = None
    ) -> None:
        """Remove the broker's registration; with `missing_ok`, an expired one is no error."""
        command = pb.UnregisterBroker(name=name, epoch=epoch, missing_ok=missing_ok)
        await self._q.execute(command, Empty, timeout_s=timeout_s)

    async def get(
        self, name: str, *, stale: bool = False, timeout_s: float | None = None
    ) -> pb.Broker | None:
        """Return the registration of a broker; None if no broker has that name."""
        request = pb.GetBrokerRequest(name=name, stale=stale)
        return await or_none(self._read("Get", request, pb.Broker, timeout_s))

    async def list(
        self,
        *,
        cluster_name: str = "",
        role: str = "",
        labels: Mapping[str, str] | None = None,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[pb.Broker, None]:
        """Yield the matching brokers by name; an empty condition matches all."""
        request = pb.ListBrokersRequest(
            cluster_name=cluster_name, role=role, labels=labels, stale=stale
        )
        while True:
            page = await self._read("List", request, pb.ListBrokersResponse, timeout_s)
            for broker in page.brokers:
                yield broker
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    @asynccontextmanager
    async def registered(
        self, name: str, cluster_name: str, **details: Unpack[BrokerDetails]
    ) -> AsyncIterator[Registration]:
        """Register a broker, send its heartbeats meanwhile, and let it take leave at the end."""
        broker = await self.register(name, cluster_name, **details)
        registration = Registration(broker)
        beating = asyncio.get_running_loop().create_task(self._beat(registration))
        try:
            yield registration
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            if not registration.is_lost:
                # Otherwise it expires.
                with suppress(QuorateError):
                    await self.unregister(broker.name, broker.epoch, timeout_s=1.0)

    async def _beat(self, registration: Registration) -> None:
        broker = registration.broker
        pause_s = broker.ttl_ms / 1_000 / _BEATS
        while True:
            await asyncio.sleep(pause_s)
            try:
                await self.heartbeat(broker.name, broker.epoch, timeout_s=pause_s)
            except RejectedError as error:
                if error.code in _OVER:
                    registration.end(error)
                    return
            except QuorateError:
                # The next one may come through.
                continue

    async def _read(
        self, method: str, request: Message, response: type[M], timeout_s: float | None
    ) -> M:
        return await self._q.call(
            _SERVICE + method,
            request,
            response,
            group=_GROUP,
            shard_key=b"",
            read=True,
            timeout_s=timeout_s,
        )


class SyncBrokers(Blocking[Brokers]):
    """The same, without `await`."""

    register = blocking(Brokers.register)
    heartbeat = blocking(Brokers.heartbeat)
    unregister = blocking(Brokers.unregister)
    get = blocking(Brokers.get)
    list = iterating(Brokers.list)
    registered = entering(Brokers.registered)
