"""The page on running connectors: its worker works, and its file and commands do what it says."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from quorate.client import AsyncClient, Client, RejectedError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.cli import connector
from quorate_connector.client import AllowedSecrets, Connectors, SyncConnectors
from quorate_connector.client.working.secrets import LARGEST, PREFIX
from quorate_connector.client.working.worker import TIMEOUT_MS
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition
from quorate_connector.v1.tasks_pb2 import TASK_STATE_PAUSED, TASK_STATE_RUNNING, TaskId

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-a-connector.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("connector"), nodes=1, plugins=["connector"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="acme"), Tenant)
            until(lambda: known("acme", SyncConnectors(q)))
        yield cluster


def known(tenant: str, connectors: SyncConnectors) -> bool | None:
    """Tell whether the shard of the connectors has heard of a tenant."""
    definition = Definition(type="file", config=b'{"topic": "t", "path": "/data/t"}')
    request = CreateConnectorRequest(tenant=tenant, name="known", definition=definition)
    try:
        connectors.create(request)
    except RejectedError as error:
        if error.code == "TENANT_NOT_FOUND":
            return None
        raise
    connectors.delete(tenant, "known")
    return True


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def example(number: int) -> dict[str, Any]:
    """Run a block of Python of the page, and return what it defines."""
    scope: dict[str, Any] = {}
    exec(compile(blocks("python")[number], str(PAGE), "exec"), scope)
    return scope


class Web:
    """Where messages come from, and a server that keeps them."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Mapping[str, str], str]] = []
        #: The message that cannot be sent the first time.
        self.refused = "orders/1/2"

    async def messages(self, topic: str, number: int, position: int) -> AsyncIterator[str]:
        for at in range(position, 5):
            yield f"{topic}/{number}/{at}"
        await asyncio.get_running_loop().create_future()

    async def send(self, url: str, headers: Mapping[str, str], message: str) -> None:
        if message == self.refused:
            self.refused = ""
            raise ConnectionError(f"{url} has refused {headers.get('Authorization')}")
        self.got.append((url, headers, message))


@asynccontextmanager
async def working(endpoints: str, web: Web) -> AsyncIterator[None]:
    """Run the worker of the page meanwhile."""
    work = example(0)["work"]
    task = asyncio.create_task(work(endpoints, "worker-1", web.messages, web.send))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_the_page_from_a_worker_to_its_drain(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORATE_SECRET_ORDERS", "open sesame")
    [definition] = blocks("toml")
    (tmp_path / "orders.toml").write_text(definition)
    defining, operating = (
        re.findall(r"^\$ quorate (.+)$", each, re.M) for each in blocks("console")
    )
    assert [each.split(" ")[1:3] for each in operating] == [
        ["pause", "acme"],
        ["resume", "acme"],
        ["restart", "acme"],
        ["task", "history"],
        ["worker", "drain"],
        ["worker", "undrain"],
    ]
    web = Web()
    async with asyncio.timeout(120), connect(cluster.endpoints) as q:
        connectors = Connectors(q)
        async with working(cluster.endpoints, web):
            for command in defining:
                await said(command, cluster, tmp_path)
            await until_sent(web, 10)

            told = {message for _, _, message in web.got}
            assert told == {f"orders/{number}/{at}" for number in (0, 1) for at in range(5)}
            url, headers, _ = web.got[0]
            assert (url, headers) == (
                "https://example.com/orders",
                {"Authorization": "open sesame"},
            )
            assert len(web.got) == 10, "what was stored was sent again"
            await in_state(q, "orders", TASK_STATE_RUNNING)
            assert "has refused ***" in await said(operating[3], cluster, tmp_path)

            await said(operating[0], cluster, tmp_path)
            await in_state(q, "orders", TASK_STATE_PAUSED)
            for command in operating[1:4]:
                await said(command, cluster, tmp_path)
            await in_state(q, "orders", TASK_STATE_RUNNING)
            await said(operating[4], cluster, tmp_path)
            while (await connectors.workers.list())[0].tasks:
                await asyncio.sleep(0.05)
            await said(operating[5], cluster, tmp_path)
            await in_state(q, "orders", TASK_STATE_RUNNING)
        await connectors.delete("acme", "orders")


async def test_a_call_defines_one_as_well(cluster: Cluster) -> None:
    async with asyncio.timeout(60), connect(cluster.endpoints) as q:
        assert await example(1)["define"](cluster.endpoints, "called", "https://example.com") == 1
        web = Web()
        async with working(cluster.endpoints, web):
            await until_sent(web, 10)
        await Connectors(q).delete("acme", "called")


async def test_what_has_failed_for_good_is_restarted(cluster: Cluster) -> None:
    async def send(url: str, headers: Mapping[str, str], message: str) -> None:
        raise ConnectionError("nobody listens")

    async with asyncio.timeout(60), connect(cluster.endpoints) as q:
        definition = Definition(
            type="webhook",
            config=b'{"topic": "t", "url": "https://example.com"}',
            tasks_max=1,
            failures_max=1,
        )
        request = CreateConnectorRequest(tenant="acme", name="failing", definition=definition)
        await Connectors(q).create(request)
        restarted: asyncio.Queue[tuple[TaskId, str]] = asyncio.Queue()

        def note(task: TaskId, reason: str) -> None:
            restarted.put_nowait((task, reason))

        web = Web()
        web.send = send  # type: ignore[method-assign]
        async with working(cluster.endpoints, web):
            watching = asyncio.create_task(example(2)["restart_what_fails"](q, note))
            for _ in range(2):
                task, reason = await restarted.get()
                assert task.connector == "failing"
                assert reason == "ConnectionError: nobody listens"
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        await Connectors(q).delete("acme", "failing")


def test_the_timeout_is_what_is_told() -> None:
    assert TIMEOUT_MS == 10_000
    assert "(`timeout_ms`, by default 10 seconds)" in " ".join(TEXT.split())


def test_the_secrets_that_are_allowed_are_what_is_told() -> None:
    assert AllowedSecrets() == AllowedSecrets(variables=(f"{PREFIX}*",), directories=())
    words = " ".join(TEXT.split())
    assert f"names begin with `{PREFIX}`, and no files" in words
    assert f"a file of at most {LARGEST >> 10} KiB" in words
    [allowed] = re.findall(r"secrets=(AllowedSecrets\(.+?\))\)`", words)
    made = eval(allowed, {"AllowedSecrets": AllowedSecrets})
    assert made.directories == ("/run/secrets",)


class Asking:
    """Stands in for the host's console: it gives a client, and keeps what is shown."""

    def __init__(self, q: Client) -> None:
        self._q = q
        self.shown: list[Mapping[str, object]] = []

    def client(self) -> Client:
        return self._q

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        self.shown += rows


async def said(command: str, cluster: Cluster, directory: Path) -> str:
    """Run a command of the page where its file is, and return what it shows."""

    def run() -> str:
        group, *arguments = shlex.split(command)
        assert group == "connector"
        placed = [str(directory / each) if each.endswith(".toml") else each for each in arguments]
        with Client(cluster.endpoints) as q:
            console = Asking(q)
            result = CliRunner().invoke(connector, placed, obj=console)
        assert result.exit_code == 0, result.output
        return str(console.shown)

    return await asyncio.to_thread(run)


async def until_sent(web: Web, count: int) -> None:
    while len(web.got) < count:
        await asyncio.sleep(0.02)


async def in_state(q: AsyncClient, name: str, state: int) -> None:
    """Wait until both tasks of a connector are in a state."""
    tasks = Connectors(q).tasks
    for number in (0, 1):
        while (task := await tasks.get("acme", name, number)) is None or task.state != state:
            await asyncio.sleep(0.02)
