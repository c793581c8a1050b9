"""A leader of an earlier release knows no commands and queries of requests that come together."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from typing import Final

import pytest
import quorate_etcd
from quorate.testing.cluster.cluster import QUICK_ELECTIONS, Cluster
from quorate_etcd.wire import rpc_pb2 as rpc

from tests.support.etcd.ours import open_ports
from tests.support.etcd.peers import Peer

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]

_SHARD: Final = "etcd/0"
_AT_ONCE: Final = 40


def older(place: Path) -> Path:
    """Return a folder with the plugin as it was before requests were carried out together."""
    source = Path(quorate_etcd.__file__).parent
    shutil.copytree(source, place / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, pattern, instead in (
        ("commands.py", r"^    together\.transact_all: .*\n", ""),
        ("commands.py", r"^ *\(asked\.GetAll, .*\n", ""),
        ("serving/store.py", r"if size > _LARGE_BYTES or not is_joint\(request\)", "if size"),
        ("serving/kv.py", r"if not request\.serializable and ranges\.is_plain", "if None and bool"),
    ):
        file = place / source.name / name
        text, count = re.subn(pattern, instead, file.read_text(), flags=re.MULTILINE)
        assert count == 1
        file.write_text(text)
    return place


async def test_requests_that_come_together_are_carried_out_alone(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nodes", 3, plugins=["etcd"], settings={"timing": QUICK_ELECTIONS})
    ports = open_ports(cluster)
    first, *others = cluster.nodes.values()
    packages = older(tmp_path / "older")
    for node in cluster.nodes.values():
        node.packages = packages
    with cluster:
        await asyncio.to_thread(cluster.ready)
        for node in others:
            await asyncio.to_thread(node.stop)
            node.packages = None
            node.start()
            await asyncio.to_thread(node.ready)
        peers = [Peer(port) for port in ports.values()]
        values: dict[bytes, bytes] = {}
        revisions: list[int] = []
        for leader in (*cluster.nodes, first.name):
            if (leads := cluster.leader(_SHARD)).name != leader:
                await asyncio.to_thread(leads.transfer, _SHARD, leader)
            wanted = {b"%d" % number: f"{leader} {number}".encode() for number in range(_AT_ONCE)}
            found = await asyncio.gather(
                *(
                    peer.call("kv", "Put", rpc.PutRequest(key=key, value=value))
                    for number, (key, value) in enumerate(wanted.items())
                    for peer in [peers[number % 3]]
                )
            )
            for put in found:
                assert isinstance(put, rpc.PutResponse), put
                revisions.append(put.header.revision)
            values |= wanted
            for peer in peers:
                got = await asyncio.gather(
                    *(peer.call("kv", "Range", rpc.RangeRequest(key=key)) for key in values)
                )
                for each, value in zip(got, values.values(), strict=True):
                    assert isinstance(each, rpc.RangeResponse), each
                    assert each.kvs[0].value == value
        assert sorted(revisions) == list(range(2, 2 + len(revisions)))
        for peer in peers:
            await peer.close()
