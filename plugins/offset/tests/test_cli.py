"""The commands of `quorate offset`, over a node in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from click.testing import CliRunner
from quorate.cli.main import main
from quorate.client.twins import LoopThread
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset.cli import offset
from quorate_offset.client import Offsets


class Screen:
    """Stands in for the host's console: the cluster is in memory, and rows are kept."""

    def __init__(self, memory: Any) -> None:
        self.asynchronous = memory
        self.thread = LoopThread()
        self.rows: list[Mapping[str, object]] = []

    def client(self) -> Screen:
        return self

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        self.rows = list(rows)

    def run(self, *arguments: str, exit_code: int = 0) -> Any:
        """Run a command, and return what it prints: rows, or why it is not one."""
        self.rows = []
        result = CliRunner().invoke(offset, arguments, obj=self)
        assert result.exit_code == exit_code, (result.output, result.exception)
        return result.output if exit_code else self.rows


@pytest.fixture
def screen(memory: Any) -> Iterator[Screen]:
    screen = Screen(memory)

    async def fill() -> None:
        offsets = Offsets(memory)
        for tenant in ("acme", "beta"):
            await memory.execute(CreateTenant(name=tenant), Tenant)
            for partition, value in enumerate((10, 20)):
                await offsets.commit(tenant, "readers", "orders", partition, value)
        await offsets.commit("acme", "writers", "a/b", 0, 7, metadata="m", generation=3)

    async def nothing() -> None:
        return

    screen.thread.run(fill())
    yield screen
    screen.thread.close(nothing)


def test_groups_are_listed_by_tenant_and_name(screen: Screen) -> None:
    rows = screen.run("group", "list")
    assert [(row["tenant"], row["group"], row["generation"]) for row in rows] == [
        ("acme", "readers", 0),
        ("acme", "writers", 3),
        ("beta", "readers", 0),
    ]
    assert rows[0]["committed_at"] == "1970-01-01T00:00:01.000+00:00"
    assert set(rows[0]) == {
        "tenant",
        "group",
        "shard",
        "revision",
        "generation",
        "committed_at",
    }
    assert rows[0]["revision"] > 0
    assert [
        row["group"] for row in screen.run("group", "list", "--tenant", "acme", "--prefix", "w")
    ] == ["writers"]
    assert len(screen.run("group", "list", "--limit", "2")) == 2
    assert "--prefix requires --tenant" in screen.run("group", "list", "--prefix", "w", exit_code=2)


def test_the_offsets_of_a_group_are_shown(screen: Screen) -> None:
    [row] = screen.run("list", "acme", "writers")
    assert row == {
        "topic": "a/b",
        "partition": 0,
        "offset": 7,
        "committed_at": "1970-01-01T00:00:01.000+00:00",
        "metadata": "m",
    }
    assert screen.run("list", "acme", "readers", "--topic", "other") == []
    assert len(screen.run("list", "acme", "readers", "--topic", "orders")) == 2


def test_offsets_are_reset_to_an_offset_and_to_another_group(screen: Screen) -> None:
    told = screen.run("reset", "acme", "readers", "--to-offset", "3", "--topic", "orders")
    assert told == [{"tenant": "acme", "group": "readers", "offsets_set": 2}]
    one = ("--topic", "orders", "--partition", "1", "--generation", "5")
    screen.run("reset", "acme", "readers", "--to-offset", "4", *one)
    assert [row["offset"] for row in screen.run("list", "acme", "readers")] == [3, 4]
    assert [row["generation"] for row in screen.run("group", "list", "--tenant", "acme")] == [5, 3]

    screen.run("reset", "acme", "copy", "--to-group", "readers")
    assert [row["offset"] for row in screen.run("list", "acme", "copy")] == [3, 4]


def test_a_reset_names_one_target(screen: Screen) -> None:
    told = screen.run("reset", "acme", "readers", exit_code=2)
    assert "name one of --to-offset and --to-group" in told
    both = ("--to-offset", "1", "--to-group", "writers")
    assert "name one of" in screen.run("reset", "acme", "readers", *both, exit_code=2)
    alone = ("--to-offset", "1", "--partition", "1")
    assert "--partition requires" in screen.run("reset", "acme", "readers", *alone, exit_code=2)


def test_offsets_are_deleted_by_partition_by_topic_and_all(screen: Screen) -> None:
    one = ("--topic", "orders", "--partition", "1")
    assert "confirm with --yes" in screen.run("delete", "acme", "readers", *one, exit_code=1)
    assert screen.run("delete", "--yes", "acme", "readers", *one) == [
        {"tenant": "acme", "group": "readers", "offsets_deleted": 1}
    ]
    assert (
        screen.run("delete", "--yes", "acme", "readers", "--topic", "orders")[0]["offsets_deleted"]
        == 1
    )
    assert screen.run("delete", "--yes", "acme", "writers", "--all")[0]["offsets_deleted"] == 1
    assert len(screen.run("list", "beta", "readers")) == 2


def test_a_deletion_of_everything_is_asked_for(screen: Screen) -> None:
    assert "--topic and --all" in screen.run("delete", "acme", "readers", exit_code=2)
    both = ("--all", "--topic", "orders")
    assert "--topic and --all" in screen.run("delete", "acme", "readers", *both, exit_code=2)
    assert len(screen.run("list", "acme", "readers")) == 2


def test_lag_is_shown_against_ends(screen: Screen) -> None:
    ends = ("--end", "orders/0=15", "--end", "orders/7=4")
    assert screen.run("group", "lag", "acme", "readers", *ends) == [
        {"topic": "orders", "partition": 0, "offset": 10, "end": 15, "lag": 5},
        {"topic": "orders", "partition": 7, "offset": None, "end": 4, "lag": 4},
    ]
    [row] = screen.run("group", "lag", "acme", "writers", "--end", "a/b/0=9")
    assert (row["topic"], row["lag"]) == ("a/b", 2)


@pytest.mark.parametrize("wrong", ["orders=1", "orders/x=1", "orders/1", "/1=1", "orders/1=-1"])
def test_an_end_that_cannot_be_read_is_a_usage_error(screen: Screen, wrong: str) -> None:
    assert "TOPIC/PARTITION=OFFSET" in screen.run(
        "group", "lag", "acme", "readers", "--end", wrong, exit_code=2
    )


def test_the_command_line_asks_a_cluster(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["offset", "group", "list", "--tenant", "nobody", "--output", "json"]
    assert main([*arguments, "--endpoints", cluster.endpoints]) == 0
    assert json.loads(capsys.readouterr().out) == []
