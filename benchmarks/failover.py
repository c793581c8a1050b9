"""For how long writes fail when the leader of three nodes is killed.

The time runs from SIGKILL until a write is acknowledged again. Each trial kills the node that
leads, and ends when it has caught up. Exits with 1 when fewer than 19 of 20 trials stay within
1.5 s.

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

from quorate.client import Client
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import until

SHARD: Final = "metadata/0"
LIMIT_S: Final = 1.5
SHARE: Final = 19 / 20


def trial(cluster: Cluster, client: Client, number: int) -> float:
    """Kill the leader, and return for how long no write was acknowledged."""
    leader = cluster.leader(SHARD)
    leader.kill()
    begun = time.monotonic()
    client.kv.put("trial", f"{number}".encode())
    outage_s = time.monotonic() - begun
    leader.start()
    until(lambda: _caught_up(leader, cluster.leader(SHARD)))
    return outage_s


def _caught_up(node: NodeProcess, leader: NodeProcess) -> bool | None:
    return _report(node, "applied_index") >= _report(leader, "last_index") or None


def _report(node: NodeProcess, index: str) -> int:
    status = node.report()
    found = (each for each in (status.shards if status else ()) if each.shard == SHARD)
    return next((getattr(each, index) for each in found), 0)


def main() -> int:
    """Run the trials and print every number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        Cluster(Path(directory)) as cluster,
        # A write that the leader's death leaves open is sent again until it is acknowledged.
        Client(cluster.ready().endpoints, exactly_once=True) as client,
    ):
        client.kv.put("trial", b"")
        outages = [trial(cluster, client, number) for number in range(asked.trials)]
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
