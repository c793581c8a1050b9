"""The shards by slot, from the rows of `core.shards` on this node."""

from collections.abc import Collection, Mapping
from typing import Final, Self

from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import SLOTS, even_cut, slot_of, slots_in
from quorate.shards.refusals import UnknownShardError, WrongShardError
from quorate.shards.topology_rows import is_changing, is_forming, replicas_of
from quorate.v1.control_pb2 import ShardRow


class _Owners(dict[int, ShardId]):
    """The shards of a group by their slots."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self._group: Final = group

    def __missing__(self, slot: int) -> ShardId:
        raise UnknownShardError(self._group)


class SlotMap:
    """The shards of every group and their slots; immutable."""

    def __init__(self, revision: int, rows: Collection[ShardRow]) -> None:
        #: The revision of metadata/0 at which the rows were read.
        self.revision: Final = revision
        self._members: Final[dict[ShardId, tuple[Peer, ...]]] = {METADATA: ()}
        self._versions: Final[dict[ShardId, int]] = {}
        #: Shards that are being split or merged.
        self.changing: Final = tuple(
            ShardId(row.group, row.number) for row in rows if is_changing(row)
        )
        #: Shards that were merged into others, with these.
        self.merged: Final = {
            ShardId(row.group, row.number): ShardId(row.group, row.merged_into)
            for row in rows
            if row.merged_into
        }
        #: Those without slots: not yet, or not any more.
        self._idle: Final = set[ShardId]()
        self._slots: Final = {METADATA.group: _Owners(METADATA.group)}
        self._slots[METADATA.group].update(dict.fromkeys(slots_in(even_cut(1)[0]), METADATA))
        for row in rows:
            shard = ShardId(row.group, row.number)
            self._members[shard] = tuple(Peer(each.node, each.replica) for each in replicas_of(row))
            self._versions[shard] = row.version
            if is_forming(row) or row.merged_into:
                self._idle.add(shard)
                continue
            owners = self._slots.setdefault(row.group, _Owners(row.group))
            for slot in slots_in(row.slots):
                owners[slot] = shard
        self._shards: Final = {
            group: tuple(
                sorted(
                    each for each in self._members if each.group == group and each not in self._idle
                )
            )
            for group in self._slots
        }

        #: By group: the shard that owns all of its slots, where there is one.
        self.only: Final = {
            group: shards[0]
            for group, shards in self._shards.items()
            if len(shards) == 1 and len(self._slots[group]) == SLOTS
        }

    @classmethod
    def initial(cls, shards: Mapping[str, int]) -> Self:
        """Return the map of a new cluster with the given number of shards per group."""
        return cls(
            0,
            [
                ShardRow(group=group, number=number, slots=slots)
                for group, count in shards.items()
                for number, slots in enumerate(even_cut(count))
            ],
        )

    def all(self) -> tuple[ShardId, ...]:
        """Return the shards of all groups in their order."""
        return tuple(sorted(each for shards in self._shards.values() for each in shards))

    def shards(self, group: str) -> tuple[ShardId, ...]:
        """Return the shards of a group in their order; raises `UnknownShardError` without one."""
        found = self._shards.get(group)
        if found is None:
            raise UnknownShardError(group)
        return found

    def first(self, group: str) -> ShardId:
        """Return the first shard of a group, or the shard that it was merged into."""
        return self.heir(ShardId(group, 0))

    def heir(self, shard: ShardId) -> ShardId:
        """Return the shard that a shard was finally merged into; itself if it was not merged."""
        while shard in self.merged:
            shard = self.merged[shard]
        return shard

    def check_unmerged(self, shard: ShardId) -> None:
        """Raise `WrongShardError` if a shard was merged into another one."""
        if shard in self.merged:
            raise WrongShardError(shard, f"shard {shard} was merged into another one")

    def serves(self, shard: ShardId) -> bool:
        """Whether it is one of the shards of its group."""
        return shard in self._members and shard not in self._idle

    def holders(self, group: str) -> Mapping[int, ShardId]:
        """Return the shards of a group by their slots.

        This and a look-up in it raise `UnknownShardError` for a slot that no row has.
        """
        found = self._slots.get(group)
        if found is None:
            raise UnknownShardError(group)
        return found

    def holder(self, group: str, slot: int) -> ShardId:
        """Return the shard of a slot; raises `UnknownShardError` if no row has it."""
        return self.holders(group)[slot]

    def place(self, group: str, shard_key: bytes) -> ShardId:
        """Return the shard of a shard key; raises `UnknownShardError`."""
        return self.holder(group, slot_of(shard_key))

    def version(self, shard: ShardId) -> int:
        """Return the version of a shard's slots; 0 if it is not known."""
        return self._versions.get(shard, 0)

    def members(self, shard: ShardId) -> tuple[Peer, ...]:
        """Return the replicas in a shard's row; raises `UnknownShardError`.

        They are a hint: only the shard itself knows its current members.
        """
        found = self._members.get(shard)
        if found is None:
            raise UnknownShardError(shard.group, shard.number)
        return found

    def others(self, shard: ShardId, node: str) -> list[str]:
        """Return the nodes of a shard's members beside this one; raises `UnknownShardError`."""
        return [peer.node for peer in self.members(shard) if peer.node != node]
