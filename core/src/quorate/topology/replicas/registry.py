"""The open replicas of this node, and the rows of all shards as this node knows them."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from quorate.apply import levels
from quorate.apply.entries import whole
from quorate.apply.layers import Rows
from quorate.consensus.messages import Message, Peer
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.removal import Membership
from quorate.shards.shard.shard import Shard, replica_name
from quorate.shards.topology_rows import parents_of, replicas_wanted, stored_rows
from quorate.storage.families import LEVELS, NODES, SHARDS
from quorate.topology.replicas.life import names
from quorate.topology.replicas.unopened import Unopened
from quorate.v1.control_pb2 import NodeDeclaration, ShardRow
from quorate.v1.levels_pb2 import FeatureLevel
from quorate.v1.node_pb2 import LedShard


class Registry:
    """Finds replicas of this node, passes on the messages and syncs for them, and reads the rows.

    Implements `LocalShards` for routing. Messages have the names of replicas in their histories.
    """

    def __init__(self, me: Peer, loop: asyncio.AbstractEventLoop) -> None:
        self.me: Final = me
        #: The replicas that open after the start of the node.
        self.unopened: Final = Unopened(loop)
        #: The newest slot map on this node.
        self.slot_map = SlotMap(0, ())
        #: The levels in force, as far as this node knows: they only rise.
        self.levels: Mapping[str, int] = {}
        self._shards: Final[dict[ShardId, Shard]] = {}
        self._by_name: Final[dict[str, Shard]] = {}
        self._leading: Sequence[Shard] | None = None
        #: Shards that wait for a sync of the log.
        self._unsynced: Final = set[ShardId]()
        #: The applier's count of changes to the cluster's rows when they were read.
        self._changes_read = -1
        self._rows: Mapping[ShardId, ShardRow] = {}
        #: Those that name this node's replica.
        self._named: Mapping[ShardId, ShardRow] = {}
        self._on_map: Final[list[Callable[[], None]]] = []

    # Replicas.

    def get(self, shard: ShardId) -> Shard | None:
        """Return a running replica that is a member of its shard, or None."""
        found = self.replica(shard)
        return found if found is not None and found.configuration is not None else None

    def replica(self, shard: ShardId) -> Shard | None:
        """Return a running replica, also one that is not a member of its shard yet, or None.

        Asking for one that has not been opened since the node started opens it soon after.
        """
        found = self._shards.get(shard)
        if found is None:
            self.unopened.want(shard)
        return found if found is not None and found.stopped is None else None

    def all(self) -> Iterable[Shard]:
        """Return the replicas of this node."""
        return self._shards.values()

    def is_unopened(self, shard: ShardId) -> bool:
        """Whether a replica here has not been opened since the node started."""
        return shard in self.unopened

    async def opened(self, shard: ShardId, until: float) -> None:
        """Open such a replica, and return when that is done, or at that time."""
        await self.unopened.opened(shard, until)

    def leading(self) -> Sequence[Shard]:
        """Return the replicas of this node that lead, as of the last turn of each.

        Those that were merged into others have nothing more to do.

        It is the same object until another one leads, or one of them in another term.
        """
        if self._leading is None:
            merged = self.slot_map.merged
            self._leading = [
                shard for shard in self._shards.values() if shard.leads and shard.id not in merged
            ]
        return self._leading

    def leaders_changed(self) -> None:
        """Record that a replica here has begun or ceased to lead."""
        self._leading = None

    def led(self) -> list[LedShard]:
        """Return the shards that this node leads."""
        return [
            LedShard(shard=str(shard.id), term=shard.term, done=shard.done)
            for shard in self.leading()
            if shard.leads
        ]

    def membership(self, shard: ShardId) -> Membership | None:
        """Return the committed members of a shard, or None if unknown."""
        found = self.get(shard)
        return None if found is None else found.membership

    def rows_of(self, shard: ShardId) -> Rows | None:
        """Return the rows of a shard here."""
        found = self.replica(shard)
        return None if found is None else found.data

    def _add(self, shard: Shard) -> None:
        self._shards[shard.id] = self._by_name[replica_name(shard.id, shard.epoch)] = shard

    def _remove(self, shard: ShardId) -> Shard | None:
        found = self._shards.pop(shard, None)
        if found is not None:
            del self._by_name[replica_name(shard, found.epoch)]
        return found

    # Messages and syncs.

    def deliver(self, shard: str, message: Message, alone: bool = False) -> bool:
        """Pass a message, which came alone or not, to its replica; False if it is not here."""
        found = self._by_name.get(shard)
        if found is None:
            return self.unopened.keep(shard, message)
        found.receive(message, alone=alone)
        return True

    def remade(self, node: str) -> None:
        """Record that the bulk stream to a node was replaced."""
        for shard in self._shards.values():
            shard.remade(node)

    def wrote(self, shard: ShardId) -> None:
        """Record that a shard has written to the log, and waits for its sync."""
        self._unsynced.add(shard)

    def synced(self, sequence: int) -> None:
        """Record that log writes up to `sequence` are durable, for the shards that wait for it."""
        for name in sorted(self._unsynced):
            shard = self._shards.get(name)
            if shard is None or shard.log_written <= sequence:
                self._unsynced.discard(name)
            if shard is not None:
                shard.synced(sequence)

    def log_failed(self, error: Exception) -> None:
        """Stop every replica: the node's log failed."""
        for shard in list(self._shards.values()):
            shard.fail(error)

    def admits(self, peer: Peer, config_index: int) -> bool:
        """Whether a peer with that configuration may be a member of the cluster."""
        metadata = self.replica(METADATA)
        if metadata is None:
            return False
        log = metadata.replica.log
        if log.configuration is None or config_index > log.configuration_index:
            return True
        return log.known(peer, metadata.replica.commit)

    def config_index(self) -> int:
        """Return the index of this node's configuration of the cluster."""
        metadata = self.replica(METADATA)
        return 0 if metadata is None else metadata.replica.log.configuration_index

    # Rows.

    def on_map(self, callback: Callable[[], None]) -> None:
        """Call back after each change of the slot map."""
        self._on_map.append(callback)

    def rows(self) -> Mapping[ShardId, ShardRow]:
        """Return the rows of `core.shards` on this node, the same object until one changes."""
        return self._rows

    def is_moving(self, shard: ShardId) -> bool:
        """Whether a replica of a shard is perhaps on its way to this node.

        That of a new shard is made here, when its parent comes to its cut, or both of its parents
        are frozen.
        """
        row = self._rows.get(shard)
        return row is not None and (row.HasField("move") or bool(parents_of(row)))

    def has_left(self, shard: ShardId) -> bool:
        """Whether this node had a replica of a shard that has moved to other nodes."""
        row = self._rows.get(shard)
        return (
            row is not None
            and shard not in self._shards
            and not row.merged_into
            and not names(row, self.me)
        )

    def offshoots(self, shard: ShardId) -> list[tuple[ShardId, int]]:
        """Return the shards that were split off a shard, each with the revision it begins after."""
        return [
            (each, whole(row.parent.index))
            for each, row in self._rows.items()
            if each.group == shard.group
            and row.HasField("parent")
            and row.parent.number == shard.number
            and row.parent.index
        ]

    def heir(self, shard: ShardId) -> ShardId:
        """Return the shard that a shard was finally merged into; itself if it was not merged."""
        return self.slot_map.heir(shard)

    def level(self, feature: str) -> int:
        """Return the level of a feature that is in force, as far as this node knows."""
        return self.levels.get(feature, levels.LOWEST)

    def declarations(self) -> Iterable[NodeDeclaration]:
        """Return the declarations of the cluster's nodes, as far as this node knows."""
        metadata = self._shards.get(METADATA)
        return () if metadata is None else stored_rows(metadata.data, NODES, NodeDeclaration)

    def wanted(self) -> Mapping[str, int]:
        """Return the number of replicas of each group, as far as all nodes declare the same."""
        return replicas_wanted(self.declarations())

    def knowing(self, command: str) -> Sequence[str]:
        """Return the nodes whose plugins declare a command, as far as this node knows."""
        return sorted(each.node for each in self.declarations() if command in each.commands)

    def _read_rows(self) -> bool:
        """Read `core.shards` if it may have changed, and return whether it was read."""
        metadata = self._shards[METADATA]
        changes = metadata.applier.cluster_changes
        if changes == self._changes_read:
            return False
        self._changes_read = changes
        rows = list(stored_rows(metadata.data, SHARDS, ShardRow))
        self._rows = {ShardId(row.group, row.number): row for row in rows}
        self._named = {shard: row for shard, row in self._rows.items() if names(row, self.me)}
        self.levels = levels.by_feature(stored_rows(metadata.data, LEVELS, FeatureLevel))
        self.slot_map = SlotMap(metadata.revision, rows)
        self._leading = None
        for callback in self._on_map:
            callback()
        return True
