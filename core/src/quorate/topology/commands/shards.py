"""The creation and recovery of shards, their slots and the choice of a leader."""

from quorate.apply import freezes, placement, slot_set
from quorate.apply.control import ControlledShard
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA
from quorate.plugin.slots import BITMAP_BYTES
from quorate.shards.topology_rows import INVALID, SPLITTING, is_forming, replicas_of, shards
from quorate.storage.families import SLOTS
from quorate.topology.commands import levels, members, merges, splits
from quorate.topology.rows import find_shard, put_shard
from quorate.v1 import control_pb2 as pb


def create_shards(txn: ShardTxn, command: pb.CreateShards) -> None:
    """Record new shards; existing ones stay unchanged. The first ones found the cluster."""
    if not shards(txn):
        levels.found(txn)
    for shard in command.shards:
        if len(shard.slots) != BITMAP_BYTES or not shard.group or not shard.members:
            raise Rejected(
                INVALID,
                f"shard {shard.group}/{shard.number} needs a group, members, and slots of"
                f" {BITMAP_BYTES} bytes",
            )
        if find_shard(txn, shard.group, shard.number) is None:
            row = pb.ShardRow()
            row.CopyFrom(shard)
            later = members.added_to(txn, shard)
            if later:
                row.replicas.extend([*shard.members, *later])
            row.version = row.version or txn.revision
            put_shard(txn, row)


def recover_shard(txn: ShardTxn, command: pb.RecoverShard) -> None:
    """Record the replica that a shard is recovered from; a repeated command has no effect."""
    row, origin = find_shard(txn, command.group, command.number), command.origin
    name = f"{command.group}/{command.number}"
    if row is None or (command.group, command.number) == METADATA:
        raise Rejected("NOT_FOUND", f"{name} is not a shard that can be recovered")
    if is_forming(row):
        raise Rejected(SPLITTING, f"{name} is not there yet: recover the shard it comes from")
    if row.merged_into:
        raise Rejected("NOT_FOUND", f"{name} was merged into {command.group}/{row.merged_into}")
    known = row.origin
    if (known.epoch, known.node, known.empty) == (origin.epoch, origin.node, origin.empty):
        return
    if origin.epoch != row.origin.epoch + 1:
        raise Rejected(
            "RECOVERED",
            f"shard {name} was recovered meanwhile, from {row.origin.node}: look at it again",
        )
    replicas = replicas_of(row)
    source = [each for each in replicas if each.node == origin.node]
    if not source:
        raise Rejected("NOT_FOUND", f"{origin.node} has no replica of shard {name}")
    del row.members[:], row.replicas[:]
    row.members.extend(source)
    row.replicas.extend(replicas)
    row.origin.CopyFrom(origin)
    splits.drop(txn, row)
    merges.drop(txn, row)
    # A watch of several shards has the highest of their generations: exceed it in each.
    others = (each.origin.generation + 1 for each in shards(txn) if each.HasField("origin"))
    row.origin.generation = max(origin.generation, txn.generation, *others)
    put_shard(txn, row)


def adopt_slots(txn: ShardTxn, command: pb.AdoptSlots, shard: ControlledShard) -> None:
    """Adopt the slots of a newer version."""
    if len(command.slots) != BITMAP_BYTES:
        raise Rejected(INVALID, f"slots are {BITMAP_BYTES} bytes, not {len(command.slots)}")
    state = shard.state
    if command.version > state.slots.version:
        state.slots, state.frozen = SlotSet(command.version, command.slots), False
        txn.layer.put(SLOTS, slot_set.KEY, state.slots.encode())
        # Its merge was taken back.
        freezes.thaw(txn.layer)


def place_leader(txn: ShardTxn, command: pb.PlaceLeader, _: ControlledShard) -> None:
    """Record the node that an operator hands the shard to."""
    if not command.node:
        raise Rejected(INVALID, "name the node that the shard is handed to")
    placed = placement.Placement(command.node, txn.now_ms)
    txn.layer.put(SLOTS, placement.KEY, placed.encode())
