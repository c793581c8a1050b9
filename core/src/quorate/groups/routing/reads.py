"""Queries over one shard or all shards of a group, read here or one hop away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.groups.pause import Pause
from quorate.groups.refusals import LeaderlessError, ReadTimeoutError, UnreadableError
from quorate.groups.routing import queries
from quorate.groups.routing.forwarding import AsOf, ForwardedAnswers, ForwardedQuery, Forwarder
from quorate.groups.routing.local import LocalShards
from quorate.groups.routing.queries import Answers
from quorate.plugin import Consistency, Invalid
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId

R = TypeVar("R", bound=Message)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a query is to be answered."""

    consistency: Consistency = "linearizable"
    #: A revision of the query's shard, or of each shard.
    min_revision: int | Mapping[ShardId, int] = 0
    caller: str = ""


class Reads:
    """Answers queries from the replicas here, and asks other nodes where there is none."""

    def __init__(
        self,
        node: str,
        catalog: Catalog,
        shards: LocalShards,
        forwarder: Forwarder,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._node: Final = node
        self._catalog: Final = catalog
        self._shards: Final = shards
        self._forwarder: Final = forwarder
        self._loop: Final = loop
        self._scopes: Final = {
            name: queries.reads_of(catalog, query) for name, query in catalog.queries.items()
        }

    async def read(
        self, message: Message, row: type[R], options: ReadOptions, deadline: float
    ) -> Answers[R]:
        """Return the answers to a query, with what each shard read them from."""
        name = message.DESCRIPTOR.full_name
        query = queries.declared(self._catalog, name)
        slot_map = self._shards.slot_map
        if query.shard_key is not None:
            shards: tuple[ShardId, ...] = (slot_map.place(query.group, query.shard_key(message)),)
        else:
            shards = slot_map.shards(query.group)
        consistency, wanted = options.consistency, options.min_revision
        if isinstance(wanted, int):
            # A number names no shard. What is linearizable holds every revision that was answered.
            if wanted and len(shards) > 1:
                consistency, wanted = "linearizable", 0
            wanted = dict.fromkeys(shards, wanted)
        payload = message.SerializeToString()
        asked = [
            ForwardedQuery(
                shard=shard,
                type=name,
                payload=payload,
                row=row.DESCRIPTOR.full_name,
                consistency=consistency,
                min_revision=wanted.get(shard, 0),
                caller=options.caller,
                timeout_s=deadline - self._loop.time(),
            )
            for shard in shards
        ]
        found = await self._side_by_side(
            [self._read_shard(each, message, row, deadline) for each in asked]
        )
        return Answers(
            queries.merge(query, [rows for _, rows in found]),
            {shard: as_of for shard, (as_of, _) in zip(shards, found, strict=True)},
        )

    async def accept(self, forwarded: ForwardedQuery) -> ForwardedAnswers:
        """Answer what another node forwarded: never a second hop."""
        message = queries.parse(self._catalog, forwarded.type, forwarded.payload)
        group = self._catalog.queries[forwarded.type].group
        if group != forwarded.shard.group:
            raise Invalid(
                "shard",
                f"{forwarded.type} belongs to group {group}, and was sent to {forwarded.shard}",
            )
        found = await self._read_here(forwarded, message)
        if found is None:
            raise UnreadableError(f"this node has no replica of shard {forwarded.shard}")
        as_of, rows = found
        return ForwardedAnswers(as_of, [row.SerializeToString() for row in rows])

    async def _read_shard(
        self, asked: ForwardedQuery, message: Message, row: type[R], deadline: float
    ) -> tuple[AsOf, Sequence[R]]:
        pause = Pause(self._loop)
        failure = UnreadableError(f"no node is known to have a replica of shard {asked.shard}")
        while True:
            # Looked for again each time: a replica may have come here, or gone.
            try:
                found = await self._read_here(asked, message)
            except (LeaderlessError, ReadTimeoutError):
                raise
            except UnreadableError as error:
                # It stopped meanwhile; others may go on.
                failure, found = error, None
            if found is not None:
                return found
            for node in self._shards.slot_map.others(asked.shard, self._node):
                asked = replace(asked, timeout_s=deadline - self._loop.time())
                try:
                    as_of, rows = await self._forwarder.query(node, asked)
                except UnreadableError as error:
                    failure = error
                else:
                    return as_of, [row.FromString(each) for each in rows]
            if isinstance(failure, LeaderlessError):
                raise failure
            if not await pause.until(deadline):
                raise ReadTimeoutError(
                    f"the deadline passed before {asked.shard} was read; the last reason was: "
                    f"{failure}"
                ) from failure

    async def _read_here(
        self, asked: ForwardedQuery, message: Message
    ) -> tuple[AsOf, list[Any]] | None:
        local = self._shards.get(asked.shard)
        if local is None:
            return None
        query = self._catalog.queries[asked.type]
        return await queries.answer(
            local, query, message, self._scopes[asked.type], asked, self._loop.time
        )

    async def _side_by_side(self, reads: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        if len(reads) == 1:
            return [await reads[0]]
        tasks = [self._loop.create_task(read) for read in reads]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            raise
