"""The way to one node."""

from __future__ import annotations

import asyncio

import grpc.aio
import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.client.connections import CONNECT_S, Connection
from quorate.client.errors import ClosedError
from quorate.testing.waiting import PATIENCE_S

BUSY_S = CONNECT_S / 3


async def test_a_busy_node_may_take_a_while_to_accept_a_connection() -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while read := await reader.read(65_536):
            writer.write(read)
        writer.close()

    opened: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        await asyncio.sleep(BUSY_S)
        behind = await asyncio.open_connection("127.0.0.1", port)
        opened.append(behind[1])
        await asyncio.gather(copy(reader, behind[1]), copy(behind[0], writer))

    busy = await asyncio.start_server(accept, "127.0.0.1", 0)
    connection = Connection(f"127.0.0.1:{busy.sockets[0].getsockname()[1]}")
    try:
        assert await connection.stands(PATIENCE_S) > 0
    finally:
        await connection.close()
        busy.close()
        # Attempts that gave up are still waited for.
        for writer in opened:
            writer.transport.abort()
        await server.stop(None)


async def test_a_stream_that_begins_as_its_client_is_closed_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def stands(connection: Connection, timeout_s: float) -> float:
        await connection.close()
        return timeout_s

    monkeypatch.setattr(Connection, "stands", stands)
    with pytest.raises(ClosedError):
        await anext(Connection("127.0.0.1:1").stream("/a.B/C", Empty(), Empty, None))
