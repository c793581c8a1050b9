"""A node that gives spans to a collector, or is to and cannot."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.client import AsyncClient
from quorate.config import load
from quorate.node.recordings import LAST_SPANS_S
from quorate.plugin import Command
from quorate.rpc.server import ServingRefusedError

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes


@pytest.fixture
def silent() -> Iterator[int]:
    """Return the port of a collector that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


async def written(path: Path, command: Command[StringValue], count: int) -> None:
    address = load(path, {}, {}).node.address
    async with AsyncClient(address, vocabulary={StringValue: command}) as q:
        for number in range(count):
            text = StringValue(value=f"a{number}=1")
            assert await q.execute(text, StringValue) == StringValue(value=f"a{number} is 1")


@pytest.mark.parametrize("there", [True, False])
async def test_a_broken_collector_harms_nothing(nodes: Nodes, silent: int, there: bool) -> None:
    port = silent if there else 1
    more = f'[traces]\nendpoint = "http://127.0.0.1:{port}"\nratio = 1.0\nwaiting_spans = 8'
    [path] = nodes.files(1, more=more)
    catalog = nodes.catalog()
    async with nodes.started(path) as [node]:
        await written(path, catalog.commands[StringValue.DESCRIPTOR.full_name], 30)

        def spans(outcome: str) -> float:
            return (
                node.metrics.get_sample_value("quorate_traces_spans_total", {"outcome": outcome})
                or 0.0
            )

        # Each write has a span of the call, of its entry, and of four stages.
        async with asyncio.timeout(20):
            while spans("dropped") + spans("failed") < 30 * 6 - 8:
                await asyncio.sleep(0)
        assert spans("sent") == 0
        loop = asyncio.get_running_loop()
        began = loop.time()
        await nodes.end(node)
        assert loop.time() - began < LAST_SPANS_S + 15


async def test_without_a_collector_nothing_is_traced(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node]:
        sample = node.metrics.get_sample_value("quorate_traces_spans_total", {"outcome": "sent"})
        assert sample is None


async def test_without_the_extra_a_node_says_what_to_install(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1, more='[traces]\nendpoint = "http://127.0.0.1:4317"')
    for name in ("quorate.observe.collector", "quorate.observe.traces"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", False)
    with pytest.raises(ServingRefusedError, match=r"pip install 'quorate\[traces\]'"):
        nodes.new(path)
