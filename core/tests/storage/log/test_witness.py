from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from quorate.storage.log.witness import (
    Durable,
    FileWitnesses,
    MemoryWitnesses,
    Witnesses,
    decode,
    decode_applied,
    encode,
    encode_applied,
)


@pytest.fixture(params=["files", "memory"])
def witnesses(request: pytest.FixtureRequest, tmp_path: Path) -> Witnesses:
    return FileWitnesses(tmp_path / "witness") if request.param == "files" else MemoryWitnesses()


def test_the_newest_mark_of_each_shard_is_read(witnesses: Witnesses) -> None:
    assert witnesses.read("group/0") is None
    witnesses.write("group/0", Durable(2**64 - 1, 2**32 - 1))
    witnesses.write("group/1", Durable(1, 1))
    witnesses.write("group/1", Durable(7, 2))
    witnesses.sync("group/1")

    assert witnesses.read("group/0") == Durable(2**64 - 1, 2**32 - 1)
    assert witnesses.read("group/1") == Durable(7, 2)
    witnesses.close()


def test_a_witness_is_one_file_of_sixteen_bytes(tmp_path: Path) -> None:
    witnesses = FileWitnesses(tmp_path)
    for index in range(5):
        witnesses.write("group/0", Durable(index, 0))
    witnesses.close()

    [file] = tmp_path.iterdir()
    assert len(file.read_bytes()) == 16
    assert FileWitnesses(tmp_path).read("group/0") == Durable(4, 0)


def test_the_newest_applied_index_of_each_shard_is_read(witnesses: Witnesses) -> None:
    assert witnesses.applied("group/0") == 0
    witnesses.note_applied("group/0", 2**64 - 1)
    witnesses.write("group/1", Durable(9, 1))
    for index in range(12):
        witnesses.note_applied("group/1", index)

    assert witnesses.applied("group/0") == 2**64 - 1
    assert (witnesses.applied("group/1"), witnesses.read("group/1")) == (11, Durable(9, 1))
    witnesses.remove("group/1")
    assert (witnesses.applied("group/1"), witnesses.read("group/1")) == (0, None)
    witnesses.note_applied("group/1", 3)
    assert witnesses.applied("group/1") == 3
    witnesses.close()


@pytest.mark.parametrize("place", range(12))
def test_a_torn_applied_index_is_none(place: int) -> None:
    content = encode_applied(1000)

    assert decode_applied(content) == 1000
    assert decode_applied(content[:place]) == 0
    flipped = bytearray(content)
    flipped[place] ^= 4
    assert decode_applied(bytes(flipped)) == 0


@pytest.mark.parametrize("place", range(16))
def test_a_torn_mark_says_nothing(place: int) -> None:
    content = encode(Durable(1000, 3))

    assert decode(content) == Durable(1000, 3)
    assert decode(content[:place]) is None
    flipped = bytearray(content)
    flipped[place] ^= 4
    assert decode(bytes(flipped)) is None


def test_a_power_loss_takes_back_or_tears_what_was_not_synced() -> None:
    outcomes = set()
    for seed in range(60):
        witnesses = MemoryWitnesses()
        witnesses.write("a", Durable(9, 0))
        witnesses.write("a", Durable(1, 0))
        witnesses.sync("a")
        witnesses.write("a", Durable(2, 0))
        witnesses.write("a", Durable(3, 0))
        witnesses.lose_power(Random(seed))
        outcomes.add(witnesses.read("a"))

    assert outcomes == {None, Durable(1, 0), Durable(2, 0), Durable(3, 0)}
