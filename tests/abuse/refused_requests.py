"""60 connections send requests of up to 15 MB that are all refused: their memory is given back."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import cycle
from typing import Final

import grpc.aio
from quorate.v1 import command_pb2, kv_pb2

from tests.abuse.attack import Attack, Broken, Target

CONNECTIONS: Final = 60
#: Of each connection.
CALLS: Final = 2
#: Of all connections: the attack has to hold them in memory as well.
AT_ONCE: Final = 8
#: So much more than before is what an allocator may keep.
ALLOWED_MB: Final = 128
#: How long the node may take to give it back.
PATIENCE_S: Final = 20

_OPTIONS: Final = (("grpc.max_send_message_length", -1),)


def requests() -> list[tuple[str, bytes]]:
    """Return what is refused by its size, by an item, and command by command."""
    megabyte = bytes(1 << 20)
    large = kv_pb2.PutPairs(
        pairs=[kv_pb2.PutPair(key=b"abuse/%d" % number, value=megabyte) for number in range(15)]
    )
    wrong = kv_pb2.PutPairs(pairs=[*large.pairs[:3], kv_pb2.PutPair(key=b"", value=b"no key")])
    unknown = command_pb2.ExecuteRequest(
        commands=[command_pb2.Command(type="abuse.v1.Nothing", payload=megabyte)] * 15
    )
    return [
        ("/quorate.v1.KvService/PutBatch", large.SerializeToString()),
        ("/quorate.v1.KvService/PutBatch", wrong.SerializeToString()),
        ("/quorate.v1.CommandService/Execute", unknown.SerializeToString()),
    ]


async def run(target: Target) -> str:
    """Send them, and wait until the node holds about as much as before."""
    before = await target.resident_mb()
    ended: Counter[str] = Counter()
    turn = asyncio.Semaphore(AT_ONCE)

    async def call(channel: grpc.aio.Channel, method: str, content: bytes) -> None:
        async with turn:
            try:
                await channel.unary_unary(method, None, None)(content, timeout=60)
            except grpc.aio.AioRpcError as error:
                ended[error.code().name] += 1
            else:
                ended["OK"] += 1

    channels = [target.channel(_OPTIONS) for _ in range(CONNECTIONS)]
    kinds = cycle(requests())
    await asyncio.gather(
        *(call(each, *next(kinds)) for each in channels for _ in range(CALLS)),
    )
    after = await target.resident_mb()
    await asyncio.gather(*(each.close(None) for each in channels))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (left := await target.resident_mb()) > before + ALLOWED_MB:
                await asyncio.sleep(0.5)
    except TimeoutError:
        raise Broken(
            f"the node held {before:.0f} MB, and {after:.0f} MB after {ended.total()} refused "
            f"requests; {left:.0f} MB were never given back"
        ) from None
    answers = ", ".join(f"{count} {code}" for code, count in sorted(ended.items()))
    return f"{before:.0f} MB before, {after:.0f} MB after {answers}, {left:.0f} MB once given back"


ATTACK: Final = Attack(run=run, nodes=1)
