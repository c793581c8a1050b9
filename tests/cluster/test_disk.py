"""A disk that is full, and one that gives back other bytes than it was given."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.consensus.timing import Timing
from quorate.testing.replica_process.cluster import Answer, Cluster, Process
from quorate.testing.waiting import until

QUICK = Timing(heartbeat_s=0.05, election_min_s=0.25, election_max_s=0.5)
DISK_BYTES = 160 << 20
#: Of those, so many must stay free.
MARGIN_BYTES = 32 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(path)]
    mounted = subprocess.run(["mount", *options], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("a file system of a small size can be mounted by root alone")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


@pytest.mark.short
def test_a_full_disk_stops_writes_before_damage_and_nothing_else(small_disk: Path) -> None:
    with Cluster(small_disk, nodes=["a"], timing=QUICK, margin_bytes=MARGIN_BYTES) as cluster:
        process = cluster.leader()
        cluster.note(b"before")
        fill(small_disk / "most of it", keep=MARGIN_BYTES // 2)
        refused = until(lambda: refusal(process))
        assert refused["code"] == "RESOURCE_EXHAUSTED"
        assert "free space" in refused["why"]
        assert str(MARGIN_BYTES) in refused["why"]
        fill(small_disk / "the rest", keep=0)
        held = cluster.read()
        assert held[0] == "before"
        assert refusal(process)
        (small_disk / "most of it").unlink()
        cluster.note(b"after")
        assert cluster.read() == [*held, "after"]
        process.kill()
        process.start()
        assert until(lambda: cluster.read()) == [*held, "after"]


def test_a_load_meets_the_margin_and_goes_on_when_there_is_space(small_disk: Path) -> None:
    with Cluster(small_disk, nodes=["a"], timing=QUICK, margin_bytes=MARGIN_BYTES) as cluster:
        process = cluster.leader()
        filler = small_disk / "filler"
        fill(filler, keep=MARGIN_BYTES + (24 << 20))
        asked = {"kind": "put", "count": 2_000, "in_flight": 4}
        answer = process.ask("Load", json.dumps(asked).encode(), timeout_s=100)
        assert answer["outcome"] == "not proposed", answer
        assert answer["code"] == "RESOURCE_EXHAUSTED"
        assert process.runs
        written = scan(process)["rows"]
        assert written >= 1_000
        filler.unlink()
        cluster.note(b"after")
        digest = cluster.digests()["a"]
        process.kill()
        process.start()
        cluster.leader()
        assert scan(process)["rows"] == written
        assert digest != ""


@pytest.mark.short
def test_a_damaged_file_fails_reads_loudly(tmp_path: Path) -> None:
    with Cluster(tmp_path, nodes=["a"], timing=QUICK) as cluster:
        process = cluster.leader()
        asked = {"kind": "put", "count": 50, "in_flight": 4}
        assert process.ask("Load", json.dumps(asked).encode())["outcome"] == "applied"
        # It moves the rows into files.
        assert process.ask("Checkpoint")["outcome"] == "taken"
        assert scan(process)["rows"] == 50_000
        process.stop()
        damaged = [damage(path) for path in tmp_path.glob("a/**/data.*/*.sst")]
        assert any(damaged)
        process.start()
        until(lambda: process.status().get("role") == "leader" or None)
        failed = scan(process)
        assert failed["outcome"] == "failed"
        assert failed["error"] == "DamagedError"
        assert "quorate member replace" in failed["why"]
        assert process.ask("Digest")["error"] == "DamagedError"


def refusal(process: Process) -> dict[str, str] | None:
    answer = process.ask("Note", b"filling", timeout_s=2.0)
    return answer if answer["outcome"] == "not proposed" else None


def scan(process: Process) -> Answer:
    return process.ask("Scan", json.dumps({"limit": 10_000_000}).encode())


def fill(path: Path, keep: int) -> None:
    """Leave so much of the file system free."""
    found = os.statvfs(path.parent)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - keep)


def damage(path: Path) -> bool:
    """Change bytes in the middle of a file of rows; of a small one they might be anything."""
    size = path.stat().st_size
    if size < 1 << 20:
        return False
    with path.open("r+b") as file:
        file.seek(size // 2)
        before = file.read(64)
        file.seek(size // 2)
        file.write(bytes(each ^ 0xFF for each in before))
    return True
