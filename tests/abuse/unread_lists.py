"""Clients of ZooKeeper's door ask for long lists and read nothing, or make lists longer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from quorate_zookeeper.wire.codes import Op

from tests.abuse.attack import Attack, Broken, Target
from tests.support.zookeeper.peers import Peer, begin, create, multi, read

#: A list of about 10 MB.
_CHILDREN: Final = 5_000
_NAME_BYTES: Final = 2_000
_CLIENTS: Final = 50
#: A list of rights that is as long as it may be, and creates below the znode that has it.
_RIGHTS: Final = ((31, "world", "anyone"), (1, "x509", "CN=" + "x" * 900_000))
_CREATES: Final = 2_000
#: The node's bound, and as much again for what is on its way.
_MORE_MIB: Final = 350
_ANSWER_S: Final = 60.0


def _memory_mib(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        [held] = [line.split()[1] for line in status if line.startswith("VmRSS:")]
    return int(held) >> 10


async def _connected(door: str) -> Peer:
    host, _, port = door.rpartition(":")
    peer = Peer(*await asyncio.open_connection(host, port))
    await begin(peer, timeout_ms=40_000)
    return peer


async def _make_list(peer: Peer) -> None:
    await peer.ask(Op.CREATE, create("/abuse"))
    names = [f"{number:05d}".ljust(_NAME_BYTES, "x") for number in range(_CHILDREN)]
    for start in range(0, _CHILDREN, 400):
        part = [(Op.CREATE, create(f"/abuse/{name}")) for name in names[start : start + 400]]
        await peer.ask(Op.MULTI, multi(*part))


async def _publish(peer: Peer) -> None:
    """Create znodes whose events carry long lists of rights."""
    with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
        await peer.ask(Op.CREATE, create("/rights", entries=_RIGHTS[1:]))
        part = [(Op.CREATE, create(f"/rights/{number}")) for number in range(_CREATES)]
        await peer.ask(Op.MULTI, multi(*part))


async def run(target: Target) -> str:
    """Leave long lists unread, and ask the node for something else meanwhile."""
    door = target.doors["zookeeper"]
    peer = await _connected(door)
    await _make_list(peer)
    node = next(iter(target.cluster.nodes.values())) if target.cluster else None
    before_mib = _memory_mib(node.pid) if node else 0
    clients = [peer]
    try:
        clients.append(await _connected(door))
        await _publish(clients[-1])
        for _ in range(_CLIENTS):
            # Nothing is read ahead of who asks.
            clients.append(await _connected(door))
            clients[-1].writer.transport.pause_reading()  # type: ignore[attr-defined]
            clients[-1].send(Op.GET_CHILDREN, read("/abuse"))
        async with asyncio.timeout(_ANSWER_S):
            # Behind a list of its own, the others have been made.
            listed = await peer.children("/abuse")
            assert await peer.stat("/abuse") is not None
    except TimeoutError:
        raise Broken(f"another client is not answered in {_ANSWER_S:g} s") from None
    finally:
        after_mib = _memory_mib(node.pid) if node else 0
        for each in clients:
            each.writer.transport.abort()
    if after_mib - before_mib > _MORE_MIB:
        raise Broken(f"{_CLIENTS} clients that read nothing cost {after_mib - before_mib:,} MiB")
    if len(listed) != _CHILDREN:
        raise Broken(f"another client is told {len(listed):,} of {_CHILDREN:,} children")
    return f"{_CLIENTS} clients that read nothing cost {after_mib - before_mib:,} MiB"


ATTACK = Attack(run=run, nodes=1, plugins=["zookeeper"], doors={"zookeeper": "port"})
