"""The rows that a leader keeps in memory equal those that are stored."""

from __future__ import annotations

from hypothesis import given, strategies as st
from quorate.apply.layers import Layer
from quorate.apply.recent_rows import RecentRows
from quorate.apply.txn import NOTHING

KEYS = [b"a", b"b", b"c", b"d"]
FAMILY = "tested.rows"

puts = st.tuples(st.just("put"), st.sampled_from(KEYS), st.binary(max_size=2))
deletions = st.tuples(st.just("delete"), st.sampled_from(KEYS), st.just(b""))
ranges = st.tuples(st.just("delete_range"), st.sampled_from(KEYS), st.just(b"z"))


class Counted(Layer):
    """Stored rows that count how often they are asked."""

    asked = 0

    def get(self, family: str, key: bytes) -> bytes | None:
        self.asked += 1
        return super().get(family, key)

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        self.asked += len(keys)
        return super().get_many(family, keys)


@given(entries=st.lists(st.lists(puts | deletions | ranges, max_size=4), max_size=12))
def test_every_read_is_that_of_the_stored_rows(
    entries: list[list[tuple[str, bytes, bytes]]],
) -> None:
    stored = Layer(NOTHING)
    recent = RecentRows(stored, limit_bytes=3)
    for entry in entries:
        layer = Layer(recent)
        for change, key, value in entry:
            getattr(layer, change)(FAMILY, key, *([] if change == "delete" else [value]))
        layer.merge_into(stored)
        recent.keep(layer, size=1)

        wanted = [stored.get(FAMILY, key) for key in KEYS]
        assert recent.get_many(FAMILY, KEYS) == wanted
        assert [recent.get(FAMILY, key) for key in KEYS] == wanted
        assert list(recent.iterate(FAMILY, b"", None)) == list(stored.iterate(FAMILY, b"", None))


def test_only_the_rows_of_two_generations_are_kept() -> None:
    stored = Counted(NOTHING)
    recent = RecentRows(stored, limit_bytes=1)
    for key in KEYS:
        layer = Layer(recent)
        layer.put(FAMILY, key, b"1")
        layer.merge_into(stored)
        recent.keep(layer, size=1)

    assert recent.get_many(FAMILY, KEYS) == [b"1"] * 4
    assert stored.asked == 3
    assert recent.get(FAMILY, KEYS[-1]) == b"1"
    assert stored.asked == 3
