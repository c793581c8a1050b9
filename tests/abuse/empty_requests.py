"""Requests of no bytes at all once ended with a KeyError where bytes in flight are bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Final

import grpc.aio

from tests.abuse.attack import Attack, Broken, Target

#: By method, and how its empty requests end.
METHODS: Final = {
    "/quorate.v1.KvService/List": "OK",
    "/quorate.v1.KvService/StreamList": "OK",
    "/quorate.v1.KvService/Get": "INVALID_ARGUMENT",
    "/quorate.v1.CommandService/Execute": "OK",
}
#: Of each method.
CALLS: Final = 60


async def run(target: Target) -> str:
    """Call methods with nothing, many times at once."""
    wrong: Counter[str] = Counter()
    async with target.channel() as channel:

        async def call(method: str, expected: str) -> None:
            ended = channel.unary_stream(method, None, None)(b"", timeout=30)
            with suppress(grpc.aio.AioRpcError):
                async for _ in ended:
                    pass
            code, details = (await ended.code()).name, await ended.details()
            if code != expected:
                wrong[f"{method}: {code} {details}"] += 1

        await asyncio.gather(*(call(*each) for each in METHODS.items() for _ in range(CALLS)))
    if wrong:
        [(most, count), *_] = wrong.most_common(1)
        raise Broken(f"{wrong.total()} empty requests failed, {count} with {most}")
    return f"{CALLS * len(METHODS)} empty requests were answered or refused as they should be"


ATTACK: Final = Attack(run=run, nodes=1, settings={"limits": {"inflight_bytes": 64 << 20}})
