"""One suite for both engines: whatever holds for one holds for the other."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from quorate.storage.engine import memory, rocks
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.engine.port import Batch, DamagedError, Engine, EngineError
from quorate.storage.engine.rocks import RocksEngine

if TYPE_CHECKING:
    from core.tests.storage.conftest import Databases


def put(engine: Engine, rows: dict[bytes, bytes], family: str = "log") -> None:
    batch = Batch()
    for key, value in rows.items():
        batch.put(family, key, value)
    engine.write(batch)


def rows(engine: Engine, family: str = "log") -> dict[bytes, bytes]:
    return dict(engine.iterate(family, b"", b"\xff"))


def long_key(number: int) -> bytes:
    return b"a shard's name\x00\x03" + number.to_bytes(8, "big")


def test_a_value_is_found_under_its_key_in_its_family(databases: Databases) -> None:
    engine = databases.open(families=("a", "b"))
    put(engine, {b"k": b"of a"}, "a")
    put(engine, {b"k": b""}, "b")

    assert engine.get("a", b"k") == b"of a"
    assert engine.get("b", b"k") == b""
    assert engine.get("a", b"other") is None
    assert engine.families == ("a", "b")


def test_a_family_may_be_added_and_stays(databases: Databases) -> None:
    engine = databases.open(families=("b",))
    engine.add_family("a")
    put(engine, {b"k": b"of a"}, "a")

    assert (engine.families, engine.orphans) == (("a", "b"), ("a",))
    assert rows(engine, "a") == {b"k": b"of a"}
    engine.close()
    engine = databases.open(families=("b",))
    assert (engine.families, engine.orphans) == (("a", "b"), ("a",))
    assert engine.get("a", b"k") == b"of a"


def test_many_values_come_in_the_order_of_their_keys(databases: Databases) -> None:
    engine = databases.open(families=("a", "b"))
    put(engine, {long_key(number): b"%d" % number for number in range(0, 400, 2)}, "a")
    engine.flush()
    put(engine, {long_key(number): b"" for number in range(1, 400, 4)}, "a")
    batch = Batch()
    batch.delete_range("a", long_key(100), long_key(200))
    batch.delete("a", long_key(0))
    engine.write(batch)
    keys = [long_key(number * 7 % 401) for number in range(500)]

    found = engine.get_many("a", keys)

    assert found == [engine.get("a", key) for key in keys]
    assert None in found
    assert b"" in found
    assert b"398" in found
    assert engine.get_many("b", keys[:2]) == [None, None]
    assert engine.get_many("a", []) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_a_range_holds_its_start_and_not_its_end(databases: Databases, reverse: bool) -> None:
    engine = databases.open()
    put(engine, {long_key(number): b"%d" % number for number in range(300)})

    found = list(engine.iterate("log", long_key(20), long_key(280), reverse=reverse))

    expected = [(long_key(number), b"%d" % number) for number in range(20, 280)]
    assert found == (expected[::-1] if reverse else expected)
    assert not list(engine.iterate("log", long_key(5), long_key(5), reverse=reverse))


def test_a_range_begins_and_ends_between_keys(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {b"b": b"1", b"d": b"2", b"f": b"3"})

    assert [key for key, _ in engine.iterate("log", b"a", b"e")] == [b"b", b"d"]
    assert [key for key, _ in engine.iterate("log", b"c", b"z", reverse=True)] == [b"f", b"d"]


def test_a_view_does_not_see_later_writes(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {b"a": b"1", b"b": b"1"})
    view = engine.iterate("log", b"", b"\xff")
    batch = Batch()
    batch.delete("log", b"a")
    batch.put("log", b"c", b"2")
    engine.write(batch)

    assert dict(view) == {b"a": b"1", b"b": b"1"}
    assert rows(engine) == {b"b": b"1", b"c": b"2"}


def test_iterators_of_several_families_are_one_view(databases: Databases) -> None:
    engine = databases.open(families=("a", "b"))
    for family in ("a", "b"):
        put(engine, {b"k": b"1"}, family)
    views = [engine.iterate(family, b"", b"\xff") for family in ("a", "b")]
    batch = Batch()
    batch.put("a", b"later", b"2")
    batch.put("b", b"later", b"2")
    engine.write(batch)

    assert [dict(view) for view in views] == [{b"k": b"1"}, {b"k": b"1"}]


def test_a_view_that_is_held_is_read_in_any_order_and_sees_no_later_writes(
    databases: Databases,
) -> None:
    engine = databases.open(families=("a", "b"))
    before = {long_key(number): b"%d" % number for number in range(300)}
    put(engine, before, "a")
    view, empty = engine.view("a"), engine.view("b")
    batch = Batch()
    batch.delete_range("a", long_key(0), long_key(200))
    batch.put("a", long_key(250), b"later")
    batch.put("a", long_key(999), b"later")
    batch.put("b", b"k", b"later")
    engine.write(batch)
    engine.flush()

    half = list(view.iterate(long_key(100), long_key(200)))
    assert half == list(before.items())[100:200]
    assert list(view.iterate(b"", None)) == list(before.items())
    assert list(view.iterate(long_key(100), long_key(200))) == half
    assert (view.last(), empty.last()) == (long_key(299), None)
    assert not list(view.iterate(long_key(300), None))
    assert not list(empty.iterate(b"", None))


def test_a_view_of_an_unknown_family(databases: Databases) -> None:
    with pytest.raises(EngineError, match="no family gone"):
        databases.open(families=("a",)).view("gone")


def test_a_batch_happens_in_its_order_and_may_be_written_again(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {bytes([i]): b"old" for i in range(6)})
    batch = Batch()
    batch.put("log", bytes([1]), b"gone")
    batch.delete_range("log", bytes([0]), bytes([4]))
    batch.put("log", bytes([2]), b"new")
    batch.delete("log", bytes([5]))

    for _ in range(2):
        engine.write(batch)

        assert rows(engine) == {bytes([2]): b"new", bytes([4]): b"old"}


def test_a_batch_with_an_unknown_family_changes_nothing(databases: Databases) -> None:
    engine = databases.open()
    batch = Batch()
    batch.put("log", b"k", b"v")
    batch.put("lgo", b"k", b"v")

    with pytest.raises(EngineError, match="has no family lgo"):
        engine.write(batch)

    assert rows(engine) == {}
    with pytest.raises(EngineError, match="has no family lgo"):
        engine.get("lgo", b"k")
    with pytest.raises(EngineError, match="has no family lgo"):
        engine.get_many("lgo", [b"k"])
    with pytest.raises(EngineError, match="has no family lgo"):
        engine.iterate("lgo", b"a", b"b")


def test_what_was_written_is_there_when_it_is_opened_again(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {b"synced": b"1"})
    engine.sync()
    put(engine, {b"unsynced": b"2"})
    engine.close()

    assert rows(databases.open()) == {b"synced": b"1", b"unsynced": b"2"}


def test_unsynced_writes_survive_a_kill(tmp_path: Path) -> None:
    engine = RocksEngine(tmp_path / "alive", ["log"])
    put(engine, {b"unsynced": b"1"})
    # A kill would leave exactly what the files have now.
    shutil.copytree(tmp_path / "alive", tmp_path / "killed")
    engine.close()
    killed = RocksEngine(tmp_path / "killed", ["log"])

    assert rows(killed) == {b"unsynced": b"1"}
    killed.close()


def test_rows_of_a_batch_are_filled_directly(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {bytes([i]): b"old" for i in range(4)})
    batch = Batch()
    direct = batch.rows("log")
    direct[bytes([0])] = None
    direct[bytes([9])] = b"gone"
    batch.delete_range("log", bytes([1]), bytes([10]))
    batch.rows("log")[bytes([2])] = b"new"
    batch.rows("log").update({bytes([3]): b"other", bytes([4]): None})

    engine.write(batch)

    assert rows(engine) == {bytes([2]): b"new", bytes([3]): b"other"}


def test_each_family_of_a_batch_gets_its_own_rows(databases: Databases) -> None:
    engine = databases.open(families=("a", "b"))
    put(engine, {b"k": b"old"}, "b")
    batch = Batch()
    batch.put("a", b"k", b"of a")
    batch.delete("b", b"k")
    batch.put("a", b"l", b"of a")
    batch.put("b", b"l", b"of b")

    engine.write(batch)

    assert rows(engine, "a") == {b"k": b"of a", b"l": b"of a"}
    assert rows(engine, "b") == {b"l": b"of b"}


def test_a_range_without_an_end_reaches_every_key(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {b"a": b"1", b"\xff" * 5: b"2"})

    assert [key for key, _ in engine.iterate("log", b"", None)] == [b"a", b"\xff" * 5]
    assert [key for key, _ in engine.iterate("log", b"b", None, reverse=True)] == [b"\xff" * 5]


def test_a_checkpoint_holds_what_was_there_and_nothing_later(
    databases: Databases, tmp_path: Path
) -> None:
    engine = databases.open(families=("a", "b"))
    put(engine, {b"in a file": b"1"}, "a")
    engine.flush()
    put(engine, {b"in memory": b"2"}, "b")
    engine.checkpoint(tmp_path / "copy")
    put(engine, {b"later": b"3"}, "b")

    copy = databases.open("copy", ())

    assert copy.families == ("a", "b")
    assert rows(copy, "a") == {b"in a file": b"1"}
    assert rows(copy, "b") == {b"in memory": b"2"}
    put(copy, {b"of the copy": b"4"}, "a")
    assert rows(engine, "a") == {b"in a file": b"1"}


def test_a_checkpoint_is_made_where_nothing_is(databases: Databases, tmp_path: Path) -> None:
    engine = databases.open()
    engine.checkpoint(tmp_path / "copy")

    with pytest.raises(EngineError, match=r"Cannot make .*checkpoint.*copy"):
        engine.checkpoint(tmp_path / "copy")


def test_flushed_rows_are_there_and_are_no_longer_in_memory(databases: Databases) -> None:
    engine = databases.open()
    put(engine, {long_key(number): bytes(100) for number in range(5_000)})
    before = engine.memory()
    engine.flush()

    assert len(rows(engine)) == 5_000
    assert engine.memory().write_buffers <= before.write_buffers


def test_the_room_that_rows_take_is_that_of_files_once_they_are_flushed(
    databases: Databases,
) -> None:
    engine = databases.open()
    assert engine.files() == (0, 0)
    put(engine, {long_key(number): bytes(100) for number in range(5_000)})
    engine.flush()

    # The twin has no files.
    rocks = isinstance(engine, RocksEngine)
    assert engine.files().tables >= (500_000 if rocks else 0)
    assert engine.files().pending_compaction == 0


def test_rows_are_counted_about(databases: Databases) -> None:
    engine = databases.open()
    assert engine.estimated_rows("log") == 0
    put(engine, {long_key(number): b"v" for number in range(1_000)})

    assert 900 <= engine.estimated_rows("log") <= 1_100
    engine.flush()
    assert 900 <= engine.estimated_rows("log") <= 1_100
    with pytest.raises(EngineError, match="has no family lgo"):
        engine.estimated_rows("lgo")


def test_families_on_disk_are_opened_with_those_asked_for(databases: Databases) -> None:
    engine = databases.open(families=("left",))
    put(engine, {b"k": b"v"}, "left")
    engine.close()

    again = databases.open(families=("new",))

    assert again.families == ("left", "new")
    assert again.orphans == ("left",)
    assert again.get("left", b"k") == b"v"


def test_a_database_is_opened_once(databases: Databases) -> None:
    databases.open()

    with pytest.raises(EngineError, match="open"):
        databases.open()


def test_a_closed_database_says_so(databases: Databases) -> None:
    engine = databases.open()
    engine.close()
    engine.close()

    with pytest.raises(EngineError, match="is closed"):
        put(engine, {b"k": b"v"})
    with pytest.raises(EngineError, match="is closed"):
        engine.get("log", b"k")
    with pytest.raises(EngineError, match="is closed"):
        engine.get_many("log", [b"k"])


def test_writes_are_not_stopped_at_first(databases: Databases) -> None:
    assert not databases.open().stalled


KEYS = st.binary(max_size=3)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.binary(max_size=3)),
        st.tuples(st.just("delete"), KEYS, st.just(b"")),
        st.tuples(st.just("delete_range"), KEYS, KEYS).filter(lambda each: each[1] <= each[2]),
    ),
    max_size=8,
)


@given(batches=st.lists(OPERATIONS, max_size=6), start=KEYS, end=KEYS, reverse=st.booleans())
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_both_engines_answer_alike(
    batches: list[list[tuple[str, bytes, bytes]]],
    start: bytes,
    end: bytes,
    reverse: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    engines: list[Engine] = [
        RocksEngine(Path(tmp_path_factory.mktemp("both")), ["log"]),
        MemoryEngine(MemoryDisk(of_log=True), ["log"]),
    ]
    for operations in batches:
        batch = Batch()
        for change, key, value in operations:
            if change == "put":
                batch.put("log", key, value)
            elif change == "delete":
                batch.delete("log", key)
            else:
                batch.delete_range("log", key, value)
        for engine in engines:
            engine.write(batch)
    native, twin = (
        (rows(engine), list(engine.iterate("log", start, end, reverse=reverse)))
        for engine in engines
    )
    for engine in engines:
        engine.close()

    assert native == twin


def test_the_engine_alone_imports_rocksdict() -> None:
    source = Path(str(sys.modules["quorate.storage.engine.rocks"].__file__)).parents[2]
    importers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"^\s*(from|import) rocksdict", path.read_text(), re.MULTILINE)
    }

    assert importers == {"storage/engine/options.py", "storage/engine/rocks.py"}


def test_files_put_their_rows_in_place_over_others(databases: Databases, tmp_path: Path) -> None:
    engine = databases.open(families=("a", "b"))
    write = memory.write_file if isinstance(engine, MemoryEngine) else rocks_file
    put(engine, {b"k": b"old", b"other": b"stays"}, "a")
    write(tmp_path / "a.sst", [(b"k", b"new"), (b"l", b"too")])
    write(tmp_path / "b.sst", [(b"k", b"of b")])
    before = engine.iterate("a", b"", None)
    files = {"a": [tmp_path / "a.sst"], "b": [tmp_path / "b.sst"]}
    engine.ingest(files)

    assert dict(before) == {b"k": b"old", b"other": b"stays"}
    found = {b"k": b"new", b"l": b"too", b"other": b"stays"}
    assert (rows(engine, "a"), rows(engine, "b")) == (found, {b"k": b"of b"})
    put(engine, {b"k": b"newest"}, "a")
    assert rows(engine, "a")[b"k"] == b"newest"
    # The files stay as they are, and may come again.
    engine.ingest(files)
    assert rows(engine, "a") == found
    assert sorted(path.name for path in tmp_path.glob("*.sst*")) == ["a.sst", "b.sst"]


def test_files_that_cannot_be_read_put_nothing_in_place(
    databases: Databases, tmp_path: Path
) -> None:
    engine = databases.open(families=("a",))
    (tmp_path / "a.sst").write_bytes(b"\xff" * 100)
    with pytest.raises(DamagedError):
        engine.ingest({"a": [tmp_path / "a.sst"]})
    assert rows(engine, "a") == {}


def rocks_file(path: Path, rows: list[tuple[bytes, bytes]]) -> None:
    rocks.write_file(path, "a", rows)
