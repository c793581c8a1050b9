from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.home import DiskHome, MemoryHome
from quorate.storage.data.record import EMPTY, KEY, Pointer
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError, FullError, StalledError
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.families import APPLIED, SYSTEM

if TYPE_CHECKING:
    from core.tests.storage.data.conftest import Homes, Written


def test_a_new_shard_has_applied_nothing(homes: Homes) -> None:
    data = homes.open()

    assert data.record == EMPTY
    assert (data.applied, data.durable_index, data.installed) == (0, 0, None)
    assert data.families == tuple(sorted(["rows", *SYSTEM]))
    assert data.orphans == ()


def test_rows_and_record_are_there_when_it_is_opened_again(homes: Homes, written: Written) -> None:
    data = homes.open()
    written.apply(data, *range(1, 15))
    record = replace(data.record, configuration_index=3, configuration=b"members", generation=2)
    data.commit(Batch(), record)
    homes.kill()

    again = homes.open()

    assert again.record == record
    assert written.rows(again) == list(range(5, 15))
    assert again.get("rows", b"%06d" % 9) == b"value of 9"
    assert again.get("rows", b"%06d" % 4) is None
    # Opening made durable what it found.
    assert again.durable_index == 14


def test_rows_of_a_range_are_given_in_both_directions(homes: Homes, written: Written) -> None:
    data = homes.open()
    written.apply(data, *range(1, 10))

    found = [key for key, _ in data.iterate("rows", b"000003", b"000006")]

    assert found == [b"000003", b"000004", b"000005"]
    backwards = data.iterate("rows", b"000003", b"000006", reverse=True)
    assert [key for key, _ in backwards] == found[::-1]


def test_a_record_never_goes_back(homes: Homes, written: Written) -> None:
    data = homes.open()
    written.apply(data, 5)

    with pytest.raises(ValueError, match="is before"):
        data.commit(Batch(), replace(EMPTY, position=Position(4, 1)))

    assert data.applied == 5


def test_what_is_durable_is_what_was_applied_when_the_sync_began(
    homes: Homes, written: Written
) -> None:
    data = homes.open()
    written.apply(data, 1, 2)
    index = data.begin_sync()
    written.apply(data, 3)
    data.sync()
    assert data.durable_index == 0
    data.synced(index)

    assert data.durable_index == 2
    data.synced(1)
    assert data.durable_index == 2


def test_a_power_loss_leaves_a_state_that_was_and_that_holds_what_is_durable(
    written: Written,
) -> None:
    seen = set()
    for seed in range(60):
        home = MemoryHome()
        data = ShardData.open(home, ["rows", "others"])
        for index in range(1, 20):
            written.apply(data, index)
            if index == 12:
                data.synced(data.begin_sync())
                data.sync()
        home.lose_power(Random(seed))
        again = ShardData.open(home, ["rows", "others"])
        assert written.rows(again) == list(range(again.applied - 9, again.applied + 1))
        seen.add(again.applied)

    assert min(seen) == 12
    assert max(seen) == 19


def test_families_that_no_plugin_claims_are_kept_and_named(homes: Homes, written: Written) -> None:
    data = homes.open(families=("gone", "rows"))
    written.apply(data, 1, family="gone")
    homes.kill()

    again = homes.open(families=("new", "rows"))

    assert again.orphans == ("gone",)
    assert written.rows(again, "gone") == [1]
    assert {"gone", "new", "rows"} < set(again.families)


def test_rows_are_counted_about(homes: Homes) -> None:
    data = homes.open()
    batch = Batch()
    for number in range(1_000):
        batch.put("rows", b"%d" % number, b"v")
    data.commit(batch, EMPTY)

    assert 900 <= data.estimates()["rows"] <= 1_100
    assert data.estimates()["core.events"] == 0
    assert data.engine.memory().write_buffers >= 0


def test_stopped_writes_change_nothing_and_may_be_tried_again(written: Written) -> None:
    home = MemoryHome()
    data = ShardData.open(home, ["rows"])
    written.apply(data, 1)
    batch, record = Batch(), replace(EMPTY, position=Position(2, 1))
    batch.put("rows", b"000002", b"v")
    [disk] = home.disks.values()
    for stopped in ("stalled", "full"):
        disk.stalled = stopped == "stalled"
        disk.failure = FullError("no space") if stopped == "full" else None
        with pytest.raises(StalledError if disk.stalled else FullError):
            data.commit(batch, record)
        assert data.engine.stalled is disk.stalled
        assert data.applied == 1
        assert written.rows(data) == [1]
    disk.stalled, disk.failure = False, None

    data.commit(batch, record)

    assert data.record == record
    assert written.rows(data) == [1, 2]


@pytest.mark.parametrize("content", [b"", b"torn", Pointer(1, None).encode()[:-1]])
def test_a_damaged_pointer_is_told_and_nothing_is_removed(
    homes: Homes, written: Written, content: bytes
) -> None:
    written.apply(homes.open(), 1)
    homes.kill()
    home = homes.home()
    home.point(content)

    with pytest.raises(DamagedError, match=r"pointer cannot be read.*quorate member replace"):
        homes.open()

    home.point(Pointer(1, None).encode())
    assert written.rows(homes.open()) == [1]


def test_a_database_that_is_gone_is_told(homes: Homes) -> None:
    homes.open()
    homes.kill()
    homes.home().remove("data.1")

    with pytest.raises(DamagedError, match=r"has no data\.1"):
        homes.open()

    assert homes.home().folders() == ()


def test_a_record_behind_the_install_is_told(homes: Homes, written: Written) -> None:
    written.apply(homes.open(), 4)
    homes.kill()
    homes.home().point(Pointer(1, Position(5, 1)).encode())

    with pytest.raises(DamagedError, match="began with a snapshot at 5"):
        homes.open()


def test_a_record_that_cannot_be_read_is_told(homes: Homes) -> None:
    home = homes.home()
    homes.open()
    homes.kill()
    engine = home.open("data.1", [APPLIED])
    batch = Batch()
    batch.put(APPLIED, KEY, b"\x09" + bytes(80))
    engine.write(batch)
    engine.close()

    with pytest.raises(DamagedError, match="newer version"):
        homes.open()


def test_leftovers_are_removed_at_the_start(homes: Homes, written: Written) -> None:
    data = homes.open()
    written.apply(data, 1)
    data.checkpoint()
    data.incoming(data.checkpoint().manifest())
    assert homes.home().folders() == ("checkpoint.1", "checkpoint.2", "data.1", "data.2")
    homes.kill()

    assert written.rows(homes.open()) == [1]
    assert homes.home().folders() == ("data.1",)


def test_a_database_that_was_never_pointed_at_is_made_again(homes: Homes, written: Written) -> None:
    """The process, or the machine, ended while the first one was made."""
    homes.home().make("data.1")
    homes.home().write("data.1", "CURRENT", 0, b"half")

    written.apply(homes.open(), 1)
    homes.kill()

    assert written.rows(homes.open()) == [1]


def test_rows_whose_pointer_is_gone_are_kept_and_told(homes: Homes, written: Written) -> None:
    home = homes.home()
    first = home.open("data.1", [APPLIED])
    batch = Batch()
    batch.put(APPLIED, KEY, replace(EMPTY, now_ms=1).encode())
    first.write(batch)
    first.close()

    with pytest.raises(DamagedError, match=r"pointer is gone and data\.1 holds rows"):
        homes.open()

    assert home.folders() == ("data.1",)
    homes.home("two").make("data.2")
    with pytest.raises(DamagedError, match=r"pointer is gone and data\.2 is there"):
        homes.open("two")
    assert homes.home("two").folders() == ("data.2",)


def test_a_home_is_destroyed_with_all_that_it_holds(homes: Homes, written: Written) -> None:
    written.apply(homes.open(), 1)
    homes.kill()
    homes.home().destroy()

    assert homes.home().pointer() is None
    if isinstance(homes.home(), MemoryHome):
        assert written.rows(homes.open()) == []


def test_a_destroyed_directory_is_gone(tmp_path: Path) -> None:
    home = DiskHome(tmp_path / "shard")
    ShardData.open(home, []).close()
    home.destroy()

    assert not (tmp_path / "shard").exists()


def test_a_close_waits_for_a_sync_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ShardData.open(DiskHome(tmp_path), [])
    entered, gate, order = threading.Event(), threading.Event(), list[str]()
    sync = RocksEngine.sync

    def slow(engine: RocksEngine) -> None:
        entered.set()
        assert gate.wait(10)
        sync(engine)
        order.append("synced")

    monkeypatch.setattr(RocksEngine, "sync", slow)
    syncing = threading.Thread(target=data.sync)
    syncing.start()
    assert entered.wait(10)

    def close() -> None:
        data.close()
        order.append("closed")

    closing = threading.Thread(target=close)
    closing.start()
    closing.join(0.05)
    gate.set()
    syncing.join(10)
    closing.join(10)

    assert order == ["synced", "closed"]
    data.sync()
