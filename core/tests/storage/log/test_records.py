from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from quorate.consensus.journal import HardState, JournalDamagedError, Position
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.storage.log.records import Records, SavedState

U64 = st.integers(0, 2**64 - 1)
NAMES = st.text(max_size=5).filter(lambda name: "\x00" not in name)
ENTRIES = st.builds(Entry, U64, U64, st.sampled_from(EntryKind), st.binary(max_size=20))
STATES = st.builds(
    SavedState,
    st.integers(0, 2**32 - 1),
    st.builds(HardState, U64, st.none() | st.builds(Peer, st.text(max_size=5), U64)),
)
RECORDS = Records("group/0")


@given(NAMES, ENTRIES)
def test_an_entry_is_decoded_as_it_was(name: str, entry: Entry) -> None:
    records = Records(name)
    key = records.entry_key(entry.index)

    assert records.decode_entry(key, records.encode_entry(key, entry)) == entry
    assert records.start <= key < records.end


@given(STATES, U64, U64)
def test_what_stands_beside_entries_is_decoded_as_it_was(
    saved: SavedState, index: int, term: int
) -> None:
    sentinel = Position(index, term)

    assert RECORDS.decode_hard_state(RECORDS.encode_hard_state(saved)) == saved
    assert RECORDS.decode_sentinel(RECORDS.encode_sentinel(sentinel)) == sentinel


@given(st.lists(st.tuples(NAMES, U64)))
def test_keys_are_in_the_order_of_shards_and_indexes(places: list[tuple[str, int]]) -> None:
    by_key = sorted(places, key=lambda place: Records(place[0]).entry_key(place[1]))

    assert by_key == sorted(places, key=lambda place: (place[0].encode() + b"\x00", place[1]))


@given(ENTRIES, STATES, st.data())
def test_any_flipped_bit_is_found(entry: Entry, saved: SavedState, data: st.DataObject) -> None:
    key = RECORDS.entry_key(entry.index)

    def flipped(value: bytes) -> bytes:
        bit = data.draw(st.integers(0, len(value) * 8 - 1))
        changed = bytearray(value)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)

    with pytest.raises(JournalDamagedError, match=f"group/0 .*entry {entry.index}"):
        RECORDS.decode_entry(key, flipped(RECORDS.encode_entry(key, entry)))
    with pytest.raises(JournalDamagedError, match="term and vote"):
        RECORDS.decode_hard_state(flipped(RECORDS.encode_hard_state(saved)))
    with pytest.raises(JournalDamagedError, match="where the log was cut"):
        RECORDS.decode_sentinel(flipped(RECORDS.encode_sentinel(Position(3, 4))))


@given(st.binary(max_size=40))
def test_garbage_is_refused(garbage: bytes) -> None:
    for decode in (
        lambda: RECORDS.decode_entry(RECORDS.entry_key(1), garbage),
        lambda: RECORDS.decode_hard_state(garbage),
        lambda: RECORDS.decode_sentinel(garbage),
        lambda: RECORDS.decode_entry(garbage, b""),
    ):
        with pytest.raises(JournalDamagedError, match="quorate member replace"):
            decode()
