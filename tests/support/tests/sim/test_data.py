"""The digest of a shard's rows that costs no more than its changes."""

import pytest
from hypothesis import given, strategies as st
from quorate.consensus.journal import Position
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.record import EMPTY, AppliedRecord
from quorate.storage.engine.port import Batch

from tests.support.sim.data import LivingHome, ObservedData
from tests.support.sim.loop import ProcessEndedError

KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
CHANGES = st.one_of(
    st.tuples(st.just("put"), KEYS, st.sampled_from([b"", b"1", b"2"])),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("delete_range"), KEYS, KEYS),
)


def _record(index: int) -> AppliedRecord:
    return AppliedRecord(Position(index, 1), 0, b"", 0, 0, 0)


@given(st.lists(st.lists(CHANGES, max_size=6), max_size=6))
def test_it_is_the_digest_of_the_rows_after_any_batches(
    batches: list[list[tuple[str, bytes, bytes]]],
) -> None:
    home = MemoryHome()
    data = ObservedData.open(home, ["rows"])
    for index, changes in enumerate(batches, 1):
        batch = Batch()
        for change, *arguments in changes:
            getattr(batch, change)("rows", *arguments)
        data.commit(batch, _record(index))
    content = data.content
    data.close()
    assert ObservedData.open(home, ["rows"]).content == content


def test_rows_that_differ_have_other_digests() -> None:
    contents = set()
    for key, value in ((b"a", b"1"), (b"a", b"2"), (b"b", b"1"), (b"a1", b"")):
        data = ObservedData.open(MemoryHome(), ["rows"])
        batch = Batch()
        batch.put("rows", key, value)
        data.commit(batch, _record(1))
        contents.add(data.content)
    assert len(contents) == 4


def test_a_process_that_has_ended_changes_nothing_on_its_disk() -> None:
    ended = False
    home = MemoryHome()
    living = LivingHome(home, lambda: ended)
    data = ObservedData.open(living, ["rows"])
    assert data.record == EMPTY
    ended = True
    for act in (data.checkpoint, lambda: living.make("data.2"), lambda: living.remove("data.1")):
        with pytest.raises(ProcessEndedError):
            act()
    assert home.folders() == ("data.1",)
