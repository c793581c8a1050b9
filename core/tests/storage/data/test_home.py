from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from quorate.observe.failpoints import arm
from quorate.storage.data.home import DiskHome, MemoryHome


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files and directories in the order in which they were synced."""
    found: list[str] = []
    sync = os.fsync

    def fsync(file: int) -> None:
        found.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        sync(file)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_a_pointer_is_synced_renamed_and_synced(tmp_path: Path, events: list[str]) -> None:
    home = DiskHome(tmp_path / "shard")
    assert home.pointer() is None

    def note() -> None:
        assert (tmp_path / "shard" / "pointer").read_bytes() == b"new"
        events.append("renamed")

    home.point(b"old")
    events.clear()
    with arm("pointer.renamed", note):
        home.point(b"new")

    assert events == ["pointer.new", "renamed", "shard"]
    assert home.pointer() == b"new"


def test_each_file_of_a_folder_is_synced_and_then_the_folder(
    tmp_path: Path, events: list[str]
) -> None:
    home = DiskHome(tmp_path)
    home.make("data.2")
    home.write("data.2", "a", 0, b"12")
    home.write("data.2", "a", 2, b"34")
    home.write("data.2", "b", 0, b"5")
    home.sync("data.2")

    assert sorted(events[:2]) == ["a", "b"]
    assert events[2:] == ["data.2"]
    assert home.files("data.2") == {"a": 4, "b": 1}
    assert home.read("data.2", "a", 1, 2) == b"23"


def test_a_destroyed_home_loses_its_pointer_first(tmp_path: Path, events: list[str]) -> None:
    home = DiskHome(tmp_path / "shard")
    home.make("data.1")
    home.point(b"pointer")
    events.clear()

    home.destroy()

    assert events == ["shard"]
    assert not (tmp_path / "shard").exists()


def received(home: MemoryHome) -> None:
    home.make("data.2")
    for name in ("a", "b"):
        home.write("data.2", name, 0, b"0123")
        home.write("data.2", name, 4, b"4567")


def test_the_twin_tears_and_loses_files_that_were_not_synced() -> None:
    found = set()
    for seed in range(60):
        home = MemoryHome()
        received(home)
        home.lose_power(Random(seed))
        found.add(home.read("data.2", "a", 0, 99))

    assert {b"", b"01234567"} < found
    assert all(b"01234567".startswith(each) for each in found)


def test_the_twin_keeps_files_that_were_synced_and_all_at_a_kill() -> None:
    home = MemoryHome()
    received(home)
    home.kill()
    assert home.files("data.2") == {"a": 8, "b": 8}
    home.sync("data.2")
    for seed in range(20):
        home.lose_power(Random(seed))

    assert home.files("data.2") == {"a": 8, "b": 8}
    assert home.read("data.2", "b", 2, 3) == b"234"
