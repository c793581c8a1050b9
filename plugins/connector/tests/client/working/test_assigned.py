"""What a task holds: its progress, which only its worker moves on, and its secrets."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from quorate.client import RejectedError
from quorate_connector.client import AllowedSecrets, AssignedTask
from quorate_connector.client.working.held import LONGEST, reason_of
from quorate_connector.v1.tasks_pb2 import TASK_STATE_RESTARTING

if TYPE_CHECKING:
    from plugins.connector.tests.client.working.conftest import VirtualCluster


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def not_called() -> None:
    raise AssertionError("nobody has the task but this worker")


async def test_the_next_run_goes_on_where_the_last_one_ended(cluster: VirtualCluster) -> None:
    found: list[bytes] = []

    async def count(task: AssignedTask[Any]) -> None:
        found.append(await task.cursor())
        for number in range(3):
            await task.store_cursor(found[-1] + b"%d" % number)
        await forever()

    async with cluster.worker("w", count):
        await cluster.create()
        await cluster.until(lambda: len(found) == 1)
        await cluster.until(lambda: stored(cluster, 3))
        await cluster.connectors.restart("acme", "c")
        await cluster.until(lambda: stored(cluster, 6))
    assert found == [b"", b"2"]


async def stored(cluster: VirtualCluster, version: int) -> bool:
    cursor = await cluster.connectors.tasks.cursor("acme", "c", 0)
    return cursor is not None and cursor.version == version


async def test_a_cursor_whose_answer_was_lost_is_stored_once(cluster: VirtualCluster) -> None:
    client = cluster.client()
    done = asyncio.Event()

    async def store(task: AssignedTask[Any]) -> None:
        for value in (b"1", b"2", b"3"):
            client.losing = 1
            await task.store_cursor(value)
        assert await task.cursor() == b"3"
        done.set()
        await forever()

    async with cluster.worker("w", store, client=client):
        await cluster.create()
        await cluster.until(done.is_set)
        assert await stored(cluster, 3)


async def test_a_fenced_task_ends_at_once(cluster: VirtualCluster) -> None:
    client = cluster.client()
    refused: list[str] = []

    async def store(task: AssignedTask[Any]) -> None:
        while True:
            try:
                await task.store_cursor(b"%d" % task.epoch)
            except RejectedError as error:
                refused.append(error.code)
                await forever()
            await asyncio.sleep(0.1)

    async with cluster.worker("w", store, client=client):
        await cluster.create()
        await cluster.until(lambda: stored(cluster, 5))
        before = (await cluster.task()).epoch
        # It does not see that the task was taken from it and given to it again.
        client.blind()
        began = cluster.now()
        await cluster.connectors.restart("acme", "c")
        await cluster.until(lambda: not cluster.runs)
        assert cluster.now() < began + 1
        assert refused == ["FENCED"]
        kept = await cluster.connectors.tasks.cursor("acme", "c", 0)
        assert kept is not None
        assert kept.epoch == before
        client.heal()
        await cluster.until(lambda: len(cluster.runs) == 1)


async def test_the_cursor_of_another_is_not_overwritten(cluster: VirtualCluster) -> None:
    codes: list[str] = []

    async def store(task: AssignedTask[Any]) -> None:
        await task.store_cursor(b"mine")
        # As one does whose run was cancelled while it stored.
        earlier: AssignedTask[Any] = AssignedTask(
            cluster.q.as_client,
            await cluster.task(),
            tasks_max=1,
            config=None,
            allowed=AllowedSecrets(),
            fenced=not_called,
        )
        await earlier.store_cursor(b"late")
        with pytest.raises(RejectedError) as raised:
            await task.store_cursor(b"more")
        codes.append(raised.value.code)
        await task.store_cursor(b"more")
        await forever()

    async with cluster.worker("w", store):
        await cluster.create()
        await cluster.until(lambda: stored(cluster, 3))
    assert codes == ["CURSOR_CONFLICT"]


async def test_a_secret_is_read_by_the_worker_and_shown_to_nobody(
    cluster: VirtualCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    async def connect(task: AssignedTask[Any]) -> None:
        read.append(await task.secret(task.config.password))
        raise PermissionError(f"nobody is let in with {read[-1]}")

    monkeypatch.setenv("QUORATE_SECRET_SINK", "swordfish")
    async with cluster.worker("w", connect):
        await cluster.create(config=b'{"password": "env:QUORATE_SECRET_SINK"}')
        task = await cluster.state(TASK_STATE_RESTARTING)
    assert read[0] == "swordfish"
    assert task.reason == "PermissionError: nobody is let in with ***"
    for family in ("connector.tasks", "connector.connectors", "connector.history"):
        assert not any(b"swordfish" in row for row in cluster.node.rows(family).values())


async def test_a_secret_that_is_not_there_is_told_by_its_reference(
    cluster: VirtualCluster,
) -> None:
    async def connect(task: AssignedTask[Any]) -> None:
        await task.secret(task.config.password)

    async with cluster.worker("w", connect):
        await cluster.create(config=b'{"password": "env:QUORATE_SECRET_NONE"}')
        task = await cluster.state(TASK_STATE_RESTARTING)
    assert task.reason.startswith("SecretError: the secret env:QUORATE_SECRET_NONE is missing")


async def test_a_connector_cannot_have_any_variable_of_its_worker(
    cluster: VirtualCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(task: AssignedTask[Any]) -> None:
        raise PermissionError(await task.secret(task.config.password))

    monkeypatch.setenv("CLUSTER_KEY", "swordfish")
    config = b'{"password": "env:CLUSTER_KEY"}'
    async with cluster.worker("w", connect):
        await cluster.create(config=config)
        refused = await cluster.state(TASK_STATE_RESTARTING)
    assert refused.reason == (
        "SecretError: the secret env:CLUSTER_KEY is not allowed on this worker; give "
        "ConnectorWorker secrets=AllowedSecrets(variables=...) with CLUSTER_KEY, or refer to one "
        "of QUORATE_SECRET_*"
    )
    async with cluster.worker("x", connect, secrets=AllowedSecrets(variables=("CLUSTER_KEY",))):
        await cluster.create("d", config=config)
        told = await cluster.state(TASK_STATE_RESTARTING, "d")
    assert told.reason == "PermissionError: ***"


def test_a_reason_is_no_longer_than_what_is_kept() -> None:
    said = reason_of(ValueError("ü" * 5_000))
    assert LONGEST - 1 <= len(said.encode()) <= LONGEST
    nested = ExceptionGroup("many", [KeyError("a"), ExceptionGroup("more", [OSError("b" * 3)])])
    assert reason_of(nested) == "KeyError: 'a'; OSError: bbb"
    assert reason_of(ValueError("pass pass1234"), ["pass", "pass1234"]) == "ValueError: *** ***"
    assert reason_of(ValueError("abc"), ["abc"]) == "ValueError: abc"


def test_an_error_that_cannot_be_told_is_a_reason_too() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise AttributeError("response")

    assert reason_of(Broken()) == "Broken: it cannot be shown, because of AttributeError"
    assert reason_of(OSError("a\udcff"), ["pass\udcff"]) == "OSError: a?"


@pytest.mark.parametrize("secret", ["pass/word&1", "pass'word\n1", 'pass"wörd'])
def test_a_secret_is_not_shown_in_another_spelling(secret: str) -> None:
    spellings = (secret, repr(secret), json.dumps(secret), quote(secret), quote(secret, safe=""))

    for spelling in (*spellings, quote_plus(secret)):
        said = reason_of(ValueError(f"refused: {spelling}"), [secret])

        assert said.replace('"', "").replace("'", "") == "ValueError: refused: ***"
