"""The helpers against a real node: what they write, they read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from quorate.client import AsyncClient, Client, InvalidError, RejectedError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.client import Connectors, SyncConnectors
from quorate_connector.v1.connectors_pb2 import (
    TARGET_PAUSED,
    TARGET_RUNNING,
    TARGET_STOPPED,
    CreateConnectorRequest,
    Definition,
    UpdateConnectorRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_STOPPED,
    TASK_STATE_UNASSIGNED,
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("connector"), nodes=1, plugins=["connector"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="north"), Tenant)
            until(lambda: known("north", SyncConnectors(q)))
        yield cluster


@pytest.fixture
async def q(cluster: Cluster) -> AsyncIterator[AsyncClient]:
    async with connect(cluster.endpoints) as q:
        yield q
        connectors = Connectors(q)
        listed = connectors.list(tenant="north")
        names = [(each.tenant, each.name) async for each in listed]
        if names:
            await connectors.delete(names)


def known(tenant: str, connectors: SyncConnectors) -> bool | None:
    """Tell whether the shard of the connectors has heard of a tenant."""
    try:
        connectors.create(creation("known"))
    except RejectedError as error:
        if error.code == "TENANT_NOT_FOUND":
            return None
        raise
    connectors.delete(tenant, "known")
    return True


def definition(path: str = "/data/sink", tasks: int = 2) -> Definition:
    config = json.dumps({"topic": "lamps", "path": path}).encode()
    return Definition(type="file", config=config, tasks_max=tasks)


def creation(name: str, tasks: int = 2) -> CreateConnectorRequest:
    return CreateConnectorRequest(tenant="north", name=name, definition=definition(tasks=tasks))


def update(name: str, path: str, *, tasks: int = 2, expected: int = 0) -> UpdateConnectorRequest:
    return UpdateConnectorRequest(
        tenant="north",
        name=name,
        definition=definition(path, tasks),
        expected_version=expected,
    )


async def test_definitions(q: AsyncClient) -> None:
    connectors = Connectors(q)
    made = await connectors.create(creation("a"))

    assert await connectors.get("north", "a") == made
    assert await connectors.get("north", "b") is None
    with pytest.raises(RejectedError, match="ALREADY_EXISTS"):
        await connectors.create(creation("a"))
    with pytest.raises(InvalidError, match="path"):
        await connectors.update(update("a", "relative"))
    assert (await connectors.update(update("a", "/data/other", expected=1))).version == 2
    with pytest.raises(RejectedError, match="VERSION_CONFLICT"):
        await connectors.update(update("a", "/data/other", expected=1))
    rolled = await connectors.roll_back("north", "a", 1)
    assert (rolled.version, rolled.definition) == (3, made.definition)
    assert [each.version for each in await connectors.versions("north", "a")] == [3, 2, 1]
    await connectors.delete("north", "a")
    with pytest.raises(RejectedError, match="CONNECTOR_NOT_FOUND"):
        await connectors.delete("north", "a")
    assert "file" in [each.name for each in await connectors.types()]


async def test_many_at_once(q: AsyncClient) -> None:
    connectors = Connectors(q)
    await connectors.create(creation("b"))

    reply = await connectors.create(map(creation, ("a", "b", "c")))
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "ALREADY_EXISTS")]
    listed = connectors.list(tenant="north", page_size=2)
    assert [each.name async for each in listed] == ["a", "b", "c"]
    reply = await connectors.update(update(name, "/data/other") for name in ("d", "a"))
    assert [(each.item, each.code) for each in reply.refusals] == [(0, "CONNECTOR_NOT_FOUND")]
    reply = await connectors.delete([("north", name) for name in ("a", "d", "b", "c")])
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "CONNECTOR_NOT_FOUND")]
    assert [each async for each in connectors.list(tenant="north")] == []


async def test_targets_and_tasks(q: AsyncClient) -> None:
    connectors = Connectors(q)
    await connectors.create(creation("a", tasks=3))

    listing = connectors.tasks.list(tenant="north", page_size=2)
    assert [task.id.number async for task in listing] == [0, 1, 2]
    task = await connectors.tasks.get("north", "a", 2)
    assert task is not None
    assert task.state == TASK_STATE_UNASSIGNED
    assert await connectors.tasks.get("north", "a", 3) is None
    assert await connectors.tasks.cursor("north", "a", 0) is None
    assert (await connectors.pause("north", "a")).target == TARGET_PAUSED
    assert (await connectors.stop("north", "a")).target == TARGET_STOPPED
    with pytest.raises(RejectedError, match="CONNECTOR_STOPPED"):
        await connectors.restart("north", "a")
    assert (await connectors.resume("north", "a")).target == TARGET_RUNNING
    await connectors.restart("north", "a", [1])
    states = [each.to for each in await connectors.tasks.history("north", "a", 0)]
    assert states == [TASK_STATE_UNASSIGNED, TASK_STATE_STOPPED, TASK_STATE_UNASSIGNED]
    assert len(await connectors.tasks.history("north", "a", 1)) == 4


async def test_workers(q: AsyncClient) -> None:
    connectors = Connectors(q)
    async with q.brokers.registered("worker-1", "test", roles=["connector"]):
        while not (listed := await connectors.workers.list()):
            continue
        assert [(each.worker.name, each.registered, each.tasks) for each in listed] == [
            ("worker-1", True, 0)
        ]
        drained = await connectors.workers.drain("worker-1", release_timeout_ms=500)
        assert (drained.draining, drained.release_timeout_ms) == (True, 500)
        assert not (await connectors.workers.undrain("worker-1")).draining
    with pytest.raises(RejectedError, match="NOT_FOUND"):
        await connectors.workers.drain("nobody")


def test_the_same_without_await(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        connectors = SyncConnectors(q)
        made = connectors.create(creation("a"))
        assert list(connectors.list(tenant="north")) == [made]
        assert [each.id.number for each in connectors.tasks.list()] == [0, 1]
        connectors.delete("north", "a")


@pytest.mark.parametrize("part", [(), ("tasks",), ("workers",)], ids=str)
def test_every_method_has_a_twin(part: tuple[str, ...]) -> None:
    with Client("127.0.0.1:1") as q:
        synchronous: object = SyncConnectors(q)
        asynchronous: object = Connectors(q.asynchronous)
        for name in part:
            synchronous, asynchronous = getattr(synchronous, name), getattr(asynchronous, name)
    methods = {name for name in vars(type(asynchronous)) if not name.startswith("_")}
    assert methods
    assert methods <= set(vars(type(synchronous)))
