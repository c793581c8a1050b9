"""What the pages of the console cost with very many sessions and shards: each page, many times.

Time is what a caller waits; processor time is that of all nodes, without what they take while
nobody looks, and is not disturbed by other work on the machine.

The sessions are in a few shards; the other shards hold znodes and are idle. The exit code is 1 when
the 95th percentile of a page exceeds the bound of the console.

python benchmarks/console.py [--sessions 100000] [--shards 1000] [--nodes 3] [--times 20]
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from statistics import median, quantiles
from typing import Final, NamedTuple

import nodes
from figures import Options
from mqtt_net import TENANT, clients_of, netted
from nodes import page
from quorate.testing.cluster import Cluster
from rest import ready
from systems.system import server_cpu_s

_PLUGINS: Final = (
    *("connector", "coordination", "mqtt", "name_server", "offset", "spark", "storage_engine"),
    "zookeeper",
)
_LINK: Final = re.compile(r'href="(/console[^"]*)"')
_CHANGES: Final = re.compile(r'href="(/console/changes[^"]*)"')
_SESSIONS: Final = f"/console/mqtt/sessions?tenant={TENANT}"
_STATIC: Final = (".css", ".js")
#: Pages of a node and of a shard: of many the first ones are as good as any.
_EACH: Final = ("/console/nodes/", "/console/shards/")
_SOME: Final = 3
_IDLE_S: Final = 10.0
#: Shards with sessions; forming the others takes minutes, and longer on a busy machine.
_USED: Final = 8
_FORMED_S: Final = 900.0
#: Keys that are browsed, on fifty levels.
_PREFIX: Final = "bench/"
_PAIRS: Final = 10_000
_AT_A_TIME: Final = 500
#: What a page may take at the 95th percentile.
_MOST_MS: Final = 300.0
#: A busy machine elects no new leaders while pages are measured.
_UNHURRIED: Final[Mapping[str, object]] = {"election_min_ms": 10_000, "election_max_ms": 15_000}


class Cost(NamedTuple):
    """What a page took each time in milliseconds, and of the processors on average."""

    took_ms: Sequence[float]
    cpu_ms: float

    @property
    def p95_ms(self) -> float:
        """The 95th percentile of what a caller waited."""
        return quantiles(self.took_ms, n=20)[-1]


def paths_of(address: str) -> list[str]:
    """Return the pages that are measured."""
    first = page(address, "/console")
    paths = {unescape(each) for each in _LINK.findall(first) if not each.endswith(_STATIC)}
    # The same page in another order, and as CSV, is no other page.
    paths = {each for each in paths if "sort=" not in each and "csv=" not in each}
    for below in _EACH:
        paths -= {*sorted(each for each in paths if each.startswith(below))[_SOME:]}
    paths |= {"/console", "/console/shards/mqtt/0", "/console/search?q=client-0-", _SESSIONS}
    paths |= {f"/console/pairs?prefix={_PREFIX}", f"/console/pairs?prefix={_PREFIX}7/"}
    if "client-0-" not in page(address, _SESSIONS):
        raise RuntimeError("the console does not show the sessions")
    # The changes of the first session.
    return sorted(paths | {unescape(_CHANGES.findall(page(address, _SESSIONS))[0])})


def idle(pids: list[int]) -> float:
    """Return the share of a core that all nodes take while nobody looks."""
    before = server_cpu_s(pids)
    time.sleep(_IDLE_S)
    return (server_cpu_s(pids) - before) / _IDLE_S


def measured(address: str, times: int, pids: list[int]) -> dict[str, Cost]:
    """Return what each page costs."""
    at_rest = idle(pids)
    found = {}
    for path in paths_of(address):
        took, before = [], server_cpu_s(pids)
        for _ in range(times):
            began = time.perf_counter()
            page(address, path)
            took.append((time.perf_counter() - began) * 1e3)
        used_s = server_cpu_s(pids) - before - at_rest * sum(took) / 1e3
        found[path] = Cost(took, used_s / times * 1e3)
    return found


async def main() -> int:
    """Load sessions, look at every page, and print what each costs; return the exit code."""
    asked = Options(__doc__, sessions=100_000, shards=1_000, nodes=3, times=20).parse_args()
    settings: dict[str, Mapping[str, object]] = {
        "groups": {"mqtt": {"shards": _USED}, "zookeeper": {"shards": asked.shards - _USED}},
        "timing": _UNHURRIED,
    }
    with (
        tempfile.TemporaryDirectory(dir=asked.directory) as place,
        Cluster(
            Path(place), asked.nodes, plugins=_PLUGINS, settings=settings, tls=False, forked=False
        ) as cluster,
    ):
        await ready(cluster, _FORMED_S)
        pids = nodes.pids(cluster)
        async with netted(cluster) as net:
            began = time.perf_counter()
            await net.connect(clients_of(0, asked.sessions))
            for first in range(0, _PAIRS, _AT_A_TIME):
                keys = [f"{_PREFIX}{each % 50}/{each}" for each in range(first, first + _AT_A_TIME)]
                await asyncio.gather(*(net.q.kv.put(key, b"value") for key in keys))
            print(f"{asked.sessions} sessions in {time.perf_counter() - began:.1f} s")
            await nodes.quiet(pids)
            address = cluster.nodes["node1"].http_address
            costs = await asyncio.to_thread(measured, address, asked.times, pids)
    print("| page | p50 ms | p95 ms | processors ms |\n|---|---|---|---|")
    for path, each in sorted(costs.items(), key=lambda row: -row[1].p95_ms):
        p50_ms, cpu_ms = median(each.took_ms), each.cpu_ms
        print(f"| `{path}` | {p50_ms:.0f} | {each.p95_ms:.0f} | {cpu_ms:.0f} |")
    every = [ms for each in costs.values() for ms in each.took_ms]
    p95_ms = quantiles(every, n=20)[-1]
    print(f"| all {len(costs)} | {median(every):.0f} | {p95_ms:.0f} | |")
    return int(any(each.p95_ms > _MOST_MS for each in costs.values()))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
