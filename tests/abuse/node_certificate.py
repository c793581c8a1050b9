"""The certificate of a node, without the cluster's token, is used as a client's and as a node's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import grpc
import tomlkit
from quorate.builtin.auth.plugin import USER
from quorate.client import Client, RejectedError, Tls
from quorate.consensus.messages import Peer
from quorate.consensus.peer.proofs import token_hash
from quorate.consensus.peer.wire import Handshake, encode_handshake
from quorate.plugin.advanced import Stub
from quorate.rpc.channels import PEER_KEY, SERVICE
from quorate.testing.cluster import Cluster
from quorate.v1 import admin_pb2, node_pb2

from tests.abuse.attack import Attack, Broken, Target

STOLEN = "node2"
AUDIT = "audit.jsonl"


def prepare(cluster: Cluster) -> None:
    """Let every node keep an audit log."""
    for name, node in cluster.nodes.items():
        file = tomlkit.parse(node.file.read_text())
        file["audit"] = {"file": str(cluster.certificates / f"{name}.{AUDIT}")}
        node.file.write_text(tomlkit.dumps(file))


def by_client(endpoint: str, tls: Tls) -> list[str]:
    """Return what the certificate alone is let do at a node."""
    done: list[str] = []
    with Client(endpoint, tls=tls) as client:
        acts: dict[str, Callable[[], object]] = {
            "reads users": lambda: client.records(USER).get("client"),
            "writes a pair": lambda: client.kv.put("abuse/stolen", b"1"),
            "drains a node": lambda: client.call(
                "/quorate.v1.AdminService/DrainNode",
                admin_pb2.DrainNodeRequest(node="node3", check_only=True),
                admin_pb2.DrainNodeResponse,
            ),
        }
        for act, do in acts.items():
            try:
                do()
            except RejectedError as refusal:
                if refusal.code == "UNAUTHENTICATED":
                    continue
            done.append(act)
    return done


async def by_node(endpoint: str, target: str, tls: Tls, cluster: bytes) -> bool:
    """Return whether a handshake with a guessed token is taken for a node's."""
    content = [Path(str(each)).read_bytes() for each in (tls.ca, tls.key, tls.cert)]
    guessed = Handshake(Peer(STOLEN, 1), cluster, token_hash("guessed"), 1 << 40, target)
    options = (("grpc.ssl_target_name_override", target),)
    async with grpc.aio.secure_channel(
        endpoint, grpc.ssl_channel_credentials(*content), options
    ) as channel:
        try:
            await Stub(channel, SERVICE).Clock(
                node_pb2.ClockRequest(),
                metadata=((PEER_KEY, encode_handshake(guessed)),),
                timeout=10,
            )
        except grpc.aio.AioRpcError as refusal:
            return refusal.code() is not grpc.StatusCode.PERMISSION_DENIED
    return True


async def run(target: Target) -> str:
    """Use it at every node, in both ways."""
    cluster = target.cluster
    assert cluster is not None
    assert target.certificates is not None
    directory = target.certificates
    stolen = Tls(
        ca=directory / "ca.pem",
        cert=directory / f"{STOLEN}.pem",
        key=directory / f"{STOLEN}.key",
    )
    await asyncio.to_thread(cluster.ask_callers)
    succeeded = []
    for name, node in cluster.nodes.items():
        done = await asyncio.to_thread(by_client, node.address, stolen)
        if await by_node(node.address, name, stolen, b"guessed"):
            done.append("passes as a node")
        succeeded += [f"{each} at {name}" for each in done]
    nameless = [
        record
        for name in cluster.nodes
        for line in (directory / f"{name}.{AUDIT}").read_text().splitlines()
        if not (record := json.loads(line))["identity"] and record["outcome"] == "OK"
    ]
    if succeeded or nameless:
        raise Broken(
            f"with a node's certificate alone a stranger {', '.join(succeeded)};"
            f" {len(nameless)} records of the audit log name nobody"
        )
    return "12 calls with a node's certificate alone were refused, and each audit record has a name"


ATTACK = Attack(run=run, tls=True, prepare=prepare, own_cluster=True)
