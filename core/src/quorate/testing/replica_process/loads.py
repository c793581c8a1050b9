"""What a process can be told to propose to itself, without a client in between."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, cycle, islice, repeat
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any, Final

from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.groups.shard.shard import Shard
from quorate.testing.replica_process.logged import logged
from quorate.testing.replica_process.loop_stops import LoopStops
from quorate.testing.replica_process.v1.domain_pb2 import (
    Item,
    KeepItems,
    Note,
    PutItems,
    RemoveItems,
    ReplaceItems,
    StoreItems,
)

_KEY_BYTES: Final = 16
#: Of the rows that a load of single commands writes, so that it also replaces and removes some.
_SPREAD: Final = 50_000
_SINGLES: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many commands of a kind, so many of them at a time."""

    kind: str
    count: int
    in_flight: int
    #: The bytes of a note, or of the key and content of an item.
    size: int = 128
    #: The items of a batch.
    items: int = 1_000
    #: The number of the first one: those of the same number have the same keys.
    first: int = 0


class LoadFailedError(Exception):
    """A command under load was refused."""


async def run(shard: Shard, load: Load) -> dict[str, Any]:
    """Propose, and say how long it took."""
    commands = islice(_KINDS[load.kind](load), load.count)
    took: list[float] = []

    async def propose_in_turn() -> None:
        for command in commands:
            begun = perf_counter()
            (outcome,) = await shard.propose((command,))
            took.append(perf_counter() - begun)
            if outcome.refusal is not None:
                raise LoadFailedError(f"{command.type} was refused: {outcome.refusal}")

    stops = LoopStops(asyncio.get_running_loop()).start()
    begun, worked = perf_counter(), process_time()
    try:
        await asyncio.gather(*(propose_in_turn() for _ in range(load.in_flight)))
    finally:
        stops.stop()
    seconds, cpu = perf_counter() - begun, process_time() - worked
    cuts = quantiles(took, n=100)
    items = load.count * (load.items if load.kind in BATCHES else 1)
    return {
        "per_s": len(took) / seconds,
        "items_per_s": items / seconds,
        "cpu_us_per_item": cpu / items * 1e6,
        "p50_ms": cuts[49] * 1e3,
        "p99_ms": cuts[98] * 1e3,
        "longest_stop_ms": stops.longest_s * 1e3,
    }


def item_key(number: int) -> bytes:
    """Return the key of an item by its number: in batches of 1,000 they count through."""
    return b"%0*d" % (_KEY_BYTES, number)


def _notes(load: Load) -> Iterator[LoggedCommand]:
    note = Note(name=b"\x55" * min(load.size, 32), filler=b"\x55" * max(0, load.size - 32))
    return repeat(logged(note))


def _singles(load: Load) -> Iterator[LoggedCommand]:
    """One item a command, over and over the same ones."""
    content = bytes(load.size - _KEY_BYTES)
    items = (Item(key=item_key(number), content=content) for number in range(_SINGLES))
    return cycle([logged(PutItems(items=[item])) for item in items])


def _rows(load: Load) -> Iterator[LoggedCommand]:
    """Single items, most of them put, some replaced, some removed."""
    content = bytes(load.size - _KEY_BYTES)
    for number in count(load.first):
        key = item_key(number * 7 % _SPREAD)
        if number % 5 == 4:
            yield logged(RemoveItems(keys=[key]))
        else:
            yield logged(PutItems(items=[Item(key=key, content=content)]))


def _batches(kind: Callable[..., Message]) -> Callable[[Load], Iterator[LoggedCommand]]:
    """Make batches at next to no cost: what clients spend on them is not measured here."""

    def make(load: Load) -> Iterator[LoggedCommand]:
        content = bytes(load.size - _KEY_BYTES)
        digits = len(str(load.items - 1))
        number = b"#" * (_KEY_BYTES - digits)
        keys = [b"%b%0*d" % (number, digits, place) for place in range(load.items)]
        first = logged(kind(items=[Item(key=key, content=content) for key in keys]))
        for batch in count(load.first):
            payload = first.payload.replace(number, b"%0*d" % (len(number), batch))
            yield first._replace(payload=payload)

    return make


BATCHES: Final[dict[str, Callable[[Load], Iterator[LoggedCommand]]]] = {
    "put": _batches(PutItems),
    "keep": _batches(KeepItems),
    "store": _batches(StoreItems),
    "replace": _batches(ReplaceItems),
}
_KINDS: Final = {"notes": _notes, "singles": _singles, "rows": _rows, **BATCHES}
