"""How a write or a read ends when it does not succeed, told apart by what its caller may do.

A refusal by a handler is a normal outcome and no matter of this module: it is raised as
`quorate.plugin.Rejected`, and a message that cannot be right as `quorate.plugin.Invalid`.
"""

from typing import Final

from quorate.consensus.messages import Peer
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId


class NotProposedError(Exception):
    """Nothing was logged and nothing ever will be: trying again is safe, also without a session."""

    #: The canonical gRPC status that a client is told.
    code = "UNAVAILABLE"


class NotServingError(NotProposedError):
    """The node takes no calls, for it starts or stops: another one may."""


class NoLeaderError(NotProposedError):
    """The replica that was asked does not lead its shard; `leader` does, as far as it knows."""

    def __init__(self, shard: ShardId, leader: Peer | None = None) -> None:
        known = f"{leader.node} leads it" if leader else "no leader is known; it may be electing"
        super().__init__(f"shard {shard} is not led by this node: {known}; nothing was proposed")
        self.shard: Final = shard
        self.leader: Final = leader


class UnknownShardError(NotProposedError):
    """The slot map has no such shard, or not yet: other than a shard that has no leader."""

    def __init__(self, group: str, number: int | None = None) -> None:
        what = f"shard {group}/{number}" if number is not None else f"a slot of group {group}"
        super().__init__(
            f"the slot map of this node has no row for {what}; it is created once all nodes that "
            "found the cluster are there and declare the same plugins; `quorate plugin list` on "
            "each shows what differs"
        )
        self.group: Final = group
        self.number: Final = number


class ExhaustedError(NotProposedError):
    """There is no room for the command now; there will be, after `retry_after_ms` at the least."""

    code = "RESOURCE_EXHAUSTED"

    def __init__(self, what: str, retry_after_ms: int) -> None:
        super().__init__(f"{what}; try again after {retry_after_ms} ms")
        self.what: Final = what
        self.retry_after_ms: Final = retry_after_ms


class WrongShardError(NotProposedError):
    """The shard does not hold the slot: it was logged there, and refused without a trace."""

    def __init__(self, shard: ShardId, message: str) -> None:
        super().__init__(f"shard {shard} refused what is not its own: {message}")
        self.shard: Final = shard


class CopyBehindError(NotProposedError):
    """A copy that the command reads may be old, and a command that came later is carried out."""


class NotProposedInTimeError(NotProposedError):
    """The deadline passed before the command left the queue."""

    code = "DEADLINE_EXCEEDED"


class OutcomeUnknownError(Exception):
    """The command was logged and its answer was lost: it may be carried out, now or later.

    Only a session makes it safe to try again.
    """

    code = "UNAVAILABLE"


class UnansweredInTimeError(OutcomeUnknownError):
    """The deadline passed after the command was handed to the log."""

    code = "DEADLINE_EXCEEDED"


class NotAdmittedError(Rejected):
    """A command was refused where it entered: nothing was logged, and nothing was looked up.

    Whether an earlier attempt of the same operation was carried out is another question.
    """


class FencedError(Rejected):
    """The command was made in a term that has passed."""

    def __init__(self, shard: ShardId, *, term: int, made_in: int) -> None:
        super().__init__(
            "ABORTED",
            f"shard {shard.number} of {shard.group} is led in term {term}, "
            f"and the command was made in term {made_in}",
        )


class UnreadableError(Exception):
    """The shard cannot be read here now; asking again is always safe."""

    code = "UNAVAILABLE"


class LeaderlessError(UnreadableError):
    """No leader was heard of for longer than elections take: nobody can say what is the newest."""

    def __init__(self, shard: ShardId) -> None:
        super().__init__(
            f"shard {shard} has no leader: too few of its nodes answer this one; start those that"
            " are down, ask another node, or read stale"
        )
        self.shard: Final = shard


class ReadTimeoutError(UnreadableError, TimeoutError):
    """The deadline passed before the rows that were asked for could be promised."""

    code = "DEADLINE_EXCEEDED"
