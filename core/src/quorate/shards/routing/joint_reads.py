"""Runs small reads of one shard, which are asked for at the same time, as one query."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from quorate.plugin import Query, Rejected
from quorate.plugin.advanced import Answers
from quorate.plugin.gathering import Gathering
from quorate.plugin.shard_id import ShardId
from quorate.plugin.singles import is_repeated
from quorate.shards.routing.forwarding import AsOf
from quorate.shards.routing.queries import TOO_MUCH, QueryPart, ReadOptions
from quorate.shards.routing.slot_map import SlotMap

#: Runs the part of a query for a shard on the replica here, which answers with messages of a name,
#: before a deadline; returns None without a replica.
ReadHere = Callable[
    [Query[Any], QueryPart, str, ReadOptions, float], Awaitable[tuple[AsOf, Sequence[Any]] | None]
]
_Found = Answers[Any] | None

#: The most items of a read that goes with others, and of all that go together: a replica reads
#: them in one turn of the loop.
_FEW: Final = 8
_MOST: Final = 128

#: The number of answers to reads together after which twice as many items go together again.
_CALM: Final = 256

_NEWEST: Final = ReadOptions()


@dataclass(slots=True)
class _Weight:
    """What an item of a query weighs: more while answers to many together are too large."""

    each: int = 1
    #: How many reads together had an answer since it changed.
    good: int = 0

    def answered(self) -> None:
        """Record an answer."""
        self.good += 1
        if self.good >= _CALM:
            self.each, self.good = max(1, self.each // 2), 0

    def refused(self, items: int) -> None:
        """Record that the answers to this number of items were too large together."""
        self.each, self.good = max(self.each, _MOST // max(1, items // 2)), 0


class _Read(NamedTuple):
    query: Query[Any]
    shard: ShardId
    #: The version of the slots that its shard was found with.
    version: int
    row: str
    message: Message
    items: Sequence[Any]


class JointReads:
    """Joins linearizable reads of a few items each, while others are under way.

    A read that fails together with others is repeated by its caller: alone with its own deadline,
    and on other nodes with its own request and rights.
    """

    def __init__(
        self,
        queries: Mapping[str, Query[Any]],
        slot_map: Callable[[], SlotMap],
        read_here: ReadHere,
        deadline: Callable[[], float],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        #: Without an order each item has one answer.
        self._queries: Final = {
            query.message: query
            for query in queries.values()
            if query.items is not None and query.order is None
        }
        self._slot_map: Final = slot_map
        self._read_here: Final = read_here
        self._deadline: Final = deadline
        self._gathering: Final = Gathering[_Read, _Found](self._read_all, _MOST, loop)
        self._weights: Final = defaultdict[type[Message], _Weight](_Weight)
        #: The number of reads under way that are not joined: a lone one has no company to wait for.
        self.alone = 0

    def join(self, message: Message, row: type[Any]) -> asyncio.Future[_Found] | None:
        """Join a read, whose answers are None when it has to be repeated alone.

        Returns None for one that cannot be joined.
        """
        query = self._queries.get(type(message))
        if query is None or not (self.alone or self._gathering.is_busy):
            return None
        assert query.items is not None
        name = "" if row is bytes else row.DESCRIPTOR.full_name
        # Other fields could mean that its items are read in another way.
        fields = message.ListFields()
        if len(fields) != 1 or (name and query.row is not None) or not is_repeated(fields[0][0]):
            return None
        items = query.items.get(message)
        slot_map = self._slot_map()
        holders = slot_map.shards(query.group)
        if not 0 < len(items) <= _FEW or (len(holders) > 1 and len(items) > 1):
            return None
        shard = holders[0]
        if len(holders) > 1:
            shard = slot_map.place(query.group, query.items.shard_key(items[0]))
        version = slot_map.version(shard)
        read = _Read(query, shard, version, name, message, items)
        weight = len(items) * self._weights[query.message].each
        return self._gathering.add(read, weight, (shard, version, query.message, name))

    async def _read_all(self, reads: Sequence[_Read]) -> Sequence[_Found]:
        query, shard, version, row, message, _ = reads[0]
        assert query.items is not None
        items = [item for each in reads for item in each.items]
        part = QueryPart(shard, query.items.make(message, items), range(len(items)), version)
        try:
            found = await self._read_here(query, part, row, _NEWEST, self._deadline())
        except Exception as error:  # noqa: BLE001 - each caller meets its own failure
            if isinstance(error, Rejected) and error.code == TOO_MUCH:
                self._weights[query.message].refused(len(items))
            found = None
        if found is None or len(found[1]) != len(items):
            # Of another number of answers no caller knows which are its own.
            return [None] * len(reads)
        self._weights[query.message].answered()
        _, rows = found
        answers: list[_Found] = []
        begin = 0
        for each in reads:
            end = begin + len(each.items)
            answers.append(Answers(rows=rows[begin:end], age_ms=0))
            begin = end
        return answers
