"""Adds and removes nodes, shard by shard; a repeated call continues an interrupted one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.message import DecodeError, Message
from pydantic import TypeAdapter, ValidationError

from quorate.apply import levels
from quorate.config.addresses import split_address
from quorate.config.fields import Name
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import IntroductionRefusedError
from quorate.control.placement import Placement
from quorate.node.peers import Peers
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.rpc.asking import NodeMemberSteps
from quorate.shards.refusals import NoLeaderError, NotProposedError, OutcomeUnknownError
from quorate.shards.router import Answer, Router
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import PASSING
from quorate.shards.timing import Pause, pause
from quorate.shards.topology_rows import CHANGE_OVER
from quorate.storage.families import MEMBERS
from quorate.topology.changes.creation import difference_of
from quorate.topology.changes.members import (
    NO_MAJORITY,
    SILENT,
    AskedStep,
    Goal,
    MemberSteps,
    StepTaken,
    member_row,
)
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1 import control_pb2 as pb
from quorate.v1.admin_pb2 import MeetMemberResponse, MemberProgress
from quorate.v1.node_pb2 import NodeIntroduction

#: Timeout of one step, and how long a failing step is retried.
_STEP_S: Final = 5.0
_PATIENCE_S: Final = 15.0
#: How long to wait for a newcomer to answer: it may just be starting.
_MEET_S: Final = 5.0
#: The fewest voters that a removal leaves, unless it is forced.
_FEWEST: Final = 2
#: How long a node that is removed may finish the calls that it has accepted.
_FAREWELL_S: Final = 0.5
#: How long the draining of a node may make no progress during its removal.
_EMPTY_S: Final = 120.0
#: Interval between checks of a slow step.
_LOOK_S: Final = 0.1

MOVING: Final = "its replicas move"

_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


def is_being_removed(metadata: Shard, me: Peer) -> bool:
    """Return whether the removal of a replica has begun.

    A replica that replaces another also reads of that one's removal, before it is a member.
    """
    if member_row(metadata, me.node).change != pb.MEMBER_CHANGE_REMOVE:
        return False
    _, then = metadata.replica.log.configuration_at(metadata.applied)
    return then is not None and me in then.peers


@dataclass(eq=False)
class Members:
    """Adds and removes members of the cluster, and continues changes that began before."""

    _shards: NodeShards
    _router: Router
    _steps: MemberSteps
    _peers: Peers
    _placement: Placement
    _loop: asyncio.AbstractEventLoop

    def __post_init__(self) -> None:
        self._elsewhere = NodeMemberSteps(self._peers.channels)

    async def add(self, node: str, address: str) -> AsyncIterator[MemberProgress]:
        """Add a running node to metadata/0 and to every shard that is not placed.

        Replicas of placed shards move to it afterwards. If the group of metadata has a number of
        replicas, that number of nodes votes in metadata/0, and the others are learners.
        """
        newcomer = await self.meet(node, address)
        goal = Goal(node, newcomer.replica)
        # Raises if a shard cannot make the change.
        await self._reached(goal)
        number = await self._begin(
            pb.BeginMemberChange(
                node=node, change=pb.MEMBER_CHANGE_ADD, address=address, replica=newcomer.replica
            )
        )
        async for progress in self._go(goal, number):
            yield progress

    async def remove(self, node: str, *, force: bool = False) -> AsyncIterator[MemberProgress]:
        """Remove a node from every shard, metadata/0 last, whose leader then forgets it.

        Its replicas of placed shards move to other nodes first, or else are given up. Without
        `force` two voters must remain: the loss of a single one would lose all data.
        """
        _check_name(node)
        if not force:
            self._check_enough(node)
        goal = Goal(node, None)
        if self._placement.places().held(node):
            async for progress in self._emptied(node):
                yield progress
        if all(await self._reached(goal)) and not self._is_known(node):
            raise Rejected("NOT_FOUND", f"{node} is not a member of this cluster")
        number = await self._begin(pb.BeginMemberChange(node=node, change=pb.MEMBER_CHANGE_REMOVE))
        if node in self._placement.places().answering:
            # It accepts no more calls now, and finishes those that it has.
            await pause(self._loop, _FAREWELL_S)
        async for progress in self._go(goal, number):
            yield progress

    # Before anything is changed.

    async def meet(self, node: str, address: str) -> Peer:
        """Return the node that answers at an address; raises `Rejected` if it cannot be added."""
        _check_name(node)
        try:
            split_address(address)
        except ValueError as error:
            raise Invalid("address", str(error)) from None
        waiting = Pause(self._loop)
        deadline = self._loop.time() + _MEET_S
        why = ""
        while True:
            try:
                answer = await self._peers.meet(node, address)
            except IntroductionRefusedError as error:
                why = str(error)
            else:
                why = f"{node}: it has found no cluster to join yet"
                if answer.first_entry:
                    break
            if not await waiting.until(deadline):
                raise Rejected(
                    SILENT,
                    f"{node} cannot be added ({why}); start it with [cluster] join and the token of"
                    f" this cluster, see that {address} reaches it from every node, and call again",
                )
        if answer.first_entry != self._peers.first_entry():
            raise Rejected(
                "OTHER_CLUSTER",
                f"{node} at {address} belongs to another cluster; give it an empty node.dir, and"
                " the nodes of this cluster in [cluster] join",
            )
        try:
            about = NodeIntroduction.FromString(answer.about)
        except DecodeError:
            about = NodeIntroduction()
        self._check_plugins(node, about.declaration)
        known = answer.peer == self._member(node) or self._is_being_added(answer.peer)
        if about.has_been_member and not known:
            raise Rejected(
                "WAS_MEMBER",
                f"{node} at {address} has the data of a replica that was removed; stop it, give it"
                " an empty node.dir and [cluster] join, start it, and call again",
            )
        return answer.peer

    async def look(self, node: str, address: str) -> MeetMemberResponse:
        """Return the node that would replace a member; raises `Rejected` if it is that member."""
        newcomer = await self.meet(node, address)
        member = self._member(node)
        if newcomer == member and not self._is_being_added(newcomer):
            raise Rejected(
                "IS_MEMBER",
                f"{node} at {address} is the member itself, with its data, so there is nothing to"
                " replace; to have it rebuilt, stop it, give it an empty node.dir and [cluster]"
                " join, start it, and call again",
            )
        return MeetMemberResponse(
            replica=newcomer.replica,
            member=0 if member is None else member.replica,
            member_answers=node in self._placement.places().answering,
        )

    def _member(self, node: str) -> Peer | None:
        """Return the replica of a node that is a member of metadata/0, as far as is known."""
        membership = self._shards.membership(METADATA)
        return None if membership is None else membership.configuration.peer_of(node)

    def _is_being_added(self, newcomer: Peer) -> bool:
        metadata = self._shards.get(METADATA)
        row = pb.MemberRow() if metadata is None else member_row(metadata, newcomer.node)
        return row.change == pb.MEMBER_CHANGE_ADD and row.replica == newcomer.replica

    def _check_plugins(self, node: str, declared: pb.NodeDeclaration) -> None:
        old = levels.lacking(levels.by_feature(declared.levels), self._shards.levels)
        if old is not None:
            raise Rejected(
                levels.TOO_OLD,
                f"{node} cannot be added: {old}; install the release that the other nodes run",
            )
        difference = difference_of(self._shards.declaration, declared)
        if difference is not None:
            raise Rejected("OTHER_PLUGINS", f"{node} cannot be added: {difference}")

    def _check_enough(self, node: str) -> None:
        membership = self._shards.membership(METADATA)
        voters = [] if membership is None else membership.configuration.voters
        stay = [each.node for each in voters if each.node != node]
        if 0 < len(stay) < min(len(voters), _FEWEST):
            raise Rejected(
                "TOO_FEW",
                f"without {node} the cluster would be {', '.join(stay)} alone, whose loss or"
                " damaged disk would lose all data; add another node first, or set"
                " --force",
            )

    async def _preview(self, shard: ShardId, goal: Goal) -> StepTaken:
        try:
            return await self._carry(shard, goal, 0)
        except PASSING as error:
            raise Rejected(
                NO_MAJORITY,
                f"shard {shard} has no leader that answers, so its members cannot change; see that"
                f" a majority of its nodes runs ({error})",
            ) from error

    def _is_known(self, node: str) -> bool:
        """Return whether rows of a node are left that is in no shard."""
        metadata = self._shards.get(METADATA)
        return metadata is not None and (
            metadata.data.get(MEMBERS, node.encode()) is not None
            or any(each.node == node for each in self._shards.declarations())
        )

    async def _begin(self, change: pb.BeginMemberChange) -> int:
        answer = await self._record(change)
        return pb.BeginMemberChangeReply.FromString(answer.reply).number

    async def _record(self, command: Message) -> Answer:
        """Propose a command to metadata/0 until it succeeds; it may be applied twice."""
        waiting = Pause(self._loop)
        deadline = self._loop.time() + _PATIENCE_S
        while True:
            try:
                return await self._router.propose_control(METADATA, command)
            except (NotProposedError, OutcomeUnknownError):
                if not await waiting.until(deadline):
                    raise

    # Changing.

    async def _emptied(self, node: str) -> AsyncIterator[MemberProgress]:
        """Drain a node of its placed replicas, and report progress until it has none."""
        await self._record(pb.DrainNode(node=node, drains=True))
        placement, total, left, tried = self._placement, 0, -1, set[ShardId]()
        until = self._loop.time() + _EMPTY_S
        while held := (places := placement.places()).held(node):
            if len(held) != left:
                left, total = len(held), max(total, len(held))
                until = self._loop.time() + _EMPTY_S
                yield MemberProgress(
                    shard=str(held[0]), step=MOVING, shards_done=total - left, shards_total=total
                )
            elif self._loop.time() > until:
                raise Rejected(
                    NO_MAJORITY,
                    f"{left} replicas do not leave {node}, {held[0]} among them: see"
                    " `quorate shard balance --dry-run`; call again to continue from here",
                )
            for command in placement.given_up(node, places):
                shard = ShardId(command.group, command.number)
                if shard not in tried:
                    tried.add(shard)
                    with suppress(Rejected):
                        await self._record(command)
            await pause(self._loop, _LOOK_S)

    async def _go(self, goal: Goal, number: int) -> AsyncIterator[MemberProgress]:
        done: frozenset[ShardId] = frozenset()
        try:
            # Evaluated again each time: shards may have been created meanwhile.
            while left := self._left(goal, done):
                shard, total = left[0], len(done) + len(left)
                step = ""
                while True:
                    taken = await self._carry(shard, goal, number)
                    if taken.done:
                        done |= {shard}
                    if taken.status != step:
                        step = taken.status
                        yield MemberProgress(
                            shard=str(shard), step=step, shards_done=len(done), shards_total=total
                        )
                    if taken.done:
                        break
                    await pause(self._loop, _LOOK_S)
            if goal.replica is not None:
                await self._record(pb.FinishMemberChange(node=goal.node, number=number))
        except Rejected as refusal:
            # An attempt whose answer was lost, or another call, may have finished the change.
            if refusal.code != CHANGE_OVER or not all(await self._reached(goal)):
                raise

    async def _reached(self, goal: Goal) -> list[bool]:
        """Return for each shard whether it has reached the goal of a change."""
        return [(await self._preview(each, goal)).done for each in self._left(goal, frozenset())]

    def _left(self, goal: Goal, done: frozenset[ShardId]) -> list[ShardId]:
        """Return the remaining shards in the order of their change."""
        removes = goal.replica is None
        placed = {each.shard for each in self._placement.places().shards}
        left = [each for each in self._shards.slot_map.all() if each not in done | placed]
        return sorted(left, key=lambda shard: ((shard == METADATA) is removes, shard))

    async def _carry(self, shard: ShardId, goal: Goal, number: int) -> StepTaken:
        """Have the leader of a shard take a step, on whichever node it is."""
        waiting = Pause(self._loop)
        deadline = self._loop.time() + _PATIENCE_S
        if (
            goal.replica is not None
            and shard == METADATA
            and METADATA.group in self._shards.wanted()
        ):
            goal = replace(goal, votes=None)
        asked = AskedStep(shard=shard, goal=goal, number=number, timeout_s=_STEP_S)
        hint: Peer | None = None
        while True:
            try:
                return await self._attempt(asked, hint, waiting.count)
            except PASSING as error:
                hint = error.leader if isinstance(error, NoLeaderError) else None
                if not await waiting.until(deadline):
                    raise NotProposedError(
                        f"the leader of shard {shard} did not change its members within"
                        f" {_PATIENCE_S:g} s ({error}); call again to continue from here"
                    ) from error

    async def _attempt(self, asked: AskedStep, hint: Peer | None, attempt: int) -> StepTaken:
        local = self._shards.get(asked.shard)
        if local is not None and local.leads:
            return await self._steps.accept(asked)
        known = hint or (local.leader if local is not None else None)
        me = self._shards.me.node
        if known is not None and known.node != me:
            return await self._elsewhere.change_member(known.node, asked)
        others = self._shards.slot_map.others(asked.shard, me)
        if not others:
            raise NoLeaderError(asked.shard)
        return await self._elsewhere.change_member(others[attempt % len(others)], asked)


def _check_name(node: str) -> None:
    try:
        _NAME.validate_python(node)
    except ValidationError as error:
        raise Invalid("node", f"{error.errors()[0]['msg']}: it is the name of a node") from None
