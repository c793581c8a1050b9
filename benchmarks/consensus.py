"""What three processes agree on per second, with the disk and without it.

Proposals begin in the leader's process and end when it has applied them; nothing but consensus is
measured. `client_ms` is one small proposal as a gRPC client sees it.

python benchmarks/consensus.py [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from quorate.testing.replica_process.cluster import Cluster, Process
from quorate.testing.waiting import until

#: Name, size of a payload, proposals, proposals in flight.
LOADS: Final = (
    ("128 B, one at a time", 128, 1_000, 1),
    ("128 B, 100 in flight", 128, 20_000, 100),
    ("128 KiB, 32 in flight", 128 << 10, 1_000, 32),
)
CLIENT_PROPOSALS: Final = 300


def measure(directory: Path, *, fsync: bool) -> dict[str, Any]:
    """Measure one cluster."""
    with Cluster(directory, fsync=fsync) as cluster:
        leader = cluster.leader()
        until(lambda: _all_stand(leader))
        proposed = 0
        found: dict[str, Any] = {"client_ms": client_ms(leader)}
        before = _entry_bytes(leader)
        for name, size, count, in_flight in LOADS:
            asked = {"kind": "notes", "size": size, "count": count, "in_flight": in_flight}
            answer = leader.ask("Load", json.dumps(asked).encode(), timeout_s=300)
            if answer.pop("outcome") != "applied":
                raise RuntimeError(f"the load {name} ended: {answer}")
            found[name] = answer
            proposed += count * (size + 32)
        until(lambda: _all_hold(leader))
        sent = _entry_bytes(leader)
        found["entry_bytes_per_follower"] = {
            node: (sent[node] - before[node]) / proposed for node in sent
        }
    return found


def client_ms(leader: Process) -> float:
    """Return the median of one proposal at a time, from a process of its own."""
    took = []
    for _ in range(CLIENT_PROPOSALS):
        begun = time.perf_counter()
        leader.ask("Note", b"\x55" * 128)
        took.append(time.perf_counter() - begun)
    return statistics.median(took) * 1e3


def _entry_bytes(leader: Process) -> dict[str, int]:
    links: dict[str, dict[str, int]] = leader.status()["links"]
    return {name: link["entry_bytes"] for name, link in links.items() if name.endswith("bulk")}


def _all_stand(leader: Process) -> bool | None:
    return all(link["stands"] for link in leader.status()["links"].values()) or None


def _all_hold(leader: Process) -> bool | None:
    status = leader.status()
    return all(each["match"] == status["last"] for each in status["followers"]) or None


def main() -> None:
    """Measure with and without fsync, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    found: dict[str, Any] = {"python": platform.python_version(), "cores": os.cpu_count()}
    for name, fsync in (("fsync", True), ("no fsync", False)):
        with tempfile.TemporaryDirectory() as directory:
            found[name] = measure(Path(directory), fsync=fsync)
    if as_json:
        print(json.dumps(found))
        return
    for name in ("fsync", "no fsync"):
        print(f"{name}: one proposal of a client {found[name]['client_ms']:.2f} ms")
        for load, *_ in LOADS:
            row = found[name][load]
            print(
                f"  {load:24} {row['per_s']:10,.0f}/s"
                f"   p50 {row['p50_ms']:7.2f} ms   p99 {row['p99_ms']:7.2f} ms"
            )
        shares = found[name]["entry_bytes_per_follower"].values()
        print("  entry bytes sent per byte proposed:", ", ".join(f"{each:.4f}" for each in shares))


if __name__ == "__main__":
    main()
