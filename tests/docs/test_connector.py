"""The pages on connectors and their types: examples run, and tables are those of the code."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.builtin.cluster import api
from quorate.client import Client, Records, connect
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector import validation
from quorate_connector.cli import connector as command
from quorate_connector.client import Connectors, SyncConnectors
from quorate_connector.client.tasks import Tasks, Workers
from quorate_connector.connectors.apply import MOST_VERSIONS
from quorate_connector.definition_file import DefinitionFile
from quorate_connector.types.checking import LARGEST_CONFIG, checked
from quorate_connector.types.shipped import SHIPPED
from quorate_connector.v1.connectors_pb2 import (
    CreateConnectorRequest,
    Definition,
)
from quorate_connector.v1.tasks_pb2 import TaskState

from tests.support.pages import leaves, options_of, told_below

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "connector.md"
HOW_TO = ROOT / "docs" / "how-to" / "offer-a-connector-type.md"
EXAMPLE = ROOT / "examples" / "connector_type" / "README.md"
TEXT = PAGE.read_text(encoding="utf-8")
SOURCES = ROOT / "plugins" / "connector" / "src" / "quorate_connector"
#: Refusals of what the scheduler saw too late: no client meets them.
INTERNAL = {"TASK_CHANGED", "WORKER_UNAVAILABLE"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("connector")
    with Cluster(directory, nodes=1, plugins=["connector", "redis"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="acme"), Tenant)
        yield cluster


def example(page: Path) -> dict[str, Any]:
    """Run the block of Python that a page alone has, and return what it defines."""
    text = page.read_text(encoding="utf-8")
    block_of_the_page = r"(?<!-->\n)^```python\n(.+?)^```$"
    [block] = re.findall(block_of_the_page, text, re.MULTILINE | re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(block, str(page), "exec"), scope)
    return scope


def definition_in(page: Path) -> DefinitionFile:
    """Return what the definition on a page says."""
    blocks = re.findall(
        r"^```toml\n(.+?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    [text] = [block for block in blocks if "[config]" in block]
    return DefinitionFile.model_validate(tomllib.loads(text))


async def test_the_example_goes_back_to_its_first_version(cluster: Cluster) -> None:
    async with asyncio.timeout(60):
        version, tasks, config = await example(PAGE)["main"](cluster.endpoints)

    assert (version, tasks) == (3, 2)
    assert f"`{json.dumps(config)}`".replace("true", "True") in TEXT


async def test_a_worker_runs_the_type_of_the_example(cluster: Cluster) -> None:
    read = definition_in(EXAMPLE)
    started = asyncio.Event()
    streams = []

    async def copy(task: Any) -> None:
        streams.append(task.config.stream)
        started.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(60), connect(cluster.endpoints) as q:
        request = CreateConnectorRequest(
            tenant=read.tenant, name=read.name, definition=read.definition
        )
        await Connectors(q).create(request)
        worker = asyncio.create_task(example(HOW_TO)["work"](cluster.endpoints, "w1", copy))
        try:
            await started.wait()
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

    assert set(streams) == {"orders"}


def test_the_definitions_that_are_shown_are_what_their_types_want() -> None:
    types = {each.name: each for each in SHIPPED}
    read = definition_in(PAGE)

    request = CreateConnectorRequest(tenant=read.tenant, name=read.name, definition=read.definition)
    validation.complete(request.definition)
    validation.check_definition(request)
    assert checked(types, read.type, read.definition.config)


def test_the_families_and_services_are_those_that_are_told() -> None:
    declared = catalog_of(["cluster", "connector", "tenant"]).declared["connector"]
    rows_there = {
        (family.row.DESCRIPTOR.name, family.name)
        for family in declared.families
        if family.row is not None
    }

    assert set(re.findall(r"^\| `(\w+)`: .+ \| `([\w.]+)` \|$", TEXT, re.MULTILINE)) == rows_there
    services = {service.full_name for service in declared.services}
    assert services == {
        f"quorate_connector.v1.{name}" for name in ("ConnectorService", "TaskService")
    }


def test_the_bounds_are_those_of_the_code() -> None:
    told = {
        name: (int(zero), int(most))
        for name, zero, most in re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)
    }

    zeros = Definition()
    validation.complete(zeros)
    assert told == {
        "tasks_max": (zeros.tasks_max, validation.MOST_TASKS),
        "failures_max": (zeros.failures_max, validation.MOST_FAILURES),
        "backoff_ms": (zeros.backoff_ms, validation.LONGEST_BACKOFF_MS),
    }
    assert f"{LARGEST_CONFIG:,} bytes" in TEXT
    assert f"the {MOST_VERSIONS} newest are kept" in TEXT


def test_the_types_are_those_that_are_shipped() -> None:
    section = section_of("## Types")
    told = {
        name: (re.findall(r"`(\w+)`", fields), tuple(re.findall(r"`(\w+)`", progress)))
        for name, fields, progress in re.findall(
            r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE
        )
    }

    assert told == {
        each.name: (list(each.model.model_fields), each.progress_of) for each in SHIPPED
    }


def test_the_fields_of_the_example_are_those_of_its_type() -> None:
    told = re.findall(r"^\| `(\w+)` \|", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE)

    assert told == list(example(HOW_TO)["RedisStreamConfig"].model_fields)


def test_the_states_are_told() -> None:
    told = re.findall(r"^\| `(TASK_STATE_\w+)` \|", TEXT, re.MULTILINE)

    assert sorted(told) == sorted(set(TaskState.keys()) - {"TASK_STATE_UNSPECIFIED"})


def test_every_reason_of_the_code_is_told() -> None:
    given = set()
    for source in SOURCES.rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        constants = dict(re.findall(r'^([A-Z_]+): Final = "([A-Z_]+)"$', text, re.MULTILINE))
        for literal, name in re.findall(r'Rejected\(\s*(?:"([A-Z_]+)"|(?:\w+\.)?([A-Z_]+))', text):
            given.add(literal or constants.get(name, name))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", section_of("## Reasons"), re.MULTILINE))

    assert told == given - INTERNAL | {"INVALID_ARGUMENT", api.FENCED, api.UNKNOWN}


def test_the_client_has_what_is_told() -> None:
    section = section_of("## The client")
    told = {
        what: set(re.findall(r"`(\w+)`", methods))
        for what, methods in re.findall(r"^\| (\w+)[^|]* \| (`.+`) \|$", section, re.MULTILINE)
    }

    assert told == {
        "Definitions": public(Connectors),
        "Tasks": public(Tasks),
        "Workers": public(Workers),
    }
    assert public(SyncConnectors) == public(Connectors) | public(Records)


def public(kind: type) -> set[str]:
    """Return the methods of the helper, or of its twin."""
    return {name for name in vars(kind) if not name.startswith("_")}


def section_of(heading: str) -> str:
    """Return what stands below a heading of the page."""
    return TEXT.partition(f"{heading}\n")[2].partition("\n## ")[0]


def test_the_command_line_has_what_is_told() -> None:
    assert told_below("connector", TEXT) == {
        words: options_of(each) for words, each in leaves(command)
    }
