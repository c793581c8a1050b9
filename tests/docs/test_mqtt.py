"""The pages on the plugin mqtt: their examples run, their tables are those of the code."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.builtin.cluster import api
from quorate.cli.records import group_of
from quorate.client import AsyncClient, Client, connect
from quorate.plugin.checking import LONGEST_NAME
from quorate.testing.cluster import Cluster
from quorate.testing.installed import catalog_of
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.cli import mqtt as command
from quorate_mqtt.client import Mqtt, SyncMqtt
from quorate_mqtt.names import LONGEST_IDENTITY, LONGEST_TOPIC
from quorate_mqtt.resources import RESOURCES
from quorate_mqtt.session_quota.quota import LIMIT as SESSIONS
from quorate_mqtt.topics.resource import LIMIT as TOPICS
from quorate_mqtt.v1.sessions_pb2 import SessionConnect
from quorate_mqtt.v1.wills_pb2 import Will

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "mqtt.md"
HOW_TO = ROOT / "docs" / "how-to" / "keep-a-brokers-state.md"
TEXT = PAGE.read_text(encoding="utf-8")
#: It does not matter where lines end.
PROSE = " ".join(TEXT.split())
SOURCES = ROOT / "plugins" / "mqtt" / "src" / "quorate_mqtt"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("mqtt"), nodes=1, plugins=["mqtt"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="acme"), Tenant)
        yield cluster


def example(page: Path, number: int) -> dict[str, Any]:
    """Run a block of Python of a page, and return what it defines."""
    blocks = re.findall(
        r"^```python\n(.+?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    scope: dict[str, Any] = {}
    exec(compile(blocks[number], str(page), "exec"), scope)
    return scope


async def connected(q: AsyncClient, client_id: str, epoch: int, will: Will | None = None) -> int:
    """Connect a client to the broker north-9, and return its generation."""
    connection = SessionConnect(
        tenant="acme", client_id=client_id, connection_id=1, expiry_interval_s=60, will=will
    )
    return (await Mqtt(q).sessions.connect("north-9", epoch, connection)).generation


async def test_the_first_example_asks_what_a_client_may_do(cluster: Cluster) -> None:
    async with asyncio.timeout(60):
        assert await example(PAGE, 0)["main"](cluster.endpoints) == (True, "own-topics")

        async with connect(cluster.endpoints) as q:
            may_publish = example(HOW_TO, 2)["may_publish"]
            allowed = await may_publish(q, "lamp", "clients/lamp/state")
            assert allowed == (True, "allowed_by_rule")
            assert await may_publish(q, "lamp", "clients/ann") == (False, "no_rule")


async def test_sessions_are_brought_except_those_of_connected_clients(cluster: Cluster) -> None:
    bring = example(PAGE, 1)["bring"]
    async with (
        asyncio.timeout(60),
        connect(cluster.endpoints) as q,
        q.brokers.registered("north-9", "north", roles=["mqtt"]) as registration,
    ):
        await connected(q, "here", registration.broker.epoch)
        kept = {"here": b"old", "away": b"kept"}
        assert await bring(cluster.endpoints, kept) == {"here": "ALREADY_CONNECTED"}
        found = await Mqtt(q).sessions.get("acme", "away")
        assert found is not None
        assert found.payload == b"kept"


async def test_a_client_finds_its_session_at_any_broker(cluster: Cluster) -> None:
    serve = example(HOW_TO, 0)["serve"]
    async with asyncio.timeout(60):
        assert await serve(cluster.endpoints, "north-1") == (False, ["commands/lamp"])
        assert await serve(cluster.endpoints, "north-2") == (True, ["commands/lamp"])


async def test_a_broker_hears_of_clients_that_went_elsewhere(cluster: Cluster) -> None:
    taken_over = example(HOW_TO, 1)["taken_over"]
    async with (
        asyncio.timeout(60),
        connect(cluster.endpoints) as q,
        q.brokers.registered("north-9", "north", roles=["mqtt"]) as registration,
    ):
        epoch = registration.broker.epoch
        generations = {
            ("acme", name): await connected(q, name, epoch) for name in ("moves", "ends", "stays")
        }
        generations["acme", "moves"] -= 1
        heard = taken_over(q, generations)
        assert await anext(heard) == ("acme", "moves")
        await Mqtt(q).sessions.delete("acme", "ends")
        assert await anext(heard) == ("acme", "ends")
        await heard.aclose()


async def test_a_will_is_published_and_acknowledged(cluster: Cluster) -> None:
    published: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    async def publish(topic: str, payload: bytes) -> None:
        published.put_nowait((topic, payload))

    async with (
        asyncio.timeout(60),
        connect(cluster.endpoints) as q,
        q.brokers.registered("north-9", "north", roles=["mqtt"]) as registration,
    ):
        epoch = registration.broker.epoch
        work = asyncio.create_task(example(HOW_TO, 3)["publish_wills"](q, epoch, publish))
        generation = await connected(q, "bell", epoch, Will(topic="bells", payload=b"lost"))
        await Mqtt(q).sessions.disconnect("acme", "bell", generation)
        assert await published.get() == ("bells", b"lost")
        while [each async for each in Mqtt(q).wills.deliveries(tenant="acme")]:
            await asyncio.sleep(0.01)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def test_the_families_and_services_are_those_that_are_told() -> None:
    declared = catalog_of(["cluster", "mqtt", "tenant"]).declared["mqtt"]
    rows = {
        (family.name, family.row.DESCRIPTOR.name)
        for family in declared.families
        if family.row is not None
    }
    services = {each.full_name.rpartition(".")[2] for each in declared.services}

    assert set(re.findall(r"`(mqtt\.\w+)`, `(\w+)` \|", TEXT)) == rows
    assert set(re.findall(r"`(\w+Service)`", TEXT)) == services


def test_the_limits_are_those_that_are_told() -> None:
    assert f"1 to {LONGEST_NAME} letters" in PROSE
    assert f"1 to {LONGEST_IDENTITY} bytes" in PROSE
    assert f"at most {LONGEST_TOPIC:,} bytes" in PROSE
    assert set(re.findall(r"^\| `(mqtt\.\w+)` \| ", TEXT, re.MULTILINE)) == {SESSIONS, TOPICS}


def test_every_reason_of_the_code_is_told() -> None:
    used = set()
    for source in SOURCES.rglob("*.py"):
        if "/v1/" not in source.as_posix():
            code = source.read_text(encoding="utf-8")
            used |= set(re.findall(r'Rejected\(\s*"([A-Z_]+)"', code))
            constants = dict(re.findall(r'^([A-Z_]+): Final = "([A-Z_]+)"$', code, re.MULTILINE))
            used |= set(constants.values())
    _, _, table = TEXT.partition("## Reasons")
    told = set(re.findall(r"^\| `([A-Z_]+)` \| ", table, re.MULTILINE))

    assert told == used | {"INVALID_ARGUMENT", api.FENCED, api.UNKNOWN}


def test_the_client_has_what_is_told() -> None:
    _, _, table = TEXT.partition("## The client")
    told = {
        attribute: set(re.findall(r"`(\w+)`", methods))
        for attributes, methods in re.findall(r"^\| (`.+`) \| (.+) \|$", table, re.MULTILINE)
        for attribute in re.findall(r"`(\w+)`", attributes)
    }
    with Client("127.0.0.1:1") as q:
        twin, mqtt = SyncMqtt(q), Mqtt(q.asynchronous)
        for attribute, helper in vars(mqtt).items():
            if not attribute.startswith("_"):
                methods = public(type(helper))
                assert methods == told.pop(attribute)
                assert methods == public(type(getattr(twin, attribute)))
    assert told == {}


def public(kind: type) -> set[str]:
    """Return the methods of a helper, or of its twin."""
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_command_line_has_what_is_told() -> None:
    whole: Any = group_of("mqtt", [each for each in RESOURCES if each.view.cli], command)
    [told] = re.findall(r"^`quorate mqtt` has (.+?)\. `quorate", TEXT, re.MULTILINE | re.DOTALL)

    assert re.findall(r"`([\w-]+)`", told) == sorted(whole.commands)
