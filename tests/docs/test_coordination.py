"""The pages on locks and leases: their examples run, and their tables are those of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import click
import pytest
from quorate.apply import fences
from quorate.plugin import Resource
from quorate.testing.cluster import Cluster
from quorate.testing.installed import declarations_of
from quorate_coordination import cli, families, holding, locks, plugin

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = Path(__file__).parents[2] / "plugins" / "coordination" / "src"
HOW_TO = (DOCS / "how-to" / "hold-a-lock.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "coordination.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path: Path = tmp_path_factory.mktemp("coordination")
    with Cluster(path, nodes=1, plugins=["coordination"]) as cluster:
        yield cluster.ready()


@pytest.mark.parametrize(
    ("example", "result"),
    [
        ("work_alone", b"2026-11-23"),
        ("lead", (b"10.0.0.1:7400", b"10.0.0.1:7401")),
        ("be_there", ([b"brokers/1"], [])),
        ("count", (1, b"hello")),
        ("work_off", 0),
    ],
)
def test_the_examples_do_what_they_say(cluster: Cluster, example: str, result: object) -> None:
    import asyncio

    blocks = re.findall(r"^```python\n(.+?)^```$", HOW_TO, re.MULTILINE | re.DOTALL)
    [block] = [each for each in blocks if f"def {example}(" in each]
    scope: dict[str, Any] = {}
    exec(compile(block, "hold-a-lock.md", "exec"), scope)
    run = scope[example]

    found = run(cluster.endpoints)
    assert (asyncio.run(found) if iscoroutinefunction(run) else found) == result


def test_the_families_are_those_that_are_told() -> None:
    families = {
        (each.row.DESCRIPTOR.name, each.family) for each in declarations_of(plugin, Resource)
    }

    assert set(re.findall(r"^\| `(\w+)`: .+ \| `([\w.]+)` \|$", REFERENCE, re.M)) == families


def test_every_reason_of_the_code_is_told() -> None:
    sources = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")]
    given = {code for text in sources for code in re.findall(r'Rejected\(\s*"([A-Z_]+)"', text)}
    _, _, table = REFERENCE.partition("## Reasons")
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", table, re.MULTILINE))

    assert told == given | {"FENCED", "OUT_OF_RANGE", "ALREADY_EXISTS", "INVALID_ARGUMENT"}


def test_every_command_is_told() -> None:
    _, _, table = REFERENCE.partition("## The command line")
    table, _, _ = table.partition("\n\n`")
    told = set(re.findall(r"`quorate (\w+ \w+)", table))

    groups: list[Any] = [cli.lock, cli.election, cli.lease]
    assert all(isinstance(group, click.Group) for group in groups)
    assert told == {f"{group.name} {name}" for group in groups for name in group.commands}


def test_the_bounds_are_those_of_the_code() -> None:
    assert holding.SHORTEST_TTL_MS == 1_000
    assert holding.LONGEST_TTL_MS == 24 * 3_600_000
    assert families.MOST_HELD == locks.MOST_PERMITS == 1_000
    assert locks.MOST_WAITERS == 10_000
    assert fences.REMEMBERED_MS == 7 * 24 * 3_600_000
    for bound in ("1 second to 24 hours", "at most 1,000 of them", "2 to 1,000", "10,000 claims"):
        assert bound in REFERENCE
    assert "remembered for seven days" in REFERENCE
