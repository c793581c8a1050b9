"""The reference of metrics names what a node shows, all of it and nothing else."""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from pathlib import Path
from urllib.request import urlopen

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from prometheus_client.parser import text_string_to_metric_families
from quorate.config import load
from quorate.node.node import Node
from quorate.plugin import Stub
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing.ports import free_ports

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to" / "observe.md").read_text(encoding="utf-8")
#: Metrics of the page: type, labels and meaning of each.
TOLD = {
    name: (kind, re.findall(r"`(\w+)`", labels), meaning)
    for name, kind, labels, meaning in re.findall(
        r"^\| `(\w+)` \| (counter|gauge|histogram) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE
    )
}


def node_address(path: Path) -> str:
    return load(path, {}, {}).node.address


def scrape(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        return str(answer.read().decode())


@pytest.fixture
async def shown(tmp_path: Path) -> str:
    """What a node shows that serves the domains of core, and was called once."""
    port, http_port = free_ports(0, 1)
    path = tmp_path / "quorate.toml"
    path.write_text(
        f"""
        [node]
        port = {port}
        http_port = {http_port}
        dir = "{tmp_path / "data"}"
        """
    )
    catalog = build(
        [
            Plugin(
                name=name,
                distribution="quorate",
                version="0",
                module=import_module(f"quorate.builtin.{name}.plugin"),
            )
            for name in ("cluster", "kv", "resource", "schema", "tenant")
        ]
    )
    node = Node(load(path, {}, {}), catalog)
    try:
        async with asyncio.timeout(20):
            await node.start()
            await node.ready()
            async with grpc.aio.insecure_channel(node_address(path)) as channel:
                await Stub(channel, health_pb2.DESCRIPTOR.services_by_name["Health"]).Check(
                    health_pb2.HealthCheckRequest()
                )
            return await asyncio.to_thread(scrape, http_port)
    finally:
        await node.stop()


async def test_every_metric_is_told_and_every_one_that_is_told_is_there(shown: str) -> None:
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", shown, re.MULTILINE))

    assert {name: kind for name, (kind, _, _) in TOLD.items()} == types


async def test_each_is_told_with_its_meaning_and_labels(shown: str) -> None:
    helps = re.findall(r"^# HELP (\w+) (.+)$", shown, re.MULTILINE)
    assert {name: meaning for name, (_, _, meaning) in TOLD.items()} == {
        name: f"{text.rstrip('.')}." for name, text in helps
    }
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(shown):
        for sample in family.samples:
            name = next(each for each in (sample.name, family.name) if each in TOLD)
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})

    assert {name: set(TOLD[name][1]) for name in found} == found
    # The others need a follower, a controller, or a cache.
    assert len(found) >= 40


def test_what_the_how_to_names_is_in_the_reference() -> None:
    named = re.findall(r"quorate_[a-z_]+", HOW_TO)
    series = {
        f"{name}{suffix}"
        for name, (kind, _, _) in TOLD.items()
        for suffix in ("_bucket", "_sum", "_count")
        if kind == "histogram"
    }

    assert named
    assert set(named) - series - set(TOLD) == set()
