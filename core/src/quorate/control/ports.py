"""The ports of controllers and timers to the shards of their node."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

from google.protobuf.message import Message

from quorate.apply.deadlines import Deadline
from quorate.plugin import ShardRef
from quorate.plugin.shard_id import ShardId

#: Replicates a command, which is refused unless this node leads the shard in that term.
Propose = Callable[[Message, ShardRef], Awaitable[object]]
#: Yields after each change of a family's rows, or more often, wherever its shards are. A
#: cancelled wait closes it.
Changes = Callable[[str], AsyncIterator[object]]
#: Removes a gauge by its name and labels, because nothing updates it any more.
Withdraw = Callable[[str, Mapping[str, str]], None]


class LedShard(Protocol):
    """A shard that this node may lead; a `Shard` is one."""

    @property
    def id(self) -> ShardId:
        """The shard."""

    @property
    def leads(self) -> bool:
        """Whether this node leads it."""

    @property
    def term(self) -> int:
        """The newest term known here."""


class TimedShard(LedShard, Protocol):
    """A shard with its deadlines; a `Shard` is one."""

    @property
    def applied(self) -> int:
        """The index of the newest entry applied here."""

    def now_ms(self) -> int:
        """Return the logical time of a command proposed now."""

    def due(self, timer: str, now_ms: int, limit: int) -> list[tuple[bytes, int]]:
        """Return the first due keys with their deadlines, in the order of time."""

    def next_due(self, timer: str) -> int | None:
        """Return the earliest deadline of a timer."""

    def deadline(self, timer: str, key: bytes) -> Deadline | None:
        """Return the deadline of a key, if any."""


def ref_of(shard: LedShard) -> ShardRef:
    """Return the shard with its term."""
    return ShardRef(shard.id.group, shard.id.number, shard.term)
