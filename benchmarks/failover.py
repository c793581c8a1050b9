"""For how long proposals fail when the leader of three processes is killed.

The time runs from SIGKILL until a proposal is acknowledged again. Each trial kills whoever leads
and ends when the killed process has caught up. Exits with 1 when fewer than 19 of 20 trials stay
within 1.5 s.

python benchmarks/failover.py [--trials N] [--json]
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from quorate.testing.replica_process.cluster import Cluster, Process
from quorate.testing.waiting import until

LIMIT_S: Final = 1.5
SHARE: Final = 19 / 20


def trial(cluster: Cluster, number: int) -> float:
    """Kill the leader, and return for how long no proposal was acknowledged."""
    leader = cluster.leader()
    leader.kill()
    begun = time.monotonic()
    cluster.note(f"trial {number}".encode())
    outage_s = time.monotonic() - begun
    leader.start()
    until(lambda: _caught_up(leader, cluster.leader()))
    return outage_s


def _caught_up(process: Process, leader: Process) -> bool | None:
    behind: int = leader.status()["last"]
    return process.status().get("applied", 0) >= behind or None


def main() -> int:
    """Run the trials and print every number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, Cluster(Path(directory)) as cluster:
        outages = [trial(cluster, number) for number in range(asked.trials)]
    within = sum(1 for outage in outages if outage <= LIMIT_S)
    if asked.json:
        found = {"outages_s": outages, "within": within, "limit_s": LIMIT_S}
        print(json.dumps({"python": platform.python_version(), **found}))
    else:
        print("outages:", " ".join(f"{outage:.2f}" for outage in outages), "s")
        print(f"{within} of {len(outages)} within {LIMIT_S} s")
    return 0 if within >= SHARE * len(outages) else 1


if __name__ == "__main__":
    sys.exit(main())
