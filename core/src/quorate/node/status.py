"""Reports of a node, for operators, about itself and its cluster."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quorate.apply import levels
from quorate.healing.repairs import Repairs
from quorate.node.ground import Ground
from quorate.node.leader_tasks import LeaderTasks
from quorate.node.peers import Addresses
from quorate.node.readiness import ended
from quorate.node.replicas import Replicas
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import even_cut
from quorate.rpc.asking import wall_ms
from quorate.shards.refusals import UnreadableError
from quorate.shards.shard.shard import Shard
from quorate.shards.topology_rows import replicas_of
from quorate.storage.data.record import AppliedRecord
from quorate.topology.replicas.census import Census
from quorate.v1 import admin_pb2 as pb
from quorate.v1.control_pb2 import ShardRow

#: A controller with this many failures in a row is not just waiting for a leader.
_FAILURES: Final = 3


@dataclass(eq=False)
class NodeReports:
    """Reports the topology and the status of the node, in every state of the node."""

    _ground: Ground
    _replicas: Replicas
    _addresses: Addresses
    _census: Census
    _leaders: LeaderTasks
    _repairs: Repairs
    _more_alarms: Sequence[Callable[[], Iterable[str]]]

    def __post_init__(self) -> None:
        self._shards = self._replicas.shards
        self._started_at_ms = wall_ms()

    def topology(self) -> pb.TopologyResponse:
        """Return the places of the cluster's shards, as far as this node knows.

        Raises `UnreadableError` on a node that has a cluster and does not belong to it, not yet or
        no longer: its knowledge of the members is too old.
        """
        if self._replicas.cluster and self._shards.get(METADATA) is None:
            raise UnreadableError(
                "this node does not belong to its cluster: it waits for `quorate member add`, or "
                "was removed, or has stopped; ask another node"
            )
        places = list(self._places())
        return pb.TopologyResponse(
            cluster_id=self._replicas.cluster, nodes=self._nodes(places), shards=places
        )

    def topology_key(self) -> object:
        """Return a key that changes whenever the topology may: much cheaper to compute."""
        metadata = self._shards.get(METADATA)
        led = [
            (shard.id, shard.term, shard.leader, shard.configuration)
            for shard in self._shards.all()
        ]
        here = {each[0] for each in led}
        elsewhere = [
            (shard, self._census.leader(shard))
            for shard in self._shards.slot_map.all()
            if shard not in here
        ]
        changes = None if metadata is None else metadata.applier.cluster_changes
        return changes, tuple(led), tuple(elsewhere), self._addresses.known

    def status(self, *, replicas: bool = True) -> pb.NodeStatusResponse:
        """Return the status of this node, with the reports of its replicas or without them."""
        node = self._ground.settings.node
        here = self._shards.all() if replicas else ()
        return pb.NodeStatusResponse(
            node=node.name,
            address=self._addresses.known.get(node.name, node.address),
            http_address=node.http_address,
            version=self._ground.version,
            cluster_id=self._replicas.cluster,
            started_at_ms=self._started_at_ms,
            ready=not self._ground.lifecycle.missing(),
            plugins=[
                pb.PluginVersion(
                    name=name, version=each.plugin.version, built_in=each.plugin.built_in
                )
                for name, each in self._ground.catalog.declared.items()
            ],
            shards=[
                _replica(shard, self._leaders.growth.excess(shard.id))
                for shard in sorted(here, key=lambda each: (each.id != METADATA, each.id))
            ],
            broken=[
                _broken(shard, error, self._shards.left.get(shard))
                for shard, error in sorted(self._shards.broken.items())
            ],
            unopened=map(str, sorted(self._shards.unopened)),
            controllers=[
                pb.ControllerReport(
                    name=each.name,
                    shard=str(each.shard),
                    term=each.term,
                    state=each.state,
                    runs=each.runs,
                    failures=each.failures,
                    error=each.error,
                    progress=each.progress,
                )
                for each in self._leaders.runner.status()
            ],
            paused=self._leaders.runner.paused,
            # A shortage of the one disk is every shard's.
            alarms=dict.fromkeys(self.alarms()),
            machine=node.machine or "",
            damage=[
                pb.DamageReport(
                    shard="" if each.shard is None else str(each.shard),
                    found_at_ms=each.found_at_ms,
                    what=each.what,
                    state=each.state,
                    healed_at_ms=each.healed_at_ms,
                )
                for each in self._repairs.damage
            ],
        )

    def levels(self, answering: Mapping[str, int]) -> pb.LevelsResponse:
        """Return the releases of the nodes, and the levels in force, as far as this node knows.

        `answering` are the replicas of the other nodes that answer; 0: an older release.
        """
        me = self._shards.me
        answering = {**answering, me.node: me.replica}
        declared = sorted(self._shards.declarations(), key=lambda each: each.node)
        return pb.LevelsResponse(
            nodes=[
                pb.NodeLevels(
                    node=each.node,
                    version=each.version,
                    # A node that lost its directory does not answer for its former replica.
                    answers=answering.get(each.node) in (each.replica, 0),
                    levels=each.levels,
                )
                for each in declared
            ],
            features=levels.features(declared, self._shards.levels),
        )

    def alarms(self) -> Iterator[str]:
        """Yield the problems that need an operator."""
        caution = self._ground.settings.timing.caution
        if caution is not None:
            yield caution
        if self._ground.certificates is not None:
            yield from self._ground.certificates.alarms()
        if self._shards.difference is not None:
            yield f"no shards are created: {self._shards.difference}"
        metadata = self._shards.get(METADATA)
        if metadata is not None and metadata.leads:
            yield from self._leaders.placement.problems
        for each, why in ended(self._shards):
            yield f"shard {each} {why}"
        for alarms in self._more_alarms:
            yield from alarms()
        for status in self._leaders.runner.failing(_FAILURES):
            text = f"controller {status.name} of shard {status.shard} keeps failing"
            yield f"{text}: {status.error}"
        # All shards are on one disk.
        yield from {shard.shortage for shard in self._shards.all() if shard.shortage is not None}
        for shard in self._shards.leading():
            if shard.clock_alarm is not None:
                yield f"shard {shard.id}: {shard.clock_alarm}"

    # Places.

    def _nodes(self, places: list[pb.ShardPlace]) -> list[pb.NodeAddress]:
        """Return the members of the cluster whose addresses are known.

        Before the members are known, returns the nodes that the file names.
        """
        known = self._addresses.known
        members = {node for place in places for node in place.nodes} or set(known)
        return [
            pb.NodeAddress(node=node, address=known[node])
            for node in sorted(members & known.keys())
        ]

    def _places(self) -> Iterator[pb.ShardPlace]:
        rows = dict(self._shards.rows())
        here = {shard.id: shard for shard in self._shards.all()}
        if METADATA in here:
            # Until its row is written, all slots of its group are its own.
            rows.setdefault(METADATA, ShardRow(slots=even_cut(1)[0]))
        # Merged shards stay until a majority has the new shard.
        gone = {each for each, row in rows.items() if row.merged_into and not replicas_of(row)}
        for shard in sorted({*rows, *here} - gone):
            row, replica = rows.get(shard), here.get(shard)
            configuration = None if replica is None else replica.configuration
            if configuration is not None:
                peers = configuration.peers
            else:
                peers = () if row is None else self._shards.slot_map.members(shard)
            leader = None if replica is None or replica.leader is None else replica.leader.node
            term = 0 if replica is None else replica.term
            if replica is None and (heard := self._census.leader(shard)) is not None:
                term, leader = heard
            yield pb.ShardPlace(
                group=shard.group,
                number=shard.number,
                slots=b"" if row is None else row.slots,
                version=0 if row is None else row.version,
                nodes=[peer.node for peer in peers],
                leader=leader or "",
                term=term,
                splits_into=() if row is None else [part.number for part in row.split.parts],
                merges_into=0 if row is None else row.merge.into or row.merged_into,
                unmerged="" if row is None else row.unmerged,
            )


def _broken(shard: ShardId, error: Exception, left: AppliedRecord | None) -> pb.BrokenReplica:
    return pb.BrokenReplica(
        shard=str(shard),
        error=str(error),
        applied_index=0 if left is None else left.position.index,
        generation=0 if left is None else left.generation,
    )


def _replica(shard: Shard, excess: str) -> pb.ReplicaReport:
    status = shard.status()
    replica, configuration = status.replica, status.replica.configuration
    return pb.ReplicaReport(
        shard=str(shard.id),
        role=replica.role,
        term=replica.term,
        leader="" if replica.leader is None else replica.leader.node,
        first_index=replica.first,
        last_index=replica.last,
        synced_index=replica.synced,
        commit_index=replica.commit,
        applied_index=shard.applied,
        revision=status.revision,
        now_ms=status.now_ms,
        generation=status.generation,
        queued=status.queued,
        in_flight=status.in_flight,
        log_bytes=status.log_bytes,
        age_ms=shard.staleness().age_ms,
        stopped=status.stopped,
        members=[
            pb.MemberReport(node=each.peer.node, replica=each.peer.replica, voter=each.voter)
            for each in (() if configuration is None else configuration.members)
        ],
        followers=[
            pb.FollowerReport(
                node=each.peer.node,
                mode=each.mode,
                match_index=each.match,
                next_index=each.next,
                heard_ago_ms=round(each.silent_s * 1_000),
            )
            for each in replica.followers
        ],
        commands_applied=shard.applier.counters.commands,
        epoch=shard.epoch,
        excess=excess if shard.leads else "",
    )
