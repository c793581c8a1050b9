"""The parts of requests on their way to another node: what waits, was sent, and is late."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from quorate.groups.refusals import NotProposedInTimeError, UnansweredInTimeError
from quorate.groups.routing.forwarding import ForwardedCommand, weight
from quorate.groups.routing.proposing import Result
from quorate.groups.shard.settings import ShardSettings

#: How much longer an answer may take than its command: the other node says best why it is late.
GRACE_S: Final = 0.2
#: What may be on its way to one node for one shard, or wait for that: as much as the shard takes.
ROOM_BYTES: Final = ShardSettings().queue_bytes
ROOM_COMMANDS: Final = ShardSettings().queue_commands


class Part:
    """What one request has for one shard: its commands stay together, and in their order."""

    __slots__ = ("answer", "deadlines", "open", "requests", "results", "sent", "weight")

    def __init__(
        self, requests: Sequence[ForwardedCommand], now: float, answer: asyncio.Future[None]
    ) -> None:
        self.requests: Final = requests
        #: About how many bytes it takes in a message.
        self.weight: Final = sum([weight(each.command) for each in requests])
        #: On the loop's clock.
        self.deadlines: Final = [now + each.timeout_s for each in requests]
        #: Set when every command has its result, or nobody waits any more.
        self.answer: Final = answer
        self.results: Final[list[Result | None]] = [None] * len(requests)
        self.open = len(requests)
        #: It may have left this node.
        self.sent = False

    def settle(self, place: int, result: Result) -> None:
        """Take the result of a command; the first one counts."""
        if self.results[place] is not None:
            return
        self.results[place] = result
        self.open -= 1
        if not self.open and not self.answer.done():
            self.answer.set_result(None)

    def settle_all(self, error: Exception) -> None:
        """Let every command that has no result end with an error."""
        for place in range(len(self.requests)):
            self.settle(place, error)

    def expire(self, now: float) -> None:
        """End what is late: what was sent is waited for a little longer, and then in doubt."""
        grace_s = GRACE_S if self.sent else 0.0
        for place, deadline in enumerate(self.deadlines):
            if deadline + grace_s <= now:
                self.settle(place, _late(self.requests[place], sent=self.sent))

    @property
    def due(self) -> float:
        """When the next of its commands is late."""
        grace_s = GRACE_S if self.sent else 0.0
        return grace_s + min(
            [
                deadline
                for deadline, result in zip(self.deadlines, self.results, strict=True)
                if result is None
            ],
            default=float("inf"),
        )


def _late(request: ForwardedCommand, *, sent: bool) -> Exception:
    name, shard = request.command.type, request.shard
    if sent:
        return UnansweredInTimeError(
            f"the deadline passed before {name} was answered by the leader of shard {shard}: it "
            "may still be carried out; read whether it was, or repeat it with its session"
        )
    return NotProposedInTimeError(
        f"the deadline passed before {name} was sent to the leader of shard {shard}: try again"
    )
