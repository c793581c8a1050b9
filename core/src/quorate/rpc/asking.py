"""Calls between nodes besides commands and rows: members, changes of members, and clocks."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.codes import Code
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.rpc.status import error_in
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnansweredInTimeError
from quorate.shards.shard.removal import Membership
from quorate.shards.timing import Background, end
from quorate.topology.changes.members import AskedStep, StepTaken
from quorate.v1 import node_pb2

_ANSWER_S: Final = 2.0
#: Questions about members that are under way at the same time.
_TOGETHER: Final = 16
#: How often clocks are asked, and how old a reading may be.
_EVERY_S: Final = 5.0
_FORGOTTEN_S: Final = 30.0


def wall_ms() -> int:
    """Return the time of this machine's clock."""
    return int(time.time() * 1_000)


class _Heard(NamedTuple):
    wall_ms: int
    #: On the loop's clock, which no leap of a wall clock moves.
    at: float


class NodeClocks(Background):
    """Polls every node for a census and for its clock, and extrapolates the last reading."""

    def __init__(
        self,
        channels: NodeChannels,
        nodes: Callable[[], Iterable[str]],
        loop: asyncio.AbstractEventLoop,
        *,
        heard: Callable[[Peer, node_pb2.ClockResponse], None] = lambda node, answer: None,
        before: Callable[[], None] = lambda: None,
        every_s: float = _EVERY_S,
    ) -> None:
        super().__init__(loop)
        self._channels: Final = channels
        self._nodes: Final = nodes
        #: Gets the answer of each node about itself.
        self._heard: Final = heard
        #: Called before the nodes are asked, each time.
        self._before: Final = before
        self._every_s: Final = every_s
        self._readings: Final[dict[str, _Heard]] = {}

    def __call__(self, node: str) -> int | None:
        """Return the current time of a node's clock; None without a recent reading."""
        reading = self._readings.get(node)
        if reading is None:
            return None
        elapsed_s = self._loop.time() - reading.at
        return None if elapsed_s > _FORGOTTEN_S else reading.wall_ms + round(elapsed_s * 1_000)

    async def ask(self) -> Mapping[str, int]:
        """Ask every node now; return the replicas of answering nodes, 0 for an older release."""
        self._before()
        nodes = list(self._nodes())
        answers = await asyncio.gather(*map(self._ask, nodes))
        return {
            node: answer.replica
            for node, answer in zip(nodes, answers, strict=True)
            if answer is not None
        }

    async def _run(self) -> None:
        while True:
            await self.ask()
            await asyncio.sleep(self._every_s)

    async def _ask(self, node: str) -> node_pb2.ClockResponse | None:
        try:
            route = await self._channels.route(node, _ANSWER_S)
            asked_at = self._loop.time()
            answer: node_pb2.ClockResponse = await route.stub.Clock(
                node_pb2.ClockRequest(), timeout=_ANSWER_S, metadata=route.metadata
            )
        except (UnreachableError, CallError):
            return None
        # It was read about halfway between asking and hearing.
        self._readings[node] = _Heard(answer.wall_ms, (asked_at + self._loop.time()) / 2)
        self._heard(Peer(node, answer.replica), answer)
        return answer


class NodeMembership:
    """Asks over the channels to the nodes."""

    def __init__(self, channels: NodeChannels, loop: asyncio.AbstractEventLoop) -> None:
        self._channels: Final = channels
        self._loop: Final = loop
        self._asking: Final[set[asyncio.Task[Membership | None]]] = set()

    def ask(self, shard: ShardId, node: str) -> asyncio.Future[Membership | None]:
        """Return the membership that a node knows; None where it knows none, or is silent.

        It is None at once while many questions are under way: all shards of a node may ask
        together, again and again.
        """
        if len(self._asking) >= _TOGETHER:
            unasked: asyncio.Future[Membership | None] = self._loop.create_future()
            unasked.set_result(None)
            return unasked
        asking = self._loop.create_task(self._ask(shard, node))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return asking

    async def stop(self) -> None:
        """Ask no more."""
        await end(*self._asking)

    async def _ask(self, shard: ShardId, node: str) -> Membership | None:
        try:
            route = await self._channels.route(node, _ANSWER_S)
            answer = await route.stub.Membership(
                node_pb2.MembershipRequest(shard=str(shard)),
                timeout=_ANSWER_S,
                metadata=route.metadata,
            )
        except (UnreachableError, CallError):
            return None
        try:
            # A node without a membership answers with a configuration without members.
            return Membership(answer.index, Configuration.decode(answer.configuration))
        except ValueError:
            return None


class NodeMemberSteps:
    """Requests steps from other nodes over the channels to them."""

    def __init__(self, channels: NodeChannels) -> None:
        self._channels: Final = channels

    async def change_member(self, node: str, asked: AskedStep) -> StepTaken:
        """Have another node take a step with `MemberSteps.accept`, and raise its errors.

        Raises `NotProposedError` when nothing was sent, and `OutcomeUnknownError` when no answer
        came: the step may have been taken.
        """
        try:
            route = await self._channels.route(node, asked.timeout_s)
            answer = await route.stub.ChangeMember(
                node_pb2.ChangeMemberRequest(
                    shard=str(asked.shard),
                    node=asked.goal.node,
                    replica=asked.goal.replica or 0,
                    number=asked.number,
                    learner=asked.goal.votes is None,
                ),
                timeout=asked.timeout_s,
                metadata=route.metadata,
            )
        except UnreachableError as error:
            raise NotProposedError(f"{error}; nothing was changed") from None
        except CallError as error:
            raise _raised(node, asked, error) from None
        return StepTaken(answer.step, answer.done)


def _raised(node: str, asked: AskedStep, error: CallError) -> Exception:
    if (sent := error_in(error, asked.shard)) is not None:
        return sent
    if error.code() is Code.PERMISSION_DENIED:
        return NotProposedError(f"{node} refuses this node: {error.details()}; nothing was changed")
    if error.code() is Code.DEADLINE_EXCEEDED:
        return UnansweredInTimeError(f"the deadline passed before {node} had changed a member")
    return OutcomeUnknownError(f"the way to {node} broke under a change: {error.details()}")
