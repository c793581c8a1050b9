"""Coordinators: one live broker for each key, under an epoch that rises when it changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from google.protobuf.empty_pb2 import Empty

from quorate.client.twins import Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    AssignCoordinators,
    Coordinator,
    ListCoordinatorsRequest,
    ListCoordinatorsResponse,
    ReleaseCoordinator,
    ReleaseCoordinators,
)

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

_GROUP: Final = "metadata"
_SERVICE: Final = "/quorate.v1.CoordinatorService/"


class Coordinators:
    """Finds, assigns and releases coordinators."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def get(
        self,
        role: str,
        key: str,
        *,
        cluster_name: str = "",
        labels: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Coordinator:
        """Return the coordinator of a key, which is assigned first if there is none.

        It is one of the live brokers with that role, cluster name and labels; what is empty
        restricts nothing. NO_BROKER when there is none.
        """
        request = AssignCoordinator(
            role=role, key=key, cluster_name=cluster_name, labels=labels or {}
        )
        # To ask again changes nothing, so a call whose answer was lost is repeated as a read is.
        return await self._q.call(
            f"{_SERVICE}Get",
            request,
            Coordinator,
            group=_GROUP,
            shard_key=b"",
            read=True,
            timeout_s=timeout_s,
        )

    async def get_many(
        self, wanted: Iterable[AssignCoordinator], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Return those of at most 1,000 keys; each reply in the reply is a `Coordinator`."""
        return await self._q.call(
            f"{_SERVICE}GetBatch",
            AssignCoordinators(coordinators=wanted),
            BatchReply,
            group=_GROUP,
            shard_key=b"",
            read=True,
            timeout_s=timeout_s,
        )

    async def release(
        self, role: str, key: str, *, epoch: int = 0, timeout_s: float | None = None
    ) -> None:
        """Forget a key; NOT_FOUND if it has no coordinator, FENCED if its epoch is another one."""
        request = ReleaseCoordinator(role=role, key=key, epoch=epoch)
        await self._q.call(
            f"{_SERVICE}Release", request, Empty, group=_GROUP, shard_key=b"", timeout_s=timeout_s
        )

    async def release_many(
        self, named: Iterable[ReleaseCoordinator], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Forget many keys; the reply names those that were refused by their positions."""
        command = ReleaseCoordinators(coordinators=named)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def list(
        self, *, role: str = "", broker: str = "", timeout_s: float | None = None
    ) -> AsyncGenerator[Coordinator, None]:
        """Yield the coordinators that fit, in the order of roles and keys; empty: all of them."""
        request = ListCoordinatorsRequest(role=role, broker=broker)
        while True:
            page = await self._q.call(
                f"{_SERVICE}List",
                request,
                ListCoordinatorsResponse,
                group=_GROUP,
                shard_key=b"",
                read=True,
                timeout_s=timeout_s,
            )
            for coordinator in page.coordinators:
                yield coordinator
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


class SyncCoordinators(Blocking[Coordinators]):
    """The same, without `await`."""

    get = blocking(Coordinators.get)
    get_many = blocking(Coordinators.get_many)
    release = blocking(Coordinators.release)
    release_many = blocking(Coordinators.release_many)
    list = iterating(Coordinators.list)
