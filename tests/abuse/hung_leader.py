"""A leader that hangs (SIGSTOP) costs a call its whole deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from quorate.client import OutcomeUnknownError, QuorateError, connect
from quorate.v1.kv_pb2 import PutPair, PutPairReply

from tests.abuse.attack import Attack, Broken, Target

PUT: Final = "/quorate.v1.KvService/Put"
#: What each call may take, and when it must have ended.
DEADLINE_S: Final = 30.0
SOON_S: Final = 20.0
KEYS: Final = ("read", "once", "plain", "service")


async def run(target: Target) -> str:
    """Stop the leader while clients are connected, call, and let it go on."""
    assert target.cluster is not None
    async with (
        connect(target.endpoints, timeout_s=DEADLINE_S) as plain,
        connect(target.endpoints, timeout_s=DEADLINE_S, exactly_once=True) as once,
    ):
        for key in KEYS:
            # Both are connected with the leader of the shard that holds all of them.
            await plain.kv.put(f"hung/{key}", b"before")
            await once.kv.put(f"hung/{key}", b"before")
            await plain.kv.get(f"hung/{key}")
        shard = await plain.shard_of("metadata", b"hung")
        leader = await asyncio.to_thread(target.cluster.leader, shard)
        other = next(each for each in target.cluster.nodes.values() if each is not leader)
        # A client of another language calls any node, which forwards.
        put = PutPair(key=b"hung/forwarded", value=b"after")
        await plain.at(other.name).call(PUT, put, PutPairReply)
        leader.pause()
        try:
            read, written, forwarded, sent = await asyncio.gather(
                timed(plain.kv.get("hung/read")),
                timed(once.kv.put("hung/once", b"after")),
                timed(plain.at(other.name).call(PUT, put, PutPairReply)),
                timed(plain.kv.put("hung/plain", b"after")),
            )
            later = await timed(plain.kv.put("hung/later", b"after"))
        finally:
            leader.resume()
        for name, (took_s, error) in (("read", read), ("exactly-once write", written)):
            if error is not None:
                raise Broken(f"a {name} failed after {took_s:.1f} s: {error}")
        for _, error in (forwarded, sent):
            if error is not None and not isinstance(error, OutcomeUnknownError):
                raise Broken(f"a plain write without an answer ended with {error!r}")
        if later[1] is not None:
            raise Broken(f"a write after it failed after {later[0]:.1f} s: {later[1]}")
        slow = max(each[0] for each in (read, written, forwarded, sent, later))
        if slow > SOON_S:
            raise Broken(f"a call took {slow:.1f} s of {DEADLINE_S:.0f}")
        told = "was answered" if sent[1] is None else "said that its outcome is unknown"
        return (
            f"a read took {read[0]:.1f} s, an exactly-once write {written[0]:.1f} s, a plain "
            f"write {told} after {sent[0]:.1f} s (by a follower {forwarded[0]:.1f} s), and the "
            f"next one took {later[0]:.1f} s, of {DEADLINE_S:.0f} s each"
        )


async def timed(call: Awaitable[object]) -> tuple[float, QuorateError | None]:
    """Return how long a call took, and how it failed."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        await call
    except QuorateError as error:
        return loop.time() - began, error
    return loop.time() - began, None


ATTACK: Final = Attack(run=run, own_cluster=True)
