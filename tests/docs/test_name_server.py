"""The pages on the plugin name_server: examples run, and tables are those of the code."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.plugin import ColumnFamily, Resource
from quorate.testing.cluster import Cluster
from quorate.testing.installed import declarations_of
from quorate_name_server import plugin
from quorate_name_server.cli.name_server import name_server
from quorate_name_server.client import NameServer, SyncNameServer

from tests.support.pages import leaves, options_of, told_below

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference" / "name-server.md").read_text(encoding="utf-8")
MOVE = (ROOT / "docs" / "how-to" / "move-from-rocketmq.md").read_text(encoding="utf-8")
SOURCES = ROOT / "plugins" / "name_server" / "src" / "quorate_name_server"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, nodes=1, plugins=["name_server"]) as cluster:
        yield cluster.ready()


async def test_the_example_looks_a_route_up(cluster: Cluster) -> None:
    [block] = re.findall(r"^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(block, "name-server.md", "exec"), scope)

    async with asyncio.timeout(60):
        assert await scope["main"](cluster.endpoints) == (4, None)


def test_the_families_are_those_that_are_told() -> None:
    families = {
        (family.row.DESCRIPTOR.name, family.name)
        for family in declarations_of(plugin, ColumnFamily)
        if family.row is not None
    } | {(each.row.DESCRIPTOR.name, each.family) for each in declarations_of(plugin, Resource)}

    assert set(re.findall(r"^\| `(\w+)`: .+ \| `([\w.]+)` \|$", TEXT, re.MULTILINE)) == families


def test_every_reason_of_the_code_is_told() -> None:
    sources = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")]
    given = {code for text in sources for code in re.findall(r'Rejected\(\s*"([A-Z_]+)"', text)}
    named = {
        code for text in sources for code in re.findall(r'^([A-Z_]+): Final = "\1"$', text, re.M)
    }
    _, _, table = TEXT.partition("## Reasons")
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", table, re.MULTILINE))

    assert told == given | named | {"INVALID_ARGUMENT"}


def test_the_client_has_what_is_told() -> None:
    _, _, section = TEXT.partition("## The client")
    table, _, _ = section.partition("## The command line")
    told = [
        method
        for methods in re.findall(r"^\| \w+ \| (`.+`) \|$", table, re.MULTILINE)
        for method in re.findall(r"`(\w+)`", methods)
    ]

    assert sorted(told) == sorted(public(NameServer)) == sorted(public(SyncNameServer))


def public(kind: type) -> set[str]:
    """Return the methods of the helper, or of its twin."""
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_command_line_has_what_is_told() -> None:
    own = {words: options_of(each) for words, each in leaves(name_server)}
    derived = ("kv-config", "replica-set")

    assert dict(told_below("name-server", TEXT)) == {
        **{words: own[words] for words in own if words.partition(" ")[0] not in derived},
        # The page of its own tells them.
        "import": {"--store"},
    }
    told_options = set(re.findall(r"(?<!-)--[a-z][\w-]*", MOVE))
    assert told_options <= own["import"]
