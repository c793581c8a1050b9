"""The next action for a replica, by its row, its note and what is here."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import ShardId
from quorate.storage.engine.port import DamagedError
from quorate.storage.notes import Note
from quorate.topology.replicas.life import (
    Action,
    Assign,
    Here,
    Open,
    Part,
    Progress,
    Recover,
    Unite,
    Wait,
    is_whole,
    next_action,
    put_off,
)
from quorate.v1.control_pb2 import (
    ReplicaMove,
    ShardMember,
    ShardOrigin,
    ShardParent,
    ShardRow,
    ShardUnion,
)

ME: Final = Peer("a", 1)
MINE, OTHER, EARLIER = (
    ShardMember(node=node, replica=replica) for node, replica in (("a", 1), ("b", 2), ("a", 9))
)
SHARD: Final = ShardId("toy", 2)
PARENT, BASE = ShardId("toy", 0), ShardId("toy", 1)

NEW: Final = Here(ME)
KNOWN: Final = Here(ME, is_known=True)
DATA: Final = Here(ME, has_data=True, has_log=True)
LOG: Final = Here(ME, has_log=True)
ASSIGNED: Final = Here(ME, is_assigned=True)
LEAVING: Final = Here(ME, is_leaving=True)
ABSENT, BEFORE, THERE = (Here(ME, parents=[each]) for each in Progress)

#: Rows that name this node: founded, moved here, recovered, split off and merged.
FOUNDED: Final = ShardRow(group="toy", number=2, members=[MINE, OTHER])
MOVED: Final = ShardRow(group="toy", number=2, members=[OTHER], replicas=[OTHER, MINE])
RECOVERED: Final = ShardRow(
    group="toy", number=2, members=[MINE, OTHER], origin=ShardOrigin(epoch=1, node="a")
)
PARTED: Final = ShardRow(
    group="toy", number=2, replicas=[MINE, OTHER], parent=ShardParent(number=0, index=7)
)
FORMING: Final = ShardRow(
    group="toy", number=2, replicas=[MINE, OTHER], parent=ShardParent(number=0)
)
UNITED: Final = ShardRow(
    group="toy",
    number=2,
    replicas=[MINE, OTHER],
    union=ShardUnion(base=0, other=1, base_index=7, other_index=8),
)
UNFROZEN: Final = ShardRow(
    group="toy", number=2, replicas=[MINE, OTHER], union=ShardUnion(base=0, other=1)
)
SETTLED: Final = ShardRow(
    group="toy",
    number=2,
    replicas=[MINE, OTHER],
    union=ShardUnion(base=0, other=1, base_index=7, other_index=8, settled=True),
)
#: Rows that do not.
GONE: Final = ShardRow(group="toy", number=2, members=[MINE, OTHER], replicas=[OTHER])
STRANGER: Final = ShardRow(group="toy", number=2, replicas=[OTHER, EARLIER])
MERGED: Final = ShardRow(group="toy", number=2, merged_into=3)

PAST: Final = Note(past=True)
FIRST: Final = Note(past=True, founds=True)


@pytest.mark.parametrize(
    ("row", "note", "here", "action"),
    [
        # Founded: it opens whatever there is, for it may be interrupted at any time.
        (FOUNDED, Note(), NEW, Open()),
        (FOUNDED, Note(), LOG, Open()),
        (FOUNDED, Note(), DATA, Open()),
        (FOUNDED, Note(), KNOWN, None),
        # Moved here: nothing may be left of an earlier replica.
        (MOVED, Note(), NEW, Assign(PAST)),
        (MOVED, PAST, NEW, Assign(PAST)),
        (MOVED, Note(founds=True), NEW, Assign(PAST)),
        (MOVED, Note(leaving=True), DATA, Assign(PAST)),
        (MOVED, Note(leaving=True), LOG, Assign(PAST)),
        (MOVED, PAST, ASSIGNED, Open()),
        (MOVED, PAST, DATA, Open()),
        # Recovered.
        (RECOVERED, Note(), DATA, Recover()),
        (RECOVERED, Note(), KNOWN, Recover()),
        (RECOVERED, Note(1), DATA, Open()),
        (RECOVERED, Note(1), NEW, Assign(Note(1, past=True))),
        (RECOVERED, Note(1), KNOWN, None),
        # Split off: the copy is made here at the cut, or comes from the leader.
        (FORMING, Note(), THERE, Wait((PARENT,))),
        (FORMING, Note(), DATA, Open()),
        (PARTED, Note(), BEFORE, Wait((PARENT,))),
        (PARTED, Note(), DATA, Open()),
        (PARTED, Note(), THERE, Assign(FIRST)),
        (PARTED, Note(), ABSENT, Assign(FIRST)),
        (PARTED, FIRST, BEFORE, Assign(FIRST)),
        (PARTED, PAST, BEFORE, Assign(PAST)),
        (PARTED, FIRST, replace(BEFORE, is_assigned=True), Open()),
        # Merged.
        (UNFROZEN, Note(), Here(ME, parents=[Progress.THERE] * 2), Wait()),
        (UNITED, Note(), Here(ME, parents=[Progress.THERE] * 2), Unite()),
        (UNITED, Note(), Here(ME, parents=[Progress.THERE, Progress.BEFORE]), Wait((PARENT, BASE))),
        (UNITED, Note(), Here(ME, parents=[Progress.ABSENT, Progress.THERE]), Wait((PARENT, BASE))),
        (UNITED, Note(), DATA, Open()),
        (UNITED, PAST, Here(ME, parents=[Progress.THERE] * 2), Assign(PAST)),
        (SETTLED, Note(), Here(ME, parents=[Progress.THERE] * 2), Assign(FIRST)),
        # Moved away.
        (GONE, Note(), KNOWN, Part()),
        (GONE, Note(), LEAVING, Part()),
        (GONE, Note(), NEW, None),
        (STRANGER, Note(), KNOWN, None),
        (MERGED, Note(), KNOWN, Part()),
        (MERGED, Note(), LEAVING, Part()),
        (MERGED, Note(), Here(ME, is_known=True, is_being_merged=True), None),
        (ShardRow(group="toy", number=2), Note(), KNOWN, None),
        (ShardRow(group="metadata", replicas=[OTHER]), Note(), KNOWN, None),
    ],
)
def test_the_next_action_for_a_replica(
    row: ShardRow, note: Note, here: Here, action: Action | None
) -> None:
    assert next_action(row, note, here) == action


@pytest.mark.parametrize("note", [Note(), PAST, FIRST])
def test_a_log_without_data_is_damage(note: Note) -> None:
    with pytest.raises(DamagedError, match="data of shard toy/2 is gone, and its log is there"):
        next_action(MOVED, note, LOG)


ROWS: Final = {
    ShardId("toy", number): ShardRow(group="toy", number=number, members=[MINE])
    for number in range(4)
}


@pytest.mark.parametrize(
    ("whole", "changing", "most", "late"),
    [
        (range(4), (), 0, range(4)),
        (range(4), (), 3, [3]),
        (range(4), (), 9, []),
        # The others open at once in any case.
        ([1, 2, 3], (), 1, [1, 2, 3]),
        ([1, 2, 3], (), 2, [2, 3]),
        (range(4), ("toy",), 0, []),
        (range(4), ("other",), 0, range(4)),
    ],
)
def test_complete_replicas_open_after_the_start(
    whole: list[int], changing: tuple[str, ...], most: int, late: list[int]
) -> None:
    found = put_off(ROWS, {ShardId("toy", each) for each in whole}, changing, most)
    assert found == [ShardId("toy", each) for each in late]


def test_the_parent_of_a_replica_that_is_not_made_opens_at_the_start() -> None:
    rows = {**ROWS, ShardId("toy", 4): PARTED}
    assert PARENT not in put_off(rows, set(ROWS), (), 0)
    assert PARENT in put_off(rows, set(rows), (), 0)


@pytest.mark.parametrize(
    ("row", "note", "whole"),
    [
        (FOUNDED, Note(), True),
        (FOUNDED, PAST, True),
        (RECOVERED, Note(1), True),
        (RECOVERED, Note(), False),
        (FOUNDED, Note(stopped="it diverged"), False),
        (FOUNDED, Note(leaving=True), False),
        (FOUNDED, Note(damaged=True), False),
        (ShardRow(members=[MINE], move=ReplicaMove(number=1)), Note(), False),
    ],
)
def test_nothing_is_to_be_done_for_a_whole_replica(row: ShardRow, note: Note, whole: bool) -> None:
    assert is_whole(row, note) is whole
