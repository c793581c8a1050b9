from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

import grpc.aio
import pytest
from quorate.testing.ports import HeldPort, free_ports


def test_nobody_is_given_a_port_that_is_held() -> None:
    with ExitStack() as stack:
        held = {stack.enter_context(HeldPort()).number for _ in range(50)}
        given = {
            stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            for _ in range(500)
        }
        assert len(held) == 50
        assert not held & given


def test_free_ports_lie_at_their_distances_and_nobody_listens_on_any_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = free_ports(0, 1)
    assert second == first + 1
    other = free_ports(0)[0]
    with socket.create_server(("127.0.0.1", second)):
        drawn = iter([first, other])
        monkeypatch.setattr("quorate.testing.ports._random.choice", lambda _: next(drawn))
        assert free_ports(0, 1)[0] == other
        assert next(drawn, None) is None


async def test_servers_take_a_held_port_again_and_again() -> None:
    with HeldPort() as port:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port.number))
            server = grpc.aio.server()
            assert server.add_insecure_port(port.address) == port.number
            await server.start()
            socket.create_connection(("127.0.0.1", port.number)).close()
            await server.stop(None)
        for _ in range(2):
            plain = await asyncio.start_server(lambda _, writer: writer.close(), port=port.number)
            plain.close()
            await plain.wait_closed()
