"""Adds a member to a shard or removes it, step by step on the leader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import NotLeaderError, RefusedError
from quorate.consensus.status import FollowerStatus, ReplicaStatus
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import NoLeaderError, NotProposedError
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Change, ChangeMembers, Step, Submit, Transfer
from quorate.shards.topology_rows import OTHER_REPLICA, check_goes_on
from quorate.storage.families import MEMBERS
from quorate.storage.rows import value_of
from quorate.v1.control_pb2 import FinishMemberChange, MemberRow

#: Why a step is refused.
NO_MAJORITY: Final = "NO_MAJORITY"
SILENT: Final = "SILENT"

#: A learner without contact for this time is not waited for.
_SILENT_S: Final = 10.0
#: A voter without contact to the leader for this time is considered dead.
_ELECTIONS: Final = 2
#: How often the learners of a recovered shard are checked.
_AGAIN_S: Final = 0.2

CATCHING_UP: Final = "catching up"
LEARNER: Final = "learner"
VOTER: Final = "voter"
TRANSFERRED: Final = "leadership transferred"
REMOVED: Final = "removed"
WAITING: Final = "waiting"


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a change for a node."""

    node: str
    #: The replica that is to be a member; None to remove the node.
    replica: int | None = None
    #: Whether it is to vote; None: either will do.
    votes: bool | None = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedStep:
    """A request for a step to the leader of a shard."""

    shard: ShardId
    goal: Goal
    #: The number of the change in metadata/0; 0 only checks whether it is possible.
    number: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class StepTaken:
    """The step that was taken, and whether the goal is reached."""

    status: str
    done: bool = False


def next_step(shard: ShardId, goal: Goal, status: ReplicaStatus, *, patience_s: float) -> Step:
    """Return the next step of a shard's leader towards a goal, which is reached when it is over.

    A voter counts as alive if it was in contact within `patience_s`. Raises `Rejected` for a step
    that must not be taken.
    """
    configuration = status.configuration
    if configuration is None or status.configuration_index > status.commit:
        return Step(status=WAITING)
    there = configuration.peer_of(goal.node)
    shard_in = _Shard(shard, status, configuration, patience_s)
    if goal.replica is None:
        return Step(status=REMOVED, over=True) if there is None else shard_in.without(there)
    wanted = Peer(goal.node, goal.replica)
    if there not in (None, wanted):
        raise Rejected(
            OTHER_REPLICA,
            f"shard {shard} has {there} as a member, and {goal.node} has another directory now;"
            f" `quorate member replace {goal.node} ADDRESS` removes the old one first",
        )
    votes = wanted in configuration.voters
    if there is not None and goal.votes in (votes, None):
        return Step(status=VOTER if votes else LEARNER, over=True)
    if votes:
        return shard_in.demoting(wanted)
    return shard_in.with_learner(wanted) if there is None else shard_in.with_voter(wanted)


@dataclass(frozen=True, slots=True)
class _Shard:
    id: ShardId
    status: ReplicaStatus
    configuration: Configuration
    patience_s: float

    def with_learner(self, newcomer: Peer) -> Step:
        # Do not begin what cannot be finished.
        self._check_majority([*self.configuration.voters, newcomer], newcomer)
        members = [*self.configuration.members, Member(newcomer, voter=False)]
        return _changed(LEARNER, members)

    def with_voter(self, learner: Peer) -> Step:
        follower = self._follower(learner)
        if follower is None or follower.silent_s > _SILENT_S:
            raise Rejected(
                SILENT,
                f"the leader of shard {self.id} has no contact with {learner.node}; check that it"
                " runs and can be reached at the address that it was added with, then call again",
            )
        if follower.mode != "replicate":
            return Step(status=f"{CATCHING_UP}, {self.status.last - follower.match} entries to go")
        self._check_majority([*self.configuration.voters, learner], learner)
        others = [each for each in self.configuration.members if each.peer != learner]
        return _changed(VOTER, [*others, Member(learner)], over=True)

    def without(self, leaving: Peer) -> Step:
        stay = [each for each in self.configuration.members if each.peer != leaving]
        voters = [each.peer for each in stay if each.voter]
        if not voters:
            raise Rejected(
                NO_MAJORITY,
                f"{leaving.node} is the last voter of shard {self.id}; add another node first",
            )
        self._check_majority(voters)
        if leaving == self.status.leader:
            return self._transfer(voters)
        follower = self._follower(leaving)
        if follower is not None and follower.mode == "probe" and self._lives(leaving):
            # It may have led a moment ago, and its callers wait for what it logged.
            return Step(status=WAITING)
        return _changed(REMOVED, stay, over=True)

    def demoting(self, voter: Peer) -> Step:
        voters = [each for each in self.configuration.voters if each != voter]
        self._check_majority(voters)
        if voter == self.status.leader:
            return self._transfer(voters)
        members = [
            Member(each.peer, voter=each.voter and each.peer != voter)
            for each in self.configuration.members
        ]
        return _changed(LEARNER, members, over=True)

    def _check_majority(self, voters: Sequence[Peer], newcomer: Peer | None = None) -> None:
        """Raise `Rejected` when too few of these voters are alive to decide anything."""
        dead = [each.node for each in voters if each != newcomer and not self._lives(each)]
        if len(voters) - len(dead) <= len(voters) // 2:
            raise Rejected(
                NO_MAJORITY,
                f"shard {self.id} would have {len(voters)} voters, of which {', '.join(dead)} do"
                " not answer its leader: no write would succeed; first start or remove them",
            )

    def _lives(self, peer: Peer) -> bool:
        if peer == self.status.leader:
            return True
        follower = self._follower(peer)
        return follower is not None and follower.silent_s < self.patience_s

    def _transfer(self, voters: Sequence[Peer]) -> Step:
        def lacks(peer: Peer) -> tuple[bool, int, str]:
            follower = self._follower(peer)
            return not self._lives(peer), -(follower.match if follower else 0), peer.node

        return Step((Transfer(min(voters, key=lacks).node),), status=TRANSFERRED)

    def _follower(self, peer: Peer) -> FollowerStatus | None:
        return next((each for each in self.status.followers if each.peer == peer), None)


def _changed(status: str, members: Iterable[Member], *, over: bool = False) -> Step:
    change = ChangeMembers(Configuration.of(members))
    return Step((change,), over=over, status=status)


class MemberSteps:
    """Takes steps in the shards that this node leads.

    A step belongs to a numbered change in metadata/0, and has no effect once that has ended or was
    replaced.
    """

    def __init__(self, get: Callable[[ShardId], Shard | None], submit: Submit) -> None:
        self._get: Final = get
        self._submit: Final = submit

    async def accept(self, asked: AskedStep) -> StepTaken:
        """Take a step towards the goal, and return it.

        Raises `NoLeaderError` where the shard is not led, `Rejected`, `NotProposedError` and
        `OutcomeUnknownError`.
        """
        shard, goal = asked.shard, asked.goal
        local = self._led(shard)
        if asked.number:
            await self._check_goes_on(asked)
            local = self._led(shard)
        step = next_step(shard, goal, local.replica.status(), patience_s=patience_s(local))
        if not asked.number:
            return StepTaken(step.status, step.over and not step.acts)
        try:
            for act in step.acts:
                if isinstance(act, Transfer):
                    local.transfer(act.heir)
                elif isinstance(act, ChangeMembers):
                    await local.change_membership(act.configuration, asked.timeout_s)
        except NotLeaderError as error:
            raise NoLeaderError(shard, error.leader) from error
        except RefusedError as error:
            return StepTaken(f"{WAITING}: {error}")
        if step.over and goal.replica is None and shard == METADATA:
            # The caller may be the node that has just left.
            await self._submit(METADATA, FinishMemberChange(node=goal.node, number=asked.number))
        return StepTaken(step.status, step.over)

    def _led(self, shard: ShardId) -> Shard:
        found = self._get(shard)
        if found is None or not found.leads:
            raise NoLeaderError(shard, None if found is None else found.leader)
        return found

    async def _check_goes_on(self, asked: AskedStep) -> None:
        metadata = self._get(METADATA)
        if metadata is None:
            raise NotProposedError(f"there is no replica of {METADATA} here; nothing was changed")
        # A change that replaces this one sees what is proposed after this barrier.
        await metadata.read_barrier(asked.timeout_s)
        node = asked.goal.node
        check_goes_on(member_row(metadata, node), node, asked.number)


def member_row(metadata: Shard, node: str) -> MemberRow:
    """Return the row of a node's change, as far as is known here; an empty one if it has none."""
    stored = metadata.data.get(MEMBERS, node.encode())
    return MemberRow() if stored is None else MemberRow.FromString(value_of(stored))


def patience_s(shard: Shard) -> float:
    """Return after how much silence a voter of a shard is considered dead."""
    return _ELECTIONS * shard.settings.timing.election_max_s


class Promotion(Change):
    """Promotes the learners of a recovered shard.

    It begins with one voter, whose state the other replicas install.
    """

    again_s = _AGAIN_S

    async def _step(self) -> Step:
        status = self.shard.replica.status()
        return promotion_step(self.shard.id, status, patience_s=patience_s(self.shard))


def promotion_step(shard: ShardId, status: ReplicaStatus, *, patience_s: float) -> Step:
    """Return the next step that makes a voter of a learner which has caught up."""
    learners = learners_of(status.configuration)
    for learner in learners:
        # There may be no contact with it.
        with suppress(Rejected):
            goal = Goal(learner.node, learner.replica)
            step = next_step(shard, goal, status, patience_s=patience_s)
            if step.acts:
                return Step(step.acts)
    return Step(over=not learners, pause_s=_AGAIN_S)


def learners_of(configuration: Configuration | None) -> list[Peer]:
    """Return the members that do not vote."""
    members = () if configuration is None else configuration.members
    return [each.peer for each in members if not each.voter]
