"""The reference of the domain cluster: its example runs, and its tables are complete."""

from __future__ import annotations

import ast
import asyncio
import re
from inspect import CO_COROUTINE
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.empty_pb2 import Empty
from quorate.builtin.cluster import plugin, validation
from quorate.builtin.cluster.coordinators import resource as coordinators
from quorate.builtin.cluster.families import BROKERS
from quorate.client import connect
from quorate.plugin import Rejected
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.testing.cluster import Cluster
from quorate.v1 import cluster_pb2, coordinator_pb2
from quorate.v1.cluster_pb2 import Broker, RegisterBroker, SendHeartbeat

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cluster.md").read_text(encoding="utf-8")
HOOKS = Plugin(name="cluster", distribution="quorate", version="0", module=plugin)


def test_the_example_runs() -> None:
    example, _ = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    node = MemoryNode(catalog=build([HOOKS]))
    names = {
        "node": node,
        "Broker": Broker,
        "Empty": Empty,
        "Rejected": Rejected,
        "RegisterBroker": RegisterBroker,
        "SendHeartbeat": SendHeartbeat,
    }
    code = compile(example, "cluster.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert code.co_flags & CO_COROUTINE

    asyncio.run(FunctionType(code, names)())

    [row] = node.rows(BROKERS).values()
    assert Broker.FromString(row).epoch == 2


@pytest.mark.ci
async def test_a_key_is_followed_from_broker_to_broker(tmp_path: Path) -> None:
    _, example = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(example, "cluster.md", "exec"), scope)
    with Cluster(tmp_path, nodes=1) as cluster:
        cluster.ready()
        async with asyncio.timeout(60), connect(cluster.endpoints) as q:
            ada = await q.brokers.register("ada", "north", roles=["worker"])
            followed = scope["follow"](q, "worker", "jobs")
            first = await anext(followed)
            assert first.broker == "ada"

            await q.brokers.unregister("ada", ada.epoch)
            vacant = await anext(followed)
            await q.brokers.register("ben", "north", roles=["worker"])
            second = await anext(followed)

            assert (vacant.broker, second.broker) == ("", "ben")
            assert first.epoch < vacant.epoch < second.epoch
            await followed.aclose()


@pytest.mark.parametrize(
    "service",
    [
        cluster_pb2.DESCRIPTOR.services_by_name["ClusterService"],
        coordinator_pb2.DESCRIPTOR.services_by_name["CoordinatorService"],
    ],
    ids=lambda each: each.name,
)
def test_the_table_has_every_call_with_its_request(service: ServiceDescriptor) -> None:
    [section] = [part for part in PAGE.split("\n## ") if part.startswith(f"`{service.full_name}`")]

    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .+ \|$", section, re.MULTILINE)

    assert sorted(told) == sorted((each.name, each.input_type.name) for each in service.methods)


def test_the_bounds_are_those_of_the_code() -> None:
    told = re.findall(r"^\| `([A-Z_]+)` \| ([\d,]+)[ |]", PAGE, re.MULTILINE)

    assert {name: int(value.replace(",", "")) for name, value in told} == {
        name: value
        for module in (validation, coordinators)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int)
    }
