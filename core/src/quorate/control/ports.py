"""What controllers and timers ask of the shards of their node."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

from google.protobuf.message import Message

from quorate.apply.deadlines import Deadline
from quorate.plugin import ShardRef
from quorate.plugin.shard_id import ShardId

#: Replicates a command, refused unless this node leads that shard in that term.
Propose = Callable[[Message, ShardRef], Awaitable[object]]
#: Yields something after each change of a family's rows, or more often, wherever its shards are.
#: It lets go of what it holds when whoever waits for it is cancelled.
Changes = Callable[[str], AsyncIterator[object]]
#: Takes back what a gauge was set to, by its name and labels: nobody keeps it up any more.
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
        """The newest term that is known here."""


class TimedShard(LedShard, Protocol):
    """A shard with its due-time index; a `Shard` is one."""

    @property
    def applied(self) -> int:
        """The index of the newest entry that was applied here."""

    def now_ms(self) -> int:
        """Return the logical time that a command would get which is proposed now."""

    def due(self, timer: str, now_ms: int, limit: int) -> list[tuple[bytes, int]]:
        """Return the first keys that are due, each with its deadline, in the order of time."""

    def next_due(self, timer: str) -> int | None:
        """Return the earliest deadline of a timer."""

    def deadline(self, timer: str, key: bytes) -> Deadline | None:
        """Return the deadline that stands for a key."""


def ref_of(shard: LedShard) -> ShardRef:
    """Return the shard with its term."""
    return ShardRef(shard.id.group, shard.id.number, shard.term)
