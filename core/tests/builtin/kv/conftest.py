from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass
from quorate.builtin.kv import plugin
from quorate.builtin.kv.service import KV, KvServicer
from quorate.plugin.advanced import Answers
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.v1 import kv_pb2

METHODS = kv_pb2.DESCRIPTOR.services_by_name["KvService"].methods_by_name


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return build([Plugin(name="kv", distribution="quorate", version="0", module=plugin)])


@pytest.fixture
def node(catalog: Catalog) -> MemoryNode:
    return MemoryNode(catalog=catalog, shards={"metadata": 4}, at_ms=1_000)


class Called:
    """A servicer as who calls it through gRPC sees it: every answer is a message."""

    def __init__(self, servicer: KvServicer) -> None:
        self._servicer = servicer

    def __getattr__(self, method: str) -> Any:
        serve = getattr(self._servicer, method)
        answer = GetMessageClass(METHODS[method].output_type)

        def message(found: Any) -> Any:
            return answer.FromString(found) if isinstance(found, bytes) else found

        async def one(found: Awaitable[Any]) -> Any:
            return message(await found)

        async def each(found: AsyncIterator[Any]) -> AsyncIterator[Any]:
            async for response in found:
                yield message(response)

        def called(request: Any, context: Any) -> Any:
            found = serve(request, context)
            return each(found) if inspect.isasyncgen(found) else one(found)

        return called


@pytest.fixture
def service(node: MemoryNode) -> Called:
    servicer = node.servicer(KV.full_name)
    assert isinstance(servicer, KvServicer)
    return Called(servicer)


@pytest.fixture
def old_service(node: MemoryNode) -> Called:
    """Return a service whose replicas are 40 ms behind, for whom that is good enough."""
    return Called(KvServicer(OldNode(node)))  # type: ignore[arg-type]  # it is only read


class OldNode:
    """A node whose replicas are 40 ms behind."""

    def __init__(self, node: MemoryNode) -> None:
        self._node = node

    def readable(self, family: str) -> None:
        return None

    async def read(self, *asked: Any, consistency: str, **how: Any) -> Answers[Any]:
        found = await self._node.read(*asked, **how)
        return replace(found, age_ms=40 if consistency == "stale" else 0)
