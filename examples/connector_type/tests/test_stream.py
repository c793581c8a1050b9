"""The type as a cluster uses it: offered, checked when a connector is made, and told to workers."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from quorate.plugin import Invalid
from quorate.testing import MemoryNode
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.api import SecretRef
from quorate_connector.v1.connectors_pb2 import (
    Connector,
    CreateConnectorRequest,
    Definition,
    ListTypesRequest,
)
from quorate_redis.stream import RedisStreamConfig

GOOD: Final[dict[str, object]] = {
    "topic": "orders",
    "address": "redis.example:6379",
    "stream": "orders",
    "password": "file:/run/secrets/redis",
}


@pytest.fixture
async def service() -> Any:
    node = MemoryNode(["cluster", "connector", "redis", "tenant"])
    await node.propose(CreateTenant(name="acme"), Tenant)
    return node.servicer("quorate_connector.v1.ConnectorService")


async def create(service: Any, **config: object) -> Connector:
    definition = Definition(type="redis_stream", config=json.dumps({**GOOD, **config}).encode())
    request = CreateConnectorRequest(tenant="acme", name="to-redis", definition=definition)
    created: Connector = await service.Create(request, None)
    return created


async def test_the_type_stands_beside_those_that_are_shipped(service: Any) -> None:
    listed = await service.ListTypes(ListTypesRequest(), None)

    names = [each.name for each in listed.types]
    assert {"file", "redis_stream"} <= set(names)


async def test_a_worker_reads_what_was_checked(service: Any) -> None:
    created = await create(service)

    config = RedisStreamConfig.model_validate_json(created.definition.config)
    assert (config.stream, config.longest) == ("orders", 0)
    assert isinstance(config.password, SecretRef)
    assert (config.password.source, config.password.place) == ("file", "/run/secrets/redis")


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"address": "redis.example"}, "address"),
        ({"stream": ""}, "stream"),
        ({"longest": -1}, "longest"),
        ({"password": "hunter2"}, "password"),
        ({"maxlen": 7}, "maxlen"),
    ],
)
async def test_a_wrong_field_is_named(service: Any, config: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        await create(service, **config)

    assert caught.value.field == f"definition.config.{field}"
    assert "hunter2" not in str(caught.value)
