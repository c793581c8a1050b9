"""A small file system fills up and gets its space back."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.home import DiskHome
from quorate.storage.data.record import EMPTY
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, FullError, StalledError
from quorate.testing.waiting import until


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def write(data: ShardData) -> None:
    """Apply one entry of 100 KB."""
    index = data.applied + 1
    batch = Batch()
    batch.put("rows", b"%06d" % index, index.to_bytes(4, "big") * 25_000)

    def written() -> bool | None:
        # On a busy machine flushes may come late before they fail.
        with suppress(StalledError):
            data.commit(batch, replace(EMPTY, position=Position(index, 1)))
            return True
        return None

    until(written)


def fill(data: ShardData) -> None:
    """Apply more than the file system and the memory for rows hold."""
    for _ in range(1_600):
        write(data)


def rows(data: ShardData) -> list[int]:
    return [int(key) for key, _ in data.iterate("rows", b"", None)]


@pytest.mark.ci
def test_writes_stop_reads_go_on_and_all_is_well_when_space_returns(small: Path) -> None:
    (small / "ballast").write_bytes(bytes(100 << 20))
    data = ShardData.open(DiskHome(small / "shard"), ["rows"])
    with pytest.raises(FullError, match="Free space on that file system"):
        fill(data)
    full = data.applied
    assert rows(data) == list(range(1, full + 1))
    with pytest.raises(FullError):
        write(data)
    with pytest.raises(FullError):
        data.sync()
    assert data.applied == full
    assert data.get("rows", b"%06d" % full) is not None

    (small / "ballast").unlink()
    deadline = time.monotonic() + 60
    while data.applied < full + 20:
        try:
            write(data)
        except FullError:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    assert rows(data) == list(range(1, full + 21))
    data.sync()
    data.close()
    again = ShardData.open(DiskHome(small / "shard"), ["rows"])
    assert rows(again) == list(range(1, full + 21))
    again.close()


@pytest.mark.ci
def test_a_close_that_cannot_flush_leaves_whole_entries(small: Path) -> None:
    """Once there is room, a close that flushed each family by itself would flush some of them."""
    (small / "ballast").write_bytes(bytes(100 << 20))
    data = ShardData.open(DiskHome(small / "shard"), ["rows"])
    with pytest.raises(FullError):
        fill(data)
    with pytest.raises(FullError):
        data.close()
    (small / "ballast").unlink()
    again = ShardData.open(DiskHome(small / "shard"), ["rows"])

    assert again.applied > 0
    assert rows(again) == list(range(1, again.applied + 1))
    again.close()
