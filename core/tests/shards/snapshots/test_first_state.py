"""The state that a recovered shard begins with."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.shards.snapshots.first_state import leap, recover
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError
from quorate.v1.control_pb2 import ShardOrigin

ROWS = "toy.rows"
OLD = Configuration.of([Member(Peer("a", 1)), Member(Peer("b", 2))])
NEW = Configuration.of([Member(Peer("a", 1)), Member(Peer("b", 2), voter=False)])


def home(index: int) -> MemoryHome:
    """Return the home of a shard that has applied so much."""
    made, batch = MemoryHome(), Batch()
    data = ShardData.open(made, [ROWS])
    if index:
        batch.put(ROWS, b"a", b"1")
        data.commit(batch, AppliedRecord(Position(index, 3), 1, OLD.encode(), 70, 0xAB, 2))
    data.close()
    return made


def begun(homes: Sequence[MemoryHome], **origin: int | bool) -> tuple[MemoryHome, ShardData]:
    made = MemoryHome()
    recover(homes, made, [ROWS], ShardOrigin(epoch=1, **origin), NEW)  # type: ignore[arg-type]
    return made, ShardData.open(made, [ROWS])


def test_it_is_that_of_the_newest_history_with_rows_and_passes_what_was_given_out() -> None:
    for origin, index, generation in (
        ({}, 9, 2),
        ({"index": 20, "generation": 7}, 20, 7),
        ({"index": 1, "generation": 1}, 9, 2),
    ):
        _, data = begun([home(0), home(9), home(100)], **origin)
        position = Position(leap(index), 3)
        assert data.record == AppliedRecord(
            position, position.index, NEW.encode(), 70, 0xAB, generation + 1
        )
        # A log that begins there is no damaged one.
        assert data.installed == position
        assert data.get(ROWS, b"a") == b"1"


def test_without_rows_it_passes_what_was_given_out_all_the_same() -> None:
    _, data = begun([home(9)], empty=True, index=4)
    assert data.record.position == Position(leap(9), 3)
    assert data.record.generation == 3
    assert data.get(ROWS, b"a") is None


def test_what_it_came_from_stays_as_it_was() -> None:
    old = home(9)
    begun([old])
    data = ShardData.open(old, [ROWS])
    assert (data.applied, data.record.generation, data.installed) == (9, 2, None)


def test_without_data_there_is_nothing_to_begin_with() -> None:
    damaged = home(9)
    damaged.point(b"garbage")
    with pytest.raises(ValueError, match="recover it from another node"):
        begun([home(0)])
    with pytest.raises(DamagedError):
        begun([damaged])
    _, data = begun([damaged], empty=True, index=4, generation=1)
    assert (data.applied, data.record.generation) == (leap(4), 2)
