"""The pages on the plugin storage_engine: examples run, and tables are those of the code."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.plugin import Resource
from quorate.testing.cluster import Cluster
from quorate.testing.installed import declarations_of
from quorate.v1 import cluster_pb2
from quorate_storage_engine import plugin
from quorate_storage_engine.cli import engine as command
from quorate_storage_engine.client import Engines, SyncEngines
from quorate_storage_engine.v1 import rows_pb2, service_pb2, storage_node_pb2

from tests.support.pages import leaves, options_of, told_below

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "storage-engine.md"
ROCKETMQ = ROOT / "docs" / "explanation" / "storage-engine-and-rocketmq.md"
TEXT = PAGE.read_text(encoding="utf-8")
SOURCES = ROOT / "plugins" / "storage_engine" / "src" / "quorate_storage_engine"
#: Refusals of what controllers saw too late: no client meets them.
INTERNAL = {"LEADER_LIVES", "FAILED_PRECONDITION"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, nodes=1, plugins=["storage_engine"]) as cluster:
        yield cluster.ready()


def example(page: Path) -> dict[str, Any]:
    """Run the block of Python of a page, and return what it defines."""
    text = page.read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(block, str(page), "exec"), scope)
    return scope


async def test_the_example_places_a_shard(cluster: Cluster) -> None:
    async with asyncio.timeout(60):
        placed = await example(PAGE)["main"](cluster.endpoints)

    assert placed == (["east", "north", "south"], True)


async def test_a_lost_master_is_replaced_as_the_page_tells(cluster: Cluster) -> None:
    async with asyncio.timeout(60):
        told = await example(ROCKETMQ)["fail_over"](cluster.endpoints)

    assert told == (True, 2, True, "NOT_LEADER")


def test_the_families_and_services_are_those_that_are_told() -> None:
    rows = {
        (resource.row.DESCRIPTOR.name, resource.family)
        for resource in declarations_of(plugin, Resource)
    }

    assert set(re.findall(r"^\| `(\w+)`: .+ \| `([\w.]+)` \|$", TEXT, re.MULTILINE)) == rows
    told = set(re.findall(r"`(\w+Service)`", TEXT))
    assert told == {"EngineService", "StorageNodeService"}
    assert told == {
        *service_pb2.DESCRIPTOR.services_by_name,
        *storage_node_pb2.DESCRIPTOR.services_by_name,
    }


def test_every_reason_of_the_code_is_told() -> None:
    given = {
        code
        for source in SOURCES.rglob("*.py")
        for code in re.findall(r'Rejected\(\s*"([A-Z_]+)"', source.read_text(encoding="utf-8"))
    }
    _, _, table = TEXT.partition("## Reasons")
    told = {
        code
        for row in re.findall(r"^\| (`[A-Z_`, ]+`) \|", table, re.MULTILINE)
        for code in re.findall(r"[A-Z_]+", row)
    }

    assert told == given - INTERNAL | {"INVALID_ARGUMENT"}


def test_the_client_has_what_is_told() -> None:
    _, _, section = TEXT.partition("## The client")
    table, _, _ = section.partition("## The command line")
    told = [
        method
        for methods in re.findall(r"^\| \w+ \| (`.+`) \|$", table, re.MULTILINE)
        for method in re.findall(r"`(\w+)`", methods)
    ]

    assert sorted(told) == sorted(public(Engines)) == sorted(public(SyncEngines))


def public(kind: type) -> set[str]:
    """Return the methods of the helper, or of its twin."""
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_command_line_has_what_is_told() -> None:
    assert told_below("engine", TEXT) == {
        words: options_of(each) for words, each in leaves(command)
    }


def test_what_replaces_rocketmqs_calls_is_there() -> None:
    text = ROCKETMQ.read_text(encoding="utf-8")
    _, _, section = text.partition("## What is done how")
    table, _, _ = section.partition("\n\nTwo things")
    told = {
        name
        for cell in re.findall(r"^\| [^|`]+ \| ([^|]*`[^|]+) \|", table, re.MULTILINE)
        for name in re.findall(r"`([A-Z]\w+)`", cell)
    }
    [service] = service_pb2.DESCRIPTOR.services_by_name.values()
    brokers = {"RegisterBroker", "SendHeartbeat"}

    assert told - brokers <= set(service.methods_by_name)
    assert told & brokers == brokers <= set(cluster_pb2.DESCRIPTOR.message_types_by_name)
    assert {"UpdateSegmentIsr", "ForceLeader", "DecommissionEngines"} <= told
    fields = {field.name for field in rows_pb2.Segment.DESCRIPTOR.fields}
    assert {"leader", "isr", "leader_epoch", "segment_epoch"} <= fields
    _, _, called = text.partition("## What is called what")
    for field in ("leader", "isr", "leader_epoch", "segment_epoch"):
        assert re.search(rf"^\| .+ \| `{field}`", called, re.MULTILINE)
