"""The one hop to another node that a command or a query may take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.plugin import Consistency
from quorate.storage.shard_id import ShardId


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

    The other side is `Groups.accept` and `Groups.accept_query`; what these raise is raised here.
    """

    async def propose(self, node: str, request: ForwardedCommand) -> Outcome:
        """Have the leader propose a command.

        Raises `NotProposedError` when it surely never left this node or was refused there before
        it was logged, and `OutcomeUnknownError` when the connection broke after it was sent.
        """

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        """Have a replica answer a query; raises `UnreadableError` when it cannot."""
