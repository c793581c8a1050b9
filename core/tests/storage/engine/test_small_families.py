"""Small families share one of the database, and nobody sees that."""

from pathlib import Path

import pytest
from quorate.storage.engine import rocks
from quorate.storage.engine.port import Batch
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.families import APPLIED, SLOTS, SMALL

NAMES = sorted(SMALL)
KEYS = (b"", b"a", b"\xff\xff")


def filled(path: Path, names: list[str]) -> RocksEngine:
    engine, batch = RocksEngine(path, names), Batch()
    for name in names:
        for key in KEYS:
            batch.put(name, key, name.encode() + key)
    engine.write(batch)
    return engine


def rows_of(name: str) -> list[tuple[bytes, bytes]]:
    return [(key, name.encode() + key) for key in KEYS]


@pytest.mark.parametrize("name", NAMES)
def test_each_has_its_own_rows(tmp_path: Path, name: str) -> None:
    engine = filled(tmp_path, NAMES)
    assert list(engine.iterate(name, b"", None)) == rows_of(name)
    assert list(engine.iterate(name, b"", None, reverse=True)) == rows_of(name)[::-1]
    assert list(engine.iterate(name, b"a", b"b")) == [(b"a", name.encode() + b"a")]
    assert engine.get(name, b"") == name.encode()
    assert engine.get_many(name, [b"a", b"b"]) == [name.encode() + b"a", None]
    view = engine.view(name)
    assert list(view.iterate(b"", None)) == rows_of(name)
    assert view.last() == KEYS[-1]
    del view
    engine.close()


@pytest.mark.parametrize("name", NAMES)
def test_deleting_the_rows_of_one_leaves_the_others(tmp_path: Path, name: str) -> None:
    engine, batch = filled(tmp_path, NAMES), Batch()
    batch.delete_range(name, b"", b"\xff\xff\xff")
    engine.write(batch)
    view = engine.view(name)
    assert view.last() is None
    del view
    for other in NAMES:
        assert list(engine.iterate(other, b"", None)) == ([] if other == name else rows_of(other))
    engine.close()


def test_they_are_found_again(tmp_path: Path) -> None:
    filled(tmp_path, NAMES).close()
    engine = RocksEngine(tmp_path, NAMES)
    assert [list(engine.iterate(name, b"", None)) for name in NAMES] == list(map(rows_of, NAMES))
    assert engine.families == tuple(NAMES)
    assert engine.orphans == ()
    engine.close()


def test_one_that_has_a_place_of_its_own_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rocks, "SMALL", {SLOTS: SMALL[SLOTS]})
    filled(tmp_path, [APPLIED]).close()
    monkeypatch.setattr(rocks, "SMALL", SMALL)
    engine, batch = RocksEngine(tmp_path, NAMES), Batch()
    assert list(engine.iterate(APPLIED, b"", None)) == rows_of(APPLIED)
    batch.put(SLOTS, b"key", b"value")
    engine.write(batch)
    assert list(engine.iterate(SLOTS, b"", None)) == [(b"key", b"value")]
    assert list(engine.iterate(APPLIED, b"", None)) == rows_of(APPLIED)
    engine.close()


def test_a_number_is_never_given_again() -> None:
    assert [name for name, _ in sorted(SMALL.items(), key=lambda each: each[1])] == [
        "core.applied",
        "core.slots",
        "core.sequences",
        "core.counts",
        "core.fences",
        "core.mirrors",
        "core.shards",
        "core.nodes",
        "core.members",
        "core.publications",
        "core.levels",
    ]
