"""A worker that appends messages to files: the connector type `file`, and the code to run it.

Messages are pairs in Quorate, `TOPIC/PARTITION/POSITION`, and each task of a connector copies the
partition of its number, in order. A file of JSON lines holds each message exactly once, whichever
process is killed: its last line says where to continue. A file of bare lines holds each at least
once: it continues at the cursor that the cluster stores.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final

from quorate.client import AsyncClient, ChangeKind, KeyValue, connect
from quorate_connector.client import AssignedTask, ConnectorWorker, Runner
from quorate_connector.types.shipped import FILE, FileConfig

CLUSTER: Final = "examples"
#: Messages that are written and synced at a time.
BATCH: Final = 100
#: How often it is tried to lock a file that another worker still has.
_LOCK_S: Final = 0.1
_BLOCK: Final = 1 << 16


def file_sink(q: AsyncClient) -> Runner[FileConfig]:
    """Return how a worker runs connectors of the type `file`."""
    return Runner(name=FILE.name, model=FileConfig, run=partial(copy, q))


async def copy(q: AsyncClient, task: AssignedTask[FileConfig]) -> None:
    """Append the messages of a partition to a file until cancelled."""
    config = task.config
    path = Path(f"{config.path}.{task.number}")
    with path.open("a+b") as file:
        await locked(file)
        last = last_line(file)
        if config.format == "json":
            position = json.loads(last)["key"].encode() if last else b""
        else:
            position = await task.cursor()
        async for batch in messages(q, f"{config.topic}/{task.number}/", position):
            # Never in a thread: it would go on after this worker was asked to stop.
            append(file, map(as_json if config.format == "json" else as_line, batch), config.sync)
            if config.format == "lines":
                await task.store_cursor(batch[-1].key)


async def messages(
    q: AsyncClient, prefix: str, position: bytes
) -> AsyncGenerator[tuple[KeyValue, ...], None]:
    """Yield the messages after a position in their order, later ones too."""
    # Its marks are seen as well: the first one says that nothing is missed from there on.
    changes = q.watch("kv", prefix=prefix, changes_only=True, marks=True)
    async with aclosing(changes):
        async for change in changes:
            if change.kind is ChangeKind.BOOKMARK or (change.key and change.key <= position):
                continue
            start = position + b"\0" if position else b""
            pages = q.kv.scan(prefix, start=start, page_size=BATCH)
            async with aclosing(pages):
                async for page in pages:
                    if page.pairs:
                        yield page.pairs
                        position = page.pairs[-1].key


async def locked(file: IO[bytes]) -> None:
    """Wait until no other worker writes to a file: a paused worker may not know of its loss."""
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        await asyncio.sleep(_LOCK_S)


def last_line(file: IO[bytes]) -> bytes:
    """Return the last line of a file, and cut off the line that a dying worker left unfinished."""
    size = file.seek(0, os.SEEK_END)
    start, tail = size, b""
    while start > 0 and tail.count(b"\n") < 2:
        start = max(start - _BLOCK, 0)
        file.seek(start)
        tail = file.read(size - start)
    whole, _, torn = tail.rpartition(b"\n")
    file.truncate(size - len(torn))
    return whole.rpartition(b"\n")[2]


def append(file: IO[bytes], lines: Iterable[bytes], sync: bool) -> None:
    """Write lines at the end of a file."""
    file.writelines(lines)
    file.flush()
    if sync:
        os.fsync(file.fileno())


def as_json(message: KeyValue) -> bytes:
    """Return a message as a line of JSON, with its key."""
    value = message.value.decode(errors="backslashreplace")
    return json.dumps({"key": message.key.decode(), "value": value}).encode() + b"\n"


def as_line(message: KeyValue) -> bytes:
    """Return a message as a line."""
    return message.value + b"\n"


async def work(name: str, endpoints: str | None, timeout_ms: int) -> None:
    """Work until a signal asks it to end, and stop the tasks in order then."""
    async with connect(endpoints) as q:
        worker = ConnectorWorker(q, name, CLUSTER, [file_sink(q)], timeout_ms=timeout_ms)
        working = asyncio.create_task(worker.run())
        with ended_by(signal.SIGTERM, working), suppress(asyncio.CancelledError):
            await working


@contextmanager
def ended_by(number: signal.Signals, task: asyncio.Task[None]) -> Iterator[None]:
    """Cancel a task at a signal."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(number)


def main() -> None:
    """Read the command line, and work."""
    parser = argparse.ArgumentParser(description="A worker that appends messages to files.")
    parser.add_argument("name", help="the name of the worker")
    parser.add_argument("--endpoints", default=None, help="host:port,... of the cluster")
    parser.add_argument("--timeout-ms", type=int, default=10_000)
    given = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(work(given.name, given.endpoints, given.timeout_ms))


if __name__ == "__main__":
    main()
