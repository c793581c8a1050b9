"""One connection to ZooKeeper's door proves ever new identities, which once hung the node."""

from __future__ import annotations

import asyncio
from struct import Struct
from time import monotonic
from typing import Final

from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import AUTH_XID, Op

from tests.abuse.attack import Attack, Broken, Target
from tests.support.zookeeper.peers import Peer, begin

_PACKETS: Final = 7_000
#: Packets that are sent before their replies are read.
_TOGETHER: Final = 100
#: A node that answers nobody for this time hangs, on a busy machine too.
_HANGS_S: Final = 10.0
_WHOLE_S: Final = 300.0
#: The id, the zxid and the error of a reply.
_HEADER: Final = Struct(">iqi")


async def _word(host: str, port: str) -> float:
    """Return the time that the node takes for a command of four letters."""
    began_s = monotonic()
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"ruok")
    await reader.read()
    writer.transport.abort()
    return monotonic() - began_s


async def _prove(peer: Peer) -> int:
    """Return how many identities the door takes before it refuses one."""
    for taken in range(0, _PACKETS, _TOGETHER):
        for number in range(taken, taken + _TOGETHER):
            proof = jute.buffer(b"user%d:secret" % number)
            peer.send(Op.AUTH, jute.int32(0) + jute.text("digest") + proof, xid=AUTH_XID)
        for number in range(taken, taken + _TOGETHER):
            try:
                reply = await peer.frame()
            except (ConnectionError, asyncio.IncompleteReadError):
                # It was closed before its refusal was read.
                return number
            if jute.Record(reply).fields(_HEADER)[2]:
                return number
    return _PACKETS


async def run(target: Target) -> str:
    """Prove thousands of identities, and ask the node for something else meanwhile."""
    host, _, port = target.doors["zookeeper"].rpartition(":")
    longest_s = await _word(host, port)
    peer = Peer(*await asyncio.open_connection(host, port))
    await begin(peer)
    proving = asyncio.create_task(_prove(peer))
    try:
        async with asyncio.timeout(_WHOLE_S):
            while not proving.done():
                longest_s = max(longest_s, await _word(host, port))
        taken = await proving
    finally:
        peer.writer.transport.abort()
    if taken == _PACKETS:
        raise Broken(f"one connection holds {taken:,} identities; others waited {longest_s:.1f} s")
    if longest_s > _HANGS_S:
        raise Broken(f"others waited {longest_s:.1f} s for {taken:,} identities of one connection")
    return f"refused after {taken} identities; others waited {longest_s:.2f} s at most"


ATTACK = Attack(run=run, nodes=1, plugins=["zookeeper"], doors={"zookeeper": "port"})
