"""The upkeep of a shard: its copies, generation, history and checks; rows of retired plugins."""

from itertools import islice
from typing import Final

from quorate.apply import checks
from quorate.apply.control import ControlledShard
from quorate.apply.entries import index_of
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.plugin.discovery import RESERVED_NAMES
from quorate.shards.topology_rows import INVALID
from quorate.storage.events import LOW_KEY, TIMES, event_key, oldest_entry, time_key
from quorate.storage.families import (
    COUNTS,
    DEADLINE_KEYS,
    DEADLINES,
    EVENTS,
    MIRRORS,
    SLOTS,
    WRITERS,
)
from quorate.storage.rows import stored as stored_row
from quorate.v1 import control_pb2 as pb

#: Maximum number of rows that one purge deletes, and of bytes of their keys.
_PURGED_ROWS: Final = 2_000
_PURGED_BYTES: Final = 128 << 10
#: Core's rows by names of families and timers, which a purge deletes, too. Sequences stay, so that
#: no number is given out twice.
_KEPT_BY_NAME: Final = (COUNTS, DEADLINES, DEADLINE_KEYS, MIRRORS, WRITERS)


def adopt_mirror(txn: ShardTxn, command: pb.AdoptMirror, shard: ControlledShard) -> None:
    """Advance the copy of a mirrored family; it never goes back."""
    family = shard.program.mirrored.get(command.family)
    if family is None:
        raise Rejected(INVALID, f"column family {command.family} is not mirrored into {shard.id}")
    layer, name = txn.layer, family.name
    known = MirrorPosition.of(layer, name)
    position = MirrorPosition(command.generation, command.revision)
    if known is not None and position < known:
        return
    if not command.reset and (known is None or known.generation < position.generation):
        raise Rejected(
            INVALID, f"the copy of {name} is not of generation {position.generation}: reset it"
        )
    if command.reset:
        for key, _ in list(layer.iterate(name, b"", None)):
            layer.delete(name, key)
    for key in command.deleted:
        layer.delete(name, key)
    for row in command.rows:
        value = stored_row(row.revision, row.value) if family.public else row.value
        layer.put(name, row.key, value)
    layer.put(MIRRORS, name.encode(), position.encode())


def raise_generation(_: ShardTxn, command: pb.RaiseGeneration, shard: ControlledShard) -> None:
    """Raise the generation, if the given one is larger."""
    state = shard.state
    state.generation = max(state.generation, command.generation)


def trim_history(txn: ShardTxn, command: pb.TrimHistory, _: ControlledShard) -> None:
    """Delete the events up to an entry, with the times that were recorded for them."""
    layer, low = txn.layer, txn.layer.get(EVENTS, LOW_KEY)
    if command.index < oldest_entry(low):
        return
    layer.delete_range(EVENTS, b"" if low is None else low, event_key(command.index + 1))
    layer.put(EVENTS, LOW_KEY, event_key(command.index))
    # A time that stayed would set the mark of what is gone back.
    layer.delete_range(EVENTS, TIMES[0], time_key(command.index + 1))


def check_rows(txn: ShardTxn, command: pb.CheckRows, _: ControlledShard) -> None:
    """Begin a check."""
    check = pb.CheckRows()
    check.CopyFrom(command)
    check.index = index_of(txn.revision)
    txn.layer.put(SLOTS, checks.CHECK, check.SerializeToString(deterministic=True))


def report_rows(txn: ShardTxn, command: pb.ReportRows, _: ControlledShard) -> None:
    """Record the digest of a replica."""
    row = command.SerializeToString(deterministic=True)
    txn.layer.put(SLOTS, checks.REPORT + command.node.encode(), row)


def put_canary(txn: ShardTxn, command: pb.PutCanary, _: ControlledShard) -> pb.PutCanaryReply:
    """Store the number of a node, and return the one before."""
    before = checks.canary(txn.layer, command.node)
    row = command.SerializeToString(deterministic=True)
    txn.layer.put(SLOTS, checks.CANARY + command.node.encode(), row)
    return pb.PutCanaryReply(before=before)


def purge_plugin(
    txn: ShardTxn, command: pb.PurgePlugin, shard: ControlledShard
) -> pb.PurgePluginReply:
    """Delete or count the next rows of a plugin that is not enabled on the leader."""
    plugin, own = command.plugin, f"{command.plugin}."
    if plugin in shard.program.plugins or plugin in RESERVED_NAMES:
        raise Rejected(
            "PLUGIN_SERVED",
            f"the leader of shard {shard.id} serves {plugin}; name it in [plugins] retired on"
            " every node, and restart them",
        )
    for family in sorted(shard.stored.families):
        if not family.startswith(own) or family < command.after_family:
            continue
        after = command.after_key + b"\x00" if family == command.after_family else b""
        found, size = list[bytes](), 0
        for key, _ in islice(txn.layer.iterate(family, after, None), _PURGED_ROWS):
            found.append(key)
            size += len(key)
            if size >= _PURGED_BYTES:
                break
        if found:
            if not command.count_only:
                txn.purge(family, found)
            return pb.PurgePluginReply(family=family, last_key=found[-1], rows=len(found))
    if not command.count_only:
        start, end = own.encode(), f"{plugin}/".encode()
        for family in _KEPT_BY_NAME:
            if next(txn.layer.iterate(family, start, end), None) is not None:
                txn.layer.delete_range(family, start, end)
    return pb.PurgePluginReply()
