"""Errors of writes and reads, classified by the caller's options.

A handler's refusal is a normal outcome, raised as `quorate.plugin.Rejected`, and an invalid message
as `quorate.plugin.Invalid`. Plugins see the other failures as the classes of
`quorate.plugin.outcomes`.
"""

from typing import Final, TypeVar

from quorate.consensus.messages import Peer
from quorate.observe.frames import drop_frames
from quorate.plugin import Invalid, Rejected
from quorate.plugin.outcomes import (
    NotProposedError as NotProposedError,
    OutcomeUnknownError as OutcomeUnknownError,
)
from quorate.plugin.shard_id import ShardId

E = TypeVar("E", bound=Exception)


class NotServingError(NotProposedError):
    """The node accepts no calls while it starts or stops; another one may."""


class NoLeaderError(NotProposedError):
    """The replica does not lead its shard; `leader` does, as far as it knows."""

    def __init__(self, shard: ShardId, leader: Peer | None = None) -> None:
        known = f"{leader.node} leads it" if leader else "no leader is known; it may be electing"
        super().__init__(f"shard {shard} is not led by this node: {known}; nothing was proposed")
        self.shard: Final = shard
        self.leader: Final = leader


class UnknownShardError(NotProposedError):
    """The slot map has no such shard, or not yet."""

    def __init__(self, group: str, number: int | None = None) -> None:
        what = f"shard {group}/{number}" if number is not None else f"a slot of group {group}"
        super().__init__(
            f"the slot map of this node has no row for {what}; it is created once all initial "
            "nodes run and declare the same plugins; compare `quorate plugin list` on each"
        )
        self.group: Final = group
        self.number: Final = number


class ExhaustedError(NotProposedError):
    """There is no capacity for the command; retry after `retry_after_ms`.

    `quota` names the setting or the quota that is used up, if one is.
    """

    code = "RESOURCE_EXHAUSTED"

    def __init__(self, what: str, retry_after_ms: int, quota: str = "") -> None:
        super().__init__(f"{what}; try again after {retry_after_ms} ms")
        self.what: Final = what
        self.retry_after_ms: Final = retry_after_ms
        self.quota: Final = quota


class WrongShardError(NotProposedError):
    """The shard does not own the slot: it refused the logged command without effect."""

    def __init__(self, shard: ShardId, message: str) -> None:
        super().__init__(f"shard {shard} refused the command: {message}")
        self.shard: Final = shard


class CopyBehindError(NotProposedError):
    """A copy that the command reads may be stale, and a later command was carried out."""


class NotProposedInTimeError(NotProposedError):
    """The deadline passed before the command left the queue."""

    code = "DEADLINE_EXCEEDED"


class SlowReaderError(OutcomeUnknownError):
    """The client of a stream read nothing of it for too long."""

    code = "RESOURCE_EXHAUSTED"


class UnansweredInTimeError(OutcomeUnknownError):
    """The deadline passed after the command was passed to the log."""

    code = "DEADLINE_EXCEEDED"


class NotAdmittedError(Rejected):
    """A command was refused on entry: it was neither logged nor looked up in its session.

    An earlier attempt of the same operation may have been carried out.
    """


class FencedError(Rejected):
    """The command was made in an earlier term."""

    def __init__(self, shard: ShardId, *, term: int, made_in: int) -> None:
        super().__init__(
            "ABORTED",
            f"shard {shard.number} of {shard.group} is led in term {term}, "
            f"and the command was made in term {made_in}",
        )


class UnreadableError(Exception):
    """The shard cannot be read here now; a retry is always safe."""

    code = "UNAVAILABLE"


class LeaderlessError(UnreadableError):
    """There was no leader for longer than elections take, so no read can be linearizable."""

    def __init__(self, shard: ShardId) -> None:
        super().__init__(
            f"shard {shard} has no leader: too few of its nodes answer this one; start those that"
            " are down, try another node, or read stale"
        )
        self.shard: Final = shard


class ReadTimeoutError(UnreadableError, TimeoutError):
    """The deadline passed before the read was possible at its consistency."""

    code = "DEADLINE_EXCEEDED"


#: What a write or a read may end with, none of it a bug.
REFUSALS: Final = (Rejected, Invalid, NotProposedError, OutcomeUnknownError, UnreadableError)


def settled(error: E) -> E:
    """Return an exception as a value; a refusal without its frames, which hold what was refused.

    Those of a bug stay for the log.
    """
    if isinstance(error, REFUSALS):
        drop_frames(error)
    return error
