"""A password that is no more is refused by every node, whichever has recognised it before."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    CreateUserRequest,
    UpdateUserRequest,
)

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {"timing": QUICK_ELECTIONS}
METHOD: Final = "/quorate_mqtt.v1.UserService/Authenticate"


@pytest.mark.ci
async def test_every_node_refuses_a_password_that_was_changed(tmp_path: Path) -> None:
    with Cluster(tmp_path, plugins=["mqtt"], settings=SETTINGS) as cluster:
        nodes = list(cluster.ready().nodes)
        async with asyncio.timeout(2 * PATIENCE_S), connect(cluster.endpoints) as q:
            users = Mqtt(q).users
            await q.execute(CreateTenant(name="home"), Tenant)
            ada: dict[str, Any] = {"tenant": "home", "name": "ada"}
            await users.create(CreateUserRequest(**ada, password=b"old"))
            for _ in range(2):
                assert await answers(q, nodes, b"old") == [True] * len(nodes)

            await users.update(UpdateUserRequest(**ada, password=b"new"))

            # Not within a second: at once.
            assert await answers(q, nodes, b"old") == [False] * len(nodes)
            assert await answers(q, nodes, b"new") == [True] * len(nodes)

            await users.delete("home", "ada")
            assert await answers(q, nodes, b"new") == [False] * len(nodes)


async def answers(q: AsyncClient, nodes: list[str], password: bytes) -> list[bool]:
    """Return what each node says to that password."""
    request = AuthenticateRequest(tenant="home", name="ada", password=password)
    said = await asyncio.gather(
        *(q.at(node).call(METHOD, request, AuthenticateResponse) for node in nodes)
    )
    return [each.authenticated for each in said]
