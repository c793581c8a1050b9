"""What the replicated store does in real processes with everything on, fsync too.

- `throughput`: one node and one shard take batches of 1,000 items of 128 bytes, through handlers
  that put contents as they are (`put`; `keep`: into a family without events), that pack a key and
  a row for each item (`store`), and that read the row which they replace (`replace`); and single
  commands of 1,000 coroutines, which the batcher joins (`singles`). They come from within the
  process, serialized beforehand; CPU is that of all its threads, RocksDB's among them.
- `reads`: rows by key, and by a scan.
- `stops`: the longest time that the event loop stood still under load, in a flush and a checkpoint,
  and in a follower that installs a snapshot.
- `memory`: the process after a load of rows of 200 bytes, how long it takes from a start after
  kill -9 to a linearizable read, and what `log/` holds then.

python benchmarks/store.py [--json] [--rows N] [--commands N] [--only PART ...] [--directory DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from quorate.testing.replica_process.cluster import Answer, Cluster, Process
from quorate.testing.replica_process.domain import COUNTERS, counter_key
from quorate.testing.waiting import until

AIMS: Final = {
    "put items/s": 250_000,
    "store items/s": 180_000,
    "replace items/s": 120_000,
    "singles/s": 60_000,
    "get us": 5,
    "scan rows/s": 1_000_000,
    "longest stop ms": 50,
    "rss MB": 300,
    "restart s": 5,
}
PARTS: Final = ("throughput", "reads", "stops", "memory")
BATCH: Final = 1_000
LOAD_S: Final = 600.0
#: Behind how many entries a follower gets a snapshot, where one is to.
SHORT_TAIL: Final = 20


class Benchmark:
    """Measures one part after the other, each in a directory of its own."""

    def __init__(self, parent: Path | None, rows: int, commands: int) -> None:
        self._parent: Final = parent
        self._rows: Final = rows
        self._commands: Final = commands
        self.parts: Final[dict[str, Callable[[Path], dict[str, Any]]]] = {
            "throughput": self._throughput,
            "reads": self._reads,
            "stops": self._stops,
            "memory": self._memory,
        }

    def run(self, part: str) -> dict[str, Any]:
        """Measure a part."""
        with TemporaryDirectory(dir=self._parent) as directory:
            return self.parts[part](Path(directory))

    def _throughput(self, directory: Path) -> dict[str, Any]:
        found = {}
        for kind in ("put", "keep", "store", "replace"):
            with Cluster(directory / kind, nodes=["a"]) as cluster:
                batches = self._commands // BATCH
                process = cluster.leader()
                # The second load replaces the rows of the first: this is where reading costs.
                load(process, kind, batches, in_flight=4)
                found[kind] = load(process, kind, batches, in_flight=4)
        with Cluster(directory / "singles", nodes=["a"]) as cluster:
            process, count = cluster.leader(), self._commands // 4
            found["singles"] = load(process, "singles", count, in_flight=1_000)
        return found

    def _reads(self, directory: Path) -> dict[str, Any]:
        with Cluster(directory, nodes=["a"]) as cluster:
            process = cluster.leader()
            load(process, "keep", self._commands // BATCH, in_flight=4)
            load(process, "put", self._commands // BATCH, in_flight=4)
            ask(process, "Checkpoint")
            found = {}
            for family in ("process.items", "process.kept"):
                gets = list(range(0, self._commands, max(1, self._commands // 20_000)))
                asked = {"limit": self._commands, "gets": gets, "family": family}
                ask(process, "Scan", asked)
                found[family] = ask(process, "Scan", asked)
                if found[family].pop("missing"):
                    raise RuntimeError(f"rows of {family} are missing")
            return found

    def _stops(self, directory: Path) -> dict[str, Any]:
        with Cluster(directory, stops=True, tail_entries=SHORT_TAIL) as cluster:
            leader = cluster.leader()
            gone = cluster.followers()[0]
            gone.kill()
            held = load(leader, "put", self._commands // BATCH, in_flight=4)
            checkpoint = ask(leader, "Checkpoint")
            gone.start()
            begun = time.monotonic()
            until(lambda: gone.status().get("installed"))
            took = time.monotonic() - begun
            load(leader, "put", 20, in_flight=4)
            until(lambda: _caught_up(gone, leader))
            return {
                "load_ms": held["longest_stop_ms"],
                "flush_and_checkpoint_ms": checkpoint["longest_stop_ms"],
                "install_ms": gone.status()["longest_stop_ms"],
                "sender_ms": leader.status()["longest_stop_ms"],
                "snapshot_bytes": checkpoint["bytes"],
                "install_s": took,
            }

    def _memory(self, directory: Path) -> dict[str, Any]:
        with Cluster(directory, nodes=["a"], stops=True) as cluster:
            process = cluster.leader()
            loaded = load(process, "put", self._rows // BATCH, in_flight=4, size=200)
            memory = ask(process, "Memory")
            status = process.status()
            log_bytes = _size(directory / "a" / "log")
            data_bytes = _size(directory / "a" / "metadata")
            process.kill()
            begun = time.monotonic()
            process.start()
            until(lambda: _reads(process))
            restart_s = time.monotonic() - begun
            after = ask(process, "Memory")
        return {
            "rows": self._rows,
            "load": loaded,
            "rss_mb": memory["rss_bytes"] / (1 << 20),
            "peak_rss_mb": memory["peak_rss_bytes"] / (1 << 20),
            "rss_after_restart_mb": after["rss_bytes"] / (1 << 20),
            "restart_s": restart_s,
            "longest_stop_ms": status["longest_stop_ms"],
            "data_bytes": data_bytes,
            "log": {
                "entries": status["last"] - status["first"] + 1,
                "entry_bytes": status["log_bytes"],
                "bytes_on_disk": log_bytes,
            },
        }


def load(
    process: Process, kind: str, count: int, *, in_flight: int, size: int = 128
) -> dict[str, Any]:
    """Have a process load itself."""
    asked = {"kind": kind, "count": count, "in_flight": in_flight, "size": size}
    return ask(process, "Load", asked)


def ask(process: Process, method: str, asked: object = None) -> dict[str, Any]:
    """Ask what must be answered."""
    answer: Answer = process.ask(method, json.dumps(asked).encode(), timeout_s=LOAD_S)
    if answer.pop("outcome") in ("unreachable", "refused", "not proposed", "unknown", "failed"):
        raise RuntimeError(f"{method} ended: {answer}; {process.said[-1_000:]}")
    return answer


def _caught_up(process: Process, leader: Process) -> bool | None:
    behind: int = leader.status()["last"]
    return process.status().get("applied", 0) >= behind or None


def _reads(process: Process) -> bool | None:
    asked = {"family": COUNTERS, "key": counter_key("none").hex()}
    answer = process.ask("Get", json.dumps(asked).encode(), timeout_s=1.0)
    return answer["outcome"] == "read" or None


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _show(found: dict[str, Any]) -> None:
    for part, measured in found.items():
        print(part)
        for name, value in measured.items():
            if isinstance(value, dict):
                shown = "  ".join(f"{key} {_rounded(each)}" for key, each in value.items())
                print(f"  {name:12} {shown}")
            else:
                print(f"  {name:24} {_rounded(value)}")


def _rounded(value: object) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the part memory")
    parser.add_argument("--commands", type=int, default=1_000_000, help="items of other parts")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to measure")
    parser.add_argument("--directory", type=Path, help="where the nodes are kept meanwhile")
    asked = parser.parse_args()
    benchmark = Benchmark(asked.directory, asked.rows, asked.commands)
    found = {part: benchmark.run(part) for part in asked.only or benchmark.parts}
    if asked.json:
        machine = {"python": platform.python_version(), "cores": os.cpu_count()}
        print(json.dumps({**machine, "aims": AIMS, **found}))
    else:
        _show(found)


if __name__ == "__main__":
    main()
