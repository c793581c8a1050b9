"""`quorate connector` against a real node: what a file defines is made, shown and deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from quorate.client import Client, InvalidError, RejectedError
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.cli import connector

#: Workers fall silent only when a test says so.
TTL_MS: Final = 3_600_000

NUMBERS: Final = count()

Row = Mapping[str, object]

FILE: Final = """
tenant = "{tenant}"
name = "{name}"
type = "file"
tasks_max = {tasks}

[labels]
zone = "{tenant}"

[config]
topic = "orders"
path = "/var/orders"
"""


@dataclass
class Screen:
    """Stands in for the host's console: it gives a client, and keeps the rows that it is given."""

    q: Client
    directory: Path
    tenant: str
    rows: Sequence[Row] = field(default_factory=list)
    said: str = ""

    def client(self) -> Client:
        return self.q

    def print(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def run(self, *arguments: str, exit_code: int = 0, input: str = "") -> Sequence[Row]:
        self.rows = []
        result = CliRunner().invoke(connector, arguments, obj=self, input=input)
        assert result.exit_code == exit_code, (result.output, result.exception)
        self.said = result.output
        return self.rows

    def file(self, text: str) -> str:
        path = self.directory / "connector.toml"
        path.write_text(text)
        return str(path)

    def definition(self, name: str, tasks: int = 2) -> str:
        return self.file(FILE.format(tenant=self.tenant, name=name, tasks=tasks))

    def create(self, name: str, tasks: int = 2) -> Row:
        [row] = self.run("create", "-f", self.definition(name, tasks))
        return row


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the node keeps everything: its rows, its log, and what it said."""
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def q(kept: Path) -> Iterator[Client]:
    with Cluster(kept, nodes=1, plugins=["connector"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            yield q


@pytest.fixture
def screen(q: Client, tmp_path: Path) -> Screen:
    """A screen with a tenant of its own, whose connectors no other test sees or runs."""
    tenant = f"t{next(NUMBERS)}"
    q.execute(CreateTenant(name=tenant), Tenant)
    return Screen(q, tmp_path, tenant)


def test_a_connector_from_its_file_to_its_end(screen: Screen) -> None:
    made = screen.create("orders")
    assert (made["name"], made["type"], made["version"]) == ("orders", "file", 1)
    assert (made["target"], made["tasks_max"], made["labels"]) == (
        "running",
        2,
        [f"zone={screen.tenant}"],
    )

    [shown] = screen.run("get", screen.tenant, "orders")
    config = shown["config"]
    assert isinstance(config, bytes)
    assert json.loads(config)["format"] == "lines"
    assert shown["backoff_ms"] == 1_000

    larger = screen.definition("orders", 3)
    [updated] = screen.run("update", "-f", larger, "--expected-version", "1")
    assert (updated["version"], updated["tasks_max"]) == (2, 3)
    [back] = screen.run("roll-back", screen.tenant, "orders", "1")
    assert (back["version"], back["tasks_max"]) == (3, 2)
    assert [each["version"] for each in screen.run("version", "list", screen.tenant, "orders")] == [
        3,
        2,
        1,
    ]

    for command, target in (("pause", "paused"), ("stop", "stopped"), ("resume", "running")):
        [aimed] = screen.run(command, screen.tenant, "orders")
        assert aimed["target"] == target
    screen.run("restart", screen.tenant, "orders", "1")
    newest = screen.run("task", "history", screen.tenant, "orders", "1")[0]
    assert (newest["to"], newest["reason"]) == ("unassigned", "restarted")

    screen.run("delete", screen.tenant, "orders", exit_code=1, input="n\n")
    assert screen.run("list", screen.tenant) != []
    screen.run("delete", screen.tenant, "orders", "--yes")
    assert screen.run("list", screen.tenant) == []
    screen.run("get", screen.tenant, "orders", exit_code=2)
    assert f"there is no connector orders of tenant {screen.tenant}" in screen.said


def test_lists_say_that_there_is_more(screen: Screen) -> None:
    for name in ("a1", "a2", "b1"):
        screen.create(name, tasks=1)

    assert {"a1", "a2", "b1"} <= {each["name"] for each in screen.run("list")}
    found = screen.run("list", screen.tenant, "--prefix", "a")
    assert [each["name"] for each in found] == ["a1", "a2"]
    assert screen.run("list", "--type", "kafka") == []
    assert len(screen.run("list", screen.tenant, "--limit", "2")) == 2
    assert "there are more than 2" in screen.said
    assert [each["connector"] for each in screen.run("task", "list", screen.tenant)] == [
        "a1",
        "a2",
        "b1",
    ]
    [task] = screen.run("task", "list", screen.tenant, "a2")
    assert (task["connector"], task["task"], task["state"]) == ("a2", 0, "unassigned")
    assert screen.run("task", "list", "--state", "failed") == []


def test_workers_are_drained_and_undrained(screen: Screen) -> None:
    screen.q.brokers.register(
        "w1", "north", roles=["connector"], labels={"zone": screen.tenant}, ttl_ms=TTL_MS
    )
    screen.create("drained")

    def assigned() -> bool | None:
        return (
            True
            if len(screen.run("task", "list", screen.tenant, "--state", "assigned")) == 2
            else None
        )

    until(assigned)
    [worker] = screen.run("worker", "list")
    assert (worker["worker"], worker["registered"], worker["tasks"]) == ("w1", True, 2)
    assert len(screen.run("task", "list", "--worker", "w1")) == 2
    [drained] = screen.run("worker", "drain", "w1", "--release-timeout", "0.5")
    assert drained["draining"] is True
    [undrained] = screen.run("worker", "undrain", "w1")
    assert undrained["draining"] is False


def test_types_are_listed_with_their_fields(screen: Screen) -> None:
    rows = {each["type"]: each for each in screen.run("type", "list")}

    assert list(rows) == ["file", "kafka", "mqtt_bridge", "webhook"]
    assert rows["file"]["required"] == ["topic", "path"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tenant = ", "cannot be read"),
        ("tenant = 'acme'\nname = 'n'\npasswort = 'hunter2'", "type is missing; passwort is no"),
        ("tenant = 'a'\nname = 'n'\ntype = 'file'\ntarget = 'hunter2'", "target must be 'running'"),
        ("tenant = 'a'\nname = 'n'\ntype = 't'\n[config]\nat = 2026-01-01", "config.at"),
    ],
)
def test_a_file_that_defines_nothing(screen: Screen, text: str, words: str) -> None:
    screen.run("create", "-f", screen.file(text), exit_code=2)

    assert words in screen.said
    assert "hunter2" not in screen.said


def test_what_the_service_refuses_is_left_to_the_command_line(screen: Screen) -> None:
    path = screen.definition("orders")
    Path(path).write_text(Path(path).read_text().replace("path", "pfad"))
    told = CliRunner().invoke(connector, ["create", "-f", path], obj=screen).exception
    assert isinstance(told, InvalidError)
    assert told.reason == "2 fields are wrong: path is missing; pfad is not a field of this type"

    told = CliRunner().invoke(connector, ["pause", screen.tenant, "none"], obj=screen).exception
    assert isinstance(told, RejectedError)
    assert told.code == "CONNECTOR_NOT_FOUND"


def test_a_secret_in_clear_text_is_kept_nowhere(screen: Screen, kept: Path) -> None:
    def holding(text: bytes) -> list[Path]:
        return [path for path in kept.rglob("*") if path.is_file() and text in path.read_bytes()]

    [made] = screen.run("create", "-f", screen.definition("open-to-be-found"))
    secret = screen.definition("secret")
    with Path(secret).open("a") as file:
        file.write('password = "hunter2"\n')

    told = CliRunner().invoke(connector, ["create", "-f", secret], obj=screen).exception

    assert isinstance(told, InvalidError)
    assert told.field == "definition.config.password"
    assert made["name"] == "open-to-be-found"
    assert holding(b"open-to-be-found") != []
    assert holding(b"hunter2") == []
