"""Connections that never call, more than the node may open files, from many addresses."""

from __future__ import annotations

import asyncio
import resource
from contextlib import suppress
from typing import Final

from quorate.client import QuorateError, connect

from tests.abuse.attack import Attack, Broken, Target

#: Files that the node may open, at first and at most.
FILES: Final = 256, 1_024
CONNECTIONS: Final = 2_000
ADDRESSES: Final = 50
WRITES: Final = 50
#: For all writes: a node that holds idle connections is no slower.
PATIENCE_S: Final = 30.0
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"


async def run(target: Target) -> str:
    """Restart a node with few files, hold connections to it, and write beside them."""
    assert target.cluster is not None
    [node] = target.cluster.nodes.values()
    node.stop()
    node.start()
    # Before it looks at them: the interpreter starts first.
    resource.prlimit(node.pid, resource.RLIMIT_NOFILE, FILES)
    await asyncio.to_thread(node.ready)
    files = await target.metric("process_max_fds")
    host, _, port = node.address.rpartition(":")
    held: list[asyncio.StreamWriter] = []
    written = 0
    try:
        for number in range(CONNECTIONS):
            source = f"127.0.1.{1 + number % ADDRESSES}"
            with suppress(OSError):
                _, writer = await asyncio.open_connection(host, port, local_addr=(source, 0))
                writer.write(_PREFACE)
                held.append(writer)
        with suppress(TimeoutError, QuorateError):
            async with (
                asyncio.timeout(PATIENCE_S),
                connect(target.endpoints, tls=target.tls) as client,
            ):
                while written < WRITES:
                    await client.kv.put(f"abuse/{written}", bytes(10_000))
                    written += 1
        if not node.runs:
            raise Broken(f"{len(held)} idle connections ended the node: {node.said[-300:]}")
        if written < WRITES:
            raise Broken(f"only {written} writes passed beside {len(held)} idle connections")
        opened = await target.metric("process_open_fds")
    finally:
        for writer in held:
            writer.transport.abort()
    return (
        f"{WRITES} of {WRITES} writes beside {CONNECTIONS} idle connections; {opened:.0f} of "
        f"{files:.0f} files are open"
    )


ATTACK: Final = Attack(run=run, nodes=1, own_cluster=True)
