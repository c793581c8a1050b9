"""The life of a shard's replica on this node: its state, and the next action by the row."""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.topology_rows import is_forming, parents_of, replicas_of
from quorate.storage.data.record import AppliedRecord
from quorate.storage.engine.port import DamagedError
from quorate.storage.notes import Note
from quorate.v1.control_pb2 import ShardMember, ShardRow


@dataclass(slots=True)
class Life:
    """The state of a replica, beside the open replica itself."""

    #: Begins the replica, starts it again after a recovery, or removes it.
    change: asyncio.Task[None] | None = None
    #: Whether it may begin: nothing is left of an earlier one.
    is_assigned: bool = False
    #: Whether an earlier life of the node has begun to remove it, or had to.
    is_leaving: bool = False
    #: Whether it has started: open replicas start once all are open.
    has_started: bool = False
    #: Why it cannot be opened.
    broken: Exception | None = None
    #: The state of its data, if it cannot be opened, as far as it is readable.
    left: AppliedRecord | None = None
    #: Whether a new shard waits until this one is cut or frozen here.
    is_awaited: bool = False
    #: Its applier's count of changes to core's rows when it was last looked at.
    core_changes: int = -1


class Progress(Enum):
    """How far the replica of a parent is here on its way to a new shard."""

    #: It is not here, or cannot be opened.
    ABSENT = auto()
    #: It is not open, or not at its cut or its freeze.
    BEFORE = auto()
    #: It is frozen for the merge, or past the cut.
    THERE = auto()


@dataclass(frozen=True, slots=True)
class Here:
    """What this node has of a replica."""

    me: Peer
    #: Whether it is open, opens later, or cannot be opened.
    is_known: bool = False
    is_leaving: bool = False
    is_assigned: bool = False
    #: Whether it has data, and a log, in the shard's current history. Read if the next action
    #: depends on it: the replica is neither known nor in an earlier history.
    has_data: bool = False
    has_log: bool = False
    #: How far those are that the shard is made of, if it has no data.
    parents: Sequence[Progress] = ()
    #: Whether the shard that this one was merged into is just being made.
    is_being_merged: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """Open the replica."""


@dataclass(frozen=True, slots=True)
class Recover:
    """Move the replica to the history in the row."""


@dataclass(frozen=True, slots=True)
class Assign:
    """Remove all that is left of an earlier replica, keep this note, and look again."""

    note: Note


@dataclass(frozen=True, slots=True)
class Unite:
    """Make the shard of its two frozen parents."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Look again when these shards were cut or frozen here."""

    parents: tuple[ShardId, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Remove the replica."""


Action = Open | Recover | Assign | Unite | Wait | Part


def next_action(row: ShardRow, note: Note, here: Here) -> Action | None:
    """Return the next action for a replica, or None if it is as the row wants it.

    `note` counts only if the row names this node's replica. Raises `DamagedError` if it is damaged.
    """
    if not names(row, here.me):
        return Part() if _leaves(row, here) else None
    if note.epoch < row.origin.epoch:
        return Recover()
    if here.is_known:
        return None
    making = _next_to_make(row, note, here)
    if making is not None:
        return making
    if founds(row, here.me) or here.is_assigned or (here.has_data and not note.leaving):
        return Open()
    if here.has_log and not note.leaving:
        # It may have voted, and what it has acknowledged is lost.
        shard = ShardId(row.group, row.number)
        raise DamagedError(f"The data of shard {shard} is gone, and its log is there.")
    # A replica that was never here may vote for any that has a copy: few may have one.
    is_first = bool(parents_of(row)) and not row.origin.epoch and (note.founds or not note.past)
    return Assign(Note(note.epoch, past=True, founds=is_first))


def _next_to_make(row: ShardRow, note: Note, here: Here) -> Unite | Wait | None:
    """Return the action while the shard is to be made of others here, else None.

    A replica of its parent that was replaced by a snapshot from after the cut makes none. Once a
    majority has a merged shard, its parents go, and it comes here from its leader.
    """
    if here.has_data or note.past or row.origin.epoch:
        return None
    parents = parents_of(row)
    if row.HasField("union"):
        if row.union.settled:
            return None
        if is_forming(row):
            return Wait()
        is_ready = all(each is Progress.THERE for each in here.parents)
        return Unite() if is_ready else Wait(parents)
    if parents and (is_forming(row) or Progress.BEFORE in here.parents):
        return Wait(parents)
    return None


def _leaves(row: ShardRow, here: Here) -> bool:
    """Whether a replica that the row does not name is to be removed."""
    if not (here.is_known or here.is_leaving) or (row.group, row.number) == METADATA:
        return False
    replicas = replicas_of(row)
    if row.merged_into and not replicas:
        return not here.is_being_merged
    # One that lost its row with its node is a stranger now, and is kept for its operator.
    return bool(replicas) and all(each.node != here.me.node for each in replicas)


def put_off(
    rows: Mapping[ShardId, ShardRow], whole: Container[ShardId], changing: Container[str], most: int
) -> list[ShardId]:
    """Return the replicas that open after the start of the node: all but the first `most`.

    `rows` are those that name this node, `whole` its complete replicas, and `changing` the groups
    of shards that are split or merged.
    """
    # What is made of others first looks how far they are.
    first = {each for shard, row in rows.items() if shard not in whole for each in parents_of(row)}
    late = [
        shard
        for shard in rows
        if shard in whole and shard not in first and shard.group not in changing
    ]
    return late[max(0, most - (len(rows) - len(late))) :]


def is_whole(row: ShardRow, note: Note) -> bool:
    """Whether nothing but its opening is to be done for a replica that has data."""
    is_impeded = bool(note.stopped) or note.leaving or note.damaged
    return not (row.HasField("move") or is_impeded) and note.epoch == row.origin.epoch


def names(row: ShardRow, me: Peer) -> bool:
    """Whether a row names a replica."""
    return me in peers(replicas_of(row))


def founds(row: ShardRow, me: Peer) -> bool:
    """Whether a replica is one of the first of its shard, in its first history."""
    return me in peers(row.members) and not row.origin.epoch


def peers(members: Iterable[ShardMember]) -> list[Peer]:
    """Return the replicas of a row."""
    return [Peer(each.node, each.replica) for each in members]
