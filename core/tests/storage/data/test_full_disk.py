"""A small file system fills up and gets its space back: more than one write buffer takes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.home import DiskHome
from quorate.storage.data.record import EMPTY
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, FullError


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
    data.commit(batch, replace(EMPTY, position=Position(index, 1)))


def fill(data: ShardData) -> None:
    for _ in range(400):
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
