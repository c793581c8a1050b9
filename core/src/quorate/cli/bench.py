"""`quorate bench`: bounded loads of writes, batches, reads and watched changes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from google.protobuf.message import Message

from quorate.cli.deferred import terminal_of
from quorate.cli.failures import failure
from quorate.cli.terminal import progress
from quorate.client import ChangeKind, OutcomeUnknownError, UnansweredError
from quorate.v1 import kv_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from quorate.client import AsyncClient

Done = Callable[[int], None]

_QUANTILES: Final = (50, 95, 99)
#: The number of pairs that reads cycle through.
_READ_PAIRS: Final = 10_000
#: More of them would only wait for one another.
_BATCHES_AT_ONCE: Final = 4
_CHUNK: Final = 1_000
#: How long a watch may take to open, and events may arrive after the last write.
_PATIENCE_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a load ends, and how much of it is there at once."""

    calls: int
    seconds: float
    concurrency: int


Load = Callable[["BenchPairs", Bounds, Done], Awaitable["Measured"]]


@click.group("bench")
def command() -> None:
    """Measure the throughput and latency of the cluster.

    A load ends after --count calls or --seconds, whichever comes first, and removes what it wrote.
    """


def _load(*options: click.Option, at_once: int = 100) -> Callable[[Callable[..., Load]], None]:
    """Make a command of a function that returns a load, with the common options of loads."""

    def added(load_of: Callable[..., Load]) -> None:
        name = load_of.__name__

        def run_load(
            count: int, seconds: float, concurrency: int, size: int, prefix: str, **given: Any
        ) -> None:
            bounds = Bounds(calls=count, seconds=seconds, concurrency=concurrency)
            _measure(name, bounds, size, prefix, load_of(**given))

        shared = [
            _option("--count", click.IntRange(1, 10_000_000), 10_000, "Number of calls."),
            _option("--seconds", click.FloatRange(0.1, 3_600), 10.0, "Duration."),
            _option("--size", click.IntRange(0, 1 << 20), 128, "Size of a value in bytes."),
            _option(
                "--prefix",
                click.STRING,
                "bench/",
                "Prefix of the keys; the rest is random, and every key with the prefix is removed.",
            ),
            _option("--concurrency", click.IntRange(1, 10_000), at_once, "Concurrent calls."),
        ]
        command.add_command(
            click.Command(name, callback=run_load, params=[*options, *shared], help=load_of.__doc__)
        )

    return added


def _option(name: str, kind: click.ParamType[Any], default: object, help: str) -> click.Option:
    return click.Option([name], type=kind, default=default, show_default=True, help=help)


@_load()
def writes() -> Load:
    """Write pairs one by one; the client batches concurrent calls."""
    return lambda pairs, bounds, done: run(pairs.put, bounds, done)


@_load(
    _option("--items", click.IntRange(1, 10_000), 1_000, "Pairs per call."),
    at_once=_BATCHES_AT_ONCE,
)
def batch(items: int) -> Load:
    """Write pairs in batches, one command each."""
    return lambda pairs, bounds, done: run(partial(pairs.put_many, items=items), bounds, done)


@_load(_option("--items", click.IntRange(1, 1_000), 1, "Pairs per call."))
def reads(items: int) -> Load:
    """Read pairs, linearizably."""

    async def load(pairs: BenchPairs, bounds: Bounds, done: Done) -> Measured:
        there = min(bounds.calls * items, _READ_PAIRS)
        await pairs.fill(there)
        return await run(partial(pairs.get_many, items=items, of=there), bounds, done)

    return load


@_load()
def watch() -> Load:
    """Write pairs under a watch: the times are those from the call to the event."""
    return deliver


def _measure(name: str, bounds: Bounds, size: int, prefix: str, load: Load) -> None:
    terminal = terminal_of(click.get_current_context())

    async def measured(client: AsyncClient) -> Measured:
        pairs = BenchPairs(client, prefix, size)
        try:
            with progress(name, total=bounds.calls) as done:
                return await load(pairs, bounds, done)
        finally:
            await pairs.remove()

    terminal.print([terminal.ask(measured).row(name)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The result of a load: its items, its duration and the latency of each call."""

    items: int
    elapsed_s: float
    latencies_s: Sequence[float]

    def row(self, name: str) -> Mapping[str, object]:
        """Return the figures as they are shown."""
        ordered = sorted(self.latencies_s)
        return {
            "load": name,
            "calls": len(ordered),
            "items": self.items,
            "seconds": round(self.elapsed_s, 3),
            "items_per_s": round(self.items / self.elapsed_s) if self.elapsed_s else 0,
            **{f"p{each}_ms": _ms(quantile(ordered, each)) for each in _QUANTILES},
            "max_ms": _ms(ordered[-1] if ordered else 0.0),
        }


def quantile(ordered: Sequence[float], percent: int) -> float:
    """Return the smallest value that is not below `percent` of all; 0 for an empty sequence."""
    if not ordered:
        return 0.0
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 2)


async def run(call: Callable[[int], Awaitable[int]], bounds: Bounds, done: Done) -> Measured:
    """Make calls, which are numbered and return how many items they moved.

    The first error ends the load and is raised.
    """
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    items = 0
    begun = loop.time()
    numbers = iter(range(bounds.calls))

    async def worker() -> None:
        nonlocal items
        for number in numbers:
            sent = loop.time()
            if sent - begun >= bounds.seconds:
                return
            moved = await call(number)
            items += moved
            latencies.append(loop.time() - sent)
            done(1)

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(bounds.concurrency, bounds.calls)):
                workers.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return Measured(items=items, elapsed_s=loop.time() - begun, latencies_s=latencies)


async def deliver(pairs: BenchPairs, bounds: Bounds, done: Done) -> Measured:
    """Write pairs while they are watched; each takes until its event is there."""
    loop = asyncio.get_running_loop()
    sent: dict[bytes, float] = {}
    latencies: list[float] = []
    listed, received = asyncio.Event(), asyncio.Event()
    written = False

    async def listen() -> None:
        async for change in pairs.client.watch("kv", prefix=pairs.prefix, marks=True):
            if change.kind is ChangeKind.LISTED:
                listed.set()
            if (at := sent.pop(change.key, None)) is not None:
                latencies.append(loop.time() - at)
            if written and not sent:
                received.set()

    async def put(number: int) -> int:
        sent[pairs.key(number)] = loop.time()
        return await pairs.put(number)

    listener = loop.create_task(listen())
    try:
        await _before_the_end_of(listener, listed, "the watch did not open")
        begun = loop.time()
        await run(put, bounds, done)
        written = True
        if sent:
            await _before_the_end_of(listener, received, "not every write was received")
        elapsed_s = loop.time() - begun
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
    return Measured(items=len(latencies), elapsed_s=elapsed_s, latencies_s=latencies)


async def _before_the_end_of(listener: asyncio.Task[None], event: asyncio.Event, what: str) -> None:
    """Wait for an event of the listener; raises the listener's error if it ends first."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait(
            [listener, waiting], timeout=_PATIENCE_S, return_when=asyncio.FIRST_COMPLETED
        )
        if listener.done():
            listener.result()
        if not waiting.done():
            raise failure(
                f"{what} within {_PATIENCE_S:g} s",
                "see `quorate status` for nodes that lag, or reduce the load",
            )
    finally:
        waiting.cancel()


class BenchPairs:
    """Pairs with numbered keys and values of one size, under a random prefix of their own."""

    def __init__(self, client: AsyncClient, prefix: str, size: int) -> None:
        self.client: Final = client
        self.prefix: Final = f"{prefix}{secrets.token_hex(8)}/".encode()
        self._value: Final = secrets.token_bytes(size)

    def key(self, number: int) -> bytes:
        """Return the key of a number; keys sort as their numbers do."""
        return self.prefix + b"%012d" % number

    async def put(self, number: int) -> int:
        """Write one pair; the client batches concurrent calls."""
        await self._written(self._pair(number), pb.PutPairReply)
        return 1

    async def put_many(self, number: int, items: int) -> int:
        """Write as many pairs in one command; `number` is that of the command."""
        return await self._put_range(number * items, items)

    async def get_many(self, number: int, items: int, of: int) -> int:
        """Read as many of the first `of` pairs in one call, linearizably."""
        numbers = ((number * items + each) % of for each in range(items))
        keys = list(dict.fromkeys(self.key(each) for each in numbers))
        return len(await self.client.kv.get_many(keys))

    async def fill(self, count: int) -> None:
        """Write the first pairs, for others to read."""
        for first in range(0, count, _CHUNK):
            await self._put_range(first, min(_CHUNK, count - first))

    async def remove(self) -> None:
        """Delete every pair below the prefix."""
        async for page in self.client.kv.scan(self.prefix, keys_only=True):
            await self.client.kv.delete_many(pair.key for pair in page.pairs)

    def _pair(self, number: int) -> pb.PutPair:
        return pb.PutPair(key=self.key(number), value=self._value)

    async def _put_range(self, first: int, items: int) -> int:
        pairs = [self._pair(number) for number in range(first, first + items)]
        await self._written(pb.PutPairs(pairs=pairs), BatchReply)
        return items

    async def _written(self, command: Message, reply: type[Message]) -> None:
        """Write until success is known: no other client has these keys, so repeating is harmless.

        The measured time includes elections of leaders.
        """
        while True:
            try:
                await self.client.execute(command, reply)
            except UnansweredError:
                raise
            except OutcomeUnknownError:
                continue
            return
