"""Callers of the HTTP port who say nothing, or a byte now and then, once ended every probe."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from tests.abuse.attack import Attack, Broken, Target

_SILENT: Final = 60
_SLOW: Final = 40
#: The pause between two bytes of a slow caller, and how long one may be served at most. A request
#: has 5 s; the rest is for a busy machine.
_PAUSE_S: Final = 1.0
_SERVED_S: Final = 30.0
_PROBES: Final = 20
_ANSWER_S: Final = 10.0
_REQUEST: Final = b"GET /livez HTTP/1.0\r\nX-Filler: " + bytes(range(97, 123)) * 10

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _probe(host: str, port: str, path: str) -> str:
    """Return the first line of an answer."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        async with asyncio.timeout(_ANSWER_S):
            return (await reader.readline()).decode().strip()
    finally:
        writer.transport.abort()


async def _trickle(writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        for byte in _REQUEST:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(_PAUSE_S)


async def _is_ended(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        await reader.read()


async def run(target: Target) -> str:
    """Hold silent and slow connections, and probe the node beside them."""
    host, _, port = target.http.rpartition(":")
    held: list[Connection] = []
    slow: list[asyncio.Task[None]] = []
    try:
        for _ in range(_SILENT):
            held.append(await asyncio.open_connection(host, port))
        for _ in range(_SLOW):
            held.append(await asyncio.open_connection(host, port))
            slow.append(asyncio.create_task(_trickle(held[-1][1])))
        for number in range(_PROBES):
            path = ("/livez", "/readyz")[number % 2]
            try:
                answer = await _probe(host, port, path)
            except (OSError, TimeoutError) as error:
                answer = f"{type(error).__name__}"
            if " 200 " not in answer:
                raise Broken(
                    f"{path} answers {answer or 'nothing'!r} beside {_SILENT} silent and {_SLOW} "
                    "slow callers"
                )
        try:
            async with asyncio.timeout(_SERVED_S):
                await asyncio.gather(*(_is_ended(reader) for reader, _ in held))
        except TimeoutError:
            raise Broken(f"a caller who says nothing is served for {_SERVED_S:g} s") from None
    finally:
        for each in slow:
            each.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        for _, writer in held:
            writer.transport.abort()
    return f"{_PROBES} probes were answered beside {len(held)} silent and slow callers, all ended"


ATTACK = Attack(run=run, nodes=1)
