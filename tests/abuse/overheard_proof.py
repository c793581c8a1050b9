"""Who overhears how one node proves itself to another repeats it, where nothing is encrypted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import tomlkit
from quorate.consensus.peer.streams import ask
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel
from quorate.http2.grpc.codes import Code
from quorate.testing.cluster import Cluster
from quorate.v1 import peer_pb2

from tests.abuse.attack import Attack, Broken, Target

SPEAKER, LISTENER = "node2", "node1"
_PREFACE = 24
_HEADER = 9

#: What went from the speaker to the listener, a connection each.
_overheard: list[bytearray] = []
#: Where the listener accepts, until the attack has ended.
_relays: list[socket.socket] = []


def prepare(cluster: Cluster) -> None:
    """Let what one node says to another pass by a listener."""
    host, _, port = cluster.nodes[LISTENER].address.rpartition(":")
    relay = socket.create_server(("127.0.0.1", 0))
    _relays.append(relay)
    _overheard.clear()
    threading.Thread(target=_accept, args=(relay, host, int(port)), daemon=True).start()
    file = tomlkit.parse(cluster.nodes[SPEAKER].file.read_text())
    file["cluster"]["initial_members"][LISTENER] = f"127.0.0.1:{relay.getsockname()[1]}"
    cluster.nodes[SPEAKER].file.write_text(tomlkit.dumps(file))


def _accept(relay: socket.socket, host: str, port: int) -> None:
    while True:
        try:
            near, _ = relay.accept()
        except OSError:
            relay.close()
            return
        try:
            far = socket.create_connection((host, port))
        except OSError:
            near.close()
            continue
        heard = bytearray()
        _overheard.append(heard)
        for source, sink, record in ((near, far, heard), (far, near, bytearray())):
            threading.Thread(target=_pass, args=(source, sink, record), daemon=True).start()


def _pass(source: socket.socket, sink: socket.socket, record: bytearray) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            record += content
            sink.sendall(content)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
    # The other one is the source of the other direction, which ends as well.
    source.close()


def introductions(heard: bytes) -> Iterator[bytes]:
    """Yield the introductions in the frames of an HTTP/2 connection."""
    place = _PREFACE
    while place + _HEADER <= len(heard):
        size, kind = int.from_bytes(heard[place : place + 3], "big"), heard[place + 3]
        content = heard[place + _HEADER : place + _HEADER + size]
        place += _HEADER + size
        # A message of gRPC begins with a flag and its length.
        with suppress(Exception):
            if kind == 0 and peer_pb2.PeerIntroduction.FromString(content[5:]).node == SPEAKER:
                yield bytes(content[5:])


async def run(target: Target) -> str:
    """Send each introduction that was overheard once more."""
    assert target.cluster is not None
    while _relays:
        _relays.pop().shutdown(socket.SHUT_RDWR)
    found = [each for heard in _overheard for each in introductions(bytes(heard))]
    assert found, "nothing was overheard"
    believed = 0
    async with Channel(target.cluster.nodes[LISTENER].address) as channel:
        for each in found:
            try:
                await ask(channel, each, 10)
            except CallError as refusal:
                if refusal.code() is Code.PERMISSION_DENIED:
                    continue
            believed += 1
    if believed:
        raise Broken(f"{believed} of {len(found)} introductions were believed a second time")
    return f"{len(found)} introductions that were overheard were refused when they came again"


ATTACK = Attack(run=run, prepare=prepare, own_cluster=True)
