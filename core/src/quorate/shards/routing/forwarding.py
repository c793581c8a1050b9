"""Forwards commands and queries to another node, one hop at most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.config.sections import LimitsSection
from quorate.plugin import Consistency
from quorate.plugin.shard_id import ShardId
from quorate.shards.routing.proposing import Result
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.shard import Shard

#: Maximum bytes of commands per request, if clients may send messages as large.
RUN_BYTES: Final = 1 << 20


class Asked(NamedTuple):
    """The request of a caller, and the rights that its node granted."""

    caller: str
    #: The path of the method.
    method: str
    #: None: it takes a stream of requests.
    request: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedQuery:
    """A query for a replica of its shard."""

    shard: ShardId
    type: str
    payload: bytes
    #: The full name of the expected message.
    row: str
    consistency: Consistency
    min_revision: int
    timeout_s: float
    #: None: the node reads for itself.
    asked: Asked | None = None
    #: The version of the shard's slots that it was planned with; 0: unknown.
    slots_version: int = 0


def run_bytes(limits: LimitsSection) -> int:
    """Return the maximum bytes of commands per request; a larger command is sent alone."""
    # The overhead of the wrapper is an estimate.
    return min(RUN_BYTES, limits.grpc_message_bytes // 2)


def weight(command: LoggedCommand) -> int:
    """Return the approximate size of a forwarded command."""
    return len(command.payload) + len(command.type) + 2 * len(command.slots) + 64


class AsOf(NamedTuple):
    """The state that the answers of a shard were read from."""

    revision: int
    #: How old they may be; 0 for a linearizable read.
    age_ms: int
    #: The number of the newest publication whose files are in place.
    published: int = 0


class ForwardedAnswers(NamedTuple):
    """The answers of a replica on another node."""

    as_of: AsOf
    rows: Sequence[bytes]


class LocalShards(Protocol):
    """The replicas on this node, and the known places of all others."""

    @property
    def slot_map(self) -> SlotMap:
        """The newest slot map on this node."""

    def level(self, feature: str) -> int:
        """Return the level of a feature that is in force, as far as this node knows."""

    def knowing(self, command: str) -> Sequence[str]:
        """Return the nodes whose plugins declare a command, as far as this node knows."""

    def get(self, shard: ShardId) -> Shard | None:
        """Return a running replica that is a member of its shard, or None."""

    def is_unopened(self, shard: ShardId) -> bool:
        """Whether a replica here has not been opened since the node started."""

    async def opened(self, shard: ShardId, until: float) -> None:
        """Open such a replica, and return when that is done, or at that time."""


class Forwarder(Protocol):
    """Forwards requests to other nodes, without retries.

    The other side is `Router.accept` and `QueryRouter.accept`.
    """

    async def propose(
        self,
        node: str,
        shard: ShardId,
        commands: Sequence[LoggedCommand],
        deadlines: Sequence[float],
    ) -> Sequence[Result]:
        """Have the leader propose commands of one shard in their order, and return their outcomes.

        Their deadlines are on the clock of the loop.

        The outcome is `NotProposedError` if a command never left this node or was refused before
        it was logged, and `OutcomeUnknownError` if the connection broke after it was sent. These
        are returned, not raised. The leader authorizes their callers again.
        """

    async def query(self, node: str, request: ForwardedQuery) -> ForwardedAnswers:
        """Have a replica answer a query; raises `UnreadableError` when it cannot."""
