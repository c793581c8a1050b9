"""The file sink: workers and leaders are killed, and no message is lost or copied twice."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final, Literal

import pytest
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.program import Program
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.client import Connectors
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition
from quorate_connector.v1.tasks_pb2 import TASK_STATE_RUNNING, Task

EXAMPLE: Final = Path(__file__).parents[3] / "examples" / "file_sink"
SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {"timing": QUICK_ELECTIONS}
PARTITIONS: Final = 4
WORKERS: Final = ("worker-1", "worker-2", "worker-3")
TIMEOUT_MS: Final = 2_000
#: Messages of each partition that are written at a time.
WRITTEN: Final = 5
WORK: Final = """
import runpy, sys
from quorate.testing.program import end_with_parent
end_with_parent()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.ci
async def test_another_worker_goes_on_where_one_was_killed(tmp_path: Path) -> None:
    story = loaded(EXAMPLE / "story.py")
    told: list[str] = []
    with Cluster(tmp_path / "cluster", plugins=["connector"], settings=SETTINGS) as cluster:
        cluster.ready()
        async with asyncio.timeout(2 * PATIENCE_S):
            await story.tell(cluster.endpoints, tmp_path, told.append)

    [shown] = re.findall(
        r"^```text\n(.+?)^```$", (EXAMPLE / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert told == shown.splitlines()


@pytest.mark.parametrize(
    ("form", "rounds"),
    [
        pytest.param("json", 1, marks=pytest.mark.ci, id="once"),
        pytest.param("json", 4, marks=pytest.mark.full, id="once, many kills"),
        pytest.param("lines", 4, marks=pytest.mark.full, id="at least once, many kills"),
    ],
)
async def test_every_message_arrives_whoever_is_killed(
    tmp_path: Path, form: Literal["json", "lines"], rounds: int
) -> None:
    rng = random.Random(rounds)
    path = tmp_path / "sink"
    with Cluster(tmp_path / "cluster", plugins=["connector"], settings=SETTINGS) as cluster:
        cluster.ready()
        with working(tmp_path, cluster.endpoints) as workers:
            async with (
                asyncio.timeout((2 + rounds) * PATIENCE_S),
                connect(cluster.endpoints, exactly_once=True) as q,
            ):
                await prepare(q, path, form)
                async with producing(q) as written:
                    for number in range(rounds):
                        tasks = await running(q, workers)
                        victim = rng.choice(sorted({task.worker for task in tasks}))
                        leader = await asyncio.to_thread(cluster.leader, "mqtt/0")
                        workers[victim].end(signal.SIGKILL)
                        if number % 2:
                            await reassigned(q, workers, f"{victim} was killed")
                        leader.kill()
                        await reassigned(q, workers, f"{victim} and {leader.name} were killed")
                        leader.start()
                        start_all(workers, cluster.endpoints)
                        await written.wait_for_more()
                wanted = [
                    [f"messages/{partition}/{position:08}" for position in range(written.count)]
                    for partition in range(PARTITIONS)
                ]
                await copied(path, form, wanted)

    for partition, keys in enumerate(wanted):
        found = read(path, partition, form)
        if form == "json":
            assert found == keys
        else:
            assert list(dict.fromkeys(found)) == keys
            print(f"partition {partition}: {len(found) - len(keys)} of {len(keys)} came twice")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("there", "last", "left"),
    [
        (b"", b"", b""),
        (b"torn", b"", b""),
        (b"one\n", b"one", b"one\n"),
        (b"one\ntwo\nto", b"two", b"one\ntwo\n"),
        (b"one\n" + b"x" * 200_000 + b"\n" + b"y" * 200_000, b"x" * 200_000, None),
    ],
    ids=["empty", "torn", "whole", "torn behind lines", "long"],
)
def test_a_line_that_was_not_finished_is_cut_off(
    tmp_path: Path, there: bytes, last: bytes, left: bytes | None
) -> None:
    path = tmp_path / "sink"
    path.write_bytes(there)
    with path.open("a+b") as file:
        assert loaded(EXAMPLE / "file_sink.py").last_line(file) == last
        file.write(b"more\n")
    expected = b"one\n" + last + b"\n" if left is None else left
    assert path.read_bytes() == expected + b"more\n"


@pytest.mark.ci
async def test_a_file_is_one_workers_at_a_time(tmp_path: Path) -> None:
    locked = loaded(EXAMPLE / "file_sink.py").locked
    path = tmp_path / "sink"
    with path.open("a+b") as first:
        await locked(first)
        with path.open("a+b") as second:
            waiting = asyncio.create_task(locked(second))
            await asyncio.wait([waiting], timeout=0.3)
            assert not waiting.done()
            first.close()
            async with asyncio.timeout(PATIENCE_S):
                await waiting


class Written:
    """How many messages every partition has."""

    def __init__(self) -> None:
        self.count = 0
        self._more = asyncio.Event()

    def add(self) -> None:
        self.count += WRITTEN
        self._more.set()

    async def wait_for_more(self) -> None:
        self._more.clear()
        await self._more.wait()


@asynccontextmanager
async def producing(q: AsyncClient) -> AsyncIterator[Written]:
    """Write messages into all partitions meanwhile; at the end all that are counted are written."""
    written = Written()
    ending = asyncio.Event()

    async def produce() -> None:
        while not ending.is_set():
            positions = range(written.count, written.count + WRITTEN)
            keys = [
                f"messages/{partition}/{at:08}"
                for partition in range(PARTITIONS)
                for at in positions
            ]
            # To write one again changes nothing: its key and its value are the same.
            reply = await q.kv.put_many({key: key.encode() for key in keys})
            assert not reply.refusals
            written.add()
            await asyncio.sleep(0.02)

    writing = asyncio.create_task(produce())
    try:
        yield written
        ending.set()
        await writing
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def prepare(q: AsyncClient, path: Path, form: str) -> None:
    """Make the connector, when all workers are there."""
    await q.execute(CreateTenant(name="home"), Tenant)
    while len([each async for each in q.brokers.list(role="connector")]) < len(WORKERS):
        await asyncio.sleep(0.05)
    config = {"topic": "messages", "path": str(path), "format": form}
    definition = Definition(
        type="file", config=json.dumps(config).encode(), tasks_max=PARTITIONS, failures_max=100
    )
    request = CreateConnectorRequest(tenant="home", name="sink", definition=definition)
    await loaded(EXAMPLE / "story.py").create(Connectors(q), request)


async def reassigned(q: AsyncClient, workers: Mapping[str, Program], what: str) -> None:
    """Wait until living workers run all tasks, and print how long that took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await running(q, workers)
    print(f"{what}: all tasks run after {loop.time() - began:.2f} s, the timeout is 2 s")


async def running(q: AsyncClient, workers: Mapping[str, Program]) -> list[Task]:
    """Wait until all tasks run at workers that live, and return them."""
    while True:
        found = Connectors(q).tasks.list(tenant="home", connector="sink")
        tasks = [each async for each in found]
        if all(
            each.state == TASK_STATE_RUNNING and each.worker and workers[each.worker].runs
            for each in tasks
        ):
            return tasks
        await asyncio.sleep(0.02)


@contextmanager
def working(directory: Path, endpoints: str) -> Iterator[dict[str, Program]]:
    """Start the workers, and end them all."""
    with ExitStack() as stack:
        workers = {name: Program(name, directory / f"{name}.log") for name in WORKERS}
        for worker in workers.values():
            stack.callback(worker.close)
        start_all(workers, endpoints)
        yield workers


def start_all(workers: Mapping[str, Program], endpoints: str) -> None:
    """Start the workers that do not run."""
    for name, worker in workers.items():
        if not worker.runs:
            program = [sys.executable, "-c", WORK, str(EXAMPLE / "file_sink.py"), name]
            options = ["--endpoints", endpoints, "--timeout-ms", str(TIMEOUT_MS)]
            worker.start([*program, *options], os.environ)


async def copied(path: Path, form: str, wanted: list[list[str]]) -> None:
    """Wait until the last message of every partition is in its file."""
    for partition, keys in enumerate(wanted):
        while read(path, partition, form)[-1:] != keys[-1:]:
            await asyncio.sleep(0.05)


def read(path: Path, partition: int, form: str) -> list[str]:
    """Return the keys of the messages of a file, but for a line that is being written."""
    lines = Path(f"{path}.{partition}").read_text().split("\n")[:-1]
    return [json.loads(line)["key"] if form == "json" else line for line in lines]


def loaded(path: Path) -> ModuleType:
    """Return a script as a module, without running it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
