"""Whatever bytes come to a port of a node, it stays up, and strangers learn and change nothing.

Attackers have any bytes, the token of the cluster, which was stolen, and certificates that are no
node's: none, a client's, one of another authority, and one of a client with the name of a node.
The seed of a run is printed: `QUORATE_FUZZ_SEED=<seed>` repeats it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, Final

import grpc
import grpc.aio
import pytest
from quorate.apply import levels
from quorate.cli.authority import make_authority, sign
from quorate.client import AsyncClient, Tls, connect
from quorate.config import load
from quorate.config.sections import TlsSection
from quorate.consensus.messages import Heartbeat, Message, Peer, TimeoutNow
from quorate.consensus.peer.frames import encode_frame
from quorate.consensus.peer.proofs import token_hash
from quorate.consensus.peer.wire import Handshake, encode_handshake, encode_opening
from quorate.node.certificates import Certificates
from quorate.node.node import Node
from quorate.plugin.catalog import build
from quorate.plugin.discovery import installed
from quorate.rpc.channels import PEER_KEY, SERVICE
from quorate.testing.ports import free_ports
from quorate_name_server.remoting.frames import frame

from tests.support.one_node import run_node

SEED: Final = int(os.environ.get("QUORATE_FUZZ_SEED", SystemRandom().randrange(1 << 32)))
TOKEN: Final = "a token that was stolen"
VALUE: Final = b"what strangers must not read"
#: What a connection may take to say something, or to be closed.
ANSWER_S: Final = 0.05
#: Connections under way at a time.
TOGETHER: Final = 16
#: Handshakes that strangers have open at the port of the peers.
MOST_STRANGERS: Final = 128
OTHER: Final = Peer("n2", 2)


@dataclass(frozen=True)
class Site:
    """A node, who may talk to it, and what attackers have."""

    node: Node
    q: AsyncClient
    directory: Path
    address: str
    ports: dict[str, int]

    def identities(self) -> dict[str, Tls | None]:
        """Return what attackers show, by a word for it."""
        ca = self.directory / "ca.pem"
        return {
            "nobody": None,
            "no certificate": Tls(ca=ca),
            "a client": self._tls("clients", "client"),
            "a client with the name of a node": self._tls("", "named"),
            "another authority": self._tls("foreign", "n2"),
        }

    def _tls(self, authority: str, name: str) -> Tls:
        files = self.directory / authority
        return Tls(
            ca=self.directory / "ca.pem", cert=files / f"{name}.pem", key=files / f"{name}.key"
        )

    def handshake(self) -> Handshake:
        """Return what another node would show."""
        mine = self.node.network.handshake(self.node.me.node)
        return Handshake(OTHER, mine.cluster, token_hash(TOKEN), mine.config_index + 1, "n1")

    def state(self) -> dict[str, object]:
        """Return what strangers must not change: each shard's term, last entry and rows."""
        found: dict[str, object] = {}
        for shard in self.node.shards.all():
            digest = shard.data.digest()
            while not digest.step():
                pass
            found[str(shard.id)] = (shard.term, shard.replica.log.last, digest.hexdigest())
        return found

    @property
    def strangers(self) -> int:
        """How many connections have shown no handshake of a node."""
        return len(self.node.network._incoming.unknown)


@asynccontextmanager
async def sited(directory: Path) -> AsyncIterator[Site]:
    """Run a node that encrypts everything, and demands certificates."""
    for each in (directory, directory / "clients", directory / "foreign"):
        make_authority(each)
    sign(directory, "n1", ["n1", "127.0.0.1"])
    sign(directory, "named", ["n2"], serves=False)
    sign(directory / "foreign", "n2", ["n2"])
    for name in ("client", "owner"):
        sign(directory / "clients", name, [name], serves=False)
    numbers = free_ports(*range(5))
    ports = dict(zip(("grpc", "http", "peers", "remoting", "controller"), numbers, strict=True))
    path = directory / "n1.toml"
    path.write_text(
        f"""
        [node]
        name = "n1"
        port = {ports["grpc"]}
        http_port = {ports["http"]}
        peer_port = {ports["peers"]}
        dir = "{directory / "data"}"
        [cluster]
        token = "{TOKEN}"
        [tls]
        cert_file = "{directory / "n1.pem"}"
        key_file = "{directory / "n1.key"}"
        ca_file = "{directory / "ca.pem"}"
        client_ca_file = "{directory / "clients" / "ca.pem"}"
        require_client_cert = true
        [audit]
        file = "{directory / "audit.jsonl"}"
        [plugins]
        enabled = ["name_server"]
        [plugins.name_server]
        remoting_port = {ports["remoting"]}
        controller_port = {ports["controller"]}
        remoting_tls_only = true
        """
    )
    served = [each for each in installed() if each.built_in or each.name == "name_server"]
    catalog = build(served)
    settings = load(path, {each.name: catalog.sections.get(each.name) for each in served}, {})
    patched = pytest.MonkeyPatch()
    # Tests show the hash of the token, as nodes of the former release do during an upgrade.
    patched.setattr(levels, "CHALLENGED_FROM", levels.CORE_LEVEL + 1)
    files = directory / "clients"
    tls = Tls(ca=directory / "ca.pem", cert=files / "owner.pem", key=files / "owner.key")
    try:
        async with (
            run_node(settings, catalog) as node,
            connect(settings.node.address, tls=tls) as q,
        ):
            yield Site(node, q, directory, settings.node.address, ports)
    finally:
        patched.undo()


class Attacker:
    """Makes up what is sent, the same with the same seed."""

    def __init__(self, site: Site, rng: Random) -> None:
        self._site: Final = site
        self._rng: Final = rng
        self._identities: Final = site.identities()
        self._contexts: Final = {
            name: context_of(tls) for name, tls in self._identities.items() if tls is not None
        }
        #: How attacks have ended.
        self.ends: Final[Counter[str]] = Counter()

    async def attack(self) -> None:
        """Carry out one attack."""
        rng = self._rng
        if rng.random() < 0.2:
            await self._call()
        else:
            port = rng.choice(sorted(self._site.ports))
            await self._connect(port, rng.choice(sorted(self._identities)))

    async def _connect(self, port: str, identity: str) -> None:
        """Send bytes to a port, and look at what comes back."""
        content = self._content(port)
        context = self._contexts.get(identity)
        read = b""
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1",
                self._site.ports[port],
                ssl=context,
                server_hostname=None if context is None else "n1",
            )
        except OSError:
            self.ends[f"{identity} is not let in"] += 1
            return
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(ANSWER_S):
                    for piece in self._pieces(content):
                        writer.write(piece)
                        await asyncio.sleep(0)
                    while more := await reader.read(1 << 16):
                        read += more
            self.ends[f"{port} answers" if read else f"{port} says nothing"] += 1
        finally:
            writer.transport.abort()
        # Metrics are for everybody; rows are not.
        assert VALUE not in read, f"{identity} at {port}"

    async def _call(self) -> None:
        """Call what nodes call, with the token that was stolen."""
        rng = self._rng
        identity = rng.choice(sorted(self._identities))
        tls = self._identities[identity]
        method = rng.choice(SERVICE.methods)
        options = [("grpc.ssl_target_name_override", "n1")]
        channel = (
            grpc.aio.insecure_channel(self._site.address)
            if tls is None
            else grpc.aio.secure_channel(self._site.address, tls.credentials(), options)
        )
        content = b"" if rng.random() < 0.5 else rng.randbytes(rng.randint(1, 40))
        async with channel:
            shown = ((PEER_KEY, self._mutated(encode_handshake(self._site.handshake()), 0.3)),)
            call: Any = channel.stream_stream(f"/{SERVICE.full_name}/{method.name}", None, None)
            try:
                async for message in call(iter([content]), timeout=5.0, metadata=shown):
                    raise AssertionError(f"{identity} was answered {message!r} by {method.name}")
                raise AssertionError(f"{identity} was not refused by {method.name}")
            except grpc.aio.AioRpcError as error:
                self.ends[f"{identity}: {error.code().name}"] += 1

    def _content(self, port: str) -> bytes:
        rng = self._rng
        match port:
            case "peers":
                opening = encode_opening("control", encode_handshake(self._site.handshake()))
                me = self._site.node.me
                forged = (TimeoutNow(), Heartbeat(1 << 40, 1, 1 << 40))
                messages = [("metadata/0", Message(OTHER, me, 1_000, 9, each)) for each in forged]
                honest = opening + encode_frame(messages)
            case "grpc":
                honest = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9) + rng.randbytes(60)
            case "http":
                honest = b"GET /metrics?x=1 HTTP/1.1\r\nHost: n1\r\nContent-Length: 9\r\n\r\n"
            case _:
                honest = frame(b'{"code":106,"opaque":1,"extFields":{"topic":"T"}}', b"body")
        if rng.random() < 0.2:
            # What TLS begins with, sent where nothing of it is expected any more, or torn.
            honest = hello()
        return self._mutated(honest, 0.7)

    def _mutated(self, content: bytes, chance: float) -> bytes:
        """Change bytes, leave some out, repeat some, or leave it as it is."""
        rng = self._rng
        if not content or rng.random() >= chance:
            return content
        changed = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(changed))
            match rng.randrange(4):
                case 0:
                    changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
                case 1:
                    changed[at : at + rng.randint(1, 8)] = b""
                case 2:
                    changed[at:at] = rng.randbytes(rng.randint(1, 8))
                case _:
                    changed[at:at] = changed[at : at + rng.randint(1, 200)]
            if not changed:
                return b""
        return bytes(changed)

    def _pieces(self, content: bytes) -> list[bytes]:
        cut = self._rng.randint(0, len(content))
        return [each for each in (content[:cut], content[cut:]) if each]


def context_of(tls: Tls) -> ssl.SSLContext:
    """Return what a connection of an attacker is encrypted with."""
    context = ssl.create_default_context(cafile=str(tls.ca))
    if tls.cert is not None and tls.key is not None:
        context.load_cert_chain(tls.cert, tls.key)
    context.set_alpn_protocols(["h2"])
    return context


def hello() -> bytes:
    """Return the first bytes of a client of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    sent = ssl.MemoryBIO()
    stream = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="n1")
    with suppress(ssl.SSLWantReadError):
        stream.do_handshake()
    return sent.read()


@pytest.mark.parametrize(
    "attacks",
    [pytest.param(300, marks=pytest.mark.ci), pytest.param(10_000, marks=pytest.mark.full)],
)
@pytest.mark.timeout(3_600)
async def test_strangers_learn_and_change_nothing_at_any_port(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, attacks: int
) -> None:
    print(f"QUORATE_FUZZ_SEED={SEED}")
    async with sited(tmp_path) as site:
        await site.q.kv.put("secret", VALUE)
        before = site.state()
        attacker = Attacker(site, Random(SEED))
        for _ in range(0, attacks, TOGETHER):
            await asyncio.gather(*(attacker.attack() for _ in range(TOGETHER)))
            assert site.strangers <= MOST_STRANGERS
            found = await site.q.kv.get("secret")
            assert found is not None
            assert found.value == VALUE
        print(dict(attacker.ends))

        assert site.state() == before
        # The owner is still served, and no one else's writes are recorded.
        await site.q.kv.put("after", b"1")
        refused = site.node.network.refused
    records = [json.loads(each) for each in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(each["identity"], each["keys"]) for each in records if "keys" in each] == [
        ("owner", ["secret"]),
        ("owner", ["after"]),
    ]
    assert sum(refused.values()) > 0
    faults = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [each.getMessage() for each in faults if each.name.startswith("quorate")] == []


@pytest.mark.parametrize("tries", [2_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_whatever_is_shown_as_a_certificate_is_read_or_is_nobody_s(
    tmp_path: Path, tries: int
) -> None:
    make_authority(tmp_path)
    for name in ("n1", "n2"):
        sign(tmp_path, name, [name])
    sign(tmp_path, "client", ["n2"], serves=False)
    files = TlsSection(
        cert_file=tmp_path / "n1.pem", key_file=tmp_path / "n1.key", ca_file=tmp_path / "ca.pem"
    )
    certificates = Certificates(files, "n1")
    rng = Random(SEED)
    print(f"QUORATE_FUZZ_SEED={SEED}")
    der = ssl.PEM_cert_to_DER_cert((tmp_path / "client.pem").read_text())
    read = 0
    for _ in range(tries):
        changed = bytearray(der)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        read += bool(certificates.certified(bytes(changed)).names)
    assert 0 < read < tries
