"""Moves replicas to the nodes that the planner chooses, a few at a time."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from quorate.consensus.messages import Peer
from quorate.consensus.refusals import RefusedError
from quorate.plugin import Controller, NodeApi, Rejected, ShardRef
from quorate.plugin.advanced import METADATA_GROUP
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.shards.steps import STEP_S, ChangeMembers, Submit, Transfer
from quorate.shards.topology_rows import is_changing, is_placed, replicas_of, replicas_wanted
from quorate.storage.families import MEMBERS
from quorate.storage.rows import value_of
from quorate.topology.changes.creation import site_of
from quorate.topology.changes.members import Goal, next_step, patience_s
from quorate.topology.planner import Move, Placed, Plan, Site, misplaced, plan
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_REMOVE,
    MemberRow,
    MoveReplica,
    NodeDeclaration,
    ShardMember,
)

_log = logging.getLogger(__name__)

#: The name of the controller, by which it is paused.
NAME: Final = "core.placement"
_INTERVAL_S: Final = 1.0
#: Maximum number of moves under way to and from one node, and in the cluster.
_OF_A_NODE: Final = 2
_AT_ONCE: Final = 32
#: Interval after which a plan is made again, although only loads have changed.
_LOADS_S: Final = 60.0
#: A node that does not answer for this time is lost: its replicas are rebuilt elsewhere.
LOST_S: Final = 600.0
#: A move to a node that does not answer for this time is taken back.
_GIVEN_UP_S: Final = 60.0
#: How long requests of operators wait for rows that were written before them.
_CATCH_UP_S: Final = 2.0

_REFUSED: Final = "FAILED_PRECONDITION"


@dataclass(frozen=True, slots=True)
class Moving:
    """A move that is under way."""

    shard: ShardId
    source: ShardMember | None
    target: ShardMember | None


@dataclass(frozen=True, slots=True)
class Places:
    """The nodes and the replicas that are placed, as this node knows them."""

    sites: Mapping[str, Site]
    shards: Sequence[Placed]
    moving: Sequence[Moving]
    #: The replica of each node.
    replicas: Mapping[str, int]
    drained: frozenset[str]
    #: The nodes that have answered lately.
    answering: frozenset[str]
    #: The number of replicas of each group that has one.
    wanted: Mapping[str, int]
    #: The groups whose number of replicas differs between nodes.
    unclear: Sequence[str] = ()

    def plan(self) -> Plan:
        """Return the moves to make, and the problems that prevent others."""
        made = plan(self.sites.values(), self.shards)
        unclear = [
            f"nodes declare different numbers of replicas of group {group}, and none of them moves:"
            f" set [groups.{group}] replicas to the same on every node"
            for group in self.unclear
        ]
        return Plan(made.moves, [*unclear, *made.problems])

    def held(self, node: str) -> list[ShardId]:
        """Return the placed shards with a replica on a node, those that leave it included."""
        leaving = [each.shard for each in self.moving if each.source and each.source.node == node]
        return sorted({*(each.shard for each in self.shards if node in each.nodes), *leaving})


class Placement:
    """Knows where replicas are and belong, on every node; moves them on metadata/0's leader."""

    def __init__(
        self, shards: NodeShards, census: Census, submit: Submit, *, lost_s: float = LOST_S
    ) -> None:
        self._shards: Final = shards
        self._census: Final = census
        self._submit: Final = submit
        self._lost_s: Final = lost_s
        self._planned: tuple[object, Plan] | None = None
        #: Declares it, for the runner of controllers.
        self.controller: Final = Controller(
            name=NAME, group=METADATA_GROUP.name, run_once=self._run_once, interval_s=_INTERVAL_S
        )

    def places(self) -> Places:
        """Return the nodes and the placed replicas."""
        rows = {row.node: row for row in self._member_rows()}
        drained = frozenset(
            name for name, row in rows.items() if row.drains or row.change == MEMBER_CHANGE_REMOVE
        )
        declarations = self._declarations()
        answering = frozenset(name for name, each in declarations.items() if self._answers(each))
        sites = {
            name: self._site(each, drained=name in drained, answers=name in answering)
            for name, each in declarations.items()
        }
        wanted = replicas_wanted(declarations.values())
        declared = {
            group.name
            for each in declarations.values()
            for group in each.groups
            if group.replicas and group.name not in wanted
        }
        shards, moving = list[Placed](), list[Moving]()
        for shard, row in self._shards.rows().items():
            if not is_placed(row, wanted) or row.merged_into:
                continue
            move = row.move
            source = getattr(move, "from") if move.HasField("from") else None
            if row.HasField("move"):
                moving.append(Moving(shard, source, move.to if move.HasField("to") else None))
            shards.append(
                Placed(
                    shard=shard,
                    nodes=tuple(each.node for each in replicas_of(row) if each != source),
                    wanted=wanted[row.group],
                    load=self._census.load(shard),
                    moving=row.HasField("move") or is_changing(row),
                )
            )
        replicas = {name: each.replica for name, each in declarations.items()}
        return Places(sites, shards, moving, replicas, drained, answering, wanted, sorted(declared))

    @property
    def problems(self) -> Sequence[str]:
        """The problems that prevented moves in the last plan of this node."""
        return () if self._planned is None else self._planned[1].problems

    # For operators.

    async def catch_up(self) -> None:
        """Wait until this node has applied earlier writes; without a majority, only briefly."""
        metadata = self._shards.get(METADATA)
        if metadata is not None:
            with suppress(UnreadableError):
                await metadata.read_barrier(_CATCH_UP_S)

    def check_drain(self, node: str) -> tuple[int, list[Move]]:
        """Return the number of replicas that a node would lose, and the moves that would begin now.

        Raises `Rejected` if the node cannot be drained.
        """
        places = self.places()
        if node not in places.sites:
            raise Rejected("NOT_FOUND", f"{node} is no node of this cluster")
        held = places.held(node)
        self._check_majorities(places, held)
        site = replace(places.sites[node], takes=False, leaves=True)
        after = replace(places, sites={**places.sites, node: site})
        before, made = set(places.plan().problems), after.plan()
        problems = [each for each in made.problems if each not in before]
        if problems:
            raise Rejected(_REFUSED, f"{node} cannot be drained: {'; '.join(problems)}")
        return len(held), [move for move in made.moves if move.source == node]

    def move(self, shard: ShardId, source: str, target: str) -> MoveReplica:
        """Return the command that moves a replica; raises `Rejected` if it must not move."""
        places = self.places()
        found = next((each for each in places.shards if each.shard == shard), None)
        if found is None:
            raise Rejected(
                _REFUSED,
                f"shard {shard} does not exist, or has a replica on every node: set"
                f" [groups.{shard.group}] replicas on every node to place its replicas",
            )
        if found.moving:
            raise Rejected(_REFUSED, f"a replica of shard {shard} is moving; wait until it is over")
        if source not in found.nodes:
            has = ", ".join(found.nodes)
            raise Rejected("NOT_FOUND", f"{source} has no replica of shard {shard}, but {has}")
        rest = [node for node in found.nodes if node != source]
        reason = misplaced(places.sites, rest, target)
        if target == source or reason is not None:
            raise Rejected(_REFUSED, reason or f"{target} has a replica of it already")
        self._check_majorities(places, [shard])
        return self._command(places, Move(shard, source, target))

    def given_up(self, node: str, places: Places) -> Iterator[MoveReplica]:
        """Yield the removals of a drained node's replicas that no other node takes."""
        if node not in places.drained:
            return
        planned = {move.shard for move in places.plan().moves}
        for each in places.shards:
            if node in each.nodes and not each.moving and each.shard not in planned:
                yield self._command(places, Move(each.shard, node, None))

    def _check_majorities(self, places: Places, shards: Sequence[ShardId]) -> None:
        chosen = set(shards)
        for each in places.shards:
            silent = [node for node in each.nodes if node not in places.answering]
            if each.shard in chosen and 2 * len(silent) >= len(each.nodes) > 0:
                raise Rejected(
                    "NO_MAJORITY",
                    f"shard {each.shard} has {len(each.nodes)} replicas, of which"
                    f" {', '.join(silent)} do not answer: it cannot change its members; first start"
                    " these nodes, or recover the shard with `quorate shard recover`",
                )

    # The controller.

    async def _run_once(self, _: NodeApi, __: ShardRef) -> None:
        places = self.places()
        for command in self._next(places):
            try:
                await self._submit(METADATA, command)
            except (NotProposedError, OutcomeUnknownError, Rejected) as error:
                _log.info("shard %s/%d does not move: %s", command.group, command.number, error)
        await self._seat_voters(places)

    async def _seat_voters(self, places: Places) -> None:
        """Take a step towards the number of voters of metadata/0; the other nodes are learners."""
        metadata, wanted = self._shards.get(METADATA), places.wanted.get(METADATA.group, 0)
        if metadata is None or metadata.configuration is None or not metadata.leads or not wanted:
            return
        voters = tuple(peer.node for peer in metadata.configuration.voters)
        machines = {site.machine for site in places.sites.values() if not site.leaves}
        placed = Placed(shard=METADATA, nodes=voters, wanted=min(wanted, len(machines)))
        moves = plan(places.sites.values(), [placed]).moves
        if not moves:
            return
        # One more votes before another one does no more.
        node, votes = (moves[0].target, True) if moves[0].target else (moves[0].source, False)
        replica = None if node is None else metadata.configuration.peer_of(node)
        if node is None or replica is None:
            return
        goal, patience = Goal(node, replica.replica, votes), patience_s(metadata)
        try:
            step = next_step(METADATA, goal, metadata.replica.status(), patience_s=patience)
            for act in step.acts:
                if isinstance(act, Transfer):
                    metadata.transfer(act.heir)
                elif isinstance(act, ChangeMembers):
                    await metadata.change_membership(act.configuration, STEP_S)
        except (NotProposedError, OutcomeUnknownError, Rejected, RefusedError) as error:
            _log.info("the voters of metadata/0 stay as they are for now: %s", error)

    def _next(self, places: Places) -> Iterator[MoveReplica]:
        """Yield the commands to submit now: moves to take back, and moves to begin."""
        busy = Counter[str]()
        for each in places.moving:
            busy.update(member.node for member in (each.source, each.target) if member is not None)
            if each.target is not None and self._is_given_up(each.target, places):
                _log.warning(
                    "the move of shard %s to %s is taken back: that node does not answer",
                    each.shard,
                    each.target.node,
                )
                yield _moved(each.shard, source=each.target)
        under_way = len(places.moving)
        for move in self._plan(places).moves:
            nodes = [node for node in (move.source, move.target) if node is not None]
            if under_way >= _AT_ONCE:
                return
            if any(busy[node] >= _OF_A_NODE for node in nodes):
                continue
            under_way += 1
            busy.update(nodes)
            yield self._command(places, move)

    def _is_given_up(self, target: ShardMember, places: Places) -> bool:
        if target.node in places.drained or places.replicas.get(target.node) != target.replica:
            return True
        silent_s = self._census.silent_s(Peer(target.node, target.replica))
        return target.node not in places.answering and silent_s > _GIVEN_UP_S

    def _plan(self, places: Places) -> Plan:
        """Plan again when more than loads has changed, or the loads are old."""
        key = (
            tuple(places.sites.values()),
            [(each.shard, each.nodes, each.wanted, each.moving) for each in places.shards],
            int(self._census.now() / _LOADS_S),
        )
        if self._planned is None or self._planned[0] != key:
            self._planned = key, places.plan()
        return self._planned[1]

    # What is known.

    def _command(self, places: Places, move: Move) -> MoveReplica:
        row = self._shards.rows()[move.shard]
        source = next((each for each in replicas_of(row) if each.node == move.source), None)
        target = None
        if move.target is not None:
            target = ShardMember(node=move.target, replica=places.replicas[move.target])
        return _moved(move.shard, source=source, target=target)

    def _answers(self, declaration: NodeDeclaration) -> bool:
        peer = Peer(declaration.node, declaration.replica)
        return peer == self._shards.me or self._census.answers(peer)

    def _site(self, declaration: NodeDeclaration, *, drained: bool, answers: bool) -> Site:
        peer = Peer(declaration.node, declaration.replica)
        lost = not answers and self._census.silent_s(peer) > self._lost_s
        return site_of(declaration, takes=answers and not drained, leaves=drained or lost)

    def _declarations(self) -> dict[str, NodeDeclaration]:
        """Return the declarations of the cluster's members, by node."""
        metadata = self._shards.get(METADATA)
        configuration = None if metadata is None else metadata.configuration
        members = set(() if configuration is None else configuration.peers)
        return {
            each.node: each
            for each in self._shards.declarations()
            if (each.node, each.replica) in members
        }

    def _member_rows(self) -> Iterator[MemberRow]:
        metadata = self._shards.get(METADATA)
        if metadata is not None:
            for _, row in metadata.data.iterate(MEMBERS, b"", None):
                yield MemberRow.FromString(value_of(row))


def _moved(
    shard: ShardId, *, source: ShardMember | None, target: ShardMember | None = None
) -> MoveReplica:
    command = MoveReplica(group=shard.group, number=shard.number, to=target)
    if source is not None:
        getattr(command, "from").CopyFrom(source)
    return command
