"""Proposes missing rows: the declaration of this node, new shards, and their slots."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from google.protobuf.message import Message

from quorate.consensus.messages import Peer
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Steps
from quorate.shards.topology_rows import is_placed, replicas_of
from quorate.storage.families import NODES
from quorate.storage.rows import value_of
from quorate.topology.changes.members import member_row
from quorate.topology.planner import Placed, Site, founders
from quorate.v1.control_pb2 import (
    AdoptSlots,
    CreateShards,
    NodeDeclaration,
    ReportDeclaration,
    ShardMember,
    ShardRow,
)

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.5


class Division(NamedTuple):
    """The declarations of a group by the nodes."""

    shards: int
    #: Of each shard; 0: one on every node.
    replicas: int = 0


#: By the name of the group.
Groups = Mapping[str, Division]


@dataclass(eq=False)
class Creation:
    """Proposes missing rows on each `look`, without duplicates in flight.

    Failures are retried. `shards` are the replicas of this node, including `metadata`.
    """

    _declaration: NodeDeclaration
    _metadata: Shard
    _shards: Callable[[], Iterable[Shard]]
    _steps: Steps
    #: Why the leader of metadata/0 creates no shards, if an operator must correct it.
    difference: str | None = field(default=None, init=False)
    #: The state of metadata/0 at the last look. Whether a shard lacks slots also depends on who
    #: leads it: `look_at` is called when that may have changed.
    _seen: object = field(default=None, init=False)
    _retry: asyncio.TimerHandle | None = field(default=None, init=False)

    def look(self) -> None:
        """Propose all missing rows."""
        metadata = self._metadata
        seen = metadata.applier.cluster_changes, metadata.leads, metadata.configuration
        if seen != self._seen:
            self._seen = seen
            if self._declared(self._declaration.node) != self._declaration:
                self._propose(METADATA, ReportDeclaration(declaration=self._declaration))
            if metadata.leads:
                self._create()
            else:
                self.difference = None
            for shard in self._shards():
                self.look_at(shard, self._steps.rows().get(shard.id))

    def look_at(self, shard: Shard, row: ShardRow | None) -> None:
        """Propose the slots of a shard that is led here and has none."""
        if not shard.leads:
            return
        version, slots = shard.applier.slots.version, b""
        if row is not None and version < row.version:
            version, slots = row.version, row.slots
        elif row is None and shard is self._metadata and version < 1:
            # Before it has a row: nodes can be registered while shards cannot be created yet.
            version, slots = 1, even_cut(1)[0]
        else:
            return
        self._propose(shard.id, AdoptSlots(version=version, slots=slots))

    def close(self) -> None:
        """Stop proposing."""
        if self._retry is not None:
            self._retry.cancel()

    def _create(self) -> None:
        """Create declared shards that do not exist, once the declarations of all nodes agree."""
        configuration = self._metadata.configuration
        if configuration is None:
            return
        declarations = {peer: self._declared(peer.node) for peer in configuration.peers}
        groups, difference = declared_alike(declarations)
        missing: list[ShardRow] = []
        if difference is None:
            sites = {
                peer: site_of(each, takes=not member_row(self._metadata, peer.node).drains)
                for peer, each in declarations.items()
                if each is not None
            }
            rows = self._steps.rows()
            missing, difference = missing_shards(groups, rows, sites, configuration.voters)
        if difference != self.difference:
            self.difference = difference
            if difference is not None:
                _log.warning("no shards are created: %s", difference)
        if missing:
            self._propose(METADATA, CreateShards(shards=missing))

    def _declared(self, node: str) -> NodeDeclaration | None:
        row = self._metadata.data.get(NODES, node.encode())
        return None if row is None else NodeDeclaration.FromString(value_of(row))

    def _propose(self, shard: ShardId, message: Message) -> None:
        self._steps.begin((shard, type(message)), self._proposed, shard, message)

    async def _proposed(self, shard: ShardId, message: Message) -> None:
        try:
            await self._steps.submit(shard, message)
        except (NotProposedError, OutcomeUnknownError, Rejected) as error:
            _log.debug("%s on shard %s: %s", message.DESCRIPTOR.full_name, shard, error)
        finally:
            if self._retry is None and not self._steps.closed:
                self._retry = self._steps.loop.call_later(_RETRY_S, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self._seen = None
        self.look()


def declared_alike(
    declarations: Mapping[Peer, NodeDeclaration | None],
) -> tuple[Groups, str | None]:
    """Return the declarations of each group that all nodes share, and the differences.

    There are no groups until all declarations agree; the difference is None while declarations are
    missing.
    """
    first: NodeDeclaration | None = None
    for peer, declaration in declarations.items():
        if declaration is None or declaration.replica != peer.replica:
            return {}, None
        if first is None:
            first = declaration
            continue
        difference = difference_of(first, declaration)
        if difference is not None:
            return {}, difference
    return ({} if first is None else _groups(first)), None


def site_of(declaration: NodeDeclaration, *, takes: bool = True, leaves: bool = False) -> Site:
    """Return a node as a place for replicas."""
    return Site(
        node=declaration.node,
        machine=declaration.machine or declaration.node,
        zone=declaration.zone,
        takes=takes,
        leaves=leaves,
    )


def missing_shards(
    groups: Groups,
    existing: Mapping[ShardId, ShardRow],
    sites: Mapping[Peer, Site],
    voters: Sequence[Peer],
) -> tuple[list[ShardRow], str | None]:
    """Return the rows of shards for groups without any, and why some cannot be created.

    A group without a number of replicas is founded on the voters of metadata/0.
    """
    founded = {shard.group for shard in existing}
    absent = {group: each for group, each in sorted(groups.items()) if group not in founded}
    placed = [
        (ShardId(group, number), division.replicas)
        for group, division in absent.items()
        for number in range(division.shards)
        if division.replicas and ShardId(group, number) != METADATA
    ]
    present = [
        Placed(shard=shard, nodes=tuple(each.node for each in replicas_of(row)), wanted=0)
        for shard, row in existing.items()
        if is_placed(row, {group for group, each in groups.items() if each.replicas})
    ]
    chosen = dict(
        zip(
            (shard for shard, _ in placed),
            founders(sites.values(), placed, present),
            strict=True,
        )
    )
    by_node = {peer.node: peer for peer in sites}
    found: list[ShardRow] = []
    lacking: str | None = None
    for group, division in absent.items():
        machines = len({site.machine for site in sites.values() if site.takes})
        if division.replicas > machines:
            lacking = (
                f"[groups.{group}] replicas is {division.replicas}, and the nodes run on"
                f" {machines} machine{'s' if machines > 1 else ''}: add nodes on other machines,"
                " or lower the number on every node"
            )
            continue
        for number, slots in enumerate(even_cut(division.shards)):
            nodes = chosen.get(ShardId(group, number))
            peers = voters if nodes is None else [by_node[node] for node in sorted(nodes)]
            members = [ShardMember(node=peer.node, replica=peer.replica) for peer in peers]
            found.append(
                ShardRow(group=group, number=number, slots=slots, version=1, members=members)
            )
    return found, lacking


def difference_of(one: NodeDeclaration, other: NodeDeclaration) -> str | None:
    """Return how two declarations differ, or None."""
    ours, theirs = _groups(one), _groups(other)
    same = "make [groups] and the enabled plugins the same in both files"
    for group in sorted({*ours, *theirs}):
        mine, its = ours.get(group), theirs.get(group)
        if (mine and mine.shards) != (its and its.shards):
            return (
                f"{one.node} declares {_shards(mine)} of group {group} and {other.node}"
                f" {_shards(its)}; {same}"
            )
        if mine and its and mine.replicas != its.replicas:
            return (
                f"{one.node} declares {_replicas(mine)} of each shard of group {group} and"
                f" {other.node} {_replicas(its)}; {same}"
            )
    if one.fingerprint != other.fingerprint:
        return (
            f"{one.node} and {other.node} run different plugins or versions of them; compare"
            " `quorate plugin list` on both"
        )
    return None


def _groups(declaration: NodeDeclaration) -> Groups:
    return {group.name: Division(group.shards, group.replicas) for group in declaration.groups}


def _shards(division: Division | None) -> str:
    if division is None:
        return "no shard"
    return f"{division.shards} shard{'s' if division.shards > 1 else ''}"


def _replicas(division: Division) -> str:
    count = division.replicas
    return f"{count} replica{'s' if count > 1 else ''}" if count else "a replica on every node"
