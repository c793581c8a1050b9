"""How long the pages of the console take with very many sessions: each page, many times.

python benchmarks/console.py [--sessions 100000] [--times 20]
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from html import unescape
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.request import urlopen

from mqtt_net import TENANT, clients_of, netted
from quorate.testing.cluster import Cluster

_PLUGINS: Final = (
    *("connector", "coordination", "mqtt", "name_server", "offset", "spark", "storage_engine"),
    "zookeeper",
)
_LINK: Final = re.compile(r'href="(/console[^"]*)"')
_CHANGES: Final = re.compile(r'href="(/console/changes[^"]*)"')
_SESSIONS: Final = f"/console/mqtt/sessions?tenant={TENANT}"
_STATIC: Final = (".css", ".js")


def page(address: str, path: str) -> str:
    """Return a page."""
    with urlopen(f"http://{address}{path}", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def measured(address: str, times: int) -> dict[str, list[float]]:
    """Return how long each page took each time, in milliseconds."""
    first = page(address, "/console")
    paths = {each for each in _LINK.findall(first) if not each.endswith(_STATIC)}
    # The same page in another order, and as CSV, is no other page.
    paths = {each for each in paths if "sort=" not in each and "csv=" not in each}
    paths |= {"/console", "/console/shards/mqtt/0", _SESSIONS}
    # The changes of the first session.
    paths |= {unescape(_CHANGES.findall(page(address, _SESSIONS))[0])}
    if "client-0-" not in page(address, _SESSIONS):
        raise RuntimeError("the console does not show the sessions")
    took: dict[str, list[float]] = {each: [] for each in sorted(paths)}
    for _ in range(times):
        for path, each in took.items():
            began = time.perf_counter()
            page(address, path)
            each.append((time.perf_counter() - began) * 1e3)
    return took


async def main() -> None:
    """Load sessions, look at every page, and print the slowest."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sessions", type=int, default=100_000)
    arguments.add_argument("--times", type=int, default=20)
    asked = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as place,
        Cluster(Path(place), plugins=_PLUGINS, tls=False) as cluster,
    ):
        cluster.ready()
        async with netted(cluster) as net:
            began = time.perf_counter()
            await net.connect(clients_of(0, asked.sessions))
            print(f"{asked.sessions} sessions in {time.perf_counter() - began:.1f} s")
            address = cluster.nodes["node1"].http_address
            took = await asyncio.to_thread(measured, address, asked.times)
    rows = {path: (median(each), quantiles(each, n=20)[-1]) for path, each in took.items()}
    for path, (middle, p95) in sorted(rows.items(), key=lambda row: -row[1][1])[:10]:
        print(f"{path}: p50 {middle:.0f} ms, p95 {p95:.0f} ms")
    every = [ms for each in took.values() for ms in each]
    print(f"{len(took)} pages: p50 {median(every):.0f} ms, p95 {quantiles(every, n=20)[-1]:.0f} ms")


if __name__ == "__main__":
    asyncio.run(main())
