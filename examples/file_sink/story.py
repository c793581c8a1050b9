"""Two workers copy messages to files, one is killed, and the other goes on where it ended.

Run it beside a cluster that has the plugin connector enabled: `quorate dev`, then this script.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from quorate.client import AsyncClient, RejectedError, connect
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.client import Connectors
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_PAUSED,
    TASK_STATE_RUNNING,
    Task,
    TaskState,
)

PROGRAM: Final = Path(__file__).with_name("file_sink.py")
TENANT: Final = "home"
NAME: Final = "lamps-to-files"
PARTITIONS: Final = 2
#: Time for which a lost worker counts as alive; a short time makes a short story.
TIMEOUT_MS: Final = 3_000


async def tell(endpoints: str | None, directory: Path, say: Callable[[str], None]) -> None:
    """Run the story, and report each event."""
    async with connect(endpoints) as q, AsyncExitStack() as ended:
        connectors = Connectors(q)
        await prepare(q)
        workers = {name: await start(endpoints, name, ended) for name in ("worker-1", "worker-2")}
        await registered(q, workers)

        path = directory / "lamps"
        config = json.dumps({"topic": "lamps", "path": str(path), "format": "json"})
        definition = Definition(
            type="file", config=config.encode(), tasks_max=PARTITIONS, failures_max=5
        )
        await create(
            connectors, CreateConnectorRequest(tenant=TENANT, name=NAME, definition=definition)
        )
        await publish(q, 0, 20)
        first, second = await tasks(connectors, TASK_STATE_RUNNING, workers=2)
        say("assigned: each worker has a task")
        say(await copied(path, 20))

        workers[first.worker].kill()
        await workers[first.worker].wait()
        await publish(q, 20, 40)
        say("the worker of task 0 is killed")
        say(await copied(path, 40))
        _, stayed = await tasks(connectors, TASK_STATE_RUNNING, workers=1)
        moved = "went on" if stayed.epoch == second.epoch else "was moved too"
        say(f"reassigned: the other worker has both, and its own {moved}")

        await connectors.pause(TENANT, NAME)
        await tasks(connectors, TASK_STATE_PAUSED, workers=1)
        await publish(q, 40, 60)
        say("paused: the messages wait")
        await connectors.resume(TENANT, NAME)
        say(await copied(path, 60))
        history = await connectors.tasks.history(TENANT, NAME, 0)
        states = [TaskState.Name(each.to).removeprefix("TASK_STATE_") for each in history]
        say(f"task 0: {', '.join(state.lower() for state in reversed(states))}")
        await connectors.delete(TENANT, NAME)


async def prepare(q: AsyncClient) -> None:
    """Make the tenant."""
    try:
        await q.execute(CreateTenant(name=TENANT), Tenant)
    except RejectedError as error:
        if error.code != "ALREADY_EXISTS":
            raise


async def create(connectors: Connectors, request: CreateConnectorRequest) -> None:
    """Create a connector once its shard knows of a tenant that is quite new."""
    while True:
        try:
            await connectors.create(request)
        except RejectedError as error:
            if error.code != "TENANT_NOT_FOUND":
                raise
        else:
            return
        await asyncio.sleep(0.05)


async def start(
    endpoints: str | None, name: str, ended: AsyncExitStack
) -> asyncio.subprocess.Process:
    """Start a worker, which ends with the story."""
    where = ["--endpoints", endpoints] if endpoints else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), name, "--timeout-ms", str(TIMEOUT_MS), *where
    )
    ended.push_async_callback(stop, process)
    return process


async def stop(process: asyncio.subprocess.Process) -> None:
    """End a worker, if it has not ended."""
    if process.returncode is None:
        process.kill()
    await process.wait()


async def registered(q: AsyncClient, workers: dict[str, asyncio.subprocess.Process]) -> None:
    """Wait until workers are known: a connector that is created before has to be balanced later."""
    while not workers.keys() <= {each.name async for each in q.brokers.list(role="connector")}:
        for name, process in workers.items():
            if process.returncode is not None:
                raise RuntimeError(f"{name} has ended before it worked; its output says why")
        await asyncio.sleep(0.05)


async def publish(q: AsyncClient, start: int, end: int) -> None:
    """Write messages into every partition."""
    for partition in range(PARTITIONS):
        await q.kv.put_many(
            {
                f"lamps/{partition}/{position:08}": b"lamp %d is on" % position
                for position in range(start, end)
            }
        )


async def tasks(connectors: Connectors, state: TaskState, *, workers: int) -> list[Task]:
    """Wait until all tasks are in a state on that many workers; return them."""
    while True:
        found = [task async for task in connectors.tasks.list(tenant=TENANT, connector=NAME)]
        settled = len(found) == PARTITIONS and all(task.state == state for task in found)
        if settled and len({task.worker for task in found}) == workers:
            return found
        await asyncio.sleep(0.05)


async def copied(path: Path, count: int) -> str:
    """Wait until that many messages of each partition are in its file, and say how."""
    lines: dict[int, list[str]] = {}
    for partition in range(PARTITIONS):
        file = Path(f"{path}.{partition}")
        while not file.exists() or len(file.read_text().splitlines()) < count:
            await asyncio.sleep(0.05)
        lines[partition] = file.read_text().splitlines()
    wanted = {
        partition: [f"lamps/{partition}/{position:08}" for position in range(count)]
        for partition in range(PARTITIONS)
    }
    once = wanted == {
        partition: [json.loads(line)["key"] for line in found] for partition, found in lines.items()
    }
    return f"copied: {count} messages of each partition, {'each once' if once else 'not each once'}"


def main() -> None:
    """Read the command line, and tell the story."""
    parser = argparse.ArgumentParser(description="Two workers, one of which is killed.")
    parser.add_argument("--endpoints", default=None, help="host:port,... of the cluster")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(tell(given.endpoints, Path(directory), print))


if __name__ == "__main__":
    main()
