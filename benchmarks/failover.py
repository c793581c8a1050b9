"""For how long writes fail when the leader of three nodes is killed.

The time runs from SIGKILL until a write is acknowledged again. Each trial kills the node that
leads, and ends when it has caught up. Exits with 1 when fewer than 19 of 20 trials stay within
1.5 s.

python benchmarks/failover.py [--trials N] [--json]
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Final

from figures import Options, report, tell
from nodes import founded
from quorate.client import Client
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import until

SHARD: Final = "metadata/0"
LIMIT_S: Final = 1.5
SHARE: Final = 19 / 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """For how long no write was acknowledged when a leader was killed."""

    trial: int
    outage_s: float


def trial(cluster: Cluster, client: Client, number: int) -> Outage:
    """Kill the leader, and write until that is acknowledged."""
    leader = cluster.leader(SHARD)
    leader.kill()
    begun = time.monotonic()
    client.kv.put("trial", f"{number}".encode())
    outage_s = time.monotonic() - begun
    leader.start()
    until(lambda: _caught_up(leader, cluster.leader(SHARD)))
    return Outage(trial=number, outage_s=outage_s)


def _caught_up(node: NodeProcess, leader: NodeProcess) -> bool | None:
    return _report(node, "applied_index") >= _report(leader, "last_index") or None


def _report(node: NodeProcess, index: str) -> int:
    status = node.report()
    found = (each for each in (status.shards if status else ()) if each.shard == SHARD)
    return next((getattr(each, index) for each in found), 0)


def main() -> int:
    """Run the trials and print every number."""
    options = Options(__doc__, trials=20).parse_args()
    with (
        founded(options.directory, 3) as cluster,
        # A write that the leader's death leaves open is sent again until it is acknowledged.
        Client(cluster.endpoints, exactly_once=True) as client,
    ):
        client.kv.put("trial", b"")
        outages = [trial(cluster, client, number) for number in range(options.trials)]
    within = sum(each.outage_s <= LIMIT_S for each in outages)
    report(outages, as_json=options.json)
    tell(f"{within} of {len(outages)} within {LIMIT_S} s")
    return 0 if within >= SHARE * len(outages) else 1


if __name__ == "__main__":
    sys.exit(main())
