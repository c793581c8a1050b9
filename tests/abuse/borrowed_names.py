"""Certificates and JWTs name root, a node or another reserved name, at every door."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import time
from contextlib import suppress
from pathlib import Path

import jwt
import tomlkit
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from quorate.builtin.auth.plugin import BINDING, USER
from quorate.cli.authority import sign
from quorate.client import Client, RejectedError, Tls
from quorate.testing.cluster import Cluster
from quorate.v1 import auth_pb2 as pb
from quorate_zookeeper.wire import jute

from tests.abuse.attack import Attack, Broken, Target
from tests.support.rocketmq.peers import Peer

BORROWED = ("root", "ROOT", "node1", "node:node1")
#: A user with rights: every door lets it in, so that a refusal is one of the name.
HONEST = "ada"
PUT_CONFIG = 100


def prepare(cluster: Cluster) -> None:
    """Let the nodes take JWTs, and serve ZooKeeper's clients by their certificates."""
    directory = cluster.certificates
    key = ec.generate_private_key(ec.SECP256R1())
    (directory / "issuer.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (directory / "issuer.pem").write_bytes(public)
    (directory / "root-token").write_text("")
    for name, node in cluster.nodes.items():
        file = tomlkit.parse(node.file.read_text())
        file["auth"] = {
            "root_token_file": str(directory / "root-token"),
            "issuer_keys_file": str(directory / "issuer.pem"),
            "issuer": "abuse",
            "audience": "quorate",
        }
        file["plugins"]["zookeeper"].update(
            cert_file=str(directory / f"{name}.pem"),
            key_file=str(directory / f"{name}.key"),
            client_ca_file=str(directory / "ca.pem"),
        )
        node.file.write_text(tomlkit.dumps(file))


def certified(directory: Path, name: str) -> Tls:
    """Return a certificate of a client with this name, signed by the cluster's authority."""
    stolen = directory / "clients"
    stolen.mkdir(exist_ok=True)
    for file in ("ca.pem", "ca.key"):
        shutil.copy(directory / file, stolen / file)
    sign(stolen, name, [name], serves=False)
    return Tls(ca=stolen / "ca.pem", cert=stolen / f"{name}.pem", key=stolen / f"{name}.key")


def issued(directory: Path, name: str) -> str:
    """Return a JWT of the issuer for this name."""
    claims = {"sub": name, "iss": "abuse", "aud": "quorate", "exp": time.time() + 600}
    return jwt.encode(claims, (directory / "issuer.key").read_bytes(), algorithm="ES256")


def by_grpc(target: Target, tls: Tls, token: str | None = None) -> bool:
    """Return whether a caller is taken for somebody: it writes, or only lacks the right to."""
    with Client(target.endpoints, tls=tls, token=token) as client:
        try:
            client.records(USER).get(HONEST)
            client.kv.put("abuse/borrowed", b"1")
        except RejectedError as refusal:
            return refusal.code != "UNAUTHENTICATED"
    return True


def context(tls: Tls) -> ssl.SSLContext:
    """Return what a client of a door connects with."""
    made = ssl.create_default_context(cafile=str(tls.ca))
    made.load_cert_chain(str(tls.cert), str(tls.key))
    return made


async def by_zookeeper(address: str, tls: Tls) -> bool:
    """Return whether ZooKeeper's door opens a session."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context(tls))
    opening = jute.int32(0) + bytes(8) + jute.int32(9_000) + bytes(8) + jute.buffer(bytes(16))
    writer.write(jute.buffer(opening))
    found = b""
    with suppress(OSError, TimeoutError):
        found = await asyncio.wait_for(reader.read(4), 10)
    writer.transport.abort()
    return bool(found)


async def by_rocketmq(address: str, tls: Tls) -> bool:
    """Return whether RocketMQ's door stores a configuration."""
    host, _, port = address.rpartition(":")
    peer = Peer(*await asyncio.open_connection(host, int(port), ssl=context(tls)))
    answer = await peer.ask(PUT_CONFIG, namespace="abuse", key="borrowed", value="1")
    peer.writer.transport.abort()
    return answer.code == 0


async def run(target: Target) -> str:
    """Try each name by each proof at each door."""
    assert target.tls is not None
    assert target.certificates is not None
    assert target.cluster is not None
    directory = target.certificates
    target.cluster.ask_callers()
    with Client(target.endpoints, tls=target.tls) as admin:
        admin.records(USER).create(pb.User(name=HONEST))
        admin.records(BINDING).put(pb.Binding(user=HONEST, role="admin"))
    succeeded = []
    for name in (HONEST, *BORROWED):
        shown = certified(directory, name)
        token = issued(directory, name)
        opened = {
            "gRPC by certificate": await asyncio.to_thread(by_grpc, target, shown),
            "gRPC by JWT": await asyncio.to_thread(by_grpc, target, target.tls, token),
            "ZooKeeper's door": await by_zookeeper(target.doors["zookeeper"], shown),
            "RocketMQ's door": await by_rocketmq(target.doors["name_server"], shown),
        }
        if name == HONEST:
            assert all(opened.values()), opened
        else:
            succeeded += [f"{name} at {door}" for door, it_is in opened.items() if it_is]
    if succeeded:
        raise Broken(f"{len(succeeded)} borrowed names were let in: {', '.join(succeeded)}")
    return f"{len(BORROWED)} names, each by certificate and JWT at four doors, were all refused"


ATTACK = Attack(
    run=run,
    nodes=1,
    plugins=("name_server", "zookeeper"),
    tls=True,
    doors={"name_server": "remoting_port", "zookeeper": "tls_port"},
    prepare=prepare,
    own_cluster=True,
)
