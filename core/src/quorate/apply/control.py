"""Core's own commands and their handlers: a table like the catalog's routes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from quorate.apply import (
    checks,
    cuts,
    deadlines,
    fences,
    file_sets,
    freezes,
    levels,
    members,
    merges,
    placement,
    publications,
    retention,
    sessions,
    slot_set,
    splits,
    unions,
)
from quorate.apply.entries import index_of, whole
from quorate.apply.layers import Layer, Rows
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.outcomes import WRONG_SHARD
from quorate.apply.places import Owns, Places
from quorate.apply.scope import Family, Scope
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected, keys
from quorate.plugin.discovery import RESERVED_NAMES
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import BITMAP_BYTES, bitmap_of, slots_in
from quorate.storage.families import (
    COUNTS,
    DEADLINE_KEYS,
    DEADLINES,
    LEVELS,
    MEMBERS,
    MIRRORS,
    NODES,
    SHARDS,
    SLOTS,
    WRITERS,
)
from quorate.storage.rows import stored as stored_row, value_of
from quorate.v1 import control_pb2 as pb, files_pb2

_INVALID: Final = "INVALID_ARGUMENT"
#: Maximum number of rows that one purge deletes, and of bytes of their keys.
_PURGED_ROWS: Final = 2_000
_PURGED_BYTES: Final = 128 << 10
#: Number of rows that one command looks at for foreign slots.
_FORGOTTEN_ROWS: Final = 1_000
#: Core's rows by names of families and timers, which a purge deletes, too. Sequences stay, so that
#: no number is given out twice.
_KEPT_BY_NAME: Final = (COUNTS, DEADLINES, DEADLINE_KEYS, MIRRORS, WRITERS)
_PUBLIC: Final = MappingProxyType(
    {name: Family(name, public=True) for name in (LEVELS, MEMBERS, NODES, SHARDS)}
)
#: Core's rows with events; it changes the others without a transaction.
SCOPE: Final = Scope(_PUBLIC, _PUBLIC, frozenset())


@dataclass(slots=True)
class ShardState:
    """The state of a shard, derived from its rows."""

    shard: ShardId
    #: The families of other groups that it may mirror.
    mirrored: Mapping[str, Family]
    #: The plugins enabled on its leader.
    plugins: Collection[str]
    #: All its families, those of disabled plugins included.
    families: Callable[[], Collection[str]]
    slots: SlotSet
    generation: int
    #: The logical time of the next check for expired sessions.
    sessions_ms: int
    #: What is stored, rows of foreign slots included, and where rows belong.
    stored: Rows
    places: Places
    #: Whether there may be rows of foreign slots.
    foreign: bool
    #: The families with events, and those with a count.
    public: Collection[str]
    counted: Collection[str]
    #: The families that a publication in progress has closed to reads and writes.
    closed: frozenset[str] = frozenset()
    #: Takes rows of a family out of what the shard keeps of all its rows, in a layer.
    depart: Callable[[Layer, str, Mapping[bytes, bytes]], None] = lambda *_: None
    #: Whether it is frozen: its rows do not change.
    frozen: bool = False
    #: Returns the rows that this node has of another shard of the group, by its number.
    neighbour: Callable[[int], Rows | None] = lambda _: None


class ControlRoute(NamedTuple):
    """The handler of one of core's own commands."""

    parse: Callable[[bytes], Message]
    apply: Callable[[ShardTxn, Any, ShardState], Message | None]
    #: The level of core that it needs.
    level: int = levels.LOWEST


def open_session(txn: ShardTxn, command: pb.OpenSession, state: ShardState) -> pb.OpenSessionReply:
    """Open a session, or return the one of that name."""
    if not command.name and command.ttl_ms < 1:
        raise Rejected(_INVALID, "a session without a name needs a ttl_ms of at least 1")
    session = sessions.open_session(
        txn.layer,
        sessions.number_at(txn.revision, state.shard.number),
        command.name.encode(),
        command.ttl_ms,
        txn.now_ms,
        command.owner,
        most=command.most,
        any_owner=command.any,
    )
    found = sessions.find(txn.layer, session)
    if found is not None:
        state.sessions_ms = min(state.sessions_ms, found.expires_ms)
    return pb.OpenSessionReply(session=session)


def seal_session(txn: ShardTxn, command: pb.SealSession, state: ShardState) -> pb.SealSessionReply:
    """Seal a named session against more commands, and return the revisions of its commands."""
    if not command.name:
        raise Rejected(_INVALID, "only a session with a name can be sealed")
    session, revisions = sessions.seal_session(
        txn.layer,
        sessions.number_at(txn.revision, state.shard.number),
        command.name.encode(),
        txn.now_ms,
        command.caller,
        most=command.most,
    )
    return pb.SealSessionReply(session=session, revisions=revisions)


def close_session(txn: ShardTxn, command: pb.CloseSession, _: ShardState) -> None:
    """Close a session, if it is open."""
    sessions.close_session(txn.layer, command.session, command.caller)


def adopt_slots(txn: ShardTxn, command: pb.AdoptSlots, state: ShardState) -> None:
    """Adopt the slots of a newer version."""
    if len(command.slots) != BITMAP_BYTES:
        raise Rejected(_INVALID, f"slots are {BITMAP_BYTES} bytes, not {len(command.slots)}")
    if command.version > state.slots.version:
        state.slots, state.frozen = SlotSet(command.version, command.slots), False
        txn.layer.put(SLOTS, slot_set.KEY, state.slots.encode())
        # Its merge was taken back.
        freezes.thaw(txn.layer)


def place_leader(txn: ShardTxn, command: pb.PlaceLeader, _: ShardState) -> None:
    """Record the node that an operator hands the shard to."""
    if not command.node:
        raise Rejected(_INVALID, "name the node that the shard is handed to")
    placed = placement.Placement(command.node, txn.now_ms)
    txn.layer.put(SLOTS, placement.KEY, placed.encode())


def adopt_mirror(txn: ShardTxn, command: pb.AdoptMirror, state: ShardState) -> None:
    """Advance the copy of a mirrored family; it never goes back."""
    family = state.mirrored.get(command.family)
    if family is None:
        raise Rejected(
            _INVALID, f"column family {command.family} is not mirrored into {state.shard}"
        )
    layer, name = txn.layer, family.name
    known, position = (
        MirrorPosition.of(layer, name),
        MirrorPosition(command.generation, command.revision),
    )
    if known is not None and position < known:
        return
    if not command.reset and (known is None or known.generation < position.generation):
        raise Rejected(
            _INVALID, f"the copy of {name} is not of generation {position.generation}: reset it"
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


def report_declaration(txn: ShardTxn, command: pb.ReportDeclaration, state: ShardState) -> None:
    """Record the declaration of a node; one that does not support what is in force is refused."""
    _demand_first(state)
    levels.check(txn, command.declaration)
    row = command.declaration.SerializeToString(deterministic=True)
    key = command.declaration.node.encode()
    if txn.get(NODES, key) != row:
        txn.put(NODES, key, row)


def create_shards(txn: ShardTxn, command: pb.CreateShards, state: ShardState) -> None:
    """Record new shards; existing ones stay unchanged. The first ones found the cluster."""
    _demand_first(state)
    if not members.shards(txn):
        levels.found(txn)
    for shard in command.shards:
        if len(shard.slots) != BITMAP_BYTES or not shard.group or not shard.members:
            raise Rejected(
                _INVALID,
                f"shard {shard.group}/{shard.number} needs a group, members, and slots of"
                f" {BITMAP_BYTES} bytes",
            )
        key = keys.pack(shard.group, shard.number)
        if txn.get(SHARDS, key) is None:
            row = pb.ShardRow()
            row.CopyFrom(shard)
            later = members.being_added(txn, shard)
            if later:
                row.replicas.extend([*shard.members, *later])
            row.version = row.version or txn.revision
            txn.put(SHARDS, key, row.SerializeToString(deterministic=True))


def recover_shard(txn: ShardTxn, command: pb.RecoverShard, state: ShardState) -> None:
    """Record the replica that a shard is recovered from; a repeated command has no effect."""
    _demand_first(state)
    key, origin = keys.pack(command.group, command.number), command.origin
    stored, name = txn.get(SHARDS, key), f"{command.group}/{command.number}"
    if stored is None or (command.group, command.number) == METADATA:
        raise Rejected("NOT_FOUND", f"{name} is not a shard that can be recovered")
    row = pb.ShardRow.FromString(stored)
    if members.is_forming(row):
        raise Rejected(
            members.SPLITTING, f"{name} is not there yet: recover the shard it comes from"
        )
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
    replicas = members.replicas_of(row)
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
    others = (each.origin.generation + 1 for each in members.shards(txn) if each.HasField("origin"))
    row.origin.generation = max(origin.generation, state.generation, *others)
    txn.put(SHARDS, key, row.SerializeToString(deterministic=True))


def raise_levels(txn: ShardTxn, command: pb.RaiseLevels, state: ShardState) -> pb.RaiseLevelsReply:
    """Raise the levels in force to the highest that all nodes can."""
    _demand_first(state)
    return levels.raise_all(txn, members.added(txn))


def purge_plugin(txn: ShardTxn, command: pb.PurgePlugin, state: ShardState) -> pb.PurgePluginReply:
    """Delete or count the next rows of a plugin that is not enabled on the leader."""
    plugin, own = command.plugin, f"{command.plugin}."
    if plugin in state.plugins or plugin in RESERVED_NAMES:
        raise Rejected(
            "PLUGIN_SERVED",
            f"the leader of shard {state.shard} serves {plugin}; name it in [plugins] retired on"
            " every node, and restart them",
        )
    for family in sorted(state.families()):
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


def open_file_set(
    txn: ShardTxn, command: files_pb2.OpenFileSet, state: ShardState
) -> files_pb2.FileSet:
    """Open a file set, or return the one of that name."""
    return file_sets.open_set(txn.layer, command, txn.revision, txn.now_ms, state.generation)


def put_files(_: ShardTxn, __: Message, ___: ShardState) -> None:
    """Refuse the commands that the evaluator executes itself, with handlers of plugins."""
    raise Rejected(_INVALID, "files are installed by a write of their own")


def drop_file_set(txn: ShardTxn, command: files_pb2.DropFileSet, _: ShardState) -> None:
    """End a file set, or forget it."""
    file_sets.drop(txn.layer, command)


def cut_shard(txn: ShardTxn, command: pb.CutShard, state: ShardState) -> None:
    """Give slots away to the new shards of a split."""
    _demand_open(state)
    cut = cuts.last_cut(txn.layer)
    if cut is not None and cut.split >= command.split:
        return
    if cuts.abandoned(txn.layer) >= command.split:
        raise Rejected(splits.OVER, f"this split of shard {state.shard} was taken back")
    given = set[int]()
    for part in command.parts:
        slots = _slots_of(part.slots)
        if not slots or not given.isdisjoint(slots):
            raise Rejected(_INVALID, "each new shard needs slots of its own")
        given |= slots
    kept = state.slots.owned - given
    if not given < state.slots.owned or command.version <= state.slots.version:
        raise Rejected(
            _INVALID,
            f"shard {state.shard} does not own these slots and others in version"
            f" {state.slots.version} of them",
        )
    done = pb.CutShard()
    done.CopyFrom(command)
    done.index = index_of(txn.revision)
    state.slots, state.foreign = SlotSet(command.version, bitmap_of(kept)), True
    txn.layer.put(SLOTS, slot_set.KEY, state.slots.encode())
    txn.layer.put(SLOTS, cuts.CUT, done.SerializeToString(deterministic=True))
    txn.layer.put(SLOTS, cuts.FOREIGN, cuts.Forgotten().encode())


def abandon_split(txn: ShardTxn, command: pb.AbandonSplit, state: ShardState) -> None:
    """Cancel a split; refused once the shard was cut."""
    cut = cuts.last_cut(txn.layer)
    if cut is not None and cut.split == command.split:
        raise Rejected(splits.OVER, f"shard {state.shard} was cut already: the split goes on")
    if cuts.abandoned(txn.layer) < command.split:
        txn.layer.put(SLOTS, cuts.ABANDONED, cuts.abandoned_row(command.split))


def forget_slots(txn: ShardTxn, _: pb.ForgetSlots, state: ShardState) -> pb.ForgetSlotsReply:
    """Delete the next rows and deadlines of slots that the shard does not own, without events."""
    _demand_open(state)
    row = txn.layer.get(SLOTS, cuts.FOREIGN)
    if row is None:
        return pb.ForgetSlotsReply(done=True)
    at, looked = cuts.Forgotten.decode(row), 0
    # Deadlines first: foreign ones are skipped again each time that one is due.
    families = [DEADLINE_KEYS, *sorted(state.places.families)]
    for family in families[families.index(at.family) if at.family in families else 0 :]:
        after = at.key + b"\x00" if family == at.family else b""
        left = _FORGOTTEN_ROWS - looked
        rows = list(islice(state.stored.iterate(family, after, None), left))
        looked += len(rows)
        if family == DEADLINE_KEYS:
            _forget_deadlines(txn.layer, [key for key, _ in rows], state)
        else:
            _forget_rows(txn, family, rows, state)
        if len(rows) == left:
            txn.layer.put(SLOTS, cuts.FOREIGN, cuts.Forgotten(family, rows[-1][0]).encode())
            return pb.ForgetSlotsReply(rows=looked)
    txn.layer.delete(SLOTS, cuts.FOREIGN)
    state.foreign = False
    return pb.ForgetSlotsReply(rows=looked, done=True)


def _forget_deadlines(layer: Layer, keyed: Sequence[bytes], state: ShardState) -> None:
    owners: dict[bytes, Owns | None] = {}
    for each in keyed:
        timer, _, key = each.partition(b"\x00")
        if timer not in owners:
            owners[timer] = state.places.timer_owner(timer.decode(), state.slots.owned)
        owns = owners[timer]
        if owns is not None and not owns(key):
            deadlines.schedule(layer, timer.decode(), key, None)


def _forget_rows(
    txn: ShardTxn, family: str, rows: Sequence[tuple[bytes, bytes]], state: ShardState
) -> None:
    owns = state.places.owner(family, state.slots.owned)
    public = family in state.public
    gone = {key: value for key, value in rows if owns is not None and not owns(key)}
    stored = Family(family, public=public, counted=family in state.counted)
    for key in gone:
        txn.forget(stored, key)
    values = {key: value_of(value) if public else value for key, value in gone.items()}
    if gone:
        state.depart(txn.layer, family, values)


def _slots_of(bitmap: bytes) -> frozenset[int]:
    try:
        return frozenset(slots_in(bitmap))
    except ValueError as error:
        raise Rejected(_INVALID, str(error)) from None


def freeze_shard(txn: ShardTxn, command: pb.FreezeShard, state: ShardState) -> pb.FreezeShardReply:
    """Let nothing in the shard change any more; repeated, it only says since when."""
    known = freezes.frozen(txn.layer)
    if known is not None and known.merge == command.merge:
        return pb.FreezeShardReply(index=known.index)
    if command.version <= state.slots.version:
        raise Rejected(merges.OVER, f"this merge of shard {state.shard} was taken back")
    _demand_open(state)
    if state.foreign:
        raise Rejected(freezes.NOT_YET, f"shard {state.shard} still deletes rows of others")
    if (known_set := file_sets.unfinished(txn.layer)) is not None:
        raise Rejected(
            merges.REFUSED,
            f"load {known_set.name} is under way in shard {state.shard}: merge it after that",
        )
    done = pb.FrozenShard(
        merge=command.merge,
        index=index_of(txn.revision),
        now_ms=txn.now_ms,
        generation=state.generation,
    )
    if command.HasField("other"):
        _unite(txn, command, state, done)
    state.slots, state.frozen = SlotSet(command.version), True
    txn.layer.put(SLOTS, slot_set.KEY, state.slots.encode())
    freezes.freeze(txn.layer, done)
    return pb.FreezeShardReply(index=done.index)


def _unite(txn: ShardTxn, command: pb.FreezeShard, state: ShardState, done: pb.FrozenShard) -> None:
    """Find what becomes of rows that this shard and one that is frozen both have."""
    other = state.neighbour(command.other)
    frozen = None if other is None else freezes.frozen(other)
    if other is None or frozen is None or frozen.merge != command.merge:
        name = f"{state.shard.group}/{command.other}"
        raise Rejected(freezes.NOT_YET, f"shard {name} is not frozen on this node")
    for family in state.mirrored:
        theirs, own = MirrorPosition.of(other, family), MirrorPosition.of(txn.layer, family)
        if theirs is not None and (own is None or own < theirs):
            raise Rejected(freezes.NOT_YET, f"the copy of {family} in {state.shard} lags")
    common = whole(command.common) if command.common else 0
    done.united.extend(unions.unite(txn.layer, other, state.places.joins, common))
    done.now_ms = max(done.now_ms, frozen.now_ms)
    done.generation = max(done.generation, frozen.generation)


def forget_fences(txn: ShardTxn, command: pb.ForgetFences, _: ShardState) -> pb.ForgetFencesReply:
    """Forget the larger tokens of fences whose names begin alike."""
    if not command.prefix:
        raise Rejected(_INVALID, "name the fences whose tokens are forgotten")
    forgotten = fences.forget_above(txn.layer, command.prefix, command.above)
    return pb.ForgetFencesReply(forgotten=forgotten)


def raise_generation(_: ShardTxn, command: pb.RaiseGeneration, state: ShardState) -> None:
    """Raise the generation, if the given one is larger."""
    state.generation = max(state.generation, command.generation)


def _in_first(
    act: Callable[[ShardTxn, Any], Message | None],
) -> Callable[[ShardTxn, Any, ShardState], Message | None]:
    """Return the handler of a command that only metadata/0 carries out."""

    def apply(txn: ShardTxn, command: Any, state: ShardState) -> Message | None:
        _demand_first(state)
        return act(txn, command)

    return apply


#: By the full name of the message. Clients cannot send them.
ROUTES: Final[Mapping[str, ControlRoute]] = MappingProxyType(
    {
        message.DESCRIPTOR.full_name: ControlRoute(message.FromString, apply, *level)
        for message, apply, *level in (
            (pb.OpenSession, open_session),
            (pb.SealSession, seal_session),
            (pb.CloseSession, close_session),
            (pb.AdoptSlots, adopt_slots),
            (pb.PlaceLeader, place_leader),
            (pb.AdoptMirror, adopt_mirror),
            (pb.ReportDeclaration, report_declaration),
            (pb.CreateShards, create_shards),
            (pb.RecoverShard, recover_shard),
            (pb.BeginMemberChange, _in_first(members.begin)),
            (pb.FinishMemberChange, _in_first(members.finish)),
            (pb.MoveReplica, _in_first(members.begin_move)),
            (pb.FinishMove, _in_first(members.finish_move)),
            (pb.DrainNode, _in_first(members.drain)),
            (pb.RaiseLevels, raise_levels),
            (pb.PurgePlugin, purge_plugin),
            (pb.BeginSplit, _in_first(splits.begin)),
            (pb.CutShard, cut_shard),
            (pb.AbandonSplit, abandon_split),
            (pb.FinishSplit, _in_first(splits.finish)),
            (pb.ForgetSlots, forget_slots),
            (pb.RaiseGeneration, raise_generation),
            (pb.BeginMerge, _in_first(merges.begin), levels.MERGED_FROM),
            (pb.FreezeShard, freeze_shard, levels.MERGED_FROM),
            (pb.FinishMerge, _in_first(merges.finish), levels.MERGED_FROM),
            (pb.CancelMerge, _in_first(merges.cancel), levels.MERGED_FROM),
            (pb.SettleMerge, _in_first(merges.settle), levels.MERGED_FROM),
            (pb.ForgetFences, forget_fences, levels.ASKED_FROM),
            (pb.CheckRows, checks.check_rows, levels.CHECKED_FROM),
            (pb.ReportRows, checks.report_rows, levels.CHECKED_FROM),
            (pb.PutCanary, checks.put_canary, levels.CHECKED_FROM),
            (pb.TrimHistory, retention.trim_history),
            (files_pb2.OpenFileSet, open_file_set),
            (files_pb2.IngestFileSet, put_files),
            (files_pb2.CloseFileSet, put_files),
            (files_pb2.OpenPublished, put_files),
            (files_pb2.BeginPublication, _in_first(publications.begin)),
            (files_pb2.ReportPublication, _in_first(publications.report)),
            (files_pb2.EndPublication, _in_first(publications.end)),
            (files_pb2.DropFileSet, drop_file_set),
        )
    }
)


def _demand_open(state: ShardState) -> None:
    if state.closed:
        raise Rejected(file_sets.PUBLISHING, f"shard {state.shard} is publishing files")


def _demand_first(state: ShardState) -> None:
    if state.shard != METADATA:
        raise Rejected(WRONG_SHARD, f"this command is for {METADATA}, not for {state.shard}")
