"""Whether a process that has lost its connection has ended."""

import asyncio

from quorate.testing.ports import free_ports
from quorate_name_server.remoting.door import refuses


async def test_who_does_not_listen_has_ended() -> None:
    [port] = free_ports(0)

    assert await refuses(f"127.0.0.1:{port}")


async def test_who_listens_lives() -> None:
    accepted: list[asyncio.StreamWriter] = []

    async def keep(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)

    async with await asyncio.start_server(keep, "127.0.0.1", 0) as server:
        [listening] = server.sockets
        assert not await refuses(f"127.0.0.1:{listening.getsockname()[1]}")
    accepted[0].close()


async def test_who_accepts_while_it_ends_has_ended() -> None:
    server: asyncio.Server

    async def end(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.close()
        writer.close()

    server = await asyncio.start_server(end, "127.0.0.1", 0)
    [listening] = server.sockets

    assert await refuses(f"127.0.0.1:{listening.getsockname()[1]}")


async def test_what_is_no_address_tells_nothing() -> None:
    assert not await refuses("nowhere")
