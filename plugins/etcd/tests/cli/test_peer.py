"""A copy outlives the tokens of its servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate.testing.waiting import PATIENCE_S
from quorate_etcd.cli.peer import Peer
from quorate_etcd.wire import rpc_pb2 as rpc


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    """Return a server that asks for a user, and has forgotten its token."""
    [port] = free_ports(0)
    async with MemoryNode(["etcd"], config={"etcd": {"port": port}}):
        async with Peer(f"127.0.0.1:{port}") as first:
            await first.grant(7, 60)
            for method, request in (
                ("UserAdd", rpc.AuthUserAddRequest(name="root", password="a")),
                ("RoleAdd", rpc.AuthRoleAddRequest(name="root")),
                ("UserGrantRole", rpc.AuthUserGrantRoleRequest(user="root", role="root")),
                ("AuthEnable", rpc.AuthEnableRequest()),
            ):
                await first._call(getattr(first._auth, method), request)
        async with Peer(f"127.0.0.1:{port}", user="root:a") as second:
            second._metadata = (("token", "old"),)
            yield second


async def test_a_watch_begins_with_a_token_of_its_own(peer: Peer) -> None:
    async with asyncio.timeout(PATIENCE_S), aclosing(peer.changes(1)) as changes:
        assert (await anext(changes)).created


async def test_a_renewal_gets_another_token(peer: Peer) -> None:
    assert await peer.renew([7, 8]) == [8]
