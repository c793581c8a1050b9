from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from quorate.consensus.messages import Entry, EntryKind
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.engine.port import EngineError, FullError
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import Durable, MemoryWitnesses


class _SlowEngine(MemoryEngine):
    """Syncs only when it is let."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__(disk, [FAMILY])
        self.gate = threading.Semaphore(0)
        self.syncs = 0

    def sync(self) -> None:
        assert self.gate.acquire(timeout=10)
        self.syncs += 1
        super().sync()


class Node:
    def __init__(self) -> None:
        self.disk = MemoryDisk(of_log=True)
        self.engine = _SlowEngine(self.disk)
        self.witnesses = MemoryWitnesses()
        self.log = NodeLog(self.engine, self.witnesses)
        self.journals = [self.log.journal(shard) for shard in ("a", "b")]
        self.synced: list[tuple[int, Durable | None]] = []
        self.failed: list[Exception] = []
        self.told = asyncio.Event()
        self.sync_loop = SyncLoop(
            self.log, asyncio.get_running_loop(), self._on_synced, self._on_failed
        )

    def _on_synced(self, sequence: int) -> None:
        self.synced.append((sequence, self.witnesses.read("a")))
        self.told.set()

    def _on_failed(self, error: Exception) -> None:
        self.failed.append(error)
        self.told.set()

    def write(self, shard: int) -> None:
        journal = self.journals[shard]
        journal.append([Entry(journal.last.index + 1, 1, EntryKind.NOOP, b"")])
        self.sync_loop.request()

    async def next(self) -> None:
        self.told.clear()
        self.engine.gate.release()
        await asyncio.wait_for(self.told.wait(), 10)


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    node = Node()
    yield node
    node.engine.gate.release(100)
    await node.sync_loop.close()


async def test_one_sync_serves_all_that_was_written_in_a_turn(node: Node) -> None:
    node.write(0)
    node.write(1)
    node.write(0)
    await node.next()

    assert node.synced == [(3, Durable(2, 0))]
    assert node.engine.syncs == 1
    assert list(node.sync_loop.durations.buckets())[-1][1] == 1
    assert node.sync_loop.durations.total > 0


async def test_what_is_written_during_a_sync_waits_for_the_next(node: Node) -> None:
    node.write(0)
    await asyncio.sleep(0)
    node.write(1)
    node.write(0)
    await node.next()

    assert node.synced == [(1, Durable(1, 0))]
    await node.next()
    assert node.synced == [(1, Durable(1, 0)), (3, Durable(2, 0))]
    assert node.witnesses.read("b") == Durable(1, 0)


async def test_the_loop_runs_on_while_a_sync_does(node: Node) -> None:
    node.write(0)
    turns = 0
    for _ in range(100):
        await asyncio.sleep(0)
        turns += 1

    assert turns == 100
    assert not node.synced
    await node.next()
    assert node.synced


async def test_nothing_is_synced_twice_and_it_begins_again_later(node: Node) -> None:
    node.write(0)
    await node.next()
    node.sync_loop.request()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    node.write(0)
    await node.next()

    assert [sequence for sequence, _ in node.synced] == [1, 2]
    assert node.engine.syncs == 2


async def test_a_failed_sync_ends_it_all(node: Node) -> None:
    node.write(0)
    node.disk.failure = FullError("no space left")
    await node.next()

    assert [type(error) for error in node.failed] == [FullError]
    assert not node.synced
    node.disk.failure = None
    with pytest.raises(EngineError, match=r"takes no writes after one that failed.*no space left"):
        node.write(1)
    node.sync_loop.request()
    await asyncio.sleep(0)
    assert node.engine.syncs == 1
    with pytest.raises(EngineError, match="takes no writes"):
        node.log.sync()


async def test_a_failed_write_is_the_last(node: Node) -> None:
    node.disk.failure = FullError("no space left")
    with pytest.raises(FullError):
        node.write(0)
    node.disk.failure = None

    with pytest.raises(EngineError, match="takes no writes"):
        node.write(0)
    assert node.journals[0].last.index == 0


async def test_a_log_that_is_held_up_is_waited_for(node: Node) -> None:
    node.disk.stalled = True
    node.write(0)
    await node.next()

    assert [sequence for sequence, _ in node.synced] == [1]


async def test_a_witness_that_cannot_be_written_ends_it_too(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_shard: str, _durable: Durable) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(node.witnesses, "write", fail)
    node.write(0)
    await node.next()

    assert [type(error) for error in node.failed] == [OSError]
    assert not node.synced


async def test_closing_waits_for_the_sync_that_runs(node: Node) -> None:
    node.write(0)
    await asyncio.sleep(0)
    node.write(0)
    node.engine.gate.release()
    await node.sync_loop.close()
    await asyncio.sleep(0)

    assert [sequence for sequence, _ in node.synced] == [1]
    assert node.engine.syncs == 1


async def test_a_sync_is_reported_when_nobody_waits_for_the_end_any_more(node: Node) -> None:
    node.write(0)
    await asyncio.sleep(0)
    closing = asyncio.create_task(node.sync_loop.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await node.next()

    assert [sequence for sequence, _ in node.synced] == [1]


class _PanicError(BaseException):
    """Stands for a panic of a database, which is no `Exception`."""


async def test_a_panic_of_the_database_ends_it_all(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic() -> None:
        raise _PanicError("unwrap of None")

    monkeypatch.setattr(node.engine, "sync", panic)
    node.write(0)
    await node.next()

    assert [str(error) for error in node.failed] == [
        "The node's log cannot be synced: _PanicError('unwrap of None')"
    ]
    with pytest.raises(EngineError, match=r"takes no writes after one that failed.*unwrap"):
        node.write(1)
    async with asyncio.timeout(10):
        await node.sync_loop.close()
