"""The one hop to another node that a command or a query may take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from quorate.apply.entries import LoggedCommand
from quorate.config.sections import LimitsSection
from quorate.groups.routing.proposing import Result
from quorate.plugin import Consistency
from quorate.plugin.shard_id import ShardId

#: The most bytes of commands that travel together, when messages of clients may be as large.
RUN_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedCommand:
    """A command on its way to the leader of its shard."""

    shard: ShardId
    command: LoggedCommand
    #: Who asked, as the receiving node found out: the leader checks what they may do again.
    caller: str
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedQuery:
    """A query on its way to a replica of its shard."""

    shard: ShardId
    type: str
    payload: bytes
    #: The full name of the message that it is to be answered with.
    row: str
    consistency: Consistency
    min_revision: int
    caller: str
    timeout_s: float


def run_bytes(limits: LimitsSection) -> int:
    """Return about how many bytes of commands travel together; a larger one travels alone."""
    # What a command is wrapped in is estimated.
    return min(RUN_BYTES, limits.grpc_message_bytes // 2)


def weight(command: LoggedCommand) -> int:
    """Return about how many bytes a command is on its way to another node."""
    return len(command.payload) + len(command.type) + 2 * len(command.slots) + 64


class AsOf(NamedTuple):
    """What the answers of a shard were read from."""

    revision: int
    #: How old they may be; 0 for a linearizable read.
    age_ms: int


class ForwardedAnswers(NamedTuple):
    """What a replica on another node answered to a query."""

    as_of: AsOf
    rows: Sequence[bytes]


class Forwarder(Protocol):
    """Carries requests to other nodes, once each: whoever forwards never tries again.

    The other side is `Groups.accept` and `Groups.accept_query`.
    """

    async def propose(self, node: str, requests: Sequence[ForwardedCommand]) -> Sequence[Result]:
        """Have the leader propose commands of one shard in their order, and tell each one's end.

        That is `NotProposedError` when it surely never left this node or was refused there before
        it was logged, and `OutcomeUnknownError` when the connection broke after it was sent. It is
        in its place; nothing of that is raised.
        """

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        """Have a replica answer a query; raises `UnreadableError` when it cannot."""
