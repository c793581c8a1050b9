"""Stock brokers and clients work on Quorate while nodes of it are killed."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from quorate.testing.waiting import until

from tests.support.rocketmq import stock
from tests.support.rocketmq.cluster import SHARD, Doors
from tests.support.rocketmq.peers import CLUSTERS, ROUTE, Answer, Peer

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MESSAGES = 10_000
#: A broker's death is known to each node within so many seconds, where it may take two minutes.
KNOWN_S = 10.0


def ask(address: str, code: int, **fields: Any) -> Answer:
    """Ask a door one thing."""

    async def asking() -> Answer:
        host, port = address.split(":")
        peer = Peer(*await asyncio.open_connection(host, int(port)))
        answer = await peer.ask(code, **fields)
        await peer.close()
        return answer

    return asyncio.run(asking())


def test_ten_thousand_messages_pass_while_the_leader_is_killed(tmp_path: Path) -> None:
    """None is lost, and the broker's later death is known to the nodes that are left."""
    with Doors(tmp_path / "quorate").ready() as cluster:
        part, address = stock.broker(tmp_path / "broker", cluster.name_servers)
        with part:

            def registered() -> bool | None:
                return all(knows(door, address) for door in cluster.doors.values()) or None

            until(registered)
            traffic = stock.traffic(tmp_path / "traffic", cluster.name_servers, "T1", MESSAGES)
            with traffic:

                def half() -> bool | None:
                    return most(traffic.said, "sent") >= MESSAGES // 4 or None

                def arrived() -> bool | None:
                    return f"arrived {MESSAGES}" in traffic.said or None

                until(half)
                killed = cluster.leader(SHARD)
                killed.kill()
                until(arrived)
            left = [door for name, door in cluster.doors.items() if name != killed.name]

            def routed() -> bool | None:
                return all(ask(door, ROUTE, topic="T1").code == 0 for door in left) or None

            until(routed)

            part.kill()
            began_s = time.monotonic()

            def forgotten() -> bool | None:
                return not any(knows(door, address) for door in left) or None

            until(forgotten)
            assert time.monotonic() - began_s < KNOWN_S


def test_routes_are_there_after_all_nodes_were_killed(tmp_path: Path) -> None:
    """Before any broker has registered again."""
    with Doors(tmp_path / "quorate").ready() as cluster:
        part, address = stock.broker(tmp_path / "broker", cluster.name_servers)
        with part:

            def registered() -> bool | None:
                return all(knows(door, address) for door in cluster.doors.values()) or None

            until(registered)
            for node in cluster.nodes.values():
                node.kill()
            part.pause()
            for node in cluster.nodes.values():
                node.start()
            cluster.ready()

            assert all(
                ask(door, ROUTE, topic="TBW102").code == 0 for door in cluster.doors.values()
            )


def knows(door: str, address: str) -> bool:
    """Tell whether a broker is registered, as one door tells."""
    return address.encode() in ask(door, CLUSTERS).body


def most(said: str, word: str) -> int:
    """Return the last number after a word."""
    found = re.findall(rf"^{word} (\d+)$", said, re.MULTILINE)
    return int(found[-1]) if found else 0
